/* detect.h - which skin vertices are inside another part of the body, once a step.
 *
 * Based on: [komaritzan2022] section 3.2.5, "GPU-Based Global Collision Handling". Every skin triangle and the feet of
 * its corners on the bone lines span a prism of three tetrahedra; together they fill the body down to the bones. A skin
 * vertex inside one of them touches the triangle of that prism, and keeps touching it until it has left for good.
 * Where this differs from the thesis:
 *  - The thesis hashes vertices and tetrahedra into cells. Here both lie in groups that were made once, by segment of bone
 *    and place; boxes of groups are compared, and only the tetrahedra of groups that meet are tested, many at a time.
 *    Tetrahedra that reach to the bone are long: they fill many cells and few boxes.
 *  - Skin keeps a gap: the prisms stand out of the skin by a part of the edges' length, and pairs are found before they
 *    push. Without it skin that touches still crosses, between its vertices and in the upsampled mesh.
 *  - The thesis projects on the plane of the prism's triangle. Here the pair then walks over the neighbours to the
 *    nearest triangle, in every step, and pushes along normals that are interpolated: a contact slides along the skin
 *    and is not lost and found again.
 *  - Creases: a vertex touches every triangle but its own, those of its own segment of bone and its next neighbours too,
 *    once the skin has folded far enough. This does what local pairs found in extreme poses do in the thesis, with the
 *    same rows. Skin whose prisms overlap those of its own segment in the bind pose (fingers that share one bone, lips)
 *    is left out of that.
 *  - Where two bodies have gone through each other, a row pushes by no more than the gap in a step, and lets go where
 *    bone meets bone: motions that are impossible do not tear the skin.
 *  - A vertex that is nearer than the gap or inside another part in the bind pose may stay as deep as it is there.
 *  - Tetrahedra are dropped as flat by the size of their own prism, not by the mean of the mesh: fingers count.
 *  - The normals of vertex and triangle need not oppose each other: in creases they do not. Half of the misses end, and
 *    no wrong contact comes of it (cosine below 0.3, thesis: 0). The way from the bone to the vertex has to agree: skin
 *    that has gone through its own bone is not pushed on.
 *  - A vertex has one contact.
 *
 * Everything that does not change from step to step is in sup_detect, arrays that a model block can hold; the rest is
 * in the state. No allocation in a step; the same rows for any number of threads. */
#ifndef SUP_CONTACT_DETECT_H
#define SUP_CONTACT_DETECT_H

#include "base/base.h"
#include "solver/contact_constraint.h"
#include "tissue/tissue.h"
#include "supple/model.h"

enum {
    SUP_DETECT_CLUSTER = 16,                /* vertices of a block; blocks of a cluster */
    SUP_DETECT_CELL = 16,                 /* triangles of a cell */
    SUP_DETECT_TETS = 3 * SUP_DETECT_CELL /* most tetrahedra of a cell, rounded up to whole lanes */
};

typedef struct sup_detect_def {
    int32_t vertex_count, triangle_count, segment_count;
    const double *skin;           /* [vertex_count*3] bind pose */
    const int32_t *triangles;     /* [triangle_count*3] outward, three different corners in range */
    const sup_foot_point *feet;         /* [vertex_count] */
    const sup_bone_segment *segments; /* [segment_count] bind pose */
} sup_detect_def;

static inline sup_detect_def sup_detect_def_of(const sup_tissue *tissue, const sup_volumetric_skeleton *skeleton)
{
    return (sup_detect_def){tissue->skin_count, tissue->triangle_count, skeleton->segment_count, tissue->skin,
                            tissue->triangles,  tissue->foot_points,           skeleton->segments};
}

/* Points are numbered skin first: i < vertex_count is skin vertex i, vertex_count + i its foot. */
typedef struct sup_detect {
    int32_t vertex_count, triangle_count, segment_count;
    int32_t tet_count;   /* without the flat ones */
    int32_t block_count; /* groups of vertices */
    int32_t cell_count;  /* groups of tetrahedra */
    const float *edge;   /* [1] mean length of the skin's edges, file units */
    const float *gap;    /* [vertex_count] how far other skin is kept from here, file units */
    const float *slack;  /* [vertex_count] what the bind pose takes of the gap and more, file units */
    const int32_t
        *folds; /* [vertex_count+triangle_count] vertices, then triangles: 1 = may touch skin of its own segment */
    const float *foot_at;            /* [vertex_count] parameter in [0, 1] on its segment */
    const int32_t *foot_segment;       /* [vertex_count] */
    const int32_t *triangles;        /* [triangle_count*3] */
    const int32_t *beside;           /* [triangle_count*3] triangle across the edge from corner k to the next, or -1 */
    const int32_t *fan_first;        /* [vertex_count+1] */
    const int32_t *fan;              /* [triangle_count*3] triangles around each vertex */
    const int32_t *ring_first;       /* [vertex_count+1] */
    const int32_t *ring;             /* vertices at most two edges away, rising, without itself */
    const int32_t *block_vertex;     /* [block_count*SUP_DETECT_CLUSTER] vertices, -1 where there is none */
    const int32_t *cell_tet_first;   /* [cell_count+1] */
    const int32_t *cell_point_first; /* [cell_count+1] */
    const int32_t *cell_point;       /* points of the tetrahedra of each cell, rising */
    const int32_t *tets;             /* [tet_count*4] points; positive volume in the bind pose */
    const int32_t *tet_triangle;     /* [tet_count] skin triangle of its prism */
} sup_detect;

/* All arrays are memory of `arena`. `scratch` and the context's threads are for the building alone. */
sup_result sup_detect_create(const sup_context *context, const sup_detect_def *def, sup_arena *arena,
                             sup_detect *detect, sup_error *error);

/* The arrays to and from a model block, as "contact.NAME". The view checks everything: damaged blocks are refused. */
sup_result sup_detect_store(const sup_detect *detect, sup_model_builder *builder, sup_error *error);
sup_result sup_detect_view(const sup_model *model, sup_detect *detect, sup_error *error);

size_t sup_detect_state_size(const sup_detect *detect); /* 64-aligned */
/* No pairs. The state is 64-aligned memory of that size. */
void sup_detect_reset(const sup_detect *detect, void *state);

typedef struct sup_detect_input {
    const float *skin;       /* [vertex_count] x y z, world space */
    int32_t skin_stride;     /* floats from one vertex to the next, at least 3 */
    const float *segment_ends; /* [segment_count*6] both ends of each segment, world space */
    float stiffness;         /* for the rows; 0 = the solver's default */
    float friction;          /* for the rows */
    bool anew;               /* pairs that push and would not be found now end */
    bool let_go;             /* skin of the segments that sup_detect_apart found touches nothing */
} sup_detect_input;

/* Which segments have no skin that would push or be pushed where `input->skin` is; pairs are not looked at and stay. */
void sup_detect_apart(const sup_context *context, const sup_detect *detect, void *state, const sup_detect_input *input);

/* Rows by rising vertex, at most one each: `rows` holds vertex_count. Returns how many. Positions that are not finite
 * touch nothing. */
int32_t sup_detect_step(const sup_context *context, const sup_detect *detect, void *state,
                        const sup_detect_input *input, sup_contact *rows);

/* Vertices that were near other skin in the last step, whether they touched it or not: 1, else 0; [vertex_count] in the
 * state. */
const unsigned char *sup_detect_near(const sup_detect *detect, const void *state);

/* Triangle that each vertex touches since the last step, -1 for none: [vertex_count] in the state. */
const int32_t *sup_detect_pairs(const sup_detect *detect, const void *state);

#endif

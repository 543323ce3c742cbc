/* detect.h - contact detection of a timestep: which skin vertices are inside another part of the body.
 *
 * Based on: [komaritzan2022] section 3.2.5, "GPU-Based Global Collision Handling". Every skin triangle and the foot
 * points of its corners on the bone lines span a prism of three tetrahedra; together they fill the body down to the
 * bones. A skin vertex inside one of them forms a pair with the triangle of that prism, and keeps it until it has
 * clearly left. Differences from the thesis:
 *  - The thesis hashes vertices and tetrahedra into cells. Here both lie in clusters that were built once, by bone
 *    segment and position; boxes of clusters are compared, and only the tetrahedra of clusters whose boxes overlap
 *    are tested, many at a time. Tetrahedra that reach to the bone are long: they fill many cells and few boxes.
 *  - Skin keeps a gap: the prisms stand out of the skin by a fraction of the edges' length, and pairs are found
 *    before they push. Without it skin in contact still crosses, between its vertices and in the upsampled mesh.
 *  - The thesis projects on the plane of the prism's triangle. Here the pair then walks over adjacent triangles to
 *    the nearest one, in every timestep, and pushes along interpolated normals: a contact slides along the skin and
 *    is not lost and found again.
 *  - Creases: a vertex can form a pair with every triangle but its own, including those of its own bone segment and
 *    adjacent ones, once the skin has folded far enough. This replaces the thesis' local pairs for extreme poses,
 *    with the same kind of contact. Skin whose prisms overlap those of its own segment in the bind pose (fingers that
 *    share one bone, lips) is excluded from that.
 *  - Where two body parts have passed through each other, a contact pushes by no more than the gap in a timestep, and
 *    yields where bones overlap: impossible motions do not tear the skin.
 *  - A vertex that is nearer than the gap, or inside another part, in the bind pose may stay as deep as it is there
 *    (slack).
 *  - Tetrahedra are dropped as flat relative to their own prism, not to the mean of the mesh: fingers count.
 *  - The normals of vertex and triangle need not oppose each other: in creases they do not. This removes half of the
 *    misses and adds no wrong contact (cosine below 0.3, thesis: 0). The direction from the bone to the vertex has to
 *    agree as well: skin that has gone through its own bone is not pushed further.
 *  - A vertex has one contact.
 *
 * Everything that does not change from timestep to timestep is in sup_detect, arrays that a model block can hold; the
 * rest is in the state. No allocation in a timestep; the same contacts for any number of threads. Constants are in
 * contact_tuning.h, decisions that the GPU shares in contact_rules.h. */
#ifndef SUP_CONTACT_DETECT_H
#define SUP_CONTACT_DETECT_H

#include "base/base.h"
#include "solver/contact_constraint.h"
#include "tissue/tissue.h"
#include "supple/model.h"

enum {
    SUP_DETECT_CLUSTER = 16,                             /* vertices of a vertex cluster; children of a box node */
    SUP_DETECT_TET_CLUSTER = 16,                         /* triangles of a tet cluster */
    SUP_DETECT_CLUSTER_TETS = 3 * SUP_DETECT_TET_CLUSTER /* maximum tetrahedra of it, rounded up to whole lanes */
};

typedef struct sup_detect_def {
    int32_t vertex_count, triangle_count, segment_count;
    const double *skin;                /* [vertex_count*3] bind pose */
    const int32_t *triangles;          /* [triangle_count*3] outward, three different corners in range */
    const sup_foot_point *foot_points; /* [vertex_count] */
    const sup_bone_segment *segments;  /* [segment_count] bind pose */
    const unsigned char *excluded;     /* [vertex_count] 1: neither the vertex nor its triangles form pairs; or NULL */
} sup_detect_def;

static inline sup_detect_def sup_detect_def_of(const sup_tissue *tissue, const sup_volumetric_skeleton *skeleton)
{
    return (sup_detect_def){tissue->skin_count, tissue->triangle_count, skeleton->segment_count, tissue->skin,
                            tissue->triangles,  tissue->foot_points,    skeleton->segments,      NULL};
}

/* Points are numbered skin first: i < vertex_count is skin vertex i, vertex_count + i its foot point. */
typedef struct sup_detect {
    int32_t vertex_count, triangle_count, segment_count;
    int32_t tet_count;            /* without flat ones */
    int32_t vertex_cluster_count; /* of SUP_DETECT_CLUSTER vertices */
    int32_t tet_cluster_count;    /* of the tetrahedra of SUP_DETECT_TET_CLUSTER triangles */
    const float *edge;            /* [1] mean length of the skin's edges, file units */
    const float *gap;             /* [vertex_count] distance at which other skin is kept from here, file units */
    const float *slack;           /* [vertex_count] by how much the bind pose reduces the gap, file units */
    const int32_t
        *self_contact; /* [vertex_count+triangle_count] vertices, then triangles: 1 = may form pairs with skin of
                                   * its own segment */
    const float *foot_parameter;      /* [vertex_count] in [0, 1] on its segment */
    const int32_t *foot_segment;      /* [vertex_count] */
    const int32_t *triangles;         /* [triangle_count*3] */
    const int32_t *adjacent;          /* [triangle_count*3] triangle across the edge from corner k to the next, or -1 */
    const int32_t *fan_first;         /* [vertex_count+1] */
    const int32_t *fan;               /* [triangle_count*3] triangles around each vertex */
    const int32_t *ring_first;        /* [vertex_count+1] */
    const int32_t *ring;              /* vertices at most two edges away, ascending, without itself */
    const int32_t *vertex_clusters;   /* [vertex_cluster_count*SUP_DETECT_CLUSTER] vertices, -1 for none */
    const int32_t *tet_cluster_first; /* [tet_cluster_count+1] */
    const int32_t *tet_cluster_point_first; /* [tet_cluster_count+1] */
    const int32_t *tet_cluster_points;      /* points of the tetrahedra of each tet cluster, ascending */
    const int32_t *tets;                    /* [tet_count*4] points; positive volume in the bind pose */
    const int32_t *tet_triangle;            /* [tet_count] skin triangle of its prism */
} sup_detect;

/* Allocates all arrays from `arena`. The context's allocator and threads are used while building only. */
sup_result sup_detect_create(const sup_context *context, const sup_detect_def *def, sup_arena *arena,
                             sup_detect *detect, sup_error *error);

/* The arrays to and from a model block, as "contact.NAME". The view checks every index: it refuses damaged blocks. */
sup_result sup_detect_store(const sup_detect *detect, sup_model_builder *builder, sup_error *error);
sup_result sup_detect_view(const sup_model *model, sup_detect *detect, sup_error *error);

size_t sup_detect_state_size(const sup_detect *detect); /* in bytes, a multiple of 64 */
/* Ends all pairs. The state is 64-aligned memory of that size. */
void sup_detect_reset(const sup_detect *detect, void *state);

typedef struct sup_detect_input {
    const float *skin; /* [vertex_count] x y z, world space */
    const float
        *skin_before;    /* the same in the last timestep; NULL while the skin settles: pairs have their full force */
    int32_t skin_stride; /* floats from one vertex to the next, at least 3 */
    const float *segment_ends; /* [segment_count*6] both ends of each segment, world space */
    float stiffness;           /* of the contacts; 0 = SUP_CONTACT_STIFFNESS */
    float friction;            /* of the contacts */
    bool end_stale;            /* end pairs that push and would not be found now */
    bool release_separated;    /* end all pairs of the segments that sup_detect_find_separated found */
    bool frozen;               /* pairs neither begin nor end nor move: the skin comes to rest */
} sup_detect_input;

/* Finds segments without skin that would push or be pushed at the positions `input->skin`; does not use or change
 * pairs. */
void sup_detect_find_separated(const sup_context *context, const sup_detect *detect, void *state,
                               const sup_detect_input *input);

/* Contacts by ascending vertex, at most one each: `contacts` holds vertex_count. Returns their number. Positions that
 * are not finite have no contact. */
int32_t sup_detect_step(const sup_context *context, const sup_detect *detect, void *state,
                        const sup_detect_input *input, sup_contact *contacts);

/* Vertices that were near other skin in the last timestep, with or without a contact: 1, else 0; [vertex_count] in the
 * state. */
const unsigned char *sup_detect_near(const sup_detect *detect, const void *state);

/* Triangle that each vertex forms a pair with since the last timestep, -1 for none: [vertex_count] in the state. */
const int32_t *sup_detect_pairs(const sup_detect *detect, const void *state);

#endif

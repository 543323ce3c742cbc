/* rig.h - a character checked and made ready for skinning: one welded skin, one skeleton, clean weights.
 *
 * Everything in a rig is in one space, the bind pose in the world of the file. Where a file's rest pose differs from
 * its bind pose, the bind pose is the one that counts. Inputs are never changed: what is repaired is repaired here,
 * and named in `defects`. Plain data to read; the character must outlive its rig. */
#ifndef SUPPLE_RIG_H
#define SUPPLE_RIG_H

#include "supple/character.h"

typedef enum sup_primitive_role {
    SUP_PRIMITIVE_SKIN,     /* belongs to the main skin: simulated */
    SUP_PRIMITIVE_FOLLOWER, /* eyes, teeth, clothes, hair: skinned, rides on the main skin */
    SUP_PRIMITIVE_PROP      /* rigid, moves with one node */
} sup_primitive_role;

typedef enum sup_defect_id {
    SUP_DEFECT_HOLE, /* boundary loop of the welded skin */
    SUP_DEFECT_NON_MANIFOLD_EDGE,
    SUP_DEFECT_MISORIENTED_EDGE, /* neighbours that disagree about the outside */
    SUP_DEFECT_SLIVER,
    SUP_DEFECT_DEGENERATE_TRIANGLE, /* no area, or a corner twice */
    SUP_DEFECT_DUPLICATE_FACE,
    SUP_DEFECT_ISLAND, /* a separate piece of skin */
    SUP_DEFECT_UNUSED_VERTEX,
    SUP_DEFECT_NON_FINITE_POSITION,
    SUP_DEFECT_NON_FINITE_NORMAL,
    SUP_DEFECT_NON_FINITE_WEIGHT,
    SUP_DEFECT_NEGATIVE_WEIGHT,
    SUP_DEFECT_UNNORMALISED_WEIGHTS,
    SUP_DEFECT_DUPLICATE_INFLUENCE,
    SUP_DEFECT_NO_INFLUENCE, /* a skinned vertex without weight */
    SUP_DEFECT_BONE_OUTSIDE_SKIN,
    SUP_DEFECT_ZERO_LENGTH_BONE,
    SUP_DEFECT_ZERO_SCALE_JOINT,
    SUP_DEFECT_UNREFERENCED_JOINT, /* listed by a skin, moves no vertex */
    SUP_DEFECT_SINGULAR_INVERSE_BIND,
    SUP_DEFECT_REST_DIFFERS_FROM_BIND,
    SUP_DEFECT_NO_SKIN, /* nothing to skin: no mesh, or no joints */
    SUP_DEFECT_COUNT
} sup_defect_id;

typedef enum sup_severity {
    SUP_SEVERITY_NOTE,     /* worth knowing, harmless */
    SUP_SEVERITY_REPAIRED, /* mended in the rig */
    SUP_SEVERITY_WARNING,  /* not mended: some methods refuse it */
    SUP_SEVERITY_FATAL     /* no rig can be made */
} sup_severity;

/* All findings of one kind in one part, or in the whole skin (part -1). */
typedef struct sup_defect {
    sup_defect_id id;
    sup_severity severity;
    int32_t part; /* or -1 */
    int32_t count;
    int32_t first; /* first vertex (render), triangle, node or bone concerned, -1 when none */
    char message[200];
} sup_defect;

/* "hole", "non-manifold edge", ... */
SUP_API const char *sup_defect_name(sup_defect_id id);
SUP_API const char *sup_severity_name(sup_severity severity);

typedef enum sup_weight_source {
    SUP_WEIGHTS_AUTO, /* the file's, else bone heat */
    SUP_WEIGHTS_FILE,
    SUP_WEIGHTS_NEAREST, /* eq. 4.1 of the position based skinning thesis */
    SUP_WEIGHTS_HEAT,    /* heat diffusion from the bones */
    SUP_WEIGHTS_RIGID    /* each vertex to its strongest (file) or nearest bone */
} sup_weight_source;

typedef struct sup_rig_def {
    sup_weight_source weights;
    int32_t max_influences; /* per vertex, 0 = all the file has, 4 for made weights */
    float weld_distance;    /* of the character's size; 0 = default 1e-6, negative = no welding */
} sup_rig_def;

SUP_API sup_rig_def sup_default_rig_def(void);

typedef struct sup_rig {
    const sup_character *character;
    float size; /* diagonal of the bounding box of all vertices in the bind pose, file units */

    /* Skeleton: the joints of all skins, the joints between them, and the nodes that carry props; parents before
     * children. A node that two skins bind in ways that do not fit together is there twice. */
    int32_t joint_count;
    const int32_t *joint_node;           /* [joint_count] */
    const int32_t *joint_parent;         /* [joint_count] joint, -1 for roots */
    const sup_mat34 *joint_bind;         /* [joint_count] joint -> world in the bind pose */
    const sup_mat34 *joint_inverse_bind; /* [joint_count] world -> joint */
    /* Bone j is the segment from joint j to the mean of its children; a leaf gets one, from the vertices it moves.
     * [joint_count*3], bind pose. */
    const float *bone_head, *bone_tail;

    /* Render vertices in the character's order. */
    int32_t vertex_count;
    const float *positions;         /* [vertex_count*3] bind pose, world */
    const float *normals;           /* [vertex_count*3] unit; computed where the file has none */
    const float *tangents;          /* [vertex_count*4], or NULL */
    const int32_t *influence_first; /* [vertex_count+1] at least one each, largest weight first, sum 1 */
    const int32_t *influence_joint; /* rig joint index */
    const float *influence_weight;
    int32_t max_influences;
    const sup_mat34 *primitive_bind; /* [part_count] mesh space -> world in the bind pose, for morph offsets */

    /* The welded skin of all SUP_PRIMITIVE_SKIN and SUP_PRIMITIVE_FOLLOWER parts. */
    const sup_primitive_role *primitive_role; /* [character->primitive_count] */
    int32_t skin_vertex_count;
    const float *skin_positions;   /* [skin_vertex_count*3] */
    const int32_t *vertex_to_skin; /* [vertex_count] skin vertex, -1 for props */
    const int32_t *skin_to_vertex; /* [skin_vertex_count] a render vertex it came from */
    int32_t skin_triangle_count;
    const int32_t *skin_triangles;       /* [skin_triangle_count*3], without degenerate and duplicate ones */
    const int32_t *skin_triangle_source; /* [skin_triangle_count] triangle of the character */
    const int32_t *skin_component;       /* [skin_vertex_count] connected piece, -1 for a vertex of no triangle */
    int32_t component_count;
    int32_t main_component; /* the one with the largest area among SUP_PRIMITIVE_SKIN, -1 for none */

    int32_t defect_count;
    const sup_defect *defects;
    struct sup_rig_storage *storage; /* the library's own */
} sup_rig;

/* Fails with SUP_ERROR_DATA and the name of the fatal defect when the character cannot be skinned. */
SUP_API sup_result sup_rig_create(const sup_context *context, const sup_character *character, const sup_rig_def *def,
                                  sup_rig **rig, sup_error *error);
SUP_API void sup_rig_destroy(sup_rig *rig);

/* Everything sup_rig_create would find, fatal defects included, without refusing: for reports on any file.
 * The array is owned by the returned object; free it with sup_defects_destroy. */
typedef struct sup_defects {
    int32_t count;
    const sup_defect *items;
} sup_defects;
SUP_API sup_result sup_character_inspect(const sup_context *context, const sup_character *character,
                                         sup_defects **defects, sup_error *error);
SUP_API void sup_defects_destroy(sup_defects *defects);

#endif

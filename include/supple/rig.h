/* rig.h - a character validated and prepared for skinning: one welded skin, one skeleton, clean weights.
 *
 * All data of a rig is in one space: the bind pose in world coordinates of the file. If the rest pose of a file differs
 * from its bind pose, the rig uses the bind pose. The character is never modified: repairs are made in the rig and
 * listed in `defects`. A rig is plain, read-only data; the character must outlive it. */
#ifndef SUPPLE_RIG_H
#define SUPPLE_RIG_H

#include "supple/character.h"

typedef enum sup_primitive_role {
    SUP_PRIMITIVE_SKIN,     /* belongs to the main skin: simulated */
    SUP_PRIMITIVE_FOLLOWER, /* eyes, teeth, clothes, hair: skinned, follows the main skin */
    SUP_PRIMITIVE_PROP      /* rigid, moves with one node */
} sup_primitive_role;

typedef enum sup_defect_id {
    SUP_DEFECT_HOLE, /* boundary loop of the welded skin */
    SUP_DEFECT_NON_MANIFOLD_EDGE,
    SUP_DEFECT_MISORIENTED_EDGE, /* two triangles with opposite orientation */
    SUP_DEFECT_SLIVER,
    SUP_DEFECT_DEGENERATE_TRIANGLE, /* zero area, or a repeated corner */
    SUP_DEFECT_DUPLICATE_FACE,
    SUP_DEFECT_ISLAND, /* a connected component apart from the largest one */
    SUP_DEFECT_UNUSED_VERTEX,
    SUP_DEFECT_NON_FINITE_POSITION,
    SUP_DEFECT_NON_FINITE_NORMAL,
    SUP_DEFECT_NON_FINITE_WEIGHT,
    SUP_DEFECT_NEGATIVE_WEIGHT,
    SUP_DEFECT_UNNORMALISED_WEIGHTS,
    SUP_DEFECT_DUPLICATE_INFLUENCE,
    SUP_DEFECT_NO_INFLUENCE, /* a skinned vertex without weights */
    SUP_DEFECT_BONE_OUTSIDE_SKIN,
    SUP_DEFECT_ZERO_LENGTH_BONE,
    SUP_DEFECT_ZERO_SCALE_JOINT,
    SUP_DEFECT_UNREFERENCED_JOINT, /* listed by a skin but influences no vertex */
    SUP_DEFECT_SINGULAR_INVERSE_BIND,
    SUP_DEFECT_REST_DIFFERS_FROM_BIND,
    SUP_DEFECT_NO_SKIN, /* no mesh, or no joints */
    SUP_DEFECT_COUNT
} sup_defect_id;

typedef enum sup_severity {
    SUP_SEVERITY_NOTE,     /* information only */
    SUP_SEVERITY_REPAIRED, /* repaired in the rig */
    SUP_SEVERITY_WARNING,  /* not repaired: some methods reject it */
    SUP_SEVERITY_FATAL     /* no rig can be created */
} sup_severity;

/* All defects of one kind in one primitive, or in the whole skin. */
typedef struct sup_defect {
    sup_defect_id id;
    sup_severity severity;
    int32_t primitive; /* -1: the whole skin */
    int32_t count;
    int32_t first; /* first affected render vertex, triangle, node or bone, -1 for none */
    char message[200];
} sup_defect;

/* "hole", "non-manifold edge", ... */
SUP_API const char *sup_defect_name(sup_defect_id id);
SUP_API const char *sup_severity_name(sup_severity severity);

typedef enum sup_weight_source {
    SUP_WEIGHTS_AUTO, /* from the file, bone heat where the file has none */
    SUP_WEIGHTS_FILE,
    SUP_WEIGHTS_NEAREST, /* nearest bones, eq. 4.1 of the position based skinning thesis */
    SUP_WEIGHTS_HEAT,    /* bone heat: heat diffusion from the bones */
    SUP_WEIGHTS_RIGID    /* one bone per vertex: the strongest of the file, else the nearest */
} sup_weight_source;

typedef struct sup_rig_def {
    sup_weight_source weights;
    int32_t max_influences; /* per vertex; 0 = all influences of the file, 4 for computed weights */
    float weld_distance;    /* relative to the character's size; 0 = default 1e-6, negative = no welding */
} sup_rig_def;

SUP_API sup_rig_def sup_default_rig_def(void);

typedef struct sup_rig {
    const sup_character *character;
    float size; /* diagonal of the bounding box of all vertices in the bind pose, file units */

    /* Skeleton: the joints of all skins, the joints between them, and the nodes of props; parents before children. A
     * node that two skins bind with incompatible matrices has two joints. */
    int32_t joint_count;
    const int32_t *joint_node;           /* [joint_count] */
    const int32_t *joint_parent;         /* [joint_count] joint, -1 for roots */
    const sup_mat34 *joint_bind;         /* [joint_count] joint -> world in the bind pose */
    const sup_mat34 *joint_inverse_bind; /* [joint_count] world -> joint */
    /* Bone j is the segment from joint j to the mean of its children; the tail of a leaf is estimated from the vertices
     * that it influences. [joint_count*3], bind pose. */
    const float *bone_head, *bone_tail;

    /* Render vertices in the character's order. */
    int32_t vertex_count;
    const float *positions;         /* [vertex_count*3] bind pose, world */
    const float *normals;           /* [vertex_count*3] unit; computed where the file has none */
    const float *tangents;          /* [vertex_count*4], or NULL */
    const int32_t *influence_first; /* [vertex_count+1] at least one per vertex, largest weight first, sum 1 */
    const int32_t *influence_joint; /* rig joint index */
    const float *influence_weight;
    int32_t max_influences;
    const sup_mat34 *primitive_bind; /* [primitive_count] mesh space -> world in the bind pose, for morph offsets */

    /* The welded skin of all SUP_PRIMITIVE_SKIN and SUP_PRIMITIVE_FOLLOWER primitives. */
    const sup_primitive_role *primitive_role; /* [character->primitive_count] */
    int32_t skin_vertex_count;
    const float *skin_positions;   /* [skin_vertex_count*3] */
    const int32_t *vertex_to_skin; /* [vertex_count] skin vertex, -1 for props */
    const int32_t *skin_to_vertex; /* [skin_vertex_count] one of its render vertices */
    int32_t skin_triangle_count;
    const int32_t *skin_triangles;       /* [skin_triangle_count*3] without degenerate and duplicate triangles */
    const int32_t *skin_triangle_source; /* [skin_triangle_count] triangle of the character */
    const int32_t *skin_component;       /* [skin_vertex_count] connected component, -1 without triangles */
    int32_t component_count;
    int32_t main_component; /* the component with the largest SUP_PRIMITIVE_SKIN area, -1 for none */

    int32_t defect_count;
    const sup_defect *defects;
    struct sup_rig_storage *storage; /* private */
} sup_rig;

/* Fails with SUP_ERROR_DATA and the message of the fatal defect if the character cannot be skinned. `def` may be
 * NULL. */
SUP_API sup_result sup_rig_create(const sup_context *context, const sup_character *character, const sup_rig_def *def,
                                  sup_rig **rig, sup_error *error);
SUP_API void sup_rig_destroy(sup_rig *rig);

/* Rigid components: connected components of the skin all of whose vertices have the same joint with a weight of at
 * least 0.99, such as armour, buckles and parts of robots. Methods leave them to linear blending.
 * [skin_vertex_count]: the joint, -1 for soft skin. Valid until the rig is destroyed. */
SUP_API const int32_t *sup_rig_rigid_joints(const sup_rig *rig);

/* All defects that sup_rig_create would find. Fatal defects are listed too and do not make the call fail, so that any
 * file can be reported on. Free the result with sup_defects_destroy. */
typedef struct sup_defects {
    int32_t count;
    const sup_defect *items;
} sup_defects;
SUP_API sup_result sup_character_inspect(const sup_context *context, const sup_character *character,
                                         sup_defects **defects, sup_error *error);
SUP_API void sup_defects_destroy(sup_defects *defects);

#endif

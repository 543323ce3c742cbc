/* rig.h (internal) - the stages that build a rig, in the order of the functions below.
 *
 * Each stage reads results of the stages before it and writes its own members of sup_rig_build and of the rig. A stage
 * fails only when out of memory. Problems of the character are added to the list of defects; a fatal defect ends the
 * build. */
#ifndef SUP_RIG_RIG_H
#define SUP_RIG_RIG_H

#include "base/base.h"
#include "math/affine.h"
#include "supple/rig.h"

typedef struct sup_defect_list {
    sup_allocator allocator;
    sup_array items; /* sup_defect */
    bool fatal;      /* one of the items is fatal */
} sup_defect_list;

/* Result of skeleton.c. Arrays are in scratch memory unless stated otherwise. */
typedef struct sup_rig_joints {
    bool has_joints;           /* false: report on a mesh without a skeleton, all primitives count as skin */
    sup_affine *skin_map;      /* [skin_count] mesh space -> world in the bind pose */
    sup_affine *primitive_map; /* [primitive_count] the same for every primitive */
    int32_t *bone_joint;       /* [bone_count] rig joint, -1 for bones of no skin */
    int32_t *node_joint;       /* [node_count] rig joint, -1 for none */
    bool *node_listed;         /* [node_count] listed by a skin */
    bool *is_bone;             /* [joint_count] listed by a skin or between such joints; false: joint of a prop */
    bool *is_copy;             /* [joint_count] a further bind of a node that skins bind differently */
    sup_affine *bind;          /* [joint_count] joint -> world */
    int32_t *parent;           /* [joint_count] in the rig's memory */
} sup_rig_joints;

/* Result of rig_skin.c and roles.c. */
typedef struct sup_rig_surface {
    float *positions;          /* [vertex_count*3] in the rig's memory */
    int32_t *leader;           /* [vertex_count] first vertex at the same position in a mesh of the same node */
    int32_t *vertex_primitive; /* [vertex_count] */
    int32_t *skin_triangles;   /* [skin_triangle_count*3] in the rig's memory */
    sup_primitive_role *role;  /* [primitive_count] in the rig's memory */
    double *triangle_area;     /* [skin_triangle_count] */
} sup_rig_surface;

/* Influences per vertex while they are cleaned and computed: vertex v has capacity for the entries
 * [first[v], first[v+1]) and uses count[v] of them; a vertex without weights uses the entries of vertex source[v]. */
typedef struct sup_influence_lists {
    size_t *first;   /* [vertex_count+1] */
    int32_t *count;  /* [vertex_count] */
    int32_t *source; /* [vertex_count] v itself unless copied from a neighbour */
    int32_t *joint;
    double *weight;
} sup_influence_lists;

/* Result of influences.c and weights_made.c. */
typedef struct sup_rig_weights {
    sup_influence_lists lists;
    bool *is_computed;         /* [primitive_count] its weights are computed, not read from the file */
    int32_t max_computed;      /* largest number of computed influences per vertex */
    int32_t *unweighted;       /* [primitive_count] number of vertices without weights in the file */
    int32_t *first_unweighted; /* [primitive_count] */
} sup_rig_weights;

/* Result of bones.c. */
typedef struct sup_rig_bone_segments {
    float *head, *tail;       /* [joint_count*3] in the rig's memory */
    bool *tail_from_vertices; /* [joint_count] */
    bool *leaf;               /* [joint_count] leaves whose tail may still change */
    int32_t *use_count;       /* [joint_count] skinned vertices that a joint influences */
} sup_rig_bone_segments;

typedef struct sup_rig_build {
    sup_context context; /* resolved */
    const sup_character *character;
    sup_rig_def def; /* defaults filled in */
    bool inspect;    /* continue without a skeleton: report only, no rig */
    sup_rig *rig;
    sup_arena *arena;  /* the rig's memory */
    sup_arena scratch; /* freed at the end of the build */
    sup_defect_list defects;
    bool stop; /* there is nothing left to check */

    sup_rig_joints skeleton;
    sup_rig_surface surface;
    sup_rig_weights weights;
    sup_rig_bone_segments bones;
    const int32_t *rigid_joint; /* result of rigid_components.c: sup_rig_rigid_joints */
} sup_rig_build;

sup_result sup_rig_skeleton(sup_rig_build *build, sup_error *error);
sup_result sup_rig_positions(sup_rig_build *build, sup_error *error);
sup_result sup_rig_skin(sup_rig_build *build, sup_error *error);
sup_result sup_rig_normals(sup_rig_build *build, sup_error *error);
sup_result sup_rig_roles(sup_rig_build *build, sup_error *error);
sup_result sup_rig_topology(sup_rig_build *build, sup_error *error);
sup_result sup_rig_influences(sup_rig_build *build, sup_error *error);
sup_result sup_rig_bones(sup_rig_build *build, sup_error *error);
sup_result sup_rig_compute_weights(sup_rig_build *build, sup_error *error);
sup_result sup_rig_update_bone_tails(sup_rig_build *build, sup_error *error);
sup_result sup_rig_pack_influences(sup_rig_build *build, sup_error *error);
sup_result sup_rig_rigid_components(sup_rig_build *build, sup_error *error);
sup_result sup_rig_bone_defects(sup_rig_build *build, sup_error *error);
sup_result sup_rig_outside_joints(sup_rig_build *build, sup_error *error);

/* Whether joints deform the primitive; other primitives are props. */
bool sup_primitive_is_skinned(const sup_character *character, int32_t primitive);

/* Whether the primitive belongs to the welded skin: skinned, or any primitive if there are no joints. */
static inline bool sup_primitive_in_skin(const sup_character *character, bool has_joints, int32_t primitive)
{
    return !has_joints || sup_primitive_is_skinned(character, primitive);
}

/* Adds a defect unless count is 0. `primitive` -1 is the whole skin. */
sup_result sup_rig_defect(sup_defect_list *list, sup_defect_id id, sup_severity severity, int32_t primitive,
                          int64_t count, int32_t first, sup_error *error, const char *format, ...)
    __attribute__((format(printf, 8, 9)));

/* "s" for all counts but 1. */
static inline const char *sup_plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* Name of a primitive or node for messages, never empty. */
const char *sup_rig_primitive_name(const sup_character *character, int32_t primitive);
const char *sup_rig_node_name(const sup_character *character, int32_t node);

/* Sorts the influences of vertex v by weight, then joint, truncates them to `limit` (0 = all) and scales them to sum
 * 1. */
void sup_influence_list_finish(sup_influence_lists *lists, int32_t v, int32_t limit);

#endif

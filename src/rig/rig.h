/* rig.h (internal) - the building of a rig, stage by stage, in the order of the functions below.
 *
 * A stage fills members of the build and of the rig from those before it. It returns a failure only when memory ran
 * out; what is wrong with the character is added to the defects, and a fatal one ends the building. */
#ifndef SUP_RIG_RIG_H
#define SUP_RIG_RIG_H

#include "base/base.h"
#include "math/affine.h"
#include "supple/rig.h"

/* Influences while they are cleaned and made: row v has room for [first[v], first[v+1]) and holds count[v]; a vertex
 * without weights of its own uses the row source[v] of another one. */
typedef struct sup_influence_rows {
    size_t *first;   /* [vertex_count+1] */
    int32_t *count;  /* [vertex_count] */
    int32_t *source; /* [vertex_count] v itself unless borrowed */
    int32_t *joint;
    double *weight;
} sup_influence_rows;

typedef struct sup_rig_build {
    sup_context context; /* resolved */
    const sup_character *character;
    sup_rig_def def; /* defaults filled in */
    bool inspect;    /* go on without a skeleton: report, no rig */
    sup_rig *rig;
    sup_arena *arena;  /* the rig's */
    sup_arena scratch; /* freed when the building ends */
    sup_array defects; /* sup_defect */
    bool fatal;
    bool stop; /* nothing left to look at */

    /* skeleton.c */
    bool has_joints;
    sup_affine *skin_map;  /* [skin_count] mesh space -> world in the bind pose */
    sup_affine *part_map;  /* [part_count] the same for every part */
    int32_t *bone_joint;   /* [bone_count] rig joint, -1 for bones of no skin */
    int32_t *node_joint;   /* [node_count] rig joint, -1 for none */
    bool *node_listed;     /* [node_count] by a skin */
    bool *joint_is_bone;   /* [joint_count] of the skeleton: listed by a skin or between such; false: carries a prop */
    bool *joint_is_copy;   /* [joint_count] a second bind of a node that skins bind differently */
    sup_affine *bind;      /* [joint_count] joint -> world */
    int32_t *joint_parent; /* [joint_count] */

    /* rig_skin.c */
    float *positions;        /* [vertex_count*3] */
    int32_t *leader;         /* [vertex_count] first vertex in the same place, of the same node */
    int32_t *vertex_part;    /* [vertex_count] */
    int32_t *skin_triangles; /* [skin_triangle_count*3] */
    sup_primitive_role *role;     /* [part_count] */
    double *triangle_area;   /* [skin_triangle_count] */

    /* influences.c, weights_made.c */
    sup_influence_rows rows;
    bool *part_made;     /* [part_count] its weights are not the file's */
    int32_t made_limit;  /* influences of a made row */
    int32_t *part_bare;  /* [part_count] vertices that the file gave no weight, of parts that have some */
    int32_t *first_bare; /* [part_count] */

    /* bones.c */
    float *bone_head, *bone_tail; /* [joint_count*3] */
    bool *tail_from_vertices;     /* [joint_count] */
    bool *leaf;                   /* [joint_count] leaves whose tail may still change */
    int32_t *joint_use;           /* [joint_count] skinned vertices that a joint moves */
} sup_rig_build;

/* A part that joints deform; the others are props. */
bool sup_primitive_is_skinned(const sup_character *character, int32_t part);

sup_result sup_rig_skeleton(sup_rig_build *build, sup_error *error);
sup_result sup_rig_positions(sup_rig_build *build, sup_error *error);
sup_result sup_rig_skin(sup_rig_build *build, sup_error *error);
sup_result sup_rig_normals(sup_rig_build *build, sup_error *error);
sup_result sup_rig_roles(sup_rig_build *build, sup_error *error);
sup_result sup_rig_topology(sup_rig_build *build, sup_error *error);
sup_result sup_rig_influences(sup_rig_build *build, sup_error *error);
sup_result sup_rig_bones(sup_rig_build *build, sup_error *error);
sup_result sup_rig_made_weights(sup_rig_build *build, sup_error *error);
sup_result sup_rig_pack_influences(sup_rig_build *build, sup_error *error);
sup_result sup_rig_bone_tails_again(sup_rig_build *build, sup_error *error);
sup_result sup_rig_bone_defects(sup_rig_build *build, sup_error *error);
sup_result sup_rig_bones_outside(sup_rig_build *build, sup_error *error);

/* Adds a defect unless count is 0. */
sup_result sup_rig_defect(sup_rig_build *build, sup_defect_id id, sup_severity severity, int32_t part, int64_t count,
                          int32_t first, sup_error *error, const char *format, ...)
    __attribute__((format(printf, 8, 9)));

/* "s" for all counts but 1. */
static inline const char *sup_plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* Name of a part or node for messages, never empty. */
const char *sup_rig_primitive_name(const sup_rig_build *build, int32_t part);
const char *sup_rig_node_name(const sup_rig_build *build, int32_t node);

/* Row v sorted by weight, then joint, cut to `limit` (0 = all) and scaled to sum 1. */
void sup_influence_row_finish(sup_influence_rows *rows, int32_t v, int32_t limit);

#endif

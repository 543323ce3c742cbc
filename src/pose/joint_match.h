/* joint_match.h (internal) - which joint of a source drives which joint of a target. */
#ifndef SUP_POSE_JOINT_MATCH_H
#define SUP_POSE_JOINT_MATCH_H

#include "pose/joint_names.h"
#include "supple/pose.h"

typedef struct sup_joint_match {
    int32_t *source; /* [target node_count] node of the source, -1 for none */
    int32_t *child;  /* [target node_count] target node whose direction the joint follows, -1 for none */
    int32_t count;   /* target nodes that have a source */
} sup_joint_match;

/* `is_moved` [source node_count] tells the nodes that the clip moves. Arrays of the result are the arena's. */
sup_result sup_joint_match_make(sup_arena *arena, const sup_named_skeleton *source, const bool *is_moved,
                                const sup_named_skeleton *target, const sup_joint_map *map, sup_joint_match *match,
                                sup_error *error);

#endif

/* joint_match.h (internal) - maps target joints to the source joints that drive them. */
#ifndef SUP_POSE_JOINT_MATCH_H
#define SUP_POSE_JOINT_MATCH_H

#include "pose/joint_names.h"
#include "supple/pose.h"

typedef struct sup_joint_match {
    int32_t *source; /* [target node_count] node of the source, -1 for none */
    int32_t *child;  /* [target node_count] target node that the joint points at, -1 for none */
    int32_t count;   /* number of target nodes with a source */
} sup_joint_match;

/* `is_moved` [source node_count] marks nodes with channels. The result is allocated from `arena`. */
sup_result sup_joint_match_create(sup_arena *arena, const sup_named_skeleton *source, const bool *is_moved,
                                  const sup_named_skeleton *target, const sup_joint_map *map, sup_joint_match *match,
                                  sup_error *error);

#endif

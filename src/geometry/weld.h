/* weld.h (internal) - points in the same place become one. */
#ifndef SUP_GEOMETRY_WELD_H
#define SUP_GEOMETRY_WELD_H

#include "base/base.h"

/* Leaders in order of first appearance: point i is a leader unless a leader of its group before it lies within
 * `distance` (0 = equal coordinates, -0 and 0 are equal; negative = every point is a leader). leader[i] gets the point
 * that i is welded to, itself for leaders. Points of different groups never meet; `group` may be NULL. Points must be
 * finite. The result depends on the order of the points alone. */
sup_result sup_weld(const sup_allocator *allocator, int32_t count, const float *positions, const int32_t *group,
                    double distance, int32_t *leader, sup_error *error);

#endif

/* weld.h (internal) - merges points at the same position. */
#ifndef SUP_GEOMETRY_WELD_H
#define SUP_GEOMETRY_WELD_H

#include "base/base.h"

/* Point i is a leader unless a previous leader of its group lies within `distance` (0 = equal coordinates, -0 and 0 are
 * equal; negative = every point is a leader). leader[i] is the point that i is welded to, i itself for leaders. Points
 * of different groups are never welded; `group` may be NULL. Points must be finite. The result depends only on the
 * order of the points. */
sup_result sup_weld(const sup_allocator *allocator, int32_t count, const float *positions, const int32_t *group,
                    double distance, int32_t *leader, sup_error *error);

#endif

/* soft.c - soft control: regions that leave linear blending and jiggle.
 *
 * Based on: [aburumman2016thesis] section 4.7. */
#include "methods/position/position.h"

void sup_position_soften(const sup_position_view *view, const float *soft, float stiffness, sup_pbd_regions *regions)
{
    double sum = 0.0, distance = 0.0;
    for (int32_t i = 0; i < view->pbd.row_count; i++) {
        if (!(soft[i] > 0.0f) || view->bone_joint[i] < 0) continue;
        sum += (double)soft[i];
        distance += (double)soft[i] * (double)view->rest[4 * (int64_t)i + 3];
    }
    float mean = sum > 0.0 ? (float)(distance / sum) : 0.0f; /* d bar */
    for (int32_t i = 0; i < view->pbd.row_count; i++) {
        bool free = soft[i] > 0.0f && (view->bone_joint[i] < 0 || view->rest[4 * (int64_t)i + 3] > mean);
        regions->follow[i] = free ? 1.0f - soft[i] : 1.0f;
        regions->firm[i] = view->painted[SUP_POSITION_MAP_COUNT * (int64_t)i + SUP_POSITION_MAP_STIFFNESS] *
                           (free ? 1.0f + soft[i] * (stiffness - 1.0f) : 1.0f);
    }
}

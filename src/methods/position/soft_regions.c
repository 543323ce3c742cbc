/* soft_regions.c - soft regions: tissue that leaves linear blending and jiggles.
 *
 * Based on: [aburumman2016thesis] section 4.7. The thesis uses the mean distance of the particles of the region from
 * the bones. In a coarse graded mesh most particles are on the skin, and such a mean leaves half of the skin unchanged.
 * Here distances are weighted by volume and relative to the distance between bone and skin: skin is always above the
 * mean. */
#include "math/vec3.h"
#include "methods/position/position.h"

/* Maximum of the mean: without interior particles all particles are above it. */
static const double MAX_MEAN = 0.99;
/* Damping, 1/s, of a particle of momentum 1/2: a third of the critical damping of the springs to linear blending. */
static const double HALF_DAMPING = 20.0;

/* Depth of a particle as a fraction of the distance from its bone to the skin: 0 to 1. */
static double depth_of(const sup_position_view *view, int64_t slot)
{
    if (view->bone_joint[slot] < 0) return 1.0;
    double here = (double)view->rest[4 * slot + 3];
    double skin = sup_v3_distance(sup_v3_load(view->surface + 4 * slot), sup_v3_load(view->bone_point + 4 * slot));
    return here < skin ? here / skin : 1.0;
}

void sup_position_paint_particles(int64_t slot_count, const int32_t *vertex, const float *weight, int32_t map,
                                  const float *values, float *painted)
{
    const sup_map *range = &sup_position_maps[map];
    for (int64_t i = 0; i < slot_count; i++) {
        float sum = 0.0f;
        if (vertex[3 * i] < 0) continue;
        for (int k = 0; k < 3; k++)
            sum += weight[3 * i + k] * values[vertex[3 * i + k]];
        painted[SUP_POSITION_MAP_COUNT * i + map] = fminf(fmaxf(sum, range->minimum), range->maximum);
    }
}

void sup_position_soften(const sup_position_view *view, const float *soft, float stiffness, sup_pbd_regions *regions)
{
    double sum = 0.0, distance = 0.0;
    for (int32_t i = 0; i < view->pbd.slot_count; i++) {
        if (!(soft[i] > 0.0f) || view->bone_joint[i] < 0) continue;
        double mass = (double)soft[i] * (double)view->pbd.particle_volume[i];
        sum += mass;
        distance += mass * depth_of(view, i);
    }
    double mean = sum > 0.0 ? fmin(distance / sum, MAX_MEAN) : 0.0; /* d bar of section 4.7 */
    for (int32_t i = 0; i < view->pbd.slot_count; i++) {
        bool free = soft[i] > 0.0f && depth_of(view, i) > mean;
        regions->follow[i] = free ? 1.0f - soft[i] : 1.0f;
        regions->stiffness[i] = view->painted[SUP_POSITION_MAP_COUNT * (int64_t)i + SUP_POSITION_MAP_STIFFNESS] *
                                (free ? 1.0f + soft[i] * (stiffness - 1.0f) : 1.0f);
    }
}

void sup_position_set_momentum(int32_t slot_count, double momentum, sup_pbd_regions *regions)
{
    for (int32_t i = 0; i < slot_count; i++) {
        double kept = fmax(momentum, 1.0 - (double)regions->follow[i]);
        regions->damping[i] = kept > 0.0 ? (float)(HALF_DAMPING * (1.0 / kept - 1.0)) : INFINITY;
    }
}

/* scene_weights.c - skin weights of built-in characters.
 *
 * A point is assigned to regions by distance, with smooth transitions. Within a region its weight starts at the parent
 * joint of the region and is passed down the chain: each joint gets from its parent the fraction beyond a plane across
 * its bone, with a smooth transition. The weights are a smooth function of position, independent of the resolution. */
#include "scenes/scene_spec.h"

static double smooth_step(double t)
{
    t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
    return t * t * (3.0 - 2.0 * t);
}

/* Weight of each region at the point, both sides; paired regions do not cross x = 0. */
static void region_weights(const sup_scene_spec *spec, const sup_sculpture *sculpture, sup_vec3d p,
                           double *region_weight)
{
    int32_t count = spec->region_count, both = spec->mirrored ? count * 2 : count;
    double distance[SUP_REGIONS_MAX * 2], nearest = 1e9, total = 0.0;
    sup_sculpture_regions(sculpture, p, distance);
    for (int32_t r = 0; r < both; r++)
        nearest = distance[r] < nearest ? distance[r] : nearest;
    for (int32_t r = 0; r < both; r++) {
        const sup_region *region = &spec->regions[r % count];
        double away = (distance[r] - nearest) / region->weight_band, near = away < 1.0 ? 1.0 - away : 0.0;
        region_weight[r] = near * near;
        if (spec->mirrored && region->paired)
            region_weight[r] *= smooth_step((r < count ? p.x : -p.x) / (0.2 * region->weight_band));
        if (r == 0) region_weight[r] += 1e-9;
        total += region_weight[r];
    }
    for (int32_t r = 0; r < both; r++)
        region_weight[r] /= total;
}

/* The joint where the weight of a region starts: the parent of its first joint. */
static int32_t region_start(const sup_skeleton *skeleton, int32_t region)
{
    for (int32_t j = 0; j < skeleton->count; j++)
        if (skeleton->joints[j].region == region)
            return skeleton->joints[j].parent < 0 ? j : skeleton->joints[j].parent;
    return -1;
}

static double joint_fraction(const sup_joint *joint, sup_vec3d p)
{
    double along = sup_v3_dot(sup_v3_sub(p, joint->at), joint->plane) - joint->spec->shift;
    return smooth_step(0.5 + 0.5 * along / joint->spec->blend);
}

/* Adds the weights of all joints for a point of one region, scaled by `region_weight`, to `weight`. */
static void distribute_weight(const sup_skeleton *skeleton, int32_t region, sup_vec3d p, double region_weight,
                              double *weight)
{
    double local[SUP_JOINTS_MAX * 2] = {0.0}, child_sum[SUP_JOINTS_MAX * 2] = {0.0},
                                  fraction[SUP_JOINTS_MAX * 2] = {0.0};
    int32_t start = region_start(skeleton, region);
    if (start < 0) start = 0;
    local[start] = 1.0;
    for (int32_t j = 0; j < skeleton->count; j++) {
        const sup_joint *joint = &skeleton->joints[j];
        if (joint->region != region || joint->parent < 0) continue;
        fraction[j] = joint_fraction(joint, p);
        /* A paired joint in an unpaired region does not cross x = 0. */
        if (joint->spec->name[0] == '*') fraction[j] *= smooth_step((joint->right ? -p.x : p.x) / joint->spec->blend);
        child_sum[joint->parent] += fraction[j];
    }
    for (int32_t j = 0; j < skeleton->count; j++) {
        int32_t parent = skeleton->joints[j].parent;
        if (parent >= 0 && fraction[j] > 0.0)
            local[j] += local[parent] * fraction[j] / (child_sum[parent] > 1.0 ? child_sum[parent] : 1.0);
    }
    for (int32_t j = 0; j < skeleton->count; j++)
        weight[j] += region_weight * local[j] * (child_sum[j] < 1.0 ? 1.0 - child_sum[j] : 0.0);
}

int32_t sup_scene_weights(const sup_scene_spec *spec, const sup_skeleton *skeleton, const sup_sculpture *sculpture,
                          sup_vec3d p, int32_t joints[SUP_INFLUENCES_MAX], float weights[SUP_INFLUENCES_MAX])
{
    double region_weight[SUP_REGIONS_MAX * 2], weight[SUP_JOINTS_MAX * 2] = {0.0}, total = 0.0;
    int32_t both = spec->mirrored ? spec->region_count * 2 : spec->region_count, count = 0;
    region_weights(spec, sculpture, p, region_weight);
    for (int32_t r = 0; r < both; r++)
        if (region_weight[r] > 1e-6) distribute_weight(skeleton, r, p, region_weight[r], weight);
    for (; count < SUP_INFLUENCES_MAX; count++) {
        int32_t best = 0;
        for (int32_t j = 1; j < skeleton->count; j++)
            if (weight[j] > weight[best]) best = j;
        if (weight[best] < 1e-3) break;
        joints[count] = best;
        weights[count] = (float)weight[best];
        total += weight[best];
        weight[best] = 0.0;
    }
    float sum = 0.0f;
    for (int32_t i = 1; i < count; i++) {
        weights[i] = (float)((double)weights[i] / total);
        sum += weights[i];
    }
    weights[0] = 1.0f - sum;
    return count;
}

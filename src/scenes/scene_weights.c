/* scene_weights.c - skin weights of built-in characters.
 *
 * A point belongs to regions by nearness, softly where regions meet. Within a region its weight starts at the joint the
 * region hangs from and flows down the chain: each joint takes from its parent what lies beyond a plane across its
 * bone, softly. Everything is a smooth function of the place, so any resolution gets the same weights. */
#include "scenes/scene_spec.h"

static double smooth_step(double t)
{
    t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
    return t * t * (3.0 - 2.0 * t);
}

/* Share of the point in each region, both sides; the sides do not reach across x = 0. */
static void region_shares(const sup_recipe *recipe, const sup_sculpture *sculpture, sup_vec3d p, double *share)
{
    int32_t count = recipe->region_count, both = recipe->mirrored ? count * 2 : count;
    double distance[SUP_REGIONS_MAX * 2], nearest = 1e9, total = 0.0;
    sup_sculpture_regions(sculpture, p, distance);
    for (int32_t r = 0; r < both; r++)
        nearest = distance[r] < nearest ? distance[r] : nearest;
    for (int32_t r = 0; r < both; r++) {
        const sup_region *region = &recipe->regions[r % count];
        double away = (distance[r] - nearest) / region->weight_band, near = away < 1.0 ? 1.0 - away : 0.0;
        share[r] = near * near;
        if (recipe->mirrored && region->paired)
            share[r] *= smooth_step((r < count ? p.x : -p.x) / (0.2 * region->weight_band));
        if (r == 0) share[r] += 1e-9;
        total += share[r];
    }
    for (int32_t r = 0; r < both; r++)
        share[r] /= total;
}

/* The joint on which all weight of a region starts: the parent of its first joint. */
static int32_t region_start(const sup_skeleton *skeleton, int32_t region)
{
    for (int32_t j = 0; j < skeleton->count; j++)
        if (skeleton->joints[j].region == region)
            return skeleton->joints[j].parent < 0 ? j : skeleton->joints[j].parent;
    return -1;
}

static double beyond(const sup_joint *joint, sup_vec3d p)
{
    double along = sup_v3_dot(sup_v3_sub(p, joint->at), joint->plane) - joint->row->shift;
    return smooth_step(0.5 + 0.5 * along / joint->row->blend);
}

/* Weights of all joints for a point of one region, times `share`, added to `weight`. */
static void flow_down(const sup_skeleton *skeleton, int32_t region, sup_vec3d p, double share, double *weight)
{
    double local[SUP_JOINTS_MAX * 2] = {0.0}, taken[SUP_JOINTS_MAX * 2] = {0.0}, gate[SUP_JOINTS_MAX * 2] = {0.0};
    int32_t start = region_start(skeleton, region);
    if (start < 0) start = 0;
    local[start] = 1.0;
    for (int32_t j = 0; j < skeleton->count; j++) {
        const sup_joint *joint = &skeleton->joints[j];
        if (joint->region != region || joint->parent < 0) continue;
        gate[j] = beyond(joint, p);
        /* A joint of one side in the skin of the middle does not reach across x = 0. */
        if (joint->row->name[0] == '*') gate[j] *= smooth_step((joint->right ? -p.x : p.x) / joint->row->blend);
        taken[joint->parent] += gate[j];
    }
    for (int32_t j = 0; j < skeleton->count; j++) {
        int32_t parent = skeleton->joints[j].parent;
        if (parent >= 0 && gate[j] > 0.0)
            local[j] += local[parent] * gate[j] / (taken[parent] > 1.0 ? taken[parent] : 1.0);
    }
    for (int32_t j = 0; j < skeleton->count; j++)
        weight[j] += share * local[j] * (taken[j] < 1.0 ? 1.0 - taken[j] : 0.0);
}

int32_t sup_scene_weights(const sup_recipe *recipe, const sup_skeleton *skeleton, const sup_sculpture *sculpture,
                          sup_vec3d p, int32_t joints[SUP_INFLUENCES_MAX], float weights[SUP_INFLUENCES_MAX])
{
    double share[SUP_REGIONS_MAX * 2], weight[SUP_JOINTS_MAX * 2] = {0.0}, kept = 0.0;
    int32_t both = recipe->mirrored ? recipe->region_count * 2 : recipe->region_count, count = 0;
    region_shares(recipe, sculpture, p, share);
    for (int32_t r = 0; r < both; r++)
        if (share[r] > 1e-6) flow_down(skeleton, r, p, share[r], weight);
    for (; count < SUP_INFLUENCES_MAX; count++) {
        int32_t best = 0;
        for (int32_t j = 1; j < skeleton->count; j++)
            if (weight[j] > weight[best]) best = j;
        if (weight[best] < 1e-3) break;
        joints[count] = best;
        weights[count] = (float)weight[best];
        kept += weight[best];
        weight[best] = 0.0;
    }
    float sum = 0.0f;
    for (int32_t i = 1; i < count; i++) {
        weights[i] = (float)((double)weights[i] / kept);
        sum += weights[i];
    }
    weights[0] = 1.0f - sum;
    return count;
}

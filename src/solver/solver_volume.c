/* solver_volume.c - volumes of the regions (volume_regions.c) and the pressures that keep them.
 *
 * With r the volume of a region over that at rest, W its rest volume in the units of strain's weights and s = r - 1,
 *     V = volume sum W / 2 s^2 u,   u = 1 / (1 + s^2 / 4),   dV/dr = volume W s u^2:
 * quadratic near rest, bounded far from it, where stiffness would only tear. The regions' inner ends are the feet on the
 * bone lines, which a step does not move: what is pushed is the skin, along the gradient of the volume under it. */
#include "solver/solver_work.h"

#include "base/simd.h"

void sup_step_place_feet(const sup_step *step, int32_t begin, int32_t end)
{
    const sup_system *s = step->system;
    for (int32_t v = begin; v < end; v++) {
        const float *bone = step->input->bones + (int64_t)8 * s->foot_bone[v];
        sup_four from = sup_four_load(bone), to = sup_four_load(bone + 4);
        sup_four foot = sup_four_fma(sup_four_splat(s->foot_along[v]), to - from, from);
        memcpy(step->memory.foot + (int64_t)4 * s->node[v], &foot, sizeof foot);
        if (s->vertex_count > 2 * s->skin_count) /* kernels read it, and weigh it with 0 */
            memcpy(step->memory.foot + (int64_t)4 * s->node[2 * s->skin_count + v], &foot, sizeof foot);
    }
}

static void volume_clusters(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const sup_step *step = data;
    sup_local_work work = sup_step_local_work(step);
    SUP_UNUSED(worker);
    for (int32_t cluster = begin; cluster < end; cluster++)
        step->kernels->volumes(&work, cluster);
}

double sup_step_pressures(sup_step *step)
{
    const sup_system *s = step->system;
    double energy = 0.0, *region = step->memory.region;
    sup_parallel(step->context, s->cluster_count, 1, volume_clusters, step);
    memset(region, 0, (size_t)s->region_count * sizeof *region);
    for (int32_t k = 0; k < s->region_slot_count; k++)
        region[s->region_slot_region[k]] += step->memory.region_slot_volume[k];
    for (int32_t c = 0; c < s->region_count; c++) {
        double rest = (double)s->region_volume[c];
        double excess = rest > 0.0 ? region[c] / rest - 1.0 : 0.0, u = 1.0 / sup_volume_denominator(excess);
        sup_volume_response response = sup_volume_respond((double)s->volume, rest, excess, u);
        region[c] = response.pressure;
        energy += response.energy;
    }
    for (int32_t k = 0; k < s->region_slot_count; k++)
        step->memory.region_slot_pressure[k] = (float)region[s->region_slot_region[k]];
    sup_step_done(step, SUP_SOLVER_VOLUME);
    return energy;
}

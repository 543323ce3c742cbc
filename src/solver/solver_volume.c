/* solver_volume.c - volumes of the volume regions (volume_regions.c) and the pressures that preserve them.
 *
 * step_control.h has the energy. The inner ends of the regions are the foot points on the bone lines, which a step
 * does not move: pressure moves the skin, along the gradient of the volume under it. */
#include "solver/solver_work.h"

#include "base/simd.h"

void sup_volume_foot_points(const sup_system *system, const float *bones, int32_t begin, int32_t end, float *foot)
{
    const sup_system *s = system;
    for (int32_t v = begin; v < end; v++) {
        const float *bone = bones + (int64_t)8 * s->foot_bone[v];
        sup_four from = sup_four_load(bone), to = sup_four_load(bone + 4);
        sup_four point = sup_four_fma(sup_four_splat(s->foot_along[v]), to - from, from);
        memcpy(foot + (int64_t)4 * s->node[v], &point, sizeof point);
        if (s->vertex_count > 2 * s->skin_count) /* kernels read it, with weight 0 */
            memcpy(foot + (int64_t)4 * s->node[2 * s->skin_count + v], &point, sizeof point);
    }
}

typedef struct volume_task {
    const sup_solver_kernels *kernels;
    const sup_local_work *work;
} volume_task;

static void volume_clusters(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const volume_task *task = data;
    SUP_UNUSED(worker);
    for (int32_t cluster = begin; cluster < end; cluster++)
        task->kernels->volumes(task->work, cluster);
}

double sup_volume_pressures(const sup_context *context, const sup_solver_kernels *kernels, const sup_local_work *work,
                            double *region, float *pressure)
{
    const sup_system *s = work->system;
    volume_task task = {kernels, work};
    double energy = 0.0;
    sup_parallel(context, s->cluster_count, 1, volume_clusters, &task);
    memset(region, 0, (size_t)s->region_count * sizeof *region);
    for (int32_t k = 0; k < s->region_slot_count; k++)
        region[s->region_slot_region[k]] += work->region_slot_volume[k];
    for (int32_t c = 0; c < s->region_count; c++) {
        double rest = (double)s->region_volume[c];
        double excess = rest > 0.0 ? region[c] / rest - 1.0 : 0.0, u = 1.0 / sup_volume_denominator(excess);
        sup_volume_response response = sup_volume_respond((double)s->volume, rest, excess, u);
        region[c] = response.pressure;
        energy += response.energy;
    }
    for (int32_t k = 0; k < s->region_slot_count; k++)
        pressure[k] = (float)region[s->region_slot_region[k]];
    return energy;
}

/* solver_volume.c - volumes of the chambers (volume_regions.c) and the pressures that keep them.
 *
 * With r the volume of a chamber over that at rest, W its rest volume in the units of strain's weights and s = r - 1,
 *     V = volume sum W / 2 s^2 u,   u = 1 / (1 + s^2 / 4),   dV/dr = volume W s u^2:
 * quadratic near rest, bounded far from it, where stiffness would only tear. The chambers' inner ends are the feet on the
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
        memcpy(step->memory.foot + (int64_t)4 * s->place[v], &foot, sizeof foot);
        if (s->vertex_count > 2 * s->skin_count) /* kernels read it, and weigh it with 0 */
            memcpy(step->memory.foot + (int64_t)4 * s->place[2 * s->skin_count + v], &foot, sizeof foot);
    }
}

static void volume_pieces(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const sup_step *step = data;
    sup_local_work work = sup_step_local_work(step);
    SUP_UNUSED(worker);
    for (int32_t piece = begin; piece < end; piece++)
        step->kernels->volumes(&work, piece);
}

double sup_step_pressures(sup_step *step)
{
    const sup_system *s = step->system;
    double energy = 0.0, *chamber = step->memory.chamber;
    sup_parallel(step->context, s->piece_count, 1, volume_pieces, step);
    memset(chamber, 0, (size_t)s->chamber_count * sizeof *chamber);
    for (int32_t k = 0; k < s->seat_count; k++)
        chamber[s->seat_chamber[k]] += step->memory.seat_volume[k];
    for (int32_t c = 0; c < s->chamber_count; c++) {
        double rest = (double)s->chamber_volume[c];
        double excess = rest > 0.0 ? chamber[c] / rest - 1.0 : 0.0, u = 1.0 / sup_volume_denominator(excess);
        sup_volume_response response = sup_volume_respond((double)s->volume, rest, excess, u);
        chamber[c] = response.pressure;
        energy += response.energy;
    }
    for (int32_t k = 0; k < s->seat_count; k++)
        step->memory.seat_pressure[k] = (float)chamber[s->seat_chamber[k]];
    sup_step_done(step, SUP_SOLVER_VOLUME);
    return energy;
}

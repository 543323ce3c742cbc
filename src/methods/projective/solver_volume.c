/* solver_volume.c - volumes of the chambers (chambers.c) and the pressures that keep them.
 *
 * With r the volume of a chamber over that at rest, W its rest volume in the units of strain's weights and s = r - 1,
 *     V = volume sum W / 2 s^2 u,   u = 1 / (1 + s^2 / 4),   dV/dr = volume W s u^2:
 * quadratic near rest, bounded far from it, where stiffness would only tear. The chambers' inner ends are the feet on the
 * bone lines, which a step does not move: what is pushed is the skin, along the gradient of the volume under it. */
#include "methods/projective/solver_work.h"

#include <math.h>

void sup_step_place_feet(sup_step *step)
{
    const sup_system *s = step->system;
    const float *bones = step->input->bones;
    step->keeps_volume = s->volume > 0.0f && bones != NULL;
    for (int32_t v = 0; step->keeps_volume && v < s->skin_count; v++) {
        const float *bone = bones + (int64_t)8 * s->foot_bone[v];
        float *foot = step->memory.feet + (int64_t)4 * s->place[v];
        for (int32_t k = 0; k < 3; k++)
            foot[k] = bone[k] + s->foot_along[v] * (bone[4 + k] - bone[k]);
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
    double energy = 0.0;
    sup_parallel(step->context, s->piece_count, 1, volume_pieces, step);
    for (int32_t c = 0; c < s->chamber_count; c++) {
        double sum = 0.0, rest = (double)s->chamber_volume[c];
        step->memory.chamber_pressure[c] = 0.0f;
        if (!(rest > 0.0)) continue;
        for (int32_t piece = 0; piece < s->piece_count; piece++)
            sum += step->memory.chamber_sum[(int64_t)piece * s->chamber_count + c];
        double excess = sum / rest - 1.0, u = 1.0 / (1.0 + 0.25 * excess * excess);
        step->memory.chamber_pressure[c] = (float)((double)s->volume * excess * u * u);
        energy += 0.5 * (double)s->volume * rest * excess * excess * u;
    }
    sup_step_done(step, SUP_SOLVER_VOLUME);
    return energy;
}

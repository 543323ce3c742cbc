/* acceleration.c - second differences of the vertices of a motion: they show skin that pops from one frame to the
 * next. */
#include "base/base.h"
#include "math/vec3.h"
#include "supple/measure.h"

/* Length of the second difference of one vertex; `at` is its position in the middle frame. */
static double second_difference(const float *at, size_t stride)
{
    sup_vec3d around = sup_v3_add(sup_v3_load(at - stride), sup_v3_load(at + stride));
    return sup_v3_distance(around, sup_v3_scale(sup_v3_load(at), 2.0));
}

sup_result sup_measure_acceleration(const sup_rig *rig, int32_t frame_count, const float *positions,
                                    const float *reference, sup_acceleration *measure)
{
    if (rig == NULL || positions == NULL || measure == NULL || frame_count < 1) return SUP_ERROR_ARGUMENT;
    size_t stride = 3 * (size_t)rig->vertex_count, samples = 0;
    double sum = 0.0, size = (double)rig->size;
    sup_acceleration m = {.rms = -1.0, .excess = reference != NULL && frame_count > 2 ? 0.0 : -1.0, .excess_frame = -1};
    for (int32_t f = 1; f + 1 < frame_count; f++)
        for (size_t v = 0; v < stride; v += 3) {
            size_t at = (size_t)f * stride + v;
            double a = second_difference(positions + at, stride) / size;
            if (!isfinite(a)) continue; /* values that are not finite are counted elsewhere */
            sum += a * a;
            samples++;
            if (reference == NULL) continue;
            double excess = a - second_difference(reference + at, stride) / size;
            if (!(excess > m.excess)) continue;
            m.excess = excess;
            m.excess_frame = f;
        }
    if (samples > 0) m.rms = sqrt(sum / (double)samples);
    *measure = m;
    return SUP_OK;
}

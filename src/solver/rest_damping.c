/* rest_damping.c - step fractions of the vertices of one instance. See rest_damping.h. */
#include "solver/rest_damping.h"

#include "solver/rest_damping_kernel.h"

void sup_rest_damping_begin(const sup_system *system, sup_rest_damping *damping, sup_rest_damping_vertex *vertices)
{
    damping->fraction = 1.0f;
    damping->mean = SUP_REST_ACTIVE_MOTION;
    for (int32_t i = 0; i < system->unknown_count; i++)
        vertices[i] = (sup_rest_damping_vertex){.fraction = 1.0f};
}

/* Returns the length of the displacement before it is shortened. */
static float shorten(const float *previous, float *now, float fraction, float min_fraction, float threshold,
                     sup_rest_damping_vertex *v)
{
    float product = 0.0f, square = 0.0f, displacement[3];
    for (int k = 0; k < 3; k++) {
        displacement[k] = now[k] - previous[k];
        product += displacement[k] * v->displacement[k];
        square += displacement[k] * displacement[k];
        v->displacement[k] = displacement[k];
    }
    v->fraction = sup_rest_vertex_fraction(v->fraction, product, threshold);
    float step = fraction * fmaxf(v->fraction, min_fraction);
    for (int k = 0; k < 3; k++)
        now[k] = previous[k] + step * displacement[k];
    return sqrtf(square);
}

void sup_rest_damping_step(const sup_system *system, const float *previous, float *now, bool in_contact,
                           sup_rest_damping *damping, sup_rest_damping_vertex *vertices)
{
    float threshold = sup_rest_reversal_threshold(system->size);
    float min_fraction = sup_rest_min_fraction(in_contact, damping->mean);
    double sum = 0.0;
    bool oscillates = false;
    for (size_t i = 0; i < (size_t)system->unknown_count; i++) {
        sum += (double)shorten(previous + 4 * i, now + 4 * i, damping->fraction, min_fraction, threshold, &vertices[i]);
        oscillates = oscillates || sup_rest_oscillates(vertices[i].fraction);
    }
    damping->mean = (float)(sum / fmax(1.0, system->unknown_count)) / system->size;
    damping->fraction = sup_rest_next_fraction(damping->fraction, in_contact, oscillates, damping->mean);
}

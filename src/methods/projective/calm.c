/* calm.c - shares of the ways of vertices. See calm.h. */
#include "methods/projective/calm.h"

#include <math.h>

/* Of a share: what a turn leaves, and what a step adds that goes on. Two turns within four steps bring it below LATCH, and
 * no swing of flesh does: from there on it only falls. */
static const float FALL = 0.6f, RISE = 1.1f, LATCH = 0.5f, FADE = 0.85f;
/* Ways that turn count from here on, in sizes: rounding turns all the time. */
static const float LEAST_WAY = 3e-6f;

void sup_calm_begin(const sup_system *system, sup_calm *calm)
{
    for (int32_t i = 0; i < system->unknown_count; i++)
        calm[i] = (sup_calm){.share = 1.0f};
}

/* Returns the square of the way that is left of it, but for `part`. */
static float shorten(const float *before, float *now, float part, float least, sup_calm *c)
{
    float turn = 0.0f, square = 0.0f, way[3];
    for (int k = 0; k < 3; k++) {
        way[k] = now[k] - before[k];
        turn += way[k] * c->way[k];
        square += way[k] * way[k];
        c->way[k] = way[k];
    }
    if (turn < -least)
        c->share *= FALL;
    else if (c->share > LATCH)
        c->share = fminf(1.0f, c->share * RISE);
    if (c->share <= LATCH) c->share *= FADE;
    for (int k = 0; k < 3; k++)
        now[k] = before[k] + part * c->share * way[k];
    return c->share * c->share * square;
}

float sup_calm_step(const sup_system *system, const float *before, float *now, float part, sup_calm *calm)
{
    float least = LEAST_WAY * LEAST_WAY * system->size * system->size;
    double sum = 0.0;
    for (size_t i = 0; i < (size_t)system->unknown_count; i++)
        sum += (double)shorten(before + 4 * i, now + 4 * i, part, least, &calm[i]);
    return system->unknown_count > 0 ? (float)sqrt(sum / system->unknown_count) / system->size : 0.0f;
}

/* rest_damping.c - shares of the ways of vertices. See rest_damping.h. */
#include "solver/rest_damping.h"

#include <math.h>

/* Of a share: what a turn leaves, and what a step adds that goes on. Two turns within four steps bring it below LATCH, and
 * no swing of flesh does: from there on it only falls. */
static const float FALL = 0.6f, RISE = 1.1f, LATCH = 0.5f, FADE = 0.75f;
/* Ways that turn count from here on, in sizes: rounding turns all the time. */
static const float LEAST_WAY = 3e-6f;
/* Mean way that a step asks for, in sizes: from here on nothing is shortened, in proportion below it. */
static const float ROUSED = 3e-5f;
/* Mean way, in sizes, below which flesh that touches and trembles is stopped; and what that leaves in a step. */
static const float QUIET = 1e-5f, STOP = 0.8f;

void sup_rest_damping_begin(const sup_system *system, sup_rest_damping *calm, sup_rest_damping_vertex *vertices)
{
    calm->part = 1.0f;
    calm->mean = ROUSED;
    for (int32_t i = 0; i < system->unknown_count; i++)
        vertices[i] = (sup_rest_damping_vertex){.share = 1.0f};
}

/* Returns the length of the way that was asked for. `turned`: square of the least way that turns. */
static float shorten(const float *before, float *now, float part, float least_share, float turned, sup_rest_damping_vertex *v)
{
    float turn = 0.0f, square = 0.0f, way[3];
    for (int k = 0; k < 3; k++) {
        way[k] = now[k] - before[k];
        turn += way[k] * v->way[k];
        square += way[k] * way[k];
        v->way[k] = way[k];
    }
    if (turn < -turned)
        v->share *= FALL;
    else if (v->share > LATCH)
        v->share = fminf(1.0f, v->share * RISE);
    if (v->share <= LATCH) v->share *= FADE;
    float share = part * fmaxf(v->share, least_share);
    for (int k = 0; k < 3; k++)
        now[k] = before[k] + share * way[k];
    return sqrtf(square);
}

void sup_rest_damping_step(const sup_system *system, const float *before, float *now, bool touches, sup_rest_damping *calm,
                   sup_rest_damping_vertex *vertices)
{
    float turned = LEAST_WAY * LEAST_WAY * system->size * system->size;
    float least = touches ? fminf(1.0f, calm->mean / ROUSED) : 1.0f;
    double sum = 0.0;
    bool trembles = false;
    for (size_t i = 0; i < (size_t)system->unknown_count; i++) {
        sum += (double)shorten(before + 4 * i, now + 4 * i, calm->part, least, turned, &vertices[i]);
        trembles = trembles || vertices[i].share <= LATCH;
    }
    calm->mean = (float)(sum / fmax(1.0, system->unknown_count)) / system->size;
    bool stop = touches && trembles && calm->mean < QUIET;
    calm->part = stop ? calm->part * STOP : fminf(1.0f, calm->part / STOP);
}

/* Rest damping while the skeleton is at rest: fast oscillation is damped, slow swings are not. */
#include "solver/rest_damping.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000 };

typedef struct tissue {
    sup_system system;
    sup_rest_damping damping;
    sup_rest_damping_vertex vertices[COUNT];
    float before[4 * COUNT], now[4 * COUNT];
} tissue;

static tissue *tissue_make(float size)
{
    tissue *f = calloc(1, sizeof *f);
    f->system.unknown_count = COUNT;
    f->system.size = size;
    sup_rest_damping_begin(&f->system, &f->damping, f->vertices);
    return f;
}

/* A timestep that moves the first `many` vertices by `displacement` sizes along x before damping. Returns the
 * displacement of the first one, in sizes. */
static double move_step(tissue *f, int32_t many, double displacement, bool touches)
{
    memcpy(f->before, f->now, sizeof f->now);
    for (int32_t v = 0; v < many; v++)
        f->now[4 * v] += (float)(displacement * (double)f->system.size);
    sup_rest_damping_step(&f->system, f->before, f->now, touches, &f->damping, f->vertices);
    return ((double)f->now[0] - (double)f->before[0]) / (double)f->system.size;
}

TEST(oscillation_is_damped_at_any_size)
{
    static const float sizes[] = {1.0f, 0.01f, 300.0f};
    for (int i = 0; i < 3; i++) {
        tissue *f = tissue_make(sizes[i]);
        CHECK_NEAR(move_step(f, 2, 1e-3, true), 1e-3, 1e-6);
        double last = 0.0;
        for (int step = 1; step < 20; step++)
            last = move_step(f, 2, step % 2 == 0 ? 1e-3 : -1e-3, true);
        CHECK_MSG(fabs(last) < 1e-5, "size %g: it still moves by %g", (double)sizes[i], last);
        free(f);
    }
}

TEST(slow_swings_are_not_damped)
{
    tissue *f = tissue_make(2.0f);
    for (int step = 0; step < 200; step++) {
        double displacement = 1e-4 * sin(6.283185307 * step / 15.0); /* four a second */
        move_step(f, 2, displacement, true);
        CHECK_MSG(f->damping.fraction == 1.0f && (fabs(displacement) < 5e-5 || f->vertices[0].fraction > 0.5f),
                  "step %d: %g of it", step, (double)f->vertices[0].fraction);
    }
    free(f);
}

/* Without contact, and where most of the tissue moves: a trunk is not damped because of skin that oscillates on it. */
TEST(large_motions_are_not_damped)
{
    for (int much = 0; much < 2; much++) {
        tissue *f = tissue_make(1.0f);
        for (int step = 0; step < 40; step++) {
            double displacement = step % 2 == 0 ? 1e-3 : -1e-3;
            CHECK_NEAR(move_step(f, much ? COUNT : 2, displacement, much == 1), displacement, 1e-6);
        }
        free(f);
    }
}

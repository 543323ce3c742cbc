/* Ways of vertices while the skeleton stands: what trembles ends, what swings does not notice. */
#include "solver/rest_damping.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000 };

typedef struct flesh {
    sup_system system;
    sup_rest_damping calm;
    sup_rest_damping_vertex vertices[COUNT];
    float before[4 * COUNT], now[4 * COUNT];
} flesh;

static flesh *flesh_make(float size)
{
    flesh *f = calloc(1, sizeof *f);
    f->system.unknown_count = COUNT;
    f->system.size = size;
    sup_rest_damping_begin(&f->system, &f->calm, f->vertices);
    return f;
}

/* A step that asks the first `many` vertices to go by `way` sizes along x. Returns how far the first one went, in sizes. */
static double ask(flesh *f, int32_t many, double way, bool touches)
{
    memcpy(f->before, f->now, sizeof f->now);
    for (int32_t v = 0; v < many; v++)
        f->now[4 * v] += (float)(way * (double)f->system.size);
    sup_rest_damping_step(&f->system, f->before, f->now, touches, &f->calm, f->vertices);
    return ((double)f->now[0] - (double)f->before[0]) / (double)f->system.size;
}

TEST(trembling_ends_at_any_size)
{
    static const float sizes[] = {1.0f, 0.01f, 300.0f};
    for (int i = 0; i < 3; i++) {
        flesh *f = flesh_make(sizes[i]);
        CHECK_NEAR(ask(f, 2, 1e-3, true), 1e-3, 1e-6);
        double last = 0.0;
        for (int step = 1; step < 20; step++)
            last = ask(f, 2, step % 2 == 0 ? 1e-3 : -1e-3, true);
        CHECK_MSG(fabs(last) < 1e-5, "size %g: it still goes by %g", (double)sizes[i], last);
        free(f);
    }
}

TEST(swings_go_all_their_way)
{
    flesh *f = flesh_make(2.0f);
    for (int step = 0; step < 200; step++) {
        double way = 1e-4 * sin(6.283185307 * step / 15.0); /* four a second */
        ask(f, 2, way, true);
        CHECK_MSG(f->calm.fraction == 1.0f && (fabs(way) < 5e-5 || f->vertices[0].fraction > 0.5f), "step %d: %g of it", step,
                  (double)f->vertices[0].fraction);
    }
    free(f);
}

/* Where nothing touches, and where much of the flesh moves: a trunk is not held back by the skin on it that trembles. */
TEST(large_motions_are_left_alone)
{
    for (int much = 0; much < 2; much++) {
        flesh *f = flesh_make(1.0f);
        for (int step = 0; step < 40; step++) {
            double way = step % 2 == 0 ? 1e-3 : -1e-3;
            CHECK_NEAR(ask(f, much ? COUNT : 2, way, much == 1), way, 1e-6);
        }
        free(f);
    }
}

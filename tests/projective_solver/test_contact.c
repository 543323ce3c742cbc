/* Contacts in the step: they push, never pull, hold by friction, and stay bounded. */
#include "projective_solver/body.h"
#include "test.h"

enum { CAPACITY = 600 };

typedef struct fixture {
    body b;
    void *state;
    size_t size;
    float *anchors, *skin, *last;
    sup_contact rows[CAPACITY];
    int32_t count;
} fixture;

/* The first `fixed_count` vertices of its skin are anchors. */
static fixture *held_tube(double scale, int32_t fixed_count)
{
    static unsigned char fixed[4096];
    fixture *f = calloc(1, sizeof *f);
    sup_system_def def = {.fixed = fixed_count > 0 ? fixed : NULL};
    sup_error error = {0};
    CHECK(f != NULL);
    f->b = body_tube(40, 16, scale);
    CHECK(f->b.tissue.skin_count < SUP_COUNT(fixed));
    memset(fixed, 1, (size_t)fixed_count);
    CHECK_OK(body_bind(&f->b, NULL, &def, &error), error);
    f->size = sup_solver_state_size(&f->b.system, CAPACITY);
    CHECK(f->size > sup_solver_state_size(&f->b.system, 0));
    f->state = aligned_alloc(64, f->size);
    f->anchors = calloc((size_t)f->b.system.anchor_count, 16);
    f->skin = calloc((size_t)f->b.tissue.skin_count, 12);
    f->last = calloc((size_t)f->b.tissue.skin_count, 12);
    CHECK(f->state && f->anchors && f->skin && f->last);
    memset(f->state, 0, f->size);
    sup_solver_reset(NULL, &f->b.system, f->state, CAPACITY, NULL, NULL, 0);
    sup_solver_skin(&f->b.system, f->state, f->skin, 3);
    body_anchors(&f->b, 0.0, f->anchors);
    return f;
}

static fixture *tube(double scale)
{
    return held_tube(scale, 0);
}

static void fixture_free(fixture *f)
{
    body_free(&f->b);
    free(f->state), free(f->anchors), free(f->skin), free(f->last), free(f);
}

static sup_solver_report step(fixture *f, const sup_context *context)
{
    sup_solver_report report;
    sup_solver_input input = {.anchors = f->anchors, .contacts = f->rows, .contact_count = f->count, .damping = 0.1f};
    memcpy(f->last, f->skin, (size_t)f->b.tissue.skin_count * 12);
    CHECK_EQ(sup_solver_step(context, &f->b.system, f->state, &input, &report), SUP_OK);
    sup_solver_skin(&f->b.system, f->state, f->skin, 3);
    for (int32_t i = 0; i < f->b.tissue.skin_count * 3; i++)
        CHECK(isfinite(f->skin[i]));
    return report;
}

/* A ceiling at z = height over the section of the tube with x > from. */
static void press(fixture *f, float height, float from, float friction)
{
    f->count = 0;
    for (int32_t v = 0; v < f->b.tissue.skin_count && f->count < CAPACITY; v++) {
        if (f->skin[3 * v] < from || f->skin[3 * v + 2] < 0.0f) continue;
        f->rows[f->count++] = (sup_contact){.vertex = v,
                                            .corner = {-1, -1, -1},
                                            .normal = {0.0f, 0.0f, -1.0f},
                                            .point = {f->skin[3 * v], f->skin[3 * v + 1], height},
                                            .friction = friction};
    }
}

static double depth_under(const fixture *f, float height, float from)
{
    double deepest = 0.0;
    for (int32_t v = 0; v < f->b.tissue.skin_count; v++)
        if (f->skin[3 * v] >= from) deepest = fmax(deepest, (double)f->skin[3 * v + 2] - (double)height);
    return deepest;
}

static double moved(const fixture *f)
{
    double most = 0.0;
    for (int32_t i = 0; i < f->b.tissue.skin_count * 3; i++)
        most = fmax(most, fabs((double)f->skin[i] - (double)f->last[i]));
    return most;
}

TEST(contacts_resolve_penetration_and_come_to_rest)
{
    fixture *f = tube(1.0);
    double before = depth_under(f, 0.7f, 2.0f);
    CHECK(before > 0.15);
    press(f, 0.7f, 2.0f, 0.0f);
    sup_solver_report report = {0};
    for (int32_t k = 0; k < 80; k++)
        report = step(f, NULL);
    CHECK(report.contacts > 20);
    CHECK_MSG(depth_under(f, 0.7f, 2.0f) < 0.15 * before, "still %g deep", depth_under(f, 0.7f, 2.0f));
    CHECK_MSG(moved(f) < 1e-5 * 12.0, "trembles by %g", moved(f)); /* issue 4: no jitter at rest */
    f->count = 0;                                                  /* without contacts: back to rest */
    for (int32_t k = 0; k < 150; k++)
        step(f, NULL);
    for (int32_t v = 0; v < f->b.tissue.skin_count * 3; v++)
        CHECK_NEAR(f->skin[v], f->b.tissue.skin[v], 1e-3 * 12.0);
    fixture_free(f);
}

/* A contact deeper than its limit pushes no harder than at the limit; with a smaller `press` it pushes less. */
TEST(contact_force_is_limited)
{
    double height[3];
    for (int32_t k = 0; k < 3; k++) {
        fixture *f = tube(1.0);
        press(f, 0.2f, 2.0f, 0.0f);
        for (int32_t i = 0; i < f->count; i++) {
            f->rows[i].limit = k > 0 ? 0.02f : 0.0f;
            f->rows[i].press = k > 1 ? 0.1f : 0.0f;
        }
        for (int32_t i = 0; i < 60; i++)
            step(f, NULL);
        height[k] = depth_under(f, 0.2f, 2.0f);
        fixture_free(f);
    }
    CHECK_MSG(height[0] < 0.5 * height[1] && height[1] < 0.95 * height[2], "%g %g %g", height[0], height[1], height[2]);
}

/* Damping opposes motion along the normal in both directions and does not change the rest position. */
TEST(contact_damping_reduces_motion)
{
    double way[2], depth[2];
    for (int32_t k = 0; k < 2; k++) {
        fixture *f = tube(1.0);
        press(f, 0.7f, 2.0f, 0.0f);
        for (int32_t i = 0; i < f->count; i++)
            f->rows[i].damping = k > 0 ? 2.0f : 0.0f;
        way[k] = 0.0;
        for (int32_t i = 0; i < 200; i++) {
            step(f, NULL);
            if (i < 3) way[k] = fmax(way[k], moved(f));
        }
        depth[k] = depth_under(f, 0.7f, 2.0f);
        fixture_free(f);
    }
    CHECK_MSG(way[1] < 0.8 * way[0], "%g %g", way[0], way[1]);
    CHECK_MSG(fabs(depth[1] - depth[0]) < 0.02, "%g %g", depth[0], depth[1]);
}

/* Satisfied contacts do not pull; without contacts the result has the same bits as without contact capacity. */
TEST(contacts_never_pull)
{
    fixture *f = tube(1.0), *g = tube(1.0);
    press(f, 5.0f, -10.0f, 1.0f);
    CHECK(f->count > 100);
    for (int32_t k = 1; k < 30; k++) {
        body_anchors(&f->b, k / 60.0, f->anchors);
        body_anchors(&g->b, k / 60.0, g->anchors);
        sup_solver_report report = step(f, NULL);
        step(g, NULL);
        CHECK_EQ(report.contacts, 0);
    }
    for (int32_t i = 0; i < f->b.tissue.skin_count * 3; i++)
        CHECK_NEAR(f->skin[i], g->skin[i], 1e-4 * 12.0);
    fixture_free(f);
    fixture_free(g);
}

TEST(zero_contacts_give_same_bits)
{
    fixture *f = tube(1.0);
    void *plain = aligned_alloc(64, sup_solver_state_size(&f->b.system, 0));
    float *skin = malloc((size_t)f->b.tissue.skin_count * 12);
    CHECK(plain && skin);
    sup_solver_reset(NULL, &f->b.system, plain, 0, NULL, NULL, 0);
    for (int32_t k = 1; k < 20; k++) {
        body_anchors(&f->b, k / 40.0, f->anchors);
        step(f, NULL);
        sup_solver_input input = {.anchors = f->anchors, .damping = 0.1f};
        CHECK_EQ(sup_solver_step(NULL, &f->b.system, plain, &input, NULL), SUP_OK);
        sup_solver_skin(&f->b.system, plain, skin, 3);
        CHECK(memcmp(skin, f->skin, (size_t)f->b.tissue.skin_count * 12) == 0);
    }
    free(plain), free(skin);
    fixture_free(f);
}

/* A skin triangle pushed by a vertex of the other end of the tube: both yield, momentum is conserved. */
TEST(skin_pushes_skin)
{
    fixture *f = tube(1.0);
    /* the ring at one end against the ring beside it, as if they overlapped by 0.1 along x */
    int32_t segments = 16, a = 20 * segments, b = 21 * segments;
    float gap = f->skin[3 * b] - f->skin[3 * a];
    for (int32_t s = 0; s < segments; s++) {
        int32_t next = (s + 1) % segments;
        f->rows[f->count++] = (sup_contact){.vertex = b + s,
                                            .corner = {a + s, a + next, -1},
                                            .weight = {0.5f, 0.5f, 0.0f},
                                            .normal = {1.0f, 0.0f, 0.0f},
                                            .offset = gap + 0.1f};
    }
    for (int32_t k = 0; k < 60; k++)
        step(f, NULL);
    double left = 0.0, right = 0.0;
    for (int32_t s = 0; s < segments; s++) {
        left += ((double)f->skin[3 * (a + s)] - f->b.tissue.skin[3 * (a + s)]) / segments;
        right += ((double)f->skin[3 * (b + s)] - f->b.tissue.skin[3 * (b + s)]) / segments;
    }
    CHECK_MSG(left < -0.01 && right > 0.01, "%g %g", left, right);
    CHECK_MSG(right - left > 0.05, "%g", right - left);
    CHECK(moved(f) < 1e-5 * 12.0);
    fixture_free(f);
}

/* A contact between skin and skin is invariant to a common translation. */
TEST(pair_contacts_ignore_common_translation)
{
    fixture *f = tube(1.0);
    int32_t a = 20 * 16, b = 21 * 16;
    for (int32_t s = 0; s < 16; s++)
        f->rows[f->count++] = (sup_contact){.vertex = b + s,
                                            .corner = {a + s, -1, -1},
                                            .weight = {1.0f, 0.0f, 0.0f},
                                            .normal = {1.0f, 0.0f, 0.0f},
                                            .offset = f->skin[3 * b] - f->skin[3 * a] + 0.1f,
                                            .friction = 0.6f};
    for (int32_t k = 0; k < 60; k++)
        step(f, NULL);
    float *settled = malloc((size_t)f->b.tissue.skin_count * 12);
    CHECK(settled != NULL);
    memcpy(settled, f->skin, (size_t)f->b.tissue.skin_count * 12);
    for (int32_t k = 1; k <= 30; k++) { /* uniform translation, after an initial acceleration */
        for (int32_t i = 0; i < f->b.system.anchor_count; i++)
            f->anchors[4 * i + 1] += 0.3f;
        step(f, NULL);
    }
    for (int32_t k = 0; k < 200; k++)
        step(f, NULL);
    for (int32_t v = 0; v < f->b.tissue.skin_count; v++) {
        CHECK_NEAR(f->skin[3 * v], settled[3 * v], 2e-4 * 12.0);
        CHECK_NEAR(f->skin[3 * v + 1] - 9.0f, settled[3 * v + 1], 2e-4 * 12.0);
    }
    free(settled);
    fixture_free(f);
}

/* A ceiling that slides along x drags the skin with friction, and does not without. */
static double dragged(float friction)
{
    fixture *f = tube(1.0);
    press(f, 0.7f, 2.0f, friction);
    for (int32_t k = 0; k < 40; k++)
        step(f, NULL);
    double start = 0.0, end = 0.0;
    for (int32_t i = 0; i < f->count; i++)
        start += (double)f->skin[3 * f->rows[i].vertex] / f->count;
    for (int32_t k = 0; k < 30; k++) {
        for (int32_t i = 0; i < f->count; i++) {
            f->rows[i].motion[0] = 0.02f;
            f->rows[i].point[0] += 0.02f;
        }
        step(f, NULL);
    }
    for (int32_t i = 0; i < f->count; i++)
        end += (double)f->skin[3 * f->rows[i].vertex] / f->count;
    fixture_free(f);
    return end - start;
}

TEST(friction_drags_along)
{
    double without = dragged(0.0f), little = dragged(0.1f), much = dragged(1.0f);
    CHECK_MSG(fabs(without) < 0.005, "%g without friction", without);
    CHECK_MSG(little > 0.001 && much > 2.0 * little, "%g, %g", little, much);
}

TEST(invalid_contacts_are_ignored)
{
    fixture *f = tube(1.0), *g = tube(1.0);
    const sup_contact good = {.vertex = 5, .corner = {-1, -1, -1}, .normal = {0.0f, 0.0f, 1.0f}};
    int32_t n = f->b.tissue.skin_count;
    for (int32_t k = 0; k < 12; k++) {
        sup_contact c = good;
        c.point[2] = 3.0f; /* would push hard */
        if (k == 0) c.vertex = -1;
        if (k == 1) c.vertex = n;
        if (k == 2) c.corner[0] = n;
        if (k == 3) c.corner[1] = 5;
        if (k == 4) c.normal[2] = 0.0f;
        if (k == 5) c.normal[0] = NAN;
        if (k == 6) c.offset = INFINITY;
        if (k == 7) c.stiffness = NAN;
        if (k == 8) c.friction = -1.0f;
        if (k == 9) c.point[1] = NAN;
        if (k == 10) c.motion[1] = INFINITY;
        if (k == 11) c.corner[0] = 7, c.weight[0] = NAN;
        f->rows[f->count++] = c;
    }
    for (int32_t k = 0; k < 3; k++) {
        step(f, NULL);
        step(g, NULL);
    }
    CHECK(memcmp(f->skin, g->skin, (size_t)n * 12) == 0);
    fixture_free(f);
    fixture_free(g);
}

/* The only free vertex has a small weight, all others are anchors: the contact yields. */
TEST(contact_on_anchors_moves_nothing_far)
{
    enum { HELD = 8 };
    fixture *f = held_tube(1.0, HELD);
    float before[3];
    memcpy(before, f->skin + 3 * HELD, sizeof before);
    f->rows[f->count++] = (sup_contact){.vertex = 0,
                                        .corner = {1, 2, HELD},
                                        .weight = {0.5f, 0.498f, 0.002f},
                                        .normal = {0.0f, 0.0f, 1.0f},
                                        .offset = 1.0f};
    for (int32_t k = 0; k < 10; k++)
        step(f, NULL);
    for (int32_t k = 0; k < 3; k++)
        CHECK_NEAR(f->skin[3 * HELD + k], before[k], 0.2);
    fixture_free(f);
}

/* Extreme contacts: far too stiff, far too deep, contradicting each other. Positions stay finite and bounded, and
 * recover without them. */
TEST(contacts_stay_bounded)
{
    static const double scales[2] = {1.0, 100.0};
    for (int32_t q = 0; q < 2; q++) {
        fixture *f = tube(scales[q]);
        sup_random random = {43};
        int32_t n = f->b.tissue.skin_count;
        for (int32_t k = 0; k < 40; k++) {
            f->count = 0;
            for (int32_t i = 0; i < CAPACITY; i++) {
                sup_contact c = {.vertex = (int32_t)(sup_random_u32(&random) % (uint32_t)n),
                                 .stiffness = (float)pow(10.0, 6.0 * sup_random_unit(&random) - 2.0),
                                 .offset = (float)(scales[q] * 3.0 * (sup_random_unit(&random) - 0.3)),
                                 .friction = (float)sup_random_unit(&random)};
                double length = 0.0, normal[3];
                for (int32_t a = 0; a < 3; a++) {
                    c.corner[a] = i % 2 == 0 ? (int32_t)(sup_random_u32(&random) % (uint32_t)n) : -1;
                    c.weight[a] = i % 2 == 0 ? 1.0f / 3.0f : 0.0f;
                    if (c.corner[a] == c.vertex) c.corner[a] = (c.vertex + 1) % n;
                    normal[a] = sup_random_unit(&random) - 0.5;
                    length += normal[a] * normal[a];
                    c.point[a] = i % 2 == 0 ? 0.0f : f->skin[3 * c.vertex + a];
                }
                for (int32_t a = 0; a < 3; a++)
                    c.normal[a] = (float)(normal[a] / sqrt(length));
                f->rows[f->count++] = c;
            }
            step(f, NULL);
            for (int32_t i = 0; i < n * 3; i++)
                CHECK(fabs((double)f->skin[i]) < 100.0 * scales[q]);
        }
        f->count = 0;
        for (int32_t k = 0; k < 200; k++)
            step(f, NULL);
        double worst = 0.0;
        for (int32_t i = 0; i < n * 3; i++)
            worst = fmax(worst, fabs((double)f->skin[i] - f->b.tissue.skin[i]));
        CHECK_MSG(worst < 1e-2 * 12.0 * scales[q], "%g away from rest", worst);
        fixture_free(f);
    }
}

TEST(threads_do_not_change_contact_results)
{
    float *first = NULL;
    for (int32_t threads = 1; threads <= 3; threads++) {
        fixture *f = tube(1.0);
        sup_thread_pool *pool = NULL;
        sup_error error = {0};
        CHECK_OK(sup_thread_pool_create(threads, &pool, &error), error);
        sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
        press(f, 0.7f, -3.0f, 0.4f);
        for (int32_t k = 1; k < 20; k++) {
            body_anchors(&f->b, k / 80.0, f->anchors);
            step(f, &context);
        }
        size_t bytes = (size_t)f->b.tissue.skin_count * 12;
        if (first == NULL) {
            first = malloc(bytes);
            CHECK(first != NULL);
            memcpy(first, f->skin, bytes);
        }
        CHECK(memcmp(first, f->skin, bytes) == 0);
        sup_thread_pool_destroy(pool);
        fixture_free(f);
    }
    free(first);
}

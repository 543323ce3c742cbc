/* The step against its reference in double, and properties of every step. */
#include "solver/solver_reference.h"
#include "solver/solver_work.h"
#include "base/simd.h"
#include "projective_solver/body.h"
#include "test.h"

typedef struct fixture {
    body b;
    sup_reference *reference;
    void *state;
    size_t state_size;
    float *anchors, *bones;
    float *now, *before, *after;    /* tissue vertices of the state */
    double *x, *y, *nowd, *befored; /* the same in double, for the reference */
    size_t count;                   /* tissue vertices * 3 */
} fixture;

static fixture fixture_of(body b, const sup_system_def *def)
{
    fixture f = {.b = b};
    sup_system_def own = *def;
    sup_error error = {0};
    CHECK_OK(body_bind(&f.b, NULL, def, &error), error);
    own.tissue = &f.b.tissue;
    own.skeleton = f.b.skeleton;
    CHECK_OK(sup_reference_create(NULL, &own, &f.reference, &error), error);
    f.count = (size_t)f.b.tissue.skin_count * 6;
    f.state_size = sup_solver_state_size(&f.b.system, 0);
    CHECK_EQ(f.state_size % 64, 0);
    f.state = aligned_alloc(64, f.state_size);
    f.anchors = calloc((size_t)f.b.system.anchor_count + 1, 16);
    f.bones = calloc((size_t)f.b.skeleton->segment_count, 32);
    float **floats[3] = {&f.now, &f.before, &f.after};
    double **doubles[4] = {&f.x, &f.y, &f.nowd, &f.befored};
    for (int k = 0; k < 3; k++)
        *floats[k] = calloc(f.count, 4);
    for (int k = 0; k < 4; k++)
        *doubles[k] = calloc(f.count, 8);
    CHECK(f.state && f.anchors && f.bones && f.now && f.before && f.after && f.x && f.y && f.nowd && f.befored);
    memset(f.state, 0, f.state_size);
    CHECK_EQ(sup_solver_reset(NULL, &f.b.system, f.state, 0, NULL, NULL, 0), SUP_OK);
    sup_solver_vertices(&f.b.system, f.state, f.now);
    memcpy(f.before, f.now, f.count * 4);
    return f;
}

static fixture tube(int32_t rings, int32_t segments, double scale, const sup_system_def *def)
{
    static const sup_system_def defaults;
    return fixture_of(body_tube(rings, segments, scale), def != NULL ? def : &defaults);
}

static void fixture_free(fixture *f)
{
    sup_reference_destroy(f->reference);
    body_free(&f->b);
    free(f->state), free(f->anchors), free(f->bones), free(f->now), free(f->before), free(f->after);
    free(f->x), free(f->y), free(f->nowd), free(f->befored);
}

static sup_solver_report step_to(fixture *f, double time, sup_solver_input input)
{
    sup_solver_report report;
    body_anchors(&f->b, time, f->anchors);
    body_bones(&f->b, time, f->bones);
    sup_reference_bones(f->reference, f->bones);
    input.anchors = f->anchors;
    input.bones = f->bones;
    CHECK_EQ(sup_solver_step(NULL, &f->b.system, f->state, &input, &report), SUP_OK);
    float *oldest = f->before;
    f->before = f->now;
    f->now = oldest;
    sup_solver_vertices(&f->b.system, f->state, f->now);
    return report;
}

static double furthest(const float *a, const float *b, size_t count)
{
    double most = 0.0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

static double tissue_length(const fixture *f)
{
    return 12.0 * (double)f->b.system.size / 3.7; /* about: tubes are 12 long and 2 wide */
}

/* In float: rest stays at rest. */
TEST(rest_stays_at_rest)
{
    fixture f = tube(24, 16, 1.0, NULL);
    sup_solver_input input = {0};
    float *rest = malloc(f.count * 4);
    CHECK(rest != NULL);
    memcpy(rest, f.now, f.count * 4);
    for (int32_t k = 0; k < 100; k++) {
        sup_solver_report report = step_to(&f, 0.0, input);
        CHECK(report.objective < 1e-10 * (double)f.b.system.weight_sum);
    }
    CHECK_MSG(furthest(rest, f.now, f.count) < 1e-6 * 12.0, "moved %g", furthest(rest, f.now, f.count));
    CHECK_MSG(furthest(f.before, f.now, f.count) < 2e-7 * 12.0, "trembles by %g", furthest(f.before, f.now, f.count));
    free(rest);
    fixture_free(&f);
}

/* The same in double. */
TEST(reference_stays_at_rest)
{
    fixture f = tube(12, 8, 1.0, NULL);
    for (size_t i = 0; i < f.count; i++)
        f.x[i] = f.y[i] = (double)f.now[i];
    sup_reference_iterate(f.reference, f.x, f.y, 100, false, NULL);
    for (size_t i = 0; i < f.count; i++)
        CHECK_NEAR(f.x[i], f.y[i], 1e-12 * 12.0);
    CHECK_NEAR(sup_reference_objective(f.reference, f.x, f.y, false), 0.0, 1e-20);
    fixture_free(&f);
}

/* Everything moves rigidly, static. */
TEST(rigid_motion_is_followed)
{
    sup_system_def def = {.is_static = true};
    fixture f = tube(20, 12, 1.0, &def);
    const sup_system *s = &f.b.system;
    for (int32_t k = 1; k <= 40; k++) { /* rotated by 3 degrees a step, and translated */
        sup_quatd rotation = sup_quatd_from_axis_angle(sup_v3(0.3, 1.0, -0.2), k * 0.05);
        sup_affine motion = sup_affine_from_trs(sup_v3(0.2 * k, -0.1 * k, 0.05 * k), rotation, sup_v3(1.0, 1.0, 1.0));
        for (int32_t a = 0; a < s->anchor_count; a++) {
            const float *rest = s->rest + ((int64_t)s->unknown_count + a) * 4;
            sup_v3_store(f.anchors + 4 * a, sup_affine_point(motion, sup_v3_load(rest)));
        }
        sup_solver_input input = {.anchors = f.anchors, .iterations = 40};
        CHECK_EQ(sup_solver_step(NULL, s, f.state, &input, NULL), SUP_OK);
        sup_solver_vertices(s, f.state, f.now);
        double worst = 0.0;
        for (int32_t v = 0; v < 2 * s->skin_count; v++) {
            sup_vec3d goal = sup_affine_point(motion, sup_v3_load(s->rest + (int64_t)s->node[v] * 4));
            worst = fmax(worst, sup_v3_distance(goal, sup_v3_load(f.now + 3 * v)));
        }
        CHECK_MSG(worst < 5e-6 * 12.0, "step %d: %g", (int)k, worst);
    }
    fixture_free(&f);
}

/* Neither a local nor a global step raises eq. 2.12. */
TEST(every_half_iteration_decreases_the_objective)
{
    for (int32_t shared = 0; shared < 2; shared++) {
        fixture f = tube(16, 10, 1.0, NULL);
        static const double gravity[3] = {0.0, 0.0, 0.0};
        double energy[41];
        for (size_t i = 0; i < f.count; i++)
            f.nowd[i] = f.befored[i] = (double)f.now[i];
        sup_reference_predict(f.reference, f.nowd, f.befored, 0.0, gravity, f.y);
        memcpy(f.x, f.y, f.count * 8);
        double *posed = f.befored;
        body_vertices(&f.b, 0.7, posed);
        for (size_t i = 0; i < f.count; i++)
            if (sup_reference_is_anchor(f.reference, (int32_t)(i / 3))) f.x[i] = posed[i];
        sup_reference_iterate(f.reference, f.x, f.y, 20, shared != 0, energy);
        for (int32_t k = 0; k < 40; k++)
            CHECK_MSG(energy[k + 1] <= energy[k] * (1.0 + 1e-12), "%d: %g -> %g", (int)k, energy[k], energy[k + 1]);
        CHECK(energy[40] < 0.9 * energy[0]);
        fixture_free(&f);
    }
}

/* Energy of the float kernels at given positions. */
static double kernel_energy(const fixture *f, const sup_solver_kernels *kernels, bool shared)
{
    const sup_system *s = &f->b.system;
    size_t nodes = (size_t)s->unknown_count + (size_t)s->anchor_count;
    float *x = aligned_alloc(64, (nodes * 16 + 127) / 64 * 64);
    float *inner = aligned_alloc(64, (size_t)(s->anchored_batch_count + 1) * SUP_PRISM_ANCHOR_FLOATS * 4);
    float *partial = aligned_alloc(64, ((size_t)s->copy_count * 16 + 127) / 64 * 64);
    float *copy = aligned_alloc(64, ((size_t)s->copy_count * 16 + 127) / 64 * 64);
    double *energy = calloc((size_t)s->cluster_count, 8), sum = 0.0;
    CHECK(x && inner && partial && copy && energy);
    memset(x, 0, nodes * 16);
    for (int32_t v = 0; v < 2 * s->skin_count; v++)
        for (int32_t k = 0; k < 3; k++)
            x[(int64_t)s->node[v] * 4 + k] = (float)f->x[3 * v + k];
    sup_local_work work = {.system = s,
                           .x = x,
                           .anchors = inner,
                           .copy = copy,
                           .partial = partial,
                           .energy = energy,
                           .shared_rotation = shared};
    for (int32_t p = 0; p < s->cluster_count; p++) {
        kernels->anchors(s, x, copy, inner, p);
        kernels->local(&work, p);
        sum += energy[p];
    }
    free(x), free(inner), free(partial), free(copy), free(energy);
    return sum;
}

static int32_t all_kernels(const sup_solver_kernels *list[3])
{
    int32_t count = 0;
    list[count++] = &sup_solver_kernels_base;
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    if (sup_simd_lanes() >= 8) list[count++] = &sup_solver_kernels_avx2;
    if (sup_simd_lanes() >= 16) list[count++] = &sup_solver_kernels_avx512;
#endif
    return count;
}

/* Zero at rest, 3/2 w (s - 1)^2 per tetrahedron at uniform stretch. */
TEST(energy_of_a_uniform_stretch)
{
    fixture f = tube(14, 9, 1.0, NULL);
    const sup_solver_kernels *kernels[3];
    int32_t kernel_count = all_kernels(kernels);
    static const double stretches[4] = {1.0, 1.3, 0.8, 0.4};
    for (int32_t k = 0; k < 4; k++) {
        double expected = 1.5 * (stretches[k] - 1.0) * (stretches[k] - 1.0) * (double)f.b.system.weight_sum;
        for (size_t i = 0; i < f.count; i++)
            f.x[i] = stretches[k] * (double)f.now[i];
        for (int32_t shared = 0; shared < 2; shared++) {
            double own = sup_reference_objective(f.reference, f.x, f.x, shared != 0);
            CHECK_NEAR(own, expected, 1e-5 * expected + 1e-12);
            for (int32_t q = 0; q < kernel_count; q++)
                CHECK_NEAR(kernel_energy(&f, kernels[q], shared != 0), expected, 1e-5 * expected + 1e-7);
        }
    }
    fixture_free(&f);
}

/* Uniform scaling: the volume of every region grows with its cube, in addition to the strain of above. */
TEST(volume_of_a_uniform_stretch)
{
    sup_system_def def = {.volume = 3.0};
    fixture f = tube(14, 9, 1.0, &def);
    double rest = 0.0;
    for (int32_t c = 0; c < f.b.system.region_count; c++) {
        CHECK(f.b.system.region_volume[c] > 0.0f);
        rest += (double)f.b.system.region_volume[c];
    }
    static const double stretches[4] = {1.0, 1.1, 0.8, 1.5};
    for (int32_t k = 0; k < 4; k++) {
        double stretch = stretches[k], s = stretch * stretch * stretch - 1.0;
        double expected = 1.5 * (stretch - 1.0) * (stretch - 1.0) * (double)f.b.system.weight_sum +
                          0.5 * 3.0 * rest * s * s / (1.0 + s * s / 4.0);
        body_bones(&f.b, 0.0, f.bones);
        for (int32_t i = 0; i < 8 * f.b.skeleton->segment_count; i++)
            f.bones[i] *= (float)stretch;
        for (size_t i = 0; i < f.count; i++)
            f.x[i] = stretch * (double)f.now[i];
        sup_reference_bones(f.reference, f.bones);
        CHECK_NEAR(sup_reference_objective(f.reference, f.x, f.x, false), expected, 1e-5 * expected + 1e-9);
    }
    fixture_free(&f);
}

/* Volume inside the skin. */
static double enclosed(const fixture *f)
{
    double sum = 0.0;
    for (int32_t t = 0; t < f->b.tissue.triangle_count; t++) {
        const int32_t *v = f->b.tissue.triangles + 3 * t;
        sum += sup_v3_dot(sup_v3_load(f->now + 3 * v[0]),
                          sup_v3_cross(sup_v3_load(f->now + 3 * v[1]), sup_v3_load(f->now + 3 * v[2]))) /
               6.0;
    }
    return sum;
}

/* A bent tube preserves its volume; strain alone does not. */
TEST(bending_preserves_volume)
{
    double lost[2];
    for (int32_t way = 0; way < 2; way++) {
        sup_system_def def = {.is_static = true, .volume = way * 4.0};
        fixture f = tube(48, 16, 1.0, &def);
        double rest = enclosed(&f);
        for (int32_t k = 1; k <= 30; k++)
            step_to(&f, k / 31.0, (sup_solver_input){0});
        lost[way] = 1.0 - enclosed(&f) / rest;
        fixture_free(&f);
    }
    CHECK_MSG(fabs(lost[1]) < 0.3 * fabs(lost[0]), "%g of %g", lost[1], lost[0]);
}

/* Kernels of every width against the reference on extreme positions: stretched, inverted, collapsed. */
TEST(kernels_agree_with_the_reference)
{
    fixture f = tube(22, 15, 1.0, NULL);
    const sup_solver_kernels *kernels[3];
    int32_t kernel_count = all_kernels(kernels);
    sup_random random = {17};
    static const double noise[5] = {0.01, 0.1, 0.5, 3.0, 0.0};
    for (int32_t k = 0; k < 5; k++) {
        for (size_t i = 0; i < f.count; i++)
            f.x[i] =
                (double)(float)(noise[k] > 0.0 ? (double)f.now[i] + noise[k] * (sup_random_unit(&random) - 0.5) : 0.25);
        for (int32_t shared = 0; shared < 2; shared++) {
            double expected = sup_reference_objective(f.reference, f.x, f.x, shared != 0);
            for (int32_t q = 0; q < kernel_count; q++)
                CHECK_NEAR(kernel_energy(&f, kernels[q], shared != 0), expected, 1e-5 * expected);
        }
    }
    fixture_free(&f);
}

/* The reference's gradient against differences of its objective: validates the reference of all other tests. */
TEST(gradient_by_finite_differences)
{
    for (int32_t way = 0; way < 4; way++) {
        int32_t shared = way % 2;
        sup_system_def def = {.volume = way / 2 * 3.0};
        fixture f = tube(8, 6, 1.0, &def);
        body_bones(&f.b, 0.3, f.bones);
        sup_reference_bones(f.reference, f.bones);
        sup_random random = {21};
        double *gradient = calloc(f.count, 8);
        CHECK(gradient != NULL);
        for (size_t i = 0; i < f.count; i++) {
            f.x[i] = (double)f.now[i] + 0.2 * (sup_random_unit(&random) - 0.5);
            f.y[i] = (double)f.now[i];
        }
        sup_reference_gradient(f.reference, f.x, f.y, shared != 0, gradient);
        for (size_t i = 0; i < f.count; i++) {
            if (sup_reference_is_anchor(f.reference, (int32_t)(i / 3))) continue;
            double kept = f.x[i], h = 1e-5;
            f.x[i] = kept + h;
            double up = sup_reference_objective(f.reference, f.x, f.y, shared != 0);
            f.x[i] = kept - h;
            double down = sup_reference_objective(f.reference, f.x, f.y, shared != 0);
            f.x[i] = kept;
            CHECK_NEAR((up - down) / (2.0 * h), gradient[i], 1e-4 * (1.0 + fabs(gradient[i])));
        }
        free(gradient);
        fixture_free(&f);
    }
}

/* Plain float steps match plain double steps: 100 of them, within 1e-5 of the size. */
static void check_plain(double volume, bool shared, int32_t lanes)
{
    sup_system_def def = {.volume = volume};
    fixture f = tube(24, 12, 1.0, &def);
    static const double gravity[3] = {0.0, -0.05, 0.02};
    double worst = 0.0;
    for (size_t i = 0; i < f.count; i++)
        f.nowd[i] = f.befored[i] = (double)f.now[i];
    for (int32_t k = 1; k <= 100; k++) {
        body_anchors(&f.b, k / 60.0, f.anchors);
        body_bones(&f.b, k / 60.0, f.bones);
        sup_reference_bones(f.reference, f.bones);
        sup_solver_input input = {.anchors = f.anchors,
                                  .bones = f.bones,
                                  .mode = SUP_SOLVER_PLAIN,
                                  .damping = 0.1f,
                                  .gravity = {0.0f, -0.05f, 0.02f},
                                  .shared_rotation = shared};
        CHECK_EQ(sup_solver_step_lanes(NULL, &f.b.system, f.state, &input, NULL, lanes), SUP_OK);
        sup_solver_vertices(&f.b.system, f.state, f.after);
        sup_reference_predict(f.reference, f.nowd, f.befored, 0.1, gravity, f.y);
        memcpy(f.x, f.y, f.count * 8);
        for (int32_t a = 0; a < f.b.system.anchor_count; a++)
            for (int32_t c = 0; c < 3; c++)
                f.x[3 * f.b.system.anchor[a] + c] = (double)f.anchors[4 * a + c];
        sup_reference_iterate(f.reference, f.x, f.y, 10, shared, NULL);
        double *oldest = f.befored;
        f.befored = f.nowd;
        f.nowd = f.x;
        f.x = oldest;
        for (size_t i = 0; i < f.count; i++)
            worst = fmax(worst, fabs(f.nowd[i] - (double)f.after[i]));
    }
    CHECK_MSG(worst < 1e-5 * tissue_length(&f), "volume %g, lanes %d: %g", volume, (int)lanes, worst);
    fixture_free(&f);
}

TEST(plain_steps_follow_the_reference)
{
    for (int32_t lanes = sup_simd_lanes(); lanes >= 1; lanes /= 2) {
        check_plain(0.0, false, lanes);
        check_plain(2.0, false, lanes);
        if (lanes <= 4) break;
    }
    check_plain(0.0, true, sup_simd_lanes());
    check_plain(2.0, true, sup_simd_lanes());
}

/* Every step ends at or below the objective of ten plain iterations from the same state, up to the rounding of float
 * positions. */
static void check_objective(fixture *f, double seconds, sup_solver_input input, double allowed)
{
    static const double gravity[3] = {0.0, 0.0, 0.0};
    double worst = -1.0;
    for (int32_t k = 1; k <= (int32_t)(seconds * 60.0); k++) {
        for (size_t i = 0; i < f->count; i++) {
            f->nowd[i] = (double)f->now[i];
            f->befored[i] = (double)f->before[i];
        }
        step_to(f, k / 60.0, input);
        if (k % 3 != 0 && k > 6) continue;
        sup_reference_predict(f->reference, f->nowd, f->befored, (double)input.damping, gravity, f->y);
        for (size_t i = 0; i < f->count; i++)
            f->x[i] = (double)f->now[i];
        double own = sup_reference_objective(f->reference, f->x, f->y, input.shared_rotation);
        for (size_t i = 0; i < f->count; i++)
            if (!sup_reference_is_anchor(f->reference, (int32_t)(i / 3))) f->x[i] = f->y[i];
        sup_reference_iterate(f->reference, f->x, f->y, 10, input.shared_rotation, NULL);
        double goal = sup_reference_objective(f->reference, f->x, f->y, input.shared_rotation);
        worst = fmax(worst, (own - goal) / (goal + 1e-12 * (double)f->b.system.weight_sum));
    }
    CHECK_MSG(worst <= allowed, "worst %g", worst);
}

TEST(objective_matches_ten_plain_iterations)
{
    fixture f = tube(40, 16, 1.0, NULL);
    check_objective(&f, 2.5, (sup_solver_input){0}, 2e-7);
    fixture_free(&f);
    f = tube(40, 16, 1.0, NULL);
    check_objective(&f, 2.0, (sup_solver_input){.shared_rotation = true}, 2e-7);
    fixture_free(&f);
    sup_system_def def = {.volume = 2.0};
    f = tube(40, 16, 1.0, &def);
    check_objective(&f, 1.0, (sup_solver_input){0}, 2e-7);
    fixture_free(&f);
    f = tube(40, 16, 1.0, NULL);
    check_objective(&f, 2.0, (sup_solver_input){.tolerance = 1e-6f, .damping = 0.2f}, 1e-4);
    fixture_free(&f);
}

/* Weights of the wrong sign would still descend, because steps are bounded: only the number of iterations shows it
 * (8.2 here, 9.1 with it). */
TEST(acceleration_saves_iterations)
{
    sup_system_def def = {.is_static = true};
    fixture f = tube(40, 16, 1.0, &def);
    double sum = 0.0, rejected = 0.0;
    for (int32_t k = 1; k <= 40; k++) {
        sup_solver_report report = step_to(&f, k / 40.0, (sup_solver_input){.tolerance = 1e-8f, .iterations = 60});
        sum += report.iterations / 40.0;
        rejected += report.rejected / 40.0;
    }
    CHECK_MSG(sum < 8.6, "%g iterations a step, %g taken back", sum, rejected);
    fixture_free(&f);
}

TEST(objective_on_a_character)
{
    char mesh[512], skeleton[512];
    snprintf(mesh, sizeof mesh, "%s", test_asset("fps/male/male_LR20.off"));
    snprintf(skeleton, sizeof skeleton, "%s", test_asset("fps/male/male.skel"));
    sup_system_def def = {0};
    fixture f = fixture_of(body_load(mesh, skeleton, test_asset("fps/male/male3.anim")), &def);
    check_objective(&f, 0.35, (sup_solver_input){0}, 2e-7);
    fixture_free(&f);
}

/* Anchors are exactly at their targets. */
TEST(anchors_match_targets_exactly)
{
    unsigned char fixed[14 * 9 + 2] = {0};
    fixed[3] = fixed[40] = 1;
    sup_system_def def = {.fixed = fixed};
    fixture f = tube(14, 9, 1.0, &def);
    CHECK_EQ(f.b.system.anchor[0], 3);
    CHECK_EQ(f.b.system.anchor[1], 40);
    sup_solver_input input = {0};
    for (int32_t k = 1; k < 20; k++) {
        step_to(&f, k / 20.0, input);
        for (int32_t a = 0; a < f.b.system.anchor_count; a++)
            CHECK(memcmp(f.now + (int64_t)3 * f.b.system.anchor[a], f.anchors + 4 * a, 12) == 0);
    }
    fixture_free(&f);
}

/* The same bits for any number of threads, and from run to run. */
TEST(threads_do_not_change_results)
{
    sup_system_def def = {.volume = 1.0};
    fixture f = tube(120, 48, 1.0, &def);
    CHECK(f.b.system.subdomains.subdomain_count > 2 && f.b.system.cluster_count > 3);
    float *first = malloc(f.count * 4), *again = malloc(f.count * 4);
    CHECK(first && again);
    for (int32_t threads = 1; threads <= 4; threads++) {
        sup_thread_pool *pool = NULL;
        sup_error error = {0};
        CHECK_OK(sup_thread_pool_create(threads == 4 ? 2 : threads, &pool, &error), error);
        sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
        memset(f.state, threads * 51, f.state_size); /* no value of an earlier use may matter */
        CHECK_EQ(sup_solver_reset(&context, &f.b.system, f.state, 0, NULL, NULL, 0), SUP_OK);
        for (int32_t k = 1; k < 12; k++) {
            body_anchors(&f.b, k / 12.0, f.anchors);
            body_bones(&f.b, k / 12.0, f.bones);
            sup_solver_input input = {.anchors = f.anchors, .bones = f.bones, .gravity = {0.0f, -0.1f, 0.0f}};
            CHECK_EQ(sup_solver_step(&context, &f.b.system, f.state, &input, NULL), SUP_OK);
        }
        sup_solver_vertices(&f.b.system, f.state, threads == 1 ? first : again);
        if (threads > 1) CHECK(memcmp(first, again, f.count * 4) == 0);
        sup_thread_pool_destroy(pool);
    }
    free(first), free(again);
    fixture_free(&f);
}

/* Unit independence of whole motions. */
TEST(motion_is_independent_of_length_unit)
{
    static const double scales[2] = {0.01, 100.0};
    fixture one = tube(24, 12, 1.0, NULL);
    sup_solver_input input = {0};
    for (int32_t k = 1; k <= 40; k++)
        step_to(&one, k / 40.0, input);
    for (int32_t q = 0; q < 2; q++) {
        fixture other = tube(24, 12, scales[q], NULL);
        for (int32_t k = 1; k <= 40; k++)
            step_to(&other, k / 40.0, input);
        double worst = 0.0;
        for (size_t i = 0; i < one.count; i++)
            worst = fmax(worst, fabs((double)other.now[i] / scales[q] - (double)one.now[i]));
        CHECK_MSG(worst < 2e-5 * 12.0, "scale %g: %g", scales[q], worst);
        fixture_free(&other);
    }
    fixture_free(&one);
}

/* Anchors moved by a hundred sizes: finite, and at rest afterwards. */
TEST(teleports_stay_finite_and_recover)
{
    for (int32_t way = 0; way < 4; way++) {
        bool is_static = way % 2 != 0;
        sup_system_def def = {.is_static = is_static, .volume = way / 2 * 4.0};
        fixture f = tube(20, 12, 1.0, &def);
        const sup_system *s = &f.b.system;
        float *rest = malloc(f.count * 4);
        sup_random random = {31};
        CHECK(rest != NULL);
        memcpy(rest, f.now, f.count * 4);
        for (int32_t k = 0; k < 60; k++) {
            float jump[3];
            for (int32_t c = 0; c < 3; c++)
                jump[c] = k < 40 ? (float)(2400.0 * (sup_random_unit(&random) - 0.5)) : 0.0f;
            for (int32_t a = 0; a < s->anchor_count; a++)
                for (int32_t c = 0; c < 3; c++) {
                    float wild = k % 7 == 3 && k < 40 ? (float)(1200.0 * (sup_random_unit(&random) - 0.5)) : jump[c];
                    f.anchors[4 * a + c] = s->rest[((int64_t)s->unknown_count + a) * 4 + c] + wild;
                }
            body_bones(&f.b, 0.0, f.bones);
            sup_solver_input input = {.anchors = f.anchors, .bones = f.bones, .damping = 0.3f};
            CHECK_EQ(sup_solver_step(NULL, s, f.state, &input, NULL), SUP_OK);
            sup_solver_vertices(s, f.state, f.now);
            for (size_t i = 0; i < f.count; i++)
                CHECK(isfinite(f.now[i]) && fabsf(f.now[i]) < 1e6f);
        }
        for (int32_t k = 0; k < (way == 3 ? 600 : 300); k++) /* with volume it takes longer */
            step_to(&f, 0.0, (sup_solver_input){.damping = 0.3f});
        CHECK_MSG(furthest(rest, f.now, f.count) < 1e-3 * 12.0, "static %d: %g away", (int)is_static,
                  furthest(rest, f.now, f.count));
        free(rest);
        fixture_free(&f);
    }
}

TEST(invalid_input_keeps_the_state)
{
    fixture f = tube(10, 8, 1.0, NULL);
    const sup_system *s = &f.b.system;
    float *force = calloc((size_t)s->skin_count, 12);
    void *kept = malloc(f.state_size);
    CHECK(force && kept);
    step_to(&f, 0.1, (sup_solver_input){0});
    memcpy(kept, f.state, f.state_size);
    float anchor = f.anchors[9];
    sup_solver_input input = {.anchors = f.anchors, .force = force};
    static const float bad[4] = {NAN, INFINITY, -INFINITY, 1e9f};
    for (int32_t k = 0; k < 4; k++) {
        f.anchors[9] = bad[k];
        CHECK_EQ(sup_solver_step(NULL, s, f.state, &input, NULL), SUP_ERROR_DATA);
    }
    f.anchors[9] = anchor;
    f.anchors[11] = NAN; /* the fourth float is not read */
    CHECK_EQ(sup_solver_step(NULL, s, f.state, &input, NULL), SUP_OK);
    memcpy(f.state, kept, f.state_size);
    force[5] = NAN;
    CHECK_EQ(sup_solver_step(NULL, s, f.state, &input, NULL), SUP_ERROR_DATA);
    force[5] = 0.0f;
    input.gravity[1] = INFINITY;
    CHECK_EQ(sup_solver_step(NULL, s, f.state, &input, NULL), SUP_ERROR_DATA);
    input.gravity[1] = 0.0f;
    input.damping = 2.0f;
    CHECK_EQ(sup_solver_step(NULL, s, f.state, &input, NULL), SUP_ERROR_DATA);
    CHECK(memcmp(kept, f.state, f.state_size) == 0);
    free(force), free(kept);
    fixture_free(&f);
}

/* A force on every vertex equals gravity: f = m g. */
TEST(uniform_force_equals_gravity)
{
    fixture a = tube(12, 9, 1.0, NULL), b = tube(12, 9, 1.0, NULL);
    const sup_system *s = &a.b.system;
    float *force = calloc((size_t)s->skin_count, 12);
    CHECK(force != NULL);
    double sum = 0.0;
    for (int32_t v = 0; v < s->skin_count; v++) {
        force[3 * v + 1] = -0.3f * s->mass[s->node[v]] * s->time_step * s->time_step;
        sum += (double)force[3 * v + 1];
    }
    CHECK_NEAR(sum, -0.3 * 4000.0, 0.1);
    double fell = 0.0;
    for (int32_t k = 0; k < 30; k++) {
        step_to(&a, 0.0, (sup_solver_input){.force = force});
        step_to(&b, 0.0, (sup_solver_input){.gravity = {0.0f, -0.3f, 0.0f}});
    }
    for (int32_t v = 0; v < s->skin_count; v++)
        fell += ((double)a.now[3 * v + 1] - (double)s->rest[4 * (int64_t)s->node[v] + 1]) / s->skin_count;
    CHECK_MSG(furthest(a.now, b.now, (size_t)s->skin_count * 3) < 1e-4, "%g",
              furthest(a.now, b.now, (size_t)s->skin_count * 3));
    CHECK_MSG(fell < -0.005, "fell by %g", fell);
    free(force);
    fixture_free(&a);
    fixture_free(&b);
}

/* A hanging weight does not add energy to the tissue, and damping stops its oscillation. */
TEST(damping_stops_oscillation)
{
    fixture f = tube(16, 10, 1.0, NULL);
    double moved = 0.0;
    for (int32_t k = 0; k < 200; k++) {
        step_to(&f, 0.0, (sup_solver_input){.gravity = {0.0f, -0.5f, 0.0f}, .damping = 0.05f});
        if (k == 5) moved = furthest(f.before, f.now, f.count);
    }
    CHECK(moved > 1e-4);
    CHECK_MSG(furthest(f.before, f.now, f.count) < 1e-6 * 12.0, "still %g", furthest(f.before, f.now, f.count));
    fixture_free(&f);
}

/* Reset in a pose: at rest there, independent of the previous state. */
TEST(reset_settles_in_the_pose)
{
    fixture f = tube(20, 12, 1.0, NULL);
    body_anchors(&f.b, 0.4, f.anchors);
    body_vertices(&f.b, 0.4, f.x);
    float *skin = malloc(f.count * 2);
    CHECK(skin != NULL);
    for (size_t i = 0; i < f.count / 2; i++)
        skin[i] = (float)f.x[i];
    CHECK_EQ(sup_solver_reset(NULL, &f.b.system, f.state, 0, f.anchors, skin, 200), SUP_OK);
    sup_solver_vertices(&f.b.system, f.state, f.now);
    for (int32_t k = 0; k < 20; k++)
        step_to(&f, 0.4, (sup_solver_input){0});
    CHECK_MSG(furthest(f.before, f.now, f.count) < 1e-5 * 12.0, "moves by %g", furthest(f.before, f.now, f.count));
    memcpy(f.after, f.now, f.count * 4);
    CHECK_EQ(sup_solver_reset(NULL, &f.b.system, f.state, 0, f.anchors, NULL, 300), SUP_OK); /* from the bind pose */
    sup_solver_vertices(&f.b.system, f.state, f.now);
    CHECK_MSG(furthest(f.after, f.now, f.count) < 1e-3 * 12.0, "apart by %g", furthest(f.after, f.now, f.count));
    free(skin);
    fixture_free(&f);
}

TEST(iterations_beyond_the_history_converge)
{
    fixture f = tube(20, 12, 1.0, NULL);
    double last = 1e30;
    static const int32_t counts[6] = {1, 7, 8, 9, 17, 40};
    void *kept = malloc(f.state_size);
    CHECK(kept != NULL);
    step_to(&f, 0.2, (sup_solver_input){0});
    memcpy(kept, f.state, f.state_size);
    for (int32_t k = 0; k < 6; k++) {
        memcpy(f.state, kept, f.state_size);
        sup_solver_report report = step_to(&f, 0.5, (sup_solver_input){.iterations = counts[k]});
        CHECK(report.iterations <= counts[k]);
        CHECK(report.objective <= last * (1.0 + 1e-6));
        last = report.objective;
    }
    free(kept);
    fixture_free(&f);
}

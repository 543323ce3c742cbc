/* test_pbd.c - the solver: constraints one by one, orders and threads, physics, robustness. Numbers in brackets are those
 * of the checklist of the thesis' properties. */
#include "methods/position/pbd_reference.h"
#include "position/block.h"
#include "test.h"

static sup_affine rigid(double angle, double x)
{
    return sup_affine_from_trs(sup_v3(x, 0.4 * x, -x), sup_quatd_from_axis_angle(sup_v3(1, 2, 3), angle),
                               sup_v3(1, 1, 1));
}

/* Only constraints between particles: nothing holds the body. */
static void let_go(block *b)
{
    b->input.settings.follow = 0.0;
    for (int32_t i = 0; i < b->pbd.slot_count; i++)
        b->bone[4 * i + 3] = -1.0f;
}

/* Moves every particle at random by up to `far`. */
static void disturb(block *b, double far, uint64_t seed)
{
    sup_random random = {seed};
    float *rows = sup_pbd_positions(&b->pbd, b->state);
    for (int32_t i = 0; i < 4 * b->pbd.slot_count; i++)
        if (i % 4 != 3 && b->pbd.inverse_mass[i / 4] > 0.0f)
            rows[i] += (float)(far * (2.0 * sup_random_unit(&random) - 1.0));
    memcpy(sup_pbd_previous(&b->pbd, b->state), rows, (size_t)b->pbd.slot_count * 16);
}

static double largest_difference(const float *a, const float *b, int32_t rows)
{
    double largest = 0.0;
    for (int32_t i = 0; i < 4 * rows; i++)
        if (i % 4 != 3) largest = fmax(largest, fabs((double)a[i] - (double)b[i]));
    return largest;
}

static double from_guide(const block *b)
{
    return largest_difference(sup_pbd_positions(&b->pbd, b->state), b->guide, b->pbd.slot_count);
}

/* --- Constraints one by one --- */

static void random_points(sup_random *random, double p[4][3])
{
    for (int i = 0; i < 12; i++)
        p[i / 3][i % 3] = sup_random_unit(random) - 0.5;
}

TEST(gradients_match_finite_differences) /* 3 */
{
    sup_random random = {3};
    for (int round = 0; round < 200; round++) {
        double p[4][3], g[4][3], unused[4][3];
        random_points(&random, p);
        for (int arity = 2; arity <= 4; arity += 2) {
            if (arity == 4)
                sup_pbd_volume(p, g);
            else
                sup_pbd_length(p, g);
            for (int i = 0; i < 3 * arity; i++) {
                double keep = p[i / 3][i % 3], high, low;
                p[i / 3][i % 3] = keep + 1e-6;
                high = arity == 4 ? sup_pbd_volume(p, unused) : sup_pbd_length(p, unused);
                p[i / 3][i % 3] = keep - 1e-6;
                low = arity == 4 ? sup_pbd_volume(p, unused) : sup_pbd_length(p, unused);
                p[i / 3][i % 3] = keep;
                CHECK_NEAR((high - low) / 2e-6, g[i / 3][i % 3], 1e-6);
            }
        }
    }
}

TEST(gradients_keep_momentum) /* 4 */
{
    sup_random random = {4};
    for (int round = 0; round < 200; round++)
        for (int arity = 2; arity <= 4; arity += 2) {
            double p[4][3], g[4][3];
            random_points(&random, p);
            if (arity == 4)
                sup_pbd_volume(p, g);
            else
                sup_pbd_length(p, g);
            sup_vec3d force = sup_v3(0, 0, 0), moment = force;
            for (int k = 0; k < arity; k++) {
                sup_vec3d at = sup_v3(p[k][0], p[k][1], p[k][2]), own = sup_v3(g[k][0], g[k][1], g[k][2]);
                force = sup_v3_add(force, own);
                moment = sup_v3_add(moment, sup_v3_cross(at, own));
            }
            CHECK(sup_v3_length(force) < 1e-14);
            CHECK(sup_v3_length(moment) < 1e-14);
        }
}

/* A solver with one constraint alone: particles are rows 0 to 3, slot 15 fills the lanes. */
typedef struct lone {
    sup_pbd pbd;
    sup_pbd_cluster cluster;
    int32_t volume_corner[64], stretch_corner[32], slot[4];
    float volume_rest[16], volume_area[64], stretch_rest[16], compliance[16], share[16], inverse[16];
    float guide[64], bone[64];
    _Alignas(64) unsigned char state[8192];
    sup_pbd_input input;
} lone;

static lone *lone_make(int arity, const double p[4][3])
{
    lone *l = aligned_alloc(64, sizeof(lone));
    memset(l, 0, sizeof *l);
    for (int i = 0; i < 64; i++)
        l->volume_corner[i] = l->stretch_corner[i % 32] = 15;
    for (int k = 0; k < 4; k++) {
        l->slot[k] = k;
        l->volume_corner[16 * k] = k;
        l->share[k] = l->inverse[k] = 1.0f;
        l->bone[4 * k + 3] = -1.0f;
        for (int c = 0; c < 3; c++)
            l->guide[4 * k + c] = (float)p[k][c];
    }
    l->stretch_corner[0] = 0;
    l->stretch_corner[16] = 1;
    double g[4][3];
    l->volume_rest[0] = (float)(6.0 * sup_pbd_volume(p, g));
    for (int k = 0; k < 4; k++)
        l->volume_area[16 * k] = (float)(36.0 * (g[k][0] * g[k][0] + g[k][1] * g[k][1] + g[k][2] * g[k][2]));
    l->stretch_rest[0] = (float)sup_pbd_length(p, g);
    l->compliance[0] = 1.0f;
    l->cluster = (sup_pbd_cluster){0, arity == 4, 0, arity == 2, 0, 16};
    l->pbd = (sup_pbd){.particle_count = 4,
                       .slot_count = 16,
                       .cluster_count = 1,
                       .volume_batches = 1,
                       .stretch_batches = 1,
                       .level_first = {0, 1, 1, 1},
                       .mean_volume = 1.0f,
                       .clusters = &l->cluster,
                       .slot = l->slot,
                       .particle_volume = l->share,
                       .inverse_mass = l->inverse,
                       .volume_corner = l->volume_corner,
                       .volume_rest = l->volume_rest,
                       .volume_area = l->volume_area,
                       .stretch_corner = l->stretch_corner,
                       .stretch_rest = l->stretch_rest,
                       .stretch_compliance = l->compliance};
    if (sup_pbd_state_size(&l->pbd) > sizeof l->state) abort();
    l->input = (sup_pbd_input){.settings = {.raw = true, .seconds = 0.01f, .stretch = 1, .volume = 1, .bind = 1},
                               .guide = l->guide,
                               .guide_previous = l->guide,
                               .bone = l->bone,
                               .iterations = 1};
    sup_pbd_init(&l->pbd, l->state, l->guide);
    return l;
}

static float *lone_row(lone *l, int k)
{
    return sup_pbd_positions(&l->pbd, l->state) + 4 * k;
}

/* Puts particle k somewhere else, at rest. */
static void lone_put(lone *l, int k, double x, double y, double z)
{
    float to[3] = {(float)x, (float)y, (float)z};
    memcpy(lone_row(l, k), to, sizeof to);
    memcpy(sup_pbd_previous(&l->pbd, l->state) + 4 * k, to, sizeof to);
}

static void lone_step(lone *l)
{
    sup_context context = sup_context_resolve(NULL);
    CHECK(sup_pbd_step(&context, &l->pbd, l->state, &l->input));
}

static double lone_value(lone *l, int arity)
{
    double p[4][3], g[4][3];
    for (int i = 0; i < 12; i++)
        p[i / 3][i % 3] = (double)lone_row(l, i / 3)[i % 3];
    return arity == 4 ? sup_pbd_volume(p, g) : sup_pbd_length(p, g);
}

static const double unit_tet[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

TEST(lone_stretch_keeps_one_minus_k_of_its_error) /* 5, 6 */
{
    static const double k[] = {1.0, 0.6, 0.25, 0.0};
    for (int i = 0; i < 4; i++) {
        lone *l = lone_make(2, unit_tet);
        l->input.settings.stretch = k[i];
        lone_put(l, 1, 1.3, 0.4, -0.2);
        double before = lone_value(l, 2) - 1.0;
        lone_step(l);
        CHECK_NEAR(lone_value(l, 2) - 1.0, (1.0 - k[i]) * before, 3e-7);
        if (k[i] == 0.0) CHECK(lone_row(l, 1)[0] == 1.3f && lone_row(l, 0)[0] == 0.0f);
        free(l);
    }
}

TEST(lone_volume_is_restored_at_once) /* 5 */
{
    sup_random random = {9};
    for (int round = 0; round < 200; round++) {
        lone *l = lone_make(4, unit_tet);
        for (int k = 0; k < 4; k++)
            lone_put(l, k, unit_tet[k][0] + 0.015 * (sup_random_unit(&random) - 0.5),
                     unit_tet[k][1] + 0.015 * (sup_random_unit(&random) - 0.5),
                     unit_tet[k][2] + 0.015 * (sup_random_unit(&random) - 0.5));
        double before = fabs(lone_value(l, 4) - 1.0 / 6.0);
        lone_step(l);
        CHECK_MSG(fabs(lone_value(l, 4) - 1.0 / 6.0) <= 0.01 * before + 1e-7, "%g of %g is left",
                  lone_value(l, 4) - 1.0 / 6.0, before);
        free(l);
    }
}

TEST(masses_share_a_correction) /* eq. 4.3 has halves; masses are right */
{
    lone *l = lone_make(2, unit_tet);
    l->inverse[0] = 3.0f;
    sup_pbd_init(&l->pbd, l->state, l->guide);
    lone_put(l, 1, 2.0, 0.0, 0.0);
    lone_step(l);
    CHECK_NEAR(lone_row(l, 0)[0], 0.75, 1e-6);
    CHECK_NEAR(lone_row(l, 1)[0], 1.75, 1e-6);
    l->inverse[0] = 0.0f; /* 7 */
    sup_pbd_init(&l->pbd, l->state, l->guide);
    lone_put(l, 1, 2.0, 0.0, 0.0);
    lone_step(l);
    CHECK(lone_row(l, 0)[0] == 0.0f);
    CHECK_NEAR(lone_row(l, 1)[0], 1.0, 1e-6);
    free(l);
}

TEST(bind_keeps_the_distance_and_allows_twist) /* 12 */
{
    lone *l = lone_make(1, unit_tet);
    float bone[4] = {0.1f, -0.2f, 0.3f, 0.5f};
    memcpy(l->bone, bone, sizeof bone);
    lone_put(l, 0, 0.9, 0.4, 0.1);
    lone_step(l);
    sup_vec3d p = sup_v3_load(lone_row(l, 0)), q = sup_v3_load(bone);
    CHECK_NEAR(sup_v3_distance(p, q), 0.5, 1e-6);
    CHECK(sup_v3_length(sup_v3_cross(sup_v3_sub(p, q), sup_v3_sub(sup_v3(0.9, 0.4, 0.1), q))) < 1e-6); /* straight in */
    /* Turned about the bone it is as far as before: nothing moves. */
    lone_put(l, 0, 0.1, -0.2 + 0.5 * cos(1.0), 0.3 + 0.5 * sin(1.0));
    float before[3];
    memcpy(before, lone_row(l, 0), sizeof before);
    lone_step(l);
    for (int c = 0; c < 3; c++)
        CHECK_NEAR(lone_row(l, 0)[c], before[c], 1e-6);
    /* On the bone point there is no direction to go: it stays, finite. */
    lone_put(l, 0, 0.1f, -0.2f, 0.3f);
    lone_step(l);
    CHECK_NEAR(lone_row(l, 0)[0], 0.1, 1e-6);
    /* Half way with k = 0.5. */
    l->input.settings.bind = 0.5;
    lone_put(l, 0, 1.1, -0.2, 0.3);
    lone_step(l);
    CHECK_NEAR(lone_row(l, 0)[0], 0.85, 1e-6);
    free(l);
}

TEST(inverted_and_flat_tets_come_back) /* 9 */
{
    lone *l = lone_make(4, unit_tet);
    static const double places[][3] = {{0, 0, -0.5}, {0.3, 0.3, 0.0}, {0.1, 0.2, -1e-4}, {0.2, 0.2, -3.0}};
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 4; k++)
            lone_put(l, k, unit_tet[k][0], unit_tet[k][1], unit_tet[k][2]);
        lone_put(l, 3, places[i][0], places[i][1], places[i][2]);
        l->input.iterations = 30;
        lone_step(l);
        CHECK_NEAR(lone_value(l, 4), 1.0 / 6.0, 1e-4);
        for (int k = 0; k < 4; k++)
            for (int c = 0; c < 3; c++)
                CHECK(fabs((double)lone_row(l, k)[c]) < 5.0);
    }
    /* All corners in one place: no direction to open it, but nothing breaks. */
    for (int k = 0; k < 4; k++)
        lone_put(l, k, 0.5, 0.5, 0.5);
    lone_step(l);
    CHECK(lone_row(l, 2)[1] == 0.5f);
    free(l);
}

TEST(compliance_is_a_spring_in_physical_units)
{
    /* A mass on a spring under gravity comes to rest at m g / k below its length, for any step and iteration count. */
    static const float seconds[] = {0.002f, 0.01f, 0.033f};
    static const int32_t iterations[] = {1, 4, 20};
    for (int i = 0; i < 3; i++)
        for (int n = 0; n < 3; n++) {
            lone *l = lone_make(2, unit_tet);
            l->inverse[0] = 0.0f;
            sup_pbd_init(&l->pbd, l->state, l->guide);
            l->input.settings = (sup_pbd_settings){.seconds = seconds[i], .stretch = 500.0, .inertia = 10.0};
            l->input.gravity[0] = 9.81f;
            l->input.damping = 8.0f;
            l->input.iterations = iterations[n];
            for (int step = 0; step < 4000; step++)
                lone_step(l);
            /* m = inertia * mean volume, k = 500 / compliance */
            CHECK_NEAR(lone_row(l, 1)[0], 1.0 + 10.0 * 9.81 / 500.0, 4e-4);
            free(l);
        }
}

/* --- A body --- */

TEST(rest_stays_at_rest) /* 1 */
{
    for (int raw = 0; raw < 2; raw++) {
        block b = block_make(&(block_def){.nx = 8, .ny = 2, .nz = 2, .noise = 0.3, .core = true});
        if (raw)
            b.input.settings =
                (sup_pbd_settings){.raw = true, .seconds = 0.01f, .stretch = 0.9, .volume = 1, .bind = 0.5};
        for (int i = 0; i < 1000; i++)
            CHECK(block_step(&b, NULL));
        CHECK_MSG(from_guide(&b) < 1e-6, "drifted by %g", from_guide(&b));
        block_free(&b);
    }
}

TEST(rigid_motion_stays_rigid) /* 2 */
{
    block b = block_make(&(block_def){.nx = 8, .ny = 2, .nz = 2, .noise = 0.3});
    b.input.settings =
        (sup_pbd_settings){.raw = true, .seconds = 0.01f, .stretch = 0.9, .volume = 1, .bind = 0.5, .follow = 1};
    for (int i = 0; i < 50; i++) {
        block_pose(&b, 0.0, rigid(0.1 * i, 0.02 * i));
        CHECK(block_step(&b, NULL));
        CHECK_MSG(from_guide(&b) < 1e-6, "step %d: %g from rigid", i, from_guide(&b));
    }
    sup_pbd_reference *reference;
    sup_pbd_regions regions = sup_pbd_regions_of(&b.pbd, b.state);
    double *rows = calloc((size_t)b.pbd.slot_count * 4, sizeof(double)), volume, stretch;
    for (int32_t v = 0; v < b.particle_count; v++) { /* in double, where 1e-9 means something */
        sup_vec3d p = sup_affine_point(rigid(1.0, 2.0), sup_v3(b.rest[3 * v], b.rest[3 * v + 1], b.rest[3 * v + 2]));
        rows[4 * b.pbd.slot[v]] = p.x, rows[4 * b.pbd.slot[v] + 1] = p.y, rows[4 * b.pbd.slot[v] + 2] = p.z;
    }
    CHECK_EQ(sup_pbd_reference_create(&b.pbd, rows, &regions, &reference, NULL), SUP_OK);
    sup_pbd_reference_residual(reference, &volume, &stretch);
    CHECK(volume < 1e-9 && stretch < 1e-9);
    sup_pbd_reference_destroy(reference);
    free(rows);
    block_free(&b);
}

static void momentum(const block *b, sup_vec3d *linear, sup_vec3d *angular)
{
    const float *rows = sup_pbd_positions(&b->pbd, b->state), *before = sup_pbd_previous(&b->pbd, b->state);
    *linear = *angular = sup_v3(0, 0, 0);
    for (int32_t v = 0; v < b->particle_count; v++) {
        int64_t i = b->pbd.slot[v];
        sup_vec3d x = sup_v3_load(rows + 4 * i), d = sup_v3_sub(x, sup_v3_load(before + 4 * i));
        double mass = 1.0 / (double)b->pbd.inverse_mass[i];
        *linear = sup_v3_madd(*linear, mass, d);
        *angular = sup_v3_madd(*angular, mass, sup_v3_cross(x, d));
    }
}

TEST(momentum_is_kept) /* 8 */
{
    block b = block_make(&(block_def){.nx = 6, .ny = 3, .nz = 3, .noise = 0.3, .cluster_size = 300});
    let_go(&b);
    disturb(&b, 0.002, 8);
    sup_vec3d linear, angular, scale = sup_v3(0, 0, 0);
    CHECK(block_step(&b, NULL));
    momentum(&b, &linear, &angular);
    const float *rows = sup_pbd_positions(&b.pbd, b.state), *before = sup_pbd_previous(&b.pbd, b.state);
    for (int32_t i = 0; i < b.pbd.slot_count; i++)
        scale.x += fabs((double)rows[4 * i] - (double)before[4 * i]);
    CHECK(scale.x > 0.01);
    CHECK_MSG(sup_v3_length(linear) < 3e-5 * scale.x, "linear momentum %g", sup_v3_length(linear));
    CHECK_MSG(sup_v3_length(angular) < 2e-4 * scale.x, "angular momentum %g", sup_v3_length(angular));
    block_free(&b);
}

TEST(kinematic_particles_stay_on_the_guide) /* 7 */
{
    block b = block_make(&(block_def){.nx = 8, .ny = 2, .nz = 2, .core = true, .left_end = true});
    b.input.gravity[1] = -9.81f;
    int32_t fixed = 0;
    for (int i = 0; i < 30; i++) {
        block_pose(&b, 0.05 * i, rigid(0.05 * i, 0.01 * i));
        CHECK(block_step(&b, NULL));
        const float *rows = sup_pbd_positions(&b.pbd, b.state);
        for (int32_t v = 0; v < b.particle_count; v++)
            if (b.kinematic[v]) {
                CHECK(largest_difference(rows + 4 * b.pbd.slot[v], b.guide + 4 * b.pbd.slot[v], 1) < 2e-7);
                fixed++;
            }
    }
    CHECK(fixed > 100);
    block_free(&b);
}

TEST(batches_share_no_particle_and_miss_no_constraint) /* 14 */
{
    static const int32_t sizes[] = {0, 300, 1000};
    for (int i = 0; i < 3; i++) {
        block b = block_make(&(block_def){.nx = 10, .ny = 4, .nz = 4, .cluster_size = sizes[i]});
        const sup_pbd *s = &b.pbd;
        CHECK_EQ(s->tet_count, b.tet_count);
        int32_t *owner = calloc((size_t)s->slot_count, 4), *seen = calloc((size_t)s->slot_count, 4), tets = 0, edges = 0;
        for (int level = 0; level < SUP_PBD_LEVELS; level++) {
            memset(owner, 0, (size_t)s->slot_count * 4);
            for (int32_t p = s->level_first[level]; p < s->level_first[level + 1]; p++) {
                const sup_pbd_cluster *cluster = &s->clusters[p];
                for (int type = 0; type < 2; type++) {
                    int32_t arity = type == 0 ? 4 : 2, first = type == 0 ? cluster->volume_first : cluster->stretch_first;
                    int32_t end = type == 0 ? cluster->volume_end : cluster->stretch_end;
                    const int32_t *corner = type == 0 ? s->volume_corner : s->stretch_corner;
                    for (int32_t batch = first; batch < end; batch++)
                        for (int32_t lane = 0; lane < 16; lane++) {
                            const int32_t *own = corner + (int64_t)batch * 16 * arity + lane;
                            if (own[0] == own[16]) continue; /* left over */
                            *(type == 0 ? &tets : &edges) += 1;
                            for (int32_t k = 0; k < arity; k++) {
                                int32_t mark = 1 + 2 * batch + type;
                                CHECK(seen[own[16 * k]] != mark); /* within the batch */
                                seen[own[16 * k]] = mark;
                                CHECK(owner[own[16 * k]] == 0 || owner[own[16 * k]] == p + 1); /* within the level */
                                owner[own[16 * k]] = p + 1;
                            }
                        }
                }
            }
        }
        CHECK_EQ(tets, s->tet_count);
        CHECK_EQ(edges, s->edge_count);
        if (sizes[i] == 300) CHECK(s->level_first[1] >= 8 && s->level_first[2] > s->level_first[1]);
        free(owner), free(seen);
        block_free(&b);
    }
}

/* A motion that bends, swings and falls. */
static void play(block *b, const sup_context *context, int32_t steps, int32_t lanes)
{
    sup_context resolved = sup_context_resolve(context);
    b->input.gravity[1] = -9.81f;
    for (int32_t i = 0; i < steps; i++) {
        block_pose(b, 0.06 * i, rigid(0.02 * i, 0.01 * sin(0.7 * i)));
        CHECK(sup_pbd_step_lanes(&resolved, &b->pbd, b->state, &b->input, lanes));
    }
}

TEST(threads_and_runs_give_the_same_bits) /* 15, 25 */
{
    block_def def = {.nx = 12, .ny = 4, .nz = 4, .core = true, .cluster_size = 500};
    block one = block_make(&def), again = block_make(&def);
    play(&one, NULL, 20, 16);
    size_t size = (size_t)one.pbd.slot_count * 16;
    for (int32_t threads = 1; threads <= 4; threads++) {
        sup_thread_pool *pool;
        sup_error error;
        CHECK_OK(sup_thread_pool_create(threads, &pool, &error), error);
        sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
        block_pose(&again, 0.0, sup_affine_identity());
        block_reset(&again);
        play(&again, &context, 20, 16);
        CHECK(memcmp(sup_pbd_positions(&one.pbd, one.state), sup_pbd_positions(&again.pbd, again.state), size) == 0);
        sup_thread_pool_destroy(pool);
    }
    block_free(&one), block_free(&again);
}

TEST(kernels_match_the_reference)
{
    for (int raw = 0; raw < 2; raw++)
        for (int32_t lanes = 4; lanes <= 8; lanes += 4) {
            block b = block_make(
                &(block_def){.nx = 10, .ny = 3, .nz = 3, .core = true, .noise = 0.2, .cluster_size = 400});
            sup_pbd_regions regions = sup_pbd_regions_of(&b.pbd, b.state);
            for (int32_t i = 0; i < b.pbd.slot_count; i++) {
                regions.stiffness[i] = 0.5f + (float)(i % 3) * 0.4f;
                regions.follow[i] = (float)(i % 2);
            }
            if (raw)
                b.input.settings = (sup_pbd_settings){
                    .raw = true, .seconds = 0.01f, .stretch = 0.7, .volume = 0.9, .bind = 0.3, .follow = 0.5};
            b.input.damping = 2.0f;
            b.input.gravity[1] = -9.81f;
            sup_pbd_reference *reference;
            double *rows = calloc((size_t)b.pbd.slot_count * 4, sizeof(double)), worst = 0.0;
            for (int32_t i = 0; i < 4 * b.pbd.slot_count; i++)
                rows[i] = (double)b.guide[i];
            CHECK_EQ(sup_pbd_reference_create(&b.pbd, rows, &regions, &reference, NULL), SUP_OK);
            sup_context context = sup_context_resolve(NULL);
            for (int32_t step = 0; step < 12; step++) {
                block_pose(&b, 0.08 * step, rigid(0.03 * step, 0.02 * step));
                CHECK(sup_pbd_step_lanes(&context, &b.pbd, b.state, &b.input, lanes));
                sup_pbd_reference_step(reference, &b.input);
            }
            const float *own = sup_pbd_positions(&b.pbd, b.state);
            const double *other = sup_pbd_reference_positions(reference);
            for (int32_t v = 0; v < b.particle_count; v++)
                for (int c = 0; c < 3; c++)
                    worst = fmax(worst, fabs((double)own[4 * b.pbd.slot[v] + c] - other[3 * b.pbd.slot[v] + c]));
            CHECK_MSG(worst < 2e-5, "%s, %d lanes: %g apart", raw ? "raw" : "physical", (int)lanes, worst);
            sup_pbd_reference_destroy(reference);
            free(rows);
            block_free(&b);
        }
}

TEST(iterations_do_not_raise_the_residual) /* 17 */
{
    block b = block_make(&(block_def){.nx = 6, .ny = 2, .nz = 2, .cluster_size = 200});
    let_go(&b);
    disturb(&b, 0.01, 17);
    b.input.settings = (sup_pbd_settings){.raw = true, .seconds = 0.01f, .stretch = 0.9, .volume = 1};
    sup_pbd_regions regions = sup_pbd_regions_of(&b.pbd, b.state);
    double last = INFINITY;
    for (int32_t iterations = 0; iterations <= 24; iterations++) {
        sup_pbd_reference *reference;
        double *rows = calloc((size_t)b.pbd.slot_count * 4, sizeof(double)), volume, stretch;
        for (int32_t i = 0; i < 4 * b.pbd.slot_count; i++)
            rows[i] = (double)sup_pbd_positions(&b.pbd, b.state)[i];
        CHECK_EQ(sup_pbd_reference_create(&b.pbd, rows, &regions, &reference, NULL), SUP_OK);
        b.input.iterations = iterations;
        sup_pbd_reference_step(reference, &b.input);
        sup_pbd_reference_residual(reference, &volume, &stretch);
        CHECK_MSG(volume + stretch <= last * 1.0001, "iteration %d: %g after %g", (int)iterations, volume + stretch,
                  last);
        last = volume + stretch;
        sup_pbd_reference_destroy(reference);
        free(rows);
    }
    CHECK(last < 1e-5);
    block_free(&b);
}

TEST(bent_elbow_keeps_its_volume) /* 16 */
{
    double lost[3];
    for (int k = 0; k < 3; k++) { /* linear blending alone, 12 and 24 iterations */
        block b = block_make(&(block_def){.nx = 20, .ny = 5, .nz = 5});
        b.input.settings.volume = 1e7;
        b.input.iterations = 12 * k;
        for (int i = 0; i <= 60; i++) {
            block_pose(&b, 1.5707963 * fmin(1.0, i / 40.0), sup_affine_identity());
            CHECK(block_step(&b, NULL));
        }
        lost[k] =
            fabs(block_volume(&b, k == 0 ? b.guide : sup_pbd_positions(&b.pbd, b.state)) / block_volume(&b, NULL) - 1.0);
        block_free(&b);
    }
    CHECK_MSG(lost[1] < 0.01 && lost[1] < 0.3 * lost[0], "lost %g, %g by linear blending", lost[1], lost[0]);
    CHECK_MSG(lost[2] <= lost[1] + 1e-5, "24 iterations lose %g, 12 lose %g", lost[2], lost[1]);
}

TEST(flesh_jiggles_and_comes_to_rest) /* 18 */
{
    static const float seconds[] = {0.001f, 0.004f, 0.01f, 0.02f, 0.033f};
    for (int k = 0; k < 5; k++) {
        block b = block_make(&(block_def){.nx = 8, .ny = 3, .nz = 3, .core = true});
        b.input.settings.seconds = seconds[k];
        b.input.damping = 3.0f;
        double jump = 0.0, most = 0.0;
        for (int i = 0; i < 4; i++) { /* a jolt sideways, then still */
            block_pose(&b, 0.0, sup_affine_from_trs(sup_v3(0, 0, 0.02 * i), (sup_quatd){0, 0, 0, 1}, sup_v3(1, 1, 1)));
            CHECK(block_step(&b, NULL));
        }
        block_pose(&b, 0.0, sup_affine_from_trs(sup_v3(0, 0, 0.06), (sup_quatd){0, 0, 0, 1}, sup_v3(1, 1, 1)));
        int32_t steps = (int32_t)(6.0f / seconds[k]);
        for (int32_t i = 0; i < steps; i++) {
            block_pose(&b, 0.0, sup_affine_from_trs(sup_v3(0, 0, 0.06), (sup_quatd){0, 0, 0, 1}, sup_v3(1, 1, 1)));
            CHECK(block_step(&b, NULL));
            if (i == 1) jump = from_guide(&b);
            if (i > steps / 2) most = fmax(most, from_guide(&b));
        }
        CHECK_MSG(jump > 1e-4, "step of %g s: the flesh does not move (%g)", (double)seconds[k], jump);
        /* In steps of a millisecond the spring's pull is below what float can add to a position. */
        CHECK_MSG(most < (seconds[k] < 0.003f ? 2e-4 : 3e-6), "step of %g s: still %g off after three seconds",
                  (double)seconds[k], most);
        block_free(&b);
    }
}

TEST(shaking_never_explodes)
{
    block b = block_make(&(block_def){.nx = 6, .ny = 2, .nz = 2, .core = true});
    sup_random random = {5};
    for (int32_t i = 0; i < 3000; i++) {
        if (i % 50 == 0) {
            b.input.settings.seconds = (float)(0.001 + 0.032 * sup_random_unit(&random));
            b.input.settings.raw = sup_random_unit(&random) < 0.3;
            if (b.input.settings.raw)
                b.input.settings.stretch = b.input.settings.volume = b.input.settings.bind = b.input.settings.follow =
                    0.8;
            else
                b.input.settings.stretch = b.input.settings.bind = 2e4, b.input.settings.volume = 1e6,
                b.input.settings.follow = 3;
        }
        sup_vec3d to =
            sup_v3(0.3 * sup_random_unit(&random), 0.3 * sup_random_unit(&random), 0.3 * sup_random_unit(&random));
        block_pose(&b, 5.0 * (sup_random_unit(&random) - 0.5),
                   sup_affine_from_trs(to, sup_quatd_from_axis_angle(sup_v3(1, 1, 0), 6.0 * sup_random_unit(&random)),
                                       sup_v3(1, 1, 1)));
        CHECK(block_step(&b, NULL));
        CHECK_MSG(from_guide(&b) < 2.0, "step %d: %g sizes from linear blending", (int)i, from_guide(&b));
    }
    b.input.settings =
        (sup_pbd_settings){.seconds = 0.01f, .stretch = 2e4, .volume = 1e6, .bind = 2e4, .follow = 3, .inertia = 1000};
    for (int32_t i = 0; i < 800; i++) {
        block_pose(&b, 0.0, sup_affine_identity());
        CHECK(block_step(&b, NULL));
    }
    CHECK_MSG(from_guide(&b) < 1e-5, "%g from rest", from_guide(&b));
    block_free(&b);
}

TEST(numbers_out_of_range_start_anew)
{
    block b = block_make(&(block_def){.nx = 4, .ny = 2, .nz = 2});
    sup_pbd_positions(&b.pbd, b.state)[5 * 4] = NAN;
    CHECK(!block_step(&b, NULL));
    CHECK(from_guide(&b) == 0.0);
    sup_pbd_positions(&b.pbd, b.state)[7 * 4 + 1] = 1e30f;
    CHECK(!block_step(&b, NULL));
    CHECK(from_guide(&b) == 0.0);
    CHECK(block_step(&b, NULL));
    block_free(&b);
}

TEST(physical_look_is_free_of_step_and_iterations)
{
    /* The same sag of a bar contact at its left end, within a tenth; raw stiffness changes by a multiple. */
    static const float seconds[] = {0.01f, 0.005f, 0.01f, 0.0025f};
    static const int32_t iterations[] = {24, 24, 60, 24};
    double sag[2][4];
    for (int raw = 0; raw < 2; raw++)
        for (int k = 0; k < 4; k++) {
            block b = block_make(&(block_def){.nx = 6, .ny = 2, .nz = 2, .left_end = true});
            let_go(&b);
            b.input.settings.seconds = seconds[k];
            b.input.settings.stretch = 3e5;
            if (raw)
                b.input.settings =
                    (sup_pbd_settings){.raw = true, .seconds = seconds[k], .stretch = 0.02, .volume = 0.02};
            b.input.gravity[1] = -9.81f;
            b.input.damping = 12.0f;
            b.input.iterations = iterations[k];
            for (int32_t i = 0; i < (int32_t)(2.5f / seconds[k]); i++)
                CHECK(block_step(&b, NULL));
            sag[raw][k] = -(double)block_at(&b, 6, 1, 1)[1];
            block_free(&b);
        }
    for (int k = 1; k < 4; k++) {
        CHECK_MSG(fabs(sag[0][k] / sag[0][0] - 1.0) < 0.1, "physical: sag %g and %g", sag[0][0], sag[0][k]);
        CHECK_MSG(fabs(sag[1][k] / sag[1][0] - 1.0) > 0.3, "raw: sag %g and %g", sag[1][0], sag[1][k]);
    }
}

TEST(youngs_modulus_is_what_is_asked_for)
{
    /* A bar pulled at one end by gravity along it: u = r g L^2 / (2 E) at the free end. */
    block b = block_make(&(block_def){.nx = 12, .ny = 4, .nz = 4, .left_end = true});
    let_go(&b);
    b.input.settings.volume = 0.0;
    b.input.settings.stretch = 2e5;
    b.input.gravity[0] = 9.81f;
    b.input.damping = 15.0f;
    b.input.iterations = 60;
    for (int32_t i = 0; i < 300; i++)
        CHECK(block_step(&b, NULL));
    double own = (double)block_at(&b, 12, 2, 2)[0] - 0.5, asked = 1000.0 * 9.81 / (2.0 * 2e5);
    CHECK_MSG(fabs(own / asked - 1.0) < 0.2, "the end moved by %g, asked %g", own, asked);
    block_free(&b);
}

TEST(bad_meshes_are_refused_by_name)
{
    sup_context context = sup_context_resolve(NULL);
    double rest[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    int32_t tets[4] = {0, 1, 2, 3};
    const struct {
        int32_t particles, count, index;
        double coordinate;
        const char *id;
    } cases[] = {{4, 0, 0, 0, "position.empty"},  {3, 1, 0, 0, "position.empty"},   {4, 1, 7, 0, "position.index"},
                 {4, 1, -1, 0, "position.index"}, {4, 1, 0, NAN, "position.range"}, {4, 1, 0, 1e9, "position.range"},
                 {4, 1, 1, 0, "position.flat"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sup_model_builder builder = {.allocator = context.allocator, .arrays = {.item_size = sizeof(sup_built_array)}};
        sup_error error = {0};
        rest[0] = cases[i].coordinate;
        tets[0] = cases[i].index;
        sup_pbd_def def = {cases[i].particles, rest, cases[i].count, tets, NULL, 0};
        CHECK(sup_pbd_bind(&context, &def, &builder, "pbd", NULL, &error) == SUP_ERROR_DATA);
        CHECK_TEXT(error.id, cases[i].id);
        sup_model_builder_free(&builder);
    }
}

/* test_meet.c - contact: cells against brute force, planes, holds, colliders, standing still, the shown volume. */
#include "base/base.h"
#include "math/affine.h"
#include "methods/position/collide_work.h"
#include "methods/position/position.h"
#include "supple/deform.h"
#include "supple/scenes.h"
#include "test.h"

TEST(points_in_tets) /* 19 */
{
    static const float corners[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const float *tet[4] = {corners[0], corners[1], corners[2], corners[3]};
    const float *turned[4] = {corners[1], corners[0], corners[2], corners[3]};
    const float *flat[4] = {corners[0], corners[1], corners[2], corners[1]};
    static const float in[][3] = {{0.25f, 0.25f, 0.25f}, {0, 0, 0}, {0, 0, 1}, {0.5f, 0.5f, 0}, {0.2f, 0, 0.3f}};
    static const float out[][3] = {{0.5f, 0.5f, 0.5f}, {-1e-4f, 0.2f, 0.2f}, {2, 0, 0}, {NAN, 0, 0}};
    float w[4];
    for (int i = 0; i < 5; i++) {
        CHECK(sup_tet_contains(tet, in[i], w));
        CHECK_NEAR(w[0] + w[1] + w[2] + w[3], 1.0, 1e-6);
        for (int c = 0; c < 3; c++)
            CHECK_NEAR(w[c + 1], in[i][c], 1e-6);
        CHECK(!sup_tet_contains(turned, in[i], w) && !sup_tet_contains(flat, in[i], w));
    }
    for (int i = 0; i < 4; i++)
        CHECK(!sup_tet_contains(tet, out[i], w));
}

TEST(cells_find_what_brute_force_finds) /* 20 */
{
    enum { POINTS = 600, TETS = 200 };
    static float points[POINTS][3];
    sup_random random = {11};
    sup_spatial_hash cells;
    void *memory = malloc(sup_spatial_hash_size(POINTS));
    sup_spatial_hash_init(&cells, memory, POINTS, 0.3f);
    for (int round = 0; round < 3; round++) { /* timestamps: what was there before must be gone */
        sup_spatial_hash_clear(&cells);
        for (int i = 0; i < POINTS; i++) {
            for (int c = 0; c < 3; c++)
                points[i][c] = (float)(4.0 * sup_random_unit(&random) - 2.5);
            sup_spatial_hash_insert(&cells, i, points[i]);
        }
        int found = 0, expected = 0;
        for (int t = 0; t < TETS; t++) {
            float corner[4][3], w[4], low[3] = {9, 9, 9}, high[3] = {-9, -9, -9}, middle[3];
            bool seen[POINTS] = {false};
            for (int c = 0; c < 3; c++)
                middle[c] = (float)(4.0 * sup_random_unit(&random) - 2.5);
            for (int k = 0; k < 4; k++)
                for (int c = 0; c < 3; c++) {
                    corner[k][c] = middle[c] + 2.0f * (float)(sup_random_unit(&random) - 0.5);
                    low[c] = fminf(low[c], corner[k][c]);
                    high[c] = fmaxf(high[c], corner[k][c]);
                }
            const float *tet[4] = {corner[0], corner[1], corner[2], corner[3]};
            for (int x = sup_spatial_hash_cell(&cells, low[0]); x <= sup_spatial_hash_cell(&cells, high[0]); x++)
                for (int y = sup_spatial_hash_cell(&cells, low[1]); y <= sup_spatial_hash_cell(&cells, high[1]); y++)
                    for (int z = sup_spatial_hash_cell(&cells, low[2]); z <= sup_spatial_hash_cell(&cells, high[2]); z++)
                        for (int32_t i = sup_spatial_hash_first(&cells, x, y, z); i >= 0; i = cells.next[i])
                            seen[i] |= sup_tet_contains(tet, points[i], w);
            for (int i = 0; i < POINTS; i++) {
                found += seen[i];
                expected += sup_tet_contains(tet, points[i], w);
            }
        }
        CHECK(expected > 20);
        CHECK_EQ(found, expected);
    }
    free(memory);
}

/* --- On a body --- */

/* Radians of bend that put the forearm right into the upper arm. */
static const double CRUSHED = 2.95;

typedef struct body {
    sup_character *character;
    sup_rig *rig;
    sup_model *model;
    sup_position_view view;
    sup_mat34 *joints;
    float *rows, *before, *bone; /* [slot_count*4] */
    void *state;
} body;

static body shared;

static void free_shared(void)
{
    sup_model_destroy(shared.model);
    sup_rig_destroy(shared.rig);
    sup_character_destroy(shared.character);
}

static void bind_shared(void)
{
    sup_error error = {0};
    double values[SUP_POSITION_PARAM_COUNT];
    sup_method_defaults(&sup_method_position, values);
    CHECK_OK(sup_method_set(&sup_method_position, values, "tets", "1500", &error), error);
    CHECK_OK(sup_scene_create(NULL, "arm", 0.3, &shared.character, &error), error);
    CHECK_OK(sup_rig_create(NULL, shared.character, NULL, &shared.rig, &error), error);
    float *soft = calloc((size_t)shared.rig->vertex_count, sizeof(float));
    CHECK_OK(sup_paint_sphere(shared.rig, 1, 0.1 * (double)shared.rig->size, 0.0, soft, &error), error);
    sup_paint paint = {"soft", soft};
    sup_bind_def def = {.values = values, .paints = &paint, .paint_count = 1};
    CHECK_OK(sup_bind(NULL, &sup_method_position, shared.rig, &def, &shared.model, &error), error);
    CHECK_OK(sup_position_open(shared.model, &shared.view, &error), error);
    free(soft);
    atexit(free_shared);
}

/* The plane with most particles beside it: the elbow's. */
static int32_t widest(const sup_collide *m)
{
    int32_t best = 0;
    for (int32_t i = 1; i < m->plane_count; i++)
        if (m->plane_first[i + 1] - m->plane_first[i] > m->plane_first[best + 1] - m->plane_first[best]) best = i;
    return best;
}

/* The flesh by linear blending with the elbow's plane's bone, and all below it, turned by `angle`. */
static body *bend(double angle)
{
    static body made;
    if (shared.model == NULL) bind_shared();
    body *b = &made;
    *b = shared;
    const sup_collide *m = &b->view.collide;
    size_t rows = (size_t)b->view.pbd.slot_count;
    b->joints = calloc((size_t)m->joint_count, sizeof(sup_mat34));
    b->rows = calloc(4 * rows, sizeof(float));
    b->before = calloc(4 * rows, sizeof(float));
    b->bone = calloc(4 * rows, sizeof(float));
    CHECK(m->plane_count > 0);
    int32_t elbow = m->plane[widest(m)];
    sup_vec3d head = sup_v3_load(m->bone + 6 * elbow);
    sup_affine turn = sup_affine_from_trs(sup_v3(0, 0, 0), sup_quatd_from_axis_angle(sup_v3(1, 0, 0), angle),
                                          sup_v3(1, 1, 1)),
               to = sup_affine_from_trs(head, sup_quatd_from_axis_angle(sup_v3(1, 0, 0), 0.0), sup_v3(1, 1, 1)), back;
    CHECK(sup_affine_inverse(to, &back));
    turn = sup_affine_multiply(to, sup_affine_multiply(turn, back));
    bool *below = calloc((size_t)m->joint_count, 1);
    for (int32_t j = 0; j < m->joint_count; j++) {
        below[j] = j == elbow || (m->parent[j] >= 0 && below[m->parent[j]]);
        b->joints[j] = below[j] ? sup_affine_to_float(turn) : sup_mat34_identity();
    }
    for (size_t i = 0; i < rows; i++) {
        sup_vec3d p = sup_v3_load(b->view.rest + 4 * i), q = sup_v3_load(b->view.bone_point + 4 * i), sum = {0};
        for (int k = 0; k < SUP_POSITION_INFLUENCES; k++) {
            size_t at = i * SUP_POSITION_INFLUENCES + (size_t)k;
            sup_vec3d moved = below[b->view.influence_joint[at]] ? sup_affine_point(turn, p) : p;
            sum = sup_v3_madd(sum, (double)b->view.influence_weight[at] / (double)b->view.size, moved);
        }
        if (b->view.bone_joint[i] >= 0 && below[b->view.bone_joint[i]]) q = sup_affine_point(turn, q);
        sup_v3_store(b->rows + 4 * i, sum);
        sup_v3_store(b->bone + 4 * i, sup_v3_scale(q, 1.0 / (double)b->view.size));
        b->rows[4 * i + 3] = b->view.pbd.inverse_mass[i];
    }
    memcpy(b->before, b->rows, 4 * rows * sizeof(float));
    b->state = aligned_alloc(64, (sup_collide_state_size(m) + 63) / 64 * 64);
    sup_collide_reset(m, b->state);
    free(below);
    return b;
}

static void done(body *b)
{
    free(b->joints), free(b->rows), free(b->before), free(b->bone), free(b->state);
}

static void begin(body *b, sup_collide_mode mode, bool planes)
{
    sup_collide_input input = {.mode = mode,
                            .planes = planes,
                            .joints = b->joints,
                            .size = b->view.size,
                            .rest = b->view.rest,
                            .bone = b->bone,
                            .previous = b->before,
                            .iterations = 1000};
    sup_collide_begin(&b->view.collide, b->state, &input);
}

TEST(what_is_apart_touches_nothing) /* 21: at rest, and with the forearm well away from the upper arm */
{
    sup_context context = sup_context_resolve(NULL);
    for (int k = 0; k < 3; k++) {
        body *b = bend(0.6 * k);
        size_t size = (size_t)b->view.pbd.slot_count * 4 * sizeof(float);
        begin(b, SUP_COLLIDE_ALWAYS, k == 0);
        sup_collide_solve(b->state, &context, b->rows);
        const sup_collide_report *report = sup_collide_report_of(b->state);
        CHECK(report->hashed > 100 && report->tested > 1000);
        CHECK_MSG(report->pairs == 0, "%d pairs at %g radians", report->pairs, 0.6 * k);
        CHECK_EQ(report->planes, 0);
        CHECK(memcmp(b->rows, b->before, size) == 0);
        done(b);
    }
}

TEST(planes_keep_flesh_on_its_side) /* 22, 24 */
{
    body *b = bend(2.1);
    const sup_collide *m = &b->view.collide;
    sup_context context = sup_context_resolve(NULL);
    begin(b, SUP_COLLIDE_ON_DEMAND, true);
    sup_collide_state *s = b->state;
    CHECK(s->plane_count >= 1);
    int32_t moved = 0;
    float *start = malloc((size_t)b->view.pbd.slot_count * 4 * sizeof(float));
    memcpy(start, b->rows, (size_t)b->view.pbd.slot_count * 4 * sizeof(float));
    const sup_collide_plane *plane = &s->planes[0];
    s->plane_count = 1;
    sup_collide_planes_gather(s, &context, b->rows);
    sup_collide_planes_solve(s, &context, b->rows);
    for (int32_t i = 0; i < b->view.pbd.slot_count; i++) { /* along the normal only */
        const float *n = plane->normal, *p = b->rows + 4 * i, *q = start + 4 * i;
        float d[3] = {p[0] - q[0], p[1] - q[1], p[2] - q[2]}, along = d[0] * n[0] + d[1] * n[1] + d[2] * n[2];
        for (int c = 0; c < 3; c++)
            CHECK(fabsf(d[c] - along * n[c]) < 1e-6f);
        moved += along != 0.0f;
        if (q[3] == 0.0f) CHECK(along == 0.0f);
    }
    CHECK_MSG(moved > 5, "%d particles moved", moved);
    for (int i = 0; i < 10; i++)
        sup_collide_planes_solve(s, &context, b->rows);
    memcpy(start, b->rows, (size_t)b->view.pbd.slot_count * 4 * sizeof(float));
    sup_collide_planes_solve(s, &context, b->rows); /* and nothing moves any more where all are on their side */
    for (int32_t i = 0; i < 4 * b->view.pbd.slot_count; i++)
        CHECK(fabsf(b->rows[i] - start[i]) < 1e-5f);
    for (int32_t k = m->plane_first[plane->plane]; k < m->plane_first[plane->plane + 1]; k++) {
        const float *p = b->rows + 4 * m->entry_slot[k];
        float height = 0.0f, deep = 0.0f;
        for (int c = 0; c < 3; c++) {
            height += m->entry[2 * k] * (p[c] - plane->centre[c]) * plane->normal[c];
            deep += (p[c] - plane->centre[c]) * plane->inward[c];
        }
        if (p[3] > 0.0f && deep > m->edge) CHECK_MSG(height > -0.001f, "%g sizes on the wrong side", (double)height);
    }
    free(start);
    done(b);
}

TEST(cells_on_demand_find_what_all_cells_find) /* 23 */
{
    sup_context context = sup_context_resolve(NULL);
    int32_t *contact = NULL;
    for (int k = 0; k < 2; k++) {
        body *b = bend(CRUSHED);
        begin(b, k == 0 ? SUP_COLLIDE_ALWAYS : SUP_COLLIDE_ON_DEMAND, false);
        sup_collide_solve(b->state, &context, b->rows);
        size_t size = (size_t)b->view.collide.surface_count * sizeof(int32_t);
        CHECK_MSG(sup_collide_report_of(b->state)->pairs >= 8, "%d pairs", sup_collide_report_of(b->state)->pairs);
        if (k == 0) {
            contact = malloc(size);
            memcpy(contact, sup_collide_contacts(b->state), size);
        } else
            CHECK(memcmp(contact, sup_collide_contacts(b->state), size) == 0);
        done(b);
    }
    free(contact);
}

TEST(flesh_gives_way_on_both_sides)
{
    body *b = bend(CRUSHED);
    sup_context context = sup_context_resolve(NULL);
    begin(b, SUP_COLLIDE_ON_DEMAND, false);
    int32_t first = 0, last = 0, gave = 0, contact = 0;
    for (int step = 0; step < 40; step++) {
        begin(b, SUP_COLLIDE_ON_DEMAND, false);
        for (int i = 0; i < 4; i++)
            sup_collide_solve(b->state, &context, b->rows);
        if (step == 0) first = sup_collide_report_of(b->state)->pairs;
    }
    const sup_collide *m = &b->view.collide;
    sup_collide_state *s = b->state;
    for (int32_t i = 0; i < s->active_count; i++) { /* all that is contact has come out */
        const int32_t *t = m->triangle + 3 * (int64_t)s->contact[s->active[i]];
        float *p = b->rows + 4 * m->slot[s->active[i]];
        sup_vec3d c[3];
        for (int k = 0; k < 3; k++)
            c[k] = sup_v3_load(b->rows + 4 * m->slot[t[k]]);
        sup_vec3d n = sup_v3_unit_or(sup_v3_cross(sup_v3_sub(c[1], c[0]), sup_v3_sub(c[2], c[0])), sup_v3(0, 0, 0));
        last += sup_v3_dot(sup_v3_sub(sup_v3_load(p), c[0]), n) < -0.05 * (double)m->edge;
    }
    for (int32_t i = 0; i < m->surface_count; i++) {
        float *p = b->rows + 4 * m->slot[i], *q = b->before + 4 * m->slot[i];
        CHECK(isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]));
        contact += s->contact[i] >= 0;
        gave += s->contact[i] < 0 && memcmp(p, q, 3 * sizeof(float)) != 0;
    }
    CHECK_MSG(first >= 8 && gave >= 8, "%d found, %d contact, %d gave way", first, contact, gave);
    CHECK_MSG(last * 2 <= first, "%d of %d still inside", last, first);
    done(b);
}

/* --- The method --- */

static double volume_of(const sup_rig *rig, const float *positions)
{
    double sum = 0.0;
    for (int32_t t = 0; t < rig->skin_triangle_count; t++) {
        sup_vec3d p[3];
        for (int k = 0; k < 3; k++)
            p[k] = sup_v3_load(positions + 3 * rig->skin_to_vertex[rig->skin_triangles[3 * t + k]]);
        sum += sup_v3_dot(p[0], sup_v3_cross(p[1], p[2])) / 6.0;
    }
    return sum;
}

TEST(bent_flesh_keeps_its_volume_stays_above_the_ground_and_falls_asleep)
{
    sup_error error = {0};
    if (shared.model == NULL) bind_shared();
    sup_instance *instance;
    sup_pose *pose;
    size_t floats = (size_t)shared.rig->vertex_count * 3;
    float *positions = calloc(floats, sizeof(float)), *last = calloc(floats, sizeof(float)), low = INFINITY;
    CHECK_OK(sup_instance_create(NULL, shared.model, NULL, &instance, &error), error);
    CHECK_OK(sup_pose_create(NULL, shared.character, &pose, &error), error);
    for (size_t i = 0; i < floats; i += 3)
        low = fminf(low, shared.rig->positions[i + 1]);
    float ground = low + 0.01f * shared.rig->size, under = 0.0f;
    sup_collider plane = sup_collider_plane((sup_vec3){0, ground, 0}, (sup_vec3){0, 1, 0});
    CHECK_OK(sup_instance_set_colliders(instance, &plane, 1, &error), error);
    sup_skin_out out = {.positions = positions};
    double rest = volume_of(shared.rig, shared.rig->positions);
    for (int i = 0; i < 45; i++) { /* the elbow is fully bent */
        sup_pose_sample(shared.character, &shared.character->clips[0], i / 30.0, pose);
        CHECK_EQ(sup_instance_step(instance, pose, 1.0f / 30.0f, &out), SUP_OK);
        double now = volume_of(shared.rig, positions);
        CHECK_MSG(fabs(now / rest - 1.0) < 0.005, "frame %d: %g of the volume", i, now / rest);
    }
    for (size_t i = 1; i < floats; i += 3)
        under = fmaxf(under, (ground - positions[i]) / shared.rig->size);
    CHECK_MSG(under < 0.004f, "%g sizes under the ground", (double)under);
    for (int i = 0; i < 300; i++) {
        memcpy(last, positions, floats * sizeof(float));
        CHECK_EQ(sup_instance_step(instance, pose, 1.0f / 30.0f, &out), SUP_OK);
    }
    float most = 0.0f;
    for (size_t i = 0; i < floats; i++)
        most = fmaxf(most, fabsf(positions[i] - last[i]));
    CHECK_MSG(most == 0.0f, "after ten seconds of standing still moves by %g sizes", (double)(most / shared.rig->size));
    sup_instance_destroy(instance);
    sup_pose_destroy(pose);
    free(positions), free(last);
}

/* A bend in contact with a plane, 20 frames, on that many threads. */
static float *play_on(int32_t threads)
{
    sup_error error = {0};
    sup_thread_pool *pool = NULL;
    sup_instance *instance;
    sup_pose *pose;
    if (shared.model == NULL) bind_shared();
    sup_context context = {0};
    if (threads > 1) {
        CHECK_OK(sup_thread_pool_create(threads, &pool, &error), error);
        context.tasks = sup_thread_pool_tasks(pool);
    }
    float *positions = calloc((size_t)shared.rig->vertex_count * 3, sizeof(float));
    CHECK_OK(sup_instance_create(&context, shared.model, NULL, &instance, &error), error);
    CHECK_OK(sup_pose_create(NULL, shared.character, &pose, &error), error);
    sup_collider plane = sup_collider_plane((sup_vec3){0, 0, 0}, (sup_vec3){0, 1, 0});
    CHECK_OK(sup_instance_set_colliders(instance, &plane, 1, &error), error);
    sup_skin_out out = {.positions = positions};
    for (int i = 0; i < 20; i++) {
        sup_pose_sample(shared.character, &shared.character->clips[0], 0.4 + i / 18.0, pose);
        CHECK_EQ(sup_instance_step(instance, pose, 1.0f / 30.0f, &out), SUP_OK);
    }
    sup_instance_destroy(instance);
    sup_pose_destroy(pose);
    sup_thread_pool_destroy(pool);
    return positions;
}

TEST(contact_gives_the_same_bits_on_any_threads) /* 15, 25 */
{
    float *one = play_on(1), *three = play_on(3), *again = play_on(1);
    size_t size = (size_t)shared.rig->vertex_count * 3 * sizeof(float);
    CHECK(memcmp(one, three, size) == 0);
    CHECK(memcmp(one, again, size) == 0);
    free(one), free(three), free(again);
}

/* Joints that jump at random, frames of 1 to 33 ms, contact found anew in every step; then back to rest. The long form is
 * `bench_position crush`. */
TEST(crushing_never_explodes)
{
    sup_error error = {0};
    if (shared.model == NULL) bind_shared();
    const sup_character *c = shared.character;
    sup_instance *instance;
    sup_pose *pose;
    sup_random random = {9};
    int32_t vertices = shared.rig->vertex_count;
    float *positions = calloc((size_t)vertices * 3, sizeof(float));
    double *angle = calloc((size_t)c->node_count, sizeof(double)), off = 0.0;
    sup_transform *local = calloc((size_t)c->node_count, sizeof *local);
    CHECK_OK(sup_instance_create(NULL, shared.model, NULL, &instance, &error), error);
    CHECK_OK(sup_pose_create(NULL, c, &pose, &error), error);
    CHECK_OK(sup_instance_set(instance, "contact", 2, &error), error);
    sup_skin_out out = {.positions = positions};
    for (int i = 0; i < 220; i++) {
        for (int32_t n = 0; n < c->node_count; n++) {
            double most = i >= 120 ? 0.0 : i % 60 < 30 ? 0.1 : 1.0;
            angle[n] =
                most > 0.0 ? fmin(fmax(angle[n] + most * (2.0 * sup_random_unit(&random) - 1.0), -2.6), 2.6) : 0.0;
            local[n] = c->nodes[n].rest;
            sup_quatd turn = sup_quatd_from_axis_angle(sup_v3(1, n % 3, n % 2), angle[n]);
            local[n].rotation = sup_quatd_to_float(sup_quatd_multiply(sup_quatd_from_float(local[n].rotation), turn));
        }
        CHECK_EQ(sup_pose_from_local(c, local, pose), SUP_OK);
        float dt = i < 120 ? (float)(0.001 + 0.032 * sup_random_unit(&random)) : 0.03f;
        CHECK_EQ(sup_instance_step(instance, pose, dt, &out), SUP_OK);
        double far = 0.0;
        for (int32_t k = 0; k < 3 * vertices; k++)
            far = fmax(far, fabs((double)positions[k]));
        CHECK_MSG(far < 2.0 * (double)shared.rig->size, "frame %d: %g sizes away", i, far / (double)shared.rig->size);
    }
    for (int32_t k = 0; k < 3 * vertices; k++)
        off = fmax(off, fabs((double)positions[k] - (double)shared.rig->positions[k]) / (double)shared.rig->size);
    /* The painted sphere has left linear blending: nothing but its stiffness brings it back. */
    CHECK_MSG(off < 1e-2, "%g sizes from rest after three seconds", off);
    sup_instance_destroy(instance);
    sup_pose_destroy(pose);
    free(positions), free(angle), free(local);
}

TEST(painted_flesh_is_soft)
{
    if (shared.model == NULL) bind_shared();
    const sup_position_view *v = &shared.view;
    int32_t soft = 0, hard = 0;
    for (int32_t i = 0; i < v->pbd.slot_count; i++) {
        if (!(v->pbd.particle_volume[i] > 0.0f)) continue;
        double away = sup_v3_distance(sup_v3_load(v->surface + 4 * i), sup_v3_load(v->joint_centre + 3));
        float painted = v->painted[SUP_POSITION_MAP_COUNT * i + SUP_POSITION_MAP_SOFT];
        CHECK(v->painted[SUP_POSITION_MAP_COUNT * i + SUP_POSITION_MAP_STIFFNESS] == 1.0f);
        bool near = away<0.08 * (double)v->size, far = away> 0.14 * (double)v->size;
        CHECK_MSG(!near || painted > 0.9f, "%g inside", (double)painted);
        CHECK_MSG(!far || painted == 0.0f, "%g outside", (double)painted);
        soft += near;
        hard += far;
    }
    CHECK(soft > 5 && hard > 20);
}

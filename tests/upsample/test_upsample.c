/* Upsampling of whole skins: rest pose, rigid motion, followers, damaged models, degenerate poses, reproducible bits. */
#include "bind/model.h"
#include "geometry/decimate.h"
#include "geometry/normals.h"
#include "test.h"
#include "upsample/upsample.h"

static const double PI = 3.14159265358979323846;
enum { RINGS = 60, SECTORS = 40, TUBE = RINGS * SECTORS, EYE = 60, PROP = 5, VERTICES = TUBE + EYE + PROP };

/* A bumpy tube that is simulated, a cloud of points that follow it, and some skipped points. */
typedef struct fixture {
    float positions[VERTICES * 3], normals[VERTICES * 3], tangents[VERTICES * 4];
    int32_t surface_vertex[VERTICES], triangles[TUBE * 6], triangle_count;
    sup_decimated coarse;
    sup_upsample_def def;
    sup_upsample_report report;
    sup_model *model;
    sup_upsample view;
    float *coarse_positions; /* [coarse_count*4] */
    void *scratch;
    float out_positions[VERTICES * 3], out_normals[VERTICES * 3], out_tangents[VERTICES * 4];
} fixture;

static fixture fix;

static void make_vertices(fixture *f, double scale)
{
    static double normals[TUBE * 3];
    sup_random random = {9};
    for (int32_t v = 0; v < TUBE; v++) {
        double a = 2.0 * PI * (v % SECTORS) / SECTORS, z = v / SECTORS * 0.1;
        double radius = 1.0 + 0.2 * sin(2.0 * z) + 0.05 * cos(3.0 * a + 5.0 * z);
        sup_v3_store(f->positions + 3 * v, sup_v3(scale * radius * cos(a), scale * radius * sin(a), scale * z));
        f->surface_vertex[v] = v;
    }
    f->triangle_count = 0;
    for (int32_t v = 0; v + SECTORS < TUBE; v++) {
        int32_t right = v % SECTORS == SECTORS - 1 ? v + 1 - SECTORS : v + 1;
        const int32_t t[6] = {v, right, right + SECTORS, v, right + SECTORS, v + SECTORS};
        memcpy(f->triangles + 3 * f->triangle_count, t, sizeof(t));
        f->triangle_count += 2;
    }
    sup_vertex_normals(TUBE, f->positions, f->triangle_count, f->triangles, NULL, normals);
    for (int32_t v = 0; v < VERTICES; v++) {
        sup_vec3d n = v < TUBE ? sup_v3(normals[3 * v], normals[3 * v + 1], normals[3 * v + 2]) : sup_v3(0, 0.6, 0.8);
        sup_vec3d side = sup_v3_unit_or(sup_v3_cross(n, sup_v3(0.3, 0.2, 1.0)), sup_v3(1, 0, 0));
        sup_v3_store(f->normals + 3 * v, n);
        sup_v3_store(f->tangents + 4 * v, side);
        f->tangents[4 * v + 3] = v % 2 ? 1.0f : -1.0f;
        if (v < TUBE) continue;
        f->surface_vertex[v] = v < TUBE + EYE ? SUP_UPSAMPLE_FOLLOWS : SUP_UPSAMPLE_SKIPPED;
        for (int32_t k = 0; k < 3; k++) /* up to half a radius inside and outside, beyond the ends too */
            f->positions[3 * v + k] = (float)(scale * (3.4 * sup_random_unit(&random) - (k < 2 ? 1.7 : 0.0)));
    }
}

static const sup_method no_method = {.name = "none", .version = 1};

static sup_model *bind_model(const sup_context *given, const sup_upsample_def *def, sup_upsample_report *report)
{
    sup_context context = sup_context_resolve(given);
    sup_model_builder builder = {.allocator = context.allocator, .arrays = {.item_size = sizeof(sup_built_array)}};
    sup_model_header header = {.vertex_count = VERTICES};
    sup_model *model = NULL;
    sup_error error = {0};
    CHECK_OK(sup_upsample_bind(&context, def, &builder, "up.", report, &error), error);
    CHECK(builder.misuse == NULL && !builder.out_of_memory);
    CHECK_OK(sup_model_pack(&context, &no_method, &header, &builder, &model, &error), error);
    sup_model_builder_free(&builder);
    return model;
}

static void set_up(fixture *f, double scale, int32_t target)
{
    sup_error error = {0};
    make_vertices(f, scale);
    sup_decimate_def decimate = {.vertex_target = target};
    CHECK_OK(sup_decimate(NULL, TUBE, f->positions, f->triangle_count, f->triangles, &decimate, &f->coarse, &error),
             error);
    sup_geodesic_mesh surface = {TUBE, f->triangle_count, f->positions, f->triangles};
    f->def = (sup_upsample_def){surface,
                                f->coarse.vertex_count,
                                f->coarse.vertices,
                                f->coarse.triangle_count,
                                f->coarse.triangles,
                                VERTICES,
                                f->positions,
                                f->normals,
                                f->tangents,
                                f->surface_vertex,
                                0};
    f->model = bind_model(NULL, &f->def, &f->report);
    CHECK_OK(sup_upsample_open(f->model, "up.", &f->view, &error), error);
    f->coarse_positions = calloc((size_t)f->coarse.vertex_count * 4, sizeof(float));
    CHECK_EQ(posix_memalign(&f->scratch, 64, sup_upsample_scratch(&f->view)), 0);
}

static void tear_down(fixture *f)
{
    sup_model_destroy(f->model);
    sup_decimated_free(&f->coarse);
    free(f->coarse_positions);
    free(f->scratch);
}

/* Row-major 3x4. */
static sup_vec3d affine(const double m[12], sup_vec3d p, double w)
{
    return sup_v3(m[0] * p.x + m[1] * p.y + m[2] * p.z + w * m[3], m[4] * p.x + m[5] * p.y + m[6] * p.z + w * m[7],
                  m[8] * p.x + m[9] * p.y + m[10] * p.z + w * m[11]);
}

static void apply(fixture *f, const double m[12])
{
    sup_context context = sup_context_resolve(NULL);
    sup_skin_out out = {.positions = f->out_positions, .normals = f->out_normals, .tangents = f->out_tangents};
    for (int32_t i = 0; i < f->coarse.vertex_count; i++)
        sup_v3_store(f->coarse_positions + 4 * i,
                     affine(m, sup_v3_load(f->positions + 3 * f->coarse.vertices[i]), 1.0));
    CHECK_EQ(sup_upsample_apply(&context, &f->view, f->coarse_positions, f->scratch, &out), SUP_OK);
}

static const double identity[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};

static int32_t render_vertex_count(const sup_upsample *view)
{
    const sup_upsample_clusters *kinds[] = {&view->plain, &view->followers};
    int32_t count = 0;
    for (int32_t k = 0; k < 2; k++)
        for (int32_t i = 0; i < kinds[k]->cluster_count * SUP_UPSAMPLE_CLUSTER; i++)
            count += kinds[k]->render_vertex[i] >= 0;
    return count;
}

TEST(upsample_keeps_the_rest_pose_at_any_scale)
{
    const double scales[] = {1.0, 0.01, 100.0};
    for (int32_t s = 0; s < 3; s++) {
        set_up(&fix, scales[s], 400);
        apply(&fix, identity);
        double size = 7.0 * scales[s];
        CHECK_EQ(fix.report.degenerate, 0);
        CHECK_EQ(render_vertex_count(&fix.view), TUBE + EYE);
        CHECK(fix.report.quadratic > TUBE * 8 / 10 && fix.report.followers >= EYE);
        CHECK_EQ(fix.report.quadratic + fix.report.reduced + fix.report.followers, TUBE + EYE);
        for (int32_t v = 0; v < TUBE + EYE; v++)
            for (int32_t k = 0; k < 3; k++) {
                CHECK_NEAR(fix.out_positions[3 * v + k], fix.positions[3 * v + k], 1e-6 * size);
                CHECK_NEAR(fix.out_normals[3 * v + k], fix.normals[3 * v + k], 2e-5);
                CHECK_NEAR(fix.out_tangents[4 * v + k], fix.tangents[4 * v + k], 1e-4);
            }
        tear_down(&fix);
    }
}

/* Far from the origin an inexact sum of weights would move the skin: the sum is 1 for positions and 0 for directions. */
TEST(upsample_weights_add_up_after_rounding)
{
    set_up(&fix, 1.0, 400);
    const sup_upsample_clusters *kinds[] = {&fix.view.plain, &fix.view.followers};
    for (int32_t k = 0; k < 2; k++)
        for (int32_t i = 0; i < kinds[k]->cluster_count * SUP_UPSAMPLE_CLUSTER; i++) {
            const sup_upsample_clusters *b = kinds[k];
            size_t channels = (size_t)b->channels, cluster = (size_t)i / SUP_UPSAMPLE_CLUSTER, lane = (size_t)i % SUP_UPSAMPLE_CLUSTER;
            int32_t position = 0, normal = 0, tangent = 0;
            if (b->render_vertex[i] < 0) continue;
            for (size_t entry = (size_t)b->first[cluster]; entry < (size_t)b->first[cluster + 1]; entry++) {
                position += b->weights[entry * channels * SUP_UPSAMPLE_CLUSTER + lane];
                tangent += b->tangents[entry * 2 * SUP_UPSAMPLE_CLUSTER + lane];
                if (k == 1) normal += b->weights[(entry * channels + SUP_CHANNEL_NORMAL_X) * SUP_UPSAMPLE_CLUSTER + lane];
            }
            CHECK_NEAR(position * (double)b->units[cluster * channels * SUP_UPSAMPLE_CLUSTER + lane], 1.0, 6e-8);
            CHECK_EQ(normal, 0);
            CHECK_EQ(tangent, 0);
        }
    tear_down(&fix);
}

TEST(upsample_follows_rigid_motion)
{
    /* Rotated by 120 degrees about the diagonal, and translated. */
    const double turn[12] = {0, 0, 1, 3, 1, 0, 0, -2, 0, 1, 0, 1};
    set_up(&fix, 1.0, 400);
    apply(&fix, turn);
    for (int32_t v = 0; v < TUBE + EYE; v++) {
        sup_vec3d p = affine(turn, sup_v3_load(fix.positions + 3 * v), 1.0);
        sup_vec3d n = affine(turn, sup_v3_load(fix.normals + 3 * v), 0.0);
        sup_vec3d t = affine(turn, sup_v3_load(fix.tangents + 4 * v), 0.0);
        CHECK_NEAR(sup_v3_distance(sup_v3_load(fix.out_positions + 3 * v), p), 0.0, 1e-5);
        CHECK_NEAR(sup_v3_distance(sup_v3_load(fix.out_normals + 3 * v), n), 0.0, 5e-5);
        CHECK_NEAR(sup_v3_distance(sup_v3_load(fix.out_tangents + 4 * v), t), 0.0, 2e-4);
        CHECK_NEAR(fix.out_tangents[4 * v + 3], v % 2 ? 1.0 : -1.0, 0.0);
    }
    tear_down(&fix);
}

/* Affine covariance: vertices of plain clusters follow affine maps, including shear and stretch. */
TEST(upsample_follows_affine_maps)
{
    const double shear[12] = {1.3, 0.4, 0, 1, -0.2, 0.8, 0.1, 2, 0, 0.3, 1.1, -3};
    set_up(&fix, 1.0, 400);
    apply(&fix, shear);
    int32_t checked = 0;
    for (int32_t i = 0; i < fix.view.plain.cluster_count * SUP_UPSAMPLE_CLUSTER; i++) {
        int32_t v = fix.view.plain.render_vertex[i];
        if (v < 0) continue;
        sup_vec3d p = affine(shear, sup_v3_load(fix.positions + 3 * v), 1.0);
        CHECK_NEAR(sup_v3_distance(sup_v3_load(fix.out_positions + 3 * v), p), 0.0, 2e-5);
        checked++;
    }
    CHECK(checked > TUBE * 8 / 10);
    for (int32_t v = 0; v < TUBE + EYE; v++) {
        sup_vec3d n = sup_v3_load(fix.out_normals + 3 * v), t = sup_v3_load(fix.out_tangents + 4 * v);
        CHECK_NEAR(sup_v3_dot(n, t), 0.0, 1e-5);
        CHECK_NEAR(sup_v3_length(t), 1.0, 1e-5);
    }
    tear_down(&fix);
}

/* A bent tube: the fine skin must be much closer to the true bend than the facets of the coarse mesh. */
TEST(upsample_is_close_to_a_smooth_bend)
{
    set_up(&fix, 1.0, 400);
    sup_context context = sup_context_resolve(NULL);
    sup_skin_out out = {.positions = fix.out_positions, .normals = fix.out_normals};
    double worst = 0.0;
    for (int32_t pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < (pass == 0 ? fix.coarse.vertex_count : TUBE); i++) {
            const float *p = fix.positions + 3 * (pass == 0 ? fix.coarse.vertices[i] : i);
            double angle = 0.25 * (double)p[2], r = 4.0 - (double)p[0];
            sup_vec3d bent = sup_v3(4.0 - r * cos(angle), (double)p[1], r * sin(angle));
            if (pass == 0)
                sup_v3_store(fix.coarse_positions + 4 * i, bent);
            else
                worst = fmax(worst, sup_v3_distance(sup_v3_load(fix.out_positions + 3 * i), bent));
            if (pass == 0 && i == fix.coarse.vertex_count - 1)
                CHECK_EQ(sup_upsample_apply(&context, &fix.view, fix.coarse_positions, fix.scratch, &out), SUP_OK);
        }
    CHECK_MSG(worst < 5e-3, "%g", worst); /* edges are 0.35 long: facets are off by 0.02 */
    tear_down(&fix);
}

TEST(upsample_is_independent_of_threads_strides_and_outputs)
{
    typedef struct vertex {
        float position[3], unused, normal[3], tangent[4];
    } vertex;
    static vertex strided[VERTICES];
    const double turn[12] = {0, 0, 1, 3, 1, 0, 0, -2, 0, 1, 0, 1};
    set_up(&fix, 1.0, 400);
    apply(&fix, turn);
    sup_thread_pool *pool;
    sup_error error = {0};
    CHECK_OK(sup_thread_pool_create(3, &pool, &error), error);
    sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
    sup_model *model = bind_model(&context, &fix.def, NULL);
    CHECK_EQ(sup_model_bytes(model).size, sup_model_bytes(fix.model).size);
    CHECK(memcmp(sup_model_bytes(model).data, sup_model_bytes(fix.model).data, sup_model_bytes(model).size) == 0);
    sup_model_destroy(model);
    memset(strided, 0x55, sizeof(strided));
    const vertex untouched = strided[0];
    sup_skin_out out = {strided[0].position, sizeof(vertex),     strided[0].normal,
                        sizeof(vertex),      strided[0].tangent, sizeof(vertex)};
    CHECK_EQ(sup_upsample_apply(&context, &fix.view, fix.coarse_positions, fix.scratch, &out), SUP_OK);
    for (int32_t v = 0; v < TUBE + EYE; v++) {
        CHECK(memcmp(strided[v].position, fix.out_positions + 3 * v, 12) == 0);
        CHECK(memcmp(strided[v].normal, fix.out_normals + 3 * v, 12) == 0);
        CHECK(memcmp(strided[v].tangent, fix.out_tangents + 4 * v, 16) == 0);
        CHECK(memcmp(&strided[v].unused, &untouched.unused, 4) == 0);
    }
    for (int32_t v = TUBE + EYE; v < VERTICES; v++)
        CHECK(memcmp(&strided[v], &untouched, sizeof(vertex)) == 0);
    float positions[VERTICES * 3];
    sup_skin_out alone = {.positions = positions};
    CHECK_EQ(sup_upsample_apply(&context, &fix.view, fix.coarse_positions, fix.scratch, &alone), SUP_OK);
    CHECK(memcmp(positions, fix.out_positions, (TUBE + EYE) * 12) == 0);
    for (int32_t lanes = 1; lanes <= 8; lanes += 7) {
        CHECK_EQ(sup_upsample_apply_lanes(&context, &fix.view, fix.coarse_positions, fix.scratch, &alone, lanes),
                 SUP_OK);
        for (int32_t i = 0; i < (TUBE + EYE) * 3; i++) /* another instruction set: only rounding differs */
            CHECK_NEAR(positions[i], fix.out_positions[i], 1e-5);
    }
    sup_thread_pool_destroy(pool);
    tear_down(&fix);
}

TEST(upsample_stays_finite_in_degenerate_poses)
{
    const double flat[12] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, point[12] = {0},
                 far[12] = {1e12, 0, 0, 0, 0, 1e12, 0, 0, 0, 0, 1e12};
    const double *poses[] = {flat, point, far};
    set_up(&fix, 1.0, 400);
    for (int32_t i = 0; i < 3; i++) {
        apply(&fix, poses[i]);
        for (int32_t v = 0; v < TUBE + EYE; v++) {
            CHECK(sup_v3_finite(sup_v3_load(fix.out_positions + 3 * v)));
            CHECK_NEAR(sup_v3_length(sup_v3_load(fix.out_normals + 3 * v)), 1.0, 1e-4);
            CHECK_NEAR(sup_v3_length(sup_v3_load(fix.out_tangents + 4 * v)), 1.0, 1e-4);
        }
    }
    tear_down(&fix);
}

/* A surface component with too few coarse vertices follows the others. */
TEST(upsample_small_components_follow)
{
    set_up(&fix, 1.0, 400);
    sup_model_destroy(fix.model);
    static float positions[(TUBE + 3) * 3];
    static int32_t triangles[TUBE * 6 + 3];
    memcpy(positions, fix.positions, TUBE * 12);
    memcpy(triangles, fix.triangles, (size_t)fix.triangle_count * 12);
    const float button[9] = {1.3f, 0, 3, 1.3f, 0.1f, 3, 1.3f, 0, 3.1f};
    memcpy(positions + TUBE * 3, button, sizeof(button));
    memcpy(fix.positions + TUBE * 3, button, sizeof(button));
    for (int32_t k = 0; k < 3; k++) {
        triangles[3 * fix.triangle_count + k] = TUBE + k;
        fix.surface_vertex[TUBE + k] = TUBE + k;
    }
    fix.def.surface = (sup_geodesic_mesh){TUBE + 3, fix.triangle_count + 1, positions, triangles};
    fix.model = bind_model(NULL, &fix.def, &fix.report);
    sup_error error = {0};
    CHECK_OK(sup_upsample_open(fix.model, "up.", &fix.view, &error), error);
    const double turn[12] = {0, 0, 1, 3, 1, 0, 0, -2, 0, 1, 0, 1};
    apply(&fix, turn);
    for (int32_t v = TUBE; v < TUBE + 3; v++)
        CHECK_NEAR(sup_v3_distance(sup_v3_load(fix.out_positions + 3 * v),
                                   affine(turn, sup_v3_load(fix.positions + 3 * v), 1.0)),
                   0.0, 1e-5);
    tear_down(&fix);
}

/* Distances measured on a decimated surface: the rest pose is still exact. */
TEST(upsample_between_surface_vertices)
{
    set_up(&fix, 1.0, 400);
    sup_error error = {0};
    sup_decimated thin;
    static float importance[TUBE], positions[TUBE * 3];
    static int32_t coarse_vertices[TUBE], thin_of[TUBE];
    for (int32_t v = 0; v < TUBE; v++)
        importance[v] = 1.0f;
    for (int32_t i = 0; i < fix.coarse.vertex_count; i++)
        importance[fix.coarse.vertices[i]] = INFINITY;
    sup_decimate_def decimate = {.vertex_target = 1200, .importance = importance};
    CHECK_OK(sup_decimate(NULL, TUBE, fix.positions, fix.triangle_count, fix.triangles, &decimate, &thin, &error),
             error);
    for (int32_t v = 0; v < TUBE; v++)
        fix.surface_vertex[v] = SUP_UPSAMPLE_IN_TRIANGLE;
    for (int32_t i = 0; i < thin.vertex_count; i++) {
        memcpy(positions + 3 * i, fix.positions + 3 * thin.vertices[i], 12);
        thin_of[thin.vertices[i]] = i;
        fix.surface_vertex[thin.vertices[i]] = i;
    }
    for (int32_t i = 0; i < fix.coarse.vertex_count; i++)
        coarse_vertices[i] = thin_of[fix.coarse.vertices[i]];
    sup_model_destroy(fix.model);
    fix.def.surface = (sup_geodesic_mesh){thin.vertex_count, thin.triangle_count, positions, thin.triangles};
    fix.def.coarse_vertices = coarse_vertices;
    fix.model = bind_model(NULL, &fix.def, &fix.report);
    CHECK_OK(sup_upsample_open(fix.model, "up.", &fix.view, &error), error);
    CHECK(fix.report.quadratic > TUBE * 8 / 10 && fix.report.followers < EYE + TUBE / 20);
    apply(&fix, identity);
    for (int32_t i = 0; i < TUBE * 3; i++)
        CHECK_NEAR(fix.out_positions[i], fix.positions[i], 1e-5);
    tear_down(&fix);
    sup_decimated_free(&thin);
}

/* Fewer coarse vertices than requested neighbours: still exact for rigid motion, within the precision of 16 bits over a
 * neighbourhood of the size of the skin (length 7). */
TEST(upsample_of_few_coarse_vertices)
{
    const double turn[12] = {0, 0, 1, 3, 1, 0, 0, -2, 0, 1, 0, 1};
    set_up(&fix, 1.0, 12);
    CHECK(fix.coarse.vertex_count < SUP_UPSAMPLE_NEIGHBOURS);
    apply(&fix, turn);
    CHECK_EQ(fix.report.degenerate, 0);
    for (int32_t v = 0; v < TUBE; v++)
        CHECK_NEAR(sup_v3_distance(sup_v3_load(fix.out_positions + 3 * v),
                                   affine(turn, sup_v3_load(fix.positions + 3 * v), 1.0)),
                   0.0, 5e-5);
    tear_down(&fix);
}

/* Opens the model with one int32 or uint16 of an array changed; the checksum is not verified here. */
static void damage(const char *array, sup_array_type type, int64_t at, int32_t value)
{
    sup_upsample view;
    sup_error error = {0};
    unsigned char *element = (unsigned char *)(size_t)sup_model_array(fix.model, array, type, -1), kept[4];
    CHECK(element != NULL);
    size_t size = sup_array_type_size((uint32_t)type);
    element += (size_t)at * size;
    memcpy(kept, element, size);
    memcpy(element, &value, size);
    CHECK_EQ(sup_upsample_open(fix.model, "up.", &view, &error), SUP_ERROR_FORMAT);
    CHECK_TEXT(error.id, "upsample.model");
    memcpy(element, kept, size);
    CHECK_EQ(sup_upsample_open(fix.model, "up.", &view, &error), SUP_OK);
}

TEST(upsample_rejects_damaged_models)
{
    set_up(&fix, 1.0, 400);
    sup_upsample view;
    sup_error error = {0};
    CHECK_EQ(sup_upsample_open(fix.model, "down.", &view, &error), SUP_ERROR_FORMAT);
    for (int64_t i = 0; i < 8; i++) {
        damage("up.sizes", SUP_ARRAY_INT32, i, -1);
        damage("up.sizes", SUP_ARRAY_INT32, i, 5);
        if (i > 0) damage("up.sizes", SUP_ARRAY_INT32, i, INT32_MAX);
    }
    damage("up.plain_vertices", SUP_ARRAY_INT32, 7, VERTICES);
    damage("up.plain_vertices", SUP_ARRAY_INT32, 7, -2);
    damage("up.follow_vertices", SUP_ARRAY_INT32, 7, -1); /* followed by a valid one */
    damage("up.plain_first", SUP_ARRAY_INT32, 0, 1);
    damage("up.plain_first", SUP_ARRAY_INT32, 3, 0);
    damage("up.follow_first", SUP_ARRAY_INT32, 1, INT32_MAX);
    damage("up.plain_index", SUP_ARRAY_UINT16, 100, 400);
    damage("up.follow_index", SUP_ARRAY_UINT16, 100, 65535);
    damage("up.triangles", SUP_ARRAY_INT32, 3, 400);
    damage("up.corner_first", SUP_ARRAY_INT32, 3, 90000);
    damage("up.corner_first", SUP_ARRAY_INT32, 400, 3);
    damage("up.corner_triangle", SUP_ARRAY_INT32, 3, -2);
    const float not_a_number = NAN;
    int32_t bits;
    memcpy(&bits, &not_a_number, sizeof(bits));
    const char *floats[] = {"up.plain_units",      "up.follow_units",    "up.plain_tan_units",
                            "up.follow_tan_units", "up.plain_tan_signs", "up.rest_normal"};
    for (int32_t i = 0; i < SUP_COUNT(floats); i++)
        damage(floats[i], SUP_ARRAY_FLOAT, 2, bits);
    tear_down(&fix);
}

static sup_result try_def(const sup_upsample_def *def, const char *prefix)
{
    sup_context context = sup_context_resolve(NULL);
    sup_model_builder builder = {.allocator = context.allocator, .arrays = {.item_size = sizeof(sup_built_array)}};
    sup_result result = sup_upsample_bind(NULL, def, &builder, prefix, NULL, NULL);
    sup_model_builder_free(&builder);
    return result;
}

TEST(upsample_rejects_invalid_arguments)
{
    set_up(&fix, 1.0, 400);
    sup_upsample_def def = fix.def;
    def.neighbours = 9;
    CHECK_EQ(try_def(&def, "up."), SUP_ERROR_ARGUMENT);
    def.neighbours = 64;
    CHECK_EQ(try_def(&def, "up."), SUP_ERROR_ARGUMENT);
    CHECK_EQ(try_def(&fix.def, "a prefix that is too long"), SUP_ERROR_ARGUMENT);
    fix.surface_vertex[3] = TUBE;
    CHECK_EQ(try_def(&fix.def, "up."), SUP_ERROR_ARGUMENT);
    fix.surface_vertex[3] = 3;
    fix.coarse.triangles[4] = -1;
    CHECK_EQ(try_def(&fix.def, "up."), SUP_ERROR_ARGUMENT);
    fix.def.tangents = NULL;
    fix.coarse.triangles[4] = 0;
    sup_model *model = bind_model(NULL, &fix.def, NULL);
    sup_upsample view;
    sup_error error = {0};
    CHECK_OK(sup_upsample_open(model, "up.", &view, &error), error);
    sup_context context = sup_context_resolve(NULL);
    sup_skin_out out = {.tangents = fix.out_tangents};
    CHECK_EQ(sup_upsample_apply(&context, &view, fix.coarse_positions, fix.scratch, &out), SUP_ERROR_ARGUMENT);
    sup_model_destroy(model);
    tear_down(&fix);
}

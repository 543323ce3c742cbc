/* Direct delta mush against delta mush, its kernel against double arithmetic, and what it repairs. */
#include "base/simd.h"
#include "geometry/adjacency.h"
#include "math/polar.h"
#include "methods/ddm/ddm.h"
#include "methods/posed_scene.h"

static const double full[SUP_DDM_PARAM_COUNT] = {0.02, SUP_DDM_FULL, 0.0};
static const double v4[SUP_DDM_PARAM_COUNT] = {0.02, SUP_DDM_V4, 0.0};

typedef struct neighbourhood {
    int32_t *first, *list;
} neighbourhood;

static neighbourhood neighbours_of(const sup_rig *rig)
{
    sup_context context = sup_context_resolve(NULL);
    sup_adjacency mesh;
    sup_error error;
    CHECK_OK(sup_adjacency_create(&context.allocator, rig->skin_vertex_count, rig->skin_triangle_count,
                                  rig->skin_triangles, &mesh, &error),
             error);
    neighbourhood n = {malloc(((size_t)rig->skin_vertex_count + 1) * 4), malloc((size_t)mesh.edge_count * 8)};
    sup_adjacency_neighbours(&mesh, n.first, n.list);
    sup_adjacency_destroy(&mesh);
    return n;
}

static void free_neighbours(neighbourhood n)
{
    free(n.first);
    free(n.list);
}

/* The smoothing of ddm.h for `channels` numbers a vertex. */
static void smooth(const sup_rig *rig, neighbourhood n, int32_t sweeps, int32_t channels, double *x)
{
    size_t count = (size_t)rig->skin_vertex_count * (size_t)channels;
    double *next = malloc(count * sizeof *next);
    for (int32_t step = 0; step < sweeps; step++) {
        for (int32_t v = 0; v < rig->skin_vertex_count; v++)
            for (int32_t c = 0; c < channels; c++) {
                double sum = 0.0;
                for (int32_t k = n.first[v]; k < n.first[v + 1]; k++)
                    sum += x[n.list[k] * channels + c];
                int32_t degree = n.first[v + 1] - n.first[v];
                next[v * channels + c] =
                    degree > 0 ? 0.5 * x[v * channels + c] + 0.5 * sum / degree : x[v * channels + c];
            }
        memcpy(x, next, count * sizeof *x);
    }
    free(next);
}

/* Normal, weighted by area, and tangent along the first edge: the columns of f. */
static void frame_at(const sup_rig *rig, neighbourhood n, const double *x, int32_t v, sup_vec3d f[3])
{
    sup_vec3d normal = sup_v3(0, 0, 0), at = sup_v3(x[3 * v], x[3 * v + 1], x[3 * v + 2]);
    for (int32_t t = 0; t < rig->skin_triangle_count; t++) {
        const int32_t *k = rig->skin_triangles + 3 * t;
        if (k[0] != v && k[1] != v && k[2] != v) continue;
        sup_vec3d c[3];
        for (int32_t i = 0; i < 3; i++)
            c[i] = sup_v3(x[3 * k[i]], x[3 * k[i] + 1], x[3 * k[i] + 2]);
        normal = sup_v3_add(normal, sup_v3_cross(sup_v3_sub(c[1], c[0]), sup_v3_sub(c[2], c[0])));
    }
    const double *first = x + 3 * n.list[n.first[v]];
    f[0] = sup_v3_unit_or(normal, sup_v3(1, 0, 0));
    sup_vec3d edge = sup_v3_sub(sup_v3(first[0], first[1], first[2]), at);
    f[1] = sup_v3_unit_or(sup_v3_madd(edge, -sup_v3_dot(edge, f[0]), f[0]), sup_v3(0, 1, 0));
    f[2] = sup_v3_cross(f[0], f[1]);
}

/* Delta mush [mancewicz2014] of the linear skin, for skin vertices. */
static double *delta_mush(const posed_scene *s, neighbourhood n, int32_t sweeps)
{
    const sup_rig *rig = s->rig;
    size_t count = (size_t)rig->skin_vertex_count * 3;
    double *rest = malloc(count * 8), *posed = malloc(count * 8), *out = malloc(count * 8);
    float *linear = posed_scene_skin(s, "linear", NULL, NULL);
    for (int32_t v = 0; v < rig->skin_vertex_count; v++)
        for (int32_t c = 0; c < 3; c++) {
            rest[3 * v + c] = (double)rig->skin_positions[3 * v + c];
            posed[3 * v + c] = (double)linear[3 * rig->skin_to_vertex[v] + c];
        }
    smooth(rig, n, sweeps, 3, rest);
    smooth(rig, n, sweeps, 3, posed);
    for (int32_t v = 0; v < rig->skin_vertex_count; v++) {
        sup_vec3d a[3], b[3], at = sup_v3(rest[3 * v], rest[3 * v + 1], rest[3 * v + 2]);
        sup_vec3d detail = sup_v3_sub(sup_v3_load(rig->skin_positions + 3 * v), at);
        frame_at(rig, n, rest, v, a);
        frame_at(rig, n, posed, v, b);
        sup_vec3d result = sup_v3(posed[3 * v], posed[3 * v + 1], posed[3 * v + 2]);
        for (int32_t i = 0; i < 3; i++)
            result = sup_v3_madd(result, sup_v3_dot(a[i], detail), b[i]);
        out[3 * v] = result.x, out[3 * v + 1] = result.y, out[3 * v + 2] = result.z;
    }
    free(rest);
    free(posed);
    free(linear);
    return out;
}

static int32_t sweeps_of(const sup_rig *rig)
{
    sup_context context = sup_context_resolve(NULL);
    sup_ddm_smooth result;
    sup_error error;
    CHECK_OK(sup_ddm_smooth_create(&context, rig, full[0], 0.0, &result, &error), error);
    int32_t sweeps = result.sweeps;
    sup_ddm_smooth_destroy(&result);
    return sweeps;
}

/* A tube of 1 m, bent and twisted: direct delta mush is delta mush, but for the fit of the rotation. */
TEST(it_agrees_with_delta_mush_on_a_tube)
{
    static const struct {
        sup_vec3d axis;
        double degrees;
    } poses[] = {{{0, 0, 1}, 45}, {{0, 0, 1}, 90}, {{0, 0, 1}, 120}, {{0, 1, 0}, 90}, {{0, 1, 0}, 170}};
    for (int32_t p = 0; p < SUP_COUNT(poses); p++) {
        posed_scene s = posed_scene_open("cylinder", 0.5, SUP_WEIGHTS_AUTO);
        neighbourhood n = neighbours_of(s.rig);
        posed_scene_turn(&s, "lower", poses[p].axis, poses[p].degrees);
        double *wanted = delta_mush(&s, n, sweeps_of(s.rig)), square = 0.0;
        float *skin = posed_scene_skin(&s, "ddm", full, NULL);
        for (int32_t v = 0; v < s.rig->skin_vertex_count; v++)
            for (int32_t c = 0; c < 3; c++) {
                double d = (double)skin[3 * s.rig->skin_to_vertex[v] + c] - wanted[3 * v + c];
                square += d * d;
            }
        double rms = sqrt(square / s.rig->skin_vertex_count);
        CHECK_MSG(rms < 2e-4, "pose %d: %g m", p, rms);
        free(skin);
        free(wanted);
        free_neighbours(n);
        posed_scene_close(&s);
    }
}

/* Moments against dense smoothing: sum_k A_ik w_kj (u_k - p_i) (u_k - p_i, 1)^T of each vertex and joint. */
TEST(moments_are_those_of_the_smoothed_products)
{
    posed_scene s = posed_scene_open("arm", 0.1, SUP_WEIGHTS_AUTO);
    const sup_rig *rig = s.rig;
    neighbourhood n = neighbours_of(rig);
    sup_context context = sup_context_resolve(NULL);
    sup_ddm_smooth result;
    sup_error error;
    CHECK_OK(sup_ddm_smooth_create(&context, rig, 0.03, 0.0, &result, &error), error);
    int32_t compared = 0;
    double *x = malloc((size_t)rig->skin_vertex_count * 4 * sizeof *x);
    for (int32_t joint = 0; joint < rig->joint_count; joint++) {
        for (int32_t v = 0; v < rig->skin_vertex_count; v++) {
            int32_t from = rig->skin_to_vertex[v];
            double w = 0.0;
            for (int32_t i = rig->influence_first[from]; i < rig->influence_first[from + 1]; i++)
                if (rig->influence_joint[i] == joint) w += (double)rig->influence_weight[i];
            for (int32_t c = 0; c < 3; c++)
                x[4 * v + c] = w * ((double)rig->skin_positions[3 * v + c] - result.origin[c]) / result.unit;
            x[4 * v + 3] = w;
        }
        smooth(rig, n, result.sweeps, 4, x);
        for (int32_t v = 0; v < rig->vertex_count; v++)
            for (int32_t i = result.first[v]; i < result.first[v + 1]; i++) {
                if (result.joint[i] != joint) continue;
                const double *wanted = x + 4 * rig->vertex_to_skin[v];
                CHECK_NEAR(result.weight[i], wanted[3], 6e-3);
                for (int32_t c = 0; c < 3; c++) {
                    double p = ((double)result.centres[3 * v + c] - result.origin[c]) / result.unit;
                    CHECK_NEAR(result.moments[9 * i + 6 + c], wanted[c] - wanted[3] * p, 4e-4);
                }
                compared++;
            }
    }
    CHECK(compared > rig->vertex_count);
    free(x);
    free_neighbours(n);
    sup_ddm_smooth_destroy(&result);
    posed_scene_close(&s);
}

/* The step in double, for one vertex. */
static sup_vec3d step_in_double(const posed_scene *s, const sup_ddm_smooth *smooth, int32_t v)
{
    double q[9] = {0}, small[3] = {0}, stretch[9] = {0}, f[9], r[9];
    double p[3], out[3];
    for (int32_t c = 0; c < 3; c++)
        p[c] = (double)smooth->centres[3 * v + c];
    static const int32_t symmetric[9] = {0, 3, 4, 3, 1, 5, 4, 5, 2};
    for (int32_t i = smooth->first[v]; i < smooth->first[v + 1]; i++) {
        const double *moments = smooth->moments + 9 * i;
        sup_affine joint =
            sup_affine_multiply(sup_affine_from_float(s->pose->world[s->rig->joint_node[smooth->joint[i]]]),
                                sup_affine_from_float(s->rig->joint_inverse_bind[smooth->joint[i]]));
        sup_quatd rotation;
        double own[9], moved[3];
        sup_affine_polar(joint, &rotation, own);
        for (int32_t k = 0; k < 9; k++)
            stretch[k] += (double)smooth->weight[i] * own[k];
        for (int32_t a = 0; a < 3; a++) {
            const double *row = joint.m + 4 * a;
            moved[a] = row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3];
            small[a] += (double)smooth->weight[i] * moved[a];
            for (int32_t b = 0; b < 3; b++) {
                for (int32_t k = 0; k < 3; k++)
                    q[3 * a + b] += row[k] * moments[symmetric[3 * k + b]];
                q[3 * a + b] += moved[a] / smooth->unit * moments[6 + b];
                small[a] += row[b] * moments[6 + b] * smooth->unit;
            }
        }
    }
    for (int32_t a = 0; a < 3; a++)
        for (int32_t b = 0; b < 3; b++)
            f[3 * a + b] =
                q[3 * a] * stretch[3 * b] + q[3 * a + 1] * stretch[3 * b + 1] + q[3 * a + 2] * stretch[3 * b + 2];
    sup_polar_rotation(f, r);
    for (int32_t a = 0; a < 3; a++) {
        out[a] = small[a];
        for (int32_t b = 0; b < 3; b++)
            for (int32_t c = 0; c < 3; c++)
                out[a] += r[3 * a + b] * stretch[3 * b + c] * ((double)s->rig->positions[3 * v + c] - p[c]);
    }
    return sup_v3(out[0], out[1], out[2]);
}

TEST(kernels_match_the_step_in_double)
{
    posed_scene s = posed_scene_open("hand", 0.2, SUP_WEIGHTS_AUTO);
    sup_context context = sup_context_resolve(NULL);
    sup_ddm_smooth smooth_skin;
    sup_error error;
    sup_model *model = NULL;
    CHECK_OK(sup_ddm_smooth_create(&context, s.rig, full[0], 0.3, &smooth_skin, &error), error);
    double values[SUP_DDM_PARAM_COUNT] = {full[0], SUP_DDM_FULL, 0.3};
    CHECK_OK(sup_bind(NULL, &sup_method_ddm, s.rig, &(sup_bind_def){.values = values}, &model, &error), error);
    sup_layout layout;
    CHECK_EQ(sup_method_layout(&sup_method_ddm, model, &context, &layout), SUP_OK);
    void *state = sup_alloc_zero(&context.allocator, layout.size);
    float *skin = malloc((size_t)s.rig->vertex_count * 12);
    for (int32_t kind = 0; kind < 3; kind++) {
        sup_vec3d scale = kind == 0 ? sup_v3(1, 1, 1) : kind == 1 ? sup_v3(1.3, 0.8, 1) : sup_v3(-1, 1, 1.2);
        sup_random random = {(uint64_t)kind + 3};
        for (int32_t j = 0; j < s.rig->joint_count; j++) { /* joints by themselves: no chain */
            sup_vec3d axis = sup_v3(sup_random_unit(&random) - 0.5, sup_random_unit(&random) - 0.5, 0.3);
            sup_affine turn = sup_affine_from_trs(sup_v3(0, 0, 0), sup_quatd_from_axis_angle(axis, 0.8),
                                                  j % 3 == 1 ? scale : sup_v3(1, 1, 1));
            sup_affine bind = sup_affine_from_float(s.rig->joint_bind[j]);
            s.pose->world[s.rig->joint_node[j]] =
                sup_affine_to_float(sup_affine_multiply(map_about(sup_affine_translation(bind), turn), bind));
        }
        for (int32_t lanes = 1; lanes <= sup_simd_lanes(); lanes *= 2) {
            sup_step_input input = {.context = &context, .model = model, .values = values, .pose = s.pose};
            sup_skin_out out = {.positions = skin, .position_stride = 12};
            CHECK_EQ(sup_ddm_step(&input, state, &out, lanes), SUP_OK);
            int32_t off = 0;
            for (int32_t v = 0; v < s.rig->vertex_count; v++) {
                double d = sup_v3_distance(step_in_double(&s, &smooth_skin, v), sup_v3_load(skin + 3 * v));
                CHECK_MSG(kind == 2 || d < 1e-4 * (double)s.rig->size, "kind %d, %d lanes, vertex %d: %g", kind, lanes,
                          v, d);
                off += d > 1e-4 * (double)s.rig->size; /* between a mirrored joint and another R may be ambiguous */
            }
            CHECK_MSG(off * 50 < s.rig->vertex_count, "%d vertices", off);
        }
    }
    sup_free(&context.allocator, state, layout.size);
    free(skin);
    sup_model_destroy(model);
    sup_ddm_smooth_destroy(&smooth_skin);
    posed_scene_close(&s);
}

static double largest_edge_ratio(const posed_scene *s, const float *skin)
{
    double largest = 0.0;
    for (int32_t t = 0; t < 3 * s->rig->skin_triangle_count; t++) {
        int32_t a = s->rig->skin_to_vertex[s->rig->skin_triangles[t]];
        int32_t b = s->rig->skin_to_vertex[s->rig->skin_triangles[t / 3 * 3 + (t + 1) % 3]];
        double rest = sup_v3_distance(sup_v3_load(s->rig->positions + 3 * a), sup_v3_load(s->rig->positions + 3 * b));
        double now = sup_v3_distance(sup_v3_load(skin + 3 * a), sup_v3_load(skin + 3 * b));
        largest = fmax(largest, now / rest);
    }
    return largest;
}

/* Rigid weights tear a bent tube with linear blending; both variants repair it. */
TEST(rigid_weights_are_repaired)
{
    posed_scene s = posed_scene_open("cylinder", 1.0, SUP_WEIGHTS_RIGID);
    double radius[SUP_DDM_PARAM_COUNT] = {0.1, SUP_DDM_FULL, 0.0};
    posed_scene_turn(&s, "lower", sup_v3(0, 0, 1), 90.0);
    float *linear = posed_scene_skin(&s, "linear", NULL, NULL);
    CHECK(largest_edge_ratio(&s, linear) > 4.0);
    for (int32_t variant = SUP_DDM_FULL; variant <= SUP_DDM_V4; variant++) {
        radius[SUP_DDM_VARIANT] = variant;
        float *skin = posed_scene_skin(&s, "ddm", radius, NULL);
        CHECK_MSG(largest_edge_ratio(&s, skin) < 1.6, "variant %d: %g", variant, largest_edge_ratio(&s, skin));
        free(skin);
    }
    free(linear);
    posed_scene_close(&s);
}

/* v4 turns skin about smoothed rest positions: it cannot turn it by translations of joints. Full does. */
TEST(full_turns_skin_between_joints_that_are_moved_apart)
{
    posed_scene s = posed_scene_open("cylinder", 0.5, SUP_WEIGHTS_AUTO);
    sup_affine aside = sup_affine_identity();
    aside.m[3] = 0.1; /* shears the tube between the joints */
    posed_scene_move(&s, posed_scene_node(&s, "lower"), aside);
    float *turned, *straight, *a = posed_scene_skin(&s, "ddm", full, &turned);
    float *b = posed_scene_skin(&s, "ddm", v4, &straight);
    double most_turned = 0.0, most_straight = 0.0;
    for (int32_t v = 0; v < s.rig->vertex_count; v++) {
        sup_vec3d n = sup_v3_load(s.rig->normals + 3 * v);
        most_turned = fmax(most_turned, sup_v3_distance(n, sup_v3_load(turned + 3 * v)));
        most_straight = fmax(most_straight, sup_v3_distance(n, sup_v3_load(straight + 3 * v)));
    }
    CHECK(most_turned > 0.2);
    CHECK(most_straight < 1e-5);
    free(a);
    free(b);
    free(turned);
    free(straight);
    posed_scene_close(&s);
}

/* The same motion far from the origin: lengths in the step are relative to the character. */
TEST(far_from_the_origin_only_the_output_is_rounded)
{
    posed_scene s = posed_scene_open("arm", 0.3, SUP_WEIGHTS_AUTO);
    posed_scene_turn(&s, s.character->nodes[s.rig->joint_node[1]].name, sup_v3(1, 0, 0), 80.0);
    float *near = posed_scene_skin(&s, "ddm", full, NULL);
    for (int32_t n = 0; n < s.character->node_count; n++)
        s.pose->world[n].m[3] += 1024.0f;
    float *far = posed_scene_skin(&s, "ddm", full, NULL);
    for (int32_t v = 0; v < s.rig->vertex_count; v++)
        for (int32_t c = 0; c < 3; c++)
            CHECK_NEAR(far[3 * v + c] - (c == 0 ? 1024.0f : 0.0f), near[3 * v + c], 3e-4);
    free(near);
    free(far);
    posed_scene_close(&s);
}

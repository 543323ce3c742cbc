/* The system: names of prism corners, masses, the matrix against the reference, rejected input, damaged models. */
#include "linalg/pcg.h"
#include "solver/solver_reference.h"
#include "projective_solver/body.h"
#include "test.h"

static body bound_tube(int32_t rings, int32_t segments, double scale, const sup_system_def *def)
{
    static const sup_system_def defaults;
    body b = body_tube(rings, segments, scale);
    sup_error error = {0};
    CHECK_OK(body_bind(&b, NULL, def != NULL ? def : &defaults, &error), error);
    return b;
}

/* Every split of a prism has names, and they reproduce the same three tetrahedra. */
TEST(prism_corners_are_named)
{
    static const int32_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const int32_t triangle[3] = {4, 9, 2}, n = 20;
    sup_random random = {5};
    for (int32_t trial = 0; trial < 200; trial++) {
        const int32_t *order = orders[trial % 6];
        int32_t v[3] = {triangle[order[0]], triangle[order[1]], triangle[order[2]]}, corner[6];
        int32_t tets[3][4] = {
            {v[0], v[1], v[2], v[2] + n}, {v[0], v[1], v[1] + n, v[2] + n}, {v[0], v[0] + n, v[1] + n, v[2] + n}};
        for (int32_t k = 0; k < 12; k++) { /* shuffled corners and tetrahedra */
            int32_t t = (int32_t)(sup_random_u32(&random) % 3), a = k % 4, b = (int32_t)(sup_random_u32(&random) % 4);
            int32_t swap = tets[t][a];
            tets[t][a] = tets[t][b];
            tets[t][b] = swap;
        }
        int32_t first = trial % 3, flat[12];
        for (int32_t t = 0; t < 3; t++)
            memcpy(flat + 4 * t, tets[(t + first) % 3], 16);
        CHECK(sup_prism_corners(triangle, flat, n, corner));
        for (int32_t k = 0; k < 3; k++) {
            CHECK_EQ(corner[k], v[k]);
            CHECK_EQ(corner[3 + k], v[k] + n);
        }
    }
}

TEST(invalid_prism_splits_are_rejected)
{
    const int32_t triangle[3] = {0, 1, 2};
    int32_t corner[6];
    const int32_t good[12] = {0, 1, 2, 12, 0, 1, 11, 12, 0, 10, 11, 12};
    CHECK(sup_prism_corners(triangle, good, 10, corner));
    for (int32_t at = 0; at < 12; at++) {
        int32_t bad[12];
        for (int32_t vertex = 0; vertex < 13; vertex++) {
            memcpy(bad, good, sizeof bad);
            if (bad[at] == vertex) continue;
            bad[at] = vertex; /* any other vertex breaks it, inside the prism or not */
            CHECK_MSG(!sup_prism_corners(triangle, bad, 10, corner), "corner %d as %d", (int)at, (int)vertex);
        }
    }
}

TEST(masses_sum_to_the_total)
{
    sup_system_def def = {.total_mass = 70.0, .time_step = 0.5};
    body b = bound_tube(20, 12, 1.0, &def);
    double sum = 0.0;
    int32_t unknown_bases = 0;
    for (int32_t v = 0; v < b.tissue.skin_count; v++) {
        sum += (double)b.system.mass[b.system.node[v]] * 0.25;
        int32_t base = b.system.node[b.tissue.skin_count + v];
        CHECK((base < b.system.unknown_count) == (b.tissue.base_class[v] == SUP_BASE_FREE));
        if (base >= b.system.unknown_count) continue;
        unknown_bases++;
        CHECK_NEAR(b.system.mass[base], 0.0, 0.0);
    }
    CHECK(unknown_bases > 0);
    CHECK_NEAR(sum, 70.0, 1e-4);
    body_free(&b);
}

/* Symmetric positive definite (it has a factor); the factor and conjugate gradients agree. */
TEST(factor_and_conjugate_gradients_agree)
{
    body b = body_tube(16, 12, 1.0);
    sup_system_def def = {.tissue = &b.tissue};
    sup_error error = {0};
    sup_reference *reference = NULL;
    CHECK_OK(sup_reference_create(NULL, &def, &reference, &error), error);
    const sup_csr *a = sup_reference_matrix(reference);
    size_t n = (size_t)a->size;
    sup_cholesky *cholesky = NULL;
    CHECK_OK(sup_cholesky_create(NULL, a, &cholesky, &error), error);
    double *right = calloc(n, 8), *x = calloc(n, 8), *y = calloc(n, 8), *work = calloc(n * 8, 8), size = 0.0;
    CHECK(right && x && y && work);
    for (size_t i = 0; i < n; i++)
        right[i] = sin(1.0 + 3.1 * (double)i);
    sup_cholesky_solve(cholesky, 1, right, x, work);
    sup_pcg_report report;
    CHECK_OK(sup_pcg_solve(a, right, y, 1e-13, 20000, work, &report, &error), error);
    for (size_t i = 0; i < n; i++)
        size = fmax(size, fabs(x[i]));
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(x[i], y[i], 1e-8 * size);
    memset(right, 0, n * 8); /* no unknowns */
    memset(y, 0, n * 8);
    CHECK_OK(sup_pcg_solve(a, right, y, 1e-13, 10, work, &report, &error), error);
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(y[i], 0.0, 0.0);
    free(right), free(x), free(y), free(work);
    sup_cholesky_destroy(cholesky);
    sup_reference_destroy(reference);
    body_free(&b);
}

/* A common translation costs no energy: rows of the matrix and the couplings sum to the mass. */
TEST(matrix_rows_sum_to_mass)
{
    body b = bound_tube(16, 12, 1.0, NULL);
    const sup_system *s = &b.system;
    size_t n = (size_t)s->unknown_count;
    float *x = calloc(n + (size_t)s->subdomains.slot_count, 16);
    CHECK(x != NULL);
    for (size_t i = 0; i < n; i++) {
        double pull = 0.0;
        for (int32_t k = s->coupling_first[i]; k < s->coupling_first[i + 1]; k++)
            pull += (double)s->coupling_value[k];
        for (size_t k = 0; k < 3; k++)
            x[4 * i + k] = (float)((double)s->mass[i] - pull); /* A 1 = m - A_fb 1 */
    }
    sup_float_subdomains_solve4(NULL, &s->factor, &s->subdomains, x);
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(x[4 * i], 1.0, 2e-5);
    free(x);
    body_free(&b);
}

/* The unit of length cancels. */
TEST(system_is_independent_of_length_unit)
{
    static const double scales[3] = {0.01, 10.0, 1000.0};
    body one = bound_tube(16, 12, 1.0, NULL);
    for (int32_t k = 0; k < 3; k++) {
        body other = bound_tube(16, 12, scales[k], NULL);
        CHECK_EQ(one.system.unknown_count, other.system.unknown_count);
        for (int32_t v = 0; v < 2 * one.tissue.skin_count; v++) {
            int32_t i = one.system.node[v], j = other.system.node[v];
            if (i >= one.system.unknown_count) continue;
            double d = (double)one.system.diagonal[i];
            CHECK_NEAR((double)other.system.diagonal[j], d, 1e-4 * d);
            CHECK_NEAR(other.system.mass[j], one.system.mass[i], 1e-4 * (double)one.system.mass[i]);
        }
        CHECK_NEAR((double)other.system.weight_sum / scales[k] / scales[k], (double)one.system.weight_sum,
                   1e-4 * (double)one.system.weight_sum);
        body_free(&other);
    }
    body_free(&one);
}

TEST(stiffness_map_scales_the_tissue)
{
    body b = body_tube(16, 12, 1.0);
    float *map = malloc((size_t)b.tissue.skin_count * 4);
    CHECK(map != NULL);
    for (int32_t v = 0; v < b.tissue.skin_count; v++)
        map[v] = 3.0f;
    sup_system_def def = {0}, stiff = {.stiffness = map}, same = {.tissue_stiffness = 255.0};
    sup_error error = {0};
    CHECK_OK(body_bind(&b, NULL, &def, &error), error);
    double soft = (double)b.system.weight_sum;
    CHECK_OK(body_bind(&b, NULL, &stiff, &error), error);
    CHECK_NEAR((double)b.system.weight_sum, 3.0 * soft, 1e-4 * soft);
    double diagonal = (double)b.system.diagonal[b.system.node[5]];
    CHECK_OK(body_bind(&b, NULL, &same, &error), error);
    CHECK_NEAR((double)b.system.diagonal[b.system.node[5]], diagonal, 1e-5 * diagonal);
    map[7] = 0.0f;
    CHECK_EQ(body_bind(&b, NULL, &stiff, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "system.stiffness");
    free(map);
    body_free(&b);
}

TEST(bind_reports_error_ids)
{
    body b = body_tube(8, 6, 1.0);
    sup_error error = {0};
    sup_system_def def = {.time_step = -1.0};
    CHECK_EQ(body_bind(&b, NULL, &def, &error), SUP_ERROR_ARGUMENT);
    def = (sup_system_def){.total_mass = NAN};
    CHECK_EQ(body_bind(&b, NULL, &def, &error), SUP_ERROR_ARGUMENT);
    def = (sup_system_def){.is_static = true};
    for (int32_t v = 0; v < b.tissue.skin_count; v++)
        b.tissue.base_class[v] = SUP_BASE_FREE;
    error = (sup_error){0};
    CHECK_EQ(body_bind(&b, NULL, &def, &error), SUP_ERROR_DATA); /* nothing attaches it */
    CHECK_TEXT(error.id, "system.loose");
    def = (sup_system_def){0};
    CHECK_OK(body_bind(&b, NULL, &def, &error), error); /* momentum does */
    int32_t kept = b.tissue.tets[3];
    b.tissue.tets[3] = b.tissue.tets[2];
    error = (sup_error){0};
    CHECK_EQ(body_bind(&b, NULL, &def, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "system.split");
    b.tissue.tets[3] = kept;
    b.tissue.skin[4] = NAN;
    error = (sup_error){0};
    CHECK_EQ(body_bind(&b, NULL, &def, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "system.finite");
    body_free(&b);
}

/* Flat tetrahedra, slivers and vertices without triangles do not prevent binding. */
TEST(flat_tetrahedra_are_ignored)
{
    body b = body_tube(10, 8, 1.0);
    sup_error error = {0};
    sup_system_def def = {0};
    memcpy(b.tissue.skin + 3 * 20, b.tissue.skin + 3 * 21, 24); /* triangles without area */
    b.tissue.tet_volume[7] = 0.0;                               /* and one that the tissue dropped */
    CHECK_OK(body_bind(&b, NULL, &def, &error), error);
    void *state = aligned_alloc(64, sup_solver_state_size(&b.system, 0));
    float *anchors = malloc((size_t)b.system.anchor_count * 16), *skin = malloc((size_t)b.tissue.skin_count * 12);
    CHECK(state && anchors && skin);
    sup_solver_reset(NULL, &b.system, state, 0, NULL, NULL, 0);
    for (int32_t f = 1; f < 30; f++) {
        body_anchors(&b, f / 30.0, anchors);
        sup_solver_input input = {.anchors = anchors};
        CHECK_EQ(sup_solver_step(NULL, &b.system, state, &input, NULL), SUP_OK);
    }
    sup_solver_skin(&b.system, state, skin, 3);
    for (int32_t i = 0; i < b.tissue.skin_count * 3; i++)
        CHECK(isfinite(skin[i]) && fabsf(skin[i]) < 20.0f);
    free(state), free(anchors), free(skin);
    body_free(&b);
}

/* A damaged model is rejected or safe to step. */
TEST(damaged_models_are_rejected)
{
    sup_system_def def = {.volume = 1.0};
    body b = bound_tube(8, 6, 1.0, &def);
    sup_random random = {9};
    sup_error error = {0};
    static const char *const names[] = {"system.head",
                                        "system.factor",
                                        "system.subdomains",
                                        "system.node",
                                        "system.coupling_first",
                                        "system.clusters",
                                        "system.copy_node",
                                        "system.sum_first",
                                        "system.sum_from",
                                        "system.coupling_anchor",
                                        "system.region_slot_region",
                                        "system.blend_first",
                                        "system.blend_region_slot",
                                        "system.region_slot_first",
                                        "system.foot_bone"};
    sup_system system;
    int32_t refused = 0, trials = 0;
    for (int32_t k = 0; k < SUP_COUNT(names); k++) {
        int64_t count = sup_model_array_count(b.model, names[k]);
        int32_t *values = (int32_t *)(uintptr_t)sup_model_array(b.model, names[k], SUP_ARRAY_INT32, count);
        CHECK(values != NULL && count > 0);
        for (int32_t trial = 0; trial < 60; trial++, trials++) {
            int64_t at = (int64_t)(sup_random_unit(&random) * (double)count);
            int32_t kept = values[at];
            values[at] = trial % 3 == 0 ? -1 : trial % 3 == 1 ? 1 << 28 : INT32_MIN;
            refused += sup_system_open(b.model, "system", &system, &error) != SUP_OK;
            values[at] = kept;
        }
    }
    CHECK_MSG(refused > trials * 8 / 10, "%d of %d", (int)refused, (int)trials); /* the head's flag and unused values */
    int64_t corners = sup_model_array_count(b.model, "system.corner");
    uint16_t *corner = (uint16_t *)(uintptr_t)sup_model_array(b.model, "system.corner", SUP_ARRAY_UINT16, corners);
    CHECK(corner != NULL && corners > 0);
    for (int64_t at = 0; at < corners; at += 7) {
        uint16_t kept = corner[at];
        corner[at] = UINT16_MAX;
        CHECK_EQ(sup_system_open(b.model, "system", &system, &error), SUP_ERROR_FORMAT);
        corner[at] = kept;
    }
    CHECK_EQ(sup_system_open(b.model, "other", &system, &error), SUP_ERROR_FORMAT);
    CHECK_OK(sup_system_open(b.model, "system", &system, &error), error);
    body_free(&b);
}

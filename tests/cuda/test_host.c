/* test_host.c - host side of the device code, without a GPU: supported methods, volume regions, rows of the upsampling
 * matrix. */
#include "cuda/subdomains.h"
#include "cuda/crowd_support.h"
#include "cuda/upsample_rows.h"
#include "methods/projective/projective_view.h"
#include "projective/actor.h"

/* --- Supported methods --- */

static void check_refused(const actor *a, const char *id, const char *word)
{
    sup_method_device kind = SUP_METHOD_DEVICE_DUALQUAT;
    sup_error error = {0};
    CHECK_EQ(sup_crowd_check_support(a->model, &kind, &error), SUP_ERROR_UNSUPPORTED);
    CHECK_TEXT(error.id, id);
    CHECK_MSG(strstr(error.message, word) != NULL, "%s", error.message);
    CHECK_EQ((int)kind, SUP_METHOD_DEVICE_DUALQUAT);
}

TEST(methods_without_a_device_implementation_are_refused_by_name)
{
    actor a = actor_open(actor_scene("cylinder", 0.2), "vertices=200", 1);
    sup_model *position = NULL, *own = a.model;
    sup_error error = {0};
    CHECK_OK(sup_bind(NULL, sup_method_find("position"), a.rig, NULL, &position, &error), error);
    a.model = position;
    check_refused(&a, "crowd.method", "position");
    a.model = own;
    sup_model_destroy(position);
    actor_close(&a);
}

/* --- Volume regions --- */

/* The prisms of all subdomains contribute to the volume regions as those of the system do, by region slot and by
 * prism. */
TEST(volume_regions_of_the_subdomains_match_the_system)
{
    actor a = actor_open(actor_scene("human", 0.2), "vertices=600", 1);
    sup_projective_view view;
    sup_subdomains *k = NULL;
    sup_error error = {0};
    CHECK_OK(sup_projective_open(a.model, &view, &error), error);
    const sup_system *s = &view.system;
    CHECK_OK(sup_subdomains_create(NULL, s, SUP_SUBDOMAIN_LIMIT_SINGLE, &k, &error), error);
    double *sums = calloc((size_t)s->region_count * 3, sizeof *sums);
    for (int32_t b = 0; b < s->batch_count; b++)
        for (int32_t e = s->blend_first[b] * SUP_PRISM_LANES; e < s->blend_first[b + 1] * SUP_PRISM_LANES; e++)
            sums[3 * s->region_slot_region[s->blend_region_slot[e / SUP_PRISM_LANES]]] += (double)s->blend_weight[e];
    for (int32_t p = 0; p < k->subdomain_count; p++) {
        const sup_subdomain *part = &k->subdomains[p];
        for (int32_t i = 0; i < part->region_slot_count; i++)
            for (int32_t e = k->region_slot_begin[part->region_slot_first + i];
                 e < k->region_slot_begin[part->region_slot_first + i + 1]; e++) {
                CHECK(k->region_slot_prism[e] < part->prism_count);
                sums[3 * k->region_slot_region[part->region_slot_first + i] + 1] += (double)k->region_slot_weight[e];
            }
        for (int32_t e = part->blend_first; e < part->blend_first + part->blend_count * part->prism_stride; e++)
            sums[3 * k->region_slot_region[part->region_slot_first + k->blend_region_slot[e]] + 2] +=
                (double)k->blend_weight[e];
    }
    CHECK(k->subdomain_count > 4 && k->region_slot_count > k->subdomain_count);
    for (int32_t c = 0; c < s->region_count; c++) {
        double kept = s->region_volume[c] > 0.0f ? sums[3 * c] : 0.0;
        CHECK_NEAR(sums[3 * c + 1], kept, 1e-5 * fabs(sums[3 * c]) + 1e-12);
        CHECK_NEAR(sums[3 * c + 2], kept, 1e-5 * fabs(sums[3 * c]) + 1e-12);
        for (int32_t e = k->region_first[c]; e < k->region_first[c + 1]; e++)
            CHECK(k->region_slot_region[k->region_slots[e]] == c);
    }
    CHECK_EQ(k->region_first[s->region_count], k->region_slot_count);
    free(sums);
    sup_subdomains_destroy(k);
    actor_close(&a);
}

static sup_model *bind_method(const actor *a, const char *method)
{
    sup_model *model = NULL;
    sup_error error = {0};
    CHECK_OK(sup_bind(NULL, sup_method_find(method), a->rig, NULL, &model, &error), error);
    return model;
}

TEST(methods_with_a_device_implementation_are_accepted)
{
    actor a = actor_open(actor_scene("cylinder", 0.2), "vertices=200", 1);
    sup_method_device kind = SUP_METHOD_DEVICE_LINEAR;
    sup_error error = {0};
    CHECK_OK(sup_crowd_check_support(a.model, &kind, &error), error);
    CHECK_EQ((int)kind, SUP_METHOD_DEVICE_PROJECTIVE);
    static const char *const names[] = {"linear", "dualquat"};
    for (int32_t i = 0; i < 2; i++) {
        sup_model *model = bind_method(&a, names[i]);
        CHECK_OK(sup_crowd_check_support(model, &kind, &error), error);
        CHECK_EQ((int)kind, (int)SUP_METHOD_DEVICE_LINEAR + i);
        sup_model_destroy(model);
    }
    sup_model *other = bind_method(&a, "position");
    CHECK_EQ(sup_crowd_check_support(other, &kind, &error), SUP_ERROR_UNSUPPORTED);
    CHECK_TEXT(error.id, "crowd.method");
    CHECK(strstr(error.message, "position") != NULL);
    sup_model_destroy(other);
    actor_close(&a);
}

/* --- Rows of the upsampling matrix --- */

/* Unit normals of the coarse mesh, in double. */
static void coarse_normals(const sup_upsample *u, const float *x, double *normals)
{
    memset(normals, 0, (size_t)u->coarse_count * 3 * sizeof *normals);
    for (int32_t t = 0; t < u->coarse_triangle_count; t++) {
        const int32_t *c = u->triangles + 3 * (size_t)t;
        double e[2][3];
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < 2; i++)
                e[i][k] = (double)x[4 * c[i + 1] + k] - (double)x[4 * c[0] + k];
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++)
                normals[3 * c[i] + k] += e[0][(k + 1) % 3] * e[1][(k + 2) % 3] - e[0][(k + 2) % 3] * e[1][(k + 1) % 3];
    }
    for (int32_t v = 0; v < u->coarse_count; v++) {
        double *n = normals + 3 * (size_t)v, length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        CHECK(length > 0.0);
        for (int k = 0; k < 3; k++)
            n[k] /= length;
    }
}

/* Position and normal of a row, summed as by a thread of render_mesh.cu. */
static void add_row(const sup_upsample_row_table *r, int32_t row, const float *x, const double *normals, double to[6])
{
    bool follows = row >= r->plain_count;
    size_t own = (size_t)(follows ? row - r->plain_count : row);
    size_t count = (size_t)(follows ? r->row_count - r->plain_count : r->plain_count);
    double first = 0.0;
    memset(to, 0, 6 * sizeof *to);
    for (size_t slot = 0; slot < (size_t)r->slots; slot++) {
        size_t at = slot * (size_t)r->row_count + (size_t)row;
        size_t v = r->narrow != NULL ? r->narrow[at] : (size_t)r->wide[at];
        double w[4] = {0};
        for (size_t k = 0; k < 4; k++) {
            if (follows) w[k] = (double)r->followers[4 * (slot * count + own) + k];
            if (!follows && k % 3 == 0) w[k] = (double)r->plain[2 * (slot * count + own) + k / 3];
        }
        if (slot == 0) first = w[3];
        CHECK_MSG(w[3] <= first, "row %d: slot %d has a larger normal weight than the first", (int)row, (int)slot);
        for (size_t k = 0; k < 3; k++) {
            to[k] += w[0] * (double)x[4 * v + k] + w[1] * normals[3 * v + k];
            to[3 + k] += w[2] * (double)x[4 * v + k] + w[3] * normals[3 * v + k];
        }
    }
}

/* Clusters with 32-bit indices, as with more than 65536 coarse vertices. */
static sup_upsample_clusters widen(const sup_upsample_clusters *from, int32_t *index)
{
    sup_upsample_clusters to = *from;
    for (int32_t i = 0; i < from->entry_count; i++)
        index[i] = from->narrow_index[i];
    to.narrow_index = NULL;
    to.wide_index = index;
    return to;
}

static void check_wide(const sup_upsample *u, const sup_upsample_row_table *narrow, sup_arena *arena)
{
    sup_upsample w = *u;
    sup_upsample_row_table rows;
    sup_error error = {0};
    w.coarse_count = 65537;
    w.plain = widen(&u->plain, sup_arena_alloc(arena, (size_t)u->plain.entry_count + 1, sizeof(int32_t)));
    w.followers = widen(&u->followers, sup_arena_alloc(arena, (size_t)u->followers.entry_count + 1, sizeof(int32_t)));
    CHECK_OK(sup_upsample_row_table_create(&w, false, arena, &rows, &error), error);
    CHECK(rows.narrow == NULL && rows.slots == narrow->slots && rows.row_count == narrow->row_count);
    for (size_t i = 0; i < (size_t)rows.slots * (size_t)rows.row_count; i++)
        CHECK_EQ(rows.wide[i], narrow->narrow[i]);
}

/* A bent skin by matrix rows equals the skin by clusters. The elephant has followers. */
TEST(upsample_rows_match_the_clusters)
{
    actor a = actor_open(actor_scene("elephant", 0.2), "vertices=500 volume=0 contact=0 dynamic=0", 1);
    sup_projective_view view;
    sup_upsample_row_table rows;
    sup_error error = {0};
    CHECK_OK(sup_projective_open(a.model, &view, &error), error);
    const sup_upsample *u = &view.upsample;
    sup_context context = sup_context_resolve(&a.context);
    sup_arena arena = sup_arena_create(&context.allocator);
    CHECK_OK(sup_upsample_row_table_create(u, false, &arena, &rows, &error), error);
    CHECK(rows.plain_count > 0 && rows.row_count > rows.plain_count && rows.narrow != NULL && rows.slots <= 63);
    size_t n = (size_t)u->coarse_count, render_count = (size_t)u->vertex_count;
    float *x = calloc(n * 4, sizeof *x), *skin = calloc(render_count * 6, sizeof *skin);
    double *normals = calloc(n * 3, sizeof *normals), size = (double)view.size;
    void *scratch = aligned_alloc(64, sup_upsample_scratch(u));
    for (size_t v = 0; v < n; v++)
        for (size_t k = 0; k < 3; k++)
            x[4 * v + k] = view.start_rest[3 * v + k] +
                           (float)(0.05 * size * sin(3.0 / size * (double)view.start_rest[3 * v + (k + 1) % 3]));
    coarse_normals(u, x, normals);
    CHECK_EQ(sup_upsample_apply(&a.context, u, x, scratch,
                                &(sup_skin_out){.positions = skin, .normals = skin + 3 * render_count}),
             SUP_OK);
    size_t lost = 0;
    for (int32_t row = 0; row < rows.row_count; row++) {
        double sum[6];
        const float *p = skin + 3 * (size_t)rows.vertex[row], *q = p + 3 * render_count;
        add_row(&rows, row, x, normals, sum);
        double length = sqrt(sum[3] * sum[3] + sum[4] * sum[4] + sum[5] * sum[5]);
        lost += !(length > 0.1);
        for (size_t k = 0; k < 3; k++) {
            CHECK_NEAR(sum[k], (double)p[k], 2e-6 * size);
            if (length > 0.1) CHECK_NEAR(sum[3 + k] / length, (double)q[k], 1e-4);
        }
    }
    CHECK(lost * 100 < (size_t)rows.row_count);
    check_wide(u, &rows, &arena);
    sup_arena_destroy(&arena);
    free(x), free(skin), free(normals), free(scratch);
    actor_close(&a);
}

/* carry.c - weights of the shown skin on surface particles, and one frame of it.
 *
 * Based on: [aburumman2016thesis] section 4.1.1, mesh coupling. Deviation: displacements beyond linear blending are
 * interpolated instead of positions, from the nearest triangle of the surface instead of the nearest tet; positions by
 * barycentric coordinates of coarse tets show their facets. */
#include "methods/position/carry.h"

#include "base/simd.h"
#include "geometry/bvh.h"

enum { GRAIN = 1024 };

/* --- Bind --- */

static void *add(sup_model_builder *builder, const char *prefix, const char *name, sup_array_type type, int64_t count)
{
    char full[64];
    sup_format(full, sizeof full, "%s.%s", prefix, name);
    return sup_model_add(builder, full, type, count);
}

/* Surface particles get numbers by first use; `local` [particle_count] is their number + 1. */
static int32_t number_surface(const sup_carry_def *def, int32_t *local)
{
    int32_t count = 0;
    for (int64_t i = 0; i < 3 * (int64_t)def->triangle_count; i++)
        if (local[def->triangles[i]] == 0) local[def->triangles[i]] = ++count;
    return count;
}

static void write_surface(const sup_carry_def *def, const int32_t *local, int32_t count, int32_t *row,
                          int32_t *triangles, int32_t *first, int32_t *corner)
{
    for (int32_t v = 0; v < def->particle_count; v++)
        if (local[v] > 0) row[local[v] - 1] = def->row[v];
    for (int64_t i = 0; i < 3 * (int64_t)def->triangle_count; i++) {
        triangles[i] = local[def->triangles[i]] - 1;
        first[triangles[i] + 1]++;
    }
    for (int32_t v = 0; v < count; v++)
        first[v + 1] += first[v];
    for (int64_t i = 3 * (int64_t)def->triangle_count - 1; i >= 0; i--)
        corner[--first[triangles[i] + 1]] = (int32_t)(i / 3);
    for (int32_t v = 0; v < count; v++) /* each begins where the one before ended */
        first[v] = first[v + 1];
    first[count] = 3 * def->triangle_count;
}

typedef struct rider {
    const sup_carry_def *def;
    const sup_bvh *bvh;
    const int32_t *local;
    int32_t *index;
    float *weight;
} rider;

static void find_triangles(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const rider *r = work;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        if (!r->def->rides[v]) continue;
        sup_bvh_nearest near = sup_bvh_closest(r->bvh, sup_v3_load(r->def->vertices + 3 * (int64_t)v), INFINITY);
        if (near.triangle < 0) continue;
        double weight[3] = {1.0 - near.u - near.v, near.u, near.v};
        for (int32_t k = 0; k < 3; k++) {
            r->index[SUP_CARRY_WIDTH * (int64_t)v + k] =
                r->local[r->def->triangles[3 * (int64_t)near.triangle + k]] - 1;
            r->weight[SUP_CARRY_WIDTH * (int64_t)v + k] = (float)weight[k];
        }
    }
}

sup_result sup_carry_bind(const sup_context *context, const sup_carry_def *def, sup_model_builder *builder,
                          const char *prefix, sup_error *error)
{
    sup_arena arena = sup_arena_create(&context->allocator);
    int32_t *local = sup_arena_alloc(&arena, (size_t)def->particle_count, sizeof(int32_t));
    if (local == NULL) return sup_fail_memory(error, "the shown skin");
    int32_t count = number_surface(def, local);
    int64_t slots = (int64_t)def->vertex_count * SUP_CARRY_WIDTH, corners = 3 * (int64_t)def->triangle_count;
    int32_t *row = add(builder, prefix, "row", SUP_ARRAY_INT32, count);
    int32_t *index = add(builder, prefix, "index", SUP_ARRAY_INT32, slots);
    float *weight = add(builder, prefix, "weight", SUP_ARRAY_FLOAT, slots);
    int32_t *triangles = add(builder, prefix, "triangles", SUP_ARRAY_INT32, corners);
    int32_t *first = add(builder, prefix, "corner_first", SUP_ARRAY_INT32, (int64_t)count + 1);
    int32_t *corner = add(builder, prefix, "corner", SUP_ARRAY_INT32, corners);
    sup_result result = SUP_OK;
    if (row == NULL || index == NULL || weight == NULL || triangles == NULL || first == NULL || corner == NULL)
        result = sup_fail_memory(error, "the shown skin");
    sup_bvh bvh;
    if (result == SUP_OK)
        result = sup_bvh_create(context, def->positions, def->triangle_count, def->triangles, &bvh, error);
    if (result == SUP_OK) {
        write_surface(def, local, count, row, triangles, first, corner);
        rider work = {def, &bvh, local, index, weight};
        sup_parallel(context, def->vertex_count, GRAIN, find_triangles, &work);
        sup_bvh_free(&bvh);
    }
    sup_arena_destroy(&arena);
    return result;
}

/* --- Open --- */

static const void *get(const sup_model *model, const char *prefix, const char *name, sup_array_type type, int64_t count,
                       int64_t *found)
{
    char full[64];
    sup_format(full, sizeof full, "%s.%s", prefix, name);
    if (found != NULL) *found = sup_model_array_count(model, full);
    return sup_model_array(model, full, type, count);
}

static bool in_range(const int32_t *values, int64_t count, int32_t end)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i] < 0 || values[i] >= end) return false;
    return true;
}

sup_result sup_carry_open(const sup_model *model, const char *prefix, int32_t row_count, sup_carry *c, sup_error *error)
{
    int64_t surface = 0, corners = 0, slots = (int64_t)sup_model_vertex_count(model) * SUP_CARRY_WIDTH;
    memset(c, 0, sizeof *c);
    c->surface_row = get(model, prefix, "row", SUP_ARRAY_INT32, -1, &surface);
    c->triangles = get(model, prefix, "triangles", SUP_ARRAY_INT32, -1, &corners);
    c->index = get(model, prefix, "index", SUP_ARRAY_INT32, slots, NULL);
    c->weight = get(model, prefix, "weight", SUP_ARRAY_FLOAT, slots, NULL);
    c->corner_triangle = get(model, prefix, "corner", SUP_ARRAY_INT32, corners, NULL);
    c->corner_first = get(model, prefix, "corner_first", SUP_ARRAY_INT32, surface + 1, NULL);
    c->vertex_count = sup_model_vertex_count(model);
    c->surface_count = (int32_t)surface;
    c->triangle_count = (int32_t)(corners / 3);
    bool ok = c->surface_row != NULL && c->triangles != NULL && c->index != NULL && c->weight != NULL &&
              c->corner_triangle != NULL && c->corner_first != NULL && corners % 3 == 0 && surface > 0 &&
              surface <= row_count && in_range(c->surface_row, surface, row_count) &&
              in_range(c->triangles, corners, c->surface_count) && in_range(c->index, slots, c->surface_count) &&
              in_range(c->corner_triangle, corners, c->triangle_count) && c->corner_first[0] == 0 &&
              c->corner_first[surface] == corners;
    for (int64_t i = 0; ok && i < surface; i++)
        ok = c->corner_first[i] <= c->corner_first[i + 1];
    for (int64_t i = 0; ok && i < slots; i++)
        ok = fabsf(c->weight[i]) < 1e3f;
    return ok ? SUP_OK
              : sup_fail(error, SUP_ERROR_FORMAT, "position.carry", "",
                         "The model is damaged: how its skin rides on the flesh does not fit together. Bind it again.");
}

/* --- A frame --- */

typedef struct frame {
    const sup_carry *carry;
    const float *moved, *guide;
    float size;
    float *change; /* [surface_count*8] displacement, 0, change of the unit normal, 0 */
    float *cross;  /* [triangle_count*8] of moved and guide, twice the area long */
    const sup_skin_out *out;
} frame;

static size_t padded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

size_t sup_carry_scratch(const sup_carry *c)
{
    return padded((size_t)c->surface_count * 8 * sizeof(float)) + padded((size_t)c->triangle_count * 8 * sizeof(float));
}

static void cross_of(const float *rows, const int32_t row[3], float *to)
{
    const float *a = rows + 4 * (int64_t)row[0], *b = rows + 4 * (int64_t)row[1], *c = rows + 4 * (int64_t)row[2];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        to[i] = (b[j] - a[j]) * (c[k] - a[k]) - (b[k] - a[k]) * (c[j] - a[j]);
    }
    to[3] = 0.0f;
}

static void cross_triangles(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const frame *f = work;
    SUP_UNUSED(worker);
    for (int32_t t = begin; t < end; t++) {
        int32_t row[3];
        for (int k = 0; k < 3; k++)
            row[k] = f->carry->surface_row[f->carry->triangles[3 * (int64_t)t + k]];
        cross_of(f->moved, row, f->cross + 8 * (int64_t)t);
        cross_of(f->guide, row, f->cross + 8 * (int64_t)t + 4);
    }
}

static sup_four unit(sup_four v)
{
    float square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    return square > 1e-30f && square < 1e30f ? v * sup_four_splat(1.0f / sqrtf(square)) : sup_four_splat(0.0f);
}

static void change_particles(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const frame *f = work;
    const sup_carry *c = f->carry;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        sup_four moved = sup_four_splat(0.0f), guide = moved;
        for (int32_t i = c->corner_first[v]; i < c->corner_first[v + 1]; i++) {
            const float *cross = f->cross + 8 * (int64_t)c->corner_triangle[i];
            moved += sup_four_load(cross);
            guide += sup_four_load(cross + 4);
        }
        const int64_t row = c->surface_row[v];
        sup_four by = (sup_four_load(f->moved + 4 * row) - sup_four_load(f->guide + 4 * row)) * sup_four_splat(f->size);
        sup_four turn = unit(moved) - unit(guide);
        memcpy(f->change + 8 * (int64_t)v, &by, sizeof by);
        memcpy(f->change + 8 * (int64_t)v + 4, &turn, sizeof turn);
    }
}

static void add_position(float *to, sup_four by)
{
    for (int i = 0; i < 3; i++)
        to[i] += by[i];
}

/* The normal turned by as much as the flesh's; it keeps its own where the two cancel. */
static void add_normal(float *to, sup_four turn)
{
    float n[3] = {to[0] + turn[0], to[1] + turn[1], to[2] + turn[2]};
    float square = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
    if (!(square > 1e-6f && square < 1e30f)) return;
    for (int i = 0; i < 3; i++)
        to[i] = n[i] / sqrtf(square);
}

/* The tangent, back in the plane of the new normal. */
static void turn_tangent(float *to, const float before[3], sup_four turn)
{
    float n[3] = {before[0], before[1], before[2]}, along = 0.0f, square = 0.0f, t[3];
    add_normal(n, turn);
    for (int i = 0; i < 3; i++)
        along += to[i] * n[i];
    for (int i = 0; i < 3; i++) {
        t[i] = to[i] - along * n[i];
        square += t[i] * t[i];
    }
    if (!(square > 1e-6f)) return;
    for (int i = 0; i < 3; i++)
        to[i] = t[i] / sqrtf(square);
}

static void carry_vertices(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const frame *f = work;
    const sup_skin_out *out = f->out;
    SUP_UNUSED(worker);
    for (int64_t v = begin; v < end; v++) {
        const int32_t *index = f->carry->index + SUP_CARRY_WIDTH * v;
        const float *weight = f->carry->weight + SUP_CARRY_WIDTH * v;
        sup_four by = sup_four_splat(0.0f), turn = by;
        for (int k = 0; k < SUP_CARRY_WIDTH; k++) {
            const float *change = f->change + 8 * (int64_t)index[k];
            by = sup_four_fma(sup_four_splat(weight[k]), sup_four_load(change), by);
            turn = sup_four_fma(sup_four_splat(weight[k]), sup_four_load(change + 4), turn);
        }
        float *normal =
            out->normals != NULL ? (float *)(void *)((char *)out->normals + v * (int64_t)out->normal_stride) : NULL;
        if (out->positions != NULL)
            add_position((float *)(void *)((char *)out->positions + v * (int64_t)out->position_stride), by);
        if (out->tangents != NULL && normal != NULL)
            turn_tangent((float *)(void *)((char *)out->tangents + v * (int64_t)out->tangent_stride), normal, turn);
        if (normal != NULL) add_normal(normal, turn);
    }
}

void sup_carry_apply(const sup_context *context, const sup_carry *carry, const float *moved, const float *guide,
                     float size, void *scratch, const sup_skin_out *out)
{
    frame f = {carry, moved, guide, size, scratch, NULL, out};
    f.cross = (float *)(void *)((char *)scratch + padded((size_t)carry->surface_count * 8 * sizeof(float)));
    sup_parallel(context, carry->triangle_count, GRAIN, cross_triangles, &f);
    sup_parallel(context, carry->surface_count, GRAIN, change_particles, &f);
    sup_parallel(context, carry->vertex_count, GRAIN, carry_vertices, &f);
}

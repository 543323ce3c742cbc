/* position_embed.c - one frame of the shown skin: see position_embed.h. */
#include "methods/position/position_embed.h"

#include "base/simd.h"

enum { GRAIN = 512, MAP = 16 /* floats of a map: where, then the columns of F */ };

static const void *get(const sup_model *model, const char *prefix, const char *name, sup_array_type type, int64_t count,
                       int64_t *found)
{
    char full[64];
    sup_format(full, sizeof full, "%s.%s", prefix, name);
    if (found != NULL) *found = sup_model_array_count(model, full);
    return sup_model_array(model, full, type, count);
}

static bool in_range(const int32_t *values, int64_t count, int64_t end)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i] < 0 || values[i] >= end) return false;
    return true;
}

static bool usable(const float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!(fabsf(values[i]) < 1e12f)) return false;
    return true;
}

static bool rings_fit(const sup_carry *c, int32_t row_count)
{
    bool ok = c->ring_first[0] == 0 && c->ring_first[c->surface_count] == c->ring_count &&
              in_range(c->surface_row, c->surface_count, row_count) &&
              in_range(c->ring_row, c->ring_count, row_count) && usable(c->ring_weight, 4 * (int64_t)c->ring_count);
    for (int32_t i = 0; ok && i < c->surface_count; i++)
        ok = c->ring_first[i] <= c->ring_first[i + 1];
    return ok;
}

sup_result sup_carry_open(const sup_model *model, const char *prefix, int32_t row_count, sup_carry *c, sup_error *error)
{
    int64_t surface = 0, ring = 0, tangents = 0, vertices = sup_model_vertex_count(model);
    memset(c, 0, sizeof *c);
    c->surface_row = get(model, prefix, "row", SUP_ARRAY_INT32, -1, &surface);
    c->ring_row = get(model, prefix, "ring_row", SUP_ARRAY_INT32, -1, &ring);
    c->ring_first = get(model, prefix, "ring_first", SUP_ARRAY_INT32, surface + 1, NULL);
    c->ring_weight = get(model, prefix, "ring_weight", SUP_ARRAY_FLOAT, 4 * ring, NULL);
    c->corner = get(model, prefix, "corner", SUP_ARRAY_INT32, SUP_CARRY_CORNERS * vertices, NULL);
    c->place = get(model, prefix, "place", SUP_ARRAY_FLOAT, SUP_CARRY_FLOATS * vertices, NULL);
    c->fine = get(model, prefix, "fine", SUP_ARRAY_FLOAT, vertices, NULL);
    c->normals = get(model, prefix, "normals", SUP_ARRAY_FLOAT, 3 * vertices, NULL);
    c->tangents = get(model, prefix, "tangents", SUP_ARRAY_FLOAT, -1, &tangents);
    c->vertex_count = (int32_t)vertices;
    c->surface_count = (int32_t)surface;
    c->ring_count = (int32_t)ring;
    bool ok = c->surface_row != NULL && c->ring_row != NULL && c->ring_first != NULL && c->ring_weight != NULL &&
              c->corner != NULL && c->place != NULL && c->fine != NULL && c->normals != NULL && c->tangents != NULL &&
              surface > 0 && surface <= row_count && ring <= INT32_MAX && (tangents == 0 || tangents == 3 * vertices) &&
              rings_fit(c, row_count) && in_range(c->corner, SUP_CARRY_CORNERS * vertices, surface) &&
              usable(c->place, SUP_CARRY_FLOATS * vertices) && usable(c->fine, vertices) &&
              usable(c->normals, 3 * vertices) && usable(c->tangents, tangents);
    if (!ok)
        return sup_fail(error, SUP_ERROR_FORMAT, "position.carry", "",
                        "The model is damaged: how its skin rides on the flesh does not fit together. Bind it again.");
    if (tangents == 0) c->tangents = NULL;
    for (int64_t v = 0; v < vertices; v++)
        c->any_fine = c->any_fine || c->fine[v] > 0.0f;
    return SUP_OK;
}

/* --- A frame --- */

typedef struct frame {
    const sup_carry *carry;
    const float *rows; /* whose maps are being made */
    float *to;
    const float *moved, *guide; /* [surface_count*MAP] maps */
    sup_carry_space space;
    const sup_skin_out *out;
} frame;

static size_t maps_size(const sup_carry *c)
{
    return (size_t)c->surface_count * MAP * sizeof(float);
}

size_t sup_carry_scratch(const sup_carry *c)
{
    return maps_size(c) * (c->any_fine ? 2 : 1);
}

static void make_maps(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const frame *f = work;
    const sup_carry *c = f->carry;
    SUP_UNUSED(worker);
    for (int32_t s = begin; s < end; s++) {
        sup_four x = sup_four_load(f->rows + 4 * (int64_t)c->surface_row[s]), map[4];
        map[0] = x;
        map[1] = map[2] = map[3] = sup_four_splat(0.0f);
        for (int32_t i = c->ring_first[s]; i < c->ring_first[s + 1]; i++) {
            sup_four e = sup_four_load(f->rows + 4 * (int64_t)c->ring_row[i]) - x;
            const float *w = c->ring_weight + 4 * (int64_t)i;
            for (int k = 0; k < 3; k++)
                map[1 + k] = sup_four_fma(sup_four_splat(w[k]), e, map[1 + k]);
        }
        memcpy(f->to + MAP * (int64_t)s, map, sizeof map);
    }
}

/* Where the vertex's corners say that it is, and their mean F. A corner's own F and the mean count by half each: what
 * the first overshoots in a bend, the second falls short of, and quadratic motions come out exactly. */
static sup_four say(const sup_carry *c, int64_t v, const float *maps, sup_four gradient[3])
{
    const sup_four half = sup_four_splat(0.5f);
    sup_four sum = sup_four_splat(0.0f), away = sum;
    gradient[0] = gradient[1] = gradient[2] = sum;
    for (int k = 0; k < SUP_CARRY_CORNERS; k++) {
        const float *map = maps + MAP * (int64_t)c->corner[SUP_CARRY_CORNERS * v + k];
        const float *place = c->place + SUP_CARRY_FLOATS * v + 4 * k;
        sup_four w = sup_four_splat(place[3]), p = sup_four_load(map);
        for (int a = 0; a < 3; a++) {
            sup_four column = sup_four_load(map + 4 + 4 * a);
            p = sup_four_fma(sup_four_splat(0.5f * place[a]), column, p);
            gradient[a] = sup_four_fma(w, column, gradient[a]);
        }
        sum = sup_four_fma(w, p, sum);
        away = sup_four_fma(w, sup_four_load(place), away);
    }
    for (int a = 0; a < 3; a++)
        sum = sup_four_fma(half * sup_four_splat(away[a]), gradient[a], sum);
    return sum;
}

static sup_four cross(sup_four a, sup_four b)
{
    return (sup_four){a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0], 0.0f};
}

/* Unit vector to `to`, mixed with the one there by `keep`; stays as it is where there is no direction. */
static void put_unit(float *to, sup_four v, float keep)
{
    float length = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]), n[3], square = 0.0f;
    if (!(length > 1e-12f && length < 1e12f)) return;
    for (int i = 0; i < 3; i++) {
        n[i] = keep * to[i] + (1.0f - keep) * v[i] / length;
        square += n[i] * n[i];
    }
    if (!(square > 1e-6f)) return;
    for (int i = 0; i < 3; i++)
        to[i] = n[i] / sqrtf(square);
}

static sup_four by_columns(const sup_four m[3], const float v[3])
{
    return sup_four_fma(sup_four_splat(v[2]), m[2],
                        sup_four_fma(sup_four_splat(v[1]), m[1], sup_four_splat(v[0]) * m[0]));
}

static void put_position(const frame *f, int64_t v, sup_four said)
{
    float *to = (float *)(void *)((char *)f->out->positions + (size_t)v * f->out->position_stride);
    float fine = f->carry->fine[v];
    double own[3];
    for (int i = 0; i < 3; i++)
        own[i] = f->space.origin[i] + (double)f->space.size * (double)said[i];
    if (fine > 0.0f) {
        sup_four unused[3], guide = say(f->carry, v, f->guide, unused);
        for (int i = 0; i < 3; i++)
            own[i] += (double)fine * ((double)to[i] - f->space.origin[i] - (double)f->space.size * (double)guide[i]);
    }
    for (int i = 0; i < 3; i++)
        to[i] = (float)own[i];
}

static void carry_vertices(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const frame *f = work;
    const sup_carry *c = f->carry;
    SUP_UNUSED(worker);
    for (int64_t v = begin; v < end; v++) {
        const float *place = c->place + SUP_CARRY_FLOATS * v;
        if (!(place[3] + place[7] + place[11] > 0.0f)) continue;
        sup_four g[3], said = say(c, v, f->moved, g);
        if (f->out->positions != NULL) put_position(f, v, said);
        const sup_four cofactor[3] = {cross(g[1], g[2]), cross(g[2], g[0]), cross(g[0], g[1])};
        sup_four normal = by_columns(cofactor, c->normals + 3 * v);
        if (f->out->normals != NULL)
            put_unit((float *)(void *)((char *)f->out->normals + (size_t)v * f->out->normal_stride), normal,
                     c->fine[v]);
        if (f->out->tangents == NULL || c->tangents == NULL) continue;
        sup_four t = by_columns(g, c->tangents + 3 * v); /* in the plane of the normal, as at rest */
        put_unit((float *)(void *)((char *)f->out->tangents + (size_t)v * f->out->tangent_stride), t, 0.0f);
    }
}

void sup_carry_apply(const sup_context *context, const sup_carry *carry, const float *moved, const float *guide,
                     const sup_carry_space *space, void *scratch, const sup_skin_out *out)
{
    float *maps[2] = {scratch, (float *)(void *)((char *)scratch + maps_size(carry))};
    frame f = {carry, moved, maps[0], maps[0], maps[1], *space, out};
    sup_parallel(context, carry->surface_count, GRAIN, make_maps, &f);
    if (carry->any_fine) {
        f.rows = guide;
        f.to = maps[1];
        sup_parallel(context, carry->surface_count, GRAIN, make_maps, &f);
    }
    sup_parallel(context, carry->vertex_count, GRAIN, carry_vertices, &f);
}

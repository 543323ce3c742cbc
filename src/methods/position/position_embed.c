/* position_embed.c - one frame of the render mesh; see position_embed.h. */
#include "methods/position/position_embed.h"

#include "base/simd.h"

enum { GRAIN = 512, MAP = 16 /* floats per map: position, then the columns of F */ };

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

static bool rings_are_valid(const sup_position_embed *c, int32_t slot_count)
{
    bool ok = c->ring_first[0] == 0 && c->ring_first[c->surface_count] == c->ring_count &&
              in_range(c->surface_slot, c->surface_count, slot_count) &&
              in_range(c->ring_slot, c->ring_count, slot_count) && usable(c->ring_weight, 4 * (int64_t)c->ring_count);
    for (int32_t i = 0; ok && i < c->surface_count; i++)
        ok = c->ring_first[i] <= c->ring_first[i + 1];
    return ok;
}

sup_result sup_position_embed_open(const sup_model *model, const char *prefix, int32_t slot_count,
                                   sup_position_embed *c, sup_error *error)
{
    int64_t surface = 0, ring = 0, tangents = 0, vertices = sup_model_vertex_count(model);
    memset(c, 0, sizeof *c);
    c->surface_slot = get(model, prefix, "slot", SUP_ARRAY_INT32, -1, &surface);
    c->ring_slot = get(model, prefix, "ring_slot", SUP_ARRAY_INT32, -1, &ring);
    c->ring_first = get(model, prefix, "ring_first", SUP_ARRAY_INT32, surface + 1, NULL);
    c->ring_weight = get(model, prefix, "ring_weight", SUP_ARRAY_FLOAT, 4 * ring, NULL);
    c->corner = get(model, prefix, "corner", SUP_ARRAY_INT32, SUP_POSITION_EMBED_CORNERS * vertices, NULL);
    c->offset = get(model, prefix, "offset", SUP_ARRAY_FLOAT, SUP_POSITION_EMBED_FLOATS * vertices, NULL);
    c->fine = get(model, prefix, "fine", SUP_ARRAY_FLOAT, vertices, NULL);
    c->normals = get(model, prefix, "normals", SUP_ARRAY_FLOAT, 3 * vertices, NULL);
    c->tangents = get(model, prefix, "tangents", SUP_ARRAY_FLOAT, -1, &tangents);
    c->vertex_count = (int32_t)vertices;
    c->surface_count = (int32_t)surface;
    c->ring_count = (int32_t)ring;
    bool ok = c->surface_slot != NULL && c->ring_slot != NULL && c->ring_first != NULL && c->ring_weight != NULL &&
              c->corner != NULL && c->offset != NULL && c->fine != NULL && c->normals != NULL && c->tangents != NULL &&
              surface > 0 && surface <= slot_count && ring <= INT32_MAX &&
              (tangents == 0 || tangents == 3 * vertices) && rings_are_valid(c, slot_count) &&
              in_range(c->corner, SUP_POSITION_EMBED_CORNERS * vertices, surface) &&
              usable(c->offset, SUP_POSITION_EMBED_FLOATS * vertices) && usable(c->fine, vertices) &&
              usable(c->normals, 3 * vertices) && usable(c->tangents, tangents);
    if (!ok)
        return sup_fail(error, SUP_ERROR_FORMAT, "position.embed", "",
                        "The model is damaged: the embedding of its render mesh is inconsistent. Bind it again.");
    if (tangents == 0) c->tangents = NULL;
    for (int64_t v = 0; v < vertices; v++)
        c->any_fine = c->any_fine || c->fine[v] > 0.0f;
    return SUP_OK;
}

/* --- A frame --- */

typedef struct frame {
    const sup_position_embed *embed;
    const float *positions; /* input positions */
    float *to;
    const float *moved, *guide; /* [surface_count*MAP] maps of the particles and of linear blending */
    sup_position_embed_space space;
    const sup_skin_out *out;
} frame;

static size_t maps_size(const sup_position_embed *c)
{
    return (size_t)c->surface_count * MAP * sizeof(float);
}

size_t sup_position_embed_scratch(const sup_position_embed *c)
{
    return maps_size(c) * (c->any_fine ? 2 : 1);
}

static void make_maps(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const frame *f = work;
    const sup_position_embed *c = f->embed;
    SUP_UNUSED(worker);
    for (int32_t s = begin; s < end; s++) {
        sup_four x = sup_four_load(f->positions + 4 * (int64_t)c->surface_slot[s]), map[4];
        map[0] = x;
        map[1] = map[2] = map[3] = sup_four_splat(0.0f);
        for (int32_t i = c->ring_first[s]; i < c->ring_first[s + 1]; i++) {
            sup_four e = sup_four_load(f->positions + 4 * (int64_t)c->ring_slot[i]) - x;
            const float *w = c->ring_weight + 4 * (int64_t)i;
            for (int k = 0; k < 3; k++)
                map[1 + k] = sup_four_fma(sup_four_splat(w[k]), e, map[1 + k]);
        }
        memcpy(f->to + MAP * (int64_t)s, map, sizeof map);
    }
}

/* Position of the vertex from the maps of its corners, and their mean F. The F of a corner and the mean have weight 1/2
 * each: in a bend one overshoots and the other undershoots, so that quadratic motions are exact. */
static sup_four evaluate(const sup_position_embed *c, int64_t v, const float *maps, sup_four gradient[3])
{
    const sup_four half = sup_four_splat(0.5f);
    sup_four sum = sup_four_splat(0.0f), away = sum;
    gradient[0] = gradient[1] = gradient[2] = sum;
    for (int k = 0; k < SUP_POSITION_EMBED_CORNERS; k++) {
        const float *map = maps + MAP * (int64_t)c->corner[SUP_POSITION_EMBED_CORNERS * v + k];
        const float *offset = c->offset + SUP_POSITION_EMBED_FLOATS * v + 4 * k;
        sup_four w = sup_four_splat(offset[3]), p = sup_four_load(map);
        for (int a = 0; a < 3; a++) {
            sup_four column = sup_four_load(map + 4 + 4 * a);
            p = sup_four_fma(sup_four_splat(0.5f * offset[a]), column, p);
            gradient[a] = sup_four_fma(w, column, gradient[a]);
        }
        sum = sup_four_fma(w, p, sum);
        away = sup_four_fma(w, sup_four_load(offset), away);
    }
    for (int a = 0; a < 3; a++)
        sum = sup_four_fma(half * sup_four_splat(away[a]), gradient[a], sum);
    return sum;
}

static sup_four cross(sup_four a, sup_four b)
{
    return (sup_four){a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0], 0.0f};
}

/* Stores the unit vector of v, blended with the stored one by `keep`; does nothing when it has no direction. */
static void store_unit(float *to, sup_four v, float keep)
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

static sup_four multiply_columns(const sup_four m[3], const float v[3])
{
    return sup_four_fma(sup_four_splat(v[2]), m[2],
                        sup_four_fma(sup_four_splat(v[1]), m[1], sup_four_splat(v[0]) * m[0]));
}

static void store_position(const frame *f, int64_t v, sup_four position)
{
    float *to = (float *)(void *)((char *)f->out->positions + (size_t)v * f->out->position_stride);
    float fine = f->embed->fine[v];
    double sum[3];
    for (int i = 0; i < 3; i++)
        sum[i] = f->space.origin[i] + (double)f->space.size * (double)position[i];
    if (fine > 0.0f) {
        sup_four unused[3], guide = evaluate(f->embed, v, f->guide, unused);
        for (int i = 0; i < 3; i++)
            sum[i] += (double)fine * ((double)to[i] - f->space.origin[i] - (double)f->space.size * (double)guide[i]);
    }
    for (int i = 0; i < 3; i++)
        to[i] = (float)sum[i];
}

static void embed_vertices(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const frame *f = work;
    const sup_position_embed *c = f->embed;
    SUP_UNUSED(worker);
    for (int64_t v = begin; v < end; v++) {
        const float *offset = c->offset + SUP_POSITION_EMBED_FLOATS * v;
        if (!(offset[3] + offset[7] + offset[11] > 0.0f)) continue;
        sup_four g[3], position = evaluate(c, v, f->moved, g);
        if (f->out->positions != NULL) store_position(f, v, position);
        const sup_four cofactor[3] = {cross(g[1], g[2]), cross(g[2], g[0]), cross(g[0], g[1])};
        sup_four normal = multiply_columns(cofactor, c->normals + 3 * v);
        if (f->out->normals != NULL)
            store_unit((float *)(void *)((char *)f->out->normals + (size_t)v * f->out->normal_stride), normal,
                       c->fine[v]);
        if (f->out->tangents == NULL || c->tangents == NULL) continue;
        sup_four t = multiply_columns(g, c->tangents + 3 * v); /* perpendicular to the normal, as at rest */
        store_unit((float *)(void *)((char *)f->out->tangents + (size_t)v * f->out->tangent_stride), t, 0.0f);
    }
}

void sup_position_embed_apply(const sup_context *context, const sup_position_embed *embed, const float *moved,
                              const float *guide, const sup_position_embed_space *space, void *scratch,
                              const sup_skin_out *out)
{
    float *maps[2] = {scratch, (float *)(void *)((char *)scratch + maps_size(embed))};
    frame f = {embed, moved, maps[0], maps[0], maps[1], *space, out};
    sup_parallel(context, embed->surface_count, GRAIN, make_maps, &f);
    if (embed->any_fine) {
        f.positions = guide;
        f.to = maps[1];
        sup_parallel(context, embed->surface_count, GRAIN, make_maps, &f);
    }
    sup_parallel(context, embed->vertex_count, GRAIN, embed_vertices, &f);
}

/* position_embed_bind.c - neighbours of surface particles, and the embedding of render vertices.
 *
 * Based on: [aburumman2016thesis] section 4.1.1, mesh coupling. Difference: blends local maps of surface particles
 * (position_embed.h) instead of using barycentric coordinates in one tet, which would show the facets of the tets. */
#include "math/affine.h"
#include "methods/position/position_embed.h"
#include "methods/position/position.h"

enum { GRAIN = 256 };
/* Common weight above which particles move like a vertex, and below which they do not: a tooth that reaches into the
 * other jaw then moves by linear blending plus the deviation of the tissue there. */
static const double SIMILAR = 0.5, DISSIMILAR = 0.2;
/* Distances from the surface of the tissue, in cells of the lattice (`reach`), between which the share of the gradient
 * in the deviation falls from 1 to 0. */
static const double NEAR = 1.0, FAR = 2.0;

typedef struct binder {
    const sup_context *context;
    const sup_position_embed_def *def;
    sup_arena arena;
    sup_bvh bvh;
    int32_t surface_count;
    int32_t *local;      /* [particle_count] index on the surface + 1, 0 inside */
    int32_t *ring_first; /* [surface_count+1] */
    int32_t *ring;       /* [ring_first[surface_count]] particles */
    int32_t *corner;     /* arrays of the model */
    float *offset;
    float *fine;
} binder;

static sup_vec3d at(const binder *b, int32_t particle)
{
    return sup_v3_scale(sup_v3_load(b->def->positions + 3 * (int64_t)particle), 1.0 / (double)b->def->size);
}

static void *add(sup_model_builder *builder, const char *prefix, const char *name, sup_array_type type, int64_t count)
{
    char full[64];
    sup_format(full, sizeof full, "%s.%s", prefix, name);
    return sup_model_add(builder, full, type, count);
}

/* Neighbours of surface particles along edges of tets, each once, in the order of the tets. */
static bool build_rings(binder *b)
{
    const sup_position_embed_def *d = b->def;
    int32_t *capacity = sup_arena_alloc(&b->arena, (size_t)b->surface_count + 1, sizeof(int32_t));
    if (capacity == NULL) return false;
    for (int64_t i = 0; i < 4 * (int64_t)d->tet_count; i++)
        if (b->local[d->tets[i]] > 0) capacity[b->local[d->tets[i]]] += 3;
    for (int32_t s = 0; s < b->surface_count; s++)
        capacity[s + 1] += capacity[s];
    int32_t *all = sup_arena_alloc(&b->arena, (size_t)capacity[b->surface_count], sizeof(int32_t));
    int32_t *used = sup_arena_alloc(&b->arena, (size_t)b->surface_count, sizeof(int32_t));
    b->ring_first = sup_arena_alloc(&b->arena, (size_t)b->surface_count + 1, sizeof(int32_t));
    if (all == NULL || used == NULL || b->ring_first == NULL) return false;
    for (int64_t i = 0; i < 16 * (int64_t)d->tet_count; i++) {
        const int32_t *tet = d->tets + 4 * (i / 16);
        int32_t from = tet[i % 16 / 4], to = tet[i % 4], s = b->local[from] - 1, k = 0;
        if (from == to || s < 0) continue;
        while (k < used[s] && all[capacity[s] + k] != to)
            k++;
        if (k == used[s]) all[capacity[s] + used[s]++] = to;
    }
    for (int32_t s = 0; s < b->surface_count; s++) { /* compact */
        memmove(all + b->ring_first[s], all + capacity[s], (size_t)used[s] * sizeof *all);
        b->ring_first[s + 1] = b->ring_first[s] + used[s];
    }
    b->ring = all;
    return true;
}

/* Inverse of a symmetric matrix; false when singular. */
static bool invert(const double a[9], double inverse[9])
{
    sup_affine m = {{a[0], a[1], a[2], 0, a[3], a[4], a[5], 0, a[6], a[7], a[8], 0}}, r;
    if (!sup_affine_inverse(m, &r)) return false;
    for (int i = 0; i < 9; i++)
        inverse[i] = r.m[4 * (i / 3) + i % 3];
    return true;
}

/* Weights of least squares: sum |F e - e'|^2 / |e|^2 over the edges e of the particle. */
static void write_ring(const binder *b, int32_t particle, int32_t s, int32_t *ring_slot, float *ring_weight)
{
    double a[9] = {0}, inverse[9];
    for (int32_t i = b->ring_first[s]; i < b->ring_first[s + 1]; i++) {
        sup_vec3d e = sup_v3_sub(at(b, b->ring[i]), at(b, particle));
        const double v[3] = {e.x, e.y, e.z}, w = 1.0 / fmax(sup_v3_dot(e, e), 1e-30);
        for (int k = 0; k < 9; k++)
            a[k] += w * v[k / 3] * v[k % 3];
    }
    bool invertible = invert(a, inverse);
    for (int32_t i = b->ring_first[s]; i < b->ring_first[s + 1]; i++) {
        sup_vec3d e = sup_v3_sub(at(b, b->ring[i]), at(b, particle));
        const double v[3] = {e.x, e.y, e.z}, w = 1.0 / fmax(sup_v3_dot(e, e), 1e-30);
        ring_slot[i] = b->def->slot[b->ring[i]];
        for (int k = 0; invertible && k < 3; k++)
            ring_weight[4 * (int64_t)i + k] =
                (float)(w * (inverse[3 * k] * v[0] + inverse[3 * k + 1] * v[1] + inverse[3 * k + 2] * v[2]));
    }
}

/* A render vertex as argument of a query. */
typedef struct candidate {
    const sup_position_embed_def *def;
    int32_t vertex;
} candidate;

/* Weight in [0, 1] that a vertex has in common with the corners of a triangle. */
static double common_weight(const candidate *s, int32_t triangle)
{
    const sup_position_embed_def *d = s->def;
    const sup_rig *rig = d->rig;
    double sum = 0.0;
    for (int32_t i = rig->influence_first[s->vertex]; i < rig->influence_first[s->vertex + 1]; i++) {
        double weight = 0.0;
        for (int64_t k = 0; k < 3 * SUP_POSITION_INFLUENCES; k++) {
            int64_t at =
                (int64_t)d->triangles[3 * (int64_t)triangle + k / SUP_POSITION_INFLUENCES] * SUP_POSITION_INFLUENCES +
                k % SUP_POSITION_INFLUENCES;
            if (d->joint[at] == rig->influence_joint[i]) weight += (double)d->weight[at] / 3.0;
        }
        sum += fmin(weight, (double)rig->influence_weight[i]);
    }
    return sum;
}

static bool moves_similarly(void *user, int32_t triangle)
{
    return common_weight(user, triangle) >= SIMILAR;
}

/* The nearest triangle with similar weights: a lip or tooth is not embedded in the other jaw, even if that is
 * nearer. */
static sup_bvh_nearest find_triangle(const binder *b, int32_t v)
{
    candidate s = {b->def, v};
    sup_vec3d p = sup_v3_load(b->def->vertices + 3 * (int64_t)v);
    sup_bvh_nearest near = sup_bvh_closest(&b->bvh, p, INFINITY);
    if (near.triangle < 0 || moves_similarly(&s, near.triangle)) return near;
    sup_bvh_nearest similar = sup_bvh_closest_of(&b->bvh, p, near.distance + b->def->reach, moves_similarly, &s);
    return similar.triangle >= 0 ? similar : near;
}

static double gradient_share(const sup_position_embed_def *d, double distance)
{
    double t = fmin(fmax((distance / d->reach - NEAR) / (FAR - NEAR), 0.0), 1.0);
    return 1.0 - t * t * (3.0 - 2.0 * t);
}

static void bind_vertices(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const binder *b = work;
    const sup_position_embed_def *d = b->def;
    SUP_UNUSED(worker);
    for (int64_t v = begin; v < end; v++) {
        if (!d->follows[v]) continue;
        const int32_t source = d->anchor[v] >= 0 ? d->anchor[v] : (int32_t)v;
        sup_bvh_nearest near = find_triangle(b, source);
        if (near.triangle < 0) continue;
        double weight[3] = {1.0 - near.u - near.v, near.u, near.v}, sum = 0.0;
        for (int k = 0; k < 3; k++) {
            weight[k] = fmin(fmax(weight[k], 0.0), 1.0);
            sum += weight[k];
        }
        double common = common_weight(&(candidate){d, source}, near.triangle);
        b->fine[v] = fmaxf(b->fine[v], (float)fmin(fmax((SIMILAR - common) / (SIMILAR - DISSIMILAR), 0.0), 1.0));
        sup_vec3d p = sup_v3_scale(sup_v3_load(d->vertices + 3 * v), 1.0 / (double)d->size);
        double share = d->anchor[v] >= 0 ? 0.0 : gradient_share(d, near.distance);
        b->fine[v] = fmaxf(b->fine[v], (float)(1.0 - share));
        for (int k = 0; k < 3; k++) {
            int32_t particle = d->triangles[3 * (int64_t)near.triangle + k];
            float *to = b->offset + SUP_POSITION_EMBED_FLOATS * v + 4 * k;
            b->corner[SUP_POSITION_EMBED_CORNERS * v + k] = b->local[particle] - 1;
            sup_v3_store(to, sup_v3_scale(sup_v3_sub(p, at(b, particle)), share));
            to[3] = (float)(weight[k] / sum);
        }
    }
}

static sup_result write_model(binder *b, sup_model_builder *builder, const char *prefix, sup_error *error)
{
    const sup_position_embed_def *d = b->def;
    int64_t vertices = d->vertex_count, ring = b->ring_first[b->surface_count];
    int32_t *slot = add(builder, prefix, "slot", SUP_ARRAY_INT32, b->surface_count);
    int32_t *first = add(builder, prefix, "ring_first", SUP_ARRAY_INT32, (int64_t)b->surface_count + 1);
    int32_t *ring_slot = add(builder, prefix, "ring_slot", SUP_ARRAY_INT32, ring);
    float *ring_weight = add(builder, prefix, "ring_weight", SUP_ARRAY_FLOAT, 4 * ring);
    float *normals = add(builder, prefix, "normals", SUP_ARRAY_FLOAT, 3 * vertices);
    float *tangents = add(builder, prefix, "tangents", SUP_ARRAY_FLOAT, d->tangents != NULL ? 3 * vertices : 0);
    b->fine = add(builder, prefix, "fine", SUP_ARRAY_FLOAT, vertices);
    b->corner = add(builder, prefix, "corner", SUP_ARRAY_INT32, SUP_POSITION_EMBED_CORNERS * vertices);
    b->offset = add(builder, prefix, "offset", SUP_ARRAY_FLOAT, SUP_POSITION_EMBED_FLOATS * vertices);
    if (slot == NULL || first == NULL || ring_slot == NULL || ring_weight == NULL || b->fine == NULL ||
        normals == NULL || tangents == NULL || b->corner == NULL || b->offset == NULL)
        return sup_fail_memory(error, "the render mesh");
    memcpy(first, b->ring_first, ((size_t)b->surface_count + 1) * sizeof *first);
    memcpy(b->fine, d->fine, (size_t)vertices * sizeof *b->fine);
    memcpy(normals, d->normals, 3 * (size_t)vertices * sizeof *normals);
    for (int64_t v = 0; d->tangents != NULL && v < vertices; v++)
        memcpy(tangents + 3 * v, d->tangents + 4 * v, 3 * sizeof *tangents);
    for (int32_t v = 0; v < d->particle_count; v++) {
        if (b->local[v] == 0) continue;
        slot[b->local[v] - 1] = d->slot[v];
        write_ring(b, v, b->local[v] - 1, ring_slot, ring_weight);
    }
    sup_parallel(b->context, d->vertex_count, GRAIN, bind_vertices, b);
    return SUP_OK;
}

sup_result sup_position_embed_bind(const sup_context *context, const sup_position_embed_def *def,
                                   sup_model_builder *builder, const char *prefix, sup_error *error)
{
    binder b = {.context = context, .def = def, .arena = sup_arena_create(&context->allocator)};
    b.local = sup_arena_alloc(&b.arena, (size_t)def->particle_count, sizeof(int32_t));
    sup_result result = b.local != NULL ? SUP_OK : sup_fail_memory(error, "the render mesh");
    for (int64_t i = 0; result == SUP_OK && i < 3 * (int64_t)def->triangle_count; i++)
        if (b.local[def->triangles[i]] == 0) b.local[def->triangles[i]] = ++b.surface_count;
    if (result == SUP_OK && !build_rings(&b)) result = sup_fail_memory(error, "the render mesh");
    if (result == SUP_OK)
        result = sup_bvh_create(context, def->positions, def->triangle_count, def->triangles, &b.bvh, error);
    if (result == SUP_OK) {
        result = write_model(&b, builder, prefix, error);
        sup_bvh_free(&b.bvh);
    }
    sup_arena_destroy(&b.arena);
    return result;
}

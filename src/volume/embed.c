/* embed.c - point location by walking, neighbours by rings, weights by moving least squares; see embed.h. */
#include "volume/embed.h"

#include "geometry/bvh.h"
#include "geometry/normals.h"
#include "upsample/mls.h"

enum { VERTEX_GRAIN = 64, WALK_MAX = 256, NEAR_MAX = 192, RINGS = 3, MIN_NEIGHBOURS = 5 };

typedef struct embed_work {
    const sup_tetmesh *mesh;
    const float *positions, *normals;
    sup_embedding *out;
    sup_bvh surface;
    int32_t *first, *neighbours; /* neighbours of vertex v along edges: [first[v], first[v + 1]) of neighbours */
    uint8_t *kind;               /* [vertex_count] 0 quadratic, 1 linear, 2 barycentric */
    float *noise;                /* [vertex_count] */
} embed_work;

static sup_vec3d point_of(const sup_tetmesh *mesh, int32_t v)
{
    return sup_v3_load(mesh->positions + 3 * (size_t)v);
}

/* Barycentric coordinates of p in tetrahedron t. */
static void coordinates(const sup_tetmesh *mesh, int32_t t, sup_vec3d p, double weights[4])
{
    const int32_t *tet = mesh->tets + 4 * (size_t)t;
    sup_vec3d o = point_of(mesh, tet[0]), d = sup_v3_sub(p, o), e[3];
    for (int k = 0; k < 3; k++)
        e[k] = sup_v3_sub(point_of(mesh, tet[k + 1]), o);
    double volume = sup_v3_dot(e[0], sup_v3_cross(e[1], e[2]));
    for (int k = 0; k < 3; k++)
        weights[k + 1] = sup_v3_dot(d, sup_v3_cross(e[(k + 1) % 3], e[(k + 2) % 3])) / volume;
    weights[0] = 1.0 - weights[1] - weights[2] - weights[3];
}

typedef struct facing {
    const embed_work *work;
    sup_vec3d normal;
} facing;

static bool faces_along(void *user, int32_t triangle)
{
    const facing *f = user;
    const sup_tetmesh *mesh = f->work->mesh;
    return sup_v3_dot(sup_triangle_cross(mesh->positions, mesh->triangles + 3 * (size_t)triangle), f->normal) > 0.0;
}

/* Walks from the face nearest to p through the tetrahedra, always across the face that p is farthest behind. If the
 * walk would leave the mesh, p is outside: then the tetrahedron of the nearest face is used. */
static int32_t locate(const embed_work *w, int32_t v, sup_vec3d p, double weights[4], double *outside)
{
    sup_bvh_nearest at = {.triangle = -1};
    if (w->normals != NULL) {
        facing f = {w, sup_v3_load(w->normals + 3 * (size_t)v)};
        at = sup_bvh_closest_of(&w->surface, p, INFINITY, faces_along, &f);
    }
    if (at.triangle < 0) at = sup_bvh_closest(&w->surface, p, INFINITY);
    int32_t start = w->mesh->triangle_tet[at.triangle], t = start;
    for (int step = 0; step < WALK_MAX && t >= 0; step++) {
        coordinates(w->mesh, t, p, weights);
        int smallest = 0;
        for (int k = 1; k < 4; k++)
            if (weights[k] < weights[smallest]) smallest = k;
        if (weights[smallest] >= 0.0) {
            *outside = 0.0;
            return t;
        }
        t = w->mesh->neighbours[4 * (size_t)t + (size_t)smallest];
    }
    coordinates(w->mesh, start, p, weights);
    *outside = at.distance;
    return start;
}

typedef struct candidate {
    int32_t vertex;
    double distance;
} candidate;

/* Vertices within RINGS edges of a tetrahedron, up to NEAR_MAX. */
static int32_t gather(const embed_work *w, int32_t t, candidate list[NEAR_MAX])
{
    int32_t count = 0, begin = 0;
    for (int k = 0; k < 4; k++)
        list[count++].vertex = w->mesh->tets[4 * (size_t)t + (size_t)k];
    for (int ring = 0; ring < RINGS; ring++) {
        int32_t end = count;
        for (int32_t i = begin; i < end; i++)
            for (int32_t n = w->first[list[i].vertex]; n < w->first[list[i].vertex + 1] && count < NEAR_MAX; n++) {
                int32_t j = 0;
                while (j < count && list[j].vertex != w->neighbours[n])
                    j++;
                if (j == count) list[count++].vertex = w->neighbours[n];
            }
        begin = end;
        if (count > 2 * SUP_EMBED_SLOTS) break;
    }
    return count;
}

/* Sorts the nearest SUP_EMBED_SLOTS + 1 to the front, by distance, then vertex. */
static void sort_nearest(const embed_work *w, sup_vec3d p, candidate *list, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        list[i].distance = sup_v3_distance(point_of(w->mesh, list[i].vertex), p);
    for (int32_t i = 0; i < count && i <= SUP_EMBED_SLOTS; i++) {
        int32_t best = i;
        for (int32_t j = i + 1; j < count; j++)
            if (list[j].distance < list[best].distance ||
                (list[j].distance == list[best].distance && list[j].vertex < list[best].vertex))
                best = j;
        candidate swapped = list[i];
        list[i] = list[best];
        list[best] = swapped;
    }
}

/* Weights in double; returns 0 for quadratic, 1 for linear, 2 if there are none. */
static uint8_t compute_weights(const embed_work *w, sup_vec3d p, const candidate *list, int32_t count, double *weights,
                               int32_t *used)
{
    sup_mls mls = {0};
    double radius = count > SUP_EMBED_SLOTS ? list[SUP_EMBED_SLOTS].distance : 1.25 * list[count - 1].distance;
    mls.scale = radius > 0.0 ? radius : 1.0;
    for (int32_t i = 0; i < count && i < SUP_EMBED_SLOTS && list[i].distance < radius; i++) {
        double near = 1.0 - list[i].distance / radius;
        mls.positions[i] = sup_v3_scale(sup_v3_sub(point_of(w->mesh, list[i].vertex), p), 1.0 / mls.scale);
        mls.omega[i] = near * near * near; /* eq. 3.3 */
        mls.count++;
    }
    bool reduced = false;
    *used = mls.count;
    if (mls.count < MIN_NEIGHBOURS) return 2;
    if (sup_mls_position(&mls, SUP_EMBED_NOISE, weights, &reduced) < 0) {
        if (sup_mls_position(&mls, SUP_EMBED_NOISE_MAX, weights, &reduced) < 0) return 2;
        reduced = true;
    }
    sup_vec3d off = sup_v3(0.0, 0.0, 0.0); /* flat neighbourhoods do not span space: then p is not reproduced */
    for (int32_t i = 0; i < mls.count; i++)
        off = sup_v3_madd(off, weights[i], mls.positions[i]);
    if (!(sup_v3_length(off) < 1e-6)) return 2;
    return reduced ? 1 : 0;
}

static void embed_vertex(embed_work *w, int32_t v)
{
    sup_embedding *out = w->out;
    sup_vec3d p = sup_v3_load(w->positions + 3 * (size_t)v);
    double barycentric[4], outside, weights[SUP_MLS_MAX];
    candidate list[NEAR_MAX];
    int32_t t = locate(w, v, p, barycentric, &outside), used = 4, largest = 0;
    out->tet[v] = t;
    out->outside[v] = (float)outside;
    for (size_t k = 0; k < 4; k++)
        out->barycentric[4 * (size_t)v + k] = (float)barycentric[k];
    int32_t count = gather(w, t, list);
    sort_nearest(w, p, list, count);
    w->kind[v] = compute_weights(w, p, list, count, weights, &used);
    if (w->kind[v] == 2) {
        used = 4;
        memcpy(weights, barycentric, sizeof barycentric);
        for (int k = 0; k < 4; k++)
            list[k].vertex = w->mesh->tets[4 * (size_t)t + (size_t)k];
    }
    int32_t *index = out->index + (size_t)v * SUP_EMBED_SLOTS;
    float *weight = out->weight + (size_t)v * SUP_EMBED_SLOTS;
    double remainder = 1.0;
    for (int32_t i = 0; i < SUP_EMBED_SLOTS; i++) {
        index[i] = list[i < used ? i : 0].vertex;
        weight[i] = i < used ? (float)weights[i] : 0.0f;
        remainder -= (double)weight[i];
        if (fabsf(weight[i]) > fabsf(weight[largest])) largest = i;
        w->noise[v] += fabsf(weight[i]);
    }
    weight[largest] += (float)remainder; /* keeps the sum exact: errors would grow with the distance from the origin */
}

static void embed_vertices(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++)
        embed_vertex(work, v);
}

/* Neighbours along the edges of all tetrahedra, each once. */
static bool find_neighbours(embed_work *w, sup_arena *scratch)
{
    const sup_tetmesh *mesh = w->mesh;
    size_t entries = 12 * (size_t)mesh->tet_count;
    int32_t *first = sup_arena_alloc(scratch, (size_t)mesh->vertex_count + 2, sizeof *first);
    int32_t *all = sup_arena_alloc(scratch, entries, sizeof *all);
    w->first = sup_arena_alloc(scratch, (size_t)mesh->vertex_count + 1, sizeof *w->first);
    w->neighbours = sup_arena_alloc(scratch, entries, sizeof *w->neighbours);
    if (first == NULL || all == NULL || w->first == NULL || w->neighbours == NULL) return false;
    for (size_t i = 0; i < 4 * (size_t)mesh->tet_count; i++)
        first[mesh->tets[i] + 2] += 3;
    for (int32_t v = 0; v < mesh->vertex_count; v++)
        first[v + 2] += first[v + 1];
    for (size_t i = 0; i < 4 * (size_t)mesh->tet_count; i++)
        for (size_t k = 1; k < 4; k++)
            all[first[mesh->tets[i] + 1]++] = mesh->tets[i / 4 * 4 + (i + k) % 4];
    int32_t count = 0;
    for (int32_t v = 0; v < mesh->vertex_count; v++) {
        w->first[v] = count;
        for (int32_t i = first[v]; i < first[v + 1]; i++) {
            int32_t j = w->first[v];
            while (j < count && w->neighbours[j] != all[i])
                j++;
            if (j == count) w->neighbours[count++] = all[i];
        }
    }
    w->first[mesh->vertex_count] = count;
    return true;
}

static bool reserve(embed_work *w, sup_arena *scratch)
{
    sup_embedding *out = w->out;
    size_t count = (size_t)out->vertex_count;
    out->tet = sup_arena_alloc(&out->arena, count, sizeof *out->tet);
    out->barycentric = sup_arena_alloc(&out->arena, count, 4 * sizeof *out->barycentric);
    out->outside = sup_arena_alloc(&out->arena, count, sizeof *out->outside);
    out->index = sup_arena_alloc(&out->arena, count, SUP_EMBED_SLOTS * sizeof *out->index);
    out->weight = sup_arena_alloc(&out->arena, count, SUP_EMBED_SLOTS * sizeof *out->weight);
    w->kind = sup_arena_alloc(scratch, count, sizeof *w->kind);
    w->noise = sup_arena_alloc(scratch, count, sizeof *w->noise);
    return out->tet != NULL && out->barycentric != NULL && out->outside != NULL && out->index != NULL &&
           out->weight != NULL && w->kind != NULL && w->noise != NULL;
}

sup_result sup_embed(const sup_context *context, const sup_tetmesh *mesh, int32_t vertex_count, const float *positions,
                     const float *normals, sup_embedding *embedding, sup_error *error)
{
    for (int64_t i = 0; i < 3 * (int64_t)vertex_count; i++)
        if (!isfinite(positions[i]))
            return sup_fail(error, SUP_ERROR_DATA, "embed.position", "",
                            "Vertex %lld of the skin has a position that is not finite.", (long long)(i / 3));
    sup_embedding made = {.vertex_count = vertex_count, .arena = sup_arena_create(&context->allocator)};
    sup_arena scratch = sup_arena_create(&context->allocator);
    embed_work w = {.mesh = mesh, .positions = positions, .normals = normals, .out = &made};
    sup_result result =
        sup_bvh_create(context, mesh->positions, mesh->triangle_count, mesh->triangles, &w.surface, error);
    if (result == SUP_OK) {
        if (reserve(&w, &scratch) && find_neighbours(&w, &scratch))
            sup_parallel(context, vertex_count, VERTEX_GRAIN, embed_vertices, &w);
        else
            result = sup_fail_memory(error, "the embedding of the skin");
        sup_bvh_free(&w.surface);
    }
    for (int32_t v = 0; v < vertex_count && result == SUP_OK; v++) {
        made.smooth += w.kind[v] == 0;
        made.linear += w.kind[v] == 1;
        made.plain += w.kind[v] == 2;
        made.largest = fmax(made.largest, (double)w.noise[v]);
    }
    sup_arena_destroy(&scratch);
    if (result == SUP_OK)
        *embedding = made;
    else
        sup_embedding_free(&made);
    return result;
}

void sup_embedding_free(sup_embedding *embedding)
{
    sup_arena_destroy(&embedding->arena);
    memset(embedding, 0, sizeof *embedding);
}

void sup_embedding_apply(const sup_embedding *embedding, const float *positions, int32_t stride, int32_t begin,
                         int32_t end, float *skin)
{
    for (int32_t v = begin; v < end; v++) {
        const int32_t *index = embedding->index + (size_t)v * SUP_EMBED_SLOTS;
        const float *weight = embedding->weight + (size_t)v * SUP_EMBED_SLOTS;
        float sum[3] = {0.0f, 0.0f, 0.0f};
        for (int32_t i = 0; i < SUP_EMBED_SLOTS; i++)
            for (int k = 0; k < 3; k++)
                sum[k] += weight[i] * positions[(size_t)index[i] * (size_t)stride + (size_t)k];
        memcpy(skin + 3 * (size_t)v, sum, sizeof sum);
    }
}

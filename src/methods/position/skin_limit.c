/* skin_limit.c - see skin_limit.h. */
#include "methods/position/skin_limit_work.h"

#include "base/simd.h"

/* The limit, as a fraction of the most stretched edge of linear blending, and the length that a longer edge gets, as a
 * fraction of the limit; both squared. Rounding does not exceed linear blending, and ends the corrections. */
static const float BELOW = 0.998f, WITHIN = 0.999f;
/* Triangles that are tested again, per triangle of the skin: bounds the time of a frame. */
enum { MAX_TESTS = 2, PATCH = 6 };

typedef struct limiter {
    const sup_skin_limit *skin;
    float origin[4];       /* file units */
    float limit;           /* squared length of an edge / squared rest length, at most */
    float *linear, *moved; /* [skin_count*4] in sizes, relative to the origin */
    float *normal;         /* [triangle_batches*16*4] area normal, 1 / its length */
    int32_t *found;        /* [triangle_batches*16] batches with violations */
    int32_t *queue;        /* [triangle_count] ring of triangles to test */
    bool *queued;          /* [triangle_count] */
    bool *changed;         /* [skin_count] */
    int32_t first, count;  /* of the ring */
} limiter;

static void *carve(unsigned char *base, size_t *size, size_t bytes)
{
    void *at = base != NULL ? base + *size : NULL;
    *size += (bytes + 63) / 64 * 64;
    return at;
}

/* The head of the scratch holds the limiter between the two calls. */
static size_t lay_out(const sup_skin_limit *skin, unsigned char *base, limiter *l)
{
    size_t size = (sizeof(limiter) + 63) / 64 * 64, points = (size_t)skin->skin_count,
           triangles = (size_t)skin->triangle_count;
    l->skin = skin;
    l->linear = carve(base, &size, points * 4 * sizeof(float));
    l->moved = carve(base, &size, points * 4 * sizeof(float));
    l->normal = carve(base, &size, (size_t)skin->triangle_batches * SUP_SKIN_LANES * 4 * sizeof(float));
    l->found = carve(base, &size, (size_t)skin->triangle_batches * SUP_SKIN_LANES * sizeof(int32_t));
    l->queue = carve(base, &size, triangles * sizeof(int32_t));
    l->queued = carve(base, &size, triangles * sizeof(bool));
    l->changed = carve(base, &size, points * sizeof(bool));
    return size;
}

size_t sup_skin_limit_scratch(const sup_skin_limit *limit)
{
    limiter l;
    return lay_out(limit, NULL, &l);
}

static float *position_of(const sup_skin_out *out, int32_t v)
{
    return (float *)(void *)((unsigned char *)out->positions + (size_t)v * out->position_stride);
}

static void gather(const limiter *l, float size, const sup_skin_out *out, float *to)
{
    const float scale = 1.0f / size;
    for (int64_t i = 0; i < l->skin->skin_count; i++) {
        const float *p = position_of(out, l->skin->source[i]);
        sup_four at = {(p[0] - l->origin[0]) * scale, (p[1] - l->origin[1]) * scale, (p[2] - l->origin[2]) * scale,
                       0.0f};
        memcpy(to + 4 * i, &at, sizeof at);
    }
}

static float sum(sup_four a)
{
    return a[0] + a[1] + a[2];
}

static sup_four cross(sup_four a, sup_four b)
{
    return (sup_four){a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0], 0.0f};
}

static const sup_skin_kernels *kernels(void)
{
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    if (sup_simd_lanes() >= 8) return &sup_skin_kernels_avx2;
#endif
    return &sup_skin_kernels_base;
}

void sup_skin_limit_begin(const sup_skin_limit *limit, float size, float least, void *scratch, const sup_skin_out *out)
{
    limiter *l = scratch;
    if (out->positions == NULL || limit->triangle_count == 0) return;
    lay_out(limit, scratch, l);
    memcpy(l->origin, position_of(out, limit->source[0]), 3 * sizeof(float));
    gather(l, size, out, l->linear);
    l->limit = fmaxf(BELOW * kernels()->largest_ratio(limit, l->linear), least * least);
}

/* --- Tests --- */

typedef struct corners {
    sup_four p[3];
} corners;

static corners corners_of(const limiter *l, const float *positions, int32_t t)
{
    const int32_t *c = l->skin->triangle + 3 * (int64_t)t;
    return (corners){{sup_four_load(positions + 4 * (int64_t)c[0]), sup_four_load(positions + 4 * (int64_t)c[1]),
                      sup_four_load(positions + 4 * (int64_t)c[2])}};
}

/* Area normal, and 1 / its length in the fourth lane. */
static sup_four normal_of(const corners *c)
{
    sup_four n = cross(c->p[1] - c->p[0], c->p[2] - c->p[0]);
    float length = sqrtf(sum(n * n));
    n[3] = length > 0.0f ? 1.0f / length : 0.0f;
    return n;
}

/* Whether the triangle faces away from the mean of its neighbours, with the normals `n` of them and of itself. */
static bool faces_away(sup_four own, const sup_four n[3])
{
    float around = 0.0f;
    for (int k = 0; k < 3; k++)
        around += n[k][3] * (n[k][0] * own[0] + n[k][1] * own[1] + n[k][2] * own[2]);
    return around < 0.0f;
}

/* The same from positions. */
static bool is_flipped(const limiter *l, const float *positions, int32_t t)
{
    const int32_t *neighbour = l->skin->neighbour + 3 * (int64_t)t;
    corners c = corners_of(l, positions, t);
    sup_four own = normal_of(&c), n[3] = {sup_four_splat(0.0f), sup_four_splat(0.0f), sup_four_splat(0.0f)};
    for (int k = 0; k < 3; k++)
        if (neighbour[k] >= 0) {
            c = corners_of(l, positions, neighbour[k]);
            n[k] = normal_of(&c);
        }
    return faces_away(own, n);
}

static void enqueue(limiter *l, int32_t t)
{
    if (l->queued[t]) return;
    l->queued[t] = true;
    int32_t end = l->first + l->count++;
    l->queue[end < l->skin->triangle_count ? end : end - l->skin->triangle_count] = t;
}

static void enqueue_found(limiter *l, int32_t count)
{
    const int32_t lanes = kernels()->lanes;
    for (int32_t i = 0; i < count * lanes; i++) {
        int32_t t = l->found[i / lanes] * lanes + i % lanes;
        if (t < l->skin->triangle_count) enqueue(l, t);
    }
}

/* Queues all triangles with an edge that is too long, and all that face away from their neighbours, with the others of
 * their batches. */
static void find_violations(limiter *l)
{
    enqueue_found(l, kernels()->find_long(l->skin, l->moved, l->limit, l->normal, l->found));
    enqueue_found(l, kernels()->find_flipped(l->skin, l->normal, l->found));
}

/* --- Corrections --- */

static void store(limiter *l, int32_t v, sup_four position)
{
    const sup_skin_limit *s = l->skin;
    memcpy(l->moved + 4 * (int64_t)v, &position, sizeof position);
    l->changed[v] = true;
    for (int32_t i = s->around_first[v]; i < s->around_first[v + 1]; i++) {
        const int32_t *neighbour = s->neighbour + 3 * (int64_t)s->around[i];
        enqueue(l, s->around[i]);
        for (int k = 0; k < 3; k++)
            if (neighbour[k] >= 0) enqueue(l, neighbour[k]);
    }
}

/* Solves |e + s d|^2 = square for the edge e of linear blending and the difference d of the deviations. */
static float share_of(sup_four e, sup_four d, float square)
{
    float dd = sum(d * d), ed = sum(e * d), excess = sum(e * e) - square;
    if (!(dd > 0.0f) || !(excess < 0.0f)) return 0.0f;
    return fminf((sqrtf(ed * ed - dd * excess) - ed) / dd, 1.0f);
}

static void shorten(limiter *l, int32_t a, int32_t b, float rest)
{
    sup_four p = sup_four_load(l->moved + 4 * (int64_t)a), q = sup_four_load(l->moved + 4 * (int64_t)b), now = p - q;
    if (!(sum(now * now) > l->limit * rest)) return;
    sup_four e = sup_four_load(l->linear + 4 * (int64_t)a) - sup_four_load(l->linear + 4 * (int64_t)b), d = now - e;
    float square = WITHIN * l->limit * rest;
    sup_four to = e + sup_four_splat(share_of(e, d, square)) * d;
    if (sum(to * to) > square)
        to *= sup_four_splat(sqrtf(square / sum(to * to))); /* the edge of linear blending itself */
    sup_four by = sup_four_splat(0.5f) * (now - to);
    store(l, a, p - by);
    store(l, b, q + by);
}

/* Skin vertices of a triangle and of its neighbours. */
static int32_t find_patch(const sup_skin_limit *s, int32_t t, int32_t patch[PATCH])
{
    int32_t count = 3;
    memcpy(patch, s->triangle + 3 * (int64_t)t, 3 * sizeof *patch);
    for (int k = 0; k < 3; k++) {
        int32_t other = s->neighbour[3 * (int64_t)t + k];
        for (int c = 0; other >= 0 && c < 3; c++) {
            int32_t v = s->triangle[3 * (int64_t)other + c], i = 0;
            while (i < count && patch[i] != v)
                i++;
            if (i == count && count < PATCH) patch[count++] = v;
        }
    }
    return count;
}

/* Halves the differences of the deviations around a triangle. */
static void unfold(limiter *l, int32_t t)
{
    int32_t patch[PATCH], count = find_patch(l->skin, t, patch);
    sup_four mean = sup_four_splat(0.0f), d[PATCH], half = sup_four_splat(0.5f);
    for (int32_t i = 0; i < count; i++) {
        d[i] = sup_four_load(l->moved + 4 * (int64_t)patch[i]) - sup_four_load(l->linear + 4 * (int64_t)patch[i]);
        mean += d[i];
    }
    mean *= sup_four_splat(1.0f / (float)count);
    for (int32_t i = 0; i < count; i++)
        store(l, patch[i], sup_four_load(l->linear + 4 * (int64_t)patch[i]) + half * (d[i] + mean));
}

static void correct(limiter *l, int32_t t)
{
    const int32_t *c = l->skin->triangle + 3 * (int64_t)t;
    const float *rest = l->skin->lane_rest + t / SUP_SKIN_LANES * 3 * SUP_SKIN_LANES + t % SUP_SKIN_LANES;
    shorten(l, c[0], c[1], rest[0]);
    shorten(l, c[1], c[2], rest[SUP_SKIN_LANES]);
    shorten(l, c[0], c[2], rest[2 * SUP_SKIN_LANES]);
    if (is_flipped(l, l->moved, t) && !is_flipped(l, l->linear, t)) unfold(l, t);
}

void sup_skin_limit_apply(const sup_skin_limit *limit, float size, void *scratch, const sup_skin_out *out)
{
    limiter *l = scratch;
    if (out->positions == NULL || limit->triangle_count == 0) return;
    memset(l->queued, 0, (size_t)limit->triangle_count * sizeof(bool));
    memset(l->changed, 0, (size_t)limit->skin_count * sizeof(bool));
    l->first = l->count = 0;
    gather(l, size, out, l->moved);
    find_violations(l);
    if (l->count == 0) return;
    for (int64_t tests = MAX_TESTS * (int64_t)limit->triangle_count; l->count > 0 && tests > 0; tests--) {
        int32_t t = l->queue[l->first];
        l->first = l->first + 1 < limit->triangle_count ? l->first + 1 : 0;
        l->count--;
        l->queued[t] = false;
        correct(l, t);
    }
    for (int32_t v = 0; v < limit->vertex_count; v++) {
        int32_t i = limit->skin_of[v];
        if (i < 0 || !l->changed[i]) continue;
        float *p = position_of(out, v);
        for (int k = 0; k < 3; k++)
            p[k] = l->origin[k] + size * l->moved[4 * (int64_t)i + k];
    }
}

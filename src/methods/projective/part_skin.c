/* part_skin.c - finding what crosses in the shown skin, and moving it apart. See part_skin.h. */
#include "methods/projective/part_skin.h"

#include "base/simd.h"
#include "methods/projective/part_block.h"

#include <math.h>

enum {
    ROUNDS = 10,        /* of finding and moving, at most */
    MOST_HITS = 48,     /* crossings that are kept of the triangles of one bundle */
    MOST_PATCHES = 256, /* further ones are taken as open */
    PATCH = 150,        /* vertices of a patch; what is wider does not end, or is too wide to be moved */
    AROUND = 2,         /* edges from what is moved to where skin no longer follows */
    SWEEPS = 4,         /* over the edges in a round, */
    LAST_SWEEPS = 12,   /* and after the last one */
    GRAIN_BOUND = SUP_DETECT_BLOCK,
    GRAIN_FIND = 4
};
static const float least_offset = 1e-4f; /* of the gap: what is less is none */
static const float farthest = 3.0f;      /* of the gap: it is moved at most */
static const float longest = 1.3f;       /* of an edge as it came, or at rest: so long it may be made */
static const float heavy = 0.25f;        /* what was asked to move gives way to the edges by that much of the others' */
static const float gap_part = 0.05f;     /* of the finer edges: how far apart skin is put */
static const float reach = 1.5f;         /* of the finer edges: farthest that the end of one edge goes in a round */
static const float agree = 0.5f;         /* length of the mean of the normals around a patch that has a way out */
static const float follow = 0.8f;        /* of the mean of its neighbours: skin around what is moved */
static const float kin_gaps = 3.0f;      /* between two places at rest: one fold */
static const float fold_push = 0.2f;     /* of what folds ask for, */
static const float fold_smooth = 0.8f;   /* and of the way to the mean of the neighbours */

/* An edge goes through a triangle. */
typedef struct part_hit {
    int32_t inside, outside; /* ends of the edge */
    int32_t triangle, of;    /* it goes through, and one that it is of */
    float point[3];          /* where it goes through */
    float normal[3];         /* of the triangle, unit */
    float weight[3];         /* of the point in the triangle */
    float depth;             /* of the inner end below the triangle's plane */
    float share;             /* that the triangle takes of the way: the coarser of two skins gives way */
    float edge;              /* length of the finer one's edges, about */
} part_hit;

/* Skin that is inside, with crossing edges on all sides: means over those. */
typedef struct part_patch {
    float point[3], normal[3];
    float share, edge, weight;
    float depth; /* of its deepest vertex below the plane */
    bool deep;   /* it has vertices that no crossing edge ends at */
    bool left;   /* there is no way out */
} part_patch;

enum { NO_PATCH = -1, OPEN = -2 };
enum { LOADED = 1, SEED = 2, OUTSIDE = 4, LISTED = 8, FOLD = 16, KNOWN = 32 }; /* of `state` */

typedef struct part_vertex {
    int32_t patch;               /* number, NO_PATCH or OPEN */
    int32_t parent;              /* union-find: what hangs together is one cluster */
    int32_t hits, best_hits;     /* edges that cross with it as their inner end: now, and where `best` is */
    int32_t sum, best_sum;       /* of a cluster, at its root */
    float from[3];               /* as it came */
    float x[3], best[3];         /* now, and when its cluster crossed least */
    float way[3], most, move[3]; /* sum of what is asked for, the longest of it, and what comes of it */
} part_vertex;

typedef struct part_work {
    const sup_part_view *view;
    const sup_part_def *def;
    const sup_detect_kernels *boxes;
    const sup_part_kernels *kernels;
    const float *positions; /* [vertex_count*3]; NULL: `out` has them */
    sup_skin_out out;
    part_vertex *vertex;      /* [vertex_count] */
    unsigned char *state;     /* [vertex_count] */
    int32_t *list;            /* [vertex_count] what is moved in this round */
    int32_t *known;           /* [vertex_count] what was moved in any */
    int32_t *queue;           /* [vertex_count] */
    int32_t *active;          /* [bundles] */
    unsigned char *dirty;     /* [bundles] of the active ones: has moved since they were compared */
    sup_part_block *blocks;   /* [bundles] triangles of the active ones */
    sup_detect_box *whole;    /* [bundles] of each active bundle */
    sup_detect_boxes *groups; /* [bundles / SUP_DETECT_BLOCK + 1] the same side by side */
    int32_t *hit_count;       /* [bundles] */
    part_hit *hits;           /* [bundles*MOST_HITS] */
    part_patch *patches;      /* [MOST_PATCHES] */
    int32_t bundle_count, active_count, list_count, known_count, patch_count;
    bool bind_pose; /* what crosses there is looked for */
} part_work;

static void *carve(unsigned char *base, size_t *size, size_t count, size_t item)
{
    void *at = base == NULL ? NULL : base + *size;
    *size += (count * item + 63) / 64 * 64;
    return at;
}

static part_work lay_out(const sup_part_view *view, void *scratch, size_t *size)
{
    part_work w = {.view = view, .bundle_count = (view->triangle_count + SUP_PART_BUNDLE - 1) / SUP_PART_BUNDLE};
    size_t n = (size_t)view->vertex_count, bundles = (size_t)w.bundle_count;
    *size = 0;
    w.vertex = carve(scratch, size, n, sizeof *w.vertex);
    w.state = carve(scratch, size, n, sizeof *w.state);
    w.list = carve(scratch, size, n, sizeof *w.list);
    w.known = carve(scratch, size, n, sizeof *w.known);
    w.queue = carve(scratch, size, n, sizeof *w.queue);
    w.active = carve(scratch, size, bundles, sizeof *w.active);
    w.dirty = carve(scratch, size, bundles, sizeof *w.dirty);
    w.blocks = carve(scratch, size, bundles, sizeof *w.blocks);
    w.whole = carve(scratch, size, bundles, sizeof *w.whole);
    w.groups = carve(scratch, size, bundles / SUP_DETECT_BLOCK + 1, sizeof *w.groups);
    w.hit_count = carve(scratch, size, bundles, sizeof *w.hit_count);
    w.hits = carve(scratch, size, bundles * MOST_HITS, sizeof *w.hits);
    w.patches = carve(scratch, size, MOST_PATCHES, sizeof *w.patches);
    return w;
}

size_t sup_part_scratch(const sup_part_view *view)
{
    size_t size;
    lay_out(view, NULL, &size);
    return size;
}

static void choose_kernels(part_work *w)
{
    w->boxes = sup_detect_choose_kernels();
    w->kernels = &sup_part_kernels_base;
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    int32_t lanes = sup_simd_lanes();
    if (lanes == 16) w->kernels = &sup_part_kernels_avx512;
    if (lanes == 8) w->kernels = &sup_part_kernels_avx2;
#endif
}

static const float *place_of(const part_work *w, int32_t v)
{
    if (w->positions != NULL) return w->positions + 3 * (size_t)v;
    size_t shown = (size_t)w->view->shown[w->view->shown_first[v]];
    return (const float *)(const void *)((const unsigned char *)w->out.positions + shown * w->out.position_stride);
}

/* Every vertex is loaded before anything else is asked of it. */
static void load_vertex(const part_work *w, int32_t v)
{
    if (w->state[v] & LOADED) return;
    const float *from = place_of(w, v);
    part_vertex *vertex = &w->vertex[v];
    *vertex = (part_vertex){.patch = NO_PATCH, .parent = v};
    for (int32_t k = 0; k < 3; k++) {
        vertex->from[k] = from[k];
        vertex->x[k] = from[k] + (w->bind_pose ? 0.0f : w->def->keep * w->def->offset[3 * (size_t)v + (size_t)k]);
    }
    w->state[v] |= LOADED;
}

/* Bundles at simulated vertices that are near other skin; all in the bind pose. */
static void choose_bundles(part_work *w)
{
    const sup_part_view *view = w->view;
    for (int32_t b = 0; b < w->bundle_count; b++) {
        bool is_near = w->bind_pose;
        for (int32_t i = view->bundle_first[b]; i < view->bundle_first[b + 1] && !is_near; i++)
            is_near = w->def->near[view->bundle_coarse[i]] != 0 ||
                      (view->close[view->bundle_coarse[i]] & SUP_PART_BETWEEN) != 0;
        if (!is_near) continue;
        w->dirty[w->active_count] = 1;
        w->active[w->active_count++] = b;
        int32_t first = 3 * SUP_PART_BUNDLE * b, end = first + 3 * SUP_PART_BUNDLE;
        for (int32_t k = first; k < end && k < 3 * view->triangle_count; k++)
            load_vertex(w, view->triangles[k]);
    }
}

/* --- Boxes and crossings --- */

static void put_box(float (*boxes)[SUP_DETECT_BLOCK], int32_t lane, const float *lower, const float *upper)
{
    for (int32_t k = 0; k < 3; k++) {
        boxes[k][lane] = lower[k];
        boxes[3 + k][lane] = upper[k];
    }
}

static void widen(float *lower, float *upper, const float *other_lower, const float *other_upper)
{
    for (int32_t k = 0; k < 3; k++) {
        lower[k] = other_lower[k] < lower[k] ? other_lower[k] : lower[k];
        upper[k] = other_upper[k] > upper[k] ? other_upper[k] : upper[k];
    }
}

/* Corners side by side. Triangles that do not count are nowhere. */
static sup_detect_box fill_block(const part_work *w, int32_t bundle, sup_part_block *block)
{
    const sup_part_view *view = w->view;
    const float none[] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
    sup_detect_box whole = {{INFINITY, INFINITY, INFINITY, 0.0f}, {-INFINITY, -INFINITY, -INFINITY, 0.0f}};
    uint32_t counts = 0;
    for (int32_t lane = 0; lane < SUP_PART_BUNDLE; lane++) {
        int32_t triangle = bundle * SUP_PART_BUNDLE + lane, last = view->triangle_count - 1;
        const int32_t *corner = view->triangles + 3 * (size_t)(triangle < last ? triangle : last);
        for (int32_t k = 0; k < 9; k++)
            block->corner[k][lane] = w->vertex[corner[k / 3]].x[k % 3];
        if (triangle <= last && (w->bind_pose || !view->crossed[triangle])) counts |= 1u << lane;
    }
    w->kernels->bound(block);
    for (int32_t lane = 0; lane < SUP_PART_BUNDLE; lane++) {
        for (int32_t k = 0; k < 6 && !(counts >> lane & 1); k++)
            block->box[k][lane] = none[k];
        const float lower[] = {block->box[0][lane], block->box[1][lane], block->box[2][lane]};
        const float upper[] = {block->box[3][lane], block->box[4][lane], block->box[5][lane]};
        widen(whole.lower, whole.upper, lower, upper);
    }
    return whole;
}

static void bound_bundles(void *data, int32_t begin, int32_t end, int32_t worker)
{
    part_work *w = data;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        if (!w->dirty[i]) continue;
        w->whole[i] = fill_block(w, w->active[i], &w->blocks[i]);
        put_box(w->groups[i / SUP_DETECT_BLOCK], i % SUP_DETECT_BLOCK, w->whole[i].lower, w->whole[i].upper);
    }
}

typedef struct vec {
    float x, y, z;
} vec;

static vec sub(const float *a, const float *b)
{
    return (vec){a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}

static vec cross(vec a, vec b)
{
    return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static float dot(vec a, vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static float length_of(const float *a)
{
    return sqrtf(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

typedef struct part_triangle {
    int32_t index;
    const int32_t *corner;
    const float *p[3];
    vec normal;   /* twice the area long */
    float square; /* of that */
} part_triangle;

/* Of a triangle of an active bundle. */
static const int32_t *corners_of(const part_work *w, int32_t bundle, int32_t lane)
{
    return w->view->triangles + 3 * (size_t)(w->active[bundle] * SUP_PART_BUNDLE + lane);
}

static part_triangle triangle_at(const part_work *w, int32_t bundle, int32_t lane)
{
    part_triangle t = {.index = w->active[bundle] * SUP_PART_BUNDLE + lane, .corner = corners_of(w, bundle, lane)};
    for (int32_t c = 0; c < 3; c++)
        t.p[c] = w->vertex[t.corner[c]].x;
    t.normal = cross(sub(t.p[1], t.p[0]), sub(t.p[2], t.p[0]));
    t.square = dot(t.normal, t.normal);
    return t;
}

static bool share_corner(const int32_t *a, const int32_t *b)
{
    for (int32_t i = 0; i < 3; i++)
        if (a[i] == b[0] || a[i] == b[1] || a[i] == b[2]) return true;
    return false;
}

/* The edge of `of` from its corner `in` below the plane of `t` to `far` above it. */
static bool goes_through(const part_triangle *t, const part_triangle *of, int32_t in, int32_t far,
                         const float height[3], part_hit *hit)
{
    float s = height[in] / (height[in] - height[far]);
    for (int32_t k = 0; k < 3; k++)
        hit->point[k] = of->p[in][k] + s * (of->p[far][k] - of->p[in][k]);
    for (int32_t k = 0; k < 3; k++) {
        const float *a = t->p[(k + 1) % 3], *b = t->p[(k + 2) % 3];
        hit->weight[k] = dot(t->normal, cross(sub(b, a), sub(hit->point, a))) / t->square;
        if (!(hit->weight[k] >= 0.0f)) return false;
    }
    float area = sqrtf(t->square), edge = sqrtf(area), other = sqrtf(sqrtf(of->square));
    hit->inside = of->corner[in];
    hit->outside = of->corner[far];
    hit->triangle = t->index;
    hit->of = of->index;
    hit->normal[0] = t->normal.x / area;
    hit->normal[1] = t->normal.y / area;
    hit->normal[2] = t->normal.z / area;
    hit->depth = -height[in] / area;
    hit->share = edge / (edge + other);
    hit->edge = edge < other ? edge : other;
    return true;
}

/* Edges of `of` that go through `t`. Returns how many hits there are now. */
static int32_t cut(const part_triangle *t, const part_triangle *of, part_hit *hits, int32_t count)
{
    float height[3];
    for (int32_t c = 0; c < 3; c++)
        height[c] = dot(t->normal, sub(of->p[c], t->p[0]));
    for (int32_t c = 0; c < 3 && t->square > 0.0f; c++) {
        int32_t next = (c + 1) % 3, in = height[c] < height[next] ? c : next, far = in == c ? next : c;
        if (!(height[in] < 0.0f && height[far] >= 0.0f) || count == MOST_HITS) continue;
        if (goes_through(t, of, in, far, height, &hits[count])) count++;
    }
    return count;
}

/* Triangles of bundle i against those of bundle j. */
static int32_t compare(const part_work *w, int32_t i, int32_t j, part_hit *hits, int32_t count)
{
    uint32_t mine = w->boxes->meet(w->blocks[i].box, &w->whole[j]);
    for (; mine != 0; mine &= mine - 1) {
        int32_t lane = __builtin_ctz(mine);
        uint32_t theirs = w->kernels->cross(&w->blocks[i], lane, &w->blocks[j]);
        if (i == j) theirs &= 0xfffffffeu << lane;
        for (; theirs != 0; theirs &= theirs - 1) {
            int32_t other = __builtin_ctz(theirs);
            if (share_corner(corners_of(w, i, lane), corners_of(w, j, other))) continue;
            part_triangle a = triangle_at(w, i, lane), b = triangle_at(w, j, other);
            count = cut(&a, &b, hits, count);
            count = cut(&b, &a, hits, count);
        }
    }
    return count;
}

/* Bundles that moved against all: where neither did, nothing crosses. */
static void find_some(void *data, int32_t begin, int32_t end, int32_t worker)
{
    part_work *w = data;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t count = 0;
        for (int32_t group = 0; group * SUP_DETECT_BLOCK < w->active_count && w->dirty[i]; group++) {
            uint32_t bundles = w->boxes->meet(w->groups[group], &w->whole[i]);
            for (; bundles != 0; bundles &= bundles - 1) {
                int32_t j = group * SUP_DETECT_BLOCK + __builtin_ctz(bundles);
                if (j < w->active_count && (j >= i || !w->dirty[j]))
                    count = compare(w, i, j, w->hits + (size_t)i * MOST_HITS, count);
            }
        }
        w->hit_count[i] = count;
    }
}

/* Returns how many. */
static int32_t find_hits(const sup_context *context, part_work *w)
{
    sup_parallel(context, w->active_count, GRAIN_BOUND, bound_bundles, w);
    sup_parallel(context, w->active_count, GRAIN_FIND, find_some, w);
    int32_t total = 0;
    for (int32_t i = 0; i < w->active_count; i++)
        total += w->hit_count[i];
    return total;
}

/* Hits one after the other: {-1, 0} before the first; false after the last. */
typedef struct hit_place {
    int32_t bundle, next;
} hit_place;

static const part_hit *next_hit(const part_work *w, hit_place *at)
{
    while (at->bundle < 0 || at->next >= w->hit_count[at->bundle]) {
        if (++at->bundle >= w->active_count) return NULL;
        at->next = 0;
    }
    return &w->hits[(size_t)at->bundle * MOST_HITS + (size_t)at->next++];
}

static const int32_t *corners_hit(const part_work *w, const part_hit *hit)
{
    return w->view->triangles + 3 * (size_t)hit->triangle;
}

/* --- What hangs together: it is moved, or left, as a whole --- */

static int32_t cluster_of(const part_work *w, int32_t v)
{
    while (w->vertex[v].parent != v)
        v = w->vertex[v].parent = w->vertex[w->vertex[v].parent].parent;
    return v;
}

static void join(const part_work *w, int32_t a, int32_t b)
{
    int32_t x = cluster_of(w, a), y = cluster_of(w, b);
    if (x < y) w->vertex[y].parent = x;
    if (y < x) w->vertex[x].parent = y;
}

/* From now on its place counts. */
static void know(part_work *w, int32_t v)
{
    load_vertex(w, v);
    if (w->state[v] & KNOWN) return;
    w->state[v] |= KNOWN;
    w->known[w->known_count++] = v;
    memcpy(w->vertex[v].best, w->vertex[v].x, sizeof w->vertex[v].best);
}

/* Clusters that cross less than ever before keep their places. */
static void keep_best(part_work *w, bool first)
{
    hit_place at = {-1, 0};
    for (int32_t i = 0; i < w->known_count; i++)
        w->vertex[w->known[i]].hits = 0;
    for (const part_hit *hit = next_hit(w, &at); hit != NULL; hit = next_hit(w, &at)) {
        know(w, hit->inside);
        know(w, hit->outside);
        join(w, hit->inside, hit->outside);
        for (int32_t k = 0; k < 3; k++) {
            know(w, corners_hit(w, hit)[k]);
            join(w, hit->inside, corners_hit(w, hit)[k]);
        }
        w->vertex[hit->inside].hits++;
    }
    for (int32_t i = 0; i < w->known_count; i++)
        w->vertex[w->known[i]].sum = w->vertex[w->known[i]].best_sum = 0;
    for (int32_t i = 0; i < w->known_count; i++) {
        part_vertex *vertex = &w->vertex[w->known[i]], *root = &w->vertex[cluster_of(w, w->known[i])];
        if (first) vertex->best_hits = vertex->hits;
        root->sum += vertex->hits;
        root->best_sum += vertex->best_hits;
    }
    for (int32_t i = 0; i < w->known_count; i++) {
        part_vertex *vertex = &w->vertex[w->known[i]], *root = &w->vertex[cluster_of(w, w->known[i])];
        if (root->sum >= root->best_sum) continue;
        vertex->best_hits = vertex->hits;
        memcpy(vertex->best, vertex->x, sizeof vertex->best);
    }
}

/* --- Patches --- */

static void enlist(part_work *w, int32_t v)
{
    know(w, v);
    if (w->state[v] & LISTED) return;
    w->state[v] |= LISTED;
    w->list[w->list_count++] = v;
}

/* All that is inside around a vertex where an edge crosses, from neighbour to neighbour. Returns how many; more than
 * PATCH: it does not end. */
static int32_t flood(part_work *w, int32_t seed, int32_t patch)
{
    const sup_part_view *view = w->view;
    int32_t count = 1;
    w->queue[0] = seed;
    w->vertex[seed].patch = patch;
    for (int32_t i = 0; i < count && count <= PATCH; i++)
        for (int32_t e = view->neighbour_first[w->queue[i]]; e < view->neighbour_first[w->queue[i] + 1]; e++) {
            int32_t next = view->neighbours[e];
            load_vertex(w, next);
            if (w->vertex[next].patch != NO_PATCH || (w->state[next] & (SEED | OUTSIDE)) == OUTSIDE) continue;
            w->vertex[next].patch = patch;
            w->queue[count++] = next;
        }
    return count;
}

/* Patches from the inner ends of all crossing edges. */
static void make_patches(part_work *w)
{
    hit_place at = {-1, 0};
    for (const part_hit *hit = next_hit(w, &at); hit != NULL; hit = next_hit(w, &at)) {
        enlist(w, hit->inside);
        w->state[hit->inside] |= SEED;
        w->state[hit->outside] |= OUTSIDE;
    }
    int32_t seeds = w->list_count;
    w->patch_count = 0;
    for (int32_t i = 0; i < seeds; i++) {
        if (w->vertex[w->list[i]].patch != NO_PATCH) continue;
        int32_t count = flood(w, w->list[i], w->patch_count);
        bool closed = count <= PATCH && w->patch_count < MOST_PATCHES;
        part_patch patch = {.weight = 0.0f};
        for (int32_t k = 0; k < count; k++) {
            int32_t v = w->queue[k];
            bool seed = (w->state[v] & SEED) != 0;
            patch.deep = patch.deep || !seed;
            if (!closed) w->vertex[v].patch = seed ? OPEN : NO_PATCH;
            if (!closed || seed) continue;
            enlist(w, v);
            join(w, w->list[i], v);
        }
        if (closed) w->patches[w->patch_count++] = patch;
    }
}

static part_patch *patch_of(const part_work *w, const part_hit *hit)
{
    int32_t patch = w->vertex[hit->inside].patch;
    return patch >= 0 ? &w->patches[patch] : NULL;
}

/* The plane of each patch. */
static void fit_patches(part_work *w)
{
    hit_place at = {-1, 0};
    for (const part_hit *hit = next_hit(w, &at); hit != NULL; hit = next_hit(w, &at)) {
        part_patch *patch = patch_of(w, hit);
        if (patch == NULL) continue;
        for (int32_t k = 0; k < 3; k++) {
            patch->point[k] += hit->point[k];
            patch->normal[k] += hit->normal[k];
        }
        patch->share += hit->share;
        patch->edge += hit->edge;
        patch->weight += 1.0f;
    }
    for (int32_t i = 0; i < w->patch_count; i++) {
        part_patch *patch = &w->patches[i];
        float length = length_of(patch->normal);
        patch->left = !(length > agree * patch->weight);
        for (int32_t k = 0; k < 3 && !patch->left; k++) {
            patch->normal[k] /= length;
            patch->point[k] /= patch->weight;
        }
        patch->share /= patch->weight;
        patch->edge /= patch->weight;
    }
}

/* --- Moves --- */

static void ask(part_work *w, int32_t v, const float *normal, float way)
{
    part_vertex *vertex = &w->vertex[v];
    enlist(w, v);
    for (int32_t k = 0; k < 3; k++)
        vertex->way[k] += way * normal[k];
    vertex->most = fmaxf(vertex->most, fabsf(way));
}

/* Patches go to their planes as a whole, but for the share of what they are in. */
static void ask_patches(part_work *w)
{
    int32_t count = w->list_count;
    for (int32_t i = 0; i < count; i++) {
        const part_vertex *vertex = &w->vertex[w->list[i]];
        part_patch *patch = vertex->patch >= 0 ? &w->patches[vertex->patch] : NULL;
        if (patch == NULL || !patch->deep || patch->left) continue;
        float depth = 0.0f;
        for (int32_t k = 0; k < 3; k++)
            depth += patch->normal[k] * (patch->point[k] - vertex->x[k]);
        patch->depth = fmaxf(patch->depth, depth);
        if (depth > 0.0f) ask(w, w->list[i], patch->normal, (1.0f - patch->share) * (depth + gap_part * patch->edge));
    }
}

/* Two places near each other along the skin: what crosses there is no contact but a fold that is too tight. */
static bool is_fold(const part_work *w, const part_hit *hit)
{
    int32_t a = w->view->coarse[hit->inside], b = w->view->coarse[corners_hit(w, hit)[0]];
    vec d = sub(w->def->rest + 3 * (size_t)a, w->def->rest + 3 * (size_t)b);
    float most = kin_gaps * (w->def->gap[a] + w->def->gap[b]);
    return dot(d, d) < most * most;
}

static void ask_hits(part_work *w)
{
    hit_place at = {-1, 0};
    for (const part_hit *hit = next_hit(w, &at); hit != NULL; hit = next_hit(w, &at)) {
        const part_patch *patch = patch_of(w, hit);
        const int32_t *corner = corners_hit(w, hit);
        if (patch != NULL && patch->left) continue;
        bool deep = patch != NULL && patch->deep, fold = patch == NULL && is_fold(w, hit);
        const float *normal = deep ? patch->normal : hit->normal, *b = hit->weight;
        float depth = gap_part * hit->edge + (deep ? patch->depth : fminf(hit->depth, reach * hit->edge));
        float square = b[0] * b[0] + b[1] * b[1] + b[2] * b[2];
        if (!deep) ask(w, hit->inside, normal, (1.0f - hit->share) * depth);
        for (int32_t k = 0; k < 3; k++)
            ask(w, corner[k], normal, -hit->share * depth * b[k] / square);
        if (!fold) continue;
        enlist(w, hit->outside);
        w->state[hit->inside] |= FOLD;
        w->state[hit->outside] |= FOLD;
        for (int32_t k = 0; k < 3; k++)
            w->state[corner[k]] |= FOLD;
    }
}

/* Sum over the neighbours of a vertex, of their places or of their moves. Returns how many there are. */
static int32_t sum_around(const part_work *w, int32_t v, bool moves, float sum[3])
{
    const sup_part_view *view = w->view;
    sum[0] = sum[1] = sum[2] = 0.0f;
    for (int32_t e = view->neighbour_first[v]; e < view->neighbour_first[v + 1]; e++) {
        load_vertex(w, view->neighbours[e]);
        const part_vertex *vertex = &w->vertex[view->neighbours[e]];
        for (int32_t k = 0; k < 3; k++)
            sum[k] += moves ? vertex->move[k] : vertex->x[k];
    }
    return view->neighbour_first[v + 1] - view->neighbour_first[v];
}

/* What all crossings together ask of a vertex, but no farther than one of them; folds are smoothed. */
static void set_moves(part_work *w)
{
    for (int32_t i = 0; i < w->list_count; i++) {
        int32_t v = w->list[i];
        part_vertex *vertex = &w->vertex[v];
        bool fold = (w->state[v] & FOLD) != 0;
        float length = length_of(vertex->way), scale = fold ? fold_push : 1.0f, sum[3];
        if (length > vertex->most) scale *= vertex->most / length;
        for (int32_t k = 0; k < 3; k++)
            vertex->move[k] = scale * vertex->way[k];
        if (!fold) continue;
        int32_t count = sum_around(w, v, false, sum);
        for (int32_t k = 0; k < 3; k++)
            vertex->move[k] += fold_smooth * (sum[k] / (float)count - vertex->x[k]);
    }
}

/* Skin around what is moved follows by degrees. */
static void spread(part_work *w)
{
    const sup_part_view *view = w->view;
    int32_t moved = w->list_count, begin = 0;
    for (int32_t ring = 0; ring < AROUND; ring++) {
        int32_t end = w->list_count;
        for (int32_t i = begin; i < end; i++)
            for (int32_t e = view->neighbour_first[w->list[i]]; e < view->neighbour_first[w->list[i] + 1]; e++) {
                enlist(w, view->neighbours[e]);
                join(w, w->list[i], view->neighbours[e]);
            }
        begin = end;
    }
    for (int32_t round = 0; round < AROUND; round++)
        for (int32_t i = moved; i < w->list_count; i++) {
            float sum[3];
            int32_t count = sum_around(w, w->list[i], true, sum);
            for (int32_t k = 0; k < 3; k++)
                w->vertex[w->list[i]].move[k] = follow * sum[k] / (float)count;
        }
}

/* How far from where it came a vertex may be. */
static float most_at(const part_work *w, int32_t v)
{
    int32_t coarse = w->view->coarse[v];
    return w->def->held[coarse] ? 0.0f : farthest * w->def->gap[coarse];
}

/* By what was found, but never far from where it came. */
static void move_vertex(const part_work *w, int32_t v)
{
    part_vertex *vertex = &w->vertex[v];
    float off[3];
    for (int32_t k = 0; k < 3; k++) {
        off[k] = vertex->x[k] + vertex->move[k] - vertex->from[k];
        vertex->way[k] = vertex->move[k] = 0.0f;
    }
    float length = length_of(off), most = most_at(w, v), scale = length > most ? most / length : 1.0f;
    for (int32_t k = 0; k < 3; k++)
        vertex->x[k] = vertex->from[k] + scale * off[k];
}

/* Square of the length that an edge may have. */
static float longest_square(const part_work *w, int32_t a, int32_t b)
{
    vec from = sub(w->vertex[a].from, w->vertex[b].from);
    vec rest = sub(w->view->rest + 3 * (size_t)a, w->view->rest + 3 * (size_t)b);
    return longest * longest * fmaxf(dot(from, from), dot(rest, rest));
}

/* How much of what an edge is too long a vertex takes, by that of the other end. */
static float give_of(const part_work *w, int32_t v)
{
    return w->def->held[w->view->coarse[v]] ? 0.0f : w->vertex[v].most > 0.0f ? heavy : 1.0f;
}

/* Makes an edge that is too long as long as it may be. Returns whether it was. */
static bool shorten(part_work *w, int32_t a, int32_t b)
{
    float *p = w->vertex[a].x, *q = w->vertex[b].x;
    vec d = sub(q, p);
    float most = longest_square(w, a, b), square = dot(d, d);
    if (!(square > 1.001f * most)) return false;
    float give[2] = {give_of(w, a), give_of(w, b)}, sum = give[0] + give[1];
    if (!(sum > 0.0f)) return false;
    enlist(w, b);
    join(w, a, b);
    float way = (1.0f - sqrtf(most / square)) / sum;
    const float step[3] = {way * d.x, way * d.y, way * d.z};
    for (int32_t k = 0; k < 3; k++) {
        p[k] += give[0] * step[k];
        q[k] -= give[1] * step[k];
    }
    return true;
}

/* Edges at what was moved are made no longer than they may be: the skin around comes along, as far as it has to. */
static void limit_edges(part_work *w, int32_t sweeps)
{
    const sup_part_view *view = w->view;
    bool any = true;
    for (int32_t sweep = 0; sweep < sweeps && any; sweep++) {
        any = false;
        for (int32_t i = 0; i < w->list_count; i++) {
            int32_t v = w->list[i];
            for (int32_t e = view->neighbour_first[v]; e < view->neighbour_first[v + 1]; e++) {
                int32_t other = view->neighbours[e];
                load_vertex(w, other);
                if ((w->state[other] & LISTED) && other < v) continue;
                any = shorten(w, v, other) || any;
            }
        }
    }
}

/* Bundles to compare again: they have moved; what has not, and is in something, is found from there. */
static void mark_dirty(part_work *w)
{
    for (int32_t i = 0; i < w->active_count; i++) {
        int32_t first = 3 * SUP_PART_BUNDLE * w->active[i], end = first + 3 * SUP_PART_BUNDLE;
        w->dirty[i] = 0;
        for (int32_t k = first; k < end && k < 3 * w->view->triangle_count && !w->dirty[i]; k++)
            w->dirty[i] = (w->state[w->view->triangles[k]] & LISTED) != 0;
    }
}

static void part_once(part_work *w)
{
    w->list_count = 0;
    make_patches(w);
    fit_patches(w);
    ask_patches(w);
    ask_hits(w);
    set_moves(w);
    spread(w);
    for (int32_t i = 0; i < w->list_count; i++)
        move_vertex(w, w->list[i]);
    limit_edges(w, SWEEPS);
    mark_dirty(w);
    for (int32_t i = 0; i < w->list_count; i++) {
        part_vertex *vertex = &w->vertex[w->list[i]];
        vertex->most = 0.0f;
        vertex->patch = NO_PATCH;
        w->state[w->list[i]] &= LOADED | KNOWN;
    }
    hit_place at = {-1, 0};
    for (const part_hit *hit = next_hit(w, &at); hit != NULL; hit = next_hit(w, &at))
        w->state[hit->outside] &= (unsigned char)~OUTSIDE;
}

/* What was moved in the last frame begins there, and comes back by degrees. */
static void know_moved(part_work *w)
{
    const float *offset = w->def->offset;
    for (int32_t v = 0; v < w->view->vertex_count; v++, offset += 3)
        if (offset[0] != 0.0f || offset[1] != 0.0f || offset[2] != 0.0f) know(w, v);
}

/* The best places of all rounds side by side. */
static void take_best(part_work *w)
{
    w->list_count = 0;
    for (int32_t i = 0, count = w->known_count; i < count; i++) {
        memcpy(w->vertex[w->known[i]].x, w->vertex[w->known[i]].best, sizeof w->vertex->x);
        enlist(w, w->known[i]);
    }
    limit_edges(w, LAST_SWEEPS);
}

static void write_back(const part_work *w)
{
    const sup_part_view *view = w->view;
    for (int32_t i = 0; i < w->known_count; i++) {
        int32_t v = w->known[i];
        part_vertex *vertex = &w->vertex[v];
        float *offset = w->def->offset + 3 * (size_t)v, length;
        for (int32_t k = 0; k < 3; k++)
            offset[k] = vertex->x[k] - vertex->from[k];
        length = length_of(offset);
        if (!(length > least_offset * w->def->gap[view->coarse[v]]) || !isfinite(length))
            memset(offset, 0, 3 * sizeof *offset);
        for (int32_t k = view->shown_first[v]; k < view->shown_first[v + 1]; k++)
            memcpy((unsigned char *)w->out.positions + (size_t)view->shown[k] * w->out.position_stride, vertex->x,
                   sizeof vertex->x);
    }
}

void sup_part_skin(const sup_context *context, const sup_part_view *view, const sup_part_def *def, void *scratch,
                   const sup_skin_out *out)
{
    size_t size;
    if (view->triangle_count == 0 || scratch == NULL || out->positions == NULL) return;
    part_work w = lay_out(view, scratch, &size);
    choose_kernels(&w);
    w.def = def;
    w.out = *out;
    if (w.out.position_stride == 0) w.out.position_stride = 3 * sizeof(float);
    memset(w.state, 0, (size_t)view->vertex_count);
    know_moved(&w);
    if (def->look) {
        choose_bundles(&w);
        int32_t round = 0;
        for (; find_hits(context, &w) > 0 && round < ROUNDS; round++) {
            keep_best(&w, round == 0);
            part_once(&w);
        }
        if (round > 0) keep_best(&w, false);
        take_best(&w);
    }
    write_back(&w);
}

void sup_part_mark(const sup_context *context, const sup_part_view *view, const float *positions, void *scratch,
                   unsigned char *crossed)
{
    size_t size;
    if (scratch == NULL) return;
    part_work w = lay_out(view, scratch, &size);
    choose_kernels(&w);
    w.positions = positions;
    w.bind_pose = true;
    memset(w.state, 0, (size_t)view->vertex_count);
    choose_bundles(&w);
    find_hits(context, &w);
    hit_place at = {-1, 0};
    for (const part_hit *hit = next_hit(&w, &at); hit != NULL; hit = next_hit(&w, &at))
        crossed[hit->triangle] = crossed[hit->of] = 1;
}

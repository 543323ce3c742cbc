/* untangle_find.c - what crosses in the shown skin: edges that go through triangles. See untangle.h.
 *
 * Triangles lie in clusters that were made once. Those near skin that detection has found near other skin are looked at:
 * boxes of clusters are compared, then triangles of clusters that meet, a cluster at a time. Bundles that lie beside each
 * other always meet; where all their normals go the same way, within a quarter turn, they are no fold, and are passed. */
#include "base/simd.h"
#include "untangle/untangle_internal.h"

#include <math.h>

enum {
    MOST_PATCHES = 256, /* of the skin that is inside */
    GRAIN_BOUND = SUP_DETECT_CLUSTER,
    GRAIN_FIND = 8
};

static void *carve(unsigned char *base, size_t *size, size_t count, size_t item)
{
    void *at = base == NULL ? NULL : base + *size;
    *size += (count * item + 63) / 64 * 64;
    return at;
}

static void choose_kernels(sup_untangle_work *w)
{
    w->boxes = sup_detect_choose_kernels();
    w->kernels = &sup_untangle_kernels_base;
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    int32_t lanes = sup_simd_lanes();
    if (lanes == 16) w->kernels = &sup_untangle_kernels_avx512;
    if (lanes == 8) w->kernels = &sup_untangle_kernels_avx2;
#endif
}

sup_untangle_work sup_untangle_lay_out(const sup_untangle_view *view, void *scratch, size_t *size)
{
    sup_untangle_work w = {.view = view,
                       .cluster_count = (view->triangle_count + SUP_UNTANGLE_CLUSTER - 1) / SUP_UNTANGLE_CLUSTER,
                       .patch_most = MOST_PATCHES};
    size_t n = (size_t)view->vertex_count, clusters = (size_t)w.cluster_count;
    *size = 0;
    w.vertex = carve(scratch, size, n, sizeof *w.vertex);
    w.state = carve(scratch, size, n, sizeof *w.state);
    w.wall = carve(scratch, size, n > 0 ? (size_t)view->neighbour_first[n] : 0, sizeof *w.wall);
    w.list = carve(scratch, size, n, sizeof *w.list);
    w.known = carve(scratch, size, n, sizeof *w.known);
    w.queue = carve(scratch, size, n, sizeof *w.queue);
    w.active = carve(scratch, size, clusters, sizeof *w.active);
    w.dirty = carve(scratch, size, clusters, sizeof *w.dirty);
    w.blocks = carve(scratch, size, clusters, sizeof *w.blocks);
    w.whole = carve(scratch, size, clusters, sizeof *w.whole);
    w.groups = carve(scratch, size, clusters / SUP_DETECT_CLUSTER + 1, sizeof *w.groups);
    w.hit_count = carve(scratch, size, clusters, sizeof *w.hit_count);
    w.hits = carve(scratch, size, clusters * SUP_UNTANGLE_HITS, sizeof *w.hits);
    w.patches = carve(scratch, size, (size_t)w.patch_most, sizeof *w.patches);
    if (scratch == NULL) return w;
    choose_kernels(&w);
    memset(w.state, 0, n);
    return w;
}

size_t sup_untangle_scratch(const sup_untangle_view *view)
{
    size_t size;
    sup_untangle_lay_out(view, NULL, &size);
    return size;
}

const float *sup_untangle_place(const sup_untangle_work *w, int32_t v)
{
    if (w->positions != NULL) return w->positions + 3 * (size_t)v;
    size_t shown = (size_t)w->view->shown[w->view->shown_first[v]];
    return (const float *)(const void *)((const unsigned char *)w->out.positions + shown * w->out.position_stride);
}

void sup_untangle_choose(sup_untangle_work *w)
{
    const sup_untangle_view *view = w->view;
    memset(w->dirty, 0, (size_t)w->cluster_count);
    for (int32_t v = 0; v < view->coarse_count; v++) {
        if (w->def->near[v] == 0 && (view->close[v] & SUP_UNTANGLE_BETWEEN) == 0) continue;
        for (int32_t i = view->coarse_first[v]; i < view->coarse_first[v + 1]; i++)
            w->dirty[view->coarse_clusters[i]] = 1;
    }
    for (int32_t b = 0; b < w->cluster_count; b++)
        if (w->dirty[b]) w->active[w->active_count++] = b;
    memset(w->dirty, 1, (size_t)w->active_count);
}

/* --- Bundles --- */

static void put_box(float (*boxes)[SUP_DETECT_CLUSTER], int32_t lane, const float *lower, const float *upper)
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

/* Triangles that do not count are nowhere. Returns the box of all. */
static sup_detect_box fill_block(const sup_untangle_work *w, int32_t cluster, sup_untangle_block *block)
{
    const sup_untangle_view *view = w->view;
    const float none[] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
    sup_detect_box whole = {{INFINITY, INFINITY, INFINITY, 0.0f}, {-INFINITY, -INFINITY, -INFINITY, 0.0f}};
    uint32_t counts = 0;
    for (int32_t lane = 0; lane < SUP_UNTANGLE_CLUSTER; lane++) {
        int32_t triangle = cluster * SUP_UNTANGLE_CLUSTER + lane, last = view->triangle_count - 1;
        const int32_t *corner = view->triangles + 3 * (size_t)(triangle < last ? triangle : last);
        for (int32_t c = 0; c < 3; c++) {
            bool loaded = (w->state[corner[c]] & SUP_UNTANGLE_LOADED) != 0;
            const float *p = loaded ? w->vertex[corner[c]].x : sup_untangle_place(w, corner[c]);
            for (int32_t k = 0; k < 3; k++)
                block->corner[3 * c + k][lane] = p[k];
        }
        if (triangle <= last && (w->positions != NULL || !view->crossed[triangle])) counts |= 1u << lane;
    }
    w->kernels->bound(block);
    for (int32_t lane = 0; lane < SUP_UNTANGLE_CLUSTER; lane++) {
        for (int32_t k = 0; k < 6 && !(counts >> lane & 1); k++)
            block->box[k][lane] = none[k];
        const float lower[] = {block->box[0][lane], block->box[1][lane], block->box[2][lane]};
        const float upper[] = {block->box[3][lane], block->box[4][lane], block->box[5][lane]};
        widen(whole.lower, whole.upper, lower, upper);
    }
    return whole;
}

static void bound_clusters(void *data, int32_t begin, int32_t end, int32_t worker)
{
    sup_untangle_work *w = data;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        if (!w->dirty[i]) continue;
        w->whole[i] = fill_block(w, w->active[i], &w->blocks[i]);
        put_box(w->groups[i / SUP_DETECT_CLUSTER], i % SUP_DETECT_CLUSTER, w->whole[i].lower, w->whole[i].upper);
    }
}

/* All normals of two clusters are within a quarter turn of each other: the axes are nearer to each other than that, by
 * both cones' angles. */
static bool same_way(const sup_untangle_block *a, const sup_untangle_block *b)
{
    float between = a->axis[0] * b->axis[0] + a->axis[1] * b->axis[1] + a->axis[2] * b->axis[2];
    float sine_a = sqrtf(1.0f - a->cosine * a->cosine), sine_b = sqrtf(1.0f - b->cosine * b->cosine);
    return a->cosine > 0.0f && b->cosine > 0.0f && a->cosine * b->cosine > sine_a * sine_b &&
           between > sine_a * b->cosine + sine_b * a->cosine;
}

/* Bundles that have a vertex in common, or are the same. */
static bool is_beside(const sup_untangle_view *view, int32_t a, int32_t b)
{
    if (a == b) return true;
    for (int32_t i = view->beside_first[a]; i < view->beside_first[a + 1]; i++)
        if (view->beside[i] == b) return true;
    return false;
}

/* --- Triangles --- */

static vec cross(vec a, vec b)
{
    return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

typedef struct part_triangle {
    int32_t index;
    const int32_t *corner;
    float p[3][3];
    vec normal;   /* twice the area long */
    float square; /* of that */
} part_triangle;

static const int32_t *corners_of(const sup_untangle_work *w, int32_t cluster, int32_t lane)
{
    return w->view->triangles + 3 * (size_t)(w->active[cluster] * SUP_UNTANGLE_CLUSTER + lane);
}

static part_triangle triangle_at(const sup_untangle_work *w, int32_t cluster, int32_t lane)
{
    part_triangle t = {.index = w->active[cluster] * SUP_UNTANGLE_CLUSTER + lane, .corner = corners_of(w, cluster, lane)};
    for (int32_t k = 0; k < 9; k++)
        t.p[k / 3][k % 3] = w->blocks[cluster].corner[k][lane];
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
                         const float height[3], sup_untangle_hit *hit)
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
    hit->height = height[far] / area;
    hit->share = edge / (edge + other);
    hit->edge = edge < other ? edge : other;
    return true;
}

/* Edges of `of` that go through `t`. Returns how many hits there are now. */
static int32_t cut(const part_triangle *t, const part_triangle *of, sup_untangle_hit *hits, int32_t count)
{
    float height[3];
    for (int32_t c = 0; c < 3; c++)
        height[c] = dot(t->normal, sub(of->p[c], t->p[0]));
    for (int32_t c = 0; c < 3 && t->square > 0.0f; c++) {
        int32_t next = (c + 1) % 3, in = height[c] < height[next] ? c : next, far = in == c ? next : c;
        if (!(height[in] < 0.0f && height[far] >= 0.0f) || count == SUP_UNTANGLE_HITS) continue;
        if (goes_through(t, of, in, far, height, &hits[count])) count++;
    }
    return count;
}

/* Triangles of cluster i against those of cluster j. */
static int32_t compare(const sup_untangle_work *w, int32_t i, int32_t j, sup_untangle_hit *hits, int32_t count)
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

/* Beside each other, and no fold. In the bind pose nothing is passed. */
static bool is_smooth(const sup_untangle_work *w, int32_t i, int32_t j)
{
    return w->positions == NULL && same_way(&w->blocks[i], &w->blocks[j]) &&
           is_beside(w->view, w->active[i], w->active[j]);
}

/* Bundles that moved against all: where neither did, nothing crosses. */
static void find_some(void *data, int32_t begin, int32_t end, int32_t worker)
{
    sup_untangle_work *w = data;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t count = 0;
        int32_t group = w->all_dirty ? i / SUP_DETECT_CLUSTER : 0; /* those before have looked at this one */
        for (; group * SUP_DETECT_CLUSTER < w->active_count && w->dirty[i]; group++) {
            uint32_t clusters = w->boxes->meet(w->groups[group], &w->whole[i]);
            for (; clusters != 0; clusters &= clusters - 1) {
                int32_t j = group * SUP_DETECT_CLUSTER + __builtin_ctz(clusters);
                if (j < w->active_count && (j >= i || !w->dirty[j]) && !is_smooth(w, i, j))
                    count = compare(w, i, j, w->hits + (size_t)i * SUP_UNTANGLE_HITS, count);
            }
        }
        w->hit_count[i] = count;
    }
}

int32_t sup_untangle_find(const sup_context *context, sup_untangle_work *w)
{
    w->all_dirty = true;
    for (int32_t i = 0; i < w->active_count && w->all_dirty; i++)
        w->all_dirty = w->dirty[i] != 0;
    sup_parallel(context, w->active_count, GRAIN_BOUND, bound_clusters, w);
    sup_parallel(context, w->active_count, GRAIN_FIND, find_some, w);
    int32_t total = 0;
    for (int32_t i = 0; i < w->active_count; i++)
        total += w->hit_count[i];
    return total;
}

const sup_untangle_hit *sup_untangle_next(const sup_untangle_work *w, sup_untangle_at *at)
{
    while (at->cluster < 0 || at->next >= w->hit_count[at->cluster]) {
        if (++at->cluster >= w->active_count) return NULL;
        at->next = 0;
    }
    return &w->hits[(size_t)at->cluster * SUP_UNTANGLE_HITS + (size_t)at->next++];
}

void sup_untangle_mark(const sup_context *context, const sup_untangle_view *view, const float *positions, void *scratch,
                   unsigned char *crossed)
{
    size_t size;
    if (scratch == NULL) return;
    sup_untangle_work w = sup_untangle_lay_out(view, scratch, &size);
    w.positions = positions;
    for (; w.active_count < w.cluster_count; w.active_count++) {
        w.active[w.active_count] = w.active_count;
        w.dirty[w.active_count] = 1;
    }
    sup_untangle_find(context, &w);
    sup_untangle_at at = {-1, 0};
    for (const sup_untangle_hit *hit = sup_untangle_next(&w, &at); hit != NULL; hit = sup_untangle_next(&w, &at))
        crossed[hit->triangle] = crossed[hit->of] = 1;
}

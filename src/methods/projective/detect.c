/* detect.c - the step of detection: points, boxes, vertices in tetrahedra, pairs, rows. See detect.h. */
#include "base/simd.h"
#include "methods/projective/detect_internal.h"

#include <math.h>

static const uint64_t no_pair = UINT64_MAX;
static const float keep_distance = 0.25f; /* of the mean edge: a pair ends this far above its triangle (3.2.5) */
static const float keep_beside = 0.5f;    /* of the mean edge: and this far beside it */
static const float facing_new = 0.3f;     /* cosine between the normals of a new pair, at most */
static const float facing_kept = 0.5f;    /* and of one that is there */

enum {
    GRAIN_POINTS = 512, /* vertices of a piece of work */
    GRAIN_BUNDLES = 2,  /* of blocks */
    GRAIN_BOXES = 64,   /* cells whose box is made */
    GRAIN_CELLS = 16,   /* cells that are tested */
    GRAIN_PAIRS = 256,
    WALK_STEPS = 8 /* triangles a pair passes in one step at most */
};

static void *carve(unsigned char *base, size_t *size, size_t count, size_t item)
{
    void *at = base == NULL ? NULL : base + *size;
    *size += (count * item + 63) / 64 * 64;
    return at;
}

sup_detect_arrays sup_detect_layout(const sup_detect *detect, void *state)
{
    unsigned char *base = state;
    size_t n = (size_t)detect->vertex_count, size = 0;
    int32_t bundles = sup_detect_bundles(detect->block_count);
    sup_detect_arrays a;
    a.points = carve(base, &size, 8 * n, sizeof *a.points);
    a.blocks = carve(base, &size, 3 * (size_t)detect->block_count * SUP_DETECT_BLOCK, sizeof *a.blocks);
    a.block_box = carve(base, &size, (size_t)bundles, sizeof *a.block_box);
    a.bundle_box = carve(base, &size, (size_t)sup_detect_bundles(bundles), sizeof *a.bundle_box);
    a.cell_box = carve(base, &size, (size_t)detect->cell_count, sizeof *a.cell_box);
    a.nearest = carve(base, &size, n, sizeof *a.nearest);
    a.pair = carve(base, &size, n, sizeof *a.pair);
    a.row_count = carve(base, &size, n / GRAIN_PAIRS + 1, sizeof *a.row_count);
    a.size = size;
    return a;
}

size_t sup_detect_state_size(const sup_detect *detect)
{
    return sup_detect_layout(detect, NULL).size;
}

void sup_detect_reset(const sup_detect *detect, void *state)
{
    sup_detect_arrays a = sup_detect_layout(detect, state);
    if (a.pair == NULL) return;
    for (int32_t v = 0; v < detect->vertex_count; v++)
        a.pair[v] = -1;
}

const int32_t *sup_detect_pairs(const sup_detect *detect, const void *state)
{
    return sup_detect_layout(detect, (void *)state).pair;
}

typedef struct detect_work {
    const sup_detect *detect;
    const sup_detect_input *input;
    const sup_detect_kernels *kernels;
    sup_detect_arrays a;
    sup_contact *rows;
    bool deepest; /* keep the deepest hit and forget about slack: the bind pose is looked at */
} detect_work;

static const sup_detect_kernels *choose_kernels(void)
{
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    int32_t lanes = sup_simd_lanes();
    if (lanes == 16) return &sup_detect_kernels_avx512;
    if (lanes == 8) return &sup_detect_kernels_avx2;
#endif
    return &sup_detect_kernels_base;
}

/* --- Points and boxes --- */

static void place_points(void *data, int32_t begin, int32_t end, int32_t worker)
{
    detect_work *work = data;
    const sup_detect *d = work->detect;
    float *feet = work->a.points + 4 * (size_t)d->vertex_count;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        const float *from = work->input->piece_ends + 6 * (size_t)d->foot_piece[v];
        const float *skin = work->input->skin + (size_t)v * (size_t)work->input->skin_stride;
        float *to = work->a.points + 4 * (size_t)v, *foot = feet + 4 * (size_t)v;
        for (int32_t k = 0; k < 3; k++) {
            to[k] = skin[k];
            foot[k] = from[k] + d->foot_at[v] * (from[3 + k] - from[k]);
        }
        to[3] = foot[3] = 0.0f;
        atomic_store_explicit(&work->a.nearest[v], no_pair, memory_order_relaxed);
    }
}

static sup_detect_box box_none(void)
{
    return (sup_detect_box){{INFINITY, INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY, -INFINITY}};
}

/* Bounds that are not numbers are left out. */
static void box_add(sup_detect_box *box, const float *lower, const float *upper)
{
    for (int32_t k = 0; k < 4; k++) {
        box->lower[k] = lower[k] < box->lower[k] ? lower[k] : box->lower[k];
        box->upper[k] = upper[k] > box->upper[k] ? upper[k] : box->upper[k];
    }
}

/* Box i of a bundle. */
static void put_box(sup_detect_boxes boxes, int32_t i, const sup_detect_box *box)
{
    for (int32_t k = 0; k < 3; k++) {
        boxes[k][i] = box->lower[k];
        boxes[3 + k][i] = box->upper[k];
    }
}

static sup_detect_box place_block(detect_work *work, int32_t block)
{
    const int32_t *vertex = work->detect->block_vertex + (size_t)block * SUP_DETECT_BLOCK;
    float *to = work->a.blocks + 3 * (size_t)block * SUP_DETECT_BLOCK;
    sup_detect_box box = box_none();
    for (int32_t i = 0; i < SUP_DETECT_BLOCK; i++) {
        const float *p = work->a.points + 4 * (size_t)(vertex[i] >= 0 ? vertex[i] : 0);
        for (int32_t k = 0; k < 3; k++)
            to[k * SUP_DETECT_BLOCK + i] = vertex[i] >= 0 ? p[k] : INFINITY;
        if (vertex[i] >= 0) box_add(&box, p, p);
    }
    return box;
}

static void bound_bundles(void *data, int32_t begin, int32_t end, int32_t worker)
{
    detect_work *work = data;
    const int32_t blocks = work->detect->block_count;
    SUP_UNUSED(worker);
    for (int32_t bundle = begin; bundle < end; bundle++) {
        sup_detect_box whole = box_none();
        for (int32_t i = 0; i < SUP_DETECT_BLOCK; i++) {
            int32_t block = bundle * SUP_DETECT_BLOCK + i;
            sup_detect_box box = block < blocks ? place_block(work, block) : box_none();
            put_box(work->a.block_box[bundle], i, &box);
            box_add(&whole, box.lower, box.upper);
        }
        put_box(work->a.bundle_box[bundle / SUP_DETECT_BLOCK], bundle % SUP_DETECT_BLOCK, &whole);
    }
}

static void bound_cells(void *data, int32_t begin, int32_t end, int32_t worker)
{
    detect_work *work = data;
    const sup_detect *d = work->detect;
    SUP_UNUSED(worker);
    for (int32_t cell = begin; cell < end; cell++) {
        sup_detect_box box = box_none();
        for (int32_t i = d->cell_point_first[cell]; i < d->cell_point_first[cell + 1]; i++) {
            const float *p = work->a.points + 4 * (size_t)d->cell_point[i];
            box_add(&box, p, p);
        }
        work->a.cell_box[cell] = box;
    }
}

/* Boxes around nothing where the last bundle of bundles is not full. */
static void fill_bundles(detect_work *work)
{
    int32_t bundles = sup_detect_bundles(work->detect->block_count);
    const sup_detect_box none = box_none();
    for (int32_t i = bundles; i % SUP_DETECT_BLOCK != 0; i++)
        put_box(work->a.bundle_box[i / SUP_DETECT_BLOCK], i % SUP_DETECT_BLOCK, &none);
}

/* --- One vertex and one triangle --- */

typedef struct vec {
    float x, y, z;
} vec;

static vec load(const float *p)
{
    return (vec){p[0], p[1], p[2]};
}

static vec sub(vec a, vec b)
{
    return (vec){a.x - b.x, a.y - b.y, a.z - b.z};
}

static vec madd(vec a, float s, vec b)
{
    return (vec){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
}

static float dot(vec a, vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static vec cross(vec a, vec b)
{
    return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static vec skin_point(const detect_work *work, int32_t v)
{
    return load(work->a.points + 4 * (size_t)v);
}

/* Not of unit length: twice the area. */
static vec area_normal(const detect_work *work, int32_t triangle)
{
    const int32_t *t = work->detect->triangles + 3 * (size_t)triangle;
    vec a = skin_point(work, t[0]);
    return cross(sub(skin_point(work, t[1]), a), sub(skin_point(work, t[2]), a));
}

/* Zero where there is none. */
static vec unit(vec a)
{
    float length = sqrtf(dot(a, a));
    return length > 0.0f ? (vec){a.x / length, a.y / length, a.z / length} : (vec){0.0f, 0.0f, 0.0f};
}

static vec vertex_normal(const detect_work *work, int32_t v)
{
    float normal[3];
    sup_detect_normal(work->detect, work->a.points, 4, v, normal);
    return load(normal);
}

static bool in_ring(const sup_detect *d, int32_t v, int32_t other)
{
    for (int32_t i = d->ring_first[v]; i < d->ring_first[v + 1]; i++)
        if (d->ring[i] >= other) return d->ring[i] == other;
    return false;
}

/* A vertex touches neither its own neighbourhood nor its own piece of bone. */
static bool may_touch(const sup_detect *d, int32_t v, int32_t triangle)
{
    const int32_t *t = d->triangles + 3 * (size_t)triangle;
    if (t[0] == v || t[1] == v || t[2] == v) return false;
    for (int32_t k = 0; k < 3; k++)
        if (d->foot_piece[t[k]] == d->foot_piece[v]) return false;
    return !in_ring(d, v, t[0]) && !in_ring(d, v, t[1]) && !in_ring(d, v, t[2]);
}

/* --- Vertices in tetrahedra --- */

/* The least key wins, whatever the order: the same for any number of threads. */
static void offer(_Atomic uint64_t *place, uint64_t key)
{
    uint64_t old = atomic_load_explicit(place, memory_order_relaxed);
    while (key < old &&
           !atomic_compare_exchange_weak_explicit(place, &old, key, memory_order_relaxed, memory_order_relaxed)) {
    }
}

static void consider(detect_work *work, int32_t v, int32_t triangle)
{
    const sup_detect *d = work->detect;
    if (!may_touch(d, v, triangle)) return;
    vec normal = unit(area_normal(work, triangle));
    vec corner = skin_point(work, d->triangles[3 * (size_t)triangle]);
    float depth = dot(normal, sub(corner, skin_point(work, v)));
    if (!(depth > (work->deepest ? 0.0f : d->slack[v])) || !isfinite(depth)) return;
    if (!(dot(normal, vertex_normal(work, v)) < facing_new)) return;
    float rank = work->deepest ? 1.0f / depth : depth; /* positive floats are in the order of their bits */
    uint32_t bits;
    memcpy(&bits, &rank, sizeof bits);
    offer(&work->a.nearest[v], (uint64_t)bits << 32 | (uint32_t)triangle);
}

/* A cell that is tested: its tetrahedra are made ready when the first vertex is near. */
typedef struct cell_test {
    int32_t cell, first, count;
    int32_t own_begin, own_end; /* blocks of the same piece of bone: never touched */
    bool mapped;
    sup_detect_maps maps;
} cell_test;

static void test_block(detect_work *work, cell_test *test, int32_t block)
{
    const sup_detect *d = work->detect;
    if (block >= test->own_begin && block < test->own_end) return;
    const size_t lanes = (size_t)block * SUP_DETECT_BLOCK;
    uint32_t near = work->kernels->within(work->a.blocks + 3 * lanes, &work->a.cell_box[test->cell]);
    if (near != 0 && !test->mapped) {
        work->kernels->map(work->a.points, d->tets + 4 * (size_t)test->first, test->count, test->maps);
        test->mapped = true;
    }
    for (; near != 0; near &= near - 1) {
        int32_t v = d->block_vertex[lanes + (size_t)__builtin_ctz(near)];
        if (v < 0) continue; /* only where a cell has no end */
        uint64_t inside = work->kernels->test(test->maps, test->count, work->a.points + 4 * (size_t)v);
        for (; inside != 0; inside &= inside - 1)
            consider(work, v, d->tet_triangle[test->first + __builtin_ctzll(inside)]);
    }
}

static void test_cell(detect_work *work, int32_t piece, int32_t cell)
{
    const sup_detect *d = work->detect;
    cell_test test;
    test.cell = cell;
    test.first = d->cell_tet_first[cell];
    test.count = d->cell_tet_first[cell + 1] - test.first;
    test.own_begin = d->piece_block_first[piece];
    test.own_end = d->piece_block_first[piece + 1];
    test.mapped = false;
    if (test.count == 0) return;
    int32_t groups = sup_detect_bundles(sup_detect_bundles(d->block_count));
    for (int32_t group = 0; group < groups; group++) {
        uint32_t bundles = work->kernels->meet(work->a.bundle_box[group], &work->a.cell_box[cell]);
        for (; bundles != 0; bundles &= bundles - 1) {
            int32_t bundle = group * SUP_DETECT_BLOCK + __builtin_ctz(bundles);
            uint32_t blocks = work->kernels->meet(work->a.block_box[bundle], &work->a.cell_box[cell]);
            for (; blocks != 0; blocks &= blocks - 1)
                test_block(work, &test, bundle * SUP_DETECT_BLOCK + __builtin_ctz(blocks));
        }
    }
}

static void test_cells(void *data, int32_t begin, int32_t end, int32_t worker)
{
    detect_work *work = data;
    const int32_t *first = work->detect->piece_cell_first;
    int32_t piece = 0;
    SUP_UNUSED(worker);
    for (int32_t cell = begin; cell < end; cell++) {
        while (first[piece + 1] <= cell)
            piece++;
        test_cell(work, piece, cell);
    }
}

/* --- Pairs and rows --- */

/* A vertex seen from a triangle. */
typedef struct contact_view {
    vec normal;      /* unit */
    float height;    /* of the vertex above the plane */
    float distance2; /* to the nearest point of the triangle */
    float weight[3]; /* of that point */
} contact_view;

/* Weight of the second end at the point of segment ab nearest to p. */
static float along(vec p, vec a, vec b)
{
    vec d = sub(b, a);
    float dd = dot(d, d), s = dd > 0.0f ? dot(sub(p, a), d) / dd : 0.0f;
    return s < 0.0f ? 0.0f : s > 1.0f ? 1.0f : s;
}

static contact_view look(const detect_work *work, vec p, int32_t triangle)
{
    const int32_t *t = work->detect->triangles + 3 * (size_t)triangle;
    const vec c[3] = {skin_point(work, t[0]), skin_point(work, t[1]), skin_point(work, t[2])};
    vec area = cross(sub(c[1], c[0]), sub(c[2], c[0]));
    contact_view view = {.normal = unit(area), .distance2 = INFINITY};
    view.height = dot(view.normal, sub(p, c[0]));
    float whole = dot(area, area), weight[3], least = INFINITY;
    for (int32_t k = 0; k < 3; k++) {
        weight[k] = dot(area, cross(sub(c[(k + 1) % 3], p), sub(c[(k + 2) % 3], p))) / whole;
        least = weight[k] < least ? weight[k] : least;
    }
    if (whole > 0.0f && least >= 0.0f) {
        float sum = weight[0] + weight[1] + weight[2];
        for (int32_t k = 0; k < 3; k++)
            view.weight[k] = weight[k] / sum;
        view.distance2 = view.height * view.height;
        return view;
    }
    for (int32_t k = 0; k < 3; k++) { /* outside: on the nearest edge */
        int32_t next = (k + 1) % 3;
        float s = along(p, c[k], c[next]);
        vec off = sub(p, madd(c[k], s, sub(c[next], c[k])));
        if (!(dot(off, off) < view.distance2)) continue;
        view.distance2 = dot(off, off);
        view.weight[k] = 1.0f - s;
        view.weight[next] = s;
        view.weight[(k + 2) % 3] = 0.0f;
    }
    return view;
}

/* Down to the triangle nearest to the vertex, from neighbour to neighbour. `above`: the most its plane may lie below
 * the vertex. */
static int32_t walk(const detect_work *work, int32_t v, int32_t triangle, vec normal, float above, float facing,
                    contact_view *view)
{
    vec p = skin_point(work, v);
    *view = look(work, p, triangle);
    for (int32_t step = 0; step < WALK_STEPS; step++) {
        const int32_t *beside = work->detect->beside + 3 * (size_t)triangle;
        int32_t best = -1;
        contact_view best_view = *view;
        for (int32_t k = 0; k < 3; k++) {
            if (beside[k] < 0 || !may_touch(work->detect, v, beside[k])) continue;
            contact_view next = look(work, p, beside[k]);
            if (!(next.distance2 < best_view.distance2) || !(next.height < above)) continue;
            if (!(dot(next.normal, normal) < facing)) continue;
            best = beside[k];
            best_view = next;
        }
        if (best < 0) break;
        triangle = best;
        *view = best_view;
    }
    return triangle;
}

/* How far the prism of a triangle reaches: a vertex deeper than that has come out on the other side. */
static float prism_depth2(const detect_work *work, int32_t triangle)
{
    const int32_t *t = work->detect->triangles + 3 * (size_t)triangle;
    float most = 0.0f;
    for (int32_t k = 0; k < 3; k++) {
        vec d = sub(skin_point(work, t[k]), skin_point(work, work->detect->vertex_count + t[k]));
        float dd = dot(d, d);
        most = dd > most ? dd : most;
    }
    return most;
}

static bool stays(const detect_work *work, int32_t v, int32_t triangle, vec normal, const contact_view *view)
{
    float edge = work->detect->edge[0], reach = keep_beside * edge;
    float beside2 = view->distance2 - view->height * view->height;
    return view->height < keep_distance * edge - work->detect->slack[v] && beside2 < reach * reach &&
           dot(view->normal, view->normal) > 0.5f && dot(view->normal, normal) < facing_kept &&
           view->distance2 < 2.0f * prism_depth2(work, triangle);
}

/* The triangle that the vertex touches now, -1 for none. */
static int32_t update_pair(const detect_work *work, int32_t v, contact_view *view)
{
    uint64_t key = atomic_load_explicit(&work->a.nearest[v], memory_order_relaxed);
    int32_t triangle = work->a.pair[v];
    if (triangle < 0 && key == no_pair) return -1;
    vec normal = vertex_normal(work, v);
    if (triangle >= 0) {
        float above = keep_distance * work->detect->edge[0];
        triangle = walk(work, v, triangle, normal, above, facing_kept, view);
        if (stays(work, v, triangle, normal, view)) return triangle;
    }
    if (key == no_pair) return -1;
    return walk(work, v, (int32_t)(key & 0xffffffffu), normal, 0.0f, facing_new, view);
}

static sup_contact make_row(const detect_work *work, int32_t v, int32_t triangle, const contact_view *view)
{
    sup_contact row = {.vertex = v,
                       .normal = {view->normal.x, view->normal.y, view->normal.z},
                       .offset = -work->detect->slack[v],
                       .stiffness = work->input->stiffness,
                       .friction = work->input->friction};
    for (int32_t k = 0; k < 3; k++) {
        row.corner[k] = work->detect->triangles[3 * (size_t)triangle + (size_t)k];
        row.weight[k] = view->weight[k];
    }
    return row;
}

static void update_pairs(void *data, int32_t begin, int32_t end, int32_t worker)
{
    detect_work *work = data;
    int32_t count = 0;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        contact_view view;
        int32_t triangle = update_pair(work, v, &view);
        work->a.pair[v] = triangle;
        if (triangle >= 0) work->rows[begin + count++] = make_row(work, v, triangle, &view);
    }
    work->a.row_count[begin / GRAIN_PAIRS] = count;
}

static void find_nearest(const sup_context *context, detect_work *work)
{
    const sup_detect *d = work->detect;
    sup_parallel(context, d->vertex_count, GRAIN_POINTS, place_points, work);
    sup_parallel(context, sup_detect_bundles(d->block_count), GRAIN_BUNDLES, bound_bundles, work);
    fill_bundles(work);
    sup_parallel(context, d->cell_count, GRAIN_BOXES, bound_cells, work);
    sup_parallel(context, d->cell_count, GRAIN_CELLS, test_cells, work);
}

int32_t sup_detect_step(const sup_context *context, const sup_detect *detect, void *state,
                        const sup_detect_input *input, sup_contact *rows)
{
    detect_work work = {detect, input, choose_kernels(), sup_detect_layout(detect, state), rows, false};
    find_nearest(context, &work);
    sup_parallel(context, detect->vertex_count, GRAIN_PAIRS, update_pairs, &work);
    return sup_contact_close_gaps(rows, detect->vertex_count, GRAIN_PAIRS, work.a.row_count);
}

void sup_detect_depths(const sup_context *context, const sup_detect *detect, void *state, const sup_detect_input *input,
                       float *depth)
{
    detect_work work = {detect, input, choose_kernels(), sup_detect_layout(detect, state), NULL, true};
    find_nearest(context, &work);
    for (int32_t v = 0; v < detect->vertex_count; v++) {
        uint64_t key = atomic_load_explicit(&work.a.nearest[v], memory_order_relaxed);
        uint32_t bits = (uint32_t)(key >> 32);
        float rank = 0.0f;
        memcpy(&rank, &bits, sizeof rank);
        depth[v] = key == no_pair ? 0.0f : 1.0f / rank;
    }
}

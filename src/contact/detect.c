/* detect.c - the step of detection: points, boxes, vertices in tetrahedra, pairs, rows. See detect.h. */
#include "base/simd.h"
#include "contact/detect_internal.h"

#include <math.h>

static const uint64_t no_pair = UINT64_MAX;
static const float reach_of_gap = 1.3f;    /* of the gap: pairs are found before they push */
static const float most_of_own_gap = 2.0f; /* times that of the vertex: the gap of a pair at most */
static const float keep_distance = 1.7f;   /* of the gap: a pair ends this far above its triangle, */
static const float keep_beside = 0.5f;     /* of the mean edge: and this far beside it (3.2.5) */
/* Of the gap, by kinship: where skin touches. In a fold, a gap between next neighbours is flesh that is pressed in. */
static const float touch_gap[] = {0.85f, 0.85f, 0.2f};
static const float own_normal = 0.5f; /* share of the vertex's own normal in the way it is pushed */
/* Cosine between the normals of a new pair, at most, and what a pair that is there may have more. Skin that folds on
 * itself has to be folded further: the next triangles of a thin finger stand at right angles. */
static const float facing[] = {0.3f, 0.0f, -0.5f}; /* by kinship */
static const float facing_kept = 0.2f;
static const float facing_near = 0.5f; /* and what may cross, pair or not */
static const float fold_depth =
    2.0f; /* of the gap: skin that is deeper within skin of its segment got there from inside */
static const float sound_depth = 0.25f; /* of the gap: deeper in the bind pose, prisms of one segment overlap */
static const float push_gap = 1.0f;     /* of the gap: farthest that a row pushes in one step, */
static const float limit_gap = 2.0f;    /* and depth from which on the push no longer grows */
static const float press_flesh = 0.5f;  /* of the flesh between the bones: beyond half of this depth rows give way */
static const float least_press = 1e-3f;
static const float apart_depth = 0.1f; /* of the gap: skin that pushes by no more is apart */
/* Of a row, if the caller does not say. Harder rows hold no better: they toss skin about that moves fast. */
static const float row_stiffness = 1.0f;
static const float row_damping = 0.3f; /* of the row's stiffness */

enum {
    GRAIN_POINTS = 512, /* vertices of a segment of work */
    GRAIN_FACES = 1024,
    GRAIN_CLUSTERS = 2, /* of blocks */
    GRAIN_BOXES = 64,  /* cells whose box is made */
    GRAIN_CELLS = 16,  /* cells that are tested */
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
    int32_t clusters = sup_detect_clusters(detect->block_count);
    sup_detect_arrays a;
    a.points = carve(base, &size, 8 * n, sizeof *a.points);
    a.skin = carve(base, &size, 4 * n, sizeof *a.skin);
    a.normal = carve(base, &size, 4 * n, sizeof *a.normal);
    a.flesh = carve(base, &size, 4 * n, sizeof *a.flesh);
    a.area = carve(base, &size, 4 * (size_t)detect->triangle_count, sizeof *a.area);
    a.blocks =
        carve(base, &size, (size_t)detect->block_count * SUP_DETECT_CLUSTER_ROWS * SUP_DETECT_CLUSTER, sizeof *a.blocks);
    a.block_segment = carve(base, &size, (size_t)detect->block_count, sizeof *a.block_segment);
    a.block_folds = carve(base, &size, (size_t)detect->block_count, sizeof *a.block_folds);
    a.block_box = carve(base, &size, (size_t)clusters, sizeof *a.block_box);
    a.cluster_box = carve(base, &size, (size_t)sup_detect_clusters(clusters), sizeof *a.cluster_box);
    a.cell_box = carve(base, &size, (size_t)detect->cell_count, sizeof *a.cell_box);
    a.nearest = carve(base, &size, n, sizeof *a.nearest);
    a.pair = carve(base, &size, n, sizeof *a.pair);
    a.near = carve(base, &size, n, sizeof *a.near);
    a.apart = carve(base, &size, (size_t)detect->segment_count, sizeof *a.apart);
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
    if (a.pair == NULL || a.apart == NULL) return;
    for (int32_t v = 0; v < detect->vertex_count; v++) {
        a.pair[v] = -1;
        a.near[v] = 0;
    }
    memset(a.apart, 0, (size_t)detect->segment_count);
}

const int32_t *sup_detect_pairs(const sup_detect *detect, const void *state)
{
    return sup_detect_layout(detect, (void *)state).pair;
}

const unsigned char *sup_detect_near(const sup_detect *detect, const void *state)
{
    return (const unsigned char *)sup_detect_layout(detect, (void *)state).near;
}

typedef struct detect_work {
    const sup_detect *detect;
    const sup_detect_input *input;
    const sup_detect_kernels *kernels;
    sup_detect_arrays a;
    sup_contact *rows;
    int32_t *folds; /* as in sup_detect, to be written: the bind pose is looked at; else NULL */
} detect_work;

const sup_detect_kernels *sup_detect_choose_kernels(void)
{
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    int32_t lanes = sup_simd_lanes();
    if (lanes == 16) return &sup_detect_kernels_avx512;
    if (lanes == 8) return &sup_detect_kernels_avx2;
#endif
    return &sup_detect_kernels_base;
}

/* --- Points and boxes --- */

static void put_row(float *to, sup_four row)
{
    memcpy(to, &row, sizeof row);
}

/* Zero where there is none. */
static sup_four unit_row(sup_four v)
{
    float length = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    return length > 0.0f ? v / sup_four_splat(length) : sup_four_splat(0.0f);
}

/* The skin, its feet, and the way between them. */
static void place_skin(void *data, int32_t begin, int32_t end, int32_t worker)
{
    detect_work *work = data;
    const sup_detect *d = work->detect;
    float *feet = work->a.points + 4 * (size_t)d->vertex_count;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        const float *ends = work->input->segment_ends + 6 * (size_t)d->foot_segment[v];
        const float *skin = work->input->skin + (size_t)v * (size_t)work->input->skin_stride;
        sup_four at = {skin[0], skin[1], skin[2], 0.0f}, from = {ends[0], ends[1], ends[2], 0.0f};
        sup_four to = {ends[3], ends[4], ends[5], 0.0f}, foot = from + sup_four_splat(d->foot_at[v]) * (to - from);
        put_row(work->a.skin + 4 * (size_t)v, at);
        put_row(feet + 4 * (size_t)v, foot);
        put_row(work->a.flesh + 4 * (size_t)v, unit_row(at - foot));
        atomic_store_explicit(&work->a.nearest[v], no_pair, memory_order_relaxed);
        atomic_store_explicit(&work->a.near[v], 0, memory_order_relaxed);
    }
}

static void place_faces(void *data, int32_t begin, int32_t end, int32_t worker)
{
    detect_work *work = data;
    SUP_UNUSED(worker);
    for (int32_t t = begin; t < end; t++) {
        const int32_t *corner = work->detect->triangles + 3 * (size_t)t;
        sup_four a = sup_four_load(work->a.skin + 4 * (size_t)corner[0]);
        sup_four e = sup_four_load(work->a.skin + 4 * (size_t)corner[1]) - a;
        sup_four f = sup_four_load(work->a.skin + 4 * (size_t)corner[2]) - a;
        put_row(work->a.area + 4 * (size_t)t,
                __builtin_shufflevector(e, e, 1, 2, 0, 3) * __builtin_shufflevector(f, f, 2, 0, 1, 3) -
                    __builtin_shufflevector(e, e, 2, 0, 1, 3) * __builtin_shufflevector(f, f, 1, 2, 0, 3));
    }
}

/* Normals, and the skin pushed out along them. */
static void place_points(void *data, int32_t begin, int32_t end, int32_t worker)
{
    detect_work *work = data;
    const sup_detect *d = work->detect;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        sup_four sum = sup_four_splat(0.0f);
        for (int32_t i = d->fan_first[v]; i < d->fan_first[v + 1]; i++)
            sum = sum + sup_four_load(work->a.area + 4 * (size_t)d->fan[i]);
        float length = sqrtf(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]);
        sup_four normal = sum * sup_four_splat(length > 0.0f ? 1.0f / length : 0.0f);
        put_row(work->a.normal + 4 * (size_t)v, normal);
        put_row(work->a.points + 4 * (size_t)v,
                sup_four_load(work->a.skin + 4 * (size_t)v) + sup_four_splat(reach_of_gap * d->gap[v]) * normal);
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

/* Box i of a cluster. */
static void put_box(sup_detect_boxes boxes, int32_t i, const sup_detect_box *box)
{
    for (int32_t k = 0; k < 3; k++) {
        boxes[k][i] = box->lower[k];
        boxes[3 + k][i] = box->upper[k];
    }
}

static float *block_at(const detect_work *work, int32_t block)
{
    return work->a.blocks + (size_t)block * SUP_DETECT_CLUSTER_ROWS * SUP_DETECT_CLUSTER;
}

static void put_lane(float *rows, int32_t lane, const float *p)
{
    for (int32_t k = 0; k < 3; k++)
        rows[k * SUP_DETECT_CLUSTER + lane] = p[k];
}

static sup_detect_box place_block(detect_work *work, int32_t block)
{
    static const float none[3] = {INFINITY, INFINITY, INFINITY};
    const sup_detect *d = work->detect;
    const int32_t *vertex = d->block_vertex + (size_t)block * SUP_DETECT_CLUSTER;
    float *rows = block_at(work, block);
    sup_detect_box box = box_none();
    int32_t segment = vertex[0] >= 0 ? d->foot_segment[vertex[0]] : -1;
    uint32_t folds = 0;
    for (int32_t i = 0; i < SUP_DETECT_CLUSTER; i++) {
        size_t v = (size_t)(vertex[i] >= 0 ? vertex[i] : 0);
        const float *p = work->a.skin + 4 * v;
        put_lane(rows, i, vertex[i] >= 0 ? p : none);
        put_lane(rows + 3 * SUP_DETECT_CLUSTER, i, work->a.normal + 4 * v);
        put_lane(rows + 6 * SUP_DETECT_CLUSTER, i, work->a.flesh + 4 * v);
        if (vertex[i] < 0) continue;
        box_add(&box, p, p);
        if (d->foot_segment[v] != segment) segment = -1;
        folds |= (uint32_t)(work->folds != NULL || d->folds[v] != 0) << i;
    }
    work->a.block_segment[block] = segment;
    work->a.block_folds[block] = folds;
    return box;
}

static void bound_clusters(void *data, int32_t begin, int32_t end, int32_t worker)
{
    detect_work *work = data;
    const int32_t blocks = work->detect->block_count;
    SUP_UNUSED(worker);
    for (int32_t cluster = begin; cluster < end; cluster++) {
        sup_detect_box whole = box_none();
        for (int32_t i = 0; i < SUP_DETECT_CLUSTER; i++) {
            int32_t block = cluster * SUP_DETECT_CLUSTER + i;
            sup_detect_box box = block < blocks ? place_block(work, block) : box_none();
            put_box(work->a.block_box[cluster], i, &box);
            box_add(&whole, box.lower, box.upper);
        }
        put_box(work->a.cluster_box[cluster / SUP_DETECT_CLUSTER], cluster % SUP_DETECT_CLUSTER, &whole);
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

/* Boxes around nothing where the last cluster of clusters is not full. */
static void fill_clusters(detect_work *work)
{
    int32_t clusters = sup_detect_clusters(work->detect->block_count);
    const sup_detect_box none = box_none();
    for (int32_t i = clusters; i % SUP_DETECT_CLUSTER != 0; i++)
        put_box(work->a.cluster_box[i / SUP_DETECT_CLUSTER], i % SUP_DETECT_CLUSTER, &none);
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
    return load(work->a.skin + 4 * (size_t)v);
}

/* Zero where there is none. */
static vec unit(vec a)
{
    float length = sqrtf(dot(a, a));
    return length > 0.0f ? (vec){a.x / length, a.y / length, a.z / length} : (vec){0.0f, 0.0f, 0.0f};
}

static vec vertex_normal(const detect_work *work, int32_t v)
{
    return load(work->a.normal + 4 * (size_t)v);
}

static bool in_ring(const sup_detect *d, int32_t v, int32_t other)
{
    for (int32_t i = d->ring_first[v]; i < d->ring_first[v + 1]; i++)
        if (d->ring[i] >= other) return d->ring[i] == other;
    return false;
}

/* How near a vertex and a triangle are along the skin. */
typedef enum kinship { STRANGERS, SAME_SEGMENT, NEIGHBOURS } kinship;

static kinship kin_of(const sup_detect *d, int32_t v, int32_t triangle)
{
    const int32_t *t = d->triangles + 3 * (size_t)triangle, *segment = d->foot_segment;
    if (in_ring(d, v, t[0]) || in_ring(d, v, t[1]) || in_ring(d, v, t[2])) return NEIGHBOURS;
    return segment[v] == segment[t[0]] || segment[v] == segment[t[1]] || segment[v] == segment[t[2]] ? SAME_SEGMENT : STRANGERS;
}

static bool is_corner(const sup_detect *d, int32_t v, int32_t triangle)
{
    const int32_t *t = d->triangles + 3 * (size_t)triangle;
    return t[0] == v || t[1] == v || t[2] == v;
}

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

/* --- Vertices in tetrahedra --- */

/* The least key wins, whatever the order: the same for any number of threads. */
static void offer(_Atomic uint64_t *place, uint64_t key)
{
    uint64_t old = atomic_load_explicit(place, memory_order_relaxed);
    while (key < old &&
           !atomic_compare_exchange_weak_explicit(place, &old, key, memory_order_relaxed, memory_order_relaxed)) {
    }
}

/* Gap of a vertex at the nearest point: a finger is not kept off a thigh by half of the thigh's large edges. */
static float gap_at(const detect_work *work, int32_t v, int32_t triangle, const contact_view *view)
{
    const int32_t *t = work->detect->triangles + 3 * (size_t)triangle;
    const float *gap = work->detect->gap;
    float there = view->weight[0] * gap[t[0]] + view->weight[1] * gap[t[1]] + view->weight[2] * gap[t[2]];
    return fminf(there, most_of_own_gap * gap[v]);
}

static vec foot_point(const detect_work *work, int32_t v)
{
    return load(work->a.points + 4 * (size_t)(work->detect->vertex_count + v));
}

/* Two outer sides that meet: the normals do not agree, nor does the way from the vertex's bone to the vertex. `more`
 * is allowed to a pair that is there. */
static bool may_touch(const detect_work *work, int32_t v, int32_t triangle, const contact_view *view, float more)
{
    const sup_detect *d = work->detect;
    if (is_corner(d, v, triangle)) return false;
    kinship kin = kin_of(d, v, triangle);
    if (kin != STRANGERS && (!d->folds[v] || !d->folds[d->vertex_count + triangle] ||
                             view->height < -fold_depth * (1.0f + more) * gap_at(work, v, triangle, view)))
        return false;
    return dot(view->normal, vertex_normal(work, v)) < facing[kin] + more &&
           dot(view->normal, load(work->a.flesh + 4 * (size_t)v)) < facing[STRANGERS] + more;
}

static void keep_least(const detect_work *work, int32_t v, int32_t triangle, float rank)
{
    uint32_t bits; /* positive floats are in the order of their bits */
    memcpy(&bits, &rank, sizeof bits);
    offer(&work->a.nearest[v], (uint64_t)bits << 32 | (uint32_t)triangle);
}

/* For those who look closer. */
static void mark_near(const detect_work *work, int32_t v, int32_t triangle)
{
    const int32_t *t = work->detect->triangles + 3 * (size_t)triangle, places[4] = {v, t[0], t[1], t[2]};
    for (int32_t k = 0; k < 4; k++)
        atomic_store_explicit(&work->a.near[places[k]], 1, memory_order_relaxed);
}

static void consider(const detect_work *work, int32_t v, int32_t triangle)
{
    vec normal = unit(load(work->a.area + 4 * (size_t)triangle)); /* most end here, as may_touch would end them */
    if (is_corner(work->detect, v, triangle) ||
        !(dot(normal, vertex_normal(work, v)) < facing[STRANGERS] + facing_near))
        return;
    contact_view view = look(work, skin_point(work, v), triangle);
    if (!isfinite(view.distance2) || !may_touch(work, v, triangle, &view, facing_near)) return;
    /* Skin that is near in the bind pose is no pair before it pushes. */
    float slack = work->detect->slack[v];
    if (slack > 0.0f && !(view.height < gap_at(work, v, triangle, &view) - slack)) return;
    mark_near(work, v, triangle);
    if (!may_touch(work, v, triangle, &view, 0.0f)) return;
    keep_least(work, v, triangle, view.distance2);
}

/* The bind pose: what takes of the gap is slack; skin inside prisms of its own segment cannot be told from a fold. */
static void consider_bind_pose(const detect_work *work, int32_t v, int32_t triangle)
{
    const sup_detect *d = work->detect;
    contact_view view = look(work, skin_point(work, v), triangle);
    float gap = gap_at(work, v, triangle, &view), depth = gap - view.height;
    if (is_corner(d, v, triangle) || !(depth > 0.0f) || !isfinite(depth)) return;
    if (kin_of(d, v, triangle) != STRANGERS && view.height < -sound_depth * gap)
        work->folds[v] = work->folds[d->vertex_count + triangle] = 0;
    else if (dot(view.normal, vertex_normal(work, v)) < facing[STRANGERS])
        keep_least(work, v, triangle, 1.0f / depth);
}

/* A cell that is tested: its triangles are made ready when the first vertex is near, its tetrahedra when one of those
 * faces it. */
typedef struct cell_test {
    int32_t cell, first, count;
    int32_t segment;      /* that each of its triangles has a corner of, -1 for none */
    int32_t face_count; /* -1: not made ready yet; more than SUP_DETECT_CELL: there was no room */
    bool mapped;
    sup_detect_faces faces;
    sup_detect_maps maps;
} cell_test;

static void ready_faces(const detect_work *work, cell_test *test)
{
    const sup_detect *d = work->detect;
    int32_t last = -1;
    test->face_count = 0;
    for (int32_t t = test->first; t < test->first + test->count; t++) {
        int32_t triangle = d->tet_triangle[t], segment = d->foot_segment[d->triangles[3 * (size_t)triangle]];
        if (triangle == last) continue;
        test->segment = test->face_count == 0 || segment == test->segment ? segment : -1;
        last = triangle;
        if (++test->face_count > SUP_DETECT_CELL) return;
        sup_four area = sup_four_load(work->a.area + 4 * (size_t)triangle);
        float length = sqrtf(area[0] * area[0] + area[1] * area[1] + area[2] * area[2]);
        area = length > 0.0f ? area : sup_four_splat(0.0f);
        area[3] = length;
        put_row(test->faces[test->face_count - 1], area);
    }
}

/* Which of these vertices of a block may_touch a triangle of the cell at all: by the normals, and by whether skin of one segment may
 * touch itself there. Skin beside its own cell faces the same way. */
static uint32_t may_meet(const detect_work *work, cell_test *test, int32_t block, uint32_t lanes)
{
    const float rounding = 1e-5f;
    if (test->face_count < 0) ready_faces(work, test);
    if (test->face_count > SUP_DETECT_CELL) return lanes;
    bool kin = test->segment >= 0 && work->a.block_segment[block] == test->segment;
    const float limits[2] = {facing[kin ? SAME_SEGMENT : STRANGERS] + facing_near + rounding,
                             facing[STRANGERS] + facing_near + rounding};
    if (kin) lanes &= work->a.block_folds[block];
    return work->kernels->face(block_at(work, block), lanes, test->faces, test->face_count, limits);
}

static void test_block(detect_work *work, cell_test *test, int32_t block)
{
    const sup_detect *d = work->detect;
    const int32_t *vertex = d->block_vertex + (size_t)block * SUP_DETECT_CLUSTER;
    const float *rows = block_at(work, block);
    uint64_t bits[SUP_DETECT_CLUSTER];
    uint32_t near = work->kernels->within(rows, &work->a.cell_box[test->cell]);
    if (near != 0 && work->folds == NULL) near = may_meet(work, test, block, near); /* the bind pose has other rules */
    if (near == 0) return;
    if (!test->mapped) work->kernels->map(work->a.points, d->tets + 4 * (size_t)test->first, test->count, test->maps);
    test->mapped = true;
    near = work->kernels->inside(test->maps, test->count, rows, near, bits);
    for (; near != 0; near &= near - 1) {
        int32_t lane = __builtin_ctz(near), v = vertex[lane];
        if (v < 0) continue; /* only where a cell has no end */
        for (uint64_t inside = bits[lane]; inside != 0; inside &= inside - 1) {
            int32_t triangle = d->tet_triangle[test->first + __builtin_ctzll(inside)];
            if (work->folds != NULL)
                consider_bind_pose(work, v, triangle);
            else
                consider(work, v, triangle);
        }
    }
}

static void test_cell(detect_work *work, int32_t cell)
{
    const sup_detect *d = work->detect;
    cell_test test;
    test.cell = cell;
    test.first = d->cell_tet_first[cell];
    test.count = d->cell_tet_first[cell + 1] - test.first;
    test.segment = test.face_count = -1;
    test.mapped = false;
    if (test.count == 0) return;
    int32_t groups = sup_detect_clusters(sup_detect_clusters(d->block_count));
    for (int32_t group = 0; group < groups; group++) {
        uint32_t clusters = work->kernels->meet(work->a.cluster_box[group], &work->a.cell_box[cell]);
        for (; clusters != 0; clusters &= clusters - 1) {
            int32_t cluster = group * SUP_DETECT_CLUSTER + __builtin_ctz(clusters);
            uint32_t blocks = work->kernels->meet(work->a.block_box[cluster], &work->a.cell_box[cell]);
            for (; blocks != 0; blocks &= blocks - 1)
                test_block(work, &test, cluster * SUP_DETECT_CLUSTER + __builtin_ctz(blocks));
        }
    }
}

static void test_cells(void *data, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    for (int32_t cell = begin; cell < end; cell++)
        test_cell(data, cell);
}

/* --- Pairs and rows --- */

/* Down to the triangle nearest to the vertex, from neighbour to neighbour. */
static int32_t walk(const detect_work *work, int32_t v, int32_t triangle, float more, contact_view *view)
{
    vec p = skin_point(work, v);
    *view = look(work, p, triangle);
    for (int32_t step = 0; step < WALK_STEPS; step++) {
        const int32_t *beside = work->detect->beside + 3 * (size_t)triangle;
        int32_t best = -1;
        contact_view best_view = *view;
        for (int32_t k = 0; k < 3; k++) {
            if (beside[k] < 0) continue;
            contact_view next = look(work, p, beside[k]);
            if (!(next.distance2 < best_view.distance2) || !may_touch(work, v, beside[k], &next, more)) continue;
            best = beside[k];
            best_view = next;
        }
        if (best < 0) break;
        triangle = best;
        *view = best_view;
    }
    return triangle;
}

/* From the skin down to the bone line. */
static float flesh_depth(const detect_work *work, int32_t v)
{
    vec d = sub(skin_point(work, v), foot_point(work, v));
    return sqrtf(dot(d, d));
}

/* How far the prism of a triangle reaches: a vertex deeper than that has come out on the other side. */
static float prism_depth(const detect_work *work, int32_t triangle)
{
    const int32_t *t = work->detect->triangles + 3 * (size_t)triangle;
    return fmaxf(flesh_depth(work, t[0]), fmaxf(flesh_depth(work, t[1]), flesh_depth(work, t[2])));
}

/* Height at which the vertex touches: its part of the gap, or less where the bind pose leaves less. */
static float touch_height(const detect_work *work, int32_t v, int32_t triangle, const contact_view *view)
{
    float gap = gap_at(work, v, triangle, view);
    return fminf(touch_gap[kin_of(work->detect, v, triangle)] * gap, gap - work->detect->slack[v]);
}

/* And at which a pair ends. */
static float end_height(const detect_work *work, int32_t v, int32_t triangle, const contact_view *view)
{
    return keep_distance * gap_at(work, v, triangle, view) - work->detect->slack[v];
}

static bool stays(const detect_work *work, int32_t v, int32_t triangle, const contact_view *view)
{
    float reach = keep_beside * work->detect->edge[0], beside2 = view->distance2 - view->height * view->height;
    float deepest = prism_depth(work, triangle);
    return view->height < end_height(work, v, triangle, view) && beside2 < reach * reach &&
           dot(view->normal, view->normal) > 0.5f && may_touch(work, v, triangle, view, facing_kept) &&
           view->distance2 < 2.0f * deepest * deepest;
}

/* The vertex, or all of the triangle, belongs to segments whose skin is let go. */
static bool is_let_go(const detect_work *work, int32_t v, int32_t triangle)
{
    const int32_t *t = work->detect->triangles + 3 * (size_t)triangle, *segment = work->detect->foot_segment;
    const unsigned char *apart = work->a.apart;
    return work->input->let_go && (apart[segment[v]] || (apart[segment[t[0]]] && apart[segment[t[1]]] && apart[segment[t[2]]]));
}

/* The triangle that the vertex touches now, -1 for none. */
static int32_t update_pair(const detect_work *work, int32_t v, contact_view *view)
{
    uint64_t key = atomic_load_explicit(&work->a.nearest[v], memory_order_relaxed);
    int32_t triangle = work->a.pair[v];
    if (triangle < 0 && key == no_pair) return -1;
    if (triangle >= 0) {
        triangle = walk(work, v, triangle, facing_kept, view);
        bool left_over = work->input->anew && key == no_pair && view->height < touch_height(work, v, triangle, view);
        if (!left_over && stays(work, v, triangle, view)) return triangle;
    }
    if (key == no_pair) return -1;
    return walk(work, v, (int32_t)(key & 0xffffffffu), 0.0f, view);
}

/* The way the vertex is pushed: smooth while it slides over the triangles, and between the two surfaces. */
static vec push_normal(const detect_work *work, int32_t v, int32_t triangle, const contact_view *view)
{
    const int32_t *t = work->detect->triangles + 3 * (size_t)triangle;
    vec sum = {0.0f, 0.0f, 0.0f};
    for (int32_t k = 0; k < 3; k++)
        sum = madd(sum, view->weight[k], vertex_normal(work, t[k]));
    sum = unit(madd(unit(sum), -own_normal, vertex_normal(work, v)));
    return dot(sum, view->normal) > 0.2f ? sum : view->normal;
}

/* Bones do not give way: where they pass through flesh, rows let go instead of tearing the skin. */
static float pressure(const detect_work *work, int32_t v, int32_t triangle, const contact_view *view)
{
    float flesh = press_flesh * 0.5f * (prism_depth(work, triangle) + flesh_depth(work, v));
    return fminf(1.0f, fmaxf(least_press, 2.0f + 2.0f * view->height / flesh));
}

static sup_contact make_row(const detect_work *work, int32_t v, int32_t triangle, const contact_view *view)
{
    vec normal = push_normal(work, v, triangle, view);
    float gap = gap_at(work, v, triangle, view), touch = touch_height(work, v, triangle, view);
    /* 0 where the row pushes, 1 where it ends */
    float away = (view->height - touch) / (end_height(work, v, triangle, view) - touch);
    const int32_t *corner = work->detect->triangles + 3 * (size_t)triangle;
    vec off = skin_point(work, v);
    for (int32_t k = 0; k < 3; k++)
        off = madd(off, -view->weight[k], skin_point(work, corner[k]));
    sup_contact row = {.vertex = v,
                       .normal = {normal.x, normal.y, normal.z},
                       .offset = fminf(touch, dot(normal, off) + push_gap * gap),
                       .stiffness = work->input->stiffness > 0.0f ? work->input->stiffness : row_stiffness,
                       .friction = work->input->friction,
                       .limit = limit_gap * gap,
                       .damping = row_damping * fminf(1.0f, fmaxf(0.0f, 1.0f - away)),
                       .press = pressure(work, v, triangle, view)};
    for (int32_t k = 0; k < 3; k++) {
        row.corner[k] = corner[k];
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
        if (triangle < 0 || is_let_go(work, v, triangle)) {
            work->a.pair[v] = -1;
            continue;
        }
        work->a.pair[v] = triangle;
        work->rows[begin + count++] = make_row(work, v, triangle, &view);
        mark_near(work, v, triangle);
    }
    work->a.row_count[begin / GRAIN_PAIRS] = count;
}

static void find_nearest(const sup_context *context, detect_work *work)
{
    const sup_detect *d = work->detect;
    sup_parallel(context, d->vertex_count, GRAIN_POINTS, place_skin, work);
    sup_parallel(context, d->triangle_count, GRAIN_FACES, place_faces, work);
    sup_parallel(context, d->vertex_count, GRAIN_POINTS, place_points, work);
    sup_parallel(context, sup_detect_clusters(d->block_count), GRAIN_CLUSTERS, bound_clusters, work);
    fill_clusters(work);
    sup_parallel(context, d->cell_count, GRAIN_BOXES, bound_cells, work);
    sup_parallel(context, d->cell_count, GRAIN_CELLS, test_cells, work);
}

int32_t sup_detect_step(const sup_context *context, const sup_detect *detect, void *state,
                        const sup_detect_input *input, sup_contact *rows)
{
    detect_work work = {detect, input, sup_detect_choose_kernels(), sup_detect_layout(detect, state), rows, NULL};
    find_nearest(context, &work);
    sup_parallel(context, detect->vertex_count, GRAIN_PAIRS, update_pairs, &work);
    return sup_contact_close_gaps(rows, detect->vertex_count, GRAIN_PAIRS, work.a.row_count);
}

void sup_detect_apart(const sup_context *context, const sup_detect *detect, void *state, const sup_detect_input *input)
{
    detect_work work = {detect, input, sup_detect_choose_kernels(), sup_detect_layout(detect, state), NULL, NULL};
    if (work.a.apart == NULL) return;
    memset(work.a.apart, 1, (size_t)detect->segment_count);
    find_nearest(context, &work);
    for (int32_t v = 0; v < detect->vertex_count; v++) {
        uint64_t key = atomic_load_explicit(&work.a.nearest[v], memory_order_relaxed);
        contact_view view;
        if (key == no_pair) continue;
        int32_t triangle = walk(&work, v, (int32_t)(key & 0xffffffffu), 0.0f, &view);
        float least = touch_height(&work, v, triangle, &view) - apart_depth * gap_at(&work, v, triangle, &view);
        if (!(view.height < least)) continue;
        work.a.apart[detect->foot_segment[v]] = 0;
        for (int32_t k = 0; k < 3; k++)
            work.a.apart[detect->foot_segment[detect->triangles[3 * (size_t)triangle + (size_t)k]]] = 0;
    }
}

void sup_detect_bind_pose(const sup_context *context, const sup_detect *detect, void *state,
                          const sup_detect_input *input, float *depth, int32_t *folds)
{
    detect_work work = {detect, input, sup_detect_choose_kernels(), sup_detect_layout(detect, state), NULL, folds};
    sup_context alone = *context; /* marks are not atomic */
    alone.tasks = (sup_tasks){0};
    alone = sup_context_resolve(&alone);
    find_nearest(&alone, &work);
    for (int32_t v = 0; v < detect->vertex_count; v++) {
        uint64_t key = atomic_load_explicit(&work.a.nearest[v], memory_order_relaxed);
        uint32_t bits = (uint32_t)(key >> 32);
        float rank = 0.0f;
        memcpy(&rank, &bits, sizeof rank);
        depth[v] = key == no_pair ? 0.0f : 1.0f / rank;
    }
}

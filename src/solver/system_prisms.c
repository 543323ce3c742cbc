/* system_prisms.c - prisms: their names, gradients, weights and masses, and their layout for the local step.
 *
 * Based on: [komaritzan2022] section 2.2.1, tetrahedron strain (eq. 2.15, 2.16), and section 3.2.1, prisms. */
#include "solver/system_build.h"

#include <math.h>

/* Prisms per cluster of the local step: a few tens of microseconds of work. */
enum { CLUSTER_PRISMS = 768 };
/* Tetrahedra lower than this fraction of the skin's diagonal are ignored: float positions cannot resolve their
 * strain. */
#define FLAT_HEIGHT 1e-6

const int32_t sup_prism_tets[3][4] = {{0, 1, 2, 5}, {0, 1, 4, 5}, {0, 3, 4, 5}};

/* The index within the prism, 0..2 on the skin and 3..5 under it, -1 when the vertex does not belong to it. */
static int32_t corner_of(const int32_t triangle[3], int32_t skin_count, int32_t vertex)
{
    for (int32_t k = 0; k < 3; k++) {
        if (vertex == triangle[k]) return k;
        if (vertex == triangle[k] + skin_count) return 3 + k;
    }
    return -1;
}

/* The three tetrahedra of a split have three, two and one corner on the skin. The base of the first names c, the skin
 * corner of the last names a; the middle one must then hold a, b, b' and c'. */
bool sup_prism_corners(const int32_t triangle[3], const int32_t tets[12], int32_t skin_count, int32_t corner[6])
{
    int32_t set[3], by_skin[4] = {-1, -1, -1, -1};
    for (int32_t t = 0; t < 3; t++) {
        set[t] = 0;
        int32_t on_skin = 0;
        for (int32_t k = 0; k < 4; k++) {
            int32_t c = corner_of(triangle, skin_count, tets[4 * t + k]);
            if (c < 0) return false;
            if ((set[t] & 1 << c) != 0) return false;
            set[t] |= 1 << c;
            on_skin += c < 3;
        }
        if (on_skin < 1 || on_skin > 3 || by_skin[on_skin] >= 0) return false;
        by_skin[on_skin] = t;
    }
    static const int32_t lowest[8] = {-1, 0, 1, 0, 2, 0, 1, 0};
    int32_t c = lowest[set[by_skin[3]] >> 3], a = lowest[set[by_skin[1]] & 7];
    if (a == c) return false;
    int32_t b = 3 - a - c;
    if (set[by_skin[2]] != (1 << a | 1 << b | 8 << b | 8 << c)) return false;
    const int32_t names[3] = {a, b, c};
    for (int32_t k = 0; k < 3; k++) {
        corner[k] = triangle[names[k]];
        corner[3 + k] = triangle[names[k]] + skin_count;
    }
    return true;
}

/* Positions rounded to float, as the step reads them, so that the rest shape is exactly at rest. They go through
 * memory: gcc 12 drops the rounding when it converts back to double in the same vector. */
static bool round_positions(sup_system_builder *b)
{
    const sup_tissue *t = b->tissue;
    size_t n = (size_t)t->skin_count * 3;
    b->rest = sup_arena_alloc(&b->arena, (size_t)b->vertex_count * 3, sizeof(float));
    if (b->rest == NULL) return false;
    for (size_t i = 0; i < n; i++) {
        b->rest[i] = (float)t->skin[i];
        b->rest[n + i] = (float)t->base[i];
    }
    for (size_t i = 0; t->middle != NULL && i < n; i++)
        b->rest[2 * n + i] = (float)t->middle[i];
    return true;
}

/* Inverse of the rest edge matrix: row k is the gradient of the k-th corner's hat function. Volume, or 0 when flat. */
static double tet_gradients(const double p[4][3], double flat, double gradient[9])
{
    double e[3][3];
    for (int32_t k = 0; k < 3; k++)
        for (int32_t c = 0; c < 3; c++)
            e[k][c] = p[k][c] - p[3][c];
    double determinant = 0.0, normal[3][3];
    for (int32_t k = 0; k < 3; k++)
        for (int32_t c = 0; c < 3; c++) {
            const double *u = e[(k + 1) % 3], *v = e[(k + 2) % 3];
            normal[k][c] = u[(c + 1) % 3] * v[(c + 2) % 3] - u[(c + 2) % 3] * v[(c + 1) % 3];
        }
    for (int32_t c = 0; c < 3; c++)
        determinant += e[0][c] * normal[0][c];
    double widest = 0.0, own[3] = {0};
    for (int32_t k = 0; k < 3; k++) {
        widest = fmax(widest, normal[k][0] * normal[k][0] + normal[k][1] * normal[k][1] + normal[k][2] * normal[k][2]);
        for (int32_t c = 0; c < 3; c++)
            own[c] += normal[k][c];
    }
    widest = sqrt(fmax(widest, own[0] * own[0] + own[1] * own[1] + own[2] * own[2]));
    if (!(fabs(determinant) > flat * widest)) return 0.0;
    for (int32_t k = 0; k < 9; k++)
        gradient[k] = normal[k / 3][k % 3] / determinant;
    return fabs(determinant) / 6.0;
}

/* `rest_volume`: of the tissue, 0 for tetrahedra that it dropped. */
static void build_prism(sup_system_builder *b, sup_prism *prism, const double rest_volume[3], double stiffness)
{
    for (int32_t t = 0; t < 3; t++) {
        double p[4][3];
        for (int32_t k = 0; k < 4; k++)
            for (int32_t c = 0; c < 3; c++)
                p[k][c] = (double)b->rest[(int64_t)3 * prism->corner[sup_prism_tets[t][k]] + c];
        double volume = tet_gradients(p, FLAT_HEIGHT * b->diagonal, prism->gradient[t]);
        if (!(rest_volume[t] > 0.0)) volume = 0.0;
        prism->weight[t] = stiffness * volume * 10.0 / b->size; /* eq. 2.16, free of units (system.h) */
        if (volume > 0.0) {
            for (int32_t k = 0; k < 4; k++)
                if (sup_tissue_has_mass(b->tissue, prism->corner[sup_prism_tets[t][k]]))
                    b->mass[prism->corner[sup_prism_tets[t][k]]] += volume / 4.0;
            continue;
        }
        b->dropped++;
        for (int32_t k = 0; k < 9; k++) /* any regular matrix: the weight is zero */
            prism->gradient[t][k] = k % 4 == 0 ? 1.0 / b->size : 0.0;
    }
}

/* Masses in proportion to volume, scaled to the total. */
static void scale_masses(sup_system_builder *b)
{
    double sum = 0.0, total = b->def->total_mass > 0.0 ? b->def->total_mass : 4000.0;
    for (int32_t v = 0; v < b->vertex_count; v++)
        sum += b->mass[v];
    for (int32_t v = 0; v < b->vertex_count; v++)
        if (sup_tissue_has_mass(b->tissue, v))
            b->mass[v] = sum > 0.0 ? b->mass[v] * (total / sum) : total / b->tissue->skin_count;
}

/* Volumes of a prism's tetrahedra in the tissue, ordered by their number of corners on the outer side, as the
 * names. */
static void rest_volumes(const sup_tissue *t, int32_t prism, double volume[3])
{
    int32_t triangle = prism % t->triangle_count;
    for (int32_t k = 0; k < 3; k++) {
        const int32_t *tet = t->tets + (int64_t)12 * triangle + 4 * k;
        int32_t on_skin = 0;
        for (int32_t c = 0; c < 4; c++)
            on_skin += tet[c] < t->skin_count;
        volume[3 - on_skin] = t->tet_volume[(int64_t)3 * prism + k];
    }
}

/* Mean of the painted stiffness over the corners of a triangle. */
static double painted_stiffness(const sup_system_builder *b, const int32_t triangle[3])
{
    const float *painted = b->def->stiffness;
    if (painted == NULL) return 1.0;
    return ((double)painted[triangle[0]] + (double)painted[triangle[1]] + (double)painted[triangle[2]]) / 3.0;
}

static sup_result name_prism(sup_system_builder *b, int32_t p, sup_error *error)
{
    const sup_tissue *t = b->tissue;
    int32_t layer = p / t->triangle_count, index = p % t->triangle_count;
    const int32_t *triangle = t->triangles + (int64_t)3 * index;
    for (int32_t k = 0; k < 3; k++)
        if (triangle[k] < 0 || triangle[k] >= t->skin_count)
            return sup_fail(error, SUP_ERROR_DATA, "system.index", "",
                            "Triangle %d refers to vertex %d, but there are %d: check the indices.", (int)index,
                            (int)triangle[k], (int)t->skin_count);
    if (!sup_prism_corners(triangle, t->tets + (int64_t)12 * index, t->skin_count, b->prisms[p].corner))
        return sup_fail(error, SUP_ERROR_DATA, "system.split", "",
                        "The prism under triangle %d is not split into three tetrahedra.", (int)index);
    for (int32_t k = 0; k < 6; k++)
        b->prisms[p].corner[k] = sup_tissue_layer_vertex(t, layer, b->prisms[p].corner[k]);
    return SUP_OK;
}

sup_result sup_system_build_prisms(sup_system_builder *b, sup_error *error)
{
    const sup_tissue *t = b->tissue;
    double stiffness = b->def->tissue_stiffness > 0.0 ? b->def->tissue_stiffness : 85.0;
    b->prisms = sup_arena_alloc(&b->arena, (size_t)b->prism_count, sizeof(sup_prism));
    b->mass = sup_arena_alloc(&b->arena, (size_t)b->vertex_count, sizeof(double));
    if (b->prisms == NULL || b->mass == NULL || !round_positions(b))
        return sup_fail_memory(error, "the tissue's prisms");
    for (int32_t p = 0; p < b->prism_count; p++) {
        sup_result result = name_prism(b, p, error);
        if (result != SUP_OK) return result;
        const int32_t *triangle = t->triangles + (int64_t)3 * (p % t->triangle_count);
        double here = painted_stiffness(b, triangle), volume[3] = {0.0, 0.0, 0.0};
        rest_volumes(t, p, volume);
        if (p >= t->triangle_count) { /* below the middle layer: not part of the volume regions */
            build_prism(b, &b->prisms[p], volume, stiffness * here * t->inner_stiffness);
            continue;
        }
        build_prism(b, &b->prisms[p], volume, stiffness * here);
        int32_t a = b->prisms[p].corner[0], next = b->prisms[p].corner[1];
        bool same_orientation = (a == triangle[0] && next == triangle[1]) ||
                                (a == triangle[1] && next == triangle[2]) || (a == triangle[2] && next == triangle[0]);
        b->prisms[p].span = (same_orientation ? 1.0 : -1.0) * stiffness * here * 10.0 / (6.0 * b->size);
    }
    scale_masses(b);
    return SUP_OK;
}

/* --- Batches --- */

enum { NONE = -1, INNER = -2, COPIED = -3 };

typedef struct layout {
    sup_system_builder *b;
    int32_t prism_count; /* those with an unknown corner */
    int32_t *sorted;     /* [prism_count] by lowest node: neighbours in the elimination tree are adjacent */
    int32_t cluster_count, batch_count, anchored_count, copy_count;
    sup_system_cluster *clusters;
    int32_t *local; /* [node] copy of a node in the current cluster; NONE, or COPIED or INNER while counting */
    float *tets;
    uint16_t *corner;
    int32_t *copy_node, *sum_next, *sum_from;
} layout;

static int32_t lowest_node(const layout *l, int32_t prism)
{
    int32_t lowest = l->b->unknown_count;
    for (int32_t k = 0; k < 6; k++) {
        int32_t node = l->b->node[l->b->prisms[prism].corner[k]];
        if (node < lowest) lowest = node;
    }
    return lowest;
}

static bool inner_side_anchored(const layout *l, int32_t prism)
{
    for (int32_t k = 0; k < 6; k++)
        if ((l->b->node[l->b->prisms[prism].corner[k]] < l->b->unknown_count) != (k < 3)) return false;
    return true;
}

static bool sort_prisms(layout *l)
{
    int32_t n = l->b->unknown_count, count = l->b->prism_count;
    int32_t *next = sup_arena_alloc(&l->b->arena, (size_t)n + 2, sizeof(int32_t));
    l->sorted = sup_arena_alloc(&l->b->arena, (size_t)count, sizeof(int32_t));
    if (next == NULL || l->sorted == NULL) return false;
    for (int32_t p = 0; p < count; p++)
        next[lowest_node(l, p) + 1]++;
    l->prism_count = count - next[n + 1];
    for (int32_t i = 0; i < n; i++)
        next[i + 1] += next[i];
    for (int32_t p = 0; p < count; p++)
        if (lowest_node(l, p) < n) l->sorted[next[lowest_node(l, p)]++] = p;
    return true;
}

static int32_t batches_for(int32_t prisms)
{
    return (prisms + SUP_PRISM_LANES - 1) / SUP_PRISM_LANES;
}

static void cluster_range(const layout *l, int32_t cluster, int32_t *begin, int32_t *end)
{
    *begin = (int32_t)((int64_t)l->prism_count * cluster / l->cluster_count);
    *end = (int32_t)((int64_t)l->prism_count * (cluster + 1) / l->cluster_count);
}

static int32_t node_count(const layout *l)
{
    return l->b->unknown_count + l->b->anchor_count;
}

/* Marks the nodes of a cluster in `local`; counts those that are copied in every iteration and those that are not. */
static void mark_nodes(layout *l, int32_t begin, int32_t end, int32_t count[2])
{
    for (int32_t i = 0; i < node_count(l); i++)
        l->local[i] = NONE;
    for (int32_t i = begin; i < end; i++) {
        bool anchored = inner_side_anchored(l, l->sorted[i]);
        for (int32_t k = 0; k < 6; k++) {
            int32_t *local = &l->local[l->b->node[l->b->prisms[l->sorted[i]].corner[k]]];
            if (!anchored || k < 3)
                *local = COPIED;
            else if (*local == NONE)
                *local = INNER;
        }
    }
    count[0] = count[1] = 0;
    for (int32_t i = 0; i < node_count(l); i++) {
        count[0] += l->local[i] == COPIED;
        count[1] += l->local[i] == INNER;
    }
}

/* Sizes of all clusters, and the number of copies of each unknown (in sum_next). */
static void measure_clusters(layout *l)
{
    for (int32_t cluster = 0; cluster < l->cluster_count; cluster++) {
        int32_t begin, end, anchored = 0, count[2];
        cluster_range(l, cluster, &begin, &end);
        for (int32_t i = begin; i < end; i++)
            anchored += inner_side_anchored(l, l->sorted[i]);
        sup_system_cluster *p = &l->clusters[cluster];
        p->batch_first = l->batch_count;
        p->batch_mixed = p->batch_first + batches_for(anchored);
        p->batch_end = p->batch_mixed + batches_for(end - begin - anchored);
        p->anchor_first = l->anchored_count;
        mark_nodes(l, begin, end, count);
        p->copy_first = l->copy_count;
        p->copy_inner = p->copy_first + count[0];
        p->copy_end = p->copy_inner + count[1];
        for (int32_t i = 0; i < l->b->unknown_count; i++)
            l->sum_next[i + 1] += l->local[i] != NONE;
        l->batch_count = p->batch_end;
        l->anchored_count += p->batch_mixed - p->batch_first;
        l->copy_count = p->copy_end;
    }
}

static void write_lane(const layout *l, const sup_system_cluster *cluster, int32_t batch, int32_t lane, int32_t prism,
                       bool padding)
{
    const sup_prism *p = &l->b->prisms[prism];
    float *tets = l->tets + (int64_t)batch * SUP_PRISM_FLOATS;
    l->b->lane_prism[(int64_t)batch * SUP_PRISM_LANES + lane] = padding ? -1 : prism;
    for (int32_t t = 0; t < 3; t++) {
        for (int32_t k = 0; k < 9; k++)
            tets[(10 * t + k) * SUP_PRISM_LANES + lane] = (float)p->gradient[t][k];
        tets[(10 * t + 9) * SUP_PRISM_LANES + lane] = padding ? 0.0f : (float)p->weight[t];
    }
    for (int32_t k = 0; k < 6; k++)
        l->corner[(int64_t)batch * SUP_PRISM_CORNERS + k * SUP_PRISM_LANES + lane] =
            (uint16_t)(l->local[l->b->node[p->corner[k]]] - cluster->copy_first);
}

/* Unused lanes of the last batch repeat its last prism, with weight 0. */
static void write_class(const layout *l, const sup_system_cluster *cluster, int32_t begin, int32_t end, bool anchored)
{
    int32_t batch = anchored ? cluster->batch_first : cluster->batch_mixed, lane = 0, last = -1;
    for (int32_t i = begin; i < end; i++) {
        if (inner_side_anchored(l, l->sorted[i]) != anchored) continue;
        last = l->sorted[i];
        write_lane(l, cluster, batch, lane, last, false);
        if (++lane < SUP_PRISM_LANES) continue;
        lane = 0;
        batch++;
    }
    for (; lane > 0 && lane < SUP_PRISM_LANES; lane++)
        write_lane(l, cluster, batch, lane, last, true);
}

static void write_clusters(layout *l)
{
    for (int32_t cluster = 0; cluster < l->cluster_count; cluster++) {
        int32_t begin, end, count[2], copied = l->clusters[cluster].copy_first, inner = l->clusters[cluster].copy_inner;
        cluster_range(l, cluster, &begin, &end);
        mark_nodes(l, begin, end, count);
        for (int32_t i = 0; i < node_count(l); i++) {
            if (l->local[i] == NONE) continue;
            l->local[i] = l->local[i] == COPIED ? copied++ : inner++;
            l->copy_node[l->local[i]] = i;
            if (i < l->b->unknown_count) l->sum_from[l->sum_next[i]++] = l->local[i];
        }
        write_class(l, &l->clusters[cluster], begin, end, true);
        write_class(l, &l->clusters[cluster], begin, end, false);
    }
}

static bool measure_layout(layout *l)
{
    sup_system_builder *b = l->b;
    size_t n = (size_t)b->unknown_count;
    if (!sort_prisms(l)) return false;
    l->cluster_count = (l->prism_count + CLUSTER_PRISMS / 2) / CLUSTER_PRISMS;
    if (l->cluster_count < 1) l->cluster_count = 1;
    l->clusters = sup_arena_alloc(&b->arena, (size_t)l->cluster_count, sizeof(sup_system_cluster));
    l->local = sup_arena_alloc(&b->arena, (size_t)node_count(l), sizeof(int32_t));
    l->sum_next = sup_arena_alloc(&b->arena, n + 1, sizeof(int32_t));
    if (l->clusters == NULL || l->local == NULL || l->sum_next == NULL) return false;
    measure_clusters(l);
    for (size_t i = 0; i < n; i++)
        l->sum_next[i + 1] += l->sum_next[i];
    return true;
}

static double weight_sum(const sup_system_builder *b)
{
    double sum = 0.0;
    for (int32_t p = 0; p < b->prism_count; p++)
        sum += b->prisms[p].weight[0] + b->prisms[p].weight[1] + b->prisms[p].weight[2];
    return sum;
}

sup_result sup_system_build_batches(sup_system_builder *b, sup_error *error)
{
    layout l = {.b = b};
    int32_t n = b->unknown_count;
    if (!measure_layout(&l)) return sup_fail_memory(error, "the tissue's batches");
    int32_t *head = sup_system_add(b, "head", SUP_ARRAY_INT32, 8);
    float *numbers = sup_system_add(b, "numbers", SUP_ARRAY_FLOAT, 4);
    int32_t *clusters = sup_system_add(b, "clusters", SUP_ARRAY_INT32, (int64_t)7 * l.cluster_count);
    int32_t *sum_first = sup_system_add(b, "sum_first", SUP_ARRAY_INT32, (int64_t)n + 1);
    l.sum_from = sup_system_add(b, "sum_from", SUP_ARRAY_INT32, l.sum_next[n]);
    l.tets = sup_system_add(b, "tets", SUP_ARRAY_FLOAT, (int64_t)l.batch_count * SUP_PRISM_FLOATS);
    l.corner = sup_system_add(b, "corner", SUP_ARRAY_UINT16, (int64_t)l.batch_count * SUP_PRISM_CORNERS);
    l.copy_node = sup_system_add(b, "copy_node", SUP_ARRAY_INT32, l.copy_count);
    if (!head || !numbers || !clusters || !sum_first || !l.sum_from || !l.tets || !l.corner || !l.copy_node)
        return sup_fail_memory(error, "the tissue's batches");
    b->batch_count = l.batch_count;
    b->cluster_count = l.cluster_count;
    b->clusters = l.clusters;
    b->lane_prism = sup_arena_alloc(&b->arena, (size_t)l.batch_count * SUP_PRISM_LANES, sizeof(int32_t));
    if (b->lane_prism == NULL) return sup_fail_memory(error, "the tissue's batches");
    const int32_t counts[8] = {
        b->tissue->skin_count, n, b->anchor_count, l.batch_count, l.cluster_count, l.anchored_count, l.copy_count,
        b->def->is_static};
    memcpy(head, counts, sizeof counts);
    numbers[0] = (float)(b->def->time_step > 0.0 ? b->def->time_step : 0.2);
    numbers[1] = (float)b->size;
    numbers[2] = (float)weight_sum(b);
    numbers[3] = (float)b->def->volume;
    memcpy(sum_first, l.sum_next, ((size_t)n + 1) * sizeof(int32_t));
    write_clusters(&l);
    memcpy(clusters, l.clusters, (size_t)l.cluster_count * sizeof(sup_system_cluster));
    for (int64_t i = 0; i < (int64_t)l.batch_count * SUP_PRISM_FLOATS; i++)
        if (!isfinite(l.tets[i]))
            return sup_fail(error, SUP_ERROR_NUMERIC, "system.range", "",
                            "The tissue is too small or too large for float: scale the character.");
    return SUP_OK;
}

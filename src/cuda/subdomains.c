/* subdomains.c - builds the layout: subdomains, couplings, prisms. The inverses are in subdomains_inverse.c. See
 * subdomains.h. */
#include "cuda/subdomains_build.h"

/* The inverse of the Schur complement is dense: beyond this many nodes it is too slow and too large. */
enum { SEPARATOR_LIMIT = 12288 };
/* Candidates per cut for a single character, whose separator is half the work; crowds need few subdomains. */
enum { SINGLE_TRIES = 24 };

static bool is_padding(const sup_system *s, int64_t batch, int32_t lane)
{
    const float *tets = s->tets + batch * SUP_PRISM_FLOATS + lane;
    return tets[9 * SUP_PRISM_LANES] == 0.0f && tets[19 * SUP_PRISM_LANES] == 0.0f &&
           tets[29 * SUP_PRISM_LANES] == 0.0f;
}

/* --- The graph of the unknowns --- */

static bool find_corners(sup_subdomains_builder *b)
{
    const sup_system *s = b->system;
    b->corner = sup_arena_alloc(&b->arena, (size_t)s->batch_count * SUP_PRISM_CORNERS + 1, sizeof(int32_t));
    for (int32_t p = 0; b->corner != NULL && p < s->cluster_count; p++) {
        const sup_system_cluster *cluster = &s->clusters[p];
        int64_t end = (int64_t)cluster->batch_end * SUP_PRISM_CORNERS;
        for (int64_t i = (int64_t)cluster->batch_first * SUP_PRISM_CORNERS; i < end; i++)
            b->corner[i] = s->copy_node[cluster->copy_first + s->corner[i]];
    }
    return b->corner != NULL;
}

/* Pairs of unknowns of each prism, counted (neighbour NULL) or written; repeated for every common prism. */
static void add_pairs(const sup_subdomains_builder *builder, int32_t *next, int32_t *neighbour)
{
    const sup_system *s = builder->system;
    for (int64_t b = 0; b < s->batch_count; b++)
        for (int32_t lane = 0; lane < SUP_PRISM_LANES; lane++) {
            if (is_padding(s, b, lane)) continue;
            const int32_t *corner = builder->corner + b * SUP_PRISM_CORNERS + lane;
            for (int32_t i = 0; i < 36; i++) {
                int32_t v = corner[i / 6 * SUP_PRISM_LANES], w = corner[i % 6 * SUP_PRISM_LANES];
                if (v >= s->unknown_count || w >= s->unknown_count || v == w) continue;
                if (neighbour != NULL) neighbour[next[v]] = w;
                next[v]++;
            }
        }
}

static int compare_ints(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static bool build_graph(sup_subdomains_builder *b)
{
    const sup_system *s = b->system;
    size_t n = (size_t)s->unknown_count;
    int32_t *first = sup_arena_alloc(&b->arena, n + 2, sizeof(int32_t));
    int32_t *next = sup_arena_alloc(&b->arena, n + 1, sizeof(int32_t));
    if (first == NULL || next == NULL) return false;
    add_pairs(b, next, NULL);
    int64_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += next[i];
    int32_t *neighbour = sup_arena_alloc(&b->arena, (size_t)total + 1, sizeof(int32_t));
    if (neighbour == NULL || total > INT32_MAX) return false;
    for (size_t i = 0; i < n; i++)
        first[i + 1] = first[i] + next[i];
    memcpy(next, first, n * sizeof(int32_t));
    add_pairs(b, next, neighbour);
    int32_t to = 0;
    for (size_t i = 0; i < n; i++) { /* each neighbour once */
        int32_t begin = first[i], end = next[i];
        qsort(neighbour + begin, (size_t)(end - begin), sizeof(int32_t), compare_ints);
        first[i] = to;
        for (int32_t k = begin; k < end; k++)
            if (k == begin || neighbour[k] != neighbour[k - 1]) neighbour[to++] = neighbour[k];
    }
    first[n] = to;
    b->graph = (sup_graph){s->unknown_count, first, neighbour};
    return true;
}

/* --- Node numbers --- */

static bool number_unknowns(sup_subdomains_builder *b)
{
    sup_subdomains *k = b->layout;
    int32_t n = k->unknown_count;
    k->number = sup_arena_alloc(&k->arena, (size_t)n, sizeof(int32_t));
    k->subdomains = sup_arena_alloc(&k->arena, (size_t)k->subdomain_count + 1, sizeof(sup_subdomain));
    b->node = sup_arena_alloc(&b->arena, (size_t)n, sizeof(int32_t));
    b->owner = sup_arena_alloc(&b->arena, (size_t)n, sizeof(int32_t));
    int32_t *next = sup_arena_alloc(&b->arena, (size_t)k->subdomain_count + 2, sizeof(int32_t));
    if (k->number == NULL || k->subdomains == NULL || b->node == NULL || b->owner == NULL || next == NULL) return false;
    for (int32_t v = 0; v < n; v++)
        next[(b->subdomain[v] < 0 ? k->subdomain_count : b->subdomain[v]) + 1]++;
    for (int32_t p = 0; p <= k->subdomain_count; p++)
        next[p + 1] += next[p];
    for (int32_t p = 0; p < k->subdomain_count; p++) {
        k->subdomains[p].first = next[p];
        k->subdomains[p].count = next[p + 1] - next[p];
    }
    k->interior_count = next[k->subdomain_count];
    k->separator_count = n - k->interior_count;
    k->separator_stride = (k->separator_count + SUP_SUBDOMAIN_SEPARATOR_ALIGN - 1) / SUP_SUBDOMAIN_SEPARATOR_ALIGN *
                          SUP_SUBDOMAIN_SEPARATOR_ALIGN;
    for (int32_t v = 0; v < n; v++) {
        int32_t p = b->subdomain[v] < 0 ? k->subdomain_count : b->subdomain[v];
        k->number[v] = next[p]++;
        b->node[k->number[v]] = v;
        b->owner[k->number[v]] = b->subdomain[v];
    }
    return true;
}

/* --- Prisms to subdomains --- */

/* Separator nodes and anchors of the subdomains so far. */
typedef struct subdomain_lists {
    sup_array *separators, *anchors; /* [subdomain_count] of int32_t */
    int32_t *prisms;                 /* [subdomain_count] counts */
} subdomain_lists;

static bool list_has(const sup_array *list, int32_t value)
{
    const int32_t *values = (const int32_t *)(const void *)list->data;
    for (size_t i = 0; i < list->count; i++)
        if (values[i] == value) return true;
    return false;
}

static bool list_add(const sup_allocator *allocator, sup_array *list, int32_t value)
{
    if (list_has(list, value)) return true;
    int32_t *to = sup_array_push(allocator, list, 1);
    if (to != NULL) *to = value;
    return to != NULL;
}

/* The subdomain of a prism: that of its own unknowns; for prisms with separator nodes only, the subdomain that has
 * most of them. */
static int32_t choose_subdomain(const sup_subdomains_builder *b, const subdomain_lists *lists, const int32_t corner[6])
{
    int32_t best = 0, best_known = -1;
    for (int32_t k = 0; k < 6; k++)
        if (corner[k] < b->system->unknown_count && b->subdomain[corner[k]] >= 0) return b->subdomain[corner[k]];
    for (int32_t p = 0; p < b->layout->subdomain_count; p++) {
        int32_t known = 0;
        for (int32_t k = 0; k < 6; k++)
            known += corner[k] < b->system->unknown_count &&
                     list_has(&lists->separators[p], b->layout->number[corner[k]] - b->layout->interior_count);
        if (known < best_known || (known == best_known && lists->prisms[p] >= lists->prisms[best])) continue;
        best = p;
        best_known = known;
    }
    return best;
}

static void load_corners(const sup_subdomains_builder *b, int64_t batch, int32_t lane, int32_t corner[6])
{
    for (int32_t k = 0; k < 6; k++)
        corner[k] = b->corner[batch * SUP_PRISM_CORNERS + k * SUP_PRISM_LANES + lane];
}

/* Two passes: prisms with unknowns of a subdomain, then those with separator nodes only. */
static bool assign_prisms(sup_subdomains_builder *b, subdomain_lists *lists)
{
    const sup_system *s = b->system;
    b->prism_subdomain = sup_arena_alloc(&b->arena, (size_t)s->batch_count * SUP_PRISM_LANES + 1, sizeof(int32_t));
    if (b->prism_subdomain == NULL) return false;
    for (int32_t pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < (int64_t)s->batch_count * SUP_PRISM_LANES; i++) {
            int64_t batch = i / SUP_PRISM_LANES;
            int32_t lane = (int32_t)(i % SUP_PRISM_LANES), corner[6];
            bool own = false;
            if (pass == 0) b->prism_subdomain[i] = -1;
            if (is_padding(s, batch, lane)) continue;
            load_corners(b, batch, lane, corner);
            for (int32_t k = 0; k < 6; k++)
                own = own || (corner[k] < s->unknown_count && b->subdomain[corner[k]] >= 0);
            if (own != (pass == 0)) continue;
            int32_t p = choose_subdomain(b, lists, corner);
            b->prism_subdomain[i] = p;
            lists->prisms[p]++;
            for (int32_t k = 0; k < 6; k++) {
                bool ok = true;
                if (corner[k] >= s->unknown_count)
                    ok = list_add(&b->context->allocator, &lists->anchors[p], corner[k] - s->unknown_count);
                else if (b->subdomain[corner[k]] < 0)
                    ok = list_add(&b->context->allocator, &lists->separators[p],
                                  b->layout->number[corner[k]] - b->layout->interior_count);
                if (!ok) return false;
            }
        }
    return true;
}

/* Separator nodes without prisms belong to the first subdomain. */
static bool adopt_loose(sup_subdomains_builder *b, subdomain_lists *lists)
{
    for (int32_t t = 0; t < b->layout->separator_count; t++) {
        bool found = false;
        for (int32_t p = 0; p < b->layout->subdomain_count && !found; p++)
            found = list_has(&lists->separators[p], t);
        if (!found && !list_add(&b->context->allocator, &lists->separators[0], t)) return false;
    }
    return true;
}

static void copy_sorted(const sup_array *from, int32_t *to)
{
    if (from->count == 0) return;
    qsort(from->data, from->count, sizeof(int32_t), compare_ints);
    memcpy(to, from->data, from->count * sizeof(int32_t));
}

static bool write_lists(sup_subdomains_builder *b, const subdomain_lists *lists)
{
    sup_subdomains *k = b->layout;
    size_t slots = 0, anchors = 0;
    for (int32_t p = 0; p < k->subdomain_count; p++) {
        slots += lists->separators[p].count;
        anchors += lists->anchors[p].count;
    }
    k->slot_count = (int32_t)slots;
    k->anchor_list_count = (int32_t)anchors;
    k->slot_node = sup_arena_alloc(&k->arena, slots + 1, sizeof(int32_t));
    k->slot_owner = sup_arena_alloc(&k->arena, slots + 1, 1);
    k->anchor = sup_arena_alloc(&k->arena, anchors + 1, sizeof(int32_t));
    k->separator_slot_first = sup_arena_alloc(&k->arena, (size_t)k->separator_count + 2, sizeof(int32_t));
    k->separator_slot = sup_arena_alloc(&k->arena, slots + 1, sizeof(int32_t));
    if (!k->slot_node || !k->slot_owner || !k->anchor || !k->separator_slot_first || !k->separator_slot) return false;
    int32_t slot = 0, anchor = 0;
    for (int32_t p = 0; p < k->subdomain_count; p++) {
        sup_subdomain *subdomain = &k->subdomains[p];
        subdomain->slot_first = slot;
        subdomain->slot_count = (int32_t)lists->separators[p].count;
        subdomain->anchor_first = anchor;
        subdomain->anchor_count = (int32_t)lists->anchors[p].count;
        subdomain->prism_count = lists->prisms[p];
        copy_sorted(&lists->separators[p], k->slot_node + slot);
        copy_sorted(&lists->anchors[p], k->anchor + anchor);
        slot += subdomain->slot_count;
        anchor += subdomain->anchor_count;
        if (subdomain->slot_count > k->max_slots) k->max_slots = subdomain->slot_count;
        if (subdomain->anchor_count > k->max_anchors) k->max_anchors = subdomain->anchor_count;
    }
    for (int32_t i = 0; i < slot; i++)
        k->separator_slot_first[k->slot_node[i] + 2]++;
    for (int32_t t = 0; t < k->separator_count; t++)
        k->separator_slot_first[t + 2] += k->separator_slot_first[t + 1];
    for (int32_t i = 0; i < slot; i++)
        k->separator_slot[k->separator_slot_first[k->slot_node[i] + 1]++] = i;
    for (int32_t t = 0; t < k->separator_count; t++)
        k->slot_owner[k->separator_slot[k->separator_slot_first[t]]] = 1;
    return true;
}

static bool build_lists(sup_subdomains_builder *b)
{
    size_t subdomains = (size_t)b->layout->subdomain_count;
    subdomain_lists lists = {sup_arena_alloc(&b->arena, subdomains, sizeof(sup_array)),
                             sup_arena_alloc(&b->arena, subdomains, sizeof(sup_array)),
                             sup_arena_alloc(&b->arena, subdomains, sizeof(int32_t))};
    if (lists.separators == NULL || lists.anchors == NULL || lists.prisms == NULL) return false;
    for (size_t p = 0; p < subdomains; p++)
        lists.separators[p].item_size = lists.anchors[p].item_size = sizeof(int32_t);
    bool ok = assign_prisms(b, &lists) && adopt_loose(b, &lists) && write_lists(b, &lists);
    for (size_t p = 0; p < subdomains; p++) {
        sup_array_free(&b->context->allocator, &lists.separators[p]);
        sup_array_free(&b->context->allocator, &lists.anchors[p]);
    }
    return ok;
}

/* --- Prisms --- */

static int32_t find_in(const int32_t *values, int32_t count, int32_t value)
{
    int32_t low = 0, high = count;
    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;
        if (values[middle] <= value)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Local node of a node of the system in a subdomain. */
static int32_t local_of(const sup_subdomains_builder *b, const sup_subdomain *subdomain, int32_t node)
{
    const sup_subdomains *k = b->layout;
    if (node >= k->unknown_count)
        return subdomain->count + subdomain->slot_count +
               find_in(k->anchor + subdomain->anchor_first, subdomain->anchor_count, node - k->unknown_count);
    int32_t number = k->number[node];
    if (number < k->interior_count) return number - subdomain->first;
    return subdomain->count +
           find_in(k->slot_node + subdomain->slot_first, subdomain->slot_count, number - k->interior_count);
}

/* Whether an inner corner is an unknown. */
static bool is_loose(const sup_subdomains_builder *b, int64_t source)
{
    const int32_t *inner =
        b->corner + source / SUP_PRISM_LANES * SUP_PRISM_CORNERS + 3 * SUP_PRISM_LANES + source % SUP_PRISM_LANES;
    return inner[0] < b->layout->unknown_count || inner[SUP_PRISM_LANES] < b->layout->unknown_count ||
           inner[2 * SUP_PRISM_LANES] < b->layout->unknown_count;
}

static void write_prism(const sup_subdomains_builder *b, sup_subdomain *subdomain, int64_t source, int32_t to)
{
    const sup_system *s = b->system;
    int64_t batch = source / SUP_PRISM_LANES;
    int32_t lane = (int32_t)(source % SUP_PRISM_LANES);
    int64_t at = subdomain->prism_first + to, to_batch = at / SUP_PRISM_LANES, to_lane = at % SUP_PRISM_LANES;
    b->source[at] = (int32_t)source;
    float *tets = b->layout->tets + to_batch * SUP_PRISM_FLOATS + to_lane;
    uint16_t *corner = b->layout->corner + to_batch * SUP_PRISM_CORNERS + to_lane;
    for (int32_t i = 0; i < SUP_PRISM_FLOATS; i += SUP_PRISM_LANES)
        tets[i] = s->tets[batch * SUP_PRISM_FLOATS + i + lane];
    for (int32_t i = 0; i < SUP_PRISM_CORNERS; i += SUP_PRISM_LANES)
        corner[i] = (uint16_t)local_of(b, subdomain, b->corner[batch * SUP_PRISM_CORNERS + i + lane]);
    for (int32_t i = 0; i < 3 * SUP_PRISM_LANES; i += SUP_PRISM_LANES)
        if (corner[i] >= subdomain->foot_count) subdomain->foot_count = corner[i] + 1;
}

static int32_t corner_at(const sup_subdomains *k, const sup_subdomain *subdomain, int32_t prism, int32_t corner)
{
    int64_t at = subdomain->prism_first + prism;
    return k->corner[at / SUP_PRISM_LANES * SUP_PRISM_CORNERS + corner * SUP_PRISM_LANES + at % SUP_PRISM_LANES];
}

/* Prism corner of corner i of its tetrahedra, four per tetrahedron. */
static int32_t tet_corner(int32_t i)
{
    return sup_prism_tets[i / 4][i % 4];
}

/* Forces of a subdomain: for every unknown and slot the corners of its tetrahedra (in crowds: prisms), in the order
 * of the prisms. */
static void write_sums(sup_subdomains *k, const sup_subdomain *subdomain, int32_t *next)
{
    int32_t count = subdomain->count + subdomain->slot_count, *begin = k->sum_begin + subdomain->sum_first;
    bool crowd = k->limit > SUP_SUBDOMAIN_LIMIT_SINGLE;
    int32_t forces = crowd ? 6 : SUP_SUBDOMAIN_FORCES;
    memset(next, 0, (size_t)count * sizeof(int32_t));
    for (int32_t i = 0; i < subdomain->prism_count * forces; i++) {
        int32_t corner = i % forces, v = corner_at(k, subdomain, i / forces, crowd ? corner : tet_corner(corner));
        if (v < count) next[v]++;
    }
    begin[0] = k->sum_count;
    for (int32_t v = 0; v < count; v++) {
        begin[v + 1] = k->sum_count += next[v];
        next[v] = begin[v];
    }
    for (int32_t i = 0; i < subdomain->prism_count * forces; i++) {
        int32_t corner = i % forces, prism = i / forces;
        int32_t v = corner_at(k, subdomain, prism, crowd ? corner : tet_corner(corner));
        int32_t from =
            crowd ? sup_subdomain_force(subdomain, corner, prism) : corner * 3 * subdomain->prism_stride + prism;
        if (v < count) k->sum_from[next[v]++] = (uint16_t)from;
    }
}

static bool build_prisms(sup_subdomains_builder *b)
{
    sup_subdomains *k = b->layout;
    int64_t sums = 0, all = (int64_t)b->system->batch_count * SUP_PRISM_LANES;
    int32_t max_nodes = 0;
    for (int64_t i = 0; i < all; i++)
        if (b->prism_subdomain[i] >= 0 && is_loose(b, i)) k->subdomains[b->prism_subdomain[i]].loose_stride++;
    for (int32_t p = 0; p < k->subdomain_count; p++) {
        sup_subdomain *subdomain = &k->subdomains[p];
        subdomain->loose_stride = (subdomain->loose_stride + 31) / 32 * 32;
        subdomain->prism_stride = (subdomain->prism_count + 31) / 32 * 32;
        subdomain->prism_first = k->prism_total;
        subdomain->sum_first = k->sum_begin_count;
        k->prism_total += subdomain->prism_stride;
        k->sum_begin_count += subdomain->count + subdomain->slot_count + 1;
        sums += (int64_t)subdomain->prism_count * SUP_SUBDOMAIN_FORCES;
        if (subdomain->count + subdomain->slot_count > max_nodes) max_nodes = subdomain->count + subdomain->slot_count;
        if (subdomain->prism_stride > k->max_prisms) k->max_prisms = subdomain->prism_stride;
        int32_t forces = sup_subdomain_force(subdomain, 6, 0);
        if (forces > k->max_forces) k->max_forces = forces;
    }
    if (k->max_prisms * 3 * SUP_SUBDOMAIN_FORCES > UINT16_MAX) return false;
    size_t total = (size_t)k->prism_total;
    k->tets = sup_arena_alloc(&k->arena, total / SUP_PRISM_LANES * SUP_PRISM_FLOATS + 1, sizeof(float));
    k->corner = sup_arena_alloc(&k->arena, total / SUP_PRISM_LANES * SUP_PRISM_CORNERS + 1, sizeof(uint16_t));
    k->sum_begin = sup_arena_alloc(&k->arena, (size_t)k->sum_begin_count + 1, sizeof(int32_t));
    k->sum_from = sup_arena_alloc(&k->arena, (size_t)sums + 1, sizeof(uint16_t));
    int32_t *next = sup_arena_alloc(&b->arena, (size_t)k->subdomain_count + (size_t)max_nodes, sizeof(int32_t));
    b->source = sup_arena_alloc(&b->arena, total + 1, sizeof(int32_t));
    if (!k->tets || !k->corner || !k->sum_begin || !k->sum_from || !next || !b->source) return false;
    for (size_t i = 0; i < total; i++)
        b->source[i] = -1;
    for (int32_t pass = 0; pass < 2; pass++) /* prisms with an unknown inner corner first */
        for (int64_t i = 0; i < all; i++) {
            int32_t p = b->prism_subdomain[i];
            if (p >= 0 && is_loose(b, i) == (pass == 0)) write_prism(b, &k->subdomains[p], i, next[p]++);
        }
    for (int32_t p = 0; p < k->subdomain_count; p++)
        write_sums(k, &k->subdomains[p], next + k->subdomain_count);
    return true;
}

/* --- Vectors and couplings to anchors --- */

static bool build_vectors(sup_subdomains_builder *b)
{
    sup_subdomains *k = b->layout;
    const sup_system *s = b->system;
    size_t n = (size_t)k->unknown_count;
    k->pull_count = s->coupling_first[k->unknown_count];
    k->mass = sup_arena_alloc(&k->arena, n, sizeof(float));
    k->diagonal = sup_arena_alloc(&k->arena, n, sizeof(float));
    k->pull_first = sup_arena_alloc(&k->arena, n + 1, sizeof(int32_t));
    k->pull_anchor = sup_arena_alloc(&k->arena, (size_t)k->pull_count + 1, sizeof(int32_t));
    k->pull_value = sup_arena_alloc(&k->arena, (size_t)k->pull_count + 1, sizeof(float));
    if (!k->mass || !k->diagonal || !k->pull_first || !k->pull_anchor || !k->pull_value) return false;
    int32_t to = 0;
    for (int32_t i = 0; i < k->unknown_count; i++) {
        int32_t v = b->node[i];
        k->mass[i] = s->mass[v];
        k->diagonal[i] = s->diagonal[v];
        for (int32_t e = s->coupling_first[v]; e < s->coupling_first[v + 1]; e++, to++) {
            k->pull_anchor[to] = s->coupling_anchor[e];
            k->pull_value[to] = s->coupling_value[e];
        }
        k->pull_first[i + 1] = to;
    }
    return true;
}

static sup_result build(sup_subdomains_builder *b, sup_error *error)
{
    sup_subdomains *k = b->layout;
    b->subdomain = sup_arena_alloc(&b->arena, (size_t)k->unknown_count, sizeof(int32_t));
    if (b->subdomain == NULL || !find_corners(b) || !build_graph(b))
        return sup_fail_memory(error, "the system's graph");
    sup_result result = sup_nested_dissection(b->context, &b->graph, k->limit,
                                              k->limit == SUP_SUBDOMAIN_LIMIT_SINGLE ? SINGLE_TRIES : 1, b->subdomain,
                                              &k->subdomain_count, error);
    if (result != SUP_OK) return result;
    if (!number_unknowns(b)) return sup_fail_memory(error, "the subdomains of the system");
    if (k->separator_count > SEPARATOR_LIMIT)
        return sup_fail(
            error, SUP_ERROR_UNSUPPORTED, "cuda.large", "",
            "The simulated skin is too large for the GPU solver: its separator has %d nodes, the limit is %d. "
            "Bind with fewer \"vertices\", or step it on the CPU.",
            (int)k->separator_count, SEPARATOR_LIMIT);
    if (!build_lists(b) || !build_prisms(b) || !build_vectors(b) || !sup_subdomains_build_volume(b))
        return sup_fail_memory(error, "the subdomains of the system");
    result = sup_subdomains_build_inverses(b, error);
    if (result == SUP_OK && !sup_subdomains_build_pack(k))
        return sup_fail_memory(error, "the subdomains of the system");
    return result;
}

sup_result sup_subdomains_create(const sup_context *context, const sup_system *system, int32_t limit,
                                 sup_subdomains **layout, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    sup_subdomains *k = sup_alloc_zero(&resolved.allocator, sizeof *k);
    if (k == NULL) return sup_fail_memory(error, "the subdomains of the system");
    k->context = resolved;
    k->arena = sup_arena_create(&resolved.allocator);
    k->limit = limit;
    k->unknown_count = system->unknown_count;
    k->anchor_count = system->anchor_count;
    sup_subdomains_builder b = {
        .context = &resolved, .system = system, .layout = k, .arena = sup_arena_create(&resolved.allocator)};
    sup_result result = build(&b, error);
    sup_arena_destroy(&b.arena);
    if (result == SUP_OK)
        *layout = k;
    else
        sup_subdomains_destroy(k);
    return result;
}

void sup_subdomains_destroy(sup_subdomains *layout)
{
    if (layout == NULL) return;
    sup_allocator allocator = layout->context.allocator;
    sup_arena_destroy(&layout->arena);
    sup_free(&allocator, layout, sizeof *layout);
}

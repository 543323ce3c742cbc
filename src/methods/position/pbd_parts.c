/* pbd_parts.c - cutting the particles into parts that threads solve at the same time.
 *
 * Halves of equal work, cut across the axis that the fewest edges cross, again and again. Constraints that reach over a
 * cut are gathered into clusters that share no particle: limbs are cut across, so there are many small ones. */
#include "methods/position/pbd_build.h"

#include <stdlib.h>

/* Constraints a part: some ten microseconds of work, much more than a meeting of threads takes. */
enum { CONSTRAINTS_A_PART = 2600 };

typedef struct placed {
    double key;
    int32_t particle;
} placed;

typedef struct cutter {
    sup_pbd_build *b;
    double *work;   /* [particle_count] constraints at a particle, each counted in parts */
    placed *sorted; /* [particle_count] */
    bool *right;    /* [particle_count] */
} cutter;

static int compare_placed(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->particle > y->particle) - (x->particle < y->particle);
}

/* Sorts order[begin, end) along the axis; where the first `share` of the work ends. */
static int32_t sort_range(cutter *c, int32_t begin, int32_t end, int32_t axis, double share)
{
    double total = 0.0, sum = 0.0;
    for (int32_t i = begin; i < end; i++) {
        int32_t v = c->b->order[i];
        c->sorted[i] = (placed){c->b->def->rest[3 * (int64_t)v + axis], v};
        total += c->work[v];
    }
    qsort(c->sorted + begin, (size_t)(end - begin), sizeof *c->sorted, compare_placed);
    int32_t cut = begin;
    for (; cut < end && sum < share * total; cut++)
        sum += c->work[c->sorted[cut].particle];
    return cut;
}

/* Edges of part `part` whose ends are on different sides of the cut. */
static int32_t count_crossing(cutter *c, int32_t begin, int32_t end, int32_t cut, int32_t part)
{
    const sup_pbd_set *edges = &c->b->edges;
    int32_t crossing = 0;
    for (int32_t i = begin; i < end; i++)
        c->right[c->sorted[i].particle] = i >= cut;
    for (int32_t e = 0; e < edges->count; e++) {
        int32_t u = edges->particle[2 * (int64_t)e], v = edges->particle[2 * (int64_t)e + 1];
        crossing += c->b->part[u] == part && c->b->part[v] == part && c->right[u] != c->right[v];
    }
    return crossing;
}

/* Particles order[begin, end) all of part `first`, to be cut into parts [first, last). */
typedef struct range {
    int32_t begin, end, first, last;
} range;

static int32_t cut_range(cutter *c, range r)
{
    int32_t middle = (r.first + r.last) / 2, best = -1, best_crossing = INT32_MAX;
    double share = (double)(middle - r.first) / (double)(r.last - r.first);
    for (int32_t axis = 0; axis < 3; axis++) {
        int32_t cut = sort_range(c, r.begin, r.end, axis, share);
        int32_t crossing = count_crossing(c, r.begin, r.end, cut, r.first);
        if (crossing >= best_crossing) continue;
        best_crossing = crossing;
        best = axis;
    }
    int32_t cut = sort_range(c, r.begin, r.end, best, share);
    for (int32_t i = r.begin; i < r.end; i++) {
        c->b->order[i] = c->sorted[i].particle;
        if (i >= cut) c->b->part[c->sorted[i].particle] = middle;
    }
    return cut;
}

static bool cut_parts(sup_pbd_build *b)
{
    size_t n = (size_t)b->def->particle_count;
    cutter c = {b, sup_arena_alloc(&b->arena, n, sizeof(double)), sup_arena_alloc(&b->arena, n, sizeof(placed)),
                sup_arena_alloc(&b->arena, n, sizeof(bool))};
    enum { DEPTH = 64 };
    range stack[DEPTH] = {{0, b->def->particle_count, 0, b->part_count}};
    if (c.work == NULL || c.sorted == NULL || c.right == NULL) return false;
    for (size_t v = 0; v < n; v++) {
        c.work[v] = 1.0;
        b->order[v] = (int32_t)v;
    }
    for (int64_t i = 0; i < 4 * (int64_t)b->tets.count; i++)
        c.work[b->tets.particle[i]] += 0.5; /* a tet takes twice the time of an edge */
    for (int64_t i = 0; i < 2 * (int64_t)b->edges.count; i++)
        c.work[b->edges.particle[i]] += 0.5;
    for (int32_t top = 1; top > 0;) {
        range r = stack[--top];
        if (r.last - r.first < 2) {
            b->part_first[r.first] = r.begin;
            continue;
        }
        int32_t cut = cut_range(&c, r), middle = (r.first + r.last) / 2;
        stack[top++] = (range){r.begin, cut, r.first, middle};
        stack[top++] = (range){cut, r.end, middle, r.last};
    }
    b->part_first[b->part_count] = b->def->particle_count;
    return true;
}

/* --- Clusters --- */

static int32_t find(int32_t *leader, int32_t v)
{
    while (leader[v] != v)
        v = leader[v] = leader[leader[v]];
    return v;
}

/* Parts for constraints inside one, -1 for the others, whose particles are joined. */
static void join_crossing(const sup_pbd_build *b, sup_pbd_set *set, int32_t *leader)
{
    for (int32_t i = 0; i < set->count; i++) {
        const int32_t *particle = set->particle + (int64_t)i * set->arity;
        set->piece[i] = b->part[particle[0]];
        for (int32_t k = 1; k < set->arity; k++)
            if (b->part[particle[k]] != set->piece[i]) set->piece[i] = -1;
        for (int32_t k = 1; set->piece[i] < 0 && k < set->arity; k++) {
            int32_t u = find(leader, particle[0]), v = find(leader, particle[k]);
            if (u < v)
                leader[v] = u;
            else
                leader[u] = v;
        }
    }
}

typedef struct component {
    int32_t leader, size;
} component;

static int compare_components(const void *a, const void *b)
{
    const component *x = a, *y = b;
    if (x->size != y->size) return x->size > y->size ? -1 : 1;
    return (x->leader > y->leader) - (x->leader < y->leader);
}

/* Largest first, each to the cluster with the least work. */
static bool share_components(sup_pbd_build *b, component *components, int32_t count, int32_t *cluster_of)
{
    int64_t *work = sup_arena_alloc(&b->arena, (size_t)b->cluster_count, sizeof(int64_t));
    if (work == NULL) return false;
    qsort(components, (size_t)count, sizeof *components, compare_components);
    for (int32_t i = 0; i < count; i++) {
        int32_t least = 0;
        for (int32_t k = 1; k < b->cluster_count; k++)
            if (work[k] < work[least]) least = k;
        work[least] += components[i].size;
        cluster_of[components[i].leader] = least;
    }
    return true;
}

static bool build_clusters(sup_pbd_build *b)
{
    size_t n = (size_t)b->def->particle_count;
    int32_t *leader = sup_arena_alloc(&b->arena, n, sizeof(int32_t));
    int32_t *size = sup_arena_alloc(&b->arena, n, sizeof(int32_t));
    component *components = sup_arena_alloc(&b->arena, n, sizeof(component));
    if (leader == NULL || size == NULL || components == NULL) return false;
    for (size_t v = 0; v < n; v++)
        leader[v] = (int32_t)v;
    sup_pbd_set *sets[2] = {&b->tets, &b->edges};
    for (int s = 0; s < 2; s++)
        join_crossing(b, sets[s], leader);
    for (int s = 0; s < 2; s++)
        for (int32_t i = 0; i < sets[s]->count; i++)
            if (sets[s]->piece[i] < 0) size[find(leader, sets[s]->particle[(int64_t)i * sets[s]->arity])]++;
    int32_t count = 0;
    for (size_t v = 0; v < n; v++)
        if (size[v] > 0) components[count++] = (component){(int32_t)v, size[v]};
    b->cluster_count = count < b->part_count ? count : b->part_count;
    if (count > 0 && !share_components(b, components, count, size)) return false; /* size: now the cluster */
    for (int s = 0; s < 2; s++)
        for (int32_t i = 0; i < sets[s]->count; i++)
            if (sets[s]->piece[i] < 0)
                sets[s]->piece[i] = b->part_count + size[find(leader, sets[s]->particle[(int64_t)i * sets[s]->arity])];
    return true;
}

sup_result sup_pbd_build_parts(sup_pbd_build *b, sup_error *error)
{
    size_t n = (size_t)b->def->particle_count;
    int32_t size = b->def->constraints_a_part > 0 ? b->def->constraints_a_part : CONSTRAINTS_A_PART;
    int64_t constraints = (int64_t)b->tets.count + b->edges.count + b->def->particle_count;
    b->part_count = (int32_t)((constraints + size / 2) / size);
    if (b->part_count > b->def->particle_count / 8) b->part_count = b->def->particle_count / 8;
    if (b->part_count < 1) b->part_count = 1;
    b->part = sup_arena_alloc(&b->arena, n, sizeof(int32_t));
    b->order = sup_arena_alloc(&b->arena, n, sizeof(int32_t));
    b->part_first = sup_arena_alloc(&b->arena, (size_t)b->part_count + 1, sizeof(int32_t));
    if (b->part == NULL || b->order == NULL || b->part_first == NULL || !cut_parts(b) || !build_clusters(b))
        return sup_fail_memory(error, "the parts of the body");
    return SUP_OK;
}

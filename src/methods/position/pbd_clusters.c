/* pbd_clusters.c - splits the particles into clusters that threads solve in parallel.
 *
 * Recursive bisection into halves of equal work, perpendicular to the axis that the fewest edges cross. Constraints
 * across clusters are clustered the same way in a second level; the few remaining ones are grouped by connected
 * component. */
#include "methods/position/pbd_build.h"

#include <stdlib.h>

/* Constraints per cluster: some ten microseconds of work, much more than a barrier takes. */
enum { CLUSTER_SIZE = 4500 };

typedef struct sort_key {
    double key;
    int32_t particle;
} sort_key;

typedef struct splitter {
    sup_pbd_build *b;
    double *work;         /* [particle_count] work of the constraints of a particle */
    sort_key *sorted;     /* [particle_count] */
    int32_t *position_of; /* [particle_count] index of a particle in sorted */
    int32_t *across;      /* [particle_count+1] edges crossed by a cut before this index */
    double slack;         /* tolerated deviation of the work fractions, to cut fewer edges */
} splitter;

static int compare_keys(const void *a, const void *b)
{
    const sort_key *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->particle > y->particle) - (x->particle < y->particle);
}

/* Sorts order[begin, end) along the axis; returns the work of these particles. */
static double sort_range(splitter *c, int32_t begin, int32_t end, int32_t axis)
{
    double total = 0.0;
    for (int32_t i = begin; i < end; i++) {
        int32_t v = c->b->order[i];
        c->sorted[i] = (sort_key){c->b->def->rest[3 * (int64_t)v + axis], v};
        total += c->work[v];
    }
    qsort(c->sorted + begin, (size_t)(end - begin), sizeof *c->sorted, compare_keys);
    for (int32_t i = begin; i < end; i++)
        c->position_of[c->sorted[i].particle] = i;
    return total;
}

/* Counts, for each possible cut, the unassigned edges of the cluster that it crosses. */
static void count_across(splitter *c, int32_t begin, int32_t end, int32_t cluster)
{
    const sup_pbd_set *edges = &c->b->edges;
    memset(c->across + begin, 0, (size_t)(end - begin + 1) * sizeof *c->across);
    for (int32_t e = 0; e < edges->count; e++) {
        int32_t u = edges->particle[2 * (int64_t)e], v = edges->particle[2 * (int64_t)e + 1];
        if (edges->cluster[e] >= 0 || c->b->cluster[u] != cluster || c->b->cluster[v] != cluster) continue;
        int32_t low = c->position_of[u] < c->position_of[v] ? c->position_of[u] : c->position_of[v],
                high = c->position_of[u] + c->position_of[v] - low;
        c->across[low + 1]++;
        if (high < end) c->across[high + 1]--;
    }
    for (int32_t i = begin; i < end; i++)
        c->across[i + 1] += c->across[i];
}

/* Particles order[begin, end), all of cluster `first`, to be split into clusters [first, last). */
typedef struct range {
    int32_t begin, end, first, last;
} range;

/* The cut with the fewest crossed edges whose lower side has `fraction` of the work, within the tolerance. */
static int32_t best_cut(const splitter *c, range r, double total, double fraction, int32_t *across)
{
    double sum = 0.0, nearest = INFINITY;
    int32_t best = r.begin;
    *across = INT32_MAX;
    for (int32_t i = r.begin; i <= r.end; i++) {
        double error = fabs(sum - fraction * total);
        bool near = error <= c->slack * total;
        if (near ? c->across[i] < *across || (c->across[i] == *across && error < nearest)
                 : *across == INT32_MAX && error < nearest) {
            if (near) *across = c->across[i];
            nearest = error;
            best = i;
        }
        if (i < r.end) sum += c->work[c->sorted[i].particle];
    }
    if (*across == INT32_MAX) *across = c->across[best];
    return best;
}

static int32_t split_range(splitter *c, range r)
{
    int32_t middle = (r.first + r.last) / 2, best = 0, minimum = INT32_MAX, across;
    double fraction = (double)(middle - r.first) / (double)(r.last - r.first);
    for (int32_t axis = 0; axis < 3; axis++) {
        double total = sort_range(c, r.begin, r.end, axis);
        count_across(c, r.begin, r.end, r.first);
        best_cut(c, r, total, fraction, &across);
        if (across >= minimum) continue;
        minimum = across;
        best = axis;
    }
    double total = sort_range(c, r.begin, r.end, best);
    count_across(c, r.begin, r.end, r.first);
    int32_t cut = best_cut(c, r, total, fraction, &across);
    for (int32_t i = r.begin; i < r.end; i++) {
        c->b->order[i] = c->sorted[i].particle;
        if (i >= cut) c->b->cluster[c->sorted[i].particle] = middle;
    }
    return cut;
}

/* Splits the particles order[0, count) into cluster_count clusters; cluster_first [cluster_count+1] indexes order. */
static void split_particles(sup_pbd_build *b, splitter *c, int32_t count, int32_t cluster_count, int32_t *cluster_first)
{
    enum { DEPTH = 64 };
    range stack[DEPTH] = {{0, count, 0, cluster_count}};
    for (int32_t i = 0; i < count; i++)
        b->cluster[b->order[i]] = 0;
    for (int32_t top = 1; top > 0;) {
        range r = stack[--top];
        if (r.last - r.first < 2) {
            cluster_first[r.first] = r.begin;
            continue;
        }
        int32_t cut = split_range(c, r), middle = (r.first + r.last) / 2;
        stack[top++] = (range){r.begin, cut, r.first, middle};
        stack[top++] = (range){cut, r.end, middle, r.last};
    }
    cluster_first[cluster_count] = count;
}

/* Adds the work of unassigned constraints to their particles; returns the number of these constraints. */
static int64_t gather_work(sup_pbd_build *b, splitter *c)
{
    const sup_pbd_set *sets[2] = {&b->tets, &b->edges};
    int64_t count = 0;
    memset(c->work, 0, (size_t)b->def->particle_count * sizeof *c->work);
    for (int s = 0; s < 2; s++)
        for (int32_t i = 0; i < sets[s]->count; i++) {
            if (sets[s]->cluster[i] >= 0) continue;
            count++;
            for (int32_t k = 0; k < sets[s]->arity; k++) /* a tet costs twice as much as an edge */
                c->work[sets[s]->particle[(int64_t)i * sets[s]->arity + k]] += 0.5;
        }
    return count;
}

/* Assigns constraints whose particles are all in one cluster. */
static void assign_inner(const sup_pbd_build *b, sup_pbd_set *set, int32_t first_cluster)
{
    for (int32_t i = 0; i < set->count; i++) {
        const int32_t *particle = set->particle + (int64_t)i * set->arity;
        bool inner = set->cluster[i] < 0;
        for (int32_t k = 1; inner && k < set->arity; k++)
            inner = b->cluster[particle[k]] == b->cluster[particle[0]];
        if (inner) set->cluster[i] = first_cluster + b->cluster[particle[0]];
    }
}

/* --- Last level --- */

static int32_t find(int32_t *leader, int32_t v)
{
    while (leader[v] != v)
        v = leader[v] = leader[leader[v]];
    return v;
}

/* Joins the particles of unassigned constraints. */
static void join_unassigned(const sup_pbd_set *set, int32_t *leader)
{
    for (int32_t i = 0; i < set->count; i++) {
        const int32_t *particle = set->particle + (int64_t)i * set->arity;
        for (int32_t k = 1; set->cluster[i] < 0 && k < set->arity; k++) {
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
static bool distribute_components(sup_pbd_build *b, component *components, int32_t count, int32_t clusters,
                                  int32_t *cluster_of)
{
    int64_t *work = sup_arena_alloc(&b->arena, (size_t)clusters, sizeof(int64_t));
    if (work == NULL) return false;
    qsort(components, (size_t)count, sizeof *components, compare_components);
    for (int32_t i = 0; i < count; i++) {
        int32_t minimum = 0;
        for (int32_t k = 1; k < clusters; k++)
            if (work[k] < work[minimum]) minimum = k;
        work[minimum] += components[i].size;
        cluster_of[components[i].leader] = minimum;
    }
    return true;
}

/* The last level: distributes the connected components of the unassigned constraints to clusters. */
static bool build_last_level(sup_pbd_build *b, int32_t maximum)
{
    size_t n = (size_t)b->def->particle_count;
    int32_t *leader = sup_arena_alloc(&b->arena, n, sizeof(int32_t)), first = b->level_first[SUP_PBD_LEVELS - 1];
    int32_t *size = sup_arena_alloc(&b->arena, n, sizeof(int32_t)); /* size of a component, then its cluster */
    component *components = sup_arena_alloc(&b->arena, n, sizeof(component));
    if (leader == NULL || size == NULL || components == NULL) return false;
    for (size_t v = 0; v < n; v++)
        leader[v] = (int32_t)v;
    sup_pbd_set *sets[2] = {&b->tets, &b->edges};
    for (int s = 0; s < 2; s++)
        join_unassigned(sets[s], leader);
    for (int s = 0; s < 2; s++)
        for (int32_t i = 0; i < sets[s]->count; i++)
            if (sets[s]->cluster[i] < 0) size[find(leader, sets[s]->particle[(int64_t)i * sets[s]->arity])]++;
    int32_t count = 0;
    for (size_t v = 0; v < n; v++)
        if (size[v] > 0) components[count++] = (component){(int32_t)v, size[v]};
    int32_t clusters = count < maximum ? count : maximum;
    b->level_first[SUP_PBD_LEVELS] = first + clusters;
    if (count == 0) return true;
    if (!distribute_components(b, components, count, clusters, size)) return false;
    for (int s = 0; s < 2; s++)
        for (int32_t i = 0; i < sets[s]->count; i++)
            if (sets[s]->cluster[i] < 0)
                sets[s]->cluster[i] = first + size[find(leader, sets[s]->particle[(int64_t)i * sets[s]->arity])];
    return true;
}

/* --- Levels --- */

/* Number of clusters: a multiple of 4 for balance on 2 and 4 threads, each large enough to be worth a barrier. */
static int32_t count_clusters(int64_t constraints, int32_t size, int32_t particles)
{
    int64_t clusters = (constraints + size / 2) / size;
    if (clusters > 2) clusters = (clusters + 3) / 4 * 4;
    if (clusters > particles / 8) clusters = particles / 8;
    return clusters > 1 ? (int32_t)clusters : 1;
}

/* Sorts the particles of a cluster by their cluster in the second level: fewer cache lines move between cores. */
static void sort_within_clusters(sup_pbd_build *b, splitter *c, int32_t count)
{
    for (int32_t v = 0; v < b->def->particle_count; v++)
        c->position_of[v] = -1;
    for (int32_t i = 0; i < count; i++)
        c->position_of[b->order[i]] = b->cluster[b->order[i]];
    for (int32_t cluster = 0; cluster < b->level_first[1]; cluster++) {
        int32_t begin = b->cluster_first[cluster], end = b->cluster_first[cluster + 1];
        for (int32_t i = begin; i < end; i++)
            c->sorted[i] = (sort_key){c->position_of[b->particles[i]], b->particles[i]};
        qsort(c->sorted + begin, (size_t)(end - begin), sizeof *c->sorted, compare_keys);
        for (int32_t i = begin; i < end; i++)
            b->particles[i] = c->sorted[i].particle;
    }
}

/* The first level splits all particles, the second those of constraints across clusters of the first level: into half
 * as many clusters, since small clusters leave lanes empty. */
static bool build_level(sup_pbd_build *b, splitter *c, int32_t level, int32_t size)
{
    int64_t remaining = gather_work(b, c);
    int32_t count = 0, *first = NULL;
    for (int32_t v = 0; v < b->def->particle_count; v++)
        if (level == 0 || c->work[v] > 0.0) b->order[count++] = v;
    int32_t clusters = level == 0      ? count_clusters(remaining + count, size, count)
                       : remaining > 0 ? (b->level_first[1] + 1) / 2
                                       : 0;
    c->slack = level == 0 ? 0.03 : 0.1;
    b->level_first[level + 1] = b->level_first[level] + clusters;
    if (clusters == 0) return true;
    first = sup_arena_alloc(&b->arena, (size_t)clusters + 1, sizeof(int32_t));
    if (first == NULL) return false;
    split_particles(b, c, count, clusters, first);
    assign_inner(b, &b->tets, b->level_first[level]);
    assign_inner(b, &b->edges, b->level_first[level]);
    if (level == 0) {
        b->cluster_first = first;
        b->particles = sup_arena_copy(&b->arena, b->order, (size_t)count, sizeof(int32_t));
        return b->particles != NULL;
    }
    sort_within_clusters(b, c, count);
    return true;
}

sup_result sup_pbd_build_clusters(sup_pbd_build *b, sup_error *error)
{
    size_t n = (size_t)b->def->particle_count;
    int32_t size = b->def->cluster_size > 0 ? b->def->cluster_size : CLUSTER_SIZE;
    splitter c = {.b = b,
                  .work = sup_arena_alloc(&b->arena, n, sizeof(double)),
                  .sorted = sup_arena_alloc(&b->arena, n, sizeof(sort_key)),
                  .position_of = sup_arena_alloc(&b->arena, n, sizeof(int32_t)),
                  .across = sup_arena_alloc(&b->arena, n + 1, sizeof(int32_t))};
    b->cluster = sup_arena_alloc(&b->arena, n, sizeof(int32_t));
    b->order = sup_arena_alloc(&b->arena, n, sizeof(int32_t));
    if (c.work == NULL || c.sorted == NULL || c.position_of == NULL || c.across == NULL || b->cluster == NULL ||
        b->order == NULL)
        return sup_fail_memory(error, "the clusters of the body");
    for (int32_t i = 0; i < b->tets.count; i++)
        b->tets.cluster[i] = -1;
    for (int32_t i = 0; i < b->edges.count; i++)
        b->edges.cluster[i] = -1;
    if (!build_level(b, &c, 0, size) || !build_level(b, &c, 1, size) || !build_last_level(b, b->level_first[1]))
        return sup_fail_memory(error, "the clusters of the body");
    return SUP_OK;
}

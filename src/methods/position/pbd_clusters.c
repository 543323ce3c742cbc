/* pbd_clusters.c - cutting the particles into parts that threads solve at the same time.
 *
 * Halves of equal work, cut across the axis that the fewest edges cross, again and again. Constraints that reach over a
 * cut are cut again the same way; the few that are left after that are gathered into clusters that share no particle. */
#include "methods/position/pbd_build.h"

#include <stdlib.h>

/* Constraints a part: some ten microseconds of work, much more than a meeting of threads takes. */
enum { CONSTRAINTS_A_PART = 4500 };

typedef struct placed {
    double key;
    int32_t particle;
} placed;

typedef struct cutter {
    sup_pbd_build *b;
    double *work;    /* [particle_count] of the constraints at a particle */
    placed *sorted;  /* [particle_count] */
    int32_t *at;     /* [particle_count] where a particle stands in sorted */
    int32_t *across; /* [particle_count+1] edges that a cut before this place crosses */
    double slack;    /* how far the parts' shares of the work may be off, to cut fewer edges */
} cutter;

static int compare_placed(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->particle > y->particle) - (x->particle < y->particle);
}

/* Sorts order[begin, end), particles of part `part`, along the axis. Their work. */
static double sort_range(cutter *c, int32_t begin, int32_t end, int32_t axis)
{
    double total = 0.0;
    for (int32_t i = begin; i < end; i++) {
        int32_t v = c->b->order[i];
        c->sorted[i] = (placed){c->b->def->rest[3 * (int64_t)v + axis], v};
        total += c->work[v];
    }
    qsort(c->sorted + begin, (size_t)(end - begin), sizeof *c->sorted, compare_placed);
    for (int32_t i = begin; i < end; i++)
        c->at[c->sorted[i].particle] = i;
    return total;
}

/* Edges of the part, among those that no level solves yet, that each cut would cross. */
static void count_across(cutter *c, int32_t begin, int32_t end, int32_t part)
{
    const sup_pbd_set *edges = &c->b->edges;
    memset(c->across + begin, 0, (size_t)(end - begin + 1) * sizeof *c->across);
    for (int32_t e = 0; e < edges->count; e++) {
        int32_t u = edges->particle[2 * (int64_t)e], v = edges->particle[2 * (int64_t)e + 1];
        if (edges->piece[e] >= 0 || c->b->part[u] != part || c->b->part[v] != part) continue;
        int32_t low = c->at[u] < c->at[v] ? c->at[u] : c->at[v], high = c->at[u] + c->at[v] - low;
        c->across[low + 1]++;
        if (high < end) c->across[high + 1]--;
    }
    for (int32_t i = begin; i < end; i++)
        c->across[i + 1] += c->across[i];
}

/* Particles order[begin, end) all of part `first`, to be cut into parts [first, last). */
typedef struct range {
    int32_t begin, end, first, last;
} range;

/* The place with the fewest edges across where the left side has `share` of the work, give or take the slack. */
static int32_t best_place(const cutter *c, range r, double total, double share, int32_t *across)
{
    double sum = 0.0, nearest = INFINITY;
    int32_t best = r.begin;
    *across = INT32_MAX;
    for (int32_t i = r.begin; i <= r.end; i++) {
        double off = fabs(sum - share * total);
        bool near = off <= c->slack * total;
        if (near ? c->across[i] < *across || (c->across[i] == *across && off < nearest)
                 : *across == INT32_MAX && off < nearest) {
            if (near) *across = c->across[i];
            nearest = off;
            best = i;
        }
        if (i < r.end) sum += c->work[c->sorted[i].particle];
    }
    if (*across == INT32_MAX) *across = c->across[best];
    return best;
}

static int32_t cut_range(cutter *c, range r)
{
    int32_t middle = (r.first + r.last) / 2, best = 0, least = INT32_MAX, across;
    double share = (double)(middle - r.first) / (double)(r.last - r.first);
    for (int32_t axis = 0; axis < 3; axis++) {
        double total = sort_range(c, r.begin, r.end, axis);
        count_across(c, r.begin, r.end, r.first);
        best_place(c, r, total, share, &across);
        if (across >= least) continue;
        least = across;
        best = axis;
    }
    double total = sort_range(c, r.begin, r.end, best);
    count_across(c, r.begin, r.end, r.first);
    int32_t cut = best_place(c, r, total, share, &across);
    for (int32_t i = r.begin; i < r.end; i++) {
        c->b->order[i] = c->sorted[i].particle;
        if (i >= cut) c->b->part[c->sorted[i].particle] = middle;
    }
    return cut;
}

/* Cuts the particles order[0, count) into part_count parts; part_first [part_count+1] is where they begin in order. */
static void cut_particles(sup_pbd_build *b, cutter *c, int32_t count, int32_t part_count, int32_t *part_first)
{
    enum { DEPTH = 64 };
    range stack[DEPTH] = {{0, count, 0, part_count}};
    for (int32_t i = 0; i < count; i++)
        b->part[b->order[i]] = 0;
    for (int32_t top = 1; top > 0;) {
        range r = stack[--top];
        if (r.last - r.first < 2) {
            part_first[r.first] = r.begin;
            continue;
        }
        int32_t cut = cut_range(c, r), middle = (r.first + r.last) / 2;
        stack[top++] = (range){r.begin, cut, r.first, middle};
        stack[top++] = (range){cut, r.end, middle, r.last};
    }
    part_first[part_count] = count;
}

/* Constraints that no level solves yet add their work to their particles. How many there are. */
static int64_t gather_work(sup_pbd_build *b, cutter *c)
{
    const sup_pbd_set *sets[2] = {&b->tets, &b->edges};
    int64_t count = 0;
    memset(c->work, 0, (size_t)b->def->particle_count * sizeof *c->work);
    for (int s = 0; s < 2; s++)
        for (int32_t i = 0; i < sets[s]->count; i++) {
            if (sets[s]->piece[i] >= 0) continue;
            count++;
            for (int32_t k = 0; k < sets[s]->arity; k++) /* a tet takes twice the time of an edge */
                c->work[sets[s]->particle[(int64_t)i * sets[s]->arity + k]] += 0.5;
        }
    return count;
}

/* Gives constraints inside one part to its piece. */
static void take_inner(const sup_pbd_build *b, sup_pbd_set *set, int32_t first_piece)
{
    for (int32_t i = 0; i < set->count; i++) {
        const int32_t *particle = set->particle + (int64_t)i * set->arity;
        bool inner = set->piece[i] < 0;
        for (int32_t k = 1; inner && k < set->arity; k++)
            inner = b->part[particle[k]] == b->part[particle[0]];
        if (inner) set->piece[i] = first_piece + b->part[particle[0]];
    }
}

/* --- Clusters --- */

static int32_t find(int32_t *leader, int32_t v)
{
    while (leader[v] != v)
        v = leader[v] = leader[leader[v]];
    return v;
}

/* Joins the particles of constraints that no level solves yet. */
static void join_left(const sup_pbd_set *set, int32_t *leader)
{
    for (int32_t i = 0; i < set->count; i++) {
        const int32_t *particle = set->particle + (int64_t)i * set->arity;
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
static bool share_components(sup_pbd_build *b, component *components, int32_t count, int32_t clusters,
                             int32_t *cluster_of)
{
    int64_t *work = sup_arena_alloc(&b->arena, (size_t)clusters, sizeof(int64_t));
    if (work == NULL) return false;
    qsort(components, (size_t)count, sizeof *components, compare_components);
    for (int32_t i = 0; i < count; i++) {
        int32_t least = 0;
        for (int32_t k = 1; k < clusters; k++)
            if (work[k] < work[least]) least = k;
        work[least] += components[i].size;
        cluster_of[components[i].leader] = least;
    }
    return true;
}

/* What is left after all cuts, in clusters that share no particle: the last level. */
static bool build_clusters(sup_pbd_build *b, int32_t most)
{
    size_t n = (size_t)b->def->particle_count;
    int32_t *leader = sup_arena_alloc(&b->arena, n, sizeof(int32_t)), first = b->level_first[SUP_PBD_LEVELS - 1];
    int32_t *size = sup_arena_alloc(&b->arena, n, sizeof(int32_t)); /* of a component, then its cluster */
    component *components = sup_arena_alloc(&b->arena, n, sizeof(component));
    if (leader == NULL || size == NULL || components == NULL) return false;
    for (size_t v = 0; v < n; v++)
        leader[v] = (int32_t)v;
    sup_pbd_set *sets[2] = {&b->tets, &b->edges};
    for (int s = 0; s < 2; s++)
        join_left(sets[s], leader);
    for (int s = 0; s < 2; s++)
        for (int32_t i = 0; i < sets[s]->count; i++)
            if (sets[s]->piece[i] < 0) size[find(leader, sets[s]->particle[(int64_t)i * sets[s]->arity])]++;
    int32_t count = 0;
    for (size_t v = 0; v < n; v++)
        if (size[v] > 0) components[count++] = (component){(int32_t)v, size[v]};
    int32_t clusters = count < most ? count : most;
    b->level_first[SUP_PBD_LEVELS] = first + clusters;
    if (count == 0) return true;
    if (!share_components(b, components, count, clusters, size)) return false;
    for (int s = 0; s < 2; s++)
        for (int32_t i = 0; i < sets[s]->count; i++)
            if (sets[s]->piece[i] < 0)
                sets[s]->piece[i] = first + size[find(leader, sets[s]->particle[(int64_t)i * sets[s]->arity])];
    return true;
}

/* --- Levels --- */

/* Parts of equal work for 2 and 4 threads, each large enough to be worth a meeting. */
static int32_t count_parts(int64_t constraints, int32_t size, int32_t particles)
{
    int64_t parts = (constraints + size / 2) / size;
    if (parts > 2) parts = (parts + 3) / 4 * 4;
    if (parts > particles / 8) parts = particles / 8;
    return parts > 1 ? (int32_t)parts : 1;
}

/* Particles that a thread of the second level writes stand together in each part: lines of memory change hands less. */
static void sort_within_parts(sup_pbd_build *b, cutter *c, int32_t count)
{
    for (int32_t v = 0; v < b->def->particle_count; v++)
        c->at[v] = -1;
    for (int32_t i = 0; i < count; i++)
        c->at[b->order[i]] = b->part[b->order[i]];
    for (int32_t part = 0; part < b->level_first[1]; part++) {
        int32_t begin = b->part_first[part], end = b->part_first[part + 1];
        for (int32_t i = begin; i < end; i++)
            c->sorted[i] = (placed){c->at[b->particles[i]], b->particles[i]};
        qsort(c->sorted + begin, (size_t)(end - begin), sizeof *c->sorted, compare_placed);
        for (int32_t i = begin; i < end; i++)
            b->particles[i] = c->sorted[i].particle;
    }
}

/* The first level cuts all particles, the second those of constraints that reach over the first level's cuts: into half
 * as many parts, since small ones leave lanes empty. */
static bool build_level(sup_pbd_build *b, cutter *c, int32_t level, int32_t size)
{
    int64_t left = gather_work(b, c);
    int32_t count = 0, *first = NULL;
    for (int32_t v = 0; v < b->def->particle_count; v++)
        if (level == 0 || c->work[v] > 0.0) b->order[count++] = v;
    int32_t parts = level == 0 ? count_parts(left + count, size, count) : left > 0 ? (b->level_first[1] + 1) / 2 : 0;
    c->slack = level == 0 ? 0.03 : 0.1;
    b->level_first[level + 1] = b->level_first[level] + parts;
    if (parts == 0) return true;
    first = sup_arena_alloc(&b->arena, (size_t)parts + 1, sizeof(int32_t));
    if (first == NULL) return false;
    cut_particles(b, c, count, parts, first);
    take_inner(b, &b->tets, b->level_first[level]);
    take_inner(b, &b->edges, b->level_first[level]);
    if (level == 0) {
        b->part_first = first;
        b->particles = sup_arena_copy(&b->arena, b->order, (size_t)count, sizeof(int32_t));
        return b->particles != NULL;
    }
    sort_within_parts(b, c, count);
    return true;
}

sup_result sup_pbd_build_parts(sup_pbd_build *b, sup_error *error)
{
    size_t n = (size_t)b->def->particle_count;
    int32_t size = b->def->constraints_a_part > 0 ? b->def->constraints_a_part : CONSTRAINTS_A_PART;
    cutter c = {.b = b,
                .work = sup_arena_alloc(&b->arena, n, sizeof(double)),
                .sorted = sup_arena_alloc(&b->arena, n, sizeof(placed)),
                .at = sup_arena_alloc(&b->arena, n, sizeof(int32_t)),
                .across = sup_arena_alloc(&b->arena, n + 1, sizeof(int32_t))};
    b->part = sup_arena_alloc(&b->arena, n, sizeof(int32_t));
    b->order = sup_arena_alloc(&b->arena, n, sizeof(int32_t));
    if (c.work == NULL || c.sorted == NULL || c.at == NULL || c.across == NULL || b->part == NULL || b->order == NULL)
        return sup_fail_memory(error, "the parts of the body");
    for (int32_t i = 0; i < b->tets.count; i++)
        b->tets.piece[i] = -1;
    for (int32_t i = 0; i < b->edges.count; i++)
        b->edges.piece[i] = -1;
    if (!build_level(b, &c, 0, size) || !build_level(b, &c, 1, size) || !build_clusters(b, b->level_first[1]))
        return sup_fail_memory(error, "the parts of the body");
    return SUP_OK;
}

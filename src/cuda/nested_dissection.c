/* nested_dissection.c - nested dissection by level sets. See nested_dissection.h. */
#include "cuda/nested_dissection.h"

typedef struct cutter {
    const sup_graph *graph;
    int32_t *subdomain; /* [size] */
    int32_t *size;      /* [size] vertices of each subdomain */
    int32_t *level;     /* [size] of the subdomain that is being cut, -1 elsewhere */
    int32_t *order;     /* [size] its vertices by ascending level */
    int32_t *first;     /* [size+1] where levels begin in `order` */
    int32_t subdomain_count, level_count;
} cutter;

/* Breadth-first levels of the vertices of subdomain `p` reachable from `from`, appended to `order`. */
static int32_t spread(cutter *c, int32_t p, int32_t from, int32_t begin)
{
    const sup_graph *g = c->graph;
    int32_t end = begin + 1;
    c->order[begin] = from;
    c->level[from] = c->level_count;
    c->first[c->level_count++] = begin;
    for (int32_t i = begin; i < end; i++) {
        int32_t v = c->order[i];
        if (c->level[v] == c->level_count) c->first[c->level_count++] = i;
        for (int32_t k = g->first[v]; k < g->first[v + 1]; k++) {
            int32_t w = g->neighbour[k];
            if (c->subdomain[w] != p || c->level[w] >= 0) continue;
            c->level[w] = c->level[v] + 1;
            c->order[end++] = w;
        }
    }
    return end;
}

/* Levels of a whole subdomain, one connected component after the other, each from a peripheral vertex; the component
 * of vertex `seed` (-1: none) from there. */
static int32_t find_levels(cutter *c, int32_t p, int32_t seed)
{
    int32_t end = 0;
    c->level_count = 0;
    if (seed >= 0) end = spread(c, p, seed, end);
    for (int32_t v = 0; v < c->graph->size; v++) {
        if (c->subdomain[v] != p || c->level[v] >= 0) continue;
        int32_t from = v, begin = end, levels = c->level_count;
        for (int32_t pass = 0; pass < 4; pass++) { /* the last vertex reached is peripheral */
            end = spread(c, p, from, begin);
            from = c->order[end - 1];
            if (pass == 3) break;
            for (int32_t i = begin; i < end; i++)
                c->level[c->order[i]] = -1;
            c->level_count = levels;
        }
    }
    c->first[c->level_count] = end;
    return end;
}

static bool touches_level(const cutter *c, int32_t p, int32_t v, int32_t level)
{
    const sup_graph *g = c->graph;
    for (int32_t k = g->first[v]; k < g->first[v + 1]; k++)
        if (c->subdomain[g->neighbour[k]] == p && c->level[g->neighbour[k]] == level) return true;
    return false;
}

/* Vertices of `level` adjacent to the next one: the cut behind that level. */
static int32_t cut_size(const cutter *c, int32_t p, int32_t level)
{
    int32_t count = 0;
    for (int32_t i = c->first[level]; i < c->first[level + 1]; i++)
        count += touches_level(c, p, c->order[i], level + 1);
    return count;
}

/* The level behind which to cut: few vertices on it, sides of similar size. *cost_out: its cost. */
static int32_t choose_cut(const cutter *c, int32_t p, int32_t count, double *cost_out)
{
    int32_t best = -1;
    double best_cost = 0.0;
    for (int32_t level = 0; level + 1 < c->level_count; level++) {
        double below = c->first[level + 1], region_weight = below / count,
               uneven = region_weight < 0.5 ? 0.5 - region_weight : region_weight - 0.5;
        if (uneven > 0.3 && best >= 0) continue;
        double cost = (cut_size(c, p, level) + 1.0) * (1.0 + 4.0 * uneven * uneven) + (uneven > 0.3 ? 1e6 : 0.0);
        if (best >= 0 && cost >= best_cost) continue;
        best = level;
        best_cost = cost;
    }
    *cost_out = best_cost;
    return best;
}

/* The vertex of subdomain p whose levels have the best cut, of `tries` - 1 candidates; -1 for the levels from a
 * peripheral vertex. */
static int32_t choose_seed(cutter *c, int32_t p, int32_t tries)
{
    int32_t best = -1, apart = c->size[p] / tries + 1, number = 0;
    double best_cost = 0.0;
    for (int32_t v = -1; v < c->graph->size && tries > 1; v++) {
        if (v >= 0 && (c->subdomain[v] != p || ++number % apart != 0)) continue;
        double cost;
        int32_t count = find_levels(c, p, v);
        if (choose_cut(c, p, count, &cost) >= 0 && (v < 0 || cost < best_cost)) {
            best = v;
            best_cost = cost;
        }
        for (int32_t i = 0; i < count; i++)
            c->level[c->order[i]] = -1;
    }
    return best;
}

/* Splits subdomain p into two and vertices of the separator. A clique goes to the separator except for `limit`
 * vertices. */
static void cut_subdomain(cutter *c, int32_t p, int32_t limit, int32_t tries)
{
    double cost;
    int32_t count = find_levels(c, p, choose_seed(c, p, tries)), cut = choose_cut(c, p, count, &cost);
    int32_t other = c->subdomain_count;
    for (int32_t i = 0; i < count; i++) {
        int32_t v = c->order[i], level = c->level[v];
        if (cut < 0 ? i >= limit : level == cut && touches_level(c, p, v, cut + 1)) {
            c->size[p]--;
            c->order[i] = -1 - v; /* moved below: levels are still needed */
        }
    }
    for (int32_t i = 0; i < count; i++) {
        int32_t v = c->order[i];
        if (v < 0) {
            c->subdomain[-1 - v] = SUP_DISSECTION_SEPARATOR;
            c->level[-1 - v] = -1;
            continue;
        }
        if (cut >= 0 && c->level[v] > cut) {
            c->subdomain[v] = other;
            c->size[p]--;
            c->size[other]++;
        }
        c->level[v] = -1;
    }
    if (cut >= 0) c->subdomain_count++;
}

/* Separator vertices adjacent to at most one subdomain join it. */
static void thin_separator(cutter *c, int32_t limit)
{
    const sup_graph *g = c->graph;
    for (int32_t v = 0; v < g->size; v++) {
        if (c->subdomain[v] != SUP_DISSECTION_SEPARATOR) continue;
        int32_t only = -1;
        bool several = false;
        for (int32_t k = g->first[v]; k < g->first[v + 1]; k++) {
            int32_t p = c->subdomain[g->neighbour[k]];
            if (p == SUP_DISSECTION_SEPARATOR) continue;
            several = several || (only >= 0 && p != only);
            only = p;
        }
        if (several || only < 0 || c->size[only] >= limit) continue;
        c->subdomain[v] = only;
        c->size[only]++;
    }
}

/* Merges small subdomains up to the limit: they are not adjacent. */
static void join_subdomains(cutter *c, int32_t limit)
{
    int32_t count = 0;
    for (int32_t p = 0; p < c->subdomain_count; p++) {
        int32_t to = -1;
        for (int32_t q = 0; q < count && to < 0; q++)
            if (c->first[q] + c->size[p] <= limit) to = q;
        if (to < 0) c->first[to = count++] = 0;
        c->first[to] += c->size[p];
        c->level[p] = to;
    }
    for (int32_t v = 0; v < c->graph->size; v++)
        if (c->subdomain[v] >= 0) c->subdomain[v] = c->level[c->subdomain[v]];
    c->subdomain_count = count;
}

sup_result sup_nested_dissection(const sup_context *context, const sup_graph *graph, int32_t limit, int32_t tries,
                                 int32_t *subdomain, int32_t *subdomain_count, sup_error *error)
{
    sup_arena arena = sup_arena_create(&context->allocator);
    size_t n = (size_t)graph->size + 2;
    cutter c = {.graph = graph, .subdomain = subdomain, .subdomain_count = 1};
    c.size = sup_arena_alloc(&arena, n, sizeof(int32_t));
    c.level = sup_arena_alloc(&arena, n, sizeof(int32_t));
    c.order = sup_arena_alloc(&arena, n, sizeof(int32_t));
    c.first = sup_arena_alloc(&arena, n, sizeof(int32_t));
    bool ok = c.size != NULL && c.level != NULL && c.order != NULL && c.first != NULL;
    for (int32_t v = 0; ok && v < graph->size; v++) {
        subdomain[v] = 0;
        c.level[v] = -1;
    }
    if (ok) {
        c.size[0] = graph->size;
        for (int32_t p = 0; p < c.subdomain_count; p++)
            while (c.size[p] > limit)
                cut_subdomain(&c, p, limit, tries);
        thin_separator(&c, limit);
        join_subdomains(&c, limit);
        *subdomain_count = c.subdomain_count;
    }
    sup_arena_destroy(&arena);
    return ok ? SUP_OK : sup_fail_memory(error, "the subdomains of the system");
}

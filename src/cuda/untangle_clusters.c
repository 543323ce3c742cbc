/* untangle_clusters.c - see untangle_clusters.h. */
#include "cuda/untangle_clusters.h"

#include <string.h>

bool sup_untangle_clusters_create(const sup_untangle_view *view, sup_arena *arena, sup_untangle_clusters *to)
{
    int32_t n = view->vertex_count;
    int32_t *seen = sup_arena_alloc(arena, (size_t)n, sizeof *seen);
    int32_t *first = sup_arena_alloc(arena, (size_t)n + 1, sizeof *first);
    int32_t *clusters = sup_arena_alloc(arena, 3 * (size_t)view->triangle_count, sizeof *clusters);
    if (seen == NULL || first == NULL || clusters == NULL) return false;
    sup_untangle_list_clusters(view, NULL, n, seen, first, NULL);
    for (int32_t v = 0; v < n; v++)
        first[v + 1] += first[v];
    sup_untangle_list_clusters(view, NULL, n, seen, first, clusters);
    memmove(first + 1, first, (size_t)n * sizeof *first);
    first[0] = 0;
    *to = (sup_untangle_clusters){first, clusters};
    return true;
}

/* untangle_clusters.c - from triangles to the bundles of vertices. See untangle_clusters.h. */
#include "cuda/untangle_clusters.h"

#include <string.h>

bool sup_untangle_bundles_create(const sup_untangle_view *view, sup_arena *arena, sup_untangle_bundles *to)
{
    int32_t n = view->vertex_count;
    int32_t *seen = sup_arena_alloc(arena, (size_t)n, sizeof *seen);
    int32_t *first = sup_arena_alloc(arena, (size_t)n + 1, sizeof *first);
    int32_t *bundles = sup_arena_alloc(arena, 3 * (size_t)view->triangle_count, sizeof *bundles);
    if (seen == NULL || first == NULL || bundles == NULL) return false;
    sup_untangle_list_bundles(view, NULL, n, seen, first, NULL);
    for (int32_t v = 0; v < n; v++)
        first[v + 1] += first[v];
    sup_untangle_list_bundles(view, NULL, n, seen, first, bundles);
    memmove(first + 1, first, (size_t)n * sizeof *first);
    first[0] = 0;
    *to = (sup_untangle_bundles){first, bundles};
    return true;
}

/* part_bundles.c - from triangles to the bundles of vertices. See part_bundles.h. */
#include "cuda/part_bundles.h"

#include <string.h>

bool sup_part_bundles_create(const sup_part_view *view, sup_arena *arena, sup_part_bundles *to)
{
    int32_t n = view->vertex_count, corners = 3 * view->triangle_count;
    int32_t *first = sup_arena_alloc(arena, (size_t)n + 2, sizeof(int32_t));
    int32_t *bundles = sup_arena_alloc(arena, (size_t)corners, sizeof(int32_t));
    int32_t *last = sup_arena_alloc(arena, (size_t)n, sizeof(int32_t)); /* of each vertex, 1 for the first bundle */
    if (first == NULL || bundles == NULL || last == NULL) return false;
    for (int pass = 0; pass < 2;
         pass++) { /* counting, then putting them there: first[v + 1] is where v's next one goes */
        memset(last, 0, (size_t)n * sizeof *last);
        for (int32_t i = 0; i < corners; i++) {
            int32_t v = view->triangles[i], bundle = i / (3 * SUP_PART_BUNDLE);
            if (last[v] == bundle + 1) continue;
            last[v] = bundle + 1;
            if (pass == 0)
                first[v + 2]++;
            else
                bundles[first[v + 1]++] = bundle;
        }
        for (int32_t v = 0; v < n && pass == 0; v++)
            first[v + 2] += first[v + 1];
    }
    *to = (sup_part_bundles){first, bundles};
    return true;
}

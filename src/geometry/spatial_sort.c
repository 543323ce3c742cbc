/* spatial_sort.c - see spatial_sort.h. */
#include "geometry/spatial_sort.h"

#include "base/base.h"

#include <math.h>

enum { INSERTION = 24 }; /* items that are sorted by insertion */

static bool is_before(const sup_spatial_item *a, const sup_spatial_item *b)
{
    return a->key < b->key || (a->key == b->key && a->item < b->item);
}

static void sort_by_insertion(sup_spatial_item *items, int32_t count)
{
    for (int32_t i = 1; i < count; i++) {
        sup_spatial_item item = items[i];
        int32_t at = i;
        for (; at > 0 && is_before(&item, &items[at - 1]); at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* Quickselect: partitions the items at `middle`. Random pivots avoid quadratic time on adversarial input. Terminates
 * because all items are distinct. */
static void select_at(sup_spatial_item *items, int32_t count, int32_t middle)
{
    sup_random random = {1};
    int32_t begin = 0, end = count;
    while (end - begin > INSERTION) {
        sup_spatial_item pivot = items[begin + (int32_t)(sup_random_u32(&random) % (uint32_t)(end - begin))];
        int32_t low = begin, high = end - 1;
        while (low <= high) {
            while (is_before(&items[low], &pivot))
                low++;
            while (is_before(&pivot, &items[high]))
                high--;
            if (low > high) break;
            sup_spatial_item swapped = items[low];
            items[low++] = items[high];
            items[high--] = swapped;
        }
        if (middle <= high)
            end = high + 1;
        else if (middle >= low)
            begin = low;
        else
            return;
    }
    sort_by_insertion(items + begin, end - begin);
}

static void sort(sup_spatial_item *items, int32_t count)
{
    int32_t stack[32][2], depth = 0; /* ranges are halved: at most 32 are pending */
    for (int32_t begin = 0, end = count;;) {
        if (end - begin > INSERTION) {
            int32_t middle = begin + (end - begin) / 2;
            select_at(items + begin, end - begin, middle - begin);
            stack[depth][0] = middle;
            stack[depth++][1] = end;
            end = middle;
            continue;
        }
        sort_by_insertion(items + begin, end - begin);
        if (depth == 0) return;
        begin = stack[--depth][0];
        end = stack[depth][1];
    }
}

void sup_spatial_sort_partitions(sup_spatial_item *items, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        items[i].key = items[i].partition;
    sort(items, count);
}

static int32_t longest_axis(const sup_spatial_item *items, int32_t count)
{
    double lower[3] = {INFINITY, INFINITY, INFINITY}, upper[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int32_t i = 0; i < count; i++)
        for (int32_t k = 0; k < 3; k++) {
            lower[k] = items[i].at[k] < lower[k] ? items[i].at[k] : lower[k];
            upper[k] = items[i].at[k] > upper[k] ? items[i].at[k] : upper[k];
        }
    int32_t longest = 0;
    for (int32_t k = 1; k < 3; k++)
        if (upper[k] - lower[k] > upper[longest] - lower[longest]) longest = k;
    return longest;
}

void sup_spatial_split_longest(sup_spatial_item *items, int32_t count, int32_t middle, int32_t leaf)
{
    int32_t axis = longest_axis(items, count);
    for (int32_t i = 0; i < count; i++)
        items[i].key = items[i].at[axis];
    select_at(items, count, middle);
    if (middle <= leaf) sort(items, middle);
    if (count - middle <= leaf) sort(items + middle, count - middle);
}

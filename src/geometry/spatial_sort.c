/* spatial_sort.c - see spatial_sort.h. */
#include "geometry/spatial_sort.h"

#include <math.h>
#include <stdlib.h>

static int compare_keys(const void *a, const void *b)
{
    const sup_spatial_item *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

void sup_spatial_sort_partitions(sup_spatial_item *items, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        items[i].key = items[i].partition;
    qsort(items, (size_t)count, sizeof *items, compare_keys);
}

static double extent(const sup_spatial_item *items, int32_t count, int32_t axis)
{
    double lower = INFINITY, upper = -INFINITY;
    for (int32_t i = 0; i < count; i++) {
        lower = fmin(lower, items[i].at[axis]);
        upper = fmax(upper, items[i].at[axis]);
    }
    return upper - lower;
}

void sup_spatial_sort_longest(sup_spatial_item *items, int32_t count)
{
    int32_t longest = 0;
    double largest = extent(items, count, 0);
    for (int32_t axis = 1; axis < 3; axis++) {
        double length = extent(items, count, axis);
        if (!(length > largest)) continue;
        largest = length;
        longest = axis;
    }
    for (int32_t i = 0; i < count; i++)
        items[i].key = items[i].at[longest];
    qsort(items, (size_t)count, sizeof *items, compare_keys);
}

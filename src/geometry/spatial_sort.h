/* spatial_sort.h (internal) - sorts items by position, to split them into clusters of neighbours. */
#ifndef SUP_GEOMETRY_SPATIAL_SORT_H
#define SUP_GEOMETRY_SPATIAL_SORT_H

#include <stdint.h>

typedef struct sup_spatial_item {
    double at[3];      /* position */
    double key;        /* of the current sort */
    int32_t item;      /* the caller's index */
    int32_t partition; /* items of different partitions never share a cluster */
} sup_spatial_item;

/* Sorts by partition, then by item. */
void sup_spatial_sort_partitions(sup_spatial_item *items, int32_t count);

/* Splits at `middle` along the longest side of the bounding box, then by item: no item of [0, middle) comes after one
 * of [middle, count). Halves of at most `leaf` items are sorted; the order in larger ones is arbitrary, but the same in
 * every run. */
void sup_spatial_split_longest(sup_spatial_item *items, int32_t count, int32_t middle, int32_t leaf);

#endif

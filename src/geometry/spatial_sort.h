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

/* Sorts along the longest side of the bounding box, then by item. */
void sup_spatial_sort_longest(sup_spatial_item *items, int32_t count);

#endif

/* spatial_sort.h (internal) - things with a place, to be put into groups of neighbours. */
#ifndef SUP_GEOMETRY_SPATIAL_SORT_H
#define SUP_GEOMETRY_SPATIAL_SORT_H

#include <stdint.h>

typedef struct sup_spatial_item {
    double at[3];
    double key; /* of the sort at hand */
    int32_t item, group;
} sup_spatial_item;

/* By group; by item within one. */
void sup_spatial_sort_clusters(sup_spatial_item *items, int32_t count);

/* Along the longest side of the box around them; by item where they are even. */
void sup_spatial_sort_longest(sup_spatial_item *items, int32_t count);

#endif

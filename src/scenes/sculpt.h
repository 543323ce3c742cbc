/* sculpt.h (internal) - implicit bodies: the smooth union of a table of simple shapes as one distance-like field.
 *
 * Shapes belong to regions (torso, arm, finger); a region is the smooth union of its own shapes, in table order.
 * Regions form a tree: siblings are joined almost sharply (no webbing between fingers), then joined smoothly with their
 * parent. Metres. */
#ifndef SUP_SCENES_SCULPT_H
#define SUP_SCENES_SCULPT_H

#include "geometry/isosurface.h"

enum { SUP_SHAPES_MAX = 320, SUP_REGIONS_MAX = 40 };

typedef enum sup_shape_kind {
    SUP_SHAPE_CONE,      /* from a (radius ra) to b (radius rb), round ends; cross-section scaled by wide and deep */
    SUP_SHAPE_ELLIPSOID, /* centre a, semi-axes wide (along side), ra (along the direction b), deep */
    SUP_SHAPE_LEAF,      /* a flat ellipse (semi-axes wide and ra), thickened by deep on each side, with a round rim */
    SUP_SHAPE_LOFT       /* sections along the line from a towards b, rounded ends of length ra and rb */
} sup_shape_kind;

/* One cross-section of a loft: four quarter ellipses or, with `square`, a rounded rectangle. */
typedef struct sup_section {
    double along;                    /* distance from a */
    double x, z;                     /* centre, along the loft's side and front directions */
    double left, right, front, back; /* radii towards -x, +x, +z, -z */
    double square;                   /* 0 = ellipse, 1 = rounded rectangle */
} sup_section;

typedef struct sup_shape {
    sup_shape_kind kind;
    int32_t region;
    double blend; /* width of the smooth union with the previous shapes of the region; negative: smooth subtraction */
    double edge;  /* target edge length of the mesh, relative between shapes */
    sup_vec3d a, b;
    double ra, rb;
    double wide, deep; /* 0 means 1 */
    sup_vec3d side;    /* direction of the local x axis, zero = +X; front = side x along */
    const sup_section *sections;
    int32_t section_count;
} sup_shape;

typedef struct sup_region {
    const char *name;
    int32_t parent;     /* region, -1 for the first */
    double join;        /* width of the smooth union with the parent */
    bool paired;        /* the shapes are on the left side (x > 0); the right side is a separate mirrored region */
    double weight_band; /* width of the transition of skin weights into other regions */
} sup_region;

typedef struct sup_sculpture sup_sculpture; /* the tables, prepared for evaluation */

typedef struct sup_sculpture_def {
    const sup_context *context;
    const sup_shape *shapes;
    int32_t shape_count;
    const sup_region *regions; /* parents before children */
    int32_t region_count;
    bool mirrored;          /* every shape exists on both sides of x = 0 */
    sup_vec3d lower, upper; /* bounding box of the body, of its left half when mirrored */
} sup_sculpture_def;

/* NULL when out of memory. */
sup_sculpture *sup_sculpture_create(const sup_sculpture_def *def);
void sup_sculpture_destroy(sup_sculpture *sculpture);

/* The field value at p. */
double sup_sculpture_value(const void *sculpture, sup_vec3d p);
/* Target edge length near p, relative. */
double sup_sculpture_edge(const void *sculpture, sup_vec3d p);
/* Distance to the shapes of each region, 1e9 for those without influence at p; regions of the right side are at
 * [region_count, 2*region_count). */
void sup_sculpture_regions(const sup_sculpture *sculpture, sup_vec3d p, double *distance);

#endif

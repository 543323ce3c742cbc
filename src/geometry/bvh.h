/* bvh.h (internal) - tree of boxes over triangles, for rays and nearest points. Immutable after the build: many
 * threads may ask at the same time. No recursion; the same tree and the same answers every time. */
#ifndef SUP_GEOMETRY_BVH_H
#define SUP_GEOMETRY_BVH_H

#include "base/base.h"
#include "math/vec3.h"

typedef struct sup_bvh_node {
    float lower[3], upper[3];
    int32_t first; /* leaf: into sup_bvh.order; inner: right child, the left one is the next node */
    int32_t count; /* triangles of a leaf, 0 for an inner node */
} sup_bvh_node;

typedef struct sup_bvh {
    const float *positions;   /* [vertex_count*3] the caller's, must outlive the tree */
    const int32_t *triangles; /* [triangle_count*3] the caller's */
    int32_t triangle_count, node_count;
    sup_bvh_node *nodes; /* parents before children */
    int32_t *order;      /* [triangle_count] triangles by leaf */
    sup_allocator allocator;
} sup_bvh;

/* Indices are in range and positions finite. No triangles is fine: nothing is ever hit. */
sup_result sup_bvh_create(const sup_context *context, const float *positions, int32_t triangle_count,
                          const int32_t *triangles, sup_bvh *bvh, sup_error *error);
void sup_bvh_free(sup_bvh *bvh);
/* New boxes for moved vertices, same triangles. `positions` replaces the pointer of the build. */
void sup_bvh_refit(sup_bvh *bvh, const float *positions);

typedef struct sup_bvh_hit {
    int32_t triangle;
    double t;       /* origin + t * direction */
    double u, v;    /* barycentric weights of the second and third corner */
    int32_t facing; /* +1: the ray leaves through the triangle (runs along its normal), -1: it enters */
} sup_bvh_hit;

/* False: as if that triangle were not there. */
typedef bool sup_bvh_accept_fn(void *user, const sup_bvh_hit *hit);

typedef struct sup_bvh_ray {
    sup_vec3d origin, direction; /* need not be a unit vector */
    double t_min, t_max;         /* hits outside are not seen */
    sup_bvh_accept_fn *accept;   /* NULL: all */
    void *user;
} sup_bvh_ray;

/* The nearest accepted hit; ties by the lower triangle. */
bool sup_bvh_ray_first(const sup_bvh *bvh, const sup_bvh_ray *ray, sup_bvh_hit *hit);
/* Whether there is any. */
bool sup_bvh_ray_any(const sup_bvh *bvh, const sup_bvh_ray *ray);

typedef struct sup_bvh_nearest {
    int32_t triangle; /* -1 when none is within the distance */
    double u, v;      /* barycentric weights of the second and third corner */
    double distance;
    sup_vec3d point;
} sup_bvh_nearest;

/* Nearest point of the surface within `limit` (INFINITY for all); ties by the lower triangle. */
sup_bvh_nearest sup_bvh_closest(const sup_bvh *bvh, sup_vec3d point, double limit);
/* The same among the triangles that `accept` says true to. */
typedef bool sup_bvh_choose_fn(void *user, int32_t triangle);
sup_bvh_nearest sup_bvh_closest_of(const sup_bvh *bvh, sup_vec3d point, double limit, sup_bvh_choose_fn *accept,
                                   void *user);

/* Calls `visit` once for every pair of different triangles whose leaf boxes overlap; ends when it returns false. */
typedef bool sup_bvh_pair_fn(void *user, int32_t a, int32_t b);
void sup_bvh_self_pairs(const sup_bvh *bvh, sup_bvh_pair_fn *visit, void *user);

/* Whether a point is inside, as far as that can be said of an open or dirty surface: half or more of a
 * fixed set of rays cross the surface more often one way than the other. */
bool sup_bvh_inside(const sup_bvh *bvh, sup_vec3d point);

#endif

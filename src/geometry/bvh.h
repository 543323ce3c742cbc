/* bvh.h (internal) - bounding volume hierarchy over triangles for ray and nearest-point queries. Queries are
 * thread-safe and not recursive. Build and queries are deterministic. */
#ifndef SUP_GEOMETRY_BVH_H
#define SUP_GEOMETRY_BVH_H

#include "base/base.h"
#include "math/vec3.h"

typedef struct sup_bvh_node {
    float lower[3], upper[3];
    int32_t first; /* leaf: index into sup_bvh.order; inner node: right child; the left child is the next node */
    int32_t count; /* triangles of a leaf, 0 for an inner node */
} sup_bvh_node;

typedef struct sup_bvh {
    const float *positions;   /* [vertex_count*3] owned by the caller, must outlive the tree */
    const int32_t *triangles; /* [triangle_count*3] owned by the caller */
    int32_t triangle_count, node_count;
    sup_bvh_node *nodes; /* parents before children */
    int32_t *order;      /* [triangle_count] triangles by leaf */
    sup_allocator allocator;
} sup_bvh;

/* Indices must be in range and positions finite. triangle_count may be 0. */
sup_result sup_bvh_create(const sup_context *context, const float *positions, int32_t triangle_count,
                          const int32_t *triangles, sup_bvh *bvh, sup_error *error);
void sup_bvh_free(sup_bvh *bvh);
/* Updates the boxes for moved vertices of the same triangles. `positions` replaces the pointer of the build. */
void sup_bvh_refit(sup_bvh *bvh, const float *positions);

typedef struct sup_bvh_hit {
    int32_t triangle;
    double t;       /* origin + t * direction */
    double u, v;    /* barycentric weights of the second and third corner */
    int32_t facing; /* +1: the ray leaves (its direction is along the triangle's normal), -1: it enters */
} sup_bvh_hit;

/* Returns false to ignore the hit. */
typedef bool sup_bvh_accept_fn(void *user, const sup_bvh_hit *hit);

typedef struct sup_bvh_ray {
    sup_vec3d origin, direction; /* need not be a unit vector */
    double t_min, t_max;         /* hits outside are ignored */
    sup_bvh_accept_fn *accept;   /* NULL: all */
    void *user;
} sup_bvh_ray;

/* The nearest accepted hit; ties by the lower triangle. */
bool sup_bvh_ray_first(const sup_bvh *bvh, const sup_bvh_ray *ray, sup_bvh_hit *hit);
/* Whether there is any accepted hit. */
bool sup_bvh_ray_any(const sup_bvh *bvh, const sup_bvh_ray *ray);

typedef struct sup_bvh_nearest {
    int32_t triangle; /* -1 if none is within the limit */
    double u, v;      /* barycentric weights of the second and third corner */
    double distance;
    sup_vec3d point;
} sup_bvh_nearest;

/* Nearest point of the surface within `limit` (INFINITY for no limit); ties by the lower triangle. */
sup_bvh_nearest sup_bvh_closest(const sup_bvh *bvh, sup_vec3d point, double limit);
/* The same, restricted to triangles for which `accept` returns true. */
typedef bool sup_bvh_choose_fn(void *user, int32_t triangle);
sup_bvh_nearest sup_bvh_closest_of(const sup_bvh *bvh, sup_vec3d point, double limit, sup_bvh_choose_fn *accept,
                                   void *user);

/* Calls `visit` once for every pair of different triangles whose leaf boxes overlap, until it returns false. */
typedef bool sup_bvh_pair_fn(void *user, int32_t a, int32_t b);
void sup_bvh_self_pairs(const sup_bvh *bvh, sup_bvh_pair_fn *visit, void *user);

/* Whether a point is inside, also for open or non-manifold surfaces: for at least half of a fixed set of rays the
 * numbers of entering and leaving crossings differ. */
bool sup_bvh_inside(const sup_bvh *bvh, sup_vec3d point);

#endif

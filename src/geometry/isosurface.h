/* isosurface.h (internal) - the zero level set of a field as a closed, outward oriented, 2-manifold triangle mesh. */
#ifndef SUP_GEOMETRY_ISOSURFACE_H
#define SUP_GEOMETRY_ISOSURFACE_H

#include "base/base.h"
#include "math/vec3.h"

/* An approximate signed distance field: negative inside, gradient length about 1 near the surface. Must be
 * thread-safe. */
typedef double sup_field_fn(const void *user, sup_vec3d p);
typedef struct sup_field {
    sup_field_fn *value;
    const void *user;
} sup_field;

static inline double sup_field_value(const sup_field *field, sup_vec3d p)
{
    return field->value(field->user, p);
}
/* Gradient, and value as the mean, of four samples on the corners of a tetrahedron at offsets of `step` per axis. */
sup_vec3d sup_field_slope(const sup_field *field, sup_vec3d p, double step, double *mean);

typedef struct sup_isosurface_def {
    const sup_context *context;
    sup_field field;
    sup_vec3d lower, upper; /* box that contains the surface; the surface may touch the plane x = 0 if `half` */
    double cell;            /* edge length of a grid cell; thinner details are lost */
    double slack;           /* upper bound of the gradient length of the field, such as 1.5 */
    bool half; /* mesh only x >= 0: the mesh is open along x = 0, where its border vertices have x = 0 exactly */
} sup_isosurface_def;

/* A triangle mesh with double positions, allocated with `allocator`; free it with sup_surface_free. */
typedef struct sup_surface {
    sup_allocator allocator;
    int32_t vertex_count, triangle_count;
    sup_vec3d *positions;
    int32_t *triangles;                        /* [triangle_count*3] counter-clockwise seen from outside */
    size_t vertex_capacity, triangle_capacity; /* allocated items */
} sup_surface;

/* Fails with SUP_ERROR_NUMERIC if the field is steeper than `slack` and the surface would have cracks. */
sup_result sup_isosurface(const sup_isosurface_def *def, sup_surface *surface, sup_error *error);

/* Allocates the arrays and sets the counts; the contents are uninitialised. Returns false when out of memory. */
bool sup_surface_allocate(sup_surface *surface, const sup_allocator *allocator, int32_t vertices, int32_t triangles);
void sup_surface_free(sup_surface *surface);
/* Completes `half` (open along x = 0) by its mirror image: appends mirrored copies of all vertices off the plane. */
sup_result sup_surface_mirror(sup_surface *half, sup_error *error);

#endif

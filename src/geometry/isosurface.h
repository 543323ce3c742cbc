/* isosurface.h (internal) - the zero surface of a field as a closed, outward oriented, 2-manifold triangle mesh. */
#ifndef SUP_GEOMETRY_ISOSURFACE_H
#define SUP_GEOMETRY_ISOSURFACE_H

#include "base/base.h"
#include "math/vec3.h"

/* A distance-like field: negative inside, its gradient about one long near the surface. Called from many threads. */
typedef double sup_field_fn(const void *user, sup_vec3d p);
typedef struct sup_field {
    sup_field_fn *value;
    const void *user;
} sup_field;

static inline double sup_field_value(const sup_field *field, sup_vec3d p)
{
    return field->value(field->user, p);
}
/* Gradient, and value as the mean, of four samples `step` away along each axis on the corners of a tetrahedron. */
sup_vec3d sup_field_slope(const sup_field *field, sup_vec3d p, double step, double *mean);

typedef struct sup_isosurface_def {
    const sup_context *context;
    sup_field field;
    sup_vec3d lower, upper; /* box that holds the surface; it may touch the plane x = 0 when `half` */
    double cell;            /* edge of a grid cell; details thinner than this are lost */
    double slack;           /* how much steeper than a distance the field may be, such as 1.5 */
    bool half; /* only x >= 0: the mesh is open along x = 0, where its border vertices have x = 0 exactly */
} sup_isosurface_def;

/* A triangle mesh in double with memory of `allocator`; free it with sup_surface_free. */
typedef struct sup_surface {
    sup_allocator allocator;
    int32_t vertex_count, triangle_count;
    sup_vec3d *positions;
    int32_t *triangles;                /* [triangle_count*3] counter-clockwise seen from outside */
    size_t vertex_room, triangle_room; /* what was allocated */
} sup_surface;

/* Fails with SUP_ERROR_NUMERIC when the field is steeper than `slack` promises and the surface would have cracks. */
sup_result sup_isosurface(const sup_isosurface_def *def, sup_surface *surface, sup_error *error);

/* Room for so many; false when memory ran out. Counts are set, contents are not. */
bool sup_surface_allocate(sup_surface *surface, const sup_allocator *allocator, int32_t vertices, int32_t triangles);
void sup_surface_free(sup_surface *surface);
/* Replaces `half` (open along x = 0) by the whole: the mirrored copies of all vertices off the plane follow. */
sup_result sup_surface_mirror(sup_surface *half, sup_error *error);

#endif

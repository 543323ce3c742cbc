/* bone_surface.h (internal) - the skeleton surface: the skin shrunk onto the wrap of the bones (4.2.2, eq. 4.1 to
 * 4.4). */
#ifndef SUP_ANATOMY_BONE_SURFACE_H
#define SUP_ANATOMY_BONE_SURFACE_H

#include "anatomy/surface_fit.h"
#include "geometry/adjacency.h"
#include "geometry/bvh.h"

typedef struct sup_bone_surface_def {
    sup_shape skin;                /* closed, facing outward */
    const unsigned char *excluded; /* [vertex_count] these vertices stay on the skin */
    sup_shape wrap;                /* closed, facing outward, inside the skin */
    double skin_gap;               /* distance that the result keeps from the skin, metres */
    sup_progress_fn *progress;     /* may be NULL */
    void *progress_user;
} sup_bone_surface_def;

typedef struct sup_bone_surface_report {
    int32_t iterations, fixed_targets, collision_targets;
    int32_t wrap_outside; /* vertices of the wrap outside the result */
} sup_bone_surface_report;

/* `positions` [vertex_count*3] receives the skeleton surface. */
sup_result sup_bone_surface(const sup_context *context, const sup_bone_surface_def *def, double *positions,
                            sup_bone_surface_report *report, sup_error *error);

/* Eq. 4.4 for a skin vertex and its inner position, with unit normals. 0 is best, 1 is a right angle. */
double sup_alignment(sup_vec3d skin, sup_vec3d skin_normal, sup_vec3d inside, sup_vec3d inside_normal);

/* --- Shared by bone_surface.c, bone_collide.c and bone_repair.c --- */

typedef enum sup_target_kind { SUP_TARGET_CLOSEST, SUP_TARGET_FIXED, SUP_TARGET_COLLISION } sup_target_kind;

/* A triangle mesh with closest-point, ray and smooth-normal queries. */
typedef struct sup_mesh_view {
    int32_t vertex_count, triangle_count;
    const double *positions;
    const int32_t *triangles;
    float *floats;   /* [vertex_count*3] positions in single precision */
    double *normals; /* [vertex_count*3] */
    sup_bvh bvh;
} sup_mesh_view;

sup_result sup_mesh_view_create(const sup_context *context, const sup_shape *shape, sup_arena *arena,
                                sup_mesh_view *view, sup_error *error);
/* same triangles, new positions */
void sup_mesh_view_move(sup_mesh_view *view, const double *positions);
/* frees what is not in the arena */
void sup_mesh_view_free(sup_mesh_view *view);
sup_vec3d sup_mesh_view_normal(const sup_mesh_view *view, int32_t triangle, double u, double v); /* unit */
/* Distance within `limit`, negative inside; INFINITY if nothing is within it. *nearest may be NULL. */
double sup_mesh_view_distance(const sup_mesh_view *view, sup_vec3d p, double limit, sup_bvh_nearest *nearest);

typedef struct sup_bone_surface_state {
    sup_context context;
    const sup_bone_surface_def *def;
    sup_arena arena;
    int32_t count; /* number of vertices */
    const double *skin;
    sup_mesh_view skin_view, wrap_view, own_view;
    sup_adjacency adjacency; /* of the skin */
    sup_adjacency wrap_adjacency;
    double *positions;         /* array of the caller */
    double *targets, *weights; /* [3*count], [count] */
    unsigned char *kind;       /* [count] sup_target_kind */
    /* [count] fraction of the line back to the skin that a collision requires, -1 = none */
    double *retreat;
    /* [wrap vertices] triangle of the surface that the wrap vertex is outside of, -1 = none */
    int32_t *wrap_hit;
    double *wrap_retreat;        /* [wrap vertices] retreat of that triangle */
    int32_t *first, *neighbours; /* [count+1], neighbours of the skin vertices */
    sup_bone_surface_report *report;
} sup_bone_surface_state;

static inline sup_vec3d sup_v3_at(const double *positions, int32_t vertex)
{
    const double *p = positions + 3 * (size_t)vertex;
    return sup_v3(p[0], p[1], p[2]);
}

static inline void sup_v3_put(double *positions, int32_t vertex, sup_vec3d v)
{
    positions[3 * (size_t)vertex] = v.x;
    positions[3 * (size_t)vertex + 1] = v.y;
    positions[3 * (size_t)vertex + 2] = v.z;
}

/* Chooses the fixed correspondences. */
sup_result sup_bone_surface_choose_fixed(sup_bone_surface_state *s, sup_error *error);
/* Detects collisions and sets their targets; returns the number of vertices with a new target. own_view must be up
 * to date. */
int32_t sup_bone_surface_collide(sup_bone_surface_state *s);
/* Repairs the remaining collisions, vertices too close to the skin, and inverted prisms. */
void sup_bone_surface_repair(sup_bone_surface_state *s);

#endif

/* bone_surface.h (internal) - the skeleton surface: the skin drawn onto the wrap of the bones (4.2.2, eq. 4.1 to 4.4). */
#ifndef SUP_ANATOMY_BONE_SURFACE_H
#define SUP_ANATOMY_BONE_SURFACE_H

#include "anatomy/surface_fit.h"
#include "geometry/adjacency.h"
#include "geometry/bvh.h"

typedef struct sup_bone_surface_def {
    sup_shape skin;                /* closed, outward */
    const unsigned char *excluded; /* [vertex_count] stay on the skin */
    sup_shape wrap;                /* closed, outward, inside the skin */
    double skin_gap;               /* the result stays so far inside the skin */
    sup_progress_fn *progress;     /* may be NULL */
    void *progress_user;
} sup_bone_surface_def;

typedef struct sup_bone_surface_report {
    int32_t iterations, fixed_targets, collision_targets;
    int32_t wrap_outside; /* vertices of the wrap outside the result */
} sup_bone_surface_report;

/* `positions` [vertex_count*3] gets the skeleton surface. */
sup_result sup_bone_surface(const sup_context *context, const sup_bone_surface_def *def, double *positions,
                            sup_bone_surface_report *report, sup_error *error);

/* Eq. 4.4 for a skin vertex and its place inside, with unit normals. 0 is best, 1 a right angle. */
double sup_alignment(sup_vec3d skin, sup_vec3d skin_normal, sup_vec3d inside, sup_vec3d inside_normal);

/* --- What the files of the shrinking share. --- */

typedef enum sup_target_kind { SUP_TARGET_CLOSEST, SUP_TARGET_FIXED, SUP_TARGET_COLLISION } sup_target_kind;

/* A triangle mesh with what is asked of it: nearest points, rays, smooth normals. */
typedef struct sup_mesh_view {
    int32_t vertex_count, triangle_count;
    const double *positions;
    const int32_t *triangles;
    float *floats;   /* [vertex_count*3] the same */
    double *normals; /* [vertex_count*3] */
    sup_bvh bvh;
} sup_mesh_view;

sup_result sup_mesh_view_create(const sup_context *context, const sup_shape *shape, sup_arena *arena,
                                sup_mesh_view *view, sup_error *error);
void sup_mesh_view_move(sup_mesh_view *view, const double *positions); /* the same triangles elsewhere */
void sup_mesh_view_free(sup_mesh_view *view);                          /* what is not in the arena */
sup_vec3d sup_mesh_view_normal(const sup_mesh_view *view, int32_t triangle, double u, double v); /* unit */
/* Distance within `limit`, negative inside; INFINITY when nothing is near. *nearest may be NULL. */
double sup_mesh_view_distance(const sup_mesh_view *view, sup_vec3d p, double limit, sup_bvh_nearest *nearest);

typedef struct sup_bone_surface_state {
    sup_context context;
    const sup_bone_surface_def *def;
    sup_arena arena;
    int32_t count; /* vertices */
    const double *skin;
    sup_mesh_view skin_view, wrap_view, own_view;
    sup_adjacency adjacency; /* of the skin */
    sup_adjacency wrap_adjacency;
    double *positions;           /* the caller's */
    double *targets, *weights;   /* [3*count], [count] */
    unsigned char *kind;         /* [count] sup_target_kind */
    double *retreat;             /* [count] share of the way back to the skin that a collision asks for, -1 = none */
    int32_t *wrap_hit;           /* [wrap vertices] own triangle that one is outside of, -1 = none */
    double *wrap_retreat;        /* [wrap vertices] how far that triangle must go back */
    int32_t *first, *neighbours; /* of the skin's vertices */
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
/* Finds collisions and makes them targets; returns how many vertices got a new one. The own view must be up to date. */
int32_t sup_bone_surface_collide(sup_bone_surface_state *s);
/* Takes out what is left: collisions, vertices too near to the skin, prisms turned over. */
void sup_bone_surface_repair(sup_bone_surface_state *s);

#endif

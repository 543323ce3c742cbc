/* collider_options.h - parses --collider; meshes the colliders for rendering. */
#ifndef APP_COLLIDER_OPTIONS_H
#define APP_COLLIDER_OPTIONS_H

#include "options.h"

/* The colliders and the memory that they point to. */
typedef struct app_colliders {
    int32_t count;
    sup_collider *items;    /* [count] */
    sup_character **meshes; /* [count] the file of mesh:FILE, else NULL */
} app_colliders;

/* Parses every --collider of `given` for `character`. Returns APP_DONE, or prints a message and returns an exit status.
 * Call app_colliders_close in either case. */
int app_colliders_open(app_colliders *colliders, app_session *session, const sup_character *character,
                       const app_texts *given);
void app_colliders_close(app_colliders *colliders);

/* Triangle mesh of all colliders; a plane becomes a square with side `size`. `nodes` holds the node transforms. Returns
 * false when out of memory. free() the arrays. */
typedef struct app_collider_mesh {
    int32_t vertex_count, triangle_count;
    float *positions;   /* [vertex_count*3] world */
    int32_t *triangles; /* [triangle_count*3] */
} app_collider_mesh;
bool app_colliders_mesh(const app_colliders *colliders, const sup_mat34 *nodes, float size, app_collider_mesh *mesh);

#endif

/* collider_options.h - what --collider asks for: things in the way of the skin, for the library and for pictures. */
#ifndef APP_COLLIDER_OPTIONS_H
#define APP_COLLIDER_OPTIONS_H

#include "options.h"

/* Everything that the colliders point at lives here. */
typedef struct app_colliders {
    int32_t count;
    sup_collider *items;    /* [count] */
    sup_character **meshes;  /* [count] of mesh:FILE, else NULL */
} app_colliders;

/* Every text of `given` as a collider of `character`. APP_DONE or an exit status after its sentence; close is due in
 * either case. */
int app_colliders_open(app_colliders *colliders, app_session *session, const sup_character *character,
                       const app_texts *given);
void app_colliders_close(app_colliders *colliders);

/* Triangles that show the obstacles: a plane as a square of about `size`. Where the nodes are is `nodes`. Returns false
 * when memory ran out; the arrays are to free(). */
typedef struct app_collider_mesh {
    int32_t vertex_count, triangle_count;
    float *positions;   /* [vertex_count*3] world */
    int32_t *triangles; /* [triangle_count*3] */
} app_collider_mesh;
bool app_colliders_mesh(const app_colliders *colliders, const sup_mat34 *nodes, float size, app_collider_mesh *mesh);

#endif

/* layers.h - cutaway view of a body: the outer layer on one side of the middle plane, the inner layer on the other. */
#ifndef APP_LAYERS_H
#define APP_LAYERS_H

#include "render.h"
#include "supple/supple.h"

/* The layers of a character in the bind pose. */
typedef struct app_layers {
    const sup_rig *rig;
    float *bone;            /* [vertex_count*3] world */
    float *muscle_fraction; /* [vertex_count] position of the muscle surface from skin (0) to bone (1); 0: no layers */
    int32_t *holder;        /* [vertex_count] joint of the bone, -1: blended by the skinning weights */
    unsigned char *detail;  /* [vertex_count] 1: detailed bone, 2: detailed muscle, 0: neither */
    float middle;           /* x of the cutting plane */
    float shift[3];         /* from the first figure to the second */
} app_layers;

/* The character must have layers. `azimuth` (degrees) and `up` of the camera: it sees the two figures side by side.
 * Returns false when out of memory. Call app_layers_close in either case. */
bool app_layers_open(app_layers *layers, const sup_rig *rig, float azimuth, int32_t up);
void app_layers_close(app_layers *layers);

/* Builds two figures from the body in `positions` [vertex_count*3]: half skin and half muscle; half muscle and half
 * bone; with fat and muscle on the cut surfaces. The first also has the detailed muscles of a fitted body, the
 * second its detailed bones. `nodes` [node_count] or NULL: bones keep their offset from the skin. Release the arrays
 * of the scene with app_layers_free. Returns false when out of memory. */
bool app_layers_mesh(const app_layers *layers, const float *positions, const sup_mat34 *nodes, render_scene *scene);
void app_layers_free(render_scene *scene);

#endif

/* layers.h - a body cut open: on one side of its middle the skin, on the other what is under it. */
#ifndef APP_LAYERS_H
#define APP_LAYERS_H

#include "render.h"
#include "supple/supple.h"

/* The layers of a character in the bind pose, as a picture needs them. */
typedef struct app_layers {
    const sup_rig *rig;
    float *bone;     /* [vertex_count*3] world */
    float *muscle_fraction;    /* [vertex_count] where between skin and bone the muscle surface is; 0: there are no layers here */
    int32_t *holder; /* [vertex_count] joint that the bone goes with, -1: the influences say */
    unsigned char *detail; /* [vertex_count] 1: of a bone inside, 2: of a muscle inside, 0: neither */
    float middle;          /* x of the cut */
    float shift[3];        /* from the first figure to the second */
} app_layers;

/* False when memory ran out; app_layers_close is due in either case. The character has layers. `azimuth` in degrees and
 * `up` are the camera's: the figures stand side by side for it. */
bool app_layers_open(app_layers *layers, const sup_rig *rig, float azimuth, int32_t up);
void app_layers_close(app_layers *layers);

/* Two figures in place of the body in `positions` [vertex_count*3]: half skin and half muscle, half muscle and half
 * bone, with fat and muscle in the cuts; the muscles that a fitted body brings along are in the first, its bones in the
 * second. `nodes` [node_count] or NULL: bones stay where they are under the skin. The arrays
 * of the scene are to free() with app_layers_free. */
bool app_layers_mesh(const app_layers *layers, const float *positions, const sup_mat34 *nodes, render_scene *scene);
void app_layers_free(render_scene *scene);

#endif

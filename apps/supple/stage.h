/* stage.h - prepares a character for rendering: colors, normals, bones, camera. */
#ifndef APP_STAGE_H
#define APP_STAGE_H

#include "layers.h"
#include "render.h"
#include "job.h"

typedef enum app_color {
    APP_COLOR_NONE,
    APP_COLOR_STRETCH,
    APP_COLOR_CONTACT,
    APP_COLOR_WEIGHTS,
    APP_COLOR_PRIMITIVES
} app_color;
extern const char *const app_color_choices[];
extern const char *const app_up_choices[];

/* Values of the rendering options. The values struct of a verb has a member of this type named `view`. */
typedef struct app_view_options {
    const char *camera, *zoom, *size;
    int color, up;
    bool wire, bones, layers;
    int width, height; /* set from `size` by app_view_check */
} app_view_options;

#define APP_VIEW_AT(type, field) offsetof(type, view.field)
#define APP_VIEW_OPTIONS(type)                                                                                   \
    {.kind = APP_TEXT,                                                                                           \
     .name = "camera",                                                                                           \
     .argument = "VIEW",                                                                                         \
     .offset = APP_VIEW_AT(type, camera),                                                                        \
     .help = "front, back, side, three-quarter (default), top, or AZIMUTH,ELEVATION in degrees"},                \
        {.kind = APP_TEXT,                                                                                       \
         .name = "zoom",                                                                                         \
         .argument = "JOINT",                                                                                    \
         .offset = APP_VIEW_AT(type, zoom),                                                                      \
         .help = "close-up of a joint"},                                                                         \
        {.kind = APP_TEXT,                                                                                       \
         .name = "size",                                                                                         \
         .argument = "WxH",                                                                                      \
         .offset = APP_VIEW_AT(type, size),                                                                      \
         .help = "image size in pixels, each 16 to 8192"},                                                       \
        {.kind = APP_CHOICE,                                                                                     \
         .name = "color",                                                                                        \
         .argument = "MODE",                                                                                     \
         .offset = APP_VIEW_AT(type, color),                                                                     \
         .choices = app_color_choices,                                                                           \
         .help = "none, stretch (blue: shorter, red: longer), contact (red: penetrating), weights, primitives"}, \
    {                                                                                                            \
        .kind = APP_CHOICE, .name = "up", .argument = "AXIS", .offset = APP_VIEW_AT(type, up),                   \
        .choices = app_up_choices, .help = "up axis of the input, y or z; default: y"                            \
    }

/* Checks the options before a file is read and sets width and height; the arguments are the defaults. */
int app_view_check(app_view_options *view, int width, int height);

/* Finds a joint of the rig by name; on failure prints a message that names `option`. */
int app_find_joint(const sup_rig *rig, const char *option, const char *name, int32_t *joint);

typedef struct app_stage {
    sup_context context;
    const sup_rig *rig;
    const app_view_options *view;
    const app_colliders *colliders; /* rendered too, or NULL */
    int32_t zoom_joint;             /* of the rig, or -1 */
    int32_t *shade_group;           /* [vertex_count] vertices of a group share a normal */
    float *group_normals;           /* [vertex_count*3] */
    float *normals;                 /* [vertex_count*3] */
    float *colors;                  /* [vertex_count*3], NULL for the default color */
    float *vertex_values;           /* [skin_vertex_count] scratch */
    float *skin_positions;          /* [skin_vertex_count*3] */
    float *bones;                   /* [joint_count*6] */
    app_layers layers;              /* for the cutaway view */
    sup_rig_surface *surface;
    sup_measurer *measurer; /* for APP_COLOR_CONTACT */
} app_stage;

/* Returns APP_DONE, or prints a message and returns an exit status. Call app_stage_close in either case. */
int app_stage_open(app_stage *stage, const sup_context *context, const sup_rig *rig, const app_view_options *view);
void app_stage_close(app_stage *stage);

/* Places the camera so that all frames fit; with --zoom, so that the joint in `nodes` [node_count] fits. */
void app_stage_set_camera(const app_stage *stage, const float *positions, int32_t frame_count, const sup_mat34 *nodes,
                          render_def *def);
/* Renders one image. `nodes` (for the bones) may be NULL. */
int app_stage_render(app_stage *stage, const float *positions, const sup_mat34 *nodes, const render_def *def,
                     render_image *image);

#endif

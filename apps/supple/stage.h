/* stage.h - a character before the camera: colours, normals, bones and where the camera stands. */
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

/* What the command line says about a picture. A verb's own values have one of these, named `view`. */
typedef struct app_view_options {
    const char *camera, *zoom, *size;
    int color, up;
    bool wire, bones, layers;
    int width, height; /* from `size` by app_view_check */
} app_view_options;

#define APP_VIEW_AT(type, field) offsetof(type, view.field)
#define APP_VIEW_OPTIONS(type)                                                                          \
    {.kind = APP_TEXT,                                                                                  \
     .name = "camera",                                                                                  \
     .argument = "VIEW",                                                                                \
     .offset = APP_VIEW_AT(type, camera),                                                               \
     .help = "front, back, side, three-quarter, top, or AZIMUTH,ELEVATION in degrees"},                 \
        {.kind = APP_TEXT,                                                                              \
         .name = "zoom",                                                                                \
         .argument = "JOINT",                                                                           \
         .offset = APP_VIEW_AT(type, zoom),                                                             \
         .help = "look at that joint from near"},                                                       \
        {.kind = APP_TEXT,                                                                              \
         .name = "size",                                                                                \
         .argument = "WxH",                                                                             \
         .offset = APP_VIEW_AT(type, size),                                                             \
         .help = "of a picture in pixels, 16 to 8192 each"},                                            \
        {.kind = APP_CHOICE,                                                                            \
         .name = "color",                                                                               \
         .argument = "WHAT",                                                                            \
         .offset = APP_VIEW_AT(type, color),                                                            \
         .choices = app_color_choices,                                                                  \
         .help = "none, stretch (blue short, red long), contact (red inside), weights, parts"},         \
    {                                                                                                   \
        .kind = APP_CHOICE, .name = "up", .argument = "AXIS", .offset = APP_VIEW_AT(type, up),          \
        .choices = app_up_choices, .help = "y or z: which axis of the file points up; y when not given" \
    }

/* Checks what can be checked before a file is read, and fills width and height; `width` 0 takes the defaults given. */
int app_view_check(app_view_options *view, int width, int height);

/* The rig's joint of that name, or a sentence about the option that gave it. */
int app_find_joint(const sup_rig *rig, const char *option, const char *name, int32_t *joint);

typedef struct app_stage {
    sup_context context;
    const sup_rig *rig;
    const app_view_options *view;
    const app_colliders *colliders; /* in the picture too, or NULL */
    int32_t zoom_joint;             /* of the rig, or -1 */
    int32_t *shade_group;           /* [vertex_count] vertices of one group have one normal */
    float *group_normals;           /* [vertex_count*3] */
    float *normals;                 /* [vertex_count*3] */
    float *colors;                  /* [vertex_count*3], NULL for clay */
    float *vertex_values;           /* [skin_vertex_count] scratch */
    float *skin_positions;          /* [skin_vertex_count*3] */
    float *bones;                   /* [joint_count*6] */
    app_layers layers;              /* of a body that is cut open */
    sup_rig_surface *surface;
    sup_measurer *measurer; /* for the colour of contact */
} app_stage;

/* APP_DONE or an exit status after its sentence; app_stage_close is due in either case. */
int app_stage_open(app_stage *stage, const sup_context *context, const sup_rig *rig, const app_view_options *view);
void app_stage_close(app_stage *stage);

/* Where the camera stands so that all of the frames fit; with --zoom, at the joint in `nodes` [node_count]. */
void app_stage_set_camera(const app_stage *stage, const float *positions, int32_t frame_count, const sup_mat34 *nodes,
                   render_def *def);
/* One picture. `nodes` (for the bones) may be NULL. */
int app_stage_render(app_stage *stage, const float *positions, const sup_mat34 *nodes, const render_def *def,
                    render_image *image);

#endif

/* cmd_slice.c - `supple slice`: the field of a skin in a plane, or an operator, as iso-lines. */
#include "play.h"
#include "paint.h"
#include "stage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct slice_values {
    app_take_values take;
    const char *output, *joint, *op;
    double reach, depth;
    int plane, frame, size;
} slice_values;

enum { PLANE_BEND, PLANE_FRONT, PLANE_SIDE, PLANE_TOP };
static const char *const plane_choices[] = {"bend", "front", "side", "top", NULL};
static const char *const output_endings[] = {"png", NULL};

#define AT(field) offsetof(slice_values, field)
static const app_option slice_options[] = {
    {.kind = APP_POSITIONAL,
     .name = "INPUT",
     .offset = AT(take.input),
     .optional = true,
     .help = "as for bake; not with --operator"},
    APP_OUTPUT(slice_values, "OUTPUT", "the picture, .png"),
    {.kind = APP_TEXT, .name = "joint", .argument = "NAME", .offset = AT(joint), .help = "the plane goes through it"},
    {.kind = APP_CHOICE,
     .name = "plane",
     .argument = "WHICH",
     .offset = AT(plane),
     .choices = plane_choices,
     .help = "bend (the bones at the joint lie in it), front, side or top; bend when not given"},
    {.kind = APP_NUMBER,
     .name = "reach",
     .argument = "NUMBER",
     .offset = AT(reach),
     .minimum = 0.0,
     .maximum = 1e9,
     .help = "from the middle to the edge of the picture, file units; 0: what the bones at the joint need"},
    {.kind = APP_TEXT,
     .name = "operator",
     .argument = "NAME|FILE",
     .offset = AT(op),
     .help = "draw an operator instead: contact, bulge, or a file with a profile"},
    {.kind = APP_NUMBER,
     .name = "depth",
     .argument = "NUMBER",
     .offset = AT(depth),
     .minimum = 0.0,
     .maximum = 1.0,
     .help = "of the operator: 0 union to 1 full contact; 1 when not given"},
    APP_ONE_FRAME(slice_values, "of the motion, 0 when not given"),
    {.kind = APP_WHOLE,
     .name = "size",
     .argument = "N",
     .offset = AT(size),
     .minimum = 16,
     .maximum = 4096,
     .help = "width and height in pixels; 800 when not given"},
    APP_TAKE_HOW(slice_values),
    APP_TAKE_MODEL(slice_values),
    APP_TAKE_PLAY(slice_values),
};

static const app_verb slice_verb = {
    .name = "slice",
    .usage = "INPUT --joint NAME -o slice.png [options]",
    .summary = "The field that a skin lies near, cut by a plane and drawn as iso-lines.",
    .details = "Blue lines are outside of the skin, the grey one is where the field is 0.5, red ones are inside.\n"
               "Only methods with a field have one to draw: implicit, which is taken when none is named.\n\n"
               "Examples:\n"
               "  supple slice scene:human -o elbow.png --joint left_lower_arm --clip show --frame 30\n"
               "  supple slice --operator bulge --depth 0.5 -o bulge.png\n\n"
               "Exit status: 0 done, 1 wrong usage, 2 bad input, 3 anything else (output, memory, Ctrl-C).\n",
    .options = slice_options,
    .option_count = (int)(sizeof slice_options / sizeof slice_options[0]),
};

/* --- Iso-lines --- */

static void mix(uint8_t *pixel, const double color[3], double share)
{
    for (int c = 0; c < 3; c++)
        pixel[c] = (uint8_t)((1.0 - share) * (double)pixel[c] + share * color[c] + 0.5);
}

/* Lines at every twentieth, the skin's own thicker; distances in pixels come from the values beside a pixel. */
static void draw_pixel(const float *values, int size, int x, int y, uint8_t *pixel)
{
    static const double blue[3] = {60, 110, 200}, red[3] = {205, 60, 50}, grey[3] = {70, 70, 70};
    const double step = 0.05;
    int left = x > 0 ? x - 1 : x, right = x + 1 < size ? x + 1 : x;
    int below = y > 0 ? y - 1 : y, above = y + 1 < size ? y + 1 : y;
    double value = (double)values[y * size + x];
    double by_x = ((double)values[y * size + right] - (double)values[y * size + left]) / (right - left);
    double by_y = ((double)values[above * size + x] - (double)values[below * size + x]) / (above - below);
    double slope = sqrt(by_x * by_x + by_y * by_y);
    long line = lround(value / step), skin = lround(0.5 / step), last = lround(1.0 / step);
    mix(pixel, value < 0.5 ? blue : red, 0.1 * fabs(value - 0.5));
    if (line <= 0 || line >= last) return;          /* flat outside and deep inside */
    double off = fabs(value - (double)line * step); /* a contact is a flat valley: on it already */
    double distance = off > 2e-4 && slope > 0.0 ? off / slope : 0.0;
    double width = line == skin ? 1.6 : 0.6, share = width + 0.5 - distance;
    if (share > 0.0) mix(pixel, line == skin ? grey : line < skin ? blue : red, share < 1.0 ? share : 1.0);
}

/* Row 0 of the values is the bottom of the picture. */
static int draw(const slice_values *values, const float *field)
{
    sup_error error = {0};
    render_image image = render_image_create(values->size, values->size);
    if (image.pixels == NULL) {
        app_say("There is not enough memory for the picture.");
        return APP_OTHER;
    }
    memset(image.pixels, 255, 3 * (size_t)values->size * (size_t)values->size);
    for (int y = 0; y < values->size; y++)
        for (int x = 0; x < values->size; x++)
            draw_pixel(field, values->size, x, y,
                       image.pixels + 3 * ((size_t)(values->size - 1 - y) * (size_t)values->size + (size_t)x));
    int status = APP_DONE;
    if (render_write_png(&image, values->output, &error) != SUP_OK)
        status = app_fail(&error, APP_PHASE_BAKE, values->output);
    render_image_destroy(&image);
    if (status == APP_DONE && !values->take.quiet)
        printf("%s: %d x %d\n", app_clean(values->output), values->size, values->size);
    return status;
}

/* --- The plane --- */

typedef struct plane {
    const slice_values *values;
    const sup_rig *rig;
    int32_t joint;
    float *points, *field;
    sup_result result;
} plane;

static void node_place(const sup_pose *pose, int32_t node, double at[3])
{
    for (int c = 0; c < 3; c++)
        at[c] = (double)pose->world[node].m[4 * c + 3];
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Where a bone of the bind pose ends now. */
static void bone_end(const plane *p, const sup_pose *pose, int32_t joint, double at[3])
{
    const float *tail = p->rig->bone_tail + 3 * (size_t)joint;
    const sup_mat34 *back = &p->rig->joint_inverse_bind[joint], *world = &pose->world[p->rig->joint_node[joint]];
    double local[3];
    for (int c = 0; c < 3; c++)
        local[c] = (double)back->m[4 * c] * (double)tail[0] + (double)back->m[4 * c + 1] * (double)tail[1] +
                   (double)back->m[4 * c + 2] * (double)tail[2] + (double)back->m[4 * c + 3];
    for (int c = 0; c < 3; c++)
        at[c] = (double)world->m[4 * c] * local[0] + (double)world->m[4 * c + 1] * local[1] +
                (double)world->m[4 * c + 2] * local[2] + (double)world->m[4 * c + 3];
}

/* Axes to the right and up, and how far the bones reach. The parent's bone points to the right in the plane of the bend; a
 * straight limb has no such plane, and the axis that is least along it shows up instead. */
static double bend_axes(const plane *p, const sup_pose *pose, double right[3], double up[3])
{
    int32_t parent = p->rig->joint_parent[p->joint];
    double here[3], before[3], after[3], along[3], bone[3], reach = 0.0;
    node_place(pose, p->rig->joint_node[p->joint], here);
    bone_end(p, pose, p->joint, after);
    node_place(pose, p->rig->joint_node[parent >= 0 ? parent : p->joint], before);
    for (int c = 0; c < 3; c++) {
        bone[c] = after[c] - here[c];
        along[c] = parent >= 0 ? here[c] - before[c] : bone[c];
    }
    double length = sqrt(dot(along, along)), bone_length = sqrt(dot(bone, bone));
    reach = 1.3 * fmax(length, bone_length);
    if (!(length > 0.0)) return reach;
    for (int c = 0; c < 3; c++)
        right[c] = along[c] / length;
    for (int attempt = 0; attempt < 2; attempt++) {
        double shift = dot(bone, right), size;
        for (int c = 0; c < 3; c++)
            up[c] = bone[c] - shift * right[c];
        size = sqrt(dot(up, up));
        for (int c = 0; c < 3 && size > 0.0; c++)
            up[c] /= size;
        if (size > 0.05 * bone_length) break;
        int least = fabs(right[1]) < 0.7 ? 1 : 2;
        for (int c = 0; c < 3; c++)
            bone[c] = c == least ? fmax(bone_length, 1e-30) : 0.0;
    }
    return reach;
}

static void sample(void *user, const sup_instance *instance, const sup_pose *pose)
{
    static const double axes[4][2][3] = {
        {{1, 0, 0}, {0, 1, 0}}, {{1, 0, 0}, {0, 1, 0}}, {{0, 0, -1}, {0, 1, 0}}, {{1, 0, 0}, {0, 0, -1}}};
    plane *p = user;
    const int size = p->values->size;
    double right[3], up[3], unused[2][3], middle[3];
    memcpy(right, axes[p->values->plane][0], sizeof right);
    memcpy(up, axes[p->values->plane][1], sizeof up);
    bool bend = p->values->plane == PLANE_BEND;
    double reach = bend_axes(p, pose, bend ? right : unused[0], bend ? up : unused[1]);
    if (p->values->reach > 0.0) reach = p->values->reach;
    node_place(pose, p->rig->joint_node[p->joint], middle);
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++)
            for (int c = 0; c < 3; c++) {
                double i = (2.0 * x / (size - 1) - 1.0) * reach, j = (2.0 * y / (size - 1) - 1.0) * reach;
                p->points[3 * ((size_t)y * (size_t)size + (size_t)x) + (size_t)c] =
                    (float)(middle[c] + i * right[c] + j * up[c]);
            }
    p->result = sup_instance_field(instance, p->points, size * size, p->field);
}

static int slice(app_take *take, const slice_values *values)
{
    size_t pixels = (size_t)values->size * (size_t)values->size;
    plane p = {.values = values, .result = SUP_ERROR_ARGUMENT};
    sup_rig_def def = app_take_rig_def(take->values);
    sup_rig *rig = NULL;
    sup_error error = {0};
    app_progress progress;
    if (values->frame >= take->frame_count)
        return app_usage("Frame %d is asked for: the motion has %d frames, 0 to %d.", values->frame,
                         (int)take->frame_count, (int)take->frame_count - 1);
    if (sup_rig_create(&take->session.context, take->character, &def, &rig, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, take->values->input);
    p.rig = rig;
    p.points = malloc(3 * pixels * sizeof *p.points);
    p.field = calloc(pixels, sizeof *p.field);
    app_play play = {.watch = sample, .watch_user = &p};
    int status = app_find_joint(rig, "--joint", values->joint, &p.joint);
    if (status == APP_DONE) status = app_paint_check(&take->values->paint, &take->method, 1);
    if (status == APP_DONE) status = app_setup_check(take->values, &take->method, 1);
    if (status == APP_DONE && (p.points == NULL || p.field == NULL)) {
        app_say("There is not enough memory for the slice.");
        status = APP_OTHER;
    }
    if (status == APP_DONE) {
        app_progress_begin(&progress, values->take.quiet, false);
        status = app_play_method(take, rig, take->method, take->params, values->frame, values->frame, &progress, &play);
        app_progress_end(&progress);
    }
    if (status == APP_DONE) status = draw(values, p.field);
    app_play_close(&play);
    free(p.points);
    free(p.field);
    sup_rig_destroy(rig);
    return status;
}

/* --- Operators --- */

static int slice_operator(const slice_values *values)
{
    size_t pixels = (size_t)values->size * (size_t)values->size, size = strlen(values->op);
    float *field = calloc(pixels, sizeof *field);
    sup_error error = {0};
    bool known = false;
    for (int32_t i = 0; sup_operator_name(i) != NULL; i++)
        known = known || strcmp(sup_operator_name(i), values->op) == 0;
    char *text = known ? NULL : app_read_file(values->op, &size);
    int status = APP_DONE;
    if (!known && text == NULL)
        status = app_usage("--operator %s: It is neither contact nor bulge, nor a file that can be read.", values->op);
    else if (field == NULL)
        status = APP_OTHER;
    else if (sup_operator_sample(NULL, (sup_bytes){known ? values->op : text, size}, values->depth, values->size, field,
                                 &error) != SUP_OK)
        status = app_fail(&error, APP_PHASE_LOAD, values->op);
    if (status == APP_DONE) status = draw(values, field);
    free(text);
    free(field);
    return status;
}

static int check_method(const app_take *take)
{
    if (take->method->inspection != NULL && take->method->inspection->field != NULL) return APP_DONE;
    return app_usage("--method %s: It has no field to draw; implicit has.", take->method->name);
}

int app_command_slice(int argc, char **argv)
{
    slice_values values = {.take.fps = 30.0, .size = 800, .depth = 1.0};
    app_take take;
    int status = APP_DONE;
    if (!app_parse(&slice_verb, argc, argv, &values, &status)) return status;
    if (app_ending(values.output, output_endings) < 0)
        return app_usage("%s: A slice is a picture and ends in .png.", values.output);
    if (values.op != NULL && values.take.input != NULL)
        return app_usage("--operator %s: Give an INPUT or --operator, not both.", values.op);
    if (values.op != NULL) return slice_operator(&values);
    if (values.take.input == NULL) return app_usage("An INPUT and --joint are missing, or --operator.");
    if (values.joint == NULL) return app_usage("--joint is missing: 'supple info --joints' lists the joints.");
    if (values.take.method == NULL && values.take.model == NULL && values.take.settings == NULL)
        values.take.method = "implicit";
    status = app_take_open(&take, &values.take);
    if (status == APP_DONE) status = check_method(&take);
    if (status == APP_DONE) status = slice(&take, &values);
    app_take_close(&take);
    return status;
}

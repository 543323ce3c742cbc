/* cmd_slice.c - `supple slice`: iso-lines of the implicit skin field in a plane, or of a composition operator. */
#include "playback.h"
#include "paint.h"
#include "stage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct slice_values {
    app_job_values job;
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
     .offset = AT(job.input),
     .optional = true,
     .help = "input as for bake; not with --operator"},
    APP_OUTPUT(slice_values, "OUTPUT", "output image, .png"),
    {.kind = APP_TEXT,
     .name = "joint",
     .argument = "NAME",
     .offset = AT(joint),
     .help = "joint that the plane passes through"},
    {.kind = APP_CHOICE,
     .name = "plane",
     .argument = "PLANE",
     .offset = AT(plane),
     .choices = plane_choices,
     .help = "bend (contains the bones of the joint), front, side or top; default: bend"},
    {.kind = APP_NUMBER,
     .name = "reach",
     .argument = "NUMBER",
     .offset = AT(reach),
     .minimum = 0.0,
     .maximum = 1e9,
     .help = "distance from center to edge of the image in file units; 0 (default): fit the bones"},
    {.kind = APP_TEXT,
     .name = "operator",
     .argument = "NAME|FILE",
     .offset = AT(op),
     .help = "plot an operator instead of a skin: contact, bulge, or a profile file"},
    {.kind = APP_NUMBER,
     .name = "depth",
     .argument = "NUMBER",
     .offset = AT(depth),
     .minimum = 0.0,
     .maximum = 1.0,
     .help = "contact depth of the operator, 0 (union) to 1; default: 1"},
    APP_ONE_FRAME(slice_values, "frame of the animation; default: 0"),
    {.kind = APP_WHOLE,
     .name = "size",
     .argument = "N",
     .offset = AT(size),
     .minimum = 16,
     .maximum = 4096,
     .help = "width and height in pixels; default: 800"},
    APP_JOB_SKINNING_DEFAULT(slice_values, "implicit"),
    APP_JOB_MODEL(slice_values),
    APP_JOB_PLAYBACK(slice_values),
};

static const app_verb slice_verb = {
    .name = "slice",
    .usage = "INPUT --joint NAME -o slice.png [options]",
    .summary = "Plots iso-lines of the implicit skin field in a plane.",
    .details = "Blue lines are outside the skin, red lines inside; the grey line is the iso-value 0.5.\n\n"
               "Examples:\n"
               "  supple slice scene:human -o elbow.png --joint left_lower_arm --clip show --frame 30\n"
               "  supple slice --operator bulge --depth 0.5 -o bulge.png\n\n"
               "Exit status: 0 success, 1 wrong usage, 2 bad input, 3 other errors (output, memory, Ctrl-C).\n",
    .options = slice_options,
    .option_count = (int)(sizeof slice_options / sizeof slice_options[0]),
};

/* --- Iso-lines --- */

static void mix(uint8_t *pixel, const double color[3], double alpha)
{
    for (int c = 0; c < 3; c++)
        pixel[c] = (uint8_t)((1.0 - alpha) * (double)pixel[c] + alpha * color[c] + 0.5);
}

/* Iso-lines every 0.05, the line at 0.5 thicker; pixel distances follow from central differences. */
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
    if (line <= 0 || line >= last) return;          /* constant far outside and deep inside */
    double off = fabs(value - (double)line * step); /* the field is constant across a contact surface */
    double distance = off > 2e-4 && slope > 0.0 ? off / slope : 0.0;
    double width = line == skin ? 1.6 : 0.6, alpha = width + 0.5 - distance;
    if (alpha > 0.0) mix(pixel, line == skin ? grey : line < skin ? blue : red, alpha < 1.0 ? alpha : 1.0);
}

/* Row 0 of `field` is the bottom of the image. */
static int draw(const slice_values *values, const float *field)
{
    sup_error error = {0};
    render_image image = render_image_create(values->size, values->size);
    if (image.pixels == NULL) {
        app_say("Out of memory for the image.");
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
    if (status == APP_DONE && !values->job.quiet)
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

static void node_position(const sup_pose *pose, int32_t node, double at[3])
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

/* Image axes `right` and `up`; returns the extent of the bones. In the plane of the bend the bone of the parent points
 * right; a straight limb has no such plane: then `up` follows the coordinate axis that is least parallel to it. */
static double bend_axes(const plane *p, const sup_pose *pose, double right[3], double up[3])
{
    int32_t parent = p->rig->joint_parent[p->joint];
    double here[3], parent_position[3], tail_position[3], along[3], bone[3], reach = 0.0;
    node_position(pose, p->rig->joint_node[p->joint], here);
    bone_end(p, pose, p->joint, tail_position);
    node_position(pose, p->rig->joint_node[parent >= 0 ? parent : p->joint], parent_position);
    for (int c = 0; c < 3; c++) {
        bone[c] = tail_position[c] - here[c];
        along[c] = parent >= 0 ? here[c] - parent_position[c] : bone[c];
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
        int axis = fabs(right[1]) < 0.7 ? 1 : 2;
        for (int c = 0; c < 3; c++)
            bone[c] = c == axis ? fmax(bone_length, 1e-30) : 0.0;
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
    node_position(pose, p->rig->joint_node[p->joint], middle);
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++)
            for (int c = 0; c < 3; c++) {
                double i = (2.0 * x / (size - 1) - 1.0) * reach, j = (2.0 * y / (size - 1) - 1.0) * reach;
                p->points[3 * ((size_t)y * (size_t)size + (size_t)x) + (size_t)c] =
                    (float)(middle[c] + i * right[c] + j * up[c]);
            }
    p->result = sup_instance_field(instance, p->points, size * size, p->field);
}

static int slice(app_job *job, const slice_values *values)
{
    size_t pixels = (size_t)values->size * (size_t)values->size;
    plane p = {.values = values, .result = SUP_ERROR_ARGUMENT};
    sup_rig_def def = app_job_rig_def(job->values);
    sup_rig *rig = NULL;
    sup_error error = {0};
    app_progress progress;
    if (values->frame >= job->frame_count)
        return app_usage("Frame %d does not exist: the animation has %d frames, 0 to %d.", values->frame,
                         (int)job->frame_count, (int)job->frame_count - 1);
    if (sup_rig_create(&job->session.context, job->character, &def, &rig, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, job->values->input);
    p.rig = rig;
    p.points = malloc(3 * pixels * sizeof *p.points);
    p.field = calloc(pixels, sizeof *p.field);
    app_playback playback = {.on_last_frame = sample, .on_last_frame_user = &p};
    int status = app_find_joint(rig, "--joint", values->joint, &p.joint);
    if (status == APP_DONE) status = app_paint_check(&job->values->paint, &job->method, 1);
    if (status == APP_DONE) status = app_setup_check(job->values, &job->method, 1);
    if (status == APP_DONE && (p.points == NULL || p.field == NULL)) {
        app_say("Out of memory for the slice.");
        status = APP_OTHER;
    }
    if (status == APP_DONE) {
        app_progress_begin(&progress, values->job.quiet, false);
        status =
            app_playback_run(job, rig, job->method, job->params, values->frame, values->frame, &progress, &playback);
        app_progress_end(&progress);
    }
    if (status == APP_DONE) status = draw(values, p.field);
    app_playback_close(&playback);
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
        status = app_usage("--operator %s: Neither contact nor bulge nor a readable file.", values->op);
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

static int check_method(const app_job *job)
{
    if (job->method->inspection != NULL && job->method->inspection->field != NULL) return APP_DONE;
    return app_usage("--method %s: The method has no field; implicit has one.", job->method->name);
}

int app_command_slice(int argc, char **argv)
{
    slice_values values = {.job.fps = 30.0, .size = 800, .depth = 1.0};
    app_job job;
    int status = APP_DONE;
    if (!app_parse(&slice_verb, argc, argv, &values, &status)) return status;
    if (app_ending(values.output, output_endings) < 0)
        return app_usage("%s: The file extension of the output must be .png.", values.output);
    if (values.op != NULL && values.job.input != NULL)
        return app_usage("--operator %s: Give an INPUT or --operator, not both.", values.op);
    if (values.op != NULL) return slice_operator(&values);
    if (values.job.input == NULL) return app_usage("Give INPUT and --joint, or --operator.");
    if (values.joint == NULL) return app_usage("--joint is missing: 'supple info --joints' lists the joints.");
    if (values.job.method == NULL && values.job.model == NULL && values.job.settings == NULL)
        values.job.method = "implicit";
    status = app_job_open(&job, &values.job);
    if (status == APP_DONE) status = check_method(&job);
    if (status == APP_DONE) status = slice(&job, &values);
    app_job_close(&job);
    return status;
}

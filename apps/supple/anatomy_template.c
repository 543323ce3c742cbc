/* anatomy_template.c - `supple anatomy template`: builds the three-layer template from skin, bones, muscles and
 * skeleton. */
#include "anatomy.h"
#include "json_out.h"
#include "options.h"
#include "progress.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct template_values {
    const char *skin, *bones, *muscles, *skeleton, *wrap, *surface, *attach, *exclude, *output;
    int threads, sex;
    bool json, quiet;
} template_values;

static const char *const sex_choices[] = {"unknown", "female", "male", NULL};

#define AT(field) offsetof(template_values, field)
static const app_option template_options[] = {
    {.kind = APP_TEXT,
     .name = "skin",
     .argument = "FILE",
     .offset = AT(skin),
     .required = true,
     .help = "closed skin in metres, Y up, +Z forward; with skin weights, or use --skeleton to compute them"},
    {.kind = APP_TEXT,
     .name = "bones",
     .argument = "FILE",
     .offset = AT(bones),
     .required = true,
     .help = "detailed bones inside the skin, one primitive per bone"},
    {.kind = APP_TEXT,
     .name = "muscles",
     .argument = "FILE",
     .offset = AT(muscles),
     .help = "detailed muscles inside the skin, one primitive per muscle"},
    {.kind = APP_TEXT,
     .name = "skeleton",
     .argument = "FILE",
     .offset = AT(skeleton),
     .help = "joints of the skin, .skel or .bvh; not needed if the skin has a skeleton, or with --surface"},
    APP_OUTPUT(template_values, "TEMPLATE", "the template to write"),
    {.kind = APP_TEXT,
     .name = "surface",
     .argument = "COMPOSITION",
     .offset = AT(surface),
     .help = "register this surface template to the skin; use its triangulation and joints"},
    {.kind = APP_TEXT,
     .name = "wrap",
     .argument = "FILE",
     .offset = AT(wrap),
     .help = "closed surface around the bones; default: computed"},
    {.kind = APP_TEXT,
     .name = "attach",
     .argument = "FILE",
     .offset = AT(attach),
     .help = "JSON with the joint that each bone follows; default: the nearest"},
    {.kind = APP_TEXT,
     .name = "exclude",
     .argument = "WORDS",
     .offset = AT(exclude),
     .help = "words in the names of joints without layers: head,hand,toe; default: common names of these"},
    {.kind = APP_CHOICE,
     .name = "sex",
     .argument = "SEX",
     .offset = AT(sex),
     .choices = sex_choices,
     .help = "unknown, female or male"},
    {.kind = APP_WHOLE,
     .name = "threads",
     .letter = 'j',
     .argument = "N",
     .offset = AT(threads),
     .minimum = 0,
     .maximum = 1024,
     .help = "number of threads; 0 (default): one per core. Does not change the result"},
    {.kind = APP_FLAG, .name = "json", .offset = AT(json), .help = "print the result as JSON"},
    {.kind = APP_FLAG, .name = "quiet", .letter = 'q', .offset = AT(quiet), .help = "print no progress and no result"},
};

static const app_verb template_verb = {
    .name = "anatomy template",
    .usage = "--skin FILE --bones FILE -o OUT.template [options]",
    .summary = "Compute the skeleton surface and the muscle surface inside a skin: three layers of one triangulation.",
    .details = "All files must be in the same coordinates and pose. Run it once per anatomy; 'supple anatomy fit' then "
               "creates people.\n\nExample:\n  supple anatomy template --skin skin.ply --bones bones.glb --muscles "
               "muscles.glb \\\n    --skeleton body.skel -o body.template\n\nExit status: 0 success, 1 wrong usage, 2 "
               "bad input, 3 other errors (output, memory, Ctrl-C).\n",
    .options = template_options,
    .option_count = (int)(sizeof template_options / sizeof template_options[0]),
};

/* Owns everything that the def of a template points at. */
typedef struct template_input {
    sup_anatomy_def def;
    double *skin, *joints, *weights, *wrap;
    int32_t *triangles, *parents, *first, *influences;
    const char **names;
    sup_anatomy_organ *organs;
    double *detail[2]; /* vertex positions of bones and muscles */
    int32_t *detail_triangles[2];
    sup_character *skin_character, *wrap_character, *details[2];
    sup_rig *rig;
    sup_composition *composition;
    sup_registration *registration;
} template_input;

static void close_input(template_input *in)
{
    void *owned[] = {in->skin,
                     in->joints,
                     in->weights,
                     in->wrap,
                     in->triangles,
                     in->parents,
                     in->first,
                     in->influences,
                     (void *)in->names,
                     in->organs,
                     in->detail[0],
                     in->detail[1],
                     in->detail_triangles[0],
                     in->detail_triangles[1]};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
    sup_rig_destroy(in->rig);
    sup_registration_destroy(in->registration);
    sup_composition_destroy(in->composition);
    sup_character_destroy(in->skin_character);
    sup_character_destroy(in->wrap_character);
    sup_character_destroy(in->details[0]);
    sup_character_destroy(in->details[1]);
}

static int out_of_memory(void)
{
    app_say("There is not enough memory for the template.");
    return APP_OTHER;
}

/* --- The skin and its joints --- */

/* The main component of a rig's welded skin; `number` gets the new index of each vertex, -1 outside that component. */
static int copy_skin(template_input *in, int32_t *number)
{
    const sup_rig *rig = in->rig;
    int32_t vertices = 0, triangles = 0, influences = 0;
    for (int32_t v = 0; v < rig->skin_vertex_count; v++) {
        number[v] = -1;
        if (rig->skin_component[v] != rig->main_component) continue;
        int32_t from = rig->skin_to_vertex[v];
        for (size_t k = 0; k < 3; k++)
            in->skin[3 * (size_t)vertices + k] = (double)rig->skin_positions[3 * (size_t)v + k];
        for (int32_t i = rig->influence_first[from]; i < rig->influence_first[from + 1]; i++) {
            in->influences[influences] = rig->influence_joint[i];
            in->weights[influences++] = (double)rig->influence_weight[i];
        }
        number[v] = vertices++;
        in->first[vertices] = influences;
    }
    for (int32_t t = 0; t < rig->skin_triangle_count; t++) {
        const int32_t *c = rig->skin_triangles + 3 * (size_t)t;
        if (number[c[0]] < 0) continue;
        for (size_t k = 0; k < 3; k++)
            in->triangles[3 * (size_t)triangles + k] = number[c[k]];
        triangles++;
    }
    in->def.skin = (sup_shape){vertices, triangles, in->skin, in->triangles};
    return APP_DONE;
}

static int copy_joints(template_input *in)
{
    const sup_rig *rig = in->rig;
    size_t joints = (size_t)rig->joint_count;
    in->names = calloc(joints + 1, sizeof *in->names);
    in->parents = calloc(joints + 1, sizeof *in->parents);
    in->joints = calloc(3 * joints + 1, sizeof *in->joints);
    if (in->names == NULL || in->parents == NULL || in->joints == NULL) return out_of_memory();
    for (size_t j = 0; j < joints; j++) {
        in->names[j] = rig->character->nodes[rig->joint_node[j]].name;
        in->parents[j] = rig->joint_parent[j];
        for (size_t k = 0; k < 3; k++)
            in->joints[3 * j + k] = (double)rig->joint_bind[j].m[4 * k + 3];
    }
    in->def.joints = (sup_joints){rig->joint_count, in->names, in->parents, in->joints};
    return APP_DONE;
}

static int open_skin(app_session *session, const template_values *values, template_input *in)
{
    sup_error error = {0};
    int status = app_open_character(session, values->skin, values->skeleton, &in->skin_character);
    if (status != APP_DONE) return status;
    if (in->skin_character->bone_count == 0) {
        app_say("%s: The skin has no skeleton: add --skeleton FILE.skel.", values->skin);
        return APP_INPUT;
    }
    if (sup_rig_create(&session->context, in->skin_character, NULL, &in->rig, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, values->skin);
    size_t vertices = (size_t)in->rig->skin_vertex_count;
    size_t influences = (size_t)in->rig->influence_first[in->rig->vertex_count];
    int32_t *number = calloc(vertices + 1, sizeof *number);
    in->skin = calloc(3 * vertices + 1, sizeof *in->skin);
    in->triangles = calloc(3 * (size_t)in->rig->skin_triangle_count + 1, sizeof *in->triangles);
    in->first = calloc(vertices + 2, sizeof *in->first);
    in->influences = calloc(influences + 1, sizeof *in->influences);
    in->weights = calloc(influences + 1, sizeof *in->weights);
    bool allocated = number != NULL && in->skin != NULL && in->triangles != NULL && in->first != NULL &&
                     in->influences != NULL && in->weights != NULL;
    status = allocated ? copy_skin(in, number) : out_of_memory();
    if (status == APP_DONE) status = copy_joints(in);
    free(number);
    in->def.influence_first = in->first;
    in->def.influence_joint = in->influences;
    in->def.influence_weight = in->weights;
    return status;
}

/* Maps points of a registration back to the coordinates of the skin; the map to metres is a rotation with a uniform
 * scale. */
static void apply_inverse(const double map[12], int32_t count, const double *from, double *to)
{
    double square = map[0] * map[0] + map[4] * map[4] + map[8] * map[8];
    for (size_t i = 0; i < (size_t)count; i++) {
        double d[3] = {from[3 * i] - map[3], from[3 * i + 1] - map[7], from[3 * i + 2] - map[11]};
        for (size_t k = 0; k < 3; k++)
            to[3 * i + k] = (map[k] * d[0] + map[4 + k] * d[1] + map[8 + k] * d[2]) / square;
    }
}

/* Registers the surface template to the skin, in the skin's coordinates. */
static int open_surface(app_session *session, const template_values *values, template_input *in, app_progress *progress)
{
    sup_error error = {0};
    int status = app_open_character(session, values->skin, NULL, &in->skin_character);
    if (status != APP_DONE) return status;
    if (sup_composition_load(&session->context, values->surface, &in->composition, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, values->surface);
    const sup_character *c = in->skin_character;
    const sup_composition *comp = in->composition;
    double *scan = calloc(3 * (size_t)c->vertex_count + 1, sizeof *scan);
    in->skin = calloc(3 * (size_t)comp->vertex_count + 1, sizeof *in->skin);
    in->joints = calloc(3 * (size_t)comp->joint_count + 1, sizeof *in->joints);
    if (scan == NULL || in->skin == NULL || in->joints == NULL) {
        free(scan);
        return out_of_memory();
    }
    for (size_t i = 0; i < 3 * (size_t)c->vertex_count; i++)
        scan[i] = (double)c->positions[i];
    sup_register_def def = {.metres_per_unit = 1.0, .progress = app_progress_report, .progress_user = progress};
    sup_shape shape = {c->vertex_count, c->triangle_count, scan, c->triangles};
    sup_result result = sup_register(&session->context, comp, shape, &def, &in->registration, &error);
    free(scan);
    if (result != SUP_OK) return app_fail(&error, APP_PHASE_LOAD, values->skin);
    const sup_registration *r = in->registration;
    apply_inverse(r->from_scan, r->vertex_count, r->posed, in->skin);
    apply_inverse(r->from_scan, r->joint_count, r->joints, in->joints);
    in->def.skin = (sup_shape){comp->vertex_count, comp->triangle_count, in->skin, comp->triangles};
    in->def.joints = (sup_joints){comp->joint_count, (const char *const *)comp->joint_names, comp->parents, in->joints};
    in->def.influence_first = comp->influence_first;
    in->def.influence_joint = comp->influence_joint;
    in->def.influence_weight = comp->influence_weight;
    in->def.excluded = comp->excluded;
    return APP_DONE;
}

/* --- Bones, muscles, wrap --- */

/* World positions of a file's vertices in the rest pose, in double. */
static double *world_positions(app_session *session, const sup_character *c)
{
    sup_pose *pose = NULL;
    double *positions = calloc(3 * (size_t)c->vertex_count + 1, sizeof *positions);
    if (positions == NULL || sup_pose_create(&session->context, c, &pose, NULL) != SUP_OK) {
        free(positions);
        return NULL;
    }
    for (int32_t p = 0; p < c->primitive_count; p++) {
        const sup_primitive *primitive = &c->primitives[p];
        for (int32_t v = primitive->vertex_first; v < primitive->vertex_first + primitive->vertex_count; v++) {
            const float *from = c->positions + 3 * (size_t)v;
            sup_vec3 at = {from[0], from[1], from[2]};
            if (primitive->skin < 0) at = sup_mat34_transform_point(pose->world[primitive->node], at);
            positions[3 * (size_t)v] = (double)at.x;
            positions[3 * (size_t)v + 1] = (double)at.y;
            positions[3 * (size_t)v + 2] = (double)at.z;
        }
    }
    sup_pose_destroy(pose);
    return positions;
}

/* Adds the primitives of bones (0) or muscles (1) as organs to the def. */
static int add_organs(app_session *session, const char *path, int which, template_input *in)
{
    int status = app_open_character(session, path, NULL, &in->details[which]);
    if (status != APP_DONE) return status;
    const sup_character *c = in->details[which];
    if (c->triangle_count == 0) {
        app_say("%s: The file has no triangles.", path);
        return APP_INPUT;
    }
    size_t count = (size_t)in->def.organ_count + (size_t)c->primitive_count;
    sup_anatomy_organ *organs = realloc(in->organs, (count + 1) * sizeof *organs);
    if (organs == NULL) return out_of_memory();
    in->organs = organs;
    in->detail[which] = world_positions(session, c);
    int32_t *triangles = calloc(3 * (size_t)c->triangle_count + 1, sizeof *triangles);
    in->detail_triangles[which] = triangles;
    if (in->detail[which] == NULL || triangles == NULL) return out_of_memory();
    for (int32_t p = 0; p < c->primitive_count; p++) {
        const sup_primitive *primitive = &c->primitives[p];
        for (size_t i = 3 * (size_t)primitive->triangle_first;
             i < 3 * ((size_t)primitive->triangle_first + (size_t)primitive->triangle_count); i++)
            triangles[i] = c->triangles[i] - primitive->vertex_first;
        organs[in->def.organ_count++] = (sup_anatomy_organ){primitive->name,
                                                            {primitive->vertex_count, primitive->triangle_count,
                                                             in->detail[which] + 3 * (size_t)primitive->vertex_first,
                                                             triangles + 3 * (size_t)primitive->triangle_first},
                                                            which == 1,
                                                            -1};
    }
    in->def.organs = organs;
    return APP_DONE;
}

static int open_details(app_session *session, const template_values *values, template_input *in)
{
    sup_error error = {0};
    int32_t attached = 0;
    int status = add_organs(session, values->bones, 0, in);
    if (status == APP_DONE && values->muscles != NULL) status = add_organs(session, values->muscles, 1, in);
    if (status == APP_DONE && values->attach != NULL &&
        sup_anatomy_attach(&session->context, values->attach, &in->def.joints, in->organs, in->def.organ_count,
                           &attached, &error) != SUP_OK)
        status = app_fail(&error, APP_PHASE_LOAD, values->attach);
    if (status != APP_DONE || values->wrap == NULL) return status;
    status = app_open_character(session, values->wrap, NULL, &in->wrap_character);
    if (status != APP_DONE) return status;
    in->wrap = world_positions(session, in->wrap_character);
    if (in->wrap == NULL) return out_of_memory();
    in->def.wrap = (sup_shape){in->wrap_character->vertex_count, in->wrap_character->triangle_count, in->wrap,
                               in->wrap_character->triangles};
    return APP_DONE;
}

/* --- Results --- */

static void print_json(const template_values *values, const sup_anatomy *a, const sup_anatomy_report *r, double ms)
{
    app_json json = {.file = stdout};
    app_json_object(&json, NULL);
    app_json_text(&json, "output", values->output);
    app_json_integer(&json, "vertices", a->vertex_count);
    app_json_integer(&json, "joints", a->joint_count);
    app_json_integer(&json, "organs", a->organ_count);
    app_json_integer(&json, "smoothed_vertices", r->smoothed_vertices);
    app_json_number(&json, "smoothed_max_mm", 1e3 * r->smoothed_max);
    app_json_integer(&json, "wrap_vertices", r->wrap_vertices);
    app_json_integer(&json, "wrap_components", r->wrap_components);
    app_json_integer(&json, "wrap_genus", r->wrap_genus);
    app_json_number(&json, "wrap_distance_mm", 1e3 * r->wrap_distance);
    app_json_number(&json, "alignment_mean", r->alignment_mean);
    app_json_number(&json, "alignment_p95", r->alignment_p95);
    app_json_integer(&json, "bone_outside_muscle", r->bone_outside);
    app_json_integer(&json, "muscle_outside_skin", r->muscle_outside);
    app_json_integer(&json, "wrap_outside_bone", r->wrap_outside);
    app_json_integer(&json, "details_outside_bone", r->detail_outside);
    app_json_integer(&json, "inverted_fat_prisms", r->inverted_fat);
    app_json_integer(&json, "inverted_muscle_prisms", r->inverted_muscle);
    app_json_integer(&json, "fixed_targets", r->fixed_targets);
    app_json_integer(&json, "collision_targets", r->collision_targets);
    app_json_integer(&json, "iterations", r->iterations);
    app_json_number(&json, "wrap_s", r->wrap_seconds);
    app_json_number(&json, "bone_s", r->bone_seconds);
    app_json_number(&json, "muscle_s", r->muscle_seconds);
    app_json_number(&json, "ms", ms);
    app_json_object_end(&json);
}

static void print_result(const template_values *values, const sup_anatomy *a, const sup_anatomy_report *r, double ms)
{
    printf("%s: %s vertices, %d joints, %d organs, %.1f s\n", app_clean(values->output), app_grouped(a->vertex_count),
           (int)a->joint_count, (int)a->organ_count, 1e-3 * ms);
    printf("  skin       %d vertices in folds smoothed, by at most %.1f mm\n", (int)r->smoothed_vertices,
           1e3 * r->smoothed_max);
    printf("  wrap       %s vertices, %d component%s, genus %d (%.1f s)\n", app_grouped(r->wrap_vertices),
           (int)r->wrap_components, r->wrap_components == 1 ? "" : "s", (int)r->wrap_genus, r->wrap_seconds);
    printf("  skeleton   %d iterations, %d fixed and %d collision targets, %.1f mm from the wrap (%.1f s)\n",
           (int)r->iterations, (int)r->fixed_targets, (int)r->collision_targets, 1e3 * r->wrap_distance,
           r->bone_seconds);
    printf("  alignment  mean %.3f, 95 %% below %.3f\n", r->alignment_mean, r->alignment_p95);
    printf("  inside     %d bone vertices outside the muscles, %d muscle vertices outside the skin (%.1f s)\n",
           (int)r->bone_outside, (int)r->muscle_outside, r->muscle_seconds);
    printf("             %d wrap and %d organ vertices outside the skeleton surface\n", (int)r->wrap_outside,
           (int)r->detail_outside);
    printf("  prisms     %d of fat and %d of muscle inverted\n", (int)r->inverted_fat, (int)r->inverted_muscle);
}

static int build(app_session *session, const template_values *values, template_input *in, app_progress *progress)
{
    sup_error error = {0};
    sup_anatomy *anatomy = NULL;
    sup_anatomy_report report;
    double began = app_milliseconds();
    in->def.sex = (sup_sex)values->sex;
    in->def.exclude = values->exclude;
    in->def.progress = app_progress_report;
    in->def.progress_user = progress;
    sup_result result = sup_anatomy_create(&session->context, &in->def, &anatomy, &report, &error);
    double ms = app_milliseconds() - began;
    app_progress_end(progress);
    if (result == SUP_ERROR_CANCELLED) {
        app_say("%s: Cancelled; nothing was written.", values->output);
        return APP_OTHER;
    }
    if (result != SUP_OK) return app_fail(&error, APP_PHASE_LOAD, values->skin);
    int status = APP_DONE;
    if (sup_anatomy_save(&session->context, anatomy, values->output, &error) != SUP_OK)
        status = app_fail(&error, APP_PHASE_BAKE, values->output);
    if (status == APP_DONE && values->json) print_json(values, anatomy, &report, ms);
    if (status == APP_DONE && !values->json && !values->quiet) print_result(values, anatomy, &report, ms);
    sup_anatomy_destroy(anatomy);
    return status;
}

int app_anatomy_template(int argc, char **argv)
{
    template_values values = {0};
    app_session session;
    int status = APP_DONE;
    if (!app_parse(&template_verb, argc, argv, &values, &status)) return status;
    status = app_session_open(&session, values.threads, values.quiet);
    if (status != APP_DONE) return status;
    template_input in;
    app_progress progress;
    memset(&in, 0, sizeof in);
    app_progress_begin(&progress, values.quiet, values.json);
    status =
        values.surface != NULL ? open_surface(&session, &values, &in, &progress) : open_skin(&session, &values, &in);
    if (status == APP_DONE) status = open_details(&session, &values, &in);
    if (status == APP_DONE)
        status = build(&session, &values, &in, &progress);
    else
        app_progress_end(&progress);
    close_input(&in);
    app_session_close(&session);
    return status;
}

/* cmd_info.c - `supple info`: contents of a character, vertex offsets of its primitives, defects. */
#include "json_out.h"
#include "options.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

typedef struct info_values {
    const char *input, *skeleton;
    bool json, joints;
} info_values;

#define AT(field) offsetof(info_values, field)
static const app_option info_options[] = {
    {.kind = APP_POSITIONAL,
     .name = "FILE",
     .offset = AT(input),
     .help = "character file, mesh, skeleton, .ini, or scene:NAME (see 'supple scenes')"},
    {.kind = APP_FLAG, .name = "json", .offset = AT(json), .help = "print JSON; 'man supple' documents the keys"},
    {.kind = APP_FLAG, .name = "joints", .offset = AT(joints), .help = "also print the joint hierarchy"},
    {.kind = APP_TEXT,
     .name = "skeleton",
     .argument = "FILE",
     .offset = AT(skeleton),
     .help = "skeleton for a mesh file: .skel or .bvh"},
};

static const app_verb info_verb = {
    .name = "info",
    .usage = "FILE [--json] [options]",
    .summary = "Prints the contents of a character file and its defects.",
    .details = "The offset of a primitive is the index of its first vertex in every output of 'supple bake'.\n\n"
               "Examples:\n"
               "  supple info dancer.glb\n"
               "  supple info scene:human --json\n"
               "  supple info body.obj --skeleton body.skel\n",
    .options = info_options,
    .option_count = (int)(sizeof info_options / sizeof info_options[0]),
};

/* Everything that is printed, collected first. */
typedef struct rigid_joint {
    int32_t components, vertices; /* rigid components that follow a joint, and their skin vertices */
} rigid_joint;

typedef struct clip_flips {
    sup_clip_flip *items; /* by joint and time */
    int32_t count;
} clip_flips;

typedef struct info_report {
    const char *input;
    const sup_character *character;
    const sup_rig *rig; /* NULL when no rig can be created: see the defects */
    const sup_defects *defects;
    int32_t joint_count, max_influences;
    bool has_bounds;
    double minimum[3], maximum[3]; /* bind pose, world, file units */
    clip_flips *flips;             /* [clip_count] */
    rigid_joint *rigid;            /* [joint_count of the rig]; NULL without weights in the file */
    rigid_joint rigid_sum;
} info_report;

static void add_point(info_report *report, const float *p)
{
    for (int axis = 0; axis < 3; axis++) {
        double x = (double)p[axis];
        if (!(x >= -FLT_MAX && x <= FLT_MAX)) return;
        if (!report->has_bounds || x < report->minimum[axis]) report->minimum[axis] = x;
        if (!report->has_bounds || x > report->maximum[axis]) report->maximum[axis] = x;
    }
    report->has_bounds = true;
}

/* Bounding box of the bind pose; without a rig, of the mesh, or else the joints, in the rest pose. */
static int measure(info_report *report, const sup_context *context)
{
    const sup_character *character = report->character;
    if (report->rig != NULL) {
        for (int32_t v = 0; v < report->rig->vertex_count; v++)
            add_point(report, report->rig->positions + 3 * (size_t)v);
        return APP_DONE;
    }
    sup_pose *pose = NULL;
    sup_error error = {0};
    if (sup_pose_create(context, character, &pose, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, report->input);
    for (int32_t i = 0; i < character->primitive_count; i++) {
        const sup_primitive *primitive = &character->primitives[i];
        for (int32_t v = primitive->vertex_first; v < primitive->vertex_first + primitive->vertex_count; v++) {
            const float *p = character->positions + 3 * (size_t)v;
            sup_vec3 point = sup_mat34_transform_point(pose->world[primitive->node], (sup_vec3){p[0], p[1], p[2]});
            add_point(report, (float[3]){point.x, point.y, point.z});
        }
    }
    for (int32_t n = 0; n < character->node_count && character->vertex_count == 0; n++)
        if (character->nodes[n].is_joint)
            add_point(report, (float[3]){pose->world[n].m[3], pose->world[n].m[7], pose->world[n].m[11]});
    sup_pose_destroy(pose);
    return APP_DONE;
}

static void count(info_report *report)
{
    const sup_character *character = report->character;
    for (int32_t n = 0; n < character->node_count; n++)
        if (character->nodes[n].is_joint) report->joint_count++;
    for (int32_t v = 0; v < character->vertex_count; v++) {
        int32_t influences = character->influence_first[v + 1] - character->influence_first[v];
        if (influences > report->max_influences) report->max_influences = influences;
    }
}

static int fail_memory(void)
{
    app_say("There is not enough memory.");
    return APP_OTHER;
}

static int find_flips(info_report *report)
{
    const sup_character *character = report->character;
    report->flips = calloc((size_t)character->clip_count + 1, sizeof *report->flips);
    if (report->flips == NULL) return fail_memory();
    for (int32_t i = 0; i < character->clip_count; i++) {
        clip_flips *flips = &report->flips[i];
        int32_t count = sup_clip_find_flips(&character->clips[i], NULL, 0);
        flips->items = calloc((size_t)count + 1, sizeof *flips->items);
        if (flips->items == NULL) return fail_memory();
        flips->count = sup_clip_find_flips(&character->clips[i], flips->items, count);
    }
    return APP_DONE;
}

static int count_rigid_components(info_report *report)
{
    const sup_rig *rig = report->rig;
    if (rig == NULL || report->max_influences == 0) return APP_DONE;
    const int32_t *joints = sup_rig_rigid_joints(rig);
    bool *seen = calloc((size_t)rig->component_count + 1, sizeof *seen);
    report->rigid = calloc((size_t)rig->joint_count + 1, sizeof *report->rigid);
    for (int32_t v = 0; seen != NULL && report->rigid != NULL && v < rig->skin_vertex_count; v++) {
        int32_t component = rig->skin_component[v];
        if (joints[v] < 0 || component < 0) continue;
        report->rigid[joints[v]].components += seen[component] ? 0 : 1;
        report->rigid_sum.components += seen[component] ? 0 : 1;
        report->rigid[joints[v]].vertices++;
        report->rigid_sum.vertices++;
        seen[component] = true;
    }
    int status = seen != NULL && report->rigid != NULL ? APP_DONE : fail_memory();
    free(seen);
    return status;
}

static void free_report(info_report *report)
{
    for (int32_t i = 0; report->flips != NULL && i < report->character->clip_count; i++)
        free(report->flips[i].items);
    free(report->flips);
    free(report->rigid);
}

static const char *role_name(const info_report *report, int32_t primitive)
{
    static const char *const names[] = {"skin", "follower", "prop"};
    return report->rig != NULL ? names[report->rig->primitive_role[primitive]] : NULL;
}

static const char *text_or(const char *text, const char *default_text)
{
    return text != NULL && text[0] != '\0' ? text : default_text;
}

/* --- JSON --- */

static void json_primitives(app_json *json, const info_report *report)
{
    const sup_character *character = report->character;
    app_json_array(json, "primitives");
    for (int32_t i = 0; i < character->primitive_count; i++) {
        const sup_primitive *primitive = &character->primitives[i];
        app_json_object(json, NULL);
        app_json_text(json, "name", primitive->name);
        app_json_text(json, "role", role_name(report, i));
        app_json_integer(json, "offset", primitive->vertex_first);
        app_json_integer(json, "vertices", primitive->vertex_count);
        app_json_integer(json, "triangle_offset", primitive->triangle_first);
        app_json_integer(json, "triangles", primitive->triangle_count);
        app_json_integer(json, "node", primitive->node);
        app_json_text(json, "node_name", character->nodes[primitive->node].name);
        app_json_integer(json, "mesh", primitive->mesh);
        app_json_integer(json, "index_in_mesh", primitive->index_in_mesh);
        app_json_index(json, "material", primitive->material);
        app_json_index(json, "skin", primitive->skin);
        app_json_object_end(json);
    }
    app_json_array_end(json);
}

static void json_skeleton(app_json *json, const sup_character *character)
{
    app_json_array(json, "skeleton");
    for (int32_t n = 0; n < character->node_count; n++) {
        if (!character->nodes[n].is_joint) continue;
        app_json_object(json, NULL);
        app_json_integer(json, "node", n);
        app_json_text(json, "name", character->nodes[n].name);
        app_json_index(json, "parent", character->nodes[n].parent);
        app_json_object_end(json);
    }
    app_json_array_end(json);
}

static void json_clips(app_json *json, const sup_character *character)
{
    app_json_array(json, "clips");
    for (int32_t i = 0; i < character->clip_count; i++) {
        const sup_clip *clip = &character->clips[i];
        app_json_object(json, NULL);
        app_json_text(json, "name", clip->name);
        app_json_number(json, "start", (double)clip->start);
        app_json_number(json, "seconds", (double)clip->end - (double)clip->start);
        app_json_number(json, "motion_start", sup_clip_motion_start(clip));
        app_json_integer(json, "frames_at_30", sup_clip_frame_count(clip, 30.0));
        app_json_integer(json, "channels", clip->channel_count);
        app_json_object_end(json);
    }
    app_json_array_end(json);
}

static void json_flips(app_json *json, const info_report *report)
{
    const sup_character *character = report->character;
    app_json_array(json, "flips");
    for (int32_t c = 0; c < character->clip_count; c++)
        for (int32_t i = 0; i < report->flips[c].count; i++) {
            const sup_clip_flip *flip = &report->flips[c].items[i];
            app_json_object(json, NULL);
            app_json_integer(json, "clip", c);
            app_json_integer(json, "node", flip->node);
            app_json_text(json, "name", character->nodes[flip->node].name);
            app_json_number(json, "start", (double)flip->start);
            app_json_number(json, "end", (double)flip->end);
            app_json_object_end(json);
        }
    app_json_array_end(json);
}

static void json_rigid_components(app_json *json, const info_report *report)
{
    app_json_array(json, "rigid_components");
    for (int32_t j = 0; report->rigid != NULL && j < report->rig->joint_count; j++) {
        if (report->rigid[j].components == 0) continue;
        app_json_object(json, NULL);
        app_json_integer(json, "node", report->rig->joint_node[j]);
        app_json_text(json, "name", report->character->nodes[report->rig->joint_node[j]].name);
        app_json_integer(json, "count", report->rigid[j].components);
        app_json_integer(json, "skin_vertices", report->rigid[j].vertices);
        app_json_object_end(json);
    }
    app_json_array_end(json);
}

static void json_defects(app_json *json, const sup_defects *defects)
{
    app_json_array(json, "defects");
    for (int32_t i = 0; i < defects->count; i++) {
        const sup_defect *defect = &defects->items[i];
        app_json_object(json, NULL);
        app_json_text(json, "name", sup_defect_name(defect->id));
        app_json_text(json, "severity", sup_severity_name(defect->severity));
        app_json_index(json, "primitive", defect->primitive);
        app_json_integer(json, "count", defect->count);
        app_json_index(json, "first", defect->first);
        app_json_text(json, "message", defect->message);
        app_json_object_end(json);
    }
    app_json_array_end(json);
}

static void json_bounds(app_json *json, const info_report *report)
{
    double size[3];
    if (!report->has_bounds) {
        app_json_null(json, "bounds");
        return;
    }
    for (int axis = 0; axis < 3; axis++)
        size[axis] = report->maximum[axis] - report->minimum[axis];
    app_json_object(json, "bounds");
    app_json_vector(json, "minimum", report->minimum);
    app_json_vector(json, "maximum", report->maximum);
    app_json_vector(json, "size", size);
    app_json_object_end(json);
}

static void print_json(const info_report *report)
{
    const sup_character *character = report->character;
    app_json json = {.file = stdout};
    app_json_object(&json, NULL);
    app_json_text(&json, "file", report->input);
    app_json_text(&json, "name", character->name);
    app_json_integer(&json, "vertices", character->vertex_count);
    app_json_integer(&json, "triangles", character->triangle_count);
    app_json_integer(&json, "nodes", character->node_count);
    app_json_integer(&json, "joints", report->joint_count);
    app_json_integer(&json, "skins", character->skin_count);
    app_json_text(&json, "weights", report->max_influences > 0 ? "file" : "none");
    app_json_integer(&json, "max_influences", report->max_influences);
    app_json_integer(&json, "morph_targets", character->morph_count);
    if (character->unit_metres > 0.0f)
        app_json_number(&json, "unit_metres", (double)character->unit_metres);
    else
        app_json_null(&json, "unit_metres");
    json_bounds(&json, report);
    json_primitives(&json, report);
    json_clips(&json, character);
    json_flips(&json, report);
    json_rigid_components(&json, report);
    json_skeleton(&json, character);
    json_defects(&json, report->defects);
    app_json_object_end(&json);
}

/* --- Text --- */

static void print_primitives(const info_report *report)
{
    const sup_character *character = report->character;
    if (character->primitive_count == 0) return;
    printf("\n  primitives\n  %10s %10s %10s  %-9s %5s %9s  %s\n", "offset", "vertices", "triangles", "role", "skin",
           "material", "name");
    for (int32_t i = 0; i < character->primitive_count; i++) {
        const sup_primitive *primitive = &character->primitives[i];
        char skin[16] = "-", material[16] = "-";
        if (primitive->skin >= 0) snprintf(skin, sizeof skin, "%d", (int)primitive->skin);
        if (primitive->material >= 0) snprintf(material, sizeof material, "%d", (int)primitive->material);
        printf("  %10s %10s %10s  %-9s %5s %9s  %s (node %d%s%s)\n", app_grouped(primitive->vertex_first),
               app_grouped(primitive->vertex_count), app_grouped(primitive->triangle_count),
               text_or(role_name(report, i), "unknown"), skin, material, app_clean(text_or(primitive->name, "no name")),
               (int)primitive->node, character->nodes[primitive->node].name[0] != '\0' ? " " : "",
               app_clean(character->nodes[primitive->node].name));
    }
}

/* "RThumb at 0.53, 1.20 s; LeftHand at 2.1 s": one line, the first times of each joint. */
static void print_flips(const info_report *report, const clip_flips *flips)
{
    enum { TIMES_SHOWN = 8 };
    int32_t of_joint = 0;
    printf("  %10s  %s rotation flip%s:", "", app_grouped(flips->count), flips->count == 1 ? "" : "s");
    for (int32_t i = 0; i < flips->count; i++) {
        bool is_first = i == 0 || flips->items[i - 1].node != flips->items[i].node;
        bool is_last = i + 1 == flips->count || flips->items[i + 1].node != flips->items[i].node;
        of_joint = is_first ? 1 : of_joint + 1;
        if (is_first)
            printf(" %s at", app_clean(text_or(report->character->nodes[flips->items[i].node].name, "(no name)")));
        if (of_joint <= TIMES_SHOWN) printf("%s %.2f", is_first ? "" : ",", (double)flips->items[i].start);
        if (is_last) printf(" s");
        if (is_last && of_joint > TIMES_SHOWN) printf(" and %d more", (int)(of_joint - TIMES_SHOWN));
        if (is_last) printf("%s", i + 1 == flips->count ? "\n" : ";");
    }
}

static void print_clips(const info_report *report)
{
    const sup_character *character = report->character;
    int width = 8;
    if (character->clip_count == 0) return;
    for (int32_t i = 0; i < character->clip_count; i++) {
        int length = (int)strlen(character->clips[i].name);
        if (length > width && length <= 48) width = length;
    }
    printf("\n  clips\n");
    for (int32_t i = 0; i < character->clip_count; i++) {
        const sup_clip *clip = &character->clips[i];
        printf("  %10d  %-*s %8.2f s  %6s frames at 30\n", (int)i, width, app_clean(text_or(clip->name, "(no name)")),
               (double)clip->end - (double)clip->start, app_grouped(sup_clip_frame_count(clip, 30.0)));
        double start = sup_clip_motion_start(clip);
        if (start > (double)clip->start)
            printf("  %10s  starts with another pose; the motion begins at %.4g s and is simulated from there\n", "",
                   start);
        if (report->flips[i].count > 0) print_flips(report, &report->flips[i]);
    }
}

static void print_rigid_components(const info_report *report)
{
    const char *separator = ": ";
    if (report->rigid_sum.components == 0) return;
    printf("  rigid       %s component%s that follow%s one joint, %s of %s skin vertices",
           app_grouped(report->rigid_sum.components), report->rigid_sum.components == 1 ? "" : "s",
           report->rigid_sum.components == 1 ? "s" : "", app_grouped(report->rigid_sum.vertices),
           app_grouped(report->rig->skin_vertex_count));
    for (int32_t j = 0; j < report->rig->joint_count; j++) {
        if (report->rigid[j].components == 0) continue;
        printf("%s%s", separator,
               app_clean(text_or(report->character->nodes[report->rig->joint_node[j]].name, "(no name)")));
        if (report->rigid[j].components > 1) printf(" %d", (int)report->rigid[j].components);
        separator = ", ";
    }
    printf("\n");
}

static void print_joints(const sup_character *character)
{
    printf("\n  joints\n");
    for (int32_t n = 0; n < character->node_count; n++) {
        int32_t node = character->node_order[n];
        int depth = 0;
        if (!character->nodes[node].is_joint) continue;
        for (int32_t up = character->nodes[node].parent; up >= 0; up = character->nodes[up].parent)
            depth += character->nodes[up].is_joint ? 1 : 0;
        printf("  %10d  %*s%s\n", (int)node, 2 * (depth < 40 ? depth : 40), "",
               app_clean(text_or(character->nodes[node].name, "(no name)")));
    }
}

static void print_defects(const sup_defects *defects)
{
    if (defects->count == 0) {
        printf("\n  defects     none found\n");
        return;
    }
    printf("\n  defects\n");
    for (int32_t i = 0; i < defects->count; i++) {
        const sup_defect *defect = &defects->items[i];
        printf("  %10s  %s x %s: %s\n", sup_severity_name(defect->severity), sup_defect_name(defect->id),
               app_grouped(defect->count), app_clean(defect->message));
    }
}

static void print_size(const info_report *report)
{
    float unit = report->character->unit_metres;
    if (report->has_bounds)
        printf("  size        %.3g x %.3g x %.3g", report->maximum[0] - report->minimum[0],
               report->maximum[1] - report->minimum[1], report->maximum[2] - report->minimum[2]);
    else
        printf("  size        unknown");
    if (unit == 1.0f)
        printf(" m\n");
    else if (unit > 0.0f)
        printf(" units of %g m\n", (double)unit);
    else
        printf(" units (the file does not define the unit length)\n");
}

static void print_text(const info_report *report, bool joints)
{
    const sup_character *character = report->character;
    printf("%s\n", app_clean(report->input));
    printf("  vertices    %s in %s primitive%s\n", app_grouped(character->vertex_count),
           app_grouped(character->primitive_count), character->primitive_count == 1 ? "" : "s");
    printf("  triangles   %s\n", app_grouped(character->triangle_count));
    printf("  joints      %s of %s nodes, %s skin%s\n", app_grouped(report->joint_count),
           app_grouped(character->node_count), app_grouped(character->skin_count),
           character->skin_count == 1 ? "" : "s");
    if (report->max_influences > 0)
        printf("  weights     in the file, at most %d per vertex\n", (int)report->max_influences);
    else
        printf("  weights     none; computed by bake\n");
    if (character->morph_count > 0) printf("  morphs      %s targets\n", app_grouped(character->morph_count));
    print_size(report);
    print_rigid_components(report);
    print_primitives(report);
    print_clips(report);
    if (joints) print_joints(character);
    print_defects(report->defects);
}

static int inspect(app_session *session, const info_values *values, const sup_character *character)
{
    sup_defects *defects = NULL;
    sup_rig *rig = NULL;
    sup_error error = {0};
    info_report report = {.input = values->input, .character = character};
    count(&report);
    /* Only the roles of the primitives and the bind pose are needed: skip the heat weights. */
    sup_rig_def def = sup_default_rig_def();
    if (report.max_influences == 0) def.weights = SUP_WEIGHTS_RIGID;
    if (sup_character_inspect(&session->context, character, &defects, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, values->input);
    if (sup_rig_create(&session->context, character, &def, &rig, &error) == SUP_OK) report.rig = rig;
    report.defects = defects;
    int status = measure(&report, &session->context);
    if (status == APP_DONE) status = find_flips(&report);
    if (status == APP_DONE) status = count_rigid_components(&report);
    if (status == APP_DONE && values->json) print_json(&report);
    if (status == APP_DONE && !values->json) print_text(&report, values->joints);
    free_report(&report);
    sup_rig_destroy(rig);
    sup_defects_destroy(defects);
    return status;
}

int app_command_info(int argc, char **argv)
{
    info_values values = {0};
    app_session session;
    sup_character *character = NULL;
    int status = APP_DONE;
    if (!app_parse(&info_verb, argc, argv, &values, &status)) return status;
    status = app_session_open(&session, 0, values.json);
    if (status == APP_DONE) status = app_open_character(&session, values.input, values.skeleton, &character);
    if (status == APP_DONE) status = inspect(&session, &values, character);
    sup_character_destroy(character);
    app_session_close(&session);
    return status;
}

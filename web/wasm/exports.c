/* exports.c - the library for JavaScript: flat functions; pointers are numbers in JavaScript.
 *
 * An actor is one animated character: node transforms, model, state, and the output arrays of a step, which the page
 * reads in place. A function that fails returns 0 (or a negative result); sup_web_error_* describe the error. */
#include <supple/supple.h>

#include <stdlib.h>
#include <string.h>

#pragma clang diagnostic ignored "-Wmissing-prototypes" /* called by name from JavaScript */

#define SUP_WEB(name) __attribute__((export_name(#name))) name

static sup_error failure;

const char *SUP_WEB(sup_web_error_message)(void)
{
    return failure.message;
}

const char *SUP_WEB(sup_web_error_where)(void)
{
    return failure.where;
}

const char *SUP_WEB(sup_web_error_id)(void)
{
    return failure.id;
}

static sup_error *clear_error(void)
{
    failure = (sup_error){.result = SUP_OK};
    return &failure;
}

void *SUP_WEB(sup_web_allocate)(size_t size)
{
    return malloc(size > 0 ? size : 1);
}

void SUP_WEB(sup_web_release)(void *memory)
{
    free(memory);
}

int32_t SUP_WEB(sup_web_version)(void)
{
    return sup_version();
}

/* ---- characters ---- */

/* Paths refer to the in-memory file system (memfs.js). `skeleton`: skeleton file for a mesh, or NULL. */
sup_character *SUP_WEB(sup_web_character_load)(const char *path, const char *skeleton)
{
    sup_character *character = NULL;
    sup_load_def def = sup_default_load_def();
    def.skeleton = skeleton;
    sup_load(NULL, path, &def, &character, clear_error());
    return character;
}

sup_character *SUP_WEB(sup_web_character_scene)(const char *name, double resolution)
{
    sup_character *character = NULL;
    sup_scene_create(NULL, name, resolution, &character, clear_error());
    return character;
}

void SUP_WEB(sup_web_character_destroy)(sup_character *character)
{
    sup_character_destroy(character);
}

/* Loads an animation for `character`, without rotation flips of motion capture. */
sup_clip *SUP_WEB(sup_web_motion_load)(const char *path, const sup_character *character)
{
    sup_clip *clip = NULL;
    sup_load_motion(NULL, path, NULL, character, NULL, &clip, clear_error());
    sup_clip_despike(clip);
    return clip;
}

void SUP_WEB(sup_web_clip_destroy)(sup_clip *clip)
{
    sup_clip_destroy(clip);
}

/* Counts: vertices, triangles, nodes, primitives, clips. */
void SUP_WEB(sup_web_character_counts)(const sup_character *c, int32_t counts[5])
{
    int32_t all[5] = {c->vertex_count, c->triangle_count, c->node_count, c->primitive_count, c->clip_count};
    memcpy(counts, all, sizeof all);
}

/* [vertex_count*3] mesh space. */
const float *SUP_WEB(sup_web_character_positions)(const sup_character *c)
{
    return c->positions;
}

const int32_t *SUP_WEB(sup_web_character_triangles)(const sup_character *c)
{
    return c->triangles;
}

const float *SUP_WEB(sup_web_character_texcoords)(const sup_character *c)
{
    return c->texcoords;
}

const char *SUP_WEB(sup_web_node_name)(const sup_character *c, int32_t node)
{
    return c->nodes[node].name;
}

int32_t SUP_WEB(sup_web_node_parent)(const sup_character *c, int32_t node)
{
    return c->nodes[node].parent;
}

int32_t SUP_WEB(sup_web_node_is_joint)(const sup_character *c, int32_t node)
{
    return c->nodes[node].is_joint;
}

/* Translation (3), rotation (4, w last), scale (3). */
const float *SUP_WEB(sup_web_node_rest)(const sup_character *c, int32_t node)
{
    return &c->nodes[node].rest.translation.x;
}

/* node, mesh, index in the mesh, skin, material, first vertex, vertices, first triangle, triangles */
void SUP_WEB(sup_web_primitive)(const sup_character *c, int32_t primitive, int32_t numbers[9])
{
    const sup_primitive *p = &c->primitives[primitive];
    int32_t all[9] = {p->node,         p->mesh,         p->index_in_mesh,  p->skin,          p->material,
                      p->vertex_first, p->vertex_count, p->triangle_first, p->triangle_count};
    memcpy(numbers, all, sizeof all);
}

const char *SUP_WEB(sup_web_primitive_name)(const sup_character *c, int32_t primitive)
{
    return c->primitives[primitive].name;
}

const sup_clip *SUP_WEB(sup_web_character_clip)(const sup_character *c, int32_t clip)
{
    return &c->clips[clip];
}

const char *SUP_WEB(sup_web_clip_name)(const sup_clip *clip)
{
    return clip->name;
}

double SUP_WEB(sup_web_clip_start)(const sup_clip *clip)
{
    return clip->start;
}

double SUP_WEB(sup_web_clip_end)(const sup_clip *clip)
{
    return clip->end;
}

/* ---- methods and scenes ---- */

int32_t SUP_WEB(sup_web_scene_count)(void)
{
    return sup_scene_count();
}

const char *SUP_WEB(sup_web_scene_name)(int32_t scene)
{
    return sup_scene_at(scene).name;
}

const char *SUP_WEB(sup_web_scene_summary)(int32_t scene)
{
    return sup_scene_at(scene).summary;
}

int32_t SUP_WEB(sup_web_method_count)(void)
{
    return sup_method_count();
}

const char *SUP_WEB(sup_web_method_name)(int32_t method)
{
    return sup_method_at(method)->name;
}

const char *SUP_WEB(sup_web_method_summary)(int32_t method)
{
    return sup_method_at(method)->summary;
}

int32_t SUP_WEB(sup_web_method_param_count)(int32_t method)
{
    return sup_method_at(method)->param_count;
}

/* name, unit, help */
const char *SUP_WEB(sup_web_param_text)(int32_t method, int32_t param, int32_t which)
{
    const sup_param *p = &sup_method_at(method)->params[param];
    return which == 0 ? p->name : which == 1 ? p->unit : p->help;
}

/* type, minimum, maximum, default, live */
void SUP_WEB(sup_web_param_numbers)(int32_t method, int32_t param, double numbers[5])
{
    const sup_param *p = &sup_method_at(method)->params[param];
    double all[5] = {(double)p->type, p->minimum, p->maximum, p->default_value, p->live};
    memcpy(numbers, all, sizeof all);
}

/* NULL after the last choice */
const char *SUP_WEB(sup_web_param_choice)(int32_t method, int32_t param, int32_t choice)
{
    const sup_param *p = &sup_method_at(method)->params[param];
    return p->choices != NULL ? p->choices[choice] : NULL;
}

/* Bit 0: sup_web_actor_inner is available; bit 1: sup_web_actor_field is available. */
int32_t SUP_WEB(sup_web_method_features)(int32_t method)
{
    const sup_method_inspection *m = sup_method_at(method)->inspection;
    return m != NULL ? (m->inner != NULL ? 1 : 0) | (m->field != NULL ? 2 : 0) : 0;
}

int32_t SUP_WEB(sup_web_method_map_count)(int32_t method)
{
    return sup_method_at(method)->map_count;
}

/* name, unit, help */
const char *SUP_WEB(sup_web_map_text)(int32_t method, int32_t map, int32_t which)
{
    const sup_map *m = &sup_method_at(method)->maps[map];
    return which == 0 ? m->name : which == 1 ? m->unit : m->help;
}

/* minimum, maximum, default, live */
void SUP_WEB(sup_web_map_numbers)(int32_t method, int32_t map, double numbers[4])
{
    const sup_map *m = &sup_method_at(method)->maps[map];
    double all[4] = {m->minimum, m->maximum, m->default_value, m->live};
    memcpy(numbers, all, sizeof all);
}

/* ---- actors ---- */

typedef struct sup_web_actor {
    const sup_character *character; /* owned by the caller; must outlive the actor */
    sup_rig *rig;
    sup_model *model;
    sup_instance *instance;
    sup_pose *pose;
    sup_transform *local; /* [node_count] */
    float *positions;     /* [vertex_count*3] */
    float *normals;       /* [vertex_count*3] */
    /* For sup_web_actor_measure, created on first use. */
    sup_rig_surface *surface;
    sup_measurer *measurer;
    float *measured; /* [surface.vertex_count*3] */
} sup_web_actor;

__attribute__((import_module("supple"), import_name("progress"))) int32_t sup_web_progress(float fraction,
                                                                                           const char *stage);

static bool report_progress(void *user, float fraction, const char *stage)
{
    (void)user;
    return sup_web_progress(fraction, stage) != 0;
}

void SUP_WEB(sup_web_actor_destroy)(sup_web_actor *actor)
{
    if (actor == NULL) return;
    sup_measurer_destroy(actor->measurer);
    sup_rig_surface_destroy(actor->surface);
    free(actor->measured);
    sup_instance_destroy(actor->instance);
    sup_model_destroy(actor->model);
    sup_rig_destroy(actor->rig);
    sup_pose_destroy(actor->pose);
    free(actor->local);
    free(actor->positions);
    free(actor->normals);
    free(actor);
}

/* Converts `maps` [map_count*vertex_count], or NULL, to a list of paints; returns its length. */
static int32_t list_paints(const sup_character *character, const sup_method *method, const float *maps,
                           sup_paint paints[SUP_METHOD_MAPS])
{
    if (method == NULL || maps == NULL) return 0;
    for (int32_t m = 0; m < method->map_count; m++)
        paints[m] = (sup_paint){method->maps[m].name, maps + (size_t)m * (size_t)character->vertex_count};
    return method->map_count;
}

static sup_result actor_bind(sup_web_actor *actor, const sup_method *method, const double *values, const float *maps)
{
    sup_paint paints[SUP_METHOD_MAPS];
    sup_bind_def def = {.values = values,
                        .paints = paints,
                        .paint_count = list_paints(actor->character, method, maps, paints),
                        .progress = report_progress};
    sup_result result = sup_rig_create(NULL, actor->character, NULL, &actor->rig, &failure);
    return result == SUP_OK ? sup_bind(NULL, method, actor->rig, &def, &actor->model, &failure) : result;
}

static sup_result actor_open(sup_web_actor *actor)
{
    size_t skin_bytes = (size_t)actor->character->vertex_count * 3 * sizeof(float);
    sup_result result = sup_pose_create(NULL, actor->character, &actor->pose, &failure);
    if (result == SUP_OK) result = sup_instance_create(NULL, actor->model, actor->pose, &actor->instance, &failure);
    if (result != SUP_OK) return result;
    actor->local = malloc(((size_t)actor->character->node_count + 1) * sizeof *actor->local);
    actor->positions = malloc(skin_bytes + 1);
    actor->normals = malloc(skin_bytes + 1);
    if (actor->local == NULL || actor->positions == NULL || actor->normals == NULL) return SUP_ERROR_MEMORY;
    for (int32_t n = 0; n < actor->character->node_count; n++)
        actor->local[n] = actor->character->nodes[n].rest;
    return SUP_OK;
}

/* `values` [param_count of the method] or NULL for the defaults; `maps` [map_count*vertex_count] or NULL. */
sup_web_actor *SUP_WEB(sup_web_actor_create)(const sup_character *character, const char *method_name,
                                             const double *values, const float *maps)
{
    const sup_method *method = sup_method_find(method_name);
    sup_web_actor *actor = calloc(1, sizeof *actor);
    clear_error();
    if (actor == NULL) {
        failure.result = SUP_ERROR_MEMORY;
        return NULL;
    }
    actor->character = character;
    sup_result result = actor_bind(actor, method, values, maps);
    if (result == SUP_OK) result = actor_open(actor);
    if (result == SUP_OK) return actor;
    if (failure.message[0] == '\0') strcpy(failure.message, sup_result_name(result));
    sup_web_actor_destroy(actor);
    return NULL;
}

/* Local transforms of all nodes, 10 floats each; write them before sup_web_actor_pose_local. */
float *SUP_WEB(sup_web_actor_local)(sup_web_actor *actor)
{
    return &actor->local->translation.x;
}

int32_t SUP_WEB(sup_web_actor_pose_local)(sup_web_actor *actor)
{
    return sup_pose_from_local(actor->character, actor->local, actor->pose);
}

/* World transforms of all nodes, 3 rows of 4 each: to read, or to write before a step. */
float *SUP_WEB(sup_web_actor_world)(sup_web_actor *actor)
{
    return actor->pose->world->m;
}

int32_t SUP_WEB(sup_web_actor_pose_clip)(sup_web_actor *actor, const sup_clip *clip, double time)
{
    return sup_pose_sample(actor->character, clip, time, actor->pose);
}

int32_t SUP_WEB(sup_web_actor_pose_rest)(sup_web_actor *actor)
{
    return sup_pose_rest(actor->character, actor->pose);
}

int32_t SUP_WEB(sup_web_actor_step)(sup_web_actor *actor, float dt)
{
    sup_skin_out out = {.positions = actor->positions, .normals = actor->normals};
    return sup_instance_step(actor->instance, actor->pose, dt, &out);
}

int32_t SUP_WEB(sup_web_actor_reset)(sup_web_actor *actor)
{
    return sup_instance_reset(actor->instance, actor->pose);
}

int32_t SUP_WEB(sup_web_actor_set)(sup_web_actor *actor, const char *name, double value)
{
    return sup_instance_set(actor->instance, name, value, clear_error());
}

/* Paints a live map, `values` [vertex_count]; fails for maps that need a new bind. */
int32_t SUP_WEB(sup_web_actor_paint)(sup_web_actor *actor, const char *map, const float *values)
{
    return sup_instance_paint(actor->instance, map, values, clear_error());
}

/* Counts of points, tetrahedra and bones of the simulation; 0 for methods without. */
void SUP_WEB(sup_web_actor_inner_counts)(const sup_web_actor *actor, int32_t counts[3])
{
    sup_inner inner = {0};
    sup_instance_inner(actor->instance, &inner);
    int32_t all[3] = {inner.point_count, inner.tet_count, inner.bone_count};
    memcpy(counts, all, sizeof all);
}

/* Any of points [points*3], tets [tets*4] and bones [bones*7] may be NULL. */
void SUP_WEB(sup_web_actor_inner)(const sup_web_actor *actor, float *points, int32_t *tets, float *bones)
{
    sup_inner inner = {.points = points, .tets = tets, .bones = bones};
    sup_instance_inner(actor->instance, &inner);
}

/* The field of the method at points [count*3]. */
int32_t SUP_WEB(sup_web_actor_field)(const sup_web_actor *actor, const float *points, int32_t count, float *values)
{
    return sup_instance_field(actor->instance, points, count, values);
}

/* Skinning weights of a node, into weights[vertex_count]. */
void SUP_WEB(sup_web_actor_weights)(const sup_web_actor *actor, int32_t node, float *weights)
{
    const sup_rig *rig = actor->rig;
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        weights[v] = 0.0f;
        for (int32_t i = rig->influence_first[v]; i < rig->influence_first[v + 1]; i++)
            if (rig->joint_node[rig->influence_joint[i]] == node) weights[v] += rig->influence_weight[i];
    }
}

/* Writes the character with its skinning weights as a .glb. */
int32_t SUP_WEB(sup_web_rig_save)(const sup_character *character, const char *path)
{
    sup_rig *rig = NULL;
    sup_result result = sup_rig_create(NULL, character, NULL, &rig, clear_error());
    if (result == SUP_OK) result = sup_rig_save(NULL, rig, path, &failure);
    sup_rig_destroy(rig);
    return result;
}

/* [vertex_count*3] the skin in the bind pose. */
const float *SUP_WEB(sup_web_actor_rest)(const sup_web_actor *actor)
{
    return actor->rig->positions;
}

/* The node with the largest weight of each vertex, into nodes[vertex_count]. */
void SUP_WEB(sup_web_actor_main_nodes)(const sup_web_actor *actor, int32_t *nodes)
{
    const sup_rig *rig = actor->rig;
    for (int32_t v = 0; v < rig->vertex_count; v++)
        nodes[v] = rig->joint_node[rig->influence_joint[rig->influence_first[v]]];
}

static sup_result open_measurer(sup_web_actor *actor)
{
    sup_result result = sup_rig_surface_create(NULL, actor->rig, &actor->surface, clear_error());
    if (result != SUP_OK) return result;
    const sup_measure_surface *surface = &actor->surface->surface;
    actor->measured = malloc((size_t)surface->vertex_count * 3 * sizeof(float) + 1);
    if (actor->measured == NULL) return SUP_ERROR_MEMORY;
    return sup_measurer_create(NULL, surface, &actor->measurer, &failure);
}

/* Metrics of the last step: volume ratio, crossing pairs, penetration, maximum and mean stretch, flips. */
int32_t SUP_WEB(sup_web_actor_measure)(sup_web_actor *actor, double numbers[6])
{
    sup_frame_measure m;
    sup_result result = actor->measurer != NULL ? SUP_OK : open_measurer(actor);
    if (result != SUP_OK) return result;
    sup_rig_surface_gather(actor->rig, actor->positions, actor->measured);
    result = sup_measurer_frame(actor->measurer, actor->measured, &m, NULL);
    double all[6] = {m.volume_ratio, m.intersections, m.penetration, m.stretch_max, m.stretch_mean, m.flips};
    if (result == SUP_OK) memcpy(numbers, all, sizeof all);
    return result;
}

/* Penetration depth / character size of each render vertex at the last measured step, into depths[vertex_count]. */
void SUP_WEB(sup_web_actor_depths)(const sup_web_actor *actor, float *depths)
{
    const float *found = actor->measurer != NULL ? sup_measurer_depths(actor->measurer) : NULL;
    for (int32_t v = 0; v < actor->rig->vertex_count; v++)
        depths[v] = found != NULL && actor->rig->vertex_to_skin[v] >= 0 ? found[actor->rig->vertex_to_skin[v]] : 0.0f;
}

/* Bakes a clip (NULL: the first) to a file; the extension .glb or .pc2 selects the format. */
int32_t SUP_WEB(sup_web_bake)(const sup_character *character, const char *method_name, const double *values,
                              const float *maps, const sup_clip *clip, double fps, const char *path)
{
    sup_paint paints[SUP_METHOD_MAPS];
    sup_bake_def def = sup_default_bake_def();
    def.method = sup_method_find(method_name);
    def.values = values;
    def.paints = paints;
    def.paint_count = list_paints(character, def.method, maps, paints);
    def.clip = clip;
    def.fps = fps;
    def.progress = report_progress;
    return sup_bake(NULL, character, &def, path, NULL, clear_error());
}

const float *SUP_WEB(sup_web_actor_positions)(const sup_web_actor *actor)
{
    return actor->positions;
}

const float *SUP_WEB(sup_web_actor_normals)(const sup_web_actor *actor)
{
    return actor->normals;
}

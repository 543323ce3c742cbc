/* scene_builder.c - builds a character from a spec: mesh, skeleton, weights, clips. */
#include "scenes/scene_spec.h"
#include "character/character.h"
#include "geometry/remesh.h"

static const double MAX_REMESH_RESOLUTION = 1.5; /* maximum resolution of remeshing; finer meshes are subdivided */

typedef struct scene_builder {
    const sup_context *context;
    const sup_scene_spec *spec;
    sup_skeleton skeleton;
    sup_sculpture *sculpture;                 /* of the skin */
    sup_surface surfaces[1 + SUP_EXTRAS_MAX]; /* the skin, then the extras */
    int32_t mirror_joint[SUP_JOINTS_MAX * 2]; /* joint on the other side, or the joint itself */
    sup_character *character;
    float *positions, *normals;
    int32_t *triangles, *influence_first, *influence_bone;
    float *influence_weight;
    int32_t *joint_of; /* [skin vertices*SUP_INFLUENCES_MAX] before packing */
    float *weight_of;
} scene_builder;

/* --- Mesh --- */
sup_result sup_scene_mesh(const sup_context *context, const sup_scene_spec *spec, const sup_sculpture *sculpture,
                          double vertices, double resolution, sup_surface *surface, sup_error *error)
{
    int32_t subdivisions = 0;
    for (; resolution > MAX_REMESH_RESOLUTION; resolution *= 0.25)
        subdivisions++;
    vertices *= resolution;
    sup_isosurface_def iso = {.context = context,
                              .field = {sup_sculpture_value, sculpture},
                              .lower = spec->lower,
                              .upper = spec->upper,
                              .cell = spec->cell,
                              .slack = 1.4,
                              .half = spec->mirrored};
    sup_result result = sup_isosurface(&iso, surface, error);
    if (result != SUP_OK) return result;
    sup_remesh_def remesh = {.context = context,
                             .field = iso.field,
                             .rounds = 5,
                             .subdivisions = subdivisions,
                             .gradation = 0.25,
                             .vertex_target = spec->mirrored ? 0.5 * vertices : vertices};
    sup_field sizes = {sup_sculpture_edge, sculpture};
    result = sup_remesh(&remesh, &sizes, surface, error);
    if (result == SUP_OK && spec->mirrored) result = sup_surface_mirror(surface, error);
    if (result != SUP_OK) sup_surface_free(surface);
    return result;
}

sup_sculpture_def sup_scene_sculpture(const sup_context *context, const sup_scene_spec *spec)
{
    sup_sculpture_def def = {.context = context,
                             .shapes = spec->shapes,
                             .shape_count = spec->shape_count,
                             .regions = spec->regions,
                             .region_count = spec->region_count,
                             .mirrored = spec->mirrored,
                             .lower = spec->lower,
                             .upper = spec->upper};
    return def;
}

static sup_result mesh_skin(scene_builder *b, double resolution, sup_error *error)
{
    sup_sculpture_def def = sup_scene_sculpture(b->context, b->spec);
    b->sculpture = sup_sculpture_create(&def);
    if (b->sculpture == NULL) return sup_fail_memory(error, "a character");
    return sup_scene_mesh(b->context, b->spec, b->sculpture, b->spec->vertex_target, resolution, &b->surfaces[0],
                          error);
}

/* An extra is meshed like a separate body, from its own shapes. */
static sup_result mesh_extra(scene_builder *b, int32_t index, double resolution, sup_error *error)
{
    const sup_extra_spec *extra = &b->spec->extras[index];
    sup_scene_spec *local_spec = sup_alloc_zero(&b->context->allocator, sizeof *local_spec);
    if (local_spec == NULL) return sup_fail_memory(error, "a character");
    local_spec->lower = extra->lower;
    local_spec->upper = extra->upper;
    local_spec->cell = extra->cell;
    local_spec->region_count = 1;
    local_spec->regions[0] = (sup_region){extra->name, -1, 0.0, false, 1.0};
    sup_scene_spec_add_shapes(local_spec, b->spec->extra_shapes + extra->shape_first, extra->shape_count);
    sup_sculpture_def def = sup_scene_sculpture(b->context, local_spec);
    sup_sculpture *sculpture = sup_sculpture_create(&def);
    double min_resolution = 60.0 / extra->vertex_target; /* at least 60 vertices: keeps a sphere recognisable */
    sup_result result = sculpture == NULL ? sup_fail_memory(error, "a character")
                                          : sup_scene_mesh(b->context, local_spec, sculpture, extra->vertex_target,
                                                           resolution < min_resolution ? min_resolution : resolution,
                                                           &b->surfaces[1 + index], error);
    sup_sculpture_destroy(sculpture);
    sup_free(&b->context->allocator, local_spec, sizeof *local_spec);
    return result;
}

/* --- Vertices --- */
/* Angle-weighted face normals. */
static void mesh_normals(const sup_surface *surface, float *normals)
{
    memset(normals, 0, (size_t)surface->vertex_count * 3 * sizeof *normals);
    for (int32_t t = 0; t < surface->triangle_count; t++) {
        const int32_t *c = surface->triangles + (size_t)t * 3;
        for (int i = 0; i < 3; i++) {
            sup_vec3d p = surface->positions[c[i]];
            sup_vec3d a = sup_v3_sub(surface->positions[c[(i + 1) % 3]], p);
            sup_vec3d b = sup_v3_sub(surface->positions[c[(i + 2) % 3]], p), n = sup_v3_cross(a, b);
            double area = sup_v3_length(n), angle = atan2(area, sup_v3_dot(a, b));
            float *to = normals + (size_t)c[i] * 3;
            sup_v3_store(to, sup_v3_madd(sup_v3_load(to), area > 0.0 ? angle / area : 0.0, n));
        }
    }
    for (int32_t v = 0; v < surface->vertex_count; v++) {
        float *n = normals + (size_t)v * 3;
        sup_v3_store(n, sup_v3_unit_or(sup_v3_load(n), sup_v3(0.0, 1.0, 0.0)));
    }
}

static void compute_weights(void *work, int32_t begin, int32_t end, int32_t worker)
{
    scene_builder *b = work;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        int32_t *joints = b->joint_of + (size_t)v * SUP_INFLUENCES_MAX;
        float *weights = b->weight_of + (size_t)v * SUP_INFLUENCES_MAX;
        sup_vec3d p = b->surfaces[0].positions[v];
        bool right = b->spec->mirrored && p.x < 0.0;
        if (right) p.x = -p.x;
        int32_t count = sup_scene_weights(b->spec, &b->skeleton, b->sculpture, p, joints, weights);
        for (int32_t i = 0; i < SUP_INFLUENCES_MAX; i++) {
            if (i >= count)
                joints[i] = -1;
            else if (right)
                joints[i] = b->mirror_joint[joints[i]];
        }
    }
}

/* Packs the influences of the skin; a skinned extra follows one joint. */
static void pack_influences(scene_builder *b)
{
    int32_t next = 0, vertex = 0;
    for (int32_t v = 0; v < b->surfaces[0].vertex_count; v++) {
        b->influence_first[vertex++] = next;
        for (int32_t i = 0; i < SUP_INFLUENCES_MAX && b->joint_of[v * SUP_INFLUENCES_MAX + i] >= 0; i++, next++) {
            b->influence_bone[next] = b->joint_of[v * SUP_INFLUENCES_MAX + i];
            b->influence_weight[next] = b->weight_of[v * SUP_INFLUENCES_MAX + i];
        }
    }
    for (int32_t e = 0; e < b->spec->extra_count; e++) {
        const sup_extra_spec *extra = &b->spec->extras[e];
        int32_t joint = sup_skeleton_find(&b->skeleton, extra->joint);
        for (int32_t v = 0; v < b->surfaces[1 + e].vertex_count; v++) {
            b->influence_first[vertex++] = next;
            if (extra->rigid) continue;
            b->influence_bone[next] = joint;
            b->influence_weight[next++] = 1.0f;
        }
    }
    b->influence_first[vertex] = next;
}

static sup_vec3d primitive_origin(const scene_builder *b, int32_t primitive)
{
    if (primitive == 0 || !b->spec->extras[primitive - 1].rigid) return sup_v3(0.0, 0.0, 0.0);
    return b->skeleton.joints[sup_skeleton_find(&b->skeleton, b->spec->extras[primitive - 1].joint)].at;
}

static bool fill_vertices(scene_builder *b, sup_arena *arena)
{
    sup_character *c = b->character;
    int32_t primitives = 1 + b->spec->extra_count;
    for (int32_t i = 0; i < primitives; i++) {
        c->vertex_count += b->surfaces[i].vertex_count;
        c->triangle_count += b->surfaces[i].triangle_count;
    }
    size_t vertices = (size_t)c->vertex_count, skin = (size_t)b->surfaces[0].vertex_count;
    c->positions = b->positions = sup_arena_alloc(arena, vertices * 3, sizeof(float));
    c->normals = b->normals = sup_arena_alloc(arena, vertices * 3, sizeof(float));
    c->triangles = b->triangles = sup_arena_alloc(arena, (size_t)c->triangle_count * 3, sizeof(int32_t));
    c->influence_first = b->influence_first = sup_arena_alloc(arena, vertices + 1, sizeof(int32_t));
    c->influence_bone = b->influence_bone = sup_arena_alloc(arena, vertices * SUP_INFLUENCES_MAX, sizeof(int32_t));
    c->influence_weight = b->influence_weight = sup_arena_alloc(arena, vertices * SUP_INFLUENCES_MAX, sizeof(float));
    sup_arena scratch = sup_arena_create(&b->context->allocator);
    b->joint_of = sup_arena_alloc(&scratch, skin * SUP_INFLUENCES_MAX, sizeof(int32_t));
    b->weight_of = sup_arena_alloc(&scratch, skin * SUP_INFLUENCES_MAX, sizeof(float));
    bool done = b->positions && b->normals && b->triangles && b->influence_first && b->influence_bone &&
                b->influence_weight && b->joint_of && b->weight_of;
    if (done) {
        sup_parallel(b->context, (int32_t)skin, 256, compute_weights, b);
        pack_influences(b);
    }
    sup_arena_destroy(&scratch);
    return done;
}

static void fill_primitives(scene_builder *b, sup_primitive *primitives)
{
    int32_t vertex = 0, triangle = 0;
    for (int32_t i = 0; i < 1 + b->spec->extra_count; i++) {
        const sup_surface *s = &b->surfaces[i];
        sup_vec3d origin = primitive_origin(b, i);
        bool rigid = i > 0 && b->spec->extras[i - 1].rigid;
        primitives[i] = (sup_primitive){i == 0 ? b->spec->name : b->spec->extras[i - 1].name,
                                        b->skeleton.count + i,
                                        i,
                                        0,
                                        rigid ? -1 : 0,
                                        -1,
                                        vertex,
                                        s->vertex_count,
                                        triangle,
                                        s->triangle_count};
        for (int32_t v = 0; v < s->vertex_count; v++)
            sup_v3_store(b->positions + (size_t)(vertex + v) * 3, sup_v3_sub(s->positions[v], origin));
        for (int32_t t = 0; t < s->triangle_count * 3; t++)
            b->triangles[(size_t)triangle * 3 + (size_t)t] = s->triangles[t] + vertex;
        mesh_normals(s, b->normals + (size_t)vertex * 3);
        vertex += s->vertex_count;
        triangle += s->triangle_count;
    }
}

/* --- Skeleton --- */
static void find_mirror_joints(scene_builder *b)
{
    const sup_skeleton *s = &b->skeleton;
    for (int32_t j = 0; j < s->count; j++)
        b->mirror_joint[j] = s->joints[j].spec->name[0] != '*' ? j : s->joints[j].right ? j - 1 : j + 1;
}

static sup_transform translation_transform(sup_vec3d position)
{
    sup_transform transform = sup_transform_identity();
    transform.translation = sup_v3_to_float(position);
    return transform;
}

static bool fill_nodes(scene_builder *b, sup_arena *arena)
{
    sup_character *c = b->character;
    const sup_skeleton *s = &b->skeleton;
    int32_t primitives = 1 + b->spec->extra_count;
    sup_node *nodes = sup_arena_alloc(arena, (size_t)s->count + (size_t)primitives, sizeof *nodes);
    sup_bone *bones = sup_arena_alloc(arena, (size_t)s->count, sizeof *bones);
    sup_skin *skins = sup_arena_alloc(arena, 1, sizeof *skins);
    if (!nodes || !bones || !skins) return false;
    for (int32_t j = 0; j < s->count; j++) {
        const sup_joint *joint = &s->joints[j];
        sup_vec3d above = joint->parent < 0 ? sup_v3(0.0, 0.0, 0.0) : s->joints[joint->parent].at;
        nodes[j] = (sup_node){sup_arena_string(arena, joint->name), joint->parent,
                              translation_transform(sup_v3_sub(joint->at, above)), true};
        bones[j].node = j;
        bones[j].inverse_bind = sup_mat34_from_transform(translation_transform(sup_v3_scale(joint->at, -1.0)));
        if (nodes[j].name == NULL) return false;
    }
    for (int32_t i = 0; i < primitives; i++) {
        const sup_extra_spec *extra = i > 0 ? &b->spec->extras[i - 1] : NULL;
        int32_t parent = extra && extra->rigid ? sup_skeleton_find(s, extra->joint) : -1;
        nodes[s->count + i] = (sup_node){extra ? extra->name : b->spec->name, parent, sup_transform_identity(), false};
    }
    skins[0] = (sup_skin){b->spec->name, 0, s->count};
    c->nodes = nodes;
    c->node_count = s->count + primitives;
    c->bones = bones;
    c->bone_count = s->count;
    c->skins = skins;
    c->skin_count = 1;
    return true;
}

static bool fill_clips(scene_builder *b, sup_arena *arena)
{
    sup_clip *clips = sup_arena_alloc(arena, (size_t)b->spec->motion_count, sizeof *clips);
    if (clips == NULL) return false;
    for (int32_t i = 0; i < b->spec->motion_count; i++)
        if (!sup_scene_clip(b->spec, &b->skeleton, &b->spec->motions[i], arena, &clips[i])) return false;
    b->character->clips = clips;
    b->character->clip_count = b->spec->motion_count;
    return true;
}

static sup_result build(scene_builder *b, double resolution, sup_error *error)
{
    sup_skeleton_build(b->spec, &b->skeleton);
    find_mirror_joints(b);
    sup_result result = mesh_skin(b, resolution, error);
    for (int32_t e = 0; e < b->spec->extra_count && result == SUP_OK; e++)
        result = mesh_extra(b, e, resolution, error);
    if (result != SUP_OK) return result;
    b->character = sup_character_begin(b->context);
    if (b->character == NULL) return sup_fail_memory(error, "a character");
    sup_arena *arena = sup_character_arena(b->character);
    b->character->name = b->spec->name;
    b->character->unit_metres = 1.0f;
    sup_primitive *primitives = sup_arena_alloc(arena, 1 + (size_t)b->spec->extra_count, sizeof *primitives);
    if (primitives == NULL || !fill_vertices(b, arena) || !fill_nodes(b, arena) || !fill_clips(b, arena))
        return sup_fail_memory(error, "a character");
    fill_primitives(b, primitives);
    if (b->spec->organ_count > 0 &&
        !sup_scene_layers(b->context, b->spec, &b->skeleton, &b->surfaces[0], b->character, arena))
        return sup_fail_memory(error, "a character");
    b->character->primitives = primitives;
    b->character->primitive_count = 1 + b->spec->extra_count;
    return sup_character_finish(b->character, b->spec->name, error);
}

sup_result sup_scene_build(const sup_context *context, const sup_scene_spec *spec, double resolution,
                           sup_character **character, sup_error *error)
{
    scene_builder *b = sup_alloc_zero(&context->allocator, sizeof *b);
    if (b == NULL) return sup_fail_memory(error, "a character");
    b->context = context;
    b->spec = spec;
    sup_result result = build(b, resolution, error);
    for (int32_t i = 0; i < 1 + SUP_EXTRAS_MAX; i++)
        sup_surface_free(&b->surfaces[i]);
    sup_sculpture_destroy(b->sculpture);
    if (result == SUP_OK)
        *character = b->character;
    else
        sup_character_destroy(b->character);
    sup_free(&context->allocator, b, sizeof *b);
    return result;
}

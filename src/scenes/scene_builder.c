/* scene_builder.c - from a recipe to a character: mesh, skeleton, weights, clips. */
#include "scenes/scene_spec.h"
#include "character/character.h"
#include "geometry/remesh.h"

static const double FINEST_REMESH = 1.5; /* above this resolution, even meshes are subdivided instead */

typedef struct kitchen {
    const sup_context *context;
    const sup_recipe *recipe;
    sup_skeleton skeleton;
    sup_sculpture *sculpture;                 /* of the skin */
    sup_surface surfaces[1 + SUP_EXTRAS_MAX]; /* the skin, then the extras */
    int32_t twin[SUP_JOINTS_MAX * 2];         /* joint on the other side, or itself */
    sup_character *character;
    float *positions, *normals;
    int32_t *triangles, *influence_first, *influence_bone;
    float *influence_weight;
    int32_t *joint_of; /* [skin vertices*SUP_INFLUENCES_MAX] before packing */
    float *weight_of;
} kitchen;

/* --- Mesh --- */
sup_result sup_recipe_mesh(const sup_context *context, const sup_recipe *recipe, const sup_sculpture *sculpture,
                           double vertices, double resolution, sup_surface *surface, sup_error *error)
{
    int32_t subdivisions = 0;
    for (; resolution > FINEST_REMESH; resolution *= 0.25)
        subdivisions++;
    vertices *= resolution;
    sup_isosurface_def iso = {.context = context,
                              .field = {sup_sculpture_value, sculpture},
                              .lower = recipe->lower,
                              .upper = recipe->upper,
                              .cell = recipe->cell,
                              .slack = 1.4,
                              .half = recipe->mirrored};
    sup_result result = sup_isosurface(&iso, surface, error);
    if (result != SUP_OK) return result;
    sup_remesh_def remesh = {.context = context,
                             .field = iso.field,
                             .rounds = 5,
                             .subdivisions = subdivisions,
                             .gradation = 0.25,
                             .vertex_target = recipe->mirrored ? 0.5 * vertices : vertices};
    sup_field sizes = {sup_sculpture_edge, sculpture};
    result = sup_remesh(&remesh, &sizes, surface, error);
    if (result == SUP_OK && recipe->mirrored) result = sup_surface_mirror(surface, error);
    if (result != SUP_OK) sup_surface_free(surface);
    return result;
}

sup_sculpture_def sup_recipe_sculpture(const sup_context *context, const sup_recipe *recipe)
{
    sup_sculpture_def def = {.context = context,
                             .shapes = recipe->shapes,
                             .shape_count = recipe->shape_count,
                             .regions = recipe->regions,
                             .region_count = recipe->region_count,
                             .mirrored = recipe->mirrored,
                             .lower = recipe->lower,
                             .upper = recipe->upper};
    return def;
}

static sup_result mesh_skin(kitchen *k, double resolution, sup_error *error)
{
    sup_sculpture_def def = sup_recipe_sculpture(k->context, k->recipe);
    k->sculpture = sup_sculpture_create(&def);
    if (k->sculpture == NULL) return sup_fail_memory(error, "a character");
    return sup_recipe_mesh(k->context, k->recipe, k->sculpture, k->recipe->vertex_target, resolution, &k->surfaces[0],
                           error);
}

/* An extra is meshed like a body of its own, from its own few shapes. */
static sup_result mesh_extra(kitchen *k, int32_t index, double resolution, sup_error *error)
{
    const sup_extra_row *extra = &k->recipe->extras[index];
    sup_recipe *own = sup_alloc_zero(&k->context->allocator, sizeof *own);
    if (own == NULL) return sup_fail_memory(error, "a character");
    own->lower = extra->lower;
    own->upper = extra->upper;
    own->cell = extra->cell;
    own->region_count = 1;
    own->regions[0] = (sup_region){extra->name, -1, 0.0, false, 1.0};
    sup_recipe_add_shapes(own, k->recipe->extra_shapes + extra->shape_first, extra->shape_count);
    sup_sculpture_def def = sup_recipe_sculpture(k->context, own);
    sup_sculpture *sculpture = sup_sculpture_create(&def);
    double least = 60.0 / extra->vertex_target; /* below that a sphere is none */
    sup_result result = sculpture == NULL
                            ? sup_fail_memory(error, "a character")
                            : sup_recipe_mesh(k->context, own, sculpture, extra->vertex_target,
                                              resolution < least ? least : resolution, &k->surfaces[1 + index], error);
    sup_sculpture_destroy(sculpture);
    sup_free(&k->context->allocator, own, sizeof *own);
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

static void weigh_vertices(void *work, int32_t begin, int32_t end, int32_t worker)
{
    kitchen *k = work;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        int32_t *joints = k->joint_of + (size_t)v * SUP_INFLUENCES_MAX;
        float *weights = k->weight_of + (size_t)v * SUP_INFLUENCES_MAX;
        sup_vec3d p = k->surfaces[0].positions[v];
        bool right = k->recipe->mirrored && p.x < 0.0;
        if (right) p.x = -p.x;
        int32_t count = sup_scene_weights(k->recipe, &k->skeleton, k->sculpture, p, joints, weights);
        for (int32_t i = 0; i < SUP_INFLUENCES_MAX; i++) {
            if (i >= count)
                joints[i] = -1;
            else if (right)
                joints[i] = k->twin[joints[i]];
        }
    }
}

/* Packs the influences of the skin; a skinned extra follows one joint, or the one on its side of a pair. */
static void pack_influences(kitchen *k)
{
    int32_t next = 0, vertex = 0;
    for (int32_t v = 0; v < k->surfaces[0].vertex_count; v++) {
        k->influence_first[vertex++] = next;
        for (int32_t i = 0; i < SUP_INFLUENCES_MAX && k->joint_of[v * SUP_INFLUENCES_MAX + i] >= 0; i++, next++) {
            k->influence_bone[next] = k->joint_of[v * SUP_INFLUENCES_MAX + i];
            k->influence_weight[next] = k->weight_of[v * SUP_INFLUENCES_MAX + i];
        }
    }
    for (int32_t e = 0; e < k->recipe->extra_count; e++) {
        const sup_extra_row *extra = &k->recipe->extras[e];
        int32_t joint = sup_skeleton_find(&k->skeleton, extra->joint);
        for (int32_t v = 0; v < k->surfaces[1 + e].vertex_count; v++) {
            k->influence_first[vertex++] = next;
            if (extra->rigid) continue;
            k->influence_bone[next] = joint;
            k->influence_weight[next++] = 1.0f;
        }
    }
    k->influence_first[vertex] = next;
}

static sup_vec3d primitive_origin(const kitchen *k, int32_t primitive)
{
    if (primitive == 0 || !k->recipe->extras[primitive - 1].rigid) return sup_v3(0.0, 0.0, 0.0);
    return k->skeleton.joints[sup_skeleton_find(&k->skeleton, k->recipe->extras[primitive - 1].joint)].at;
}

static bool fill_vertices(kitchen *k, sup_arena *arena)
{
    sup_character *c = k->character;
    int32_t primitives = 1 + k->recipe->extra_count;
    for (int32_t i = 0; i < primitives; i++) {
        c->vertex_count += k->surfaces[i].vertex_count;
        c->triangle_count += k->surfaces[i].triangle_count;
    }
    size_t vertices = (size_t)c->vertex_count, skin = (size_t)k->surfaces[0].vertex_count;
    c->positions = k->positions = sup_arena_alloc(arena, vertices * 3, sizeof(float));
    c->normals = k->normals = sup_arena_alloc(arena, vertices * 3, sizeof(float));
    c->triangles = k->triangles = sup_arena_alloc(arena, (size_t)c->triangle_count * 3, sizeof(int32_t));
    c->influence_first = k->influence_first = sup_arena_alloc(arena, vertices + 1, sizeof(int32_t));
    c->influence_bone = k->influence_bone = sup_arena_alloc(arena, vertices * SUP_INFLUENCES_MAX, sizeof(int32_t));
    c->influence_weight = k->influence_weight = sup_arena_alloc(arena, vertices * SUP_INFLUENCES_MAX, sizeof(float));
    sup_arena scratch = sup_arena_create(&k->context->allocator);
    k->joint_of = sup_arena_alloc(&scratch, skin * SUP_INFLUENCES_MAX, sizeof(int32_t));
    k->weight_of = sup_arena_alloc(&scratch, skin * SUP_INFLUENCES_MAX, sizeof(float));
    bool done = k->positions && k->normals && k->triangles && k->influence_first && k->influence_bone &&
                k->influence_weight && k->joint_of && k->weight_of;
    if (done) {
        sup_parallel(k->context, (int32_t)skin, 256, weigh_vertices, k);
        pack_influences(k);
    }
    sup_arena_destroy(&scratch);
    return done;
}

static void fill_primitives(kitchen *k, sup_primitive *primitives)
{
    int32_t vertex = 0, triangle = 0;
    for (int32_t i = 0; i < 1 + k->recipe->extra_count; i++) {
        const sup_surface *s = &k->surfaces[i];
        sup_vec3d origin = primitive_origin(k, i);
        bool rigid = i > 0 && k->recipe->extras[i - 1].rigid;
        primitives[i] = (sup_primitive){i == 0 ? k->recipe->name : k->recipe->extras[i - 1].name,
                              k->skeleton.count + i,
                              i,
                              0,
                              rigid ? -1 : 0,
                              -1,
                              vertex,
                              s->vertex_count,
                              triangle,
                              s->triangle_count};
        for (int32_t v = 0; v < s->vertex_count; v++)
            sup_v3_store(k->positions + (size_t)(vertex + v) * 3, sup_v3_sub(s->positions[v], origin));
        for (int32_t t = 0; t < s->triangle_count * 3; t++)
            k->triangles[(size_t)triangle * 3 + (size_t)t] = s->triangles[t] + vertex;
        mesh_normals(s, k->normals + (size_t)vertex * 3);
        vertex += s->vertex_count;
        triangle += s->triangle_count;
    }
}

/* --- Skeleton --- */
static void find_twins(kitchen *k)
{
    const sup_skeleton *s = &k->skeleton;
    for (int32_t j = 0; j < s->count; j++)
        k->twin[j] = s->joints[j].row->name[0] != '*' ? j : s->joints[j].right ? j - 1 : j + 1;
}

static sup_transform at_place(sup_vec3d place)
{
    sup_transform transform = sup_transform_identity();
    transform.translation = sup_v3_to_float(place);
    return transform;
}

static bool fill_nodes(kitchen *k, sup_arena *arena)
{
    sup_character *c = k->character;
    const sup_skeleton *s = &k->skeleton;
    int32_t primitives = 1 + k->recipe->extra_count;
    sup_node *nodes = sup_arena_alloc(arena, (size_t)s->count + (size_t)primitives, sizeof *nodes);
    sup_bone *bones = sup_arena_alloc(arena, (size_t)s->count, sizeof *bones);
    sup_skin *skins = sup_arena_alloc(arena, 1, sizeof *skins);
    if (!nodes || !bones || !skins) return false;
    for (int32_t j = 0; j < s->count; j++) {
        const sup_joint *joint = &s->joints[j];
        sup_vec3d above = joint->parent < 0 ? sup_v3(0.0, 0.0, 0.0) : s->joints[joint->parent].at;
        nodes[j] = (sup_node){sup_arena_string(arena, joint->name), joint->parent,
                              at_place(sup_v3_sub(joint->at, above)), true};
        bones[j].node = j;
        bones[j].inverse_bind = sup_mat34_from_transform(at_place(sup_v3_scale(joint->at, -1.0)));
        if (nodes[j].name == NULL) return false;
    }
    for (int32_t i = 0; i < primitives; i++) {
        const sup_extra_row *extra = i > 0 ? &k->recipe->extras[i - 1] : NULL;
        int32_t parent = extra && extra->rigid ? sup_skeleton_find(s, extra->joint) : -1;
        nodes[s->count + i] =
            (sup_node){extra ? extra->name : k->recipe->name, parent, sup_transform_identity(), false};
    }
    skins[0] = (sup_skin){k->recipe->name, 0, s->count};
    c->nodes = nodes;
    c->node_count = s->count + primitives;
    c->bones = bones;
    c->bone_count = s->count;
    c->skins = skins;
    c->skin_count = 1;
    return true;
}

static bool fill_clips(kitchen *k, sup_arena *arena)
{
    sup_clip *clips = sup_arena_alloc(arena, (size_t)k->recipe->motion_count, sizeof *clips);
    if (clips == NULL) return false;
    for (int32_t i = 0; i < k->recipe->motion_count; i++)
        if (!sup_scene_clip(k->recipe, &k->skeleton, &k->recipe->motions[i], arena, &clips[i])) return false;
    k->character->clips = clips;
    k->character->clip_count = k->recipe->motion_count;
    return true;
}

static sup_result cook(kitchen *k, double resolution, sup_error *error)
{
    sup_skeleton_build(k->recipe, &k->skeleton);
    find_twins(k);
    sup_result result = mesh_skin(k, resolution, error);
    for (int32_t e = 0; e < k->recipe->extra_count && result == SUP_OK; e++)
        result = mesh_extra(k, e, resolution, error);
    if (result != SUP_OK) return result;
    k->character = sup_character_begin(k->context);
    if (k->character == NULL) return sup_fail_memory(error, "a character");
    sup_arena *arena = sup_character_arena(k->character);
    k->character->name = k->recipe->name;
    k->character->unit_metres = 1.0f;
    sup_primitive *primitives = sup_arena_alloc(arena, 1 + (size_t)k->recipe->extra_count, sizeof *primitives);
    if (primitives == NULL || !fill_vertices(k, arena) || !fill_nodes(k, arena) || !fill_clips(k, arena))
        return sup_fail_memory(error, "a character");
    fill_primitives(k, primitives);
    if (k->recipe->organ_count > 0 &&
        !sup_scene_layers(k->context, k->recipe, &k->skeleton, &k->surfaces[0], k->character, arena))
        return sup_fail_memory(error, "a character");
    k->character->primitives = primitives;
    k->character->primitive_count = 1 + k->recipe->extra_count;
    return sup_character_finish(k->character, k->recipe->name, error);
}

sup_result sup_recipe_cook(const sup_context *context, const sup_recipe *recipe, double resolution,
                           sup_character **character, sup_error *error)
{
    kitchen *k = sup_alloc_zero(&context->allocator, sizeof *k);
    if (k == NULL) return sup_fail_memory(error, "a character");
    k->context = context;
    k->recipe = recipe;
    sup_result result = cook(k, resolution, error);
    for (int32_t i = 0; i < 1 + SUP_EXTRAS_MAX; i++)
        sup_surface_free(&k->surfaces[i]);
    sup_sculpture_destroy(k->sculpture);
    if (result == SUP_OK)
        *character = k->character;
    else
        sup_character_destroy(k->character);
    sup_free(&context->allocator, k, sizeof *k);
    return result;
}

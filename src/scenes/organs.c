/* organs.c - bones or muscles of a recipe as meshes, each a primitive that its joint carries. */
#include "scenes/scene_spec.h"
#include "character/character.h"

static const double vertices_each = 600.0, cell = 0.005, margin = 0.02;

typedef struct organ_mesh {
    const sup_organ_row *row;
    sup_surface surface; /* of the left side, or of both when it is in the middle */
    char name[2][SUP_NAME_MAX];
    int32_t joint[2], side_count;
} organ_mesh;

typedef struct organ_kitchen {
    const sup_context *context;
    const sup_recipe *recipe;
    sup_skeleton skeleton;
    organ_mesh *organs; /* [organ_count] */
    int32_t organ_count;
} organ_kitchen;

static double largest(const sup_shape *shape)
{
    double most = fmax(fmax(shape->ra, shape->rb), fmax(shape->wide, shape->deep));
    if (shape->kind == SUP_SHAPE_CONE) most = fmax(shape->ra, shape->rb) * fmax(1.0, fmax(shape->wide, shape->deep));
    for (int32_t i = 0; i < shape->section_count; i++) {
        const sup_section *s = &shape->sections[i];
        most = fmax(most, fmax(fmax(s->left, s->right) + fabs(s->x), fmax(s->front, s->back) + fabs(s->z)));
    }
    return most;
}

static void grow_box(sup_recipe *own, sup_vec3d p, double by)
{
    own->lower = sup_v3(fmin(own->lower.x, p.x - by), fmin(own->lower.y, p.y - by), fmin(own->lower.z, p.z - by));
    own->upper = sup_v3(fmax(own->upper.x, p.x + by), fmax(own->upper.y, p.y + by), fmax(own->upper.z, p.z + by));
}

/* Box of an organ's shapes. */
static void measure_box(sup_recipe *own)
{
    own->lower = sup_v3(1e9, 1e9, 1e9);
    own->upper = sup_v3(-1e9, -1e9, -1e9);
    for (int32_t i = 0; i < own->shape_count; i++) {
        const sup_shape *shape = &own->shapes[i];
        double by = largest(shape) + margin;
        sup_vec3d along = sup_v3_unit_or(sup_v3_sub(shape->b, shape->a), sup_v3(0, 1, 0));
        if (shape->kind != SUP_SHAPE_LOFT) {
            grow_box(own, shape->a, by);
            if (shape->kind == SUP_SHAPE_CONE) grow_box(own, shape->b, by);
            continue;
        }
        grow_box(own, sup_v3_madd(shape->a, shape->sections[0].along - shape->ra, along), by);
        grow_box(own, sup_v3_madd(shape->a, shape->sections[shape->section_count - 1].along + shape->rb, along), by);
    }
    if (own->mirrored) own->lower.x = -margin;
}

static sup_result mesh_organ(const organ_kitchen *k, organ_mesh *organ, double resolution, sup_error *error)
{
    const sup_organ_row *row = organ->row;
    sup_recipe *own = sup_alloc_zero(&k->context->allocator, sizeof *own);
    if (own == NULL) return sup_fail_memory(error, "an organ");
    own->mirrored = k->recipe->mirrored && row->name[0] != '*';
    own->cell = cell;
    own->region_count = 1;
    own->regions[0] = (sup_region){row->name, -1, 0.0, false, 1.0};
    if (row->placement != NULL)
        sup_recipe_place_shapes(own, row->placement, 0, row->shapes, row->shape_count);
    else
        sup_recipe_add_shapes(own, row->shapes, row->shape_count);
    measure_box(own);
    sup_sculpture_def def = sup_recipe_sculpture(k->context, own);
    sup_sculpture *sculpture = sup_sculpture_create(&def);
    double least = 60.0 / vertices_each; /* below that a sphere is none */
    sup_result result = sculpture == NULL
                            ? sup_fail_memory(error, "an organ")
                            : sup_recipe_mesh(k->context, own, sculpture, vertices_each,
                                              resolution < least ? least : resolution, &organ->surface, error);
    sup_sculpture_destroy(sculpture);
    sup_free(&k->context->allocator, own, sizeof *own);
    return result;
}

static void name_organ(const organ_kitchen *k, organ_mesh *organ)
{
    static const char *const prefix[2] = {"left_", "right_"};
    bool sided = organ->row->name[0] == '*', sided_joint = organ->row->joint[0] == '*';
    int32_t sides = sided ? 2 : 1;
    organ->side_count = sides;
    for (int32_t i = 0; i < sides; i++) {
        const char *side = prefix[i == 0 ? 0 : 1];
        char joint[SUP_NAME_MAX];
        sup_format(organ->name[i], SUP_NAME_MAX, "%s%s", sided ? side : "", organ->row->name + sided);
        sup_format(joint, sizeof joint, "%s%s", sided_joint ? side : "", organ->row->joint + sided_joint);
        organ->joint[i] = sup_skeleton_find(&k->skeleton, joint);
        if (organ->joint[i] < 0) organ->joint[i] = 0;
    }
}

static bool fill_nodes(const organ_kitchen *k, sup_character *c, sup_arena *arena)
{
    sup_node *nodes = sup_arena_alloc(arena, (size_t)k->skeleton.count, sizeof *nodes);
    for (int32_t j = 0; nodes != NULL && j < k->skeleton.count; j++) {
        const sup_joint *joint = &k->skeleton.joints[j];
        sup_vec3d above = joint->parent < 0 ? sup_v3(0, 0, 0) : k->skeleton.joints[joint->parent].at;
        nodes[j] = (sup_node){sup_arena_string(arena, joint->name), joint->parent, sup_transform_identity(), true};
        nodes[j].rest.translation = sup_v3_to_float(sup_v3_sub(joint->at, above));
        if (nodes[j].name == NULL) return false;
    }
    c->nodes = nodes;
    c->node_count = k->skeleton.count;
    return nodes != NULL;
}

/* One side of an organ, in the space of the joint that carries it; the right side is the left one mirrored. */
static void put_side(const organ_kitchen *k, const organ_mesh *organ, int32_t side, sup_primitive *primitive, float *positions,
                     int32_t *triangles)
{
    const sup_surface *s = &organ->surface;
    sup_vec3d origin = k->skeleton.joints[organ->joint[side]].at;
    for (int32_t v = 0; v < s->vertex_count; v++) {
        sup_vec3d p = s->positions[v];
        if (side == 1) p.x = -p.x;
        sup_v3_store(positions + 3 * (size_t)(primitive->vertex_first + v), sup_v3_sub(p, origin));
    }
    for (int32_t t = 0; t < s->triangle_count * 3; t++) {
        int32_t from = side == 1 && t % 3 != 0 ? t - t % 3 + (3 - t % 3) : t;
        triangles[3 * (size_t)primitive->triangle_first + (size_t)t] = s->triangles[from] + primitive->vertex_first;
    }
}

static bool fill_primitives(const organ_kitchen *k, sup_character *c, sup_arena *arena)
{
    for (int32_t i = 0; i < k->organ_count; i++) {
        c->primitive_count += k->organs[i].side_count;
        c->vertex_count += k->organs[i].side_count * k->organs[i].surface.vertex_count;
        c->triangle_count += k->organs[i].side_count * k->organs[i].surface.triangle_count;
    }
    sup_primitive *primitives = sup_arena_alloc(arena, (size_t)c->primitive_count, sizeof *primitives);
    float *positions = sup_arena_alloc(arena, (size_t)c->vertex_count * 3, sizeof *positions);
    int32_t *triangles = sup_arena_alloc(arena, (size_t)c->triangle_count * 3, sizeof *triangles);
    if (primitives == NULL || positions == NULL || triangles == NULL) return false;
    int32_t filled = 0, vertex = 0, triangle = 0;
    for (int32_t i = 0; i < k->organ_count; i++)
        for (int32_t side = 0; side < k->organs[i].side_count; side++, filled++) {
            const organ_mesh *organ = &k->organs[i];
            primitives[filled] = (sup_primitive){.name = sup_arena_string(arena, organ->name[side]),
                                       .node = organ->joint[side],
                                       .mesh = filled,
                                       .skin = -1,
                                       .material = -1,
                                       .vertex_first = vertex,
                                       .vertex_count = organ->surface.vertex_count,
                                       .triangle_first = triangle,
                                       .triangle_count = organ->surface.triangle_count};
            if (primitives[filled].name == NULL) return false;
            put_side(k, organ, side, &primitives[filled], positions, triangles);
            vertex += organ->surface.vertex_count;
            triangle += organ->surface.triangle_count;
        }
    c->primitives = primitives;
    c->positions = positions;
    c->triangles = triangles;
    return true;
}

static sup_result serve(const organ_kitchen *k, sup_character **character, sup_error *error)
{
    sup_character *made = sup_character_begin(k->context);
    if (made == NULL) return sup_fail_memory(error, "the organs");
    sup_arena *arena = sup_character_arena(made);
    made->name = k->recipe->name;
    made->unit_metres = 1.0f;
    sup_result result = fill_nodes(k, made, arena) && fill_primitives(k, made, arena)
                            ? sup_character_finish(made, k->recipe->name, error)
                            : sup_fail_memory(error, "the organs");
    if (result == SUP_OK)
        *character = made;
    else
        sup_character_destroy(made);
    return result;
}

sup_result sup_recipe_cook_organs(const sup_context *context, const sup_recipe *recipe, bool muscles, double resolution,
                                  sup_character **character, sup_error *error)
{
    sup_arena scratch = sup_arena_create(&context->allocator);
    organ_kitchen *k = sup_arena_alloc(&scratch, 1, sizeof *k);
    organ_mesh *organs = sup_arena_alloc(&scratch, (size_t)recipe->organ_count, sizeof *organs);
    sup_result result = k != NULL && organs != NULL ? SUP_OK : sup_fail_memory(error, "the organs");
    if (result == SUP_OK) {
        k->context = context;
        k->recipe = recipe;
        k->organs = organs;
        sup_skeleton_build(recipe, &k->skeleton);
    }
    for (int32_t i = 0; result == SUP_OK && i < recipe->organ_count; i++) {
        const sup_organ_row *row = &recipe->organs[i];
        if (row->is_muscle != muscles || row->is_hollow) continue;
        organ_mesh *organ = &organs[k->organ_count++];
        organ->row = row;
        name_organ(k, organ);
        result = mesh_organ(k, organ, resolution, error);
    }
    if (result == SUP_OK) result = serve(k, character, error);
    for (int32_t i = 0; k != NULL && i < k->organ_count; i++)
        sup_surface_free(&k->organs[i].surface);
    sup_arena_destroy(&scratch);
    return result;
}

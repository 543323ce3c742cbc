/* organs.c - builds bones or muscles of a spec as meshes: one rigid primitive per organ on its joint. */
#include "scenes/scene_spec.h"
#include "character/character.h"

static const double vertices_each = 600.0, cell = 0.005, margin = 0.02;

typedef struct organ_mesh {
    const sup_organ_spec *spec;
    sup_surface surface; /* of the left side, or of both sides when not paired */
    char name[2][SUP_NAME_MAX];
    int32_t joint[2], side_count;
} organ_mesh;

typedef struct organ_builder {
    const sup_context *context;
    const sup_scene_spec *spec;
    sup_skeleton skeleton;
    organ_mesh *organs; /* [organ_count] */
    int32_t organ_count;
} organ_builder;

static double largest(const sup_shape *shape)
{
    double extent = fmax(fmax(shape->ra, shape->rb), fmax(shape->wide, shape->deep));
    if (shape->kind == SUP_SHAPE_CONE) extent = fmax(shape->ra, shape->rb) * fmax(1.0, fmax(shape->wide, shape->deep));
    for (int32_t i = 0; i < shape->section_count; i++) {
        const sup_section *s = &shape->sections[i];
        extent = fmax(extent, fmax(fmax(s->left, s->right) + fabs(s->x), fmax(s->front, s->back) + fabs(s->z)));
    }
    return extent;
}

static void grow_box(sup_scene_spec *local_spec, sup_vec3d p, double by)
{
    local_spec->lower = sup_v3(fmin(local_spec->lower.x, p.x - by), fmin(local_spec->lower.y, p.y - by),
                               fmin(local_spec->lower.z, p.z - by));
    local_spec->upper = sup_v3(fmax(local_spec->upper.x, p.x + by), fmax(local_spec->upper.y, p.y + by),
                               fmax(local_spec->upper.z, p.z + by));
}

/* Box of an organ's shapes. */
static void measure_box(sup_scene_spec *local_spec)
{
    local_spec->lower = sup_v3(1e9, 1e9, 1e9);
    local_spec->upper = sup_v3(-1e9, -1e9, -1e9);
    for (int32_t i = 0; i < local_spec->shape_count; i++) {
        const sup_shape *shape = &local_spec->shapes[i];
        double by = largest(shape) + margin;
        sup_vec3d along = sup_v3_unit_or(sup_v3_sub(shape->b, shape->a), sup_v3(0, 1, 0));
        if (shape->kind != SUP_SHAPE_LOFT) {
            grow_box(local_spec, shape->a, by);
            if (shape->kind == SUP_SHAPE_CONE) grow_box(local_spec, shape->b, by);
            continue;
        }
        grow_box(local_spec, sup_v3_madd(shape->a, shape->sections[0].along - shape->ra, along), by);
        grow_box(local_spec, sup_v3_madd(shape->a, shape->sections[shape->section_count - 1].along + shape->rb, along),
                 by);
    }
    if (local_spec->mirrored) local_spec->lower.x = -margin;
}

static sup_result mesh_organ(const organ_builder *b, organ_mesh *organ, double resolution, sup_error *error)
{
    const sup_organ_spec *organ_spec = organ->spec;
    sup_scene_spec *local_spec = sup_alloc_zero(&b->context->allocator, sizeof *local_spec);
    if (local_spec == NULL) return sup_fail_memory(error, "an organ");
    local_spec->mirrored = b->spec->mirrored && organ_spec->name[0] != '*';
    local_spec->cell = cell;
    local_spec->region_count = 1;
    local_spec->regions[0] = (sup_region){organ_spec->name, -1, 0.0, false, 1.0};
    if (organ_spec->frame != NULL)
        sup_scene_spec_add_shapes_in(local_spec, organ_spec->frame, 0, organ_spec->shapes, organ_spec->shape_count);
    else
        sup_scene_spec_add_shapes(local_spec, organ_spec->shapes, organ_spec->shape_count);
    measure_box(local_spec);
    sup_sculpture_def def = sup_scene_sculpture(b->context, local_spec);
    sup_sculpture *sculpture = sup_sculpture_create(&def);
    double min_resolution = 60.0 / vertices_each; /* at least 60 vertices: keeps a sphere recognisable */
    sup_result result = sculpture == NULL ? sup_fail_memory(error, "an organ")
                                          : sup_scene_mesh(b->context, local_spec, sculpture, vertices_each,
                                                           resolution < min_resolution ? min_resolution : resolution,
                                                           &organ->surface, error);
    sup_sculpture_destroy(sculpture);
    sup_free(&b->context->allocator, local_spec, sizeof *local_spec);
    return result;
}

static void name_organ(const organ_builder *b, organ_mesh *organ)
{
    static const char *const prefix[2] = {"left_", "right_"};
    bool sided = organ->spec->name[0] == '*', sided_joint = organ->spec->joint[0] == '*';
    int32_t sides = sided ? 2 : 1;
    organ->side_count = sides;
    for (int32_t i = 0; i < sides; i++) {
        const char *side = prefix[i == 0 ? 0 : 1];
        char joint[SUP_NAME_MAX];
        sup_format(organ->name[i], SUP_NAME_MAX, "%s%s", sided ? side : "", organ->spec->name + sided);
        sup_format(joint, sizeof joint, "%s%s", sided_joint ? side : "", organ->spec->joint + sided_joint);
        organ->joint[i] = sup_skeleton_find(&b->skeleton, joint);
        if (organ->joint[i] < 0) organ->joint[i] = 0;
    }
}

static bool fill_nodes(const organ_builder *b, sup_character *c, sup_arena *arena)
{
    sup_node *nodes = sup_arena_alloc(arena, (size_t)b->skeleton.count, sizeof *nodes);
    for (int32_t j = 0; nodes != NULL && j < b->skeleton.count; j++) {
        const sup_joint *joint = &b->skeleton.joints[j];
        sup_vec3d above = joint->parent < 0 ? sup_v3(0, 0, 0) : b->skeleton.joints[joint->parent].at;
        nodes[j] = (sup_node){sup_arena_string(arena, joint->name), joint->parent, sup_transform_identity(), true};
        nodes[j].rest.translation = sup_v3_to_float(sup_v3_sub(joint->at, above));
        if (nodes[j].name == NULL) return false;
    }
    c->nodes = nodes;
    c->node_count = b->skeleton.count;
    return nodes != NULL;
}

/* Writes one side of an organ in the space of its joint; the right side is the mirrored left side. */
static void write_side(const organ_builder *b, const organ_mesh *organ, int32_t side, sup_primitive *primitive,
                       float *positions, int32_t *triangles)
{
    const sup_surface *s = &organ->surface;
    sup_vec3d origin = b->skeleton.joints[organ->joint[side]].at;
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

static bool fill_primitives(const organ_builder *b, sup_character *c, sup_arena *arena)
{
    for (int32_t i = 0; i < b->organ_count; i++) {
        c->primitive_count += b->organs[i].side_count;
        c->vertex_count += b->organs[i].side_count * b->organs[i].surface.vertex_count;
        c->triangle_count += b->organs[i].side_count * b->organs[i].surface.triangle_count;
    }
    sup_primitive *primitives = sup_arena_alloc(arena, (size_t)c->primitive_count, sizeof *primitives);
    float *positions = sup_arena_alloc(arena, (size_t)c->vertex_count * 3, sizeof *positions);
    int32_t *triangles = sup_arena_alloc(arena, (size_t)c->triangle_count * 3, sizeof *triangles);
    if (primitives == NULL || positions == NULL || triangles == NULL) return false;
    int32_t filled = 0, vertex = 0, triangle = 0;
    for (int32_t i = 0; i < b->organ_count; i++)
        for (int32_t side = 0; side < b->organs[i].side_count; side++, filled++) {
            const organ_mesh *organ = &b->organs[i];
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
            write_side(b, organ, side, &primitives[filled], positions, triangles);
            vertex += organ->surface.vertex_count;
            triangle += organ->surface.triangle_count;
        }
    c->primitives = primitives;
    c->positions = positions;
    c->triangles = triangles;
    return true;
}

static sup_result make_character(const organ_builder *b, sup_character **character, sup_error *error)
{
    sup_character *made = sup_character_begin(b->context);
    if (made == NULL) return sup_fail_memory(error, "the organs");
    sup_arena *arena = sup_character_arena(made);
    made->name = b->spec->name;
    made->unit_metres = 1.0f;
    sup_result result = fill_nodes(b, made, arena) && fill_primitives(b, made, arena)
                            ? sup_character_finish(made, b->spec->name, error)
                            : sup_fail_memory(error, "the organs");
    if (result == SUP_OK)
        *character = made;
    else
        sup_character_destroy(made);
    return result;
}

sup_result sup_scene_build_organs(const sup_context *context, const sup_scene_spec *spec, bool muscles,
                                  double resolution, sup_character **character, sup_error *error)
{
    sup_arena scratch = sup_arena_create(&context->allocator);
    organ_builder *b = sup_arena_alloc(&scratch, 1, sizeof *b);
    organ_mesh *organs = sup_arena_alloc(&scratch, (size_t)spec->organ_count, sizeof *organs);
    sup_result result = b != NULL && organs != NULL ? SUP_OK : sup_fail_memory(error, "the organs");
    if (result == SUP_OK) {
        b->context = context;
        b->spec = spec;
        b->organs = organs;
        sup_skeleton_build(spec, &b->skeleton);
    }
    for (int32_t i = 0; result == SUP_OK && i < spec->organ_count; i++) {
        const sup_organ_spec *organ_spec = &spec->organs[i];
        if (organ_spec->is_muscle != muscles || organ_spec->is_hollow) continue;
        organ_mesh *organ = &organs[b->organ_count++];
        organ->spec = organ_spec;
        name_organ(b, organ);
        result = mesh_organ(b, organ, resolution, error);
    }
    if (result == SUP_OK) result = make_character(b, character, error);
    for (int32_t i = 0; b != NULL && i < b->organ_count; i++)
        sup_surface_free(&b->organs[i].surface);
    sup_arena_destroy(&scratch);
    return result;
}

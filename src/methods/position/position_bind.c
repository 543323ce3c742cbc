/* position_bind.c - from a rig to a model, stage by stage.
 *
 * Based on: [aburumman2016thesis] sections 4.1 to 4.3 and 4.7. */
#include "bind/model.h"
#include "methods/position/position.h"
#include "methods/position/position_weights.h"
#include "skin/skin.h"

/* Influences below this do not make a bone a candidate for the nearest: an arm is not bound to a leg beside it. */
static const float LEAST_WEIGHT = 0.1f;
/* Kinematic cores are flesh that one bone moves alone. */
static const float RIGID_WEIGHT = 0.95f;
/* Particles' worth of weight below which a joint is too small for the flesh to show its motion. */
static const double SMALL_JOINT = 3.0;
/* Cubes of the lattice that a vertex may look further for flesh that moves as it does. */
static const double SEAT_REACH = 1.0;
/* Sizes of the character: diagonal of a piece of skin that has no flesh of its own. */
static const double SMALL_PIECE = 0.06;

/* Where a particle finds what is painted. */
typedef struct paint_place {
    int32_t vertex[3]; /* shown */
    float weight[3];
} paint_place;

/* What the stages hand to each other; freed in one place. */
typedef struct binding {
    const sup_bind_input *input;
    sup_model_builder *builder;
    sup_arena arena;
    sup_simulated_surface surface; /* the body's skin, all of it */
    sup_bvh skin;                  /* over it */
    bool has_skin, has_mesh;
    sup_tetmesh mesh;
    int32_t *joint;     /* [particles*SUP_POSITION_INFLUENCES] */
    float *weight;      /* the same count */
    int32_t *bone;      /* [particles] joint of the nearest bone, -1 for none */
    double *point;      /* [particles*3] its nearest point */
    double *distance;   /* [particles] to it */
    bool *kinematic;    /* [particles] */
    bool *small;        /* [skin_vertex_count] of a component of the rig's skin: it has no flesh of its own */
    paint_place *paint; /* [particles] */
    sup_pbd_bound bound;
} binding;

/* Component of a vertex of the simulated skin. */
static int32_t piece_of(const binding *b, int32_t v)
{
    return b->input->rig->skin_component[b->surface.fine_source[b->surface.coarse_fine[v]]];
}

/* Which components are much smaller than the body. */
static bool find_small_pieces(binding *b)
{
    const sup_rig *rig = b->input->rig;
    size_t pieces = (size_t)rig->skin_vertex_count;
    float *box = sup_arena_alloc(&b->arena, pieces, 6 * sizeof *box); /* the low end negative: only maxima */
    b->small = sup_arena_alloc(&b->arena, pieces, sizeof *b->small);
    if (box == NULL || b->small == NULL) return false;
    for (size_t i = 0; i < 6 * pieces; i++)
        box[i] = -INFINITY;
    for (int64_t v = 0; v < rig->skin_vertex_count; v++)
        for (int64_t k = 0; rig->skin_component[v] >= 0 && k < 6; k++) {
            float *to = &box[6 * (int64_t)rig->skin_component[v] + k], x = rig->skin_positions[3 * v + k % 3];
            *to = fmaxf(*to, k < 3 ? -x : x);
        }
    for (size_t i = 0; i < pieces; i++) {
        const float *e = box + 6 * i;
        sup_vec3d extent =
            sup_v3((double)e[0] + (double)e[3], (double)e[1] + (double)e[4], (double)e[2] + (double)e[5]);
        b->small[i] = e[0] > -INFINITY && sup_v3_length(extent) < SMALL_PIECE * (double)rig->size;
    }
    return true;
}

/* Leaves out the triangles of small pieces: teeth, claws, eyes and buttons ride on the flesh, and what sticks in two jaws
 * does not join them. A body of nothing but small pieces keeps all. */
static void drop_small_pieces(binding *b)
{
    sup_simulated_surface *s = &b->surface;
    int32_t kept = 0;
    for (int64_t t = 0; t < s->coarse_triangle_count; t++)
        kept += !b->small[piece_of(b, s->coarse_triangles[3 * t])];
    if (kept == 0) memset(b->small, 0, (size_t)b->input->rig->skin_vertex_count * sizeof *b->small);
    kept = 0;
    for (int64_t t = 0; t < s->coarse_triangle_count; t++)
        if (!b->small[piece_of(b, s->coarse_triangles[3 * t])])
            memmove(s->coarse_triangles + 3 * (int64_t)kept++, s->coarse_triangles + 3 * t, 3 * sizeof(int32_t));
    s->coarse_triangle_count = kept;
}

static sup_result bind_mesh(binding *b, sup_error *error)
{
    const sup_context *context = b->input->context;
    sup_result result =
        sup_simulated_surface_create(context, b->input->rig, INT32_MAX / 4, &b->arena, &b->surface, error);
    if (result != SUP_OK) return result;
    const sup_simulated_surface *s = &b->surface;
    if (!find_small_pieces(b)) return sup_fail_memory(error, "the flesh");
    drop_small_pieces(b);
    result =
        sup_bvh_create(context, s->coarse_positions, s->coarse_triangle_count, s->coarse_triangles, &b->skin, error);
    if (result != SUP_OK) return result;
    b->has_skin = true;
    sup_tetmesh_def def = sup_default_tetmesh_def();
    def.tet_target = (int32_t)b->input->values[SUP_POSITION_TETS];
    result = sup_tetmesh_create(context, s->coarse_count, s->coarse_positions, s->coarse_triangle_count,
                                s->coarse_triangles, &def, &b->mesh, error);
    if (result != SUP_OK) return result;
    b->has_mesh = true;
    sup_log(context, SUP_LOG_INFO, "Flesh: %d tets, %d particles, dihedral angles %g to %g degrees, %d pieces.",
            b->mesh.tet_count, b->mesh.vertex_count, b->mesh.report.angle_min, b->mesh.report.angle_max,
            b->mesh.component_count);
    return SUP_OK;
}

static sup_result bind_weights(binding *b, sup_error *error)
{
    size_t particles = (size_t)b->mesh.vertex_count;
    b->joint = sup_arena_alloc(&b->arena, particles * SUP_POSITION_INFLUENCES, sizeof(int32_t));
    b->weight = sup_arena_alloc(&b->arena, particles * SUP_POSITION_INFLUENCES, sizeof(float));
    if (b->joint == NULL || b->weight == NULL) return sup_fail_memory(error, "the flesh's weights");
    return sup_position_weights(b->input->context, &b->surface, &b->skin, b->input->rig->joint_count, &b->mesh,
                                b->joint, b->weight, error);
}

/* --- Bones --- */

static sup_vec3d particle_at(const binding *b, int32_t v)
{
    return sup_v3_load(b->mesh.positions + 3 * (int64_t)v);
}

/* The nearest of the bones that move the particle. */
static void find_bone(binding *b, int32_t v)
{
    const sup_rig *rig = b->input->rig;
    sup_vec3d p = particle_at(b, v);
    b->bone[v] = -1;
    b->distance[v] = INFINITY;
    for (int k = 0; k < SUP_POSITION_INFLUENCES; k++) {
        int64_t i = (int64_t)v * SUP_POSITION_INFLUENCES + k, j = b->joint[i];
        if (b->weight[i] < LEAST_WEIGHT) continue;
        sup_vec3d head = sup_v3_load(rig->bone_head + 3 * j), tail = sup_v3_load(rig->bone_tail + 3 * j);
        sup_vec3d q = sup_v3_lerp(head, tail, sup_v3_segment_parameter(p, head, tail));
        double distance = sup_v3_distance(p, q);
        if (!(distance < b->distance[v])) continue;
        b->distance[v] = distance;
        b->bone[v] = (int32_t)j;
        memcpy(b->point + 3 * (int64_t)v, &q, sizeof q);
    }
}

static bool is_rigid(const binding *b, int32_t v)
{
    const int64_t first = (int64_t)v * SUP_POSITION_INFLUENCES;
    return b->weight[first] >= RIGID_WEIGHT && b->joint[first] == b->bone[v];
}

static sup_result bind_bones(binding *b, sup_error *error)
{
    int32_t particles = b->mesh.vertex_count, joints = b->input->rig->joint_count;
    b->bone = sup_arena_alloc(&b->arena, (size_t)particles, sizeof(int32_t));
    b->point = sup_arena_alloc(&b->arena, 3 * (size_t)particles, sizeof(double));
    b->distance = sup_arena_alloc(&b->arena, (size_t)particles, sizeof(double));
    b->kinematic = sup_arena_alloc(&b->arena, (size_t)particles, sizeof(bool));
    double *sum = sup_arena_alloc(&b->arena, 2 * (size_t)joints, sizeof(double));
    if (b->bone == NULL || b->point == NULL || b->distance == NULL || b->kinematic == NULL || sum == NULL)
        return sup_fail_memory(error, "the flesh's bones");
    for (int32_t v = 0; v < particles; v++) {
        find_bone(b, v);
        if (b->bone[v] < 0) continue;
        sum[2 * b->bone[v]] += b->distance[v];
        sum[2 * b->bone[v] + 1] += 1.0;
    }
    for (int32_t v = 0; v < particles; v++)
        b->kinematic[v] =
            b->bone[v] >= 0 && is_rigid(b, v) &&
            b->distance[v] * sum[2 * b->bone[v] + 1] < b->input->values[SUP_POSITION_CORE] * sum[2 * b->bone[v]];
    return SUP_OK;
}

/* --- The model --- */

static sup_result bind_solver(binding *b, sup_error *error)
{
    size_t count = (size_t)b->mesh.vertex_count;
    double *rest = sup_arena_alloc(&b->arena, 3 * count, sizeof(double)), centre[3] = {0.0, 0.0, 0.0};
    if (rest == NULL) return sup_fail_memory(error, "the flesh");
    for (size_t i = 0; i < 3 * count; i++)
        centre[i % 3] += (double)b->mesh.positions[i] / (double)count;
    for (size_t i = 0; i < 3 * count; i++)
        rest[i] = ((double)b->mesh.positions[i] - centre[i % 3]) / (double)b->input->rig->size;
    sup_pbd_def def = {.particle_count = b->mesh.vertex_count,
                       .rest = rest,
                       .tet_count = b->mesh.tet_count,
                       .tets = b->mesh.tets,
                       .kinematic = b->kinematic};
    return sup_pbd_bind(b->input->context, &def, b->builder, "pbd", &b->bound, error);
}

/* Joints that hardly move a particle: eyelids, lips, toes. Their motion comes from linear blending. */
static void find_small_joints(const binding *b, double *moved)
{
    for (int64_t i = 0; i < (int64_t)b->mesh.vertex_count * SUP_POSITION_INFLUENCES; i++)
        moved[b->joint[i]] += (double)b->weight[i];
}

/* The part of each shown vertex's motion that is finer than the particles. */
static bool find_fine(const binding *b, float *fine)
{
    const sup_rig *rig = b->input->rig;
    const sup_character *character = rig->character;
    double *moved = sup_alloc_zero(&b->input->context->allocator, (size_t)rig->joint_count * sizeof *moved);
    if (moved == NULL) return false;
    find_small_joints(b, moved);
    for (int32_t v = 0; v < rig->vertex_count; v++)
        for (int32_t i = rig->influence_first[v]; i < rig->influence_first[v + 1]; i++)
            if (moved[rig->influence_joint[i]] < SMALL_JOINT) fine[v] += rig->influence_weight[i];
    for (int32_t m = 0; m < character->morph_count; m++) {
        const sup_primitive *part = &character->primitives[character->morphs[m].primitive];
        for (int32_t v = part->vertex_first; v < part->vertex_first + part->vertex_count; v++)
            fine[v] = 1.0f;
    }
    for (int32_t v = 0; v < rig->vertex_count; v++)
        fine[v] = fminf(fine[v], 1.0f);
    sup_free(&b->input->context->allocator, moved, (size_t)rig->joint_count * sizeof *moved);
    return true;
}

static sup_result bind_carry(binding *b, sup_error *error)
{
    const sup_rig *rig = b->input->rig;
    bool *rides = sup_arena_alloc(&b->arena, (size_t)rig->vertex_count, sizeof(bool));
    float *fine = sup_arena_alloc(&b->arena, (size_t)rig->vertex_count, sizeof(float));
    if (rides == NULL || fine == NULL || !find_fine(b, fine)) return sup_fail_memory(error, "the shown skin");
    for (int32_t v = 0; v < rig->vertex_count; v++)
        rides[v] = rig->vertex_to_skin[v] >= 0;
    sup_carry_def def = {.particle_count = b->mesh.vertex_count,
                         .tet_count = b->mesh.tet_count,
                         .triangle_count = b->mesh.triangle_count,
                         .positions = b->mesh.positions,
                         .tets = b->mesh.tets,
                         .triangles = b->mesh.triangles,
                         .row = b->bound.row,
                         .size = rig->size,
                         .vertex_count = rig->vertex_count,
                         .vertices = rig->positions,
                         .normals = rig->normals,
                         .rig = rig,
                         .joint = b->joint,
                         .weight = b->weight,
                         .reach = SEAT_REACH * b->mesh.report.spacing,
                         .tangents = rig->tangents,
                         .fine = fine,
                         .rides = rides};
    return sup_carry_bind(b->input->context, &def, b->builder, "carry", error);
}

/* A point of triangle t of the skin, u and v of the way to its second and third corner. */
static paint_place painted_at(const binding *b, int32_t t, double u, double v)
{
    const sup_simulated_surface *s = &b->surface;
    paint_place place = {{-1, -1, -1}, {(float)(1.0 - u - v), (float)u, (float)v}};
    for (int k = 0; t >= 0 && k < 3; k++) {
        int32_t corner = s->coarse_triangles[3 * (int64_t)t + k];
        place.vertex[k] = b->input->rig->skin_to_vertex[s->fine_source[s->coarse_fine[corner]]];
    }
    return place;
}

/* Where the line from the bone through the particle leaves the skin: what is painted there is meant for it too. */
static sup_vec3d over(const binding *b, int32_t v, paint_place *painted)
{
    sup_vec3d p = particle_at(b, v);
    if (b->bone[v] >= 0 && b->distance[v] > 0.0) {
        sup_vec3d q = sup_v3(b->point[3 * (int64_t)v], b->point[3 * (int64_t)v + 1], b->point[3 * (int64_t)v + 2]);
        sup_bvh_hit hit;
        sup_bvh_ray ray = {.origin = p, .direction = sup_v3_sub(p, q), .t_min = 0.0, .t_max = INFINITY};
        if (sup_bvh_ray_first(&b->skin, &ray, &hit)) {
            *painted = painted_at(b, hit.triangle, hit.u, hit.v);
            return sup_v3_madd(p, hit.t, ray.direction);
        }
    }
    sup_bvh_nearest near = sup_bvh_closest(&b->skin, p, INFINITY);
    *painted = painted_at(b, near.triangle, near.u, near.v);
    return near.triangle >= 0 ? near.point : p;
}

/* Where rows find what is painted, and what was painted at bind. */
static sup_result bind_paint(binding *b, sup_error *error)
{
    int64_t rows = b->bound.row_count;
    int32_t *vertex = sup_model_add(b->builder, "position.paintvertex", SUP_ARRAY_INT32, 3 * rows);
    float *weight = sup_model_add(b->builder, "position.paintweight", SUP_ARRAY_FLOAT, 3 * rows);
    float *painted = sup_model_add(b->builder, "position.painted", SUP_ARRAY_FLOAT, SUP_POSITION_MAP_COUNT * rows);
    if (vertex == NULL || weight == NULL || painted == NULL) return sup_fail_memory(error, "the painted regions");
    for (int64_t i = 0; i < 3 * rows; i++)
        vertex[i] = -1;
    for (int32_t v = 0; v < b->mesh.vertex_count; v++) {
        memcpy(vertex + 3 * (int64_t)b->bound.row[v], b->paint[v].vertex, sizeof b->paint[v].vertex);
        memcpy(weight + 3 * (int64_t)b->bound.row[v], b->paint[v].weight, sizeof b->paint[v].weight);
    }
    for (int32_t map = 0; map < SUP_POSITION_MAP_COUNT; map++) {
        for (int64_t i = 0; i < rows; i++)
            painted[SUP_POSITION_MAP_COUNT * i + map] = sup_position_maps[map].default_value;
        if (b->input->maps != NULL && b->input->maps[map] != NULL)
            sup_position_paint_rows(rows, vertex, weight, map, b->input->maps[map], painted);
    }
    return SUP_OK;
}

static sup_result bind_particles(binding *b, sup_error *error)
{
    int64_t rows = b->bound.row_count;
    int32_t *joint = sup_model_add(b->builder, "position.joint", SUP_ARRAY_INT32, rows * SUP_POSITION_INFLUENCES);
    float *weight = sup_model_add(b->builder, "position.weight", SUP_ARRAY_FLOAT, rows * SUP_POSITION_INFLUENCES);
    float *rest = sup_model_add(b->builder, "position.rest", SUP_ARRAY_FLOAT, 4 * rows);
    int32_t *bone = sup_model_add(b->builder, "position.bone", SUP_ARRAY_INT32, rows);
    float *point = sup_model_add(b->builder, "position.point", SUP_ARRAY_FLOAT, 4 * rows);
    float *surface = sup_model_add(b->builder, "position.surface", SUP_ARRAY_FLOAT, 4 * rows);
    if (joint == NULL || weight == NULL || rest == NULL || bone == NULL || point == NULL || surface == NULL)
        return sup_fail_memory(error, "the flesh");
    b->paint = sup_arena_alloc(&b->arena, (size_t)b->mesh.vertex_count, sizeof *b->paint);
    if (b->paint == NULL) return sup_fail_memory(error, "the painted regions");
    for (int64_t i = 0; i < rows; i++) { /* those that are no particle ride with the first one's joint */
        weight[i * SUP_POSITION_INFLUENCES] = 1.0f;
        bone[i] = -1;
        memcpy(rest + 4 * i, b->mesh.positions, 3 * sizeof(float));
    }
    for (int32_t v = 0; v < b->mesh.vertex_count; v++) {
        int64_t to = b->bound.row[v], from = (int64_t)v * SUP_POSITION_INFLUENCES;
        memcpy(joint + to * SUP_POSITION_INFLUENCES, b->joint + from, SUP_POSITION_INFLUENCES * sizeof *joint);
        memcpy(weight + to * SUP_POSITION_INFLUENCES, b->weight + from, SUP_POSITION_INFLUENCES * sizeof *weight);
        memcpy(rest + 4 * to, b->mesh.positions + 3 * (int64_t)v, 3 * sizeof(float));
        sup_v3_store(surface + 4 * to, over(b, v, &b->paint[v]));
        bone[to] = b->bone[v];
        if (b->bone[v] < 0) continue;
        rest[4 * to + 3] = (float)b->distance[v];
        for (int c = 0; c < 3; c++)
            point[4 * to + c] = (float)b->point[3 * (int64_t)v + c];
    }
    return bind_paint(b, error);
}

static sup_result bind_contact(binding *b, sup_error *error)
{
    sup_meet_def def = {.rig = b->input->rig,
                        .mesh = &b->mesh,
                        .row = b->bound.row,
                        .bone = b->bone,
                        .kinematic = b->kinematic,
                        .skin = &b->skin,
                        .row_count = b->bound.row_count};
    sup_result result = sup_meet_bind(b->input->context, &def, b->builder, "contact", error);
    return result == SUP_OK ? sup_fill_bind(b->input->rig, b->builder, "fill", error) : result;
}

/* Which joints, and how large the character is: what a step needs of the rig itself. */
static sup_result bind_joints(binding *b, sup_error *error)
{
    const sup_rig *rig = b->input->rig;
    int64_t joints = rig->joint_count;
    int32_t *node = sup_model_add(b->builder, "position.node", SUP_ARRAY_INT32, joints);
    float *inverse = sup_model_add(b->builder, "position.inverse", SUP_ARRAY_FLOAT, 12 * joints);
    float *centre = sup_model_add(b->builder, "position.centre", SUP_ARRAY_FLOAT, 3 * joints);
    float *scale = sup_model_add(b->builder, "position.scale", SUP_ARRAY_FLOAT, 2);
    int32_t *census = sup_model_add(b->builder, "stats", SUP_ARRAY_INT32, 2);
    if (node == NULL || inverse == NULL || centre == NULL || scale == NULL || census == NULL)
        return sup_fail_memory(error, "the joints");
    memcpy(node, rig->joint_node, (size_t)joints * sizeof *node);
    memcpy(inverse, rig->joint_inverse_bind, (size_t)joints * sizeof(sup_mat34));
    for (int64_t j = 0; j < joints; j++)
        for (int c = 0; c < 3; c++)
            centre[3 * j + c] = rig->joint_bind[j].m[4 * c + 3];
    scale[0] = rig->size;
    scale[1] = rig->character->unit_metres;
    census[0] = b->mesh.vertex_count;
    census[1] = b->mesh.tet_count;
    return SUP_OK;
}

static sup_result bind_stages(binding *b, sup_error *error)
{
    static const struct {
        sup_result (*run)(binding *b, sup_error *error);
        const char *name;
        float done;
    } stages[] = {{bind_mesh, "mesh", 0.6f},        {bind_weights, "weights", 0.75f},
                  {bind_bones, "bones", 0.8f},      {bind_solver, "solver", 0.9f},
                  {bind_carry, "skin", 0.94f},      {bind_particles, "particles", 0.96f},
                  {bind_contact, "contact", 0.98f}, {bind_joints, "joints", 1.0f}};
    sup_result result = sup_skin_bind(b->input, b->builder, error);
    for (int32_t i = 0; result == SUP_OK && i < SUP_COUNT(stages); i++) {
        result = stages[i].run(b, error);
        if (result == SUP_OK) result = sup_bind_report_progress(b->input, stages[i].done, stages[i].name, error);
    }
    return result;
}

sup_result sup_position_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error)
{
    binding b = {.input = input, .builder = builder, .arena = sup_arena_create(&input->context->allocator)};
    sup_result result = bind_stages(&b, error);
    if (b.has_mesh) sup_tetmesh_free(&b.mesh);
    if (b.has_skin) sup_bvh_free(&b.skin);
    sup_arena_destroy(&b.arena);
    return result;
}

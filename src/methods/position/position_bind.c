/* position_bind.c - the stages of binding a rig.
 *
 * Based on: [aburumman2016thesis] sections 4.1 to 4.3 and 4.7. */
#include "bind/model.h"
#include "methods/position/position.h"
#include "methods/position/position_weights.h"
#include "skin/skin.h"

/* Minimum weight of a bone to be a candidate for the nearest bone: an arm is not bound to a leg beside it. */
static const float MIN_WEIGHT = 0.1f;
/* Minimum weight of a single bone in a kinematic core. */
static const float RIGID_WEIGHT = 0.95f;
/* Sum of particle weights below which a joint is too small for the particles to represent its motion. */
static const double SMALL_JOINT = 3.0;
/* Additional search distance of a vertex for tissue with similar weights, in cells of the lattice. */
static const double FOLLOW_REACH = 1.0;
/* Diagonal, in sizes of the character, of a skin component without tissue of its own. */
static const double SMALL_COMPONENT = 0.06;

/* Render vertices and weights from which a particle gets painted values. */
typedef struct paint_source {
    int32_t vertex[3];
    float weight[3];
} paint_source;

/* Shared by the stages. */
typedef struct binding {
    const sup_bind_input *input;
    sup_model_builder *builder;
    sup_arena arena;
    sup_simulated_surface surface; /* the skin at full resolution */
    sup_bvh skin;                  /* of its triangles */
    bool has_skin, has_mesh;
    sup_tetmesh mesh;
    int32_t *joint;      /* [particles*SUP_POSITION_INFLUENCES] */
    float *weight;       /* the same count */
    int32_t *bone;       /* [particles] joint of the nearest bone, -1 for none */
    double *point;       /* [particles*3] nearest point of the bone */
    double *distance;    /* [particles] distance to it */
    bool *kinematic;     /* [particles] */
    bool *small;         /* [skin_vertex_count] per component of the skin: too small for tissue of its own */
    paint_source *paint; /* [particles] */
    sup_pbd_bound bound;
} binding;

static int32_t component_of(const binding *b, int32_t v)
{
    return b->input->rig->skin_component[b->surface.fine_source[b->surface.coarse_fine[v]]];
}

/* Finds the components that are much smaller than the body. */
static bool find_small_components(binding *b)
{
    const sup_rig *rig = b->input->rig;
    size_t components = (size_t)rig->skin_vertex_count;
    float *box =
        sup_arena_alloc(&b->arena, components, 6 * sizeof *box); /* minimum negated: only maxima are computed */
    b->small = sup_arena_alloc(&b->arena, components, sizeof *b->small);
    if (box == NULL || b->small == NULL) return false;
    for (size_t i = 0; i < 6 * components; i++)
        box[i] = -INFINITY;
    for (int64_t v = 0; v < rig->skin_vertex_count; v++)
        for (int64_t k = 0; rig->skin_component[v] >= 0 && k < 6; k++) {
            float *to = &box[6 * (int64_t)rig->skin_component[v] + k], x = rig->skin_positions[3 * v + k % 3];
            *to = fmaxf(*to, k < 3 ? -x : x);
        }
    for (size_t i = 0; i < components; i++) {
        const float *e = box + 6 * i;
        sup_vec3d extent =
            sup_v3((double)e[0] + (double)e[3], (double)e[1] + (double)e[4], (double)e[2] + (double)e[5]);
        b->small[i] = e[0] > -INFINITY && sup_v3_length(extent) < SMALL_COMPONENT * (double)rig->size;
    }
    return true;
}

/* Removes the triangles of small components: teeth, claws, eyes and buttons follow the tissue, and a tooth that reaches
 * into the other jaw does not connect them. A body of only small components keeps all. */
static void drop_small_components(binding *b)
{
    sup_simulated_surface *s = &b->surface;
    int32_t remaining = 0;
    for (int64_t t = 0; t < s->coarse_triangle_count; t++)
        remaining += !b->small[component_of(b, s->coarse_triangles[3 * t])];
    if (remaining == 0) memset(b->small, 0, (size_t)b->input->rig->skin_vertex_count * sizeof *b->small);
    remaining = 0;
    for (int64_t t = 0; t < s->coarse_triangle_count; t++)
        if (!b->small[component_of(b, s->coarse_triangles[3 * t])])
            memmove(s->coarse_triangles + 3 * (int64_t)remaining++, s->coarse_triangles + 3 * t, 3 * sizeof(int32_t));
    s->coarse_triangle_count = remaining;
}

static sup_result bind_mesh(binding *b, sup_error *error)
{
    const sup_context *context = b->input->context;
    sup_result result =
        sup_simulated_surface_create(context, b->input->rig, INT32_MAX / 4, &b->arena, &b->surface, error);
    if (result != SUP_OK) return result;
    const sup_simulated_surface *s = &b->surface;
    if (!find_small_components(b)) return sup_fail_memory(error, "the tissue");
    drop_small_components(b);
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
    sup_log(context, SUP_LOG_INFO, "Tissue: %d tets, %d particles, dihedral angles %g to %g degrees, %d components.",
            b->mesh.tet_count, b->mesh.vertex_count, b->mesh.report.angle_min, b->mesh.report.angle_max,
            b->mesh.component_count);
    return SUP_OK;
}

static sup_result bind_weights(binding *b, sup_error *error)
{
    size_t particles = (size_t)b->mesh.vertex_count;
    b->joint = sup_arena_alloc(&b->arena, particles * SUP_POSITION_INFLUENCES, sizeof(int32_t));
    b->weight = sup_arena_alloc(&b->arena, particles * SUP_POSITION_INFLUENCES, sizeof(float));
    if (b->joint == NULL || b->weight == NULL) return sup_fail_memory(error, "the weights of the tissue");
    return sup_position_weights(b->input->context, &b->surface, &b->skin, b->input->rig->joint_count, &b->mesh,
                                b->joint, b->weight, error);
}

/* --- Bones --- */

static sup_vec3d particle_at(const binding *b, int32_t v)
{
    return sup_v3_load(b->mesh.positions + 3 * (int64_t)v);
}

/* The nearest bone among the influences of the particle. */
static void find_bone(binding *b, int32_t v)
{
    const sup_rig *rig = b->input->rig;
    sup_vec3d p = particle_at(b, v);
    b->bone[v] = -1;
    b->distance[v] = INFINITY;
    for (int k = 0; k < SUP_POSITION_INFLUENCES; k++) {
        int64_t i = (int64_t)v * SUP_POSITION_INFLUENCES + k, j = b->joint[i];
        if (b->weight[i] < MIN_WEIGHT) continue;
        sup_vec3d head = sup_v3_load(rig->bone_head + 3 * j), tail = sup_v3_load(rig->bone_tail + 3 * j);
        sup_vec3d q = sup_v3_lerp(head, tail, sup_v3_segment_parameter(p, head, tail));
        double distance = sup_v3_distance(p, q);
        if (!(distance < b->distance[v])) continue;
        b->distance[v] = distance;
        b->bone[v] = (int32_t)j;
        memcpy(b->point + 3 * (int64_t)v, &q, sizeof q);
    }
}

/* Whether one joint moves a particle. */
static bool moves_rigidly(const binding *b, int32_t v)
{
    return b->weight[(int64_t)v * SUP_POSITION_INFLUENCES] >= RIGID_WEIGHT;
}

static bool is_rigid(const binding *b, int32_t v)
{
    return moves_rigidly(b, v) && b->joint[(int64_t)v * SUP_POSITION_INFLUENCES] == b->bone[v];
}

/* --- Rigid components --- */

/* Joint of the rigid component (sup_rig_rigid_joints) that a corner of the skin belongs to, -1 for soft skin. */
static int32_t rigid_joint_of(const binding *b, int32_t corner)
{
    const sup_simulated_surface *s = &b->surface;
    return sup_rig_rigid_joints(b->input->rig)[s->fine_source[s->coarse_fine[corner]]];
}

static bool is_small(const binding *b, int32_t corner)
{
    int32_t component = component_of(b, corner);
    return component >= 0 && b->small[component];
}

static bool has_rigid_components(const binding *b)
{
    for (int32_t v = 0; v < b->surface.coarse_count; v++)
        if (rigid_joint_of(b, v) >= 0) return true;
    return false;
}

/* Particles inside and under rigid components become kinematic: those that one joint moves and whose nearest skin is
 * rigid (where linear blending bends the tissue beside a component, it must keep its volume), and those of the tissue
 * on which a small component without tissue of its own lies, so that neither penetrates the other more than in linear
 * blending. */
static sup_result fix_rigid_components(binding *b, sup_error *error)
{
    const sup_simulated_surface *s = &b->surface;
    sup_bvh tissue;
    if (!has_rigid_components(b)) return SUP_OK;
    for (int32_t v = 0; v < b->mesh.vertex_count; v++) {
        sup_bvh_nearest near = sup_bvh_closest(&b->skin, particle_at(b, v), INFINITY);
        if (near.triangle < 0) continue;
        b->kinematic[v] |=
            moves_rigidly(b, v) && rigid_joint_of(b, s->coarse_triangles[3 * (int64_t)near.triangle]) >= 0;
    }
    sup_result result =
        sup_bvh_create(b->input->context, b->mesh.positions, b->mesh.triangle_count, b->mesh.triangles, &tissue, error);
    if (result != SUP_OK) return result;
    for (int32_t v = 0; v < s->coarse_count; v++) {
        if (rigid_joint_of(b, v) < 0) continue;
        sup_bvh_nearest near =
            sup_bvh_closest(&tissue, sup_v3_load(s->coarse_positions + 3 * (int64_t)v), b->mesh.report.spacing);
        for (int k = 0; near.triangle >= 0 && is_small(b, v) && k < 3; k++)
            b->kinematic[b->mesh.triangles[3 * (int64_t)near.triangle + k]] = true;
    }
    sup_bvh_free(&tissue);
    return SUP_OK;
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
        return sup_fail_memory(error, "the bones of the tissue");
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
    return fix_rigid_components(b, error);
}

/* --- The model --- */

static sup_result bind_solver(binding *b, sup_error *error)
{
    size_t count = (size_t)b->mesh.vertex_count;
    double *rest = sup_arena_alloc(&b->arena, 3 * count, sizeof(double)), centre[3] = {0.0, 0.0, 0.0};
    if (rest == NULL) return sup_fail_memory(error, "the tissue");
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

/* Sum of the particle weights per joint. Small joints (eyelids, lips, toes) are left to linear blending. */
static void sum_joint_weights(const binding *b, double *moved)
{
    for (int64_t i = 0; i < (int64_t)b->mesh.vertex_count * SUP_POSITION_INFLUENCES; i++)
        moved[b->joint[i]] += (double)b->weight[i];
}

/* The fraction of the motion of each render vertex that is finer than the particles. */
static bool find_fine(const binding *b, float *fine)
{
    const sup_rig *rig = b->input->rig;
    const sup_character *character = rig->character;
    double *moved = sup_alloc_zero(&b->input->context->allocator, (size_t)rig->joint_count * sizeof *moved);
    if (moved == NULL) return false;
    sum_joint_weights(b, moved);
    for (int32_t v = 0; v < rig->vertex_count; v++)
        for (int32_t i = rig->influence_first[v]; i < rig->influence_first[v + 1]; i++)
            if (moved[rig->influence_joint[i]] < SMALL_JOINT) fine[v] += rig->influence_weight[i];
    for (int32_t m = 0; m < character->morph_count; m++) {
        const sup_primitive *primitive = &character->primitives[character->morphs[m].primitive];
        for (int32_t v = primitive->vertex_first; v < primitive->vertex_first + primitive->vertex_count; v++)
            fine[v] = 1.0f;
    }
    for (int32_t v = 0; v < rig->vertex_count; v++)
        fine[v] = fminf(fine[v], 1.0f);
    sup_free(&b->input->context->allocator, moved, (size_t)rig->joint_count * sizeof *moved);
    return true;
}

/* The anchors of the vertices of details, components too small for tissue of their own: of each detail the vertex
 * nearest to its centre. */
static bool find_anchors(binding *b, int32_t *anchor)
{
    const sup_rig *rig = b->input->rig;
    size_t components = (size_t)rig->skin_vertex_count;
    double *centre = sup_arena_alloc(&b->arena, components, 4 * sizeof *centre);
    int32_t *nearest = sup_arena_alloc(&b->arena, components, sizeof *nearest); /* vertex + 1 */
    if (centre == NULL || nearest == NULL) return false;
    for (int32_t v = 0; v < rig->skin_vertex_count; v++)
        for (int k = 0; k < 4 && rig->skin_component[v] >= 0; k++)
            centre[4 * (int64_t)rig->skin_component[v] + k] +=
                k < 3 ? (double)rig->skin_positions[3 * (int64_t)v + k] : 1.0;
    for (int32_t v = 0; v < rig->skin_vertex_count; v++) {
        int32_t c = rig->skin_component[v];
        if (c < 0 || !b->small[c]) continue;
        sup_vec3d mean =
            sup_v3_scale(sup_v3(centre[4 * (int64_t)c], centre[4 * (int64_t)c + 1], centre[4 * (int64_t)c + 2]),
                         1.0 / centre[4 * (int64_t)c + 3]);
        const float *best = rig->skin_positions + 3 * (int64_t)(nearest[c] - 1);
        sup_vec3d here = sup_v3_load(rig->skin_positions + 3 * (int64_t)v);
        if (nearest[c] == 0 || sup_v3_distance(here, mean) < sup_v3_distance(sup_v3_load(best), mean))
            nearest[c] = v + 1;
    }
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        int32_t skin = rig->vertex_to_skin[v], c = skin >= 0 ? rig->skin_component[skin] : -1;
        anchor[v] = c >= 0 && b->small[c] ? rig->skin_to_vertex[nearest[c] - 1] : -1;
    }
    return true;
}

static sup_result bind_embedding(binding *b, sup_error *error)
{
    const sup_rig *rig = b->input->rig;
    bool *follows = sup_arena_alloc(&b->arena, (size_t)rig->vertex_count, sizeof(bool));
    float *fine = sup_arena_alloc(&b->arena, (size_t)rig->vertex_count, sizeof(float));
    int32_t *anchor = sup_arena_alloc(&b->arena, (size_t)rig->vertex_count, sizeof(int32_t));
    if (follows == NULL || fine == NULL || anchor == NULL || !find_fine(b, fine) || !find_anchors(b, anchor))
        return sup_fail_memory(error, "the render mesh");
    const int32_t *rigid = sup_rig_rigid_joints(rig);
    for (int32_t v = 0; v < rig->vertex_count; v++)
        follows[v] = rig->vertex_to_skin[v] >= 0 && rigid[rig->vertex_to_skin[v]] < 0;
    sup_position_embed_def def = {.particle_count = b->mesh.vertex_count,
                                  .tet_count = b->mesh.tet_count,
                                  .triangle_count = b->mesh.triangle_count,
                                  .positions = b->mesh.positions,
                                  .tets = b->mesh.tets,
                                  .triangles = b->mesh.triangles,
                                  .slot = b->bound.slot,
                                  .size = rig->size,
                                  .vertex_count = rig->vertex_count,
                                  .vertices = rig->positions,
                                  .normals = rig->normals,
                                  .rig = rig,
                                  .joint = b->joint,
                                  .weight = b->weight,
                                  .reach = FOLLOW_REACH * b->mesh.report.spacing,
                                  .tangents = rig->tangents,
                                  .fine = fine,
                                  .follows = follows,
                                  .anchor = anchor};
    return sup_position_embed_bind(b->input->context, &def, b->builder, "embed", error);
}

/* The paint source at barycentric coordinates u, v of skin triangle t. */
static paint_source painted_at(const binding *b, int32_t t, double u, double v)
{
    const sup_simulated_surface *s = &b->surface;
    paint_source source = {{-1, -1, -1}, {(float)(1.0 - u - v), (float)u, (float)v}};
    for (int k = 0; t >= 0 && k < 3; k++) {
        int32_t corner = s->coarse_triangles[3 * (int64_t)t + k];
        source.vertex[k] = b->input->rig->skin_to_vertex[s->fine_source[s->coarse_fine[corner]]];
    }
    return source;
}

/* The point where the ray from the bone through the particle meets the skin, and its paint source. */
static sup_vec3d skin_over(const binding *b, int32_t v, paint_source *painted)
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

/* Paint sources of the slots, and the values painted at bind. */
static sup_result bind_paint(binding *b, sup_error *error)
{
    int64_t slots = b->bound.slot_count;
    int32_t *vertex = sup_model_add(b->builder, "position.paintvertex", SUP_ARRAY_INT32, 3 * slots);
    float *weight = sup_model_add(b->builder, "position.paintweight", SUP_ARRAY_FLOAT, 3 * slots);
    float *painted = sup_model_add(b->builder, "position.painted", SUP_ARRAY_FLOAT, SUP_POSITION_MAP_COUNT * slots);
    if (vertex == NULL || weight == NULL || painted == NULL) return sup_fail_memory(error, "the painted regions");
    for (int64_t i = 0; i < 3 * slots; i++)
        vertex[i] = -1;
    for (int32_t v = 0; v < b->mesh.vertex_count; v++) {
        memcpy(vertex + 3 * (int64_t)b->bound.slot[v], b->paint[v].vertex, sizeof b->paint[v].vertex);
        memcpy(weight + 3 * (int64_t)b->bound.slot[v], b->paint[v].weight, sizeof b->paint[v].weight);
    }
    for (int32_t map = 0; map < SUP_POSITION_MAP_COUNT; map++) {
        for (int64_t i = 0; i < slots; i++)
            painted[SUP_POSITION_MAP_COUNT * i + map] = sup_position_maps[map].default_value;
        if (b->input->maps != NULL && b->input->maps[map] != NULL)
            sup_position_paint_particles(slots, vertex, weight, map, b->input->maps[map], painted);
    }
    return SUP_OK;
}

static sup_result bind_particles(binding *b, sup_error *error)
{
    int64_t slots = b->bound.slot_count;
    int32_t *joint = sup_model_add(b->builder, "position.joint", SUP_ARRAY_INT32, slots * SUP_POSITION_INFLUENCES);
    float *weight = sup_model_add(b->builder, "position.weight", SUP_ARRAY_FLOAT, slots * SUP_POSITION_INFLUENCES);
    float *rest = sup_model_add(b->builder, "position.rest", SUP_ARRAY_FLOAT, 4 * slots);
    int32_t *bone = sup_model_add(b->builder, "position.bone", SUP_ARRAY_INT32, slots);
    float *point = sup_model_add(b->builder, "position.point", SUP_ARRAY_FLOAT, 4 * slots);
    float *surface = sup_model_add(b->builder, "position.surface", SUP_ARRAY_FLOAT, 4 * slots);
    if (joint == NULL || weight == NULL || rest == NULL || bone == NULL || point == NULL || surface == NULL)
        return sup_fail_memory(error, "the tissue");
    b->paint = sup_arena_alloc(&b->arena, (size_t)b->mesh.vertex_count, sizeof *b->paint);
    if (b->paint == NULL) return sup_fail_memory(error, "the painted regions");
    for (int64_t i = 0; i < slots; i++) { /* padding follows joint 0 */
        weight[i * SUP_POSITION_INFLUENCES] = 1.0f;
        bone[i] = -1;
        memcpy(rest + 4 * i, b->mesh.positions, 3 * sizeof(float));
    }
    for (int32_t v = 0; v < b->mesh.vertex_count; v++) {
        int64_t to = b->bound.slot[v], from = (int64_t)v * SUP_POSITION_INFLUENCES;
        memcpy(joint + to * SUP_POSITION_INFLUENCES, b->joint + from, SUP_POSITION_INFLUENCES * sizeof *joint);
        memcpy(weight + to * SUP_POSITION_INFLUENCES, b->weight + from, SUP_POSITION_INFLUENCES * sizeof *weight);
        memcpy(rest + 4 * to, b->mesh.positions + 3 * (int64_t)v, 3 * sizeof(float));
        sup_v3_store(surface + 4 * to, skin_over(b, v, &b->paint[v]));
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
    sup_collide_def def = {.rig = b->input->rig,
                           .mesh = &b->mesh,
                           .slot = b->bound.slot,
                           .bone = b->bone,
                           .kinematic = b->kinematic,
                           .skin = &b->skin,
                           .slot_count = b->bound.slot_count};
    sup_result result = sup_collide_bind(b->input->context, &def, b->builder, "contact", error);
    if (result == SUP_OK)
        result = sup_volume_correction_bind(b->input->context, b->input->rig, b->builder, "correction", error);
    if (result == SUP_OK) result = sup_skin_limit_bind(b->input->context, b->input->rig, b->builder, "limit", error);
    return result;
}

/* Joints, size and unit of the character. */
static sup_result bind_joints(binding *b, sup_error *error)
{
    const sup_rig *rig = b->input->rig;
    int64_t joints = rig->joint_count;
    int32_t *node = sup_model_add(b->builder, "position.node", SUP_ARRAY_INT32, joints);
    float *inverse = sup_model_add(b->builder, "position.inverse", SUP_ARRAY_FLOAT, 12 * joints);
    float *centre = sup_model_add(b->builder, "position.centre", SUP_ARRAY_FLOAT, 3 * joints);
    float *scale = sup_model_add(b->builder, "position.scale", SUP_ARRAY_FLOAT, 2);
    int32_t *stats = sup_model_add(b->builder, "stats", SUP_ARRAY_INT32, 2);
    if (node == NULL || inverse == NULL || centre == NULL || scale == NULL || stats == NULL)
        return sup_fail_memory(error, "the joints");
    memcpy(node, rig->joint_node, (size_t)joints * sizeof *node);
    memcpy(inverse, rig->joint_inverse_bind, (size_t)joints * sizeof(sup_mat34));
    for (int64_t j = 0; j < joints; j++)
        for (int c = 0; c < 3; c++)
            centre[3 * j + c] = rig->joint_bind[j].m[4 * c + 3];
    scale[0] = rig->size;
    scale[1] = rig->character->unit_metres;
    stats[0] = b->mesh.vertex_count;
    stats[1] = b->mesh.tet_count;
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
                  {bind_embedding, "skin", 0.94f},  {bind_particles, "particles", 0.96f},
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

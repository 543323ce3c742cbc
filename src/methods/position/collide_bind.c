/* collide_bind.c - data for contact: surface, exit triangles of tets, and the bone of each tet. */
#include "geometry/normals.h"
#include "math/vec3.h"
#include "methods/position/collide.h"

#include <stdlib.h>

/* A joint gets a plane when the end of the upper bone is this near to the head of the lower one, in lengths of the
 * shorter bone. */
static const double JOINT_GAP = 0.35;
/* Particles further behind the plane of their joint at rest ignore it, in lengths of the shorter bone. */
static const double MAX_BEHIND = 0.25;
/* Maximum height of the skin above a particle, in cells of the lattice. */
static const double MAX_SKIN_HEIGHT = 0.5;
/* Minimum weight of a bone to be a candidate for the nearest bone. */
static const float MIN_WEIGHT = 0.1f;

typedef struct binding {
    const sup_context *context;
    const sup_collide_def *def;
    sup_model_builder *builder;
    const char *prefix;
    sup_arena arena;
    int32_t surface_count;
    int32_t *surface; /* [particles] index of a surface particle, or -1 */
    int32_t *tet_bone, *tet_slot, *tet_first;
} binding;

static void *add(const binding *b, const char *name, sup_array_type type, int64_t count)
{
    char full[64];
    sup_format(full, sizeof full, "%s.%s", b->prefix, name);
    return sup_model_add(b->builder, full, type, count);
}

/* --- The surface --- */

typedef struct half_edge {
    int32_t low, high, triangle, corner;
} half_edge;

static int compare_half_edges(const void *a, const void *b)
{
    const half_edge *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    if (x->high != y->high) return x->high < y->high ? -1 : 1;
    return (x->triangle > y->triangle) - (x->triangle < y->triangle);
}

static bool bind_neighbours(binding *b)
{
    const sup_tetmesh *mesh = b->def->mesh;
    int64_t sides = 3 * (int64_t)mesh->triangle_count;
    int32_t *neighbour = add(b, "neighbour", SUP_ARRAY_INT32, sides);
    half_edge *all = sup_arena_alloc(&b->arena, (size_t)sides, sizeof *all);
    if (neighbour == NULL || all == NULL) return false;
    for (int64_t i = 0; i < sides; i++) {
        const int32_t *t = mesh->triangles + i / 3 * 3;
        int32_t u = t[(i + 1) % 3], v = t[(i + 2) % 3];
        all[i] = (half_edge){u < v ? u : v, u < v ? v : u, (int32_t)(i / 3), (int32_t)(i % 3)};
        neighbour[i] = -1;
    }
    qsort(all, (size_t)sides, sizeof *all, compare_half_edges);
    for (int64_t i = 0; i < sides;) {
        int64_t end = i + 1;
        while (end < sides && all[end].low == all[i].low && all[end].high == all[i].high)
            end++;
        if (end - i == 2) { /* non-manifold edges have no neighbour */
            neighbour[3 * (int64_t)all[i].triangle + all[i].corner] = all[i + 1].triangle;
            neighbour[3 * (int64_t)all[i + 1].triangle + all[i + 1].corner] = all[i].triangle;
        }
        i = end;
    }
    return true;
}

/* Height of the skin above the surface particles: contact is between skins, not between tets. */
static bool bind_skin_height(binding *b)
{
    const sup_tetmesh *mesh = b->def->mesh;
    double *normals = sup_arena_alloc(&b->arena, 3 * (size_t)mesh->vertex_count, sizeof(double));
    float *skin_height = add(b, "skin_height", SUP_ARRAY_FLOAT, b->surface_count);
    if (normals == NULL || skin_height == NULL) return false;
    sup_vertex_normals(mesh->vertex_count, mesh->positions, mesh->triangle_count, mesh->triangles, NULL, normals);
    for (int64_t v = 0; v < mesh->vertex_count; v++) {
        if (b->surface[v] < 0) continue;
        double reach = MAX_SKIN_HEIGHT * (double)mesh->size[v];
        sup_vec3d p = sup_v3_load(mesh->positions + 3 * v);
        sup_bvh_nearest near = sup_bvh_closest(b->def->skin, p, reach);
        if (near.triangle < 0) continue;
        double height =
            sup_v3_dot(sup_v3_sub(near.point, p), sup_v3(normals[3 * v], normals[3 * v + 1], normals[3 * v + 2]));
        skin_height[b->surface[v]] = (float)(fmax(height, 0.0) / (double)b->def->rig->size);
    }
    return true;
}

static bool bind_surface(binding *b)
{
    const sup_tetmesh *mesh = b->def->mesh;
    b->surface = sup_arena_alloc(&b->arena, (size_t)mesh->vertex_count, sizeof(int32_t));
    int32_t *triangle = add(b, "triangle", SUP_ARRAY_INT32, 3 * (int64_t)mesh->triangle_count);
    float *edge = add(b, "edge", SUP_ARRAY_FLOAT, 1);
    if (b->surface == NULL || triangle == NULL || edge == NULL) return false;
    memset(b->surface, -1, (size_t)mesh->vertex_count * sizeof(int32_t));
    double sum = 0.0;
    for (int64_t i = 0; i < 3 * (int64_t)mesh->triangle_count; i++) {
        int32_t v = mesh->triangles[i], w = mesh->triangles[i % 3 == 2 ? i - 2 : i + 1];
        if (b->surface[v] < 0) b->surface[v] = b->surface_count++;
        triangle[i] = b->surface[v];
        sum += sup_v3_distance(sup_v3_load(mesh->positions + 3 * (int64_t)v),
                               sup_v3_load(mesh->positions + 3 * (int64_t)w));
    }
    edge[0] = (float)(sum / (3.0 * (mesh->triangle_count > 0 ? mesh->triangle_count : 1)) / (double)b->def->rig->size);
    int32_t *slot = add(b, "slot", SUP_ARRAY_INT32, b->surface_count);
    int32_t *bone = add(b, "bone_of", SUP_ARRAY_INT32, b->surface_count);
    if (slot == NULL || bone == NULL) return false;
    for (int32_t v = 0; v < mesh->vertex_count; v++)
        if (b->surface[v] >= 0) {
            slot[b->surface[v]] = b->def->slot[v];
            bone[b->surface[v]] = b->def->bone[v];
        }
    return bind_neighbours(b) && bind_skin_height(b);
}

/* --- Tets by bone --- */

/* The bone of most corners; the first one in a tie. */
static int32_t bone_of_tet(const binding *b, const int32_t *tet)
{
    int32_t best = -1, best_count = 0;
    for (int i = 0; i < 4; i++) {
        int32_t bone = b->def->bone[tet[i]], count = 0;
        for (int k = 0; k < 4; k++)
            count += b->def->bone[tet[k]] == bone;
        if (bone >= 0 && count > best_count) best = bone, best_count = count;
    }
    return best;
}

static bool sort_tets(binding *b)
{
    const sup_tetmesh *mesh = b->def->mesh;
    int32_t joints = b->def->rig->joint_count;
    b->tet_first = add(b, "tet_first", SUP_ARRAY_INT32, (int64_t)joints + 1);
    b->tet_bone = sup_arena_alloc(&b->arena, (size_t)mesh->tet_count, sizeof(int32_t));
    b->tet_slot = sup_arena_alloc(&b->arena, (size_t)mesh->tet_count, sizeof(int32_t));
    int32_t *fill = sup_arena_alloc(&b->arena, (size_t)joints + 1, sizeof(int32_t));
    if (b->tet_first == NULL || b->tet_bone == NULL || b->tet_slot == NULL || fill == NULL) return false;
    for (int32_t t = 0; t < mesh->tet_count; t++) {
        b->tet_bone[t] = bone_of_tet(b, mesh->tets + 4 * (int64_t)t);
        if (b->tet_bone[t] >= 0) b->tet_first[b->tet_bone[t] + 1]++;
    }
    for (int32_t j = 0; j < joints; j++)
        b->tet_first[j + 1] += b->tet_first[j];
    memcpy(fill, b->tet_first, (size_t)joints * sizeof(int32_t));
    for (int32_t t = 0; t < mesh->tet_count; t++)
        b->tet_slot[t] = b->tet_bone[t] >= 0 ? fill[b->tet_bone[t]]++ : -1;
    return true;
}

static sup_result bind_tets(binding *b, sup_error *error)
{
    const sup_tetmesh *mesh = b->def->mesh;
    if (!sort_tets(b)) return sup_fail_memory(error, "the contacts");
    int32_t count = b->tet_first[b->def->rig->joint_count];
    int32_t *tet = add(b, "tet", SUP_ARRAY_INT32, 4 * (int64_t)count);
    int32_t *exit_triangle = add(b, "exit_triangle", SUP_ARRAY_INT32, count);
    if (tet == NULL || exit_triangle == NULL) return sup_fail_memory(error, "the contacts");
    sup_bvh tree;
    sup_result result =
        sup_bvh_create(b->context, mesh->positions, mesh->triangle_count, mesh->triangles, &tree, error);
    if (result != SUP_OK) return result;
    for (int32_t t = 0; t < mesh->tet_count; t++) {
        if (b->tet_slot[t] < 0) continue;
        sup_vec3d middle = {0};
        for (int k = 0; k < 4; k++) {
            int32_t v = mesh->tets[4 * (int64_t)t + k];
            tet[4 * (int64_t)b->tet_slot[t] + k] = b->def->slot[v];
            middle = sup_v3_madd(middle, 0.25, sup_v3_load(mesh->positions + 3 * (int64_t)v));
        }
        exit_triangle[b->tet_slot[t]] = sup_bvh_closest(&tree, middle, INFINITY).triangle;
    }
    sup_bvh_free(&tree);
    return SUP_OK;
}

/* Surface particles of a bone, and corners of its tets that belong to other bones (some twice): they bound its tissue.
 * Counts into `first`; with `slots`, writes at the positions in `first`. */
static int32_t collect_boxes(const binding *b, int32_t *last, int32_t *first, int32_t *slots)
{
    const sup_tetmesh *mesh = b->def->mesh;
    int32_t count = 0;
    for (int32_t j = 0; j < b->def->rig->joint_count; j++)
        last[j] = -1;
    for (int32_t v = 0; v < mesh->vertex_count; v++)
        if (b->surface[v] >= 0 && b->def->bone[v] >= 0) {
            if (slots != NULL) slots[first[b->def->bone[v]]] = b->def->slot[v];
            first[b->def->bone[v]]++, count++;
        }
    for (int32_t t = 0; t < mesh->tet_count; t++)
        for (int k = 0; k < 4 && b->tet_bone[t] >= 0; k++) {
            int32_t v = mesh->tets[4 * (int64_t)t + k];
            if (b->def->bone[v] == b->tet_bone[t] || last[b->tet_bone[t]] == v) continue; /* already listed */
            last[b->tet_bone[t]] = v;
            if (slots != NULL) slots[first[b->tet_bone[t]]] = b->def->slot[v];
            first[b->tet_bone[t]]++, count++;
        }
    return count;
}

static bool bind_boxes(binding *b)
{
    int32_t joints = b->def->rig->joint_count;
    int32_t *first = add(b, "box_first", SUP_ARRAY_INT32, (int64_t)joints + 1);
    int32_t *last = sup_arena_alloc(&b->arena, 2 * (size_t)joints + 1, sizeof(int32_t)), *fill = last + joints;
    if (first == NULL || last == NULL) return false;
    int32_t count = collect_boxes(b, last, first + 1, NULL);
    for (int32_t j = 0; j < joints; j++)
        first[j + 1] += first[j];
    int32_t *slots = add(b, "box_slot", SUP_ARRAY_INT32, count);
    if (slots == NULL) return false;
    memcpy(fill, first, (size_t)joints * sizeof(int32_t));
    collect_boxes(b, last, fill, slots);
    return true;
}

/* --- Planes --- */

static sup_vec3d at(const float *points, int32_t i)
{
    return sup_v3_load(points + 3 * (int64_t)i);
}

/* Whether bone `j` starts at the end of its parent; computes the plane between them at rest. */
static bool plane_at_rest(const sup_rig *rig, int32_t j, sup_vec3d *normal, double *reach)
{
    int32_t parent = rig->joint_parent[j];
    if (parent < 0) return false;
    sup_vec3d joint = at(rig->bone_head, j), lower = sup_v3_sub(at(rig->bone_tail, j), joint),
              upper = sup_v3_sub(at(rig->bone_head, parent), joint), none = {0};
    double shorter = fmin(sup_v3_length(lower), sup_v3_length(upper));
    if (!(shorter > 0.0) || sup_v3_distance(joint, at(rig->bone_tail, parent)) > JOINT_GAP * shorter) return false;
    *normal = sup_v3_unit_or(sup_v3_sub(sup_v3_unit_or(lower, none), sup_v3_unit_or(upper, none)), none);
    *reach = shorter;
    return sup_v3_length(*normal) > 0.0;
}

/* Candidates for planes: particles or render vertices. */
typedef struct points {
    int32_t count;
    const float *positions; /* [count*3] */
    const int32_t *bone;    /* [count] joint of the nearest bone, or -1 */
    const bool *fixed;      /* [count] ignores planes; NULL: none */
    const int32_t *number;  /* [count] index to store; NULL: the index itself */
} points;

/* Entries of the plane of joint j, on one side or on both (0); only counts when `to` is NULL. */
static int32_t find_plane_entries(const sup_rig *rig, const points *all, int32_t j, double which, int32_t *to,
                                  float *entry)
{
    int32_t count = 0;
    sup_vec3d normal;
    double reach;
    if (!plane_at_rest(rig, j, &normal, &reach)) return 0;
    for (int32_t v = 0; v < all->count; v++) {
        double side = all->bone[v] == j ? 1.0 : all->bone[v] == rig->joint_parent[j] ? -1.0 : 0.0;
        if (side == 0.0 || side * which < 0.0 || (all->fixed != NULL && all->fixed[v])) continue;
        sup_vec3d away = sup_v3_sub(at(all->positions, v), at(rig->bone_head, j));
        double height = side * sup_v3_dot(away, normal);
        if (sup_v3_length(away) > 1.5 * reach || height < -MAX_BEHIND * reach) continue;
        if (to != NULL) {
            to[count] = all->number != NULL ? all->number[v] : v;
            entry[2 * (int64_t)count] = (float)side;
            entry[2 * (int64_t)count + 1] = (float)(fmin(height, 0.0) / (double)rig->size);
        }
        count++;
    }
    return count;
}

static bool bind_planes(binding *b)
{
    const sup_rig *rig = b->def->rig;
    points all = {b->def->mesh->vertex_count, b->def->mesh->positions, b->def->bone, b->def->kinematic, b->def->slot};
    sup_vec3d normal;
    double reach;
    int32_t planes = 0, entries = 0;
    for (int32_t j = 0; j < rig->joint_count; j++) {
        planes += plane_at_rest(rig, j, &normal, &reach);
        entries += find_plane_entries(rig, &all, j, 0.0, NULL, NULL);
    }
    int32_t *plane = add(b, "plane", SUP_ARRAY_INT32, planes);
    int32_t *first = add(b, "plane_first", SUP_ARRAY_INT32, (int64_t)planes + 1);
    int32_t *slot = add(b, "entry_slot", SUP_ARRAY_INT32, entries);
    float *entry = add(b, "entry", SUP_ARRAY_FLOAT, 2 * (int64_t)entries);
    if (plane == NULL || first == NULL || slot == NULL || entry == NULL) return false;
    planes = 0;
    for (int32_t j = 0; j < rig->joint_count; j++)
        if (plane_at_rest(rig, j, &normal, &reach)) {
            plane[planes] = j;
            first[planes + 1] = first[planes] + find_plane_entries(rig, &all, j, 0.0, slot + first[planes],
                                                                   entry + 2 * (int64_t)first[planes]);
            planes++;
        }
    return true;
}

/* The nearest bone among the influences of a render vertex, -1 if it is not soft skin. */
static int32_t bone_of_vertex(const sup_rig *rig, int32_t v)
{
    int32_t best = -1;
    if (rig->vertex_to_skin[v] < 0 || sup_rig_rigid_joints(rig)[rig->vertex_to_skin[v]] >= 0) return -1;
    double nearest = INFINITY;
    sup_vec3d p = at(rig->positions, v);
    for (int32_t i = rig->influence_first[v]; i < rig->influence_first[v + 1]; i++) {
        int32_t j = rig->influence_joint[i];
        sup_vec3d head = at(rig->bone_head, j), tail = at(rig->bone_tail, j);
        double distance = sup_v3_distance(p, sup_v3_lerp(head, tail, sup_v3_segment_parameter(p, head, tail)));
        if (rig->influence_weight[i] < MIN_WEIGHT || !(distance < nearest)) continue;
        nearest = distance;
        best = j;
    }
    return best;
}

/* Render vertices near the planes: lower side of the first, its upper side, lower side of the second, ... */
static bool bind_skin(binding *b)
{
    const sup_rig *rig = b->def->rig;
    int32_t *bone = sup_arena_alloc(&b->arena, (size_t)rig->vertex_count, sizeof *bone), planes = 0, entries = 0;
    if (bone == NULL) return false;
    for (int32_t v = 0; v < rig->vertex_count; v++)
        bone[v] = bone_of_vertex(rig, v);
    points all = {rig->vertex_count, rig->positions, bone, NULL, NULL};
    sup_vec3d normal;
    double reach;
    for (int32_t j = 0; j < rig->joint_count; j++) {
        planes += plane_at_rest(rig, j, &normal, &reach);
        entries += find_plane_entries(rig, &all, j, 0.0, NULL, NULL);
    }
    int32_t *first = add(b, "skin_first", SUP_ARRAY_INT32, 2 * (int64_t)planes + 1);
    int32_t *vertex = add(b, "skin_vertex", SUP_ARRAY_INT32, entries);
    float *entry = add(b, "skin_entry", SUP_ARRAY_FLOAT, 2 * (int64_t)entries);
    if (first == NULL || vertex == NULL || entry == NULL) return false;
    for (int32_t j = 0, k = 0; j < rig->joint_count; j++) {
        if (!plane_at_rest(rig, j, &normal, &reach)) continue;
        for (int side = 0; side < 2; side++, k++)
            first[k + 1] = first[k] + find_plane_entries(rig, &all, j, side == 0 ? 1.0 : -1.0, vertex + first[k],
                                                         entry + 2 * (int64_t)first[k]);
    }
    return true;
}

static bool bind_bones(binding *b)
{
    const sup_rig *rig = b->def->rig;
    int32_t *parent = add(b, "parent", SUP_ARRAY_INT32, rig->joint_count);
    float *bone = add(b, "bone", SUP_ARRAY_FLOAT, 6 * (int64_t)rig->joint_count);
    if (parent == NULL || bone == NULL) return false;
    memcpy(parent, rig->joint_parent, (size_t)rig->joint_count * sizeof(int32_t));
    for (int64_t j = 0; j < rig->joint_count; j++) {
        memcpy(bone + 6 * j, rig->bone_head + 3 * j, 3 * sizeof(float));
        memcpy(bone + 6 * j + 3, rig->bone_tail + 3 * j, 3 * sizeof(float));
    }
    return true;
}

sup_result sup_collide_bind(const sup_context *context, const sup_collide_def *def, sup_model_builder *builder,
                            const char *prefix, sup_error *error)
{
    binding b = {.context = context,
                 .def = def,
                 .builder = builder,
                 .prefix = prefix,
                 .arena = sup_arena_create(&context->allocator)};
    sup_result result = bind_surface(&b) ? bind_tets(&b, error) : sup_fail_memory(error, "the contacts");
    if (result == SUP_OK && !(bind_boxes(&b) && bind_bones(&b) && bind_planes(&b) && bind_skin(&b)))
        result = sup_fail_memory(error, "the contacts");
    sup_arena_destroy(&b.arena);
    return result;
}

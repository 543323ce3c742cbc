/* skeleton.c - one skeleton and one space, the bind pose in the world, for all skins and props of a character.
 *
 * A skin gives for each of its bones the map IB from mesh space to the joint. For any invertible map A from mesh space
 * to world the pair (joint inverse bind IB A^-1, positions A x) skins exactly as the file does, so A is free: it is
 * chosen such that joints which several skins share get one bind matrix, and otherwise as world_rest(joint) IB of the
 * skin's root-most joint, which is where the mesh stands in the rest pose when rest and bind pose agree. Where two
 * skins bind a node in ways that no A can bring together, the node gets a further joint (joint_is_copy).
 *
 * Nodes that carry props are joints as well: a prop moves exactly as its node, whichever nodes a pose moves. The bind
 * of a node without a bone comes from its parent's bind and its own local rest. */
#include "rig/rig.h"

/* Relative differences of maps, measured where the skin's vertices are. */
static const double rest_tolerance = 1e-4;  /* above: the rest pose is not the bind pose */
static const double share_tolerance = 2e-6; /* above: two binds of a node are two joints */

/* How far a search for an equal copy of a joint goes back: keeps lying files from costing quadratic time. */
enum { COPY_SEARCH = 16 };

typedef struct skeleton_work {
    sup_rig_build *build;
    const sup_character *character;
    sup_affine *rest;      /* [node_count] world, as the file has it */
    sup_affine *node_bind; /* [node_count] node -> world in the bind pose */
    bool *bound;           /* [node_count] node_bind comes from a bone */
    bool *listed, *wanted; /* [node_count] by a skin; as a rig joint */
    int32_t *rank;         /* [node_count] place in node_order */
    double *radius;        /* [skin_count] of the skin's vertices about the origin of mesh space */
    sup_affine *bone_bind; /* [bone_count] joint -> world for bones with an invertible matrix */
    bool *bone_good;       /* [bone_count] */
    int32_t *bone_copy;    /* [bone_count] copy that the bone uses, -1 for the node's own joint */
    int32_t *copy_bone;    /* [copy_count] bone that made a copy */
    int32_t *copy_next;    /* [copy_count] older copy of the same node */
    int32_t *node_copy;    /* [node_count] newest copy, -1 */
    int32_t copy_count;
    bool *differs; /* [node_count] rest and bind differ */
} skeleton_work;

bool sup_primitive_is_skinned(const sup_character *character, int32_t part)
{
    int32_t skin = character->primitives[part].skin;
    return skin >= 0 && character->skins[skin].bone_count > 0;
}

/* Invertible, and still so as floats. */
static bool invert(sup_affine a, sup_affine *inverse)
{
    if (!sup_affine_inverse(a, inverse)) return false;
    sup_mat34 there = sup_affine_to_float(a), back = sup_affine_to_float(*inverse);
    for (int i = 0; i < 12; i++)
        if (!isfinite(there.m[i]) || !isfinite(back.m[i])) return false;
    return true;
}

/* Largest distance of a x and b x for |x| <= radius, relative to the size of a's image; radius 0 counts as 1. */
static double map_difference(sup_affine a, sup_affine b, double radius)
{
    double linear = 0.0, difference = 0.0, shift = 0.0, r = radius > 0.0 ? radius : 1.0;
    for (int i = 0; i < 12; i++) {
        double d = a.m[i] - b.m[i];
        if (i % 4 == 3) {
            shift += d * d;
        } else {
            linear += a.m[i] * a.m[i];
            difference += d * d;
        }
    }
    return (sqrt(difference) * r + sqrt(shift)) / (sqrt(linear / 3.0) * r + 1e-300);
}

/* Local rest transform with a scale that can be undone: a part hidden by scale 0 is bound at scale 1. */
static sup_affine invertible_local(const sup_node *node)
{
    sup_transform t = node->rest;
    if (t.scale.x == 0.0f) t.scale.x = 1.0f;
    if (t.scale.y == 0.0f) t.scale.y = 1.0f;
    if (t.scale.z == 0.0f) t.scale.z = 1.0f;
    return sup_affine_from_transform(t);
}

static bool has_zero_scale(const sup_node *node)
{
    return node->rest.scale.x == 0.0f || node->rest.scale.y == 0.0f || node->rest.scale.z == 0.0f;
}

static bool allocate(skeleton_work *w)
{
    sup_arena *scratch = &w->build->scratch;
    const sup_character *c = w->character;
    size_t nodes = (size_t)c->node_count, bones = (size_t)c->bone_count, skins = (size_t)c->skin_count;
    w->rest = sup_arena_alloc(scratch, nodes, sizeof *w->rest);
    w->node_bind = sup_arena_alloc(scratch, nodes, sizeof *w->node_bind);
    w->bound = sup_arena_alloc(scratch, nodes, sizeof *w->bound);
    w->listed = sup_arena_alloc(scratch, nodes, sizeof *w->listed);
    w->wanted = sup_arena_alloc(scratch, nodes, sizeof *w->wanted);
    w->differs = sup_arena_alloc(scratch, nodes, sizeof *w->differs);
    w->rank = sup_arena_alloc(scratch, nodes, sizeof *w->rank);
    w->node_copy = sup_arena_alloc(scratch, nodes, sizeof *w->node_copy);
    w->radius = sup_arena_alloc(scratch, skins, sizeof *w->radius);
    w->bone_bind = sup_arena_alloc(scratch, bones, sizeof *w->bone_bind);
    w->bone_good = sup_arena_alloc(scratch, bones, sizeof *w->bone_good);
    w->bone_copy = sup_arena_alloc(scratch, bones, sizeof *w->bone_copy);
    w->copy_bone = sup_arena_alloc(scratch, bones, sizeof *w->copy_bone);
    w->copy_next = sup_arena_alloc(scratch, bones, sizeof *w->copy_next);
    sup_rig_build *b = w->build;
    b->skin_map = sup_arena_alloc(scratch, skins, sizeof *b->skin_map);
    b->part_map = sup_arena_alloc(scratch, (size_t)c->primitive_count, sizeof *b->part_map);
    b->bone_joint = sup_arena_alloc(scratch, bones, sizeof *b->bone_joint);
    b->node_joint = sup_arena_alloc(scratch, nodes, sizeof *b->node_joint);
    b->node_listed = w->listed;
    return w->rest != NULL && w->node_bind != NULL && w->bound != NULL && w->listed != NULL && w->wanted != NULL &&
           w->differs != NULL && w->rank != NULL && w->node_copy != NULL && w->radius != NULL && w->bone_bind != NULL &&
           w->bone_good != NULL && w->bone_copy != NULL && w->copy_bone != NULL && w->copy_next != NULL &&
           b->skin_map != NULL && b->part_map != NULL && b->bone_joint != NULL && b->node_joint != NULL;
}

/* Rest pose, ranks, and which nodes become joints. */
static void survey_nodes(skeleton_work *w)
{
    const sup_character *c = w->character;
    for (int32_t s = 0; s < c->skin_count; s++)
        for (int32_t b = c->skins[s].bone_first; b < c->skins[s].bone_first + c->skins[s].bone_count; b++)
            w->listed[c->bones[b].node] = true;
    for (int32_t i = 0; i < c->node_count; i++) {
        int32_t node = c->node_order[i], parent = c->nodes[node].parent;
        sup_affine local = sup_affine_from_transform(c->nodes[node].rest);
        w->rest[node] = parent < 0 ? local : sup_affine_multiply(w->rest[parent], local);
        w->rank[node] = i;
        w->node_copy[node] = -1;
    }
    /* Between two listed nodes: something listed below (children come later in the order) and above. */
    for (int32_t i = c->node_count - 1; i >= 0; i--) {
        int32_t node = c->node_order[i], parent = c->nodes[node].parent;
        if (parent >= 0 && (w->listed[node] || w->wanted[node])) w->wanted[parent] = true;
    }
    for (int32_t i = 0; i < c->node_count; i++) {
        int32_t node = c->node_order[i], parent = c->nodes[node].parent;
        w->wanted[node] = w->listed[node] || (w->wanted[node] && parent >= 0 && w->wanted[parent]);
    }
}

static void measure_skins(skeleton_work *w)
{
    const sup_character *c = w->character;
    for (int32_t p = 0; p < c->primitive_count; p++) {
        const sup_primitive *part = &c->primitives[p];
        if (part->skin < 0) continue;
        for (int32_t v = part->vertex_first; v < part->vertex_first + part->vertex_count; v++) {
            double length = sup_v3_length(sup_v3_load(c->positions + 3 * (size_t)v));
            if (isfinite(length) && length > w->radius[part->skin]) w->radius[part->skin] = length;
        }
    }
}

static sup_affine bone_matrix(const skeleton_work *w, int32_t bone)
{
    return sup_affine_from_float(w->character->bones[bone].inverse_bind);
}

/* The skin's map A (see the head of the file). */
static sup_affine choose_map(const skeleton_work *w, int32_t skin)
{
    const sup_skin *s = &w->character->skins[skin];
    int32_t best = -1;
    bool best_shared = false;
    sup_affine best_map = sup_affine_identity(), ignored;
    for (int32_t b = s->bone_first; b < s->bone_first + s->bone_count; b++) {
        int32_t node = w->character->bones[b].node;
        if (!w->bone_good[b]) continue;
        bool shared = w->bound[node];
        if (best >= 0 && (best_shared > shared ||
                          (best_shared == shared && w->rank[node] >= w->rank[w->character->bones[best].node])))
            continue;
        sup_affine map = sup_affine_multiply(shared ? w->node_bind[node] : w->rest[node], bone_matrix(w, b));
        if (!invert(map, &ignored)) continue;
        best = b;
        best_shared = shared;
        best_map = map;
    }
    /* Rounding aside the mesh stands where its numbers say: then keep the numbers, unless shared joints would mind. */
    double rounding = best_shared ? 0.5 * share_tolerance : 1e-5;
    if (map_difference(sup_affine_identity(), best_map, w->radius[skin]) < rounding) best_map = sup_affine_identity();
    return best_map;
}

/* The copy of the bone's node with this bind, an old one or a new one. */
static int32_t find_copy(skeleton_work *w, int32_t bone, double radius)
{
    int32_t node = w->character->bones[bone].node, steps = 0;
    for (int32_t k = w->node_copy[node]; k >= 0 && steps < COPY_SEARCH; k = w->copy_next[k], steps++) {
        sup_affine inverse, other;
        sup_affine_inverse(w->bone_bind[bone], &inverse);
        sup_affine_inverse(w->bone_bind[w->copy_bone[k]], &other);
        if (map_difference(inverse, other, radius) <= share_tolerance) return k;
    }
    int32_t copy = w->copy_count++;
    w->copy_bone[copy] = bone;
    w->copy_next[copy] = w->node_copy[node];
    w->node_copy[node] = copy;
    return copy;
}

/* Largest distance from the origin of the world that the skin's vertices have under its map. */
static double world_radius(const skeleton_work *w, int32_t skin, sup_affine map)
{
    double linear = 0.0;
    for (int i = 0; i < 12; i++)
        if (i % 4 != 3) linear += map.m[i] * map.m[i];
    return sqrt(linear / 3.0) * w->radius[skin] + sup_v3_length(sup_affine_translation(map));
}

static void bind_skin(skeleton_work *w, int32_t skin)
{
    const sup_skin *s = &w->character->skins[skin];
    for (int32_t b = s->bone_first; b < s->bone_first + s->bone_count; b++)
        w->bone_good[b] = invert(bone_matrix(w, b), &w->bone_bind[b]); /* joint -> mesh space for now */
    sup_affine map = choose_map(w, skin), ignored;
    w->build->skin_map[skin] = map;
    double radius = world_radius(w, skin, map);
    for (int32_t b = s->bone_first; b < s->bone_first + s->bone_count; b++) {
        int32_t node = w->character->bones[b].node;
        w->bone_copy[b] = -1;
        if (!w->bone_good[b]) continue;
        if (invert(w->rest[node], &ignored) &&
            map_difference(map, sup_affine_multiply(w->rest[node], bone_matrix(w, b)), w->radius[skin]) >
                rest_tolerance)
            w->differs[node] = true;
        w->bone_bind[b] = sup_affine_multiply(map, w->bone_bind[b]);
        if (!w->bound[node]) {
            w->bound[node] = true;
            w->node_bind[node] = w->bone_bind[b];
            continue;
        }
        sup_affine own, other;
        sup_affine_inverse(w->node_bind[node], &own);
        sup_affine_inverse(w->bone_bind[b], &other);
        if (map_difference(own, other, radius) > share_tolerance) w->bone_copy[b] = find_copy(w, b, radius);
    }
}

/* Binds of all nodes without a bone, parents first. */
static void bind_other_nodes(skeleton_work *w)
{
    const sup_character *c = w->character;
    for (int32_t i = 0; i < c->node_count; i++) {
        int32_t node = c->node_order[i], parent = c->nodes[node].parent;
        sup_affine ignored;
        if (w->bound[node]) continue;
        sup_affine local = invertible_local(&c->nodes[node]);
        sup_affine bind = parent < 0 ? local : sup_affine_multiply(w->node_bind[parent], local);
        if (!invert(bind, &ignored)) { /* scales too small to undo: keep the place */
            sup_vec3d place = sup_affine_translation(bind);
            bind = sup_affine_from_trs(sup_v3_finite(place) ? place : sup_v3(0, 0, 0), (sup_quatd){0, 0, 0, 1},
                                       sup_v3(1, 1, 1));
        }
        w->node_bind[node] = bind;
    }
}

static void add_joint(skeleton_work *w, int32_t node, sup_affine bind, bool copy, sup_rig *rig, int32_t *nodes,
                      sup_mat34 *binds, sup_mat34 *inverses)
{
    int32_t j = rig->joint_count++, up = w->character->nodes[node].parent;
    sup_affine inverse;
    sup_affine_inverse(bind, &inverse);
    nodes[j] = node;
    /* node_joint of a node that is no joint holds the joint above it while the joints are numbered. */
    w->build->joint_parent[j] = up < 0 ? -1 : w->build->node_joint[up];
    w->build->joint_is_copy[j] = copy;
    w->build->bind[j] = bind;
    binds[j] = sup_affine_to_float(bind);
    inverses[j] = sup_affine_to_float(inverse);
}

/* Joints in the order of the nodes, copies of a joint right after it. */
static sup_result number_joints(skeleton_work *w, const bool *carries_prop, sup_error *error)
{
    const sup_character *c = w->character;
    sup_rig_build *build = w->build;
    size_t count = (size_t)w->copy_count;
    for (int32_t n = 0; n < c->node_count; n++)
        count += w->wanted[n] || carries_prop[n];
    int32_t *nodes = sup_arena_alloc(build->arena, count, sizeof *nodes);
    int32_t *parents = sup_arena_alloc(build->arena, count, sizeof *parents);
    sup_mat34 *binds = sup_arena_alloc(build->arena, count, sizeof *binds);
    sup_mat34 *inverses = sup_arena_alloc(build->arena, count, sizeof *inverses);
    int32_t *copy_joint = sup_arena_alloc(&build->scratch, (size_t)w->copy_count, sizeof *copy_joint);
    build->bind = sup_arena_alloc(&build->scratch, count, sizeof *build->bind);
    build->joint_is_bone = sup_arena_alloc(&build->scratch, count, sizeof *build->joint_is_bone);
    build->joint_is_copy = sup_arena_alloc(&build->scratch, count, sizeof *build->joint_is_copy);
    if (nodes == NULL || parents == NULL || binds == NULL || inverses == NULL || copy_joint == NULL ||
        build->bind == NULL || build->joint_is_bone == NULL || build->joint_is_copy == NULL)
        return sup_fail_memory(error, "the joints");
    sup_rig *rig = build->rig;
    build->joint_parent = parents;
    for (int32_t i = 0; i < c->node_count; i++) {
        int32_t node = c->node_order[i], up = c->nodes[node].parent;
        build->node_joint[node] = up < 0 ? -1 : build->node_joint[up];
        if (!w->wanted[node] && !carries_prop[node]) continue;
        int32_t own = rig->joint_count;
        build->joint_is_bone[own] = w->wanted[node];
        add_joint(w, node, w->node_bind[node], false, rig, nodes, binds, inverses);
        for (int32_t k = w->node_copy[node]; k >= 0; k = w->copy_next[k]) {
            copy_joint[k] = rig->joint_count;
            build->joint_is_bone[rig->joint_count] = true;
            add_joint(w, node, w->bone_bind[w->copy_bone[k]], true, rig, nodes, binds, inverses);
        }
        build->node_joint[node] = own;
    }
    for (int32_t b = 0; b < c->bone_count; b++)
        build->bone_joint[b] = -1;
    for (int32_t s = 0; s < c->skin_count; s++)
        for (int32_t b = c->skins[s].bone_first; b < c->skins[s].bone_first + c->skins[s].bone_count; b++)
            build->bone_joint[b] =
                w->bone_copy[b] < 0 ? build->node_joint[c->bones[b].node] : copy_joint[w->bone_copy[b]];
    for (int32_t n = 0; n < c->node_count; n++)
        if (!w->wanted[n] && !carries_prop[n]) build->node_joint[n] = -1;
    rig->joint_node = nodes;
    rig->joint_parent = parents;
    rig->joint_bind = binds;
    rig->joint_inverse_bind = inverses;
    return SUP_OK;
}

/* Marks bones that a vertex uses. */
static bool *used_bones(const skeleton_work *w)
{
    const sup_character *c = w->character;
    bool *used = sup_arena_alloc(&w->build->scratch, (size_t)c->bone_count, sizeof *used);
    int32_t total = c->vertex_count > 0 ? c->influence_first[c->vertex_count] : 0;
    for (int32_t k = 0; used != NULL && k < total; k++)
        if (c->influence_weight[k] > 0.0f) used[c->influence_bone[k]] = true;
    return used;
}

static sup_result report_matrices(skeleton_work *w, sup_error *error)
{
    const sup_character *c = w->character;
    bool *used = used_bones(w);
    if (used == NULL) return sup_fail_memory(error, "the bones");
    int32_t mended = 0, first_mended = -1, lost = 0, first_lost = -1;
    for (int32_t s = 0; s < c->skin_count; s++)
        for (int32_t b = c->skins[s].bone_first; b < c->skins[s].bone_first + c->skins[s].bone_count; b++) {
            if (w->bone_good[b]) continue;
            bool hopeless = used[b] && !w->bound[c->bones[b].node] && has_zero_scale(&c->nodes[c->bones[b].node]);
            if (hopeless && lost++ == 0) first_lost = b;
            if (!hopeless && mended++ == 0) first_mended = b;
        }
    sup_result result = sup_rig_defect(
        w->build, SUP_DEFECT_SINGULAR_INVERSE_BIND, SUP_SEVERITY_FATAL, -1, lost, first_lost, error,
        "Inverse bind matrices that cannot be inverted, nor can the joint's rest pose: %d (first: bone %d, joint %s).",
        lost, first_lost, first_lost < 0 ? "" : sup_rig_node_name(w->build, c->bones[first_lost].node));
    if (result != SUP_OK) return result;
    return sup_rig_defect(
        w->build, SUP_DEFECT_SINGULAR_INVERSE_BIND, SUP_SEVERITY_REPAIRED, -1, mended, first_mended, error,
        "Inverse bind matrices that cannot be inverted; the joint's rest pose is used: %d (first: bone %d, joint %s).",
        mended, first_mended, first_mended < 0 ? "" : sup_rig_node_name(w->build, c->bones[first_mended].node));
}

static sup_result report_nodes(skeleton_work *w, sup_error *error)
{
    const sup_character *c = w->character;
    int32_t differ = 0, first_differ = -1, zero = 0, first_zero = -1;
    for (int32_t n = 0; n < c->node_count; n++) {
        if (w->differs[n] && differ++ == 0) first_differ = n;
        if (w->build->node_joint[n] >= 0 && has_zero_scale(&c->nodes[n]) && zero++ == 0) first_zero = n;
    }
    sup_result result =
        sup_rig_defect(w->build, SUP_DEFECT_REST_DIFFERS_FROM_BIND, SUP_SEVERITY_NOTE, -1, differ, first_differ, error,
                       "The rest pose of %d joint%s is not the bind pose, which counts (first: %s).", differ,
                       sup_plural(differ), first_differ < 0 ? "" : sup_rig_node_name(w->build, first_differ));
    if (result != SUP_OK) return result;
    return sup_rig_defect(w->build, SUP_DEFECT_ZERO_SCALE_JOINT, SUP_SEVERITY_WARNING, -1, zero, first_zero, error,
                          "%d joint%s with scale 0 in the rest pose, so what it carries has no size there (first: %s).",
                          zero, sup_plural(zero), first_zero < 0 ? "" : sup_rig_node_name(w->build, first_zero));
}

/* True, or a fatal defect that says what is missing. */
static bool has_something_to_skin(sup_rig_build *build, sup_result *result, sup_error *error)
{
    const sup_character *c = build->character;
    bool skinned = false, joints = false;
    for (int32_t p = 0; p < c->primitive_count; p++)
        skinned = skinned || sup_primitive_is_skinned(c, p);
    for (int32_t n = 0; n < c->node_count; n++)
        joints = joints || c->nodes[n].is_joint;
    const char *problem = NULL;
    if (c->vertex_count == 0)
        problem = joints ? "There is a skeleton but no mesh: give a mesh file and this file with --skeleton."
                         : "The file has no mesh: there is nothing to skin.";
    else if (!skinned && c->clip_count == 0 && !joints)
        problem = "The mesh has no skeleton: give a skeleton with --skeleton FILE.skel.";
    else if (!skinned && c->clip_count == 0)
        problem = "No part of the mesh is bound to the skeleton, and no clip moves it.";
    if (problem == NULL) return true;
    *result = sup_rig_defect(build, SUP_DEFECT_NO_SKIN, SUP_SEVERITY_FATAL, -1, 1, -1, error, "%s", problem);
    return false;
}

sup_result sup_rig_skeleton(sup_rig_build *build, sup_error *error)
{
    const sup_character *c = build->character;
    sup_result result = SUP_OK;
    build->has_joints = has_something_to_skin(build, &result, error);
    if (c->vertex_count == 0) build->stop = true;
    if (result != SUP_OK || build->stop) return result;
    skeleton_work w = {.build = build, .character = c};
    bool *carries_prop = sup_arena_alloc(&build->scratch, (size_t)c->node_count, sizeof *carries_prop);
    sup_mat34 *primitive_bind = sup_arena_alloc(build->arena, (size_t)c->primitive_count, sizeof *primitive_bind);
    if (!allocate(&w) || carries_prop == NULL || primitive_bind == NULL) return sup_fail_memory(error, "the skeleton");
    survey_nodes(&w);
    measure_skins(&w);
    for (int32_t s = 0; s < c->skin_count; s++)
        bind_skin(&w, s);
    bind_other_nodes(&w);
    for (int32_t p = 0; p < c->primitive_count; p++) {
        bool skinned = sup_primitive_is_skinned(c, p);
        build->part_map[p] = skinned ? build->skin_map[c->primitives[p].skin] : w.node_bind[c->primitives[p].node];
        primitive_bind[p] = sup_affine_to_float(build->part_map[p]);
        if (!skinned) carries_prop[c->primitives[p].node] = true;
    }
    build->rig->primitive_bind = primitive_bind;
    result = number_joints(&w, carries_prop, error);
    if (result == SUP_OK) result = report_matrices(&w, error);
    if (result == SUP_OK) result = report_nodes(&w, error);
    return result;
}

/* skeleton.c - one skeleton in one space (the bind pose in world coordinates) for all skins and props of a character.
 *
 * For each of its bones a skin has the inverse bind matrix IB from mesh space to joint space. For any invertible map A
 * from mesh space to world, the inverse bind matrices IB A^-1 with the positions A x give the same skinning as the
 * file, so A can be chosen freely: so that joints shared by several skins have one bind matrix, else as
 * world_rest(joint) IB of the skin's joint nearest to the root, which is the position of the mesh in the rest pose if
 * rest and bind pose agree. If two skins bind a node with matrices that no A can reconcile, the node gets a further
 * joint (is_copy).
 *
 * Nodes of props are joints too: a prop moves exactly as its node, whichever nodes a pose moves. The bind matrix of a
 * node without a bone is the bind of its parent times its local rest transform. */
#include "rig/rig.h"

/* Relative differences of maps at the positions of the skin's vertices. */
static const double rest_tolerance = 1e-4;  /* above: the rest pose differs from the bind pose */
static const double share_tolerance = 2e-6; /* above: two bind matrices of a node need two joints */

/* Copies of a joint that are searched for an equal one: avoids quadratic time for malicious files. */
enum { COPY_SEARCH = 16 };

typedef struct skeleton_work {
    sup_rig_build *build;
    const sup_character *character;
    sup_affine *rest;      /* [node_count] world transforms of the file's rest pose */
    sup_affine *node_bind; /* [node_count] node -> world in the bind pose */
    bool *bound;           /* [node_count] node_bind is from a bone */
    bool *listed;          /* [node_count] listed by a skin */
    bool *is_joint;        /* [node_count] listed, or between listed nodes */
    int32_t *rank;         /* [node_count] index in node_order */
    double *radius;        /* [skin_count] largest distance of the skin's vertices from the origin of mesh space */
    sup_affine *bone_bind; /* [bone_count] joint -> world for bones with an invertible matrix */
    bool *bone_invertible; /* [bone_count] */
    int32_t *bone_copy;    /* [bone_count] copy that the bone uses, -1 for the node's first joint */
    int32_t *copy_bone;    /* [copy_count] bone that defines the copy */
    int32_t *copy_next;    /* [copy_count] previous copy of the same node, -1 */
    int32_t *node_copy;    /* [node_count] last copy, -1 */
    int32_t copy_count;
    bool *differs; /* [node_count] rest and bind pose differ */
} skeleton_work;

bool sup_primitive_is_skinned(const sup_character *character, int32_t primitive)
{
    int32_t skin = character->primitives[primitive].skin;
    return skin >= 0 && character->skins[skin].bone_count > 0;
}

/* Invertible, in float precision too. */
static bool invert(sup_affine a, sup_affine *inverse)
{
    if (!sup_affine_inverse(a, inverse)) return false;
    sup_mat34 forward = sup_affine_to_float(a), backward = sup_affine_to_float(*inverse);
    for (int i = 0; i < 12; i++)
        if (!isfinite(forward.m[i]) || !isfinite(backward.m[i])) return false;
    return true;
}

/* Largest distance between a x and b x for |x| <= radius, relative to the size of a's image; radius 0 means 1. */
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

/* Local rest transform with an invertible scale: a node hidden by scale 0 is bound with scale 1. */
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
    w->is_joint = sup_arena_alloc(scratch, nodes, sizeof *w->is_joint);
    w->differs = sup_arena_alloc(scratch, nodes, sizeof *w->differs);
    w->rank = sup_arena_alloc(scratch, nodes, sizeof *w->rank);
    w->node_copy = sup_arena_alloc(scratch, nodes, sizeof *w->node_copy);
    w->radius = sup_arena_alloc(scratch, skins, sizeof *w->radius);
    w->bone_bind = sup_arena_alloc(scratch, bones, sizeof *w->bone_bind);
    w->bone_invertible = sup_arena_alloc(scratch, bones, sizeof *w->bone_invertible);
    w->bone_copy = sup_arena_alloc(scratch, bones, sizeof *w->bone_copy);
    w->copy_bone = sup_arena_alloc(scratch, bones, sizeof *w->copy_bone);
    w->copy_next = sup_arena_alloc(scratch, bones, sizeof *w->copy_next);
    sup_rig_build *b = w->build;
    b->skeleton.skin_map = sup_arena_alloc(scratch, skins, sizeof *b->skeleton.skin_map);
    b->skeleton.primitive_map = sup_arena_alloc(scratch, (size_t)c->primitive_count, sizeof *b->skeleton.primitive_map);
    b->skeleton.bone_joint = sup_arena_alloc(scratch, bones, sizeof *b->skeleton.bone_joint);
    b->skeleton.node_joint = sup_arena_alloc(scratch, nodes, sizeof *b->skeleton.node_joint);
    b->skeleton.node_listed = w->listed;
    return w->rest != NULL && w->node_bind != NULL && w->bound != NULL && w->listed != NULL && w->is_joint != NULL &&
           w->differs != NULL && w->rank != NULL && w->node_copy != NULL && w->radius != NULL && w->bone_bind != NULL &&
           w->bone_invertible != NULL && w->bone_copy != NULL && w->copy_bone != NULL && w->copy_next != NULL &&
           b->skeleton.skin_map != NULL && b->skeleton.primitive_map != NULL && b->skeleton.bone_joint != NULL &&
           b->skeleton.node_joint != NULL;
}

/* Computes the rest pose and ranks, and selects the nodes that become joints. */
static void select_joints(skeleton_work *w)
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
    /* Between two listed nodes: a descendant is listed (children come later in the order), and an ancestor. */
    for (int32_t i = c->node_count - 1; i >= 0; i--) {
        int32_t node = c->node_order[i], parent = c->nodes[node].parent;
        if (parent >= 0 && (w->listed[node] || w->is_joint[node])) w->is_joint[parent] = true;
    }
    for (int32_t i = 0; i < c->node_count; i++) {
        int32_t node = c->node_order[i], parent = c->nodes[node].parent;
        w->is_joint[node] = w->listed[node] || (w->is_joint[node] && parent >= 0 && w->is_joint[parent]);
    }
}

static void measure_skin_radii(skeleton_work *w)
{
    const sup_character *c = w->character;
    for (int32_t p = 0; p < c->primitive_count; p++) {
        const sup_primitive *primitive = &c->primitives[p];
        if (primitive->skin < 0) continue;
        for (int32_t v = primitive->vertex_first; v < primitive->vertex_first + primitive->vertex_count; v++) {
            double length = sup_v3_length(sup_v3_load(c->positions + 3 * (size_t)v));
            if (isfinite(length) && length > w->radius[primitive->skin]) w->radius[primitive->skin] = length;
        }
    }
}

static sup_affine bone_matrix(const skeleton_work *w, int32_t bone)
{
    return sup_affine_from_float(w->character->bones[bone].inverse_bind);
}

/* The skin's map A (see the comment at the top of this file). */
static sup_affine choose_map(const skeleton_work *w, int32_t skin)
{
    const sup_skin *s = &w->character->skins[skin];
    int32_t best = -1;
    bool best_shared = false;
    sup_affine best_map = sup_affine_identity(), ignored;
    for (int32_t b = s->bone_first; b < s->bone_first + s->bone_count; b++) {
        int32_t node = w->character->bones[b].node;
        if (!w->bone_invertible[b]) continue;
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
    /* If the map is the identity up to rounding, keep the positions of the file, within the tolerance of shared
     * joints. */
    double rounding = best_shared ? 0.5 * share_tolerance : 1e-5;
    if (map_difference(sup_affine_identity(), best_map, w->radius[skin]) < rounding) best_map = sup_affine_identity();
    return best_map;
}

/* The copy of the bone's node with this bind matrix; adds one if none is equal. */
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

/* Upper bound of the distance of the skin's vertices from the world origin. */
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
        w->bone_invertible[b] =
            invert(bone_matrix(w, b), &w->bone_bind[b]); /* joint -> mesh space; joint -> world below */
    sup_affine map = choose_map(w, skin), ignored;
    w->build->skeleton.skin_map[skin] = map;
    double radius = world_radius(w, skin, map);
    for (int32_t b = s->bone_first; b < s->bone_first + s->bone_count; b++) {
        int32_t node = w->character->bones[b].node;
        w->bone_copy[b] = -1;
        if (!w->bone_invertible[b]) continue;
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

/* Bind matrices of all nodes without a bone, parents first. */
static void bind_other_nodes(skeleton_work *w)
{
    const sup_character *c = w->character;
    for (int32_t i = 0; i < c->node_count; i++) {
        int32_t node = c->node_order[i], parent = c->nodes[node].parent;
        sup_affine ignored;
        if (w->bound[node]) continue;
        sup_affine local = invertible_local(&c->nodes[node]);
        sup_affine bind = parent < 0 ? local : sup_affine_multiply(w->node_bind[parent], local);
        if (!invert(bind, &ignored)) { /* scale too small to invert: keep the position */
            sup_vec3d position = sup_affine_translation(bind);
            bind = sup_affine_from_trs(sup_v3_finite(position) ? position : sup_v3(0, 0, 0), (sup_quatd){0, 0, 0, 1},
                                       sup_v3(1, 1, 1));
        }
        w->node_bind[node] = bind;
    }
}

static void add_joint(skeleton_work *w, int32_t node, sup_affine bind, bool copy, sup_rig *rig, int32_t *nodes,
                      sup_mat34 *binds, sup_mat34 *inverses)
{
    int32_t j = rig->joint_count++, parent = w->character->nodes[node].parent;
    sup_affine inverse;
    sup_affine_inverse(bind, &inverse);
    nodes[j] = node;
    /* While the joints are created, node_joint of a node that is not a joint is its nearest ancestor joint. */
    w->build->skeleton.parent[j] = parent < 0 ? -1 : w->build->skeleton.node_joint[parent];
    w->build->skeleton.is_copy[j] = copy;
    w->build->skeleton.bind[j] = bind;
    binds[j] = sup_affine_to_float(bind);
    inverses[j] = sup_affine_to_float(inverse);
}

/* Creates the joints in the order of the nodes, copies of a joint directly after it. */
static sup_result create_joints(skeleton_work *w, const bool *has_prop, sup_error *error)
{
    const sup_character *c = w->character;
    sup_rig_build *build = w->build;
    size_t count = (size_t)w->copy_count;
    for (int32_t n = 0; n < c->node_count; n++)
        count += w->is_joint[n] || has_prop[n];
    int32_t *nodes = sup_arena_alloc(build->arena, count, sizeof *nodes);
    int32_t *parents = sup_arena_alloc(build->arena, count, sizeof *parents);
    sup_mat34 *binds = sup_arena_alloc(build->arena, count, sizeof *binds);
    sup_mat34 *inverses = sup_arena_alloc(build->arena, count, sizeof *inverses);
    int32_t *copy_joint = sup_arena_alloc(&build->scratch, (size_t)w->copy_count, sizeof *copy_joint);
    build->skeleton.bind = sup_arena_alloc(&build->scratch, count, sizeof *build->skeleton.bind);
    build->skeleton.is_bone = sup_arena_alloc(&build->scratch, count, sizeof *build->skeleton.is_bone);
    build->skeleton.is_copy = sup_arena_alloc(&build->scratch, count, sizeof *build->skeleton.is_copy);
    if (nodes == NULL || parents == NULL || binds == NULL || inverses == NULL || copy_joint == NULL ||
        build->skeleton.bind == NULL || build->skeleton.is_bone == NULL || build->skeleton.is_copy == NULL)
        return sup_fail_memory(error, "the joints");
    sup_rig *rig = build->rig;
    build->skeleton.parent = parents;
    for (int32_t i = 0; i < c->node_count; i++) {
        int32_t node = c->node_order[i], parent = c->nodes[node].parent;
        build->skeleton.node_joint[node] = parent < 0 ? -1 : build->skeleton.node_joint[parent];
        if (!w->is_joint[node] && !has_prop[node]) continue;
        int32_t own = rig->joint_count;
        build->skeleton.is_bone[own] = w->is_joint[node];
        add_joint(w, node, w->node_bind[node], false, rig, nodes, binds, inverses);
        for (int32_t k = w->node_copy[node]; k >= 0; k = w->copy_next[k]) {
            copy_joint[k] = rig->joint_count;
            build->skeleton.is_bone[rig->joint_count] = true;
            add_joint(w, node, w->bone_bind[w->copy_bone[k]], true, rig, nodes, binds, inverses);
        }
        build->skeleton.node_joint[node] = own;
    }
    for (int32_t b = 0; b < c->bone_count; b++)
        build->skeleton.bone_joint[b] = -1;
    for (int32_t s = 0; s < c->skin_count; s++)
        for (int32_t b = c->skins[s].bone_first; b < c->skins[s].bone_first + c->skins[s].bone_count; b++)
            build->skeleton.bone_joint[b] =
                w->bone_copy[b] < 0 ? build->skeleton.node_joint[c->bones[b].node] : copy_joint[w->bone_copy[b]];
    for (int32_t n = 0; n < c->node_count; n++)
        if (!w->is_joint[n] && !has_prop[n]) build->skeleton.node_joint[n] = -1;
    rig->joint_node = nodes;
    rig->joint_parent = parents;
    rig->joint_bind = binds;
    rig->joint_inverse_bind = inverses;
    return SUP_OK;
}

/* Marks bones that influence a vertex. NULL when out of memory. */
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
    int32_t repaired = 0, first_repaired = -1, singular = 0, first_singular = -1;
    for (int32_t s = 0; s < c->skin_count; s++)
        for (int32_t b = c->skins[s].bone_first; b < c->skins[s].bone_first + c->skins[s].bone_count; b++) {
            if (w->bone_invertible[b]) continue;
            bool unusable = used[b] && !w->bound[c->bones[b].node] && has_zero_scale(&c->nodes[c->bones[b].node]);
            if (unusable && singular++ == 0) first_singular = b;
            if (!unusable && repaired++ == 0) first_repaired = b;
        }
    sup_result result = sup_rig_defect(
        &w->build->defects, SUP_DEFECT_SINGULAR_INVERSE_BIND, SUP_SEVERITY_FATAL, -1, singular, first_singular, error,
        "Singular inverse bind matrices of joints whose rest pose is singular too: %d (first: bone %d, joint %s).",
        singular, first_singular,
        first_singular < 0 ? "" : sup_rig_node_name(w->character, c->bones[first_singular].node));
    if (result != SUP_OK) return result;
    return sup_rig_defect(
        &w->build->defects, SUP_DEFECT_SINGULAR_INVERSE_BIND, SUP_SEVERITY_REPAIRED, -1, repaired, first_repaired,
        error, "Singular inverse bind matrices, replaced by the joint's rest pose: %d (first: bone %d, joint %s).",
        repaired, first_repaired,
        first_repaired < 0 ? "" : sup_rig_node_name(w->character, c->bones[first_repaired].node));
}

static sup_result report_nodes(skeleton_work *w, sup_error *error)
{
    const sup_character *c = w->character;
    int32_t differ = 0, first_differ = -1, zero = 0, first_zero = -1;
    for (int32_t n = 0; n < c->node_count; n++) {
        if (w->differs[n] && differ++ == 0) first_differ = n;
        if (w->build->skeleton.node_joint[n] >= 0 && has_zero_scale(&c->nodes[n]) && zero++ == 0) first_zero = n;
    }
    sup_result result = sup_rig_defect(
        &w->build->defects, SUP_DEFECT_REST_DIFFERS_FROM_BIND, SUP_SEVERITY_NOTE, -1, differ, first_differ, error,
        "The rest pose of %d joint%s differs from the bind pose; the bind pose is used (first: %s).", differ,
        sup_plural(differ), first_differ < 0 ? "" : sup_rig_node_name(w->character, first_differ));
    if (result != SUP_OK) return result;
    return sup_rig_defect(&w->build->defects, SUP_DEFECT_ZERO_SCALE_JOINT, SUP_SEVERITY_WARNING, -1, zero, first_zero,
                          error,
                          "%d joint%s with scale 0 in the rest pose, where attached geometry has no size (first: %s).",
                          zero, sup_plural(zero), first_zero < 0 ? "" : sup_rig_node_name(w->character, first_zero));
}

/* Whether there is a mesh with joints; else adds a fatal defect that describes what is missing. */
static bool check_skin(sup_rig_build *build, sup_result *result, sup_error *error)
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
                         : "The file has no mesh to skin.";
    else if (!skinned && c->clip_count == 0 && !joints)
        problem = "The mesh has no skeleton: give a skeleton with --skeleton FILE.skel.";
    else if (!skinned && c->clip_count == 0)
        problem = "No primitive of the mesh is bound to the skeleton, and no clip animates it.";
    if (problem == NULL) return true;
    *result = sup_rig_defect(&build->defects, SUP_DEFECT_NO_SKIN, SUP_SEVERITY_FATAL, -1, 1, -1, error, "%s", problem);
    return false;
}

sup_result sup_rig_skeleton(sup_rig_build *build, sup_error *error)
{
    const sup_character *c = build->character;
    sup_result result = SUP_OK;
    build->skeleton.has_joints = check_skin(build, &result, error);
    if (c->vertex_count == 0) build->stop = true;
    if (result != SUP_OK || build->stop) return result;
    skeleton_work w = {.build = build, .character = c};
    bool *has_prop = sup_arena_alloc(&build->scratch, (size_t)c->node_count, sizeof *has_prop);
    sup_mat34 *primitive_bind = sup_arena_alloc(build->arena, (size_t)c->primitive_count, sizeof *primitive_bind);
    if (!allocate(&w) || has_prop == NULL || primitive_bind == NULL) return sup_fail_memory(error, "the skeleton");
    select_joints(&w);
    measure_skin_radii(&w);
    for (int32_t s = 0; s < c->skin_count; s++)
        bind_skin(&w, s);
    bind_other_nodes(&w);
    for (int32_t p = 0; p < c->primitive_count; p++) {
        bool skinned = sup_primitive_is_skinned(c, p);
        build->skeleton.primitive_map[p] =
            skinned ? build->skeleton.skin_map[c->primitives[p].skin] : w.node_bind[c->primitives[p].node];
        primitive_bind[p] = sup_affine_to_float(build->skeleton.primitive_map[p]);
        if (!skinned) has_prop[c->primitives[p].node] = true;
    }
    build->rig->primitive_bind = primitive_bind;
    result = create_joints(&w, has_prop, error);
    if (result == SUP_OK) result = report_matrices(&w, error);
    if (result == SUP_OK) result = report_nodes(&w, error);
    return result;
}

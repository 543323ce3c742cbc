/* retarget.c - transfers the motion of one skeleton to another.
 *
 * All computations are in world space and independent of joint orientations, helper joints and units: a target joint
 * gets the rotation of its source joint relative to the source's rest pose, after the target was rotated, bone by bone,
 * into the rest pose of the source (T-pose, A-pose, arms down). The limbs of the target then have the same directions
 * as the limbs of the source. */
#include "pose/retarget.h"

#include "character/character.h"

/* Maximum of keys times joints of a result; beyond it fewer keys are used. */
enum { SUP_RETARGET_VALUES = 1 << 24 };

typedef struct detached_joint {
    int32_t node, parent; /* a foot or hand that is not a descendant of its shin or forearm, and that joint */
    sup_vec3d offset;     /* of the node in the space of `parent`, in the rest pose */
} detached_joint;

typedef struct retargeter {
    sup_arena arena; /* scratch */
    sup_named_skeleton source, target;
    const sup_clip *clip;
    const sup_retarget_def *def;
    sup_joint_match match;
    sup_retarget_frame frame;
    sup_posed_skeleton source_rest, source_now, target_rest, target_now;
    sup_quatd *rest_rotation; /* [target nodes] rotates the target's rest pose into the source's */
    int32_t *above;           /* [target nodes] nearest matched node above, -1 for none */
    int32_t root;             /* target node that gets the root motion */
    sup_vec3d origin;         /* source root position that maps to the rest position of the target's root */
    sup_vec3d lift;           /* added to the root so that the feet stay on the ground */
    detached_joint detached[4];
    int32_t detached_count;
    int32_t key_count;
    const float *times;
    sup_error *error;
} retargeter;

sup_retarget_def sup_default_retarget_def(void)
{
    return (sup_retarget_def){.map = NULL, .source_rest_time = -1.0, .keep_root_motion = true};
}

static sup_vec3d to_target(const retargeter *r, sup_vec3d v)
{
    return sup_quatd_rotate(r->frame.rotation, v);
}

/* Direction between two matched target nodes in the source's pose, in target space. */
static sup_vec3d source_direction(const retargeter *r, const sup_posed_skeleton *posed, int32_t from, int32_t to)
{
    return to_target(r, sup_v3_sub(sup_posed_position(posed, r->match.source[to]),
                                   sup_posed_position(posed, r->match.source[from])));
}

/* --- Preparation --- */

static void find_above(retargeter *r)
{
    const sup_character *target = r->target.character;
    for (int32_t i = 0; i < target->node_count; i++) {
        int32_t node = target->node_order[i], parent = target->nodes[node].parent;
        r->above[node] = parent < 0 || r->match.source[parent] >= 0 ? parent : r->above[parent];
    }
}

/* The shortest rotation of each target bone to its source bone in the rest pose, after the rotation of its parent. */
static void find_rest_rotations(retargeter *r)
{
    const sup_character *target = r->target.character;
    for (int32_t i = 0; i < target->node_count; i++) {
        int32_t node = target->node_order[i], child = r->match.child[node];
        sup_quatd rest_rotation = r->above[node] >= 0 ? r->rest_rotation[r->above[node]] : (sup_quatd){0, 0, 0, 1};
        if (child >= 0) {
            sup_vec3d ours =
                sup_v3_sub(sup_posed_position(&r->target_rest, child), sup_posed_position(&r->target_rest, node));
            sup_vec3d theirs = source_direction(r, &r->source_rest, node, child);
            if (sup_v3_length(ours) > 0.0 && sup_v3_length(theirs) > 0.0)
                rest_rotation =
                    sup_quatd_multiply(sup_quatd_between(sup_quatd_rotate(rest_rotation, ours), theirs), rest_rotation);
        }
        r->rest_rotation[node] = rest_rotation;
    }
}

/* The joint with the root motion: the hips, or the common ancestor of hips, legs and spine if these are not descendants
 * of the hips. Such a joint gets the translation of the hips, and their rotation if it has nearly the same position. */
static void find_root(retargeter *r)
{
    const sup_character *target = r->target.character;
    const sup_body_joints *body = &r->target.body;
    r->root = body->hips;
    if (r->root >= 0 && r->match.source[r->root] >= 0) {
        const int32_t others[4] = {body->limb[SUP_SIDE_LEFT][SUP_LIMB_UPPER_LEG],
                                   body->limb[SUP_SIDE_RIGHT][SUP_LIMB_UPPER_LEG], body->chest, body->head};
        for (int i = 0; i < 4; i++) {
            int32_t common = sup_skeleton_common(&r->target, r->root, others[i]);
            if (common >= 0) r->root = common;
        }
        double apart = sup_v3_distance(sup_posed_position(&r->target_rest, r->root),
                                       sup_posed_position(&r->target_rest, body->hips));
        bool is_free = r->root != body->hips && r->match.source[r->root] < 0;
        if (is_free && apart < 0.2 * r->frame.size * r->frame.scale) {
            r->match.source[r->root] = r->match.source[body->hips];
            r->match.count++;
        }
        return;
    }
    for (int32_t i = 0; i < target->node_count && (r->root < 0 || r->match.source[r->root] < 0); i++)
        if (r->match.source[target->node_order[i]] >= 0) r->root = target->node_order[i];
}

/* Source node whose translation drives the root. */
static int32_t root_source(const retargeter *r)
{
    int32_t own = r->match.source[r->root];
    return own >= 0 ? own : r->match.source[r->target.body.hips];
}

static void find_detached(retargeter *r)
{
    static const int pairs[2][2] = {{SUP_LIMB_LOWER_LEG, SUP_LIMB_FOOT}, {SUP_LIMB_FOREARM, SUP_LIMB_HAND}};
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 2; i++) {
            const int32_t *limb = r->target.body.limb[side];
            int32_t parent = limb[pairs[i][0]], node = limb[pairs[i][1]];
            sup_affine inverse;
            if (parent < 0 || node < 0 || r->match.source[parent] < 0 || r->match.source[node] < 0) continue;
            if (sup_skeleton_is_above(&r->target, parent, node) || sup_skeleton_is_above(&r->target, node, parent))
                continue;
            if (!sup_affine_inverse(r->target_rest.world[parent], &inverse)) continue;
            sup_vec3d offset = sup_affine_point(inverse, sup_posed_position(&r->target_rest, node));
            r->detached[r->detached_count++] = (detached_joint){node, parent, offset};
        }
}

static sup_result prepare(retargeter *r, const sup_character *source, const sup_character *target)
{
    bool *is_moved = sup_arena_alloc(&r->arena, (size_t)source->node_count, sizeof *is_moved);
    r->rest_rotation = sup_arena_alloc(&r->arena, (size_t)target->node_count, sizeof *r->rest_rotation);
    r->above = sup_arena_alloc(&r->arena, (size_t)target->node_count, sizeof *r->above);
    if (is_moved == NULL || r->rest_rotation == NULL || r->above == NULL ||
        !sup_named_skeleton_create(&r->arena, source, &r->source) ||
        !sup_named_skeleton_create(&r->arena, target, &r->target) ||
        !sup_posed_skeleton_create(&r->arena, source, &r->source_rest) ||
        !sup_posed_skeleton_create(&r->arena, source, &r->source_now) ||
        !sup_posed_skeleton_create(&r->arena, target, &r->target_rest) ||
        !sup_posed_skeleton_create(&r->arena, target, &r->target_now))
        return sup_fail_memory(r->error, "the motion");
    for (int32_t c = 0; c < r->clip->channel_count; c++)
        if (r->clip->channels[c].target != SUP_CHANNEL_MORPH) is_moved[r->clip->channels[c].index] = true;
    sup_result result =
        sup_joint_match_create(&r->arena, &r->source, is_moved, &r->target, r->def->map, &r->match, r->error);
    if (result != SUP_OK) return result;
    double rest_time = r->def->source_rest_time;
    sup_posed_skeleton_sample(source, rest_time >= 0.0 ? r->clip : NULL, rest_time, &r->source_rest);
    sup_posed_skeleton_world(source, &r->source_rest);
    sup_posed_skeleton_sample(target, NULL, 0.0, &r->target_rest);
    sup_posed_skeleton_world(target, &r->target_rest);
    r->frame = sup_retarget_frame_find(&r->source, &r->source_rest, &r->target, &r->target_rest, &r->match);
    find_root(r);
    find_above(r);
    find_rest_rotations(r);
    find_detached(r);
    return SUP_OK;
}

/* --- One pose --- */

/* World rotation of a matched target node. */
static sup_quatd target_rotation(const retargeter *r, int32_t node)
{
    int32_t source = r->match.source[node], child = r->match.child[node];
    sup_quatd back = sup_quatd_conjugate(r->source_rest.rotation[source]);
    sup_quatd change = sup_quatd_multiply(r->source_now.rotation[source], back);
    sup_quatd rotation = r->frame.rotation;
    change = sup_quatd_multiply(rotation, sup_quatd_multiply(change, sup_quatd_conjugate(rotation)));
    change = sup_quatd_multiply(change, r->rest_rotation[node]);
    /* Source joints between the two that the target lacks may have bent the limb: correct the direction. */
    if (child >= 0 && (r->above[child] == node || !sup_skeleton_is_above(&r->target, node, child))) {
        sup_vec3d ours =
            sup_v3_sub(sup_posed_position(&r->target_rest, child), sup_posed_position(&r->target_rest, node));
        sup_vec3d theirs = source_direction(r, &r->source_now, node, child);
        if (sup_v3_length(ours) > 0.0 && sup_v3_length(theirs) > 0.0)
            change = sup_quatd_multiply(sup_quatd_between(sup_quatd_rotate(change, ours), theirs), change);
    }
    return sup_quatd_multiply(change, r->target_rest.rotation[node]);
}

static sup_vec3d root_place(const retargeter *r)
{
    sup_vec3d rest = sup_posed_position(&r->target_rest, r->root);
    sup_vec3d moved = sup_v3_sub(sup_posed_position(&r->source_now, root_source(r)), r->origin);
    moved = sup_v3_scale(to_target(r, moved), r->frame.scale);
    if (!r->def->keep_root_motion) moved = sup_v3_scale(r->frame.up, sup_v3_dot(moved, r->frame.up));
    return sup_v3_add(rest, sup_v3_add(moved, r->lift));
}

/* Sets the local translation that moves a node to a world position, for the current transform of its parent. */
static void move_node(retargeter *r, int32_t node, sup_vec3d position)
{
    int32_t parent = r->target.character->nodes[node].parent;
    sup_affine inverse = sup_affine_identity();
    if (parent >= 0 && !sup_affine_inverse(r->target_now.world[parent], &inverse)) return;
    r->target_now.local[node].translation = sup_v3_to_float(sup_affine_point(inverse, position));
}

static void set_world(retargeter *r, int32_t node)
{
    sup_posed_skeleton *now = &r->target_now;
    int32_t parent = r->target.character->nodes[node].parent;
    sup_quatd rotation = sup_quatd_from_float(now->local[node].rotation);
    sup_affine world = sup_affine_from_transform(now->local[node]);
    now->rotation[node] = parent >= 0 ? sup_quatd_multiply(now->rotation[parent], rotation) : rotation;
    now->world[node] = parent >= 0 ? sup_affine_multiply(now->world[parent], world) : world;
}

static void pose_target(retargeter *r, double time)
{
    const sup_character *target = r->target.character;
    sup_posed_skeleton_sample(r->source.character, r->clip, time, &r->source_now);
    sup_posed_skeleton_world(r->source.character, &r->source_now);
    sup_posed_skeleton_sample(target, NULL, 0.0, &r->target_now);
    for (int32_t i = 0; i < target->node_count; i++) {
        int32_t node = target->node_order[i], parent = target->nodes[node].parent;
        if (r->match.source[node] >= 0) {
            sup_quatd rotation = target_rotation(r, node);
            if (parent >= 0)
                rotation = sup_quatd_multiply(sup_quatd_conjugate(r->target_now.rotation[parent]), rotation);
            r->target_now.local[node].rotation = sup_quatd_to_float(sup_quatd_normalise(rotation));
        }
        if (node == r->root) move_node(r, node, root_place(r));
        set_world(r, node);
    }
    for (int32_t i = 0; i < r->detached_count; i++) {
        const detached_joint *d = &r->detached[i];
        move_node(r, d->node, sup_affine_point(r->target_now.world[d->parent], d->offset));
    }
    if (r->detached_count > 0) sup_posed_skeleton_world(target, &r->target_now);
}

/* --- The ground --- */

/* Joints that may touch the ground: feet and toes, or all joints if there are none. */
static bool is_support(const retargeter *r, int32_t node, bool has_feet)
{
    if (r->match.source[node] < 0) return false;
    for (int side = 0; has_feet && side < 2; side++)
        if (node == r->target.body.limb[side][SUP_LIMB_FOOT] || node == r->target.body.limb[side][SUP_LIMB_TOE])
            return true;
    return !has_feet;
}

/* Minimum height of the support joints above their rest height over the whole clip, for both skeletons. */
static void measure_clearance(retargeter *r, double *source, double *target)
{
    bool has_feet = false;
    for (int32_t i = 0; i < r->target.character->node_count; i++)
        has_feet = has_feet || is_support(r, i, true);
    *source = *target = INFINITY;
    for (int32_t k = 0; k < r->key_count; k++) {
        pose_target(r, (double)r->times[k]);
        for (int32_t i = 0; i < r->target.character->node_count; i++) {
            if (!is_support(r, i, has_feet)) continue;
            int32_t s = r->match.source[i];
            sup_vec3d ours = sup_v3_sub(sup_posed_position(&r->target_now, i), sup_posed_position(&r->target_rest, i));
            sup_vec3d theirs =
                to_target(r, sup_v3_sub(sup_posed_position(&r->source_now, s), sup_posed_position(&r->source_rest, s)));
            *source = fmin(*source, sup_v3_dot(theirs, r->frame.up));
            *target = fmin(*target, sup_v3_dot(ours, r->frame.up));
        }
    }
}

/* If the rest pose of the source is in the space of its motion (files of one character), positions are relative to it.
 * If not (motion capture, with the hips of the rest pose at the origin), the lowest support joint defines the ground
 * and the first frame the horizontal position. */
static void find_ground(retargeter *r)
{
    double theirs, ours;
    int32_t root = root_source(r);
    r->origin = sup_posed_position(&r->source_rest, root);
    r->lift = sup_v3(0, 0, 0);
    measure_clearance(r, &theirs, &ours);
    if (!isfinite(theirs) || !isfinite(ours)) return;
    if (fabs(theirs) > 0.25 * r->frame.size) {
        pose_target(r, (double)r->times[0]);
        sup_vec3d previous = r->origin;
        r->origin = sup_posed_position(&r->source_now, root);
        sup_vec3d moved = sup_v3_scale(to_target(r, sup_v3_sub(previous, r->origin)), r->frame.scale);
        ours += sup_v3_dot(moved, r->frame.up);
        theirs = 0.0;
    }
    r->lift = sup_v3_scale(r->frame.up, theirs * r->frame.scale - ours);
}

/* --- The clip --- */

typedef struct clip_writer {
    sup_channel *channels;
    float **values; /* writable values of each channel */
    int32_t count;
} clip_writer;

static bool add_channel(retargeter *r, sup_arena *arena, clip_writer *w, sup_channel_target kind, int32_t node)
{
    size_t width = kind == SUP_CHANNEL_ROTATION ? 4 : 3;
    float *values = sup_arena_alloc(arena, (size_t)r->key_count * width, sizeof *values);
    if (values == NULL) return false;
    w->values[w->count] = values;
    w->channels[w->count++] = (sup_channel){kind, node, SUP_INTERPOLATE_LINEAR, r->key_count, r->times, values};
    return true;
}

static void write_key(const retargeter *r, const clip_writer *w, int32_t key)
{
    for (int32_t c = 0; c < w->count; c++) {
        const sup_transform *local = &r->target_now.local[w->channels[c].index];
        if (w->channels[c].target == SUP_CHANNEL_TRANSLATION) {
            float *v = w->values[c] + (size_t)key * 3;
            v[0] = local->translation.x;
            v[1] = local->translation.y;
            v[2] = local->translation.z;
            continue;
        }
        float *v = w->values[c] + (size_t)key * 4;
        sup_quat q = local->rotation;
        bool flip = key > 0 && v[-4] * q.x + v[-3] * q.y + v[-2] * q.z + v[-1] * q.w < 0.0f;
        v[0] = flip ? -q.x : q.x;
        v[1] = flip ? -q.y : q.y;
        v[2] = flip ? -q.z : q.z;
        v[3] = flip ? -q.w : q.w;
    }
}

static sup_result write_clip(retargeter *r, sup_arena *arena, sup_clip *clip)
{
    size_t capacity = (size_t)r->match.count + 1 + (size_t)r->detached_count;
    clip_writer w = {sup_arena_alloc(arena, capacity, sizeof *w.channels),
                     sup_arena_alloc(&r->arena, capacity, sizeof *w.values), 0};
    r->times = sup_arena_copy(arena, r->times, (size_t)r->key_count, sizeof *r->times);
    bool ok = w.channels != NULL && w.values != NULL && r->times != NULL;
    for (int32_t i = 0; ok && i < r->target.character->node_count; i++)
        if (r->match.source[i] >= 0) ok = add_channel(r, arena, &w, SUP_CHANNEL_ROTATION, i);
    ok = ok && add_channel(r, arena, &w, SUP_CHANNEL_TRANSLATION, r->root);
    for (int32_t i = 0; ok && i < r->detached_count; i++)
        if (r->detached[i].node != r->root)
            ok = add_channel(r, arena, &w, SUP_CHANNEL_TRANSLATION, r->detached[i].node);
    const char *name = r->clip->name[0] != '\0' ? r->clip->name : r->source.character->name;
    clip->name = sup_arena_string(arena, name);
    if (!ok || clip->name == NULL) return sup_fail_memory(r->error, "the motion");
    for (int32_t k = 0; k < r->key_count; k++) {
        pose_target(r, (double)r->times[k]);
        write_key(r, &w, k);
    }
    clip->channels = w.channels;
    clip->channel_count = w.count;
    return sup_clip_finish(clip, r->target.character, r->target.character->name, r->error);
}

static sup_result make_clip(retargeter *r, const sup_context *context, sup_clip **clip)
{
    sup_arena *arena;
    int32_t limit = SUP_RETARGET_VALUES / (r->match.count > 0 ? r->match.count : 1);
    r->times = sup_retarget_times(&r->arena, r->clip, limit > 2 ? limit : 2, &r->key_count);
    if (r->times == NULL) return sup_fail_memory(r->error, "the motion");
    if (r->key_count == 0)
        return sup_fail(r->error, SUP_ERROR_DATA, "retarget.empty", r->source.character->name,
                        "The motion has no channels for joints.");
    find_ground(r);
    sup_clip *created = sup_clip_begin(context, &arena);
    if (created == NULL) return sup_fail_memory(r->error, "the motion");
    sup_result result = write_clip(r, arena, created);
    if (result == SUP_OK)
        *clip = created;
    else
        sup_clip_destroy(created);
    return result;
}

sup_result sup_retarget(const sup_context *context, const sup_character *source, const sup_clip *source_clip,
                        const sup_character *target, const sup_retarget_def *def, sup_clip **clip, sup_error *error)
{
    if (source == NULL || source_clip == NULL || target == NULL || clip == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_retarget needs a source, its clip, a target and an output pointer for the clip.");
    sup_context resolved = sup_context_resolve(context);
    sup_retarget_def standard = sup_default_retarget_def();
    if (def == NULL) def = &standard;
    if (!isfinite(def->source_rest_time))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "retarget.time", "", "source_rest_time must be finite.");
    if (sup_retarget_fits(source, source_clip, target, def))
        return sup_retarget_copy(&resolved, source, source_clip, target, clip, error);
    retargeter r = {.arena = sup_arena_create(&resolved.allocator), .clip = source_clip, .def = def, .error = error};
    sup_result result = prepare(&r, source, target);
    if (result == SUP_OK) result = make_clip(&r, &resolved, clip);
    sup_arena_destroy(&r.arena);
    return result;
}

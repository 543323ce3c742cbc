/* retarget_frame.c - posed skeletons, and the transform from source space to target space. */
#include "pose/retarget.h"

#include "pose/pose.h"

bool sup_posed_skeleton_create(sup_arena *arena, const sup_character *character, sup_posed_skeleton *posed)
{
    size_t count = (size_t)character->node_count;
    posed->local = sup_arena_alloc(arena, count, sizeof *posed->local);
    posed->rotation = sup_arena_alloc(arena, count, sizeof *posed->rotation);
    posed->world = sup_arena_alloc(arena, count, sizeof *posed->world);
    return posed->local != NULL && posed->rotation != NULL && posed->world != NULL;
}

void sup_posed_skeleton_sample(const sup_character *character, const sup_clip *clip, double time,
                               sup_posed_skeleton *posed)
{
    for (int32_t i = 0; i < character->node_count; i++)
        posed->local[i] = character->nodes[i].rest;
    for (int32_t c = 0; clip != NULL && c < clip->channel_count; c++) {
        const sup_channel *channel = &clip->channels[c];
        if (channel->target == SUP_CHANNEL_MORPH) continue;
        float v[4];
        sup_channel_sample(channel, time, v);
        sup_transform *local = &posed->local[channel->index];
        if (channel->target == SUP_CHANNEL_TRANSLATION) local->translation = (sup_vec3){v[0], v[1], v[2]};
        if (channel->target == SUP_CHANNEL_ROTATION) local->rotation = (sup_quat){v[0], v[1], v[2], v[3]};
        if (channel->target == SUP_CHANNEL_SCALE) local->scale = (sup_vec3){v[0], v[1], v[2]};
    }
}

void sup_posed_skeleton_world(const sup_character *character, sup_posed_skeleton *posed)
{
    for (int32_t i = 0; i < character->node_count; i++) {
        int32_t node = character->node_order[i], parent = character->nodes[node].parent;
        sup_quatd rotation = sup_quatd_from_float(posed->local[node].rotation);
        sup_affine world = sup_affine_from_transform(posed->local[node]);
        posed->rotation[node] = parent >= 0 ? sup_quatd_multiply(posed->rotation[parent], rotation) : rotation;
        posed->world[node] = parent >= 0 ? sup_affine_multiply(posed->world[parent], world) : world;
    }
}

/* --- Axes from body joints --- */

typedef struct axes {
    sup_vec3d left, up, forward;
} axes;

static sup_vec3d between_joints(const sup_posed_skeleton *posed, int32_t from, int32_t to)
{
    if (from < 0 || to < 0) return sup_v3(0, 0, 0);
    return sup_v3_sub(sup_posed_position(posed, to), sup_posed_position(posed, from));
}

/* Snaps a unit vector to the nearest coordinate axis if it is close: characters stand on a coordinate plane, but their
 * joints are not exactly above each other. */
static sup_vec3d snap(sup_vec3d v)
{
    const double enough = 0.85; /* 32 degrees */
    if (fabs(v.x) > enough) return sup_v3(v.x > 0 ? 1 : -1, 0, 0);
    if (fabs(v.y) > enough) return sup_v3(0, v.y > 0 ? 1 : -1, 0);
    if (fabs(v.z) > enough) return sup_v3(0, 0, v.z > 0 ? 1 : -1);
    return v;
}

static bool find_axes(const sup_named_skeleton *s, const sup_posed_skeleton *rest, axes *found)
{
    const sup_vec3d zero = {0, 0, 0};
    sup_vec3d up = zero, left = zero;
    for (int side = 0; side < 2; side++) {
        const int32_t *limb = s->body.limb[side];
        int32_t low = limb[SUP_LIMB_FOOT] >= 0 ? limb[SUP_LIMB_FOOT] : limb[SUP_LIMB_LOWER_LEG];
        up = sup_v3_add(up, between_joints(rest, low, limb[SUP_LIMB_UPPER_LEG]));
    }
    if (sup_v3_length(up) == 0.0) up = between_joints(rest, s->body.hips, s->body.head);
    for (int limb = 0; limb < SUP_LIMB_COUNT; limb++)
        left = sup_v3_add(left,
                          between_joints(rest, s->body.limb[SUP_SIDE_RIGHT][limb], s->body.limb[SUP_SIDE_LEFT][limb]));
    up = snap(sup_v3_unit_or(up, zero));
    left = sup_v3_unit_or(sup_v3_madd(left, -sup_v3_dot(left, up), up), zero);
    left = snap(left);
    left = sup_v3_unit_or(sup_v3_madd(left, -sup_v3_dot(left, up), up), zero);
    *found = (axes){left, up, sup_v3_cross(left, up)};
    return sup_v3_length(up) > 0.5 && sup_v3_length(left) > 0.5;
}

static sup_quatd rotation_of_columns(sup_vec3d a, sup_vec3d b, sup_vec3d c)
{
    sup_affine matrix = {{a.x, b.x, c.x, 0, a.y, b.y, c.y, 0, a.z, b.z, c.z, 0}};
    sup_quatd rotation;
    double stretch[9];
    sup_affine_polar(matrix, &rotation, stretch);
    return rotation;
}

/* --- Axes without body joints --- */

/* Nearest matched ancestor of a matched target joint, if it is an ancestor in the source too; -1 for none. */
static int32_t matched_above(const sup_named_skeleton *target, const sup_joint_match *match, int32_t node)
{
    int32_t above = target->character->nodes[node].parent;
    while (above >= 0 && match->source[above] < 0)
        above = target->character->nodes[above].parent;
    return above;
}

/* Sum of cosines between the bones of the target and the rotated bones of the source. */
static double agreement(const sup_named_skeleton *target, const sup_posed_skeleton *source_rest,
                        const sup_posed_skeleton *target_rest, const sup_joint_match *match, sup_quatd rotation)
{
    double sum = 0.0;
    for (int32_t i = 0; i < target->character->node_count; i++) {
        int32_t above = match->source[i] >= 0 ? matched_above(target, match, i) : -1;
        if (above < 0) continue;
        sup_vec3d t = sup_v3_unit_or(between_joints(target_rest, above, i), sup_v3(0, 0, 0));
        sup_vec3d s = between_joints(source_rest, match->source[above], match->source[i]);
        sum += sup_v3_dot(t, sup_quatd_rotate(rotation, sup_v3_unit_or(s, sup_v3(0, 0, 0))));
    }
    return sum;
}

static sup_quatd best_swap(const sup_named_skeleton *target, const sup_posed_skeleton *source_rest,
                           const sup_posed_skeleton *target_rest, const sup_joint_match *match)
{
    const sup_vec3d unit[6] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    sup_quatd best = {0, 0, 0, 1};
    double best_sum = agreement(target, source_rest, target_rest, match, best);
    best_sum += 0.1 * fabs(best_sum) + 1e-9; /* another permutation must be clearly better */
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            if (i / 2 == j / 2) continue;
            sup_quatd rotation = rotation_of_columns(unit[i], unit[j], sup_v3_cross(unit[i], unit[j]));
            double sum = agreement(target, source_rest, target_rest, match, rotation);
            if (sum <= best_sum) continue;
            best_sum = sum;
            best = rotation;
        }
    return best;
}

/* --- Sizes --- */

/* Length of the legs that both skeletons have: unlike the height of the hips it does not depend on the pose. */
static double leg_length(const sup_posed_skeleton *rest, const sup_body_joints *body, const sup_body_joints *other)
{
    double length = 0.0;
    for (int side = 0; side < 2; side++) {
        const int32_t *limb = body->limb[side], *theirs = other->limb[side];
        bool both = limb[SUP_LIMB_UPPER_LEG] >= 0 && limb[SUP_LIMB_LOWER_LEG] >= 0 && limb[SUP_LIMB_FOOT] >= 0 &&
                    theirs[SUP_LIMB_UPPER_LEG] >= 0 && theirs[SUP_LIMB_LOWER_LEG] >= 0 && theirs[SUP_LIMB_FOOT] >= 0;
        if (!both) continue;
        length += sup_v3_length(between_joints(rest, limb[SUP_LIMB_UPPER_LEG], limb[SUP_LIMB_LOWER_LEG])) +
                  sup_v3_length(between_joints(rest, limb[SUP_LIMB_LOWER_LEG], limb[SUP_LIMB_FOOT]));
    }
    return length;
}

static void measure(const sup_named_skeleton *source, const sup_posed_skeleton *source_rest,
                    const sup_named_skeleton *target, const sup_posed_skeleton *target_rest,
                    const sup_joint_match *match, sup_retarget_frame *frame)
{
    double ours = leg_length(target_rest, &target->body, &source->body);
    double theirs = leg_length(source_rest, &source->body, &target->body);
    if (!(ours > 0.0 && theirs > 0.0)) {
        ours = theirs = 0.0;
        for (int32_t i = 0; i < target->character->node_count; i++) {
            int32_t above = match->source[i] >= 0 ? matched_above(target, match, i) : -1;
            if (above < 0) continue;
            ours += sup_v3_length(between_joints(target_rest, above, i));
            theirs += sup_v3_length(between_joints(source_rest, match->source[above], match->source[i]));
        }
    }
    frame->size = theirs;
    frame->scale = ours > 0.0 && theirs > 0.0 && isfinite(ours / theirs) ? ours / theirs : 1.0;
}

sup_retarget_frame sup_retarget_frame_find(const sup_named_skeleton *source, const sup_posed_skeleton *source_rest,
                                           const sup_named_skeleton *target, const sup_posed_skeleton *target_rest,
                                           const sup_joint_match *match)
{
    sup_retarget_frame frame = {{0, 0, 0, 1}, {0, 1, 0}, 1.0, 0.0};
    axes ours, theirs;
    if (find_axes(target, target_rest, &ours) && find_axes(source, source_rest, &theirs)) {
        sup_quatd to = rotation_of_columns(ours.left, ours.up, ours.forward);
        sup_quatd from = rotation_of_columns(theirs.left, theirs.up, theirs.forward);
        frame.rotation = sup_quatd_multiply(to, sup_quatd_conjugate(from));
        frame.up = ours.up;
    } else {
        frame.rotation = best_swap(target, source_rest, target_rest, match);
    }
    measure(source, source_rest, target, target_rest, match, &frame);
    return frame;
}

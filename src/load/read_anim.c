/* read_anim.c - the motion format of Fast Projective Skinning: "keys joints", then per key its time, one rotation axis
 * per joint and a line of angles in radians.
 *
 * Rotation i rotates joint i and its descendants about joint i, relative to its parent. The published cylinder and
 * human bend at inner joints and have zero angles at leaves, which matches this interpretation and not the one where
 * rotation i rotates the bone that ends in joint i. */
#include "load/file.h"
#include "load/read.h"
#include "load/text_cursor.h"
#include "math/affine.h"

typedef struct anim_reader {
    const sup_read_input *input;
    sup_text_cursor text;
    int32_t keys, joints; /* joints of the file: the first ones of the character */
    float *times;         /* [keys] */
    float *rotations;     /* [joints][keys] quaternions */
    sup_error *error;
} anim_reader;

static int32_t joint_count(const sup_character *character)
{
    int32_t count = 0;
    for (int32_t i = 0; i < character->node_count; i++)
        count += character->nodes[i].is_joint ? 1 : 0;
    return count;
}

/* A key has at least 2 characters for its time and 8 for each joint. */
static sup_result read_counts(anim_reader *r, int32_t joints)
{
    int64_t keys, found;
    if (!sup_text_skip_to_word(&r->text) || !sup_text_int64(&r->text, &keys) || !sup_text_int64(&r->text, &found) ||
        keys < 0 || found < 0)
        return sup_text_fail_expected(&r->text, r->error, "anim.counts", "the numbers of keys and joints");
    if (joints == 0)
        return sup_fail(r->error, SUP_ERROR_DATA, "anim.target", r->text.name,
                        "The character has no joints to animate.");
    if (keys == 0) return sup_text_fail(&r->text, r->error, "anim.empty", "The motion has no keys.");
    if (found > joints)
        return sup_text_fail(&r->text, r->error, "anim.joints",
                             "The motion has %lld joints, but the character has %d: .anim files match joints by order, "
                             "so this motion belongs to another skeleton.",
                             (long long)found, joints);
    if (found == 0) return sup_text_fail(&r->text, r->error, "anim.empty", "The motion has no joints.");
    if (found < joints)
        sup_log(r->input->context, SUP_LOG_WARNING,
                "%s: The motion has %d joints and the character %d; the last %d stay still.", r->text.name, (int)found,
                (int)joints, (int)(joints - found));
    if ((uint64_t)keys > (sup_text_remaining(&r->text) + 1) / (2 + 8 * (uint64_t)found))
        return sup_text_fail(&r->text, r->error, "anim.counts",
                             "The file declares %lld keys, but is too short to contain them.", (long long)keys);
    r->keys = (int32_t)keys;
    r->joints = (int32_t)found;
    return SUP_OK;
}

static sup_result read_number(anim_reader *r, const char *what, double *value)
{
    if (sup_text_skip_to_word(&r->text) && sup_text_double(&r->text, value) && isfinite(*value) &&
        isfinite((float)*value))
        return SUP_OK;
    return sup_text_fail_expected(&r->text, r->error, "anim.number", what);
}

/* Some published files have keys with time 0: such a key is moved to one second after the previous key. */
static sup_result read_time(anim_reader *r, int32_t key)
{
    double time = 0.0;
    sup_result result = read_number(r, "the time of a key", &time);
    if (result != SUP_OK) return result;
    r->times[key] = (float)time;
    if (key > 0 && !(r->times[key] > r->times[key - 1])) {
        r->times[key] = r->times[key - 1] + 1.0f;
        sup_log(r->input->context, SUP_LOG_WARNING,
                "%s, line %lld: key %d is not later than the previous key; it is moved to %g s.", r->text.name,
                (long long)r->text.line, key, (double)r->times[key]);
    }
    return SUP_OK;
}

static sup_result read_key(anim_reader *r, int32_t key, sup_vec3d *axes)
{
    sup_result result = read_time(r, key);
    for (int32_t j = 0; j < r->joints && result == SUP_OK; j++) {
        result = read_number(r, "the axis of a joint's rotation", &axes[j].x);
        if (result == SUP_OK) result = read_number(r, "the axis of a joint's rotation", &axes[j].y);
        if (result == SUP_OK) result = read_number(r, "the axis of a joint's rotation", &axes[j].z);
    }
    for (int32_t j = 0; j < r->joints && result == SUP_OK; j++) {
        double angle = 0.0;
        result = read_number(r, "the angle of a joint's rotation", &angle);
        if (result != SUP_OK) break;
        sup_quat q = sup_quatd_to_float(sup_quatd_from_axis_angle(axes[j], angle));
        float *slot = r->rotations + ((size_t)j * (size_t)r->keys + (size_t)key) * 4;
        slot[0] = q.x;
        slot[1] = q.y;
        slot[2] = q.z;
        slot[3] = q.w;
    }
    return result;
}

static sup_result read_keys(anim_reader *r, sup_arena *arena)
{
    r->times = sup_arena_alloc(arena, (size_t)r->keys, sizeof *r->times);
    r->rotations = sup_arena_alloc(arena, (size_t)r->keys * (size_t)r->joints, 4 * sizeof *r->rotations);
    sup_vec3d *axes = sup_arena_alloc(arena, (size_t)r->joints, sizeof *axes);
    if (r->times == NULL || r->rotations == NULL || axes == NULL) return sup_fail_memory(r->error, "the motion");
    sup_result result = SUP_OK;
    for (int32_t key = 0; key < r->keys && result == SUP_OK; key++)
        result = read_key(r, key, axes);
    if (result == SUP_OK && sup_text_skip_to_word(&r->text))
        return sup_text_fail(&r->text, r->error, "anim.counts", "There is data after the %d keys declared in line 1.",
                             r->keys);
    return result;
}

/* One channel per joint of the file, which has a value for each: a clip without motion keeps its duration. */
static sup_result make_channels(anim_reader *r, const sup_character *target, sup_arena *arena, sup_clip *clip)
{
    sup_channel *channels = sup_arena_alloc(arena, (size_t)r->joints, sizeof *channels);
    clip->name = sup_path_stem(arena, r->text.name);
    if (channels == NULL || clip->name == NULL) return sup_fail_memory(r->error, "the motion");
    int32_t joint = 0;
    for (int32_t i = 0; i < target->node_count && joint < r->joints; i++) {
        if (!target->nodes[i].is_joint) continue;
        channels[joint] = (sup_channel){.target = SUP_CHANNEL_ROTATION,
                                        .index = i,
                                        .interpolation = SUP_INTERPOLATE_LINEAR,
                                        .key_count = r->keys,
                                        .times = r->times,
                                        .values = r->rotations + (size_t)joint * (size_t)r->keys * 4};
        joint++;
    }
    clip->channels = channels;
    clip->channel_count = joint;
    return sup_clip_finish(clip, target, r->text.name, r->error);
}

sup_result sup_read_anim(const sup_read_input *input, const sup_character *target, sup_clip **clip, sup_error *error)
{
    anim_reader r = {.input = input, .text = sup_text_open(input->bytes, input->name, '#'), .error = error};
    sup_arena *arena;
    sup_result result = read_counts(&r, joint_count(target));
    if (result != SUP_OK) return result;
    sup_clip *made = sup_clip_begin(input->context, &arena);
    if (made == NULL) return sup_fail_memory(error, "the motion");
    result = read_keys(&r, arena);
    if (result == SUP_OK) result = make_channels(&r, target, arena, made);
    if (result == SUP_OK)
        *clip = made;
    else
        sup_clip_destroy(made);
    return result;
}

/* read_bvh.c - Biovision Hierarchy (BVH): a skeleton, and its motion as one clip named after the file.
 *
 * Channels may be any subset in any order; rotations are applied in the listed order. Position channels either replace
 * the components of a joint's OFFSET or are added to it: exporters differ, and is_relative() decides from the values.
 * End sites become leaf joints named after their parent. The format does not specify the unit and the up axis. */
#include "load/file.h"
#include "load/read.h"
#include "load/text_cursor.h"
#include "math/affine.h"

typedef enum bvh_channel_kind { BVH_POSITION, BVH_ROTATION } bvh_channel_kind;

typedef struct bvh_channel {
    bvh_channel_kind kind;
    int axis; /* 0 x, 1 y, 2 z */
} bvh_channel;

typedef struct bvh_joint {
    sup_word name; /* empty for an end site */
    int32_t parent;
    double offset[3];
    bool has_offset, has_channels;
    size_t channel_first, channel_count;
    float *translations, *rotations; /* [frames*3], [frames*4], or NULL */
} bvh_joint;

typedef struct bvh_reader {
    const sup_read_input *input;
    sup_text_cursor text;
    sup_array joints, channels;
    int32_t current; /* joint whose brace is open, -1 for none */
    int64_t frames;
    double frame_time;
    sup_error *error;
} bvh_reader;

static bvh_joint *joint_at(const bvh_reader *r, size_t index)
{
    return (bvh_joint *)(void *)r->joints.data + index;
}

static bvh_channel channel_at(const bvh_reader *r, size_t index)
{
    return ((const bvh_channel *)(const void *)r->channels.data)[index];
}

/* --- Hierarchy --- */

/* The rest of the line as a name (names may contain spaces), up to a brace that some exporters put there. */
static sup_word read_name(bvh_reader *r)
{
    sup_word name = sup_text_rest(&r->text);
    for (size_t i = 0; i < name.length; i++)
        if (name.text[i] == '{') {
            r->text.at = name.text + i;
            name.length = i;
        }
    while (name.length > 0 && (name.text[name.length - 1] == ' ' || name.text[name.length - 1] == '\t'))
        name.length--;
    return name;
}

static sup_result open_joint(bvh_reader *r, bool is_end)
{
    sup_word name = read_name(r);
    if (!is_end && name.length == 0) return sup_text_fail(&r->text, r->error, "bvh.name", "A joint has no name.");
    if (is_end) name.length = 0;
    if (!sup_text_skip_to_word(&r->text) || *r->text.at != '{')
        return sup_text_fail_expected(&r->text, r->error, "bvh.brace", "{ after the joint name");
    r->text.at++;
    if (r->joints.count >= INT32_MAX / 8)
        return sup_fail(r->error, SUP_ERROR_UNSUPPORTED, "bvh.size", r->text.name, "The file has too many joints.");
    bvh_joint *joint = sup_array_push(&r->input->context->allocator, &r->joints, 1);
    if (joint == NULL) return sup_fail_memory(r->error, "the joints");
    *joint = (bvh_joint){.name = name, .parent = r->current, .channel_first = r->channels.count};
    r->current = (int32_t)r->joints.count - 1;
    return SUP_OK;
}

static sup_result read_offset(bvh_reader *r, bvh_joint *joint)
{
    for (int i = 0; i < 3; i++)
        if (!sup_text_double(&r->text, &joint->offset[i]) || !isfinite((float)joint->offset[i]))
            return sup_text_fail_expected(&r->text, r->error, "bvh.offset", "three finite numbers of an OFFSET");
    joint->has_offset = true;
    return SUP_OK;
}

static bool channel_named(sup_word word, bvh_channel *channel)
{
    static const char *const names[6] = {"Xposition", "Yposition", "Zposition", "Xrotation", "Yrotation", "Zrotation"};
    for (int i = 0; i < 6; i++)
        if (sup_word_is(word, names[i])) {
            *channel = (bvh_channel){i < 3 ? BVH_POSITION : BVH_ROTATION, i % 3};
            return true;
        }
    return false;
}

static sup_result read_channels(bvh_reader *r, bvh_joint *joint)
{
    int64_t count;
    if (joint->has_channels || joint->name.length == 0)
        return sup_text_fail(&r->text, r->error, "bvh.channels",
                             "A joint has CHANNELS twice, or an end site has CHANNELS.");
    if (!sup_text_int64(&r->text, &count) || count < 0)
        return sup_text_fail_expected(&r->text, r->error, "bvh.channels", "the number of channels");
    for (int64_t i = 0; i < count; i++) {
        sup_text_skip_to_word(&r->text);
        bvh_channel channel;
        sup_text_cursor before = r->text;
        if (!channel_named(sup_text_word(&r->text), &channel)) {
            r->text = before;
            return sup_text_fail_expected(&r->text, r->error, "bvh.channels", "a channel such as Zrotation");
        }
        bvh_channel *slot = sup_array_push(&r->input->context->allocator, &r->channels, 1);
        if (slot == NULL) return sup_fail_memory(r->error, "the channels");
        *slot = channel;
    }
    joint->has_channels = true;
    joint->channel_count = (size_t)count;
    return SUP_OK;
}

static sup_result close_joint(bvh_reader *r)
{
    if (r->current < 0) return sup_text_fail(&r->text, r->error, "bvh.brace", "Unmatched }.");
    const bvh_joint *joint = joint_at(r, (size_t)r->current);
    if (!joint->has_offset) return sup_text_fail(&r->text, r->error, "bvh.offset", "A joint has no OFFSET.");
    r->current = joint->parent;
    return SUP_OK;
}

static sup_result hierarchy_word(bvh_reader *r, sup_word word)
{
    bvh_joint *joint = r->current >= 0 ? joint_at(r, (size_t)r->current) : NULL;
    if (sup_word_is(word, "}")) return close_joint(r);
    if (joint == NULL && sup_word_is(word, "ROOT")) return open_joint(r, false);
    if (joint != NULL && joint->name.length > 0 && sup_word_is(word, "JOINT")) return open_joint(r, false);
    if (joint != NULL && joint->name.length > 0 && sup_word_is(word, "End")) return open_joint(r, true);
    if (joint != NULL && sup_word_is(word, "OFFSET")) return read_offset(r, joint);
    if (joint != NULL && sup_word_is(word, "CHANNELS")) return read_channels(r, joint);
    r->text.at = word.text;
    return sup_text_fail_expected(&r->text, r->error, "bvh.hierarchy",
                                  joint != NULL ? "OFFSET, CHANNELS, JOINT, End Site or }" : "ROOT or MOTION");
}

/* Up to MOTION or the end of the file. */
static sup_result read_hierarchy(bvh_reader *r, bool *has_motion)
{
    *has_motion = false;
    if (!sup_text_skip_to_word(&r->text) || !sup_word_is(sup_text_word(&r->text), "HIERARCHY"))
        return sup_text_fail(&r->text, r->error, "bvh.hierarchy", "The file does not start with HIERARCHY.");
    sup_result result = SUP_OK;
    while (result == SUP_OK && sup_text_skip_to_word(&r->text)) {
        sup_word word = sup_text_word(&r->text);
        if (r->current < 0 && sup_word_is(word, "MOTION")) {
            *has_motion = true;
            break;
        }
        result = hierarchy_word(r, word);
    }
    if (result != SUP_OK) return result;
    if (r->current >= 0)
        return sup_text_fail(&r->text, r->error, "bvh.brace", "The file ends inside the hierarchy: it is truncated.");
    if (r->joints.count == 0) return sup_text_fail(&r->text, r->error, "bvh.empty", "The file has no joints.");
    return SUP_OK;
}

/* --- Motion --- */

static bool expect(bvh_reader *r, const char *word)
{
    return sup_text_skip_to_word(&r->text) && sup_word_is(sup_text_word(&r->text), word);
}

static sup_result read_motion_header(bvh_reader *r)
{
    if (!expect(r, "Frames:") || !sup_text_int64(&r->text, &r->frames) || r->frames < 0)
        return sup_text_fail(&r->text, r->error, "bvh.frames", "Expected \"Frames:\" and the number of frames.");
    if (!expect(r, "Frame") || !expect(r, "Time:") || !sup_text_double(&r->text, &r->frame_time) ||
        !isfinite(r->frame_time) || r->frame_time < 0.0 || (r->frame_time == 0.0 && r->frames > 1))
        return sup_text_fail(&r->text, r->error, "bvh.frametime",
                             "Expected \"Frame Time:\" and the frame duration in seconds, greater than 0.");
    size_t channels = r->channels.count > 0 ? r->channels.count : 1;
    if ((uint64_t)r->frames > (sup_text_remaining(&r->text) + 1) / channels / 2 || r->frames > INT32_MAX / 8)
        return sup_text_fail(&r->text, r->error, "bvh.frames",
                             "The file declares %lld frames of %zu numbers, but is too short to contain them.",
                             (long long)r->frames, r->channels.count);
    return SUP_OK;
}

static bool has_kind(const bvh_reader *r, const bvh_joint *joint, bvh_channel_kind kind)
{
    for (size_t c = 0; c < joint->channel_count; c++)
        if (channel_at(r, joint->channel_first + c).kind == kind) return true;
    return false;
}

static sup_result allocate_keys(bvh_reader *r, sup_arena *arena)
{
    for (size_t j = 0; j < r->joints.count; j++) {
        bvh_joint *joint = joint_at(r, j);
        bool moves = has_kind(r, joint, BVH_POSITION), rotates = has_kind(r, joint, BVH_ROTATION);
        if (moves) joint->translations = sup_arena_alloc(arena, (size_t)r->frames * 3, sizeof(float));
        if (rotates) joint->rotations = sup_arena_alloc(arena, (size_t)r->frames * 4, sizeof(float));
        if ((moves && joint->translations == NULL) || (rotates && joint->rotations == NULL))
            return sup_fail_memory(r->error, "the motion");
    }
    return SUP_OK;
}

/* Of the two quaternions of a rotation, stores the one nearer to the previous key, so that curves are smooth in
 * editors. The result does not depend on it. */
static void store_rotation(float *keys, int64_t frame, sup_quatd q)
{
    float *slot = keys + frame * 4;
    sup_quat f = sup_quatd_to_float(q);
    const float *last = frame > 0 ? slot - 4 : NULL;
    bool flip = last != NULL && last[0] * f.x + last[1] * f.y + last[2] * f.z + last[3] * f.w < 0.0f;
    float sign = flip ? -1.0f : 1.0f;
    slot[0] = sign * f.x;
    slot[1] = sign * f.y;
    slot[2] = sign * f.z;
    slot[3] = sign * f.w;
}

static sup_result read_joint_frame(bvh_reader *r, bvh_joint *joint, int64_t frame)
{
    double position[3] = {joint->offset[0], joint->offset[1], joint->offset[2]};
    sup_quatd rotation = {0, 0, 0, 1};
    for (size_t c = 0; c < joint->channel_count; c++) {
        bvh_channel channel = channel_at(r, joint->channel_first + c);
        double value;
        if (!sup_text_double(&r->text, &value) || !isfinite((float)value))
            return sup_text_fail(&r->text, r->error, "bvh.motion",
                                 "Frame %lld has fewer than %zu numbers or a value that is not a finite number.",
                                 (long long)frame, r->channels.count);
        if (channel.kind == BVH_POSITION) {
            position[channel.axis] = value;
        } else {
            sup_vec3d axis = sup_v3(channel.axis == 0, channel.axis == 1, channel.axis == 2);
            double radians = value * 0.017453292519943295;
            rotation = sup_quatd_multiply(rotation, sup_quatd_from_axis_angle(axis, radians));
        }
    }
    if (joint->rotations != NULL) store_rotation(joint->rotations, frame, rotation);
    for (int i = 0; joint->translations != NULL && i < 3; i++)
        joint->translations[frame * 3 + i] = (float)position[i];
    return SUP_OK;
}

/* One line per frame: a missing or extra number is reported at its line. */
static sup_result read_frames(bvh_reader *r)
{
    for (int64_t frame = 0; frame < r->frames && r->channels.count > 0; frame++) {
        sup_text_next_line(&r->text);
        if (!sup_text_skip_to_word(&r->text))
            return sup_text_fail(&r->text, r->error, "bvh.frames",
                                 "The file declares %lld frames, but ends after %lld.", (long long)r->frames,
                                 (long long)frame);
        for (size_t j = 0; j < r->joints.count; j++) {
            sup_result result = read_joint_frame(r, joint_at(r, j), frame);
            if (result != SUP_OK) return result;
        }
        if (sup_text_has_word(&r->text))
            return sup_text_fail(&r->text, r->error, "bvh.motion", "Frame %lld has more than %zu numbers.",
                                 (long long)frame, r->channels.count);
    }
    sup_text_next_line(&r->text);
    if (sup_text_skip_to_word(&r->text))
        return sup_text_fail(&r->text, r->error, "bvh.frames", "There is data after the declared %lld frames.",
                             (long long)r->frames);
    return SUP_OK;
}

/* Positions that repeat or replace the OFFSET point along it; positions relative to it do not: their mean component
 * along it is near 0. For inner joints the two cases differ clearly. The position of a root is in world space, where a
 * low position (a character lying on the floor) must not be classified as relative. */
static bool is_relative(const bvh_reader *r, const bvh_joint *joint, const bool moves[3])
{
    double along = 0.0, offset_length2 = 0.0;
    for (int i = 0; i < 3; i++) {
        if (!moves[i]) continue;
        double mean = 0.0;
        for (int64_t f = 0; f < r->frames; f++)
            mean += (double)joint->translations[f * 3 + i] / (double)r->frames;
        along += mean * joint->offset[i];
        offset_length2 += joint->offset[i] * joint->offset[i];
    }
    return along < (joint->parent < 0 ? 0.05 : 0.5) * offset_length2;
}

static void resolve_positions(bvh_reader *r)
{
    for (size_t j = 0; j < r->joints.count; j++) {
        bvh_joint *joint = joint_at(r, j);
        bool moves[3] = {false, false, false};
        for (size_t c = 0; c < joint->channel_count; c++) {
            bvh_channel channel = channel_at(r, joint->channel_first + c);
            if (channel.kind == BVH_POSITION) moves[channel.axis] = true;
        }
        if (joint->translations == NULL || !is_relative(r, joint, moves)) continue;
        for (int64_t k = 0; k < r->frames * 3; k++)
            if (moves[k % 3]) joint->translations[k] += (float)joint->offset[k % 3];
    }
}

/* --- Character --- */

static sup_result make_nodes(bvh_reader *r, sup_character *made)
{
    sup_arena *arena = sup_character_arena(made);
    sup_node *nodes = sup_arena_alloc(arena, r->joints.count, sizeof *nodes);
    if (nodes == NULL) return sup_fail_memory(r->error, "the joints");
    for (size_t j = 0; j < r->joints.count; j++) {
        const bvh_joint *joint = joint_at(r, j);
        sup_word from = joint->name.length > 0 ? joint->name : joint_at(r, (size_t)joint->parent)->name;
        size_t extra = joint->name.length > 0 ? 0 : 4;
        char *name = sup_arena_alloc(arena, from.length + extra + 1, 1);
        if (name == NULL) return sup_fail_memory(r->error, "the joints");
        memcpy(name, from.text, from.length);
        memcpy(name + from.length, "_end", extra);
        nodes[j] = (sup_node){name, joint->parent, sup_transform_identity(), true};
        nodes[j].rest.translation =
            (sup_vec3){(float)joint->offset[0], (float)joint->offset[1], (float)joint->offset[2]};
    }
    made->nodes = nodes;
    made->node_count = (int32_t)r->joints.count;
    return SUP_OK;
}

static sup_result make_clip(bvh_reader *r, sup_character *made)
{
    sup_arena *arena = sup_character_arena(made);
    sup_clip *clip = sup_arena_alloc(arena, 1, sizeof *clip);
    sup_channel *channels = sup_arena_alloc(arena, r->joints.count * 2, sizeof *channels);
    float *times = sup_arena_alloc(arena, (size_t)r->frames, sizeof *times);
    if (clip == NULL || channels == NULL || times == NULL) return sup_fail_memory(r->error, "the motion");
    for (int64_t f = 0; f < r->frames; f++)
        times[f] = (float)((double)f * r->frame_time);
    int32_t count = 0;
    for (size_t j = 0; j < r->joints.count; j++) {
        const bvh_joint *joint = joint_at(r, j);
        sup_channel channel = {SUP_CHANNEL_TRANSLATION, (int32_t)j, SUP_INTERPOLATE_LINEAR,
                               (int32_t)r->frames,      times,      joint->translations};
        if (joint->translations != NULL) channels[count++] = channel;
        channel.target = SUP_CHANNEL_ROTATION;
        channel.values = joint->rotations;
        if (joint->rotations != NULL) channels[count++] = channel;
    }
    *clip = (sup_clip){.name = made->name, .channel_count = count, .channels = channels};
    made->clips = clip;
    made->clip_count = 1;
    return SUP_OK;
}

static sup_result read_all(bvh_reader *r, sup_character *made)
{
    bool has_motion;
    sup_arena *arena = sup_character_arena(made);
    sup_result result = read_hierarchy(r, &has_motion);
    if (result == SUP_OK && has_motion) result = read_motion_header(r);
    if (result == SUP_OK && has_motion) result = allocate_keys(r, arena);
    if (result == SUP_OK && has_motion) result = read_frames(r);
    if (result == SUP_OK && has_motion && r->frames > 0) resolve_positions(r);
    if (result == SUP_OK) result = make_nodes(r, made);
    made->name = sup_path_stem(arena, r->text.name);
    if (result == SUP_OK && made->name == NULL) result = sup_fail_memory(r->error, "the joints");
    if (result == SUP_OK && r->frames > 0 && r->channels.count > 0) result = make_clip(r, made);
    if (result == SUP_OK) result = sup_character_finish(made, r->text.name, r->error);
    return result;
}

sup_result sup_read_bvh(const sup_read_input *input, sup_character **character, sup_error *error)
{
    bvh_reader r = {.input = input,
                    .text = sup_text_open(input->bytes, input->name, '\0'),
                    .joints.item_size = sizeof(bvh_joint),
                    .channels.item_size = sizeof(bvh_channel),
                    .current = -1,
                    .error = error};
    sup_character *made = sup_character_begin(input->context);
    if (made == NULL) return sup_fail_memory(error, "the skeleton");
    sup_result result = read_all(&r, made);
    if (result == SUP_OK)
        *character = made;
    else
        sup_character_destroy(made);
    sup_array_free(&input->context->allocator, &r.joints);
    sup_array_free(&input->context->allocator, &r.channels);
    return result;
}

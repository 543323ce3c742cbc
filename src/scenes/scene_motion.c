/* scene_motion.c - converts tables of joint angles to clips: monotone cubic interpolation, sampled at a fixed rate;
 * moves the root so that the feet touch the floor. */
#include "scenes/scene_spec.h"

typedef struct angles {
    double value[3];
} angles;

/* A track: n keys of three values; periodic if `period` > 0. */
typedef struct track {
    const double *times; /* keys of `stride` doubles: the time, then three values */
    size_t stride;
    int32_t count;
    double period; /* 0 = no loop */
} track;

/* In a loop a key at the end repeats the first key. */
static track make_track(const sup_motion *motion, const double *times, size_t key_size, int32_t count)
{
    track t = {times, key_size / sizeof(double), count, motion->loop ? motion->duration : 0.0};
    if (motion->loop && count > 1 && times[(size_t)(count - 1) * t.stride] >= motion->duration) t.count--;
    return t;
}

static double key_time(const track *t, int32_t i)
{
    int32_t turns = i < 0 ? -1 : i >= t->count ? 1 : 0;
    return t->times[(size_t)(i - turns * t->count) * t->stride] + turns * t->period;
}

static double key_value(const track *t, int32_t i, int c)
{
    int32_t turns = i < 0 ? -1 : i >= t->count ? 1 : 0;
    return t->times[(size_t)(i - turns * t->count) * t->stride + 1 + (size_t)c];
}

/* Fritsch and Carlson 1980: a slope that keeps the curve monotone between keys; zero at extrema and open ends. */
static double key_slope(const track *t, int32_t i, int c)
{
    if (t->period == 0.0 && (i <= 0 || i >= t->count - 1)) return 0.0;
    double before = key_time(t, i) - key_time(t, i - 1), after = key_time(t, i + 1) - key_time(t, i);
    double rise = (key_value(t, i, c) - key_value(t, i - 1, c)) / before;
    double next = (key_value(t, i + 1, c) - key_value(t, i, c)) / after;
    if (rise * next <= 0.0) return 0.0;
    double w1 = 2.0 * after + before, w2 = after + 2.0 * before;
    return (w1 + w2) / (w1 / rise + w2 / next);
}

static angles sample_track(const track *t, double time)
{
    angles result;
    int32_t i = -1; /* last key at or before `time` */
    if (t->period > 0.0) time -= floor(time / t->period) * t->period;
    while (i + 1 < t->count && key_time(t, i + 1) <= time)
        i++;
    bool before = i < 0 && t->period == 0.0, past = i >= t->count - 1 && t->period == 0.0;
    for (int c = 0; c < 3; c++) {
        if (before || past || t->count == 1) {
            result.value[c] = key_value(t, before || t->count == 1 ? 0 : t->count - 1, c);
            continue;
        }
        double length = key_time(t, i + 1) - key_time(t, i), s = (time - key_time(t, i)) / length, s2 = s * s,
               s3 = s2 * s;
        result.value[c] = (2.0 * s3 - 3.0 * s2 + 1.0) * key_value(t, i, c) +
                          (3.0 * s2 - 2.0 * s3) * key_value(t, i + 1, c) +
                          length * ((s3 - 2.0 * s2 + s) * key_slope(t, i, c) + (s3 - s2) * key_slope(t, i + 1, c));
    }
    return result;
}

static double clamp_to(double value, sup_range range)
{
    return value < range.low ? range.low : value > range.high ? range.high : value;
}

static sup_quatd joint_rotation(const sup_joint *joint, angles a)
{
    const double degree = 3.14159265358979323846 / 180.0;
    const sup_joint_spec *limits = joint->spec;
    sup_quatd flex = sup_quatd_from_axis_angle(joint->flex_axis, clamp_to(a.value[0], limits->flex) * degree);
    sup_quatd swing = sup_quatd_from_axis_angle(joint->swing_axis, clamp_to(a.value[1], limits->swing) * degree);
    sup_quatd twist = sup_quatd_from_axis_angle(joint->twist_axis, clamp_to(a.value[2], limits->twist) * degree);
    return sup_quatd_multiply(flex, sup_quatd_multiply(swing, twist));
}

typedef struct motion_sampler {
    const sup_scene_spec *spec;
    const sup_skeleton *skeleton;
    const sup_motion *motion;
    const sup_motion_key *keys[SUP_JOINTS_MAX * 2]; /* first key of a joint, NULL when not animated */
    int32_t key_count[SUP_JOINTS_MAX * 2];
    bool level[SUP_JOINTS_MAX * 2]; /* rotation is solved to keep the sole level */
    sup_quatd local[SUP_JOINTS_MAX * 2], world_rotation[SUP_JOINTS_MAX * 2]; /* at the current time */
    sup_vec3d world_position[SUP_JOINTS_MAX * 2];
} motion_sampler;

static bool key_targets(const sup_motion_key *key, const sup_joint *joint)
{
    if (key->joint[0] != '*') return sup_text_equal(key->joint, joint->name);
    size_t skip = joint->right ? 6 : 5; /* "right_", "left_" */
    return joint->spec->name[0] == '*' && sup_text_equal(key->joint + 1, joint->name + skip);
}

static void find_keys(motion_sampler *s)
{
    const sup_motion *m = s->motion;
    for (int32_t j = 0; j < s->skeleton->count; j++)
        for (int32_t i = 0; i < m->key_count; i++) {
            if (!key_targets(&m->keys[i], &s->skeleton->joints[j])) continue;
            if (s->keys[j] == NULL) s->keys[j] = &m->keys[i];
            s->key_count[j]++;
        }
    for (int32_t c = 0; m->foot_mode == SUP_FEET_PLANTED && c < s->spec->contact_count; c++) {
        int32_t j = sup_skeleton_find(s->skeleton, s->spec->contacts[c].joint);
        s->level[j] = true;
    }
}

/* Joint rotations at `time`, and joint positions with the root at rest. */
static void pose_joints(motion_sampler *s, double time)
{
    const sup_motion *m = s->motion;
    for (int32_t j = 0; j < s->skeleton->count; j++) {
        const sup_joint *joint = &s->skeleton->joints[j];
        sup_quatd parent_rotation =
            joint->parent < 0 ? (sup_quatd){0.0, 0.0, 0.0, 1.0} : s->world_rotation[joint->parent];
        s->local[j] = (sup_quatd){0.0, 0.0, 0.0, 1.0};
        if (s->keys[j] != NULL) {
            bool is_delayed = m->alternate && joint->right && s->keys[j]->joint[0] == '*';
            track t = make_track(m, &s->keys[j]->time, sizeof(sup_motion_key), s->key_count[j]);
            s->local[j] = joint_rotation(joint, sample_track(&t, is_delayed ? time + 0.5 * m->duration : time));
        }
        if (s->level[j]) s->local[j] = sup_quatd_conjugate(parent_rotation);
        s->world_rotation[j] = sup_quatd_multiply(parent_rotation, s->local[j]);
        s->world_position[j] = joint->at;
        if (joint->parent >= 0) {
            sup_vec3d arm = sup_v3_sub(joint->at, s->skeleton->joints[joint->parent].at);
            s->world_position[j] = sup_v3_add(s->world_position[joint->parent], sup_quatd_rotate(parent_rotation, arm));
        }
    }
}

static sup_vec3d root_translation(const motion_sampler *s, double time)
{
    const sup_motion *m = s->motion;
    sup_vec3d translation = sup_v3(0.0, 0.0, 0.0);
    if (m->root_key_count > 0) {
        track t = make_track(m, &m->root_keys[0].time, sizeof(sup_root_key), m->root_key_count);
        angles a = sample_track(&t, time);
        translation = sup_v3(a.value[0], a.value[1], a.value[2]);
    }
    if (m->foot_mode == SUP_FEET_FREE) return translation;
    double lowest = 1e9, rest_lowest = 1e9;
    sup_vec3d slide = sup_v3(0.0, 0.0, 0.0);
    for (int32_t c = 0; c < s->spec->contact_count; c++) {
        const sup_floor_point *contact = &s->spec->contacts[c];
        int32_t j = sup_skeleton_find(s->skeleton, contact->joint);
        sup_vec3d arm = sup_v3_sub(contact->at, s->skeleton->joints[j].at);
        sup_vec3d now = sup_v3_add(s->world_position[j], sup_quatd_rotate(s->world_rotation[j], arm));
        lowest = now.y < lowest ? now.y : lowest;
        rest_lowest = contact->at.y < rest_lowest ? contact->at.y : rest_lowest;
        slide = sup_v3_add(slide, sup_v3_sub(contact->at, now));
    }
    translation.y += rest_lowest - lowest;
    if (m->foot_mode == SUP_FEET_PLANTED) {
        translation.x += slide.x / s->spec->contact_count;
        translation.z += slide.z / s->spec->contact_count;
    }
    return translation;
}

static float *add_channel(sup_arena *arena, sup_clip *clip, sup_channel *channels, sup_channel_target target,
                          int32_t node, int32_t keys, const float *times)
{
    sup_channel *channel = &channels[clip->channel_count++];
    size_t width = target == SUP_CHANNEL_ROTATION ? 4 : 3;
    float *values = sup_arena_alloc(arena, (size_t)keys * width, sizeof *values);
    *channel = (sup_channel){target, node, SUP_INTERPOLATE_LINEAR, keys, times, values};
    return values;
}

static void store_key(const motion_sampler *s, int32_t key, double time, float **rotations, float *root_keys)
{
    for (int32_t j = 0; j < s->skeleton->count; j++) {
        if (rotations[j] == NULL) continue;
        sup_quat q = sup_quatd_to_float(s->local[j]);
        float *to = rotations[j] + (size_t)key * 4;
        float flip = key > 0 && to[-4] * q.x + to[-3] * q.y + to[-2] * q.z + to[-1] * q.w < 0.0f ? -1.0f : 1.0f;
        to[0] = flip * q.x;
        to[1] = flip * q.y;
        to[2] = flip * q.z;
        to[3] = flip * q.w;
    }
    if (root_keys != NULL)
        sup_v3_store(root_keys + (size_t)key * 3, sup_v3_add(s->skeleton->joints[0].at, root_translation(s, time)));
}

bool sup_scene_clip(const sup_scene_spec *spec, const sup_skeleton *skeleton, const sup_motion *motion,
                    sup_arena *arena, sup_clip *clip)
{
    motion_sampler s = {.spec = spec, .skeleton = skeleton, .motion = motion};
    find_keys(&s);
    int32_t keys = (int32_t)(motion->duration * motion->rate + 0.5) + 1;
    float *times = sup_arena_alloc(arena, (size_t)keys, sizeof *times), *rotations[SUP_JOINTS_MAX * 2] = {NULL};
    float *root_keys = NULL;
    sup_channel *channels = sup_arena_alloc(arena, (size_t)skeleton->count + 1, sizeof *channels);
    if (times == NULL || channels == NULL) return false;
    *clip = (sup_clip){.name = motion->name, .channels = channels};
    if (motion->foot_mode != SUP_FEET_FREE || motion->root_key_count > 0) {
        root_keys = add_channel(arena, clip, channels, SUP_CHANNEL_TRANSLATION, 0, keys, times);
        if (root_keys == NULL) return false;
    }
    for (int32_t j = 0; j < skeleton->count; j++) {
        if (s.keys[j] == NULL && !s.level[j]) continue;
        rotations[j] = add_channel(arena, clip, channels, SUP_CHANNEL_ROTATION, j, keys, times);
        if (rotations[j] == NULL) return false;
    }
    for (int32_t key = 0; key < keys; key++) {
        double time = key / motion->rate;
        times[key] = (float)time;
        /* The last key of a loop is bit-identical to the first. */
        pose_joints(&s, motion->loop && key == keys - 1 ? 0.0 : time);
        store_key(&s, key, motion->loop && key == keys - 1 ? 0.0 : time, rotations, root_keys);
    }
    clip->end = times[keys - 1];
    return true;
}

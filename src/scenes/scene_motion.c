/* scene_motion.c - tables of joint angles become clips: smooth interpolation without overshoot, sampled at a fixed rate, and
 * the root moved so that feet meet the floor. */
#include "scenes/scene_spec.h"

typedef struct angles {
    double value[3];
} angles;

/* A track is n keys of three values; `loop` means that it goes on after its period. */
typedef struct track {
    const double *times; /* stride in doubles between keys, times first, three values after it */
    size_t stride;
    int32_t count;
    double period; /* 0 = no loop */
} track;

/* In a loop a key at the end is the first one again. */
static track make_track(const sup_motion *motion, const double *times, size_t row_size, int32_t count)
{
    track t = {times, row_size / sizeof(double), count, motion->loop ? motion->duration : 0.0};
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

/* Fritsch and Carlson 1980: a slope that keeps the curve between its keys; flat at turning points and open ends. */
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

static double within(double value, sup_range range)
{
    return value < range.low ? range.low : value > range.high ? range.high : value;
}

static sup_quatd joint_rotation(const sup_joint *joint, angles a)
{
    const double degree = 3.14159265358979323846 / 180.0;
    const sup_joint_row *row = joint->row;
    sup_quatd flex = sup_quatd_from_axis_angle(joint->flex_axis, within(a.value[0], row->flex) * degree);
    sup_quatd swing = sup_quatd_from_axis_angle(joint->swing_axis, within(a.value[1], row->swing) * degree);
    sup_quatd twist = sup_quatd_from_axis_angle(joint->twist_axis, within(a.value[2], row->twist) * degree);
    return sup_quatd_multiply(flex, sup_quatd_multiply(swing, twist));
}

typedef struct stage {
    const sup_recipe *recipe;
    const sup_skeleton *skeleton;
    const sup_motion *motion;
    const sup_motion_row *rows[SUP_JOINTS_MAX * 2]; /* first row of a joint, NULL when it stays at rest */
    int32_t row_count[SUP_JOINTS_MAX * 2];
    bool level[SUP_JOINTS_MAX * 2]; /* its rotation is found, not told: soles stay level */
    sup_quatd local[SUP_JOINTS_MAX * 2], turned[SUP_JOINTS_MAX * 2]; /* of one moment */
    sup_vec3d place[SUP_JOINTS_MAX * 2];
} stage;

static bool row_moves(const sup_motion_row *row, const sup_joint *joint)
{
    if (row->joint[0] != '*') return sup_text_equal(row->joint, joint->name);
    size_t skip = joint->right ? 6 : 5; /* "right_", "left_" */
    return joint->row->name[0] == '*' && sup_text_equal(row->joint + 1, joint->name + skip);
}

static void find_rows(stage *s)
{
    const sup_motion *m = s->motion;
    for (int32_t j = 0; j < s->skeleton->count; j++)
        for (int32_t i = 0; i < m->row_count; i++) {
            if (!row_moves(&m->rows[i], &s->skeleton->joints[j])) continue;
            if (s->rows[j] == NULL) s->rows[j] = &m->rows[i];
            s->row_count[j]++;
        }
    for (int32_t c = 0; m->footing == SUP_FOOTING_PLANT && c < s->recipe->contact_count; c++) {
        int32_t j = sup_skeleton_find(s->skeleton, s->recipe->contacts[c].joint);
        s->level[j] = true;
    }
}

/* Joint rotations of the moment, and where that puts the joints while the root stays at rest. */
static void pose_joints(stage *s, double time)
{
    const sup_motion *m = s->motion;
    for (int32_t j = 0; j < s->skeleton->count; j++) {
        const sup_joint *joint = &s->skeleton->joints[j];
        sup_quatd above = joint->parent < 0 ? (sup_quatd){0.0, 0.0, 0.0, 1.0} : s->turned[joint->parent];
        s->local[j] = (sup_quatd){0.0, 0.0, 0.0, 1.0};
        if (s->rows[j] != NULL) {
            bool later = m->alternate && joint->right && s->rows[j]->joint[0] == '*';
            track t = make_track(m, &s->rows[j]->time, sizeof(sup_motion_row), s->row_count[j]);
            s->local[j] = joint_rotation(joint, sample_track(&t, later ? time + 0.5 * m->duration : time));
        }
        if (s->level[j]) s->local[j] = sup_quatd_conjugate(above);
        s->turned[j] = sup_quatd_multiply(above, s->local[j]);
        s->place[j] = joint->at;
        if (joint->parent >= 0) {
            sup_vec3d arm = sup_v3_sub(joint->at, s->skeleton->joints[joint->parent].at);
            s->place[j] = sup_v3_add(s->place[joint->parent], sup_quatd_rotate(above, arm));
        }
    }
}

static sup_vec3d root_travel(const stage *s, double time)
{
    const sup_motion *m = s->motion;
    sup_vec3d move = sup_v3(0.0, 0.0, 0.0);
    if (m->travel_count > 0) {
        track t = make_track(m, &m->travel[0].time, sizeof(sup_travel_row), m->travel_count);
        angles a = sample_track(&t, time);
        move = sup_v3(a.value[0], a.value[1], a.value[2]);
    }
    if (m->footing == SUP_FOOTING_FREE) return move;
    double lowest = 1e9, rest_lowest = 1e9;
    sup_vec3d slide = sup_v3(0.0, 0.0, 0.0);
    for (int32_t c = 0; c < s->recipe->contact_count; c++) {
        const sup_floor_point *contact = &s->recipe->contacts[c];
        int32_t j = sup_skeleton_find(s->skeleton, contact->joint);
        sup_vec3d arm = sup_v3_sub(contact->at, s->skeleton->joints[j].at);
        sup_vec3d now = sup_v3_add(s->place[j], sup_quatd_rotate(s->turned[j], arm));
        lowest = now.y < lowest ? now.y : lowest;
        rest_lowest = contact->at.y < rest_lowest ? contact->at.y : rest_lowest;
        slide = sup_v3_add(slide, sup_v3_sub(contact->at, now));
    }
    move.y += rest_lowest - lowest;
    if (m->footing == SUP_FOOTING_PLANT) {
        move.x += slide.x / s->recipe->contact_count;
        move.z += slide.z / s->recipe->contact_count;
    }
    return move;
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

static void store_moment(const stage *s, int32_t key, double time, float **rotations, float *travel)
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
    if (travel != NULL)
        sup_v3_store(travel + (size_t)key * 3, sup_v3_add(s->skeleton->joints[0].at, root_travel(s, time)));
}

bool sup_scene_clip(const sup_recipe *recipe, const sup_skeleton *skeleton, const sup_motion *motion, sup_arena *arena,
                    sup_clip *clip)
{
    stage s = {.recipe = recipe, .skeleton = skeleton, .motion = motion};
    find_rows(&s);
    int32_t keys = (int32_t)(motion->duration * motion->rate + 0.5) + 1;
    float *times = sup_arena_alloc(arena, (size_t)keys, sizeof *times), *rotations[SUP_JOINTS_MAX * 2] = {NULL};
    float *travel = NULL;
    sup_channel *channels = sup_arena_alloc(arena, (size_t)skeleton->count + 1, sizeof *channels);
    if (times == NULL || channels == NULL) return false;
    *clip = (sup_clip){.name = motion->name, .channels = channels};
    if (motion->footing != SUP_FOOTING_FREE || motion->travel_count > 0) {
        travel = add_channel(arena, clip, channels, SUP_CHANNEL_TRANSLATION, 0, keys, times);
        if (travel == NULL) return false;
    }
    for (int32_t j = 0; j < skeleton->count; j++) {
        if (s.rows[j] == NULL && !s.level[j]) continue;
        rotations[j] = add_channel(arena, clip, channels, SUP_CHANNEL_ROTATION, j, keys, times);
        if (rotations[j] == NULL) return false;
    }
    for (int32_t key = 0; key < keys; key++) {
        double time = key / motion->rate;
        times[key] = (float)time;
        /* The last key of a loop is the first again, to the bit. */
        pose_joints(&s, motion->loop && key == keys - 1 ? 0.0 : time);
        store_moment(&s, key, motion->loop && key == keys - 1 ? 0.0 : time, rotations, travel);
    }
    clip->end = times[keys - 1];
    return true;
}

/* capture.c - artefacts of motion capture: rotation flips, and a T-pose before the motion.
 *
 * Optical capture swaps markers of thumbs and fingers: a joint rotates by nearly half a revolution from one key to the
 * next and back a few keys later. No joint moves like that, and simulated tissue must not see it. */
#include "base/base.h"
#include "math/affine.h"
#include "supple/pose.h"

static const double FLIP_ANGLE = 1.75;     /* radians between two keys: no joint rotates that fast, */
static const double FLIP_SPEED = 35.0;     /* radians a second, */
static const double RETURN_ANGLE = 0.9;    /* radians from the key before to the key after the flip: it returned, */
static const double RETURN_SECONDS = 0.25; /* within this time */
/* A first key of another pose; a kick reaches 15 to 20 radians a second, and not in three joints at once. */
static const double LEAD_ANGLE = 0.8;      /* radians from the first to the second key, */
static const double LEAD_SPEED = 20.0;     /* radians a second, */
static const double LEAD_FOLLOWING = 0.25; /* the rotation to the third key is less than this fraction of it */
enum { LEAD_JOINTS = 3 };

static sup_quatd key_at(const sup_channel *channel, int32_t i)
{
    const float *v = channel->values + 4 * (size_t)i;
    return sup_quatd_normalise((sup_quatd){(double)v[0], (double)v[1], (double)v[2], (double)v[3]});
}

static double angle_between(sup_quatd a, sup_quatd b)
{
    sup_quatd q = sup_quatd_multiply(sup_quatd_conjugate(a), b);
    return 2.0 * atan2(sqrt(q.x * q.x + q.y * q.y + q.z * q.z), fabs(q.w));
}

static bool has_rotation_keys(const sup_channel *channel)
{
    return channel->target == SUP_CHANNEL_ROTATION && channel->interpolation == SUP_INTERPOLATE_LINEAR;
}

/* The first key after `from` with about the rotation of the key before it, -1 if there is none soon enough. */
static int32_t find_return(const sup_channel *channel, int32_t from)
{
    sup_quatd before = key_at(channel, from - 1);
    for (int32_t i = from + 1; i < channel->key_count; i++) {
        if ((double)channel->times[i] - (double)channel->times[from - 1] > RETURN_SECONDS) return -1;
        if (angle_between(before, key_at(channel, i)) < RETURN_ANGLE) return i;
    }
    return -1;
}

/* The next flip that begins at key `from` or later: keys *first to *end - 1. */
static bool next_flip(const sup_channel *channel, int32_t from, int32_t *first, int32_t *end)
{
    for (int32_t i = from > 1 ? from : 1; i < channel->key_count; i++) {
        double seconds = (double)channel->times[i] - (double)channel->times[i - 1];
        double angle = angle_between(key_at(channel, i - 1), key_at(channel, i));
        if (angle < fmax(FLIP_ANGLE, FLIP_SPEED * seconds)) continue;
        *first = i;
        *end = find_return(channel, i);
        if (*end >= 0) return true;
    }
    return false;
}

int32_t sup_clip_find_flips(const sup_clip *clip, sup_clip_flip *flips, int32_t capacity)
{
    int32_t count = 0;
    for (int32_t c = 0; clip != NULL && c < clip->channel_count; c++) {
        const sup_channel *channel = &clip->channels[c];
        int32_t first = 0, end = 0;
        while (has_rotation_keys(channel) && next_flip(channel, end + 1, &first, &end)) {
            if (count < capacity)
                flips[count] = (sup_clip_flip){channel->index, channel->times[first - 1], channel->times[end]};
            count++;
        }
    }
    return count;
}

static int32_t despike_channel(const sup_channel *channel, float *values)
{
    int32_t removed = 0, first = 0, end = 0;
    for (; next_flip(channel, end + 1, &first, &end); removed++) {
        sup_quatd before = key_at(channel, first - 1), after = key_at(channel, end);
        for (int32_t k = first; k < end; k++) {
            double t = (double)(k - first + 1) / (double)(end - first + 1);
            sup_quat q = sup_quatd_to_float(sup_quatd_slerp(before, after, t));
            memcpy(values + 4 * (size_t)k, &q, sizeof q);
        }
    }
    return removed;
}

int32_t sup_clip_despike(sup_clip *clip)
{
    int32_t removed = 0;
    for (int32_t i = 0; clip != NULL && i < clip->channel_count; i++) {
        const sup_channel *channel = &clip->channels[i];
        union { /* writable, see the header */
            const float *from;
            float *to;
        } values = {channel->values};
        if (has_rotation_keys(channel)) removed += despike_channel(channel, values.to);
    }
    return removed;
}

double sup_clip_motion_start(const sup_clip *clip)
{
    int32_t joints = 0;
    double second_key = 0.0;
    for (int32_t i = 0; clip != NULL && i < clip->channel_count; i++) {
        const sup_channel *channel = &clip->channels[i];
        if (!has_rotation_keys(channel) || channel->key_count < 3 || channel->times[0] != clip->start) continue;
        double seconds = (double)channel->times[1] - (double)channel->times[0];
        sup_quatd key = key_at(channel, 1);
        double angle = angle_between(key_at(channel, 0), key), following = angle_between(key, key_at(channel, 2));
        if (angle < fmax(LEAD_ANGLE, LEAD_SPEED * seconds) || following > LEAD_FOLLOWING * angle) continue;
        second_key = fmax(second_key, (double)channel->times[1]);
        joints++;
    }
    if (joints >= LEAD_JOINTS) return second_key;
    return clip != NULL ? (double)clip->start : 0.0;
}

int32_t sup_clip_first_frame(const sup_clip *clip, double fps)
{
    const double rounding = 1e-3; /* frames; times of keys are floats */
    if (clip == NULL || !(fps > 0.0)) return 0;
    double frames = ceil((sup_clip_motion_start(clip) - (double)clip->start) * fps - rounding);
    return (int32_t)fmin(frames, (double)(sup_clip_frame_count(clip, fps) - 1));
}

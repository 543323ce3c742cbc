/* clip_sample.c - interpolation of channels (glTF 2.0, appendix C), and frames of a clip. */
#include "pose/pose.h"

static int width_of(sup_channel_target target)
{
    return target == SUP_CHANNEL_MORPH ? 1 : target == SUP_CHANNEL_ROTATION ? 4 : 3;
}

/* Last key at or before `time`, -1 for none. */
static int32_t key_before(const sup_channel *channel, double time)
{
    int32_t low = -1, high = channel->key_count;
    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;
        if ((double)channel->times[middle] <= time)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static sup_quatd quat_at(const float *v)
{
    return sup_quatd_from_float((sup_quat){v[0], v[1], v[2], v[3]});
}

static void store_quat(float *value, sup_quatd q)
{
    sup_quat f = sup_quatd_to_float(q);
    value[0] = f.x;
    value[1] = f.y;
    value[2] = f.z;
    value[3] = f.w;
}

/* Hermite spline over one interval: values and tangents in glTF layout, tangents scaled by the interval. */
static double hermite(double p0, double m0, double p1, double m1, double t, double interval)
{
    double t2 = t * t, t3 = t2 * t;
    return (2.0 * t3 - 3.0 * t2 + 1.0) * p0 + interval * (t3 - 2.0 * t2 + t) * m0 + (3.0 * t2 - 2.0 * t3) * p1 +
           interval * (t3 - t2) * m1;
}

static void interpolate(const sup_channel *channel, int32_t key, double t, double interval, int width, float *value)
{
    if (channel->interpolation == SUP_INTERPOLATE_CUBIC) {
        const float *a = channel->values + (size_t)key * 3 * (size_t)width, *b = a + 3 * width;
        for (int i = 0; i < width; i++)
            value[i] = (float)hermite((double)a[width + i], (double)a[2 * width + i], (double)b[width + i],
                                      (double)b[i], t, interval);
        return;
    }
    const float *a = channel->values + (size_t)key * (size_t)width, *b = a + width;
    if (channel->target == SUP_CHANNEL_ROTATION)
        store_quat(value, sup_quatd_slerp(quat_at(a), quat_at(b), t));
    else
        for (int i = 0; i < width; i++)
            value[i] = (float)((double)a[i] + t * ((double)b[i] - (double)a[i]));
}

void sup_channel_sample(const sup_channel *channel, double time, float value[4])
{
    int width = width_of(channel->target);
    bool cubic = channel->interpolation == SUP_INTERPOLATE_CUBIC;
    int32_t key = key_before(channel, time);
    bool between = key >= 0 && key + 1 < channel->key_count && channel->interpolation != SUP_INTERPOLATE_STEP;
    if (between) {
        double start = (double)channel->times[key], interval = (double)channel->times[key + 1] - start;
        interpolate(channel, key, interval > 0.0 ? (time - start) / interval : 0.0, interval, width, value);
    } else {
        size_t at = (size_t)(key < 0 ? 0 : key) * (size_t)width * (cubic ? 3 : 1) + (cubic ? (size_t)width : 0);
        for (int i = 0; i < width; i++)
            value[i] = channel->values[at + (size_t)i];
    }
    if (channel->target == SUP_CHANNEL_ROTATION) store_quat(value, quat_at(value));
}

int32_t sup_clip_frame_count(const sup_clip *clip, double fps)
{
    if (clip == NULL || !(fps > 0.0) || !isfinite(fps)) return 0;
    double duration = (double)clip->end - (double)clip->start;
    /* Key times are floats: a clip of 2.0 s may be stored as 1.9999999. Tolerate 1e-5 of a frame. */
    double frames = floor(duration * fps + 1e-5);
    return frames < 0.0 ? 1 : frames > 2147483000.0 ? 2147483000 : (int32_t)frames + 1;
}

double sup_clip_frame_time(const sup_clip *clip, double fps, int32_t frame)
{
    double time = (double)clip->start + (double)frame / fps;
    return time > (double)clip->end ? (double)clip->end : time;
}

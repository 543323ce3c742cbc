/* position_scale.c - see position_scale.h. */
#include "methods/position/position_scale.h"

#include "math/affine.h"

/* Deviation of a stretch from the identity that is not scale but rounding. */
static const double NO_SCALE = 1e-3;
/* Smallest factor of a rest volume: a joint that is scaled to nothing leaves flat tetrahedra. */
static const float MIN_VOLUME = 1e-3f;
enum { GRAIN = 512, TENSOR = 6 /* xx, yy, zz, yz, xz, xy */ };

typedef struct scale_work {
    const sup_position_view *view;
    float *joint;   /* [joint_count*TENSOR] */
    float *slot;    /* [slot_count*TENSOR] */
    float *volume;  /* [volume_batches*16] */
    float *stretch; /* [stretch_batches*16] */
    float *bone;    /* [slot_count] */
} scale_work;

static float *carve(unsigned char *base, size_t *size, int64_t count)
{
    float *at = base != NULL ? (float *)(void *)(base + *size) : NULL;
    *size += ((size_t)count * sizeof(float) + 63) / 64 * 64;
    return at;
}

static size_t lay_out(const sup_position_view *view, unsigned char *base, scale_work *w)
{
    size_t size = 0;
    w->view = view;
    w->joint = carve(base, &size, TENSOR * (int64_t)view->joint_count);
    w->slot = carve(base, &size, TENSOR * (int64_t)view->pbd.slot_count);
    w->volume = carve(base, &size, SUP_PBD_LANES * (int64_t)view->pbd.volume_batches);
    w->stretch = carve(base, &size, SUP_PBD_LANES * (int64_t)view->pbd.stretch_batches);
    w->bone = carve(base, &size, view->pbd.slot_count);
    return size;
}

size_t sup_position_scale_size(const sup_position_view *view)
{
    scale_work w;
    return lay_out(view, NULL, &w);
}

/* The stretch of a joint, 0 if its matrix is singular; returns its largest deviation from the identity. */
static double stretch_of(const sup_mat34 *joint, float *tensor)
{
    static const int entry[TENSOR] = {0, 4, 8, 5, 2, 1};
    sup_quatd rotation;
    double stretch[9] = {0}, deviation = 0.0;
    if (!sup_affine_polar(sup_affine_from_float(*joint), &rotation, stretch)) memset(stretch, 0, sizeof stretch);
    for (int k = 0; k < TENSOR; k++) {
        tensor[k] = (float)stretch[entry[k]];
        deviation = fmax(deviation, fabs(stretch[entry[k]] - (k < 3 ? 1.0 : 0.0)));
    }
    return deviation;
}

static void stretch_slots(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const scale_work *w = user;
    const sup_position_view *view = w->view;
    SUP_UNUSED(worker);
    for (int64_t i = begin; i < end; i++) {
        float *to = w->slot + TENSOR * i;
        memset(to, 0, TENSOR * sizeof *to);
        for (int64_t k = i * SUP_POSITION_INFLUENCES; k < (i + 1) * SUP_POSITION_INFLUENCES; k++)
            for (int c = 0; c < TENSOR; c++)
                to[c] += view->influence_weight[k] * w->joint[TENSOR * (int64_t)view->influence_joint[k] + c];
    }
}

/* Length of T v. */
static float stretched_length(const float t[TENSOR], const float v[3])
{
    float x = t[0] * v[0] + t[5] * v[1] + t[4] * v[2], y = t[5] * v[0] + t[1] * v[1] + t[3] * v[2],
          z = t[4] * v[0] + t[3] * v[1] + t[2] * v[2];
    return sqrtf(x * x + y * y + z * z);
}

static float determinant(const float t[TENSOR])
{
    return t[0] * (t[1] * t[2] - t[3] * t[3]) - t[5] * (t[5] * t[2] - t[3] * t[4]) + t[4] * (t[5] * t[3] - t[1] * t[4]);
}

/* Mean stretch of the corners of a lane. */
static void mean_stretch(const scale_work *w, const int32_t *corner, int32_t arity, float t[TENSOR])
{
    for (int c = 0; c < TENSOR; c++) {
        t[c] = 0.0f;
        for (int32_t k = 0; k < arity; k++)
            t[c] += w->slot[TENSOR * (int64_t)corner[k * SUP_PBD_LANES] + c] / (float)arity;
    }
}

static void scale_volumes(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const scale_work *w = user;
    const sup_pbd *pbd = &w->view->pbd;
    SUP_UNUSED(worker);
    for (int64_t i = (int64_t)begin * SUP_PBD_LANES; i < (int64_t)end * SUP_PBD_LANES; i++) {
        float t[TENSOR];
        mean_stretch(w, pbd->volume_corner + i / SUP_PBD_LANES * 4 * SUP_PBD_LANES + i % SUP_PBD_LANES, 4, t);
        w->volume[i] = pbd->volume_rest[i] * fmaxf(determinant(t), MIN_VOLUME);
    }
}

static void scale_lengths(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const scale_work *w = user;
    const sup_position_view *view = w->view;
    SUP_UNUSED(worker);
    for (int64_t i = (int64_t)begin * SUP_PBD_LANES; i < (int64_t)end * SUP_PBD_LANES; i++) {
        const int32_t *corner = view->pbd.stretch_corner + i / SUP_PBD_LANES * 2 * SUP_PBD_LANES + i % SUP_PBD_LANES;
        const float *p = view->rest + 4 * (int64_t)corner[0], *q = view->rest + 4 * (int64_t)corner[SUP_PBD_LANES];
        float t[TENSOR], edge[3] = {p[0] - q[0], p[1] - q[1], p[2] - q[2]};
        mean_stretch(w, corner, 2, t);
        w->stretch[i] = stretched_length(t, edge) / view->size;
    }
}

static void scale_bones(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const scale_work *w = user;
    const sup_position_view *view = w->view;
    SUP_UNUSED(worker);
    for (int64_t i = begin; i < end; i++) {
        const float *p = view->rest + 4 * i, *q = view->bone_point + 4 * i;
        const float away[3] = {p[0] - q[0], p[1] - q[1], p[2] - q[2]};
        w->bone[i] =
            view->bone_joint[i] < 0 ? 0.0f : stretched_length(w->joint + TENSOR * (int64_t)view->bone_joint[i], away);
    }
}

sup_position_scaled sup_position_scale(const sup_context *context, const sup_position_view *view,
                                       const sup_mat34 *joints, void *state)
{
    scale_work w;
    double deviation = 0.0;
    lay_out(view, state, &w);
    for (int32_t j = 0; j < view->joint_count; j++)
        deviation = fmax(deviation, stretch_of(&joints[j], w.joint + TENSOR * (int64_t)j));
    if (!(deviation > NO_SCALE)) return (sup_position_scaled){0};
    sup_parallel(context, view->pbd.slot_count, GRAIN, stretch_slots, &w);
    sup_parallel(context, view->pbd.volume_batches, GRAIN / SUP_PBD_LANES, scale_volumes, &w);
    sup_parallel(context, view->pbd.stretch_batches, GRAIN / SUP_PBD_LANES, scale_lengths, &w);
    sup_parallel(context, view->pbd.slot_count, GRAIN, scale_bones, &w);
    return (sup_position_scaled){w.volume, w.stretch, w.bone, (float)deviation};
}

/* rotations.c - the transforms that rotate rest edges: dual quaternion blends of the joints.
 *
 * Based on: [vaillant2014iso] section 5.1; [kavan2008dual]. They depend only on the pose, not on the previous skin, so
 * that the skin returns to its rest pose.
 *
 * Deviates: scale and shear of a joint, which a dual quaternion cannot represent, are blended linearly and applied
 * first, as in the method dualquat; without this a character that is scaled by its root would not keep its shape. */
#include "methods/implicit/track_work.h"

/* Stretches nearer to the identity than this are rounding errors of rigid joints. */
static const double RIGID = 2e-6;

enum { GRAIN = 16 };

static void set_rigid(sup_affine transform, sup_vec3d c, sup_quatd rotation, float rigid[8])
{
    sup_vec3d t = sup_v3_sub(sup_affine_point(transform, c), sup_quatd_rotate(rotation, c));
    sup_quatd dual = sup_quatd_multiply((sup_quatd){0.5 * t.x, 0.5 * t.y, 0.5 * t.z, 0.0}, rotation);
    const double values[8] = {rotation.x, rotation.y, rotation.z, rotation.w, dual.x, dual.y, dual.z, dual.w};
    for (int i = 0; i < 8; i++)
        rigid[i] = (float)values[i];
}

void sup_track_set_joint(sup_track_joint *joint, sup_affine transform, sup_affine previous, sup_vec3d centre)
{
    sup_affine back, motion = sup_affine_identity();
    if (sup_affine_inverse(previous, &back)) motion = sup_affine_multiply(transform, back);
    sup_quatd rotation;
    double s[9], off = 0.0;
    if (!sup_affine_polar(transform, &rotation, s))
        for (int i = 0; i < 9; i++)
            s[i] = i % 4 == 0 ? 1.0 : 0.0;
    set_rigid(transform, centre, rotation, joint->rigid);
    const double c[3] = {centre.x, centre.y, centre.z};
    for (int r = 0; r < 3; r++) {
        double at = 0.0;
        for (int k = 0; k < 3; k++) {
            joint->stretch[4 * r + k] = (float)s[3 * r + k];
            off = fmax(off, fabs(s[3 * r + k] - (r == k ? 1.0 : 0.0)));
            at += s[3 * r + k] * c[k];
        }
        joint->stretch[4 * r + 3] = (float)(c[r] - at);
    }
    joint->stretched = off > RIGID ? 1 : 0;
    joint->moves = memcmp(&transform, &previous, sizeof transform) != 0 ? 1 : 0;
    for (int i = 0; i < 12; i++) {
        joint->transform[i] = (float)transform.m[i];
        joint->motion[i] = (float)motion.m[i];
    }
}

/* The matrix of a dual quaternion of any norm. */
static void matrix_of(const float q[8], float m[12])
{
    const float *e = q + 4;
    float s = 2.0f / (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    float x = q[0] * s, y = q[1] * s, z = q[2] * s, w = q[3] * s;
    m[0] = 1.0f - (q[1] * y + q[2] * z);
    m[1] = q[0] * y - q[3] * z;
    m[2] = q[0] * z + q[3] * y;
    m[4] = q[0] * y + q[3] * z;
    m[5] = 1.0f - (q[0] * x + q[2] * z);
    m[6] = q[1] * z - q[3] * x;
    m[8] = q[0] * z - q[3] * y;
    m[9] = q[1] * z + q[3] * x;
    m[10] = 1.0f - (q[0] * x + q[1] * y);
    m[3] = w * e[0] - x * e[3] + y * e[2] - z * e[1];
    m[7] = w * e[1] - y * e[3] + z * e[0] - x * e[2];
    m[11] = w * e[2] - z * e[3] + x * e[1] - y * e[0];
}

/* m <- m * s */
static void stretch_first(float m[12], const float s[12])
{
    for (int r = 0; r < 3; r++) {
        const float matrix_row[3] = {m[4 * r], m[4 * r + 1], m[4 * r + 2]};
        for (int c = 0; c < 4; c++)
            m[4 * r + c] = matrix_row[0] * s[c] + matrix_row[1] * s[4 + c] + matrix_row[2] * s[8 + c] +
                           (c == 3 ? m[4 * r + 3] : 0.0f);
    }
}

static void blend_transform(const sup_track *track, const sup_track_joint *joints, int64_t vertex, float *transform)
{
    const int32_t *joint = track->influence_joint + SUP_TRACK_INFLUENCES * vertex;
    const float *weight = track->influence_weight + SUP_TRACK_INFLUENCES * vertex;
    const float *pivot = joints[joint[0]].rigid;
    float q[8] = {0}, s[12] = {0};
    int32_t stretched = 0;
    for (int k = 0; k < SUP_TRACK_INFLUENCES && weight[k] > 0.0f; k++) {
        const sup_track_joint *j = &joints[joint[k]];
        float dot = pivot[0] * j->rigid[0] + pivot[1] * j->rigid[1] + pivot[2] * j->rigid[2] + pivot[3] * j->rigid[3];
        float w = dot < 0.0f ? -weight[k] : weight[k];
        for (int i = 0; i < 8; i++)
            q[i] += w * j->rigid[i];
        stretched |= j->stretched;
    }
    matrix_of(q, transform);
    if (!stretched) return;
    for (int k = 0; k < SUP_TRACK_INFLUENCES && weight[k] > 0.0f; k++)
        for (int i = 0; i < 12; i++)
            s[i] += weight[k] * joints[joint[k]].stretch[i];
    stretch_first(transform, s);
}

static bool has_moving_joint(const sup_track_work *w, int32_t cluster)
{
    for (int32_t i = w->track->moved_by_first[cluster]; i < w->track->moved_by_first[cluster + 1]; i++)
        if (w->input->joints[w->track->moved_by[i]].moves) return true;
    return w->input->all;
}

static void blend_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const sup_track_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t cluster = begin; cluster < end; cluster++) {
        if (!has_moving_joint(w, cluster)) continue;
        for (int64_t vertex = w->track->cluster_first[cluster]; vertex < w->track->cluster_first[cluster + 1]; vertex++)
            blend_transform(w->track, w->input->joints, vertex, w->arrays.transform + 12 * vertex);
    }
}

void sup_track_blend_transforms(sup_track_work *work)
{
    sup_parallel(work->context, work->track->cluster_count, GRAIN, blend_range, work);
}

/* --- Rotations fitted to the skin itself: eq. 3 as in Sorkine and Alexa's ARAP, for comparison (figure 7) --- */

static void fit_rotation(const sup_track_work *w, int64_t vertex, float *transform)
{
    const sup_track *track = w->track;
    const float *rest = track->rest + 4 * vertex, *position = w->arrays.position + 4 * vertex;
    sup_affine sum = {{0}};
    for (int32_t e = track->first[vertex]; e < track->first[vertex + 1]; e++) {
        const float *there = track->rest + 4 * (int64_t)track->other[e];
        const float *now = w->arrays.position + 4 * (int64_t)track->other[e];
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                sum.m[4 * r + c] +=
                    (double)track->weight[e] * (double)(position[r] - now[r]) * (double)(rest[c] - there[c]);
    }
    const float *normal = w->arrays.normal + 4 * vertex, *inward = track->inward + 4 * vertex;
    double size = 0.0; /* edges of a flat ring do not define the side: the normals do, with a small weight */
    for (int i = 0; i < 12; i++)
        size = fmax(size, fabs(sum.m[i]));
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            sum.m[4 * r + c] += 0.1 * size * (double)normal[r] * (double)inward[c];
    sup_quatd rotation;
    double stretch[9];
    if (!sup_affine_polar(sum, &rotation, stretch)) return;
    for (int c = 0; c < 3; c++) {
        sup_vec3d column = sup_quatd_rotate(rotation, sup_v3(c == 0, c == 1, c == 2));
        transform[c] = (float)column.x;
        transform[4 + c] = (float)column.y;
        transform[8 + c] = (float)column.z;
    }
    for (int r = 0; r < 3; r++)
        transform[4 * r + 3] = position[r] - (transform[4 * r] * rest[0] + transform[4 * r + 1] * rest[1] +
                                              transform[4 * r + 2] * rest[2]);
}

static void fit_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const sup_track_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t cluster = w->arrays.list[i];
        for (int64_t vertex = w->track->cluster_first[cluster]; vertex < w->track->cluster_first[cluster + 1]; vertex++)
            fit_rotation(w, vertex, w->arrays.transform + 12 * vertex);
        w->arrays.awake[cluster] |= SUP_TRACK_STALE;
    }
}

void sup_track_fit_rotations(sup_track_work *work)
{
    sup_track_run(work, fit_range);
    work->has_stale = true;
}

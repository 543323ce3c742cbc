/* rotations.c - the rotations that rest edges are turned by: dual quaternion blends of the joints.
 *
 * Based on: [vaillant2014iso] section 5.1; [kavan2008dual]. They depend on the pose alone, not on the skin before, so that
 * the skin finds back to its rest pose.
 *
 * Deviates: a joint's scale and shear, which no dual quaternion holds, are blended linearly and applied first, as in the
 * method dualquat; without them a character that is scaled by its root would not keep its shape. */
#include "methods/implicit/track_work.h"

/* Stretches nearer to the identity than this are float noise of rigid joints. */
static const double RIGID = 2e-6;

enum { GRAIN = 16 };

static void set_rigid(sup_affine place, sup_vec3d c, sup_quatd rotation, float rigid[8])
{
    sup_vec3d t = sup_v3_sub(sup_affine_point(place, c), sup_quatd_rotate(rotation, c));
    sup_quatd dual = sup_quatd_multiply((sup_quatd){0.5 * t.x, 0.5 * t.y, 0.5 * t.z, 0.0}, rotation);
    const double values[8] = {rotation.x, rotation.y, rotation.z, rotation.w, dual.x, dual.y, dual.z, dual.w};
    for (int i = 0; i < 8; i++)
        rigid[i] = (float)values[i];
}

void sup_track_set_joint(sup_track_joint *joint, sup_affine place, sup_affine before, sup_vec3d centre)
{
    sup_affine back, motion = sup_affine_identity();
    if (sup_affine_inverse(before, &back)) motion = sup_affine_multiply(place, back);
    sup_quatd rotation;
    double s[9], off = 0.0;
    if (!sup_affine_polar(place, &rotation, s))
        for (int i = 0; i < 9; i++)
            s[i] = i % 4 == 0 ? 1.0 : 0.0;
    set_rigid(place, centre, rotation, joint->rigid);
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
    joint->moves = memcmp(&place, &before, sizeof place) != 0 ? 1 : 0;
    for (int i = 0; i < 12; i++) {
        joint->place[i] = (float)place.m[i];
        joint->motion[i] = (float)motion.m[i];
    }
}

/* The matrix of a dual quaternion of any length. */
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
        const float row[3] = {m[4 * r], m[4 * r + 1], m[4 * r + 2]};
        for (int c = 0; c < 4; c++)
            m[4 * r + c] = row[0] * s[c] + row[1] * s[4 + c] + row[2] * s[8 + c] + (c == 3 ? m[4 * r + 3] : 0.0f);
    }
}

static void turn_row(const sup_track *track, const sup_track_joint *joints, int64_t row, float *turn)
{
    const int32_t *joint = track->influence_joint + SUP_TRACK_INFLUENCES * row;
    const float *weight = track->influence_weight + SUP_TRACK_INFLUENCES * row;
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
    matrix_of(q, turn);
    if (!stretched) return;
    for (int k = 0; k < SUP_TRACK_INFLUENCES && weight[k] > 0.0f; k++)
        for (int i = 0; i < 12; i++)
            s[i] += weight[k] * joints[joint[k]].stretch[i];
    stretch_first(turn, s);
}

static bool turns(const sup_track_work *w, int32_t block)
{
    for (int32_t i = w->track->feel_first[block]; i < w->track->feel_first[block + 1]; i++)
        if (w->input->joints[w->track->feel[i]].moves) return true;
    return w->input->all;
}

static void turn_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const sup_track_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t block = begin; block < end; block++) {
        if (!turns(w, block)) continue;
        for (int64_t row = w->track->block_first[block]; row < w->track->block_first[block + 1]; row++)
            turn_row(w->track, w->input->joints, row, w->rows.turn + 12 * row);
    }
}

void sup_track_turn_rows(sup_track_work *work)
{
    sup_parallel(work->context, work->track->block_count, GRAIN, turn_some, work);
}

/* --- Rotations of the skin itself: eq. 3 as Sorkine and Alexa have it, to be compared with (figure 7) --- */

static void turn_by_shape(const sup_track_work *w, int64_t row, float *turn)
{
    const sup_track *track = w->track;
    const float *rest = track->rest + 4 * row, *place = w->rows.place + 4 * row;
    sup_affine sum = {{0}};
    for (int32_t e = track->first[row]; e < track->first[row + 1]; e++) {
        const float *there = track->rest + 4 * (int64_t)track->other[e];
        const float *now = w->rows.place + 4 * (int64_t)track->other[e];
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                sum.m[4 * r + c] +=
                    (double)track->weight[e] * (double)(place[r] - now[r]) * (double)(rest[c] - there[c]);
    }
    const float *normal = w->rows.normal + 4 * row, *inward = track->inward + 4 * row;
    double size = 0.0; /* edges of a flat ring say nothing of the side: the normals do, a little */
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
        turn[c] = (float)column.x;
        turn[4 + c] = (float)column.y;
        turn[8 + c] = (float)column.z;
    }
    for (int r = 0; r < 3; r++)
        turn[4 * r + 3] = place[r] - (turn[4 * r] * rest[0] + turn[4 * r + 1] * rest[1] + turn[4 * r + 2] * rest[2]);
}

static void shape_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const sup_track_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t block = w->rows.list[i];
        for (int64_t row = w->track->block_first[block]; row < w->track->block_first[block + 1]; row++)
            turn_by_shape(w, row, w->rows.turn + 12 * row);
        w->rows.awake[block] |= SUP_TRACK_NEW;
    }
}

void sup_track_turn_shape(sup_track_work *work)
{
    sup_track_run(work, shape_some);
    work->fresh = true;
}

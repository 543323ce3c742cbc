/* timestep.c - steps of a fixed length between frames of any length. */
#include "pose/timestep.h"

#include "base/base.h"

/* A joint that moves farther than this in one step, in sizes of the character, was put there. A frame may be a part of a
 * step longer than its steps. */
static const double TELEPORT = 0.5;

int32_t sup_timestep_steps(double *ahead, double dt, double seconds, int32_t *whole)
{
    double missing = dt - *ahead;
    int32_t steps = missing > 0.0 ? (int32_t)fmin(ceil(missing / seconds - 1e-4), 1e6) : 0;
    if (whole != NULL) *whole = steps;
    if (steps > SUP_TIMESTEP_MOST_STEPS) steps = SUP_TIMESTEP_MOST_STEPS;
    *ahead = fmax(0.0, fmin((double)steps * seconds - missing, seconds));
    if (*ahead < 1e-4 * seconds) *ahead = 0.0;
    return steps;
}

void sup_timestep_joints(const sup_pose *pose, int32_t joint_count, const int32_t *joint_node, const float *inverse_bind,
                     sup_mat34 *joints)
{
    for (int32_t j = 0; j < joint_count; j++) {
        sup_mat34 inverse;
        memcpy(&inverse, inverse_bind + 12 * (size_t)j, sizeof inverse);
        joints[j] = sup_mat34_multiply(pose->world[joint_node[j]], inverse);
    }
}

sup_mat34 sup_timestep_between(sup_mat34 from, sup_mat34 to, double t)
{
    return sup_affine_to_float(sup_affine_between(sup_affine_from_float(from), sup_affine_from_float(to), t));
}

bool sup_timestep_teleported(int32_t joint_count, const sup_mat34 *before, const sup_mat34 *now, int32_t steps, float size)
{
    double limit = TELEPORT * (double)size * (double)(steps < SUP_TIMESTEP_MOST_STEPS ? steps + 1 : 1);
    for (int32_t j = 0; j < joint_count; j++) {
        sup_vec3d a = sup_v3((double)before[j].m[3], (double)before[j].m[7], (double)before[j].m[11]),
                  b = sup_v3((double)now[j].m[3], (double)now[j].m[7], (double)now[j].m[11]);
        if (sup_v3_distance(a, b) <= limit) return false;
    }
    return joint_count > 0;
}

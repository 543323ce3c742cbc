/* timestep.c - steps of a fixed length in frames of any length. */
#include "pose/timestep.h"

#include "base/base.h"

/* A joint that moves farther than this in one step, in sizes of the character, was teleported. */
static const double TELEPORT = 0.5;
/* A cut: this fraction of the joints, at least two, rotate against their parents by more than this angle (radians) and
 * speed (radians a second). Single joints of athletes reach 40 rad/s, but not several at once within one frame. */
static const double CUT_FRACTION = 0.08, CUT_ANGLE = 0.6, CUT_SPEED = 20.0;
static const double CUT_FIRST_ANGLE = 0.3, CUT_FIRST_SPEED = 8.0; /* after the first frame */
static const double CUT_ROOT_ANGLE = 1.2, CUT_ROOT_SPEED = 30.0;  /* of a root against the world */
/* Frame times are rounded: a step that is due within this fraction of a step is taken. */
static const double SLACK = 1e-4;

static sup_timestep advance_ahead(double *ahead, double dt, double seconds)
{
    double missing = dt - *ahead;
    int32_t steps = missing > 0.0 ? (int32_t)fmin(ceil(missing / seconds - SLACK), 1e6) : 0;
    if (steps > SUP_TIMESTEP_MAX_STEPS) steps = SUP_TIMESTEP_MAX_STEPS;
    *ahead = fmax(0.0, fmin((double)steps * seconds - missing, seconds));
    return (sup_timestep){.count = steps, .even = true, .dt = dt, .seconds = seconds};
}

static sup_timestep advance_behind(double *behind, double dt, double seconds)
{
    double due = floor((*behind + dt) / seconds + SLACK);
    sup_timestep frame = {.count = due < SUP_TIMESTEP_MAX_STEPS ? (int32_t)due : SUP_TIMESTEP_MAX_STEPS,
                          .even = due > SUP_TIMESTEP_MAX_STEPS,
                          .dt = dt,
                          .seconds = seconds,
                          .start = -*behind};
    *behind = frame.even ? 0.0 : *behind + dt - (double)frame.count * seconds;
    return frame;
}

sup_timestep sup_timestep_advance(double *offset, double dt, double seconds, sup_timestep_mode mode)
{
    sup_timestep frame =
        mode == SUP_TIMESTEP_AHEAD ? advance_ahead(offset, dt, seconds) : advance_behind(offset, dt, seconds);
    if (*offset < SLACK * seconds) *offset = 0.0;
    return frame;
}

double sup_timestep_fraction(const sup_timestep *frame, int32_t i)
{
    if (frame->even) return (double)i / (double)frame->count;
    double t = ((double)i * frame->seconds + frame->start) / frame->dt;
    if (i == frame->count && t > 1.0 - SLACK) return 1.0;
    return fmax(0.0, fmin(t, 1.0));
}

void sup_timestep_joints(const sup_mat34 *world, const float origin[3], int32_t joint_count, const int32_t *joint_node,
                         const float *inverse_bind, sup_mat34 *joints)
{
    for (int32_t j = 0; j < joint_count; j++) {
        sup_mat34 inverse, joint = world[joint_node[j]];
        memcpy(&inverse, inverse_bind + 12 * (size_t)j, sizeof inverse);
        for (int k = 0; k < 3 && origin != NULL; k++)
            joint.m[4 * k + 3] -= origin[k];
        joints[j] = sup_mat34_multiply(joint, inverse);
    }
}

/* The map of a joint relative to its parent (-1: to the world), with the displacement of the joint's bind centre as its
 * translation: the identity in the bind pose. False if the parent's matrix has no inverse. */
static bool relative_to_parent(const sup_mat34 *joints, int32_t parent, sup_vec3d centre, int32_t j,
                               sup_affine *relative)
{
    sup_affine own = sup_affine_from_float(joints[j]), inverse;
    if (parent >= 0) {
        if (!sup_affine_inverse(sup_affine_from_float(joints[parent]), &inverse)) return false;
        own = sup_affine_multiply(inverse, own);
    }
    sup_vec3d offset = sup_v3_sub(sup_affine_point(own, centre), centre);
    own.m[3] = offset.x;
    own.m[7] = offset.y;
    own.m[11] = offset.z;
    *relative = own;
    return true;
}

static sup_mat34 interpolate_joint(int32_t j, int32_t parent, sup_vec3d centre, const sup_mat34 *from,
                                   const sup_mat34 *to, double t, const sup_mat34 *joints)
{
    sup_affine a, b;
    if (!relative_to_parent(from, parent, centre, j, &a) || !relative_to_parent(to, parent, centre, j, &b)) {
        parent = -1; /* the parent is scaled to nothing */
        relative_to_parent(from, parent, centre, j, &a);
        relative_to_parent(to, parent, centre, j, &b);
    }
    sup_affine own = sup_affine_between(a, b, t);
    sup_vec3d turned = sup_affine_vector(own, centre);
    own.m[3] += centre.x - turned.x;
    own.m[7] += centre.y - turned.y;
    own.m[11] += centre.z - turned.z;
    if (parent >= 0) own = sup_affine_multiply(sup_affine_from_float(joints[parent]), own);
    return sup_affine_to_float(own);
}

void sup_timestep_interpolate(int32_t joint_count, const int32_t *parent, const float *centre, const sup_mat34 *from,
                              const sup_mat34 *to, double t, sup_mat34 *joints)
{
    if (t <= 0.0 || t >= 1.0) {
        memcpy(joints, t <= 0.0 ? from : to, (size_t)joint_count * sizeof *joints);
        return;
    }
    for (int32_t j = 0; j < joint_count; j++)
        joints[j] = interpolate_joint(j, parent[j] < j ? parent[j] : -1, sup_v3_load(centre + 3 * (size_t)j), from, to,
                                      t, joints);
}

static bool same_matrix(const sup_mat34 *a, const sup_mat34 *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Rotation of a joint against its parent between two poses, radians; of a root against the world. */
static double rotation_of(const int32_t *parent, const float *centre, const sup_mat34 *from, const sup_mat34 *to,
                          int32_t j)
{
    sup_vec3d c = sup_v3_load(centre + 3 * (size_t)j);
    sup_quatd a, b;
    double stretch[9];
    int32_t p = parent[j];
    if (same_matrix(&from[j], &to[j]) && (p < 0 || same_matrix(&from[p], &to[p]))) return 0.0;
    sup_affine before, after;
    if (!relative_to_parent(from, p, c, j, &before) || !relative_to_parent(to, p, c, j, &after)) return 0.0;
    if (!sup_affine_polar(before, &a, stretch) || !sup_affine_polar(after, &b, stretch)) return 0.0;
    sup_quatd q = sup_quatd_multiply(sup_quatd_conjugate(a), b);
    return 2.0 * atan2(sqrt(q.x * q.x + q.y * q.y + q.z * q.z), fabs(q.w));
}

bool sup_timestep_is_cut(int32_t joint_count, const int32_t *parent, const float *centre, const sup_mat34 *from,
                         const sup_mat34 *to, double dt, bool first)
{
    double limit = first ? fmax(CUT_FIRST_ANGLE, CUT_FIRST_SPEED * dt) : fmax(CUT_ANGLE, CUT_SPEED * dt);
    int32_t needed = (int32_t)fmax(2.0, ceil(CUT_FRACTION * joint_count)), found = 0;
    for (int32_t j = 0; j < joint_count && found < needed; j++) {
        double angle = rotation_of(parent, centre, from, to, j);
        if (parent[j] < 0 && angle > fmax(CUT_ROOT_ANGLE, CUT_ROOT_SPEED * dt)) return true;
        found += parent[j] >= 0 && angle > limit;
    }
    return found >= needed;
}

bool sup_timestep_teleported(int32_t joint_count, const sup_mat34 *previous, const sup_mat34 *now, int32_t steps,
                             float size)
{
    /* A frame may be longer than its steps by a fraction of one. */
    double limit = TELEPORT * (double)size * (double)(steps < SUP_TIMESTEP_MAX_STEPS ? steps + 1 : 1);
    for (int32_t j = 0; j < joint_count; j++) {
        sup_vec3d a = sup_v3((double)previous[j].m[3], (double)previous[j].m[7], (double)previous[j].m[11]),
                  b = sup_v3((double)now[j].m[3], (double)now[j].m[7], (double)now[j].m[11]);
        if (sup_v3_distance(a, b) <= limit) return false;
    }
    return joint_count > 0;
}

/* pose_like.c - poses a skin like other joints: [komaritzan2022] 4.2.4, the scan in the template's pose.
 *
 * Only joint positions are known, so the rotation of a joint comes from its bones: two or more bones determine it,
 * one bone determines it up to twist, for which the parent's rotation is kept; without bones the parent's rotation
 * is used. */
#include "anatomy/body_model.h"

enum { MAX_BONES = 16, VERTEX_GRAIN = 512 };
static const double zero_length =
    0.02; /* fraction of the skeleton's size: no direction between joints closer than that */

typedef struct pose_like {
    const sup_composition *c;
    const double *skin, *from, *to;
    double *skin_out, *joints_out;
    sup_quatd *rotation; /* [joint_count] */
    double size;         /* size of the skeleton, metres */
} pose_like;

static sup_vec3d get(const double *p, int32_t i)
{
    return sup_v3(p[3 * (size_t)i], p[3 * (size_t)i + 1], p[3 * (size_t)i + 2]);
}

static void put(double *p, int32_t i, sup_vec3d v)
{
    p[3 * (size_t)i] = v.x, p[3 * (size_t)i + 1] = v.y, p[3 * (size_t)i + 2] = v.z;
}

/* Directions of the bones that start at a joint, in both poses; a child at the same position is replaced by its own
 * children. */
static int32_t bones_of(const pose_like *p, int32_t joint, sup_vec3d *from, sup_vec3d *to)
{
    int32_t count = 0;
    for (int32_t j = joint + 1; j < p->c->joint_count && count < MAX_BONES; j++) {
        int32_t up = p->c->parents[j];
        while (up > joint && sup_v3_distance(get(p->from, up), get(p->from, joint)) < zero_length * p->size)
            up = p->c->parents[up];
        if (up != joint) continue;
        sup_vec3d here = sup_v3_sub(get(p->from, j), get(p->from, joint));
        sup_vec3d there = sup_v3_sub(get(p->to, j), get(p->to, joint));
        double a = sup_v3_length(here), b = sup_v3_length(there);
        if (a < zero_length * p->size || b < zero_length * p->size) continue;
        from[count] = sup_v3_scale(here, 1.0 / a);
        to[count++] = sup_v3_scale(there, 1.0 / b);
    }
    return count;
}

static void add_outer(sup_affine *m, sup_vec3d to, sup_vec3d from, double weight)
{
    const double t[3] = {to.x, to.y, to.z}, f[3] = {from.x, from.y, from.z};
    for (int k = 0; k < 9; k++)
        m->m[k / 3 * 4 + k % 3] += weight * t[k / 3] * f[k % 3];
}

/* The rotation that fits all bones best; the normals of the planes of bone pairs determine the third direction. */
static bool fit_rotation(const sup_vec3d *from, const sup_vec3d *to, int32_t count, sup_quatd *rotation)
{
    sup_affine m = {{0}};
    double spanned = 0.0;
    for (int32_t a = 0; a < count; a++) {
        add_outer(&m, to[a], from[a], 1.0);
        for (int32_t b = a + 1; b < count; b++) {
            sup_vec3d f = sup_v3_cross(from[a], from[b]), t = sup_v3_cross(to[a], to[b]);
            double size = fmin(sup_v3_length(f), sup_v3_length(t));
            if (size < 0.2) continue;
            spanned += size;
            add_outer(&m, sup_v3_unit_or(t, t), sup_v3_unit_or(f, f), size);
        }
    }
    double stretch[9];
    return spanned > 0.0 && sup_affine_polar(m, rotation, stretch);
}

static void rotate_joint(pose_like *p, int32_t joint)
{
    sup_vec3d from[MAX_BONES], to[MAX_BONES];
    int32_t count = bones_of(p, joint, from, to), parent = p->c->parents[joint];
    sup_quatd above = parent < 0 ? (sup_quatd){0, 0, 0, 1} : p->rotation[parent];
    p->rotation[joint] = above;
    if (count >= 2 && fit_rotation(from, to, count, &p->rotation[joint])) return;
    if (count == 0) return;
    sup_vec3d here = sup_v3(0, 0, 0), there = here;
    for (int32_t i = 0; i < count; i++)
        here = sup_v3_add(here, from[i]), there = sup_v3_add(there, to[i]);
    sup_quatd swing = sup_quatd_between(sup_quatd_rotate(above, here), there);
    p->rotation[joint] = sup_quatd_normalise(sup_quatd_multiply(swing, above));
}

static void blend_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const pose_like *p = work;
    const sup_composition *c = p->c;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        sup_vec3d x = get(p->skin, v), sum = sup_v3(0, 0, 0);
        for (int32_t i = c->influence_first[v]; i < c->influence_first[v + 1]; i++) {
            int32_t j = c->influence_joint[i];
            sup_vec3d arm = sup_quatd_rotate(p->rotation[j], sup_v3_sub(x, get(p->from, j)));
            sum = sup_v3_madd(sum, c->influence_weight[i], sup_v3_add(arm, get(p->joints_out, j)));
        }
        put(p->skin_out, v, sum);
    }
}

sup_result sup_pose_like(const sup_context *context, const sup_composition *composition, const double *skin,
                         const double *joints, const double *like, double *skin_out, double *joints_out,
                         sup_error *error)
{
    if (composition == NULL || skin == NULL || joints == NULL || like == NULL || skin_out == NULL || joints_out == NULL)
        return sup_fail(
            error, SUP_ERROR_ARGUMENT, "argument.null", "",
            "sup_pose_like needs a composition, a skin, joints, joints to copy, and arrays for the results.");
    sup_context resolved = sup_context_resolve(context);
    const sup_composition *c = composition;
    pose_like p = {c, skin, joints, like, skin_out, joints_out, NULL, 0.0};
    size_t bytes = (size_t)c->joint_count * sizeof *p.rotation;
    p.rotation = sup_alloc(&resolved.allocator, bytes);
    if (p.rotation == NULL) return sup_fail_memory(error, "the pose");
    for (int32_t j = 1; j < c->joint_count; j++)
        p.size = fmax(p.size, sup_v3_distance(get(joints, 0), get(joints, j)));
    for (int32_t j = 0; j < c->joint_count; j++)
        rotate_joint(&p, j);
    put(joints_out, 0, get(like, 0));
    for (int32_t j = 1; j < c->joint_count; j++) {
        int32_t up = c->parents[j];
        sup_vec3d bone = sup_quatd_rotate(p.rotation[up], sup_v3_sub(get(joints, j), get(joints, up)));
        put(joints_out, j, sup_v3_add(get(joints_out, up), bone));
    }
    sup_parallel(&resolved, c->vertex_count, VERTEX_GRAIN, blend_range, &p);
    sup_free(&resolved.allocator, p.rotation, bytes);
    return SUP_OK;
}

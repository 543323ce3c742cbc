/* joint_match.c - joints by name, else by role, side and place. */
#include "anatomy/joint_match.h"

#include "anatomy/body_roles.h"
#include "anatomy/joint_roles.h"
#include "math/vec3.h"

#include <math.h>

/* A skeleton whose lengths are relative to the distance from hips to head. */
typedef struct placed {
    const sup_joints *joints;
    sup_body_role *roles;
    sup_vec3d hips;
    double size;
} placed;

static sup_vec3d joint_at(const sup_joints *joints, int32_t j)
{
    return sup_v3(joints->positions[3 * (size_t)j], joints->positions[3 * (size_t)j + 1],
                  joints->positions[3 * (size_t)j + 2]);
}

static sup_vec3d place_of(const placed *p, int32_t j)
{
    return sup_v3_scale(sup_v3_sub(joint_at(p->joints, j), p->hips), 1.0 / p->size);
}

static sup_result place(const sup_context *context, const sup_joints *joints, sup_arena *arena, placed *p,
                        sup_error *error)
{
    sup_joint_roles roles;
    p->joints = joints;
    p->roles = sup_arena_alloc(arena, (size_t)joints->count + 1, sizeof *p->roles);
    if (p->roles == NULL) return sup_fail_memory(error, "joint names");
    sup_result result = sup_body_roles(context, joints, p->roles, error);
    if (result == SUP_OK)
        result = sup_joint_roles_find(context, joints->count, joints->names, joints->parents, joints->positions, &roles,
                                      error);
    if (result != SUP_OK) return result;
    p->hips = joint_at(joints, roles.hips);
    p->size = fmax(1e-9, sup_v3_distance(p->hips, joint_at(joints, roles.head)));
    return SUP_OK;
}

/* The role of a joint nearer to the trunk, for skeletons that have none of a role. */
static sup_body_role inner_role(sup_body_role role)
{
    switch (role) {
    case SUP_BODY_TOE:
        return SUP_BODY_FOOT;
    case SUP_BODY_NECK:
    case SUP_BODY_CLAVICLE:
        return SUP_BODY_SPINE;
    default:
        return SUP_BODY_PELVIS;
    }
}

static bool is_paired(sup_body_role role)
{
    return role >= SUP_BODY_CLAVICLE;
}

static int32_t nearest(const placed *from, int32_t joint, const placed *to, sup_body_role role)
{
    sup_vec3d at = place_of(from, joint);
    double distance = INFINITY;
    int32_t best = -1;
    for (int32_t j = 0; j < to->joints->count; j++) {
        sup_vec3d there = place_of(to, j);
        if (to->roles[j] != role || (is_paired(role) && at.x * there.x < 0.0)) continue;
        double d = sup_v3_distance(at, there);
        if (d >= distance) continue;
        distance = d;
        best = j;
    }
    return best;
}

static bool match_names(const sup_joints *from, const sup_joints *to, int32_t *match)
{
    bool all = true;
    for (int32_t j = 0; j < from->count; j++) {
        match[j] = -1;
        for (int32_t k = 0; k < to->count && match[j] < 0; k++)
            if (sup_text_equal(from->names[j], to->names[k])) match[j] = k;
        all = all && match[j] >= 0;
    }
    return all;
}

sup_result sup_joints_match(const sup_context *context, const sup_joints *from, const sup_joints *to, int32_t *match,
                            sup_error *error)
{
    if (match_names(from, to, match)) return SUP_OK;
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    placed a = {0}, b = {0};
    sup_result result = place(&resolved, from, &arena, &a, error);
    if (result == SUP_OK) result = place(&resolved, to, &arena, &b, error);
    for (int32_t j = 0; j < from->count && result == SUP_OK; j++) {
        sup_body_role role = a.roles[j];
        if (match[j] < 0) match[j] = nearest(&a, j, &b, role);
        while (match[j] < 0 && role != SUP_BODY_PELVIS) {
            role = inner_role(role);
            match[j] = nearest(&a, j, &b, role);
        }
    }
    sup_arena_destroy(&arena);
    return result;
}

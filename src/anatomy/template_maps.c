/* template_maps.c - organs with their joints, and the maps on the triangulation: groups, regions and crotch. The
 * thesis paints them by hand; here they are computed from weights and positions. */
#include "anatomy/bone_surface.h"
#include "anatomy/template.h"

#include <math.h>

/* fraction of half the distance between the shoulders: farther out is shoulder, not chest */
static const double shoulder_fraction = 0.75;
/* fraction of the distance between the hips, around the middle below the pelvis */
static const double crotch_reach = 0.3;

static sup_vec3d joint_at(const sup_anatomy *a, int32_t joint)
{
    return sup_v3_at(a->joints, joint);
}

/* --- Organs --- */

int32_t sup_template_nearest_joint(const sup_template_build *b, sup_bone_part part, int32_t count, const double *points)
{
    const sup_rig *rig = b->rig;
    int32_t best = -1, step = count / 64 + 1;
    double nearest = INFINITY;
    for (int32_t j = 0; j < rig->joint_count; j++) {
        int32_t node = rig->joint_node[j];
        if (node >= b->anatomy->joint_count || !sup_bone_part_follows(part, b->roles[node])) continue;
        sup_vec3d head = sup_v3_load(rig->bone_head + 3 * (size_t)j),
                  tail = sup_v3_load(rig->bone_tail + 3 * (size_t)j);
        double sum = 0.0;
        for (int32_t v = 0; v < count; v += step) {
            sup_vec3d p = sup_v3_at(points, v);
            sum += sup_v3_distance(p, sup_v3_lerp(head, tail, sup_v3_segment_parameter(p, head, tail)));
        }
        if (sum >= nearest) continue;
        nearest = sum;
        best = node;
    }
    return best;
}

static int32_t bone_joint(const sup_template_build *b, const sup_anatomy_organ *organ)
{
    const sup_shape *s = &organ->shape;
    sup_bone_part part = sup_bone_part_of_name(organ->name);
    int32_t joint = sup_template_nearest_joint(b, part, s->vertex_count, s->positions);
    if (joint < 0) /* no joint moves this part alone */
        joint = sup_template_nearest_joint(b, SUP_PART_UNKNOWN, s->vertex_count, s->positions);
    return joint >= 0 ? joint : 0;
}

static sup_result allocate_organs(sup_anatomy *a, int64_t vertices, int64_t triangles, sup_error *error)
{
    sup_arena *arena = &a->storage->arena;
    size_t organs = (size_t)a->organ_count;
    a->organ_names = sup_arena_alloc(arena, organs + 1, sizeof *a->organ_names);
    a->organ_is_muscle = sup_arena_alloc(arena, organs + 1, 1);
    a->organ_joint = sup_arena_alloc(arena, organs + 1, sizeof *a->organ_joint);
    a->organ_vertex = sup_arena_alloc(arena, organs + 1, sizeof *a->organ_vertex);
    a->organ_triangle = sup_arena_alloc(arena, organs + 1, sizeof *a->organ_triangle);
    a->detail = sup_arena_alloc(arena, 3 * (size_t)vertices + 1, sizeof *a->detail);
    a->detail_triangles = sup_arena_alloc(arena, 3 * (size_t)triangles + 1, sizeof *a->detail_triangles);
    if (a->organ_names == NULL || a->organ_is_muscle == NULL || a->organ_joint == NULL || a->organ_vertex == NULL ||
        a->organ_triangle == NULL || a->detail == NULL || a->detail_triangles == NULL)
        return sup_fail_memory(error, "a template");
    return SUP_OK;
}

sup_result sup_template_organs(sup_template_build *b, sup_error *error)
{
    sup_anatomy *a = b->anatomy;
    int64_t vertices = 0, triangles = 0;
    a->organ_count = b->def->organ_count;
    for (int32_t p = 0; p < a->organ_count; p++) {
        vertices += b->def->organs[p].shape.vertex_count;
        triangles += b->def->organs[p].shape.triangle_count;
    }
    if (vertices > INT32_MAX / 8 || triangles > INT32_MAX / 8)
        return sup_fail(error, SUP_ERROR_DATA, "anatomy.organs.large", "",
                        "The organs have too many vertices or triangles: decimate them.");
    sup_result result = allocate_organs(a, vertices, triangles, error);
    int32_t v = 0, t = 0;
    for (int32_t p = 0; p < a->organ_count && result == SUP_OK; p++) {
        const sup_anatomy_organ *organ = &b->def->organs[p];
        const sup_shape *s = &organ->shape;
        a->organ_names[p] = sup_arena_string(&a->storage->arena, organ->name);
        if (a->organ_names[p] == NULL) return sup_fail_memory(error, "a template");
        a->organ_is_muscle[p] = organ->is_muscle;
        a->organ_joint[p] = organ->is_muscle ? -1 : organ->joint >= 0 ? organ->joint : bone_joint(b, organ);
        if (s->vertex_count > 0)
            memcpy(a->detail + 3 * (size_t)v, s->positions, 3 * (size_t)s->vertex_count * sizeof(double));
        for (size_t i = 0; i < 3 * (size_t)s->triangle_count; i++)
            a->detail_triangles[3 * (size_t)t + i] = v + s->triangles[i];
        v += s->vertex_count;
        t += s->triangle_count;
        a->organ_vertex[p + 1] = v;
        a->organ_triangle[p + 1] = t;
    }
    a->detail_vertex_count = v;
    a->detail_triangle_count = t;
    return result;
}

/* --- Maps --- */

static sup_trunk_frame find_frame(const sup_template_build *b)
{
    const sup_anatomy *a = b->anatomy;
    sup_trunk_frame f = {0};
    int32_t hips = 0, hip_count = 0;
    sup_vec3d neck = {0.0, 0.0, 0.0};
    int32_t necks = 0;
    for (int32_t j = a->joint_count - 1; j >= 0; j--) {
        int32_t parent = a->parents[j];
        sup_body_role role = b->roles[j], above = parent >= 0 ? b->roles[parent] : SUP_BODY_PELVIS;
        if (role == SUP_BODY_PELVIS) hips = j;
        if (role == SUP_BODY_UPPER_ARM && above != SUP_BODY_UPPER_ARM)
            f.shoulder = fmax(f.shoulder, fabs(joint_at(a, j).x - a->joints[0]));
        if (role == SUP_BODY_UPPER_LEG && above != SUP_BODY_UPPER_LEG && hip_count < 2)
            f.hip[hip_count++] = joint_at(a, j);
        bool top = (role == SUP_BODY_NECK || role == SUP_BODY_HEAD) && above != SUP_BODY_NECK && above != SUP_BODY_HEAD;
        if (top && necks++ == 0) neck = joint_at(a, j);
    }
    f.hips = joint_at(a, hips);
    f.neck = neck;
    if (f.hip[0].x > f.hip[1].x) {
        sup_vec3d swap = f.hip[0];
        f.hip[0] = f.hip[1];
        f.hip[1] = swap;
    }
    return f;
}

double sup_trunk_height(const sup_trunk_frame *f, sup_vec3d p)
{
    double whole = f->neck.y - f->hips.y;
    return fabs(whole) > 1e-9 ? (p.y - f->hips.y) / whole : 0.0;
}

bool sup_trunk_is_front(const sup_trunk_frame *f, sup_vec3d p)
{
    double fraction = fmax(0.0, fmin(1.0, sup_trunk_height(f, p)));
    return p.z > sup_v3_lerp(f->hips, f->neck, fraction).z;
}

static sup_muscle_group group_of(const sup_trunk_frame *f, sup_body_role role, sup_vec3d p)
{
    double height = sup_trunk_height(f, p);
    switch (role) {
    case SUP_BODY_UPPER_LEG:
        return SUP_GROUP_UPPER_LEG;
    case SUP_BODY_LOWER_LEG:
        return SUP_GROUP_LOWER_LEG;
    case SUP_BODY_UPPER_ARM:
        return SUP_GROUP_UPPER_ARM;
    case SUP_BODY_FOREARM:
        return SUP_GROUP_LOWER_ARM;
    case SUP_BODY_CLAVICLE: /* clavicles also move the upper chest and back */
        if (fabs(p.x - f->hips.x) > shoulder_fraction * f->shoulder) return SUP_GROUP_SHOULDER;
        return sup_trunk_is_front(f, p) ? SUP_GROUP_CHEST : SUP_GROUP_BACK;
    case SUP_BODY_PELVIS:
    case SUP_BODY_SPINE:
        if (height < 0.1 && !sup_trunk_is_front(f, p)) return SUP_GROUP_UPPER_LEG; /* buttocks (4.2.4) */
        if (!sup_trunk_is_front(f, p)) return SUP_GROUP_BACK;
        return height > 0.55 ? SUP_GROUP_CHEST : SUP_GROUP_ABDOMEN;
    default:
        return SUP_GROUP_NONE;
    }
}

static sup_body_region region_of(const sup_trunk_frame *f, sup_body_role role, sup_vec3d p)
{
    switch (role) {
    case SUP_BODY_UPPER_LEG:
    case SUP_BODY_LOWER_LEG:
    case SUP_BODY_FOOT:
    case SUP_BODY_TOE:
        return SUP_REGION_LEGS;
    case SUP_BODY_UPPER_ARM:
    case SUP_BODY_FOREARM:
    case SUP_BODY_HAND:
        return SUP_REGION_ARMS;
    case SUP_BODY_NECK:
    case SUP_BODY_HEAD:
    case SUP_BODY_CLAVICLE:
        return SUP_REGION_CHEST;
    default:
        return sup_trunk_height(f, p) > 0.55 ? SUP_REGION_CHEST : SUP_REGION_BELLY;
    }
}

/* Below the pelvis, near the middle between the hips. */
static bool is_crotch(const sup_trunk_frame *f, sup_body_role role, sup_vec3d p)
{
    double width = f->hip[1].x - f->hip[0].x, middle = 0.5 * (f->hip[0].x + f->hip[1].x);
    double level = 0.5 * (f->hip[0].y + f->hip[1].y);
    bool trunk = role == SUP_BODY_PELVIS || role == SUP_BODY_UPPER_LEG || role == SUP_BODY_SPINE;
    return trunk && fabs(p.x - middle) < crotch_reach * width && p.y < level && p.y > level - width;
}

sup_result sup_template_maps(sup_template_build *b, sup_error *error)
{
    sup_anatomy *a = b->anatomy;
    sup_trunk_frame f = find_frame(b);
    for (int32_t v = 0; v < a->vertex_count; v++) {
        sup_vec3d p = sup_v3_at(a->skin, v);
        sup_body_role role = b->roles[sup_template_joint(a, v, NULL)];
        a->group[v] = (unsigned char)(a->excluded[v] ? SUP_GROUP_NONE : group_of(&f, role, p));
        a->region[v] = (unsigned char)region_of(&f, role, p);
        a->crotch[v] = !a->excluded[v] && is_crotch(&f, role, p);
    }
    return sup_template_holders(b, &f, error);
}

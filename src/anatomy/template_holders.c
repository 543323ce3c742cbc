/* template_holders.c - the joint that holds each vertex of the skeleton surface: that of the detailed bone under it.
 *
 * Skin weights do not show it: over the rib cage they mix spine, clavicles and arms, while the ribs and the sternum
 * move as one. Deviation from [komaritzan2022] section 4.3.3, figure 4.18, where the sliding regions are painted. */
#include "anatomy/bone_parts.h"
#include "anatomy/bone_surface.h"
#include "anatomy/joint_roles.h"
#include "anatomy/template.h"
#include "geometry/bvh.h"

#include <math.h>

/* fraction of a bone's length around its joints in which the skeleton surface slides */
static const double slide_fraction = 0.12;
/* Reach of ribs and pelvis, fractions of the height (40 and 50 mm at 1.7 m): farther away tissue is free. */
static const double thorax_reach = 0.0235, pelvis_reach = 0.0295;
/* Fraction of half the distance between the shoulders within which scapula and clavicle are over the rib cage. */
static const double over_ribs = 0.8;
/* Fraction of the trunk's height, from hips to neck, above which the belly is in front of the pelvis. */
static const double belly_bottom = 0.12;
static const double belly_top = 0.5;
/* Fraction of a mesh along a limb segment from which on it has a bone there. */
static const double several = 0.15;
enum { SAMPLES = 200 };
/* Weight of a joint of the flexible spine, lumbar or neck, from which on it holds the tissue. */
static const double flexible_weight = 0.5;

typedef struct holders {
    const sup_template_build *b;
    const sup_trunk_frame *trunk;
    sup_bvh tree;               /* triangles of all detailed bones */
    const int32_t *organ;       /* [tree triangles] */
    const sup_bone_part *parts; /* [organ_count] */
    double height;
    int32_t hips, thorax; /* joints */
} holders;

static bool is_arm(sup_body_role role)
{
    return role == SUP_BODY_UPPER_ARM || role == SUP_BODY_FOREARM || role == SUP_BODY_HAND;
}

/* Near an end of the rig's bone of a joint. */
static bool is_limb_end(const holders *h, int32_t joint, int32_t v)
{
    const sup_rig *rig = h->b->rig;
    for (int32_t j = 0; j < rig->joint_count; j++) {
        if (rig->joint_node[j] != joint) continue;
        sup_vec3d head = sup_v3_load(rig->bone_head + 3 * (size_t)j);
        sup_vec3d tail = sup_v3_load(rig->bone_tail + 3 * (size_t)j);
        double along = sup_v3_segment_parameter(sup_v3_at(h->b->anatomy->bone, v), head, tail);
        if (along < slide_fraction || along > 1.0 - slide_fraction) return true;
    }
    return false;
}

/* The joint below that of the rib cage, it, and those above it except neck and head; lower ones bend the waist, also
 * over the last ribs. */
static bool moves_with_thorax(const holders *h, int32_t joint)
{
    const int32_t *parents = h->b->anatomy->parents;
    if (h->b->roles[joint] == SUP_BODY_NECK || h->b->roles[joint] == SUP_BODY_HEAD) return false;
    if (joint == parents[h->thorax]) return true;
    for (int32_t j = joint; j >= 0; j = parents[j])
        if (j == h->thorax) return true;
    return false;
}

/* Where one mesh has several bones: by the skin's weights. */
static int32_t weighted_joint(const holders *h, int32_t v)
{
    double weight, height = sup_trunk_height(h->trunk, sup_v3_at(h->b->anatomy->skin, v));
    int32_t joint = sup_template_joint(h->b->anatomy, v, &weight);
    sup_body_role role = h->b->roles[joint];
    bool trunk = role == SUP_BODY_PELVIS || role == SUP_BODY_SPINE;
    bool belly = height > belly_bottom && height < belly_top;
    if (trunk && belly && sup_trunk_is_front(h->trunk, sup_v3_at(h->b->anatomy->skin, v))) return -1;
    if (weight < flexible_weight) return -1;
    bool limb = role >= SUP_BODY_UPPER_ARM && role != SUP_BODY_HAND && role != SUP_BODY_FOOT;
    return limb && is_limb_end(h, joint, v) ? -1 : joint;
}

static int32_t holding_joint(const holders *h, int32_t v)
{
    const sup_anatomy *a = h->b->anatomy;
    sup_vec3d skin = sup_v3_at(a->skin, v);
    double weight;
    int32_t moved_by = sup_template_joint(a, v, &weight);
    sup_body_role role = h->b->roles[moved_by];
    if (a->excluded[v]) return moved_by;
    sup_bvh_nearest near = sup_bvh_closest(&h->tree, sup_v3_at(a->bone, v), INFINITY);
    if (near.triangle < 0) return -1;
    int32_t organ = h->organ[near.triangle];
    bool front = sup_trunk_is_front(h->trunk, skin);
    switch (h->parts[organ]) {
    case SUP_PART_UNKNOWN:
        return weighted_joint(h, v);
    case SUP_PART_THORAX:
        if (is_arm(role) || near.distance > thorax_reach * h->height) return -1;
        return moves_with_thorax(h, moved_by) ? h->thorax : -1;
    case SUP_PART_SHOULDER:
        if (role == SUP_BODY_NECK || role == SUP_BODY_HEAD) return -1;
        if (!is_arm(role) && fabs(skin.x - h->trunk->hips.x) < over_ribs * h->trunk->shoulder) return h->thorax;
        return a->organ_joint[organ];
    case SUP_PART_PELVIS:
        if (role != SUP_BODY_PELVIS || near.distance > pelvis_reach * h->height) return -1;
        return front && sup_trunk_height(h->trunk, skin) > belly_bottom ? -1 : h->hips;
    case SUP_PART_LUMBAR:
        if (front) return -1;
        return weight < flexible_weight ? -1 : moved_by;
    case SUP_PART_NECK: /* many small joints: tissue that none of them moves alone slides between them */
        return weight < flexible_weight ? -1 : moved_by;
    case SUP_PART_UPPER_ARM:
    case SUP_PART_FOREARM:
    case SUP_PART_UPPER_LEG:
    case SUP_PART_LOWER_LEG:
        if (!sup_bone_part_follows(h->parts[organ], role)) return -1;
        return is_limb_end(h, a->organ_joint[organ], v) ? -1 : a->organ_joint[organ];
    default:
        return sup_bone_part_follows(h->parts[organ], role) ? a->organ_joint[organ] : -1;
    }
}

/* The part of a bone; SUP_PART_UNKNOWN for a mesh of several bones: much of it lies along two limb segments. */
static sup_bone_part find_part(const sup_template_build *b, int32_t organ)
{
    const sup_anatomy *a = b->anatomy;
    sup_bone_part part = sup_bone_part_of_name(a->organ_names[organ]);
    int32_t first = a->organ_vertex[organ], count = a->organ_vertex[organ + 1] - first, step = count / SAMPLES + 1;
    double votes[SUP_PART_COUNT] = {0.0}, samples = 0.0;
    if (part != SUP_PART_UNKNOWN) return part;
    for (int32_t v = 0; v < count; v += step, samples += 1.0) {
        int32_t joint = sup_template_nearest_joint(b, SUP_PART_UNKNOWN, 1, a->detail + 3 * (size_t)(first + v));
        if (joint >= 0) votes[sup_bone_part_of("", b->roles[joint])] += 1.0;
    }
    int parts = 0;
    for (int k = SUP_PART_UPPER_ARM; k <= SUP_PART_LOWER_LEG; k++)
        parts += votes[k] > several * samples;
    return parts > 1 ? SUP_PART_UNKNOWN : sup_bone_part_of("", b->roles[a->organ_joint[organ]]);
}

/* The triangles of all bones and the organ of each; returns their number. */
static int32_t bone_triangles(const sup_anatomy *a, int32_t *triangles, int32_t *organ)
{
    int32_t count = 0;
    for (int32_t p = 0; p < a->organ_count; p++)
        for (int32_t t = a->organ_triangle[p]; t < a->organ_triangle[p + 1] && !a->organ_is_muscle[p]; t++) {
            memcpy(triangles + 3 * (size_t)count, a->detail_triangles + 3 * (size_t)t, 3 * sizeof *triangles);
            organ[count++] = p;
        }
    return count;
}

sup_result sup_template_holders(sup_template_build *b, const sup_trunk_frame *trunk, sup_error *error)
{
    sup_anatomy *a = b->anatomy;
    size_t detail = 3 * (size_t)a->detail_vertex_count, triangles = (size_t)a->detail_triangle_count;
    float *positions = sup_arena_alloc(&b->arena, detail + 1, sizeof *positions);
    int32_t *corners = sup_arena_alloc(&b->arena, 3 * triangles + 1, sizeof *corners);
    int32_t *organ = sup_arena_alloc(&b->arena, triangles + 1, sizeof *organ);
    sup_bone_part *parts = sup_arena_alloc(&b->arena, (size_t)a->organ_count + 1, sizeof *parts);
    if (positions == NULL || corners == NULL || organ == NULL || parts == NULL)
        return sup_fail_memory(error, "a template");
    for (size_t i = 0; i < detail; i++)
        positions[i] = (float)a->detail[i];
    for (int32_t p = 0; p < a->organ_count; p++)
        if (!a->organ_is_muscle[p]) parts[p] = find_part(b, p);
    sup_joint_roles roles;
    sup_result result =
        sup_joint_roles_find(&b->context, a->joint_count, b->def->joints.names, a->parents, a->joints, &roles, error);
    holders h = {.b = b, .trunk = trunk, .organ = organ, .parts = parts};
    if (result == SUP_OK)
        result = sup_bvh_create(&b->context, positions, bone_triangles(a, corners, organ), corners, &h.tree, error);
    if (result != SUP_OK) return result;
    h.hips = roles.hips;
    h.thorax = roles.chest >= 0 ? roles.chest : roles.hips;
    double low = INFINITY, high = -INFINITY;
    for (int32_t v = 0; v < a->vertex_count; v++) {
        low = fmin(low, sup_v3_at(a->skin, v).y);
        high = fmax(high, sup_v3_at(a->skin, v).y);
    }
    h.height = high - low;
    for (int32_t v = 0; v < a->vertex_count; v++)
        a->bone_joint[v] = holding_joint(&h, v);
    sup_bvh_free(&h.tree);
    return SUP_OK;
}

/* body_joints.c - finding the body in a skeleton: names first, the hierarchy where names leave a choice ("Shoulder" is the
 * collar bone in some rigs and the upper arm in others; "Leg" the shin or the thigh; "Foot" below "Ankle" the toes). */
#include "pose/joint_names.h"

bool sup_skeleton_is_above(const sup_named_skeleton *skeleton, int32_t above, int32_t below)
{
    if (above < 0 || below < 0 || above == below) return false;
    int32_t distance = skeleton->enter[below] - skeleton->enter[above];
    return distance > 0 && distance < skeleton->size[above];
}

int32_t sup_skeleton_common(const sup_named_skeleton *skeleton, int32_t a, int32_t b)
{
    if (a < 0 || b < 0) return -1;
    while (a >= 0 && a != b && !sup_skeleton_is_above(skeleton, a, b))
        a = skeleton->character->nodes[a].parent;
    return a;
}

/* The topmost joint of a side whose name is one of `list` (space separated), below `below` when that is a node. */
static int32_t find(const sup_named_skeleton *s, sup_side side, const char *list, int32_t below)
{
    int32_t best = -1;
    for (int32_t i = 0; i < s->character->node_count; i++) {
        const sup_joint_name *name = &s->names[i];
        if (!s->is_usable[i] || name->side != side || name->is_helper || name->base[0] == '\0') continue;
        size_t length = strlen(name->base);
        bool listed = false;
        for (const char *at = list; !listed && at != NULL; at = strchr(at, ' ')) {
            if (*at == ' ') at++;
            listed = strncmp(at, name->base, length) == 0 && (at[length] == ' ' || at[length] == '\0');
        }
        if (!listed || (below >= 0 && !sup_skeleton_is_above(s, below, i))) continue;
        if (best < 0 || s->depth[i] < s->depth[best]) best = i;
    }
    return best;
}

static int32_t first_found(int32_t a, int32_t b)
{
    return a >= 0 ? a : b;
}

/* Below `above` when there is such a joint, else anywhere: feet of rigs made for IK hang on the root. */
static int32_t find_below(const sup_named_skeleton *s, sup_side side, const char *list, int32_t above)
{
    int32_t found = above >= 0 ? find(s, side, list, above) : -1;
    return first_found(found, find(s, side, list, -1));
}

static void find_leg(const sup_named_skeleton *s, sup_side side, int32_t *limb)
{
    int32_t upper = find(s, side, "upleg upperleg thigh femur legupper", -1);
    int32_t lower = find_below(s, side, "lowleg loleg lowerleg shin calf knee tibia leglower crus", upper);
    upper = first_found(upper, find(s, side, "hip", -1));
    upper = first_found(upper, find(s, side, "leg", -1));
    if (lower < 0 && upper >= 0) lower = find(s, side, "leg", upper);
    int32_t ankle = find_below(s, side, "ankle", lower);
    int32_t foot = find_below(s, side, "foot", lower);
    int32_t toe = find_below(s, side, "toe toes toebase toee ball mtp", lower);
    if (ankle >= 0 && toe < 0 && sup_skeleton_is_above(s, ankle, foot)) toe = foot;
    foot = first_found(ankle, foot);
    if (foot < 0 && lower >= 0) { /* leg_1, leg_2, leg_3, leg_4: numbered from the hip */
        foot = find(s, side, "leg", lower);
        if (foot >= 0 && toe < 0) toe = find(s, side, "leg", foot);
    }
    limb[SUP_LIMB_UPPER_LEG] = upper;
    limb[SUP_LIMB_LOWER_LEG] = lower;
    limb[SUP_LIMB_FOOT] = foot;
    limb[SUP_LIMB_TOE] = toe;
}

static void find_arm(const sup_named_skeleton *s, sup_side side, int32_t *limb)
{
    int32_t upper = find(s, side, "upperarm uparm humerus armupper", -1);
    upper = first_found(upper, find(s, side, "arm", -1));
    int32_t shoulder = find(s, side, "shoulder shldr", -1);
    int32_t clavicle = find(s, side, "clavicle collar collarbone sternoclavicular scapula", -1);
    if (upper < 0)
        upper = shoulder;
    else if (clavicle < 0)
        clavicle = shoulder;
    int32_t fore = find_below(s, side, "forearm lowerarm loarm lowarm elbow radius armlower", upper);
    if (fore < 0 && upper >= 0) fore = find(s, side, "arm", upper);
    int32_t hand = find_below(s, side, "hand wrist palm fist", fore);
    if (hand < 0 && fore >= 0) hand = find(s, side, "arm", fore);
    limb[SUP_LIMB_CLAVICLE] = clavicle;
    limb[SUP_LIMB_UPPER_ARM] = upper;
    limb[SUP_LIMB_FOREARM] = fore;
    limb[SUP_LIMB_HAND] = hand;
}

static void find_body(sup_named_skeleton *s)
{
    sup_body_joints *body = &s->body;
    for (int side = 0; side < 2; side++) {
        find_leg(s, (sup_side)side, body->limb[side]);
        find_arm(s, (sup_side)side, body->limb[side]);
    }
    const int32_t *left = body->limb[SUP_SIDE_LEFT], *right = body->limb[SUP_SIDE_RIGHT];
    body->head = first_found(find(s, SUP_SIDE_NONE, "skullbase skull", -1), find(s, SUP_SIDE_NONE, "head", -1));
    body->chest = sup_skeleton_common(s, first_found(left[SUP_LIMB_CLAVICLE], left[SUP_LIMB_UPPER_ARM]),
                                      first_found(right[SUP_LIMB_CLAVICLE], right[SUP_LIMB_UPPER_ARM]));
    int32_t fork = sup_skeleton_common(s, left[SUP_LIMB_UPPER_LEG], right[SUP_LIMB_UPPER_LEG]);
    int32_t named = find(s, SUP_SIDE_NONE, "hips hip pelvis", -1);
    body->hips = first_found(named, fork);
    body->hips = first_found(body->hips, find(s, SUP_SIDE_NONE, "root rootjoint", -1));
    /* What is above the hips or beside them is no chest: an animal's trunk, or a rig that is all branches. */
    if (body->chest >= 0 && (body->chest == body->hips || sup_skeleton_is_above(s, body->chest, body->hips)))
        body->chest = -1;
}

/* Parents come first in node_order: sizes are summed backwards, places handed out forwards. */
static void number_nodes(const sup_character *character, int32_t *depth, int32_t *enter, int32_t *size, int32_t *next)
{
    int32_t count = character->node_count, free_place = 0;
    for (int32_t i = 0; i < count; i++)
        size[i] = 1;
    for (int32_t i = count - 1; i >= 0; i--) {
        int32_t node = character->node_order[i], parent = character->nodes[node].parent;
        if (parent >= 0) size[parent] += size[node];
    }
    for (int32_t i = 0; i < count; i++) {
        int32_t node = character->node_order[i], parent = character->nodes[node].parent;
        int32_t *place = parent >= 0 ? &next[parent] : &free_place;
        depth[node] = parent >= 0 ? depth[parent] + 1 : 0;
        enter[node] = *place;
        next[node] = *place + 1;
        *place += size[node];
    }
}

bool sup_named_skeleton_make(sup_arena *arena, const sup_character *character, sup_named_skeleton *skeleton)
{
    size_t count = (size_t)character->node_count;
    sup_joint_name *names = sup_arena_alloc(arena, count, sizeof *names);
    int32_t *depth = sup_arena_alloc(arena, count, sizeof *depth);
    int32_t *enter = sup_arena_alloc(arena, count, sizeof *enter);
    int32_t *size = sup_arena_alloc(arena, count, sizeof *size);
    int32_t *next = sup_arena_alloc(arena, count, sizeof *next);
    bool *is_usable = sup_arena_alloc(arena, count, sizeof *is_usable);
    if (names == NULL || depth == NULL || enter == NULL || size == NULL || next == NULL || is_usable == NULL)
        return false;
    number_nodes(character, depth, enter, size, next);
    bool has_joints = false;
    for (int32_t i = 0; i < character->node_count; i++)
        has_joints = has_joints || character->nodes[i].is_joint;
    for (int32_t i = 0; i < character->node_count; i++) {
        names[i] = sup_joint_name_parse(character->nodes[i].name);
        is_usable[i] = character->nodes[i].is_joint || !has_joints;
    }
    *skeleton = (sup_named_skeleton){
        .character = character, .names = names, .depth = depth, .enter = enter, .size = size, .is_usable = is_usable};
    find_body(skeleton);
    return true;
}

/* joint_match.c - matches the joints of two skeletons: by the caller's map, then by name if both are the same rig, then
 * by body joints, then by name for the remaining joints. */
#include "pose/joint_match.h"

#include <stdlib.h>

enum { UNMATCHED = -1, RESTS = -2 };

typedef struct matcher {
    sup_arena *arena;
    const sup_named_skeleton *source, *target;
    int32_t *map; /* [target nodes] source node, UNMATCHED or RESTS */
    sup_error *error;
} matcher;

static void assign(matcher *m, int32_t target, int32_t source)
{
    if (target >= 0 && source >= 0 && m->map[target] == UNMATCHED) m->map[target] = source;
}

/* --- The caller's map --- */

static sup_result apply_map(matcher *m, const sup_joint_map *map)
{
    for (int32_t i = 0; map != NULL && i < map->count; i++) {
        int32_t target = sup_character_find_node(m->target->character, map->target[i]);
        int32_t source = map->source[i] != NULL ? sup_character_find_node(m->source->character, map->source[i]) : RESTS;
        if (target < 0 || source == -1)
            return sup_fail(m->error, SUP_ERROR_ARGUMENT, "retarget.map", target < 0 ? map->target[i] : map->source[i],
                            "The joint map contains \"%s\", which the %s does not have.",
                            target < 0 ? map->target[i] : map->source[i], target < 0 ? "character" : "motion");
        m->map[target] = source;
    }
    return SUP_OK;
}

/* --- Names --- */

typedef struct name_entry {
    uint64_t hash;
    int32_t node;
} name_entry;

static uint64_t hash_name(const sup_joint_name *name)
{
    uint64_t seed = (uint64_t)name->side * 4 + (name->is_helper ? 1 : 0) + ((uint64_t)(uint32_t)name->number << 8);
    return sup_hash64(name->base, strlen(name->base), seed);
}

static int compare_entries(const void *a, const void *b)
{
    const name_entry *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Source joints by name. */
static name_entry *sort_names(matcher *m, int32_t *count)
{
    const sup_named_skeleton *source = m->source;
    name_entry *entries = sup_arena_alloc(m->arena, (size_t)source->character->node_count, sizeof *entries);
    *count = 0;
    for (int32_t i = 0; entries != NULL && i < source->character->node_count; i++)
        if (source->is_usable[i] && source->names[i].base[0] != '\0')
            entries[(*count)++] = (name_entry){hash_name(&source->names[i]), i};
    if (entries != NULL) qsort(entries, (size_t)*count, sizeof *entries, compare_entries);
    return entries;
}

/* The unique source joint of that name, -1 if there is none or more than one. */
static int32_t find_name(const matcher *m, const name_entry *entries, int32_t count, const sup_joint_name *name)
{
    uint64_t hash = hash_name(name);
    int32_t low = 0, high = count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (entries[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < count && sup_joint_name_same(&m->source->names[entries[low].node], name);
    bool is_choice = found && low + 1 < count && sup_joint_name_same(&m->source->names[entries[low + 1].node], name);
    return found && !is_choice ? entries[low].node : -1;
}

static sup_result match_names(matcher *m, const bool *is_moved, bool *same_rig)
{
    const sup_named_skeleton *target = m->target, *source = m->source;
    int32_t count, moved = 0, named = 0;
    name_entry *entries = sort_names(m, &count);
    bool *used = sup_arena_alloc(m->arena, (size_t)source->character->node_count, sizeof *used);
    int32_t *by_name = sup_arena_alloc(m->arena, (size_t)target->character->node_count, sizeof *by_name);
    if (entries == NULL || used == NULL || by_name == NULL) return sup_fail_memory(m->error, "the joint names");
    for (int32_t i = 0; i < target->character->node_count; i++) {
        by_name[i] = target->is_usable[i] ? find_name(m, entries, count, &target->names[i]) : -1;
        if (by_name[i] >= 0) used[by_name[i]] = true;
    }
    for (int32_t i = 0; i < source->character->node_count; i++) {
        moved += is_moved[i] && source->is_usable[i] ? 1 : 0;
        named += is_moved[i] && source->is_usable[i] && used[i] ? 1 : 0;
    }
    *same_rig = named >= 2 && named * 5 >= moved * 4;
    for (int32_t i = 0; *same_rig && i < target->character->node_count; i++)
        assign(m, i, by_name[i]);
    return SUP_OK;
}

/* --- Body joints --- */

/* Nodes of the path from below `above` to `last`; NULL and 0 if there is no such path. */
typedef struct path {
    int32_t *nodes, count;
} path;

static bool make_path(matcher *m, const sup_named_skeleton *s, int32_t above, int32_t last, bool with_last,
                      path *created)
{
    *created = (path){NULL, 0};
    if (last < 0) return true;
    for (int32_t node = last; node >= 0 && node != above; node = s->character->nodes[node].parent)
        if (s->is_usable[node] && (with_last || node != last)) created->count++;
    created->nodes = sup_arena_alloc(m->arena, (size_t)created->count, sizeof *created->nodes);
    if (created->nodes == NULL) return false;
    int32_t index = created->count;
    for (int32_t node = last; node >= 0 && node != above; node = s->character->nodes[node].parent)
        if (s->is_usable[node] && (with_last || node != last)) created->nodes[--index] = node;
    return true;
}

/* Matches chains of different lengths: the last joints match, the others in proportion. */
static void match_paths(matcher *m, path source, path target)
{
    for (int32_t i = 0; source.count > 0 && i < target.count; i++) {
        int64_t index = ((int64_t)(i + 1) * source.count + target.count - 1) / target.count - 1;
        assign(m, target.nodes[i], source.nodes[index]);
    }
}

/* Spine: from the branch of the hips to the chest; neck: from the chest to the head. */
static bool match_trunk(matcher *m)
{
    const sup_named_skeleton *sides[2] = {m->source, m->target};
    path spine[2], neck[2];
    for (int i = 0; i < 2; i++) {
        const sup_body_joints *body = &sides[i]->body;
        bool has_chest = body->chest >= 0;
        int32_t top = has_chest ? body->chest : body->head;
        int32_t fork = sup_skeleton_common(sides[i], body->hips, top);
        int32_t neck_fork = has_chest ? sup_skeleton_common(sides[i], body->chest, body->head) : -1;
        if (!make_path(m, sides[i], fork, body->hips >= 0 ? top : -1, has_chest, &spine[i]) ||
            !make_path(m, sides[i], neck_fork, has_chest ? body->head : -1, false, &neck[i]))
            return false;
    }
    assign(m, m->target->body.hips, m->source->body.hips);
    assign(m, m->target->body.head, m->source->body.head);
    match_paths(m, spine[0], spine[1]);
    match_paths(m, neck[0], neck[1]);
    return true;
}

static void match_limbs(matcher *m)
{
    for (int side = 0; side < 2; side++)
        for (int limb = 0; limb < SUP_LIMB_COUNT; limb++)
            assign(m, m->target->body.limb[side][limb], m->source->body.limb[side][limb]);
}

/* Joints of one finger from the hand outward, at most `limit`. Returns their number. */
static int32_t finger_joints(const sup_named_skeleton *s, sup_side side, int finger, int32_t *joints, int32_t limit)
{
    int32_t count = 0;
    for (int32_t i = 0; i < s->character->node_count; i++) {
        int32_t node = s->character->node_order[i]; /* by depth */
        const sup_joint_name *name = &s->names[node];
        if (!s->is_usable[node] || name->side != side || name->finger != finger || name->is_helper) continue;
        if (count < limit && (count == 0 || sup_skeleton_is_above(s, joints[count - 1], node))) joints[count++] = node;
    }
    return count;
}

/* A source with only one long finger, or a thumb with one joint, has markers instead of fingers. */
static void match_fingers(matcher *m)
{
    enum { JOINTS = 4 };
    for (int side = 0; side < 2; side++) {
        int32_t source[5][JOINTS], count[5], long_fingers = 0;
        for (int finger = 0; finger < 5; finger++) {
            count[finger] = finger_joints(m->source, (sup_side)side, finger, source[finger], JOINTS);
            long_fingers += finger > 0 && count[finger] > 0 ? 1 : 0;
        }
        for (int finger = 0; finger < 5; finger++) {
            int32_t target[JOINTS], found = finger_joints(m->target, (sup_side)side, finger, target, JOINTS);
            bool is_real = finger == 0 ? count[0] >= 2 : long_fingers >= 2;
            for (int32_t i = 0; is_real && i < found && i < count[finger]; i++)
                assign(m, target[i], source[finger][i]);
        }
    }
}

/* Matches the remaining joints of both sides by name: ears, tails, jaws. */
static sup_result match_rest(matcher *m)
{
    int32_t count;
    name_entry *entries = sort_names(m, &count);
    bool *used = sup_arena_alloc(m->arena, (size_t)m->source->character->node_count, sizeof *used);
    if (entries == NULL || used == NULL) return sup_fail_memory(m->error, "the joint names");
    for (int32_t i = 0; i < m->target->character->node_count; i++)
        if (m->map[i] >= 0) used[m->map[i]] = true;
    for (int32_t i = 0; i < m->target->character->node_count; i++) {
        int32_t found =
            m->target->is_usable[i] && m->map[i] == UNMATCHED ? find_name(m, entries, count, &m->target->names[i]) : -1;
        if (found >= 0 && !used[found]) assign(m, i, found);
    }
    return SUP_OK;
}

/* --- Directions --- */

/* Limb joints point at the next joint of the limb. Trunk, collar bones, hands and feet only copy rotations: the
 * positions of their joints differ too much between rigs. */
static void follow_limbs(const matcher *m, sup_joint_match *match)
{
    static const int pairs[4][2] = {{SUP_LIMB_UPPER_ARM, SUP_LIMB_FOREARM},
                                    {SUP_LIMB_FOREARM, SUP_LIMB_HAND},
                                    {SUP_LIMB_UPPER_LEG, SUP_LIMB_LOWER_LEG},
                                    {SUP_LIMB_LOWER_LEG, SUP_LIMB_FOOT}};
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 4; i++) {
            int32_t from = m->target->body.limb[side][pairs[i][0]], to = m->target->body.limb[side][pairs[i][1]];
            if (from >= 0 && to >= 0 && match->source[from] >= 0 && match->source[to] >= 0) match->child[from] = to;
        }
    for (int side = 0; side < 2; side++)
        for (int finger = 0; finger < 5; finger++) {
            int32_t joints[4], count = finger_joints(m->target, (sup_side)side, finger, joints, 4);
            for (int32_t i = 0; i + 1 < count; i++)
                if (match->source[joints[i]] >= 0 && match->source[joints[i + 1]] >= 0)
                    match->child[joints[i]] = joints[i + 1];
        }
}

/* Without body joints, every joint points at the matched joint below it if there is exactly one. */
static void follow_chains(const matcher *m, sup_joint_match *match)
{
    const sup_character *target = m->target->character;
    for (int32_t i = 0; i < target->node_count; i++) {
        if (match->source[i] < 0) continue;
        int32_t above = target->nodes[i].parent;
        while (above >= 0 && match->source[above] < 0)
            above = target->nodes[above].parent;
        if (above < 0 || !sup_skeleton_is_above(m->source, match->source[above], match->source[i])) continue;
        match->child[above] = match->child[above] == UNMATCHED ? i : RESTS;
    }
    for (int32_t i = 0; i < target->node_count; i++)
        if (match->child[i] < 0) match->child[i] = UNMATCHED;
}

static bool has_body(const sup_body_joints *body)
{
    const int32_t *left = body->limb[SUP_SIDE_LEFT], *right = body->limb[SUP_SIDE_RIGHT];
    return (left[SUP_LIMB_UPPER_LEG] >= 0 && right[SUP_LIMB_UPPER_LEG] >= 0) ||
           (left[SUP_LIMB_UPPER_ARM] >= 0 && right[SUP_LIMB_UPPER_ARM] >= 0);
}

/* --- Result --- */

/* The first joint names, for a message. */
static void list_names(const sup_named_skeleton *s, char *buffer, size_t size)
{
    size_t length = 0;
    int32_t listed = 0;
    buffer[0] = '\0';
    for (int32_t i = 0; i < s->character->node_count && listed < 4 && length < size; i++) {
        if (!s->is_usable[i] || s->character->nodes[i].name[0] == '\0') continue;
        length +=
            sup_format(buffer + length, size - length, "%s%.20s", listed > 0 ? ", " : "", s->character->nodes[i].name);
        listed++;
    }
}

static sup_result check_count(const matcher *m, const sup_joint_map *map, int32_t count)
{
    int32_t joints = 0;
    for (int32_t i = 0; i < m->target->character->node_count; i++)
        joints += m->target->is_usable[i] ? 1 : 0;
    int32_t needed = map != NULL && map->count > 0 ? 1 : joints < 3 ? joints : 3;
    if (count >= needed && count > 0) return SUP_OK;
    char ours[110], theirs[110];
    list_names(m->target, ours, sizeof ours);
    list_names(m->source, theirs, sizeof theirs);
    return sup_fail(m->error, SUP_ERROR_DATA, "retarget.match", m->source->character->name,
                    "Only %d joints match by name: the character has %s ...; the motion has %s ... Write a joint map: "
                    "lines of \"joint of the character = joint of the motion\".",
                    count, ours, theirs);
}

sup_result sup_joint_match_create(sup_arena *arena, const sup_named_skeleton *source, const bool *is_moved,
                                  const sup_named_skeleton *target, const sup_joint_map *map, sup_joint_match *match,
                                  sup_error *error)
{
    int32_t nodes = target->character->node_count;
    matcher m = {arena, source, target, sup_arena_alloc(arena, (size_t)nodes, sizeof(int32_t)), error};
    *match = (sup_joint_match){m.map, sup_arena_alloc(arena, (size_t)nodes, sizeof(int32_t)), 0};
    if (m.map == NULL || match->child == NULL) return sup_fail_memory(error, "the joint map");
    for (int32_t i = 0; i < nodes; i++)
        m.map[i] = match->child[i] = UNMATCHED;
    bool same_rig = false;
    sup_result result = apply_map(&m, map);
    if (result == SUP_OK) result = match_names(&m, is_moved, &same_rig);
    if (result == SUP_OK && !same_rig) {
        if (!match_trunk(&m)) return sup_fail_memory(error, "the joint map");
        match_limbs(&m);
        match_fingers(&m);
        result = match_rest(&m);
    }
    if (result != SUP_OK) return result;
    for (int32_t i = 0; i < nodes; i++) {
        if (m.map[i] < 0) m.map[i] = UNMATCHED;
        match->count += m.map[i] >= 0 ? 1 : 0;
    }
    if (has_body(&target->body))
        follow_limbs(&m, match);
    else
        follow_chains(&m, match);
    return check_count(&m, map, match->count);
}

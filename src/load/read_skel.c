/* read_skel.c - the skeleton format of Fast Projective Skinning: the number of joints, then one line per joint:
 * position, name and parent ("0 1 0 hand arm"), where the parent is another joint or the word root. Positions are in
 * world space; joints have no rest rotation. Parents may come after their children. */
#include "load/file.h"
#include "load/read.h"
#include "load/text_cursor.h"

#include <math.h>
#include <stdlib.h>

typedef struct skel_joint {
    double position[3];
    sup_word name, parent;
    int64_t line;
    int32_t index; /* in file order */
} skel_joint;

typedef const skel_joint *joint_ref;

typedef struct skel_reader {
    sup_text_cursor text;
    int32_t count;
    skel_joint *joints; /* [count] in the order of the file */
    joint_ref *named;   /* [count] sorted by name */
    sup_error *error;
} skel_reader;

static int compare_words(sup_word a, sup_word b)
{
    size_t length = a.length < b.length ? a.length : b.length;
    int order = length > 0 ? memcmp(a.text, b.text, length) : 0;
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

/* Equal names are in file order, so that messages do not depend on the sort. */
static int compare_joints(const void *a, const void *b)
{
    const skel_joint *x = *(const joint_ref *)a, *y = *(const joint_ref *)b;
    int order = compare_words(x->name, y->name);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

static int compare_name(const void *key, const void *entry)
{
    return compare_words(*(const sup_word *)key, (*(const joint_ref *)entry)->name);
}

/* A joint has at least 10 characters: "0 0 0 b a" and a line end. */
static sup_result read_count(skel_reader *r)
{
    int64_t count;
    if (!sup_text_skip_to_word(&r->text) || !sup_text_int64(&r->text, &count) || count < 0)
        return sup_text_fail_expected(&r->text, r->error, "skel.count", "the number of joints");
    if (count == 0) return sup_text_fail(&r->text, r->error, "skel.empty", "The skeleton has no joints.");
    if ((uint64_t)count > sup_text_remaining(&r->text) / 10)
        return sup_text_fail(&r->text, r->error, "skel.count",
                             "The file declares %lld joints, but is too short to contain them.", (long long)count);
    r->count = (int32_t)(count < INT32_MAX ? count : INT32_MAX);
    return SUP_OK;
}

static sup_result read_joint(skel_reader *r, skel_joint *joint)
{
    sup_text_next_line(&r->text);
    sup_text_skip_to_word(&r->text);
    joint->line = r->text.line;
    for (int i = 0; i < 3; i++)
        if (!sup_text_double(&r->text, &joint->position[i]) || !isfinite(joint->position[i]) ||
            !isfinite((float)joint->position[i]))
            return sup_text_fail_expected(&r->text, r->error, "skel.number", "three finite coordinates of a joint");
    joint->name = sup_text_word(&r->text);
    joint->parent = sup_text_word(&r->text);
    if (joint->parent.length == 0 || sup_text_has_word(&r->text))
        return sup_text_fail(&r->text, r->error, "skel.joint", "Expected \"x y z name parent\" on this line.");
    return SUP_OK;
}

static sup_result read_joints(skel_reader *r)
{
    sup_result result = SUP_OK;
    for (int32_t i = 0; i < r->count && result == SUP_OK; i++) {
        r->joints[i].index = i;
        r->named[i] = &r->joints[i];
        result = read_joint(r, &r->joints[i]);
    }
    if (result != SUP_OK) return result;
    sup_text_next_line(&r->text);
    if (sup_text_skip_to_word(&r->text))
        return sup_text_fail(&r->text, r->error, "skel.count", "There is data after the %d joints declared in line 1.",
                             r->count);
    qsort(r->named, (size_t)r->count, sizeof(joint_ref), compare_joints);
    for (int32_t i = 1; i < r->count; i++)
        if (compare_words(r->named[i]->name, r->named[i - 1]->name) == 0) {
            r->text.line = r->named[i]->line;
            return sup_text_fail(&r->text, r->error, "skel.name",
                                 "Duplicate joint name: it is already used on line %lld.",
                                 (long long)r->named[i - 1]->line);
        }
    return SUP_OK;
}

/* The parent's index, -1 for a root, -2 when not found. A joint may itself have the name "root". */
static int32_t find_parent(const skel_reader *r, const skel_joint *joint)
{
    bool says_root = sup_word_is(joint->parent, "root");
    if (says_root && compare_words(joint->parent, joint->name) == 0) return -1;
    const joint_ref *found = bsearch(&joint->parent, r->named, (size_t)r->count, sizeof(joint_ref), compare_name);
    return found != NULL ? (*found)->index : says_root ? -1 : -2;
}

static sup_result fill_nodes(skel_reader *r, sup_arena *arena, sup_node *nodes)
{
    for (int32_t i = 0; i < r->count; i++) {
        const skel_joint *joint = &r->joints[i];
        int32_t parent = find_parent(r, joint);
        if (parent == -2) {
            r->text.line = joint->line;
            return sup_text_fail(&r->text, r->error, "skel.parent",
                                 "The parent of this joint is neither a joint of the file nor the word root.");
        }
        nodes[i] = (sup_node){sup_arena_string_n(arena, joint->name.text, joint->name.length), parent,
                              sup_transform_identity(), true};
        if (nodes[i].name == NULL) return sup_fail_memory(r->error, "the joints");
        const double zero[3] = {0, 0, 0}, *origin = parent >= 0 ? r->joints[parent].position : zero;
        nodes[i].rest.translation =
            (sup_vec3){(float)(joint->position[0] - origin[0]), (float)(joint->position[1] - origin[1]),
                       (float)(joint->position[2] - origin[2])};
    }
    return SUP_OK;
}

static sup_result make_character(skel_reader *r, sup_character *made)
{
    sup_arena *arena = sup_character_arena(made);
    sup_node *nodes = sup_arena_alloc(arena, (size_t)r->count, sizeof *nodes);
    made->name = sup_path_stem(arena, r->text.name);
    if (nodes == NULL || made->name == NULL) return sup_fail_memory(r->error, "the joints");
    sup_result result = fill_nodes(r, arena, nodes);
    if (result != SUP_OK) return result;
    made->nodes = nodes;
    made->node_count = r->count;
    return sup_character_finish(made, r->text.name, r->error);
}

static sup_result read_all(skel_reader *r, const sup_context *context, sup_character **character)
{
    sup_result result = read_joints(r);
    if (result != SUP_OK) return result;
    sup_character *made = sup_character_begin(context);
    if (made == NULL) return sup_fail_memory(r->error, "the joints");
    result = make_character(r, made);
    if (result == SUP_OK)
        *character = made;
    else
        sup_character_destroy(made);
    return result;
}

sup_result sup_read_skel(const sup_read_input *input, sup_character **character, sup_error *error)
{
    const sup_allocator *allocator = &input->context->allocator;
    skel_reader r = {.text = sup_text_open(input->bytes, input->name, '#'), .error = error};
    sup_result result = read_count(&r);
    if (result != SUP_OK) return result;
    size_t joints_size = sup_size_multiply((size_t)r.count, sizeof(skel_joint));
    size_t named_size = sup_size_multiply((size_t)r.count, sizeof(joint_ref));
    r.joints = sup_alloc_zero(allocator, joints_size);
    r.named = sup_alloc(allocator, named_size);
    if (r.joints != NULL && r.named != NULL)
        result = read_all(&r, input->context, character);
    else
        result = sup_fail_memory(error, "the joints");
    sup_free(allocator, r.joints, joints_size);
    sup_free(allocator, (void *)r.named, named_size);
    return result;
}

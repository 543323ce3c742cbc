/* template_rig.c - the skeleton of a template, the weights of its skin, and the vertices without layers. */
#include "anatomy/template.h"
#include "geometry/adjacency.h"
#include "math/vec3.h"

#include <math.h>

static sup_vec3d joint_position(const sup_template_build *b, int32_t joint)
{
    const double *p = b->def->joints.positions + 3 * (size_t)joint;
    return sup_v3(p[0], p[1], p[2]);
}

static sup_transform moved_by(sup_vec3d t)
{
    return (sup_transform){.translation = {(float)t.x, (float)t.y, (float)t.z},
                           .rotation = {0.0f, 0.0f, 0.0f, 1.0f},
                           .scale = {1.0f, 1.0f, 1.0f}};
}

static void fill_skeleton(const sup_template_build *b, sup_node *nodes, sup_bone *bones)
{
    const sup_joints *joints = &b->def->joints;
    for (int32_t j = 0; j < joints->count; j++) {
        sup_vec3d at = joint_position(b, j);
        int32_t parent = joints->parents[j];
        sup_vec3d from = parent >= 0 ? joint_position(b, parent) : sup_v3(0.0, 0.0, 0.0);
        nodes[j] = (sup_node){joints->names[j], parent, moved_by(sup_v3_sub(at, from)), true};
        bones[j].node = j;
        bones[j].inverse_bind = (sup_mat34){{1, 0, 0, (float)-at.x, 0, 1, 0, (float)-at.y, 0, 0, 1, (float)-at.z}};
    }
    nodes[joints->count] = (sup_node){"skin", -1, moved_by(sup_v3(0.0, 0.0, 0.0)), false};
}

/* A character of the skin and the joints, for the rig. */
static sup_result make_character(sup_template_build *b, sup_error *error)
{
    const sup_anatomy_def *d = b->def;
    size_t n = (size_t)d->skin.vertex_count, joints = (size_t)d->joints.count;
    sup_node *nodes = sup_arena_alloc(&b->arena, joints + 1, sizeof *nodes);
    sup_bone *bones = sup_arena_alloc(&b->arena, joints + 1, sizeof *bones);
    int32_t *first = sup_arena_alloc(&b->arena, n + 2, sizeof *first);
    int32_t total = d->influence_first != NULL ? d->influence_first[n] : 0;
    float *weights = sup_arena_alloc(&b->arena, (size_t)total + 1, sizeof *weights);
    if (nodes == NULL || bones == NULL || first == NULL || weights == NULL) return sup_fail_memory(error, "a template");
    fill_skeleton(b, nodes, bones);
    if (total > 0) memcpy(first, d->influence_first, (n + 1) * sizeof *first);
    for (int32_t i = 0; i < total; i++)
        weights[i] = (float)d->influence_weight[i];
    sup_skin skin = {"skin", 0, d->joints.count};
    sup_primitive primitive = {"skin", d->joints.count,       0, 0, 0, -1, 0, d->skin.vertex_count,
                               0,      d->skin.triangle_count};
    sup_character source = {.name = "template",
                            .unit_metres = 1.0f,
                            .node_count = d->joints.count + 1,
                            .nodes = nodes,
                            .bone_count = d->joints.count,
                            .bones = bones,
                            .skin_count = 1,
                            .skins = &skin,
                            .primitive_count = 1,
                            .primitives = &primitive,
                            .vertex_count = d->skin.vertex_count,
                            .positions = b->skin_floats,
                            .triangle_count = d->skin.triangle_count,
                            .triangles = d->skin.triangles,
                            .influence_first = first,
                            .influence_bone = total > 0 ? d->influence_joint : NULL,
                            .influence_weight = total > 0 ? weights : NULL};
    return sup_character_create(&b->context, &source, &b->character, error);
}

static sup_result copy_weights(sup_template_build *b, sup_error *error)
{
    sup_anatomy *a = b->anatomy;
    const sup_rig *rig = b->rig;
    sup_arena *arena = &a->storage->arena;
    int32_t total = rig->influence_first[rig->vertex_count];
    a->influence_first = sup_arena_copy(arena, rig->influence_first, (size_t)rig->vertex_count + 1, sizeof(int32_t));
    a->influence_joint = sup_arena_alloc(arena, (size_t)total + 1, sizeof(int32_t));
    a->influence_weight = sup_arena_alloc(arena, (size_t)total + 1, sizeof(double));
    if (a->influence_first == NULL || a->influence_joint == NULL || a->influence_weight == NULL)
        return sup_fail_memory(error, "a template");
    for (int32_t i = 0; i < total; i++) {
        int32_t node = rig->joint_node[rig->influence_joint[i]];
        a->influence_joint[i] = node < a->joint_count ? node : 0;
        a->influence_weight[i] = (double)rig->influence_weight[i];
    }
    return SUP_OK;
}

/* Whether the name contains one of the comma-separated words; ignores case. */
static bool has_word(const char *words, const char *name)
{
    while (*words != 0) {
        size_t length = strcspn(words, ",");
        for (const char *at = name; length > 0 && strlen(at) >= length; at++) {
            size_t k = 0;
            while (k < length && (at[k] | 32) == (words[k] | 32))
                k++;
            if (k == length) return true;
        }
        words += length + (words[length] == ',');
    }
    return false;
}

static void mark_joints(const sup_template_build *b, unsigned char *out)
{
    const sup_anatomy *a = b->anatomy;
    for (int32_t j = 0; j < a->joint_count; j++) {
        int32_t parent = a->parents[j];
        sup_body_role role = b->roles[j];
        bool named = b->def->exclude != NULL ? has_word(b->def->exclude, a->joint_names[j])
                                             : role == SUP_BODY_HEAD || role == SUP_BODY_HAND || role == SUP_BODY_TOE;
        out[j] = named || (parent >= 0 && out[parent]);
    }
}

/* Keeps only the largest connected component of the vertices with layers: the inside of a mouth belongs to the head,
 * whatever its weights are. */
static sup_result drop_islands(sup_template_build *b, sup_error *error)
{
    sup_anatomy *a = b->anatomy;
    size_t n = (size_t)a->vertex_count, triangles = 0;
    int32_t *kept = sup_arena_alloc(&b->arena, 3 * (size_t)a->triangle_count + 1, sizeof *kept);
    int32_t *component = sup_arena_alloc(&b->arena, n + 1, sizeof *component);
    int32_t *size = sup_arena_alloc(&b->arena, n + 1, sizeof *size);
    if (kept == NULL || component == NULL || size == NULL) return sup_fail_memory(error, "a template");
    for (int32_t t = 0; t < a->triangle_count; t++) {
        const int32_t *c = a->triangles + 3 * (size_t)t;
        if (!a->excluded[c[0]] && !a->excluded[c[1]] && !a->excluded[c[2]])
            memcpy(kept + 3 * triangles++, c, 3 * sizeof *c);
    }
    int32_t component_count = sup_mesh_components(a->vertex_count, (int32_t)triangles, kept, component), largest = 0;
    for (size_t v = 0; v < n; v++)
        if (component[v] >= 0) size[component[v]]++;
    for (int32_t i = 1; i < component_count; i++)
        if (size[i] > size[largest]) largest = i;
    for (size_t v = 0; v < n; v++)
        if (component[v] != largest) a->excluded[v] = 1;
    if (component_count == 0 || size[largest] < 4)
        return sup_fail(error, SUP_ERROR_DATA, "anatomy.excluded", "",
                        "All of the skin is excluded from the layers: use other words in --exclude.");
    return SUP_OK;
}

/* Ears, chin and mouth, which the neck often moves: near the head's joint and above, or in front of it and slightly
 * below. */
static bool is_face(const sup_template_build *b, const double head[3], double height, int32_t v)
{
    const double *p = b->anatomy->skin + 3 * (size_t)v;
    sup_body_role role = b->roles[sup_template_joint(b->anatomy, v, NULL)];
    if (role != SUP_BODY_NECK && role != SUP_BODY_HEAD) return false;
    return p[1] > head[1] - 0.02 * height || (p[1] > head[1] - 0.05 * height && p[2] > head[2] + 0.03 * height);
}

/* Vertices with half of their weight on excluded joints; and the face, unless the caller chose the joints. */
static sup_result mark_excluded(sup_template_build *b, unsigned char *out, sup_error *error)
{
    sup_anatomy *a = b->anatomy;
    mark_joints(b, out);
    double head[3] = {0.0, INFINITY, 0.0}, low = INFINITY, high = -INFINITY;
    for (int32_t j = 0; j < a->joint_count && b->def->exclude == NULL; j++)
        if (b->roles[j] == SUP_BODY_HEAD && a->joints[3 * (size_t)j + 1] < head[1])
            memcpy(head, a->joints + 3 * (size_t)j, sizeof head);
    for (int32_t v = 0; v < a->vertex_count; v++) {
        low = fmin(low, a->skin[3 * (size_t)v + 1]);
        high = fmax(high, a->skin[3 * (size_t)v + 1]);
    }
    for (int32_t v = 0; v < a->vertex_count; v++) {
        double weight = 0.0;
        for (int32_t i = a->influence_first[v]; i < a->influence_first[v + 1]; i++)
            weight += out[a->influence_joint[i]] ? a->influence_weight[i] : 0.0;
        sup_body_role role = b->roles[sup_template_joint(a, v, NULL)];
        bool toes = role == SUP_BODY_FOOT || role == SUP_BODY_TOE; /* also the joints between them */
        bool given = b->def->excluded != NULL && b->def->excluded[v] != 0;
        a->excluded[v] = weight > (toes ? 0.15 : 0.5) || given || is_face(b, head, high - low, v);
    }
    return drop_islands(b, error);
}

int32_t sup_template_joint(const sup_anatomy *a, int32_t vertex, double *weight)
{
    int32_t best = a->influence_first[vertex];
    for (int32_t i = best; i < a->influence_first[vertex + 1]; i++)
        if (a->influence_weight[i] > a->influence_weight[best]) best = i;
    if (weight != NULL) *weight = a->influence_weight[best];
    return a->influence_joint[best];
}

sup_result sup_template_rig(sup_template_build *b, sup_error *error)
{
    unsigned char *out = sup_arena_alloc(&b->arena, (size_t)b->def->joints.count + 1, 1);
    b->roles = sup_arena_alloc(&b->arena, (size_t)b->def->joints.count + 1, sizeof *b->roles);
    if (out == NULL || b->roles == NULL) return sup_fail_memory(error, "a template");
    sup_result result = make_character(b, error);
    if (result == SUP_OK) result = sup_body_roles(&b->context, &b->def->joints, b->roles, error);
    if (result == SUP_OK) {
        sup_rig_def def = sup_default_rig_def();
        def.weights = b->def->influence_first != NULL ? SUP_WEIGHTS_FILE : SUP_WEIGHTS_HEAT;
        result = sup_rig_create(&b->context, b->character, &def, &b->rig, error);
    }
    if (result == SUP_OK) result = copy_weights(b, error);
    if (result == SUP_OK) result = mark_excluded(b, out, error);
    return result;
}

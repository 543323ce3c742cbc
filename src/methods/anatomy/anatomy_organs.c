/* anatomy_organs.c - detailed muscles between the simulated skin and the bones.
 *
 * Based on: [komaritzan2022] section 4.3.3: the detailed muscles follow the layers. Each vertex of a muscle is on the
 * line from the nearest point of the skin to the bone surface under it, at the fraction t from the bone, or beside that
 * line. It moves by x = t S + sum_j w_j (R_j q + (1 - t) T_j) with S the point of the skin in this frame, [R_j | T_j]
 * the joints of the bone point, and q = x_rest - t S_rest: by the skin where it lies below the skin, by the bones where
 * it lies on them, so it stays inside. Deviations: the bone surface is blended where it slides, not simulated; normals
 * are those of the joint that the muscle follows in a file. */
#include "methods/anatomy/anatomy_organs.h"

#include "anatomy/layers.h"
#include "bind/model.h"
#include "geometry/bvh.h"
#include "math/affine.h"
#include "methods/projective/projective_view.h"
#include "supple/rig.h"

#define VERTEX "organ.vertex"       /* int32 [count*4] render vertex, and three of the skin */
#define SKIN "organ.skin"           /* float [count*3] weights of these three, which sum to t */
#define REST "organ.rest"           /* float [count*4] q and 1 - t */
#define JOINT "organ.joint"         /* int32 [count*4] indices of USED */
#define USED "organ.used"           /* int32 [joints of the skin] rig joints; a rig has one more for each organ */
#define JOINT_WEIGHT "organ.weight" /* float [count*4] */

enum { INFLUENCES = 4, MAX_JOINTS = 256, MAX_VOTES = 48, GRAIN = 2048 };

/* A shorter line from bone to skin, in sizes of the character, has no layers. */
static const double no_layer = 1e-3;

/* --- Bind --- */

typedef struct organ_bind {
    const sup_rig *rig;
    const sup_character *character;
    const int32_t *triangles; /* of the skin, render vertices */
    sup_bvh tree;
    int32_t used_count;
    int32_t *vertex, *joint, *used;
    float *skin, *rest, *weight;
} organ_bind;

typedef struct vote {
    int32_t joint;
    double weight;
} vote;

static int32_t add_vote(vote *votes, int32_t count, int32_t joint, double weight)
{
    for (int32_t i = 0; i < count; i++)
        if (votes[i].joint == joint) {
            votes[i].weight += weight;
            return count;
        }
    if (count < MAX_VOTES) votes[count++] = (vote){joint, weight};
    return count;
}

static int32_t used_index(const organ_bind *b, int32_t joint)
{
    for (int32_t i = 0; i < b->used_count; i++)
        if (b->used[i] == joint) return i;
    return 0;
}

/* The strongest joints of the bone point under three skin vertices. */
static void blend_joints(const organ_bind *b, const int32_t corners[3], const double bary[3], int32_t *joint,
                         float *weight)
{
    vote votes[MAX_VOTES];
    int32_t count = 0;
    double sum = 0.0;
    for (int k = 0; k < 3; k++) {
        int32_t held = sup_anatomy_attached_joint(b->rig, corners[k]);
        if (held >= 0) count = add_vote(votes, count, held, bary[k]);
        for (int32_t i = b->rig->influence_first[corners[k]]; held < 0 && i < b->rig->influence_first[corners[k] + 1];
             i++)
            count = add_vote(votes, count, b->rig->influence_joint[i], bary[k] * (double)b->rig->influence_weight[i]);
    }
    for (int k = 0; k < INFLUENCES; k++) {
        int32_t best = -1;
        for (int32_t i = 0; i < count; i++)
            if (votes[i].weight > 0.0 && (best < 0 || votes[i].weight > votes[best].weight)) best = i;
        joint[k] = best >= 0 ? used_index(b, votes[best].joint) : 0;
        weight[k] = best >= 0 ? (float)votes[best].weight : 0.0f;
        sum += (double)weight[k];
        if (best >= 0) votes[best].weight = 0.0;
    }
    for (int k = 0; k < INFLUENCES; k++)
        weight[k] = sum > 0.0 ? (float)((double)weight[k] / sum) : (k == 0 ? 1.0f : 0.0f);
}

static void bind_vertex(const organ_bind *b, int32_t at, int32_t vertex)
{
    const sup_rig *rig = b->rig;
    sup_vec3d p = sup_v3_load(rig->positions + 3 * (size_t)vertex), skin = {0}, bone = {0};
    sup_bvh_nearest near = sup_bvh_closest(&b->tree, p, INFINITY);
    const int32_t *corners = b->triangles + 3 * (size_t)(near.triangle >= 0 ? near.triangle : 0);
    const double bary[3] = {1.0 - near.u - near.v, near.u, near.v};
    sup_affine to_rig = sup_affine_from_float(rig->primitive_bind[0]);
    for (int k = 0; k < 3; k++) {
        skin = sup_v3_madd(skin, bary[k], sup_v3_load(rig->positions + 3 * (size_t)corners[k]));
        sup_vec3d under = sup_v3_load(b->character->bone_positions + 3 * (size_t)corners[k]);
        bone = sup_v3_madd(bone, bary[k], sup_affine_point(to_rig, under));
    }
    double t = sup_v3_segment_parameter(p, bone, skin);
    if (!(sup_v3_distance(bone, skin) > no_layer * (double)rig->size)) t = 1.0; /* head, hands: the skin carries them */
    b->vertex[4 * at] = vertex;
    for (int k = 0; k < 3; k++) {
        b->vertex[4 * at + 1 + k] = corners[k];
        b->skin[3 * at + k] = (float)(t * bary[k]);
    }
    sup_v3_store(b->rest + 4 * (size_t)at, sup_v3_madd(p, -t, skin));
    b->rest[4 * at + 3] = (float)(1.0 - t);
    blend_joints(b, corners, bary, b->joint + INFLUENCES * (size_t)at, b->weight + INFLUENCES * (size_t)at);
}

static int32_t count_muscles(const sup_character *c)
{
    int32_t count = 0;
    for (int32_t p = 1; p < c->primitive_count; p++)
        if (sup_body_primitive_is_muscle(c, p)) count += c->primitives[p].vertex_count;
    return count;
}

sup_result sup_anatomy_organs_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error)
{
    organ_bind b = {.rig = input->rig, .character = input->rig->character};
    const sup_character *c = b.character;
    b.used_count = c->skin_count > 0 ? c->skins[0].bone_count : 0;
    bool whole = c->bone_positions != NULL && b.used_count <= MAX_JOINTS && c->primitives[0].vertex_first == 0;
    int32_t count = whole ? count_muscles(c) : 0, at = 0;
    if (count == 0) b.used_count = 0;
    b.used = sup_model_add(builder, USED, SUP_ARRAY_INT32, b.used_count);
    b.vertex = sup_model_add(builder, VERTEX, SUP_ARRAY_INT32, 4 * (int64_t)count);
    b.skin = sup_model_add(builder, SKIN, SUP_ARRAY_FLOAT, 3 * (int64_t)count);
    b.rest = sup_model_add(builder, REST, SUP_ARRAY_FLOAT, 4 * (int64_t)count);
    b.joint = sup_model_add(builder, JOINT, SUP_ARRAY_INT32, INFLUENCES * (int64_t)count);
    b.weight = sup_model_add(builder, JOINT_WEIGHT, SUP_ARRAY_FLOAT, INFLUENCES * (int64_t)count);
    if (b.used == NULL || b.vertex == NULL || b.skin == NULL || b.rest == NULL || b.joint == NULL || b.weight == NULL)
        return sup_fail_memory(error, "the muscles of the body");
    if (count == 0) return SUP_OK;
    for (int32_t i = 0; i < b.used_count; i++)
        for (int32_t j = 0; j < b.rig->joint_count; j++)
            if (b.rig->joint_node[j] == c->bones[c->skins[0].bone_first + i].node) b.used[i] = j;
    b.triangles = c->triangles + 3 * (size_t)c->primitives[0].triangle_first;
    sup_result result =
        sup_bvh_create(input->context, b.rig->positions, c->primitives[0].triangle_count, b.triangles, &b.tree, error);
    if (result != SUP_OK) return result;
    for (int32_t p = 1; p < c->primitive_count; p++) {
        bool muscle = sup_body_primitive_is_muscle(c, p);
        for (int32_t v = 0; v < c->primitives[p].vertex_count && muscle; v++)
            bind_vertex(&b, at++, c->primitives[p].vertex_first + v);
    }
    sup_bvh_free(&b.tree);
    return SUP_OK;
}

/* --- Model and step --- */

typedef struct organ_view {
    int32_t count, joint_count, used_count;
    const int32_t *vertex, *joint, *node, *used;
    const float *skin, *rest, *weight, *inverse;
} organ_view;

static bool open_view(const sup_model *model, organ_view *view)
{
    int64_t vertices = 0, joints = 0, used = 0;
    view->used = sup_model_find(model, USED, SUP_ARRAY_INT32, &used);
    view->used_count = (int32_t)used;
    view->vertex = sup_model_find(model, VERTEX, SUP_ARRAY_INT32, &vertices);
    view->node = sup_model_find(model, SUP_PROJECTIVE_JOINT_NODE, SUP_ARRAY_INT32, &joints);
    view->count = (int32_t)(vertices / 4);
    view->joint_count = (int32_t)joints;
    view->inverse = sup_model_array(model, SUP_PROJECTIVE_JOINT_INVERSE, SUP_ARRAY_FLOAT, 12 * joints);
    view->skin = sup_model_array(model, SKIN, SUP_ARRAY_FLOAT, 3 * (int64_t)view->count);
    view->rest = sup_model_array(model, REST, SUP_ARRAY_FLOAT, 4 * (int64_t)view->count);
    view->joint = sup_model_array(model, JOINT, SUP_ARRAY_INT32, INFLUENCES * (int64_t)view->count);
    view->weight = sup_model_array(model, JOINT_WEIGHT, SUP_ARRAY_FLOAT, INFLUENCES * (int64_t)view->count);
    return view->used != NULL && view->vertex != NULL && view->node != NULL && view->inverse != NULL &&
           view->skin != NULL && view->rest != NULL && view->joint != NULL && view->weight != NULL && vertices % 4 == 0;
}

sup_result sup_anatomy_organs_check(const sup_model *model, sup_error *error)
{
    organ_view view;
    bool good = open_view(model, &view) && view.used_count <= MAX_JOINTS;
    int32_t limit = sup_model_header_of(model)->vertex_count;
    for (int32_t i = 0; good && i < 4 * view.count; i++)
        good = view.vertex[i] >= 0 && view.vertex[i] < limit && view.joint[i] >= 0 && view.joint[i] < view.used_count;
    for (int32_t i = 0; good && i < view.used_count; i++)
        good = view.used[i] >= 0 && view.used[i] < view.joint_count;
    if (good) return SUP_OK;
    return sup_fail(error, SUP_ERROR_FORMAT, "model.organ", NULL,
                    "The muscles of the model are damaged: bind the character again.");
}

typedef struct organ_work {
    organ_view view;
    const sup_pose *pose;
    const sup_skin_out *out;
    size_t stride;
} organ_work;

static float *position(const organ_work *w, int32_t vertex)
{
    return (float *)(void *)((unsigned char *)w->out->positions + (size_t)vertex * w->stride);
}

static void move_range(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const organ_work *w = user;
    const organ_view *o = &w->view;
    sup_mat34 joints[MAX_JOINTS]; /* 12 kB of stack */
    SUP_UNUSED(worker);
    for (int32_t j = 0; j < o->used_count; j++) {
        sup_mat34 inverse;
        memcpy(inverse.m, o->inverse + 12 * (size_t)o->used[j], sizeof inverse.m);
        joints[j] = sup_mat34_multiply(w->pose->world[o->node[o->used[j]]], inverse);
    }
    for (int32_t i = begin; i < end; i++) {
        const float *q = o->rest + 4 * (size_t)i;
        float x[3] = {0.0f, 0.0f, 0.0f};
        for (int k = 0; k < 3; k++) {
            const float *s = position(w, o->vertex[4 * (size_t)i + 1 + (size_t)k]);
            float t = o->skin[3 * (size_t)i + (size_t)k];
            for (int d = 0; d < 3; d++)
                x[d] += t * s[d];
        }
        for (int k = 0; k < INFLUENCES; k++) {
            float weight = o->weight[INFLUENCES * (size_t)i + (size_t)k];
            const float *m = joints[o->joint[INFLUENCES * (size_t)i + (size_t)k]].m;
            if (weight == 0.0f) continue;
            for (int d = 0; d < 3; d++)
                x[d] += weight * (m[4 * d] * q[0] + m[4 * d + 1] * q[1] + m[4 * d + 2] * q[2] + m[4 * d + 3] * q[3]);
        }
        memcpy(position(w, o->vertex[4 * (size_t)i]), x, sizeof x);
    }
}

void sup_anatomy_organs_step(const sup_step_input *input, const sup_skin_out *out)
{
    organ_work work = {.pose = input->pose, .out = out};
    work.stride = out->position_stride != 0 ? out->position_stride : 3 * sizeof(float);
    if (out->positions == NULL || !open_view(input->model, &work.view) || work.view.count == 0) return;
    sup_parallel(input->context, work.view.count, GRAIN, move_range, &work);
}

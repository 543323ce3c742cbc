/* body.c - simple tissues for tests and benchmarks of the solver. */
#include "projective_solver/body.h"

#include <stdlib.h>

static void *grab(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL) abort();
    return memory;
}

static sup_vec3d at(const double *p, int32_t v)
{
    return sup_v3(p[3 * v], p[3 * v + 1], p[3 * v + 2]);
}

static void put(double *p, int32_t v, sup_vec3d a)
{
    p[3 * v] = a.x;
    p[3 * v + 1] = a.y;
    p[3 * v + 2] = a.z;
}

enum { TUBE_BONES = 3 };

/* Nearest point on the tube's bones; joints on x. */
static sup_vec3d nearest_on_bones(const double chain[TUBE_BONES + 1], sup_vec3d p, int32_t *bone)
{
    double x = fmin(fmax(p.x, chain[0]), chain[TUBE_BONES]);
    for (*bone = 0; *bone + 1 < TUBE_BONES && x > chain[*bone + 1];)
        ++*bone;
    return sup_v3(x, 0.0, 0.0);
}

/* Bases, classes and the split of every prism by the order of its vertices. */
static void make_tissue(body *b, const double chain[TUBE_BONES + 1])
{
    sup_tissue *t = &b->tissue;
    b->joint = grab((size_t)t->skin_count, 4);
    b->half = grab((size_t)t->skin_count, sizeof(bool));
    t->base = grab((size_t)t->skin_count * 3, 8);
    t->base_class = grab((size_t)t->skin_count, sizeof *t->base_class);
    t->tets = grab((size_t)t->triangle_count * 12, 4);
    t->tet_volume = grab((size_t)t->triangle_count * 3, 8);
    for (int32_t v = 0; v < t->skin_count; v++) {
        sup_vec3d foot = nearest_on_bones(chain, at(t->skin, v), &b->joint[v]);
        double thick = sup_v3_distance(at(t->skin, v), foot), middle = INFINITY;
        put(t->base, v, sup_v3_lerp(foot, at(t->skin, v), 0.4));
        for (int32_t k = 1; k < TUBE_BONES; k++)
            middle = fmin(middle, fabs(foot.x - chain[k]));
        t->base_class[v] = middle < 0.637 * thick ? SUP_BASE_FREE : SUP_BASE_BONE;
    }
    for (int32_t k = 0; k < t->triangle_count; k++) {
        sup_tissue_split(t->triangles + 3 * k, t->skin_count, t->tets + 12 * k);
        for (int32_t i = 0; i < 3; i++)
            t->tet_volume[3 * k + i] = fabs(sup_tissue_volume6(t, t->tets + 12 * k + 4 * i)) / 6.0;
    }
}

/* The tube's bones as a skeleton, and the foot points of the skin: for volume preservation. */
static void make_bones(body *b, const double chain[TUBE_BONES + 1])
{
    sup_context context = sup_context_resolve(NULL);
    sup_arena arena = sup_arena_create(&context.allocator);
    sup_volumetric_skeleton *s = sup_arena_alloc(&arena, 1, sizeof *s);
    sup_bone_segment *segments = sup_arena_alloc(&arena, TUBE_BONES, sizeof *segments);
    b->tissue.foot_points = grab((size_t)b->tissue.skin_count, sizeof *b->tissue.foot_points);
    if (s == NULL || segments == NULL) abort();
    for (int32_t k = 0; k < TUBE_BONES; k++)
        segments[k] = (sup_bone_segment){.joint = k,
                                         .child = k + 1 < TUBE_BONES ? k + 1 : -1,
                                         .node_from = k,
                                         .node_to = k + 1,
                                         .from = sup_v3(chain[k], 0.0, 0.0),
                                         .to = sup_v3(chain[k + 1], 0.0, 0.0)};
    for (int32_t v = 0; v < b->tissue.skin_count; v++) {
        sup_foot_point *foot = &b->tissue.foot_points[v];
        double x = nearest_on_bones(chain, at(b->tissue.skin, v), &foot->segment).x;
        foot->parameter = (x - chain[foot->segment]) / (chain[foot->segment + 1] - chain[foot->segment]);
    }
    *s = (sup_volumetric_skeleton){
        .segment_count = TUBE_BONES, .node_count = TUBE_BONES + 1, .segments = segments, .arena = arena};
    b->skeleton = s;
}

static void make_joints(body *b, int32_t count)
{
    b->joint_count = count;
    b->bind = grab((size_t)count, sizeof(sup_affine));
    b->inverse_bind = grab((size_t)count, sizeof(sup_affine));
    b->parent = grab((size_t)count, 4);
}

body body_tube(int32_t rings, int32_t segments, double scale)
{
    body b = {0};
    sup_tissue *t = &b.tissue;
    double length = 12.0, radius = 1.0;
    t->skin_count = rings * segments + 2;
    t->triangle_count = 2 * rings * segments;
    t->skin = grab((size_t)t->skin_count * 3, 8);
    t->triangles = grab((size_t)t->triangle_count * 3, 4);
    for (int32_t r = 0; r < rings; r++)
        for (int32_t s = 0; s < segments; s++) {
            double angle = 2.0 * 3.14159265358979323846 * s / segments, x = length * (r / (rings - 1.0) - 0.5);
            put(t->skin, r * segments + s,
                sup_v3(scale * x, scale * radius * cos(angle), scale * radius * sin(angle) * 0.9));
        }
    put(t->skin, rings * segments, sup_v3(-scale * (0.5 * length + 0.6), 0.0, 0.0));
    put(t->skin, rings * segments + 1, sup_v3(scale * (0.5 * length + 0.6), 0.0, 0.0));
    int32_t *to = t->triangles;
    for (int32_t s = 0; s < segments; s++) {
        int32_t next = (s + 1) % segments, end = (rings - 1) * segments;
        for (int32_t r = 0; r + 1 < rings; r++) {
            int32_t a = r * segments + s, c = r * segments + next;
            int32_t two[6] = {a, c, a + segments, c, c + segments, a + segments};
            memcpy(to, two, sizeof two);
            to += 6;
        }
        int32_t caps[6] = {rings * segments, next, s, rings * segments + 1, end + s, end + next};
        memcpy(to, caps, sizeof caps);
        to += 6;
    }
    double chain[TUBE_BONES + 1] = {-6.0 * scale, -3.0 * scale, 1.0 * scale, 6.0 * scale};
    make_joints(&b, TUBE_BONES);
    for (int32_t k = 0; k < TUBE_BONES; k++) {
        b.bind[k] =
            sup_affine_from_trs(sup_v3(chain[k], 0.0, 0.0), (sup_quatd){0.0, 0.0, 0.0, 1.0}, sup_v3(1.0, 1.0, 1.0));
        sup_affine_inverse(b.bind[k], &b.inverse_bind[k]);
        b.parent[k] = k - 1;
    }
    make_tissue(&b, chain);
    make_bones(&b, chain);
    return b;
}

body body_load(const char *mesh, const char *skeleton, const char *motion)
{
    body b = {0};
    sup_error error = {0};
    sup_load_def def = sup_default_load_def();
    def.skeleton = skeleton;
    if (sup_load(NULL, mesh, &def, &b.character, &error) != SUP_OK ||
        sup_load_motion(NULL, motion, NULL, b.character, NULL, &b.clip, &error) != SUP_OK ||
        sup_pose_create(NULL, b.character, &b.pose, &error) != SUP_OK ||
        sup_rig_create(NULL, b.character, NULL, &b.rig, &error) != SUP_OK ||
        sup_tissue_create(NULL, b.rig, NULL, NULL, &b.skeleton, &b.owned, NULL, &error) != SUP_OK)
        abort();
    b.tissue = *b.owned;
    make_joints(&b, b.rig->joint_count);
    for (int32_t k = 0; k < b.joint_count; k++) {
        b.bind[k] = sup_affine_from_float(b.rig->joint_bind[k]);
        b.inverse_bind[k] = sup_affine_from_float(b.rig->joint_inverse_bind[k]);
        b.parent[k] = b.rig->joint_parent[k];
    }
    b.joint = grab((size_t)b.tissue.skin_count, 4);
    b.half = grab((size_t)b.tissue.skin_count, sizeof(bool));
    for (int32_t v = 0; v < b.tissue.skin_count; v++) {
        b.half[v] = b.tissue.base_class[v] == SUP_BASE_SPHERE;
        b.joint[v] = b.half[v] ? b.skeleton->spheres[b.tissue.base_owner[v]].joint
                               : b.skeleton->segments[b.tissue.base_owner[v]].joint;
    }
    return b;
}

void body_free(body *b)
{
    sup_model_destroy(b->model);
    sup_pose_destroy(b->pose);
    sup_clip_destroy(b->clip);
    if (b->owned == NULL) {
        free(b->tissue.skin), free(b->tissue.base), free(b->tissue.triangles), free(b->tissue.tets);
        free(b->tissue.base_class), free(b->tissue.tet_volume), free(b->tissue.foot_points);
    }
    sup_tissue_destroy(b->owned);
    sup_skeleton_destroy(b->skeleton);
    sup_rig_destroy(b->rig);
    sup_character_destroy(b->character);
    free(b->joint), free(b->half), free(b->bind), free(b->inverse_bind), free(b->parent);
    memset(b, 0, sizeof *b);
}

double body_duration(const body *b)
{
    return b->clip != NULL ? (double)b->clip->end : 2.0;
}

void body_pose(const body *b, double time, sup_affine *motion)
{
    if (b->character != NULL) {
        sup_pose_sample(b->character, b->clip, time, b->pose);
        for (int32_t k = 0; k < b->joint_count; k++)
            motion[k] =
                sup_affine_multiply(sup_affine_from_float(b->pose->world[b->rig->joint_node[k]]), b->inverse_bind[k]);
        return;
    }
    /* Back and forth with abrupt changes of velocity, as between key poses. */
    double swing = fmod(time, 2.0) < 1.0 ? fmod(time, 1.0) : 1.0 - fmod(time, 1.0);
    motion[0] = sup_affine_identity();
    for (int32_t k = 1; k < b->joint_count; k++) {
        sup_quatd rotation = sup_quatd_from_axis_angle(sup_v3(0.1, 0.2, 1.0), k == 1 ? 1.2 * swing : -1.4 * swing);
        sup_vec3d joint = sup_affine_translation(b->bind[k]);
        sup_vec3d shift = sup_v3_sub(joint, sup_quatd_rotate(rotation, joint));
        motion[k] = sup_affine_multiply(motion[k - 1], sup_affine_from_trs(shift, rotation, sup_v3(1.0, 1.0, 1.0)));
    }
}

/* Half of the joint's rotation relative to its parent. */
static sup_affine half_turn(const body *b, const sup_affine *motion, int32_t joint)
{
    sup_quatd own, other;
    double stretch[9];
    sup_affine_polar(motion[joint], &own, stretch);
    sup_affine_polar(motion[b->parent[joint] >= 0 ? b->parent[joint] : joint], &other, stretch);
    sup_vec3d centre = sup_affine_translation(b->bind[joint]), to = sup_affine_point(motion[joint], centre);
    sup_quatd rotation = sup_quatd_slerp(own, other, 0.5);
    return sup_affine_from_trs(sup_v3_sub(to, sup_quatd_rotate(rotation, centre)), rotation, sup_v3(1.0, 1.0, 1.0));
}

void body_vertices(const body *b, double time, double *vertices)
{
    const sup_tissue *t = &b->tissue;
    sup_affine *motion = grab((size_t)b->joint_count, sizeof *motion);
    body_pose(b, time, motion);
    for (int32_t v = 0; v < t->skin_count; v++) {
        sup_affine m = b->half[v] ? half_turn(b, motion, b->joint[v]) : motion[b->joint[v]];
        put(vertices, v, sup_affine_point(m, at(t->skin, v)));
        put(vertices, t->skin_count + v, sup_affine_point(m, at(t->base, v)));
    }
    free(motion);
}

sup_result body_bind(body *b, const sup_context *context, const sup_system_def *def, sup_error *error)
{
    static const sup_method method = {.name = "solver-test", .version = 1};
    sup_context resolved = sup_context_resolve(context);
    sup_model_builder builder = {.allocator = resolved.allocator, .arrays = {.item_size = sizeof(sup_built_array)}};
    sup_model_header header = {0};
    sup_system_def own = *def;
    own.tissue = &b->tissue;
    own.skeleton = b->skeleton;
    sup_model *model = NULL;
    sup_result result = sup_system_bind(&resolved, &own, &builder, "system", error);
    if (result == SUP_OK) result = sup_model_pack(&resolved, &method, &header, &builder, &model, error);
    sup_model_builder_free(&builder);
    if (result != SUP_OK) return result;
    sup_model_destroy(b->model);
    b->model = model;
    return sup_system_open(model, "system", &b->system, error);
}

void body_anchors(const body *b, double time, float *anchors)
{
    double *vertices = grab((size_t)b->tissue.skin_count * 6, 8);
    body_vertices(b, time, vertices);
    for (int32_t a = 0; a < b->system.anchor_count; a++) {
        for (int32_t k = 0; k < 3; k++)
            anchors[4 * a + k] = (float)vertices[3 * b->system.anchor[a] + k];
        anchors[4 * a + 3] = 0.0f;
    }
    free(vertices);
}

void body_bones(const body *b, double time, float *bones)
{
    sup_affine *motion = grab((size_t)b->joint_count, sizeof *motion);
    body_pose(b, time, motion);
    for (int32_t p = 0; p < b->skeleton->segment_count; p++) {
        const sup_bone_segment *segment = &b->skeleton->segments[p];
        sup_v3_store(bones + 8 * p, sup_affine_point(motion[segment->joint], segment->from));
        sup_v3_store(bones + 8 * p + 4,
                     sup_affine_point(motion[segment->child >= 0 ? segment->child : segment->joint], segment->to));
    }
    free(motion);
}

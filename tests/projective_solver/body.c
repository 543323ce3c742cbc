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

/* Nearest point on any bone. */
static sup_vec3d nearest_on_bones(const body *b, sup_vec3d p, int32_t *bone)
{
    sup_vec3d best = p;
    double least = INFINITY;
    for (int32_t k = 0; k < b->bone_count; k++) {
        double t = sup_v3_segment_parameter(p, b->bones[k].from, b->bones[k].to);
        sup_vec3d q = sup_v3_lerp(b->bones[k].from, b->bones[k].to, t);
        if (sup_v3_distance(p, q) >= least) continue;
        least = sup_v3_distance(p, q);
        best = q;
        *bone = k;
    }
    return best;
}

/* Feet on the bones, evened out over the skin so that neighbours have neighbouring feet. */
static void smooth_feet(body *b, double *feet)
{
    const sup_tissue *t = &b->tissue;
    double *sum = grab((size_t)t->skin_count * 3, 8);
    int32_t *count = grab((size_t)t->skin_count, 4);
    for (int32_t round = 0; round < 30; round++) {
        memset(sum, 0, (size_t)t->skin_count * 24);
        memset(count, 0, (size_t)t->skin_count * 4);
        for (int32_t k = 0; k < t->triangle_count * 3; k++) {
            int32_t v = t->triangles[k], w = t->triangles[k - k % 3 + (k + 1) % 3];
            put(sum, v, sup_v3_add(at(sum, v), at(feet, w)));
            count[v]++;
        }
        for (int32_t v = 0; v < t->skin_count; v++) {
            if (count[v] == 0) continue;
            sup_vec3d mean = sup_v3_scale(at(sum, v), 1.0 / count[v]);
            put(feet, v, nearest_on_bones(b, sup_v3_lerp(at(feet, v), mean, 0.4), &b->bone[v]));
        }
    }
    free(sum), free(count);
}

/* Bases, classes and the split of every prism by the order of its vertices. */
static void make_tissue(body *b)
{
    sup_tissue *t = &b->tissue;
    double *feet = grab((size_t)t->skin_count * 3, 8);
    b->bone = grab((size_t)t->skin_count, 4);
    t->base = grab((size_t)t->skin_count * 3, 8);
    t->base_class = grab((size_t)t->skin_count, sizeof *t->base_class);
    t->tets = grab((size_t)t->triangle_count * 12, 4);
    for (int32_t v = 0; v < t->skin_count; v++)
        put(feet, v, nearest_on_bones(b, at(t->skin, v), &b->bone[v]));
    smooth_feet(b, feet);
    for (int32_t v = 0; v < t->skin_count; v++) {
        const body_bone *bone = &b->bones[b->bone[v]];
        sup_vec3d foot = at(feet, v);
        double thick = sup_v3_distance(at(t->skin, v), foot);
        put(t->base, v, sup_v3_lerp(foot, at(t->skin, v), 0.4));
        bool meets[2] = {false, false};
        for (int32_t k = 0; k < b->bone_count; k++) {
            if (k == b->bone[v]) continue;
            sup_vec3d ends[2] = {b->bones[k].from, b->bones[k].to};
            for (int32_t e = 0; e < 2; e++) {
                if (sup_v3_distance(ends[e], bone->from) <= 0.0) meets[0] = true;
                if (sup_v3_distance(ends[e], bone->to) <= 0.0) meets[1] = true;
            }
        }
        bool near = (meets[0] && sup_v3_distance(foot, bone->from) < 0.25 * thick) ||
                    (meets[1] && sup_v3_distance(foot, bone->to) < 0.25 * thick);
        t->base_class[v] = near ? SUP_BASE_FREE : SUP_BASE_BONE;
    }
    for (int32_t k = 0; k < t->triangle_count; k++) {
        int32_t v[3] = {t->triangles[3 * k], t->triangles[3 * k + 1], t->triangles[3 * k + 2]}, n = t->skin_count;
        for (int32_t i = 0; i < 3; i++)
            for (int32_t j = 0; j < 2; j++)
                if (v[j] > v[j + 1]) {
                    int32_t swap = v[j];
                    v[j] = v[j + 1];
                    v[j + 1] = swap;
                }
        int32_t tets[12] = {v[0], v[1], v[2], v[2] + n, v[0],     v[1],     v[1] + n, v[2] + n,
                            v[0], v[0] + n, v[1] + n, v[2] + n};
        memcpy(t->tets + 12 * k, tets, sizeof tets);
    }
    free(feet);
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
    static const double joints[4] = {-6.0, -3.0, 1.0, 6.0};
    b.joint_count = 4;
    b.bone_count = 3;
    b.chain = grab(4, 8);
    b.bones = grab(3, sizeof(body_bone));
    for (int32_t k = 0; k < 4; k++)
        b.chain[k] = scale * joints[k];
    for (int32_t k = 0; k < 3; k++)
        b.bones[k] = (body_bone){k, sup_v3(b.chain[k], 0.0, 0.0), sup_v3(b.chain[k + 1], 0.0, 0.0)};
    make_tissue(&b);
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
        sup_pose_create(NULL, b.character, &b.pose, &error) != SUP_OK)
        abort();
    const sup_character *c = b.character;
    sup_tissue *t = &b.tissue;
    t->skin_count = c->vertex_count;
    t->triangle_count = c->triangle_count;
    t->skin = grab((size_t)t->skin_count * 3, 8);
    t->triangles = grab((size_t)t->triangle_count * 3, 4);
    for (int32_t i = 0; i < t->skin_count * 3; i++)
        t->skin[i] = (double)c->positions[i];
    memcpy(t->triangles, c->triangles, (size_t)t->triangle_count * 12);
    b.joint_count = c->node_count;
    b.bones = grab((size_t)c->node_count, sizeof(body_bone));
    sup_pose_rest(c, b.pose);
    for (int32_t k = 0; k < c->node_count; k++) {
        int32_t parent = c->nodes[k].parent;
        if (parent < 0 || !c->nodes[k].is_joint || !c->nodes[parent].is_joint) continue;
        sup_vec3d from = sup_affine_translation(sup_affine_from_float(b.pose->world[parent]));
        sup_vec3d to = sup_affine_translation(sup_affine_from_float(b.pose->world[k]));
        if (sup_v3_distance(from, to) > 0.0) b.bones[b.bone_count++] = (body_bone){parent, from, to};
    }
    make_tissue(&b);
    return b;
}

void body_free(body *b)
{
    sup_model_destroy(b->model);
    sup_pose_destroy(b->pose);
    sup_clip_destroy(b->clip);
    sup_character_destroy(b->character);
    free(b->tissue.skin), free(b->tissue.base), free(b->tissue.triangles), free(b->tissue.tets);
    free(b->tissue.base_class), free(b->bones), free(b->bone), free(b->chain);
    memset(b, 0, sizeof *b);
}

double body_duration(const body *b)
{
    return b->clip != NULL ? (double)b->clip->end : 2.0;
}

void body_pose(const body *b, double time, sup_affine *motion)
{
    if (b->character != NULL) {
        sup_pose_rest(b->character, b->pose);
        for (int32_t k = 0; k < b->joint_count; k++)
            sup_affine_inverse(sup_affine_from_float(b->pose->world[k]), &motion[k]);
        sup_pose_sample(b->character, b->clip, time, b->pose);
        for (int32_t k = 0; k < b->joint_count; k++)
            motion[k] = sup_affine_multiply(sup_affine_from_float(b->pose->world[k]), motion[k]);
        return;
    }
    /* Back and forth with kinks, as between the key poses of a motion. */
    double swing = fabs(fmod(time, 2.0)) < 1.0 ? fmod(time, 1.0) : 1.0 - fmod(time, 1.0);
    motion[0] = sup_affine_identity();
    for (int32_t k = 1; k < b->joint_count; k++) {
        double angle = k == 1 ? 1.6 * swing : k == 2 ? -1.8 * swing : 0.0;
        sup_quatd turn = sup_quatd_from_axis_angle(sup_v3(0.1, 0.2, 1.0), angle);
        sup_vec3d joint = sup_v3(b->chain[k], 0.0, 0.0);
        sup_vec3d shift = sup_v3_sub(joint, sup_quatd_rotate(turn, joint));
        motion[k] = sup_affine_multiply(motion[k - 1], sup_affine_from_trs(shift, turn, sup_v3(1.0, 1.0, 1.0)));
    }
}

void body_vertices(const body *b, double time, double *vertices)
{
    const sup_tissue *t = &b->tissue;
    sup_affine *motion = grab((size_t)b->joint_count, sizeof *motion);
    body_pose(b, time, motion);
    for (int32_t v = 0; v < t->skin_count; v++) {
        int32_t joint = b->bones[b->bone[v]].joint;
        put(vertices, v, sup_affine_point(motion[joint], at(t->skin, v)));
        put(vertices, t->skin_count + v, sup_affine_point(motion[joint], at(t->base, v)));
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
    sup_model *model = NULL;
    sup_result result = sup_system_bind(&resolved, &own, &builder, "s.", error);
    if (result == SUP_OK) result = sup_model_pack(&resolved, &method, &header, &builder, &model, error);
    sup_model_builder_free(&builder);
    if (result != SUP_OK) return result;
    sup_model_destroy(b->model);
    b->model = model;
    return sup_system_open(model, "s.", &b->system, error);
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

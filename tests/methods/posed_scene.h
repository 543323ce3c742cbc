/* posed_scene.h - a built-in character, moved joint by joint and skinned by any method. */
#ifndef SUP_TESTS_POSED_SCENE_H
#define SUP_TESTS_POSED_SCENE_H

#include "base/base.h"
#include "math/affine.h"
#include "supple/supple.h"
#include "test.h"

typedef struct posed_scene {
    sup_character *character;
    sup_rig *rig;
    sup_pose *pose;
} posed_scene;

static inline posed_scene posed_scene_open(const char *name, double resolution, sup_weight_source weights)
{
    posed_scene s = {0};
    sup_error error;
    sup_rig_def def = sup_default_rig_def();
    def.weights = weights;
    CHECK_OK(sup_scene_create(NULL, name, resolution, &s.character, &error), error);
    CHECK_OK(sup_rig_create(NULL, s.character, &def, &s.rig, &error), error);
    CHECK_OK(sup_pose_create(NULL, s.character, &s.pose, &error), error);
    return s;
}

static inline void posed_scene_close(posed_scene *s)
{
    sup_pose_destroy(s->pose);
    sup_rig_destroy(s->rig);
    sup_character_destroy(s->character);
}

static inline int32_t posed_scene_node(const posed_scene *s, const char *name)
{
    for (int32_t n = 0; n < s->character->node_count; n++)
        if (strcmp(s->character->nodes[n].name, name) == 0) return n;
    CHECK_MSG(false, "no node %s", name);
    return -1;
}

static inline sup_vec3d posed_scene_place(const posed_scene *s, int32_t node)
{
    return sup_affine_translation(sup_affine_from_float(s->pose->world[node]));
}

/* Moves a node and all below it by a map of the world. */
static inline void posed_scene_move(posed_scene *s, int32_t node, sup_affine map)
{
    for (int32_t n = 0; n < s->character->node_count; n++) {
        int32_t above = n;
        while (above >= 0 && above != node)
            above = s->character->nodes[above].parent;
        if (above == node)
            s->pose->world[n] = sup_affine_to_float(sup_affine_multiply(map, sup_affine_from_float(s->pose->world[n])));
    }
}

static inline sup_affine map_about(sup_vec3d c, sup_affine linear)
{
    sup_affine map = linear;
    sup_vec3d t = sup_v3_sub(c, sup_affine_vector(linear, c));
    map.m[3] = t.x, map.m[7] = t.y, map.m[11] = t.z;
    return map;
}

/* Turns a node and all below it about an axis through the node. */
static inline void posed_scene_turn(posed_scene *s, const char *name, sup_vec3d axis, double degrees)
{
    int32_t node = posed_scene_node(s, name);
    sup_quatd q = sup_quatd_from_axis_angle(axis, degrees * 0.017453292519943295);
    posed_scene_move(s, node,
                     map_about(posed_scene_place(s, node), sup_affine_from_trs(sup_v3(0, 0, 0), q, sup_v3(1, 1, 1))));
}

/* Positions of all vertices in the pose, and normals if not NULL; malloc. */
static inline float *posed_scene_skin(const posed_scene *s, const char *method, const double *values, float **normals)
{
    size_t count = (size_t)s->rig->vertex_count * 3;
    float *positions = calloc(count, sizeof *positions);
    if (normals != NULL) *normals = calloc(count, sizeof **normals);
    sup_model *model = NULL;
    sup_instance *instance = NULL;
    sup_error error;
    sup_bind_def def = {.values = values};
    CHECK_OK(sup_bind(NULL, sup_method_find(method), s->rig, &def, &model, &error), error);
    CHECK_OK(sup_instance_create(NULL, model, NULL, &instance, &error), error);
    sup_skin_out out = {.positions = positions, .normals = normals != NULL ? *normals : NULL};
    CHECK_EQ(sup_instance_step(instance, s->pose, 1.0f / 30.0f, &out), SUP_OK);
    sup_instance_destroy(instance);
    sup_model_destroy(model);
    return positions;
}

/* Largest distance between a vertex and its wanted position, in sizes of the character. */
static inline double largest_distance(const posed_scene *s, const float *got, const float *wanted)
{
    double largest = 0.0;
    for (int32_t v = 0; v < s->rig->vertex_count; v++) {
        double d = sup_v3_distance(sup_v3_load(got + 3 * (int64_t)v), sup_v3_load(wanted + 3 * (int64_t)v));
        largest = d > largest || isnan(d) ? d : largest;
    }
    return largest / (double)s->rig->size;
}

/* Enclosed volume of the skin; closed surfaces only. */
static inline double skin_volume(const posed_scene *s, const float *positions)
{
    double sum = 0.0;
    for (int32_t t = 0; t < s->rig->skin_triangle_count; t++) {
        sup_vec3d c[3];
        for (int32_t k = 0; k < 3; k++)
            c[k] = sup_v3_load(positions + 3 * (int64_t)s->rig->skin_to_vertex[s->rig->skin_triangles[3 * t + k]]);
        sum += sup_v3_dot(c[0], sup_v3_cross(c[1], c[2])) / 6.0;
    }
    return sum;
}

#endif

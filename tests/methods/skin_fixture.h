/* skin_fixture.h - synthetic rigs for tests and benchmarks of skinning: plain data without loading or rigging. */
#ifndef SUP_TESTS_SKIN_FIXTURE_H
#define SUP_TESTS_SKIN_FIXTURE_H

#include "base/base.h"
#include "math/affine.h"
#include "supple/deform.h"

#include <stdlib.h>

typedef struct skin_fixture {
    sup_character character;
    sup_primitive part;
    sup_node *nodes;
    int32_t *node_order;
    sup_rig rig;
    int32_t *joint_node, *joint_parent, *influence_first, *influence_joint;
    sup_mat34 *joint_bind, *joint_inverse_bind;
    float *positions, *normals, *tangents, *influence_weight;
    sup_mat34 primitive_bind;
    sup_morph *morphs;
    float *morph_data;
    sup_pose pose;
} skin_fixture;

/* [-1, 1) */
static inline double fixture_signed(sup_random *random)
{
    return sup_random_unit(random) * 2.0 - 1.0;
}

static inline sup_vec3d fixture_vector(sup_random *random)
{
    double x = fixture_signed(random), y = fixture_signed(random);
    return sup_v3(x, y, fixture_signed(random));
}

static inline sup_vec3d fixture_direction(sup_random *random)
{
    sup_vec3d v = fixture_vector(random);
    while (sup_v3_dot(v, v) < 0.01)
        v = fixture_vector(random);
    return sup_v3_unit_or(v, sup_v3(1, 0, 0));
}

static inline sup_quatd fixture_rotation(sup_random *random)
{
    sup_vec3d axis = fixture_direction(random);
    return sup_quatd_from_axis_angle(axis, 3.1 * fixture_signed(random));
}

/* Memory and counts; joint j is at node j + 1, node 0 is no joint. All joints start at the origin, all vertices have
 * influence_count influences on joint 0. */
static inline skin_fixture fixture_create(int32_t vertex_count, int32_t joint_count, int32_t influence_count,
                                          int32_t morph_count)
{
    skin_fixture f = {0};
    size_t vertices = (size_t)vertex_count, joints = (size_t)joint_count, morphs = (size_t)morph_count;
    f.nodes = calloc(joints + 1, sizeof *f.nodes);
    f.node_order = calloc(joints + 1, sizeof *f.node_order);
    f.joint_node = calloc(joints, sizeof *f.joint_node);
    f.joint_parent = calloc(joints, sizeof *f.joint_parent);
    f.joint_bind = calloc(joints, sizeof *f.joint_bind);
    f.joint_inverse_bind = calloc(joints, sizeof *f.joint_inverse_bind);
    f.positions = calloc(vertices * 3, sizeof *f.positions);
    f.normals = calloc(vertices * 3, sizeof *f.normals);
    f.tangents = calloc(vertices * 4, sizeof *f.tangents);
    f.influence_first = calloc(vertices + 1, sizeof *f.influence_first);
    f.influence_joint = calloc(vertices * (size_t)influence_count, sizeof *f.influence_joint);
    f.influence_weight = calloc(vertices * (size_t)influence_count, sizeof *f.influence_weight);
    f.morphs = calloc(morphs + 1, sizeof *f.morphs);
    f.morph_data = calloc(morphs * vertices * 6 + 1, sizeof *f.morph_data);
    f.pose.world = calloc(joints + 1, sizeof *f.pose.world);
    f.pose.morph_weights = calloc(morphs + 1, sizeof *f.pose.morph_weights);
    for (int32_t v = 0; v <= vertex_count; v++)
        f.influence_first[v] = v * influence_count;
    for (int32_t n = 0; n <= joint_count; n++) {
        f.nodes[n] = (sup_node){"", -1, sup_transform_identity(), n > 0};
        f.node_order[n] = n;
        f.pose.world[n] = sup_mat34_identity();
    }
    for (int32_t j = 0; j < joint_count; j++) {
        f.joint_node[j] = j + 1;
        f.joint_parent[j] = -1;
        f.joint_bind[j] = f.joint_inverse_bind[j] = sup_mat34_identity();
    }
    for (int32_t m = 0; m < morph_count; m++) {
        float *data = f.morph_data + (size_t)m * vertices * 6;
        f.morphs[m] = (sup_morph){"", 0, m, 0.0f, data, data + vertices * 3};
    }
    f.primitive_bind = sup_mat34_identity();
    f.part = (sup_primitive){.name = "", .vertex_count = vertex_count};
    f.pose.node_count = joint_count + 1;
    f.pose.morph_weight_count = morph_count;
    f.character.node_count = joint_count + 1;
    f.character.primitive_count = 1;
    f.character.vertex_count = vertex_count;
    f.character.morph_count = f.character.morph_weight_count = morph_count;
    f.rig.vertex_count = vertex_count;
    f.rig.joint_count = joint_count;
    f.rig.max_influences = influence_count;
    return f;
}

/* The rig with its pointers set: the fixture may have moved since it was created. */
static inline const sup_rig *fixture_rig(skin_fixture *f)
{
    f->character.nodes = f->nodes;
    f->character.node_order = f->node_order;
    f->character.primitives = &f->part;
    f->character.morphs = f->morphs;
    f->character.positions = f->positions;
    f->character.normals = f->normals;
    f->rig.character = &f->character;
    f->rig.joint_node = f->joint_node;
    f->rig.joint_parent = f->joint_parent;
    f->rig.joint_bind = f->joint_bind;
    f->rig.joint_inverse_bind = f->joint_inverse_bind;
    f->rig.positions = f->positions;
    f->rig.normals = f->normals;
    f->rig.tangents = f->tangents;
    f->rig.influence_first = f->influence_first;
    f->rig.influence_joint = f->influence_joint;
    f->rig.influence_weight = f->influence_weight;
    f->rig.primitive_bind = &f->primitive_bind;
    return &f->rig;
}

static inline void fixture_destroy(skin_fixture *f)
{
    void *all[] = {f->nodes,
                   f->node_order,
                   f->joint_node,
                   f->joint_parent,
                   f->joint_bind,
                   f->influence_first,
                   f->influence_joint,
                   f->positions,
                   f->normals,
                   f->tangents,
                   f->morphs,
                   f->influence_weight,
                   f->morph_data,
                   f->pose.world,
                   f->pose.morph_weights,
                   f->joint_inverse_bind};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

static inline void fixture_set_bind(skin_fixture *f, int32_t joint, sup_affine bind)
{
    sup_affine inverse;
    sup_affine_inverse(bind, &inverse);
    f->joint_bind[joint] = sup_affine_to_float(bind);
    f->joint_inverse_bind[joint] = sup_affine_to_float(inverse);
    f->pose.world[joint + 1] = f->joint_bind[joint];
}

/* Sorts the influences of a vertex by weight and normalises their sum, as a rig does. */
static inline void fixture_settle_weights(skin_fixture *f, int32_t vertex)
{
    int32_t first = f->influence_first[vertex], count = f->influence_first[vertex + 1] - first;
    int32_t *joints = f->influence_joint + first;
    float *weights = f->influence_weight + first;
    double sum = 0.0;
    for (int32_t i = 0; i < count; i++) {
        float weight = weights[i];
        int32_t joint = joints[i], k = i;
        sum += (double)weight;
        for (; k > 0 && weights[k - 1] < weight; k--) {
            weights[k] = weights[k - 1];
            joints[k] = joints[k - 1];
        }
        weights[k] = weight;
        joints[k] = joint;
    }
    for (int32_t i = 0; i < count; i++)
        weights[i] = (float)((double)weights[i] / sum);
}

/* Random vertices with unit normals and tangents at right angles, random joints, 1 to influence_count influences. */
static inline skin_fixture fixture_random(uint64_t seed, int32_t vertex_count, int32_t joint_count,
                                          int32_t influence_count, int32_t morph_count)
{
    skin_fixture f = fixture_create(vertex_count, joint_count, influence_count, morph_count);
    sup_random random = {seed};
    for (int32_t j = 0; j < joint_count; j++) {
        sup_vec3d place = fixture_vector(&random);
        fixture_set_bind(&f, j, sup_affine_from_trs(place, fixture_rotation(&random), sup_v3(1, 1, 1)));
    }
    int32_t used = 0;
    for (int32_t v = 0; v < vertex_count; v++) {
        sup_vec3d normal = fixture_direction(&random);
        sup_v3_store(f.positions + 3 * v, fixture_vector(&random));
        sup_v3_store(f.normals + 3 * v, normal);
        sup_vec3d side = sup_v3_cross(normal, fixture_direction(&random));
        sup_v3_store(f.tangents + 4 * v, sup_v3_unit_or(side, sup_v3(1, 0, 0)));
        f.tangents[4 * v + 3] = sup_random_unit(&random) < 0.5 ? -1.0f : 1.0f;
        int32_t count = 1 + (int32_t)(sup_random_unit(&random) * influence_count);
        if (count > joint_count) count = joint_count;
        int32_t start = (int32_t)(sup_random_unit(&random) * joint_count);
        f.influence_first[v] = used;
        for (int32_t i = 0; i < count; i++) {
            f.influence_joint[used + i] = (start + i) % joint_count;
            f.influence_weight[used + i] = (float)(0.05 + sup_random_unit(&random));
        }
        used += count;
        f.influence_first[v + 1] = used;
        fixture_settle_weights(&f, v);
    }
    for (int32_t i = 0; i < morph_count * vertex_count * 6; i++)
        f.morph_data[i] = sup_random_unit(&random) < 0.3 ? (float)(0.2 * fixture_signed(&random)) : 0.0f;
    return f;
}

typedef enum pose_kind { POSE_RIGID, POSE_SCALED, POSE_AFFINE, POSE_MIRRORED, POSE_FLAT } pose_kind;

static inline void fixture_pose(skin_fixture *f, uint64_t seed, pose_kind kind)
{
    sup_random random = {seed};
    for (int32_t n = 0; n < f->pose.node_count; n++) {
        sup_vec3d scale = sup_v3(1, 1, 1), place = fixture_vector(&random);
        if (kind != POSE_RIGID) scale = sup_v3(0.5 + sup_random_unit(&random), 0.7, 0.5 + sup_random_unit(&random));
        if (kind == POSE_MIRRORED && n % 2 == 0) scale.x = -scale.x;
        if (kind == POSE_FLAT && n % 3 != 0) scale.y = 0.0;
        if (kind == POSE_FLAT && n % 3 == 2) scale.x = scale.z = 0.0;
        sup_affine world = sup_affine_from_trs(place, fixture_rotation(&random), scale);
        for (int32_t i = 0; i < 11 && kind == POSE_AFFINE; i++)
            if (i % 4 != 3) world.m[i] += 0.3 * fixture_signed(&random);
        f->pose.world[n] = sup_affine_to_float(world);
    }
    for (int32_t m = 0; m < f->pose.morph_weight_count; m++)
        f->pose.morph_weights[m] = m % 3 == 2 ? 0.0f : (float)fixture_signed(&random);
}

/* A character-like skin: limbs of joints with tubes of vertices around them in order, exactly four influences each:
 * the nearest bones, weighted by distance. Joints parent to child along the limbs; a posed fixture. */
static inline skin_fixture fixture_limbs(int32_t vertex_count, int32_t joint_count)
{
    enum { LIMB = 10 };
    skin_fixture f = fixture_create(vertex_count, joint_count, 4, 0);
    sup_random random = {7};
    sup_vec3d *place = calloc((size_t)joint_count, sizeof *place), *along = calloc((size_t)joint_count, sizeof *along);
    for (int32_t j = 0; j < joint_count; j++) {
        int32_t limb = j / LIMB, limbs = (joint_count + LIMB - 1) / LIMB;
        double angle = 6.283185307179586 * limb / limbs;
        along[j] = sup_v3(cos(angle), sin(angle), 0.2 * (limb % 3));
        place[j] = sup_v3_scale(along[j], 0.2 + 0.1 * (j % LIMB));
        f.joint_parent[j] = j % LIMB != 0 ? j - 1 : -1;
        fixture_set_bind(&f, j, sup_affine_from_trs(place[j], fixture_rotation(&random), sup_v3(1, 1, 1)));
    }
    for (int32_t v = 0; v < vertex_count; v++) {
        double at = (double)joint_count * v / vertex_count, turn = 0.37 * v;
        int32_t j = (int32_t)at;
        sup_vec3d side = sup_v3_unit_or(sup_v3_cross(along[j], sup_v3(0, 0, 1)), sup_v3(1, 0, 0));
        sup_vec3d up = sup_v3_cross(along[j], side);
        sup_vec3d normal = sup_v3_madd(sup_v3_scale(side, cos(turn)), sin(turn), up);
        sup_vec3d p = sup_v3_madd(sup_v3_madd(place[j], 0.1 * (at - j), along[j]), 0.05, normal);
        sup_v3_store(f.positions + 3 * v, p);
        sup_v3_store(f.normals + 3 * v, normal);
        sup_v3_store(f.tangents + 4 * v, sup_v3_unit_or(along[j], sup_v3(1, 0, 0)));
        f.tangents[4 * v + 3] = 1.0f;
        double nearest[4] = {1e9, 1e9, 1e9, 1e9};
        int32_t *joints = f.influence_joint + 4 * v;
        for (int32_t k = 0; k < joint_count; k++) {
            double d = sup_v3_distance(p, sup_v3_madd(place[k], 0.05, along[k]));
            int32_t slot = 4;
            for (; slot > 0 && d < nearest[slot - 1]; slot--)
                if (slot < 4) {
                    nearest[slot] = nearest[slot - 1];
                    joints[slot] = joints[slot - 1];
                }
            if (slot < 4) {
                nearest[slot] = d;
                joints[slot] = k;
            }
        }
        for (int32_t i = 0; i < 4; i++)
            f.influence_weight[4 * v + i] = (float)(1.0 / (nearest[i] * nearest[i] * nearest[i]));
        fixture_settle_weights(&f, v);
    }
    for (int32_t j = 0; j < joint_count; j++) { /* each limb curls about its joints */
        sup_affine turn =
            sup_affine_from_trs(sup_v3(0, 0, 0), sup_quatd_from_axis_angle(sup_v3(0.2, 0.3, 1), 0.25), sup_v3(1, 1, 1));
        sup_affine local = sup_affine_from_float(f.joint_bind[j]), inverse;
        if (f.joint_parent[j] >= 0) {
            sup_affine_inverse(sup_affine_from_float(f.joint_bind[j - 1]), &inverse);
            local = sup_affine_multiply(sup_affine_from_float(f.pose.world[j]), sup_affine_multiply(inverse, local));
        }
        f.pose.world[j + 1] = sup_affine_to_float(sup_affine_multiply(local, turn));
    }
    free(place);
    free(along);
    return f;
}

#endif

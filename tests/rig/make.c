/* make.c - characters for tests, and reference skinning in double. */
#include "rig/make.h"

make_data *make_begin(void)
{
    static make_data data;
    memset(&data, 0, sizeof data);
    sup_character *c = &data.c;
    c->name = "test";
    c->nodes = data.nodes;
    c->bones = data.bones;
    c->skins = data.skins;
    c->primitives = data.primitives;
    c->positions = data.positions;
    c->triangles = data.triangles;
    c->influence_first = data.influence_first;
    c->influence_bone = data.influence_bone;
    c->influence_weight = data.influence_weight;
    return &data;
}

int32_t make_node(make_data *d, const char *name, int32_t parent, float x, float y, float z)
{
    sup_node *node = &d->nodes[d->c.node_count];
    node->name = name;
    node->parent = parent;
    node->rest = sup_transform_identity();
    node->rest.translation = (sup_vec3){x, y, z};
    return d->c.node_count++;
}

sup_affine make_world(const make_data *d, int32_t node)
{
    sup_affine world = sup_affine_identity();
    for (; node >= 0; node = d->nodes[node].parent)
        world = sup_affine_multiply(sup_affine_from_transform(d->nodes[node].rest), world);
    return world;
}

int32_t make_skin(make_data *d, int32_t first, int32_t count)
{
    d->skins[d->c.skin_count] = (sup_skin){"skin", d->c.bone_count, count};
    for (int32_t i = 0; i < count; i++) {
        sup_affine inverse;
        CHECK(sup_affine_inverse(make_world(d, first + i), &inverse));
        d->bones[d->c.bone_count++] = (sup_bone){first + i, sup_affine_to_float(inverse)};
    }
    return d->c.skin_count++;
}

int32_t make_primitive(make_data *d, const char *name, int32_t node, int32_t skin)
{
    d->primitives[d->c.primitive_count] = (sup_primitive){.name = name,
                                                          .node = node,
                                                          .mesh = d->c.primitive_count,
                                                          .skin = skin,
                                                          .material = -1,
                                                          .vertex_first = d->c.vertex_count,
                                                          .triangle_first = d->c.triangle_count};
    return d->c.primitive_count++;
}

int32_t make_vertex(make_data *d, float x, float y, float z)
{
    float *p = d->positions + 3 * d->c.vertex_count;
    p[0] = x;
    p[1] = y;
    p[2] = z;
    d->primitives[d->c.primitive_count - 1].vertex_count++;
    d->influence_first[d->c.vertex_count + 1] = d->influence_first[d->c.vertex_count];
    return d->c.vertex_count++;
}

void make_triangle(make_data *d, int32_t a, int32_t b, int32_t c)
{
    int32_t *t = d->triangles + 3 * d->c.triangle_count++;
    t[0] = a;
    t[1] = b;
    t[2] = c;
    d->primitives[d->c.primitive_count - 1].triangle_count++;
}

void make_influence(make_data *d, int32_t bone, float weight)
{
    int32_t k = d->influence_first[d->c.vertex_count]++;
    d->influence_bone[k] = bone;
    d->influence_weight[k] = weight;
}

static void tube_influences(make_data *d, float t)
{
    make_influence(d, 0, 1.0f - t);
    make_influence(d, 1, t);
}

make_data *make_tube(float height)
{
    enum { COLUMNS = 12, ROWS = 9 };
    make_data *d = make_begin();
    int32_t root = make_node(d, "root", -1, 0, 0, 0);
    make_node(d, "tip", root, 0, height / 2, 0);
    int32_t mesh = make_node(d, "mesh", -1, 5, 6, 7); /* a skinned mesh ignores the transform of its node */
    int32_t skin = make_skin(d, 0, 2);
    make_primitive(d, "tube", mesh, skin);
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k <= COLUMNS; k++) {
            double angle = 6.283185307179586 * (k % COLUMNS) / COLUMNS, t = (double)r / (ROWS - 1);
            make_vertex(d, (float)cos(angle), (float)(t * (double)height), (float)sin(angle));
            tube_influences(d, (float)t);
        }
    for (int r = 0; r + 1 < ROWS; r++)
        for (int k = 0; k < COLUMNS; k++) {
            int32_t a = r * (COLUMNS + 1) + k, b = a + COLUMNS + 1;
            make_triangle(d, a, b, b + 1);
            make_triangle(d, a, b + 1, a + 1);
        }
    int32_t bottom = make_vertex(d, 0, 0, 0);
    tube_influences(d, 0.0f);
    int32_t top = make_vertex(d, 0, height, 0);
    tube_influences(d, 1.0f);
    for (int k = 0; k < COLUMNS; k++) {
        int32_t last = (ROWS - 1) * (COLUMNS + 1) + k;
        make_triangle(d, bottom, k, k + 1);
        make_triangle(d, top, last + 1, last);
    }
    return d;
}

sup_character *make_build(make_data *d)
{
    sup_character *character = NULL;
    sup_error error = {0};
    CHECK_OK(sup_character_create(NULL, &d->c, &character, &error), error);
    return character;
}

sup_rig *make_rig(const sup_character *character, const sup_rig_def *def)
{
    sup_rig *rig = NULL;
    sup_error error = {0};
    CHECK_OK(sup_rig_create(NULL, character, def, &rig, &error), error);
    return rig;
}

const sup_defect *make_find(const sup_defect *defects, int32_t count, sup_defect_id id)
{
    for (int32_t i = 0; i < count; i++)
        if (defects[i].id == id) return &defects[i];
    return NULL;
}

static double random_pm(sup_random *random)
{
    return 2.0 * sup_random_unit(random) - 1.0;
}

/* Rest pose with a random rotation, translation and scale at every node. */
static void random_pose(const sup_character *c, double size, sup_random *random, sup_affine *world)
{
    for (int32_t i = 0; i < c->node_count; i++) {
        int32_t node = c->node_order[i], parent = c->nodes[node].parent;
        sup_affine local = sup_affine_from_transform(c->nodes[node].rest);
        sup_vec3d axis = sup_v3(random_pm(random), random_pm(random), random_pm(random));
        double s = 1.0 + 0.1 * random_pm(random);
        sup_quatd turn = sup_quatd_from_axis_angle(axis, 0.5 * random_pm(random));
        sup_vec3d shift = sup_v3(0, 0, 0);
        if (parent < 0) shift = sup_v3_scale(axis, 0.1 * size);
        local = sup_affine_multiply(local, sup_affine_from_trs(shift, turn, sup_v3(s, 1.0, 1.0)));
        world[node] = parent < 0 ? local : sup_affine_multiply(world[parent], local);
    }
}

/* Sum of the file's usable weights per joint, cleaned like those of the rig. */
static sup_vec3d skin_by_file(const sup_character *c, int32_t primitive, int32_t v, const sup_affine *world)
{
    sup_vec3d x = sup_v3_load(c->positions + 3 * (size_t)v), sum = sup_v3(0, 0, 0);
    if (c->primitives[primitive].skin < 0) return sup_affine_point(world[c->primitives[primitive].node], x);
    double total = 0.0;
    for (int32_t k = c->influence_first[v]; k < c->influence_first[v + 1]; k++) {
        double w = (double)c->influence_weight[k];
        if (!isfinite(w) || w <= 0.0) continue;
        const sup_bone *bone = &c->bones[c->influence_bone[k]];
        sup_vec3d y =
            sup_affine_point(world[bone->node], sup_affine_point(sup_affine_from_float(bone->inverse_bind), x));
        sum = sup_v3_madd(sum, w, y);
        total += w;
    }
    return total > 0.0 ? sup_v3_scale(sum, 1.0 / total) : sup_v3(NAN, NAN, NAN);
}

static sup_vec3d skin_by_rig(const sup_rig *rig, int32_t v, const sup_affine *world)
{
    sup_vec3d x = sup_v3_load(rig->positions + 3 * (size_t)v), sum = sup_v3(0, 0, 0);
    for (int32_t k = rig->influence_first[v]; k < rig->influence_first[v + 1]; k++) {
        int32_t j = rig->influence_joint[k];
        sup_vec3d y = sup_affine_point(sup_affine_from_float(rig->joint_inverse_bind[j]), x);
        sum = sup_v3_madd(sum, (double)rig->influence_weight[k], sup_affine_point(world[rig->joint_node[j]], y));
    }
    return sum;
}

double make_skinning_error(const sup_character *c, const sup_rig *rig, int poses, uint64_t seed)
{
    sup_affine *world = calloc((size_t)c->node_count, sizeof *world);
    sup_random random = {seed};
    double worst = 0.0;
    for (int i = 0; i < poses; i++) {
        random_pose(c, (double)rig->size, &random, world);
        for (int32_t p = 0; p < c->primitive_count; p++)
            for (int32_t v = c->primitives[p].vertex_first;
                 v < c->primitives[p].vertex_first + c->primitives[p].vertex_count; v++) {
                sup_vec3d expected = skin_by_file(c, p, v, world), found = skin_by_rig(rig, v, world);
                double difference = sup_v3_distance(expected, found);
                /* A vertex without usable weights has no reference in the file. */
                if (sup_v3_finite(expected) && !(difference <= worst)) worst = difference;
            }
    }
    free(world);
    return worst / (double)rig->size;
}

static void check_skeleton(const sup_character *c, const sup_rig *rig)
{
    for (int32_t j = 0; j < rig->joint_count; j++) {
        CHECK(rig->joint_node[j] >= 0 && rig->joint_node[j] < c->node_count);
        CHECK(rig->joint_parent[j] >= -1 && rig->joint_parent[j] < j);
        sup_affine bind = sup_affine_from_float(rig->joint_bind[j]);
        sup_affine both = sup_affine_multiply(bind, sup_affine_from_float(rig->joint_inverse_bind[j]));
        for (int i = 0; i < 12; i++)
            CHECK_NEAR(both.m[i], i % 5 == 0 ? 1.0 : 0.0, 1e-4 * (i % 4 == 3 ? (double)rig->size : 1.0));
        for (int i = 0; i < 3; i++) {
            CHECK_NEAR(rig->bone_head[3 * j + i], bind.m[4 * i + 3], 1e-6 * (double)rig->size);
            CHECK(isfinite(rig->bone_tail[3 * j + i]));
        }
    }
}

static void check_vertices(const sup_rig *rig)
{
    int32_t most = 0;
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        CHECK(sup_v3_finite(sup_v3_load(rig->positions + 3 * (size_t)v)));
        CHECK_NEAR(sup_v3_length(sup_v3_load(rig->normals + 3 * (size_t)v)), 1.0, 1e-5);
        int32_t first = rig->influence_first[v], end = rig->influence_first[v + 1];
        double sum = 0.0;
        CHECK(end > first);
        if (end - first > most) most = end - first;
        for (int32_t k = first; k < end; k++) {
            CHECK(rig->influence_joint[k] >= 0 && rig->influence_joint[k] < rig->joint_count);
            CHECK(rig->influence_weight[k] > 0.0f);
            CHECK(k == first || rig->influence_weight[k] <= rig->influence_weight[k - 1]);
            for (int32_t other = first; other < k; other++)
                CHECK(rig->influence_joint[other] != rig->influence_joint[k]);
            sum += (double)rig->influence_weight[k];
        }
        CHECK_NEAR(sum, 1.0, 1e-6);
    }
    CHECK_EQ(rig->max_influences, most);
    for (int32_t v = 0; v < rig->vertex_count && rig->tangents != NULL; v++) {
        const float *t = rig->tangents + 4 * (size_t)v;
        double length = sup_v3_length(sup_v3_load(t));
        CHECK(length == 0.0 ? t[3] == 0.0f : fabs(length - 1.0) < 1e-5 && fabsf(t[3]) == 1.0f);
    }
}

static void check_skin(const sup_character *c, const sup_rig *rig)
{
    int32_t next = 0;
    for (int32_t p = 0; p < c->primitive_count; p++) {
        CHECK((rig->primitive_role[p] == SUP_PRIMITIVE_PROP) == (c->primitives[p].skin < 0));
        for (int32_t v = c->primitives[p].vertex_first;
             v < c->primitives[p].vertex_first + c->primitives[p].vertex_count; v++) {
            int32_t s = rig->vertex_to_skin[v];
            if (rig->primitive_role[p] == SUP_PRIMITIVE_PROP) {
                CHECK_EQ(s, -1);
                continue;
            }
            CHECK(s >= 0 && s < rig->skin_vertex_count && s <= next);
            if (s == next) CHECK_EQ(rig->skin_to_vertex[next++], v); /* by first occurrence */
            double apart = sup_v3_distance(sup_v3_load(rig->positions + 3 * (size_t)v),
                                           sup_v3_load(rig->skin_positions + 3 * (size_t)s));
            CHECK(apart <= 1.0001e-6 * (double)rig->size);
        }
    }
    CHECK_EQ(next, rig->skin_vertex_count);
    for (int32_t t = 0; t < rig->skin_triangle_count; t++) {
        const int32_t *corner = rig->skin_triangles + 3 * (size_t)t;
        const int32_t *source = c->triangles + 3 * (size_t)rig->skin_triangle_source[t];
        CHECK(corner[0] != corner[1] && corner[1] != corner[2] && corner[2] != corner[0]);
        CHECK_EQ(corner[0], rig->vertex_to_skin[source[0]]);
        CHECK_EQ(corner[1] + corner[2], rig->vertex_to_skin[source[1]] + rig->vertex_to_skin[source[2]]);
        CHECK(rig->skin_component[corner[0]] == rig->skin_component[corner[1]] && rig->skin_component[corner[0]] >= 0);
        CHECK(rig->skin_component[corner[0]] < rig->component_count);
    }
    CHECK(rig->main_component >= -1 && rig->main_component < rig->component_count);
}

void make_check_rig(const sup_character *c, const sup_rig *rig)
{
    CHECK(rig->character == c);
    CHECK_EQ(rig->vertex_count, c->vertex_count);
    check_skeleton(c, rig);
    check_vertices(rig);
    check_skin(c, rig);
    for (int32_t i = 0; i < rig->defect_count; i++) {
        CHECK(rig->defects[i].count > 0 && rig->defects[i].message[0] != '\0');
        CHECK(rig->defects[i].severity != SUP_SEVERITY_FATAL);
    }
}

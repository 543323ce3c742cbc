/* fixture.c - characters and their tissue for the tests of the projective method. */
#include "projective/fixture.h"
#include "scene.h"

fixture fixture_rig(const char *name, double resolution)
{
    fixture f = {0};
    sup_error error = {0};
    if (strncmp(name, "scene:", 6) == 0)
        f.character = test_scene(name + 6, resolution);
    else
        CHECK_OK(sup_load(NULL, test_asset(name), NULL, &f.character, &error), error);
    CHECK_OK(sup_rig_create(NULL, f.character, NULL, &f.rig, &error), error);
    return f;
}

sup_result fixture_make(fixture *f, const sup_tissue_def *def, sup_error *error)
{
    sup_tissue_destroy(f->tissue);
    sup_skeleton_destroy(f->skeleton);
    f->tissue = NULL;
    f->skeleton = NULL;
    return sup_tissue_create(NULL, f->rig, NULL, def, &f->skeleton, &f->tissue, &f->report, error);
}

fixture fixture_tissue(const char *name, double resolution, const sup_tissue_def *def)
{
    fixture f = fixture_rig(name, resolution);
    sup_error error = {0};
    CHECK_OK(fixture_make(&f, def, &error), error);
    return f;
}

void fixture_destroy(fixture *f)
{
    sup_tissue_destroy(f->tissue);
    sup_skeleton_destroy(f->skeleton);
    sup_rig_destroy(f->rig);
    sup_character_destroy(f->character);
}

enum { MAX_VERTICES = 4096, MAX_TRIANGLES = 8192, MAX_JOINTS = 64 };

typedef struct tube_data {
    float positions[3 * MAX_VERTICES];
    int32_t triangles[3 * MAX_TRIANGLES];
    int32_t influence_first[MAX_VERTICES + 1], influence_bone[MAX_VERTICES];
    float influence_weight[MAX_VERTICES];
    sup_node nodes[MAX_JOINTS];
    sup_bone bones[MAX_JOINTS];
    int32_t vertices, faces;
} tube_data;

static void add_vertex(tube_data *t, const tube_def *d, double x, double y, double z)
{
    CHECK(t->vertices < MAX_VERTICES);
    t->positions[3 * t->vertices] = (float)(d->scale * x);
    t->positions[3 * t->vertices + 1] = (float)(d->scale * y);
    t->positions[3 * t->vertices + 2] = d->flat ? 0.0f : (float)(d->scale * z);
    int32_t best = 0;
    double at = -INFINITY;
    for (int32_t j = 0; j < d->joint_count; j++)
        if (d->joints[j].used && d->joints[j].x <= x + 1e-9 && d->joints[j].x > at) {
            at = d->joints[j].x;
            best = j;
        }
    for (int32_t j = 0; at == -INFINITY && j < d->joint_count; j++)
        if (d->joints[j].used) {
            best = j;
            break;
        }
    t->influence_bone[t->vertices] = best;
    t->influence_weight[t->vertices] = 1.0f;
    t->vertices++;
    t->influence_first[t->vertices] = t->vertices;
}

static void add_triangle(tube_data *t, int32_t a, int32_t b, int32_t c)
{
    CHECK(t->faces < MAX_TRIANGLES);
    t->triangles[3 * t->faces] = a;
    t->triangles[3 * t->faces + 1] = b;
    t->triangles[3 * t->faces++ + 2] = c;
}

static void build_tube(tube_data *t, const tube_def *d)
{
    for (int32_t r = 0; r < d->rings; r++)
        for (int32_t s = 0; s < d->sides; s++) {
            double angle = 6.283185307179586 * s / d->sides;
            add_vertex(t, d, d->length * r / (d->rings - 1), d->radius * cos(angle), d->radius * sin(angle));
        }
    for (int32_t r = 0; r + 1 < d->rings; r++)
        for (int32_t s = 0; s < d->sides; s++) {
            int32_t a = r * d->sides + s, b = r * d->sides + (s + 1) % d->sides;
            add_triangle(t, a, b, a + d->sides);
            add_triangle(t, b, b + d->sides, a + d->sides);
        }
    if (!d->open) {
        int32_t last = (d->rings - 1) * d->sides, left = t->vertices;
        add_vertex(t, d, -0.5 * d->radius, 0, 0);
        add_vertex(t, d, d->length + 0.5 * d->radius, 0, 0);
        for (int32_t s = 0; s < d->sides; s++) {
            add_triangle(t, left, (s + 1) % d->sides, s);
            add_triangle(t, left + 1, last + s, last + (s + 1) % d->sides);
        }
    }
    if (d->bad_faces) {
        int32_t middle = d->rings / 2 * d->sides, tip = t->vertices;
        add_vertex(t, d, 0.5 * d->length, 1.5 * d->radius, 0.1 * d->radius);
        add_triangle(t, middle, middle + 1, tip);
        add_vertex(t, d, 0.5 * d->length, 1.2 * d->radius, 0.3 * d->radius); /* a fin with a hair-thin triangle */
        add_vertex(t, d, 0.5 * d->length, (1.2 + 1e-5) * d->radius, 0.3 * d->radius);
        add_triangle(t, middle + 1, tip + 1, tip + 2);
    }
}

fixture fixture_tube(const tube_def *given)
{
    static tube_data t;
    memset(&t, 0, sizeof t);
    tube_def d = *given;
    if (d.scale == 0.0) d.scale = 1.0;
    build_tube(&t, &d);
    for (int32_t j = 0; j < d.joint_count; j++) {
        const tube_joint *joint = &d.joints[j];
        tube_joint origin = {0}, parent = joint->parent < 0 ? origin : d.joints[joint->parent];
        t.nodes[j] = (sup_node){.name = joint->name, .parent = joint->parent, .rest = sup_transform_identity()};
        t.nodes[j].rest.translation =
            (sup_vec3){(float)(d.scale * (joint->x - parent.x)), (float)(d.scale * (joint->y - parent.y)),
                       (float)(d.scale * (joint->z - parent.z))};
        t.bones[j] = (sup_bone){j, sup_mat34_identity()};
        t.bones[j].inverse_bind.m[3] = (float)(-d.scale * joint->x);
        t.bones[j].inverse_bind.m[7] = (float)(-d.scale * joint->y);
        t.bones[j].inverse_bind.m[11] = (float)(-d.scale * joint->z);
    }
    t.nodes[d.joint_count] = (sup_node){.name = "mesh", .parent = -1, .rest = sup_transform_identity()};
    sup_skin skin = {"skin", 0, d.joint_count};
    sup_primitive part = {
        .name = "tube", .node = d.joint_count, .material = -1, .vertex_count = t.vertices, .triangle_count = t.faces};
    sup_character c = {.name = "tube",
                       .node_count = d.joint_count + 1,
                       .nodes = t.nodes,
                       .bone_count = d.joint_count,
                       .bones = t.bones,
                       .skin_count = 1,
                       .skins = &skin,
                       .primitive_count = 1,
                       .primitives = &part,
                       .vertex_count = t.vertices,
                       .positions = t.positions,
                       .triangle_count = t.faces,
                       .triangles = t.triangles,
                       .influence_first = t.influence_first,
                       .influence_bone = t.influence_bone,
                       .influence_weight = t.influence_weight};
    fixture f = {0};
    sup_error error = {0};
    CHECK_OK(sup_character_create(NULL, &c, &f.character, &error), error);
    CHECK_OK(sup_rig_create(NULL, f.character, NULL, &f.rig, &error), error);
    return f;
}

#include "capsule.h"

#include <math.h>
#include <string.h>

/* Radius 14 cm, height 1.7 m, round ends. `inward` shrinks it. */
static void capsule_point(int ring, int side, double inward, double *p)
{
    double along = (ring + 0.5) / CAPSULE_RINGS, angle = 6.283185307179586 * (side + 0.5 * (ring % 2)) / CAPSULE_SIDES;
    double y = 0.85 - 0.85 * cos(3.141592653589793 * along);
    double end = fmin(y, 1.7 - y), radius = end < 0.14 ? sqrt(0.14 * 0.14 - (0.14 - end) * (0.14 - end)) : 0.14;
    double centre = fmin(fmax(y, 0.14), 1.56);
    p[0] = inward * radius * sin(angle);
    p[1] = centre + inward * (y - centre);
    p[2] = inward * radius * cos(angle);
}

static void capsule_surface(double inward, double *positions)
{
    for (int ring = 0; ring < CAPSULE_RINGS; ring++)
        for (int side = 0; side < CAPSULE_SIDES; side++)
            capsule_point(ring, side, inward, positions + 3 * (ring * CAPSULE_SIDES + side));
    double *low = positions + 3 * (CAPSULE_VERTICES - 2), *high = low + 3;
    low[0] = low[2] = high[0] = high[2] = 0.0;
    low[1] = 0.14 - 0.14 * inward;
    high[1] = 1.56 + 0.14 * inward;
}

static void capsule_triangles(int32_t *t)
{
    int32_t count = 0;
    for (int32_t ring = 0; ring < CAPSULE_RINGS - 1; ring++)
        for (int32_t side = 0; side < CAPSULE_SIDES; side++) {
            int32_t next = (side + 1) % CAPSULE_SIDES, shift = ring % 2;
            int32_t a = ring * CAPSULE_SIDES + side, b = ring * CAPSULE_SIDES + next;
            int32_t c = a + CAPSULE_SIDES, d = b + CAPSULE_SIDES;
            int32_t faces[2][2][3] = {{{a, b, c}, {b, d, c}}, {{a, d, c}, {a, b, d}}};
            memcpy(t + count, faces[shift], sizeof faces[shift]);
            count += 6;
        }
    int32_t low = CAPSULE_VERTICES - 2, high = CAPSULE_VERTICES - 1, last = (CAPSULE_RINGS - 1) * CAPSULE_SIDES;
    for (int32_t side = 0; side < CAPSULE_SIDES; side++) {
        int32_t next = (side + 1) % CAPSULE_SIDES;
        int32_t caps[6] = {low, next, side, high, last + side, last + next};
        memcpy(t + count, caps, sizeof caps);
        count += 6;
    }
}

static void capsule_maps(capsule *c)
{
    for (int v = 0; v < CAPSULE_VERTICES; v++) {
        const double *s = c->skin + 3 * v;
        double up = fmin(fmax((s[1] - 0.75) / 0.2, 0.0), 1.0);
        c->excluded[v] = s[1] > 1.45;
        if (c->excluded[v]) {
            memcpy(c->muscle + 3 * v, s, 3 * sizeof(double));
            memcpy(c->bone + 3 * v, s, 3 * sizeof(double));
        }
        c->group[v] = s[1] > 1.1 ? SUP_GROUP_CHEST : (s[1] > 0.8 ? SUP_GROUP_ABDOMEN : SUP_GROUP_UPPER_LEG);
        c->region[v] = s[1] > 1.1 ? SUP_REGION_CHEST : (s[1] > 0.7 ? SUP_REGION_BELLY : SUP_REGION_LEGS);
        c->crotch[v] = s[1] > 0.68 && s[1] < 0.75;
        c->thickness[v] = c->excluded[v] ? 0.0 : (c->group[v] == SUP_GROUP_ABDOMEN ? 0.01 : 0.04);
        c->influence_first[v] = 2 * v;
        c->influence_joint[2 * v] = 0;
        c->influence_joint[2 * v + 1] = 1;
        c->influence_weight[2 * v] = 1.0 - up;
        c->influence_weight[2 * v + 1] = up;
        c->bone_joint[v] = up < 0.5 ? 0 : 1;
    }
    c->influence_first[CAPSULE_VERTICES] = 2 * CAPSULE_VERTICES;
}

void capsule_make(capsule *c)
{
    static char names[5][8] = {"hips", "chest", "head", "femur", "rectus"};
    static const int32_t tetrahedron[12] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
    static const double joints[9] = {0.0, 0.2, 0.0, 0.0, 0.85, 0.0, 0.0, 1.5, 0.0};
    memset(c, 0, sizeof *c);
    capsule_triangles(c->triangles);
    capsule_surface(1.0, c->skin);
    capsule_surface(0.75, c->muscle);
    capsule_surface(0.4, c->bone);
    capsule_maps(c);
    memcpy(c->joints, joints, sizeof joints);
    for (int i = 0; i < 3; i++) {
        c->parents[i] = i - 1;
        c->joint_names[i] = names[i];
    }
    for (int p = 0; p < 2; p++) {
        c->organ_names[p] = names[3 + p];
        c->organ_is_muscle[p] = (unsigned char)p;
        c->organ_joint[p] = p == 0 ? 0 : -1;
        c->organ_vertex[p + 1] = 4 * (p + 1);
        c->organ_triangle[p + 1] = 4 * (p + 1);
        for (int k = 0; k < 12; k++) {
            c->detail_triangles[12 * p + k] = 4 * p + tetrahedron[k];
            c->detail[12 * p + k] = k % 3 == 1 ? 0.6 + 0.3 * p : 0.0;
        }
        for (int k = 0; k < 3; k++)
            c->detail[12 * p + 3 * (k + 1) + k] += 0.03;
        for (int k = 0; k < 4; k++)
            c->detail[12 * p + 3 * k + 2] += 0.08 * p;
    }
    c->anatomy = (sup_anatomy){.vertex_count = CAPSULE_VERTICES,
                               .triangle_count = CAPSULE_TRIANGLES,
                               .joint_count = 3,
                               .triangles = c->triangles,
                               .skin = c->skin,
                               .muscle = c->muscle,
                               .bone = c->bone,
                               .excluded = c->excluded,
                               .thickness = c->thickness,
                               .group = c->group,
                               .region = c->region,
                               .crotch = c->crotch,
                               .joint_names = c->joint_names,
                               .parents = c->parents,
                               .joints = c->joints,
                               .influence_first = c->influence_first,
                               .influence_joint = c->influence_joint,
                               .influence_weight = c->influence_weight,
                               .bone_joint = c->bone_joint,
                               .organ_count = 2,
                               .detail_vertex_count = 8,
                               .detail_triangle_count = 8,
                               .organ_names = c->organ_names,
                               .organ_is_muscle = c->organ_is_muscle,
                               .organ_joint = c->organ_joint,
                               .organ_vertex = c->organ_vertex,
                               .organ_triangle = c->organ_triangle,
                               .detail = c->detail,
                               .detail_triangles = c->detail_triangles,
                               .sex = SUP_SEX_MALE};
}

void capsule_skin(const capsule *c, double width, double height, double depth, double *skin)
{
    for (int v = 0; v < CAPSULE_VERTICES; v++) {
        skin[3 * v] = width * c->skin[3 * v];
        skin[3 * v + 1] = height * c->skin[3 * v + 1];
        skin[3 * v + 2] = depth * c->skin[3 * v + 2];
    }
}

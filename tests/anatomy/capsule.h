/* A person as one capsule: skin, muscles and bones as surfaces around the Y axis, two bones, an excluded head. */
#ifndef TEST_ANATOMY_CAPSULE_H
#define TEST_ANATOMY_CAPSULE_H

#include "supple/anatomy.h"

enum { CAPSULE_RINGS = 24, CAPSULE_SIDES = 16, CAPSULE_VERTICES = CAPSULE_RINGS * CAPSULE_SIDES + 2 };
enum { CAPSULE_TRIANGLES = 2 * CAPSULE_SIDES * CAPSULE_RINGS };

typedef struct capsule {
    sup_anatomy anatomy; /* its arrays are those below */
    int32_t triangles[3 * CAPSULE_TRIANGLES];
    double skin[3 * CAPSULE_VERTICES], muscle[3 * CAPSULE_VERTICES], bone[3 * CAPSULE_VERTICES];
    double thickness[CAPSULE_VERTICES], joints[9], influence_weight[2 * CAPSULE_VERTICES];
    unsigned char excluded[CAPSULE_VERTICES], group[CAPSULE_VERTICES], region[CAPSULE_VERTICES],
        crotch[CAPSULE_VERTICES];
    int32_t parents[3], influence_first[CAPSULE_VERTICES + 1], influence_joint[2 * CAPSULE_VERTICES];
    int32_t bone_joint[CAPSULE_VERTICES];
    char *joint_names[3];
    /* One detailed bone, a tetrahedron, and one muscle. */
    char *organ_names[2];
    unsigned char organ_is_muscle[2];
    int32_t organ_joint[2], organ_vertex[3], organ_triangle[3], detail_triangles[24];
    double detail[24];
} capsule;

void capsule_make(capsule *c);
/* The skin with its width, height and depth multiplied. */
void capsule_skin(const capsule *c, double width, double height, double depth, double *skin);

#endif

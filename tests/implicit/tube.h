/* tube.h - a tube of two bones with capsules as fields, for tests of tracking without the rest of the method. */
#ifndef SUP_TESTS_IMPLICIT_TUBE_H
#define SUP_TESTS_IMPLICIT_TUBE_H

#include "bind/model.h"
#include "methods/implicit/track_work.h"

enum { TUBE_JOINTS = 2 };

typedef struct tube {
    int32_t vertex_count, triangle_count;
    float *positions;
    int32_t *triangles;
    sup_model_builder builder;
    sup_arena arena;
    sup_track_built built;
    sup_track track;
    void *state;
    sup_affine joints[TUBE_JOINTS]; /* current */
    sup_affine field[TUBE_JOINTS];  /* pose to bind, of the capsules */
    bool contact;                   /* where both values are above 0.5, the contact surface between them is 0.5 */
    bool other_limbs;               /* each capsule is a separate limb; else both are one */
    float boxes[2][12];
    int32_t field_joint[TUBE_JOINTS];
    sup_track_input input;
    sup_track_report report;
} tube;

/* Rings of `around` vertices along x from -1/2 to 1/2, rounded ends; the joint is in the middle. `blend`: width of the
 * weight transition; 0: rigid. */
void tube_open(tube *t, int32_t along, int32_t around, float blend);
void tube_close(tube *t);
/* One sub-frame to a bend of the second bone by `angle` radians about z, with everything moved by `root`. */
void tube_bend(tube *t, double angle, sup_affine root);
/* From straight to `angle` in equal sub-frames, at a fixed root. */
void tube_bend_in(tube *t, double angle, int subframes);
/* Value of the field at a point, in the pose of the last sub-frame. */
double tube_value(const tube *t, const float *p, double gradient[3]);
double tube_energy(const tube *t);

#endif

/* fixture.h - characters and their tissue for the tests of the projective method. */
#ifndef SUP_TESTS_PROJECTIVE_FIXTURE_H
#define SUP_TESTS_PROJECTIVE_FIXTURE_H

#include "tissue/tissue.h"
#include "supple/supple.h"
#include "test.h"

typedef struct fixture {
    sup_character *character;
    sup_rig *rig;
    sup_volumetric_skeleton *skeleton;
    sup_tissue *tissue;
    sup_tissue_report report;
} fixture;

/* Character and rig only; a path of an asset, or "scene:NAME". */
fixture fixture_rig(const char *name, double resolution);
/* The same with its tissue; fails the test on an error. */
fixture fixture_tissue(const char *name, double resolution, const sup_tissue_def *def);
/* Tissue of f->rig; the result of sup_tissue_create. */
sup_result fixture_make(fixture *f, const sup_tissue_def *def, sup_error *error);
void fixture_destroy(fixture *f);

/* A tube along x from 0 to `length`, closed at both ends, with the given joints. Each vertex belongs to the listed
 * joint (uses[j] true) whose x is the largest one not above its own, or to the first. */
typedef struct tube_joint {
    const char *name;
    int32_t parent;
    double x, y, z; /* world */
    bool used;
} tube_joint;
typedef struct tube_def {
    double length, radius, scale;
    int32_t rings, sides;
    const tube_joint *joints;
    int32_t joint_count;
    bool open;      /* no caps */
    bool bad_faces; /* a fin on an edge that has two triangles, and slivers */
    bool flat;      /* all z = 0 */
} tube_def;
fixture fixture_tube(const tube_def *given);

#endif

/* make.h - small characters for the tests of the rig, as arrays that a test may modify before it creates the rig. */
#ifndef SUP_TESTS_RIG_MAKE_H
#define SUP_TESTS_RIG_MAKE_H

#include "base/base.h"
#include "math/affine.h"
#include "supple/rig.h"

#include "test.h"

enum { MAKE_MOST = 4096 };

/* Arrays of a character under construction, with fixed capacities. */
typedef struct make_data {
    sup_character c;
    sup_node nodes[64];
    sup_bone bones[64];
    sup_skin skins[8];
    sup_primitive primitives[8];
    float positions[3 * MAKE_MOST], normals[3 * MAKE_MOST];
    int32_t triangles[3 * MAKE_MOST];
    int32_t influence_first[MAKE_MOST + 1], influence_bone[4 * MAKE_MOST];
    float influence_weight[4 * MAKE_MOST];
} make_data;

make_data *make_begin(void); /* one static instance, cleared */
int32_t make_node(make_data *d, const char *name, int32_t parent, float x, float y, float z);
/* A skin over nodes [first, first + count) with inverse binds from the rest pose. */
int32_t make_skin(make_data *d, int32_t first, int32_t count);
int32_t make_primitive(make_data *d, const char *name, int32_t node, int32_t skin);
int32_t make_vertex(make_data *d, float x, float y, float z); /* of the last primitive */
void make_triangle(make_data *d, int32_t a, int32_t b, int32_t c);
void make_influence(make_data *d, int32_t bone, float weight); /* of the last vertex */
sup_affine make_world(const make_data *d, int32_t node);

/* A closed tube of radius 1 along y from 0 to `height` around joints at y = 0 and height / 2, with a seam: the first
 * and the last column of vertices have the same positions. Weights blend linearly; 12 columns, 9 rows and 2 caps. */
make_data *make_tube(float height);
enum { MAKE_TUBE_VERTICES = 9 * 13 + 2, MAKE_TUBE_WELDED = 9 * 12 + 2, MAKE_TUBE_TRIANGLES = 8 * 12 * 2 + 24 };

sup_character *make_build(make_data *d);
sup_rig *make_rig(const sup_character *character, const sup_rig_def *def);
const sup_defect *make_find(const sup_defect *defects, int32_t count, sup_defect_id id);

/* Checks all invariants of rig.h. */
void make_check_rig(const sup_character *c, const sup_rig *rig);

/* Skins every vertex with the data of the file and with the rig in random poses; returns the largest difference
 * relative to the character's size. */
double make_skinning_error(const sup_character *c, const sup_rig *rig, int poses, uint64_t seed);

#endif

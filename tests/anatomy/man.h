/* man.h - a man made of capsules: skin, bones, muscles and joints around one skeleton. */
#ifndef SUP_TESTS_ANATOMY_MAN_H
#define SUP_TESTS_ANATOMY_MAN_H

#include "supple/anatomy.h"

typedef struct capsule_man {
    sup_anatomy_def def; /* everything except progress */
    double *skin_positions;
    int32_t *skin_triangles;
    sup_anatomy_organ organs[2]; /* bones, muscles */
    double *detail[2];
    int32_t *detail_triangles[2];
} capsule_man;

/* `cell` is the edge length of the skin's triangles, metres. */
void capsule_man_create(capsule_man *man, double cell);
void capsule_man_free(capsule_man *man);

#endif

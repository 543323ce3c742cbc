/* people.h - a small shape space for tests: the built-in human at its lowest resolution, deformed linearly by a few
 * modes, with some of its joints. Created once. */
#ifndef SUP_TESTS_ANATOMY_PEOPLE_H
#define SUP_TESTS_ANATOMY_PEOPLE_H

#include "supple/anatomy.h"

enum { PEOPLE_BODIES = 16, PEOPLE_MODES = 4 };

const sup_shapes *people_shapes(void);
const sup_composition *people_composition(void);

#endif

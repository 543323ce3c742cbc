/* scene.h - built-in characters for tests: each is made once a program, every caller gets a copy of its own. */
#ifndef SUP_TESTS_SCENE_H
#define SUP_TESTS_SCENE_H

#include "supple/scenes.h"

/* The test fails when there is no such scene. The caller destroys it. */
sup_character *test_scene(const char *name, double resolution);

#endif

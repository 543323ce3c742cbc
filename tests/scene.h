/* scene.h - characters for tests: the built-in ones, each made once a program, and the names of those that are files; and an
 * allocator that refuses. */
#ifndef SUP_TESTS_SCENE_H
#define SUP_TESTS_SCENE_H

#include "supple/scenes.h"

/* The test fails when there is no such scene. The caller destroys it. */
sup_character *test_scene(const char *name, double resolution);

/* Every character of the assets, as test_asset takes it. */
enum { TEST_CHARACTERS = 28 };
extern const char *const test_characters[TEST_CHARACTERS];

/* Refuses its `fail_at`-th allocation, counted from 0, and counts what is open. */
typedef struct failing_allocator {
    int calls, fail_at, open;
} failing_allocator;
sup_context test_failing_context(failing_allocator *counter);

#endif

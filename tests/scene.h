/* scene.h - characters for tests: built-in scenes, each built once per program, and the names of asset files; an
 * allocator that fails. */
#ifndef SUP_TESTS_SCENE_H
#define SUP_TESTS_SCENE_H

#include "supple/scenes.h"

/* The test fails when there is no such scene. The caller destroys the character. */
sup_character *test_scene(const char *name, double resolution);

/* Every character of the assets, as a path for test_asset. */
enum { TEST_CHARACTERS = 28 };
extern const char *const test_characters[TEST_CHARACTERS];

/* Fails the `fail_at`-th allocation, counted from 0, and counts live allocations. */
typedef struct failing_allocator {
    int calls, fail_at, open;
} failing_allocator;
sup_context test_failing_context(failing_allocator *counter);

#endif

/* read_text.h - loads small files from text, for the tests of the readers. */
#ifndef SUP_TESTS_LOAD_READ_TEXT_H
#define SUP_TESTS_LOAD_READ_TEXT_H

#include "supple/load.h"
#include "test.h"

/* The character of a small file; the test fails when it cannot be read. */
static inline sup_character *read_good(const char *name, const char *text, size_t size)
{
    sup_character *character = NULL;
    sup_error error = {0};
    CHECK_OK(sup_load_memory(NULL, name, (sup_bytes){text, size}, NULL, &character, &error), error);
    CHECK(character != NULL);
    return character;
}

/* A small file must fail with `id` and, when line > 0, with that line in `where`; no character may be returned. */
static inline void check_rejected(const char *name, const char *text, size_t size, const char *id, int line)
{
    sup_character *character = NULL;
    sup_error error = {0};
    sup_result result = sup_load_memory(NULL, name, (sup_bytes){text, size}, NULL, &character, &error);
    CHECK_MSG(result != SUP_OK, "loaded without an error, expected %s", id);
    CHECK(character == NULL);
    CHECK_MSG(strcmp(error.id, id) == 0, "id %s, expected %s: %s (%s)", error.id, id, error.message, error.where);
    CHECK_EQ(error.result, result);
    if (line <= 0) return;
    char location[32];
    snprintf(location, sizeof location, ":%d", line);
    size_t length = strlen(error.where), tail = strlen(location);
    CHECK_MSG(length >= tail && strcmp(error.where + length - tail, location) == 0, "where %s, expected line %d: %s",
              error.where, line, error.message);
}

#define GOOD(name, text) read_good(name, text, strlen(text))
#define CHECK_REJECTED(name, text, id, line) check_rejected(name, text, strlen(text), id, line)

/* Every prefix of a file must load or fail without a crash; sanitizers do the checking. */
static inline void check_all_prefixes(const char *name, const char *text, size_t size)
{
    for (size_t length = 0; length < size; length++) {
        char *copy = malloc(length + 1); /* heap block of exact size: sanitizers detect reads past it */
        sup_character *character = NULL;
        CHECK(copy != NULL);
        memcpy(copy, text, length);
        if (sup_load_memory(NULL, name, (sup_bytes){copy, length}, NULL, &character, NULL) == SUP_OK)
            sup_character_destroy(character);
        else
            CHECK(character == NULL);
        free(copy);
    }
}

/* Twice the signed area of all triangles about the z axis: the area of a flat polygon, whatever its triangulation. */
static inline double area_z(const sup_character *c)
{
    double sum = 0.0;
    for (int32_t t = 0; t < c->triangle_count; t++) {
        const float *a = c->positions + 3 * c->triangles[3 * t], *b = c->positions + 3 * c->triangles[3 * t + 1],
                    *d = c->positions + 3 * c->triangles[3 * t + 2];
        sum += (double)((b[0] - a[0]) * (d[1] - a[1]) - (b[1] - a[1]) * (d[0] - a[0]));
    }
    return sum;
}

/* The same with absolute areas: equal to area_z only when no triangle is inverted. */
static inline double area_z_absolute(const sup_character *c)
{
    double sum = 0.0;
    for (int32_t t = 0; t < c->triangle_count; t++) {
        const float *a = c->positions + 3 * c->triangles[3 * t], *b = c->positions + 3 * c->triangles[3 * t + 1],
                    *d = c->positions + 3 * c->triangles[3 * t + 2];
        sum += fabs((double)((b[0] - a[0]) * (d[1] - a[1]) - (b[1] - a[1]) * (d[0] - a[0])));
    }
    return sum;
}

#endif

/* read_text.h - small files from text in the tests of the readers. */
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

/* The refusal of a small file: id, and the line in `where` when line > 0. Nothing may be made. */
static inline void check_refused(const char *name, const char *text, size_t size, const char *id, int line)
{
    sup_character *character = NULL;
    sup_error error = {0};
    sup_result result = sup_load_memory(NULL, name, (sup_bytes){text, size}, NULL, &character, &error);
    CHECK_MSG(result != SUP_OK, "read without complaint, expected %s", id);
    CHECK(character == NULL);
    CHECK_MSG(strcmp(error.id, id) == 0, "id %s, expected %s: %s (%s)", error.id, id, error.message, error.where);
    CHECK_EQ(error.result, result);
    if (line <= 0) return;
    char place[32];
    snprintf(place, sizeof place, ":%d", line);
    size_t length = strlen(error.where), tail = strlen(place);
    CHECK_MSG(length >= tail && strcmp(error.where + length - tail, place) == 0, "where %s, expected line %d: %s",
              error.where, line, error.message);
}

#define GOOD(name, text) read_good(name, text, strlen(text))
#define REFUSED(name, text, id, line) check_refused(name, text, strlen(text), id, line)

/* Every beginning of a file must be read or refused without a crash; what sanitizers see is the check. */
static inline void check_all_beginnings(const char *name, const char *text, size_t size)
{
    for (size_t length = 0; length < size; length++) {
        char *copy = malloc(length + 1); /* on the heap and of that size: reading past it is seen */
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

/* The same with the areas taken without sign: equal to area_z only when no triangle is turned over. */
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

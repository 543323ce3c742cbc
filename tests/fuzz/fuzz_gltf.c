/* Any bytes into the glTF reader. Referenced files do not exist; an accepted character must satisfy its invariants. */
#include "load/document.h"
#include "load/read.h"
#include "supple/anatomy.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sup_result read_nothing(void *user, const char *path, const sup_allocator *allocator, void **data, size_t *size,
                               sup_error *error)
{
    SUP_UNUSED(user);
    SUP_UNUSED(allocator);
    SUP_UNUSED(data);
    SUP_UNUSED(size);
    return sup_fail(error, SUP_ERROR_IO, "fuzz", path, "Other files do not exist.");
}

/* Reads every byte that the writers read. */
static unsigned touch(const void *bytes, size_t size)
{
    unsigned sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += ((const unsigned char *)bytes)[i];
    return sum;
}

static void touch_character(const sup_character *c)
{
    size_t vertices = (size_t)c->vertex_count;
    volatile unsigned sum = touch(c->positions, vertices * 12) + touch(c->triangles, (size_t)c->triangle_count * 12);
    size_t influences = (size_t)c->influence_first[c->vertex_count];
    sum += touch(c->influence_bone, influences * 4) + touch(c->influence_weight, influences * 4);
    if (c->normals != NULL) sum += touch(c->normals, vertices * 12);
    if (c->tangents != NULL) sum += touch(c->tangents, vertices * 16);
    if (c->texcoords != NULL) sum += touch(c->texcoords, vertices * 8);
    sum += touch(c->document->json.data, c->document->json.size);
    for (int32_t i = 0; i < c->document->view_count; i++)
        sum += touch(c->document->views[i].data, c->document->views[i].size);
    for (int32_t i = 0; i < c->document->image_count; i++)
        sum += touch(c->document->images[i].data, c->document->images[i].size);
    SUP_UNUSED(sum);
}

/* Layers and extras that resemble a fitted body are read as a body or rejected with a message. */
static void read_body(const sup_character *character)
{
    sup_error error = {0};
    sup_body *body = NULL;
    sup_result result = sup_body_from_character(NULL, character, &body, &error);
    if (result != SUP_OK && (body != NULL || error.id[0] == '\0' || error.message[0] == '\0')) abort();
    sup_body_destroy(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sup_context context = sup_context_resolve(NULL);
    char *copy = malloc(size + 1); /* a zero follows the data, as after a file */
    if (copy == NULL) return 0;
    if (size > 0) memcpy(copy, data, size);
    copy[size] = '\0';
    sup_read_input input = {&context, "fuzz.glb", {copy, size}, {read_nothing, NULL}};
    sup_error error = {0};
    sup_character *character = NULL;
    sup_result result = sup_read_gltf(&input, &character, &error);
    free(copy);
    if (result == SUP_OK) {
        touch_character(character);
        read_body(character);
    }
    if (result != SUP_OK && (character != NULL || error.id[0] == '\0' || error.message[0] == '\0')) abort();
    sup_character_destroy(character);
    return 0;
}

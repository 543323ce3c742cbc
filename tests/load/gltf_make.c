#include "gltf_make.h"

#include "test.h"

gltf_make *gltf_begin(void)
{
    static gltf_make made;
    memset(&made, 0, sizeof made);
    return &made;
}

int gltf_add_view(gltf_make *m, const void *data, size_t size, const char *extra)
{
    char text[512];
    m->binary_size = (m->binary_size + 3) / 4 * 4;
    CHECK(m->binary_size + size <= sizeof m->binary);
    snprintf(text, sizeof text, "%s{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%zu%s}",
             m->view_count > 0 ? "," : "", m->binary_size, size, extra);
    if (size > 0) memcpy(m->binary + m->binary_size, data, size);
    m->binary_size += size;
    CHECK(strlen(m->views) + strlen(text) < sizeof m->views);
    strcat(m->views, text);
    return m->view_count++;
}

int gltf_add_accessor(gltf_make *m, int view, int component, const char *type, int count, const char *extra)
{
    char text[1024], offset[64] = "";
    if (view >= 0) snprintf(offset, sizeof offset, "\"bufferView\":%d,", view);
    snprintf(text, sizeof text, "%s{%s\"componentType\":%d,\"type\":\"%s\",\"count\":%d%s}",
             m->accessor_count > 0 ? "," : "", offset, component, type, count, extra);
    CHECK(strlen(m->accessors) + strlen(text) < sizeof m->accessors);
    strcat(m->accessors, text);
    return m->accessor_count++;
}

int gltf_add_array(gltf_make *m, const void *data, size_t size, int component, const char *type, int count)
{
    return gltf_add_accessor(m, gltf_add_view(m, data, size, ""), component, type, count, "");
}

int gltf_add_floats(gltf_make *m, const float *data, const char *type, int width, int count)
{
    return gltf_add_array(m, data, (size_t)(width * count) * sizeof *data, MAKE_FLOAT, type, count);
}

void gltf_finish(gltf_make *m, const char *format, ...)
{
    int size = snprintf(m->json, sizeof m->json, "{\"asset\":{\"version\":\"2.0\"},");
    if (m->binary_size > 0)
        size += snprintf(m->json + size, sizeof m->json - (size_t)size, "\"buffers\":[{\"byteLength\":%zu}],",
                         m->binary_size);
    if (m->view_count > 0)
        size += snprintf(m->json + size, sizeof m->json - (size_t)size, "\"bufferViews\":[%s],", m->views);
    if (m->accessor_count > 0)
        size += snprintf(m->json + size, sizeof m->json - (size_t)size, "\"accessors\":[%s],", m->accessors);
    va_list args;
    va_start(args, format);
    size += vsnprintf(m->json + size, sizeof m->json - (size_t)size, format, args);
    va_end(args);
    size += snprintf(m->json + size, sizeof m->json - (size_t)size, "}");
    CHECK((size_t)size < sizeof m->json);
    m->json_size = (size_t)size;
    gltf_pack(m);
}

static void put_u32(gltf_make *m, size_t value)
{
    for (int i = 0; i < 4; i++)
        m->file[m->file_size++] = (unsigned char)(value >> (8 * i));
}

void gltf_pack(gltf_make *m)
{
    size_t json_size = (m->json_size + 3) / 4 * 4, binary_size = (m->binary_size + 3) / 4 * 4;
    CHECK(28 + json_size + binary_size <= sizeof m->file);
    m->file_size = 0;
    put_u32(m, 0x46546C67);
    put_u32(m, 2);
    put_u32(m, 20 + json_size + (binary_size > 0 ? 8 + binary_size : 0));
    put_u32(m, json_size);
    put_u32(m, 0x4E4F534A);
    memset(m->file + m->file_size, ' ', json_size);
    memcpy(m->file + m->file_size, m->json, m->json_size);
    m->file_size += json_size;
    if (binary_size == 0) return;
    put_u32(m, binary_size);
    put_u32(m, 0x004E4942);
    memset(m->file + m->file_size, 0, binary_size);
    memcpy(m->file + m->file_size, m->binary, m->binary_size);
    m->file_size += binary_size;
}

sup_result gltf_read_bytes(const char *name, const void *data, size_t size, const sup_file_reader *reader,
                           sup_character **character, sup_error *error)
{
    sup_context context = sup_context_resolve(NULL);
    char *copy = malloc(size + 1); /* exact size, so that a sanitizer detects out-of-bounds reads */
    CHECK(copy != NULL);
    if (size > 0) memcpy(copy, data, size);
    copy[size] = '\0';
    sup_read_input input = {&context, name, {copy, size}, reader != NULL ? *reader : sup_file_reader_resolve(NULL)};
    sup_result result = sup_read_gltf(&input, character, error);
    free(copy);
    return result;
}

sup_character *gltf_read_built(const gltf_make *m)
{
    sup_error error = {0};
    sup_character *character = NULL;
    CHECK_OK(gltf_read_bytes("made.glb", m->file, m->file_size, NULL, &character, &error), error);
    return character;
}

void gltf_check_rejected(const gltf_make *m, sup_result result, const char *id)
{
    sup_error error = {0};
    sup_character *character = NULL;
    sup_result got = gltf_read_bytes("made.glb", m->file, m->file_size, NULL, &character, &error);
    if (got == SUP_OK) sup_character_destroy(character);
    CHECK_MSG(got == result && strcmp(error.id, id) == 0, "expected %d %s, got %d %s (%s) for %s", result, id, got,
              error.id, error.message, m->json);
    CHECK(character == NULL || got == SUP_OK);
    CHECK(strlen(error.message) > 10);
}

/* Any bytes as header, table and landmarks of bodies; accepted data must be valid. */
#include "load/landmarks.h"
#include "load/shapes.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sup_context context = sup_context_resolve(NULL);
    sup_arena arena = sup_arena_create(&context.allocator);
    sup_bytes bytes = {data, size};
    sup_error error = {0};
    sup_shapes_header header;
    if (sup_shapes_read_header(&context.allocator, "fuzz", bytes, NULL, &arena, &header, &error) == SUP_OK) {
        if (header.body_count < 1 || header.vertex_count < 4 || header.parents[0] != -1) abort();
        for (int32_t j = 1; j < header.joint_count; j++)
            if (header.parents[j] < 0 || header.parents[j] >= j || header.joint_names[j] == NULL) abort();
    } else if (error.message[0] == '\0') {
        abort();
    }
    const sup_person *persons = NULL;
    if (sup_shapes_read_persons("fuzz", bytes, 3, &arena, &persons, &error) == SUP_OK && persons == NULL) abort();
    sup_landmarks *landmarks = NULL;
    if (sup_landmarks_read(&context, "fuzz", bytes, &landmarks, &error) == SUP_OK && landmarks == NULL) abort();
    sup_landmarks_destroy(landmarks);
    sup_arena_destroy(&arena);
    return 0;
}

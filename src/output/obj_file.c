/* obj_file.c - writes one mesh as Wavefront OBJ. */
#include "output/file_out.h"
#include "output/number_text.h"
#include "supple/anatomy.h"

static sup_result write_vertices(sup_file_out *out, sup_shape shape, sup_error *error)
{
    sup_result result = SUP_OK;
    for (int32_t v = 0; v < shape.vertex_count && result == SUP_OK; v++) {
        char line[3 * (SUP_NUMBER_TEXT + 1) + 4], *at = line;
        *at++ = 'v';
        for (size_t k = 0; k < 3; k++) {
            *at++ = ' ';
            at = sup_put_float(at, (float)shape.positions[3 * (size_t)v + k]);
        }
        *at++ = '\n';
        result = sup_file_out_write(out, line, (size_t)(at - line), error);
    }
    return result;
}

sup_result sup_shape_save(const sup_context *context, sup_shape shape, const char *path, sup_error *error)
{
    SUP_UNUSED(context);
    if (path == NULL || shape.positions == NULL || (shape.triangles == NULL && shape.triangle_count > 0))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_shape_save: shape and path must not be NULL.");
    sup_file_out out;
    sup_result result = sup_file_out_open(&out, path, error);
    if (result != SUP_OK) return result;
    result = write_vertices(&out, shape, error);
    for (int32_t t = 0; t < shape.triangle_count && result == SUP_OK; t++) {
        char line[64];
        const int32_t *c = shape.triangles + 3 * (size_t)t;
        size_t size = sup_format(line, sizeof line, "f %d %d %d\n", (int)c[0] + 1, (int)c[1] + 1, (int)c[2] + 1);
        result = sup_file_out_write(&out, line, size, error);
    }
    if (result == SUP_OK) return sup_file_out_commit(&out, error);
    sup_file_out_abandon(&out);
    return result;
}

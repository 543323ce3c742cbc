/* field_check.c - validates the fields of a model that may come from a file: on success, evaluation stays in bounds and
 * gives finite values. */
#include "methods/implicit/field.h"

#include <math.h>

enum { MIN_NODES = 5, MOST_NODES = 4096 };
static const float LARGEST = 1e18f, LARGEST_NODE = 8.0f; /* upper bound of B-spline coefficients of values in [0, 1] */

static bool good_numbers(const float *values, int64_t count, float largest)
{
    for (int64_t i = 0; i < count; i++)
        if (!(fabsf(values[i]) <= largest)) return false;
    return true;
}

static bool good_record(const sup_bone_field *f, int32_t joint_count, int64_t node_count)
{
    int64_t nodes = 1;
    for (int k = 0; k < 3; k++) {
        if (f->size[k] < MIN_NODES || f->size[k] > MOST_NODES) return false;
        nodes *= f->size[k];
    }
    return f->joint >= 0 && f->joint < joint_count && f->first >= 0 && nodes <= INT32_MAX &&
           nodes + f->first + SUP_FIELD_PADDING <= node_count && f->radius > 0.0f && f->radius < LARGEST &&
           good_numbers(f->to_grid, 12, LARGEST) && good_numbers(f->from_grid, 12, LARGEST);
}

sup_result sup_fields_open(const sup_model *model, int32_t joint_count, sup_fields *fields, sup_error *error)
{
    int64_t bytes = sup_model_array_count(model, "field.record"), nodes = sup_model_array_count(model, "field.node");
    const int64_t each = (int64_t)sizeof(sup_bone_field);
    bool good = bytes > 0 && bytes % each == 0 && bytes / each <= INT32_MAX / 64 && nodes >= SUP_FIELD_PADDING;
    sup_fields found = {.node_count = nodes};
    if (good) {
        found.field_count = (int32_t)(bytes / each);
        found.fields = sup_model_array(model, "field.record", SUP_ARRAY_BYTE, bytes);
        found.nodes = sup_model_array(model, "field.node", SUP_ARRAY_FLOAT, nodes);
        good = found.fields != NULL && found.nodes != NULL;
    }
    for (int32_t i = 0; good && i < found.field_count; i++)
        good = good_record(&found.fields[i], joint_count, nodes);
    if (!good || !good_numbers(found.nodes, nodes, LARGEST_NODE))
        return sup_fail(error, SUP_ERROR_FORMAT, "implicit.fields", "",
                        "The model is damaged: its fields are inconsistent. Bind it again.");
    *fields = found;
    return SUP_OK;
}

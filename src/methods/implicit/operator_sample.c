/* operator_sample.c - samples operators by name or by profile for inspection (include/supple/operator.h). */
#include "supple/operator.h"

#include "methods/implicit/operators.h"

#include <math.h>

static const char *const names[] = {"contact", "bulge"};

const char *sup_operator_name(int32_t index)
{
    return index >= 0 && index < SUP_COUNT(names) ? names[index] : NULL;
}

static sup_result choose_profile(sup_bytes text, sup_profile *profile, sup_error *error)
{
    const sup_profile made[] = {sup_profile_contact(), sup_profile_bulge()};
    for (int32_t i = 0; i < SUP_COUNT(names); i++)
        if (text.size == strlen(names[i]) && memcmp(text.data, names[i], text.size) == 0) {
            *profile = made[i];
            return SUP_OK;
        }
    return sup_profile_parse(text.data, text.size, 1, profile, error);
}

sup_result sup_operator_sample(const sup_context *context_in, sup_bytes text, double depth, int32_t size, float *values,
                               sup_error *error)
{
    sup_context context = sup_context_resolve(context_in);
    sup_profile profile;
    if (text.data == NULL || values == NULL || size < 2 || !(depth >= 0.0 && depth <= 1.0))
        return sup_fail(
            error, SUP_ERROR_ARGUMENT, "operator.argument", "",
            "Invalid argument: a profile, a depth from 0 to 1, a size of at least 2 and an output array are required.");
    sup_result result = choose_profile(text, &profile, error);
    if (result != SUP_OK) return result;
    float *table = sup_alloc(&context.allocator, SUP_OPERATOR_SIZE * sizeof *table);
    if (table == NULL) return sup_fail_memory(error, "the operator");
    result = sup_operators_build(&context, &profile, 1, table, error);
    for (int32_t i = 0; i < size && result == SUP_OK; i++)
        for (int32_t j = 0; j < size; j++) {
            double out[3];
            sup_operator_at(table, (double)j / (size - 1), (double)i / (size - 1), depth, out);
            values[(size_t)i * (size_t)size + (size_t)j] = (float)fmin(fmax(out[0], 0.0), 1.0);
        }
    sup_free(&context.allocator, table, SUP_OPERATOR_SIZE * sizeof *table);
    return result;
}

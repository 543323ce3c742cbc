/* composition_file.c - serialises a composition and reads untrusted bytes. */
#include "anatomy/composition.h"

#include <math.h>

enum { MAX_JOINTS = 4096, MAX_MODES = 4096, MAX_FIELDS = 20 };
static const char kind[] = "composition";

static sup_store_field array(const char *name, sup_array_type type, int64_t count, void *target)
{
    return (sup_store_field){name, SUP_STORE_ARRAY, type, count, target};
}

/* Counts are those of the composition; `influences` is the number of its weights. */
static int32_t list(sup_composition *c, int64_t influences, sup_store_field *fields)
{
    int64_t vertices = c->vertex_count, modes = c->mode_count, joints = c->joint_count;
    int32_t n = 0;
    fields[n++] = array("triangles", SUP_ARRAY_INT32, 3 * (int64_t)c->triangle_count, &c->triangles);
    fields[n++] = array("mean", SUP_ARRAY_DOUBLE, 3 * vertices, &c->mean);
    fields[n++] = array("modes", SUP_ARRAY_DOUBLE, modes * 3 * vertices, &c->modes);
    fields[n++] = array("deviation", SUP_ARRAY_DOUBLE, modes, &c->deviation);
    fields[n++] = (sup_store_field){"joint_names", SUP_STORE_TEXTS, SUP_ARRAY_BYTE, joints, &c->joint_names};
    fields[n++] = array("parents", SUP_ARRAY_INT32, joints, &c->parents);
    fields[n++] = array("joint_mean", SUP_ARRAY_DOUBLE, 3 * joints, &c->joint_mean);
    fields[n++] = array("joint_modes", SUP_ARRAY_DOUBLE, modes * 3 * joints, &c->joint_modes);
    fields[n++] = array("influence_first", SUP_ARRAY_INT32, vertices + 1, &c->influence_first);
    fields[n++] = array("influence_joint", SUP_ARRAY_INT32, influences, &c->influence_joint);
    fields[n++] = array("influence_weight", SUP_ARRAY_DOUBLE, influences, &c->influence_weight);
    fields[n++] = array("excluded", SUP_ARRAY_BYTE, vertices, &c->excluded);
    fields[n++] = (sup_store_field){"fat", SUP_STORE_INLINE, SUP_ARRAY_DOUBLE, 3, c->fat};
    fields[n++] = (sup_store_field){"muscle", SUP_STORE_INLINE, SUP_ARRAY_DOUBLE, 3, c->muscle};
    fields[n++] = array("fat_slope", SUP_ARRAY_DOUBLE, 3 * modes, &c->fat_slope);
    fields[n++] = array("muscle_slope", SUP_ARRAY_DOUBLE, 3 * modes, &c->muscle_slope);
    return n;
}

sup_result sup_composition_write(const sup_context *context, const sup_composition *composition, sup_bytes *bytes,
                                 sup_error *error)
{
    if (composition == NULL || bytes == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_composition_write needs a composition and a pointer to its bytes.");
    sup_composition view = *composition; /* the field list needs mutable targets */
    sup_store_field fields[MAX_FIELDS];
    int32_t count = list(&view, view.influence_first[view.vertex_count], fields);
    return sup_store_write(context, kind, fields, count, bytes, error);
}

void sup_composition_bytes_free(const sup_context *context, sup_bytes *bytes)
{
    if (bytes != NULL) sup_store_free(context, bytes);
}

static sup_result read_counts(const sup_store *store, sup_composition *c, int64_t *influences, sup_error *error)
{
    int64_t triangles = sup_store_count(store, "triangles"), mean = sup_store_count(store, "mean"),
            modes = sup_store_count(store, "deviation"), joints = sup_store_count(store, "parents");
    *influences = sup_store_count(store, "influence_joint");
    bool good = triangles >= 12 && triangles % 3 == 0 && triangles < INT32_MAX && mean >= 12 && mean % 3 == 0 &&
                mean < INT32_MAX && modes >= 1 && modes <= MAX_MODES && joints >= 1 && joints <= MAX_JOINTS &&
                *influences >= 0 && *influences < INT32_MAX;
    if (!good) return sup_store_damaged(error, "counts", "its counts are inconsistent");
    c->triangle_count = (int32_t)(triangles / 3);
    c->vertex_count = (int32_t)(mean / 3);
    c->mode_count = (int32_t)modes;
    c->joint_count = (int32_t)joints;
    return SUP_OK;
}

static sup_result check(const sup_composition *c, int64_t influences, sup_error *error)
{
    sup_result result =
        sup_store_check_range("triangles", c->triangles, 3 * (int64_t)c->triangle_count, 0, c->vertex_count, error);
    if (result == SUP_OK)
        result = sup_store_check_range("influence_joint", c->influence_joint, influences, 0, c->joint_count, error);
    if (result == SUP_OK)
        result =
            sup_store_check_rising("influence_first", c->influence_first, c->vertex_count, (int32_t)influences, error);
    for (const int32_t *t = c->triangles, *end = t + 3 * (size_t)c->triangle_count; result == SUP_OK && t < end; t += 3)
        if (t[0] == t[1] || t[1] == t[2] || t[2] == t[0])
            result = sup_store_damaged(error, "triangles", "a triangle has a corner twice");
    for (int32_t j = 0; result == SUP_OK && j < c->joint_count; j++)
        if (j == 0 ? c->parents[j] != -1 : c->parents[j] < 0 || c->parents[j] >= j)
            result = sup_store_damaged(error, "parents", "a joint does not come after its parent");
    for (int32_t k = 0; result == SUP_OK && k < c->mode_count; k++)
        if (!(c->deviation[k] > 0.0))
            result = sup_store_damaged(error, "deviation", "a mode has no standard deviation");
    for (int32_t v = 0; result == SUP_OK && v < c->vertex_count; v++) {
        double sum = 0.0;
        for (int32_t i = c->influence_first[v]; i < c->influence_first[v + 1]; i++)
            sum += c->influence_weight[i] >= 0.0 ? c->influence_weight[i] : NAN;
        if (!(fabs(sum - 1.0) < 1e-3))
            result = sup_store_damaged(error, "influence_weight", "weights do not sum to one");
    }
    return result;
}

sup_result sup_composition_read(const sup_context *context, sup_bytes bytes, sup_composition **composition,
                                sup_error *error)
{
    if (composition == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_composition_read needs a pointer to the composition.");
    sup_store store;
    sup_result result = sup_store_open(bytes, kind, &store, error);
    if (result != SUP_OK) return result;
    sup_composition *c = sup_composition_open(context);
    if (c == NULL) return sup_fail_memory(error, "the composition");
    int64_t influences = 0;
    sup_store_field fields[MAX_FIELDS];
    result = read_counts(&store, c, &influences, error);
    if (result == SUP_OK)
        result = sup_store_read(&store, fields, list(c, influences, fields), &c->storage->arena, error);
    if (result == SUP_OK) result = check(c, influences, error);
    if (result != SUP_OK) {
        sup_composition_destroy(c);
        return result;
    }
    *composition = c;
    return SUP_OK;
}

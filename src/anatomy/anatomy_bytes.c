/* anatomy_bytes.c - serialises a template as a block of named arrays. */
#include "anatomy/anatomy_bytes.h"

#define KIND "template"

void sup_anatomy_counts(const sup_anatomy *a, int32_t counts[SUP_ANATOMY_COUNTS])
{
    int32_t values[SUP_ANATOMY_COUNTS] = {
        a->vertex_count, a->triangle_count,      a->joint_count,           a->influence_first[a->vertex_count],
        a->organ_count,  a->detail_vertex_count, a->detail_triangle_count, (int32_t)a->sex};
    memcpy(counts, values, sizeof values);
}

int32_t sup_anatomy_fields(sup_anatomy *a, int32_t influences, sup_store_field fields[SUP_ANATOMY_FIELDS])
{
    int64_t n = a->vertex_count, joints = a->joint_count, organs = a->organ_count;
    sup_store_field list[] = {
        {"triangles", SUP_STORE_ARRAY, SUP_ARRAY_INT32, 3 * (int64_t)a->triangle_count, (void *)&a->triangles},
        {"skin", SUP_STORE_ARRAY, SUP_ARRAY_DOUBLE, 3 * n, (void *)&a->skin},
        {"muscle", SUP_STORE_ARRAY, SUP_ARRAY_DOUBLE, 3 * n, (void *)&a->muscle},
        {"bone", SUP_STORE_ARRAY, SUP_ARRAY_DOUBLE, 3 * n, (void *)&a->bone},
        {"excluded", SUP_STORE_ARRAY, SUP_ARRAY_BYTE, n, (void *)&a->excluded},
        {"thickness", SUP_STORE_ARRAY, SUP_ARRAY_DOUBLE, n, (void *)&a->thickness},
        {"group", SUP_STORE_ARRAY, SUP_ARRAY_BYTE, n, (void *)&a->group},
        {"region", SUP_STORE_ARRAY, SUP_ARRAY_BYTE, n, (void *)&a->region},
        {"crotch", SUP_STORE_ARRAY, SUP_ARRAY_BYTE, n, (void *)&a->crotch},
        {"joint_names", SUP_STORE_TEXTS, SUP_ARRAY_BYTE, joints, (void *)&a->joint_names},
        {"parents", SUP_STORE_ARRAY, SUP_ARRAY_INT32, joints, (void *)&a->parents},
        {"joints", SUP_STORE_ARRAY, SUP_ARRAY_DOUBLE, 3 * joints, (void *)&a->joints},
        {"influence_first", SUP_STORE_ARRAY, SUP_ARRAY_INT32, n + 1, (void *)&a->influence_first},
        {"influence_joint", SUP_STORE_ARRAY, SUP_ARRAY_INT32, influences, (void *)&a->influence_joint},
        {"influence_weight", SUP_STORE_ARRAY, SUP_ARRAY_DOUBLE, influences, (void *)&a->influence_weight},
        {"bone_joint", SUP_STORE_ARRAY, SUP_ARRAY_INT32, n, (void *)&a->bone_joint},
        {"organ_names", SUP_STORE_TEXTS, SUP_ARRAY_BYTE, organs, (void *)&a->organ_names},
        {"organ_is_muscle", SUP_STORE_ARRAY, SUP_ARRAY_BYTE, organs, (void *)&a->organ_is_muscle},
        {"organ_joint", SUP_STORE_ARRAY, SUP_ARRAY_INT32, organs, (void *)&a->organ_joint},
        {"organ_vertex", SUP_STORE_ARRAY, SUP_ARRAY_INT32, organs + 1, (void *)&a->organ_vertex},
        {"organ_triangle", SUP_STORE_ARRAY, SUP_ARRAY_INT32, organs + 1, (void *)&a->organ_triangle},
        {"detail", SUP_STORE_ARRAY, SUP_ARRAY_DOUBLE, 3 * (int64_t)a->detail_vertex_count, (void *)&a->detail},
        {"detail_triangles", SUP_STORE_ARRAY, SUP_ARRAY_INT32, 3 * (int64_t)a->detail_triangle_count,
         (void *)&a->detail_triangles}};
    memcpy(fields, list, sizeof list);
    return SUP_COUNT(list);
}

sup_result sup_anatomy_write(const sup_context *context, const sup_anatomy *anatomy, sup_bytes *bytes, sup_error *error)
{
    if (anatomy == NULL || bytes == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_anatomy_write needs a template and a pointer to its bytes.");
    sup_anatomy copy = *anatomy;
    int32_t counts[SUP_ANATOMY_COUNTS];
    sup_store_field fields[SUP_ANATOMY_FIELDS];
    sup_anatomy_counts(&copy, counts);
    int32_t count = sup_anatomy_fields(&copy, counts[3], fields);
    fields[count++] = (sup_store_field){"counts", SUP_STORE_INLINE, SUP_ARRAY_INT32, SUP_ANATOMY_COUNTS, counts};
    return sup_store_write(context, KIND, fields, count, bytes, error);
}

void sup_anatomy_bytes_free(const sup_context *context, sup_bytes *bytes)
{
    if (bytes != NULL && bytes->data != NULL) sup_store_free(context, bytes);
}

static sup_result check_indices(const sup_anatomy *a, int32_t influences, sup_error *error)
{
    int32_t n = a->vertex_count, joints = a->joint_count;
    sup_result result = sup_store_check_range("triangles", a->triangles, 3 * (int64_t)a->triangle_count, 0, n, error);
    for (int32_t j = 0; j < joints && result == SUP_OK; j++)
        result = sup_store_check_range("parents", a->parents + j, 1, -1, j, error);
    if (result == SUP_OK) result = sup_store_check_rising("influence_first", a->influence_first, n, influences, error);
    for (int32_t v = 0; v < n && result == SUP_OK; v++) {
        if (a->influence_first[v] == a->influence_first[v + 1])
            result = sup_store_damaged(error, "influence_first", "a vertex has no weights");
        else if (a->group[v] >= SUP_GROUP_COUNT || a->region[v] >= SUP_REGION_COUNT)
            result = sup_store_damaged(error, "group", "a vertex has an unknown group or region");
    }
    if (result == SUP_OK)
        result = sup_store_check_range("influence_joint", a->influence_joint, influences, 0, joints, error);
    if (result == SUP_OK) result = sup_store_check_range("bone_joint", a->bone_joint, n, -1, joints, error);
    if (result == SUP_OK)
        result = sup_store_check_range("organ_joint", a->organ_joint, a->organ_count, -1, joints, error);
    if (result == SUP_OK)
        result = sup_store_check_rising("organ_vertex", a->organ_vertex, a->organ_count, a->detail_vertex_count, error);
    if (result == SUP_OK)
        result = sup_store_check_rising("organ_triangle", a->organ_triangle, a->organ_count, a->detail_triangle_count,
                                        error);
    for (int32_t p = 0; p < a->organ_count && result == SUP_OK; p++)
        result = sup_store_check_range("detail_triangles", a->detail_triangles + 3 * (size_t)a->organ_triangle[p],
                                       3 * ((int64_t)a->organ_triangle[p + 1] - a->organ_triangle[p]),
                                       a->organ_vertex[p], a->organ_vertex[p + 1], error);
    return result;
}

sup_result sup_anatomy_from_store(const sup_store *store, sup_arena *arena, sup_anatomy *a, sup_error *error)
{
    int32_t counts[SUP_ANATOMY_COUNTS];
    sup_store_field first = {"counts", SUP_STORE_INLINE, SUP_ARRAY_INT32, SUP_ANATOMY_COUNTS, counts};
    sup_result result = sup_store_read(store, &first, 1, arena, error);
    if (result != SUP_OK) return result;
    for (int k = 0; k < SUP_ANATOMY_COUNTS; k++)
        if (counts[k] < 0 || (k < 3 && counts[k] < 1) || counts[k] > INT32_MAX / 8)
            return sup_store_damaged(error, "counts", "a count is out of range");
    if (counts[7] > SUP_SEX_MALE) return sup_store_damaged(error, "counts", "the sex is unknown");
    a->vertex_count = counts[0];
    a->triangle_count = counts[1];
    a->joint_count = counts[2];
    a->organ_count = counts[4];
    a->detail_vertex_count = counts[5];
    a->detail_triangle_count = counts[6];
    a->sex = (sup_sex)counts[7];
    sup_store_field fields[SUP_ANATOMY_FIELDS];
    int32_t count = sup_anatomy_fields(a, counts[3], fields);
    result = sup_store_read(store, fields, count, arena, error);
    return result == SUP_OK ? check_indices(a, counts[3], error) : result;
}

sup_result sup_anatomy_read(const sup_context *context, sup_bytes bytes, sup_anatomy **anatomy, sup_error *error)
{
    sup_store store;
    sup_result result = sup_store_open(bytes, KIND, &store, error);
    if (result != SUP_OK) return result;
    struct sup_anatomy_storage *storage = sup_anatomy_storage_create(context);
    sup_anatomy *made = storage != NULL ? sup_arena_alloc(&storage->arena, 1, sizeof *made) : NULL;
    result = made != NULL ? sup_anatomy_from_store(&store, &storage->arena, made, error)
                          : sup_fail_memory(error, "a template");
    if (result != SUP_OK) {
        sup_anatomy_storage_destroy(storage);
        return result;
    }
    made->storage = storage;
    *anatomy = made;
    return SUP_OK;
}

/* skin_morph.c - morph targets: converted to bind space at bind, added to the bind pose of a window in a step. */
#include "math/affine.h"
#include "skin/skin_bind.h"

/* Maps offsets of a primitive to bind space: vectors by the linear map, normals by its inverse transpose up to scale,
 * the cofactor matrix with the sign of the determinant. */
typedef struct primitive_map {
    sup_affine linear;
    double cofactor[9];
    double typical; /* RMS length of a transformed unit normal */
} primitive_map;

static primitive_map make_primitive_map(sup_mat34 primitive_bind)
{
    primitive_map map = {sup_affine_from_float(primitive_bind), {0}, 0.0};
    const double *m = map.linear.m;
    sup_vec3d rows[3] = {sup_v3(m[0], m[1], m[2]), sup_v3(m[4], m[5], m[6]), sup_v3(m[8], m[9], m[10])};
    double sign = sup_affine_determinant(map.linear) < 0.0 ? -1.0 : 1.0;
    for (int32_t r = 0; r < 3; r++) {
        sup_vec3d c = sup_v3_scale(sup_v3_cross(rows[(r + 1) % 3], rows[(r + 2) % 3]), sign);
        map.cofactor[3 * r] = c.x;
        map.cofactor[3 * r + 1] = c.y;
        map.cofactor[3 * r + 2] = c.z;
        map.typical += sup_v3_dot(c, c) / 3.0;
    }
    map.typical = map.typical > 0.0 ? sqrt(map.typical) : 1.0;
    return map;
}

static sup_vec3d apply_cofactor(const primitive_map *map, sup_vec3d n)
{
    const double *c = map->cofactor;
    return sup_v3(c[0] * n.x + c[1] * n.y + c[2] * n.z, c[3] * n.x + c[4] * n.y + c[5] * n.z,
                  c[6] * n.x + c[7] * n.y + c[8] * n.z);
}

/* Offsets of one vertex: 3 floats for its position, 3 for its normal; false when all are zero. A normal offset is
 * scaled like its normal, which was normalised after the transformation. */
static bool morph_offsets(const sup_character *character, const sup_morph *morph, const primitive_map *map,
                          int32_t vertex, float offsets[6])
{
    int64_t local = 3 * (int64_t)(vertex - character->primitives[morph->primitive].vertex_first);
    memset(offsets, 0, 6 * sizeof *offsets);
    if (morph->positions != NULL)
        sup_v3_store(offsets, sup_affine_vector(map->linear, sup_v3_load(morph->positions + local)));
    if (morph->normals != NULL) {
        double length = 0.0;
        if (character->normals != NULL)
            length = sup_v3_length(apply_cofactor(map, sup_v3_load(character->normals + 3 * (int64_t)vertex)));
        if (!(length > 0.0)) length = map->typical;
        sup_v3_store(offsets + 3, sup_v3_scale(apply_cofactor(map, sup_v3_load(morph->normals + local)), 1.0 / length));
    }
    for (int32_t i = 0; i < 6; i++)
        if (offsets[i] != 0.0f) return true;
    return false;
}

typedef struct morph_arrays {
    const sup_allocator *allocator;
    sup_array first, slot, offsets; /* int32, int32, 6 floats */
    float *extent;                  /* [morph_count] */
} morph_arrays;

/* Appends the entries of one target in one window. */
static sup_result push_window(const sup_rig *rig, const sup_skin_builder *b, int32_t window, int32_t m,
                              const primitive_map *map, morph_arrays *arrays, sup_error *error)
{
    const sup_morph *morph = &rig->character->morphs[m];
    const sup_primitive *primitive = &rig->character->primitives[morph->primitive];
    int32_t begin = window * SUP_SKIN_WINDOW, end = primitive->vertex_first + primitive->vertex_count;
    int32_t *first = sup_array_push(arrays->allocator, &arrays->first, 1);
    if (first == NULL || arrays->slot.count > INT32_MAX) return sup_fail_memory(error, "the morph targets");
    *first = (int32_t)arrays->slot.count;
    if (end <= begin || primitive->vertex_first - begin >= SUP_SKIN_WINDOW) return SUP_OK;
    for (int32_t slot = b->window_first[window] * SUP_SKIN_CLUSTER;
         slot < b->window_first[window + 1] * SUP_SKIN_CLUSTER; slot++) {
        int32_t v = begin + ((const uint16_t *)(const void *)b->vertex.data)[slot];
        float offsets[6];
        if (v < primitive->vertex_first || v >= end || !morph_offsets(rig->character, morph, map, v, offsets)) continue;
        int32_t *entry = sup_array_push(arrays->allocator, &arrays->slot, 1);
        float *values = sup_array_push(arrays->allocator, &arrays->offsets, 6);
        if (entry == NULL || values == NULL) return sup_fail_memory(error, "the morph targets");
        *entry = slot;
        memcpy(values, offsets, sizeof offsets);
        for (int32_t i = 0; i < 6; i++) {
            if (!(fabsf(offsets[i]) <= SUP_SKIN_LIMIT))
                return sup_fail(error, SUP_ERROR_DATA, "skin.morph", morph->name,
                                "Morph target %d has an offset that is not finite or too large.", m);
            arrays->extent[m] = fabsf(offsets[i]) > arrays->extent[m] ? fabsf(offsets[i]) : arrays->extent[m];
        }
    }
    return SUP_OK;
}

static sup_result copy_out(const sup_character *character, const morph_arrays *arrays, sup_model_builder *builder,
                           sup_error *error)
{
    size_t entries = arrays->slot.count, firsts = arrays->first.count;
    int32_t *weight = sup_model_add(builder, "morph_weight", SUP_ARRAY_INT32, character->morph_count);
    float *extent = sup_model_add(builder, "morph_extent", SUP_ARRAY_FLOAT, character->morph_count);
    int32_t *first = sup_model_add(builder, "morph_first", SUP_ARRAY_INT32, (int64_t)firsts + 1);
    int32_t *slot = sup_model_add(builder, "morph_slot", SUP_ARRAY_INT32, (int64_t)entries);
    float *offsets = sup_model_add(builder, "morph_offsets", SUP_ARRAY_FLOAT, (int64_t)entries * 6);
    if (weight == NULL || extent == NULL || first == NULL || slot == NULL || offsets == NULL)
        return sup_fail_memory(error, "the morph targets");
    for (int32_t m = 0; m < character->morph_count; m++) {
        weight[m] = character->morphs[m].weight;
        extent[m] = arrays->extent[m];
    }
    if (firsts > 0) memcpy(first, arrays->first.data, firsts * sizeof *first);
    first[firsts] = (int32_t)entries;
    if (entries > 0) {
        memcpy(slot, arrays->slot.data, entries * sizeof *slot);
        memcpy(offsets, arrays->offsets.data, entries * 6 * sizeof *offsets);
    }
    return SUP_OK;
}

sup_result sup_skin_add_morphs(const sup_rig *rig, const sup_skin_builder *b, sup_model_builder *builder,
                               sup_error *error)
{
    const sup_character *character = rig->character;
    size_t count = (size_t)character->morph_count;
    sup_arena arena = sup_arena_create(b->allocator);
    primitive_map *maps = sup_arena_alloc(&arena, count, sizeof *maps);
    morph_arrays arrays = {.allocator = b->allocator,
                           .first.item_size = sizeof(int32_t),
                           .slot.item_size = sizeof(int32_t),
                           .offsets.item_size = sizeof(float),
                           .extent = sup_arena_alloc(&arena, count, sizeof(float))};
    sup_result result = maps != NULL && arrays.extent != NULL ? SUP_OK : sup_fail_memory(error, "the morph targets");
    for (size_t m = 0; m < count && result == SUP_OK; m++)
        maps[m] = make_primitive_map(rig->primitive_bind[character->morphs[m].primitive]);
    for (int32_t window = 0; window < b->window_count; window++)
        for (int32_t m = 0; m < character->morph_count && result == SUP_OK; m++)
            result = push_window(rig, b, window, m, &maps[m], &arrays, error);
    if (result == SUP_OK) result = copy_out(character, &arrays, builder, error);
    sup_array_free(b->allocator, &arrays.first);
    sup_array_free(b->allocator, &arrays.slot);
    sup_array_free(b->allocator, &arrays.offsets);
    sup_arena_destroy(&arena);
    return result;
}

static int32_t largest_window(const sup_skin_model *skin)
{
    int32_t largest = 0;
    for (int32_t w = 0; w < skin->window_count; w++) {
        int32_t clusters = skin->window_first[w + 1] - skin->window_first[w];
        largest = clusters > largest ? clusters : largest;
    }
    return largest;
}

size_t sup_skin_morph_scratch(const sup_skin_model *skin)
{
    return skin->morphs.count > 0 ? (size_t)largest_window(skin) * 2 * SUP_SKIN_CHANNEL * sizeof(float) : 0;
}

sup_skin_base sup_skin_morph(const sup_skin_model *skin, const float *morph_weights, int32_t window, float *scratch)
{
    const sup_skin_morphs *morphs = &skin->morphs;
    int32_t first_cluster = skin->window_first[window];
    size_t floats = (size_t)(skin->window_first[window + 1] - first_cluster) * SUP_SKIN_CHANNEL;
    sup_skin_base base = {skin->positions + (int64_t)first_cluster * SUP_SKIN_CHANNEL,
                          skin->normals + (int64_t)first_cluster * SUP_SKIN_CHANNEL};
    bool copied = false;
    for (int32_t m = 0; m < morphs->count; m++) {
        float weight = morph_weights[morphs->weight[m]];
        const int32_t *range = morphs->first + (int64_t)window * morphs->count + m;
        if (weight == 0.0f || range[0] == range[1]) continue;
        if (!copied) {
            memcpy(scratch, base.positions, floats * sizeof *scratch);
            memcpy(scratch + floats, base.normals, floats * sizeof *scratch);
            base = (sup_skin_base){scratch, scratch + floats};
            copied = true;
        }
        for (int32_t e = range[0]; e < range[1]; e++) {
            int32_t slot = morphs->slot[e] - first_cluster * SUP_SKIN_CLUSTER;
            float *position = scratch + slot / SUP_SKIN_CLUSTER * SUP_SKIN_CHANNEL + slot % SUP_SKIN_CLUSTER;
            const float *offsets = morphs->offsets + 6 * (int64_t)e;
            for (int32_t k = 0; k < 3; k++) {
                position[k * SUP_SKIN_CLUSTER] += weight * offsets[k];
                position[floats + (size_t)(k * SUP_SKIN_CLUSTER)] += weight * offsets[3 + k];
            }
        }
    }
    return base;
}

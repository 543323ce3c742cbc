/* read_gltf_morph.c - reads morph targets: one weight slot per target and mesh node, shared by the primitives of the
 * mesh. */
#include "load/read_gltf.h"

static sup_result read_offsets(sup_gltf *g, const sup_json *target, const char *name, const sup_primitive *primitive,
                               const float **offsets)
{
    sup_gltf_accessor accessor;
    sup_result result = sup_gltf_open_member(g, target, name, "mesh", primitive->mesh, &accessor);
    *offsets = NULL;
    if (result != SUP_OK || accessor.index < 0) return result;
    if (accessor.count != primitive->vertex_count || accessor.width != 3)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.morph",
                             "%s of a morph target of primitive %d of mesh %d must have 3 components for each of %d "
                             "vertices.",
                             name, primitive->index_in_mesh, primitive->mesh, primitive->vertex_count);
    *offsets = sup_gltf_shared_floats(g, &accessor);
    return *offsets != NULL ? SUP_OK : g->error->result;
}

static sup_result read_targets(sup_gltf *g, int32_t number, sup_morph *morphs, int32_t *filled)
{
    const sup_primitive *primitive = &g->primitives[number];
    const sup_gltf_mesh *mesh = &g->mesh_infos[primitive->mesh];
    const sup_json *weights = g->nodes[primitive->node].weights, *target;
    const sup_json *targets = sup_json_get(sup_json_at(mesh->primitives, primitive->index_in_mesh), "targets");
    if (weights == NULL) weights = mesh->weights;
    sup_result result = SUP_OK;
    for (int32_t i = 0; result == SUP_OK && i < sup_json_count(targets); i++) {
        sup_morph *morph = &morphs[(*filled)++];
        double weight = 0.0;
        sup_json_double(sup_json_at(weights, i), &weight);
        morph->primitive = number;
        morph->weight = g->nodes[primitive->node].morph_first + i;
        morph->default_weight = (float)weight;
        morph->name = sup_gltf_name(g, sup_json_at(mesh->target_names, i));
        if (morph->name == NULL) return g->error->result;
        result = sup_gltf_object(g, targets, i, "morph target", &target);
        if (result == SUP_OK) result = sup_gltf_charge(g, (size_t)sup_json_count(target), sizeof(sup_json));
        if (result == SUP_OK) result = read_offsets(g, target, "POSITION", primitive, &morph->positions);
        if (result == SUP_OK) result = read_offsets(g, target, "NORMAL", primitive, &morph->normals);
    }
    return result;
}

sup_result sup_gltf_read_morphs(sup_gltf *g)
{
    sup_character *c = g->character;
    int64_t slots = 0, count = 0;
    for (int32_t i = 0; i < c->node_count; i++) {
        g->nodes[i].morph_first = (int32_t)slots;
        g->nodes[i].morph_count = g->nodes[i].mesh >= 0 ? g->mesh_infos[g->nodes[i].mesh].target_count : 0;
        slots += g->nodes[i].morph_count;
        if (slots > INT32_MAX / 16) break;
    }
    for (int32_t i = 0; i < c->primitive_count; i++)
        count += g->nodes[g->primitives[i].node].morph_count; /* upper bound */
    if (slots > INT32_MAX / 16 || count > INT32_MAX / 16)
        return sup_gltf_fail(g, SUP_ERROR_UNSUPPORTED, "gltf.morph.large", "The file has too many morph targets.");
    sup_morph *morphs = sup_gltf_alloc(g, g->arena, (size_t)count, sizeof *morphs);
    if (morphs == NULL) return g->error->result;
    int32_t filled = 0;
    sup_result result = SUP_OK;
    for (int32_t i = 0; i < c->primitive_count && result == SUP_OK; i++)
        result = read_targets(g, i, morphs, &filled);
    c->morphs = morphs;
    c->morph_count = filled;
    c->morph_weight_count = (int32_t)slots;
    return result;
}

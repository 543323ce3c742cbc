/* read_gltf_mesh.c - one sup_primitive per mesh primitive and mesh node: its vertices, triangles, influences.
 *
 * Order: by node index, then by primitive of the mesh, then by accessor order. Primitives that share an accessor each
 * get a copy of its vertices; primitives of points and lines have no triangles. */
#include "load/read_gltf.h"

#include "math/vec3.h"

/* glTF's primitive modes. */
enum { MODE_TRIANGLES = 4, MODE_STRIP = 5, MODE_FAN = 6 };
/* Maximum number of JOINTS_n/WEIGHTS_n sets of four influences: 256 influences per vertex. */
enum { MAX_SETS = 64 };
/* Counts stay inside int32_t when multiplied by a small component count. */
enum { MAX_ELEMENTS = INT32_MAX / 16 };

/* Data of a primitive that is not in sup_primitive. */
typedef struct gltf_primitive {
    const sup_json *object, *attributes;
    int32_t mode;
    sup_gltf_accessor position, indices; /* index -1: none */
    int32_t set_count;                   /* number of JOINTS_n and WEIGHTS_n, 0 for a primitive without a skin */
} gltf_primitive;

static void set_name(char *buffer, size_t size, const char *name, int32_t set)
{
    sup_format(buffer, size, "%s_%d", name, set);
}

static sup_result measure_triangles(sup_gltf *g, const gltf_primitive *p, sup_primitive *primitive)
{
    int32_t corners = primitive->vertex_count;
    if (p->indices.index >= 0) {
        int32_t component = p->indices.component;
        bool is_unsigned = component == SUP_GLTF_UBYTE || component == SUP_GLTF_USHORT || component == SUP_GLTF_UINT;
        if (p->indices.width != 1 || !is_unsigned)
            return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.mesh.indices",
                                 "The indices of primitive %d of mesh %d must be unsigned integers.",
                                 primitive->index_in_mesh, primitive->mesh);
        corners = p->indices.count;
    }
    if (p->mode == MODE_TRIANGLES) primitive->triangle_count = corners / 3;
    if (p->mode == MODE_STRIP || p->mode == MODE_FAN) primitive->triangle_count = corners > 2 ? corners - 2 : 0;
    return SUP_OK;
}

/* Counts the sets of influences. */
static sup_result measure_influences(sup_gltf *g, gltf_primitive *p, const sup_primitive *primitive)
{
    char joints[24], weights[24];
    for (int32_t set = 0; set < MAX_SETS; set++) {
        set_name(joints, sizeof joints, "JOINTS", set);
        set_name(weights, sizeof weights, "WEIGHTS", set);
        bool has_joints = sup_json_get(p->attributes, joints) != NULL;
        if (has_joints != (sup_json_get(p->attributes, weights) != NULL))
            return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.mesh.influences",
                                 "Primitive %d of mesh %d has only one of %s and %s.", primitive->index_in_mesh,
                                 primitive->mesh, joints, weights);
        if (!has_joints) break;
        p->set_count = set + 1;
    }
    return SUP_OK;
}

static sup_result open_primitive(sup_gltf *g, const sup_json *list, gltf_primitive *p, sup_primitive *primitive)
{
    int64_t mode;
    sup_result result = sup_gltf_object(g, list, primitive->index_in_mesh, "primitive", &p->object);
    if (result != SUP_OK) return result;
    p->attributes = sup_json_get(p->object, "attributes");
    size_t members = (size_t)sup_json_count(p->object) + (size_t)sup_json_count(p->attributes);
    result = sup_gltf_charge(g, members, sizeof(sup_json)); /* each instance searches them */
    if (result == SUP_OK)
        result = sup_gltf_size(g, p->object, "mode", MODE_TRIANGLES, 6, "mesh", primitive->mesh, &mode);
    if (result != SUP_OK) return result;
    p->mode = (int32_t)mode;
    result = sup_gltf_index(g, p->object, "material", "material", g->material_count, "mesh", primitive->mesh,
                            &primitive->material);
    if (result == SUP_OK)
        result = sup_gltf_open_member(g, p->attributes, "POSITION", "mesh", primitive->mesh, &p->position);
    if (result == SUP_OK) result = sup_gltf_open_member(g, p->object, "indices", "mesh", primitive->mesh, &p->indices);
    if (result != SUP_OK) return result;
    if (p->position.index >= 0 && p->position.width != 3)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.mesh.attribute",
                             "POSITION of primitive %d of mesh %d must have 3 components.", primitive->index_in_mesh,
                             primitive->mesh);
    primitive->vertex_count = p->position.index >= 0 ? p->position.count : 0;
    result = measure_triangles(g, p, primitive);
    if (result == SUP_OK && primitive->skin >= 0) result = measure_influences(g, p, primitive);
    return result;
}

/* Adds the primitives of one node and sets all their counts. */
static sup_result add_primitives(sup_gltf *g, int32_t node, gltf_primitive *sources, int32_t *filled)
{
    int32_t number = g->nodes[node].mesh;
    const sup_json *list = g->mesh_infos[number].primitives;
    const char *name = g->mesh_infos[number].name;
    sup_result result = SUP_OK;
    if (name[0] == '\0') name = g->character->nodes[node].name;
    for (int32_t i = 0; result == SUP_OK && i < sup_json_count(list); i++) {
        sup_primitive *primitive = &g->primitives[*filled];
        *primitive = (sup_primitive){
            .name = name, .node = node, .mesh = number, .index_in_mesh = i, .skin = g->nodes[node].skin};
        primitive->vertex_first = g->character->vertex_count;
        primitive->triangle_first = g->character->triangle_count;
        result = open_primitive(g, list, &sources[(*filled)++], primitive);
        if (result != SUP_OK) return result;
        if (primitive->vertex_count > MAX_ELEMENTS - primitive->vertex_first ||
            primitive->triangle_count > MAX_ELEMENTS - primitive->triangle_first)
            return sup_gltf_fail(g, SUP_ERROR_UNSUPPORTED, "gltf.mesh.large", "The file has too many vertices.");
        g->character->vertex_count += primitive->vertex_count;
        g->character->triangle_count += primitive->triangle_count;
    }
    return result;
}

/* One vertex attribute of all primitives, `width` floats per vertex, or NULL when no primitive has it. */
static sup_result read_attribute(sup_gltf *g, const gltf_primitive *sources, const char *name, int32_t width,
                                 const float **attribute)
{
    float *values = NULL;
    for (int32_t i = 0; i < g->character->primitive_count; i++) {
        const sup_primitive *primitive = &g->primitives[i];
        sup_gltf_accessor accessor;
        sup_result result = sup_gltf_open_member(g, sources[i].attributes, name, "mesh", primitive->mesh, &accessor);
        if (result != SUP_OK) return result;
        if (accessor.index < 0 || primitive->vertex_count == 0) continue;
        if (accessor.count != primitive->vertex_count || accessor.width != width)
            return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.mesh.attribute",
                                 "%s of primitive %d of mesh %d must have %d components for each of %d vertices.", name,
                                 primitive->index_in_mesh, primitive->mesh, width, primitive->vertex_count);
        if (values == NULL)
            values = sup_gltf_alloc(g, g->arena, (size_t)g->character->vertex_count * (size_t)width, sizeof *values);
        if (values == NULL) return g->error->result;
        sup_gltf_read_floats(&accessor, width, values + (size_t)primitive->vertex_first * (size_t)width);
    }
    *attribute = values;
    return SUP_OK;
}

/* Quantised normals are not exactly of unit length; invalid normals become zero ("no normal"). */
static void unit_normals(float *normals, int32_t count)
{
    for (int32_t i = 0; normals != NULL && i < count; i++) {
        sup_vec3d normal = sup_v3_load(normals + (size_t)i * 3);
        if (fabs(sup_v3_dot(normal, normal) - 1.0) <= 1e-6) continue;
        sup_v3_store(normals + (size_t)i * 3, sup_v3_unit_or(normal, sup_v3(0.0, 0.0, 0.0)));
    }
}

/* A surface under the skin; primitives without the attribute get their skin positions. */
static sup_result read_layer(sup_gltf *g, const gltf_primitive *sources, const char *name, const float **layer)
{
    sup_result result = read_attribute(g, sources, name, 3, layer);
    for (int32_t i = 0; result == SUP_OK && *layer != NULL && i < g->character->primitive_count; i++) {
        const sup_primitive *primitive = &g->primitives[i];
        size_t first = (size_t)primitive->vertex_first * 3, count = (size_t)primitive->vertex_count * 3;
        if (count > 0 && sup_json_get(sources[i].attributes, name) == NULL)
            memcpy((float *)*layer + first, g->character->positions + first, count * sizeof(float));
    }
    return result;
}

/* The joint of the skin that the bone surface is attached to, per vertex; -1 (sliding) for an invalid index and for
 * primitives without the attribute. */
static sup_result read_holders(sup_gltf *g, const gltf_primitive *sources)
{
    sup_character *c = g->character;
    const float *numbers = NULL;
    sup_result result = read_attribute(g, sources, "_ATTACHMENT", 1, &numbers);
    if (result != SUP_OK || numbers == NULL) return result;
    int32_t *holders = sup_gltf_alloc(g, g->arena, (size_t)c->vertex_count, sizeof *holders);
    if (holders == NULL) return g->error->result;
    for (int32_t i = 0; i < c->primitive_count; i++) {
        const sup_primitive *primitive = &g->primitives[i];
        bool has_holders = primitive->skin >= 0 && sup_json_get(sources[i].attributes, "_ATTACHMENT") != NULL;
        for (int32_t v = primitive->vertex_first; v < primitive->vertex_first + primitive->vertex_count; v++) {
            bool good = has_holders && numbers[v] >= 0.0f && numbers[v] < (float)c->skins[primitive->skin].bone_count;
            holders[v] = good ? c->skins[primitive->skin].bone_first + (int32_t)numbers[v] : -1;
        }
    }
    c->bone_attachments = holders;
    return SUP_OK;
}

static sup_result read_vertices(sup_gltf *g, const gltf_primitive *sources)
{
    sup_character *c = g->character;
    sup_result result = read_attribute(g, sources, "POSITION", 3, &c->positions);
    if (result == SUP_OK) result = read_attribute(g, sources, "NORMAL", 3, &c->normals);
    if (result == SUP_OK) result = read_attribute(g, sources, "TANGENT", 4, &c->tangents);
    if (result == SUP_OK) result = read_attribute(g, sources, "TEXCOORD_0", 2, &c->texcoords);
    if (result == SUP_OK) result = read_layer(g, sources, "_MUSCLE", &c->muscle_positions);
    if (result == SUP_OK) result = read_layer(g, sources, "_BONE", &c->bone_positions);
    if (result == SUP_OK) result = read_holders(g, sources);
    if (result == SUP_OK) unit_normals((float *)c->normals, c->vertex_count);
    return result;
}

/* Corner k of triangle t in the order of the primitive's vertices (glTF 2.0, section 3.7.2.1). */
static int32_t corner(int32_t mode, int32_t t, int32_t k)
{
    if (mode == MODE_TRIANGLES) return t * 3 + k;
    if (mode == MODE_STRIP) return k == 0 ? t : k == 1 ? t + 1 + t % 2 : t + 2 - t % 2;
    return k == 0 ? t + 1 : k == 1 ? t + 2 : 0;
}

static sup_result fill_triangles(sup_gltf *g, const gltf_primitive *p, const sup_primitive *primitive,
                                 int32_t *triangles)
{
    uint32_t *indices = NULL;
    if (p->indices.index >= 0 && primitive->triangle_count > 0) {
        indices = sup_alloc_zero(&g->input->context->allocator, (size_t)p->indices.count * sizeof *indices);
        if (indices == NULL) return sup_fail_memory(g->error, g->input->name);
        sup_gltf_read_integers(&p->indices, indices);
    }
    sup_result result = SUP_OK;
    for (int32_t t = 0; t < primitive->triangle_count && result == SUP_OK; t++)
        for (int32_t k = 0; k < 3; k++) {
            int32_t at = corner(p->mode, t, k);
            uint32_t vertex = indices != NULL ? indices[at] : (uint32_t)at;
            if (vertex >= (uint32_t)primitive->vertex_count) {
                result = sup_gltf_fail(
                    g, SUP_ERROR_FORMAT, "gltf.mesh.index",
                    "Triangle %d of primitive %d of mesh %d refers to vertex %u, but the primitive has %d vertices.", t,
                    primitive->index_in_mesh, primitive->mesh, vertex, primitive->vertex_count);
                break;
            }
            triangles[t * 3 + k] = primitive->vertex_first + (int32_t)vertex;
        }
    if (indices != NULL) sup_free(&g->input->context->allocator, indices, (size_t)p->indices.count * sizeof *indices);
    return result;
}

static sup_result read_triangles(sup_gltf *g, const gltf_primitive *sources)
{
    int32_t *triangles = sup_gltf_alloc(g, g->arena, (size_t)g->character->triangle_count * 3, sizeof *triangles);
    if (triangles == NULL) return g->error->result;
    g->character->triangles = triangles;
    sup_result result = SUP_OK;
    for (int32_t i = 0; i < g->character->primitive_count && result == SUP_OK; i++)
        result =
            fill_triangles(g, &sources[i], &g->primitives[i], triangles + (size_t)g->primitives[i].triangle_first * 3);
    return result;
}

/* One set of influences as stored in the file: 4 joints and 4 weights per vertex. */
static sup_result read_set(sup_gltf *g, const gltf_primitive *p, const sup_primitive *primitive, int32_t set,
                           uint32_t *joints, float *weights)
{
    char name[24];
    sup_gltf_accessor accessor;
    set_name(name, sizeof name, "JOINTS", set);
    sup_result result = sup_gltf_open_member(g, p->attributes, name, "mesh", primitive->mesh, &accessor);
    if (result != SUP_OK) return result;
    bool good = accessor.width == 4 && accessor.count == primitive->vertex_count &&
                accessor.component != SUP_GLTF_BYTE && accessor.component != SUP_GLTF_SHORT;
    if (good) {
        sup_gltf_read_integers(&accessor, joints);
        set_name(name, sizeof name, "WEIGHTS", set);
        result = sup_gltf_open_member(g, p->attributes, name, "mesh", primitive->mesh, &accessor);
        if (result != SUP_OK) return result;
        good = accessor.width == 4 && accessor.count == primitive->vertex_count;
        accessor.normalized = true; /* integer weights are always normalised */
        if (good) sup_gltf_read_floats(&accessor, 4, weights);
    }
    if (good) return SUP_OK;
    return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.mesh.influences",
                         "%s of primitive %d of mesh %d must have 4 components for each of %d vertices.", name,
                         primitive->index_in_mesh, primitive->mesh, primitive->vertex_count);
}

/* Appends the influences of one primitive; weights of exactly 0 are dropped, all others are kept unchanged. */
static sup_result fill_influences(sup_gltf *g, const gltf_primitive *p, const sup_primitive *primitive,
                                  uint32_t *joints, float *weights, int32_t *first, int32_t *bone, float *weight)
{
    const sup_skin *skin = primitive->skin >= 0 ? &g->character->skins[primitive->skin] : NULL;
    size_t set_size = (size_t)primitive->vertex_count * 4;
    int32_t filled = first[primitive->vertex_first];
    memset(joints, 0, (size_t)p->set_count * set_size * sizeof *joints);
    memset(weights, 0, (size_t)p->set_count * set_size * sizeof *weights);
    for (int32_t set = 0; set < p->set_count; set++) {
        sup_result result =
            read_set(g, p, primitive, set, joints + (size_t)set * set_size, weights + (size_t)set * set_size);
        if (result != SUP_OK) return result;
    }
    for (int32_t v = 0; v < primitive->vertex_count; v++) {
        for (int32_t k = 0; k < p->set_count * 4; k++) {
            size_t at = (size_t)(k / 4) * set_size + (size_t)v * 4 + (size_t)(k % 4);
            if (skin == NULL || weights[at] == 0.0f) continue;
            if (joints[at] >= (uint32_t)skin->bone_count)
                return sup_gltf_fail(
                    g, SUP_ERROR_FORMAT, "gltf.mesh.joint",
                    "Vertex %d of primitive %d of mesh %d refers to joint %u, but skin %d has %d joints.", v,
                    primitive->index_in_mesh, primitive->mesh, joints[at], primitive->skin, skin->bone_count);
            bone[filled] = skin->bone_first + (int32_t)joints[at];
            weight[filled++] = weights[at];
        }
        first[primitive->vertex_first + v + 1] = filled;
    }
    return SUP_OK;
}

static sup_result read_influences(sup_gltf *g, const gltf_primitive *sources)
{
    sup_character *c = g->character;
    size_t total = 0, largest = 0; /* upper bounds: zero weights are dropped later */
    for (int32_t i = 0; i < c->primitive_count; i++) {
        size_t slots = (size_t)g->primitives[i].vertex_count * (size_t)sources[i].set_count * 4;
        total += slots;
        largest = slots > largest ? slots : largest;
    }
    if (total > INT32_MAX)
        return sup_gltf_fail(g, SUP_ERROR_UNSUPPORTED, "gltf.mesh.large", "The file has too many influences.");
    int32_t *first = sup_gltf_alloc(g, g->arena, (size_t)c->vertex_count + 1, sizeof *first);
    int32_t *bone = sup_gltf_alloc(g, g->arena, total, sizeof *bone);
    float *weight = sup_gltf_alloc(g, g->arena, total, sizeof *weight);
    uint32_t *joints = sup_gltf_alloc(g, &g->scratch, largest, sizeof *joints);
    float *weights = sup_gltf_alloc(g, &g->scratch, largest, sizeof *weights);
    if (first == NULL || bone == NULL || weight == NULL || joints == NULL || weights == NULL) return g->error->result;
    c->influence_first = first;
    c->influence_bone = bone;
    c->influence_weight = weight;
    sup_result result = SUP_OK;
    for (int32_t i = 0; i < c->primitive_count && result == SUP_OK; i++)
        result = fill_influences(g, &sources[i], &g->primitives[i], joints, weights, first, bone, weight);
    return result;
}

static sup_result look_up_meshes(sup_gltf *g)
{
    int32_t count = sup_json_count(g->meshes);
    const sup_json *materials, *mesh, *targets;
    sup_result result = sup_gltf_list(g, g->root, "materials", &materials);
    if (result != SUP_OK) return result;
    g->material_count = sup_json_count(materials);
    g->mesh_infos = sup_gltf_alloc(g, &g->scratch, (size_t)count, sizeof *g->mesh_infos);
    if (g->mesh_infos == NULL) return g->error->result;
    for (int32_t i = 0; i < count; i++) {
        sup_gltf_mesh *info = &g->mesh_infos[i];
        result = sup_gltf_object(g, g->meshes, i, "mesh", &mesh);
        if (result == SUP_OK) result = sup_gltf_list(g, mesh, "primitives", &info->primitives);
        for (int32_t k = 0; k < sup_json_count(info->primitives) && result == SUP_OK; k++) {
            result = sup_gltf_list(g, sup_json_at(info->primitives, k), "targets", &targets);
            if (sup_json_count(targets) > info->target_count) info->target_count = sup_json_count(targets);
        }
        if (result != SUP_OK) return result;
        info->weights = sup_json_get(mesh, "weights");
        info->target_names = sup_json_get(sup_json_get(mesh, "extras"), "targetNames");
        info->name = sup_gltf_name(g, sup_json_get(mesh, "name"));
        if (info->name == NULL) return g->error->result;
    }
    return SUP_OK;
}

sup_result sup_gltf_read_meshes(sup_gltf *g)
{
    size_t count = 0;
    sup_character *c = g->character;
    sup_result result = look_up_meshes(g);
    if (result != SUP_OK) return result;
    for (int32_t i = 0; i < c->node_count; i++)
        if (g->nodes[i].mesh >= 0) count += (size_t)sup_json_count(g->mesh_infos[g->nodes[i].mesh].primitives);
    if (count > MAX_ELEMENTS)
        return sup_gltf_fail(g, SUP_ERROR_UNSUPPORTED, "gltf.mesh.large", "The file has too many primitives.");
    g->primitives = sup_gltf_alloc(g, g->arena, count, sizeof *g->primitives);
    gltf_primitive *sources = sup_gltf_alloc(g, &g->scratch, count, sizeof *sources);
    if (g->primitives == NULL || sources == NULL) return g->error->result;
    int32_t filled = 0;
    for (int32_t i = 0; i < c->node_count && result == SUP_OK; i++)
        if (g->nodes[i].mesh >= 0) result = add_primitives(g, i, sources, &filled);
    c->primitives = g->primitives;
    c->primitive_count = filled;
    if (result == SUP_OK) result = read_vertices(g, sources);
    if (result == SUP_OK) result = read_triangles(g, sources);
    if (result == SUP_OK) result = read_influences(g, sources);
    return result;
}

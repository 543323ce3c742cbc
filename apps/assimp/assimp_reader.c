/* assimp_reader.c - converts an Assimp scene to the arrays of a character; the library validates and copies them. */
#include "assimp_reader.h"

#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* All memory of one import, freed together. */
typedef struct allocation {
    struct allocation *next;
} allocation;

typedef struct assimp_reader {
    const struct aiScene *scene;
    sup_character character;
    const struct aiNode **nodes; /* [node_count] in the order of the character */
    allocation *allocations;
    bool out_of_memory;
} assimp_reader;

/* Zero-initialized; returns NULL and sets out_of_memory on failure. */
static void *allocate(assimp_reader *r, size_t count, size_t size)
{
    size_t header = 64; /* keeps the data aligned */
    allocation *memory = count <= (SIZE_MAX - header) / (size > 0 ? size : 1) ? calloc(1, header + count * size) : NULL;
    if (memory == NULL) {
        r->out_of_memory = true;
        return NULL;
    }
    memory->next = r->allocations;
    r->allocations = memory;
    return (char *)memory + header;
}

static void free_all(assimp_reader *r)
{
    while (r->allocations != NULL) {
        allocation *next = r->allocations->next;
        free(r->allocations);
        r->allocations = next;
    }
}

static sup_result fail(sup_error *error, sup_result result, const char *id, const char *where, const char *message)
{
    if (error == NULL) return result;
    error->result = result;
    snprintf(error->id, sizeof error->id, "%s", id);
    snprintf(error->where, sizeof error->where, "%s", where);
    snprintf(error->message, sizeof error->message, "%s", message);
    return result;
}

/* --- Nodes --- */

static sup_transform transform_of(const struct aiMatrix4x4 *matrix)
{
    struct aiVector3D scale, translation;
    struct aiQuaternion rotation;
    aiDecomposeMatrix(matrix, &scale, &rotation, &translation);
    return (sup_transform){{translation.x, translation.y, translation.z},
                           {rotation.x, rotation.y, rotation.z, rotation.w},
                           {scale.x, scale.y, scale.z}};
}

static size_t count_nodes(const struct aiNode *root)
{
    size_t count = 0;
    for (const struct aiNode *at = root; at != NULL;) { /* iterative: input depth must not cause recursion */
        count++;
        if (at->mNumChildren > 0) {
            at = at->mChildren[0];
            continue;
        }
        for (; at != NULL; at = at->mParent) {
            const struct aiNode *parent = at != root ? at->mParent : NULL;
            unsigned next = 0;
            while (parent != NULL && parent->mChildren[next] != at)
                next++;
            if (parent != NULL && next + 1 < parent->mNumChildren) {
                at = parent->mChildren[next + 1];
                break;
            }
            if (parent == NULL) {
                at = NULL;
                break;
            }
        }
    }
    return count;
}

/* Breadth-first order: parents come first, siblings are contiguous. */
static void read_nodes(assimp_reader *r)
{
    size_t count = count_nodes(r->scene->mRootNode);
    sup_node *nodes = allocate(r, count, sizeof *nodes);
    r->nodes = allocate(r, count, sizeof(const struct aiNode *));
    if (count > INT_MAX || nodes == NULL || r->nodes == NULL) {
        r->out_of_memory = true;
        return;
    }
    size_t filled = 0;
    nodes[filled].parent = -1;
    r->nodes[filled++] = r->scene->mRootNode;
    for (size_t i = 0; i < filled; i++) {
        const struct aiNode *from = r->nodes[i];
        nodes[i].name = from->mName.data;
        nodes[i].rest = transform_of(&from->mTransformation);
        for (unsigned c = 0; c < from->mNumChildren; c++) {
            nodes[filled].parent = (int32_t)i;
            r->nodes[filled++] = from->mChildren[c];
        }
    }
    r->character.nodes = nodes;
    r->character.node_count = (int32_t)count;
}

static int32_t node_named(const assimp_reader *r, const struct aiString *name)
{
    for (int32_t i = 0; i < r->character.node_count; i++)
        if (r->nodes[i]->mName.length == name->length && memcmp(r->nodes[i]->mName.data, name->data, name->length) == 0)
            return i;
    return -1;
}

/* --- Meshes --- */

typedef struct totals {
    size_t primitives, vertices, triangles, bones, influences;
} totals;

/* Array sizes; a mesh used by several nodes becomes several primitives. */
static totals count_meshes(const assimp_reader *r)
{
    totals t = {0};
    for (int32_t i = 0; i < r->character.node_count; i++)
        for (unsigned m = 0; m < r->nodes[i]->mNumMeshes; m++) {
            const struct aiMesh *mesh = r->scene->mMeshes[r->nodes[i]->mMeshes[m]];
            t.primitives++;
            t.vertices += mesh->mNumVertices;
            t.triangles += mesh->mNumFaces;
            t.bones += mesh->mNumBones;
            for (unsigned b = 0; b < mesh->mNumBones; b++)
                t.influences += mesh->mBones[b]->mNumWeights;
        }
    return t;
}

/* Writable pointers to the arrays of the character, and their fill counts. */
typedef struct mesh_arrays {
    sup_primitive *primitives;
    float *positions, *normals, *texcoords;
    int32_t *triangles;
    sup_bone *bones;
    sup_skin *skins;
    int32_t *influence_first, *influence_bone, *cursor;
    float *influence_weight;
    totals filled;
    int32_t skin_count;
} mesh_arrays;

static void copy_vertices(mesh_arrays *a, const struct aiMesh *mesh)
{
    size_t first = a->filled.vertices;
    for (size_t v = 0; v < mesh->mNumVertices; v++) {
        memcpy(a->positions + (first + v) * 3, &mesh->mVertices[v], 3 * sizeof(float));
        if (mesh->mNormals != NULL) memcpy(a->normals + (first + v) * 3, &mesh->mNormals[v], 3 * sizeof(float));
        if (mesh->mTextureCoords[0] == NULL) continue;
        a->texcoords[(first + v) * 2] = mesh->mTextureCoords[0][v].x;
        a->texcoords[(first + v) * 2 + 1] = 1.0f - mesh->mTextureCoords[0][v].y; /* v grows down, as in glTF */
    }
}

/* Skips points and lines. */
static void copy_triangles(mesh_arrays *a, const struct aiMesh *mesh)
{
    for (unsigned f = 0; f < mesh->mNumFaces; f++) {
        const struct aiFace *face = &mesh->mFaces[f];
        if (face->mNumIndices != 3) continue;
        for (int k = 0; k < 3; k++)
            a->triangles[a->filled.triangles * 3 + (size_t)k] = (int32_t)(a->filled.vertices + face->mIndices[k]);
        a->filled.triangles++;
    }
}

/* Assimp lists weights by bone, characters by vertex: counting sort. */
static void copy_influences(mesh_arrays *a, const struct aiMesh *mesh, size_t bone_first)
{
    int32_t *first = a->influence_first + a->filled.vertices; /* first[0] is set by the previous primitive */
    int32_t *cursor = a->cursor;
    memset(cursor, 0, mesh->mNumVertices * sizeof *cursor);
    for (unsigned b = 0; b < mesh->mNumBones; b++)
        for (unsigned w = 0; w < mesh->mBones[b]->mNumWeights; w++) {
            unsigned vertex = mesh->mBones[b]->mWeights[w].mVertexId;
            if (vertex < mesh->mNumVertices) cursor[vertex]++;
        }
    for (unsigned v = 0; v < mesh->mNumVertices; v++) {
        first[v + 1] = first[v] + cursor[v];
        cursor[v] = first[v];
    }
    for (unsigned b = 0; b < mesh->mNumBones; b++)
        for (unsigned w = 0; w < mesh->mBones[b]->mNumWeights; w++) {
            const struct aiVertexWeight *weight = &mesh->mBones[b]->mWeights[w];
            if (weight->mVertexId >= mesh->mNumVertices) continue;
            int32_t slot = cursor[weight->mVertexId]++;
            a->influence_bone[slot] = (int32_t)(bone_first + b);
            a->influence_weight[slot] = weight->mWeight;
        }
}

/* Returns -1 when a bone refers to a missing node. */
static int32_t add_skin(const assimp_reader *r, mesh_arrays *a, const struct aiMesh *mesh)
{
    for (unsigned b = 0; b < mesh->mNumBones; b++) {
        const struct aiBone *bone = mesh->mBones[b];
        const struct aiMatrix4x4 *m = &bone->mOffsetMatrix;
        sup_bone *to = &a->bones[a->filled.bones + b];
        to->node = node_named(r, &bone->mName);
        if (to->node < 0) return -1;
        to->inverse_bind =
            (sup_mat34){{m->a1, m->a2, m->a3, m->a4, m->b1, m->b2, m->b3, m->b4, m->c1, m->c2, m->c3, m->c4}};
    }
    a->skins[a->skin_count] = (sup_skin){mesh->mName.data, (int32_t)a->filled.bones, (int32_t)mesh->mNumBones};
    a->filled.bones += mesh->mNumBones;
    return a->skin_count++;
}

static bool add_primitive(const assimp_reader *r, mesh_arrays *a, int32_t node, unsigned index)
{
    const struct aiMesh *mesh = r->scene->mMeshes[index];
    size_t vertex_first = a->filled.vertices, triangle_first = a->filled.triangles, bone_first = a->filled.bones;
    int32_t skin = mesh->mNumBones > 0 ? add_skin(r, a, mesh) : -1;
    if (mesh->mNumBones > 0 && skin < 0) return false;
    copy_vertices(a, mesh);
    copy_triangles(a, mesh);
    copy_influences(a, mesh, bone_first);
    a->filled.vertices += mesh->mNumVertices;
    a->primitives[a->filled.primitives++] =
        (sup_primitive){.name = mesh->mName.length > 0 ? mesh->mName.data : r->nodes[node]->mName.data,
                        .node = node,
                        .mesh = (int32_t)index,
                        .skin = skin,
                        .material = (int32_t)mesh->mMaterialIndex,
                        .vertex_first = (int32_t)vertex_first,
                        .vertex_count = (int32_t)mesh->mNumVertices,
                        .triangle_first = (int32_t)triangle_first,
                        .triangle_count = (int32_t)(a->filled.triangles - triangle_first)};
    return true;
}

static unsigned largest_mesh(const struct aiScene *scene)
{
    unsigned largest = 0;
    for (unsigned m = 0; m < scene->mNumMeshes; m++)
        if (scene->mMeshes[m]->mNumVertices > largest) largest = scene->mMeshes[m]->mNumVertices;
    return largest;
}

static mesh_arrays allocate_arrays(assimp_reader *r, totals t)
{
    bool has_normals = false, has_texcoords = false;
    for (unsigned m = 0; m < r->scene->mNumMeshes; m++) {
        has_normals = has_normals || r->scene->mMeshes[m]->mNormals != NULL;
        has_texcoords = has_texcoords || r->scene->mMeshes[m]->mTextureCoords[0] != NULL;
    }
    return (mesh_arrays){.primitives = allocate(r, t.primitives, sizeof(sup_primitive)),
                         .positions = allocate(r, t.vertices * 3, sizeof(float)),
                         .normals = has_normals ? allocate(r, t.vertices * 3, sizeof(float)) : NULL,
                         .texcoords = has_texcoords ? allocate(r, t.vertices * 2, sizeof(float)) : NULL,
                         .triangles = allocate(r, t.triangles * 3, sizeof(int32_t)),
                         .bones = allocate(r, t.bones, sizeof(sup_bone)),
                         .skins = allocate(r, t.primitives, sizeof(sup_skin)),
                         .influence_first = allocate(r, t.vertices + 1, sizeof(int32_t)),
                         .influence_bone = allocate(r, t.influences, sizeof(int32_t)),
                         .influence_weight = allocate(r, t.influences, sizeof(float)),
                         .cursor = allocate(r, largest_mesh(r->scene), sizeof(int32_t))};
}

/* Returns false when the scene is too large or a bone refers to a missing node. */
static bool read_meshes(assimp_reader *r)
{
    totals t = count_meshes(r);
    if (t.vertices > INT_MAX / 4 || t.triangles > INT_MAX / 4 || t.influences > INT_MAX / 2 || t.bones > INT_MAX / 2)
        return false;
    mesh_arrays a = allocate_arrays(r, t);
    if (r->out_of_memory) return true;
    for (int32_t i = 0; i < r->character.node_count; i++)
        for (unsigned m = 0; m < r->nodes[i]->mNumMeshes; m++)
            if (!add_primitive(r, &a, i, r->nodes[i]->mMeshes[m])) return false;
    sup_character *c = &r->character;
    c->primitive_count = (int32_t)a.filled.primitives;
    c->primitives = a.primitives;
    c->vertex_count = (int32_t)a.filled.vertices;
    c->positions = a.positions;
    c->normals = a.normals;
    c->texcoords = a.texcoords;
    c->triangle_count = (int32_t)a.filled.triangles;
    c->triangles = a.triangles;
    c->bone_count = (int32_t)a.filled.bones;
    c->bones = a.bones;
    c->skin_count = a.skin_count;
    c->skins = a.skins;
    c->influence_first = a.influence_first;
    c->influence_bone = a.influence_bone;
    c->influence_weight = a.influence_weight;
    return true;
}

/* --- Animations --- */

static float *copy_vectors(assimp_reader *r, const struct aiVectorKey *keys, unsigned count, double rate, float **times)
{
    float *values = allocate(r, (size_t)count * 3, sizeof *values);
    *times = allocate(r, count, sizeof **times);
    for (unsigned k = 0; values != NULL && *times != NULL && k < count; k++) {
        (*times)[k] = (float)(keys[k].mTime / rate);
        memcpy(values + (size_t)k * 3, &keys[k].mValue, 3 * sizeof(float));
    }
    return values;
}

static float *copy_rotations(assimp_reader *r, const struct aiQuatKey *keys, unsigned count, double rate, float **times)
{
    float *values = allocate(r, (size_t)count * 4, sizeof *values);
    *times = allocate(r, count, sizeof **times);
    for (unsigned k = 0; values != NULL && *times != NULL && k < count; k++) {
        (*times)[k] = (float)(keys[k].mTime / rate);
        values[(size_t)k * 4] = keys[k].mValue.x;
        values[(size_t)k * 4 + 1] = keys[k].mValue.y;
        values[(size_t)k * 4 + 2] = keys[k].mValue.z;
        values[(size_t)k * 4 + 3] = keys[k].mValue.w;
    }
    return values;
}

static void add_channel(sup_clip *clip, sup_channel *channels, sup_channel_target target, int32_t node, unsigned count,
                        const float *times, const float *values)
{
    if (count > 0 && times != NULL && values != NULL)
        channels[clip->channel_count++] =
            (sup_channel){target, node, SUP_INTERPOLATE_LINEAR, (int32_t)count, times, values};
}

static void read_clip(assimp_reader *r, const struct aiAnimation *from, sup_clip *clip)
{
    double rate = from->mTicksPerSecond > 0.0 ? from->mTicksPerSecond : 25.0; /* the default of Assimp */
    sup_channel *channels = allocate(r, (size_t)from->mNumChannels * 3, sizeof *channels);
    clip->name = from->mName.data;
    clip->channels = channels;
    for (unsigned c = 0; channels != NULL && c < from->mNumChannels; c++) {
        const struct aiNodeAnim *node = from->mChannels[c];
        int32_t index = node_named(r, &node->mNodeName);
        float *times;
        if (index < 0) continue;
        float *values = copy_vectors(r, node->mPositionKeys, node->mNumPositionKeys, rate, &times);
        add_channel(clip, channels, SUP_CHANNEL_TRANSLATION, index, node->mNumPositionKeys, times, values);
        values = copy_rotations(r, node->mRotationKeys, node->mNumRotationKeys, rate, &times);
        add_channel(clip, channels, SUP_CHANNEL_ROTATION, index, node->mNumRotationKeys, times, values);
        values = copy_vectors(r, node->mScalingKeys, node->mNumScalingKeys, rate, &times);
        add_channel(clip, channels, SUP_CHANNEL_SCALE, index, node->mNumScalingKeys, times, values);
    }
}

/* A file without bones is a skeleton: its joints are the animated nodes and their descendants. */
static void mark_joints(assimp_reader *r)
{
    sup_node *nodes = (sup_node *)r->character.nodes;
    for (int32_t i = 0; i < r->character.clip_count; i++)
        for (int32_t c = 0; c < r->character.clips[i].channel_count; c++)
            nodes[r->character.clips[i].channels[c].index].is_joint = true;
    for (int32_t i = 1; i < r->character.node_count; i++) /* parents come first */
        nodes[i].is_joint = nodes[i].is_joint || nodes[nodes[i].parent].is_joint;
}

static void read_clips(assimp_reader *r)
{
    sup_clip *clips = allocate(r, r->scene->mNumAnimations, sizeof *clips);
    for (unsigned i = 0; clips != NULL && i < r->scene->mNumAnimations; i++) {
        sup_clip *clip = &clips[r->character.clip_count];
        read_clip(r, r->scene->mAnimations[i], clip);
        if (clip->channel_count > 0) r->character.clip_count++;
    }
    r->character.clips = clips;
    if (r->character.bone_count == 0) mark_joints(r);
}

/* --- The file --- */

/* FBX stores the unit length in centimetres. */
static float unit_metres(const struct aiScene *scene)
{
    const struct aiMetadata *data = scene->mMetaData;
    for (unsigned i = 0; data != NULL && i < data->mNumProperties; i++) {
        if (strcmp(data->mKeys[i].data, "UnitScaleFactor") != 0) continue;
        double centimetres = 0.0;
        if (data->mValues[i].mType == AI_FLOAT) centimetres = (double)*(const float *)data->mValues[i].mData;
        if (data->mValues[i].mType == AI_DOUBLE) centimetres = *(const double *)data->mValues[i].mData;
        return centimetres > 0.0 && centimetres < 1e6 ? (float)(centimetres * 0.01) : 0.0f;
    }
    return 0.0f;
}

static const struct aiScene *import_scene(sup_bytes bytes, const char *hint)
{
    struct aiPropertyStore *store = aiCreatePropertyStore();
    if (store == NULL) return NULL;
    /* Pivots would add nodes and split the channels of a joint over them. */
    aiSetImportPropertyInteger(store, AI_CONFIG_IMPORT_FBX_PRESERVE_PIVOTS, 0);
    const struct aiScene *scene =
        aiImportFileFromMemoryWithProperties(bytes.data, (unsigned)bytes.size, aiProcess_Triangulate, hint, store);
    aiReleasePropertyStore(store);
    return scene;
}

static sup_result read_scene(assimp_reader *r, const sup_context *context, const char *name, sup_character **character,
                             sup_error *error)
{
    const char *slash = strrchr(name, '/');
    r->character.name = slash != NULL ? slash + 1 : name;
    r->character.unit_metres = unit_metres(r->scene);
    read_nodes(r);
    if (!r->out_of_memory && !read_meshes(r))
        return fail(error, SUP_ERROR_FORMAT, "assimp.skin", name,
                    "A bone refers to a missing node, or the file is too large.");
    if (!r->out_of_memory) read_clips(r);
    if (r->out_of_memory) return fail(error, SUP_ERROR_MEMORY, "memory", name, "Out of memory.");
    if (r->character.vertex_count == 0 && r->character.clip_count == 0)
        return fail(error, SUP_ERROR_FORMAT, "assimp.empty", name, "The file has neither a mesh nor an animation.");
    return sup_character_create(context, &r->character, character, error);
}

sup_result sup_read_assimp(void *user, const sup_context *context, const char *name, sup_bytes bytes,
                           sup_character **character, sup_error *error)
{
    (void)user;
    const char *dot = strrchr(name, '.');
    if (dot == NULL || (strcasecmp(dot, ".fbx") != 0 && strcasecmp(dot, ".dae") != 0))
        return fail(error, SUP_ERROR_UNSUPPORTED, "assimp.format", name, "Only .fbx and .dae are supported.");
    if (bytes.size == 0 || bytes.size > INT_MAX)
        return fail(error, SUP_ERROR_FORMAT, "assimp.size", name, "The file is empty or larger than 2 GB.");
    assimp_reader r = {.scene = import_scene(bytes, dot + 1)};
    if (r.scene == NULL || r.scene->mRootNode == NULL) {
        char message[300];
        snprintf(message, sizeof message, "Assimp cannot read the file: %s", aiGetErrorString());
        if (r.scene != NULL) aiReleaseImport(r.scene);
        return fail(error, SUP_ERROR_FORMAT, "assimp.read", name, message);
    }
    sup_result result = read_scene(&r, context, name, character, error);
    free_all(&r);
    aiReleaseImport(r.scene);
    return result;
}

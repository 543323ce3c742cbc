/* helpers.c - characters, frames and files for the tests of the writers. */
#include "helpers.h"

#include "load/file.h"
#include "load/read.h"
#include "math/affine.h"

#include <dirent.h>

sup_character *helper_character(bool mirrored)
{
    static const float positions[24] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 2, 2, 0, 0, 2, 0};
    static const float texcoords[16] = {0, 0, 1, 0, 0, 1, 1, 1, 0.25f, 0, 1, 0, 1, 1, 0, 1};
    static const int32_t triangles[18] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3, 4, 5, 6, 4, 6, 7};
    sup_node nodes[2] = {{"Body", -1, sup_transform_identity(), false}, {"", 0, sup_transform_identity(), false}};
    nodes[1].rest.translation.x = 3.0f;
    if (mirrored) nodes[1].rest.scale.x = -1.0f;
    const sup_primitive primitives[2] = {{"tetrahedron", 0, 0, 0, -1, -1, 0, 4, 0, 4},
                                         {"square", 1, 1, 0, -1, -1, 4, 4, 4, 2}};
    const sup_character source = {.name = "sample",
                                  .node_count = 2,
                                  .nodes = nodes,
                                  .primitive_count = 2,
                                  .primitives = primitives,
                                  .vertex_count = 8,
                                  .positions = positions,
                                  .texcoords = texcoords,
                                  .triangle_count = 6,
                                  .triangles = triangles};
    sup_character *character = NULL;
    sup_error error;
    CHECK_OK(sup_character_create(NULL, &source, &character, &error), error);
    return character;
}

sup_character *helper_read_gltf(const char *path)
{
    sup_context context = sup_context_resolve(NULL);
    void *data = NULL;
    size_t size = 0;
    sup_error error;
    sup_character *character = NULL;
    CHECK_OK(sup_file_read(path, &context.allocator, &data, &size, &error), error);
    sup_read_input input = {&context, path, {data, size}, sup_file_reader_resolve(NULL)};
    sup_result result = sup_read_gltf(&input, &character, &error);
    sup_free(&context.allocator, data, size + 1);
    CHECK_OK(result, error);
    return character;
}

static helper_frames allocate(const sup_character *character, int32_t frame_count)
{
    size_t count = (size_t)frame_count * (size_t)character->vertex_count * 3;
    helper_frames frames = {frame_count, character->vertex_count, calloc(count, sizeof(float)),
                            calloc(count, sizeof(float))};
    CHECK(frames.positions != NULL && frames.normals != NULL);
    return frames;
}

void helper_frames_free(helper_frames *frames)
{
    free(frames->positions);
    free(frames->normals);
}

const float *helper_positions(const helper_frames *frames, int32_t frame)
{
    return frames->positions + (size_t)frame * (size_t)frames->vertex_count * 3;
}

const float *helper_normals(const helper_frames *frames, int32_t frame)
{
    return frames->normals + (size_t)frame * (size_t)frames->vertex_count * 3;
}

/* Mesh space -> world of one vertex: its node, or the blend of its bones. */
static sup_affine vertex_matrix(const sup_character *c, const sup_primitive *primitive, int32_t v, const sup_pose *pose)
{
    sup_affine matrix = {{0}};
    double sum = 0.0;
    for (int32_t k = c->influence_first[v]; primitive->skin >= 0 && k < c->influence_first[v + 1]; k++) {
        double weight = (double)c->influence_weight[k];
        if (!isfinite(weight)) continue;
        const sup_bone *bone = &c->bones[c->influence_bone[k]];
        sup_affine m = sup_affine_multiply(sup_affine_from_float(pose->world[bone->node]),
                                           sup_affine_from_float(bone->inverse_bind));
        for (int i = 0; i < 12; i++)
            matrix.m[i] += weight * m.m[i];
        sum += weight;
    }
    if (!(sum > 0.0)) return sup_affine_from_float(pose->world[primitive->node]);
    for (int i = 0; i < 12; i++)
        matrix.m[i] /= sum;
    return matrix;
}

static sup_vec3d morphed(const sup_character *c, int32_t p, int32_t v, const sup_pose *pose, bool normal)
{
    const float *base = normal ? c->normals : c->positions;
    sup_vec3d value = base != NULL ? sup_v3_load(base + (size_t)v * 3) : sup_v3(0, 0, 0);
    for (int32_t m = 0; m < c->morph_count; m++) {
        const sup_morph *morph = &c->morphs[m];
        const float *offsets = normal ? morph->normals : morph->positions;
        double weight = (double)pose->morph_weights[morph->weight];
        if (morph->primitive == p && offsets != NULL && weight != 0.0)
            value = sup_v3_madd(value, weight, sup_v3_load(offsets + (size_t)(v - c->primitives[p].vertex_first) * 3));
    }
    return value;
}

static void skin_frame(const sup_character *c, const sup_pose *pose, float *positions, float *normals)
{
    for (int32_t p = 0; p < c->primitive_count; p++)
        for (int32_t v = c->primitives[p].vertex_first;
             v < c->primitives[p].vertex_first + c->primitives[p].vertex_count; v++) {
            sup_affine matrix = vertex_matrix(c, &c->primitives[p], v, pose);
            sup_v3_store(positions + (size_t)v * 3, sup_affine_point(matrix, morphed(c, p, v, pose, false)));
            sup_vec3d normal = sup_affine_vector(matrix, morphed(c, p, v, pose, true));
            sup_v3_store(normals + (size_t)v * 3, sup_v3_unit_or(normal, sup_v3(0, 0, 0)));
        }
}

helper_frames helper_skin(const sup_character *character, const sup_clip *clip, double fps, int32_t frame_count)
{
    helper_frames frames = allocate(character, frame_count);
    sup_pose *pose = NULL;
    sup_error error;
    CHECK_OK(sup_pose_create(NULL, character, &pose, &error), error);
    for (int32_t f = 0; f < frame_count; f++) {
        size_t at = (size_t)f * (size_t)character->vertex_count * 3;
        if (clip != NULL)
            CHECK_EQ(sup_pose_sample(character, clip, (double)clip->start + (double)f / fps, pose), SUP_OK);
        skin_frame(character, pose, frames.positions + at, frames.normals + at);
    }
    sup_pose_destroy(pose);
    return frames;
}

helper_frames helper_wave(const sup_character *character, int32_t frame_count)
{
    helper_frames frames = helper_skin(character, NULL, 30.0, frame_count);
    for (int32_t f = 0; f < frame_count; f++)
        for (int32_t i = 0; i < character->vertex_count * 3; i++) {
            size_t at = (size_t)f * (size_t)character->vertex_count * 3 + (size_t)i;
            frames.positions[at] += 0.3f * sinf((float)f * 0.7f + (float)i);
            frames.normals[at] = i % 3 == f % 3 ? 1.0f : 0.0f;
        }
    return frames;
}

sup_result helper_write(const char *path, const sup_character *character, const helper_frames *frames,
                        const sup_cache_def *def, sup_error *error)
{
    sup_cache_writer *writer = NULL;
    sup_cache_def used = def != NULL ? *def : sup_default_cache_def();
    used.frame_count = frames->frame_count;
    sup_result result = sup_cache_open(NULL, path, character, &used, &writer, error);
    if (result != SUP_OK) return result;
    for (int32_t f = 0; result == SUP_OK && f < frames->frame_count; f++)
        result = sup_cache_write(writer, helper_positions(frames, f), helper_normals(frames, f), error);
    if (result == SUP_OK) return sup_cache_finish(writer, error);
    sup_cache_abandon(writer);
    return result;
}

unsigned char *helper_file(const char *path, long *size)
{
    FILE *file = fopen(path, "rb");
    *size = -1;
    if (file == NULL) return NULL;
    fseek(file, 0, SEEK_END);
    *size = ftell(file);
    rewind(file);
    unsigned char *data = malloc((size_t)*size + 1);
    CHECK(data != NULL && fread(data, 1, (size_t)*size, file) == (size_t)*size);
    data[*size] = '\0';
    fclose(file);
    return data;
}

void helper_put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

int helper_count_files(const char *text)
{
    DIR *folder = opendir(SUPPLE_BINARY_DIR "/test_files");
    int count = 0;
    CHECK(folder != NULL);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        count += strstr(entry->d_name, text) != NULL;
    closedir(folder);
    return count;
}

double helper_size(const float *positions, int32_t vertex_count)
{
    double low[3] = {1e300, 1e300, 1e300}, high[3] = {-1e300, -1e300, -1e300};
    for (int32_t i = 0; i < vertex_count * 3; i++) {
        low[i % 3] = fmin(low[i % 3], (double)positions[i]);
        high[i % 3] = fmax(high[i % 3], (double)positions[i]);
    }
    return sqrt(pow(high[0] - low[0], 2) + pow(high[1] - low[1], 2) + pow(high[2] - low[2], 2));
}

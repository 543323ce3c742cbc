/* glb_writer.c - writes a motion as morph targets of one GLB: each frame immediately, the JSON at the end.
 *
 * The first frame is the base geometry; frame k is morph target k - 1: positions and normals minus those of the first
 * frame. One animation interpolates the weights linearly, so that exactly one target has weight 1 at each frame. In a
 * GLB the JSON precedes the binary data, but it contains the bounds of every target: space for the longest possible
 * text is reserved at the start, and the unused rest is filled with spaces, the padding that glTF specifies. */
#include "output/file_out.h"
#include "output/glb.h"

#include <math.h>

#include <float.h>

/* Offsets of the positions and normals of one primitive in one frame. */
typedef struct target_record {
    int64_t position_at, normal_at; /* bytes from the start of the frame's view, -1: unchanged, uses the shared zeros */
    float low[3], high[3];          /* bounds of the positions */
} target_record;

typedef struct frame_record {
    uint64_t offset, size; /* of the frame's view in the BIN chunk; size 0: no view */
} frame_record;

typedef struct glb_writer {
    sup_glb_layout layout;
    sup_file_out out;
    bool morph_normals;     /* targets have normals */
    float *base;            /* [vertex_count*3] positions of the first frame */
    float *base_normals;    /* [vertex_count*3] unit, or NULL */
    float *packed;          /* [vertex_count*6] output buffer of one frame */
    frame_record *frames;   /* [frame_count] */
    target_record *targets; /* [frame_count*primitive_count] */
    uint64_t bin_size;      /* written so far */
    size_t json_capacity;   /* bytes reserved for the JSON, a multiple of 4 */
} glb_writer;

enum { GLB_HEADER = 12, CHUNK_HEADER = 8, FLOAT_WEIGHT_FRAMES = 512 };

static target_record *record_of(const sup_cache_writer *writer, int32_t frame, int32_t primitive)
{
    glb_writer *glb = writer->state;
    return &glb->targets[(size_t)frame * (size_t)writer->character->primitive_count + (size_t)primitive];
}

/* --- Opening --- */

/* Adds key times and reserves the weights: a matrix of frame_count x (frame_count - 1), floats for short motions,
 * normalised bytes (255 = 1) for long ones, because the size is quadratic. */
static void add_animation_data(sup_cache_writer *writer)
{
    glb_writer *glb = writer->state;
    sup_glb_layout *layout = &glb->layout;
    size_t count = (size_t)writer->def.frame_count;
    bool floats = writer->def.frame_count <= FLOAT_WEIGHT_FRAMES;
    float *times = sup_arena_alloc(&layout->arena, count, sizeof *times);
    if (times == NULL) {
        layout->tree.failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        times[i] = (float)((double)i / writer->def.fps);
    int32_t view = sup_glb_add_view(layout, times, count * sizeof *times, 0, 0);
    sup_json *accessor = sup_glb_add_accessor(&layout->tree, view, 0, SUP_GLB_FLOAT, (int64_t)count, "SCALAR");
    sup_json *low = sup_json_get_or_add(&layout->tree, accessor, "min", SUP_JSON_ARRAY);
    sup_json_append(&layout->tree, low, sup_json_new_integer(&layout->tree, 0));
    sup_json *high = sup_json_get_or_add(&layout->tree, accessor, "max", SUP_JSON_ARRAY);
    sup_json_append(&layout->tree, high, sup_json_new_float(&layout->tree, times[count - 1]));
    layout->time_accessor = sup_glb_last_accessor(&layout->tree);
    size_t numbers = sup_size_multiply(count, count - 1);
    view = sup_glb_add_view(layout, NULL, sup_size_multiply(numbers, floats ? sizeof(float) : 1), 0, 0);
    accessor = sup_glb_add_accessor(&layout->tree, view, 0, floats ? SUP_GLB_FLOAT : SUP_GLB_UBYTE, (int64_t)numbers,
                                    "SCALAR");
    if (!floats) sup_json_set(&layout->tree, accessor, "normalized", sup_json_new_bool(&layout->tree, true));
    layout->weight_accessor = sup_glb_last_accessor(&layout->tree);
}

/* GLB sizes are 32 bits. Checked before the simulation, not after it. */
static sup_result check_size(const sup_cache_writer *writer, uint64_t bytes, sup_error *error)
{
    if (bytes <= UINT32_MAX) return SUP_OK;
    return sup_fail(error, SUP_ERROR_UNSUPPORTED, "output.glb.size", writer->path,
                    "%d frames of %d vertices need %.3g GB, but a GLB file is limited to 4 GiB: write fewer frames "
                    "(--frames, --fps) or a point cache (.pc2, .mdd).",
                    writer->def.frame_count, writer->character->vertex_count, (double)bytes * 1e-9);
}

/* Upper bound of the bytes of all frames and of the animation, when all primitives move. */
static uint64_t expected_size(const sup_cache_writer *writer)
{
    const glb_writer *glb = writer->state;
    double vertex = writer->def.normals ? 24.0 : 12.0, frames = (double)writer->def.frame_count;
    double weight = writer->def.frame_count <= FLOAT_WEIGHT_FRAMES ? 4.0 : 1.0;
    double bytes = frames * vertex * (double)writer->character->vertex_count;
    if (glb->layout.weight_accessor < 0) bytes += frames * (4.0 + (frames - 1.0) * weight);
    bytes += (double)glb->layout.fixed_size;
    return bytes > 1e18 ? UINT64_MAX : (uint64_t)bytes;
}

static sup_result allocate(sup_cache_writer *writer, sup_error *error)
{
    glb_writer *glb = writer->state;
    sup_arena *arena = &glb->layout.arena;
    size_t vertices = (size_t)writer->character->vertex_count, frames = (size_t)writer->def.frame_count;
    size_t records = sup_size_multiply(frames, (size_t)writer->character->primitive_count);
    glb->base = sup_arena_alloc(arena, vertices, 3 * sizeof(float));
    glb->base_normals = sup_arena_alloc(arena, vertices, 3 * sizeof(float));
    glb->packed = sup_arena_alloc(arena, vertices, 6 * sizeof(float));
    glb->frames = sup_arena_alloc(arena, frames + 1, sizeof *glb->frames);
    glb->targets = sup_arena_alloc(arena, records, sizeof *glb->targets);
    bool ok = glb->base != NULL && glb->base_normals != NULL && glb->packed != NULL && glb->frames != NULL &&
              glb->targets != NULL;
    return ok ? SUP_OK : sup_fail_memory(error, "the frames");
}

static sup_result open_glb(sup_cache_writer *writer, sup_error *error)
{
    glb_writer *glb = writer->state;
    sup_glb_layout *layout = &glb->layout;
    layout->context = &writer->context;
    layout->character = writer->character;
    layout->arena = sup_arena_create(&writer->context.allocator);
    layout->tree = sup_json_tree_create(&writer->context.allocator);
    layout->blobs.item_size = sizeof(sup_glb_blob);
    layout->time_accessor = layout->weight_accessor = -1;
    sup_result result = writer->character->document != NULL ? sup_glb_layout_from_document(layout, error)
                                                            : sup_glb_layout_without_document(layout, error);
    if (result == SUP_OK) result = check_size(writer, expected_size(writer), error);
    if (result != SUP_OK) return result;
    if (writer->def.frame_count > 1) add_animation_data(writer);
    if (layout->tree.failed) return sup_fail_memory(error, "the document");
    result = allocate(writer, error);
    return result == SUP_OK ? sup_file_out_open(&glb->out, writer->path, error) : result;
}

/* --- The JSON of the frames --- */

/* A number of a bound; with `measure` a text longer than that of any float. */
static sup_json *bound_value(sup_json_tree *tree, float value, bool measure)
{
    return measure ? sup_json_new_string(tree, "0123456789abcdef") : sup_json_new_float(tree, value + 0.0f);
}

static void set_bounds(sup_json_tree *tree, sup_json *accessor, const target_record *record, bool measure)
{
    sup_json *low = sup_json_get_or_add(tree, accessor, "min", SUP_JSON_ARRAY);
    sup_json *high = sup_json_get_or_add(tree, accessor, "max", SUP_JSON_ARRAY);
    for (int i = 0; i < 3; i++) {
        sup_json_append(tree, low, bound_value(tree, record->low[i], measure));
        sup_json_append(tree, high, bound_value(tree, record->high[i], measure));
    }
}

/* Adds an accessor for one primitive in a frame's view; returns its index. */
static int32_t add_frame_accessor(sup_json_tree *tree, int32_t view, int64_t at, int32_t count,
                                  const target_record *bounds, bool measure)
{
    sup_json *accessor = sup_glb_add_accessor(tree, view, (uint64_t)at, SUP_GLB_FLOAT, count, "VEC3");
    if (bounds != NULL) set_bounds(tree, accessor, bounds, measure);
    return sup_glb_last_accessor(tree);
}

static sup_json *find_primitive(const sup_json_tree *tree, const sup_glb_primitive *primitive)
{
    sup_json *mesh = sup_json_at(sup_json_get(tree->root, "meshes"), primitive->mesh);
    return sup_json_at(sup_json_get(mesh, "primitives"), primitive->index_in_mesh);
}

/* Adds views of the frames and of the zeros after the fixed views. view_of: [frame_count+1] their indices, -1 for
 * none. */
static void add_frame_views(const sup_cache_writer *writer, sup_json_tree *tree, const frame_record *frames,
                            int32_t *view_of)
{
    sup_json *views = sup_json_get_or_add(tree, tree->root, "bufferViews", SUP_JSON_ARRAY);
    for (int32_t f = 0; f <= writer->def.frame_count; f++) {
        view_of[f] = -1;
        if (frames[f].size == 0) continue;
        view_of[f] = sup_json_count(views);
        sup_json *view = sup_json_append(tree, views, sup_json_new_object(tree));
        sup_glb_set_integer(tree, view, "buffer", 0);
        sup_glb_set_integer(tree, view, "byteOffset", (int64_t)frames[f].offset);
        sup_glb_set_integer(tree, view, "byteLength", (int64_t)frames[f].size);
        sup_glb_set_integer(tree, view, "byteStride", 12);
        sup_glb_set_integer(tree, view, "target", SUP_GLB_ARRAY_BUFFER);
    }
}

/* Adds POSITION, NORMAL and the targets of one primitive. */
static void add_primitive(const sup_cache_writer *writer, sup_json_tree *tree, int32_t p, bool moves,
                          const int32_t *view_of, bool measure)
{
    const glb_writer *glb = writer->state;
    const sup_glb_primitive *primitive = &glb->layout.primitives[p];
    sup_json *object = find_primitive(tree, primitive);
    sup_json *attributes = sup_json_get_or_add(tree, object, "attributes", SUP_JSON_OBJECT);
    int32_t count = writer->character->primitives[p].vertex_count, zeros = -1;
    for (int32_t f = 0; f < (moves ? writer->def.frame_count : 1); f++) {
        const target_record *record = record_of(writer, f, p);
        int64_t at[2] = {record->position_at, record->normal_at};
        bool present[2] = {true, primitive->normals && (f == 0 || glb->morph_normals)};
        sup_json *target = attributes;
        if (f > 0)
            target = sup_json_append(tree, sup_json_get_or_add(tree, object, "targets", SUP_JSON_ARRAY),
                                     sup_json_new_object(tree));
        for (int i = 0; i < 2; i++) {
            if (!present[i]) continue;
            int32_t accessor = zeros;
            if (measure || at[i] >= 0)
                accessor = add_frame_accessor(tree, view_of[f], measure ? INT32_MAX : at[i], count,
                                              i == 0 ? record : NULL, measure);
            else if (zeros < 0)
                accessor = zeros =
                    add_frame_accessor(tree, view_of[writer->def.frame_count], 0, count, &(target_record){0}, false);
            sup_glb_set_integer(tree, target, i == 0 ? "POSITION" : "NORMAL", accessor);
        }
    }
}

static bool mesh_moves(const sup_cache_writer *writer, const sup_glb_mesh *mesh)
{
    for (int32_t f = 1; f < writer->def.frame_count; f++)
        for (int32_t p = mesh->primitive_first; p < mesh->primitive_first + mesh->primitive_count; p++) {
            const target_record *record = record_of(writer, f, p);
            if (record->position_at >= 0 || record->normal_at >= 0) return true;
        }
    return false;
}

/* One animation, one sampler, one channel per mesh that moves; default weights are 0. */
static void add_channel(const sup_cache_writer *writer, sup_json_tree *tree, const sup_glb_mesh *mesh)
{
    const sup_glb_layout *layout = &((const glb_writer *)writer->state)->layout;
    sup_json *animations = sup_json_get_or_add(tree, tree->root, "animations", SUP_JSON_ARRAY);
    sup_json *animation = sup_json_at(animations, 0);
    if (animation == NULL) {
        animation = sup_json_append(tree, animations, sup_json_new_object(tree));
        sup_glb_set_text(tree, animation, "name", writer->def.name);
        sup_json *samplers = sup_json_get_or_add(tree, animation, "samplers", SUP_JSON_ARRAY);
        sup_json *sampler = sup_json_append(tree, samplers, sup_json_new_object(tree));
        sup_glb_set_integer(tree, sampler, "input", layout->time_accessor);
        sup_glb_set_integer(tree, sampler, "output", layout->weight_accessor);
        sup_glb_set_text(tree, sampler, "interpolation", "LINEAR");
    }
    sup_json *channels = sup_json_get_or_add(tree, animation, "channels", SUP_JSON_ARRAY);
    sup_json *channel = sup_json_append(tree, channels, sup_json_new_object(tree));
    sup_glb_set_integer(tree, channel, "sampler", 0);
    sup_json *target = sup_json_get_or_add(tree, channel, "target", SUP_JSON_OBJECT);
    sup_glb_set_integer(tree, target, "node", mesh->node);
    sup_glb_set_text(tree, target, "path", "weights");
    sup_json *weights = sup_json_get_or_add(tree, sup_json_at(sup_json_get(tree->root, "meshes"), mesh->mesh),
                                            "weights", SUP_JSON_ARRAY);
    for (int32_t f = 1; f < writer->def.frame_count; f++)
        sup_json_append(tree, weights, sup_json_new_integer(tree, 0));
}

/* Completes the document with the data of the frames and appends its text. With `measure` every number has its maximum
 * length and no target is omitted: the text is at least as long as the final one. */
static sup_result make_json(const sup_cache_writer *writer, sup_json_tree *tree, const frame_record *frames,
                            uint64_t bin_size, bool measure, sup_array *text, sup_error *error)
{
    const glb_writer *glb = writer->state;
    const sup_allocator *allocator = &writer->context.allocator;
    size_t size = sup_size_multiply((size_t)writer->def.frame_count + 1, sizeof(int32_t));
    int32_t *view_of = sup_alloc(allocator, size);
    if (view_of == NULL) return sup_fail_memory(error, "the document");
    add_frame_views(writer, tree, frames, view_of);
    for (int32_t m = 0; m < glb->layout.mesh_count; m++) {
        const sup_glb_mesh *mesh = &glb->layout.meshes[m];
        bool moves = writer->def.frame_count > 1 && (measure || mesh_moves(writer, mesh));
        for (int32_t p = mesh->primitive_first; p < mesh->primitive_first + mesh->primitive_count; p++)
            if (glb->layout.primitives[p].mesh >= 0) add_primitive(writer, tree, p, moves, view_of, measure);
        if (moves) add_channel(writer, tree, mesh);
    }
    sup_json *buffers = sup_json_get_or_add(tree, tree->root, "buffers", SUP_JSON_ARRAY);
    sup_json *buffer = sup_json_append(tree, buffers, sup_json_new_object(tree));
    sup_glb_set_integer(tree, buffer, "byteLength", (int64_t)bin_size);
    sup_free(allocator, view_of, size);
    bool written = !tree->failed && sup_json_write(tree->root, allocator, text);
    return written ? SUP_OK : sup_fail_memory(error, "the document");
}

/* Sets json_capacity to the maximum length of the final JSON. */
static sup_result measure_json(sup_cache_writer *writer, sup_error *error)
{
    glb_writer *glb = writer->state;
    const sup_allocator *allocator = &writer->context.allocator;
    sup_json_tree tree = sup_json_tree_create(allocator);
    sup_array text = {.item_size = 1};
    size_t count = (size_t)writer->def.frame_count + 1;
    frame_record *frames = sup_arena_alloc(&tree.arena, count, sizeof *frames);
    sup_result result = SUP_ERROR_MEMORY;
    tree.root = sup_json_copy(&tree, glb->layout.tree.root);
    if (frames != NULL) {
        for (size_t f = 0; f < count; f++)
            frames[f] = (frame_record){UINT32_MAX, UINT32_MAX};
        result = make_json(writer, &tree, frames, UINT32_MAX, true, &text, error);
    } else {
        result = sup_fail_memory(error, "the document");
    }
    glb->json_capacity = (text.count + 3) / 4 * 4;
    sup_array_free(allocator, &text);
    sup_json_tree_destroy(&tree);
    return result;
}

/* --- The first frame --- */

static sup_result write_padding(glb_writer *glb, size_t size, char fill, sup_error *error)
{
    char block[512];
    sup_result result = SUP_OK;
    memset(block, fill, sizeof block);
    for (; result == SUP_OK && size > 0;) {
        size_t length = size < sizeof block ? size : sizeof block;
        result = sup_file_out_write(&glb->out, block, length, error);
        size -= length;
    }
    return result;
}

/* Row f of the weight matrix: 1 for target f - 1, otherwise 0. */
static sup_result write_weights(sup_cache_writer *writer, sup_error *error)
{
    glb_writer *glb = writer->state;
    int32_t frames = writer->def.frame_count, count = frames - 1;
    bool floats = frames <= FLOAT_WEIGHT_FRAMES;
    size_t width = floats ? sizeof(float) : 1, size = (size_t)count * width;
    unsigned char *row = sup_alloc_zero(&writer->context.allocator, size);
    if (row == NULL) return sup_fail_memory(error, "the weights");
    const float on = 1.0f;
    sup_result result = SUP_OK;
    for (int32_t f = 0; result == SUP_OK && f < frames; f++) {
        if (f > 1) memset(row + (size_t)(f - 2) * width, 0, width);
        if (f > 0 && floats) memcpy(row + (size_t)(f - 1) * width, &on, sizeof on);
        if (f > 0 && !floats) row[f - 1] = 255;
        result = sup_file_out_write(&glb->out, row, size, error);
    }
    sup_free(&writer->context.allocator, row, size);
    return result;
}

/* Reserves headers and JSON, then writes all data that does not depend on frames. */
static sup_result write_fixed(sup_cache_writer *writer, sup_error *error)
{
    glb_writer *glb = writer->state;
    const sup_glb_blob *blobs = (const sup_glb_blob *)(const void *)glb->layout.blobs.data;
    sup_result result =
        write_padding(glb, (size_t)GLB_HEADER + CHUNK_HEADER + glb->json_capacity + CHUNK_HEADER, ' ', error);
    for (size_t i = 0; result == SUP_OK && i < glb->layout.blobs.count; i++) {
        result = blobs[i].data != NULL ? sup_file_out_write(&glb->out, blobs[i].data, blobs[i].size, error)
                                       : write_weights(writer, error);
        if (result == SUP_OK) result = write_padding(glb, (4 - blobs[i].size % 4) % 4, '\0', error);
    }
    glb->bin_size = glb->layout.fixed_size;
    return result;
}

static bool any_nonzero(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] != 0.0f) return true;
    return false;
}

static sup_result begin_frames(sup_cache_writer *writer, const float *normals, sup_error *error)
{
    glb_writer *glb = writer->state;
    const sup_character *character = writer->character;
    if (normals != NULL) sup_glb_unit_normals(normals, character->vertex_count, glb->base_normals);
    glb->morph_normals = normals != NULL && writer->def.normals;
    for (int32_t p = 0; p < character->primitive_count; p++) {
        const sup_primitive *primitive = &character->primitives[p];
        glb->layout.primitives[p].normals =
            glb->layout.primitives[p].normals && normals != NULL &&
            any_nonzero(normals + (size_t)primitive->vertex_first * 3, (size_t)primitive->vertex_count * 3);
    }
    sup_result result = measure_json(writer, error);
    if (result == SUP_OK)
        result = check_size(
            writer, expected_size(writer) + glb->json_capacity + GLB_HEADER + (uint64_t)2 * CHUNK_HEADER, error);
    return result == SUP_OK ? write_fixed(writer, error) : result;
}

/* --- Frames --- */

/* to = values - base, with the bounds of each component. Four vertices at a time: twelve lanes, so that the compiler
 * vectorises the loop. */
static void subtract(const float *restrict values, const float *restrict base, float *restrict to, size_t vertices,
                     float low[3], float high[3])
{
    float lane_low[12], lane_high[12];
    size_t count = vertices * 3, i = 0;
    for (int j = 0; j < 12; j++) {
        lane_low[j] = FLT_MAX;
        lane_high[j] = -FLT_MAX;
    }
    for (; i + 12 <= count; i += 12)
        for (int j = 0; j < 12; j++) {
            float d = values[i + (size_t)j] - base[i + (size_t)j];
            to[i + (size_t)j] = d;
            lane_low[j] = d < lane_low[j] ? d : lane_low[j];
            lane_high[j] = d > lane_high[j] ? d : lane_high[j];
        }
    for (; i < count; i++) {
        float d = values[i] - base[i];
        to[i] = d;
        lane_low[i % 3] = d < lane_low[i % 3] ? d : lane_low[i % 3];
        lane_high[i % 3] = d > lane_high[i % 3] ? d : lane_high[i % 3];
    }
    for (int j = 0; j < 3; j++) {
        low[j] = lane_low[j];
        high[j] = lane_high[j];
        for (int k = j + 3; k < 12; k += 3) {
            low[j] = lane_low[k] < low[j] ? lane_low[k] : low[j];
            high[j] = lane_high[k] > high[j] ? lane_high[k] : high[j];
        }
    }
}

static bool moved(const float low[3], const float high[3])
{
    for (int i = 0; i < 3; i++)
        if (low[i] != 0.0f || high[i] != 0.0f) return true;
    return false;
}

/* Appends the values of a primitive to the frame's view and returns their offset; -1 when `optional` and all are
 * zero. */
static int64_t pack(glb_writer *glb, frame_record *frame, const float *values, const float *base, size_t vertices,
                    bool optional, float low[3], float high[3])
{
    float *to = glb->packed + frame->size / sizeof(float);
    subtract(values, base, to, vertices, low, high);
    if (optional && !moved(low, high)) return -1;
    int64_t at = (int64_t)frame->size;
    frame->size += vertices * 3 * sizeof(float);
    return at;
}

/* Packs positions and normals of one primitive. In the first frame `base` is zero: the values are stored unchanged. */
static void pack_primitive(sup_cache_writer *writer, int32_t p, frame_record *frame, const float *positions,
                           const float *normals)
{
    glb_writer *glb = writer->state;
    bool first = writer->frame == 0;
    const sup_primitive *primitive = &writer->character->primitives[p];
    size_t from = (size_t)primitive->vertex_first * 3, vertices = (size_t)primitive->vertex_count;
    target_record *record = record_of(writer, writer->frame, p);
    record->position_at = record->normal_at = -1;
    if (vertices == 0) return;
    record->position_at =
        pack(glb, frame, positions + from, glb->base + from, vertices, !first, record->low, record->high);
    if (!glb->layout.primitives[p].normals || (!first && !glb->morph_normals)) return;
    float low[3], high[3];
    record->normal_at = pack(glb, frame, (first ? glb->base_normals : normals) + from,
                             (first ? glb->base : glb->base_normals) + from, vertices, !first, low, high);
}

static sup_result frame_glb(sup_cache_writer *writer, const float *positions, const float *normals, sup_error *error)
{
    glb_writer *glb = writer->state;
    if (writer->frame == 0) {
        sup_result result = begin_frames(writer, normals, error);
        if (result != SUP_OK) return result;
    }
    frame_record *frame = &glb->frames[writer->frame];
    *frame = (frame_record){glb->bin_size, 0};
    for (int32_t p = 0; p < writer->character->primitive_count; p++)
        pack_primitive(writer, p, frame, positions, normals);
    if (writer->frame == 0) memcpy(glb->base, positions, (size_t)writer->character->vertex_count * 3 * sizeof(float));
    glb->bin_size += frame->size;
    return sup_file_out_write(&glb->out, glb->packed, (size_t)frame->size, error);
}

/* --- The end --- */

static void put_u32(unsigned char *to, uint64_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

/* True when a primitive is unchanged in some frame and needs the shared zeros. */
static bool needs_zeros(const sup_cache_writer *writer, int32_t p)
{
    const glb_writer *glb = writer->state;
    bool normals = glb->layout.primitives[p].normals && glb->morph_normals;
    for (int32_t f = 1; f < writer->def.frame_count; f++) {
        const target_record *record = record_of(writer, f, p);
        if (record->position_at < 0 || (normals && record->normal_at < 0)) return true;
    }
    return false;
}

/* Shared zeros for primitives that do not move while their mesh moves. An accessor without a view is equivalent, but
 * not all viewers support it (three.js issue 24999). */
static sup_result write_zeros(sup_cache_writer *writer, sup_error *error)
{
    glb_writer *glb = writer->state;
    int32_t largest = 0;
    for (int32_t m = 0; m < glb->layout.mesh_count; m++) {
        const sup_glb_mesh *mesh = &glb->layout.meshes[m];
        if (!mesh_moves(writer, mesh)) continue;
        for (int32_t p = mesh->primitive_first; p < mesh->primitive_first + mesh->primitive_count; p++) {
            int32_t count = writer->character->primitives[p].vertex_count;
            if (count > largest && needs_zeros(writer, p)) largest = count;
        }
    }
    size_t size = (size_t)largest * 3 * sizeof(float);
    glb->frames[writer->def.frame_count] = (frame_record){glb->bin_size, size};
    glb->bin_size += size;
    return write_padding(glb, size, '\0', error);
}

static sup_result patch_headers(sup_cache_writer *writer, sup_error *error)
{
    glb_writer *glb = writer->state;
    unsigned char head[GLB_HEADER + CHUNK_HEADER], chunk[CHUNK_HEADER];
    memcpy(head, "glTF", 4);
    put_u32(head + 4, 2);
    put_u32(head + 8, glb->out.written);
    put_u32(head + 12, glb->json_capacity);
    memcpy(head + 16, "JSON", 4);
    put_u32(chunk, glb->bin_size);
    memcpy(chunk + 4, "BIN", 4);
    sup_result result = sup_file_out_patch(&glb->out, 0, head, sizeof head, error);
    return result == SUP_OK
               ? sup_file_out_patch(&glb->out, sizeof head + glb->json_capacity, chunk, sizeof chunk, error)
               : result;
}

static sup_result finish_glb(sup_cache_writer *writer, sup_error *error)
{
    glb_writer *glb = writer->state;
    sup_array text = {.item_size = 1};
    sup_result result = write_zeros(writer, error);
    if (result == SUP_OK) result = check_size(writer, glb->out.written, error);
    if (result == SUP_OK)
        result = make_json(writer, &glb->layout.tree, glb->frames, glb->bin_size, false, &text, error);
    if (result == SUP_OK && text.count > glb->json_capacity)
        result = sup_fail(
            error, SUP_ERROR_NUMERIC, "output.glb.json", writer->path,
            "The JSON document is longer than the reserved space. This is a bug: please report it with this file.");
    if (result == SUP_OK)
        result = sup_file_out_patch(&glb->out, GLB_HEADER + CHUNK_HEADER, text.data, text.count, error);
    sup_array_free(&writer->context.allocator, &text);
    if (result == SUP_OK) result = patch_headers(writer, error);
    writer->bytes = glb->out.written;
    return result == SUP_OK ? sup_file_out_commit(&glb->out, error) : result;
}

static void close_glb(sup_cache_writer *writer)
{
    glb_writer *glb = writer->state;
    sup_file_out_abandon(&glb->out);
    if (glb->layout.context == NULL) return;
    sup_json_tree_destroy(&glb->layout.tree);
    sup_array_free(&writer->context.allocator, &glb->layout.blobs);
    sup_arena_destroy(&glb->layout.arena);
}

const sup_cache_format sup_format_glb = {
    .extension = "glb",
    .summary = "plays in any glTF viewer",
    .state_size = sizeof(glb_writer),
    .open = open_glb,
    .frame = frame_glb,
    .finish = finish_glb,
    .close = close_glb,
};

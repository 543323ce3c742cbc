/* morphs.c - morph targets on the tracked skin: see morphs.h. */
#include "methods/implicit/morphs.h"

#include "methods/linear/linear.h"

static size_t padded(size_t floats)
{
    return (floats * sizeof(float) + 63) / 64 * 64;
}

/* Size of a vector per vertex. Scratch: positions, normals, and weights that are all 0. */
static size_t vector_size(int32_t vertex_count)
{
    return padded(3 * (size_t)vertex_count);
}

size_t sup_morphs_scratch_size(const sup_model *model)
{
    size_t weights = (size_t)sup_model_morph_weight_count(model);
    return weights > 0 ? 2 * vector_size(sup_model_vertex_count(model)) + padded(weights) : 0;
}

bool sup_morphs_active(const sup_model *model, const sup_pose *pose)
{
    if (sup_model_morph_weight_count(model) == 0) return false;
    for (int32_t i = 0; i < pose->morph_weight_count; i++)
        if (pose->morph_weights[i] != 0.0f) return true;
    return false;
}

/* plain <- morphed - plain */
static void subtract(const float *morphed, size_t stride, int32_t count, float *plain)
{
    for (int64_t v = 0; v < count; v++) {
        const float *from = (const float *)(const void *)((const char *)morphed + (size_t)v * stride);
        for (int c = 0; c < 3; c++)
            plain[3 * v + c] = from[c] - plain[3 * v + c];
    }
}

bool sup_morphs_extract(const sup_step_input *input, void *linear, void *scratch, const sup_skin_out *out)
{
    if (!sup_morphs_active(input->model, input->pose)) return false;
    int32_t count = sup_model_vertex_count(input->model);
    size_t stride = vector_size(count);
    float *positions = scratch, *normals = (float *)(void *)((char *)scratch + stride);
    sup_pose pose = *input->pose;
    pose.morph_weights = (float *)(void *)((char *)scratch + 2 * stride);
    sup_step_input without = *input;
    without.pose = &pose;
    sup_skin_out plain = {.positions = out->positions != NULL ? positions : NULL,
                          .position_stride = 3 * sizeof(float),
                          .normals = out->normals != NULL ? normals : NULL,
                          .normal_stride = 3 * sizeof(float)};
    if (sup_method_linear.step(&without, linear, &plain) != SUP_OK) return false;
    if (out->positions != NULL) subtract(out->positions, out->position_stride, count, positions);
    if (out->normals != NULL) subtract(out->normals, out->normal_stride, count, normals);
    return true;
}

typedef struct adding {
    const float *positions, *normals;
    const sup_skin_out *out;
} adding;

static void add_vertex(const adding *a, int32_t vertex)
{
    size_t v = (size_t)vertex;
    const sup_skin_out *out = a->out;
    if (out->positions != NULL) {
        float *p = (float *)(void *)((char *)out->positions + v * out->position_stride);
        for (int c = 0; c < 3; c++)
            p[c] += a->positions[3 * v + (size_t)c];
    }
    if (out->normals == NULL) return;
    float *n = (float *)(void *)((char *)out->normals + v * out->normal_stride), sum[3], square = 0.0f;
    for (int c = 0; c < 3; c++) {
        sum[c] = n[c] + a->normals[3 * v + (size_t)c];
        square += sum[c] * sum[c];
    }
    for (int c = 0; c < 3 && square > 1e-12f; c++)
        n[c] = sum[c] / sqrtf(square);
}

static void add_clusters(const adding *a, const sup_upsample_clusters *clusters)
{
    for (int64_t i = 0; i < (int64_t)clusters->cluster_count * SUP_UPSAMPLE_CLUSTER; i++)
        if (clusters->render_vertex[i] >= 0) add_vertex(a, clusters->render_vertex[i]);
}

void sup_morphs_add(const sup_implicit_render_mesh *mesh, const void *scratch, const sup_skin_out *out)
{
    size_t stride = vector_size(mesh->upsample.vertex_count);
    adding a = {scratch, (const float *)(const void *)((const char *)scratch + stride), out};
    for (int32_t i = 0; i < mesh->own_count; i++)
        add_vertex(&a, mesh->vertex[i]);
    add_clusters(&a, &mesh->upsample.plain);
    add_clusters(&a, &mesh->upsample.followers);
}

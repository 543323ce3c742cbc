/* implicit_render_mesh.c - the render mesh on the tracked skin: bind, check and a frame. */
#include "methods/implicit/implicit_render_mesh.h"

#include "math/vec3.h"

enum { GRAIN = 512 };
static const char *const PREFIX = "upsample";

/* --- Bind --- */

/* Where each render vertex is: at a tracked vertex, on the decimated surface, near it (followers), or not on it
 * (props and rigid components: linear blending moves them). */
static sup_result classify_vertices(const sup_bind_input *input, const sup_simulated_surface *s, bool own,
                                    sup_arena *arena, int32_t *kind, int32_t *coarse, sup_error *error)
{
    const sup_rig *rig = input->rig;
    const int32_t *rigid = sup_rig_rigid_joints(rig);
    size_t count = (size_t)rig->skin_vertex_count;
    int32_t *skin = sup_arena_alloc(arena, count, sizeof *skin), *at = sup_arena_alloc(arena, count, sizeof *at);
    if (skin == NULL || at == NULL) return sup_fail_memory(error, "the render mesh");
    for (size_t v = 0; v < count; v++) {
        skin[v] = SUP_UPSAMPLE_FOLLOWS;
        at[v] = -1;
    }
    for (int32_t v = 0; v < s->fine_count; v++)
        skin[s->fine_source[v]] = SUP_UPSAMPLE_IN_TRIANGLE;
    for (int32_t v = 0; v < s->middle_count; v++)
        skin[s->fine_source[s->middle_fine[v]]] = v;
    for (int32_t v = 0; own && v < s->coarse_count; v++)
        at[s->fine_source[s->coarse_fine[v]]] = v;
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        int32_t from = rig->vertex_to_skin[v] >= 0 && rigid[rig->vertex_to_skin[v]] < 0 ? rig->vertex_to_skin[v] : -1;
        coarse[v] = from >= 0 ? at[from] : -1;
        kind[v] = from < 0 || coarse[v] >= 0 ? SUP_UPSAMPLE_SKIPPED : skin[from];
    }
    return SUP_OK;
}

/* Render vertices at tracked vertices, in the order of the latter for memory locality. */
static sup_result add_own(const sup_rig *rig, const int32_t *coarse, const int32_t *tracked, int32_t tracked_count,
                          sup_arena *arena, sup_model_builder *builder, sup_error *error)
{
    int32_t *first = sup_arena_alloc(arena, (size_t)tracked_count + 1, sizeof *first);
    if (first == NULL) return sup_fail_memory(error, "the render mesh");
    for (int32_t v = 0; v < rig->vertex_count; v++)
        if (coarse[v] >= 0) first[tracked[coarse[v]] + 1]++;
    for (int32_t r = 0; r < tracked_count; r++)
        first[r + 1] += first[r];
    int64_t count = first[tracked_count];
    int32_t *vertex = sup_model_add(builder, "render.vertex", SUP_ARRAY_INT32, count);
    int32_t *indices = sup_model_add(builder, "render.tracked", SUP_ARRAY_INT32, count);
    float *normal = sup_model_add(builder, "render.normal", SUP_ARRAY_FLOAT, 3 * count);
    float *tangent = sup_model_add(builder, "render.tangent", SUP_ARRAY_FLOAT, rig->tangents != NULL ? 4 * count : 0);
    if (vertex == NULL || indices == NULL || normal == NULL || tangent == NULL)
        return sup_fail_memory(error, "the render mesh");
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        if (coarse[v] < 0) continue;
        int64_t i = first[tracked[coarse[v]]]++;
        vertex[i] = v;
        indices[i] = tracked[coarse[v]];
        memcpy(normal + 3 * i, rig->normals + 3 * (int64_t)v, 3 * sizeof(float));
        if (rig->tangents != NULL) memcpy(tangent + 4 * i, rig->tangents + 4 * (int64_t)v, 4 * sizeof(float));
    }
    return SUP_OK;
}

sup_result sup_implicit_render_mesh_bind(const sup_bind_input *input, const sup_simulated_surface *surface,
                                         const int32_t *tracked, sup_arena *arena, sup_model_builder *builder,
                                         sup_error *error)
{
    const sup_rig *rig = input->rig;
    size_t count = (size_t)surface->coarse_count, corners = 3 * (size_t)surface->coarse_triangle_count;
    int32_t *kind = sup_arena_alloc(arena, (size_t)rig->vertex_count, sizeof *kind);
    int32_t *coarse = sup_arena_alloc(arena, (size_t)rig->vertex_count, sizeof *coarse);
    int32_t *vertices = sup_arena_alloc(arena, count, sizeof *vertices);
    int32_t *triangles = sup_arena_alloc(arena, corners, sizeof *triangles);
    if (kind == NULL || coarse == NULL || vertices == NULL || triangles == NULL)
        return sup_fail_memory(error, "the render mesh");
    bool own = surface->coarse_count == surface->fine_count;
    sup_result result = classify_vertices(input, surface, own, arena, kind, coarse, error);
    if (result == SUP_OK) result = add_own(rig, coarse, tracked, surface->coarse_count, arena, builder, error);
    if (result != SUP_OK) return result;
    for (size_t v = 0; v < count; v++)
        vertices[tracked[v]] = surface->coarse_middle[v];
    for (size_t i = 0; i < corners; i++)
        triangles[i] = tracked[surface->coarse_triangles[i]];
    sup_upsample_def def = {.surface = {surface->middle_count, surface->middle_triangle_count,
                                        surface->middle_positions, surface->middle_triangles},
                            .coarse_count = surface->coarse_count,
                            .coarse_vertices = vertices,
                            .coarse_triangle_count = surface->coarse_triangle_count,
                            .coarse_triangles = triangles,
                            .vertex_count = rig->vertex_count,
                            .positions = rig->positions,
                            .normals = rig->normals,
                            .tangents = rig->tangents,
                            .surface_vertex = kind};
    return sup_upsample_bind(input->context, &def, builder, PREFIX, NULL, error);
}

/* --- Check --- */

sup_result sup_implicit_render_mesh_open(const sup_model *model, int32_t tracked_count, sup_implicit_render_mesh *mesh,
                                         sup_error *error)
{
    memset(mesh, 0, sizeof *mesh);
    sup_result result = sup_upsample_open(model, PREFIX, &mesh->upsample, error);
    if (result != SUP_OK) return result;
    int64_t count = sup_model_array_count(model, "render.vertex");
    bool tangents = sup_model_array_count(model, "render.tangent") > 0;
    mesh->vertex = sup_model_array(model, "render.vertex", SUP_ARRAY_INT32, -1);
    mesh->tracked = sup_model_array(model, "render.tracked", SUP_ARRAY_INT32, count);
    mesh->normal = sup_model_array(model, "render.normal", SUP_ARRAY_FLOAT, 3 * count);
    const float *tangent = sup_model_array(model, "render.tangent", SUP_ARRAY_FLOAT, tangents ? 4 * count : 0);
    bool ok = mesh->vertex != NULL && mesh->tracked != NULL && mesh->normal != NULL && tangent != NULL &&
              count <= sup_model_vertex_count(model) && mesh->upsample.coarse_count == tracked_count &&
              mesh->upsample.vertex_count == sup_model_vertex_count(model) &&
              (count == 0 || tangents == mesh->upsample.has_tangents);
    for (int64_t i = 0; ok && i < count; i++)
        ok = mesh->vertex[i] >= 0 && mesh->vertex[i] < sup_model_vertex_count(model) && mesh->tracked[i] >= 0 &&
             mesh->tracked[i] < tracked_count;
    for (int64_t i = 0; ok && i < 3 * count; i++)
        ok = fabsf(mesh->normal[i]) <= 1.01f;
    for (int64_t i = 0; ok && tangents && i < 4 * count; i++)
        ok = fabsf(tangent[i]) <= 1.01f;
    if (!ok)
        return sup_fail(error, SUP_ERROR_FORMAT, "implicit.model", "",
                        "The model is damaged: its render mesh does not match the tracked skin. Bind it again.");
    mesh->own_count = (int32_t)count;
    mesh->tangent = tangents ? tangent : NULL;
    return SUP_OK;
}

/* --- A frame --- */

static size_t padded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

size_t sup_implicit_render_mesh_scratch_size(const sup_implicit_render_mesh *mesh)
{
    return padded((size_t)mesh->upsample.coarse_count * 4 * sizeof(float)) + sup_upsample_scratch(&mesh->upsample);
}

typedef struct render_work {
    const sup_implicit_render_mesh *mesh;
    const sup_implicit_render_mesh_input *input;
    const float *packed; /* [tracked_count*8] positions and normals of the tracked skin */
    float *scaled;
    const sup_skin_out *out;
} render_work;

static void scale_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const render_work *w = work;
    float size = (float)w->input->size;
    SUP_UNUSED(worker);
    for (int64_t i = 4 * (int64_t)begin; i < 4 * (int64_t)end; i++)
        w->scaled[i] = size * w->input->positions[i];
}

static void rotate(const float m[12], const float v[3], float to[3])
{
    for (int r = 0; r < 3; r++)
        to[r] = m[4 * r] * v[0] + m[4 * r + 1] * v[1] + m[4 * r + 2] * v[2];
}

static bool make_unit(float v[3])
{
    float square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    if (fabsf(square - 1.0f) < 2e-6f) return true; /* within the rounding error of rotations */
    if (!(square > 1e-20f) || !(square < 1e20f)) return false;
    float scale = 1.0f / sqrtf(square);
    for (int c = 0; c < 3; c++)
        v[c] *= scale;
    return true;
}

/* Rotates v by the shortest rotation from a to b, unit vectors: v - (h . v) h / (1 + a . b) + 2 (a . v) b, with h = a +
 * b. */
static void swing(const float a[3], const float b[3], float v[3])
{
    const float h[3] = {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
    float c = 1.0f + a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    if (!(c > 0.05f)) return;
    float back = (h[0] * v[0] + h[1] * v[1] + h[2] * v[2]) / c, on = 2.0f * (a[0] * v[0] + a[1] * v[1] + a[2] * v[2]);
    for (int i = 0; i < 3; i++)
        v[i] += on * b[i] - back * h[i];
}

/* Rotates a direction of the bind pose with its vertex, then by the rotation that aligns the normal with that of the
 * tracked skin. */
static void rotate_direction(const render_work *w, int64_t vertex, const float rest[3], float to[3])
{
    const float *m = w->input->transforms + 12 * vertex, *now = w->packed + 8 * vertex + 4;
    const float *normal = w->mesh->upsample.rest_normal + 3 * vertex;
    float from[3], v[3];
    rotate(m, rest, v);
    rotate(m, normal, from);
    if (make_unit(from)) swing(from, now, v);
    if (!make_unit(v)) memcpy(v, rest, sizeof v);
    memcpy(to, v, sizeof v);
}

static void write_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const render_work *w = work;
    const sup_skin_out *out = w->out;
    SUP_UNUSED(worker);
    for (int64_t i = begin; i < end; i++) {
        int64_t vertex = w->mesh->tracked[i];
        size_t v = (size_t)w->mesh->vertex[i];
        const float *p = w->input->positions + 4 * vertex;
        if (out->positions != NULL) {
            float *to = (float *)(void *)((char *)out->positions + v * out->position_stride);
            for (int c = 0; c < 3; c++)
                to[c] = (float)(w->input->origin[c] + w->input->size * (double)p[c]);
        }
        if (out->normals != NULL)
            rotate_direction(w, vertex, w->mesh->normal + 3 * i,
                             (float *)(void *)((char *)out->normals + v * out->normal_stride));
        if (out->tangents != NULL) {
            float *to = (float *)(void *)((char *)out->tangents + v * out->tangent_stride);
            rotate_direction(w, vertex, w->mesh->tangent + 4 * i, to);
            to[3] = w->mesh->tangent[4 * i + 3];
        }
    }
}

/* Adds the origin to the positions that upsampling wrote. */
static void add_origin(const render_work *w, const sup_upsample_clusters *clusters)
{
    for (int64_t i = 0; i < (int64_t)clusters->cluster_count * SUP_UPSAMPLE_CLUSTER; i++) {
        int32_t v = clusters->render_vertex[i];
        if (v < 0) continue;
        float *p = (float *)(void *)((char *)w->out->positions + (size_t)v * w->out->position_stride);
        for (int c = 0; c < 3; c++)
            p[c] = (float)((double)p[c] + w->input->origin[c]);
    }
}

sup_result sup_implicit_render_mesh_apply(const sup_context *context, const sup_implicit_render_mesh *mesh,
                                          const sup_implicit_render_mesh_input *input, void *scratch,
                                          const sup_skin_out *out)
{
    int32_t count = mesh->upsample.coarse_count;
    unsigned char *after = (unsigned char *)scratch + padded((size_t)count * 4 * sizeof(float));
    render_work work = {mesh, input, sup_upsample_coarse_vertices(after), scratch, out};
    if (out->tangents != NULL && !mesh->upsample.has_tangents) return SUP_ERROR_ARGUMENT;
    sup_parallel(context, count, GRAIN, scale_range, &work);
    sup_result result = sup_upsample_apply(context, &mesh->upsample, scratch, after, out);
    if (result != SUP_OK) return result;
    if (out->positions != NULL) {
        add_origin(&work, &mesh->upsample.plain);
        add_origin(&work, &mesh->upsample.followers);
    }
    sup_parallel(context, mesh->own_count, GRAIN, write_range, &work);
    return SUP_OK;
}

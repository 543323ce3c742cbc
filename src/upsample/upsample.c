/* upsample.c - one frame: normals of the coarse mesh, then all clusters in parallel. */
#include "upsample/upsample.h"
#include "base/simd.h"

enum { VERTEX_GRAIN = 1024, CLUSTER_GRAIN = 32 };

typedef struct frame {
    const sup_upsample *view;
    sup_skin_out out;       /* strides set */
    const float *positions; /* [coarse_count*4] */
    float *coarse;          /* [coarse_count*8] */
    float *cross;           /* [coarse_triangle_count*4] normals of triangles, length twice the area */
    sup_upsample_kernel *kernel;
    int32_t plain_chunks; /* chunks of plain clusters; chunks of followers come after them */
} frame;

static size_t padded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

size_t sup_upsample_scratch(const sup_upsample *view)
{
    return padded((size_t)view->coarse_count * 8 * sizeof(float)) +
           padded((size_t)view->coarse_triangle_count * 4 * sizeof(float));
}

const float *sup_upsample_coarse_vertices(const void *scratch)
{
    return scratch; /* `coarse` is first */
}

static void cross_triangles(void *work, int32_t begin, int32_t end, int32_t worker)
{
    frame *f = work;
    SUP_UNUSED(worker);
    for (int32_t t = begin; t < end; t++) {
        const int32_t *corners = f->view->triangles + 3 * (size_t)t;
        const float *a = f->positions + 4 * (size_t)corners[0], *b = f->positions + 4 * (size_t)corners[1];
        const float *c = f->positions + 4 * (size_t)corners[2];
        float u[3], v[3], *cross = f->cross + 4 * (size_t)t;
        for (int32_t i = 0; i < 3; i++) {
            u[i] = b[i] - a[i];
            v[i] = c[i] - a[i];
        }
        cross[3] = 0.0f;
        for (int32_t i = 0; i < 3; i++)
            cross[i] = u[(i + 1) % 3] * v[(i + 2) % 3] - u[(i + 2) % 3] * v[(i + 1) % 3];
    }
}

/* Interleaves positions and unit normals of coarse vertices. Lengths in double: squares of areas overflow float. */
static void pack_vertices(void *work, int32_t begin, int32_t end, int32_t worker)
{
    frame *f = work;
    const sup_upsample *view = f->view;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        sup_four sum = sup_four_splat(0.0f);
        for (int32_t i = view->corner_first[v]; i < view->corner_first[v + 1]; i++)
            sum += sup_four_load(f->cross + 4 * (size_t)view->corner_triangle[i]);
        const double x = (double)sum[0], y = (double)sum[1], z = (double)sum[2];
        double length = sqrt(x * x + y * y + z * z);
        const float scaled[3] = {(float)(x / length), (float)(y / length), (float)(z / length)};
        const float *position = f->positions + 4 * (size_t)v;
        const float *normal = length > 0.0 && length < 1e300 ? scaled : view->rest_normal + 3 * (size_t)v;
        const float packed[8] = {position[0], position[1], position[2], 0.0f, normal[0], normal[1], normal[2], 0.0f};
        memcpy(f->coarse + 8 * (size_t)v, packed, sizeof packed);
    }
}

static void run_chunks(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const frame *f = work;
    SUP_UNUSED(worker);
    for (int32_t chunk = begin; chunk < end; chunk++) {
        bool plain = chunk < f->plain_chunks;
        sup_upsample_work task = {plain ? &f->view->plain : &f->view->followers, f->coarse, f->out, 0, 0};
        task.begin = (plain ? chunk : chunk - f->plain_chunks) * CLUSTER_GRAIN;
        int32_t remaining = task.clusters->cluster_count - task.begin;
        task.end = task.begin + (remaining < CLUSTER_GRAIN ? remaining : CLUSTER_GRAIN);
        f->kernel(&task);
    }
}

static sup_upsample_kernel *kernel_of(int32_t lanes)
{
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    if (lanes >= 16) return sup_upsample_clusters_avx512;
    if (lanes >= 8) return sup_upsample_clusters_avx2;
#else
    SUP_UNUSED(lanes);
#endif
    return sup_upsample_clusters_base;
}

sup_result sup_upsample_apply_lanes(const sup_context *context, const sup_upsample *view, const float *coarse_positions,
                                    void *scratch, const sup_skin_out *out, int32_t lanes)
{
    if (out->tangents != NULL && !view->has_tangents) return SUP_ERROR_ARGUMENT;
    frame f = {.view = view, .out = *out, .positions = coarse_positions, .coarse = scratch};
    f.cross = (float *)(void *)((char *)scratch + padded((size_t)view->coarse_count * 8 * sizeof(float)));
    f.kernel = kernel_of(lanes);
    if (f.out.position_stride == 0) f.out.position_stride = 3 * sizeof(float);
    if (f.out.normal_stride == 0) f.out.normal_stride = 3 * sizeof(float);
    if (f.out.tangent_stride == 0) f.out.tangent_stride = 4 * sizeof(float);
    f.plain_chunks = (view->plain.cluster_count + CLUSTER_GRAIN - 1) / CLUSTER_GRAIN;
    int32_t follower_chunks = (view->followers.cluster_count + CLUSTER_GRAIN - 1) / CLUSTER_GRAIN;
    sup_parallel(context, view->coarse_triangle_count, VERTEX_GRAIN, cross_triangles, &f);
    sup_parallel(context, view->coarse_count, VERTEX_GRAIN, pack_vertices, &f);
    sup_parallel(context, f.plain_chunks + follower_chunks, 1, run_chunks, &f);
    return SUP_OK;
}

sup_result sup_upsample_apply(const sup_context *context, const sup_upsample *view, const float *coarse_positions,
                              void *scratch, const sup_skin_out *out)
{
    return sup_upsample_apply_lanes(context, view, coarse_positions, scratch, out, sup_simd_lanes());
}

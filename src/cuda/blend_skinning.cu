/* blend_skinning.cu - linear blending and dual quaternions on the device: a thread per vertex.
 *
 * Based on: [aburumman2016survey] eq. 1 and 2, [kavan2008dual]. The same arithmetic as src/methods/linear and dualquat,
 * on the same arrays. */
#include "cuda/gpu_render_mesh.h"
#include "cuda/lanes.cuh"
#include "cuda/launch.cuh"
#include "cuda/store_vertex.cuh"
#include "skin/skin.h"

enum { THREADS = 256, JOINT_FLOATS = 24 };
/* A stretch nearer to the identity than this is float noise of a rigid joint. The CPU, which computes it in double,
 * uses half of it (dualquat.c). */
#define RIGID_TOLERANCE 4e-6f

static __device__ void rotate(const double q[4], const float v[3], double out[3])
{
    double x = q[0], y = q[1], z = q[2], w = q[3];
    double a = w * v[0] + y * v[2] - z * v[1], b = w * v[1] + z * v[0] - x * v[2], c = w * v[2] + x * v[1] - y * v[0];
    double d = x * v[0] + y * v[1] + z * v[2];
    out[0] = d * x + a * w + b * -z - c * -y;
    out[1] = d * y + b * w + c * -x - a * -z;
    out[2] = d * z + c * w + a * -y - b * -x;
}

/* M = D S as in dualquat.c: a dual quaternion, and a stretch about the joint's position in the bind pose. */
__global__ void __launch_bounds__(THREADS)
    split_kernel(const __grid_constant__ sup_gpu_skin skin, const __grid_constant__ sup_gpu_joints joints)
{
    wait_for_kernel();
    int i = blockIdx.x * THREADS + threadIdx.x, j = i % joints.joint_count;
    if (i >= joints.count * joints.joint_count) return;
    const float *m = joints.pose + (size_t)i * 12, *c = skin.joint_centre + 3 * (size_t)j;
    const float f[9] = {m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]};
    double q[4], r[3], t[3];
    float *to = skin.rigid + (size_t)i * JOINT_FLOATS, *stretch = to + 8, off = 0.0f;
    sup_nearest_quaternion(f, q);
    for (int k = 0; k < 3; k++) { /* column k of R^T M */
        const float column[3] = {f[k], f[3 + k], f[6 + k]};
        const double back[4] = {-q[0], -q[1], -q[2], q[3]};
        rotate(back, column, r);
        for (int row = 0; row < 3; row++) {
            stretch[4 * row + k] = (float)r[row];
            off = fmaxf(off, fabsf((float)r[row] - (row == k ? 1.0f : 0.0f)));
        }
    }
    for (int row = 0; row < 3; row++)
        stretch[4 * row + 3] =
            c[row] - (stretch[4 * row] * c[0] + stretch[4 * row + 1] * c[1] + stretch[4 * row + 2] * c[2]);
    rotate(q, c, r);
    for (int row = 0; row < 3; row++)
        t[row] = 0.5 * ((double)m[4 * row] * c[0] + (double)m[4 * row + 1] * c[1] + (double)m[4 * row + 2] * c[2] +
                        m[4 * row + 3] - r[row]);
    for (int k = 0; k < 4; k++)
        to[k] = (float)q[k];
    to[4] = (float)(t[0] * q[3] + t[1] * q[2] - t[2] * q[1]);
    to[5] = (float)(t[1] * q[3] + t[2] * q[0] - t[0] * q[2]);
    to[6] = (float)(t[2] * q[3] + t[0] * q[1] - t[1] * q[0]);
    to[7] = (float)(-t[0] * q[0] - t[1] * q[1] - t[2] * q[2]);
    to[20] = off > RIGID_TOLERANCE ? 1.0f : 0.0f;
}

/* The joints of a lane. */
struct lane_view {
    int slots, stride; /* stride between the joints of two slots */
    const uint16_t *joints;
    const float *weights; /* SUP_SKIN_CLUSTER apart */
    int strongest;
};

static __device__ lane_view view_lane(const sup_gpu_skin &skin, int at)
{
    int block = at / SUP_SKIN_CLUSTER, lane = at % SUP_SKIN_CLUSTER, first = skin.joint_first[block];
    lane_view v;
    v.slots = (skin.weight_first[block + 1] - skin.weight_first[block]) / SUP_SKIN_CLUSTER;
    bool shared = skin.joint_first[block + 1] - first == v.slots;
    v.stride = shared ? 1 : SUP_SKIN_CLUSTER;
    v.joints = skin.joints + first + (shared ? 0 : lane);
    v.weights = skin.weights + skin.weight_first[block] + lane;
    v.strongest = shared ? skin.strongest[at] : 0;
    return v;
}

/* All weight on the strongest joint. */
static __device__ void keep_strongest(lane_view &v)
{
    static const __device__ float whole = 1.0f;
    v.joints += v.strongest * v.stride;
    v.weights = &whole;
    v.slots = 1;
    v.strongest = 0;
}

static __device__ void blend(const lane_view &v, const float *joints, int stride, float m[12])
{
    for (int i = 0; i < 12; i++)
        m[i] = 0.0f;
    for (int slot = 0; slot < v.slots; slot++) {
        float w = v.weights[slot * SUP_SKIN_CLUSTER];
        if (w == 0.0f) continue;
        const float4 *j = (const float4 *)(joints + (size_t)v.joints[slot * v.stride] * stride);
#pragma unroll
        for (int r = 0; r < 3; r++) {
            float4 row = j[r];
            m[4 * r] = fmaf(w, row.x, m[4 * r]);
            m[4 * r + 1] = fmaf(w, row.y, m[4 * r + 1]);
            m[4 * r + 2] = fmaf(w, row.z, m[4 * r + 2]);
            m[4 * r + 3] = fmaf(w, row.w, m[4 * r + 3]);
        }
    }
}

/* Blends dual quaternions in the hemisphere of the strongest joint's; the matrix of the result after the blended
 * stretch. */
static __device__ void blend_rigid(const lane_view &v, const float *joints, float m[12])
{
    const float *pivot = joints + (size_t)v.joints[v.strongest * v.stride] * JOINT_FLOATS;
    float q[8] = {0}, stretched = 0.0f;
    for (int slot = 0; slot < v.slots; slot++) {
        const float *j = joints + (size_t)v.joints[slot * v.stride] * JOINT_FLOATS;
        float side = pivot[0] * j[0] + pivot[1] * j[1] + pivot[2] * j[2] + pivot[3] * j[3];
        float w = side < 0.0f ? -v.weights[slot * SUP_SKIN_CLUSTER] : v.weights[slot * SUP_SKIN_CLUSTER];
        for (int i = 0; i < 8; i++)
            q[i] = fmaf(w, j[i], q[i]);
        stretched += j[20];
    }
    const float *e = q + 4;
    float s = 2.0f / (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    float x = q[0] * s, y = q[1] * s, z = q[2] * s, w = q[3] * s;
    float d[12] = {1 - (q[1] * y + q[2] * z), q[0] * y - q[3] * z,
                   q[0] * z + q[3] * y,       w * e[0] - x * e[3] + y * e[2] - z * e[1],
                   q[0] * y + q[3] * z,       1 - (q[0] * x + q[2] * z),
                   q[1] * z - q[3] * x,       w * e[1] - y * e[3] + z * e[0] - x * e[2],
                   q[0] * z - q[3] * y,       q[1] * z + q[3] * x,
                   1 - (q[0] * x + q[1] * y), w * e[2] - z * e[3] + x * e[1] - y * e[0]};
    float stretch[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    if (stretched > 0.0f) blend(v, joints + 8, JOINT_FLOATS, stretch);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++)
            m[4 * r + c] = d[4 * r] * stretch[c] + d[4 * r + 1] * stretch[4 + c] + d[4 * r + 2] * stretch[8 + c] +
                           (c == 3 ? d[4 * r + 3] : 0.0f);
}

/* Transforms a normal by the cofactors; returns the sign of the determinant, which keeps it outside (skin_kernel.h). */
static __device__ float transform_normal(const float m[12], const float n[3], float out[3])
{
    float c[3][3];
    for (int r = 0; r < 3; r++) {
        const float *a = m + 4 * ((r + 1) % 3), *b = m + 4 * ((r + 2) % 3);
        for (int k = 0; k < 3; k++)
            c[r][k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
    }
    float sign = m[0] * c[0][0] + m[1] * c[0][1] + m[2] * c[0][2] < 0.0f ? -1.0f : 1.0f;
    for (int r = 0; r < 3; r++)
        out[r] = sign * (c[r][0] * n[0] + c[r][1] * n[1] + c[r][2] * n[2]);
    return sign;
}

/* The morph targets of a lane, in the order of skin_morph.c. */
static __device__ void add_morphs(const sup_gpu_morphs &morphs, int lane, int character, float p[3], float n[3])
{
    const float *weights = morphs.weights + (size_t)character * morphs.weight_count;
    for (int e = morphs.first[lane]; e < morphs.first[lane + 1]; e++) {
        const float weight = weights[morphs.weight[e]], *offsets = morphs.offsets + 6 * (size_t)e;
        for (int k = 0; k < 3 && weight != 0.0f; k++) {
            p[k] += weight * offsets[k];
            n[k] += weight * offsets[3 + k];
        }
    }
}

/* Tangents are transformed by the matrix itself; a reflection changes the handedness. */
static __device__ void transform_tangent(const sup_gpu_skin &skin, const sup_gpu_out &out, const float m[12],
                                         float sign, int at, int vertex, int character)
{
    const float *from = skin.tangents + (size_t)(at / SUP_SKIN_CLUSTER) * 4 * SUP_SKIN_CLUSTER + at % SUP_SKIN_CLUSTER;
    const float t[4] = {from[0], from[SUP_SKIN_CLUSTER], from[2 * SUP_SKIN_CLUSTER], from[3 * SUP_SKIN_CLUSTER]};
    float turned[3];
    for (int r = 0; r < 3; r++)
        turned[r] = m[4 * r] * t[0] + m[4 * r + 1] * t[1] + m[4 * r + 2] * t[2];
    store_tangent(out, vertex, character, turned, sign * t[3], t);
}

/* MORE: also morph targets, tangents or characters with the command `strongest`. */
template <bool RIGID, bool MORE>
__global__ void __launch_bounds__(THREADS)
    skin_kernel(const __grid_constant__ sup_gpu_skin skin, const __grid_constant__ sup_gpu_joints joints,
                const sup_gpu_command *commands, const __grid_constant__ sup_gpu_out out)
{
    wait_for_kernel();
    int i = blockIdx.x * THREADS + threadIdx.x, character = blockIdx.y;
    if (i >= skin.lane_count || commands[character].hidden) return;
    int at = skin.lane[i], vertex = skin.vertex[i];
    const size_t base = (size_t)(at / SUP_SKIN_CLUSTER) * SUP_SKIN_CHANNEL + at % SUP_SKIN_CLUSTER;
    lane_view v = view_lane(skin, at);
    if (MORE && commands[character].strongest) keep_strongest(v);
    float m[12], p[3], n[3], turned[3], rest[3];
    if (RIGID)
        blend_rigid(v, skin.rigid + (size_t)character * joints.joint_count * JOINT_FLOATS, m);
    else
        blend(v, joints.pose + (size_t)character * joints.joint_count * 12, 12, m);
    for (int k = 0; k < 3; k++) {
        p[k] = skin.positions[base + k * SUP_SKIN_CLUSTER];
        n[k] = rest[k] = skin.normals[base + k * SUP_SKIN_CLUSTER];
    }
    if (MORE && skin.morphs.weight_count > 0) add_morphs(skin.morphs, i, character, p, n);
    if (out.positions != NULL)
        store3(out.positions, out.vertex_stride[0], out.instance_stride[0], vertex, character,
               m[0] * p[0] + m[1] * p[1] + m[2] * p[2] + m[3], m[4] * p[0] + m[5] * p[1] + m[6] * p[2] + m[7],
               m[8] * p[0] + m[9] * p[1] + m[10] * p[2] + m[11]);
    if (out.normals == NULL) return;
    const float sign = transform_normal(m, n, turned);
    store_unit(out, vertex, character, turned[0], turned[1], turned[2], rest);
    if (MORE && out.tangents != NULL) transform_tangent(skin, out, m, sign, at, vertex, character);
}

template <bool RIGID>
static void launch_skin(const sup_gpu_skin &skin, const sup_gpu_joints &joints, const sup_gpu_command *commands,
                        bool some_rigid, const sup_gpu_out &out, cudaStream_t stream)
{
    dim3 grid((skin.lane_count + THREADS - 1) / THREADS, joints.count);
    if (skin.morphs.weight_count > 0 || out.tangents != NULL || some_rigid)
        launch_early(skin_kernel<RIGID, true>, grid, THREADS, 0, stream, skin, joints, commands, out);
    else
        launch_early(skin_kernel<RIGID, false>, grid, THREADS, 0, stream, skin, joints, commands, out);
}

extern "C" int sup_gpu_skin_step(const sup_gpu_skin *skin, const sup_gpu_joints *joints,
                                 const sup_gpu_command *commands, bool some_rigid, const sup_gpu_out *out, void *stream)
{
    cudaStream_t on = (cudaStream_t)stream;
    if (skin->lane_count == 0) return 0;
    if (skin->rigid == NULL) {
        launch_skin<false>(*skin, *joints, commands, some_rigid, *out, on);
        return (int)cudaGetLastError();
    }
    int all = joints->count * joints->joint_count;
    launch_early(split_kernel, dim3((all + THREADS - 1) / THREADS), THREADS, 0, on, *skin, *joints);
    launch_skin<true>(*skin, *joints, commands, some_rigid, *out, on);
    return (int)cudaGetLastError();
}

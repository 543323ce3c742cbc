/* pose.cu - samples clips, composes skeletons and evaluates anchors on the device: a crowd needs a few bytes per frame.
 *
 * The same arithmetic as src/pose (glTF 2.0, appendix C) in float, and as tissue/anchors_step.c. */
#include "cuda/gpu_colliders.h"
#include "cuda/lanes.cuh"
#include "cuda/launch.cuh"
#include "cuda/sleep.cuh"

#define SUP_ANCHOR static __device__
#include "tissue/anchors_kernel.h"

static __device__ void nearest_rotation(const float *m, bool finite, float rotation[4])
{
    const float f[9] = {m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]};
    double q[4] = {0.0, 0.0, 0.0, 1.0};
    if (finite) sup_nearest_quaternion(f, q);
    for (int i = 0; i < 4; i++)
        rotation[i] = (float)q[i];
}

/* --- Clips --- */

static __device__ int key_before(const float *times, int count, float time)
{
    int low = -1, high = count;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (times[middle] <= time)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static __device__ void slerp(const float *a, const float *b, float t, float *out)
{
    float cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3], sign = cosine < 0.0f ? -1.0f : 1.0f;
    float wa = 1.0f - t, wb = t * sign;
    cosine = fminf(cosine * sign, 1.0f);
    if (cosine < 0.9995f) {
        float angle = acosf(cosine), over = 1.0f / sinf(angle);
        wa = sinf((1.0f - t) * angle) * over;
        wb = sinf(t * angle) * over * sign;
    }
    for (int i = 0; i < 4; i++)
        out[i] = wa * a[i] + wb * b[i];
}

/* A channel of WIDTH components; four are a rotation. */
template <int WIDTH>
static __device__ void sample(const sup_gpu_motion &m, const sup_gpu_channel &c, float time, float *value)
{
    const float *times = m.times + c.time_first, *values = m.values + c.value_first;
    const int width = WIDTH, key = key_before(times, c.key_count, time);
    bool cubic = c.interpolation == SUP_INTERPOLATE_CUBIC;
    if (key >= 0 && key + 1 < c.key_count && c.interpolation != SUP_INTERPOLATE_STEP) {
        float interval = times[key + 1] - times[key], t = interval > 0.0f ? (time - times[key]) / interval : 0.0f;
        const float *a = values + (size_t)key * width * (cubic ? 3 : 1), *b = a + width * (cubic ? 3 : 1);
        if (cubic) {
            float t2 = t * t, t3 = t2 * t;
            for (int i = 0; i < width; i++)
                value[i] = (2 * t3 - 3 * t2 + 1) * a[width + i] + interval * (t3 - 2 * t2 + t) * a[2 * width + i] +
                           (3 * t2 - 2 * t3) * b[width + i] + interval * (t3 - t2) * b[i];
        } else if (width == 4) {
            slerp(a, b, t, value);
        } else {
            for (int i = 0; i < width; i++)
                value[i] = a[i] + t * (b[i] - a[i]);
        }
    } else {
        const float *a = values + (size_t)(key < 0 ? 0 : key) * width * (cubic ? 3 : 1) + (cubic ? width : 0);
        for (int i = 0; i < width; i++)
            value[i] = a[i];
    }
    if (width == 4) normalise_quaternion(value);
}

/* Local matrix of a node at a time of a clip. */
static __device__ void local_matrix(const sup_gpu_motion &m, const sup_gpu_clip &clip, int node, float time, float *out)
{
    float trs[10], r[9];
    for (int i = 0; i < 10; i++)
        trs[i] = m.rest[10 * (size_t)node + i];
    const int32_t *first = m.channel_first + clip.node_first + node;
    for (int i = first[0]; i < first[1]; i++) {
        const sup_gpu_channel &c = m.channels[i];
        if (c.target == SUP_CHANNEL_ROTATION)
            sample<4>(m, c, time, trs + 3);
        else
            sample<3>(m, c, time, trs + (c.target == SUP_CHANNEL_TRANSLATION ? 0 : 7));
    }
    normalise_quaternion(trs + 3);
    matrix_of(trs + 3, r);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            out[4 * i + j] = r[3 * i + j] * trs[7 + j];
        out[4 * i + 3] = trs[i];
    }
}

/* a <- b * a */
static __device__ void multiply_left(const float *b, float a[12])
{
    float out[12];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            out[4 * i + j] =
                b[4 * i] * a[j] + b[4 * i + 1] * a[4 + j] + b[4 * i + 2] * a[8 + j] + (j == 3 ? b[4 * i + 3] : 0.0f);
    for (int i = 0; i < 12; i++)
        a[i] = out[i];
}

enum { POSE_THREADS = 128 };

/* A block per character: local matrices of all nodes, then the product from each joint to its root. */
static __device__ void pose_character(const sup_gpu_motion &m, const sup_gpu_joints &joints, const float *seconds,
                                      float *local)
{
    sup_gpu_play play = joints.play[blockIdx.x];
    if (play.clip < 0) return;
    const sup_gpu_clip clip = m.clips[play.clip];
    float length = clip.end - clip.start, time = play.time + play.speed * *seconds;
    if (play.loops && length > 0.0f)
        time = clip.start + (time - clip.start) - length * floorf((time - clip.start) / length);
    else
        time = fminf(fmaxf(time, clip.start), clip.end);
    int *parent = (int *)(local + 12 * m.node_count);
    for (int node = threadIdx.x; node < m.node_count; node += POSE_THREADS) {
        parent[node] = m.parent[node];
        local_matrix(m, clip, node, time, local + 12 * node);
    }
    __syncthreads();
    if (threadIdx.x == 0) joints.play[blockIdx.x].time = time;
    for (int j = threadIdx.x; j < joints.joint_count; j += POSE_THREADS) {
        float a[12], *to = joints.pose + ((size_t)blockIdx.x * joints.joint_count + j) * 12;
        for (int i = 0; i < 12; i++)
            a[i] = joints.inverse_bind[12 * j + i];
        for (int node = joints.node[j]; node >= 0; node = parent[node])
            multiply_left(local + 12 * node, a);
        for (int i = 0; i < 12; i++)
            to[i] = a[i];
    }
}

__global__ void __launch_bounds__(POSE_THREADS)
    pose_kernel(const __grid_constant__ sup_gpu_motion m, const __grid_constant__ sup_gpu_joints joints,
                const float *seconds)
{
    SHARED_ARRAY(float, local);
    wait_for_kernel();
    pose_character(m, joints, seconds, local);
}

/* The same, and the rest counter of the character. */
__global__ void __launch_bounds__(POSE_THREADS)
    wake_kernel(const __grid_constant__ sup_gpu_motion m, const __grid_constant__ sup_gpu_joints joints,
                const float *seconds, const __grid_constant__ sup_gpu_system s,
                const __grid_constant__ sup_gpu_state st)
{
    SHARED_ARRAY(float, local);
    const int character = blockIdx.x, floats = joints.joint_count * 12;
    const size_t at = (size_t)character * floats;
    int moves = 0;
    wait_for_kernel();
    pose_character(m, joints, seconds, local);
    __syncthreads();
    for (int i = threadIdx.x; i < floats; i += POSE_THREADS)
        moves |= sup_rest_entry_moved(joints.pose[at + i], st.step_joints[at + i], i % 12, s.body_size);
    moves = __syncthreads_or(moves);
    if (threadIdx.x == 0)
        st.progress[character] = begin_step(s, st.commands[character], st.progress[character], moves != 0);
}

extern "C" size_t sup_gpu_pose_shared(const sup_gpu_motion *motion)
{
    return (size_t)motion->node_count * (12 * sizeof(float) + sizeof(int)); /* matrices and parent indices */
}

extern "C" int sup_gpu_pose(const sup_gpu_motion *motion, const sup_gpu_joints *joints, const float *seconds,
                            void *stream)
{
    size_t shared = sup_gpu_pose_shared(motion);
    if (motion->clip_count == 0) return 0;
    cudaError_t error = cudaFuncSetAttribute(pose_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    if (error != cudaSuccess) return (int)error;
    launch_early(pose_kernel, dim3(joints->count), POSE_THREADS, shared, (cudaStream_t)stream, *motion, *joints,
                 seconds);
    return (int)cudaGetLastError();
}

extern "C" int sup_gpu_wake(const sup_gpu_motion *motion, const sup_gpu_joints *joints, const float *seconds,
                            const sup_gpu_system *system, const sup_gpu_state *state, void *stream)
{
    size_t shared = sup_gpu_pose_shared(motion);
    cudaError_t error = cudaFuncSetAttribute(wake_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    if (error != cudaSuccess) return (int)error;
    launch_early(wake_kernel, dim3(joints->count), POSE_THREADS, shared, (cudaStream_t)stream, *motion, *joints,
                 seconds, *system, *state);
    return (int)cudaGetLastError();
}

/* --- Morph targets --- */

/* A thread per weight. */
__global__ void __launch_bounds__(POSE_THREADS)
    weights_kernel(const __grid_constant__ sup_gpu_motion m, const __grid_constant__ sup_gpu_joints joints,
                   float *weights)
{
    wait_for_kernel();
    const int i = blockIdx.x * POSE_THREADS + threadIdx.x, character = i / m.weight_count, weight = i % m.weight_count;
    if (character >= joints.count) return;
    const sup_gpu_play play = joints.play[character];
    if (play.clip < 0) return; /* set by the host */
    const int32_t *first = m.channel_first + m.clips[play.clip].node_first + m.node_count + weight;
    float value = m.rest_weights[weight];
    for (int c = first[0]; c < first[1]; c++)
        sample<1>(m, m.channels[c], play.time, &value);
    weights[i] = value;
}

extern "C" int sup_gpu_weights(const sup_gpu_motion *motion, const sup_gpu_joints *joints, float *weights, void *stream)
{
    const int all = joints->count * motion->weight_count;
    launch_early(weights_kernel, dim3((all + POSE_THREADS - 1) / POSE_THREADS), POSE_THREADS, 0, (cudaStream_t)stream,
                 *motion, *joints, weights);
    return (int)cudaGetLastError();
}

/* --- Colliders that follow nodes --- */

/* a * b */
static __device__ sup_affine multiply_affine(const float a[12], const sup_affine &b)
{
    sup_affine out;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            out.m[4 * i + j] = (double)a[4 * i] * b.m[j] + (double)a[4 * i + 1] * b.m[4 + j] +
                               (double)a[4 * i + 2] * b.m[8 + j] + (j == 3 ? (double)a[4 * i + 3] : 0.0);
    return out;
}

/* sup_collider_invert: rows of the inverse are cross products of columns. */
static __device__ sup_collider_space enter(const sup_affine &a)
{
    const sup_vec3d c0 = sup_v3(a.m[0], a.m[4], a.m[8]), c1 = sup_v3(a.m[1], a.m[5], a.m[9]),
                    c2 = sup_v3(a.m[2], a.m[6], a.m[10]);
    const sup_vec3d rows[3] = {sup_v3_cross(c1, c2), sup_v3_cross(c2, c0), sup_v3_cross(c0, c1)},
                    t = sup_v3(a.m[3], a.m[7], a.m[11]);
    const double det = sup_v3_dot(c0, rows[0]), size = sup_v3_length(c0) * sup_v3_length(c1) * sup_v3_length(c2);
    sup_collider_space space = {};
    if (!(fabs(det) > 1e-12 * size) || !isfinite(1.0 / det) || !isfinite(size)) return space;
    for (int r = 0; r < 3; r++) {
        const sup_vec3d row = sup_v3_scale(rows[r], 1.0 / det);
        const double line[4] = {row.x, row.y, row.z, -sup_v3_dot(row, t)};
        for (int k = 0; k < 4; k++)
            space.inverse.m[4 * r + k] = line[k];
    }
    space.scale = cbrt(fabs(1.0 / det));
    return space;
}

/* Transform of a collider that follows a node, at the current time of the clip. */
static __device__ sup_affine follow_node(const sup_gpu_motion &m, const sup_gpu_play &play,
                                         const sup_gpu_collider &collider)
{
    const sup_gpu_clip clip = m.clips[play.clip];
    float world[12], local[12];
    local_matrix(m, clip, collider.node, play.time, world);
    for (int node = m.parent[collider.node]; node >= 0; node = m.parent[node]) {
        local_matrix(m, clip, node, play.time, local);
        multiply_left(local, world);
    }
    return multiply_affine(world, collider.transform);
}

/* A warp per character. */
__global__ void __launch_bounds__(32)
    follow_kernel(const __grid_constant__ sup_gpu_colliders c, const __grid_constant__ sup_gpu_motion m,
                  const __grid_constant__ sup_gpu_joints joints, const __grid_constant__ sup_gpu_state st, bool fresh)
{
    wait_for_kernel();
    const int character = blockIdx.x;
    const sup_gpu_play play = joints.play[character];
    bool moved = false;
    for (int i = threadIdx.x; i < c.count; i += 32) {
        const size_t at = (size_t)character * c.count + i;
        sup_gpu_collider &collider = c.solids[at];
        if (collider.node >= 0 && play.clip >= 0) {
            const sup_affine world = follow_node(m, play, collider), last = fresh ? world : c.followed[at];
            collider.solid.previous = last;
            collider.solid.world = world;
            collider.space = enter(world);
            for (int k = 0; k < 12; k++)
                moved = moved || world.m[k] != last.m[k];
        }
        c.followed[at] = collider.solid.world;
    }
    if (!__any_sync(0xffffffffu, moved) || threadIdx.x > 0) return;
    sup_gpu_progress &p = st.progress[character]; /* as begin_step() sets it for a skeleton that moves */
    p.rest_steps = p.asleep = 0;
    p.damping = st.commands[character].damping;
}

extern "C" int sup_gpu_follow(const sup_gpu_colliders *colliders, const sup_gpu_motion *motion,
                              const sup_gpu_joints *joints, const sup_gpu_state *state, bool fresh, void *stream)
{
    launch_early(follow_kernel, dim3(state->count), 32, 0, (cudaStream_t)stream, *colliders, *motion, *joints, *state,
                 fresh);
    return (int)cudaGetLastError();
}

/* --- Anchors --- */

enum { ANCHOR_THREADS = 256 };

/* All blocks of a character compute the frames, and then share the anchors. */
__global__ void __launch_bounds__(ANCHOR_THREADS)
    anchors_kernel(const __grid_constant__ sup_gpu_anchors anchors, const __grid_constant__ sup_gpu_joints joints,
                   const char *phases, size_t phase_stride, float4 *out0, float4 *out1, float4 *out2, float4 *bend_out)
{
    SHARED_ARRAY(float, shared);
    wait_for_kernel();
    const sup_anchors *a = &anchors.view;
    int character = blockIdx.y, phase = *(const int32_t *)(phases + character * phase_stride) % 3;
    size_t at = (size_t)character * anchors.stride + anchors.first;
    float4 *out = (phase == 0 ? out0 : phase == 1 ? out1 : out2) + at, *bend = bend_out + at;
    const float4 *last = (phase == 0 ? out2 : phase == 1 ? out0 : out1) + at;
    const float4 *older = (phase == 0 ? out1 : phase == 1 ? out2 : out0) + at;
    const sup_mat34 *pose = (const sup_mat34 *)(joints.pose + (size_t)character * joints.joint_count * 12);
    state_view s;
    s.frames = (frame *)shared;
    s.ends = shared + a->frame_count * (sizeof(frame) / sizeof(float));
    s.caps = s.ends + 8 * a->segment_count;
    for (int p = threadIdx.x; p < a->segment_count; p += ANCHOR_THREADS)
        pose_segment(a, pose, p, &s);
    __syncthreads();
    for (int b = threadIdx.x; b < a->sphere_count; b += ANCHOR_THREADS)
        pose_sphere(a, pose, b, &s);
    if (blockIdx.x == 0 && anchors.ends != NULL)
        for (int i = threadIdx.x; i < a->segment_count * 8; i += ANCHOR_THREADS)
            anchors.ends[(size_t)character * a->segment_count * 8 + i] = s.ends[i];
    __syncthreads();
    for (int i = blockIdx.x * ANCHOR_THREADS + threadIdx.x; i < a->anchor_count; i += gridDim.x * ANCHOR_THREADS) {
        int slide = i - anchors.rigid_count, twist = slide - a->slide_count, attached = twist - a->twist_count, to;
        float p[3];
        if (slide < 0) {
            to = a->rigid_out[i];
            apply(s.frames[anchors.rigid_frame[i]].m, a->rigid_rest + 3 * (size_t)i, p);
        } else if (twist < 0) {
            to = a->slide_index[6 * (size_t)slide + 5];
            evaluate_sliding(a, &s, slide, p);
        } else if (attached < 0) {
            to = a->twist_index[2 * (size_t)twist + 1];
            evaluate_twisting(a, &s, twist, p);
        } else {
            to = a->attached_index[2 * (size_t)attached + 1];
            transform_point(&pose[a->attached_index[2 * (size_t)attached]], a->attached_rest + 3 * (size_t)attached, p);
        }
        float4 l = last[to], o = older[to];
        out[to] = make_float4(p[0], p[1], p[2], 0.0f);
        bend[to] = make_float4(p[0] - l.x - (l.x - o.x), p[1] - l.y - (l.y - o.y), p[2] - l.z - (l.z - o.z), 0.0f);
    }
}

extern "C" size_t sup_gpu_anchors_shared(const sup_anchors *view)
{
    return (size_t)view->frame_count * sizeof(frame) + (size_t)view->segment_count * 16 * sizeof(float);
}

extern "C" int sup_gpu_anchors_step(const sup_gpu_anchors *anchors, const sup_gpu_joints *joints, const int32_t *phases,
                                    size_t phase_stride, sup_gpu_four *const out[3], sup_gpu_four *bend, void *stream)
{
    size_t shared = sup_gpu_anchors_shared(&anchors->view);
    cudaError_t error = cudaFuncSetAttribute(anchors_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    if (error != cudaSuccess) return (int)error;
    const int whole = (anchors->view.anchor_count + ANCHOR_THREADS - 1) / ANCHOR_THREADS; /* a thread per anchor */
    dim3 grid(joints->count > 16 || whole < 2 ? 2 : whole, joints->count);
    launch_early(anchors_kernel, grid, ANCHOR_THREADS, shared, (cudaStream_t)stream, *anchors, *joints,
                 (const char *)phases, phase_stride, out[0], out[1], out[2], bend);
    return (int)cudaGetLastError();
}

/* step_prepare.cu - simulated skin and bones before and after a step: methods/projective/projective_step.c on the
 * device.
 *
 * Before a step: foot points, velocity limits, skin that follows linear blending. After it: rest damping
 * (solver/rest_damping_kernel.h), and the skin, mixed with linear blending where it is rigid. Also extrapolation of the
 * skin by the motion of the joints since the last step, and the settle phase of a reset. */
#include "cuda/blend.cuh"
#include "cuda/launch.cuh"
#include "cuda/sleep.cuh"
#include "solver/joint_scale.h"
#include "solver/velocity_limit.h"
#include "solver/solver_tuning.h"

#include <math.h>

enum { THREADS = 256, JOINT_THREADS = 128 };

static __device__ float largest(float4 a)
{
    return fmaxf(fabsf(a.x), fmaxf(fabsf(a.y), fabsf(a.z)));
}

/* --- Before a step --- */

/* Foot points, velocity limits, and skin vertices that are anchors (listed before the bases). After
 * sup_gpu_extrapolate to the end of the step. */
__global__ void __launch_bounds__(THREADS)
    prepare_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st,
                   const __grid_constant__ sup_gpu_body body, const float *all_joints)
{
    wait_for_kernel();
    int character = blockIdx.y, v = blockIdx.x * THREADS + threadIdx.x;
    const sup_gpu_progress &p = st.progress[character];
    if (v >= s.skin_count || p.asleep) return;
    const float *joints = all_joints + (size_t)character * body.joint_count * 12;
    size_t skin = (size_t)character * s.skin_count + v;
    int node = s.node[v];
    if (body.foot_bone != NULL) {
        const float *bone = body.ends + ((size_t)character * body.segment_count + body.foot_bone[v]) * 8;
        float4 from = get(bone), foot = add_scaled(from, body.foot_along[v], minus(get(bone + 4), from));
        st.foot_points[(size_t)character * (s.unknown_count + s.anchor_count) + node] = foot;
    }
    if (node >= s.unknown_count) {
        size_t at = (size_t)character * s.anchor_count + (node - s.unknown_count);
        float4 last = st.anchors[(p.phase + 2) % 3][at], older = st.anchors[(p.phase + 1) % 3][at];
        float4 now = blend_vertex(body, joints, v);
        st.anchors[p.phase % 3][at] = now;
        st.anchor_acceleration[at] = minus(minus(now, last), minus(last, older));
        return;
    }
    const float length = body.velocity_limit != NULL ? body.velocity_limit[v] : 0.0f;
    if (!(length > 0.0f)) return;
    const float *motion = st.joint_motion + (size_t)character * body.joint_count * 12;
    const float4 now = st.skin[p.phase & 1][skin], previous = st.skin[1 - (p.phase & 1)][skin],
                 move = blend(body, motion, v, now), move_previous = blend(body, motion, v, previous);
    float change[3];
    sup_velocity_limit(&now.x, &previous.x, &move.x, &move_previous.x, 1.0f - p.damping,
                       1.0f - sup_rest_held_damping(p.rest_steps, p.damping), length, change);
    st.limit_push[(size_t)character * s.unknown_count + node] = make_float4(change[0], change[1], change[2], 0.0f);
}

/* --- After a step --- */

/* Limits the step fraction of an unknown while the skeleton is at rest. Returns the length of its displacement
 * before. */
static __device__ float shorten(const sup_gpu_system &s, const sup_gpu_state &st, const sup_gpu_progress &p, size_t at)
{
    const bool begins = sup_rest_limit_begins(p.rest_steps);
    const float4 previous = st.x[p.phase & 1][at], old = st.rest_damping[at];
    const float min_fraction = sup_rest_min_fraction(p.active_contacts > 0 && !begins, p.rest_damping_mean);
    float4 displacement = minus(st.x[1 - (p.phase & 1)][at], previous);
    const float fraction = sup_rest_vertex_fraction(begins ? 1.0f : old.w, begins ? 0.0f : dot(displacement, old),
                                                    sup_rest_reversal_threshold(s.size));
    st.x[1 - (p.phase & 1)][at] =
        add_scaled(previous, (begins ? 1.0f : p.rest_damping_fraction) * fmaxf(fraction, min_fraction), displacement);
    const float length = sqrtf(dot(displacement, displacement));
    displacement.w = fraction;
    st.rest_damping[at] = displacement;
    return length;
}

/* Limits the step fractions of a block's unknowns, one per thread, -1 for none, and sums their displacements in a fixed
 * order. */
static __device__ void limit_steps(const sup_gpu_system &s, const sup_gpu_state &st, sup_gpu_progress &p, int character,
                                   int node)
{
    __shared__ double warps[THREADS / 32];
    const size_t at = (size_t)character * s.unknown_count + (node < 0 ? 0 : node);
    double sum = node >= 0 ? (double)shorten(s, st, p, at) : 0.0;
    if (node >= 0 && sup_rest_oscillates(st.rest_damping[at].w)) atomicMax(&p.oscillates, 1u);
    for (int d = 16; d > 0; d >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x > 0) return;
    sum = 0.0;
    for (int i = 0; i < THREADS / 32; i++)
        sum += warps[i];
    st.rest_damping_lengths[(size_t)character * st.rest_damping_blocks + blockIdx.x] = sum;
}

/* The step fraction of the next step, from the displacements of all unknowns. */
static __device__ void update_fraction(const sup_gpu_system &s, const sup_gpu_state &st, sup_gpu_progress &p,
                                       int character)
{
    double sum = 0.0;
    for (int i = 0; i < st.rest_damping_blocks; i++)
        sum += st.rest_damping_lengths[(size_t)character * st.rest_damping_blocks + i];
    const float fraction = sup_rest_limit_begins(p.rest_steps) ? 1.0f : p.rest_damping_fraction;
    p.rest_damping_mean = (float)(sum / fmax(1.0, (double)s.unknown_count)) / s.size;
    p.rest_damping_fraction =
        sup_rest_next_fraction(fraction, p.active_contacts > 0, p.oscillates != 0, p.rest_damping_mean);
}

/* Threads of skin vertices, then of the other unknowns, which only need rest damping. */
__global__ void __launch_bounds__(THREADS)
    skin_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st,
                const __grid_constant__ sup_gpu_body body, const float *joints)
{
    wait_for_kernel();
    int character = blockIdx.y, v = blockIdx.x * THREADS + threadIdx.x, inner = v - s.skin_count;
    sup_gpu_progress &p = st.progress[character];
    float moved = 0.0f, window_motion = 0.0f;
    if (p.asleep) return;
    if (sup_rest_limits_steps(p.rest_steps)) {
        const int own = inner < 0 ? s.node[v] : inner < s.inner_count ? s.inner[inner] : -1;
        limit_steps(s, st, p, character, own < s.unknown_count ? own : -1);
    }
    if (v < s.skin_count) {
        size_t skin = (size_t)character * s.skin_count + v;
        int node = s.node[v];
        float share = body.rigid != NULL ? body.rigid[v] : 0.0f, scaled = 0.0f;
        for (int i = 0; i < 4; i++) {
            const size_t k = 4 * (size_t)v + i;
            scaled +=
                body.start_weight[k] *
                sup_joint_scale_weight(joints + ((size_t)character * body.joint_count + body.start_joint[k]) * 12);
        }
        share = 1.0f - (1.0f - share) * (1.0f - scaled);
        float4 x = node < s.unknown_count
                       ? st.x[1 - (p.phase & 1)][(size_t)character * s.unknown_count + node]
                       : st.anchors[p.phase % 3][(size_t)character * s.anchor_count + (node - s.unknown_count)];
        if (share > 0.0f)
            x = add_scaled(x, share,
                           minus(blend_vertex(body, joints + (size_t)character * body.joint_count * 12, v), x));
        moved = largest(minus(x, st.skin[p.phase & 1][skin]));
        st.skin[1 - (p.phase & 1)][skin] = x;
        if (sup_rest_window_ends(p.rest_steps)) {
            window_motion = largest(minus(x, st.window[skin]));
            st.window[skin] = x;
        }
    }
    for (int d = 16; d > 0; d >>= 1) {
        moved = fmaxf(moved, __shfl_xor_sync(0xffffffffu, moved, d));
        window_motion = fmaxf(window_motion, __shfl_xor_sync(0xffffffffu, window_motion, d));
    }
    if (threadIdx.x % 32 != 0) return;
    atomicMax(&p.moved, __float_as_uint(moved)); /* not negative: ordered like their bits */
    if (window_motion > 0.0f) atomicMax(&p.window_motion, __float_as_uint(window_motion));
}

/* Advances the phase: the solution becomes the current state. A block per character. */
__global__ void __launch_bounds__(JOINT_THREADS)
    end_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, const float *joints,
               int joint_count)
{
    wait_for_kernel();
    int character = blockIdx.x;
    sup_gpu_progress &p = st.progress[character];
    if (p.asleep) return;
    size_t at = (size_t)character * joint_count * 12;
    for (int i = threadIdx.x; i < joint_count * 12; i += JOINT_THREADS)
        st.step_joints[at + i] = joints[at + i];
    __syncthreads();
    if (threadIdx.x > 0) return;
    if (sup_rest_limits_steps(p.rest_steps)) update_fraction(s, st, p, character);
    p.phase = (p.phase + 1) % 6;
}

/* --- Extrapolation --- */

/* now * previous^-1 minus the identity, in double; zero where nothing moved or there is no inverse. */
static __device__ void joint_motion(const float *now, const float *previous, float *motion)
{
    double m[9], inverse[9], det = 0.0;
    bool same = true;
    for (int i = 0; i < 12; i++) {
        same = same && now[i] == previous[i];
        motion[i] = 0.0f;
    }
    for (int i = 0; i < 9; i++)
        m[i] = (double)previous[i / 3 * 4 + i % 3];
    for (int i = 0; i < 9; i++) {
        int r = i % 3, c = i / 3; /* cofactor of m[r][c] at [c][r] */
        int a = (r + 1) % 3 * 3, b = (r + 2) % 3 * 3, d = (c + 1) % 3, e = (c + 2) % 3;
        inverse[i] = m[a + d] * m[b + e] - m[a + e] * m[b + d];
    }
    det = m[0] * inverse[0] + m[1] * inverse[3] + m[2] * inverse[6];
    double over = 1.0 / det;
    if (same || !isfinite(over)) return;
    for (int r = 0; r < 3; r++) {
        double row[3], offset = (double)now[4 * r + 3];
        for (int c = 0; c < 3; c++) {
            row[c] = ((double)now[4 * r] * inverse[c] + (double)now[4 * r + 1] * inverse[3 + c] +
                      (double)now[4 * r + 2] * inverse[6 + c]) *
                     over;
            offset -= row[c] * (double)previous[4 * c + 3];
        }
        for (int c = 0; c < 3; c++)
            motion[4 * r + c] = (float)(row[c] - (r == c ? 1.0 : 0.0));
        motion[4 * r + 3] = (float)offset;
    }
}

__global__ void __launch_bounds__(JOINT_THREADS)
    motion_kernel(const __grid_constant__ sup_gpu_state st, const float *joints, int joint_count)
{
    wait_for_kernel();
    int i = blockIdx.x * JOINT_THREADS + threadIdx.x;
    if (i < st.count * joint_count)
        joint_motion(joints + 12 * (size_t)i, st.step_joints + 12 * (size_t)i, st.joint_motion + 12 * (size_t)i);
}

/* The skin of the last step, moved by the joints. */
__global__ void __launch_bounds__(THREADS)
    extrapolate_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st,
                       const __grid_constant__ sup_gpu_body body)
{
    wait_for_kernel();
    int character = blockIdx.y, v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= s.skin_count) return;
    size_t skin = (size_t)character * s.skin_count + v;
    const float4 now = st.skin[st.progress[character].phase & 1][skin];
    st.extrapolated[skin] =
        add_scaled(now, 1.0f, blend(body, st.joint_motion + (size_t)character * body.joint_count * 12, v, now));
}

/* --- Settling --- */

/* Clears momentum; sets `unsettled` where an unknown moved. */
__global__ void stop_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st)
{
    wait_for_kernel();
    int character = blockIdx.y, i = blockIdx.x * blockDim.x + threadIdx.x, phase = st.progress[character].phase;
    size_t at = (size_t)character * s.unknown_count + i, anchor = (size_t)character * s.anchor_count + i;
    if (i < s.unknown_count) {
        float4 now = st.x[phase & 1][at];
        if (largest(minus(now, st.x[1 - (phase & 1)][at])) >= (float)SUP_SOLVER_SETTLED * s.size)
            atomicMax(&st.progress[character].unsettled, 1u);
        st.x[1 - (phase & 1)][at] = st.prediction[at] = now;
        st.prediction_error[at] = st.limit_push[at] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    if (i < s.anchor_count) st.anchors[(phase + 1) % 3][anchor] = st.anchors[(phase + 2) % 3][anchor];
}

/* Unknowns at rest; the anchors of the pose for all phases. */
__global__ void rest_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st,
                            const __grid_constant__ sup_gpu_body body)
{
    wait_for_kernel();
    int character = blockIdx.y, i = blockIdx.x * blockDim.x + threadIdx.x;
    size_t at = (size_t)character * s.unknown_count + i, anchor = (size_t)character * s.anchor_count + i;
    if (i < s.unknown_count) st.x[0][at] = get(body.rest + 3 * (size_t)i);
    if (i >= s.anchor_count) return;
    st.anchors[1][anchor] = st.anchors[2][anchor] = st.anchors[0][anchor];
    st.anchor_acceleration[anchor] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

/* The skin by linear blending, without contacts. */
__global__ void blend_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st,
                             const __grid_constant__ sup_gpu_body body, const float *joints)
{
    wait_for_kernel();
    int character = blockIdx.y, v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= s.skin_count) return;
    float4 blended = blend_vertex(body, joints + (size_t)character * body.joint_count * 12, v);
    size_t skin = (size_t)character * s.skin_count + v;
    for (int r = v; r < s.contact_count; r += s.skin_count)
        st.pair[(size_t)character * s.contact_count + r] = -1;
    if (st.touched != NULL) st.touched[skin] = -1;
    st.near[skin] = 0;
    st.onset[skin] = 0.0f;
    if (s.node[v] < s.unknown_count) st.x[0][(size_t)character * s.unknown_count + s.node[v]] = blended;
}

__global__ void phase_kernel(const __grid_constant__ sup_gpu_state st)
{
    wait_for_kernel();
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    sup_gpu_progress none = {};
    if (c >= st.count) return;
    none.damping = 1.0f;
    none.version = st.commands[c].version;
    st.progress[c] = none;
}

__global__ void settle_end_kernel(const __grid_constant__ sup_gpu_state st)
{
    wait_for_kernel();
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= st.count) return;
    if (st.progress[c].unsettled == 0) st.progress[c].asleep = 1;
    st.progress[c].unsettled = 0;
}

/* The skin for detection during settling with contact. */
__global__ void settle_look_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st)
{
    wait_for_kernel();
    int character = blockIdx.y, v = blockIdx.x * blockDim.x + threadIdx.x;
    sup_gpu_progress &p = st.progress[character];
    size_t skin = (size_t)character * s.skin_count + v;
    if (v < s.skin_count) st.extrapolated[skin] = st.skin[p.phase & 1][skin];
    if (v == 0) p.contacts = 0;
}

/* Tissue without contact has settled: it takes no more of these steps. */
__global__ void settle_touch_kernel(const __grid_constant__ sup_gpu_state st)
{
    wait_for_kernel();
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < st.count && st.progress[c].contacts == 0) st.progress[c].asleep = 1;
}

/* Skin of the last two steps and the window after settling: no velocity. */
__global__ void settled_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st)
{
    wait_for_kernel();
    int character = blockIdx.y, v = blockIdx.x * blockDim.x + threadIdx.x;
    sup_gpu_progress &p = st.progress[character];
    const int now = p.phase & 1;
    if (v == 0) p.asleep = p.contacts = p.active_contacts = 0;
    size_t skin = (size_t)character * s.skin_count + v;
    if (v < s.skin_count) st.skin[1 - now][skin] = st.window[skin] = st.skin[now][skin];
}

/* --- Launches --- */

static dim3 grid_for(int numbers, int count)
{
    return dim3((numbers + THREADS - 1) / THREADS, count);
}

static int max_count(const sup_gpu_system *s)
{
    return s->unknown_count > s->anchor_count ? s->unknown_count : s->anchor_count;
}

extern "C" int sup_gpu_prepare(const sup_gpu_system *system, const sup_gpu_state *state, const sup_gpu_body *body,
                               const float *joints, void *stream)
{
    launch_early(prepare_kernel, grid_for(system->skin_count, state->count), THREADS, 0, (cudaStream_t)stream, *system,
                 *state, *body, joints);
    return (int)cudaGetLastError();
}

extern "C" int32_t sup_gpu_rest_damping_sums(const sup_gpu_system *system)
{
    return (system->skin_count + system->inner_count + THREADS - 1) / THREADS;
}

extern "C" int sup_gpu_finish(const sup_gpu_system *system, const sup_gpu_state *state, const sup_gpu_body *body,
                              const float *joints, void *stream)
{
    cudaStream_t on = (cudaStream_t)stream;
    launch_when(system->lockstep == 1, skin_kernel, dim3(state->rest_damping_blocks, state->count), THREADS, 0, on,
                *system, *state, *body, joints);
    launch_early(end_kernel, dim3(state->count), JOINT_THREADS, 0, on, *system, *state, joints, body->joint_count);
    return (int)cudaGetLastError();
}

extern "C" int sup_gpu_extrapolate(const sup_gpu_system *system, const sup_gpu_state *state, const sup_gpu_body *body,
                                   const float *joints, void *stream)
{
    cudaStream_t on = (cudaStream_t)stream;
    int all = state->count * body->joint_count;
    launch_early(motion_kernel, dim3((all + JOINT_THREADS - 1) / JOINT_THREADS), JOINT_THREADS, 0, on, *state, joints,
                 body->joint_count);
    launch_early(extrapolate_kernel, grid_for(system->skin_count, state->count), THREADS, 0, on, *system, *state,
                 *body);
    return (int)cudaGetLastError();
}

extern "C" int sup_gpu_stop(const sup_gpu_system *system, const sup_gpu_state *state, void *stream)
{
    launch_early(stop_kernel, grid_for(max_count(system), state->count), THREADS, 0, (cudaStream_t)stream, *system,
                 *state);
    return (int)cudaGetLastError();
}

extern "C" int sup_gpu_first_phase(const sup_gpu_state *state, void *stream)
{
    launch_early(phase_kernel, dim3((state->count + THREADS - 1) / THREADS), THREADS, 0, (cudaStream_t)stream, *state);
    return (int)cudaGetLastError();
}

extern "C" int sup_gpu_reset(const sup_gpu_system *system, const sup_gpu_state *state, const sup_gpu_body *body,
                             const float *joints, void *stream)
{
    cudaStream_t on = (cudaStream_t)stream;
    launch_early(rest_kernel, grid_for(max_count(system), state->count), THREADS, 0, on, *system, *state, *body);
    launch_early(blend_kernel, grid_for(system->skin_count, state->count), THREADS, 0, on, *system, *state, *body,
                 joints);
    return sup_gpu_stop(system, state, stream);
}

extern "C" int sup_gpu_settle_end(const sup_gpu_state *state, void *stream)
{
    launch_early(settle_end_kernel, dim3((state->count + THREADS - 1) / THREADS), THREADS, 0, (cudaStream_t)stream,
                 *state);
    return (int)cudaGetLastError();
}

extern "C" int sup_gpu_settle_detect(const sup_gpu_system *system, const sup_gpu_state *state, void *stream)
{
    launch_early(settle_look_kernel, grid_for(system->skin_count, state->count), THREADS, 0, (cudaStream_t)stream,
                 *system, *state);
    return (int)cudaGetLastError();
}

extern "C" int sup_gpu_settle_contact(const sup_gpu_state *state, void *stream)
{
    launch_early(settle_touch_kernel, dim3((state->count + THREADS - 1) / THREADS), THREADS, 0, (cudaStream_t)stream,
                 *state);
    return (int)cudaGetLastError();
}

extern "C" int sup_gpu_settled(const sup_gpu_system *system, const sup_gpu_state *state, void *stream)
{
    launch_early(settled_kernel, grid_for(system->skin_count, state->count), THREADS, 0, (cudaStream_t)stream, *system,
                 *state);
    return (int)cudaGetLastError();
}

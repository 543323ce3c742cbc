/* colliders.cu - rows of the skin with things that are given: touch_colliders of methods/projective/projective_step.c and
 * geometry/collide_points.c on the device, a thread a vertex. Where a thing is and how a point lies to it is found in double by the
 * CPU's own code (collide_query.h, bvh_query.h). */
#include "cuda/blend.cuh"
#include "cuda/gpu_colliders.h"
#include "cuda/launch.cuh"

#define SUP_BVH_QUERY static __device__
#include "geometry/bvh_query.h"
#define SUP_SOLID static __device__
#include "geometry/collide_query.h"

enum { THREADS = 128 };
/* As in projective_step.c, colliders.c and solver_contact.c. */
#define COLLIDER_DEEP 2.0
#define COLLIDER_DEEPEST 4.0
#define COLLIDER_STIFFNESS 20.0f

static __device__ bool mesh_inside(const sup_bvh *mesh, sup_vec3d point)
{
    return is_inside(mesh, point);
}

static __device__ sup_bvh_nearest mesh_closest(const sup_bvh *mesh, sup_vec3d point, double limit)
{
    return closest_of(mesh, point, limit, NULL, NULL);
}

static __device__ sup_vec3d vector_of(float4 v)
{
    return sup_v3((double)v.x, (double)v.y, (double)v.z);
}

/* The thing that a point is deepest in, -1 for none. A touch that was there before ends a little later. */
static __device__ int find_touch(const sup_gpu_colliders &c, const sup_gpu_solid *things, float4 point, int before,
                                 sup_solid_view &deepest)
{
    int which = -1;
    for (int i = 0; i < c.count; i++) {
        const double limit = (double)c.gap + (before == i ? (double)c.keep : 0.0);
        sup_solid_view view;
        if (!(things[i].space.scale > 0.0) || !look(&things[i].solid, &things[i].space, vector_of(point), limit, &view)) continue;
        if (which >= 0 && !(view.height < deepest.height)) continue;
        which = i;
        deepest = view;
    }
    return which;
}

/* How much it holds the vertex: all, or less where it went through the flesh to the bone. */
static __device__ float hold_of(const sup_gpu_solid &thing, double thickness, float4 free_place)
{
    sup_solid_view view;
    if (!look(&thing.solid, &thing.space, vector_of(free_place), 0.0, &view)) return 1.0f;
    const double deep = -view.height / thickness;
    return (float)fmax(0.0, fmin(1.0, (COLLIDER_DEEPEST - deep) / (COLLIDER_DEEPEST - COLLIDER_DEEP)));
}

/* A row with one place that is not given; the thing's point is taken out of the offset and of where it started. */
static __device__ sup_gpu_contact make_row(const sup_gpu_system &s, int place, float4 now, const sup_solid &solid,
                                       const sup_solid_view &view, float gap, float hold)
{
    sup_gpu_contact row = {};
    row.node[0] = place;
    row.weight[0] = 1.0f;
    for (int k = 1; k < 4; k++)
        row.node[k] = s.unknown_count; /* an anchor that counts for nothing */
    sup_v3_store(row.normal, view.normal);
    row.offset = (float)((double)gap + sup_v3_dot(view.normal, view.point));
    sup_v3_store(row.start, sup_v3_add(vector_of(now), view.motion));
    row.stiffness = COLLIDER_STIFFNESS * hold * s.diagonal[place];
    row.friction = solid.friction;
    row.limit = INFINITY;
    row.cap = -1.0f;
    return row;
}

__global__ void __launch_bounds__(THREADS)
    touch_kernel(const __grid_constant__ sup_gpu_colliders c, const __grid_constant__ sup_gpu_system s,
                 const __grid_constant__ sup_gpu_state st, const __grid_constant__ sup_gpu_body body, const float *joints)
{
    wait_for_kernel();
    const int character = blockIdx.y, v = blockIdx.x * THREADS + threadIdx.x;
    sup_gpu_progress &p = st.progress[character];
    if (p.asleep) return;
    bool pushes = false;
    if (v < s.skin_count) {
        const size_t skin = (size_t)character * s.skin_count + v, row = (size_t)character * s.contact_count + v;
        const sup_gpu_solid *things = c.solids + (size_t)character * c.count;
        sup_solid_view view;
        const int which = find_touch(c, things, st.extrapolated[skin], st.touched[skin], view), place = s.node[v];
        float hold = 0.0f;
        if (which >= 0 && place < s.unknown_count)
            hold = hold_of(things[which], c.thickness[v],
                           blend_vertex(body, joints + (size_t)character * body.joint_count * 12, v));
        pushes = hold > 0.0f;
        if (pushes)
            st.contacts[row + s.skin_count] =
                make_row(s, place, st.x[p.phase & 1][(size_t)character * s.unknown_count + place], things[which].solid, view,
                         c.gap, hold);
        st.touched[skin] = which;
        st.pair[row + s.skin_count] = pushes ? which : -1;
        if (!st.commands[character].contact) st.pair[row] = -1; /* left over from when it touched itself */
    }
    const unsigned found = __ballot_sync(0xffffffffu, pushes);
    if (threadIdx.x % 32 == 0 && found != 0) atomicAdd(&p.contacts, __popc(found));
}

extern "C" int sup_gpu_touch(const sup_gpu_colliders *colliders, const sup_gpu_system *system, const sup_gpu_state *state,
                             const sup_gpu_body *body, const float *joints, void *stream)
{
    const dim3 grid((system->skin_count + THREADS - 1) / THREADS, state->count);
    launch_early(touch_kernel, grid, THREADS, 0, (cudaStream_t)stream, *colliders, *system, *state, *body, joints);
    return (int)cudaGetLastError();
}

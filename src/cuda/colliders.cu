/* colliders.cu - contacts of the skin with scene colliders: touch_colliders of methods/projective/projective_step.c
 * and geometry/collide_points.c on the device, a thread a vertex. Queries are in double, by the CPU's own code
 * (collide_query.h, bvh_query.h). */
#include "contact/contact_rules.h"
#include "cuda/blend.cuh"
#include "cuda/gpu_colliders.h"
#include "cuda/launch.cuh"

#define SUP_BVH_QUERY static __device__
#include "geometry/bvh_query.h"
#define SUP_COLLIDER_QUERY static __device__
#include "geometry/collide_query.h"

enum { THREADS = 128 };

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

/* The collider that a point is deepest in, -1 for none. `previous`: the one it was in contact with. */
static __device__ int find_deepest(const sup_gpu_colliders &c, const sup_gpu_collider *colliders, float4 point,
                                   int previous, sup_collider_query &deepest)
{
    int which = -1;
    for (int i = 0; i < c.count; i++) {
        const double limit = contact_limit(c.gap, c.release, previous == i);
        sup_collider_query query;
        if (!(colliders[i].space.scale > 0.0) ||
            !query_collider(&colliders[i].solid, &colliders[i].space, vector_of(point), limit, &query))
            continue;
        if (which >= 0 && !(query.height < deepest.height)) continue;
        which = i;
        deepest = query;
    }
    return which;
}

/* Fraction of the stiffness with which it holds the vertex: less where it went through the tissue to the bone. */
static __device__ float hold_fraction(const sup_gpu_collider &collider, double thickness, float4 free_position)
{
    sup_collider_query query;
    if (!query_collider(&collider.solid, &collider.space, vector_of(free_position), 0.0, &query)) return 1.0f;
    return sup_collider_hold(-query.height / thickness);
}

/* A contact with one unknown; the collider's point is part of the offset and of the start position. */
static __device__ sup_gpu_contact make_contact(const sup_gpu_system &s, int unknown, float4 now,
                                               const sup_posed_collider &solid, const sup_collider_query &query,
                                               float gap, float hold)
{
    sup_gpu_contact contact = {};
    contact.node[0] = unknown;
    contact.weight[0] = 1.0f;
    for (int k = 1; k < 4; k++)
        contact.node[k] = s.unknown_count; /* an anchor with weight 0 */
    sup_v3_store(contact.normal, query.normal);
    contact.offset = (float)((double)gap + sup_v3_dot(query.normal, query.point));
    sup_v3_store(contact.start, sup_v3_add(vector_of(now), query.motion));
    contact.stiffness = SUP_COLLIDER_STIFFNESS * hold * s.diagonal[unknown];
    contact.friction = solid.friction;
    contact.limit = INFINITY;
    contact.cap = -1.0f;
    return contact;
}

__global__ void __launch_bounds__(THREADS)
    collide_kernel(const __grid_constant__ sup_gpu_colliders c, const __grid_constant__ sup_gpu_system s,
                   const __grid_constant__ sup_gpu_state st, const __grid_constant__ sup_gpu_body body,
                   const float *joints)
{
    wait_for_kernel();
    const int character = blockIdx.y, v = blockIdx.x * THREADS + threadIdx.x;
    sup_gpu_progress &p = st.progress[character];
    if (p.asleep) return;
    bool is_held = false;
    if (v < s.skin_count) {
        const size_t skin = (size_t)character * s.skin_count + v, slot = (size_t)character * s.contact_count + v;
        const sup_gpu_collider *colliders = c.solids + (size_t)character * c.count;
        sup_collider_query query;
        const int which = find_deepest(c, colliders, st.extrapolated[skin], st.touched[skin], query),
                  unknown = s.node[v];
        float hold = 0.0f;
        if (which >= 0 && unknown < s.unknown_count)
            hold = hold_fraction(colliders[which], c.thickness[v],
                                 blend_vertex(body, joints + (size_t)character * body.joint_count * 12, v));
        is_held = hold > 0.0f;
        if (is_held)
            st.contacts[slot + s.skin_count] =
                make_contact(s, unknown, st.x[p.phase & 1][(size_t)character * s.unknown_count + unknown],
                             colliders[which].solid, query, c.gap, hold);
        st.touched[skin] = which;
        st.pair[slot + s.skin_count] = is_held ? which : -1;
        if (!st.commands[character].contact) st.pair[slot] = -1; /* from when self contact was enabled */
    }
    const unsigned found = __ballot_sync(0xffffffffu, is_held);
    if (threadIdx.x % 32 == 0 && found != 0) atomicAdd(&p.contacts, __popc(found));
}

extern "C" int sup_gpu_collide(const sup_gpu_colliders *colliders, const sup_gpu_system *system,
                               const sup_gpu_state *state, const sup_gpu_body *body, const float *joints, void *stream)
{
    const dim3 grid((system->skin_count + THREADS - 1) / THREADS, state->count);
    launch_early(collide_kernel, grid, THREADS, 0, (cudaStream_t)stream, *colliders, *system, *state, *body, joints);
    return (int)cudaGetLastError();
}

/* prism.h (internal) - strain of the three tetrahedra of a prism: energy and gradients. One source for CPU and
 * GPU: SUP_LANES prisms at a time on a CPU, one per thread on a GPU.
 *
 * Based on: [komaritzan2022] section 2.2, local step, eq. 2.15 and 2.16. */
#ifndef SUP_SOLVER_PRISM_H
#define SUP_SOLVER_PRISM_H

#include "solver/tetrahedron.h"
#include "solver/system.h"

enum { CORNER_A, CORNER_B, CORNER_C, CORNER_A1, CORNER_B1, CORNER_C1 };

/* Corner at the end of edge k of tetrahedron t: a b c, a b b', a a' b'. A function, since a table would be in slow
 * memory on a GPU. */
SUP_ELEMENT int edge_corner(int t, int k)
{
    if (k == 0) return CORNER_A;
    return k == 1 ? (t < 2 ? CORNER_B : CORNER_A1) : (t < 1 ? CORNER_C : CORNER_B1);
}

SUP_ELEMENT void load_gradients(const float *tet, sup_wide3 g[3])
{
    for (int k = 0; k < 3; k++)
        g[k] = (sup_wide3){sup_wide_load(tet + (3 * k) * SUP_PRISM_LANES),
                           sup_wide_load(tet + (3 * k + 1) * SUP_PRISM_LANES),
                           sup_wide_load(tet + (3 * k + 2) * SUP_PRISM_LANES)};
}

SUP_ELEMENT void strain(const float *tet, int t, const sup_wide3 edge[5], sup_wide f[9])
{
    sup_wide3 g[3];
    load_gradients(tet, g);
    for (int i = 0; i < 9; i++)
        f[i] = sup_wide_splat(0.0f);
    for (int k = 0; k < 3; k++)
        sup_wide3_outer(edge[edge_corner(t, k)], g[k], f); /* F = E^T E_rest^-T */
}

/* Adds w (F - R) g_k to the corners' gradients and returns w |F - R|^2, twice eq. 2.16. `corners`: 3 when the inner
 * side is anchored and needs no gradient. */
SUP_ELEMENT sup_wide push(const float *tet, int t, int corners, sup_wide f[9], const sup_wide r[9], sup_wide3 sum[5])
{
    sup_wide3 g[3];
    load_gradients(tet, g);
    sup_wide w = sup_wide_load(tet + 9 * SUP_PRISM_LANES);
    for (int i = 0; i < 9; i++)
        f[i] = f[i] - r[i];
    sup_wide energy = sup_element_square(f) * w;
    for (int i = 0; i < 9; i++)
        f[i] = f[i] * w;
    for (int k = 0; k < 3; k++)
        if (edge_corner(t, k) < corners) sum[edge_corner(t, k)] = sup_wide3_apply(f, g[k], sum[edge_corner(t, k)]);
    return energy;
}

/* WebAssembly: one copy each, for a small download; its compiler also handles very large functions badly. */
#if defined(__wasm__)
#define SUP_PRISM static __attribute__((noinline))
#else
#define SUP_PRISM SUP_ELEMENT
#endif

/* One rotation for the prism, the best fit to sum w F ([komaritzan2018], section 6). */
SUP_PRISM sup_wide prism_shared(const float *tets, const sup_wide3 edge[5], int corners, sup_wide3 sum[5])
{
    sup_wide f[3][9], mean[9], r[9], energy;
    strain(tets, 0, edge, f[0]);
    strain(tets + 10 * SUP_PRISM_LANES, 1, edge, f[1]);
    strain(tets + 20 * SUP_PRISM_LANES, 2, edge, f[2]);
    sup_wide w0 = sup_wide_load(tets + 9 * SUP_PRISM_LANES), w1 = sup_wide_load(tets + 19 * SUP_PRISM_LANES);
    sup_wide w2 = sup_wide_load(tets + 29 * SUP_PRISM_LANES);
    const sup_wide tiny = sup_wide_splat(1e-30f), one = sup_wide_splat(1.0f);
    sup_wide total = w0 + w1 + w2;
    sup_mask none = sup_wide_less(total, tiny); /* unused lanes: any rotation */
    w0 = sup_wide_select(none, one, w0);
    sup_wide inverse = one / sup_wide_select(none, one, total);
    for (int i = 0; i < 9; i++)
        mean[i] = sup_wide_fma(w2, f[2][i], sup_wide_fma(w1, f[1][i], w0 * f[0][i])) * inverse;
    sup_element_rotation(mean, r);
    energy = push(tets, 0, corners, f[0], r, sum);
    energy = energy + push(tets + 10 * SUP_PRISM_LANES, 1, corners, f[1], r, sum);
    return energy + push(tets + 20 * SUP_PRISM_LANES, 2, corners, f[2], r, sum);
}

/* Three tetrahedra, each with its own rotation; Newton iterations are interleaved. */
SUP_ELEMENT sup_wide prism_separate(const float *tets, const sup_wide3 edge[5], int corners, sup_wide3 sum[5])
{
    sup_wide f[3][9], r[9], energy;
    sup_rotation q[3];
    strain(tets, 0, edge, f[0]);
    q[0] = sup_rotation_begin(f[0]);
    strain(tets + 10 * SUP_PRISM_LANES, 1, edge, f[1]);
    q[1] = sup_rotation_begin(f[1]);
    strain(tets + 20 * SUP_PRISM_LANES, 2, edge, f[2]);
    q[2] = sup_rotation_begin(f[2]);
    sup_rotation_solve(q, 3);
    sup_rotation_end(&q[0], f[0], r);
    energy = push(tets, 0, corners, f[0], r, sum);
    sup_rotation_end(&q[1], f[1], r);
    energy = energy + push(tets + 10 * SUP_PRISM_LANES, 1, corners, f[1], r, sum);
    sup_rotation_end(&q[2], f[2], r);
    return energy + push(tets + 20 * SUP_PRISM_LANES, 2, corners, f[2], r, sum);
}

/* The same one after the other: fewer registers, for processors that hide latency by threads. */
SUP_ELEMENT sup_wide prism_sequential(const float *tets, const sup_wide3 edge[5], int corners, sup_wide3 sum[5])
{
    sup_wide energy = sup_wide_splat(0.0f);
    for (int t = 0; t < 3; t++) {
        sup_wide f[9], r[9];
        strain(tets + 10 * t * SUP_PRISM_LANES, t, edge, f);
        sup_element_rotation(f, r);
        energy = energy + push(tets + 10 * t * SUP_PRISM_LANES, t, corners, f, r, sum);
    }
    return energy;
}

SUP_ELEMENT sup_wide prism(const float *tets, const sup_wide3 edge[5], int corners, bool shared, sup_wide3 sum[5])
{
    const sup_wide zero = sup_wide_splat(0.0f);
    for (int k = 0; k < corners; k++)
        sum[k] = (sup_wide3){zero, zero, zero};
    if (shared) return prism_shared(tets, edge, corners, sum);
    return SUP_LANES > 1 ? prism_separate(tets, edge, corners, sum) : prism_sequential(tets, edge, corners, sum);
}

#endif

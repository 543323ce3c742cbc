/* warp_kernel.h - included by warp.c, warp_avx2.c and warp_avx512.c, each of which defines first:
 *     WARP_LANES         points in one vector: 2, 4 or 8
 *     WARP_ROOT(square)  square roots of a warp_wide
 *     WARP_SUM           name of the resulting function */
typedef double warp_wide __attribute__((vector_size(8 * WARP_LANES)));

static void WARP_SUM(int32_t count, const double *centres, const double *weights, const double *points, double *sums)
{
    enum { VECTORS = 8 / WARP_LANES };
    warp_wide at[3][VECTORS], sum[3][VECTORS];
    memcpy(at, points, sizeof at);
    memcpy(sum, sums, sizeof sum);
    for (int32_t j = 0; j < count; j++) {
        const double *c = centres + 4 * (size_t)j, *w = weights + 4 * (size_t)j;
        for (int p = 0; p < VECTORS; p++) {
            warp_wide x = at[0][p] - c[0], y = at[1][p] - c[1], z = at[2][p] - c[2];
            warp_wide square = x * x + y * y + z * z;
            warp_wide cube = square * WARP_ROOT(square); /* phi(r) = r^3, eq. 4.15 */
            sum[0][p] += w[0] * cube;
            sum[1][p] += w[1] * cube;
            sum[2][p] += w[2] * cube;
        }
    }
    memcpy(sums, sum, sizeof sum);
}

/* warp_kernel.h - included by warp.c, warp_avx2.c and warp_avx512.c: one source for every instruction set, which the
 * compiler turns into vectors of eight points. WARP_SUM is the name of the function. */
static void WARP_SUM(int32_t count, const double *centres, const double *weights, const double *points, double *sums)
{
    double x[8], y[8], z[8], sx[8] = {0}, sy[8] = {0}, sz[8] = {0};
    memcpy(x, points, sizeof x);
    memcpy(y, points + 8, sizeof y);
    memcpy(z, points + 16, sizeof z);
    for (int32_t j = 0; j < count; j++) {
        const double *c = centres + 4 * (size_t)j, *w = weights + 4 * (size_t)j;
        double cx = c[0], cy = c[1], cz = c[2], wx = w[0], wy = w[1], wz = w[2];
        for (int l = 0; l < 8; l++) {
            double dx = x[l] - cx, dy = y[l] - cy, dz = z[l] - cz;
            double square = dx * dx + dy * dy + dz * dz;
            double cube = square * sqrt(square); /* phi(r) = r^3, eq. 4.15 */
            sx[l] += wx * cube;
            sy[l] += wy * cube;
            sz[l] += wz * cube;
        }
    }
    for (int l = 0; l < 8; l++) {
        sums[l] += sx[l];
        sums[8 + l] += sy[l];
        sums[16 + l] += sz[l];
    }
}

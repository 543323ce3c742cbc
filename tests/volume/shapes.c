#include "volume/shapes.h"

void shape_capsule(shape *s, double x, double y, double z, double radius, double half, double bump)
{
    enum { RINGS = 32, SECTORS = 36 };
    int32_t base = s->vertex_count;
    for (int r = 0; r <= RINGS; r++)
        for (int k = 0; k < SECTORS; k++) {
            double a = 3.141592653589793 * r / RINGS, b = 6.283185307179586 * k / SECTORS;
            double rough = radius * (1.0 + bump * sin(5.0 * a) * cos(7.0 * b));
            double middle = half * (1.0 - 2.0 * r / RINGS);
            float *p = s->positions + 3 * (size_t)s->vertex_count++;
            p[0] = (float)(x + middle + rough * cos(a));
            p[1] = (float)(y + rough * sin(a) * cos(b));
            p[2] = (float)(z + rough * sin(a) * sin(b));
        }
    for (int32_t r = 0; r < RINGS; r++)
        for (int32_t k = 0; k < SECTORS; k++) {
            int32_t v = base + r * SECTORS + k, w = base + r * SECTORS + (k + 1) % SECTORS;
            const int32_t corners[6] = {v, v + SECTORS, w + SECTORS, v, w + SECTORS, w};
            memcpy(s->triangles + 3 * (size_t)s->triangle_count, corners, sizeof corners);
            s->triangle_count += 2;
        }
}

void shape_box(shape *s, const double x0[3], const double x1[3], int n)
{
    for (int side = 0; side < 6; side++) {
        int axis = side / 2, upper = side % 2, u = (axis + 1) % 3, v = (axis + 2) % 3;
        int32_t base = s->vertex_count;
        for (int i = 0; i <= n; i++)
            for (int j = 0; j <= n; j++) {
                float *p = s->positions + 3 * (size_t)s->vertex_count++;
                p[axis] = (float)(upper ? x1[axis] : x0[axis]);
                p[u] = (float)(x0[u] + (x1[u] - x0[u]) * i / n);
                p[v] = (float)(x0[v] + (x1[v] - x0[v]) * j / n);
            }
        for (int32_t i = 0; i < n; i++)
            for (int32_t j = 0; j < n; j++) {
                int32_t a = base + i * (n + 1) + j, b = a + n + 1;
                const int32_t out[6] = {a, b, b + 1, a, b + 1, a + 1}, in[6] = {a, b + 1, b, a, a + 1, b + 1};
                memcpy(s->triangles + 3 * (size_t)s->triangle_count, upper ? out : in, sizeof out);
                s->triangle_count += 2;
            }
    }
}

void shape_fork(shape *s, double gap)
{
    enum { NX = 18, NY = 6, NZ = 9 }; /* cells; the middle three layers of z are the gap, from x = 1 on */
    static int32_t number[NX + 1][NY + 1][NZ + 1];
    double z[NZ + 1];
    for (int k = 0; k <= NZ; k++)
        z[k] = k <= 3 ? 0.5 * k / 3 : k <= 6 ? 0.5 + gap * (k - 3) / 3 : 0.5 + gap + 0.5 * (k - 6) / 3;
    memset(number, 0xff, sizeof number);
    for (int cell = 0; cell < NX * NY * NZ; cell++)
        for (int side = 0; side < 6; side++) {
            int at[3] = {cell % NX, cell / NX % NY, cell / (NX * NY)}, next[3] = {at[0], at[1], at[2]};
            int axis = side / 2, u = (axis + 1) % 3, v = (axis + 2) % 3, up = side % 2;
            next[axis] += up ? 1 : -1;
            bool full = at[0] < NX / 3 || at[2] < 3 || at[2] >= 6;
            bool beyond = next[0] < 0 || next[0] >= NX || next[1] < 0 || next[1] >= NY || next[2] < 0 || next[2] >= NZ;
            if (!full || (!beyond && (next[0] < NX / 3 || next[2] < 3 || next[2] >= 6))) continue;
            int32_t corner[4];
            for (int c = 0; c < 4; c++) { /* counter-clockwise seen from above the axis */
                int q[3] = {at[0], at[1], at[2]};
                q[axis] += up;
                q[u] += c == 1 || c == 2;
                q[v] += c >= 2;
                int32_t *known = &number[q[0]][q[1]][q[2]];
                if (*known < 0) {
                    *known = s->vertex_count++;
                    s->positions[3 * *known] = (float)(3.0 * q[0] / NX);
                    s->positions[3 * *known + 1] = (float)q[1] / NY;
                    s->positions[3 * *known + 2] = (float)z[q[2]];
                }
                corner[c] = *known;
            }
            const int32_t out[6] = {corner[0], corner[1], corner[2], corner[0], corner[2], corner[3]};
            const int32_t in[6] = {corner[0], corner[2], corner[1], corner[0], corner[3], corner[2]};
            memcpy(s->triangles + 3 * (size_t)s->triangle_count, up ? out : in, sizeof out);
            s->triangle_count += 2;
        }
}

sup_context shape_context(int32_t threads)
{
    static sup_thread_pool *pools[4];
    sup_context context = {0};
    sup_error error = {0};
    if (threads > 1) {
        if (pools[threads] == NULL) CHECK_OK(sup_thread_pool_create(threads, &pools[threads], &error), error);
        context.tasks = sup_thread_pool_tasks(pools[threads]);
    }
    return sup_context_resolve(&context);
}

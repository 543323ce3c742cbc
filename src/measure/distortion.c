/* distortion.c - edges, triangles and Laplacian compared with the rest shape. */
#include "math/vec3.h"
#include "measure/measurer.h"

static sup_vec3d position(const float *positions, int32_t v)
{
    return sup_v3_load(positions + 3 * (size_t)v);
}

static sup_vec3d area_normal(const float *positions, const int32_t *t)
{
    sup_vec3d a = position(positions, t[0]);
    return sup_v3_cross(sup_v3_sub(position(positions, t[1]), a), sup_v3_sub(position(positions, t[2]), a));
}

static void compute_normals(sup_measurer *m, const float *positions)
{
    for (int32_t t = 0; t < m->closed.triangle_count; t++)
        sup_v3_store(m->triangle_normal + 3 * (size_t)t, area_normal(positions, m->closed.triangles + 3 * (size_t)t));
}

/* Whether a triangle is flipped relative to the mean of its neighbours. */
static bool is_flipped(const sup_measurer *m, int32_t t)
{
    sup_vec3d around = sup_v3(0, 0, 0);
    int32_t count = 0;
    for (int c = 0; c < 3; c++) {
        int32_t twin = m->closed.adjacency.half_twin[3 * (size_t)t + (size_t)c];
        if (twin < 0) continue;
        int32_t neighbour = twin / 3;
        around = sup_v3_add(around,
                            sup_v3_unit_or(sup_v3_load(m->triangle_normal + 3 * (size_t)neighbour), sup_v3(0, 0, 0)));
        count++;
    }
    return count >= 2 && sup_v3_dot(around, sup_v3_load(m->triangle_normal + 3 * (size_t)t)) < 0.0;
}

static void edge_sums(sup_measurer *m, const float *positions)
{
    memset(m->sum, 0, 3 * (size_t)m->closed.vertex_count * sizeof *m->sum);
    for (int32_t e = 0; e < m->closed.adjacency.edge_count; e++)
        for (int side = 0; side < 2; side++) {
            int32_t to = m->closed.adjacency.edge_vertices[2 * (size_t)e + (size_t)side],
                    from = m->closed.adjacency.edge_vertices[2 * (size_t)e + 1 - (size_t)side];
            for (int c = 0; c < 3; c++)
                m->sum[3 * (size_t)to + (size_t)c] += (double)positions[3 * (size_t)from + (size_t)c];
        }
}

/* Length of mean(neighbours) - vertex, after edge_sums. */
static double laplacian_length(const sup_measurer *m, const float *positions, int32_t v)
{
    const double *sum = m->sum + 3 * (size_t)v;
    double inverse = 1.0 / (double)m->degree[v];
    sup_vec3d mean = sup_v3(sum[0] * inverse, sum[1] * inverse, sum[2] * inverse);
    return sup_v3_distance(mean, position(positions, v));
}

/* Stores the rest triangle in its plane: first side along x with length a, second side (b, c). */
static void store_rest_frame(sup_measurer *m, int32_t t)
{
    const int32_t *v = m->closed.triangles + 3 * (size_t)t;
    sup_vec3d p = position(m->rest, v[0]), e1 = sup_v3_sub(position(m->rest, v[1]), p),
              e2 = sup_v3_sub(position(m->rest, v[2]), p);
    double a = sup_v3_length(e1), area = 0.5 * sup_v3_length(sup_v3_cross(e1, e2));
    float *frame = m->rest_frame + 3 * (size_t)t;
    m->rest_area[t] = (float)area;
    frame[0] = frame[1] = frame[2] = 0.0f;
    if (!(area > 1e-12 * m->mean_edge * m->mean_edge)) return; /* degenerate: nothing to compare with */
    double b = sup_v3_dot(e1, e2) / a, c = 2.0 * area / a;
    frame[0] = (float)(1.0 / a);
    frame[1] = (float)(-b / (a * c));
    frame[2] = (float)(1.0 / c);
}

void sup_measure_rest_shape(sup_measurer *m)
{
    double total = 0.0;
    for (int32_t e = 0; e < m->closed.adjacency.edge_count; e++) {
        const int32_t *v = m->closed.adjacency.edge_vertices + 2 * (size_t)e;
        double length = sup_v3_distance(position(m->rest, v[0]), position(m->rest, v[1]));
        m->edge_length[e] = (float)length;
        total += length;
        m->degree[v[0]]++;
        m->degree[v[1]]++;
    }
    m->mean_edge = m->closed.adjacency.edge_count > 0 ? total / (double)m->closed.adjacency.edge_count : 0.0;
    compute_normals(m, m->rest);
    for (int32_t t = 0; t < m->closed.triangle_count; t++) {
        store_rest_frame(m, t);
        m->rest_flip[t] = is_flipped(m, t);
    }
    edge_sums(m, m->rest);
    for (int32_t v = 0; v < m->closed.vertex_count; v++)
        m->laplacian[v] = m->degree[v] > 0 ? (float)laplacian_length(m, m->rest, v) : 0.0f;
}

static void measure_edges(const sup_measurer *m, sup_frame_measure *out)
{
    double total = 0.0;
    int32_t count = 0;
    out->stretch_min = out->stretch_max = out->stretch_mean = 1.0;
    for (int32_t e = 0; e < m->closed.adjacency.edge_count; e++) {
        const int32_t *v = m->closed.adjacency.edge_vertices + 2 * (size_t)e;
        if (!((double)m->edge_length[e] > 1e-9 * m->mean_edge)) continue;
        double stretch =
            sup_v3_distance(position(m->current, v[0]), position(m->current, v[1])) / (double)m->edge_length[e];
        if (count == 0 || stretch < out->stretch_min) out->stretch_min = stretch;
        if (count == 0 || stretch > out->stretch_max) out->stretch_max = stretch;
        total += stretch;
        count++;
    }
    if (count > 0) out->stretch_mean = total / (double)count;
}

/* Singular values of the map from the rest triangle to the current one, s1 >= s2 >= 0. */
static void singular_values(const sup_measurer *m, int32_t t, double *s1, double *s2)
{
    const int32_t *v = m->closed.triangles + 3 * (size_t)t;
    const float *frame = m->rest_frame + 3 * (size_t)t;
    sup_vec3d p = position(m->current, v[0]), e1 = sup_v3_sub(position(m->current, v[1]), p),
              e2 = sup_v3_sub(position(m->current, v[2]), p);
    sup_vec3d u = sup_v3_scale(e1, (double)frame[0]);
    sup_vec3d w = sup_v3_madd(sup_v3_scale(e1, (double)frame[1]), (double)frame[2], e2);
    double uu = sup_v3_dot(u, u), ww = sup_v3_dot(w, w), uw = sup_v3_dot(u, w);
    double mean = 0.5 * (uu + ww), radius = sqrt(0.25 * (uu - ww) * (uu - ww) + uw * uw);
    *s1 = sqrt(mean + radius);
    *s2 = sqrt(fmax(mean - radius, 0.0));
}

enum { MAX_RATIO = 1000000 }; /* ratio of a triangle without area */

static double bounded_ratio(double a, double b)
{
    return b > a / (double)MAX_RATIO ? a / b : (double)MAX_RATIO;
}

/* Means are weighted by rest area, so that they do not depend on the mesh density. */
static void measure_triangles(const sup_measurer *m, sup_frame_measure *out)
{
    double area_sum = 0.0, angle_sum = 0.0, weight_sum = 0.0;
    out->area_max = out->area_mean = out->angle_max = out->angle_mean = 1.0;
    for (int32_t t = 0; t < m->closed.triangle_count; t++) {
        if (m->rest_frame[3 * (size_t)t] == 0.0f) continue;
        double s1, s2, weight = (double)m->rest_area[t];
        singular_values(m, t, &s1, &s2);
        double area = s1 * s2 >= 1.0 ? fmin(s1 * s2, (double)MAX_RATIO) : bounded_ratio(1.0, s1 * s2);
        double angle = s1 > 0.0 ? bounded_ratio(s1, s2) : 1.0;
        out->area_max = fmax(out->area_max, area);
        out->angle_max = fmax(out->angle_max, angle);
        area_sum += weight * area;
        angle_sum += weight * angle;
        weight_sum += weight;
    }
    if (!(weight_sum > 0.0)) return;
    out->area_mean = area_sum / weight_sum;
    out->angle_mean = angle_sum / weight_sum;
}

static void measure_roughness(sup_measurer *m, sup_frame_measure *out)
{
    double sum = 0.0;
    int32_t count = 0;
    edge_sums(m, m->current);
    for (int32_t v = 0; v < m->closed.vertex_count; v++) {
        if (m->degree[v] == 0) continue;
        double change = (laplacian_length(m, m->current, v) - (double)m->laplacian[v]) / m->mean_edge;
        sum += change * change;
        count++;
    }
    out->roughness = count > 0 && m->mean_edge > 0.0 ? sqrt(sum / (double)count) : 0.0;
}

void sup_measure_distortion(sup_measurer *m, sup_frame_measure *out)
{
    double largest = 0.0;
    for (int32_t v = 0; v < m->closed.vertex_count; v++)
        largest = fmax(largest, sup_v3_distance(position(m->current, v), position(m->rest, v)));
    out->displacement_max = largest / m->size;
    measure_edges(m, out);
    measure_triangles(m, out);
    compute_normals(m, m->current);
    out->flips = 0;
    for (int32_t t = 0; t < m->closed.triangle_count; t++)
        if (!m->rest_flip[t] && is_flipped(m, t)) out->flips++;
    measure_roughness(m, out);
}

/* layers.c - prisms between two surfaces of one triangulation. */
#include "anatomy/layers.h"

#include "geometry/winding.h"

void sup_prism_split(const int32_t corners[3], int32_t tets[3][4])
{
    int32_t a = 0, b = 1, c = 2, odd = 0, swap = 0;
    if (corners[a] > corners[b]) swap = a, a = b, b = swap, odd ^= 1;
    if (corners[b] > corners[c]) swap = b, b = c, c = swap, odd ^= 1;
    if (corners[a] > corners[b]) swap = a, a = b, b = swap, odd ^= 1;
    const int32_t split[3][4] = {{a, b, c + 3, c}, {a, b, b + 3, c + 3}, {a, a + 3, c + 3, b + 3}};
    for (int32_t t = 0; t < 3; t++) {
        tets[t][0] = split[t][0];
        tets[t][1] = split[t][1];
        tets[t][2] = split[t][odd ? 3 : 2];
        tets[t][3] = split[t][odd ? 2 : 3];
    }
}

double sup_prism_volumes(const double *outer, const double *inner, const int32_t corners[3], double volumes[3])
{
    sup_vec3d position[6];
    int32_t tets[3][4];
    for (int32_t k = 0; k < 3; k++) {
        position[k] = sup_point(outer, corners[k]);
        position[k + 3] = sup_point(inner, corners[k]);
    }
    sup_prism_split(corners, tets);
    for (int32_t t = 0; t < 3; t++) {
        sup_vec3d o = position[tets[t][0]];
        sup_vec3d u = sup_v3_sub(position[tets[t][1]], o), v = sup_v3_sub(position[tets[t][2]], o);
        volumes[t] = sup_v3_dot(u, sup_v3_cross(v, sup_v3_sub(position[tets[t][3]], o))) / 6.0;
    }
    return volumes[0] + volumes[1] + volumes[2];
}

double sup_layer_volume(int32_t triangle_count, const int32_t *triangles, const double *outer, const double *inner)
{
    double sum = 0.0, volumes[3];
    for (int32_t t = 0; t < triangle_count; t++)
        sum += sup_prism_volumes(outer, inner, triangles + 3 * (size_t)t, volumes);
    return sum;
}

int32_t sup_layer_inverted(int32_t triangle_count, const int32_t *triangles, const double *outer, const double *inner,
                           double slack)
{
    int32_t count = 0;
    double volumes[3];
    for (int32_t t = 0; t < triangle_count; t++) {
        sup_prism_volumes(outer, inner, triangles + 3 * (size_t)t, volumes);
        count += volumes[0] < -slack || volumes[1] < -slack || volumes[2] < -slack;
    }
    return count;
}

static sup_vec3d cross_of(const double *positions, const int32_t *corners)
{
    sup_vec3d a = sup_point(positions, corners[0]);
    return sup_v3_cross(sup_v3_sub(sup_point(positions, corners[1]), a),
                        sup_v3_sub(sup_point(positions, corners[2]), a));
}

double sup_surface_area(int32_t triangle_count, const int32_t *triangles, const double *positions,
                        const unsigned char *excluded)
{
    double sum = 0.0;
    for (int32_t t = 0; t < triangle_count; t++) {
        const int32_t *c = triangles + 3 * (size_t)t;
        if (excluded != NULL && excluded[c[0]] && excluded[c[1]] && excluded[c[2]]) continue;
        sum += 0.5 * sup_v3_length(cross_of(positions, c));
    }
    return sum;
}

void sup_surface_normals(int32_t vertex_count, int32_t triangle_count, const int32_t *triangles,
                         const double *positions, double *normals)
{
    memset(normals, 0, 3 * (size_t)vertex_count * sizeof(double));
    for (int32_t t = 0; t < triangle_count; t++) {
        const int32_t *c = triangles + 3 * (size_t)t;
        sup_vec3d n = cross_of(positions, c);
        for (int32_t k = 0; k < 3; k++)
            sup_point_set(normals, c[k], sup_v3_add(sup_point(normals, c[k]), n));
    }
    for (int32_t v = 0; v < vertex_count; v++)
        sup_point_set(normals, v, sup_v3_unit_or(sup_point(normals, v), sup_v3(0.0, 0.0, 0.0)));
}

typedef struct outside_work {
    const sup_winding *tree;
    const sup_anatomy *anatomy;
    const double *outer, *inner;
    unsigned char *flags;
} outside_work;

static void outside_range(void *user, int32_t begin, int32_t end, int32_t worker)
{
    outside_work *work = user;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        sup_vec3d p = sup_point(work->inner, v);
        bool same = sup_v3_distance(p, sup_point(work->outer, v)) == 0.0;
        work->flags[v] = !work->anatomy->excluded[v] && !same && sup_winding_number(work->tree, p) < 0.5;
    }
}

sup_result sup_layer_outside(const sup_context *context, const sup_anatomy *anatomy, const double *outer,
                             const double *inner, unsigned char *flags, int32_t *count, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    size_t size = 3 * (size_t)anatomy->vertex_count * sizeof(float);
    float *positions = sup_alloc(&resolved.allocator, size);
    if (positions == NULL) return sup_fail_memory(error, "a layer's surface");
    for (size_t i = 0; i < 3 * (size_t)anatomy->vertex_count; i++)
        positions[i] = (float)outer[i];
    sup_winding tree;
    sup_result result =
        sup_winding_create(&resolved.allocator, positions, anatomy->triangle_count, anatomy->triangles, &tree, error);
    if (result == SUP_OK) {
        outside_work work = {&tree, anatomy, outer, inner, flags};
        sup_parallel(&resolved, anatomy->vertex_count, 256, outside_range, &work);
        sup_winding_destroy(&tree);
        *count = 0;
        for (int32_t v = 0; v < anatomy->vertex_count; v++)
            *count += flags[v];
    }
    sup_free(&resolved.allocator, positions, size);
    return result;
}

double sup_layer_alignment(const sup_anatomy *anatomy, const double *skin, const double *skin_normals,
                           const double *bone, const double *bone_normals)
{
    double sum = 0.0;
    int32_t count = 0;
    for (int32_t v = 0; v < anatomy->vertex_count; v++) {
        if (anatomy->excluded[v]) continue;
        sup_vec3d n = sup_v3_add(sup_point(skin_normals, v), sup_point(bone_normals, v));
        sup_vec3d line = sup_v3_sub(sup_point(skin, v), sup_point(bone, v));
        double size = sup_v3_length(n) * sup_v3_length(line);
        sum += size > 0.0 ? fabs(sup_v3_dot(n, line) / size - 1.0) : 1.0; /* eq. 4.4 */
        count++;
    }
    return count > 0 ? sum / count : 0.0;
}

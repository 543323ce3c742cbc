/* laplace.c - cotangent Laplacian from edge lengths.
 *
 * U. Pinkall, K. Polthier, "Computing discrete minimal surfaces and their conjugates", Experimental Mathematics 2(1),
 * 1993 (key pinkall1993minimal): the cotangent weights. N. Sharp, K. Crane, "A Laplacian for nonmanifold triangle
 * meshes", CGF 39(5), 2020 (key sharp2020laplacian): the intrinsic mollification. Deviation: without their tufted cover
 * and intrinsic Delaunay flips; negative edge weights are set to zero instead, which gives the same sign guarantee with
 * the given edges. */
#include "geometry/laplace.h"
#include "math/vec3.h"

/* Smallest slack of the triangle inequalities, relative to the mean edge length. */
static const double mollify_fraction = 1e-5;

static double edge_length(const float *positions, int32_t a, int32_t b)
{
    return sup_v3_distance(sup_v3_load(positions + (int64_t)a * 3), sup_v3_load(positions + (int64_t)b * 3));
}

/* length[k] is opposite to corner k. */
static void triangle_lengths(const float *positions, const int32_t *t, double length[3])
{
    for (int k = 0; k < 3; k++)
        length[k] = edge_length(positions, t[(k + 1) % 3], t[(k + 2) % 3]);
}

/* Length to add to every edge so that all triangle inequalities hold with this slack. */
static double mollification(const float *positions, int32_t triangle_count, const int32_t *triangles)
{
    double sum = 0.0, added = 0.0;
    for (int32_t t = 0; t < triangle_count; t++) {
        double length[3];
        triangle_lengths(positions, triangles + (int64_t)t * 3, length);
        sum += length[0] + length[1] + length[2];
    }
    double slack = triangle_count > 0 ? mollify_fraction * sum / (3.0 * triangle_count) : 0.0;
    for (int32_t t = 0; t < triangle_count; t++) {
        double length[3];
        triangle_lengths(positions, triangles + (int64_t)t * 3, length);
        for (int k = 0; k < 3; k++) {
            double missing = slack + length[k] - length[(k + 1) % 3] - length[(k + 2) % 3];
            if (missing > added) added = missing;
        }
    }
    return added;
}

/* Area by Heron's formula in Kahan's stable order; 0 for degenerate triangles. */
static double area_from_lengths(const double length[3])
{
    double a = length[0], b = length[1], c = length[2], swap;
    if (a < b) swap = a, a = b, b = swap;
    if (b < c) swap = b, b = c, c = swap;
    if (a < b) swap = a, a = b, b = swap;
    double product = (a + (b + c)) * (c - (a - b)) * (c + (a - b)) * (a + (b - c));
    return product > 0.0 ? 0.25 * sqrt(product) : 0.0;
}

static int64_t add_triangle(const int32_t *t, const double length[3], sup_triplet *to, double *mass)
{
    double area = area_from_lengths(length);
    if (!(area > 0.0) || !isfinite(area)) return 0;
    int64_t count = 0;
    for (int k = 0; k < 3; k++) {
        double a = length[k], b = length[(k + 1) % 3], c = length[(k + 2) % 3];
        double cotangent = (b * b + c * c - a * a) / (4.0 * area);
        mass[t[k]] += area / 3.0;
        if (isfinite(cotangent)) to[count++] = (sup_triplet){t[(k + 1) % 3], t[(k + 2) % 3], -0.5 * cotangent};
    }
    return count;
}

/* Matrix rows must sum to zero: compute the diagonal from the remaining weights. */
static void close_rows(sup_csr *matrix, bool cut_negative)
{
    for (int32_t i = 0; i < matrix->size; i++)
        matrix->value[matrix->first[i + 1] - 1] = 0.0;
    for (int32_t i = 0; i < matrix->size; i++)
        for (int32_t k = matrix->first[i]; k < matrix->first[i + 1] - 1; k++) {
            int32_t j = matrix->column[k];
            if (cut_negative && matrix->value[k] > 0.0) matrix->value[k] = 0.0;
            matrix->value[matrix->first[i + 1] - 1] -= matrix->value[k];
            matrix->value[matrix->first[j + 1] - 1] -= matrix->value[k];
        }
}

sup_result sup_laplace_create(const sup_context *context, sup_laplace_kind kind, int32_t vertex_count,
                              const float *positions, int32_t triangle_count, const int32_t *triangles,
                              sup_laplace *laplace, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    const sup_allocator *allocator = &resolved.allocator;
    size_t triplet_bytes = sup_size_multiply((size_t)triangle_count * 3, sizeof(sup_triplet));
    size_t mass_bytes = (size_t)vertex_count * sizeof(double);
    sup_triplet *triplets = sup_alloc(allocator, triplet_bytes);
    double *mass = sup_alloc_zero(allocator, mass_bytes);
    sup_result result = SUP_OK;
    sup_laplace built = {.mass = mass, .allocator = *allocator};
    if (triplets == NULL || mass == NULL) {
        result = sup_fail_memory(error, "a Laplacian");
    } else {
        bool robust = kind == SUP_LAPLACE_ROBUST;
        double added = robust ? mollification(positions, triangle_count, triangles) : 0.0;
        int64_t count = 0;
        for (int32_t t = 0; t < triangle_count; t++) {
            double length[3];
            triangle_lengths(positions, triangles + (int64_t)t * 3, length);
            for (int k = 0; k < 3; k++)
                length[k] += added;
            count += add_triangle(triangles + (int64_t)t * 3, length, triplets + count, mass);
        }
        result = sup_csr_from_triplets(&resolved, vertex_count, triplets, count, &built.stiffness, error);
        if (result == SUP_OK) close_rows(&built.stiffness, robust);
    }
    sup_free(allocator, triplets, triplet_bytes);
    if (result == SUP_OK)
        *laplace = built;
    else
        sup_free(allocator, mass, mass_bytes);
    return result;
}

void sup_laplace_free(sup_laplace *laplace)
{
    if (laplace == NULL || laplace->mass == NULL) return;
    sup_free(&laplace->allocator, laplace->mass, (size_t)laplace->stiffness.size * sizeof(double));
    sup_csr_free(&laplace->stiffness);
    memset(laplace, 0, sizeof(*laplace));
}

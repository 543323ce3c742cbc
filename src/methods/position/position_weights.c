/* position_weights.c - weights of the particles: those of the skin, extended to the interior by a harmonic function. */
#include "methods/position/position_weights.h"

#include "geometry/normals.h"
#include "linalg/cholesky.h"
#include "methods/position/position.h"
#include "methods/position/nearest_facing.h"

enum { SOLVE_LANES = 8 };

typedef struct transfer {
    const sup_context *context;
    const sup_simulated_surface *surface;
    const sup_bvh *skin;
    const sup_tetmesh *mesh;
    int32_t joint_count;
    sup_arena arena;
    double *outward;  /* [vertex_count*3] outward normals of the surface; zero when the skin is inverted */
    double *dense;    /* [vertex_count*joint_count] */
    int32_t *unknown; /* [vertex_count] unknown of an interior particle, -1 on the surface */
    int32_t unknown_count;
} transfer;

/* Copies the weights of the nearest skin point. */
static void copy_nearest(transfer *t, int32_t particle)
{
    const sup_simulated_surface *s = t->surface;
    const double *n = t->outward + 3 * (int64_t)particle;
    sup_bvh_nearest near = sup_nearest_facing(t->skin, sup_v3_load(t->mesh->positions + 3 * (int64_t)particle),
                                              sup_v3(n[0], n[1], n[2]), t->mesh->report.spacing);
    double barycentric[3] = {1.0 - near.u - near.v, near.u, near.v};
    for (int k = 0; near.triangle >= 0 && k < 3; k++) {
        int32_t v = s->coarse_triangles[3 * (int64_t)near.triangle + k];
        for (int32_t i = s->influence_first[v]; i < s->influence_first[v + 1]; i++)
            t->dense[(int64_t)particle * t->joint_count + s->influence_joint[i]] +=
                barycentric[k] * (double)s->influence_weight[i];
    }
}

static void copy_surface(void *work, int32_t begin, int32_t end, int32_t worker)
{
    transfer *t = work;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++)
        if (t->unknown[v] < 0) copy_nearest(t, v);
}

/* Edge weight of the graph Laplacian. Edges shared by several tets are added several times. */
static double conductance(const transfer *t, int32_t u, int32_t v)
{
    double length = sup_v3_distance(sup_v3_load(t->mesh->positions + 3 * (int64_t)u),
                                    sup_v3_load(t->mesh->positions + 3 * (int64_t)v));
    return length > 0.0 ? 1.0 / (length * length) : 0.0;
}

static sup_result build_matrix(transfer *t, sup_csr *matrix, double scale, sup_error *error)
{
    int64_t count = 0, tets = t->mesh->tet_count;
    sup_triplet *triplets = sup_arena_alloc(&t->arena, (size_t)(18 * tets + t->unknown_count), sizeof(sup_triplet));
    if (triplets == NULL) return sup_fail_memory(error, "the weights of the tissue");
    for (int64_t k = 0; k < 6 * tets; k++) {
        static const int pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
        const int32_t *tet = t->mesh->tets + 4 * (k / 6);
        int32_t u = tet[pairs[k % 6][0]], v = tet[pairs[k % 6][1]], a = t->unknown[u], b = t->unknown[v];
        double c = conductance(t, u, v) * scale;
        if (a >= 0) triplets[count++] = (sup_triplet){a, a, c};
        if (b >= 0) triplets[count++] = (sup_triplet){b, b, c};
        if (a >= 0 && b >= 0) triplets[count++] = (sup_triplet){a > b ? a : b, a > b ? b : a, -c};
    }
    for (int32_t i = 0; i < t->unknown_count; i++) /* regularises components without surface, which should not exist */
        triplets[count++] = (sup_triplet){i, i, 1e-9};
    return sup_csr_from_triplets(t->context, t->unknown_count, triplets, count, matrix, error);
}

/* Right-hand sides of joints [first, first + SOLVE_LANES): boundary values of the surface. */
static void fill_sources(const transfer *t, int32_t first, double scale, double *b)
{
    memset(b, 0, (size_t)t->unknown_count * SOLVE_LANES * sizeof *b);
    for (int64_t k = 0; k < 12 * (int64_t)t->mesh->tet_count; k++) {
        static const int pairs[12][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3},
                                         {1, 0}, {2, 0}, {3, 0}, {2, 1}, {3, 1}, {3, 2}};
        const int32_t *tet = t->mesh->tets + 4 * (k / 12);
        int32_t u = tet[pairs[k % 12][0]], v = tet[pairs[k % 12][1]], a = t->unknown[u];
        if (a < 0 || t->unknown[v] >= 0) continue;
        double c = conductance(t, u, v) * scale;
        for (int32_t j = 0; j < SOLVE_LANES && first + j < t->joint_count; j++)
            b[(int64_t)a * SOLVE_LANES + j] += c * t->dense[(int64_t)v * t->joint_count + first + j];
    }
}

static sup_result solve_inside(transfer *t, sup_error *error)
{
    sup_csr matrix;
    sup_cholesky *cholesky = NULL;
    double scale = 0.0;
    for (int64_t k = 0; k < t->mesh->tet_count; k++)
        scale += conductance(t, t->mesh->tets[4 * k], t->mesh->tets[4 * k + 1]) / t->mesh->tet_count;
    scale = scale > 0.0 ? 1.0 / scale : 1.0; /* makes the matrix independent of the unit */
    sup_result result = build_matrix(t, &matrix, scale, error);
    if (result != SUP_OK) return result;
    result = sup_cholesky_create(t->context, &matrix, &cholesky, error);
    size_t unknowns = (size_t)t->unknown_count;
    double *x = NULL, *workspace = NULL;
    if (result == SUP_OK) {
        x = sup_arena_alloc(&t->arena, unknowns * SOLVE_LANES, sizeof(double));
        workspace = sup_arena_alloc(&t->arena, (size_t)sup_cholesky_workspace(cholesky, SOLVE_LANES), sizeof(double));
        if (x == NULL || workspace == NULL) result = sup_fail_memory(error, "the weights of the tissue");
    }
    for (int32_t first = 0; result == SUP_OK && first < t->joint_count; first += SOLVE_LANES) {
        fill_sources(t, first, scale, x);
        sup_cholesky_solve(cholesky, SOLVE_LANES, x, x, workspace);
        for (int32_t v = 0; v < t->mesh->vertex_count; v++)
            for (int32_t j = 0; t->unknown[v] >= 0 && j < SOLVE_LANES && first + j < t->joint_count; j++)
                t->dense[(int64_t)v * t->joint_count + first + j] = x[(int64_t)t->unknown[v] * SOLVE_LANES + j];
    }
    sup_cholesky_destroy(cholesky);
    sup_csr_free(&matrix);
    return result;
}

/* Keeps the largest weights, normalised to sum 1. */
static void keep_strongest(const double *weights_of, int32_t joint_count, int32_t *joints, float *weights)
{
    double largest[SUP_POSITION_INFLUENCES] = {0}, sum = 0.0;
    for (int k = 0; k < SUP_POSITION_INFLUENCES; k++)
        joints[k] = 0;
    for (int32_t j = 0; j < joint_count; j++) {
        if (!(weights_of[j] > largest[SUP_POSITION_INFLUENCES - 1])) continue;
        int k = SUP_POSITION_INFLUENCES - 1;
        for (; k > 0 && weights_of[j] > largest[k - 1]; k--) {
            largest[k] = largest[k - 1];
            joints[k] = joints[k - 1];
        }
        largest[k] = weights_of[j];
        joints[k] = j;
    }
    for (int k = 0; k < SUP_POSITION_INFLUENCES; k++)
        sum += largest[k];
    for (int k = 0; k < SUP_POSITION_INFLUENCES; k++)
        weights[k] = sum > 0.0 ? (float)(largest[k] / sum) : (k == 0 ? 1.0f : 0.0f);
}

static sup_result transfer_weights(transfer *t, int32_t *joints, float *weights, sup_error *error)
{
    size_t count = (size_t)t->mesh->vertex_count;
    t->dense = sup_arena_alloc(&t->arena, sup_size_multiply(count, (size_t)t->joint_count), sizeof(double));
    t->unknown = sup_arena_alloc(&t->arena, count, sizeof(int32_t));
    t->outward = sup_arena_alloc(&t->arena, 3 * count, sizeof(double));
    if (t->dense == NULL || t->unknown == NULL || t->outward == NULL)
        return sup_fail_memory(error, "the weights of the tissue");
    if (t->mesh->report.flipped == 0)
        sup_vertex_normals(t->mesh->vertex_count, t->mesh->positions, t->mesh->triangle_count, t->mesh->triangles, NULL,
                           t->outward);
    for (int64_t i = 0; i < 3 * (int64_t)t->mesh->triangle_count; i++)
        t->unknown[t->mesh->triangles[i]] = -1;
    for (size_t v = 0; v < count; v++)
        if (t->unknown[v] == 0) t->unknown[v] = t->unknown_count++;
    sup_parallel(t->context, t->mesh->vertex_count, 256, copy_surface, t);
    if (t->unknown_count > 0) {
        sup_result result = solve_inside(t, error);
        if (result != SUP_OK) return result;
    }
    for (size_t v = 0; v < count; v++)
        keep_strongest(t->dense + v * (size_t)t->joint_count, t->joint_count, joints + v * SUP_POSITION_INFLUENCES,
                       weights + v * SUP_POSITION_INFLUENCES);
    return SUP_OK;
}

sup_result sup_position_weights(const sup_context *context, const sup_simulated_surface *surface, const sup_bvh *skin,
                                int32_t joint_count, const sup_tetmesh *mesh, int32_t *joints, float *weights,
                                sup_error *error)
{
    transfer t = {.context = context,
                  .surface = surface,
                  .skin = skin,
                  .mesh = mesh,
                  .joint_count = joint_count,
                  .arena = sup_arena_create(&context->allocator)};
    sup_result result = transfer_weights(&t, joints, weights, error);
    sup_arena_destroy(&t.arena);
    return result;
}

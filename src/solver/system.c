/* system.c - assembly and factorisation.
 *
 * Based on: [komaritzan2022] eq. 2.13 with the hard constraints of section 2.2.3: the matrix of the unknowns is
 * M_f / dt^2 + Q_f^T W Q_f, and Q_f^T W Q_b couples them to the anchors. */
#include "solver/system_build.h"

#include <math.h>

/* Parts of the global solve: enough for a few threads; more of them make the serial separator larger. */
enum { SOLVE_SUBDOMAINS = 8 };

void sup_system_name(const char *prefix, const char *name, char to[32])
{
    sup_format(to, 32, "%s.%s", prefix, name);
}

void *sup_system_add(sup_system_builder *b, const char *name, sup_array_type type, int64_t count)
{
    char full[32];
    sup_system_name(b->prefix, name, full);
    return sup_model_add(b->model, full, type, count);
}

static sup_result check_def(const sup_system_def *def, const char *prefix, sup_error *error)
{
    const sup_tissue *t = def->tissue;
    if (t == NULL || t->skin_count < 1 || t->triangle_count < 1)
        return sup_fail(error, SUP_ERROR_DATA, "system.empty", "", "The tissue has no triangles to simulate.");
    if (t->skin_count > INT32_MAX / 16 || t->triangle_count > INT32_MAX / (4 * SUP_PRISM_CORNERS))
        return sup_fail(error, SUP_ERROR_DATA, "system.large", "",
                        "The tissue has too many vertices: decimate the skin.");
    if (prefix == NULL || strlen(prefix) > 12)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "system.prefix", "", "The prefix is longer than 12 characters.");
    double numbers[4] = {def->tissue_stiffness, def->total_mass, def->time_step, def->volume};
    for (int32_t k = 0; k < 4; k++)
        if (!isfinite(numbers[k]) || numbers[k] < 0.0)
            return sup_fail(error, SUP_ERROR_ARGUMENT, "system.parameter", "",
                            "Stiffness, mass, time step and volume must be positive numbers, not %g.", numbers[k]);
    if (def->volume > 0.0 && (def->skeleton == NULL || t->foot_points == NULL))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "system.volume", "",
                        "Volume preservation needs a skeleton and the foot points of the skin on it: pass both.");
    for (int32_t v = 0; def->stiffness != NULL && v < t->skin_count; v++)
        if (!isfinite(def->stiffness[v]) || def->stiffness[v] <= 0.0f)
            return sup_fail(error, SUP_ERROR_ARGUMENT, "system.stiffness", "",
                            "The stiffness of skin vertex %d must be a positive number, not %g.", (int)v,
                            (double)def->stiffness[v]);
    for (int64_t i = 0; i < (int64_t)t->skin_count * 3; i++)
        if (!isfinite(t->skin[i]) || !isfinite(t->base[i]) || (t->middle != NULL && !isfinite(t->middle[i])))
            return sup_fail(error, SUP_ERROR_DATA, "system.finite", "", "Skin vertex %d has no finite position.",
                            (int)(i / 3));
    return SUP_OK;
}

/* Bounding box of the skin. Flat characters have no volume: each side is at least a hundredth of the diagonal. */
static sup_result measure_size(sup_system_builder *b, sup_error *error)
{
    double low[3], high[3], square = 0.0, volume = 1.0;
    for (int32_t k = 0; k < 3; k++)
        low[k] = high[k] = b->tissue->skin[k];
    for (int64_t i = 0; i < (int64_t)b->tissue->skin_count * 3; i++) {
        low[i % 3] = fmin(low[i % 3], b->tissue->skin[i]);
        high[i % 3] = fmax(high[i % 3], b->tissue->skin[i]);
    }
    for (int32_t k = 0; k < 3; k++)
        square += (high[k] - low[k]) * (high[k] - low[k]);
    b->diagonal = sqrt(square);
    for (int32_t k = 0; k < 3; k++) {
        b->low[k] = low[k];
        volume *= fmax(high[k] - low[k], 0.01 * b->diagonal);
    }
    b->size = cbrt(volume);
    if (!(b->size > 0.0) || !isfinite(volume))
        return sup_fail(error, SUP_ERROR_DATA, "system.size", "",
                        "The skin has no extent, or it is not finite: check its positions.");
    return SUP_OK;
}

static sup_result number_vertices(sup_system_builder *b, sup_error *error)
{
    const sup_tissue *t = b->tissue;
    int32_t n = t->skin_count;
    b->vertex_count = sup_tissue_vertex_count(t);
    b->prism_count = t->triangle_count * sup_tissue_layer_count(t);
    b->number = sup_arena_alloc(&b->arena, (size_t)b->vertex_count, sizeof(int32_t));
    b->node = sup_arena_alloc(&b->arena, (size_t)b->vertex_count, sizeof(int32_t));
    if (b->number == NULL || b->node == NULL) return sup_fail_memory(error, "the tissue's unknowns");
    for (int32_t v = 0; v < b->vertex_count; v++) {
        bool free_vertex = v < n ? b->def->fixed == NULL || b->def->fixed[v] == 0
                                 : v >= 2 * n || t->base_class[v - n] == SUP_BASE_FREE;
        b->number[v] = free_vertex ? b->unknown_count++ : -1 - b->anchor_count++;
    }
    for (int32_t v = 0; v < b->vertex_count; v++)
        if (b->number[v] < 0) b->number[v] = b->unknown_count - 1 - b->number[v];
    if (b->unknown_count == 0)
        return sup_fail(error, SUP_ERROR_DATA, "system.fixed", "",
                        "All vertices are fixed: nothing can be simulated. Free at least one.");
    return SUP_OK;
}

/* K_ij = sum over tetrahedra of w g_i . g_j for the six corners of a prism, times `stiffening`. */
static void prism_matrix(const sup_prism *p, double stiffening, double k[6][6])
{
    memset(k, 0, 36 * sizeof(double));
    for (int32_t t = 0; t < 3; t++) {
        double g[4][3];
        for (int32_t c = 0; c < 3; c++) {
            for (int32_t e = 0; e < 3; e++)
                g[e][c] = p->gradient[t][3 * e + c];
            g[3][c] = -(g[0][c] + g[1][c] + g[2][c]);
        }
        for (int32_t i = 0; i < 4; i++)
            for (int32_t j = 0; j < 4; j++)
                k[sup_prism_tets[t][i]][sup_prism_tets[t][j]] +=
                    stiffening * p->weight[t] * (g[i][0] * g[j][0] + g[i][1] * g[j][1] + g[i][2] * g[j][2]);
    }
}

/* Stiffening of the outer layer of tissue, whose volume is preserved. */
static double stiffening_of(const sup_system_builder *b, const sup_prism *p)
{
    bool held = false;
    for (int32_t k = 0; k < 6; k++)
        held = held || b->number[p->corner[k]] >= b->unknown_count;
    return 1.0 + b->def->volume * (held ? SUP_VOLUME_STIFFENING_HELD : SUP_VOLUME_STIFFENING);
}

/* The matrix of unknowns and anchors, without entries between anchors. Its first rows are the system's matrix, the
 * others couple the anchors to it. */
static sup_result assemble(sup_system_builder *b, sup_csr *matrix, sup_error *error)
{
    const sup_tissue *t = b->tissue;
    double step = b->def->time_step > 0.0 ? b->def->time_step : 0.2;
    int64_t capacity = (int64_t)b->prism_count * 21 + b->vertex_count, count = 0;
    sup_triplet *triplets = sup_alloc(&b->context->allocator, sup_size_multiply((size_t)capacity, sizeof(sup_triplet)));
    if (triplets == NULL) return sup_fail_memory(error, "the system's entries");
    for (int32_t p = 0; p < b->prism_count; p++) {
        double k[6][6];
        prism_matrix(&b->prisms[p], p < t->triangle_count ? stiffening_of(b, &b->prisms[p]) : 1.0, k);
        for (int32_t i = 0; i < 6; i++)
            for (int32_t j = 0; j <= i; j++) {
                int32_t row = b->number[b->prisms[p].corner[i]], column = b->number[b->prisms[p].corner[j]];
                if (row >= b->unknown_count && column >= b->unknown_count) continue;
                triplets[count++] = (sup_triplet){row, column, k[i][j]};
            }
    }
    for (int32_t v = 0; v < b->vertex_count && !b->def->is_static; v++)
        if (b->number[v] < b->unknown_count && sup_tissue_has_mass(t, v))
            triplets[count++] = (sup_triplet){b->number[v], b->number[v], b->mass[v] / (step * step)};
    sup_result result =
        sup_csr_from_triplets(b->context, b->unknown_count + b->anchor_count, triplets, count, matrix, error);
    sup_free(&b->context->allocator, triplets, sup_size_multiply((size_t)capacity, sizeof(sup_triplet)));
    if (result != SUP_OK) return result;
    for (int32_t i = 0; i < b->unknown_count; i++) { /* vertices without triangles keep their position */
        double *diagonal = &matrix->value[matrix->first[i + 1] - 1];
        if (matrix->first[i + 1] - matrix->first[i] == 1 && !(*diagonal > 0.0)) *diagonal = 1.0;
    }
    for (int32_t v = 2 * t->skin_count; v < b->vertex_count; v++) { /* so do vertices that only have flat tetrahedra */
        double *diagonal = &matrix->value[matrix->first[b->number[v] + 1] - 1];
        if (!(*diagonal > 0.0)) *diagonal = 1.0;
    }
    return SUP_OK;
}

static sup_result add_factor(sup_system_builder *b, const sup_cholesky *cholesky, sup_error *error)
{
    int64_t int_count, float_count, subdomain_count;
    sup_float_factor_sizes(cholesky, &int_count, &float_count);
    int32_t *ints = sup_system_add(b, "factor", SUP_ARRAY_INT32, int_count);
    float *floats = sup_system_add(b, "factor_values", SUP_ARRAY_FLOAT, float_count);
    if (ints == NULL || floats == NULL) return sup_fail_memory(error, "the system's factor");
    sup_result result = sup_float_factor_write(cholesky, ints, floats, error);
    if (result != SUP_OK) return result;
    int32_t *made = NULL;
    result = sup_float_subdomains_create(b->context, SOLVE_SUBDOMAINS, ints, floats, &made, &subdomain_count, error);
    if (result != SUP_OK) return result;
    int32_t *subdomains = sup_system_add(b, "subdomains", SUP_ARRAY_INT32, subdomain_count);
    if (subdomains != NULL) memcpy(subdomains, made, (size_t)subdomain_count * sizeof(int32_t));
    sup_free(&b->context->allocator, made, (size_t)subdomain_count * sizeof(int32_t));
    if (subdomains == NULL) return sup_fail_memory(error, "the system's factor");

    sup_float_factor factor = sup_float_factor_view(ints, floats);
    int32_t *node_of = sup_arena_alloc(&b->arena, (size_t)b->unknown_count, sizeof(int32_t));
    if (node_of == NULL) return sup_fail_memory(error, "the system's order");
    for (int32_t k = 0; k < b->unknown_count; k++)
        node_of[factor.order[k]] = k;
    for (int32_t v = 0; v < b->vertex_count; v++)
        b->node[v] = b->number[v] < b->unknown_count ? node_of[b->number[v]] : b->number[v];
    return SUP_OK;
}

static sup_result factorise(sup_system_builder *b, const sup_csr *matrix, sup_error *error)
{
    sup_csr unknowns = *matrix; /* the first rows have no entries of the anchors */
    unknowns.size = b->unknown_count;
    sup_cholesky *cholesky = NULL;
    sup_error inner = {0};
    sup_result result = sup_cholesky_create(b->context, &unknowns, &cholesky, &inner);
    if (result == SUP_ERROR_NUMERIC)
        return sup_fail(error, SUP_ERROR_DATA, "system.loose", "",
                        "Some of the tissue is not attached to any bone, so its position is not determined: %s",
                        inner.message);
    if (result != SUP_OK) {
        if (error != NULL) *error = inner;
        return result;
    }
    result = add_factor(b, cholesky, error);
    sup_cholesky_destroy(cholesky);
    return result;
}

/* Nodes, masses and the diagonal. */
static sup_result add_vertices(sup_system_builder *b, const sup_csr *matrix, sup_error *error)
{
    int32_t n = b->vertex_count;
    double step = b->def->time_step > 0.0 ? b->def->time_step : 0.2;
    int32_t *node = sup_system_add(b, "node", SUP_ARRAY_INT32, n);
    int32_t *anchor = sup_system_add(b, "anchor", SUP_ARRAY_INT32, b->anchor_count);
    float *rest = sup_system_add(b, "rest", SUP_ARRAY_FLOAT, (int64_t)4 * n);
    float *mass = sup_system_add(b, "mass", SUP_ARRAY_FLOAT, b->unknown_count);
    float *diagonal = sup_system_add(b, "diagonal", SUP_ARRAY_FLOAT, b->unknown_count);
    if (!node || !anchor || !rest || !mass || !diagonal) return sup_fail_memory(error, "the system's vertices");
    memcpy(node, b->node, (size_t)n * sizeof(int32_t));
    for (int32_t v = 0; v < n; v++) {
        memcpy(rest + (int64_t)4 * node[v], b->rest + (int64_t)3 * v, 3 * sizeof(float));
        if (node[v] >= b->unknown_count) {
            anchor[node[v] - b->unknown_count] = v;
            continue;
        }
        int32_t i = b->number[v];
        diagonal[node[v]] = (float)matrix->value[matrix->first[i + 1] - 1];
        if (!b->def->is_static) mass[node[v]] = (float)(b->mass[v] / (step * step));
    }
    return SUP_OK;
}

/* Rows of the anchors, transposed: entries by unknown. */
static sup_result add_couplings(sup_system_builder *b, const sup_csr *matrix, sup_error *error)
{
    int32_t n = b->unknown_count, all = n + b->anchor_count;
    int32_t *node_of = sup_arena_alloc(&b->arena, (size_t)n + 1, sizeof(int32_t));
    int32_t *next = sup_arena_alloc(&b->arena, (size_t)n + 1, sizeof(int32_t));
    int32_t *first = sup_system_add(b, "coupling_first", SUP_ARRAY_INT32, (int64_t)n + 1);
    if (!node_of || !next || !first) return sup_fail_memory(error, "the system's couplings");
    for (int32_t v = 0; v < b->vertex_count; v++)
        if (b->number[v] < n) node_of[b->number[v]] = b->node[v];
    for (int32_t a = n; a < all; a++)
        for (int32_t k = matrix->first[a]; k < matrix->first[a + 1]; k++)
            if (matrix->column[k] < n) first[node_of[matrix->column[k]] + 1]++;
    for (int32_t i = 0; i < n; i++)
        first[i + 1] += first[i];
    memcpy(next, first, ((size_t)n + 1) * sizeof(int32_t));
    int32_t *anchor = sup_system_add(b, "coupling_anchor", SUP_ARRAY_INT32, first[n]);
    float *value = sup_system_add(b, "coupling_value", SUP_ARRAY_FLOAT, first[n]);
    if (!anchor || !value) return sup_fail_memory(error, "the system's couplings");
    for (int32_t a = n; a < all; a++)
        for (int32_t k = matrix->first[a]; k < matrix->first[a + 1]; k++) {
            if (matrix->column[k] >= n) continue;
            int32_t to = next[node_of[matrix->column[k]]]++;
            anchor[to] = a - n;
            value[to] = (float)matrix->value[k];
        }
    return SUP_OK;
}

static sup_result build(sup_system_builder *b, sup_error *error)
{
    sup_result result = measure_size(b, error);
    if (result == SUP_OK) result = number_vertices(b, error);
    if (result == SUP_OK) result = sup_system_build_prisms(b, error);
    sup_csr matrix = {0};
    if (result == SUP_OK) result = assemble(b, &matrix, error);
    if (result == SUP_OK) result = factorise(b, &matrix, error);
    if (result == SUP_OK) result = add_vertices(b, &matrix, error);
    if (result == SUP_OK) result = add_couplings(b, &matrix, error);
    if (result == SUP_OK) result = sup_system_build_batches(b, error);
    if (result == SUP_OK) result = sup_system_build_volume(b, error);
    sup_csr_free(&matrix);
    if (result == SUP_OK && b->dropped > 0)
        sup_log(b->context, SUP_LOG_WARNING, "%d of %d tetrahedra are too flat to have strain and are ignored.",
                (int)b->dropped, (int)b->prism_count * 3);
    return result;
}

sup_result sup_system_bind(const sup_context *context, const sup_system_def *def, sup_model_builder *builder,
                           const char *prefix, sup_error *error)
{
    sup_result result = check_def(def, prefix, error);
    if (result != SUP_OK) return result;
    sup_context resolved = sup_context_resolve(context);
    sup_system_builder b = {.context = &resolved,
                            .def = def,
                            .tissue = def->tissue,
                            .model = builder,
                            .prefix = prefix,
                            .arena = sup_arena_create(&resolved.allocator)};
    result = build(&b, error);
    sup_arena_destroy(&b.arena);
    return result;
}

int32_t sup_system_tets(const sup_system *system, int32_t *tets)
{
    int32_t count = 0;
    for (int32_t p = 0; p < system->cluster_count; p++) {
        const sup_system_cluster *cluster = &system->clusters[p];
        for (int64_t b = cluster->batch_first; b < cluster->batch_end; b++)
            for (int32_t i = 0; i < 3 * SUP_PRISM_LANES; i++) {
                int32_t tet = i % 3, lane = i / 3;
                float weight = system->tets[b * SUP_PRISM_FLOATS + (10 * tet + 9) * SUP_PRISM_LANES + lane];
                if (!(weight > 0.0f)) continue;
                for (int k = 0; k < 4 && tets != NULL; k++) {
                    int32_t corner = sup_prism_tets[tet][k] * SUP_PRISM_LANES + lane;
                    tets[4 * (int64_t)count + k] =
                        system->copy_node[cluster->copy_first + system->corner[b * SUP_PRISM_CORNERS + corner]];
                }
                count++;
            }
    }
    return count;
}

/* test_subdomains.c - the GPU layout on the CPU: subdomains are not adjacent, every prism occurs once, the solve is
 * exact. */
#include "cuda/subdomains.h"
#include "cuda/nested_dissection.h"
#include "projective_solver/body.h"
#include "test.h"

/* A torus of size * size vertices with four neighbours each. */
static sup_graph torus(int32_t size, int32_t **memory)
{
    int32_t n = size * size, *first = calloc((size_t)n * 5 + 1, sizeof *first), *to = first + n + 1;
    for (int32_t v = 0; v < n; v++) {
        int32_t x = v % size, y = v / size;
        first[v + 1] = first[v] + 4;
        to[4 * v] = y * size + (x + 1) % size;
        to[4 * v + 1] = y * size + (x + size - 1) % size;
        to[4 * v + 2] = (y + 1) % size * size + x;
        to[4 * v + 3] = (y + size - 1) % size * size + x;
    }
    *memory = first;
    return (sup_graph){n, first, to};
}

static void check_partition(const sup_graph *g, int32_t limit, int32_t tries)
{
    int32_t *subdomain = calloc((size_t)g->size, sizeof *subdomain), *size = calloc((size_t)g->size, sizeof *size);
    int32_t count = 0;
    sup_context context = sup_context_resolve(NULL);
    CHECK_EQ(sup_nested_dissection(&context, g, limit, tries, subdomain, &count, NULL), SUP_OK);
    CHECK(count >= 1);
    for (int32_t v = 0; v < g->size; v++) {
        CHECK(subdomain[v] >= SUP_DISSECTION_SEPARATOR && subdomain[v] < count);
        if (subdomain[v] < 0) continue;
        size[subdomain[v]]++;
        for (int32_t k = g->first[v]; k < g->first[v + 1]; k++)
            CHECK(subdomain[g->neighbour[k]] < 0 || subdomain[g->neighbour[k]] == subdomain[v]);
    }
    for (int32_t p = 0; p < count; p++)
        CHECK(size[p] >= 1 && size[p] <= limit);
    free(subdomain), free(size);
}

TEST(subdomains_are_not_adjacent)
{
    for (int32_t size = 3; size <= 40; size += 37) {
        int32_t *memory;
        sup_graph g = torus(size, &memory);
        check_partition(&g, 1, 1);
        check_partition(&g, 128, 1);
        check_partition(&g, 16, 1);
        check_partition(&g, 16, 24);
        free(memory);
    }
}

TEST(cliques_and_isolated_vertices_are_split)
{
    enum { N = 20 };
    int32_t first[2 * N + 1] = {0}, to[N * N], count = 0;
    for (int32_t v = 0; v < 2 * N; v++) {
        for (int32_t w = 0; v < N && w < N; w++)
            if (v != w) to[count++] = w;
        first[v + 1] = count;
    }
    sup_graph g = {2 * N, first, to};
    check_partition(&g, 6, 1);
    check_partition(&g, 6, 24);
    check_partition(&g, 64, 1);
}

static body tube_of(int32_t rings, sup_subdomains **layout)
{
    sup_error error = {0};
    body b = body_tube(rings, 24, 1.0);
    sup_system_def def = {0};
    CHECK_OK(body_bind(&b, NULL, &def, &error), error);
    CHECK_OK(sup_subdomains_create(NULL, &b.system, rings % 60 == 6 ? SUP_SUBDOMAIN_LIMIT_SINGLE : SUP_SUBDOMAIN_LIMIT,
                                   layout, &error),
             error);
    return b;
}

TEST(subdomain_solve_matches_factor_solve)
{
    for (int32_t rings = 6; rings <= 66; rings += 30) { /* one subdomain, few, many */
        sup_subdomains *k = NULL;
        body b = tube_of(rings, &k);
        size_t n = (size_t)k->unknown_count;
        CHECK(rings > 6 ? k->subdomain_count > 1 : k->subdomain_count >= 1);
        float *x = calloc(n * 4, 4), *y = calloc(n * 4, 4), *scratch = calloc((n + (size_t)k->slot_count) * 4, 4);
        sup_random random = {7};
        for (size_t i = 0; i < n; i++)
            for (size_t c = 0; c < 4; c++)
                x[4 * (size_t)k->number[i] + c] = y[4 * i + c] = (float)(sup_random_unit(&random) - 0.5);
        sup_subdomains_solve(k, x, scratch);
        sup_float_solve4_ordered(&b.system.factor, y);
        double off = 0.0, size = 0.0;
        for (size_t i = 0; i < n; i++)
            for (size_t c = 0; c < 4; c++) {
                double d = (double)x[4 * (size_t)k->number[i] + c] - (double)y[4 * i + c];
                off += d * d;
                size += (double)y[4 * i + c] * (double)y[4 * i + c];
            }
        CHECK_MSG(sqrt(off / size) < 3e-6, "%d rings: relative error %g", (int)rings, sqrt(off / size));
        free(x), free(y), free(scratch);
        sup_subdomains_destroy(k);
        body_free(&b);
    }
}

/* For single characters each half of a solve is one product: A_p^-1 r, and A_tp of that at the subdomain's slots. */
TEST(solve_halves_are_matrix_products)
{
    sup_subdomains *k = NULL, *crowd = NULL;
    body b = tube_of(66, &k), other = tube_of(40, &crowd);
    CHECK(k->limit == SUP_SUBDOMAIN_LIMIT_SINGLE && k->solve != NULL && k->subdomain_count > 1);
    CHECK(crowd->limit == SUP_SUBDOMAIN_LIMIT && crowd->solve == NULL);
    CHECK(k->solve_stride >= k->limit + k->max_slots && k->solve_stride % 32 == 4);
    for (int32_t p = 0; p < k->subdomain_count; p++) {
        const sup_subdomain *subdomain = &k->subdomains[p];
        const float *inverse = k->inverse + (size_t)p * (size_t)k->limit * (size_t)k->limit;
        const float *solve = k->solve + (size_t)p * (size_t)k->limit * (size_t)k->solve_stride;
        for (int32_t j = 0; j < subdomain->count; j++) {
            for (int32_t i = 0; i < subdomain->count; i++)
                CHECK(solve[j * k->solve_stride + i] == inverse[j * k->limit + i]);
            for (int32_t s = 0; s < subdomain->slot_count; s++) {
                double sum = 0.0, size = 1e-30;
                int32_t slot = subdomain->slot_first + s;
                for (int32_t e = k->column_first[slot]; e < k->column_first[slot + 1]; e++) {
                    double term = (double)k->column_value[e] * (double)inverse[j * k->limit + k->column_row[e]];
                    sum += term;
                    size += fabs(term);
                }
                CHECK_NEAR((double)solve[j * k->solve_stride + subdomain->count + s], sum, 1e-6 * size);
            }
        }
    }
    sup_subdomains_destroy(k);
    sup_subdomains_destroy(crowd);
    body_free(&b);
    body_free(&other);
}

/* Node of the system of a corner of a subdomain: unknown, or unknown_count + anchor. */
static int32_t place_of(const sup_subdomains *k, const sup_subdomain *subdomain, const int32_t *place_of_number,
                        int32_t local)
{
    if (local < subdomain->count) return place_of_number[subdomain->first + local];
    local -= subdomain->count;
    if (local < subdomain->slot_count)
        return place_of_number[k->interior_count + k->slot_node[subdomain->slot_first + local]];
    return k->unknown_count + k->anchor[subdomain->anchor_first + local - subdomain->slot_count];
}

/* Node of a corner of the system, through its cluster's copy. */
static int32_t system_place(const sup_system *s, int64_t batch, int64_t at)
{
    int32_t p = 0;
    while (s->clusters[p].batch_end <= batch)
        p++;
    return s->copy_node[s->clusters[p].copy_first + s->corner[batch * SUP_PRISM_CORNERS + at]];
}

TEST(every_prism_occurs_once_with_its_corners)
{
    sup_subdomains *k = NULL;
    body b = tube_of(40, &k);
    int32_t *node = calloc((size_t)k->unknown_count, sizeof *node), prisms = 0;
    double weights = 0.0, own = 0.0;
    for (int32_t i = 0; i < k->unknown_count; i++)
        node[k->number[i]] = i;
    int64_t sum_of_places = 0, sum_of_own = 0;
    for (int32_t p = 0; p < k->subdomain_count; p++)
        for (int32_t i = 0; i < k->subdomains[p].prism_count; i++, prisms++) {
            int64_t at = k->subdomains[p].prism_first + i, batch = at / SUP_PRISM_LANES, lane = at % SUP_PRISM_LANES;
            for (int32_t t = 0; t < 3; t++)
                own += (double)k->tets[batch * SUP_PRISM_FLOATS + (10 * t + 9) * SUP_PRISM_LANES + lane];
            for (int32_t c = 0; c < 6; c++)
                sum_of_own += place_of(k, &k->subdomains[p], node,
                                       k->corner[batch * SUP_PRISM_CORNERS + c * SUP_PRISM_LANES + lane]) *
                              (int64_t)(c + 1);
        }
    for (int64_t i = 0; i < (int64_t)b.system.batch_count * SUP_PRISM_LANES; i++) {
        const float *tets = b.system.tets + i / SUP_PRISM_LANES * SUP_PRISM_FLOATS + i % SUP_PRISM_LANES;
        double sum = 0.0;
        for (int32_t t = 0; t < 3; t++)
            sum += (double)tets[(10 * t + 9) * SUP_PRISM_LANES];
        weights += sum;
        for (int32_t c = 0; sum > 0.0 && c < 6; c++)
            sum_of_places += system_place(&b.system, i / SUP_PRISM_LANES, c * SUP_PRISM_LANES + i % SUP_PRISM_LANES) *
                             (int64_t)(c + 1);
    }
    CHECK_EQ(prisms, b.tissue.triangle_count);
    CHECK_NEAR(own, weights, 1e-9 * weights);
    CHECK_EQ(sum_of_own, sum_of_places);
    free(node);
    sup_subdomains_destroy(k);
    body_free(&b);
}

/* Forces on the corners of a crowd's prisms: prisms with unknown inner corners first, no two forces overlap, and
 * every force on an unknown is gathered once. */
TEST(crowd_prism_forces_do_not_overlap)
{
    sup_subdomains *k = NULL;
    body b = tube_of(40, &k);
    CHECK(k->limit > SUP_SUBDOMAIN_LIMIT_SINGLE && k->max_forces > 0);
    unsigned char *taken = calloc((size_t)k->max_forces, 1);
    for (int32_t p = 0; p < k->subdomain_count; p++) {
        const sup_subdomain *subdomain = &k->subdomains[p];
        int32_t nodes = subdomain->count + subdomain->slot_count, moved = 0, gathered = 0, feet = 0;
        memset(taken, 0, (size_t)k->max_forces);
        for (int32_t i = 0; i < subdomain->prism_count; i++)
            for (int32_t c = 0; c < 6; c++) {
                int64_t at = subdomain->prism_first + i;
                int32_t node =
                    k->corner[at / SUP_PRISM_LANES * SUP_PRISM_CORNERS + c * SUP_PRISM_LANES + at % SUP_PRISM_LANES];
                if (c < 3 && node >= feet) feet = node + 1;
                if (c >= 3 && i >= subdomain->loose_stride) CHECK(node >= nodes);
                if (c >= 3 && i >= subdomain->loose_stride) continue;
                for (int32_t x = 0; x < 3; x++) {
                    int32_t force = sup_subdomain_force(subdomain, c, i) + x;
                    CHECK(force < k->max_forces && !taken[force]);
                    taken[force] = node < nodes ? 1 : 2;
                }
                moved += node < nodes;
            }
        for (int32_t e = k->sum_begin[subdomain->sum_first]; e < k->sum_begin[subdomain->sum_first + nodes];
             e++, gathered++) {
            CHECK_EQ(taken[k->sum_from[e]], 1);
            taken[k->sum_from[e]] = 3;
        }
        CHECK_EQ(gathered, moved);
        CHECK_EQ(subdomain->foot_count, feet);
    }
    free(taken);
    sup_subdomains_destroy(k);
    body_free(&b);
}

TEST(every_separator_node_has_one_owner)
{
    sup_subdomains *k = NULL;
    body b = tube_of(50, &k);
    CHECK(k->separator_count > 0);
    for (int32_t t = 0; t < k->separator_count; t++) {
        int32_t owners = 0;
        for (int32_t e = k->separator_slot_first[t]; e < k->separator_slot_first[t + 1]; e++) {
            CHECK_EQ(k->slot_node[k->separator_slot[e]], t);
            owners += k->slot_owner[k->separator_slot[e]];
        }
        CHECK_EQ(owners, 1);
    }
    CHECK_EQ(k->separator_slot_first[k->separator_count], k->slot_count);
    sup_subdomains_destroy(k);
    body_free(&b);
}

/* test_subdomains.c - the layout for a GPU, on the CPU: parts that do not touch, every prism once, the exact solve. */
#include "cuda/subdomains.h"
#include "cuda/nested_dissection.h"
#include "projective_solver/body.h"
#include "test.h"

/* A torus of size * size vertices, each joined to four. */
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
    int32_t *part = calloc((size_t)g->size, sizeof *part), *size = calloc((size_t)g->size, sizeof *size);
    int32_t count = 0;
    sup_context context = sup_context_resolve(NULL);
    CHECK_EQ(sup_partition(&context, g, limit, tries, part, &count, NULL), SUP_OK);
    CHECK(count >= 1);
    for (int32_t v = 0; v < g->size; v++) {
        CHECK(part[v] >= SUP_DISSECTION_SEPARATOR && part[v] < count);
        if (part[v] < 0) continue;
        size[part[v]]++;
        for (int32_t k = g->first[v]; k < g->first[v + 1]; k++)
            CHECK(part[g->neighbour[k]] < 0 || part[g->neighbour[k]] == part[v]);
    }
    for (int32_t p = 0; p < count; p++)
        CHECK(size[p] >= 1 && size[p] <= limit);
    free(part), free(size);
}

TEST(parts_do_not_touch)
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

TEST(a_clique_and_loose_vertices_are_cut_too)
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

static body tube_of(int32_t rings, sup_subdomains **blocks)
{
    sup_error error = {0};
    body b = body_tube(rings, 24, 1.0);
    sup_system_def def = {0};
    CHECK_OK(body_bind(&b, NULL, &def, &error), error);
    CHECK_OK(sup_subdomains_create(NULL, &b.system, rings % 60 == 6 ? SUP_SUBDOMAIN_ALONE : SUP_SUBDOMAIN_LIMIT, blocks, &error),
             error);
    return b;
}

TEST(the_solve_in_blocks_is_the_factors_solve)
{
    for (int32_t rings = 6; rings <= 66; rings += 30) { /* one part, few, many */
        sup_subdomains *k = NULL;
        body b = tube_of(rings, &k);
        size_t n = (size_t)k->unknown_count;
        CHECK(rings > 6 ? k->part_count > 1 : k->part_count >= 1);
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

/* Single characters have both halves of a solve as one product each: A_p^-1 r, and A_tp of that at the part's slots. */
TEST(halves_of_a_solve_are_products)
{
    sup_subdomains *k = NULL, *crowd = NULL;
    body b = tube_of(66, &k), other = tube_of(40, &crowd);
    CHECK(k->limit == SUP_SUBDOMAIN_ALONE && k->solve != NULL && k->part_count > 1);
    CHECK(crowd->limit == SUP_SUBDOMAIN_LIMIT && crowd->solve == NULL);
    CHECK(k->solve_stride >= k->limit + k->most_slots && k->solve_stride % 32 == 4);
    for (int32_t p = 0; p < k->part_count; p++) {
        const sup_subdomain *part = &k->parts[p];
        const float *inverse = k->inverse + (size_t)p * (size_t)k->limit * (size_t)k->limit;
        const float *solve = k->solve + (size_t)p * (size_t)k->limit * (size_t)k->solve_stride;
        for (int32_t j = 0; j < part->count; j++) {
            for (int32_t i = 0; i < part->count; i++)
                CHECK(solve[j * k->solve_stride + i] == inverse[j * k->limit + i]);
            for (int32_t s = 0; s < part->slot_count; s++) {
                double sum = 0.0, size = 1e-30;
                int32_t slot = part->slot_first + s;
                for (int32_t e = k->column_first[slot]; e < k->column_first[slot + 1]; e++) {
                    double term = (double)k->column_value[e] * (double)inverse[j * k->limit + k->column_row[e]];
                    sum += term;
                    size += fabs(term);
                }
                CHECK_NEAR((double)solve[j * k->solve_stride + part->count + s], sum, 1e-6 * size);
            }
        }
    }
    sup_subdomains_destroy(k);
    sup_subdomains_destroy(crowd);
    body_free(&b);
    body_free(&other);
}

/* Places of the system that a corner of a part stands for: unknown, or unknown_count + anchor. */
static int32_t place_of(const sup_subdomains *k, const sup_subdomain *part, const int32_t *place_of_number, int32_t local)
{
    if (local < part->count) return place_of_number[part->first + local];
    local -= part->count;
    if (local < part->slot_count) return place_of_number[k->interior_count + k->slot_place[part->slot_first + local]];
    return k->unknown_count + k->anchor[part->anchor_first + local - part->slot_count];
}

/* The place of a corner of the system: of its piece's copy. */
static int32_t system_place(const sup_system *s, int64_t batch, int64_t at)
{
    int32_t p = 0;
    while (s->pieces[p].batch_end <= batch)
        p++;
    return s->copy_place[s->pieces[p].copy_first + s->corner[batch * SUP_PRISM_CORNERS + at]];
}

TEST(every_prism_is_there_once_with_its_corners)
{
    sup_subdomains *k = NULL;
    body b = tube_of(40, &k);
    int32_t *place = calloc((size_t)k->unknown_count, sizeof *place), prisms = 0;
    double weights = 0.0, own = 0.0;
    for (int32_t i = 0; i < k->unknown_count; i++)
        place[k->number[i]] = i;
    int64_t sum_of_places = 0, sum_of_own = 0;
    for (int32_t p = 0; p < k->part_count; p++)
        for (int32_t i = 0; i < k->parts[p].prism_count; i++, prisms++) {
            int64_t at = k->parts[p].prism_first + i, batch = at / SUP_PRISM_LANES, lane = at % SUP_PRISM_LANES;
            for (int32_t t = 0; t < 3; t++)
                own += (double)k->tets[batch * SUP_PRISM_FLOATS + (10 * t + 9) * SUP_PRISM_LANES + lane];
            for (int32_t c = 0; c < 6; c++)
                sum_of_own += place_of(k, &k->parts[p], place,
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
    free(place);
    sup_subdomains_destroy(k);
    body_free(&b);
}

/* Forces on the corners of a crowd's prisms: loose prisms first, no two in the same place, and every one that moves something is
 * gathered once. */
TEST(forces_of_a_crowds_prisms_stand_apart)
{
    sup_subdomains *k = NULL;
    body b = tube_of(40, &k);
    CHECK(k->limit > SUP_SUBDOMAIN_ALONE && k->most_forces > 0);
    unsigned char *taken = calloc((size_t)k->most_forces, 1);
    for (int32_t p = 0; p < k->part_count; p++) {
        const sup_subdomain *part = &k->parts[p];
        int32_t places = part->count + part->slot_count, moved = 0, gathered = 0, feet = 0;
        memset(taken, 0, (size_t)k->most_forces);
        for (int32_t i = 0; i < part->prism_count; i++)
            for (int32_t c = 0; c < 6; c++) {
                int64_t at = part->prism_first + i;
                int32_t place =
                    k->corner[at / SUP_PRISM_LANES * SUP_PRISM_CORNERS + c * SUP_PRISM_LANES + at % SUP_PRISM_LANES];
                if (c < 3 && place >= feet) feet = place + 1;
                if (c >= 3 && i >= part->loose_stride) CHECK(place >= places);
                if (c >= 3 && i >= part->loose_stride) continue;
                for (int32_t x = 0; x < 3; x++) {
                    int32_t force = sup_subdomain_force(part, c, i) + x;
                    CHECK(force < k->most_forces && !taken[force]);
                    taken[force] = place < places ? 1 : 2;
                }
                moved += place < places;
            }
        for (int32_t e = k->sum_begin[part->sum_first]; e < k->sum_begin[part->sum_first + places]; e++, gathered++) {
            CHECK_EQ(taken[k->sum_from[e]], 1);
            taken[k->sum_from[e]] = 3;
        }
        CHECK_EQ(gathered, moved);
        CHECK_EQ(part->foot_count, feet);
    }
    free(taken);
    sup_subdomains_destroy(k);
    body_free(&b);
}

TEST(every_place_of_the_top_has_one_owner)
{
    sup_subdomains *k = NULL;
    body b = tube_of(50, &k);
    CHECK(k->top_count > 0);
    for (int32_t t = 0; t < k->top_count; t++) {
        int32_t owners = 0;
        for (int32_t e = k->top_slot_first[t]; e < k->top_slot_first[t + 1]; e++) {
            CHECK_EQ(k->slot_place[k->top_slot[e]], t);
            owners += k->slot_owner[k->top_slot[e]];
        }
        CHECK_EQ(owners, 1);
    }
    CHECK_EQ(k->top_slot_first[k->top_count], k->slot_count);
    sup_subdomains_destroy(k);
    body_free(&b);
}

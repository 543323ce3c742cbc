/* Quantised weights: exact sums, rest pose, rejection of invalid weights; and the spatial order of the clusters. */
#include "test.h"
#include "upsample/upsample_clusters.h"
#include "upsample/quantize_weights.h"

enum { POINTS = 24, ITEMS = 5000, LEAF = 16 };

typedef struct sample {
    sup_vec3d points[POINTS];
    double weights[POINTS];
} sample;

/* Weights of sum 1, some negative, that give 0 at random points. */
static sample random_sample(sup_random *random)
{
    sample s;
    sup_vec3d mean = {0};
    double sum = 0.0;
    for (int32_t i = 0; i < POINTS; i++) {
        s.weights[i] = sup_random_unit(random) - 0.3;
        s.points[i] = sup_v3(sup_random_unit(random), sup_random_unit(random), 0.2 * sup_random_unit(random));
        sum += s.weights[i];
    }
    for (int32_t i = 0; i < POINTS; i++) {
        s.weights[i] /= sum;
        mean = sup_v3_madd(mean, s.weights[i], s.points[i]);
    }
    for (int32_t i = 0; i < POINTS; i++)
        s.points[i] = sup_v3_sub(s.points[i], mean);
    return s;
}

static sup_vec3d moment(const sample *s, const int16_t *to, float unit)
{
    sup_vec3d sum = {0};
    for (int32_t i = 0; i < POINTS; i++)
        sum = sup_v3_madd(sum, (double)unit * to[i], s->points[i]);
    return sum;
}

static int32_t sum_of(const int16_t *to)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < POINTS; i++)
        sum += to[i];
    return sum;
}

TEST(quantize_preserves_sums)
{
    sup_random random = {3};
    for (int32_t trial = 0; trial < 200; trial++) {
        sample s = random_sample(&random);
        int16_t to[POINTS];
        float unit;
        CHECK(sup_quantize_weights(s.weights, POINTS, 1.0, true, to, &unit));
        CHECK_NEAR(sum_of(to) * (double)unit, 1.0, 6e-8);
        double mean = 0.0;
        for (int32_t i = 0; i < POINTS; i++) {
            CHECK_NEAR(to[i] * (double)unit, s.weights[i], 1.01 * (double)unit);
            mean += s.weights[i] / POINTS;
        }
        for (int32_t i = 0; i < POINTS; i++)
            s.weights[i] = 1e5 * (s.weights[i] - mean);
        CHECK(sup_quantize_weights(s.weights, POINTS, 0.0, true, to, &unit));
        CHECK_EQ(sum_of(to), 0);
    }
}

TEST(quantize_preserves_the_rest_pose)
{
    sup_random random = {5};
    double error_before = 0.0, error_after = 0.0;
    for (int32_t trial = 0; trial < 40; trial++) {
        sample s = random_sample(&random);
        int16_t to[POINTS];
        float unit;
        CHECK(sup_quantize_weights(s.weights, POINTS, 1.0, true, to, &unit));
        sup_vec3d off = sup_v3_scale(moment(&s, to, unit), -1.0);
        int32_t sum = sum_of(to);
        double error = sup_quantize_correct(s.points, POINTS, (double)unit, off, 1e-9, to);
        CHECK_EQ(sum_of(to), sum);
        CHECK_NEAR(sup_v3_length(moment(&s, to, unit)), error, 1e-12);
        CHECK(error <= sup_v3_length(off));
        error_before += sup_v3_length(off);
        error_after += error;
    }
    CHECK_MSG(error_after < error_before / 10.0, "%g of %g", error_after, error_before);
}

/* All moves of one unit, tried one by one. */
static double best_square(const sample *s, double unit, sup_vec3d off, int32_t from_to[2])
{
    double best = INFINITY;
    for (int32_t i = 0; i < POINTS; i++)
        for (int32_t k = 0; k < POINTS; k++) {
            sup_vec3d rest = sup_v3_madd(off, unit, sup_v3_sub(s->points[i], s->points[k]));
            double square = sup_v3_dot(rest, rest);
            if (square < best * (1.0 - 1e-9)) {
                best = square;
                from_to[0] = i;
                from_to[1] = k;
            }
        }
    return best;
}

TEST(quantize_takes_the_best_move_of_all)
{
    sup_random random = {9};
    for (int32_t trial = 0; trial < 40; trial++) {
        sample s = random_sample(&random);
        int16_t to[POINTS];
        int32_t move[2] = {0, 0};
        float unit;
        CHECK(sup_quantize_weights(s.weights, POINTS, 1.0, true, to, &unit));
        for (int32_t axis = 0; axis < 3; axis++) { /* points in a plane across each axis too */
            sup_vec3d off = sup_v3_scale(moment(&s, to, unit), -1.0);
            int16_t moved[POINTS];
            memcpy(moved, to, sizeof moved);
            double one = sqrt(best_square(&s, (double)unit, off, move)), before = sup_v3_length(off);
            bool is_better = one < before;
            double error = sup_quantize_correct(s.points, POINTS, (double)unit, off, 0.9999 * before, moved);
            if (is_better && one < 0.9999 * before) {
                CHECK_NEAR(error, one, 1e-9 * before);
                CHECK_EQ(moved[move[0]], to[move[0]] - 1);
                CHECK_EQ(moved[move[1]], to[move[1]] + 1);
            }
            for (int32_t i = 0; i < POINTS; i++)
                *(axis == 0 ? &s.points[i].x : axis == 1 ? &s.points[i].y : &s.points[i].z) = 0.0;
        }
    }
}

/* Steps of 7 and of 10 along a line correct an error of 3 only together; rounding must not hide that. */
TEST(quantize_tries_two_moves_where_one_does_not_help)
{
    sup_random random = {4};
    for (int32_t trial = 0; trial < 100; trial++) {
        const double along[4] = {0.0, 10.0, 100.0, 93.0};
        double scale = 0.1 + sup_random_unit(&random), unit = 1e-3 * sup_random_unit(&random) + 1e-5;
        sup_vec3d points[4], direction = sup_v3(sup_random_unit(&random), 0.3, sup_random_unit(&random));
        for (int32_t i = 0; i < 4; i++)
            points[i] = sup_v3_scale(direction, scale * along[i]);
        double one = scale * unit * sup_v3_length(direction);
        sup_vec3d off = sup_v3_scale(direction, 3.0 * scale * unit);
        int16_t to[4] = {5, 5, 5, 5};
        double error = sup_quantize_correct(points, 4, unit, off, 0.1 * one, to);
        CHECK_MSG(error < 1e-6 * one, "trial %d: %g of %g", trial, error, one);
        CHECK_EQ(to[0] + to[1] + to[2] + to[3], 20);
    }
}

TEST(quantize_rejects_invalid_weights)
{
    const double none[2] = {0.0, 0.0}, not_finite[2] = {NAN, 1.0}, infinite[2] = {INFINITY, 1.0},
                 far_apart[2] = {1e5, 1.0 - 1e5};
    int16_t to[2] = {7, 7};
    float unit;
    CHECK(sup_quantize_weights(none, 2, 0.0, true, to, &unit));
    CHECK(to[0] == 0 && to[1] == 0 && unit == 0.0f);
    CHECK(!sup_quantize_weights(none, 2, 1.0, true, to, &unit));
    CHECK(!sup_quantize_weights(not_finite, 2, 1.0, true, to, &unit));
    CHECK(!sup_quantize_weights(infinite, 2, 0.0, false, to, &unit));
    CHECK(!sup_quantize_weights(far_apart, 2, 1.0, true, to, &unit)); /* the sum is less than one unit */
    CHECK(to[0] == 0 && to[1] == 0);
}

/* Mean extent of runs of sixteen. */
static double spread(const float *points, const int32_t *items)
{
    double sum = 0.0;
    for (int32_t at = 0; at + LEAF <= ITEMS; at += LEAF)
        for (int32_t k = 0; k < 3; k++) {
            float lower = INFINITY, upper = -INFINITY;
            for (int32_t i = at; i < at + LEAF; i++) {
                lower = fminf(lower, points[3 * items[i] + k]);
                upper = fmaxf(upper, points[3 * items[i] + k]);
            }
            sum += (double)(upper - lower) * LEAF / ITEMS;
        }
    return sum;
}

TEST(spatial_order_groups_nearby_items)
{
    static float points[ITEMS * 3];
    static int32_t items[ITEMS], seen[ITEMS];
    sup_random random = {2};
    for (int32_t i = 0; i < ITEMS; i++) { /* a unit square: sixteen of 5000 items cover a width of 0.06 */
        points[3 * i] = (float)sup_random_unit(&random);
        points[3 * i + 1] = (float)sup_random_unit(&random);
        items[i] = i;
    }
    sup_upsample_order(points, items, ITEMS, LEAF);
    CHECK_MSG(spread(points, items) < 0.13, "%g", spread(points, items));
    for (int32_t i = 0; i < ITEMS; i++)
        CHECK(items[i] >= 0 && items[i] < ITEMS && seen[items[i]]++ == 0);
    memset(points, 0, sizeof(points)); /* all at one point: any order, each once */
    sup_upsample_order(points, items, ITEMS, LEAF);
    for (int32_t i = 0; i < ITEMS; i++)
        CHECK(seen[items[i]]++ == 1);
    sup_upsample_order(points, items, 0, LEAF);
}

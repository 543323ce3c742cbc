/* Weights as 16-bit whole numbers: sums kept, rest pose kept, nonsense refused; and the order of the blocks. */
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

TEST(round_keeps_sums)
{
    sup_random random = {3};
    for (int32_t turn = 0; turn < 200; turn++) {
        sample s = random_sample(&random);
        int16_t to[POINTS];
        float unit;
        CHECK(sup_round_weights(s.weights, POINTS, 1.0, true, to, &unit));
        CHECK_NEAR(sum_of(to) * (double)unit, 1.0, 6e-8);
        double mean = 0.0;
        for (int32_t i = 0; i < POINTS; i++) {
            CHECK_NEAR(to[i] * (double)unit, s.weights[i], 1.01 * (double)unit);
            mean += s.weights[i] / POINTS;
        }
        for (int32_t i = 0; i < POINTS; i++)
            s.weights[i] = 1e5 * (s.weights[i] - mean);
        CHECK(sup_round_weights(s.weights, POINTS, 0.0, true, to, &unit));
        CHECK_EQ(sum_of(to), 0);
    }
}

TEST(round_keeps_the_rest_pose)
{
    sup_random random = {5};
    double before = 0.0, after = 0.0;
    for (int32_t turn = 0; turn < 40; turn++) {
        sample s = random_sample(&random);
        int16_t to[POINTS];
        float unit;
        CHECK(sup_round_weights(s.weights, POINTS, 1.0, true, to, &unit));
        sup_vec3d off = sup_v3_scale(moment(&s, to, unit), -1.0);
        int32_t sum = sum_of(to);
        double left = sup_round_towards(s.points, POINTS, (double)unit, off, 1e-9, to);
        CHECK_EQ(sum_of(to), sum);
        CHECK_NEAR(sup_v3_length(moment(&s, to, unit)), left, 1e-12);
        CHECK(left <= sup_v3_length(off));
        before += sup_v3_length(off);
        after += left;
    }
    CHECK_MSG(after < before / 10.0, "%g of %g", after, before);
}

TEST(round_refuses_nonsense)
{
    const double none[2] = {0.0, 0.0}, lost[2] = {NAN, 1.0}, endless[2] = {INFINITY, 1.0}, apart[2] = {1e5, 1.0 - 1e5};
    int16_t to[2] = {7, 7};
    float unit;
    CHECK(sup_round_weights(none, 2, 0.0, true, to, &unit));
    CHECK(to[0] == 0 && to[1] == 0 && unit == 0.0f);
    CHECK(!sup_round_weights(none, 2, 1.0, true, to, &unit));
    CHECK(!sup_round_weights(lost, 2, 1.0, true, to, &unit));
    CHECK(!sup_round_weights(endless, 2, 0.0, false, to, &unit));
    CHECK(!sup_round_weights(apart, 2, 1.0, true, to, &unit)); /* less than a unit would be left of the sum */
    CHECK(to[0] == 0 && to[1] == 0);
}

/* Mean size of runs of sixteen. */
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

TEST(order_puts_near_items_together)
{
    static float points[ITEMS * 3];
    static int32_t items[ITEMS], seen[ITEMS];
    sup_random random = {2};
    for (int32_t i = 0; i < ITEMS; i++) { /* a square: sixteen of 5000 in place are 0.06 wide */
        points[3 * i] = (float)sup_random_unit(&random);
        points[3 * i + 1] = (float)sup_random_unit(&random);
        items[i] = i;
    }
    sup_upsample_order(points, items, ITEMS, LEAF);
    CHECK_MSG(spread(points, items) < 0.13, "%g", spread(points, items));
    for (int32_t i = 0; i < ITEMS; i++)
        CHECK(items[i] >= 0 && items[i] < ITEMS && seen[items[i]]++ == 0);
    memset(points, 0, sizeof(points)); /* all in one place: any order, each once */
    sup_upsample_order(points, items, ITEMS, LEAF);
    for (int32_t i = 0; i < ITEMS; i++)
        CHECK(seen[items[i]]++ == 1);
    sup_upsample_order(points, items, 0, LEAF);
}

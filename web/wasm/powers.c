/* powers.c - exp, log and pow without the tables of wasi-libc (musl), which are 10 kB that do not compress.
 *
 * Sums of two doubles have 106 bits. Every result is rounded once, so it is the nearest double but for about one
 * argument in 1e12. These functions are slow (1 to 3 microseconds): steps call them a few times at most. */
#include <math.h>

typedef struct { /* high + low; |low| is at most half a unit in the last place of high */
    double high, low;
} pair;

static pair join(double large, double small) /* |large| >= |small| */
{
    double sum = large + small;
    return (pair){sum, small - (sum - large)};
}

static pair add(pair a, pair b)
{
    double sum = a.high + b.high, other = sum - a.high;
    return join(sum, (a.high - (sum - other)) + (b.high - other) + a.low + b.low);
}

/* Products of halves of 26 bits are exact [dekker1971]. */
static pair multiply(pair a, pair b)
{
    const double split = 134217729.0; /* 2^27 + 1 */
    double a1 = a.high * split, b1 = b.high * split, product = a.high * b.high;
    a1 -= a1 - a.high;
    b1 -= b1 - b.high;
    double a2 = a.high - a1, b2 = b.high - b1;
    double low = a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2);
    return join(product, low + (a.high * b.low + a.low * b.high));
}

static const pair LN2 = {0.69314718055994529, 2.3190468138462996e-17};

/* exp(x) = 2^k exp(r / 256)^256; the Taylor series of |r| / 256 < 0.0014 ends after r^10. |x| < 800. */
static pair exponential(pair x, int *k)
{
    double halvings = rint(x.high / LN2.high);
    pair r = add(x, multiply((pair){-halvings, 0.0}, LN2)), sum = {0.0, 0.0};
    r.high /= 256.0;
    r.low /= 256.0;
    for (int n = 10; n > 0; n--) { /* sum = exp(r) - 1 = r (1 + r/2 (1 + r/3 (...))) */
        double part = 1.0 / n;
        pair whole = multiply((pair){n, 0.0}, (pair){part, 0.0});
        pair inverse = {part, ((1.0 - whole.high) - whole.low) / n}; /* of n */
        sum = multiply(multiply(r, inverse), add((pair){1.0, 0.0}, sum));
    }
    for (int i = 0; i < 8; i++) /* (1 + sum)^2 - 1 keeps the digits of a small sum */
        sum = add((pair){2.0 * sum.high, 2.0 * sum.low}, multiply(sum, sum));
    *k = (int)halvings;
    return add((pair){1.0, 0.0}, sum);
}

/* log(x) = e log 2 + log m: a series in double, then one step of Newton's method for exp(log m) = m. x is positive and
 * finite. */
static pair logarithm(double x)
{
    int e, k;
    double m = frexp(x, &e);
    if (m < 0.70710678118654752) {
        m *= 2.0;
        e--;
    }
    double s = (m - 1.0) / (m + 1.0), start = 0.0; /* log m = 2 atanh(s), |s| < 0.172 */
    for (int n = 23; n > 0; n -= 2)
        start = start * s * s + 2.0 / n;
    start *= s;
    pair back = exponential((pair){-start, 0.0}, &k);
    back.high = ldexp(back.high, k);
    back.low = ldexp(back.low, k);
    pair error = add(multiply((pair){m, 0.0}, back), (pair){-1.0, 0.0});
    return add(multiply((pair){e, 0.0}, LN2), add((pair){start, 0.0}, error));
}

static double exp_of(pair x)
{
    int k;
    if (!(fabs(x.high) < 800.0)) return x.high < 0.0 ? 0.0 : x.high * HUGE_VAL; /* NaN stays NaN */
    double value = exponential(x, &k).high;
    return ldexp(value, k);
}

double exp(double x)
{
    return exp_of((pair){x, 0.0});
}

double log(double x)
{
    if (x == 0.0) return -HUGE_VAL;
    if (!(x > 0.0 && x < HUGE_VAL)) return x > 0.0 ? x : NAN;
    return logarithm(x).high;
}

double pow(double x, double y)
{
    double sign = signbit(x) && fabs(fmod(y, 2.0)) == 1.0 ? -1.0 : 1.0;
    if (y == 0.0 || x == 1.0) return 1.0;
    if (isnan(x) || isnan(y) || (x < 0.0 && x > -HUGE_VAL && y != rint(y))) return NAN;
    x = fabs(x);
    if (x == 1.0) return sign;
    if (x == 0.0 || x == HUGE_VAL || fabs(y) == HUGE_VAL) return sign * ((x < 1.0) == (y < 0.0) ? HUGE_VAL : 0.0);
    pair l = logarithm(x);
    if (fabs(l.high * y) >= 800.0) return sign * exp_of((pair){l.high * y, 0.0});
    return sign * exp_of(multiply(l, (pair){y, 0.0}));
}

float expf(float x)
{
    return (float)exp((double)x);
}

float powf(float x, float y)
{
    return (float)pow((double)x, (double)y);
}

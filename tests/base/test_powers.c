/* exp, log and pow of the WebAssembly build agree with the C library. */
#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define exp wasm_exp
#define log wasm_log
#define pow wasm_pow
#define expf wasm_expf
#define powf wasm_powf
double exp(double x);
double log(double x);
double pow(double x, double y);
float expf(float x);
float powf(float x, float y);
#include "../../web/wasm/powers.c" // NOLINT(bugprone-suspicious-include): the functions under other names
#undef exp
#undef log
#undef pow
#undef expf
#undef powf

static bool one_ulp(double a, double b)
{
    return a == b || nextafter(a, b) == b;
}

static bool one_ulp_float(float a, float b)
{
    return a == b || nextafterf(a, b) == b;
}

TEST(powers_are_the_nearest_doubles)
{
    int32_t different = 0;
    for (int32_t i = 0; i < 20000; i++) {
        double x = (i % 2 == 0 ? 0.07 : 0.0001) * (i - 9999), z = fabs(x) + 1e-3, y = 0.003 * (i % 977) - 1.5;
        double e = wasm_exp(x), l = wasm_log(z), p = wasm_pow(z, y);
        CHECK(one_ulp(e, exp(x)) && one_ulp(l, log(z)) && one_ulp(p, pow(z, y)));
        different += (e != exp(x)) + (l != log(z)) + (p != pow(z, y));
        CHECK(one_ulp_float(wasm_expf((float)x), expf((float)x)));
        CHECK(one_ulp_float(wasm_powf((float)z, (float)y), powf((float)z, (float)y)));
    }
    CHECK(different < 200); /* of 60,000: where the C library does not give the nearest */
}

TEST(powers_of_special_values)
{
    const double values[] = {0.0, -0.0, 0.5, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 1e-320, 1e308, HUGE_VAL, -HUGE_VAL, NAN};
    enum { COUNT = sizeof values / sizeof values[0] };
    for (int32_t i = 0; i < COUNT; i++) {
        double x = values[i], e = wasm_exp(x), l = wasm_log(x);
        CHECK(e == exp(x) || (isnan(e) && isnan(x)));
        CHECK(l == log(x) || (isnan(l) && isnan(log(x))));
        for (int32_t j = 0; j < COUNT; j++) {
            double p = wasm_pow(x, values[j]), expected = pow(x, values[j]);
            CHECK(one_ulp(p, expected) || (isnan(p) && isnan(expected)));
        }
    }
    for (int32_t n = -22; n <= 22; n++)
        CHECK(wasm_pow(10.0, n) == pow(10.0, n));
}

/* number_text.c - formats floats with 9 significant digits: one multiplication by a power of ten, then two digits at a
 * time. */
#include "output/number_text.h"

#include <math.h>

enum { POWER_FIRST = -46, POWER_LAST = 55 };

/* 10^POWER_FIRST ... 10^POWER_LAST. Powers above 10^22 have an error of half an ulp of a double, seven decimal digits
 * below those written. */
static const double powers[POWER_LAST - POWER_FIRST + 1] = {
    1e-46, 1e-45, 1e-44, 1e-43, 1e-42, 1e-41, 1e-40, 1e-39, 1e-38, 1e-37, 1e-36, 1e-35, 1e-34, 1e-33, 1e-32,
    1e-31, 1e-30, 1e-29, 1e-28, 1e-27, 1e-26, 1e-25, 1e-24, 1e-23, 1e-22, 1e-21, 1e-20, 1e-19, 1e-18, 1e-17,
    1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9,  1e-8,  1e-7,  1e-6,  1e-5,  1e-4,  1e-3,  1e-2,
    1e-1,  1e0,   1e1,   1e2,   1e3,   1e4,   1e5,   1e6,   1e7,   1e8,   1e9,   1e10,  1e11,  1e12,  1e13,
    1e14,  1e15,  1e16,  1e17,  1e18,  1e19,  1e20,  1e21,  1e22,  1e23,  1e24,  1e25,  1e26,  1e27,  1e28,
    1e29,  1e30,  1e31,  1e32,  1e33,  1e34,  1e35,  1e36,  1e37,  1e38,  1e39,  1e40,  1e41,  1e42,  1e43,
    1e44,  1e45,  1e46,  1e47,  1e48,  1e49,  1e50,  1e51,  1e52,  1e53,  1e54,  1e55,
};

static double power(int exponent)
{
    return powers[exponent - POWER_FIRST];
}

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                            "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                            "8081828384858687888990919293949596979899";

/* value = mantissa * 10^(exponent - 8) with 9 digits in the mantissa. `value` is positive. */
static uint32_t to_decimal(double value, int *exponent)
{
    int binary;
    frexp(value, &binary); /* value in [2^(binary-1), 2^binary) */
    int decimal = (int)floor((binary - 1) * 0.30102999566398120);
    if (value >= power(decimal + 1)) decimal++;
    uint32_t mantissa = (uint32_t)(value * power(8 - decimal) + 0.5);
    if (mantissa >= 1000000000u) {
        mantissa /= 10;
        decimal++;
    }
    *exponent = decimal;
    return mantissa;
}

char *sup_put_int(char *at, int32_t value)
{
    char digits[12];
    int first = 12;
    uint32_t rest = (uint32_t)value;
    for (; rest >= 100; rest /= 100) {
        first -= 2;
        memcpy(digits + first, pairs + (size_t)2 * (rest % 100), 2);
    }
    if (rest >= 10) {
        first -= 2;
        memcpy(digits + first, pairs + (size_t)2 * rest, 2);
    } else {
        digits[--first] = (char)('0' + rest);
    }
    memcpy(at, digits + first, (size_t)(12 - first));
    return at + (12 - first);
}

static char *put_scientific(char *at, const char *digits, int used, int exponent)
{
    *at++ = digits[0];
    if (used > 1) *at++ = '.';
    memcpy(at, digits + 1, (size_t)(used - 1));
    at += used - 1;
    *at++ = 'e';
    if (exponent < 0) *at++ = '-';
    return sup_put_int(at, exponent < 0 ? -exponent : exponent);
}

char *sup_put_float(char *at, float value)
{
    char digits[9];
    int exponent, used = 9;
    if (signbit(value) && value != 0.0f) *at++ = '-';
    if (value == 0.0f) {
        *at++ = '0';
        return at;
    }
    uint32_t rest = to_decimal(fabs((double)value), &exponent);
    for (int i = 7; i > 0; i -= 2) {
        memcpy(digits + i, pairs + (size_t)2 * (rest % 100), 2);
        rest /= 100;
    }
    digits[0] = (char)('0' + rest);
    while (used > 1 && digits[used - 1] == '0')
        used--;
    if (exponent < -5 || exponent > 8) return put_scientific(at, digits, used, exponent);
    if (exponent < 0) {
        memcpy(at, "0.0000", 6);
        at += 1 - exponent;
        memcpy(at, digits, (size_t)used);
        return at + used;
    }
    int whole = exponent + 1;
    memcpy(at, digits, (size_t)whole); /* the digits past `used` are zeros */
    at += whole;
    if (used <= whole) return at;
    *at++ = '.';
    memcpy(at, digits + whole, (size_t)(used - whole));
    return at + (used - whole);
}

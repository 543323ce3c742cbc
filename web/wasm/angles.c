/* angles.c - argument reduction for sin, cos and tan of large angles; smaller than wasi-libc, which stores 800 digits
 * of 2/pi.
 *
 * wasi-libc (musl) calls this for |x| > 2^20 pi/2. The spacing of doubles of this size is 1e-10 at best; reduction
 * by one rounded pi/2 loses a small multiple of that. */
#include <math.h>

#pragma clang diagnostic ignored "-Wmissing-prototypes" /* in no header; called by sin, cos and tan */
#pragma clang diagnostic ignored "-Wreserved-identifier"

/* The angle is sum x[i] 2^(exponent - 24 i). Returns the number of quarter turns modulo 8, and the remainder in y. */
int __rem_pio2_large(double *x, double *y, int exponent, int count, int precision)
{
    const double quarter = 1.5707963267948966;
    double angle = 0.0;
    (void)precision;
    for (int i = count - 1; i >= 0; i--)
        angle += ldexp(x[i], exponent - 24 * i);
    double rest = fmod(angle, 8.0 * quarter);
    int turns = (int)(rest / quarter + 0.5);
    y[0] = rest - turns * quarter;
    y[1] = 0.0;
    return turns;
}

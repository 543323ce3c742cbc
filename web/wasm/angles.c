/* angles.c - sines and cosines of angles beyond a million: less than wasi-libc's way, which carries 800 digits of 2/pi.
 *
 * wasi-libc (musl) calls this for |x| > 2^20 pi/2. Such an angle is known to 1e-10 at best, since that is how far apart
 * numbers of that size are; reducing it by one rounded pi/2 loses no more than that times a small number. */
#include <math.h>

#pragma clang diagnostic ignored "-Wmissing-prototypes" /* in no header: sin, cos and tan call it */
#pragma clang diagnostic ignored "-Wreserved-identifier"

/* The angle is sum x[i] 2^(exponent - 24 i). Returns the quarter turns in it, modulo 8, and what is left in y. */
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

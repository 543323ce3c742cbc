/* kernels.c - the inner loops for any processor, with the compiler's 16-byte vectors. */
#include "linalg/kernels.h"

#include <math.h>

typedef double vd __attribute__((vector_size(16)));
typedef double vd_unaligned __attribute__((vector_size(16), aligned(8), may_alias));
enum { VD_LANES = 2 };

static inline vd vd_set(double s)
{
    return (vd){s, s};
}

static inline vd vd_load(const double *p)
{
    return *(const vd_unaligned *)p;
}

static inline void vd_store(double *p, vd v)
{
    *(vd_unaligned *)p = v;
}

static inline vd vd_load_partial(const double *p, int count) /* a partial vector of two lanes has one */
{
    SUP_UNUSED(count);
    return (vd){*p, 0.0};
}

static inline void vd_store_partial(double *p, vd v, int count)
{
    SUP_UNUSED(count);
    *p = v[0];
}

static inline vd vd_nmadd(vd a, vd b, vd c)
{
    return c - a * b;
}

typedef float row4 __attribute__((vector_size(16)));
typedef float row4_unaligned __attribute__((vector_size(16), aligned(4), may_alias));

static inline row4 row4_set(float s)
{
    return (row4){s, s, s, s};
}

static inline row4 row4_load(const float *p)
{
    return *(const row4_unaligned *)p;
}

static inline void row4_store(float *p, row4 v)
{
    *(row4_unaligned *)p = v;
}

static inline row4 row4_madd(float s, row4 x, row4 c)
{
    return c + row4_set(s) * x;
}

static inline row4 row4_nmadd(float s, row4 x, row4 c)
{
    return c - row4_set(s) * x;
}

#ifndef SUPPLE_SMALL
/* Pairs: 32-byte vectors are slow where the processor has none. */
typedef struct row8 {
    row4 low, high;
} row8;

static inline row8 row8_set(float s)
{
    return (row8){row4_set(s), row4_set(s)};
}

static inline row8 row8_load(const float *p)
{
    return (row8){row4_load(p), row4_load(p + 4)};
}

static inline void row8_store(float *p, row8 v)
{
    row4_store(p, v.low);
    row4_store(p + 4, v.high);
}

static inline row8 row8_madd(float s, row8 x, row8 c)
{
    return (row8){row4_madd(s, x.low, c.low), row4_madd(s, x.high, c.high)};
}

static inline row8 row8_nmadd(float s, row8 x, row8 c)
{
    return (row8){row4_nmadd(s, x.low, c.low), row4_nmadd(s, x.high, c.high)};
}
#endif

#define KERNELS_NAME base_kernels
#include "linalg/kernels_body.h"

const sup_linalg_kernels *sup_linalg_kernels_base(void)
{
    return &base_kernels;
}

const sup_linalg_kernels *sup_linalg_kernels_best(void)
{
    const sup_linalg_kernels *avx2 = sup_linalg_kernels_avx2();
    return avx2 != NULL ? avx2 : &base_kernels;
}

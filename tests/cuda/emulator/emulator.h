/* emulator.h - functions of the emulator for tests, beyond CUDA. */
#ifndef SUP_EMULATOR_H
#define SUP_EMULATOR_H

#ifdef __cplusplus
extern "C" {
#endif

/* Order in which threads and blocks run from now on: 0 ascending, 1 descending, others shuffled. Results must not
 * depend on it. */
void emulated_order(unsigned order);

#ifdef __cplusplus
}
#endif

#endif

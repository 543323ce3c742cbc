/* emulator.h - what tests can ask of the emulator beyond CUDA. */
#ifndef SUP_EMULATOR_H
#define SUP_EMULATOR_H

#ifdef __cplusplus
extern "C" {
#endif

/* In which order threads and blocks come to their turn from now on: 0 first to last, 1 last to first, others mixed. What a
 * program computes must not depend on it. */
void emulated_order(unsigned order);

#ifdef __cplusplus
}
#endif

#endif

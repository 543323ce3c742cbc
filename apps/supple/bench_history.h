/* bench_history.h - reads earlier results from a file of `supple bench --save`: a JSON object with "results". */
#ifndef APP_BENCH_HISTORY_H
#define APP_BENCH_HISTORY_H

#include "timing.h"

/* Copies times from `path` to `previous_*` of the rows with the same input, method, threads, instances and contact.
 * *matched is the number of such rows. Returns APP_DONE, or prints a message and returns an exit status. */
int app_bench_history_read(const char *path, app_timing *rows, int32_t count, int32_t *matched);

#endif

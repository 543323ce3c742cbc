/* bench_history.h - results of `supple bench` kept in a file: one JSON object with "results", written by bench itself. */
#ifndef APP_BENCH_HISTORY_H
#define APP_BENCH_HISTORY_H

#include "timing.h"

/* Times of the results in `path` into `before_*` of those rows that have the same input, method, threads, instances and
 * contact. *matched gets how many do. APP_DONE or an exit status after its sentence. */
int app_bench_history_read(const char *path, app_timing *rows, int32_t count, int32_t *matched);

#endif

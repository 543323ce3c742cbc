/* anatomy_bytes.h (internal) - the list of arrays of a sup_anatomy, shared by its writer and its reader. */
#ifndef SUP_ANATOMY_ANATOMY_BYTES_H
#define SUP_ANATOMY_ANATOMY_BYTES_H

#include "anatomy/array_store.h"

enum { SUP_ANATOMY_FIELDS = 24, SUP_ANATOMY_COUNTS = 8 };

/* Counts of vertices, triangles, joints, influences, organs, detail vertices and detail triangles, and the sex. */
void sup_anatomy_counts(const sup_anatomy *anatomy, int32_t counts[SUP_ANATOMY_COUNTS]);
/* Lists all arrays with their sizes; returns the number of fields. */
int32_t sup_anatomy_fields(sup_anatomy *anatomy, int32_t influence_count, sup_store_field fields[SUP_ANATOMY_FIELDS]);
/* Reads the counts and all fields of a store into `anatomy`, allocated in `arena`, and checks every index. */
sup_result sup_anatomy_from_store(const sup_store *store, sup_arena *arena, sup_anatomy *anatomy, sup_error *error);

#endif

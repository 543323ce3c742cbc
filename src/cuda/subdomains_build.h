/* subdomains_build.h (internal) - what the files that build the layout region_weight. */
#ifndef SUP_CUDA_SUBDOMAINS_BUILD_H
#define SUP_CUDA_SUBDOMAINS_BUILD_H

#include "cuda/subdomains.h"
#include "cuda/nested_dissection.h"

#include <stdlib.h>

typedef struct sup_subdomains_builder {
    const sup_context *context;
    const sup_system *system;
    sup_subdomains *layout;
    sup_arena arena;     /* memory of the building alone */
    int32_t *corner;     /* [batch_count*SUP_PRISM_CORNERS] nodes: those of the system's copies */
    sup_graph graph;     /* of the system's nodes */
    int32_t *subdomain;       /* [unknown_count] by node */
    int32_t *node;      /* [unknown_count] node of each number */
    int32_t *owner;      /* [unknown_count] subdomain of each number */
    int32_t *prism_subdomain; /* [batch_count*SUP_PRISM_LANES] -1 for padding */
    int32_t *source;     /* [prism_total] where in the system a prism of a subdomain is, -1 for padding */
} sup_subdomains_builder;

/* Entries of the matrix, then inverses and couplings. */
sup_result sup_subdomains_build_inverses(sup_subdomains_builder *b, sup_error *error);
/* Regions, where the system keeps volumes. */
bool sup_subdomains_build_volume(sup_subdomains_builder *b);
/* All of a subdomain's arrays together; last. */
bool sup_subdomains_build_pack(sup_subdomains *layout);

#endif

/* subdomains_build.h (internal) - shared by the files that build the layout. */
#ifndef SUP_CUDA_SUBDOMAINS_BUILD_H
#define SUP_CUDA_SUBDOMAINS_BUILD_H

#include "cuda/subdomains.h"
#include "cuda/nested_dissection.h"

#include <stdlib.h>

typedef struct sup_subdomains_builder {
    const sup_context *context;
    const sup_system *system;
    sup_subdomains *layout;
    sup_arena arena;          /* temporary memory of the build */
    int32_t *corner;          /* [batch_count*SUP_PRISM_CORNERS] nodes of the system */
    sup_graph graph;          /* of the system's nodes */
    int32_t *subdomain;       /* [unknown_count] by node */
    int32_t *node;            /* [unknown_count] node of the system of each GPU node */
    int32_t *owner;           /* [unknown_count] subdomain of each GPU node */
    int32_t *prism_subdomain; /* [batch_count*SUP_PRISM_LANES] -1 for padding */
    int32_t *source;          /* [prism_total] prism of the system, -1 for padding */
} sup_subdomains_builder;

/* Entries of the matrix, then inverses and couplings. */
sup_result sup_subdomains_build_inverses(sup_subdomains_builder *b, sup_error *error);
/* Volume regions, if the system has them. */
bool sup_subdomains_build_volume(sup_subdomains_builder *b);
/* Packs the arrays of each subdomain; last. */
bool sup_subdomains_build_pack(sup_subdomains *layout);

#endif

/* subdomains.h (internal) - layout of a projective system for a GPU: subdomains that one thread block handles by
 * itself.
 *
 * The unknowns are split into subdomains of at most `limit` unknowns that are coupled only through the separator
 * (nested_dissection.h):
 *     A = [ A_1           A_1t ]
 *         [      A_2      A_2t ]        S = A_tt - sum_p A_tp A_p^-1 A_pt   (Schur complement)
 *         [           ... ...  ]
 *         [ A_t1 A_t2 ... A_tt ]
 * With the dense inverses of A_p and S a solve is a few matrix products, and exact:
 *     y_p = A_p^-1 r_p,   d_t = S^-1 (r_t - sum_p A_tp y_p),   d_p = y_p - A_p^-1 A_pt d_t.
 * Every prism belongs to one subdomain, which has copies of all nodes of its prisms. Contributions of a
 * subdomain to the separator have their own slots, which are summed in their order: no atomics, the same bits every
 * time.
 *
 * Unknowns are numbered by subdomain, the separator last; these numbers are the nodes of the GPU. Entries of A come
 * from the product of the model's own factor, S^-1 from solves with it, so this file is independent of the
 * energies. */
#ifndef SUP_CUDA_SUBDOMAINS_H
#define SUP_CUDA_SUBDOMAINS_H

#include "solver/system.h"

enum {
    SUP_SUBDOMAIN_LIMIT = 128,          /* unknowns of a subdomain at most, */
    SUP_SUBDOMAIN_LIMIT_SINGLE = 64,    /* and for single characters, which need more subdomains to fill the device */
    SUP_SUBDOMAIN_SEPARATOR_ALIGN = 64, /* rows of S^-1 are padded to a multiple of this */
    SUP_SUBDOMAIN_FORCES =
        12 /* forces of a prism: four corners of three tetrahedra, as in sup_prism_tets; not in crowds */
};

/* Arrays of a subdomain for its threads, copied to shared memory in one block. */
enum sup_pack {
    SUP_PACK_NODE,   /* int32 [slot_count] separator node; -1 - node where another subdomain owns it */
    SUP_PACK_SLOT,   /* int32 [slot_count] index of the slot's sum: separator_slot_first of its node + its rank there */
    SUP_PACK_ANCHOR, /* int32 [anchor_count] */
    SUP_PACK_MASS,   /* float [count + slot_count]; 0 where another subdomain owns the node */
    SUP_PACK_ROW_VALUE,          /* float, A_pt by rows */
    SUP_PACK_COL_VALUE,          /* float, the same by slots */
    SUP_PACK_ROW_BEGIN,          /* uint16 [count + 1] */
    SUP_PACK_ROW_SLOT,           /* uint16 */
    SUP_PACK_COL_BEGIN,          /* uint16 [slot_count + 1] */
    SUP_PACK_COL_ROW,            /* uint16 */
    SUP_PACK_SUM_BEGIN,          /* uint16 [count + slot_count + 1] */
    SUP_PACK_SUM_FROM,           /* uint16, as sum_from below */
    SUP_PACK_CORNER,             /* uint16 [6*prism_stride] corner by corner */
    SUP_PACK_REGION_SLOT_REST,   /* float [region_slot_count] rest volume; < 0: another subdomain sums the energy */
    SUP_PACK_REGION_SLOT_WEIGHT, /* float, by region slot: weight of six times the volume of a prism's wedge */
    SUP_PACK_REGION_SLOTS,       /* int32, by region slot: all region slots of the region */
    SUP_PACK_REGION_SLOT_BEGIN,  /* uint16 [region_slot_count + 1] */
    SUP_PACK_REGION_SLOT_PRISM,  /* uint16 */
    SUP_PACK_REGION_BEGIN,       /* uint16 [region_slot_count + 1] */
    SUP_PACK_COUNT
};

/* One subdomain. Its local nodes: own unknowns, then its separator nodes (slots), then anchors. */
typedef struct sup_subdomain {
    int32_t first, count;               /* unknowns */
    int32_t slot_first, slot_count;     /* separator nodes of its prisms */
    int32_t anchor_first, anchor_count; /* into `anchor` */
    int32_t prism_first, prism_count;   /* prism_first counts padded prisms */
    int32_t prism_stride;               /* prism_count rounded up to 32: stride between the forces of a prism */
    int32_t loose_stride;               /* prisms with an unknown inner corner, rounded up to 32; they come first */
    int32_t foot_count;                 /* local nodes up to the last outer corner of a prism */
    int32_t sum_first;                  /* into sum_begin: count + slot_count + 1 of them */
    int32_t region_slot_first, region_slot_count; /* volume regions of its prisms */
    int32_t blend_first, blend_count;             /* maximum number of regions per prism; into blend_region_slot */
    int32_t pack[SUP_PACK_COUNT];                 /* offsets of its arrays in its section of `pack`, bytes */
} sup_subdomain;

/* Offset of the force (x, y, z) on a corner of a prism, in crowds. Inner corners have one only where they are
 * unknowns. */
static inline int32_t sup_subdomain_force(const sup_subdomain *subdomain, int32_t corner, int32_t prism)
{
    return 3 * (corner < 3 ? corner * subdomain->prism_stride + prism
                           : 3 * subdomain->prism_stride + (corner - 3) * subdomain->loose_stride + prism);
}

typedef struct sup_subdomains {
    sup_context context;
    sup_arena arena;
    int32_t limit; /* maximum unknowns of a subdomain; column stride of its inverse */
    int32_t unknown_count, anchor_count, subdomain_count, separator_count, separator_stride, slot_count;
    int32_t interior_count;                     /* unknowns of all subdomains: index of the first separator node */
    int32_t max_slots, max_anchors, max_prisms; /* of a subdomain */
    int32_t max_forces;                         /* floats of the forces of a subdomain's prisms, in crowds */
    int32_t *number;                            /* [unknown_count] node (on the GPU) of each node of the system */
    sup_subdomain *subdomains;                  /* [subdomain_count] */
    float *inverse;                             /* [subdomain_count*limit^2] A_p^-1 by columns */
    float *solve; /* [subdomain_count*limit*solve_stride] A_p^-1 and A_tp A_p^-1 below it; single characters only */
    int32_t solve_stride;          /* rows of it, maximum over the subdomains */
    float *schur_inverse;          /* [separator_count*separator_stride] S^-1 */
    float *mass, *diagonal;        /* [unknown_count] */
    int32_t *slot_node;            /* [slot_count] node of the separator */
    unsigned char *slot_owner;     /* [slot_count] whether its subdomain owns the node */
    int32_t *separator_slot_first; /* [separator_count+1] */
    int32_t *separator_slot;       /* [slot_count] ascending */
    int32_t *anchor;               /* anchors of the subdomains */
    int32_t anchor_list_count;
    /* A_pt, by rows of the subdomains' unknowns (slot within the subdomain) and by slots (unknown within the
     * subdomain). */
    int32_t *row_first;    /* [interior_count+1] */
    uint16_t *row_slot;    /* [coupling_count] */
    float *row_value;      /* [coupling_count] */
    int32_t *column_first; /* [slot_count+1] */
    uint16_t *column_row;  /* [coupling_count] */
    float *column_value;   /* [coupling_count] */
    int32_t coupling_count;
    /* Coupling of unknowns to anchors. */
    int32_t *pull_first;  /* [unknown_count+1] */
    int32_t *pull_anchor; /* anchor */
    float *pull_value;
    int32_t pull_count;
    /* Prisms in batches like those of the system; each subdomain starts a new batch. */
    int32_t prism_total; /* padded */
    float *tets;         /* [prism_total/SUP_PRISM_LANES*SUP_PRISM_FLOATS] */
    uint16_t *corner;    /* [prism_total/SUP_PRISM_LANES*SUP_PRISM_CORNERS] local nodes */
    /* Forces that sum to that of a node, by ascending prism: index force*3*prism_stride + prism; in crowds
     * sup_subdomain_force. */
    int32_t *sum_begin; /* by subdomain, from sum_first */
    uint16_t *sum_from;
    int32_t sum_count, sum_begin_count;
    /* Volume regions (solver/volume_regions.c): a region slot is a region that some prisms of a subdomain belong
     * to. */
    int32_t region_slot_count, max_region_slots, blend_total;
    int32_t *region_slot_region; /* [region_slot_count] */
    float *region_slot_rest;     /* [region_slot_count] volume of its region at rest */
    int32_t *region_slot_begin;  /* [region_slot_count+1] */
    uint16_t *region_slot_prism; /* [region_slot_begin[region_slot_count]] prisms within the subdomain, and */
    float *region_slot_weight;   /* the weights of six times their wedges' volume */
    uint16_t *blend_region_slot; /* [blend_total] region slots, by prism: blend_first + i*prism_stride + prism */
    float *blend_weight;         /* [blend_total] 0 where a prism has fewer */
    int32_t *region_first;       /* [region_count+1] */
    int32_t *region_slots;       /* [region_slot_count] region slots of a region, ascending */
    unsigned char *pack;         /* [subdomain_count*pack_size] */
    int32_t pack_size;           /* bytes per subdomain, a multiple of 16 */
} sup_subdomains;

/* Subdomains of at most `limit` unknowns, up to SUP_SUBDOMAIN_LIMIT. SUP_ERROR_UNSUPPORTED when the separator is too
 * large. */
sup_result sup_subdomains_create(const sup_context *context, const sup_system *system, int32_t limit,
                                 sup_subdomains **layout, sup_error *error);
void sup_subdomains_destroy(sup_subdomains *layout);

/* x = A^-1 x in the order of the layout, four floats per node, with the device's algorithm; for tests. `scratch` has
 * the size of x plus 4 floats per slot. */
void sup_subdomains_solve(const sup_subdomains *layout, float *x, float *scratch);

#endif

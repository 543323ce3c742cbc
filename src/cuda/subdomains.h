/* subdomains.h (internal) - a projective system laid out for a GPU: parts that one block of threads handles by itself.
 *
 * The unknowns are cut into parts of at most `limit` that touch each other only through the top (nested_dissection.h):
 *     A = [ A_1           A_1t ]
 *         [      A_2      A_2t ]        S = A_tt - sum_p A_tp A_p^-1 A_pt
 *         [           ... ...  ]
 *         [ A_t1 A_t2 ... A_tt ]
 * With the dense inverses of A_p and S a solve is a few products of matrices, and exact:
 *     y_p = A_p^-1 r_p,   d_t = S^-1 (r_t - sum_p A_tp y_p),   d_p = y_p - A_p^-1 A_pt d_t.
 * Every prism belongs to one part, which has copies of all places it needs. What a part gives to the top goes into slots
 * of its own, which are added up in their order: no atomics, the same bits every time.
 *
 * Unknowns are numbered by part, the top last. Entries of A come from the product of the model's own factor, S^-1 from
 * solves with it: whatever energies made the system, this file need not know them. */
#ifndef SUP_CUDA_SUBDOMAINS_H
#define SUP_CUDA_SUBDOMAINS_H

#include "solver/system.h"

enum {
    SUP_SUBDOMAIN_LIMIT = 128,    /* unknowns of a part at most, */
    SUP_SUBDOMAIN_ALONE = 64,     /* and for single characters, which fill the device only with more of them */
    SUP_SUBDOMAIN_TOP_ALIGN = 64, /* rows of S^-1 are rounded up to this */
    SUP_SUBDOMAIN_FORCES = 12 /* of a prism: four corners of three tetrahedra, as sup_prism_tets has them; not in crowds */
};

/* What the threads of a part look up, ready to be copied into their fast memory in one go. */
enum sup_pack {
    SUP_PACK_PLACE, /* int32 [slot_count] place of the top; -1 - place where another part takes care of it */
    SUP_PACK_SLOT, /* int32 [slot_count] where what the slot gets goes: top_slot_first of its place + its number there */
    SUP_PACK_ANCHOR,    /* int32 [anchor_count] */
    SUP_PACK_MASS,      /* float [count + slot_count]; 0 where another part takes care */
    SUP_PACK_ROW_VALUE, /* float, A_pt by rows */
    SUP_PACK_COL_VALUE, /* float, the same by slots */
    SUP_PACK_ROW_BEGIN, /* uint16 [count + 1] */
    SUP_PACK_ROW_SLOT,  /* uint16 */
    SUP_PACK_COL_BEGIN, /* uint16 [slot_count + 1] */
    SUP_PACK_COL_ROW,   /* uint16 */
    SUP_PACK_SUM_BEGIN, /* uint16 [count + slot_count + 1] */
    SUP_PACK_SUM_FROM,  /* uint16, as sum_from below */
    SUP_PACK_CORNER,    /* uint16 [6*prism_stride] corner by corner */
    SUP_PACK_SEAT_REST, /* float [seat_count] volume of the chamber at rest; negative where another part answers for it */
    SUP_PACK_SEAT_WEIGHT,   /* float, by seats: what of six times a prism's column counts */
    SUP_PACK_CHAMBER_SEAT,  /* int32, by seats: all seats of the chamber */
    SUP_PACK_SEAT_BEGIN,    /* uint16 [seat_count + 1] */
    SUP_PACK_SEAT_PRISM,    /* uint16 */
    SUP_PACK_CHAMBER_BEGIN, /* uint16 [seat_count + 1] */
    SUP_PACK_COUNT
};

/* One part. Its places are numbered within it: own unknowns, then its places of the top, then anchors. */
typedef struct sup_subdomain {
    int32_t first, count;               /* unknowns */
    int32_t slot_first, slot_count;     /* places of the top that it touches */
    int32_t anchor_first, anchor_count; /* into `anchor` */
    int32_t prism_first, prism_count;   /* prism_first counts padded prisms */
    int32_t prism_stride;               /* prism_count rounded up to 32: between the forces of a prism */
    int32_t loose_stride; /* the first prisms, rounded up to 32: those whose inner side is not given as a whole */
    int32_t foot_count;   /* the first places: all that are an outer corner of a prism */
    int32_t sum_first;    /* into sum_begin: count + slot_count + 1 of them */
    int32_t seat_first, seat_count;   /* chambers that its prisms are part of */
    int32_t blend_first, blend_count; /* most chambers of one of its prisms; into blend_seat */
    int32_t pack[SUP_PACK_COUNT];     /* where its arrays begin in its stretch of `pack`, bytes */
} sup_subdomain;

/* Where the force on a corner of a prism of a crowd begins: x, y, z. Inner corners have one where the prism is loose. */
static inline int32_t sup_subdomain_force(const sup_subdomain *part, int32_t corner, int32_t prism)
{
    return 3 * (corner < 3 ? corner * part->prism_stride + prism
                           : 3 * part->prism_stride + (corner - 3) * part->loose_stride + prism);
}

typedef struct sup_subdomains {
    sup_context context;
    sup_arena arena;
    int32_t limit; /* unknowns of a part; column stride of its inverse */
    int32_t unknown_count, anchor_count, part_count, top_count, top_stride, slot_count;
    int32_t interior_count;                        /* unknowns of the parts: where the top begins */
    int32_t most_slots, most_anchors, most_prisms; /* of a part */
    int32_t most_forces;                           /* floats of the forces of a part's prisms, in crowds */
    int32_t *number;                               /* [unknown_count] of each place of the system */
    sup_subdomain *parts;                         /* [part_count] */
    float *inverse;                                /* [part_count*limit^2] A_p^-1 by columns */
    float *solve; /* [part_count*limit*solve_stride] the same, and A_tp A_p^-1 at the part's slots below it; single
                     characters only */
    int32_t solve_stride;      /* rows of it: most of a part */
    float *top_inverse;        /* [top_count*top_stride] S^-1 */
    float *mass, *diagonal;    /* [unknown_count] */
    int32_t *slot_place;       /* [slot_count] place of the top */
    unsigned char *slot_owner; /* [slot_count] whether its part takes care of the place */
    int32_t *top_slot_first;   /* [top_count+1] */
    int32_t *top_slot;         /* [slot_count] rising */
    int32_t *anchor;           /* anchors of the parts */
    int32_t anchor_list_count;
    /* A_pt, by rows of the parts' unknowns (slot within the part) and by slots (unknown within the part). */
    int32_t *row_first;    /* [interior_count+1] */
    uint16_t *row_slot;    /* [couple_count] */
    float *row_value;      /* [couple_count] */
    int32_t *column_first; /* [slot_count+1] */
    uint16_t *column_row;  /* [couple_count] */
    float *column_value;   /* [couple_count] */
    int32_t couple_count;
    /* Unknowns and anchors: the matrix of the anchors' pull. */
    int32_t *pull_first;  /* [unknown_count+1] */
    int32_t *pull_anchor; /* anchor */
    float *pull_value;
    int32_t pull_count;
    /* Prisms in batches as those of the system; parts begin with a batch. */
    int32_t prism_total; /* padded */
    float *tets;         /* [prism_total/SUP_PRISM_LANES*SUP_PRISM_FLOATS] */
    uint16_t *corner;    /* [prism_total/SUP_PRISM_LANES*SUP_PRISM_CORNERS] places within the part */
    /* Where the forces on an unknown or slot come from, rising prisms: numbers force*3*prism_stride + prism; in crowds
     * sup_subdomain_force. */
    int32_t *sum_begin; /* by part, from sum_first */
    uint16_t *sum_from;
    int32_t sum_count, sum_begin_count;
    /* Chambers (solver/volume_regions.c): a seat is a chamber that some prisms of a part belong to. */
    int32_t seat_count, most_seats, blend_total;
    int32_t *seat_chamber; /* [seat_count] */
    float *seat_rest;      /* [seat_count] volume of its chamber at rest */
    int32_t *seat_begin;   /* [seat_count+1] */
    uint16_t
        *seat_prism;    /* [seat_begin[seat_count]] prisms within the part, and what of six times their column counts */
    float *seat_weight; /* the same count */
    uint16_t *blend_seat;   /* [blend_total] seats within the part, by prism: blend_first + i*prism_stride + prism */
    float *blend_weight;    /* [blend_total] 0 where a prism has fewer */
    int32_t *chamber_first; /* [chamber_count+1] */
    int32_t *chamber_seat;  /* [seat_count] seats of a chamber, rising */
    unsigned char *pack;    /* [part_count*pack_size] */
    int32_t pack_size;      /* bytes a part, a multiple of 16 */
} sup_subdomains;

/* Parts of at most `limit` unknowns, up to SUP_SUBDOMAIN_LIMIT. Refuses systems whose top would not fit: SUP_ERROR_UNSUPPORTED. */
sup_result sup_subdomains_create(const sup_context *context, const sup_system *system, int32_t limit, sup_subdomains **blocks,
                             sup_error *error);
void sup_subdomains_destroy(sup_subdomains *blocks);

/* x = A^-1 x in the order of the blocks, four floats a row, as the device does it; for tests. `scratch` has the size of
 * x and 4 floats a slot. */
void sup_subdomains_solve(const sup_subdomains *blocks, float *x, float *scratch);

#endif

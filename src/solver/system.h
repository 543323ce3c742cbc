/* system.h (internal) - the projective dynamics system of a tissue: assembled and factorised once, in double, and
 * stored as arrays of a model in the layout that the step reads.
 *
 * Based on: [komaritzan2022] section 2.2, eq. 2.12 to 2.16, hard constraints as in 2.2.3.
 *
 * Unknowns are the skin vertices, the vertices of the tissue's middle layer if it has one, and the free bases.
 * Anchors are the anchored bases and the skin vertices that the caller fixes; their positions are given. A node is
 * the index of a vertex in the step's arrays: unknowns first, in elimination order, then anchors in the order of
 * their tissue vertex. Every prism has six nodes a, b, c on the skin and a', b', c' under them, named so that its
 * tetrahedra are (a b c c'), (a b b' c') and (a a' b' c'); any split of a prism into three tetrahedra can be named
 * so.
 *
 * Units: a tetrahedron weighs w = stiffness * V / size with size the cube root of the bounding box's volume, times
 * 10: 85 V (1000 / volume)^(1/3) of the authors' program. Masses are fractions of a given total, so momentum m
 * |x|^2 and strain V / size both scale with the square of the unit of length, and the unit cancels. */
#ifndef SUP_SOLVER_SYSTEM_H
#define SUP_SOLVER_SYSTEM_H

#include "base/base.h"
#include "linalg/solve_threads.h"
#include "tissue/tissue.h"
#include "supple/model.h"

enum {
    SUP_PRISM_LANES = 16,                                 /* prisms per batch */
    SUP_PRISM_FLOATS = 3 * 10 * SUP_PRISM_LANES,          /* floats per batch: per tet 9 of g, then w */
    SUP_PRISM_CORNERS = 6 * SUP_PRISM_LANES,              /* corner by corner */
    SUP_PRISM_ANCHOR_FLOATS = 3 * 3 * SUP_PRISM_LANES,    /* floats of a batch's inner side: a', b', c' as x, y, z */
    SUP_PRISM_FOOT_POINT_FLOATS = 3 * 3 * SUP_PRISM_LANES /* floats of a batch's foot points, as wedge.h needs them */
};

typedef struct sup_system_def {
    const sup_tissue *tissue;
    const float *stiffness;     /* [skin_count] times the tissue's, > 0; NULL = 1 */
    const unsigned char *fixed; /* [skin_count] nonzero: the skin vertex is an anchor too; NULL = none */
    double tissue_stiffness;    /* of eq. 2.16, > 0; 0 = 85 */
    double total_mass;          /* of the skin, > 0; 0 = 4000 */
    double time_step;           /* simulated time of a step, > 0; 0 = 0.2 */
    double volume; /* weight of volume relative to strain (solver_volume.c); 0 = strain alone, as in the thesis */
    const sup_volumetric_skeleton *skeleton; /* that the tissue's foot points are on; only with volume */
    bool is_static;                          /* no momentum: every step moves to the equilibrium of the pose */
} sup_system_def;

/* A cluster of prisms, the unit of parallel work of the local step: batches whose inner side is anchored come
 * first. It works on copies of its prisms' vertices and sums their gradients: unknowns first, then anchors of its
 * mixed batches, whose sum is not used, then the inner sides of its anchored batches, which are copied once per
 * step. */
typedef struct sup_system_cluster {
    int32_t batch_first, batch_mixed, batch_end; /* [first, mixed) anchored inside, [mixed, end) anything */
    int32_t anchor_first;                        /* first of them among all batches that are anchored inside */
    int32_t copy_first, copy_inner, copy_end;    /* copies; [inner, end) are inside anchored batches only */
} sup_system_cluster;

/* With volume, the matrix of the global step has the stiffness of strain times 1 + this times `volume`: an upper
 * bound for tissue that swells all around a limb, so that a step does not overshoot. Anchors hold one side of most
 * prisms, which swelling strains more: half of it is enough there, and more makes all steps too short. */
#define SUP_VOLUME_STIFFENING 1.0
#define SUP_VOLUME_STIFFENING_HELD 0.5 /* prisms with an anchor */

/* A view of the arrays in a model. */
typedef struct sup_system {
    int32_t skin_count, unknown_count, anchor_count;
    int32_t vertex_count; /* of the tissue: 2 or, with a middle, 3 times skin_count */
    int32_t batch_count, cluster_count, anchored_batch_count, copy_count;
    bool is_static;
    float time_step;
    float size;       /* cube root of the bounding box's volume */
    float weight_sum; /* of all tetrahedra: the energy of a strain of sqrt 2 everywhere */
    float volume;     /* weight of volume relative to strain; 0: the arrays of volume are empty */
    int32_t bone_count, region_count;
    sup_float_factor factor;
    sup_float_subdomains subdomains;
    const int32_t *node;                /* [vertex_count] of each tissue vertex */
    const int32_t *anchor;              /* [anchor_count] tissue vertex, increasing */
    const float *rest;                  /* [(unknown_count+anchor_count)*4] by node */
    const float *mass;                  /* [unknown_count] m / dt^2; 0 for free bases and static systems */
    const float *diagonal;              /* [unknown_count] of the system's matrix */
    const int32_t *coupling_first;      /* [unknown_count+1] the matrix between unknowns and anchors, by rows */
    const int32_t *coupling_anchor;     /* [coupling_first[unknown_count]] anchor */
    const float *coupling_value;        /* the same count */
    const sup_system_cluster *clusters; /* [cluster_count] */
    const float *tets;                  /* [batch_count*SUP_PRISM_FLOATS] */
    const uint16_t *corner;             /* [batch_count*SUP_PRISM_CORNERS] copies, counted from the cluster's first */
    const int32_t *copy_node;           /* [copy_count] node of a copy */
    const int32_t *foot_bone;           /* [skin_count] bone segment of the foot point, */
    const float *foot_along;            /* [skin_count] and position on it, 0 to 1 */
    const float *region_volume;         /* [region_count] at rest, times weight; 0: not preserved */
    /* A region slot is a volume region that some wedges of a cluster belong to; a blend is a region slot that some
     * wedges of a batch belong to. */
    int32_t region_slot_count;
    const int32_t *region_slot_first;  /* [cluster_count+1] region slots of a cluster */
    const int32_t *region_slot_region; /* [region_slot_count] */
    const int32_t *blend_first;        /* [batch_count+1] blends of a batch */
    const int32_t *blend_region_slot;  /* [blend_first[batch_count]] */
    const float *blend_weight;         /* [blend_first[batch_count]*SUP_PRISM_LANES] of six times a wedge's volume */
    const int32_t *sum_first;          /* [unknown_count+1] */
    const int32_t *sum_from;           /* [sum_first[unknown_count]] copies whose gradients add up to a gradient */
} sup_system;

/* Adds the arrays PREFIX.name to `builder`; `prefix` has at most 12 characters. Fails, with an error id, for prisms
 * that are not split into three tetrahedra and for systems without a unique minimum (static, without anchors). */
sup_result sup_system_bind(const sup_context *context, const sup_system_def *def, sup_model_builder *builder,
                           const char *prefix, sup_error *error);
/* A view of the arrays with that prefix, after checking every count and index: the model may come from a file. */
sup_result sup_system_open(const sup_model *model, const char *prefix, sup_system *system, sup_error *error);

/* Names of the corners of a tissue's prism: corner[0..5] = a, b, c, a', b', c' as tissue vertices. False when
 * `tets` is no split of the prism over `triangle` into three. */
bool sup_prism_corners(const int32_t triangle[3], const int32_t tets[12], int32_t skin_count, int32_t corner[6]);
/* Corners of the three tetrahedra of a prism, the common one (c') last. */
extern const int32_t sup_prism_tets[3][4];
/* Number of tetrahedra, without those that were dropped as flat; their nodes into `tets` [count*4] if it is not
 * NULL. */
int32_t sup_system_tets(const sup_system *system, int32_t *tets);

#endif

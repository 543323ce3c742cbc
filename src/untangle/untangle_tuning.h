/* untangle_tuning.h (internal) - constants of untangling, for the CPU (src/untangle) and the GPU
 * (src/cuda/untangle*). Each constant is written here and nowhere else; untangle_rules.h has the decisions that use
 * them.
 *
 * "Gaps" are the contact gaps of the simulated skin (contact_tuning.h), about half an edge of it. */
#ifndef SUP_UNTANGLE_UNTANGLE_TUNING_H
#define SUP_UNTANGLE_UNTANGLE_TUNING_H

enum {
    SUP_UNTANGLE_MAX_FINENESS =
        8,                        /* render vertices for each simulated one; finer skin costs more than simulating it */
    SUP_UNTANGLE_ITERATIONS = 10, /* of finding crossings and moving vertices, at most */
    SUP_UNTANGLE_MAX_CROSSINGS = 48, /* that are stored for the triangles of one cluster */
    SUP_UNTANGLE_MAX_PATCHES = 256,  /* of a character in one iteration */
    SUP_UNTANGLE_MAX_PATCH = 300,    /* vertices of a patch; a larger one is open, or too large to be moved */
    SUP_UNTANGLE_RINGS = 2,          /* rings of edges around moved vertices that follow */
    SUP_UNTANGLE_SWEEPS = 4,         /* of edge shortening in an iteration, */
    SUP_UNTANGLE_LAST_SWEEPS = 12    /* and after the last one */
};

/* --- Finding crossings --- */
#define SUP_UNTANGLE_ROUNDING 2e-6f /* relative rounding error of a height above a triangle's plane */

/* --- Patches --- */
#define SUP_UNTANGLE_CLEAR_AGREEMENT 0.6f /* length of the mean normal around a patch with a clear direction, */
#define SUP_UNTANGLE_MIN_AGREEMENT 0.05f  /* and around one that is moved at all */

/* --- Displacements --- */
#define SUP_UNTANGLE_SEPARATION 0.03f /* edges of the finer skin: distance between two skins after untangling */
#define SUP_UNTANGLE_MAX_STEP 2.5f   /* edges of the finer skin that the end of a crossing edge moves in an iteration */
#define SUP_UNTANGLE_MAX_OFFSET 6.0f /* gaps that a vertex is moved in all */
#define SUP_UNTANGLE_MAX_OFFSET_SIZE 0.01f /* sizes of the character that a vertex is moved in all */
#define SUP_UNTANGLE_VOLUME_BUDGET 0.004   /* of the rest volume: change of the volume by all offsets together */
/* Change of an offset in a frame: sizes a second, so that crossings that appear and vanish are not seen as popping, and
 * a fraction of the skin's own displacement, which hides larger changes. */
#define SUP_UNTANGLE_REST_RATE 0.003f
#define SUP_UNTANGLE_MOTION_RATE 0.5f
#define SUP_UNTANGLE_MIN_OFFSET 1e-4f   /* gaps: smaller offsets are stored as zero */
#define SUP_UNTANGLE_FOLLOW 0.8f        /* of the mean displacement of its neighbours: skin around moved vertices */
#define SUP_UNTANGLE_FOLD_DISTANCE 3.0f /* gaps at rest: crossing skin that is nearer to itself is a fold */
#define SUP_UNTANGLE_FOLD_PUSH 0.2f     /* of the displacement that crossings ask for is applied in a fold, */
#define SUP_UNTANGLE_FOLD_SMOOTH 0.8f   /* and of the displacement to the mean of the neighbours */

/* --- Edge lengths --- */
#define SUP_UNTANGLE_MAX_GROWTH 1.3f    /* of an edge's length before untangling, or at rest: no edge is made longer */
#define SUP_UNTANGLE_MAX_STRETCH 2.0f   /* of its length at rest: longer edges are shortened */
#define SUP_UNTANGLE_EDGE_EXCESS 1.001f /* of its squared maximum length: tolerated */
#define SUP_UNTANGLE_PUSHED_MOBILITY 0.25f /* of the mobility of other vertices: those that a crossing pushed */

#endif

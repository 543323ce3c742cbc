/* contact_tuning.h (internal) - constants of contact detection and contact response, for the CPU (src/contact) and
 * the GPU (src/cuda). Each constant is written here and nowhere else; contact_rules.h has the decisions that use
 * them.
 *
 * A gap is the unit of the lengths below, in file units; every vertex has its own, from SUP_CONTACT_GAP_EDGE and
 * SUP_CONTACT_GAP_TISSUE at bind. Skin comes to rest at SUP_CONTACT_TOUCH_* gaps: change those for the visible
 * distance.
 * The first two also scale reach, release, push and untangling, and need a new bind.
 *
 * SUP_CONTACT_STIFFNESS is that of self-contact; SUP_RESPONSE_STIFFNESS of solver/contact_response_tuning.h is used by
 * the solver for contacts that set none. */
#ifndef SUP_CONTACT_CONTACT_TUNING_H
#define SUP_CONTACT_CONTACT_TUNING_H

/* --- The contact gap of a vertex, at bind time: the smaller of two limits --- */
#define SUP_CONTACT_GAP_EDGE 0.5    /* of the mean length of the edges at the vertex */
#define SUP_CONTACT_GAP_TISSUE 0.25 /* of its distance from the bone line */
/* The gap of a pair, in gaps of its vertex at most: a finger is not kept off a thigh by half of the thigh's long
 * edges. */
#define SUP_CONTACT_MAX_OWN_GAP 2.0f

/* --- Slack: how much of the gap the bind pose takes away --- */
#define SUP_CONTACT_SLACK_FACTOR 1.02 /* of the penetration depth in the bind pose, */
#define SUP_CONTACT_SLACK_MARGIN 1e-3 /* plus this fraction of the mean edge: rounding makes no contact */

/* --- When a pair begins --- */
#define SUP_CONTACT_REACH 1.3f /* gaps by which prisms stand out of the skin: pairs are found before they push */
/* Maximum cosine between the normals of a vertex and of a triangle that form a new pair, by how near they are along
 * the skin. Skin that folds onto itself has to be folded further: adjacent triangles of a thin finger are at right
 * angles. */
#define SUP_CONTACT_FACING_DISTANT 0.3f
#define SUP_CONTACT_FACING_SAME_SEGMENT 0.0f
#define SUP_CONTACT_FACING_ADJACENT (-0.5f)
#define SUP_CONTACT_FACING_KEPT 0.2f      /* added to that cosine for an existing pair, */
#define SUP_CONTACT_FACING_NEAR 0.5f      /* and for vertices that count as near other skin, pair or not */
#define SUP_CONTACT_FACING_ROUNDING 1e-5f /* and in the coarse test of whole clusters */
/* Gaps: skin that is deeper inside skin of its own bone segment came from inside, not through a fold. */
#define SUP_CONTACT_FOLD_DEPTH 2.0f
/* Gaps: skin that is deeper in the bind pose overlaps prisms of its own segment. */
#define SUP_CONTACT_REST_OVERLAP 0.25f
/* Tolerance of barycentric weights: a point on the face between two tetrahedra is inside both rather than outside
 * both. */
#define SUP_CONTACT_TET_TOLERANCE 1e-5f

/* --- When a pair ends --- */
#define SUP_CONTACT_RELEASE_HEIGHT 1.7f /* gaps above its triangle, */
#define SUP_CONTACT_RELEASE_SIDE 0.5f   /* or mean edges beside it ([komaritzan2022] 3.2.5) */
#define SUP_CONTACT_SEPARATION 0.1f     /* gaps: segments whose skin pushes by no more are separated */
enum { SUP_CONTACT_WALK_STEPS = 8 };    /* triangles that a pair crosses in a timestep at most */

/* Of the force that a pair lacks: what it gains in a timestep without motion. */
#define SUP_CONTACT_ONSET_RATE 0.08f

/* --- How a pair pushes --- */
#define SUP_CONTACT_TOUCH_GAP 0.85f /* gaps: height at which skin touches; */
/* the same between adjacent skin: in a fold, a wider gap would press in the tissue. */
#define SUP_CONTACT_TOUCH_GAP_ADJACENT 0.2f
#define SUP_CONTACT_OWN_NORMAL 0.5f        /* weight of the vertex's own normal in the direction of the push */
#define SUP_CONTACT_MIN_NORMAL_COSINE 0.2f /* of that direction with the triangle's normal; else the latter is used */
#define SUP_CONTACT_MAX_PUSH 1.0f          /* gaps that a contact pushes in one timestep, */
#define SUP_CONTACT_FORCE_LIMIT 2.0f       /* and depth in gaps from which on its force no longer grows */
#define SUP_CONTACT_TISSUE_DEPTH 0.5f      /* of the tissue between the bones: beyond half of it contacts yield */
#define SUP_CONTACT_MIN_PRESSURE 1e-3f     /* fraction of the force that is left then */
#define SUP_CONTACT_STIFFNESS 1.0f         /* default; stiffer contacts hold no better and make fast skin jitter */
#define SUP_CONTACT_DAMPING 0.3f           /* of the contact's stiffness */

/* --- Scene colliders; lengths in mean edges of the skin --- */
#define SUP_COLLIDER_GAP 0.1f      /* height at which skin is kept above a collider, */
#define SUP_COLLIDER_RELEASE 0.25f /* and height above that gap at which a contact ends */
/* Penetration depth, in units of tissue thickness plus one edge, from which on a collider pushes less, and from which
 * on it does not push: skin is not pulled off bones that are inside a collider. */
#define SUP_COLLIDER_FULL_DEPTH 2.0
#define SUP_COLLIDER_MAX_DEPTH 4.0
#define SUP_COLLIDER_STIFFNESS \
    20.0f /* times that of the tissue: colliders do not yield, and hold skin over bones too */

#endif

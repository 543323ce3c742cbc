/* timestep.h (internal) - fixed-timestep accumulator for simulations whose rate does not depend on the frame rate.
 *
 * A frame of any length consists of zero or more steps of a fixed length. The accumulator keeps the time between the
 * last step and the frame. Within a frame of several steps the joints are interpolated from the previous pose to this
 * one. */
#ifndef SUP_POSE_TIMESTEP_H
#define SUP_POSE_TIMESTEP_H

#include "math/affine.h"
#include "supple/pose.h"

/* A pause of more steps than this is simulated by this many steps, spread evenly over the frame. */
enum { SUP_TIMESTEP_MAX_STEPS = 30 };

typedef enum sup_timestep_mode {
    SUP_TIMESTEP_BEHIND, /* the last step is at or before the frame: the result is extrapolated to the frame */
    SUP_TIMESTEP_AHEAD   /* the last step is at or after the frame: the result is interpolated between two steps */
} sup_timestep_mode;

/* The steps of one frame. */
typedef struct sup_timestep {
    int32_t count; /* at most SUP_TIMESTEP_MAX_STEPS */
    bool even;     /* the steps are spread evenly over the frame */
    double dt, seconds,
        start; /* of the frame; of a step; time of step 0 relative to the start of the frame, at most 0 */
} sup_timestep;

/* Steps of `seconds` for a frame `dt` seconds after the previous one. `offset`: seconds, in [0, seconds), from the last
 * step to the frame (BEHIND) or from the frame to the last step (AHEAD); updated. */
sup_timestep sup_timestep_advance(double *offset, double dt, double seconds, sup_timestep_mode mode);

/* Fraction of the frame, in [0, 1], at the end of step i of 1..count; i = 0: at the start of the first step. */
double sup_timestep_fraction(const sup_timestep *frame, int32_t i);

/* Skinning matrices: world * inverse bind of every joint, relative to `origin`, NULL for the world's. */
void sup_timestep_joints(const sup_mat34 *world, const float origin[3], int32_t joint_count, const int32_t *joint_node,
                         const float *inverse_bind, sup_mat34 *joints);

/* Interpolates skinning matrices relative to their parents, so that bones stay connected between frames: the map of a
 * joint relative to its parent is interpolated about the joint's bind centre (rotation by slerp, the rest linearly)
 * and multiplied down the tree. t = 0 and t = 1 give `from` and `to` exactly. `parent` [joint_count]: -1 for roots; a
 * joint whose parent comes after it is interpolated like a root. `centre` [joint_count*3]: bind pose. `joints` may
 * not overlap the inputs. */
void sup_timestep_interpolate(int32_t joint_count, const int32_t *parent, const float *centre, const sup_mat34 *from,
                              const sup_mat34 *to, double t, sup_mat34 *joints);

/* Whether the animation cuts between two frames that are `dt` seconds apart: several joints rotate against their
 * parents faster than a body moves. `first`: `from` is the pose of a reset; motion capture often starts with one T-pose
 * frame. */
bool sup_timestep_is_cut(int32_t joint_count, const int32_t *parent, const float *centre, const sup_mat34 *from,
                         const sup_mat34 *to, double dt, bool first);

/* Whether the whole skeleton was teleported: every joint moved by more than half the character's size per step. The
 * simulation then restarts at rest. */
bool sup_timestep_teleported(int32_t joint_count, const sup_mat34 *previous, const sup_mat34 *now, int32_t steps,
                             float size);

#endif

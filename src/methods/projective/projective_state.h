/* projective_state.h (internal) - the state of one instance, and the functions that several stages of a step use. */
#ifndef SUP_METHODS_PROJECTIVE_PROJECTIVE_STATE_H
#define SUP_METHODS_PROJECTIVE_PROJECTIVE_STATE_H

#include "methods/projective/projective.h"
#include "methods/projective/projective_view.h"
#include "solver/rest_damping.h"

/* Offsets of the arrays in the state, in bytes. */
typedef struct sup_projective_offsets {
    /* sup_mat34 [joint_count]: of the previous frame, of this frame, of the last step, of this step, and the motions of
     * sup_projective_extrapolate */
    size_t joints[5];
    size_t skin[2];      /* float4 [skin_count]: last step, the one before */
    size_t extrapolated; /* float4 [skin_count] the skin of the last step, moved by the joints to the current pose */
    size_t window;       /* float4 [skin_count] at the start of a window of rest_damping_kernel.h */
    size_t force;        /* float3 [skin_count] of the velocity limits */
    size_t rigid[2];     /* int32 and float [skin_count]: rigid_vertex and rigid_weight of the view */
    size_t upsample, anchors, anchor_state, solver, detect, touch, touches, contacts, rest_damping, offset,
        segment_ends, linear, untangle, pinned, max_change, joint_scale, limits;
} sup_projective_offsets;

typedef struct sup_projective_state {
    sup_projective_view view;
    sup_projective_offsets at;
    float origin[3];                           /* of the simulation, in world space */
    double behind;                             /* seconds from the last step to the frame, in [0, step) */
    double energy;                             /* objective at the end of the last step */
    int32_t rest_steps;                        /* rest counter of rest_damping_kernel.h */
    sup_rest_damping rest_damping;             /* from SUP_REST_LIMIT_STEPS on */
    int32_t active_contacts;                   /* contacts that pushed in the last step */
    double values[SUP_PROJECTIVE_PARAM_COUNT]; /* parameters of the last frame */
    uint32_t collider_generation;              /* list of colliders of the last frame, 0 for none */
    int32_t touch_count;                       /* contacts with colliders in the last step */
    float limits_amount;                       /* of the shape limits, 0 to 1 */
    bool was_reset;                            /* no frame with a duration since the last reset */
    bool untangled;                            /* the render mesh of the last frame was untangled */
    bool has_paint;                            /* the state holds the live maps */
    int32_t rigid_count;                       /* of the view, kept by a reset */
} sup_projective_state;

static inline void *at(sup_projective_state *s, size_t offset)
{
    return (unsigned char *)s + offset;
}

/* Opens the view and sets the offsets: pointers and offsets are not part of a saved state. */
sup_result sup_projective_open_state(const sup_step_input *input, sup_projective_state *s);
/* Contacts at most: one of each skin vertex with the skin, one with a collider. */
int32_t sup_projective_max_contacts(const sup_projective_view *view);

/* projective_blend.c: linear blending of the simulated skin. `joints`: skinning matrices [joint_count]. */

/* Rest position of skin vertex v, moved to the pose. */
void sup_projective_blend_vertex(const sup_projective_view *view, const sup_mat34 *joints, int32_t v, float out[3]);
/* Any position, moved like skin vertex v. */
void sup_projective_blend_point(const sup_projective_view *view, const sup_mat34 *joints, int32_t v, const float *from,
                                float *to);
/* Anchors of the solver: skin vertices that follow linear blending, then the bases on bones. */
void sup_projective_evaluate_anchors(sup_projective_state *s, const sup_context *context, const sup_mat34 *joints);
/* skin[0]: the solver's skin, mixed with linear blending by the weights of the rigid regions. */
void sup_projective_read_skin(sup_projective_state *s, const sup_mat34 *joints);
/* The same after skin[0] became skin[1]. */
void sup_projective_next_skin(sup_projective_state *s, const sup_mat34 *joints);
/* The skin of the last step, moved by the joints from their position in it to `joints`, into `extrapolated`; the
 * motions of the joints, minus the identity, into joints[4]. */
void sup_projective_extrapolate(sup_projective_state *s, const sup_context *context, const sup_mat34 *joints);
/* Forces that limit the velocity of the skin relative to its bones [skin_count*3], NULL for none (velocity_limit.h).
 * After sup_projective_extrapolate to the end of the step. */
const float *sup_projective_limit_velocity(sup_projective_state *s, const sup_context *context, float damping);

/* projective_origin.c: floats are coarse far from the origin of the world. The simulation then has an origin near the
 * skeleton's root, and only the render mesh is moved back. */

/* Skinning matrices of the pose relative to the origin. */
void sup_projective_read_joints(sup_projective_state *s, const sup_pose *pose, sup_mat34 *joints);
/* Chooses the origin for the root's position; shift[3]: old origin minus new one. false: it did not change. */
bool sup_projective_choose_origin(sup_projective_state *s, const sup_pose *pose, float shift[3]);
/* The same, and moves the whole state with its momentum to the new origin. */
void sup_projective_follow_root(sup_projective_state *s, const sup_pose *pose);
/* Moves the vertices that are simulated from the simulation's origin to the world's. */
void sup_projective_move_to_world(const sup_projective_state *s, const sup_skin_out *out);

#endif

/* implicit.h - implicit skinning: the skin follows iso-surfaces of fields that the bones carry.
 *
 * Based on: [vaillant2014iso] Robust iso-surface tracking for interactive character skinning; without tracking, the
 * method of 2013 that it improves on.
 *
 *     bind   surface   the body's skin, decimated where it is very dense              skin/simulated_surface.c
 *            fields    parts, samples, Hermite RBFs, grids                            field_bind.c
 *            compose   operators, controllers, the tree                               composition_tree.c operators.c
 *            track     blocks, edges, the factor; each vertex's own value             track_bind.c
 *            shown     how the shown skin hangs on the tracked one                    implicit_render_mesh.c, src/upsample
 *     step   sub-frames of the skeleton -> fields -> carry, project, relax; then the shown skin
 *
 * Props, and everything where a pose leaves the range of numbers, come from linear blending, which is stacked below. */
#ifndef SUP_METHODS_IMPLICIT_IMPLICIT_H
#define SUP_METHODS_IMPLICIT_IMPLICIT_H

#include "methods/implicit/compose_bind.h"
#include "methods/implicit/implicit_render_mesh.h"
#include "methods/implicit/track.h"
#include "supple/method.h"

enum {
    SUP_IMPLICIT_VERTICES,
    SUP_IMPLICIT_GRID,
    SUP_IMPLICIT_TRACKING,
    SUP_IMPLICIT_SOLVER,
    SUP_IMPLICIT_ROUNDS,
    SUP_IMPLICIT_TOLERANCE,
    SUP_IMPLICIT_SUBSTEP,
    SUP_IMPLICIT_SMOOTH,
    SUP_IMPLICIT_ELASTIC,
    SUP_IMPLICIT_ROTATIONS,
    SUP_IMPLICIT_PARAM_COUNT
};

enum { SUP_IMPLICIT_MAP_NO_RELAX, SUP_IMPLICIT_MAP_COUNT };

extern const sup_method sup_method_implicit;
extern const sup_param sup_implicit_params[SUP_IMPLICIT_PARAM_COUNT];
extern const sup_map sup_implicit_maps[SUP_IMPLICIT_MAP_COUNT];

/* The arrays of a model as the step sees them. */
typedef struct sup_implicit_view {
    sup_compose compose;
    sup_track track;
    sup_shown shown;
    int32_t joint_count;
    const int32_t *joint_node;       /* [joint_count] */
    const int32_t *joint_parent;     /* [joint_count] before its children, -1 for roots */
    const float *joint_inverse_bind; /* [joint_count*12] */
    const float *joint_centre;       /* [joint_count*3] joint in the bind pose */
    double size;                     /* of the character, file units: the track's unit */
    double centre[3];                /* the track's origin in the bind pose, file units */
} sup_implicit_view;

sup_result sup_implicit_open(const sup_model *model, sup_implicit_view *view, sup_error *error);

/* Joints of a pose in the track's space whose origin is `origin`: bind to pose. */
sup_affine sup_implicit_place(const sup_implicit_view *view, sup_affine joint, const double origin[3]);
/* The same from the world space of the bind pose, as the fields want it: 12 floats. */
void sup_implicit_field_joint(const sup_implicit_view *view, sup_affine joint, const double origin[3], float to[12]);

/* The fields of a pose as a field of the track. */
typedef struct sup_implicit_field {
    const sup_compose *compose;
    const sup_posed_fields *posed;
} sup_implicit_field;
sup_track_field_fn sup_implicit_sample;

/* Stages of the method: implicit_bind.c, implicit_view.c and implicit_step.c. */
sup_result sup_implicit_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error);
sup_result sup_implicit_check(const sup_model *model, sup_error *error);
sup_result sup_implicit_layout(const sup_model *model, const sup_context *context, sup_layout *layout);
sup_result sup_implicit_reset(const sup_step_input *input, void *state);
sup_result sup_implicit_step(const sup_step_input *input, void *state, const sup_skin_out *out);
sup_result sup_implicit_restore(const sup_step_input *input, void *state);
void sup_implicit_look(const sup_model *model, void *state, const float *points, int32_t count, float *values);

/* For measuring and pictures: what the last step did, and the tracked skin. */
typedef struct sup_implicit_report {
    int32_t subframes, rounds, awake;
    int64_t evaluations;
    float moved;
} sup_implicit_report;
const sup_implicit_report *sup_implicit_report_of(const void *state);
/* How the tracked skin fits the fields of the last step: rows, those whose value is off by more than 1e-3 and that are on
 * no contact sheet, those on a sheet, those that feel no field. */
typedef struct sup_implicit_fit {
    int32_t rows, off, sheet, lost;
} sup_implicit_fit;
sup_implicit_fit sup_implicit_fit_of(void *state);

#endif

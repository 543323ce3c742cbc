/* implicit.h - implicit skinning: the skin follows iso-surfaces of scalar fields that move with the bones.
 *
 * Based on: [vaillant2014iso] Robust iso-surface tracking for interactive character skinning; without tracking, the
 * method of 2013 that it improves.
 *
 *     bind   surface   the body's skin, decimated where it is very dense              skin/simulated_surface.c
 *            fields    regions, samples, Hermite RBFs, grids                          field_bind.c
 *            compose   operators, controllers, the composition tree                   composition_tree.c operators.c
 *            track     clusters, edges, the factor; target value of each vertex       track_bind.c
 *            render    embedding of the render mesh in the tracked skin               implicit_render_mesh.c
 *     step   sub-frames of the skeleton -> fields -> rigid motion, projection, relaxation; then the render mesh
 *
 * Props, and all vertices if a pose leaves the range of floats, come from linear blend skinning, which runs first. */
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
    SUP_IMPLICIT_ITERATIONS,
    SUP_IMPLICIT_TOLERANCE,
    SUP_IMPLICIT_SUBSTEP,
    SUP_IMPLICIT_SMOOTH,
    SUP_IMPLICIT_ELASTIC,
    SUP_IMPLICIT_ROTATIONS,
    SUP_IMPLICIT_LOSS,
    SUP_IMPLICIT_PARAM_COUNT
};

enum { SUP_IMPLICIT_MAP_NO_RELAX, SUP_IMPLICIT_MAP_COUNT };

extern const sup_method sup_method_implicit;
extern const sup_param sup_implicit_params[SUP_IMPLICIT_PARAM_COUNT];
extern const sup_map sup_implicit_maps[SUP_IMPLICIT_MAP_COUNT];

/* The arrays of a model as the step reads them. */
typedef struct sup_implicit_view {
    sup_compose compose;
    sup_track track;
    sup_track_mesh mesh; /* of the track */
    sup_implicit_render_mesh render_mesh;
    int32_t joint_count;
    const int32_t *joint_node;       /* [joint_count] */
    const int32_t *joint_parent;     /* [joint_count] less than the joint's own index, -1 for roots */
    const float *joint_inverse_bind; /* [joint_count*12] */
    const float *joint_centre;       /* [joint_count*3] joint in the bind pose */
    double size;                     /* size of the character in file units: the unit of length of the track */
    double centre[3];                /* origin of the track in the bind pose, file units */
} sup_implicit_view;

sup_result sup_implicit_open(const sup_model *model, sup_implicit_view *view, sup_error *error);

/* Transform of a joint, bind pose to pose, in the track's space with the given origin. */
sup_affine sup_implicit_joint_transform(const sup_implicit_view *view, sup_affine joint, const double origin[3]);
/* The same from the world space of the bind pose, as the fields need it: 12 floats. */
void sup_implicit_field_joint(const sup_implicit_view *view, sup_affine joint, const double origin[3], float to[12]);

/* The fields of a pose as the field of a track. */
typedef struct sup_implicit_field {
    const sup_compose *compose;
    const sup_posed_fields *posed;
} sup_implicit_field;
sup_track_field_fn sup_implicit_sample;

/* Margin of each coarse vertex in [0, 1]: 0 beside other components, 1 away from them (layer_margin.c). */
sup_result sup_implicit_layer_margin(const sup_bind_input *input, const sup_simulated_surface *surface,
                                     sup_arena *arena, float *margin, sup_error *error);

/* Stages of the method: implicit_bind.c, implicit_view.c and implicit_step.c. */
sup_result sup_implicit_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error);
sup_result sup_implicit_check(const sup_model *model, sup_error *error);
sup_result sup_implicit_layout(const sup_model *model, const sup_context *context, sup_layout *layout);
sup_result sup_implicit_reset(const sup_step_input *input, void *state);
sup_result sup_implicit_step(const sup_step_input *input, void *state, const sup_skin_out *out);
sup_result sup_implicit_restore(const sup_step_input *input, void *state);
void sup_implicit_query_field(const sup_model *model, void *state, const float *points, int32_t count, float *values);

/* Profiling hooks: statistics of the last step. */
typedef struct sup_implicit_report {
    int32_t subframes, iterations, awake;
    int64_t evaluations;
    float moved;
} sup_implicit_report;
const sup_implicit_report *sup_implicit_report_of(const void *state);
/* How the tracked skin fits the fields of the last step: all tracked vertices; those whose value differs from their
 * target by more than 1e-3 and that are not on a contact surface; those on a contact surface; those without a field. */
typedef struct sup_implicit_fit {
    int32_t vertices, off_target, in_contact, without_field;
} sup_implicit_fit;
sup_implicit_fit sup_implicit_fit_of(void *state);

#endif

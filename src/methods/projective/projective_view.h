/* projective_view.h (internal) - pointers to the arrays of a projective model. */
#ifndef SUP_METHODS_PROJECTIVE_PROJECTIVE_VIEW_H
#define SUP_METHODS_PROJECTIVE_PROJECTIVE_VIEW_H

#include "tissue/anchors.h"
#include "contact/detect.h"
#include "limits/shape_limits.h"
#include "untangle/untangle.h"
#include "solver/system.h"
#include "skin/skin.h"
#include "skin/simulated_surface.h"
#include "upsample/upsample.h"

/* Array names in the model. */
#define SUP_PROJECTIVE_ANCHORS "anchor"
#define SUP_PROJECTIVE_SYSTEM "system"
#define SUP_PROJECTIVE_UPSAMPLE "up"
#define SUP_PROJECTIVE_JOINT_NODE "projective.node"
#define SUP_PROJECTIVE_JOINT_INVERSE "projective.inverse"
#define SUP_PROJECTIVE_JOINT_PARENT "projective.parent"
#define SUP_PROJECTIVE_JOINT_CENTRE "projective.centre"
#define SUP_PROJECTIVE_SCALE "projective.scale"
#define SUP_PROJECTIVE_START_JOINT "projective.startjoint"
#define SUP_PROJECTIVE_START_WEIGHT "projective.startweight"
#define SUP_PROJECTIVE_START_REST "projective.startrest"
#define SUP_PROJECTIVE_FIXED "projective.fixed"
#define SUP_PROJECTIVE_RIGID_VERTEX "projective.rigid"
#define SUP_PROJECTIVE_RIGID_WEIGHT "projective.rigid_weight"
#define SUP_PROJECTIVE_RIGID_UNPAINTED "projective.rigid_unpainted"
#define SUP_PROJECTIVE_PAINT_VERTEX "projective.paintvertex"
#define SUP_PROJECTIVE_VELOCITY_LIMIT_VERTEX "projective.limit_vertex"
#define SUP_PROJECTIVE_VELOCITY_LIMIT_LENGTH "projective.limit_length"

enum { SUP_PROJECTIVE_INFLUENCES = 4 };

/* [komaritzan2022] section 3.3: strain weight 85, time step 0.2; the mass is that of the authors' program. */
#define SUP_PROJECTIVE_TISSUE_STIFFNESS 85.0
#define SUP_PROJECTIVE_TOTAL_MASS 4000.0
#define SUP_PROJECTIVE_TIME_STEP 0.2
/* Seconds of one time step. */
#define SUP_PROJECTIVE_SECONDS (1.0 / 60.0)

typedef struct sup_projective_view {
    sup_anchors anchors;
    sup_system system;
    sup_detect detect;
    sup_upsample upsample;
    sup_untangle_view untangle;
    sup_shape_limits limits;
    int32_t joint_count;
    const int32_t *joint_node;       /* [joint_count] */
    const float *joint_inverse_bind; /* [joint_count*12] */
    const int32_t *joint_parent;     /* [joint_count] parents before children, -1 for roots */
    const float *joint_centre;       /* [joint_count*3] bind pose, world space */
    /* Linear blending of the simulated skin: start of the solver after a reset. */
    const int32_t *start_joint; /* [skin_count*SUP_PROJECTIVE_INFLUENCES] */
    const float *start_weight;  /* same size; the weights of a vertex sum to 1 */
    const float *start_rest;    /* [skin_count*3] bind pose */
    /* Skin that follows linear blending: anchored in the solver (first in the list of anchors), or blended by a
     * weight. */
    int32_t fixed_count, rigid_count;
    const int32_t *fixed;        /* [fixed_count] skin vertex, ascending */
    const int32_t *rigid_vertex; /* [rigid_count]; an instance has its own copy */
    const float *rigid_weight;   /* [rigid_count] of linear blending, in (0, 1] */
    const int32_t *paint_vertex; /* [skin_count] render vertex whose painted values it takes */
    /* Skin vertices with a velocity limit relative to linear blending (velocity_limit.h). */
    int32_t velocity_limit_count;
    const int32_t *velocity_limit_vertex; /* [velocity_limit_count] skin vertex */
    const float *velocity_limit_length;   /* [velocity_limit_count] file units per step */
    float size;                           /* of the character, file units */
    float unit_metres;                    /* 0 when unknown */
} sup_projective_view;

/* Makes layers of tissue under the simulated skin, allocated from `arena`: method "anatomy". */
typedef sup_result sup_projective_layers(const sup_bind_input *input, const sup_simulated_surface *surface,
                                         sup_arena *arena, sup_tissue_layers *layers, sup_error *error);
sup_result sup_projective_bind_layered(const sup_bind_input *input, sup_projective_layers *make_layers,
                                       sup_model_builder *builder, sup_error *error);

/* Calls `use` with the system definition of a bind with that input: for the reference solver, which is independent of
 * the model. */
typedef sup_result sup_projective_use(void *user, const sup_system_def *def, sup_error *error);
sup_result sup_projective_with_system(const sup_bind_input *input, sup_projective_use *use, void *user,
                                      sup_error *error);

/* Checks all arrays: the model may come from a file. */
sup_result sup_projective_open(const sup_model *model, sup_projective_view *view, sup_error *error);

#endif

/* projective_view.h (internal) - the arrays of a projective model as the step sees them. */
#ifndef SUP_METHODS_PROJECTIVE_PROJECTIVE_VIEW_H
#define SUP_METHODS_PROJECTIVE_PROJECTIVE_VIEW_H

#include "tissue/anchors.h"
#include "contact/detect.h"
#include "untangle/untangle.h"
#include "solver/system.h"
#include "skin/skin.h"
#include "skin/simulated_surface.h"
#include "upsample/upsample.h"

/* Names in the model's block. */
#define SUP_PROJECTIVE_ANCHORS "anchor"
#define SUP_PROJECTIVE_SYSTEM "system"
#define SUP_PROJECTIVE_UPSAMPLE "up"
#define SUP_PROJECTIVE_JOINT_NODE "projective.node"
#define SUP_PROJECTIVE_JOINT_INVERSE "projective.inverse"
#define SUP_PROJECTIVE_SCALE "projective.scale"
#define SUP_PROJECTIVE_START_JOINT "projective.startjoint"
#define SUP_PROJECTIVE_START_WEIGHT "projective.startweight"
#define SUP_PROJECTIVE_START_REST "projective.startrest"
#define SUP_PROJECTIVE_FIXED "projective.fixed"
#define SUP_PROJECTIVE_RIGID_VERTEX "projective.rigid"
#define SUP_PROJECTIVE_RIGID_WEIGHT "projective.rigid_weight"
#define SUP_PROJECTIVE_PAINT_VERTEX "projective.paintvertex"
#define SUP_PROJECTIVE_VELOCITY_LIMIT_VERTEX "projective.limit_vertex"
#define SUP_PROJECTIVE_VELOCITY_LIMIT_LENGTH "projective.limit_length"

enum { SUP_PROJECTIVE_INFLUENCES = 4 };

/* [komaritzan2022] section 3.3: strain weight 85, time step 0.2; the mass is the authors' program's. */
#define SUP_PROJECTIVE_TISSUE_STIFFNESS 85.0
#define SUP_PROJECTIVE_TOTAL_MASS 4000.0
#define SUP_PROJECTIVE_TIME_STEP 0.2
/* Seconds that one time step stands for. */
#define SUP_PROJECTIVE_SECONDS (1.0 / 60.0)

typedef struct sup_projective_view {
    sup_anchors anchors;
    sup_system system;
    sup_detect detect;
    sup_upsample upsample;
    sup_untangle_view untangle;
    int32_t joint_count;
    const int32_t *joint_node;       /* [joint_count] */
    const float *joint_inverse_bind; /* [joint_count*12] */
    /* Linear blending of the simulated skin: where the solver starts after a reset. */
    const int32_t *start_joint; /* [skin_count*SUP_PROJECTIVE_INFLUENCES] */
    const float *start_weight;  /* the same count; rows sum to 1 */
    const float *start_rest;    /* [skin_count*3] bind pose */
    /* Skin that follows linear blending: what the solver is given, before the anchors, and what is shown by degrees. */
    int32_t fixed_count, rigid_count;
    const int32_t *fixed;        /* [fixed_count] skin vertex, rising */
    const int32_t *rigid_vertex; /* [rigid_count]; an instance has its own */
    const float *rigid_weight;    /* [rigid_count] of linear blending, in (0, 1] */
    const int32_t *paint_vertex; /* [skin_count] shown vertex whose paint counts for it */
    /* Flesh with a velocity limit, and the most that its momentum may take it away from linear blending in one step (projective_step.c). */
    int32_t velocity_limit_count;
    const int32_t *velocity_limit_vertex; /* [velocity_limit_count] skin vertex */
    const float *velocity_limit_length;   /* [velocity_limit_count] file units */
    float size;                  /* of the character, file units */
    float unit_metres;           /* 0 when unknown */
} sup_projective_view;

/* Layers of flesh under the simulated skin, in memory of `arena`: what makes method "anatomy" of this one. */
typedef sup_result sup_projective_layers(const sup_bind_input *input, const sup_simulated_surface *surface,
                                         sup_arena *arena, sup_tissue_layers *layers, sup_error *error);
sup_result sup_projective_bind_layered(const sup_bind_input *input, sup_projective_layers *make_layers,
                                       sup_model_builder *builder, sup_error *error);

/* Calls `use` with what a bind with that input makes a system of (projective_bind.c): for the solver's reference, which
 * shares nothing with the model. */
typedef sup_result sup_projective_use(void *user, const sup_system_def *def, sup_error *error);
sup_result sup_projective_with_system(const sup_bind_input *input, sup_projective_use *use, void *user,
                                      sup_error *error);

/* Checks everything: the model may come from a file. */
sup_result sup_projective_open(const sup_model *model, sup_projective_view *view, sup_error *error);

#endif

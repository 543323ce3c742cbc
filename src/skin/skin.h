/* skin.h (internal) - what the classic skinning methods share: the vertices of a rig laid out for vector lanes.
 *
 * The render vertices are cut into windows of SUP_SKIN_WINDOW, the pieces of parallel work: each writes its own
 * stretch of the output. Inside a window vertices are sorted into blocks of SUP_SKIN_CLUSTER that are moved by the same
 * few joints. The matrix of a joint is then loaded once for 16 vertices and multiplied with 16 weights at a time,
 * instead of being gathered per vertex; where neighbours have nothing in common a block keeps a list of joints per
 * lane instead. All arrays are read from first to last. Lanes left over in a block repeat its last vertex. */
#ifndef SUP_SKIN_SKIN_H
#define SUP_SKIN_SKIN_H

#include "base/base.h"
#include "math/affine.h"
#include "supple/model.h"

enum {
    SUP_SKIN_CLUSTER = 16,    /* vertices a block */
    SUP_SKIN_WINDOW = 4096, /* vertices a window */
    SUP_SKIN_SHARED = 16,   /* joints at most in a block whose lanes share them */
    SUP_SKIN_CHANNEL = 3 * SUP_SKIN_CLUSTER
};
/* Numbers beyond this are refused: their products would leave the range of float. */
#define SUP_SKIN_LIMIT 1e18f

/* Morph targets in the order of the blocks: entry e adds weight * position[e] to lane slot[e]. */
typedef struct sup_skin_morphs {
    int32_t count;         /* targets that move something */
    const int32_t *weight; /* [count] index into sup_pose.morph_weights */
    const float *extent;   /* [count] largest offset */
    const int32_t *first;  /* [window_count*count + 1] entries of target m in window w: w*count + m */
    const int32_t *slot;   /* [entry] block*16 + lane */
    const float *offsets;  /* [entry*6] position and normal offset, bind space */
} sup_skin_morphs;

/* The arrays of a model, all of them in the block of the model. */
typedef struct sup_skin_model {
    int32_t vertex_count, window_count, block_count, joint_count;
    const int32_t *joint_node;       /* [joint_count] */
    const float *joint_inverse_bind; /* [joint_count*12] world -> joint */
    const float *joint_centre;       /* [joint_count*3] joint in the bind pose */
    float extent;                    /* largest coordinate of a bind position */
    const int32_t *window_first;     /* [window_count+1] blocks of a window */
    const int32_t *joint_first;      /* [block_count+1] */
    const int32_t *weight_first;     /* [block_count+1] multiples of 16: a block has (difference / 16) slots */
    const uint16_t *joints;          /* slots of them a block when shared, else slots*16, lane by lane in each slot */
    const float *weights;            /* slots*16 a block: weight of a slot in each lane */
    const unsigned char *strongest;  /* [block_count*16] slot of the largest weight; 0 in blocks that do not share */
    const uint16_t *vertex;          /* [block_count*16] vertex within its window */
    const float *positions;          /* [block_count*48] 16 x, 16 y, 16 z a block; bind pose */
    const float *normals;            /* [block_count*48] */
    const float *tangents;           /* [block_count*64] 16 x, y, z, w a block; NULL without tangents */
    sup_skin_morphs morphs;
} sup_skin_model;

/* The methods' bind, check and view of a model. */
sup_result sup_skin_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error);
sup_result sup_skin_check(const sup_model *model, sup_error *error);
sup_skin_model sup_skin_open(const sup_model *model); /* of a model that passed the check */

/* world(joint) * inverse bind. */
sup_affine sup_skin_joint(const sup_skin_model *skin, const sup_pose *pose, int32_t joint);
/* SUP_ERROR_DATA when `largest`, the largest number in the joints' matrices, or what it makes of some vertex or of a
 * coordinate as large as `reach`, is beyond the range of float arithmetic. */
sup_result sup_skin_range(const sup_skin_model *skin, const sup_pose *pose, double largest, double reach);

/* Bind positions and normals of a window with the pose's morph targets added. Arrays are those of the model where no
 * target is active, else `scratch` [sup_skin_morph_scratch] is filled. Index both by block - window_first[window]. */
typedef struct sup_skin_base {
    const float *positions, *normals; /* [blocks of the window * 48] */
} sup_skin_base;
size_t sup_skin_morph_scratch(const sup_skin_model *skin); /* bytes a worker, a multiple of 64; 0 without morphs */
sup_skin_base sup_skin_morph(const sup_skin_model *skin, const float *morph_weights, int32_t window, float *scratch);

/* Directions that a kernel found too short or too long for float arithmetic: exact, in double, always unit length.
 * `matrix` is the blended linear map (rows); `normal` and `tangent` are those of the bind pose. */
void sup_skin_repair_normal(const float matrix[9], const float normal[3], float out[3]);
void sup_skin_repair_tangent(const float matrix[9], const float normal[3], const float tangent[3], float out[3]);

/* One window of one step, as the kernels see it. */
typedef struct sup_skin_window {
    const sup_skin_model *skin;
    const void *joints; /* of the pose, in the method's own form */
    sup_skin_base base;
    int32_t window;
    bool rigid;       /* strongest influence only */
    sup_skin_out out; /* strides set */
} sup_skin_window;

/* Skins one window. Each method has one kernel for each instruction set; avx2 and avx512 exist on x86 only. */
typedef void sup_skin_kernel(const sup_skin_window *work);
typedef struct sup_skin_kernels {
    sup_skin_kernel *base, *avx2, *avx512;
} sup_skin_kernels;
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
#define SUP_SKIN_KERNELS(name)                  \
    {                                           \
        name##_base, name##_avx2, name##_avx512 \
    }
#else
#define SUP_SKIN_KERNELS(name)                \
    {                                         \
        name##_base, name##_base, name##_base \
    }
#endif

/* State of a static skinning method: joint_bytes for the joints of the current pose, a multiple of 64, then scratch. */
size_t sup_skin_state_size(const sup_skin_model *skin, const sup_context *context, size_t joint_bytes);
/* All windows in parallel with the kernel for `lanes` lanes. `common` has skin, joints, rigid and out. */
void sup_skin_run(const sup_step_input *input, const sup_skin_window *common, const sup_skin_kernels *kernels,
                  int32_t lanes, void *scratch);
sup_result sup_skin_reset(const sup_step_input *input, void *state); /* nothing to do */

/* The parameters of the classic methods. */
enum { SUP_SKIN_RIGID, SUP_SKIN_PARAM_COUNT };
extern const sup_param sup_skin_params[SUP_SKIN_PARAM_COUNT];

#endif

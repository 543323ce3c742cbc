/* skin.h (internal) - shared by the methods that blend joints: the vertices of a rig in a layout for SIMD lanes.
 *
 * The render vertices are split into windows of SUP_SKIN_WINDOW, the units of parallel work: each window writes its
 * own range of the output. Inside a window vertices are sorted into clusters of SUP_SKIN_CLUSTER that share a few
 * joints. The matrix of a joint is then loaded once for 16 vertices and multiplied with 16 weights at a time, instead
 * of being gathered per vertex; where the vertices of a cluster have too few joints in common, the cluster has a list
 * of joints per lane. All arrays are read sequentially. Unused lanes of a cluster repeat its last vertex. */
#ifndef SUP_SKIN_SKIN_H
#define SUP_SKIN_SKIN_H

#include "base/base.h"
#include "math/affine.h"
#include "supple/model.h"

enum {
    SUP_SKIN_CLUSTER = 16,  /* vertices per cluster */
    SUP_SKIN_WINDOW = 4096, /* vertices per window */
    SUP_SKIN_SHARED = 16,   /* maximum number of joints in a cluster with shared joints */
    SUP_SKIN_CHANNEL = 3 * SUP_SKIN_CLUSTER,
    SUP_SKIN_MOST_CHANNELS = 16 /* of sup_skin_values */
};
/* Larger numbers are rejected: their products would exceed the range of float. */
#define SUP_SKIN_LIMIT 1e18f

/* Morph targets in the order of the clusters: entry e adds weight * offsets[e] to lane slot[e]. */
typedef struct sup_skin_morphs {
    int32_t count;         /* targets */
    const int32_t *weight; /* [count] index into sup_pose.morph_weights */
    const float *extent;   /* [count] largest offset */
    const int32_t *first;  /* [window_count*count + 1] entries of target m in window w: w*count + m */
    const int32_t *slot;   /* [entry] cluster*16 + lane */
    const float *offsets;  /* [entry*6] position and normal offset, bind space */
} sup_skin_morphs;

/* View of the arrays of a model; they lie in the memory block of the model. */
typedef struct sup_skin_model {
    int32_t vertex_count, window_count, cluster_count, joint_count;
    const int32_t *joint_node;       /* [joint_count] */
    const float *joint_inverse_bind; /* [joint_count*12] world -> joint */
    const float *joint_centre;       /* [joint_count*3] joint in the bind pose */
    float extent;                    /* largest coordinate of a bind position */
    const int32_t *window_first;     /* [window_count+1] first cluster of a window */
    const int32_t *joint_first;      /* [cluster_count+1] */
    const int32_t *weight_first;     /* [cluster_count+1] multiples of 16: a cluster has (difference / 16) slots */
    const uint16_t *joints;          /* per cluster: [slots] when shared, else [slots*16], 16 lanes per slot */
    const float *weights;            /* per cluster: [slots*16], weight of a slot in each lane */
    const unsigned char
        *strongest;         /* [cluster_count*16] slot of the largest weight; 0 in clusters without shared joints */
    const uint16_t *vertex; /* [cluster_count*16] vertex, relative to its window */
    const float *positions; /* [cluster_count*48] 16 x, 16 y, 16 z per cluster; bind pose */
    const float *normals;   /* [cluster_count*48] */
    const float *tangents;  /* [cluster_count*64] 16 x, y, z, w per cluster; NULL without tangents */
    sup_skin_morphs morphs;
} sup_skin_model;

/* Numbers that a method adds to the lanes of a model: an array `name` of `channels` floats per lane, or per slot and
 * lane, channel by channel: [cluster][channel][16], or [cluster][slot][channel][16]. `fill` writes the channels of one
 * render vertex; `joint` is the joint of the slot, -1 without slots. Slots of joints that do not influence a vertex
 * are zero. */
typedef struct sup_skin_values {
    const char *name;
    int32_t channels;
    bool per_slot;
    void (*fill)(const void *data, int32_t vertex, int32_t joint, float *channels);
    const void *data;
} sup_skin_values;

/* Bind, check and view of a model. `values` [value_count] are the arrays of the method. */
sup_result sup_skin_bind_values(const sup_bind_input *input, const sup_skin_values *values, int32_t value_count,
                                sup_model_builder *builder, sup_error *error);
sup_result sup_skin_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error);
sup_result sup_skin_check(const sup_model *model, sup_error *error);
/* The same for one array of sup_skin_values, of a model that passed sup_skin_check: all numbers are within +-limit. */
sup_result sup_skin_check_values(const sup_model *model, const char *name, int32_t channels, bool per_slot, float limit,
                                 sup_error *error);
sup_skin_model sup_skin_open(const sup_model *model); /* the model must have passed sup_skin_check */

/* world(joint) * inverse bind. */
sup_affine sup_skin_joint(const sup_skin_model *skin, const sup_pose *pose, int32_t joint);
/* The joint as D S: S [3x4] stretches about the point c, D is the rigid motion with `rotation` and D c = joint c.
 * Returns whether S is more than rounding noise. */
bool sup_skin_split_joint(sup_affine joint, sup_vec3d c, sup_quatd *rotation, float stretch[12]);
/* SUP_ERROR_DATA when `largest`, the largest entry of the joint matrices, or its product with a vertex or with a
 * coordinate of size `reach`, exceeds the range of float arithmetic. */
sup_result sup_skin_range(const sup_skin_model *skin, const sup_pose *pose, double largest, double reach);

/* Bind positions and normals of a window with the morph targets of the pose added. Points to the arrays of the model
 * when no target is active, else to `scratch` [sup_skin_morph_scratch]. Indexed by cluster - window_first[window]. */
typedef struct sup_skin_base {
    const float *positions, *normals; /* [clusters of the window * 48] */
} sup_skin_base;
size_t sup_skin_morph_scratch(const sup_skin_model *skin); /* bytes per worker, a multiple of 64; 0 without morphs */
sup_skin_base sup_skin_morph(const sup_skin_model *skin, const float *morph_weights, int32_t window, float *scratch);

/* Directions that are too short or too long for float arithmetic, recomputed in double; always unit length.
 * `matrix` is the blended linear map, row-major; `normal` and `tangent` are those of the bind pose. */
void sup_skin_repair_normal(const float matrix[9], const float normal[3], float out[3]);
void sup_skin_repair_tangent(const float matrix[9], const float normal[3], const float tangent[3], float out[3]);

/* Input of a kernel: one window of one step. */
typedef struct sup_skin_window {
    const sup_skin_model *skin;
    const void *joints; /* of the pose, in a form that the method defines */
    sup_skin_base base;
    int32_t window;
    bool rigid;       /* use only the strongest influence of a vertex */
    sup_skin_out out; /* strides set */
} sup_skin_window;

/* Skins one window. Each method has one kernel per instruction set; avx2 and avx512 exist on x86 only. */
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

/* State size in bytes: `joint_bytes` for the joints of the current pose, a multiple of 64, then scratch. */
size_t sup_skin_state_size(const sup_skin_model *skin, const sup_context *context, size_t joint_bytes);
/* Runs all windows in parallel with the kernel for `lanes` lanes. `common` has skin, joints, rigid and out set. */
void sup_skin_run(const sup_step_input *input, const sup_skin_window *common, const sup_skin_kernels *kernels,
                  int32_t lanes, void *scratch);
sup_result sup_skin_reset(const sup_step_input *input, void *state); /* does nothing: these methods have no history */

/* Parameters of methods without others. */
enum { SUP_SKIN_RIGID, SUP_SKIN_PARAM_COUNT };
extern const sup_param sup_skin_params[SUP_SKIN_PARAM_COUNT];

#endif

/* skin_step.c - the step of the linear and dualquat methods: per window, in parallel, morph targets and then a
 * kernel. */
#include "skin/skin.h"

const sup_param sup_skin_params[SUP_SKIN_PARAM_COUNT] = {
    {"rigid", "", SUP_PARAM_BOOL, 0.0, 1.0, 0.0, NULL, true,
     "Move each vertex only with the joint of its largest weight."},
};

size_t sup_skin_state_size(const sup_skin_model *skin, const sup_context *context, size_t joint_bytes)
{
    return joint_bytes + sup_skin_morph_scratch(skin) * (size_t)context->tasks.worker_count;
}

sup_result sup_skin_reset(const sup_step_input *input, void *state)
{
    SUP_UNUSED(input);
    SUP_UNUSED(state);
    return SUP_OK;
}

typedef struct skin_work {
    const sup_skin_window *common;
    const float *morph_weights;
    sup_skin_kernel *kernel;
    unsigned char *scratch;
    size_t scratch_size; /* bytes per worker */
} skin_work;

static void run_windows(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const skin_work *work = data;
    void *scratch = work->scratch + work->scratch_size * (size_t)worker;
    sup_skin_window item = *work->common;
    for (item.window = begin; item.window < end; item.window++) {
        item.base = sup_skin_morph(item.skin, work->morph_weights, item.window, scratch);
        work->kernel(&item);
    }
}

void sup_skin_run(const sup_step_input *input, const sup_skin_window *common, const sup_skin_kernels *kernels,
                  int32_t lanes, void *scratch)
{
    skin_work work = {common, input->pose->morph_weights, kernels->base, scratch, sup_skin_morph_scratch(common->skin)};
    if (lanes == 16) work.kernel = kernels->avx512;
    if (lanes == 8) work.kernel = kernels->avx2;
    sup_parallel(input->context, common->skin->window_count, 1, run_windows, &work);
}

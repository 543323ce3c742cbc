/* fuzz_model.c - sup_model_load on any bytes; an accepted model must support an instance and a step.
 *
 * The checksum is corrected first: otherwise it would reject nearly all inputs. */
#include "bind/model.h"
#include "supple/deform.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void step_model(const sup_model *model)
{
    sup_instance *instance = NULL;
    if (sup_instance_create(NULL, model, NULL, &instance, NULL) != SUP_OK) return;
    size_t vertices = (size_t)sup_model_vertex_count(model), nodes = (size_t)sup_model_node_count(model);
    size_t weights = (size_t)sup_model_morph_weight_count(model);
    float *out = calloc(vertices * 10 + 1, sizeof *out);
    sup_pose pose = {(int32_t)nodes, calloc(nodes + 1, sizeof(sup_mat34)), (int32_t)weights,
                     calloc(weights + 1, sizeof(float))};
    if (out != NULL && pose.world != NULL && pose.morph_weights != NULL) {
        for (size_t i = 0; i < nodes * 12; i++)
            pose.world[i / 12].m[i % 12] = (float)((i * 37) % 11) - 5.0f;
        for (size_t i = 0; i < weights; i++)
            pose.morph_weights[i] = 0.5f;
        sup_skin_out skin = {out, 0, out + vertices * 3, 0, NULL, 0};
        bool ok = sup_instance_step(instance, &pose, 0.1f, &skin) == SUP_OK;
        for (size_t i = 0; i < vertices * 6 && ok; i++)
            if (!isfinite(out[i])) abort();
    }
    free(out);
    free(pose.world);
    free(pose.morph_weights);
    sup_instance_destroy(instance);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *block = malloc(size + 1);
    if (block == NULL) return 0;
    if (size > 0) memcpy(block, data, size);
    if (size >= sizeof(sup_model_header)) {
        sup_model_header header;
        memcpy(&header, block, sizeof header);
        header.size = size;
        memcpy(block, &header, sizeof header);
        header.checksum = sup_model_checksum(block, size);
        memcpy(block, &header, sizeof header);
    }
    sup_model *model = NULL;
    if (sup_model_load(NULL, (sup_bytes){block, size}, &model, NULL) == SUP_OK) step_model(model);
    sup_model_destroy(model);
    free(block);
    return 0;
}

/* test_part.c - parting on the device (src/cuda/part.cu) against the CPU's (part_skin.c): the same skin in, the same skin out. */
#include "cuda/crowd.h"
#include "projective/actor.h"

#ifdef SUPPLE_EMULATED
#include "emulator.h"
#endif

/* Skins that cross, and what both make of them. */
typedef struct stage {
    actor a;
    sup_projective_view view;
    sup_device *device;
    sup_crowd *crowd;
    int32_t count; /* of characters */
    unsigned char *near, *held;
    float *offset; /* the CPU's */
    void *scratch;
    float *skin, *cpu, *gpu; /* [vertex_count*3] as it comes, and parted */
    size_t n;
} stage;

static stage open_stage(const char *scene, double resolution, const char *settings, int32_t count)
{
    stage s = {.count = count};
    sup_error error = {0};
    sup_result result = sup_device_cuda_create(NULL, 0, &s.device, &error);
    if (result == SUP_ERROR_UNSUPPORTED) SKIP("no GPU");
    CHECK_OK(result, error);
    s.a = actor_open(actor_scene(scene, resolution), settings, 1);
    CHECK_OK(sup_projective_open(s.a.model, &s.view, &error), error);
    CHECK(s.view.part.triangle_count > 0);
    CHECK_OK(sup_crowd_create(s.device, s.a.model, &(sup_crowd_def){.instance_count = count}, &s.crowd, &error), error);
    CHECK_OK(sup_instance_set(s.a.instance, "contact", 0.0, &error), error);
    size_t scratch = sup_part_scratch(&s.view.part);
    s.n = 3 * (size_t)sup_model_vertex_count(s.a.model);
    s.near = calloc((size_t)s.view.part.coarse_count, 1);
    s.held = calloc((size_t)s.view.part.coarse_count, 1);
    memset(s.near, 1, (size_t)s.view.part.coarse_count);
    s.offset = calloc(3 * (size_t)s.view.part.vertex_count, sizeof(float));
    s.scratch = aligned_alloc(64, scratch);
    s.skin = calloc(s.n, sizeof(float)), s.cpu = calloc(s.n, sizeof(float)), s.gpu = calloc(s.n, sizeof(float));
    return s;
}

static void close_stage(stage *s)
{
    sup_crowd_destroy(s->crowd);
    sup_device_destroy(s->device);
    actor_close(&s->a);
    free(s->near), free(s->held), free(s->offset), free(s->scratch);
    free(s->skin), free(s->cpu), free(s->gpu);
}

/* The skin of a moment of a clip, nothing in its way. */
static void pose_stage(stage *s, const char *clip, double time)
{
    actor_sample(&s->a, clip, time);
    CHECK_EQ(sup_instance_reset(s->a.instance, s->a.pose), SUP_OK);
    CHECK_EQ(sup_instance_step(s->a.instance, s->a.pose, 0.0f, &(sup_skin_out){.positions = s->skin}), SUP_OK);
}

static void part_on_cpu(stage *s, float keep, bool look)
{
    sup_context context = sup_context_resolve(NULL);
    sup_part_def def = {.near = s->near,
                        .held = s->held,
                        .rest = s->view.start_rest,
                        .gap = s->view.detect.gap,
                        .offset = s->offset,
                        .keep = keep,
                        .look = look};
    memcpy(s->cpu, s->skin, s->n * sizeof(float));
    sup_part_skin(&context, &s->view.part, &def, s->scratch, &(sup_skin_out){.positions = s->cpu});
}

/* The last character of the crowd; all have the same skin. */
static void part_on_device(stage *s, float keep, bool look)
{
    sup_crowd *c = s->crowd;
    for (int32_t i = 0; i < s->count; i++) {
        sup_gpu_progress progress;
        CHECK_EQ(sup_cuda_copy(&progress, c->state.progress + i, sizeof progress), 0);
        progress.asleep = !look;
        CHECK_EQ(sup_cuda_copy(c->state.progress + i, &progress, sizeof progress), 0);
        CHECK_EQ(sup_cuda_copy((char *)c->out.positions + (size_t)i * c->out.instance_stride[0], s->skin,
                               s->n * sizeof(float)),
                 0);
        CHECK_EQ(sup_cuda_copy(c->state.near + (size_t)i * (size_t)s->view.part.coarse_count, s->near,
                               (size_t)s->view.part.coarse_count),
                 0);
    }
    CHECK_EQ(sup_cuda_copy(c->device_keep, &keep, sizeof keep), 0);
    CHECK_EQ(sup_gpu_part_step(&c->part, &c->state, &c->out, s->device->stream), 0);
    CHECK_EQ(sup_cuda_wait(s->device->stream), 0);
    CHECK_EQ(sup_cuda_copy(s->gpu, (char *)c->out.positions + (size_t)(s->count - 1) * c->out.instance_stride[0],
                           s->n * sizeof(float)),
             0);
}

/* Both are parted; how far they are apart, and how far the skin was moved, in sizes. */
static void compare_parted(stage *s, const char *what, float keep, bool look)
{
    double farthest = 0.0, moved = 0.0, size = (double)s->view.size;
    int32_t off = 0, some = 0;
    part_on_cpu(s, keep, look);
    part_on_device(s, keep, look);
    for (size_t k = 0; k < s->n; k++) {
        double apart = fabs((double)s->cpu[k] - (double)s->gpu[k]) / size;
        double way = fabs((double)s->cpu[k] - (double)s->skin[k]) / size;
        farthest = fmax(farthest, apart);
        moved = fmax(moved, way);
        off += apart > 1e-6;
        some += way > 1e-6;
    }
    printf("    %s: %.2g apart, %d of %d numbers by more than 1e-6; moved by %.2g, %d numbers\n", what, farthest,
           (int)off, (int)s->n, moved, (int)some);
}

TEST(skin_that_crosses_is_parted_as_on_the_cpu)
{
    stage s = open_stage("human", 0.3, "vertices=1200", 1);
    static const char *const clips[]={"squat","arms_crossed","bend","show"};
    for (int c=0;c<4;c++) for (double t=0.5;t<3.0;t+=0.5) { char text[64]; snprintf(text,64,"%s %g",clips[c],t);
    pose_stage(&s, clips[c], t);
    compare_parted(&s, text, 0.9f, true);}
    close_stage(&s);
}

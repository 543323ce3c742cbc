/* test_untangle.c - untangling on the device (src/cuda/untangle.cu) against the CPU (untangle.c): the same results
 * for the same skin. */
#include "cuda/crowd.h"
#include "projective/actor.h"

#ifdef SUPPLE_EMULATED
#include "emulator.h"
#endif

/* A skin that crosses itself, and the results of both. */
typedef struct stage {
    actor a;
    sup_projective_view view;
    sup_device *device;
    sup_crowd *crowd;
    int32_t count;               /* of characters */
    unsigned char *near, *fixed; /* fixed: as by a collider */
    int32_t *touched;            /* on the device, of all characters: -1 where nothing is fixed */
    float *offset;               /* the CPU's */
    void *scratch;
    float *skin, *cpu, *gpu; /* [vertex_count*3] before, and after untangling */
    size_t n;
} stage;

static void send_commands(const stage *s)
{
    const sup_crowd *c = s->crowd;
    CHECK_EQ(sup_cuda_copy(c->device_commands, c->commands, (size_t)c->count * sizeof *c->commands), 0);
}

static stage open_stage(const char *scene, double resolution, const char *settings, int32_t count)
{
    stage s = {.count = count};
    sup_error error = {0};
    sup_result result = sup_device_cuda_create(NULL, 0, &s.device, &error);
    if (result == SUP_ERROR_UNSUPPORTED) SKIP("no GPU");
    CHECK_OK(result, error);
    s.a = actor_open(actor_scene(scene, resolution), settings, 1);
    CHECK_OK(sup_projective_open(s.a.model, &s.view, &error), error);
    CHECK(s.view.untangle.triangle_count > 0);
    CHECK_OK(sup_crowd_create(s.device, s.a.model, &(sup_crowd_def){.instance_count = count}, &s.crowd, &error), error);
    CHECK_OK(sup_crowd_set(s.crowd, -1, "contact", 1.0, &error),
             error); /* after the reset, which would take long with contact */
    send_commands(&s);
    size_t scratch = sup_untangle_scratch(&s.view.untangle);
    s.n = 3 * (size_t)sup_model_vertex_count(s.a.model);
    s.near = calloc((size_t)s.view.untangle.coarse_count, 1);
    s.fixed = calloc((size_t)s.view.untangle.coarse_count, 1);
    memset(s.near, 1, (size_t)s.view.untangle.coarse_count);
    CHECK_EQ(
        sup_cuda_alloc((void **)&s.touched, (size_t)count * (size_t)s.view.untangle.coarse_count * sizeof(int32_t)), 0);
    s.offset = calloc(3 * (size_t)s.view.untangle.vertex_count, sizeof(float));
    s.scratch = aligned_alloc(64, scratch);
    s.skin = calloc(s.n, sizeof(float)), s.cpu = calloc(s.n, sizeof(float)), s.gpu = calloc(s.n, sizeof(float));
    return s;
}

static void close_stage(stage *s)
{
    sup_cuda_free(s->touched);
    sup_crowd_destroy(s->crowd);
    sup_device_destroy(s->device);
    actor_close(&s->a);
    free(s->near), free(s->fixed), free(s->offset), free(s->scratch);
    free(s->skin), free(s->cpu), free(s->gpu);
}

/* The skin at a time of a clip, without contact. */
static void pose_stage(stage *s, const char *clip, double time)
{
    actor_sample(&s->a, clip, time);
    CHECK_EQ(sup_instance_reset(s->a.instance, s->a.pose), SUP_OK);
    CHECK_EQ(sup_instance_step(s->a.instance, s->a.pose, 0.0f, &(sup_skin_out){.positions = s->skin}), SUP_OK);
}

static void untangle_on_cpu(stage *s, float fraction, bool search)
{
    sup_context context = sup_context_resolve(NULL);
    sup_untangle_def def = {.near = s->near,
                            .fixed = s->fixed,
                            .coarse_rest = s->view.start_rest,
                            .gap = s->view.detect.gap,
                            .offset = s->offset,
                            .offset_fraction = fraction,
                            .search = search};
    memcpy(s->cpu, s->skin, s->n * sizeof(float));
    sup_untangle(&context, &s->view.untangle, &def, s->scratch, &(sup_skin_out){.positions = s->cpu});
}

/* The skin of a character on the device. */
static void read_skin(const stage *s, int32_t character, float *skin)
{
    const sup_gpu_out *out = &s->crowd->out;
    const char *from = (const char *)out->positions + (size_t)character * out->instance_stride[0];
    CHECK_EQ(sup_cuda_copy(skin, from, s->n * sizeof(float)), 0);
}

/* Result of the last character of the crowd; all have the same skin and must have the same bits. */
static void untangle_on_device(stage *s, float fraction, bool search)
{
    sup_crowd *c = s->crowd;
    int32_t coarse = s->view.untangle.coarse_count, *touched = calloc((size_t)coarse, sizeof *touched);
    for (int32_t i = 0; i < s->count; i++) {
        sup_gpu_progress progress;
        CHECK_EQ(sup_cuda_copy(&progress, c->state.progress + i, sizeof progress), 0);
        progress.asleep = !search;
        CHECK_EQ(sup_cuda_copy(c->state.progress + i, &progress, sizeof progress), 0);
        CHECK_EQ(sup_cuda_copy((char *)c->out.positions + (size_t)i * c->out.instance_stride[0], s->skin,
                               s->n * sizeof(float)),
                 0);
        for (int32_t v = 0; v < coarse; v++)
            touched[v] = s->fixed[v] ? 0 : -1;
        CHECK_EQ(sup_cuda_copy(s->touched + (size_t)i * (size_t)coarse, touched, (size_t)coarse * sizeof *touched), 0);
        CHECK_EQ(sup_cuda_copy(c->state.near + (size_t)i * (size_t)s->view.untangle.coarse_count, s->near,
                               (size_t)s->view.untangle.coarse_count),
                 0);
    }
    free(touched);
    sup_gpu_state state = c->state;
    state.touched = s->touched;
    const float frame_time[2] = {fraction, 1e9f}; /* so long that no change of an offset is limited */
    CHECK_EQ(sup_cuda_copy(c->device_frame_time, frame_time, sizeof frame_time), 0);
    CHECK_EQ(sup_gpu_untangle_step(&c->untangle, &state, &c->out, s->device->stream), 0);
    CHECK_EQ(sup_cuda_wait(s->device->stream), 0);
    read_skin(s, s->count - 1, s->gpu);
    float *first = calloc(s->n, sizeof(float));
    read_skin(s, 0, first);
    CHECK(memcmp(first, s->gpu, s->n * sizeof(float)) == 0);
    free(first);
}

/* The order in which an emulated device runs threads and blocks; a real one has its own. */
static void set_order(unsigned order)
{
#ifdef SUPPLE_EMULATED
    emulated_order(order);
#else
    SUP_UNUSED(order);
#endif
}

/* Untangles on both. The results must agree apart from rounding, which may decide whether a few edges cross; `moves`:
 * something crosses. */
static void compare_untangled(stage *s, const char *what, float fraction, bool search, bool moves)
{
    double farthest = 0.0, size = (double)s->view.size;
    int32_t moved = 0, off = 0;
    untangle_on_cpu(s, fraction, search);
    untangle_on_device(s, fraction, search);
    for (size_t k = 0; k < s->n; k++) {
        double difference = fabs((double)s->cpu[k] - (double)s->gpu[k]) / size;
        farthest = fmax(farthest, difference);
        off += difference > 1e-5;
        moved += fabs((double)s->cpu[k] - (double)s->skin[k]) > 1e-5 * size;
    }
    CHECK_MSG((moved > 100) == moves, "%s: %d coordinates moved", what, (int)moved);
    CHECK_MSG(off <= moved / 100 && farthest < 1e-2, "%s: %d of %d differ, by up to %g", what, (int)off, (int)moved,
              farthest);
}

/* A sequence of poses: a fraction of the offsets of one frame is kept in the next, all of them while the character
 * sleeps, and none after it was hidden. */
static void untangle_poses(const char *scene, double resolution, const char *settings, int32_t count, const char *clip)
{
    stage s = open_stage(scene, resolution, settings, count);
    sup_error error = {0};
    pose_stage(&s, clip, 0.0);
    compare_untangled(&s, "nothing crosses", 0.9f, true, false);
    set_order(1);
    pose_stage(&s, clip, 1.0);
    compare_untangled(&s, "first", 0.9f, true, true);
    set_order(2);
    pose_stage(&s, clip, 1.05);
    compare_untangled(&s, "next", 0.9f, true, true);
    for (int32_t v = 0; v < s.view.untangle.coarse_count; v += 3)
        s.fixed[v] = 1;
    compare_untangled(&s, "partly fixed", 0.9f, true, true);
    set_order(0);
    compare_untangled(&s, "asleep", 1.0f, false, true);
    CHECK_OK(sup_crowd_hide(s.crowd, -1, true, &error), error);
    send_commands(&s);
    untangle_on_device(&s, 0.9f, true);
    CHECK(memcmp(s.gpu, s.skin, s.n * sizeof(float)) == 0);
    CHECK_OK(sup_crowd_hide(s.crowd, -1, false, &error), error);
    CHECK_OK(sup_crowd_set(s.crowd, -1, "untangle", 0.0, &error), error);
    send_commands(&s);
    untangle_on_device(&s, 0.9f, true);
    CHECK(memcmp(s.gpu, s.skin, s.n * sizeof(float)) == 0);
    CHECK_OK(sup_crowd_set(s.crowd, -1, "untangle", 1.0, &error), error);
    send_commands(&s);
    pose_stage(&s, clip, 1.1);
    memset(s.offset, 0, 3 * (size_t)s.view.untangle.vertex_count * sizeof(float));
    compare_untangled(&s, "visible again", 0.9f, true, true);
    close_stage(&s);
}

TEST(untangle_matches_cpu)
{
    untangle_poses("arm", 0.35, "vertices=400 contact=0 limits=0", 3, "bend");
}

TEST(untangle_of_a_human_matches_cpu)
{
    untangle_poses("human", 0.3, "vertices=800 contact=0 limits=0", 1, "squat");
    untangle_poses("human", 0.3, "vertices=800 contact=0 limits=0", 4, "arms_crossed");
}

/* Root mean square distance of two skins, in sizes. */
static double mean_distance(const stage *s, const float *a, const float *b)
{
    double sum = 0.0;
    for (size_t k = 0; k < s->n; k++)
        sum += ((double)a[k] - (double)b[k]) * ((double)a[k] - (double)b[k]);
    return sqrt(sum / (double)s->n) / (double)s->view.size;
}

static void perturb(sup_pose *pose)
{
    for (int32_t j = 0; j < pose->node_count; j++)
        pose->world[j].m[3] += 2e-7f * (float)(j % 3 - 1);
}

/* Tissue in contact, from a reset on while the skeleton is at rest: it settles, is untangled and damped, and sleeps.
 * The effect of rounding is measured by the difference between two CPU runs, one with joints moved by 2e-7. */
static void rest_in_contact(int32_t count)
{
    enum { FRAMES = 60 };
    stage s = open_stage("arm", 0.35, "vertices=400 limits=0", count);
    sup_error error = {0};
    sup_instance *other = NULL;
    sup_crowd_report report = {0};
    int32_t slept = -1, cpu_slept = -1;
    double difference = 0.0, own = 0.0;
    actor_sample(&s.a, "bend", 1.0);
    CHECK_EQ(sup_instance_reset(s.a.instance, s.a.pose), SUP_OK);
    CHECK_OK(sup_crowd_pose(s.crowd, -1, s.a.pose, &error), error);
    CHECK_OK(sup_crowd_reset(s.crowd, -1, &error), error);
    perturb(s.a.pose);
    CHECK_OK(sup_instance_create(NULL, s.a.model, s.a.pose, &other, &error), error);
    for (int32_t i = 0; i <= FRAMES; i++) {
        float dt = i > 0 ? 1.0f / 60.0f : 0.0f;
        if (i > 0) perturb(s.a.pose);
        CHECK_EQ(sup_instance_step(other, s.a.pose, dt, &(sup_skin_out){.positions = s.skin}), SUP_OK);
        memcpy(s.gpu, s.cpu, s.n * sizeof(float));
        actor_sample(&s.a, "bend", 1.0);
        CHECK_EQ(sup_instance_step(s.a.instance, s.a.pose, dt, &(sup_skin_out){.positions = s.cpu}), SUP_OK);
        if (cpu_slept < 0 && i > 0 && memcmp(s.cpu, s.gpu, s.n * sizeof(float)) == 0) cpu_slept = i;
        if (i > 0) {
            CHECK_OK(sup_crowd_step(s.crowd, dt, NULL, &error), error);
        }
        CHECK_OK(sup_crowd_read(s.crowd, count - 1, &(sup_skin_out){.positions = s.gpu}, &error), error);
        CHECK_OK(sup_crowd_last_step(s.crowd, count - 1, &report, &error), error);
        if (slept < 0 && report.asleep) slept = i;
        own = fmax(own, mean_distance(&s, s.cpu, s.skin));
        difference = fmax(difference, mean_distance(&s, s.cpu, s.gpu));
    }
    CHECK_MSG(difference < fmax(1e-5, 3.0 * own), "difference %g; between two CPU runs %g", difference, own);
    CHECK_MSG(slept >= 0 && cpu_slept >= 0 && abs(slept - cpu_slept) < 20, "asleep after %d frames, the CPU after %d",
              (int)slept, (int)cpu_slept);
    sup_instance_destroy(other);
    close_stage(&s);
}

TEST(tissue_in_contact_comes_to_rest_as_on_the_cpu)
{
    rest_in_contact(1);
    rest_in_contact(3);
}

/* implicit_bind.c - from a rig to a model, stage by stage. */
#include "bind/model.h"
#include "methods/implicit/implicit.h"
#include "methods/skin/skin.h"

/* What the stages hand to each other; freed in one place. */
typedef struct binding {
    const sup_bind_input *input;
    sup_model_builder *builder;
    sup_arena arena;
    sup_simulated_surface surface;
    sup_setup *setup;
    sup_fields_bound fields;
    sup_implicit_view view; /* of the builder's arrays: to evaluate the bind pose */
    sup_track_built track;
} binding;

static sup_result bind_surface(binding *b, sup_error *error)
{
    int32_t target = (int32_t)b->input->values[SUP_IMPLICIT_VERTICES];
    return sup_simulated_surface_create(b->input->context, b->input->rig, target, &b->arena, &b->surface, error);
}

/* The space of the track: sizes of the character, from the middle of its box. */
static sup_result bind_space(binding *b, sup_error *error)
{
    const sup_rig *rig = b->input->rig;
    const sup_simulated_surface *s = &b->surface;
    float *space = sup_model_add(b->builder, "implicit.space", SUP_ARRAY_FLOAT, 4);
    int32_t *parent = sup_model_add(b->builder, "implicit.parent", SUP_ARRAY_INT32, rig->joint_count);
    int32_t *census = sup_model_add(b->builder, "census", SUP_ARRAY_INT32, 2);
    if (space == NULL || parent == NULL || census == NULL) return sup_fail_memory(error, "the joints");
    memcpy(parent, rig->joint_parent, (size_t)rig->joint_count * sizeof *parent);
    for (int c = 0; c < 3; c++) {
        float low = INFINITY, high = -INFINITY;
        for (int64_t v = 0; v < s->coarse_count; v++) {
            low = fminf(low, s->coarse_positions[3 * v + c]);
            high = fmaxf(high, s->coarse_positions[3 * v + c]);
        }
        space[c] = 0.5f * (low + high);
        b->view.centre[c] = (double)space[c];
    }
    space[3] = rig->size;
    b->view.size = (double)rig->size;
    b->view.joint_count = rig->joint_count;
    census[0] = s->coarse_count;
    census[1] = s->coarse_triangle_count;
    return SUP_OK;
}

static sup_result bind_fields(binding *b, sup_error *error)
{
    const sup_simulated_surface *s = &b->surface;
    sup_fields_def def = {.skin = {s->coarse_count, s->coarse_triangle_count, s->coarse_positions, s->coarse_triangles,
                                   s->influence_first, s->influence_joint, s->influence_weight},
                          .grid = b->input->values[SUP_IMPLICIT_GRID]};
    sup_result result =
        sup_setup_parse(b->input->rig, b->input->setup, b->input->setup_size, &b->arena, &b->setup, error);
    if (result != SUP_OK) return result;
    def.extras = b->setup->extras;
    def.extra_count = b->setup->muscle_count;
    result = sup_fields_build(b->input, &def, b->builder, &b->arena, &b->fields, error);
    if (result != SUP_OK) return result;
    sup_log(b->input->context, SUP_LOG_INFO,
            "Fields: %d parts, %d samples, %.3g edges off the skin (RMS), %d parts without a fit.",
            b->fields.fields.field_count, b->fields.report.sample_count, b->fields.report.rms,
            b->fields.report.capsules);
    return SUP_OK;
}

static sup_result bind_compose(binding *b, sup_error *error)
{
    return sup_compose_bind(b->input, b->setup, &b->fields, b->surface.coarse_positions, b->surface.coarse_count,
                            &b->arena, b->builder, &b->view.compose, error);
}

/* The part of the relaxation that is left to the vertices of the coarse skin. */
static const float *painted_relax(binding *b)
{
    const sup_bind_input *input = b->input;
    const sup_simulated_surface *s = &b->surface;
    if (input->maps == NULL || input->maps[SUP_IMPLICIT_MAP_NO_RELAX] == NULL) return NULL;
    float *relax = sup_arena_alloc(&b->arena, (size_t)s->coarse_count, sizeof *relax);
    for (int32_t v = 0; relax != NULL && v < s->coarse_count; v++)
        relax[v] =
            1.0f -
            input->maps[SUP_IMPLICIT_MAP_NO_RELAX][input->rig->skin_to_vertex[s->fine_source[s->coarse_fine[v]]]];
    return relax;
}

static sup_result bind_rows(binding *b, sup_error *error)
{
    const sup_simulated_surface *s = &b->surface;
    size_t count = (size_t)s->coarse_count;
    float *positions = sup_arena_alloc(&b->arena, 3 * count, sizeof *positions);
    int32_t *joint = sup_arena_alloc(&b->arena, count, sizeof *joint);
    if (positions == NULL || joint == NULL) return sup_fail_memory(error, "the tracked skin");
    for (size_t i = 0; i < 3 * count; i++)
        positions[i] = (float)(((double)s->coarse_positions[i] - b->view.centre[i % 3]) / b->view.size);
    for (size_t v = 0; v < count; v++)
        joint[v] = b->fields.partition.part_joint[b->fields.partition.vertex_part[v]];
    sup_track_def def = {.vertex_count = s->coarse_count,
                         .triangle_count = s->coarse_triangle_count,
                         .joint_count = b->input->rig->joint_count,
                         .positions = positions,
                         .triangles = s->coarse_triangles,
                         .joint = joint,
                         .influence_first = s->influence_first,
                         .influence_joint = s->influence_joint,
                         .influence_weight = s->influence_weight,
                         .relax = painted_relax(b)};
    return sup_track_bind(b->input->context, &def, &b->arena, b->builder, &b->track, error);
}

/* Rows belong to the field of their part. */
static void set_owners(binding *b)
{
    const sup_track *track = &b->track.track;
    const sup_compose *compose = &b->view.compose;
    for (int32_t row = 0; row < track->row_count; row++)
        b->track.own[row] = -1.0f;
    for (int32_t leaf = 0; leaf < compose->fields.field_count; leaf++) {
        int32_t field = compose->leaves[leaf];
        for (int32_t block = 0; block < track->block_count && field < b->fields.partition.part_count; block++)
            for (int32_t row = track->block_first[block]; row < track->block_first[block + 1]; row++)
                if (compose->fields.fields[field].joint == track->block_joint[block]) b->track.own[row] = (float)leaf;
    }
}

/* What the composed field says on the skin at rest, in the numbers of a step. */
static sup_result bind_aims(binding *b, sup_error *error)
{
    size_t joints = (size_t)b->view.joint_count;
    float *bind = sup_arena_alloc(&b->arena, 12 * joints, sizeof *bind);
    void *memory = sup_alloc_zero(&b->input->context->allocator, sup_compose_posed_size(&b->view.compose));
    if (bind == NULL || memory == NULL) {
        if (memory != NULL) sup_free(&b->input->context->allocator, memory, sup_compose_posed_size(&b->view.compose));
        return sup_fail_memory(error, "the fields");
    }
    for (size_t j = 0; j < joints; j++)
        sup_implicit_field_joint(&b->view, sup_affine_identity(), b->view.centre, bind + 12 * j);
    sup_posed_fields posed = sup_compose_posed_open(&b->view.compose, sup_field_evaluator(), memory);
    sup_compose_pose(&b->view.compose, bind, &posed);
    sup_implicit_field field = {&b->view.compose, &posed};
    set_owners(b);
    int32_t lost = sup_track_aim_at(b->input->context, &b->track, sup_implicit_sample, &field);
    sup_free(&b->input->context->allocator, memory, sup_compose_posed_size(&b->view.compose));
    if (lost == 0) return SUP_OK;
    int32_t first = 0;
    while (b->track.aim[b->track.row[first]].gradient > 0.0f)
        first++;
    sup_log(b->input->context, SUP_LOG_WARNING,
            "%d of %d skin vertices feel no field, the first is vertex %d: they follow their neighbours.", lost,
            b->surface.coarse_count,
            b->input->rig->skin_to_vertex[b->surface.fine_source[b->surface.coarse_fine[first]]]);
    return SUP_OK;
}

static sup_result bind_shown(binding *b, sup_error *error)
{
    return sup_shown_bind(b->input, &b->surface, b->track.row, &b->arena, b->builder, error);
}

static sup_result bind_stages(binding *b, sup_error *error)
{
    static const struct {
        sup_result (*run)(binding *b, sup_error *error);
        const char *name;
        float done;
    } stages[] = {{bind_surface, "surface", 0.1f}, {bind_space, "space", 0.11f}, {bind_fields, "fields", 0.6f},
                  {bind_compose, "tree", 0.75f},   {bind_rows, "skin", 0.85f},   {bind_aims, "values", 0.9f},
                  {bind_shown, "upsample", 1.0f}};
    sup_bind_input below = *b->input;
    below.progress = NULL; /* short, and its fractions are not of the whole */
    sup_result result = sup_skin_bind(&below, b->builder, error);
    for (int32_t i = 0; result == SUP_OK && i < SUP_COUNT(stages); i++) {
        result = stages[i].run(b, error);
        if (result == SUP_OK) result = sup_bind_tell(b->input, stages[i].done, stages[i].name, error);
    }
    return result;
}

sup_result sup_implicit_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error)
{
    binding b = {.input = input, .builder = builder, .arena = sup_arena_create(&input->context->allocator)};
    sup_result result = bind_stages(&b, error);
    sup_arena_destroy(&b.arena);
    return result;
}

/* implicit_bind.c - builds a model from a rig, stage by stage. */
#include "bind/model.h"
#include "methods/implicit/implicit.h"
#include "skin/skin.h"

/* Data passed between the stages; freed in sup_implicit_bind. */
typedef struct binding {
    const sup_bind_input *input;
    sup_model_builder *builder;
    sup_arena arena;
    sup_simulated_surface surface;
    sup_setup *setup;
    sup_fields_bound fields;
    sup_implicit_view view; /* view of the builder's arrays, to evaluate the bind pose */
    sup_posed_fields posed; /* fields in the bind pose */
    void *posed_memory;
    sup_track_built track;
} binding;

static sup_result bind_surface(binding *b, sup_error *error)
{
    int32_t target = (int32_t)b->input->values[SUP_IMPLICIT_VERTICES];
    return sup_simulated_surface_create(b->input->context, b->input->rig, target, &b->arena, &b->surface, error);
}

/* The space of the track: units are the character's size, the origin is the centre of its bounding box. */
static sup_result bind_space(binding *b, sup_error *error)
{
    const sup_rig *rig = b->input->rig;
    const sup_simulated_surface *s = &b->surface;
    float *space = sup_model_add(b->builder, "implicit.space", SUP_ARRAY_FLOAT, 4);
    int32_t *parent = sup_model_add(b->builder, "implicit.parent", SUP_ARRAY_INT32, rig->joint_count);
    int32_t *stats = sup_model_add(b->builder, "stats", SUP_ARRAY_INT32, 2);
    if (space == NULL || parent == NULL || stats == NULL) return sup_fail_memory(error, "the joints");
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
    stats[0] = s->coarse_count;
    stats[1] = s->coarse_triangle_count;
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
            "Fields: %d regions, %d samples, %.3g edges off the skin (RMS), %d regions without a fit.",
            b->fields.fields.field_count, b->fields.report.sample_count, b->fields.report.rms,
            b->fields.report.capsules);
    return SUP_OK;
}

static sup_result bind_compose(binding *b, sup_error *error)
{
    return sup_compose_bind(b->input, b->setup, &b->fields, b->surface.coarse_positions, b->surface.coarse_count,
                            &b->arena, b->builder, &b->view.compose, error);
}

/* Poses the composed field in the bind pose, for evaluation. */
static sup_result bind_pose(binding *b, sup_error *error)
{
    size_t joints = (size_t)b->view.joint_count;
    float *bind = sup_arena_alloc(&b->arena, 12 * joints, sizeof *bind);
    b->posed_memory = sup_alloc_zero(&b->input->context->allocator, sup_compose_posed_size(&b->view.compose));
    if (bind == NULL || b->posed_memory == NULL) return sup_fail_memory(error, "the fields");
    for (size_t j = 0; j < joints; j++)
        sup_implicit_field_joint(&b->view, sup_affine_identity(), b->view.centre, bind + 12 * j);
    b->posed = sup_compose_posed_open(&b->view.compose, sup_field_evaluator(), b->posed_memory);
    sup_compose_find_limbs(&b->view.compose, &b->posed);
    sup_compose_pose(&b->view.compose, bind, &b->posed);
    return SUP_OK;
}

/* Render vertex that a coarse vertex came from. */
static int32_t vertex_of(const binding *b, int32_t coarse)
{
    return b->input->rig->skin_to_vertex[b->surface.fine_source[b->surface.coarse_fine[coarse]]];
}

/* Relaxation weight of each coarse vertex, from the map "no_relax". */
static void set_relax(const binding *b, float *relax)
{
    const float *const *maps = b->input->maps;
    const float *none = maps != NULL ? maps[SUP_IMPLICIT_MAP_NO_RELAX] : NULL;
    for (int32_t v = 0; v < b->surface.coarse_count; v++)
        relax[v] = none != NULL ? 1.0f - none[vertex_of(b, v)] : 1.0f;
}

/* --- Islands: components of the skin that are outside of all fields follow one bone rigidly, as those do whose weights
 * say so --- */

/* Skin vertex of the rig that a coarse vertex came from. */
static int32_t skin_of(const binding *b, int32_t coarse)
{
    return b->surface.fine_source[b->surface.coarse_fine[coarse]];
}

static int32_t component_of(const binding *b, int32_t coarse)
{
    return b->input->rig->skin_component[skin_of(b, coarse)];
}

static bool is_rigid(const binding *b, int32_t coarse)
{
    return sup_rig_rigid_joints(b->input->rig)[skin_of(b, coarse)] >= 0;
}

static void mark_reached(const binding *b, const float *positions, unsigned char *reached)
{
    int32_t count = b->surface.coarse_count;
    for (int32_t first = 0; first < count; first += SUP_FIELD_LANES) {
        sup_field_points points;
        sup_field_samples f;
        for (int32_t k = 0; k < SUP_FIELD_LANES; k++) {
            const float *p = positions + 3 * (int64_t)(first + k < count ? first + k : count - 1);
            points.x[k] = p[0];
            points.y[k] = p[1];
            points.z[k] = p[2];
        }
        sup_compose_evaluate(&b->view.compose, &b->posed, &points, &f, NULL);
        for (int32_t k = 0; k < SUP_FIELD_LANES && first + k < count; k++)
            reached[first + k] =
                !is_rigid(b, first + k) &&
                sup_track_can_follow(f.value[k], sqrtf(f.x[k] * f.x[k] + f.y[k] * f.y[k] + f.z[k] * f.z[k]));
    }
}

/* Numbers the components without a vertex that can follow a field; -1 for all others. Returns their number. */
static int32_t number_islands(const binding *b, const unsigned char *reached, int32_t *island)
{
    int32_t components = b->input->rig->component_count, count = 0;
    for (int32_t i = 0; i < components; i++)
        island[i] = -1;
    for (int32_t v = 0; v < b->surface.coarse_count; v++)
        if (component_of(b, v) >= 0) island[component_of(b, v)] = 0;
    for (int32_t v = 0; v < b->surface.coarse_count; v++)
        if (component_of(b, v) >= 0 && reached[v]) island[component_of(b, v)] = -1;
    for (int32_t i = 0; i < components; i++)
        if (island[i] == 0) island[i] = count++;
    return count;
}

/* Vertices of an island belong to the joint with the largest total weight, and do not relax. */
static sup_result fix_islands(binding *b, const float *positions, int32_t *joint, float *relax, sup_error *error)
{
    const sup_simulated_surface *s = &b->surface;
    size_t joints = (size_t)b->input->rig->joint_count, count = (size_t)s->coarse_count;
    unsigned char *reached = sup_arena_alloc(&b->arena, count, 1);
    int32_t *island = sup_arena_alloc(&b->arena, (size_t)b->input->rig->component_count + 1, sizeof *island);
    if (reached == NULL || island == NULL) return sup_fail_memory(error, "the tracked skin");
    mark_reached(b, positions, reached);
    int32_t islands = number_islands(b, reached, island);
    if (islands == 0) return SUP_OK;
    double *weight = sup_arena_alloc(&b->arena, (size_t)islands * joints, sizeof *weight);
    if (weight == NULL) return sup_fail_memory(error, "the tracked skin");
    for (size_t v = 0; v < count; v++) {
        int32_t component = component_of(b, (int32_t)v), i = component >= 0 ? island[component] : -1;
        for (int32_t k = s->influence_first[v]; i >= 0 && k < s->influence_first[v + 1]; k++)
            weight[(size_t)i * joints + (size_t)s->influence_joint[k]] += (double)s->influence_weight[k];
    }
    for (size_t v = 0; v < count; v++) {
        int32_t component = component_of(b, (int32_t)v), i = component >= 0 ? island[component] : -1;
        if (i < 0) continue;
        size_t most = 0;
        for (size_t j = 1; j < joints; j++)
            if (weight[(size_t)i * joints + j] > weight[(size_t)i * joints + most]) most = j;
        joint[v] = (int32_t)most;
        relax[v] = 0.0f;
    }
    return SUP_OK;
}

static sup_result bind_track(binding *b, sup_error *error)
{
    const sup_simulated_surface *s = &b->surface;
    size_t count = (size_t)s->coarse_count;
    float *positions = sup_arena_alloc(&b->arena, 3 * count, sizeof *positions);
    int32_t *joint = sup_arena_alloc(&b->arena, count, sizeof *joint);
    float *relax = sup_arena_alloc(&b->arena, count, sizeof *relax);
    if (positions == NULL || joint == NULL || relax == NULL) return sup_fail_memory(error, "the tracked skin");
    for (size_t i = 0; i < 3 * count; i++)
        positions[i] = (float)(((double)s->coarse_positions[i] - b->view.centre[i % 3]) / b->view.size);
    for (size_t v = 0; v < count; v++)
        joint[v] = b->fields.regions.region_joint[b->fields.regions.vertex_region[v]];
    set_relax(b, relax);
    sup_result result = fix_islands(b, positions, joint, relax, error);
    if (result != SUP_OK) return result;
    sup_track_def def = {.vertex_count = s->coarse_count,
                         .triangle_count = s->coarse_triangle_count,
                         .joint_count = b->input->rig->joint_count,
                         .positions = positions,
                         .triangles = s->coarse_triangles,
                         .joint = joint,
                         .influence_first = s->influence_first,
                         .influence_joint = s->influence_joint,
                         .influence_weight = s->influence_weight,
                         .relax = relax};
    result = sup_track_bind(b->input->context, &def, &b->arena, b->builder, &b->track, error);
    float *margin = sup_arena_alloc(&b->arena, count, sizeof *margin);
    if (result == SUP_OK && margin == NULL) result = sup_fail_memory(error, "the tracked skin");
    if (result == SUP_OK) result = sup_implicit_layer_margin(b->input, s, &b->arena, margin, error);
    if (result == SUP_OK)
        result = sup_track_mesh_bind(b->input->context, &def, b->track.tracked, margin, &b->arena, b->builder, error);
    return result;
}

/* Assigns each vertex to the field of its region. */
static void set_owners(binding *b)
{
    const sup_track *track = &b->track.track;
    const sup_compose *compose = &b->view.compose;
    for (int32_t vertex = 0; vertex < track->vertex_count; vertex++)
        b->track.own[vertex] = -1.0f;
    for (int32_t leaf = 0; leaf < compose->fields.field_count; leaf++) {
        int32_t field = compose->leaves[leaf];
        for (int32_t cluster = 0; cluster < track->cluster_count && field < b->fields.regions.region_count; cluster++)
            for (int32_t vertex = track->cluster_first[cluster]; vertex < track->cluster_first[cluster + 1]; vertex++)
                if (compose->fields.fields[field].joint == track->cluster_joint[cluster])
                    b->track.own[vertex] = (float)leaf;
    }
}

/* Warns which primitives of the character have vertices outside of all fields, largest number first. */
static sup_result report_unreached(binding *b, int32_t unreached, sup_error *error)
{
    enum { NAMED = 4 };
    const sup_character *character = b->input->rig->character;
    int32_t *count = sup_arena_alloc(&b->arena, (size_t)character->primitive_count + 1, sizeof *count);
    if (count == NULL) return sup_fail_memory(error, "the tracked skin");
    for (int32_t v = 0; v < b->surface.coarse_count; v++) {
        int32_t vertex = vertex_of(b, v), primitive = 0;
        if (b->track.target[b->track.tracked[v]].iso > 0.0f) continue;
        while (primitive + 1 < character->primitive_count &&
               vertex >= character->primitives[primitive + 1].vertex_first)
            primitive++;
        count[primitive]++;
    }
    char text[320];
    size_t used = 0;
    text[0] = '\0';
    for (int32_t named = 0, left = unreached; left > 0; named++) {
        int32_t most = 0;
        for (int32_t i = 1; i < character->primitive_count; i++)
            if (count[i] > count[most]) most = i;
        if (named == NAMED) {
            sup_format(text + used, sizeof text - used, ", %d of others", left);
            break;
        }
        const sup_primitive *primitive = &character->primitives[most];
        sup_format(text + used, sizeof text - used, "%s%d of \"%.40s\"", named > 0 ? ", " : "", count[most],
                   primitive->name);
        if (primitive->material >= 0 && character->primitive_count > 1)
            sup_format(text + strlen(text), sizeof text - strlen(text), " (material %d)", primitive->material);
        used = strlen(text);
        left -= count[most];
        count[most] = 0;
    }
    sup_log(b->input->context, SUP_LOG_WARNING,
            "%d of %d skin vertices are outside of all fields: %s. They follow their neighbours; separate components "
            "follow a bone.",
            unreached, b->surface.coarse_count, text);
    return SUP_OK;
}

/* Sets the target values from the composed field on the skin at rest, evaluated as in a step. */
static sup_result bind_targets(binding *b, sup_error *error)
{
    sup_implicit_field field = {&b->view.compose, &b->posed};
    set_owners(b);
    int32_t unreached = sup_track_set_targets(b->input->context, &b->track, sup_implicit_sample, &field);
    for (int32_t v = 0; v < b->surface.coarse_count; v++) {
        int64_t tracked = b->track.tracked[v];
        if (!is_rigid(b, v)) continue;
        b->track.target[tracked].gradient = 0.0f;
        b->track.own[tracked] = -1.0f;
        memset(b->track.inward + 4 * tracked, 0, 3 * sizeof(float));
    }
    return unreached > 0 ? report_unreached(b, unreached, error) : SUP_OK;
}

static sup_result bind_render_mesh(binding *b, sup_error *error)
{
    return sup_implicit_render_mesh_bind(b->input, &b->surface, b->track.tracked, &b->arena, b->builder, error);
}

static sup_result bind_stages(binding *b, sup_error *error)
{
    static const struct {
        sup_result (*run)(binding *b, sup_error *error);
        const char *name;
        float done;
    } stages[] = {{bind_surface, "surface", 0.1f}, {bind_space, "space", 0.11f},        {bind_fields, "fields", 0.6f},
                  {bind_compose, "tree", 0.75f},   {bind_pose, "pose", 0.76f},          {bind_track, "skin", 0.85f},
                  {bind_targets, "values", 0.9f},  {bind_render_mesh, "upsample", 1.0f}};
    sup_bind_input below = *b->input;
    below.progress = NULL; /* short, and its fractions do not refer to the whole bind */
    sup_result result = sup_skin_bind(&below, b->builder, error);
    for (int32_t i = 0; result == SUP_OK && i < SUP_COUNT(stages); i++) {
        result = stages[i].run(b, error);
        if (result == SUP_OK) result = sup_bind_report_progress(b->input, stages[i].done, stages[i].name, error);
    }
    return result;
}

sup_result sup_implicit_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error)
{
    binding b = {.input = input, .builder = builder, .arena = sup_arena_create(&input->context->allocator)};
    sup_result result = bind_stages(&b, error);
    if (b.posed_memory != NULL)
        sup_free(&input->context->allocator, b.posed_memory, sup_compose_posed_size(&b.view.compose));
    sup_arena_destroy(&b.arena);
    return result;
}

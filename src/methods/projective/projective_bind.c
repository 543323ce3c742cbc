/* projective_bind.c - builds a model from a rig, stage by stage. */
#include "bind/model.h"
#include "math/affine.h"
#include "tissue/anchors.h"
#include "contact/detect.h"
#include "contact/rest_contact.h"
#include "contact/thin_skin.h"
#include "methods/projective/projective.h"
#include "methods/projective/projective_paint.h"
#include "solver/system.h"
#include "methods/projective/projective_view.h"
#include "skin/skin.h"
#include "skin/simulated_surface.h"
#include "upsample/upsample.h"

/* Intermediate results of the stages. */
typedef struct binding {
    const sup_bind_input *input;
    sup_model_builder *builder;
    sup_arena arena;
    sup_simulated_surface surface;
    sup_volumetric_skeleton *skeleton;
    sup_tissue *tissue;
    sup_tissue_report report;
    sup_projective_painted paint;
    sup_projective_layers *make_layers; /* NULL: one layer of tissue */
    sup_tissue_layers layers;
} binding;

static sup_result bind_surface(binding *b, sup_error *error)
{
    int32_t target = (int32_t)b->input->values[SUP_PROJECTIVE_VERTICES];
    return sup_simulated_surface_create(b->input->context, b->input->rig, target, &b->arena, &b->surface, error);
}

static sup_result bind_tissue(binding *b, sup_error *error)
{
    const sup_simulated_surface *s = &b->surface;
    sup_tissue_skin skin = {s->coarse_count,    s->coarse_triangle_count, s->coarse_positions, s->coarse_triangles,
                            s->influence_first, s->influence_joint,       s->influence_weight};
    sup_tissue_def def = {.skeleton = {.radius_scale = b->input->values[SUP_PROJECTIVE_RADIUS]},
                          .freed = sup_projective_paint_freed(b->input, &b->surface, &b->arena)};
    if (def.freed == NULL) return sup_fail_memory(error, "the painted regions");
    sup_result result = sup_projective_paint_radii(b->input, &b->arena, &def.skeleton, error);
    if (result == SUP_OK && b->make_layers != NULL) {
        result = b->make_layers(b->input, &b->surface, &b->arena, &b->layers, error);
        def.layers = &b->layers;
    }
    if (result != SUP_OK) return result;
    result =
        sup_tissue_create(b->input->context, b->input->rig, &skin, &def, &b->skeleton, &b->tissue, &b->report, error);
    if (result == SUP_OK)
        sup_log(b->input->context, SUP_LOG_INFO,
                "Tissue: %d skin vertices, %d tets, %d bones, %d free bases, %d flat tets skipped.",
                b->tissue->skin_count, 3 * b->tissue->triangle_count * sup_tissue_layer_count(b->tissue),
                b->skeleton->segment_count, b->report.free_bases, b->report.flat);
    return result;
}

static sup_result bind_paint(binding *b, sup_error *error)
{
    return sup_projective_paint_bind(b->input, &b->surface, b->skeleton, b->tissue, &b->arena, &b->paint, b->builder,
                                     error);
}

static sup_result bind_anchors(binding *b, sup_error *error)
{
    int sliding = (int)b->input->values[SUP_PROJECTIVE_SLIDING];
    sup_anchors_def def = {.stick = sliding != SUP_SLIDING_ON, .whole = sliding == SUP_SLIDING_WHOLE};
    return sup_anchors_bind(b->input->context, b->skeleton, b->tissue, &def, b->builder, SUP_PROJECTIVE_ANCHORS, error);
}

static sup_system_def system_def(const binding *b)
{
    const double *values = b->input->values;
    return (sup_system_def){.tissue = b->tissue,
                            .stiffness = b->paint.stiffness,
                            .fixed = b->paint.fixed,
                            .tissue_stiffness = SUP_PROJECTIVE_TISSUE_STIFFNESS * values[SUP_PROJECTIVE_STIFFNESS],
                            .total_mass = SUP_PROJECTIVE_TOTAL_MASS * values[SUP_PROJECTIVE_MASS],
                            .time_step = SUP_PROJECTIVE_TIME_STEP,
                            .skeleton = b->skeleton,
                            .volume = values[SUP_PROJECTIVE_VOLUME],
                            .is_static = values[SUP_PROJECTIVE_DYNAMIC] == 0.0};
}

static sup_result bind_system(binding *b, sup_error *error)
{
    sup_system_def def = system_def(b);
    return sup_system_bind(b->input->context, &def, b->builder, SUP_PROJECTIVE_SYSTEM, error);
}

/* Seams and thin sheets form no pairs, unless nothing else is left. */
static sup_result exclude_contact(binding *b, sup_detect_def *def, sup_error *error)
{
    unsigned char *excluded = sup_arena_alloc(&b->arena, (size_t)def->vertex_count, 1);
    int32_t left = 0;
    if (excluded == NULL) return sup_fail_memory(error, "contact detection");
    for (int32_t v = 0; v < def->vertex_count; v++)
        excluded[v] = (b->paint.rest_contact[v] & SUP_REST_CONTACT_SEAM) != 0;
    sup_result result = sup_thin_skin_find(b->input->context, def->vertex_count, def->skin, def->triangle_count,
                                           def->triangles, excluded, error);
    for (int32_t t = 0; t < def->triangle_count; t++) {
        const int32_t *c = def->triangles + 3 * (size_t)t;
        left += !excluded[c[0]] && !excluded[c[1]] && !excluded[c[2]];
    }
    def->excluded = left > 0 ? excluded : NULL;
    return result;
}

static sup_result bind_contact(binding *b, sup_error *error)
{
    sup_detect_def def = sup_detect_def_of(b->tissue, b->skeleton);
    sup_detect detect;
    sup_result result = exclude_contact(b, &def, error);
    if (result == SUP_OK) result = sup_detect_create(b->input->context, &def, &b->arena, &detect, error);
    if (result == SUP_OK) result = sup_detect_store(&detect, b->builder, error);
    if (result != SUP_OK) return result;
    unsigned char *close = sup_arena_alloc(&b->arena, (size_t)b->surface.coarse_count, 1);
    if (close == NULL) return sup_fail_memory(error, "the render mesh");
    for (int32_t v = 0; v < b->surface.coarse_count; v++) {
        float weight = b->paint.close[v];
        unsigned char flags = b->paint.rest_contact[v];
        bool searched = (flags & SUP_REST_CONTACT_OTHER_MOTION) != 0 || (weight > 0.0f && weight < 1.0f);
        bool rigid = sup_projective_is_rigid(b->input, b->surface.fine_source[b->surface.coarse_fine[v]]);
        bool movable = weight > 0.0f && !rigid && (flags & SUP_REST_CONTACT_COMPONENTS) == 0;
        close[v] =
            (unsigned char)((searched ? SUP_UNTANGLE_REST_SEARCHED : 0) | (movable ? SUP_UNTANGLE_REST_MOVABLE : 0));
    }
    return sup_untangle_bind(b->input->context, b->input->rig, &b->surface, &detect, close, b->builder, error);
}

/* Classifies each render vertex: on the simulated skin, a follower beside it, or independent of it (props). */
static sup_result classify_vertices(binding *b, int32_t *surface_vertex, sup_error *error)
{
    const sup_rig *rig = b->input->rig;
    const sup_simulated_surface *surface = &b->surface;
    int32_t *skin = sup_arena_alloc(&b->arena, (size_t)rig->skin_vertex_count, sizeof *skin);
    if (skin == NULL) return sup_fail_memory(error, "the render mesh");
    for (int32_t v = 0; v < rig->skin_vertex_count; v++)
        skin[v] = SUP_UPSAMPLE_FOLLOWS;
    for (int32_t v = 0; v < surface->fine_count; v++)
        skin[surface->fine_source[v]] = SUP_UPSAMPLE_IN_TRIANGLE;
    for (int32_t v = 0; v < surface->middle_count; v++)
        skin[surface->fine_source[surface->middle_fine[v]]] = v;
    for (int32_t v = 0; v < rig->skin_vertex_count; v++)
        if (sup_projective_is_rigid(b->input, v)) skin[v] = SUP_UPSAMPLE_SKIPPED; /* linear blending is exact there */
    for (int32_t v = 0; v < surface->coarse_count; v++) /* and here: upsampling would mix in other components */
        if (b->paint.unpainted[v] >= 1.0f) skin[surface->fine_source[surface->coarse_fine[v]]] = SUP_UPSAMPLE_SKIPPED;
    for (int32_t v = 0; v < rig->vertex_count; v++)
        surface_vertex[v] = rig->vertex_to_skin[v] >= 0 ? skin[rig->vertex_to_skin[v]] : SUP_UPSAMPLE_SKIPPED;
    return SUP_OK;
}

static sup_result bind_upsample(binding *b, sup_error *error)
{
    const sup_rig *rig = b->input->rig;
    int32_t *surface_vertex = sup_arena_alloc(&b->arena, (size_t)rig->vertex_count, sizeof *surface_vertex);
    if (surface_vertex == NULL) return sup_fail_memory(error, "the render mesh");
    sup_result result = classify_vertices(b, surface_vertex, error);
    if (result != SUP_OK) return result;
    sup_upsample_def def = {.surface = {b->surface.middle_count, b->surface.middle_triangle_count,
                                        b->surface.middle_positions, b->surface.middle_triangles},
                            .coarse_count = b->surface.coarse_count,
                            .coarse_vertices = b->surface.coarse_middle,
                            .coarse_triangle_count = b->surface.coarse_triangle_count,
                            .coarse_triangles = b->surface.coarse_triangles,
                            .vertex_count = rig->vertex_count,
                            .positions = rig->positions,
                            .normals = rig->normals,
                            .tangents = rig->tangents,
                            .surface_vertex = surface_vertex};
    return sup_upsample_bind(b->input->context, &def, b->builder, SUP_PROJECTIVE_UPSAMPLE, NULL, error);
}

/* Weights of the simulated skin, strongest first as in the rig; the solver starts from their linear blend. */
static sup_result bind_start(binding *b, sup_error *error)
{
    const sup_simulated_surface *surface = &b->surface;
    int64_t skin = surface->coarse_count, count = skin * SUP_PROJECTIVE_INFLUENCES;
    int32_t *joint = sup_model_add(b->builder, SUP_PROJECTIVE_START_JOINT, SUP_ARRAY_INT32, count);
    float *weight = sup_model_add(b->builder, SUP_PROJECTIVE_START_WEIGHT, SUP_ARRAY_FLOAT, count);
    float *rest = sup_model_add(b->builder, SUP_PROJECTIVE_START_REST, SUP_ARRAY_FLOAT, 3 * skin);
    if (joint == NULL || weight == NULL || rest == NULL) return sup_fail_memory(error, "the skin's weights");
    memcpy(rest, surface->coarse_positions, 3 * (size_t)skin * sizeof *rest);
    for (int32_t v = 0; v < surface->coarse_count; v++) {
        int32_t first = surface->influence_first[v], own = surface->influence_first[v + 1] - first;
        double sum = 0.0;
        if (own > SUP_PROJECTIVE_INFLUENCES) own = SUP_PROJECTIVE_INFLUENCES;
        for (int32_t i = 0; i < own; i++)
            sum += (double)surface->influence_weight[first + i];
        for (int32_t i = 0; i < own; i++) {
            joint[SUP_PROJECTIVE_INFLUENCES * (int64_t)v + i] = surface->influence_joint[first + i];
            weight[SUP_PROJECTIVE_INFLUENCES * (int64_t)v + i] =
                (float)((double)surface->influence_weight[first + i] / sum);
        }
    }
    return SUP_OK;
}

/* Joints and size of the character. */
static sup_result bind_joints(binding *b, sup_error *error)
{
    const sup_rig *rig = b->input->rig;
    size_t joints = (size_t)rig->joint_count;
    int32_t *node = sup_model_add(b->builder, SUP_PROJECTIVE_JOINT_NODE, SUP_ARRAY_INT32, rig->joint_count);
    float *inverse =
        sup_model_add(b->builder, SUP_PROJECTIVE_JOINT_INVERSE, SUP_ARRAY_FLOAT, 12 * (int64_t)rig->joint_count);
    int32_t *parent = sup_model_add(b->builder, SUP_PROJECTIVE_JOINT_PARENT, SUP_ARRAY_INT32, rig->joint_count);
    float *centre =
        sup_model_add(b->builder, SUP_PROJECTIVE_JOINT_CENTRE, SUP_ARRAY_FLOAT, 3 * (int64_t)rig->joint_count);
    float *scale = sup_model_add(b->builder, SUP_PROJECTIVE_SCALE, SUP_ARRAY_FLOAT, 2);
    int32_t *stats = sup_model_add(b->builder, "stats", SUP_ARRAY_INT32, 2);
    if (node == NULL || inverse == NULL || parent == NULL || centre == NULL || scale == NULL || stats == NULL)
        return sup_fail_memory(error, "the joints");
    for (int32_t j = 0; j < rig->joint_count; j++) {
        sup_affine bind;
        sup_affine_inverse(sup_affine_from_float(rig->joint_inverse_bind[j]), &bind);
        sup_v3_store(centre + 3 * (size_t)j, sup_affine_translation(bind));
        parent[j] = rig->joint_parent[j] < j ? rig->joint_parent[j] : -1;
    }
    memcpy(node, rig->joint_node, joints * sizeof *node);
    memcpy(inverse, rig->joint_inverse_bind, joints * sizeof(sup_mat34));
    scale[0] = rig->size;
    scale[1] = rig->character->unit_metres;
    int32_t layers = sup_tissue_layer_count(b->tissue);
    stats[0] = layers * b->tissue->skin_count + b->report.free_bases - b->paint.fixed_count;
    stats[1] = layers * 3 * b->tissue->triangle_count - b->report.flat;
    return SUP_OK;
}

static sup_result bind_limits(binding *b, sup_error *error)
{
    int32_t count = b->input->rig->skin_vertex_count;
    unsigned char *excluded = sup_arena_alloc(&b->arena, (size_t)count, 1);
    if (excluded == NULL) return sup_fail_memory(error, "the shape limits");
    for (int32_t v = 0; v < count; v++)
        excluded[v] = sup_projective_is_free(b->input, v); /* linear blending is no reference for it */
    return sup_shape_limits_bind(b->input->context, b->input->rig, excluded, b->builder, error);
}

static sup_result bind_stages(binding *b, sup_error *error)
{
    static const struct {
        sup_result (*run)(binding *b, sup_error *error);
        const char *name;
        float done;
    } stages[] = {{bind_surface, "surface", 0.2f},    {bind_tissue, "tissue", 0.4f},  {bind_paint, "paint", 0.45f},
                  {bind_anchors, "anchors", 0.5f},    {bind_system, "system", 0.65f}, {bind_contact, "contact", 0.8f},
                  {bind_upsample, "upsample", 0.95f}, {bind_limits, "limits", 0.96f}, {bind_start, "weights", 0.97f},
                  {bind_joints, "joints", 1.0f}};
    sup_bind_input below = *b->input;
    below.progress = NULL; /* a short stage, whose progress would restart at 0 */
    sup_result result = sup_skin_bind(&below, b->builder, error);
    for (int32_t i = 0; result == SUP_OK && i < SUP_COUNT(stages); i++) {
        result = stages[i].run(b, error);
        if (result == SUP_OK) result = sup_bind_report_progress(b->input, stages[i].done, stages[i].name, error);
    }
    return result;
}

static void binding_free(binding *b)
{
    sup_tissue_destroy(b->tissue);
    sup_skeleton_destroy(b->skeleton);
    sup_arena_destroy(&b->arena);
}

sup_result sup_projective_bind_layered(const sup_bind_input *input, sup_projective_layers *make_layers,
                                       sup_model_builder *builder, sup_error *error)
{
    binding b = {.input = input,
                 .builder = builder,
                 .make_layers = make_layers,
                 .arena = sup_arena_create(&input->context->allocator)};
    sup_result result = bind_stages(&b, error);
    binding_free(&b);
    return result;
}

sup_result sup_projective_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error)
{
    return sup_projective_bind_layered(input, NULL, builder, error);
}

sup_result sup_projective_with_system(const sup_bind_input *input, sup_projective_use *use, void *user,
                                      sup_error *error)
{
    /* For the arrays that bind_paint adds; discarded. */
    sup_model_builder builder = {input->context->allocator, {NULL, 0, 0, sizeof(sup_built_array)}, NULL, false};
    binding b = {.input = input, .builder = &builder, .arena = sup_arena_create(&input->context->allocator)};
    sup_result result = bind_surface(&b, error);
    if (result == SUP_OK) result = bind_tissue(&b, error);
    if (result == SUP_OK) result = bind_paint(&b, error);
    if (result == SUP_OK) {
        sup_system_def def = system_def(&b);
        result = use(user, &def, error);
    }
    binding_free(&b);
    sup_model_builder_free(&builder);
    return result;
}

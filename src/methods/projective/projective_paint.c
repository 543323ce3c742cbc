/* projective_paint.c - painted maps (stiff, rigid and free tissue), attachment and velocity limits.
 *
 * Based on: [komaritzan2022] section 3.4.1 (regions without simulation, virtual bones: figure 3.21). Skin of a rigid
 * region is anchored at its position by linear blending; at the border of the region the result is blended, so that
 * there is no visible seam. Free tissue is shaped by the bones, but its bases are unknowns like those on cones, and lie
 * deeper.
 *
 * Deviation from the thesis: momentum must not pull tissue off its bones. Tissue that swings slower than that of the
 * authors' human is made stiffer (tissue_attach.c), and all slow tissue gets a velocity limit (velocity_limit.h). */
#include "methods/projective/projective_paint.h"

#include "contact/rest_contact.h"
#include "methods/projective/projective.h"

static const float rigid_from = 0.999f; /* weight from which on the vertex is anchored in the solver */
static const float free_from = 0.5f;
/* Lowest natural frequency of tissue that is not painted free: that of the authors' male. */
static const double slowest_hertz = 2.2;
/* Largest deflection by momentum, in thicknesses of the tissue; and deflection under an acceleration of 1 per step
 * squared below which tissue never gets that far and needs no limit. */
static const double max_deflection = 0.12, min_deflection = 0.02;
static const double max_stiffening = 1e4; /* factor of the tissue's stiffness */

/* The render vertex whose painted values a simulated vertex takes. */
static int32_t render_vertex(const sup_bind_input *input, const sup_simulated_surface *s, int32_t v)
{
    return input->rig->skin_to_vertex[s->fine_source[s->coarse_fine[v]]];
}

/* The value of a map at a simulated vertex. */
static float painted(const sup_bind_input *input, const sup_simulated_surface *s, int map, int32_t v)
{
    if (input->maps == NULL || input->maps[map] == NULL) return sup_projective_maps[map].default_value;
    return input->maps[map][render_vertex(input, s, v)];
}

/* Weight of linear blending of a simulated vertex. */
static float rigid_weight(const sup_bind_input *input, const sup_simulated_surface *s,
                          const sup_projective_painted *paint, int32_t v)
{
    return fmaxf(painted(input, s, SUP_PROJECTIVE_MAP_RIGID, v), paint->unpainted[v]);
}

bool sup_projective_is_free(const sup_bind_input *input, int32_t skin_vertex)
{
    const float *freed = input->maps != NULL ? input->maps[SUP_PROJECTIVE_MAP_FREE] : NULL;
    return freed != NULL && freed[input->rig->skin_to_vertex[skin_vertex]] >= free_from;
}

bool sup_projective_is_rigid(const sup_bind_input *input, int32_t skin_vertex)
{
    return !sup_projective_is_free(input, skin_vertex) && sup_rig_rigid_joints(input->rig)[skin_vertex] >= 0;
}

/* Weights of linear blending that the skin has without paint: close skin, and rigid components (armour, buckles). */
static void find_unpainted(const sup_bind_input *input, const sup_simulated_surface *surface,
                           sup_projective_painted *paint)
{
    for (int32_t v = 0; v < surface->coarse_count; v++)
        paint->unpainted[v] =
            sup_projective_is_rigid(input, surface->fine_source[surface->coarse_fine[v]]) ? 1.0f : paint->close[v];
}

unsigned char *sup_projective_paint_freed(const sup_bind_input *input, const sup_simulated_surface *surface,
                                          sup_arena *arena)
{
    unsigned char *freed = sup_arena_alloc(arena, (size_t)surface->coarse_count, 1);
    for (int32_t v = 0; freed != NULL && v < surface->coarse_count; v++)
        freed[v] = painted(input, surface, SUP_PROJECTIVE_MAP_FREE, v) >= free_from;
    return freed;
}

/* Value of a map for each joint: its mean over the skin that the joint moves, or, with `around`, over the skin that it
 * moves together with its parent, if any. */
static void joint_means(const sup_rig *rig, const float *map, bool around, double *sum, double *weight, double *means)
{
    size_t bytes = (size_t)rig->joint_count * sizeof *sum;
    memset(sum, 0, 2 * bytes);
    memset(weight, 0, 2 * bytes);
    for (int32_t v = 0; v < rig->vertex_count; v++)
        for (int32_t i = rig->influence_first[v]; i < rig->influence_first[v + 1]; i++) {
            int32_t joint = rig->influence_joint[i];
            double own = (double)rig->influence_weight[i], parent = 0.0;
            for (int32_t k = rig->influence_first[v]; k < rig->influence_first[v + 1]; k++)
                if (rig->influence_joint[k] == rig->joint_parent[joint]) parent += (double)rig->influence_weight[k];
            double counts[2] = {own, own * parent};
            for (int k = 0; k < 2; k++) {
                sum[2 * joint + k] += counts[k] * (double)map[v];
                weight[2 * joint + k] += counts[k];
            }
        }
    for (int32_t j = 0; j < rig->joint_count; j++) {
        int32_t k = 2 * j + (around && weight[2 * j + 1] > 0.0);
        means[j] = weight[k] > 0.0 ? sum[k] / weight[k] : 1.0;
    }
}

sup_result sup_projective_paint_radii(const sup_bind_input *input, sup_arena *arena, sup_skeleton_def *def,
                                      sup_error *error)
{
    size_t joints = (size_t)input->rig->joint_count;
    const float *bones = input->maps != NULL ? input->maps[SUP_PROJECTIVE_MAP_BONE_RADIUS] : NULL;
    const float *spheres = input->maps != NULL ? input->maps[SUP_PROJECTIVE_MAP_JOINT_RADIUS] : NULL;
    if (bones == NULL && spheres == NULL) return SUP_OK;
    double *work = sup_arena_alloc(arena, joints, 6 * sizeof *work);
    if (work == NULL) return sup_fail_memory(error, "the painted radii");
    if (bones != NULL) {
        joint_means(input->rig, bones, false, work, work + 2 * joints, work + 4 * joints);
        def->bone_scale = work + 4 * joints;
    }
    if (spheres != NULL) {
        joint_means(input->rig, spheres, true, work, work + 2 * joints, work + 5 * joints);
        def->sphere_scale = work + 5 * joints;
    }
    return SUP_OK;
}

static sup_result attach(const sup_bind_input *input, const sup_simulated_surface *surface,
                         const sup_volumetric_skeleton *skeleton, sup_tissue *tissue, sup_projective_painted *paint,
                         sup_error *error)
{
    int32_t attached = 0, unattached = 0;
    sup_result result = sup_tissue_attach(input->context, skeleton, tissue, paint->fixed, &attached, error);
    if (result != SUP_OK) return result;
    for (int32_t v = 0; v < tissue->skin_count; v++) {
        unattached += paint->fixed[v];
        if (rigid_weight(input, surface, paint, v) >= rigid_from) paint->fixed[v] = 1;
        paint->fixed_count += paint->fixed[v];
    }
    if (unattached > 0 || attached > 0)
        sup_log(input->context, SUP_LOG_INFO,
                "%d skin vertices have no tissue and follow linear blending; %d bases of tissue without a bone were "
                "attached to the nearest bone.",
                unattached, attached);
    return SUP_OK;
}

/* Painted stiffness, increased where the tissue would swing too slowly. */
static sup_result stiffen(const sup_bind_input *input, const sup_simulated_surface *surface, const sup_tissue *tissue,
                          sup_arena *arena, sup_projective_painted *paint, sup_error *error)
{
    double *deflection = sup_arena_alloc(arena, (size_t)tissue->skin_count, sizeof *deflection);
    paint->deflection = deflection;
    if (deflection == NULL) return sup_fail_memory(error, "the deflection of the tissue");
    sup_result result = sup_tissue_deflection(input->context, tissue, paint->fixed, deflection, error);
    if (result != SUP_OK) return result;
    double unit = SUP_PROJECTIVE_TIME_STEP / SUP_PROJECTIVE_SECONDS; /* solver time units per second */
    double limit = unit / (6.283185307179586 * slowest_hertz);
    double scale = SUP_PROJECTIVE_TOTAL_MASS / SUP_PROJECTIVE_TISSUE_STIFFNESS / (limit * limit);
    for (int32_t v = 0; v < tissue->skin_count; v++) {
        double slow = fmin(fmax(deflection[v] * scale, 1.0), max_stiffening);
        double freed = (double)painted(input, surface, SUP_PROJECTIVE_MAP_FREE, v);
        paint->stiffness[v] = painted(input, surface, SUP_PROJECTIVE_MAP_STIFFNESS, v) * (float)pow(slow, 1.0 - freed);
    }
    return SUP_OK;
}

/* The velocity limit of a vertex, 0 for none. With u its deflection under an acceleration of one unit per step squared,
 * tissue whose momentum moves it by r in every step ends at a deflection of r u: the limit of the deflection gives that
 * of r. */
static double velocity_limit_length(const sup_bind_input *input, const sup_simulated_surface *surface,
                                    const sup_tissue *tissue, const sup_projective_painted *paint, int32_t v)
{
    const double *values = input->values;
    double step = SUP_PROJECTIVE_TIME_STEP, mass = SUP_PROJECTIVE_TOTAL_MASS * values[SUP_PROJECTIVE_MASS];
    double stiffness = SUP_PROJECTIVE_TISSUE_STIFFNESS * values[SUP_PROJECTIVE_STIFFNESS] * (double)paint->stiffness[v];
    double u = paint->deflection[v] * mass / stiffness / (step * step);
    bool freed = painted(input, surface, SUP_PROJECTIVE_MAP_FREE, v) > 0.0f;
    if (freed || paint->fixed[v] != 0 || u < min_deflection || values[SUP_PROJECTIVE_DYNAMIC] == 0.0) return 0.0;
    return max_deflection * sup_v3_distance(sup_tissue_point(tissue->skin, v), sup_tissue_point(tissue->base, v)) / u;
}

static sup_result store_velocity_limits(const sup_bind_input *input, const sup_simulated_surface *surface,
                                        const sup_tissue *tissue, const sup_projective_painted *paint,
                                        sup_model_builder *builder, sup_error *error)
{
    int32_t count = 0;
    for (int32_t v = 0; v < tissue->skin_count; v++)
        count += velocity_limit_length(input, surface, tissue, paint, v) > 0.0;
    int32_t *vertex = sup_model_add(builder, SUP_PROJECTIVE_VELOCITY_LIMIT_VERTEX, SUP_ARRAY_INT32, count);
    float *length = sup_model_add(builder, SUP_PROJECTIVE_VELOCITY_LIMIT_LENGTH, SUP_ARRAY_FLOAT, count);
    if (vertex == NULL || length == NULL) return sup_fail_memory(error, "the velocity limits");
    count = 0;
    for (int32_t v = 0; v < tissue->skin_count; v++) {
        double here = velocity_limit_length(input, surface, tissue, paint, v);
        if (!(here > 0.0)) continue;
        vertex[count] = v;
        length[count++] = fmaxf((float)here, 1e-30f);
    }
    return SUP_OK;
}

static sup_result store(const sup_bind_input *input, const sup_simulated_surface *surface, int32_t skin_count,
                        const sup_projective_painted *paint, sup_model_builder *builder, sup_error *error)
{
    int32_t rigid = 0, fixed = 0;
    for (int32_t v = 0; v < skin_count; v++)
        rigid += rigid_weight(input, surface, paint, v) > 0.0f;
    int32_t *list = sup_model_add(builder, SUP_PROJECTIVE_FIXED, SUP_ARRAY_INT32, paint->fixed_count);
    int32_t *vertex = sup_model_add(builder, SUP_PROJECTIVE_RIGID_VERTEX, SUP_ARRAY_INT32, rigid);
    float *weight = sup_model_add(builder, SUP_PROJECTIVE_RIGID_WEIGHT, SUP_ARRAY_FLOAT, rigid);
    float *unpainted = sup_model_add(builder, SUP_PROJECTIVE_RIGID_UNPAINTED, SUP_ARRAY_FLOAT, rigid);
    int32_t *render = sup_model_add(builder, SUP_PROJECTIVE_PAINT_VERTEX, SUP_ARRAY_INT32, skin_count);
    if (list == NULL || vertex == NULL || weight == NULL || unpainted == NULL || render == NULL)
        return sup_fail_memory(error, "the painted regions");
    rigid = 0;
    for (int32_t v = 0; v < skin_count; v++) {
        float value = rigid_weight(input, surface, paint, v);
        render[v] = render_vertex(input, surface, v);
        if (paint->fixed[v] != 0) list[fixed++] = v;
        if (!(value > 0.0f)) continue;
        vertex[rigid] = v;
        unpainted[rigid] = paint->unpainted[v];
        weight[rigid++] = value;
    }
    return SUP_OK;
}

sup_result sup_projective_paint_bind(const sup_bind_input *input, const sup_simulated_surface *surface,
                                     const sup_volumetric_skeleton *skeleton, sup_tissue *tissue, sup_arena *arena,
                                     sup_projective_painted *paint, sup_model_builder *builder, sup_error *error)
{
    size_t count = (size_t)tissue->skin_count;
    *paint = (sup_projective_painted){.stiffness = sup_arena_alloc(arena, count, sizeof(float)),
                                      .fixed = sup_arena_alloc(arena, count, 1),
                                      .close = sup_arena_alloc(arena, count, sizeof(float)),
                                      .unpainted = sup_arena_alloc(arena, count, sizeof(float)),
                                      .rest_contact = sup_arena_alloc(arena, count, 1)};
    if (paint->stiffness == NULL || paint->fixed == NULL || paint->close == NULL || paint->rest_contact == NULL ||
        paint->unpainted == NULL)
        return sup_fail_memory(error, "the painted regions");
    sup_result result =
        sup_rest_contact_weights(input->context, input->rig, surface, paint->close, paint->rest_contact, error);
    if (result == SUP_OK) find_unpainted(input, surface, paint);
    if (result == SUP_OK) result = attach(input, surface, skeleton, tissue, paint, error);
    if (result == SUP_OK) result = stiffen(input, surface, tissue, arena, paint, error);
    if (result == SUP_OK) result = store(input, surface, tissue->skin_count, paint, builder, error);
    return result == SUP_OK ? store_velocity_limits(input, surface, tissue, paint, builder, error) : result;
}

sup_result sup_projective_paint_live(const sup_model *model, const sup_projective_view *view, const float *values,
                                     int32_t *vertex, float *weight, int32_t *count, sup_error *error)
{
    int64_t bound_count = sup_model_array_count(model, SUP_PROJECTIVE_RIGID_VERTEX);
    const int32_t *bound_vertex = sup_model_array(model, SUP_PROJECTIVE_RIGID_VERTEX, SUP_ARRAY_INT32, -1);
    const float *bound_weight = sup_model_array(model, SUP_PROJECTIVE_RIGID_WEIGHT, SUP_ARRAY_FLOAT, -1);
    const float *unpainted = sup_model_array(model, SUP_PROJECTIVE_RIGID_UNPAINTED, SUP_ARRAY_FLOAT, bound_count);
    if (unpainted == NULL) bound_count = 0;
    for (int64_t i = 0; values != NULL && i < bound_count; i++) {
        int32_t render = view->paint_vertex[bound_vertex[i]];
        if (bound_weight[i] >= rigid_from && fmaxf(values[render], unpainted[i]) < rigid_from)
            return sup_fail(
                error, SUP_ERROR_ARGUMENT, "paint.rigid", "rigid",
                "Vertex %d was bound rigid and cannot become soft: bind the character again with the new paint.",
                render);
    }
    *count = 0;
    for (int64_t i = 0; values == NULL && i < bound_count; i++) {
        vertex[*count] = bound_vertex[i];
        weight[(*count)++] = bound_weight[i];
    }
    int64_t next = 0; /* of the bound vertices, which are in ascending order */
    for (int32_t v = 0; values != NULL && v < view->system.skin_count; v++) {
        bool bound = next < bound_count && bound_vertex[next] == v;
        float value = fmaxf(values[view->paint_vertex[v]], bound ? unpainted[next] : 0.0f);
        next += bound;
        if (!(value > 0.0f)) continue;
        vertex[*count] = v;
        weight[(*count)++] = value;
    }
    return SUP_OK;
}

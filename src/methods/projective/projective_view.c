/* projective_view.c - opens the arrays of a projective model and checks that they are consistent. */
#include "methods/projective/projective_view.h"

#include "methods/projective/projective.h"

static sup_result fail_arrays(sup_error *error, const char *what)
{
    return sup_fail(error, SUP_ERROR_FORMAT, "projective.model", "",
                    "The model is damaged: its %s are inconsistent. Bind it again.", what);
}

static sup_result open_joints(const sup_model *model, sup_projective_view *view, sup_error *error)
{
    int64_t count = sup_model_array_count(model, SUP_PROJECTIVE_JOINT_NODE);
    view->joint_node = sup_model_array(model, SUP_PROJECTIVE_JOINT_NODE, SUP_ARRAY_INT32, -1);
    view->joint_inverse_bind = sup_model_array(model, SUP_PROJECTIVE_JOINT_INVERSE, SUP_ARRAY_FLOAT, 12 * count);
    view->joint_parent = sup_model_array(model, SUP_PROJECTIVE_JOINT_PARENT, SUP_ARRAY_INT32, count);
    view->joint_centre = sup_model_array(model, SUP_PROJECTIVE_JOINT_CENTRE, SUP_ARRAY_FLOAT, 3 * count);
    const float *scale = sup_model_array(model, SUP_PROJECTIVE_SCALE, SUP_ARRAY_FLOAT, 2);
    if (view->joint_node == NULL || view->joint_inverse_bind == NULL || view->joint_parent == NULL ||
        view->joint_centre == NULL || scale == NULL || count > INT32_MAX)
        return fail_arrays(error, "joints");
    view->joint_count = (int32_t)count;
    view->size = scale[0];
    view->unit_metres = scale[1];
    bool ok = isfinite(view->size) && view->size > 0.0f && isfinite(view->unit_metres) && view->unit_metres >= 0.0f;
    for (int32_t j = 0; ok && j < view->joint_count; j++)
        ok = view->joint_node[j] >= 0 && view->joint_node[j] < sup_model_node_count(model) &&
             view->joint_parent[j] >= -1 && view->joint_parent[j] < j;
    for (int64_t i = 0; ok && i < 3 * count; i++)
        ok = isfinite(view->joint_centre[i]);
    for (int64_t i = 0; ok && i < 12 * count; i++)
        ok = isfinite(view->joint_inverse_bind[i]);
    return ok ? SUP_OK : fail_arrays(error, "joints");
}

static sup_result open_start(const sup_model *model, sup_projective_view *view, sup_error *error)
{
    int64_t skin = view->system.skin_count, count = skin * SUP_PROJECTIVE_INFLUENCES;
    view->start_joint = sup_model_array(model, SUP_PROJECTIVE_START_JOINT, SUP_ARRAY_INT32, count);
    view->start_weight = sup_model_array(model, SUP_PROJECTIVE_START_WEIGHT, SUP_ARRAY_FLOAT, count);
    view->start_rest = sup_model_array(model, SUP_PROJECTIVE_START_REST, SUP_ARRAY_FLOAT, 3 * skin);
    bool ok = view->start_joint != NULL && view->start_weight != NULL && view->start_rest != NULL;
    for (int64_t i = 0; ok && i < count; i++)
        ok = view->start_joint[i] >= 0 && view->start_joint[i] < view->joint_count && isfinite(view->start_weight[i]);
    for (int64_t i = 0; ok && i < 3 * skin; i++)
        ok = isfinite(view->start_rest[i]);
    return ok ? SUP_OK : fail_arrays(error, "weights");
}

static sup_result open_rigid(const sup_model *model, sup_projective_view *view, sup_error *error)
{
    int64_t fixed = sup_model_array_count(model, SUP_PROJECTIVE_FIXED);
    int64_t rigid = sup_model_array_count(model, SUP_PROJECTIVE_RIGID_VERTEX);
    view->fixed = sup_model_array(model, SUP_PROJECTIVE_FIXED, SUP_ARRAY_INT32, -1);
    view->rigid_vertex = sup_model_array(model, SUP_PROJECTIVE_RIGID_VERTEX, SUP_ARRAY_INT32, -1);
    view->rigid_weight = sup_model_array(model, SUP_PROJECTIVE_RIGID_WEIGHT, SUP_ARRAY_FLOAT, rigid);
    const float *unpainted = sup_model_array(model, SUP_PROJECTIVE_RIGID_UNPAINTED, SUP_ARRAY_FLOAT, rigid);
    int32_t skin = view->system.skin_count, render_count = sup_model_vertex_count(model);
    view->paint_vertex = sup_model_array(model, SUP_PROJECTIVE_PAINT_VERTEX, SUP_ARRAY_INT32, skin);
    bool ok = view->paint_vertex != NULL && view->fixed != NULL && view->rigid_vertex != NULL &&
              view->rigid_weight != NULL && unpainted != NULL && fixed <= skin && rigid <= skin;
    for (int64_t i = 0; ok && i < fixed; i++)
        ok = view->fixed[i] > (i > 0 ? view->fixed[i - 1] : -1) && view->fixed[i] < skin;
    for (int64_t i = 0; ok && i < rigid; i++)
        ok = view->rigid_vertex[i] >= 0 && view->rigid_vertex[i] < skin && view->rigid_weight[i] >= 0.0f &&
             view->rigid_weight[i] <= 1.0f && unpainted[i] >= 0.0f && unpainted[i] <= 1.0f;
    for (int32_t v = 0; ok && v < skin; v++)
        ok = view->paint_vertex[v] >= 0 && view->paint_vertex[v] < render_count;
    if (!ok) return fail_arrays(error, "rigid regions");
    view->fixed_count = (int32_t)fixed;
    view->rigid_count = (int32_t)rigid;
    return SUP_OK;
}

static sup_result open_velocity_limit(const sup_model *model, sup_projective_view *view, sup_error *error)
{
    int64_t count = sup_model_array_count(model, SUP_PROJECTIVE_VELOCITY_LIMIT_VERTEX);
    view->velocity_limit_vertex = sup_model_array(model, SUP_PROJECTIVE_VELOCITY_LIMIT_VERTEX, SUP_ARRAY_INT32, -1);
    view->velocity_limit_length = sup_model_array(model, SUP_PROJECTIVE_VELOCITY_LIMIT_LENGTH, SUP_ARRAY_FLOAT, count);
    int32_t skin = view->system.skin_count;
    bool ok = view->velocity_limit_vertex != NULL && view->velocity_limit_length != NULL && count <= skin;
    for (int64_t i = 0; ok && i < count; i++)
        ok = view->velocity_limit_vertex[i] >= 0 && view->velocity_limit_vertex[i] < skin &&
             view->velocity_limit_length[i] > 0.0f && isfinite(view->velocity_limit_length[i]);
    if (!ok) return fail_arrays(error, "velocity limits");
    view->velocity_limit_count = (int32_t)count;
    return SUP_OK;
}

sup_result sup_projective_open(const sup_model *model, sup_projective_view *view, sup_error *error)
{
    memset(view, 0, sizeof *view);
    sup_result result = open_joints(model, view, error);
    if (result == SUP_OK) result = sup_anchors_open(model, SUP_PROJECTIVE_ANCHORS, &view->anchors, error);
    if (result == SUP_OK) result = sup_system_open(model, SUP_PROJECTIVE_SYSTEM, &view->system, error);
    if (result == SUP_OK) result = open_start(model, view, error);
    if (result == SUP_OK) result = open_rigid(model, view, error);
    if (result == SUP_OK) result = open_velocity_limit(model, view, error);
    if (result == SUP_OK) result = sup_detect_view(model, &view->detect, error);
    if (result == SUP_OK) result = sup_upsample_open(model, SUP_PROJECTIVE_UPSAMPLE, &view->upsample, error);
    if (result == SUP_OK) result = sup_untangle_open(model, &view->untangle, error);
    if (result == SUP_OK) result = sup_shape_limits_open(model, &view->limits, error);
    if (result != SUP_OK) return result;
    bool fits = view->anchors.joint_count == view->joint_count &&
                view->fixed_count + view->anchors.anchor_count == view->system.anchor_count &&
                view->detect.vertex_count == view->system.skin_count &&
                view->detect.segment_count == view->anchors.segment_count &&
                view->upsample.vertex_count == sup_model_vertex_count(model) &&
                view->upsample.coarse_count == view->system.skin_count &&
                view->untangle.coarse_count == view->system.skin_count;
    return fits ? SUP_OK : fail_arrays(error, "arrays");
}

sup_result sup_projective_check(const sup_model *model, sup_error *error)
{
    sup_projective_view view;
    sup_result result = sup_skin_check(model, error);
    return result == SUP_OK ? sup_projective_open(model, &view, error) : result;
}

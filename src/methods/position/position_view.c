/* position_view.c - validated view of the arrays of a position model. */
#include "methods/position/position.h"
#include "skin/skin.h"

static sup_result fail_arrays(sup_error *error, const char *what)
{
    return sup_fail(error, SUP_ERROR_FORMAT, "position.model", "",
                    "The model is damaged: its %s are inconsistent. Bind it again.", what);
}

static bool usable(const float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!(fabsf(values[i]) < SUP_SKIN_LIMIT)) return false;
    return true;
}

static bool in_range(const int32_t *values, int64_t count, int32_t first, int32_t end)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i] < first || values[i] >= end) return false;
    return true;
}

static sup_result open_joints(const sup_model *model, sup_position_view *v, sup_error *error)
{
    int64_t count = sup_model_array_count(model, "position.node");
    const float *scale = sup_model_array(model, "position.scale", SUP_ARRAY_FLOAT, 2);
    if (count < 1 || count > INT32_MAX / 16 || scale == NULL) return fail_arrays(error, "joints");
    v->joint_count = (int32_t)count;
    v->joint_node = sup_model_array(model, "position.node", SUP_ARRAY_INT32, count);
    v->joint_inverse_bind = sup_model_array(model, "position.inverse", SUP_ARRAY_FLOAT, 12 * count);
    v->joint_centre = sup_model_array(model, "position.centre", SUP_ARRAY_FLOAT, 3 * count);
    v->size = scale[0];
    v->unit_metres = scale[1];
    bool ok = v->joint_node != NULL && v->joint_inverse_bind != NULL && v->joint_centre != NULL &&
              in_range(v->joint_node, count, 0, sup_model_node_count(model)) &&
              usable(v->joint_inverse_bind, 12 * count) && usable(v->joint_centre, 3 * count) && v->size > 0.0f &&
              v->size < SUP_SKIN_LIMIT && v->unit_metres >= 0.0f && v->unit_metres < SUP_SKIN_LIMIT;
    return ok ? SUP_OK : fail_arrays(error, "joints");
}

static sup_result open_particles(const sup_model *model, sup_position_view *v, sup_error *error)
{
    int64_t slots = v->pbd.slot_count, influences = slots * SUP_POSITION_INFLUENCES;
    v->influence_joint = sup_model_array(model, "position.joint", SUP_ARRAY_INT32, influences);
    v->influence_weight = sup_model_array(model, "position.weight", SUP_ARRAY_FLOAT, influences);
    v->rest = sup_model_array(model, "position.rest", SUP_ARRAY_FLOAT, 4 * slots);
    v->bone_joint = sup_model_array(model, "position.bone", SUP_ARRAY_INT32, slots);
    v->bone_point = sup_model_array(model, "position.point", SUP_ARRAY_FLOAT, 4 * slots);
    v->surface = sup_model_array(model, "position.surface", SUP_ARRAY_FLOAT, 4 * slots);
    v->painted = sup_model_array(model, "position.painted", SUP_ARRAY_FLOAT, SUP_POSITION_MAP_COUNT * slots);
    v->paint_vertex = sup_model_array(model, "position.paintvertex", SUP_ARRAY_INT32, 3 * slots);
    v->paint_weight = sup_model_array(model, "position.paintweight", SUP_ARRAY_FLOAT, 3 * slots);
    bool ok = v->influence_joint != NULL && v->influence_weight != NULL && v->rest != NULL && v->bone_joint != NULL &&
              v->bone_point != NULL && v->surface != NULL && v->painted != NULL && v->paint_vertex != NULL &&
              v->paint_weight != NULL && in_range(v->influence_joint, influences, 0, v->joint_count) &&
              in_range(v->bone_joint, slots, -1, v->joint_count) && usable(v->influence_weight, influences) &&
              usable(v->rest, 4 * slots) && usable(v->bone_point, 4 * slots) && usable(v->surface, 4 * slots) &&
              usable(v->painted, SUP_POSITION_MAP_COUNT * slots) && usable(v->paint_weight, 3 * slots) &&
              in_range(v->paint_vertex, 3 * slots, -1, sup_model_vertex_count(model));
    for (int64_t i = 0; ok && i < slots; i++) /* all or none of the three vertices */
        ok = v->paint_vertex[3 * i] < 0 || (v->paint_vertex[3 * i + 1] >= 0 && v->paint_vertex[3 * i + 2] >= 0);
    return ok ? SUP_OK : fail_arrays(error, "particles");
}

sup_result sup_position_open(const sup_model *model, sup_position_view *view, sup_error *error)
{
    memset(view, 0, sizeof *view);
    sup_result result = open_joints(model, view, error);
    if (result == SUP_OK) result = sup_pbd_open(model, "pbd", &view->pbd, error);
    if (result == SUP_OK) result = sup_position_embed_open(model, "embed", view->pbd.slot_count, &view->embed, error);
    if (result == SUP_OK)
        result = sup_collide_open(model, "contact", view->joint_count, view->pbd.slot_count, &view->collide, error);
    if (result == SUP_OK) result = sup_volume_correction_open(model, "correction", &view->correction, error);
    if (result == SUP_OK) result = sup_skin_limit_open(model, "limit", &view->limit, error);
    return result == SUP_OK ? open_particles(model, view, error) : result;
}

sup_result sup_position_check(const sup_model *model, sup_error *error)
{
    sup_position_view view;
    sup_result result = sup_skin_check(model, error);
    return result == SUP_OK ? sup_position_open(model, &view, error) : result;
}

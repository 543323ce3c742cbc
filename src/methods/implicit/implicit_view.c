/* implicit_view.c - finding the arrays of an implicit model again, and checking that they belong together. */
#include "methods/implicit/implicit.h"
#include "skin/skin.h"

static sup_result fail_arrays(sup_error *error, const char *what)
{
    return sup_fail(error, SUP_ERROR_FORMAT, "implicit.model", "",
                    "The model is damaged: its %s do not fit together. Bind it again.", what);
}

static sup_result open_joints(const sup_model *model, sup_implicit_view *v, sup_error *error)
{
    sup_skin_model skin = sup_skin_open(model); /* whose check came first */
    const float *space = sup_model_array(model, "implicit.space", SUP_ARRAY_FLOAT, 4);
    v->joint_count = skin.joint_count;
    v->joint_node = skin.joint_node;
    v->joint_inverse_bind = skin.joint_inverse_bind;
    v->joint_centre = skin.joint_centre;
    v->joint_parent = sup_model_array(model, "implicit.parent", SUP_ARRAY_INT32, skin.joint_count);
    if (space == NULL || v->joint_parent == NULL || v->joint_count < 1) return fail_arrays(error, "joints");
    v->size = (double)space[3];
    bool ok = v->size > 0.0 && v->size < (double)SUP_SKIN_LIMIT;
    for (int c = 0; c < 3; c++) {
        v->centre[c] = (double)space[c];
        ok = ok && fabs(v->centre[c]) < (double)SUP_SKIN_LIMIT;
    }
    for (int32_t j = 0; ok && j < v->joint_count; j++)
        ok = v->joint_parent[j] >= -1 && v->joint_parent[j] < j;
    for (int64_t i = 0; ok && i < 3 * (int64_t)v->joint_count; i++)
        ok = fabsf(v->joint_centre[i]) < SUP_SKIN_LIMIT;
    return ok ? SUP_OK : fail_arrays(error, "joints");
}

/* What the model says it simulates is what it does. */
static bool census_is_true(const sup_model *model, const sup_implicit_view *v)
{
    const int32_t *census = sup_model_array(model, "stats", SUP_ARRAY_INT32, 2);
    return census != NULL && census[0] == v->track.row_count && census[1] == v->shown.upsample.coarse_triangle_count;
}

sup_result sup_implicit_open(const sup_model *model, sup_implicit_view *view, sup_error *error)
{
    memset(view, 0, sizeof *view);
    sup_result result = open_joints(model, view, error);
    if (result == SUP_OK) result = sup_compose_open(model, view->joint_count, &view->compose, error);
    if (result == SUP_OK) result = sup_track_open(model, &view->track, error);
    if (result == SUP_OK) result = sup_shown_open(model, view->track.row_count, &view->shown, error);
    return result == SUP_OK && !census_is_true(model, view) ? fail_arrays(error, "counts") : result;
}

sup_result sup_implicit_check(const sup_model *model, sup_error *error)
{
    sup_implicit_view view;
    sup_result result = sup_skin_check(model, error);
    return result == SUP_OK ? sup_implicit_open(model, &view, error) : result;
}

/* Both spaces are sizes from an origin: x -> size x + centre, the joint, and y -> (y - origin) / size. */
sup_affine sup_implicit_place(const sup_implicit_view *view, sup_affine joint, const double origin[3])
{
    sup_vec3d at = sup_affine_point(joint, sup_v3(view->centre[0], view->centre[1], view->centre[2]));
    joint.m[3] = (at.x - origin[0]) / view->size;
    joint.m[7] = (at.y - origin[1]) / view->size;
    joint.m[11] = (at.z - origin[2]) / view->size;
    return joint;
}

void sup_implicit_field_joint(const sup_implicit_view *view, sup_affine joint, const double origin[3], float to[12])
{
    for (int i = 0; i < 12; i++)
        to[i] = (float)((joint.m[i] - (i % 4 == 3 ? origin[i / 4] : 0.0)) / view->size);
}

void sup_implicit_sample(const void *user, const sup_field_points *points, sup_field_samples *samples,
                         sup_field_sides *sides)
{
    const sup_implicit_field *field = user;
    sup_compose_evaluate(field->compose, field->posed, points, samples, sides);
}

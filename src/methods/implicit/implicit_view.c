/* implicit_view.c - opens the arrays of an implicit model and checks their consistency. */
#include "methods/implicit/implicit.h"
#include "skin/skin.h"

static sup_result fail_arrays(sup_error *error, const char *what)
{
    return sup_fail(error, SUP_ERROR_FORMAT, "implicit.model", "",
                    "The model is damaged: its %s are inconsistent. Bind it again.", what);
}

static sup_result open_joints(const sup_model *model, sup_implicit_view *v, sup_error *error)
{
    sup_skin_model skin = sup_skin_open(model); /* checked by the caller */
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

/* Whether the statistics of the model match its arrays. */
static bool stats_match(const sup_model *model, const sup_implicit_view *v)
{
    const int32_t *stats = sup_model_array(model, "stats", SUP_ARRAY_INT32, 2);
    return stats != NULL && stats[0] == v->track.vertex_count &&
           stats[1] == v->render_mesh.upsample.coarse_triangle_count;
}

sup_result sup_implicit_open(const sup_model *model, sup_implicit_view *view, sup_error *error)
{
    memset(view, 0, sizeof *view);
    sup_result result = open_joints(model, view, error);
    if (result == SUP_OK) result = sup_compose_open(model, view->joint_count, &view->compose, error);
    if (result == SUP_OK) result = sup_track_open(model, &view->track, error);
    if (result == SUP_OK)
        result = sup_implicit_render_mesh_open(model, view->track.vertex_count, &view->render_mesh, error);
    if (result == SUP_OK)
        result = sup_track_mesh_open(model, view->track.vertex_count, view->render_mesh.upsample.coarse_triangle_count,
                                     view->render_mesh.upsample.triangles, &view->mesh, error);
    return result == SUP_OK && !stats_match(model, view) ? fail_arrays(error, "counts") : result;
}

sup_result sup_implicit_check(const sup_model *model, sup_error *error)
{
    sup_implicit_view view;
    sup_result result = sup_skin_check(model, error);
    return result == SUP_OK ? sup_implicit_open(model, &view, error) : result;
}

/* Both spaces are scaled about an origin: x -> size x + centre, then the joint, then y -> (y - origin) / size. */
sup_affine sup_implicit_joint_transform(const sup_implicit_view *view, sup_affine joint, const double origin[3])
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

/* template_check.c - refuses unusable input of a template, each case with its own error id. */
#include "anatomy/enclosure.h"
#include "anatomy/template.h"
#include "anatomy/template_check.h"
#include "anatomy/wrap.h"
#include "math/vec3.h"

#include <math.h>

static const double min_height = 0.3, max_height = 3.0; /* metres */
static const double max_bones_outside = 0.25, max_joints_outside = 0.34;

static sup_result check_shape(const sup_shape *s, const char *what, const char *name, sup_error *error)
{
    if (s->vertex_count < 0 || s->triangle_count < 0 || (s->vertex_count > 0 && s->positions == NULL) ||
        (s->triangle_count > 0 && s->triangles == NULL))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "anatomy.shape", name, "The %s has counts but no arrays.", what);
    for (int64_t i = 0; i < 3 * (int64_t)s->vertex_count; i++)
        if (!isfinite(s->positions[i]) || fabs(s->positions[i]) > 1e6)
            return sup_fail(error, SUP_ERROR_DATA, "anatomy.finite", name,
                            "Vertex %d of the %s has no finite position: repair the mesh.", (int)(i / 3), what);
    for (int64_t i = 0; i < 3 * (int64_t)s->triangle_count; i++)
        if (s->triangles[i] < 0 || s->triangles[i] >= s->vertex_count)
            return sup_fail(error, SUP_ERROR_DATA, "anatomy.triangle", name,
                            "Triangle %d of the %s refers to a vertex that does not exist: repair the mesh.",
                            (int)(i / 3), what);
    return SUP_OK;
}

static double volume_of(const sup_shape *s)
{
    double sum = 0.0;
    for (int32_t t = 0; t < s->triangle_count; t++) {
        sup_vec3d p[3];
        for (size_t k = 0; k < 3; k++) {
            const double *q = s->positions + 3 * (size_t)s->triangles[3 * (size_t)t + k];
            p[k] = sup_v3(q[0], q[1], q[2]);
        }
        sum += sup_v3_dot(p[0], sup_v3_cross(p[1], p[2])) / 6.0;
    }
    return sum;
}

static sup_result check_closed(const sup_context *context, const sup_shape *s, const char *what, const char *id,
                               sup_error *error)
{
    for (int32_t t = 0; t < s->triangle_count; t++) {
        const int32_t *c = s->triangles + 3 * (size_t)t;
        if (c[0] == c[1] || c[1] == c[2] || c[2] == c[0])
            return sup_fail(error, SUP_ERROR_DATA, id, "", "Triangle %d of the %s uses a vertex twice: clean the mesh.",
                            (int)t, what);
    }
    sup_wrap_topology topology = {0};
    sup_result result = sup_wrap_measure(context, s->vertex_count, s->triangle_count, s->triangles, &topology, error);
    if (result == SUP_OK && !topology.closed)
        return sup_fail(error, SUP_ERROR_DATA, id, "",
                        "The %s is not closed: every edge must have two triangles. Close its holes and weld its seams.",
                        what);
    return result;
}

static sup_result check_skin(const sup_context *context, const sup_shape *skin, sup_error *error)
{
    if (skin->triangle_count == 0)
        return sup_fail(error, SUP_ERROR_DATA, "anatomy.skin.none", "",
                        "The skin has no triangles: give a closed mesh.");
    sup_result result = check_closed(context, skin, "skin", "anatomy.skin.open", error);
    if (result != SUP_OK) return result;
    double low = INFINITY, high = -INFINITY;
    for (int32_t v = 0; v < skin->vertex_count; v++) {
        low = fmin(low, skin->positions[3 * (size_t)v + 1]);
        high = fmax(high, skin->positions[3 * (size_t)v + 1]);
    }
    if (!(high - low > min_height && high - low < max_height))
        return sup_fail(error, SUP_ERROR_DATA, "anatomy.units", "",
                        "The skin is %g high, but a template needs metres with Y up and a human between %g and %g "
                        "high: scale or rotate it.",
                        high - low, min_height, max_height);
    if (!(volume_of(skin) > 0.0))
        return sup_fail(error, SUP_ERROR_DATA, "anatomy.skin.inside_out", "",
                        "The skin is inside out: flip its triangles so that they face outward.");
    return SUP_OK;
}

static sup_result check_joints(const sup_context *context, const sup_anatomy_def *d, sup_error *error)
{
    const sup_joints *j = &d->joints;
    if (j->count < 1)
        return sup_fail(error, SUP_ERROR_DATA, "anatomy.skeleton.none", "",
                        "There is no skeleton: give one with joints inside the skin.");
    for (int32_t i = 0; i < j->count; i++) {
        if (j->names[i] == NULL || j->parents[i] < -1 || j->parents[i] >= i)
            return sup_fail(error, SUP_ERROR_DATA, "anatomy.skeleton.order", "",
                            "Joint %d has no name, or does not come after its parent: sort the joints.", (int)i);
        for (size_t k = 0; k < 3; k++)
            if (!isfinite(j->positions[3 * (size_t)i + k]))
                return sup_fail(error, SUP_ERROR_DATA, "anatomy.finite", j->names[i],
                                "The joint has no finite position: repair the skeleton.");
    }
    int32_t outside = sup_points_outside(context, &d->skin, j->count, j->positions, NULL, NULL);
    if (outside < 0) return sup_fail_memory(error, "a template");
    if (outside > max_joints_outside * j->count + 1.0)
        return sup_fail(
            error, SUP_ERROR_DATA, "anatomy.skeleton.outside", "",
            "%d of %d joints are outside the skin: use the same coordinates, unit and pose for skeleton and skin.",
            (int)outside, (int)j->count);
    return SUP_OK;
}

static sup_result check_organs(const sup_context *context, const sup_anatomy_def *d, sup_error *error)
{
    int64_t bones = 0, outside = 0;
    for (int32_t p = 0; p < d->organ_count; p++) {
        const sup_anatomy_organ *organ = &d->organs[p];
        sup_result result = check_shape(&organ->shape, organ->is_muscle ? "muscle" : "bone", organ->name, error);
        if (result != SUP_OK) return result;
        if (organ->joint < -1 || organ->joint >= d->joints.count)
            return sup_fail(error, SUP_ERROR_DATA, "anatomy.organs.joint", organ->name,
                            "The organ refers to a joint that does not exist: use -1 or a valid index.");
        if (organ->is_muscle || organ->shape.triangle_count == 0) continue;
        int32_t out =
            sup_points_outside(context, &d->skin, organ->shape.vertex_count, organ->shape.positions, NULL, NULL);
        if (out < 0) return sup_fail_memory(error, "a template");
        bones += organ->shape.vertex_count;
        outside += out;
    }
    if (bones == 0)
        return sup_fail(error, SUP_ERROR_DATA, "anatomy.bones.none", "",
                        "There are no bones: give a mesh of the bones.");
    if ((double)outside > max_bones_outside * (double)bones)
        return sup_fail(error, SUP_ERROR_DATA, "anatomy.bones.outside", "",
                        "%lld of %lld vertices of the bones are outside the skin: use the same coordinates, unit and "
                        "pose for bones and skin.",
                        (long long)outside, (long long)bones);
    return SUP_OK;
}

sup_result sup_template_check(const sup_context *context, const sup_anatomy_def *d, sup_error *error)
{
    sup_result result = check_shape(&d->skin, "skin", "", error);
    if (result == SUP_OK) result = check_skin(context, &d->skin, error);
    if (result == SUP_OK) result = check_joints(context, d, error);
    if (result == SUP_OK) result = check_organs(context, d, error);
    if (result == SUP_OK && d->wrap.triangle_count > 0) {
        result = check_shape(&d->wrap, "wrap", "", error);
        if (result == SUP_OK && !(volume_of(&d->wrap) > 0.0))
            result = sup_fail(error, SUP_ERROR_DATA, "anatomy.wrap.inside_out", "",
                              "The wrap is inside out: flip its triangles.");
    }
    if (result == SUP_OK && d->influence_first != NULL) {
        bool good = d->influence_first[0] == 0 && d->influence_joint != NULL && d->influence_weight != NULL;
        for (int32_t v = 0; v < d->skin.vertex_count && good; v++)
            good = d->influence_first[v] <= d->influence_first[v + 1];
        for (int32_t i = 0; good && i < d->influence_first[d->skin.vertex_count]; i++)
            good = d->influence_joint[i] >= 0 && d->influence_joint[i] < d->joints.count &&
                   isfinite(d->influence_weight[i]) && d->influence_weight[i] >= 0.0;
        if (!good)
            return sup_fail(error, SUP_ERROR_DATA, "anatomy.weights", "",
                            "The skin weights are invalid: they must be finite and refer to existing joints.");
    }
    return result;
}

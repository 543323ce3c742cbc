/* paint.c - brushes: masks over the render vertices. See paint.h. */
#include "supple/paint.h"

#include "base/base.h"
#include "math/vec3.h"

int32_t sup_rig_find_joint(const sup_rig *rig, const char *name)
{
    for (int32_t j = 0; rig != NULL && name != NULL && j < rig->joint_count; j++)
        if (sup_text_equal(rig->character->nodes[rig->joint_node[j]].name, name)) return j;
    return -1;
}

static sup_result check(const sup_rig *rig, const float *mask, int32_t index, int32_t count, const char *what,
                        sup_error *error)
{
    if (rig == NULL || mask == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "paint.null", "",
                        "A rig and an output array for the mask are needed.");
    if (index < 0 || index >= count)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "paint.index", "", "The rig has %d %ss; %s %d does not exist.",
                        count, what, what, index);
    return SUP_OK;
}

sup_result sup_paint_sphere(const sup_rig *rig, int32_t joint, double radius, double border, float *mask,
                            sup_error *error)
{
    sup_result result = check(rig, mask, joint, rig != NULL ? rig->joint_count : 0, "joint", error);
    if (result != SUP_OK) return result;
    if (!(radius >= 0.0) || !isfinite(radius) || !(border >= 0.0) || !isfinite(border))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "paint.radius", "",
                        "Radius and border of a sphere must be finite and not negative, not %g and %g.", radius,
                        border);
    sup_vec3d centre = sup_v3_load(rig->bone_head + 3 * (size_t)joint);
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        double out = sup_v3_distance(sup_v3_load(rig->positions + 3 * (size_t)v), centre) - radius;
        double t = out <= 0.0 ? 0.0 : (out < border ? out / border : 1.0);
        mask[v] = (float)(1.0 - t * t * (3.0 - 2.0 * t));
    }
    return SUP_OK;
}

/* Whether joint j is `ancestor` or one of its descendants. Parents come before children. */
static bool is_descendant(const sup_rig *rig, int32_t j, int32_t ancestor)
{
    while (j > ancestor)
        j = rig->joint_parent[j];
    return j == ancestor;
}

sup_result sup_paint_joint(const sup_rig *rig, int32_t joint, float *mask, sup_error *error)
{
    sup_result result = check(rig, mask, joint, rig != NULL ? rig->joint_count : 0, "joint", error);
    if (result != SUP_OK) return result;
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        double sum = 0.0;
        for (int32_t k = rig->influence_first[v]; k < rig->influence_first[v + 1]; k++)
            if (is_descendant(rig, rig->influence_joint[k], joint)) sum += (double)rig->influence_weight[k];
        mask[v] = (float)fmin(sum, 1.0);
    }
    return SUP_OK;
}

sup_result sup_paint_primitive(const sup_rig *rig, int32_t primitive, float *mask, sup_error *error)
{
    sup_result result =
        check(rig, mask, primitive, rig != NULL ? rig->character->primitive_count : 0, "primitive", error);
    if (result != SUP_OK) return result;
    const sup_primitive *p = &rig->character->primitives[primitive];
    for (int32_t v = 0; v < rig->vertex_count; v++)
        mask[v] = v >= p->vertex_first && v - p->vertex_first < p->vertex_count ? 1.0f : 0.0f;
    return SUP_OK;
}

static bool is_separator(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',' || c == ';';
}

static const char *skip_separators(const char *p, const char *end)
{
    while (p < end && (is_separator(*p) || *p == '#')) {
        if (*p == '#')
            while (p < end && *p != '\n')
                p++;
        else
            p++;
    }
    return p;
}

sup_result sup_paint_numbers(const sup_rig *rig, sup_bytes text, float *mask, sup_error *error)
{
    sup_result result = check(rig, mask, 0, 1, "number", error);
    if (result != SUP_OK) return result;
    const char *p = text.data, *end = p != NULL ? p + text.size : p;
    int32_t count = 0;
    for (p = skip_separators(p, end); p < end; p = skip_separators(p, end)) {
        double value = 0.0;
        const char *past = sup_parse_double(p, end, &value);
        if (past == NULL || (past < end && !is_separator(*past) && *past != '#') || !(fabs(value) < 1e30))
            return sup_fail(error, SUP_ERROR_FORMAT, "paint.number", "",
                            "Number %d of the paint text cannot be parsed.", count + 1);
        if (count < rig->vertex_count) mask[count] = (float)value;
        if (count < INT32_MAX) count++;
        p = past;
    }
    if (count != rig->vertex_count)
        return sup_fail(
            error, SUP_ERROR_DATA, "paint.count", "",
            "The paint text has %d numbers, but the character has %d vertices: one number per vertex is needed.", count,
            rig->vertex_count);
    return SUP_OK;
}

void sup_paint_blend(int32_t vertex_count, const float *mask, double value, float *values)
{
    for (int32_t v = 0; v < vertex_count; v++) {
        double fraction = fmin(fmax((double)mask[v], 0.0), 1.0); /* NaN counts as 0 */
        values[v] = (float)((double)values[v] + fraction * (value - (double)values[v]));
    }
}

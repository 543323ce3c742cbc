/* projective_state.c - memory layout of an instance, saved states, and inspection. */
#include "methods/projective/projective_state.h"

#include "contact/collider_contact.h"
#include "methods/linear/linear.h"
#include "solver/solver.h"

int32_t sup_projective_max_contacts(const sup_projective_view *view)
{
    return 2 * view->system.skin_count;
}

static sup_result find_offsets(const sup_projective_view *view, const sup_model *model, const sup_context *context,
                               sup_layout *layout, sup_projective_offsets *at)
{
    const sup_system *system = &view->system;
    size_t joints = (size_t)view->joint_count, skin = (size_t)system->skin_count, four = 4 * sizeof(float),
           three = 3 * sizeof(float);
    sup_layout linear;
    sup_result result = sup_method_layout(&sup_method_linear, model, context, &linear);
    if (result != SUP_OK) return result;
    sup_layout_add(layout, 1, sizeof(sup_projective_state));
    for (int i = 0; i < SUP_COUNT(at->joints); i++)
        at->joints[i] = sup_layout_add(layout, joints, sizeof(sup_mat34));
    for (int i = 0; i < SUP_COUNT(at->skin); i++)
        at->skin[i] = sup_layout_add(layout, skin, four);
    at->extrapolated = sup_layout_add(layout, skin, four);
    at->window = sup_layout_add(layout, skin, four);
    at->force = sup_layout_add(layout, skin, three);
    for (int i = 0; i < SUP_COUNT(at->rigid); i++)
        at->rigid[i] = sup_layout_add(layout, skin, sizeof(float));
    at->upsample = sup_layout_add(layout, 1, sup_upsample_scratch(&view->upsample));
    at->anchors = sup_layout_add(layout, (size_t)system->anchor_count, four);
    at->anchor_state = sup_layout_add(layout, 1, sup_anchors_state_size(&view->anchors));
    at->solver = sup_layout_add(layout, 1, sup_solver_state_size(system, sup_projective_max_contacts(view)));
    at->detect = sup_layout_add(layout, 1, sup_detect_state_size(&view->detect));
    at->touch = sup_layout_add(layout, 1, sup_point_contact_state_size(system->skin_count));
    at->touches = sup_layout_add(layout, skin, sizeof(sup_point_contact));
    at->contacts = sup_layout_add(layout, (size_t)sup_projective_max_contacts(view), sizeof(sup_contact));
    at->rest_damping = sup_layout_add(layout, (size_t)system->unknown_count, sizeof(sup_rest_damping_vertex));
    at->offset = sup_layout_add(layout, (size_t)view->untangle.vertex_count, three);
    at->segment_ends = sup_layout_add(layout, (size_t)view->anchors.segment_count, 2 * three);
    layout->saved_size = layout->size; /* scratch from here on; that of linear blending depends on the thread count */
    at->linear = sup_layout_add(layout, 1, linear.size);
    at->limits = sup_layout_add(layout, 1, sup_shape_limits_scratch(&view->limits));
    at->untangle = sup_layout_add(layout, 1, sup_untangle_scratch(&view->untangle));
    at->pinned = sup_layout_add(layout, skin, 1);
    at->joint_scale = sup_layout_add(layout, (size_t)view->joint_count, sizeof(float));
    at->max_change = sup_layout_add(layout, skin, sizeof(float));
    return SUP_OK;
}

sup_result sup_projective_layout(const sup_model *model, const sup_context *context, sup_layout *layout)
{
    sup_projective_view view;
    sup_projective_offsets at;
    sup_result result = sup_projective_open(model, &view, NULL);
    return result == SUP_OK ? find_offsets(&view, model, context, layout, &at) : result;
}

sup_result sup_projective_open_state(const sup_step_input *input, sup_projective_state *s)
{
    sup_layout layout = {0};
    sup_result result = sup_projective_open(input->model, &s->view, NULL);
    return result == SUP_OK ? find_offsets(&s->view, input->model, input->context, &layout, &s->at) : result;
}

sup_result sup_projective_restore(const sup_step_input *input, void *state)
{
    sup_projective_state *s = state;
    memset(&s->view, 0, sizeof s->view);
    memset(&s->at, 0, sizeof s->at);
    return input != NULL ? sup_projective_open_state(input, s) : SUP_OK;
}

/* --- Inspection --- */

/* Capsules of the bone segments, less their insets, then the spheres, as of the end of the last step. */
static void list_bones(sup_projective_state *s, float *bones)
{
    const sup_anchors *a = &s->view.anchors;
    const float *ends = sup_anchors_segment_ends(a, at(s, s->at.anchor_state));
    const sup_mat34 *joints = at(s, s->at.joints[2]);
    for (int32_t p = 0; p < a->segment_count; p++, bones += 7) {
        const float *from = ends + 8 * (size_t)p, *to = from + 4, *rest = a->segment_rest + 8 * (size_t)p;
        double length = sup_v3_distance(sup_v3_load(from), sup_v3_load(to));
        for (int k = 0; k < 3; k++) {
            double along = length > 0.0 ? ((double)to[k] - (double)from[k]) / length : 0.0;
            bones[k] = (float)((double)from[k] + (double)rest[3] * along) + s->origin[k];
            bones[3 + k] = (float)((double)to[k] - (double)rest[7] * along) + s->origin[k];
        }
        bones[6] = a->segment_radius[p];
    }
    for (int32_t b = 0; b < a->sphere_count; b++, bones += 7) {
        const float *rest = a->sphere_rest + 4 * (size_t)b, *m = joints[a->sphere_joint[b]].m;
        for (int k = 0; k < 3; k++)
            bones[k] = bones[3 + k] =
                m[4 * k] * rest[0] + m[4 * k + 1] * rest[1] + m[4 * k + 2] * rest[2] + m[4 * k + 3] + s->origin[k];
        bones[6] = rest[3];
    }
}

void sup_projective_inner(const sup_model *model, void *state, sup_inner *inner)
{
    SUP_UNUSED(model);
    sup_projective_state *s = state;
    const sup_system *system = &s->view.system;
    inner->point_count = system->unknown_count + system->anchor_count;
    inner->tet_count = sup_system_tets(system, inner->tets);
    inner->bone_count = s->view.anchors.segment_count + s->view.anchors.sphere_count;
    const float *x = sup_solver_positions(system, at(s, s->at.solver));
    for (int64_t i = 0; inner->points != NULL && i < inner->point_count; i++)
        for (int k = 0; k < 3; k++)
            inner->points[3 * i + k] = x[4 * i + k] + s->origin[k];
    if (inner->bones != NULL) list_bones(s, inner->bones);
}

double sup_projective_energy(const void *state)
{
    return ((const sup_projective_state *)state)->energy;
}

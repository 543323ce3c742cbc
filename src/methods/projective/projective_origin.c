/* projective_origin.c - an origin of the simulation near the skeleton's root, where floats are precise. */
#include "methods/projective/projective_state.h"

#include "pose/timestep.h"
#include "solver/solver.h"

/* Largest distance from the root to the simulation's origin, in sizes: floats are precise to 1e-6 of the size there. */
static const double MAX_DISTANCE = 16.0;

void sup_projective_read_joints(sup_projective_state *s, const sup_pose *pose, sup_mat34 *joints)
{
    sup_timestep_joints(pose->world, s->origin, s->view.joint_count, s->view.joint_node, s->view.joint_inverse_bind,
                        joints);
}

/* Position of the first joint in world space. */
static sup_vec3d root_position(const sup_projective_state *s, const sup_pose *pose)
{
    const float *m = pose->world[s->view.joint_node[0]].m;
    return sup_v3((double)m[3], (double)m[7], (double)m[11]);
}

bool sup_projective_choose_origin(sup_projective_state *s, const sup_pose *pose, float shift[3])
{
    if (s->view.joint_count == 0) return false;
    sup_vec3d root = root_position(s, pose), origin = sup_v3_load(s->origin);
    double limit = MAX_DISTANCE * (double)s->view.size;
    if (sup_v3_distance(root, origin) <= limit) return false;
    sup_v3_store(s->origin, sup_v3_length(root) <= limit ? sup_v3(0, 0, 0) : root);
    sup_v3_store(shift, sup_v3_sub(origin, sup_v3_load(s->origin)));
    return true;
}

void sup_projective_follow_root(sup_projective_state *s, const sup_pose *pose)
{
    float shift[3];
    if (!sup_projective_choose_origin(s, pose, shift)) return;
    float *skin = at(s, s->at.skin[0]), *previous_skin = at(s, s->at.skin[1]);
    sup_mat34 *previous = at(s, s->at.joints[0]), *stepped = at(s, s->at.joints[2]);
    sup_solver_shift(&s->view.system, at(s, s->at.solver), shift);
    for (int k = 0; k < 3; k++) {
        for (int32_t v = 0; v < s->view.system.skin_count; v++) {
            skin[4 * (size_t)v + (size_t)k] += shift[k];
            previous_skin[4 * (size_t)v + (size_t)k] += shift[k];
        }
        for (int32_t j = 0; j < s->view.joint_count; j++) {
            previous[j].m[4 * k + 3] += shift[k];
            stepped[j].m[4 * k + 3] += shift[k];
        }
    }
}

static void move_clusters(const sup_projective_state *s, const sup_upsample_clusters *clusters, const sup_skin_out *out)
{
    for (int64_t i = 0; i < (int64_t)clusters->cluster_count * SUP_UPSAMPLE_CLUSTER; i++) {
        int32_t v = clusters->render_vertex[i];
        float *p = (float *)(void *)((unsigned char *)out->positions + (size_t)(v < 0 ? 0 : v) * out->position_stride);
        for (int k = 0; k < 3 && v >= 0; k++)
            p[k] += s->origin[k];
    }
}

void sup_projective_move_to_world(const sup_projective_state *s, const sup_skin_out *out)
{
    if (out->positions == NULL || (s->origin[0] == 0.0f && s->origin[1] == 0.0f && s->origin[2] == 0.0f)) return;
    move_clusters(s, &s->view.upsample.plain, out);
    move_clusters(s, &s->view.upsample.followers, out);
}

/* test_anchors.c - positions of bases that are attached to the skeleton, in poses. */
#include "tissue/anchors.h"
#include "bind/model.h"
#include "math/affine.h"
#include "projective/fixture.h"

typedef struct attached {
    fixture f;
    sup_model *model;
    sup_anchors view;
    void *state;
    float *out;
    sup_mat34 *joints;
} attached;

/* A method that binds only the anchors of this tissue. */
static struct {
    const fixture *f;
    const sup_anchors_def *def;
} bound;

static sup_result bind_anchors(const sup_bind_input *input, sup_model_builder *builder, sup_error *error)
{
    return sup_anchors_bind(input->context, bound.f->skeleton, bound.f->tissue, bound.def, builder, "anchor", error);
}

static sup_result no_step(const sup_step_input *input, void *state, const sup_skin_out *out)
{
    SUP_UNUSED(input), SUP_UNUSED(state), SUP_UNUSED(out);
    return SUP_OK;
}

static const sup_method only_anchors = {.name = "only_anchors", .summary = "", .bind = bind_anchors, .step = no_step};

static attached attach(fixture f, const sup_anchors_def *def)
{
    attached h = {.f = f};
    sup_error error = {0};
    bound.f = &h.f;
    bound.def = def;
    CHECK_OK(sup_bind(NULL, &only_anchors, f.rig, NULL, &h.model, &error), error);
    CHECK_OK(sup_anchors_open(h.model, "anchor", &h.view, &error), error);
    h.state = aligned_alloc(64, sup_anchors_state_size(&h.view));
    h.out = malloc(4 * (size_t)h.view.anchor_count * sizeof *h.out);
    h.joints = malloc((size_t)f.rig->joint_count * sizeof *h.joints);
    for (int32_t j = 0; j < f.rig->joint_count; j++)
        h.joints[j] = sup_mat34_identity();
    return h;
}

static void detach(attached *h)
{
    sup_model_destroy(h->model);
    fixture_destroy(&h->f);
    free(h->state);
    free(h->out);
    free(h->joints);
}

static void evaluate(attached *h)
{
    sup_context context = sup_context_resolve(NULL);
    sup_anchors_evaluate(&context, &h->view, h->joints, h->state, h->out);
    for (int32_t i = 0; i < 4 * h->view.anchor_count; i++)
        CHECK(isfinite(h->out[i]));
}

static sup_vec3d anchor(const attached *h, int32_t i)
{
    return sup_v3_load(h->out + 4 * (size_t)i);
}

static sup_vec3d rest(const attached *h, int32_t i)
{
    return sup_tissue_point(h->f.tissue->base, h->view.anchor_vertex[i]);
}

/* Rotation about a point. */
static sup_affine turn_about(sup_vec3d centre, sup_vec3d axis, double angle)
{
    sup_affine r = sup_affine_from_trs(sup_v3(0, 0, 0), sup_quatd_from_axis_angle(axis, angle), sup_v3(1, 1, 1));
    sup_affine to = sup_affine_identity(), from = sup_affine_identity();
    to.m[3] = centre.x, to.m[7] = centre.y, to.m[11] = centre.z;
    from.m[3] = -centre.x, from.m[7] = -centre.y, from.m[11] = -centre.z;
    return sup_affine_multiply(to, sup_affine_multiply(r, from));
}

static void move_limb(attached *h, int32_t joint, sup_affine by)
{
    const sup_rig *rig = h->f.rig;
    for (int32_t j = 0; j < rig->joint_count; j++) {
        int32_t k = j;
        while (k >= 0 && k != joint)
            k = rig->joint_parent[k];
        if (k == joint)
            h->joints[j] = sup_affine_to_float(sup_affine_multiply(by, sup_affine_from_float(h->joints[j])));
    }
}

static const tube_joint chain[] = {{"a", -1, 1, 0, 0, true}, {"b", 0, 6, 0, 0, true}, {"c", 1, 11, 0, 0, false}};

static fixture tube(void)
{
    tube_def d = {.length = 12, .radius = 1, .rings = 49, .sides = 24, .joints = chain, .joint_count = 3};
    fixture f = fixture_tube(&d);
    sup_error error;
    CHECK_OK(fixture_make(&f, NULL, &error), error);
    CHECK_EQ(f.rig->joint_count, 3);
    return f;
}

TEST(the_rest_pose_is_exact)
{
    const char *const names[] = {"scene:human", "scene:elephant", "scene:hand"};
    for (int n = 0; n < SUP_COUNT(names); n++) {
        attached h = attach(fixture_tissue(names[n], 0.5, NULL), NULL);
        CHECK(h.view.slide_count > h.view.anchor_count / 20);
        evaluate(&h);
        for (int32_t i = 0; i < h.view.anchor_count; i++)
            CHECK_NEAR(sup_v3_distance(anchor(&h, i), rest(&h, i)), 0.0, 3e-7 * (double)h.f.rig->size);
        detach(&h);
    }
}

TEST(sliding_weights_are_a_mean_of_ring_points)
{
    attached h = attach(fixture_tissue("scene:human", 0.5, NULL), NULL);
    for (int32_t i = 0; i < h.view.slide_count; i++) {
        const float *w = h.view.slide_value + 8 * (size_t)i;
        double sum = 0.0;
        for (int k = 0; k < 4; k++) {
            CHECK(w[k] >= 0.0f && w[k] <= 1.0f);
            sum += (double)w[k];
        }
        CHECK_NEAR(sum, 1.0, 1e-6);
        /* The remaining offset from the mean of the ring points is small. */
        CHECK(sup_v3_length(sup_v3_load(w + 4)) < 2.0 * (double)w[7]);
    }
    detach(&h);
}

TEST(a_rigid_motion_of_everything_moves_the_anchors_rigidly)
{
    attached h = attach(fixture_tissue("scene:human", 0.4, NULL), NULL);
    sup_affine motion = turn_about(sup_v3(0.3, 1, -0.2), sup_v3(1, 2, -0.5), 2.5);
    motion.m[3] += 0.7;
    for (int32_t j = 0; j < h.f.rig->joint_count; j++)
        h.joints[j] = sup_affine_to_float(motion);
    evaluate(&h);
    for (int32_t i = 0; i < h.view.anchor_count; i++)
        CHECK_NEAR(sup_v3_distance(anchor(&h, i), sup_affine_point(motion, rest(&h, i))), 0.0,
                   2e-6 * (double)h.f.rig->size);
    detach(&h);
}

/* `whole`: spheres also rotate by the full angle. */
static void check_turns(bool whole)
{
    sup_anchors_def stick = {.stick = true, .whole = whole};
    attached h = attach(tube(), &stick);
    sup_vec3d centre = sup_v3(6, 0, 0);
    CHECK_EQ(h.view.slide_count, 0);
    for (int k = 1; k <= 5; k++) {
        double angle = 0.5 * k;
        for (int32_t j = 0; j < 3; j++)
            h.joints[j] = sup_mat34_identity();
        move_limb(&h, 1, turn_about(centre, sup_v3(0, 0, 1), angle));
        evaluate(&h);
        sup_affine half = turn_about(centre, sup_v3(0, 0, 1), whole ? angle : 0.5 * angle);
        sup_affine all = turn_about(centre, sup_v3(0, 0, 1), angle);
        int32_t on_sphere = 0;
        for (int32_t i = 0; i < h.view.anchor_count; i++) {
            int32_t v = h.view.anchor_vertex[i], owner = h.f.tissue->base_owner[v];
            bool sphere = h.f.tissue->base_class[v] == SUP_BASE_SPHERE;
            sup_vec3d q = rest(&h, i);
            if (sphere || owner == 1) q = sup_affine_point(sphere ? half : all, q);
            CHECK_NEAR(sup_v3_distance(anchor(&h, i), q), 0.0, 1e-5);
            on_sphere += sphere;
        }
        CHECK(on_sphere > 50);
    }
    detach(&h);
}

TEST(spheres_rotate_by_half_and_bones_fully)
{
    check_turns(false);
    check_turns(true);
}

/* Mean of posed over rest length of edges on the sphere along the limb, on the side y * side > 0. */
static double stretch_on_sphere(const attached *h, double side)
{
    const sup_tissue *t = h->f.tissue;
    int32_t *index = malloc((size_t)t->skin_count * sizeof *index), count = 0;
    double sum = 0.0;
    for (int32_t v = 0; v < t->skin_count; v++)
        index[v] = -1;
    for (int32_t i = 0; i < h->view.anchor_count; i++)
        index[h->view.anchor_vertex[i]] = i;
    for (int32_t k = 0; k < 3 * t->triangle_count; k++) {
        int32_t v = t->triangles[k], w = t->triangles[k % 3 == 2 ? k - 2 : k + 1];
        if (t->base_class[v] != SUP_BASE_SPHERE || t->base_class[w] != SUP_BASE_SPHERE) continue;
        sup_vec3d a = sup_tissue_point(t->base, v), b = sup_tissue_point(t->base, w), d = sup_v3_sub(b, a);
        if (a.y * side < 0.5 || fabs(d.x) < 0.9 * sup_v3_length(d)) continue;
        sum += sup_v3_distance(anchor(h, index[v]), anchor(h, index[w])) / sup_v3_length(d);
        count++;
    }
    free(index);
    CHECK(count > 4);
    return sum / count;
}

TEST(sliding_bases_stay_on_the_skeleton_and_stretch_and_compress)
{
    attached sliding = attach(tube(), NULL);
    sup_anchors_def stick = {.stick = true};
    attached sticking = attach(tube(), &stick);
    CHECK(sliding.view.slide_count > 150);
    sup_affine bend = turn_about(sup_v3(6, 0, 0), sup_v3(0, 0, 1), 2.0);
    move_limb(&sliding, 1, bend);
    move_limb(&sticking, 1, bend);
    evaluate(&sliding);
    evaluate(&sticking);
    const sup_volumetric_skeleton *s = sliding.f.skeleton;
    double moved = 0.0;
    for (int32_t i = 0; i < sliding.view.anchor_count; i++) {
        int32_t v = sliding.view.anchor_vertex[i], owner = sliding.f.tissue->base_owner[v];
        sup_vec3d q = anchor(&sliding, i);
        moved = fmax(moved, sup_v3_distance(q, anchor(&sticking, i)));
        if (sliding.f.tissue->base_class[v] == SUP_BASE_SPHERE) {
            CHECK_NEAR(sup_v3_distance(q, s->spheres[owner].centre), s->spheres[owner].radius, 1e-5);
            continue;
        }
        const sup_bone_segment *p = &s->segments[owner];
        sup_vec3d d = sup_v3(1, 0, 0), a = sup_v3_madd(p->from, sup_segment_inset(s, p, 0), d);
        sup_vec3d b = sup_v3_madd(p->to, -sup_segment_inset(s, p, 1), d);
        if (owner == 1) a = sup_affine_point(bend, a), b = sup_affine_point(bend, b);
        sup_vec3d on = sup_v3_lerp(a, b, sup_v3_segment_parameter(q, a, b));
        CHECK_NEAR(sup_v3_distance(q, on), p->radius, 1e-5);
    }
    CHECK(moved > 0.1);
    /* Bent towards +y: the skeleton's surface stretches on the other side, where sticking stretches none of the
     * sphere. */
    double outer = stretch_on_sphere(&sliding, -1.0), inner = stretch_on_sphere(&sliding, 1.0);
    CHECK_MSG(outer > 1.05 && inner < 0.95, "outside %g, inside %g", outer, inner);
    CHECK_NEAR(stretch_on_sphere(&sticking, -1.0), 1.0, 1e-5);
    detach(&sliding);
    detach(&sticking);
}

TEST(bones_stretch_between_their_joints)
{
    attached h = attach(tube(), NULL);
    sup_affine push = sup_affine_identity();
    push.m[3] = 2.5; /* b and c move by half of the length of the first bone */
    move_limb(&h, 1, push);
    evaluate(&h);
    const float *ends = sup_anchors_segment_ends(&h.view, h.state);
    CHECK_NEAR(ends[0], 1.0, 1e-6);
    CHECK_NEAR(ends[4], 8.5, 1e-5);
    for (int32_t i = 0; i < h.view.anchor_count; i++) {
        int32_t v = h.view.anchor_vertex[i];
        sup_vec3d q = rest(&h, i), p = anchor(&h, i);
        CHECK_NEAR(hypot(p.y, p.z), hypot(q.y, q.z), 0.25);
        if (h.f.tissue->base_class[v] == SUP_BASE_BONE && h.f.tissue->base_owner[v] == 0 && q.x < 3.5) {
            CHECK_NEAR(p.x, 1.0 + 1.5 * (q.x - 1.0), 1e-4);
            CHECK_NEAR(hypot(p.y, p.z), hypot(q.y, q.z), 1e-5);
        }
    }
    detach(&h);
}

TEST(twisting_bones_distribute_the_twist)
{
    bool twisting[3] = {true, false, false};
    sup_anchors_def def = {.twisting_joints = twisting};
    attached h = attach(tube(), &def);
    CHECK(h.view.twist_count > 200);
    double angle = 1.2;
    move_limb(&h, 1, turn_about(sup_v3(6, 0, 0), sup_v3(1, 0, 0), angle));
    evaluate(&h);
    for (int32_t i = 0; i < h.view.anchor_count; i++) {
        int32_t v = h.view.anchor_vertex[i];
        sup_vec3d q = rest(&h, i);
        double fraction = fmin(fmax((q.x - 1.0) / 5.0, 0.0), 1.0);
        if (h.f.tissue->base_class[v] == SUP_BASE_BONE && h.f.tissue->base_owner[v] == 0)
            CHECK_NEAR(sup_v3_distance(
                           anchor(&h, i),
                           sup_affine_point(
                               turn_about(q, sup_v3(1, 0, 0), 0), /* about the axis */
                               sup_affine_point(turn_about(sup_v3(0, 0, 0), sup_v3(1, 0, 0), fraction * angle), q))),
                       0.0, 1e-5);
        if (h.f.tissue->base_class[v] == SUP_BASE_SPHERE) /* both sides have the full angle there */
            CHECK_NEAR(sup_v3_distance(anchor(&h, i),
                                       sup_affine_point(turn_about(sup_v3(6, 0, 0), sup_v3(1, 0, 0), angle), q)),
                       0.0, 1e-5);
    }
    detach(&h);
}

TEST(scaled_characters_scale_and_degenerate_matrices_stay_finite)
{
    attached h = attach(fixture_tissue("scene:hand", 0.3, NULL), NULL);
    double size = (double)h.f.rig->size;
    for (int32_t j = 0; j < h.f.rig->joint_count; j++)
        for (int k = 0; k < 3; k++)
            h.joints[j].m[5 * k] = 3.0f;
    evaluate(&h);
    for (int32_t i = 0; i < h.view.anchor_count; i++)
        CHECK_NEAR(sup_v3_distance(anchor(&h, i), sup_v3_scale(rest(&h, i), 3.0)), 0.0, 1e-5 * size);
    sup_random random = {3};
    for (int kind = 0; kind < 400; kind++) {
        for (int32_t j = 0; j < h.f.rig->joint_count; j++) {
            h.joints[j] = sup_mat34_identity();
            for (int k = 0; k < 12; k++)
                if (kind % 4 == 0) h.joints[j].m[k] = (float)(sup_random_unit(&random) * 2.0 - 1.0);
        }
        sup_mat34 *one = &h.joints[kind % h.f.rig->joint_count];
        if (kind % 4 == 1) memset(one, 0, sizeof *one);
        if (kind % 4 == 2) one->m[kind % 12] = kind % 8 == 2 ? NAN : INFINITY;
        if (kind % 4 == 3) one->m[kind % 12] = (kind % 8 == 3 ? -1.0f : 1.0f) * 1e35f;
        evaluate(&h);
        for (int32_t i = 0; kind % 4 < 2 && i < h.view.anchor_count; i++) /* near the joints */
            CHECK(sup_v3_length(anchor(&h, i)) < 100.0);
    }
    detach(&h);
}

TEST(spheres_with_several_children_use_the_mean_rotation)
{
    sup_anchors_def stick = {.stick = true};
    attached h = attach(fixture_tissue("scene:tbone", 0.5, NULL), &stick);
    const sup_volumetric_skeleton *s = h.f.skeleton;
    int32_t branch = -1;
    for (int32_t k = 0; k < s->sphere_count; k++)
        if (s->node_first[s->spheres[k].node + 1] - s->node_first[s->spheres[k].node] == 3) branch = k;
    CHECK(branch >= 0);
    int32_t joint = s->spheres[branch].joint;
    move_limb(&h, joint, turn_about(s->spheres[branch].centre, sup_v3(0, 1, 0), 1.0));
    evaluate(&h);
    sup_affine half = turn_about(s->spheres[branch].centre, sup_v3(0, 1, 0), 0.5);
    int32_t seen = 0;
    for (int32_t i = 0; i < h.view.anchor_count; i++) {
        int32_t v = h.view.anchor_vertex[i];
        if (h.f.tissue->base_class[v] != SUP_BASE_SPHERE || h.f.tissue->base_owner[v] != branch) continue;
        CHECK_NEAR(sup_v3_distance(anchor(&h, i), sup_affine_point(half, rest(&h, i))), 0.0, 1e-6);
        seen++;
    }
    CHECK(seen > 5);
    detach(&h);
}

static void *array_of(const sup_model *model, const char *name, sup_array_type type)
{
    const void *array = sup_model_array(model, name, type, -1);
    CHECK(array != NULL);
    size_t offset = (size_t)((const unsigned char *)array - (const unsigned char *)sup_model_bytes(model).data);
    return model->block + offset;
}

TEST(damaged_anchors_are_refused)
{
    attached h = attach(fixture_tissue("scene:hand", 0.2, NULL), NULL);
    static const struct {
        const char *name;
        int at, value;
    } damage[] = {
        {"anchor.segment_joint", 0, 99},    {"anchor.segment_joint", 1, -2}, {"anchor.sphere_joint", 1, -1},
        {"anchor.sphere_first", 1, 9999},   {"anchor.sphere_first", 0, 1},   {"anchor.sphere_segments", 2, -1},
        {"anchor.rigid_first", 3, 1 << 29}, {"anchor.rigid_out", 3, -1},     {"anchor.ring_frame", 0, 500},
        {"anchor.slide_index", 2, 100000},  {"anchor.slide_index", 4, -1},   {"anchor.slide_index", 5, 1 << 30},
        {"anchor.joint_count", 0, 1},       {"anchor.anchor_vertex", 3, 0}};
    for (int i = 0; i < SUP_COUNT(damage); i++) {
        int32_t *array = array_of(h.model, damage[i].name, SUP_ARRAY_INT32), old = array[damage[i].at];
        sup_anchors view;
        sup_error error = {0};
        array[damage[i].at] = damage[i].value;
        CHECK_MSG(sup_anchors_open(h.model, "anchor", &view, &error) == SUP_ERROR_FORMAT, "%s", damage[i].name);
        CHECK_TEXT(error.id, "anchors.model");
        array[damage[i].at] = old;
        CHECK_OK(sup_anchors_open(h.model, "anchor", &view, &error), error);
    }
    const char *const floats[] = {"anchor.segment_rest", "anchor.sphere_rest", "anchor.rigid_rest", "anchor.ring_rest",
                                  "anchor.slide_value"};
    for (int i = 0; i < SUP_COUNT(floats); i++) {
        float *array = array_of(h.model, floats[i], SUP_ARRAY_FLOAT), old = array[3];
        sup_anchors view;
        array[3] = NAN;
        CHECK_EQ(sup_anchors_open(h.model, "anchor", &view, NULL), SUP_ERROR_FORMAT);
        array[3] = old;
    }
    sup_anchors view;
    CHECK_EQ(sup_anchors_open(h.model, "other", &view, NULL), SUP_ERROR_FORMAT);
    detach(&h);
}

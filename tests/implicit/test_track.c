/* Tracking on a tube of two bones with capsules as fields: numbers in comments are those of the checklist in
 * shared/methods/facts_implicit.md. */
#include "implicit/tube.h"
#include "test.h"

static sup_affine at_home(void)
{
    return sup_affine_identity();
}

/* RMS distance of the vertices from their rest positions moved by `root`, in mean edge lengths. */
static double off_rest(const tube *t, sup_affine root)
{
    const float *p = sup_track_positions(&t->track, t->state);
    double sum = 0.0, edge = 0.0;
    for (int64_t i = 0; i < t->track.vertex_count; i++) {
        edge += (double)t->track.target[i].edge;
        double d = sup_v3_distance(sup_v3_load(p + 4 * i), sup_affine_point(root, sup_v3_load(t->track.rest + 4 * i)));
        sum += d * d;
    }
    return sqrt(sum / t->track.vertex_count) / (edge / t->track.vertex_count);
}

/* Residual of a vertex. */
static double residual_at(const tube *t, int64_t vertex)
{
    double gradient[3];
    const float *p = sup_track_positions(&t->track, t->state) + 4 * vertex;
    return fabs(tube_value(t, p, gradient) - (double)t->track.target[vertex].iso);
}

static int32_t rows_off(const tube *t, double by)
{
    int32_t off = 0;
    for (int64_t i = 0; i < t->track.vertex_count; i++)
        off += residual_at(t, i) > by ? 1 : 0;
    return off;
}

/* 14 */
TEST(track_rest_pose_is_exact)
{
    tube t;
    tube_open(&t, 40, 16, 0.1f);
    t.input.all = true;
    for (int solver = 0; solver < 2; solver++) {
        t.input.solver = solver == 0 ? SUP_TRACK_FACTOR : SUP_TRACK_JACOBI;
        tube_bend(&t, 0.0, at_home());
        CHECK_EQ(t.report.awake, t.track.vertex_count);
        CHECK_NEAR(off_rest(&t, at_home()), 0.0, 1e-5);
    }
    tube_close(&t);
}

/* 15: and no cluster is processed. */
TEST(track_rigid_motion_moves_the_skin_rigidly)
{
    tube t;
    tube_open(&t, 40, 16, 0.1f);
    for (int i = 1; i <= 5; i++) {
        sup_affine root = sup_affine_from_trs(sup_v3(0.3 * i, -0.1 * i, 0.2),
                                              sup_quatd_from_axis_angle(sup_v3(1, 2, -1), 0.4 * i), sup_v3(1, 1, 1));
        tube_bend(&t, 0.0, root);
        CHECK_NEAR(off_rest(&t, root), 0.0, 1e-4);
        CHECK_EQ(t.report.awake, 0);
    }
    tube_close(&t);
}

/* 16 and 21: both solvers converge to the same skin, on the surface, and return. */
TEST(track_bends_on_the_surface_and_comes_back)
{
    double energy[2];
    for (int solver = 0; solver < 2; solver++) {
        tube t;
        tube_open(&t, 48, 20, 0.1f);
        if (solver == 1) {
            t.input.solver = SUP_TRACK_JACOBI;
            t.input.iterations = 200;
            t.input.tolerance = 2e-4f;
        }
        for (int i = 1; i <= 12; i++) {
            tube_bend(&t, 0.1 * i, at_home());
            CHECK_EQ(rows_off(&t, 1e-3), 0);
            CHECK(t.report.evaluations <= (int64_t)t.track.vertex_count * (solver == 0 ? 24 : 220));
        }
        energy[solver] = tube_energy(&t);
        for (int i = 11; i >= 0; i--)
            tube_bend(&t, 0.1 * i, at_home());
        CHECK_MSG(off_rest(&t, at_home()) < 0.02, "back by %g edges", off_rest(&t, at_home()));
        tube_close(&t);
    }
    CHECK_NEAR(energy[0] / energy[1], 1.0, 0.02);
}

/* 16 with contact: in a fold deeper than a limb is thick, the vertices in contact are a tenth of an edge off the
 * contact surface, each on its own side. By symmetry the contact surface is the plane between the bones. All others are
 * at their target value; those at its rim slide over it by less than a quarter of an edge. */
TEST(track_contact_surface_from_both_sides)
{
    static const double BEND = 2.5;
    tube t;
    tube_open(&t, 60, 24, 0.1f);
    t.contact = true;
    tube_bend_in(&t, BEND, 25);
    const float *p = sup_track_positions(&t.track, t.state);
    sup_vec3d across = sup_v3_unit_or(sup_v3(cos(BEND) + 1.0, sin(BEND), 0.0), sup_v3(0, 0, 0));
    sup_vec3d inside = sup_v3(cos(BEND) - 1.0, sin(BEND), 0.0);
    int32_t in_contact[2] = {0, 0}, off = 0;
    for (int64_t i = 0; i < t.track.vertex_count; i++) {
        double x = (double)t.track.rest[4 * i], edge = (double)t.track.target[i].edge;
        double away = (x > 0.0 ? 1.0 : -1.0) * sup_v3_dot(sup_v3_load(p + 4 * i), across) / edge;
        if (p[4 * i + 3] > 0.0f) {
            CHECK_MSG(fabs(away - 0.1) < 0.02, "vertex %d at %g is %g edges off the contact surface", (int)i, x, away);
            in_contact[x > 0.0]++;
        } else
            off += residual_at(&t, i) > 1e-3 ? 1 : 0;
        bool folded = sup_v3_dot(sup_v3_load(p + 4 * i), inside) > 0.0;
        CHECK_MSG(!folded || away > -0.25, "vertex %d at %g crossed by %g edges", (int)i, x, -away);
    }
    CHECK(in_contact[0] > 40 && in_contact[1] > 40);
    CHECK_MSG(off <= t.track.vertex_count / 500, "%d of %d vertices are off target", off, t.track.vertex_count);
    tube_close(&t);
}

/* A bent tube, and the work to project all of its vertices. */
static sup_track_work bent_work(tube *t, const sup_context *context, sup_track_joint *joints)
{
    tube_open(t, 30, 12, 0.1f);
    tube_bend(t, 0.5, at_home());
    for (int j = 0; j < TUBE_JOINTS; j++)
        sup_track_set_joint(&joints[j], t->joints[j], t->joints[j], sup_v3(0, 0, 0));
    t->input.joints = joints;
    sup_track_work work = {.context = context, .track = &t->track, .input = &t->input};
    work.arrays = sup_track_arrays_of(&t->track, t->state);
    for (int32_t b = 0; b < t->track.cluster_count; b++)
        work.arrays.list[b] = b;
    work.awake_count = t->track.cluster_count;
    return work;
}

/* 17: for any start. */
TEST(track_projection_never_increases_the_residual)
{
    tube t;
    sup_track_joint joints[TUBE_JOINTS];
    sup_context context = sup_context_resolve(NULL);
    sup_track_work work = bent_work(&t, &context, joints);
    sup_random random = {7};
    double *previous = malloc((size_t)t.track.vertex_count * sizeof *previous);
    for (int trial = 0; trial < 4; trial++) {
        for (int64_t i = 0; i < t.track.vertex_count; i++) {
            for (int c = 0; c < 3; c++)
                work.arrays.position[4 * i + c] += (float)(0.2 * (sup_random_unit(&random) - 0.5) * (trial + 1));
            previous[i] = residual_at(&t, i);
        }
        sup_track_project(&work, 1 + 2 * trial, -1.0f);
        for (int64_t i = 0; i < t.track.vertex_count; i++)
            CHECK_MSG(residual_at(&t, i) <= previous[i] + 1e-6, "vertex %d: %g after %g", (int)i, residual_at(&t, i),
                      previous[i]);
    }
    free(previous);
    tube_close(&t);
}

/* Vertices far outside of every field, with dual quaternion positions there too, continue from the position given by
 * their bone. */
TEST(track_lost_vertices_come_back)
{
    tube t;
    sup_track_joint joints[TUBE_JOINTS];
    sup_context context = sup_context_resolve(NULL);
    sup_track_work work = bent_work(&t, &context, joints);
    for (int64_t i = 0; i < t.track.vertex_count; i += 3)
        for (int c = 0; c < 3; c++) {
            work.arrays.position[4 * i + c] += 2.0f;
            work.arrays.transform[12 * i + 4 * c + 3] += 3.0f;
        }
    sup_track_project(&work, 8, -1.0f);
    for (int64_t i = 0; i < t.track.vertex_count; i++)
        CHECK_MSG(residual_at(&t, i) <= 1e-3, "vertex %d is off by %g", (int)i, residual_at(&t, i));
    tube_close(&t);
}

/* Values of the limb that a vertex belongs to, and of the other one, for a tube with separate limbs. */
static void limb_values(const tube *t, int64_t vertex, double own_value[2])
{
    sup_field_points points;
    sup_field_samples samples;
    sup_field_sides sides;
    const float *p = sup_track_positions(&t->track, t->state) + 4 * vertex;
    for (int k = 0; k < SUP_FIELD_LANES; k++) {
        points.x[k] = p[0];
        points.y[k] = p[1];
        points.z[k] = p[2];
        sides.own[k] = t->track.own[vertex];
    }
    t->input.field(t, &points, &samples, &sides);
    own_value[0] = (double)sides.own_limb.value[0];
    own_value[1] = (double)sides.other_limb.value[0];
}

/* Vertices of one limb that lie on the other, which satisfies the union of both, return to their own. */
TEST(track_vertices_on_other_limbs_come_back)
{
    tube t;
    sup_track_joint joints[TUBE_JOINTS];
    sup_context context = sup_context_resolve(NULL);
    sup_track_work work = bent_work(&t, &context, joints);
    t.other_limbs = true;
    t.input.field_user = &t;
    int32_t moved = 0;
    for (int64_t i = 0; i < t.track.vertex_count; i++) {
        const float *rest = t.track.rest + 4 * i;
        if (!(t.track.own[i] > 0.5f && rest[0] > 0.1f && rest[0] < 0.2f)) continue;
        work.arrays.position[4 * i] = -0.07f; /* beside the joint, on the other bone, which does not rotate */
        work.arrays.position[4 * i + 1] = rest[1];
        work.arrays.position[4 * i + 2] = rest[2];
        moved++;
    }
    CHECK(moved > 20);
    for (int trial = 0; trial < 4; trial++)
        sup_track_project(&work, 8, -1.0f);
    for (int64_t i = 0; i < t.track.vertex_count; i++) {
        const float *rest = t.track.rest + 4 * i;
        double own_value[2];
        limb_values(&t, i, own_value);
        if (t.track.own[i] > 0.5f && rest[0] > 0.1f && rest[0] < 0.2f)
            CHECK_MSG(own_value[0] > 0.35, "vertex %d has %g of its own limb", (int)i, own_value[0]);
    }
    tube_close(&t);
}

/* Two limbs folded into each other by more than their thickness: vertices are inside their own limb as much as inside
 * the other, also where both gradients point the same way. */
TEST(track_other_limbs_press_vertices_into_their_own_limb)
{
    tube t;
    sup_track_joint joints[TUBE_JOINTS];
    sup_context context = sup_context_resolve(NULL);
    sup_track_work work = bent_work(&t, &context, joints);
    t.other_limbs = true;
    sup_affine aside =
        sup_affine_from_trs(sup_v3(-0.3, 0.05, 0.0), sup_quatd_from_axis_angle(sup_v3(0, 0, 1), 0.0), sup_v3(1, 1, 1));
    CHECK(sup_affine_inverse(aside, &t.field[1])); /* into the other, along it */
    int32_t inside = 0;
    for (int64_t i = 0; i < t.track.vertex_count; i++)
        if (t.track.own[i] > 0.5f)
            sup_v3_store(work.arrays.position + 4 * i, sup_affine_point(aside, sup_v3_load(t.track.rest + 4 * i)));
        else
            memcpy(work.arrays.position + 4 * i, t.track.rest + 4 * i, 3 * sizeof(float));
    for (int64_t i = 0; i < t.track.vertex_count; i++) { /* those that are inside only now */
        double own_value[2];
        limb_values(&t, i, own_value);
        inside += own_value[1] > 0.65 ? 1 : 0;
    }
    for (int trial = 0; trial < 6; trial++)
        sup_track_project(&work, 8, -1.0f);
    int32_t through = 0;
    for (int64_t i = 0; i < t.track.vertex_count; i++) {
        double own_value[2];
        limb_values(&t, i, own_value);
        through += own_value[1] > 0.65 && own_value[0] < own_value[1] - 0.05 ? 1 : 0;
    }
    CHECK(inside > 20);
    CHECK_MSG(through <= inside / 20, "%d of %d vertices crossed", through, inside);
    tube_close(&t);
}

/* A vertex on the other side of a fold, facing its own side, is back among its neighbours after a sub-frame: on the
 * surface it would have to go around. The output before that has no spike. */
TEST(track_outliers_are_repaired_and_not_output)
{
    tube t;
    tube_open(&t, 48, 20, 0.1f);
    tube_bend_in(&t, 1.2, 12);
    int32_t outlier = 0;
    while (t.track.rest[4 * outlier] < 0.2f || t.track.rest[4 * outlier + 1] < 0.095f)
        outlier++;
    float *p = sup_track_positions(&t.track, t.state) + 4 * outlier, edge = t.track.target[outlier].edge, was[3];
    memcpy(was, p, sizeof was);
    p[0] = -t.track.rest[4 * outlier];
    p[1] = t.track.rest[4 * outlier + 1];
    float *output = malloc((size_t)t.track.vertex_count * 4 * sizeof *output);
    sup_context context = sup_context_resolve(NULL);
    CHECK(sup_track_output(&context, &t.track, t.state, 0.5f, output));
    CHECK_NEAR(output[4 * outlier], p[0], 1e-7);
    int32_t bent = sup_track_arap_smooth(&context, &t.track, t.state, 0.0f, output);
    CHECK_NEAR(output[4 * outlier], p[0], 1e-7);
    sup_track_limit_edges(&context, &t.track, t.state, bent, SUP_TRACK_LONGEST, output);
    for (int32_t e = t.track.first[outlier]; e < t.track.first[outlier + 1]; e++) {
        int64_t other = t.track.other[e];
        double now = sup_v3_distance(sup_v3_load(output + 4 * (int64_t)outlier), sup_v3_load(output + 4 * other));
        double rest =
            sup_v3_distance(sup_v3_load(t.track.rest + 4 * (int64_t)outlier), sup_v3_load(t.track.rest + 4 * other));
        CHECK_MSG(now < 2.6 * rest, "an edge is %g times as long", now / rest);
    }
    t.input.all = true;
    tube_bend(&t, 1.2, at_home());
    CHECK_MSG(sup_v3_distance(sup_v3_load(p), sup_v3_load(was)) < (double)edge, "it is %g edges away",
              sup_v3_distance(sup_v3_load(p), sup_v3_load(was)) / (double)edge);
    free(output);
    tube_close(&t);
}

/* A vertex that protrudes from the skin, though none of its edges is too long, is almost in line in the output; its
 * neighbours hardly move. */
TEST(track_protruding_vertices_are_smoothed_in_the_output)
{
    tube t;
    tube_open(&t, 48, 20, 0.1f);
    tube_bend_in(&t, 1.2, 12);
    int64_t vertex = t.track.vertex_count / 2;
    float *p = sup_track_positions(&t.track, t.state) + 4 * vertex,
          *output = malloc((size_t)t.track.vertex_count * 4 * sizeof *output);
    const float *inward = sup_track_arrays_of(&t.track, t.state).normal + 4 * vertex;
    sup_context context = sup_context_resolve(NULL);
    sup_vec3d was = sup_v3_load(p);
    double edge = (double)t.track.target[vertex].edge;
    for (int c = 0; c < 3; c++)
        p[c] -= 0.8f * (float)edge * inward[c];
    CHECK(sup_track_output(&context, &t.track, t.state, 0.0f, output));
    int32_t bent = sup_track_arap_smooth(&context, &t.track, t.state, 0.0f, output);
    sup_track_limit_edges(&context, &t.track, t.state, bent, SUP_TRACK_LONGEST, output);
    CHECK_MSG(sup_v3_distance(sup_v3_load(output + 4 * vertex), was) < 0.35 * edge, "it is %g edges off",
              sup_v3_distance(sup_v3_load(output + 4 * vertex), was) / edge);
    for (int32_t e = t.track.first[vertex]; e < t.track.first[vertex + 1]; e++) {
        const float *there = sup_track_positions(&t.track, t.state) + 4 * (int64_t)t.track.other[e];
        CHECK(sup_v3_distance(sup_v3_load(output + 4 * (int64_t)t.track.other[e]), sup_v3_load(there)) < 0.2 * edge);
    }
    p[0] = NAN;
    CHECK(!sup_track_output(&context, &t.track, t.state, 0.0f, output));
    free(output);
    tube_close(&t);
}

/* Skin that was shifted along its straight limb, or rotated about it, is at its target values but not at rest. Small
 * shifts are corrected by the anchors at the bone, which no edge resists; larger ones by a restart. */
TEST(track_straight_skin_returns_to_rest)
{
    for (int i = 0; i < 2; i++) {
        tube t;
        tube_open(&t, 120, 16, 0.05f);
        float *p = sup_track_positions(&t.track, t.state), edge = t.track.target[t.track.vertex_count / 2].edge;
        sup_quatd q = sup_quatd_from_axis_angle(sup_v3(1, 0, 0), i == 0 ? 0.0 : 6.283185307 / 16);
        for (int64_t vertex = 0; vertex < t.track.vertex_count; vertex++) {
            sup_v3_store(p + 4 * vertex, sup_quatd_rotate(q, sup_v3_load(p + 4 * vertex)));
            if (i == 0 && fabsf(p[4 * vertex]) < 0.4f) p[4 * vertex] += 0.4f * edge;
        }
        double previous = off_rest(&t, at_home());
        CHECK(previous > 0.2);
        t.input.all = true;
        t.input.iterations = 4;
        for (int frame = 0; frame < (i == 0 ? 12 : 1); frame++)
            tube_bend(&t, 0.0, at_home());
        CHECK_MSG(off_rest(&t, at_home()) < 0.1 * previous, "%g of %g edges remain", off_rest(&t, at_home()), previous);
        tube_close(&t);
    }
}

/* Skin that faces into its field is a detail that the field does not represent: it follows its neighbours, and is not
 * lost. */
TEST(track_details_follow_their_neighbours)
{
    tube t;
    tube_open(&t, 30, 12, 0.1f);
    sup_context context = sup_context_resolve(NULL);
    CHECK(t.built.target[0].gradient > 0.0f);
    /* The gradients found before, inward, are now used as normals. */
    CHECK_EQ(sup_track_set_targets(&context, &t.built, t.input.field, &t), 0);
    for (int64_t i = 0; i < t.track.vertex_count; i++)
        CHECK(t.built.target[i].gradient == 0.0f && t.built.target[i].iso > 0.4f);
    /* Only their bones define their positions: bent or not, they return after all have been shifted. */
    tube_bend(&t, 0.6, at_home());
    size_t bytes = (size_t)t.track.vertex_count * 4 * sizeof(float);
    float *p = sup_track_positions(&t.track, t.state), *was = malloc(bytes), edge = t.track.target[0].edge;
    memcpy(was, p, bytes);
    for (int64_t i = 0; i < t.track.vertex_count; i++)
        p[4 * i + 2] += 0.4f * edge;
    t.input.all = true;
    for (int frame = 0; frame < 12; frame++)
        tube_bend(&t, 0.6, at_home());
    for (int64_t i = 0; i < t.track.vertex_count; i++)
        CHECK_MSG(fabsf(p[4 * i + 2] - was[4 * i + 2]) < 0.1f * edge, "vertex %d is %g edges off", (int)i,
                  (double)(fabsf(p[4 * i + 2] - was[4 * i + 2]) / edge));
    free(was);
    tube_close(&t);
}

/* 18 */
TEST(track_mean_value_coordinates)
{
    enum { RING = 7 };
    float positions[3 * (RING + 1)];
    int32_t corners[2 * RING];
    double weights[RING + 1], sum = 0.0, at[3] = {0, 0, 0};
    sup_vec3d u = sup_v3(0.6, 0.8, 0.0), v = sup_v3(0.0, 0.0, 1.0), c = sup_v3(0.3, -2.0, 0.7);
    sup_v3_store(positions + 3 * RING, c);
    for (int i = 0; i < RING; i++) { /* a star-shaped polygon, not convex, in a tilted plane */
        double angle = 6.283185307 * (i + 0.3 * (i % 2)) / RING, r = 1.0 + 0.2 * (i % 3);
        sup_v3_store(positions + 3 * i, sup_v3_madd(sup_v3_madd(c, r * cos(angle), u), r * sin(angle), v));
        corners[2 * i] = i;
        corners[2 * i + 1] = (i + 1) % RING;
    }
    memset(weights, 0, sizeof weights);
    CHECK(sup_track_mean_value(positions, RING, RING, corners, weights));
    for (int i = 0; i < RING; i++) {
        CHECK(weights[i] >= 0.0);
        sum += weights[i];
        for (int k = 0; k < 3; k++)
            at[k] += weights[i] * (double)positions[3 * i + k];
    }
    CHECK_NEAR(sum, 1.0, 1e-12);
    for (int k = 0; k < 3; k++)
        CHECK_NEAR(at[k], positions[3 * RING + k], 1e-6);
    CHECK(!sup_track_mean_value(positions, RING, RING - 1, corners, weights)); /* open */
}

/* 20: without a surface and projection, each damped Jacobi iteration reduces the energy. */
static void no_field(const void *user, const sup_field_points *points, sup_field_samples *samples,
                     sup_field_sides *sides)
{
    SUP_UNUSED(user);
    SUP_UNUSED(points);
    memset(samples, 0, sizeof *samples);
    if (sides == NULL) return;
    memset(sides->contact, 0, sizeof sides->contact);
    memset(sides->own_value, 0, sizeof sides->own_value);
    memset(&sides->own_limb, 0, sizeof sides->own_limb);
    memset(&sides->other_limb, 0, sizeof sides->other_limb);
}

TEST(track_energy_goes_down_and_nothing_breaks_without_a_field)
{
    tube t;
    tube_open(&t, 30, 12, 0.1f);
    float *positions = sup_track_positions(&t.track, t.state);
    sup_random random = {3};
    for (int64_t i = 0; i < t.track.vertex_count; i++) {
        t.built.target[i].gradient = 0.0f;
        t.built.own[i] = -1.0f; /* no restarts */
    }
    for (int64_t i = 0; i < 4 * (int64_t)t.track.vertex_count; i++)
        positions[i] += i % 4 < 3 ? (float)(0.05 * (sup_random_unit(&random) - 0.5)) : 0.0f;
    t.input.field = no_field;
    t.input.all = true;
    t.input.iterations = 1;
    for (int solver = 0; solver < 2; solver++) {
        t.input.solver = solver == 0 ? SUP_TRACK_JACOBI : SUP_TRACK_FACTOR;
        double last = tube_energy(&t);
        for (int i = 0; i < 10; i++) {
            tube_bend(&t, 0.0, at_home());
            double energy = tube_energy(&t);
            CHECK_MSG(energy <= last * 1.0001, "%g after %g in iteration %d", energy, last, i);
            last = energy;
        }
    }
    CHECK(sup_track_usable(&t.track, t.state));
    tube_close(&t);
}

/* 19 and 24: in the tangent plane; and vertices outside of all fields, or between opposite gradients, stay finite. */
TEST(track_relaxation_is_tangential)
{
    tube t;
    tube_open(&t, 30, 12, 0.1f);
    tube_bend_in(&t, 0.9, 6);
    sup_track_arrays arrays = sup_track_arrays_of(&t.track, t.state);
    double largest = 0.0;
    for (int64_t i = 0; i < t.track.vertex_count; i++) {
        double along = 0.0, length = 0.0;
        for (int c = 0; c < 3; c++) {
            along += (double)arrays.direction[4 * i + c] * (double)arrays.normal[4 * i + c];
            length += (double)arrays.direction[4 * i + c] * (double)arrays.direction[4 * i + c];
        }
        largest = fmax(largest, sqrt(length));
        /* the normal is that after the Newton step of the iteration: slightly rotated */
        CHECK(fabs(along) <= 0.05 * sqrt(length) + 1e-6);
    }
    CHECK(largest > 0.0);
    for (int64_t i = 0; i < t.track.vertex_count; i += 7) /* far away, and on the axis between opposite gradients */
        for (int c = 0; c < 3; c++)
            arrays.position[4 * i + c] = i % 2 == 0 ? 50.0f : 0.0f;
    t.input.all = true;
    for (int i = 0; i < 3; i++)
        tube_bend(&t, 1.0, at_home());
    CHECK(sup_track_usable(&t.track, t.state));
    tube_close(&t);
}

/* The far half of a limb that does not bend sleeps. */
TEST(track_cost_depends_on_what_moves)
{
    tube t;
    tube_open(&t, 120, 16, 0.05f);
    for (int j = 0; j < TUBE_JOINTS; j++) { /* boxes of the capsules while the bend is small */
        float low = j == 0 ? -0.6f : -0.2f, high = j == 0 ? 0.2f : 0.6f;
        for (int when = 0; when < 2; when++) {
            t.boxes[when][6 * j] = low;
            t.boxes[when][6 * j + 3] = high;
        }
    }
    tube_bend(&t, 0.02, at_home());
    CHECK(t.report.awake > 0);
    CHECK_MSG(t.report.awake < t.track.vertex_count * 7 / 10, "%d of %d", t.report.awake, t.track.vertex_count);
    tube_close(&t);
}

/* test_skeleton.c - segments, spheres and radii. */
#include "projective/fixture.h"

static const char *const characters[] = {"scene:human",         "scene:elephant",           "scene:hand",
                                         "scene:tbone",         "scene:cylinder",           "fps/male/male.ini",
                                         "fps/tbone/tbone.ini", "fps/cylinder/cylinder.ini"};

static void check_tree(const sup_volumetric_skeleton *s)
{
    for (int32_t p = 0; p < s->segment_count; p++) {
        const sup_bone_segment *segment = &s->segments[p];
        CHECK(sup_segment_length(segment) > 0.0 && segment->radius > 0.0);
        CHECK(sup_v3_distance(segment->from, s->nodes[segment->node_from].position) == 0.0);
        CHECK(sup_v3_distance(segment->to, s->nodes[segment->node_to].position) == 0.0);
        int32_t ends[2] = {segment->node_from, segment->node_to},
                spheres[2] = {segment->sphere_from, segment->sphere_to};
        for (int end = 0; end < 2; end++) {
            int32_t degree = s->node_first[ends[end] + 1] - s->node_first[ends[end]], found = 0;
            CHECK((spheres[end] < 0) == (degree == 1));
            CHECK(spheres[end] == s->nodes[ends[end]].sphere);
            for (int32_t k = s->node_first[ends[end]]; k < s->node_first[ends[end] + 1]; k++)
                found += s->node_segments[k] == p;
            CHECK_EQ(found, 1);
        }
    }
    CHECK_EQ(s->node_first[s->node_count], 2 * s->segment_count);
}

/* The rig joint of a node; rigs number joints in their own order. */
static int32_t joint_of(const fixture *f, int32_t node)
{
    for (int32_t j = 0; j < f->rig->joint_count; j++)
        if (f->rig->joint_node[j] == node) return j;
    return -1;
}

static double room(const sup_volumetric_skeleton *s, const sup_bone_segment *p)
{
    double r0 = p->sphere_from < 0 ? 0.0 : s->spheres[p->sphere_from].radius;
    double r1 = p->sphere_to < 0 ? 0.0 : s->spheres[p->sphere_to].radius;
    return sup_segment_length(p) - (r0 + r1 + 2.0 * p->radius);
}

TEST(bones_and_spheres_fit_into_every_segment)
{
    for (int i = 0; i < SUP_COUNT(characters); i++) {
        fixture f = fixture_tissue(characters[i], 0.5, NULL);
        check_tree(f.skeleton);
        for (int32_t p = 0; p < f.skeleton->segment_count; p++)
            CHECK_MSG(room(f.skeleton, &f.skeleton->segments[p]) >= 0.0, "%s: segment %d", characters[i], p);
        fixture_destroy(&f);
    }
}

static const tube_joint straight[] = {{"a", -1, 2, 0, 0, true}, {"b", 0, 6, 0, 0, true}, {"c", 1, 10, 0, 0, false}};

static tube_def tube_of(const tube_joint *joints, int32_t count)
{
    return (tube_def){.length = 12, .radius = 1, .rings = 49, .sides = 24, .joints = joints, .joint_count = count};
}

TEST(radii_are_three_quarters_of_the_distance_to_the_skin)
{
    tube_def d = tube_of(straight, 3);
    fixture f = fixture_tube(&d);
    sup_error error;
    CHECK_OK(fixture_make(&f, NULL, &error), error);
    CHECK_EQ(f.skeleton->segment_count, 2);
    CHECK_EQ(f.skeleton->sphere_count, 1);
    double inner = cos(3.14159265358979 / 24); /* distance of the faces of the tube, not of its vertices */
    for (int32_t p = 0; p < 2; p++)
        CHECK_NEAR(f.skeleton->segments[p].radius, 0.75 * inner, 1e-5);
    CHECK_NEAR(f.skeleton->spheres[0].radius, 0.75 * inner, 1e-5);
    double bones[3] = {0.2, 0, 0}, spheres[3] = {0, 0.5, 0};
    bool soft[3] = {false, true, false};
    sup_tissue_def def = {.skeleton = {.bone_radius = bones, .sphere_radius = spheres, .virtual_joints = soft}};
    CHECK_OK(fixture_make(&f, &def, &error), error);
    CHECK_NEAR(f.skeleton->segments[0].radius, 0.2, 0);
    CHECK_NEAR(f.skeleton->segments[1].radius, 0.75 * inner, 1e-5);
    CHECK_NEAR(f.skeleton->spheres[0].radius, 0.5, 0);
    CHECK(!f.skeleton->segments[0].is_virtual && f.skeleton->segments[1].is_virtual &&
          !f.skeleton->spheres[0].is_virtual);
    for (int32_t v = 0; v < f.tissue->skin_count; v++) /* no base is attached to a virtual bone */
        CHECK(f.tissue->base_class[v] != SUP_BASE_BONE || f.tissue->base_owner[v] == 0);
    CHECK(f.report.free_bases > 300);
    fixture_destroy(&f);
}

TEST(too_large_radii_are_fitted_in_any_order)
{
    tube_def d = tube_of(straight, 3);
    fixture f = fixture_tube(&d);
    sup_error error;
    sup_tissue_def def = {.skeleton = {.radius_scale = 5.0}};
    CHECK_OK(fixture_make(&f, &def, &error), error);
    CHECK_EQ(f.report.skeleton.fitted_segments, 2);
    for (int32_t p = 0; p < 2; p++) {
        CHECK(room(f.skeleton, &f.skeleton->segments[p]) >= 0.0);
        CHECK_NEAR(room(f.skeleton, &f.skeleton->segments[p]), 0.0, 1e-6);
    }
    fixture_destroy(&f);
}

TEST(one_point_near_the_skin_does_not_make_a_bone_thin)
{
    /* The bone leaves the skin at its end. */
    const tube_joint out[] = {
        {"a", -1, 2, 0, 0, true}, {"b", 0, 6, 0, 0, true}, {"c", 1, 10, 1.1, 0, true}, {"d", 2, 10.5, 0.5, 0, true}};
    tube_def d = tube_of(out, 4);
    fixture f = fixture_tube(&d);
    sup_error error;
    CHECK_OK(fixture_make(&f, NULL, &error), error);
    CHECK(f.report.skeleton.thin_segments >= 1);
    for (int32_t p = 0; p < f.skeleton->segment_count; p++) {
        const sup_bone_segment *segment = &f.skeleton->segments[p];
        if (segment->joint == joint_of(&f, 1)) CHECK(segment->radius > 0.08);
    }
    fixture_destroy(&f);
}

TEST(helpers_outside_and_coincident_joints_make_no_segments)
{
    const tube_joint joints[] = {{"ground", -1, 6, -9, 0, false}, {"a", 0, 2, 0, 0, true},
                                 {"twin", 1, 2, 0, 0, true},      {"b", 2, 6, 0, 0, true},
                                 {"target", 0, 30, 5, 0, false},  {"pole", 4, 31, 5, 0, false},
                                 {"end", 3, 11, 0, 0, false},     {"aside", 3, 6, 4, 0, false}};
    tube_def d = tube_of(joints, 8);
    fixture f = fixture_tube(&d);
    sup_error error;
    CHECK_OK(fixture_make(&f, NULL, &error), error);
    check_tree(f.skeleton);
    CHECK_EQ(f.report.skeleton.dropped_joints, 4);
    CHECK_EQ(f.report.skeleton.joined_joints, 1);
    CHECK_EQ(f.skeleton->segment_count, 2);
    CHECK_EQ(f.skeleton->segments[0].joint, joint_of(&f, 2)); /* the coincident joint has the bone to b */
    CHECK_EQ(f.skeleton->segments[1].child, joint_of(&f, 6));
    CHECK_EQ(f.skeleton->joint_node[joint_of(&f, 7)], f.skeleton->joint_node[joint_of(&f, 3)]);
    fixture_destroy(&f);
}

TEST(a_flat_list_of_joints_becomes_a_chain)
{
    const tube_joint joints[] = {{"root", -1, 1, 0, 0, true},
                                 {"three", 0, 9, 0, 0, true},
                                 {"one", 0, 4, 0, 0, true},
                                 {"two", 0, 6.5, 0, 0, true}};
    tube_def d = tube_of(joints, 4);
    fixture f = fixture_tube(&d);
    sup_error error;
    CHECK_OK(fixture_make(&f, NULL, &error), error);
    check_tree(f.skeleton);
    CHECK_EQ(f.report.skeleton.chained_joints, 2);
    int32_t carried_by_root = 0;
    for (int32_t p = 0; p < f.skeleton->segment_count; p++) {
        const sup_bone_segment *segment = &f.skeleton->segments[p];
        carried_by_root += segment->joint == joint_of(&f, 0);
        if (segment->child == joint_of(&f, 1)) CHECK_EQ(segment->joint, joint_of(&f, 3));
        if (segment->child == joint_of(&f, 3)) CHECK_EQ(segment->joint, joint_of(&f, 2));
    }
    CHECK_EQ(carried_by_root, 1);
    fixture_destroy(&f);
}

TEST(separate_skeletons_in_one_skin_are_joined_by_virtual_segments)
{
    const tube_joint joints[] = {
        {"a", -1, 1, 0, 0, true}, {"b", 0, 4, 0, 0, true}, {"c", -1, 7, 0, 0, true}, {"d", 2, 10, 0, 0, false}};
    tube_def d = tube_of(joints, 4);
    fixture f = fixture_tube(&d);
    sup_error error;
    CHECK_OK(fixture_make(&f, NULL, &error), error);
    check_tree(f.skeleton);
    CHECK_EQ(f.report.skeleton.joining_segments, 1);
    int32_t joins = 0;
    for (int32_t p = 0; p < f.skeleton->segment_count; p++) {
        const sup_bone_segment *segment = &f.skeleton->segments[p];
        if (!segment->is_virtual) continue;
        joins++;
        CHECK(fmax(segment->from.x, segment->to.x) == 7.0 &&
              fmin(segment->from.x, segment->to.x) > 4.5); /* b's tail to c */
    }
    CHECK_EQ(joins, 1);
    fixture_destroy(&f);
}

TEST(a_single_joint_gets_a_tail_and_no_joint_inside_is_refused)
{
    const tube_joint one[] = {{"a", -1, 2, 0, 0, true}};
    tube_def d = tube_of(one, 1);
    fixture f = fixture_tube(&d);
    sup_error error;
    CHECK_OK(fixture_make(&f, NULL, &error), error);
    CHECK_EQ(f.skeleton->segment_count, 1);
    CHECK_EQ(f.skeleton->sphere_count, 0);
    CHECK(f.skeleton->segments[0].to.x > 8.0 && f.skeleton->segments[0].to.x < 12.2);
    fixture_destroy(&f);
}

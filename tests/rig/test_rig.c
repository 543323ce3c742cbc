/* The rig of small characters: one space, one skin, clean weights. */
#include "rig/make.h"

TEST(tube_welds_its_seam)
{
    sup_character *c = make_build(make_tube(6));
    sup_rig *rig = make_rig(c, NULL);
    CHECK_EQ(rig->vertex_count, MAKE_TUBE_VERTICES);
    CHECK_EQ(rig->skin_vertex_count, MAKE_TUBE_WELDED);
    CHECK_EQ(rig->skin_triangle_count, MAKE_TUBE_TRIANGLES);
    CHECK_EQ(rig->component_count, 1);
    CHECK_EQ(rig->main_component, 0);
    CHECK_EQ(rig->joint_count, 2);
    CHECK_EQ(rig->max_influences, 2);
    CHECK(make_find(rig->defects, rig->defect_count, SUP_DEFECT_HOLE) == NULL);
    CHECK(make_find(rig->defects, rig->defect_count, SUP_DEFECT_MISORIENTED_EDGE) == NULL);
    CHECK(make_find(rig->defects, rig->defect_count, SUP_DEFECT_REST_DIFFERS_FROM_BIND) == NULL);
    for (int32_t s = 0; s < rig->skin_vertex_count; s++)
        CHECK_EQ(rig->vertex_to_skin[rig->skin_to_vertex[s]], s);
    CHECK_NEAR(make_skinning_error(c, rig, 5, 1), 0.0, 1e-6);
    sup_rig_destroy(rig);
    sup_character_destroy(c);
}

static sup_rig *rig_of(make_data *d, sup_character **c)
{
    *c = make_build(d);
    sup_rig *rig = make_rig(*c, NULL);
    make_check_rig(*c, rig);
    return rig;
}

static void release(sup_rig *rig, sup_character *c)
{
    sup_rig_destroy(rig);
    sup_character_destroy(c);
}

static const sup_defect *found(const sup_rig *rig, sup_defect_id id)
{
    return make_find(rig->defects, rig->defect_count, id);
}

/* The rig must fail; the error id must be that of the defect, and the inspection must list it. */
static void check_refused(make_data *d, const char *id, sup_defect_id defect)
{
    sup_character *c = make_build(d);
    sup_rig *rig = NULL;
    sup_defects *defects = NULL;
    sup_error error = {0};
    CHECK_EQ(sup_rig_create(NULL, c, NULL, &rig, &error), SUP_ERROR_DATA);
    CHECK(rig == NULL);
    CHECK_TEXT(error.id, id);
    CHECK_OK(sup_character_inspect(NULL, c, &defects, &error), error);
    const sup_defect *item = make_find(defects->items, defects->count, defect);
    CHECK(item != NULL && item->severity == SUP_SEVERITY_FATAL);
    sup_defects_destroy(defects);
    sup_character_destroy(c);
}

TEST(defect_and_severity_names_are_complete)
{
    for (int id = 0; id < SUP_DEFECT_COUNT; id++)
        CHECK(sup_defect_name((sup_defect_id)id) != NULL && sup_defect_name((sup_defect_id)id)[0] != '\0');
    CHECK_TEXT(sup_defect_name(SUP_DEFECT_NON_MANIFOLD_EDGE), "non-manifold edge");
    CHECK_TEXT(sup_defect_name((sup_defect_id)-1), "unknown defect");
    CHECK_TEXT(sup_defect_name(SUP_DEFECT_COUNT), "unknown defect");
    CHECK_TEXT(sup_severity_name(SUP_SEVERITY_FATAL), "fatal");
    CHECK_TEXT(sup_severity_name((sup_severity)9), "unknown severity");
}

TEST(arguments_are_checked)
{
    sup_character *c = make_build(make_tube(6));
    sup_rig *rig = NULL;
    sup_defects *defects = NULL;
    CHECK_EQ(sup_rig_create(NULL, NULL, NULL, &rig, NULL), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_rig_create(NULL, c, NULL, NULL, NULL), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_character_inspect(NULL, NULL, &defects, NULL), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_character_inspect(NULL, c, NULL, NULL), SUP_ERROR_ARGUMENT);
    sup_rig_def def = {.weights = (sup_weight_source)99};
    CHECK_EQ(sup_rig_create(NULL, c, &def, &rig, NULL), SUP_ERROR_ARGUMENT);
    def = (sup_rig_def){.max_influences = -1};
    CHECK_EQ(sup_rig_create(NULL, c, &def, &rig, NULL), SUP_ERROR_ARGUMENT);
    def = (sup_rig_def){.weld_distance = NAN};
    CHECK_EQ(sup_rig_create(NULL, c, &def, &rig, NULL), SUP_ERROR_ARGUMENT);
    CHECK(rig == NULL && defects == NULL);
    sup_rig_destroy(NULL);
    sup_defects_destroy(NULL);
    sup_character_destroy(c);
}

TEST(negative_weld_distance_welds_nothing)
{
    sup_character *c = make_build(make_tube(6));
    sup_rig_def def = {.weld_distance = -1.0f};
    sup_rig *rig = make_rig(c, &def);
    CHECK_EQ(rig->skin_vertex_count, MAKE_TUBE_VERTICES);
    CHECK(found(rig, SUP_DEFECT_HOLE) != NULL);
    release(rig, c);
}

TEST(rest_pose_may_differ_from_bind_pose)
{
    make_data *d = make_tube(6);
    d->nodes[1].rest.rotation = (sup_quat){0.6f, 0, 0, 0.8f}; /* after the skin was created */
    sup_character *c;
    sup_rig *rig = rig_of(d, &c);
    const sup_defect *defect = found(rig, SUP_DEFECT_REST_DIFFERS_FROM_BIND);
    CHECK(defect != NULL && defect->count == 1 && defect->first == 1);
    CHECK_NEAR(make_skinning_error(c, rig, 5, 2), 0.0, 1e-6);
    for (int32_t i = 0; i < 3 * c->vertex_count; i++)
        CHECK_NEAR(rig->positions[i], c->positions[i], 0.0); /* the root is at its bind position */
    release(rig, c);
}

/* A second skin over the same joints with another mesh space. */
static void add_second_skin(make_data *d, bool consistent)
{
    make_tube(6);
    int32_t node = make_node(d, "second", -1, 0, 0, 0), skin = make_skin(d, 0, 2);
    sup_affine space = sup_affine_from_trs(sup_v3(1, 2, 3), (sup_quatd){0, 0.6, 0, 0.8}, sup_v3(0.01, 0.01, 0.01));
    for (int32_t b = 2; b < 4; b++) {
        sup_affine map = sup_affine_multiply(sup_affine_from_float(d->bones[b].inverse_bind), space);
        if (!consistent && b == 3) map.m[3] += 0.5;
        d->bones[b].inverse_bind = sup_affine_to_float(map);
    }
    make_primitive(d, "second", node, skin);
    sup_affine back;
    CHECK(sup_affine_inverse(space, &back));
    int32_t first = d->c.vertex_count;
    for (int i = 0; i < 3; i++) {
        sup_vec3d p = sup_affine_point(back, sup_v3(0.2 * i, 4.0, 0.3 * i * i));
        make_vertex(d, (float)p.x, (float)p.y, (float)p.z);
        make_influence(d, 2, 0.25f);
        make_influence(d, 3, 0.75f);
    }
    make_triangle(d, first, first + 1, first + 2);
}

TEST(skins_with_shared_joints_use_one_space)
{
    make_data *d = make_begin();
    add_second_skin(d, true);
    sup_character *c;
    sup_rig *rig = rig_of(d, &c);
    CHECK_EQ(rig->joint_count, 2);
    CHECK_NEAR(make_skinning_error(c, rig, 5, 3), 0.0, 1e-6);
    CHECK_NEAR(rig->positions[3 * MAKE_TUBE_VERTICES + 1], 4.0, 1e-4);
    release(rig, c);
}

TEST(incompatible_skins_get_separate_joints)
{
    make_data *d = make_begin();
    add_second_skin(d, false);
    sup_character *c;
    sup_rig *rig = rig_of(d, &c);
    CHECK_EQ(rig->joint_count, 3);
    CHECK_NEAR(make_skinning_error(c, rig, 5, 4), 0.0, 1e-6);
    release(rig, c);
}

/* An unskinned triangle attached to `node`. */
static void add_prop(make_data *d, int32_t node)
{
    make_primitive(d, "prop", node, -1);
    int32_t first = make_vertex(d, 0, 0, 0);
    make_vertex(d, 1, 0, 0);
    make_vertex(d, 0, 1, 0);
    make_triangle(d, first, first + 1, first + 2);
}

TEST(props_move_with_their_nodes_in_every_pose)
{
    make_data *d = make_tube(6);
    int32_t between = make_node(d, "between", 1, 1, 1, 0), hand = make_node(d, "hand", between, 0, 1, 0);
    int32_t apart = make_node(d, "apart", -1, 9, 0, 0);
    d->nodes[between].rest.rotation = (sup_quat){0, 0, 0.6f, 0.8f};
    d->nodes[hand].rest.scale = (sup_vec3){2, 3, -1};
    d->nodes[1].rest.rotation = (sup_quat){0.6f, 0, 0, 0.8f};
    add_prop(d, hand);
    add_prop(d, apart);
    add_prop(d, 1); /* on a joint itself */
    sup_character *c;
    sup_rig *rig = rig_of(d, &c);
    CHECK_NEAR(make_skinning_error(c, rig, 5, 5), 0.0, 1e-6);
    CHECK_EQ(rig->joint_count, 4);
    CHECK(rig->primitive_role[0] == SUP_PRIMITIVE_SKIN && rig->primitive_role[1] == SUP_PRIMITIVE_PROP);
    /* In the bind pose the prop of the hand follows the bind pose of the arm, not its rest pose. */
    const float *p = rig->positions + 3 * MAKE_TUBE_VERTICES;
    sup_affine local = make_world(d, hand), arm,
               tip = sup_affine_from_trs(sup_v3(0, 3, 0), (sup_quatd){0, 0, 0, 1}, sup_v3(1, 1, 1));
    CHECK(sup_affine_inverse(make_world(d, 1), &arm));
    sup_vec3d expected = sup_affine_point(sup_affine_multiply(tip, sup_affine_multiply(arm, local)), sup_v3(0, 0, 0));
    CHECK_NEAR(sup_v3_distance(sup_v3_load(p), expected), 0.0, 1e-5);
    release(rig, c);
}

TEST(prop_hidden_by_scale_zero_keeps_its_shape)
{
    make_data *d = make_tube(6);
    int32_t hidden = make_node(d, "hidden", 1, 1, 1, 0);
    d->nodes[hidden].rest.scale = (sup_vec3){0, 0, 0};
    add_prop(d, hidden);
    sup_character *c;
    sup_rig *rig = rig_of(d, &c);
    CHECK(found(rig, SUP_DEFECT_ZERO_SCALE_JOINT) != NULL);
    CHECK_NEAR(rig->positions[3 * MAKE_TUBE_VERTICES + 3], 2.0, 1e-6);
    CHECK_NEAR(make_skinning_error(c, rig, 5, 6), 0.0, 1e-6);
    release(rig, c);
}

TEST(mirrored_primitives_keep_their_orientation)
{
    make_data *d = make_tube(6);
    for (int32_t b = 0; b < 2; b++) /* the mesh is stored mirrored, and its bind mirrors it again */
        for (int i = 0; i < 3; i++)
            d->bones[b].inverse_bind.m[4 * i] *= -1.0f;
    sup_character *c;
    sup_rig *rig = rig_of(d, &c);
    for (int32_t t = 0; t < rig->skin_triangle_count; t++) {
        const int32_t *corner = rig->skin_triangles + 3 * (size_t)t;
        sup_vec3d a = sup_v3_load(rig->skin_positions + 3 * corner[0]);
        sup_vec3d e = sup_v3_sub(sup_v3_load(rig->skin_positions + 3 * corner[1]), a);
        sup_vec3d f = sup_v3_sub(sup_v3_load(rig->skin_positions + 3 * corner[2]), a);
        CHECK(sup_v3_dot(sup_v3_cross(e, f), sup_v3_sub(a, sup_v3(0, 3, 0))) > 0.0);
        CHECK(sup_v3_dot(sup_v3_load(rig->normals + 3 * rig->skin_to_vertex[corner[0]]),
                         sup_v3_sub(a, sup_v3(0, 3, 0))) > 0.0);
    }
    release(rig, c);
}

TEST(normals_of_the_file_are_transformed_to_the_bind_pose)
{
    make_data *d = make_tube(6);
    d->c.normals = d->normals;
    for (int32_t v = 0; v < d->c.vertex_count; v++)
        d->normals[3 * v] = 1.0f;
    d->normals[4] = NAN; /* vertex 1 */
    for (int32_t b = 0; b < 2; b++) {
        sup_affine scale = sup_affine_from_trs(sup_v3(0, 0, 0), (sup_quatd){0, 0, 0.6, 0.8}, sup_v3(2, 2, 2));
        sup_affine map = sup_affine_multiply(sup_affine_from_float(d->bones[b].inverse_bind), scale);
        d->bones[b].inverse_bind = sup_affine_to_float(map);
    }
    sup_character *c;
    sup_rig *rig = rig_of(d, &c);
    CHECK_NEAR(rig->normals[6], 1.0 - 2 * 0.36, 1e-6);
    CHECK_NEAR(rig->normals[7], 2 * 0.6 * 0.8, 1e-6);
    const sup_defect *defect = found(rig, SUP_DEFECT_NON_FINITE_NORMAL);
    CHECK(defect != NULL && defect->count == 1 && defect->first == 1 && defect->severity == SUP_SEVERITY_REPAIRED);
    release(rig, c);
}

TEST(nonfinite_positions_are_repaired_or_rejected)
{
    make_data *d = make_tube(6);
    d->positions[3 * 40 + 1] = INFINITY;
    d->positions[3 * 41] = 1e30f; /* its square overflows a float */
    sup_character *c;
    sup_rig *rig = rig_of(d, &c);
    const sup_defect *defect = found(rig, SUP_DEFECT_NON_FINITE_POSITION);
    CHECK(defect != NULL && defect->count == 2 && defect->first == 40);
    CHECK(fabsf(rig->positions[3 * 40 + 1] - 2.25f) < 0.8f); /* between its neighbours, rows 2 to 4 */
    CHECK(rig->size < 10.0f);
    release(rig, c);
    d = make_tube(6);
    for (int32_t i = 0; i < d->c.vertex_count; i++)
        d->positions[3 * i + i % 3] = NAN;
    check_refused(d, "rig.non_finite_position", SUP_DEFECT_NON_FINITE_POSITION);
}

TEST(weights_are_cleaned)
{
    make_data *d = make_tube(6);
    float *w = d->influence_weight;
    w[0] = NAN, w[1] = 0.5f;   /* vertex 0: joint 1 alone */
    w[2] = -3.0f, w[3] = 2.0f; /* vertex 1: joint 1 alone, unnormalised */
    d->influence_bone[5] = 0;  /* vertex 2: joint 0 twice */
    w[4] = 0.5f, w[5] = 0.5f;
    w[6] = w[7] = 0.0f;           /* vertex 3 and its welded copy: nothing */
    w[8] = INFINITY, w[9] = 0.0f; /* vertex 4: nothing */
    sup_character *c;
    sup_rig *rig = rig_of(d, &c);
    CHECK(found(rig, SUP_DEFECT_NON_FINITE_WEIGHT)->count == 2);
    CHECK(found(rig, SUP_DEFECT_NEGATIVE_WEIGHT)->count == 1);
    CHECK(found(rig, SUP_DEFECT_UNNORMALISED_WEIGHTS)->count == 2);
    CHECK(found(rig, SUP_DEFECT_DUPLICATE_INFLUENCE)->count == 1);
    CHECK(found(rig, SUP_DEFECT_NO_INFLUENCE)->count == 2);
    CHECK(found(rig, SUP_DEFECT_NO_INFLUENCE)->severity == SUP_SEVERITY_REPAIRED);
    CHECK_EQ(rig->influence_joint[rig->influence_first[0]], 1);
    CHECK_EQ(rig->influence_joint[rig->influence_first[1]], 1);
    CHECK_EQ(rig->influence_first[3] - rig->influence_first[2], 1);
    release(rig, c);
}

TEST(influences_of_one_joint_are_added)
{
    make_data *d = make_tube(6);
    int32_t v = make_vertex(d, 0, 3, 0);
    make_influence(d, 0, 0.3f);
    make_influence(d, 1, 0.4f);
    make_influence(d, 0, 0.3f);
    make_triangle(d, 0, 1, v);
    sup_character *c;
    sup_rig *rig = rig_of(d, &c);
    int32_t k = rig->influence_first[v];
    CHECK_EQ(rig->influence_first[v + 1] - k, 2);
    CHECK(rig->influence_joint[k] == 0 && rig->influence_joint[k + 1] == 1);
    CHECK_NEAR(rig->influence_weight[k], 0.6, 1e-6);
    CHECK_EQ(found(rig, SUP_DEFECT_DUPLICATE_INFLUENCE)->first, v);
    release(rig, c);
}

TEST(vertex_without_weights_uses_its_welded_neighbour)
{
    make_data *d = make_tube(6);
    int32_t twin = 4 * 13, bare = twin + 12; /* first and last column of row 4, at one position */
    d->influence_weight[2 * twin] = 0.25f;
    d->influence_weight[2 * twin + 1] = 0.75f;
    d->influence_weight[2 * bare] = d->influence_weight[2 * bare + 1] = 0.0f;
    sup_character *c;
    sup_rig *rig = rig_of(d, &c);
    int32_t k = rig->influence_first[bare];
    CHECK(rig->influence_joint[k] == 1 && rig->influence_weight[k] == 0.75f && rig->influence_weight[k + 1] == 0.25f);
    release(rig, c);
}

TEST(influences_are_limited_or_rigid)
{
    sup_character *c = make_build(make_tube(6));
    sup_rig_def cap = {.max_influences = 1}, rigid = {.weights = SUP_WEIGHTS_RIGID};
    sup_rig *a = make_rig(c, &cap), *b = make_rig(c, &rigid);
    make_check_rig(c, a);
    CHECK(a->max_influences == 1 && b->max_influences == 1);
    for (int32_t v = 0; v < c->vertex_count; v++) {
        CHECK_EQ(a->influence_joint[v], c->positions[3 * v + 1] > 3.0f ? 1 : 0);
        CHECK_EQ(a->influence_joint[v], b->influence_joint[v]);
    }
    sup_rig_destroy(a);
    release(b, c);
}

/* Removes all weights. */
static make_data *make_bare_tube(void)
{
    make_data *d = make_tube(6);
    memset(d->influence_first, 0, sizeof d->influence_first);
    return d;
}

TEST(missing_weights_are_computed)
{
    sup_character *c = make_build(make_bare_tube());
    static const sup_weight_source sources[] = {SUP_WEIGHTS_AUTO, SUP_WEIGHTS_HEAT, SUP_WEIGHTS_NEAREST,
                                                SUP_WEIGHTS_RIGID};
    for (int i = 0; i < 4; i++) {
        sup_rig_def def = {.weights = sources[i]};
        sup_rig *rig = make_rig(c, &def);
        make_check_rig(c, rig);
        CHECK(found(rig, SUP_DEFECT_NO_INFLUENCE)->severity == SUP_SEVERITY_NOTE);
        for (int32_t v = 0; v < c->vertex_count; v++) { /* ends belong to their bones, seams have equal weights */
            int32_t strongest = rig->influence_joint[rig->influence_first[v]];
            if (c->positions[3 * v + 1] < 1.0f) CHECK_EQ(strongest, 0);
            if (c->positions[3 * v + 1] > 5.0f) CHECK_EQ(strongest, 1);
            int32_t same = rig->skin_to_vertex[rig->vertex_to_skin[v]];
            CHECK_EQ(strongest, rig->influence_joint[rig->influence_first[same]]);
            CHECK(rig->influence_weight[rig->influence_first[v]] == rig->influence_weight[rig->influence_first[same]]);
        }
        sup_rig_destroy(rig);
    }
    sup_rig_def file = {.weights = SUP_WEIGHTS_FILE};
    sup_rig *none = NULL;
    sup_error error = {0};
    CHECK_EQ(sup_rig_create(NULL, c, &file, &none, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "rig.no_influence");
    sup_character_destroy(c);
}

TEST(requested_weights_replace_those_of_the_file)
{
    sup_character *c = make_build(make_tube(6));
    sup_rig_def def = {.weights = SUP_WEIGHTS_NEAREST};
    sup_rig *rig = make_rig(c, &def);
    make_check_rig(c, rig);
    CHECK_EQ(rig->influence_first[1], 1); /* blended in the file, rigid at the end here */
    CHECK(found(rig, SUP_DEFECT_NO_INFLUENCE) == NULL);
    release(rig, c);
}

TEST(component_without_weights_uses_the_nearest_bone)
{
    make_data *d = make_tube(6);
    int32_t first = make_vertex(d, 0, 7, 0);
    make_vertex(d, 1, 7, 0);
    make_vertex(d, 0, 7, 1);
    make_triangle(d, first, first + 1, first + 2);
    sup_character *c;
    sup_rig *rig = rig_of(d, &c);
    CHECK_EQ(rig->influence_joint[rig->influence_first[first]], 1);
    CHECK_EQ(found(rig, SUP_DEFECT_ISLAND)->count, 1);
    CHECK_EQ(found(rig, SUP_DEFECT_ISLAND)->first, first);
    CHECK(rig->main_component == 0 && rig->component_count == 2);
    release(rig, c);
}

TEST(surface_defects_are_counted)
{
    make_data *d = make_tube(6);
    d->c.triangle_count -= 24; /* both caps off, but not their vertices */
    d->primitives[0].triangle_count -= 24;
    make_triangle(d, 0, 1, 1);   /* degenerate */
    make_triangle(d, 14, 13, 0); /* the second triangle again, flipped */
    d->triangles[3 * 100 + 1] ^= d->triangles[3 * 100 + 2];
    d->triangles[3 * 100 + 2] ^= d->triangles[3 * 100 + 1];
    d->triangles[3 * 100 + 1] ^= d->triangles[3 * 100 + 2]; /* a triangle inside out */
    make_triangle(d, 60, 61, 118);                          /* a fin on an interior edge, to the centre of the bottom */
    sup_character *c;
    sup_rig *rig = rig_of(d, &c);
    CHECK_EQ(found(rig, SUP_DEFECT_DEGENERATE_TRIANGLE)->count, 1);
    CHECK_EQ(found(rig, SUP_DEFECT_DEGENERATE_TRIANGLE)->first, MAKE_TUBE_TRIANGLES - 24);
    CHECK_EQ(found(rig, SUP_DEFECT_DUPLICATE_FACE)->count, 1);
    CHECK_EQ(found(rig, SUP_DEFECT_MISORIENTED_EDGE)->count, 3);
    CHECK_EQ(found(rig, SUP_DEFECT_NON_MANIFOLD_EDGE)->count, 1);
    CHECK_EQ(found(rig, SUP_DEFECT_HOLE)->count, 3); /* two ends and the fin */
    CHECK_EQ(found(rig, SUP_DEFECT_UNUSED_VERTEX)->count, 1);
    CHECK_EQ(found(rig, SUP_DEFECT_UNUSED_VERTEX)->first, MAKE_TUBE_VERTICES - 2);
    CHECK_EQ(rig->skin_triangle_count, MAKE_TUBE_TRIANGLES - 24 + 1);
    release(rig, c);
}

TEST(sliver_detection_is_scale_invariant)
{
    for (int scale = -1; scale <= 1; scale++) {
        make_data *d = make_tube(6);
        int32_t first = make_vertex(d, 5, 0, 0);
        make_vertex(d, 7, 0, 0);
        make_vertex(d, 6, 0.01f, 0);
        make_triangle(d, first, first + 1, first + 2);
        float s = powf(1000.0f, (float)scale);
        for (int32_t i = 0; i < 3 * d->c.vertex_count; i++)
            d->positions[i] *= s;
        for (int32_t n = 0; n < d->c.node_count; n++)
            d->nodes[n].rest.translation.y *= s;
        for (int32_t b = 0; b < d->c.bone_count; b++)
            d->bones[b].inverse_bind.m[7] *= s;
        sup_character *c;
        sup_rig *rig = rig_of(d, &c);
        CHECK_EQ(found(rig, SUP_DEFECT_SLIVER)->count, 1);
        CHECK_EQ(found(rig, SUP_DEFECT_SLIVER)->first, MAKE_TUBE_TRIANGLES);
        release(rig, c);
    }
}

TEST(bone_defects_are_counted)
{
    make_data *d = make_begin();
    make_tube(6);
    d->c.bone_count = d->c.skin_count = 0;
    /* Nodes 0, 1, 2 exist; a skin lists further nodes: one outside of the mesh, and two without influence. */
    d->nodes[2] = (sup_node){"side", 1, sup_transform_identity(), false};
    d->nodes[2].rest.translation = (sup_vec3){4, 0, 0};
    make_node(d, "same", 2, 0, 0, 0);
    make_skin(d, 0, 4);
    int32_t mesh = make_node(d, "mesh", -1, 0, 0, 0);
    d->primitives[0].node = mesh;
    d->influence_bone[0] = 2; /* the joint outside influences vertex 0 */
    sup_character *c;
    sup_rig *rig = rig_of(d, &c);
    CHECK_EQ(found(rig, SUP_DEFECT_BONE_OUTSIDE_SKIN)->count, 1);
    CHECK_EQ(found(rig, SUP_DEFECT_BONE_OUTSIDE_SKIN)->first, 2);
    CHECK_EQ(found(rig, SUP_DEFECT_UNREFERENCED_JOINT)->count, 1);
    CHECK_EQ(found(rig, SUP_DEFECT_UNREFERENCED_JOINT)->first, 3);
    CHECK_EQ(found(rig, SUP_DEFECT_ZERO_LENGTH_BONE)->count, 1);
    CHECK_EQ(found(rig, SUP_DEFECT_ZERO_LENGTH_BONE)->first, 3);
    release(rig, c);
}

/* Weights of the file work with any bones; computed weights need the bones inside. */
TEST(skeleton_outside_of_the_mesh_is_rejected_for_computed_weights)
{
    for (int made = 0; made < 2; made++) {
        make_data *d = make_tube(6);
        for (int32_t v = 0; v < d->c.vertex_count; v++)
            d->positions[3 * v] += 4.0f;
        if (made) memset(d->influence_first, 0, sizeof d->influence_first);
        sup_character *c = make_build(d);
        sup_rig *rig = NULL;
        sup_error error = {0};
        sup_result result = sup_rig_create(NULL, c, NULL, &rig, &error);
        CHECK_EQ(result, made ? SUP_ERROR_DATA : SUP_OK);
        CHECK_TEXT(error.id, made ? "rig.bone_outside_skin" : "");
        if (!made) CHECK_EQ(found(rig, SUP_DEFECT_BONE_OUTSIDE_SKIN)->severity, SUP_SEVERITY_WARNING);
        sup_rig_destroy(rig);
        sup_character_destroy(c);
    }
}

TEST(bone_tails_are_mean_of_children_or_estimated_from_vertices)
{
    make_data *d = make_tube(6);
    make_node(d, "idle", 1, 2, 0, 0); /* no bone: not in the skeleton */
    sup_character *c;
    sup_rig *rig = rig_of(d, &c);
    CHECK(rig->bone_tail[1] == 3.0f && rig->bone_tail[0] == 0.0f);
    CHECK_NEAR(rig->bone_tail[3], 0.0, 1e-4); /* the tip's own vertices reach up to y = 6 */
    CHECK(rig->bone_tail[4] > 4.5f && rig->bone_tail[4] < 6.0f);
    CHECK(found(rig, SUP_DEFECT_BONE_OUTSIDE_SKIN) == NULL);
    release(rig, c);
}

TEST(singular_inverse_binds_are_repaired_or_rejected)
{
    make_data *d = make_tube(6);
    memset(&d->bones[1].inverse_bind, 0, sizeof(sup_mat34));
    sup_character *c;
    sup_rig *rig = rig_of(d, &c);
    const sup_defect *defect = found(rig, SUP_DEFECT_SINGULAR_INVERSE_BIND);
    CHECK(defect != NULL && defect->severity == SUP_SEVERITY_REPAIRED && defect->first == 1);
    CHECK_NEAR(rig->joint_inverse_bind[1].m[7], -3.0, 1e-6);
    release(rig, c);
    d = make_tube(6);
    d->bones[1].inverse_bind.m[0] = NAN;
    d->nodes[1].rest.scale.y = 0.0f;
    check_refused(d, "rig.singular_inverse_bind", SUP_DEFECT_SINGULAR_INVERSE_BIND);
    d = make_tube(6);
    d->nodes[1].rest.scale = (sup_vec3){0, 0, 0}; /* the bind pose is valid: only the rest pose is degenerate */
    rig = rig_of(d, &c);
    CHECK_EQ(found(rig, SUP_DEFECT_ZERO_SCALE_JOINT)->first, 1);
    CHECK_NEAR(make_skinning_error(c, rig, 5, 8), 0.0, 1e-6);
    release(rig, c);
}

TEST(characters_without_skin_or_mesh_are_rejected)
{
    make_data *d = make_begin();
    check_refused(d, "rig.no_skin", SUP_DEFECT_NO_SKIN);
    make_node(d, "root", -1, 0, 0, 0);
    d->nodes[0].is_joint = true;
    check_refused(d, "rig.no_skin", SUP_DEFECT_NO_SKIN);
    d = make_tube(6);
    d->primitives[0].skin = -1;
    memset(d->influence_first, 0, sizeof d->influence_first);
    d->c.skin_count = d->c.bone_count = 0;
    check_refused(d, "rig.no_skin", SUP_DEFECT_NO_SKIN);
    d = make_tube(6);
    d->skins[0].bone_count = 0; /* a skin without joints */
    memset(d->influence_first, 0, sizeof d->influence_first);
    check_refused(d, "rig.no_skin", SUP_DEFECT_NO_SKIN);
}

TEST(rigid_primitives_animated_by_a_clip_are_props)
{
    make_data *d = make_begin();
    int32_t arm = make_node(d, "arm", make_node(d, "body", -1, 0, 1, 0), 0, 2, 0);
    add_prop(d, 0);
    add_prop(d, arm);
    static const float times[] = {0}, values[] = {0, 0, 0, 1};
    static const sup_channel channel = {SUP_CHANNEL_ROTATION, 0, SUP_INTERPOLATE_LINEAR, 1, times, values};
    static const sup_clip clip = {"wave", 0, 0, 1, &channel};
    d->c.clip_count = 1;
    d->c.clips = &clip;
    sup_character *c;
    sup_rig *rig = rig_of(d, &c);
    CHECK(rig->joint_count == 2 && rig->skin_vertex_count == 0 && rig->main_component == -1);
    CHECK_NEAR(make_skinning_error(c, rig, 5, 9), 0.0, 1e-6);
    CHECK_NEAR(rig->positions[3 * 3 + 1], 3.0, 1e-6);
    release(rig, c);
}

/* A box as a skinned primitive of a separate node. */
static void add_box(make_data *d, const char *name, sup_vec3d centre, sup_vec3d half)
{
    int32_t node = make_node(d, name, -1, 0, 0, 0);
    make_primitive(d, name, node, 0);
    static const int32_t faces[] = {0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
                                    2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5};
    int32_t first = d->c.vertex_count;
    for (int i = 0; i < 8; i++) {
        make_vertex(d, (float)(centre.x + (i & 1 ? half.x : -half.x)), (float)(centre.y + (i & 2 ? half.y : -half.y)),
                    (float)(centre.z + (i & 4 ? half.z : -half.z)));
        make_influence(d, 0, 1.0f);
    }
    for (int t = 0; t < 12; t++)
        make_triangle(d, first + faces[3 * t], first + faces[3 * t + 1], first + faces[3 * t + 2]);
}

TEST(roles_distinguish_skin_and_followers)
{
    make_data *d = make_tube(6);
    add_box(d, "legs", sup_v3(0, -4, 0), sup_v3(0.8, 4.1, 0.8));       /* continues the tube */
    add_box(d, "teeth", sup_v3(0, 5, 0), sup_v3(0.5, 0.5, 0.5));       /* inside */
    add_box(d, "eye", sup_v3(1.5, 5.5, 0), sup_v3(0.05, 0.05, 0.05));  /* small */
    add_box(d, "trousers", sup_v3(0, -4, 0), sup_v3(0.85, 3.0, 0.85)); /* close around the legs */
    sup_character *c;
    sup_rig *rig = rig_of(d, &c);
    static const sup_primitive_role expected[] = {SUP_PRIMITIVE_SKIN, SUP_PRIMITIVE_SKIN, SUP_PRIMITIVE_FOLLOWER,
                                                  SUP_PRIMITIVE_FOLLOWER, SUP_PRIMITIVE_FOLLOWER};
    for (int p = 0; p < 5; p++)
        CHECK_MSG(rig->primitive_role[p] == expected[p], "primitive %s", c->primitives[p].name);
    CHECK_EQ(rig->skin_component[rig->vertex_to_skin[c->primitives[1].vertex_first]], rig->main_component);
    release(rig, c);
}

/* --- Failure of every allocation --- */

typedef struct short_memory {
    int64_t left, open;
} short_memory;

static void *short_allocate(void *user, size_t size, size_t alignment)
{
    short_memory *memory = user;
    if (memory->left-- <= 0) return NULL;
    memory->open++;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void short_release(void *user, void *block, size_t size)
{
    SUP_UNUSED(size);
    ((short_memory *)user)->open--;
    free(block);
}

TEST(failed_allocations_do_not_leak)
{
    make_data *d = make_bare_tube();
    add_box(d, "box", sup_v3(0, 9, 0), sup_v3(1, 2, 1));
    sup_character *c = make_build(d);
    short_memory memory = {0, 0};
    sup_context context = {.allocator = {short_allocate, short_release, &memory}};
    sup_result result = SUP_ERROR_MEMORY;
    int64_t allowed = 0;
    for (; result != SUP_OK && allowed < 2000; allowed++) {
        sup_rig *rig = NULL;
        sup_defects *defects = NULL;
        sup_error error = {0};
        memory.left = allowed;
        result = sup_rig_create(&context, c, NULL, &rig, &error);
        CHECK_MSG(result == SUP_OK || result == SUP_ERROR_MEMORY, "%d: %s", (int)result, error.message);
        CHECK((result == SUP_OK) == (rig != NULL));
        sup_rig_destroy(rig);
        memory.left = allowed;
        if (sup_character_inspect(&context, c, &defects, NULL) == SUP_OK) sup_defects_destroy(defects);
        CHECK_EQ(memory.open, 0);
    }
    CHECK(result == SUP_OK && allowed > 20);
    sup_character_destroy(c);
}

TEST(same_rig_for_any_thread_count)
{
    sup_character *c = make_build(make_bare_tube());
    sup_thread_pool *pool = NULL;
    sup_error error = {0};
    CHECK_OK(sup_thread_pool_create(3, &pool, &error), error);
    sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
    sup_rig *a = make_rig(c, NULL), *b = NULL;
    CHECK_OK(sup_rig_create(&context, c, NULL, &b, &error), error);
    int32_t count = a->influence_first[a->vertex_count];
    CHECK_EQ(count, b->influence_first[b->vertex_count]);
    CHECK(memcmp(a->influence_weight, b->influence_weight, (size_t)count * sizeof(float)) == 0);
    CHECK(memcmp(a->influence_joint, b->influence_joint, (size_t)count * sizeof(int32_t)) == 0);
    CHECK(memcmp(a->bone_tail, b->bone_tail, 3 * (size_t)a->joint_count * sizeof(float)) == 0);
    sup_rig_destroy(a);
    release(b, c);
    sup_thread_pool_destroy(pool);
}

/* A triangle beside the tube, in the tube's skin, with these weights of the second joint in its corners. */
static void add_plate(make_data *d, float x, const float weight[3])
{
    int32_t first = make_vertex(d, x, 4.0f, 0.0f);
    make_influence(d, 1, weight[0]);
    make_influence(d, 0, 1.0f - weight[0]);
    for (int32_t k = 1; k < 3; k++) {
        make_vertex(d, x, 4.0f + (float)k, (float)(k % 2));
        make_influence(d, 1, weight[k]);
        make_influence(d, 0, 1.0f - weight[k]);
    }
    make_triangle(d, first, first + 1, first + 2);
}

TEST(a_component_with_one_joint_is_rigid)
{
    static const float rigid[3] = {1.0f, 0.995f, 1.0f}, soft[3] = {1.0f, 0.98f, 1.0f};
    sup_character *c;
    make_data *d = make_tube(6);
    add_plate(d, 1.5f, rigid);
    add_plate(d, 2.5f, soft);
    sup_rig *rig = rig_of(d, &c);
    const int32_t *joint = sup_rig_rigid_joints(rig);
    CHECK_EQ(rig->component_count, 3);
    for (int32_t s = 0; s < rig->skin_vertex_count; s++) {
        int32_t v = rig->skin_to_vertex[s];
        CHECK_EQ(joint[s], v >= MAKE_TUBE_VERTICES && v < MAKE_TUBE_VERTICES + 3 ? 1 : -1);
    }
    release(rig, c);
}

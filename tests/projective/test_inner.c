/* Inner geometry for pictures: tetrahedra of the tissue and volumetric bones, and painted radii. */
#include "actor.h"
#include "methods/projective/projective.h"

typedef struct painted_map {
    int map; /* -1: nothing is painted */
    float value;
} painted_map;

static void paint_all(void *user, const sup_rig *rig, float *const *maps)
{
    const painted_map *paint = user;
    for (int32_t v = 0; paint->map >= 0 && v < rig->vertex_count; v++)
        maps[paint->map][v] = paint->value;
}

static actor open_arm(painted_map paint)
{
    sup_character *character = NULL;
    sup_error error;
    CHECK_OK(sup_scene_create(NULL, "arm", 0.2, &character, &error), error);
    return actor_open_painted(character, "vertices=400", 1, paint_all, &paint);
}

/* Inner geometry in the rest pose, moved by `shift` along y. */
static sup_inner query_inner(actor *a, float shift)
{
    sup_inner inner = {0};
    sup_skin_out out = {.positions = a->positions};
    CHECK(sup_pose_rest(a->character, a->pose) == SUP_OK);
    for (int32_t n = 0; n < a->pose->node_count; n++)
        a->pose->world[n].m[7] += shift;
    CHECK(sup_instance_reset(a->instance, a->pose) == SUP_OK);
    CHECK(sup_instance_step(a->instance, a->pose, 0.0f, &out) == SUP_OK);
    CHECK(sup_instance_inner(a->instance, &inner) == SUP_OK);
    CHECK(inner.point_count > 0 && inner.tet_count > 0 && inner.bone_count > 0);
    inner.points = malloc((size_t)inner.point_count * 3 * sizeof *inner.points);
    inner.tets = malloc((size_t)inner.tet_count * 4 * sizeof *inner.tets);
    inner.bones = malloc((size_t)inner.bone_count * 7 * sizeof *inner.bones);
    sup_inner counted = inner;
    CHECK(sup_instance_inner(a->instance, &inner) == SUP_OK);
    CHECK(inner.point_count == counted.point_count && inner.tet_count == counted.tet_count &&
          inner.bone_count == counted.bone_count);
    return inner;
}

static void free_inner(sup_inner *inner)
{
    free(inner->points);
    free(inner->tets);
    free(inner->bones);
}

static double tet_volume(const sup_inner *inner, int32_t t)
{
    double e[3][3];
    const int32_t *tet = inner->tets + 4 * (size_t)t;
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 3; c++)
            e[k][c] = (double)inner->points[3 * tet[k + 1] + c] - (double)inner->points[3 * tet[0] + c];
    return (e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) - e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
            e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0])) /
           6.0;
}

TEST(tissue_lies_between_skin_and_bones)
{
    actor a = open_arm((painted_map){-1, 0.0f});
    sup_inner here = query_inner(&a, 0.0f), there = query_inner(&a, 100.0f);
    double tissue = 0.0, bones = 0.0;
    for (int32_t i = 0; i < 4 * here.tet_count; i++)
        CHECK(here.tets[i] >= 0 && here.tets[i] < here.point_count && here.tets[i] == there.tets[i]);
    for (int32_t t = 0; t < here.tet_count; t++)
        tissue += fabs(tet_volume(&here, t));
    for (int32_t i = 0; i < 3 * here.point_count; i++)
        CHECK_NEAR(there.points[i] - here.points[i], i % 3 == 1 ? 100.0 : 0.0, 1e-3);
    for (int32_t b = 0; b < here.bone_count; b++) {
        const float *bone = here.bones + 7 * (size_t)b, *moved = there.bones + 7 * (size_t)b;
        double length = 0.0, radius = (double)bone[6];
        CHECK(radius > 0.0 && bone[6] == moved[6]);
        for (int k = 0; k < 6; k++)
            CHECK_NEAR(moved[k] - bone[k], k % 3 == 1 ? 100.0 : 0.0, 1e-3);
        for (int k = 0; k < 3; k++)
            length += pow((double)bone[k] - (double)bone[3 + k], 2.0);
        bones += 3.14159265 * radius * radius * (sqrt(length) + 4.0 / 3.0 * radius);
    }
    /* Tissue and bones fill the volume that the skin encloses. */
    double whole = 0.0;
    const int32_t *t = a.rig->skin_triangles;
    const float *p = a.rig->skin_positions;
    for (int32_t i = 0; i < a.rig->skin_triangle_count; i++, t += 3) {
        const float *u = p + 3 * t[0], *v = p + 3 * t[1], *w = p + 3 * t[2];
        whole += ((double)u[0] * ((double)v[1] * (double)w[2] - (double)v[2] * (double)w[1]) -
                  (double)u[1] * ((double)v[0] * (double)w[2] - (double)v[2] * (double)w[0]) +
                  (double)u[2] * ((double)v[0] * (double)w[1] - (double)v[1] * (double)w[0])) /
                 6.0;
    }
    CHECK_MSG(tissue + bones > 0.8 * whole && tissue + bones < 1.1 * whole, "tissue %g, bones %g of %g", tissue, bones,
              whole);
    free_inner(&here);
    free_inner(&there);
    actor_close(&a);
}

TEST(painted_radii_scale_the_bones)
{
    painted_map paints[3] = {
        {-1, 0.0f}, {SUP_PROJECTIVE_MAP_BONE_RADIUS, 0.5f}, {SUP_PROJECTIVE_MAP_JOINT_RADIUS, 0.5f}};
    sup_inner found[3];
    actor actors[3];
    for (int k = 0; k < 3; k++) {
        actors[k] = open_arm(paints[k]);
        found[k] = query_inner(&actors[k], 0.0f);
        CHECK_EQ(found[k].bone_count, found[0].bone_count);
    }
    int32_t smaller_spheres = 0, kept_segments = 0;
    for (int32_t b = 0; b < found[0].bone_count; b++) {
        const float *bone = found[0].bones + 7 * (size_t)b;
        bool sphere = memcmp(bone, bone + 3, 3 * sizeof *bone) == 0;
        double plain = (double)bone[6], thin = (double)found[1].bones[7 * b + 6],
               small = (double)found[2].bones[7 * b + 6];
        CHECK_MSG(thin >= 0.499 * plain && thin < 0.95 * plain, "bone %d: %g, %g painted", b, plain, thin);
        CHECK(small > 0.499 * plain);
        smaller_spheres += sphere && small < 0.95 * plain;
        kept_segments += !sphere && small > 0.999 * plain;
    }
    CHECK(smaller_spheres > 0 && kept_segments > 0);
    for (int k = 0; k < 3; k++) {
        free_inner(&found[k]);
        actor_close(&actors[k]);
    }
}

TEST(methods_without_inner_geometry_refuse_the_query)
{
    actor a = open_arm((painted_map){-1, 0.0f});
    sup_inner inner = {0};
    sup_model *model = NULL;
    sup_instance *instance = NULL;
    sup_error error;
    CHECK_OK(sup_bind(NULL, sup_method_find("linear"), a.rig, NULL, &model, &error), error);
    CHECK_OK(sup_instance_create(NULL, model, NULL, &instance, &error), error);
    CHECK(sup_instance_inner(instance, &inner) == SUP_ERROR_ARGUMENT);
    CHECK(sup_instance_inner(NULL, &inner) == SUP_ERROR_ARGUMENT);
    CHECK(sup_instance_inner(a.instance, NULL) == SUP_ERROR_ARGUMENT);
    sup_instance_destroy(instance);
    sup_model_destroy(model);
    actor_close(&a);
}

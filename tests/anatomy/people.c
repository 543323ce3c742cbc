#include "anatomy/people.h"

#include "base/base.h"
#include "geometry/decimate.h"
#include "supple/rig.h"

#include "scene.h"
#include "test.h"

static sup_shapes shapes;
static sup_composition *composition;
static sup_person persons[PEOPLE_BODIES];
/* Memory of the shapes. */
static sup_character *human;
static sup_decimated skin;

/* Fingers and eyes are skipped to keep the template small. */
static bool is_wanted(const char *name)
{
    static const char *const fingers[] = {"index", "middle", "ring", "pinky", "thumb"};
    for (int i = 0; i < SUP_COUNT(fingers); i++)
        if (strstr(name, fingers[i]) != NULL) return false;
    return true;
}

/* Deforms a point of the standing human: height, girth, leg length, belly. Linear in `mode`, so a few modes span
 * all. */
static void deform(const double mode[PEOPLE_MODES], const double *from, float *to)
{
    double y = from[1], leg = y < 0.9 ? y : 0.9;
    double front = exp(-8.0 * (y - 1.1) * (y - 1.1)) * (from[2] > 0.0 ? from[2] : 0.0);
    to[0] = (float)(from[0] * (1.0 + 0.05 * mode[0] + 0.10 * mode[1]));
    to[1] = (float)(from[1] * (1.0 + 0.05 * mode[0]) + 0.05 * mode[2] * leg);
    to[2] = (float)(from[2] * (1.0 + 0.05 * mode[0] + 0.12 * mode[1]) + 0.5 * mode[3] * front);
}

static void make_bodies(const sup_rig *rig, const int32_t *joints, int32_t joint_count)
{
    size_t width = 3 * (size_t)skin.vertex_count, joint_width = 3 * (size_t)joint_count;
    float *positions = calloc(PEOPLE_BODIES * width, sizeof *positions);
    float *heads = calloc(PEOPLE_BODIES * joint_width, sizeof *heads);
    sup_random random = {5};
    for (size_t b = 0; b < PEOPLE_BODIES; b++) {
        double mode[PEOPLE_MODES];
        for (int k = 0; k < PEOPLE_MODES; k++)
            mode[k] = 2.0 * sup_random_unit(&random) - 1.0;
        for (size_t i = 0; i < width; i += 3) {
            const float *p = rig->skin_positions + 3 * (size_t)skin.vertices[i / 3];
            deform(mode, (const double[3]){(double)p[0], (double)p[1], (double)p[2]}, positions + b * width + i);
        }
        for (size_t j = 0; j < (size_t)joint_count; j++) {
            const float *m = rig->joint_bind[joints[j]].m;
            deform(mode, (const double[3]){(double)m[3], (double)m[7], 0.0}, heads + b * joint_width + 3 * j);
            heads[b * joint_width + 3 * j + 2] = m[11];
        }
        /* Masses linear in the modes, which the regressors must recover. */
        persons[b] = (sup_person){.sex = b % 2 == 0 ? SUP_SEX_FEMALE : SUP_SEX_MALE,
                                  .age = 30.0,
                                  .height = 1.7 + 0.08 * mode[0],
                                  .weight = 70.0 + 10.0 * mode[1],
                                  .fat = 20.0 + 8.0 * mode[1] + 4.0 * mode[3],
                                  .muscle = 30.0 + 3.0 * mode[0] + 2.0 * mode[2]};
    }
    shapes.positions = positions;
    shapes.joints = heads;
    shapes.persons = persons;
}

const sup_shapes *people_shapes(void)
{
    if (shapes.body_count > 0) return &shapes;
    sup_error error = {0};
    human = test_scene("human", 0.05);
    sup_rig *rig = NULL;
    CHECK_OK(sup_rig_create(NULL, human, NULL, &rig, &error), error);
    int32_t count = 0, *joints = calloc((size_t)rig->joint_count, sizeof *joints);
    int32_t *index = calloc((size_t)rig->joint_count, sizeof *index);
    int32_t *parents = calloc((size_t)rig->joint_count, sizeof *parents);
    const char **names = calloc((size_t)rig->joint_count, sizeof *names);
    for (int32_t j = 0; j < rig->joint_count; j++) {
        const char *name = human->nodes[rig->joint_node[j]].name;
        index[j] = -1;
        bool below = count > 0 && (rig->joint_parent[j] < 0 || index[rig->joint_parent[j]] < 0);
        if (!is_wanted(name) || below) continue;
        index[j] = count;
        parents[count] = rig->joint_parent[j] < 0 ? -1 : index[rig->joint_parent[j]];
        names[count] = name;
        joints[count++] = j;
    }
    const sup_decimate_def fewer = {.vertex_target = 360};
    CHECK_OK(sup_decimate(NULL, rig->skin_vertex_count, rig->skin_positions, rig->skin_triangle_count,
                          rig->skin_triangles, &fewer, &skin, &error),
             error);
    shapes = (sup_shapes){.body_count = PEOPLE_BODIES,
                          .vertex_count = skin.vertex_count,
                          .triangle_count = skin.triangle_count,
                          .joint_count = count,
                          .triangles = skin.triangles,
                          .joint_names = names,
                          .parents = parents};
    make_bodies(rig, joints, count);
    free(joints);
    free(index);
    sup_rig_destroy(rig);
    return &shapes;
}

const sup_composition *people_composition(void)
{
    sup_error error = {0};
    if (composition == NULL)
        CHECK_OK(sup_composition_train(NULL, people_shapes(), NULL, &composition, NULL, &error), error);
    return composition;
}

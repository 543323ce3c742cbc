/* test_method.c - the method end to end, on built-in characters with few tets: fast enough for sanitizers. */
#include "math/affine.h"
#include "methods/position/position.h"
#include "supple/deform.h"
#include "supple/measure.h"
#include "supple/scenes.h"
#include "test.h"

typedef struct played {
    sup_character *character;
    sup_rig *rig;
    sup_model *model;
    sup_instance *instance;
    sup_pose *pose;
    float *positions, *normals;
} played;

static played *kept;

static void free_shared(void)
{
    sup_model_destroy(kept->model);
    sup_rig_destroy(kept->rig);
    sup_character_destroy(kept->character);
}

/* The arm, bound once for all tests. */
static void open_scene(played *p)
{
    static played shared;
    sup_error error = {0};
    if (shared.model == NULL) {
        double values[SUP_POSITION_PARAM_COUNT];
        sup_method_defaults(&sup_method_position, values);
        CHECK_OK(sup_method_set(&sup_method_position, values, "tets", "700", &error), error);
        CHECK_OK(sup_scene_create(NULL, "arm", 0.2, &shared.character, &error), error);
        CHECK_OK(sup_rig_create(NULL, shared.character, NULL, &shared.rig, &error), error);
        sup_bind_def def = {.values = values};
        CHECK_OK(sup_bind(NULL, &sup_method_position, shared.rig, &def, &shared.model, &error), error);
        kept = &shared;
        atexit(free_shared);
    }
    *p = shared;
    CHECK_OK(sup_instance_create(NULL, p->model, NULL, &p->instance, &error), error);
    CHECK_OK(sup_pose_create(NULL, p->character, &p->pose, &error), error);
    p->positions = calloc((size_t)p->rig->vertex_count * 3, sizeof(float));
    p->normals = calloc((size_t)p->rig->vertex_count * 3, sizeof(float));
}

static void close_scene(played *p)
{
    sup_instance_destroy(p->instance);
    sup_pose_destroy(p->pose);
    free(p->positions), free(p->normals);
}

static void frame(played *p, float dt)
{
    sup_skin_out out = {.positions = p->positions, .normals = p->normals};
    CHECK_EQ(sup_instance_step(p->instance, p->pose, dt, &out), SUP_OK);
    for (int32_t i = 0; i < 3 * p->rig->vertex_count; i++)
        CHECK(isfinite(p->positions[i]) && isfinite(p->normals[i]));
}

/* Largest distance of a vertex from its bind position, in sizes. */
static double from_bind(const played *p)
{
    double largest = 0.0;
    for (int32_t i = 0; i < 3 * p->rig->vertex_count; i++)
        largest = fmax(largest, fabs((double)p->positions[i] - (double)p->rig->positions[i]));
    return largest / (double)p->rig->size;
}

TEST(rest_pose_is_the_bind_pose) /* 1, 13 */
{
    played p;
    open_scene(&p);
    for (int i = 0; i < 20; i++) {
        sup_pose_rest(p.character, p.pose);
        frame(&p, 1.0f / 60.0f);
    }
    CHECK_MSG(from_bind(&p) < 1e-5, "%g from the bind pose", from_bind(&p));
    for (int32_t i = 0; i < p.rig->vertex_count; i++) {
        const float *n = p.normals + 3 * i, *m = p.rig->normals + 3 * i;
        CHECK(n[0] * m[0] + n[1] * m[1] + n[2] * m[2] > 0.999f);
    }
    close_scene(&p);
}

TEST(embedding_is_exact_for_affine_motions) /* 13 */
{
    static const double linear[9] = {1.3, 0.4, -0.1, -0.2, 0.8, 0.3, 0.1, 0.5, 1.1}, shift[3] = {0.3, -0.2, 0.6};
    played p;
    sup_position_view view;
    sup_error error = {0};
    open_scene(&p);
    CHECK_OK(sup_position_open(p.model, &view, &error), error);
    size_t slots = (size_t)view.pbd.slot_count, vertices = (size_t)p.rig->vertex_count;
    float *moved = calloc(4 * slots, sizeof(float)), *expected = calloc(3 * vertices, sizeof(float));
    double size = (double)view.size, largest = 0.0;
    for (size_t i = 0; i < slots + vertices;
         i++) { /* particles in the space of the solver, then vertices in the world */
        const float *from = i < slots ? view.rest + 4 * i : p.rig->positions + 3 * (i - slots);
        for (size_t r = 0; r < 3; r++) {
            double to = shift[r] * size;
            for (size_t c = 0; c < 3; c++)
                to += linear[3 * r + c] * (double)from[c];
            if (i < slots)
                moved[4 * i + r] = (float)(to / size);
            else
                expected[3 * (i - slots) + r] = (float)to;
        }
    }
    void *scratch = aligned_alloc(64, sup_position_embed_scratch(&view.embed));
    sup_context context = sup_context_resolve(NULL);
    sup_skin_out out = {.positions = p.positions, .position_stride = 3 * sizeof(float)};
    memcpy(p.positions, expected,
           3 * vertices * sizeof(float)); /* linear blending of these joints, for fine vertices */
    for (size_t v = 0; v < vertices; v++)
        if (view.embed.fine[v] == 0.0f) p.positions[3 * v] = 1e9f;
    sup_position_embed_apply(&context, &view.embed, moved, moved, &(sup_position_embed_space){.size = view.size},
                             scratch, &out);
    for (size_t i = 0; i < 3 * vertices; i++)
        largest = fmax(largest, fabs((double)p.positions[i] - (double)expected[i]) / size);
    CHECK_MSG(largest < 2e-6, "%g sizes from the affine motion", largest);
    free(moved), free(expected), free(scratch);
    close_scene(&p);
}

/* The arm in another unit of length, with the same size in metres. */
static sup_character *scaled_arm(double scale)
{
    sup_character *arm, *made, copy;
    sup_error error = {0};
    float s = (float)scale;
    CHECK_OK(sup_scene_create(NULL, "arm", 0.2, &arm, &error), error);
    copy = *arm;
    sup_node *nodes = malloc((size_t)copy.node_count * sizeof *nodes);
    sup_bone *bones = malloc((size_t)copy.bone_count * sizeof *bones);
    float *positions = malloc((size_t)copy.vertex_count * 3 * sizeof(float));
    memcpy(nodes, copy.nodes, (size_t)copy.node_count * sizeof *nodes);
    memcpy(bones, copy.bones, (size_t)copy.bone_count * sizeof *bones);
    for (int32_t n = 0; n < copy.node_count; n++) {
        sup_vec3 *t = &nodes[n].rest.translation;
        *t = (sup_vec3){t->x * s, t->y * s, t->z * s};
    }
    for (int32_t b = 0; b < copy.bone_count; b++)
        for (int r = 0; r < 3; r++)
            bones[b].inverse_bind.m[4 * r + 3] *= s;
    for (int32_t i = 0; i < 3 * copy.vertex_count; i++)
        positions[i] = copy.positions[i] * s;
    copy.nodes = nodes;
    copy.bones = bones;
    copy.positions = positions;
    copy.unit_metres /= s;
    CHECK_OK(sup_character_create(NULL, &copy, &made, &error), error);
    sup_character_destroy(arm);
    free(nodes), free(bones), free(positions);
    return made;
}

/* Bends the elbow quickly, then gravity and contact; positions in sizes. */
static float *bend_in_unit(double scale, int32_t *count)
{
    sup_character *arm = scaled_arm(scale);
    sup_rig *rig;
    sup_model *model;
    sup_instance *instance;
    sup_pose *pose;
    sup_error error = {0};
    double values[SUP_POSITION_PARAM_COUNT];
    sup_method_defaults(&sup_method_position, values);
    CHECK_OK(sup_method_set(&sup_method_position, values, "tets", "300", &error), error);
    CHECK_OK(sup_method_set(&sup_method_position, values, "gravity", "9.81", &error), error);
    CHECK_OK(sup_rig_create(NULL, arm, NULL, &rig, &error), error);
    CHECK_OK(sup_bind(NULL, &sup_method_position, rig, &(sup_bind_def){.values = values}, &model, &error), error);
    CHECK_OK(sup_instance_create(NULL, model, NULL, &instance, &error), error);
    CHECK_OK(sup_pose_create(NULL, arm, &pose, &error), error);
    *count = 3 * rig->vertex_count;
    float *positions = calloc((size_t)*count, sizeof(float));
    sup_skin_out out = {.positions = positions};
    sup_transform *local = malloc((size_t)arm->node_count * sizeof *local);
    for (int i = 0; i < 24; i++) {
        for (int32_t n = 0; n < arm->node_count; n++)
            local[n] = arm->nodes[n].rest;
        sup_quat *turned = &local[rig->joint_node[1]].rotation;
        sup_quatd bent = sup_quatd_from_axis_angle(sup_v3(1, 0, 0), fmin(i / 8.0, 2.2));
        *turned = sup_quatd_to_float(sup_quatd_multiply(sup_quatd_from_float(*turned), bent));
        CHECK_EQ(sup_pose_from_local(arm, local, pose), SUP_OK);
        CHECK_EQ(sup_instance_step(instance, pose, 0.04f, &out), SUP_OK);
    }
    for (int32_t i = 0; i < *count; i++)
        positions[i] /= rig->size;
    free(local);
    sup_instance_destroy(instance);
    sup_pose_destroy(pose);
    sup_model_destroy(model);
    sup_rig_destroy(rig);
    sup_character_destroy(arm);
    return positions;
}

TEST(motion_is_independent_of_the_unit) /* 10 */
{
    int32_t count, again;
    float *first = bend_in_unit(1.0, &count);
    for (int k = 0; k < 2; k++) {
        float *other = bend_in_unit(k == 0 ? 0.01 : 100.0, &again);
        double largest = 0.0;
        CHECK_EQ(count, again);
        for (int32_t i = 0; i < count; i++)
            largest = fmax(largest, fabs((double)first[i] - (double)other[i]));
        CHECK_MSG(largest < 1e-3, "%s: %g sizes apart", k == 0 ? "a hundredth" : "a hundred times", largest);
        free(other);
    }
    free(first);
}

TEST(weights_are_valid) /* 11 */
{
    played p;
    open_scene(&p);
    sup_position_view view;
    sup_error error = {0};
    CHECK_OK(sup_position_open(p.model, &view, &error), error);
    int32_t rigid = 0;
    for (int64_t i = 0; i < view.pbd.slot_count; i++) {
        double sum = 0.0;
        for (int k = 0; k < SUP_POSITION_INFLUENCES; k++) {
            float w = view.influence_weight[SUP_POSITION_INFLUENCES * i + k];
            CHECK(w >= 0.0f && w <= 1.0f);
            sum += (double)w;
        }
        CHECK_NEAR(sum, 1.0, 1e-5);
        rigid += view.influence_weight[SUP_POSITION_INFLUENCES * i] > 0.99f;
        CHECK(view.bone_joint[i] < 0 || view.rest[4 * i + 3] >= 0.0f);
    }
    CHECK(rigid > view.pbd.particle_count / 10);
    close_scene(&p);
}

/* Plays the first clip at the given rate; p has the last frame. */
static void play(played *p, double seconds, double rate)
{
    for (int i = 0; i <= (int)(seconds * rate + 0.5); i++) {
        sup_pose_sample(p->character, &p->character->clips[0], i / rate, p->pose);
        frame(p, i == 0 ? 0.0f : (float)(1.0 / rate));
    }
}

TEST(motion_is_independent_of_the_frame_rate)
{
    static const double rates[] = {30.0, 60.0, 100.0, 144.0};
    float *first = NULL;
    for (int k = 0; k < 4; k++) {
        played p;
        open_scene(&p);
        play(&p, 0.5, rates[k]);
        double largest = 0.0;
        for (int32_t i = 0; first != NULL && i < 3 * p.rig->vertex_count; i++)
            largest = fmax(largest, fabs((double)p.positions[i] - (double)first[i]));
        CHECK_MSG(largest < 0.01 * (double)p.rig->size, "%g frames per second: %g sizes apart", rates[k],
                  largest / (double)p.rig->size);
        if (first == NULL) {
            first = p.positions;
            p.positions = NULL;
        }
        close_scene(&p);
    }
    free(first);
}

TEST(soft_region_leaves_linear_blending_above_the_mean_distance)
{
    played p;
    open_scene(&p);
    sup_position_view view;
    sup_error error = {0};
    CHECK_OK(sup_position_open(p.model, &view, &error), error);
    size_t slots = (size_t)view.pbd.slot_count;
    float *soft = calloc(slots, 4), *stiffness = calloc(slots, 4), *follow = calloc(slots, 4);
    double mean = 0.0, volume = 0.0, *depth = calloc(slots, sizeof *depth);
    int32_t count = 0;
    for (size_t i = 0; i < slots; i++) {
        soft[i] = view.pbd.particle_volume[i] > 0.0f && view.bone_joint[i] == 1 ? 1.0f : 0.0f;
        const float *skin = view.surface + 4 * i, *bone = view.bone_point + 4 * i;
        double thickness = sqrt(pow((double)skin[0] - (double)bone[0], 2) + pow((double)skin[1] - (double)bone[1], 2) +
                                pow((double)skin[2] - (double)bone[2], 2));
        depth[i] = fmin((double)view.rest[4 * i + 3] / thickness, 1.0);
        mean += soft[i] > 0.0f ? depth[i] * (double)view.pbd.particle_volume[i] : 0.0;
        volume += soft[i] > 0.0f ? (double)view.pbd.particle_volume[i] : 0.0;
        count += soft[i] > 0.0f;
    }
    CHECK(count > 10);
    mean = fmin(mean / volume, 0.99);
    sup_pbd_regions regions = {.stiffness = stiffness, .follow = follow};
    sup_position_soften(&view, soft, 0.25f, &regions);
    int32_t free_count = 0;
    for (size_t i = 0; i < slots; i++) {
        bool is_free = soft[i] > 0.0f && depth[i] > mean;
        free_count += is_free;
        if (fabs(depth[i] - mean) < 1e-5) continue;
        CHECK_NEAR(follow[i], is_free ? 0.0 : 1.0, 1e-6);
        CHECK_NEAR(stiffness[i], is_free ? 0.25 : 1.0, 1e-6);
    }
    CHECK(free_count > 3);
    free(soft), free(stiffness), free(follow), free(depth);
    close_scene(&p);
}

/* Mean distance from the bind pose, in sizes, of the vertices within `radius` sizes of a joint. */
static double sag_near(const played *p, int32_t joint, double radius)
{
    double sum = 0.0, size = (double)p->rig->size;
    int32_t count = 0;
    for (int32_t i = 0; i < p->rig->vertex_count; i++) {
        double away = 0.0, square = 0.0;
        for (int c = 0; c < 3; c++) {
            double rest = (double)p->rig->positions[3 * i + c];
            away += pow(rest - (double)p->rig->joint_bind[joint].m[4 * c + 3], 2.0);
            square += pow((double)p->positions[3 * i + c] - rest, 2.0);
        }
        if (away > radius * radius * size * size) continue;
        sum += sqrt(square) / size;
        count++;
    }
    CHECK(count > 20);
    return sum / count;
}

TEST(soft_regions_change_at_runtime)
{
    played p;
    sup_error error = {0};
    open_scene(&p);
    double moved[2];
    for (int k = 0; k < 2; k++) {
        CHECK_OK(sup_instance_set(p.instance, "soft", k, &error), error);
        CHECK_OK(sup_instance_set(p.instance, "soft_joint", 1, &error), error);
        CHECK_OK(sup_instance_set(p.instance, "soft_radius", 0.5, &error), error);
        CHECK_OK(sup_instance_set(p.instance, "gravity", 9.81, &error), error);
        sup_pose_rest(p.character, p.pose);
        CHECK_EQ(sup_instance_reset(p.instance, p.pose), SUP_OK);
        for (int i = 0; i < 30; i++)
            frame(&p, 1.0f / 60.0f);
        moved[k] = sag_near(&p, 1, 0.2);
    }
    CHECK_MSG(moved[1] > 1.2 * moved[0], "soft tissue sags by %g, other by %g", moved[1], moved[0]);
    close_scene(&p);
}

TEST(damaged_models_are_rejected)
{
    played p;
    open_scene(&p);
    sup_bytes bytes = sup_model_bytes(p.model);
    unsigned char *copy = malloc(bytes.size);
    sup_random random = {3};
    for (int i = 0; i < 40; i++) {
        memcpy(copy, bytes.data, bytes.size);
        copy[(size_t)(sup_random_unit(&random) * (double)bytes.size)] ^= 0x55;
        sup_model *model = NULL;
        sup_error error = {0};
        if (sup_model_load(NULL, (sup_bytes){copy, bytes.size}, &model, &error) == SUP_OK) sup_model_destroy(model);
    }
    sup_model *again = NULL;
    sup_error error = {0};
    CHECK_OK(sup_model_load(NULL, bytes, &again, &error), error);
    sup_model_destroy(again);
    free(copy);
    close_scene(&p);
}

/* --- Never worse than linear blending --- */

/* A pose of the arm: every joint but the root turned by `angle` about x, the root moved and scaled. */
static void pose_arm(played *p, double angle, sup_vec3 move, float scale)
{
    sup_transform *local = calloc((size_t)p->character->node_count, sizeof *local);
    for (int32_t n = 0; n < p->character->node_count; n++)
        local[n] = p->character->nodes[n].rest;
    for (int32_t j = 0; j < p->rig->joint_count; j++) {
        sup_transform *t = &local[p->rig->joint_node[j]];
        sup_quatd turn = sup_quatd_from_axis_angle(sup_v3(1, 0, 0), angle);
        if (p->rig->joint_parent[j] >= 0) {
            t->rotation = sup_quatd_to_float(sup_quatd_multiply(sup_quatd_from_float(t->rotation), turn));
            continue;
        }
        t->translation = (sup_vec3){t->translation.x + move.x, t->translation.y + move.y, t->translation.z + move.z};
        t->scale = (sup_vec3){scale, scale, scale};
    }
    CHECK_EQ(sup_pose_from_local(p->character, local, p->pose), SUP_OK);
    free(local);
}

/* Largest distance, in sizes, of a vertex from its bind position moved by z. */
static double lag_of(played *p, double momentum)
{
    double largest = 0.0;
    sup_error error = {0};
    CHECK_OK(sup_instance_set(p->instance, "momentum", momentum, &error), error);
    pose_arm(p, 0.0, (sup_vec3){0, 0, 0}, 1.0f);
    CHECK_EQ(sup_instance_reset(p->instance, p->pose), SUP_OK);
    for (int i = 1; i <= 15; i++) { /* a jolt every third frame */
        float z = 0.04f * p->rig->size * (float)(i / 3);
        pose_arm(p, 0.0, (sup_vec3){0, 0, z}, 1.0f);
        frame(p, 1.0f / 30.0f);
        for (int32_t v = 0; v < p->rig->vertex_count; v++)
            largest =
                fmax(largest, fabs((double)p->positions[3 * v + 2] - (double)p->rig->positions[3 * v + 2] - (double)z));
    }
    return largest / (double)p->rig->size;
}

TEST(tissue_that_is_not_soft_has_no_lag)
{
    played p;
    open_scene(&p);
    double still = lag_of(&p, 0.0), swinging = lag_of(&p, 1.0);
    CHECK_MSG(still < 1e-4, "lags by %g sizes", still);
    CHECK_MSG(swinging > 1e-3, "with momentum: %g sizes", swinging);
    close_scene(&p);
}

TEST(a_cut_settles_the_tissue)
{
    played p;
    open_scene(&p);
    size_t floats = 3 * (size_t)p.rig->vertex_count;
    float *after = calloc(floats, sizeof *after);
    double largest = 0.0;
    for (int i = 0; i < 8; i++) {
        pose_arm(&p, 0.05 * i, (sup_vec3){0, 0, 0}, 1.0f);
        frame(&p, 1.0f / 30.0f);
    }
    pose_arm(&p, 1.9, (sup_vec3){0, 0, 0}, 1.0f);
    frame(&p, 1.0f / 30.0f);
    memcpy(after, p.positions, floats * sizeof *after);
    CHECK_EQ(sup_instance_reset(p.instance, p.pose), SUP_OK);
    frame(&p, 0.0f);
    for (size_t i = 0; i < floats; i++)
        largest = fmax(largest, fabs((double)after[i] - (double)p.positions[i]) / (double)p.rig->size);
    CHECK_MSG(largest < 1e-5, "%g sizes from a reset in the same pose", largest);
    free(after);
    close_scene(&p);
}

TEST(authored_scale_is_followed)
{
    played p;
    open_scene(&p);
    double largest = 0.0;
    for (int i = 0; i <= 20; i++) {
        pose_arm(&p, 0.0, (sup_vec3){0, 0, 0}, 1.0f + 0.05f * (float)i);
        frame(&p, 1.0f / 30.0f);
    }
    const float *m = p.pose->world[p.rig->joint_node[0]].m;
    for (int32_t v = 0; v < p.rig->vertex_count; v++)
        for (int c = 0; c < 3; c++) { /* the root's joint has scale 2 about its own centre */
            double centre = (double)p.rig->joint_bind[0].m[4 * c + 3];
            double expected = (double)m[4 * c + 3] + 2.0 * ((double)p.rig->positions[3 * v + c] - centre);
            largest = fmax(largest, fabs((double)p.positions[3 * v + c] - expected) / (double)p.rig->size);
        }
    CHECK_MSG(largest < 2e-3, "%g sizes from twice the size", largest);
    close_scene(&p);
}

/* Largest length of an edge / its rest length, and the triangles that face away from their rest normal. */
static double worst_edge(const played *p, int32_t *turned)
{
    const sup_rig *rig = p->rig;
    double largest = 0.0;
    *turned = 0;
    for (int32_t t = 0; t < rig->skin_triangle_count; t++) {
        sup_vec3d now[3], rest[3];
        for (int k = 0; k < 3; k++) {
            int32_t v = rig->skin_triangles[3 * t + k];
            now[k] = sup_v3_load(p->positions + 3 * (int64_t)rig->skin_to_vertex[v]);
            rest[k] = sup_v3_load(rig->skin_positions + 3 * (int64_t)v);
        }
        for (int k = 0; k < 3; k++)
            largest =
                fmax(largest, sup_v3_distance(now[k], now[(k + 1) % 3]) / sup_v3_distance(rest[k], rest[(k + 1) % 3]));
        *turned += sup_v3_dot(sup_v3_cross(sup_v3_sub(now[1], now[0]), sup_v3_sub(now[2], now[0])),
                              sup_v3_cross(sup_v3_sub(rest[1], rest[0]), sup_v3_sub(rest[2], rest[0]))) < 0.0;
    }
    return largest;
}

TEST(skin_is_not_stretched_or_folded_more_than_by_linear_blending)
{
    played p;
    sup_position_view view;
    sup_error error = {0};
    sup_random random = {7};
    int32_t folded, left;
    open_scene(&p);
    CHECK_OK(sup_position_open(p.model, &view, &error), error);
    size_t floats = 3 * (size_t)p.rig->vertex_count;
    sup_skin_out out = {.positions = p.positions, .position_stride = 3 * sizeof(float)};
    void *scratch = aligned_alloc(64, sup_skin_limit_scratch(&view.limit));
    memcpy(p.positions, p.rig->positions, floats * sizeof(float)); /* linear blending: the bind pose */
    sup_skin_limit_begin(&view.limit, view.size, 1.1f, scratch, &out);
    sup_skin_limit_apply(&view.limit, view.size, scratch, &out); /* nothing to do */
    CHECK(memcmp(p.positions, p.rig->positions, floats * sizeof(float)) == 0);
    for (int32_t v = 0; v < p.rig->vertex_count; v += 211) /* single vertices leave the skin */
        for (int c = 0; c < 3; c++)
            p.positions[3 * v + c] += 0.03f * view.size * (float)(2.0 * sup_random_unit(&random) - 1.0);
    double before = worst_edge(&p, &folded);
    sup_skin_limit_apply(&view.limit, view.size, scratch, &out);
    double after = worst_edge(&p, &left);
    CHECK_MSG(before > 2.0 && folded > 0, "edges up to %g, %d folds", before, folded);
    CHECK_MSG(after < 1.1 && left == 0, "edges up to %g of %g, %d folds of %d", after, before, left, folded);
    free(scratch);
    close_scene(&p);
}

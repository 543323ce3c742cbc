/* Two layers of tissue: the system and the step against the reference in double precision, on the built-in human. */
#include "bind/model.h"
#include "methods/anatomy/anatomy.h"
#include "tissue/anchors.h"
#include "solver/solver.h"
#include "solver/solver_reference.h"
#include "methods/projective/projective_view.h"
#include "scene.h"
#include "test.h"

#include "supple/supple.h"

typedef struct layered_tissue {
    sup_character *character;
    sup_rig *rig;
    sup_arena arena;
    sup_simulated_surface surface;
    sup_tissue_layers layers;
    sup_volumetric_skeleton *skeleton;
    sup_tissue *tissue;
    sup_tissue_report report;
} layered_tissue;

/* Bases at 0.6 of the distance to the foot points, fixed to the strongest joint, every third one free; no layers
 * where x is above a limit. */
static layered_tissue open_tissue(double inner_stiffness, double bare_from)
{
    layered_tissue f = {.character = test_scene("human", 0.1)};
    sup_context context = sup_context_resolve(NULL);
    sup_error error;
    f.arena = sup_arena_create(&context.allocator);
    CHECK_OK(sup_rig_create(NULL, f.character, NULL, &f.rig, &error), error);
    CHECK_OK(sup_simulated_surface_create(&context, f.rig, 600, &f.arena, &f.surface, &error), error);
    const sup_simulated_surface *s = &f.surface;
    sup_tissue_skin skin = {s->coarse_count,    s->coarse_triangle_count, s->coarse_positions, s->coarse_triangles,
                            s->influence_first, s->influence_joint,       s->influence_weight};
    /* A first tissue computes the foot points. */
    CHECK_OK(sup_tissue_create(&context, f.rig, &skin, NULL, &f.skeleton, &f.tissue, NULL, &error), error);
    float *base = sup_arena_alloc(&f.arena, 3 * (size_t)s->coarse_count, sizeof *base);
    float *share = sup_arena_alloc(&f.arena, (size_t)s->coarse_count, sizeof *share);
    int32_t *joint = sup_arena_alloc(&f.arena, (size_t)s->coarse_count, sizeof *joint);
    CHECK(base != NULL && share != NULL && joint != NULL);
    for (int32_t v = 0; v < s->coarse_count; v++) {
        sup_vec3d at = sup_tissue_point(f.tissue->skin, v);
        sup_v3_store(base + 3 * (size_t)v,
                     sup_v3_lerp(at, sup_foot_position(f.skeleton, f.tissue->foot_points[v]), 0.6));
        share[v] = at.x > bare_from ? 0.0f : 0.4f;
        joint[v] = v % 3 == 0 ? -1 : s->influence_joint[s->influence_first[v]];
    }
    sup_tissue_destroy(f.tissue);
    sup_skeleton_destroy(f.skeleton);
    f.layers = (sup_tissue_layers){base, share, joint, inner_stiffness};
    sup_tissue_def def = {.layers = &f.layers};
    CHECK_OK(sup_tissue_create(&context, f.rig, &skin, &def, &f.skeleton, &f.tissue, &f.report, &error), error);
    return f;
}

static void close_tissue(layered_tissue *f)
{
    sup_tissue_destroy(f->tissue);
    sup_skeleton_destroy(f->skeleton);
    sup_arena_destroy(&f->arena);
    sup_rig_destroy(f->rig);
    sup_character_destroy(f->character);
}

static sup_model *bind_tissue(const layered_tissue *f, const sup_system_def *def)
{
    /* With the model builder, as in a method. */
    sup_context context = sup_context_resolve(NULL);
    sup_error error;
    sup_model_builder builder = {.allocator = context.allocator, .arrays = {.item_size = sizeof(sup_built_array)}};
    sup_method method = {.name = "layers"};
    sup_model_header header = {.vertex_count = 1, .node_count = 1};
    sup_model *model = NULL;
    CHECK_OK(sup_system_bind(&context, def, &builder, "s", &error), error);
    CHECK_OK(sup_anchors_bind(&context, f->skeleton, f->tissue, NULL, &builder, "a", &error), error);
    CHECK_OK(sup_model_pack(&context, &method, &header, &builder, &model, &error), error);
    sup_model_builder_free(&builder);
    return model;
}

TEST(layers_fill_the_prisms)
{
    layered_tissue f = open_tissue(3.0, 0.3);
    const sup_tissue *t = f.tissue;
    int32_t held = 0, free_given = 0, n = t->skin_count;
    CHECK(t->middle != NULL && t->inner_stiffness == 3.0);
    CHECK_EQ(sup_tissue_vertex_count(t), 3 * n);
    for (int32_t v = 0; v < n; v++) {
        double whole = sup_v3_distance(sup_tissue_point(t->skin, v), sup_tissue_point(t->base, v));
        double outer = sup_v3_distance(sup_tissue_point(t->skin, v), sup_tissue_point(t->middle, v));
        bool given = f.layers.fraction[v] > 0.0f;
        CHECK_NEAR(outer, (given ? 0.4 : 0.5) * whole, 1e-6 * whole);
        held += t->base_class[v] == SUP_BASE_JOINT;
        free_given += given && t->base_class[v] == SUP_BASE_FREE;
        if (t->base_class[v] == SUP_BASE_JOINT) CHECK_EQ(t->base_owner[v], f.layers.joint[v]);
    }
    CHECK(held > n / 4 && free_given > n / 10);
    CHECK_EQ(f.report.on_joint, held);
    /* The volumes of both layers sum to the volumes of the prisms. */
    double prisms = 0.0, layers = 0.0;
    for (int32_t k = 0; k < 3 * t->triangle_count; k++)
        prisms += sup_tissue_volume6(t, t->tets + 4 * (size_t)k) / 6.0;
    for (int32_t k = 0; k < 6 * t->triangle_count; k++)
        layers += t->tet_volume[k];
    /* layers are split into other tets than the prism; some tets are inverted */
    CHECK_NEAR(layers / prisms, 1.0, 0.1);
    close_tissue(&f);
}

/* A bent and perturbed pose for the anchors: the rotation angle grows with height. */
static void set_anchors(const layered_tissue *f, const sup_system *s, double time, float *anchors)
{
    for (int32_t i = 0; i < s->anchor_count; i++) {
        sup_vec3d p = sup_tissue_vertex(f->tissue, s->anchor[i]);
        double angle = time * 2.0 * (p.y - 0.9), c = cos(angle), w = sin(angle);
        float *to = anchors + 4 * (size_t)i;
        to[0] = (float)(c * p.x + w * p.z);
        to[1] = (float)(p.y + 0.1 * time);
        to[2] = (float)(c * p.z - w * p.x);
        to[3] = 0.0f;
    }
}

/* Plain iterations, step by step from the same states: compares positions of all three surfaces and the objective. */
static void check_against_reference(const layered_tissue *f, const sup_system_def *def)
{
    sup_model *model = bind_tissue(f, def);
    sup_system s;
    sup_reference *reference = NULL;
    sup_error error;
    CHECK_OK(sup_system_open(model, "s", &s, &error), error);
    CHECK_OK(sup_reference_create(NULL, def, &reference, &error), error);
    CHECK_EQ(s.vertex_count, 3 * s.skin_count);
    size_t count = 3 * (size_t)s.vertex_count;
    void *state = aligned_alloc(64, sup_solver_state_size(&s, 0));
    float *now = calloc(count, 4), *previous = calloc(count, 4), *after = calloc(count, 4);
    float *anchors = calloc((size_t)s.anchor_count * 4, 4);
    double *x = calloc(count, 8), *y = calloc(count, 8), *double_now = calloc(count, 8),
           *double_previous = calloc(count, 8);
    CHECK(state && now && previous && after && anchors && x && y && double_now && double_previous);
    memset(state, 0, sup_solver_state_size(&s, 0));
    CHECK_EQ(sup_solver_reset(NULL, &s, state, 0, NULL, NULL, 0), SUP_OK);
    sup_solver_vertices(&s, state, now);
    memcpy(previous, now, count * 4);
    for (int step = 1; step <= 3; step++) {
        set_anchors(f, &s, 0.1 * step, anchors);
        for (size_t i = 0; i < count; i++) {
            double_now[i] = (double)now[i];
            double_previous[i] = (double)previous[i];
        }
        sup_reference_predict(reference, double_now, double_previous, 0.0, (double[3]){0, 0, 0}, y);
        memcpy(x, y, count * 8);
        for (int32_t i = 0; i < s.anchor_count; i++)
            for (int k = 0; k < 3; k++)
                x[3 * s.anchor[i] + k] = (double)anchors[4 * i + k];
        sup_reference_iterate(reference, x, y, 6, false, NULL);
        sup_solver_input input = {.anchors = anchors, .mode = SUP_SOLVER_PLAIN, .iterations = 6};
        sup_solver_report report;
        CHECK_EQ(sup_solver_step(NULL, &s, state, &input, &report), SUP_OK);
        memcpy(previous, now, count * 4);
        sup_solver_vertices(&s, state, now);
        for (size_t i = 0; i < count; i++)
            CHECK_MSG(fabs((double)now[i] - x[i]) < 3e-5, "step %d vertex %zu of %d: %.8g, expected %.8g", step, i / 3,
                      (int)s.vertex_count, (double)now[i], x[i]);
    }
    free(state), free(now), free(previous), free(after), free(anchors);
    free(x), free(y), free(double_now), free(double_previous);
    sup_reference_destroy(reference);
    sup_model_destroy(model);
}

TEST(stacked_step_equals_the_reference)
{
    layered_tissue f = open_tissue(3.0, 0.3);
    sup_system_def def = {.tissue = f.tissue, .skeleton = f.skeleton};
    check_against_reference(&f, &def);
    def.is_static = true;
    check_against_reference(&f, &def);
    close_tissue(&f);
}

/* If the inner layer is as stiff as the outer one, a stretched bar stays straight; if it is stiffer, most of the
 * stretch is in the outer layer. Measured by the displacement of middle surface and skin when only the bones move
 * sideways. */
TEST(stiffer_muscle_moves_more_with_its_bone)
{
    double displacement[2];
    for (int k = 0; k < 2; k++) {
        layered_tissue f = open_tissue(k == 0 ? 1.0 : 10.0, 1e9);
        unsigned char *fixed = calloc((size_t)f.tissue->skin_count, 1);
        /* the skin is fixed: the middle surface is pulled from both sides */
        memset(fixed, 1, (size_t)f.tissue->skin_count);
        sup_system_def def = {.tissue = f.tissue, .skeleton = f.skeleton, .fixed = fixed, .is_static = true};
        sup_model *model = bind_tissue(&f, &def);
        sup_system s;
        sup_error error;
        CHECK_OK(sup_system_open(model, "s", &s, &error), error);
        void *state = aligned_alloc(64, sup_solver_state_size(&s, 0));
        float *anchors = calloc((size_t)s.anchor_count * 4, 4), *at = calloc(3 * (size_t)s.vertex_count, 4);
        for (int32_t i = 0; i < s.anchor_count; i++) {
            sup_v3_store(anchors + 4 * (size_t)i, sup_tissue_vertex(f.tissue, s.anchor[i]));
            if (s.anchor[i] >= s.skin_count) anchors[4 * i] += 0.005f;
        }
        CHECK_EQ(sup_solver_reset(NULL, &s, state, 0, anchors, NULL, 20), SUP_OK);
        sup_solver_vertices(&s, state, at);
        displacement[k] = 0.0;
        for (int32_t v = 0; v < s.skin_count; v++)
            displacement[k] +=
                ((double)at[3 * (2 * s.skin_count + v)] - f.tissue->middle[3 * (size_t)v]) / s.skin_count;
        free(state), free(anchors), free(at), free(fixed);
        sup_model_destroy(model);
        close_tissue(&f);
    }
    CHECK(displacement[0] > 0.0005 && displacement[1] > 1.2 * displacement[0] && displacement[1] < 0.005);
}

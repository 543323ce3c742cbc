#include "implicit/tube.h"
#include "test.h"

#include <float.h>

static const double RADIUS = 0.1, HALF = 0.5;

/* Compact map of the papers, radius 1. */
static double compact(double t, double *slope)
{
    *slope = 0.0;
    if (t <= -1.0) return 1.0;
    if (t >= 1.0) return 0.0;
    *slope = -15.0 / 16.0 * (t * t - 1.0) * (t * t - 1.0);
    return -3.0 / 16.0 * t * t * t * t * t + 5.0 / 8.0 * t * t * t - 15.0 / 16.0 * t + 0.5;
}

/* A capsule around half of the x axis, from 0 to `end`, in the bind pose. */
static double capsule(sup_vec3d p, double end, sup_vec3d *gradient)
{
    double along = end > 0.0 ? fmin(fmax(p.x, 0.0), end) : fmax(fmin(p.x, 0.0), end);
    sup_vec3d away = sup_v3(p.x - along, p.y, p.z);
    double distance = sup_v3_length(away), slope;
    double value = compact(distance / RADIUS - 1.0, &slope);
    *gradient = sup_v3_scale(sup_v3_unit_or(away, sup_v3(0, 1, 0)), slope / RADIUS);
    return value;
}

static void evaluate(const tube *t, const float *p, double value[2], sup_vec3d slope[2])
{
    for (int j = 0; j < 2; j++) {
        sup_vec3d g;
        value[j] = capsule(sup_affine_point(t->field[j], sup_v3_load(p)), j == 0 ? -0.4 : 0.4, &g);
        const double *m = t->field[j].m; /* rigid: gradients transform by the transpose */
        slope[j] = sup_v3(m[0] * g.x + m[4] * g.y + m[8] * g.z, m[1] * g.x + m[5] * g.y + m[9] * g.z,
                          m[2] * g.x + m[6] * g.y + m[10] * g.z);
    }
}

double tube_value(const tube *t, const float *p, double gradient[3])
{
    double value[2];
    sup_vec3d slope[2];
    evaluate(t, p, value, slope);
    int first = value[1] > value[0] ? 1 : 0;
    double result = value[first];
    sup_vec3d g = slope[first];
    if (t->contact && value[1 - first] > 0.5) { /* a valley along value[0] = value[1] */
        double d = value[first] - value[1 - first], wide = 0.2;
        double up = d < wide ? d * d / (2.0 * wide) : d - 0.5 * wide, steep = d < wide ? d / wide : 1.0;
        result = 0.5 + up;
        g = sup_v3_scale(sup_v3_sub(slope[first], slope[1 - first]), steep);
    }
    gradient[0] = g.x;
    gradient[1] = g.y;
    gradient[2] = g.z;
    return result;
}

static void put(sup_field_samples *to, int k, double value, sup_vec3d slope)
{
    to->value[k] = (float)value;
    to->x[k] = (float)slope.x;
    to->y[k] = (float)slope.y;
    to->z[k] = (float)slope.z;
}

/* Vertices belong to capsule 0 or 1. */
static void set_side(const tube *t, const float *p, int k, sup_field_sides *sides)
{
    double value[2];
    sup_vec3d slope[2];
    evaluate(t, p, value, slope);
    int own = sides->own[k] > 0.5f ? 1 : 0;
    sup_vec3d across = sup_v3_sub(slope[own], slope[1 - own]);
    sides->own_value[k] = (float)value[own];
    sides->contact[k] = t->contact && fmin(value[0], value[1]) > 0.5 ? 1.0f : 0.0f;
    put(&sides->side, k, value[own] - value[1 - own], across);
    sides->end.value[k] = FLT_MAX;
    sides->end.x[k] = sides->end.y[k] = sides->end.z[k] = 0.0f;
    const sup_vec3d none = {0, 0, 0};
    put(&sides->own_limb, k, t->other_limbs ? value[own] : 1.0, t->other_limbs ? slope[own] : none);
    put(&sides->other_limb, k, t->other_limbs ? value[1 - own] : 0.0, t->other_limbs ? slope[1 - own] : none);
}

static void tube_field(const void *user, const sup_field_points *points, sup_field_samples *samples,
                       sup_field_sides *sides)
{
    const tube *t = user;
    for (int k = 0; k < SUP_FIELD_LANES; k++) {
        const float p[3] = {points->x[k], points->y[k], points->z[k]};
        double g[3];
        samples->value[k] = (float)tube_value(t, p, g);
        samples->x[k] = (float)g[0];
        samples->y[k] = (float)g[1];
        samples->z[k] = (float)g[2];
        if (sides != NULL) set_side(t, p, k, sides);
    }
}

static void make_mesh(tube *t, int32_t along, int32_t around)
{
    t->vertex_count = along * around + 2;
    t->triangle_count = 2 * along * around;
    t->positions = sup_arena_alloc(&t->arena, 3 * (size_t)t->vertex_count, sizeof(float));
    t->triangles = sup_arena_alloc(&t->arena, 3 * (size_t)t->triangle_count, sizeof(int32_t));
    for (int32_t i = 0; i < along; i++)
        for (int32_t k = 0; k < around; k++) {
            double x = -HALF + (i + 0.7) / (along + 0.4) * 2.0 * HALF, over = fmax(0.0, fabs(x) - 0.4);
            double r = sqrt(fmax(1e-4, RADIUS * RADIUS - over * over)),
                   angle = 6.283185307 * (k + 0.5 * (i % 2)) / around;
            float *p = t->positions + 3 * (i * around + k);
            p[0] = (float)x;
            p[1] = (float)(r * cos(angle));
            p[2] = (float)(r * sin(angle));
        }
    float *ends = t->positions + 3 * along * around;
    ends[0] = (float)-HALF;
    ends[3] = (float)HALF;
    int32_t *to = t->triangles;
    for (int32_t i = 0; i + 1 < along; i++)
        for (int32_t k = 0; k < around; k++) {
            int32_t next = (k + 1) % around, a = i * around, b = a + around;
            int32_t odd[6] = {a + k, b + k, a + next, a + next, b + k, b + next};
            int32_t shifted[6] = {a + k, b + next, a + next, a + k, b + k, b + next};
            memcpy(to, i % 2 == 0 ? odd : shifted, sizeof odd);
            to += 6;
        }
    for (int32_t k = 0; k < around; k++) {
        int32_t next = (k + 1) % around, last = (along - 1) * around;
        const int32_t caps[6] = {along * around, k, next, along * around + 1, last + next, last + k};
        memcpy(to, caps, sizeof caps);
        to += 6;
    }
}

void tube_open(tube *t, int32_t along, int32_t around, float blend)
{
    memset(t, 0, sizeof *t);
    sup_context context = sup_context_resolve(NULL);
    t->arena = sup_arena_create(&context.allocator);
    t->builder.allocator = context.allocator;
    t->builder.arrays.item_size = sizeof(sup_built_array);
    make_mesh(t, along, around);
    size_t count = (size_t)t->vertex_count;
    int32_t *joint = sup_arena_alloc(&t->arena, count, sizeof *joint);
    int32_t *first = sup_arena_alloc(&t->arena, count + 1, sizeof *first);
    int32_t *joints = sup_arena_alloc(&t->arena, 2 * count, sizeof *joints);
    float *weights = sup_arena_alloc(&t->arena, 2 * count, sizeof *weights);
    for (size_t v = 0; v < count; v++) {
        float x = t->positions[3 * v], w = blend > 0.0f ? fminf(fmaxf(0.5f + 0.5f * x / blend, 0.0f), 1.0f) : x > 0.0f;
        joint[v] = x > 0.0f ? 1 : 0;
        joints[2 * v] = joint[v];
        joints[2 * v + 1] = 1 - joint[v];
        weights[2 * v] = joint[v] ? w : 1.0f - w;
        weights[2 * v + 1] = joint[v] ? 1.0f - w : w;
        first[v + 1] = (int32_t)(2 * v + 2);
    }
    sup_track_def def = {.vertex_count = t->vertex_count,
                         .triangle_count = t->triangle_count,
                         .joint_count = TUBE_JOINTS,
                         .positions = t->positions,
                         .triangles = t->triangles,
                         .joint = joint,
                         .influence_first = first,
                         .influence_joint = joints,
                         .influence_weight = weights};
    sup_error error = {0};
    CHECK_OK(sup_track_bind(&context, &def, &t->arena, &t->builder, &t->built, &error), error);
    for (int j = 0; j < TUBE_JOINTS; j++) {
        t->field[j] = t->joints[j] = sup_affine_identity();
        t->field_joint[j] = j;
        for (int c = 0; c < 6; c++)
            t->boxes[0][6 * j + c] = c < 3 ? -10.0f : 10.0f;
    }
    memcpy(t->boxes[1], t->boxes[0], sizeof t->boxes[0]);
    t->contact = false;
    for (int64_t i = 0; i < t->built.track.vertex_count; i++)
        t->built.own[i] = t->built.track.rest[4 * i] > 0.0f ? 1.0f : 0.0f;
    CHECK_EQ(sup_track_set_targets(&context, &t->built, tube_field, t), 0);
    t->track = t->built.track;
    t->state = sup_arena_alloc(&t->arena, sup_track_state_size(&t->track), 1);
    CHECK(t->state != NULL);
    static const float identity[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    sup_track_reset(&t->track, t->state, identity);
    t->input = (sup_track_input){.field_bounds = {TUBE_JOINTS, t->field_joint, NULL, t->boxes[0], t->boxes[1]},
                                 .field = tube_field,
                                 .field_user = t,
                                 .solver = SUP_TRACK_FACTOR,
                                 .iterations = 12,
                                 .activity = 1.0f,
                                 .tolerance = 0.005f};
}

void tube_close(tube *t)
{
    sup_model_builder_free(&t->builder);
    sup_arena_destroy(&t->arena);
}

void tube_bend(tube *t, double angle, sup_affine root)
{
    sup_track_joint joints[TUBE_JOINTS];
    sup_context context = sup_context_resolve(NULL);
    for (int j = 0; j < TUBE_JOINTS; j++) {
        sup_quatd transform = sup_quatd_from_axis_angle(sup_v3(0, 0, 1), j == 1 ? angle : 0.0);
        sup_affine position =
            sup_affine_multiply(root, sup_affine_from_trs(sup_v3(0, 0, 0), transform, sup_v3(1, 1, 1)));
        sup_track_set_joint(&joints[j], position, t->joints[j], sup_v3(0, 0, 0));
        t->joints[j] = position;
        CHECK(sup_affine_inverse(position, &t->field[j]));
    }
    t->input.joints = joints;
    sup_track_step(&context, &t->track, t->state, &t->input, &t->report);
    t->input.joints = NULL;
}

void tube_bend_in(tube *t, double angle, int subframes)
{
    for (int i = 1; i <= subframes; i++)
        tube_bend(t, angle * i / subframes, sup_affine_identity());
}

double tube_energy(const tube *t)
{
    sup_track_arrays arrays = sup_track_arrays_of(&t->track, t->state);
    double sum = 0.0;
    for (int64_t i = 0; i < t->track.vertex_count; i++)
        for (int32_t e = t->track.first[i]; e < t->track.first[i + 1]; e++) {
            int64_t j = t->track.other[e];
            const float *transform = arrays.transform + 12 * i;
            for (int c = 0; c < 3; c++) {
                double rest = 0.0;
                for (int k = 0; k < 3; k++)
                    rest += (double)transform[4 * c + k] *
                            ((double)t->track.rest[4 * i + k] - (double)t->track.rest[4 * j + k]);
                double off = (double)arrays.position[4 * i + c] - (double)arrays.position[4 * j + c] - rest;
                sum += (double)t->track.weight[e] * off * off;
            }
        }
    return sum;
}

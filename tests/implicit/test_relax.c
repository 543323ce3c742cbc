/* Relaxation alone, in a field whose iso-surfaces are planes: numbers in comments are those of the checklist in
 * shared/methods/facts_implicit.md. */
#include "implicit/tube.h"
#include "test.h"

static const float SLOPE[3] = {1.2f, -0.9f, 2.0f};

/* Value 0.5 at the origin, constant slope. */
static void plane_field(const void *user, const sup_field_points *points, sup_field_samples *samples,
                        sup_field_sides *sides)
{
    SUP_UNUSED(user);
    for (int k = 0; k < SUP_FIELD_LANES; k++) {
        samples->value[k] = 0.5f + SLOPE[0] * points->x[k] + SLOPE[1] * points->y[k] + SLOPE[2] * points->z[k];
        samples->x[k] = SLOPE[0];
        samples->y[k] = SLOPE[1];
        samples->z[k] = SLOPE[2];
    }
    if (sides == NULL) return;
    memset(sides->contact, 0, sizeof sides->contact);
    for (int k = 0; k < SUP_FIELD_LANES; k++) {
        sides->own_value[k] = -1.0f; /* belongs to no limb: no vertex counts as inverted */
        sides->own_limb.value[k] = 1.0f;
        sides->other_limb.value[k] = 0.0f;
    }
}

/* 19: each vertex slides in its plane and never leaves it. */
TEST(relaxation_moves_across_the_gradient)
{
    for (int solver = 0; solver < 2; solver++) {
        tube t;
        tube_open(&t, 30, 12, 0.1f);
        float *positions = sup_track_positions(&t.track, t.state),
              *normals = sup_track_arrays_of(&t.track, t.state).normal;
        sup_vec3d slope = sup_v3_load(SLOPE);
        double *height = malloc((size_t)t.track.vertex_count * sizeof *height), largest = 0.0;
        sup_random random = {5};
        for (int64_t i = 0; i < t.track.vertex_count; i++) {
            for (int c = 0; c < 3; c++)
                positions[4 * i + c] += (float)(0.03 * (sup_random_unit(&random) - 0.5));
            height[i] = sup_v3_dot(sup_v3_load(positions + 4 * i), slope);
            t.built.target[i].iso = (float)(0.5 + height[i]);
            sup_v3_store(normals + 4 * i, sup_v3_unit_or(slope, sup_v3(0, 0, 0)));
        }
        float *previous = malloc((size_t)t.track.vertex_count * 4 * sizeof *previous);
        memcpy(previous, positions, (size_t)t.track.vertex_count * 4 * sizeof *previous);
        t.input.field = plane_field;
        t.input.all = true;
        t.input.solver = solver == 0 ? SUP_TRACK_FACTOR : SUP_TRACK_JACOBI;
        tube_bend(&t, 0.0, sup_affine_identity());
        for (int64_t i = 0; i < t.track.vertex_count; i++) {
            double along = sup_v3_dot(sup_v3_load(positions + 4 * i), slope) - height[i];
            CHECK_MSG(fabs(along) <= 1e-6 * sup_v3_length(slope), "vertex %d by %g", (int)i, along);
            largest = fmax(largest, sup_v3_distance(sup_v3_load(positions + 4 * i), sup_v3_load(previous + 4 * i)));
        }
        CHECK(largest > 0.005);
        free(previous);
        free(height);
        tube_close(&t);
    }
}

/* Elastic smoothing of the output on a tube of two bones with capsules as fields: arap_smooth.c. */
#include "implicit/tube.h"
#include "test.h"

enum { SWEEPS = 4000 };

/* Output positions with `amount` of smoothing: [vertex_count*4]. */
static float *output_of(const tube *t, float amount)
{
    float *output = malloc(4 * (size_t)t->track.vertex_count * sizeof *output);
    memcpy(output, sup_track_positions(&t->track, t->state), 4 * (size_t)t->track.vertex_count * sizeof *output);
    sup_context context = {0};
    sup_track_arap_smooth(&context, &t->track, t->state, amount, output);
    return output;
}

static double moved(const tube *t, const float *output, int64_t vertex)
{
    const float *p = sup_track_positions(&t->track, t->state) + 4 * vertex;
    return sup_v3_distance(sup_v3_load(output + 4 * vertex), sup_v3_load(p)) / (double)t->track.target[vertex].edge;
}

/* b - L p of a vertex, in double. */
static sup_vec3d residual_of(const tube *t, const sup_track_arrays *arrays, int64_t i)
{
    const sup_track *track = &t->track;
    sup_vec3d sum = sup_v3(0, 0, 0);
    for (int32_t e = track->first[i]; e < track->first[i + 1]; e++) {
        int64_t j = track->other[e];
        sup_vec3d edge = sup_v3_sub(sup_v3_load(track->rest + 4 * i), sup_v3_load(track->rest + 4 * j)), rotated;
        const float *a = arrays->transform + 12 * i, *b = arrays->transform + 12 * j;
        double m[9];
        for (int k = 0; k < 9; k++)
            m[k] = 0.5 * ((double)a[4 * (k / 3) + k % 3] + (double)b[4 * (k / 3) + k % 3]);
        rotated = sup_v3(m[0] * edge.x + m[1] * edge.y + m[2] * edge.z, m[3] * edge.x + m[4] * edge.y + m[5] * edge.z,
                         m[6] * edge.x + m[7] * edge.y + m[8] * edge.z);
        edge = sup_v3_sub(sup_v3_load(arrays->position + 4 * i), sup_v3_load(arrays->position + 4 * j));
        sum = sup_v3_madd(sum, (double)track->weight[e], sup_v3_sub(rotated, edge));
    }
    return sum;
}

/* (L + tension A) d = b - L p by Gauss-Seidel sweeps in double. */
static sup_vec3d *reference_offsets(const tube *t)
{
    const sup_track *track = &t->track;
    sup_track_arrays arrays = sup_track_arrays_of(track, t->state);
    sup_vec3d *d = calloc((size_t)track->vertex_count, sizeof *d),
              *descent = calloc((size_t)track->vertex_count, sizeof *descent);
    for (int64_t i = 0; i < track->vertex_count; i++)
        descent[i] = residual_of(t, &arrays, i);
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int64_t i = 0; i < track->vertex_count; i++) {
            double edge = (double)track->target[i].edge, sum = SUP_TRACK_TENSION * SUP_TRACK_AREA * edge * edge;
            sup_vec3d right = descent[i];
            for (int32_t e = track->first[i]; e < track->first[i + 1]; e++) {
                right = sup_v3_madd(right, (double)track->weight[e], d[track->other[e]]);
                sum += (double)track->weight[e];
            }
            d[i] = sup_v3_scale(right, 1.0 / sum);
        }
    free(descent);
    return d;
}

TEST(arap_smooth_minimises_both_energies)
{
    tube t;
    tube_open(&t, 48, 20, 0.1f);
    tube_bend_in(&t, 1.2, 12);
    sup_vec3d *reference = reference_offsets(&t);
    float *output = output_of(&t, 1.0f), *half = output_of(&t, 0.5f), *none = output_of(&t, 0.0f);
    double largest = 0.0, worst = 0.0, linear = 0.0;
    for (int64_t i = 0; i < t.track.vertex_count; i++) {
        sup_vec3d p = sup_v3_load(sup_track_positions(&t.track, t.state) + 4 * i), x = sup_v3_load(output + 4 * i);
        largest = fmax(largest, sup_v3_length(reference[i]));
        worst = fmax(worst, sup_v3_distance(x, sup_v3_add(p, reference[i])));
        linear = fmax(linear, sup_v3_distance(sup_v3_scale(sup_v3_add(p, x), 0.5), sup_v3_load(half + 4 * i)));
        CHECK_EQ(moved(&t, none, i), 0.0);
    }
    CHECK_MSG(largest > 0.002 && worst < 0.03 * largest, "%g away from the minimum, which is %g away", worst, largest);
    CHECK(linear < 1e-6);
    free(reference);
    free(output);
    free(half);
    free(none);
    tube_close(&t);
}

TEST(arap_smooth_keeps_rigid_skin)
{
    tube t;
    tube_open(&t, 40, 16, 0.1f);
    sup_affine root =
        sup_affine_from_trs(sup_v3(0.3, -0.1, 0.2), sup_quatd_from_axis_angle(sup_v3(1, 2, -1), 0.4), sup_v3(1, 1, 1));
    tube_bend(&t, 0.0, root);
    float *output = output_of(&t, 1.0f);
    for (int64_t i = 0; i < t.track.vertex_count; i++)
        CHECK_EQ(moved(&t, output, i), 0.0);
    free(output);
    tube_close(&t);
}

/* In a fold deeper than a limb is thick, skin in contact stays, and skin near it does not cross the plane between the
 * bones, which is the contact surface. */
TEST(arap_smooth_keeps_contacts)
{
    static const double BEND = 2.5;
    tube t;
    tube_open(&t, 60, 24, 0.1f);
    t.contact = true;
    tube_bend_in(&t, BEND, 25);
    const float *p = sup_track_positions(&t.track, t.state);
    sup_vec3d across = sup_v3_unit_or(sup_v3(cos(BEND) + 1.0, sin(BEND), 0.0), sup_v3(0, 0, 0));
    float *output = output_of(&t, 1.0f);
    int32_t stay = 0, gave = 0;
    for (int64_t i = 0; i < t.track.vertex_count; i++) {
        double side = t.track.rest[4 * i] > 0.0f ? 1.0 : -1.0, edge = (double)t.track.target[i].edge;
        double previous = side * sup_v3_dot(sup_v3_load(p + 4 * i), across) / edge;
        double after = side * sup_v3_dot(sup_v3_load(output + 4 * i), across) / edge;
        CHECK_MSG(!(p[4 * i + 3] > 0.75f) || moved(&t, output, i) == 0.0, "vertex %d in contact moved", (int)i);
        CHECK_MSG(after > fmin(previous, 0.0) - 0.02, "vertex %d crossed the contact surface by %g edges", (int)i,
                  -after);
        stay += p[4 * i + 3] > 0.75f ? 1 : 0;
        gave += moved(&t, output, i) > 0.05 ? 1 : 0;
    }
    CHECK_MSG(stay > 80 && gave > 80, "%d fixed, %d moved", stay, gave);
    free(output);
    tube_close(&t);
}

/* Near another limb, skin moves into its own limb or stays. */
TEST(arap_smooth_does_not_move_towards_other_limbs)
{
    tube t;
    tube_open(&t, 48, 20, 0.1f);
    tube_bend_in(&t, 1.2, 12);
    sup_track_arrays arrays = sup_track_arrays_of(&t.track, t.state);
    double out[2] = {0.0, 0.0};
    for (int near = 0; near < 2; near++) {
        for (int64_t i = 0; i < t.track.vertex_count; i++)
            arrays.position[4 * i + 3] = near ? 0.3f : 0.0f;
        float *output = output_of(&t, 1.0f);
        for (int64_t i = 0; i < t.track.vertex_count; i++) {
            sup_vec3d offset = sup_v3_sub(sup_v3_load(output + 4 * i), sup_v3_load(arrays.position + 4 * i));
            out[near] = fmax(out[near],
                             -sup_v3_dot(offset, sup_v3_load(arrays.normal + 4 * i)) / (double)t.track.target[i].edge);
        }
        free(output);
    }
    CHECK_MSG(out[0] > 0.03 && out[1] < 1e-4, "%g and %g edges", out[0], out[1]);
    tube_close(&t);
}

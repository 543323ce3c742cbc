/* Skin that gives way, on a tube of two bones with capsules as fields: arap_smooth.c. */
#include "implicit/tube.h"
#include "test.h"

enum { SWEEPS = 4000 };

/* What is shown, with `share` of giving way: [row_count*4]. */
static float *shown_of(const tube *t, float share)
{
    float *shown = malloc(4 * (size_t)t->track.row_count * sizeof *shown);
    memcpy(shown, sup_track_places(&t->track, t->state), 4 * (size_t)t->track.row_count * sizeof *shown);
    sup_context context = {0};
    sup_track_ease(&context, &t->track, t->state, share, shown);
    return shown;
}

static double moved(const tube *t, const float *shown, int64_t row)
{
    const float *p = sup_track_places(&t->track, t->state) + 4 * row;
    return sup_v3_distance(sup_v3_load(shown + 4 * row), sup_v3_load(p)) / (double)t->track.aim[row].edge;
}

/* b - L p of a row, in double. */
static sup_vec3d pull_of(const tube *t, const sup_track_rows *rows, int64_t i)
{
    const sup_track *track = &t->track;
    sup_vec3d sum = sup_v3(0, 0, 0);
    for (int32_t e = track->first[i]; e < track->first[i + 1]; e++) {
        int64_t j = track->other[e];
        sup_vec3d edge = sup_v3_sub(sup_v3_load(track->rest + 4 * i), sup_v3_load(track->rest + 4 * j)), turned;
        const float *a = rows->turn + 12 * i, *b = rows->turn + 12 * j;
        double m[9];
        for (int k = 0; k < 9; k++)
            m[k] = 0.5 * ((double)a[4 * (k / 3) + k % 3] + (double)b[4 * (k / 3) + k % 3]);
        turned = sup_v3(m[0] * edge.x + m[1] * edge.y + m[2] * edge.z, m[3] * edge.x + m[4] * edge.y + m[5] * edge.z,
                        m[6] * edge.x + m[7] * edge.y + m[8] * edge.z);
        edge = sup_v3_sub(sup_v3_load(rows->place + 4 * i), sup_v3_load(rows->place + 4 * j));
        sum = sup_v3_madd(sum, (double)track->weight[e], sup_v3_sub(turned, edge));
    }
    return sum;
}

/* (L + tension A) d = b - L p by Gauss-Seidel sweeps in double. */
static sup_vec3d *give_way_slowly(const tube *t)
{
    const sup_track *track = &t->track;
    sup_track_rows rows = sup_track_rows_of(track, t->state);
    sup_vec3d *d = calloc((size_t)track->row_count, sizeof *d), *pull = calloc((size_t)track->row_count, sizeof *pull);
    for (int64_t i = 0; i < track->row_count; i++)
        pull[i] = pull_of(t, &rows, i);
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int64_t i = 0; i < track->row_count; i++) {
            double edge = (double)track->aim[i].edge, sum = SUP_TRACK_TENSION * SUP_TRACK_AREA * edge * edge;
            sup_vec3d right = pull[i];
            for (int32_t e = track->first[i]; e < track->first[i + 1]; e++) {
                right = sup_v3_madd(right, (double)track->weight[e], d[track->other[e]]);
                sum += (double)track->weight[e];
            }
            d[i] = sup_v3_scale(right, 1.0 / sum);
        }
    free(pull);
    return d;
}

TEST(ease_is_the_minimum_of_both_energies)
{
    tube t;
    tube_open(&t, 48, 20, 0.1f);
    tube_bend_in(&t, 1.2, 12);
    sup_vec3d *slow = give_way_slowly(&t);
    float *shown = shown_of(&t, 1.0f), *half = shown_of(&t, 0.5f), *none = shown_of(&t, 0.0f);
    double most = 0.0, worst = 0.0, linear = 0.0;
    for (int64_t i = 0; i < t.track.row_count; i++) {
        sup_vec3d p = sup_v3_load(sup_track_places(&t.track, t.state) + 4 * i), x = sup_v3_load(shown + 4 * i);
        most = fmax(most, sup_v3_length(slow[i]));
        worst = fmax(worst, sup_v3_distance(x, sup_v3_add(p, slow[i])));
        linear = fmax(linear, sup_v3_distance(sup_v3_scale(sup_v3_add(p, x), 0.5), sup_v3_load(half + 4 * i)));
        CHECK_EQ(moved(&t, none, i), 0.0);
    }
    CHECK_MSG(most > 0.002 && worst < 0.03 * most, "%g away from the minimum, which is %g away", worst, most);
    CHECK(linear < 1e-6);
    free(slow);
    free(shown);
    free(half);
    free(none);
    tube_close(&t);
}

TEST(ease_leaves_what_is_not_bent)
{
    tube t;
    tube_open(&t, 40, 16, 0.1f);
    sup_affine root =
        sup_affine_from_trs(sup_v3(0.3, -0.1, 0.2), sup_quatd_from_axis_angle(sup_v3(1, 2, -1), 0.4), sup_v3(1, 1, 1));
    tube_bend(&t, 0.0, root);
    float *shown = shown_of(&t, 1.0f);
    for (int64_t i = 0; i < t.track.row_count; i++)
        CHECK_EQ(moved(&t, shown, i), 0.0);
    free(shown);
    tube_close(&t);
}

/* In a fold deeper than a limb is thick skin in contact stays, and what is near it does not go through the plane between
 * the bones, which is the sheet. */
TEST(ease_keeps_contacts)
{
    static const double BEND = 2.5;
    tube t;
    tube_open(&t, 60, 24, 0.1f);
    t.contact = true;
    tube_bend_in(&t, BEND, 25);
    const float *p = sup_track_places(&t.track, t.state);
    sup_vec3d across = sup_v3_unit_or(sup_v3(cos(BEND) + 1.0, sin(BEND), 0.0), sup_v3(0, 0, 0));
    float *shown = shown_of(&t, 1.0f);
    int32_t stay = 0, gave = 0;
    for (int64_t i = 0; i < t.track.row_count; i++) {
        double side = t.track.rest[4 * i] > 0.0f ? 1.0 : -1.0, edge = (double)t.track.aim[i].edge;
        double before = side * sup_v3_dot(sup_v3_load(p + 4 * i), across) / edge;
        double after = side * sup_v3_dot(sup_v3_load(shown + 4 * i), across) / edge;
        CHECK_MSG(!(p[4 * i + 3] > 0.75f) || moved(&t, shown, i) == 0.0, "row %d in contact moved", (int)i);
        CHECK_MSG(after > fmin(before, 0.0) - 0.02, "row %d went through the sheet by %g edges", (int)i, -after);
        stay += p[4 * i + 3] > 0.75f ? 1 : 0;
        gave += moved(&t, shown, i) > 0.05 ? 1 : 0;
    }
    CHECK_MSG(stay > 80 && gave > 80, "%d stay, %d gave", stay, gave);
    free(shown);
    tube_close(&t);
}

/* Where another limb is felt, skin goes into its own or stays. */
TEST(ease_does_not_go_towards_what_is_near)
{
    tube t;
    tube_open(&t, 48, 20, 0.1f);
    tube_bend_in(&t, 1.2, 12);
    sup_track_rows rows = sup_track_rows_of(&t.track, t.state);
    double out[2] = {0.0, 0.0};
    for (int near = 0; near < 2; near++) {
        for (int64_t i = 0; i < t.track.row_count; i++)
            rows.place[4 * i + 3] = near ? 0.3f : 0.0f;
        float *shown = shown_of(&t, 1.0f);
        for (int64_t i = 0; i < t.track.row_count; i++) {
            sup_vec3d way = sup_v3_sub(sup_v3_load(shown + 4 * i), sup_v3_load(rows.place + 4 * i));
            out[near] =
                fmax(out[near], -sup_v3_dot(way, sup_v3_load(rows.normal + 4 * i)) / (double)t.track.aim[i].edge);
        }
        free(shown);
    }
    CHECK_MSG(out[0] > 0.03 && out[1] < 1e-4, "%g and %g edges", out[0], out[1]);
    tube_close(&t);
}

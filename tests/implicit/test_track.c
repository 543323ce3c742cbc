#include "implicit/tube.h"
#include "test.h"

static double rms_from_rest(const tube *t)
{
    const float *p = sup_track_places(&t->track, t->state);
    double sum = 0.0, edge = 0.0;
    for (int64_t i = 0; i < t->track.row_count; i++) {
        edge += (double)t->track.aim[i].edge;
        for (int c = 0; c < 3; c++) {
            double d = (double)p[4 * i + c] - (double)t->track.rest[4 * i + c];
            sum += d * d;
        }
    }
    return sqrt(sum / t->track.row_count) / (edge / t->track.row_count);
}

TEST(track_bend_and_back_21)
{
    tube t;
    tube_open(&t, 60, 24, 0.1f);
    t.contact = getenv("CONTACT") != NULL;
    if (getenv("JACOBI")) {
        t.input.solver = SUP_TRACK_JACOBI;
        t.input.rounds = 300;
        t.input.tolerance = 1e-4f;
    }
    for (int i = 1; i <= 50; i++) {
        tube_bend(&t, 0.05 * i, sup_affine_identity());
        printf("%2d awake %d rounds %d evals/vertex %.1f moved %.4f energy %.5f\n", i, t.report.awake, t.report.rounds,
               (double)t.report.evaluations / t.track.row_count, (double)t.report.moved, tube_energy(&t));
    }
    int bad = 0;
    for (int64_t i = 0; i < t.track.row_count; i++) {
        double g[3];
        double f = tube_value(&t, sup_track_places(&t.track, t.state) + 4 * i, g);
        bad += fabs(f - (double)t.track.aim[i].iso) > 1e-3;
    }
    printf("bad %d of %d\n", bad, t.track.row_count);
    for (int i = 49; i >= 0; i--)
        tube_bend(&t, 0.05 * i, sup_affine_identity());
    printf("back: %g edges\n", rms_from_rest(&t));
    for (int i = 0; i < 20; i++)
        tube_bend(&t, 0.0, sup_affine_identity());
    printf("back: %g edges\n", rms_from_rest(&t));
    tube_close(&t);
}

/* bench_bind.c - time of each stage of a bind of `projective`, with its ratio to a reference of the same run.
 *
 *     bench_bind [FILE or scene:NAME ...]
 *
 * One thread; CPU time, the minimum of REPETITIONS. The reference is a plain Cholesky factorisation of a dense matrix,
 * which does not use the library: ratios compare commits and machines. Without arguments: the characters of the
 * authors, a MakeHuman character and the built-in human. */
#include "supple/supple.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPETITIONS = 5, MAX_STAGES = 16, REFERENCE_SIZE = 400 };

static const char *const inputs[] = {"fps/cylinder/cylinder.ini", "fps/tbone/tbone.ini", "fps/male/male.ini",
                                     "makehuman/mh_male_average.glb", "scene:human"};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double factorise_once(double *a)
{
    enum { N = REFERENCE_SIZE };
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i * N + j] = i == j ? N : 1.0 / (1.0 + abs(i - j));
    double begin = now_ms();
    for (int j = 0; j < N; j++) {
        for (int i = j; i < N; i++) {
            double sum = a[i * N + j];
            for (int k = 0; k < j; k++)
                sum -= a[i * N + k] * a[j * N + k];
            a[i * N + j] = i == j ? sqrt(sum) : sum / a[j * N + j];
        }
    }
    return now_ms() - begin;
}

static double reference_ms(void)
{
    static double matrix[REFERENCE_SIZE * REFERENCE_SIZE];
    double best = INFINITY;
    for (int r = 0; r < REPETITIONS; r++)
        best = fmin(best, factorise_once(matrix));
    return best;
}

/* Times of the stages in the order of their first report. */
typedef struct stage_clock {
    double last, ms[MAX_STAGES];
    const char *name[MAX_STAGES];
    int count;
} stage_clock;

static bool stage_done(void *user, float fraction, const char *stage)
{
    stage_clock *clock = user;
    double now = now_ms();
    int k = 0;
    (void)fraction;
    while (k < clock->count && strcmp(stage, clock->name[k]) != 0)
        k++;
    if (k == MAX_STAGES) return true;
    if (k == clock->count) clock->name[clock->count++] = stage;
    clock->ms[k] += now - clock->last;
    clock->last = now;
    return true;
}

static bool bind_once(const sup_character *character, stage_clock *clock, sup_error *error)
{
    sup_rig *rig = NULL;
    sup_model *model = NULL;
    sup_bind_def def = {.progress = stage_done, .progress_user = clock};
    clock->last = now_ms();
    bool ok = sup_rig_create(NULL, character, NULL, &rig, error) == SUP_OK;
    stage_done(clock, 0.0f, "rig");
    ok = ok && sup_bind(NULL, sup_method_find("projective"), rig, &def, &model, error) == SUP_OK;
    stage_done(clock, 1.0f, "pack");
    sup_model_destroy(model);
    sup_rig_destroy(rig);
    return ok;
}

static bool load(const char *input, sup_character **character, sup_error *error)
{
    char path[512];
    const char *folder = getenv("SUPPLE_ASSETS");
    if (strncmp(input, "scene:", 6) == 0) return sup_scene_create(NULL, input + 6, 1.0, character, error) == SUP_OK;
    if (sup_load(NULL, input, NULL, character, error) == SUP_OK) return true;
    *error = (sup_error){0};
    snprintf(path, sizeof path, "%s/%s", folder != NULL ? folder : "../shared/assets", input);
    return sup_load(NULL, path, NULL, character, error) == SUP_OK;
}

static bool time_bind(const char *input, double reference)
{
    sup_character *character = NULL;
    sup_error error = {0};
    stage_clock best = {0};
    bool ok = load(input, &character, &error);
    for (int r = 0; ok && r < REPETITIONS; r++) {
        stage_clock clock = {0};
        ok = bind_once(character, &clock, &error);
        for (int k = 0; k < clock.count; k++)
            clock.ms[k] = r == 0 ? clock.ms[k] : fmin(best.ms[k], clock.ms[k]);
        best = clock;
    }
    if (!ok) printf("%s: %s\n", input, error.message);
    double sum = 0.0;
    for (int k = 0; ok && k < best.count; k++) {
        printf("| %s | %s | %.2f | %.2f |\n", input, best.name[k], best.ms[k], best.ms[k] / reference);
        sum += best.ms[k];
    }
    if (ok) printf("| %s | all | %.2f | %.2f |\n", input, sum, sum / reference);
    fflush(stdout);
    sup_character_destroy(character);
    return ok;
}

int main(int argc, char **argv)
{
    double reference = reference_ms();
    bool ok = true;
    printf("reference: %.3f ms\n| character | stage | CPU ms | of the reference |\n|---|---|---|---|\n", reference);
    for (int i = 1; i < argc; i++)
        ok = time_bind(argv[i], reference) && ok;
    for (size_t i = 0; argc < 2 && i < sizeof inputs / sizeof inputs[0]; i++)
        time_bind(inputs[i], reference); /* without the assets only the scene */
    return ok ? 0 : 1;
}

/* bench_contact.c - time of contact detection: clusters and boxes against a hash grid that is rebuilt in every
 * timestep, as in [komaritzan2022] section 3.2.5 and [teschner2003], in the same run.
 *
 *     bench_contact [seconds per measurement, default 0.5] [folder of the shared assets, default ../shared/assets]
 *
 * Times are the minimum over many repetitions; ratios are of minima. Poses are by linear blending without contact
 * response, so there are more contacts than in a simulation. */
#include "contact/contact_fixture.h"

#include <time.h>

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Vertices hashed into cells of 0.9 mean edges of the tetrahedra; tetrahedra query the cells of their box. */
typedef struct hash_grid {
    const contact_fixture *f;
    int32_t bits, *head, *next;
    float cell;
    int32_t found;
} hash_grid;

static uint32_t cell_hash(const hash_grid *r, int32_t x, int32_t y, int32_t z)
{
    uint32_t h = (uint32_t)x * 73856093u ^ (uint32_t)y * 19349663u ^ (uint32_t)z * 83492791u;
    return h & ((1u << r->bits) - 1);
}

static void tet_point(const contact_fixture *f, int32_t point, float p[3])
{
    const sup_detect *d = &f->detect;
    if (point < d->vertex_count) {
        memcpy(p, f->skin + 3 * (size_t)point, 12);
        return;
    }
    int32_t v = point - d->vertex_count;
    const float *from = f->ends + 6 * (size_t)d->foot_segment[v];
    for (int k = 0; k < 3; k++)
        p[k] = from[k] + d->foot_parameter[v] * (from[3 + k] - from[k]);
}

static float triple(const float *a, const float *b, const float *c)
{
    return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

static bool in_tet(float p[4][3], const float *x)
{
    float e[3][3], d[3];
    for (int k = 0; k < 3; k++) {
        for (int c = 0; c < 3; c++)
            e[c][k] = p[c + 1][k] - p[0][k];
        d[k] = x[k] - p[0][k];
    }
    float det = triple(e[0], e[1], e[2]);
    if (!(det > 0.0f)) return false;
    float a = triple(d, e[1], e[2]), b = triple(e[0], d, e[2]), c = triple(e[0], e[1], d);
    return a > 0.0f && b > 0.0f && c > 0.0f && a + b + c < det;
}

static void run_hash_grid(void *data)
{
    hash_grid *r = data;
    const sup_detect *d = &r->f->detect;
    memset(r->head, 0xff, sizeof(int32_t) << r->bits);
    for (int32_t v = 0; v < d->vertex_count; v++) {
        const float *p = r->f->skin + 3 * (size_t)v;
        uint32_t h = cell_hash(r, (int32_t)floorf(p[0] / r->cell), (int32_t)floorf(p[1] / r->cell),
                               (int32_t)floorf(p[2] / r->cell));
        r->next[v] = r->head[h];
        r->head[h] = v;
    }
    r->found = 0;
    for (int32_t t = 0; t < d->tet_count; t++) {
        const int32_t *tet = d->tets + 4 * (size_t)t;
        float p[4][3];
        int32_t lower[3], upper[3];
        for (int c = 0; c < 4; c++)
            tet_point(r->f, tet[c], p[c]);
        for (int k = 0; k < 3; k++) {
            lower[k] = (int32_t)floorf(fminf(fminf(p[0][k], p[1][k]), fminf(p[2][k], p[3][k])) / r->cell);
            upper[k] = (int32_t)floorf(fmaxf(fmaxf(p[0][k], p[1][k]), fmaxf(p[2][k], p[3][k])) / r->cell);
        }
        for (int32_t x = lower[0]; x <= upper[0]; x++)
            for (int32_t y = lower[1]; y <= upper[1]; y++)
                for (int32_t z = lower[2]; z <= upper[2]; z++)
                    for (int32_t v = r->head[cell_hash(r, x, y, z)]; v >= 0; v = r->next[v])
                        if (v != tet[0] && v != tet[1] && v != tet[2] && v != tet[3] &&
                            in_tet(p, r->f->skin + 3 * (size_t)v))
                            r->found++;
    }
}

static hash_grid make_hash_grid(const contact_fixture *f)
{
    hash_grid r = {.f = f, .bits = 14};
    const sup_detect *d = &f->detect;
    double sum = 0.0;
    for (int32_t t = 0; t < d->tet_count; t++)
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < a; b++) {
                float p[3], q[3];
                tet_point(f, d->tets[4 * t + a], p);
                tet_point(f, d->tets[4 * t + b], q);
                sum += sup_v3_distance(sup_v3_load(p), sup_v3_load(q));
            }
    r.cell = (float)(0.9 * sum / (6.0 * d->tet_count));
    r.head = malloc(sizeof(int32_t) << r.bits);
    r.next = malloc((size_t)d->vertex_count * sizeof(int32_t));
    return r;
}

typedef struct detect_run {
    contact_fixture *f;
    const sup_tasks *tasks;
    int32_t contacts;
} detect_run;

static void run_detect(void *data)
{
    detect_run *run = data;
    run->contacts = fixture_step(run->f, run->tasks);
}

static double minimum_ms(void (*fn)(void *), void *work, double seconds)
{
    double minimum = INFINITY, begin = now_ms();
    for (int i = 0; i < 5 || now_ms() - begin < seconds * 1e3; i++) {
        double start = now_ms();
        fn(work);
        minimum = fmin(minimum, now_ms() - start);
    }
    return minimum;
}

static void measure_pose(const char *name, contact_fixture *f, const sup_tasks *tasks, double seconds)
{
    hash_grid r = make_hash_grid(f);
    detect_run one = {f, NULL, 0}, two = {f, tasks, 0};
    sup_detect_reset(&f->detect, f->state);
    double hashed = minimum_ms(run_hash_grid, &r, seconds), single = minimum_ms(run_detect, &one, seconds);
    double paired = minimum_ms(run_detect, &two, seconds);
    printf("%-26s %6d %8d %8d %7.3f %7.3f %12.3f %7.1f\n", name, f->detect.vertex_count, f->detect.tet_count,
           two.contacts, single, paired, hashed, hashed / paired);
    free(r.head);
    free(r.next);
}

/* The frame of a clip with the most contact. */
static double time_of_most_contact(contact_fixture *f, const sup_clip *clip)
{
    double best = (double)clip->start;
    int32_t maximum = -1;
    for (int i = 0; i <= 60; i++) {
        double time = (double)clip->start + (double)(clip->end - clip->start) * i / 60.0;
        fixture_clip(f, clip, time);
        sup_detect_reset(&f->detect, f->state);
        int32_t contacts = fixture_step(f, NULL);
        if (contacts > maximum) {
            maximum = contacts;
            best = time;
        }
    }
    return best;
}

static void measure_clip(const char *name, contact_fixture *f, const sup_clip *clip, const sup_tasks *tasks,
                         double seconds)
{
    char text[64];
    fixture_clip(f, clip, time_of_most_contact(f, clip));
    snprintf(text, sizeof text, "%s %s", name, clip->name);
    measure_pose(text, f, tasks, seconds);
}

static void measure_male(const char *assets, const sup_tasks *tasks, double seconds)
{
    char mesh[512], skeleton[512];
    snprintf(mesh, sizeof mesh, "%s/fps/male/male_LR20.off", assets);
    snprintf(skeleton, sizeof skeleton, "%s/fps/male/male.skel", assets);
    FILE *file = fopen(mesh, "rb");
    if (file == NULL) {
        printf("%s does not exist: skipped\n", mesh);
        return;
    }
    fclose(file);
    contact_fixture f = fixture_load(mesh, skeleton);
    fixture_rest(&f);
    measure_pose("male rest", &f, tasks, seconds);
    for (int i = 0; i < 6; i++) {
        sup_error error = {0};
        sup_clip *clip = NULL;
        snprintf(mesh, sizeof mesh, "%s/fps/male/male%d.anim", assets, i);
        fixture_must(sup_load_motion(NULL, mesh, NULL, f.character, NULL, &clip, &error), &error);
        measure_clip("male", &f, clip, tasks, seconds);
        sup_clip_destroy(clip);
    }
    fixture_free(&f);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 0.5;
    sup_error error = {0};
    sup_thread_pool *pool = NULL;
    fixture_must(sup_thread_pool_create(2, &pool, &error), &error);
    sup_tasks tasks = sup_thread_pool_tasks(pool);
    printf("%-26s %6s %8s %8s %7s %7s %12s %7s\n", "pose", "skin", "tets", "contacts", "1 ms", "2 ms", "hash grid ms",
           "ratio");
    measure_male(argc > 2 ? argv[2] : "../shared/assets", &tasks, seconds);
    contact_fixture f = fixture_scene("human", 1.0);
    for (int32_t i = 0; i < f.character->clip_count; i++)
        measure_clip("human", &f, &f.character->clips[i], &tasks, seconds);
    fixture_free(&f);
    sup_thread_pool_destroy(pool);
    return 0;
}

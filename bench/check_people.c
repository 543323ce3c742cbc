/* check_people.c - measures the anatomy pipeline on bodies that are not built in, for docs/methods/anatomy.md.
 *
 *     check_people shapes SHAPES TEMPLATE [STEP [GROW_STEP]]
 *     check_people masses SHAPES TEMPLATE [STEP]
 *     check_people motion BODY.glb MOTION.bvh [METHOD [FPS]]
 *
 * shapes: trains a composition on the bodies of a folder with an even index and fits the template to the others, which
 * it has not seen; every STEP-th of these (1). Constants were chosen with the bodies of index 1, 5, 9, ... ("tuning"),
 * the others are "judging". Per body and half: fat and muscle mass against the predicted target, breadths of rib cage
 * and pelvis relative to the template at the scale of the body's height, organ vertices outside the skin. Every
 * GROW_STEP-th of the fitted bodies (0: none) gains 20 kg and loses 5 kg: the largest motion of a bone.
 * masses: the same without organs, in a third of the time.
 * motion: skin of the chest and of the belly against one rigid motion each (root mean square over vertices and frames,
 * after the best rigid motion of each frame), the motion of the chest's bones, organ vertices outside the skin (part
 * and largest distance), and crossing pairs, flips and penetration of the skin. Regions as in check_anatomy.c.
 * Two threads; results do not depend on their number. */
#include "anatomy/enclosure.h"
#include "anatomy/layers.h"
#include "geometry/bvh.h"
#include "math/polar.h"
#include "supple/supple.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void must(sup_result result, const sup_error *error)
{
    if (result == SUP_OK) return;
    fprintf(stderr, "check_people: %s (%s)\n", error->message, error->where);
    exit(1);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (memory == NULL) exit(1);
    return memory;
}

/* --- Organs outside the skin --- */

typedef struct outside {
    int32_t points, count;
    double farthest; /* metres */
} outside;

static outside measure_outside(const sup_context *context, sup_shape skin, int32_t count, const double *points)
{
    outside found = {.points = count};
    sup_error error = {0};
    unsigned char *flags = allocate((size_t)count, 1);
    float *positions = allocate(3 * (size_t)skin.vertex_count, sizeof(float));
    sup_bvh tree;
    for (size_t i = 0; i < 3 * (size_t)skin.vertex_count; i++)
        positions[i] = (float)skin.positions[i];
    must(sup_bvh_create(context, positions, skin.triangle_count, skin.triangles, &tree, &error), &error);
    found.count = sup_points_outside(context, &skin, count, points, NULL, flags);
    for (int32_t i = 0; i < count; i++)
        if (flags[i]) {
            sup_vec3d p = sup_v3(points[3 * i], points[3 * i + 1], points[3 * i + 2]);
            found.farthest = fmax(found.farthest, sup_bvh_closest(&tree, p, INFINITY).distance);
        }
    sup_bvh_free(&tree);
    free(positions);
    free(flags);
    return found;
}

/* --- Shapes --- */

enum { TUNING, JUDGING, HALVES };

typedef struct totals {
    int bodies, clamped, crossed, grown;
    double fat, muscle, fat_worst, muscle_worst; /* absolute errors, kg */
    double visceral_missing;                     /* obese bodies with less than 1 kg of visceral fat */
    double width[2][3];                          /* rib cage, pelvis: sum, smallest, largest */
    double outside, farthest, moved, grow_miss, seconds;
} totals;

typedef struct people {
    sup_context context;
    sup_shapes *shapes;
    sup_anatomy *anatomy;
    sup_composition *composition;
    sup_anatomy_warp *warp;
    bool masses_only;
    double *skin, *joints, *posed, *posed_joints, *coordinates;
    double template_width[2];
    totals halves[HALVES];
} people;

/* Breadth along x of the organs whose name contains `word`. */
static double breadth(const sup_anatomy *a, const double *detail, const char *word)
{
    double low = INFINITY, high = -INFINITY;
    for (int32_t p = 0; p < a->organ_count; p++) {
        if (a->organ_is_muscle[p] || strstr(a->organ_names[p], word) == NULL) continue;
        for (int32_t v = a->organ_vertex[p]; v < a->organ_vertex[p + 1]; v++) {
            low = fmin(low, detail[3 * v]);
            high = fmax(high, detail[3 * v]);
        }
    }
    return high > low ? high - low : 0.0;
}

static const char *const breadth_words[2] = {" rib", "hip bone"};

/* Largest displacement of a vertex of a detailed bone. */
static double bone_motion(const sup_anatomy *a, const sup_anatomy *b)
{
    double farthest = 0.0;
    for (int32_t p = 0; p < a->organ_count; p++)
        for (int32_t v = a->organ_vertex[p]; v < a->organ_vertex[p + 1] && !a->organ_is_muscle[p]; v++)
            farthest = fmax(farthest, sup_v3_distance(sup_point(a->detail, v), sup_point(b->detail, v)));
    return farthest;
}

static void grow_one(people *p, const sup_body *body, totals *sum)
{
    static const double kilograms[2] = {20.0, -5.0};
    for (int k = 0; k < 2; k++) {
        sup_body_grow_def def = {.fat = kilograms[k]};
        sup_body *grown = NULL;
        sup_error error = {0};
        must(sup_body_grow(&p->context, body, &def, &grown, &error), &error);
        double moved = bone_motion(&body->layers, &grown->layers);
        printf("    %+3.0f kg: got %+6.2f%s, bones moved %.1f mm, crossing %d inverted %d\n", kilograms[k],
               grown->masses.fat - body->masses.fat, grown->masses.clamped ? " clamped" : "", 1e3 * moved,
               (int)grown->crossings, (int)grown->inverted);
        sum->moved = fmax(sum->moved, moved);
        sum->crossed += grown->crossings + grown->inverted > 0;
        sup_body_destroy(grown);
    }
    sum->grown++;
}

static void add_body(people *p, int32_t index, const sup_body *body, double seconds, totals *sum)
{
    const sup_body_masses *m = &body->masses;
    const sup_anatomy *a = &body->layers;
    sup_shape skin = {a->vertex_count, a->triangle_count, a->skin, a->triangles};
    outside out = measure_outside(&p->context, skin, a->detail_vertex_count, a->detail);
    double fat = m->fat - m->fat_target, muscle = m->muscle - m->muscle_target, width[2];
    for (int k = 0; k < 2; k++) {
        width[k] = breadth(a, a->detail, breadth_words[k]) / fmax(1e-9, p->template_width[k] * body->scale);
        sum->width[k][0] += width[k];
        sum->width[k][1] = sum->bodies == 0 ? width[k] : fmin(sum->width[k][1], width[k]);
        sum->width[k][2] = fmax(sum->width[k][2], width[k]);
    }
    const sup_person *person = &p->shapes->persons[index];
    double bmi = person->weight / (person->height * person->height);
    printf("%3d %s BMI %4.1f  fat %5.1f of %5.1f  muscle %5.1f of %5.1f%s  visceral %.1f  ribs %.2f pelvis %.2f  "
           "outside %.2f %% %.1f mm  crossing %d inverted %d  %.1f s\n",
           (int)index, person->sex == SUP_SEX_MALE ? "m" : "f", bmi, m->fat, m->fat_target, m->muscle, m->muscle_target,
           m->clamped ? " clamped" : "", m->visceral, width[0], width[1], 100.0 * out.count / fmax(1.0, out.points),
           1e3 * out.farthest, (int)body->crossings, (int)body->inverted, seconds);
    fflush(stdout);
    sum->bodies++;
    sum->clamped += m->clamped;
    sum->crossed += body->crossings + body->inverted > 0;
    sum->fat += fabs(fat);
    sum->muscle += fabs(muscle);
    sum->fat_worst = fmax(sum->fat_worst, fabs(fat));
    sum->muscle_worst = fmax(sum->muscle_worst, fabs(muscle));
    sum->visceral_missing += bmi > 30.0 && m->visceral < 1.0;
    sum->outside += (double)out.count / fmax(1.0, out.points);
    sum->farthest = fmax(sum->farthest, out.farthest);
    sum->seconds += seconds;
}

static void fit_one(people *p, int32_t index, bool grow, totals *sum)
{
    const sup_shapes *s = p->shapes;
    const sup_composition *c = p->composition;
    sup_error error = {0};
    double fat = 0.0, muscle = 0.0;
    for (size_t i = 0; i < 3 * (size_t)s->vertex_count; i++)
        p->skin[i] = (double)s->positions[3 * (size_t)s->vertex_count * (size_t)index + i];
    for (size_t i = 0; i < 3 * (size_t)s->joint_count; i++)
        p->joints[i] = (double)s->joints[3 * (size_t)s->joint_count * (size_t)index + i];
    must(sup_composition_coordinates(&p->context, c, p->skin, p->coordinates, &error), &error);
    sup_composition_masses(c, p->coordinates, s->persons[index].sex, &fat, &muscle);
    must(sup_skin_like_template(&p->context, p->anatomy, c, p->skin, p->joints, p->posed, p->posed_joints, &error),
         &error);
    sup_joints joints = {c->joint_count, (const char *const *)c->joint_names, c->parents, p->posed_joints};
    sup_body_fit_def def = {.skin = p->posed,
                            .joints = &joints,
                            .sex = s->persons[index].sex,
                            .fat = fat,
                            .muscle = muscle,
                            .warp = p->warp,
                            .no_details = p->masses_only};
    sup_body *body = NULL;
    clock_t began = clock();
    must(sup_body_fit(&p->context, p->anatomy, &def, &body, &error), &error);
    add_body(p, index, body, (double)(clock() - began) / CLOCKS_PER_SEC, sum);
    if (grow) grow_one(p, body, sum);
    sup_body_destroy(body);
}

/* The bodies with an even index as a training set. */
static void train(people *p)
{
    const sup_shapes *s = p->shapes;
    size_t width = 3 * (size_t)s->vertex_count, joints = 3 * (size_t)s->joint_count;
    int32_t count = (s->body_count + 1) / 2;
    float *positions = allocate((size_t)count * width, sizeof(float));
    float *heads = allocate((size_t)count * joints, sizeof(float));
    sup_person *persons = allocate((size_t)count, sizeof *persons);
    for (size_t b = 0; b < (size_t)count; b++) {
        memcpy(positions + b * width, s->positions + 2 * b * width, width * sizeof(float));
        memcpy(heads + b * joints, s->joints + 2 * b * joints, joints * sizeof(float));
        persons[b] = s->persons[2 * b];
    }
    sup_shapes half = *s;
    sup_error error = {0};
    half.body_count = count;
    half.positions = positions;
    half.joints = heads;
    half.persons = persons;
    must(sup_composition_train(&p->context, &half, NULL, &p->composition, NULL, &error), &error);
    free(positions);
    free(heads);
    free(persons);
}

static void print_totals(const char *name, const totals *t)
{
    double n = fmax(1.0, t->bodies);
    printf("%-8s %3d bodies  fat %.2f (worst %.1f)  muscle %.2f (worst %.1f) kg  clamped %d  no visceral fat %.0f  "
           "ribs %.3f [%.3f %.3f]  pelvis %.3f [%.3f %.3f]  outside %.2f %% %.1f mm  with defects %d  %.1f s",
           name, t->bodies, t->fat / n, t->fat_worst, t->muscle / n, t->muscle_worst, t->clamped, t->visceral_missing,
           t->width[0][0] / n, t->width[0][1], t->width[0][2], t->width[1][0] / n, t->width[1][1], t->width[1][2],
           100.0 * t->outside / n, 1e3 * t->farthest, t->crossed, t->seconds / n);
    if (t->grown > 0) printf("  grown %d, bones moved %.1f mm", t->grown, 1e3 * t->moved);
    printf("\n");
}

static void check_shapes(people *p, int argc, char **argv)
{
    sup_error error = {0};
    int32_t step = argc > 4 ? atoi(argv[4]) : 1, grow_step = argc > 5 ? atoi(argv[5]) : 0;
    must(sup_shapes_load(&p->context, argv[2], &p->shapes, &error), &error);
    must(sup_anatomy_load(&p->context, argv[3], &p->anatomy, &error), &error);
    train(p);
    p->skin = allocate(3 * (size_t)p->shapes->vertex_count, sizeof(double));
    p->posed = allocate(3 * (size_t)p->shapes->vertex_count, sizeof(double));
    p->joints = allocate(3 * (size_t)p->shapes->joint_count, sizeof(double));
    p->posed_joints = allocate(3 * (size_t)p->shapes->joint_count, sizeof(double));
    p->coordinates = allocate((size_t)p->composition->mode_count, sizeof(double));
    for (int k = 0; k < 2; k++)
        p->template_width[k] = breadth(p->anatomy, p->anatomy->detail, breadth_words[k]);
    p->masses_only = strcmp(argv[1], "masses") == 0;
    if (!p->masses_only) must(sup_anatomy_warp_create(&p->context, p->anatomy, 0, 0, &p->warp, &error), &error);
    int32_t fitted = 0;
    for (int32_t i = 1; i < p->shapes->body_count; i += 2 * (step > 0 ? step : 1), fitted++)
        fit_one(p, i, grow_step > 0 && fitted % grow_step == 0, &p->halves[i % 4 == 1 ? TUNING : JUDGING]);
    print_totals("tuning", &p->halves[TUNING]);
    print_totals("judging", &p->halves[JUDGING]);
    sup_anatomy_warp_destroy(p->warp);
    sup_composition_destroy(p->composition);
    sup_anatomy_destroy(p->anatomy);
    sup_shapes_destroy(p->shapes);
    free(p->skin);
    free(p->posed);
    free(p->joints);
    free(p->posed_joints);
    free(p->coordinates);
}

/* --- Motion --- */

enum { BELLY, CHEST, RIBS, REGIONS, FRAME_STEP = 8 }; /* organs are measured in every FRAME_STEP-th frame */

typedef struct motion {
    sup_context context;
    sup_character *character;
    sup_rig *rig;
    sup_rig_surface *surface;
    sup_measurer *measurer;
    unsigned char *region; /* [vertex_count] */
    double *rest, *now, *organs;
    double square[REGIONS], count[REGIONS];
    int64_t pairs, flips, worst_flips, organ_points, organ_outside;
    double penetration, volume, farthest, worst_part;
    int frames;
} motion;

static bool is_organ(const motion *m, int32_t primitive)
{
    return strcmp(m->character->primitives[primitive].name, "skin") != 0;
}

static void find_regions(motion *m)
{
    const sup_character *c = m->character;
    float low = INFINITY, high = -INFINITY;
    for (int32_t v = 0; v < c->primitives[0].vertex_count; v++) {
        low = fminf(low, m->rig->positions[3 * v + 1]);
        high = fmaxf(high, m->rig->positions[3 * v + 1]);
    }
    for (int32_t p = 0; p < c->primitive_count; p++)
        for (int32_t v = c->primitives[p].vertex_first;
             v < c->primitives[p].vertex_first + c->primitives[p].vertex_count; v++) {
            const float *x = m->rig->positions + 3 * (size_t)v;
            float at = (x[1] - low) / (high - low), side = fabsf(x[0]) / (high - low);
            m->region[v] = REGIONS;
            if (is_organ(m, p)) {
                bool rib = strstr(c->primitives[p].name, " rib") != NULL;
                if (rib && strstr(c->primitives[p].name, "muscle") == NULL) m->region[v] = RIBS;
                continue;
            }
            if (at > 0.56f && at < 0.63f && x[2] > 0.03f * (high - low) && side < 0.06f) m->region[v] = BELLY;
            if (at > 0.69f && at < 0.78f && side < 0.07f) m->region[v] = CHEST;
        }
}

/* Adds the squared distances of a region from the best rigid motion (polar rotation of the covariance). */
static void add_rigid(motion *m, int region)
{
    sup_vec3d from = {0}, to = {0};
    double count = 0.0, spread[9] = {0.0}, rotation[9];
    int32_t n = m->character->vertex_count;
    for (int32_t v = 0; v < n; v++)
        if (m->region[v] == region) {
            from = sup_v3_add(from, sup_point(m->rest, v));
            to = sup_v3_add(to, sup_point(m->now, v));
            count += 1.0;
        }
    if (count < 3.0) return;
    from = sup_v3_scale(from, 1.0 / count);
    to = sup_v3_scale(to, 1.0 / count);
    for (int32_t v = 0; v < n; v++) {
        if (m->region[v] != region) continue;
        sup_vec3d a = sup_v3_sub(sup_point(m->rest, v), from), b = sup_v3_sub(sup_point(m->now, v), to);
        const double x[3] = {a.x, a.y, a.z}, y[3] = {b.x, b.y, b.z};
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                spread[3 * i + j] += y[i] * x[j];
    }
    sup_polar_rotation(spread, rotation);
    for (int32_t v = 0; v < n; v++) {
        if (m->region[v] != region) continue;
        sup_vec3d a = sup_v3_sub(sup_point(m->rest, v), from), b = sup_v3_sub(sup_point(m->now, v), to);
        const double *r = rotation;
        sup_vec3d turned = sup_v3(r[0] * a.x + r[1] * a.y + r[2] * a.z, r[3] * a.x + r[4] * a.y + r[5] * a.z,
                                  r[6] * a.x + r[7] * a.y + r[8] * a.z);
        double d = sup_v3_distance(turned, b);
        m->square[region] += d * d;
    }
    m->count[region] += count;
}

static void add_organs(motion *m)
{
    const sup_character *c = m->character;
    int32_t points = 0, skin = c->primitives[0].vertex_count;
    for (int32_t p = 0; p < c->primitive_count; p++)
        for (int32_t v = 0; v < c->primitives[p].vertex_count && is_organ(m, p); v++)
            memcpy(m->organs + 3 * (size_t)points++, m->now + 3 * (size_t)(c->primitives[p].vertex_first + v),
                   3 * sizeof(double));
    if (points == 0) return;
    sup_shape surface = {skin, c->primitives[0].triangle_count, m->now, c->triangles};
    outside found = measure_outside(&m->context, surface, points, m->organs);
    m->organ_points += points;
    m->organ_outside += found.count;
    m->worst_part = fmax(m->worst_part, (double)found.count / points);
    m->farthest = fmax(m->farthest, found.farthest);
}

static void add_frame(motion *m, const float *positions, float *gathered, int32_t frame)
{
    sup_frame_measure measure = {0};
    sup_rig_surface_gather(m->rig, positions, gathered);
    if (sup_measurer_frame(m->measurer, gathered, &measure, NULL) != SUP_OK) exit(1);
    m->pairs += measure.intersections;
    m->flips += measure.flips;
    m->worst_flips = measure.flips > m->worst_flips ? measure.flips : m->worst_flips;
    m->penetration = fmax(m->penetration, measure.penetration * (double)m->surface->surface.size);
    m->volume = fmin(m->volume, measure.volume_ratio);
    for (size_t i = 0; i < 3 * (size_t)m->character->vertex_count; i++)
        m->now[i] = (double)positions[i];
    for (int region = 0; region < REGIONS; region++)
        add_rigid(m, region);
    if (frame % FRAME_STEP == 0) add_organs(m);
    m->frames++;
}

static void play(motion *m, const char *method_name, const sup_clip *clip, double fps)
{
    const sup_method *method = sup_method_find(method_name);
    sup_model *model = NULL;
    sup_instance *instance = NULL;
    sup_pose *pose = NULL;
    sup_error error = {0};
    if (method == NULL) exit(1);
    must(sup_pose_create(&m->context, m->character, &pose, &error), &error);
    must(sup_bind(&m->context, method, m->rig, NULL, &model, &error), &error);
    must(sup_instance_create(&m->context, model, NULL, &instance, &error), &error);
    float *positions = allocate(3 * (size_t)m->rig->vertex_count, sizeof(float));
    float *gathered = allocate(3 * (size_t)m->surface->surface.vertex_count, sizeof(float));
    double start = sup_clip_motion_start(clip);
    for (int32_t f = 0; f < sup_clip_frame_count(clip, fps); f++) {
        sup_skin_out out = {.positions = positions};
        double time = sup_clip_frame_time(clip, fps, f);
        if (time < start) continue;
        must(sup_pose_sample(m->character, clip, time, pose), &error);
        if (m->frames == 0) must(sup_instance_reset(instance, pose), &error);
        must(sup_instance_step(instance, pose, m->frames == 0 ? 0.0f : (float)(1.0 / fps), &out), &error);
        add_frame(m, positions, gathered, m->frames);
    }
    free(positions);
    free(gathered);
    sup_instance_destroy(instance);
    sup_model_destroy(model);
    sup_pose_destroy(pose);
}

static void check_motion(motion *m, int argc, char **argv)
{
    sup_error error = {0};
    sup_clip *clip = NULL;
    const char *method = argc > 4 ? argv[4] : "anatomy";
    must(sup_load(&m->context, argv[2], NULL, &m->character, &error), &error);
    must(sup_load_motion(&m->context, argv[3], NULL, m->character, NULL, &clip, &error), &error);
    must(sup_rig_create(&m->context, m->character, NULL, &m->rig, &error), &error);
    must(sup_rig_surface_create(&m->context, m->rig, &m->surface, &error), &error);
    must(sup_measurer_create(&m->context, &m->surface->surface, &m->measurer, &error), &error);
    size_t n = (size_t)m->character->vertex_count;
    m->region = allocate(n, 1);
    m->rest = allocate(3 * n, sizeof(double));
    m->now = allocate(3 * n, sizeof(double));
    m->organs = allocate(3 * n, sizeof(double));
    m->volume = INFINITY;
    for (size_t i = 0; i < 3 * n; i++)
        m->rest[i] = (double)m->rig->positions[i];
    find_regions(m);
    play(m, method, clip, argc > 5 ? atof(argv[5]) : 15.0);
    const char *file = strrchr(argv[3], '/');
    double rms[REGIONS];
    for (int k = 0; k < REGIONS; k++)
        rms[k] = m->count[k] > 0.0 ? 1e3 * sqrt(m->square[k] / m->count[k]) : 0.0;
    printf("%-28s %-10s %3d frames  chest %5.2f  belly %5.2f  ribs %5.2f mm  organs outside %.2f %% (worst frame %.2f) "
           "%.1f mm  pairs %lld  flips %lld (worst %lld)  penetration %.1f mm  volume %.3f\n",
           file != NULL ? file + 1 : argv[3], method, m->frames, rms[CHEST], rms[BELLY], rms[RIBS],
           100.0 * (double)m->organ_outside / fmax(1.0, (double)m->organ_points), 100.0 * m->worst_part,
           1e3 * m->farthest, (long long)m->pairs, (long long)m->flips, (long long)m->worst_flips, 1e3 * m->penetration,
           m->volume);
    free(m->region);
    free(m->rest);
    free(m->now);
    free(m->organs);
    sup_measurer_destroy(m->measurer);
    sup_rig_surface_destroy(m->surface);
    sup_rig_destroy(m->rig);
    sup_clip_destroy(clip);
    sup_character_destroy(m->character);
}

int main(int argc, char **argv)
{
    sup_thread_pool *pool = NULL;
    sup_error error = {0};
    must(sup_thread_pool_create(2, &pool, &error), &error);
    sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
    if (argc > 3 && (strcmp(argv[1], "shapes") == 0 || strcmp(argv[1], "masses") == 0)) {
        people p = {.context = context};
        check_shapes(&p, argc, argv);
    } else if (argc > 3 && strcmp(argv[1], "motion") == 0) {
        motion m = {.context = context};
        check_motion(&m, argc, argv);
    } else {
        fprintf(stderr,
                "check_people shapes|masses SHAPES TEMPLATE [STEP [GROW_STEP]] | motion BODY.glb MOTION [METHOD "
                "[FPS]]\n");
        return 1;
    }
    sup_thread_pool_destroy(pool);
    return 0;
}

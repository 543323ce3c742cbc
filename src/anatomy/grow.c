/* grow.c - growth of fat: by volume where it already is, by pressure everywhere, or with the distribution of another
 * person.
 *
 * Based on: [komaritzan2022] section 4.3.4, eq. 4.16 to 4.18, in projective form: the volume term is the tet
 * constraint of section 2.2.1 with det F = target (a few Newton steps on the singular values), weighted by the rest
 * volumes as in eq. 4.18. Pressure after [saito2015]: along the normals, against triangle strain, with the bending
 * of eq. 4.2.
 * Deviations: the thesis gives no weights; w_vol = 1, w_reg = 2e-5 and w_rest = 0.5 smooth over about 3 cm. Pressure
 * moves every vertex along its initial normal by the same length (eq. 4.3; w_reg = 1e-6 and strain 1e-3 also smooth
 * over 3 cm): a force along the current normals folded toes and fingers, because small features resist it less.
 * Volumes of another person are added to the body's own instead of replacing them, so that no region loses fat that
 * the other person does not have. The scale s is computed so that the requested mass is reached. */
#include "anatomy/body.h"

#include "anatomy/details.h"
#include "anatomy/layer_elements.h"
#include "anatomy/fit_muscle.h"
#include "anatomy/settle.h"
#include "anatomy/array_store.h"
#include "math/polar.h"

static const double bending_weight = 2e-5, rest_weight = 0.5;
static const double pressure_bending = 1e-6, pressure_strain = 1e-3;
static const double min_volume_fraction = 0.15; /* minimum fraction of a tet's volume after loss */
static const double skin_above = 0.0015;        /* minimum distance between skin and muscles after loss, metres */
static const double mass_tolerance = 0.003;     /* fraction of the requested change */
static const double border = 0.04;              /* metres over which the rates of regions blend */
static const double thin = 0.01;                /* thickness of tissue that grows at the full rate, metres */
static const double tolerance = 0.00005;        /* metres */
enum { MAX_SCALES = 14, SCALE_ITERATIONS = 25, BORDER_SMOOTHING = 100, NEWTON_STEPS = 4, PASSES = 3, CENTRES = 1500 };

typedef struct growth {
    const sup_context *context;
    const sup_body *body;
    sup_anatomy *layers;    /* layers of the grown body: its skin moves */
    const double *previous; /* [3n] the initial skin */
    const double *added;    /* [n] growth weight of each vertex */
    double drive;           /* s - 1, or the pressure */
    bool loses;
    const double *fraction; /* [3*triangle_count] volume growth per tet: (target - rest) / (rest * drive) */
    const double *normals;  /* [3n] normals of the initial skin, for pressure; NULL for growth by volume */
    double *targets;        /* [3n] */
    sup_surface_fit *solver;
} growth;

/* Derivative of the determinant (cofactor matrix); returns its squared norm. */
static double cofactor(const double m[9], double c[9])
{
    double square = 0.0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int a = (i + 1) % 3, b = (i + 2) % 3, d = (j + 1) % 3, e = (j + 2) % 3;
            c[3 * i + j] = m[3 * a + d] * m[3 * b + e] - m[3 * a + e] * m[3 * b + d];
            square += c[3 * i + j] * c[3 * i + j];
        }
    return square;
}

/* The nearest F with the target determinant. Newton steps on the singular values s, without computing them: the
 * derivative of s0 s1 s2 is the cofactor, which has the same singular vectors as F, and so has every step. */
static void volume_target(void *user, int32_t element, const double f[9], double target[9])
{
    const growth *g = user;
    double d[9] = {0.0}, c[9], requested = fmax(min_volume_fraction, 1.0 + g->drive * g->fraction[element]);
    memcpy(target, f, 9 * sizeof(double));
    for (int step = 0; step < NEWTON_STEPS; step++) {
        double square = cofactor(target, c), along = 0.0;
        if (!(square > 1e-12)) break;
        double volume = target[0] * c[0] + target[1] * c[1] + target[2] * c[2];
        for (int i = 0; i < 9; i++)
            along += c[i] * d[i];
        for (int i = 0; i < 9; i++) {
            d[i] = c[i] * (along - (volume - requested)) / square;
            target[i] = f[i] + d[i];
        }
    }
}

/* The nearest rotation of a triangle; the direction across it is ignored. */
static void strain_target(void *user, int32_t element, const double f[9], double target[9])
{
    double c[9], whole[9], size = sqrt(cofactor(f, c));
    SUP_UNUSED(user);
    SUP_UNUSED(element);
    for (int i = 0; i < 9; i++) {
        c[i] = size > 0.0 ? c[i] / size : 0.0; /* current normal times rest normal */
        whole[i] = f[i] + c[i];
    }
    sup_polar_rotation(whole, target);
    for (int i = 0; i < 9; i++)
        target[i] -= c[i];
}

/* Growth weight of every vertex: the rate of its region, blended at borders. */
static sup_result vertex_rates(const sup_anatomy *a, const double rate[SUP_REGION_COUNT], sup_arena *arena,
                               double **rates, sup_error *error)
{
    size_t n = (size_t)a->vertex_count;
    double *now = sup_arena_alloc(arena, n, sizeof(double)), *sum = sup_arena_alloc(arena, n, sizeof(double));
    int32_t *count = sup_arena_alloc(arena, n, sizeof(int32_t));
    if (now == NULL || sum == NULL || count == NULL) return sup_fail_memory(error, "the growth of a body");
    bool any = false;
    for (int k = 0; k < SUP_REGION_COUNT; k++)
        any = any || rate[k] > 0.0;
    for (size_t v = 0; v < n; v++)
        now[v] = any ? rate[a->region[v] < SUP_REGION_COUNT ? a->region[v] : 0] : 1.0;
    double edges = 0.0;
    for (size_t i = 0; i < 3 * (size_t)a->triangle_count; i++) {
        int32_t p = a->triangles[i], q = a->triangles[i % 3 == 2 ? i - 2 : i + 1];
        edges += sup_v3_distance(sup_point(a->skin, p), sup_point(a->skin, q)) / (3.0 * a->triangle_count);
    }
    double spread = edges > 0.0 ? border / edges : 0.0; /* a pass spreads by about 0.7 of an edge */
    for (int pass = 0; pass < BORDER_SMOOTHING && pass < 2.0 * spread * spread && any; pass++) {
        memset(sum, 0, n * sizeof(double));
        memset(count, 0, n * sizeof(int32_t));
        for (size_t i = 0; i < 3 * (size_t)a->triangle_count; i++) {
            int32_t p = a->triangles[i], q = a->triangles[i % 3 == 2 ? i - 2 : i + 1];
            sum[p] += now[q];
            count[p]++;
        }
        for (size_t v = 0; v < n; v++)
            if (count[v] > 0) now[v] = 0.5 * (now[v] + sum[v] / count[v]);
    }
    for (int32_t v = 0; v < a->vertex_count; v++) { /* no growth where the skin lies on bone */
        double depth = sup_v3_distance(sup_point(a->skin, v), sup_point(a->bone, v));
        now[v] *= a->excluded[v] ? 0.0 : fmin(1.0, depth / thin);
    }
    *rates = now;
    return SUP_OK;
}

/* Tets of the fat layer: skin vertices are unknowns, muscle vertices are fixed. Fills the growth fractions of the
 * tets. */
static sup_result fat_tets(growth *g, const sup_anatomy *other, sup_arena *arena, sup_elements **elements,
                           sup_error *error)
{
    const sup_anatomy *a = g->layers;
    size_t tets = 3 * (size_t)a->triangle_count, n = (size_t)a->vertex_count;
    int32_t *corner_points = sup_arena_alloc(arena, 4 * tets, sizeof *corner_points);
    double *rest = sup_arena_alloc(arena, 6 * n, sizeof *rest),
           *fraction = sup_arena_alloc(arena, tets, sizeof *fraction);
    double *weights = sup_arena_alloc(arena, tets, sizeof *weights);
    if (corner_points == NULL || rest == NULL || fraction == NULL || weights == NULL)
        return sup_fail_memory(error, "the growth of a body");
    memcpy(rest, g->previous, 3 * n * sizeof *rest);
    memcpy(rest + 3 * n, a->muscle, 3 * n * sizeof *rest);
    for (int32_t t = 0; t < a->triangle_count; t++) {
        const int32_t *c = a->triangles + 3 * (size_t)t;
        int32_t cut[3][4];
        double own[3], theirs[3];
        sup_prism_split(c, cut);
        sup_prism_volumes(g->previous, a->muscle, c, own);
        sup_prism_volumes(other != NULL ? other->skin : g->previous, other != NULL ? other->muscle : a->muscle, c,
                          theirs);
        double rate = (g->added[c[0]] + g->added[c[1]] + g->added[c[2]]) / 3.0;
        for (int k = 0; k < 3; k++) {
            size_t tet = 3 * (size_t)t + (size_t)k;
            weights[tet] = fmax(0.0, own[k]);
            fraction[tet] = own[k] > 0.0 ? rate * fmax(0.0, theirs[k]) / own[k] : 0.0;
            for (int q = 0; q < 4; q++)
                corner_points[4 * tet + (size_t)q] = c[cut[k][q] % 3] + (cut[k][q] < 3 ? 0 : a->vertex_count);
        }
    }
    g->fraction = fraction;
    sup_elements_def def = {.unknown_count = a->vertex_count,
                            .point_count = 2 * a->vertex_count,
                            .count = (int32_t)tets,
                            .corners = 4,
                            .points = corner_points,
                            .rest = rest,
                            .weights = weights,
                            .target = volume_target,
                            .user = g};
    return sup_elements_create(g->context, &def, elements, error);
}

/* Triangles of the skin, for pressure. */
static sup_result skin_strain(growth *g, sup_arena *arena, sup_elements **elements, sup_error *error)
{
    const sup_anatomy *a = g->layers;
    double *weights = sup_arena_alloc(arena, (size_t)a->triangle_count, sizeof *weights);
    double *normals = sup_arena_alloc(arena, 3 * (size_t)a->vertex_count, sizeof *normals);
    if (weights == NULL || normals == NULL) return sup_fail_memory(error, "the growth of a body");
    sup_surface_normals(a->vertex_count, a->triangle_count, a->triangles, g->previous, normals);
    g->normals = normals;
    for (int32_t t = 0; t < a->triangle_count; t++)
        weights[t] = pressure_strain * sup_surface_area(1, a->triangles + 3 * (size_t)t, g->previous, NULL);
    sup_elements_def def = {.unknown_count = a->vertex_count,
                            .point_count = a->vertex_count,
                            .count = a->triangle_count,
                            .corners = 3,
                            .points = a->triangles,
                            .rest = g->previous,
                            .weights = weights,
                            .target = strain_target,
                            .user = g};
    return sup_elements_create(g->context, &def, elements, error);
}

/* Moves skin that loss pushed into the muscles back out. */
static void keep_skin_above_muscles(const growth *g)
{
    sup_anatomy *a = g->layers;
    for (int32_t v = 0; v < a->vertex_count; v++) {
        sup_vec3d m = sup_point(a->muscle, v), up = sup_v3_sub(sup_point(g->previous, v), m);
        double length = sup_v3_length(up), minimum = fmin(skin_above, length);
        if (a->excluded[v] || !(length > 0.0)) continue;
        up = sup_v3_scale(up, 1.0 / length);
        sup_vec3d p = sup_point(a->skin, v);
        double height = sup_v3_dot(sup_v3_sub(p, m), up);
        if (height < minimum) sup_point_set(a->skin, v, sup_v3_madd(p, minimum - height, up));
    }
}

static double fat_volume(const growth *g)
{
    const sup_anatomy *a = g->layers;
    return sup_layer_volume(a->triangle_count, a->triangles, a->skin, a->muscle);
}

/* Finds the drive with which the fat layer gains `requested` cubic metres; *reached is false if that is impossible. The
 * skin lags behind the drive, so the drive is corrected by the total gain so far, not by differences. */
static sup_result find_drive(growth *g, double first, double minimum, double requested, bool *reached, sup_error *error)
{
    double start = fat_volume(g), gain = 0.0;
    sup_result result = SUP_OK;
    g->drive = first;
    for (int i = 0; i < MAX_SCALES; i++) {
        for (int32_t v = 0; v < g->layers->vertex_count; v++) {
            sup_vec3d p = sup_point(g->previous, v);
            if (g->normals != NULL) p = sup_v3_madd(p, g->drive * g->added[v], sup_point(g->normals, v));
            sup_point_set(g->targets, v, p);
        }
        result =
            sup_surface_fit_solve(g->solver, g->targets, tolerance, SCALE_ITERATIONS, g->layers->skin, NULL, error);
        if (result != SUP_OK) return result;
        keep_skin_above_muscles(g);
        gain = fat_volume(g) - start;
        if (fabs(gain - requested) <= mass_tolerance * fabs(requested)) break;
        double ratio = gain / requested, last = g->drive;
        g->drive = fmax(minimum, last / fmin(3.0, fmax(1.0 / 3.0, ratio)));
        if (g->drive == last) break; /* at its limit */
    }
    *reached = fabs(gain - requested) <= 0.05 * fabs(requested);
    return SUP_OK;
}

/* Moves the skin until the fat layer has gained `requested` cubic metres. */
static sup_result move_skin(growth *g, const sup_anatomy *other, bool pressure, double requested, bool *reached,
                            sup_error *error)
{
    const sup_anatomy *a = g->layers;
    sup_context resolved = sup_context_resolve(g->context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    size_t n = (size_t)a->vertex_count;
    double *weights = sup_arena_alloc(&arena, n, sizeof(double));
    sup_elements *elements = NULL;
    sup_result result = weights != NULL ? SUP_OK : sup_fail_memory(error, "the growth of a body");
    g->previous = sup_arena_copy(&arena, a->skin, 3 * n, sizeof(double));
    g->targets = sup_arena_alloc(&arena, 3 * n, sizeof(double));
    g->normals = NULL;
    if (g->previous == NULL || g->targets == NULL) result = sup_fail_memory(error, "the growth of a body");
    if (result == SUP_OK)
        result = pressure ? skin_strain(g, &arena, &elements, error) : fat_tets(g, other, &arena, &elements, error);
    if (result == SUP_OK) {
        sup_fit_term term = sup_elements_term(elements);
        for (size_t v = 0; v < n; v++)
            weights[v] = pressure ? 1.0 : rest_weight;
        sup_surface_fit_def def = {
            {a->vertex_count, a->triangle_count, g->previous, a->triangles}, a->excluded, &term, 1};
        result = sup_surface_fit_create(g->context, &def, &g->solver, error);
    }
    if (result == SUP_OK)
        result = sup_surface_fit_set_weights(g->solver, pressure ? pressure_bending : bending_weight, weights, error);
    if (result == SUP_OK) {
        double volume = fat_volume(g);
        double area = sup_surface_area(a->triangle_count, a->triangles, g->previous, a->excluded);
        double first = requested / (pressure ? area : volume);
        result = find_drive(g, first, pressure ? -INFINITY : -1.0, requested, reached, error);
    }
    sup_surface_fit_destroy(g->solver);
    g->solver = NULL;
    sup_elements_destroy(elements);
    sup_arena_destroy(&arena);
    return result;
}

/* Fits the muscles to the new lines; the belly muscles bulge with the skin, and the gain of the cavity is visceral
 * fat. */
static sup_result refit_muscles(growth *g, bool visceral, sup_body *grown, sup_error *error)
{
    const sup_anatomy *old = &g->body->layers;
    sup_anatomy *a = g->layers;
    sup_context resolved = sup_context_resolve(g->context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    size_t n = (size_t)a->vertex_count;
    double *fraction = sup_arena_alloc(&arena, n, sizeof(double)),
           *scratch = sup_arena_alloc(&arena, 3 * n, sizeof(double));
    const double *const scaled[3] = {old->skin, old->muscle, old->bone};
    int32_t stages = 0;
    sup_repair_report repaired = {0};
    sup_result result = fraction != NULL && scratch != NULL ? SUP_OK : sup_fail_memory(error, "a person's muscles");
    memcpy(a->bone, old->bone, 3 * n * sizeof(double));
    if (result == SUP_OK && g->loses) result = sup_repair_bone(g->context, a, a->skin, a->bone, &repaired, error);
    if (result == SUP_OK && visceral)
        result = sup_muscle_fit(g->context, a, scaled, a->skin, a->bone, fraction, &stages, error);
    for (int32_t v = 0; v < a->vertex_count && result == SUP_OK; v++) {
        double stay = sup_v3_segment_parameter(sup_point(old->muscle, v), sup_point(a->bone, v), sup_point(a->skin, v));
        if (!visceral || a->group[v] != SUP_GROUP_ABDOMEN) fraction[v] = stay;
        fraction[v] = fmax(fraction[v], stay);
    }
    if (result == SUP_OK) {
        sup_muscle_positions(a, a->skin, a->bone, fraction, a->muscle);
        result = sup_repair_layers(g->context, a, a->skin, a->bone, fraction, a->muscle, &repaired, error);
    }
    if (result == SUP_OK) {
        double previous = sup_cavity_volume(old, old->muscle, old->bone, g->body->cavity, scratch);
        for (int32_t v = 0; v < a->vertex_count; v++) {
            double was = sup_v3_distance(sup_point(old->muscle, v), sup_point(old->bone, v));
            double is = sup_v3_distance(sup_point(a->muscle, v), sup_point(a->bone, v));
            grown->cavity[v] = g->body->cavity[v] > 0.0 ? fmax(0.0, g->body->cavity[v] + is - was) : 0.0;
        }
        sup_mass_frame frame = {.cavity = grown->cavity};
        sup_mass_frame_with_cavity(a, a->skin, a->muscle, a->bone, previous - sup_fat_volume(g->body->masses.visceral),
                                   grown->height, g->body->masses.missing, scratch, &frame);
        sup_masses_measure(a, a->skin, a->muscle, a->bone, &frame, &grown->masses);
        grown->crossings = repaired.crossings;
        grown->inverted = repaired.inverted;
        grown->moved = repaired.moved;
        grown->closed = repaired.closed;
    }
    sup_arena_destroy(&arena);
    return result;
}

static sup_result check_grow(const sup_body *body, const sup_body_grow_def *def, sup_body **grown, sup_error *error)
{
    if (body == NULL || def == NULL || grown == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "anatomy.grow.argument", "",
                        "sup_body_grow needs a body, a sup_body_grow_def and a pointer to the new body.");
    bool good = isfinite(def->fat) && def->pressure >= 0.0 && def->pressure <= 1.0;
    for (int k = 0; k < SUP_REGION_COUNT; k++)
        good = good && isfinite(def->rate[k]) && def->rate[k] >= 0.0;
    if (!good)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "anatomy.grow.numbers", "",
                        "Growth needs finite kilograms, rates of at least 0, and a pressure fraction from 0 to 1.");
    const sup_body *from = def->from;
    if (from != NULL && (from->layers.vertex_count != body->layers.vertex_count ||
                         from->layers.triangle_count != body->layers.triangle_count ||
                         memcmp(from->layers.triangles, body->layers.triangles,
                                3 * (size_t)body->layers.triangle_count * sizeof(int32_t)) != 0))
        return sup_fail(error, SUP_ERROR_DATA, "anatomy.grow.other", from->name,
                        "The other body has another triangulation: fit both with the same template.");
    return SUP_OK;
}

static sup_result warp_details(const growth *g, sup_error *error)
{
    sup_anatomy_warp *warp = NULL;
    if (g->layers->organ_count == 0) return SUP_OK;
    sup_result result = sup_anatomy_warp_create(g->context, &g->body->layers, CENTRES, CENTRES, &warp, error);
    if (result == SUP_OK) result = sup_details_warp(warp, &g->body->layers, g->layers, error);
    sup_anatomy_warp_destroy(warp);
    const sup_anatomy *old = &g->body->layers;
    for (int32_t p = 0; p < old->organ_count; p++) { /* bones stay */
        size_t first = 3 * (size_t)old->organ_vertex[p], end = 3 * (size_t)old->organ_vertex[p + 1];
        if (!old->organ_is_muscle[p] && end > first)
            memcpy(g->layers->detail + first, old->detail + first, (end - first) * sizeof(double));
    }
    return result == SUP_OK ? sup_details_push_in(g->context, true, g->layers, error) : result;
}

/* Repeats skin and muscles until the whole fat mass, including skin and visceral fat, is the requested one. */
static sup_result grow_passes(growth *g, const sup_body_grow_def *def, sup_body *grown, sup_error *error)
{
    const sup_anatomy *other = def->from != NULL ? &def->from->layers : NULL;
    double requested = g->body->masses.fat + def->fat, add = sup_fat_volume(def->fat);
    sup_result result = SUP_OK;
    for (int pass = 0; pass < PASSES && result == SUP_OK; pass++) {
        bool reached = true;
        if (def->progress != NULL && !def->progress(def->progress_user, (float)pass / PASSES, "growing"))
            return sup_fail(error, SUP_ERROR_CANCELLED, "anatomy.grow.cancelled", "", "The growth was cancelled.");
        memcpy(g->layers->skin, g->body->layers.skin, 3 * (size_t)g->layers->vertex_count * sizeof(double));
        memcpy(g->layers->muscle, g->body->layers.muscle, 3 * (size_t)g->layers->vertex_count * sizeof(double));
        if (def->pressure > 0.0) result = move_skin(g, NULL, true, def->pressure * add, &reached, error);
        if (result == SUP_OK && def->pressure < 1.0) {
            bool rest_reached = true;
            result = move_skin(g, other, false, (1.0 - def->pressure) * add, &rest_reached, error);
            reached = reached && rest_reached;
        }
        if (result == SUP_OK) result = refit_muscles(g, def->fat > 0.0 && !def->no_visceral, grown, error);
        double miss = requested - grown->masses.fat;
        grown->masses.clamped = fabs(miss) > 0.02 * fabs(def->fat);
        if (!reached || fabs(miss) <= 2.0 * mass_tolerance * fabs(def->fat)) break;
        add += sup_fat_volume(miss);
    }
    return result;
}

sup_result sup_body_grow(const sup_context *context, const sup_body *body, const sup_body_grow_def *def,
                         sup_body **grown, sup_error *error)
{
    sup_result result = check_grow(body, def, grown, error);
    sup_body *made = NULL;
    if (result == SUP_OK) result = sup_body_create(context, &body->layers, body->name, false, &made, error);
    if (result != SUP_OK) return result;
    made->height = body->height;
    made->masses = body->masses;
    made->alignment = body->alignment;
    made->scale = body->scale;
    made->closed = body->closed;
    made->crossings = body->crossings;
    made->inverted = body->inverted;
    memcpy(made->cavity, body->cavity, (size_t)body->layers.vertex_count * sizeof(double));
    growth g = {.context = context, .body = body, .layers = &made->layers, .loses = def->fat < 0.0};
    double *rates = NULL;
    if (def->fat != 0.0) {
        result = vertex_rates(&made->layers, def->rate, &made->storage->arena, &rates, error);
        g.added = rates;
        if (result == SUP_OK) result = grow_passes(&g, def, made, error);
        if (result == SUP_OK) result = warp_details(&g, error);
    }
    made->masses.fat_target = body->masses.fat + def->fat;
    made->masses.muscle_target = 0.0;
    if (result != SUP_OK)
        sup_body_destroy(made);
    else
        *grown = made;
    return result;
}

/* field_fit.c - fits an HRBF to each region and adds samples where the error is largest.
 *
 * Based on: [vaillant2013]; see field_bind.h for deviations. */
#include "methods/implicit/field_build.h"

enum {
    CANDIDATES = 1024, /* on the region's own skin */
    OTHERS = 1024,     /* on the surrounding skin */
    MIN_SAMPLES = 4,   /* with fewer samples a capsule is used */
    MAX_SAMPLES = SUP_FIELD_SAMPLES + SUP_FIELD_CAPS
};
static const double MIN_FACING = 0.2; /* minimum cosine between the normal and the direction from the bone */
static const double GROWTH = 1.6;     /* ratio of the numbers of samples of successive fits */
static const double MAX_ERROR = 1e-2; /* maximum error of a candidate, in radii */
static const double MAX_OUTSIDE =
    0.03; /* maximum distance that a field may protrude from other regions' skin, in radii */
static const double OUTSIDE_WEIGHT = 4.0; /* weight of such an error relative to one on the region's own skin */
static const double NORMAL_WEIGHT = 0.5;  /* length in radii that corresponds to a unit difference of normals */
static const double MIN_SPACING = 0.02;   /* minimum distance of two samples, in radii */
static const double REFINE_SPACING =
    0.4; /* minimum distance of added samples, relative to the spacing of the first fit */

/* Buffers of one worker. */
typedef struct fitter {
    double *workspace; /* of the HRBF */
    sup_sample *candidates, *selected;
    double *distance, *cumulative;
    float *error;
    int32_t *list;
} fitter;

typedef struct fitting {
    sup_fields_state *state;
    fitter *fitters; /* [worker_count] */
} fitting;

/* Whether a triangle between regions is on the far side of a fold, such as the trunk's side of an armpit: it faces
 * towards the bone. */
static bool faces_bone(const sup_fields_state *s, int32_t region, const int32_t corner[3])
{
    sup_vec3d middle = {0.0, 0.0, 0.0}, normal = middle, nearest = middle;
    for (int c = 0; c < 3; c++) {
        const double *n = s->normals + 3 * (size_t)corner[c];
        middle = sup_v3_madd(middle, 1.0 / 3.0, sup_v3_load(s->def->skin.positions + 3 * (size_t)corner[c]));
        normal = sup_v3_add(normal, sup_v3(n[0], n[1], n[2]));
    }
    double distance = sup_skin_regions_distance(&s->bound->regions, region, middle, &nearest);
    return sup_v3_dot(normal, sup_v3_sub(middle, nearest)) < MIN_FACING * distance * sup_v3_length(normal);
}

/* Lists the visible triangles of a region. */
static int32_t visible_triangles(const sup_fields_state *s, int32_t region, int32_t *list)
{
    int32_t count = 0;
    for (int32_t i = s->triangle_first[region]; i < s->triangle_first[region + 1]; i++) {
        const int32_t *corner = s->def->skin.triangles + 3 * (size_t)s->triangle_list[i];
        bool whole = s->border[corner[0]] + s->border[corner[1]] + s->border[corner[2]] == 0;
        if (s->hidden[corner[0]] + s->hidden[corner[1]] + s->hidden[corner[2]] >= 2) continue;
        if (whole || !faces_bone(s, region, corner)) list[count++] = s->triangle_list[i];
    }
    return count;
}

/* Lists triangles of other regions near the candidates of this one. */
static int32_t other_triangles(const sup_fields_state *s, int32_t region, const sup_sample *own, int32_t own_count,
                               double reach, int32_t *list)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int32_t i = 0; i < own_count; i++) {
        const double at[3] = {own[i].position.x, own[i].position.y, own[i].position.z};
        for (int k = 0; k < 3; k++) {
            low[k] = fmin(low[k], at[k] - reach);
            high[k] = fmax(high[k], at[k] + reach);
        }
    }
    int32_t count = 0;
    for (int32_t t = 0; t < s->def->skin.triangle_count; t++) {
        const int32_t *corner = s->def->skin.triangles + 3 * (size_t)t;
        const float *p = s->def->skin.positions + 3 * (size_t)corner[0];
        bool near = true;
        for (int k = 0; k < 3; k++)
            near = near && (double)p[k] > low[k] && (double)p[k] < high[k];
        if (near && s->hidden[corner[0]] == 0 && !sup_fields_touches(s, t, region)) list[count++] = t;
    }
    return count;
}

static double mean_distance(const sup_fields_state *s, int32_t region, const sup_sample *samples, int32_t count)
{
    double sum = 0.0;
    for (int32_t i = 0; i < count; i++)
        sum += sup_skin_regions_distance(&s->bound->regions, region, samples[i].position, NULL);
    return count > 0 ? sum / count : 0.0;
}

/* The fit in float, for the kernel. */
static void set_lanes(const sup_hrbf *fit, sup_field_shape *shape)
{
    for (int32_t i = 0; i < fit->count; i++) {
        float *to = shape->lane_floats + (size_t)i * SUP_FIT_FLOATS;
        for (size_t k = 0; k < 3; k++) {
            to[k] = (float)fit->centre[3 * (size_t)i + k];
            to[4 + k] = (float)(-3.0 * fit->weight[4 * (size_t)i + 1 + k]);
        }
        to[3] = (float)fit->weight[4 * (size_t)i];
    }
    for (size_t k = 0; k < 4; k++)
        shape->lanes.linear[k] = (float)fit->linear[k];
    shape->lanes.count = fit->count;
    shape->lanes.centres = shape->lane_floats;
}

/* Values of the fit at the candidates, file units. */
static void find_values(const sup_hrbf *fit, const sup_field_shape *shape, const sup_sample *candidates, int32_t count,
                        float *value)
{
    const sup_field_kernels *kernels = sup_field_kernels_best();
    for (int32_t first = 0; first < count; first += SUP_FIELD_LANES) {
        sup_field_points points;
        float values[SUP_FIELD_LANES];
        for (int32_t lane = 0; lane < SUP_FIELD_LANES; lane++) {
            int32_t i = first + lane < count ? first + lane : count - 1;
            sup_vec3d p = sup_v3_scale(sup_v3_sub(candidates[i].position, fit->origin), 1.0 / fit->scale);
            points.x[lane] = (float)p.x;
            points.y[lane] = (float)p.y;
            points.z[lane] = (float)p.z;
        }
        kernels->fit(&shape->lanes, &points, values);
        for (int32_t lane = 0; lane < SUP_FIELD_LANES && first + lane < count; lane++)
            value[first + lane] = values[lane] * (float)fit->scale;
    }
}

double sup_fields_from_core(const sup_fields_state *state, int32_t region, sup_vec3d p)
{
    const sup_field_shape *shape = &state->shapes[region];
    const float x = (float)p.x, y = (float)p.y, z = (float)p.z, *core = shape->core;
    float nearest = INFINITY;
    for (int32_t i = 0; i < shape->core_count; i++) {
        float dx = core[3 * i] - x, dy = core[3 * i + 1] - y, dz = core[3 * i + 2] - z;
        float square = dx * dx + dy * dy + dz * dz;
        nearest = square < nearest ? square : nearest;
    }
    return fmin((double)sqrtf(nearest), sup_skin_regions_distance(&state->bound->regions, region, p, NULL));
}

static void set_core(sup_field_shape *shape, const sup_sample_choice *choice)
{
    shape->core_count = choice->count;
    for (int32_t i = 0; i < choice->count; i++)
        sup_v3_store(shape->core + 3 * (size_t)i, choice->selected[i].position);
}

/* A field may end before the skin of other regions, but not protrude from it. Where that skin faces another direction
 * than the field, the constraint uses the field's own gradient as the normal. */
static void find_errors(const sup_fields_state *s, int32_t region, fitter *f, const sup_sample_choice *choice)
{
    const sup_hrbf *fit = &s->bound->fits[region];
    const sup_field_shape *shape = &s->shapes[region];
    find_values(fit, shape, f->candidates, choice->candidate_count, f->error);
    for (int32_t i = choice->own_count; i < choice->candidate_count; i++) {
        sup_vec3d p = f->candidates[i].position;
        if ((double)f->error[i] > -MAX_OUTSIDE * shape->radius || sup_fields_from_core(s, region, p) > shape->radius) {
            f->error[i] = 0.0f; /* cut off there anyway, see field_grid.c */
            continue;
        }
        sup_vec3d slope;
        sup_hrbf_value(fit, p, &slope);
        slope = sup_v3_unit_or(slope, f->candidates[i].normal);
        if (sup_v3_dot(slope, f->candidates[i].normal) < 0.5) f->candidates[i].normal = slope;
        f->error[i] *= (float)OUTSIDE_WEIGHT;
    }
}

/* Fits and refines. Returns false if no fit is possible. */
static bool fit_samples(const sup_fields_state *s, int32_t region, fitter *f, sup_sample_choice *choice)
{
    sup_field_shape *shape = &s->shapes[region];
    sup_hrbf *fit = &s->bound->fits[region];
    const int32_t maximum = choice->count + s->def->samples, first = choice->count + SUP_FIELD_FIRST;
    double spacing = sup_samples_spread(choice, maximum < first ? maximum : first), apart = REFINE_SPACING * spacing;
    if (choice->count < MIN_SAMPLES) return false;
    set_core(shape, choice);
    for (;;) {
        int32_t previous_count = choice->count;
        if (sup_hrbf_fit(choice->count, choice->selected, f->workspace, fit, NULL) != SUP_OK) return false;
        set_lanes(fit, shape);
        if (previous_count >= maximum) return true;
        find_errors(s, region, f, choice);
        double target = fmin(ceil(GROWTH * previous_count), maximum);
        sup_samples_repair(choice, f->error, apart, MAX_ERROR * shape->radius, (int32_t)target);
        if (choice->count == previous_count) return true;
    }
}

/* Bounds along the axes of the shape. */
static void grow(sup_field_shape *shape, sup_vec3d p)
{
    sup_vec3d q = sup_v3(sup_v3_dot(shape->axis[0], p), sup_v3_dot(shape->axis[1], p), sup_v3_dot(shape->axis[2], p));
    shape->low = sup_v3(fmin(shape->low.x, q.x), fmin(shape->low.y, q.y), fmin(shape->low.z, q.z));
    shape->high = sup_v3(fmax(shape->high.x, q.x), fmax(shape->high.y, q.y), fmax(shape->high.z, q.z));
}

/* First axis along the longest segment, second along the largest spread of the samples across it. */
static void set_axes(const sup_skin_regions *regions, int32_t region, const sup_sample_choice *choice,
                     sup_field_shape *shape)
{
    sup_vec3d axis = {0.0, 0.0, 0.0};
    for (int32_t s = regions->region_segment[region]; s < regions->region_segment[region + 1]; s++) {
        sup_vec3d along = sup_v3_sub(regions->segments[s].to, regions->segments[s].from);
        if (sup_v3_length(along) > sup_v3_length(axis)) axis = along;
    }
    axis = sup_v3_unit_or(axis, sup_v3(0.0, 1.0, 0.0));
    sup_vec3d e = sup_v3_cross(axis, fabs(axis.x) < 0.6 ? sup_v3(1.0, 0.0, 0.0) : sup_v3(0.0, 1.0, 0.0));
    e = sup_v3_unit_or(e, sup_v3(0.0, 0.0, 1.0));
    sup_vec3d f = sup_v3_cross(axis, e), mean = {0.0, 0.0, 0.0};
    for (int32_t i = 0; i < choice->count; i++)
        mean = sup_v3_madd(mean, 1.0 / choice->count, choice->selected[i].position);
    double cosine = 0.0, sine = 0.0;
    for (int32_t i = 0; i < choice->count; i++) {
        sup_vec3d d = sup_v3_sub(choice->selected[i].position, mean);
        double x = sup_v3_dot(d, e), y = sup_v3_dot(d, f);
        cosine += x * x - y * y;
        sine += 2.0 * x * y;
    }
    double angle = cosine != 0.0 || sine != 0.0 ? 0.5 * atan2(sine, cosine) : 0.0;
    shape->axis[0] = axis;
    shape->axis[1] = sup_v3_madd(sup_v3_scale(e, cos(angle)), sin(angle), f);
    shape->axis[2] = sup_v3_cross(axis, shape->axis[1]);
}

/* A capsule around the segments with the mean distance of the skin as its radius. */
static void set_capsule(const sup_fields_state *s, int32_t region, sup_field_shape *shape)
{
    const sup_skin_regions *regions = &s->bound->regions;
    double sum = 0.0, count = 0.0;
    for (int32_t v = 0; v < s->def->skin.vertex_count; v++) {
        if (regions->vertex_region[v] != region) continue;
        sum += sup_skin_regions_distance(regions, region, sup_v3_load(s->def->skin.positions + 3 * (size_t)v), NULL);
        count += 1.0;
    }
    shape->fitted = false;
    shape->radius = fmax(count > 0.0 ? sum / count : 0.0, 1e-3 * (double)s->input->rig->size);
    for (int32_t i = regions->region_segment[region]; i < regions->region_segment[region + 1]; i++)
        for (int k = 0; k < 3; k++)
            for (int sign = -1; sign <= 1; sign += 2) {
                double off = sign * shape->radius;
                grow(shape, sup_v3_madd(regions->segments[i].from, off, shape->axis[k]));
                grow(shape, sup_v3_madd(regions->segments[i].to, off, shape->axis[k]));
            }
}

static void fit_region(const sup_fields_state *s, fitter *f, int32_t region)
{
    sup_field_shape *shape = &s->shapes[region];
    sup_hrbf *fit = &s->bound->fits[region];
    int32_t triangles = visible_triangles(s, region, f->list);
    sup_sample_choice choice = {.candidates = f->candidates, .distance = f->distance, .selected = f->selected};
    sup_sampled_surface own = s->surface;
    own.vertex_region = s->bound->regions.vertex_region;
    own.region = region;
    choice.own_count = sup_samples_scatter(&own, f->list, triangles, CANDIDATES, f->cumulative, f->candidates);
    shape->radius = mean_distance(s, region, f->candidates, choice.own_count);
    triangles = other_triangles(s, region, f->candidates, choice.own_count, shape->radius, f->list);
    choice.candidate_count = choice.own_count + sup_samples_scatter(&s->surface, f->list, triangles, OTHERS,
                                                                    f->cumulative, f->candidates + choice.own_count);
    choice.normal_weight = NORMAL_WEIGHT * shape->radius;
    choice.min_spacing = MIN_SPACING * shape->radius;
    for (int32_t i = 0; i < shape->cap_count; i++)
        sup_samples_add(&choice, shape->caps[i]);
    shape->cap_count = choice.count; /* duplicates were removed */
    shape->fitted = shape->radius > 0.0 && choice.own_count > 0 && fit_samples(s, region, f, &choice);
    set_axes(&s->bound->regions, region, &choice, shape);
    shape->low = sup_v3(INFINITY, INFINITY, INFINITY);
    shape->high = sup_v3(-INFINITY, -INFINITY, -INFINITY);
    if (!shape->fitted) {
        fit->count = 0;
        set_capsule(s, region, shape);
        return;
    }
    for (int32_t i = 0; i < choice.count; i++)
        grow(shape, choice.selected[i].position);
}

static void fit_regions(void *work, int32_t begin, int32_t end, int32_t worker)
{
    fitting *f = work;
    for (int32_t region = begin; region < end; region++)
        fit_region(f->state, &f->fitters[worker], region);
}

static sup_result allocate(fitting *f, sup_error *error)
{
    sup_fields_state *s = f->state;
    const size_t triangles = (size_t)s->def->skin.triangle_count;
    const int32_t regions = s->bound->regions.region_count, workers = s->input->context->tasks.worker_count;
    for (int32_t p = 0; p < regions; p++) {
        sup_hrbf *fit = &s->bound->fits[p];
        fit->centre = sup_arena_alloc(s->arena, MAX_SAMPLES * 3, sizeof(double));
        fit->weight = sup_arena_alloc(s->arena, MAX_SAMPLES * 4, sizeof(double));
        s->shapes[p].lane_floats = sup_arena_alloc(&s->scratch, MAX_SAMPLES * SUP_FIT_FLOATS, sizeof(float));
        s->shapes[p].core = sup_arena_alloc(&s->scratch, 3 * (SUP_FIELD_CAPS + SUP_FIELD_FIRST), sizeof(float));
        if (fit->centre == NULL || fit->weight == NULL || s->shapes[p].lane_floats == NULL || s->shapes[p].core == NULL)
            return sup_fail_memory(error, "the fields");
    }
    f->fitters = sup_arena_alloc(&s->scratch, (size_t)workers, sizeof(fitter));
    for (int32_t w = 0; f->fitters != NULL && w < workers; w++) {
        fitter *one = &f->fitters[w];
        one->workspace = sup_arena_alloc(&s->scratch, sup_hrbf_workspace(MAX_SAMPLES), sizeof(double));
        one->candidates = sup_arena_alloc(&s->scratch, CANDIDATES + OTHERS, sizeof(sup_sample));
        one->selected = sup_arena_alloc(&s->scratch, MAX_SAMPLES, sizeof(sup_sample));
        one->distance = sup_arena_alloc(&s->scratch, CANDIDATES + OTHERS, sizeof(double));
        one->cumulative = sup_arena_alloc(&s->scratch, triangles, sizeof(double));
        one->error = sup_arena_alloc(&s->scratch, CANDIDATES + OTHERS, sizeof(float));
        one->list = sup_arena_alloc(&s->scratch, triangles, sizeof(int32_t));
        if (one->workspace == NULL || one->candidates == NULL || one->selected == NULL || one->distance == NULL ||
            one->cumulative == NULL || one->error == NULL || one->list == NULL)
            return sup_fail_memory(error, "the fields");
    }
    return f->fitters != NULL ? SUP_OK : sup_fail_memory(error, "the fields");
}

static void set_ellipsoid(sup_field_shape *shape)
{
    const sup_field_ellipsoid *e = shape->ellipsoid;
    shape->low = sup_v3(INFINITY, INFINITY, INFINITY);
    shape->high = sup_v3(-INFINITY, -INFINITY, -INFINITY);
    shape->radius = fmin(e->radius[0], fmin(e->radius[1], e->radius[2]));
    for (int k = 0; k < 3; k++)
        shape->axis[k] = e->axis[k];
    for (int k = 0; k < 3; k++)
        for (int sign = -1; sign <= 1; sign += 2)
            grow(shape, sup_v3_madd(e->centre, 2.0 * sign * e->radius[k], e->axis[k]));
}

sup_result sup_fields_fit(sup_fields_state *s, sup_error *error)
{
    fitting f = {.state = s};
    const int32_t regions = s->bound->regions.region_count;
    s->bound->fits = sup_arena_alloc(s->arena, (size_t)regions, sizeof(sup_hrbf));
    if (s->bound->fits == NULL) return sup_fail_memory(error, "the fields");
    sup_result result = allocate(&f, error);
    if (result != SUP_OK) return result;
    sup_parallel(s->input->context, regions, 1, fit_regions, &f);
    for (int32_t i = regions; i < s->field_count; i++)
        set_ellipsoid(&s->shapes[i]);
    return SUP_OK;
}

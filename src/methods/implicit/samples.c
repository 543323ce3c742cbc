/* samples.c - distributes points evenly over part of a surface. */
#include "methods/implicit/samples.h"

#include "geometry/normals.h"

static sup_vec3d vertex_normal(const sup_sampled_surface *s, int32_t v)
{
    return sup_v3(s->normals[3 * (size_t)v], s->normals[3 * (size_t)v + 1], s->normals[3 * (size_t)v + 2]);
}

static bool is_own(const sup_sampled_surface *s, int32_t v)
{
    return s->vertex_region == NULL || s->vertex_region[v] == s->region;
}

static bool add_sample(sup_sample *samples, int32_t *count, sup_vec3d position, sup_vec3d normal)
{
    const sup_vec3d none = {0.0, 0.0, 0.0};
    sup_vec3d unit = sup_v3_unit_or(normal, none);
    if (!(sup_v3_dot(unit, unit) > 0.5)) return false;
    samples[(*count)++] = (sup_sample){position, unit};
    return true;
}

/* Adds the corners of all triangles; a vertex may appear several times, which the selection removes. */
static void scatter_corners(const sup_sampled_surface *s, const int32_t *list, int32_t count, sup_sample *samples,
                            int32_t *made)
{
    for (int32_t i = 0; i < count; i++)
        for (int32_t c = 0; c < 3; c++) {
            int32_t v = s->triangles[3 * (size_t)list[i] + (size_t)c];
            if (is_own(s, v)) add_sample(samples, made, sup_v3_load(s->positions + 3 * (size_t)v), vertex_normal(s, v));
        }
}

static int32_t triangle_at(const double *cumulative, int32_t count, double area)
{
    int32_t low = 0, high = count - 1;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (cumulative[middle] <= area)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int32_t sup_samples_scatter(const sup_sampled_surface *surface, const int32_t *list, int32_t count, int32_t wanted,
                            double *cumulative, sup_sample *samples)
{
    int32_t made = 0;
    double area = 0.0;
    sup_random random = {(uint64_t)count};
    for (int32_t i = 0; i < count; i++) {
        area += 0.5 * sup_v3_length(sup_triangle_cross(surface->positions, surface->triangles + 3 * (size_t)list[i]));
        cumulative[i] = area;
    }
    if (!(area > 0.0) || !isfinite(area)) return 0;
    if (3 * (int64_t)count <= wanted / 2) scatter_corners(surface, list, count, samples, &made);
    for (int32_t i = made; i < wanted; i++) {
        /* Stratified by area, so that no large area stays empty. */
        int32_t t = triangle_at(cumulative, count, area * ((double)i + sup_random_unit(&random)) / (double)wanted);
        const int32_t *corner = surface->triangles + 3 * (size_t)list[t];
        double u = sqrt(sup_random_unit(&random)), v = sup_random_unit(&random);
        const double weight[3] = {1.0 - u, u * (1.0 - v), u * v};
        sup_vec3d position = {0.0, 0.0, 0.0}, normal = {0.0, 0.0, 0.0};
        double own = 0.0;
        for (int32_t c = 0; c < 3; c++) {
            own += is_own(surface, corner[c]) ? weight[c] : 0.0;
            position = sup_v3_madd(position, weight[c], sup_v3_load(surface->positions + 3 * (size_t)corner[c]));
            normal = sup_v3_madd(normal, weight[c], vertex_normal(surface, corner[c]));
        }
        if (own >= 0.5) add_sample(samples, &made, position, normal);
    }
    return made;
}

/* --- Selection --- */

static void update_distances(sup_sample_choice *c, const sup_sample *selected)
{
    double normal_weight = c->normal_weight * c->normal_weight;
    for (int32_t i = 0; i < c->candidate_count; i++) {
        sup_vec3d d = sup_v3_sub(c->candidates[i].position, selected->position);
        sup_vec3d n = sup_v3_sub(c->candidates[i].normal, selected->normal);
        double square_distance = sup_v3_dot(d, d), distance = square_distance + normal_weight * sup_v3_dot(n, n);
        if (square_distance < c->min_spacing * c->min_spacing) distance = 0.0;
        c->distance[i] = fmin(c->distance[i], distance);
    }
}

static void select_sample(sup_sample_choice *c, sup_sample sample)
{
    if (c->count == 0)
        for (int32_t i = 0; i < c->candidate_count; i++)
            c->distance[i] = INFINITY;
    c->selected[c->count++] = sample;
    update_distances(c, &sample);
}

bool sup_samples_add(sup_sample_choice *choice, sup_sample sample)
{
    for (int32_t i = 0; i < choice->count; i++)
        if (!(sup_v3_distance(choice->selected[i].position, sample.position) > choice->min_spacing)) return false;
    select_sample(choice, sample);
    return true;
}

double sup_samples_spread(sup_sample_choice *choice, int32_t count)
{
    double last = 0.0;
    if (choice->count == 0 && choice->own_count > 0 && count > 0) select_sample(choice, choice->candidates[0]);
    while (choice->count < count) {
        int32_t best = -1;
        double farthest = 0.0;
        for (int32_t i = 0; i < choice->own_count; i++) {
            if (!(choice->distance[i] > farthest)) continue;
            farthest = choice->distance[i];
            best = i;
        }
        if (best < 0) break;
        last = sqrt(farthest);
        select_sample(choice, choice->candidates[best]);
    }
    return last;
}

void sup_samples_repair(sup_sample_choice *choice, const float *error, double apart, double min_error, int32_t count)
{
    while (choice->count < count) {
        int32_t best = -1;
        double largest = min_error;
        for (int32_t i = 0; i < choice->candidate_count; i++) {
            double here = fabs((double)error[i]);
            if (!(here > largest) || !(choice->distance[i] > apart * apart)) continue;
            largest = here;
            best = i;
        }
        if (best < 0) break;
        select_sample(choice, choice->candidates[best]);
    }
}

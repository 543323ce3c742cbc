/* track_bind.c - builds the clusters, edges and the factor of a tracked skin from a triangle mesh. */
#include "geometry/laplace.h"
#include "methods/implicit/track_work.h"

#include <stdlib.h>

/* Mass added to the Laplacian in the factor, in inverse squared sizes: limits the reach of a solve (relax.c). */
static const double REACH_MASS = 120.0;
enum { SOLVE_SUBDOMAINS = 24, CLUSTER = SUP_FIELD_LANES };

typedef struct builder {
    const sup_context *context;
    const sup_track_def *def;
    sup_arena *arena;
    sup_model_builder *model;
    sup_track_built *built;
    int32_t *source;        /* [vertex_count] input vertex of a tracked vertex */
    int32_t *cluster_first; /* [block_count+1] */
    int32_t *ring_first;    /* [vertex_count+1] triangles at a vertex */
    int32_t *ring_corners;  /* the other two corners of each */
} builder;

static sup_result fail_memory(sup_error *error)
{
    return sup_fail_memory(error, "the tracked skin");
}

/* --- Clusters: vertices of one region, split along the longest side until they fit --- */

typedef struct span {
    int32_t begin, end;
} span;

typedef struct sort_key {
    float at;
    int32_t vertex;
} sort_key;

static int compare_keys(const void *a, const void *b)
{
    const sort_key *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return (x->vertex > y->vertex) - (x->vertex < y->vertex);
}

static int longest_side(const builder *b, span s)
{
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int32_t i = s.begin; i < s.end; i++)
        for (int c = 0; c < 3; c++) {
            float x = b->def->positions[3 * (int64_t)b->source[i] + c];
            low[c] = fminf(low[c], x);
            high[c] = fmaxf(high[c], x);
        }
    int axis = 0;
    for (int c = 1; c < 3; c++)
        if (high[c] - low[c] > high[axis] - low[axis]) axis = c;
    return axis;
}

/* Splits the vertices of one region, [begin, end) of `source`, into clusters; all but the last are full. */
static int32_t split_region(builder *b, span region, sort_key *keys, int32_t cluster_count)
{
    span stack[64];
    int32_t depth = 0;
    stack[depth++] = region;
    while (depth > 0) {
        span s = stack[--depth];
        if (s.end - s.begin <= CLUSTER) {
            b->cluster_first[cluster_count++] = s.begin;
            continue;
        }
        int axis = longest_side(b, s);
        for (int32_t i = s.begin; i < s.end; i++)
            keys[i] = (sort_key){b->def->positions[3 * (int64_t)b->source[i] + axis], b->source[i]};
        qsort(keys + s.begin, (size_t)(s.end - s.begin), sizeof *keys, compare_keys);
        for (int32_t i = s.begin; i < s.end; i++)
            b->source[i] = keys[i].vertex;
        int32_t middle = s.begin + ((s.end - s.begin) / 2 + CLUSTER - 1) / CLUSTER * CLUSTER;
        stack[depth++] = (span){middle, s.end};
        stack[depth++] = (span){s.begin, middle};
    }
    return cluster_count;
}

static sup_result build_clusters(builder *b, sup_error *error)
{
    const sup_track_def *def = b->def;
    size_t count = (size_t)def->vertex_count;
    int32_t *first = sup_arena_alloc(b->arena, (size_t)def->joint_count + 1, sizeof *first);
    sort_key *keys = sup_arena_alloc(b->arena, count, sizeof *keys);
    b->source = sup_arena_alloc(b->arena, count, sizeof(int32_t));
    b->built->tracked = sup_arena_alloc(b->arena, count, sizeof(int32_t));
    b->cluster_first = sup_arena_alloc(b->arena, count + 1, sizeof(int32_t));
    if (first == NULL || keys == NULL || b->source == NULL || b->built->tracked == NULL || b->cluster_first == NULL)
        return fail_memory(error);
    for (int32_t v = 0; v < def->vertex_count; v++)
        first[def->joint[v] + 1]++;
    for (int32_t j = 0; j < def->joint_count; j++)
        first[j + 1] += first[j];
    int32_t clusters = 0;
    for (int32_t v = 0; v < def->vertex_count; v++)
        b->source[first[def->joint[v]]++] = v;
    for (int32_t j = 0, begin = 0; j < def->joint_count; j++) { /* first[j] is the end of region j now */
        if (first[j] > begin) clusters = split_region(b, (span){begin, first[j]}, keys, clusters);
        begin = first[j];
    }
    b->cluster_first[clusters] = def->vertex_count;
    b->built->track.cluster_count = clusters;
    for (int32_t i = 0; i < def->vertex_count; i++)
        b->built->tracked[b->source[i]] = i;
    return SUP_OK;
}

static sup_result add_clusters(builder *b, sup_error *error)
{
    sup_track *track = &b->built->track;
    int64_t clusters = track->cluster_count, vertices = track->vertex_count;
    int32_t *first = sup_model_add(b->model, "track.cluster_first", SUP_ARRAY_INT32, clusters + 1);
    int32_t *joint = sup_model_add(b->model, "track.cluster_joint", SUP_ARRAY_INT32, clusters);
    float *rest = sup_model_add(b->model, "track.rest", SUP_ARRAY_FLOAT, 4 * vertices);
    b->built->inward = sup_model_add(b->model, "track.inward", SUP_ARRAY_FLOAT, 4 * vertices);
    b->built->target = sup_model_add(b->model, "track.target", SUP_ARRAY_FLOAT, 4 * vertices);
    b->built->own = sup_model_add(b->model, "track.own", SUP_ARRAY_FLOAT, vertices);
    b->built->other_limb = sup_model_add(b->model, "track.other_limb", SUP_ARRAY_FLOAT, vertices);
    if (first == NULL || joint == NULL || rest == NULL || b->built->inward == NULL || b->built->target == NULL ||
        b->built->own == NULL || b->built->other_limb == NULL)
        return fail_memory(error);
    memcpy(first, b->cluster_first, ((size_t)clusters + 1) * sizeof *first);
    for (int64_t i = 0; i < clusters; i++)
        joint[i] = b->def->joint[b->source[first[i]]];
    for (int64_t i = 0; i < vertices; i++)
        memcpy(rest + 4 * i, b->def->positions + 3 * (int64_t)b->source[i], 3 * sizeof(float));
    track->cluster_first = first;
    track->cluster_joint = joint;
    track->rest = rest;
    track->target = b->built->target;
    track->inward = b->built->inward;
    track->own = b->built->own;
    track->other_limb = b->built->other_limb;
    return SUP_OK;
}

/* --- Influences --- */

static sup_result add_influences(builder *b, sup_error *error)
{
    sup_track *track = &b->built->track;
    const sup_track_def *def = b->def;
    int64_t count = (int64_t)track->vertex_count * SUP_TRACK_INFLUENCES;
    int32_t *joint = sup_model_add(b->model, "track.joint", SUP_ARRAY_INT32, count);
    float *weight = sup_model_add(b->model, "track.influence", SUP_ARRAY_FLOAT, count);
    if (joint == NULL || weight == NULL) return fail_memory(error);
    for (int32_t vertex = 0; vertex < track->vertex_count; vertex++) {
        int32_t v = b->source[vertex], first = def->influence_first[v], own = def->influence_first[v + 1] - first;
        int64_t to = SUP_TRACK_INFLUENCES * (int64_t)vertex;
        double sum = 0.0;
        if (own > SUP_TRACK_INFLUENCES) own = SUP_TRACK_INFLUENCES;
        for (int32_t k = 0; k < own; k++)
            sum += (double)def->influence_weight[first + k];
        for (int32_t k = 0; k < SUP_TRACK_INFLUENCES; k++) {
            bool used = k < own && sum > 0.0;
            joint[to + k] = used ? def->influence_joint[first + k] : own > 0 ? joint[to] : def->joint[v];
            weight[to + k] = used ? (float)((double)def->influence_weight[first + k] / sum) : 0.0f;
        }
        if (!(sum > 0.0)) weight[to] = 1.0f;
    }
    track->influence_joint = joint;
    track->influence_weight = weight;
    return SUP_OK;
}

/* Joints that influence vertices of a cluster, each once and increasing: `seen` [joint_count] holds marks. */
static sup_result add_moved_by(builder *b, sup_error *error)
{
    sup_track *track = &b->built->track;
    int32_t *first =
        sup_model_add(b->model, "track.moved_by_first", SUP_ARRAY_INT32, (int64_t)track->cluster_count + 1);
    int32_t *seen = sup_arena_alloc(b->arena, (size_t)track->joint_count, sizeof *seen);
    if (first == NULL || seen == NULL) return fail_memory(error);
    int32_t *moved_by = NULL;
    for (int pass = 0; pass < 2; pass++) { /* count, then fill */
        int32_t count = 0;
        memset(seen, 0, (size_t)track->joint_count * sizeof *seen);
        for (int32_t cluster = 0; cluster < track->cluster_count; cluster++) {
            for (int64_t i = (int64_t)track->cluster_first[cluster] * SUP_TRACK_INFLUENCES;
                 i < (int64_t)track->cluster_first[cluster + 1] * SUP_TRACK_INFLUENCES; i++)
                if (track->influence_weight[i] > 0.0f) seen[track->influence_joint[i]] = cluster + 1;
            for (int32_t j = 0; j < track->joint_count; j++) {
                if (seen[j] != cluster + 1) continue;
                if (moved_by != NULL) moved_by[count] = j;
                count++;
            }
            first[cluster + 1] = count;
        }
        if (pass == 0) moved_by = sup_model_add(b->model, "track.moved_by", SUP_ARRAY_INT32, count);
        if (moved_by == NULL) return fail_memory(error);
    }
    track->moved_by_first = first;
    track->moved_by = moved_by;
    return SUP_OK;
}

/* --- Edges --- */

static sup_result find_rings(builder *b, sup_error *error)
{
    const sup_track_def *def = b->def;
    b->ring_first = sup_arena_alloc(b->arena, (size_t)def->vertex_count + 2, sizeof(int32_t));
    b->ring_corners = sup_arena_alloc(b->arena, 6 * (size_t)def->triangle_count, sizeof(int32_t));
    if (b->ring_first == NULL || b->ring_corners == NULL) return fail_memory(error);
    for (int64_t i = 0; i < 3 * (int64_t)def->triangle_count; i++)
        b->ring_first[def->triangles[i] + 2]++;
    for (int32_t v = 0; v < def->vertex_count; v++)
        b->ring_first[v + 2] += b->ring_first[v + 1];
    for (int64_t t = 0; t < def->triangle_count; t++)
        for (int c = 0; c < 3; c++) {
            int32_t at = b->ring_first[def->triangles[3 * t + c] + 1]++;
            b->ring_corners[2 * (int64_t)at] = def->triangles[3 * t + (c + 1) % 3];
            b->ring_corners[2 * (int64_t)at + 1] = def->triangles[3 * t + (c + 2) % 3];
        }
    return SUP_OK;
}

/* Area-weighted normal of the triangles around a vertex. */
static sup_vec3d ring_normal(const float *positions, int32_t vertex, int32_t count, const int32_t *corners)
{
    sup_vec3d sum = sup_v3(0, 0, 0), p = sup_v3_load(positions + 3 * (int64_t)vertex);
    for (int32_t t = 0; t < count; t++) {
        sup_vec3d a = sup_v3_sub(sup_v3_load(positions + 3 * (int64_t)corners[2 * t]), p),
                  c = sup_v3_sub(sup_v3_load(positions + 3 * (int64_t)corners[2 * t + 1]), p);
        sum = sup_v3_add(sum, sup_v3_cross(a, c));
    }
    return sup_v3_unit_or(sum, sup_v3(0, 0, 0));
}

bool sup_track_mean_value(const float *positions, int32_t vertex, int32_t triangle_count, const int32_t *corners,
                          double *weights)
{
    static const double full_circle = 6.283185307179586;
    sup_vec3d n = ring_normal(positions, vertex, triangle_count, corners);
    sup_vec3d p = sup_v3_load(positions + 3 * (int64_t)vertex);
    double around = 0.0, sum = 0.0;
    for (int pass = 0; pass < 2; pass++) /* check, then add */
        for (int32_t t = 0; t < triangle_count; t++) {
            sup_vec3d a = sup_v3_sub(sup_v3_load(positions + 3 * (int64_t)corners[2 * t]), p),
                      b = sup_v3_sub(sup_v3_load(positions + 3 * (int64_t)corners[2 * t + 1]), p);
            a = sup_v3_madd(a, -sup_v3_dot(a, n), n);
            b = sup_v3_madd(b, -sup_v3_dot(b, n), n);
            double la = sup_v3_length(a), lb = sup_v3_length(b);
            double angle = atan2(sup_v3_dot(n, sup_v3_cross(a, b)), sup_v3_dot(a, b)), half = tan(0.5 * angle);
            if (pass == 0) {
                if (!(la > 0.0) || !(lb > 0.0) || !(angle > 0.0) || !(half < 1e6)) return false;
                around += angle;
                sum += half / la + half / lb;
            } else {
                weights[corners[2 * t]] += half / la / sum;
                weights[corners[2 * t + 1]] += half / lb / sum;
            }
            if (pass == 0 && t == triangle_count - 1 && !(fabs(around - full_circle) < 1e-4 && isfinite(sum)))
                return false;
        }
    return triangle_count > 0;
}

static int compare_ints(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Edges from the ring of each vertex, sorted by the vertex at the other end. */
static sup_result add_edges(builder *b, sup_error *error)
{
    sup_track *track = &b->built->track;
    int32_t *first = sup_model_add(b->model, "track.first", SUP_ARRAY_INT32, (int64_t)track->vertex_count + 1);
    int32_t *ends = sup_arena_alloc(b->arena, 6 * (size_t)b->def->triangle_count, sizeof *ends);
    if (first == NULL || ends == NULL) return fail_memory(error);
    int32_t count = 0;
    for (int32_t vertex = 0; vertex < track->vertex_count; vertex++) {
        int32_t v = b->source[vertex], begin = count, all = count;
        for (int64_t i = 2 * (int64_t)b->ring_first[v]; i < 2 * (int64_t)b->ring_first[v + 1]; i++)
            ends[all++] = b->built->tracked[b->ring_corners[i]];
        qsort(ends + begin, (size_t)(all - begin), sizeof *ends, compare_ints);
        for (int32_t i = begin; i < all; i++)
            if (i == begin || ends[i] != ends[count - 1]) ends[count++] = ends[i];
        first[vertex + 1] = count;
    }
    int32_t *other = sup_model_add(b->model, "track.other", SUP_ARRAY_INT32, count);
    if (other == NULL) return fail_memory(error);
    memcpy(other, ends, (size_t)count * sizeof *other);
    track->edge_count = count;
    track->first = first;
    track->other = other;
    return SUP_OK;
}

/* Six times the enclosed volume; negative if the triangles are inside out. */
static double volume_of(const sup_track_def *def)
{
    double volume = 0.0;
    for (int64_t t = 0; t < def->triangle_count; t++) {
        sup_vec3d p[3];
        for (int c = 0; c < 3; c++)
            p[c] = sup_v3_load(def->positions + 3 * (int64_t)def->triangles[3 * t + c]);
        volume += sup_v3_dot(p[0], sup_v3_cross(p[1], p[2]));
    }
    return volume;
}

static sup_result add_means(builder *b, sup_error *error)
{
    sup_track *track = &b->built->track;
    float *mean = sup_model_add(b->model, "track.mean", SUP_ARRAY_FLOAT, track->edge_count);
    double *weights = sup_arena_alloc(b->arena, (size_t)track->vertex_count, sizeof *weights);
    if (mean == NULL || weights == NULL) return fail_memory(error);
    const double out = volume_of(b->def) < 0.0 ? -1.0 : 1.0;
    for (int32_t vertex = 0; vertex < track->vertex_count; vertex++) {
        int32_t v = b->source[vertex], begin = b->ring_first[v];
        double edge = 0.0;
        bool closed = sup_track_mean_value(b->def->positions, v, b->ring_first[v + 1] - begin,
                                           b->ring_corners + 2 * (int64_t)begin, weights);
        for (int32_t e = track->first[vertex]; e < track->first[vertex + 1]; e++) {
            int32_t end = b->source[track->other[e]];
            mean[e] = closed ? (float)weights[end] : 0.0f;
            weights[end] = 0.0;
            edge += sup_v3_distance(sup_v3_load(track->rest + 4 * (int64_t)vertex),
                                    sup_v3_load(track->rest + 4 * (int64_t)track->other[e]));
        }
        int32_t ends = track->first[vertex + 1] - track->first[vertex];
        b->built->target[vertex].edge = fmaxf(ends > 0 ? (float)(edge / ends) : 0.0f, 1e-6f);
        sup_vec3d normal =
            ring_normal(b->def->positions, v, b->ring_first[v + 1] - begin, b->ring_corners + 2 * (int64_t)begin);
        sup_v3_store(b->built->inward + 4 * (int64_t)vertex, sup_v3_scale(normal, out)); /* until the field is known */
        b->built->target[vertex].relax = b->def->relax != NULL ? b->def->relax[v] : 1.0f;
    }
    track->mean = mean;
    return SUP_OK;
}

/* Clusters that share an edge, each once and increasing. */
static sup_result add_neighbours(builder *b, sup_error *error)
{
    sup_track *track = &b->built->track;
    int32_t clusters = track->cluster_count;
    int32_t *first = sup_model_add(b->model, "track.neighbour_first", SUP_ARRAY_INT32, (int64_t)clusters + 1);
    int32_t *of = sup_arena_alloc(b->arena, (size_t)track->vertex_count, sizeof *of);
    int32_t *ends = sup_arena_alloc(b->arena, (size_t)track->edge_count, sizeof *ends);
    if (first == NULL || of == NULL || ends == NULL) return fail_memory(error);
    for (int32_t cluster = 0; cluster < clusters; cluster++)
        for (int32_t vertex = track->cluster_first[cluster]; vertex < track->cluster_first[cluster + 1]; vertex++)
            of[vertex] = cluster;
    int32_t count = 0;
    for (int32_t cluster = 0; cluster < clusters; cluster++) {
        int32_t begin = count, all = count;
        for (int32_t e = track->first[track->cluster_first[cluster]];
             e < track->first[track->cluster_first[cluster + 1]]; e++)
            if (of[track->other[e]] != cluster) ends[all++] = of[track->other[e]];
        qsort(ends + begin, (size_t)(all - begin), sizeof *ends, compare_ints);
        for (int32_t i = begin; i < all; i++)
            if (i == begin || ends[i] != ends[count - 1]) ends[count++] = ends[i];
        first[cluster + 1] = count;
    }
    int32_t *neighbour = sup_model_add(b->model, "track.neighbour", SUP_ARRAY_INT32, count);
    if (neighbour == NULL) return fail_memory(error);
    memcpy(neighbour, ends, (size_t)count * sizeof *neighbour);
    track->neighbour_first = first;
    track->neighbour = neighbour;
    return SUP_OK;
}

/* --- The Laplacian and its factor --- */

static sup_result add_weights(builder *b, const sup_laplace *laplace, sup_error *error)
{
    sup_track *track = &b->built->track;
    float *weight = sup_model_add(b->model, "track.weight", SUP_ARRAY_FLOAT, track->edge_count);
    float *sum = sup_model_add(b->model, "track.sum", SUP_ARRAY_FLOAT, track->vertex_count);
    if (weight == NULL || sum == NULL) return fail_memory(error);
    const sup_csr *m = &laplace->stiffness; /* lower triangle, in tracked order */
    for (int32_t i = 0; i < m->size; i++)
        for (int32_t k = m->first[i]; k < m->first[i + 1]; k++) {
            int32_t ends[2] = {i, m->column[k]};
            for (int c = 0; c < 2 && ends[0] != ends[1]; c++) {
                int32_t vertex = ends[c], begin = track->first[vertex], end = track->first[vertex + 1];
                const int32_t *found =
                    bsearch(&ends[1 - c], track->other + begin, (size_t)(end - begin), sizeof(int32_t), compare_ints);
                if (found == NULL) continue;
                weight[found - track->other] = (float)fmax(0.0, -m->value[k]);
                sum[vertex] += weight[found - track->other];
            }
        }
    track->weight = weight;
    track->sum = sum;
    return SUP_OK;
}

static sup_result add_factor(builder *b, const sup_cholesky *cholesky, sup_error *error)
{
    sup_track *track = &b->built->track;
    int64_t int_count, float_count, subdomain_ints;
    sup_float_factor_sizes(cholesky, &int_count, &float_count);
    int32_t *ints = sup_model_add(b->model, "track.factor", SUP_ARRAY_INT32, int_count), *made = NULL;
    float *floats = sup_model_add(b->model, "track.factor_values", SUP_ARRAY_FLOAT, float_count);
    if (ints == NULL || floats == NULL) return fail_memory(error);
    sup_result result = sup_float_factor_write(cholesky, ints, floats, error);
    if (result == SUP_OK)
        result = sup_float_subdomains_create(b->context, SOLVE_SUBDOMAINS, ints, floats, &made, &subdomain_ints, error);
    if (result != SUP_OK) return result;
    int32_t *subdomains = sup_model_add(b->model, "track.subdomains", SUP_ARRAY_INT32, subdomain_ints);
    if (subdomains != NULL) memcpy(subdomains, made, (size_t)subdomain_ints * sizeof(int32_t));
    sup_free(&b->context->allocator, made, (size_t)subdomain_ints * sizeof(int32_t));
    int32_t *elimination = sup_model_add(b->model, "track.elimination", SUP_ARRAY_INT32, track->vertex_count);
    if (subdomains == NULL || elimination == NULL) return fail_memory(error);
    track->factor = sup_float_factor_view(ints, floats);
    track->subdomains = sup_float_subdomains_view(subdomains);
    track->subdomains.marked = true;
    for (int32_t k = 0; k < track->vertex_count; k++)
        elimination[track->factor.order[k]] = k;
    track->elimination = elimination;
    return SUP_OK;
}

static sup_result add_system(builder *b, sup_error *error)
{
    const sup_track_def *def = b->def;
    size_t count = (size_t)def->vertex_count, corners = 3 * (size_t)def->triangle_count;
    float *positions = sup_arena_alloc(b->arena, 3 * count, sizeof *positions);
    int32_t *triangles = sup_arena_alloc(b->arena, corners, sizeof *triangles);
    if (positions == NULL || triangles == NULL) return fail_memory(error);
    for (size_t i = 0; i < count; i++)
        memcpy(positions + 3 * i, def->positions + 3 * (int64_t)b->source[i], 3 * sizeof(float));
    for (size_t i = 0; i < corners; i++)
        triangles[i] = b->built->tracked[def->triangles[i]];
    sup_laplace laplace;
    sup_result result = sup_laplace_create(b->context, SUP_LAPLACE_ROBUST, def->vertex_count, positions,
                                           def->triangle_count, triangles, &laplace, error);
    if (result != SUP_OK) return result;
    result = add_weights(b, &laplace, error);
    double mean_mass = 0.0;
    for (size_t i = 0; i < count; i++)
        mean_mass += laplace.mass[i] / (double)count;
    for (size_t i = 0; i < count;
         i++) /* isolated vertices and those of degenerate triangles get a fraction of the mean mass */
        laplace.stiffness.value[laplace.stiffness.first[i + 1] - 1] +=
            REACH_MASS * fmax(laplace.mass[i], 0.1 * mean_mass) + 1e-12;
    sup_cholesky *cholesky = NULL;
    if (result == SUP_OK) result = sup_cholesky_create(b->context, &laplace.stiffness, &cholesky, error);
    if (result == SUP_OK) {
        result = add_factor(b, cholesky, error);
        sup_cholesky_destroy(cholesky);
    }
    sup_laplace_free(&laplace);
    return result;
}

sup_result sup_track_bind(const sup_context *context, const sup_track_def *def, sup_arena *arena,
                          sup_model_builder *model, sup_track_built *built, sup_error *error)
{
    memset(built, 0, sizeof *built);
    builder b = {.context = context, .def = def, .arena = arena, .model = model, .built = built};
    built->track.vertex_count = def->vertex_count;
    built->track.joint_count = def->joint_count;
    sup_result result = build_clusters(&b, error);
    if (result == SUP_OK) result = add_clusters(&b, error);
    if (result == SUP_OK) result = add_influences(&b, error);
    if (result == SUP_OK) result = add_moved_by(&b, error);
    if (result == SUP_OK) result = find_rings(&b, error);
    if (result == SUP_OK) result = add_edges(&b, error);
    if (result == SUP_OK) result = add_means(&b, error);
    if (result == SUP_OK) result = add_neighbours(&b, error);
    return result == SUP_OK ? add_system(&b, error) : result;
}

/* --- Targets --- */

/* Minimum slope, in inverse sizes, and the range of values in which a vertex can follow a field. */
static const float MIN_SLOPE = 1.0f, MIN_VALUE = 0.01f, MAX_VALUE = 0.99f;

bool sup_track_can_follow(float value, float slope)
{
    return slope > MIN_SLOPE && value > MIN_VALUE && value < MAX_VALUE;
}

/* Details that fields do not represent: minimum cosine between skin normal and field normal, maximum value, maximum
 * contact at rest. Mouths, eyes, gaps between toes: vertices that followed the field there would move away from their
 * rest positions. */
static const float FACING = 0.5f, INSIDE = 0.7f, TOUCHING = 0.1f;

/* `normal` of the skin, outward. */
static bool is_represented(const sup_field_samples *f, const sup_field_sides *sides, int32_t k, float slope,
                           const float *normal)
{
    float out = -(f->x[k] * normal[0] + f->y[k] * normal[1] + f->z[k] * normal[2]);
    return out > FACING * slope && f->value[k] < INSIDE && sides->contact[k] < TOUCHING;
}

typedef struct target_work {
    sup_track_built *built;
    sup_track_field_fn *field;
    const void *user;
} target_work;

static void set_target_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const target_work *w = work;
    const sup_track *track = &w->built->track;
    SUP_UNUSED(worker);
    for (int32_t cluster = begin; cluster < end; cluster++) {
        sup_field_points points;
        sup_field_samples f;
        sup_field_sides sides;
        sup_track_load_points(track, track->rest, cluster, &points);
        sup_track_evaluate(track, cluster, w->field, w->user, &points, &f, &sides);
        for (int32_t vertex = track->cluster_first[cluster], k = 0; vertex < track->cluster_first[cluster + 1];
             vertex++, k++) {
            sup_track_target *target = &w->built->target[vertex];
            float *inward = w->built->inward + 4 * (int64_t)vertex;
            float slope = sqrtf(f.x[k] * f.x[k] + f.y[k] * f.y[k] + f.z[k] * f.z[k]);
            bool inside = sup_track_can_follow(f.value[k], slope),
                 follows = inside && is_represented(&f, &sides, k, slope, inward);
            target->iso = inside ? fminf(f.value[k], 1.0f) : 0.0f;
            target->gradient = follows ? slope : 0.0f;
            inward[0] = follows ? f.x[k] / slope : 0.0f;
            inward[1] = follows ? f.y[k] / slope : 0.0f;
            inward[2] = follows ? f.z[k] / slope : 0.0f;
            w->built->other_limb[vertex] = fminf(fmaxf(sides.other_limb.value[k], 0.0f), 1.0f);
            inward[3] = fminf(fmaxf(fminf(sides.own_limb.value[k], target->iso), 0.0f), 1.0f);
        }
    }
}

int32_t sup_track_set_targets(const sup_context *context, sup_track_built *built, sup_track_field_fn *field,
                              const void *user)
{
    target_work work = {built, field, user};
    sup_parallel(context, built->track.cluster_count, SUP_TRACK_GRAIN, set_target_range, &work);
    int32_t lost = 0;
    for (int32_t vertex = 0; vertex < built->track.vertex_count; vertex++)
        lost += built->target[vertex].iso > 0.0f ? 0 : 1;
    return lost;
}

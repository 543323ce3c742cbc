/* upsample_bind.c - weights of all render vertices: geodesic neighbours, moving least squares, quantisation. */
#include "geometry/bvh.h"
#include "geometry/normals.h"
#include "upsample/upsample_clusters.h"
#include "upsample/quantize_weights.h"

enum {
    VERTEX_GRAIN = 64,
    BATCH = 4096,
    NAME_MAX = 32,
    PREFIX_MAX = 15,
    NEAR_MAX = SUP_MLS_MAX,
    NEAR_CORNERS = 3 * NEAR_MAX
};

static const double NOISE_LIMIT = 3.0; /* maximum sum of |N|: the gain of errors of the coarse mesh */

/* Tolerated error of quantised weights: of the rest pose, as a fraction of the size of the surface, and of
 * directions. */
static const double ENOUGH_POSITION = 3e-8, ENOUGH_DIRECTION = 1e-6;

/* Neighbours of a point by geodesic distance, nearest first. */
typedef struct neighbourhood {
    int32_t count;
    int32_t coarse[NEAR_MAX];
    double distance[NEAR_MAX], radius; /* rho of eq. 3.3 */
} neighbourhood;

/* How the weights of a vertex were fitted, for the report. */
typedef enum vertex_fit { FIT_NONE, FIT_QUADRATIC, FIT_REDUCED, FIT_FOLLOWER, FIT_DEGENERATE } vertex_fit;

typedef struct bind_work {
    const sup_upsample_def *def;
    int32_t near;   /* entries per list of `nearest` */
    int32_t wanted; /* entries of a supported vertex */
    int32_t neighbours;
    double size;        /* of the surface */
    int32_t *nearest;   /* [surface vertices * near] coarse vertex, -1 */
    float *distance;    /* [surface vertices * near] */
    int32_t *supported; /* triangles with enough neighbours at all corners, for followers */
    int32_t supported_count;
    sup_bvh bvh;                   /* of these triangles */
    sup_vec3d *coarse_normal;      /* [coarse_count] */
    unsigned char *fit;            /* [vertex_count] */
    float *noise;                  /* [vertex_count] sum of |N| */
    int32_t *order;                /* [vertex_count] vertices in spatial order */
    const int32_t *batch;          /* current range of `order` */
    sup_upsample_weights *weights; /* [BATCH], fewer if there are fewer vertices */
    float *points;                 /* [BATCH*3] */
    sup_arena arena;
} bind_work;

static sup_vec3d surface_point(const bind_work *w, int32_t vertex)
{
    return sup_v3_load(w->def->surface.positions + 3 * (size_t)vertex);
}

static sup_vec3d coarse_point(const bind_work *w, int32_t coarse)
{
    return surface_point(w, w->def->coarse_vertices[coarse]);
}

/* --- Neighbourhoods --- */
/* Truncates a sorted list to k neighbours within rho, the distance of neighbour k+1 (eq. 3.3). */
static void close_neighbourhood(neighbourhood *n, int32_t k)
{
    n->radius = n->count > k ? n->distance[k] : 0.0;
    if (n->count > k) n->count = k;
    double last = n->count > 0 ? n->distance[n->count - 1] : 0.0;
    if (!(n->radius > 0.0)) n->radius = last > 0.0 ? 1.25 * last : 1.0; /* no neighbour k+1: include all */
    while (n->count > 1 && n->distance[n->count - 1] >= n->radius)
        n->count--;
}

static void neighbours_at_vertex(const bind_work *w, int32_t vertex, neighbourhood *n)
{
    size_t first = (size_t)vertex * (size_t)w->near;
    n->count = 0;
    for (int32_t i = 0; i < w->near && w->nearest[first + (size_t)i] >= 0; i++) {
        n->coarse[n->count] = w->nearest[first + (size_t)i];
        n->distance[n->count++] = (double)w->distance[first + (size_t)i];
    }
    close_neighbourhood(n, w->neighbours);
}

typedef struct candidate {
    int32_t coarse;
    double distance;
} candidate;

static int32_t find_candidate(const candidate *list, int32_t count, int32_t coarse)
{
    for (int32_t i = 0; i < count; i++)
        if (list[i].coarse == coarse) return i;
    return -1;
}

/* Interpolates distances inside a triangle from those at its corners. A neighbour that is missing from the list of a
 * corner is at least as far from it as the last entry of that list. */
static void neighbours_in_triangle(const bind_work *w, const int32_t corners[3], const double barycentric[3],
                                   neighbourhood *n)
{
    candidate list[NEAR_CORNERS];
    int32_t count = 0;
    for (int32_t c = 0; c < 3; c++)
        for (int32_t i = 0; i < w->wanted; i++) {
            int32_t coarse = w->nearest[(size_t)corners[c] * (size_t)w->near + (size_t)i];
            if (find_candidate(list, count, coarse) < 0) list[count++] = (candidate){coarse, 0.0};
        }
    for (int32_t c = 0; c < 3; c++) {
        size_t first = (size_t)corners[c] * (size_t)w->near;
        for (int32_t at = 0; at < count; at++) {
            int32_t i = 0;
            while (i + 1 < w->wanted && w->nearest[first + (size_t)i] != list[at].coarse)
                i++;
            list[at].distance += barycentric[c] * (double)w->distance[first + (size_t)i];
        }
    }
    for (int32_t i = 1; i < count; i++) /* by distance, then coarse vertex */
        for (int32_t j = i; j > 0; j--) {
            candidate a = list[j - 1], b = list[j];
            if (a.distance < b.distance || (a.distance == b.distance && a.coarse < b.coarse)) break;
            list[j - 1] = b;
            list[j] = a;
        }
    n->count = count < w->wanted ? count : w->wanted;
    for (int32_t i = 0; i < n->count; i++) {
        n->coarse[i] = list[i].coarse;
        n->distance[i] = list[i].distance;
    }
    close_neighbourhood(n, w->neighbours);
}

typedef struct facing {
    const bind_work *work;
    sup_vec3d normal;
} facing;

static bool faces_along(void *user, int32_t triangle)
{
    const facing *f = user;
    const float *positions = f->work->def->surface.positions;
    return sup_v3_dot(sup_triangle_cross(positions, f->work->supported + 3 * (size_t)triangle), f->normal) > 0.0;
}

/* Neighbours of the nearest surface point; with `normal`, only of triangles that face the same way, so that skin does
 * not attach to the opposite lip or finger. */
static bool neighbours_of_point(const bind_work *w, sup_vec3d point, const sup_vec3d *normal, neighbourhood *n)
{
    sup_bvh_nearest at = {.triangle = -1};
    if (normal != NULL) {
        facing f = {w, *normal};
        at = sup_bvh_closest_of(&w->bvh, point, INFINITY, faces_along, &f);
    }
    if (at.triangle < 0) at = sup_bvh_closest(&w->bvh, point, INFINITY);
    if (at.triangle < 0) return false;
    const double barycentric[3] = {1.0 - at.u - at.v, at.u, at.v};
    neighbours_in_triangle(w, w->supported + 3 * (size_t)at.triangle, barycentric, n);
    return true;
}

/* --- Weights --- */
static void localize(const bind_work *w, const neighbourhood *n, sup_vec3d point, sup_mls *mls)
{
    mls->count = n->count;
    mls->scale = 0.0;
    for (int32_t i = 0; i < n->count; i++) {
        double near = 1.0 - n->distance[i] / n->radius;
        mls->omega[i] = near * near * near; /* eq. 3.3 */
        mls->positions[i] = sup_v3_sub(coarse_point(w, n->coarse[i]), point);
        mls->normals[i] = w->coarse_normal[n->coarse[i]];
        mls->scale = fmax(mls->scale, sup_v3_length(mls->positions[i]));
    }
    if (!(mls->scale > 0.0)) mls->scale = 1.0;
    for (int32_t i = 0; i < n->count; i++)
        mls->positions[i] = sup_v3_scale(mls->positions[i], 1.0 / mls->scale);
}

/* Weighted sum of the quantised weights of a channel and the next one, scaled by `per_position` and `per_normal`. */
static sup_vec3d quantized_sum(const sup_mls *mls, const sup_upsample_weights *out, sup_upsample_channel channel,
                               double per_position, double per_normal)
{
    sup_vec3d sum = sup_v3(0.0, 0.0, 0.0);
    double x = (double)out->units[channel] * per_position, n = (double)out->units[channel + 1] * per_normal;
    for (int32_t i = 0; i < mls->count; i++) {
        sum = sup_v3_madd(sum, x * (double)out->weights[channel][i], mls->positions[i]);
        sum = sup_v3_madd(sum, n * (double)out->weights[channel + 1][i], mls->normals[i]);
    }
    return sum;
}

/* Quantises weights of a position; preserves the rest pose. */
static bool quantize_position(const bind_work *w, const sup_mls *mls, const double *position, const double *normal,
                              sup_upsample_weights *out)
{
    const sup_upsample_channel channel = SUP_CHANNEL_POSITION_X;
    if (!sup_quantize_weights(position, mls->count, 1.0, true, out->weights[channel], &out->units[channel]) ||
        !sup_quantize_weights(normal, mls->count, 0.0, false, out->weights[channel + 1], &out->units[channel + 1]))
        return false;
    sup_vec3d residual =
        sup_v3_scale(quantized_sum(mls, out, channel, 1.0, 1.0 / mls->scale), -1.0); /* the point is at 0 */
    sup_quantize_correct(mls->positions, mls->count, (double)out->units[channel], residual,
                         ENOUGH_POSITION * w->size / mls->scale, out->weights[channel]);
    return true;
}

/* Quantises weights of a direction; the weights of positions sum to zero. */
static bool quantize_direction(const sup_mls *mls, sup_vec3d direction, const double *position, const double *normal,
                               sup_upsample_channel channel, sup_upsample_weights *out)
{
    if (!sup_quantize_weights(position, mls->count, 0.0, true, out->weights[channel], &out->units[channel]) ||
        !sup_quantize_weights(normal, mls->count, 0.0, false, out->weights[channel + 1], &out->units[channel + 1]))
        return false;
    sup_vec3d residual = sup_v3_sub(direction, quantized_sum(mls, out, channel, mls->scale, 1.0));
    sup_quantize_correct(mls->positions, mls->count, (double)out->units[channel] * mls->scale, residual,
                         ENOUGH_DIRECTION, out->weights[channel]);
    return true;
}

/* Weighted mean of the neighbours, when no other fit is possible. */
static void weights_of_mean(const sup_mls *mls, double *position, double *normal)
{
    double total = 0.0;
    memset(normal, 0, SUP_MLS_MAX * sizeof *normal);
    for (int32_t i = 0; i < mls->count; i++)
        total += mls->omega[i];
    for (int32_t i = 0; i < mls->count; i++)
        position[i] = mls->omega[i] / total;
}

/* Position weights of a vertex. FIT_DEGENERATE does not preserve the rest pose. */
static vertex_fit fit_position(const bind_work *w, const sup_mls *mls, bool follows, double *position,
                               sup_upsample_weights *out)
{
    bool reduced;
    double normal[SUP_MLS_MAX] = {0};
    if (!follows && sup_mls_position(mls, NOISE_LIMIT, position, &reduced) >= 0 &&
        quantize_position(w, mls, position, normal, out))
        return reduced ? FIT_REDUCED : FIT_QUADRATIC;
    if (sup_mls_follow(mls, NULL, position, normal) && quantize_position(w, mls, position, normal, out))
        return FIT_FOLLOWER;
    weights_of_mean(mls, position, normal);
    sup_quantize_weights(position, mls->count, 1.0, true, out->weights[SUP_CHANNEL_POSITION_X],
                         &out->units[SUP_CHANNEL_POSITION_X]);
    return FIT_DEGENERATE;
}

/* Weights of a direction that follows the skin; the normal of the nearest neighbour when there is no fit. */
static void fit_direction(const sup_mls *mls, sup_vec3d direction, sup_upsample_channel channel,
                          sup_upsample_weights *out)
{
    double position[SUP_MLS_MAX], normal[SUP_MLS_MAX];
    if (sup_mls_follow(mls, &direction, position, normal) &&
        quantize_direction(mls, direction, position, normal, channel, out))
        return;
    memset(out->weights[channel], 0, sizeof out->weights[channel]);
    memset(out->weights[channel + 1], 0, sizeof out->weights[channel + 1]);
    out->weights[channel + 1][0] = 1;
    out->units[channel] = 0.0f;
    out->units[channel + 1] = 1.0f;
}

/* Quantises weights of a normal from normals; only the direction matters. */
static bool quantize_normal(const sup_mls *mls, sup_vec3d direction, const double *normal, sup_upsample_weights *out)
{
    const sup_upsample_channel channel = SUP_CHANNEL_NORMAL_N;
    if (!sup_quantize_weights(normal, mls->count, 0.0, false, out->weights[channel], &out->units[channel]))
        return false;
    sup_vec3d sum = quantized_sum(mls, out, SUP_CHANNEL_NORMAL_X, 0.0, 1.0);
    double along = sup_v3_dot(sum, direction);
    sup_quantize_correct(mls->normals, mls->count, (double)out->units[channel],
                         sup_v3_sub(sup_v3_scale(direction, along), sum), ENOUGH_DIRECTION, out->weights[channel]);
    return true;
}

/* Normal weights of a vertex; false when they use positions as well. */
static bool fit_normal(const sup_mls *mls, bool follows, sup_vec3d direction, sup_upsample_weights *out)
{
    double normal[SUP_MLS_MAX];
    if (!follows && sup_mls_normal(mls, direction, NOISE_LIMIT, normal) && quantize_normal(mls, direction, normal, out))
        return true;
    fit_direction(mls, direction, SUP_CHANNEL_NORMAL_X, out);
    return false;
}

/* Whether a render vertex is at a surface vertex that has enough neighbours of its own. */
static bool has_neighbours(const bind_work *w, int32_t vertex)
{
    int32_t source = w->def->surface_vertex[vertex];
    return source >= 0 && w->nearest[(size_t)source * (size_t)w->near + (size_t)w->wanted - 1] >= 0;
}

static void fit_vertex(bind_work *w, int32_t vertex, sup_upsample_weights *out)
{
    const sup_upsample_def *def = w->def;
    int32_t source = def->surface_vertex[vertex];
    sup_vec3d point = source >= 0 ? surface_point(w, source) : sup_v3_load(def->positions + 3 * (size_t)vertex);
    neighbourhood n = {0};
    sup_vec3d direction = sup_v3_load(def->normals + 3 * (size_t)vertex);
    bool supported = has_neighbours(w, vertex);
    if (supported)
        neighbours_at_vertex(w, source, &n);
    else if (!neighbours_of_point(w, point, source == SUP_UPSAMPLE_IN_TRIANGLE ? &direction : NULL, &n))
        return;
    supported = supported || source == SUP_UPSAMPLE_IN_TRIANGLE;
    sup_mls mls;
    double position[SUP_MLS_MAX], noise = 0.0;
    localize(w, &n, point, &mls);
    memcpy(out->coarse, n.coarse, (size_t)n.count * sizeof *n.coarse);
    out->count = n.count;
    out->vertex = vertex;
    out->is_set = true;
    vertex_fit fit = fit_position(w, &mls, !supported, position, out);
    bool normal_follows = !fit_normal(&mls, !supported, direction, out);
    out->follows = fit == FIT_FOLLOWER || normal_follows;
    if (def->tangents != NULL) {
        fit_direction(&mls, sup_v3_load(def->tangents + 4 * (size_t)vertex), SUP_CHANNEL_TANGENT_X, out);
        out->sign = def->tangents[4 * (size_t)vertex + 3] < 0.0f ? -1.0f : 1.0f;
    }
    for (int32_t i = 0; i < n.count; i++)
        noise += fabs(position[i]);
    w->noise[vertex] = (float)noise;
    w->fit[vertex] = (unsigned char)fit;
}

static void fit_batch(void *work, int32_t begin, int32_t end, int32_t worker)
{
    bind_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t vertex = w->batch[i];
        memset(&w->weights[i], 0, sizeof w->weights[i]);
        memcpy(w->points + 3 * (size_t)i, w->def->positions + 3 * (size_t)vertex, 3 * sizeof(float));
        if (w->def->surface_vertex[vertex] != SUP_UPSAMPLE_SKIPPED) fit_vertex(w, vertex, &w->weights[i]);
    }
}

/* --- Set-up --- */
static sup_result wrong(sup_error *error, const char *what)
{
    return sup_fail(error, SUP_ERROR_ARGUMENT, "upsample.def", "", "Cannot upsample the skin: %s.", what);
}

static sup_result check_def(const sup_upsample_def *def, const char *prefix, sup_error *error)
{
    if (strlen(prefix) > PREFIX_MAX) return wrong(error, "the prefix of the array names has more than 15 characters");
    if (def->neighbours != 0 && (def->neighbours < 10 || def->neighbours >= NEAR_MAX))
        return wrong(error, "the number of neighbours is not from 10 to 63");
    if (def->coarse_count < 1) return wrong(error, "there is no coarse mesh");
    for (int32_t i = 0; i < def->coarse_count; i++)
        if (def->coarse_vertices[i] < 0 || def->coarse_vertices[i] >= def->surface.vertex_count)
            return wrong(error, "a coarse vertex is not a surface vertex");
    for (int64_t i = 0; i < 3 * (int64_t)def->coarse_triangle_count; i++)
        if (def->coarse_triangles[i] < 0 || def->coarse_triangles[i] >= def->coarse_count)
            return wrong(error, "a coarse triangle has a corner out of range");
    for (int32_t v = 0; v < def->vertex_count; v++)
        if (def->surface_vertex[v] >= def->surface.vertex_count || def->surface_vertex[v] < SUP_UPSAMPLE_IN_TRIANGLE)
            return wrong(error, "the surface vertex of a render vertex is out of range");
    return SUP_OK;
}

static bool reserve(bind_work *w)
{
    const sup_upsample_def *def = w->def;
    size_t vertices = (size_t)def->vertex_count, lists = (size_t)def->surface.vertex_count * (size_t)w->near;
    w->nearest = sup_arena_alloc(&w->arena, lists, sizeof *w->nearest);
    w->distance = sup_arena_alloc(&w->arena, lists, sizeof *w->distance);
    w->supported = sup_arena_alloc(&w->arena, 3 * (size_t)def->surface.triangle_count, sizeof *w->supported);
    w->coarse_normal = sup_arena_alloc(&w->arena, (size_t)def->coarse_count, sizeof *w->coarse_normal);
    w->fit = sup_arena_alloc(&w->arena, vertices, sizeof *w->fit);
    w->noise = sup_arena_alloc(&w->arena, vertices, sizeof *w->noise);
    w->order = sup_arena_alloc(&w->arena, vertices, sizeof *w->order);
    size_t batch = vertices < BATCH ? vertices : BATCH;
    w->weights = sup_arena_alloc(&w->arena, batch, sizeof *w->weights);
    w->points = sup_arena_alloc(&w->arena, batch * 3, sizeof *w->points);
    return w->nearest != NULL && w->distance != NULL && w->supported != NULL && w->coarse_normal != NULL &&
           w->fit != NULL && w->noise != NULL && w->order != NULL && w->weights != NULL && w->points != NULL;
}

static void measure_surface(bind_work *w)
{
    sup_vec3d lower = sup_v3(INFINITY, INFINITY, INFINITY), upper = sup_v3(-INFINITY, -INFINITY, -INFINITY);
    for (int32_t v = 0; v < w->def->surface.vertex_count; v++) {
        sup_vec3d p = surface_point(w, v);
        lower = sup_v3(fmin(lower.x, p.x), fmin(lower.y, p.y), fmin(lower.z, p.z));
        upper = sup_v3(fmax(upper.x, p.x), fmax(upper.y, p.y), fmax(upper.z, p.z));
    }
    w->size = sup_v3_distance(lower, upper);
}

/* Area-weighted, as in each frame; a vertex without area gets the direction away from the origin. */
static void make_coarse_normals(bind_work *w)
{
    for (int32_t t = 0; t < w->def->coarse_triangle_count; t++) {
        const int32_t *corners = w->def->coarse_triangles + 3 * (size_t)t;
        sup_vec3d a = coarse_point(w, corners[0]);
        sup_vec3d cross =
            sup_v3_cross(sup_v3_sub(coarse_point(w, corners[1]), a), sup_v3_sub(coarse_point(w, corners[2]), a));
        for (int32_t k = 0; k < 3; k++)
            w->coarse_normal[corners[k]] = sup_v3_add(w->coarse_normal[corners[k]], cross);
    }
    for (int32_t i = 0; i < w->def->coarse_count; i++) {
        sup_vec3d outwards = sup_v3_unit_or(coarse_point(w, i), sup_v3(0.0, 0.0, 1.0));
        w->coarse_normal[i] = sup_v3_unit_or(w->coarse_normal[i], outwards);
    }
}

/* A vertex is supported when it has the requested number of neighbours, or as many as any vertex. Surface components
 * with fewer coarse vertices become followers. */
static void find_supported(bind_work *w)
{
    const sup_geodesic_mesh *surface = &w->def->surface;
    for (int32_t v = 0; v < surface->vertex_count; v++)
        while (w->wanted < w->near && w->nearest[(size_t)v * (size_t)w->near + (size_t)w->wanted] >= 0)
            w->wanted++;
    for (int32_t t = 0; t < surface->triangle_count; t++) {
        const int32_t *corners = surface->triangles + 3 * (size_t)t;
        bool all = w->wanted > 0;
        for (int32_t k = 0; k < 3; k++)
            all = all && w->nearest[(size_t)corners[k] * (size_t)w->near + (size_t)w->wanted - 1] >= 0;
        if (all) memcpy(w->supported + 3 * (size_t)w->supported_count++, corners, 3 * sizeof *corners);
    }
}

static bool needs_nearest_points(const bind_work *w)
{
    for (int32_t v = 0; v < w->def->vertex_count; v++)
        if (w->def->surface_vertex[v] != SUP_UPSAMPLE_SKIPPED && !has_neighbours(w, v)) return true;
    return false;
}

/* --- Arrays --- */
static void *add(sup_model_builder *builder, const char *prefix, const char *name, sup_array_type type, size_t count)
{
    char full[NAME_MAX];
    sup_format(full, sizeof full, "%s%s", prefix, name);
    return sup_model_add(builder, full, type, (int64_t)count);
}

static bool add_coarse(const bind_work *w, sup_model_builder *builder, const char *prefix)
{
    const sup_upsample_def *def = w->def;
    size_t coarse = (size_t)def->coarse_count, corners = 3 * (size_t)def->coarse_triangle_count;
    int32_t *triangles = add(builder, prefix, "triangles", SUP_ARRAY_INT32, corners);
    int32_t *first = add(builder, prefix, "corner_first", SUP_ARRAY_INT32, coarse + 1);
    int32_t *at = add(builder, prefix, "corner_triangle", SUP_ARRAY_INT32, corners);
    float *normals = add(builder, prefix, "rest_normal", SUP_ARRAY_FLOAT, 3 * coarse);
    if (triangles == NULL || first == NULL || at == NULL || normals == NULL) return false;
    for (size_t i = 0; i < corners; i++) {
        triangles[i] = def->coarse_triangles[i];
        first[triangles[i] + 1]++;
    }
    for (size_t i = 0; i < coarse; i++) {
        first[i + 1] += first[i];
        sup_v3_store(normals + 3 * i, w->coarse_normal[i]);
    }
    for (size_t i = corners; i > 0; i--) /* backwards: ends become starts, and triangles are in ascending order */
        at[--first[triangles[i - 1] + 1]] = (int32_t)((i - 1) / 3);
    for (size_t i = 0; i < coarse; i++)
        first[i] = first[i + 1];
    first[coarse] = (int32_t)corners;
    return true;
}

static bool add_sizes(const bind_work *w, const sup_cluster_builder *clusters, sup_model_builder *builder,
                      const char *prefix)
{
    const int32_t all[] = {w->def->vertex_count,
                           w->def->coarse_count,
                           w->def->coarse_triangle_count,
                           w->def->tangents != NULL,
                           (int32_t)clusters->plain.cluster_count,
                           (int32_t)clusters->plain.entry_count,
                           (int32_t)clusters->followers.cluster_count,
                           (int32_t)clusters->followers.entry_count};
    int32_t *sizes = add(builder, prefix, "sizes", SUP_ARRAY_INT32, SUP_COUNT(all));
    if (sizes != NULL) memcpy(sizes, all, sizeof all);
    return sizes != NULL;
}

static void make_report(const bind_work *w, sup_upsample_report *report)
{
    *report = (sup_upsample_report){0};
    for (int32_t v = 0; v < w->def->vertex_count; v++) {
        report->quadratic += w->fit[v] == FIT_QUADRATIC;
        report->reduced += w->fit[v] == FIT_REDUCED;
        report->followers += w->fit[v] == FIT_FOLLOWER;
        report->degenerate += w->fit[v] == FIT_DEGENERATE;
        report->largest = fmax(report->largest, (double)w->noise[v]);
    }
}

/* Vertices are processed in batches in spatial order: memory stays proportional to the result. */
static bool build_clusters(const sup_context *context, bind_work *w, sup_model_builder *builder, const char *prefix)
{
    sup_cluster_builder clusters;
    if (!sup_cluster_builder_open(&w->arena, w->def->coarse_count, w->def->tangents != NULL, &clusters)) return false;
    for (int32_t v = 0; v < w->def->vertex_count; v++)
        w->order[v] = v;
    sup_upsample_order(w->def->positions, w->order, w->def->vertex_count, BATCH);
    for (int32_t at = 0; at < w->def->vertex_count; at += BATCH) {
        int32_t remaining = w->def->vertex_count - at;
        w->batch = w->order + at;
        int32_t count = remaining < BATCH ? remaining : BATCH;
        sup_parallel(context, count, VERTEX_GRAIN, fit_batch, w);
        if (!sup_cluster_builder_append(&clusters, w->weights, w->points, count)) return false;
    }
    return sup_cluster_builder_finish(&clusters, builder, prefix) && add_sizes(w, &clusters, builder, prefix);
}

static sup_result bind_weights(const sup_context *context, bind_work *w, sup_model_builder *builder, const char *prefix,
                               sup_error *error)
{
    const sup_upsample_def *def = w->def;
    if (!reserve(w)) return sup_fail_memory(error, "upsampling weights");
    sup_result result = sup_geodesic_nearest(context, &def->surface, def->coarse_count, def->coarse_vertices, w->near,
                                             w->nearest, w->distance, error);
    if (result != SUP_OK) return result;
    find_supported(w);
    if (needs_nearest_points(w))
        result = sup_bvh_create(context, def->surface.positions, w->supported_count, w->supported, &w->bvh, error);
    if (result != SUP_OK) return result;
    make_coarse_normals(w);
    measure_surface(w);
    bool ok = build_clusters(context, w, builder, prefix) && add_coarse(w, builder, prefix);
    sup_bvh_free(&w->bvh);
    return ok ? SUP_OK : sup_fail_memory(error, "upsampling weights");
}

sup_result sup_upsample_bind(const sup_context *context, const sup_upsample_def *def, sup_model_builder *builder,
                             const char *prefix, sup_upsample_report *report, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    sup_result result = check_def(def, prefix, error);
    if (result != SUP_OK) return result;
    bind_work w = {.def = def, .neighbours = def->neighbours > 0 ? def->neighbours : SUP_UPSAMPLE_NEIGHBOURS};
    w.arena = sup_arena_create(&resolved.allocator);
    w.near = w.neighbours + 1;
    result = bind_weights(&resolved, &w, builder, prefix, error);
    if (result == SUP_OK && report != NULL) make_report(&w, report);
    sup_arena_destroy(&w.arena);
    return result;
}

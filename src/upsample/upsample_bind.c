/* upsample_bind.c - weights of all vertices: geodesic neighbours, moving least squares, rows for the blocks. */
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

static const double NOISE_LIMIT = 3.0; /* sum of |N|: errors of the coarse mesh grow by no more */

/* Rounding of weights may move the rest pose by so much of the surface's size, and turn directions so far. */
static const double ENOUGH_POSITION = 3e-8, ENOUGH_DIRECTION = 1e-6;

/* The neighbours of a point along the surface, nearest first. */
typedef struct neighbourhood {
    int32_t count;
    int32_t coarse[NEAR_MAX];
    double distance[NEAR_MAX], radius; /* rho of eq. 3.3 */
} neighbourhood;

/* What became of a vertex: for the report. */
typedef enum row_fate { FATE_NONE, FATE_QUADRATIC, FATE_REDUCED, FATE_RIDING, FATE_LOST } row_fate;

typedef struct bind_work {
    const sup_upsample_def *def;
    int32_t near;   /* entries of a list of `nearest` */
    int32_t wanted; /* of them that a served vertex has */
    int32_t neighbours;
    double size;      /* of the surface */
    int32_t *nearest; /* [surface vertices * near] coarse vertex, -1 */
    float *distance;  /* [surface vertices * near] */
    int32_t *served;  /* triangles with enough neighbours at all corners, for those who ride */
    int32_t served_count;
    sup_bvh bvh;              /* over them */
    sup_vec3d *coarse_normal; /* [coarse_count] */
    unsigned char *fate;      /* [vertex_count] */
    float *noise;             /* [vertex_count] sum of |N| */
    int32_t *order;           /* [vertex_count] vertices, near ones together */
    const int32_t *batch;     /* those of them whose rows are made */
    sup_upsample_row *rows;   /* [BATCH] */
    float *points;            /* [BATCH*3] */
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
/* Cuts a sorted list to k neighbours and those within rho, the distance of the one after (eq. 3.3). */
static void close_neighbourhood(neighbourhood *n, int32_t k)
{
    n->radius = n->count > k ? n->distance[k] : 0.0;
    if (n->count > k) n->count = k;
    double last = n->count > 0 ? n->distance[n->count - 1] : 0.0;
    if (!(n->radius > 0.0)) n->radius = last > 0.0 ? 1.25 * last : 1.0; /* there are no more: all of them count */
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

/* Distances at a point inside a triangle, between those at its corners; what is in the list of one corner only is at
 * least as far from the others as the last one in theirs. */
static void neighbours_in_triangle(const bind_work *w, const int32_t corners[3], const double share[3],
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
            list[at].distance += share[c] * (double)w->distance[first + (size_t)i];
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
    return sup_v3_dot(sup_triangle_cross(positions, f->work->served + 3 * (size_t)triangle), f->normal) > 0.0;
}

/* Those at the nearest point of the surface; with `normal`, of what faces that way: not the other lip, or finger. */
static bool neighbours_of_point(const bind_work *w, sup_vec3d point, const sup_vec3d *normal, neighbourhood *n)
{
    sup_bvh_nearest at = {.triangle = -1};
    if (normal != NULL) {
        facing f = {w, *normal};
        at = sup_bvh_closest_of(&w->bvh, point, INFINITY, faces_along, &f);
    }
    if (at.triangle < 0) at = sup_bvh_closest(&w->bvh, point, INFINITY);
    if (at.triangle < 0) return false;
    const double share[3] = {1.0 - at.u - at.v, at.u, at.v};
    neighbours_in_triangle(w, w->served + 3 * (size_t)at.triangle, share, n);
    return true;
}

/* --- Rows --- */
static void set_up(const bind_work *w, const neighbourhood *n, sup_vec3d point, sup_mls *mls)
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

/* What rounded weights of a way and the next one give; a unit of theirs counts `per_position` and `per_normal`. */
static sup_vec3d rounded_sum(const sup_mls *mls, const sup_upsample_row *row, sup_upsample_way way, double per_position,
                             double per_normal)
{
    sup_vec3d sum = sup_v3(0.0, 0.0, 0.0);
    double x = (double)row->units[way] * per_position, n = (double)row->units[way + 1] * per_normal;
    for (int32_t i = 0; i < mls->count; i++) {
        sum = sup_v3_madd(sum, x * (double)row->weights[way][i], mls->positions[i]);
        sum = sup_v3_madd(sum, n * (double)row->weights[way + 1][i], mls->normals[i]);
    }
    return sum;
}

/* A position from positions and normals; the rest pose stays. */
static bool round_position(const bind_work *w, const sup_mls *mls, const double *position, const double *normal,
                           sup_upsample_row *row)
{
    const sup_upsample_way way = SUP_WAY_POSITION_X;
    if (!sup_round_weights(position, mls->count, 1.0, true, row->weights[way], &row->units[way]) ||
        !sup_round_weights(normal, mls->count, 0.0, false, row->weights[way + 1], &row->units[way + 1]))
        return false;
    sup_vec3d off = sup_v3_scale(rounded_sum(mls, row, way, 1.0, 1.0 / mls->scale), -1.0); /* the point is at 0 */
    sup_round_towards(mls->positions, mls->count, (double)row->units[way], off, ENOUGH_POSITION * w->size / mls->scale,
                      row->weights[way]);
    return true;
}

/* A direction from positions, whose weights cancel, and normals. */
static bool round_direction(const sup_mls *mls, sup_vec3d direction, const double *position, const double *normal,
                            sup_upsample_way way, sup_upsample_row *row)
{
    if (!sup_round_weights(position, mls->count, 0.0, true, row->weights[way], &row->units[way]) ||
        !sup_round_weights(normal, mls->count, 0.0, false, row->weights[way + 1], &row->units[way + 1]))
        return false;
    sup_vec3d off = sup_v3_sub(direction, rounded_sum(mls, row, way, mls->scale, 1.0));
    sup_round_towards(mls->positions, mls->count, (double)row->units[way] * mls->scale, off, ENOUGH_DIRECTION,
                      row->weights[way]);
    return true;
}

/* The mean of the neighbours: where nothing better can be had. */
static void weigh_mean(const sup_mls *mls, double *position, double *normal)
{
    double total = 0.0;
    memset(normal, 0, SUP_MLS_MAX * sizeof *normal);
    for (int32_t i = 0; i < mls->count; i++)
        total += mls->omega[i];
    for (int32_t i = 0; i < mls->count; i++)
        position[i] = mls->omega[i] / total;
}

/* Position weights of a row; FATE_LOST leaves the rest pose. */
static row_fate weigh_position(const bind_work *w, const sup_mls *mls, bool rides, double *position,
                               sup_upsample_row *row)
{
    bool reduced;
    double normal[SUP_MLS_MAX] = {0};
    if (!rides && sup_mls_position(mls, NOISE_LIMIT, position, &reduced) >= 0 &&
        round_position(w, mls, position, normal, row))
        return reduced ? FATE_REDUCED : FATE_QUADRATIC;
    if (sup_mls_ride(mls, NULL, position, normal) && round_position(w, mls, position, normal, row)) return FATE_RIDING;
    weigh_mean(mls, position, normal);
    sup_round_weights(position, mls->count, 1.0, true, row->weights[SUP_WAY_POSITION_X],
                      &row->units[SUP_WAY_POSITION_X]);
    return FATE_LOST;
}

/* Weights of a direction that goes with the skin; the nearest neighbour's normal when there are none. */
static void weigh_direction(const sup_mls *mls, sup_vec3d direction, sup_upsample_way way, sup_upsample_row *row)
{
    double position[SUP_MLS_MAX], normal[SUP_MLS_MAX];
    if (sup_mls_ride(mls, &direction, position, normal) && round_direction(mls, direction, position, normal, way, row))
        return;
    memset(row->weights[way], 0, sizeof row->weights[way]);
    memset(row->weights[way + 1], 0, sizeof row->weights[way + 1]);
    row->weights[way + 1][0] = 1;
    row->units[way] = 0.0f;
    row->units[way + 1] = 1.0f;
}

/* A normal from normals: only its direction counts. */
static bool round_normal(const sup_mls *mls, sup_vec3d direction, const double *normal, sup_upsample_row *row)
{
    const sup_upsample_way way = SUP_WAY_NORMAL_N;
    if (!sup_round_weights(normal, mls->count, 0.0, false, row->weights[way], &row->units[way])) return false;
    sup_vec3d sum = rounded_sum(mls, row, SUP_WAY_NORMAL_X, 0.0, 1.0);
    double along = sup_v3_dot(sum, direction);
    sup_round_towards(mls->normals, mls->count, (double)row->units[way],
                      sup_v3_sub(sup_v3_scale(direction, along), sum), ENOUGH_DIRECTION, row->weights[way]);
    return true;
}

/* Normal weights of a row; false when they use positions as well. */
static bool weigh_normal(const sup_mls *mls, bool rides, sup_vec3d direction, sup_upsample_row *row)
{
    double normal[SUP_MLS_MAX];
    if (!rides && sup_mls_normal(mls, direction, NOISE_LIMIT, normal) && round_normal(mls, direction, normal, row))
        return true;
    weigh_direction(mls, direction, SUP_WAY_NORMAL_X, row);
    return false;
}

static void weigh_vertex(bind_work *w, int32_t vertex, sup_upsample_row *row)
{
    const sup_upsample_def *def = w->def;
    int32_t place = def->place[vertex];
    sup_vec3d point = place >= 0 ? surface_point(w, place) : sup_v3_load(def->positions + 3 * (size_t)vertex);
    neighbourhood n = {0};
    sup_vec3d direction = sup_v3_load(def->normals + 3 * (size_t)vertex);
    bool served = place >= 0 && w->nearest[(size_t)place * (size_t)w->near + (size_t)w->wanted - 1] >= 0;
    if (served)
        neighbours_at_vertex(w, place, &n);
    else if (!neighbours_of_point(w, point, place == SUP_UPSAMPLE_BETWEEN ? &direction : NULL, &n))
        return;
    served = served || place == SUP_UPSAMPLE_BETWEEN;
    sup_mls mls;
    double position[SUP_MLS_MAX], noise = 0.0;
    set_up(w, &n, point, &mls);
    memcpy(row->coarse, n.coarse, (size_t)n.count * sizeof *n.coarse);
    row->count = n.count;
    row->vertex = vertex;
    row->is_set = true;
    row_fate fate = weigh_position(w, &mls, !served, position, row);
    bool normal_rides = !weigh_normal(&mls, !served, direction, row);
    row->rides = fate == FATE_RIDING || normal_rides;
    if (def->tangents != NULL) {
        weigh_direction(&mls, sup_v3_load(def->tangents + 4 * (size_t)vertex), SUP_WAY_TANGENT_X, row);
        row->sign = def->tangents[4 * (size_t)vertex + 3] < 0.0f ? -1.0f : 1.0f;
    }
    for (int32_t i = 0; i < n.count; i++)
        noise += fabs(position[i]);
    w->noise[vertex] = (float)noise;
    w->fate[vertex] = (unsigned char)fate;
}

static void weigh_batch(void *work, int32_t begin, int32_t end, int32_t worker)
{
    bind_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t vertex = w->batch[i];
        memset(&w->rows[i], 0, sizeof w->rows[i]);
        memcpy(w->points + 3 * (size_t)i, w->def->positions + 3 * (size_t)vertex, 3 * sizeof(float));
        if (w->def->place[vertex] != SUP_UPSAMPLE_LEFT_OUT) weigh_vertex(w, vertex, &w->rows[i]);
    }
}

/* --- Set-up --- */
static sup_result wrong(sup_error *error, const char *what)
{
    return sup_fail(error, SUP_ERROR_ARGUMENT, "upsample.def", "", "The skin cannot be upsampled: %s.", what);
}

static sup_result check_def(const sup_upsample_def *def, const char *prefix, sup_error *error)
{
    if (strlen(prefix) > PREFIX_MAX) return wrong(error, "the prefix of the arrays is too long");
    if (def->neighbours != 0 && (def->neighbours < 10 || def->neighbours >= NEAR_MAX))
        return wrong(error, "the number of neighbours is not from 10 to 63");
    if (def->coarse_count < 1) return wrong(error, "there is no coarse mesh");
    for (int32_t i = 0; i < def->coarse_count; i++)
        if (def->coarse_vertices[i] < 0 || def->coarse_vertices[i] >= def->surface.vertex_count)
            return wrong(error, "a coarse vertex is not one of the surface");
    for (int64_t i = 0; i < 3 * (int64_t)def->coarse_triangle_count; i++)
        if (def->coarse_triangles[i] < 0 || def->coarse_triangles[i] >= def->coarse_count)
            return wrong(error, "a coarse triangle has a corner that is not there");
    for (int32_t v = 0; v < def->vertex_count; v++)
        if (def->place[v] >= def->surface.vertex_count || def->place[v] < SUP_UPSAMPLE_BETWEEN)
            return wrong(error, "a vertex is at a place that is not on the surface");
    return SUP_OK;
}

static bool reserve(bind_work *w)
{
    const sup_upsample_def *def = w->def;
    size_t vertices = (size_t)def->vertex_count, lists = (size_t)def->surface.vertex_count * (size_t)w->near;
    w->nearest = sup_arena_alloc(&w->arena, lists, sizeof *w->nearest);
    w->distance = sup_arena_alloc(&w->arena, lists, sizeof *w->distance);
    w->served = sup_arena_alloc(&w->arena, 3 * (size_t)def->surface.triangle_count, sizeof *w->served);
    w->coarse_normal = sup_arena_alloc(&w->arena, (size_t)def->coarse_count, sizeof *w->coarse_normal);
    w->fate = sup_arena_alloc(&w->arena, vertices, sizeof *w->fate);
    w->noise = sup_arena_alloc(&w->arena, vertices, sizeof *w->noise);
    w->order = sup_arena_alloc(&w->arena, vertices, sizeof *w->order);
    w->rows = sup_arena_alloc(&w->arena, BATCH, sizeof *w->rows);
    w->points = sup_arena_alloc(&w->arena, BATCH * 3, sizeof *w->points);
    return w->nearest != NULL && w->distance != NULL && w->served != NULL && w->coarse_normal != NULL &&
           w->fate != NULL && w->noise != NULL && w->order != NULL && w->rows != NULL && w->points != NULL;
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

/* By area, as every frame does it; where there is none the next best direction, away from the origin. */
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

/* Vertices with as many neighbours as asked for, or as there are, are served; pieces of the surface with fewer coarse
 * vertices ride on the rest. */
static void find_served(bind_work *w)
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
        if (all) memcpy(w->served + 3 * (size_t)w->served_count++, corners, 3 * sizeof *corners);
    }
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
    for (size_t i = corners; i > 0; i--) /* from behind, ends become starts, and triangles rise */
        at[--first[triangles[i - 1] + 1]] = (int32_t)((i - 1) / 3);
    for (size_t i = 0; i < coarse; i++)
        first[i] = first[i + 1];
    first[coarse] = (int32_t)corners;
    return true;
}

static bool add_sizes(const bind_work *w, const sup_subdomain_maker *maker, sup_model_builder *builder, const char *prefix)
{
    const int32_t all[] = {w->def->vertex_count,
                           w->def->coarse_count,
                           w->def->coarse_triangle_count,
                           w->def->tangents != NULL,
                           (int32_t)maker->plain.block_count,
                           (int32_t)maker->plain.entry_count,
                           (int32_t)maker->riding.block_count,
                           (int32_t)maker->riding.entry_count};
    int32_t *sizes = add(builder, prefix, "sizes", SUP_ARRAY_INT32, SUP_COUNT(all));
    if (sizes != NULL) memcpy(sizes, all, sizeof all);
    return sizes != NULL;
}

static void make_report(const bind_work *w, sup_upsample_report *report)
{
    *report = (sup_upsample_report){0};
    for (int32_t v = 0; v < w->def->vertex_count; v++) {
        report->quadratic += w->fate[v] == FATE_QUADRATIC;
        report->reduced += w->fate[v] == FATE_REDUCED;
        report->riding += w->fate[v] == FATE_RIDING;
        report->lost += w->fate[v] == FATE_LOST;
        report->largest = fmax(report->largest, (double)w->noise[v]);
    }
}

/* Rows are made batch by batch, of vertices that are near each other: memory stays in proportion to the result. */
static bool make_blocks(const sup_context *context, bind_work *w, sup_model_builder *builder, const char *prefix)
{
    sup_subdomain_maker maker;
    if (!sup_subdomains_open(&w->arena, w->def->coarse_count, w->def->tangents != NULL, &maker)) return false;
    for (int32_t v = 0; v < w->def->vertex_count; v++)
        w->order[v] = v;
    sup_upsample_order(w->def->positions, w->order, w->def->vertex_count, BATCH);
    for (int32_t at = 0; at < w->def->vertex_count; at += BATCH) {
        int32_t left = w->def->vertex_count - at;
        w->batch = w->order + at;
        int32_t count = left < BATCH ? left : BATCH;
        sup_parallel(context, count, VERTEX_GRAIN, weigh_batch, w);
        if (!sup_subdomains_append(&maker, w->rows, w->points, count)) return false;
    }
    return sup_subdomains_finish(&maker, builder, prefix) && add_sizes(w, &maker, builder, prefix);
}

static sup_result bind_rows(const sup_context *context, bind_work *w, sup_model_builder *builder, const char *prefix,
                            sup_error *error)
{
    const sup_upsample_def *def = w->def;
    if (!reserve(w)) return sup_fail_memory(error, "upsampling weights");
    sup_result result = sup_geodesic_nearest(context, &def->surface, def->coarse_count, def->coarse_vertices, w->near,
                                             w->nearest, w->distance, error);
    if (result != SUP_OK) return result;
    find_served(w);
    result = sup_bvh_create(context, def->surface.positions, w->served_count, w->served, &w->bvh, error);
    if (result != SUP_OK) return result;
    make_coarse_normals(w);
    measure_surface(w);
    bool ok = make_blocks(context, w, builder, prefix) && add_coarse(w, builder, prefix);
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
    result = bind_rows(&resolved, &w, builder, prefix, error);
    if (result == SUP_OK && report != NULL) make_report(&w, report);
    sup_arena_destroy(&w.arena);
    return result;
}

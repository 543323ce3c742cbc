/* upsample_bind.c - weights of all vertices: geodesic neighbours, moving least squares, rows for the kernels. */
#include "geometry/bvh.h"
#include "geometry/normals.h"
#include "upsample/mls.h"
#include "upsample/upsample.h"

enum { VERTEX_GRAIN = 64, NAME_MAX = 32, PREFIX_MAX = 15, NEAR_MAX = SUP_MLS_MAX, NEAR_CORNERS = 3 * NEAR_MAX };

static const double NOISE_LIMIT = 3.0; /* sum of |N|: errors of the coarse mesh grow by no more */

/* The neighbours of a point along the surface, nearest first. */
typedef struct neighbourhood {
    int32_t count;
    int32_t coarse[NEAR_MAX];
    double distance[NEAR_MAX], radius; /* rho of eq. 3.3 */
} neighbourhood;

typedef enum row_kind { ROW_NONE, ROW_PLAIN, ROW_RIDING } row_kind;

/* What became of a vertex: for the report. */
typedef enum row_fate { FATE_NONE, FATE_QUADRATIC, FATE_REDUCED, FATE_RIDING, FATE_LOST } row_fate;

typedef struct bind_work {
    const sup_upsample_def *def;
    int32_t near;   /* entries of a list of `nearest` */
    int32_t wanted; /* of them that a served vertex has */
    int32_t neighbours, slots;
    int32_t *nearest; /* [surface vertices * near] coarse vertex, -1 */
    float *distance;  /* [surface vertices * near] */
    int32_t *served;  /* triangles with enough neighbours at all corners, for those who ride */
    int32_t served_count;
    sup_bvh bvh;                /* over them */
    sup_vec3d *coarse_normal;   /* [coarse_count] */
    unsigned char *kind, *fate; /* [vertex_count] */
    double *noise;              /* [vertex_count] sum of |N| */
    int32_t *index;             /* [vertex_count*slots] */
    float *weights;             /* [vertex_count*slots*4] as a riding row has them */
    float *tangents;            /* [vertex_count*slots*2] or NULL */
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

/* Rounds weights to float, `step` apart; the largest one takes what their sum is off by. */
static void round_weights(const double *weights, int32_t count, double sum, float *to, size_t step)
{
    double left = sum;
    int32_t largest = 0;
    for (int32_t i = 0; i < count; i++) {
        to[(size_t)i * step] = (float)weights[i];
        left -= (double)to[(size_t)i * step];
        if (fabs(weights[i]) > fabs(weights[largest])) largest = i;
    }
    to[(size_t)largest * step] += (float)left;
}

/* Position weights of a row; FATE_LOST leaves the rest pose. */
static row_fate weigh_position(const sup_mls *mls, bool rides, double *position, double *normal)
{
    bool reduced;
    memset(normal, 0, SUP_MLS_MAX * sizeof *normal);
    if (!rides && sup_mls_position(mls, NOISE_LIMIT, position, &reduced) >= 0)
        return reduced ? FATE_REDUCED : FATE_QUADRATIC;
    if (sup_mls_ride(mls, NULL, position, normal)) return FATE_RIDING;
    double total = 0.0;
    memset(normal, 0, SUP_MLS_MAX * sizeof *normal);
    for (int32_t i = 0; i < mls->count; i++)
        total += mls->omega[i];
    for (int32_t i = 0; i < mls->count; i++)
        position[i] = mls->omega[i] / total;
    return FATE_LOST;
}

/* Weights of a direction that goes with the skin; the nearest neighbour's normal when there are none. */
static void weigh_direction(const sup_mls *mls, sup_vec3d direction, double *position, double *normal)
{
    if (sup_mls_ride(mls, &direction, position, normal)) return;
    memset(position, 0, SUP_MLS_MAX * sizeof *position);
    memset(normal, 0, SUP_MLS_MAX * sizeof *normal);
    normal[0] = 1.0;
}

static void weigh_vertex(bind_work *w, int32_t vertex)
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
    double position[SUP_MLS_MAX], normal[SUP_MLS_MAX];
    size_t first = (size_t)vertex * (size_t)w->slots;
    float *weights = w->weights + 4 * first;
    set_up(w, &n, point, &mls);
    for (int32_t i = 0; i < w->slots; i++)
        w->index[first + (size_t)i] = n.coarse[i < n.count ? i : 0];
    row_fate fate = weigh_position(&mls, !served, position, normal);
    row_kind kind = fate == FATE_RIDING ? ROW_RIDING : ROW_PLAIN;
    for (int32_t i = 0; i < n.count; i++) {
        w->noise[vertex] += fabs(position[i]);
        weights[4 * i + 1] = (float)normal[i];
    }
    round_weights(position, n.count, 1.0, weights, 4);
    memset(position, 0, sizeof position);
    if (!served || !sup_mls_normal(&mls, direction, NOISE_LIMIT, normal)) {
        weigh_direction(&mls, direction, position, normal);
        kind = ROW_RIDING;
    }
    round_weights(position, n.count, 0.0, weights + 2, 4);
    for (int32_t i = 0; i < n.count; i++)
        weights[4 * i + 3] = (float)normal[i];
    if (w->tangents != NULL) {
        weigh_direction(&mls, sup_v3_load(def->tangents + 4 * (size_t)vertex), position, normal);
        round_weights(position, n.count, 0.0, w->tangents + 2 * first, 2);
        for (int32_t i = 0; i < n.count; i++)
            w->tangents[2 * first + 2 * (size_t)i + 1] = (float)normal[i];
    }
    w->kind[vertex] = (unsigned char)kind;
    w->fate[vertex] = (unsigned char)fate;
}

static void weigh_vertices(void *work, int32_t begin, int32_t end, int32_t worker)
{
    bind_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++)
        if (w->def->place[v] != SUP_UPSAMPLE_LEFT_OUT) weigh_vertex(w, v);
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
    size_t entries = vertices * (size_t)w->slots;
    w->nearest = sup_arena_alloc(&w->arena, lists, sizeof *w->nearest);
    w->distance = sup_arena_alloc(&w->arena, lists, sizeof *w->distance);
    w->served = sup_arena_alloc(&w->arena, 3 * (size_t)def->surface.triangle_count, sizeof *w->served);
    w->coarse_normal = sup_arena_alloc(&w->arena, (size_t)def->coarse_count, sizeof *w->coarse_normal);
    w->kind = sup_arena_alloc(&w->arena, vertices, sizeof *w->kind);
    w->fate = sup_arena_alloc(&w->arena, vertices, sizeof *w->fate);
    w->noise = sup_arena_alloc(&w->arena, vertices, sizeof *w->noise);
    w->index = sup_arena_alloc(&w->arena, entries, sizeof *w->index);
    w->weights = sup_arena_alloc(&w->arena, entries, 4 * sizeof *w->weights);
    if (def->tangents != NULL) w->tangents = sup_arena_alloc(&w->arena, entries, 2 * sizeof *w->tangents);
    return w->nearest != NULL && w->distance != NULL && w->served != NULL && w->coarse_normal != NULL &&
           w->kind != NULL && w->fate != NULL && w->noise != NULL && w->index != NULL && w->weights != NULL &&
           (w->tangents != NULL || def->tangents == NULL);
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

static bool add_index(const bind_work *w, sup_model_builder *builder, const char *prefix, const int32_t *row_vertex,
                      size_t rows)
{
    size_t slots = (size_t)w->slots;
    bool narrow = w->def->coarse_count <= 65536;
    void *index = add(builder, prefix, "index", narrow ? SUP_ARRAY_UINT16 : SUP_ARRAY_INT32, rows * slots);
    if (index == NULL) return false;
    for (size_t i = 0; i < rows * slots; i++) {
        int32_t coarse = w->index[(size_t)row_vertex[i / slots] * slots + i % slots];
        if (narrow)
            ((uint16_t *)index)[i] = (uint16_t)coarse;
        else
            ((int32_t *)index)[i] = coarse;
    }
    return true;
}

static bool add_tangents(const bind_work *w, sup_model_builder *builder, const char *prefix, const int32_t *row_vertex,
                         size_t rows)
{
    size_t slots = (size_t)w->slots;
    if (w->tangents == NULL) return true;
    float *weights = add(builder, prefix, "tangent", SUP_ARRAY_FLOAT, rows * slots * 2);
    float *sign = add(builder, prefix, "tangent_sign", SUP_ARRAY_FLOAT, rows);
    if (weights == NULL || sign == NULL) return false;
    for (size_t row = 0; row < rows; row++) {
        size_t v = (size_t)row_vertex[row];
        memcpy(weights + row * slots * 2, w->tangents + v * slots * 2, slots * 2 * sizeof(float));
        sign[row] = w->def->tangents[4 * v + 3] < 0.0f ? -1.0f : 1.0f;
    }
    return true;
}

static bool add_rows(const bind_work *w, sup_model_builder *builder, const char *prefix)
{
    size_t slots = (size_t)w->slots, counts[3] = {0}, row = 0;
    for (int32_t v = 0; v < w->def->vertex_count; v++)
        counts[w->kind[v]]++;
    size_t rows = counts[ROW_PLAIN] + counts[ROW_RIDING];
    int32_t *sizes = add(builder, prefix, "sizes", SUP_ARRAY_INT32, 6);
    int32_t *row_vertex = add(builder, prefix, "row_vertex", SUP_ARRAY_INT32, rows);
    float *plain = add(builder, prefix, "plain", SUP_ARRAY_FLOAT, counts[ROW_PLAIN] * slots * 2);
    float *riding = add(builder, prefix, "riding", SUP_ARRAY_FLOAT, counts[ROW_RIDING] * slots * 4);
    if (sizes == NULL || row_vertex == NULL || plain == NULL || riding == NULL) return false;
    const int32_t all[6] = {w->def->vertex_count,       w->def->coarse_count, w->def->coarse_triangle_count, w->slots,
                            (int32_t)counts[ROW_PLAIN], (int32_t)rows};
    memcpy(sizes, all, sizeof all);
    for (row_kind kind = ROW_PLAIN; kind <= ROW_RIDING; kind++)
        for (int32_t v = 0; v < w->def->vertex_count; v++) {
            if (w->kind[v] != (unsigned char)kind) continue;
            const float *from = w->weights + (size_t)v * slots * 4;
            if (kind == ROW_RIDING) {
                memcpy(riding + (row - counts[ROW_PLAIN]) * slots * 4, from, slots * 4 * sizeof *from);
            } else {
                for (size_t i = 0; i < slots; i++) {
                    plain[(row * slots + i) * 2] = from[4 * i];
                    plain[(row * slots + i) * 2 + 1] = from[4 * i + 3];
                }
            }
            row_vertex[row++] = v;
        }
    return add_index(w, builder, prefix, row_vertex, rows) && add_tangents(w, builder, prefix, row_vertex, rows);
}

static void make_report(const bind_work *w, sup_upsample_report *report)
{
    *report = (sup_upsample_report){0};
    for (int32_t v = 0; v < w->def->vertex_count; v++) {
        report->quadratic += w->fate[v] == FATE_QUADRATIC;
        report->reduced += w->fate[v] == FATE_REDUCED;
        report->riding += w->fate[v] == FATE_RIDING;
        report->lost += w->fate[v] == FATE_LOST;
        report->largest = fmax(report->largest, w->noise[v]);
    }
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
    sup_parallel(context, def->vertex_count, VERTEX_GRAIN, weigh_vertices, w);
    sup_bvh_free(&w->bvh);
    if (!add_rows(w, builder, prefix) || !add_coarse(w, builder, prefix))
        return sup_fail_memory(error, "upsampling weights");
    return SUP_OK;
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
    w.slots = (w.neighbours + 3) / 4 * 4;
    result = bind_rows(&resolved, &w, builder, prefix, error);
    if (result == SUP_OK && report != NULL) make_report(&w, report);
    sup_arena_destroy(&w.arena);
    return result;
}

/* tetmesh.c - search for a spacing, and the report of the resulting mesh. */
#include "volume/tetmesh.h"

#include "geometry/adjacency.h"
#include "volume/improve.h"
#include "volume/isosurface_stuffing.h"

#include <stdlib.h>

enum { TRIES_MAX = 8, DEFAULT_TETS = 10000, MIN_TARGET = 24, MAX_TARGET = 4000000, PASSES = 8, EMPTY_TRIES = 2 };

static const double thick_enough[SUP_LATTICE_LEVELS - 1] = {
    1.0, 0.6, 0.45}; /* thickness in leaves below which a leaf is halved; the last entries are used with fewer levels */
static const double coarsest =
    1.4; /* limit of the spacing relative to that without thin features: their maximum cost for the rest */
static const double sample_spacing = 0.15; /* of the spacing */
static const double close_enough = 0.05;   /* relative to the target number of tetrahedra */

typedef struct mesher {
    const sup_context *context;
    const sup_tetmesh_def *def;
    int32_t levels; /* maximum number of halvings */
    sup_solid solid;
    double reach; /* of the measured thickness */
    bool stuffed;
    sup_isosurface_stuffing stuffing; /* best so far */
    double spacing;                   /* of the best */
    int32_t tries;
} mesher;

sup_tetmesh_def sup_default_tetmesh_def(void)
{
    sup_tetmesh_def def = {0};
    return def;
}

static int32_t level_at(const void *user, const sup_solid_sample *sample, double base)
{
    const mesher *m = user;
    const double *enough = thick_enough + (SUP_LATTICE_LEVELS - 1 - m->levels);
    int32_t level = 0;
    while (level < m->levels && sample->thickness < enough[level] * ldexp(base, -level))
        level++;
    return level;
}

/* Builds one mesh with a spacing; keeps it if it is nearer to the target number than the previous one. */
static sup_result try_spacing(mesher *m, double spacing, int32_t *count, sup_error *error)
{
    sup_lattice lattice;
    sup_isosurface_stuffing made;
    int32_t size[3];
    sup_result result = sup_lattice_size(&m->solid, spacing, size, error);
    if (result != SUP_OK) return result;
    if (m->reach < SUP_LATTICE_THIN * spacing) {
        m->reach = 1.2 * SUP_LATTICE_THIN * spacing;
        result = sup_solid_measure(m->context, &m->solid, sample_spacing * spacing, m->reach, error);
        if (result != SUP_OK) return result;
    }
    result = sup_lattice_create(m->context, &m->solid, spacing, level_at, m, &lattice, error);
    if (result != SUP_OK) return result;
    result = sup_isosurface_stuff(m->context, &m->solid, &lattice, &made, error);
    sup_lattice_free(&lattice);
    if (result != SUP_OK) return result;
    *count = made.tet_count;
    int32_t target = m->def->tet_target;
    bool better = !m->stuffed || abs(made.tet_count - target) < abs(m->stuffing.tet_count - target);
    if (better && m->stuffed) sup_isosurface_stuffing_free(&m->stuffing);
    if (better) {
        m->stuffing = made;
        m->spacing = spacing;
        m->stuffed = true;
    } else {
        sup_isosurface_stuffing_free(&made);
    }
    m->tries++;
    return SUP_OK;
}

/* A lattice of spacing h has 12 tetrahedra in h^3, and about as many for every h^2 of the surface. */
static double first_guess(const sup_solid *solid, double target)
{
    double area = solid->winding.area, volume = fabs(solid->winding.volume);
    double low = 0.0, high = sqrt(area);
    for (int i = 0; i < 60; i++) {
        double h = 0.5 * (low + high);
        double count = 12.0 * volume / (h * h * h) + 12.0 * area / (h * h);
        if (count > target)
            low = h;
        else
            high = h;
    }
    return high;
}

/* The next spacing to try: the secant method in logarithms, within the known bracket. `low` gives too many, `high` too
 * few. */
static double next_spacing(double spacing, double ratio, double power, double low, double high)
{
    double next = spacing * exp(fmax(-1.0, fmin(1.0, log(ratio) / power)));
    if (next > low && next < high) return next;
    return low > 0.0 && isfinite(high) ? sqrt(low * high) : next;
}

/* Number and spacing follow a power law closely. *fits is false if even leaves of side `limit` give too many. */
static sup_result search_spacing(mesher *m, double limit, bool *fits, sup_error *error)
{
    double target = m->def->tet_target, spacing = first_guess(&m->solid, target), power = -2.5;
    double low = 0.0, high = INFINITY, last_spacing = 0.0, last_count = 0.0;
    *fits = true;
    for (int32_t i = 0; i < TRIES_MAX; i++) {
        int32_t count = 0;
        sup_result result = try_spacing(m, spacing, &count, error);
        if (result != SUP_OK) return result;
        if (fabs(count - target) <= close_enough * target) return SUP_OK;
        if (count == 0 && i == EMPTY_TRIES) return SUP_OK; /* the solid is empty */
        if (count > target)
            low = fmax(low, spacing);
        else
            high = fmin(high, spacing);
        if (low >= limit) {
            *fits = false;
            return SUP_OK;
        }
        double now = count < 1 ? 1.0 : count;
        if (last_count > 0.0 && last_count != now) {
            double slope = log(now / last_count) / log(spacing / last_spacing);
            if (slope < -1.0 && slope > -6.0) power = slope;
        }
        last_spacing = spacing;
        last_count = now;
        spacing = fmin(limit, next_spacing(spacing, target / now, power, low, high));
        if (spacing == last_spacing) return SUP_OK;
    }
    return SUP_OK;
}

/* Halves leaves in thin features as often as possible while the thick ones stay fine enough. */
static sup_result search_levels(mesher *m, sup_error *error)
{
    double limit = coarsest * first_guess(&m->solid, m->def->tet_target);
    for (;; m->levels--) {
        bool fits;
        sup_result result = search_spacing(m, m->levels > 0 ? limit : INFINITY, &fits, error);
        if (result != SUP_OK || fits) return result;
        sup_isosurface_stuffing_free(&m->stuffing);
        m->stuffed = false;
    }
}

/* --- Report --- */
void sup_tet_angles(const float *const corners[4], double angles[6])
{
    sup_vec3d p[4];
    for (int k = 0; k < 4; k++)
        p[k] = sup_v3_load(corners[k]);
    int at = 0;
    for (int i = 0; i < 4; i++)
        for (int j = i + 1; j < 4; j++) {
            int k = i == 0 ? (j == 1 ? 2 : 1) : 0, l = 6 - i - j - k;
            sup_vec3d axis = sup_v3_unit_or(sup_v3_sub(p[j], p[i]), sup_v3(0.0, 0.0, 0.0));
            sup_vec3d a = sup_v3_cross(axis, sup_v3_sub(p[k], p[i])), b = sup_v3_cross(axis, sup_v3_sub(p[l], p[i]));
            angles[at++] = atan2(sup_v3_length(sup_v3_cross(a, b)), sup_v3_dot(a, b)) * 57.29577951308232;
        }
}

static double tet_volume(const sup_tetmesh *mesh, int32_t t)
{
    sup_vec3d p[4];
    for (size_t k = 0; k < 4; k++)
        p[k] = sup_v3_load(mesh->positions + 3 * (size_t)mesh->tets[4 * (size_t)t + k]);
    sup_vec3d a = sup_v3_sub(p[1], p[0]), b = sup_v3_sub(p[2], p[0]), c = sup_v3_sub(p[3], p[0]);
    return sup_v3_dot(a, sup_v3_cross(b, c)) / 6.0;
}

static int32_t angle_rank(const int32_t *fine, int32_t count, int64_t rank)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < count; i++) {
        sum += fine[i];
        if (sum > rank) return i;
    }
    return count - 1;
}

/* Volume and angles; returns false if a tetrahedron lost its volume to rounding. */
static bool report_shape(sup_tetmesh *mesh)
{
    enum { FINE = 1800 }; /* bins of a tenth of a degree */
    sup_tetmesh_report *report = &mesh->report;
    int32_t fine[FINE] = {0};
    report->angle_min = 180.0;
    for (int32_t t = 0; t < mesh->tet_count; t++) {
        const float *corners[4];
        double angles[6], volume = tet_volume(mesh, t);
        if (!(volume > 0.0)) return false;
        report->volume += volume;
        for (size_t k = 0; k < 4; k++)
            corners[k] = mesh->positions + 3 * (size_t)mesh->tets[4 * (size_t)t + k];
        sup_tet_angles(corners, angles);
        for (int k = 0; k < 6; k++) {
            report->angle_min = fmin(report->angle_min, angles[k]);
            report->angle_max = fmax(report->angle_max, angles[k]);
            int32_t bin = (int32_t)(angles[k] * 10.0);
            bin = bin < FINE ? bin : FINE - 1;
            fine[bin]++;
            report->angles[bin * SUP_TETMESH_ANGLE_BINS / FINE]++;
        }
    }
    int64_t total = 6 * (int64_t)mesh->tet_count;
    report->angle_1 = angle_rank(fine, FINE, total / 100) * 0.1;
    report->angle_99 = (angle_rank(fine, FINE, total - 1 - total / 100) + 1) * 0.1;
    return true;
}

static const int8_t tet_face[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};

/* neighbours[4 t + k]: the tetrahedron across the face opposite to corner k, -1 for the surface. */
static bool find_neighbours(sup_tetmesh *mesh)
{
    size_t corners = 4 * (size_t)mesh->tet_count;
    sup_arena scratch = sup_arena_create(&mesh->arena.allocator);
    int32_t *first = sup_arena_alloc(&scratch, (size_t)mesh->vertex_count + 2, sizeof *first);
    int32_t *around = sup_arena_alloc(&scratch, corners, sizeof *around);
    mesh->neighbours = sup_arena_alloc(&mesh->arena, corners, sizeof *mesh->neighbours);
    bool ok = first != NULL && around != NULL && mesh->neighbours != NULL;
    for (size_t i = 0; i < corners && ok; i++)
        first[mesh->tets[i] + 2]++;
    for (int32_t v = 0; v < mesh->vertex_count && ok; v++)
        first[v + 2] += first[v + 1];
    for (size_t i = 0; i < corners && ok; i++)
        around[first[mesh->tets[i] + 1]++] = (int32_t)(i / 4);
    for (size_t i = 0; i < corners && ok; i++) {
        const int32_t *tet = mesh->tets + 4 * (i / 4);
        int32_t a = tet[tet_face[i % 4][0]], b = tet[tet_face[i % 4][1]], c = tet[tet_face[i % 4][2]];
        mesh->neighbours[i] = -1;
        for (int32_t n = first[a]; n < first[a + 1]; n++) {
            const int32_t *other = mesh->tets + 4 * (size_t)around[n];
            int found = 0;
            for (int k = 0; k < 4; k++)
                found += other[k] == b || other[k] == c;
            if (found == 2 && other != tet) mesh->neighbours[i] = around[n];
        }
    }
    sup_arena_destroy(&scratch);
    return ok;
}

static bool find_surface(sup_tetmesh *mesh)
{
    size_t corners = 4 * (size_t)mesh->tet_count, count = 0;
    for (size_t i = 0; i < corners; i++)
        count += mesh->neighbours[i] < 0;
    mesh->triangles = sup_arena_alloc(&mesh->arena, count, 3 * sizeof *mesh->triangles);
    mesh->triangle_tet = sup_arena_alloc(&mesh->arena, count, sizeof *mesh->triangle_tet);
    mesh->component = sup_arena_alloc(&mesh->arena, (size_t)mesh->vertex_count, sizeof *mesh->component);
    int32_t *faces = sup_arena_alloc(&mesh->arena, corners, 3 * sizeof *faces);
    if (mesh->triangles == NULL || mesh->triangle_tet == NULL || mesh->component == NULL || faces == NULL) return false;
    for (size_t i = 0; i < corners; i++) {
        for (size_t k = 0; k < 3; k++)
            faces[3 * i + k] = mesh->tets[4 * (i / 4) + (size_t)tet_face[i % 4][k]];
        if (mesh->neighbours[i] >= 0) continue;
        memcpy(mesh->triangles + 3 * (size_t)mesh->triangle_count, faces + 3 * i, 3 * sizeof *faces);
        mesh->triangle_tet[mesh->triangle_count++] = (int32_t)(i / 4);
    }
    mesh->component_count = sup_mesh_components(mesh->vertex_count, (int32_t)corners, faces, mesh->component);
    return true;
}

/* Finds the component of the tetrahedra that contains the vertices of each shell of the skin. */
static sup_result match_shells(const mesher *m, int32_t vertex_count, sup_tetmesh *mesh, sup_error *error)
{
    const sup_solid *solid = &m->solid;
    sup_bvh surface;
    sup_result result =
        sup_bvh_create(m->context, mesh->positions, mesh->triangle_count, mesh->triangles, &surface, error);
    if (result != SUP_OK) return result;
    mesh->shell_count = solid->component_count;
    mesh->shells = sup_arena_alloc(&mesh->arena, (size_t)mesh->shell_count, sizeof *mesh->shells);
    if (mesh->shells == NULL) {
        sup_bvh_free(&surface);
        return sup_fail_memory(error, "tetrahedra");
    }
    for (int32_t i = 0; i < mesh->shell_count; i++)
        mesh->shells[i] = (sup_tetmesh_shell){.first_vertex = -1, .component = -1, .whole = true};
    for (int32_t v = 0; v < vertex_count; v++) {
        if (solid->component[v] < 0) continue;
        sup_tetmesh_shell *shell = &mesh->shells[solid->component[v]];
        if (shell->first_vertex < 0) shell->first_vertex = v;
        sup_vec3d p = sup_v3_load(solid->positions + 3 * (size_t)v);
        sup_bvh_nearest at = sup_bvh_closest(&surface, p, m->spacing);
        if (at.triangle < 0) { /* far: deep inside of another shell, or outside of the mesh */
            if (!(sup_winding_number(&solid->winding, p) > 1.25)) shell->whole = false;
            continue;
        }
        int32_t component = mesh->component[mesh->triangles[3 * (size_t)at.triangle]];
        if (shell->component < 0) shell->component = component;
        if (shell->component != component) shell->whole = false;
    }
    for (int32_t t = 0; t < solid->triangle_count; t++)
        mesh->shells[solid->component[solid->triangles[3 * (size_t)t]]].triangle_count++;
    for (int32_t i = 0; i < mesh->shell_count; i++)
        mesh->report.empty_shells += mesh->shells[i].component < 0;
    sup_bvh_free(&surface);
    return SUP_OK;
}

static sup_result finish(mesher *m, int32_t vertex_count, sup_tetmesh *mesh, sup_error *error)
{
    const sup_isosurface_stuffing *s = &m->stuffing;
    mesh->vertex_count = s->vertex_count;
    mesh->tet_count = s->tet_count;
    mesh->positions = sup_arena_alloc(&mesh->arena, (size_t)s->vertex_count, 3 * sizeof *mesh->positions);
    mesh->size = sup_arena_copy(&mesh->arena, s->size, (size_t)s->vertex_count, sizeof *mesh->size);
    mesh->tets = sup_arena_copy(&mesh->arena, s->tets, (size_t)s->tet_count, 4 * sizeof *mesh->tets);
    if (mesh->positions == NULL || mesh->size == NULL || mesh->tets == NULL)
        return sup_fail_memory(error, "tetrahedra");
    double finest = m->spacing;
    for (int32_t v = 0; v < s->vertex_count; v++) {
        sup_v3_store(mesh->positions + 3 * (size_t)v, s->positions[v]);
        finest = fmin(finest, (double)s->size[v]);
    }
    mesh->report = (sup_tetmesh_report){.spacing = m->spacing, .finest = finest, .tries = m->tries};
    mesh->report.flipped = m->solid.flipped;
    mesh->report.solid_volume = fabs(m->solid.winding.volume);
    if (!report_shape(mesh))
        return sup_fail(
            error, SUP_ERROR_NUMERIC, "tetmesh.inverted", "",
            "A tetrahedron has no volume after rounding: move the skin nearer to the origin, or request another "
            "number of tetrahedra than %d.",
            m->def->tet_target);
    if (!find_neighbours(mesh) || !find_surface(mesh)) return sup_fail_memory(error, "tetrahedra");
    return match_shells(m, vertex_count, mesh, error);
}

static sup_result check(int32_t vertex_count, const float *positions, int32_t triangle_count, const int32_t *triangles,
                        const sup_tetmesh_def *def, sup_error *error)
{
    for (int64_t i = 0; i < 3 * (int64_t)triangle_count; i++) {
        if (triangles[i] < 0 || triangles[i] >= vertex_count)
            return sup_fail(error, SUP_ERROR_ARGUMENT, "tetmesh.corner", "",
                            "Triangle %lld has a corner that is not a vertex of the skin.", (long long)(i / 3));
        const float *p = positions + 3 * (size_t)triangles[i];
        if (!isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2]))
            return sup_fail(error, SUP_ERROR_DATA, "tetmesh.position", "",
                            "Vertex %d of the skin has a position that is not finite.", triangles[i]);
    }
    if (def->tet_target < MIN_TARGET || def->tet_target > MAX_TARGET)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "tetmesh.target", "",
                        "%d tetrahedra are not possible: request %d to %d.", def->tet_target, (int)MIN_TARGET,
                        (int)MAX_TARGET);
    if (!(def->spacing >= 0.0) || !isfinite(def->spacing))
        return sup_fail(
            error, SUP_ERROR_ARGUMENT, "tetmesh.spacing", "",
            "The spacing of the tetrahedra must be a positive length, or 0 to derive it from their number.");
    return SUP_OK;
}

static sup_result fill(mesher *m, int32_t vertex_count, sup_tetmesh *mesh, sup_error *error)
{
    int32_t count = 0;
    sup_result result =
        m->def->spacing > 0.0 ? try_spacing(m, m->def->spacing, &count, error) : search_levels(m, error);
    if (result != SUP_OK) return result;
    if (m->stuffing.tet_count == 0)
        return sup_fail(
            error, SUP_ERROR_DATA, "tetmesh.empty", "",
            "The skin encloses no volume that tetrahedra of this size can fill: close it, give its sheets a "
            "thickness, or request more tetrahedra.");
    result = sup_improve(m->context, &m->solid, PASSES, &m->stuffing, error);
    return result == SUP_OK ? finish(m, vertex_count, mesh, error) : result;
}

sup_result sup_tetmesh_create(const sup_context *context, int32_t vertex_count, const float *positions,
                              int32_t triangle_count, const int32_t *triangles, const sup_tetmesh_def *def,
                              sup_tetmesh *mesh, sup_error *error)
{
    sup_tetmesh_def wanted = *def;
    if (wanted.tet_target == 0) wanted.tet_target = DEFAULT_TETS;
    sup_result result = check(vertex_count, positions, triangle_count, triangles, &wanted, error);
    if (result != SUP_OK) return result;
    mesher m = {.context = context, .def = &wanted, .levels = SUP_LATTICE_LEVELS - 1};
    if (wanted.levels != 0 && wanted.levels < m.levels) m.levels = wanted.levels > 0 ? wanted.levels : 0;
    result = sup_solid_create(context, vertex_count, positions, triangle_count, triangles, &m.solid, error);
    if (result != SUP_OK) return result;
    sup_tetmesh made = {.arena = sup_arena_create(&context->allocator)};
    result = fill(&m, vertex_count, &made, error);
    if (m.stuffed) sup_isosurface_stuffing_free(&m.stuffing);
    sup_solid_free(&m.solid);
    if (result == SUP_OK)
        *mesh = made;
    else
        sup_tetmesh_free(&made);
    return result;
}

void sup_tetmesh_free(sup_tetmesh *mesh)
{
    sup_arena_destroy(&mesh->arena);
    memset(mesh, 0, sizeof *mesh);
}

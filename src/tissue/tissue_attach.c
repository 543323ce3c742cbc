/* tissue_attach.c - attaches all tissue to bones, and computes its static deflection.
 *
 * Attachment: [komaritzan2022] section 3.2.1 assumes one closed skin around one skeleton, where every connected
 * component of tissue has a base on a bone. Files have separate components, flat cards and skins in the plane of their
 * bones. A component without an anchored base is attached to the bones of its foot points; a skin vertex without any
 * tissue follows linear blending.
 *
 * Deflection: the weights of section 3.3 are those of a realistic human, whose tissue is thin compared with the body.
 * The deflection u of the tissue under a constant acceleration of 1 solves  K u = m  with K the strain matrix at rest
 * and m the masses (one number per vertex: K is the same for all three axes); its lowest mode has a period of 2 pi
 * sqrt(u). Tissue as thick as a cartoon's head on a thin neck has u a hundred times that of a human, and is pulled off
 * its bones by the first fast motion. Where u is above a limit the tissue is made stiffer by u / limit. Deviation from
 * the thesis, measured in docs/methods/projective.md. */
#include "linalg/cholesky.h"
#include "tissue/tissue.h"

#include <stdlib.h>

/* Tets with a height below this fraction of the skin's size count as flat: the system skips those below half of it. */
static const double flat_height = 2e-6;

typedef struct tet_shape {
    double volume;         /* 0 for a flat tet */
    sup_vec3d gradient[4]; /* of the corners' hat functions */
} tet_shape;

/* Diagonal of the bounding box of the skin, and the cube root of its volume as in system.h: not 0 for flat
 * characters. */
static double size_of(const sup_tissue *t, double *side)
{
    sup_vec3d low = sup_tissue_point(t->skin, 0), high = low;
    for (int32_t v = 0; v < t->skin_count; v++) {
        sup_vec3d p = sup_tissue_point(t->skin, v);
        low = sup_v3(fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z));
        high = sup_v3(fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z));
    }
    sup_vec3d d = sup_v3_sub(high, low);
    double diagonal = sup_v3_length(d), minimum = 0.01 * diagonal;
    *side = cbrt(fmax(d.x, minimum) * fmax(d.y, minimum) * fmax(d.z, minimum));
    return diagonal;
}

static int64_t tet_count(const sup_tissue *t)
{
    return 3 * (int64_t)t->triangle_count * sup_tissue_layer_count(t);
}

/* Vertex k of a tet; tets of all layers, in the order of tet_volume. */
static int32_t tet_vertex(const sup_tissue *t, int64_t index, int k)
{
    int64_t layer = 3 * (int64_t)t->triangle_count;
    return sup_tissue_layer_vertex(t, (int32_t)(index / layer), t->tets[4 * (index % layer) + k]);
}

static tet_shape shape_of(const sup_tissue *t, int64_t index, double size)
{
    tet_shape shape = {0};
    if (!(t->tet_volume[index] > 0.0)) return shape;
    sup_vec3d o = sup_tissue_vertex(t, tet_vertex(t, index, 3)), e[3], sum = sup_v3(0, 0, 0);
    for (int k = 0; k < 3; k++)
        e[k] = sup_v3_sub(sup_tissue_vertex(t, tet_vertex(t, index, k)), o);
    double det = sup_v3_dot(e[0], sup_v3_cross(e[1], e[2])), steepest = 0.0;
    if (!(fabs(det) > 0.0)) return shape;
    for (int k = 0; k < 3; k++) {
        shape.gradient[k] = sup_v3_scale(sup_v3_cross(e[(k + 1) % 3], e[(k + 2) % 3]), 1.0 / det);
        sum = sup_v3_add(sum, shape.gradient[k]);
    }
    shape.gradient[3] = sup_v3_scale(sum, -1.0);
    for (int k = 0; k < 4; k++)
        steepest = fmax(steepest, sup_v3_length(shape.gradient[k]));
    /* The height of a corner is 1 / |gradient|. */
    if (steepest * flat_height * size < 1.0) shape.volume = fabs(det) / 6.0;
    return shape;
}

static int32_t find_root(int32_t *set, int32_t i)
{
    while (set[i] != i) {
        set[i] = set[set[i]];
        i = set[i];
    }
    return i;
}

/* The bone segment nearest to the foot point that is not virtual; its own segment where there is none. */
static int32_t nearest_real_segment(const sup_volumetric_skeleton *s, sup_foot_point foot)
{
    if (!s->segments[foot.segment].is_virtual) return foot.segment;
    sup_vec3d x = sup_foot_position(s, foot);
    double best = INFINITY;
    int32_t found = foot.segment;
    for (int32_t p = 0; p < s->segment_count; p++) {
        const sup_bone_segment *segment = &s->segments[p];
        double t = sup_v3_segment_parameter(x, segment->from, segment->to);
        double distance = sup_v3_distance(x, sup_v3_lerp(segment->from, segment->to, t));
        if (segment->is_virtual || distance >= best) continue;
        best = distance;
        found = p;
    }
    return found;
}

sup_result sup_tissue_attach(const sup_context *context, const sup_volumetric_skeleton *skeleton, sup_tissue *t,
                             unsigned char *unattached, int32_t *attached, sup_error *error)
{
    int32_t n = t->skin_count;
    double side, size = size_of(t, &side);
    sup_context c = sup_context_resolve(context);
    sup_arena scratch = sup_arena_create(&c.allocator);
    int32_t vertices = sup_tissue_vertex_count(t);
    int32_t *set = sup_arena_alloc(&scratch, (size_t)vertices, sizeof *set);
    bool *anchored = sup_arena_alloc(&scratch, (size_t)vertices, sizeof *anchored);
    if (set == NULL || anchored == NULL) {
        sup_arena_destroy(&scratch);
        return sup_fail_memory(error, "the tissue");
    }
    for (int32_t v = 0; v < vertices; v++)
        set[v] = v;
    for (int64_t i = 0; i < tet_count(t); i++) {
        if (!(shape_of(t, i, size).volume > 0.0)) continue;
        for (int k = 1; k < 4; k++)
            set[find_root(set, tet_vertex(t, i, k))] = find_root(set, tet_vertex(t, i, 0));
    }
    for (int32_t v = 0; v < n; v++)
        if (t->base_class[v] != SUP_BASE_FREE) anchored[find_root(set, n + v)] = true;
    *attached = 0;
    for (int32_t v = 0; v < n; v++) {
        if (anchored[find_root(set, n + v)]) continue;
        t->base_class[v] = SUP_BASE_BONE;
        t->base_owner[v] = nearest_real_segment(skeleton, t->foot_points[v]);
        t->base_off[v] = true;
        ++*attached;
    }
    /* Every tet that is connected to a base is attached now, unless the layer below it is flat. */
    for (int32_t v = 0; v < n; v++)
        anchored[find_root(set, n + v)] = true;
    for (int32_t v = 0; v < n; v++)
        unattached[v] = !anchored[find_root(set, v)];
    sup_arena_destroy(&scratch);
    return SUP_OK;
}

/* --- Deflection --- */

typedef struct deflection_system {
    const sup_tissue *tissue;
    const unsigned char *fixed;
    sup_arena scratch;
    int32_t *number; /* [vertex count] unknown, -1 for anchors */
    int32_t unknowns;
    double *mass; /* [unknowns] volumes */
    double volume, side;
    sup_triplet *triplets;
    int64_t count;
} deflection_system;

static void number_vertices(deflection_system *w)
{
    const sup_tissue *t = w->tissue;
    int32_t n = t->skin_count;
    for (int32_t v = 0; v < sup_tissue_vertex_count(t); v++) {
        bool free_vertex = v < n ? w->fixed[v] == 0 : v >= 2 * n || t->base_class[v - n] == SUP_BASE_FREE;
        w->number[v] = free_vertex ? w->unknowns++ : -1;
    }
}

static void add_tets(deflection_system *w, double size)
{
    const sup_tissue *t = w->tissue;
    for (int64_t i = 0; i < tet_count(t); i++) {
        tet_shape shape = shape_of(t, i, size);
        double stiffness = i < 3 * (int64_t)t->triangle_count ? 1.0 : t->inner_stiffness;
        for (int a = 0; a < 4 && shape.volume > 0.0; a++) {
            int32_t vertex = tet_vertex(t, i, a), row = w->number[vertex];
            if (sup_tissue_has_mass(t, vertex)) w->volume += shape.volume / 4.0;
            if (row < 0) continue;
            if (sup_tissue_has_mass(t, vertex)) w->mass[row] += shape.volume / 4.0;
            for (int b = 0; b <= a; b++) {
                int32_t column = w->number[tet_vertex(t, i, b)];
                double value = stiffness * shape.volume * sup_v3_dot(shape.gradient[a], shape.gradient[b]);
                if (column >= 0) w->triplets[w->count++] = (sup_triplet){row, column, value};
            }
        }
    }
    for (int32_t r = 0; r < w->unknowns; r++) /* regularises the few unknowns without a tet */
        w->triplets[w->count++] = (sup_triplet){r, r, 1e-12 * cbrt(w->volume)};
}

/* x = K^-1 m in the order of the unknowns. */
static sup_result solve(const sup_context *context, deflection_system *w, double *x, sup_error *error)
{
    sup_csr matrix = {0};
    sup_cholesky *cholesky = NULL;
    sup_result result = sup_csr_from_triplets(context, w->unknowns, w->triplets, w->count, &matrix, error);
    if (result == SUP_OK) result = sup_cholesky_create(context, &matrix, &cholesky, error);
    double *workspace = NULL;
    if (result == SUP_OK) {
        workspace = sup_arena_alloc(&w->scratch, (size_t)sup_cholesky_workspace(cholesky, 1), sizeof *workspace);
        if (workspace == NULL) result = sup_fail_memory(error, "the deflection of the tissue");
    }
    if (result == SUP_OK) sup_cholesky_solve(cholesky, 1, w->mass, x, workspace);
    sup_cholesky_destroy(cholesky);
    sup_csr_free(&matrix);
    return result;
}

sup_result sup_tissue_deflection(const sup_context *context, const sup_tissue *tissue, const unsigned char *fixed,
                                 double *deflection, sup_error *error)
{
    sup_context c = sup_context_resolve(context);
    deflection_system w = {.tissue = tissue, .fixed = fixed, .scratch = sup_arena_create(&c.allocator)};
    size_t vertices = (size_t)sup_tissue_vertex_count(tissue);
    w.number = sup_arena_alloc(&w.scratch, vertices, sizeof *w.number);
    w.mass = sup_arena_alloc(&w.scratch, vertices, sizeof *w.mass);
    w.triplets = sup_arena_alloc(&w.scratch, 10 * (size_t)tet_count(tissue) + vertices, sizeof *w.triplets);
    double *x = sup_arena_alloc(&w.scratch, vertices, sizeof *x);
    sup_result result = SUP_OK;
    if (w.number == NULL || w.mass == NULL || w.triplets == NULL || x == NULL) {
        result = sup_fail_memory(error, "the deflection of the tissue");
    } else {
        number_vertices(&w);
        add_tets(&w, size_of(tissue, &w.side));
        if (w.unknowns > 0) result = solve(&c, &w, x, error);
    }
    for (int32_t v = 0; result == SUP_OK && v < tissue->skin_count; v++) {
        double u = w.number[v] >= 0 ? x[w.number[v]] / w.volume * w.side / 10.0 : 0.0;
        deflection[v] = u > 0.0 && isfinite(u) ? u : 0.0;
    }
    sup_arena_destroy(&w.scratch);
    return result;
}

/* template_smooth_folds.c - smooths skin folds that no layer can lie below: navel, nipples, sliver triangles.
 *
 * The prism below a triangle that faces away from the skin around it is inverted for any inner layer. The few
 * vertices of such triangles are smoothed; their number and largest displacement are reported. */
#include "anatomy/bone_surface.h"
#include "anatomy/template.h"
#include "geometry/normals.h"

#include <math.h>

enum { PASSES = 60, NORMAL_PASSES = 4 };
static const double min_facing = 0.35; /* minimum cosine of a triangle's normal with the smooth normal */
static const double min_height = 0.04; /* minimum height of a triangle, as a fraction of its longest edge */

typedef struct fold_state {
    sup_anatomy *a;
    int32_t *first, *neighbours;
    float *floats;
    double *normals, *scratch;
    unsigned char *moving;
} fold_state;

static void smooth_normals(fold_state *s)
{
    const sup_anatomy *a = s->a;
    for (size_t i = 0; i < 3 * (size_t)a->vertex_count; i++)
        s->floats[i] = (float)a->skin[i];
    sup_vertex_normals(a->vertex_count, s->floats, a->triangle_count, a->triangles, NULL, s->normals);
    for (int pass = 0; pass < NORMAL_PASSES; pass++) {
        memcpy(s->scratch, s->normals, 3 * (size_t)a->vertex_count * sizeof *s->scratch);
        for (int32_t v = 0; v < a->vertex_count; v++) {
            sup_vec3d own = sup_v3_at(s->scratch, v), sum = own;
            for (int32_t i = s->first[v]; i < s->first[v + 1]; i++)
                sum = sup_v3_add(sum, sup_v3_at(s->scratch, s->neighbours[i]));
            sup_v3_put(s->normals, v, sup_v3_unit_or(sum, own));
        }
    }
}

static bool is_folded(const fold_state *s, const int32_t *c)
{
    const double *skin = s->a->skin;
    sup_vec3d p[3] = {sup_v3_at(skin, c[0]), sup_v3_at(skin, c[1]), sup_v3_at(skin, c[2])};
    sup_vec3d cross = sup_v3_cross(sup_v3_sub(p[1], p[0]), sup_v3_sub(p[2], p[0]));
    sup_vec3d around =
        sup_v3_add(sup_v3_add(sup_v3_at(s->normals, c[0]), sup_v3_at(s->normals, c[1])), sup_v3_at(s->normals, c[2]));
    double area = sup_v3_length(cross), longest = 0.0;
    for (int k = 0; k < 3; k++)
        longest = fmax(longest, sup_v3_distance(p[k], p[(k + 1) % 3]));
    return sup_v3_dot(cross, around) < min_facing * area * sup_v3_length(around) ||
           area < min_height * longest * longest;
}

static int32_t mark_folds(fold_state *s)
{
    const sup_anatomy *a = s->a;
    int32_t count = 0;
    memset(s->moving, 0, (size_t)a->vertex_count);
    smooth_normals(s);
    for (int32_t t = 0; t < a->triangle_count; t++) {
        const int32_t *c = a->triangles + 3 * (size_t)t;
        if ((a->excluded[c[0]] && a->excluded[c[1]] && a->excluded[c[2]]) || !is_folded(s, c)) continue;
        count++;
        for (int k = 0; k < 3; k++)
            s->moving[c[k]] = !a->excluded[c[k]];
    }
    return count;
}

static void smooth_folds(sup_template_build *b, fold_state *s)
{
    sup_anatomy *a = b->anatomy;
    for (int pass = 0; pass < PASSES && mark_folds(s) > 0; pass++) {
        memcpy(s->scratch, a->skin, 3 * (size_t)a->vertex_count * sizeof *s->scratch);
        for (int32_t v = 0; v < a->vertex_count; v++) {
            bool near = s->moving[v];
            sup_vec3d sum = {0.0, 0.0, 0.0};
            for (int32_t i = s->first[v]; i < s->first[v + 1]; i++) {
                near = near || s->moving[s->neighbours[i]];
                sum = sup_v3_add(sum, sup_v3_at(s->scratch, s->neighbours[i]));
            }
            if (!near || a->excluded[v]) continue;
            sup_vec3d mean = sup_v3_scale(sum, 1.0 / (s->first[v + 1] - s->first[v]));
            sup_v3_put(a->skin, v, sup_v3_lerp(sup_v3_at(s->scratch, v), mean, s->moving[v] ? 0.5 : 0.2));
        }
    }
    for (int32_t v = 0; v < a->vertex_count; v++) {
        double moved = sup_v3_distance(sup_v3_at(a->skin, v), sup_v3_at(b->def->skin.positions, v));
        b->report->smoothed_vertices += moved > 0.0;
        b->report->smoothed_max = fmax(b->report->smoothed_max, moved);
    }
}

sup_result sup_template_smooth_folds(sup_template_build *b, sup_error *error)
{
    sup_anatomy *a = b->anatomy;
    size_t n = (size_t)a->vertex_count;
    sup_adjacency adjacency;
    sup_result result = sup_adjacency_create(&b->context.allocator, a->vertex_count, a->triangle_count, a->triangles,
                                             &adjacency, error);
    if (result != SUP_OK) return result;
    fold_state s = {.a = a};
    s.first = sup_arena_alloc(&b->arena, n + 2, sizeof *s.first);
    s.neighbours = sup_arena_alloc(&b->arena, 2 * (size_t)adjacency.edge_count + 1, sizeof *s.neighbours);
    s.floats = sup_arena_alloc(&b->arena, 3 * n + 1, sizeof *s.floats);
    s.normals = sup_arena_alloc(&b->arena, 3 * n + 1, sizeof *s.normals);
    s.scratch = sup_arena_alloc(&b->arena, 3 * n + 1, sizeof *s.scratch);
    s.moving = sup_arena_alloc(&b->arena, n + 1, 1);
    if (s.first == NULL || s.neighbours == NULL || s.floats == NULL || s.normals == NULL || s.scratch == NULL ||
        s.moving == NULL) {
        result = sup_fail_memory(error, "a template");
    } else {
        sup_adjacency_neighbours(&adjacency, s.first, s.neighbours);
        smooth_folds(b, &s);
        for (size_t i = 0; i < 3 * n; i++)
            b->skin_floats[i] = (float)a->skin[i];
        b->skin = (sup_shape){a->vertex_count, a->triangle_count, a->skin, a->triangles};
    }
    sup_adjacency_destroy(&adjacency);
    return result;
}

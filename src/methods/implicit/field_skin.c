/* field_skin.c - properties of the skin that fields need: outward normals and visibility. */
#include "geometry/normals.h"
#include "methods/implicit/field_build.h"

enum { RAYS = 7, VERTEX_GRAIN = 256 };

bool sup_fields_touches(const sup_fields_state *state, int32_t triangle, int32_t region)
{
    const int32_t *corner = state->def->skin.triangles + 3 * (size_t)triangle,
                  *of = state->bound->regions.vertex_region;
    return of[corner[0]] == region || of[corner[1]] == region || of[corner[2]] == region;
}

/* Marks the vertices of triangles between regions. */
static void mark_borders(sup_fields_state *s)
{
    const int32_t *of = s->bound->regions.vertex_region;
    for (int32_t t = 0; t < s->def->skin.triangle_count; t++) {
        const int32_t *corner = s->def->skin.triangles + 3 * (size_t)t;
        if (of[corner[0]] == of[corner[1]] && of[corner[1]] == of[corner[2]]) continue;
        for (int c = 0; c < 3; c++)
            s->border[corner[c]] = 1;
    }
}

/* Lists the triangles with a corner in each region. */
static sup_result list_triangles(sup_fields_state *s, sup_error *error)
{
    const sup_region_skin *skin = &s->def->skin;
    const sup_skin_regions *regions = &s->bound->regions;
    size_t count = (size_t)regions->region_count;
    s->triangle_first = sup_arena_alloc(&s->scratch, count + 2, sizeof(int32_t));
    if (s->triangle_first == NULL) return sup_fail_memory(error, "the skin regions");
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t t = 0; t < skin->triangle_count; t++) {
            int32_t of[3];
            for (size_t c = 0; c < 3; c++)
                of[c] = regions->vertex_region[skin->triangles[3 * (size_t)t + c]];
            for (int c = 0; c < 3; c++) {
                if ((c > 0 && of[c] == of[0]) || (c > 1 && of[c] == of[1])) continue;
                if (pass == 0)
                    s->triangle_first[of[c] + 2]++;
                else
                    s->triangle_list[s->triangle_first[of[c] + 1]++] = t;
            }
        }
        if (pass == 1) break;
        for (size_t p = 1; p <= count; p++)
            s->triangle_first[p + 1] += s->triangle_first[p];
        s->triangle_list = sup_arena_alloc(&s->scratch, (size_t)s->triangle_first[count + 1], sizeof(int32_t));
        if (s->triangle_list == NULL) return sup_fail_memory(error, "the skin regions");
    }
    return SUP_OK;
}

/* Flips the normals of components that are inside out: on average, skin faces away from its bone. */
static sup_result orient_normals(sup_fields_state *s, sup_error *error)
{
    const sup_region_skin *skin = &s->def->skin;
    size_t vertices = (size_t)skin->vertex_count;
    int32_t *component = sup_arena_alloc(&s->scratch, vertices, sizeof *component);
    double *sum = sup_arena_alloc(&s->scratch, vertices, sizeof *sum);
    if (component == NULL || sum == NULL) return sup_fail_memory(error, "the skin's normals");
    sup_mesh_components(skin->vertex_count, skin->triangle_count, skin->triangles, component);
    for (int32_t v = 0; v < skin->vertex_count; v++) {
        if (component[v] < 0) continue;
        sup_vec3d p = sup_v3_load(skin->positions + 3 * (size_t)v), q = p;
        const double *n = s->normals + 3 * (size_t)v;
        double distance = sup_skin_regions_distance(&s->bound->regions, s->bound->regions.vertex_region[v], p, &q);
        if (distance > 0.0) sum[component[v]] += sup_v3_dot(sup_v3(n[0], n[1], n[2]), sup_v3_sub(p, q)) / distance;
    }
    for (size_t v = 0; v < vertices; v++)
        if (component[v] >= 0 && sum[component[v]] < 0.0) {
            s->flipped[v] = 1;
            for (size_t c = 0; c < 3; c++)
                s->normals[3 * v + c] = -s->normals[3 * v + c];
        }
    return SUP_OK;
}

typedef struct own_region {
    const sup_fields_state *state;
    int32_t vertex, region;
} own_region;

static bool is_own(void *user, const sup_bvh_hit *hit)
{
    const own_region *own = user;
    const int32_t *corner = own->state->def->skin.triangles + 3 * (size_t)hit->triangle;
    if (corner[0] == own->vertex || corner[1] == own->vertex || corner[2] == own->vertex) return false;
    return sup_fields_touches(own->state, hit->triangle, own->region);
}

/* A vertex is hidden if rays in all directions hit skin of the same region. */
static bool is_hidden(const sup_fields_state *s, int32_t v)
{
    own_region own = {s, v, s->bound->regions.vertex_region[v]};
    const double *at = s->normals + 3 * (size_t)v;
    sup_vec3d n = sup_v3(at[0], at[1], at[2]);
    if (!(sup_v3_dot(n, n) > 0.5)) return true;
    sup_vec3d e = sup_v3_unit_or(sup_v3_cross(n, fabs(n.x) < 0.6 ? sup_v3(1, 0, 0) : sup_v3(0, 1, 0)), n);
    sup_vec3d f = sup_v3_cross(n, e), p = sup_v3_load(s->def->skin.positions + 3 * (size_t)v);
    for (int32_t i = 0; i < RAYS; i++) {
        double angle = 6.283185307179586 * i / (RAYS - 1), lean = i == RAYS - 1 ? 0.0 : 1.0;
        sup_vec3d d = sup_v3_madd(sup_v3_madd(n, lean * cos(angle), e), lean * sin(angle), f);
        sup_bvh_ray ray = {p, d, 1e-4 * (double)s->input->rig->size, INFINITY, is_own, &own};
        if (!sup_bvh_ray_any(&s->bvh, &ray)) return false;
    }
    return true;
}

static void find_hidden(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_fields_state *s = work;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++)
        s->hidden[v] = is_hidden(s, v);
}

sup_result sup_fields_skin(sup_fields_state *s, sup_error *error)
{
    const sup_region_skin *skin = &s->def->skin;
    s->normals = sup_arena_alloc(&s->scratch, 3 * (size_t)skin->vertex_count, sizeof(double));
    s->hidden = sup_arena_alloc(&s->scratch, (size_t)skin->vertex_count, 1);
    s->flipped = sup_arena_alloc(&s->scratch, (size_t)skin->vertex_count, 1);
    s->border = sup_arena_alloc(&s->scratch, (size_t)skin->vertex_count, 1);
    if (s->normals == NULL || s->hidden == NULL || s->flipped == NULL || s->border == NULL)
        return sup_fail_memory(error, "the skin's normals");
    sup_vertex_normals(skin->vertex_count, skin->positions, skin->triangle_count, skin->triangles, NULL, s->normals);
    s->surface = (sup_sampled_surface){skin->vertex_count, skin->positions, skin->triangles, s->normals, NULL, 0};
    sup_result result = orient_normals(s, error);
    if (result == SUP_OK)
        result =
            sup_bvh_create(s->input->context, skin->positions, skin->triangle_count, skin->triangles, &s->bvh, error);
    if (result != SUP_OK) return result;
    s->has_bvh = true;
    sup_parallel(s->input->context, skin->vertex_count, VERTEX_GRAIN, find_hidden, s);
    mark_borders(s);
    return list_triangles(s, error);
}

/* improve.c - smoothing that never makes the worst tetrahedron of a vertex worse, unless it stays good. */
#include "volume/improve.h"

enum { NEIGHBOURS_MAX = 96, STEPS = 4 };

static const double good_surface = 0.30; /* sine of 17 degrees: minimum quality kept when fitting the skin */
static const double good_inside = 0.55;  /* sine of 33 degrees: enough to smooth for uniformity alone */
static const double near_skin = 0.75;    /* leaves: a vertex farther away spans a hole and is not attracted */

typedef struct improver {
    const sup_solid *solid;
    sup_isosurface_stuffing *mesh;
    int32_t *first, *around; /* tetrahedra of a vertex: [first, next) of around, 4 tet + corner */
    uint8_t *surface_edge;   /* [tet_count] bits of the edges that lie in the surface */
} improver;

double sup_tet_quality(const sup_vec3d p[4])
{
    /* Normals of the faces opposite to 0, 1, 2, 3, with twice their areas as lengths, all inward or all outward. */
    sup_vec3d e1 = sup_v3_sub(p[1], p[0]), e2 = sup_v3_sub(p[2], p[0]), e3 = sup_v3_sub(p[3], p[0]);
    sup_vec3d n1 = sup_v3_cross(e2, e3), n2 = sup_v3_cross(e3, e1), n3 = sup_v3_cross(e1, e2);
    sup_vec3d n0 = sup_v3_scale(sup_v3_add(sup_v3_add(n1, n2), n3), -1.0);
    double volume = sup_v3_dot(e1, n1); /* six times the volume */
    const sup_vec3d n[4] = {n0, n1, n2, n3};
    double area[4], smallest = INFINITY;
    for (int i = 0; i < 4; i++)
        area[i] = sup_v3_dot(n[i], n[i]);
    /* sine at edge ij = 3 V l / (2 A A') with the faces opposite to the other two corners */
    for (int i = 0; i < 4; i++)
        for (int j = i + 1; j < 4; j++) {
            int k = i == 0 ? (j == 1 ? 2 : 1) : 0, l = 6 - i - j - k;
            sup_vec3d edge = sup_v3_sub(p[j], p[i]);
            double square = sup_v3_dot(edge, edge) / (area[k] * area[l]);
            if (!(square > 0.0)) return 0.0;
            smallest = fmin(smallest, square);
        }
    return volume * sqrt(smallest);
}

static double worst_around(const improver *m, int32_t v, sup_vec3d at)
{
    double worst = INFINITY;
    for (int32_t i = m->first[v]; i < m->first[v + 1]; i++) {
        const int32_t *tet = m->mesh->tets + 4 * (size_t)(m->around[i] / 4);
        sup_vec3d p[4];
        for (int k = 0; k < 4; k++)
            p[k] = tet[k] == v ? at : m->mesh->positions[tet[k]];
        worst = fmin(worst, sup_tet_quality(p));
    }
    return worst;
}

/* Mean of the other corners of the tetrahedra of v; for a surface vertex only of those on the surface. */
static bool mean_neighbour(const improver *m, int32_t v, sup_vec3d *mean)
{
    static const int8_t edge_of[4][4] = {{-1, 0, 1, 2}, {0, -1, 3, 4}, {1, 3, -1, 5}, {2, 4, 5, -1}};
    bool surface = m->mesh->on_surface[v];
    sup_vec3d sum = sup_v3(0.0, 0.0, 0.0);
    double total = 0.0;
    for (int32_t i = m->first[v]; i < m->first[v + 1]; i++) {
        int32_t t = m->around[i] / 4, corner = m->around[i] % 4;
        for (int k = 0; k < 4; k++) {
            if (k == corner || (surface && !(m->surface_edge[t] >> edge_of[corner][k] & 1))) continue;
            sum = sup_v3_add(sum, m->mesh->positions[m->mesh->tets[4 * (size_t)t + (size_t)k]]);
            total += 1.0;
        }
    }
    *mean = sup_v3_scale(sum, 1.0 / (total > 0.0 ? total : 1.0));
    return total > 0.0;
}

/* Tries the full step to a position, then half of it and so on. */
static bool try_move(improver *m, int32_t v, sup_vec3d to, double good, double *worst)
{
    sup_vec3d from = m->mesh->positions[v];
    double fraction = 1.0;
    for (int step = 0; step < STEPS; step++, fraction *= 0.5) {
        sup_vec3d at = sup_v3_lerp(from, to, fraction);
        double quality = worst_around(m, v, at);
        if (!(quality > *worst || quality >= good)) continue;
        m->mesh->positions[v] = at;
        *worst = quality;
        return true;
    }
    return false;
}

static void improve_vertex(improver *m, int32_t v)
{
    sup_vec3d mean, at = m->mesh->positions[v];
    if (!mean_neighbour(m, v, &mean)) return;
    double worst = worst_around(m, v, at), size = (double)m->mesh->size[v];
    if (!m->mesh->on_surface[v]) {
        try_move(m, v, mean, good_inside, &worst);
        return;
    }
    /* To the skin as far as quality allows, and along it only for quality: otherwise fingertips would shrink. */
    sup_bvh_nearest skin = sup_bvh_closest(&m->solid->bvh, at, near_skin * size);
    if (skin.triangle >= 0) {
        try_move(m, v, skin.point, good_surface, &worst);
        skin = sup_bvh_closest(&m->solid->bvh, sup_v3_lerp(m->mesh->positions[v], mean, 0.5), near_skin * size);
    }
    try_move(m, v, skin.triangle >= 0 ? skin.point : mean, 1.0, &worst);
}

/* Marks the edges of faces that belong to one tetrahedron only; faces are matched through the tetrahedra around their
 * lowest corner. */
static void mark_surface(improver *m)
{
    static const int8_t face[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    static const uint8_t face_edges[4] = {1 << 3 | 1 << 4 | 1 << 5, 1 << 1 | 1 << 2 | 1 << 5, 1 << 0 | 1 << 2 | 1 << 4,
                                          1 << 0 | 1 << 1 | 1 << 3};
    for (int32_t t = 0; t < m->mesh->tet_count; t++)
        for (int f = 0; f < 4; f++) {
            const int32_t *tet = m->mesh->tets + 4 * (size_t)t;
            int32_t a = tet[face[f][0]], b = tet[face[f][1]], c = tet[face[f][2]];
            bool shared = false;
            for (int32_t i = m->first[a]; i < m->first[a + 1] && !shared; i++) {
                const int32_t *other = m->mesh->tets + 4 * (size_t)(m->around[i] / 4);
                int found = 0;
                for (int k = 0; k < 4; k++)
                    found += other[k] == b || other[k] == c;
                shared = other != tet && found == 2;
            }
            if (!shared) m->surface_edge[t] |= face_edges[f];
        }
}

sup_result sup_improve(const sup_context *context, const sup_solid *solid, int32_t passes,
                       sup_isosurface_stuffing *stuffing, sup_error *error)
{
    improver m = {.solid = solid, .mesh = stuffing};
    sup_arena scratch = sup_arena_create(&context->allocator);
    size_t corners = 4 * (size_t)stuffing->tet_count;
    m.first = sup_arena_alloc(&scratch, (size_t)stuffing->vertex_count + 2, sizeof *m.first);
    m.around = sup_arena_alloc(&scratch, corners, sizeof *m.around);
    m.surface_edge = sup_arena_alloc(&scratch, (size_t)stuffing->tet_count, sizeof *m.surface_edge);
    bool ok = m.first != NULL && m.around != NULL && m.surface_edge != NULL;
    if (ok) {
        for (size_t i = 0; i < corners; i++)
            m.first[stuffing->tets[i] + 2]++;
        for (int32_t v = 0; v < stuffing->vertex_count; v++)
            m.first[v + 2] += m.first[v + 1];
        for (size_t i = 0; i < corners; i++)
            m.around[m.first[stuffing->tets[i] + 1]++] = (int32_t)i;
        mark_surface(&m);
        for (int32_t pass = 0; pass < passes; pass++)
            for (int32_t v = 0; v < stuffing->vertex_count; v++)
                improve_vertex(&m, v);
    }
    sup_arena_destroy(&scratch);
    return ok ? SUP_OK : sup_fail_memory(error, "the improvement of tetrahedra");
}

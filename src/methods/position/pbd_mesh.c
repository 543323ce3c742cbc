/* pbd_mesh.c - constraints of a tetrahedral mesh, one per tet and one per edge, and the volume of the particles.
 *
 * Based on: [aburumman2016thesis] sections 4.3.1.1 and 4.3.1.2. */
#include "methods/position/pbd_build.h"

#include <stdlib.h>

static sup_result check_mesh(const sup_pbd_def *def, sup_error *error)
{
    if (def->particle_count < 4 || def->tet_count < 1)
        return sup_fail(error, SUP_ERROR_DATA, "position.empty", "",
                        "The body has no interior to simulate: %d particles in %d tetrahedra.", def->particle_count,
                        def->tet_count);
    if (def->tet_count > INT32_MAX / 64 || def->particle_count > INT32_MAX / 64)
        return sup_fail(error, SUP_ERROR_DATA, "position.size", "",
                        "%d tetrahedra are more than this method supports. Reduce the parameter tets.", def->tet_count);
    for (int64_t i = 0; i < 3 * (int64_t)def->particle_count; i++)
        if (!(fabs(def->rest[i]) < 1e6))
            return sup_fail(error, SUP_ERROR_DATA, "position.range", "",
                            "The position of particle %d is out of range: coordinates are in sizes of the character.",
                            (int)(i / 3));
    for (int64_t i = 0; i < 4 * (int64_t)def->tet_count; i++)
        if (def->tets[i] < 0 || def->tets[i] >= def->particle_count)
            return sup_fail(error, SUP_ERROR_DATA, "position.index", "",
                            "Tetrahedron %d has particle %d, but there are only %d.", (int)(i / 4), def->tets[i],
                            def->particle_count);
    return SUP_OK;
}

/* (p2 - p1) x (p3 - p1) . (p4 - p1): six times the volume of eq. 4.4. */
static double volume6(const sup_pbd_build *b, const int32_t *tet)
{
    sup_vec3d p = sup_pbd_rest(b, tet[0]);
    return sup_v3_dot(sup_v3_cross(sup_v3_sub(sup_pbd_rest(b, tet[1]), p), sup_v3_sub(sup_pbd_rest(b, tet[2]), p)),
                      sup_v3_sub(sup_pbd_rest(b, tet[3]), p));
}

static bool all_fixed(const sup_pbd_build *b, const int32_t *particle, int32_t count)
{
    for (int32_t k = 0; k < count; k++)
        if (!b->fixed[particle[k]]) return false;
    return true;
}

static bool build_tets(sup_pbd_build *b, double *all_volumes)
{
    const sup_pbd_def *def = b->def;
    sup_pbd_set *set = &b->tets;
    size_t count = (size_t)def->tet_count, particles = (size_t)def->particle_count;
    set->arity = 4;
    set->particle = sup_arena_alloc(&b->arena, 4 * count, sizeof(int32_t));
    set->rest = sup_arena_alloc(&b->arena, count, sizeof(double));
    set->cluster = sup_arena_alloc(&b->arena, count, sizeof(int32_t));
    b->particle_volume = sup_arena_alloc(&b->arena, particles, sizeof(double));
    b->fixed = sup_arena_alloc(&b->arena, particles, sizeof(bool));
    if (set->particle == NULL || set->rest == NULL || set->cluster == NULL || b->particle_volume == NULL ||
        b->fixed == NULL)
        return false;
    for (int32_t t = 0; t < def->tet_count; t++) {
        all_volumes[t] = fabs(volume6(b, def->tets + 4 * (int64_t)t)) / 6.0;
        for (int32_t k = 0; k < 4; k++)
            b->particle_volume[def->tets[4 * (int64_t)t + k]] += all_volumes[t] / 4.0;
    }
    int32_t with_volume = 0;
    for (int32_t v = 0; v < def->particle_count; v++) {
        b->mean_volume += b->particle_volume[v];
        with_volume += b->particle_volume[v] > 0.0;
        b->fixed[v] = !(b->particle_volume[v] > 0.0) || (def->kinematic != NULL && def->kinematic[v]);
    }
    b->mean_volume /= with_volume > 0 ? with_volume : 1;
    for (int32_t t = 0; t < def->tet_count; t++) {
        int32_t tet[4];
        memcpy(tet, def->tets + 4 * (int64_t)t, sizeof tet);
        if (all_fixed(b, tet, 4)) continue;
        double v6 = volume6(b, tet);
        if (v6 < 0.0) { /* all positive: the constraint would invert a negative tet */
            int32_t swap = tet[2];
            tet[2] = tet[3];
            tet[3] = swap;
        }
        memcpy(set->particle + 4 * (int64_t)set->count, tet, sizeof tet);
        set->rest[set->count++] = fabs(v6);
    }
    return true;
}

typedef struct edge_entry {
    int32_t low, high;
    double volume;
} edge_entry;

static int compare_edges(const void *a, const void *b)
{
    const edge_entry *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    if (x->high != y->high) return x->high < y->high ? -1 : 1;
    return (x->volume > y->volume) - (x->volume < y->volume); /* fixed order of summation */
}

static bool build_edges(sup_pbd_build *b, const double *all_volumes)
{
    static const int32_t pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    size_t maximum = 6 * (size_t)b->def->tet_count;
    sup_pbd_set *set = &b->edges;
    edge_entry *entries = sup_arena_alloc(&b->arena, maximum, sizeof(edge_entry));
    set->arity = 2;
    set->particle = sup_arena_alloc(&b->arena, 2 * maximum, sizeof(int32_t));
    set->rest = sup_arena_alloc(&b->arena, maximum, sizeof(double));
    set->around = sup_arena_alloc(&b->arena, maximum, sizeof(double));
    set->cluster = sup_arena_alloc(&b->arena, maximum, sizeof(int32_t));
    if (entries == NULL || set->particle == NULL || set->rest == NULL || set->around == NULL || set->cluster == NULL)
        return false;
    for (size_t i = 0; i < maximum; i++) {
        const int32_t *tet = b->def->tets + 4 * (i / 6), *pair = pairs[i % 6];
        int32_t u = tet[pair[0]], v = tet[pair[1]];
        entries[i] = (edge_entry){u < v ? u : v, u < v ? v : u, all_volumes[i / 6]};
    }
    qsort(entries, maximum, sizeof *entries, compare_edges);
    for (size_t i = 0; i < maximum;) {
        double around = 0.0;
        size_t first = i;
        for (; i < maximum && entries[i].low == entries[first].low && entries[i].high == entries[first].high; i++)
            around += entries[i].volume;
        int32_t ends[2] = {entries[first].low, entries[first].high};
        if (ends[0] == ends[1] || all_fixed(b, ends, 2)) continue;
        memcpy(set->particle + 2 * (int64_t)set->count, ends, sizeof ends);
        set->rest[set->count] = sup_v3_distance(sup_pbd_rest(b, ends[0]), sup_pbd_rest(b, ends[1]));
        set->around[set->count++] = around;
    }
    return true;
}

sup_result sup_pbd_build_mesh(sup_pbd_build *b, sup_error *error)
{
    sup_result result = check_mesh(b->def, error);
    if (result != SUP_OK) return result;
    double *volumes = sup_arena_alloc(&b->arena, (size_t)b->def->tet_count, sizeof(double));
    if (volumes == NULL || !build_tets(b, volumes) || !build_edges(b, volumes))
        return sup_fail_memory(error, "the tetrahedra");
    if (!(b->mean_volume > 0.0))
        return sup_fail(error, SUP_ERROR_DATA, "position.flat", "",
                        "All tetrahedra of the body are flat: there is no volume to preserve.");
    return SUP_OK;
}

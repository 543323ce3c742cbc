/* pbd_pack.c - slots of the particles, batches of 16 constraints that share no particle, and the arrays of the
 * model. */
#include "methods/position/pbd_build.h"

/* Preferred number of batches between two uses of a particle: the processor can then overlap several batches. */
enum { BATCH_DISTANCE = 3, LANES = SUP_PBD_LANES };

typedef struct packer {
    sup_pbd_build *b;
    int32_t cluster_count, slot_count;
    sup_pbd_cluster *clusters; /* [cluster_count] */
    int32_t *slot;             /* [particle_count] */
    int32_t *filler;           /* [cluster_count] slot that pads unused lanes of the cluster */
    int32_t *pending_count;    /* [particle_count] constraints of the cluster that are not packed yet */
    int32_t *last_batch;       /* [particle_count] last batch that used it */
} packer;

static int32_t round_up(int32_t count)
{
    return (count + LANES - 1) / LANES * LANES;
}

static void assign_slots(packer *p)
{
    const sup_pbd_build *b = p->b;
    int32_t next = 0;
    for (int32_t cluster = 0; cluster < b->level_first[1]; cluster++) {
        p->clusters[cluster].particle_first = next;
        for (int32_t i = b->cluster_first[cluster]; i < b->cluster_first[cluster + 1]; i++)
            p->slot[b->particles[i]] = next++;
        p->filler[cluster] = next;
        next = round_up(next + 1);
        p->clusters[cluster].particle_end = next;
    }
    for (int32_t cluster = b->level_first[1]; cluster < p->cluster_count; cluster++)
        p->filler[cluster] = next++;
    p->slot_count = round_up(next);
}

/* --- Batches --- */

/* Sorts the constraints of a set by cluster. */
static bool sort_by_cluster(const packer *p, const sup_pbd_set *set, sup_arena *arena, int32_t **first,
                            int32_t **sorted)
{
    *first = sup_arena_alloc(arena, (size_t)p->cluster_count + 2, sizeof(int32_t));
    *sorted = sup_arena_alloc(arena, (size_t)set->count, sizeof(int32_t));
    if (*first == NULL || *sorted == NULL) return false;
    int32_t *next = *first + 1;
    for (int32_t i = 0; i < set->count; i++)
        next[set->cluster[i] + 1]++;
    for (int32_t k = 0; k < p->cluster_count; k++)
        next[k + 1] += next[k];
    for (int32_t i = 0; i < set->count; i++)
        (*sorted)[next[set->cluster[i]]++] = i;
    return true;
}

static int32_t priority(const packer *p, const sup_pbd_set *set, int32_t constraint)
{
    int32_t sum = 0;
    for (int32_t k = 0; k < set->arity; k++)
        sum += p->pending_count[set->particle[(int64_t)constraint * set->arity + k]];
    return sum < 511 ? sum : 511;
}

/* Sorts pending constraints, those of particles with many constraints first: they determine the number of batches. */
static void sort_by_priority(const packer *p, const sup_pbd_set *set, const int32_t *pending, int32_t count,
                             int32_t *sorted)
{
    int32_t next[513] = {0};
    for (int32_t i = 0; i < count; i++)
        next[511 - priority(p, set, pending[i]) + 1]++;
    for (int32_t k = 0; k < 512; k++)
        next[k + 1] += next[k];
    for (int32_t i = 0; i < count; i++)
        sorted[next[511 - priority(p, set, pending[i])]++] = pending[i];
}

/* Adds constraints to the batch and moves the remaining ones to the front; returns their number. */
static int32_t fill_batch(packer *p, const sup_pbd_set *set, int32_t *pending, int32_t count, int32_t batch,
                          int32_t distance, int32_t *lanes, int32_t *entry)
{
    int32_t remaining = 0;
    for (int32_t i = 0; i < count; i++) {
        const int32_t *particle = set->particle + (int64_t)pending[i] * set->arity;
        bool fits = *lanes < LANES;
        for (int32_t k = 0; fits && k < set->arity; k++)
            fits = batch - p->last_batch[particle[k]] > distance;
        if (!fits) {
            pending[remaining++] = pending[i];
            continue;
        }
        entry[pending[i]] = batch * LANES + (*lanes)++;
        for (int32_t k = 0; k < set->arity; k++) {
            p->last_batch[particle[k]] = batch;
            p->pending_count[particle[k]]--;
        }
    }
    return remaining;
}

/* Packs the constraints of one cluster from `batch` on; returns the next free batch. */
static int32_t pack_cluster(packer *p, const sup_pbd_set *set, int32_t *pending, int32_t *sorted, int32_t count,
                            int32_t batch, int32_t *entry)
{
    for (int32_t i = 0; i < count; i++)
        for (int32_t k = 0; k < set->arity; k++) {
            int32_t v = set->particle[(int64_t)pending[i] * set->arity + k];
            p->pending_count[v]++;
            p->last_batch[v] = batch - BATCH_DISTANCE - 1;
        }
    for (; count > 0; batch++) {
        int32_t lanes = 0;
        sort_by_priority(p, set, pending, count, sorted);
        count = fill_batch(p, set, sorted, count, batch, BATCH_DISTANCE, &lanes, entry);
        count = fill_batch(p, set, sorted, count, batch, 0, &lanes, entry);
        memcpy(pending, sorted, (size_t)count * sizeof *pending);
    }
    return batch;
}

/* Assigns an entry (batch and lane) to each constraint, and batches to clusters. Returns the number of batches, or -1
 * when out of memory. */
static int32_t pack_set(packer *p, const sup_pbd_set *set, int32_t *entry)
{
    sup_arena *arena = &p->b->arena;
    int32_t *first, *pending, *sorted = sup_arena_alloc(arena, (size_t)set->count, sizeof(int32_t)), batch = 0;
    if (sorted == NULL || !sort_by_cluster(p, set, arena, &first, &pending)) return -1;
    for (int32_t cluster = 0; cluster < p->cluster_count; cluster++) {
        sup_pbd_cluster *to = &p->clusters[cluster];
        int32_t begin = batch;
        batch =
            pack_cluster(p, set, pending + first[cluster], sorted, first[cluster + 1] - first[cluster], batch, entry);
        *(set->arity == 4 ? &to->volume_first : &to->stretch_first) = begin;
        *(set->arity == 4 ? &to->volume_end : &to->stretch_end) = batch;
    }
    return batch;
}

/* --- Arrays --- */

static void *add(const sup_pbd_build *b, const char *name, sup_array_type type, int64_t count)
{
    char full[64];
    sup_format(full, sizeof full, "%s.%s", b->prefix, name);
    return sup_model_add(b->builder, full, type, count);
}

/* Slots of the corners; unused lanes get the padding slot of their cluster. */
static void write_corners(const packer *p, const sup_pbd_set *set, const int32_t *entry, int32_t *corner)
{
    int32_t arity = set->arity;
    for (int32_t cluster = 0; cluster < p->cluster_count; cluster++) {
        const sup_pbd_cluster *q = &p->clusters[cluster];
        int64_t from = arity == 4 ? q->volume_first : q->stretch_first,
                to = arity == 4 ? q->volume_end : q->stretch_end;
        for (int64_t i = from * LANES * arity; i < to * LANES * arity; i++)
            corner[i] = p->filler[cluster];
    }
    for (int32_t i = 0; i < set->count; i++)
        for (int32_t k = 0; k < arity; k++)
            corner[((int64_t)(entry[i] / LANES) * arity + k) * LANES + entry[i] % LANES] =
                p->slot[set->particle[(int64_t)i * arity + k]];
}

static void write_volumes(const sup_pbd_build *b, const int32_t *entry, float *rest, float *area)
{
    for (int32_t i = 0; i < b->tets.count; i++) {
        sup_vec3d p[4], g[4];
        for (int32_t k = 0; k < 4; k++)
            p[k] = sup_pbd_rest(b, b->tets.particle[4 * (int64_t)i + k]);
        for (int32_t k = 1; k < 4; k++) /* eq. 4.5 to 4.7 with corrected corners, times six */
            g[k] = sup_v3_cross(sup_v3_sub(p[k % 3 + 1], p[0]), sup_v3_sub(p[(k + 1) % 3 + 1], p[0]));
        g[0] = sup_v3_scale(sup_v3_add(sup_v3_add(g[1], g[2]), g[3]), -1.0); /* eq. 4.8 */
        rest[entry[i]] = (float)b->tets.rest[i];
        for (int32_t k = 0; k < 4; k++)
            area[((int64_t)(entry[i] / LANES) * 4 + k) * LANES + entry[i] % LANES] = (float)sup_v3_dot(g[k], g[k]);
    }
}

static void write_edges(const sup_pbd_build *b, const int32_t *entry, float *rest, float *compliance)
{
    for (int32_t i = 0; i < b->edges.count; i++) {
        double length = b->edges.rest[i], around = b->edges.around[i];
        rest[entry[i]] = (float)length;
        compliance[entry[i]] = (float)(b->mean_volume * length * length / fmax(around, 1e-6 * b->mean_volume));
    }
}

static bool write_particles(const packer *p)
{
    sup_pbd_build *b = p->b;
    int32_t *slot = add(b, "slot", SUP_ARRAY_INT32, b->def->particle_count);
    float *particle_volume = add(b, "particle_volume", SUP_ARRAY_FLOAT, p->slot_count);
    float *inverse = add(b, "inverse_mass", SUP_ARRAY_FLOAT, p->slot_count);
    if (slot == NULL || particle_volume == NULL || inverse == NULL) return false;
    memcpy(slot, p->slot, (size_t)b->def->particle_count * sizeof *slot);
    b->bound = (sup_pbd_bound){p->slot_count, slot};
    for (int32_t v = 0; v < b->def->particle_count; v++) {
        /* Corners of slivers get at least a hundredth of the mean, or their corrections would be too large. */
        double mass = fmax(b->particle_volume[v], 0.01 * b->mean_volume);
        particle_volume[p->slot[v]] = (float)b->particle_volume[v];
        inverse[p->slot[v]] = b->fixed[v] ? 0.0f : (float)(b->mean_volume / mass);
    }
    return true;
}

static bool write_arrays(packer *p, const int32_t batches[2], int32_t *const entry[2])
{
    const sup_pbd_build *b = p->b;
    int64_t tets = (int64_t)batches[0] * LANES, edges = (int64_t)batches[1] * LANES;
    int32_t *head = add(b, "head", SUP_ARRAY_INT32, 9);
    float *numbers = add(b, "numbers", SUP_ARRAY_FLOAT, 1);
    sup_pbd_cluster *clusters = add(b, "clusters", SUP_ARRAY_INT32, 6 * (int64_t)p->cluster_count);
    int32_t *volume_corner = add(b, "volume_corner", SUP_ARRAY_INT32, 4 * tets);
    float *volume_rest = add(b, "volume_rest", SUP_ARRAY_FLOAT, tets);
    float *volume_area = add(b, "volume_area", SUP_ARRAY_FLOAT, 4 * tets);
    int32_t *stretch_corner = add(b, "stretch_corner", SUP_ARRAY_INT32, 2 * edges);
    float *stretch_rest = add(b, "stretch_rest", SUP_ARRAY_FLOAT, edges);
    float *compliance = add(b, "stretch_compliance", SUP_ARRAY_FLOAT, edges);
    if (head == NULL || numbers == NULL || clusters == NULL || volume_corner == NULL || volume_rest == NULL ||
        volume_area == NULL || stretch_corner == NULL || stretch_rest == NULL || compliance == NULL)
        return false;
    const int32_t counts[9] = {b->def->particle_count, p->slot_count,     b->tets.count,
                               b->edges.count,         batches[0],        batches[1],
                               b->level_first[1],      b->level_first[2], b->level_first[3]};
    memcpy(head, counts, sizeof counts);
    numbers[0] = (float)b->mean_volume;
    memcpy(clusters, p->clusters, (size_t)p->cluster_count * sizeof *clusters);
    write_corners(p, &b->tets, entry[0], volume_corner);
    write_corners(p, &b->edges, entry[1], stretch_corner);
    write_volumes(b, entry[0], volume_rest, volume_area);
    write_edges(b, entry[1], stretch_rest, compliance);
    return write_particles(p);
}

sup_result sup_pbd_build_batches(sup_pbd_build *b, sup_error *error)
{
    size_t particles = (size_t)b->def->particle_count;
    packer p = {.b = b, .cluster_count = b->level_first[SUP_PBD_LEVELS]};
    p.clusters = sup_arena_alloc(&b->arena, (size_t)p.cluster_count, sizeof(sup_pbd_cluster));
    p.slot = sup_arena_alloc(&b->arena, particles, sizeof(int32_t));
    p.filler = sup_arena_alloc(&b->arena, (size_t)p.cluster_count, sizeof(int32_t));
    p.pending_count = sup_arena_alloc(&b->arena, particles, sizeof(int32_t));
    p.last_batch = sup_arena_alloc(&b->arena, particles, sizeof(int32_t));
    int32_t *const entry[2] = {sup_arena_alloc(&b->arena, (size_t)b->tets.count, sizeof(int32_t)),
                               sup_arena_alloc(&b->arena, (size_t)b->edges.count, sizeof(int32_t))};
    if (p.clusters == NULL || p.slot == NULL || p.filler == NULL || p.pending_count == NULL || p.last_batch == NULL ||
        entry[0] == NULL || entry[1] == NULL)
        return sup_fail_memory(error, "the constraints");
    assign_slots(&p);
    const int32_t batches[2] = {pack_set(&p, &b->tets, entry[0]), pack_set(&p, &b->edges, entry[1])};
    if (batches[0] < 0 || batches[1] < 0 || !write_arrays(&p, batches, entry))
        return sup_fail_memory(error, "the constraints");
    return SUP_OK;
}

sup_result sup_pbd_bind(const sup_context *context, const sup_pbd_def *def, sup_model_builder *builder,
                        const char *prefix, sup_pbd_bound *bound, sup_error *error)
{
    sup_pbd_build b = {.context = context,
                       .def = def,
                       .builder = builder,
                       .prefix = prefix,
                       .arena = sup_arena_create(&context->allocator)};
    sup_result result = sup_pbd_build_mesh(&b, error);
    if (result == SUP_OK) result = sup_pbd_build_clusters(&b, error);
    if (result == SUP_OK) result = sup_pbd_build_batches(&b, error);
    if (result == SUP_OK && bound != NULL) *bound = b.bound;
    sup_arena_destroy(&b.arena);
    return result;
}

/* pbd_pack.c - rows of the particles, batches of 16 constraints that share no particle, and the arrays of the model. */
#include "methods/position/pbd_build.h"

/* Batches after which a particle is wanted again at the soonest: the processor can then work on several at a time. */
enum { APART = 3, LANES = SUP_PBD_LANES };

typedef struct packer {
    sup_pbd_build *b;
    int32_t piece_count, row_count;
    sup_pbd_piece *pieces; /* [piece_count] */
    int32_t *row;          /* [particle_count] */
    int32_t *filler;       /* [piece_count] a row that pads the piece's lanes */
    int32_t *left;         /* [particle_count] constraints of the piece not packed yet */
    int32_t *last;         /* [particle_count] batch that had it last */
} packer;

static int32_t round_up(int32_t count)
{
    return (count + LANES - 1) / LANES * LANES;
}

static void number_rows(packer *p)
{
    const sup_pbd_build *b = p->b;
    int32_t next = 0;
    for (int32_t part = 0; part < b->level_first[1]; part++) {
        p->pieces[part].particle_first = next;
        for (int32_t i = b->part_first[part]; i < b->part_first[part + 1]; i++)
            p->row[b->particles[i]] = next++;
        p->filler[part] = next;
        next = round_up(next + 1);
        p->pieces[part].particle_end = next;
    }
    for (int32_t piece = b->level_first[1]; piece < p->piece_count; piece++)
        p->filler[piece] = next++;
    p->row_count = round_up(next);
}

/* --- Batches --- */

/* Constraints of a set by piece. */
static bool sort_by_piece(const packer *p, const sup_pbd_set *set, sup_arena *arena, int32_t **first, int32_t **sorted)
{
    *first = sup_arena_alloc(arena, (size_t)p->piece_count + 2, sizeof(int32_t));
    *sorted = sup_arena_alloc(arena, (size_t)set->count, sizeof(int32_t));
    if (*first == NULL || *sorted == NULL) return false;
    int32_t *next = *first + 1;
    for (int32_t i = 0; i < set->count; i++)
        next[set->piece[i] + 1]++;
    for (int32_t k = 0; k < p->piece_count; k++)
        next[k + 1] += next[k];
    for (int32_t i = 0; i < set->count; i++)
        (*sorted)[next[set->piece[i]]++] = i;
    return true;
}

static int32_t need(const packer *p, const sup_pbd_set *set, int32_t constraint)
{
    int32_t sum = 0;
    for (int32_t k = 0; k < set->arity; k++)
        sum += p->left[set->particle[(int64_t)constraint * set->arity + k]];
    return sum < 511 ? sum : 511;
}

/* Pending constraints, those of busy particles first: they decide how many batches there are. */
static void sort_by_need(const packer *p, const sup_pbd_set *set, const int32_t *pending, int32_t count,
                         int32_t *sorted)
{
    int32_t next[513] = {0};
    for (int32_t i = 0; i < count; i++)
        next[511 - need(p, set, pending[i]) + 1]++;
    for (int32_t k = 0; k < 512; k++)
        next[k + 1] += next[k];
    for (int32_t i = 0; i < count; i++)
        sorted[next[511 - need(p, set, pending[i])]++] = pending[i];
}

/* Takes constraints into the batch; those that stay are moved to the front. How many stay. */
static int32_t fill_batch(packer *p, const sup_pbd_set *set, int32_t *pending, int32_t count, int32_t batch,
                          int32_t apart, int32_t *lanes, int32_t *slot)
{
    int32_t stay = 0;
    for (int32_t i = 0; i < count; i++) {
        const int32_t *particle = set->particle + (int64_t)pending[i] * set->arity;
        bool fits = *lanes < LANES;
        for (int32_t k = 0; fits && k < set->arity; k++)
            fits = batch - p->last[particle[k]] > apart;
        if (!fits) {
            pending[stay++] = pending[i];
            continue;
        }
        slot[pending[i]] = batch * LANES + (*lanes)++;
        for (int32_t k = 0; k < set->arity; k++) {
            p->last[particle[k]] = batch;
            p->left[particle[k]]--;
        }
    }
    return stay;
}

/* Packs one piece's constraints from `batch` on; the batch after the last. */
static int32_t pack_piece(packer *p, const sup_pbd_set *set, int32_t *pending, int32_t *sorted, int32_t count,
                          int32_t batch, int32_t *slot)
{
    for (int32_t i = 0; i < count; i++)
        for (int32_t k = 0; k < set->arity; k++) {
            int32_t v = set->particle[(int64_t)pending[i] * set->arity + k];
            p->left[v]++;
            p->last[v] = batch - APART - 1;
        }
    for (; count > 0; batch++) {
        int32_t lanes = 0;
        sort_by_need(p, set, pending, count, sorted);
        count = fill_batch(p, set, sorted, count, batch, APART, &lanes, slot);
        count = fill_batch(p, set, sorted, count, batch, 0, &lanes, slot);
        memcpy(pending, sorted, (size_t)count * sizeof *pending);
    }
    return batch;
}

/* Where each constraint stands, and the batches of the pieces. Number of batches, or -1 when memory ran out. */
static int32_t pack_set(packer *p, const sup_pbd_set *set, int32_t *slot)
{
    sup_arena *arena = &p->b->arena;
    int32_t *first, *pending, *sorted = sup_arena_alloc(arena, (size_t)set->count, sizeof(int32_t)), batch = 0;
    if (sorted == NULL || !sort_by_piece(p, set, arena, &first, &pending)) return -1;
    for (int32_t piece = 0; piece < p->piece_count; piece++) {
        sup_pbd_piece *to = &p->pieces[piece];
        int32_t begin = batch;
        batch = pack_piece(p, set, pending + first[piece], sorted, first[piece + 1] - first[piece], batch, slot);
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

/* Rows of the corners; lanes left over name the filler of their piece. */
static void write_corners(const packer *p, const sup_pbd_set *set, const int32_t *slot, int32_t *corner)
{
    int32_t arity = set->arity;
    for (int32_t piece = 0; piece < p->piece_count; piece++) {
        const sup_pbd_piece *q = &p->pieces[piece];
        int64_t from = arity == 4 ? q->volume_first : q->stretch_first,
                to = arity == 4 ? q->volume_end : q->stretch_end;
        for (int64_t i = from * LANES * arity; i < to * LANES * arity; i++)
            corner[i] = p->filler[piece];
    }
    for (int32_t i = 0; i < set->count; i++)
        for (int32_t k = 0; k < arity; k++)
            corner[((int64_t)(slot[i] / LANES) * arity + k) * LANES + slot[i] % LANES] =
                p->row[set->particle[(int64_t)i * arity + k]];
}

static void write_volumes(const sup_pbd_build *b, const int32_t *slot, float *rest, float *area)
{
    for (int32_t i = 0; i < b->tets.count; i++) {
        sup_vec3d p[4], g[4];
        for (int32_t k = 0; k < 4; k++)
            p[k] = sup_pbd_rest(b, b->tets.particle[4 * (int64_t)i + k]);
        for (int32_t k = 1; k < 4; k++) /* eq. 4.5 to 4.7 with their corners put right; six times as long */
            g[k] = sup_v3_cross(sup_v3_sub(p[k % 3 + 1], p[0]), sup_v3_sub(p[(k + 1) % 3 + 1], p[0]));
        g[0] = sup_v3_scale(sup_v3_add(sup_v3_add(g[1], g[2]), g[3]), -1.0); /* eq. 4.8 */
        rest[slot[i]] = (float)b->tets.rest[i];
        for (int32_t k = 0; k < 4; k++)
            area[((int64_t)(slot[i] / LANES) * 4 + k) * LANES + slot[i] % LANES] = (float)sup_v3_dot(g[k], g[k]);
    }
}

static void write_edges(const sup_pbd_build *b, const int32_t *slot, float *rest, float *compliance)
{
    for (int32_t i = 0; i < b->edges.count; i++) {
        double length = b->edges.rest[i], around = b->edges.around[i];
        rest[slot[i]] = (float)length;
        compliance[slot[i]] = (float)(b->mean_volume * length * length / fmax(around, 1e-6 * b->mean_volume));
    }
}

static bool write_particles(const packer *p)
{
    sup_pbd_build *b = p->b;
    int32_t *row = add(b, "row", SUP_ARRAY_INT32, b->def->particle_count);
    float *share = add(b, "share", SUP_ARRAY_FLOAT, p->row_count);
    float *inverse = add(b, "inverse_mass", SUP_ARRAY_FLOAT, p->row_count);
    if (row == NULL || share == NULL || inverse == NULL) return false;
    memcpy(row, p->row, (size_t)b->def->particle_count * sizeof *row);
    b->bound = (sup_pbd_bound){p->row_count, row};
    for (int32_t v = 0; v < b->def->particle_count; v++) {
        /* Slivers' corners get a hundredth of the mean at least, or they would be thrown about. */
        double mass = fmax(b->share[v], 0.01 * b->mean_volume);
        share[p->row[v]] = (float)b->share[v];
        inverse[p->row[v]] = b->fixed[v] ? 0.0f : (float)(b->mean_volume / mass);
    }
    return true;
}

static bool write_arrays(packer *p, const int32_t batches[2], int32_t *const slot[2])
{
    const sup_pbd_build *b = p->b;
    int64_t tets = (int64_t)batches[0] * LANES, edges = (int64_t)batches[1] * LANES;
    int32_t *head = add(b, "head", SUP_ARRAY_INT32, 9);
    float *numbers = add(b, "numbers", SUP_ARRAY_FLOAT, 1);
    sup_pbd_piece *pieces = add(b, "pieces", SUP_ARRAY_INT32, 6 * (int64_t)p->piece_count);
    int32_t *volume_corner = add(b, "volume_corner", SUP_ARRAY_INT32, 4 * tets);
    float *volume_rest = add(b, "volume_rest", SUP_ARRAY_FLOAT, tets);
    float *volume_area = add(b, "volume_area", SUP_ARRAY_FLOAT, 4 * tets);
    int32_t *stretch_corner = add(b, "stretch_corner", SUP_ARRAY_INT32, 2 * edges);
    float *stretch_rest = add(b, "stretch_rest", SUP_ARRAY_FLOAT, edges);
    float *compliance = add(b, "stretch_compliance", SUP_ARRAY_FLOAT, edges);
    if (head == NULL || numbers == NULL || pieces == NULL || volume_corner == NULL || volume_rest == NULL ||
        volume_area == NULL || stretch_corner == NULL || stretch_rest == NULL || compliance == NULL)
        return false;
    const int32_t counts[9] = {b->def->particle_count, p->row_count,      b->tets.count,
                               b->edges.count,         batches[0],        batches[1],
                               b->level_first[1],      b->level_first[2], b->level_first[3]};
    memcpy(head, counts, sizeof counts);
    numbers[0] = (float)b->mean_volume;
    memcpy(pieces, p->pieces, (size_t)p->piece_count * sizeof *pieces);
    write_corners(p, &b->tets, slot[0], volume_corner);
    write_corners(p, &b->edges, slot[1], stretch_corner);
    write_volumes(b, slot[0], volume_rest, volume_area);
    write_edges(b, slot[1], stretch_rest, compliance);
    return write_particles(p);
}

sup_result sup_pbd_build_batches(sup_pbd_build *b, sup_error *error)
{
    size_t particles = (size_t)b->def->particle_count;
    packer p = {.b = b, .piece_count = b->level_first[SUP_PBD_LEVELS]};
    p.pieces = sup_arena_alloc(&b->arena, (size_t)p.piece_count, sizeof(sup_pbd_piece));
    p.row = sup_arena_alloc(&b->arena, particles, sizeof(int32_t));
    p.filler = sup_arena_alloc(&b->arena, (size_t)p.piece_count, sizeof(int32_t));
    p.left = sup_arena_alloc(&b->arena, particles, sizeof(int32_t));
    p.last = sup_arena_alloc(&b->arena, particles, sizeof(int32_t));
    int32_t *const slot[2] = {sup_arena_alloc(&b->arena, (size_t)b->tets.count, sizeof(int32_t)),
                              sup_arena_alloc(&b->arena, (size_t)b->edges.count, sizeof(int32_t))};
    if (p.pieces == NULL || p.row == NULL || p.filler == NULL || p.left == NULL || p.last == NULL || slot[0] == NULL ||
        slot[1] == NULL)
        return sup_fail_memory(error, "the constraints");
    number_rows(&p);
    const int32_t batches[2] = {pack_set(&p, &b->tets, slot[0]), pack_set(&p, &b->edges, slot[1])};
    if (batches[0] < 0 || batches[1] < 0 || !write_arrays(&p, batches, slot))
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
    if (result == SUP_OK) result = sup_pbd_build_parts(&b, error);
    if (result == SUP_OK) result = sup_pbd_build_batches(&b, error);
    if (result == SUP_OK && bound != NULL) *bound = b.bound;
    sup_arena_destroy(&b.arena);
    return result;
}

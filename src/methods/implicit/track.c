/* track.c - one sub-frame of tracking: who is awake, and carrying.
 *
 * Based on: [vaillant2014iso] section 5. */
#include "methods/implicit/track_work.h"

/* Relative motion of two joints below this, in radians and sizes, is noise of floats. */
static const float NOISE = 3e-6f;
/* Cosine of half the turn of a joint from which on it is bent: 0.5 radians. */
static const float BENT = 0.9689124f;
/* Newton steps of the first projection, and of the one that ends a sub-frame. */
enum { FIRST_STEPS = 8, LAST_STEPS = 4, CARRY_GRAIN = 16 };
/* Edges that a Newton step may be long without being looked at at the end of a sub-frame. */
static const float NEAR = 0.002f;

/* Sizes from the origin that a place may be: with a size of 1e18 units, and sums of some, it stays in the range of floats. */
static const float FARTHEST = 1e12f;

/* --- The state --- */

typedef struct carving {
    unsigned char *base;
    size_t at;
} carving;

/* As a number: without a base only the sizes are asked for. */
static void *carve(carving *c, size_t count, size_t size)
{
    uintptr_t memory = (uintptr_t)c->base + c->at;
    c->at += (count * size + 63) / 64 * 64;
    return (void *)memory; /* NOLINT(performance-no-int-to-ptr) */
}

/* What a sub-frame leaves for the next comes first: `kept` bytes. */
static size_t carve_rows(const sup_track *track, unsigned char *base, sup_track_rows *rows, size_t *kept)
{
    carving c = {base, 0};
    size_t count = (size_t)track->row_count, blocks = (size_t)track->block_count;
    rows->place = carve(&c, 4 * count, sizeof(float));
    rows->normal = carve(&c, 4 * count, sizeof(float));
    rows->turn = carve(&c, 12 * count, sizeof(float));
    rows->stop = carve(&c, 4 * count, sizeof(float));
    rows->awake = carve(&c, blocks, 1);
    *kept = c.at;
    rows->load = carve(&c, 4 * count, sizeof(float));
    rows->pull = carve(&c, 4 * count, sizeof(float));
    rows->move = carve(&c, 4 * count, sizeof(float));
    rows->solve = carve(&c, 4 * (count + (size_t)track->parts.slot_count), sizeof(float));
    rows->sums = carve(&c, blocks * SUP_TRACK_SUMS, sizeof(double));
    rows->moved = carve(&c, blocks, sizeof(float));
    rows->drift = carve(&c, blocks, sizeof(float));
    rows->list = carve(&c, blocks, sizeof(int32_t));
    rows->way = carve(&c, (size_t)track->joint_count, sizeof(int32_t));
    rows->straight = carve(&c, (size_t)track->joint_count, sizeof(float));
    rows->parts = carve(&c, blocks, sizeof(uint64_t));
    rows->near[0] = carve(&c, 2 * count, sizeof(float));
    rows->near[1] = carve(&c, 2 * count, sizeof(float));
    return c.at;
}

sup_track_rows sup_track_rows_of(const sup_track *track, void *state)
{
    sup_track_rows rows;
    size_t kept;
    carve_rows(track, state, &rows, &kept);
    return rows;
}

/* The same of a state that is only looked at. */
static sup_track_rows rows_read(const sup_track *track, const void *state)
{
    union {
        const void *from;
        void *to;
    } memory = {state};
    return sup_track_rows_of(track, memory.to);
}

size_t sup_track_state_size(const sup_track *track)
{
    sup_track_rows rows;
    size_t kept;
    return carve_rows(track, NULL, &rows, &kept);
}

size_t sup_track_saved_size(const sup_track *track)
{
    sup_track_rows rows;
    size_t kept;
    carve_rows(track, NULL, &rows, &kept);
    return kept;
}

/* Moves a row with its bone. */
static void carry_row(const float m[12], float *place, float *normal)
{
    float p[3], n[3], square = 0.0f;
    for (int r = 0; r < 3; r++) {
        p[r] = m[4 * r] * place[0] + m[4 * r + 1] * place[1] + m[4 * r + 2] * place[2] + m[4 * r + 3];
        n[r] = m[4 * r] * normal[0] + m[4 * r + 1] * normal[1] + m[4 * r + 2] * normal[2];
        square += n[r] * n[r];
    }
    memcpy(place, p, sizeof p);
    if (square > 0.0f)
        for (int r = 0; r < 3; r++)
            normal[r] = n[r] / sqrtf(square);
}

void sup_track_reset(const sup_track *track, void *state, const float place[12])
{
    sup_track_rows rows = sup_track_rows_of(track, state);
    memset(state, 0, sup_track_state_size(track));
    for (int64_t i = 0; i < track->row_count; i++) {
        memcpy(rows.place + 4 * i, track->rest + 4 * i, 3 * sizeof(float));
        memcpy(rows.normal + 4 * i, track->inward + 4 * i, 3 * sizeof(float));
        memcpy(rows.turn + 12 * i, place, 12 * sizeof(float));
        carry_row(place, rows.place + 4 * i, rows.normal + 4 * i);
    }
}

bool sup_track_restless(const sup_track *track, const void *state)
{
    const unsigned char *awake = rows_read(track, state).awake;
    for (int32_t block = 0; block < track->block_count; block++)
        if (awake[block] != 0) return true;
    return false;
}

void sup_track_calm(const sup_track *track, void *state)
{
    memset(sup_track_rows_of(track, state).awake, 0, (size_t)track->block_count);
}

void sup_track_shift(const sup_track *track, void *state, const float by[3])
{
    sup_track_rows rows = sup_track_rows_of(track, state);
    for (int64_t i = 0; i < track->row_count; i++)
        for (int c = 0; c < 3; c++) {
            rows.place[4 * i + c] += by[c];
            rows.turn[12 * i + 4 * c + 3] += by[c];
        }
}

float *sup_track_places(const sup_track *track, void *state)
{
    return sup_track_rows_of(track, state).place;
}

const float *sup_track_turns(const sup_track *track, const void *state)
{
    return rows_read(track, state).turn;
}

bool sup_track_rows_usable(const sup_track_rows *rows, int64_t begin, int64_t end)
{
    uint32_t farthest = 0, normals = 0, limit; /* magnitudes as bits: whatever is not finite is above all that is */
    memcpy(&limit, &FARTHEST, sizeof limit);
    for (int64_t i = 4 * begin; i < 4 * end; i++) {
        uint32_t place, normal;
        memcpy(&place, rows->place + i, sizeof place);
        memcpy(&normal, rows->normal + i, sizeof normal);
        place &= 0x7fffffffu;
        normal &= 0x7fffffffu;
        farthest = place > farthest ? place : farthest;
        normals = normal > normals ? normal : normals;
    }
    return farthest <= limit && normals < 0x7f800000u;
}

bool sup_track_usable(const sup_track *track, const void *state)
{
    sup_track_rows rows = rows_read(track, state);
    return sup_track_rows_usable(&rows, 0, track->row_count);
}

/* --- Who is awake --- */

void sup_track_run(sup_track_work *work, sup_task_fn *fn)
{
    sup_parallel(work->context, work->awake_count, SUP_TRACK_GRAIN, fn, work);
}

bool sup_track_alike(const float a[12], const float b[12])
{
    for (int i = 0; i < 12; i++)
        if (!(fabsf(a[i] - b[i]) <= NOISE)) return false;
    return true;
}

/* Low and high ends of where a block is. */
typedef struct bounds {
    float low[4], high[4];
} bounds;

static bool meets(const bounds *b, const float box[6])
{
    return b->low[0] <= box[3] && b->high[0] >= box[0] && b->low[1] <= box[4] && b->high[1] >= box[1] &&
           b->low[2] <= box[5] && b->high[2] >= box[2];
}

static bounds bounds_of(const sup_track_work *w, int32_t block)
{
    bounds b = {{INFINITY, INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY, -INFINITY}};
    for (int64_t row = w->track->block_first[block]; row < w->track->block_first[block + 1]; row++)
        for (int c = 0; c < 4; c++) {
            b.low[c] = sup_track_less(b.low[c], w->rows.place[4 * row + c]);
            b.high[c] = sup_track_more(b.high[c], w->rows.place[4 * row + c]);
        }
    return b;
}

static void find_ways(const sup_track_work *w)
{
    const sup_track_joint *joints = w->input->joints;
    for (int32_t j = 0; j < w->track->joint_count; j++) {
        w->rows.way[j] = j;
        for (int32_t k = 0; k < j && w->rows.way[j] == j; k++)
            if (w->rows.way[k] == k && sup_track_alike(joints[k].motion, joints[j].motion)) w->rows.way[j] = k;
    }
}

/* How straight parts are: cosines of half the turn between those that share an edge. */
static void find_straight(const sup_track_work *w)
{
    const sup_track *track = w->track;
    for (int32_t j = 0; j < track->joint_count; j++)
        w->rows.straight[j] = 1.0f;
    for (int32_t block = 0; block < track->block_count; block++)
        for (int32_t k = track->near_first[block]; k < track->near_first[block + 1]; k++) {
            int32_t a = track->block_joint[block], b = track->block_joint[track->near[k]];
            if (a == b) continue;
            const float *p = w->input->joints[a].rigid, *q = w->input->joints[b].rigid;
            float cosine = fabsf(p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]);
            float straight = sup_track_more(0.0f, 1.0f - (1.0f - cosine) / (1.0f - BENT));
            w->rows.straight[a] = sup_track_less(w->rows.straight[a], straight);
        }
}

/* Whether a field that is felt in these bounds moves otherwise than the part does, or is another than before. */
static bool field_stirs(const sup_track_work *w, int32_t block, const bounds *b, const float *boxes)
{
    const sup_track_reach *reach = &w->input->reach;
    int32_t own = w->rows.way[w->track->block_joint[block]];
    for (int32_t f = 0; f < reach->field_count; f++)
        if ((w->rows.way[reach->joint[f]] != own || (reach->changed != NULL && reach->changed[f])) &&
            meets(b, boxes + 6 * (int64_t)f))
            return true;
    return false;
}

static bool rotation_stirs(const sup_track_work *w, int32_t block)
{
    int32_t own = w->rows.way[w->track->block_joint[block]];
    for (int32_t i = w->track->feel_first[block]; i < w->track->feel_first[block + 1]; i++)
        if (w->rows.way[w->track->feel[i]] != own) return true;
    return false;
}

/* Farthest that a row is brought to where dual quaternions have it, edges: from afar it could come out on another limb. */
static const float HOLD_STEP = 0.5f;

/* Rows that the artist takes out of the relaxation have no memory: they go to where dual quaternions have them. Where their bone
 * alone has them, all that the skin of a joint is stretched is in the triangles between two parts. In a contact they stay. */
static void hold_row(const sup_track *track, const float turn[12], int64_t row, float *place)
{
    const sup_track_aim *aim = &track->aim[row];
    const float *rest = track->rest + 4 * row;
    float hold = (1.0f - aim->relax) * (1.0f - place[3]), way[3], square = 0.0f;
    if (!(hold > 0.0f)) return;
    for (int r = 0; r < 3; r++) {
        const float *m = turn + 4 * r;
        way[r] = hold * (m[0] * rest[0] + m[1] * rest[1] + m[2] * rest[2] + m[3] - place[r]);
        square += way[r] * way[r];
    }
    float most = HOLD_STEP * aim->edge, share = square > most * most ? most / sqrtf(square) : 1.0f;
    for (int r = 0; r < 3; r++)
        place[r] += share * way[r];
}

void sup_track_clear_moves(const sup_track_work *w, int32_t block)
{
    int32_t first = w->track->block_first[block], count = w->track->block_first[block + 1] - first;
    memset(w->rows.move + 4 * (int64_t)first, 0, 4 * (size_t)count * sizeof(float));
}

/* First stage: rows go with their bone; blocks where something stirs wake up. */
static void carry_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_track_work *w = work;
    const sup_track *track = w->track;
    SUP_UNUSED(worker);
    for (int32_t block = begin; block < end; block++) {
        const sup_track_joint *joint = &w->input->joints[track->block_joint[block]];
        bool turned = w->input->all || (w->rows.awake[block] & SUP_TRACK_UNREST) != 0 || rotation_stirs(w, block);
        bounds b = bounds_of(w, block);
        bool stirs = turned || field_stirs(w, block, &b, w->input->reach.box_before);
        for (int64_t row = track->block_first[block]; row < track->block_first[block + 1]; row++) {
            if (joint->moves) carry_row(joint->motion, w->rows.place + 4 * row, w->rows.normal + 4 * row);
            if (stirs) hold_row(track, w->rows.turn + 12 * row, row, w->rows.place + 4 * row);
        }
        if (joint->moves) b = bounds_of(w, block);
        stirs = stirs || field_stirs(w, block, &b, w->input->reach.box);
        int awake = stirs ? SUP_TRACK_AWAKE | SUP_TRACK_NEW | SUP_TRACK_WORKED | (turned ? SUP_TRACK_TURNED : 0) : 0;
        w->rows.awake[block] = (unsigned char)awake;
        w->rows.moved[block] = w->rows.drift[block] = 0.0f;
        sup_track_clear_moves(w, block);
    }
}

/* Lists the blocks that have one of the bits. Most have none: eight are looked at together; the array ends with some to spare. */
static void list_blocks(sup_track_work *w, int bits)
{
    w->awake_count = w->awake_rows = 0;
    w->fresh = false;
    for (int32_t first = 0; first < w->track->block_count; first += 8) {
        uint64_t eight;
        memcpy(&eight, w->rows.awake + first, sizeof eight);
        if (!(eight & (uint64_t)bits * 0x0101010101010101u)) continue;
        for (int32_t block = first; block < first + 8 && block < w->track->block_count; block++) {
            if (!(w->rows.awake[block] & bits)) continue;
            w->awake_rows += w->track->block_first[block + 1] - w->track->block_first[block];
            w->rows.list[w->awake_count++] = block;
            w->fresh = w->fresh || (w->rows.awake[block] & SUP_TRACK_NEW) != 0;
        }
    }
}

/* Blocks that woke up for a field which then moved none of their rows and holds none sleep on: its box was all that met them. */
static void settle(sup_track_work *w)
{
    for (int32_t i = 0; i < w->awake_count; i++) {
        int32_t block = w->rows.list[i];
        bool stepped = w->rows.sums[SUP_TRACK_SUMS * (int64_t)block + 1] != 0.0;
        if (!stepped && !(w->rows.awake[block] & SUP_TRACK_TURNED)) w->rows.awake[block] = 0;
    }
    list_blocks(w, SUP_TRACK_AWAKE);
}

void sup_track_spread(sup_track_work *w, bool sleep)
{
    const sup_track *track = w->track;
    const float *moved = w->rows.moved, tolerance = w->input->tolerance;
    unsigned char *awake = w->rows.awake;
    for (int32_t i = 0; i < w->awake_count; i++) {
        int32_t block = w->rows.list[i];
        bool pulls = moved[block] > tolerance, pulled = false;
        for (int32_t k = track->near_first[block]; k < track->near_first[block + 1] && (pulls || sleep); k++) {
            int32_t near = track->near[k];
            pulled = pulled || moved[near] > tolerance;
            if (pulls && !(awake[near] & SUP_TRACK_AWAKE))
                awake[near] |=
                    SUP_TRACK_AWAKE | (awake[near] & SUP_TRACK_WORKED ? 0 : SUP_TRACK_NEW | SUP_TRACK_WORKED);
        }
        if (!sleep || pulls || pulled) continue;
        awake[block] &= (unsigned char)~SUP_TRACK_AWAKE;
        sup_track_clear_moves(w, block);
    }
    list_blocks(w, SUP_TRACK_AWAKE);
}

/* --- A sub-frame --- */

void sup_track_move(const sup_context *context, const sup_track *track, void *state, const sup_track_input *input,
                    sup_track_report *report)
{
    sup_track_work work = {.context = context, .track = track, .input = input};
    work.rows = sup_track_rows_of(track, state);
    find_ways(&work);
    find_straight(&work);
    sup_track_turn_rows(&work);
    sup_parallel(context, track->block_count, CARRY_GRAIN, carry_some, &work);
    list_blocks(&work, SUP_TRACK_AWAKE);
    memset(report, 0, sizeof *report);
    sup_track_mend(&work);
    sup_track_project(&work, FIRST_STEPS, -1.0f);
    settle(&work);
    report->rounds = sup_track_relax(&work, &report->moved);
    list_blocks(&work, SUP_TRACK_WORKED);
    sup_track_project(&work, LAST_STEPS, NEAR);
    for (int32_t i = 0; i < work.awake_count; i++) {
        int32_t block = work.rows.list[i];
        work.rows.awake[block] = work.rows.moved[block] > input->tolerance ? SUP_TRACK_UNREST : 0;
    }
    report->awake = work.awake_rows;
    report->evaluations = work.evaluations;
}

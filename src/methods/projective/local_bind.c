/* local_bind.c - poses that bend every joint as far as it goes, and the pairs that collide in them. See local.h. */
#include "math/affine.h"
#include "methods/projective/detect_internal.h"
#include "methods/projective/local.h"

static const double least_angle = 0.5; /* radians between two bones that are bent together */
static const double straight = 0.35;   /* sine: bones in line have no plane to bend in: all four ways */

typedef struct local_build {
    sup_context context;
    const sup_tissue *tissue;
    const sup_volumetric_skeleton *skeleton;
    const sup_detect *detect;
    sup_arena scratch;
    sup_skeleton_tree tree;
    float *skin, *ends; /* posed */
    void *state;
    sup_contact *rows;
    unsigned char *side;  /* [vertex_count] 1 turned side, 2 other side, of those that collide */
    double *nearest;      /* [vertex_count] distance of the pair, INFINITY for none */
    sup_local_pair *pair; /* [vertex_count] */
} local_build;

/* A bend: everything below `piece` turns about its upper node. */
typedef struct joint_bend {
    int32_t piece, node;
    sup_vec3d centre, axis; /* unit */
    double angle;
    sup_quatd whole; /* the turn of everything beyond the joint */
} joint_bend;

static bool allocate(local_build *b)
{
    size_t n = (size_t)b->tissue->skin_count;
    b->skin = sup_arena_alloc(&b->scratch, 3 * n, sizeof *b->skin);
    b->ends = sup_arena_alloc(&b->scratch, 6 * (size_t)b->skeleton->piece_count, sizeof *b->ends);
    b->rows = sup_arena_alloc(&b->scratch, n, sizeof *b->rows);
    b->side = sup_arena_alloc(&b->scratch, n, 1);
    b->nearest = sup_arena_alloc(&b->scratch, n, sizeof *b->nearest);
    b->pair = sup_arena_alloc(&b->scratch, n, sizeof *b->pair);
    unsigned char *state = sup_arena_alloc(&b->scratch, sup_detect_state_size(b->detect) + 64, 1);
    if (b->skin == NULL || b->ends == NULL || b->rows == NULL || b->side == NULL || b->nearest == NULL ||
        b->pair == NULL || state == NULL)
        return false;
    b->state = state + (64 - (uintptr_t)state % 64) % 64;
    for (size_t v = 0; v < n; v++)
        b->nearest[v] = INFINITY;
    return true;
}

static bool piece_below(const local_build *b, int32_t piece, int32_t below)
{
    int32_t node = b->tree.lower[below], at = b->tree.enter[b->tree.lower[piece]];
    return at >= b->tree.enter[node] && at < b->tree.leave[node];
}

static bool piece_at(const local_build *b, int32_t piece, int32_t node)
{
    return b->tree.upper[piece] == node || b->tree.lower[piece] == node;
}

/* Share of the bend that a vertex takes: half at the joint, all or nothing one thickness of flesh away from it. */
static double bend_share(const local_build *b, const joint_bend *bend, int32_t v)
{
    sup_foot foot = b->tissue->feet[v];
    bool below = piece_below(b, foot.piece, bend->piece);
    if (!piece_at(b, foot.piece, bend->node)) return below ? 1.0 : 0.0;
    sup_vec3d at = sup_foot_point(b->skeleton, foot);
    double thickness = sup_v3_distance(at, sup_tissue_point(b->tissue->skin, v));
    double away = sup_v3_distance(at, bend->centre);
    double half = 0.5 * (thickness > 0.0 ? fmin(1.0, away / thickness) : 1.0);
    return below ? 0.5 + half : 0.5 - half;
}

static sup_vec3d bend_point(const joint_bend *bend, sup_vec3d p, double share)
{
    if (share == 0.0) return p;
    sup_quatd turn = share == 1.0 ? bend->whole : sup_quatd_from_axis_angle(bend->axis, share * bend->angle);
    return sup_v3_add(bend->centre, sup_quatd_rotate(turn, sup_v3_sub(p, bend->centre)));
}

static void pose_bend(local_build *b, const joint_bend *bend)
{
    for (int32_t v = 0; v < b->tissue->skin_count; v++)
        sup_v3_store(b->skin + 3 * (size_t)v,
                     bend_point(bend, sup_tissue_point(b->tissue->skin, v), bend_share(b, bend, v)));
    for (int32_t p = 0; p < b->skeleton->piece_count; p++) {
        double share = piece_below(b, p, bend->piece) ? 1.0 : 0.0;
        sup_v3_store(b->ends + 6 * (size_t)p, bend_point(bend, b->skeleton->pieces[p].from, share));
        sup_v3_store(b->ends + 6 * (size_t)p + 3, bend_point(bend, b->skeleton->pieces[p].to, share));
    }
}

/* 1 for the turned piece, 2 for the others at the joint, 0 for what is further away. */
static unsigned char side_of(const local_build *b, const joint_bend *bend, int32_t v)
{
    int32_t piece = b->tissue->feet[v].piece;
    return piece == bend->piece ? 1 : piece_at(b, piece, bend->node) ? 2 : 0;
}

static void mark_sides(local_build *b, const joint_bend *bend, int32_t count)
{
    memset(b->side, 0, (size_t)b->tissue->skin_count);
    for (int32_t i = 0; i < count; i++) {
        const sup_contact *row = &b->rows[i];
        unsigned char own = side_of(b, bend, row->vertex), other = side_of(b, bend, row->corner[0]);
        if (own == 0 || other == 0 || own == other) continue;
        b->side[row->vertex] = own;
        for (int k = 0; k < 3; k++)
            if (side_of(b, bend, row->corner[k]) == other) b->side[row->corner[k]] = other;
    }
}

/* Pairs each marked vertex of the turned side with the nearest marked one of the other. */
static void pair_sides(local_build *b, const joint_bend *bend)
{
    const int32_t n = b->tissue->skin_count;
    for (int32_t v = 0; v < n; v++) {
        if (b->side[v] != 1) continue;
        sup_vec3d p = sup_v3_load(b->skin + 3 * (size_t)v);
        for (int32_t w = 0; w < n; w++) {
            if (b->side[w] != 2) continue;
            double distance = sup_v3_distance(p, sup_v3_load(b->skin + 3 * (size_t)w));
            if (!(distance < b->nearest[v])) continue;
            int32_t other = b->tissue->feet[w].piece;
            b->nearest[v] = distance;
            b->pair[v] = (sup_local_pair){{v, w},
                                          {bend->piece, other},
                                          {b->skeleton->pieces[bend->piece].node_from == bend->node ? 0 : 1,
                                           b->skeleton->pieces[other].node_from == bend->node ? 0 : 1}};
        }
    }
}

static void try_bend(local_build *b, joint_bend *bend)
{
    const sup_detect_input input = {.skin = b->skin, .skin_stride = 3, .piece_ends = b->ends};
    bend->whole = sup_quatd_from_axis_angle(bend->axis, bend->angle);
    pose_bend(b, bend);
    sup_detect_reset(b->detect, b->state);
    int32_t count = sup_detect_step(&b->context, b->detect, b->state, &input, b->rows);
    if (count == 0) return;
    mark_sides(b, bend, count);
    pair_sides(b, bend);
}

static sup_vec3d from_node(const local_build *b, int32_t piece, int32_t node)
{
    const sup_bone_piece *p = &b->skeleton->pieces[piece];
    sup_vec3d d = p->node_from == node ? sup_v3_sub(p->to, p->from) : sup_v3_sub(p->from, p->to);
    return sup_v3_unit_or(d, sup_v3(0, 0, 1));
}

/* Turns `piece` towards `other` in the plane of the two; where they are in line, about two axes, both ways. */
static void bend_towards(local_build *b, int32_t piece, int32_t other, int32_t node)
{
    sup_vec3d d = from_node(b, piece, node), e = from_node(b, other, node), axis = sup_v3_cross(d, e);
    double sine = sup_v3_length(axis), angle = atan2(sine, sup_v3_dot(d, e));
    joint_bend bend = {.piece = piece, .node = node, .centre = b->skeleton->nodes[node].position};
    bend.angle = angle - least_angle;
    if (bend.angle <= 0.0) return;
    if (sine > straight) {
        bend.axis = sup_v3_unit_or(axis, axis);
        try_bend(b, &bend);
        return;
    }
    sup_vec3d some = fabs(d.x) < 0.6 ? sup_v3(1, 0, 0) : sup_v3(0, 1, 0);
    sup_vec3d first = sup_v3_unit_or(sup_v3_cross(d, some), some), second = sup_v3_cross(d, first);
    for (int k = 0; k < 4; k++) {
        bend.axis = sup_v3_scale(k < 2 ? first : second, k % 2 == 0 ? 1.0 : -1.0);
        try_bend(b, &bend);
    }
}

static void bend_all(local_build *b)
{
    const sup_volumetric_skeleton *s = b->skeleton;
    for (int32_t piece = 0; piece < s->piece_count; piece++) {
        int32_t node = b->tree.upper[piece];
        for (int32_t i = s->node_first[node]; i < s->node_first[node + 1]; i++)
            if (s->node_pieces[i] != piece) bend_towards(b, piece, s->node_pieces[i], node);
    }
}

static bool collect(const local_build *b, sup_arena *arena, sup_local *local)
{
    int32_t count = 0;
    for (int32_t v = 0; v < b->tissue->skin_count; v++)
        count += b->nearest[v] < INFINITY;
    sup_local_pair *pairs = sup_arena_alloc(arena, (size_t)count, sizeof *pairs);
    if (pairs == NULL) return false;
    *local = (sup_local){count, pairs};
    count = 0;
    for (int32_t v = 0; v < b->tissue->skin_count; v++)
        if (b->nearest[v] < INFINITY) pairs[count++] = b->pair[v];
    return true;
}

sup_result sup_local_create(const sup_context *context, const sup_tissue *tissue,
                            const sup_volumetric_skeleton *skeleton, const sup_detect *detect, sup_arena *arena,
                            sup_local *local, sup_error *error)
{
    local_build b = {sup_context_resolve(context), tissue, skeleton, detect, .pair = NULL};
    sup_result result = sup_skeleton_tree_create(&b.context.allocator, skeleton, &b.tree, error);
    if (result != SUP_OK) return result;
    b.scratch = sup_arena_create(&b.context.allocator);
    bool done = allocate(&b);
    if (done) {
        bend_all(&b);
        done = collect(&b, arena, local);
    }
    sup_arena_destroy(&b.scratch);
    sup_skeleton_tree_destroy(&b.tree);
    return done ? SUP_OK : sup_fail_memory(error, "contact beside the joints");
}

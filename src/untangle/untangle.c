/* untangle.c - moving what crosses in the shown skin apart. See untangle.h. */
#include "untangle/untangle_internal.h"

#include <math.h>

enum {
    ROUNDS = 10,     /* of finding and moving, at most */
    PATCH = 300,     /* vertices of a patch; what is wider does not end, or is too wide to be moved */
    AROUND = 2,      /* edges from what is moved to where skin no longer follows */
    SWEEPS = 4,      /* over the edges in a round, */
    LAST_SWEEPS = 12 /* and after the last one */
};
static const float least_offset = 1e-4f; /* of the gap: what is less is none */
static const float farthest = 6.0f;      /* of the gap: it is moved at most */
static const float longest = 1.3f;       /* of an edge as it came, or at rest: so long it may be made */
static const float most_stretch = 2.0f;  /* of its length at rest: but no longer than that, even if it came so */
static const float heavy = 0.25f;        /* what was asked to move gives way to the edges by that much of the others' */
static const float gap_part = 0.03f;     /* of the finer edges: how far apart skin is put */
static const float reach = 2.5f;         /* of the finer edges: farthest that the end of one edge goes in a round */
static const float agree = 0.6f;         /* length of the mean of the normals around a patch that has a way out, */
static const float least_agree = 0.05f;  /* and of one that goes where most of it can */
static const float follow = 0.8f;        /* of the mean of its neighbours: skin around what is moved */
static const float kin_gaps = 3.0f;      /* between two places at rest: one fold */
static const float fold_push = 0.2f;     /* of what folds ask for, */
static const float fold_smooth = 0.8f;   /* and of the way to the mean of the neighbours */

enum { NO_PATCH = -1, OPEN = -2 };
enum { SEED = 2, OUTSIDE = 4, LISTED = 8, FOLD = 16, KNOWN = 32 }; /* of `state`, with SUP_UNTANGLE_LOADED */

/* Every vertex is loaded before anything else is asked of it. */
static void load_vertex(const sup_untangle_work *w, int32_t v)
{
    if (w->state[v] & SUP_UNTANGLE_LOADED) return;
    const float *from = sup_untangle_place(w, v);
    sup_untangle_vertex *vertex = &w->vertex[v];
    *vertex = (sup_untangle_vertex){.patch = NO_PATCH, .parent = v};
    for (int32_t k = 0; k < 3; k++) {
        vertex->from[k] = from[k];
        vertex->x[k] = from[k] + w->def->keep * w->def->offset[3 * (size_t)v + (size_t)k];
    }
    w->state[v] |= SUP_UNTANGLE_LOADED;
}

static float length_of(const float *a)
{
    return sqrtf(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

static const int32_t *corners_of(const sup_untangle_work *w, const sup_untangle_hit *hit)
{
    return w->view->triangles + 3 * (size_t)hit->triangle;
}

/* --- What hangs together: it is moved, or left, as a whole --- */

static int32_t cluster_of(const sup_untangle_work *w, int32_t v)
{
    while (w->vertex[v].parent != v)
        v = w->vertex[v].parent = w->vertex[w->vertex[v].parent].parent;
    return v;
}

static void join(const sup_untangle_work *w, int32_t a, int32_t b)
{
    int32_t x = cluster_of(w, a), y = cluster_of(w, b);
    if (x < y) w->vertex[y].parent = x;
    if (y < x) w->vertex[x].parent = y;
}

/* From now on its place counts. */
static void know(sup_untangle_work *w, int32_t v)
{
    load_vertex(w, v);
    if (w->state[v] & KNOWN) return;
    w->state[v] |= KNOWN;
    w->known[w->known_count++] = v;
    memcpy(w->vertex[v].best, w->vertex[v].x, sizeof w->vertex[v].best);
}

/* Clusters that cross less than ever before keep their places. */
static void keep_best(sup_untangle_work *w, bool first)
{
    sup_untangle_at at = {-1, 0};
    for (int32_t i = 0; i < w->known_count; i++)
        w->vertex[w->known[i]].hits = 0;
    for (const sup_untangle_hit *hit = sup_untangle_next(w, &at); hit != NULL; hit = sup_untangle_next(w, &at)) {
        know(w, hit->inside);
        know(w, hit->outside);
        join(w, hit->inside, hit->outside);
        for (int32_t k = 0; k < 3; k++) {
            know(w, corners_of(w, hit)[k]);
            join(w, hit->inside, corners_of(w, hit)[k]);
        }
        w->vertex[hit->inside].hits++;
    }
    for (int32_t i = 0; i < w->known_count; i++)
        w->vertex[w->known[i]].sum = w->vertex[w->known[i]].best_sum = 0;
    for (int32_t i = 0; i < w->known_count; i++) {
        sup_untangle_vertex *vertex = &w->vertex[w->known[i]], *root = &w->vertex[cluster_of(w, w->known[i])];
        if (first) vertex->best_hits = vertex->hits;
        root->sum += vertex->hits;
        root->best_sum += vertex->best_hits;
    }
    for (int32_t i = 0; i < w->known_count; i++) {
        sup_untangle_vertex *vertex = &w->vertex[w->known[i]], *root = &w->vertex[cluster_of(w, w->known[i])];
        if (root->sum >= root->best_sum) continue;
        vertex->best_hits = vertex->hits;
        memcpy(vertex->best, vertex->x, sizeof vertex->best);
    }
}

/* --- Patches --- */

static void enlist(sup_untangle_work *w, int32_t v)
{
    know(w, v);
    if (w->state[v] & LISTED) return;
    w->state[v] |= LISTED;
    w->list[w->list_count++] = v;
}

/* Marks the edge of a hit, from both ends: patches end there. */
static void set_wall(sup_untangle_work *w, const sup_untangle_hit *hit, unsigned char wall)
{
    const int32_t *first = w->view->neighbour_first, *neighbours = w->view->neighbours;
    const int32_t ends[2] = {hit->inside, hit->outside};
    for (int32_t k = 0; k < 2; k++)
        for (int32_t e = first[ends[k]]; e < first[ends[k] + 1]; e++)
            if (neighbours[e] == ends[1 - k]) w->wall[e] = wall;
}

/* All that is on the side of a vertex where an edge crosses, from neighbour to neighbour, along edges that do not cross.
 * Returns how many; more than PATCH: it does not end. */
static int32_t flood(sup_untangle_work *w, int32_t seed, int32_t patch)
{
    const sup_untangle_view *view = w->view;
    int32_t count = 1;
    w->queue[0] = seed;
    w->vertex[seed].patch = patch;
    for (int32_t i = 0; i < count && count <= PATCH; i++)
        for (int32_t e = view->neighbour_first[w->queue[i]]; e < view->neighbour_first[w->queue[i] + 1]; e++) {
            int32_t next = view->neighbours[e];
            if (w->wall[e]) continue;
            load_vertex(w, next);
            if (w->vertex[next].patch != NO_PATCH) continue;
            w->vertex[next].patch = patch;
            w->queue[count++] = next;
        }
    return count;
}

/* The patch around a vertex; `outer`: what is outside. */
static void make_patch(sup_untangle_work *w, int32_t first, bool outer)
{
    unsigned char side = outer ? OUTSIDE : SEED;
    int32_t count = flood(w, first, w->patch_count);
    bool closed = count <= PATCH && w->patch_count < w->patch_most;
    sup_untangle_patch patch = {.outer = outer};
    for (int32_t k = 0; k < count; k++) {
        int32_t v = w->queue[k];
        bool seed = (w->state[v] & side) != 0;
        patch.deep = patch.deep || !seed;
        if (!closed) w->vertex[v].patch = seed ? OPEN : NO_PATCH;
        if (!closed) continue;
        enlist(w, v);
        join(w, first, v);
    }
    if (closed) w->patches[w->patch_count++] = patch;
}

/* Two skins that cross cut a patch out of each other: what is inside. */
static void make_inner(sup_untangle_work *w)
{
    sup_untangle_at at = {-1, 0};
    for (const sup_untangle_hit *hit = sup_untangle_next(w, &at); hit != NULL; hit = sup_untangle_next(w, &at)) {
        enlist(w, hit->inside);
        w->state[hit->inside] |= SEED;
        w->state[hit->outside] |= OUTSIDE;
        set_wall(w, hit, 1);
    }
    w->patch_count = 0;
    for (int32_t i = 0, seeds = w->list_count; i < seeds; i++)
        if (w->vertex[w->list[i]].patch == NO_PATCH) make_patch(w, w->list[i], false);
}

/* Where skin was pressed through its own body from within, what is inside does not end; where a thumb has come out of a
 * hand on the other side, it has no way out. Then the patch is what is outside, if that ends. */
static void make_outer(sup_untangle_work *w)
{
    sup_untangle_at at = {-1, 0};
    for (const sup_untangle_hit *hit = sup_untangle_next(w, &at); hit != NULL; hit = sup_untangle_next(w, &at)) {
        int32_t inner = w->vertex[hit->inside].patch;
        bool torn = inner >= 0 && !w->patches[inner].outer && w->patches[inner].torn;
        if (inner != OPEN && !torn) continue;
        if (w->vertex[hit->outside].patch == NO_PATCH) make_patch(w, hit->outside, true);
        int32_t outer = w->vertex[hit->outside].patch;
        if (torn && outer >= 0 && w->patches[outer].outer) w->patches[inner].left = true;
    }
}

static sup_untangle_patch *patch_of(const sup_untangle_work *w, const sup_untangle_hit *hit)
{
    int32_t inner = w->vertex[hit->inside].patch, outer = w->vertex[hit->outside].patch;
    bool inside = inner >= 0 && !w->patches[inner].outer;
    if (inside && !w->patches[inner].left) return &w->patches[inner];
    if (outer >= 0 && w->patches[outer].outer) return &w->patches[outer];
    return inside ? &w->patches[inner] : NULL;
}

/* The planes of the patches from `first` on. */
static void fit_patches(sup_untangle_work *w, int32_t first)
{
    sup_untangle_at at = {-1, 0};
    for (const sup_untangle_hit *hit = sup_untangle_next(w, &at); hit != NULL; hit = sup_untangle_next(w, &at)) {
        sup_untangle_patch *patch = patch_of(w, hit);
        if (patch == NULL || patch - w->patches < first) continue;
        for (int32_t k = 0; k < 3; k++) {
            patch->point[k] += hit->point[k];
            patch->normal[k] += patch->outer ? -hit->normal[k] : hit->normal[k]; /* the way out, or in */
        }
        patch->share += hit->share;
        patch->edge += hit->edge;
        patch->weight += 1.0f;
    }
    for (int32_t i = first; i < w->patch_count; i++) {
        sup_untangle_patch *patch = &w->patches[i];
        float length = length_of(patch->normal);
        patch->torn = !(length > agree * patch->weight);
        patch->left = !(length > least_agree * patch->weight);
        for (int32_t k = 0; k < 3 && !patch->left; k++) {
            patch->normal[k] /= length;
            patch->point[k] /= patch->weight;
        }
        patch->share /= patch->weight;
        patch->edge /= patch->weight;
    }
}

/* --- Moves --- */

static void ask(sup_untangle_work *w, int32_t v, const float *normal, float way)
{
    sup_untangle_vertex *vertex = &w->vertex[v];
    enlist(w, v);
    for (int32_t k = 0; k < 3; k++)
        vertex->way[k] += way * normal[k];
    vertex->most = fmaxf(vertex->most, fabsf(way));
}

/* Patches go to their planes as a whole, but for the share of what they are in. */
static void ask_patches(sup_untangle_work *w)
{
    int32_t count = w->list_count;
    for (int32_t i = 0; i < count; i++) {
        const sup_untangle_vertex *vertex = &w->vertex[w->list[i]];
        sup_untangle_patch *patch = vertex->patch >= 0 ? &w->patches[vertex->patch] : NULL;
        if (patch == NULL || !patch->deep || patch->left) continue;
        float depth = 0.0f;
        for (int32_t k = 0; k < 3; k++)
            depth += patch->normal[k] * (patch->point[k] - vertex->x[k]);
        patch->depth = fmaxf(patch->depth, depth);
        if (depth > 0.0f) ask(w, w->list[i], patch->normal, (1.0f - patch->share) * (depth + gap_part * patch->edge));
    }
}

/* Two places near each other along the skin: what crosses there is no contact but a fold that is too tight. */
static bool is_fold(const sup_untangle_work *w, const sup_untangle_hit *hit)
{
    int32_t a = w->view->coarse[hit->inside], b = w->view->coarse[corners_of(w, hit)[0]];
    vec d = sub(w->def->rest + 3 * (size_t)a, w->def->rest + 3 * (size_t)b);
    float most = kin_gaps * (w->def->gap[a] + w->def->gap[b]);
    return dot(d, d) < most * most;
}

static void mark_fold(sup_untangle_work *w, const sup_untangle_hit *hit)
{
    enlist(w, hit->outside);
    w->state[hit->inside] |= FOLD;
    w->state[hit->outside] |= FOLD;
    for (int32_t k = 0; k < 3; k++)
        w->state[corners_of(w, hit)[k]] |= FOLD;
}

static void ask_hits(sup_untangle_work *w)
{
    sup_untangle_at at = {-1, 0};
    for (const sup_untangle_hit *hit = sup_untangle_next(w, &at); hit != NULL; hit = sup_untangle_next(w, &at)) {
        const sup_untangle_patch *patch = patch_of(w, hit);
        if (patch != NULL && patch->left) continue;
        bool outer = patch != NULL && patch->outer, deep = patch != NULL && patch->deep;
        const float sign = outer ? -1.0f : 1.0f, *b = hit->weight;
        const float own[3] = {sign * hit->normal[0], sign * hit->normal[1], sign * hit->normal[2]};
        const float *normal = deep ? patch->normal : own;
        float end = fminf(outer ? hit->height : hit->depth, reach * hit->edge);
        float depth = gap_part * hit->edge + (deep ? patch->depth : end);
        float square = b[0] * b[0] + b[1] * b[1] + b[2] * b[2];
        if (!deep) ask(w, outer ? hit->outside : hit->inside, normal, (1.0f - hit->share) * depth);
        for (int32_t k = 0; k < 3; k++)
            ask(w, corners_of(w, hit)[k], normal, -hit->share * depth * b[k] / square);
        if (patch == NULL && is_fold(w, hit)) mark_fold(w, hit);
    }
}

/* Sum over the neighbours of a vertex, of their places or of their moves. Returns how many there are. */
static int32_t sum_around(const sup_untangle_work *w, int32_t v, bool moves, float sum[3])
{
    const sup_untangle_view *view = w->view;
    sum[0] = sum[1] = sum[2] = 0.0f;
    for (int32_t e = view->neighbour_first[v]; e < view->neighbour_first[v + 1]; e++) {
        load_vertex(w, view->neighbours[e]);
        const sup_untangle_vertex *vertex = &w->vertex[view->neighbours[e]];
        for (int32_t k = 0; k < 3; k++)
            sum[k] += moves ? vertex->move[k] : vertex->x[k];
    }
    return view->neighbour_first[v + 1] - view->neighbour_first[v];
}

/* What all crossings together ask of a vertex, but no farther than one of them; folds are smoothed. */
static void set_moves(sup_untangle_work *w)
{
    for (int32_t i = 0; i < w->list_count; i++) {
        int32_t v = w->list[i];
        sup_untangle_vertex *vertex = &w->vertex[v];
        bool fold = (w->state[v] & FOLD) != 0;
        float length = length_of(vertex->way), scale = fold ? fold_push : 1.0f, sum[3];
        if (length > vertex->most) scale *= vertex->most / length;
        for (int32_t k = 0; k < 3; k++)
            vertex->move[k] = scale * vertex->way[k];
        if (!fold) continue;
        int32_t count = sum_around(w, v, false, sum);
        for (int32_t k = 0; k < 3; k++)
            vertex->move[k] += fold_smooth * (sum[k] / (float)count - vertex->x[k]);
    }
}

/* Skin around what is moved follows by degrees. */
static void spread(sup_untangle_work *w)
{
    const sup_untangle_view *view = w->view;
    int32_t moved = w->list_count, begin = 0;
    for (int32_t ring = 0; ring < AROUND; ring++) {
        int32_t end = w->list_count;
        for (int32_t i = begin; i < end; i++)
            for (int32_t e = view->neighbour_first[w->list[i]]; e < view->neighbour_first[w->list[i] + 1]; e++) {
                enlist(w, view->neighbours[e]);
                join(w, w->list[i], view->neighbours[e]);
            }
        begin = end;
    }
    for (int32_t round = 0; round < AROUND; round++)
        for (int32_t i = moved; i < w->list_count; i++) {
            float sum[3];
            int32_t count = sum_around(w, w->list[i], true, sum);
            for (int32_t k = 0; k < 3; k++)
                w->vertex[w->list[i]].move[k] = follow * sum[k] / (float)count;
        }
}

/* How far from where it came a vertex may be. */
static float most_at(const sup_untangle_work *w, int32_t v)
{
    int32_t coarse = w->view->coarse[v];
    return w->def->held[coarse] ? 0.0f : farthest * w->def->gap[coarse];
}

/* By what was found, but never far from where it came. */
static void move_vertex(const sup_untangle_work *w, int32_t v)
{
    sup_untangle_vertex *vertex = &w->vertex[v];
    float off[3];
    for (int32_t k = 0; k < 3; k++) {
        off[k] = vertex->x[k] + vertex->move[k] - vertex->from[k];
        vertex->way[k] = vertex->move[k] = 0.0f;
    }
    float length = length_of(off), most = most_at(w, v), scale = length > most ? most / length : 1.0f;
    for (int32_t k = 0; k < 3; k++)
        vertex->x[k] = vertex->from[k] + scale * off[k];
}

/* Square of the length that an edge may have. */
static float longest_square(const sup_untangle_work *w, int32_t a, int32_t b)
{
    vec from = sub(w->vertex[a].from, w->vertex[b].from);
    vec rest = sub(w->view->rest + 3 * (size_t)a, w->view->rest + 3 * (size_t)b);
    float most = most_stretch * most_stretch * dot(rest, rest);
    return fminf(longest * longest * fmaxf(dot(from, from), dot(rest, rest)), most);
}

/* How much of what an edge is too long a vertex takes, by that of the other end. */
static float give_of(const sup_untangle_work *w, int32_t v)
{
    return w->def->held[w->view->coarse[v]] ? 0.0f : w->vertex[v].most > 0.0f ? heavy : 1.0f;
}

/* Makes an edge that is too long as long as it may be. Returns whether it was. */
static bool shorten(sup_untangle_work *w, int32_t a, int32_t b)
{
    float *p = w->vertex[a].x, *q = w->vertex[b].x;
    vec d = sub(q, p);
    float most = longest_square(w, a, b), square = dot(d, d);
    if (!(square > 1.001f * most)) return false;
    float give[2] = {give_of(w, a), give_of(w, b)}, sum = give[0] + give[1];
    if (!(sum > 0.0f)) return false;
    enlist(w, b);
    join(w, a, b);
    float way = (1.0f - sqrtf(most / square)) / sum;
    const float step[3] = {way * d.x, way * d.y, way * d.z};
    for (int32_t k = 0; k < 3; k++) {
        p[k] += give[0] * step[k];
        q[k] -= give[1] * step[k];
    }
    return true;
}

/* Edges at what was moved are made no longer than they may be: the skin around comes along, as far as it has to. */
static void limit_edges(sup_untangle_work *w, int32_t sweeps)
{
    const sup_untangle_view *view = w->view;
    bool any = true;
    for (int32_t sweep = 0; sweep < sweeps && any; sweep++) {
        any = false;
        for (int32_t i = 0; i < w->list_count; i++) {
            int32_t v = w->list[i];
            for (int32_t e = view->neighbour_first[v]; e < view->neighbour_first[v + 1]; e++) {
                int32_t other = view->neighbours[e];
                load_vertex(w, other);
                if ((w->state[other] & LISTED) && other < v) continue;
                any = shorten(w, v, other) || any;
            }
        }
    }
}

/* Bundles to compare again: they have moved; what has not, and is in something, is found from there. */
static void mark_dirty(sup_untangle_work *w)
{
    for (int32_t i = 0; i < w->active_count; i++) {
        int32_t first = 3 * SUP_UNTANGLE_CLUSTER * w->active[i], end = first + 3 * SUP_UNTANGLE_CLUSTER;
        w->dirty[i] = 0;
        for (int32_t k = first; k < end && k < 3 * w->view->triangle_count && !w->dirty[i]; k++)
            w->dirty[i] = (w->state[w->view->triangles[k]] & LISTED) != 0;
    }
}

static void part_once(sup_untangle_work *w)
{
    w->list_count = 0;
    make_inner(w);
    fit_patches(w, 0);
    int32_t inner = w->patch_count;
    make_outer(w);
    fit_patches(w, inner);
    ask_patches(w);
    ask_hits(w);
    set_moves(w);
    spread(w);
    for (int32_t i = 0; i < w->list_count; i++)
        move_vertex(w, w->list[i]);
    limit_edges(w, SWEEPS);
    mark_dirty(w);
    for (int32_t i = 0; i < w->list_count; i++) {
        sup_untangle_vertex *vertex = &w->vertex[w->list[i]];
        vertex->most = 0.0f;
        vertex->patch = NO_PATCH;
        w->state[w->list[i]] &= SUP_UNTANGLE_LOADED | KNOWN;
    }
    sup_untangle_at at = {-1, 0};
    for (const sup_untangle_hit *hit = sup_untangle_next(w, &at); hit != NULL; hit = sup_untangle_next(w, &at)) {
        set_wall(w, hit, 0);
        w->state[hit->outside] &= (unsigned char)~OUTSIDE;
        w->vertex[hit->outside].patch = NO_PATCH;
    }
}

/* What was moved in the last frame begins there, and comes back by degrees. */
static void know_moved(sup_untangle_work *w)
{
    enum { SOME = 16 }; /* vertices at a time: hardly any has moved */
    int32_t n = w->view->vertex_count;
    for (int32_t first = 0; first < n; first += SOME) {
        int32_t end = first + SOME < n ? first + SOME : n;
        const float *offset = w->def->offset + 3 * (size_t)first;
        uint32_t any = 0;
        for (int32_t k = 0; k < 3 * (end - first); k++)
            any |= offset[k] != 0.0f;
        for (int32_t v = first; v < end && any; v++, offset += 3)
            if (offset[0] != 0.0f || offset[1] != 0.0f || offset[2] != 0.0f) know(w, v);
    }
}

/* The best places of all rounds side by side. */
static void take_best(sup_untangle_work *w)
{
    w->list_count = 0;
    for (int32_t i = 0, count = w->known_count; i < count; i++) {
        memcpy(w->vertex[w->known[i]].x, w->vertex[w->known[i]].best, sizeof w->vertex->x);
        enlist(w, w->known[i]);
    }
    limit_edges(w, LAST_SWEEPS);
}

static void write_back(const sup_untangle_work *w)
{
    const sup_untangle_view *view = w->view;
    for (int32_t i = 0; i < w->known_count; i++) {
        int32_t v = w->known[i];
        sup_untangle_vertex *vertex = &w->vertex[v];
        float *offset = w->def->offset + 3 * (size_t)v, length;
        for (int32_t k = 0; k < 3; k++)
            offset[k] = vertex->x[k] - vertex->from[k];
        length = length_of(offset);
        if (!(length > least_offset * w->def->gap[view->coarse[v]]) || !isfinite(length))
            memset(offset, 0, 3 * sizeof *offset);
        for (int32_t k = view->shown_first[v]; k < view->shown_first[v + 1]; k++)
            memcpy((unsigned char *)w->out.positions + (size_t)view->shown[k] * w->out.position_stride, vertex->x,
                   sizeof vertex->x);
    }
}

void sup_untangle(const sup_context *context, const sup_untangle_view *view, const sup_untangle_def *def, void *scratch,
                   const sup_skin_out *out)
{
    size_t size;
    if (view->triangle_count == 0 || scratch == NULL || out->positions == NULL) return;
    sup_untangle_work w = sup_untangle_lay_out(view, scratch, &size);
    w.def = def;
    w.out = *out;
    if (w.out.position_stride == 0) w.out.position_stride = 3 * sizeof(float);
    know_moved(&w);
    if (def->look) {
        sup_untangle_choose(&w);
        memset(w.wall, 0, (size_t)view->neighbour_first[view->vertex_count]);
        int32_t round = 0;
        for (; sup_untangle_find(context, &w) > 0 && round < ROUNDS; round++) {
            keep_best(&w, round == 0);
            part_once(&w);
        }
        if (round > 0) keep_best(&w, false);
        take_best(&w);
    }
    write_back(&w);
}

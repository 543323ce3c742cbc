/* untangle.c - moves crossing skin of the render mesh apart. See untangle.h. */
#include "untangle/untangle_internal.h"
#include "untangle/untangle_rules.h"

#include <math.h>

/* Vertices that an iteration moves. */
typedef struct vertex_list {
    int32_t *items; /* [vertex_count] */
    int32_t count;
} vertex_list;

/* Every vertex is loaded before it is used in any other way. */
static void load_vertex(const sup_untangle_mesh *mesh, int32_t v)
{
    if (mesh->state[v] & SUP_UNTANGLE_LOADED) return;
    const float *start = sup_untangle_position(mesh, v);
    sup_untangle_vertex *vertex = &mesh->vertex[v];
    *vertex = (sup_untangle_vertex){.patch = SUP_UNTANGLE_NO_PATCH, .parent = v};
    for (int32_t k = 0; k < 3; k++) {
        vertex->start[k] = start[k];
        vertex->x[k] = start[k] + mesh->offset_fraction * mesh->offset[3 * (size_t)v + (size_t)k];
    }
    mesh->state[v] |= SUP_UNTANGLE_LOADED;
}

static float length_of(const float *a)
{
    return sqrtf(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

static const int32_t *corners_of(const sup_untangle_view *view, const sup_untangle_crossing *crossing)
{
    return view->triangles + 3 * (size_t)crossing->triangle;
}

/* --- Connected components: moved, or skipped, as a whole --- */

static int32_t component_of(sup_untangle_vertex *vertex, int32_t v)
{
    while (vertex[v].parent != v)
        v = vertex[v].parent = vertex[vertex[v].parent].parent;
    return v;
}

static void join(sup_untangle_vertex *vertex, int32_t a, int32_t b)
{
    int32_t x = component_of(vertex, a), y = component_of(vertex, b);
    if (x < y) vertex[y].parent = x;
    if (y < x) vertex[x].parent = y;
}

/* Adds a vertex to those whose positions are written back. */
static void add_known(sup_untangle_mesh *mesh, int32_t v)
{
    load_vertex(mesh, v);
    if (mesh->state[v] & SUP_UNTANGLE_KNOWN) return;
    mesh->state[v] |= SUP_UNTANGLE_KNOWN;
    mesh->known[mesh->known_count++] = v;
    memcpy(mesh->vertex[v].best, mesh->vertex[v].x, sizeof mesh->vertex[v].best);
}

static void count_crossings(sup_untangle_mesh *mesh, const sup_untangle_crossings *crossings)
{
    sup_untangle_iterator at = {-1, 0};
    const sup_untangle_crossing *crossing;
    for (int32_t i = 0; i < mesh->known_count; i++)
        mesh->vertex[mesh->known[i]].crossings = 0;
    while ((crossing = sup_untangle_next(crossings, &at)) != NULL) {
        const int32_t *corner = corners_of(mesh->view, crossing);
        add_known(mesh, crossing->inside);
        add_known(mesh, crossing->outside);
        join(mesh->vertex, crossing->inside, crossing->outside);
        for (int32_t k = 0; k < 3; k++) {
            add_known(mesh, corner[k]);
            join(mesh->vertex, crossing->inside, corner[k]);
        }
        mesh->vertex[crossing->inside].crossings++;
    }
}

/* Components that cross less than in all iterations before store their positions. */
static void keep_best(sup_untangle_mesh *mesh, const sup_untangle_crossings *crossings, bool first)
{
    sup_untangle_vertex *vertices = mesh->vertex;
    count_crossings(mesh, crossings);
    for (int32_t i = 0; i < mesh->known_count; i++)
        vertices[mesh->known[i]].sum = vertices[mesh->known[i]].best_sum = 0;
    for (int32_t i = 0; i < mesh->known_count; i++) {
        sup_untangle_vertex *vertex = &vertices[mesh->known[i]];
        sup_untangle_vertex *root = &vertices[component_of(vertices, mesh->known[i])];
        if (first) vertex->best_crossings = vertex->crossings;
        root->sum += vertex->crossings;
        root->best_sum += vertex->best_crossings;
    }
    for (int32_t i = 0; i < mesh->known_count; i++) {
        sup_untangle_vertex *vertex = &vertices[mesh->known[i]];
        const sup_untangle_vertex *root = &vertices[component_of(vertices, mesh->known[i])];
        if (root->sum >= root->best_sum) continue;
        vertex->best_crossings = vertex->crossings;
        memcpy(vertex->best, vertex->x, sizeof vertex->best);
    }
}

/* --- Patches --- */

static void enlist(sup_untangle_mesh *mesh, vertex_list *moved, int32_t v)
{
    add_known(mesh, v);
    if (mesh->state[v] & SUP_UNTANGLE_LISTED) return;
    mesh->state[v] |= SUP_UNTANGLE_LISTED;
    moved->items[moved->count++] = v;
}

/* Marks the edge of a crossing, from both ends, as the boundary of patches. */
static void set_boundary(const sup_untangle_view *view, const sup_untangle_crossing *crossing, unsigned char value,
                         unsigned char *boundary)
{
    const int32_t *first = view->neighbour_first, ends[2] = {crossing->inside, crossing->outside};
    for (int32_t k = 0; k < 2; k++)
        for (int32_t e = first[ends[k]]; e < first[ends[k] + 1]; e++)
            if (view->neighbours[e] == ends[1 - k]) boundary[e] = value;
}

/* Flood fill from one end of a crossing edge along edges that do not cross, into patches->queue. Returns the number of
 * vertices; more than SUP_UNTANGLE_MAX_PATCH: the patch is open. */
static int32_t flood(const sup_untangle_mesh *mesh, const sup_untangle_patches *patches, int32_t seed)
{
    const sup_untangle_view *view = mesh->view;
    int32_t count = 1, *queue = patches->queue;
    queue[0] = seed;
    mesh->vertex[seed].patch = patches->count;
    for (int32_t i = 0; i < count && count <= SUP_UNTANGLE_MAX_PATCH; i++)
        for (int32_t e = view->neighbour_first[queue[i]]; e < view->neighbour_first[queue[i] + 1]; e++) {
            int32_t next = view->neighbours[e];
            if (patches->boundary[e]) continue;
            load_vertex(mesh, next);
            if (mesh->vertex[next].patch != SUP_UNTANGLE_NO_PATCH) continue;
            mesh->vertex[next].patch = patches->count;
            queue[count++] = next;
        }
    return count;
}

/* The patch around a vertex; `outer`: made of the skin outside. */
static void make_patch(sup_untangle_mesh *mesh, sup_untangle_patches *patches, vertex_list *moved, int32_t first,
                       bool outer)
{
    unsigned char side = outer ? SUP_UNTANGLE_OUTSIDE : SUP_UNTANGLE_INSIDE;
    int32_t count = flood(mesh, patches, first);
    bool closed = count <= SUP_UNTANGLE_MAX_PATCH && patches->count < SUP_UNTANGLE_MAX_PATCHES;
    sup_untangle_patch patch = {.outer = outer};
    for (int32_t k = 0; k < count; k++) {
        int32_t v = patches->queue[k];
        bool seed = (mesh->state[v] & side) != 0;
        patch.deep = patch.deep || !seed;
        if (!closed) mesh->vertex[v].patch = seed ? SUP_UNTANGLE_OPEN : SUP_UNTANGLE_NO_PATCH;
        if (!closed) continue;
        enlist(mesh, moved, v);
        join(mesh->vertex, first, v);
    }
    if (closed) patches->items[patches->count++] = patch;
}

/* Two skins that cross cut patches out of each other: those that are inside. */
static void make_inner_patches(sup_untangle_mesh *mesh, const sup_untangle_crossings *crossings,
                               sup_untangle_patches *patches, vertex_list *moved)
{
    sup_untangle_iterator at = {-1, 0};
    const sup_untangle_crossing *crossing;
    while ((crossing = sup_untangle_next(crossings, &at)) != NULL) {
        enlist(mesh, moved, crossing->inside);
        mesh->state[crossing->inside] |= SUP_UNTANGLE_INSIDE;
        mesh->state[crossing->outside] |= SUP_UNTANGLE_OUTSIDE;
        set_boundary(mesh->view, crossing, 1, patches->boundary);
    }
    patches->count = 0;
    for (int32_t i = 0, seeds = moved->count; i < seeds; i++)
        if (mesh->vertex[moved->items[i]].patch == SUP_UNTANGLE_NO_PATCH)
            make_patch(mesh, patches, moved, moved->items[i], false);
}

/* Where skin was pressed through its own body from within, the inner patch is open; where a thumb has come out of a
 * hand on the other side, its direction is ambiguous. Then the patch is the skin outside, if that is closed. */
static void make_outer_patches(sup_untangle_mesh *mesh, const sup_untangle_crossings *crossings,
                               sup_untangle_patches *patches, vertex_list *moved)
{
    sup_untangle_iterator at = {-1, 0};
    const sup_untangle_crossing *crossing;
    while ((crossing = sup_untangle_next(crossings, &at)) != NULL) {
        int32_t inner = mesh->vertex[crossing->inside].patch;
        bool ambiguous = inner >= 0 && !patches->items[inner].outer && patches->items[inner].ambiguous;
        if (inner != SUP_UNTANGLE_OPEN && !ambiguous) continue;
        if (mesh->vertex[crossing->outside].patch == SUP_UNTANGLE_NO_PATCH)
            make_patch(mesh, patches, moved, crossing->outside, true);
        int32_t outer = mesh->vertex[crossing->outside].patch;
        if (ambiguous && outer >= 0 && patches->items[outer].outer) patches->items[inner].skipped = true;
    }
}

static sup_untangle_patch *patch_of(const sup_untangle_vertex *vertex, const sup_untangle_patches *patches,
                                    const sup_untangle_crossing *crossing)
{
    int32_t inner = vertex[crossing->inside].patch, outer = vertex[crossing->outside].patch;
    if (patches->count == 0) return NULL;
    const sup_untangle_patch none = {0}, *a = inner >= 0 ? &patches->items[inner] : &none;
    bool outer_is_outer = outer >= 0 && patches->items[outer].outer;
    int32_t chosen = sup_untangle_choose_patch(inner, a->outer, a->skipped, outer, outer_is_outer);
    return chosen >= 0 ? &patches->items[chosen] : NULL;
}

/* Planes of the patches from `first` on. */
static void fit_patches(const sup_untangle_vertex *vertex, const sup_untangle_crossings *crossings,
                        sup_untangle_patches *patches, int32_t first)
{
    sup_untangle_iterator at = {-1, 0};
    const sup_untangle_crossing *crossing;
    while ((crossing = sup_untangle_next(crossings, &at)) != NULL) {
        sup_untangle_patch *patch = patch_of(vertex, patches, crossing);
        if (patch == NULL || patch - patches->items < first) continue;
        for (int32_t k = 0; k < 3; k++) {
            patch->point[k] += crossing->point[k];
            patch->normal[k] += patch->outer ? -crossing->normal[k] : crossing->normal[k]; /* outwards, or inwards */
        }
        patch->fraction += crossing->fraction;
        patch->edge += crossing->edge;
        patch->count += 1.0f;
    }
    for (int32_t i = first; i < patches->count; i++) {
        sup_untangle_patch *patch = &patches->items[i];
        float length = length_of(patch->normal);
        patch->ambiguous = sup_untangle_is_ambiguous(length, patch->count);
        patch->skipped = sup_untangle_is_skipped(length, patch->count);
        for (int32_t k = 0; k < 3 && !patch->skipped; k++) {
            patch->normal[k] /= length;
            patch->point[k] /= patch->count;
        }
        patch->fraction /= patch->count;
        patch->edge /= patch->count;
    }
}

/* --- Displacements --- */

static void push(sup_untangle_mesh *mesh, vertex_list *moved, int32_t v, const float *normal, float distance)
{
    sup_untangle_vertex *vertex = &mesh->vertex[v];
    enlist(mesh, moved, v);
    for (int32_t k = 0; k < 3; k++)
        vertex->push[k] += distance * normal[k];
    vertex->longest = fmaxf(vertex->longest, fabsf(distance));
}

/* Patches move to their planes as a whole, apart from the fraction that the other skin takes. */
static void push_patches(sup_untangle_mesh *mesh, const sup_untangle_patches *patches, vertex_list *moved)
{
    int32_t count = moved->count;
    for (int32_t i = 0; i < count; i++) {
        const sup_untangle_vertex *vertex = &mesh->vertex[moved->items[i]];
        sup_untangle_patch *patch = vertex->patch >= 0 ? &patches->items[vertex->patch] : NULL;
        if (patch == NULL || !patch->deep || patch->skipped) continue;
        float depth = 0.0f;
        for (int32_t k = 0; k < 3; k++)
            depth += patch->normal[k] * (patch->point[k] - vertex->x[k]);
        patch->depth = fmaxf(patch->depth, depth);
        if (depth > 0.0f)
            push(mesh, moved, moved->items[i], patch->normal,
                 sup_untangle_patch_push(depth, patch->edge, patch->fraction));
    }
}

static bool is_fold(const sup_untangle_view *view, const sup_untangle_def *def, const sup_untangle_crossing *crossing)
{
    int32_t a = view->coarse[crossing->inside], b = view->coarse[corners_of(view, crossing)[0]];
    vec d = sub(def->coarse_rest + 3 * (size_t)a, def->coarse_rest + 3 * (size_t)b);
    return sup_untangle_is_fold(dot(d, d), def->gap[a], def->gap[b]);
}

static void mark_fold(sup_untangle_mesh *mesh, vertex_list *moved, const sup_untangle_crossing *crossing)
{
    enlist(mesh, moved, crossing->outside);
    mesh->state[crossing->inside] |= SUP_UNTANGLE_FOLD;
    mesh->state[crossing->outside] |= SUP_UNTANGLE_FOLD;
    for (int32_t k = 0; k < 3; k++)
        mesh->state[corners_of(mesh->view, crossing)[k]] |= SUP_UNTANGLE_FOLD;
}

static void push_crossings(sup_untangle_mesh *mesh, const sup_untangle_def *def,
                           const sup_untangle_crossings *crossings, const sup_untangle_patches *patches,
                           vertex_list *moved)
{
    sup_untangle_iterator at = {-1, 0};
    const sup_untangle_crossing *crossing;
    while ((crossing = sup_untangle_next(crossings, &at)) != NULL) {
        const sup_untangle_patch *patch = patch_of(mesh->vertex, patches, crossing);
        if (patch != NULL && patch->skipped) continue;
        bool outer = patch != NULL && patch->outer, deep = patch != NULL && patch->deep;
        const float sign = outer ? -1.0f : 1.0f, *b = crossing->weight;
        const float own[3] = {sign * crossing->normal[0], sign * crossing->normal[1], sign * crossing->normal[2]};
        const float *normal = deep ? patch->normal : own;
        float end = sup_untangle_limit_depth(outer ? crossing->height : crossing->depth, crossing->edge);
        float distance = sup_untangle_crossing_push(deep ? patch->depth : end, crossing->edge);
        float square = b[0] * b[0] + b[1] * b[1] + b[2] * b[2];
        if (!deep)
            push(mesh, moved, outer ? crossing->outside : crossing->inside, normal,
                 (1.0f - crossing->fraction) * distance);
        for (int32_t k = 0; k < 3; k++)
            push(mesh, moved, corners_of(mesh->view, crossing)[k], normal,
                 -crossing->fraction * distance * b[k] / square);
        if (patch == NULL && is_fold(mesh->view, def, crossing)) mark_fold(mesh, moved, crossing);
    }
}

/* Sum over the neighbours of a vertex, of their positions or of their moves. Returns the number of neighbours. */
static int32_t sum_neighbours(const sup_untangle_mesh *mesh, int32_t v, bool moves, float sum[3])
{
    const sup_untangle_view *view = mesh->view;
    sum[0] = sum[1] = sum[2] = 0.0f;
    for (int32_t e = view->neighbour_first[v]; e < view->neighbour_first[v + 1]; e++) {
        load_vertex(mesh, view->neighbours[e]);
        const sup_untangle_vertex *vertex = &mesh->vertex[view->neighbours[e]];
        for (int32_t k = 0; k < 3; k++)
            sum[k] += moves ? vertex->move[k] : vertex->x[k];
    }
    return view->neighbour_first[v + 1] - view->neighbour_first[v];
}

/* The displacements that all crossings ask of a vertex, together; folds are smoothed. */
static void set_moves(const sup_untangle_mesh *mesh, const vertex_list *moved)
{
    for (int32_t i = 0; i < moved->count; i++) {
        int32_t v = moved->items[i];
        sup_untangle_vertex *vertex = &mesh->vertex[v];
        bool fold = (mesh->state[v] & SUP_UNTANGLE_FOLD) != 0;
        float scale = sup_untangle_push_scale(fold, length_of(vertex->push), vertex->longest), sum[3];
        for (int32_t k = 0; k < 3; k++)
            vertex->move[k] = scale * vertex->push[k];
        if (!fold) continue;
        int32_t count = sum_neighbours(mesh, v, false, sum);
        for (int32_t k = 0; k < 3; k++)
            vertex->move[k] += SUP_UNTANGLE_FOLD_SMOOTH * (sum[k] / (float)count - vertex->x[k]);
    }
}

/* Skin around moved vertices follows, ring by ring. */
static void move_rings(sup_untangle_mesh *mesh, vertex_list *moved)
{
    const sup_untangle_view *view = mesh->view;
    int32_t pushed = moved->count, begin = 0;
    for (int32_t ring = 0; ring < SUP_UNTANGLE_RINGS; ring++) {
        int32_t end = moved->count;
        for (int32_t i = begin; i < end; i++) {
            int32_t v = moved->items[i];
            for (int32_t e = view->neighbour_first[v]; e < view->neighbour_first[v + 1]; e++) {
                enlist(mesh, moved, view->neighbours[e]);
                join(mesh->vertex, v, view->neighbours[e]);
            }
        }
        begin = end;
    }
    for (int32_t iteration = 0; iteration < SUP_UNTANGLE_RINGS; iteration++)
        for (int32_t i = pushed; i < moved->count; i++) {
            float sum[3];
            int32_t count = sum_neighbours(mesh, moved->items[i], true, sum);
            for (int32_t k = 0; k < 3; k++)
                mesh->vertex[moved->items[i]].move[k] = SUP_UNTANGLE_FOLLOW * sum[k] / (float)count;
        }
}

/* Applies the move of a vertex, with a limited offset from its position before untangling. */
static void move_vertex(const sup_untangle_mesh *mesh, const sup_untangle_def *def, int32_t v)
{
    sup_untangle_vertex *vertex = &mesh->vertex[v];
    int32_t coarse = mesh->view->coarse[v];
    float offset[3];
    for (int32_t k = 0; k < 3; k++) {
        offset[k] = vertex->x[k] + vertex->move[k] - vertex->start[k];
        vertex->push[k] = vertex->move[k] = 0.0f;
    }
    float scale =
        sup_untangle_offset_scale(def->fixed[coarse] != 0, length_of(offset), def->gap[coarse], mesh->view->size);
    for (int32_t k = 0; k < 3; k++)
        vertex->x[k] = vertex->start[k] + scale * offset[k];
}

/* --- Edge lengths --- */

static float max_edge2(const sup_untangle_mesh *mesh, int32_t a, int32_t b)
{
    vec before = sub(mesh->vertex[a].start, mesh->vertex[b].start);
    vec rest = sub(mesh->view->rest + 3 * (size_t)a, mesh->view->rest + 3 * (size_t)b);
    return sup_untangle_max_edge2(dot(before, before), dot(rest, rest));
}

static float mobility_of(const sup_untangle_mesh *mesh, const unsigned char *fixed, int32_t v)
{
    return sup_untangle_mobility(fixed[mesh->view->coarse[v]] != 0, mesh->vertex[v].longest > 0.0f);
}

/* Shortens an edge that is too long to its maximum length. Returns whether it was too long. */
static bool shorten(sup_untangle_mesh *mesh, const unsigned char *fixed, vertex_list *moved, int32_t a, int32_t b)
{
    float *p = mesh->vertex[a].x, *q = mesh->vertex[b].x;
    vec d = sub(q, p);
    float max2 = max_edge2(mesh, a, b), length2 = dot(d, d);
    if (!sup_untangle_is_long(length2, max2)) return false;
    float mobility[2] = {mobility_of(mesh, fixed, a), mobility_of(mesh, fixed, b)}, sum = mobility[0] + mobility[1];
    if (!(sum > 0.0f)) return false;
    enlist(mesh, moved, b);
    join(mesh->vertex, a, b);
    float excess = sup_untangle_excess(length2, max2, sum);
    const float step[3] = {excess * d.x, excess * d.y, excess * d.z};
    for (int32_t k = 0; k < 3; k++) {
        p[k] += mobility[0] * step[k];
        q[k] -= mobility[1] * step[k];
    }
    return true;
}

/* Shortens edges of moved vertices; neighbours are moved and enlisted as needed. */
static void limit_edges(sup_untangle_mesh *mesh, const unsigned char *fixed, vertex_list *moved, int32_t sweeps)
{
    const sup_untangle_view *view = mesh->view;
    bool any = true;
    for (int32_t sweep = 0; sweep < sweeps && any; sweep++) {
        any = false;
        for (int32_t i = 0; i < moved->count; i++) {
            int32_t v = moved->items[i];
            for (int32_t e = view->neighbour_first[v]; e < view->neighbour_first[v + 1]; e++) {
                int32_t other = view->neighbours[e];
                load_vertex(mesh, other);
                if ((mesh->state[other] & SUP_UNTANGLE_LISTED) && other < v) continue;
                any = shorten(mesh, fixed, moved, v, other) || any;
            }
        }
    }
}

/* --- Iterations --- */

/* Clusters that moved are compared again; skin that did not move and is inside others is found from those. */
static void mark_dirty(const sup_untangle_mesh *mesh, sup_untangle_search *search)
{
    const sup_untangle_view *view = mesh->view;
    for (int32_t i = 0; i < search->active_count; i++) {
        int32_t first = 3 * SUP_UNTANGLE_CLUSTER * search->active[i], end = first + 3 * SUP_UNTANGLE_CLUSTER;
        search->dirty[i] = 0;
        for (int32_t k = first; k < end && k < 3 * view->triangle_count && !search->dirty[i]; k++)
            search->dirty[i] = (mesh->state[view->triangles[k]] & SUP_UNTANGLE_LISTED) != 0;
    }
}

/* Clears the marks of an iteration. */
static void clear_marks(sup_untangle_mesh *mesh, const sup_untangle_crossings *crossings, const vertex_list *moved,
                        unsigned char *boundary)
{
    for (int32_t i = 0; i < moved->count; i++) {
        sup_untangle_vertex *vertex = &mesh->vertex[moved->items[i]];
        vertex->longest = 0.0f;
        vertex->patch = SUP_UNTANGLE_NO_PATCH;
        mesh->state[moved->items[i]] &= SUP_UNTANGLE_LOADED | SUP_UNTANGLE_KNOWN;
    }
    sup_untangle_iterator at = {-1, 0};
    const sup_untangle_crossing *crossing;
    while ((crossing = sup_untangle_next(crossings, &at)) != NULL) {
        set_boundary(mesh->view, crossing, 0, boundary);
        mesh->state[crossing->outside] &= (unsigned char)~SUP_UNTANGLE_OUTSIDE;
        mesh->vertex[crossing->outside].patch = SUP_UNTANGLE_NO_PATCH;
    }
}

/* Moves the skin at the crossings once. */
static void move_apart(sup_untangle_mesh *mesh, const sup_untangle_def *def, const sup_untangle_crossings *crossings,
                       sup_untangle_patches *patches, vertex_list *moved)
{
    moved->count = 0;
    make_inner_patches(mesh, crossings, patches, moved);
    fit_patches(mesh->vertex, crossings, patches, 0);
    int32_t inner = patches->count;
    make_outer_patches(mesh, crossings, patches, moved);
    fit_patches(mesh->vertex, crossings, patches, inner);
    push_patches(mesh, patches, moved);
    push_crossings(mesh, def, crossings, patches, moved);
    set_moves(mesh, moved);
    move_rings(mesh, moved);
    for (int32_t i = 0; i < moved->count; i++)
        move_vertex(mesh, def, moved->items[i]);
    limit_edges(mesh, def->fixed, moved, SUP_UNTANGLE_SWEEPS);
}

/* Vertices with an offset of the last frame begin there. */
static void add_offset_vertices(sup_untangle_mesh *mesh)
{
    enum { BATCH = 16 }; /* vertices that are tested together: few have an offset */
    int32_t n = mesh->view->vertex_count;
    for (int32_t first = 0; first < n; first += BATCH) {
        int32_t end = first + BATCH < n ? first + BATCH : n;
        const float *offset = mesh->offset + 3 * (size_t)first;
        uint32_t any = 0;
        for (int32_t k = 0; k < 3 * (end - first); k++)
            any |= offset[k] != 0.0f;
        for (int32_t v = first; v < end && any; v++, offset += 3)
            if (offset[0] != 0.0f || offset[1] != 0.0f || offset[2] != 0.0f) add_known(mesh, v);
    }
}

/* The best positions of all iterations. */
static void restore_best(sup_untangle_mesh *mesh, const unsigned char *fixed, vertex_list *moved)
{
    moved->count = 0;
    for (int32_t i = 0, count = mesh->known_count; i < count; i++) {
        sup_untangle_vertex *vertex = &mesh->vertex[mesh->known[i]];
        memcpy(vertex->x, vertex->best, sizeof vertex->x);
        enlist(mesh, moved, mesh->known[i]);
    }
    limit_edges(mesh, fixed, moved, SUP_UNTANGLE_LAST_SWEEPS);
}

/* Positions to the render mesh, offsets to the next frame. */
/* --- Limits of the offsets --- */

/* Change of the volume by the offsets. */
static double volume_change(const sup_untangle_mesh *mesh)
{
    const sup_untangle_view *view = mesh->view;
    const float *origin = mesh->vertex[mesh->known[0]].start;
    double sum = 0.0;
    for (int32_t t = 0; t < view->triangle_count; t++) {
        const int32_t *c = view->triangles + 3 * (size_t)t;
        if (!((mesh->state[c[0]] | mesh->state[c[1]] | mesh->state[c[2]]) & SUP_UNTANGLE_KNOWN)) continue;
        float start[3][3], x[3][3];
        for (int32_t k = 0; k < 3; k++) {
            load_vertex(mesh, c[k]);
            const sup_untangle_vertex *vertex = &mesh->vertex[c[k]];
            const float *now = mesh->state[c[k]] & SUP_UNTANGLE_KNOWN ? vertex->x : vertex->start;
            for (int32_t i = 0; i < 3; i++) {
                start[k][i] = vertex->start[i] - origin[i];
                x[k][i] = now[i] - origin[i];
            }
        }
        sum += sup_untangle_volume6(x[0], x[1], x[2]) - sup_untangle_volume6(start[0], start[1], start[2]);
    }
    return sum / 6.0;
}

/* Scales the offset of a vertex and limits its length. */
static void scale_offset(const sup_untangle_mesh *mesh, const sup_untangle_def *def, int32_t v, float scale)
{
    sup_untangle_vertex *vertex = &mesh->vertex[v];
    float offset[3];
    for (int32_t k = 0; k < 3; k++)
        offset[k] = scale * (vertex->x[k] - vertex->start[k]);
    float limit = sup_untangle_final_scale(def->fixed[mesh->view->coarse[v]] != 0, length_of(offset), mesh->view->size);
    for (int32_t k = 0; k < 3; k++)
        vertex->x[k] = vertex->start[k] + limit * offset[k];
}

/* Limits the change of an offset since the last frame. Its decay is not a change. */
static void limit_change(const sup_untangle_mesh *mesh, const sup_untangle_def *def, int32_t v)
{
    sup_untangle_vertex *vertex = &mesh->vertex[v];
    const float *last = def->offset + 3 * (size_t)v;
    float offset[3];
    for (int32_t k = 0; k < 3; k++)
        offset[k] = vertex->x[k] - vertex->start[k];
    float kept = sup_untangle_kept_fraction(offset, last, def->offset_fraction), change[3];
    for (int32_t k = 0; k < 3; k++)
        change[k] = offset[k] - kept * last[k];
    float length = length_of(change), limit = def->max_change[mesh->view->coarse[v]],
          scale = length > limit ? limit / length : 1.0f;
    for (int32_t k = 0; k < 3; k++)
        vertex->x[k] = vertex->start[k] + kept * last[k] + scale * change[k];
}

/* Offsets stay small, change the volume by no more than a budget, and change slowly. */
static void limit_offsets(const sup_untangle_mesh *mesh, const sup_untangle_def *def)
{
    if (mesh->known_count == 0) return;
    for (int32_t i = 0; i < mesh->known_count; i++)
        scale_offset(mesh, def, mesh->known[i], 1.0f);
    float scale = sup_untangle_volume_scale(volume_change(mesh), (double)mesh->view->rest_volume);
    for (int32_t i = 0; i < mesh->known_count; i++) {
        scale_offset(mesh, def, mesh->known[i], scale);
        if (def->max_change != NULL) limit_change(mesh, def, mesh->known[i]);
    }
}

static void write_back(const sup_untangle_mesh *mesh, const sup_untangle_def *def, const sup_skin_out *out)
{
    const sup_untangle_view *view = mesh->view;
    for (int32_t i = 0; i < mesh->known_count; i++) {
        int32_t v = mesh->known[i];
        const sup_untangle_vertex *vertex = &mesh->vertex[v];
        float *offset = def->offset + 3 * (size_t)v;
        for (int32_t k = 0; k < 3; k++)
            offset[k] = vertex->x[k] - vertex->start[k];
        if (!sup_untangle_stores_offset(length_of(offset), def->gap[view->coarse[v]]))
            memset(offset, 0, 3 * sizeof *offset);
        for (int32_t k = view->render_first[v]; k < view->render_first[v + 1]; k++)
            memcpy((unsigned char *)out->positions + (size_t)view->render_vertices[k] * mesh->stride, vertex->x,
                   sizeof vertex->x);
    }
}

void sup_untangle(const sup_context *context, const sup_untangle_view *view, const sup_untangle_def *def, void *scratch,
                  const sup_skin_out *out)
{
    if (view->triangle_count == 0 || scratch == NULL || out->positions == NULL) return;
    sup_untangle_buffers b = sup_untangle_layout(view, scratch);
    vertex_list moved = {b.moved, 0};
    b.mesh.positions = (const unsigned char *)out->positions;
    b.mesh.stride = out->position_stride != 0 ? out->position_stride : 3 * sizeof(float);
    b.mesh.offset = def->offset;
    b.mesh.offset_fraction = def->offset_fraction;
    add_offset_vertices(&b.mesh);
    if (def->search) {
        sup_untangle_select(view, def->near, &b.search);
        memset(b.patches.boundary, 0, (size_t)view->neighbour_first[view->vertex_count]);
        int32_t iteration = 0;
        while (sup_untangle_find(context, &b.mesh, &b.search, &b.crossings) > 0 &&
               iteration < SUP_UNTANGLE_ITERATIONS) {
            keep_best(&b.mesh, &b.crossings, iteration == 0);
            move_apart(&b.mesh, def, &b.crossings, &b.patches, &moved);
            mark_dirty(&b.mesh, &b.search);
            clear_marks(&b.mesh, &b.crossings, &moved, b.patches.boundary);
            iteration++;
        }
        if (iteration > 0) keep_best(&b.mesh, &b.crossings, false);
        restore_best(&b.mesh, def->fixed, &moved);
        limit_offsets(&b.mesh, def);
    }
    write_back(&b.mesh, def, out);
}

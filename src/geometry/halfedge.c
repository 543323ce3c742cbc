/* halfedge.c - split, collapse and flip of half-edge meshes, and their validity tests. */
#include "geometry/halfedge.h"

static void release(const sup_allocator *allocator, void *memory, size_t size)
{
    if (memory != NULL) sup_free(allocator, memory, size);
}

static bool reserve_vertices(sup_halfedges *mesh, int32_t count)
{
    if (count <= mesh->vertex_capacity) return true;
    const sup_allocator *allocator = &mesh->allocator;
    size_t from = (size_t)mesh->vertex_capacity, to = (size_t)count + (size_t)count / 2;
    size_t used = (size_t)mesh->vertex_count;
    sup_vec3d *position = sup_alloc(allocator, to * sizeof *position);
    double *size = sup_alloc(allocator, to * sizeof *size);
    int32_t *out = sup_alloc(allocator, to * sizeof *out);
    bool done = position != NULL && size != NULL && out != NULL;
    if (done && used > 0) {
        memcpy(position, mesh->position, used * sizeof *position);
        memcpy(size, mesh->size, used * sizeof *size);
        memcpy(out, mesh->out, used * sizeof *out);
    }
    size_t old = done ? from : to; /* release the old arrays, or the new ones if an allocation failed */
    release(allocator, done ? mesh->position : position, old * sizeof *position);
    release(allocator, done ? mesh->size : size, old * sizeof *size);
    release(allocator, done ? mesh->out : out, old * sizeof *out);
    if (!done) return false;
    mesh->position = position;
    mesh->size = size;
    mesh->out = out;
    mesh->vertex_capacity = (int32_t)to;
    return true;
}

static bool reserve_faces(sup_halfedges *mesh, int32_t count)
{
    if (count <= mesh->face_capacity) return true;
    const sup_allocator *allocator = &mesh->allocator;
    size_t item = 3 * sizeof(int32_t), from = (size_t)mesh->face_capacity * item;
    size_t capacity = (size_t)count + (size_t)count / 2, to = capacity * item, used = (size_t)mesh->face_count * item;
    int32_t *origin = sup_alloc(allocator, to), *twin = sup_alloc(allocator, to);
    bool done = origin != NULL && twin != NULL;
    if (done && used > 0) {
        memcpy(origin, mesh->origin, used);
        memcpy(twin, mesh->twin, used);
    }
    release(allocator, done ? mesh->origin : origin, done ? from : to);
    release(allocator, done ? mesh->twin : twin, done ? from : to);
    if (!done) return false;
    mesh->origin = origin;
    mesh->twin = twin;
    mesh->face_capacity = (int32_t)capacity;
    return true;
}

static bool reserve(sup_halfedges *mesh, int32_t vertices, int32_t faces)
{
    return reserve_vertices(mesh, vertices) && reserve_faces(mesh, faces);
}

void sup_halfedges_free(sup_halfedges *mesh)
{
    size_t vertices = (size_t)mesh->vertex_capacity, halves = (size_t)mesh->face_capacity * 3;
    if (mesh->position) sup_free(&mesh->allocator, mesh->position, vertices * sizeof *mesh->position);
    if (mesh->size) sup_free(&mesh->allocator, mesh->size, vertices * sizeof *mesh->size);
    if (mesh->out) sup_free(&mesh->allocator, mesh->out, vertices * sizeof *mesh->out);
    if (mesh->origin) sup_free(&mesh->allocator, mesh->origin, halves * sizeof *mesh->origin);
    if (mesh->twin) sup_free(&mesh->allocator, mesh->twin, halves * sizeof *mesh->twin);
    memset(mesh, 0, sizeof *mesh);
}

static void link_halves(sup_halfedges *mesh, int32_t a, int32_t b)
{
    if (a >= 0) mesh->twin[a] = b;
    if (b >= 0) mesh->twin[b] = a;
}

/* Sets `out` of v to its border half-edge if it has one, starting from any outgoing half-edge. */
static void settle_vertex(sup_halfedges *mesh, int32_t v, int32_t h)
{
    int32_t start = h;
    while (mesh->twin[h] >= 0) {
        h = sup_he_next(mesh->twin[h]);
        if (h == start) break;
    }
    mesh->out[v] = h;
}

/* Pairs the half-edges of each edge: `head[v]` is a list of the half-edges that start at v and have no twin yet. */
static bool join_twins(sup_halfedges *mesh, int32_t *head, int32_t *chain)
{
    int32_t halves = mesh->face_count * 3;
    for (int32_t v = 0; v < mesh->vertex_count; v++)
        head[v] = -1;
    for (int32_t h = 0; h < halves; h++) {
        chain[h] = head[mesh->origin[h]];
        head[mesh->origin[h]] = h;
        mesh->twin[h] = -1;
    }
    for (int32_t h = 0; h < halves; h++) {
        int32_t to = sup_he_target(mesh, h), from = mesh->origin[h], found = -1, same = 0;
        for (int32_t o = head[to]; o >= 0; o = chain[o])
            if (sup_he_target(mesh, o) == from) {
                found = o;
                same++;
            }
        if (same > 1 || from == to) return false;
        mesh->twin[h] = found;
    }
    for (int32_t h = 0; h < halves; h++)
        if (mesh->twin[h] >= 0 && mesh->twin[mesh->twin[h]] != h) return false;
    return true;
}

static bool fill(sup_halfedges *mesh, const sup_surface *surface, bool *manifold)
{
    if (!reserve(mesh, surface->vertex_count, surface->triangle_count)) return false;
    mesh->vertex_count = surface->vertex_count;
    mesh->face_count = surface->triangle_count;
    for (int32_t v = 0; v < mesh->vertex_count; v++) {
        mesh->position[v] = surface->positions[v];
        mesh->size[v] = 1.0;
        mesh->out[v] = -1;
    }
    size_t halves = (size_t)mesh->face_count * 3;
    memcpy(mesh->origin, surface->triangles, halves * sizeof *mesh->origin);
    size_t size = ((size_t)mesh->vertex_count + halves) * sizeof(int32_t);
    int32_t *scratch = sup_alloc(&mesh->allocator, size);
    if (scratch == NULL) return false;
    *manifold = join_twins(mesh, scratch, scratch + mesh->vertex_count);
    sup_free(&mesh->allocator, scratch, size);
    for (int32_t h = 0; *manifold && h < mesh->face_count * 3; h++)
        if (mesh->out[mesh->origin[h]] < 0) settle_vertex(mesh, mesh->origin[h], h);
    return *manifold;
}

bool sup_halfedges_create(sup_halfedges *mesh, const sup_surface *surface, bool *manifold)
{
    memset(mesh, 0, sizeof *mesh);
    mesh->allocator = surface->allocator;
    *manifold = true;
    if (fill(mesh, surface, manifold)) return true;
    sup_halfedges_free(mesh);
    return false;
}

bool sup_halfedges_extract(const sup_halfedges *mesh, sup_surface *surface)
{
    int32_t vertices = 0, faces = 0;
    size_t size = (size_t)mesh->vertex_count * sizeof(int32_t);
    int32_t *number = sup_alloc(&mesh->allocator, size);
    if (number == NULL) return false;
    for (int32_t v = 0; v < mesh->vertex_count; v++)
        number[v] = -1;
    /* Vertices are numbered in the order of their faces, for memory locality. */
    for (int32_t h = 0; h < mesh->face_count * 3; h++)
        if (mesh->origin[h] >= 0) {
            faces += h % 3 == 0;
            if (number[mesh->origin[h]] < 0) number[mesh->origin[h]] = vertices++;
        }
    bool done = sup_surface_allocate(surface, &mesh->allocator, vertices, faces);
    if (done) {
        int32_t *triangle = surface->triangles;
        for (int32_t h = 0; h < mesh->face_count * 3; h++)
            if (mesh->origin[h] >= 0) *triangle++ = number[mesh->origin[h]];
        for (int32_t v = 0; v < mesh->vertex_count; v++)
            if (number[v] >= 0) surface->positions[number[v]] = mesh->position[v];
    }
    sup_free(&mesh->allocator, number, size);
    return done;
}

int32_t sup_he_ring(const sup_halfedges *mesh, int32_t v, int32_t ring[SUP_RING_MAX])
{
    int32_t count = 0, start = mesh->out[v];
    for (int32_t h = start; h >= 0;) {
        if (count >= SUP_RING_MAX - 1) return -1;
        ring[count++] = sup_he_target(mesh, h);
        int32_t following = sup_he_around(mesh, h);
        if (following < 0) ring[count++] = mesh->origin[sup_he_prev(h)];
        h = following == start ? -1 : following;
    }
    return count;
}

bool sup_he_connected(const sup_halfedges *mesh, int32_t a, int32_t b)
{
    int32_t ring[SUP_RING_MAX], count = sup_he_ring(mesh, a, ring);
    for (int32_t i = 0; i < count; i++)
        if (ring[i] == b) return true;
    return count < 0; /* too many neighbours to test: reject */
}

static void set_face(sup_halfedges *mesh, int32_t f, int32_t a, int32_t b, int32_t c, int32_t ab, int32_t bc,
                     int32_t ca)
{
    int32_t h = f * 3;
    mesh->origin[h] = a;
    mesh->origin[h + 1] = b;
    mesh->origin[h + 2] = c;
    link_halves(mesh, h, ab);
    link_halves(mesh, h + 1, bc);
    link_halves(mesh, h + 2, ca);
}

bool sup_he_split(sup_halfedges *mesh, int32_t h, sup_vec3d position)
{
    if (!reserve(mesh, mesh->vertex_count + 1, mesh->face_count + 2)) return false;
    int32_t t = mesh->twin[h], f = h / 3, f2 = mesh->face_count++, m = mesh->vertex_count++;
    int32_t a = mesh->origin[h], b = sup_he_target(mesh, h), c = mesh->origin[sup_he_prev(h)];
    int32_t bc = mesh->twin[sup_he_next(h)], ca = mesh->twin[sup_he_prev(h)];
    mesh->position[m] = position;
    mesh->size[m] = 0.5 * (mesh->size[a] + mesh->size[b]);
    if (t < 0) {
        set_face(mesh, f, a, m, c, -1, f2 * 3 + 2, ca);
        set_face(mesh, f2, m, b, c, -1, bc, f * 3 + 1);
    } else {
        int32_t g = t / 3, g2 = mesh->face_count++, d = mesh->origin[sup_he_prev(t)];
        int32_t ad = mesh->twin[sup_he_next(t)], db = mesh->twin[sup_he_prev(t)];
        set_face(mesh, f, a, m, c, g * 3, f2 * 3 + 2, ca);
        set_face(mesh, f2, m, b, c, g2 * 3, bc, f * 3 + 1);
        set_face(mesh, g, m, a, d, f * 3, ad, g2 * 3 + 1);
        set_face(mesh, g2, b, m, d, f2 * 3, g * 3 + 2, db);
        settle_vertex(mesh, d, g * 3 + 2);
    }
    settle_vertex(mesh, m, f2 * 3);
    settle_vertex(mesh, a, f * 3);
    settle_vertex(mesh, b, f2 * 3 + 1);
    settle_vertex(mesh, c, f * 3 + 2);
    return true;
}

bool sup_he_may_flip(const sup_halfedges *mesh, int32_t h)
{
    int32_t t = mesh->twin[h];
    if (t < 0) return false;
    int32_t c = mesh->origin[sup_he_prev(h)], d = mesh->origin[sup_he_prev(t)];
    /* An interior edge between two border vertices would have four faces in the mirrored mesh. */
    if (c == d || (sup_he_on_border(mesh, c) && sup_he_on_border(mesh, d))) return false;
    return !sup_he_connected(mesh, c, d);
}

void sup_he_flip(sup_halfedges *mesh, int32_t h)
{
    int32_t t = mesh->twin[h], f = h / 3, g = t / 3;
    int32_t a = mesh->origin[h], b = mesh->origin[t], c = mesh->origin[sup_he_prev(h)],
            d = mesh->origin[sup_he_prev(t)];
    int32_t bc = mesh->twin[sup_he_next(h)], ca = mesh->twin[sup_he_prev(h)];
    int32_t ad = mesh->twin[sup_he_next(t)], db = mesh->twin[sup_he_prev(t)];
    set_face(mesh, f, a, d, c, ad, g * 3 + 2, ca);
    set_face(mesh, g, d, b, c, db, bc, f * 3 + 1);
    settle_vertex(mesh, a, f * 3);
    settle_vertex(mesh, d, f * 3 + 1);
    settle_vertex(mesh, b, g * 3 + 1);
    settle_vertex(mesh, c, f * 3 + 2);
}

bool sup_he_may_collapse(const sup_halfedges *mesh, int32_t h)
{
    int32_t u = mesh->origin[h], v = sup_he_target(mesh, h), t = mesh->twin[h];
    bool border_u = sup_he_on_border(mesh, u), border_v = sup_he_on_border(mesh, v);
    if (border_u && !border_v) return false; /* merging in the other direction preserves the border */
    if (border_u && border_v && t >= 0) return false;
    int32_t c = mesh->origin[sup_he_prev(h)], d = t >= 0 ? mesh->origin[sup_he_prev(t)] : -1;
    int32_t ring_u[SUP_RING_MAX], ring_v[SUP_RING_MAX], ring[SUP_RING_MAX];
    int32_t count_u = sup_he_ring(mesh, u, ring_u), count_v = sup_he_ring(mesh, v, ring_v);
    if (count_u < 0 || count_v < 0 || count_u + count_v - 4 > 12) return false;
    if (!sup_he_on_border(mesh, c) ? sup_he_ring(mesh, c, ring) <= 3 : sup_he_ring(mesh, c, ring) <= 2) return false;
    if (d >= 0 && (!sup_he_on_border(mesh, d) ? sup_he_ring(mesh, d, ring) <= 3 : sup_he_ring(mesh, d, ring) <= 2))
        return false;
    for (int32_t i = 0; i < count_u; i++) {
        int32_t w = ring_u[i];
        bool shared = false;
        for (int32_t j = 0; j < count_v && !shared; j++)
            shared = ring_v[j] == w;
        if (shared && w != c && w != d) return false; /* link condition */
        /* This would create an interior edge between two border vertices. */
        if (!border_u && border_v && !shared && w != v && sup_he_on_border(mesh, w)) return false;
    }
    return true;
}

void sup_he_collapse(sup_halfedges *mesh, int32_t h, sup_vec3d position)
{
    int32_t u = mesh->origin[h], v = sup_he_target(mesh, h), t = mesh->twin[h];
    int32_t c = mesh->origin[sup_he_prev(h)], bc = mesh->twin[sup_he_next(h)], ca = mesh->twin[sup_he_prev(h)];
    for (int32_t e = mesh->out[u], start = e; e >= 0;) {
        int32_t following = sup_he_around(mesh, e);
        mesh->origin[e] = v;
        e = following == start ? -1 : following;
    }
    int32_t removed[2] = {h / 3, t >= 0 ? t / 3 : -1};
    link_halves(mesh, bc, ca);
    /* bc is c->v, ca is v->c (was u->c): one of them may be missing on the border. */
    int32_t from_v = ca >= 0 ? ca : sup_he_next(bc), from_c = bc >= 0 ? bc : sup_he_next(ca);
    int32_t from_d = -1, d = -1;
    if (t >= 0) {
        d = mesh->origin[sup_he_prev(t)];
        int32_t ad = mesh->twin[sup_he_next(t)], db = mesh->twin[sup_he_prev(t)]; /* d->u, v->d */
        link_halves(mesh, ad, db);
        from_d = ad >= 0 ? ad : sup_he_next(db);
    }
    for (int i = 0; i < 2; i++)
        for (int32_t e = 0; e < 3 && removed[i] >= 0; e++)
            mesh->origin[removed[i] * 3 + e] = mesh->twin[removed[i] * 3 + e] = -1;
    mesh->out[u] = -1;
    mesh->size[v] = 0.5 * (mesh->size[u] + mesh->size[v]);
    mesh->position[v] = position;
    settle_vertex(mesh, v, from_v);
    settle_vertex(mesh, c, from_c);
    if (t >= 0) settle_vertex(mesh, d, from_d);
}

/* The midpoint of every edge becomes a vertex: `middle` of both half-edges. */
static void number_middles(sup_halfedges *mesh, int32_t *middle)
{
    for (int32_t h = 0; h < mesh->face_count * 3; h++) {
        int32_t t = mesh->twin[h];
        if (t >= 0 && t < h) {
            middle[h] = middle[t];
            continue;
        }
        int32_t a = mesh->origin[h], b = sup_he_target(mesh, h), m = mesh->vertex_count++;
        middle[h] = m;
        mesh->position[m] = sup_v3_lerp(mesh->position[a], mesh->position[b], 0.5);
        mesh->size[m] = 0.5 * (mesh->size[a] + mesh->size[b]);
    }
}

bool sup_he_subdivide(sup_halfedges *mesh)
{
    sup_surface fine;
    int32_t faces = mesh->face_count, halves = faces * 3;
    if (!reserve(mesh, mesh->vertex_count + halves, faces)) return false;
    size_t size = (size_t)halves * sizeof(int32_t);
    int32_t *middle = sup_alloc(&mesh->allocator, size);
    if (middle == NULL) return false;
    number_middles(mesh, middle);
    bool done = sup_surface_allocate(&fine, &mesh->allocator, mesh->vertex_count, faces * 4);
    if (done) {
        memcpy(fine.positions, mesh->position, (size_t)mesh->vertex_count * sizeof *fine.positions);
        for (int32_t f = 0; f < faces; f++) {
            const int32_t *o = mesh->origin + (size_t)f * 3, *m = middle + (size_t)f * 3;
            int32_t four[12] = {o[0], m[0], m[2], m[0], o[1], m[1], m[2], m[1], o[2], m[0], m[1], m[2]};
            memcpy(fine.triangles + (size_t)f * 12, four, sizeof four);
        }
        sup_halfedges next;
        bool manifold;
        done = sup_halfedges_create(&next, &fine, &manifold);
        if (done) {
            memcpy(next.size, mesh->size, (size_t)next.vertex_count * sizeof *next.size);
            sup_halfedges_free(mesh);
            *mesh = next;
        }
        sup_surface_free(&fine);
    }
    sup_free(&mesh->allocator, middle, size);
    return done;
}

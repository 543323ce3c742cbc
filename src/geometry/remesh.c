/* remesh.c - iterations of edge operations and relaxation towards the target edge lengths and well-shaped triangles. */
#include "geometry/remesh.h"
#include "geometry/halfedge.h"

static const double SPLIT_RATIO = 4.0 / 3.0, COLLAPSE_RATIO = 4.0 / 5.0, STEP_RATIO = 1.6;

typedef struct remesh {
    const sup_remesh_def *def;
    sup_halfedges mesh;
    double scale;             /* target edge length = scale * size of the vertex */
    double limit, min_length; /* bounds of the target edge length: it changes gradually from iteration to iteration */
    sup_vec3d *relaxed;       /* [vertex_count] */
    double strength;          /* of relaxation */
    int32_t pulls;            /* Newton steps of the projection onto the level set after a relaxation step */
    bool half;                /* the mesh is open along x = 0 */
} remesh;

static double target_length(const remesh *r, int32_t a, int32_t b)
{
    double length = 0.5 * (r->mesh.size[a] + r->mesh.size[b]) * r->scale;
    return length > r->limit ? r->limit : length < r->min_length ? r->min_length : length;
}

static double edge_length(const remesh *r, int32_t h)
{
    return sup_v3_distance(r->mesh.position[r->mesh.origin[h]], r->mesh.position[sup_he_target(&r->mesh, h)]);
}

static sup_vec3d face_normal(sup_vec3d a, sup_vec3d b, sup_vec3d c)
{
    return sup_v3_cross(sup_v3_sub(b, a), sup_v3_sub(c, a));
}

/* --- Sizes --- */
typedef struct size_work {
    const sup_field *sizes;
    sup_halfedges *mesh;
} size_work;

static void evaluate_sizes(void *work, int32_t begin, int32_t end, int32_t worker)
{
    size_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++)
        w->mesh->size[v] = sup_field_value(w->sizes, w->mesh->position[v]);
}

/* Limits each size to a neighbour's size plus gradation * distance: sweeps in both directions until convergence. */
static void grade_sizes(remesh *r)
{
    sup_halfedges *m = &r->mesh;
    int32_t halves = m->face_count * 3;
    for (int sweep = 0; sweep < 24; sweep++) {
        int32_t changed = 0;
        for (int32_t i = 0; i < halves; i++) {
            int32_t h = sweep % 2 == 0 ? i : halves - 1 - i, a = m->origin[h], b = sup_he_target(m, h);
            double bound = m->size[a] + r->def->gradation * sup_v3_distance(m->position[a], m->position[b]);
            if (m->size[b] > bound) {
                changed += m->size[b] > bound * 1.01;
                m->size[b] = bound;
            }
        }
        if (changed == 0) break;
    }
}

/* The scale that gives the target number of vertices: an even mesh has one vertex per area sqrt(3)/2 * L^2, and edges
 * between 4/5 and 4/3 of the target length are 1.03 times as long on average, measured on the built-in characters. */
static double fit_scale(const remesh *r)
{
    const sup_halfedges *m = &r->mesh;
    double vertices = 0.0;
    for (int32_t f = 0; f < m->face_count; f++) {
        const int32_t *o = m->origin + (size_t)f * 3;
        double area = 0.5 * sup_v3_length(face_normal(m->position[o[0]], m->position[o[1]], m->position[o[2]]));
        double size = (m->size[o[0]] + m->size[o[1]] + m->size[o[2]]) / 3.0;
        vertices += area / (size * size);
    }
    return sqrt(vertices / (0.8660254037844386 * r->def->vertex_target)) / 1.03;
}

/* --- Edge operations --- */
static bool split_long(remesh *r)
{
    sup_halfedges *m = &r->mesh;
    for (int32_t h = 0; h < m->face_count * 3; h++) {
        if (m->origin[h] < 0 || (m->twin[h] >= 0 && m->twin[h] < h)) continue;
        int32_t a = m->origin[h], b = sup_he_target(m, h);
        if (edge_length(r, h) <= SPLIT_RATIO * target_length(r, a, b)) continue;
        if (!sup_he_split(m, h, sup_v3_lerp(m->position[a], m->position[b], 0.5))) return false;
    }
    return true;
}

/* Whether the faces around u, except those with v, keep their orientation and stay small enough if u moves to p. */
static bool faces_allow(const remesh *r, int32_t u, int32_t v, sup_vec3d p)
{
    const sup_halfedges *m = &r->mesh;
    for (int32_t h = m->out[u], start = h; h >= 0;) {
        int32_t b = sup_he_target(m, h), c = m->origin[sup_he_prev(h)];
        if (b != v && c != v) {
            sup_vec3d previous = face_normal(m->position[u], m->position[b], m->position[c]);
            sup_vec3d after = face_normal(p, m->position[b], m->position[c]);
            double length = sup_v3_length(after), edge = sup_v3_distance(p, m->position[b]);
            if (sup_v3_dot(previous, after) <= 0.5 * sup_v3_length(previous) * length) return false;
            if (edge > SPLIT_RATIO * target_length(r, u, b) || length < 0.1 * edge * edge) return false;
        }
        int32_t following = sup_he_around(m, h);
        h = following == start ? -1 : following;
    }
    return true;
}

static void collapse_short(remesh *r)
{
    sup_halfedges *m = &r->mesh;
    for (int32_t h = 0; h < m->face_count * 3; h++) {
        if (m->origin[h] < 0) continue;
        int32_t u = m->origin[h], v = sup_he_target(m, h);
        if (edge_length(r, h) >= COLLAPSE_RATIO * target_length(r, u, v) || !sup_he_may_collapse(m, h)) continue;
        bool one_sided = sup_he_on_border(m, v) && !sup_he_on_border(m, u);
        sup_vec3d p = one_sided ? m->position[v] : sup_v3_lerp(m->position[u], m->position[v], 0.5);
        if (faces_allow(r, u, v, p) && faces_allow(r, v, u, p)) sup_he_collapse(m, h, p);
    }
}

static double cosine_at(sup_vec3d apex, sup_vec3d a, sup_vec3d b)
{
    sup_vec3d x = sup_v3_sub(a, apex), y = sup_v3_sub(b, apex);
    double length = sup_v3_length(x) * sup_v3_length(y);
    return length > 0.0 ? sup_v3_dot(x, y) / length : 1.0;
}

/* Delaunay criterion: flip an edge if its opposite angles sum to more than pi and the two new faces do not fold. */
static bool flip_improves(const remesh *r, int32_t h)
{
    const sup_halfedges *m = &r->mesh;
    int32_t t = m->twin[h];
    sup_vec3d a = m->position[m->origin[h]], b = m->position[m->origin[t]];
    sup_vec3d c = m->position[m->origin[sup_he_prev(h)]], d = m->position[m->origin[sup_he_prev(t)]];
    double at_c = cosine_at(c, a, b), at_d = cosine_at(d, a, b);
    if (at_c + at_d >= -1e-3) return false; /* acos(x) + acos(y) > pi if and only if x + y < 0 */
    sup_vec3d first = face_normal(a, b, c), second = face_normal(b, a, d);
    sup_vec3d new_first = face_normal(a, d, c), new_second = face_normal(d, b, c);
    double old_fold = sup_v3_dot(first, second) / (sup_v3_length(first) * sup_v3_length(second) + 1e-300);
    double new_fold =
        sup_v3_dot(new_first, new_second) / (sup_v3_length(new_first) * sup_v3_length(new_second) + 1e-300);
    sup_vec3d side = sup_v3_add(first, second);
    return new_fold > old_fold - 0.3 && sup_v3_dot(new_first, side) > 0.0 && sup_v3_dot(new_second, side) > 0.0;
}

static void flip_edges(remesh *r, int passes)
{
    sup_halfedges *m = &r->mesh;
    for (int pass = 0; pass < passes; pass++) {
        int32_t flips = 0;
        for (int32_t h = 0; h < m->face_count * 3; h++) {
            if (m->origin[h] < 0 || m->twin[h] < h) continue;
            if (!flip_improves(r, h) || !sup_he_may_flip(m, h)) continue;
            sup_he_flip(m, h);
            flips++;
        }
        if (flips == 0) break;
    }
}

/* --- Relaxation --- */
/* Newton steps along the gradient, each at most half an edge long; border vertices stay in the plane x = 0. The four
 * samples of the gradient give the value as their mean. */
static sup_vec3d pull_onto_field(const remesh *r, sup_vec3d p, double edge, bool border)
{
    double step = 0.02 * edge;
    for (int i = 0; i < r->pulls; i++) {
        double mean;
        sup_vec3d g = sup_field_slope(&r->def->field, p, step, &mean);
        if (border) g.x = 0.0;
        double gg = sup_v3_dot(g, g);
        if (gg < 1e-4) break;
        double move = -mean / gg, reach = 0.5 * edge / sqrt(gg);
        move = move > reach ? reach : move < -reach ? -reach : move;
        p = sup_v3_madd(p, move, g);
        if (fabs(mean) < 1e-3 * edge) break;
    }
    return p;
}

/* Moves a vertex in the tangent plane towards the centre of its faces, weighted by area relative to the target area; a
 * border vertex towards the midpoint of its two border neighbours. */
static sup_vec3d relax_target(const sup_halfedges *m, int32_t v, bool border)
{
    sup_vec3d p = m->position[v], normal = sup_v3(0.0, 0.0, 0.0), sum = normal, first = p, last = p;
    double total = 0.0;
    for (int32_t h = m->out[v], start = h; h >= 0;) {
        int32_t b = sup_he_target(m, h), c = m->origin[sup_he_prev(h)];
        sup_vec3d n = face_normal(p, m->position[b], m->position[c]);
        double size = (m->size[v] + m->size[b] + m->size[c]) / 3.0, weight = sup_v3_length(n) / (size * size);
        sup_vec3d middle = sup_v3_scale(sup_v3_add(p, sup_v3_add(m->position[b], m->position[c])), 1.0 / 3.0);
        normal = sup_v3_add(normal, n);
        sum = sup_v3_madd(sum, weight, middle);
        total += weight;
        if (h == start) first = m->position[b];
        last = m->position[c];
        int32_t following = sup_he_around(m, h);
        h = following == start ? -1 : following;
    }
    if (border) return sup_v3_lerp(first, last, 0.5);
    sup_vec3d unit = sup_v3_unit_or(normal, sup_v3(0.0, 0.0, 0.0));
    sup_vec3d shift = total > 0.0 ? sup_v3_sub(sup_v3_scale(sum, 1.0 / total), p) : sup_v3(0.0, 0.0, 0.0);
    return sup_v3_add(p, sup_v3_madd(shift, -sup_v3_dot(shift, unit), unit));
}

static void relax_vertices(void *work, int32_t begin, int32_t end, int32_t worker)
{
    remesh *r = work;
    const sup_halfedges *m = &r->mesh;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        r->relaxed[v] = m->position[v];
        if (m->out[v] < 0) continue;
        bool border = sup_he_on_border(m, v);
        sup_vec3d p = sup_v3_lerp(m->position[v], relax_target(m, v, border), r->strength);
        p = pull_onto_field(r, p, target_length(r, v, v), border);
        /* Vertices off the plane x = 0 must stay off it: their mirror image is another vertex. */
        double min_x = 0.05 * target_length(r, v, v);
        if (r->half && !border && p.x < min_x) p.x = r->relaxed[v].x;
        if (sup_v3_finite(p)) r->relaxed[v] = p;
    }
}

static bool relax(remesh *r, int times, double strength, int32_t pulls)
{
    sup_halfedges *m = &r->mesh;
    size_t size = (size_t)m->vertex_count * sizeof *r->relaxed;
    r->relaxed = sup_alloc(&m->allocator, size);
    if (r->relaxed == NULL) return false;
    r->strength = strength;
    r->pulls = pulls;
    for (int i = 0; i < times; i++) {
        sup_parallel(r->def->context, m->vertex_count, 512, relax_vertices, r);
        memcpy(m->position, r->relaxed, size);
    }
    sup_free(&m->allocator, r->relaxed, size);
    return true;
}

/* Removes deleted vertices and faces, so that later iterations visit only live ones. */
static bool compact(remesh *r)
{
    sup_surface live;
    sup_halfedges next;
    bool manifold;
    if (!sup_halfedges_extract(&r->mesh, &live)) return false;
    bool done = sup_halfedges_create(&next, &live, &manifold);
    if (done) {
        int32_t number = 0; /* extraction numbers vertices by first use; apply the same order to the sizes */
        for (int32_t v = 0; v < next.vertex_count; v++)
            next.size[v] = 0.0;
        for (int32_t h = 0; h < r->mesh.face_count * 3; h++)
            if (r->mesh.origin[h] >= 0) next.size[next.origin[number++]] = r->mesh.size[r->mesh.origin[h]];
        sup_halfedges_free(&r->mesh);
        r->mesh = next;
    }
    sup_surface_free(&live);
    return done;
}

static bool run_rounds(remesh *r, double start_length)
{
    double largest = 0.0, smallest = start_length;
    for (int32_t v = 0; v < r->mesh.vertex_count; v++) {
        double length = r->mesh.size[v] * r->scale;
        largest = length > largest ? length : largest;
        smallest = length < smallest ? length : smallest;
    }
    r->limit = STEP_RATIO * start_length;
    r->min_length = start_length / STEP_RATIO;
    for (int32_t iteration = 0; iteration < r->def->iterations;) {
        bool last_step = r->limit >= largest && r->min_length <= smallest;
        bool refines = last_step || r->min_length > smallest;
        collapse_short(r);
        if (!compact(r) || (refines && !split_long(r))) return false;
        flip_edges(r, 2);
        /* Do not evaluate the field while the mesh only gets coarser: it costs more than all other operations. */
        if (!relax(r, 1, last_step ? 0.8 : 0.4, refines)) return false;
        iteration += last_step;
        r->limit *= STEP_RATIO;
        r->min_length /= STEP_RATIO;
    }
    for (int i = 0; i < 3; i++) {
        flip_edges(r, 4);
        if (!relax(r, 1, 0.6, i < 2 ? 1 : 3)) return false;
    }
    flip_edges(r, 4);
    for (int32_t i = 0; i < r->def->subdivisions; i++) {
        if (!compact(r) || !sup_he_subdivide(&r->mesh)) return false;
        r->scale *= 0.5;
        if (!relax(r, 2, 0.5, 2)) return false;
    }
    return true;
}

static sup_result remesh_surface(remesh *r, const sup_field *sizes, sup_surface *surface, sup_error *error)
{
    bool manifold;
    if (!sup_halfedges_create(&r->mesh, surface, &manifold))
        return manifold ? sup_fail_memory(error, "remeshing")
                        : sup_fail(error, SUP_ERROR_DATA, "remesh.manifold", "", "The surface is not a manifold.");
    size_work work = {sizes, &r->mesh};
    sup_parallel(r->def->context, r->mesh.vertex_count, 512, evaluate_sizes, &work);
    grade_sizes(r);
    r->scale = fit_scale(r);
    for (int32_t h = 0; h < r->mesh.face_count * 3; h++)
        r->half |= r->mesh.twin[h] < 0;
    double total = 0.0;
    for (int32_t h = 0; h < r->mesh.face_count * 3; h++)
        total += edge_length(r, h);
    sup_surface done;
    if (!run_rounds(r, total / (r->mesh.face_count * 3.0)) || !sup_halfedges_extract(&r->mesh, &done))
        return sup_fail_memory(error, "remeshing");
    sup_surface_free(surface);
    *surface = done;
    return SUP_OK;
}

sup_result sup_remesh(const sup_remesh_def *def, const sup_field *sizes, sup_surface *surface, sup_error *error)
{
    if (surface->triangle_count == 0)
        return sup_fail(error, SUP_ERROR_DATA, "remesh.empty", "", "The surface to remesh is empty.");
    remesh r = {.def = def};
    sup_result result = remesh_surface(&r, sizes, surface, error);
    sup_halfedges_free(&r.mesh);
    return result;
}

/* mesh_check.c - reference measurements of a primitive's mesh. */
#include "mesh_check.h"

#include "test.h"

typedef struct half {
    int32_t a, b;
} half;

static int compare_halves(const void *left, const void *right)
{
    const half *x = left, *y = right;
    return x->a != y->a ? (x->a > y->a) - (x->a < y->a) : (x->b > y->b) - (x->b < y->b);
}

static void subtract(const float *a, const float *b, double r[3])
{
    for (int i = 0; i < 3; i++)
        r[i] = (double)a[i] - (double)b[i];
}

static void cross(const double a[3], const double b[3], double r[3])
{
    r[0] = a[1] * b[2] - a[2] * b[1];
    r[1] = a[2] * b[0] - a[0] * b[2];
    r[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static const half *find_half(const half *halves, size_t count, half wanted)
{
    return bsearch(&wanted, halves, count, sizeof wanted, compare_halves);
}

/* Every directed edge exactly once, and its opposite too: closed, manifold along edges, consistently oriented. */
static void check_edges(const sup_character *c, const sup_primitive *primitive, mesh_report *report)
{
    size_t count = (size_t)primitive->triangle_count * 3;
    half *halves = malloc(count * sizeof *halves);
    const int32_t *t = c->triangles + (size_t)primitive->triangle_first * 3;
    for (size_t h = 0; h < count; h++)
        halves[h] = (half){t[h], t[h % 3 == 2 ? h - 2 : h + 1]};
    qsort(halves, count, sizeof *halves, compare_halves);
    for (size_t h = 0; h < count; h++) {
        bool twice = h + 1 < count && compare_halves(&halves[h], &halves[h + 1]) == 0;
        bool alone = find_half(halves, count, (half){halves[h].b, halves[h].a}) == NULL;
        report->open_edges += twice || alone || halves[h].a == halves[h].b;
    }
    report->edges = (int32_t)(count / 2);
    free(halves);
}

static int32_t root_of(int32_t *up, int32_t v)
{
    while (up[v] != v)
        v = up[v] = up[up[v]];
    return v;
}

/* Components, and vertices whose triangles do not form one fan (their corner count differs from their fan's). */
static void check_components(const sup_character *c, const sup_primitive *primitive, mesh_report *report)
{
    int32_t *up = malloc((size_t)primitive->vertex_count * sizeof *up),
            *uses = calloc((size_t)primitive->vertex_count, sizeof *uses);
    for (int32_t v = 0; v < primitive->vertex_count; v++)
        up[v] = v;
    for (int32_t t = 0; t < primitive->triangle_count; t++)
        for (int i = 0; i < 3; i++) {
            const int32_t *corner = c->triangles + (size_t)(primitive->triangle_first + t) * 3;
            int32_t a = corner[i] - primitive->vertex_first, b = corner[(i + 1) % 3] - primitive->vertex_first;
            uses[a]++;
            up[root_of(up, a)] = root_of(up, b);
        }
    for (int32_t v = 0; v < primitive->vertex_count; v++) {
        report->unused_vertices += uses[v] < 3;
        report->components += root_of(up, v) == v;
    }
    free(up);
    free(uses);
}

static void check_shapes(const sup_character *c, const sup_primitive *primitive, mesh_report *report)
{
    int32_t thin = 0;
    report->smallest_angle = 180.0;
    for (int32_t t = 0; t < primitive->triangle_count; t++) {
        const int32_t *corner = c->triangles + (size_t)(primitive->triangle_first + t) * 3;
        double smallest = 180.0, p[3], n[3], a[3], b[3];
        for (int i = 0; i < 3; i++) {
            const float *here = c->positions + (size_t)corner[i] * 3;
            subtract(c->positions + (size_t)corner[(i + 1) % 3] * 3, here, a);
            subtract(c->positions + (size_t)corner[(i + 2) % 3] * 3, here, b);
            cross(a, b, n);
            double angle = atan2(sqrt(dot(n, n)), dot(a, b)) * 57.29577951308232;
            smallest = angle < smallest ? angle : smallest;
            report->largest_angle = angle > report->largest_angle ? angle : report->largest_angle;
        }
        for (int i = 0; i < 3; i++)
            p[i] = (double)c->positions[(size_t)corner[2] * 3 + (size_t)i];
        report->volume += dot(p, n) / 6.0;
        report->smallest_angle = smallest < report->smallest_angle ? smallest : report->smallest_angle;
        thin += smallest < 20.0;
        for (int i = 0; i < 3; i++) {
            double m[3];
            for (int k = 0; k < 3; k++)
                m[k] = (double)c->normals[(size_t)corner[i] * 3 + (size_t)k];
            double cosine = dot(m, n) / sqrt(dot(n, n));
            report->worst_normal = cosine < report->worst_normal ? cosine : report->worst_normal;
        }
    }
    report->thin_fraction = (double)thin / primitive->triangle_count;
}

/* Whether segment pq intersects triangle abc, with a conservative tolerance for rounding. */
static bool segment_hits_triangle(const float *p, const float *q, const float *a, const float *b, const float *c)
{
    double d[3], e1[3], e2[3], s[3], h[3], k[3];
    subtract(q, p, d);
    subtract(b, a, e1);
    subtract(c, a, e2);
    subtract(p, a, s);
    cross(d, e2, h);
    double det = dot(e1, h);
    if (fabs(det) < 1e-18) return false;
    double u = dot(s, h) / det;
    cross(s, e1, k);
    double v = dot(d, k) / det, t = dot(e2, k) / det;
    return u > 1e-6 && v > 1e-6 && u + v < 1.0 - 1e-6 && t > 1e-6 && t < 1.0 - 1e-6;
}

static bool triangles_intersect(const sup_character *c, const int32_t *s, const int32_t *t)
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            if (s[i] == t[k]) return false; /* neighbours share a corner */
    const float *p = c->positions;
    for (int i = 0; i < 3; i++) {
        const float *s0 = p + (size_t)s[i] * 3, *s1 = p + (size_t)s[(i + 1) % 3] * 3;
        const float *t0 = p + (size_t)t[i] * 3, *t1 = p + (size_t)t[(i + 1) % 3] * 3;
        if (segment_hits_triangle(s0, s1, p + (size_t)t[0] * 3, p + (size_t)t[1] * 3, p + (size_t)t[2] * 3))
            return true;
        if (segment_hits_triangle(t0, t1, p + (size_t)s[0] * 3, p + (size_t)s[1] * 3, p + (size_t)s[2] * 3))
            return true;
    }
    return false;
}

typedef struct box {
    float low[3], high[3];
    int32_t triangle;
} box;

static int compare_boxes(const void *left, const void *right)
{
    const box *a = left, *b = right;
    return (a->low[1] > b->low[1]) - (a->low[1] < b->low[1]);
}

/* Sweeps along Y. */
static void check_intersections(const sup_character *c, const sup_primitive *primitive, mesh_report *report)
{
    box *boxes = malloc((size_t)primitive->triangle_count * sizeof *boxes);
    for (int32_t t = 0; t < primitive->triangle_count; t++) {
        const int32_t *corner = c->triangles + (size_t)(primitive->triangle_first + t) * 3;
        boxes[t].triangle = primitive->triangle_first + t;
        for (int k = 0; k < 3; k++) {
            boxes[t].low[k] = boxes[t].high[k] = c->positions[(size_t)corner[0] * 3 + (size_t)k];
            for (int i = 1; i < 3; i++) {
                float x = c->positions[(size_t)corner[i] * 3 + (size_t)k];
                boxes[t].low[k] = fminf(boxes[t].low[k], x);
                boxes[t].high[k] = fmaxf(boxes[t].high[k], x);
            }
        }
    }
    qsort(boxes, (size_t)primitive->triangle_count, sizeof *boxes, compare_boxes);
    for (int32_t i = 0; i < primitive->triangle_count; i++)
        for (int32_t k = i + 1; k < primitive->triangle_count && boxes[k].low[1] <= boxes[i].high[1]; k++) {
            const box *a = &boxes[i], *b = &boxes[k];
            if (a->low[0] > b->high[0] || b->low[0] > a->high[0] || a->low[2] > b->high[2] || b->low[2] > a->high[2])
                continue;
            report->self_intersections +=
                triangles_intersect(c, c->triangles + (size_t)a->triangle * 3, c->triangles + (size_t)b->triangle * 3);
        }
    free(boxes);
}

mesh_report check_primitive(const sup_character *character, int32_t index, bool intersections)
{
    const sup_primitive *primitive = &character->primitives[index];
    mesh_report report = {
        .vertices = primitive->vertex_count, .triangles = primitive->triangle_count, .worst_normal = 1.0};
    check_edges(character, primitive, &report);
    check_components(character, primitive, &report);
    check_shapes(character, primitive, &report);
    if (intersections) check_intersections(character, primitive, &report);
    return report;
}

double winding(const sup_character *c, int32_t index, const double point[3])
{
    const sup_primitive *primitive = &c->primitives[index];
    double total = 0.0;
    for (int32_t t = 0; t < primitive->triangle_count; t++) {
        const int32_t *corner = c->triangles + (size_t)(primitive->triangle_first + t) * 3;
        double v[3][3], length[3], n[3];
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < 3; k++)
                v[i][k] = (double)c->positions[(size_t)corner[i] * 3 + (size_t)k] - point[k];
            length[i] = sqrt(dot(v[i], v[i]));
        }
        cross(v[1], v[2], n);
        double below = length[0] * length[1] * length[2] + dot(v[0], v[1]) * length[2] + dot(v[1], v[2]) * length[0] +
                       dot(v[2], v[0]) * length[1];
        total += 2.0 * atan2(dot(v[0], n), below);
    }
    return total / 12.566370614359172;
}

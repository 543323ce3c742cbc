/* scan_clean.c - separates the person from floor, walls and debris by point positions, because the triangles of a
 * scan may be connected or not. Tolerances are relative to the scan's size. */
#include "anatomy/scan.h"

#include "linalg/small_dense.h"

enum { TRIES = 400, MAX_PLANES = 4, MAX_SAMPLED = 2000, MAX_CELLS = 96 };
static const double plane_near = 0.005;    /* fraction of the size: distance of a point on the plane */
static const double plane_fraction = 0.07; /* minimum fraction of the weight: less is a sole or a back */
/* fraction of the remaining points on one side of a floor; feet may sink in */
static const double plane_one_side = 0.95;
/* minimum cosine with the plane's normal: excludes feet that stand in the floor */
static const double plane_facing = 0.6;
/* fraction of the size: minimum standard deviation across a floor; a back is narrower */
static const double plane_width = 0.075;
/* fraction of the size: components farther apart than this are separate */
static const double cell_size = 0.02;
static const double component_fraction = 0.04; /* fraction of the largest component: less is debris */

typedef struct plane {
    sup_vec3d normal;
    double offset;
} plane;

static double above(plane p, sup_vec3d x)
{
    return sup_v3_dot(p.normal, x) - p.offset;
}

/* --- Box and principal axes --- */

static double box_of(const sup_scan_points *p, sup_vec3d *low, sup_vec3d *high)
{
    *low = sup_v3(INFINITY, INFINITY, INFINITY), *high = sup_v3(-INFINITY, -INFINITY, -INFINITY);
    for (int32_t i = 0; i < p->count; i++) {
        if (p->keep[i] == 0) continue;
        sup_vec3d x = p->at[i];
        *low = sup_v3(fmin(low->x, x.x), fmin(low->y, x.y), fmin(low->z, x.z));
        *high = sup_v3(fmax(high->x, x.x), fmax(high->y, x.y), fmax(high->z, x.z));
    }
    return high->x >= low->x ? sup_v3_distance(*low, *high) : 0.0;
}

typedef struct moments {
    double weight;
    sup_vec3d mean;
    double covariance[9];
} moments;

typedef bool filter_fn(const void *user, const sup_scan_points *points, int32_t i);

static moments moments_of(const sup_scan_points *p, filter_fn *filter, const void *user)
{
    moments m = {0};
    for (int32_t i = 0; i < p->count; i++)
        if (filter(user, p, i)) {
            m.weight += p->weight[i];
            m.mean = sup_v3_madd(m.mean, p->weight[i], p->at[i]);
        }
    m.mean = sup_v3_scale(m.mean, m.weight > 0.0 ? 1.0 / m.weight : 0.0);
    for (int32_t i = 0; i < p->count; i++) {
        if (!filter(user, p, i)) continue;
        sup_vec3d d = sup_v3_sub(p->at[i], m.mean);
        const double at[3] = {d.x, d.y, d.z};
        for (int k = 0; k < 9; k++)
            m.covariance[k] += p->weight[i] * at[k / 3] * at[k % 3];
    }
    return m;
}

static bool is_kept(const void *user, const sup_scan_points *points, int32_t i)
{
    SUP_UNUSED(user);
    return points->keep[i] != 0;
}

void sup_scan_axes(const sup_scan_points *points, sup_vec3d *centre, sup_vec3d axes[3], double extent[3])
{
    moments m = moments_of(points, is_kept, NULL);
    double values[3], vectors[9];
    sup_dense_eigen(3, m.covariance, values, vectors);
    *centre = m.mean;
    for (int k = 0; k < 3; k++) {
        axes[k] = sup_v3(vectors[3 * k], vectors[3 * k + 1], vectors[3 * k + 2]);
        double low = INFINITY, high = -INFINITY;
        for (int32_t i = 0; i < points->count; i++)
            if (points->keep[i] != 0) {
                double d = sup_v3_dot(axes[k], sup_v3_sub(points->at[i], m.mean));
                low = fmin(low, d), high = fmax(high, d);
            }
        extent[k] = high > low ? high - low : 0.0;
    }
}

/* --- Floor and walls --- */

typedef struct plane_test {
    plane plane;
    double tolerance;
} plane_test;

static bool near_plane(const plane_test *t, const sup_scan_points *points, int32_t i)
{
    return fabs(above(t->plane, points->at[i])) < t->tolerance &&
           fabs(sup_v3_dot(points->normal[i], t->plane.normal)) > plane_facing;
}

static bool is_on_plane(const void *user, const sup_scan_points *points, int32_t i)
{
    return points->keep[i] != 0 && near_plane(user, points, i);
}

/* Draws points with probability proportional to weight into `sampled`; returns their number, at most MAX_SAMPLED. */
static int32_t draw_samples(const sup_scan_points *p, int32_t *sampled)
{
    double all = 0.0, run = 0.0;
    int32_t count = 0;
    for (int32_t i = 0; i < p->count; i++)
        all += p->keep[i] != 0 ? p->weight[i] : 0.0;
    for (int32_t i = 0; i < p->count && all > 0.0; i++) {
        if (p->keep[i] == 0) continue;
        for (run += p->weight[i] / all * MAX_SAMPLED; run >= 1.0 && count < MAX_SAMPLED; run -= 1.0)
            sampled[count++] = i;
    }
    return count;
}

/* Fraction of points on the plane; *one_side gets the larger fraction of the others on one side. */
static double plane_weight(const sup_scan_points *p, const int32_t *sampled, int32_t count, plane_test t,
                           double *one_side)
{
    int32_t on = 0, over = 0, under = 0;
    for (int32_t i = 0; i < count; i++) {
        if (near_plane(&t, p, sampled[i]))
            on++;
        else if (above(t.plane, p->at[sampled[i]]) > 0.0)
            over++;
        else
            under++;
    }
    *one_side = count > on ? (double)(over > under ? over : under) / (double)(count - on) : 0.0;
    return (double)on / (double)count;
}

static bool plane_through(const sup_scan_points *p, const int32_t *sampled, int32_t count, sup_random *random,
                          plane *found)
{
    sup_vec3d x[3];
    for (int k = 0; k < 3; k++)
        x[k] = p->at[sampled[(int32_t)(sup_random_unit(random) * (double)count)]];
    sup_vec3d cross = sup_v3_cross(sup_v3_sub(x[1], x[0]), sup_v3_sub(x[2], x[0]));
    double length = sup_v3_length(cross);
    if (!(length > 0.0)) return false;
    found->normal = sup_v3_scale(cross, 1.0 / length);
    found->offset = sup_v3_dot(found->normal, x[0]);
    return true;
}

/* Least-squares plane through the points near the plane; returns their standard deviation in the narrower direction. */
static double refine(const sup_scan_points *p, plane_test *t)
{
    moments m = moments_of(p, is_on_plane, t);
    if (!(m.weight > 0.0)) return 0.0;
    double values[3], vectors[9];
    sup_dense_eigen(3, m.covariance, values, vectors);
    t->plane.normal = sup_v3(vectors[6], vectors[7], vectors[8]);
    t->plane.offset = sup_v3_dot(t->plane.normal, m.mean);
    return sqrt(fmax(values[1], 0.0) / m.weight);
}

/* Finds one plane (RANSAC) and removes its points; returns false if there is none. */
static bool drop_plane(sup_scan_points *p, int32_t *sampled, sup_random *random)
{
    sup_vec3d low, high;
    double size = box_of(p, &low, &high), best = plane_fraction, one_side = 0.0;
    int32_t count = draw_samples(p, sampled);
    if (count < 100 || !(size > 0.0)) return false;
    plane_test found = {.tolerance = plane_near * size};
    bool any = false;
    for (int i = 0; i < TRIES; i++) {
        plane_test t = found;
        if (!plane_through(p, sampled, count, random, &t.plane)) continue;
        double weight = plane_weight(p, sampled, count, t, &one_side);
        if (weight > best && one_side > plane_one_side) best = weight, found = t, any = true;
    }
    if (!any || refine(p, &found) < plane_width * size) return false;
    if (plane_weight(p, sampled, count, found, &one_side) < plane_fraction || one_side < plane_one_side) return false;
    found.tolerance *= 1.5;
    for (int32_t i = 0; i < p->count; i++)
        if (near_plane(&found, p, i)) p->keep[i] = 0;
    return true;
}

/* --- Separate components --- */

typedef struct cells {
    int32_t size[3];
    sup_vec3d low;
    double width;
    int32_t *parent; /* [cells] -1 empty, else union-find */
    double *weight;
} cells;

static int32_t cell_of(const cells *c, sup_vec3d x)
{
    const double at[3] = {x.x - c->low.x, x.y - c->low.y, x.z - c->low.z};
    int32_t index[3];
    for (int k = 0; k < 3; k++) {
        index[k] = (int32_t)(at[k] / c->width);
        if (index[k] >= c->size[k]) index[k] = c->size[k] - 1;
        if (index[k] < 0) index[k] = 0;
    }
    return (index[2] * c->size[1] + index[1]) * c->size[0] + index[0];
}

static int32_t root_of(const cells *c, int32_t i)
{
    while (c->parent[i] != i) {
        c->parent[i] = c->parent[c->parent[i]];
        i = c->parent[i];
    }
    return i;
}

static bool cells_open(sup_arena *arena, const sup_scan_points *p, double fraction, cells *c)
{
    sup_vec3d high;
    double size = box_of(p, &c->low, &high);
    c->width = fmax(fraction * size, size / MAX_CELLS);
    if (!(c->width > 0.0)) return false;
    const double extent[3] = {high.x - c->low.x, high.y - c->low.y, high.z - c->low.z};
    size_t count = 1;
    for (int k = 0; k < 3; k++) {
        c->size[k] = (int32_t)(extent[k] / c->width) + 1;
        count *= (size_t)c->size[k];
    }
    c->parent = sup_arena_alloc(arena, count, sizeof *c->parent);
    c->weight = sup_arena_alloc(arena, count, sizeof *c->weight);
    if (c->parent == NULL || c->weight == NULL) return false;
    for (size_t i = 0; i < count; i++)
        c->parent[i] = -1;
    return true;
}

/* Joins a cell with those of its 13 preceding neighbours. */
static void join_neighbours(const cells *c, int32_t x, int32_t y, int32_t z)
{
    int32_t self = (z * c->size[1] + y) * c->size[0] + x;
    if (c->parent[self] < 0) return;
    for (int n = 0; n < 13; n++) {
        int32_t to[3] = {x + n % 3 - 1, y + n / 3 % 3 - 1, z + n / 9 - 1};
        if (to[0] < 0 || to[1] < 0 || to[2] < 0 || to[0] >= c->size[0] || to[1] >= c->size[1]) continue;
        int32_t other = (to[2] * c->size[1] + to[1]) * c->size[0] + to[0];
        if (c->parent[other] < 0) continue;
        int32_t a = root_of(c, self), b = root_of(c, other);
        if (a != b) c->parent[a > b ? a : b] = a > b ? b : a;
    }
}

static void drop_components(sup_scan_points *p, cells *c)
{
    for (int32_t i = 0; i < p->count; i++)
        if (p->keep[i] != 0) {
            int32_t cell = cell_of(c, p->at[i]);
            c->parent[cell] = cell;
        }
    for (int32_t z = 0; z < c->size[2]; z++)
        for (int32_t y = 0; y < c->size[1]; y++)
            for (int32_t x = 0; x < c->size[0]; x++)
                join_neighbours(c, x, y, z);
    double largest = 0.0;
    for (int32_t i = 0; i < p->count; i++)
        if (p->keep[i] != 0) c->weight[root_of(c, cell_of(c, p->at[i]))] += p->weight[i];
    for (int32_t i = 0; i < c->size[0] * c->size[1] * c->size[2]; i++)
        largest = fmax(largest, c->weight[i]);
    for (int32_t i = 0; i < p->count; i++)
        if (p->keep[i] != 0 && c->weight[root_of(c, cell_of(c, p->at[i]))] < component_fraction * largest)
            p->keep[i] = 0;
}

bool sup_scan_clean(const sup_allocator *allocator, sup_scan_points *points, double *dropped)
{
    sup_arena arena = sup_arena_create(allocator);
    sup_random random = {7};
    int32_t sampled[MAX_SAMPLED];
    bool good = true;
    for (int32_t i = 0; i < points->count; i++)
        points->keep[i] = 1;
    for (int n = 0; good && n < MAX_PLANES; n++)
        if (!drop_plane(points, sampled, &random)) break;
    for (int pass = 0; good && pass < 2; pass++) { /* again: the size is only known without distant debris */
        cells c = {0};
        good = cells_open(&arena, points, cell_size, &c);
        if (good) drop_components(points, &c);
    }
    double all = 0.0, left = 0.0;
    for (int32_t i = 0; i < points->count; i++) {
        all += points->weight[i];
        if (points->keep[i] != 0) left += points->weight[i];
    }
    *dropped = all > 0.0 ? 1.0 - left / all : 0.0;
    sup_arena_destroy(&arena);
    return good;
}

/* --- Normals of a cloud --- */

typedef struct buckets {
    cells grid;
    int32_t *first, *items; /* points by cell */
} buckets;

static bool sort_points(sup_arena *arena, const sup_scan_points *p, buckets *b)
{
    if (!cells_open(arena, p, 0.01, &b->grid)) return false;
    size_t count = (size_t)b->grid.size[0] * (size_t)b->grid.size[1] * (size_t)b->grid.size[2];
    b->first = sup_arena_alloc(arena, count + 1, sizeof *b->first);
    b->items = sup_arena_alloc(arena, (size_t)p->count, sizeof *b->items);
    if (b->first == NULL || b->items == NULL) return false;
    for (int32_t i = 0; i < p->count; i++)
        b->first[cell_of(&b->grid, p->at[i]) + 1]++;
    for (size_t i = 0; i < count; i++)
        b->first[i + 1] += b->first[i];
    for (int32_t i = p->count; i-- > 0;) /* backwards: each cell's start moves down and is corrected below */
        b->items[--b->first[cell_of(&b->grid, p->at[i]) + 1]] = i;
    memmove(b->first, b->first + 1, count * sizeof *b->first);
    b->first[count] = p->count;
    return true;
}

/* Sums over the points within `rings` cell widths. */
static int32_t gather_near(const sup_scan_points *p, const buckets *b, int32_t point, int32_t rings, moments *m)
{
    const cells *c = &b->grid;
    int32_t cell = cell_of(c, p->at[point]), near = 0, side = 2 * rings + 1;
    int32_t at[3] = {cell % c->size[0], cell / c->size[0] % c->size[1], cell / c->size[0] / c->size[1]};
    double radius = (double)rings * c->width;
    *m = (moments){0};
    for (int32_t n = 0; n < side * side * side; n++) {
        int32_t to[3] = {at[0] + n % side - rings, at[1] + n / side % side - rings, at[2] + n / side / side - rings};
        if (to[0] < 0 || to[1] < 0 || to[2] < 0 || to[0] >= c->size[0] || to[1] >= c->size[1] || to[2] >= c->size[2])
            continue;
        int32_t other = (to[2] * c->size[1] + to[1]) * c->size[0] + to[0];
        for (int32_t i = b->first[other]; i < b->first[other + 1]; i++) {
            sup_vec3d d = sup_v3_sub(p->at[b->items[i]], p->at[point]);
            if (sup_v3_dot(d, d) > radius * radius) continue;
            const double v[3] = {d.x, d.y, d.z};
            m->mean = sup_v3_add(m->mean, d);
            for (int k = 0; k < 9; k++)
                m->covariance[k] += v[k / 3] * v[k % 3];
            near++;
        }
    }
    return near;
}

/* Normal of the plane through the nearest points, in the smallest ring with enough of them; *area is the area per
 * point. */
static sup_vec3d normal_at(const sup_scan_points *p, const buckets *b, int32_t point, double *area)
{
    enum { MIN_NEIGHBOURS = 8, MAX_RINGS = 4 };
    moments m = {0};
    int32_t near = 0, rings = 0;
    while (rings < MAX_RINGS && near < MIN_NEIGHBOURS)
        near = gather_near(p, b, point, ++rings, &m);
    double radius = (double)rings * b->grid.width;
    *area = 3.14 * radius * radius / (double)near; /* the point itself is one of them */
    if (near < MIN_NEIGHBOURS) return sup_v3(0, 0, 0);
    const double mean[3] = {m.mean.x, m.mean.y, m.mean.z};
    for (int k = 0; k < 9; k++)
        m.covariance[k] -= mean[k / 3] * mean[k % 3] / (double)near;
    double values[3], vectors[9];
    sup_dense_eigen(3, m.covariance, values, vectors);
    return sup_v3(vectors[6], vectors[7], vectors[8]);
}

bool sup_scan_cloud_normals(const sup_allocator *allocator, sup_scan_points *points)
{
    sup_arena arena = sup_arena_create(allocator);
    buckets b = {0};
    for (int32_t i = 0; i < points->count; i++)
        points->keep[i] = 1;
    bool good = sort_points(&arena, points, &b);
    for (int32_t i = 0; good && i < points->count; i++)
        points->normal[i] = normal_at(points, &b, i, &points->weight[i]);
    sup_arena_destroy(&arena);
    return good;
}

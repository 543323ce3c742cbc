/* test_feet.c - foot points on the bone lines. */
#include "projective/fixture.h"

/* Shortest paths between all nodes (R. W. Floyd, 1962). */
static double *slow_distances(const sup_volumetric_skeleton *s)
{
    size_t n = (size_t)s->node_count;
    double *d = calloc(n * n, sizeof *d);
    for (size_t i = 0; i < n * n; i++)
        d[i] = i % (n + 1) == 0 ? 0.0 : INFINITY;
    for (int32_t p = 0; p < s->segment_count; p++) {
        size_t a = (size_t)s->segments[p].node_from, b = (size_t)s->segments[p].node_to;
        d[a * n + b] = d[b * n + a] = sup_segment_length(&s->segments[p]);
    }
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                if (d[i * n + k] + d[k * n + j] < d[i * n + j]) d[i * n + j] = d[i * n + k] + d[k * n + j];
    return d;
}

TEST(path_lengths_along_the_bones_match_brute_force)
{
    const char *const names[] = {"scene:human", "scene:hand", "scene:elephant"};
    for (int i = 0; i < SUP_COUNT(names); i++) {
        fixture f = fixture_tissue(names[i], 0.2, NULL);
        sup_skeleton_tree tree;
        sup_error error;
        sup_allocator allocator = sup_context_resolve(NULL).allocator;
        CHECK_OK(sup_skeleton_tree_create(&allocator, f.skeleton, &tree, &error), error);
        double *slow = slow_distances(f.skeleton);
        size_t n = (size_t)f.skeleton->node_count;
        for (size_t a = 0; a < n; a++)
            for (size_t b = 0; b < n; b++)
                CHECK_NEAR(sup_skeleton_node_path_length(&tree, (int32_t)a, (int32_t)b), slow[a * n + b], 1e-12);
        free(slow);
        sup_skeleton_tree_destroy(&tree);
        fixture_destroy(&f);
    }
}

typedef struct foot_case {
    fixture f;
    sup_tissue_skin skin;
    float *positions;
    sup_adjacency adjacency;
    sup_skeleton_tree tree;
    int32_t *first, *neighbours; /* edges of the skin */
    sup_foot_point *before;      /* nearest visible ones, without influences */
} foot_case;

static foot_case open_case(const char *name, double resolution)
{
    foot_case c = {.f = fixture_tissue(name, resolution, NULL)};
    const sup_tissue *t = c.f.tissue;
    sup_allocator allocator = sup_context_resolve(NULL).allocator;
    sup_error error;
    c.positions = malloc(3 * (size_t)t->skin_count * sizeof *c.positions);
    for (int32_t i = 0; i < 3 * t->skin_count; i++)
        c.positions[i] = (float)t->skin[i];
    c.skin = (sup_tissue_skin){.vertex_count = t->skin_count,
                               .triangle_count = t->triangle_count,
                               .positions = c.positions,
                               .triangles = t->triangles};
    CHECK_OK(sup_adjacency_create(&allocator, t->skin_count, t->triangle_count, t->triangles, &c.adjacency, &error),
             error);
    CHECK_OK(sup_skeleton_tree_create(&allocator, c.f.skeleton, &c.tree, &error), error);
    c.first = malloc(((size_t)t->skin_count + 1) * sizeof *c.first);
    c.neighbours = malloc(2 * (size_t)c.adjacency.edge_count * sizeof *c.neighbours);
    sup_adjacency_neighbours(&c.adjacency, c.first, c.neighbours);
    sup_bvh bvh;
    CHECK_OK(sup_bvh_create(NULL, c.positions, t->triangle_count, t->triangles, &bvh, &error), error);
    c.before = malloc((size_t)t->skin_count * sizeof *c.before);
    sup_foot_points_nearest(NULL, &c.skin, &bvh, c.f.skeleton, c.before);
    sup_bvh_free(&bvh);
    return c;
}

static void close_case(foot_case *c)
{
    sup_adjacency_destroy(&c->adjacency);
    sup_skeleton_tree_destroy(&c->tree);
    free(c->positions);
    free(c->before);
    free(c->first);
    free(c->neighbours);
    fixture_destroy(&c->f);
}

static bool is_pinned(const sup_volumetric_skeleton *s, sup_foot_point foot)
{
    const sup_bone_segment *p = &s->segments[foot.segment];
    double length = sup_segment_length(p);
    return (p->sphere_from < 0 && foot.parameter * length <= p->radius) ||
           (p->sphere_to < 0 && (1.0 - foot.parameter) * length <= p->radius);
}

/* The energy of smoothing at one vertex (file head of foot_points.c). */
static double energy_at(const foot_case *c, const sup_foot_point *foot_points, int32_t v, sup_foot_point at,
                        double smoothing)
{
    const int32_t *first = c->first, *neighbours = c->neighbours;
    int32_t count = 0;
    sup_vec3d x = sup_v3_load(c->positions + 3 * (size_t)v);
    double sum = 0.0, energy = 0.0;
    for (int32_t k = first[v]; k < first[v + 1]; k++, count++) {
        double w = 1.0 / sup_v3_distance(x, sup_v3_load(c->positions + 3 * (size_t)neighbours[k]));
        double d = sup_skeleton_path_length(&c->tree, at, foot_points[neighbours[k]]);
        sum += w;
        energy += w * d * d;
    }
    double reach = smoothing * sup_v3_distance(x, sup_foot_position(c->f.skeleton, c->before[v])), edge = count / sum;
    double d = sup_skeleton_path_length(&c->tree, at, c->before[v]);
    energy += sum * edge / reach * edge / reach * d * d;
    return energy;
}

TEST(smoothed_foot_points_are_at_the_minimum)
{
    foot_case c = open_case("scene:tbone", 0.15);
    sup_foot_point *foot_points = malloc((size_t)c.skin.vertex_count * sizeof *foot_points);
    memcpy(foot_points, c.before, (size_t)c.skin.vertex_count * sizeof *foot_points);
    sup_error error;
    sup_foot_points_report report;
    CHECK_OK(sup_foot_points_smooth(NULL, &c.skin, &c.adjacency, c.f.skeleton, 1.5, foot_points, &report, &error),
             error);
    CHECK(report.last_step <= 3e-6 && report.sweeps > 3);
    int32_t pinned = 0, changed = 0;
    for (int32_t v = 0; v < c.skin.vertex_count; v++) {
        CHECK(foot_points[v].segment >= 0 && foot_points[v].segment < c.f.skeleton->segment_count);
        CHECK(foot_points[v].parameter >= 0.0 && foot_points[v].parameter <= 1.0);
        if (is_pinned(c.f.skeleton, c.before[v])) {
            CHECK(memcmp(&foot_points[v].parameter, &c.before[v].parameter, sizeof(double)) == 0);
            CHECK_EQ(foot_points[v].segment, c.before[v].segment);
            pinned++;
            continue;
        }
        changed += foot_points[v].segment != c.before[v].segment;
        double now = energy_at(&c, foot_points, v, foot_points[v], 1.5);
        for (int32_t p = 0; p < c.f.skeleton->segment_count; p++)
            for (int k = 0; k <= 20;
                 k++) { /* no point of the tree has less energy, within the tolerance of the sweeps */
                double other = energy_at(&c, foot_points, v, (sup_foot_point){p, k / 20.0}, 1.5);
                CHECK_MSG(other >= now * (1.0 - 1e-3) - 1e-9, "vertex %d: %g against %g", v, other, now);
            }
    }
    CHECK_EQ(pinned, report.pinned);
    CHECK(pinned > 10 && changed > 0);
    free(foot_points);
    close_case(&c);
}

TEST(foot_points_along_a_straight_tube_keep_their_order)
{
    fixture f = fixture_tissue("fps/cylinder/cylinder.ini", 1, NULL);
    const sup_tissue *t = f.tissue;
    for (int32_t k = 0; k < 3 * t->triangle_count; k++) {
        int32_t v = t->triangles[k], w = t->triangles[k % 3 == 2 ? k - 2 : k + 1];
        double dx = t->skin[3 * w] - t->skin[3 * v];
        double ds =
            sup_foot_position(f.skeleton, t->foot_points[w]).x - sup_foot_position(f.skeleton, t->foot_points[v]).x;
        double edge = sup_v3_distance(sup_tissue_point(t->skin, v), sup_tissue_point(t->skin, w));
        /* Edges across the tube are excluded: their weights do not depend on the axis. */
        if (dx > 0.25 * edge) CHECK_MSG(ds >= -1e-9, "%d to %d: skin %g, foot point %g", v, w, dx, ds);
    }
    fixture_destroy(&f);
}

TEST(foot_points_do_not_depend_on_the_density_of_the_mesh)
{
    const double resolutions[] = {0.3, 1.2};
    fixture f[2];
    for (int i = 0; i < 2; i++)
        f[i] = fixture_tissue("scene:tbone", resolutions[i], NULL);
    double sum = 0.0, thickness = 0.0;
    for (int32_t v = 0; v < f[0].tissue->skin_count; v++) {
        sup_vec3d x = sup_tissue_point(f[0].tissue->skin, v);
        int32_t nearest = 0;
        double best = INFINITY;
        for (int32_t w = 0; w < f[1].tissue->skin_count; w++) {
            double d = sup_v3_distance(x, sup_tissue_point(f[1].tissue->skin, w));
            if (d < best) best = d, nearest = w;
        }
        sup_vec3d a = sup_foot_position(f[0].skeleton, f[0].tissue->foot_points[v]);
        sup_vec3d b = sup_foot_position(f[1].skeleton, f[1].tissue->foot_points[nearest]);
        sum += fmax(sup_v3_distance(a, b) - best, 0.0); /* the nearest vertex is at another position */
        thickness += sup_v3_distance(x, a);
    }
    CHECK_MSG(sum < 0.05 * thickness, "foot points differ by %g of the thickness", sum / thickness);
    fixture_destroy(&f[0]);
    fixture_destroy(&f[1]);
}

TEST(no_foot_point_is_on_another_limb)
{
    fixture f = fixture_tissue("scene:human", 0.5, NULL);
    const sup_tissue *t = f.tissue;
    for (int32_t v = 0; v < t->skin_count; v++) {
        double x = t->skin[3 * v], y = t->skin[3 * v + 1];
        sup_vec3d foot = sup_foot_position(f.skeleton, t->foot_points[v]);
        if (fabs(x) > 0.35) CHECK(foot.x * x > 0.0 && fabs(foot.x) > 0.3 && foot.y > 0.85); /* forearms and hands */
        if (y < 0.8 && fabs(x) < 0.3 && x != 0.0) CHECK(foot.x * x > 0.0 && foot.y < 0.95); /* legs */
    }
    fixture_destroy(&f);
}

TEST(smoothing_makes_fewer_folds)
{
    int32_t inverted[2];
    for (int i = 0; i < 2; i++) {
        sup_tissue_def def = {.smoothing = i == 0 ? -1.0 : 0.0};
        fixture f = fixture_tissue("scene:elephant", 0.5, &def);
        inverted[i] = f.report.inverted;
        fixture_destroy(&f);
    }
    CHECK_MSG(inverted[1] < inverted[0] / 2, "%d folds with smoothing, %d without", inverted[1], inverted[0]);
}

/* Detection of contact: against brute force, at rest, in slow motion, for any thread count and any input. */
#include "base/simd.h"
#include "blobs.h"
#include "contact_fixture.h"
#include "contact/detect_internal.h"

/* --- Brute force in double --- */

static sup_vec3d posed_point(const blobs *b, int32_t point)
{
    if (point < b->vertex_count) return sup_v3_load(b->posed + 3 * (size_t)point);
    sup_foot_point foot = b->feet[point - b->vertex_count];
    const float *ends = b->ends + 6 * (size_t)foot.segment;
    return sup_v3_lerp(sup_v3_load(ends), sup_v3_load(ends + 3), foot.parameter);
}

static sup_vec3d triangle_normal(const blobs *b, int32_t t)
{
    const int32_t *c = b->triangles + 3 * (size_t)t;
    sup_vec3d a = posed_point(b, c[0]);
    return sup_v3_cross(sup_v3_sub(posed_point(b, c[1]), a), sup_v3_sub(posed_point(b, c[2]), a));
}

static sup_vec3d brute_normal(const blobs *b, int32_t v)
{
    sup_vec3d sum = sup_v3(0, 0, 0);
    for (int32_t i = 0; i < 3 * b->triangle_count; i++)
        if (b->triangles[i] == v) sum = sup_v3_add(sum, triangle_normal(b, i / 3));
    return sup_v3_unit_or(sum, sup_v3(0, 0, 0));
}

/* Corners of the tetrahedra: skin stands out by the gap and a little more, then the feet. To be freed. */
static sup_vec3d *outer_points(const blobs *b)
{
    sup_vec3d *points = malloc(2 * (size_t)b->vertex_count * sizeof *points);
    for (int32_t i = 0; i < 2 * b->vertex_count; i++) {
        points[i] = posed_point(b, i);
        if (i < b->vertex_count) points[i] = sup_v3_madd(points[i], 1.3 * (double)b->detect.gap[i], brute_normal(b, i));
    }
    return points;
}

/* The least of the four weights of a point in a tetrahedron; -1 where that is inverted. */
static double least_weight(const sup_vec3d *points, const int32_t *tet, sup_vec3d p)
{
    sup_vec3d o = points[tet[0]], e[3], d = sup_v3_sub(p, o);
    for (int k = 0; k < 3; k++)
        e[k] = sup_v3_sub(points[tet[k + 1]], o);
    double det = sup_v3_dot(e[0], sup_v3_cross(e[1], e[2])), least = 1.0, sum = 0.0;
    if (det <= 0.0) return -1.0;
    for (int k = 0; k < 3; k++) {
        double w = sup_v3_dot(d, sup_v3_cross(e[(k + 1) % 3], e[(k + 2) % 3])) / det;
        least = fmin(least, w);
        sum += w;
    }
    return fmin(least, 1.0 - sum);
}

/* How clearly vertex v touches another blob: the best over all tetrahedra of the smallest of its margins; above 0 = it does. */
static double brute_margin(const blobs *b, const sup_vec3d *points, int32_t v)
{
    const sup_detect *d = &b->detect;
    sup_vec3d p = posed_point(b, v), own = brute_normal(b, v);
    sup_vec3d flesh = sup_v3_unit_or(sup_v3_sub(p, posed_point(b, b->vertex_count + v)), sup_v3(0, 0, 0));
    double best = -1.0;
    for (int32_t t = 0; t < d->tet_count; t++) {
        int32_t triangle = d->tet_triangle[t];
        const int32_t *c = b->triangles + 3 * (size_t)triangle;
        bool same = false;
        for (int k = 0; k < 3; k++)
            same = same || b->feet[c[k]].segment == b->feet[v].segment;
        if (same) continue;
        double margin = least_weight(points, d->tets + 4 * (size_t)t, p);
        if (margin < best) continue;
        sup_vec3d n = sup_v3_unit_or(triangle_normal(b, triangle), sup_v3(0, 0, 0));
        margin = fmin(margin, 0.3 - fmax(sup_v3_dot(n, flesh), sup_v3_dot(n, own)));
        best = fmax(best, margin);
    }
    return best;
}

static void compare_with_brute_force(blobs *b, int32_t *touching)
{
    sup_detect_reset(&b->detect, b->state);
    int32_t count = blobs_step(b, NULL), next = 0;
    sup_vec3d *points = outer_points(b);
    for (int32_t v = 0; v < b->vertex_count; v++) {
        bool found = next < count && b->rows[next].vertex == v;
        double margin = brute_margin(b, points, v);
        bool folded = found && b->feet[b->rows[next].corner[0]].segment == b->feet[v].segment;
        if (margin > 1e-4 && b->detect.slack[v] == 0.0f) CHECK_MSG(found, "vertex %d was missed, margin %g", v, margin);
        if (found && !folded) CHECK_MSG(margin > -1e-4, "vertex %d touches nothing, margin %g", v, margin);
        next += found ? 1 : 0;
    }
    CHECK_EQ(next, count);
    *touching += count;
    free(points);
}

TEST(detection_equals_brute_force_on_random_meshes)
{
    int32_t touching = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        blobs b = blobs_make(4, 11, 7, 3.0, 0.3, seed);
        sup_random random = {seed};
        for (int32_t i = 0; i < 4; i++) {
            sup_vec3d by = sup_v3((1.5 - i) * 2.0 + sup_random_unit(&random), sup_random_unit(&random) - 0.5,
                                  sup_random_unit(&random) - 0.5);
            sup_vec3d axis = sup_v3(sup_random_unit(&random), sup_random_unit(&random), sup_random_unit(&random));
            blobs_move(&b, i, by, axis, 6.0 * sup_random_unit(&random), 0.05, &random);
        }
        compare_with_brute_force(&b, &touching);
        blobs_free(&b);
    }
    CHECK(touching > 100);
}

TEST(tetrahedra_fill_the_body)
{
    blobs b = blobs_make(1, 24, 15, 3.0, 0.0, 3);
    double volume = 0.0;
    for (int32_t t = 0; t < b.detect.tet_count; t++) {
        sup_vec3d o = posed_point(&b, b.detect.tets[4 * t]), e[3];
        for (int k = 0; k < 3; k++)
            e[k] = sup_v3_sub(posed_point(&b, b.detect.tets[4 * t + k + 1]), o);
        double v = sup_v3_dot(e[0], sup_v3_cross(e[1], e[2])) / 6.0;
        CHECK(v > 0.0);
        volume += v;
    }
    double surface = 0.0;
    for (int32_t t = 0; t < b.triangle_count; t++)
        surface += sup_v3_dot(triangle_normal(&b, t), posed_point(&b, b.triangles[3 * t])) / 6.0;
    CHECK_NEAR(volume, surface, 0.01 * surface); /* sides of prisms that are not plane count on neither side */
    blobs_free(&b);
}

TEST(an_inverted_tetrahedron_holds_no_point)
{
    const float points[16] = {0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}, middle[3] = {0.25f, 0.25f, 0.25f};
    const int32_t tets[12] = {0, 1, 2, 3, 0, 2, 1, 3, 0, 1, 2, 2}; /* upright, inverted, flat */
    sup_detect_maps maps;
    sup_detect_kernels_base.map(points, tets, 3, maps);
    CHECK_EQ(sup_detect_kernels_base.test(maps, 3, middle), 1);
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    if (sup_simd_lanes() >= 8) sup_detect_kernels_avx2.map(points, tets, 3, maps);
    if (sup_simd_lanes() >= 8) CHECK_EQ(sup_detect_kernels_avx2.test(maps, 3, middle), 1);
    if (sup_simd_lanes() >= 16) sup_detect_kernels_avx512.map(points, tets, 3, maps);
    if (sup_simd_lanes() >= 16) CHECK_EQ(sup_detect_kernels_avx512.test(maps, 3, middle), 1);
#endif
}

TEST(kernels_of_all_processors_agree)
{
    blobs b = blobs_make(1, 16, 11, 3.0, 0.2, 5);
    const sup_detect_kernels *kernels[3] = {&sup_detect_kernels_base, NULL, NULL};
    int32_t kinds = 1, inside = 0;
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    if (sup_simd_lanes() >= 8) kernels[kinds++] = &sup_detect_kernels_avx2;
    if (sup_simd_lanes() >= 16) kernels[kinds++] = &sup_detect_kernels_avx512;
#endif
    sup_detect_arrays a = sup_detect_layout(&b.detect, b.state);
    sup_vec3d *points = outer_points(&b);
    sup_random random = {7};
    blobs_step(&b, NULL); /* fills points and boxes */
    float block[SUP_DETECT_CLUSTER_ROWS * SUP_DETECT_CLUSTER] = {0};
    for (int32_t cell = 0; cell < b.detect.cell_count; cell++) {
        int32_t first = b.detect.cell_tet_first[cell], count = b.detect.cell_tet_first[cell + 1] - first;
        for (int32_t i = 0; i < 50; i++) {
            float p[3];
            for (int k = 0; k < 3; k++) {
                double s = sup_random_unit(&random);
                p[k] = (float)((1.0 - s) * (double)a.cell_box[cell].lower[k] + s * (double)a.cell_box[cell].upper[k]);
            }
            double nearest = 1.0;
            uint64_t bits[3];
            for (int32_t t = 0; t < count; t++)
                nearest =
                    fmin(nearest, fabs(least_weight(points, b.detect.tets + 4 * (size_t)(first + t), sup_v3_load(p))));
            for (int32_t kind = 0; kind < kinds; kind++) {
                sup_detect_maps maps;
                kernels[kind]->map(a.points, b.detect.tets + 4 * (size_t)first, count, maps);
                bits[kind] = kernels[kind]->test(maps, count, p);
                CHECK(nearest < 1e-4 || bits[kind] == bits[0]);
                CHECK_EQ(kernels[kind]->meet(a.block_box[0], &a.cell_box[cell]),
                         kernels[0]->meet(a.block_box[0], &a.cell_box[cell]));
                CHECK_EQ(kernels[kind]->within(a.blocks, &a.cell_box[cell]),
                         kernels[0]->within(a.blocks, &a.cell_box[cell]));
                uint64_t block_bits[SUP_DETECT_CLUSTER] = {0};
                for (int k = 0; k < 3; k++)
                    block[k * SUP_DETECT_CLUSTER + 5] = p[k];
                CHECK_EQ(kernels[kind]->inside(maps, count, block, 1u << 5, block_bits) != 0, bits[kind] != 0);
                CHECK(block_bits[5] == bits[kind]);
            }
            CHECK(nearest < 1e-4 || __builtin_popcountll(bits[0]) <= 1 + (int)(bits[0] != 0) * 2);
            inside += bits[0] != 0;
        }
    }
    CHECK(inside > 100);
    free(points);
    blobs_free(&b);
}

/* Which vertices of a block face a triangle, against the same by hand in double. */
TEST(blocks_face_triangles_on_all_processors)
{
    const sup_detect_kernels *kernels[3] = {&sup_detect_kernels_base, NULL, NULL};
    int32_t kinds = 1, facing = 0;
    float block[SUP_DETECT_CLUSTER_ROWS * SUP_DETECT_CLUSTER];
    sup_detect_faces faces;
    const float limits[2] = {0.3f, 0.6f};
    sup_random random = {11};
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    if (sup_simd_lanes() >= 8) kernels[kinds++] = &sup_detect_kernels_avx2;
    if (sup_simd_lanes() >= 16) kernels[kinds++] = &sup_detect_kernels_avx512;
#endif
    for (int32_t round = 0; round < 200; round++) {
        uint32_t expected = 0, unsure = 0;
        int32_t count = 1 + round % 3;
        for (int32_t i = 0; i < SUP_COUNT(block); i++)
            block[i] = (float)(2.0 * sup_random_unit(&random) - 1.0);
        for (int32_t t = 0; t < count; t++) {
            double square = 0.0;
            for (int k = 0; k < 3; k++) {
                faces[t][k] = round == 0 ? 0.0f : (float)(3.0 * sup_random_unit(&random) - 1.0);
                square += (double)faces[t][k] * (double)faces[t][k];
            }
            faces[t][3] = (float)sqrt(square);
            for (int32_t i = 0; i < SUP_DETECT_CLUSTER; i++) {
                double excess = -INFINITY;
                for (int32_t way = 0; way < 2; way++) {
                    double cosine = 0.0;
                    for (int k = 0; k < 3; k++)
                        cosine += (double)faces[t][k] * (double)block[(3 + 3 * way + k) * SUP_DETECT_CLUSTER + i];
                    excess = fmax(excess, cosine - (double)limits[way] * sqrt(square));
                }
                expected |= (uint32_t)(excess <= 0.0) << i;
                unsure |= (uint32_t)(round > 0 && fabs(excess) < 1e-5) << i;
            }
        }
        for (int32_t kind = 0; kind < kinds; kind++)
            CHECK_EQ(kernels[kind]->face(block, ~unsure & 0xbfff, faces, count, limits), expected & ~unsure & 0xbfff);
        facing += __builtin_popcount(expected);
    }
    CHECK(facing > 200 && facing < 200 * SUP_DETECT_CLUSTER);
}

/* --- Rows --- */

static void check_rows(const sup_detect *d, const float *skin, const sup_contact *rows, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        const sup_contact *row = &rows[i];
        sup_vec3d n = sup_v3_load(row->normal), off = sup_v3_load(skin + 3 * (size_t)row->vertex);
        double sum = 0.0, gap = 0.0;
        CHECK(i == 0 || row->vertex > rows[i - 1].vertex);
        CHECK_NEAR(sup_v3_length(n), 1.0, 1e-5);
        for (int k = 0; k < 3; k++) {
            CHECK(row->corner[k] >= 0 && row->corner[k] < d->vertex_count && row->corner[k] != row->vertex);
            CHECK(row->weight[k] >= 0.0f);
            CHECK(row->point[k] == 0.0f && row->motion[k] == 0.0f);
            sum += (double)row->weight[k];
            off = sup_v3_madd(off, -(double)row->weight[k], sup_v3_load(skin + 3 * (size_t)row->corner[k]));
            gap = fmax(gap, (double)d->gap[row->corner[k]]);
        }
        CHECK_NEAR(sum, 1.0, 1e-5);
        CHECK((double)row->offset <= gap);
        CHECK(sup_v3_dot(n, off) < 1.8 * gap);
        CHECK((double)row->offset - sup_v3_dot(n, off) < 1.001 * gap); /* never a push of more than a step's worth */
        CHECK(row->press > 0.0f && row->press <= 1.0f && row->damping >= 0.0f && row->limit > 0.0f);
    }
}

TEST(rows_point_out_of_the_body_to_the_nearest_triangle)
{
    blobs b = blobs_make(2, 40, 25, 3.0, 0.0, 1);
    blobs_move(&b, 1, sup_v3(-1.2, 0.1, 0.2), sup_v3(0, 0, 1), 0.3, 0.0, NULL);
    int32_t count = blobs_step(&b, NULL);
    CHECK(count > 40);
    check_rows(&b.detect, b.posed, b.rows, count);
    for (int32_t i = 0; i < count; i++) {
        const sup_contact *row = &b.rows[i];
        sup_vec3d p = posed_point(&b, row->vertex), q = sup_v3(0, 0, 0);
        int32_t other = b.feet[row->corner[0]].segment;
        for (int k = 0; k < 3; k++)
            q = sup_v3_madd(q, (double)row->weight[k], posed_point(&b, row->corner[k]));
        /* The nearest point of a sphere is straight out from its middle. */
        sup_vec3d middle =
            sup_v3_scale(sup_v3_add(sup_v3_load(b.ends + 6 * other), sup_v3_load(b.ends + 6 * other + 3)), 0.5);
        double depth = 1.0 - sup_v3_distance(p, middle);
        CHECK_NEAR(sup_v3_distance(p, q), fabs(depth), 0.03);
        CHECK(row->friction == 0.5f);
    }
    blobs_free(&b);
}

TEST(rows_are_the_same_for_any_thread_count)
{
    blobs one = blobs_make(4, 30, 20, 3.0, 0.2, 9), many = blobs_make(4, 30, 20, 3.0, 0.2, 9);
    for (int32_t threads = 2; threads <= 5; threads += 3) {
        sup_error error = {0};
        sup_thread_pool *pool = NULL;
        CHECK_OK(sup_thread_pool_create(threads, &pool, &error), error);
        sup_tasks tasks = sup_thread_pool_tasks(pool);
        sup_detect_reset(&one.detect, one.state);
        sup_detect_reset(&many.detect, many.state);
        for (int32_t step = 0; step < 20; step++) {
            for (int32_t i = 0; i < 4; i++) {
                sup_vec3d by = sup_v3((1.5 - i) * 0.09 * step, 0.02 * step * i, 0.0);
                blobs_move(&one, i, by, sup_v3(0, 1, 1), 0.1 * step, 0.0, NULL);
                blobs_move(&many, i, by, sup_v3(0, 1, 1), 0.1 * step, 0.0, NULL);
            }
            int32_t count = blobs_step(&one, NULL);
            CHECK_EQ(blobs_step(&many, &tasks), count);
            CHECK(memcmp(one.rows, many.rows, (size_t)count * sizeof *one.rows) == 0);
            CHECK(step < 19 || count > 50);
        }
        sup_thread_pool_destroy(pool);
    }
    blobs_free(&one);
    blobs_free(&many);
}

/* --- Rest --- */

/* n . d of a row, and how many of the rows push. */
static double row_height(const blobs *b, const sup_contact *row)
{
    sup_vec3d off = posed_point(b, row->vertex);
    for (int c = 0; c < 3; c++)
        off = sup_v3_madd(off, -(double)row->weight[c], posed_point(b, row->corner[c]));
    return sup_v3_dot(sup_v3_load(row->normal), off);
}

static int32_t count_pushing(const blobs *b, int32_t count)
{
    int32_t pushing = 0;
    for (int32_t i = 0; i < count; i++)
        pushing += row_height(b, &b->rows[i]) < (double)b->rows[i].offset;
    return pushing;
}

TEST(parts_that_touch_in_the_bind_pose_are_left_alone)
{
    blobs b = blobs_make(3, 30, 20, 1.7, 0.0, 2);
    int32_t slack = 0;
    for (int32_t v = 0; v < b.vertex_count; v++)
        slack += b.detect.slack[v] > 0.0f;
    CHECK(slack > 20);
    CHECK_EQ(count_pushing(&b, blobs_step(&b, NULL)), 0);
    blobs_move(&b, 2, sup_v3(-0.1, 0, 0), sup_v3(0, 0, 1), 0.0, 0.0, NULL); /* deeper than at rest: now it counts */
    int32_t count = blobs_step(&b, NULL);
    for (int32_t i = 0; i < count; i++) {
        const sup_contact *row = &b.rows[i];
        double height = row_height(&b, row);
        CHECK_MSG(height > (double)row->offset - 0.15, "vertex %d of blob %d at %g, slack %g", row->vertex,
                  b.feet[row->vertex].segment, height, (double)row->offset); /* no more than what was added */
    }
    CHECK(count_pushing(&b, count) > 10);
    blobs_free(&b);
}

TEST(built_in_characters_touch_nothing_at_rest)
{
    for (int32_t i = 0; i < sup_scene_count(); i++) {
        contact_fixture f = fixture_scene(sup_scene_at(i).name, 0.25);
        fixture_rest(&f);
        CHECK_MSG(fixture_step(&f, NULL) == 0, "%s touches itself", sup_scene_at(i).name);
        fixture_free(&f);
    }
}

/* --- Steadiness --- */

/* One vertex of blob 1 as the tip of a spike, over blob 0 at a height in mean edges, `angle` away from the middle. */
static void place_tip(blobs *b, int32_t tip, double angle, double height)
{
    double r = 1.0 + height * (double)b->detect.edge[0];
    sup_v3_store(b->posed + 3 * (size_t)tip, sup_v3(r * cos(angle), r * sin(angle) * 0.8, r * sin(angle) * 0.6));
}

static int32_t tip_vertex(const blobs *b)
{
    int32_t tip = b->vertex_count / 2;
    for (int32_t v = tip; v < b->vertex_count; v++)
        if (b->skin[3 * v] < b->skin[3 * tip]) tip = v;
    return tip;
}

/* A step, and the row of the tip; NULL for none. Skin below may touch the sides of the spike. */
static const sup_contact *tip_row(blobs *b, int32_t tip)
{
    int32_t count = blobs_step(b, NULL);
    for (int32_t i = 0; i < count; i++)
        if (b->rows[i].vertex == tip) return &b->rows[i];
    return NULL;
}

TEST(a_resting_contact_does_not_flicker)
{
    blobs b = blobs_make(2, 40, 25, 3.0, 0.0, 4);
    int32_t tip = tip_vertex(&b);
    const int32_t *pair = sup_detect_pairs(&b.detect, b.state);
    place_tip(&b, tip, 0.02, 0.0);
    const sup_contact *row = tip_row(&b, tip);
    CHECK(row != NULL);
    if (row == NULL) return;
    double gap = (double)b.detect.gap[row->corner[0]] / (double)b.detect.edge[0];
    place_tip(&b, tip, 0.02, 3.0 * gap);
    CHECK(tip_row(&b, tip) == NULL);
    place_tip(&b, tip, 0.02, 1.5 * gap);
    CHECK(tip_row(&b, tip) == NULL); /* near is not in */
    place_tip(&b, tip, 0.02, 1.1 * gap);
    CHECK(tip_row(&b, tip) != NULL);
    for (int32_t step = 0; step < 50; step++) { /* as a solver leaves it: about the gap, trembling */
        place_tip(&b, tip, 0.02, (step % 2 == 0 ? 1.5 : 0.5) * gap);
        CHECK(tip_row(&b, tip) != NULL);
    }
    place_tip(&b, tip, 0.02, 2.2 * gap); /* lifted off */
    CHECK(tip_row(&b, tip) == NULL);
    CHECK_EQ(pair[tip], -1);
    blobs_free(&b);
}

TEST(a_contact_slides_over_the_skin)
{
    blobs b = blobs_make(2, 40, 25, 3.0, 0.0, 4);
    int32_t tip = tip_vertex(&b), triangles = 0, last = -1;
    double edge = (double)b.detect.edge[0];
    place_tip(&b, tip, -0.6, -0.3);
    CHECK(tip_row(&b, tip) != NULL);
    for (double angle = -0.6; angle < 0.6; angle += 0.4 * edge) {
        place_tip(&b, tip, angle, 0.1);
        const sup_contact *row = tip_row(&b, tip);
        CHECK_MSG(row != NULL, "lost at %g", angle);
        if (row == NULL) break;
        int32_t triangle = sup_detect_pairs(&b.detect, b.state)[tip];
        triangles += triangle != last;
        last = triangle;
        sup_vec3d q = sup_v3(0, 0, 0);
        for (int k = 0; k < 3; k++)
            q = sup_v3_madd(q, (double)row->weight[k], posed_point(&b, row->corner[k]));
        CHECK(sup_v3_distance(q, posed_point(&b, tip)) < 0.3 * edge);
    }
    CHECK(triangles > 8);
    blobs_free(&b);
}

TEST(over_a_slow_motion_each_contact_comes_once_and_goes_once)
{
    blobs b = blobs_make(2, 40, 25, 3.0, 0.0, 4);
    int32_t *switches = calloc((size_t)b.vertex_count, sizeof *switches), touched = 0, much = 0, jumps = 0;
    unsigned char *on = calloc((size_t)b.vertex_count, 1);
    int32_t *last = malloc((size_t)b.vertex_count * sizeof *last);
    memset(last, 0xff, (size_t)b.vertex_count * sizeof *last);
    for (int32_t step = 0; step <= 400; step++) { /* in and out again, turning */
        double s = step / 400.0, depth = 1.2 * sin(3.14159265 * s);
        blobs_move(&b, 1, sup_v3(-0.7 - depth * 0.6, 0, 0), sup_v3(0, 0, 1), 0.5 * s, 0.0, NULL);
        blobs_step(&b, NULL);
        const int32_t *pair = sup_detect_pairs(&b.detect, b.state);
        for (int32_t v = 0; v < b.vertex_count; v++) {
            switches[v] += (pair[v] >= 0) != on[v];
            on[v] = pair[v] >= 0;
            if (pair[v] >= 0 && last[v] >= 0 && pair[v] != last[v]) { /* slides to a neighbour, or one further */
                bool near = false;
                for (int i = 0; i < 3; i++)
                    for (int j = 0; j < 3; j++)
                        near = near || b.triangles[3 * pair[v] + i] == b.triangles[3 * last[v] + j];
                jumps += !near;
            }
            last[v] = pair[v];
        }
    }
    for (int32_t v = 0; v < b.vertex_count; v++) {
        touched += switches[v] > 0;
        much += switches[v] > 2;
    }
    CHECK(touched > 100);
    CHECK_EQ(much, 0);
    CHECK_MSG(jumps <= 2, "%d pairs jumped", jumps);
    free(switches);
    free(on);
    free(last);
    blobs_free(&b);
}

TEST(the_motions_of_the_human_give_sound_rows)
{
    contact_fixture f = fixture_scene("human", 0.2);
    int32_t most = 0;
    for (int32_t c = 0; c < f.character->clip_count; c++) {
        const sup_clip *clip = &f.character->clips[c];
        sup_detect_reset(&f.detect, f.state);
        for (int32_t i = 0; i <= 30; i++) {
            fixture_clip(&f, clip, (double)clip->start + (double)(clip->end - clip->start) * i / 30.0);
            int32_t count = fixture_step(&f, NULL);
            check_rows(&f.detect, f.skin, f.rows, count);
            most = count > most ? count : most;
        }
    }
    CHECK(most > 20);
    fixture_free(&f);
}

/* --- Any input --- */

TEST(contact_does_not_depend_on_the_unit)
{
    blobs b = blobs_make(3, 20, 13, 3.0, 0.2, 6);
    sup_random random = {3};
    blobs_move(&b, 1, sup_v3(-1.3, 0, 0), sup_v3(1, 1, 0), 0.4, 0.0, &random);
    blobs_move(&b, 2, sup_v3(-2.6, 0.2, 0), sup_v3(1, 1, 0), 0.8, 0.0, &random);
    int32_t count = blobs_step(&b, NULL);
    CHECK(count > 20);
    for (int32_t power = -7; power <= 7; power += 14) { /* a hundred and a hundredth, exact */
        blobs c = blobs_make(3, 20, 13, 3.0, 0.2, 6);
        sup_detect scaled;
        sup_error error = {0};
        for (int32_t i = 0; i < 3 * c.vertex_count; i++) {
            c.skin[i] = ldexp(c.skin[i], power);
            c.posed[i] = ldexpf(b.posed[i], power);
        }
        for (int32_t p = 0; p < 3; p++) {
            c.segments[p].from = sup_v3_scale(c.segments[p].from, ldexp(1.0, power));
            c.segments[p].to = sup_v3_scale(c.segments[p].to, ldexp(1.0, power));
        }
        for (int32_t i = 0; i < 18; i++)
            c.ends[i] = ldexpf(b.ends[i], power);
        CHECK_OK(sup_detect_create(NULL, &c.def, &c.arena, &scaled, &error), error);
        c.detect = scaled;
        CHECK_EQ(blobs_step(&c, NULL), count);
        for (int32_t i = 0; i < count; i++) {
            CHECK_EQ(c.rows[i].vertex, b.rows[i].vertex);
            CHECK(memcmp(c.rows[i].corner, b.rows[i].corner, sizeof b.rows[i].corner) == 0);
            CHECK(memcmp(c.rows[i].weight, b.rows[i].weight, sizeof b.rows[i].weight) == 0);
        }
        blobs_free(&c);
    }
    blobs_free(&b);
}

TEST(inverted_bodies_touch_nothing)
{
    blobs b = blobs_make(2, 20, 13, 3.0, 0.0, 6);
    blobs_move(&b, 1, sup_v3(-1.5, 0, 0), sup_v3(1, 0, 0), 0.0, 0.0, NULL);
    CHECK(blobs_step(&b, NULL) > 0);
    for (int32_t i = 0; i < b.vertex_count; i++)
        b.posed[3 * i + 1] = -b.posed[3 * i + 1]; /* mirrored in the plane of the bones */
    sup_detect_reset(&b.detect, b.state);
    CHECK_EQ(blobs_step(&b, NULL), 0);
    blobs_free(&b);
}

TEST(numbers_that_are_not_finite_touch_nothing)
{
    blobs b = blobs_make(2, 20, 13, 3.0, 0.0, 6);
    const float bad[3] = {NAN, INFINITY, -INFINITY};
    for (int32_t round = 0; round < 6; round++) {
        blobs_rest(&b);
        blobs_move(&b, 1, sup_v3(-1.5, 0, 0), sup_v3(1, 0, 0), 0.0, 0.0, NULL);
        sup_detect_reset(&b.detect, b.state);
        CHECK(blobs_step(&b, NULL) > 0); /* pairs that the bad numbers then meet */
        for (int32_t i = round; i < 3 * b.vertex_count; i += 7 + 40 * round)
            b.posed[i] = bad[round % 3];
        if (round == 5) b.ends[4] = NAN;
        int32_t count = blobs_step(&b, NULL);
        for (int32_t i = 0; i < count; i++)
            for (int k = 0; k < 3; k++) {
                CHECK(isfinite(b.rows[i].normal[k]) && isfinite(b.rows[i].weight[k]));
                CHECK(isfinite(b.posed[3 * (size_t)b.rows[i].vertex + (size_t)k]));
            }
    }
    blobs_free(&b);
}

TEST(a_teleport_ends_pairs)
{
    blobs b = blobs_make(2, 20, 13, 3.0, 0.0, 6);
    blobs_move(&b, 1, sup_v3(-1.5, 0, 0), sup_v3(1, 0, 0), 0.0, 0.0, NULL);
    CHECK(blobs_step(&b, NULL) > 0);
    blobs_move(&b, 1, sup_v3(-100, 3, 0), sup_v3(1, 0, 0), 0.0, 0.0, NULL);
    CHECK_EQ(blobs_step(&b, NULL), 0);
    blobs_free(&b);
}

static int32_t rows_of_blob(const blobs *b, int32_t count, int32_t blob)
{
    int32_t rows = 0;
    for (int32_t i = 0; i < count; i++)
        rows += b->feet[b->rows[i].vertex].segment == blob || b->feet[b->rows[i].corner[0]].segment == blob;
    return rows;
}

TEST(skin_that_would_be_apart_is_let_go)
{
    blobs b = blobs_make(3, 20, 13, 3.0, 0.0, 6);
    const int32_t *pair = sup_detect_pairs(&b.detect, b.state);
    sup_detect_input input = {.skin = b.posed, .skin_stride = 3, .segment_ends = b.ends};
    sup_context context = sup_context_resolve(NULL);
    blobs_move(&b, 2, sup_v3(-1.2, 0, 0), sup_v3(1, 0, 0), 0.0, 0.0, NULL);
    sup_detect_apart(&context, &b.detect, b.state, &input); /* as carried: the last two touch */
    for (int32_t v = 0; v < b.vertex_count; v++)
        CHECK_EQ(pair[v], -1);
    blobs_move(&b, 0, sup_v3(1.2, 0, 0), sup_v3(1, 0, 0), 0.0, 0.0, NULL); /* as it is: all three */
    int32_t all = blobs_step(&b, NULL), held = rows_of_blob(&b, all, 0);
    CHECK(held > 10 && all > held + 10);
    input.let_go = true;
    int32_t left = sup_detect_step(&context, &b.detect, b.state, &input, b.rows);
    CHECK_EQ(left, all - held);
    CHECK_EQ(rows_of_blob(&b, left, 0), 0);
    for (int32_t v = 0; v < b.vertex_count / 3; v++)
        CHECK_EQ(pair[v], -1);
    CHECK_EQ(blobs_step(&b, NULL), all); /* and found again */
    blobs_free(&b);
}

/* --- The model block --- */

static const sup_detect *stored_detect;

static sup_result store_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error)
{
    SUP_UNUSED(input);
    return sup_detect_store(stored_detect, builder, error);
}

static sup_result no_step(const sup_step_input *input, void *state, const sup_skin_out *out)
{
    SUP_UNUSED(input);
    SUP_UNUSED(state);
    SUP_UNUSED(out);
    return SUP_OK;
}

TEST(a_model_block_gives_the_same_rows_and_refuses_damage)
{
    contact_fixture f = fixture_scene("arm", 0.2);
    const sup_method method = {
        .name = "contact_test", .version = 1, .bind = store_bind, .step = no_step};
    sup_model *model = NULL;
    sup_error error = {0};
    sup_detect view = {0};
    stored_detect = &f.detect;
    CHECK_OK(sup_bind(NULL, &method, f.rig, NULL, &model, &error), error);
    CHECK_OK(sup_detect_view(model, &view, &error), error);
    fixture_clip(&f, &f.character->clips[0], 0.5 * (double)(f.character->clips[0].start + f.character->clips[0].end));
    int32_t count = fixture_step(&f, NULL);
    sup_contact *rows = malloc((size_t)f.detect.vertex_count * sizeof *rows);
    memcpy(rows, f.rows, (size_t)count * sizeof *rows);
    sup_detect made = f.detect;
    f.detect = view;
    sup_detect_reset(&f.detect, f.state);
    CHECK_EQ(fixture_step(&f, NULL), count);
    CHECK(memcmp(rows, f.rows, (size_t)count * sizeof *rows) == 0);
    f.detect = made;
    static const char *const names[] = {"contact.sizes",          "contact.foot_segment",   "contact.triangles",
                                        "contact.beside",         "contact.fan_first",    "contact.fan",
                                        "contact.ring_first",     "contact.ring",         "contact.block_vertex",
                                        "contact.cell_tet_first", "contact.cell_point",   "contact.cell_point_first",
                                        "contact.tets",           "contact.tet_triangle", "contact.folds"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        /* The block is ours alone here: spoil one number, look, mend. */
        int32_t *array = (int32_t *)(uintptr_t)sup_model_array(model, names[i], SUP_ARRAY_INT32, -1), old = array[1];
        array[1] = INT32_MAX / 2;
        CHECK_MSG(sup_detect_view(model, &view, &error) == SUP_ERROR_FORMAT, "%s", names[i]);
        array[1] = -5;
        CHECK_MSG(sup_detect_view(model, &view, &error) == SUP_ERROR_FORMAT, "%s", names[i]);
        array[1] = old;
    }
    CHECK_OK(sup_detect_view(model, &view, &error), error);
    sup_model_destroy(model);
    free(rows);
    fixture_free(&f);
}

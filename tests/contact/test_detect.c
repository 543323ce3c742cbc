/* Contact detection: against brute force, at rest, in slow motion, for any thread count and any input. */
#include "base/simd.h"
#include "blobs.h"
#include "contact_fixture.h"
#include "contact/contact_tuning.h"
#include "contact/detect_internal.h"

/* --- Brute force in double --- */

static sup_vec3d posed_point(const blobs *b, int32_t point)
{
    if (point < b->vertex_count) return sup_v3_load(b->posed + 3 * (size_t)point);
    sup_foot_point foot = b->foot_points[point - b->vertex_count];
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

/* Corners of the tetrahedra: skin offset by the reach of contact, then foot points. The caller frees them. */
static sup_vec3d *outer_points(const blobs *b)
{
    sup_vec3d *points = malloc(2 * (size_t)b->vertex_count * sizeof *points);
    for (int32_t i = 0; i < 2 * b->vertex_count; i++) {
        points[i] = posed_point(b, i);
        if (i < b->vertex_count)
            points[i] =
                sup_v3_madd(points[i], (double)SUP_CONTACT_REACH * (double)b->detect.gap[i], brute_normal(b, i));
    }
    return points;
}

/* The minimum of the four barycentric weights of a point in a tetrahedron; -1 where that is inverted. */
static double minimum_weight(const sup_vec3d *points, const int32_t *tet, sup_vec3d p)
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

/* Margin by which vertex v is in contact with another blob: the maximum over all tetrahedra of its smallest barycentric
 * margin; positive: it is in contact. */
static double brute_margin(const blobs *b, const sup_vec3d *points, int32_t v)
{
    const sup_detect *d = &b->detect;
    sup_vec3d p = posed_point(b, v), own = brute_normal(b, v);
    sup_vec3d bone_direction = sup_v3_unit_or(sup_v3_sub(p, posed_point(b, b->vertex_count + v)), sup_v3(0, 0, 0));
    double best = -1.0;
    for (int32_t t = 0; t < d->tet_count; t++) {
        int32_t triangle = d->tet_triangle[t];
        const int32_t *c = b->triangles + 3 * (size_t)triangle;
        bool same = false;
        for (int k = 0; k < 3; k++)
            same = same || b->foot_points[c[k]].segment == b->foot_points[v].segment;
        if (same) continue;
        double margin = minimum_weight(points, d->tets + 4 * (size_t)t, p);
        if (margin < best) continue;
        sup_vec3d n = sup_v3_unit_or(triangle_normal(b, triangle), sup_v3(0, 0, 0));
        margin =
            fmin(margin, (double)SUP_CONTACT_FACING_DISTANT - fmax(sup_v3_dot(n, bone_direction), sup_v3_dot(n, own)));
        best = fmax(best, margin);
    }
    return best;
}

static void compare_with_brute_force(blobs *b, int32_t *contact_count)
{
    sup_detect_reset(&b->detect, b->state);
    int32_t count = blobs_step(b, NULL), next = 0;
    sup_vec3d *points = outer_points(b);
    for (int32_t v = 0; v < b->vertex_count; v++) {
        bool found = next < count && b->contacts[next].vertex == v;
        double margin = brute_margin(b, points, v);
        bool folded = found && b->foot_points[b->contacts[next].corner[0]].segment == b->foot_points[v].segment;
        if (margin > 1e-4 && b->detect.slack[v] == 0.0f) CHECK_MSG(found, "vertex %d was missed, margin %g", v, margin);
        if (found && !folded) CHECK_MSG(margin > -1e-4, "vertex %d has a wrong contact, margin %g", v, margin);
        next += found ? 1 : 0;
    }
    CHECK_EQ(next, count);
    *contact_count += count;
    free(points);
}

TEST(detection_equals_brute_force_on_random_meshes)
{
    int32_t contact_count = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        blobs b = blobs_make(4, 11, 7, 3.0, 0.3, seed);
        sup_random random = {seed};
        for (int32_t i = 0; i < 4; i++) {
            sup_vec3d by = sup_v3((1.5 - i) * 2.0 + sup_random_unit(&random), sup_random_unit(&random) - 0.5,
                                  sup_random_unit(&random) - 0.5);
            sup_vec3d axis = sup_v3(sup_random_unit(&random), sup_random_unit(&random), sup_random_unit(&random));
            blobs_move(&b, i, by, axis, 6.0 * sup_random_unit(&random), 0.05, &random);
        }
        compare_with_brute_force(&b, &contact_count);
        blobs_free(&b);
    }
    CHECK(contact_count > 100);
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
    CHECK_NEAR(volume, surface, 0.01 * surface); /* sides of prisms that are not planar leave small gaps */
    blobs_free(&b);
}

TEST(inverted_tetrahedron_contains_no_point)
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

TEST(kernels_agree_on_all_processors)
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
    float lanes[SUP_DETECT_CLUSTER_ARRAYS * SUP_DETECT_CLUSTER] = {0};
    for (int32_t cluster = 0; cluster < b.detect.tet_cluster_count; cluster++) {
        int32_t first = b.detect.tet_cluster_first[cluster], count = b.detect.tet_cluster_first[cluster + 1] - first;
        for (int32_t i = 0; i < 50; i++) {
            float p[3];
            for (int k = 0; k < 3; k++) {
                double s = sup_random_unit(&random);
                p[k] = (float)((1.0 - s) * (double)a.tet_cluster_box[cluster].lower[k] +
                               s * (double)a.tet_cluster_box[cluster].upper[k]);
            }
            double nearest = 1.0;
            uint64_t bits[3];
            for (int32_t t = 0; t < count; t++)
                nearest = fmin(nearest,
                               fabs(minimum_weight(points, b.detect.tets + 4 * (size_t)(first + t), sup_v3_load(p))));
            for (int32_t kind = 0; kind < kinds; kind++) {
                sup_detect_maps maps;
                kernels[kind]->map(a.points, b.detect.tets + 4 * (size_t)first, count, maps);
                bits[kind] = kernels[kind]->test(maps, count, p);
                CHECK(nearest < 1e-4 || bits[kind] == bits[0]);
                CHECK_EQ(kernels[kind]->overlap(a.cluster_box[0], &a.tet_cluster_box[cluster]),
                         kernels[0]->overlap(a.cluster_box[0], &a.tet_cluster_box[cluster]));
                CHECK_EQ(kernels[kind]->within(a.cluster_lanes, &a.tet_cluster_box[cluster]),
                         kernels[0]->within(a.cluster_lanes, &a.tet_cluster_box[cluster]));
                uint64_t cluster_bits[SUP_DETECT_CLUSTER] = {0};
                for (int k = 0; k < 3; k++)
                    lanes[k * SUP_DETECT_CLUSTER + 5] = p[k];
                CHECK_EQ(kernels[kind]->inside(maps, count, lanes, 1u << 5, cluster_bits) != 0, bits[kind] != 0);
                CHECK(cluster_bits[5] == bits[kind]);
            }
            CHECK(nearest < 1e-4 || __builtin_popcountll(bits[0]) <= 1 + (int)(bits[0] != 0) * 2);
            inside += bits[0] != 0;
        }
    }
    CHECK(inside > 100);
    free(points);
    blobs_free(&b);
}

/* Which vertices of a cluster face a triangle, against a reference in double. */
TEST(clusters_face_triangles_on_all_processors)
{
    const sup_detect_kernels *kernels[3] = {&sup_detect_kernels_base, NULL, NULL};
    int32_t kinds = 1, facing = 0;
    float lanes[SUP_DETECT_CLUSTER_ARRAYS * SUP_DETECT_CLUSTER];
    sup_detect_faces faces;
    const float limits[2] = {0.3f, 0.6f};
    sup_random random = {11};
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    if (sup_simd_lanes() >= 8) kernels[kinds++] = &sup_detect_kernels_avx2;
    if (sup_simd_lanes() >= 16) kernels[kinds++] = &sup_detect_kernels_avx512;
#endif
    for (int32_t trial = 0; trial < 200; trial++) {
        uint32_t expected = 0, unsure = 0;
        int32_t count = 1 + trial % 3;
        for (int32_t i = 0; i < SUP_COUNT(lanes); i++)
            lanes[i] = (float)(2.0 * sup_random_unit(&random) - 1.0);
        for (int32_t t = 0; t < count; t++) {
            double square = 0.0;
            for (int k = 0; k < 3; k++) {
                faces[t][k] = trial == 0 ? 0.0f : (float)(3.0 * sup_random_unit(&random) - 1.0);
                square += (double)faces[t][k] * (double)faces[t][k];
            }
            faces[t][3] = (float)sqrt(square);
            for (int32_t i = 0; i < SUP_DETECT_CLUSTER; i++) {
                double excess = -INFINITY;
                for (int32_t limit = 0; limit < 2; limit++) {
                    double cosine = 0.0;
                    for (int k = 0; k < 3; k++)
                        cosine += (double)faces[t][k] * (double)lanes[(3 + 3 * limit + k) * SUP_DETECT_CLUSTER + i];
                    excess = fmax(excess, cosine - (double)limits[limit] * sqrt(square));
                }
                expected |= (uint32_t)(excess <= 0.0) << i;
                unsure |= (uint32_t)(trial > 0 && fabs(excess) < 1e-5) << i;
            }
        }
        for (int32_t kind = 0; kind < kinds; kind++)
            CHECK_EQ(kernels[kind]->face(lanes, ~unsure & 0xbfff, faces, count, limits), expected & ~unsure & 0xbfff);
        facing += __builtin_popcount(expected);
    }
    CHECK(facing > 200 && facing < 200 * SUP_DETECT_CLUSTER);
}

/* --- Contacts --- */

static void check_contacts(const sup_detect *d, const float *skin, const sup_contact *contacts, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        const sup_contact *contact = &contacts[i];
        sup_vec3d n = sup_v3_load(contact->normal), off = sup_v3_load(skin + 3 * (size_t)contact->vertex);
        double sum = 0.0, gap = 0.0;
        CHECK(i == 0 || contact->vertex > contacts[i - 1].vertex);
        CHECK_NEAR(sup_v3_length(n), 1.0, 1e-5);
        for (int k = 0; k < 3; k++) {
            CHECK(contact->corner[k] >= 0 && contact->corner[k] < d->vertex_count &&
                  contact->corner[k] != contact->vertex);
            CHECK(contact->weight[k] >= 0.0f);
            CHECK(contact->point[k] == 0.0f && contact->motion[k] == 0.0f);
            sum += (double)contact->weight[k];
            off = sup_v3_madd(off, -(double)contact->weight[k], sup_v3_load(skin + 3 * (size_t)contact->corner[k]));
            gap = fmax(gap, (double)d->gap[contact->corner[k]]);
        }
        CHECK_NEAR(sum, 1.0, 1e-5);
        CHECK((double)contact->offset <= gap);
        CHECK(sup_v3_dot(n, off) < 1.8 * gap);
        CHECK((double)contact->offset - sup_v3_dot(n, off) <
              1.001 * gap); /* no push of more than one timestep allows */
        CHECK(contact->press > 0.0f && contact->press <= 1.0f && contact->damping >= 0.0f && contact->limit > 0.0f);
    }
}

TEST(contacts_point_out_of_the_body_to_the_nearest_triangle)
{
    blobs b = blobs_make(2, 40, 25, 3.0, 0.0, 1);
    blobs_move(&b, 1, sup_v3(-1.2, 0.1, 0.2), sup_v3(0, 0, 1), 0.3, 0.0, NULL);
    int32_t count = blobs_step(&b, NULL);
    CHECK(count > 40);
    check_contacts(&b.detect, b.posed, b.contacts, count);
    for (int32_t i = 0; i < count; i++) {
        const sup_contact *contact = &b.contacts[i];
        sup_vec3d p = posed_point(&b, contact->vertex), q = sup_v3(0, 0, 0);
        int32_t other = b.foot_points[contact->corner[0]].segment;
        for (int k = 0; k < 3; k++)
            q = sup_v3_madd(q, (double)contact->weight[k], posed_point(&b, contact->corner[k]));
        /* The nearest point of a sphere is radially outward from its centre. */
        sup_vec3d middle =
            sup_v3_scale(sup_v3_add(sup_v3_load(b.ends + 6 * other), sup_v3_load(b.ends + 6 * other + 3)), 0.5);
        double depth = 1.0 - sup_v3_distance(p, middle);
        CHECK_NEAR(sup_v3_distance(p, q), fabs(depth), 0.03);
        CHECK(contact->friction == 0.5f);
    }
    blobs_free(&b);
}

TEST(contacts_are_the_same_for_any_thread_count)
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
            CHECK(memcmp(one.contacts, many.contacts, (size_t)count * sizeof *one.contacts) == 0);
            CHECK(step < 19 || count > 50);
        }
        sup_thread_pool_destroy(pool);
    }
    blobs_free(&one);
    blobs_free(&many);
}

/* --- Rest --- */

/* n . d of a contact. */
static double contact_height(const blobs *b, const sup_contact *contact)
{
    sup_vec3d off = posed_point(b, contact->vertex);
    for (int c = 0; c < 3; c++)
        off = sup_v3_madd(off, -(double)contact->weight[c], posed_point(b, contact->corner[c]));
    return sup_v3_dot(sup_v3_load(contact->normal), off);
}

static int32_t count_pushing(const blobs *b, int32_t count)
{
    int32_t pushing = 0;
    for (int32_t i = 0; i < count; i++)
        pushing += contact_height(b, &b->contacts[i]) < (double)b->contacts[i].offset;
    return pushing;
}

TEST(contact_in_the_bind_pose_does_not_push)
{
    blobs b = blobs_make(3, 30, 20, 1.7, 0.0, 2);
    int32_t slack = 0;
    for (int32_t v = 0; v < b.vertex_count; v++)
        slack += b.detect.slack[v] > 0.0f;
    CHECK(slack > 20);
    CHECK_EQ(count_pushing(&b, blobs_step(&b, NULL)), 0);
    blobs_move(&b, 2, sup_v3(-0.1, 0, 0), sup_v3(0, 0, 1), 0.0, 0.0, NULL); /* deeper than at rest: now it pushes */
    int32_t count = blobs_step(&b, NULL);
    for (int32_t i = 0; i < count; i++) {
        const sup_contact *contact = &b.contacts[i];
        double height = contact_height(&b, contact);
        CHECK_MSG(height > (double)contact->offset - 0.15, "vertex %d of blob %d at %g, slack %g", contact->vertex,
                  b.foot_points[contact->vertex].segment, height,
                  (double)contact->offset); /* at most the added depth */
    }
    CHECK(count_pushing(&b, count) > 10);
    blobs_free(&b);
}

TEST(built_in_characters_have_no_contact_at_rest)
{
    for (int32_t i = 0; i < sup_scene_count(); i++) {
        contact_fixture f = fixture_scene(sup_scene_at(i).name, 0.25);
        fixture_rest(&f);
        CHECK_MSG(fixture_step(&f, NULL) == 0, "%s has contacts", sup_scene_at(i).name);
        fixture_free(&f);
    }
}

/* --- Hysteresis --- */

/* One vertex of blob 1 as the tip of a spike, over blob 0 at a height in mean edges, `angle` away from the middle. */
static void move_tip(blobs *b, int32_t tip, double angle, double height)
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

/* A timestep, and the contact of the tip; NULL for none. Skin below may collide with the sides of the spike. */
static const sup_contact *tip_contact(blobs *b, int32_t tip)
{
    int32_t count = blobs_step(b, NULL);
    for (int32_t i = 0; i < count; i++)
        if (b->contacts[i].vertex == tip) return &b->contacts[i];
    return NULL;
}

TEST(resting_contact_does_not_flicker)
{
    blobs b = blobs_make(2, 40, 25, 3.0, 0.0, 4);
    int32_t tip = tip_vertex(&b);
    const int32_t *pair = sup_detect_pairs(&b.detect, b.state);
    move_tip(&b, tip, 0.02, 0.0);
    const sup_contact *contact = tip_contact(&b, tip);
    CHECK(contact != NULL);
    if (contact == NULL) return;
    double gap = (double)b.detect.gap[contact->corner[0]] / (double)b.detect.edge[0];
    move_tip(&b, tip, 0.02, 3.0 * gap);
    CHECK(tip_contact(&b, tip) == NULL);
    move_tip(&b, tip, 0.02, 1.5 * gap);
    CHECK(tip_contact(&b, tip) == NULL); /* near, but no pair yet */
    move_tip(&b, tip, 0.02, 1.1 * gap);
    CHECK(tip_contact(&b, tip) != NULL);
    for (int32_t step = 0; step < 50; step++) { /* as after a solver: oscillating around the gap */
        move_tip(&b, tip, 0.02, (step % 2 == 0 ? 1.5 : 0.5) * gap);
        CHECK(tip_contact(&b, tip) != NULL);
    }
    move_tip(&b, tip, 0.02, 2.2 * gap); /* lifted off */
    CHECK(tip_contact(&b, tip) == NULL);
    CHECK_EQ(pair[tip], -1);
    blobs_free(&b);
}

TEST(contact_slides_over_the_skin)
{
    blobs b = blobs_make(2, 40, 25, 3.0, 0.0, 4);
    int32_t tip = tip_vertex(&b), triangles = 0, last = -1;
    double edge = (double)b.detect.edge[0];
    move_tip(&b, tip, -0.6, -0.3);
    CHECK(tip_contact(&b, tip) != NULL);
    for (double angle = -0.6; angle < 0.6; angle += 0.4 * edge) {
        move_tip(&b, tip, angle, 0.1);
        const sup_contact *contact = tip_contact(&b, tip);
        CHECK_MSG(contact != NULL, "lost at %g", angle);
        if (contact == NULL) break;
        int32_t triangle = sup_detect_pairs(&b.detect, b.state)[tip];
        triangles += triangle != last;
        last = triangle;
        sup_vec3d q = sup_v3(0, 0, 0);
        for (int k = 0; k < 3; k++)
            q = sup_v3_madd(q, (double)contact->weight[k], posed_point(&b, contact->corner[k]));
        CHECK(sup_v3_distance(q, posed_point(&b, tip)) < 0.3 * edge);
    }
    CHECK(triangles > 8);
    blobs_free(&b);
}

TEST(slow_motion_begins_and_ends_each_contact_once)
{
    blobs b = blobs_make(2, 40, 25, 3.0, 0.0, 4);
    int32_t *switches = calloc((size_t)b.vertex_count, sizeof *switches), in_contact = 0, flickering = 0, jumps = 0;
    unsigned char *on = calloc((size_t)b.vertex_count, 1);
    int32_t *last = malloc((size_t)b.vertex_count * sizeof *last);
    memset(last, 0xff, (size_t)b.vertex_count * sizeof *last);
    for (int32_t step = 0; step <= 400; step++) { /* in and out again, rotating */
        double s = step / 400.0, depth = 1.2 * sin(3.14159265 * s);
        blobs_move(&b, 1, sup_v3(-0.7 - depth * 0.6, 0, 0), sup_v3(0, 0, 1), 0.5 * s, 0.0, NULL);
        blobs_step(&b, NULL);
        const int32_t *pair = sup_detect_pairs(&b.detect, b.state);
        for (int32_t v = 0; v < b.vertex_count; v++) {
            switches[v] += (pair[v] >= 0) != on[v];
            on[v] = pair[v] >= 0;
            if (pair[v] >= 0 && last[v] >= 0 &&
                pair[v] != last[v]) { /* slides to an adjacent triangle, or one further */
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
        in_contact += switches[v] > 0;
        flickering += switches[v] > 2;
    }
    CHECK(in_contact > 100);
    CHECK_EQ(flickering, 0);
    CHECK_MSG(jumps <= 2, "%d pairs jumped", jumps);
    free(switches);
    free(on);
    free(last);
    blobs_free(&b);
}

TEST(motions_of_the_human_give_valid_contacts)
{
    contact_fixture f = fixture_scene("human", 0.2);
    int32_t maximum = 0;
    for (int32_t c = 0; c < f.character->clip_count; c++) {
        const sup_clip *clip = &f.character->clips[c];
        sup_detect_reset(&f.detect, f.state);
        for (int32_t i = 0; i <= 30; i++) {
            fixture_clip(&f, clip, (double)clip->start + (double)(clip->end - clip->start) * i / 30.0);
            int32_t count = fixture_step(&f, NULL);
            check_contacts(&f.detect, f.skin, f.contacts, count);
            maximum = count > maximum ? count : maximum;
        }
    }
    CHECK(maximum > 20);
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
            CHECK_EQ(c.contacts[i].vertex, b.contacts[i].vertex);
            CHECK(memcmp(c.contacts[i].corner, b.contacts[i].corner, sizeof b.contacts[i].corner) == 0);
            CHECK(memcmp(c.contacts[i].weight, b.contacts[i].weight, sizeof b.contacts[i].weight) == 0);
        }
        blobs_free(&c);
    }
    blobs_free(&b);
}

TEST(inverted_bodies_have_no_contact)
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

TEST(positions_that_are_not_finite_have_no_contact)
{
    blobs b = blobs_make(2, 20, 13, 3.0, 0.0, 6);
    const float bad[3] = {NAN, INFINITY, -INFINITY};
    for (int32_t trial = 0; trial < 6; trial++) {
        blobs_rest(&b);
        blobs_move(&b, 1, sup_v3(-1.5, 0, 0), sup_v3(1, 0, 0), 0.0, 0.0, NULL);
        sup_detect_reset(&b.detect, b.state);
        CHECK(blobs_step(&b, NULL) > 0); /* pairs exist before the invalid positions */
        for (int32_t i = trial; i < 3 * b.vertex_count; i += 7 + 40 * trial)
            b.posed[i] = bad[trial % 3];
        if (trial == 5) b.ends[4] = NAN;
        int32_t count = blobs_step(&b, NULL);
        for (int32_t i = 0; i < count; i++)
            for (int k = 0; k < 3; k++) {
                CHECK(isfinite(b.contacts[i].normal[k]) && isfinite(b.contacts[i].weight[k]));
                CHECK(isfinite(b.posed[3 * (size_t)b.contacts[i].vertex + (size_t)k]));
            }
    }
    blobs_free(&b);
}

TEST(teleport_ends_pairs)
{
    blobs b = blobs_make(2, 20, 13, 3.0, 0.0, 6);
    blobs_move(&b, 1, sup_v3(-1.5, 0, 0), sup_v3(1, 0, 0), 0.0, 0.0, NULL);
    CHECK(blobs_step(&b, NULL) > 0);
    blobs_move(&b, 1, sup_v3(-100, 3, 0), sup_v3(1, 0, 0), 0.0, 0.0, NULL);
    CHECK_EQ(blobs_step(&b, NULL), 0);
    blobs_free(&b);
}

static int32_t contacts_of_blob(const blobs *b, int32_t count, int32_t blob)
{
    int32_t contacts = 0;
    for (int32_t i = 0; i < count; i++)
        contacts += b->foot_points[b->contacts[i].vertex].segment == blob ||
                    b->foot_points[b->contacts[i].corner[0]].segment == blob;
    return contacts;
}

TEST(separated_segments_are_released)
{
    blobs b = blobs_make(3, 20, 13, 3.0, 0.0, 6);
    const int32_t *pair = sup_detect_pairs(&b.detect, b.state);
    sup_detect_input input = {.skin = b.posed, .skin_stride = 3, .segment_ends = b.ends};
    sup_context context = sup_context_resolve(NULL);
    blobs_move(&b, 2, sup_v3(-1.2, 0, 0), sup_v3(1, 0, 0), 0.0, 0.0, NULL);
    sup_detect_find_separated(&context, &b.detect, b.state, &input); /* as moved by the joints: the last two collide */
    for (int32_t v = 0; v < b.vertex_count; v++)
        CHECK_EQ(pair[v], -1);
    blobs_move(&b, 0, sup_v3(1.2, 0, 0), sup_v3(1, 0, 0), 0.0, 0.0, NULL); /* current positions: all three collide */
    int32_t all = blobs_step(&b, NULL), held = contacts_of_blob(&b, all, 0);
    CHECK(held > 10 && all > held + 10);
    input.release_separated = true;
    int32_t remaining = sup_detect_step(&context, &b.detect, b.state, &input, b.contacts);
    CHECK_EQ(remaining, all - held);
    CHECK_EQ(contacts_of_blob(&b, remaining, 0), 0);
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

TEST(model_block_gives_the_same_contacts_and_refuses_damage)
{
    contact_fixture f = fixture_scene("arm", 0.2);
    const sup_method method = {.name = "contact_test", .version = 1, .bind = store_bind, .step = no_step};
    sup_model *model = NULL;
    sup_error error = {0};
    sup_detect view = {0};
    stored_detect = &f.detect;
    CHECK_OK(sup_bind(NULL, &method, f.rig, NULL, &model, &error), error);
    CHECK_OK(sup_detect_view(model, &view, &error), error);
    fixture_clip(&f, &f.character->clips[0], 0.5 * (double)(f.character->clips[0].start + f.character->clips[0].end));
    int32_t count = fixture_step(&f, NULL);
    sup_contact *contacts = malloc((size_t)f.detect.vertex_count * sizeof *contacts);
    memcpy(contacts, f.contacts, (size_t)count * sizeof *contacts);
    sup_detect made = f.detect;
    f.detect = view;
    sup_detect_reset(&f.detect, f.state);
    CHECK_EQ(fixture_step(&f, NULL), count);
    CHECK(memcmp(contacts, f.contacts, (size_t)count * sizeof *contacts) == 0);
    f.detect = made;
    static const char *const names[] = {"contact.sizes",
                                        "contact.foot_segment",
                                        "contact.triangles",
                                        "contact.adjacent",
                                        "contact.fan_first",
                                        "contact.fan",
                                        "contact.ring_first",
                                        "contact.ring",
                                        "contact.vertex_clusters",
                                        "contact.tet_cluster_first",
                                        "contact.tet_cluster_points",
                                        "contact.tet_cluster_point_first",
                                        "contact.tets",
                                        "contact.tet_triangle",
                                        "contact.self_contact"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        /* The block is not shared here: damage one number, check, restore. */
        int32_t *array = (int32_t *)(uintptr_t)sup_model_array(model, names[i], SUP_ARRAY_INT32, -1), old = array[1];
        array[1] = INT32_MAX / 2;
        CHECK_MSG(sup_detect_view(model, &view, &error) == SUP_ERROR_FORMAT, "%s", names[i]);
        array[1] = -5;
        CHECK_MSG(sup_detect_view(model, &view, &error) == SUP_ERROR_FORMAT, "%s", names[i]);
        array[1] = old;
    }
    CHECK_OK(sup_detect_view(model, &view, &error), error);
    sup_model_destroy(model);
    free(contacts);
    fixture_free(&f);
}

/* Skins embedded in tetrahedra: exact at rest and under affine motions, and smoother than barycentric under a bend. */
#include "volume/embed.h"
#include "volume/shapes.h"

#include "geometry/normals.h"

static shape skin;
static sup_tetmesh mesh;
static sup_embedding embedding;
static float output[3 * 20000], plain[3 * 20000];

static void create(double spacing, int32_t threads)
{
    sup_context context = shape_context(threads);
    sup_tetmesh_def def = {.spacing = spacing};
    sup_error error = {0};
    double *normals = calloc((size_t)skin.vertex_count * 3, sizeof *normals);
    float *unit = calloc((size_t)skin.vertex_count * 3, sizeof *unit);
    CHECK(normals != NULL && unit != NULL);
    CHECK_OK(sup_tetmesh_create(&context, skin.vertex_count, skin.positions, skin.triangle_count, skin.triangles, &def,
                                &mesh, &error),
             error);
    sup_vertex_normals(skin.vertex_count, skin.positions, skin.triangle_count, skin.triangles, NULL, normals);
    for (int32_t i = 0; i < 3 * skin.vertex_count; i++)
        unit[i] = (float)normals[i];
    CHECK_OK(sup_embed(&context, &mesh, skin.vertex_count, skin.positions, unit, &embedding, &error), error);
    free(normals);
    free(unit);
}

static void discard(void)
{
    sup_embedding_free(&embedding);
    sup_tetmesh_free(&mesh);
}

static void apply(const float *positions)
{
    sup_embedding_apply(&embedding, positions, 3, 0, skin.vertex_count, output);
    for (int32_t v = 0; v < skin.vertex_count; v++)
        for (int k = 0; k < 3; k++) {
            double sum = 0.0;
            for (int c = 0; c < 4; c++)
                sum += (double)embedding.barycentric[4 * v + c] *
                       (double)positions[3 * mesh.tets[4 * embedding.tet[v] + c] + k];
            plain[3 * v + k] = (float)sum;
        }
}

TEST(embed_is_exact_under_affine_motions)
{
    static const double maps[3][12] = {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0},
                                       {0, -1, 0, 0.5, 1, 0, 0, -0.25, 0, 0, 1, 1},
                                       {1.2, 0.3, -0.1, 0.1, 0, 0.8, 0.4, 0, 0.2, 0, 1.1, 0.3}};
    skin.vertex_count = skin.triangle_count = 0;
    shape_capsule(&skin, 0.0, 0.0, 0.0, 0.25, 0.75, 0.1);
    create(0.1, 2);
    for (int32_t v = 0, over = 0; v < skin.vertex_count; v++) {
        double noise = 0.0;
        for (int32_t i = 0; i < SUP_EMBED_SLOTS; i++)
            noise += fabs((double)embedding.weight[v * SUP_EMBED_SLOTS + i]);
        over += noise > SUP_EMBED_NOISE * 1.0001;
        CHECK_MSG(over < skin.vertex_count / 20, "%d vertices with large weights", over);
        CHECK(embedding.plain > 0 || noise <= SUP_EMBED_NOISE_MAX * 1.0001);
    }
    CHECK_MSG(embedding.smooth + embedding.linear > 99 * skin.vertex_count / 100, "%d barycentric vertices",
              embedding.plain);
    float *moved = malloc((size_t)mesh.vertex_count * 12);
    CHECK(moved != NULL);
    for (int i = 0; i < 3; i++) {
        const double *m = maps[i];
        for (int32_t v = 0; v < mesh.vertex_count; v++)
            for (int k = 0; k < 3; k++) {
                const float *p = mesh.positions + 3 * v;
                moved[3 * v + k] = (float)(m[4 * k] * (double)p[0] + m[4 * k + 1] * (double)p[1] +
                                           m[4 * k + 2] * (double)p[2] + m[4 * k + 3]);
            }
        apply(moved);
        for (int32_t v = 0; v < skin.vertex_count; v++)
            for (int k = 0; k < 3; k++) {
                const float *p = skin.positions + 3 * v;
                double expected =
                    m[4 * k] * (double)p[0] + m[4 * k + 1] * (double)p[1] + m[4 * k + 2] * (double)p[2] + m[4 * k + 3];
                CHECK_NEAR(output[3 * v + k], expected, 2e-6);
                CHECK_NEAR(plain[3 * v + k], expected, 4e-6);
            }
    }
    free(moved);
    discard();
}

TEST(embed_weights_are_valid)
{
    skin.vertex_count = skin.triangle_count = 0;
    shape_capsule(&skin, 0.0, 0.0, 0.0, 0.25, 0.75, 0.1);
    create(0.1, 1);
    for (int32_t v = 0; v < skin.vertex_count; v++) {
        double sum = 0.0;
        CHECK(embedding.tet[v] >= 0 && embedding.tet[v] < mesh.tet_count);
        for (int32_t i = 0; i < SUP_EMBED_SLOTS; i++) {
            int32_t at = embedding.index[v * SUP_EMBED_SLOTS + i];
            CHECK(at >= 0 && at < mesh.vertex_count);
            sum += (double)embedding.weight[v * SUP_EMBED_SLOTS + i];
        }
        CHECK_NEAR(sum, 1.0, 1e-6);
        float smallest = 0.0f;
        for (int c = 0; c < 4; c++)
            smallest = fminf(smallest, embedding.barycentric[4 * v + c]);
        CHECK((embedding.outside[v] > 0.0f) == (smallest < 0.0f) || smallest > -1e-5f);
        CHECK((double)embedding.outside[v] < 0.75 * mesh.report.spacing);
    }
    /* The same bits from three threads. */
    sup_embedding first = embedding;
    sup_tetmesh kept = mesh;
    create(0.1, 3);
    CHECK(memcmp(first.weight, embedding.weight, (size_t)skin.vertex_count * SUP_EMBED_SLOTS * 4) == 0);
    CHECK(memcmp(first.index, embedding.index, (size_t)skin.vertex_count * SUP_EMBED_SLOTS * 4) == 0);
    sup_embedding_free(&first);
    sup_tetmesh_free(&kept);
    discard();
}

/* Bends a rod along x into an arc in the plane of x and y. */
static void bend(const float *from, int32_t count, float *to)
{
    for (int32_t v = 0; v < count; v++) {
        double angle = (double)from[3 * v] * 1.2, radius = 1.0 / 1.2 - (double)from[3 * v + 1];
        to[3 * v] = (float)(radius * sin(angle));
        to[3 * v + 1] = (float)(1.0 / 1.2 - radius * cos(angle));
        to[3 * v + 2] = from[3 * v + 2];
    }
}

static double normal_error(const float *positions, const double *truth)
{
    double *normals = calloc((size_t)skin.vertex_count * 3, sizeof *normals), sum = 0.0;
    CHECK(normals != NULL);
    sup_vertex_normals(skin.vertex_count, positions, skin.triangle_count, skin.triangles, NULL, normals);
    for (int32_t i = 0; i < 3 * skin.vertex_count; i++)
        sum += (normals[i] - truth[i]) * (normals[i] - truth[i]);
    free(normals);
    return sqrt(sum / skin.vertex_count);
}

TEST(embed_shows_no_facets_under_a_bend)
{
    skin.vertex_count = skin.triangle_count = 0;
    shape_capsule(&skin, 0.0, 0.0, 0.0, 0.25, 0.75, 0.0);
    create(0.1, 2);
    float *bent = malloc((size_t)mesh.vertex_count * 12), *exact = malloc((size_t)skin.vertex_count * 12);
    double *truth = calloc((size_t)skin.vertex_count * 3, sizeof *truth), worst[2] = {0.0, 0.0};
    CHECK(bent != NULL && exact != NULL && truth != NULL);
    bend(mesh.positions, mesh.vertex_count, bent);
    bend(skin.positions, skin.vertex_count, exact);
    sup_vertex_normals(skin.vertex_count, exact, skin.triangle_count, skin.triangles, NULL, truth);
    apply(bent);
    double smooth = normal_error(output, truth), facets = normal_error(plain, truth);
    for (int32_t i = 0; i < 3 * skin.vertex_count; i++) {
        worst[0] = fmax(worst[0], fabs((double)(output[i] - exact[i])));
        worst[1] = fmax(worst[1], fabs((double)(plain[i] - exact[i])));
    }
    CHECK_MSG(smooth < 0.25 * facets, "normals are off by %g, barycentric ones by %g", smooth, facets);
    CHECK_MSG(worst[0] < 0.4 * worst[1], "positions are off by %g, barycentric ones by %g", worst[0], worst[1]);
    free(bent);
    free(exact);
    free(truth);
    discard();
}

TEST(embed_refuses_nonfinite_positions)
{
    sup_context context = shape_context(1);
    sup_error error = {0};
    sup_embedding none;
    const float lost[3] = {0.0f, INFINITY, 0.0f};
    skin.vertex_count = skin.triangle_count = 0;
    shape_capsule(&skin, 0.0, 0.0, 0.0, 0.25, 0.0, 0.0);
    create(0.1, 1);
    CHECK_EQ(sup_embed(&context, &mesh, 1, lost, NULL, &none, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "embed.position");
    discard();
}

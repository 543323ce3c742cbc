/* Every glTF file of the shared assets, against the counts of other tools (STATS.csv). */
#include "gltf_make.h"
#include "load/document.h"
#include "test.h"

static sup_character *load_asset(const char *path)
{
    sup_context context = sup_context_resolve(NULL);
    sup_error error = {0};
    void *data;
    size_t size;
    sup_character *character = NULL;
    CHECK_OK(sup_file_read(path, &context.allocator, &data, &size, &error), error);
    sup_read_input input = {&context, path, {data, size}, sup_file_reader_resolve(NULL)};
    sup_result result = sup_read_gltf(&input, &character, &error);
    sup_free(&context.allocator, data, size + 1);
    CHECK_OK(result, error);
    return character;
}

/* Columns of STATS.csv that are compared. */
enum {
    MESHES = 2,
    PRIMITIVES = 3,
    RIGID = 4,
    SKINS = 5,
    JOINTS = 6,
    INFLUENCES = 7,
    TARGETS = 10,
    CLIPS = 11,
    SECONDS = 12,
    VERTICES = 13,
    TRIANGLES = 15,
    COLUMNS = 16
};

static int32_t count_joints(const sup_character *c)
{
    int32_t joints = 0;
    for (int32_t i = 0; i < c->node_count; i++)
        joints += c->nodes[i].is_joint ? 1 : 0;
    return joints;
}

static int32_t max_influences(const sup_character *c)
{
    int32_t maximum = 0;
    for (int32_t v = 0; v < c->vertex_count; v++) {
        int32_t count = c->influence_first[v + 1] - c->influence_first[v];
        maximum = count > maximum ? count : maximum;
    }
    return maximum;
}

static int32_t max_targets(const sup_character *c)
{
    int32_t maximum = 0;
    for (int32_t p = 0; p < c->primitive_count; p++) {
        int32_t count = 0;
        for (int32_t i = 0; i < c->morph_count; i++)
            count += c->morphs[i].primitive == p ? 1 : 0;
        maximum = count > maximum ? count : maximum;
    }
    return maximum;
}

static void check_counts(const char *name, const sup_character *c, const double *stats)
{
    double seconds = 0.0;
    int32_t rigid = 0, last = -1;
    for (int32_t i = 0; i < c->clip_count; i++)
        seconds += (double)(c->clips[i].end - c->clips[i].start);
    for (int32_t i = 0; i < c->primitive_count; i++) {
        if (c->primitives[i].skin < 0 && c->primitives[i].mesh != last) rigid++;
        last = c->primitives[i].mesh;
    }
    CHECK_MSG(c->vertex_count == (int32_t)stats[VERTICES], "%s: %d vertices", name, c->vertex_count);
    CHECK_MSG(c->triangle_count == (int32_t)stats[TRIANGLES], "%s: %d triangles", name, c->triangle_count);
    CHECK_MSG(c->primitive_count == (int32_t)stats[PRIMITIVES], "%s: %d primitives", name, c->primitive_count);
    CHECK_MSG(rigid == (int32_t)stats[RIGID], "%s: %d rigid meshes", name, rigid);
    CHECK_MSG(c->skin_count == (int32_t)stats[SKINS], "%s: %d skins", name, c->skin_count);
    CHECK_MSG(count_joints(c) == (int32_t)stats[JOINTS], "%s: %d joints", name, count_joints(c));
    CHECK_MSG(max_influences(c) == (int32_t)stats[INFLUENCES], "%s: %d influences", name, max_influences(c));
    CHECK_MSG(max_targets(c) == (int32_t)stats[TARGETS], "%s: %d targets", name, max_targets(c));
    CHECK_MSG(c->clip_count == (int32_t)stats[CLIPS], "%s: %d clips", name, c->clip_count);
    CHECK_MSG(fabs(seconds - stats[SECONDS]) < 0.05 + 0.05 * c->clip_count, "%s: %g seconds", name, seconds);
    CHECK(c->unit_metres == 1.0f);
    CHECK(c->document != NULL && c->document->json.size > 0 && c->document->view_count > 0);
}

TEST(gltf_assets_have_the_known_counts)
{
    char line[4096], root[4096];
    snprintf(root, sizeof root, "%s", test_asset("STATS.csv"));
    FILE *file = fopen(root, "r");
    CHECK(file != NULL);
    int files = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        double stats[COLUMNS] = {0};
        char *comma = strchr(line, ','), *at = comma;
        if (comma == NULL || comma - line < 5 ||
            (strncmp(comma - 4, ".glb", 4) != 0 && strncmp(comma - 5, ".gltf", 5) != 0))
            continue;
        *comma = '\0';
        for (int i = 1; i < COLUMNS; i++)
            stats[i] = strtod(at + 1, &at);
        sup_character *character = load_asset(test_asset(line));
        check_counts(line, character, stats);
        sup_character_destroy(character);
        files++;
    }
    fclose(file);
    CHECK_MSG(files >= 31, "only %d files", files);
}

TEST(gltf_asset_nan_weights_are_kept)
{
    sup_character *c = load_asset(test_asset("gltf/quat_Wasp_nanweights.glb"));
    int32_t bad = 0;
    for (int32_t v = 0; v < c->vertex_count; v++) {
        bool nan = false;
        for (int32_t k = c->influence_first[v]; k < c->influence_first[v + 1]; k++)
            nan = nan || isnan(c->influence_weight[k]);
        bad += nan ? 1 : 0;
    }
    CHECK_EQ(bad, 6);
    sup_character_destroy(c);
}

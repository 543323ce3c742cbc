/* Every character and mesh of the shared assets: skinning with the rig against skinning with the data of the file, and
 * counts against STATS.csv, which other tools wrote.
 *
 * STATS.csv welds equal positions of the whole file in the rest pose and includes duplicate faces when it counts edges.
 * For comparable counts the test welds the positions of the rig (or the mesh) again over the whole file and counts on
 * all triangles; the defects of the rig are compared where the definitions agree. */
#include "geometry/adjacency.h"
#include "geometry/weld.h"
#include "rig/make.h"
#include "supple/load.h"

enum { FILE_NAME = 0, BAD_WEIGHTS = 9, VERTICES = 13, WELDED, TRIANGLES, COMPONENTS, BOUNDARY, NON_MANIFOLD };
enum { MISORIENTED = 19, DEGENERATE, DUPLICATE, COLUMNS };

typedef struct row {
    char text[1024];
    const char *field[COLUMNS];
} row;

static bool read_row(FILE *file, row *r)
{
    if (fgets(r->text, sizeof r->text, file) == NULL) return false;
    char *at = r->text;
    for (int i = 0; i < COLUMNS; i++) {
        r->field[i] = at;
        at += strcspn(at, ",\n");
        if (*at != '\0') *at++ = '\0';
    }
    return true;
}

static FILE *open_stats(void)
{
    FILE *file = fopen(test_asset("STATS.csv"), "r");
    row header;
    CHECK(file != NULL && read_row(file, &header));
    CHECK_TEXT(header.field[BAD_WEIGHTS], "bad_weight_rows");
    CHECK_TEXT(header.field[WELDED], "welded_vertices");
    CHECK_TEXT(header.field[DUPLICATE], "duplicate_tris");
    return file;
}

static sup_character *load(const char *name)
{
    sup_character *c = NULL;
    sup_error error = {0};
    CHECK_OK(sup_load(NULL, test_asset(name), NULL, &c, &error), error);
    return c;
}

static bool has_skin(const sup_character *c)
{
    for (int32_t p = 0; p < c->primitive_count; p++)
        if (c->primitives[p].skin >= 0) return true;
    return false;
}

TEST(rig_skinning_matches_every_asset_file)
{
    FILE *file = open_stats();
    row r;
    int characters = 0;
    while (read_row(file, &r)) {
        sup_character *c = load(r.field[FILE_NAME]);
        if (has_skin(c)) {
            sup_rig *rig = make_rig(c, NULL);
            double error = make_skinning_error(c, rig, 4, 17);
            CHECK_MSG(error < 3e-7, "%s: %g of its size", r.field[FILE_NAME], error);
            make_check_rig(c, rig);
            sup_rig_destroy(rig);
            characters++;
        }
        sup_character_destroy(c);
    }
    fclose(file);
    CHECK(characters >= 24);
}

/* --- Counts --- */

typedef struct counts {
    int32_t welded, components, boundary, non_manifold, misoriented, degenerate, duplicate;
} counts;

static int compare_corners(const void *a, const void *b)
{
    return memcmp(a, b, 3 * sizeof(int32_t));
}

static int32_t count_duplicates(int32_t count, const int32_t *triangles)
{
    int32_t *sorted = malloc((size_t)count * 3 * sizeof *sorted + 1), duplicates = 0;
    memcpy(sorted, triangles, (size_t)count * 3 * sizeof *sorted);
    for (int32_t t = 0; t < count; t++)
        for (int pass = 0; pass < 3; pass++) {
            int32_t *c = sorted + 3 * t + pass % 2, swap = c[0];
            if (c[0] > c[1]) {
                c[0] = c[1];
                c[1] = swap;
            }
        }
    qsort(sorted, (size_t)count, 3 * sizeof *sorted, compare_corners);
    for (int32_t t = 1; t < count; t++)
        duplicates += compare_corners(sorted + 3 * t, sorted + 3 * t - 3) == 0;
    free(sorted);
    return duplicates;
}

/* Counts as defined by STATS.csv, with the library's welding, adjacency and components. */
static counts count_mesh(int32_t vertices, const float *positions, double distance, int32_t triangle_count,
                         const int32_t *triangles)
{
    sup_context context = sup_context_resolve(NULL);
    sup_error error = {0};
    counts k = {0};
    int32_t *leader = malloc((size_t)vertices * sizeof *leader),
            *component = malloc((size_t)vertices * sizeof *component);
    int32_t *kept = malloc((size_t)triangle_count * 3 * sizeof *kept), kept_count = 0;
    CHECK_OK(sup_weld(&context.allocator, vertices, positions, NULL, distance, leader, &error), error);
    for (int32_t v = 0; v < vertices; v++)
        k.welded += leader[v] == v;
    for (int32_t t = 0; t < triangle_count; t++) {
        int32_t *c = kept + 3 * kept_count;
        for (int i = 0; i < 3; i++)
            c[i] = leader[triangles[3 * t + i]];
        if (c[0] == c[1] || c[1] == c[2] || c[2] == c[0])
            k.degenerate++;
        else
            kept_count++;
    }
    sup_adjacency a;
    CHECK_OK(sup_adjacency_create(&context.allocator, vertices, kept_count, kept, &a, &error), error);
    for (int32_t e = 0; e < a.edge_count; e++) {
        int32_t uses = a.edge_first[e + 1] - a.edge_first[e];
        const int32_t *h = a.edge_halves + a.edge_first[e];
        k.boundary += uses == 1;
        k.non_manifold += uses > 2;
        k.misoriented += uses == 2 && kept[h[0]] == kept[h[1]];
    }
    k.components = sup_mesh_components(vertices, kept_count, kept, component);
    k.duplicate = count_duplicates(kept_count, kept);
    sup_adjacency_destroy(&a);
    free(leader);
    free(component);
    free(kept);
    return k;
}

/* World positions: in the bind pose if there is a rig, else in the rest pose. */
static float *world_positions(const sup_character *c, const sup_rig *rig)
{
    float *positions = malloc((size_t)c->vertex_count * 3 * sizeof *positions);
    sup_pose *pose = NULL;
    sup_error error = {0};
    CHECK_OK(sup_pose_create(NULL, c, &pose, &error), error);
    for (int32_t p = 0; p < c->primitive_count; p++)
        for (int32_t v = c->primitives[p].vertex_first;
             v < c->primitives[p].vertex_first + c->primitives[p].vertex_count; v++) {
            sup_vec3d x = sup_v3_load(rig != NULL ? rig->positions + 3 * v : c->positions + 3 * v);
            sup_affine world = sup_affine_from_float(pose->world[c->primitives[p].node]);
            sup_v3_store(positions + 3 * v, rig != NULL ? x : sup_affine_point(world, x));
        }
    sup_pose_destroy(pose);
    return positions;
}

/* STATS.csv rounds positions to a grid before it compares them, so vertices 1e-6 apart may or may not be welded there.
 * These files have such vertices:
 * - muscles: one more pair, 1 to 2 micrometres apart, is welded there;
 * - Stegosaurus: four pairs that the file's scale of 100 rounds together here are separate there. Each closes a sliver
 *   (now degenerate): three boundary edges less each. */
static bool is_known_difference(const char *file, const counts *k)
{
    counts muscles = {79659, 615, 42, 309, 0, 0, 214}, stegosaurus = {1141, 1, 12, 8, 0, 4, 0};
    if (strcmp(file, "anatomy/muscles.glb") == 0) return memcmp(k, &muscles, sizeof *k) == 0;
    return strcmp(file, "gltf/quat_Stegosaurus.glb") == 0 && memcmp(k, &stegosaurus, sizeof *k) == 0;
}

static bool same(int32_t found, const char *expected)
{
    return found == (int32_t)strtol(expected, NULL, 10);
}

static void check_counts(const row *r, const counts *k)
{
    bool ok = same(k->welded, r->field[WELDED]) && same(k->components, r->field[COMPONENTS]) &&
              same(k->boundary, r->field[BOUNDARY]) && same(k->non_manifold, r->field[NON_MANIFOLD]) &&
              same(k->misoriented, r->field[MISORIENTED]) && same(k->degenerate, r->field[DEGENERATE]) &&
              same(k->duplicate, r->field[DUPLICATE]);
    CHECK_MSG(ok || is_known_difference(r->field[FILE_NAME], k),
              "%s: welded %d (%s), components %d (%s), boundary %d (%s), non-manifold %d (%s), misoriented %d (%s), "
              "degenerate %d (%s), duplicate %d (%s)",
              r->field[FILE_NAME], k->welded, r->field[WELDED], k->components, r->field[COMPONENTS], k->boundary,
              r->field[BOUNDARY], k->non_manifold, r->field[NON_MANIFOLD], k->misoriented, r->field[MISORIENTED],
              k->degenerate, r->field[DEGENERATE], k->duplicate, r->field[DUPLICATE]);
}

static int64_t defect_sum(const sup_defect *defects, int32_t count, sup_defect_id id)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < count; i++)
        if (defects[i].id == id) sum += defects[i].count;
    return sum;
}

/* The defects of the rig. A skin of one node is welded as a whole, as in STATS.csv. */
static void check_rig_counts(const row *r, const sup_character *c, const sup_rig *rig)
{
    int64_t weights = defect_sum(rig->defects, rig->defect_count, SUP_DEFECT_NON_FINITE_WEIGHT) +
                      defect_sum(rig->defects, rig->defect_count, SUP_DEFECT_UNNORMALISED_WEIGHTS);
    CHECK_EQ(weights, strtol(r->field[BAD_WEIGHTS], NULL, 10));
    if (c->primitives[0].node != c->primitives[c->primitive_count - 1].node) return;
    if (strcmp(r->field[FILE_NAME], "gltf/quat_Stegosaurus.glb") == 0) return; /* see above */
    CHECK_EQ(rig->skin_vertex_count, strtol(r->field[WELDED], NULL, 10));
    CHECK_EQ(rig->component_count, strtol(r->field[COMPONENTS], NULL, 10));
    CHECK_EQ(defect_sum(rig->defects, rig->defect_count, SUP_DEFECT_NON_MANIFOLD_EDGE),
             strtol(r->field[NON_MANIFOLD], NULL, 10));
    const sup_defect *hole = make_find(rig->defects, rig->defect_count, SUP_DEFECT_HOLE);
    CHECK((hole != NULL) == (strtol(r->field[BOUNDARY], NULL, 10) > 0));
}

/* A mesh without a skeleton can be inspected too. */
static void check_report(const row *r, const sup_character *c)
{
    sup_defects *defects = NULL;
    sup_error error = {0};
    CHECK_OK(sup_character_inspect(NULL, c, &defects, &error), error);
    const sup_defect *none = make_find(defects->items, defects->count, SUP_DEFECT_NO_SKIN);
    CHECK(none != NULL && none->severity == SUP_SEVERITY_FATAL && strstr(none->message, "--skeleton") != NULL);
    CHECK_EQ(defect_sum(defects->items, defects->count, SUP_DEFECT_DUPLICATE_FACE),
             strtol(r->field[DUPLICATE], NULL, 10));
    sup_defects_destroy(defects);
}

TEST(mesh_counts_match_other_tools)
{
    FILE *file = open_stats();
    row r;
    int files = 0;
    while (read_row(file, &r)) {
        sup_character *c = load(r.field[FILE_NAME]);
        sup_rig *rig = has_skin(c) ? make_rig(c, NULL) : NULL;
        float *positions = world_positions(c, rig);
        counts k = count_mesh(c->vertex_count, positions, 0.0, c->triangle_count, c->triangles);
        check_counts(&r, &k);
        if (rig != NULL)
            check_rig_counts(&r, c, rig);
        else
            check_report(&r, c);
        files++;
        free(positions);
        sup_rig_destroy(rig);
        sup_character_destroy(c);
    }
    fclose(file);
    CHECK(files >= 40);
}

/* Meshes with a skeleton in a separate file: the rig computes the weights. */
TEST(meshes_with_skeletons_get_weights)
{
    static const char *const pairs[][2] = {
        {"makehuman/mh_male_average.obj", "makehuman/mh_male_average.cmu_mb.skel"},
        {"fps/tbone/tbone.off", "fps/tbone/tbone.skel"},
        {"fps/cylinder/cylinder.off", "fps/cylinder/cylinder.skel"},
        {"scans/scan_male_apose.ply", "makehuman/mh_male_average.cmu_mb.skel"},
    };
    static const sup_weight_source sources[] = {SUP_WEIGHTS_AUTO, SUP_WEIGHTS_NEAREST, SUP_WEIGHTS_RIGID};
    for (int i = 0; i < 4; i++) {
        char skeleton[4096];
        snprintf(skeleton, sizeof skeleton, "%s", test_asset(pairs[i][1]));
        sup_load_def load_def = sup_default_load_def();
        load_def.skeleton = skeleton;
        sup_character *c = NULL;
        sup_error error = {0};
        CHECK_OK(sup_load(NULL, test_asset(pairs[i][0]), &load_def, &c, &error), error);
        for (int k = 0; k < 3; k++) {
            sup_rig_def def = {.weights = sources[k]};
            sup_rig *rig = make_rig(c, &def);
            make_check_rig(c, rig);
            CHECK(rig->max_influences <= (k == 0 ? 4 : k == 1 ? 3 : 1));
            const sup_defect *created = make_find(rig->defects, rig->defect_count, SUP_DEFECT_NO_INFLUENCE);
            CHECK(created != NULL && created->severity == SUP_SEVERITY_NOTE);
            CHECK_MSG((strstr(created->message, "bone heat") != NULL) == (k == 0), "%s", created->message);
            sup_rig_destroy(rig);
        }
        sup_character_destroy(c);
    }
}

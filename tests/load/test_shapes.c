/* test_shapes.c - folders of bodies: valid and invalid headers and tables; landmarks. */
#include "load/landmarks.h"
#include "load/shapes.h"

#include "test.h"

static const char good_header[] =
    "{\"n_shapes\": 2, \"n_vertices\": 8, \"n_triangles\": 12, \"scale\": 0.001, \"offset\": [0, 1, 0],"
    " \"rig\": {\"names\": [\"hips\", \"chest\"], \"parents\": [-1, 0]}}";
static const char good_persons[] = "id,sex,age_years,height_m,mass_kg,fat_kg\n"
                                   "1,male,30,1.8,80,12\n\n2,\"female\", 41.5 ,1.6,60,0\r\n";

static sup_result read_header(const char *text, sup_arena *arena, sup_shapes_header *header, sup_error *error)
{
    return sup_shapes_read_header(&arena->allocator, "header.json", (sup_bytes){text, strlen(text)}, NULL, arena,
                                  header, error);
}

static sup_result read_persons(const char *text, int32_t count, sup_arena *arena, const sup_person **persons,
                               sup_error *error)
{
    return sup_shapes_read_persons("params.csv", (sup_bytes){text, strlen(text)}, count, arena, persons, error);
}

TEST(shapes_header_and_table_are_read)
{
    sup_context plain = sup_context_resolve(NULL);
    sup_arena arena = sup_arena_create(&plain.allocator);
    sup_shapes_header header;
    const sup_person *persons = NULL;
    sup_error error = {0};
    CHECK_OK(read_header(good_header, &arena, &header, &error), error);
    CHECK(header.body_count == 2 && header.vertex_count == 8 && header.triangle_count == 12 && header.joint_count == 2);
    CHECK_TEXT(header.skeleton, "rig");
    CHECK_TEXT(header.joint_names[1], "chest");
    CHECK(header.parents[0] == -1 && header.parents[1] == 0);
    CHECK_NEAR(header.offset[1], 1.0, 0.0);
    CHECK_OK(read_persons(good_persons, 2, &arena, &persons, &error), error);
    CHECK(persons[0].sex == SUP_SEX_MALE && persons[1].sex == SUP_SEX_FEMALE);
    CHECK_NEAR(persons[1].age, 41.5, 0.0);
    CHECK_NEAR(persons[0].fat, 12.0, 0.0);
    sup_arena_destroy(&arena);
}

TEST(invalid_shapes_text_is_rejected)
{
    static const char *const headers[] = {
        "",
        "[]",
        "{}",
        "{\"n_shapes\": -1}",
        "{\"n_shapes\": 2, \"n_vertices\": 8, \"n_triangles\": 12, \"scale\": 0.001, \"offset\": [0, 1, 0]}",
        "{\"n_shapes\": 2, \"n_vertices\": 8, \"n_triangles\": 12, \"scale\": 0, \"offset\": [0, 1, 0],"
        " \"rig\": {\"names\": [\"a\"], \"parents\": [-1]}}",
        "{\"n_shapes\": 2, \"n_vertices\": 8, \"n_triangles\": 12, \"scale\": 1e-3, \"offset\": [0, 1, 0],"
        " \"rig\": {\"names\": [\"a\", \"b\"], \"parents\": [-1, 1]}}",
        "{\"n_shapes\": 2, \"n_vertices\": 8, \"n_triangles\": 12, \"scale\": 1e-3, \"offset\": [0, 1, 0],"
        " \"rig\": {\"names\": [\"a\", 5], \"parents\": [-1, 0]}}"};
    static const char *const tables[] = {"", "id,sex\n1,male\n", "sex,age_years,height_m,mass_kg\nmale,30,1.8,80\n",
                                         "sex,age_years,height_m,mass_kg\nmale,30,1.8,80\nmale,30,x,80\n",
                                         "sex,age_years,height_m,mass_kg\nmale,30,1.8,80\nmale,30\n"};
    sup_context plain = sup_context_resolve(NULL);
    sup_arena arena = sup_arena_create(&plain.allocator);
    for (int i = 0; i < SUP_COUNT(headers); i++) {
        sup_shapes_header header;
        sup_error error = {0};
        CHECK_MSG(read_header(headers[i], &arena, &header, &error) == SUP_ERROR_FORMAT, "header %d", i);
        CHECK(error.id[0] != '\0' && error.message[0] != '\0');
    }
    for (int i = 0; i < SUP_COUNT(tables); i++) {
        const sup_person *persons = NULL;
        sup_error error = {0};
        CHECK_MSG(read_persons(tables[i], 2, &arena, &persons, &error) == SUP_ERROR_FORMAT, "table %d", i);
        CHECK(persons == NULL && error.message[0] != '\0');
    }
    sup_arena_destroy(&arena);
    sup_shapes *shapes = NULL;
    sup_error error = {0};
    CHECK(sup_shapes_load(NULL, "/no/such/folder", &shapes, &error) == SUP_ERROR_IO && shapes == NULL);
}

TEST(shapes_of_the_assets_are_read)
{
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", test_asset("shapes/header.json"));
    *strrchr(folder, '/') = '\0';
    sup_shapes *shapes = NULL;
    sup_error error = {0};
    CHECK_OK(sup_shapes_load(NULL, folder, &shapes, &error), error);
    CHECK(shapes->body_count == 140 && shapes->vertex_count == 13380 && shapes->joint_count == 31);
    double low = INFINITY, high = -INFINITY;
    for (int32_t v = 0; v < shapes->vertex_count; v++) {
        double y = (double)shapes->positions[3 * v + 1];
        low = fmin(low, y), high = fmax(high, y);
    }
    CHECK_NEAR(high - low, shapes->persons[0].height, 1e-3);
    sup_shapes_destroy(shapes);
}

TEST(landmarks_are_read)
{
    static const char text[] = "# places\n12 0.5 1 -2e-1\nLeftHand 1 2 3 # here\n";
    static const char *const bad[] = {"1 2 3\n", "-4 1 2 3\n", "Hand 1 2 nan\n", "Hand\n"};
    sup_landmarks *landmarks = NULL;
    sup_error error = {0};
    CHECK_OK(sup_landmarks_read(NULL, "l.txt", (sup_bytes){text, sizeof text - 1}, &landmarks, &error), error);
    CHECK_EQ(landmarks->count, 2);
    CHECK_EQ(landmarks->items[0].vertex, 12);
    CHECK_NEAR(landmarks->items[0].position[2], -0.2, 0.0);
    CHECK_TEXT(landmarks->items[1].joint, "LeftHand");
    sup_landmarks_destroy(landmarks);
    landmarks = NULL;
    for (int i = 0; i < SUP_COUNT(bad); i++) {
        CHECK_MSG(sup_landmarks_read(NULL, "l.txt", (sup_bytes){bad[i], strlen(bad[i])}, &landmarks, &error) ==
                      SUP_ERROR_FORMAT,
                  "line %d", i);
        CHECK(landmarks == NULL);
    }
}

/* The renderer: images compared with golden images within a tolerance, and edge cases.
 *
 * A golden image is downsampled to 24 x 24 cells, three hexadecimal bytes each, in tests/render/golden/NAME.txt. To
 * regenerate them after a reviewed change: SUPPLE_NEW_GOLDEN=1 build/test_render golden */
#include "image.h"
#include "render.h"
#include "test.h"

enum { SIDE = 192, CELLS = 24, CELL_BYTES = CELLS * CELLS * 3 };

typedef struct fixture {
    sup_character *character;
    sup_rig *rig;
    float *positions, *colors, *bones;
    render_image image;
} fixture;

/* A built-in character at a fraction of its first clip, skinned by the scalar reference. */
static fixture make_fixture(const char *scene, double clip_fraction)
{
    fixture s = {.image = render_image_create(SIDE, SIDE)};
    sup_error error;
    sup_pose *pose = NULL;
    CHECK_OK(sup_scene_create(NULL, scene, 0.25, &s.character, &error), error);
    CHECK_OK(sup_rig_create(NULL, s.character, NULL, &s.rig, &error), error);
    CHECK_OK(sup_pose_create(NULL, s.character, &pose, &error), error);
    const sup_clip *clip = &s.character->clips[0];
    CHECK_EQ(sup_pose_sample(s.character, clip, clip->start + clip_fraction * (clip->end - clip->start), pose), SUP_OK);
    size_t vertices = (size_t)s.rig->vertex_count;
    double *skin = calloc(3 * vertices, sizeof *skin);
    CHECK_EQ(sup_reference_skin(NULL, s.rig, pose, false, skin, NULL), SUP_OK);
    s.positions = calloc(3 * vertices, sizeof *s.positions);
    s.colors = calloc(3 * vertices, sizeof *s.colors);
    s.bones = calloc(6 * (size_t)s.rig->joint_count, sizeof *s.bones);
    for (size_t i = 0; i < 3 * vertices; i++) {
        s.positions[i] = (float)skin[i];
        s.colors[i] = 0.1f + 0.6f * (i % 3 == 0 ? s.rig->normals[i] > 0.0f : i % 3 == 1 ? 0.3f : 0.5f);
    }
    for (int32_t j = 0; j < s.rig->joint_count; j++) {
        const sup_mat34 *world = &pose->world[s.rig->joint_node[j]];
        for (int k = 0; k < 3; k++) {
            s.bones[6 * j + k] = world->m[4 * k + 3];
            s.bones[6 * j + 3 + k] = world->m[4 * k + 3] + 0.05f * (k == 1 ? 1.0f : 0.0f);
        }
    }
    free(skin);
    sup_pose_destroy(pose);
    return s;
}

static void free_fixture(fixture *s)
{
    render_image_destroy(&s->image);
    free(s->positions);
    free(s->colors);
    free(s->bones);
    sup_rig_destroy(s->rig);
    sup_character_destroy(s->character);
}

static render_scene scene_of(const fixture *s)
{
    return (render_scene){.vertex_count = s->rig->vertex_count,
                          .triangle_count = s->character->triangle_count,
                          .positions = s->positions,
                          .triangles = s->character->triangles,
                          .up = 1};
}

static void render_fixture(fixture *s, const render_scene *scene, const char *camera, bool wire,
                           const sup_context *context)
{
    render_def def = {.width = SIDE, .height = SIDE, .wire = wire};
    sup_error error;
    CHECK(render_def_camera(&def, camera));
    render_def_frame(&def, scene->positions, scene->vertex_count, scene->up);
    CHECK_OK(render_picture(context, scene, &def, &s->image, &error), error);
}

static void downsample(const render_image *image, uint8_t cells[CELL_BYTES])
{
    int side = SIDE / CELLS;
    for (int cell = 0; cell < CELLS * CELLS; cell++)
        for (int k = 0; k < 3; k++) {
            int sum = 0;
            for (int i = 0; i < side * side; i++) {
                int x = cell % CELLS * side + i % side, y = cell / CELLS * side + i / side;
                sum += image->pixels[3 * (y * SIDE + x) + k];
            }
            cells[3 * cell + k] = (uint8_t)((sum + side * side / 2) / (side * side));
        }
}

static FILE *open_golden(const char *name, const char *mode)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/tests/render/golden/%s.txt", SUPPLE_SOURCE_DIR, name);
    return fopen(path, mode);
}

static void write_golden(const char *name, const uint8_t cells[CELL_BYTES])
{
    FILE *file = open_golden(name, "wb");
    CHECK(file != NULL);
    for (int i = 0; i < CELL_BYTES; i++)
        fprintf(file, "%02x%s", cells[i], i % (3 * CELLS) == 3 * CELLS - 1 ? "\n" : "");
    fclose(file);
}

static void read_golden(const char *name, uint8_t cells[CELL_BYTES])
{
    FILE *file = open_golden(name, "rb");
    unsigned value = 0;
    CHECK_MSG(file != NULL, "tests/render/golden/%s.txt is missing", name);
    for (int i = 0; i < CELL_BYTES; i++) {
        CHECK_EQ(fscanf(file, "%2x", &value), 1);
        cells[i] = (uint8_t)value;
    }
    fclose(file);
}

/* Difference in 8-bit steps: mean, and worst cell. */
typedef struct difference {
    double mean, worst;
} difference;

static difference compare(const uint8_t *a, const uint8_t *b)
{
    difference d = {0.0, 0.0};
    for (int i = 0; i < CELL_BYTES; i++) {
        double here = fabs((double)a[i] - (double)b[i]);
        d.mean += here / CELL_BYTES;
        d.worst = fmax(d.worst, here);
    }
    return d;
}

/* A mean of one step is invisible; a cell may contain an edge that rounding moved. */
static bool within_tolerance(difference d)
{
    return d.mean < 0.5 && d.worst < 8.0;
}

static void check_golden(const fixture *s, const char *name)
{
    uint8_t cells[CELL_BYTES], golden[CELL_BYTES];
    downsample(&s->image, cells);
    if (getenv("SUPPLE_NEW_GOLDEN") != NULL) write_golden(name, cells);
    read_golden(name, golden);
    difference d = compare(cells, golden);
    CHECK_MSG(within_tolerance(d), "%s differs from its kept picture: %.2f steps on the whole, %.1f at worst", name,
              d.mean, d.worst);
}

TEST(golden_human)
{
    fixture s = make_fixture("human", 0.0);
    render_scene scene = scene_of(&s);
    render_fixture(&s, &scene, "front", false, NULL);
    check_golden(&s, "human");
    free_fixture(&s);
}

TEST(golden_arm_wireframe_and_colors)
{
    fixture s = make_fixture("arm", 0.5);
    render_scene scene = scene_of(&s);
    scene.colors = s.colors;
    render_fixture(&s, &scene, "three-quarter", true, NULL);
    check_golden(&s, "arm");
    free_fixture(&s);
}

TEST(golden_hand_with_bones)
{
    fixture s = make_fixture("hand", 0.5);
    render_scene scene = scene_of(&s);
    scene.bones = s.bones;
    scene.bone_count = s.rig->joint_count;
    render_fixture(&s, &scene, "side", false, NULL);
    check_golden(&s, "hand");
    free_fixture(&s);
}

TEST(golden_text)
{
    static const uint8_t dark[3] = {20, 20, 30};
    render_image image = render_image_create(SIDE, SIDE);
    memset(image.pixels, 255, 3 * SIDE * SIDE);
    for (int line = 0; line < 6; line++) {
        char text[17];
        for (int i = 0; i < 16; i++)
            text[i] = (char)(32 + 16 * line + i);
        text[16] = '\0';
        image_text(&image, 4.0f, 26.0f + 30.0f * (float)line, 14.0f, dark, text);
    }
    fixture s = {.image = image};
    check_golden(&s, "letters");
    render_image_destroy(&image);
}

/* The tolerance rejects another camera, another up axis and another shape. */
TEST(tolerance_rejects_visible_changes)
{
    fixture s = make_fixture("human", 0.0);
    render_scene scene = scene_of(&s);
    uint8_t golden[CELL_BYTES], cells[CELL_BYTES];
    read_golden("human", golden);
    render_fixture(&s, &scene, "4,4", false, NULL);
    downsample(&s.image, cells);
    CHECK(!within_tolerance(compare(cells, golden)));
    for (int32_t v = 0; v < s.rig->vertex_count; v++)
        if (s.positions[3 * v] > 0.3f) s.positions[3 * v + 1] += 0.05f; /* a raised hand */
    render_fixture(&s, &scene, "front", false, NULL);
    downsample(&s.image, cells);
    CHECK(!within_tolerance(compare(cells, golden)));
    free_fixture(&s);
}

TEST(image_does_not_depend_on_threads)
{
    fixture s = make_fixture("arm", 0.5), t = make_fixture("arm", 0.5);
    sup_thread_pool *pool = NULL;
    sup_error error;
    sup_context context = {0};
    render_scene scene = scene_of(&s);
    CHECK_OK(sup_thread_pool_create(3, &pool, &error), error);
    context.tasks = sup_thread_pool_tasks(pool);
    render_fixture(&s, &scene, "front", false, NULL);
    render_fixture(&t, &scene, "front", false, &context);
    CHECK(memcmp(s.image.pixels, t.image.pixels, 3 * SIDE * SIDE) == 0);
    sup_thread_pool_destroy(pool);
    free_fixture(&s);
    free_fixture(&t);
}

/* A character scaled by 10,000 gives the same image. */
TEST(image_does_not_depend_on_units)
{
    fixture s = make_fixture("arm", 0.5);
    render_scene scene = scene_of(&s);
    uint8_t small[CELL_BYTES], large[CELL_BYTES];
    render_fixture(&s, &scene, "front", false, NULL);
    downsample(&s.image, small);
    for (int32_t i = 0; i < 3 * s.rig->vertex_count; i++)
        s.positions[i] *= 10000.0f;
    render_fixture(&s, &scene, "front", false, NULL);
    downsample(&s.image, large);
    CHECK(within_tolerance(compare(small, large)));
    free_fixture(&s);
}

TEST(z_up_equals_rotated_y_up)
{
    fixture s = make_fixture("arm", 0.5);
    render_scene scene = scene_of(&s);
    uint8_t y_up[CELL_BYTES], z_up[CELL_BYTES];
    render_fixture(&s, &scene, "three-quarter", false, NULL);
    downsample(&s.image, y_up);
    for (int32_t v = 0; v < s.rig->vertex_count; v++) {
        float *p = s.positions + 3 * v, y = p[1];
        p[1] = -p[2];
        p[2] = y;
    }
    scene.up = 2;
    render_fixture(&s, &scene, "three-quarter", false, NULL);
    downsample(&s.image, z_up);
    CHECK(within_tolerance(compare(y_up, z_up)));
    free_fixture(&s);
}

TEST(flat_and_empty_scenes_are_handled)
{
    const float point[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    const int32_t triangle[3] = {0, 1, 2};
    render_scene scene = {.vertex_count = 3, .triangle_count = 1, .positions = point, .triangles = triangle, .up = 1};
    fixture s = {.image = render_image_create(SIDE, SIDE)};
    sup_error error = {0};
    render_fixture(&s, &scene, "front", true, NULL);
    scene.triangle_count = 0;
    render_def def = {.width = SIDE, .height = SIDE, .radius = 1.0f};
    CHECK_EQ(render_picture(NULL, &scene, &def, &s.image, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "render.empty");
    render_image_destroy(&s.image);
    CHECK(render_image_create(0, 10).pixels == NULL);
    CHECK(render_image_create(100000, 10).pixels == NULL);
}

TEST(cameras_have_names_and_angles)
{
    render_def def = {0};
    CHECK(render_def_camera(&def, "side"));
    CHECK_NEAR(def.azimuth, 90.0, 0.0);
    CHECK(render_def_camera(&def, "-30,12.5"));
    CHECK_NEAR(def.azimuth, -30.0, 0.0);
    CHECK_NEAR(def.elevation, 12.5, 0.0);
    static const char *const wrong[] = {"", "fornt", "30", "30,", "30,x", "30,91", "nan,0", "1,2,3"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK_MSG(!render_def_camera(&def, wrong[i]), "'%s' is no camera", wrong[i]);
}

/* Lines that leave the image, and lines with NaN coordinates, are clipped. */
TEST(lines_are_clipped_to_the_image)
{
    static const uint8_t red[3] = {255, 0, 0};
    render_image image = render_image_create(16, 16);
    image_line(&image, -100.0f, 8.0f, 100.0f, 8.0f, 2.0f, red, 1.0f);
    image_line(&image, 1e30f, 1e30f, -1e30f, 3.0f, 2.0f, red, 1.0f);
    image_line(&image, (float)NAN, 0.0f, 3.0f, 3.0f, 2.0f, red, 1.0f);
    image_line(&image, -50.0f, -50.0f, -40.0f, -40.0f, 2.0f, red, 1.0f);
    CHECK_EQ(image.pixels[3 * (8 * 16 + 8)], 255);
    CHECK_EQ(image.pixels[3 * (2 * 16 + 2)], 0);
    render_image_destroy(&image);
}

TEST(png_in_memory_equals_the_file)
{
    char path[1000];
    render_image image = render_image_create(33, 17);
    size_t size = 0;
    sup_error error;
    for (int i = 0; i < 33 * 17 * 3; i++)
        image.pixels[i] = (uint8_t)(7 * i);
    uint8_t *png = render_encode_png(&image, &size);
    CHECK(png != NULL && size > 50 && memcmp(png, "\x89PNG\r\n\x1a\n", 8) == 0);
    snprintf(path, sizeof path, "%s/test_files/test_render.png", SUPPLE_BINARY_DIR);
    CHECK_OK(render_write_png(&image, path, &error), error);
    FILE *file = fopen(path, "rb");
    uint8_t *read = calloc(size + 1, 1);
    CHECK(file != NULL && read != NULL);
    CHECK_EQ(fread(read, 1, size + 1, file), size);
    CHECK(memcmp(read, png, size) == 0);
    fclose(file);
    CHECK_EQ(render_write_png(&image, "/no/such/folder/x.png", &error), SUP_ERROR_IO);
    free(read);
    free(png);
    render_image_destroy(&image);
}

TEST(data_uri_is_base64_of_the_png)
{
    static const uint8_t bytes[] = {0x89, 'P', 'N', 'G', 0xff};
    static const char *const expected[] = {"data:image/png;base64,",         "data:image/png;base64,iQ==",
                                           "data:image/png;base64,iVA=",     "data:image/png;base64,iVBO",
                                           "data:image/png;base64,iVBORw==", "data:image/png;base64,iVBOR/8="};
    for (size_t size = 0; size <= sizeof bytes; size++) {
        char text[64] = "";
        FILE *file = tmpfile();
        CHECK(file != NULL);
        if (file == NULL) return;
        render_write_data_uri(bytes, size, file);
        rewind(file);
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        CHECK(strcmp(text, expected[size]) == 0);
    }
}

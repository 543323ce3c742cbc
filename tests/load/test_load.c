/* Dispatch by file extension, skeletons for meshes, readers of the caller, motions and joint maps. */
#include "read_text.h"

static sup_result reject_all(void *user, const sup_context *context, const char *name, sup_bytes bytes,
                             sup_character **character, sup_error *error)
{
    (void)context, (void)bytes, (void)character, (void)error, (void)name;
    ++*(int *)user;
    return SUP_ERROR_UNSUPPORTED;
}

static sup_result read_triangle(void *user, const sup_context *context, const char *name, sup_bytes bytes,
                                sup_character **character, sup_error *error)
{
    (void)bytes;
    ++*(int *)user;
    CHECK(strstr(name, ".fbx") != NULL);
    const char *text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    return sup_load_memory(context, "inner.obj", (sup_bytes){text, strlen(text)}, NULL, character, error);
}

TEST(load_passes_unknown_extensions_to_the_other_reader)
{
    int calls = 0;
    sup_load_def def = sup_default_load_def();
    sup_character *c = NULL;
    sup_error error = {0};
    sup_bytes bytes = {"x", 1};
    CHECK_EQ(sup_load_memory(NULL, "a.fbx", bytes, NULL, &c, &error), SUP_ERROR_UNSUPPORTED);
    CHECK_TEXT(error.id, "load.format");
    def.other = reject_all;
    def.other_user = &calls;
    CHECK_EQ(sup_load_memory(NULL, "a.fbx", bytes, &def, &c, &error), SUP_ERROR_UNSUPPORTED);
    CHECK_TEXT(error.id, "load.format");
    CHECK_EQ(calls, 1);
    CHECK(sup_load_memory(NULL, "a.obj", bytes, &def, &c, &error) != SUP_OK);
    CHECK_EQ(calls, 1); /* extensions that the library supports are not passed to the caller's reader */
    def.other = read_triangle;
    CHECK_OK(sup_load_memory(NULL, "a.fbx", bytes, &def, &c, &error), error);
    CHECK_EQ(c->triangle_count, 1);
    sup_character_destroy(c);
    c = NULL;
    CHECK_EQ(sup_load_memory(NULL, "noending", bytes, NULL, &c, &error), SUP_ERROR_UNSUPPORTED);
    CHECK_EQ(sup_load_memory(NULL, "a.anim", bytes, NULL, &c, &error), SUP_ERROR_UNSUPPORTED);
    CHECK_TEXT(error.id, "load.motion");
    CHECK_EQ(sup_load_memory(NULL, NULL, bytes, NULL, &c, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_load(NULL, "a.obj", NULL, NULL, &error), SUP_ERROR_ARGUMENT);
    CHECK(c == NULL);
}

TEST(load_reports_path_errors)
{
    sup_character *c = NULL;
    sup_error error = {0};
    CHECK_EQ(sup_load(NULL, "/nonexistent/a.obj", NULL, &c, &error), SUP_ERROR_IO);
    CHECK_EQ(sup_load(NULL, "/tmp", NULL, &c, &error), SUP_ERROR_IO);
    CHECK(c == NULL && error.message[0] != '\0');
}

/* Files of a small in-memory disk. */
typedef struct disk {
    const char *const (*files)[2];
    int count, reads;
} disk;

static sup_result read_disk(void *user, const char *path, const sup_allocator *allocator, void **data, size_t *size,
                            sup_error *error)
{
    disk *d = user;
    for (int i = 0; i < d->count; i++)
        if (strcmp(d->files[i][0], path) == 0) {
            d->reads++;
            *size = strlen(d->files[i][1]);
            *data = allocator->allocate(allocator->user, *size + 1, 64);
            if (*data == NULL) return SUP_ERROR_MEMORY;
            memcpy(*data, d->files[i][1], *size + 1);
            return SUP_OK;
        }
    snprintf(error->id, sizeof error->id, "disk.none");
    return SUP_ERROR_IO;
}

static const char *const files[][2] = {
    {"s/scene.ini", "# scene\nSIMMESH coarse.obj\nVISMESH   fine mesh.obj\nUPSAMPLING none.txt\nSKELETON j.skel\n"
                    "ANIMATION a.anim bend\nANIMATION a.anim bend\nANIMATION a.anim\n"},
    {"s/coarse.obj", "v 0 0 0\n"},
    {"s/fine mesh.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"},
    {"s/j.skel", "1\n0 0 0 a root\n"},
    {"s/a.anim", "1 1\n0\n1 0 0\n0.5\n"},
    {"s/self.ini", "SIMMESH self.ini\nSKELETON j.skel\n"},
    {"s/nomesh.ini", "SKELETON j.skel\n"},
    {"s/noskel.ini", "SIMMESH coarse.obj\n"},
    {"s/meshskel.ini", "SIMMESH coarse.obj\nSKELETON coarse.obj\n"},
    {"s/missing.ini", "SIMMESH gone.obj\nSKELETON j.skel\n"},
    {"s/badanim.ini", "SIMMESH coarse.obj\nSKELETON j.skel\nANIMATION coarse.obj\n"},
    {"s/empty.ini", "SIMMESH\n"},
    {"j2.bvh", "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n}\nMOTION\nFrames: 1\nFrame Time: 1\n5\n"},
};

TEST(load_joins_a_mesh_with_a_skeleton)
{
    disk d = {files, (int)(sizeof files / sizeof files[0]), 0};
    sup_load_def def = {.skeleton = "j2.bvh", .reader = {read_disk, &d}};
    sup_character *c = NULL;
    sup_error error = {0};
    CHECK_OK(sup_load(NULL, "s/fine mesh.obj", &def, &c, &error), error);
    CHECK_EQ(d.reads, 2);
    CHECK_EQ(c->bone_count, 1);
    CHECK_EQ(c->primitives[0].skin, 0);
    CHECK_EQ(c->clip_count, 1); /* the motion of the BVH is included */
    sup_character_destroy(c);
    c = NULL;
    def.skeleton = "s/coarse.obj";
    CHECK_EQ(sup_load(NULL, "s/fine mesh.obj", &def, &c, &error), SUP_ERROR_UNSUPPORTED);
    CHECK_TEXT(error.id, "load.skeleton");
    def.skeleton = "s/j.skel";
    CHECK_EQ(sup_load(NULL, "s/scene.ini", &def, &c, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "load.skeleton.twice");
    def.skeleton = "gone.skel";
    CHECK_EQ(sup_load(NULL, "s/coarse.obj", &def, &c, &error), SUP_ERROR_IO);
    CHECK(c == NULL);
}

TEST(load_ini_uses_the_render_mesh_and_all_motions)
{
    disk d = {files, (int)(sizeof files / sizeof files[0]), 0};
    sup_load_def def = {.reader = {read_disk, &d}};
    sup_character *c = NULL;
    sup_error error = {0};
    CHECK_OK(sup_load(NULL, "s/scene.ini", &def, &c, &error), error);
    CHECK_EQ(c->vertex_count, 3);
    CHECK_EQ(c->clip_count, 3);
    CHECK_TEXT(c->clips[0].name, "bend");
    CHECK_TEXT(c->clips[1].name, "a"); /* a duplicate name is replaced by the file name */
    CHECK_TEXT(c->clips[2].name, "a");
    sup_character_destroy(c);
    static const char *const bad[][2] = {{"s/self.ini", "ini.format"},    {"s/nomesh.ini", "ini.missing"},
                                         {"s/noskel.ini", "ini.missing"}, {"s/meshskel.ini", "ini.format"},
                                         {"s/missing.ini", "disk.none"},  {"s/badanim.ini", "anim.counts"},
                                         {"s/empty.ini", "ini.value"}};
    for (int i = 0; i < 7; i++) {
        c = NULL;
        CHECK(sup_load(NULL, bad[i][0], &def, &c, &error) != SUP_OK);
        CHECK_TEXT(error.id, bad[i][1]);
        CHECK(c == NULL);
    }
}

static const char *write_temp(const char *name, const char *text)
{
    const char *path = test_temp(name);
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    fputs(text, file);
    fclose(file);
    return path;
}

TEST(load_joint_maps)
{
    sup_joint_map *map = NULL;
    sup_error error = {0};
    const char *path = write_temp("map.txt", "# pairs\nHips = pelvis\r\n Left Arm=arm one # comment\nJaw = -\n\n");
    CHECK_OK(sup_joint_map_load(NULL, path, &map, &error), error);
    CHECK_EQ(map->count, 3);
    CHECK_TEXT(map->target[0], "Hips");
    CHECK_TEXT(map->source[0], "pelvis");
    CHECK_TEXT(map->target[1], "Left Arm");
    CHECK_TEXT(map->source[1], "arm one");
    CHECK_TEXT(map->target[2], "Jaw");
    CHECK(map->source[2] == NULL);
    sup_joint_map_destroy(map);
    sup_joint_map_destroy(NULL);
    map = NULL;
    CHECK_OK(sup_joint_map_load(NULL, write_temp("empty.txt", ""), &map, &error), error);
    CHECK_EQ(map->count, 0);
    sup_joint_map_destroy(map);
    map = NULL;
    CHECK_EQ(sup_joint_map_load(NULL, write_temp("bad.txt", "a = b\nhips pelvis\n"), &map, &error), SUP_ERROR_FORMAT);
    CHECK(strstr(error.where, "bad.txt:2") != NULL);
    CHECK_EQ(sup_joint_map_load(NULL, write_temp("bad2.txt", "= b\n"), &map, &error), SUP_ERROR_FORMAT);
    CHECK_EQ(sup_joint_map_load(NULL, "/nonexistent", &map, &error), SUP_ERROR_IO);
    CHECK(map == NULL);
}

TEST(load_motion_rejects_files_without_a_motion)
{
    sup_character *c = GOOD("a.skel", "1\n0 0 0 a root\n");
    sup_clip *clip = NULL;
    sup_error error = {0};
    CHECK_EQ(sup_load_motion(NULL, write_temp("still.skel", "1\n0 0 0 a root\n"), NULL, c, NULL, &clip, &error),
             SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "motion.none");
    CHECK_EQ(sup_load_motion(NULL, NULL, NULL, c, NULL, &clip, &error), SUP_ERROR_ARGUMENT);
    CHECK(clip == NULL);
    sup_character_destroy(c);
}

/* An allocator that fails after a number of calls: every reader must free its memory. */
typedef struct counting {
    long left, held;
} counting;

static void *count_allocate(void *user, size_t size, size_t alignment)
{
    counting *c = user;
    if (c->left-- <= 0) return NULL;
    c->held++;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void count_release(void *user, void *memory, size_t size)
{
    (void)size;
    ((counting *)user)->held--;
    free(memory);
}

TEST(load_frees_memory_when_out_of_memory)
{
    static const char *const texts[][2] = {
        {"a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nvn 0 0 1\nvt 0 0\nf 1/1/1 2/1/1 4/1/1 3/1/1\n"},
        {"a.off", "NOFF\n3 1 0\n0 0 0 0 0 1\n1 0 0 0 0 1\n0 1 0 0 0 1\n3 0 1 2\n"},
        {"a.ply", "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
                  "element face 1\nproperty list uchar int vertex_index\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"},
        {"a.stl",
         "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"},
        {"a.skel", "2\n0 0 0 a root\n0 1 0 b a\n"},
        {"a.bvh", "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n}\nMOTION\nFrames: 1\nFrame Time: 1\n5\n"},
        {"s/x.ini", "SIMMESH coarse.obj\nSKELETON j.skel\nANIMATION a.anim\n"}};
    disk d = {files, (int)(sizeof files / sizeof files[0]), 0};
    for (int i = 0; i < 7; i++) {
        sup_result result = SUP_ERROR_MEMORY;
        for (long limit = 0; result != SUP_OK && limit < 2000; limit++) {
            counting state = {limit, 0};
            sup_context context = {.allocator = {count_allocate, count_release, &state}};
            sup_load_def def = {0};
            sup_character *c = NULL;
            if (i == 6) def.reader = (sup_file_reader){read_disk, &d};
            sup_bytes bytes = {texts[i][1], strlen(texts[i][1])};
            result = sup_load_memory(&context, texts[i][0], bytes, &def, &c, NULL);
            if (result != SUP_OK) CHECK_EQ(result, SUP_ERROR_MEMORY);
            if (result == SUP_OK) sup_character_destroy(c);
            CHECK_EQ(state.held, 0);
        }
        CHECK_EQ(result, SUP_OK);
    }
}

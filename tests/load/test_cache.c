/* Point caches: valid and invalid files. */
#include "load/read_cache.h"
#include "test.h"

static unsigned char file[512];

static void put32(size_t at, uint32_t value, bool big)
{
    for (size_t i = 0; i < 4; i++)
        file[at + i] = (unsigned char)(value >> (big ? 24 - 8 * i : 8 * i));
}

static void put_float(size_t at, float value, bool big)
{
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    put32(at, word, big);
}

/* Two frames of three vertices; value = 100 frame + 10 vertex + axis. */
static size_t make_pc2(void)
{
    memcpy(file, "POINTCACHE2", 12);
    put32(12, 1, false);
    put32(16, 3, false);
    put_float(20, 0.0f, false);
    put_float(24, 1.0f, false);
    put32(28, 2, false);
    for (size_t i = 0; i < 18; i++)
        put_float(32 + 4 * i, (float)(100 * (i / 9) + 10 * (i / 3 % 3) + i % 3), false);
    return 32 + 72;
}

static size_t make_mdd(void)
{
    put32(0, 2, true);
    put32(4, 3, true);
    put_float(8, 0.5f, true);
    put_float(12, 1.0f, true);
    for (size_t i = 0; i < 18; i++)
        put_float(16 + 4 * i, (float)(100 * (i / 9) + 10 * (i / 3 % 3) + i % 3), true);
    return 16 + 72;
}

static const char *error_id_of(const char *name, size_t size, int32_t vertices)
{
    static sup_error error;
    sup_cache *cache = NULL;
    memset(&error, 0, sizeof error);
    CHECK(sup_read_cache(NULL, name, (sup_bytes){file, size}, vertices, &cache, &error) != SUP_OK);
    CHECK(cache == NULL);
    return error.id;
}

TEST(caches_are_read)
{
    for (int format = 0; format < 2; format++) {
        size_t size = format == 0 ? make_pc2() : make_mdd();
        sup_cache *cache = NULL;
        sup_error error;
        CHECK_OK(sup_read_cache(NULL, format == 0 ? "a.pc2" : "a.MDD", (sup_bytes){file, size}, 3, &cache, &error),
                 error);
        CHECK_EQ(cache->frame_count, 2);
        CHECK_EQ(cache->vertex_count, 3);
        CHECK_NEAR(cache->positions[17], 122.0, 0.0);
        if (format == 1) CHECK_NEAR(cache->fps, 2.0, 1e-6);
        sup_cache_destroy(cache);
    }
}

TEST(invalid_caches_are_rejected)
{
    size_t size = make_pc2();
    CHECK_TEXT(error_id_of("a.pc2", size, 4), "cache.vertices");
    CHECK_TEXT(error_id_of("a.txt", size, 3), "cache.extension");
    for (size_t cut = 0; cut < size; cut++)
        CHECK_TEXT(error_id_of("a.pc2", cut, 3), cut < 32 ? "cache.header" : "cache.truncated");
    put32(28, 0x7fffffff, false);
    CHECK_TEXT(error_id_of("a.pc2", size, 3), "cache.truncated");
    put32(28, 0xffffffff, false);
    CHECK_TEXT(error_id_of("a.pc2", size, 3), "cache.truncated");
    put32(28, 0, false);
    CHECK_TEXT(error_id_of("a.pc2", size, 3), "cache.empty");
    size = make_mdd();
    for (size_t cut = 0; cut < size; cut++)
        CHECK_TEXT(error_id_of("a.mdd", cut, 3), cut < 8 ? "cache.header" : "cache.truncated");
    put32(0, 0x7fffffff, true);
    CHECK_TEXT(error_id_of("a.mdd", size, 3), "cache.truncated");
}

/* Blocks of named arrays: written data is read back, damaged data is refused. */
#include "test.h"

#include "anatomy/array_store.h"

typedef struct sample {
    double *numbers;
    int32_t *indices;
    char **names;
    double pair[2];
} sample;

enum { FIELDS = 4 };

static void fields_of(sample *t, sup_store_field fields[FIELDS])
{
    fields[0] = (sup_store_field){"numbers", SUP_STORE_ARRAY, SUP_ARRAY_DOUBLE, 3, (void *)&t->numbers};
    fields[1] = (sup_store_field){"indices", SUP_STORE_ARRAY, SUP_ARRAY_INT32, 5, (void *)&t->indices};
    fields[2] = (sup_store_field){"names", SUP_STORE_TEXTS, SUP_ARRAY_BYTE, 3, (void *)&t->names};
    fields[3] = (sup_store_field){"pair", SUP_STORE_INLINE, SUP_ARRAY_DOUBLE, 2, t->pair};
}

static sup_bytes write_sample(void)
{
    double numbers[3] = {1.5, -2.0, 1e-300};
    int32_t indices[5] = {4, 3, 2, 1, 0};
    char a[] = "hip", b[] = "", c[] = "left knee";
    char *names[3] = {a, b, c};
    sample t = {numbers, indices, names, {7.0, 8.0}};
    sup_store_field fields[FIELDS];
    fields_of(&t, fields);
    sup_bytes block;
    sup_error error = {0};
    CHECK_OK(sup_store_write(NULL, "thing", fields, FIELDS, &block, &error), error);
    return block;
}

TEST(store_reads_what_was_written)
{
    sup_bytes block = write_sample();
    sup_store store;
    sup_error error = {0};
    CHECK_OK(sup_store_open(block, "thing", &store, &error), error);
    sample t = {0};
    sup_store_field fields[FIELDS];
    fields_of(&t, fields);
    sup_context context = sup_context_resolve(NULL);
    sup_arena arena = sup_arena_create(&context.allocator);
    CHECK_OK(sup_store_read(&store, fields, FIELDS, &arena, &error), error);
    CHECK(t.numbers[0] == 1.5 && t.numbers[1] == -2.0 && t.numbers[2] == 1e-300);
    CHECK(t.indices[0] == 4 && t.indices[4] == 0);
    CHECK_TEXT(t.names[0], "hip");
    CHECK_TEXT(t.names[1], "");
    CHECK_TEXT(t.names[2], "left knee");
    CHECK(t.pair[0] == 7.0 && t.pair[1] == 8.0);
    CHECK_EQ(sup_store_count(&store, "indices"), 5);
    CHECK_EQ(sup_store_count(&store, "toes"), -1);
    fields[0].count = 4;
    CHECK_EQ(sup_store_read(&store, fields, FIELDS, &arena, &error), SUP_ERROR_FORMAT);
    fields_of(&t, fields);
    fields[2].count = 2;
    CHECK_EQ(sup_store_read(&store, fields, FIELDS, &arena, &error), SUP_ERROR_FORMAT);
    fields[2].count = 4;
    CHECK_EQ(sup_store_read(&store, fields, FIELDS, &arena, &error), SUP_ERROR_FORMAT);
    fields_of(&t, fields);
    fields[1].type = SUP_ARRAY_FLOAT;
    CHECK_EQ(sup_store_read(&store, fields, FIELDS, &arena, &error), SUP_ERROR_FORMAT);
    fields_of(&t, fields);
    fields[3].name = "pear";
    CHECK_EQ(sup_store_read(&store, fields, FIELDS, &arena, &error), SUP_ERROR_FORMAT);
    CHECK_TEXT(error.where, "pear");
    CHECK_EQ(sup_store_open(block, "composition", &store, &error), SUP_ERROR_FORMAT);
    CHECK_TEXT(error.id, "anatomy.file.kind");
    sup_arena_destroy(&arena);
    sup_store_free(NULL, &block);
}

TEST(store_detects_any_changed_byte_or_length)
{
    sup_bytes block = write_sample();
    unsigned char *copy = malloc(block.size + 1);
    CHECK(copy != NULL);
    sup_store store;
    for (size_t i = 0; i < block.size; i++) {
        memcpy(copy, block.data, block.size);
        copy[i] ^= 0x11;
        sup_error error = {0};
        CHECK(sup_store_open((sup_bytes){copy, block.size}, "thing", &store, &error) != SUP_OK);
        CHECK(error.message[0] != 0);
    }
    memcpy(copy, block.data, block.size);
    copy[block.size] = 0;
    for (size_t size = 0; size <= block.size + 1; size++)
        CHECK((sup_store_open((sup_bytes){copy, size}, "thing", &store, NULL) == SUP_OK) == (size == block.size));
    free(copy);
    sup_store_free(NULL, &block);
}

TEST(store_refuses_values_that_are_not_finite)
{
    double numbers[3] = {1.0, NAN, 2.0};
    double *target = numbers;
    sup_store_field field = {"numbers", SUP_STORE_ARRAY, SUP_ARRAY_DOUBLE, 3, (void *)&target};
    sup_bytes block;
    sup_error error = {0};
    CHECK_OK(sup_store_write(NULL, "thing", &field, 1, &block, &error), error);
    sup_store store;
    CHECK_OK(sup_store_open(block, "thing", &store, &error), error);
    sup_context context = sup_context_resolve(NULL);
    sup_arena arena = sup_arena_create(&context.allocator);
    CHECK_EQ(sup_store_read(&store, &field, 1, &arena, &error), SUP_ERROR_FORMAT);
    int32_t values[4] = {0, 2, 5, 9};
    CHECK_EQ(sup_store_check_range("v", values, 4, 0, 10, NULL), SUP_OK);
    CHECK_EQ(sup_store_check_range("v", values, 4, 1, 10, NULL), SUP_ERROR_FORMAT);
    CHECK_EQ(sup_store_check_range("v", values, 4, 0, 9, NULL), SUP_ERROR_FORMAT);
    CHECK_EQ(sup_store_check_rising("v", values, 3, 9, NULL), SUP_OK);
    CHECK_EQ(sup_store_check_rising("v", values, 3, 8, NULL), SUP_ERROR_FORMAT);
    values[1] = 6;
    CHECK_EQ(sup_store_check_rising("v", values, 3, 9, NULL), SUP_ERROR_FORMAT);
    sup_arena_destroy(&arena);
    sup_store_free(NULL, &block);
}

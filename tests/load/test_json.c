/* The JSON tree: valid and invalid text, and writing what was read. */
#include "load/json.h"
#include "test.h"

static sup_allocator allocator(void)
{
    return sup_context_resolve(NULL).allocator;
}

static sup_result parse_n(sup_json_tree *tree, const char *text, size_t size, sup_error *error)
{
    sup_allocator memory = allocator();
    *tree = sup_json_tree_create(&memory);
    return sup_json_parse(tree, "test.json", (sup_bytes){text, size}, error);
}

static sup_json_tree parsed(const char *text)
{
    sup_json_tree tree;
    sup_error error = {0};
    CHECK_OK(parse_n(&tree, text, strlen(text), &error), error);
    return tree;
}

/* The text of a value; valid until the next call. */
static const char *written(const sup_json *value)
{
    static char text[4096];
    sup_allocator memory = allocator();
    sup_array bytes = {.item_size = 1};
    CHECK(sup_json_write(value, &memory, &bytes));
    CHECK(bytes.count < sizeof text);
    memcpy(text, bytes.data, bytes.count);
    text[bytes.count] = '\0';
    sup_array_free(&memory, &bytes);
    return text;
}

static void check_rejected(const char *text, size_t size, const char *id)
{
    sup_json_tree tree;
    sup_error error = {0};
    sup_result result = parse_n(&tree, text, size, &error);
    sup_json_tree_destroy(&tree);
    CHECK_MSG(result == SUP_ERROR_FORMAT, "accepted: %s", text);
    CHECK_TEXT(error.id, id);
    CHECK_TEXT(error.where, "test.json");
    CHECK(strstr(error.message, "line ") != NULL);
}

TEST(json_reads_every_kind)
{
    sup_json_tree tree = parsed(" {\"a\" : [1, -2.5e1, 0.5, true, false, null, \"x\"],\n\t\"b\":{}, \"c\":[] } \r\n");
    const sup_json *a = sup_json_get(tree.root, "a");
    double number = 0.0;
    int64_t whole = 0;
    CHECK_EQ(sup_json_count(tree.root), 3);
    CHECK_EQ(sup_json_count(a), 7);
    CHECK(sup_json_integer(sup_json_at(a, 0), &whole) && whole == 1);
    CHECK(sup_json_integer(sup_json_at(a, 1), &whole) && whole == -25);
    CHECK(sup_json_double(sup_json_at(a, 2), &number) && number == 0.5);
    CHECK(!sup_json_integer(sup_json_at(a, 2), &whole));
    CHECK(sup_json_boolean(sup_json_at(a, 3), false));
    CHECK(!sup_json_boolean(sup_json_at(a, 4), true));
    CHECK(sup_json_boolean(sup_json_at(a, 5), true));
    CHECK(sup_json_is(sup_json_at(a, 5), SUP_JSON_NULL));
    CHECK_TEXT(sup_json_text(sup_json_at(a, 6)), "x");
    CHECK(sup_json_equals(sup_json_at(a, 6), "x") && !sup_json_equals(sup_json_at(a, 6), "xy"));
    CHECK(sup_json_is(sup_json_get(tree.root, "b"), SUP_JSON_OBJECT));
    CHECK(sup_json_is(sup_json_get(tree.root, "c"), SUP_JSON_ARRAY));
    CHECK(sup_json_get(tree.root, "d") == NULL && sup_json_get(NULL, "d") == NULL && sup_json_get(a, "d") == NULL);
    CHECK(sup_json_at(a, 7) == NULL && sup_json_at(a, -1) == NULL && sup_json_at(NULL, 0) == NULL);
    CHECK(sup_json_text(a) == NULL && !sup_json_double(NULL, &number));
    sup_json_tree_destroy(&tree);
    tree = parsed("\xEF\xBB\xBF 17");
    CHECK(sup_json_integer(tree.root, &whole) && whole == 17);
    sup_json_tree_destroy(&tree);
}

TEST(json_last_of_equal_keys_is_used)
{
    sup_json_tree tree = parsed("{\"a\":1,\"b\":2,\"a\":3}");
    int64_t whole = 0;
    CHECK(sup_json_integer(sup_json_get(tree.root, "a"), &whole) && whole == 3);
    sup_json_set(&tree, tree.root, "a", sup_json_new_integer(&tree, 4));
    CHECK(sup_json_integer(sup_json_get(tree.root, "a"), &whole) && whole == 4);
    sup_json_remove(tree.root, "a");
    CHECK_TEXT(written(tree.root), "{\"b\":2}");
    sup_json_tree_destroy(&tree);
}

TEST(json_escapes)
{
    sup_json_tree tree = parsed("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20AC\\ud83d\\uDE00 \xC3\xA9\"");
    CHECK_TEXT(sup_json_text(tree.root), "\"\\/\b\f\n\r\tA\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 \xC3\xA9");
    CHECK_TEXT(written(tree.root), "\"\\\"\\\\/\\b\\f\\n\\r\\tA\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 \xC3\xA9\"");
    sup_json_tree_destroy(&tree);
    tree = parsed("[\"\\ud800x\",\"\\udc00\",\"\\ud800\\u0041\",\"a\\u0000b\\u001f\"]");
    CHECK_TEXT(sup_json_text(sup_json_at(tree.root, 0)), "\xEF\xBF\xBDx");
    CHECK_TEXT(sup_json_text(sup_json_at(tree.root, 1)), "\xEF\xBF\xBD");
    CHECK_TEXT(sup_json_text(sup_json_at(tree.root, 2)), "\xEF\xBF\xBD"
                                                         "A");
    CHECK_EQ(sup_json_at(tree.root, 3)->count, 4);
    CHECK_TEXT(written(sup_json_at(tree.root, 3)), "\"a\\u0000b\\u001f\"");
    sup_json_tree_destroy(&tree);
}

TEST(json_rejects_invalid_text)
{
    static const struct {
        const char *text, *id;
    } cases[] = {
        {"", "json.end"},
        {"  ", "json.end"},
        {"nul", "json.value"},
        {"tru", "json.value"},
        {"[1,]", "json.value"},
        {"[,1]", "json.value"},
        {"[1 2]", "json.comma"},
        {"[1", "json.comma"},
        {"{\"a\":1,}", "json.key"},
        {"{a:1}", "json.key"},
        {"{\"a\" 1}", "json.colon"},
        {"{\"a\":1", "json.comma"},
        {"{\"a\":}", "json.value"},
        {"{\"a\":1]", "json.comma"},
        {"[1}", "json.comma"},
        {"1 2", "json.trailing"},
        {"[]]", "json.trailing"},
        {"01", "json.trailing"},
        {"-", "json.number"},
        {"1.", "json.number"},
        {".5", "json.value"},
        {"+1", "json.value"},
        {"1e", "json.number"},
        {"1e+", "json.number"},
        {"-x", "json.number"},
        {"NaN", "json.value"},
        {"Infinity", "json.value"},
        {"\"abc", "json.string"},
        {"\"a\nb\"", "json.string"},
        {"\"\\x\"", "json.escape"},
        {"\"\\u12g4\"", "json.escape"},
        {"\"\\u12", "json.escape"},
        {"\"\\", "json.escape"},
        {"\"\\\"", "json.string"},
        {"// c\n1", "json.value"},
        {"{\"\\", "json.escape"},
        {"\"\xC3\"", "json.utf8"},
        {"\"\xC0\x80\"", "json.utf8"},
        {"\"\xED\xA0\x80\"", "json.utf8"},
        {"\"\xF4\x90\x80\x80\"", "json.utf8"},
        {"\"\xE0\x9F\x80\"", "json.utf8"},
        {"\"\xFF\"", "json.utf8"},
        {"\"\xF0\x9F\x98", "json.utf8"},
        {"\"\x80\"", "json.utf8"},
    };
    for (int i = 0; i < SUP_COUNT(cases); i++)
        check_rejected(cases[i].text, strlen(cases[i].text), cases[i].id);
    check_rejected("1\0", 2, "json.trailing");
    check_rejected("\"\\\0\"", 4, "json.escape");
}

TEST(json_depth_is_bounded)
{
    enum { MANY = 100000 };
    char *text = malloc(MANY);
    CHECK(text != NULL);
    memset(text, '[', MANY);
    check_rejected(text, MANY, "json.depth");
    memset(text + SUP_JSON_DEPTH, ']', SUP_JSON_DEPTH);
    sup_json_tree tree;
    sup_error error = {0};
    CHECK_OK(parse_n(&tree, text, 2 * SUP_JSON_DEPTH, &error), error);
    CHECK_EQ(strlen(written(tree.root)), 2 * SUP_JSON_DEPTH);
    sup_json *copy = sup_json_copy(&tree, tree.root);
    CHECK(!tree.failed && copy != NULL);
    sup_json *outer = sup_json_append(&tree, sup_json_new_array(&tree), tree.root);
    CHECK(outer == tree.root);
    sup_json_tree_destroy(&tree);
    free(text);
}

TEST(json_writes_what_it_read)
{
    static const char *const texts[] = {
        "{\"asset\":{\"version\":\"2.0\"},\"n\":[1.0,1e-7,-0,123456789012345678901234567890,0.1]}",
        "[[],{},[[]],{\"\":{\"a\":null}},true,false,\"\"]",
    };
    for (int i = 0; i < SUP_COUNT(texts); i++) {
        sup_json_tree tree = parsed(texts[i]);
        CHECK_TEXT(written(tree.root), texts[i]);
        CHECK_TEXT(written(sup_json_copy(&tree, tree.root)), texts[i]);
        sup_json_tree_destroy(&tree);
    }
}

TEST(json_builds_and_changes)
{
    sup_json_tree tree = parsed("{\"a\":1,\"list\":[1,2],\"z\":\"end\"}");
    sup_json *list = sup_json_get_or_add(&tree, tree.root, "list", SUP_JSON_ARRAY);
    sup_json *first = sup_json_at(list, 0);
    for (int i = 0; i < 3; i++)
        sup_json_append(&tree, list, sup_json_new_integer(&tree, 10 + i));
    CHECK(sup_json_at(list, 0) == first);
    sup_json_replace(&tree, list, 1, sup_json_new_bool(&tree, true));
    CHECK(sup_json_replace(&tree, list, 5, sup_json_new_null(&tree)) == NULL);
    sup_json_set(&tree, tree.root, "a", sup_json_new_string(&tree, "quote \" and \x01"));
    sup_json *made = sup_json_get_or_add(&tree, tree.root, "new", SUP_JSON_OBJECT);
    sup_json_set(&tree, made, "null", sup_json_new_null(&tree));
    sup_json_set(&tree, made, "copy", sup_json_copy(&tree, list));
    sup_json_set(&tree, made, "nan", sup_json_new_double(&tree, (double)NAN));
    sup_json_set(&tree, made, "lost", NULL);
    CHECK(!tree.failed);
    CHECK_TEXT(written(tree.root), "{\"a\":\"quote \\\" and \\u0001\",\"list\":[1,true,10,11,12],\"z\":\"end\","
                                   "\"new\":{\"null\":null,\"copy\":[1,true,10,11,12],\"nan\":null}}");
    sup_json_tree_destroy(&tree);
}

TEST(json_numbers_round_trip)
{
    sup_allocator memory = allocator();
    sup_json_tree tree = sup_json_tree_create(&memory);
    sup_random random = {7};
    for (int i = 0; i < 20000; i++) {
        uint32_t bits = sup_random_u32(&random);
        float number;
        memcpy(&number, &bits, sizeof number);
        if (!isfinite(number) || (number != 0.0f && fabsf(number) < 1e-36f)) continue;
        double back = 0.0;
        CHECK(sup_json_double(sup_json_new_float(&tree, number), &back));
        CHECK_MSG((float)back == number, "%.9g came back as %.9g", (double)number, back);
    }
    CHECK_TEXT(written(sup_json_new_float(&tree, 0.1f)), "0.1");
    CHECK_TEXT(written(sup_json_new_float(&tree, 16777216.0f)), "16777216");
    CHECK_TEXT(written(sup_json_new_double(&tree, 0.1)), "0.1");
    CHECK_TEXT(written(sup_json_new_double(&tree, 30.0)), "30");
    CHECK_TEXT(written(sup_json_new_integer(&tree, -9007199254740993)), "-9007199254740993");
    sup_json_tree_destroy(&tree);
}

/* An allocator that fails after a number of calls. */
typedef struct limited {
    sup_allocator real;
    int left;
} limited;

static void *limited_allocate(void *user, size_t size, size_t alignment)
{
    limited *l = user;
    return l->left-- > 0 ? l->real.allocate(l->real.user, size, alignment) : NULL;
}

static void limited_release(void *user, void *memory, size_t size)
{
    limited *l = user;
    l->real.release(l->real.user, memory, size);
}

TEST(json_handles_out_of_memory)
{
    static const char text[] = "{\"a\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20],\"b\":{\"c\":\"d\"}}";
    bool whole = false;
    for (int calls = 0; calls < 50 && !whole; calls++) {
        limited l = {allocator(), calls};
        sup_allocator memory = {limited_allocate, limited_release, &l};
        sup_json_tree tree = sup_json_tree_create(&memory);
        sup_error error = {0};
        sup_result result = sup_json_parse(&tree, "x", (sup_bytes){text, sizeof text - 1}, &error);
        whole = result == SUP_OK;
        if (!whole) CHECK_EQ(result, SUP_ERROR_MEMORY);
        sup_json_tree_destroy(&tree);
    }
    CHECK(whole);
    limited none = {allocator(), 0};
    sup_allocator memory = {limited_allocate, limited_release, &none};
    sup_json_tree tree = sup_json_tree_create(&memory);
    CHECK(sup_json_append(&tree, sup_json_new_array(&tree), sup_json_new_string(&tree, "x")) == NULL);
    CHECK(tree.failed);
    sup_json_tree_destroy(&tree);
}

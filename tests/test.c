/* test.c - main() of every test program: runs the registered tests, counts, reports. */
#include "test.h"

#include <stdarg.h>
#include <sys/stat.h>

test_case *test_first;
jmp_buf test_exit;
static test_case *test_last;
enum { TEST_PASSED = 0, TEST_FAILED = 1, TEST_SKIPPED = 2 };

void test_register(test_case *entry)
{
    if (test_last != NULL)
        test_last->next = entry;
    else
        test_first = entry;
    test_last = entry;
}

static const char *current_test = "", *test_program = "";

void test_fail(const char *file, int line, const char *format, ...)
{
    va_list args;
    printf("FAILED %s (%s:%d): ", current_test, file, line);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    longjmp(test_exit, TEST_FAILED);
}

void test_skip(const char *reason)
{
    printf("skipped %s: %s\n", current_test, reason);
    longjmp(test_exit, TEST_SKIPPED);
}

const char *test_asset(const char *relative)
{
    static char path[4096];
    const char *root = getenv("SUPPLE_ASSETS");
    struct stat status;
    if (root != NULL)
        snprintf(path, sizeof path, "%s/%s", root, relative);
    else
        snprintf(path, sizeof path, "%s/../shared/assets/%s", SUPPLE_SOURCE_DIR, relative);
    if (stat(path, &status) != 0) {
        static char reason[4200];
        snprintf(reason, sizeof reason, "no asset %s", relative);
        test_skip(reason);
    }
    return path;
}

const char *test_temp(const char *name)
{
    static char path[8][4096];
    static int next;
    char *slot = path[next = (next + 1) % 8];
    snprintf(slot, 4096, "%s/test_files/%s_%s", SUPPLE_BINARY_DIR, test_program, name);
    remove(slot);
    return slot;
}

static int selected(const test_case *entry, int argc, char **argv)
{
    if (argc < 2) return 1;
    for (int i = 1; i < argc; i++)
        if (strstr(entry->name, argv[i]) != NULL) return 1;
    return 0;
}

static int run_one(const test_case *entry)
{
    int outcome = setjmp(test_exit);
    if (outcome == 0) entry->run();
    return outcome;
}

int main(int argc, char **argv)
{
    int counts[3] = {0, 0, 0};
    const char *slash = strrchr(argv[0], '/');
    test_program = slash != NULL ? slash + 1 : argv[0];
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (const test_case *entry = test_first; entry != NULL; entry = entry->next) {
        if (!selected(entry, argc, argv)) continue;
        current_test = entry->name;
        counts[run_one(entry)]++;
    }
    printf("%d passed, %d failed, %d skipped\n", counts[TEST_PASSED], counts[TEST_FAILED], counts[TEST_SKIPPED]);
    return counts[TEST_FAILED] != 0 || counts[TEST_PASSED] + counts[TEST_SKIPPED] == 0;
}

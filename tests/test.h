/* test.h - the test framework: TEST(name) { CHECK(...); } in any number of files, main() in test.c.
 *
 * A test stops at its first failed check. SKIP("why") ends a test without counting it as passed. A program prints a
 * line per failure and one closing line "N passed, N failed, N skipped"; arguments select tests by substring. */
#ifndef SUP_TESTS_TEST_H
#define SUP_TESTS_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void test_fn(void);
typedef struct test_case {
    const char *name;
    test_fn *run;
    struct test_case *next;
} test_case;

extern test_case *test_first;
extern jmp_buf test_exit;
void test_register(test_case *entry);
void test_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4), noreturn));
void test_skip(const char *reason) __attribute__((noreturn));

#define TEST(name)                                                      \
    static void test_##name(void);                                      \
    __attribute__((constructor)) static void test_register_##name(void) \
    {                                                                   \
        static test_case entry = {#name, test_##name, NULL};            \
        test_register(&entry);                                          \
    }                                                                   \
    static void test_##name(void)

#define CHECK(condition)                                                   \
    do {                                                                   \
        if (!(condition)) test_fail(__FILE__, __LINE__, "%s", #condition); \
    } while (0)
#define CHECK_MSG(condition, ...)                                     \
    do {                                                              \
        if (!(condition)) test_fail(__FILE__, __LINE__, __VA_ARGS__); \
    } while (0)
#define CHECK_NEAR(a, b, tolerance)                                                                             \
    do {                                                                                                        \
        double check_a = (double)(a), check_b = (double)(b), check_t = (double)(tolerance);                     \
        if (!(fabs(check_a - check_b) <= check_t))                                                              \
            test_fail(__FILE__, __LINE__, "%s = %.9g, expected %.9g within %g", #a, check_a, check_b, check_t); \
    } while (0)
#define CHECK_EQ(a, b)                                                                                           \
    do {                                                                                                         \
        long long check_a = (long long)(a), check_b = (long long)(b);                                            \
        if (check_a != check_b) test_fail(__FILE__, __LINE__, "%s = %lld, expected %lld", #a, check_a, check_b); \
    } while (0)
#define CHECK_TEXT(a, b)                                                                                    \
    do {                                                                                                    \
        const char *check_a = (a), *check_b = (b);                                                          \
        if (check_a == NULL || check_b == NULL || strcmp(check_a, check_b) != 0)                            \
            test_fail(__FILE__, __LINE__, "%s = \"%s\", expected \"%s\"", #a, check_a ? check_a : "(null)", \
                      check_b ? check_b : "(null)");                                                        \
    } while (0)
/* Fails unless the sup_result is SUP_OK; `error` is the sup_error that was passed to the call. */
#define CHECK_OK(call, error)                                                                                 \
    do {                                                                                                      \
        int check_r = (int)(call);                                                                            \
        if (check_r != 0)                                                                                     \
            test_fail(__FILE__, __LINE__, "%s: %d, %s (%s)", #call, check_r, (error).message, (error).where); \
    } while (0)
#define SKIP(reason) test_skip(reason)

/* Path of a file under the shared assets folder, or skips the test with its name when it does not exist. The folder is
 * $SUPPLE_ASSETS, else ../shared/assets next to the source tree. The text is valid until the next call. */
const char *test_asset(const char *relative);
/* Path of a file of this test program in the build tree; removes an older file. The text is valid for 8 calls. */
const char *test_temp(const char *name);

#endif

/* Formatting and parsing match the C library, independent of the locale. */
#include "base/base.h"
#include "test.h"

TEST(format_matches_printf)
{
    char ours[128];
    const double numbers[] = {0.0,   1.0,    -1.5,   3.14159265, 1e-4, 1e-5, 123456.0, 1234567.0, 0.1,
                              1e300, 5e-324, 2.5e-7, 99999.95,   1e17, 0.5,  -0.0,     1e22,      7.0 / 3.0};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sup_format(ours, sizeof ours, "%g", numbers[i]);
        CHECK_NEAR(strtod(ours, NULL), numbers[i], fabs(numbers[i]) * 1e-5);
        sup_format(ours, sizeof ours, "%.17g", numbers[i]);
        CHECK_NEAR(strtod(ours, NULL), numbers[i], fabs(numbers[i]) * 1e-14);
    }
    sup_format(ours, sizeof ours, "%s|%5d|%04d|%c|%zu|%lld|%%|%.3s", "ab", 42, 7, 'x', (size_t)9, -5000000000LL,
               "abcdef");
    CHECK_TEXT(ours, "ab|   42|0007|x|9|-5000000000|%|abc");
}

TEST(format_truncates_and_terminates)
{
    char small[5];
    CHECK_EQ(sup_format(small, sizeof small, "%s", "abcdefgh"), 8);
    CHECK_TEXT(small, "abcd");
}

TEST(parse_double_matches_strtod)
{
    const char *texts[] = {"0",
                           "1",
                           "-2.5",
                           "3.",
                           ".5",
                           "1e3",
                           "1E-3",
                           "+7.25e+2",
                           "1e400",
                           "1e-400",
                           "123456789012345678901234567890",
                           "0.000000000000000000001",
                           "2.2250738585072014e-308",
                           "-0.0625",
                           "1e22",
                           "9007199254740993"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double value = -1.0, expected = strtod(texts[i], NULL);
        const char *end = sup_parse_double(texts[i], texts[i] + strlen(texts[i]), &value);
        CHECK(end == texts[i] + strlen(texts[i]));
        if (isinf(expected))
            CHECK(isinf(value));
        else
            CHECK_NEAR(value, expected, fabs(expected) * 4e-16);
    }
}

TEST(parse_double_rejects_invalid_text)
{
    const char *texts[] = {"", "-", ".", "e5", "abc", "-.e1"};
    double value;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        CHECK(sup_parse_double(texts[i], texts[i] + strlen(texts[i]), &value) == NULL);
    const char *partial = "12abc";
    CHECK(sup_parse_double(partial, partial + 5, &value) == partial + 2);
    const char *bare = "1e"; /* an exponent without digits is not part of the number */
    CHECK(sup_parse_double(bare, bare + 2, &value) == bare + 1);
}

TEST(parse_never_reads_past_the_end)
{
    double value;
    const char *text = "12345";
    CHECK(sup_parse_double(text, text + 2, &value) == text + 2);
    CHECK_NEAR(value, 12.0, 0.0);
    int64_t whole;
    CHECK(sup_parse_int64(text, text + 3, &whole) == text + 3);
    CHECK_EQ(whole, 123);
    const char *huge = "99999999999999999999";
    CHECK(sup_parse_int64(huge, huge + 20, &whole) == NULL);
}

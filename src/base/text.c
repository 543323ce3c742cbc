/* text.c - formatting and number parsing without stdio and independent of the locale, so that the core compiles to
 * freestanding WASM and parses "0.5" in every locale. */
#include "base/base.h"

#include <math.h>

typedef struct writer {
    char *buffer;
    size_t size, length; /* length of the untruncated text */
} writer;

static void put(writer *w, char c)
{
    if (w->length + 1 < w->size) w->buffer[w->length] = c;
    w->length++;
}

static void put_text(writer *w, const char *text)
{
    for (; *text != '\0'; text++)
        put(w, *text);
}

static void put_unsigned(writer *w, uint64_t value, int width, char pad)
{
    char digits[24];
    int count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    for (int i = count; i < width; i++)
        put(w, pad);
    while (count > 0)
        put(w, digits[--count]);
}

static void put_signed(writer *w, int64_t value, int width, char pad)
{
    if (value >= 0) {
        put_unsigned(w, (uint64_t)value, width, pad);
        return;
    }
    put(w, '-');
    put_unsigned(w, (uint64_t)0 - (uint64_t)value, width - 1, pad);
}

/* Writes mantissa * 10^(exponent - digits + 1) without trailing zeros, as %g does. */
static void put_digits(writer *w, uint64_t mantissa, int digits, int exponent)
{
    char text[20];
    for (int i = digits - 1; i >= 0; i--) {
        text[i] = (char)('0' + mantissa % 10);
        mantissa /= 10;
    }
    int used = digits;
    while (used > 1 && text[used - 1] == '0')
        used--;
    bool scientific = exponent < -5 || exponent >= digits;
    int point = scientific ? 1 : exponent + 1; /* digits before the decimal point */
    if (point <= 0) {
        put_text(w, "0.");
        for (int i = point; i < 0; i++)
            put(w, '0');
    }
    for (int i = 0; i < used || i < point; i++) {
        if (i == point && i > 0) put(w, '.');
        put(w, i < used ? text[i] : '0');
    }
    if (!scientific) return;
    put(w, 'e');
    put(w, exponent < 0 ? '-' : '+');
    put_unsigned(w, (uint64_t)(exponent < 0 ? -exponent : exponent), 2, '0');
}

static void put_double(writer *w, double value, int digits)
{
    if (isnan(value)) {
        put_text(w, "nan");
        return;
    }
    if (signbit(value)) put(w, '-');
    value = fabs(value);
    if (isinf(value)) {
        put_text(w, "inf");
        return;
    }
    if (digits < 1) digits = 1;
    if (digits > 17) digits = 17;
    if (value == 0.0) {
        put(w, '0');
        return;
    }
    int exponent = (int)floor(log10(value));
    double scaled = value;
    int shift = digits - 1 - exponent;
    if (shift > 300) { /* 10^shift would overflow for the smallest numbers */
        scaled *= 1e300;
        shift -= 300;
    }
    scaled = shift >= 0 ? scaled * pow(10.0, shift) : scaled / pow(10.0, -shift);
    uint64_t limit = 1;
    for (int i = 0; i < digits; i++)
        limit *= 10;
    uint64_t mantissa = (uint64_t)floor(scaled + 0.5);
    if (mantissa >= limit) {
        mantissa /= 10;
        exponent++;
    } else if (mantissa < limit / 10) {
        mantissa = (uint64_t)floor(scaled * 10.0 + 0.5);
        exponent--;
    }
    put_digits(w, mantissa, digits, exponent);
}

/* The next integer argument; `longs` is the number of l's, or the equivalent of z. */
#define NEXT_SIGNED(args, longs)                       \
    ((longs) == 2   ? (int64_t)va_arg(args, long long) \
     : (longs) == 1 ? (int64_t)va_arg(args, long)      \
                    : (int64_t)va_arg(args, int))
#define NEXT_UNSIGNED(args, longs)                               \
    ((longs) == 2   ? (uint64_t)va_arg(args, unsigned long long) \
     : (longs) == 1 ? (uint64_t)va_arg(args, unsigned long)      \
                    : (uint64_t)va_arg(args, unsigned))

size_t sup_format_v(char *buffer, size_t size, const char *format, va_list args)
{
    writer w = {buffer, size, 0};
    for (; *format != '\0'; format++) {
        if (*format != '%') {
            put(&w, *format);
            continue;
        }
        format++;
        char pad = *format == '0' ? '0' : ' ';
        int width = 0, precision = -1, longs = 0;
        for (; *format >= '0' && *format <= '9'; format++)
            width = width * 10 + (*format - '0');
        if (*format == '.')
            for (precision = 0, format++; *format >= '0' && *format <= '9'; format++)
                precision = precision * 10 + (*format - '0');
        for (; *format == 'l' || *format == 'z'; format++)
            longs += *format == 'z' ? (sizeof(size_t) == sizeof(long) ? 1 : 2) : 1;
        switch (*format) {
        case 's': {
            const char *text = va_arg(args, const char *);
            if (text == NULL) text = "(null)";
            for (int i = 0; text[i] != '\0' && (precision < 0 || i < precision); i++)
                put(&w, text[i]);
            break;
        }
        case 'c':
            put(&w, (char)va_arg(args, int));
            break;
        case 'd':
            put_signed(&w, NEXT_SIGNED(args, longs), width, pad);
            break;
        case 'u':
            put_unsigned(&w, NEXT_UNSIGNED(args, longs), width, pad);
            break;
        case 'g':
            put_double(&w, va_arg(args, double), precision < 0 ? 6 : precision);
            break;
        case '\0':
            format--;
            break;
        default:
            put(&w, *format);
            break;
        }
    }
    if (size > 0) buffer[w.length < size ? w.length : size - 1] = '\0';
    return w.length;
}

size_t sup_format(char *buffer, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t length = sup_format_v(buffer, size, format, args);
    va_end(args);
    return length;
}

static bool is_digit(const char *text, const char *end)
{
    return text < end && *text >= '0' && *text <= '9';
}

static const char *parse_word(const char *text, const char *end, const char *word)
{
    for (; *word != '\0'; word++, text++)
        if (text >= end || (*text | 0x20) != *word) return NULL;
    return text;
}

const char *sup_parse_int64(const char *text, const char *end, int64_t *value)
{
    bool negative = text < end && *text == '-';
    if (text < end && (*text == '-' || *text == '+')) text++;
    if (!is_digit(text, end)) return NULL;
    uint64_t number = 0;
    for (; is_digit(text, end); text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (number > ((uint64_t)INT64_MAX - digit) / 10) return NULL;
        number = number * 10 + digit;
    }
    *value = negative ? -(int64_t)number : (int64_t)number;
    return text;
}

/* mantissa * 10^exponent. Exact if both are exact in double (up to 15 digits, |exponent| <= 22), as in most files; else
 * within a few units in the last place, far below float precision. */
static double scale_decimal(uint64_t mantissa, int exponent)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double value = (double)mantissa;
    if (mantissa == 0) return 0.0;
    if (exponent < -400) return 0.0;
    if (exponent > 400) return (double)INFINITY;
    for (; exponent > 22; exponent -= 22)
        value *= 1e22;
    for (; exponent < -22; exponent += 22)
        value /= 1e22;
    return exponent >= 0 ? value * powers[exponent] : value / powers[-exponent];
}

const char *sup_parse_double(const char *text, const char *end, double *value)
{
    bool negative = text < end && *text == '-';
    if (text < end && (*text == '-' || *text == '+')) text++;
    const char *word = parse_word(text, end, "nan");
    if (word != NULL) {
        *value = (double)NAN;
        return word;
    }
    word = parse_word(text, end, "inf");
    if (word != NULL) {
        const char *whole = parse_word(word, end, "inity");
        *value = negative ? -(double)INFINITY : (double)INFINITY;
        return whole != NULL ? whole : word;
    }
    uint64_t mantissa = 0;
    int exponent = 0, digits = 0;
    for (; is_digit(text, end); text++, digits++) {
        if (mantissa < 100000000000000000u)
            mantissa = mantissa * 10 + (uint64_t)(*text - '0');
        else if (exponent < 100000)
            exponent++;
    }
    if (text < end && *text == '.')
        for (text++; is_digit(text, end); text++, digits++)
            if (mantissa < 100000000000000000u) {
                mantissa = mantissa * 10 + (uint64_t)(*text - '0');
                exponent--;
            }
    if (digits == 0) return NULL;
    if (text < end && (*text | 0x20) == 'e') {
        const char *mark = text + 1;
        bool negative_exponent = mark < end && *mark == '-';
        if (mark < end && (*mark == '-' || *mark == '+')) mark++;
        if (is_digit(mark, end)) {
            int number = 0;
            for (; is_digit(mark, end); mark++)
                if (number < 100000) number = number * 10 + (*mark - '0');
            exponent += negative_exponent ? -number : number;
            text = mark;
        }
    }
    double magnitude = scale_decimal(mantissa, exponent);
    *value = negative ? -magnitude : magnitude;
    return text;
}

bool sup_text_equal(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static int lower(int c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

bool sup_text_equal_nocase(const char *a, const char *b)
{
    if (a == NULL || b == NULL) return false;
    for (; *a != '\0' && lower(*a) == lower(*b); a++)
        b++;
    return *a == '\0' && *b == '\0';
}

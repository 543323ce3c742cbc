/* json_out.c - JSON writer. */
#include "json_out.h"

#include <math.h>

/* Length in bytes of the UTF-8 sequence at `s`; 0 when invalid (overlong, surrogate, truncated). */
static int utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80) return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf) return (s[1] & 0xc0) == 0x80 ? 2 : 0;
    if (s[0] >= 0xe0 && s[0] <= 0xef) {
        unsigned char low = s[0] == 0xe0 ? 0xa0 : 0x80, high = s[0] == 0xed ? 0x9f : 0xbf;
        if (s[1] < low || s[1] > high) return 0;
        return (s[2] & 0xc0) == 0x80 ? 3 : 0;
    }
    if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        unsigned char low = s[0] == 0xf0 ? 0x90 : 0x80, high = s[0] == 0xf4 ? 0x8f : 0xbf;
        if (s[1] < low || s[1] > high || (s[2] & 0xc0) != 0x80) return 0;
        return (s[3] & 0xc0) == 0x80 ? 4 : 0;
    }
    return 0;
}

static void write_text(FILE *file, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    fputc('"', file);
    while (*s != '\0') {
        int length = utf8_length(s);
        if (length == 0) {
            fputs("\\ufffd", file);
            s++;
        } else if (*s == '"' || *s == '\\') {
            fprintf(file, "\\%c", *s++);
        } else if (*s < 0x20 || *s == 0x7f) {
            fprintf(file, "\\u%04x", *s++);
        } else {
            fwrite(s, 1, (size_t)length, file);
            s += length;
        }
    }
    fputc('"', file);
}

static void begin_value(app_json *json, const char *key)
{
    if (json->depth > 0) fprintf(json->file, "%s\n%*s", json->empty ? "" : ",", json->depth * 2, "");
    json->empty = false;
    if (key != NULL) {
        write_text(json->file, key);
        fputs(": ", json->file);
    }
}

static void open_nest(app_json *json, const char *key, char bracket)
{
    begin_value(json, key);
    fputc(bracket, json->file);
    json->depth++;
    json->empty = true;
}

static void close_nest(app_json *json, char bracket)
{
    json->depth--;
    if (!json->empty) fprintf(json->file, "\n%*s", json->depth * 2, "");
    fputc(bracket, json->file);
    json->empty = false;
    if (json->depth == 0) fputc('\n', json->file);
}

void app_json_object(app_json *json, const char *key)
{
    open_nest(json, key, '{');
}

void app_json_object_end(app_json *json)
{
    close_nest(json, '}');
}

void app_json_array(app_json *json, const char *key)
{
    open_nest(json, key, '[');
}

void app_json_array_end(app_json *json)
{
    close_nest(json, ']');
}

void app_json_text(app_json *json, const char *key, const char *text)
{
    begin_value(json, key);
    if (text != NULL)
        write_text(json->file, text);
    else
        fputs("null", json->file);
}

void app_json_integer(app_json *json, const char *key, int64_t value)
{
    begin_value(json, key);
    fprintf(json->file, "%lld", (long long)value);
}

static void write_number(FILE *file, double value)
{
    if (isfinite(value))
        fprintf(file, "%.9g", value);
    else
        fputs("null", file);
}

void app_json_number(app_json *json, const char *key, double value)
{
    begin_value(json, key);
    write_number(json->file, value);
}

void app_json_boolean(app_json *json, const char *key, bool value)
{
    begin_value(json, key);
    fputs(value ? "true" : "false", json->file);
}

void app_json_null(app_json *json, const char *key)
{
    begin_value(json, key);
    fputs("null", json->file);
}

void app_json_index(app_json *json, const char *key, int32_t index)
{
    if (index >= 0)
        app_json_integer(json, key, index);
    else
        app_json_null(json, key);
}

void app_json_numbers(app_json *json, const char *key, const double *values, int32_t count)
{
    begin_value(json, key);
    fputc('[', json->file);
    for (int32_t i = 0; i < count; i++) {
        if (i > 0) fputs(", ", json->file);
        write_number(json->file, values[i]);
    }
    fputc(']', json->file);
}

void app_json_vector(app_json *json, const char *key, const double values[3])
{
    app_json_numbers(json, key, values, 3);
}

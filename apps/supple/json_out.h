/* json_out.h - JSON writer: one indented object; replaces invalid UTF-8 in names. */
#ifndef APP_JSON_OUT_H
#define APP_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct app_json {
    FILE *file;
    int depth;
    bool empty; /* the innermost object or array is empty so far */
} app_json;

/* `key` is NULL inside arrays and for the outermost object. */
void app_json_object(app_json *json, const char *key);
void app_json_object_end(app_json *json);
void app_json_array(app_json *json, const char *key);
void app_json_array_end(app_json *json);
void app_json_text(app_json *json, const char *key, const char *text); /* NULL text: null */
void app_json_integer(app_json *json, const char *key, int64_t value);
void app_json_number(app_json *json, const char *key, double value); /* non-finite: null */
void app_json_boolean(app_json *json, const char *key, bool value);
void app_json_null(app_json *json, const char *key);
/* An index; null when -1. */
void app_json_index(app_json *json, const char *key, int32_t index);
/* 3 or `count` numbers on one line. */
void app_json_vector(app_json *json, const char *key, const double values[3]);
void app_json_numbers(app_json *json, const char *key, const double *values, int32_t count);

#endif

/* paint.c - --paint strokes: a sphere around a joint, the weights of a joint, a primitive, or values from a file. */
#include "paint.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_LIMIT = 1024, LIST_LIMIT = 300 };

/* A parsed --paint. */
typedef struct stroke {
    const char *text; /* as the user wrote it */
    char map[64], source[400];
    bool has_value;
    double value;
} stroke;

static int parse_stroke(const char *text, stroke *s)
{
    const char *equals = strchr(text, '='), *star = strrchr(text, '*');
    *s = (stroke){.text = text};
    if (equals == NULL || equals == text || (size_t)(equals - text) >= sizeof s->map)
        return app_usage("--paint %s: Expected MAP=REGION, such as --paint rigid=sphere:Head:0.2.", text);
    snprintf(s->map, sizeof s->map, "%.*s", (int)(equals - text), text);
    if (star != NULL && star > equals && app_parse_number(star + 1, &s->value)) s->has_value = true;
    size_t length = s->has_value ? (size_t)(star - equals - 1) : strlen(equals + 1);
    if (length == 0 || length >= sizeof s->source)
        return app_usage(
            "--paint %s: Expected sphere:JOINT:RADIUS[:BORDER], joint:NAME, primitive:NAME, all or file:PATH.", text);
    memcpy(s->source, equals + 1, length);
    return APP_DONE;
}

static const sup_map *find_map(const sup_method *method, const char *name)
{
    for (int32_t i = 0; i < method->map_count; i++)
        if (strcmp(method->maps[i].name, name) == 0) return &method->maps[i];
    return NULL;
}

/* Message for an unknown name. */
static int fail_name(const char *text, const char *what, const char *wrong, const char *const *names, int32_t count)
{
    char list[LIST_LIMIT + 64] = "";
    const char *nearest = app_nearest(wrong, names, count);
    int32_t i = 0;
    for (; i < count && strlen(list) < LIST_LIMIT - 40; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%.40s", i > 0 ? ", " : "", names[i]);
    if (i < count) snprintf(list + strlen(list), sizeof list - strlen(list), " and %d more", (int)(count - i));
    if (count == 0) return app_usage("--paint %s: Unknown %s %s; there is none.", text, what, wrong);
    if (nearest == NULL) return app_usage("--paint %s: Unknown %s %s. Available: %s.", text, what, wrong, list);
    return app_usage("--paint %s: Unknown %s %s; did you mean %s? Available: %s.", text, what, wrong, nearest, list);
}

int app_paint_check(const app_texts *texts, const sup_method *const *methods, int32_t count)
{
    for (int i = 0; i < texts->count; i++) {
        const char *names[NAME_LIMIT];
        int32_t name_count = 0;
        bool known = false;
        stroke s;
        int status = parse_stroke(texts->items[i], &s);
        if (status != APP_DONE) return status;
        for (int32_t m = 0; m < count; m++) {
            known = known || find_map(methods[m], s.map) != NULL;
            for (int32_t k = 0; k < methods[m]->map_count && name_count < NAME_LIMIT; k++)
                names[name_count++] = methods[m]->maps[k].name;
        }
        if (!known && name_count == 0 && count == 1)
            return app_usage("--paint %s: The method %s has no maps to paint.", s.text, methods[0]->name);
        if (!known) return fail_name(s.text, "map", s.map, names, name_count);
    }
    return APP_DONE;
}

/* A length in file units, or with % in percent of the character size. */
static bool parse_length(const char *text, const sup_rig *rig, double *length)
{
    char number[64];
    size_t count = strlen(text);
    bool is_percent = count > 0 && text[count - 1] == '%';
    if (count == 0 || count >= sizeof number) return false;
    snprintf(number, sizeof number, "%.*s", (int)(is_percent ? count - 1 : count), text);
    if (!app_parse_number(number, length) || !(*length >= 0.0)) return false;
    if (is_percent) *length *= 0.01 * (double)rig->size;
    return true;
}

/* Parses the length after the last colon of `text` and removes it. */
static bool cut_length(char *text, const sup_rig *rig, double *length)
{
    char *colon = strrchr(text, ':');
    if (colon == NULL || colon == text || !parse_length(colon + 1, rig, length)) return false;
    *colon = '\0';
    return true;
}

static int find_joint(const stroke *s, const sup_rig *rig, const char *name, int32_t *joint)
{
    const char *names[NAME_LIMIT];
    int32_t count = rig->joint_count < NAME_LIMIT ? rig->joint_count : NAME_LIMIT;
    *joint = sup_rig_find_joint(rig, name);
    if (*joint >= 0) return APP_DONE;
    for (int32_t j = 0; j < count; j++)
        names[j] = rig->character->nodes[rig->joint_node[j]].name;
    return fail_name(s->text, "joint", name, names, count);
}

/* Joint names may contain colons: numbers are parsed from the end. */
static int make_sphere(const stroke *s, const sup_rig *rig, char *rest, float *mask)
{
    double last = 0.0, radius = 0.0, border = 0.0;
    int32_t joint = -1;
    sup_error error = {0};
    if (!cut_length(rest, rig, &last))
        return app_usage(
            "--paint %s: Expected sphere:JOINT:RADIUS[:BORDER], lengths in file units or in percent (10%%) of the "
            "character size.",
            s->text);
    bool two = cut_length(rest, rig, &radius);
    border = two ? last : 0.5 * last;
    if (!two) radius = last;
    int status = find_joint(s, rig, rest, &joint);
    if (status != APP_DONE) return status;
    if (sup_paint_sphere(rig, joint, radius, border, mask, &error) != SUP_OK)
        return app_usage("--paint %s: %s", s->text, error.message);
    return APP_DONE;
}

static int make_joint(const stroke *s, const sup_rig *rig, const char *name, float *mask)
{
    int32_t joint = -1;
    sup_error error = {0};
    int status = find_joint(s, rig, name, &joint);
    if (status == APP_DONE && sup_paint_joint(rig, joint, mask, &error) != SUP_OK)
        status = app_usage("--paint %s: %s", s->text, error.message);
    return status;
}

/* All primitives with this name. */
static int make_primitive(const stroke *s, const sup_rig *rig, const char *name, float *mask, float *one)
{
    const char *names[NAME_LIMIT];
    const sup_character *character = rig->character;
    int32_t found = 0, count = character->primitive_count < NAME_LIMIT ? character->primitive_count : NAME_LIMIT;
    memset(mask, 0, (size_t)rig->vertex_count * sizeof *mask);
    for (int32_t p = 0; p < character->primitive_count; p++) {
        if (p < count) names[p] = character->primitives[p].name;
        if (strcmp(character->primitives[p].name, name) != 0 || sup_paint_primitive(rig, p, one, NULL) != SUP_OK)
            continue;
        sup_paint_blend(rig->vertex_count, one, 1.0, mask);
        found++;
    }
    return found > 0 ? APP_DONE : fail_name(s->text, "primitive", name, names, count);
}

static int make_from_file(const stroke *s, const sup_rig *rig, const char *path, float *mask)
{
    size_t size = 0;
    char *text = app_read_file(path, &size);
    sup_error error = {0};
    int status = APP_DONE;
    if (text == NULL) {
        app_say("--paint %s: The file cannot be read.", s->text);
        status = APP_INPUT;
    } else if (sup_paint_numbers(rig, (sup_bytes){text, size}, mask, &error) != SUP_OK) {
        app_say("%s: %s", path, error.message);
        status = APP_INPUT;
    }
    free(text);
    return status;
}

/* Applies one stroke to the values of its map. `mask` and `more` are scratch, [vertex_count] each. */
static int apply(const stroke *s, const sup_rig *rig, const sup_map *map, float *mask, float *more, float *values)
{
    double value = s->has_value ? s->value : (double)map->maximum;
    char source[sizeof s->source];
    int status = APP_DONE;
    memcpy(source, s->source, sizeof source);
    if (!(value >= (double)map->minimum && value <= (double)map->maximum))
        return app_usage("--paint %s: Values of the map %s are from %g to %g, not %g.", s->text, map->name,
                         (double)map->minimum, (double)map->maximum, value);
    if (strncmp(source, "sphere:", 7) == 0)
        status = make_sphere(s, rig, source + 7, mask);
    else if (strncmp(source, "joint:", 6) == 0)
        status = make_joint(s, rig, source + 6, mask);
    else if (strncmp(source, "primitive:", 10) == 0)
        status = make_primitive(s, rig, source + 10, mask, more);
    else if (strncmp(source, "file:", 5) == 0)
        status = make_from_file(s, rig, source + 5, mask);
    else if (strcmp(source, "all") == 0)
        for (int32_t v = 0; v < rig->vertex_count; v++)
            mask[v] = 1.0f;
    else
        return app_usage(
            "--paint %s: Unknown region %s; expected sphere:JOINT:RADIUS[:BORDER], joint:NAME, primitive:NAME, all "
            "or file:PATH.",
            s->text, source);
    if (status != APP_DONE) return status;
    /* Numbers of a file are map values; with *VALUE they are blend weights of VALUE. */
    if (strncmp(source, "file:", 5) == 0 && !s->has_value)
        memcpy(values, mask, (size_t)rig->vertex_count * sizeof *values);
    else
        sup_paint_blend(rig->vertex_count, mask, value, values);
    return APP_DONE;
}

/* The values of a map; initialized to its default value at the first stroke. */
static float *values_of(app_paints *paints, const sup_map *map, int32_t vertex_count)
{
    int32_t i = 0;
    while (i < paints->count && strcmp(paints->items[i].map, map->name) != 0)
        i++;
    if (i < paints->count) return paints->values[i];
    if (i == SUP_METHOD_MAPS) return NULL;
    float *values = malloc((size_t)vertex_count * sizeof *values + 1);
    for (int32_t v = 0; values != NULL && v < vertex_count; v++)
        values[v] = map->default_value;
    if (values == NULL) return NULL;
    paints->items[i] = (sup_paint){map->name, values};
    paints->values[i] = values;
    paints->count++;
    return values;
}

/* Painted maps of --settings; strokes are applied on top. */
static int paint_settings(const app_job *job, const sup_rig *rig, const sup_method *method, app_paints *paints)
{
    const sup_settings *settings = job->settings;
    for (int32_t i = 0; settings != NULL && settings->method == method && i < settings->paint_count; i++) {
        float *values = values_of(paints, find_map(method, settings->paints[i].map), rig->vertex_count);
        if (values == NULL) {
            app_say("Out of memory for the painted maps.");
            return APP_OTHER;
        }
        memcpy(values, settings->paints[i].values, (size_t)rig->vertex_count * sizeof *values);
    }
    return APP_DONE;
}

int app_paint(const app_job *job, const sup_rig *rig, const sup_method *method, app_paints *paints)
{
    const app_texts *texts = &job->values->paint;
    int status = APP_DONE;
    memset(paints, 0, sizeof *paints);
    status = paint_settings(job, rig, method, paints);
    float *mask = malloc(2 * (size_t)rig->vertex_count * sizeof *mask + 1);
    for (int i = 0; status == APP_DONE && i < texts->count; i++) {
        stroke s;
        status = parse_stroke(texts->items[i], &s);
        const sup_map *map = status == APP_DONE ? find_map(method, s.map) : NULL;
        if (map == NULL) continue;
        float *values = values_of(paints, map, rig->vertex_count);
        if (mask == NULL || values == NULL) {
            app_say("Out of memory for the painted maps.");
            status = APP_OTHER;
        } else {
            status = apply(&s, rig, map, mask, mask + rig->vertex_count, values);
        }
    }
    free(mask);
    return status;
}

void app_paints_free(app_paints *paints)
{
    for (int32_t i = 0; i < paints->count; i++)
        free(paints->values[i]);
    paints->count = 0;
}

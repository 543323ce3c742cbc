/* setup.c - parses the setup text of a character. */
#include "methods/implicit/setup.h"

#include <math.h>

enum { WORDS = 128 };

#ifndef SUPPLE_SMALL /* the web build has no setup */
typedef struct word {
    const char *text;
    size_t size;
} word;

typedef struct parser {
    const sup_rig *rig;
    sup_setup *setup;
    sup_error *error;
    int32_t line, word_count, next; /* next: index of the word to read next */
    const char *line_start, *line_end;
    word words[WORDS];
} parser;

static const word nothing = {"", 0};

/* A word for an error message: truncated, and without control characters. */
typedef struct printable {
    char text[SUP_SETUP_NAME];
} printable;

static printable to_printable(word w)
{
    printable s;
    size_t size = w.size < sizeof s.text - 1 ? w.size : sizeof s.text - 1;
    for (size_t i = 0; i < size; i++)
        s.text[i] = (unsigned char)w.text[i] < 32 || w.text[i] == 127 ? '?' : w.text[i];
    s.text[size] = '\0';
    return s;
}

static sup_result fail(const parser *p, const char *what, word w, const char *rest)
{
    return sup_fail(p->error, SUP_ERROR_DATA, "setup.line", "", "Line %d of the setup: %s%s%s%s%s", p->line, what,
                    w.size > 0 ? " \"" : "", to_printable(w).text, w.size > 0 ? "\"" : "", rest);
}

static bool is_word(word w, const char *text)
{
    return w.size == strlen(text) && memcmp(w.text, text, w.size) == 0;
}

static word peek(const parser *p)
{
    return p->next < p->word_count ? p->words[p->next] : nothing;
}

/* --- Words --- */

static sup_result split(parser *p)
{
    const char *at = p->line_start;
    p->word_count = p->next = 0;
    while (at < p->line_end) {
        if (*at == ' ' || *at == '\t' || *at == '\r') {
            at++;
            continue;
        }
        if (*at == '#') break;
        if (p->word_count == WORDS) return fail(p, "there are more than 128 words.", nothing, "");
        bool quoted = *at == '"';
        const char *start = at + (quoted ? 1 : 0), *stop = start;
        while (stop < p->line_end && (quoted ? *stop != '"' : *stop != ' ' && *stop != '\t' && *stop != '\r'))
            stop++;
        if (quoted && stop == p->line_end) return fail(p, "a quote is not closed.", nothing, "");
        p->words[p->word_count++] = (word){start, (size_t)(stop - start)};
        at = stop + (quoted ? 1 : 0);
    }
    return SUP_OK;
}

static bool to_number(word w, double *value)
{
    const char *end = w.text + w.size;
    return w.size > 0 && sup_parse_double(w.text, end, value) == end && isfinite(*value);
}

/* A number in [low, high]; with a trailing % in hundredths of `whole`. */
static sup_result read_length(parser *p, const char *what, double whole, double low, double high, double *value)
{
    word w = peek(p), digits = w;
    bool percent = w.size > 1 && w.text[w.size - 1] == '%';
    if (percent) digits.size--;
    bool good = to_number(digits, value);
    if (good && percent) *value *= 0.01 * whole;
    if (!good || !(*value >= low && *value <= high)) {
        char allowed[128];
        sup_format(allowed, sizeof allowed,
                   ": expected a number from %g to %g, or with %% a percentage of the bone's length.", low, high);
        return w.size > 0 ? fail(p, what, w, allowed) : fail(p, what, nothing, " needs a number.");
    }
    p->next++;
    return SUP_OK;
}

static sup_result read_new_name(parser *p, const char *what, char (*names)[SUP_SETUP_NAME], int32_t *count,
                                int32_t limit)
{
    word w = peek(p);
    if (w.size == 0) return fail(p, what, nothing, " needs a name.");
    if (w.size >= SUP_SETUP_NAME) return fail(p, "the name", w, " is longer than 63 characters.");
    for (int32_t i = 0; i < *count; i++)
        if (is_word(w, names[i])) return fail(p, what, w, " is already defined; use another name.");
    if (*count == limit) return fail(p, "cannot add", w, ": there are too many of this type.");
    memcpy(names[*count], w.text, w.size);
    names[*count][w.size] = '\0';
    p->next++;
    return SUP_OK;
}

static sup_result read_known_name(parser *p, const char *what, char (*names)[SUP_SETUP_NAME], int32_t count,
                                  int32_t *found)
{
    word w = peek(p);
    for (int32_t i = 0; i < count; i++)
        if (is_word(w, names[i])) {
            *found = i;
            p->next++;
            return SUP_OK;
        }
    char list[240] = "";
    size_t used = 0;
    for (int32_t i = 0; i < count && used + 1 < sizeof list; i++)
        used += sup_format(list + used, sizeof list - used, "%s%s", i == 0 ? " is not known; use one of: " : ", ",
                           names[i]);
    return w.size > 0 ? fail(p, what, w, list) : fail(p, what, nothing, " needs a name.");
}

/* ANGLE:VALUE pairs up to the first word that is not one. */
static sup_result read_points(parser *p, double low, double high, float *curve)
{
    sup_controller_point points[SUP_CONTROLLER_POINTS];
    int32_t count = 0;
    for (; p->next < p->word_count; p->next++, count++) {
        word w = peek(p), angle = w, value = w;
        const char *colon = memchr(w.text, ':', w.size);
        if (colon == NULL) break;
        if (count == SUP_CONTROLLER_POINTS) return fail(p, "a curve has at most 32 points.", nothing, "");
        angle.size = (size_t)(colon - w.text);
        value.text = colon + 1;
        value.size = w.size - angle.size - 1;
        double *to[2] = {&points[count].angle, &points[count].value};
        if (!to_number(angle, to[0]) || !to_number(value, to[1]))
            return fail(p, "", w, " is not a point ANGLE:VALUE of a curve, such as 90:0.5.");
        if (!(*to[0] >= 0.0 && *to[0] <= 180.0)) return fail(p, "the angle of", w, " is not within 0 to 180 degrees.");
        if (!(*to[1] >= low && *to[1] <= high))
            return fail(p, "the value of", w, high > 1.0 ? " is not within 0.1 to 10." : " is not within 0 to 1.");
        if (count > 0 && !(*to[0] > points[count - 1].angle))
            return fail(p, "the angle of", w, " is not above the previous one.");
    }
    if (count == 0) return fail(p, "points ANGLE:VALUE are missing, such as 0:0 120:1.", nothing, "");
    return sup_controller_make(points, count, curve) ? SUP_OK : fail(p, "the points do not form a curve.", nothing, "");
}

static sup_result expect_end(const parser *p, const char *allowed)
{
    return p->next == p->word_count ? SUP_OK : fail(p, "", peek(p), allowed);
}

/* --- Joints --- */

static const char *joint_name(const parser *p, int32_t joint)
{
    return p->rig->character->nodes[p->rig->joint_node[joint]].name;
}

/* '*' matches any characters. */
static bool matches(word pattern, const char *name)
{
    size_t at = 0, star = SIZE_MAX, resume = 0, i = 0;
    while (name[i] != '\0') {
        if (at < pattern.size && pattern.text[at] == '*') {
            star = at++;
            resume = i;
        } else if (at < pattern.size && pattern.text[at] == name[i]) {
            at++;
            i++;
        } else if (star != SIZE_MAX) {
            at = star + 1;
            i = ++resume;
        } else
            return false;
    }
    while (at < pattern.size && pattern.text[at] == '*')
        at++;
    return at == pattern.size;
}

static sup_result fail_joint(const parser *p, word w)
{
    char list[200] = " is not a joint; the joints are: ";
    size_t used = strlen(list);
    int32_t listed = 0;
    for (; listed < p->rig->joint_count && used + 40 < sizeof list; listed++)
        used += sup_format(list + used, sizeof list - used, "%s%s", listed == 0 ? "" : ", ", joint_name(p, listed));
    if (listed < p->rig->joint_count) memcpy(list + sizeof list - 5, " ...", 5);
    return w.size > 0 ? fail(p, "", w, list) : fail(p, "the name of a joint is missing.", nothing, "");
}

static sup_result read_joint(parser *p, int32_t *joint)
{
    word w = peek(p);
    for (int32_t j = 0; j < p->rig->joint_count; j++)
        if (is_word(w, joint_name(p, j))) {
            *joint = j;
            p->next++;
            return SUP_OK;
        }
    return fail_joint(p, w);
}

/* operator NAME or controller NAME; sets `*is_choice` if it was one of them. */
static sup_result read_choice(parser *p, sup_setup_joint *choice, bool *is_choice)
{
    sup_setup *s = p->setup;
    bool op = is_word(peek(p), "operator"), controller = is_word(peek(p), "controller");
    *is_choice = op || controller;
    if (!*is_choice) return SUP_OK;
    p->next++;
    return op ? read_known_name(p, "the operator", s->operator_names, s->operator_count, &choice->op)
              : read_known_name(p, "the controller", s->controller_names, s->controller_count, &choice->controller);
}

static sup_result read_joint_line(parser *p)
{
    word pattern = peek(p);
    sup_setup_joint choice = {-1, -1};
    bool is_choice = true, found = false;
    if (pattern.size == 0) return fail_joint(p, pattern);
    p->next++;
    sup_result result = SUP_OK;
    while (is_choice && p->next < p->word_count && result == SUP_OK)
        result = read_choice(p, &choice, &is_choice);
    if (result == SUP_OK)
        result = expect_end(p, " is not known here; a joint accepts: operator NAME, controller NAME.");
    if (result != SUP_OK) return result;
    if (choice.op < 0 && choice.controller < 0)
        return fail(p, "the joint", pattern, " has no setting: operator NAME or controller NAME is missing.");
    for (int32_t j = 0; j < p->rig->joint_count; j++) {
        if (!matches(pattern, joint_name(p, j))) continue;
        found = true;
        if (choice.op >= 0) p->setup->joints[j].op = choice.op;
        if (choice.controller >= 0) p->setup->joints[j].controller = choice.controller;
    }
    return found ? SUP_OK : fail_joint(p, pattern);
}

/* --- Muscles --- */

typedef struct muscle {
    int32_t bone, swell_joint;
    double along, offset[3], radius[3];
    bool has_radii;
    sup_setup_joint choice;
    float swell[SUP_CONTROLLER_SIZE];
} muscle;

static double bone_length(const parser *p, int32_t bone)
{
    return sup_v3_distance(sup_v3_load(p->rig->bone_head + 3 * (size_t)bone),
                           sup_v3_load(p->rig->bone_tail + 3 * (size_t)bone));
}

static sup_result read_muscle_property(parser *p, muscle *m)
{
    word key = peek(p);
    double length = bone_length(p, m->bone), reach = 10.0 * (double)p->rig->size;
    bool is_choice = false;
    sup_result result = read_choice(p, &m->choice, &is_choice);
    if (is_choice || result != SUP_OK) return result;
    p->next++;
    if (is_word(key, "along")) return read_length(p, "along", 1.0, -1.0, 2.0, &m->along);
    if (is_word(key, "offset")) {
        for (int32_t k = 0; k < 3 && result == SUP_OK; k++)
            result = read_length(p, "offset", length, -reach, reach, &m->offset[k]);
        return result;
    }
    if (is_word(key, "radii")) {
        double ignored;
        for (int32_t k = 0; k < 2 && result == SUP_OK; k++)
            result = read_length(p, "radii", length, 1e-4 * (double)p->rig->size, reach, &m->radius[k]);
        m->radius[2] = m->radius[1];
        word w = peek(p);
        if (w.size > 0 && w.text[w.size - 1] == '%') w.size--;
        if (result == SUP_OK && to_number(w, &ignored))
            result = read_length(p, "radii", length, 1e-4 * (double)p->rig->size, reach, &m->radius[2]);
        m->has_radii = true;
        return result;
    }
    if (is_word(key, "swell")) {
        result = read_joint(p, &m->swell_joint);
        return result == SUP_OK ? read_points(p, 0.1, 10.0, m->swell) : result;
    }
    return fail(p, "", key,
                " is not known here; a muscle accepts: bone, radii, along, offset, swell, operator, controller.");
}

/* First axis along its bone, second towards its offset from the bone. */
static void set_muscle_ellipsoid(const parser *p, const muscle *m, sup_field_ellipsoid *to)
{
    sup_vec3d head = sup_v3_load(p->rig->bone_head + 3 * (size_t)m->bone);
    sup_vec3d tail = sup_v3_load(p->rig->bone_tail + 3 * (size_t)m->bone);
    sup_vec3d offset = sup_v3(m->offset[0], m->offset[1], m->offset[2]);
    sup_vec3d axis = sup_v3_unit_or(sup_v3_sub(tail, head), sup_v3(1.0, 0.0, 0.0));
    sup_vec3d beside = sup_v3_madd(offset, -sup_v3_dot(offset, axis), axis);
    sup_vec3d any = fabs(axis.x) < 0.7 ? sup_v3(1.0, 0.0, 0.0) : sup_v3(0.0, 1.0, 0.0);
    if (!(sup_v3_length(beside) > 1e-6 * (double)p->rig->size)) beside = sup_v3_cross(axis, any);
    *to = (sup_field_ellipsoid){.joint = m->bone,
                                .centre = sup_v3_add(sup_v3_lerp(head, tail, m->along), offset),
                                .radius = {m->radius[0], m->radius[1], m->radius[2]}};
    to->axis[0] = axis;
    to->axis[1] = sup_v3_unit_or(beside, any);
    to->axis[2] = sup_v3_cross(to->axis[0], to->axis[1]);
}

static sup_result read_muscle_line(parser *p)
{
    sup_setup *s = p->setup;
    muscle m = {.bone = -1, .swell_joint = -1, .along = 0.5, .choice = {-1, -1}};
    sup_result result = read_new_name(p, "a muscle", s->muscle_names, &s->muscle_count, SUP_SETUP_MUSCLES);
    if (result != SUP_OK) return result;
    if (!is_word(peek(p), "bone")) return fail(p, "after the name of a muscle, bone JOINT is expected.", nothing, "");
    p->next++;
    result = read_joint(p, &m.bone);
    while (result == SUP_OK && p->next < p->word_count)
        result = read_muscle_property(p, &m);
    if (result != SUP_OK) return result;
    if (!m.has_radii) return fail(p, "a muscle needs radii A B, along and across the bone.", nothing, "");
    int32_t i = s->muscle_count++;
    set_muscle_ellipsoid(p, &m, &s->extras[i]);
    s->muscle_joints[i] = m.choice;
    s->swell_joint[i] = m.swell_joint;
    memcpy(s->swell[i], m.swell, sizeof m.swell);
    return SUP_OK;
}

/* --- Lines --- */

static sup_result read_controller_line(parser *p)
{
    sup_setup *s = p->setup;
    sup_result result =
        read_new_name(p, "the controller", s->controller_names, &s->controller_count, SUP_SETUP_CONTROLLERS);
    if (result == SUP_OK) result = read_points(p, 0.0, 1.0, s->controllers[s->controller_count]);
    if (result == SUP_OK) result = expect_end(p, " is not a point ANGLE:VALUE of a curve, such as 90:0.5.");
    if (result == SUP_OK) s->controller_count++;
    return result;
}

static sup_result read_operator_line(parser *p)
{
    sup_setup *s = p->setup;
    sup_result result = read_new_name(p, "the operator", s->operator_names, &s->operator_count, SUP_SETUP_OPERATORS);
    if (result != SUP_OK) return result;
    const char *rest = p->next < p->word_count ? p->words[p->next].text : p->line_end;
    sup_error why = {0};
    result = sup_profile_parse(rest, (size_t)(p->line_end - rest), p->line, &s->profiles[s->operator_count], &why);
    if (result != SUP_OK)
        return sup_fail(p->error, result, "setup.profile", "", "Line %d of the setup: %s", p->line, why.message);
    s->operator_count++;
    return SUP_OK;
}

static sup_result read_line(parser *p)
{
    static const struct {
        const char *name;
        sup_result (*read)(parser *p);
    } kinds[] = {{"joint", read_joint_line},
                 {"muscle", read_muscle_line},
                 {"controller", read_controller_line},
                 {"operator", read_operator_line}};
    sup_result result = split(p);
    if (result != SUP_OK || p->word_count == 0) return result;
    word first = p->words[p->next++];
    for (int32_t i = 0; i < SUP_COUNT(kinds); i++)
        if (is_word(first, kinds[i].name)) return kinds[i].read(p);
    return fail(p, "", first, " is not known; a line starts with: joint, muscle, controller, operator.");
}

static sup_result read_text(const sup_rig *rig, const char *text, size_t size, sup_setup *setup, sup_error *error)
{
    parser p = {.rig = rig, .setup = setup, .error = error};
    sup_result result = SUP_OK;
    const char *at = text != NULL ? text : "", *end = at + (text != NULL ? size : 0);
    while (at < end && result == SUP_OK) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        p.line++;
        p.line_start = at;
        p.line_end = stop != NULL ? stop : end;
        at = stop != NULL ? stop + 1 : end;
        result = read_line(&p);
    }
    return result;
}
#else
static sup_result read_text(const sup_rig *rig, const char *text, size_t size, sup_setup *setup, sup_error *error)
{
    SUP_UNUSED(rig);
    SUP_UNUSED(setup);
    if (text == NULL || size == 0) return SUP_OK;
    return sup_fail(error, SUP_ERROR_UNSUPPORTED, "setup.small", "",
                    "This build of the library does not support setup text.");
}
#endif

static sup_setup *open_setup(const sup_rig *rig, sup_arena *arena)
{
    sup_setup *s = sup_arena_alloc(arena, 1, sizeof *s);
    if (s == NULL) return NULL;
    s->joints = sup_arena_alloc(arena, (size_t)rig->joint_count, sizeof *s->joints);
    if (s->joints == NULL) return NULL;
    for (int32_t j = 0; j < rig->joint_count; j++)
        s->joints[j] = (sup_setup_joint){-1, -1};
    sup_format(s->operator_names[SUP_OPERATOR_CONTACT], SUP_SETUP_NAME, "contact");
    sup_format(s->operator_names[SUP_OPERATOR_BULGE], SUP_SETUP_NAME, "bulge");
    s->profiles[SUP_OPERATOR_CONTACT] = sup_profile_contact();
    s->profiles[SUP_OPERATOR_BULGE] = sup_profile_bulge();
    s->operator_count = 2;
    for (; s->controller_count < SUP_CONTROLLER_PRESETS; s->controller_count++) {
        const sup_controller_preset *preset = sup_controller_preset_at(s->controller_count);
        sup_format(s->controller_names[s->controller_count], SUP_SETUP_NAME, "%s", preset->name);
        sup_controller_make(preset->points, preset->count, s->controllers[s->controller_count]);
    }
    return s;
}

sup_result sup_setup_parse(const sup_rig *rig, const char *text, size_t size, sup_arena *arena, sup_setup **setup,
                           sup_error *error)
{
    sup_setup *made = open_setup(rig, arena);
    if (made == NULL) return sup_fail_memory(error, "the setup");
    sup_result result = read_text(rig, text, size, made, error);
    if (result == SUP_OK) *setup = made;
    return result;
}

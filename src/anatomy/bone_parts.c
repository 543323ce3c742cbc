/* bone_parts.c - parts of the trunk by anatomical names: joints alone do not distinguish them, because the ends of the
 * clavicles are nearer to the sternum and the upper ribs than any joint of the spine. */
#include "anatomy/bone_parts.h"

/* The start of a word of the name, lower case; with a space at its end: the whole word. */
typedef struct part_word {
    const char *start;
    sup_bone_part part;
} part_word;

static const part_word words[] = {
    {"lumbar", SUP_PART_LUMBAR},     {"thora", SUP_PART_THORAX},    {"rib ", SUP_PART_THORAX},
    {"ribs ", SUP_PART_THORAX},      {"ribcage", SUP_PART_THORAX},  {"cost", SUP_PART_THORAX},
    {"stern", SUP_PART_THORAX},      {"manubri", SUP_PART_THORAX},  {"xiph", SUP_PART_THORAX},
    {"scapul", SUP_PART_SHOULDER},   {"clavic", SUP_PART_SHOULDER}, {"collarbone", SUP_PART_SHOULDER},
    {"shoulder", SUP_PART_SHOULDER}, {"pelvi", SUP_PART_PELVIS},    {"sacr", SUP_PART_PELVIS},
    {"coccy", SUP_PART_PELVIS},      {"ilium ", SUP_PART_PELVIS},   {"ischi", SUP_PART_PELVIS},
    {"pubi", SUP_PART_PELVIS},       {"hip ", SUP_PART_PELVIS},     {"cervic", SUP_PART_NECK},
    {"atlas ", SUP_PART_NECK},       {"axis ", SUP_PART_NECK},      {"neck", SUP_PART_NECK},
};

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static bool is_letter(char c)
{
    return lower(c) >= 'a' && lower(c) <= 'z';
}

/* Whether the word that begins at `at` has this start. */
static bool has_start(const char *at, const char *start)
{
    for (; *start != 0; start++, at++) {
        if (*start == ' ') return !is_letter(*at);
        if (lower(*at) != *start) return false;
    }
    return true;
}

sup_bone_part sup_bone_part_of_name(const char *name)
{
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
        for (const char *at = name; *at != 0; at++)
            if ((at == name || !is_letter(at[-1])) && has_start(at, words[w].start)) return words[w].part;
    return SUP_PART_UNKNOWN;
}

static sup_bone_part part_of_role(sup_body_role role)
{
    static const sup_bone_part parts[] = {[SUP_BODY_PELVIS] = SUP_PART_PELVIS,
                                          [SUP_BODY_SPINE] = SUP_PART_THORAX,
                                          [SUP_BODY_NECK] = SUP_PART_NECK,
                                          [SUP_BODY_HEAD] = SUP_PART_HEAD,
                                          [SUP_BODY_CLAVICLE] = SUP_PART_SHOULDER,
                                          [SUP_BODY_UPPER_ARM] = SUP_PART_UPPER_ARM,
                                          [SUP_BODY_FOREARM] = SUP_PART_FOREARM,
                                          [SUP_BODY_HAND] = SUP_PART_END,
                                          [SUP_BODY_UPPER_LEG] = SUP_PART_UPPER_LEG,
                                          [SUP_BODY_LOWER_LEG] = SUP_PART_LOWER_LEG,
                                          [SUP_BODY_FOOT] = SUP_PART_END,
                                          [SUP_BODY_TOE] = SUP_PART_END};
    return parts[role];
}

sup_bone_part sup_bone_part_of(const char *name, sup_body_role role)
{
    sup_bone_part part = sup_bone_part_of_name(name);
    return part != SUP_PART_UNKNOWN ? part : part_of_role(role);
}

bool sup_bone_part_follows(sup_bone_part part, sup_body_role role)
{
    if (part == SUP_PART_THORAX || part == SUP_PART_LUMBAR) return role == SUP_BODY_SPINE || role == SUP_BODY_PELVIS;
    return part == SUP_PART_UNKNOWN || part_of_role(role) == part;
}

/* joint_names.c - parses joint names in the naming schemes of common exporters. */
#include "pose/joint_names.h"

/* Words of a name in lower case, split at separators, digits and changes of case. */
enum { WORD_LIMIT = 12, WORD_SIZE = 24 };
typedef struct words {
    char word[WORD_LIMIT][WORD_SIZE];
    int count;
    int32_t number;
} words;

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "LHipJoint" is L, Hip, Joint; "LeftArm" is Left, Arm. */
static bool starts_word(const char *name, size_t i)
{
    if (i == 0 || !is_upper(name[i])) return false;
    return is_lower(name[i - 1]) || (is_upper(name[i - 1]) && is_lower(name[i + 1]));
}

static words split(const char *name)
{
    words w = {.count = 0, .number = -1};
    size_t length = 0;
    for (size_t i = 0;; i++) {
        char c = name[i];
        bool is_letter = is_upper(c) || is_lower(c);
        if ((!is_letter || starts_word(name, i)) && length > 0) {
            if (w.count < WORD_LIMIT) w.word[w.count++][length] = '\0';
            length = 0;
        }
        if (c == '\0') break;
        if (is_digit(c)) w.number = w.number > 100000 ? w.number : (w.number < 0 ? 0 : w.number) * 10 + (c - '0');
        if (is_letter && w.count < WORD_LIMIT && length + 1 < WORD_SIZE)
            w.word[w.count][length++] = (char)(is_upper(c) ? c + 32 : c);
    }
    return w;
}

static bool is_one_of(const char *word, const char *const *list, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (strcmp(word, list[i]) == 0) return true;
    return false;
}

/* Words that do not identify a joint. */
static bool is_filler(const char *word)
{
    static const char *const list[] = {"joint", "jnt",  "jt",  "bone", "bip",  "bn",         "b",        "j",
                                       "f",     "def",  "org", "rig",  "sk",   "mixamorig",  "skeleton", "armature",
                                       "bind",  "ctrl", "cc",  "base", "root", "valvebiped", "character"};
    return is_one_of(word, list, SUP_COUNT(list));
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Removes a side from the start of a word: "leftarm" becomes "arm". */
static sup_side side_of_word(char *word)
{
    if (strcmp(word, "l") == 0 || strcmp(word, "left") == 0) {
        word[0] = '\0';
        return SUP_SIDE_LEFT;
    }
    if (strcmp(word, "r") == 0 || strcmp(word, "right") == 0) {
        word[0] = '\0';
        return SUP_SIDE_RIGHT;
    }
    sup_side side = starts_with(word, "left")    ? SUP_SIDE_LEFT
                    : starts_with(word, "right") ? SUP_SIDE_RIGHT
                                                 : SUP_SIDE_NONE;
    size_t length = side == SUP_SIDE_LEFT ? 4 : 5;
    if (side != SUP_SIDE_NONE) memmove(word, word + length, strlen(word + length) + 1);
    return side;
}

/* Names of the CMU motion capture database: "lfemur" without a separator. */
static sup_side side_of_bone_name(char *base)
{
    static const char *const bones[] = {"femur",  "tibia", "foot", "toes",     "humerus", "radius",
                                        "wrist",  "hand",  "arm",  "clavicle", "thumb",   "fingers",
                                        "collar", "elbow", "knee", "ankle",    "hip",     "shoulder"};
    if ((base[0] != 'l' && base[0] != 'r') || !is_one_of(base + 1, bones, SUP_COUNT(bones))) return SUP_SIDE_NONE;
    sup_side side = base[0] == 'l' ? SUP_SIDE_LEFT : SUP_SIDE_RIGHT;
    memmove(base, base + 1, strlen(base));
    return side;
}

/* The finger of a name: a finger word, after "hand" if both occur ("MiddleHand" is not a finger), or "finger" and a
 * number that starts with 1 to 5. */
static int8_t finger_of(const words *w)
{
    static const char *const fingers[5][2] = {
        {"thumb", "thumb"}, {"index", "index"}, {"middle", "mid"}, {"ring", "ring"}, {"pinky", "little"}};
    static const char *const ends[] = {"metacarpal", "tip", "end", "leaf", "nub"};
    for (int i = 0; i < w->count; i++)
        if (is_one_of(w->word[i], ends, SUP_COUNT(ends))) return -1;
    for (int i = 0; i < w->count; i++) {
        bool before_hand = i + 1 < w->count && strcmp(w->word[i + 1], "hand") == 0;
        for (int finger = 0; finger < 5 && !before_hand; finger++)
            if (is_one_of(w->word[i], fingers[finger], 2)) return (int8_t)finger;
        if (strcmp(w->word[i], "finger") == 0 && w->number >= 0) {
            int32_t first = w->number;
            while (first >= 10)
                first /= 10;
            return (int8_t)(first >= 1 && first <= 5 ? first - 1 : -1);
        }
    }
    return -1;
}

sup_joint_name sup_joint_name_parse(const char *name)
{
    for (const char *at = name; *at != '\0'; at++)
        if ((*at == ':' || *at == '|') && at[1] != '\0') name = at + 1;
    words w = split(name);
    sup_joint_name parsed = {.side = SUP_SIDE_NONE, .is_helper = starts_with(name, "__"), .number = w.number};
    size_t length = 0;
    for (int pass = 0; pass < 2 && length == 0;
         pass++) { /* a name without other words ("root", "Bone.001") keeps them */
        for (int i = 0; i < w.count; i++) {
            sup_side side = parsed.side == SUP_SIDE_NONE ? side_of_word(w.word[i]) : SUP_SIDE_NONE;
            if (side != SUP_SIDE_NONE) parsed.side = side;
            if (pass == 0 && is_filler(w.word[i])) continue;
            for (const char *c = w.word[i]; *c != '\0' && length + 1 < sizeof parsed.base; c++)
                parsed.base[length++] = *c;
        }
    }
    parsed.base[length] = '\0';
    if (parsed.side == SUP_SIDE_NONE) parsed.side = side_of_bone_name(parsed.base);
    parsed.finger = parsed.side == SUP_SIDE_NONE ? -1 : finger_of(&w);
    return parsed;
}

bool sup_joint_name_same(const sup_joint_name *a, const sup_joint_name *b)
{
    return a->side == b->side && a->number == b->number && a->is_helper == b->is_helper && a->base[0] != '\0' &&
           strcmp(a->base, b->base) == 0;
}

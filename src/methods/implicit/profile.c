/* profile.c - built-in and user-drawn profiles.
 *
 * Based on: [vaillant2014iso] section 4.2. The shape of the bulge is our own: the paper shows it in figure 6 without
 * control points. */
#include "methods/implicit/profile.h"

#include <math.h>

enum { CURVE_LIMIT = 1024, CURVE_STEPS = 16 };
static const double longest_contact = 1.0 - 1.0 / 32.0; /* four nodes of an operator's table before g = 1 */
static const double near = 1e-3; /* tolerance for points on an axis, the diagonal or the start point */

typedef struct curve {
    int32_t count;
    double points[CURVE_LIMIT][2];
} curve;

static bool add_point(curve *c, double x, double y)
{
    if (c->count == CURVE_LIMIT) return false;
    c->points[c->count][0] = x;
    c->points[c->count][1] = y;
    c->count++;
    return true;
}

/* Resamples the first `count` points of the curve uniformly. */
static void resample(const curve *c, int32_t count, sup_profile *profile)
{
    double length = 0.0, length_before = 0.0;
    for (int32_t i = 1; i < count; i++)
        length += hypot(c->points[i][0] - c->points[i - 1][0], c->points[i][1] - c->points[i - 1][1]);
    int32_t i = 1;
    for (int32_t k = 0; k < SUP_PROFILE_POINTS; k++) {
        double target = length * k / (SUP_PROFILE_POINTS - 1), segment = 0.0;
        for (;; i++) {
            segment = hypot(c->points[i][0] - c->points[i - 1][0], c->points[i][1] - c->points[i - 1][1]);
            if (length_before + segment >= target || i == count - 1) break;
            length_before += segment;
        }
        double t = segment > 0.0 ? fmin(fmax((target - length_before) / segment, 0.0), 1.0) : 0.0;
        for (int32_t axis = 0; axis < 2; axis++)
            profile->points[k][axis] = c->points[i - 1][axis] + t * (c->points[i][axis] - c->points[i - 1][axis]);
    }
    /* Removes rounding errors at the axis and the diagonal. */
    profile->points[0][0] = 0.5;
    profile->points[0][1] = 0.0;
    profile->points[SUP_PROFILE_POINTS - 1][0] = profile->points[SUP_PROFILE_POINTS - 1][1] = c->points[count - 1][0];
}

sup_profile sup_profile_contact(void)
{
    sup_profile profile = {.contact = longest_contact};
    for (int32_t k = 0; k < SUP_PROFILE_POINTS; k++) {
        profile.points[k][0] = 0.5;
        profile.points[k][1] = 0.5 * k / (SUP_PROFILE_POINTS - 1);
    }
    return profile;
}

/* Point of a clamped uniform cubic B-spline, by de Boor's algorithm; t from 0 to control_count - 3. */
static void b_spline(const double (*control)[2], int32_t control_count, double t, double out[2])
{
    int32_t segments = control_count - 3, segment = (int32_t)fmin(floor(t), segments - 1);
    double p[4][2];
    memcpy(p, control + segment, sizeof p);
    for (int32_t level = 1; level <= 3; level++)
        for (int32_t j = 3; j >= level; j--) {
            double low = fmin(fmax(segment + j - 3, 0), segments),
                   high = fmin(fmax(segment + j - level + 1, 0), segments);
            double weight = (t - low) / (high - low);
            for (int32_t axis = 0; axis < 2; axis++)
                p[j][axis] = (1.0 - weight) * p[j - 1][axis] + weight * p[j][axis];
        }
    memcpy(out, p[3], sizeof p[3]);
}

sup_profile sup_profile_bulge(void)
{
    /* Leaves the straight line where the other limb's field is small, and is parallel to it again at the crease. */
    static const double control[6][2] = {{0.5, 0.0}, {0.5, 0.08}, {0.5, 0.16}, {0.4, 0.2}, {0.4, 0.3}, {0.4, 0.4}};
    curve c = {0};
    for (int32_t i = 0; i <= 192; i++) {
        double at[2];
        b_spline(control, SUP_COUNT(control), 3.0 * i / 192.0, at);
        add_point(&c, at[0], at[1]);
    }
    sup_profile profile = {.contact = longest_contact};
    resample(&c, c.count, &profile);
    return profile;
}

/* --- Text --- */

typedef struct reader {
    const char *at, *end, *line_start;
    int32_t line;
    curve curve;
    double start[2], here[2], control[2]; /* first point of the path, current point, last control point */
    sup_error *error;
} reader;

static sup_result fail(const reader *r, const char *what)
{
    return sup_fail(r->error, SUP_ERROR_DATA, "profile.syntax", "", "Line %d, column %d of the profile: %s", r->line,
                    (int)(r->at - r->line_start) + 1, what);
}

static void skip_space(reader *r)
{
    bool comment = false;
    for (; r->at < r->end; r->at++) {
        char c = *r->at;
        if (c == '\n') {
            comment = false;
            r->line++;
            r->line_start = r->at + 1;
        } else if (c == '#')
            comment = true;
        else if (!comment && c != ' ' && c != '\t' && c != '\r' && c != ',')
            break;
    }
}

static bool number_next(reader *r)
{
    skip_space(r);
    return r->at < r->end && strchr("+-.0123456789", *r->at) != NULL && *r->at != '\0';
}

static sup_result read_numbers(reader *r, int32_t count, double *numbers)
{
    for (int32_t i = 0; i < count; i++) {
        if (!number_next(r)) return fail(r, "a number is missing here.");
        const char *after = sup_parse_double(r->at, r->end, &numbers[i]);
        if (after == NULL || !(fabs(numbers[i]) <= 1e6)) return fail(r, "this is not a number between -1e6 and 1e6.");
        r->at = after;
    }
    return SUP_OK;
}

static sup_result add_bezier(reader *r, const double a[2], const double b[2], const double to[2])
{
    for (int32_t i = 1; i <= CURVE_STEPS; i++) {
        double t = (double)i / CURVE_STEPS, s = 1.0 - t, at[2];
        for (int32_t k = 0; k < 2; k++)
            at[k] = s * s * s * r->here[k] + 3.0 * s * t * (s * a[k] + t * b[k]) + t * t * t * to[k];
        if (!add_point(&r->curve, at[0], at[1])) return fail(r, "the curve has too many segments; use at most 60.");
    }
    memcpy(r->here, to, sizeof r->here);
    return SUP_OK;
}

static sup_result add_line(reader *r, const double to[2])
{
    memcpy(r->here, to, sizeof r->here);
    memcpy(r->control, to, sizeof r->control);
    return add_point(&r->curve, to[0], to[1]) ? SUP_OK : fail(r, "the curve has too many segments; use at most 60.");
}

/* C, S, Q and T: control points a and b of a cubic from the numbers of the command. */
static sup_result add_curve(reader *r, char command, char previous, const double *n)
{
    double mirror[2], a[2], b[2];
    const double *to = n + (command == 'C' ? 4 : (command == 'T' ? 0 : 2));
    bool smooth = command == 'S' ? previous == 'C' || previous == 'S' : previous == 'Q' || previous == 'T';
    for (int32_t k = 0; k < 2; k++)
        mirror[k] = smooth ? 2.0 * r->here[k] - r->control[k] : r->here[k];
    const double *first = command == 'S' || command == 'T' ? mirror : n;
    const double *last = command == 'C' ? n + 2 : (command == 'S' ? n : first);
    bool quadratic = command == 'Q' || command == 'T';
    for (int32_t k = 0; k < 2; k++) {
        a[k] = quadratic ? r->here[k] + 2.0 / 3.0 * (first[k] - r->here[k]) : first[k];
        b[k] = quadratic ? to[k] + 2.0 / 3.0 * (first[k] - to[k]) : last[k];
    }
    sup_result result = add_bezier(r, a, b, to);
    memcpy(r->control, last, sizeof r->control);
    return result;
}

/* Reads one set of numbers of a command; `previous` is the command of the previous set, in capitals. */
static sup_result read_set(reader *r, char command, char previous)
{
    static const char names[] = "MLHVCSQTZ";
    static const int32_t counts[] = {2, 2, 1, 1, 6, 4, 4, 2, 0};
    char capital = command >= 'a' ? (char)(command - 'a' + 'A') : command;
    double n[6] = {0};
    int32_t count = counts[strchr(names, capital) - names];
    sup_result result = read_numbers(r, count, n);
    if (result != SUP_OK) return result;
    for (int32_t i = 0; i < count && command >= 'a'; i++)
        n[i] += r->here[capital == 'V' ? 1 : i % 2];
    double to[2] = {r->here[0], r->here[1]};
    switch (capital) {
    case 'M':
        if (r->curve.count > 0) return fail(r, "a profile is one curve: only one M is allowed, at the start.");
        memcpy(r->start, n, sizeof r->start);
        return add_line(r, n);
    case 'L':
        return add_line(r, n);
    case 'H':
        to[0] = n[0];
        return add_line(r, to);
    case 'V':
        to[1] = n[0];
        return add_line(r, to);
    case 'Z':
        return add_line(r, r->start);
    default:
        return add_curve(r, capital, previous, n);
    }
}

static sup_result read_path(reader *r)
{
    char previous = 0;
    while (skip_space(r), r->at < r->end) {
        char command = *r->at, capital = command >= 'a' ? (char)(command - 'a' + 'A') : command;
        if (capital == '\0' || strchr("MLHVCSQTZ", capital) == NULL)
            return fail(r, "unknown path command; use M L H V C S Q T Z, upper or lower case.");
        if (previous == 0 && capital != 'M') return fail(r, "a path must start with M.");
        r->at++;
        do {
            sup_result result = read_set(r, command, previous);
            if (result != SUP_OK) return result;
            previous = capital;
            if (command == 'M' || command == 'm') command--; /* further pairs are lines, L or l */
        } while (capital != 'Z' && number_next(r));
    }
    return SUP_OK;
}

static sup_result read_points(reader *r)
{
    while (number_next(r)) {
        double n[2];
        sup_result result = read_numbers(r, 2, n);
        if (result == SUP_OK) result = add_line(r, n);
        if (result != SUP_OK) return result;
    }
    return r->at == r->end ? SUP_OK : fail(r, "only numbers are expected here: pairs of f1 and f2.");
}

static sup_result fail_shape(const reader *r, int32_t point, const char *what)
{
    const double *at = r->curve.points[point];
    char location[64];
    sup_format(location, sizeof location, "at (%.3g, %.3g)", at[0], at[1]);
    return sup_fail(r->error, SUP_ERROR_DATA, "profile.shape", "", "The profile %s %s", location, what);
}

/* From the axis to the diagonal; everything after that must stay on the diagonal and is the contact surface. */
static sup_result check_shape(reader *r, sup_profile *profile)
{
    curve *c = &r->curve;
    if (c->count < 2) return fail(r, "a curve needs at least two points.");
    bool mirrored = fabs(c->points[0][0]) <= near && fabs(c->points[0][1] - 0.5) <= near;
    if (!mirrored && !(fabs(c->points[0][0] - 0.5) <= near && fabs(c->points[0][1]) <= near))
        return fail_shape(r, 0, "is a wrong start: start at (0.5, 0) or (0, 0.5).");
    int32_t diagonal_index = 0;
    for (int32_t i = 0; i < c->count; i++) {
        double x = c->points[i][mirrored ? 1 : 0], y = c->points[i][mirrored ? 0 : 1];
        if (!(x >= -near && x <= 1.0 + near && y >= -near && y <= 1.0 + near))
            return fail_shape(r, i, "leaves the square from 0 to 1.");
        if (i > 0 && diagonal_index == 0 && y <= near)
            return fail_shape(r, i, "lies on an axis; only its first point may.");
        if (i > 0 && diagonal_index == 0 && x - y <= near) {
            const double *last = c->points[i - 1];
            double ahead = last[0] - last[1], behind = fmin(x - y, 0.0), t = ahead / (ahead - behind);
            if (behind < -4.0 * near)
                return fail_shape(r, i, "crosses the diagonal f1 = f2: end on it or continue along it.");
            x = y = 0.5 * (last[0] + t * (x - last[0]) + last[1] + t * (y - last[1]));
            diagonal_index = i;
        } else if (diagonal_index > 0) {
            if (fabs(x - y) > 4.0 * near || x < c->points[i - 1][0] - near)
                return fail_shape(r, i, "leaves the diagonal f1 = f2 after reaching it: continue along it, or end.");
            x = y = 0.5 * (x + y);
        }
        c->points[i][0] = x;
        c->points[i][1] = y;
    }
    if (diagonal_index == 0) return fail_shape(r, c->count - 1, "ends before the diagonal f1 = f2: it must reach it.");
    if (!(c->points[diagonal_index][0] >= 0.1 && c->points[diagonal_index][0] <= 0.9))
        return fail_shape(r, diagonal_index,
                          "reaches the diagonal too close to a corner: use a point between 0.1 and 0.9.");
    resample(c, diagonal_index + 1, profile);
    profile->contact = fmin(c->points[c->count - 1][0], longest_contact);
    return SUP_OK;
}

sup_result sup_profile_parse(const char *text, size_t size, int32_t line, sup_profile *profile, sup_error *error)
{
    reader r = {.at = text, .end = text + size, .line_start = text, .line = line, .error = error};
    sup_result result = number_next(&r) ? read_points(&r) : read_path(&r);
    sup_profile parsed;
    if (result == SUP_OK) result = check_shape(&r, &parsed);
    if (result == SUP_OK) *profile = parsed;
    return result;
}

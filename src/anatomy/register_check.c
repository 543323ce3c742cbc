/* register_check.c - checks that the fit is a whole human: the fraction of the scan that the template explains, and
 * the fraction of the template that the scan covers. */
#include "anatomy/register.h"

static const double near_model = 0.04;         /* metres: distance of a sample that the model explains */
static const double min_explained = 0.8;       /* fraction of the samples */
static const double min_explained_fine = 0.87; /* fraction after the fine fit, within 2 cm */
static const double max_error = 0.016;         /* metres, mean over explained samples */
static const double min_seen = 0.35;           /* fraction of the template's vertices */
static const double min_limb = 0.4;            /* fraction of a limb's area */
static const double min_head = 0.3;            /* fraction of the head's area; hair and ears hide much of it */
static const double near_surface = 0.03;       /* metres: distance at which the scan covers the surface */

sup_result sup_register_check(const sup_register_work *w, const sup_fit *fit, sup_error *error)
{
    int32_t near = 0, seen = 0;
    double sum = 0.0;
    SUP_UNUSED(w);
    for (int32_t i = fit->model->vertex_count; i < fit->match_count; i++)
        if (fit->matches[i].distance < near_model) near++, sum += fit->matches[i].distance;
    for (int32_t i = 0; i < fit->model->vertex_count; i++)
        if (fit->matches[i].distance < near_model) seen++;
    double explained = (double)near / fmax(fit->sample_count, 1), mean = near > 0 ? sum / near : 1.0;
    double scan_coverage = (double)seen / fmax(fit->model->vertex_count, 1);
    if (explained < min_explained || mean > max_error)
        return sup_fail(error, SUP_ERROR_DATA, "anatomy.scan.shape", "",
                        "The scan does not look like a person: a body explains %d %% of it, at a mean distance of %d "
                        "mm. Use a scan of "
                        "one whole person without other objects, or give landmarks.",
                        (int)(100.0 * explained), (int)(1000.0 * mean));
    if (scan_coverage < min_seen)
        return sup_fail(error, SUP_ERROR_DATA, "anatomy.scan.partial", "",
                        "The scan covers only %d %% of a body: use a scan of the whole person.",
                        (int)(100.0 * scan_coverage));
    return SUP_OK;
}

sup_result sup_register_check_explained(double explained, sup_error *error)
{
    if (explained >= min_explained_fine) return SUP_OK;
    return sup_fail(error, SUP_ERROR_DATA, "anatomy.scan.shape", "",
                    "The scan does not look like a person: a body explains %d %% of it. Use a scan of one whole person "
                    "without other objects, or give landmarks.",
                    (int)(100.0 * explained));
}

/* Area of the scan that covers each vertex of the fitted surface, and the vertex's own area, square metres. */
typedef struct scan_coverage {
    double *scan, *own; /* [vertex_count] */
} scan_coverage;

static sup_vec3d get(const double *p, int32_t v)
{
    return sup_v3(p[3 * (size_t)v], p[3 * (size_t)v + 1], p[3 * (size_t)v + 2]);
}

static sup_result spread_scan(sup_register_work *w, scan_coverage *s, sup_error *error)
{
    const sup_composition *c = w->composition;
    size_t vertices = (size_t)c->vertex_count;
    float *single = sup_arena_alloc(&w->arena, 3 * vertices, sizeof *single);
    s->scan = sup_arena_alloc(&w->arena, vertices, sizeof(double));
    s->own = sup_arena_alloc(&w->arena, vertices, sizeof(double));
    if (single == NULL || s->scan == NULL || s->own == NULL) return sup_fail_memory(error, "the registration");
    for (size_t i = 0; i < 3 * vertices; i++)
        single[i] = (float)w->posed[i];
    for (int32_t t = 0; t < c->triangle_count; t++) {
        const int32_t *k = c->triangles + 3 * (size_t)t;
        sup_vec3d a = get(w->posed, k[0]);
        double area =
            sup_v3_length(sup_v3_cross(sup_v3_sub(get(w->posed, k[1]), a), sup_v3_sub(get(w->posed, k[2]), a)));
        for (int i = 0; i < 3; i++)
            s->own[k[i]] += area / 6.0;
    }
    sup_bvh bvh;
    sup_result result = sup_bvh_create(&w->context, single, c->triangle_count, c->triangles, &bvh, error);
    if (result != SUP_OK) return result;
    for (int32_t i = 0; i < w->scan.sample_count; i++) {
        sup_bvh_nearest found = sup_bvh_closest(&bvh, get(w->scan.samples, i), near_surface);
        if (found.triangle < 0) continue;
        const int32_t *k = c->triangles + 3 * (size_t)found.triangle;
        s->scan[k[0]] += w->scan.sample_area * (1.0 - found.u - found.v);
        s->scan[k[1]] += w->scan.sample_area * found.u;
        s->scan[k[2]] += w->scan.sample_area * found.v;
    }
    sup_bvh_free(&bvh);
    return SUP_OK;
}

/* For the vertices below a joint (half of their weight or more on it and its descendants): area of the scan that
 * covers only them, relative to their own area. A missing limb is fitted to another body part and shares its scan
 * area. */
static double coverage_below(const sup_register_work *w, const scan_coverage *s, int32_t joint, unsigned char *marks)
{
    const sup_composition *c = w->composition;
    double own = 0.0, scan = 0.0;
    memset(marks, 0, (size_t)c->joint_count);
    sup_joint_mark_below(c->joint_count, c->parents, joint, marks);
    for (int32_t v = 0; v < c->vertex_count; v++) {
        double weight = 0.0;
        for (int32_t i = c->influence_first[v]; i < c->influence_first[v + 1]; i++)
            weight += marks[c->influence_joint[i]] != 0 ? c->influence_weight[i] : 0.0;
        if (weight < 0.5) continue;
        own += s->own[v];
        scan += s->scan[v];
    }
    return own > 0.0 ? scan / own : 1.0;
}

static sup_result refuse_limb(const char *side, const char *limb, sup_error *error)
{
    return sup_fail(error, SUP_ERROR_DATA, "anatomy.scan.limb", "",
                    "The scan has no %s%s: use a scan of the whole person, or give landmarks.", side, limb);
}

sup_result sup_register_check_limbs(sup_register_work *w, sup_error *error)
{
    static const struct {
        sup_role_limb limb;
        const char *name;
    } limbs[] = {{SUP_ROLE_FOREARM, "forearm"}, {SUP_ROLE_LOWER_LEG, "lower leg"}};
    unsigned char marks[256];
    scan_coverage s = {0};
    sup_result result = spread_scan(w, &s, error);
    if (result != SUP_OK) return result;
    if (w->roles.head >= 0 && coverage_below(w, &s, w->roles.head, marks) < min_head)
        return refuse_limb("", "head", error);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < SUP_COUNT(limbs); i++) {
            int32_t joint = w->roles.limb[side][limbs[i].limb];
            if (joint >= 0 && coverage_below(w, &s, joint, marks) < min_limb)
                return refuse_limb(side == 0 ? "left " : "right ", limbs[i].name, error);
        }
    return SUP_OK;
}

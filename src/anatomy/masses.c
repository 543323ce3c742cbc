/* masses.c - fat and muscle mass of a body from the volumes of its layers.
 *
 * Based on: [komaritzan2022] section 4.2.4, eq. 4.12 to 4.14. Deviation: the thesis does not specify how to separate
 * the abdominal cavity from the muscles around it; here the cavity is the fraction of the abdomen's muscle layer,
 * along each line from bone to skin, that the template's muscle thickness map does not fill. */
#include "anatomy/masses.h"

#include "geometry/bvh.h"
#include "geometry/winding.h"

static const double fat_density = 900.0, muscle_density = 1100.0; /* kg per cubic metre */
static const double skin_thickness = 0.002;                       /* metres */
/* Fat that is in no layer: the part of the subcutaneous fat that head, hands and toes have, and the marrow of the
 * bones, kg per squared metre of height (1 kg at 1.7 m). Estimates, chosen with the tuning half of check_people. */
static const double end_fat = 0.08, marrow_fat = 0.35;

double sup_missing_muscle(sup_sex sex)
{
    return sex == SUP_SEX_MALE ? 1.5 : (sex == SUP_SEX_FEMALE ? 1.0 : 1.25);
}

void sup_cavity_depth(const sup_anatomy *anatomy, const double *muscle, const double *bone, double scale,
                      double *cavity)
{
    for (int32_t v = 0; v < anatomy->vertex_count; v++) {
        double depth = sup_v3_distance(sup_point(muscle, v), sup_point(bone, v)) - scale * anatomy->thickness[v];
        cavity[v] = anatomy->group[v] == SUP_GROUP_ABDOMEN && !anatomy->excluded[v] && depth > 0.0 ? depth : 0.0;
    }
}

double sup_cavity_volume(const sup_anatomy *anatomy, const double *muscle, const double *bone, const double *cavity,
                         double *inner)
{
    for (int32_t v = 0; v < anatomy->vertex_count; v++) {
        sup_vec3d b = sup_point(bone, v), line = sup_v3_sub(sup_point(muscle, v), b);
        double length = sup_v3_length(line), t = cavity[v] < length ? (length > 0.0 ? cavity[v] / length : 0.0) : 1.0;
        sup_point_set(inner, v, sup_v3_madd(b, t, line));
    }
    return sup_layer_volume(anatomy->triangle_count, anatomy->triangles, inner, bone);
}

double sup_fat_volume(double mass)
{
    return mass / fat_density;
}

void sup_mass_frame_with_cavity(const sup_anatomy *anatomy, const double *skin, const double *muscle,
                                const double *bone, double previous_cavity, double height, double missing,
                                double *scratch, sup_mass_frame *frame)
{
    double cavity = sup_cavity_volume(anatomy, muscle, bone, frame->cavity, scratch);
    double area = sup_surface_area(anatomy->triangle_count, anatomy->triangles, skin, anatomy->excluded);
    frame->visceral = cavity > previous_cavity ? (cavity - previous_cavity) * fat_density : 0.0;
    frame->abdomen = cavity * muscle_density;
    frame->skin = area * skin_thickness * fat_density;
    frame->missing = missing;
    frame->marrow = marrow_fat * height * height;
}

void sup_mass_frame_set(const sup_anatomy *anatomy, const double *skin, const double *muscle, const double *bone,
                        double scale, double previous_cavity, double height, double hidden, double *scratch,
                        sup_mass_frame *frame)
{
    double missing = sup_missing_muscle(anatomy->sex) * height * height + hidden * muscle_density;
    sup_cavity_depth(anatomy, muscle, bone, scale, frame->cavity);
    sup_mass_frame_with_cavity(anatomy, skin, muscle, bone, previous_cavity, height, missing, scratch, frame);
}

void sup_masses_measure(const sup_anatomy *anatomy, const double *skin, const double *muscle, const double *bone,
                        const sup_mass_frame *frame, sup_body_masses *masses)
{
    double fat = 0.0, tissue = 0.0, crotch = 0.0, volumes[3];
    for (int32_t t = 0; t < anatomy->triangle_count; t++) {
        const int32_t *c = anatomy->triangles + 3 * (size_t)t;
        double volume = sup_prism_volumes(skin, muscle, c, volumes);
        fat += volume;
        crotch += volume * (anatomy->crotch[c[0]] + anatomy->crotch[c[1]] + anatomy->crotch[c[2]]) / 3.0;
        tissue += sup_prism_volumes(muscle, bone, c, volumes);
    }
    masses->fat_layer = fat * 1e3;
    masses->muscle_layer = tissue * 1e3;
    masses->visceral = frame->visceral;
    masses->skin = frame->skin;
    masses->crotch = crotch * fat_density;
    masses->abdomen = frame->abdomen;
    masses->missing = frame->missing;
    masses->fat = fat * fat_density / (1.0 - end_fat) + masses->visceral - masses->skin - masses->crotch +
                  frame->marrow;                                                  /* eq. 4.12 */
    masses->muscle = tissue * muscle_density - masses->abdomen + masses->missing; /* eq. 4.13 */
}

double sup_masses_trade(void)
{
    return muscle_density / fat_density * (1.0 - end_fat);
}

/* The target mass of fat in all of the subcutaneous layer. */
static double target_fat(const sup_body_masses *masses, double height)
{
    return masses->fat_target - masses->visceral + masses->skin + masses->crotch - marrow_fat * height * height;
}

double sup_masses_deficit(const sup_body_masses *masses, double height)
{
    double fat = target_fat(masses, height) * (1.0 - end_fat) / fat_density;
    double muscle = (masses->muscle_target + masses->abdomen - masses->missing) / muscle_density;
    return fat + muscle - 1e-3 * (masses->fat_layer + masses->muscle_layer);
}

double sup_masses_best_fat_layer(const sup_body_masses *masses, double soft, double height)
{
    double ratio = muscle_density / fat_density, part = 1.0 / (1.0 - end_fat);
    double rest = soft * muscle_density - masses->abdomen + masses->missing - masses->muscle_target;
    return (part * target_fat(masses, height) + ratio * rest) / (part * part + ratio * ratio); /* eq. 4.14 */
}

/* --- Muscles inside the skeleton surface --- */

typedef struct hidden_work {
    const sup_anatomy *anatomy;
    sup_bvh tree;
    sup_winding winding;
    unsigned char *hidden; /* [detail_vertex_count] */
} hidden_work;

static void hidden_range(void *user, int32_t begin, int32_t end, int32_t worker)
{
    hidden_work *w = user;
    const sup_anatomy *a = w->anatomy;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        sup_vec3d p = sup_point(a->detail, v);
        w->hidden[v] = 0;
        if (sup_winding_number(&w->winding, p) < 0.5) continue;
        sup_bvh_nearest near = sup_bvh_closest(&w->tree, p, INFINITY);
        const int32_t *c = a->triangles + 3 * (size_t)near.triangle;
        w->hidden[v] = near.triangle >= 0 && !(a->excluded[c[0]] && a->excluded[c[1]] && a->excluded[c[2]]);
    }
}

/* Volume of each muscle times the part of its vertices that is inside. */
static double hidden_volume(const hidden_work *w)
{
    const sup_anatomy *a = w->anatomy;
    double sum = 0.0;
    for (int32_t p = 0; p < a->organ_count; p++) {
        int32_t first = a->organ_vertex[p], count = a->organ_vertex[p + 1] - first, inside = 0;
        double volume = 0.0;
        if (!a->organ_is_muscle[p] || count == 0) continue;
        sup_vec3d o = sup_point(a->detail, first);
        for (int32_t v = first; v < first + count; v++)
            inside += w->hidden[v];
        for (int32_t t = a->organ_triangle[p]; t < a->organ_triangle[p + 1]; t++) {
            const int32_t *c = a->detail_triangles + 3 * (size_t)t;
            sup_vec3d x = sup_v3_sub(sup_point(a->detail, c[0]), o), y = sup_v3_sub(sup_point(a->detail, c[1]), o);
            volume += sup_v3_dot(x, sup_v3_cross(y, sup_v3_sub(sup_point(a->detail, c[2]), o))) / 6.0;
        }
        sum += fabs(volume) * inside / count;
    }
    return sum;
}

sup_result sup_hidden_muscle(const sup_context *context, const sup_anatomy *anatomy, double *volume, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    size_t n = 3 * (size_t)anatomy->vertex_count;
    hidden_work work = {.anatomy = anatomy};
    float *positions = sup_arena_alloc(&arena, n, sizeof *positions);
    work.hidden = sup_arena_alloc(&arena, (size_t)anatomy->detail_vertex_count + 1, 1);
    sup_result result = positions != NULL && work.hidden != NULL ? SUP_OK : sup_fail_memory(error, "masses");
    for (size_t i = 0; i < n && result == SUP_OK; i++)
        positions[i] = (float)anatomy->bone[i];
    if (result == SUP_OK)
        result = sup_bvh_create(context, positions, anatomy->triangle_count, anatomy->triangles, &work.tree, error);
    if (result == SUP_OK) {
        result = sup_winding_create(&resolved.allocator, positions, anatomy->triangle_count, anatomy->triangles,
                                    &work.winding, error);
        if (result == SUP_OK) {
            sup_parallel(&resolved, anatomy->detail_vertex_count, 256, hidden_range, &work);
            *volume = hidden_volume(&work);
            sup_winding_destroy(&work.winding);
        }
        sup_bvh_free(&work.tree);
    }
    sup_arena_destroy(&arena);
    return result;
}

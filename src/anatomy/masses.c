/* masses.c - fat and muscle mass of a body from the volumes of its layers.
 *
 * Based on: [komaritzan2022] section 4.2.4, eq. 4.12 to 4.14. Deviation: the thesis does not specify how to separate
 * the abdominal cavity from the muscles around it; here the cavity is the fraction of the abdomen's muscle layer,
 * along each line from bone to skin, that the template's muscle thickness map does not fill. */
#include "anatomy/masses.h"

static const double fat_density = 900.0, muscle_density = 1100.0; /* kg per cubic metre */
static const double skin_thickness = 0.002;                       /* metres */

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
                                const double *bone, double previous_cavity, double height, double *scratch,
                                sup_mass_frame *frame)
{
    double cavity = sup_cavity_volume(anatomy, muscle, bone, frame->cavity, scratch);
    double area = sup_surface_area(anatomy->triangle_count, anatomy->triangles, skin, anatomy->excluded);
    frame->visceral = cavity > previous_cavity ? (cavity - previous_cavity) * fat_density : 0.0;
    frame->abdomen = cavity * muscle_density;
    frame->skin = area * skin_thickness * fat_density;
    frame->missing = sup_missing_muscle(anatomy->sex) * height * height;
}

void sup_mass_frame_set(const sup_anatomy *anatomy, const double *skin, const double *muscle, const double *bone,
                        double scale, double previous_cavity, double height, double *scratch, sup_mass_frame *frame)
{
    sup_cavity_depth(anatomy, muscle, bone, scale, frame->cavity);
    sup_mass_frame_with_cavity(anatomy, skin, muscle, bone, previous_cavity, height, scratch, frame);
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
    masses->fat = fat * fat_density + masses->visceral - masses->skin - masses->crotch; /* eq. 4.12 */
    masses->muscle = tissue * muscle_density - masses->abdomen + masses->missing;       /* eq. 4.13 */
}

double sup_masses_best_fat_layer(const sup_body_masses *masses, double soft)
{
    double ratio = muscle_density / fat_density;
    double fat = masses->fat_target - masses->visceral + masses->skin + masses->crotch;
    double rest = soft * muscle_density - masses->abdomen + masses->missing - masses->muscle_target;
    return (fat + ratio * rest) / (1.0 + ratio * ratio); /* eq. 4.14 */
}

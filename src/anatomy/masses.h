/* masses.h (internal) - litres and kilograms of a body's layers. */
#ifndef SUP_ANATOMY_MASSES_H
#define SUP_ANATOMY_MASSES_H

#include "anatomy/layers.h"

/* What of eq. 4.12 and 4.13 does not depend on where the muscle surface is, kg but for the first. */
typedef struct sup_mass_frame {
    double *cavity; /* [vertex_count] metres of the line from bone to muscle that are abdominal cavity, not muscle */
    double visceral, skin, abdomen, missing;
} sup_mass_frame;

/* How deep the cavity is: in the abdomen, the muscle layer less the muscles that were met along the line (times `scale`,
 * as the template was scaled). `cavity` holds vertex_count. */
void sup_cavity_depth(const sup_anatomy *anatomy, const double *muscle, const double *bone, double scale,
                      double *cavity);
/* Its volume, cubic metres. `inner` holds 3*vertex_count doubles. */
double sup_cavity_volume(const sup_anatomy *anatomy, const double *muscle, const double *bone, const double *cavity,
                         double *inner);

/* All of the frame for a body whose average muscle surface is `muscle`. `cavity_before` is the cavity of the scaled template,
 * cubic metres: what the body's own is larger by is visceral fat. `scratch` holds 3*vertex_count doubles. */
void sup_mass_frame_set(const sup_anatomy *anatomy, const double *skin, const double *muscle, const double *bone,
                        double scale, double previous_cavity, double height, double *scratch, sup_mass_frame *frame);
/* The same with frame->cavity as it is. */
void sup_mass_frame_with_cavity(const sup_anatomy *anatomy, const double *skin, const double *muscle,
                                const double *bone, double previous_cavity, double height, double *scratch,
                                sup_mass_frame *frame);
/* Cubic metres of so many kg of fat. */
double sup_fat_volume(double mass);

/* kg per height^2 of muscles that no layer has (4.2.4): 1.5 for men, 1.0 for women, between them when unknown. */
double sup_missing_muscle(sup_sex sex);

/* FM and MM (eq. 4.12, 4.13), the layers' litres and the corrections of a body with this muscle surface. Leaves what was
 * asked for and the ranges as they are. */
void sup_masses_measure(const sup_anatomy *anatomy, const double *skin, const double *muscle, const double *bone,
                        const sup_mass_frame *frame, sup_body_masses *masses);

/* Eq. 4.14: the mass of the fat layer that comes closest to both masses asked for, kg. `soft` is the volume of both layers,
 * cubic metres; corrections are read from `masses`. */
double sup_masses_best_fat_layer(const sup_body_masses *masses, double soft);

#endif

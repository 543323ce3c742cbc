/* masses.h (internal) - volumes and masses of a body's layers. */
#ifndef SUP_ANATOMY_MASSES_H
#define SUP_ANATOMY_MASSES_H

#include "anatomy/layers.h"

/* Terms of eq. 4.12 and 4.13 that do not depend on the muscle surface; kg, except the first. */
typedef struct sup_mass_frame {
    double *cavity; /* [vertex_count] length of abdominal cavity on the line from bone to muscle, metres */
    double visceral, skin, abdomen, missing, marrow;
} sup_mass_frame;

/* Depth of the cavity: in the abdomen, the muscle layer less the muscles along the line (times `scale`, the scale of
 * the template). `cavity` is [vertex_count]. */
void sup_cavity_depth(const sup_anatomy *anatomy, const double *muscle, const double *bone, double scale,
                      double *cavity);
/* Volume of the cavity, cubic metres. `inner` is scratch, [3*vertex_count]. */
double sup_cavity_volume(const sup_anatomy *anatomy, const double *muscle, const double *bone, const double *cavity,
                         double *inner);

/* Volume of the detailed muscles inside the skeleton surface of a template, cubic metres: between the bones of the
 * forearm, in the pelvis, along the spine. Not where there are no layers: see sup_missing_muscle. */
sup_result sup_hidden_muscle(const sup_context *context, const sup_anatomy *anatomy, double *volume, sup_error *error);

/* Fills the frame for a body with the average muscle surface `muscle`. `previous_cavity` is the cavity of the scaled
 * template, cubic metres: the excess of the body's cavity is visceral fat. `hidden` is sup_hidden_muscle of the scaled
 * template. `scratch` is [3*vertex_count]. */
void sup_mass_frame_set(const sup_anatomy *anatomy, const double *skin, const double *muscle, const double *bone,
                        double scale, double previous_cavity, double height, double hidden, double *scratch,
                        sup_mass_frame *frame);
/* The same, with frame->cavity and the mass of muscles in no layer as input. */
void sup_mass_frame_with_cavity(const sup_anatomy *anatomy, const double *skin, const double *muscle,
                                const double *bone, double previous_cavity, double height, double missing,
                                double *scratch, sup_mass_frame *frame);
/* Volume of a mass of fat, cubic metres. */
double sup_fat_volume(double mass);

/* kg per height^2 of the muscles that are not in a layer (4.2.4): 1.5 for men, 1.0 for women, the mean if unknown. */
double sup_missing_muscle(sup_sex sex);

/* FM and MM (eq. 4.12, 4.13), the volumes of the layers in litres and the corrections of a body with this muscle
 * surface. Keeps targets and ranges. */
void sup_masses_measure(const sup_anatomy *anatomy, const double *skin, const double *muscle, const double *bone,
                        const sup_mass_frame *frame, sup_body_masses *masses);

/* Kilograms of fat that one kilogram of muscle is replaced by, along the line between skin and bone. */
double sup_masses_trade(void);

/* Volume that the layers lack for both target masses, cubic metres; negative: excess. */
double sup_masses_deficit(const sup_body_masses *masses, double height);

/* Eq. 4.14: the mass of the fat layer that is closest to both target masses, kg. `soft` is the volume of both
 * layers, cubic metres; corrections are read from `masses`. */
double sup_masses_best_fat_layer(const sup_body_masses *masses, double soft, double height);

#endif

/* shrink.h - shrinks the skin onto the volumetric skeleton: a base for each skin vertex. See shrink.c. */
#ifndef SUP_TISSUE_SHRINK_H
#define SUP_TISSUE_SHRINK_H

#include "tissue/volumetric_bones.h"

typedef enum sup_base_class {
    SUP_BASE_BONE,   /* on a capsule: rigid with the segment's joint; `owner` = segment */
    SUP_BASE_SPHERE, /* on a sphere: rotates by half of the bend; `owner` = sphere */
    SUP_BASE_JOINT,  /* on an input bone surface: rigid with its joint; `owner` = joint */
    SUP_BASE_FREE    /* on a cone between them or on a virtual bone: an unknown without mass; `owner` = segment */
} sup_base_class;

typedef struct sup_base_hit {
    double t; /* base = skin + t (foot - skin), in (0, 1] */
    sup_base_class base_class;
    int32_t owner;   /* segment or sphere */
    int32_t segment; /* segment that the capsule, cone or sphere belongs to */
    bool clamped;    /* moved off the surface: the tissue would have been too thin or too thick */
} sup_base_hit;

/* Hit of the line from `skin` to its foot point on the skeleton around the foot point. `min_thickness` of the
 * tissue, of the distance to the foot. */
sup_base_hit sup_shrink(const sup_volumetric_skeleton *skeleton, sup_vec3d skin, sup_foot_point foot,
                        double min_thickness);

/* The base of free tissue: as deep as possible, since a hollow in the tissue could buckle. */
void sup_shrink_free(sup_foot_point foot, sup_base_hit *hit);

/* Smallest t >= 0 at which origin + t direction enters; INFINITY when it does not, or when the origin is inside.
 * The cone has radius r0 at `from` and r1 at `to`, r0 = r1 for a cylinder; its flat ends are not part of it. */
double sup_shrink_sphere(sup_vec3d origin, sup_vec3d direction, sup_vec3d centre, double radius);
double sup_shrink_cone(sup_vec3d origin, sup_vec3d direction, sup_vec3d from, sup_vec3d to, double r0, double r1);

#endif

/* shrink.h - the skin drawn in onto the volumetric skeleton: a base for each skin vertex. See shrink.c. */
#ifndef SUP_TISSUE_SHRINK_H
#define SUP_TISSUE_SHRINK_H

#include "tissue/volumetric_bones.h"

typedef enum sup_base_class {
    SUP_BASE_BONE,  /* on a capsule: rigid with the segment's joint; `owner` = segment */
    SUP_BASE_SPHERE,  /* on a sphere: turns by half; `owner` = sphere */
    SUP_BASE_JOINT, /* on a bone surface that was given: rigid with its joint; `owner` = joint */
    SUP_BASE_FREE   /* on a cone between them or on a virtual bone: an unknown without mass; `owner` = segment */
} sup_base_class;

typedef struct sup_base_hit {
    double t; /* base = skin + t (foot - skin), in (0, 1] */
    sup_base_class base_class;
    int32_t owner; /* segment or sphere */
    int32_t segment; /* segment whose primitive, or whose sphere, it is */
    bool clamped;  /* not on the primitive: the tissue would have been too thin or too thick */
} sup_base_hit;

/* Where the line from `skin` to its foot meets the skeleton around the foot. `thinnest` is the least thickness of the
 * tissue, of the distance to the foot. */
sup_base_hit sup_shrink(const sup_volumetric_skeleton *skeleton, sup_vec3d skin, sup_foot foot, double thinnest);

/* The base where no bone holds the flesh: as deep as tissue goes, for flesh without a hollow that could buckle. */
void sup_shrink_freely(sup_foot foot, sup_base_hit *hit);

/* Least t >= 0 at which origin + t direction enters; INFINITY for never, or when the origin is inside already.
 * The cone has radius r0 at `from` and r1 at `to`, r0 = r1 for a cylinder; its flat ends are not part of it. */
double sup_shrink_sphere(sup_vec3d origin, sup_vec3d direction, sup_vec3d centre, double radius);
double sup_shrink_cone(sup_vec3d origin, sup_vec3d direction, sup_vec3d from, sup_vec3d to, double r0, double r1);

#endif

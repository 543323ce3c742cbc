/* tissue.h - the tissue: every skin triangle and its copy on the skeleton span a prism of three tetrahedra.
 *
 * Based on: [komaritzan2022] section 3.2.1. Vertices are numbered skin first: i < skin_count is skin vertex i,
 * skin_count + i is its base on the skeleton. Bind pose, world space, file units, double. Plain data to read.
 *
 * Section 4.3.3: a surface between skin and base, vertices 2 * skin_count + i, makes two layers of flesh, with prisms
 * stacked under every triangle: those from the skin to `middle`, then those from there to the base. */
#ifndef SUP_TISSUE_TISSUE_H
#define SUP_TISSUE_TISSUE_H

#include "geometry/adjacency.h"
#include "tissue/foot_points.h"
#include "tissue/shrink.h"
#include "tissue/volumetric_bones.h"

typedef struct sup_tissue {
    int32_t skin_count, triangle_count;
    int32_t *source;            /* [skin_count] vertex of the skin that was given, or of the rig's welded skin */
    double *skin;               /* [skin_count*3] */
    double *base;               /* [skin_count*3] */
    double *middle;             /* [skin_count*3] where one layer of flesh ends and the next begins; NULL: one layer */
    double inner_stiffness;     /* of the flesh under `middle`, times that of the flesh over it */
    int32_t *triangles;         /* [triangle_count*3] skin vertices, outward */
    sup_foot *feet;             /* [skin_count] where the line from the skin vertex meets the bone lines */
    sup_base_class *base_class; /* [skin_count] */
    int32_t *base_owner;        /* [skin_count] segment or sphere */
    bool *base_off;             /* [skin_count] clamped or moved: not on its primitive */
    int32_t *tets;              /* [triangle_count*3*4] three for each triangle, as if there were one layer; layers are
                                 * all split in the same way (sup_tissue_layer_vertex) */
    double *tet_volume; /* [layers*triangle_count*3] not negative: the sign of the rest shape is in its edge matrix. A
                                 * tet with volume 0 is too flat to be mended: it has no weight and must be left out */
    sup_arena arena;
} sup_tissue;

/* Surfaces under the skin that are given, by vertex of the skin. */
typedef struct sup_tissue_layers {
    const float *base; /* [vertices*3] */
    const float
        *share; /* [vertices] of the line from skin to base that is over the middle; 0: nothing is given here, the
                             * base is on the volumetric skeleton and the middle half way */
    const int32_t *joint;   /* [vertices] that holds the base; -1: it is free */
    double inner_stiffness; /* of sup_tissue */
} sup_tissue_layers;

/* Zero means the default. */
typedef struct sup_tissue_def {
    sup_skeleton_def skeleton;
    double smoothing; /* of the feet, in distances of a vertex from its bone; 1.5; negative = none */
    double thinnest;  /* least thickness of the tissue, of the distance from skin to foot; 0.1 */
    double flattest;  /* least volume of a tet, of the largest in its prism; 0.01 */
    const unsigned char
        *freed; /* [vertices of the skin given] nonzero: bones shape the flesh here but do not hold it */
    const sup_tissue_layers *layers; /* NULL: one layer */
} sup_tissue_def;

typedef struct sup_tissue_report {
    sup_skeleton_report skeleton;
    sup_feet_report feet;
    int32_t on_bone, on_sphere, on_joint, free_bases;
    int32_t clamped;        /* bases not on the skeleton's surface, for tissue neither too thin nor too thick */
    int32_t repaired;       /* prisms that were too flat and no longer are */
    int32_t moved;          /* bases moved by that */
    int32_t flat;           /* tets left out: volume 0 */
    int32_t inverted;       /* tets with the other sign than most */
    double smallest, usual; /* least and median of min |V| / max |V| over the prisms, left out tets aside */
} sup_tissue_report;

/* The road from a rig to its tissue. `skin` is the surface that is simulated, all of whose vertices are used by a
 * triangle, such as a decimated one; NULL takes the welded skin of the rig's SUP_PRIMITIVE_SKIN parts. `def` and `report`
 * may be NULL. The rig may be freed afterwards. Fails with SUP_ERROR_DATA and an id tissue.* where none can be made. */
sup_result sup_tissue_create(const sup_context *context, const sup_rig *rig, const sup_tissue_skin *skin,
                             const sup_tissue_def *def, sup_volumetric_skeleton **skeleton, sup_tissue **tissue,
                             sup_tissue_report *report, sup_error *error);
void sup_tissue_destroy(sup_tissue *tissue);

/* Its parts, for tests. The tets of a triangle, by the order of its vertices' numbers: adjacent prisms agree. Positive
 * volume where the base lies behind the skin. */
void sup_tissue_split(const int32_t triangle[3], int32_t skin_count, int32_t tets[12]);
/* Six times the signed volume. */
double sup_tissue_volume6(const sup_tissue *tissue, const int32_t *tet);
/* Moves bases until no tet is flat where that can be done. */
sup_result sup_tissue_repair(const sup_context *context, const sup_adjacency *adjacency,
                             const sup_volumetric_skeleton *skeleton, double flattest, double thinnest,
                             sup_tissue *tissue, sup_tissue_report *report, sup_error *error);

/* tissue_attach.c. Every segment of tissue that no bone holds gets the bones under its feet: its free bases become anchored,
 * *held of them. `loose` [skin_count] becomes 1 for skin vertices that have no tissue and must be held some other way. */
sup_result sup_tissue_hold(const sup_context *context, const sup_volumetric_skeleton *skeleton, sup_tissue *tissue,
                           unsigned char *loose, int32_t *held, sup_error *error);
/* How far each skin vertex goes under a steady acceleration of 1 in the system of system.h when its stiffness and its
 * total mass are 1, with `fixed` [skin_count] vertices held; in the solver's unit of time squared. */
sup_result sup_tissue_swing(const sup_context *context, const sup_tissue *tissue, const unsigned char *fixed,
                            double *deflection, sup_error *error);

static inline int32_t sup_tissue_layer_count(const sup_tissue *tissue)
{
    return tissue->middle != NULL ? 2 : 1;
}

static inline int32_t sup_tissue_vertex_count(const sup_tissue *tissue)
{
    return (1 + sup_tissue_layer_count(tissue)) * tissue->skin_count;
}

/* The vertex of a layer's prism (0: under the skin) that stands where `vertex` does in a single layer. */
static inline int32_t sup_tissue_layer_vertex(const sup_tissue *tissue, int32_t layer, int32_t vertex)
{
    bool inside = vertex >= tissue->skin_count;
    if (tissue->middle == NULL || inside == (layer == 1)) return vertex;
    return vertex + (inside ? 1 : 2) * tissue->skin_count;
}

/* Whether a vertex has mass: the skin alone, as in chapter 3. */
static inline bool sup_tissue_has_mass(const sup_tissue *tissue, int32_t vertex)
{
    return vertex < tissue->skin_count;
}

static inline sup_vec3d sup_tissue_point(const double *points, int32_t i)
{
    return sup_v3(points[3 * (size_t)i], points[3 * (size_t)i + 1], points[3 * (size_t)i + 2]);
}

/* Where a vertex is, by its number. */
static inline sup_vec3d sup_tissue_vertex(const sup_tissue *tissue, int32_t vertex)
{
    int32_t n = tissue->skin_count;
    if (vertex < n) return sup_tissue_point(tissue->skin, vertex);
    return vertex < 2 * n ? sup_tissue_point(tissue->base, vertex - n)
                          : sup_tissue_point(tissue->middle, vertex - 2 * n);
}

#endif

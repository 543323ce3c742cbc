/* tissue.h - the tissue: each skin triangle and its copy on the skeleton span a prism of three tetrahedra.
 *
 * Based on: [komaritzan2022] section 3.2.1. Vertices are numbered skin first: i < skin_count is skin vertex i,
 * skin_count + i is its base on the skeleton. Bind pose, world space, file units, double. Read-only data.
 *
 * Section 4.3.3: a surface between skin and base, vertices 2 * skin_count + i, makes two layers of tissue, with prisms
 * stacked under every triangle: those from the skin to `middle`, then those from `middle` to the base. */
#ifndef SUP_TISSUE_TISSUE_H
#define SUP_TISSUE_TISSUE_H

#include "geometry/adjacency.h"
#include "tissue/foot_points.h"
#include "tissue/shrink.h"
#include "tissue/volumetric_bones.h"

typedef struct sup_tissue {
    int32_t skin_count, triangle_count;
    int32_t *source;             /* [skin_count] vertex of the input skin, or of the rig's welded skin */
    double *skin;                /* [skin_count*3] */
    double *base;                /* [skin_count*3] */
    double *middle;              /* [skin_count*3] surface between two layers of tissue; NULL: one layer */
    double inner_stiffness;      /* stiffness of the inner layer relative to the outer one */
    int32_t *triangles;          /* [triangle_count*3] skin vertices, outward */
    sup_foot_point *foot_points; /* [skin_count] end on the bone lines of the line from the skin vertex */
    sup_base_class *base_class;  /* [skin_count] */
    int32_t *base_owner;         /* [skin_count] segment or sphere */
    bool *base_off;              /* [skin_count] clamped or moved: not on its capsule, sphere or cone */
    int32_t *tets;               /* [triangle_count*3*4] three for each triangle, for a single layer; all layers
                                 * are split in the same way (sup_tissue_layer_vertex) */
    double *tet_volume; /* [layers*triangle_count*3] not negative: the sign of the rest shape is in its edge matrix. A
                                 * tet with volume 0 could not be repaired: it has no weight and must be skipped */
    sup_arena arena;
} sup_tissue;

/* Input surfaces under the skin, by skin vertex. */
typedef struct sup_tissue_layers {
    const float *base; /* [vertices*3] */
    const float
        *fraction; /* [vertices] of the line from skin to base that is in the outer layer; 0: no surfaces here, the
                             * base is on the volumetric skeleton and the middle halfway */
    const int32_t *joint;   /* [vertices] that the base is attached to; -1: it is free */
    double inner_stiffness; /* of sup_tissue */
} sup_tissue_layers;

/* Zero means the default. */
typedef struct sup_tissue_def {
    sup_skeleton_def skeleton;
    double smoothing; /* length of foot point smoothing, in distances of a vertex from its bone; 1.5; negative = none */
    double min_thickness;    /* of the tissue, as a fraction of the distance from skin to foot point; 0.1 */
    double min_volume_ratio; /* of a tet to the largest in its prism; 0.01 */
    const unsigned char
        *freed; /* [vertices of the input skin] nonzero: tissue is shaped by the bones, but not attached to them */
    const sup_tissue_layers *layers; /* NULL: one layer */
} sup_tissue_def;

typedef struct sup_tissue_report {
    sup_skeleton_report skeleton;
    sup_foot_points_report foot_points;
    int32_t on_bone, on_sphere, on_joint, free_bases;
    int32_t clamped;                /* bases moved off the skeleton's surface to limit the thickness of the tissue */
    int32_t repaired;               /* prisms that were too flat and have been repaired */
    int32_t moved;                  /* bases moved by the repair */
    int32_t flat;                   /* tets skipped: volume 0 */
    int32_t inverted;               /* tets with negative orientation */
    double min_ratio, median_ratio; /* of min |V| / max |V| over the prisms, without skipped tets */
} sup_tissue_report;

/* Builds the tissue of a rig. `skin`: the simulated surface, such as a decimated one, without unused vertices; NULL
 * uses the welded skin of the rig's SUP_PRIMITIVE_SKIN primitives. `def` and `report` may be NULL. The rig may be freed
 * afterwards. Fails with SUP_ERROR_DATA and an id tissue.* when no tissue can be built. */
sup_result sup_tissue_create(const sup_context *context, const sup_rig *rig, const sup_tissue_skin *skin,
                             const sup_tissue_def *def, sup_volumetric_skeleton **skeleton, sup_tissue **tissue,
                             sup_tissue_report *report, sup_error *error);
void sup_tissue_destroy(sup_tissue *tissue);

/* Building blocks, for tests. Splits the prism of a triangle into tets by the order of its vertex indices, so that
 * adjacent prisms agree. The volume is positive where the base lies behind the skin. */
void sup_tissue_split(const int32_t triangle[3], int32_t skin_count, int32_t tets[12]);
/* Six times the signed volume. */
double sup_tissue_volume6(const sup_tissue *tissue, const int32_t *tet);
/* Moves bases until no tet is flat, where possible. */
sup_result sup_tissue_repair(const sup_context *context, const sup_adjacency *adjacency,
                             const sup_volumetric_skeleton *skeleton, double min_volume_ratio, double min_thickness,
                             sup_tissue *tissue, sup_tissue_report *report, sup_error *error);

/* tissue_attach.c. Attaches connected components of tissue without an anchor to the bones of their foot points: their
 * free bases become anchored, *attached of them. unattached[skin_count]: 1 for skin vertices without tissue, which must
 * be anchored in another way. */
sup_result sup_tissue_attach(const sup_context *context, const sup_volumetric_skeleton *skeleton, sup_tissue *tissue,
                             unsigned char *unattached, int32_t *attached, sup_error *error);
/* Static deflection of each skin vertex under an acceleration of 1 in the system of system.h with stiffness 1 and total
 * mass 1, with the vertices `fixed` [skin_count] anchored; in squares of the solver's time unit. */
sup_result sup_tissue_deflection(const sup_context *context, const sup_tissue *tissue, const unsigned char *fixed,
                                 double *deflection, sup_error *error);

static inline int32_t sup_tissue_layer_count(const sup_tissue *tissue)
{
    return tissue->middle != NULL ? 2 : 1;
}

static inline int32_t sup_tissue_vertex_count(const sup_tissue *tissue)
{
    return (1 + sup_tissue_layer_count(tissue)) * tissue->skin_count;
}

/* The vertex of a prism of `layer` (0: the outer one) that corresponds to `vertex` of a single layer. */
static inline int32_t sup_tissue_layer_vertex(const sup_tissue *tissue, int32_t layer, int32_t vertex)
{
    bool inside = vertex >= tissue->skin_count;
    if (tissue->middle == NULL || inside == (layer == 1)) return vertex;
    return vertex + (inside ? 1 : 2) * tissue->skin_count;
}

/* Whether a vertex has mass: only the skin, as in chapter 3. */
static inline bool sup_tissue_has_mass(const sup_tissue *tissue, int32_t vertex)
{
    return vertex < tissue->skin_count;
}

static inline sup_vec3d sup_tissue_point(const double *points, int32_t i)
{
    return sup_v3(points[3 * (size_t)i], points[3 * (size_t)i + 1], points[3 * (size_t)i + 2]);
}

/* Position of a vertex. */
static inline sup_vec3d sup_tissue_vertex(const sup_tissue *tissue, int32_t vertex)
{
    int32_t n = tissue->skin_count;
    if (vertex < n) return sup_tissue_point(tissue->skin, vertex);
    return vertex < 2 * n ? sup_tissue_point(tissue->base, vertex - n)
                          : sup_tissue_point(tissue->middle, vertex - 2 * n);
}

#endif

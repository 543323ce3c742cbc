/* untangle.h (internal) - a last look at the skin that is shown: what still crosses is parted.
 *
 * Contact works on the simulated skin, which is coarser, and gives way where bone meets bone; the shown skin can cross
 * all the same. Here the edges that go through triangles are found in it, near what detection has found near. Two skins
 * that cross cut a patch out of each other: it is inside the other one, or, where skin was pressed through its own body
 * from within, outside. A patch grows from the ends of crossing edges until it meets such edges on all sides, and goes to
 * the plane through the points in which they cross, halfway between the two skins; skin around it follows by degrees.
 * Then edges are shortened: none is made longer than 1.3 times what it was, or was at rest, and none that is touched stays
 * longer than twice its length at rest. Skin around comes along as far as that needs.
 * The flesh knows nothing of it: no momentum comes of it. The next frame begins with what was moved in this one, a little
 * less of it, so that it is smooth in time. Patches that do not end are left, and what crossed in the bind pose. */
#ifndef SUP_UNTANGLE_UNTANGLE_H
#define SUP_UNTANGLE_UNTANGLE_H

#include "contact/detect.h"
#include "skin/simulated_surface.h"
#include "supple/rig.h"

enum { SUP_UNTANGLE_CLUSTER = SUP_DETECT_CLUSTER };         /* triangles that are near each other */
enum { SUP_UNTANGLE_BETWEEN = 1, SUP_UNTANGLE_CARRIED = 2 }; /* of sup_untangle_view.close */

/* The shown skin of the body, welded. No triangles: it is too fine, and nothing is parted. */
typedef struct sup_untangle_view {
    int32_t vertex_count, triangle_count, coarse_count;
    const int32_t *triangles;      /* [triangle_count*3] clusters of SUP_UNTANGLE_CLUSTER, the last one may have fewer */
    const unsigned char *crossed;  /* [triangle_count] 1: crosses another in the bind pose */
    const int32_t *coarse_first;   /* [coarse_count+1] */
    const int32_t *coarse_clusters; /* clusters with triangles at each simulated vertex */
    const int32_t *beside_first;   /* [clusters+1] */
    const int32_t *beside;         /* clusters that have a vertex in common with each, without itself */
    const int32_t *coarse;         /* [vertex_count] simulated vertex nearest along the skin */
    /* [coarse_count] skin that lies against itself (rest_contact.h): not carried by one joint, or only by part, it is always
     * looked at; carried, it may be moved although it is rigid. */
    const unsigned char *close;
    const float *rest;              /* [vertex_count*3] bind pose */
    const int32_t *neighbour_first; /* [vertex_count+1] */
    const int32_t *neighbours;      /* along edges */
    const int32_t *shown_first;     /* [vertex_count+1] */
    const int32_t *shown;           /* output vertices at each vertex, at least one */
} sup_untangle_view;

/* close: [coarse_count] as in the view. */
sup_result sup_untangle_bind(const sup_context *context, const sup_rig *rig, const sup_simulated_surface *surface,
                         const sup_detect *detect, const unsigned char *close, sup_model_builder *builder,
                         sup_error *error);
/* Refuses arrays that do not fit together. */
sup_result sup_untangle_open(const sup_model *model, sup_untangle_view *view, sup_error *error);

/* Bundles of triangles at each vertex, or at row[vertex] where `row` is given: with `list` NULL counted into first[r + 1], else listed
 * from first[r] on, which ends at the end of the row; each once, rising. seen [row_count]: scratch. */
void sup_untangle_list_clusters(const sup_untangle_view *view, const int32_t *row, int32_t row_count, int32_t *seen,
                           int32_t *first, int32_t *list);
/* Bytes to work in, a multiple of 64. */
size_t sup_untangle_scratch(const sup_untangle_view *view);

/* What the simulated skin says. */
typedef struct sup_untangle_def {
    const unsigned char *near; /* [coarse_count] 1: other skin is near */
    const unsigned char *held; /* [coarse_count] 1: skin there must not move */
    const float *rest;         /* [coarse_count*3] */
    const float *gap;          /* [coarse_count] of detection: about half an edge */
    float *offset;             /* [vertex_count*3] of the last frame: where it begins. Zero at first */
    float keep;                /* of those */
    bool look;                 /* false: nothing moves, and the offsets are right as they are */
} sup_untangle_def;

/* Moves what crosses near simulated vertices that are near other skin. */
void sup_untangle(const sup_context *context, const sup_untangle_view *view, const sup_untangle_def *def, void *scratch,
                   const sup_skin_out *out);

/* Marks the triangles that cross others: `positions` [vertex_count*3], crossed [triangle_count]. */
void sup_untangle_mark(const sup_context *context, const sup_untangle_view *view, const float *positions, void *scratch,
                   unsigned char *crossed);

#endif

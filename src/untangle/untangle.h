/* untangle.h (internal) - removes self-intersections of the render mesh that contact has left.
 *
 * Contact works on the simulated mesh, which is coarser, and yields where bones overlap; the render mesh can still
 * intersect itself. Here the edges that cross triangles are found in it, near vertices that detection has found near
 * other skin. Two skins that cross cut a patch out of each other: it is inside the other one, or, where skin was
 * pressed through its own body from within, outside. A patch grows from the ends of crossing edges until crossing
 * edges bound it on all sides, and moves to the plane through the crossing points, halfway between the two skins; the
 * skin around it follows with decreasing displacements. Then edges are shortened: none is made longer than
 * SUP_UNTANGLE_MAX_GROWTH times its length before untangling or at rest, and no moved edge stays longer than
 * SUP_UNTANGLE_MAX_STRETCH times its rest length; neighbours are moved as needed for that. The simulated tissue is
 * not changed, so untangling adds no momentum.
 *
 * The result is bounded: no offset is larger than a hundredth of the character's size, all offsets together change the
 * volume by no more than a budget, and an offset changes from frame to frame by no more than a rate that grows with the
 * skin's own motion. Crossings that need more are left. A frame begins with the offsets of the last one, slightly
 * reduced. Open patches and triangles that cross in the bind pose are skipped.
 *
 * Constants are in untangle_tuning.h, decisions that the GPU shares in untangle_rules.h. */
#ifndef SUP_UNTANGLE_UNTANGLE_H
#define SUP_UNTANGLE_UNTANGLE_H

#include "contact/detect.h"
#include "skin/simulated_surface.h"
#include "supple/rig.h"

enum { SUP_UNTANGLE_CLUSTER = SUP_DETECT_CLUSTER }; /* neighbouring triangles of a cluster */
/* Flags of sup_untangle_view.rest_contact: skin that lies against other skin in the bind pose (rest_contact.h). It is
 * always searched for crossings; it may be moved although it is rigid. */
enum { SUP_UNTANGLE_REST_SEARCHED = 1, SUP_UNTANGLE_REST_MOVABLE = 2 };

/* The render mesh of the body, welded. No triangles: it is too fine, and is not untangled. */
typedef struct sup_untangle_view {
    int32_t vertex_count, triangle_count, coarse_count; /* coarse: vertices of the simulated mesh */
    const int32_t *triangles; /* [triangle_count*3] in clusters of SUP_UNTANGLE_CLUSTER; the last one may have fewer */
    const unsigned char *crosses_at_rest; /* [triangle_count] 1: crosses another one in the bind pose, and is skipped */
    const int32_t *coarse_first;          /* [coarse_count+1] */
    const int32_t *coarse_clusters;       /* clusters with triangles at each simulated vertex */
    const int32_t *adjacent_first;        /* [clusters+1] */
    const int32_t *adjacent;              /* clusters that share a vertex with each one, without itself */
    const int32_t *coarse;                /* [vertex_count] nearest simulated vertex along the skin */
    /* [coarse_count] flags. With several joints crossings are always searched for; with one joint skin may be moved
     * although it is rigid. */
    const unsigned char *rest_contact;
    const float *rest;              /* [vertex_count*3] bind pose */
    float size, rest_volume;        /* of the character; enclosed by the triangles in the bind pose */
    const int32_t *neighbour_first; /* [vertex_count+1] */
    const int32_t *neighbours;      /* along edges */
    const int32_t *render_first;    /* [vertex_count+1] */
    const int32_t *render_vertices; /* output vertices at each vertex, at least one */
} sup_untangle_view;

/* rest_contact: [coarse_count] as in the view. */
sup_result sup_untangle_bind(const sup_context *context, const sup_rig *rig, const sup_simulated_surface *surface,
                             const sup_detect *detect, const unsigned char *rest_contact, sup_model_builder *builder,
                             sup_error *error);
/* Fails when the arrays do not fit together. */
sup_result sup_untangle_open(const sup_model *model, sup_untangle_view *view, sup_error *error);

/* Clusters of triangles at each vertex, or at target[vertex] where `target` is not NULL. With `list` NULL they are
 * counted into first[t + 1]; else they are listed from first[t] on, which then points to the end of its list; each
 * once, ascending. seen [target_count]: scratch. */
void sup_untangle_list_clusters(const sup_untangle_view *view, const int32_t *target, int32_t target_count,
                                int32_t *seen, int32_t *first, int32_t *list);
/* Scratch size in bytes, a multiple of 64. */
size_t sup_untangle_scratch(const sup_untangle_view *view);

/* Inputs from the simulated mesh, and the offsets that last from frame to frame. */
typedef struct sup_untangle_def {
    const unsigned char *near;  /* [coarse_count] 1: other skin is near */
    const unsigned char *fixed; /* [coarse_count] 1: skin there must not move */
    const float *coarse_rest;   /* [coarse_count*3] bind pose */
    const float *gap;           /* [coarse_count] contact gap, about half an edge */
    float *offset;              /* [vertex_count*3] displacement of the last frame, updated; zero at first */
    float offset_fraction;      /* of the last frame's offsets with which this one begins */
    const float *max_change;    /* [coarse_count] of an offset in this frame; NULL: any */
    bool search;                /* false: nothing has moved, and the offsets are applied as they are */
} sup_untangle_def;

/* Moves crossing skin near simulated vertices that are near other skin. */
void sup_untangle(const sup_context *context, const sup_untangle_view *view, const sup_untangle_def *def, void *scratch,
                  const sup_skin_out *out);

/* Marks triangles that cross others: `positions` [vertex_count*3], crosses [triangle_count]. */
void sup_untangle_mark(const sup_context *context, const sup_untangle_view *view, const float *positions, void *scratch,
                       unsigned char *crosses);

#endif

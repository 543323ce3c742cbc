/* wrap.h (internal) - the skeleton wrap W of 4.2.2: a closed surface around all bones that closes the gaps between
 * them. */
#ifndef SUP_ANATOMY_WRAP_H
#define SUP_ANATOMY_WRAP_H

#include "geometry/isosurface.h"
#include "volume/solid.h"

typedef struct sup_wrap_def {
    const sup_solid *groups; /* [group_count] bones whose gaps are closed: trunk, each arm, each leg */
    int32_t group_count;
    const sup_solid *skin;
    double cell;           /* of the grid, metres */
    double closing;        /* gaps narrower than twice this are closed */
    double offset;         /* distance of the wrap from the bones */
    double margin;         /* distance that the wrap keeps from the skin */
    int32_t vertex_target; /* approximate number of vertices */
} sup_wrap_def;

/* Watertight and 2-manifold; gaps between groups stay open. Horizontal rings of bones (rib cage, pelvis, skull) are
 * filled: the volume that they enclose is inside. Free it with sup_surface_free. */
sup_result sup_wrap_create(const sup_context *context, const sup_wrap_def *def, sup_surface *wrap, sup_error *error);

typedef struct sup_wrap_topology {
    int32_t components, genus; /* genus, summed over all components */
    bool closed;               /* every edge has two triangles */
} sup_wrap_topology;
sup_result sup_wrap_measure(const sup_context *context, int32_t vertex_count, int32_t triangle_count,
                            const int32_t *triangles, sup_wrap_topology *topology, sup_error *error);

#endif

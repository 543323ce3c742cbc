/* collide_work.h (internal) - state of contact in an instance, and its stages. */
#ifndef SUP_METHODS_POSITION_COLLIDE_WORK_H
#define SUP_METHODS_POSITION_COLLIDE_WORK_H

#include "methods/position/collide.h"

enum { SUP_COLLIDE_MAX_INTERVAL = 8, SUP_COLLIDE_CHUNK = 64 /* tets per chunk of detection */ };
/* Height of contacts above triangles and colliders, in mean edges of the surface. */
#define SUP_COLLIDE_GAP 0.2f

typedef struct sup_collide_box {
    float low[3], high[3];
} sup_collide_box;

/* Plane of a bent joint in the space of the solver. */
typedef struct sup_collide_plane {
    int32_t plane;
    /* Ranges of `near`, entries that can reach the plane in this step: [plane_first, below_end) of the lower bone and
     * [above_first, next plane_first) of the upper bone. */
    int32_t below_end, above_first;
    float centre[3];
    float normal[3]; /* from the upper bone's side to the lower one's */
    float inward[3]; /* into the bend: the bisector */
    float bent;      /* activation, 0 to 1; fraction of the rest height that is corrected */
} sup_collide_plane;

/* A particle inside a tet, and its contact triangle. */
typedef struct sup_collide_hit {
    int32_t particle, triangle;
} sup_collide_hit;

typedef struct sup_collide_state {
    const sup_collide *collide;
    sup_collide_input input;
    sup_collide_report report;
    sup_spatial_hash hash;
    int32_t iteration; /* in this step */
    int32_t since;     /* steps since the last detection */
    int32_t active_count, plane_count, touch_count, near_count, cluster_count;
    float *bend, *bend_previous; /* [joint_count] bend angle, radians; at the last detection */
    sup_collide_box *box;        /* [joint_count] bounding box of the tissue of a bone */
    sup_collide_box *search;     /* [joint_count] where it can collide with other tissue */
    int32_t *contact;            /* [surface_count] triangle, or -1 */
    float *weight;               /* [surface_count*4] barycentric weights of the contact point; target height */
    bool *pushed;                /* [surface_count] the contact was active in the last iteration */
    int32_t *active;             /* [surface_count] surface particles with a contact */
    int32_t *union_parent;       /* [surface_count] union-find parent of a surface particle */
    int32_t *island;             /* [surface_count] island of an active contact */
    int32_t *island_of;     /* [surface_count] island of a root particle; later the end of the contacts of an island */
    int32_t *order;         /* [surface_count] surface particles with a contact, sorted by island */
    int32_t *cluster_first; /* [surface_count+1] first entry of `order` per cluster of islands */
    sup_collide_hit *hits;  /* [tet_count] per chunk, capacity one per tet */
    int32_t *chunk_hits;    /* [chunks*2] number of hits, number of tested tets */
    sup_collide_plane *planes; /* [plane_count] active planes */
    int32_t *near;             /* [entry_count] entries near their planes */
    float *points;      /* [surface_count*4] skin above hashed particles; later file units relative to the origin */
    sup_point_contact *touches; /* [surface_count] */
    void *touch;        /* state of sup_point_contact_find */
    void *hash_memory;
} sup_collide_state;

static inline size_t sup_collide_chunks(const sup_collide *collide)
{
    return ((size_t)collide->tet_count + SUP_COLLIDE_CHUNK - 1) / SUP_COLLIDE_CHUNK;
}

/* Bends and active planes from the joint matrices (collide_planes.c). */
void sup_collide_find_planes(sup_collide_state *s);
/* Collects the particles that can reach a plane in this step. */
void sup_collide_planes_gather(sup_collide_state *s, const sup_context *context, float *positions);
void sup_collide_planes_solve(const sup_collide_state *s, const sup_context *context, float *positions);
/* Detects new contacts (collide_find.c). */
void sup_collide_find(sup_collide_state *s, const sup_context *context, const float *positions);
/* Updates the contacts of the previous step, or releases them (collide_hold.c). */
void sup_collide_update_contacts(sup_collide_state *s, const sup_context *context, float *positions);
/* Walks from a triangle to the one below the particle, with its barycentric weights; false when there is none. */
bool sup_collide_walk(const sup_collide_state *s, int32_t particle, const float *positions, int32_t *triangle,
                      float weight[3]);
/* Whether a particle was further from a triangle at rest than `edges` times its longest edge: adjacent tissue does not
 * collide. */
bool sup_collide_separated(const sup_collide_state *s, int32_t particle, int32_t triangle, float edges);
/* Lists and clusters the contacts of this step. */
void sup_collide_list_contacts(sup_collide_state *s, float *positions);
void sup_collide_solve_contacts(sup_collide_state *s, const sup_context *context, float *positions);
/* After the last iteration: removes the velocity that active contacts caused. Doing so in each iteration would turn the
 * interaction of contacts into velocity of the next step, and resting tissue would jitter. */
void sup_collide_stop_contacts(sup_collide_state *s, const sup_context *context, float *positions);
void sup_collide_stop_planes(sup_collide_state *s, const sup_context *context, float *positions);

#endif

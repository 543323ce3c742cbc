/* collide_work.h (internal) - the state of contact in an instance, and its stages. */
#ifndef SUP_METHODS_POSITION_COLLIDE_WORK_H
#define SUP_METHODS_POSITION_COLLIDE_WORK_H

#include "methods/position/collide.h"

enum { SUP_MEET_LONGEST_WAIT = 8, SUP_MEET_CHUNK = 64 /* tets that look into the cells together */ };
/* Height over triangles and things that is held, in mean edges of the surface. */
#define SUP_MEET_GAP 0.2f

typedef struct sup_meet_box {
    float low[3], high[3];
} sup_meet_box;

/* A bent joint's plane in the solver's space. */
typedef struct sup_meet_plane {
    int32_t plane;
    int32_t below_end, above_first; /* into near, from plane_first and to the next: entries that can come to it in this
                                       step, of the lower bone and of the upper one */
    float centre[3];
    float normal[3]; /* from the upper bone's side to the lower one's */
    float inward[3]; /* into the bend: the bisector */
    float bent;      /* 0: hardly, 1: fully; how much of the height at rest is taken back */
} sup_meet_plane;

/* A particle in a tet, and the triangle that will hold it. */
typedef struct sup_meet_hit {
    int32_t particle, triangle;
} sup_meet_hit;

typedef struct sup_meet_state {
    const sup_meet *meet;
    sup_meet_input input;
    sup_meet_report report;
    sup_cells cells;
    int32_t iteration; /* of this step */
    int32_t since;     /* steps since the last hashing */
    int32_t active_count, plane_count, touch_count, near_count, cluster_count;
    float *bend, *bend_then; /* [joint_count] angle from where the upper bone would carry it; at the last hashing */
    sup_meet_box *box;       /* [joint_count] of the bone's flesh */
    sup_meet_box *look;      /* [joint_count] where it can meet another one's */
    int32_t *held;           /* [surface_count] triangle, or -1 */
    float *weight;           /* [surface_count*4] of its corners, where the particle is over it */
    bool *pushed;            /* [surface_count] a hold was pushed in the last iteration */
    int32_t *active;         /* [surface_count] surface particles that are held */
    int32_t *link;           /* [surface_count] towards the first particle of its island */
    int32_t *island;         /* [surface_count] of an active hold */
    int32_t *island_of;      /* [surface_count] of an island's first particle; then where its holds end */
    int32_t *order;          /* [surface_count] surface particles that are held, by island */
    int32_t *cluster_first;   /* [surface_count+1] into order: islands for one piece of work */
    sup_meet_hit *hits;      /* [tet_count] room for one a tet, by chunk */
    int32_t *chunk_hits;     /* [chunks*2] hits, and tets that looked */
    sup_meet_plane *planes;  /* [plane_count] those that are bent */
    int32_t *near;           /* [entry_count] entries near their planes */
    float *points;           /* [surface_count*4] the skin above hashed particles; then file units less the origin */
    sup_point_contact *touches;      /* [surface_count] */
    void *touch;             /* state of sup_point_contact_find */
    void *cells_memory;
} sup_meet_state;

static inline size_t sup_meet_chunks(const sup_meet *meet)
{
    return ((size_t)meet->tet_count + SUP_MEET_CHUNK - 1) / SUP_MEET_CHUNK;
}

/* Bent joints, from the joints' matrices (collide_planes.c). */
void sup_meet_bend(sup_meet_state *s);
/* Which particles are near enough to mind them in this step. */
void sup_meet_planes_gather(sup_meet_state *s, const sup_context *context, float *rows);
void sup_meet_planes_solve(const sup_meet_state *s, const sup_context *context, float *rows);
/* New holds (collide_find.c). */
void sup_meet_find(sup_meet_state *s, const sup_context *context, const float *rows);
/* Holds of the step before go with their particles, or end (collide_hold.c). */
void sup_meet_follow(sup_meet_state *s, const sup_context *context, float *rows);
/* From a triangle to the one that the particle is over now, and its place there; false: there is none. */
bool sup_meet_walk(const sup_meet_state *s, int32_t particle, const float *rows, int32_t *triangle, float weight[3]);
/* Whether a particle was further from a triangle at rest than that many of its longest edge: flesh beside it is not
 * another part. */
bool sup_meet_apart(const sup_meet_state *s, int32_t particle, int32_t triangle, float edges);
/* The holds of this step. */
void sup_meet_list(sup_meet_state *s, float *rows);
void sup_meet_solve_holds(sup_meet_state *s, const sup_context *context, float *rows);
/* After the last iteration: what pushed in it leaves no velocity. Not in between, or what one push takes of another's
 * motion would be velocity in the next step, and flesh at rest would tremble. */
void sup_meet_still_holds(sup_meet_state *s, const sup_context *context, float *rows);
void sup_meet_still_planes(sup_meet_state *s, const sup_context *context, float *rows);

#endif

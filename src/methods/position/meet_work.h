/* meet_work.h (internal) - the state of contact in an instance, and its stages. */
#ifndef SUP_METHODS_POSITION_MEET_WORK_H
#define SUP_METHODS_POSITION_MEET_WORK_H

#include "methods/position/meet.h"

enum { SUP_MEET_LONGEST_WAIT = 8 };

typedef struct sup_meet_box {
    float low[3], high[3];
} sup_meet_box;

/* A bent joint's plane in the solver's space. */
typedef struct sup_meet_plane {
    int32_t plane;
    int32_t near_first, near_end; /* into near: particles that can come to it in this step */
    float centre[3];
    float normal[3]; /* from the upper bone's side to the lower one's */
    float inward[3]; /* into the bend: the bisector */
    float bent;      /* 0: hardly, 1: fully; how much of the height at rest is taken back */
} sup_meet_plane;

typedef struct sup_meet_state {
    const sup_meet *meet;
    sup_meet_input input;
    sup_meet_report report;
    sup_cells cells;
    int32_t iteration; /* of this step */
    int32_t since;     /* steps since the last hashing */
    int32_t active_count, plane_count, touch_count;
    float *bend, *bend_then; /* [joint_count] angle from where the upper bone would carry it; at the last hashing */
    sup_meet_box *box;       /* [joint_count] of the bone's flesh */
    sup_meet_box *look;      /* [joint_count] where it can meet another one's */
    int32_t *held;           /* [surface_count] triangle, or -1 */
    float *weight;           /* [surface_count*4] of its corners, where the particle is over it */
    int32_t *active;         /* [surface_count] surface particles that are held */
    sup_meet_plane *planes;  /* [plane_count] those that are bent */
    int32_t *near;           /* [entry_count] entries near their planes */
    float *points;           /* [surface_count*4] file units less the origin */
    sup_touch *touches;      /* [surface_count] */
    void *touch;             /* state of sup_touch_find */
    void *cells_memory;
} sup_meet_state;

/* Bent joints, from the joints' matrices (meet_planes.c). */
void sup_meet_bend(sup_meet_state *s);
/* Which particles are near enough to mind them in this step. */
void sup_meet_planes_gather(sup_meet_state *s, const float *rows);
void sup_meet_planes_solve(const sup_meet_state *s, float *rows);
/* New holds (meet_find.c). */
void sup_meet_find(sup_meet_state *s, const float *rows);
/* Moves a hold to the triangle that the particle is over now; false: it has ended (meet.c). */
bool sup_meet_walk(sup_meet_state *s, int32_t particle, const float *rows);

#endif

/* track_work.h (internal) - what the files of tracking share: rows of the state, and one sub-frame's work. */
#ifndef SUP_METHODS_IMPLICIT_TRACK_WORK_H
#define SUP_METHODS_IMPLICIT_TRACK_WORK_H

#include "methods/implicit/track.h"

enum {
    SUP_TRACK_GRAIN = 4, /* blocks a thread takes at a time */
    SUP_TRACK_SUMS = 3
};

/* The state of an instance, cut into rows. */
typedef struct sup_track_rows {
    float *place;         /* [row_count*4] x y z, and how much of a contact sheet is felt there, in [0, 1] */
    float *normal;        /* [row_count*4] unit gradient when it last had a direction; how far the value is off */
    float *stop;          /* [row_count*4] unit direction in which the end of a contact sheet holds it, and how much */
    float *turn;          /* [row_count*12] rest to pose, prescribed */
    float *load;          /* [row_count*4] what the turned rest edges pull */
    float *pull;          /* [row_count*4] the energy's downhill in the tangent plane */
    float *move;          /* [row_count*4] direction of this round; 0 in rows that sleep */
    float *solve;         /* [(row_count + slot_count)*4] elimination order */
    double *sums;         /* [block_count*SUP_TRACK_SUMS] */
    float *moved;         /* [block_count] farthest in the last round, in edges */
    float *drift;         /* [block_count] farthest since the field was looked at, in edges */
    int32_t *list;        /* [block_count] blocks that are awake, rising */
    unsigned char *awake; /* [block_count] bits of sup_track_sleep */
    unsigned char *used;  /* [part_count] parts of the factor with rows that are awake */
} sup_track_rows;

enum {
    SUP_TRACK_AWAKE = 1,
    SUP_TRACK_NEW = 2,   /* since the list was made */
    SUP_TRACK_UNREST = 4 /* moved until the last round of the frame before */
};

typedef struct sup_track_work {
    const sup_context *context;
    const sup_track *track;
    const sup_track_input *input;
    sup_track_rows rows;
    int32_t awake_count;
    int32_t awake_rows;
    double scale;        /* of the direction in this round */
    double slope, keep;  /* r . z, and the part of the direction before that is kept */
    int32_t even;        /* Jacobi steps that are left in this round */
    int64_t evaluations; /* rows */
} sup_track_work;

sup_track_rows sup_track_rows_of(const sup_track *track, void *state);

/* Runs `fn` over the blocks that are awake: begin and end are places in `list`. */
void sup_track_run(sup_track_work *work, sup_task_fn *fn);

/* rotations.c: `turn` of all rows from the joints. */
void sup_track_turn_rows(sup_track_work *work);

/* project.c: Newton steps of the blocks that are awake and have drifted by more than `drift` edges, `steps` of them at
 * most; what comes out is never farther from the value that is aimed at. */
void sup_track_project(sup_track_work *work, int32_t steps, float drift);
/* One block: a step along the gradient that is not looked at again; its length becomes drift[block]. */
void sup_track_newton_block(sup_track_work *work, int32_t block);

/* relax.c: rounds until they end; how many there were. `moved` gets how far rows went in the last one, RMS in edges. */
int32_t sup_track_relax(sup_track_work *work, float *moved);
/* track.c: blocks that share an edge with those that moved wake up, and the list of those that are awake is made anew. */
void sup_track_spread(sup_track_work *work);
/* Gradient of the energy at a row, all three directions. */
void sup_track_pull(const sup_track *track, const sup_track_rows *rows, int32_t row, float pull[3]);

/* Points of a block as lanes; unused lanes repeat the last row. */
void sup_track_take_points(const sup_track *track, const float *place, int32_t block, sup_field_points *points);
/* The field at them, with sides. */
void sup_track_look(const sup_track *track, int32_t block, sup_track_field_fn *field, const void *user,
                    const sup_field_points *points, sup_field_samples *samples, sup_field_sides *sides);

/* How much of a contact sheet is felt, in [0, 1]: there the field touches 0.5 from above on both sides like a valley. Values
 * below are nowhere, values above are much farther away than at rest, and the slope goes to 0. */
static inline float sup_track_sheet(const sup_track_aim *aim, float slope, float contact)
{
    float flat = 1.0f - (slope / aim->gradient - 0.3f) * 2.5f; /* 1 below 0.3 of the slope at rest, 0 above 0.7 */
    float deep = (contact - 0.1f) * 2.5f;
    flat = flat < 0.0f ? 0.0f : flat > 1.0f ? 1.0f : flat;
    deep = deep < 0.0f ? 0.0f : deep > 1.0f ? 1.0f : deep;
    return flat * deep;
}

#endif

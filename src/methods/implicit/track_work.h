/* track_work.h (internal) - what the files of tracking share: rows of the state, and one sub-frame's work. */
#ifndef SUP_METHODS_IMPLICIT_TRACK_WORK_H
#define SUP_METHODS_IMPLICIT_TRACK_WORK_H

#include "base/simd.h"
#include "methods/implicit/track.h"

enum {
    SUP_TRACK_GRAIN = 4, /* blocks a thread takes at a time */
    SUP_TRACK_SUMS = 3
};

/* How shown skin is pulled to where it is tracked, 1/size^2 (arap_smooth.c). Of lobes of half a wave in 0.05 sizes half is left; at half of it
 * a squat lost 0.03 more of its volume. */
#define SUP_TRACK_TENSION 4000.0
/* Of the mean edge squared: the area of a vertex where triangles are equilateral. */
#define SUP_TRACK_AREA 0.87

/* The state of an instance, cut into rows. */
typedef struct sup_track_arrays {
    float *position;         /* [row_count*4] x y z, and how much of a contact sheet is felt there, in [0, 1] */
    float *normal;        /* [row_count*4] unit gradient when it last had a direction; how far the value is off */
    float *barrier;          /* [row_count*4] unit direction in which the end of a contact sheet holds it, and how much */
    float *transform;          /* [row_count*12] rest to pose, prescribed */
    float *rhs;          /* [row_count*4] what the turned rest edges pull */
    float *descent;          /* [row_count*4] the energy's downhill in the tangent plane */
    float *direction;          /* [row_count*4] direction of this round; 0 in rows that sleep. Mended rows before */
    float *solve;         /* [(row_count + slot_count)*4] elimination order */
    double *sums;         /* [block_count*SUP_TRACK_SUMS] */
    float *moved;         /* [block_count] farthest in the last round, in edges */
    float *drift;         /* [block_count] farthest since the field was looked at, in edges */
    int32_t *list;        /* [block_count] blocks that are awake, rising */
    int32_t *motion_class;         /* [joint_count] equal for joints that move alike in this sub-frame */
    float *straight;      /* [joint_count] 1: a part stands to those beside it as at rest; down to 0 as they bend */
    unsigned char *awake; /* [block_count] SUP_TRACK_AWAKE and the other bits */
    float *proximity[2];       /* [row_count*2] for what is shown: how near a contact, and skin beyond, is, in [0, 1] */
    uint64_t *subdomain_bits;      /* [block_count] bit k: of its rows some are in a part of the factor that is k modulo 64 */
} sup_track_arrays;

enum {
    SUP_TRACK_AWAKE = 1,
    SUP_TRACK_STALE = 2,    /* its loads are not those of this sub-frame yet */
    SUP_TRACK_MOVING = 4, /* moved until the last round of the frame before */
    SUP_TRACK_WAS_AWAKE = 8, /* was awake in this sub-frame */
    SUP_TRACK_ROTATED = 16 /* woke up because rows turn, or are not at rest yet: not for a field that may not be felt */
};

typedef struct sup_track_work {
    const sup_context *context;
    const sup_track *track;
    const sup_track_input *input;
    sup_track_arrays arrays;
    int32_t awake_count;
    int32_t awake_vertices;
    bool fresh;          /* some of them are new */
    uint64_t subdomains;      /* of the factor that hold rows that are awake: bits as in rows.parts */
    bool solves;         /* in this round */
    double scale;        /* of the direction in this round */
    double slope, keep;  /* r . z, and the part of the direction before that is kept */
    int64_t evaluations; /* rows */
} sup_track_work;

sup_track_arrays sup_track_arrays_of(const sup_track *track, void *state);

/* Runs `fn` over the blocks that are awake: begin and end are places in `list`. */
void sup_track_run(sup_track_work *work, sup_task_fn *fn);
/* `fn` for each row of the blocks [begin, end) of the list: what most of those passes are. */
static inline void sup_track_each_vertex(sup_track_work *work, int32_t begin, int32_t end,
                                      void (*fn)(sup_track_work *work, int64_t vertex))
{
    for (int32_t i = begin; i < end; i++) {
        int32_t cluster = work->arrays.list[i];
        for (int64_t vertex = work->track->cluster_first[cluster]; vertex < work->track->cluster_first[cluster + 1]; vertex++)
            fn(work, vertex);
    }
}

/* rotations.c: `turn` of the rows whose joints move, or of all, from the joints. */
void sup_track_blend_transforms(sup_track_work *work);
/* The same of the rows that are awake, from where the skin is now; their loads are to be made anew. */
void sup_track_fit_rotations(sup_track_work *work);

/* project.c: Newton steps of the blocks that are awake and have drifted by more than `drift` edges, `steps` of them at
 * most; what comes out is never farther from the value that is aimed at. sums[1] of a block is 1 where a row went, or a
 * contact holds one, else 0. */
void sup_track_project(sup_track_work *work, int32_t steps, float drift);
/* One block: a step along the gradient that is not looked at again; its length becomes drift[block]. */
void sup_track_newton_step(sup_track_work *work, int32_t cluster);

/* L v at a row, of v [row_count*4]: L is the Laplacian of the weights. */
static inline sup_four sup_track_laplacian(const sup_track *track, const float *v, int64_t vertex)
{
    sup_four here = sup_four_load(v + 4 * vertex), sum = sup_four_splat(0.0f);
    for (int32_t e = track->first[vertex]; e < track->first[vertex + 1]; e++)
        sum += sup_four_splat(track->weight[e]) * (here - sup_four_load(v + 4 * (int64_t)track->other[e]));
    return sum;
}

/* track_output.c: lists the blocks that `parts` marks with 1, and so many rings of others around them; how many. One ring more stands
 * behind them: `around` in all. `parts` is free between sub-frames. */
int32_t sup_track_list_rings(const sup_track *track, const sup_track_arrays *arrays, uint64_t rings, int32_t *around);
/* relax.c: `load` of the rows of a block: eq. 3 with both ends' rotations. */
void sup_track_compute_rhs(const sup_track *track, const sup_track_arrays *arrays, int32_t cluster);
/* Rounds until they end; how many there were. `moved` gets how far rows went in the last one, RMS in edges. */
int32_t sup_track_relax(sup_track_work *work, float *moved);
/* Rows of the blocks that are awake, far from where their neighbours want them, go there: through the air. The projection that
 * comes next takes back those that end in a contact, or deep inside. */
void sup_track_fix_outliers(sup_track_work *work);
/* track.c: blocks that share an edge with those that moved wake up; with `sleep` those that are still among others that are
 * go to sleep; and the list of those that are awake is made anew. */
void sup_track_update_awake(sup_track_work *work, bool sleep);
/* `move` of the rows of a block is 0. */
void sup_track_clear_directions(const sup_track_work *work, int32_t cluster);
/* Whether rows [begin, end) can be stepped and shown. */
bool sup_track_arrays_usable(const sup_track_arrays *arrays, int64_t begin, int64_t end);

/* Points of a block as lanes; unused lanes repeat the last row. */
void sup_track_load_points(const sup_track *track, const float *position, int32_t cluster, sup_field_points *points);
/* The field at them, with sides. */
void sup_track_evaluate(const sup_track *track, int32_t cluster, sup_track_field_fn *field, const void *user,
                    const sup_field_points *points, sup_field_samples *samples, sup_field_sides *sides);

/* fmaxf and fminf are calls, for the sake of numbers that are none; these are an instruction, and pass over such a `b`. */
static inline float sup_track_max(float a, float b)
{
    return b > a ? b : a;
}

static inline float sup_track_min(float a, float b)
{
    return b < a ? b : a;
}

/* How much of a contact sheet is felt, in [0, 1]: there the field touches 0.5 from above on both sides like a valley. Values
 * below are nowhere, values above are much farther away than at rest, and the slope goes to 0. */
static inline float sup_track_contact_weight(const sup_track_target *target, float slope, float contact)
{
    float flat = 1.0f - (slope / target->gradient - 0.3f) * 2.5f; /* 1 below 0.3 of the slope at rest, 0 above 0.7 */
    float deep = (contact - 0.1f) * 2.5f;
    flat = flat < 0.0f ? 0.0f : flat > 1.0f ? 1.0f : flat;
    deep = deep < 0.0f ? 0.0f : deep > 1.0f ? 1.0f : deep;
    return flat * deep;
}

#endif

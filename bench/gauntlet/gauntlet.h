/* gauntlet.h - characters, motions and measures of check_gauntlet: every method in the same frames as linear
 * blending. */
#ifndef SUP_BENCH_GAUNTLET_H
#define SUP_BENCH_GAUNTLET_H

#include "supple/supple.h"

enum { GAUNTLET_NAME = 96 };

/* A motion: world matrices of all nodes for each frame. */
typedef struct gauntlet_motion {
    char name[GAUNTLET_NAME];
    double fps;
    int32_t frame_count, node_count;
    sup_mat34 *world;    /* [frame_count*node_count] */
    int32_t hold_first;  /* first frame in which the skeleton no longer moves, -1 if there is none */
    int32_t cut_spacing; /* frames between cuts, 0 if there are none */
} gauntlet_motion;

typedef struct gauntlet_character {
    char name[GAUNTLET_NAME];
    sup_character *character;
    sup_rig *rig;
    sup_rig_surface *surface;
    sup_measurer *measurer;
    sup_pose *pose;
    bool multi_part; /* several skin components with little volume each */
    float
        *component_joint_weight; /* [skin_vertex_count] 1 where the whole component has one joint with weight >= 0.99 */
} gauntlet_character;

/* What one method does in one motion. Lengths in sizes of the character. */
typedef struct gauntlet_result {
    double volume_min, volume_max; /* whole skin */
    double region_volume_min;      /* smallest over joint regions that enclose at least 1 % of the volume */
    int64_t crossings;             /* pairs that did not cross at rest, sum over frames */
    int64_t hold_growth;           /* crossings of the last frame minus those at the start of the hold */
    int32_t flips;                 /* worst frame */
    double stretch_max, stretch_min, roughness, penetration;
    double distance_p95;        /* from linear blending, 95th percentile over vertices and frames */
    double acceleration_rms;    /* second difference of positions, root mean square over vertices and frames */
    double acceleration_excess; /* largest second difference of a vertex beyond that of linear blending */
    double rest_motion;         /* largest move in a frame, from one second after the start of a hold on */
    double cut_error;           /* largest distance, 0.5 s after a cut, from a bake that was reset there */
    double rigid_stretch;       /* largest |edge ratio - 1| on components that follow one joint */
    double milliseconds;        /* a frame */
    int32_t worst_frame;        /* largest sum of volume loss, crossings and flips beyond linear blending */
} gauntlet_result;

/* --- gauntlet_motions.c --- */

/* Own clips (fastest, slowest, longest), motion capture for humanoids, generated motions. Calls `use` for each; the
 * motion is freed afterwards. `filter` (may be NULL): only motions whose name contains it. */
typedef void gauntlet_use(void *user, gauntlet_character *character, const gauntlet_motion *motion);
void gauntlet_each_motion(gauntlet_character *character, const char *assets, double fps, const char *filter,
                          gauntlet_use *use, void *user);

/* --- gauntlet_measure.c --- */

/* False, with a message on stderr, if the character cannot be used. */
bool gauntlet_open(const sup_context *context, const char *path, const char *name, gauntlet_character *character);
void gauntlet_close(gauntlet_character *character);

/* Positions [frame_count*vertex_count*3] of a method with settings such as "contact=off,dynamic=off" (NULL:
 * defaults), to free(); NULL if the method refuses the character. `jitter`: seed of a disturbance of 1e-6 sizes of
 * all joints, 0 for none. */
float *gauntlet_bake(const sup_context *context, const gauntlet_character *character, const gauntlet_motion *motion,
                     const char *method, const char *settings, uint32_t jitter, double *milliseconds);

/* `linear` and `linear_result`: the same motion by linear blending; NULL while that itself is measured. */
void gauntlet_measure(gauntlet_character *character, const gauntlet_motion *motion, const float *positions,
                      const float *linear, const gauntlet_result *linear_result, gauntlet_result *result);
/* Fills in cut_error: bakes from each cut are compared 0.5 s later. */
void gauntlet_measure_cuts(const sup_context *context, const gauntlet_character *character,
                           const gauntlet_motion *motion, const char *method, const float *positions,
                           gauntlet_result *result);

/* FNV-1a hash of a name. */
uint32_t gauntlet_hash(const char *name);
/* The memory itself; ends the program if it is NULL. */
void *gauntlet_must(void *memory);
/* Order of qsort for an array of strings. */
int gauntlet_by_name(const void *a, const void *b);
/* 0: tuning half, 1: judging half; by a hash of the name. */
int gauntlet_half(const char *name);

#endif

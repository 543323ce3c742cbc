/* gauntlet.h - characters, motions and measures of check_gauntlet: every method in the same frames as linear
 * blending. */
#ifndef SUP_BENCH_GAUNTLET_H
#define SUP_BENCH_GAUNTLET_H

#include "supple/supple.h"

enum { GAUNTLET_NAME = 96, GAUNTLET_FAILURES = 20 };

/* A motion: world matrices of all nodes for each frame. */
typedef struct gauntlet_motion {
    char name[GAUNTLET_NAME];
    double fps;
    int32_t frame_count, node_count;
    sup_mat34 *world;    /* [frame_count*node_count] */
    int32_t hold_first;  /* first frame in which the skeleton no longer moves, -1 if there is none */
    int32_t cut_spacing; /* frames between cuts, 0 if there are none */
    int32_t cut_count;   /* cuts at cut_spacing, 2*cut_spacing ... */
    int32_t index;       /* among the motions of the character that are wanted */
} gauntlet_motion;

/* Which motions of a character to make. */
typedef struct gauntlet_range {
    double fps, seconds;        /* frames per second, and length of the part of a clip */
    bool quick;                 /* only those of the reduced set */
    const char *filter;         /* NULL, or texts separated by commas: motions whose name contains one of them */
    int32_t share, share_count; /* motions whose index modulo share_count is share */
} gauntlet_range;

typedef struct gauntlet_character {
    char name[GAUNTLET_NAME];
    sup_character *character;
    sup_rig *rig;
    sup_rig_surface *surface;
    sup_measurer *measurer;
    sup_pose *pose;
    bool multi_part;      /* several skin components with little volume each */
    const int32_t *rigid; /* [skin_vertex_count] joint of rigid components, -1: soft */
} gauntlet_character;

/* What one method does in one motion. Lengths in sizes of the character. */
typedef struct gauntlet_result {
    double volume_min, volume_max; /* whole skin */
    double region_volume_min;      /* smallest over the skin that a joint moves and the skin around a joint */
    int64_t crossings;             /* pairs that did not cross at rest, sum over frames */
    int64_t hold_growth;           /* most crossings of a held frame minus those at the start of the hold */
    int32_t flips;                 /* worst frame */
    double stretch_max, stretch_min, roughness, penetration;
    double distance_p95;        /* from linear blending, 95th percentile over vertices and frames */
    double acceleration_rms;    /* second difference of positions, root mean square over vertices and frames */
    double acceleration_excess; /* largest second difference of a vertex beyond that of linear blending */
    double rest_motion;         /* largest move in a frame, from one second after the start of a hold on */
    double early_rest_motion;   /* the same from half a second on */
    double cut_error;           /* largest distance, some time after a cut, from a bake that was reset there */
    double cut_error_p99;       /* the same, 99th percentile over vertices */
    double rigid_stretch;       /* largest |edge ratio - 1| on components that follow one joint */
    double milliseconds;        /* a frame */
    int32_t worst_frame;        /* largest sum of volume loss, crossings and flips beyond linear blending */
    /* Against a run with other settings in the same frames; negative: not measured. */
    double dynamic_volume;     /* |smallest volume - that without inertia| */
    int64_t contact_crossings; /* crossings without contact */
    double untangle_volume;    /* largest |volume - volume without untangling| of a frame */
    double untangle_offset;    /* largest distance of a vertex from its position without untangling */
    double settled_p95;        /* 95th percentile of the distance from the shape without momentum */
} gauntlet_result;

/* A bound that a row exceeds. */
typedef struct gauntlet_failure {
    char bound[32];
    double value, limit, ratio; /* ratio > 1: by how much the bound is exceeded */
    bool known;                 /* listed in the file of known failures */
} gauntlet_failure;

typedef struct gauntlet_verdict {
    int32_t count;
    gauntlet_failure failures[GAUNTLET_FAILURES];
    double score; /* largest ratio over all bounds, failing or not */
} gauntlet_verdict;

typedef enum gauntlet_kind { GAUNTLET_HUMAN, GAUNTLET_GAME, GAUNTLET_OTHER } gauntlet_kind;

/* One line of the output: a method in a case. */
typedef struct gauntlet_row {
    char character[GAUNTLET_NAME], motion[GAUNTLET_NAME], method[16];
    int32_t character_index, motion_index, method_index;
    int32_t half; /* 0: tuning, 1: judging */
    gauntlet_kind kind;
    int32_t trial, trial_count, failed_trials; /* of --jitter: the worst one, and how many there were */
    int64_t linear_crossings;
    gauntlet_result result;
    gauntlet_verdict verdict;
} gauntlet_row;

typedef struct gauntlet_options {
    const char *assets, *half, *characters, *motions, *methods, *settings, *csv, *html, *known, *write_known;
    double fps;
    int jitter, jobs, pictures;
    bool quick, rates, switches;
} gauntlet_options;

/* A character to run: its file or scene. */
typedef struct gauntlet_source {
    char path[1024], name[GAUNTLET_NAME];
    gauntlet_kind kind;
} gauntlet_source;

/* --- gauntlet_motions.c --- */

/* Own clips (fastest, slowest, longest), motion capture for humanoids, generated motions. Calls `use` for each; the
 * motion is freed afterwards. */
typedef void gauntlet_use(void *user, gauntlet_character *character, const gauntlet_motion *motion);
void gauntlet_each_motion(gauntlet_character *character, const char *assets, const gauntlet_range *range,
                          gauntlet_use *use, void *user);
/* Every `step`-th frame of a motion; free() its `world`. */
gauntlet_motion gauntlet_every(const gauntlet_motion *motion, int32_t step);
/* Whether `name` contains one of the texts of `filter`, which commas separate; NULL: any name. */
bool gauntlet_wanted(const char *name, const char *filter);

/* --- gauntlet_measure.c --- */

/* False, with the reason in `error`, if the character cannot be used. */
bool gauntlet_open(const sup_context *context, const char *path, const char *name, gauntlet_character *character,
                   sup_error *error);
void gauntlet_close(gauntlet_character *character);

/* Positions [frame_count*vertex_count*3] of a method with settings such as "contact=off,dynamic=off" (NULL:
 * defaults), to free(); NULL, with the reason in `error`, if the method refuses the character. `jitter`: seed of a
 * disturbance of 1e-6 sizes of all joints, 0 for none. */
float *gauntlet_bake(const sup_context *context, const gauntlet_character *character, const gauntlet_motion *motion,
                     const char *method, const char *settings, uint32_t jitter, double *milliseconds, sup_error *error);

/* `linear` and `linear_result`: the same motion by linear blending; NULL while that itself is measured. `volumes`
 * [frame_count] or NULL: volume ratio of each frame. */
void gauntlet_measure(gauntlet_character *character, const gauntlet_motion *motion, const float *positions,
                      const float *linear, const gauntlet_result *linear_result, gauntlet_result *result,
                      double *volumes);
/* Fills in cut_error and cut_error_p99: bakes from each cut are compared just before the next one. With `last_only`:
 * from the last cut, one second later. */
void gauntlet_measure_cuts(const sup_context *context, const gauntlet_character *character,
                           const gauntlet_motion *motion, const char *method, const char *settings, bool last_only,
                           const float *positions, gauntlet_result *result);
/* Distances of the vertices of two bakes in sizes: percentiles and the largest, over `frame_count` frames. */
typedef struct gauntlet_distance {
    double p95, p99, largest;
} gauntlet_distance;
gauntlet_distance gauntlet_compare(const gauntlet_character *character, int32_t frame_count, const float *a,
                                   const float *b);

/* FNV-1a hash of a name. */
uint32_t gauntlet_hash(const char *name);
/* The memory itself; ends the program if it is NULL. */
void *gauntlet_must(void *memory);
/* Order of qsort for an array of strings. */
int gauntlet_by_name(const void *a, const void *b);
/* 0: tuning half, 1: judging half; by a hash of the name. */
int gauntlet_half(const char *name);

/* --- gauntlet_bounds.c --- */

enum { GAUNTLET_RATES = 3 };
/* Compares a result with the bounds of its method. `dual`: dual quaternion blending, for implicit. */
void gauntlet_judge(const char *method, const gauntlet_character *character, const gauntlet_motion *motion,
                    const gauntlet_result *result, const gauntlet_result *linear, const gauntlet_result *dual,
                    gauntlet_verdict *verdict);
/* Results of the same motion at several frame rates, measured in the frames that they share. */
void gauntlet_judge_rates(const gauntlet_result *results, int32_t count, gauntlet_verdict *verdict);

/* --- gauntlet_cases.c --- */

/* Methods of a case of the reduced set, separated by commas; NULL if it is not in the set. `character` alone, with
 * motion NULL: whether any of its cases is. */
const char *gauntlet_quick_methods(const char *character, const char *motion);
/* The name of a motion in rows: those of the reduced set are shorter, and fail other bounds than the full ones. */
void gauntlet_motion_label(const gauntlet_options *options, const char *name, char label[GAUNTLET_NAME]);
/* The motions to make of a character, for the options. */
gauntlet_range gauntlet_range_of(const gauntlet_options *options, int32_t share, int32_t share_count);
/* Runs one share of the motions of a character; calls `row` for each row and `note` for what was skipped. */
typedef struct gauntlet_output {
    void (*row)(void *user, const gauntlet_row *row);
    void (*note)(void *user, const char *text);
    void *user;
} gauntlet_output;
void gauntlet_run_character(const gauntlet_options *options, const gauntlet_source *source, int32_t index,
                            int32_t share, int32_t share_count, const gauntlet_output *output);

/* --- gauntlet_jobs.c --- */

/* Work on a task, in a child process; messages to the parent go to `fd`. */
typedef void gauntlet_work(void *user, int32_t task, int fd);
/* A message of a task, or its end (kind GAUNTLET_DONE), in the parent. */
typedef void gauntlet_receive(void *user, int32_t task, int32_t kind, const void *bytes, int32_t size);
enum { GAUNTLET_DONE, GAUNTLET_ROW, GAUNTLET_NOTE, GAUNTLET_BYTES, GAUNTLET_MESSAGE = 3072 };
/* Runs tasks [0, count) in `jobs` child processes, in ascending order. False if a child ended before its task did. */
bool gauntlet_run_jobs(int32_t jobs, int32_t count, gauntlet_work *work, gauntlet_receive *receive, void *user);
/* Sends `size` bytes, in messages of at most GAUNTLET_MESSAGE bytes. */
void gauntlet_send(int fd, int32_t task, int32_t kind, const void *bytes, size_t size);

/* --- gauntlet_known.c --- */

typedef struct gauntlet_known {
    char *line; /* that the others point into */
    const char *character, *motion, *method, *bound, *reason;
    bool failed; /* in this run */
} gauntlet_known;
typedef struct gauntlet_known_list {
    gauntlet_known *items;
    int32_t count;
} gauntlet_known_list;
/* Reads "character,motion,method,bound,reason" lines; an absent file is an empty list. False, with a message on stderr,
 * if a line has fewer fields. */
bool gauntlet_known_read(const char *path, gauntlet_known_list *list);
void gauntlet_known_free(gauntlet_known_list *list);
/* Marks the failures that are listed, and the entries that failed. */
void gauntlet_known_mark(gauntlet_known_list *list, const char *character, const char *motion, const char *method,
                         gauntlet_verdict *verdict);
/* Writes all failures of the rows and of `totals` (may be NULL), with the reasons of the list, and the entries of the
 * list whose rows were not run. */
bool gauntlet_known_write(const char *path, const gauntlet_known_list *list, const gauntlet_row *rows, int32_t count,
                          const gauntlet_verdict *totals);
/* Whether the row of an entry is among the rows. */
bool gauntlet_known_ran(const gauntlet_known *known, const gauntlet_row *rows, int32_t count);

/* --- gauntlet_summary.c --- */

enum { GAUNTLET_METHODS = 8, GAUNTLET_BOUNDS = 64 };
typedef enum gauntlet_status { GAUNTLET_PASSED, GAUNTLET_KNOWN, GAUNTLET_FAILED } gauntlet_status;
gauntlet_status gauntlet_status_of(const gauntlet_verdict *verdict);
/* Counts of one method in one half. */
typedef struct gauntlet_cell {
    int32_t cases, failed, known;
    int32_t by_bound[GAUNTLET_BOUNDS]; /* rows that exceed bounds[i] */
} gauntlet_cell;
/* A total over all cases of projective. */
typedef struct gauntlet_total {
    char name[32];
    double value, limit; /* the value is to be at least the limit */
    bool measured, holds;
} gauntlet_total;
enum { GAUNTLET_TOTALS = 9 };
typedef struct gauntlet_summary {
    int32_t method_count, bound_count;
    char methods[GAUNTLET_METHODS][16];
    char bounds[GAUNTLET_BOUNDS][32];
    gauntlet_cell cells[GAUNTLET_METHODS][2];
    gauntlet_total totals[GAUNTLET_TOTALS];
} gauntlet_summary;
gauntlet_summary gauntlet_summarize(const gauntlet_row *rows, int32_t count);
/* The totals as a verdict, for the list of known failures. */
gauntlet_verdict gauntlet_judge_totals(const gauntlet_summary *summary);

/* --- gauntlet_html.c --- */

/* One page with the summary and the failing rows, worst first, the first `options->pictures` with pictures. False, with
 * a message on stderr, if it cannot be written. */
bool gauntlet_write_page(const gauntlet_options *options, const gauntlet_source *sources, const gauntlet_row *rows,
                         int32_t count, const gauntlet_summary *summary);

#endif

/* output.h - files out. Part of supple_io.
 *
 * .glb (the input document with the motion as morph targets), .pc2 and .mdd (point caches), .obj (a sequence,
 * NAME_0000.obj ...). Files are written beside their place and renamed when whole. Vertices stand in the character's
 * order, all parts one after another, in the world space of its file (Y up for glTF). */
#ifndef SUPPLE_OUTPUT_H
#define SUPPLE_OUTPUT_H

#include "supple/deform.h"

typedef struct sup_cache_def {
    int32_t frame_count;
    double fps;        /* frames per second of the motion, 0 = 30 */
    double start_time; /* seconds, of the first frame: for point caches; a GLB plays from 0 */
    bool normals;      /* write morphed normals where the format has them; the default def says true */
    const char *name;  /* of the motion, for formats that name it; NULL = "motion". Read while opening */
} sup_cache_def;

SUP_API sup_cache_def sup_default_cache_def(void);

/* Frames go in one after another; the file is in place after sup_cache_finish and not before. The format is told by
 * the ending of `path`. The character must outlive the writer. */
typedef struct sup_cache_writer sup_cache_writer;
SUP_API sup_result sup_cache_open(const sup_context *context, const char *path, const sup_character *character,
                                  const sup_cache_def *def, sup_cache_writer **writer, sup_error *error);
/* positions [vertex_count*3], normals [vertex_count*3] or NULL, in the character's order, world space of its file.
 * Normals may be NULL in all frames but not in some; with def.normals false those of the first frame stay as they are.
 * A number that is not finite is refused with its frame and vertex. After a failure only finish or abandon remain. */
SUP_API sup_result sup_cache_write(sup_cache_writer *writer, const float *positions, const float *normals,
                                   sup_error *error);
/* Writes what is left, renames, frees; exactly def.frame_count frames must be there. On failure nothing is left behind
 * and an older file is untouched. */
SUP_API sup_result sup_cache_finish(sup_cache_writer *writer, sup_error *error);
/* Gives up: removes what was written, frees. */
SUP_API void sup_cache_abandon(sup_cache_writer *writer);

/* A model as a file, for sup_model_load_file: there whole or not at all, an older file untouched on failure. */
SUP_API sup_result sup_model_save(const sup_model *model, const char *path, sup_error *error);

/* The character itself as a GLB, from its own data: nodes, skins, weights, parts, morph targets, clips, the surfaces
 * under the skin (attributes _MUSCLE, _BONE and _ATTACHMENT), extras. sup_load gives the same again, but for what glTF has no words
 * for: parts without vertices and clips without channels are left out, mesh and material numbers are counted anew, a
 * vertex' weights add up to 1, keys at one time stand
 * just after each other, clips start no earlier than 0. Materials are plain ones, a
 * colour for each: pictures of the document it came with are not taken along. A part on a node that has another part
 * already, or that stands before that of the part before it, gets a child node of its own, so that vertices keep their
 * order. A skin of which a part has no weights at all is refused: sup_rig_create makes weights. */
SUP_API sup_result sup_character_save(const sup_context *context, const sup_character *character, const char *path,
                                      sup_error *error);

/* The bytes of a file that is in memory. */
typedef struct sup_memory_file sup_memory_file;
SUP_API sup_result sup_character_save_memory(const sup_context *context, const sup_character *character,
                                             sup_memory_file **file, sup_error *error);
SUP_API sup_bytes sup_memory_file_bytes(const sup_memory_file *file);
SUP_API void sup_memory_file_destroy(sup_memory_file *file);

/* What a rig made of a character, as a GLB that any program skins: all parts in the bind pose on one skin over all joints,
 * with the rig's weights (those of bone heat where it made them), and the clips. Morph targets stay behind. */
SUP_API sup_result sup_rig_save(const sup_context *context, const sup_rig *rig, const char *path, sup_error *error);

/* A whole motion in one call. */
typedef struct sup_bake_def {
    /* NULL = the model's, or the default method (sup_method_at(0)); a character that this one refuses is then skinned by
     * "linear", with a warning in the log. */
    const sup_method *method;
    const double *values;    /* [method->param_count], NULL = the model's, or defaults */
    const sup_paint *paints; /* of the character's vertices, in the maps of the method */
    int32_t paint_count;
    const char *setup; /* sup_bind_def.setup; NULL = none */
    size_t setup_size;
    const sup_rig_def *rig; /* NULL = defaults */
    /* Bound before, for this character: neither rig nor method are made again. Values that differ from the model's must
     * be of live parameters. NULL: bind now. */
    const sup_model *model;
    const sup_collider *colliders; /* [collider_count] in the way of the skin; NULL = none */
    int32_t collider_count;
    const sup_clip *clip; /* NULL = the character's first clip; a character without one gives its rest pose */
    double fps;           /* 0 = 30 */
    int32_t first_frame;  /* of the clip, from 0 */
    int32_t frame_count;  /* 0 = to the end */
    bool no_normals;
    sup_progress_fn *progress;
    void *progress_user;
} sup_bake_def;

/* All defaults: the whole first clip at 30 frames per second, with normals. */
SUP_API sup_bake_def sup_default_bake_def(void);

typedef struct sup_bake_stats {
    const sup_method *method; /* that was used */
    int32_t frame_count, vertex_count;
    double bind_ms;  /* rig and bind */
    double step_ms;  /* mean per frame, pose and skinning alone */
    double write_ms; /* whole, writing */
    uint64_t bytes;  /* written */
} sup_bake_stats;

/* `def` NULL = sup_default_bake_def(). The output is opened first, so a path that cannot be written fails at once; the
 * first frame starts at rest in its pose. */
SUP_API sup_result sup_bake(const sup_context *context, const sup_character *character, const sup_bake_def *def,
                            const char *path, sup_bake_stats *stats, sup_error *error);

#endif

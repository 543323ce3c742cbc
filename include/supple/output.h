/* output.h - file writers. Part of supple_io.
 *
 * .glb (the input document with the motion as morph targets), .pc2 and .mdd (point caches), .obj (a sequence,
 * NAME_0000.obj ...). Files are written under a temporary name in the target folder and renamed when complete. Vertices
 * are in the character's order, primitive by primitive, in the world space of its file (Y up for glTF). */
#ifndef SUPPLE_OUTPUT_H
#define SUPPLE_OUTPUT_H

#include "supple/deform.h"

typedef struct sup_cache_def {
    int32_t frame_count;
    double fps;        /* frames per second of the motion, 0 = 30 */
    double start_time; /* seconds, time of the first frame in point caches; a GLB starts at 0 */
    bool normals;      /* write morphed normals if the format supports them; default true */
    const char *name;  /* of the motion, for formats that store it; NULL = "motion". Only read by sup_cache_open */
} sup_cache_def;

SUP_API sup_cache_def sup_default_cache_def(void);

/* Writes frames in order; the file appears at `path` in sup_cache_finish, not earlier. The file extension of `path`
 * selects the format. The character must outlive the writer. */
typedef struct sup_cache_writer sup_cache_writer;
SUP_API sup_result sup_cache_open(const sup_context *context, const char *path, const sup_character *character,
                                  const sup_cache_def *def, sup_cache_writer **writer, sup_error *error);
/* positions [vertex_count*3], normals [vertex_count*3] or NULL, in the character's order, world space of its file.
 * Normals are given for all frames or for none; with def.normals false the normals of the first frame are used for all
 * frames. A non-finite value fails with its frame and vertex. After a failure only finish and abandon may be called. */
SUP_API sup_result sup_cache_write(sup_cache_writer *writer, const float *positions, const float *normals,
                                   sup_error *error);
/* Writes buffered data, renames the file and frees the writer; exactly def.frame_count frames must have been written.
 * On failure no file remains and an older file is unchanged. */
SUP_API sup_result sup_cache_finish(sup_cache_writer *writer, sup_error *error);
/* Cancels: removes the temporary file and frees the writer. */
SUP_API void sup_cache_abandon(sup_cache_writer *writer);

/* Writes a model for sup_model_load_file. Atomic: on failure an older file is unchanged. */
SUP_API sup_result sup_model_save(const sup_model *model, const char *path, sup_error *error);

/* Writes the character itself as a GLB: nodes, skins, weights, primitives, morph targets, clips, the surfaces under the
 * skin (attributes _MUSCLE, _BONE and _ATTACHMENT) and extras. sup_load returns the same character except for what glTF
 * cannot represent: primitives without vertices and clips without channels are dropped, meshes and materials are
 * renumbered, the weights of a vertex sum to 1, keys with equal times are moved apart by the smallest float step, clips
 * start at 0 or later. Each material is written as a plain colour; textures of the source document are not copied. A
 * primitive gets a child node of its own when its node already has a mesh, or when its node index is lower than that of
 * the previous primitive, so that the vertex order is kept. A skinned primitive without any weights fails:
 * sup_rig_create computes weights. */
SUP_API sup_result sup_character_save(const sup_context *context, const sup_character *character, const char *path,
                                      sup_error *error);

/* The bytes of a file in memory. */
typedef struct sup_memory_file sup_memory_file;
SUP_API sup_result sup_character_save_memory(const sup_context *context, const sup_character *character,
                                             sup_memory_file **file, sup_error *error);
SUP_API sup_bytes sup_memory_file_bytes(const sup_memory_file *file);
SUP_API void sup_memory_file_destroy(sup_memory_file *file);

/* Writes a rig as a GLB for use in other programs: all primitives in the bind pose on one skin over all joints, with
 * the rig's weights (bone heat weights where it computed them), and the clips. Morph targets are not written. */
SUP_API sup_result sup_rig_save(const sup_context *context, const sup_rig *rig, const char *path, sup_error *error);

/* Bakes a whole motion in one call. */
typedef struct sup_bake_def {
    /* NULL = the model's, or the default method (sup_method_at(0)); if the default method rejects the character,
     * "linear" is used with a warning in the log. */
    const sup_method *method;
    const double *values;    /* [method->param_count], NULL = the model's, or defaults */
    const sup_paint *paints; /* per character vertex, for maps of the method */
    int32_t paint_count;
    const char *setup; /* sup_bind_def.setup; NULL = none */
    size_t setup_size;
    const sup_rig_def *rig; /* NULL = defaults */
    /* A model already bound for this character: rig and bind are skipped. Values that differ from the model's must
     * belong to live parameters. NULL: bind now. */
    const sup_model *model;
    const sup_collider *colliders; /* [collider_count] scene colliders; NULL = none */
    int32_t collider_count;
    const sup_clip *clip; /* NULL = the character's first clip; without a clip the rest pose is baked */
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
    double step_ms;  /* mean per frame, pose and skinning only */
    double write_ms; /* total write time */
    uint64_t bytes;  /* written */
} sup_bake_stats;

/* `def` NULL = sup_default_bake_def(). The output is opened first, so a path that cannot be written fails immediately.
 * The simulation starts at rest in the pose of the first frame. */
SUP_API sup_result sup_bake(const sup_context *context, const sup_character *character, const sup_bake_def *def,
                            const char *path, sup_bake_stats *stats, sup_error *error);

#endif

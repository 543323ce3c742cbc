/* load.h - file readers. Part of supple_io.
 *
 * .gltf .glb (characters), .obj .off .ply .stl (meshes), .skel .bvh (skeletons; BVH with its motion), .ini (mesh,
 * skeleton and motions of Fast Projective Skinning). Other formats: sup_load_def.other. */
#ifndef SUPPLE_LOAD_H
#define SUPPLE_LOAD_H

#include "supple/character.h"
#include "supple/method.h"
#include "supple/model.h"
#include "supple/pose.h"

/* Reads the files that a file refers to. Zero: the file system, relative to the folder of the first file. `read`
 * returns SUP_OK and memory of `allocator`; size 0 is allowed. */
typedef struct sup_file_reader {
    sup_result (*read)(void *user, const char *path, const sup_allocator *allocator, void **data, size_t *size,
                       sup_error *error);
    void *user;
} sup_file_reader;

/* A reader for file extensions that the library does not support (the supple program passes Assimp's reader). Returns
 * SUP_ERROR_UNSUPPORTED for extensions that it does not support either. */
typedef sup_result sup_other_reader_fn(void *user, const sup_context *context, const char *name, sup_bytes bytes,
                                       sup_character **character, sup_error *error);

typedef struct sup_load_def {
    const char *skeleton; /* path of a .skel or .bvh for a mesh file, or NULL */
    sup_file_reader reader;
    sup_other_reader_fn *other; /* or NULL */
    void *other_user;
} sup_load_def;

SUP_API sup_load_def sup_default_load_def(void);

/* The file extension selects the format. `def` may be NULL. */
SUP_API sup_result sup_load(const sup_context *context, const char *path, const sup_load_def *def,
                            sup_character **character, sup_error *error);

/* The same from memory; `name` gives the file extension and is the location in error messages. */
SUP_API sup_result sup_load_memory(const sup_context *context, const char *name, sup_bytes bytes,
                                   const sup_load_def *def, sup_character **character, sup_error *error);

/* Loads a motion file (.bvh, .anim, or any character file with a clip) as a clip for `target`: .anim matches joints by
 * order, all other formats are retargeted by joint names (sup_retarget). `def` and `retarget` may be NULL. */
SUP_API sup_result sup_load_motion(const sup_context *context, const char *path, const sup_load_def *def,
                                   const sup_character *target, const sup_retarget_def *retarget, sup_clip **clip,
                                   sup_error *error);

/* A point cache (.pc2, .mdd): the position of every vertex in every frame. */
typedef struct sup_cache {
    int32_t frame_count, vertex_count;
    double start_time, fps; /* .mdd: seconds and frames per second; .pc2: start frame and frames per sample */
    const float *positions; /* [frame_count*vertex_count*3] */
    struct sup_cache_storage *storage; /* internal */
} sup_cache;

/* `vertex_count` is the required number of vertices, 0 for any. Non-finite positions are kept: sup_measurer_frame
 * counts them. */
SUP_API sup_result sup_cache_load(const sup_context *context, const char *path, int32_t vertex_count, sup_cache **cache,
                                  sup_error *error);
SUP_API void sup_cache_destroy(sup_cache *cache);

/* Loads a model that sup_model_save wrote. Fails with a specific error id when the file is truncated, damaged, of
 * another version or of a method that this library does not have. */
SUP_API sup_result sup_model_load_file(const sup_context *context, const char *path, sup_model **model,
                                       sup_error *error);

/* Loads a joint map for sup_retarget_def from a text file: one pair per line, "target_joint = source_joint"; "#" starts
 * a comment; "target_joint = -" keeps the joint in its rest pose. */
SUP_API sup_result sup_joint_map_load(const sup_context *context, const char *path, sup_joint_map **map,
                                      sup_error *error);
SUP_API void sup_joint_map_destroy(sup_joint_map *map);

/* Settings as saved by Supple Studio: a method, its parameters and its painted maps. */
typedef struct sup_settings {
    const sup_method *method;
    const double *values;    /* [method->param_count] */
    const sup_paint *paints; /* [paint_count] maps of the method */
    int32_t paint_count;
    int32_t vertex_count; /* values per paint = vertex count of the character that was painted; 0 without paints */
} sup_settings;

/* Reads JSON: {"method": NAME, "settings": {NAME: VALUE, ...}, "paints": {MAP: [NUMBER, ...], ...}}, one number per
 * vertex. Parameters that are not listed keep their defaults. */
SUP_API sup_result sup_settings_load(const sup_context *context, const char *path, sup_settings **settings,
                                     sup_error *error);
/* The same from memory; `name` is the location in error messages. */
SUP_API sup_result sup_settings_load_memory(const sup_context *context, const char *name, sup_bytes bytes,
                                            sup_settings **settings, sup_error *error);
SUP_API void sup_settings_destroy(sup_settings *settings);

#endif

/* load.h - files in. Part of supple_io.
 *
 * .gltf .glb (characters), .obj .off .ply .stl (meshes), .skel .bvh (skeletons, BVH with its motion),
 * .ini (mesh, skeleton and motions of Fast Projective Skinning). Others through sup_load_def.other. */
#ifndef SUPPLE_LOAD_H
#define SUPPLE_LOAD_H

#include "supple/character.h"
#include "supple/method.h"
#include "supple/model.h"
#include "supple/pose.h"

/* How other files that a file names are reached. Zero means the file system, beside the first file.
 * `read` returns SUP_OK and memory from `allocator`, size 0 allowed. */
typedef struct sup_file_reader {
    sup_result (*read)(void *user, const char *path, const sup_allocator *allocator, void **data, size_t *size,
                       sup_error *error);
    void *user;
} sup_file_reader;

/* A reader of further formats, for endings that the library does not know (the supple program passes Assimp's).
 * Returns SUP_ERROR_UNSUPPORTED for endings that it does not know either. */
typedef sup_result sup_other_reader_fn(void *user, const sup_context *context, const char *name, sup_bytes bytes,
                                       sup_character **character, sup_error *error);

typedef struct sup_load_def {
    const char *skeleton; /* path of a .skel or .bvh for a mesh file, or NULL */
    sup_file_reader reader;
    sup_other_reader_fn *other; /* or NULL */
    void *other_user;
} sup_load_def;

SUP_API sup_load_def sup_default_load_def(void);

/* The format is told by the ending. `def` may be NULL. */
SUP_API sup_result sup_load(const sup_context *context, const char *path, const sup_load_def *def,
                            sup_character **character, sup_error *error);

/* The same from memory; `name` gives the ending and the place that messages speak of. */
SUP_API sup_result sup_load_memory(const sup_context *context, const char *name, sup_bytes bytes,
                                   const sup_load_def *def, sup_character **character, sup_error *error);

/* A motion file (.bvh, .anim, or any character file with a clip) as a clip for `target`: .anim goes by joint
 * order, everything else is retargeted by joint names (sup_retarget). `def` and `retarget` may be NULL. */
SUP_API sup_result sup_load_motion(const sup_context *context, const char *path, const sup_load_def *def,
                                   const sup_character *target, const sup_retarget_def *retarget, sup_clip **clip,
                                   sup_error *error);

/* A point cache (.pc2, .mdd): where every vertex is in every frame. */
typedef struct sup_cache {
    int32_t frame_count, vertex_count;
    double start_time, fps;            /* of an .mdd; a .pc2 counts in frames: start and frames per sample */
    const float *positions;            /* [frame_count*vertex_count*3] */
    struct sup_cache_storage *storage; /* the library's own */
} sup_cache;

/* `vertex_count` is what the cache must have, 0 for any. Numbers that are not finite are kept: measuring counts them. */
SUP_API sup_result sup_cache_load(const sup_context *context, const char *path, int32_t vertex_count, sup_cache **cache,
                                  sup_error *error);
SUP_API void sup_cache_destroy(sup_cache *cache);

/* A model that sup_model_save wrote. Refused by name when it is cut short, damaged, of another version or of a method that
 * this library does not have. */
SUP_API sup_result sup_model_load_file(const sup_context *context, const char *path, sup_model **model,
                                       sup_error *error);

/* A joint map for sup_retarget_def from its text: a line a pair, "target_joint = source_joint"; "#" comments;
 * "target_joint = -" leaves the joint in its rest pose. */
SUP_API sup_result sup_joint_map_load(const sup_context *context, const char *path, sup_joint_map **map,
                                      sup_error *error);
SUP_API void sup_joint_map_destroy(sup_joint_map *map);

/* What Supple Studio saves: a method, its parameters and what was painted. */
typedef struct sup_settings {
    const sup_method *method;
    const double *values;    /* [method->param_count] */
    const sup_paint *paints; /* [paint_count] maps of the method */
    int32_t paint_count;
    int32_t vertex_count; /* numbers in each paint, 0 without paint: those of the character it was made for */
} sup_settings;

/* From JSON, {"method": NAME, "settings": {NAME: VALUE, ...}, "paints": {MAP: [NUMBER, ...], ...}}, a number a vertex. What is
 * not named has its default. */
SUP_API sup_result sup_settings_load(const sup_context *context, const char *path, sup_settings **settings,
                                     sup_error *error);
/* The same from memory; `name` is the place that messages speak of. */
SUP_API sup_result sup_settings_load_memory(const sup_context *context, const char *name, sup_bytes bytes,
                                            sup_settings **settings, sup_error *error);
SUP_API void sup_settings_destroy(sup_settings *settings);

#endif

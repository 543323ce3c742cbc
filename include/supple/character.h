/* character.h - a character as its file has it: nodes, parts, bones, weights, clips. Plain data to read.
 *
 * A character comes from a file (load.h), from a built-in scene (scenes.h) or from arrays (sup_character_create).
 * All vertices of all parts stand in one order, which every output keeps: parts by node index, primitives in order,
 * vertices in accessor order. Indices are int32_t, -1 means none. */
#ifndef SUPPLE_CHARACTER_H
#define SUPPLE_CHARACTER_H

#include "supple/math.h"

/* One node of the scene: a joint, a mesh, a helper, or several of them. Node indices are the file's own. */
typedef struct sup_node {
    const char *name;   /* "" when the file has none */
    int32_t parent;     /* node, -1 for a root */
    sup_transform rest; /* local transform in the file's rest pose */
    bool is_joint;      /* some bone uses it, or it is part of a bare skeleton */
} sup_node;

/* A joint as a skin sees it. Bone b moves a vertex v by world(node) * inverse_bind * v. */
typedef struct sup_bone {
    int32_t node;
    sup_mat34 inverse_bind; /* mesh space -> joint space */
} sup_bone;

/* A set of bones: those in [bone_first, bone_first + bone_count). */
typedef struct sup_skin {
    const char *name;
    int32_t bone_first, bone_count;
} sup_skin;

/* One primitive of one mesh at one node: what has one material and one set of vertex arrays. */
typedef struct sup_primitive {
    const char *name;        /* of the mesh, or of the node when the mesh has none */
    int32_t node;            /* node that carries the mesh */
    int32_t mesh, primitive; /* indices in the file */
    int32_t skin;            /* -1: rigid, moves with its node */
    int32_t material;        /* index in the file, -1 for none */
    int32_t vertex_first, vertex_count;
    int32_t triangle_first, triangle_count;
} sup_primitive;

/* A morph target of the input: offsets of one part's vertices before skinning. */
typedef struct sup_morph {
    const char *name;
    int32_t part;
    int32_t weight; /* index into sup_pose.morph_weights: targets of one mesh instance share them */
    float default_weight;
    const float *positions; /* [part.vertex_count*3] offsets, mesh space, or NULL */
    const float *normals;   /* [part.vertex_count*3] offsets, or NULL */
} sup_morph;

typedef enum sup_channel_target {
    SUP_CHANNEL_TRANSLATION, /* 3 values a key */
    SUP_CHANNEL_ROTATION,    /* 4 values a key, quaternion x y z w */
    SUP_CHANNEL_SCALE,       /* 3 values a key */
    SUP_CHANNEL_MORPH        /* 1 value a key: the weight of one morph slot */
} sup_channel_target;

typedef enum sup_interpolation {
    SUP_INTERPOLATE_STEP,
    SUP_INTERPOLATE_LINEAR,
    SUP_INTERPOLATE_CUBIC
} sup_interpolation;

typedef struct sup_channel {
    sup_channel_target target;
    int32_t index; /* node, or morph weight slot for SUP_CHANNEL_MORPH */
    sup_interpolation interpolation;
    int32_t key_count;   /* at least 1 */
    const float *times;  /* [key_count] seconds, increasing */
    const float *values; /* [key_count*n]; cubic: [key_count*3*n], in-tangent, value, out-tangent as in glTF */
} sup_channel;

typedef struct sup_clip {
    const char *name;
    float start, end; /* seconds, from the keys */
    int32_t channel_count;
    const sup_channel *channels;
} sup_clip;

typedef struct sup_character {
    const char *name;
    float unit_metres; /* length of one unit in metres when the format says so, else 0 */

    int32_t node_count;
    const sup_node *nodes;
    const int32_t *node_order; /* [node_count] parents before children */

    int32_t bone_count, skin_count;
    const sup_bone *bones;
    const sup_skin *skins;

    int32_t primitive_count;
    const sup_primitive *primitives;

    int32_t vertex_count;
    const float *positions; /* [vertex_count*3] mesh space */
    const float *normals;   /* [vertex_count*3] unit, or NULL when no part has normals; zero where a part has none */
    const float *tangents;  /* [vertex_count*4] w = handedness, or NULL; zero where a part has none */
    const float *texcoords; /* [vertex_count*2] first set, or NULL */
    /* Surfaces under the skin, vertex by vertex: the line from skin to muscle to bone (method "anatomy"). A vertex that
     * has nothing under it has its own position in both. */
    const float *muscle_positions; /* [vertex_count*3] mesh space, or NULL */
    const float *bone_positions;   /* [vertex_count*3] mesh space, or NULL */
    const int32_t
        *bone_attachments; /* [vertex_count] bone that the bone surface goes with here, -1: it slides over joints and
                                  * organs; NULL: the influences say */
    int32_t triangle_count;
    const int32_t *triangles; /* [triangle_count*3] character-wide vertex indices */

    /* Influences of vertex v are [influence_first[v], influence_first[v+1]): as the file has them, not repaired.
     * A vertex of a part without a skin has none. */
    const int32_t *influence_first; /* [vertex_count+1] */
    const int32_t *influence_bone;  /* character-wide bone indices, in range */
    const float *influence_weight;

    int32_t morph_count, morph_weight_count;
    const sup_morph *morphs;

    int32_t clip_count;
    const sup_clip *clips;

    const char *extras; /* JSON text of the asset's own extras (glTF's asset.extras), or NULL */

    /* What must survive the trip: the glTF document and its buffers, for the writers. NULL for other formats. */
    const struct sup_document *document;
    struct sup_character_storage *storage; /* the library's own */
} sup_character;

/* A character from arrays: fill a sup_character with pointers of your own (unused ones NULL, node_order and
 * storage ignored) and it is checked and copied. */
SUP_API sup_result sup_character_create(const sup_context *context, const sup_character *source,
                                        sup_character **character, sup_error *error);
SUP_API void sup_character_destroy(sup_character *character);

/* The mesh of one character on the skeleton of another (a mesh file and a .skel). The parts get a skin over all
 * of the skeleton's joints, with the bind pose as they stand and no influences: the rig makes the weights. */
SUP_API sup_result sup_character_join(const sup_context *context, const sup_character *mesh,
                                      const sup_character *skeleton, sup_character **character, sup_error *error);

/* -1 when no node (clip) has that name. */
SUP_API int32_t sup_character_find_node(const sup_character *character, const char *name);
SUP_API int32_t sup_character_find_clip(const sup_character *character, const char *name);

/* A clip made outside a character, such as a retargeted motion. */
SUP_API void sup_clip_destroy(sup_clip *clip);

#endif

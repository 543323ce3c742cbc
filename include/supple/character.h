/* character.h - a character as stored in its file: nodes, primitives, bones, weights, clips. Plain data, read-only.
 *
 * A character comes from a file (load.h), from a built-in scene (scenes.h) or from arrays (sup_character_create). The
 * vertices of all primitives are in one order, which every output keeps: by node index, then by primitive of the node's
 * mesh, then by accessor order. Indices are int32_t, -1 means none. */
#ifndef SUPPLE_CHARACTER_H
#define SUPPLE_CHARACTER_H

#include "supple/math.h"

/* One node of the scene: a joint, a mesh node, a helper, or a combination. Node indices are the file's own. */
typedef struct sup_node {
    const char *name;   /* "" when the file has none */
    int32_t parent;     /* node, -1 for a root */
    sup_transform rest; /* local transform in the file's rest pose */
    bool is_joint;      /* a bone refers to it, or the file is a skeleton without a mesh */
} sup_node;

/* A joint of a skin. Bone b transforms a vertex v by world(node) * inverse_bind * v. */
typedef struct sup_bone {
    int32_t node;
    sup_mat34 inverse_bind; /* mesh space -> joint space */
} sup_bone;

/* A set of bones: [bone_first, bone_first + bone_count). */
typedef struct sup_skin {
    const char *name;
    int32_t bone_first, bone_count;
} sup_skin;

/* One primitive of one mesh at one node: one material and one set of vertex arrays. */
typedef struct sup_primitive {
    const char *name;      /* of the mesh, or of the node when the mesh has none */
    int32_t node;          /* node of the mesh */
    int32_t mesh;          /* index in the file */
    int32_t index_in_mesh; /* of the primitive, in the file's mesh */
    int32_t skin;          /* -1: rigid, follows its node */
    int32_t material;      /* index in the file, -1 for none */
    int32_t vertex_first, vertex_count;
    int32_t triangle_first, triangle_count;
} sup_primitive;

/* A morph target of the input: vertex offsets of one primitive, applied before skinning. */
typedef struct sup_morph {
    const char *name;
    int32_t primitive;
    int32_t weight; /* index into sup_pose.morph_weights; shared by the primitives of one mesh instance */
    float default_weight;
    const float *positions; /* [primitive.vertex_count*3] offsets, mesh space, or NULL */
    const float *normals;   /* [primitive.vertex_count*3] offsets, or NULL */
} sup_morph;

typedef enum sup_channel_target {
    SUP_CHANNEL_TRANSLATION, /* 3 values per key */
    SUP_CHANNEL_ROTATION,    /* 4 values per key, quaternion x y z w */
    SUP_CHANNEL_SCALE,       /* 3 values per key */
    SUP_CHANNEL_MORPH        /* 1 value per key: the weight of one morph slot */
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
    float unit_metres; /* length of one unit in metres if the format specifies it, else 0 */

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
    const float *normals;   /* [vertex_count*3] unit length, or NULL; zero where a primitive has none */
    const float *tangents;  /* [vertex_count*4] w = handedness, or NULL; zero where a primitive has none */
    const float *texcoords; /* [vertex_count*2] first set, or NULL */
    /* Surfaces under the skin, per vertex: the line from skin to muscle to bone (method "anatomy"). A vertex without
     * tissue under it has its own position in both. */
    const float *muscle_positions; /* [vertex_count*3] mesh space, or NULL */
    const float *bone_positions;   /* [vertex_count*3] mesh space, or NULL */
    /* [vertex_count] bone that the bone surface is attached to; -1: not attached, it slides over joints and organs.
     * NULL: use the influences. */
    const int32_t *bone_attachments;
    int32_t triangle_count;
    const int32_t *triangles; /* [triangle_count*3] character-wide vertex indices */

    /* Influences of vertex v are [influence_first[v], influence_first[v+1]): as stored in the file, not repaired. A
     * vertex of a primitive without a skin has none. */
    const int32_t *influence_first; /* [vertex_count+1] */
    const int32_t *influence_bone;  /* character-wide bone indices, in range */
    const float *influence_weight;

    int32_t morph_count, morph_weight_count;
    const sup_morph *morphs;

    int32_t clip_count;
    const sup_clip *clips;

    const char *extras; /* JSON text of glTF's asset.extras, or NULL */

    /* The source glTF document and its buffers, for the writers. NULL for other formats. */
    const struct sup_document *document;
    struct sup_character_storage *storage; /* internal */
} sup_character;

/* Creates a character from arrays: fill a sup_character with your pointers (NULL where unused; node_order and storage
 * are ignored). The arrays are checked and copied. */
SUP_API sup_result sup_character_create(const sup_context *context, const sup_character *source,
                                        sup_character **character, sup_error *error);
SUP_API void sup_character_destroy(sup_character *character);

/* Joins the mesh of one character with the skeleton of another (a mesh file and a .skel). Each primitive gets a skin
 * over all joints of the skeleton, bound in the current pose, without influences: sup_rig_create computes the
 * weights. */
SUP_API sup_result sup_character_join(const sup_context *context, const sup_character *mesh,
                                      const sup_character *skeleton, sup_character **character, sup_error *error);

/* -1 when no node (clip) has that name. */
SUP_API int32_t sup_character_find_node(const sup_character *character, const char *name);
SUP_API int32_t sup_character_find_clip(const sup_character *character, const char *name);

/* Frees a clip that does not belong to a character, such as a retargeted motion. */
SUP_API void sup_clip_destroy(sup_clip *clip);

#endif

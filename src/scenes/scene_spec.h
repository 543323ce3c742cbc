/* scene_spec.h (internal) - a built-in character as tables (shapes, joints, motions), and the functions that build it.
 *
 * A name that begins with '*' is a pair: "*hand" is left_hand and right_hand, the right one mirrored at x = 0. */
#ifndef SUP_SCENES_SCENE_SPEC_H
#define SUP_SCENES_SCENE_SPEC_H

#include "math/affine.h"
#include "scenes/sculpt.h"
#include "supple/scenes.h"

enum { SUP_JOINTS_MAX = 96, SUP_NAME_MAX = 32, SUP_INFLUENCES_MAX = 4 };

typedef struct sup_range {
    double low, high; /* degrees */
} sup_range;

/* A joint; its rest rotation is the identity. It rotates by a twist about its bone, then a swing about one axis, then a
 * flex about another: rotation = flex * swing * twist. */
typedef struct sup_joint_spec {
    const char *name, *parent;
    sup_vec3d at, toward; /* the bone from `at` to `toward`, rest position */
    sup_vec3d flex_axis, swing_axis;
    sup_range flex, swing, twist;
    int32_t region;  /* skin region of the joint */
    double shift;    /* distance along the bone where its skin begins */
    double blend;    /* half the length of the transition from the parent's skin weights */
    sup_vec3d plane; /* direction of the transition; zero = along the bone */
} sup_joint_spec;

/* An additional primitive with its own shapes: rigid ones are props on their own node, others are skinned to one
 * joint. */
typedef struct sup_extra_spec {
    const char *name, *joint;
    bool rigid;
    double vertex_target, cell;
    sup_vec3d lower, upper;
    int32_t shape_first, shape_count; /* in extra_shapes */
} sup_extra_spec;

typedef struct sup_motion_key {
    const char *joint;
    double time, flex, swing, twist; /* seconds, degrees */
} sup_motion_key;

typedef struct sup_root_key {
    double time, x, y, z; /* seconds; translation of the root joint from rest, metres */
} sup_root_key;

typedef enum sup_foot_mode {
    SUP_FEET_FREE,      /* the root follows its keys */
    SUP_FEET_ON_GROUND, /* also moves the root vertically until the lowest contact point is on the floor */
    SUP_FEET_PLANTED    /* also keeps the feet at their positions and the soles level */
} sup_foot_mode;

typedef struct sup_motion {
    const char *name;
    double duration, rate; /* seconds, keys per second */
    bool loop;             /* the last key equals the first, interpolation wraps around */
    bool alternate;        /* the right side of "*" keys is delayed by half a period */
    sup_foot_mode foot_mode;
    const sup_motion_key *keys; /* keys of one joint are consecutive, in time order */
    int32_t key_count;
    const sup_root_key *root_keys;
    int32_t root_key_count;
} sup_motion;

/* A contact point with the floor, attached to a joint. */
typedef struct sup_floor_point {
    const char *joint;
    sup_vec3d at;
} sup_floor_point;

enum { SUP_MOTIONS_MAX = 16, SUP_CONTACTS_MAX = 16, SUP_EXTRAS_MAX = 4, SUP_EXTRA_SHAPES_MAX = 16 };

/* A local coordinate frame: unit axes and origin. */
typedef struct sup_local_frame {
    sup_vec3d origin, x, y, z;
} sup_local_frame;

/* A bone or a muscle under the skin. */
typedef struct sup_organ_spec {
    const char *name;
    bool is_muscle;
    bool is_hollow;    /* not a mesh of its own; bounds the muscle layer: the organs of the belly */
    const char *joint; /* that it is attached to; NULL: sliding */
    double reach;      /* metres; the tissue slides over the organ within this distance of an end of the joint's bone */
    const sup_local_frame *frame; /* NULL: the axes of the body */
    const sup_shape *shapes;      /* their regions are ignored */
    int32_t shape_count;
} sup_organ_spec;

typedef struct sup_scene_spec {
    const char *name;
    bool mirrored;
    double vertex_target; /* at resolution 1 */
    double cell;          /* cell size of the isosurface grid: smaller than every gap */
    sup_vec3d lower, upper;
    sup_region regions[SUP_REGIONS_MAX];
    sup_shape shapes[SUP_SHAPES_MAX];
    sup_joint_spec joints[SUP_JOINTS_MAX];
    sup_motion motions[SUP_MOTIONS_MAX];
    sup_floor_point contacts[SUP_CONTACTS_MAX];
    sup_extra_spec extras[SUP_EXTRAS_MAX];
    sup_shape extra_shapes[SUP_EXTRA_SHAPES_MAX];
    const sup_organ_spec *organs; /* [organ_count] */
    int32_t organ_count;
    int32_t region_count, shape_count, joint_count, motion_count, contact_count, extra_count, extra_shape_count;
} sup_scene_spec;

/* Entries of shape tables. */
#define SUP_CONE(in_region, width, edge_length, ax, ay, az, radius_a, bx, by, bz, radius_b)                        \
    {                                                                                                              \
        .kind = SUP_SHAPE_CONE, .region = (in_region), .blend = (width), .edge = (edge_length), .a = {ax, ay, az}, \
        .b = {bx, by, bz}, .ra = (radius_a), .rb = (radius_b)                                                      \
    }
#define SUP_FLAT_CONE(in_region, width, edge_length, ax, ay, az, radius_a, bx, by, bz, radius_b, scale_x, scale_z) \
    {                                                                                                              \
        .kind = SUP_SHAPE_CONE, .region = (in_region), .blend = (width), .edge = (edge_length), .a = {ax, ay, az}, \
        .b = {bx, by, bz}, .ra = (radius_a), .rb = (radius_b), .wide = (scale_x), .deep = (scale_z)                \
    }
/* The second radius is along `up_x up_y up_z`; 0 0 0 means +Y. */
#define SUP_SPHERE(in_region, width, edge_length, x, y, z, rx, ry, rz, up_x, up_y, up_z)                             \
    {                                                                                                                \
        .kind = SUP_SHAPE_ELLIPSOID, .region = (in_region), .blend = (width), .edge = (edge_length), .a = {x, y, z}, \
        .b = {up_x, up_y, up_z}, .wide = (rx), .ra = (ry), .deep = (rz)                                              \
    }
#define SUP_LOFT(in_region, width, edge_length, ax, ay, az, cap_a, bx, by, bz, cap_b, table)                       \
    {                                                                                                              \
        .kind = SUP_SHAPE_LOFT, .region = (in_region), .blend = (width), .edge = (edge_length), .a = {ax, ay, az}, \
        .b = {bx, by, bz}, .ra = (cap_a), .rb = (cap_b), .sections = (table), .section_count = SUP_COUNT(table)    \
    }
#define SUP_MOTION(motion_name, seconds, keys_a_second, is_loop, is_alternate, foot, table)              \
    {                                                                                                    \
        .name = (motion_name), .duration = (seconds), .rate = (keys_a_second), .loop = (is_loop),        \
        .alternate = (is_alternate), .foot_mode = (foot), .keys = (table), .key_count = SUP_COUNT(table) \
    }

void sup_scene_spec_add_shapes(sup_scene_spec *spec, const sup_shape *items, int32_t count);
void sup_scene_spec_add_joints(sup_scene_spec *spec, const sup_joint_spec *items, int32_t count);
void sup_scene_spec_add_regions(sup_scene_spec *spec, const sup_region *items, int32_t count);
void sup_scene_spec_add_motions(sup_scene_spec *spec, const sup_motion *items, int32_t count);
sup_vec3d sup_local_frame_point(const sup_local_frame *frame, sup_vec3d p);
sup_vec3d sup_local_frame_vector(const sup_local_frame *frame, sup_vec3d v);

void sup_scene_spec_add_shapes_in(sup_scene_spec *spec, const sup_local_frame *frame, int32_t region_offset,
                                  const sup_shape *items, int32_t count);
/* Without `sided` the '*' of names is removed. */
void sup_scene_spec_add_joints_in(sup_scene_spec *spec, const sup_local_frame *frame, int32_t region_offset, bool sided,
                                  const sup_joint_spec *items, int32_t count);

/* A hand (hand.c) and an arm (arm.c) in a common frame: x towards the thumb, y towards the fingers, z out of the back
 * of the hand. The hand's origin is the wrist; it appends five finger regions to `palm`, and "*hand" is the parent of
 * its joints. The arm's origin is the shoulder; its shapes belong to `region`, and `parent` is the parent of its
 * joints. */
void sup_scene_spec_add_hand(sup_scene_spec *spec, const sup_local_frame *frame, int32_t palm, bool sided);
void sup_scene_spec_add_arm(sup_scene_spec *spec, const sup_local_frame *frame, int32_t region, bool sided,
                            const char *parent);
extern const double sup_arm_length; /* shoulder to wrist, metres */

/* --- Joints of a spec, with pairs expanded --- */
typedef struct sup_joint {
    char name[SUP_NAME_MAX];
    int32_t parent;
    bool right;
    const sup_joint_spec *spec;
    int32_t region; /* regions of the right side are at [region_count, 2*region_count) */
    sup_vec3d at, toward, flex_axis, swing_axis, twist_axis, plane;
} sup_joint;

typedef struct sup_skeleton {
    int32_t count;
    sup_joint joints[SUP_JOINTS_MAX * 2];
} sup_skeleton;

void sup_skeleton_build(const sup_scene_spec *spec, sup_skeleton *skeleton);
int32_t sup_skeleton_find(const sup_skeleton *skeleton, const char *name); /* -1 for none */

/* Skin weights of one point of the skin: at most SUP_INFLUENCES_MAX joints, largest first, sum 1; returns their
 * number. */
int32_t sup_scene_weights(const sup_scene_spec *spec, const sup_skeleton *skeleton, const sup_sculpture *sculpture,
                          sup_vec3d p, int32_t joints[SUP_INFLUENCES_MAX], float weights[SUP_INFLUENCES_MAX]);

/* A motion as a clip: node j is joint j. False when out of memory. */
bool sup_scene_clip(const sup_scene_spec *spec, const sup_skeleton *skeleton, const sup_motion *motion,
                    sup_arena *arena, sup_clip *clip);

/* One function per character; fills a zeroed spec. */
void sup_scene_spec_cylinder(sup_scene_spec *spec);
void sup_scene_spec_tbone(sup_scene_spec *spec);
void sup_scene_spec_arm(sup_scene_spec *spec);
void sup_scene_spec_hand(sup_scene_spec *spec);
void sup_scene_spec_human(sup_scene_spec *spec);
void sup_scene_spec_elephant(sup_scene_spec *spec);

/* Computes the surfaces under a skin that has weights: casts a ray from each vertex towards its bones until it hits
 * muscles and bones of the spec. Sets muscle_positions, bone_positions and bone_attachments. False when out of
 * memory. */
bool sup_scene_layers(const sup_context *context, const sup_scene_spec *spec, const sup_skeleton *skeleton,
                      const sup_surface *skin, sup_character *character, sup_arena *arena);
/* Builds the organs as a character: one primitive per organ, both sides of pairs. */
sup_result sup_scene_build_organs(const sup_context *context, const sup_scene_spec *spec, bool muscles,
                                  double resolution, sup_character **character, sup_error *error);
/* Meshes the body of a spec with about `vertices` * `resolution` vertices. */
sup_result sup_scene_mesh(const sup_context *context, const sup_scene_spec *spec, const sup_sculpture *sculpture,
                          double vertices, double resolution, sup_surface *surface, sup_error *error);
sup_sculpture_def sup_scene_sculpture(const sup_context *context, const sup_scene_spec *spec);

/* Builds the character of a spec. */
sup_result sup_scene_build(const sup_context *context, const sup_scene_spec *spec, double resolution,
                           sup_character **character, sup_error *error);

#endif

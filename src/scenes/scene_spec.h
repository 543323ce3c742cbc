/* scene_spec.h (internal) - a built-in character as tables: shapes, joints, motions, and how they become a character.
 *
 * Names that begin with '*' stand for two: "*hand" is left_hand and right_hand, the right one mirrored in x = 0. */
#ifndef SUP_SCENES_SCENE_SPEC_H
#define SUP_SCENES_SCENE_SPEC_H

#include "math/affine.h"
#include "scenes/sculpt.h"
#include "supple/scenes.h"

enum { SUP_JOINTS_MAX = 96, SUP_NAME_MAX = 32, SUP_INFLUENCES_MAX = 4 };

typedef struct sup_range {
    double low, high; /* degrees */
} sup_range;

/* A joint at rest; its rest rotation is the identity. It turns by swing about one axis, then flex about another, after
 * a twist about its bone: rotation = flex * swing * twist. */
typedef struct sup_joint_row {
    const char *name, *parent;
    sup_vec3d at, toward; /* the bone runs from `at` to `toward` */
    sup_vec3d flex_axis, swing_axis;
    sup_range flex, swing, twist;
    int32_t region;  /* the skin region it belongs to */
    double shift;    /* its skin begins this far along the bone */
    double blend;    /* half the length over which its parent's skin becomes its own */
    sup_vec3d plane; /* direction in which that happens; zero = along the bone */
} sup_joint_row;

/* A part beside the skin, from shapes of its own: rigid ones are props on a node of their own, others are skinned to
 * one joint. */
typedef struct sup_extra_row {
    const char *name, *joint;
    bool rigid;
    double vertex_target, cell;
    sup_vec3d lower, upper;
    int32_t shape_first, shape_count; /* in the recipe's extra shapes */
} sup_extra_row;

typedef struct sup_motion_row {
    const char *joint;
    double time, flex, swing, twist; /* seconds, degrees */
} sup_motion_row;

typedef struct sup_travel_row {
    double time, x, y, z; /* of the root joint, metres from rest */
} sup_travel_row;

typedef enum sup_footing {
    SUP_FOOTING_FREE,   /* the root moves as told */
    SUP_FOOTING_GROUND, /* and is lifted or lowered until the lowest contact point is on the floor */
    SUP_FOOTING_PLANT   /* and the feet stay where they are, their soles level */
} sup_footing;

typedef struct sup_motion {
    const char *name;
    double duration, rate; /* seconds, keys a second */
    bool loop;             /* the last key is the first again, and interpolation goes round */
    bool alternate;        /* the right side of "*" rows is half a period later */
    sup_footing footing;
    const sup_motion_row *rows; /* rows of one joint stand together, in time order */
    int32_t row_count;
    const sup_travel_row *travel;
    int32_t travel_count;
} sup_motion;

/* A point of the body that meets the floor, moving with a joint. */
typedef struct sup_floor_point {
    const char *joint;
    sup_vec3d at;
} sup_floor_point;

enum { SUP_MOTIONS_MAX = 16, SUP_CONTACTS_MAX = 16, SUP_EXTRAS_MAX = 4, SUP_EXTRA_SHAPES_MAX = 16 };

/* A frame to place tables in: unit axes and origin. */
typedef struct sup_placement {
    sup_vec3d origin, x, y, z;
} sup_placement;

/* A bone or a muscle under the skin. */
typedef struct sup_organ_row {
    const char *name;
    bool is_muscle;
    bool is_hollow;                 /* no part of its own, but flesh ends there: the organs of the belly */
    const char *joint;              /* that carries it; NULL: it slides */
    double reach;                   /* nearer than this to an end of that joint's bone flesh slides over it, metres */
    const sup_placement *placement; /* NULL: the body's own axes */
    const sup_shape *shapes;        /* their regions do not count */
    int32_t shape_count;
} sup_organ_row;

typedef struct sup_recipe {
    const char *name;
    bool mirrored;
    double vertex_target; /* at resolution 1 */
    double cell;          /* of the grid that finds the surface: thinner than every gap */
    sup_vec3d lower, upper;
    sup_region regions[SUP_REGIONS_MAX];
    sup_shape shapes[SUP_SHAPES_MAX];
    sup_joint_row joints[SUP_JOINTS_MAX];
    sup_motion motions[SUP_MOTIONS_MAX];
    sup_floor_point contacts[SUP_CONTACTS_MAX];
    sup_extra_row extras[SUP_EXTRAS_MAX];
    sup_shape extra_shapes[SUP_EXTRA_SHAPES_MAX];
    const sup_organ_row *organs; /* [organ_count] */
    int32_t organ_count;
    int32_t region_count, shape_count, joint_count, motion_count, contact_count, extra_count, extra_shape_count;
} sup_recipe;

/* Rows of shape tables. */
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
/* Axis `up_x up_y up_z` carries the second radius; 0 0 0 means upright. */
#define SUP_SPHERE(in_region, width, edge_length, x, y, z, rx, ry, rz, up_x, up_y, up_z)                               \
    {                                                                                                                \
        .kind = SUP_SHAPE_ELLIPSOID, .region = (in_region), .blend = (width), .edge = (edge_length), .a = {x, y, z}, \
        .b = {up_x, up_y, up_z}, .wide = (rx), .ra = (ry), .deep = (rz)                                              \
    }
#define SUP_LOFT(in_region, width, edge_length, ax, ay, az, cap_a, bx, by, bz, cap_b, table)                       \
    {                                                                                                              \
        .kind = SUP_SHAPE_LOFT, .region = (in_region), .blend = (width), .edge = (edge_length), .a = {ax, ay, az}, \
        .b = {bx, by, bz}, .ra = (cap_a), .rb = (cap_b), .sections = (table), .section_count = SUP_COUNT(table)    \
    }
#define SUP_MOTION(motion_name, seconds, keys_a_second, is_loop, is_alternate, foot, table)            \
    {                                                                                                  \
        .name = (motion_name), .duration = (seconds), .rate = (keys_a_second), .loop = (is_loop),      \
        .alternate = (is_alternate), .footing = (foot), .rows = (table), .row_count = SUP_COUNT(table) \
    }

void sup_recipe_add_shapes(sup_recipe *recipe, const sup_shape *rows, int32_t count);
void sup_recipe_add_joints(sup_recipe *recipe, const sup_joint_row *rows, int32_t count);
void sup_recipe_add_regions(sup_recipe *recipe, const sup_region *rows, int32_t count);
void sup_recipe_add_motions(sup_recipe *recipe, const sup_motion *rows, int32_t count);
sup_vec3d sup_place_point(const sup_placement *placement, sup_vec3d p);
sup_vec3d sup_place_vector(const sup_placement *placement, sup_vec3d v);

void sup_recipe_place_shapes(sup_recipe *recipe, const sup_placement *placement, int32_t region_offset,
                             const sup_shape *rows, int32_t count);
/* `sided` false drops the '*' of names. */
void sup_recipe_place_joints(sup_recipe *recipe, const sup_placement *placement, int32_t region_offset, bool sided,
                             const sup_joint_row *rows, int32_t count);

/* A hand (hand.c) and an arm (arm.c), in one frame: x to the thumb's side, y towards the fingers, z out of the back of
 * the hand. The hand's origin is the wrist; it appends five finger regions to `palm` and hangs its joints on "*hand".
 * The arm's origin is the shoulder; its shapes go into `region`, and its joints hang on `parent`. */
void sup_recipe_add_hand(sup_recipe *recipe, const sup_placement *placement, int32_t palm, bool sided);
void sup_recipe_add_arm(sup_recipe *recipe, const sup_placement *placement, int32_t region, bool sided,
                        const char *parent);
extern const double sup_arm_length; /* shoulder to wrist, metres */

/* --- Joints of a recipe with both sides written out --- */
typedef struct sup_joint {
    char name[SUP_NAME_MAX];
    int32_t parent;
    bool right;
    const sup_joint_row *row;
    int32_t region; /* with the right side's regions at [region_count, 2*region_count) */
    sup_vec3d at, toward, flex_axis, swing_axis, twist_axis, plane;
} sup_joint;

typedef struct sup_skeleton {
    int32_t count;
    sup_joint joints[SUP_JOINTS_MAX * 2];
} sup_skeleton;

void sup_skeleton_build(const sup_recipe *recipe, sup_skeleton *skeleton);
int32_t sup_skeleton_find(const sup_skeleton *skeleton, const char *name); /* -1 for none */

/* Skin weights of one point of the skin: at most SUP_INFLUENCES_MAX joints, largest first, summing to 1; returns how
 * many. */
int32_t sup_scene_weights(const sup_recipe *recipe, const sup_skeleton *skeleton, const sup_sculpture *sculpture,
                          sup_vec3d p, int32_t joints[SUP_INFLUENCES_MAX], float weights[SUP_INFLUENCES_MAX]);

/* A motion as a clip: node j is joint j. False when memory ran out. */
bool sup_scene_clip(const sup_recipe *recipe, const sup_skeleton *skeleton, const sup_motion *motion, sup_arena *arena,
                    sup_clip *clip);

/* One per character; fill a zeroed recipe. */
void sup_recipe_cylinder(sup_recipe *recipe);
void sup_recipe_tbone(sup_recipe *recipe);
void sup_recipe_arm(sup_recipe *recipe);
void sup_recipe_hand(sup_recipe *recipe);
void sup_recipe_human(sup_recipe *recipe);
void sup_recipe_elephant(sup_recipe *recipe);

/* The surfaces under a skin whose weights the character has: from each vertex towards its bones until muscles and bones
 * of the recipe are met. Fills muscle_positions, bone_positions and bone_attachments. False when memory ran out. */
bool sup_scene_layers(const sup_context *context, const sup_recipe *recipe, const sup_skeleton *skeleton,
                      const sup_surface *skin, sup_character *character, sup_arena *arena);
/* The organs as a mesh: a part each, both sides of those in pairs. */
sup_result sup_recipe_cook_organs(const sup_context *context, const sup_recipe *recipe, bool muscles, double resolution,
                                  sup_character **character, sup_error *error);
/* A recipe's body as a mesh: `vertices` times `resolution` of them. */
sup_result sup_recipe_mesh(const sup_context *context, const sup_recipe *recipe, const sup_sculpture *sculpture,
                           double vertices, double resolution, sup_surface *surface, sup_error *error);
sup_sculpture_def sup_recipe_sculpture(const sup_context *context, const sup_recipe *recipe);

/* The finished character of a recipe. */
sup_result sup_recipe_cook(const sup_context *context, const sup_recipe *recipe, double resolution,
                           sup_character **character, sup_error *error);

#endif

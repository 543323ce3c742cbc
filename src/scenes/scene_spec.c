/* scene_spec.c - filling recipes, and joints with both sides written out. */
#include "scenes/scene_spec.h"

void sup_recipe_add_shapes(sup_recipe *recipe, const sup_shape *rows, int32_t count)
{
    memcpy(recipe->shapes + recipe->shape_count, rows, (size_t)count * sizeof *rows);
    recipe->shape_count += count;
}

void sup_recipe_add_joints(sup_recipe *recipe, const sup_joint_row *rows, int32_t count)
{
    memcpy(recipe->joints + recipe->joint_count, rows, (size_t)count * sizeof *rows);
    recipe->joint_count += count;
}

void sup_recipe_add_regions(sup_recipe *recipe, const sup_region *rows, int32_t count)
{
    memcpy(recipe->regions + recipe->region_count, rows, (size_t)count * sizeof *rows);
    recipe->region_count += count;
}

void sup_recipe_add_motions(sup_recipe *recipe, const sup_motion *rows, int32_t count)
{
    memcpy(recipe->motions + recipe->motion_count, rows, (size_t)count * sizeof *rows);
    recipe->motion_count += count;
}

sup_vec3d sup_place_vector(const sup_placement *placement, sup_vec3d v)
{
    sup_vec3d r = sup_v3_scale(placement->x, v.x);
    r = sup_v3_madd(r, v.y, placement->y);
    return sup_v3_madd(r, v.z, placement->z);
}

sup_vec3d sup_place_point(const sup_placement *placement, sup_vec3d p)
{
    return sup_v3_add(placement->origin, sup_place_vector(placement, p));
}

void sup_recipe_place_shapes(sup_recipe *recipe, const sup_placement *placement, int32_t region_offset,
                             const sup_shape *rows, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        sup_shape shape = rows[i];
        bool sphere = shape.kind == SUP_SHAPE_ELLIPSOID;
        sup_vec3d side = sup_v3_unit_or(shape.side, sup_v3(1.0, 0.0, 0.0));
        sup_vec3d up = sup_v3_unit_or(shape.b, sup_v3(0.0, 1.0, 0.0));
        shape.region += region_offset;
        shape.a = sup_place_point(placement, shape.a);
        shape.b = sphere ? sup_place_vector(placement, up) : sup_place_point(placement, shape.b);
        shape.side = sup_place_vector(placement, side);
        sup_recipe_add_shapes(recipe, &shape, 1);
    }
}

void sup_recipe_place_joints(sup_recipe *recipe, const sup_placement *placement, int32_t region_offset, bool sided,
                             const sup_joint_row *rows, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        sup_joint_row joint = rows[i];
        joint.name += !sided && joint.name[0] == '*';
        if (joint.parent != NULL) joint.parent += !sided && joint.parent[0] == '*';
        joint.region += region_offset;
        joint.at = sup_place_point(placement, joint.at);
        joint.toward = sup_place_point(placement, joint.toward);
        joint.flex_axis = sup_place_vector(placement, joint.flex_axis);
        joint.swing_axis = sup_place_vector(placement, joint.swing_axis);
        joint.plane = sup_place_vector(placement, joint.plane);
        sup_recipe_add_joints(recipe, &joint, 1);
    }
}

static sup_vec3d mirror_point(sup_vec3d v)
{
    return sup_v3(-v.x, v.y, v.z);
}

/* A mirrored turn by the same angle goes about this axis. */
static sup_vec3d mirror_axis(sup_vec3d v)
{
    return sup_v3(v.x, -v.y, -v.z);
}

static void write_name(char *name, const char *row_name, bool right)
{
    const char *prefix = row_name[0] != '*' ? "" : right ? "right_" : "left_";
    sup_format(name, SUP_NAME_MAX, "%s%s", prefix, row_name + (row_name[0] == '*'));
}

static void add_joint(sup_skeleton *skeleton, const sup_recipe *recipe, const sup_joint_row *row, bool right)
{
    sup_joint *joint = &skeleton->joints[skeleton->count];
    char parent[SUP_NAME_MAX] = "";
    memset(joint, 0, sizeof *joint);
    write_name(joint->name, row->name, right);
    if (row->parent != NULL) write_name(parent, row->parent, right);
    joint->parent = row->parent != NULL ? sup_skeleton_find(skeleton, parent) : -1;
    joint->right = right;
    joint->row = row;
    joint->region = row->region + (right && recipe->regions[row->region].paired ? recipe->region_count : 0);
    sup_vec3d bone = sup_v3_unit_or(sup_v3_sub(row->toward, row->at), sup_v3(0.0, 1.0, 0.0));
    sup_vec3d plane = sup_v3_unit_or(row->plane, bone);
    joint->at = right ? mirror_point(row->at) : row->at;
    joint->toward = right ? mirror_point(row->toward) : row->toward;
    joint->plane = right ? mirror_point(plane) : plane;
    joint->twist_axis = right ? mirror_axis(bone) : bone;
    joint->flex_axis = right ? mirror_axis(row->flex_axis) : row->flex_axis;
    joint->swing_axis = right ? mirror_axis(row->swing_axis) : row->swing_axis;
    skeleton->count++;
}

void sup_skeleton_build(const sup_recipe *recipe, sup_skeleton *skeleton)
{
    memset(skeleton, 0, sizeof *skeleton);
    for (int32_t i = 0; i < recipe->joint_count; i++) {
        add_joint(skeleton, recipe, &recipe->joints[i], false);
        if (recipe->joints[i].name[0] == '*') add_joint(skeleton, recipe, &recipe->joints[i], true);
    }
}

int32_t sup_skeleton_find(const sup_skeleton *skeleton, const char *name)
{
    for (int32_t j = 0; j < skeleton->count; j++)
        if (sup_text_equal(skeleton->joints[j].name, name)) return j;
    return -1;
}

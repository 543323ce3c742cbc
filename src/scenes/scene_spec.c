/* scene_spec.c - fills scene specs; expands joint pairs. */
#include "scenes/scene_spec.h"

void sup_scene_spec_add_shapes(sup_scene_spec *spec, const sup_shape *items, int32_t count)
{
    memcpy(spec->shapes + spec->shape_count, items, (size_t)count * sizeof *items);
    spec->shape_count += count;
}

void sup_scene_spec_add_joints(sup_scene_spec *spec, const sup_joint_spec *items, int32_t count)
{
    memcpy(spec->joints + spec->joint_count, items, (size_t)count * sizeof *items);
    spec->joint_count += count;
}

void sup_scene_spec_add_regions(sup_scene_spec *spec, const sup_region *items, int32_t count)
{
    memcpy(spec->regions + spec->region_count, items, (size_t)count * sizeof *items);
    spec->region_count += count;
}

void sup_scene_spec_add_motions(sup_scene_spec *spec, const sup_motion *items, int32_t count)
{
    memcpy(spec->motions + spec->motion_count, items, (size_t)count * sizeof *items);
    spec->motion_count += count;
}

sup_vec3d sup_local_frame_vector(const sup_local_frame *frame, sup_vec3d v)
{
    sup_vec3d r = sup_v3_scale(frame->x, v.x);
    r = sup_v3_madd(r, v.y, frame->y);
    return sup_v3_madd(r, v.z, frame->z);
}

sup_vec3d sup_local_frame_point(const sup_local_frame *frame, sup_vec3d p)
{
    return sup_v3_add(frame->origin, sup_local_frame_vector(frame, p));
}

void sup_scene_spec_add_shapes_in(sup_scene_spec *spec, const sup_local_frame *frame, int32_t region_offset,
                                  const sup_shape *items, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        sup_shape shape = items[i];
        bool sphere = shape.kind == SUP_SHAPE_ELLIPSOID;
        sup_vec3d side = sup_v3_unit_or(shape.side, sup_v3(1.0, 0.0, 0.0));
        sup_vec3d up = sup_v3_unit_or(shape.b, sup_v3(0.0, 1.0, 0.0));
        shape.region += region_offset;
        shape.a = sup_local_frame_point(frame, shape.a);
        shape.b = sphere ? sup_local_frame_vector(frame, up) : sup_local_frame_point(frame, shape.b);
        shape.side = sup_local_frame_vector(frame, side);
        sup_scene_spec_add_shapes(spec, &shape, 1);
    }
}

void sup_scene_spec_add_joints_in(sup_scene_spec *spec, const sup_local_frame *frame, int32_t region_offset, bool sided,
                                  const sup_joint_spec *items, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        sup_joint_spec joint = items[i];
        joint.name += !sided && joint.name[0] == '*';
        if (joint.parent != NULL) joint.parent += !sided && joint.parent[0] == '*';
        joint.region += region_offset;
        joint.at = sup_local_frame_point(frame, joint.at);
        joint.toward = sup_local_frame_point(frame, joint.toward);
        joint.flex_axis = sup_local_frame_vector(frame, joint.flex_axis);
        joint.swing_axis = sup_local_frame_vector(frame, joint.swing_axis);
        joint.plane = sup_local_frame_vector(frame, joint.plane);
        sup_scene_spec_add_joints(spec, &joint, 1);
    }
}

static sup_vec3d mirror_point(sup_vec3d v)
{
    return sup_v3(-v.x, v.y, v.z);
}

/* The axis of the mirrored rotation by the same angle. */
static sup_vec3d mirror_axis(sup_vec3d v)
{
    return sup_v3(v.x, -v.y, -v.z);
}

static void write_name(char *name, const char *spec_name, bool right)
{
    const char *prefix = spec_name[0] != '*' ? "" : right ? "right_" : "left_";
    sup_format(name, SUP_NAME_MAX, "%s%s", prefix, spec_name + (spec_name[0] == '*'));
}

static void add_joint(sup_skeleton *skeleton, const sup_scene_spec *spec, const sup_joint_spec *joint_spec, bool right)
{
    sup_joint *joint = &skeleton->joints[skeleton->count];
    char parent[SUP_NAME_MAX] = "";
    memset(joint, 0, sizeof *joint);
    write_name(joint->name, joint_spec->name, right);
    if (joint_spec->parent != NULL) write_name(parent, joint_spec->parent, right);
    joint->parent = joint_spec->parent != NULL ? sup_skeleton_find(skeleton, parent) : -1;
    joint->right = right;
    joint->spec = joint_spec;
    joint->region = joint_spec->region + (right && spec->regions[joint_spec->region].paired ? spec->region_count : 0);
    sup_vec3d bone = sup_v3_unit_or(sup_v3_sub(joint_spec->toward, joint_spec->at), sup_v3(0.0, 1.0, 0.0));
    sup_vec3d plane = sup_v3_unit_or(joint_spec->plane, bone);
    joint->at = right ? mirror_point(joint_spec->at) : joint_spec->at;
    joint->toward = right ? mirror_point(joint_spec->toward) : joint_spec->toward;
    joint->plane = right ? mirror_point(plane) : plane;
    joint->twist_axis = right ? mirror_axis(bone) : bone;
    joint->flex_axis = right ? mirror_axis(joint_spec->flex_axis) : joint_spec->flex_axis;
    joint->swing_axis = right ? mirror_axis(joint_spec->swing_axis) : joint_spec->swing_axis;
    skeleton->count++;
}

void sup_skeleton_build(const sup_scene_spec *spec, sup_skeleton *skeleton)
{
    memset(skeleton, 0, sizeof *skeleton);
    for (int32_t i = 0; i < spec->joint_count; i++) {
        add_joint(skeleton, spec, &spec->joints[i], false);
        if (spec->joints[i].name[0] == '*') add_joint(skeleton, spec, &spec->joints[i], true);
    }
}

int32_t sup_skeleton_find(const sup_skeleton *skeleton, const char *name)
{
    for (int32_t j = 0; j < skeleton->count; j++)
        if (sup_text_equal(skeleton->joints[j].name, name)) return j;
    return -1;
}

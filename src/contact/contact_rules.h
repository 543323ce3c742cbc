/* contact_rules.h (internal) - decisions of contact detection and response: when a pair begins, is kept and is
 * released, and how it pushes. One source for the CPU (detect.c) and the GPU (src/cuda/detect*.cu*); constants are in
 * contact_tuning.h.
 *
 * Heights are above the plane of a triangle, gaps as in contact_tuning.h; all lengths in file units. */
#ifndef SUP_CONTACT_CONTACT_RULES_H
#define SUP_CONTACT_CONTACT_RULES_H

#include "base/shared.h"
#include "contact/contact_tuning.h"

#include <math.h>
#include <stdbool.h>

/* How near a vertex and a triangle are along the skin: on different bone segments; on the same one; at most two edges
 * from each other. */
typedef enum sup_skin_relation { SUP_SKIN_DISTANT, SUP_SKIN_SAME_SEGMENT, SUP_SKIN_ADJACENT } sup_skin_relation;

/* Maximum cosine between the normals of a new pair. */
SUP_SHARED float sup_contact_facing(sup_skin_relation relation)
{
    return relation == SUP_SKIN_DISTANT        ? SUP_CONTACT_FACING_DISTANT
           : relation == SUP_SKIN_SAME_SEGMENT ? SUP_CONTACT_FACING_SAME_SEGMENT
                                               : SUP_CONTACT_FACING_ADJACENT;
}

/* The same for a whole cluster of triangles: no pair that may be near is lost. */
SUP_SHARED float sup_contact_cluster_facing(sup_skin_relation relation)
{
    return sup_contact_facing(relation) + SUP_CONTACT_FACING_NEAR + SUP_CONTACT_FACING_ROUNDING;
}

/* Two outer sides that collide: neither the vertex normal nor the direction from the bone to the vertex agrees with the
 * triangle's normal. `tolerance` is added to both limits. */
SUP_SHARED bool sup_contact_faces(sup_skin_relation relation, float normal_cosine, float bone_cosine, float tolerance)
{
    return normal_cosine < sup_contact_facing(relation) + tolerance &&
           bone_cosine < sup_contact_facing(SUP_SKIN_DISTANT) + tolerance;
}

/* Whether skin of one segment can have reached this height through a fold. */
SUP_SHARED bool sup_contact_in_fold(float height, float gap, float tolerance)
{
    return !(height < -SUP_CONTACT_FOLD_DEPTH * (1.0f + tolerance) * gap);
}

/* Gap of a pair: interpolated at the nearest point of the triangle, limited by the vertex's own. */
SUP_SHARED float sup_contact_pair_gap(const float weight[3], float gap_a, float gap_b, float gap_c, float own_gap)
{
    return fminf(weight[0] * gap_a + weight[1] * gap_b + weight[2] * gap_c, SUP_CONTACT_MAX_OWN_GAP * own_gap);
}

/* Skin that is near other skin in the bind pose forms no pair before it pushes. */
SUP_SHARED bool sup_contact_within_slack(float height, float gap, float slack)
{
    return slack > 0.0f && !(height < gap - slack);
}

/* Height at which the vertex touches: its fraction of the gap, or less where the bind pose leaves less. */
SUP_SHARED float sup_contact_touch_height(sup_skin_relation relation, float gap, float slack)
{
    float touch = relation == SUP_SKIN_ADJACENT ? SUP_CONTACT_TOUCH_GAP_ADJACENT : SUP_CONTACT_TOUCH_GAP;
    return fminf(touch * gap, gap - slack);
}

/* Height at which a pair ends. */
SUP_SHARED float sup_contact_release_height(float gap, float slack)
{
    return SUP_CONTACT_RELEASE_HEIGHT * gap - slack;
}

/* An existing pair is kept, if sup_contact_faces still holds: it is not too far above or beside its triangle, which
 * is not degenerate (square of the length of its normal), and has not come out on the other side of its prism. */
SUP_SHARED bool sup_contact_is_kept(float height, float distance2, float normal2, float gap, float slack,
                                    float mean_edge, float prism_depth)
{
    float side = SUP_CONTACT_RELEASE_SIDE * mean_edge, side2 = distance2 - height * height;
    return height < sup_contact_release_height(gap, slack) && side2 < side * side && normal2 > 0.5f &&
           distance2 < 2.0f * prism_depth * prism_depth;
}

/* Whether the interpolated direction of a push is used, by its cosine with the triangle's normal. */
SUP_SHARED bool sup_contact_uses_smooth_normal(float cosine)
{
    return cosine > SUP_CONTACT_MIN_NORMAL_COSINE;
}

/* Target height along the normal: the touch height, but no farther from `current` than one timestep may push. */
SUP_SHARED float sup_contact_offset(float touch_height, float current, float gap)
{
    return fminf(touch_height, current + SUP_CONTACT_MAX_PUSH * gap);
}

/* Fraction of the force that acts. Bones do not yield: where they pass through tissue, contacts yield instead of
 * tearing the skin. `prism_depth`, `tissue_depth`: from the triangle and from the vertex down to the bone lines. */
SUP_SHARED float sup_contact_pressure(float height, float prism_depth, float tissue_depth)
{
    float tissue = SUP_CONTACT_TISSUE_DEPTH * 0.5f * (prism_depth + tissue_depth);
    return fminf(1.0f, fmaxf(SUP_CONTACT_MIN_PRESSURE, 2.0f + 2.0f * height / tissue));
}

/* Fraction of its force that a pair has in this timestep, by that of the last one (0: the pair begins). It rises at a
 * rate, and faster with the displacement of both skins against each other in the timestep: contact does not pop, and
 * pairs that end and begin again and again, because no position satisfies them, stay weak. */
SUP_SHARED float sup_contact_onset(float last, float displacement, float gap)
{
    float rate = fminf(1.0f, SUP_CONTACT_ONSET_RATE + displacement / fmaxf(gap, 1e-30f));
    return last + rate * (1.0f - last);
}

/* Damping, of the contact's stiffness: all of it where the contact pushes, none where it ends. */
SUP_SHARED float sup_contact_damping(float height, float touch_height, float release_height)
{
    float away = (height - touch_height) / (release_height - touch_height);
    return SUP_CONTACT_DAMPING * fminf(1.0f, fmaxf(0.0f, 1.0f - away));
}

/* Fraction of its stiffness with which a collider holds a vertex; `depth` of the vertex without contact, in units of
 * tissue thickness plus one edge. */
SUP_SHARED float sup_collider_hold(double depth)
{
    return (float)fmax(
        0.0, fmin(1.0, (SUP_COLLIDER_MAX_DEPTH - depth) / (SUP_COLLIDER_MAX_DEPTH - SUP_COLLIDER_FULL_DEPTH)));
}

#endif

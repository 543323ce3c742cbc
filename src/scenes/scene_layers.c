/* scene_layers.c - muscle and bone surfaces under the skin of a built-in character.
 *
 * A ray goes from each skin vertex to its foot point: the weighted mean of the nearest points on the bones that
 * influence it. The bone surface is where the ray hits bones; the muscle surface is where it hits muscles or comes near
 * bones. Depths are smoothed along the skin, because rays that just miss an organ would cause discontinuities. */
#include "scenes/scene_spec.h"
#include "character/character.h"

enum { MARCH_STEPS = 200, SMOOTH_ITERATIONS = 8 };

/* Metres. */
static const double min_fat = 0.003, min_muscle = 0.0015, bone_cover = 0.002, min_step = 0.0004;
/* Maximum depth of bone as a fraction of the ray length; minimum thickness of fat and muscle as a fraction of the bone
 * depth. */
static const double max_depth_fraction = 0.92, min_layer_fraction = 0.12;
/* Maximum fraction of fat in the tissue over a bone; over the organs of the belly it may be higher. */
static const double max_fat_fraction = 0.6;
/* Width of the smooth union of organs: closed surfaces without deep gaps. */
static const double organ_join = 0.02;
/* A vertex has no layers from this total weight of joints without layers. */
static const float excluded_from = 0.35f;
/* The tissue slides from this total weight of joints of other regions than the bone's: armpit, groin. */
static const float slides_from = 0.35f;

typedef struct layer_work {
    const sup_scene_spec *spec;
    const sup_skeleton *skeleton;
    const sup_surface *skin;
    const sup_character *character;
    sup_sculpture *bones, *muscles;
    int32_t bone_organs[SUP_REGIONS_MAX]; /* organ index of each region of `bones` */
    int32_t bone_organ_count;
    sup_vec3d *foot_points;            /* [skin vertices] */
    double *bone_depth, *muscle_depth; /* [skin vertices] along the ray; negative: no layers */
} layer_work;

/* All organs of one kind as one implicit body. */
static sup_sculpture *sculpt_organs(const sup_context *context, const sup_scene_spec *spec, bool muscles,
                                    int32_t *organ_indices, int32_t *organ_count_out)
{
    sup_scene_spec *local_spec = sup_alloc_zero(&context->allocator, sizeof *local_spec);
    if (local_spec == NULL) return NULL;
    local_spec->mirrored = spec->mirrored;
    local_spec->lower = spec->lower;
    local_spec->upper = spec->upper;
    for (int32_t i = 0; i < spec->organ_count; i++) {
        const sup_organ_spec *organ = &spec->organs[i];
        if (organ->is_muscle != muscles || local_spec->region_count == SUP_REGIONS_MAX) continue;
        sup_region region = {organ->name, local_spec->region_count > 0 ? 0 : -1, organ_join, organ->name[0] == '*',
                             0.01};
        if (organ_indices != NULL) organ_indices[local_spec->region_count] = i;
        int32_t first = local_spec->shape_count;
        if (organ->frame != NULL)
            sup_scene_spec_add_shapes_in(local_spec, organ->frame, 0, organ->shapes, organ->shape_count);
        else
            sup_scene_spec_add_shapes(local_spec, organ->shapes, organ->shape_count);
        for (int32_t s = first; s < local_spec->shape_count; s++)
            local_spec->shapes[s].region = local_spec->region_count;
        sup_scene_spec_add_regions(local_spec, &region, 1);
    }
    if (organ_count_out != NULL) *organ_count_out = local_spec->region_count;
    sup_sculpture_def def = sup_scene_sculpture(context, local_spec);
    sup_sculpture *sculpture = sup_sculpture_create(&def);
    sup_free(&context->allocator, local_spec, sizeof *local_spec);
    return sculpture;
}

/* Head, hands and toes: without muscle layers, or too small for them. */
static bool joint_excluded(const sup_skeleton *skeleton, int32_t joint)
{
    for (; joint >= 0; joint = skeleton->joints[joint].parent) {
        const char *name = skeleton->joints[joint].spec->name;
        if (sup_text_equal(name, "head") || sup_text_equal(name, "*hand") || sup_text_equal(name, "*toes")) return true;
    }
    return false;
}

static bool find_foot_point(layer_work *w, int32_t v)
{
    const sup_character *c = w->character;
    sup_vec3d p = w->skin->positions[v], foot_point = sup_v3(0, 0, 0);
    float excluded = 0.0f;
    for (int32_t k = c->influence_first[v]; k < c->influence_first[v + 1]; k++) {
        const sup_joint *joint = &w->skeleton->joints[c->influence_bone[k]];
        double t = sup_v3_segment_parameter(p, joint->at, joint->toward);
        foot_point = sup_v3_madd(foot_point, (double)c->influence_weight[k], sup_v3_lerp(joint->at, joint->toward, t));
        if (joint_excluded(w->skeleton, c->influence_bone[k])) excluded += c->influence_weight[k];
    }
    w->foot_points[v] = foot_point;
    return excluded < excluded_from;
}

static double bone_value(const layer_work *w, sup_vec3d p)
{
    return sup_sculpture_value(w->bones, p);
}

static double muscle_value(const layer_work *w, sup_vec3d p)
{
    return fmin(sup_sculpture_value(w->muscles, p), bone_value(w, p) - bone_cover);
}

/* Distance along the ray where a field becomes negative (sphere tracing), or `end`. */
static double march(const layer_work *w, double (*field)(const layer_work *, sup_vec3d), sup_vec3d from,
                    sup_vec3d direction, double end)
{
    double at = 0.0;
    for (int32_t i = 0; i < MARCH_STEPS && at < end; i++) {
        double value = field(w, sup_v3_madd(from, at, direction));
        if (value <= 0.0) return at;
        at += fmax(0.6 * value, min_step);
    }
    return end;
}

static void find_depths(void *work, int32_t begin, int32_t end, int32_t worker)
{
    layer_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        w->bone_depth[v] = w->muscle_depth[v] = -1.0;
        if (!find_foot_point(w, v)) continue;
        sup_vec3d p = w->skin->positions[v], line = sup_v3_sub(w->foot_points[v], p);
        double length = sup_v3_length(line);
        if (!(length > 3.0 * min_fat)) continue;
        sup_vec3d direction = sup_v3_scale(line, 1.0 / length);
        w->bone_depth[v] = march(w, bone_value, p, direction, max_depth_fraction * length);
        w->muscle_depth[v] = march(w, muscle_value, p, direction, w->bone_depth[v]);
    }
}

/* Moves each depth halfway to the mean of its neighbours. */
static void smooth_depths(const layer_work *w, double *depth, double *sum, int32_t *count)
{
    const sup_surface *skin = w->skin;
    for (int32_t iteration = 0; iteration < SMOOTH_ITERATIONS; iteration++) {
        memset(sum, 0, (size_t)skin->vertex_count * sizeof *sum);
        memset(count, 0, (size_t)skin->vertex_count * sizeof *count);
        for (int32_t t = 0; t < skin->triangle_count * 3; t++) {
            int32_t v = skin->triangles[t], next = skin->triangles[t % 3 == 2 ? t - 2 : t + 1];
            if (depth[v] < 0.0 || depth[next] < 0.0) continue;
            sum[v] += depth[next];
            sum[next] += depth[v];
            count[v]++;
            count[next]++;
        }
        for (int32_t v = 0; v < skin->vertex_count; v++)
            if (count[v] > 0) depth[v] = 0.5 * depth[v] + 0.5 * sum[v] / count[v];
    }
}

/* The bone that the organ at a point of the bone surface is attached to, -1 where sliding. */
static int32_t holder_at(const layer_work *w, sup_vec3d p)
{
    double distance[SUP_REGIONS_MAX * 2];
    int32_t regions = w->bone_organ_count, nearest = 0;
    sup_sculpture_regions(w->bones, p, distance);
    for (int32_t r = 1; r < (w->spec->mirrored ? 2 : 1) * regions; r++)
        if (distance[r] < distance[nearest]) nearest = r;
    const sup_organ_spec *organ = &w->spec->organs[w->bone_organs[nearest % regions]];
    if (organ->joint == NULL) return -1;
    char name[SUP_NAME_MAX];
    bool sided = organ->joint[0] == '*';
    sup_format(name, sizeof name, "%s%s", !sided ? "" : nearest >= regions ? "right_" : "left_", organ->joint + sided);
    int32_t found = sup_skeleton_find(w->skeleton, name);
    if (found < 0) return -1;
    const sup_joint *joint = &w->skeleton->joints[found];
    bool near_end = sup_v3_distance(p, joint->at) < organ->reach || sup_v3_distance(p, joint->toward) < organ->reach;
    return near_end ? -1 : found;
}

/* Sum of the skin weights of joints in other regions than the bone's. */
static float foreign_weight(const layer_work *w, int32_t v, int32_t holder)
{
    const sup_character *c = w->character;
    float sum = 0.0f;
    for (int32_t k = c->influence_first[v]; k < c->influence_first[v + 1]; k++)
        if (w->skeleton->joints[c->influence_bone[k]].region != w->skeleton->joints[holder].region)
            sum += c->influence_weight[k];
    return sum;
}

static void write_layers(const layer_work *w, float *muscle, float *bone, int32_t *holders)
{
    for (int32_t v = 0; v < w->skin->vertex_count; v++) {
        if (w->bone_depth[v] < 0.0) continue;
        sup_vec3d p = w->skin->positions[v], line = sup_v3_sub(w->foot_points[v], p);
        double length = sup_v3_length(line);
        double bone_depth = fmin(fmax(w->bone_depth[v], 2.0 * (min_fat + min_muscle)), max_depth_fraction * length);
        double max_muscle_depth = bone_depth - fmax(min_muscle, min_layer_fraction * bone_depth),
               min_muscle_depth = fmin(fmax(min_fat, min_layer_fraction * bone_depth), max_muscle_depth);
        sup_vec3d at = sup_v3_madd(p, bone_depth / length, line);
        holders[v] = holder_at(w, at);
        if (holders[v] >= 0 && foreign_weight(w, v, holders[v]) > slides_from) holders[v] = -1;
        if (holders[v] >= 0) max_muscle_depth = fmin(max_muscle_depth, max_fat_fraction * bone_depth);
        double muscle_depth = fmin(fmax(w->muscle_depth[v], min_muscle_depth), max_muscle_depth);
        sup_v3_store(muscle + 3 * (size_t)v, sup_v3_madd(p, muscle_depth / length, line));
        sup_v3_store(bone + 3 * (size_t)v, at);
    }
}

bool sup_scene_layers(const sup_context *context, const sup_scene_spec *spec, const sup_skeleton *skeleton,
                      const sup_surface *skin, sup_character *character, sup_arena *arena)
{
    layer_work w = {.spec = spec, .skeleton = skeleton, .skin = skin, .character = character};
    size_t count = (size_t)skin->vertex_count, all = (size_t)character->vertex_count;
    sup_arena scratch = sup_arena_create(&context->allocator);
    w.foot_points = sup_arena_alloc(&scratch, count, sizeof *w.foot_points);
    w.bone_depth = sup_arena_alloc(&scratch, count, sizeof *w.bone_depth);
    w.muscle_depth = sup_arena_alloc(&scratch, count, sizeof *w.muscle_depth);
    double *sum = sup_arena_alloc(&scratch, count, sizeof *sum);
    int32_t *near_count = sup_arena_alloc(&scratch, count, sizeof *near_count);
    float *muscle = sup_arena_copy(arena, character->positions, all * 3, sizeof *muscle);
    float *bone = sup_arena_copy(arena, character->positions, all * 3, sizeof *bone);
    int32_t *holders = sup_arena_alloc(arena, all, sizeof *holders);
    w.bones = sculpt_organs(context, spec, false, w.bone_organs, &w.bone_organ_count);
    w.muscles = sculpt_organs(context, spec, true, NULL, NULL);
    bool done = w.foot_points != NULL && w.bone_depth != NULL && w.muscle_depth != NULL && sum != NULL &&
                near_count != NULL && muscle != NULL && bone != NULL && holders != NULL && w.bones != NULL &&
                w.muscles != NULL;
    if (done) {
        memset(holders, -1, all * sizeof *holders);
        sup_parallel(context, skin->vertex_count, 256, find_depths, &w);
        smooth_depths(&w, w.bone_depth, sum, near_count);
        smooth_depths(&w, w.muscle_depth, sum, near_count);
        write_layers(&w, muscle, bone, holders);
        character->muscle_positions = muscle;
        character->bone_positions = bone;
        character->bone_attachments = holders;
    }
    sup_sculpture_destroy(w.bones);
    sup_sculpture_destroy(w.muscles);
    sup_arena_destroy(&scratch);
    return done;
}

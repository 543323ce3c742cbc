/* scene_layers.c - what is inside a built-in character: the surfaces of muscle and bone under its skin, and meshes of both.
 *
 * From each skin vertex a ray goes to its foot, the place on the bones of the joints that move it, by their weights.
 * Where the ray meets bones is the bone surface; where it meets muscles, or comes close to bones, the muscle surface.
 * Depths are smoothed along the skin: rays that just miss an organ must not tear the surfaces. */
#include "scenes/scene_spec.h"
#include "character/character.h"

enum { MARCH_STEPS = 200, SMOOTH_ROUNDS = 8 };

/* Metres. */
static const double least_fat = 0.003, least_muscle = 0.0015, over_bone = 0.002, least_step = 0.0004;
/* Of the ray's length to the foot: bones are never farther in; and of a layer: fat and muscle are never less. */
static const double deepest = 0.92, least_part = 0.12;
/* Most of the flesh over a bone that is fat; over the organs of the belly there may be more. */
static const double most_fat = 0.6;
/* How organs flow into each other: closed surfaces without deep gaps. */
static const double organ_join = 0.02;
/* Share of weights on joints without layers from which on a vertex has none. */
static const float excluded_from = 0.35f;
/* The same on joints of another limb than the bone's own, from which on flesh slides: armpit, groin. */
static const float slides_from = 0.35f;

typedef struct layer_work {
    const sup_recipe *recipe;
    const sup_skeleton *skeleton;
    const sup_surface *skin;
    const sup_character *character;
    sup_sculpture *bones, *muscles;
    int32_t bone_rows[SUP_REGIONS_MAX]; /* organ of a region of `bones` */
    int32_t bone_row_count;
    sup_vec3d *foot;                   /* [skin vertices] */
    double *bone_depth, *muscle_depth; /* [skin vertices] along the ray; negative: no layers */
} layer_work;

/* All organs of one kind as one body. */
static sup_sculpture *sculpt_organs(const sup_context *context, const sup_recipe *recipe, bool muscles, int32_t *rows,
                                    int32_t *row_count)
{
    sup_recipe *own = sup_alloc_zero(&context->allocator, sizeof *own);
    if (own == NULL) return NULL;
    own->mirrored = recipe->mirrored;
    own->lower = recipe->lower;
    own->upper = recipe->upper;
    for (int32_t i = 0; i < recipe->organ_count; i++) {
        const sup_organ_row *organ = &recipe->organs[i];
        if (organ->is_muscle != muscles || own->region_count == SUP_REGIONS_MAX) continue;
        sup_region region = {organ->name, own->region_count > 0 ? 0 : -1, organ_join, organ->name[0] == '*', 0.01};
        if (rows != NULL) rows[own->region_count] = i;
        int32_t first = own->shape_count;
        if (organ->placement != NULL)
            sup_recipe_place_shapes(own, organ->placement, 0, organ->shapes, organ->shape_count);
        else
            sup_recipe_add_shapes(own, organ->shapes, organ->shape_count);
        for (int32_t s = first; s < own->shape_count; s++)
            own->shapes[s].region = own->region_count;
        sup_recipe_add_regions(own, &region, 1);
    }
    if (row_count != NULL) *row_count = own->region_count;
    sup_sculpture_def def = sup_recipe_sculpture(context, own);
    sup_sculpture *sculpture = sup_sculpture_create(&def);
    sup_free(&context->allocator, own, sizeof *own);
    return sculpture;
}

/* Head, hands and toes: skin and bones, or too small for layers. */
static bool joint_excluded(const sup_skeleton *skeleton, int32_t joint)
{
    for (; joint >= 0; joint = skeleton->joints[joint].parent) {
        const char *name = skeleton->joints[joint].row->name;
        if (sup_text_equal(name, "head") || sup_text_equal(name, "*hand") || sup_text_equal(name, "*toes")) return true;
    }
    return false;
}

static bool find_foot(layer_work *w, int32_t v)
{
    const sup_character *c = w->character;
    sup_vec3d p = w->skin->positions[v], foot = sup_v3(0, 0, 0);
    float excluded = 0.0f;
    for (int32_t k = c->influence_first[v]; k < c->influence_first[v + 1]; k++) {
        const sup_joint *joint = &w->skeleton->joints[c->influence_bone[k]];
        double t = sup_v3_segment_parameter(p, joint->at, joint->toward);
        foot = sup_v3_madd(foot, (double)c->influence_weight[k], sup_v3_lerp(joint->at, joint->toward, t));
        if (joint_excluded(w->skeleton, c->influence_bone[k])) excluded += c->influence_weight[k];
    }
    w->foot[v] = foot;
    return excluded < excluded_from;
}

static double bone_value(const layer_work *w, sup_vec3d p)
{
    return sup_sculpture_value(w->bones, p);
}

static double muscle_value(const layer_work *w, sup_vec3d p)
{
    return fmin(sup_sculpture_value(w->muscles, p), bone_value(w, p) - over_bone);
}

/* How far along the ray a field becomes negative, `end` when it does not. */
static double march(const layer_work *w, double (*field)(const layer_work *, sup_vec3d), sup_vec3d from, sup_vec3d way,
                    double end)
{
    double at = 0.0;
    for (int32_t i = 0; i < MARCH_STEPS && at < end; i++) {
        double value = field(w, sup_v3_madd(from, at, way));
        if (value <= 0.0) return at;
        at += fmax(0.6 * value, least_step);
    }
    return end;
}

static void find_depths(void *work, int32_t begin, int32_t end, int32_t worker)
{
    layer_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        w->bone_depth[v] = w->muscle_depth[v] = -1.0;
        if (!find_foot(w, v)) continue;
        sup_vec3d p = w->skin->positions[v], line = sup_v3_sub(w->foot[v], p);
        double length = sup_v3_length(line);
        if (!(length > 3.0 * least_fat)) continue;
        sup_vec3d way = sup_v3_scale(line, 1.0 / length);
        w->bone_depth[v] = march(w, bone_value, p, way, deepest * length);
        w->muscle_depth[v] = march(w, muscle_value, p, way, w->bone_depth[v]);
    }
}

/* Each depth towards the mean of its neighbours'. */
static void smooth_depths(const layer_work *w, double *depth, double *sum, int32_t *count)
{
    const sup_surface *skin = w->skin;
    for (int32_t round = 0; round < SMOOTH_ROUNDS; round++) {
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

/* The bone that carries the organ at a point of the bone surface, -1 where it slides. */
static int32_t holder_at(const layer_work *w, sup_vec3d p)
{
    double distance[SUP_REGIONS_MAX * 2];
    int32_t regions = w->bone_row_count, nearest = 0;
    sup_sculpture_regions(w->bones, p, distance);
    for (int32_t r = 1; r < (w->recipe->mirrored ? 2 : 1) * regions; r++)
        if (distance[r] < distance[nearest]) nearest = r;
    const sup_organ_row *organ = &w->recipe->organs[w->bone_rows[nearest % regions]];
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

/* How much of the skin over a bone goes with another limb than the bone. */
static float foreign_share(const layer_work *w, int32_t v, int32_t holder)
{
    const sup_character *c = w->character;
    float sum = 0.0f;
    for (int32_t k = c->influence_first[v]; k < c->influence_first[v + 1]; k++)
        if (w->skeleton->joints[c->influence_bone[k]].region != w->skeleton->joints[holder].region)
            sum += c->influence_weight[k];
    return sum;
}

static void place_layers(const layer_work *w, float *muscle, float *bone, int32_t *holders)
{
    for (int32_t v = 0; v < w->skin->vertex_count; v++) {
        if (w->bone_depth[v] < 0.0) continue;
        sup_vec3d p = w->skin->positions[v], line = sup_v3_sub(w->foot[v], p);
        double length = sup_v3_length(line);
        double deep = fmin(fmax(w->bone_depth[v], 2.0 * (least_fat + least_muscle)), deepest * length);
        double high = deep - fmax(least_muscle, least_part * deep),
               low = fmin(fmax(least_fat, least_part * deep), high);
        sup_vec3d at = sup_v3_madd(p, deep / length, line);
        holders[v] = holder_at(w, at);
        if (holders[v] >= 0 && foreign_share(w, v, holders[v]) > slides_from) holders[v] = -1;
        if (holders[v] >= 0) high = fmin(high, most_fat * deep);
        double middle = fmin(fmax(w->muscle_depth[v], low), high);
        sup_v3_store(muscle + 3 * (size_t)v, sup_v3_madd(p, middle / length, line));
        sup_v3_store(bone + 3 * (size_t)v, at);
    }
}

bool sup_scene_layers(const sup_context *context, const sup_recipe *recipe, const sup_skeleton *skeleton,
                      const sup_surface *skin, sup_character *character, sup_arena *arena)
{
    layer_work w = {.recipe = recipe, .skeleton = skeleton, .skin = skin, .character = character};
    size_t count = (size_t)skin->vertex_count, all = (size_t)character->vertex_count;
    sup_arena scratch = sup_arena_create(&context->allocator);
    w.foot = sup_arena_alloc(&scratch, count, sizeof *w.foot);
    w.bone_depth = sup_arena_alloc(&scratch, count, sizeof *w.bone_depth);
    w.muscle_depth = sup_arena_alloc(&scratch, count, sizeof *w.muscle_depth);
    double *sum = sup_arena_alloc(&scratch, count, sizeof *sum);
    int32_t *near_count = sup_arena_alloc(&scratch, count, sizeof *near_count);
    float *muscle = sup_arena_copy(arena, character->positions, all * 3, sizeof *muscle);
    float *bone = sup_arena_copy(arena, character->positions, all * 3, sizeof *bone);
    int32_t *holders = sup_arena_alloc(arena, all, sizeof *holders);
    w.bones = sculpt_organs(context, recipe, false, w.bone_rows, &w.bone_row_count);
    w.muscles = sculpt_organs(context, recipe, true, NULL, NULL);
    bool done = w.foot != NULL && w.bone_depth != NULL && w.muscle_depth != NULL && sum != NULL && near_count != NULL &&
                muscle != NULL && bone != NULL && holders != NULL && w.bones != NULL && w.muscles != NULL;
    if (done) {
        memset(holders, -1, all * sizeof *holders);
        sup_parallel(context, skin->vertex_count, 256, find_depths, &w);
        smooth_depths(&w, w.bone_depth, sum, near_count);
        smooth_depths(&w, w.muscle_depth, sum, near_count);
        place_layers(&w, muscle, bone, holders);
        character->muscle_positions = muscle;
        character->bone_positions = bone;
        character->bone_attachments = holders;
    }
    sup_sculpture_destroy(w.bones);
    sup_sculpture_destroy(w.muscles);
    sup_arena_destroy(&scratch);
    return done;
}

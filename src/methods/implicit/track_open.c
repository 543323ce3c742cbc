/* track_open.c - finding the arrays of a tracked skin again, and checking that they belong together. */
#include "methods/implicit/track.h"

typedef struct opening {
    const sup_model *model;
    bool ok;
} opening;

static const int32_t *ints(opening *o, const char *name, int64_t count, int32_t least, int32_t end)
{
    const int32_t *array = sup_model_array(o->model, name, SUP_ARRAY_INT32, count);
    o->ok = o->ok && array != NULL;
    for (int64_t i = 0; o->ok && i < count; i++)
        o->ok = array[i] >= least && array[i] < end;
    return array;
}

static const float *floats(opening *o, const char *name, int64_t count, float least, float most)
{
    const float *array = sup_model_array(o->model, name, SUP_ARRAY_FLOAT, count);
    o->ok = o->ok && array != NULL;
    for (int64_t i = 0; o->ok && i < count; i++)
        o->ok = array[i] >= least && array[i] <= most;
    return array;
}

/* Starts of lists: from 0 to `end`, never falling, and rising by 1 to `most`. */
static const int32_t *starts(opening *o, const char *name, int64_t count, int32_t least, int64_t most, int32_t end)
{
    const int32_t *array = sup_model_array(o->model, name, SUP_ARRAY_INT32, count + 1);
    o->ok = o->ok && array != NULL && array[0] == 0 && array[count] == end;
    for (int64_t i = 0; o->ok && i < count; i++)
        o->ok = array[i + 1] >= array[i] && array[i + 1] - array[i] >= least && array[i + 1] - array[i] <= most;
    return array;
}

static int32_t count_of(opening *o, const char *name, int64_t each)
{
    int64_t count = sup_model_array_count(o->model, name);
    o->ok = o->ok && count >= 0 && count % each == 0 && count / each < INT32_MAX / 16;
    return o->ok ? (int32_t)(count / each) : 0;
}

static void open_rows(opening *o, sup_track *t)
{
    int64_t rows = t->row_count, influences = rows * SUP_TRACK_INFLUENCES;
    t->rest = floats(o, "track.rest", 4 * rows, -1e6f, 1e6f);
    t->inward = floats(o, "track.inward", 4 * rows, -1.001f, 1.001f);
    t->own = floats(o, "track.own", rows, -1.0f, 1e6f);
    t->strange = floats(o, "track.strange", rows, 0.0f, 1.001f);
    union {
        const float *from;
        const sup_track_aim *to;
    } aim = {floats(o, "track.aim", 4 * rows, 0.0f, 1e18f)};
    t->aim = aim.to;
    for (int64_t i = 0; o->ok && i < rows; i++)
        o->ok = t->aim[i].edge > 0.0f && t->aim[i].relax <= 1.0f && t->aim[i].iso <= 1.001f;
    t->first = starts(o, "track.first", rows, 0, INT32_MAX, t->edge_count);
    t->other = ints(o, "track.other", t->edge_count, 0, t->row_count);
    t->weight = floats(o, "track.weight", t->edge_count, 0.0f, 1e12f);
    t->mean = floats(o, "track.mean", t->edge_count, 0.0f, 1.001f);
    t->sum = floats(o, "track.sum", rows, 0.0f, 1e18f);
    t->influence_joint = ints(o, "track.joint", influences, 0, t->joint_count);
    t->influence_weight = floats(o, "track.influence", influences, 0.0f, 1.001f);
    for (int64_t i = 0; o->ok && i < rows; i++)
        o->ok = t->influence_weight[SUP_TRACK_INFLUENCES * i] > 0.0f;
}

static void open_blocks(opening *o, sup_track *t)
{
    int64_t blocks = t->block_count;
    int32_t near = count_of(o, "track.near", 1), feel = count_of(o, "track.feel", 1);
    t->block_first = starts(o, "track.block_first", blocks, 1, SUP_FIELD_LANES, t->row_count);
    t->block_joint = ints(o, "track.block_joint", blocks, 0, t->joint_count);
    t->near_first = starts(o, "track.near_first", blocks, 0, INT32_MAX, near);
    t->near = ints(o, "track.near", near, 0, t->block_count);
    t->feel_first = starts(o, "track.feel_first", blocks, 0, INT32_MAX, feel);
    t->feel = ints(o, "track.feel", feel, 0, t->joint_count);
}

static void open_factor(opening *o, sup_track *t)
{
    int64_t int_count = sup_model_array_count(o->model, "track.factor"),
            float_count = sup_model_array_count(o->model, "track.factor_values"),
            part_count = sup_model_array_count(o->model, "track.parts");
    const int32_t *factor = sup_model_array(o->model, "track.factor", SUP_ARRAY_INT32, int_count);
    const float *values = sup_model_array(o->model, "track.factor_values", SUP_ARRAY_FLOAT, float_count);
    const int32_t *parts = sup_model_array(o->model, "track.parts", SUP_ARRAY_INT32, part_count);
    t->place = ints(o, "track.place", t->row_count, 0, t->row_count);
    o->ok = o->ok && factor != NULL && values != NULL && parts != NULL &&
            sup_float_factor_check(factor, int_count, values, float_count);
    if (!o->ok) return;
    t->factor = sup_float_factor_view(factor, values);
    o->ok = t->factor.size == t->row_count && sup_float_subdomains_check(&t->factor, parts, part_count);
    if (o->ok) t->parts = sup_float_subdomains_view(parts);
    t->parts.marked = true;
}

sup_result sup_track_open(const sup_model *model, sup_track *track, sup_error *error)
{
    opening o = {model, true};
    memset(track, 0, sizeof *track);
    track->row_count = count_of(&o, "track.rest", 4);
    track->block_count = count_of(&o, "track.block_joint", 1);
    track->edge_count = count_of(&o, "track.other", 1);
    track->joint_count = count_of(&o, "joint_node", 1);
    o.ok = o.ok && track->row_count > 0 && track->block_count > 0 && track->joint_count > 0;
    if (o.ok) open_rows(&o, track);
    if (o.ok) open_blocks(&o, track);
    if (o.ok) open_factor(&o, track);
    return o.ok ? SUP_OK
                : sup_fail(error, SUP_ERROR_FORMAT, "implicit.model", "",
                           "The model is damaged: its tracked skin does not fit together. Bind it again.");
}

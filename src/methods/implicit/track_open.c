/* track_open.c - opens the arrays of a tracked skin and checks their consistency. */
#include "methods/implicit/track.h"

typedef struct opening {
    const sup_model *model;
    bool ok;
} opening;

static const int32_t *ints(opening *o, const char *name, int64_t count, int32_t minimum, int32_t end)
{
    const int32_t *array = sup_model_array(o->model, name, SUP_ARRAY_INT32, count);
    o->ok = o->ok && array != NULL;
    for (int64_t i = 0; o->ok && i < count; i++)
        o->ok = array[i] >= minimum && array[i] < end;
    return array;
}

static const float *floats(opening *o, const char *name, int64_t count, float minimum, float maximum)
{
    const float *array = sup_model_array(o->model, name, SUP_ARRAY_FLOAT, count);
    o->ok = o->ok && array != NULL;
    for (int64_t i = 0; o->ok && i < count; i++)
        o->ok = array[i] >= minimum && array[i] <= maximum;
    return array;
}

/* Offsets of lists: from 0 to `end`, non-decreasing, with lists of `minimum` to `maximum` entries. */
static const int32_t *starts(opening *o, const char *name, int64_t count, int32_t minimum, int64_t maximum, int32_t end)
{
    const int32_t *array = sup_model_array(o->model, name, SUP_ARRAY_INT32, count + 1);
    o->ok = o->ok && array != NULL && array[0] == 0 && array[count] == end;
    for (int64_t i = 0; o->ok && i < count; i++)
        o->ok = array[i + 1] >= array[i] && array[i + 1] - array[i] >= minimum && array[i + 1] - array[i] <= maximum;
    return array;
}

static int32_t count_of(opening *o, const char *name, int64_t each)
{
    int64_t count = sup_model_array_count(o->model, name);
    o->ok = o->ok && count >= 0 && count % each == 0 && count / each < INT32_MAX / 16;
    return o->ok ? (int32_t)(count / each) : 0;
}

static void open_vertices(opening *o, sup_track *t)
{
    int64_t vertices = t->vertex_count, influences = vertices * SUP_TRACK_INFLUENCES;
    t->rest = floats(o, "track.rest", 4 * vertices, -1e6f, 1e6f);
    t->inward = floats(o, "track.inward", 4 * vertices, -1.001f, 1.001f);
    t->own = floats(o, "track.own", vertices, -1.0f, 1e6f);
    t->other_limb = floats(o, "track.other_limb", vertices, 0.0f, 1.001f);
    union {
        const float *from;
        const sup_track_target *to;
    } target = {floats(o, "track.target", 4 * vertices, 0.0f, 1e18f)};
    t->target = target.to;
    for (int64_t i = 0; o->ok && i < vertices; i++)
        o->ok = t->target[i].edge > 0.0f && t->target[i].relax <= 1.0f && t->target[i].iso <= 1.001f;
    t->first = starts(o, "track.first", vertices, 0, INT32_MAX, t->edge_count);
    t->other = ints(o, "track.other", t->edge_count, 0, t->vertex_count);
    t->weight = floats(o, "track.weight", t->edge_count, 0.0f, 1e12f);
    t->mean = floats(o, "track.mean", t->edge_count, 0.0f, 1.001f);
    t->sum = floats(o, "track.sum", vertices, 0.0f, 1e18f);
    t->influence_joint = ints(o, "track.joint", influences, 0, t->joint_count);
    t->influence_weight = floats(o, "track.influence", influences, 0.0f, 1.001f);
    for (int64_t i = 0; o->ok && i < vertices; i++)
        o->ok = t->influence_weight[SUP_TRACK_INFLUENCES * i] > 0.0f;
}

static void open_clusters(opening *o, sup_track *t)
{
    int64_t clusters = t->cluster_count;
    int32_t neighbour = count_of(o, "track.neighbour", 1), moved_by = count_of(o, "track.moved_by", 1);
    t->cluster_first = starts(o, "track.cluster_first", clusters, 1, SUP_FIELD_LANES, t->vertex_count);
    t->cluster_joint = ints(o, "track.cluster_joint", clusters, 0, t->joint_count);
    t->neighbour_first = starts(o, "track.neighbour_first", clusters, 0, INT32_MAX, neighbour);
    t->neighbour = ints(o, "track.neighbour", neighbour, 0, t->cluster_count);
    t->moved_by_first = starts(o, "track.moved_by_first", clusters, 0, INT32_MAX, moved_by);
    t->moved_by = ints(o, "track.moved_by", moved_by, 0, t->joint_count);
}

static void open_factor(opening *o, sup_track *t)
{
    int64_t int_count = sup_model_array_count(o->model, "track.factor"),
            float_count = sup_model_array_count(o->model, "track.factor_values"),
            subdomain_ints = sup_model_array_count(o->model, "track.subdomains");
    const int32_t *factor = sup_model_array(o->model, "track.factor", SUP_ARRAY_INT32, int_count);
    const float *values = sup_model_array(o->model, "track.factor_values", SUP_ARRAY_FLOAT, float_count);
    const int32_t *subdomains = sup_model_array(o->model, "track.subdomains", SUP_ARRAY_INT32, subdomain_ints);
    t->elimination = ints(o, "track.elimination", t->vertex_count, 0, t->vertex_count);
    o->ok = o->ok && factor != NULL && values != NULL && subdomains != NULL &&
            sup_float_factor_check(factor, int_count, values, float_count);
    if (!o->ok) return;
    t->factor = sup_float_factor_view(factor, values);
    o->ok = t->factor.size == t->vertex_count && sup_float_subdomains_check(&t->factor, subdomains, subdomain_ints);
    if (o->ok) t->subdomains = sup_float_subdomains_view(subdomains);
    t->subdomains.marked = true;
}

sup_result sup_track_open(const sup_model *model, sup_track *track, sup_error *error)
{
    opening o = {model, true};
    memset(track, 0, sizeof *track);
    track->vertex_count = count_of(&o, "track.rest", 4);
    track->cluster_count = count_of(&o, "track.cluster_joint", 1);
    track->edge_count = count_of(&o, "track.other", 1);
    track->joint_count = count_of(&o, "joint_node", 1);
    o.ok = o.ok && track->vertex_count > 0 && track->cluster_count > 0 && track->joint_count > 0;
    if (o.ok) open_vertices(&o, track);
    if (o.ok) open_clusters(&o, track);
    if (o.ok) open_factor(&o, track);
    return o.ok ? SUP_OK
                : sup_fail(error, SUP_ERROR_FORMAT, "implicit.model", "",
                           "The model is damaged: its tracked skin is inconsistent. Bind it again.");
}

/* crowd_open.c - uploads a model and allocates its instances. */
#include "cuda/crowd.h"

#include "cuda/untangle_clusters.h"
#include "cuda/upsample_rows.h"
#include "math/affine.h"
#include "methods/projective/projective.h"
#include "skin/skin.h"

/* Uploads the arrays of a structure; after the first failure it does nothing. */
typedef struct uploader {
    sup_crowd *crowd;
    sup_error *error;
    bool failed;
} uploader;

static void *up(uploader *u, const void *from, int64_t count, size_t size)
{
    if (u->failed) return NULL;
    void *memory = from != NULL ? sup_crowd_upload(u->crowd, from, (size_t)count, size, u->error)
                                : sup_crowd_alloc(u->crowd, (size_t)count, size, u->error);
    u->failed = memory == NULL;
    return memory;
}

static sup_result done(const uploader *u)
{
    return !u->failed ? SUP_OK : u->error != NULL ? u->error->result : SUP_ERROR_MEMORY;
}

/* --- Clips --- */

static int channel_width(const sup_channel *c)
{
    int width = c->target == SUP_CHANNEL_ROTATION ? 4 : c->target == SUP_CHANNEL_MORPH ? 1 : 3;
    return c->interpolation == SUP_INTERPOLATE_CUBIC ? 3 * width : width;
}

/* Index of the node that a channel animates, or nodes + index of its morph weight. */
static int32_t channel_target(const sup_channel *c, int32_t nodes)
{
    return c->target == SUP_CHANNEL_MORPH ? nodes + c->index : c->index;
}

typedef struct motion_arrays {
    sup_gpu_clip *clips;
    int32_t *first;
    sup_gpu_channel *channels;
    float *times, *values;
    int64_t channel_count, time_count, value_count;
} motion_arrays;

/* Channels sorted by node, then by morph weight; of two channels for one target the last one wins, as on the CPU. */
static void write_clip(const sup_clip *clip, int32_t index, int32_t nodes, int32_t weights, motion_arrays *m)
{
    int32_t all = nodes + weights;
    m->clips[index] = (sup_gpu_clip){clip->start, clip->end, index * (all + 1)};
    int32_t *first = m->first + m->clips[index].node_first;
    for (int32_t node = 0; node <= all; node++) {
        first[node] = (int32_t)m->channel_count;
        for (int32_t i = 0; node < all && i < clip->channel_count; i++) {
            const sup_channel *c = &clip->channels[i];
            if (channel_target(c, nodes) != node) continue;
            m->channels[m->channel_count++] =
                (sup_gpu_channel){(int32_t)c->target, (int32_t)c->interpolation, c->key_count, (int32_t)m->time_count,
                                  (int32_t)m->value_count};
            memcpy(m->times + m->time_count, c->times, (size_t)c->key_count * sizeof(float));
            size_t values = (size_t)c->key_count * (size_t)channel_width(c);
            memcpy(m->values + m->value_count, c->values, values * sizeof(float));
            m->time_count += c->key_count;
            m->value_count += (int64_t)values;
        }
    }
}

static sup_result check_clips(const sup_crowd *crowd, const sup_crowd_def *def, sup_error *error)
{
    if (def->character == NULL || def->clips == NULL ||
        def->character->node_count != sup_model_node_count(crowd->model) ||
        def->character->morph_weight_count != crowd->weight_count)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.clips", "",
                        "Clips need the character that the model was bound from, with its %d nodes and %d morph "
                        "weights.",
                        (int)sup_model_node_count(crowd->model), (int)crowd->weight_count);
    for (int32_t i = 0; i < def->clip_count; i++)
        if (def->clips[i] == NULL)
            return sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.clips", "", "Clip %d of the crowd is NULL.", (int)i);
    return SUP_OK;
}

static sup_result open_motion(sup_crowd *crowd, const sup_crowd_def *def, sup_error *error)
{
    if (def->clip_count <= 0) return SUP_OK;
    sup_result result = check_clips(crowd, def, error);
    if (result != SUP_OK) return result;
    const sup_character *character = def->character;
    int32_t nodes = character->node_count, weights = crowd->weight_count;
    size_t firsts = (size_t)def->clip_count * ((size_t)nodes + (size_t)weights + 1);
    int64_t channels = 0, times = 0, values = 0;
    for (int32_t i = 0; i < def->clip_count; i++)
        for (int32_t k = 0; k < def->clips[i]->channel_count; k++) {
            const sup_channel *c = &def->clips[i]->channels[k];
            channels++;
            times += c->key_count;
            values += (int64_t)c->key_count * channel_width(c);
        }
    if (values > INT32_MAX || firsts > INT32_MAX) return sup_fail_memory(error, "the crowd's clips");
    sup_arena arena = sup_arena_create(&crowd->context.allocator);
    motion_arrays m = {.clips = sup_arena_alloc(&arena, (size_t)def->clip_count, sizeof(sup_gpu_clip)),
                       .first = sup_arena_alloc(&arena, firsts, sizeof(int32_t)),
                       .channels = sup_arena_alloc(&arena, (size_t)channels + 1, sizeof(sup_gpu_channel)),
                       .times = sup_arena_alloc(&arena, (size_t)times + 1, sizeof(float)),
                       .values = sup_arena_alloc(&arena, (size_t)values + 1, sizeof(float))};
    int32_t *parent = sup_arena_alloc(&arena, (size_t)nodes, sizeof(int32_t));
    float *rest = sup_arena_alloc(&arena, (size_t)nodes, sizeof(sup_transform));
    float *rest_weights = sup_arena_alloc(&arena, (size_t)weights + 1, sizeof(float));
    if (!m.clips || !m.first || !m.channels || !m.times || !m.values || !parent || !rest || !rest_weights) {
        sup_arena_destroy(&arena);
        return sup_fail_memory(error, "the crowd's clips");
    }
    for (int32_t i = 0; i < def->clip_count; i++)
        write_clip(def->clips[i], i, nodes, weights, &m);
    for (int32_t i = 0; i < nodes; i++) {
        parent[i] = character->nodes[i].parent;
        memcpy(rest + 10 * (size_t)i, &character->nodes[i].rest, sizeof(sup_transform));
    }
    for (int32_t i = 0; i < character->morph_count; i++)
        rest_weights[character->morphs[i].weight] = character->morphs[i].default_weight;
    uploader u = {crowd, error, false};
    crowd->motion = (sup_gpu_motion){.node_count = nodes,
                                     .clip_count = def->clip_count,
                                     .weight_count = weights,
                                     .parent = up(&u, parent, nodes, sizeof(int32_t)),
                                     .rest = up(&u, rest, nodes, sizeof(sup_transform)),
                                     .clips = up(&u, m.clips, def->clip_count, sizeof(sup_gpu_clip)),
                                     .rest_weights = up(&u, rest_weights, weights, sizeof(float)),
                                     .channel_first = up(&u, m.first, (int64_t)firsts, sizeof(int32_t)),
                                     .channels = up(&u, m.channels, channels, sizeof(sup_gpu_channel)),
                                     .times = up(&u, m.times, times, sizeof(float)),
                                     .values = up(&u, m.values, values, sizeof(float))};
    sup_arena_destroy(&arena);
    return done(&u);
}

/* --- Joints --- */

static sup_result open_joints(sup_crowd *crowd, const int32_t *node, const float *inverse_bind, sup_error *error)
{
    size_t joints = (size_t)crowd->joint_count, n = (size_t)crowd->count;
    crowd->joint_node = sup_arena_copy(&crowd->arena, node, joints, sizeof(int32_t));
    crowd->inverse_bind = sup_arena_copy(&crowd->arena, inverse_bind, joints, 12 * sizeof(float));
    crowd->pose = sup_arena_alloc(&crowd->arena, n * joints, 12 * sizeof(float));
    crowd->previous_pose = sup_arena_alloc(&crowd->arena, n * joints, 12 * sizeof(float));
    crowd->between = sup_arena_alloc(&crowd->arena, n * joints, 12 * sizeof(float));
    crowd->was_reset = sup_arena_alloc(&crowd->arena, n, 1);
    crowd->play = sup_arena_alloc(&crowd->arena, n, sizeof(sup_gpu_play));
    crowd->commands = sup_arena_alloc(&crowd->arena, n, sizeof(sup_gpu_command));
    crowd->settling = sup_arena_alloc(&crowd->arena, n, sizeof(sup_gpu_command));
    crowd->values = sup_arena_alloc(&crowd->arena, n * (size_t)crowd->method->param_count + 1, sizeof(double));
    if (!crowd->joint_node || !crowd->inverse_bind || !crowd->pose || !crowd->previous_pose || !crowd->between ||
        !crowd->was_reset || !crowd->play || !crowd->commands || !crowd->settling || !crowd->values)
        return sup_fail_memory(error, "the crowd");
    memset(crowd->was_reset, 1, n);
    for (size_t i = 0; i < n; i++)
        crowd->play[i].clip = -1;
    uploader u = {crowd, error, false};
    crowd->joints = (sup_gpu_joints){.count = crowd->count,
                                     .joint_count = crowd->joint_count,
                                     .node = up(&u, node, crowd->joint_count, sizeof(int32_t)),
                                     .inverse_bind = up(&u, inverse_bind, crowd->joint_count, 12 * sizeof(float)),
                                     .pose = up(&u, NULL, (int64_t)(n * joints), 12 * sizeof(float)),
                                     .play = up(&u, crowd->play, crowd->count, sizeof(sup_gpu_play))};
    crowd->device_seconds = up(&u, NULL, 1, sizeof(float));
    crowd->device_frame_time = up(&u, NULL, 2, sizeof(float));
    crowd->frame_time[0] = crowd->frame_time[1] = -1.0f;
    crowd->device_commands = up(&u, NULL, crowd->count, sizeof(sup_gpu_command));
    crowd->settle_commands = up(&u, NULL, crowd->count, sizeof(sup_gpu_command));
    return done(&u);
}

/* --- Render mesh --- */

const size_t sup_crowd_packed[3] = {3 * sizeof(float), 3 * sizeof(float), 4 * sizeof(float)};

static bool writes_tangents(const sup_crowd_def *def)
{
    return def->with_tangents || def->tangents != NULL;
}

static sup_result check_tangents(const sup_crowd_def *def, const sup_skin_model *skin, sup_error *error)
{
    if (!writes_tangents(def)) return SUP_OK;
    if (skin->tangents == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.tangents", "", "The character has no tangents.");
    if (def->no_normals)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "crowd.tangents", "", "Tangents need normals: clear no_normals.");
    return SUP_OK;
}

static sup_result open_out(sup_crowd *crowd, const sup_crowd_def *def, sup_error *error)
{
    size_t vertices = (size_t)crowd->vertex_count;
    float *callers[3] = {def->positions, def->normals, def->tangents};
    size_t strides[3] = {def->position_stride, def->normal_stride, def->tangent_stride};
    size_t instances[3] = {def->position_instance_stride, def->normal_instance_stride, def->tangent_instance_stride};
    bool skipped[3] = {false, def->no_normals, !writes_tangents(def)};
    float **to[3] = {&crowd->out.positions, &crowd->out.normals, &crowd->out.tangents};
    uploader u = {crowd, error, false};
    for (int k = 0; k < 3; k++) {
        size_t packed = sup_crowd_packed[k];
        size_t stride = strides[k] != 0 ? strides[k] : packed;
        size_t instance = instances[k] != 0 ? instances[k] : stride * vertices;
        if (stride < packed || stride % sizeof(float) != 0 || instance % sizeof(float) != 0 ||
            (uintptr_t)callers[k] % sizeof(float) != 0 ||
            (callers[k] == NULL && (strides[k] != 0 || instances[k] != 0)))
            return sup_fail(
                error, SUP_ERROR_ARGUMENT, "crowd.output", "",
                "Strides of the crowd's output must be multiples of 4, at least 12 bytes per vertex (16 for "
                "tangents), and are only allowed with an array of the caller.");
        crowd->out.vertex_stride[k] = stride;
        crowd->out.instance_stride[k] = instance;
        if (skipped[k]) continue;
        *to[k] = callers[k] != NULL ? callers[k] : up(&u, NULL, crowd->count, instance);
    }
    return done(&u);
}

/* Lanes of the classic layout whose vertex is not in `covered`. */
static sup_result open_skin(sup_crowd *crowd, const unsigned char *covered, sup_error *error)
{
    sup_skin_model skin = sup_skin_open(crowd->model);
    size_t all = (size_t)skin.cluster_count * SUP_SKIN_CLUSTER;
    sup_arena arena = sup_arena_create(&crowd->context.allocator);
    unsigned char *seen = sup_arena_alloc(&arena, (size_t)crowd->vertex_count + 1, 1);
    int32_t *lane = sup_arena_alloc(&arena, all + 1, sizeof(int32_t));
    int32_t *vertex = sup_arena_alloc(&arena, all + 1, sizeof(int32_t));
    if (seen == NULL || lane == NULL || vertex == NULL) {
        sup_arena_destroy(&arena);
        return sup_fail_memory(error, "the crowd's skin");
    }
    int32_t count = 0;
    for (int32_t w = 0; w < skin.window_count; w++)
        for (int32_t i = skin.window_first[w] * SUP_SKIN_CLUSTER; i < skin.window_first[w + 1] * SUP_SKIN_CLUSTER;
             i++) {
            int32_t v = w * SUP_SKIN_WINDOW + skin.vertex[i];
            if (v >= crowd->vertex_count || seen[v] || (covered != NULL && covered[v])) continue;
            seen[v] = 1;
            lane[count] = i;
            vertex[count++] = v;
        }
    uploader u = {crowd, error, false};
    crowd->skin =
        (sup_gpu_skin){.lane_count = count,
                       .lane = up(&u, lane, count, sizeof(int32_t)),
                       .vertex = up(&u, vertex, count, sizeof(int32_t)),
                       .joint_first = up(&u, skin.joint_first, (int64_t)skin.cluster_count + 1, sizeof(int32_t)),
                       .weight_first = up(&u, skin.weight_first, (int64_t)skin.cluster_count + 1, sizeof(int32_t)),
                       .joints = up(&u, skin.joints, sup_model_array_count(crowd->model, "joints"), sizeof(uint16_t)),
                       .weights = up(&u, skin.weights, sup_model_array_count(crowd->model, "weights"), sizeof(float)),
                       .strongest = up(&u, skin.strongest, (int64_t)all, 1),
                       .positions = up(&u, skin.positions, (int64_t)all * 3, sizeof(float)),
                       .normals = up(&u, skin.normals, (int64_t)all * 3, sizeof(float)),
                       .joint_centre = up(&u, skin.joint_centre, 3 * (int64_t)skin.joint_count, sizeof(float))};
    if (crowd->out.tangents != NULL) crowd->skin.tangents = up(&u, skin.tangents, (int64_t)all * 4, sizeof(float));
    if (crowd->kind == SUP_METHOD_DEVICE_DUALQUAT)
        crowd->skin.rigid = up(&u, NULL, (int64_t)crowd->count * crowd->joint_count, 24 * sizeof(float));
    sup_result result = done(&u);
    if (result == SUP_OK) result = sup_crowd_open_morphs(crowd, lane, count, error);
    sup_arena_destroy(&arena);
    return result;
}

static sup_result open_upsample(sup_crowd *crowd, const sup_projective_view *view, sup_error *error)
{
    const sup_upsample *from = &view->upsample;
    sup_arena arena = sup_arena_create(&crowd->context.allocator);
    sup_upsample_row_table rows;
    sup_result result = sup_upsample_row_table_create(from, crowd->out.tangents != NULL, &arena, &rows, error);
    unsigned char *covered = sup_arena_alloc(&arena, (size_t)crowd->vertex_count + 1, 1);
    if (result == SUP_OK && covered == NULL) result = sup_fail_memory(error, "the crowd's skin");
    if (result != SUP_OK) {
        sup_arena_destroy(&arena);
        return result;
    }
    uploader u = {crowd, error, false};
    int64_t corners = 3 * (int64_t)from->coarse_triangle_count, slots = rows.slots, all = slots * rows.row_count;
    crowd->upsample = (sup_gpu_upsample){
        .coarse_count = from->coarse_count,
        .slots = rows.slots,
        .plain_count = rows.plain_count,
        .row_count = rows.row_count,
        .row_vertex = up(&u, rows.vertex, rows.row_count, sizeof(int32_t)),
        .narrow = rows.narrow != NULL ? up(&u, rows.narrow, all, sizeof(uint16_t)) : NULL,
        .wide = rows.wide != NULL ? up(&u, rows.wide, all, sizeof(int32_t)) : NULL,
        .plain = up(&u, rows.plain, slots * rows.plain_count, 2 * sizeof(float)),
        .followers = up(&u, rows.followers, slots * (rows.row_count - rows.plain_count), 4 * sizeof(float)),
        .triangles = up(&u, from->triangles, corners, sizeof(int32_t)),
        .corner_first = up(&u, from->corner_first, (int64_t)from->coarse_count + 1, sizeof(int32_t)),
        .corner_triangle = up(&u, from->corner_triangle, corners, sizeof(int32_t)),
        .rest_normal = up(&u, from->rest_normal, 3 * (int64_t)from->coarse_count, sizeof(float)),
        .coarse = up(&u, NULL, (int64_t)crowd->count * from->coarse_count, 8 * sizeof(float))};
    if (rows.tangents != NULL) {
        crowd->upsample.tangent_weights = up(&u, rows.tangents, all, 2 * sizeof(float));
        crowd->upsample.tangent_signs = up(&u, rows.signs, rows.row_count, sizeof(float));
    }
    if (crowd->count > 2)
        crowd->upsample.packed = up(&u, NULL, (int64_t)crowd->count * from->coarse_count, sizeof(sup_gpu_four));
    for (int32_t i = 0; i < rows.row_count; i++)
        covered[rows.vertex[i]] = 1;
    result = done(&u);
    if (result == SUP_OK) result = open_skin(crowd, covered, error);
    sup_arena_destroy(&arena);
    return result;
}

/* --- Projective --- */

/* GPU nodes of the skin vertices; anchors keep their node of the system. */
static int32_t *number_skin(sup_crowd *crowd, const sup_system *s, const sup_subdomains *b)
{
    int32_t *node = sup_arena_alloc(&crowd->arena, (size_t)s->skin_count, sizeof(int32_t));
    for (int32_t v = 0; node != NULL && v < s->skin_count; v++)
        node[v] = s->node[v] >= s->unknown_count ? s->node[v] : b->number[s->node[v]];
    return node;
}

/* Unknowns that are not skin, ascending; *count: their number. */
static int32_t *list_inner(sup_crowd *crowd, const sup_system *s, const int32_t *node, int32_t *count)
{
    int32_t *list = sup_arena_alloc(&crowd->arena, (size_t)s->unknown_count + 1, sizeof(int32_t));
    unsigned char *skin = sup_arena_alloc(&crowd->arena, (size_t)s->unknown_count + 1, 1);
    *count = 0;
    if (list == NULL || skin == NULL) return NULL;
    for (int32_t v = 0; v < s->skin_count; v++)
        if (node[v] < s->unknown_count) skin[node[v]] = 1;
    for (int32_t i = 0; i < s->unknown_count; i++)
        if (!skin[i]) list[(*count)++] = i;
    return list;
}

static sup_result open_system(sup_crowd *crowd, const sup_system *from, const sup_subdomains *b, sup_error *error)
{
    uploader u = {crowd, error, false};
    size_t square = (size_t)b->limit * (size_t)b->limit;
    int32_t max_local = 0, max_foot_points = 0, blend = 0, inner_count = 0, *node = number_skin(crowd, from, b);
    int32_t *inner = node != NULL ? list_inner(crowd, from, node, &inner_count) : NULL;
    if (inner == NULL) return sup_fail_memory(error, "the crowd");
    for (int32_t p = 0; p < b->subdomain_count; p++) {
        int32_t local = b->subdomains[p].count + b->subdomains[p].slot_count + b->subdomains[p].anchor_count;
        int32_t region_slots = b->subdomains[p].blend_count * b->subdomains[p].prism_stride;
        int32_t skin = b->subdomains[p].count + b->subdomains[p].slot_count;
        skin = skin > b->subdomains[p].foot_count ? skin : b->subdomains[p].foot_count;
        max_local = local > max_local ? local : max_local;
        max_foot_points = skin > max_foot_points ? skin : max_foot_points;
        blend = region_slots > blend ? region_slots : blend;
    }
    crowd->system = (sup_gpu_system){
        .unknown_count = b->unknown_count,
        .interior_count = b->interior_count,
        .separator_count = b->separator_count,
        .separator_stride = b->separator_stride,
        .subdomain_count = b->subdomain_count,
        .slot_count = b->slot_count,
        .anchor_count = b->anchor_count,
        .skin_count = from->skin_count,
        .lockstep = b->limit == SUP_SUBDOMAIN_LIMIT_SINGLE ? 1 : SUP_GPU_LOCKSTEP,
        .max_local = max_local,
        .max_foot_points = max_foot_points,
        .max_prisms = b->max_prisms,
        .max_forces = b->max_forces,
        .max_slots = b->max_slots,
        .max_pack = b->pack_size,
        .solve_stride = b->solve_stride,
        .max_region_slots = b->max_region_slots,
        .max_blend = blend,
        .region_slot_count = b->region_slot_count,
        .inner_count = inner_count,
        .first_node = b->number[0],
        .is_static = from->is_static,
        .weight_sum = from->weight_sum,
        .volume = from->volume,
        .size = from->size,
        .subdomains = up(&u, b->subdomains, b->subdomain_count, sizeof(sup_subdomain)),
        .pack = up(&u, b->pack, (int64_t)b->subdomain_count * b->pack_size, 1),
        .inverse = up(&u, b->inverse, (int64_t)((size_t)b->subdomain_count * square), sizeof(float)),
        .solve = b->solve == NULL
                     ? NULL
                     : up(&u, b->solve, (int64_t)b->subdomain_count * b->limit * b->solve_stride, sizeof(float)),
        .schur_inverse = up(&u, b->schur_inverse, (int64_t)b->separator_count * b->separator_stride, sizeof(float)),
        .diagonal = up(&u, b->diagonal, b->unknown_count, sizeof(float)),
        .separator_first = up(&u, b->separator_slot_first, (int64_t)b->separator_count + 1, sizeof(int32_t)),
        .pull_first = up(&u, b->pull_first, (int64_t)b->unknown_count + 1, sizeof(int32_t)),
        .pull_anchor = up(&u, b->pull_anchor, b->pull_count, sizeof(int32_t)),
        .pull_value = up(&u, b->pull_value, b->pull_count, sizeof(float)),
        .tets = up(&u, b->tets, (int64_t)b->prism_total / SUP_PRISM_LANES * SUP_PRISM_FLOATS, sizeof(float)),
        .node = up(&u, node, from->skin_count, sizeof(int32_t)),
        .inner = up(&u, inner, inner_count, sizeof(int32_t)),
        .blend_region_slot = up(&u, b->blend_region_slot, b->blend_total, sizeof(uint16_t)),
        .blend_weight = up(&u, b->blend_weight, b->blend_total, sizeof(float))};
    return done(&u);
}

static void open_contact_state(uploader *u, sup_gpu_state *st)
{
    const sup_crowd *crowd = u->crowd;
    const sup_gpu_system *s = &crowd->system;
    int64_t n = crowd->count, vector = n * s->unknown_count, contacts = n * s->contact_count;
    size_t four = sizeof(sup_gpu_four);
    st->contacts = up(u, NULL, contacts, sizeof(sup_gpu_contact));
    st->pair = up(u, NULL, contacts, sizeof(int32_t));
    st->onset = up(u, NULL, n * s->skin_count, sizeof(float));
    st->near = up(u, NULL, n * s->skin_count, 1);
    st->node_contact_first = up(u, NULL, vector + n, sizeof(int32_t));
    st->node_contact = up(u, NULL, 4 * contacts, sizeof(int32_t));
    st->force = up(u, NULL, contacts, four);
    st->raw_gradient = up(u, NULL, n * s->slot_count, four);
    sup_gpu_four **vectors[] = {&st->gradient, &st->residual, &st->search, &st->image, &st->product};
    for (int32_t i = 0; i < SUP_COUNT(vectors); i++)
        *vectors[i] = up(u, NULL, vector, four);
    st->cg = up(u, NULL, n * SUP_RESPONSE_MAX_SOLVES, sizeof(sup_gpu_cg));
}

/* Messages between the thread blocks of a single character. */
static void open_messages(uploader *u, sup_gpu_state *st)
{
    const sup_gpu_system *s = &u->crowd->system;
    sup_gpu_messages *w = &st->messages;
    for (int32_t i = 0; i < 2; i++) {
        w->slot[i] = up(u, NULL, (int64_t)s->slot_count + 1, sizeof(sup_gpu_message));
        w->separator[i] =
            up(u, NULL, (int64_t)sup_gpu_persistent_tiles(s) * s->separator_count + 1, sizeof(sup_gpu_message));
        w->sum[i] = up(u, NULL, 3 * (int64_t)s->subdomain_count + s->persistent_blocks, sizeof(sup_gpu_message));
        w->search[i] = up(u, NULL, s->unknown_count, sizeof(sup_gpu_message));
        w->contact[i] = up(u, NULL, s->contact_count, sizeof(sup_gpu_message));
        w->curve[i] = up(u, NULL, s->persistent_blocks, sizeof(sup_gpu_message));
    }
    w->volume = up(u, NULL, (int64_t)s->region_slot_count + 1, sizeof(sup_gpu_message));
    w->raw_gradient = up(u, NULL, (int64_t)s->slot_count + 1, sizeof(sup_gpu_message));
    w->node = up(u, NULL, s->unknown_count, sizeof(sup_gpu_message));
    w->push = up(u, NULL, s->contact_count, sizeof(sup_gpu_message));
    w->contact_sums = up(u, NULL, s->persistent_blocks, sizeof(sup_gpu_message));
    w->command = up(u, NULL, 1, sizeof(sup_gpu_message));
    w->clock = up(u, NULL, 2, sizeof(uint32_t));
}

static sup_result open_state(sup_crowd *crowd, sup_error *error)
{
    const sup_gpu_system *s = &crowd->system;
    uploader u = {crowd, error, false};
    int64_t n = crowd->count, vector = n * s->unknown_count, skin = n * s->skin_count;
    int64_t groups = (n + SUP_GPU_SCHUR_LOCKSTEP - 1) / SUP_GPU_SCHUR_LOCKSTEP;
    size_t four = sizeof(sup_gpu_four);
    bool crowded = s->lockstep > 1;
    sup_gpu_state *st = &crowd->state;
    st->count = crowd->count;
    st->commands = crowd->device_commands;
    st->progress = up(&u, NULL, n, sizeof(sup_gpu_progress));
    sup_gpu_four **vectors[] = {&st->x[0],       &st->x[1],       &st->iterate[0],       &st->iterate[1],
                                &st->iterate[2], &st->prediction, &st->prediction_error, &st->inertial,
                                &st->limit_push};
    for (int32_t i = 0; i < SUP_COUNT(vectors); i++)
        *vectors[i] = up(&u, NULL, vector, four);
    for (int32_t i = 0; i < SUP_SOLVER_HISTORY; i++)
        st->direction[i] = up(&u, NULL, vector, four);
    for (int32_t i = 0; i < 3; i++)
        st->anchors[i] = up(&u, NULL, n * s->anchor_count, four);
    st->anchor_acceleration = up(&u, NULL, n * s->anchor_count, four);
    st->foot_points = up(&u, NULL, vector + n * s->anchor_count, four);
    st->region_slot_volume = up(&u, NULL, n * s->region_slot_count, sizeof(double));
    sup_gpu_four **skins[] = {&st->skin[0], &st->skin[1], &st->window, &st->extrapolated};
    for (int32_t i = 0; i < SUP_COUNT(skins); i++)
        *skins[i] = up(&u, NULL, skin, four);
    st->rest_damping = up(&u, NULL, vector, four);
    st->rest_damping_blocks = sup_gpu_rest_damping_sums(s);
    st->rest_damping_lengths = up(&u, NULL, n * st->rest_damping_blocks, sizeof(double));
    st->step_joints = up(&u, NULL, n * crowd->joint_count, 12 * sizeof(float));
    st->joint_motion = up(&u, NULL, n * crowd->joint_count, 12 * sizeof(float));
    for (int32_t i = 0; i < 2; i++)
        st->control[i] = up(&u, NULL, n, sizeof(sup_gpu_control));
    st->y = up(&u, NULL, n * s->interior_count, four);
    st->slot = up(&u, NULL, n * s->slot_count, four);
    if (crowded) st->rhs = up(&u, NULL, groups * s->separator_stride * 3 * SUP_GPU_SCHUR_LOCKSTEP, sizeof(float));
    st->separator = up(&u, NULL, n * s->separator_count, four);
    int32_t touching = sup_gpu_contact_sum_count(s);
    st->sum_stride = s->subdomain_count + sup_gpu_schur_sum_count(s);
    if (st->sum_stride < touching) st->sum_stride = touching;
    if (st->sum_stride < sup_gpu_contact_blocks(s)) st->sum_stride = sup_gpu_contact_blocks(s);
    st->sums = up(&u, NULL, n * SUP_GPU_SUMS * st->sum_stride, sizeof(float));
    open_contact_state(&u, st);
    if (s->persistent_blocks > 0) open_messages(&u, st);
    return done(&u);
}

/* Contact detection: arrays of the model, and results of a step. */
static sup_result open_detect(sup_crowd *crowd, const sup_detect *d, sup_error *error)
{
    uploader u = {crowd, error, false};
    int64_t n = crowd->count, v = d->vertex_count, t = d->triangle_count;
    size_t four = sizeof(sup_gpu_four), index = sizeof(int32_t);
    sup_detect *to = &crowd->detect.view;
    *to = *d;
    to->edge = up(&u, d->edge, 1, sizeof(float));
    to->gap = up(&u, d->gap, v, sizeof(float));
    to->slack = up(&u, d->slack, v, sizeof(float));
    to->self_contact = up(&u, d->self_contact, v + t, index);
    to->foot_parameter = up(&u, d->foot_parameter, v, sizeof(float));
    to->foot_segment = up(&u, d->foot_segment, v, index);
    to->triangles = up(&u, d->triangles, 3 * t, index);
    to->adjacent = up(&u, d->adjacent, 3 * t, index);
    to->fan_first = up(&u, d->fan_first, v + 1, index);
    to->fan = up(&u, d->fan, 3 * t, index);
    to->ring_first = up(&u, d->ring_first, v + 1, index);
    to->ring = up(&u, d->ring, d->ring_first[v], index);
    to->vertex_clusters = up(&u, d->vertex_clusters, (int64_t)d->vertex_cluster_count * SUP_DETECT_CLUSTER, index);
    to->tet_cluster_first = up(&u, d->tet_cluster_first, (int64_t)d->tet_cluster_count + 1, index);
    to->tet_cluster_point_first = up(&u, d->tet_cluster_point_first, (int64_t)d->tet_cluster_count + 1, index);
    to->tet_cluster_points = up(&u, d->tet_cluster_points, d->tet_cluster_point_first[d->tet_cluster_count], index);
    to->tets = up(&u, d->tets, 4 * (int64_t)d->tet_count, index);
    to->tet_triangle = up(&u, d->tet_triangle, d->tet_count, index);
    crowd->detect.points = up(&u, NULL, 2 * n * v, four);
    crowd->detect.normal = up(&u, NULL, n * v, four);
    crowd->detect.nearest = up(&u, NULL, n * v, sizeof(unsigned long long));
    crowd->detect.clustered = up(&u, NULL, n * d->vertex_cluster_count * SUP_DETECT_CLUSTER, four);
    crowd->detect.cluster_box = up(&u, NULL, n * sup_gpu_detect_boxes(d), four);
    crowd->detect.tet_cluster_box = up(&u, NULL, SUP_GPU_TET_BOX_FOURS * n * d->tet_cluster_count, four);
    return done(&u);
}

static sup_result open_anchors(sup_crowd *crowd, const sup_projective_view *view, sup_error *error)
{
    const sup_anchors *a = &view->anchors;
    uploader u = {crowd, error, false};
    int32_t rigid = a->rigid_first[a->frame_count], segments = a->sphere_first[a->sphere_count];
    int32_t *frame = sup_arena_alloc(&crowd->arena, (size_t)rigid + 1, sizeof(int32_t));
    if (frame == NULL) return sup_fail_memory(error, "the crowd's anchors");
    for (int32_t k = 0; k < a->frame_count; k++)
        for (int32_t i = a->rigid_first[k]; i < a->rigid_first[k + 1]; i++)
            frame[i] = k;
    sup_anchors *to = &crowd->anchors.view;
    *to = *a;
    to->segment_joint = up(&u, a->segment_joint, 3 * (int64_t)a->segment_count, sizeof(int32_t));
    to->segment_rest = up(&u, a->segment_rest, 8 * (int64_t)a->segment_count, sizeof(float));
    to->sphere_joint = up(&u, a->sphere_joint, a->sphere_count, sizeof(int32_t));
    to->sphere_rest = up(&u, a->sphere_rest, 4 * (int64_t)a->sphere_count, sizeof(float));
    to->sphere_first = up(&u, a->sphere_first, (int64_t)a->sphere_count + 1, sizeof(int32_t));
    to->sphere_segments = up(&u, a->sphere_segments, segments, sizeof(int32_t));
    to->rigid_out = up(&u, a->rigid_out, rigid, sizeof(int32_t));
    to->rigid_rest = up(&u, a->rigid_rest, 3 * (int64_t)rigid, sizeof(float));
    to->slide_index = up(&u, a->slide_index, 6 * (int64_t)a->slide_count, sizeof(int32_t));
    to->slide_value = up(&u, a->slide_value, 8 * (int64_t)a->slide_count, sizeof(float));
    to->ring_frame = up(&u, a->ring_frame, a->ring_count, sizeof(int32_t));
    to->ring_rest = up(&u, a->ring_rest, 3 * SUP_RING_POINTS * (int64_t)a->ring_count, sizeof(float));
    to->twist_index = up(&u, a->twist_index, 2 * (int64_t)a->twist_count, sizeof(int32_t));
    to->attached_index = up(&u, a->attached_index, 2 * (int64_t)a->attached_count, sizeof(int32_t));
    to->attached_rest = up(&u, a->attached_rest, 3 * (int64_t)a->attached_count, sizeof(float));
    to->twist_rest = up(&u, a->twist_rest, 4 * (int64_t)a->twist_count, sizeof(float));
    to->anchor_vertex = to->rigid_first = NULL; /* unused on the device */
    crowd->anchors.rigid_frame = up(&u, frame, rigid, sizeof(int32_t));
    crowd->anchors.rigid_count = rigid;
    crowd->anchors.first = view->fixed_count; /* anchored skin vertices precede the bases: projective_step.c */
    crowd->anchors.stride = view->system.anchor_count;
    crowd->anchors.ends = up(&u, NULL, (int64_t)crowd->count * a->segment_count, 8 * sizeof(float));
    return done(&u);
}

/* Expands a list of values of some skin vertices to all skin vertices, 0 for the others; NULL for an empty list. */
static const float *spread_list(uploader *u, int32_t skin_count, int32_t count, const int32_t *vertex,
                                const float *value)
{
    if (count == 0 || u->failed) return NULL;
    float *all = sup_arena_alloc(&u->crowd->arena, (size_t)skin_count, sizeof(float));
    if (all == NULL) {
        sup_fail_memory(u->error, "the crowd");
        u->failed = true;
        return NULL;
    }
    for (int32_t i = 0; i < count; i++)
        all[vertex[i]] = value[i];
    return up(u, all, skin_count, sizeof(float));
}

/* Rest positions in the node order of the GPU; blend weights, foot points and velocity limits of the simulated skin. */
static sup_result open_body(sup_crowd *crowd, const sup_projective_view *view, const sup_subdomains *b,
                            sup_error *error)
{
    const sup_system *s = &view->system;
    float *rest = sup_arena_alloc(&crowd->arena, (size_t)s->unknown_count * 3, sizeof(float));
    if (rest == NULL) return sup_fail_memory(error, "the crowd's rest pose");
    for (int32_t i = 0; i < s->unknown_count; i++)
        memcpy(rest + 3 * (size_t)b->number[i], s->rest + 4 * (size_t)i, 3 * sizeof(float));
    uploader u = {crowd, error, false};
    int64_t influences = (int64_t)s->skin_count * SUP_PROJECTIVE_INFLUENCES;
    bool has_volume = s->volume > 0.0f;
    crowd->body = (sup_gpu_body){
        .rest = up(&u, rest, s->unknown_count, 3 * sizeof(float)),
        .start_joint = up(&u, view->start_joint, influences, sizeof(int32_t)),
        .start_weight = up(&u, view->start_weight, influences, sizeof(float)),
        .start_rest = up(&u, view->start_rest, s->skin_count, 3 * sizeof(float)),
        .foot_bone = has_volume ? up(&u, s->foot_bone, s->skin_count, sizeof(int32_t)) : NULL,
        .foot_along = has_volume ? up(&u, s->foot_along, s->skin_count, sizeof(float)) : NULL,
        .velocity_limit = spread_list(&u, s->skin_count, view->velocity_limit_count, view->velocity_limit_vertex,
                                      view->velocity_limit_length),
        .rigid = spread_list(&u, s->skin_count, view->rigid_count, view->rigid_vertex, view->rigid_weight),
        .joint_count = view->joint_count,
        .segment_count = view->anchors.segment_count,
        .ends = crowd->anchors.ends};
    return done(&u);
}

/* --- Untangling --- */

static void open_untangle_view(uploader *u, const sup_untangle_view *from, sup_untangle_view *to)
{
    int64_t n = from->vertex_count, clusters = u->crowd->untangle.cluster_count, coarse = from->coarse_count;
    size_t index = sizeof(int32_t);
    *to = *from;
    to->triangles = up(u, from->triangles, 3 * (int64_t)from->triangle_count, index);
    to->crosses_at_rest = up(u, from->crosses_at_rest, from->triangle_count, 1);
    to->coarse_first = up(u, from->coarse_first, coarse + 1, index);
    to->coarse_clusters = up(u, from->coarse_clusters, from->coarse_first[coarse], index);
    to->adjacent_first = up(u, from->adjacent_first, clusters + 1, index);
    to->adjacent = up(u, from->adjacent, from->adjacent_first[clusters], index);
    to->coarse = up(u, from->coarse, n, index);
    to->rest_contact = up(u, from->rest_contact, coarse, 1);
    to->rest = up(u, from->rest, 3 * n, sizeof(float));
    to->neighbour_first = up(u, from->neighbour_first, n + 1, index);
    to->neighbours = up(u, from->neighbours, from->neighbour_first[n], index);
    to->render_first = up(u, from->render_first, n + 1, index);
    to->render_vertices = up(u, from->render_vertices, from->render_first[n], index);
}

/* Scratch for the characters that are untangled at the same time. */
static void open_untangle_scratch(uploader *u, const sup_untangle_view *view, sup_gpu_untangle *to)
{
    int64_t capacity = to->scratch_count, n = capacity * view->vertex_count;
    to->scratch = (sup_gpu_untangle_scratch){
        .vertex = up(u, NULL, n, sizeof(sup_gpu_untangle_vertex)),
        .state = up(u, NULL, n, sizeof(int32_t)),
        .boundary = up(u, NULL, capacity * view->neighbour_first[view->vertex_count], 1),
        .owner = up(u, NULL, n, sizeof(uint32_t)),
        .list = up(u, NULL, n, sizeof(int32_t)),
        .known = up(u, NULL, n, sizeof(int32_t)),
        .queue = up(u, NULL, n, sizeof(int32_t)),
        .bits = up(u, NULL, capacity * to->words, sizeof(uint32_t)),
        .dirty = up(u, NULL, capacity * to->cluster_count, sizeof(int32_t)),
        .dirty_list = up(u, NULL, capacity * to->cluster_count, sizeof(int32_t)),
        .slot = up(u, NULL, capacity * to->cluster_count, sizeof(int32_t)),
        .crossings = up(u, NULL, capacity * SUP_GPU_UNTANGLE_CROSSINGS, sizeof(sup_gpu_untangle_crossing)),
        .patches = up(u, NULL, capacity * SUP_GPU_UNTANGLE_PATCHES, sizeof(sup_gpu_untangle_patch)),
        .sorted = up(u, NULL, capacity * SUP_GPU_UNTANGLE_PAIRS, sizeof(unsigned long long))};
}

static sup_result open_untangle(sup_crowd *crowd, const sup_projective_view *from, sup_error *error)
{
    enum { SCRATCH_PER_PROCESSOR = 2, JOINED_SINGLE = 256, SPLIT_SINGLE = 4, JOINED = 4 };
    const sup_untangle_view *view = &from->untangle;
    sup_gpu_untangle *to = &crowd->untangle;
    uploader u = {crowd, error, false};
    int32_t capacity = SCRATCH_PER_PROCESSOR * crowd->device->info.processors, n = crowd->count;
    if (view->triangle_count == 0) return SUP_OK; /* the mesh is too fine to be untangled */
    unsigned char *fixed = sup_arena_alloc(&crowd->arena, (size_t)view->coarse_count, 1);
    int32_t *first_render = sup_arena_alloc(&crowd->arena, (size_t)view->vertex_count, sizeof(int32_t));
    sup_untangle_clusters clusters;
    if (fixed == NULL || first_render == NULL || !sup_untangle_clusters_create(view, &crowd->arena, &clusters))
        return sup_fail_memory(error, "the crowd");
    for (int32_t v = 0; v < view->vertex_count; v++)
        first_render[v] = view->render_vertices[view->render_first[v]];
    for (int32_t i = 0; i < from->rigid_count; i++)
        fixed[from->rigid_vertex[i]] = (view->rest_contact[from->rigid_vertex[i]] & SUP_UNTANGLE_REST_MOVABLE) == 0;
    to->cluster_count = (view->triangle_count + SUP_UNTANGLE_CLUSTER - 1) / SUP_UNTANGLE_CLUSTER;
    int32_t bits = view->vertex_count > to->cluster_count ? view->vertex_count : to->cluster_count;
    to->words = (bits + 31) / 32;
    to->scratch_count = capacity < 1 ? 1 : capacity < n ? capacity : n;
    to->joined = n > 2 ? JOINED : JOINED_SINGLE;
    to->split = n > 2 ? 1 : SPLIT_SINGLE;
    open_untangle_view(&u, view, &to->view);
    to->first_render = up(&u, first_render, view->vertex_count, sizeof(int32_t));
    to->fixed = up(&u, fixed, view->coarse_count, 1);
    to->coarse_rest = crowd->body.start_rest;
    to->gap = crowd->detect.view.gap;
    to->frame_time = crowd->device_frame_time;
    to->step_seconds = (float)SUP_PROJECTIVE_SECONDS;
    to->offset = up(&u, NULL, (int64_t)n * view->vertex_count, 3 * sizeof(float));
    to->moved = up(&u, NULL, (int64_t)n * to->words, sizeof(uint32_t));
    to->frame = up(&u, NULL, n, sizeof(sup_gpu_untangle_frame));
    to->selected = up(&u, NULL, (int64_t)n * to->words, sizeof(uint32_t));
    to->active = up(&u, NULL, (int64_t)n * to->cluster_count, sizeof(int32_t));
    to->box = up(&u, NULL, (int64_t)n * to->cluster_count, SUP_GPU_UNTANGLE_BOX_FOURS * sizeof(sup_gpu_four));
    to->pair = up(&u, NULL, (int64_t)n * SUP_GPU_UNTANGLE_PAIRS, sizeof(unsigned long long));
    to->vertex_first = up(&u, clusters.first, (int64_t)view->vertex_count + 1, sizeof(int32_t));
    to->vertex_clusters = up(&u, clusters.clusters, clusters.first[view->vertex_count], sizeof(int32_t));
    open_untangle_scratch(&u, view, to);
    return done(&u);
}

static sup_result check_shared(const sup_crowd *crowd, sup_error *error)
{
    size_t limit = crowd->device->info.shared_limit;
    size_t needs[] = {sup_gpu_local_shared(&crowd->system), sup_gpu_schur_shared(&crowd->system),
                      sup_gpu_anchors_shared(&crowd->anchors.view), sup_gpu_list_shared(&crowd->system)};
    for (int32_t i = 0; i < SUP_COUNT(needs); i++)
        if (needs[i] > limit)
            return sup_fail(
                error, SUP_ERROR_UNSUPPORTED, "cuda.large", crowd->device->info.name,
                "The character is too large for the device: a thread block needs %d kB of shared memory and has %d. "
                "Bind with fewer \"vertices\", or step it on the CPU.",
                (int)(needs[i] >> 10), (int)(limit >> 10));
    return SUP_OK;
}

/* The joint tree for interpolation between frames. */
static sup_result copy_tree(sup_crowd *crowd, const sup_projective_view *view, sup_error *error)
{
    size_t joints = (size_t)crowd->joint_count;
    crowd->joint_parent = sup_arena_copy(&crowd->arena, view->joint_parent, joints, sizeof(int32_t));
    crowd->joint_centre = sup_arena_copy(&crowd->arena, view->joint_centre, joints, 3 * sizeof(float));
    return crowd->joint_parent != NULL && crowd->joint_centre != NULL ? SUP_OK : sup_fail_memory(error, "the crowd");
}

static sup_result open_projective(sup_crowd *crowd, const sup_projective_view *view, sup_error *error)
{
    sup_subdomains *subdomains = NULL;
    sup_result result =
        sup_subdomains_create(&crowd->context, &view->system,
                              crowd->count > 2 ? SUP_SUBDOMAIN_LIMIT : SUP_SUBDOMAIN_LIMIT_SINGLE, &subdomains, error);
    if (result != SUP_OK) return result;
    crowd->time_step = view->system.time_step;
    crowd->size = view->size;
    crowd->unit_metres = view->unit_metres;
    result = open_system(crowd, &view->system, subdomains, error);
    crowd->system.body_size = view->size;
    crowd->system.contact_count = (crowd->colliders.count > 0 ? 2 : 1) * view->system.skin_count;
    crowd->system.persistent_blocks =
        sup_gpu_persistent_blocks(&crowd->system, crowd->device->info.processors, crowd->device->info.shared_limit);
    if (result == SUP_OK) result = open_anchors(crowd, view, error);
    if (result == SUP_OK) result = open_body(crowd, view, subdomains, error);
    sup_subdomains_destroy(subdomains);
    if (result == SUP_OK) result = copy_tree(crowd, view, error);
    if (result == SUP_OK) result = check_shared(crowd, error);
    if (result == SUP_OK) result = open_state(crowd, error);
    if (result == SUP_OK) result = open_detect(crowd, &view->detect, error);
    if (result == SUP_OK) result = open_upsample(crowd, view, error);
    if (result == SUP_OK) result = open_untangle(crowd, view, error);
    if (result == SUP_OK) result = sup_crowd_open_colliders(crowd, view, error);
    if (result == SUP_OK)
        result = sup_cuda_result(crowd->device, sup_gpu_step_prepare(&crowd->system), "its kernels were loaded", error);
    if (result == SUP_OK)
        result = sup_cuda_result(crowd->device, sup_gpu_list_prepare(&crowd->system), "its kernels were loaded", error);
    return result;
}

sup_result sup_crowd_open(sup_crowd *crowd, const sup_crowd_def *def, sup_error *error)
{
    sup_projective_view view;
    sup_skin_model skin = sup_skin_open(crowd->model);
    const int32_t *node = skin.joint_node;
    const float *inverse = skin.joint_inverse_bind;
    sup_result result = SUP_OK;
    crowd->joint_count = skin.joint_count;
    if (crowd->kind == SUP_METHOD_DEVICE_PROJECTIVE) {
        result = sup_projective_open(crowd->model, &view, error);
        if (result == SUP_OK &&
            (view.joint_count != skin.joint_count ||
             memcmp(view.joint_node, node, (size_t)skin.joint_count * sizeof *node) != 0 ||
             memcmp(view.joint_inverse_bind, inverse, 12 * (size_t)skin.joint_count * sizeof *inverse) != 0))
            result = sup_fail(error, SUP_ERROR_UNSUPPORTED, "crowd.joints", "",
                              "The joints of the simulation and of linear blending differ: step the model on the CPU.");
    }
    /* The largest arrays first: a crowd that is too large is refused before the host allocates memory for it. */
    if (result == SUP_OK) result = check_tangents(def, &skin, error);
    if (result == SUP_OK) result = sup_crowd_check_colliders(crowd, def, error);
    if (result == SUP_OK) result = open_out(crowd, def, error);
    if (result == SUP_OK) result = open_joints(crowd, node, inverse, error);
    if (result == SUP_OK) result = sup_crowd_open_weights(crowd, error);
    if (result == SUP_OK) result = open_motion(crowd, def, error);
    if (result == SUP_OK && crowd->motion.clip_count > 0 &&
        sup_gpu_pose_shared(&crowd->motion) > crowd->device->info.shared_limit)
        result = sup_fail(error, SUP_ERROR_UNSUPPORTED, "crowd.nodes", "",
                          "The character has too many nodes (%d) to sample clips on the device: use sup_crowd_pose.",
                          (int)crowd->motion.node_count);
    if (result != SUP_OK) return result;
    return crowd->kind == SUP_METHOD_DEVICE_PROJECTIVE ? open_projective(crowd, &view, error)
                                                       : open_skin(crowd, NULL, error);
}

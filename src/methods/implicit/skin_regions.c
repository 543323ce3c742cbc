/* skin_regions.c - assigns each vertex of a skin to a bone. */
#include "methods/implicit/skin_regions.h"

#include "geometry/adjacency.h"
#include "rig/weights.h"

enum {
    HEAT_INFLUENCES = 6,
    SECTORS = 16, /* around a bone, to measure how much of it the skin of a region encloses */
    MIN_SECTORS = 6,
    MIN_VERTICES = 4,
    BORDER_PASSES = 4, /* of border smoothing; each shortens a spike by one vertex */
    MAX_PASSES = 16    /* of moving islands; each makes at least one of them larger */
};
static const double SHORTEST = 1e-5; /* minimum length of a segment, in sizes of the character */
/* Distance from the bone, relative to the mean of its skin, from which on a joint's weight decreases; and the
 * exponent. */
static const double THICK = 1.25, FALL = 8.0;

typedef struct region_builder {
    const sup_rig *rig;
    const sup_region_skin *skin;
    sup_arena scratch;
    sup_skin_regions *to;
    bool *moves;        /* [joint_count] moves some skin */
    bool *above_moving; /* [joint_count] the joint or a descendant moves skin */
    /* Heat that arrives at a vertex: [vertex_count+1], and as many entries as that gives. */
    const int32_t *heat_first, *heat_joint;
    const float *heat;
    int32_t *joint_of; /* [vertex_count] */
    int32_t *neighbour_first, *neighbours;
    int32_t *island;     /* [vertex_count] */
    int32_t *count_with; /* [joint_count] scratch: edges of an island shared with each region */
} region_builder;

/* --- Bones --- */

/* Joints without influence on the skin get no region: helpers, IK targets, roots on the floor. */
static void find_moving(region_builder *p)
{
    const sup_rig *rig = p->rig;
    bool any = false;
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        if (rig->vertex_to_skin[v] < 0) continue;
        for (int32_t i = rig->influence_first[v]; i < rig->influence_first[v + 1]; i++) {
            p->moves[rig->influence_joint[i]] = true;
            any = true;
        }
    }
    for (int32_t j = 0; j < rig->joint_count; j++)
        p->moves[j] = p->moves[j] || !any;
    for (int32_t j = rig->joint_count - 1; j >= 0; j--) {
        p->above_moving[j] = p->above_moving[j] || p->moves[j];
        if (rig->joint_parent[j] >= 0 && p->above_moving[j]) p->above_moving[rig->joint_parent[j]] = true;
    }
}

static sup_vec3d head_of(const sup_rig *rig, int32_t joint)
{
    return sup_v3_load(rig->bone_head + 3 * (size_t)joint);
}

static void add_segment(region_builder *p, int32_t joint, sup_vec3d from, sup_vec3d to)
{
    if (!(sup_v3_distance(from, to) > SHORTEST * (double)p->rig->size)) return;
    p->to->segments[p->to->segment_count++] = (sup_region_segment){joint, from, to};
}

/* Adds a segment to each child that moves skin or is above one that does; otherwise to the bone's own tail. */
static void add_segments_of(region_builder *p, int32_t joint)
{
    const sup_rig *rig = p->rig;
    int32_t previous = p->to->segment_count;
    for (int32_t c = joint + 1; c < rig->joint_count; c++)
        if (rig->joint_parent[c] == joint && p->above_moving[c])
            add_segment(p, joint, head_of(rig, joint), head_of(rig, c));
    if (p->to->segment_count == previous)
        add_segment(p, joint, head_of(rig, joint), sup_v3_load(rig->bone_tail + 3 * (size_t)joint));
}

static sup_result make_segments(region_builder *p, sup_arena *arena, sup_error *error)
{
    const sup_rig *rig = p->rig;
    p->to->segments = sup_arena_alloc(arena, 2 * (size_t)rig->joint_count + 1, sizeof(sup_region_segment));
    p->moves = sup_arena_alloc(&p->scratch, (size_t)rig->joint_count, sizeof(bool));
    p->above_moving = sup_arena_alloc(&p->scratch, (size_t)rig->joint_count, sizeof(bool));
    if (p->to->segments == NULL || p->moves == NULL || p->above_moving == NULL)
        return sup_fail_memory(error, "the bones");
    find_moving(p);
    for (int32_t j = 0; j < rig->joint_count; j++)
        if (p->moves[j]) add_segments_of(p, j);
    if (p->to->segment_count > 0) return SUP_OK;
    if (rig->joint_count < 1)
        return sup_fail(error, SUP_ERROR_DATA, "implicit.bones", rig->character->name,
                        "The character has no joint: add a skeleton.");
    /* All bones are degenerate: the skin is rigid with the first joint that moves it. */
    int32_t joint = 0;
    while (joint < rig->joint_count - 1 && !p->moves[joint])
        joint++;
    p->to->segments[p->to->segment_count++] = (sup_region_segment){joint, head_of(rig, joint), head_of(rig, joint)};
    return SUP_OK;
}

/* --- Heat and weights --- */

/* Sums the heat of segments per joint. */
static void add_up_heat(region_builder *p, const sup_weights_output *heat, int32_t *first, int32_t *joints, float *sums)
{
    int32_t count = 0;
    for (int32_t v = 0; v < p->skin->vertex_count; v++) {
        first[v] = count;
        for (size_t k = (size_t)v * HEAT_INFLUENCES; k < ((size_t)v + 1) * HEAT_INFLUENCES; k++) {
            int32_t joint = p->to->segments[heat->joints[k]].joint, at = first[v];
            while (at < count && joints[at] != joint)
                at++;
            joints[at] = joint;
            sums[at] = (at < count ? sums[at] : 0.0f) + heat->weights[k];
            count = at < count ? count : at + 1;
        }
    }
    first[p->skin->vertex_count] = count;
    p->heat_first = first;
    p->heat_joint = joints;
    p->heat = sums;
}

static sup_result heat_skin(region_builder *p, const sup_context *context, sup_error *error)
{
    size_t segments = (size_t)p->to->segment_count, vertices = (size_t)p->skin->vertex_count;
    float *head = sup_arena_alloc(&p->scratch, 3 * segments, sizeof(float));
    float *tail = sup_arena_alloc(&p->scratch, 3 * segments, sizeof(float));
    int32_t *parent = sup_arena_alloc(&p->scratch, segments, sizeof(int32_t));
    sup_weights_output heat = {sup_arena_alloc(&p->scratch, vertices * HEAT_INFLUENCES, sizeof(int32_t)),
                               sup_arena_alloc(&p->scratch, vertices * HEAT_INFLUENCES, sizeof(float))};
    int32_t *first = sup_arena_alloc(&p->scratch, vertices + 1, sizeof *first);
    int32_t *joints = sup_arena_alloc(&p->scratch, vertices * HEAT_INFLUENCES, sizeof *joints);
    float *sums = sup_arena_alloc(&p->scratch, vertices * HEAT_INFLUENCES, sizeof *sums);
    if (head == NULL || tail == NULL || parent == NULL || heat.joints == NULL || heat.weights == NULL ||
        first == NULL || joints == NULL || sums == NULL)
        return sup_fail_memory(error, "the skin regions");
    for (size_t s = 0; s < segments; s++) {
        sup_v3_store(head + 3 * s, p->to->segments[s].from);
        sup_v3_store(tail + 3 * s, p->to->segments[s].to);
        parent[s] = -1;
    }
    sup_weights_input input = {.context = context,
                               .vertex_count = p->skin->vertex_count,
                               .triangle_count = p->skin->triangle_count,
                               .positions = p->skin->positions,
                               .triangles = p->skin->triangles,
                               .joint_count = p->to->segment_count,
                               .joint_parent = parent,
                               .bone_head = head,
                               .bone_tail = tail,
                               .max_influences = HEAT_INFLUENCES};
    sup_result result = sup_weights_heat(&input, &heat, error);
    if (result == SUP_OK) add_up_heat(p, &heat, first, joints, sums);
    return result;
}

/* Distance from the bone of a joint; infinite if it has none. */
static double distance_from(const sup_skin_regions *to, int32_t joint, sup_vec3d p)
{
    double nearest = INFINITY;
    for (int32_t s = 0; s < to->segment_count; s++) {
        const sup_region_segment *segment = &to->segments[s];
        if (segment->joint != joint) continue;
        double t = sup_v3_segment_parameter(p, segment->from, segment->to);
        nearest = fmin(nearest, sup_v3_distance(p, sup_v3_lerp(segment->from, segment->to, t)));
    }
    return nearest;
}

/* Weight of a joint at a vertex; 1 where weights are unknown. */
static double weight_of(const sup_region_skin *skin, int32_t vertex, int32_t joint)
{
    if (skin->influence_first == NULL) return 1.0;
    for (int32_t i = skin->influence_first[vertex]; i < skin->influence_first[vertex + 1]; i++)
        if (skin->influence_joint[i] == joint) return (double)skin->influence_weight[i];
    return 0.0;
}

/* A joint with a bone for a vertex that gets no heat from the joints that move it. */
static int32_t any_joint(const region_builder *p, int32_t v)
{
    const int32_t *first = p->skin->influence_first;
    for (int32_t i = first != NULL ? first[v] : 0; first != NULL && i < first[v + 1]; i++)
        if (isfinite(distance_from(p->to, p->skin->influence_joint[i], head_of(p->rig, 0))))
            return p->skin->influence_joint[i];
    return p->heat_joint[p->heat_first[v]];
}

/* The joint with the largest product of heat and weight at a vertex; the score decreases where the vertex is farther
 * from the bone than the limb is thick. `thick` [joint_count], NULL: not known yet. */
static int32_t strongest(const region_builder *p, int32_t v, const double *thick)
{
    int32_t best = -1;
    double highest = 0.0;
    for (int32_t i = p->heat_first[v]; i < p->heat_first[v + 1]; i++) {
        int32_t joint = p->heat_joint[i];
        double score = (double)p->heat[i] * weight_of(p->skin, v, joint);
        double far = distance_from(p->to, joint, sup_v3_load(p->skin->positions + 3 * (size_t)v));
        if (thick != NULL && far > THICK * thick[joint]) score *= pow(THICK * thick[joint] / far, FALL);
        if (!(score > highest) && !(score > 0.0 && score == highest && joint < best)) continue;
        highest = score;
        best = joint;
    }
    return best >= 0 ? best : any_joint(p, v);
}

/* Mean distance of the vertices of each joint from its bone. */
static void measure_limbs(const region_builder *p, double *thick, double *count)
{
    for (int32_t v = 0; v < p->skin->vertex_count; v++) {
        int32_t joint = p->joint_of[v];
        thick[joint] += distance_from(p->to, joint, sup_v3_load(p->skin->positions + 3 * (size_t)v));
        count[joint] += 1.0;
    }
    for (int32_t j = 0; j < p->rig->joint_count; j++)
        thick[j] /= fmax(count[j], 1.0);
}

static sup_result assign_joints(region_builder *p, sup_error *error)
{
    size_t joints = (size_t)p->rig->joint_count;
    double *thick = sup_arena_alloc(&p->scratch, joints, sizeof *thick);
    double *count = sup_arena_alloc(&p->scratch, joints, sizeof *count);
    p->joint_of = sup_arena_alloc(&p->scratch, (size_t)p->skin->vertex_count, sizeof(int32_t));
    if (thick == NULL || count == NULL || p->joint_of == NULL) return sup_fail_memory(error, "the skin regions");
    for (int32_t pass = 0; pass < 2; pass++) {
        for (int32_t v = 0; v < p->skin->vertex_count; v++)
            p->joint_of[v] = strongest(p, v, pass == 0 ? NULL : thick);
        if (pass == 0) measure_limbs(p, thick, count);
    }
    return SUP_OK;
}

/* --- Islands --- */

static sup_result find_neighbours(region_builder *p, const sup_context *context, sup_error *error)
{
    sup_adjacency adjacency;
    sup_result result = sup_adjacency_create(&context->allocator, p->skin->vertex_count, p->skin->triangle_count,
                                             p->skin->triangles, &adjacency, error);
    if (result != SUP_OK) return result;
    p->neighbour_first = sup_arena_alloc(&p->scratch, (size_t)p->skin->vertex_count + 1, sizeof(int32_t));
    p->neighbours = sup_arena_alloc(&p->scratch, 2 * (size_t)adjacency.edge_count, sizeof(int32_t));
    p->island = sup_arena_alloc(&p->scratch, (size_t)p->skin->vertex_count, sizeof(int32_t));
    p->count_with = sup_arena_alloc(&p->scratch, (size_t)p->rig->joint_count, sizeof(int32_t));
    if (p->neighbour_first == NULL || p->neighbours == NULL || p->island == NULL || p->count_with == NULL)
        result = sup_fail_memory(error, "the skin regions");
    else
        sup_adjacency_neighbours(&adjacency, p->neighbour_first, p->neighbours);
    sup_adjacency_destroy(&adjacency);
    return result;
}

/* A connected set of vertices of one joint: listed from `first` on. */
typedef struct skin_island {
    int32_t joint, first, count;
} skin_island;

/* Numbers the islands; `order` [vertex_count] gets their vertices, grouped by island. Returns their number. */
static int32_t list_islands(region_builder *p, int32_t *order, skin_island *islands)
{
    int32_t count = 0, listed = 0;
    for (int32_t v = 0; v < p->skin->vertex_count; v++)
        p->island[v] = -1;
    for (int32_t start = 0; start < p->skin->vertex_count; start++) {
        if (p->island[start] >= 0) continue;
        islands[count] = (skin_island){p->joint_of[start], listed, 0};
        p->island[start] = count;
        order[listed++] = start;
        for (int32_t next = islands[count].first; next < listed; next++) {
            int32_t v = order[next];
            for (int32_t i = p->neighbour_first[v]; i < p->neighbour_first[v + 1]; i++) {
                int32_t w = p->neighbours[i];
                if (p->island[w] >= 0 || p->joint_of[w] != p->joint_of[start]) continue;
                p->island[w] = count;
                order[listed++] = w;
            }
        }
        islands[count].count = listed - islands[count].first;
        count++;
    }
    return count;
}

/* The joint with which an island shares most edges, -1 if it has no neighbours. The parent wins if it shares at least
 * half as many. */
static int32_t best_neighbour(region_builder *p, const skin_island *island, const int32_t *order)
{
    int32_t best = -1, parent = p->rig->joint_parent[island->joint];
    for (int32_t pass = 0; pass < 2; pass++)
        for (int32_t k = island->first; k < island->first + island->count; k++)
            for (int32_t i = p->neighbour_first[order[k]]; i < p->neighbour_first[order[k] + 1]; i++) {
                int32_t joint = p->joint_of[p->neighbours[i]];
                if (joint == island->joint) continue;
                if (pass == 0)
                    p->count_with[joint]++;
                else if (best < 0 || p->count_with[joint] > p->count_with[best] ||
                         (p->count_with[joint] == p->count_with[best] && joint < best))
                    best = joint;
            }
    if (best >= 0 && parent >= 0 && 2 * p->count_with[parent] >= p->count_with[best]) best = parent;
    memset(p->count_with, 0, (size_t)p->rig->joint_count * sizeof *p->count_with);
    return best;
}

static bool reassign_island(region_builder *p, const skin_island *island, const int32_t *order)
{
    int32_t joint = best_neighbour(p, island, order);
    if (joint < 0) return false;
    for (int32_t k = island->first; k < island->first + island->count; k++)
        p->joint_of[order[k]] = joint;
    return true;
}

/* Moves all islands except the largest of each joint to a neighbour, unless they are separate components. */
static bool move_islands(region_builder *p, int32_t *order, skin_island *islands, int32_t *largest)
{
    int32_t count = list_islands(p, order, islands), moved = 0;
    for (int32_t j = 0; j < p->rig->joint_count; j++)
        largest[j] = -1;
    for (int32_t i = 0; i < count; i++) {
        int32_t *l = &largest[islands[i].joint];
        if (*l < 0 || islands[i].count > islands[*l].count) *l = i;
    }
    for (int32_t i = 0; i < count; i++)
        if (largest[islands[i].joint] != i) moved += reassign_island(p, &islands[i], order);
    p->to->moved_islands += moved;
    return moved > 0;
}

/* --- Borders --- */

/* The joint of more than half of a vertex's neighbours, or its own. */
static int32_t majority_joint(const region_builder *p, int32_t v)
{
    int32_t first = p->neighbour_first[v], last = p->neighbour_first[v + 1], best = p->joint_of[v];
    for (int32_t i = first; i < last; i++) {
        int32_t joint = p->joint_of[p->neighbours[i]], same = 0;
        for (int32_t k = first; k < last; k++)
            same += p->joint_of[p->neighbours[k]] == joint ? 1 : 0;
        if (2 * same > last - first) best = joint;
    }
    return best;
}

/* Smooths the borders: strips and spikes one vertex wide would cause protrusions of the fields. `next` [vertex_count]
 * is scratch. */
static void smooth_borders(region_builder *p, int32_t *next)
{
    size_t bytes = (size_t)p->skin->vertex_count * sizeof *next;
    for (int32_t pass = 0; pass < BORDER_PASSES; pass++) {
        for (int32_t v = 0; v < p->skin->vertex_count; v++)
            next[v] = majority_joint(p, v);
        memcpy(p->joint_of, next, bytes);
    }
}

/* --- Regions that are too small --- */

/* Number of sectors around the bone that contain skin of a joint. */
static int32_t sectors_around(const region_builder *p, int32_t joint, const int32_t *order, const skin_island *island)
{
    const sup_skin_regions *to = p->to;
    sup_vec3d axis = {0.0, 0.0, 0.0}, from = head_of(p->rig, joint);
    for (int32_t s = 0; s < to->segment_count; s++) {
        sup_vec3d along = sup_v3_sub(to->segments[s].to, to->segments[s].from);
        if (to->segments[s].joint == joint && sup_v3_length(along) > sup_v3_length(axis)) axis = along;
    }
    axis = sup_v3_unit_or(axis, sup_v3(0.0, 1.0, 0.0));
    sup_vec3d e = sup_v3_cross(axis, fabs(axis.x) < 0.6 ? sup_v3(1.0, 0.0, 0.0) : sup_v3(0.0, 1.0, 0.0));
    sup_vec3d f = sup_v3_cross(axis, e);
    bool seen[SECTORS] = {false};
    int32_t count = 0;
    for (int32_t k = island->first; k < island->first + island->count; k++) {
        sup_vec3d d = sup_v3_sub(sup_v3_load(p->skin->positions + 3 * (size_t)order[k]), from);
        double angle = atan2(sup_v3_dot(d, f), sup_v3_dot(d, e)) / 6.283185307179586;
        int32_t sector = (int32_t)floor(SECTORS * (angle + 1.0)) % SECTORS;
        count += !seen[sector];
        seen[sector] = true;
    }
    return count;
}

/* Joints with too little skin for a fit give it to a neighbour: once for each, largest index first. */
static void merge_regions(region_builder *p, int32_t *order, skin_island *islands)
{
    int32_t count = list_islands(p, order, islands);
    for (int32_t i = count - 1; i >= 0; i--) {
        bool whole =
            islands[i].count >= MIN_VERTICES && sectors_around(p, islands[i].joint, order, &islands[i]) >= MIN_SECTORS;
        if (!whole) p->to->merged_regions += reassign_island(p, &islands[i], order);
    }
}

/* Whether all skin belongs to one joint: nothing would bend. */
static bool is_single_region(const region_builder *p)
{
    for (int32_t v = 1; v < p->skin->vertex_count; v++)
        if (p->joint_of[v] != p->joint_of[0]) return false;
    return true;
}

static sup_result clean_up(region_builder *p, sup_error *error)
{
    size_t vertices = (size_t)p->skin->vertex_count;
    int32_t *order = sup_arena_alloc(&p->scratch, vertices, sizeof *order);
    skin_island *islands = sup_arena_alloc(&p->scratch, vertices, sizeof *islands);
    int32_t *largest = sup_arena_alloc(&p->scratch, (size_t)p->rig->joint_count, sizeof *largest);
    int32_t *previous = sup_arena_alloc(&p->scratch, vertices, sizeof *previous);
    if (order == NULL || islands == NULL || largest == NULL || previous == NULL)
        return sup_fail_memory(error, "the skin regions");
    smooth_borders(p, order);
    for (int32_t pass = 0; pass < MAX_PASSES && move_islands(p, order, islands, largest); pass++) {
    }
    memcpy(previous, p->joint_of, vertices * sizeof *previous);
    merge_regions(p, order, islands);
    if (is_single_region(p))
        memcpy(p->joint_of, previous, vertices * sizeof *previous); /* for example a sheet, which encloses no bone */
    for (int32_t pass = 0; pass < MAX_PASSES && move_islands(p, order, islands, largest); pass++) {
    }
    return SUP_OK;
}

/* --- Regions --- */

static sup_result number_regions(region_builder *p, sup_arena *arena, sup_error *error)
{
    sup_skin_regions *to = p->to;
    const sup_rig *rig = p->rig;
    int32_t *region_of = sup_arena_alloc(&p->scratch, (size_t)rig->joint_count, sizeof *region_of);
    to->vertex_region = sup_arena_alloc(arena, (size_t)p->skin->vertex_count, sizeof(int32_t));
    to->region_joint = sup_arena_alloc(arena, (size_t)rig->joint_count, sizeof(int32_t));
    to->region_parent = sup_arena_alloc(arena, (size_t)rig->joint_count, sizeof(int32_t));
    to->region_segment = sup_arena_alloc(arena, (size_t)rig->joint_count + 1, sizeof(int32_t));
    if (region_of == NULL || to->vertex_region == NULL || to->region_joint == NULL || to->region_parent == NULL ||
        to->region_segment == NULL)
        return sup_fail_memory(error, "the skin regions");
    for (int32_t v = 0; v < p->skin->vertex_count; v++)
        region_of[p->joint_of[v]] = 1;
    int32_t kept = 0;
    for (int32_t j = 0, s = 0; j < rig->joint_count; j++) {
        bool used = region_of[j] != 0;
        region_of[j] = -1;
        if (used) {
            int32_t above = rig->joint_parent[j];
            while (above >= 0 && region_of[above] < 0)
                above = rig->joint_parent[above];
            region_of[j] = to->region_count;
            to->region_joint[to->region_count] = j;
            to->region_parent[to->region_count] = above >= 0 ? region_of[above] : -1;
            to->region_segment[to->region_count++] = kept;
        }
        for (; s < to->segment_count && to->segments[s].joint == j; s++)
            if (used) to->segments[kept++] = to->segments[s];
    }
    to->segment_count = kept;
    to->region_segment[to->region_count] = kept;
    for (int32_t v = 0; v < p->skin->vertex_count; v++)
        to->vertex_region[v] = region_of[p->joint_of[v]];
    return SUP_OK;
}

sup_result sup_skin_regions_create(const sup_context *context, const sup_rig *rig, const sup_region_skin *skin,
                                   sup_arena *arena, sup_skin_regions *regions, sup_error *error)
{
    memset(regions, 0, sizeof *regions);
    region_builder p = {.rig = rig, .skin = skin, .scratch = sup_arena_create(&context->allocator), .to = regions};
    sup_result result = make_segments(&p, arena, error);
    if (result == SUP_OK) result = heat_skin(&p, context, error);
    if (result == SUP_OK) result = assign_joints(&p, error);
    if (result == SUP_OK) result = find_neighbours(&p, context, error);
    if (result == SUP_OK) result = clean_up(&p, error);
    if (result == SUP_OK) result = number_regions(&p, arena, error);
    sup_arena_destroy(&p.scratch);
    return result;
}

double sup_skin_regions_distance(const sup_skin_regions *regions, int32_t region, sup_vec3d p, sup_vec3d *nearest)
{
    double best = INFINITY;
    for (int32_t s = regions->region_segment[region]; s < regions->region_segment[region + 1]; s++) {
        const sup_region_segment *segment = &regions->segments[s];
        double t = sup_v3_segment_parameter(p, segment->from, segment->to);
        sup_vec3d q = sup_v3_lerp(segment->from, segment->to, t);
        double distance = sup_v3_distance(p, q);
        if (!(distance < best)) continue;
        best = distance;
        if (nearest != NULL) *nearest = q;
    }
    return best;
}

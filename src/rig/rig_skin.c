/* rig_skin.c - vertices in the bind pose, and the welded skin.
 *
 * Vertices of one node's mesh at the same position become one skin vertex, which closes seams of texture coordinates,
 * normals and materials. Vertices of different nodes' meshes are never welded. */
#include "rig/rig.h"

#include "geometry/normals.h"
#include "geometry/weld.h"

/* Larger coordinates count as infinite: their square would overflow a float. */
static const double largest_coordinate = 1e18;

static bool usable(sup_vec3d p)
{
    return fabs(p.x) < largest_coordinate && fabs(p.y) < largest_coordinate && fabs(p.z) < largest_coordinate;
}

/* Sum of usable positions around a bad vertex, or of a whole primitive. */
typedef struct position_sum {
    sup_vec3d sum;
    int32_t count;
} position_sum;

/* Sets bad vertices of a primitive to the mean of their usable neighbours, else of the primitive, else to
 * `default_position`. */
static sup_result repair_positions(sup_arena *scratch, const sup_primitive *primitive, const int32_t *triangles,
                                   const bool *bad, sup_vec3d default_position, float *positions, sup_error *error)
{
    position_sum *around = sup_arena_alloc(scratch, (size_t)primitive->vertex_count, sizeof *around);
    if (around == NULL) return sup_fail_memory(error, "repairing positions");
    position_sum all = {{0.0, 0.0, 0.0}, 0};
    for (int32_t v = primitive->vertex_first; v < primitive->vertex_first + primitive->vertex_count; v++) {
        if (bad[v]) continue;
        all.sum = sup_v3_add(all.sum, sup_v3_load(positions + 3 * (size_t)v));
        all.count++;
    }
    for (int32_t h = 3 * primitive->triangle_first; h < 3 * (primitive->triangle_first + primitive->triangle_count);
         h++) {
        int32_t from = triangles[h];
        if (!bad[from]) continue;
        for (int32_t k = h / 3 * 3; k < h / 3 * 3 + 3; k++) {
            position_sum *sum = &around[from - primitive->vertex_first];
            if (bad[triangles[k]]) continue;
            sum->sum = sup_v3_add(sum->sum, sup_v3_load(positions + 3 * (size_t)triangles[k]));
            sum->count++;
        }
    }
    for (int32_t v = primitive->vertex_first; v < primitive->vertex_first + primitive->vertex_count; v++) {
        if (!bad[v]) continue;
        position_sum sum = around[v - primitive->vertex_first];
        if (sum.count == 0) sum = all;
        sup_v3_store(positions + 3 * (size_t)v,
                     sum.count > 0 ? sup_v3_scale(sum.sum, 1.0 / sum.count) : default_position);
    }
    return SUP_OK;
}

/* Positions in the world of the bind pose. Marks unusable ones in `bad`; *mean is the mean of the others. Returns false
 * if all are unusable. */
static bool transform_vertices(const sup_character *c, const sup_affine *primitive_map, sup_rig_surface *surface,
                               bool *bad, sup_vec3d *mean)
{
    position_sum all = {{0.0, 0.0, 0.0}, 0};
    for (int32_t p = 0; p < c->primitive_count; p++)
        for (int32_t v = c->primitives[p].vertex_first;
             v < c->primitives[p].vertex_first + c->primitives[p].vertex_count; v++) {
            sup_vec3d world = sup_affine_point(primitive_map[p], sup_v3_load(c->positions + 3 * (size_t)v));
            surface->vertex_primitive[v] = p;
            bad[v] = !usable(world);
            if (bad[v]) continue;
            sup_v3_store(surface->positions + 3 * (size_t)v, world);
            all.sum = sup_v3_add(all.sum, world);
            all.count++;
        }
    if (all.count > 0) *mean = sup_v3_scale(all.sum, 1.0 / all.count);
    return all.count > 0;
}

static double box_diagonal(int32_t count, const float *positions)
{
    sup_vec3d low = sup_v3_load(positions), high = low;
    for (int32_t v = 1; v < count; v++) {
        sup_vec3d p = sup_v3_load(positions + 3 * (size_t)v);
        low = sup_v3(fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z));
        high = sup_v3(fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z));
    }
    return sup_v3_distance(low, high);
}

sup_result sup_rig_positions(sup_rig_build *build, sup_error *error)
{
    const sup_character *c = build->character;
    size_t vertices = (size_t)c->vertex_count;
    build->surface.positions = sup_arena_alloc(build->arena, 3 * vertices, sizeof(float));
    build->surface.vertex_primitive = sup_arena_alloc(&build->scratch, vertices, sizeof(int32_t));
    bool *bad = sup_arena_alloc(&build->scratch, vertices, sizeof *bad);
    if (build->surface.positions == NULL || build->surface.vertex_primitive == NULL || bad == NULL)
        return sup_fail_memory(error, "the vertices");
    sup_vec3d mean;
    if (!transform_vertices(c, build->skeleton.primitive_map, &build->surface, bad, &mean)) {
        build->stop = true;
        return sup_rig_defect(&build->defects, SUP_DEFECT_NON_FINITE_POSITION, SUP_SEVERITY_FATAL, -1, c->vertex_count,
                              0, error, "None of the %d vertex positions is finite.", c->vertex_count);
    }
    sup_result result = SUP_OK;
    for (int32_t p = 0; p < c->primitive_count && result == SUP_OK; p++) {
        const sup_primitive *primitive = &c->primitives[p];
        int32_t count = 0, first = -1;
        for (int32_t v = primitive->vertex_first; v < primitive->vertex_first + primitive->vertex_count; v++)
            if (bad[v] && count++ == 0) first = v;
        if (count > 0)
            result =
                repair_positions(&build->scratch, primitive, c->triangles, bad, mean, build->surface.positions, error);
        if (result == SUP_OK)
            result = sup_rig_defect(
                &build->defects, SUP_DEFECT_NON_FINITE_POSITION, SUP_SEVERITY_REPAIRED, p, count, first, error,
                "Non-finite positions of primitive %s, replaced by the mean of their neighbours: %d.",
                sup_rig_primitive_name(build->character, p), count);
    }
    build->rig->vertex_count = c->vertex_count;
    build->rig->positions = build->surface.positions;
    build->rig->size = (float)box_diagonal(c->vertex_count, build->surface.positions);
    return result;
}

static bool is_mirrored(sup_affine map)
{
    return sup_affine_determinant(map) < 0.0;
}

/* Numbers the skin vertices by first occurrence. */
static sup_result number_skin_vertices(sup_rig_build *build, sup_error *error)
{
    const sup_character *c = build->character;
    sup_rig *rig = build->rig;
    int32_t *to_skin = sup_arena_alloc(build->arena, (size_t)c->vertex_count, sizeof *to_skin);
    if (to_skin == NULL) return sup_fail_memory(error, "the skin");
    int32_t count = 0;
    for (int32_t v = 0; v < c->vertex_count; v++) {
        if (!sup_primitive_in_skin(build->character, build->skeleton.has_joints, build->surface.vertex_primitive[v]))
            to_skin[v] = -1;
        else
            to_skin[v] = build->surface.leader[v] == v ? count++ : to_skin[build->surface.leader[v]];
    }
    int32_t *to_vertex = sup_arena_alloc(build->arena, (size_t)count, sizeof *to_vertex);
    float *positions = sup_arena_alloc(build->arena, 3 * (size_t)count, sizeof *positions);
    if (to_vertex == NULL || positions == NULL) return sup_fail_memory(error, "the skin");
    for (int32_t v = 0; v < c->vertex_count; v++) {
        if (to_skin[v] < 0 || build->surface.leader[v] != v) continue;
        to_vertex[to_skin[v]] = v;
        memcpy(positions + 3 * (size_t)to_skin[v], build->surface.positions + 3 * (size_t)v, 3 * sizeof *positions);
    }
    rig->skin_vertex_count = count;
    rig->skin_positions = positions;
    rig->vertex_to_skin = to_skin;
    rig->skin_to_vertex = to_vertex;
    return SUP_OK;
}

/* Twice the area; 0 for repeated corners and for corners that are collinear up to rounding. */
static double twice_area(const float *positions, const int32_t corners[3])
{
    if (corners[0] == corners[1] || corners[1] == corners[2] || corners[2] == corners[0]) return 0.0;
    double area = sup_v3_length(sup_triangle_cross(positions, corners)), longest = 0.0;
    for (int k = 0; k < 3; k++) {
        sup_vec3d p = sup_v3_load(positions + 3 * (size_t)corners[k]);
        longest = fmax(longest, sup_v3_distance(p, sup_v3_load(positions + 3 * (size_t)corners[(k + 1) % 3])));
    }
    return area > 1e-12 * longest * longest ? area : 0.0;
}

/* Open hash table of triangles by their corners in any order. */
typedef struct face_table {
    int32_t *slots; /* [mask+1] triangle + 1 */
    size_t mask;
    const int32_t *triangles;
} face_table;

static void sort_corners(const int32_t corners[3], int32_t sorted[3])
{
    int32_t a = corners[0], b = corners[1], c = corners[2];
    int32_t low = a < b ? a : b, high = a < b ? b : a;
    sorted[0] = c < low ? c : low;
    sorted[2] = c > high ? c : high;
    sorted[1] = c < low ? low : (c > high ? high : c);
}

/* Returns true if the table has a triangle with the same corners, else inserts triangle `t`. */
static bool insert_face(face_table *table, int32_t t)
{
    int32_t key[3], other[3];
    sort_corners(table->triangles + 3 * (size_t)t, key);
    size_t slot = (size_t)sup_hash64(key, sizeof key, 0) & table->mask;
    for (; table->slots[slot] != 0; slot = (slot + 1) & table->mask) {
        sort_corners(table->triangles + 3 * (size_t)(table->slots[slot] - 1), other);
        if (memcmp(key, other, sizeof key) == 0) return true;
    }
    table->slots[slot] = t + 1;
    return false;
}

typedef struct triangle_count {
    int32_t degenerate, first_degenerate, duplicate, first_duplicate;
} triangle_count;

static void collect_triangles(sup_rig_build *build, face_table *table, int32_t *source, triangle_count *found)
{
    const sup_character *c = build->character;
    sup_rig *rig = build->rig;
    int32_t *to = build->surface.skin_triangles, count = 0;
    for (int32_t p = 0; p < c->primitive_count; p++) {
        if (!sup_primitive_in_skin(build->character, build->skeleton.has_joints, p)) continue;
        int second = is_mirrored(build->skeleton.primitive_map[p]) ? 2 : 1;
        for (int32_t t = c->primitives[p].triangle_first;
             t < c->primitives[p].triangle_first + c->primitives[p].triangle_count; t++) {
            int32_t *corners = to + 3 * (size_t)count;
            corners[0] = rig->vertex_to_skin[c->triangles[3 * (size_t)t]];
            corners[second] = rig->vertex_to_skin[c->triangles[3 * (size_t)t + 1]];
            corners[3 - second] = rig->vertex_to_skin[c->triangles[3 * (size_t)t + 2]];
            double area = 0.5 * twice_area(rig->skin_positions, corners);
            if (area == 0.0) {
                if (found->degenerate++ == 0) found->first_degenerate = t;
            } else if (insert_face(table, count)) {
                if (found->duplicate++ == 0) found->first_duplicate = t;
            } else {
                build->surface.triangle_area[count] = area;
                source[count++] = t;
            }
        }
    }
    rig->skin_triangle_count = count;
}

static sup_result build_skin_triangles(sup_rig_build *build, sup_error *error)
{
    const sup_character *c = build->character;
    size_t triangles = 0;
    for (int32_t p = 0; p < c->primitive_count; p++)
        if (sup_primitive_in_skin(build->character, build->skeleton.has_joints, p))
            triangles += (size_t)c->primitives[p].triangle_count;
    face_table table = {.mask = 15};
    while (table.mask < 2 * triangles)
        table.mask = 2 * table.mask + 1;
    table.slots = sup_arena_alloc(&build->scratch, table.mask + 1, sizeof(int32_t));
    int32_t *source = sup_arena_alloc(build->arena, triangles, sizeof *source);
    build->surface.skin_triangles = sup_arena_alloc(build->arena, 3 * (triangles + 1), sizeof(int32_t));
    build->surface.triangle_area = sup_arena_alloc(&build->scratch, triangles, sizeof(double));
    if (table.slots == NULL || source == NULL || build->surface.skin_triangles == NULL ||
        build->surface.triangle_area == NULL)
        return sup_fail_memory(error, "the skin");
    table.triangles = build->surface.skin_triangles;
    triangle_count found = {0, -1, 0, -1};
    collect_triangles(build, &table, source, &found);
    build->rig->skin_triangles = build->surface.skin_triangles;
    build->rig->skin_triangle_source = source;
    sup_result result = sup_rig_defect(&build->defects, SUP_DEFECT_DEGENERATE_TRIANGLE, SUP_SEVERITY_REPAIRED, -1,
                                       found.degenerate, found.first_degenerate, error,
                                       "%d triangle%s without area, removed from the skin (first: triangle %d).",
                                       found.degenerate, sup_plural(found.degenerate), found.first_degenerate);
    if (result != SUP_OK) return result;
    return sup_rig_defect(&build->defects, SUP_DEFECT_DUPLICATE_FACE, SUP_SEVERITY_REPAIRED, -1, found.duplicate,
                          found.first_duplicate, error,
                          "%d duplicate triangle%s, removed from the skin (first: triangle %d).", found.duplicate,
                          sup_plural(found.duplicate), found.first_duplicate);
}

sup_result sup_rig_skin(sup_rig_build *build, sup_error *error)
{
    const sup_character *c = build->character;
    size_t vertices = (size_t)c->vertex_count;
    int32_t *group = sup_arena_alloc(&build->scratch, vertices, sizeof *group);
    build->surface.leader = sup_arena_alloc(&build->scratch, vertices, sizeof(int32_t));
    if (group == NULL || build->surface.leader == NULL) return sup_fail_memory(error, "welding");
    for (int32_t v = 0; v < c->vertex_count; v++)
        group[v] = c->primitives[build->surface.vertex_primitive[v]].node;
    double distance = (double)build->def.weld_distance;
    sup_result result =
        sup_weld(&build->context.allocator, c->vertex_count, build->surface.positions, group,
                 distance < 0.0 ? -1.0 : distance * (double)build->rig->size, build->surface.leader, error);
    if (result == SUP_OK) result = number_skin_vertices(build, error);
    if (result == SUP_OK) result = build_skin_triangles(build, error);
    return result;
}

/* --- Normals and tangents --- */

/* (A^-1)^T n up to length: the cofactor matrix of A times n, with the sign that preserves the orientation. */
static sup_vec3d transform_normal(sup_affine a, sup_vec3d n)
{
    sup_vec3d x = sup_v3(a.m[0], a.m[4], a.m[8]), y = sup_v3(a.m[1], a.m[5], a.m[9]);
    sup_vec3d z = sup_v3(a.m[2], a.m[6], a.m[10]);
    sup_vec3d sum = sup_v3_scale(sup_v3_cross(y, z), n.x);
    sum = sup_v3_madd(sum, n.y, sup_v3_cross(z, x));
    sum = sup_v3_madd(sum, n.z, sup_v3_cross(x, y));
    return sup_affine_determinant(a) < 0.0 ? sup_v3_scale(sum, -1.0) : sum;
}

/* Smooth normals of the welded surface, props included; [vertex_count*3], set at leaders. NULL when out of memory. */
static double *computed_normals(sup_rig_build *build)
{
    const sup_character *c = build->character;
    double *normals = sup_arena_alloc(&build->scratch, 3 * (size_t)c->vertex_count, sizeof *normals);
    int32_t *triangles = sup_arena_alloc(&build->scratch, 3 * (size_t)c->triangle_count, sizeof *triangles);
    if (normals == NULL || triangles == NULL) return NULL;
    if (c->triangle_count > 0) memcpy(triangles, c->triangles, 3 * (size_t)c->triangle_count * sizeof *triangles);
    for (int32_t p = 0; p < c->primitive_count; p++) {
        if (!is_mirrored(build->skeleton.primitive_map[p])) continue;
        for (int32_t t = c->primitives[p].triangle_first;
             t < c->primitives[p].triangle_first + c->primitives[p].triangle_count; t++) {
            int32_t corner = triangles[3 * (size_t)t + 1];
            triangles[3 * (size_t)t + 1] = triangles[3 * (size_t)t + 2];
            triangles[3 * (size_t)t + 2] = corner;
        }
    }
    sup_vertex_normals(c->vertex_count, build->surface.positions, c->triangle_count, triangles, build->surface.leader,
                       normals);
    return normals;
}

/* Normals of the file in the bind pose; zero where they are unusable, *missing counts those. */
static sup_result load_normals(sup_rig_build *build, float *normals, int32_t *missing, sup_error *error)
{
    const sup_character *c = build->character;
    *missing = c->normals == NULL ? c->vertex_count : 0;
    for (int32_t p = 0; p < c->primitive_count && c->normals != NULL; p++) {
        int32_t bad = 0, first = -1;
        for (int32_t v = c->primitives[p].vertex_first;
             v < c->primitives[p].vertex_first + c->primitives[p].vertex_count; v++) {
            sup_vec3d n = sup_v3_load(c->normals + 3 * (size_t)v);
            if (!sup_v3_finite(n)) {
                if (bad++ == 0) first = v;
                n = sup_v3(0, 0, 0);
            }
            n = sup_v3_unit_or(n, sup_v3(0, 0, 0));
            n = sup_v3_unit_or(transform_normal(build->skeleton.primitive_map[p], n), sup_v3(0, 0, 0));
            if (n.x == 0.0 && n.y == 0.0 && n.z == 0.0) (*missing)++;
            sup_v3_store(normals + 3 * (size_t)v, n);
        }
        sup_result result =
            sup_rig_defect(&build->defects, SUP_DEFECT_NON_FINITE_NORMAL, SUP_SEVERITY_REPAIRED, p, bad, first, error,
                           "Non-finite normals of primitive %s, replaced by computed normals: %d.",
                           sup_rig_primitive_name(build->character, p), bad);
        if (result != SUP_OK) return result;
    }
    return SUP_OK;
}

static sup_result load_tangents(sup_rig_build *build, sup_error *error)
{
    const sup_character *c = build->character;
    if (c->tangents == NULL) return SUP_OK;
    float *tangents = sup_arena_alloc(build->arena, 4 * (size_t)c->vertex_count, sizeof *tangents);
    if (tangents == NULL) return sup_fail_memory(error, "the tangents");
    for (int32_t v = 0; v < c->vertex_count; v++) {
        int32_t primitive = build->surface.vertex_primitive[v];
        const float *from = c->tangents + 4 * (size_t)v;
        sup_vec3d t = sup_v3_unit_or(sup_v3_load(from), sup_v3(0, 0, 0)); /* zero when not finite */
        t = sup_v3_unit_or(sup_affine_vector(build->skeleton.primitive_map[primitive], t), sup_v3(0, 0, 0));
        bool none = t.x == 0.0 && t.y == 0.0 && t.z == 0.0;
        sup_v3_store(tangents + 4 * (size_t)v, t);
        /* A mirror transform flips the handedness of the tangent frame. */
        tangents[4 * (size_t)v + 3] =
            none ? 0.0f : ((from[3] < 0.0f) != is_mirrored(build->skeleton.primitive_map[primitive]) ? -1.0f : 1.0f);
    }
    build->rig->tangents = tangents;
    return SUP_OK;
}

sup_result sup_rig_normals(sup_rig_build *build, sup_error *error)
{
    const sup_character *c = build->character;
    float *normals = sup_arena_alloc(build->arena, 3 * (size_t)c->vertex_count, sizeof *normals);
    if (normals == NULL) return sup_fail_memory(error, "the normals");
    int32_t missing = 0;
    sup_result result = load_normals(build, normals, &missing, error);
    if (result != SUP_OK) return result;
    if (missing > 0) {
        const double *computed = computed_normals(build);
        if (computed == NULL) return sup_fail_memory(error, "the normals");
        for (int32_t v = 0; v < c->vertex_count; v++) {
            float *n = normals + 3 * (size_t)v;
            if (n[0] != 0.0f || n[1] != 0.0f || n[2] != 0.0f) continue;
            const double *from = computed + 3 * (size_t)build->surface.leader[v];
            bool none = from[0] == 0.0 && from[1] == 0.0 && from[2] == 0.0; /* no triangle: any direction */
            sup_v3_store(n, none ? sup_v3(0.0, 0.0, 1.0) : sup_v3(from[0], from[1], from[2]));
        }
    }
    build->rig->normals = normals;
    return load_tangents(build, error);
}

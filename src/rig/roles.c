/* roles.c - classifies primitives as skin, follower or prop.
 *
 * Primitives without a skin are props. Skinned primitives are classified by mesh (all primitives of one node): the mesh
 * with the largest area is skin. The others, in the order of decreasing area, are compared with the (up to 16 largest)
 * meshes already classified as skin, on samples of their triangles weighted by area. A mesh
 *   - with at most 1/100 of the largest mesh's area, or
 *   - of which more than half lies inside that skin or within 1.5% of the character's size from it
 * is a follower: eyes and teeth are small or inside, clothes and hair lie close to the skin that they cover. Any other
 * mesh continues the body, as in characters that consist of head, trunk and legs, and is skin. */
#include "rig/rig.h"

#include "geometry/bvh.h"
#include "geometry/winding.h"

/* Samples per mesh, and in total: each mesh has fewer samples if there are many meshes. */
enum { MAX_COMPARED = 16, MIN_SAMPLES = 8, MAX_SAMPLES = 256, TOTAL_SAMPLES = 16384 };

static const double small_area = 0.01;      /* relative to the area of the largest mesh */
static const double near_distance = 0.015;  /* relative to the character's size */
static const double covered_fraction = 0.5; /* of the area of a mesh */

/* The skinned primitives of one node. */
typedef struct node_mesh {
    int32_t node;
    int32_t triangle_first, triangle_count; /* of the skin: triangles of one node are contiguous */
    double area;
    sup_primitive_role role;
} node_mesh;

/* Meshes in the order of the primitives, which are sorted by node. Returns the number of meshes. */
static int32_t gather_meshes(const sup_rig *rig, bool has_joints, const double *triangle_area, node_mesh *meshes)
{
    const sup_character *c = rig->character;
    int32_t count = 0, t = 0;
    for (int32_t p = 0; p < c->primitive_count; p++) {
        if (!sup_primitive_in_skin(c, has_joints, p)) continue;
        if (count == 0 || meshes[count - 1].node != c->primitives[p].node)
            meshes[count++] = (node_mesh){c->primitives[p].node, t, 0, 0.0, SUP_PRIMITIVE_SKIN};
        node_mesh *mesh = &meshes[count - 1];
        int32_t end = c->primitives[p].triangle_first + c->primitives[p].triangle_count;
        for (; t < rig->skin_triangle_count && rig->skin_triangle_source[t] < end; t++) {
            mesh->area += triangle_area[t];
            mesh->triangle_count++;
        }
    }
    return count;
}

/* The meshes already classified as skin. */
typedef struct known_skin {
    int32_t count;
    sup_winding winding[MAX_COMPARED];
    sup_bvh bvh[MAX_COMPARED];
} known_skin;

static sup_result add_mesh(const sup_context *context, const sup_rig *rig, const node_mesh *mesh, known_skin *skin,
                           sup_error *error)
{
    const int32_t *triangles = rig->skin_triangles + 3 * (size_t)mesh->triangle_first;
    sup_winding *winding = &skin->winding[skin->count];
    sup_result result =
        sup_winding_create(&context->allocator, rig->skin_positions, mesh->triangle_count, triangles, winding, error);
    if (result != SUP_OK) return result;
    result =
        sup_bvh_create(context, rig->skin_positions, mesh->triangle_count, triangles, &skin->bvh[skin->count], error);
    if (result != SUP_OK)
        sup_winding_destroy(winding);
    else
        skin->count++;
    return result;
}

/* Whether a point is inside the skin or within `distance` of it. */
static bool is_covered(const known_skin *skin, sup_vec3d p, double distance)
{
    double winding = 0.0;
    for (int32_t k = 0; k < skin->count; k++) {
        if (sup_bvh_closest(&skin->bvh[k], p, distance).triangle >= 0) return true;
        winding += sup_winding_number(&skin->winding[k], p);
    }
    return fabs(winding) > 0.5;
}

static sup_primitive_role classify_mesh(const sup_rig *rig, const double *triangle_area, const node_mesh *mesh,
                                        double largest_area, const known_skin *skin, int32_t samples)
{
    if (mesh->area <= small_area * largest_area) return SUP_PRIMITIVE_FOLLOWER;
    int32_t step = mesh->triangle_count / samples + 1;
    double covered = 0.0, total = 0.0;
    for (int32_t t = mesh->triangle_first; t < mesh->triangle_first + mesh->triangle_count; t += step) {
        sup_vec3d centre = sup_v3(0, 0, 0);
        for (int k = 0; k < 3; k++) {
            int32_t corner = rig->skin_triangles[3 * (size_t)t + (size_t)k];
            centre = sup_v3_madd(centre, 1.0 / 3.0, sup_v3_load(rig->skin_positions + 3 * (size_t)corner));
        }
        total += triangle_area[t];
        if (is_covered(skin, centre, near_distance * (double)rig->size)) covered += triangle_area[t];
    }
    return covered > covered_fraction * total ? SUP_PRIMITIVE_FOLLOWER : SUP_PRIMITIVE_SKIN;
}

/* Index of the largest unclassified mesh, the lowest index for equal areas; -1 for none. */
static int32_t largest(const node_mesh *meshes, const bool *classified, int32_t count)
{
    int32_t best = -1;
    for (int32_t m = 0; m < count; m++)
        if (!classified[m] && (best < 0 || meshes[m].area > meshes[best].area)) best = m;
    return best;
}

/* Sets the roles of all meshes. `classified` is [count], false. */
static sup_result classify_meshes(const sup_context *context, const sup_rig *rig, const double *triangle_area,
                                  node_mesh *meshes, int32_t count, bool *classified, sup_error *error)
{
    known_skin skin = {0};
    sup_result result = SUP_OK;
    int32_t main = largest(meshes, classified, count), samples = TOTAL_SAMPLES / count;
    samples = samples < MIN_SAMPLES ? MIN_SAMPLES : samples > MAX_SAMPLES ? MAX_SAMPLES : samples;
    double main_area = meshes[main].area;
    for (int32_t m = 0; m < count; m++) {
        if (m == main || meshes[m].area > small_area * main_area) continue;
        meshes[m].role = SUP_PRIMITIVE_FOLLOWER;
        classified[m] = true;
    }
    for (int32_t m = main; m >= 0 && result == SUP_OK; m = largest(meshes, classified, count)) {
        classified[m] = true;
        if (m != main) meshes[m].role = classify_mesh(rig, triangle_area, &meshes[m], main_area, &skin, samples);
        if (meshes[m].role == SUP_PRIMITIVE_SKIN && skin.count < MAX_COMPARED)
            result = add_mesh(context, rig, &meshes[m], &skin, error);
    }
    for (int32_t k = 0; k < skin.count; k++) {
        sup_winding_destroy(&skin.winding[k]);
        sup_bvh_free(&skin.bvh[k]);
    }
    return result;
}

sup_result sup_rig_roles(sup_rig_build *build, sup_error *error)
{
    const sup_character *c = build->character;
    size_t primitives = (size_t)c->primitive_count;
    bool has_joints = build->skeleton.has_joints;
    const double *triangle_area = build->surface.triangle_area;
    build->surface.role = sup_arena_alloc(build->arena, primitives, sizeof *build->surface.role);
    node_mesh *meshes = sup_arena_alloc(&build->scratch, primitives, sizeof *meshes);
    bool *classified = sup_arena_alloc(&build->scratch, primitives, sizeof *classified);
    if (build->surface.role == NULL || meshes == NULL || classified == NULL)
        return sup_fail_memory(error, "the roles of the primitives");
    int32_t count = gather_meshes(build->rig, has_joints, triangle_area, meshes), m = -1;
    if (count > 1 && has_joints) {
        sup_result result =
            classify_meshes(&build->context, build->rig, triangle_area, meshes, count, classified, error);
        if (result != SUP_OK) return result;
    }
    for (int32_t p = 0; p < c->primitive_count; p++) {
        bool skin = sup_primitive_in_skin(c, has_joints, p);
        if (skin && (m < 0 || meshes[m].node != c->primitives[p].node)) m++;
        build->surface.role[p] = skin ? meshes[m].role : SUP_PRIMITIVE_PROP;
    }
    build->rig->primitive_role = build->surface.role;
    return SUP_OK;
}

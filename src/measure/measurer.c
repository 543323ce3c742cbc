/* measurer.c - the measurer: created from the rest shape, called per frame. */
#include "measure/measurer.h"

#include "math/vec3.h"

static sup_result check_surface(const sup_measure_surface *surface, sup_error *error)
{
    if (surface == NULL || surface->vertex_count < 0 || surface->triangle_count < 0 || surface->region_count < 0)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "measure.surface", "", "sup_measurer_create needs a surface.");
    if (surface->triangle_count == 0)
        return sup_fail(error, SUP_ERROR_DATA, "measure.empty", "", "The surface has no triangles to measure.");
    for (int64_t i = 0; i < (int64_t)surface->vertex_count * 3; i++)
        if (!isfinite(surface->positions[i]))
            return sup_fail(error, SUP_ERROR_DATA, "measure.rest.nonfinite", "",
                            "Vertex %lld of the rest shape is not finite.", (long long)(i / 3));
    for (int32_t t = 0; t < surface->triangle_count; t++) {
        const int32_t *v = surface->triangles + 3 * (size_t)t;
        bool range = v[0] >= 0 && v[1] >= 0 && v[2] >= 0 && v[0] < surface->vertex_count &&
                     v[1] < surface->vertex_count && v[2] < surface->vertex_count;
        if (!range || v[0] == v[1] || v[1] == v[2] || v[2] == v[0])
            return sup_fail(error, SUP_ERROR_ARGUMENT, "measure.triangle", "",
                            "Triangle %d has a repeated or invalid vertex.", t);
    }
    return SUP_OK;
}

static double bounding_diagonal(const float *positions, int32_t count)
{
    sup_vec3d low = sup_v3_load(positions), high = low;
    for (int32_t v = 1; v < count; v++) {
        sup_vec3d p = sup_v3_load(positions + 3 * (size_t)v);
        low = sup_v3(fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z));
        high = sup_v3(fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z));
    }
    return sup_v3_distance(low, high);
}

/* Allocates one array; sets *ok to false when out of memory. */
static void *reserve(sup_measurer *m, size_t count, size_t size, bool *ok)
{
    void *memory = sup_arena_alloc(&m->arena, count, size);
    if (memory == NULL) *ok = false;
    return memory;
}

static bool reserve_arrays(sup_measurer *m)
{
    bool ok = true;
    size_t vertices = (size_t)m->closed.vertex_count, triangles = (size_t)m->closed.triangle_count;
    size_t closed = vertices + (size_t)m->closed.boundary_count;
    m->rest = reserve(m, 3 * closed, sizeof(float), &ok);
    m->current = reserve(m, 3 * closed, sizeof(float), &ok);
    m->edge_length = reserve(m, (size_t)m->closed.adjacency.edge_count, sizeof(float), &ok);
    m->component_sign = reserve(m, (size_t)m->closed.component_count, sizeof(double), &ok);
    m->rest_frame = reserve(m, 3 * triangles, sizeof(float), &ok);
    m->rest_area = reserve(m, triangles, sizeof(float), &ok);
    m->rest_flip = reserve(m, triangles, 1, &ok);
    m->triangle_normal = reserve(m, 3 * triangles, sizeof(float), &ok);
    m->laplacian = reserve(m, vertices, sizeof(float), &ok);
    m->degree = reserve(m, vertices, sizeof(int32_t), &ok);
    m->sum = reserve(m, 3 * vertices, sizeof(double), &ok);
    m->rest_inside = reserve(m, vertices, 1, &ok);
    m->depth = reserve(m, vertices, sizeof(float), &ok);
    m->visited = reserve(m, vertices, 1, &ok);
    m->queue = reserve(m, vertices, sizeof(int32_t), &ok);
    return ok;
}

/* Triangles of region r with local vertex indices: local[v] is the index of vertex v in the region, -1 if
 * unassigned. */
static sup_result create_region(sup_measurer *m, const sup_measure_surface *surface, int32_t r, int32_t *local,
                                sup_error *error)
{
    int32_t first = surface->region_first[r], count = surface->region_first[r + 1] - first, vertices = 0;
    if (first < 0 || count < 0)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "measure.region", "", "Region %d has an invalid range of triangles.",
                        r);
    sup_region *region = &m->regions[r];
    int32_t *triangles = sup_arena_alloc(&m->arena, 3 * (size_t)count, sizeof *triangles);
    region->vertices = sup_arena_alloc(&m->arena, 3 * (size_t)count, sizeof *region->vertices);
    if (triangles == NULL || region->vertices == NULL) return sup_fail_memory(error, "the regions");
    for (int32_t i = 0; i < count; i++) {
        int32_t t = surface->region_triangles[first + i];
        if (t < 0 || t >= surface->triangle_count)
            return sup_fail(error, SUP_ERROR_ARGUMENT, "measure.region", "",
                            "Region %d contains triangle %d, which does not exist.", r, t);
        for (int c = 0; c < 3; c++) {
            int32_t v = surface->triangles[3 * (size_t)t + (size_t)c];
            if (local[v] < 0) {
                region->vertices[vertices] = v;
                local[v] = vertices++;
            }
            triangles[3 * (size_t)i + (size_t)c] = local[v];
        }
    }
    for (int32_t i = 0; i < vertices; i++)
        local[region->vertices[i]] = -1;
    return sup_closed_surface_create(&region->closed, &m->arena, vertices, triangles, count, error);
}

static double region_volume(sup_measurer *m, const sup_region *region, const float *positions)
{
    for (int32_t i = 0; i < region->closed.vertex_count; i++)
        memcpy(m->region_scratch + 3 * (size_t)i, positions + 3 * (size_t)region->vertices[i], 3 * sizeof(float));
    sup_closed_surface_middles(&region->closed, m->region_scratch);
    return sup_closed_volume(&region->closed, m->region_scratch, NULL);
}

/* A nearly flat patch encloses no volume, and its ratio would be noise. For a sphere volume / area^1.5 is 0.094. */
static bool encloses_volume(const sup_measurer *m, const sup_measure_surface *surface, int32_t r, double volume)
{
    double area = 0.0;
    for (int32_t i = surface->region_first[r]; i < surface->region_first[r + 1]; i++)
        area += (double)m->rest_area[surface->region_triangles[i]];
    return fabs(volume) > 0.01 * area * sqrt(area);
}

static sup_result create_regions(sup_measurer *m, const sup_measure_surface *surface, sup_error *error)
{
    int32_t largest = 0, *local = sup_arena_alloc(&m->arena, (size_t)surface->vertex_count, sizeof *local);
    m->regions = sup_arena_alloc(&m->arena, (size_t)surface->region_count, sizeof *m->regions);
    if (m->regions == NULL || local == NULL) return sup_fail_memory(error, "the regions");
    for (int32_t v = 0; v < surface->vertex_count; v++)
        local[v] = -1;
    for (; m->region_count < surface->region_count; m->region_count++) {
        sup_result result = create_region(m, surface, m->region_count, local, error);
        if (result != SUP_OK) return result;
        const sup_closed_surface *closed = &m->regions[m->region_count].closed;
        int32_t here = closed->vertex_count + closed->boundary_count;
        largest = here > largest ? here : largest;
    }
    m->region_scratch = sup_arena_alloc(&m->arena, 3 * (size_t)largest, sizeof(float));
    if (m->region_scratch == NULL) return sup_fail_memory(error, "the regions");
    for (int32_t r = 0; r < m->region_count; r++) {
        double volume = region_volume(m, &m->regions[r], m->rest);
        m->regions[r].rest_volume = encloses_volume(m, surface, r, volume) ? volume : 0.0;
    }
    return SUP_OK;
}

static sup_result initialize(sup_measurer *m, const sup_measure_surface *surface, sup_error *error)
{
    sup_result result = sup_closed_surface_create(&m->closed, &m->arena, surface->vertex_count, surface->triangles,
                                                  surface->triangle_count, error);
    if (result != SUP_OK) return result;
    if (!reserve_arrays(m)) return sup_fail_memory(error, "a measurer");
    memcpy(m->rest, surface->positions, 3 * (size_t)surface->vertex_count * sizeof(float));
    sup_closed_surface_middles(&m->closed, m->rest);
    m->size = surface->size > 0.0 ? surface->size : bounding_diagonal(m->rest, surface->vertex_count);
    if (!(m->size > 0.0)) return sup_fail(error, SUP_ERROR_DATA, "measure.size", "", "The surface has no extent.");
    sup_component_signs(&m->closed, m->rest, m->component_sign);
    m->rest_volume = sup_closed_volume(&m->closed, m->rest, m->component_sign);
    sup_measure_rest_shape(m);
    result = sup_measure_rest_contact(m, error);
    return result == SUP_OK ? create_regions(m, surface, error) : result;
}

sup_result sup_measurer_create(const sup_context *context, const sup_measure_surface *surface, sup_measurer **measurer,
                               sup_error *error)
{
    sup_result result = check_surface(surface, error);
    if (result != SUP_OK) return result;
    sup_context resolved = sup_context_resolve(context);
    sup_measurer *m = sup_alloc_zero(&resolved.allocator, sizeof *m);
    if (m == NULL) return sup_fail_memory(error, "a measurer");
    m->context = resolved;
    m->arena = sup_arena_create(&resolved.allocator);
    m->pairs.item_size = sizeof(int64_t);
    result = initialize(m, surface, error);
    if (result != SUP_OK) {
        sup_measurer_destroy(m);
        return result;
    }
    *measurer = m;
    return SUP_OK;
}

void sup_measurer_destroy(sup_measurer *m)
{
    if (m == NULL) return;
    sup_allocator allocator = m->context.allocator;
    for (int32_t r = 0; r < m->region_count; r++)
        sup_closed_surface_destroy(&m->regions[r].closed);
    sup_closed_surface_destroy(&m->closed);
    sup_bvh_free(&m->tree);
    sup_array_free(&allocator, &m->pairs);
    sup_arena_destroy(&m->arena);
    sup_free(&allocator, m, sizeof *m);
}

/* Copies the frame; vertices that are not finite get their rest position. Returns their number. */
static int32_t copy_frame(sup_measurer *m, const float *positions)
{
    int32_t invalid = 0;
    for (int32_t v = 0; v < m->closed.vertex_count; v++) {
        const float *p = positions + 3 * (size_t)v;
        bool finite = isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]);
        memcpy(m->current + 3 * (size_t)v, finite ? p : m->rest + 3 * (size_t)v, 3 * sizeof(float));
        invalid += finite ? 0 : 1;
    }
    sup_closed_surface_middles(&m->closed, m->current);
    return invalid;
}

static double region_ratio(sup_measurer *m, const sup_region *region)
{
    return region->rest_volume != 0.0 ? region_volume(m, region, m->current) / region->rest_volume : (double)NAN;
}

sup_result sup_measurer_frame(sup_measurer *m, const float *positions, sup_frame_measure *measure,
                              double *region_volume_ratio)
{
    if (m == NULL || positions == NULL || measure == NULL) return SUP_ERROR_ARGUMENT;
    memset(measure, 0, sizeof *measure);
    measure->nonfinite = copy_frame(m, positions);
    double volume = sup_closed_volume(&m->closed, m->current, m->component_sign);
    measure->volume_ratio = m->rest_volume != 0.0 ? volume / m->rest_volume : 1.0;
    sup_measure_distortion(m, measure);
    sup_result result = sup_measure_contact(m, measure);
    for (int32_t r = 0; result == SUP_OK && region_volume_ratio != NULL && r < m->region_count; r++)
        region_volume_ratio[r] = region_ratio(m, &m->regions[r]);
    return result;
}

const int32_t *sup_measurer_pairs(const sup_measurer *m, int32_t *count)
{
    *count = m->pair_index_count;
    return m->pair_indices;
}

const float *sup_measurer_depths(const sup_measurer *m)
{
    return m->depth;
}

/* colliders.c - nearest points on things, and which points touch them. See colliders.h. */
#include "geometry/colliders.h"

#include <math.h>

enum { GRAIN_VERTICES = 256 };

/* Nearest surface point and outward normal in the thing's own space; the height there. */
typedef struct own_view {
    sup_vec3d point, normal;
    double height;
} own_view;

static const sup_vec3d nowhere = {0.0, 0.0, 0.0};

static own_view look_plane(const sup_solid *c, sup_vec3d p)
{
    sup_vec3d n = sup_v3_unit_or(sup_v3_sub(c->to, c->from), nowhere);
    double height = sup_v3_dot(n, sup_v3_sub(p, c->from));
    return (own_view){sup_v3_madd(p, -height, n), n, height};
}

static own_view look_capsule(const sup_solid *c, sup_vec3d p)
{
    sup_vec3d axis = sup_v3_lerp(c->from, c->to, sup_v3_segment_parameter(p, c->from, c->to));
    sup_vec3d out = sup_v3_sub(p, axis);
    double distance = sup_v3_length(out);
    if (!(distance > 0.0)) { /* on the axis: any way out that stands on it */
        sup_vec3d d = sup_v3_sub(c->to, c->from);
        sup_vec3d other = fabs(d.x) <= fabs(d.y) && fabs(d.x) <= fabs(d.z) ? sup_v3(1.0, 0.0, 0.0)
                          : fabs(d.y) <= fabs(d.z)                         ? sup_v3(0.0, 1.0, 0.0)
                                                                           : sup_v3(0.0, 0.0, 1.0);
        out = sup_v3_length(d) > 0.0 ? sup_v3_cross(d, other) : other;
    }
    sup_vec3d n = sup_v3_unit_or(out, nowhere);
    return (own_view){sup_v3_madd(axis, c->radius, n), n, distance - c->radius};
}

static bool in_mesh_box(const sup_bvh *mesh, sup_vec3d p, double limit)
{
    if (mesh->node_count < 1) return false;
    const float *lower = mesh->nodes[0].lower, *upper = mesh->nodes[0].upper;
    return p.x >= (double)lower[0] - limit && p.x <= (double)upper[0] + limit && p.y >= (double)lower[1] - limit &&
           p.y <= (double)upper[1] + limit && p.z >= (double)lower[2] - limit && p.z <= (double)upper[2] + limit;
}

static sup_vec3d face_normal(const sup_bvh *mesh, int32_t triangle)
{
    const int32_t *t = mesh->triangles + 3 * (size_t)triangle;
    sup_vec3d a = sup_v3_load(mesh->positions + 3 * (size_t)t[0]);
    return sup_v3_unit_or(sup_v3_cross(sup_v3_sub(sup_v3_load(mesh->positions + 3 * (size_t)t[1]), a),
                                       sup_v3_sub(sup_v3_load(mesh->positions + 3 * (size_t)t[2]), a)),
                          nowhere);
}

static bool look_mesh(const sup_solid *c, sup_vec3d p, double limit, own_view *view)
{
    if (!in_mesh_box(c->mesh, p, limit)) return false;
    bool inside = sup_bvh_inside(c->mesh, p);
    sup_bvh_nearest nearest = sup_bvh_closest(c->mesh, p, inside ? INFINITY : limit);
    if (nearest.triangle < 0) return false;
    sup_vec3d out = inside ? sup_v3_sub(nearest.point, p) : sup_v3_sub(p, nearest.point);
    view->point = nearest.point;
    view->height = inside ? -nearest.distance : nearest.distance;
    view->normal = sup_v3_unit_or(out, face_normal(c->mesh, nearest.triangle));
    return true;
}

/* From the world into the space of a thing. */
typedef struct own_space {
    sup_affine inverse; /* of solid->world */
    double scale;       /* of lengths */
} own_space;

static bool enter_space(const sup_solid *solid, own_space *space)
{
    if (!sup_affine_inverse(solid->world, &space->inverse)) return false;
    space->scale = cbrt(fabs(sup_affine_determinant(space->inverse)));
    return true;
}

static bool look(const sup_solid *solid, const own_space *space, sup_vec3d point, double limit, sup_solid_view *view)
{
    if (!sup_v3_finite(point)) return false;
    sup_vec3d p = sup_affine_point(space->inverse, point);
    double scale = space->scale;
    own_view own;
    if (solid->shape == SUP_COLLIDER_MESH) {
        if (!look_mesh(solid, p, scale * limit, &own)) return false;
    } else
        own = solid->shape == SUP_COLLIDER_PLANE ? look_plane(solid, p) : look_capsule(solid, p);
    if (!(own.height < scale * limit) || !sup_v3_finite(own.point)) return false;
    view->point = sup_affine_point(solid->world, own.point);
    view->normal = sup_v3_unit_or(sup_affine_vector(solid->world, own.normal), nowhere);
    view->height = own.height / scale;
    view->motion = sup_v3_sub(view->point, sup_affine_point(solid->before, own.point));
    return sup_v3_dot(view->normal, view->normal) > 0.5 && sup_v3_finite(view->point) && sup_v3_finite(view->motion);
}

bool sup_solid_look(const sup_solid *solid, sup_vec3d point, double limit, sup_solid_view *view)
{
    own_space space;
    return enter_space(solid, &space) && look(solid, &space, point, limit, view);
}

/* --- Touches --- */

/* The state: what list of solids it is about, then which one each point touches, then the touches of each piece of
 * work. */
typedef struct touch_head {
    int32_t solid_count;
    uint32_t generation;
} touch_head;

typedef struct touch_work {
    const sup_touch_input *input;
    int32_t *touched; /* [point_count] solid, -1 for none */
    int32_t *count;   /* per piece of work */
    sup_touch *touches;
} touch_work;

static size_t round_up(size_t size)
{
    return (size + 63) / 64 * 64;
}

size_t sup_touch_state_size(int32_t point_count)
{
    size_t n = (size_t)point_count;
    return 64 + round_up(n * sizeof(int32_t)) + round_up((n / GRAIN_VERTICES + 1) * sizeof(int32_t));
}

static int32_t *state_touched(void *state)
{
    return (int32_t *)(void *)((unsigned char *)state + 64);
}

void sup_touch_reset(int32_t point_count, void *state)
{
    *(touch_head *)state = (touch_head){0};
    for (int32_t v = 0; v < point_count; v++)
        state_touched(state)[v] = -1;
}

static sup_touch make_touch(int32_t v, int32_t solid, const sup_solid_view *view)
{
    sup_touch touch = {.vertex = v, .solid = solid, .height = (float)view->height};
    sup_v3_store(touch.point, view->point);
    sup_v3_store(touch.normal, view->normal);
    sup_v3_store(touch.motion, view->motion);
    return touch;
}

static void touch_points(void *data, int32_t begin, int32_t end, int32_t worker)
{
    touch_work *work = data;
    const sup_touch_input *in = work->input;
    sup_solid_view deepest[GRAIN_VERTICES];
    int32_t which[GRAIN_VERTICES], count = 0;
    SUP_UNUSED(worker);
    for (int32_t k = 0; k < GRAIN_VERTICES; k++) {
        which[k] = -1;
        deepest[k].height = INFINITY;
    }
    for (int32_t i = 0; i < in->solid_count; i++) {
        own_space space;
        if (!enter_space(&in->solids[i], &space)) continue;
        for (int32_t v = begin; v < end; v++) {
            sup_vec3d p = sup_v3_load(in->points + (size_t)v * (size_t)in->stride);
            double limit = (double)in->gap + (work->touched[v] == i ? (double)in->keep : 0.0);
            sup_solid_view view;
            if (!look(&in->solids[i], &space, p, limit, &view)) continue;
            if (!(view.height < deepest[v - begin].height)) continue;
            which[v - begin] = i;
            deepest[v - begin] = view;
        }
    }
    for (int32_t v = begin; v < end; v++) {
        int32_t i = work->touched[v] = which[v - begin];
        if (i >= 0) work->touches[begin + count++] = make_touch(v, i, &deepest[v - begin]);
    }
    work->count[begin / GRAIN_VERTICES] = count;
}

int32_t sup_touch_find(const sup_context *context, const sup_touch_input *input, void *state, sup_touch *touches)
{
    int32_t n = input->point_count, total = 0;
    touch_head *head = state;
    if (head->solid_count != input->solid_count || head->generation != input->generation) sup_touch_reset(n, state);
    *head = (touch_head){input->solid_count, input->generation};
    if (input->solid_count == 0) return 0;
    int32_t *touched = state_touched(state);
    int32_t *count = (int32_t *)(void *)((unsigned char *)touched + round_up((size_t)n * sizeof *touched));
    touch_work work = {input, touched, count, touches};
    sup_parallel(context, n, GRAIN_VERTICES, touch_points, &work);
    for (int32_t begin = 0; begin < n; begin += GRAIN_VERTICES) { /* the pieces' touches one after another */
        int32_t here = count[begin / GRAIN_VERTICES];
        if (total != begin) memmove(touches + total, touches + begin, (size_t)here * sizeof *touches);
        total += here;
    }
    return total;
}

/* collide_points.c - nearest points on things, and which points touch them. See collide_points.h. */
#define SUP_SOLID static
#include "geometry/collide_query.h"

#include <math.h>

enum { GRAIN_VERTICES = 256 };

static bool mesh_inside(const sup_bvh *mesh, sup_vec3d point)
{
    return sup_bvh_inside(mesh, point);
}

static sup_bvh_nearest mesh_closest(const sup_bvh *mesh, sup_vec3d point, double limit)
{
    return sup_bvh_closest(mesh, point, limit);
}

bool sup_solid_enter(const sup_solid *solid, sup_solid_space *space)
{
    if (!sup_affine_inverse(solid->world, &space->inverse)) return false;
    space->scale = cbrt(fabs(sup_affine_determinant(space->inverse)));
    return true;
}

bool sup_solid_look(const sup_solid *solid, sup_vec3d point, double limit, sup_solid_view *view)
{
    sup_solid_space space;
    return sup_solid_enter(solid, &space) && look(solid, &space, point, limit, view);
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
        sup_solid_space space;
        if (!sup_solid_enter(&in->solids[i], &space)) continue;
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

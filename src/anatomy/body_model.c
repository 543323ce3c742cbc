/* body_model.c - poses the template by linear blend skinning, with derivatives by all parameters. */
#include "anatomy/body_model.h"

#include "geometry/decimate.h"

enum { VERTEX_GRAIN = 512 };

/* --- Model --- */

static sup_result choose_vertices(const sup_context *context, const sup_composition *c, int32_t target,
                                  sup_arena *arena, sup_body_model *model, sup_error *error)
{
    size_t values = 3 * (size_t)c->vertex_count;
    float *positions = sup_arena_alloc(arena, values, sizeof *positions);
    if (positions == NULL) return sup_fail_memory(error, "the template");
    for (size_t i = 0; i < values; i++)
        positions[i] = (float)c->mean[i];
    sup_decimated decimated = {0};
    sup_decimate_def def = {.vertex_target = target};
    sup_result result =
        sup_decimate(context, c->vertex_count, positions, c->triangle_count, c->triangles, &def, &decimated, error);
    if (result != SUP_OK) return result;
    model->vertex_count = decimated.vertex_count;
    model->triangle_count = decimated.triangle_count;
    model->vertex = sup_arena_copy(arena, decimated.vertices, (size_t)decimated.vertex_count, sizeof(int32_t));
    model->triangles =
        sup_arena_copy(arena, decimated.triangles, 3 * (size_t)decimated.triangle_count, sizeof(int32_t));
    sup_decimated_free(&decimated);
    return model->vertex != NULL && model->triangles != NULL ? SUP_OK : sup_fail_memory(error, "the template");
}

static sup_result all_vertices(const sup_composition *c, sup_arena *arena, sup_body_model *model, sup_error *error)
{
    int32_t *vertex = sup_arena_alloc(arena, (size_t)c->vertex_count, sizeof *vertex);
    if (vertex == NULL) return sup_fail_memory(error, "the template");
    for (int32_t v = 0; v < c->vertex_count; v++)
        vertex[v] = v;
    model->vertex = vertex;
    model->vertex_count = c->vertex_count;
    model->triangle_count = c->triangle_count;
    model->triangles = c->triangles;
    return SUP_OK;
}

sup_result sup_body_model_make(const sup_context *context, const sup_composition *composition, int32_t vertex_target,
                               sup_arena *arena, sup_body_model *model, sup_error *error)
{
    sup_body_model made = {.composition = composition};
    bool whole = vertex_target <= 0 || vertex_target >= composition->vertex_count;
    sup_result result = whole ? all_vertices(composition, arena, &made, error)
                              : choose_vertices(context, composition, vertex_target, arena, &made, error);
    if (result != SUP_OK) return result;
    size_t modes = (size_t)composition->mode_count, width = 3 * (size_t)composition->vertex_count;
    double *transposed = sup_arena_alloc(arena, 3 * (size_t)made.vertex_count * modes, sizeof *transposed);
    if (transposed == NULL) return sup_fail_memory(error, "the template");
    for (size_t i = 0; i < 3 * (size_t)made.vertex_count; i++)
        for (size_t k = 0; k < modes; k++)
            transposed[i * modes + k] = composition->modes[k * width + 3 * (size_t)made.vertex[i / 3] + i % 3];
    made.modes = transposed;
    *model = made;
    return SUP_OK;
}

/* --- State --- */

bool sup_body_state_make(const sup_composition *c, sup_arena *arena, sup_body_state *state)
{
    size_t modes = (size_t)c->mode_count, joints = (size_t)c->joint_count;
    *state = (sup_body_state){0};
    state->coefficients = sup_arena_alloc(arena, modes, sizeof(double));
    state->local = sup_arena_alloc(arena, joints, sizeof(sup_quatd));
    state->rest_joints = sup_arena_alloc(arena, 3 * joints, sizeof(double));
    state->global = sup_arena_alloc(arena, joints, sizeof(sup_quatd));
    state->rotation = sup_arena_alloc(arena, 9 * joints, sizeof(double));
    state->posed_origin = sup_arena_alloc(arena, 3 * joints, sizeof(double));
    state->mode_offset = sup_arena_alloc(arena, modes * 3 * joints, sizeof(double));
    if (state->coefficients == NULL || state->local == NULL || state->rest_joints == NULL || state->global == NULL ||
        state->rotation == NULL || state->posed_origin == NULL || state->mode_offset == NULL)
        return false;
    for (size_t j = 0; j < joints; j++)
        state->local[j].w = 1.0;
    sup_body_state_update(c, state);
    return true;
}

void sup_body_state_copy(const sup_composition *c, const sup_body_state *from, sup_body_state *to)
{
    memcpy(to->coefficients, from->coefficients, (size_t)c->mode_count * sizeof(double));
    memcpy(to->local, from->local, (size_t)c->joint_count * sizeof(sup_quatd));
    to->translation = from->translation;
    to->log_scale = from->log_scale;
    sup_body_state_update(c, to);
}

static sup_vec3d load(const double *p)
{
    return sup_v3(p[0], p[1], p[2]);
}

static void store(double *p, sup_vec3d v)
{
    p[0] = v.x, p[1] = v.y, p[2] = v.z;
}

static sup_vec3d rotate(const double *m, sup_vec3d v)
{
    return sup_v3(m[0] * v.x + m[1] * v.y + m[2] * v.z, m[3] * v.x + m[4] * v.y + m[5] * v.z,
                  m[6] * v.x + m[7] * v.y + m[8] * v.z);
}

static void matrix_of(sup_quatd q, double *m)
{
    sup_vec3d x = sup_quatd_rotate(q, sup_v3(1, 0, 0)), y = sup_quatd_rotate(q, sup_v3(0, 1, 0)),
              z = sup_quatd_rotate(q, sup_v3(0, 0, 1));
    const double made[9] = {x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z};
    memcpy(m, made, sizeof made);
}

/* Q of joints with rest positions `at`; also for the derivatives of joints, because Q is linear in them. */
static void pose_joints(const sup_composition *c, const double *rotation, const double *at, double *posed_origin)
{
    memcpy(posed_origin, at, 3 * sizeof(double));
    for (int32_t j = 1; j < c->joint_count; j++) {
        size_t self = 3 * (size_t)j, up = 3 * (size_t)c->parents[j];
        sup_vec3d bone = rotate(rotation + 3 * up, sup_v3_sub(load(at + self), load(at + up)));
        store(posed_origin + self, sup_v3_add(load(posed_origin + up), bone));
    }
}

void sup_body_state_update(const sup_composition *c, sup_body_state *s)
{
    size_t modes = (size_t)c->mode_count, values = 3 * (size_t)c->joint_count;
    memcpy(s->rest_joints, c->joint_mean, values * sizeof(double));
    for (size_t k = 0; k < modes; k++)
        for (size_t i = 0; i < values; i++)
            s->rest_joints[i] += s->coefficients[k] * c->joint_modes[k * values + i];
    for (int32_t j = 0; j < c->joint_count; j++) {
        s->global[j] = c->parents[j] < 0 ? s->local[j] : sup_quatd_multiply(s->global[c->parents[j]], s->local[j]);
        matrix_of(s->global[j], s->rotation + 9 * (size_t)j);
    }
    pose_joints(c, s->rotation, s->rest_joints, s->posed_origin);
    for (size_t k = 0; k < modes; k++) {
        const double *moved = c->joint_modes + k * values;
        double *offset = s->mode_offset + k * values;
        pose_joints(c, s->rotation, moved, offset);
        for (size_t j = 0; j < values; j += 3)
            store(offset + j, sup_v3_sub(load(offset + j), rotate(s->rotation + 3 * j, load(moved + j))));
    }
}

sup_vec3d sup_body_joint(const sup_body_state *state, int32_t joint)
{
    return sup_v3_madd(state->translation, exp(state->log_scale), load(state->posed_origin + 3 * (size_t)joint));
}

/* --- Skin --- */

static sup_vec3d rest_of(const sup_body_model *model, const sup_body_state *s, int32_t vertex)
{
    size_t modes = (size_t)model->composition->mode_count;
    const double *mean = model->composition->mean + 3 * (size_t)model->vertex[vertex];
    const double *transposed = model->modes + 3 * (size_t)vertex * modes;
    double r[3];
    for (size_t i = 0; i < 3; i++) {
        r[i] = mean[i];
        for (size_t k = 0; k < modes; k++)
            r[i] += transposed[i * modes + k] * s->coefficients[k];
    }
    return load(r);
}

/* A_j (r - J_j) + Q_j */
static sup_vec3d transform_by_joint(const sup_body_state *s, int32_t joint, sup_vec3d rest)
{
    size_t at = 3 * (size_t)joint;
    sup_vec3d arm = sup_v3_sub(rest, load(s->rest_joints + at));
    return sup_v3_add(rotate(s->rotation + 3 * at, arm), load(s->posed_origin + at));
}

typedef struct skin_work {
    const sup_body_model *model;
    const sup_body_state *state;
    double *posed, *rest;
} skin_work;

static void skin_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const skin_work *w = work;
    SUP_UNUSED(worker);
    const sup_composition *c = w->model->composition;
    double scale = exp(w->state->log_scale);
    for (int32_t i = begin; i < end; i++) {
        int32_t v = w->model->vertex[i];
        sup_vec3d rest = rest_of(w->model, w->state, i), sum = sup_v3(0, 0, 0);
        for (int32_t n = c->influence_first[v]; n < c->influence_first[v + 1]; n++)
            sum = sup_v3_madd(sum, c->influence_weight[n], transform_by_joint(w->state, c->influence_joint[n], rest));
        if (w->posed != NULL) store(w->posed + 3 * (size_t)i, sup_v3_madd(w->state->translation, scale, sum));
        if (w->rest != NULL) store(w->rest + 3 * (size_t)i, rest);
    }
}

void sup_body_skin(const sup_context *context, const sup_body_model *model, const sup_body_state *state, double *posed,
                   double *rest)
{
    skin_work work = {model, state, posed, rest};
    sup_parallel(context, model->vertex_count, VERTEX_GRAIN, skin_range, &work);
}

sup_quatd sup_body_rotation_at(const sup_composition *c, const sup_body_state *state, int32_t vertex)
{
    sup_affine blend = {{0}};
    for (int32_t n = c->influence_first[vertex]; n < c->influence_first[vertex + 1]; n++)
        for (size_t i = 0; i < 9; i++)
            blend.m[i / 3 * 4 + i % 3] +=
                c->influence_weight[n] * state->rotation[9 * (size_t)c->influence_joint[n] + i];
    sup_quatd rotation = {0, 0, 0, 1};
    double stretch[9];
    if (sup_affine_polar(blend, &rotation, stretch)) return rotation;
    return state->global[c->influence_joint[c->influence_first[vertex]]];
}

/* --- Derivatives --- */

/* Inserts a joint into the sorted list unless it is already there. */
static int32_t note_joint(int32_t *joints, int32_t count, int32_t joint)
{
    int32_t at = count;
    while (at > 0 && joints[at - 1] > joint)
        at--;
    if (at > 0 && joints[at - 1] == joint) return count;
    memmove(joints + at + 1, joints + at, (size_t)(count - at) * sizeof *joints);
    joints[at] = joint;
    return count + 1;
}

/* Derivatives by joint rotations: joint j rotates the part of x that is attached to j and its descendants, sum of
 * w_k (x_k - P_j) with P_j the posed joint. */
static int32_t joint_columns(const sup_body_model *model, const sup_body_state *s, int32_t v, sup_vec3d rest,
                             sup_vec3d direction, double *row, int32_t *joints)
{
    const sup_composition *c = model->composition;
    int32_t count = 0;
    double scale = exp(s->log_scale);
    for (int32_t n = c->influence_first[v]; n < c->influence_first[v + 1]; n++) {
        sup_vec3d x = transform_by_joint(s, c->influence_joint[n], rest);
        double weight = c->influence_weight[n] * scale;
        for (int32_t j = c->influence_joint[n]; j >= 0; j = c->parents[j]) {
            sup_vec3d arm = sup_v3_sub(x, load(s->posed_origin + 3 * (size_t)j));
            sup_vec3d gradient = sup_v3_scale(sup_v3_cross(arm, direction), weight); /* d . (w x a) = w . (a x d) */
            double *at = row + 4 + c->mode_count + 3 * j;
            at[0] += gradient.x, at[1] += gradient.y, at[2] += gradient.z;
            count = note_joint(joints, count, j);
        }
    }
    return count;
}

int32_t sup_body_derivative(const sup_body_model *model, const sup_body_state *s, int32_t vertex, sup_vec3d direction,
                            double *row, int32_t *joints)
{
    const sup_composition *c = model->composition;
    int32_t v = model->vertex[vertex], modes = c->mode_count;
    memset(row, 0, (size_t)sup_body_parameters(c) * sizeof *row);
    sup_vec3d rest = rest_of(model, s, vertex), sum = sup_v3(0, 0, 0), back = sum;
    double scale = exp(s->log_scale);
    double *shape = row + 4;
    for (int32_t n = c->influence_first[v]; n < c->influence_first[v + 1]; n++) {
        int32_t j = c->influence_joint[n];
        double weight = c->influence_weight[n];
        const double *m = s->rotation + 9 * (size_t)j;
        sum = sup_v3_madd(sum, weight, transform_by_joint(s, j, rest));
        back = sup_v3_madd(back, weight,
                           sup_v3(m[0] * direction.x + m[3] * direction.y + m[6] * direction.z,
                                  m[1] * direction.x + m[4] * direction.y + m[7] * direction.z,
                                  m[2] * direction.x + m[5] * direction.y + m[8] * direction.z));
        for (int32_t k = 0; k < modes; k++)
            shape[k] +=
                scale * weight *
                sup_v3_dot(direction, load(s->mode_offset + 3 * ((size_t)k * (size_t)c->joint_count + (size_t)j)));
    }
    const double *mode = model->modes + 3 * (size_t)vertex * (size_t)modes;
    for (int32_t k = 0; k < modes; k++)
        shape[k] += scale * (back.x * mode[k] + back.y * mode[modes + k] + back.z * mode[2 * modes + k]);
    row[0] = direction.x, row[1] = direction.y, row[2] = direction.z;
    row[3] = scale * sup_v3_dot(direction, sum);
    return joint_columns(model, s, v, rest, direction, row, joints);
}

int32_t sup_body_joint_derivative(const sup_composition *c, const sup_body_state *s, int32_t joint, sup_vec3d direction,
                                  double *row, int32_t *joints)
{
    int32_t base = 4 + c->mode_count, count = 0;
    double scale = exp(s->log_scale);
    sup_vec3d at = load(s->posed_origin + 3 * (size_t)joint);
    memset(row, 0, (size_t)sup_body_parameters(c) * sizeof *row);
    row[0] = direction.x, row[1] = direction.y, row[2] = direction.z;
    row[3] = scale * sup_v3_dot(direction, at);
    for (int32_t k = 0; k < c->mode_count; k++) {
        size_t of = 3 * ((size_t)k * (size_t)c->joint_count + (size_t)joint);
        sup_vec3d moved = rotate(s->rotation + 9 * (size_t)joint, load(c->joint_modes + of));
        row[4 + k] = scale * sup_v3_dot(direction, sup_v3_add(load(s->mode_offset + of), moved));
    }
    for (int32_t j = c->parents[joint]; j >= 0; j = c->parents[j]) {
        sup_vec3d arm = sup_v3_sub(at, load(s->posed_origin + 3 * (size_t)j));
        store(row + base + 3 * j, sup_v3_scale(sup_v3_cross(arm, direction), scale));
        count = note_joint(joints, count, j);
    }
    return count;
}

static sup_quatd rotation_from_vector(const double *w)
{
    sup_vec3d axis = load(w);
    return sup_quatd_from_axis_angle(axis, sup_v3_length(axis));
}

void sup_body_step(const sup_composition *c, sup_body_state *s, const double *step)
{
    s->translation = sup_v3_add(s->translation, load(step));
    s->log_scale += step[3];
    for (int32_t k = 0; k < c->mode_count; k++)
        s->coefficients[k] += step[4 + k];
    for (int32_t j = 0; j < c->joint_count; j++) {
        sup_quatd world = rotation_from_vector(step + 4 + c->mode_count + 3 * j);
        sup_quatd above = c->parents[j] < 0 ? (sup_quatd){0, 0, 0, 1} : s->global[c->parents[j]];
        sup_quatd local = sup_quatd_multiply(sup_quatd_conjugate(above), sup_quatd_multiply(world, above));
        s->local[j] = sup_quatd_normalise(sup_quatd_multiply(local, s->local[j]));
    }
    sup_body_state_update(c, s);
}

/* body.c - fits a template to a person: the sequence of the steps.
 *
 * Based on: [komaritzan2022] section 4.2.4. */
#include "anatomy/body.h"

#include "anatomy/bone_groups.h"
#include "anatomy/details.h"
#include "anatomy/fit_bone.h"
#include "anatomy/fit_muscle.h"
#include "anatomy/scale.h"
#include "anatomy/settle.h"
#include "anatomy/array_store.h"

static const double shortest = 0.5, tallest = 2.6;        /* metres */
static const double reported_breadth = 0.949;             /* of rib cage and pelvis: narrower is a warning */
static const double max_offset = 0.005, thinnest = 0.004; /* metres: of the skeleton surface, and of a line */
enum { BISECTIONS = 40, OFFSETS = 1 };

static bool copy_texts(sup_arena *arena, char *const *texts, int32_t count, char ***copies)
{
    *copies = sup_arena_alloc(arena, (size_t)count + 1, sizeof **copies);
    for (int32_t i = 0; i < count && *copies != NULL; i++)
        if (((*copies)[i] = sup_arena_string(arena, texts[i])) == NULL) return false;
    return *copies != NULL;
}

/* Replaces *array by a copy; returns false when out of memory. NULL stays NULL. */
#define COPY(array, count) \
    ((array) == NULL ||    \
     ((array) = sup_arena_copy(arena, (array), (size_t)(count) + ((count) == 0), sizeof *(array))) != NULL)

static bool copy_layers(sup_arena *arena, sup_anatomy *a)
{
    int32_t n = a->vertex_count, joints = a->joint_count;
    int32_t influences = a->influence_first != NULL ? a->influence_first[n] : 0;
    return COPY(a->triangles, 3 * a->triangle_count) && COPY(a->skin, 3 * n) && COPY(a->muscle, 3 * n) &&
           COPY(a->bone, 3 * n) && COPY(a->excluded, n) && COPY(a->thickness, n) && COPY(a->group, n) &&
           COPY(a->region, n) && COPY(a->crotch, n) && copy_texts(arena, a->joint_names, joints, &a->joint_names) &&
           COPY(a->parents, joints) && COPY(a->joints, 3 * joints) && COPY(a->influence_first, n + 1) &&
           COPY(a->influence_joint, influences) && COPY(a->influence_weight, influences) && COPY(a->bone_joint, n);
}

static bool copy_details(sup_arena *arena, sup_anatomy *a)
{
    return copy_texts(arena, a->organ_names, a->organ_count, &a->organ_names) &&
           COPY(a->organ_is_muscle, a->organ_count) && COPY(a->organ_joint, a->organ_count) &&
           COPY(a->organ_vertex, a->organ_count + 1) && COPY(a->organ_triangle, a->organ_count + 1) &&
           COPY(a->detail, 3 * a->detail_vertex_count) && COPY(a->detail_triangles, 3 * a->detail_triangle_count);
}

static void drop_details(sup_anatomy *a)
{
    a->organ_count = a->detail_vertex_count = a->detail_triangle_count = 0;
    a->organ_names = NULL;
    a->organ_is_muscle = NULL;
    a->organ_joint = a->organ_vertex = a->organ_triangle = a->detail_triangles = NULL;
    a->detail = NULL;
}

sup_result sup_body_create(const sup_context *context, const sup_anatomy *anatomy, const char *name, bool no_details,
                           sup_body **body, sup_error *error)
{
    struct sup_anatomy_storage *storage = sup_anatomy_storage_create(context);
    if (storage == NULL) return sup_fail_memory(error, "a body");
    sup_body *made = sup_arena_alloc(&storage->arena, 1, sizeof *made);
    bool good = made != NULL;
    if (good) {
        made->storage = storage;
        made->layers = *anatomy;
        made->layers.storage = NULL;
        made->name = sup_arena_string(&storage->arena, name != NULL ? name : "body");
        made->cavity = sup_arena_alloc(&storage->arena, (size_t)anatomy->vertex_count + 1, sizeof(double));
        if (no_details || anatomy->organ_count == 0) drop_details(&made->layers);
        good = made->name != NULL && made->cavity != NULL && copy_layers(&storage->arena, &made->layers) &&
               (made->layers.organ_count == 0 || copy_details(&storage->arena, &made->layers));
    }
    if (!good) {
        sup_anatomy_storage_destroy(storage);
        return sup_fail_memory(error, "a body");
    }
    *body = made;
    return SUP_OK;
}

void sup_body_destroy(sup_body *body)
{
    if (body != NULL) sup_anatomy_storage_destroy(body->storage);
}

typedef struct mixture {
    sup_body *body;
    sup_mass_frame frame;
    double *smallest, *largest, *fraction; /* [vertex_count] */
} mixture;

/* Muscles at parameter t between the smallest (0) and the largest (1), and their masses. */
static void mix(mixture *m, double t)
{
    sup_anatomy *a = &m->body->layers;
    for (int32_t v = 0; v < a->vertex_count; v++)
        m->fraction[v] = m->smallest[v] + t * (m->largest[v] - m->smallest[v]);
    sup_muscle_positions(a, a->skin, a->bone, m->fraction, a->muscle);
    sup_masses_measure(a, a->skin, a->muscle, a->bone, &m->frame, &m->body->masses);
}

/* Decreases with the size of the muscles; zero at the minimum of E_comp (eq. 4.14), or where the only target mass is
 * reached. */
static double excess(const sup_body_masses *masses)
{
    double fat = masses->fat - masses->fat_target, muscle = masses->muscle - masses->muscle_target;
    if (masses->muscle_target == 0.0) return fat;
    if (masses->fat_target == 0.0) return -muscle;
    return fat - sup_masses_trade() * muscle;
}

static void match_masses(mixture *m)
{
    sup_body_masses *masses = &m->body->masses;
    double low = 0.0, high = 1.0;
    mix(m, 0.0);
    masses->fat_max = masses->fat;
    masses->muscle_min = masses->muscle;
    double at_smallest = excess(masses);
    mix(m, 1.0);
    masses->fat_min = masses->fat;
    masses->muscle_max = masses->muscle;
    if (masses->fat_target == 0.0 && masses->muscle_target == 0.0) return;
    masses->clamped = at_smallest <= 0.0 || excess(masses) >= 0.0;
    if (excess(masses) >= 0.0) return; /* even the largest muscles leave too much fat */
    for (int i = 0; i < BISECTIONS && at_smallest > 0.0; i++) {
        double middle = 0.5 * (low + high);
        mix(m, middle);
        if (excess(masses) > 0.0)
            low = middle;
        else
            high = middle;
    }
    mix(m, at_smallest > 0.0 ? 0.5 * (low + high) : 0.0);
}

/* The average muscles, and the masses with these. */
static sup_result average_muscles(const sup_context *context, const double *const scaled[3], double hidden,
                                  sup_body *body, double *average, double *scratch, sup_mass_frame *frame,
                                  sup_error *error)
{
    sup_anatomy *a = &body->layers;
    int32_t stages = 0;
    sup_result result = sup_muscle_fit(context, a, scaled, a->skin, a->bone, average, &stages, error);
    if (result != SUP_OK) return result;
    sup_cavity_depth(a, scaled[1], scaled[2], body->scale, body->cavity);
    double template_cavity = sup_cavity_volume(a, scaled[1], scaled[2], body->cavity, scratch);
    sup_muscle_positions(a, a->skin, a->bone, average, a->muscle);
    sup_mass_frame_set(a, a->skin, a->muscle, a->bone, body->scale, template_cavity, body->height, hidden, scratch,
                       frame);
    sup_masses_measure(a, a->skin, a->muscle, a->bone, frame, &body->masses);
    return SUP_OK;
}

static void measure_alignment(sup_body *body, double *scratch)
{
    sup_anatomy *a = &body->layers;
    size_t n = (size_t)a->vertex_count;
    sup_surface_normals(a->vertex_count, a->triangle_count, a->triangles, a->skin, scratch);
    sup_surface_normals(a->vertex_count, a->triangle_count, a->triangles, a->bone, scratch + 3 * n);
    body->alignment = sup_layer_alignment(a, a->skin, scratch, a->bone, scratch + 3 * n);
}

/* The skeleton surface encloses more than the bones, by a distance that is known to some millimetres: it moves along
 * the lines by what the targets of both masses need, then the surfaces are repaired. */
static sup_result offset_bone(const sup_context *context, sup_body *body, sup_error *error)
{
    sup_anatomy *a = &body->layers;
    double area = sup_surface_area(a->triangle_count, a->triangles, a->bone, a->excluded);
    double offset = area > 0.0 ? sup_masses_deficit(&body->masses, body->height) / area : 0.0;
    offset = body->scale * fmax(-max_offset, fmin(max_offset, offset));
    for (int32_t v = 0; v < a->vertex_count; v++) {
        sup_vec3d line = sup_v3_sub(sup_point(a->skin, v), sup_point(a->bone, v));
        double length = sup_v3_length(line), move = fmax(offset, thinnest - length);
        if (a->excluded[v] || !(length > thinnest)) continue;
        sup_point_set(a->bone, v, sup_v3_madd(sup_point(a->bone, v), -move / length, line));
    }
    sup_repair_report repaired = {0};
    sup_result result = sup_repair_bone(context, a, a->skin, a->bone, &repaired, error);
    body->moved += repaired.moved;
    return result;
}

sup_result sup_body_fit_muscles(const sup_context *context, const double *const scaled[3], double hidden,
                                sup_body *body, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    sup_anatomy *a = &body->layers;
    size_t n = (size_t)a->vertex_count;
    double *average = sup_arena_alloc(&arena, n, sizeof(double)),
           *scratch = sup_arena_alloc(&arena, 6 * n, sizeof(double));
    mixture m = {.body = body, .frame = {.cavity = body->cavity}};
    m.smallest = sup_arena_alloc(&arena, n, sizeof(double));
    m.largest = sup_arena_alloc(&arena, n, sizeof(double));
    m.fraction = sup_arena_alloc(&arena, n, sizeof(double));
    sup_repair_report repaired = {0};
    sup_result result = SUP_OK;
    if (average == NULL || scratch == NULL || m.smallest == NULL || m.largest == NULL || m.fraction == NULL)
        result = sup_fail_memory(error, "a person's muscles");
    for (int pass = 0; pass < OFFSETS + 1 && result == SUP_OK; pass++) {
        bool both = body->masses.fat_target != 0.0 && body->masses.muscle_target != 0.0;
        if (pass > 0 && both) result = offset_bone(context, body, error);
        if (result == SUP_OK && (pass == 0 || both))
            result = average_muscles(context, scaled, hidden, body, average, scratch, &m.frame, error);
    }
    if (result == SUP_OK)
        result = sup_muscle_extremes(context, a, a->skin, a->bone, average, body->scale, m.smallest, m.largest, error);
    if (result == SUP_OK) {
        match_masses(&m);
        if (body->masses.fat_target == 0.0 && body->masses.muscle_target == 0.0) {
            memcpy(m.fraction, average, n * sizeof(double));
            sup_muscle_positions(a, a->skin, a->bone, average, a->muscle);
        }
        result = sup_repair_layers(context, a, a->skin, a->bone, m.fraction, a->muscle, &repaired, error);
    }
    if (result == SUP_OK) {
        sup_masses_measure(a, a->skin, a->muscle, a->bone, &m.frame, &body->masses);
        measure_alignment(body, scratch);
        body->crossings = repaired.crossings;
        body->inverted = repaired.inverted;
        body->moved += repaired.moved;
        body->closed = repaired.closed;
    }
    sup_arena_destroy(&arena);
    return result;
}

static sup_result refuse(sup_error *error, const char *id, const char *message)
{
    return sup_fail(error, SUP_ERROR_DATA, id, "", "%s", message);
}

static sup_result check_skin(const sup_anatomy *a, const double *skin, sup_error *error)
{
    double volume = 0.0;
    for (size_t i = 0; i < 3 * (size_t)a->vertex_count; i++)
        if (!isfinite(skin[i]))
            return refuse(error, "anatomy.fit.finite",
                          "The skin has a vertex whose position is not a number: repair the scan.");
    for (int32_t t = 0; t < a->triangle_count; t++) {
        const int32_t *c = a->triangles + 3 * (size_t)t;
        volume += sup_v3_dot(sup_point(skin, c[0]), sup_v3_cross(sup_point(skin, c[1]), sup_point(skin, c[2]))) / 6.0;
    }
    double height = sup_shape_height(a->vertex_count, skin);
    if (!(height >= shortest && height <= tallest))
        return sup_fail(
            error, SUP_ERROR_DATA, "anatomy.fit.height", "",
            "The skin is %g m tall; expected a person of %g to %g m, in metres with Y up. Scale or rotate the skin.",
            height, shortest, tallest);
    if (!(volume > 0.0)) return refuse(error, "anatomy.fit.inside_out", "The skin is inside out: flip its triangles.");
    return SUP_OK;
}

/* The person's joints: matched by name if given, else estimated from the skin. */
static sup_result find_joints(const sup_context *context, const sup_anatomy *anatomy, const sup_body_fit_def *def,
                              double *joints, sup_error *error)
{
    sup_shape template_skin = {anatomy->vertex_count, anatomy->triangle_count, anatomy->skin, anatomy->triangles};
    sup_result result =
        sup_points_follow(context, template_skin, def->skin, anatomy->joint_count, anatomy->joints, joints, error);
    for (int32_t j = 0; result == SUP_OK && def->joints != NULL && j < anatomy->joint_count; j++)
        for (int32_t k = 0; k < def->joints->count; k++)
            if (sup_text_equal(anatomy->joint_names[j], def->joints->names[k]) &&
                sup_v3_finite(sup_point(def->joints->positions, k)))
                sup_point_set(joints, j, sup_point(def->joints->positions, k));
    return result;
}

static bool report(const sup_body_fit_def *def, float fraction, const char *stage)
{
    return def->progress == NULL || def->progress(def->progress_user, fraction, stage);
}

static sup_result cancelled(sup_error *error)
{
    return sup_fail(error, SUP_ERROR_CANCELLED, "anatomy.fit.cancelled", "", "The fit was cancelled.");
}

/* Eq. 4.7 places the groups of bones; then the skeleton surface is fitted to these. */
static sup_result fit_bones(const sup_context *context, double *const scaled[3], sup_body *body,
                            sup_bone_groups *groups, sup_error *error)
{
    sup_arena *arena = &body->storage->arena;
    sup_anatomy *a = &body->layers;
    size_t n = (size_t)a->vertex_count;
    double *around = sup_arena_alloc(arena, 3 * n, sizeof(double));
    sup_bone_fit_report report = {0};
    sup_bone_fit_def def = {.scaled_skin = scaled[0], .scaled_bone = scaled[2], .skin = a->skin};
    if (around == NULL) return sup_fail_memory(error, "a person's bones");
    memcpy(a->bone, scaled[2], 3 * n * sizeof(double));
    sup_result result = sup_bone_fit(context, a, &def, a->bone, &report, error);
    if (result == SUP_OK)
        result = sup_bone_groups_place(context, groups, body->scale, scaled[2], a->bone, a->skin, error);
    bool any = false;
    for (int32_t g = 0; g < SUP_BONES_GROUPS; g++)
        any = any || groups->has_map[g];
    if (result != SUP_OK || !any) return result;
    if (groups->narrowest < reported_breadth)
        sup_log(context, SUP_LOG_WARNING,
                "%s: the rib cage or the pelvis is %.0f %% of the template's breadth at this height: "
                "the skin has no room for more.",
                body->name, 100.0 * groups->narrowest);
    result = sup_bone_groups_surface(context, groups, scaled[2], a->skin, around, error);
    def.tether = around;
    if (result == SUP_OK) result = sup_bone_fit(context, a, &def, a->bone, &report, error);
    return result;
}

static sup_result fit_layers(const sup_context *context, const sup_anatomy *anatomy, const sup_body_fit_def *def,
                             sup_body *body, sup_bone_groups *groups, sup_error *error)
{
    sup_arena *arena = &body->storage->arena;
    sup_anatomy *a = &body->layers;
    size_t n = (size_t)a->vertex_count;
    double *scaled[3];
    for (int k = 0; k < 3; k++)
        if ((scaled[k] = sup_arena_alloc(arena, 3 * n, sizeof(double))) == NULL)
            return sup_fail_memory(error, "the scaled template");
    if (!report(def, 0.0F, "scaling")) return cancelled(error);
    sup_result result = find_joints(context, anatomy, def, a->joints, error);
    if (result == SUP_OK)
        result = sup_anatomy_stretch(context, anatomy, body->height, a->joints, scaled[0], scaled[1], scaled[2],
                                     &body->scale, error);
    if (result != SUP_OK) return result;
    if (!report(def, 0.05F, "bones")) return cancelled(error);
    sup_repair_report repaired = {0};
    result = fit_bones(context, scaled, body, groups, error);
    if (result == SUP_OK) result = sup_repair_bone(context, a, a->skin, a->bone, &repaired, error);
    body->moved = repaired.moved;
    if (result != SUP_OK) return result;
    if (!report(def, 0.5F, "muscles")) return cancelled(error);
    const double *const surfaces[3] = {scaled[0], scaled[1], scaled[2]};
    double hidden = 0.0;
    result = sup_hidden_muscle(context, anatomy, &hidden, error);
    hidden *= body->scale * body->scale * body->scale;
    return result == SUP_OK ? sup_body_fit_muscles(context, surfaces, hidden, body, error) : result;
}

static sup_result fit_details(const sup_context *context, const sup_anatomy *anatomy, const sup_body_fit_def *def,
                              const sup_bone_groups *groups, sup_body *body, sup_error *error)
{
    sup_anatomy_warp *own = NULL;
    sup_result result = SUP_OK;
    if (body->layers.organ_count == 0) return SUP_OK;
    if (!report(def, 0.8F, "details")) return cancelled(error);
    if (def->warp == NULL) result = sup_anatomy_warp_create(context, anatomy, 0, 0, &own, error);
    if (result == SUP_OK) result = sup_details_warp(own != NULL ? own : def->warp, anatomy, &body->layers, error);
    if (result == SUP_OK) result = sup_details_place(context, groups, &body->layers, error);
    sup_anatomy_warp_destroy(own);
    return result;
}

sup_result sup_body_fit(const sup_context *context, const sup_anatomy *anatomy, const sup_body_fit_def *def,
                        sup_body **body, sup_error *error)
{
    if (anatomy == NULL || def == NULL || def->skin == NULL || body == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "anatomy.fit.argument", "",
                        "sup_body_fit needs a template, a skin and a pointer to the body.");
    if (!isfinite(def->fat) || !isfinite(def->muscle))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "anatomy.fit.masses", "",
                        "The target masses must be finite: check fat and muscle.");
    sup_result result = check_skin(anatomy, def->skin, error);
    sup_body *made = NULL;
    if (result == SUP_OK) result = sup_body_create(context, anatomy, def->name, def->no_details, &made, error);
    if (result != SUP_OK) return result;
    memcpy(made->layers.skin, def->skin, 3 * (size_t)anatomy->vertex_count * sizeof(double));
    made->height = sup_shape_height(anatomy->vertex_count, def->skin);
    made->masses.fat_target = def->fat;
    made->masses.muscle_target = def->muscle;
    if (def->sex != SUP_SEX_UNKNOWN) made->layers.sex = def->sex;
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    sup_bone_groups groups;
    result = sup_bone_groups_find(context, anatomy, &arena, &groups, error);
    if (result == SUP_OK) result = fit_layers(context, anatomy, def, made, &groups, error);
    if (result == SUP_OK) result = fit_details(context, anatomy, def, &groups, made, error);
    if (result == SUP_OK) report(def, 1.0F, "done");
    sup_arena_destroy(&arena);
    if (result != SUP_OK)
        sup_body_destroy(made);
    else
        *body = made;
    return result;
}

/* Positions of the composition's joints in the template: matched by name, else moved there with the skin. */
static sup_result template_joints(const sup_context *context, const sup_anatomy *anatomy, const sup_composition *c,
                                  double *joints, sup_error *error)
{
    sup_shape mean = {c->vertex_count, c->triangle_count, c->mean, c->triangles};
    sup_result result = sup_points_follow(context, mean, anatomy->skin, c->joint_count, c->joint_mean, joints, error);
    for (int32_t j = 0; j < c->joint_count && result == SUP_OK; j++)
        for (int32_t k = 0; k < anatomy->joint_count; k++)
            if (sup_text_equal(c->joint_names[j], anatomy->joint_names[k]))
                sup_point_set(joints, j, sup_point(anatomy->joints, k));
    return result;
}

sup_result sup_skin_like_template(const sup_context *context, const sup_anatomy *anatomy,
                                  const sup_composition *composition, const double *skin, const double *joints,
                                  double *posed, double *posed_joints, sup_error *error)
{
    if (anatomy == NULL || composition == NULL || skin == NULL || posed == NULL || posed_joints == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "anatomy.fit.argument", "",
                        "sup_skin_like_template needs a template, a composition, a skin and arrays for the results.");
    if (composition->vertex_count != anatomy->vertex_count || composition->triangle_count != anatomy->triangle_count ||
        memcmp(composition->triangles, anatomy->triangles, 3 * (size_t)anatomy->triangle_count * sizeof(int32_t)) != 0)
        return refuse(
            error, "anatomy.fit.triangulation",
            "Template and composition have different triangulations: create the template with --surface COMPOSITION.");
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    size_t count = 3 * (size_t)composition->joint_count;
    double *own = sup_arena_alloc(&arena, count + 1, sizeof(double));
    double *like = sup_arena_alloc(&arena, count + 1, sizeof(double));
    sup_shape mean = {composition->vertex_count, composition->triangle_count, composition->mean,
                      composition->triangles};
    sup_result result = own != NULL && like != NULL ? SUP_OK : sup_fail_memory(error, "a pose");
    if (result == SUP_OK) result = template_joints(context, anatomy, composition, like, error);
    if (result == SUP_OK && joints == NULL)
        result = sup_points_follow(context, mean, skin, composition->joint_count, composition->joint_mean, own, error);
    if (result == SUP_OK)
        result =
            sup_pose_like(context, composition, skin, joints != NULL ? joints : own, like, posed, posed_joints, error);
    sup_arena_destroy(&arena);
    return result;
}

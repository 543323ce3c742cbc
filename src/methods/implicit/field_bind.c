/* field_bind.c - builds the fields of a rig's bones stage by stage, and measures how well they fit. */
#include "methods/implicit/field_bind.h"

#include "bind/model.h"
#include "methods/implicit/field_build.h"

static const double DEFAULT_GRID = 8.0, DEFAULT_MEMORY = 40e6;
enum { BATCH_GRAIN = 8 };

/* --- Report --- */

typedef struct measuring {
    const sup_fields_state *state;
    float *value, *gradient; /* [batch_count*SUP_FIELD_LANES] largest value, and the length of its gradient */
    int32_t batch_count;
} measuring;

static void measure_batches(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const measuring *m = work;
    const sup_fields *fields = &m->state->bound->fields;
    const sup_region_skin *skin = &m->state->def->skin;
    sup_field_evaluate_fn *evaluate = sup_field_evaluator();
    SUP_UNUSED(worker);
    for (int32_t b = begin; b < end; b++) {
        sup_field_points points;
        sup_field_samples samples;
        float *value = m->value + (size_t)b * SUP_FIELD_LANES, *gradient = m->gradient + (size_t)b * SUP_FIELD_LANES;
        for (int32_t lane = 0; lane < SUP_FIELD_LANES; lane++) {
            int32_t v = b * SUP_FIELD_LANES + lane;
            const float *p = skin->positions + 3 * (size_t)(v < skin->vertex_count ? v : skin->vertex_count - 1);
            points.x[lane] = p[0];
            points.y[lane] = p[1];
            points.z[lane] = p[2];
        }
        for (int32_t f = 0; f < m->state->bound->regions.region_count; f++) {
            evaluate(fields, f, fields->fields[f].to_grid, &points, &samples);
            for (int32_t lane = 0; lane < SUP_FIELD_LANES; lane++) {
                if (!(samples.value[lane] > value[lane])) continue;
                value[lane] = samples.value[lane];
                gradient[lane] = sqrtf(samples.x[lane] * samples.x[lane] + samples.y[lane] * samples.y[lane] +
                                       samples.z[lane] * samples.z[lane]);
            }
        }
    }
}

static double mean_edge(const sup_region_skin *skin)
{
    double sum = 0.0;
    for (int64_t i = 0; i < 3 * (int64_t)skin->triangle_count; i++) {
        int32_t a = skin->triangles[i], b = skin->triangles[i % 3 == 2 ? i - 2 : i + 1];
        sum +=
            sup_v3_distance(sup_v3_load(skin->positions + 3 * (size_t)a), sup_v3_load(skin->positions + 3 * (size_t)b));
    }
    return skin->triangle_count > 0 ? sum / (3.0 * skin->triangle_count) : 0.0;
}

static sup_result measure(sup_fields_state *s, sup_error *error)
{
    const sup_region_skin *skin = &s->def->skin;
    sup_fields_report *report = &s->bound->report;
    measuring m = {.state = s, .batch_count = (skin->vertex_count + SUP_FIELD_LANES - 1) / SUP_FIELD_LANES};
    size_t lanes = (size_t)m.batch_count * SUP_FIELD_LANES;
    m.value = sup_arena_alloc(&s->scratch, lanes, sizeof(float));
    m.gradient = sup_arena_alloc(&s->scratch, lanes, sizeof(float));
    if (m.value == NULL || m.gradient == NULL) return sup_fail_memory(error, "the fields");
    sup_parallel(s->input->context, m.batch_count, BATCH_GRAIN, measure_batches, &m);
    report->edge = mean_edge(skin);
    report->first_outside = -1;
    double sum = 0.0;
    int32_t measured = 0;
    for (int32_t v = 0; v < skin->vertex_count; v++) {
        if (!(m.value[v] > 0.0f) && report->outside++ == 0) report->first_outside = v;
        report->hidden += s->hidden[v];
        if (!(m.value[v] > 0.0f) || s->hidden[v]) continue;
        /* Where the slope vanishes, at the ends of the compact map, it does not measure distance. */
        double slope = fmax((double)m.gradient[v], 0.1 / s->shapes[s->bound->regions.vertex_region[v]].radius);
        double off = fabs((double)m.value[v] - 0.5) / slope / fmax(report->edge, 1e-30);
        sum += off * off;
        measured++;
        report->largest = fmax(report->largest, off);
    }
    report->rms = measured > 0 ? sqrt(sum / measured) : 0.0;
    for (int32_t p = 0; p < s->bound->regions.region_count; p++) {
        report->capsules += !s->shapes[p].fitted;
        report->sample_count += s->bound->fits[p].count;
    }
    return SUP_OK;
}

static const char *joint_name(const sup_fields_state *s, int32_t joint)
{
    const sup_rig *rig = s->input->rig;
    return rig->character->nodes[rig->joint_node[joint]].name;
}

static void log_report(const sup_fields_state *s)
{
    const sup_context *context = s->input->context;
    const sup_fields_report *report = &s->bound->report;
    const sup_skin_regions *regions = &s->bound->regions;
    sup_log(context, SUP_LOG_INFO,
            "Fields: %d bones, %d samples, %.3g MB; distance of the skin: %.2g edges RMS, %.2g maximum.",
            regions->region_count, report->sample_count, 4e-6 * (double)s->bound->fields.node_count, report->rms,
            report->largest);
    for (int32_t p = 0; p < regions->region_count; p++)
        if (!s->shapes[p].fitted)
            sup_log(context, SUP_LOG_WARNING, "Joint '%s' has too little skin to fit a field to it: using a capsule.",
                    joint_name(s, regions->region_joint[p]));
    if (report->outside > 0)
        sup_log(context, SUP_LOG_WARNING,
                "%d of %d vertices are outside of all fields and follow their bone rigidly (the first one near "
                "joint '%s').",
                report->outside, s->def->skin.vertex_count,
                joint_name(s, regions->region_joint[regions->vertex_region[report->first_outside]]));
}

/* --- Fields --- */

static bool good_ellipsoid(const sup_rig *rig, const sup_field_ellipsoid *e)
{
    bool good = e->joint >= 0 && e->joint < rig->joint_count && sup_v3_finite(e->centre);
    for (int k = 0; k < 3; k++)
        good = good && e->radius[k] > 1e-6 * (double)rig->size && isfinite(e->radius[k]) &&
               fabs(sup_v3_length(e->axis[k]) - 1.0) < 1e-3 &&
               fabs(sup_v3_dot(e->axis[k], e->axis[(k + 1) % 3])) < 1e-3;
    return good;
}

static sup_result make_shapes(sup_fields_state *s, sup_error *error)
{
    const sup_skin_regions *regions = &s->bound->regions;
    const sup_rig *rig = s->input->rig;
    s->field_count = regions->region_count + s->def->extra_count;
    s->shapes = sup_arena_alloc(&s->scratch, (size_t)s->field_count, sizeof(sup_field_shape));
    s->bound->field_parent = sup_arena_alloc(s->arena, (size_t)s->field_count, sizeof(int32_t));
    if (s->shapes == NULL || s->bound->field_parent == NULL) return sup_fail_memory(error, "the fields");
    for (int32_t p = 0; p < regions->region_count; p++) {
        s->shapes[p].joint = regions->region_joint[p];
        s->bound->field_parent[p] = regions->region_parent[p];
    }
    for (int32_t i = 0; i < s->def->extra_count; i++) {
        const sup_field_ellipsoid *extra = &s->def->extras[i];
        if (!good_ellipsoid(rig, extra))
            return sup_fail(
                error, SUP_ERROR_ARGUMENT, "implicit.ellipsoid", rig->character->name,
                "Ellipsoid %d is invalid: it needs a joint of the rig, orthonormal axes and positive radii.", i);
        int32_t field = regions->region_count + i, parent = -1;
        for (int32_t joint = extra->joint; joint >= 0 && parent < 0; joint = rig->joint_parent[joint])
            for (int32_t p = 0; p < regions->region_count; p++)
                if (regions->region_joint[p] == joint) parent = p;
        s->shapes[field].joint = extra->joint;
        s->shapes[field].ellipsoid = extra;
        s->bound->field_parent[field] = parent;
    }
    return SUP_OK;
}

static sup_result build_stages(sup_fields_state *s, sup_model_builder *builder, sup_error *error)
{
    sup_result result =
        sup_skin_regions_create(s->input->context, s->input->rig, &s->def->skin, s->arena, &s->bound->regions, error);
    if (result == SUP_OK) result = make_shapes(s, error);
    if (result == SUP_OK) result = sup_fields_skin(s, error);
    if (result == SUP_OK) result = sup_fields_caps(s, error);
    if (result == SUP_OK) result = sup_fields_fit(s, error);
    if (result == SUP_OK) result = sup_fields_grid(s, builder, error);
    if (result == SUP_OK) result = measure(s, error);
    return result;
}

sup_result sup_fields_build(const sup_bind_input *input, const sup_fields_def *def, sup_model_builder *builder,
                            sup_arena *arena, sup_fields_bound *bound, sup_error *error)
{
    memset(bound, 0, sizeof *bound);
    sup_fields_def filled = *def;
    filled.grid = def->grid > 0.0 ? def->grid : DEFAULT_GRID;
    filled.memory = def->memory > 0.0 ? def->memory : DEFAULT_MEMORY;
    filled.samples = def->samples > 0 && def->samples < SUP_FIELD_SAMPLES ? def->samples : SUP_FIELD_SAMPLES;
    if (def->skin.triangle_count < 1)
        return sup_fail(error, SUP_ERROR_DATA, "implicit.skin", input->rig->character->name,
                        "The character has no skin triangles to fit fields to.");
    sup_fields_state s = {.input = input, .def = &filled, .arena = arena, .bound = bound};
    s.scratch = sup_arena_create(&input->context->allocator);
    sup_result result = build_stages(&s, builder, error);
    if (result == SUP_OK) log_report(&s);
    if (s.has_bvh) sup_bvh_free(&s.bvh);
    if (s.has_adjacency) sup_adjacency_destroy(&s.adjacency);
    sup_arena_destroy(&s.scratch);
    return result;
}

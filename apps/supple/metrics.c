/* metrics.c - quality metrics of an animation as text and JSON. */
#include "metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

sup_mat34 *app_metrics_nodes(const app_job *job, int32_t first, int32_t count)
{
    int32_t node_count = job->character->node_count;
    sup_mat34 *nodes = calloc((size_t)count * (size_t)node_count + 1, sizeof *nodes);
    sup_pose *pose = NULL;
    sup_error error = {0};
    bool done = nodes != NULL && sup_pose_create(&job->session.context, job->character, &pose, &error) == SUP_OK;
    for (int32_t f = 0; done && f < count; f++) {
        done = app_job_pose(job, first + f, pose) == SUP_OK;
        if (node_count > 0)
            memcpy(nodes + (size_t)f * (size_t)node_count, pose->world, (size_t)node_count * sizeof *nodes);
    }
    sup_pose_destroy(pose);
    if (done) return nodes;
    app_say("Out of memory for the poses of the animation.");
    free(nodes);
    return NULL;
}

int app_metrics_measure(app_job *job, const sup_rig *rig, const float *positions, const sup_mat34 *nodes,
                        int32_t frame_count, app_progress *progress, sup_motion_measure **measure)
{
    sup_motion_def def = {.frame_count = frame_count,
                          .positions = positions,
                          .nodes = nodes,
                          .progress = app_progress_report,
                          .progress_user = progress};
    sup_error error = {0};
    sup_result result = sup_measure_motion(&job->session.context, rig, &def, measure, &error);
    if (result == SUP_OK) return APP_DONE;
    app_progress_end(progress);
    return app_fail(&error, APP_PHASE_BAKE, job->values->input);
}

float *app_metrics_linear(const app_job *job, const sup_rig *rig, int32_t first, int32_t count)
{
    const sup_context *context = &job->session.context;
    float *positions = calloc((size_t)count * (size_t)rig->vertex_count + 1, 3 * sizeof *positions);
    sup_error error = {0};
    sup_model *model = NULL;
    sup_instance *instance = NULL;
    sup_pose *pose = NULL;
    sup_result result = positions != NULL ? SUP_OK : SUP_ERROR_MEMORY;
    if (result == SUP_OK) result = sup_bind(context, sup_method_find("linear"), rig, NULL, &model, &error);
    if (result == SUP_OK) result = sup_pose_create(context, job->character, &pose, &error);
    if (result == SUP_OK) result = sup_instance_create(context, model, NULL, &instance, &error);
    for (int32_t f = 0; result == SUP_OK && f < count; f++) {
        sup_skin_out out = {.positions = positions + 3 * (size_t)f * (size_t)rig->vertex_count};
        result = app_job_pose(job, first + f, pose);
        if (result == SUP_OK) result = sup_instance_step(instance, pose, 0.0f, &out);
    }
    sup_instance_destroy(instance);
    sup_pose_destroy(pose);
    sup_model_destroy(model);
    if (result == SUP_OK) return positions;
    app_say("Linear blending for the acceleration failed%s%s.", error.message[0] != '\0' ? ": " : "", error.message);
    free(positions);
    return NULL;
}

app_joint_volume app_metrics_joint_volume(const sup_rig *rig, const sup_motion_measure *measure, int32_t first,
                                          int32_t last)
{
    app_joint_volume smallest = {.joint = -1, .ratio = (double)NAN};
    for (int32_t f = first; f <= last; f++)
        for (int32_t r = 0; r < 2 * rig->joint_count; r++) {
            double ratio = measure->region_volume_ratio[(size_t)f * (size_t)measure->region_count + (size_t)r];
            if (isfinite(ratio) && !(ratio >= smallest.ratio))
                smallest = (app_joint_volume){.joint = r / 2, .ratio = ratio};
        }
    return smallest;
}

static const char *joint_name(const sup_rig *rig, int32_t j)
{
    return rig->character->nodes[rig->joint_node[j]].name;
}

static void write_acceleration(app_json *json, const sup_acceleration *a, int32_t first)
{
    app_json_number(json, "acceleration_rms", a->rms < 0.0 ? (double)NAN : a->rms);
    app_json_number(json, "acceleration_excess", a->excess < 0.0 ? (double)NAN : a->excess);
    app_json_number(json, "acceleration_excess_frame", a->excess_frame < 0 ? (double)NAN : first + a->excess_frame);
}

static void write_summary(app_json *json, const sup_rig *rig, const sup_motion_measure *measure,
                          const sup_acceleration *acceleration, int32_t first)
{
    const sup_motion_summary *s = &measure->summary;
    app_joint_volume joint = app_metrics_joint_volume(rig, measure, 0, measure->frame_count - 1);
    app_json_object(json, "summary");
    app_json_number(json, "volume_ratio", s->volume_ratio);
    app_json_number(json, "volume_ratio_min", s->volume_ratio_min);
    app_json_number(json, "volume_ratio_max", s->volume_ratio_max);
    app_json_number(json, "volume_ratio_mean", s->volume_ratio_mean);
    app_json_number(json, "joint_volume_min", joint.ratio);
    app_json_text(json, "joint_volume_min_joint", joint.joint >= 0 ? joint_name(rig, joint.joint) : NULL);
    app_json_integer(json, "intersections", s->intersections);
    app_json_integer(json, "intersections_sum", s->intersections_sum);
    app_json_integer(json, "rest_intersections", s->rest_intersections);
    app_json_integer(json, "close_intersections", s->close_intersections);
    app_json_integer(json, "close_intersections_sum", s->close_intersections_sum);
    app_json_number(json, "penetration", s->penetration);
    app_json_number(json, "stretch_min", s->stretch_min);
    app_json_number(json, "stretch_max", s->stretch_max);
    app_json_number(json, "stretch_mean", s->stretch_mean);
    app_json_integer(json, "flips", s->flips);
    app_json_number(json, "area_max", s->area_max);
    app_json_number(json, "area_mean", s->area_mean);
    app_json_number(json, "angle_max", s->angle_max);
    app_json_number(json, "angle_mean", s->angle_mean);
    app_json_number(json, "roughness", s->roughness);
    app_json_number(json, "roughness_mean", s->roughness_mean);
    app_json_number(json, "displacement_max", s->displacement_max);
    app_json_number(json, "drift", s->drift < 0.0 ? (double)NAN : s->drift);
    app_json_number(json, "jitter", s->jitter < 0.0 ? (double)NAN : s->jitter);
    write_acceleration(json, acceleration, first);
    app_json_integer(json, "nonfinite", s->nonfinite);
    app_json_object_end(json);
}

/* Writes every `step`-th region from `first` on, on one line. */
static void write_regions(app_json *json, const char *key, const double *ratio, int32_t first, int32_t step,
                          int32_t count)
{
    double *values = calloc((size_t)count + 1, sizeof *values);
    for (int32_t i = 0; values != NULL && i < count; i++)
        values[i] = ratio[first + i * step];
    if (values != NULL) app_json_numbers(json, key, values, count);
    free(values);
}

static void write_frame(app_json *json, const sup_rig *rig, const sup_motion_measure *measure, int32_t f, int32_t first)
{
    const sup_frame_measure *m = &measure->frames[f];
    const double *ratio = measure->region_volume_ratio + (size_t)f * (size_t)measure->region_count;
    app_json_object(json, NULL);
    app_json_integer(json, "frame", first + f);
    app_json_number(json, "volume_ratio", m->volume_ratio);
    app_json_integer(json, "intersections", m->intersections);
    app_json_integer(json, "rest_intersections", m->rest_intersections);
    app_json_integer(json, "close_intersections", m->close_intersections);
    app_json_number(json, "penetration", m->penetration);
    app_json_number(json, "stretch_min", m->stretch_min);
    app_json_number(json, "stretch_max", m->stretch_max);
    app_json_number(json, "stretch_mean", m->stretch_mean);
    app_json_integer(json, "flips", m->flips);
    app_json_number(json, "area_max", m->area_max);
    app_json_number(json, "area_mean", m->area_mean);
    app_json_number(json, "angle_max", m->angle_max);
    app_json_number(json, "angle_mean", m->angle_mean);
    app_json_number(json, "roughness", m->roughness);
    app_json_number(json, "displacement_max", m->displacement_max);
    app_json_number(json, "drift", measure->drift[f] < 0.0 ? (double)NAN : measure->drift[f]);
    app_json_number(json, "jitter", measure->jitter[f] < 0.0 ? (double)NAN : measure->jitter[f]);
    app_json_integer(json, "nonfinite", m->nonfinite);
    write_regions(json, "bone_volume", ratio, 0, 2, rig->joint_count);
    write_regions(json, "bend_volume", ratio, 1, 2, rig->joint_count);
    write_regions(json, "primitive_volume", ratio, 2 * rig->joint_count, 1, rig->character->primitive_count);
    app_json_object_end(json);
}

app_range app_metrics_region_range(const sup_motion_measure *measure, int32_t region)
{
    app_range range = {INFINITY, -INFINITY};
    for (int32_t f = 0; f < measure->frame_count; f++) {
        double ratio = measure->region_volume_ratio[(size_t)f * (size_t)measure->region_count + (size_t)region];
        range.low = fmin(range.low, ratio);
        range.high = fmax(range.high, ratio);
    }
    return range;
}

static void write_range(app_json *json, const char *low, const char *high, app_range range)
{
    app_json_number(json, low, range.low);
    app_json_number(json, high, range.high);
}

void app_metrics_json(app_json *json, const sup_rig *rig, const sup_motion_measure *measure,
                      const sup_acceleration *acceleration, int32_t first)
{
    write_summary(json, rig, measure, acceleration, first);
    app_json_array(json, "joints");
    for (int32_t j = 0; j < rig->joint_count; j++) {
        app_json_object(json, NULL);
        app_json_text(json, "name", joint_name(rig, j));
        write_range(json, "bone_volume_min", "bone_volume_max", app_metrics_region_range(measure, 2 * j));
        write_range(json, "bend_volume_min", "bend_volume_max", app_metrics_region_range(measure, 2 * j + 1));
        app_json_object_end(json);
    }
    app_json_array_end(json);
    app_json_array(json, "primitives");
    for (int32_t p = 0; p < rig->character->primitive_count; p++) {
        app_json_object(json, NULL);
        app_json_text(json, "name", rig->character->primitives[p].name);
        write_range(json, "volume_min", "volume_max", app_metrics_region_range(measure, 2 * rig->joint_count + p));
        app_json_object_end(json);
    }
    app_json_array_end(json);
    app_json_array(json, "frames");
    for (int32_t f = 0; f < measure->frame_count; f++)
        write_frame(json, rig, measure, f, first);
    app_json_array_end(json);
}

void app_metrics_list(const sup_rig *rig, const sup_motion_measure *measure, const sup_acceleration *acceleration,
                      app_metric metrics[APP_METRIC_COUNT])
{
    const sup_motion_summary *s = &measure->summary;
    const app_metric made[APP_METRIC_COUNT] = {
        {"volume", "enclosed volume / rest volume, the value farthest from 1", false, s->volume_ratio},
        {"joint volume", "the same of the skin at a joint, the smallest value", false,
         app_metrics_joint_volume(rig, measure, 0, measure->frame_count - 1).ratio},
        {"crossing pairs", "intersecting triangle pairs that do not intersect at rest, worst frame", true,
         s->intersections},
        {"penetration", "maximum self-penetration depth / character size", false, s->penetration},
        {"largest stretch", "maximum of edge length / rest length", false, s->stretch_max},
        {"smallest stretch", "minimum of edge length / rest length", false, s->stretch_min},
        {"flips", "triangles flipped against their neighbours, worst frame", true, s->flips},
        {"roughness", "change of the Laplacian / mean edge length, worst frame", false, s->roughness},
        {"drift", "distance of the skin between equal skeleton poses / character size", false, s->drift},
        {"jitter", "displacement per frame while the skeleton does not move / character size", false, s->jitter},
        {"acceleration", "RMS acceleration of the vertices / character size, per frame squared", false,
         acceleration->rms},
        {"excess", "largest acceleration of a vertex in one frame beyond that of linear blending", false,
         acceleration->excess},
    };
    memcpy(metrics, made, sizeof made);
}

const char *app_metric_text(const app_metric *metric)
{
    char text[32];
    if (metric->value < 0.0 || !isfinite(metric->value)) return app_clean("-");
    if (metric->is_count || metric->value == 0.0) return app_grouped((long long)metric->value);
    snprintf(text, sizeof text, metric->value < 1e-3 ? "%.1e" : "%.4f", metric->value);
    return app_clean(text);
}

/* Prints the joints with the largest volume loss. */
static void print_bends(const sup_rig *rig, const sup_motion_measure *measure)
{
    enum { LISTED_COUNT = 5 };
    int32_t listed_joints[LISTED_COUNT], count = 0;
    for (; count < LISTED_COUNT; count++) {
        int32_t best = -1;
        for (int32_t j = 0; j < rig->joint_count; j++) {
            bool listed = false;
            for (int32_t i = 0; i < count; i++)
                listed = listed || listed_joints[i] == j;
            if (!listed && (best < 0 || app_metrics_region_range(measure, 2 * j + 1).low <
                                            app_metrics_region_range(measure, 2 * best + 1).low))
                best = j;
        }
        if (best < 0 || !(app_metrics_region_range(measure, 2 * best + 1).low < 0.995)) break;
        listed_joints[count] = best;
    }
    if (count == 0) return;
    printf("\n  smallest volume ratio at the joints:\n");
    for (int32_t i = 0; i < count; i++)
        printf("    %-24s %.4f\n", app_clean(joint_name(rig, listed_joints[i])),
               app_metrics_region_range(measure, 2 * listed_joints[i] + 1).low);
}

void app_metrics_print(const sup_rig *rig, const sup_motion_measure *measure, const sup_acceleration *acceleration,
                       int32_t first)
{
    app_metric metrics[APP_METRIC_COUNT];
    app_metrics_list(rig, measure, acceleration, metrics);
    for (int i = 0; i < APP_METRIC_COUNT; i++)
        printf("  %-18s %-12s %s\n", metrics[i].name, app_metric_text(&metrics[i]), metrics[i].help);
    printf("  %-18s %-12s vertices with NaN or infinite coordinates, all frames\n", "not finite",
           app_grouped((long long)measure->summary.nonfinite));
    printf("  %-18s %-12d frame with the worst metrics\n", "worst frame",
           (int)(first + app_metrics_worst_frame((const sup_motion_measure *const[]){measure}, 1)));
    print_bends(rig, measure);
}

int32_t app_metrics_worst_frame(const sup_motion_measure *const *measures, int32_t count)
{
    /* Lower bounds: smaller values are noise and must not select a frame. */
    double pairs = 1.0, volume = 0.005, stretch = 0.05, worst = -1.0;
    int32_t frame = 0;
    for (int32_t i = 0; i < count; i++) {
        const sup_motion_summary *s = &measures[i]->summary;
        pairs = fmax(pairs, s->intersections);
        volume = fmax(volume, fabs(s->volume_ratio - 1.0));
        stretch = fmax(stretch, s->stretch_max - 1.0);
    }
    for (int32_t i = 0; i < count; i++)
        for (int32_t f = 0; f < measures[i]->frame_count; f++) {
            const sup_frame_measure *m = &measures[i]->frames[f];
            double score =
                m->intersections / pairs + fabs(m->volume_ratio - 1.0) / volume + (m->stretch_max - 1.0) / stretch;
            if (score > worst + 1e-9) {
                worst = score;
                frame = f;
            }
        }
    return frame;
}

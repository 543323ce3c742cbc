/* comparison.c - several methods on one animation. */
#include "comparison.h"

#include "paint.h"

#include <stdlib.h>
#include <string.h>

/* Adds one item of --methods; apply_own reads its settings later. */
static int add_method(app_comparison *comparison, const char *text, size_t length)
{
    app_texts none = {0};
    char name[64];
    if (comparison->entry_count == APP_COMPARISON_LIMIT)
        return app_usage("--methods: At most %d methods can be compared.", APP_COMPARISON_LIMIT);
    app_entry *entry = &comparison->entries[comparison->entry_count];
    if (length >= sizeof entry->label) return app_usage("--methods %s: The item is too long.", text);
    memcpy(entry->label, text, length);
    entry->label[length] = '\0';
    snprintf(name, sizeof name, "%.*s", (int)strcspn(entry->label, ":"), entry->label);
    int status = app_choose_method(name, &none, &entry->method, entry->params);
    if (status != APP_DONE) return status;
    for (int32_t i = 0; i < comparison->entry_count; i++)
        if (strcmp(comparison->entries[i].label, entry->label) == 0)
            return app_usage("--methods: %s is listed twice.", entry->label);
    comparison->entry_count++;
    return APP_DONE;
}

static bool has_param(const sup_method *method, const char *name, size_t length)
{
    for (int32_t i = 0; i < method->param_count; i++)
        if (strlen(method->params[i].name) == length && strncmp(method->params[i].name, name, length) == 0) return true;
    return false;
}

/* Applies NAME=VALUE, the first `length` characters of `setting`, to one entry; `option` and `text` are for
 * messages. */
static int set_param(app_entry *entry, const char *setting, size_t length, const char *option, const char *text)
{
    char name[96];
    sup_error error = {0};
    if (length >= sizeof name) return app_usage("%s %s: The setting is too long.", option, text);
    memcpy(name, setting, length);
    name[length] = '\0';
    char *equals = strchr(name, '=');
    if (equals == NULL) return app_usage("%s %s: Expected NAME=VALUE.", option, text);
    *equals = '\0';
    if (sup_method_set(entry->method, entry->params, name, equals + 1, &error) != SUP_OK)
        return app_usage("%s %s: %s", option, text, error.message);
    return APP_DONE;
}

/* Applies one --set to every entry that it addresses. */
static int apply_set(app_comparison *comparison, const char *text)
{
    const char *dot = strchr(text, '.'), *equals = strchr(text, '=');
    bool named = dot != NULL && (equals == NULL || dot < equals);
    const char *setting = named ? dot + 1 : text;
    int applied = 0, status = APP_DONE;
    for (int32_t i = 0; status == APP_DONE && i < comparison->entry_count; i++) {
        app_entry *entry = &comparison->entries[i];
        const char *name = entry->method->name;
        if (named && (strlen(name) != (size_t)(dot - text) || strncmp(name, text, strlen(name)) != 0)) continue;
        if (!named && !has_param(entry->method, setting, strcspn(setting, "="))) continue;
        status = set_param(entry, setting, strlen(setting), "--set", text);
        applied++;
    }
    if (applied == 0) return app_usage("--set %s: None of the methods has this parameter.", text);
    return status;
}

/* Applies the :NAME=VALUE settings of an item of --methods. */
static int apply_own(app_entry *entry)
{
    int status = APP_DONE;
    for (const char *at = strchr(entry->label, ':'); status == APP_DONE && at != NULL; at = strchr(at + 1, ':'))
        status = set_param(entry, at + 1, strcspn(at + 1, ":"), "--methods", entry->label);
    return status;
}

int app_comparison_choose(app_comparison *comparison, const char *methods, const app_texts *set)
{
    int status = APP_DONE;
    *comparison = (app_comparison){0};
    for (int32_t i = 0; methods == NULL && status == APP_DONE && i < sup_method_count() && i < APP_COMPARISON_LIMIT;
         i++) {
        const sup_method *method = sup_method_at(i);
        if ((method->flags & SUP_METHOD_LAYERS) == 0)
            status = add_method(comparison, method->name, strlen(method->name));
    }
    while (methods != NULL && status == APP_DONE) {
        size_t length = strcspn(methods, ",");
        status = add_method(comparison, methods, length);
        if (methods[length] == '\0') break;
        methods += length + 1;
    }
    for (int i = 0; status == APP_DONE && i < set->count; i++)
        status = apply_set(comparison, set->items[i]);
    for (int32_t i = 0; status == APP_DONE && i < comparison->entry_count; i++)
        status = apply_own(&comparison->entries[i]);
    return status;
}

static int run_entry(app_comparison *comparison, app_entry *entry, app_progress *progress)
{
    app_job *job = comparison->job;
    int status = app_playback_run(job, comparison->rig, entry->method, entry->params, job->first_frame, job->last_frame,
                                  progress, &entry->playback);
    if (status != APP_DONE) return status;
    status = app_metrics_measure(job, comparison->rig, entry->playback.positions, comparison->nodes,
                                 comparison->frame_count, progress, &entry->measure);
    if (status == APP_DONE &&
        sup_measure_acceleration(comparison->rig, comparison->frame_count, entry->playback.positions,
                                 comparison->linear, &entry->acceleration) != SUP_OK)
        status = APP_OTHER;
    return status;
}

int app_comparison_run(app_comparison *comparison, app_job *job, app_progress *progress)
{
    sup_rig_def def = app_job_rig_def(job->values);
    sup_error error = {0};
    int status = APP_DONE;
    const sup_method *methods[APP_COMPARISON_LIMIT];
    for (int32_t i = 0; i < comparison->entry_count; i++)
        methods[i] = comparison->entries[i].method;
    status = app_paint_check(&job->values->paint, methods, comparison->entry_count);
    if (status == APP_DONE) status = app_setup_check(job->values, methods, comparison->entry_count);
    if (status != APP_DONE) return status;
    comparison->job = job;
    comparison->frame_count = job->last_frame - job->first_frame + 1;
    if (sup_rig_create(&job->session.context, job->character, &def, &comparison->rig, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, job->values->input);
    comparison->nodes = app_metrics_nodes(job, job->first_frame, comparison->frame_count);
    comparison->linear = app_metrics_linear(job, comparison->rig, job->first_frame, comparison->frame_count);
    if (comparison->nodes == NULL || comparison->linear == NULL) return APP_OTHER;
    for (int32_t i = 0; status == APP_DONE && i < comparison->entry_count; i++)
        status = run_entry(comparison, &comparison->entries[i], progress);
    return status;
}

void app_comparison_close(app_comparison *comparison)
{
    for (int32_t i = 0; i < comparison->entry_count; i++) {
        app_playback_close(&comparison->entries[i].playback);
        sup_motion_measure_destroy(comparison->entries[i].measure);
    }
    free(comparison->nodes);
    free(comparison->linear);
    sup_rig_destroy(comparison->rig);
}

int32_t app_comparison_worst_frame(const app_comparison *comparison)
{
    const sup_motion_measure *measures[APP_COMPARISON_LIMIT];
    for (int32_t i = 0; i < comparison->entry_count; i++)
        measures[i] = comparison->entries[i].measure;
    return app_metrics_worst_frame(measures, comparison->entry_count);
}

const float *app_comparison_positions(const app_comparison *comparison, int32_t entry, int32_t frame)
{
    return comparison->entries[entry].playback.positions + 3 * (size_t)frame * (size_t)comparison->rig->vertex_count;
}

const sup_mat34 *app_comparison_nodes(const app_comparison *comparison, int32_t frame)
{
    return comparison->nodes + (size_t)frame * (size_t)comparison->job->character->node_count;
}

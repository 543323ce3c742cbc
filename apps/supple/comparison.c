/* comparison.c - several methods on one motion. */
#include "comparison.h"

#include "paint.h"

#include <stdlib.h>
#include <string.h>

/* One of --methods, its own settings kept for later. */
static int add_method(app_contest *contest, const char *text, size_t length)
{
    app_texts none = {0};
    char name[64];
    if (contest->entry_count == APP_CONTEST_LIMIT)
        return app_usage("--methods: %d methods can be compared at most.", APP_CONTEST_LIMIT);
    app_entry *entry = &contest->entries[contest->entry_count];
    if (length >= sizeof entry->label) return app_usage("--methods %s: That is too long.", text);
    memcpy(entry->label, text, length);
    entry->label[length] = '\0';
    snprintf(name, sizeof name, "%.*s", (int)strcspn(entry->label, ":"), entry->label);
    int status = app_choose_method(name, &none, &entry->method, entry->params);
    if (status != APP_DONE) return status;
    for (int32_t i = 0; i < contest->entry_count; i++)
        if (strcmp(contest->entries[i].label, entry->label) == 0)
            return app_usage("--methods: %s is there twice.", entry->label);
    contest->entry_count++;
    return APP_DONE;
}

static bool has_param(const sup_method *method, const char *name, size_t length)
{
    for (int32_t i = 0; i < method->param_count; i++)
        if (strlen(method->params[i].name) == length && strncmp(method->params[i].name, name, length) == 0) return true;
    return false;
}

/* NAME=VALUE, the first `length` characters of `setting`, for one entry; `option` and `text` as the user wrote them. */
static int set_param(app_entry *entry, const char *setting, size_t length, const char *option, const char *text)
{
    char name[96];
    sup_error error = {0};
    if (length >= sizeof name) return app_usage("%s %s: That is too long.", option, text);
    memcpy(name, setting, length);
    name[length] = '\0';
    char *equals = strchr(name, '=');
    if (equals == NULL) return app_usage("%s %s: Give a name and a value.", option, text);
    *equals = '\0';
    if (sup_method_set(entry->method, entry->params, name, equals + 1, &error) != SUP_OK)
        return app_usage("%s %s: %s", option, text, error.message);
    return APP_DONE;
}

/* One --set for every entry that it is meant for; `text` as the user wrote it. */
static int apply_set(app_contest *contest, const char *text)
{
    const char *dot = strchr(text, '.'), *equals = strchr(text, '=');
    bool named = dot != NULL && (equals == NULL || dot < equals);
    const char *setting = named ? dot + 1 : text;
    int taken = 0, status = APP_DONE;
    for (int32_t i = 0; status == APP_DONE && i < contest->entry_count; i++) {
        app_entry *entry = &contest->entries[i];
        const char *name = entry->method->name;
        if (named && (strlen(name) != (size_t)(dot - text) || strncmp(name, text, strlen(name)) != 0)) continue;
        if (!named && !has_param(entry->method, setting, strcspn(setting, "="))) continue;
        status = set_param(entry, setting, strlen(setting), "--set", text);
        taken++;
    }
    if (taken == 0) return app_usage("--set %s: None of the methods has that parameter.", text);
    return status;
}

/* What --methods says behind the name of the method. */
static int apply_own(app_entry *entry)
{
    int status = APP_DONE;
    for (const char *at = strchr(entry->label, ':'); status == APP_DONE && at != NULL; at = strchr(at + 1, ':'))
        status = set_param(entry, at + 1, strcspn(at + 1, ":"), "--methods", entry->label);
    return status;
}

int app_contest_choose(app_contest *contest, const char *methods, const app_texts *set)
{
    int status = APP_DONE;
    *contest = (app_contest){0};
    for (int32_t i = 0; methods == NULL && status == APP_DONE && i < sup_method_count() && i < APP_CONTEST_LIMIT; i++) {
        const sup_method *method = sup_method_at(i);
        if ((method->flags & SUP_METHOD_LAYERS) == 0) status = add_method(contest, method->name, strlen(method->name));
    }
    while (methods != NULL && status == APP_DONE) {
        size_t length = strcspn(methods, ",");
        status = add_method(contest, methods, length);
        if (methods[length] == '\0') break;
        methods += length + 1;
    }
    for (int i = 0; status == APP_DONE && i < set->count; i++)
        status = apply_set(contest, set->items[i]);
    for (int32_t i = 0; status == APP_DONE && i < contest->entry_count; i++)
        status = apply_own(&contest->entries[i]);
    return status;
}

static int run_entry(app_contest *contest, app_entry *entry, app_progress *progress)
{
    app_take *take = contest->take;
    int status = app_play_method(take, contest->rig, entry->method, entry->params, take->first_frame, take->last_frame,
                                 progress, &entry->play);
    if (status != APP_DONE) return status;
    return app_judge(take, contest->rig, entry->play.positions, contest->nodes, contest->frame_count, progress,
                     &entry->measure);
}

int app_contest_run(app_contest *contest, app_take *take, app_progress *progress)
{
    sup_rig_def def = app_take_rig_def(take->values);
    sup_error error = {0};
    int status = APP_DONE;
    const sup_method *methods[APP_CONTEST_LIMIT];
    for (int32_t i = 0; i < contest->entry_count; i++)
        methods[i] = contest->entries[i].method;
    status = app_paint_check(&take->values->paint, methods, contest->entry_count);
    if (status == APP_DONE) status = app_setup_check(take->values, methods, contest->entry_count);
    if (status != APP_DONE) return status;
    contest->take = take;
    contest->frame_count = take->last_frame - take->first_frame + 1;
    if (sup_rig_create(&take->session.context, take->character, &def, &contest->rig, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, take->values->input);
    contest->nodes = app_judge_nodes(take, take->first_frame, contest->frame_count);
    if (contest->nodes == NULL) return APP_OTHER;
    for (int32_t i = 0; status == APP_DONE && i < contest->entry_count; i++)
        status = run_entry(contest, &contest->entries[i], progress);
    return status;
}

void app_contest_close(app_contest *contest)
{
    for (int32_t i = 0; i < contest->entry_count; i++) {
        app_play_close(&contest->entries[i].play);
        sup_motion_measure_destroy(contest->entries[i].measure);
    }
    free(contest->nodes);
    sup_rig_destroy(contest->rig);
}

int32_t app_contest_worst_frame(const app_contest *contest)
{
    const sup_motion_measure *measures[APP_CONTEST_LIMIT];
    for (int32_t i = 0; i < contest->entry_count; i++)
        measures[i] = contest->entries[i].measure;
    return app_judge_worst_frame(measures, contest->entry_count);
}

const float *app_contest_positions(const app_contest *contest, int32_t entry, int32_t frame)
{
    return contest->entries[entry].play.positions + 3 * (size_t)frame * (size_t)contest->rig->vertex_count;
}

const sup_mat34 *app_contest_nodes(const app_contest *contest, int32_t frame)
{
    return contest->nodes + (size_t)frame * (size_t)contest->take->character->node_count;
}

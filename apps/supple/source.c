/* source.c - opens the INPUT of a verb: character files, meshes with a skeleton, built-in scenes. */
#include "app.h"
#include "options.h"

#ifdef SUPPLE_APP_ASSIMP
#include "assimp_reader.h"
#endif

#include <string.h>

enum { WARNING_LIMIT = 20, SCENE_LIMIT = 64 };

static void log_message(void *user, sup_log_level level, const char *message)
{
    app_session *session = user;
    if (session->quiet || level != SUP_LOG_WARNING) return;
    if (session->warning_count < WARNING_LIMIT) app_say("warning: %s", message);
    if (session->warning_count == WARNING_LIMIT) app_say("warning: Further warnings are suppressed.");
    session->warning_count++;
}

int app_session_open(app_session *session, int threads, bool quiet)
{
    sup_error error = {0};
    memset(session, 0, sizeof *session);
    session->quiet = quiet;
    if (sup_thread_pool_create(threads, &session->pool, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_BAKE, "threads");
    session->context.tasks = sup_thread_pool_tasks(session->pool);
    session->context.log = log_message;
    session->context.log_user = session;
    return APP_DONE;
}

void app_session_close(app_session *session)
{
    sup_thread_pool_destroy(session->pool);
    session->pool = NULL;
}

bool app_is_scene(const char *input)
{
    return strncmp(input, "scene:", 6) == 0;
}

static int fail_scene(const char *name)
{
    const char *names[SCENE_LIMIT];
    char list[400] = "";
    int32_t count = sup_scene_count() < SCENE_LIMIT ? sup_scene_count() : SCENE_LIMIT;
    for (int32_t i = 0; i < count; i++) {
        size_t length = strlen(list);
        names[i] = sup_scene_at(i).name;
        snprintf(list + length, sizeof list - length, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    const char *nearest = app_nearest(name, names, count);
    if (nearest != NULL)
        return app_usage("scene:%s: Unknown scene; did you mean scene:%s? Available: %s.", name, nearest, list);
    return app_usage("scene:%s: Unknown scene. Available: %s.", name, list);
}

/* Also accepts "human.bones"; sup_scene_create checks the suffix. */
static bool scene_exists(const char *name)
{
    size_t length = strcspn(name, ".");
    for (int32_t i = 0; i < sup_scene_count(); i++)
        if (strlen(sup_scene_at(i).name) == length && strncmp(sup_scene_at(i).name, name, length) == 0) return true;
    return false;
}

static int open_scene(app_session *session, const char *input, sup_character **character)
{
    char name[64];
    double resolution = 1.0;
    sup_error error = {0};
    const char *at = strchr(input, '@');
    size_t length = at != NULL ? (size_t)(at - input - 6) : strlen(input + 6);
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), input + 6);
    if (!scene_exists(name)) return fail_scene(name);
    if (at != NULL && (!app_parse_number(at + 1, &resolution) || resolution < 0.05 || resolution > 20.0))
        return app_usage("%s: Expected a resolution from 0.05 to 20 after the @, such as scene:%s@0.25.", input, name);
    if (sup_scene_create(&session->context, name, resolution, character, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, input);
    return APP_DONE;
}

sup_load_def app_load_def(const char *skeleton)
{
    sup_load_def def = sup_default_load_def();
    def.skeleton = skeleton;
#ifdef SUPPLE_APP_ASSIMP
    def.other = sup_read_assimp;
#endif
    return def;
}

int app_fail_load(const sup_error *error, const char *path)
{
    if (strcmp(error->id, "load.format") != 0) return app_fail(error, APP_PHASE_LOAD, path);
#ifdef SUPPLE_APP_ASSIMP
    const char *assimp = ", and .fbx .dae through Assimp";
#else
    const char *assimp = "; .fbx and .dae need Assimp: install libassimp-dev and build again";
#endif
    app_say("%s: Unknown file extension. Supported: .glb .gltf .obj .off .ply .stl .skel .bvh .ini%s.",
            error->where[0] != '\0' ? error->where : path, assimp);
    return APP_INPUT;
}

int app_open_character(app_session *session, const char *input, const char *skeleton, sup_character **character)
{
    double began = app_milliseconds();
    sup_error error = {0};
    int status = APP_DONE;
    if (app_is_scene(input)) {
        if (skeleton != NULL) return app_usage("--skeleton is for mesh files; %s has a skeleton.", input);
        status = open_scene(session, input, character);
    } else {
        sup_load_def def = app_load_def(skeleton);
        if (sup_load(&session->context, input, &def, character, &error) != SUP_OK)
            status = app_fail_load(&error, input);
    }
    session->load_ms = app_milliseconds() - began;
    return status;
}

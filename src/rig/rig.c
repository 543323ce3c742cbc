/* rig.c - creation and destruction of rigs, and the order of the build stages. */
#include "rig/rig.h"

struct sup_rig_storage {
    sup_context context;
    sup_arena arena;
    const int32_t *rigid_joint; /* [skin_vertex_count] */
};

/* The list that sup_character_inspect returns, with its allocator, in one allocation. */
typedef struct owned_defects {
    sup_defects defects; /* first member: the public pointer is the address of the allocation */
    sup_allocator allocator;
    size_t size;
} owned_defects;

sup_rig_def sup_default_rig_def(void)
{
    return (sup_rig_def){SUP_WEIGHTS_AUTO, 0, 0.0f};
}

static sup_rig *create_empty(const sup_context *context)
{
    sup_rig *rig = sup_alloc_zero(&context->allocator, sizeof *rig);
    struct sup_rig_storage *storage = sup_alloc_zero(&context->allocator, sizeof *storage);
    if (rig == NULL || storage == NULL) {
        sup_free(&context->allocator, rig, sizeof *rig);
        sup_free(&context->allocator, storage, sizeof *storage);
        return NULL;
    }
    storage->context = *context;
    storage->arena = sup_arena_create(&context->allocator);
    rig->storage = storage;
    return rig;
}

void sup_rig_destroy(sup_rig *rig)
{
    if (rig == NULL) return;
    struct sup_rig_storage *storage = rig->storage;
    sup_allocator allocator = storage->context.allocator;
    sup_arena_destroy(&storage->arena);
    sup_free(&allocator, storage, sizeof *storage);
    sup_free(&allocator, rig, sizeof *rig);
}

const int32_t *sup_rig_rigid_joints(const sup_rig *rig)
{
    return rig->storage->rigid_joint;
}

static sup_result check_def(const sup_rig_def *def, sup_rig_def *checked, sup_error *error)
{
    *checked = def != NULL ? *def : sup_default_rig_def();
    if ((int)checked->weights < SUP_WEIGHTS_AUTO || (int)checked->weights > SUP_WEIGHTS_RIGID)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "rig.weights", "",
                        "The weight source %d is unknown: use a value of sup_weight_source.", (int)checked->weights);
    if (checked->max_influences < 0)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "rig.max_influences", "",
                        "max_influences must be 0 (all) or more, not %d.", checked->max_influences);
    if (!isfinite(checked->weld_distance))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "rig.weld_distance", "", "The weld distance must be finite.");
    if (checked->weld_distance == 0.0f) checked->weld_distance = 1e-6f;
    return SUP_OK;
}

/* Runs the stages until one fails or finds a fatal defect; an inspection continues with the surface of a character that
 * has no skeleton. */
static sup_result run_stages(sup_rig_build *build, sup_error *error)
{
    typedef sup_result stage(sup_rig_build *, sup_error *);
    static stage *const surface[] = {sup_rig_skeleton, sup_rig_positions, sup_rig_skin,
                                     sup_rig_normals,  sup_rig_roles,     sup_rig_topology};
    static stage *const skeleton[] = {sup_rig_influences,        sup_rig_bones,           sup_rig_compute_weights,
                                      sup_rig_update_bone_tails, sup_rig_pack_influences, sup_rig_rigid_components,
                                      sup_rig_bone_defects,      sup_rig_outside_joints};
    sup_result result = SUP_OK;
    for (int32_t i = 0; i < SUP_COUNT(surface) && result == SUP_OK; i++) {
        if (build->stop || (build->defects.fatal && !build->inspect)) return SUP_OK;
        result = surface[i](build, error);
    }
    for (int32_t i = 0; i < SUP_COUNT(skeleton) && result == SUP_OK && !build->defects.fatal; i++)
        result = skeleton[i](build, error);
    return result;
}

static sup_result run_build(sup_rig_build *build, const sup_context *context, const sup_character *character,
                            sup_error *error)
{
    build->context = sup_context_resolve(context);
    build->character = character;
    build->scratch = sup_arena_create(&build->context.allocator);
    build->defects.allocator = build->context.allocator;
    build->rig = create_empty(&build->context);
    if (build->rig == NULL) return sup_fail_memory(error, "the rig");
    build->arena = &build->rig->storage->arena;
    build->rig->character = character;
    sup_result result = run_stages(build, error);
    build->rig->storage->rigid_joint = build->rigid_joint;
    return result;
}

static void end_build(sup_rig_build *build)
{
    sup_arena_destroy(&build->scratch);
    if (build->defects.items.data != NULL) sup_array_free(&build->context.allocator, &build->defects.items);
}

/* Reports the first fatal defect as an error. */
static sup_result fail_with_defect(const sup_array *defects, const char *character_name, sup_error *error)
{
    const sup_defect *items = (const sup_defect *)(const void *)defects->data;
    for (size_t i = 0; i < defects->count; i++) {
        if (items[i].severity != SUP_SEVERITY_FATAL) continue;
        char id[48];
        sup_format(id, sizeof id, "rig.%s", sup_defect_name(items[i].id));
        for (char *c = id; *c != '\0'; c++)
            if (*c == ' ' || *c == '-') *c = '_';
        return sup_fail(error, SUP_ERROR_DATA, id, character_name, "%s", items[i].message);
    }
    return SUP_OK;
}

static sup_result copy_defects(const sup_array *defects, sup_arena *arena, sup_rig *rig, sup_error *error)
{
    rig->defect_count = (int32_t)defects->count;
    if (defects->count == 0) return SUP_OK;
    rig->defects = sup_arena_copy(arena, defects->data, defects->count, sizeof(sup_defect));
    return rig->defects != NULL ? SUP_OK : sup_fail_memory(error, "the list of defects");
}

sup_result sup_rig_create(const sup_context *context, const sup_character *character, const sup_rig_def *def,
                          sup_rig **rig, sup_error *error)
{
    if (character == NULL || rig == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_rig_create needs a character and an output pointer for the rig.");
    sup_rig_build build = {0};
    sup_result result = check_def(def, &build.def, error);
    if (result != SUP_OK) return result;
    result = run_build(&build, context, character, error);
    if (result == SUP_OK) result = fail_with_defect(&build.defects.items, character->name, error);
    if (result == SUP_OK) result = copy_defects(&build.defects.items, build.arena, build.rig, error);
    end_build(&build);
    if (result != SUP_OK) {
        sup_rig_destroy(build.rig);
        return result;
    }
    *rig = build.rig;
    return SUP_OK;
}

sup_result sup_character_inspect(const sup_context *context, const sup_character *character, sup_defects **defects,
                                 sup_error *error)
{
    if (character == NULL || defects == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_character_inspect needs a character and an output pointer for the defects.");
    sup_rig_build build = {.inspect = true};
    sup_result result = check_def(NULL, &build.def, error);
    if (result == SUP_OK) result = run_build(&build, context, character, error);
    if (result == SUP_OK) {
        size_t size = sizeof(owned_defects) + build.defects.items.count * sizeof(sup_defect);
        owned_defects *owned = sup_alloc_zero(&build.context.allocator, size);
        if (owned == NULL) {
            result = sup_fail_memory(error, "the list of defects");
        } else {
            sup_defect *items = (sup_defect *)(void *)(owned + 1);
            if (build.defects.items.count > 0)
                memcpy(items, build.defects.items.data, build.defects.items.count * sizeof *items);
            owned->defects = (sup_defects){(int32_t)build.defects.items.count, items};
            owned->allocator = build.context.allocator;
            owned->size = size;
            *defects = &owned->defects;
        }
    }
    end_build(&build);
    sup_rig_destroy(build.rig);
    return result;
}

void sup_defects_destroy(sup_defects *defects)
{
    if (defects == NULL) return;
    owned_defects *owned = (owned_defects *)(void *)defects;
    sup_allocator allocator = owned->allocator;
    sup_free(&allocator, owned, owned->size);
}

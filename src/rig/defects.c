/* defects.c - the list of defects of a character. */
#include "rig/rig.h"

const char *sup_defect_name(sup_defect_id id)
{
    static const char *const names[SUP_DEFECT_COUNT] = {
        [SUP_DEFECT_HOLE] = "hole",
        [SUP_DEFECT_NON_MANIFOLD_EDGE] = "non-manifold edge",
        [SUP_DEFECT_MISORIENTED_EDGE] = "misoriented edge",
        [SUP_DEFECT_SLIVER] = "sliver",
        [SUP_DEFECT_DEGENERATE_TRIANGLE] = "degenerate triangle",
        [SUP_DEFECT_DUPLICATE_FACE] = "duplicate face",
        [SUP_DEFECT_ISLAND] = "island",
        [SUP_DEFECT_UNUSED_VERTEX] = "unused vertex",
        [SUP_DEFECT_NON_FINITE_POSITION] = "non-finite position",
        [SUP_DEFECT_NON_FINITE_NORMAL] = "non-finite normal",
        [SUP_DEFECT_NON_FINITE_WEIGHT] = "non-finite weight",
        [SUP_DEFECT_NEGATIVE_WEIGHT] = "negative weight",
        [SUP_DEFECT_UNNORMALISED_WEIGHTS] = "unnormalised weights",
        [SUP_DEFECT_DUPLICATE_INFLUENCE] = "duplicate influence",
        [SUP_DEFECT_NO_INFLUENCE] = "no influence",
        [SUP_DEFECT_BONE_OUTSIDE_SKIN] = "bone outside skin",
        [SUP_DEFECT_ZERO_LENGTH_BONE] = "zero-length bone",
        [SUP_DEFECT_ZERO_SCALE_JOINT] = "zero-scale joint",
        [SUP_DEFECT_UNREFERENCED_JOINT] = "unreferenced joint",
        [SUP_DEFECT_SINGULAR_INVERSE_BIND] = "singular inverse bind",
        [SUP_DEFECT_REST_DIFFERS_FROM_BIND] = "rest differs from bind",
        [SUP_DEFECT_NO_SKIN] = "no skin",
    };
    return (int)id >= 0 && id < SUP_DEFECT_COUNT ? names[id] : "unknown defect";
}

const char *sup_severity_name(sup_severity severity)
{
    static const char *const names[] = {"note", "repaired", "warning", "fatal"};
    return (int)severity >= 0 && (int)severity < SUP_COUNT(names) ? names[severity] : "unknown severity";
}

sup_result sup_rig_defect(sup_defect_list *list, sup_defect_id id, sup_severity severity, int32_t primitive,
                          int64_t count, int32_t first, sup_error *error, const char *format, ...)
{
    if (count <= 0) return SUP_OK;
    list->items.item_size = sizeof(sup_defect);
    sup_defect *defect = sup_array_push(&list->allocator, &list->items, 1);
    if (defect == NULL) return sup_fail_memory(error, "the list of defects");
    memset(defect, 0, sizeof *defect);
    defect->id = id;
    defect->severity = severity;
    defect->primitive = primitive;
    defect->count = count > INT32_MAX ? INT32_MAX : (int32_t)count;
    defect->first = first;
    va_list args;
    va_start(args, format);
    sup_format_v(defect->message, sizeof defect->message, format, args);
    va_end(args);
    if (severity == SUP_SEVERITY_FATAL) list->fatal = true;
    return SUP_OK;
}

const char *sup_rig_primitive_name(const sup_character *character, int32_t primitive)
{
    const char *name = character->primitives[primitive].name;
    return name != NULL && name[0] != '\0' ? name : "unnamed";
}

const char *sup_rig_node_name(const sup_character *character, int32_t node)
{
    const char *name = character->nodes[node].name;
    return name != NULL && name[0] != '\0' ? name : "unnamed";
}

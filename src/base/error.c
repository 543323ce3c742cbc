/* error.c - results, errors, the log and the version. */
#include "base/base.h"
#undef sup_fail /* of the analyser */
#undef sup_fail_memory

int32_t sup_version(void)
{
    return SUPPLE_VERSION_MAJOR * 10000 + SUPPLE_VERSION_MINOR * 100 + SUPPLE_VERSION_PATCH;
}

const char *sup_result_name(sup_result result)
{
    switch (result) {
    case SUP_OK:
        return "success";
    case SUP_ERROR_ARGUMENT:
        return "wrong call";
    case SUP_ERROR_MEMORY:
        return "out of memory";
    case SUP_ERROR_IO:
        return "cannot read or write";
    case SUP_ERROR_FORMAT:
        return "damaged file";
    case SUP_ERROR_UNSUPPORTED:
        return "not supported";
    case SUP_ERROR_DATA:
        return "unusable data";
    case SUP_ERROR_NUMERIC:
        return "computation failed";
    case SUP_ERROR_CANCELLED:
        return "cancelled";
    case SUP_ERROR_DEVICE:
        return "device failed";
    }
    return "unknown result";
}

sup_result sup_fail(sup_error *error, sup_result result, const char *id, const char *where, const char *format, ...)
{
    if (error == NULL) return result;
    error->result = result;
    sup_format(error->id, sizeof error->id, "%s", id);
    sup_format(error->where, sizeof error->where, "%s", where != NULL ? where : "");
    va_list args;
    va_start(args, format);
    sup_format_v(error->message, sizeof error->message, format, args);
    va_end(args);
    return result;
}

sup_result sup_fail_memory(sup_error *error, const char *what)
{
    return sup_fail(error, SUP_ERROR_MEMORY, "memory", "", "There is not enough memory for %s.", what);
}

void sup_log(const sup_context *context, sup_log_level level, const char *format, ...)
{
    if (context == NULL || context->log == NULL) return;
    char message[512];
    va_list args;
    va_start(args, format);
    sup_format_v(message, sizeof message, format, args);
    va_end(args);
    context->log(context->log_user, level, message);
}

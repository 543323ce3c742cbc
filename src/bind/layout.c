/* layout.c - sizes and offsets of the state of an instance, checked for overflow. */
#include "base/base.h"
#include "supple/method.h"

enum { SLOT_ALIGNMENT = 64 };

size_t sup_layout_add(sup_layout *layout, size_t count, size_t element_size)
{
    size_t offset = layout->size;
    bool fits = element_size == 0 || count <= (SIZE_MAX - (SLOT_ALIGNMENT - 1)) / element_size;
    size_t bytes = fits ? (count * element_size + SLOT_ALIGNMENT - 1) / SLOT_ALIGNMENT * SLOT_ALIGNMENT : 0;
    if (!fits || bytes > SIZE_MAX - offset) {
        layout->overflow = true;
        return 0;
    }
    layout->size += bytes;
    return offset;
}

sup_result sup_method_layout(const sup_method *method, const sup_model *model, const sup_context *context,
                             sup_layout *layout)
{
    *layout = (sup_layout){0};
    sup_result result = method->layout != NULL ? method->layout(model, context, layout) : SUP_OK;
    if (result != SUP_OK) return result;
    if (layout->overflow) return SUP_ERROR_MEMORY;
    return layout->saved_size == 0 || (layout->saved_size <= layout->size && method->restore != NULL) ? SUP_OK
                                                                                                      : SUP_ERROR_DATA;
}

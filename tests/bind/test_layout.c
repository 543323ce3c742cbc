/* Layout of an instance's state: aligned slots, and sizes that are checked for overflow. */
#include "supple/method.h"
#include "test.h"

#include <stdint.h>

TEST(slots_are_aligned_and_do_not_overlap)
{
    sup_layout layout = {0};
    CHECK_EQ(sup_layout_add(&layout, 3, 4), 0);
    CHECK_EQ(sup_layout_add(&layout, 0, 8), 64);
    CHECK_EQ(sup_layout_add(&layout, 64, 1), 64);
    CHECK_EQ(sup_layout_add(&layout, 65, 1), 128);
    CHECK_EQ(layout.size, 256);
    CHECK(!layout.overflow);
}

TEST(a_layout_that_exceeds_the_address_space_is_reported)
{
    static const size_t bad[][2] = {{SIZE_MAX, 2}, {2, SIZE_MAX}, {SIZE_MAX, 1}, {SIZE_MAX - 64, 1}};
    for (int i = 0; i < 4; i++) {
        sup_layout layout = {0};
        sup_layout_add(&layout, 65, 1);
        sup_layout_add(&layout, bad[i][0], bad[i][1]);
        CHECK(layout.overflow);
        CHECK_EQ(layout.size, 128);
    }
}

static sup_result huge_layout(const sup_model *model, const sup_context *context, sup_layout *layout)
{
    (void)model, (void)context;
    sup_layout_add(layout, SIZE_MAX / 2, 4);
    return SUP_OK;
}

static sup_result unsaved_layout(const sup_model *model, const sup_context *context, sup_layout *layout)
{
    (void)model, (void)context;
    sup_layout_add(layout, 1, 64);
    layout->saved_size = 64;
    return SUP_OK;
}

TEST(method_layouts_are_checked)
{
    sup_layout layout;
    const sup_method none = {.name = "none"}, huge = {.name = "huge", .layout = huge_layout},
                     unsaved = {.name = "unsaved", .layout = unsaved_layout}; /* without a restore */
    CHECK_EQ(sup_method_layout(&none, NULL, NULL, &layout), SUP_OK);
    CHECK_EQ(layout.size, 0);
    CHECK_EQ(sup_method_layout(&huge, NULL, NULL, &layout), SUP_ERROR_MEMORY);
    CHECK_EQ(sup_method_layout(&unsaved, NULL, NULL, &layout), SUP_ERROR_DATA);
}

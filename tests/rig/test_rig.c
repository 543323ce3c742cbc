/* The rig of small characters: one space, one skin, clean weights. */
#include "rig/make.h"

TEST(tube_welds_its_seam)
{
    sup_character *c = make_build(make_tube(6));
    sup_rig *rig = make_rig(c, NULL);
    CHECK_EQ(rig->vertex_count, MAKE_TUBE_VERTICES);
    CHECK_EQ(rig->skin_vertex_count, MAKE_TUBE_WELDED);
    CHECK_EQ(rig->skin_triangle_count, MAKE_TUBE_TRIANGLES);
    CHECK_EQ(rig->component_count, 1);
    CHECK_EQ(rig->main_component, 0);
    CHECK_EQ(rig->joint_count, 2);
    CHECK_EQ(rig->max_influences, 2);
    CHECK(make_find(rig->defects, rig->defect_count, SUP_DEFECT_HOLE) == NULL);
    CHECK(make_find(rig->defects, rig->defect_count, SUP_DEFECT_MISORIENTED_EDGE) == NULL);
    CHECK(make_find(rig->defects, rig->defect_count, SUP_DEFECT_REST_DIFFERS_FROM_BIND) == NULL);
    for (int32_t s = 0; s < rig->skin_vertex_count; s++)
        CHECK_EQ(rig->vertex_to_skin[rig->skin_to_vertex[s]], s);
    CHECK_NEAR(make_skinning_error(c, rig, 5, 1), 0.0, 1e-6);
    sup_rig_destroy(rig);
    sup_character_destroy(c);
}

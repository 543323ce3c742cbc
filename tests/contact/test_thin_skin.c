/* Sheets that are too thin for contact. */
#include "contact/thin_skin.h"

#include "contact/contact_rules.h"
#include "test.h"

enum { SIDE = 9, VERTICES = 2 * SIDE * SIDE, TRIANGLES = 4 * (SIDE - 1) * (SIDE - 1) };

/* Two square layers at a distance, open at their borders, facing outwards; edges of length `edge`. */
static void make_layers(double edge, double thickness, double *positions, int32_t *triangles)
{
    int32_t t = 0;
    for (int32_t v = 0; v < VERTICES; v++) {
        int32_t layer = v / (SIDE * SIDE), i = v % (SIDE * SIDE);
        positions[3 * v] = edge * (i % SIDE);
        positions[3 * v + 1] = edge * (i / SIDE);
        positions[3 * v + 2] = layer == 0 ? 0.0 : thickness;
    }
    for (int32_t layer = 0; layer < 2; layer++)
        for (int32_t i = 0; i < (SIDE - 1) * (SIDE - 1); i++) {
            int32_t a = layer * SIDE * SIDE + i / (SIDE - 1) * SIDE + i % (SIDE - 1), b = a + 1, c = a + SIDE,
                    d = c + 1, flat[6] = {a, b, d, a, d, c}; /* normals along z */
            for (int k = 0; k < 6; k++)
                triangles[t + (layer == 1 ? k : 5 - k)] = flat[k];
            t += 6;
        }
}

static int32_t count_thin(double edge, double thickness)
{
    static double positions[3 * VERTICES];
    static int32_t triangles[3 * TRIANGLES];
    unsigned char thin[VERTICES] = {0};
    sup_context context = sup_context_resolve(NULL);
    sup_error error = {0};
    int32_t count = 0;
    make_layers(edge, thickness, positions, triangles);
    CHECK_OK(sup_thin_skin_find(&context, VERTICES, positions, TRIANGLES, triangles, thin, &error), error);
    for (int32_t v = 0; v < VERTICES; v++)
        count += thin[v];
    return count;
}

TEST(thin_sheets_are_found_at_any_scale)
{
    static const double scales[] = {1e-3, 1.0, 1e3};
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(count_thin(scales[i], 0.2 * scales[i]), VERTICES);
        CHECK_EQ(count_thin(scales[i], 0.8 * scales[i]), 0);
    }
}

TEST(a_pair_gains_its_force_over_several_steps_or_with_motion)
{
    float onset = 0.0f;
    for (int i = 0; i < 60; i++) {
        float next = sup_contact_onset(onset, 0.0f, 0.1f);
        CHECK(next > onset && next - onset <= SUP_CONTACT_ONSET_RATE);
        onset = next;
    }
    CHECK(onset > 0.99f && onset <= 1.0f);
    CHECK_EQ(sup_contact_onset(0.0f, 0.1f, 0.1f), 1.0f); /* a displacement of a gap */
    CHECK(sup_contact_onset(0.0f, 0.05f, 0.1f) > 0.5f);
}

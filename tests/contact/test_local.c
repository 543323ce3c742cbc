/* Contact beside the joints: pairs that the bends find, and the test of a pair. */
#include "contact_fixture.h"
#include "methods/projective/local.h"

#include "test.h"

TEST(bending_a_bent_arm_finds_pairs_on_both_sides_of_the_elbow)
{
    contact_fixture f = fixture_scene("arm", 0.5);
    sup_local local;
    sup_error error = {0};
    CHECK_OK(sup_local_create(NULL, f.tissue, f.skeleton, &f.detect, &f.arena, &local, &error), error);
    CHECK_MSG(local.pair_count > 10, "%d pairs", local.pair_count);
    for (int32_t i = 0; i < local.pair_count; i++) {
        const sup_local_pair *p = &local.pairs[i];
        int32_t node[2];
        CHECK(i == 0 || p->vertex[0] > local.pairs[i - 1].vertex[0]);
        for (int k = 0; k < 2; k++) {
            const sup_bone_piece *piece = &f.skeleton->pieces[p->piece[k]];
            CHECK_EQ(f.tissue->feet[p->vertex[k]].piece, p->piece[k]);
            node[k] = p->end[k] == 0 ? piece->node_from : piece->node_to;
        }
        CHECK(p->piece[0] != p->piece[1]);
        CHECK_EQ(node[0], node[1]);
    }
    fixture_free(&f);
}

/* Bends the skin rigidly on both sides of the pair's joint until the bones are `angle` apart, then counts the rows. */
TEST(pairs_rest_when_straight_and_push_when_bent)
{
    contact_fixture f = fixture_scene("human", 0.2);
    sup_local local;
    sup_error error = {0};
    CHECK_OK(sup_local_create(NULL, f.tissue, f.skeleton, &f.detect, &f.arena, &local, &error), error);
    sup_context context = sup_context_resolve(NULL);
    size_t size = sup_local_state_size(&local);
    void *state = sup_alloc(&context.allocator, size);
    sup_local_reset(&local, state);
    sup_detect_input input = {.skin = f.skin, .skin_stride = 3, .piece_ends = f.ends};
    sup_contact *rows = malloc(((size_t)local.pair_count + 1) * sizeof *rows);
    CHECK_MSG(local.pair_count > 100, "%d pairs", local.pair_count);
    fixture_rest(&f);
    int32_t rest = sup_local_step(&f.detect, &local, state, &input, rows), pushing = 0;
    for (int32_t i = 0; i < rest; i++) { /* the angles may say so, the plane between does not */
        double gap = 0.0;
        for (int k = 0; k < 3; k++)
            gap += (double)rows[i].normal[k] *
                   (double)(f.skin[3 * rows[i].vertex + k] - f.skin[3 * rows[i].corner[0] + k]);
        pushing += gap < 0.0;
    }
    CHECK_MSG(pushing * 50 < local.pair_count, "%d of %d pairs push at rest", pushing, local.pair_count);
    int32_t squat = sup_character_find_clip(f.character, "squat");
    CHECK(squat >= 0);
    const sup_clip *clip = &f.character->clips[squat];
    int32_t most = 0;
    for (int i = 0; i <= 20; i++) {
        fixture_clip(&f, clip, (double)clip->start + (double)(clip->end - clip->start) * i / 20.0);
        int32_t count = sup_local_step(&f.detect, &local, state, &input, rows);
        for (int32_t r = 0; r < count; r++) {
            CHECK_NEAR(sup_v3_length(sup_v3_load(rows[r].normal)), 1.0, 1e-5);
            CHECK(rows[r].corner[1] == -1 && rows[r].corner[2] == -1 && rows[r].weight[0] == 1.0f);
        }
        most = count > most ? count : most;
    }
    CHECK_MSG(most > rest, "%d rows bent, %d at rest", most, rest);
    sup_free(&context.allocator, state, size);
    free(rows);
    fixture_free(&f);
}

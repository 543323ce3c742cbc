/* character.h (internal) - building a character: readers and scenes allocate from its arena, then call finish. */
#ifndef SUP_CHARACTER_CHARACTER_H
#define SUP_CHARACTER_CHARACTER_H

#include "base/base.h"
#include "supple/character.h"

struct sup_character_storage {
    sup_context context;
    sup_arena arena; /* owns all arrays of the character */
};

/* An empty character with context and arena; NULL when out of memory. Fill its fields with memory of its arena, then
 * call sup_character_finish; on failure destroy it. The public fields are `const` for users: builders keep the writable
 * pointer that sup_arena_alloc returned. */
sup_character *sup_character_begin(const sup_context *context);
sup_arena *sup_character_arena(sup_character *character);

/* Validates what all later stages rely on: indices in range, no cycles of parents, finite transforms and layers, clips
 * with increasing finite times and finite values, consistent counts. Sets node_order, clip start and end, is_joint,
 * NULL names to "", and influence_first to zeros when there are no influences. `where` is the file name for error
 * messages. */
sup_result sup_character_finish(sup_character *character, const char *where, sup_error *error);

/* A clip with its own storage (freed by sup_clip_destroy); fill *clip with memory of the returned arena. */
sup_clip *sup_clip_begin(const sup_context *context, sup_arena **arena);
/* The checks of sup_character_finish for one clip against a character's counts. */
sup_result sup_clip_finish(sup_clip *clip, const sup_character *character, const char *where, sup_error *error);

#endif

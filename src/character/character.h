/* character.h (internal) - building a character: readers and scenes allocate from its arena, then finish it. */
#ifndef SUP_CHARACTER_CHARACTER_H
#define SUP_CHARACTER_CHARACTER_H

#include "base/base.h"
#include "supple/character.h"

struct sup_character_storage {
    sup_context context;
    sup_arena arena; /* everything the character points at */
};

/* An empty character with context and arena; NULL when memory ran out. Fill its fields with memory of its arena,
 * then call sup_character_finish; on failure destroy it. The `const` of the public fields is for readers of the
 * finished thing: builders keep the writable pointer that sup_arena_alloc gave them. */
sup_character *sup_character_begin(const sup_context *context);
sup_arena *sup_character_arena(sup_character *character);

/* Checks what every later station relies on and no reader may break: indices in range, parents without cycles,
 * finite transforms and layers, clips with increasing finite times and finite values, counts that agree; sets node_order, clip
 * start and end, names that are NULL to "", influence_first to zeros when there are no influences, marks joints.
 * `where` is the file's name for messages. */
sup_result sup_character_finish(sup_character *character, const char *where, sup_error *error);

/* A clip with storage of its own (freed by sup_clip_destroy); fill *clip with memory of the arena it returns. */
sup_clip *sup_clip_begin(const sup_context *context, sup_arena **arena);
/* The checks of sup_character_finish for one clip against a character's counts. */
sup_result sup_clip_finish(sup_clip *clip, const sup_character *character, const char *where, sup_error *error);

#endif

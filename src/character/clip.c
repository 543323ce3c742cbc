/* clip.c - clips that do not belong to a character. */
#include "character/character.h"

/* The clip and its allocator, in one memory block. */
typedef struct owned_clip {
    sup_clip clip; /* first: the public pointer is the address of the block */
    sup_allocator allocator;
    sup_arena arena;
} owned_clip;

sup_clip *sup_clip_begin(const sup_context *context, sup_arena **arena)
{
    sup_context resolved = sup_context_resolve(context);
    owned_clip *owned = sup_alloc_zero(&resolved.allocator, sizeof *owned);
    if (owned == NULL) return NULL;
    owned->allocator = resolved.allocator;
    owned->arena = sup_arena_create(&resolved.allocator);
    *arena = &owned->arena;
    return &owned->clip;
}

void sup_clip_destroy(sup_clip *clip)
{
    if (clip == NULL) return;
    owned_clip *owned = (owned_clip *)clip;
    sup_allocator allocator = owned->allocator;
    sup_arena_destroy(&owned->arena);
    sup_free(&allocator, owned, sizeof *owned);
}

/* composition_tree.h (internal) - the order in which the fields of a character are composed.
 *
 * Based on: [vaillant2014iso] section 4.1: bulge nodes at the bottom, contact nodes above them, all fields in one tree.
 * The paper does not say how a bone with several children is composed. Here siblings whose joints have the same
 * operator are joined first, pairs of equal size (left and right) before all others, and the result is joined with
 * their parent: symmetry of the character is kept, and the numbering of fields does not matter. */
#ifndef SUP_METHODS_IMPLICIT_COMPOSITION_TREE_H
#define SUP_METHODS_IMPLICIT_COMPOSITION_TREE_H

#include "methods/implicit/compose.h"

typedef struct sup_tree_field {
    int32_t parent;            /* field, -1 for none */
    int32_t table, controller; /* of the joint between this field and its parent */
    bool first;                /* composed at the bottom of the tree: bulges, muscles */
    double size,
        position
            [3]; /* radius, and a point of the field in the bind pose: they order fields independently of numbering */
} sup_tree_field;

/* `siblings`: table and controller for fields that share no joint. Parents may come in any order; cycles are refused.
 * leaves [count], nodes [count-1]; parent_node [count], may be NULL: the node that joins a field with its parent, -1
 * for roots. */
sup_result sup_composition_tree_build(const sup_context *context, const sup_tree_field *fields, int32_t count,
                                      const int32_t siblings[2], int32_t *leaves, sup_compose_node *nodes,
                                      int32_t *parent_node, sup_error *error);

#endif

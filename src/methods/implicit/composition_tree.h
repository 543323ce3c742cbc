/* composition_tree.h (internal) - in which order the fields of a character are composed.
 *
 * Based on: [vaillant2014iso] section 4.1: bulge nodes at the bottom, contact nodes above them, all fields in one tree.
 * The paper leaves open how a bone with several children is composed. Here brothers and sisters whose joints have the
 * same operator come together first, those of the same size (left and right) before all others, and then meet their
 * parent: what is mirrored in the character is mirrored in the field, and numbering does not matter. */
#ifndef SUP_METHODS_IMPLICIT_COMPOSITION_TREE_H
#define SUP_METHODS_IMPLICIT_COMPOSITION_TREE_H

#include "methods/implicit/compose.h"

typedef struct sup_tree_field {
    int32_t parent;            /* field, -1 for none */
    int32_t table, controller; /* of the joint between it and its parent */
    bool first;                /* at the bottom of the tree: bulges, muscles */
    double size, position[3];     /* its radius and a place in it, bind pose: tell fields apart without their numbers */
} sup_tree_field;

/* `brothers`: table and controller where fields meet that share no joint. Parents may stand anywhere; circles are refused.
 * leaves [count], nodes [count-1]; meets [count], may be NULL: the node where a field meets its parent, -1 for roots. */
sup_result sup_composition_tree_build(const sup_context *context, const sup_tree_field *fields, int32_t count,
                          const int32_t siblings[2], int32_t *leaves, sup_compose_node *nodes, int32_t *parent_node,
                          sup_error *error);

#endif

/* supple.h - Supple: physics-based and geometric character skinning, in C.
 *
 * Input: a skin mesh and a skeleton. Output: skinned motion. The stages of the pipeline and their headers, in order:
 *
 *     load      file -> sup_character        load.h, character.h     (scenes.h: built-in characters)
 *     rig       character -> sup_rig         rig.h                   one welded skin, checked, with weights
 *               (painted maps: paint.h; composition operators: operator.h)
 *     bind      rig + method -> sup_model    method.h, model.h       once; immutable, shareable, one memory block
 *     pose      clip + time -> sup_pose      pose.h                  joint transforms
 *     deform    model -> sup_instance        deform.h, collider.h    one step per frame
 *     output    skin -> files                output.h
 *
 * The shortest program is one call (samples/bake.c):
 *
 *     sup_character *character = NULL;
 *     sup_error error;
 *     if (sup_load(NULL, "dancer.glb", NULL, &character, &error) == SUP_OK)
 *         sup_bake(NULL, character, NULL, "dancer_baked.glb", NULL, &error);
 *     sup_character_destroy(character);
 *
 * An engine calls the stages itself (samples/engine.c): sup_rig_create, sup_bind, sup_instance_create once, then
 * sup_pose_sample (or its own joint transforms) and sup_instance_step into its own buffers each frame.
 *
 * Conventions
 *   - Functions that can fail return sup_result; a sup_error, if passed, says what is wrong, where and what to do.
 *   - A NULL context or def means defaults; a zero member of a def means its default.
 *   - sup_x_destroy frees what sup_x_create returned; destroying NULL is allowed.
 *   - A step allocates no memory and its result is bit-identical for any number of threads.
 *   - Lengths are in the file's own units, angles in radians, time in seconds. */
#ifndef SUPPLE_H
#define SUPPLE_H

#include "supple/base.h"
#include "supple/math.h"
#include "supple/character.h"
#include "supple/scenes.h"
#include "supple/load.h"
#include "supple/rig.h"
#include "supple/paint.h"
#include "supple/collider.h"
#include "supple/method.h"
#include "supple/model.h"
#include "supple/operator.h"
#include "supple/pose.h"
#include "supple/deform.h"
#include "supple/output.h"
#include "supple/measure.h"
#include "supple/anatomy.h"

#endif

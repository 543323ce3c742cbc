/* volume_regions.c - how a limb is cut into volumes along its bones.
 *
 * Not in the works, whose strain alone loses volume where limbs bend. Flesh is nearly incompressible, but it can flow: what
 * the crease of an elbow loses comes out around it. Volume kept for each prism or each vertex regains less and is rougher:
 * such elements can only trade area for height, and the crease has neither. Least volume at the arm's elbow, and roughness
 * of the skin (supple measure, volume 1, five iterations): strain alone 0.943, 0.0536; for each prism 0.948, 0.0601; for
 * each vertex 0.951, 0.0613; chambers 0.977, 0.0563. A chamber goes all around the limb, from the skin to the bone line,
 * so that what the volumetric bones lose where they slide over a joint counts too.
 *
 * Chambers are the hat functions of points on the bone lines: the joints, and points between them about as far apart as
 * the flesh is thick. */
#include "solver/volume_regions.h"

/* Points on one piece at most. */
enum { MOST_STRETCHES = 64 };

/* Stretches that each piece is cut into, from the mean distance of the skin that stands on it. */
static void count_stretches(const sup_tissue *tissue, const sup_volumetric_skeleton *skeleton, double *thickness,
                            int32_t *stretches)
{
    for (int32_t v = 0; v < tissue->skin_count; v++) {
        sup_foot_point foot = tissue->foot_points[v];
        thickness[foot.segment] += sup_v3_distance(sup_tissue_point(tissue->skin, v), sup_foot_position(skeleton, foot));
        stretches[foot.segment]++;
    }
    for (int32_t p = 0; p < skeleton->segment_count; p++) {
        double length = sup_segment_length(&skeleton->segments[p]);
        double count = stretches[p] > 0 && thickness[p] > 0.0 ? length * stretches[p] / thickness[p] : 1.0;
        stretches[p] = count < 1.5 ? 1 : count > MOST_STRETCHES ? MOST_STRETCHES : (int32_t)(count + 0.5);
    }
}

/* The chamber at the end of a piece's i-th stretch; those at joints belong to all pieces that meet there. */
static int32_t chamber_at(const sup_bone_segment *piece, int32_t first, int32_t stretches, int32_t i)
{
    return i == 0 ? piece->node_from : i == stretches ? piece->node_to : first + i - 1;
}

int32_t sup_chambers_create(const sup_tissue *tissue, const sup_volumetric_skeleton *skeleton, sup_arena *arena,
                            sup_chamber_share **share)
{
    size_t pieces = (size_t)skeleton->segment_count;
    double *thickness = sup_arena_alloc(arena, pieces, sizeof *thickness);
    int32_t *stretches = sup_arena_alloc(arena, pieces, sizeof *stretches);
    int32_t *first = sup_arena_alloc(arena, pieces, sizeof *first);
    *share = sup_arena_alloc(arena, (size_t)tissue->skin_count, sizeof **share);
    if (thickness == NULL || stretches == NULL || first == NULL || *share == NULL) return 0;
    count_stretches(tissue, skeleton, thickness, stretches);
    int32_t count = skeleton->node_count;
    for (int32_t p = 0; p < skeleton->segment_count; p++) {
        first[p] = count;
        count += stretches[p] - 1;
    }
    for (int32_t v = 0; v < tissue->skin_count; v++) {
        int32_t p = tissue->foot_points[v].segment;
        double at = tissue->foot_points[v].parameter * stretches[p];
        int32_t i = at < 0.0 ? 0 : at >= stretches[p] ? stretches[p] - 1 : (int32_t)at;
        for (int32_t k = 0; k < 2; k++)
            (*share)[v].chamber[k] = chamber_at(&skeleton->segments[p], first[p], stretches[p], i + k);
        (*share)[v].weight[1] = at - i;
        (*share)[v].weight[0] = 1.0 - (at - i);
    }
    return count;
}

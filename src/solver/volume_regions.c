/* volume_regions.c - splits a limb into volume regions along its bones.
 *
 * Not in the thesis, whose strain energy alone loses volume where limbs bend. Tissue is nearly incompressible, but
 * it can flow: what the crease of an elbow loses bulges out around it. Preserving the volume of each prism or
 * vertex restores less and is rougher: such elements can only trade area for height, and the crease has neither.
 * Minimum volume at the arm's elbow, and roughness of the skin (supple measure, volume 1, five iterations): strain
 * alone 0.943, 0.0536; per prism 0.948, 0.0601; per vertex 0.951, 0.0613; regions 0.977, 0.0563. A region goes all
 * around the limb, from the skin to the bone line, so what the volumetric bones lose where they slide over a joint
 * counts too.
 *
 * Regions are the hat functions of points on the bone lines: the joints, and points between them about as far apart
 * as the tissue is thick. */
#include "solver/volume_regions.h"

/* Sections of one bone segment at most. */
enum { MAX_SECTIONS = 64 };

/* Sections of each bone segment, from the mean distance of the skin whose foot points are on it. */
static void count_sections(const sup_tissue *tissue, const sup_volumetric_skeleton *skeleton, double *thickness,
                           int32_t *sections)
{
    for (int32_t v = 0; v < tissue->skin_count; v++) {
        sup_foot_point foot = tissue->foot_points[v];
        thickness[foot.segment] +=
            sup_v3_distance(sup_tissue_point(tissue->skin, v), sup_foot_position(skeleton, foot));
        sections[foot.segment]++;
    }
    for (int32_t p = 0; p < skeleton->segment_count; p++) {
        double length = sup_segment_length(&skeleton->segments[p]);
        double count = sections[p] > 0 && thickness[p] > 0.0 ? length * sections[p] / thickness[p] : 1.0;
        sections[p] = count < 1.5 ? 1 : count > MAX_SECTIONS ? MAX_SECTIONS : (int32_t)(count + 0.5);
    }
}

/* The region at the end of a segment's i-th section; joints share theirs between all adjacent segments. */
static int32_t region_at(const sup_bone_segment *segment, int32_t first, int32_t sections, int32_t i)
{
    return i == 0 ? segment->node_from : i == sections ? segment->node_to : first + i - 1;
}

int32_t sup_volume_regions_create(const sup_tissue *tissue, const sup_volumetric_skeleton *skeleton, sup_arena *arena,
                                  sup_region_weights **weights)
{
    size_t segments = (size_t)skeleton->segment_count;
    double *thickness = sup_arena_alloc(arena, segments, sizeof *thickness);
    int32_t *sections = sup_arena_alloc(arena, segments, sizeof *sections);
    int32_t *first = sup_arena_alloc(arena, segments, sizeof *first);
    *weights = sup_arena_alloc(arena, (size_t)tissue->skin_count, sizeof **weights);
    if (thickness == NULL || sections == NULL || first == NULL || *weights == NULL) return 0;
    count_sections(tissue, skeleton, thickness, sections);
    int32_t count = skeleton->node_count;
    for (int32_t p = 0; p < skeleton->segment_count; p++) {
        first[p] = count;
        count += sections[p] - 1;
    }
    for (int32_t v = 0; v < tissue->skin_count; v++) {
        int32_t p = tissue->foot_points[v].segment;
        double at = tissue->foot_points[v].parameter * sections[p];
        int32_t i = at < 0.0 ? 0 : at >= sections[p] ? sections[p] - 1 : (int32_t)at;
        for (int32_t k = 0; k < 2; k++)
            (*weights)[v].region[k] = region_at(&skeleton->segments[p], first[p], sections[p], i + k);
        (*weights)[v].weight[1] = at - i;
        (*weights)[v].weight[0] = 1.0 - (at - i);
    }
    return count;
}

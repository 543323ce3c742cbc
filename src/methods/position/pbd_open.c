/* pbd_open.c - validated view of the arrays of a bound mesh. */
#include "methods/position/pbd.h"

#include <math.h>

enum { LANES = SUP_PBD_LANES };

static const void *get(const sup_model *model, const char *prefix, const char *name, sup_array_type type, int64_t count)
{
    char full[64];
    sup_format(full, sizeof full, "%s.%s", prefix, name);
    return sup_model_array(model, full, type, count);
}

static bool find_arrays(const sup_model *model, const char *prefix, sup_pbd *s)
{
    const int32_t *head = get(model, prefix, "head", SUP_ARRAY_INT32, 9);
    const float *numbers = get(model, prefix, "numbers", SUP_ARRAY_FLOAT, 1);
    if (head == NULL || numbers == NULL) return false;
    for (int i = 0; i < 9; i++)
        if (head[i] < 0 || head[i] > INT32_MAX / 64) return false;
    s->particle_count = head[0];
    s->slot_count = head[1];
    s->tet_count = head[2];
    s->edge_count = head[3];
    s->volume_batches = head[4];
    s->stretch_batches = head[5];
    for (int i = 0; i < SUP_PBD_LEVELS; i++)
        s->level_first[i + 1] = head[6 + i];
    s->cluster_count = s->level_first[SUP_PBD_LEVELS];
    s->mean_volume = numbers[0];
    int64_t tets = (int64_t)s->volume_batches * LANES, edges = (int64_t)s->stretch_batches * LANES;
    s->clusters = get(model, prefix, "clusters", SUP_ARRAY_INT32, 6 * (int64_t)s->cluster_count);
    s->slot = get(model, prefix, "slot", SUP_ARRAY_INT32, s->particle_count);
    s->particle_volume = get(model, prefix, "particle_volume", SUP_ARRAY_FLOAT, s->slot_count);
    s->inverse_mass = get(model, prefix, "inverse_mass", SUP_ARRAY_FLOAT, s->slot_count);
    s->volume_corner = get(model, prefix, "volume_corner", SUP_ARRAY_INT32, 4 * tets);
    s->volume_rest = get(model, prefix, "volume_rest", SUP_ARRAY_FLOAT, tets);
    s->volume_area = get(model, prefix, "volume_area", SUP_ARRAY_FLOAT, 4 * tets);
    s->stretch_corner = get(model, prefix, "stretch_corner", SUP_ARRAY_INT32, 2 * edges);
    s->stretch_rest = get(model, prefix, "stretch_rest", SUP_ARRAY_FLOAT, edges);
    s->stretch_compliance = get(model, prefix, "stretch_compliance", SUP_ARRAY_FLOAT, edges);
    return s->clusters != NULL && s->slot != NULL && s->particle_volume != NULL && s->inverse_mass != NULL &&
           s->volume_corner != NULL && s->volume_rest != NULL && s->volume_area != NULL && s->stretch_corner != NULL &&
           s->stretch_rest != NULL && s->stretch_compliance != NULL;
}

static bool in_range(const int32_t *values, int64_t count, int32_t end)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i] < 0 || values[i] >= end) return false;
    return true;
}

/* Finite, not negative, and within the range of a normalised body. */
static bool usable(const float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!(values[i] >= 0.0f && values[i] < 1e24f)) return false;
    return true;
}

static bool range_ok(int32_t first, int32_t end, int32_t count)
{
    return first >= 0 && first <= end && end <= count;
}

/* Clusters are in range, and clusters of the first level use only their own slots: threads never share a particle. */
static bool clusters_are_valid(const sup_pbd *s)
{
    for (int32_t i = 0; i < s->cluster_count; i++) {
        const sup_pbd_cluster *p = &s->clusters[i];
        if (!range_ok(p->volume_first, p->volume_end, s->volume_batches) ||
            !range_ok(p->stretch_first, p->stretch_end, s->stretch_batches) ||
            !range_ok(p->particle_first, p->particle_end, s->slot_count) || p->particle_first % LANES != 0 ||
            p->particle_end % LANES != 0)
            return false;
        bool first_level = i < s->level_first[1];
        if (!first_level && p->particle_first != p->particle_end) return false;
        if (i > 0 && (p->volume_first != p[-1].volume_end || p->stretch_first != p[-1].stretch_end)) return false;
        if (first_level && i > 0 && p->particle_first != p[-1].particle_end) return false;
        if (!first_level) continue;
        for (int64_t k = (int64_t)p->volume_first * 4 * LANES; k < (int64_t)p->volume_end * 4 * LANES; k++)
            if (s->volume_corner[k] < p->particle_first || s->volume_corner[k] >= p->particle_end) return false;
        for (int64_t k = (int64_t)p->stretch_first * 2 * LANES; k < (int64_t)p->stretch_end * 2 * LANES; k++)
            if (s->stretch_corner[k] < p->particle_first || s->stretch_corner[k] >= p->particle_end) return false;
    }
    return true;
}

sup_result sup_pbd_open(const sup_model *model, const char *prefix, sup_pbd *s, sup_error *error)
{
    memset(s, 0, sizeof *s);
    int64_t tets, edges;
    bool ok = find_arrays(model, prefix, s);
    tets = (int64_t)s->volume_batches * LANES, edges = (int64_t)s->stretch_batches * LANES;
    ok = ok && s->slot_count > 0 && s->slot_count % LANES == 0 && s->level_first[1] <= s->level_first[2] &&
         s->level_first[2] <= s->cluster_count && s->particle_count <= s->slot_count && s->mean_volume > 0.0f &&
         s->mean_volume < 1e18f && in_range(s->slot, s->particle_count, s->slot_count) &&
         in_range(s->volume_corner, 4 * tets, s->slot_count) && in_range(s->stretch_corner, 2 * edges, s->slot_count) &&
         usable(s->particle_volume, s->slot_count) && usable(s->inverse_mass, s->slot_count) &&
         usable(s->volume_rest, tets) && usable(s->volume_area, 4 * tets) && usable(s->stretch_rest, edges) &&
         usable(s->stretch_compliance, edges) && clusters_are_valid(s);
    return ok ? SUP_OK
              : sup_fail(error, SUP_ERROR_FORMAT, "position.model", "",
                         "The model is damaged: its constraints are inconsistent. Bind it again.");
}

/* upsample_rows.c - converts the clusters of upsampling to rows of a sparse matrix. See upsample_rows.h. */
#include "cuda/upsample_rows.h"

/* A render vertex in a cluster. */
typedef struct source {
    const sup_upsample_clusters *clusters;
    int32_t cluster, lane;
    bool tangents; /* include tangent weights */
} source;

/* Its row in the matrix, and its index `own` among the `own_count` rows of its kind (plain or follower). */
typedef struct target {
    const sup_upsample_row_table *rows;
    int32_t row, own, own_count;
} target;

static source source_of(const sup_upsample_clusters *clusters, int64_t i, bool tangents)
{
    return (source){clusters, (int32_t)(i / SUP_UPSAMPLE_CLUSTER), (int32_t)(i % SUP_UPSAMPLE_CLUSTER), tangents};
}

static int16_t weight_at(const source *s, int32_t entry, int32_t channel)
{
    const sup_upsample_clusters *b = s->clusters;
    return b->weights[((size_t)entry * (size_t)b->channels + (size_t)channel) * SUP_UPSAMPLE_CLUSTER + (size_t)s->lane];
}

static int16_t tangent_at(const source *s, int32_t entry, int32_t channel)
{
    return s->clusters->tangents[(2 * (size_t)entry + (size_t)channel) * SUP_UPSAMPLE_CLUSTER + (size_t)s->lane];
}

static bool has_weight(const source *s, int32_t entry)
{
    if (s->tangents && (tangent_at(s, entry, 0) != 0 || tangent_at(s, entry, 1) != 0)) return true;
    for (int32_t channel = 0; channel < s->clusters->channels; channel++)
        if (weight_at(s, entry, channel) != 0) return true;
    return false;
}

/* The entry with the largest normal weight, as in upsample_kernel.h. */
static int32_t strongest(const source *s)
{
    int32_t best = s->clusters->first[s->cluster], channel = s->clusters->channels - 1;
    for (int32_t e = best + 1; e < s->clusters->first[s->cluster + 1]; e++)
        if (weight_at(s, e, channel) > weight_at(s, best, channel)) best = e;
    return best;
}

/* Number of rows of one kind; updates the maximum number of neighbours. */
static int32_t count_rows(const sup_upsample_clusters *b, bool tangents, int32_t *slots)
{
    int32_t rows = 0;
    for (int64_t i = 0; i < (int64_t)b->cluster_count * SUP_UPSAMPLE_CLUSTER; i++) {
        if (b->render_vertex[i] < 0) continue;
        source s = source_of(b, i, tangents);
        int32_t used = 1, first = strongest(&s);
        for (int32_t e = b->first[s.cluster]; e < b->first[s.cluster + 1]; e++)
            used += e != first && has_weight(&s, e);
        *slots = used > *slots ? used : *slots;
        rows++;
    }
    return rows;
}

static void write_slot(const source *s, int32_t entry, bool empty, const target *to, int32_t slot)
{
    const sup_upsample_clusters *b = s->clusters;
    const sup_upsample_row_table *rows = to->rows;
    size_t at = (size_t)slot * (size_t)rows->row_count + (size_t)to->row, channels = (size_t)b->channels;
    if (rows->narrow != NULL)
        rows->narrow[at] = b->narrow_index[entry];
    else
        rows->wide[at] = b->wide_index[entry];
    float *weights = b->channels == 2 ? rows->plain : rows->followers;
    weights += ((size_t)slot * (size_t)to->own_count + (size_t)to->own) * channels;
    for (size_t channel = 0; channel < channels; channel++) {
        float unit = b->units[((size_t)s->cluster * channels + channel) * SUP_UPSAMPLE_CLUSTER + (size_t)s->lane];
        weights[channel] = empty ? 0.0f : (float)weight_at(s, entry, (int32_t)channel) * unit;
    }
    for (size_t channel = 0; s->tangents && channel < 2; channel++) {
        float unit = b->tangent_units[((size_t)s->cluster * 2 + channel) * SUP_UPSAMPLE_CLUSTER + (size_t)s->lane];
        rows->tangents[2 * at + channel] = empty ? 0.0f : (float)tangent_at(s, entry, (int32_t)channel) * unit;
    }
}

static void write_rows(const sup_upsample_clusters *b, target to)
{
    for (int64_t i = 0; i < (int64_t)b->cluster_count * SUP_UPSAMPLE_CLUSTER; i++) {
        if (b->render_vertex[i] < 0) continue;
        source s = source_of(b, i, to.rows->tangents != NULL);
        int32_t slot = 0, first = strongest(&s);
        to.rows->vertex[to.row] = b->render_vertex[i];
        if (s.tangents) to.rows->signs[to.row] = b->tangent_signs[i];
        write_slot(&s, first, false, &to, slot++);
        for (int32_t e = b->first[s.cluster]; e < b->first[s.cluster + 1]; e++)
            if (e != first && has_weight(&s, e)) write_slot(&s, e, false, &to, slot++);
        while (slot < to.rows->slots)
            write_slot(&s, first, true, &to, slot++);
        to.row++;
        to.own++;
    }
}

sup_result sup_upsample_row_table_create(const sup_upsample *from, bool tangents, sup_arena *arena,
                                         sup_upsample_row_table *rows, sup_error *error)
{
    bool wide = from->coarse_count > 65536;
    *rows = (sup_upsample_row_table){0};
    rows->plain_count = count_rows(&from->plain, tangents, &rows->slots);
    int32_t follower_count = count_rows(&from->followers, tangents, &rows->slots);
    rows->row_count = rows->plain_count + follower_count;
    size_t slots = (size_t)rows->slots, all = slots * (size_t)rows->row_count;
    rows->vertex = sup_arena_alloc(arena, (size_t)rows->row_count + 1, sizeof(int32_t));
    rows->wide = wide ? sup_arena_alloc(arena, all + 1, sizeof(int32_t)) : NULL;
    rows->narrow = wide ? NULL : sup_arena_alloc(arena, all + 1, sizeof(uint16_t));
    rows->plain = sup_arena_alloc(arena, slots * (size_t)rows->plain_count + 1, 2 * sizeof(float));
    rows->followers = sup_arena_alloc(arena, slots * (size_t)follower_count + 1, 4 * sizeof(float));
    if (tangents) {
        rows->tangents = sup_arena_alloc(arena, all + 1, 2 * sizeof(float));
        rows->signs = sup_arena_alloc(arena, (size_t)rows->row_count + 1, sizeof(float));
    }
    if ((tangents && (!rows->tangents || !rows->signs)) || !rows->vertex || (!rows->wide && !rows->narrow) ||
        !rows->plain || !rows->followers)
        return sup_fail_memory(error, "the render mesh");
    write_rows(&from->plain, (target){rows, 0, 0, rows->plain_count});
    write_rows(&from->followers, (target){rows, rows->plain_count, 0, follower_count});
    return SUP_OK;
}

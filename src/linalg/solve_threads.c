/* solve_threads.c - subdomains of a float factor: finds them, reorders the factor, solves with them. */
#include "linalg/solve_threads.h"
#include "linalg/kernels.h"

/* The int array: a head, panel_first, column_first, slot_first, value_first, slot_row, rows. */
enum { HEAD_MAGIC, HEAD_SUBDOMAINS, HEAD_SIZE, HEAD_ROWS, HEAD_SLOTS, HEAD_COUNT = 8 };
enum { MAGIC = 0x31545250, SEPARATOR = -1, NONE = -1 };
/* Factors with fewer values stay in one subdomain: distributing them takes longer than solving. */
enum { SMALL_FACTOR = 40000 };

static int64_t value_offset(const int32_t *pair)
{
    return pair[0] | (int64_t)pair[1] << 31;
}

static int64_t panel_values(const sup_float_panel *p)
{
    return (int64_t)p->width * (p->width + 1) / 2 + (int64_t)p->width * p->below;
}

/* Units are runs of panels that share one list of rows: the supernodes. They are never split. */
typedef struct cutter {
    sup_float_factor factor;
    sup_arena arena;
    int32_t unit_count, subdomain_count;
    int32_t *unit_first;      /* [unit_count+1] panels */
    int32_t *parent;          /* [unit_count] NONE for roots */
    int64_t *work;            /* [unit_count] values of the subtree */
    int32_t *subdomain;       /* [unit_count] SEPARATOR or the subdomain */
    int32_t *panel_order;     /* [panel_count] old panel at each new index */
    int32_t *column_new;      /* [size] */
    int32_t *subdomain_panel; /* [subdomain_count+1] */
    int64_t *value_first;     /* [panel_count+1] of the old panels */
} cutter;

static bool same_unit(const sup_float_factor *f, int32_t panel)
{
    const sup_float_panel *a = &f->panels[panel], *b = a + 1;
    return a->below > 0 && f->rows[a->rows] == b->first && a->rows + a->below == b->rows + b->below;
}

static bool find_units(cutter *c)
{
    const sup_float_factor *f = &c->factor;
    size_t panels = (size_t)f->panel_count, size = (size_t)f->size;
    c->unit_first = sup_arena_alloc(&c->arena, panels + 1, sizeof(int32_t));
    c->value_first = sup_arena_alloc(&c->arena, panels + 1, sizeof(int64_t));
    c->panel_order = sup_arena_alloc(&c->arena, panels, sizeof(int32_t));
    c->column_new = sup_arena_alloc(&c->arena, size, sizeof(int32_t));
    c->parent = sup_arena_alloc(&c->arena, panels, sizeof(int32_t));
    c->work = sup_arena_alloc(&c->arena, panels, sizeof(int64_t));
    c->subdomain = sup_arena_alloc(&c->arena, panels, sizeof(int32_t));
    if (!c->unit_first || !c->value_first || !c->panel_order || !c->column_new || !c->parent || !c->work ||
        !c->subdomain)
        return false;
    for (int32_t k = 0; k < f->panel_count; k++) {
        c->value_first[k + 1] = c->value_first[k] + panel_values(&f->panels[k]);
        if (k == 0 || !same_unit(f, k - 1)) c->unit_first[c->unit_count++] = k;
    }
    c->unit_first[c->unit_count] = f->panel_count;
    return true;
}

/* Parents, and the work of every subtree. Children precede their parents. */
static void find_tree(cutter *c)
{
    const sup_float_factor *f = &c->factor;
    int32_t *unit_of = c->column_new; /* by column, for now */
    for (int32_t u = 0; u < c->unit_count; u++)
        for (int32_t k = c->unit_first[u]; k < c->unit_first[u + 1]; k++)
            for (int32_t i = 0; i < f->panels[k].width; i++)
                unit_of[f->panels[k].first + i] = u;
    for (int32_t u = 0; u < c->unit_count; u++)
        c->work[u] = c->value_first[c->unit_first[u + 1]] - c->value_first[c->unit_first[u]];
    for (int32_t u = 0; u < c->unit_count; u++) {
        const sup_float_panel *last = &f->panels[c->unit_first[u + 1] - 1];
        c->parent[u] = last->below > 0 ? unit_of[f->rows[last->rows]] : NONE;
        if (c->parent[u] != NONE) c->work[c->parent[u]] += c->work[u];
    }
}

/* Units whose subtree is too large for one subdomain form the separator; the subtrees below fill the subdomains one
 * by one. */
static void assign_subdomains(cutter *c, int32_t wanted)
{
    int64_t total = c->factor.value_count, limit = total < SMALL_FACTOR ? total : total / wanted, left = total;
    for (int32_t u = 0; u < c->unit_count; u++)
        if (c->work[u] > limit) left -= c->value_first[c->unit_first[u + 1]] - c->value_first[c->unit_first[u]];
    int64_t share = total < SMALL_FACTOR ? total : left / wanted + 1, filled = 0;
    int32_t subdomain = 0;
    for (int32_t u = 0; u < c->unit_count; u++) {
        bool root = c->work[u] <= limit && (c->parent[u] == NONE || c->work[c->parent[u]] > limit);
        c->subdomain[u] = SEPARATOR;
        if (!root) continue;
        if (filled >= share) {
            subdomain++;
            filled = 0;
        }
        c->subdomain[u] = subdomain;
        filled += c->work[u];
    }
    c->subdomain_count = c->unit_count > 0 ? subdomain + 1 : 0;
    for (int32_t u = c->unit_count - 1; u >= 0; u--)
        if (c->work[u] <= limit && c->subdomain[u] == SEPARATOR) c->subdomain[u] = c->subdomain[c->parent[u]];
}

/* The new order of panels and columns: subdomains, then the separator, each in the old order. */
static bool order_panels(cutter *c)
{
    const sup_float_factor *f = &c->factor;
    int32_t *next = sup_arena_alloc(&c->arena, (size_t)c->subdomain_count + 2, sizeof(int32_t));
    c->subdomain_panel = sup_arena_alloc(&c->arena, (size_t)c->subdomain_count + 1, sizeof(int32_t));
    if (next == NULL || c->subdomain_panel == NULL) return false;
    for (int32_t u = 0; u < c->unit_count; u++)
        next[(c->subdomain[u] == SEPARATOR ? c->subdomain_count : c->subdomain[u]) + 1] +=
            c->unit_first[u + 1] - c->unit_first[u];
    for (int32_t k = 0; k <= c->subdomain_count; k++)
        next[k + 1] += next[k];
    memcpy(c->subdomain_panel, next, ((size_t)c->subdomain_count + 1) * sizeof(int32_t));
    for (int32_t u = 0; u < c->unit_count; u++)
        for (int32_t k = c->unit_first[u]; k < c->unit_first[u + 1]; k++)
            c->panel_order[next[c->subdomain[u] == SEPARATOR ? c->subdomain_count : c->subdomain[u]]++] = k;
    int32_t column = 0;
    for (int32_t k = 0; k < f->panel_count; k++)
        for (int32_t i = 0; i < f->panels[c->panel_order[k]].width; i++)
            c->column_new[f->panels[c->panel_order[k]].first + i] = column++;
    return true;
}

/* Rewrites the factor's arrays in the new order. */
static bool move_factor(cutter *c, int32_t *ints, float *floats)
{
    const sup_float_factor *f = &c->factor;
    int32_t *order = sup_arena_copy(&c->arena, f->order, (size_t)f->size, sizeof(int32_t));
    sup_float_panel *panels = sup_arena_copy(&c->arena, f->panels, (size_t)f->panel_count, sizeof(sup_float_panel));
    float *values = sup_arena_copy(&c->arena, f->values, (size_t)f->value_count, sizeof(float));
    if (order == NULL || panels == NULL || values == NULL) return false;
    int32_t *new_order = ints + (f->order - ints), *rows = ints + (f->rows - ints);
    sup_float_panel *new_panels = (sup_float_panel *)(void *)(ints + ((const int32_t *)(const void *)f->panels - ints));
    for (int32_t i = 0; i < f->size; i++)
        new_order[c->column_new[i]] = order[i];
    for (int32_t r = 0; r < f->row_count; r++)
        rows[r] = c->column_new[rows[r]];
    float *to = floats;
    for (int32_t k = 0; k < f->panel_count; k++) {
        int32_t old = c->panel_order[k];
        new_panels[k] = panels[old];
        new_panels[k].first = c->column_new[panels[old].first];
        size_t count = (size_t)(c->value_first[old + 1] - c->value_first[old]);
        memcpy(to, values + c->value_first[old], count * sizeof(float));
        to += count;
    }
    return true;
}

/* Slots of one subdomain: the separator rows that it updates, increasing. `slot_of` [size] is scratch. Returns their
 * count; fills slot_row and rows unless they are NULL. */
static int32_t subdomain_slots(const sup_float_factor *f, int32_t begin, int32_t end, int32_t separator,
                               int32_t first_slot, int32_t *slot_of, int32_t *slot_row, int32_t *rows)
{
    int32_t count = 0;
    for (int32_t i = separator; i < f->size; i++)
        slot_of[i] = NONE;
    for (int32_t k = begin; k < end; k++)
        for (int32_t r = 0; r < f->panels[k].below; r++)
            if (f->rows[f->panels[k].rows + r] >= separator) slot_of[f->rows[f->panels[k].rows + r]] = 0;
    for (int32_t i = separator; i < f->size; i++) {
        if (slot_of[i] == NONE) continue;
        slot_of[i] = first_slot + count++;
        if (slot_row != NULL) slot_row[slot_of[i]] = i;
    }
    if (rows == NULL) return count;
    for (int32_t k = begin; k < end; k++)
        for (int32_t r = f->panels[k].rows; r < f->panels[k].rows + f->panels[k].below; r++)
            rows[r] = f->rows[r] >= separator ? f->size + slot_of[f->rows[r]] : f->rows[r];
    return count;
}

static int64_t ints_needed(int64_t subdomains, int64_t slots, int64_t rows)
{
    return HEAD_COUNT + 5 * (subdomains + 1) + slots + rows;
}

static void write_subdomains(const cutter *c, const sup_float_factor *f, int32_t slot_count, int32_t *slot_of,
                             int32_t *ints)
{
    int32_t n = c->subdomain_count, *panel_first = ints + HEAD_COUNT, *column_first = panel_first + n + 1;
    int32_t *slot_first = column_first + n + 1, *value_first = slot_first + n + 1;
    int32_t *slot_row = value_first + 2 * (n + 1), *rows = slot_row + slot_count;
    int32_t separator = c->subdomain_panel[n] < f->panel_count ? f->panels[c->subdomain_panel[n]].first : f->size;
    int32_t head[HEAD_COUNT] = {MAGIC, n, f->size, f->row_count, slot_count};
    memcpy(ints, head, sizeof head);
    memcpy(panel_first, c->subdomain_panel, ((size_t)n + 1) * sizeof(int32_t));
    if (f->row_count > 0) memcpy(rows, f->rows, (size_t)f->row_count * sizeof(int32_t));
    int32_t slot = 0, panel = 0;
    int64_t value = 0;
    for (int32_t k = 0; k <= n; k++) {
        for (; panel < panel_first[k]; panel++)
            value += panel_values(&f->panels[panel]);
        column_first[k] = panel < f->panel_count ? f->panels[panel].first : f->size;
        slot_first[k] = slot;
        value_first[2 * k] = (int32_t)(value & 0x7fffffff);
        value_first[2 * k + 1] = (int32_t)(value >> 31);
        if (k < n)
            slot += subdomain_slots(f, panel_first[k], panel_first[k + 1], separator, slot, slot_of, slot_row, rows);
    }
}

static bool cut(cutter *c, int32_t wanted, int32_t *factor_ints, float *factor_floats)
{
    if (!find_units(c)) return false;
    find_tree(c);
    assign_subdomains(c, wanted < 1 ? 1 : wanted);
    return order_panels(c) && move_factor(c, factor_ints, factor_floats);
}

sup_result sup_float_subdomains_create(const sup_context *context, int32_t subdomain_count, int32_t *factor_ints,
                                       float *factor_floats, int32_t **ints, int64_t *int_count, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    cutter c = {.factor = sup_float_factor_view(factor_ints, factor_floats),
                .arena = sup_arena_create(&resolved.allocator)};
    bool done = cut(&c, subdomain_count, factor_ints, factor_floats);
    int32_t *slot_of = done ? sup_arena_alloc(&c.arena, (size_t)c.factor.size, sizeof(int32_t)) : NULL, *made = NULL;
    if (slot_of != NULL) {
        const sup_float_factor *f = &c.factor;
        int32_t slots = 0, separator = c.subdomain_panel[c.subdomain_count];
        separator = separator < f->panel_count ? f->panels[separator].first : f->size;
        for (int32_t k = 0; k < c.subdomain_count; k++)
            slots +=
                subdomain_slots(f, c.subdomain_panel[k], c.subdomain_panel[k + 1], separator, 0, slot_of, NULL, NULL);
        *int_count = ints_needed(c.subdomain_count, slots, f->row_count);
        made = sup_alloc(&resolved.allocator, (size_t)*int_count * sizeof(int32_t));
        if (made != NULL) write_subdomains(&c, f, slots, slot_of, made);
    }
    sup_arena_destroy(&c.arena);
    if (made == NULL) return sup_fail_memory(error, "the subdomains of a factor");
    *ints = made;
    return SUP_OK;
}

sup_float_subdomains sup_float_subdomains_view(const int32_t *ints)
{
    sup_float_subdomains p = {.subdomain_count = ints[HEAD_SUBDOMAINS],
                              .size = ints[HEAD_SIZE],
                              .row_count = ints[HEAD_ROWS],
                              .slot_count = ints[HEAD_SLOTS]};
    p.panel_first = ints + HEAD_COUNT;
    p.column_first = p.panel_first + p.subdomain_count + 1;
    p.slot_first = p.column_first + p.subdomain_count + 1;
    p.value_first = p.slot_first + p.subdomain_count + 1;
    p.slot_row = p.value_first + 2 * (p.subdomain_count + 1);
    p.rows = p.slot_row + p.slot_count;
    return p;
}

/* The rows of a subdomain are inside it or in its own slots. */
static bool subdomain_valid(const sup_float_factor *f, const sup_float_subdomains *p, int32_t subdomain)
{
    for (int32_t k = p->panel_first[subdomain]; k < p->panel_first[subdomain + 1]; k++)
        for (int32_t r = f->panels[k].rows; r < f->panels[k].rows + f->panels[k].below; r++) {
            int64_t slot = (int64_t)p->rows[r] - f->size; /* the array may contain any value */
            if (slot < 0 ? p->rows[r] != f->rows[r] || p->rows[r] >= p->column_first[subdomain + 1]
                         : slot < p->slot_first[subdomain] || slot >= p->slot_first[subdomain + 1])
                return false;
        }
    return true;
}

bool sup_float_subdomains_check(const sup_float_factor *factor, const int32_t *ints, int64_t int_count)
{
    const sup_float_factor *f = factor;
    if (ints == NULL || int_count < HEAD_COUNT || ints[HEAD_MAGIC] != MAGIC) return false;
    if (ints[HEAD_SUBDOMAINS] < 0 || ints[HEAD_SLOTS] < 0 || ints[HEAD_SIZE] != f->size ||
        ints[HEAD_ROWS] != f->row_count || ints[HEAD_SLOTS] > INT32_MAX - f->size ||
        ints_needed(ints[HEAD_SUBDOMAINS], ints[HEAD_SLOTS], ints[HEAD_ROWS]) != int_count)
        return false;
    sup_float_subdomains p = sup_float_subdomains_view(ints);
    int32_t panel = 0;
    int64_t value = 0;
    if (p.panel_first[0] != 0 || p.slot_first[0] != 0 || p.slot_first[p.subdomain_count] != p.slot_count) return false;
    for (int32_t k = 0; k <= p.subdomain_count; k++) {
        if (p.panel_first[k] < panel || p.panel_first[k] > f->panel_count) return false;
        for (; panel < p.panel_first[k]; panel++)
            value += panel_values(&f->panels[panel]);
        if (p.column_first[k] != (panel < f->panel_count ? f->panels[panel].first : f->size)) return false;
        if (p.value_first[2 * k] < 0 || p.value_first[2 * k + 1] < 0 || value_offset(p.value_first + 2 * k) != value)
            return false;
        if (k > 0 && (p.slot_first[k] < p.slot_first[k - 1] || p.slot_first[k] > p.slot_count)) return false;
    }
    for (int32_t s = 0; s < p.slot_count; s++)
        if (p.slot_row[s] < p.column_first[p.subdomain_count] || p.slot_row[s] >= f->size) return false;
    for (int32_t k = 0; k < p.subdomain_count; k++)
        if (!subdomain_valid(f, &p, k)) return false;
    return true;
}

/* Forward on panels [begin, end). Panels with a marked row pass the mark on to the panel of their first row below. */
static void forward4(const sup_float_factor *f, bool marked, int32_t begin, int32_t end, const float *values, float *x)
{
    const sup_linalg_kernels *kernels = sup_linalg_kernels_best();
    if (!marked) kernels->float_forward4(f, begin, end, values, x);
    for (int32_t k = begin; k < end && marked; k++) {
        const sup_float_panel *p = &f->panels[k];
        float *x_own = x + 4 * (int64_t)p->first;
        bool reached = false;
        for (int32_t i = 0; i < p->width; i++)
            reached = reached || x_own[4 * i + 3] != 0.0f;
        if (reached) {
            kernels->float_forward4(f, k, k + 1, values, x);
            x_own[3] = 1.0f;
            if (p->below > 0) x[4 * (int64_t)f->rows[p->rows] + 3] = 1.0f;
        }
        values += panel_values(p);
    }
}

/* Backward; `end_values`: end of those of the last panel. */
static void backward4(const sup_float_factor *f, bool marked, int32_t begin, int32_t end, const float *end_values,
                      float *x)
{
    const sup_linalg_kernels *kernels = sup_linalg_kernels_best();
    if (!marked) kernels->float_backward4(f, begin, end, end_values, x);
    for (int32_t k = end - 1; k >= begin && marked; k--) {
        if (x[4 * (int64_t)f->panels[k].first + 3] != 0.0f) kernels->float_backward4(f, k, k + 1, end_values, x);
        end_values -= panel_values(&f->panels[k]);
    }
}

void sup_float_subdomain_forward4(const sup_float_factor *factor, const sup_float_subdomains *subdomains,
                                  int32_t subdomain, float *x)
{
    sup_float_factor own = *factor;
    own.rows = subdomains->rows;
    int32_t slots = subdomains->slot_first[subdomain + 1] - subdomains->slot_first[subdomain];
    memset(x + ((int64_t)factor->size + subdomains->slot_first[subdomain]) * 4, 0, (size_t)slots * 4 * sizeof(float));
    forward4(&own, subdomains->marked, subdomains->panel_first[subdomain], subdomains->panel_first[subdomain + 1],
             factor->values + value_offset(subdomains->value_first + 2 * subdomain), x);
}

void sup_float_separator_solve4(const sup_float_factor *factor, const sup_float_subdomains *subdomains, float *x)
{
    const float *slot = x + (int64_t)factor->size * 4;
    int32_t separator = subdomains->panel_first[subdomains->subdomain_count];
    for (int32_t s = 0; s < subdomains->slot_count; s++)
        for (int32_t q = 0; q < 4; q++)
            x[(int64_t)subdomains->slot_row[s] * 4 + q] += slot[(int64_t)s * 4 + q];
    forward4(factor, subdomains->marked, separator, factor->panel_count,
             factor->values + value_offset(subdomains->value_first + (int64_t)2 * subdomains->subdomain_count), x);
    backward4(factor, subdomains->marked, separator, factor->panel_count, factor->values + factor->value_count, x);
}

void sup_float_subdomain_backward4(const sup_float_factor *factor, const sup_float_subdomains *subdomains,
                                   int32_t subdomain, float *x)
{
    sup_float_factor own = *factor;
    own.rows = subdomains->rows;
    for (int32_t s = subdomains->slot_first[subdomain]; s < subdomains->slot_first[subdomain + 1]; s++)
        memcpy(x + ((int64_t)factor->size + s) * 4, x + (int64_t)subdomains->slot_row[s] * 4, 4 * sizeof(float));
    backward4(&own, subdomains->marked, subdomains->panel_first[subdomain], subdomains->panel_first[subdomain + 1],
              factor->values + value_offset(subdomains->value_first + 2 * (subdomain + 1)), x);
}

typedef struct solve_work {
    const sup_float_factor *factor;
    const sup_float_subdomains *subdomains;
    float *x;
} solve_work;

static void forward_subdomains(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const solve_work *work = data;
    SUP_UNUSED(worker);
    for (int32_t k = begin; k < end; k++)
        sup_float_subdomain_forward4(work->factor, work->subdomains, k, work->x);
}

static void backward_subdomains(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const solve_work *work = data;
    SUP_UNUSED(worker);
    for (int32_t k = begin; k < end; k++)
        sup_float_subdomain_backward4(work->factor, work->subdomains, k, work->x);
}

void sup_float_subdomains_solve4(const sup_context *context, const sup_float_factor *factor,
                                 const sup_float_subdomains *subdomains, float *x)
{
    sup_context resolved = sup_context_resolve(context);
    solve_work work = {factor, subdomains, x};
    sup_parallel(&resolved, subdomains->subdomain_count, 1, forward_subdomains, &work);
    sup_float_separator_solve4(factor, subdomains, x);
    sup_parallel(&resolved, subdomains->subdomain_count, 1, backward_subdomains, &work);
}

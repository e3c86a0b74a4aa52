/* AND, OR, CASE and COALESCE: an argument is evaluated only for the rows that still need it, so
 * only a taken branch can fail. */
#include "expr/kernel.h"

/* Functions whose text arguments cost no more than a number's. */
static bool is_cheap_on_text(const sf_expr *expr)
{
    const char *name = expr->function->name;
    if (strcmp(name, "is null") == 0 || strcmp(name, "is not null") == 0)
        return true;
    return (strcmp(name, "=") == 0 || strcmp(name, "<>") == 0 || strcmp(name, "!=") == 0) &&
           (expr->args[0]->kind == SF_EXPR_LITERAL || expr->args[1]->kind == SF_EXPR_LITERAL);
}

bool sf_expr_is_cheap(const sf_expr *expr)
{
    if (expr->kind == SF_EXPR_COLUMN || expr->kind == SF_EXPR_LITERAL)
        return true;
    if (expr->kind == SF_EXPR_CASE || expr->kind == SF_EXPR_COALESCE)
        return false;
    if (expr->function &&
        (expr->function->flags & (SF_FN_FAILS | SF_FN_VOLATILE) || sf_type_is_view(expr->type)))
        return false;
    for (uint32_t i = 0; i < expr->arg_count; i++)
        if (!sf_expr_is_cheap(expr->args[i]) ||
            (sf_type_is_view(expr->args[i]->type) && !(expr->function && is_cheap_on_text(expr))))
            return false;
    return true;
}

/* ---- scratch ---- */

/* Positions in the result and the batch rows they stand for. */
typedef struct {
    uint32_t *at, *rows;
    uint32_t count;
} places;

static bool places_init(places *all, uint32_t capacity)
{
    all->at = sf_alloc(2 * sizeof(uint32_t) * (capacity ? capacity : 1));
    all->rows = all->at ? all->at + capacity : NULL;
    all->count = 0;
    return all->at != NULL;
}

static void places_of(places *all, sf_sel sel)
{
    for (uint32_t i = 0; i < sel.count; i++) {
        all->at[i] = i;
        all->rows[i] = sf_sel_row(sel, i);
    }
    all->count = sel.count;
}

static sf_sel places_sel(const places *all)
{
    return (sf_sel){all->rows, all->count};
}

/* ---- truth: a Bool operand as bytes "is true" and "is false" ---- */

static void truth_bytes(const sf_operand *operand, uint32_t rows, uint8_t *is_true,
                        uint8_t *is_false)
{
    if (!operand->column) {
        bool null = operand->constant->is_null;
        memset(is_true, !null && operand->constant->as.boolean, rows);
        memset(is_false, !null && !operand->constant->as.boolean, rows);
        return;
    }
    const uint8_t *lanes = operand->column->data;
    const uint64_t *valid = operand->column->valid;
    if (!valid) {
        for (uint32_t i = 0; i < rows; i++) {
            is_true[i] = lanes[i];
            is_false[i] = lanes[i] ^ 1;
        }
        return;
    }
    for (uint32_t i = 0; i < rows; i++) {
        uint8_t present = valid[i >> 6] >> (i & 63) & 1;
        is_true[i] = lanes[i] & present;
        is_false[i] = (lanes[i] ^ 1) & present;
    }
}

static sf_column *truth_column(const uint8_t *is_true, const uint8_t *is_false, uint32_t rows)
{
    uint8_t known = 1;
    for (uint32_t i = 0; i < rows; i++)
        known &= is_true[i] | is_false[i];
    sf_column *out = sf_column_new(SF_TYPE_BOOL, rows, !known);
    if (!out)
        return NULL;
    if (rows)
        memcpy(sf_column_lanes(out), is_true, rows);
    if (!known) {
        uint64_t *valid = sf_column_valid(out);
        memset(valid, 0, SF_VALID_WORDS(rows) * 8);
        for (uint32_t i = 0; i < rows; i++)
            valid[i >> 6] |= (uint64_t)(is_true[i] | is_false[i]) << (i & 63);
    }
    return out;
}

typedef struct {
    uint8_t *is_true, *is_false, *next_true, *next_false;
    places open;
} logic;

static void logic_combine(sf_expr_kind kind, logic *state, uint32_t rows)
{
    uint8_t *t = state->is_true, *f = state->is_false;
    const uint8_t *nt = state->next_true, *nf = state->next_false;
    if (kind == SF_EXPR_AND) {
        for (uint32_t i = 0; i < rows; i++) {
            t[i] &= nt[i];
            f[i] |= nf[i];
        }
    } else {
        for (uint32_t i = 0; i < rows; i++) {
            t[i] |= nt[i];
            f[i] &= nf[i];
        }
    }
}

static void logic_combine_at(sf_expr_kind kind, logic *state)
{
    for (uint32_t i = 0; i < state->open.count; i++) {
        uint32_t at = state->open.at[i];
        uint8_t *t = &state->is_true[at], *f = &state->is_false[at];
        if (kind == SF_EXPR_AND) {
            *t &= state->next_true[i];
            *f |= state->next_false[i];
        } else {
            *t |= state->next_true[i];
            *f &= state->next_false[i];
        }
    }
}

static sf_status logic_next(const sf_eval_ctx *ctx, const sf_expr *expr, uint32_t index, sf_sel sel,
                            logic *state)
{
    const sf_expr *arg = expr->args[index];
    bool dense = index == 0 || sf_expr_is_cheap(arg);
    sf_sel part = sel;
    if (!dense) {
        const uint8_t *settled = expr->kind == SF_EXPR_AND ? state->is_false : state->is_true;
        uint32_t n = 0;
        for (uint32_t i = 0; i < sel.count; i++) {
            state->open.at[n] = i;
            state->open.rows[n] = sf_sel_row(sel, i);
            n += !settled[i];
        }
        state->open.count = n;
        part = places_sel(&state->open);
        if (n == 0)
            return SF_OK;
    }
    sf_operand operand;
    SF_TRY(sf_eval_operand(ctx, arg, part, &operand));
    truth_bytes(&operand, part.count, index ? state->next_true : state->is_true,
                index ? state->next_false : state->is_false);
    sf_operand_drop(&operand);
    if (index && dense)
        logic_combine(expr->kind, state, sel.count);
    else if (index)
        logic_combine_at(expr->kind, state);
    return SF_OK;
}

sf_status sf_eval_logic(const sf_eval_ctx *ctx, const sf_expr *expr, sf_sel sel, sf_operand *out)
{
    size_t rows = sel.count;
    logic state = {.is_true = sf_alloc(4 * rows + 1)};
    if (!state.is_true || !places_init(&state.open, sel.count)) {
        sf_free(state.is_true);
        return sf_fail_memory(ctx->err);
    }
    state.is_false = state.is_true + rows;
    state.next_true = state.is_false + rows;
    state.next_false = state.next_true + rows;
    sf_status status = SF_OK;
    for (uint32_t i = 0; i < expr->arg_count && status == SF_OK; i++)
        status = logic_next(ctx, expr, i, sel, &state);
    *out = (sf_operand){.type = SF_TYPE_BOOL};
    if (status == SF_OK) {
        out->column = truth_column(state.is_true, state.is_false, sel.count);
        if (!out->column)
            status = sf_fail_memory(ctx->err);
    }
    sf_free(state.open.at);
    sf_free(state.is_true);
    return status;
}

/* ---- merging branches ---- */

/* A column whose rows come from several operands, each position from exactly one. */
typedef struct {
    sf_column *out;
    uint64_t *valid; /* NULL until a NULL arrives */
    SF_VEC(sf_buffer *) buffers;
} merge;

static bool merge_begin(merge *m, sf_type type, uint32_t rows)
{
    *m = (merge){.out = sf_column_new(type, rows, false)};
    return m->out != NULL;
}

static bool merge_clear(merge *m, uint32_t at)
{
    if (!m->valid) {
        uint32_t rows = m->out->rows;
        sf_buffer *buffer = sf_buffer_new(SF_VALID_WORDS(rows) * 8);
        if (!buffer)
            return false;
        m->valid = (uint64_t *)(void *)buffer->data;
        memset(m->valid, 0xff, SF_VALID_WORDS(rows) * 8);
        if (rows & 63)
            m->valid[rows >> 6] = (1ULL << (rows & 63)) - 1;
        m->out->valid_buffer = buffer;
        m->out->valid = m->valid;
    }
    sf_valid_clear(m->valid, at);
    return true;
}

static bool merge_buffer(merge *m, sf_buffer *buffer)
{
    if (!SF_VEC_PUSH(&m->buffers, buffer))
        return false;
    sf_buffer_ref(buffer);
    return true;
}

static bool put_views(merge *m, const sf_column *from, const places *to)
{
    uint32_t base = (uint32_t)m->buffers.len;
    for (uint32_t b = 0; b < from->buffer_count; b++)
        if (!merge_buffer(m, from->buffers[b]))
            return false;
    sf_view *lanes = sf_column_lanes(m->out);
    const sf_view *views = from->data;
    for (uint32_t i = 0; i < to->count; i++) {
        sf_view view = views[i];
        if (view.len > SF_VIEW_INLINE)
            view.u.far.buffer += base;
        lanes[to->at[i]] = view;
    }
    return true;
}

static bool put_column(merge *m, const sf_column *from, const places *to)
{
    for (uint32_t i = 0; from->valid && i < to->count; i++)
        if (!sf_column_is_valid(from, i) && !merge_clear(m, to->at[i]))
            return false;
    if (sf_type_is_view(from->type))
        return put_views(m, from, to);
    if (sf_type_lane_bytes(from->type) == 1) {
        uint8_t *lanes = sf_column_lanes(m->out);
        for (uint32_t i = 0; i < to->count; i++)
            lanes[to->at[i]] = SF_LANES(from, uint8_t)[i];
    } else {
        SF_ASSERT(sf_type_lane_bytes(from->type) == 8);
        int64_t *lanes = sf_column_lanes(m->out);
        for (uint32_t i = 0; i < to->count; i++)
            lanes[to->at[i]] = SF_LANES(from, int64_t)[i];
    }
    return true;
}

static bool put_constant(merge *m, const sf_literal *value, const places *to)
{
    void *lanes = sf_column_lanes(m->out);
    if (value->is_null) {
        size_t bytes = sf_type_lane_bytes(m->out->type);
        for (uint32_t i = 0; i < to->count; i++) {
            memset((uint8_t *)lanes + to->at[i] * bytes, 0, bytes);
            if (!merge_clear(m, to->at[i]))
                return false;
        }
    } else if (m->out->type == SF_TYPE_BOOL) {
        for (uint32_t i = 0; i < to->count; i++)
            ((uint8_t *)lanes)[to->at[i]] = value->as.boolean;
    } else if (!sf_type_is_view(m->out->type)) {
        for (uint32_t i = 0; i < to->count; i++)
            ((int64_t *)lanes)[to->at[i]] = value->as.i64;
    } else {
        sf_operand operand = {.type = m->out->type, .constant = value};
        sf_column *one = sf_operand_column(&operand, 1);
        if (!one)
            return false;
        sf_view view = SF_LANES(one, sf_view)[0];
        if (view.len > SF_VIEW_INLINE)
            view.u.far.buffer = (uint32_t)m->buffers.len;
        bool ok = one->buffer_count == 0 || merge_buffer(m, one->buffers[0]);
        for (uint32_t i = 0; ok && i < to->count; i++)
            ((sf_view *)lanes)[to->at[i]] = view;
        sf_column_unref(one);
        return ok;
    }
    return true;
}

static sf_status merge_eval(const sf_eval_ctx *ctx, merge *m, const sf_expr *expr, const places *to)
{
    if (to->count == 0)
        return SF_OK;
    sf_operand operand;
    SF_TRY(sf_eval_operand(ctx, expr, places_sel(to), &operand));
    bool ok =
        operand.column ? put_column(m, operand.column, to) : put_constant(m, operand.constant, to);
    sf_operand_drop(&operand);
    return ok ? SF_OK : sf_fail_memory(ctx->err);
}

/* Takes the column out when status is SF_OK. */
static sf_status merge_end(const sf_eval_ctx *ctx, merge *m, sf_status status, sf_operand *out)
{
    if (status == SF_OK &&
        !sf_column_set_buffers(m->out, m->buffers.data, (uint32_t)m->buffers.len))
        status = sf_fail_memory(ctx->err);
    for (size_t i = 0; i < m->buffers.len; i++)
        sf_buffer_unref(m->buffers.data[i]);
    SF_VEC_DEINIT(&m->buffers);
    if (status == SF_OK)
        *out = (sf_operand){.type = m->out->type, .column = m->out};
    else
        sf_column_unref(m->out);
    return status;
}

/* ---- CASE ---- */

/* Moves the rows where the condition is true from open to taken. */
static void split(const sf_operand *condition, places *open, places *taken)
{
    uint32_t yes = 0, no = 0;
    for (uint32_t i = 0; i < open->count; i++) {
        bool is_true = !sf_operand_is_null(condition, i) && sf_operand_bool(condition, i);
        uint32_t at = open->at[i], row = open->rows[i];
        taken->at[yes] = at;
        taken->rows[yes] = row;
        open->at[no] = at;
        open->rows[no] = row;
        yes += is_true;
        no += !is_true;
    }
    taken->count = yes;
    open->count = no;
}

static sf_status case_rows(const sf_eval_ctx *ctx, const sf_expr *expr, places *open, places *taken,
                           merge *m)
{
    for (uint32_t k = 0; k + 1 < expr->arg_count && open->count; k += 2) {
        sf_operand condition;
        SF_TRY(sf_eval_operand(ctx, expr->args[k], places_sel(open), &condition));
        split(&condition, open, taken);
        sf_operand_drop(&condition);
        SF_TRY(merge_eval(ctx, m, expr->args[k + 1], taken));
    }
    return merge_eval(ctx, m, expr->args[expr->arg_count - 1], open);
}

/* Numbers chosen by cheap conditions: everything is computed for every row and blended, without
 * selections. Only when nothing in it can fail. */
static bool case_is_blendable(const sf_expr *expr)
{
    if (sf_type_lane_bytes(expr->type) != 8)
        return false;
    for (uint32_t i = 0; i < expr->arg_count; i++)
        if (!sf_expr_is_cheap(expr->args[i]))
            return false;
    return true;
}

static void blend(int64_t *restrict lanes, const sf_operand *condition, const sf_operand *value,
                  uint32_t rows)
{
    const uint8_t *restrict take = condition->column->data;
    const uint64_t *valid = condition->column->valid;
    const int64_t *restrict in = sf_operand_lanes(value);
    if (valid) {
        for (uint32_t i = 0; i < rows; i++)
            if (take[i] & (valid[i >> 6] >> (i & 63)))
                lanes[i] = in[value->column ? i : 0];
    } else if (value->column) {
        for (uint32_t i = 0; i < rows; i++)
            lanes[i] = take[i] ? in[i] : lanes[i];
    } else {
        int64_t constant = in[0];
        for (uint32_t i = 0; i < rows; i++)
            lanes[i] = take[i] ? constant : lanes[i];
    }
}

/* *done stays false when a value has NULLs, which the general way handles. */
static sf_status case_blend(const sf_eval_ctx *ctx, const sf_expr *expr, sf_sel sel, bool *done,
                            sf_operand *out)
{
    sf_operand value;
    SF_TRY(sf_eval_operand(ctx, expr->args[expr->arg_count - 1], sel, &value));
    bool plain = value.column ? !value.column->valid : !value.constant->is_null;
    sf_column *column = plain ? sf_column_new(expr->type, sel.count, false) : NULL;
    if (plain && !column) {
        sf_operand_drop(&value);
        return sf_fail_memory(ctx->err);
    }
    if (plain) {
        int64_t *lanes = sf_column_lanes(column);
        const int64_t *in = sf_operand_lanes(&value);
        for (uint32_t i = 0; i < sel.count; i++)
            lanes[i] = in[value.column ? i : 0];
    }
    sf_operand_drop(&value);
    sf_status status = SF_OK;
    for (uint32_t k = expr->arg_count - 1; plain && k >= 2 && status == SF_OK; k -= 2) {
        sf_operand condition = {0};
        value = (sf_operand){0};
        status = sf_eval_operand(ctx, expr->args[k - 2], sel, &condition);
        if (status == SF_OK)
            status = sf_eval_operand(ctx, expr->args[k - 1], sel, &value);
        if (status == SF_OK) {
            plain = condition.column &&
                    (value.column ? !value.column->valid : !value.constant->is_null);
            if (plain)
                blend(sf_column_lanes(column), &condition, &value, sel.count);
        }
        sf_operand_drop(&condition);
        sf_operand_drop(&value);
    }
    *done = plain;
    if (plain && status == SF_OK)
        *out = (sf_operand){.type = expr->type, .column = column};
    else
        sf_column_unref(column);
    return status;
}

sf_status sf_eval_case(const sf_eval_ctx *ctx, const sf_expr *expr, sf_sel sel, sf_operand *out)
{
    if (case_is_blendable(expr)) {
        bool done = false;
        sf_status status = case_blend(ctx, expr, sel, &done, out);
        if (done || status != SF_OK)
            return status;
    }
    places open = {0}, taken = {0};
    merge m = {0};
    bool ok = places_init(&open, sel.count) && places_init(&taken, sel.count) &&
              merge_begin(&m, expr->type, sel.count);
    sf_status status = ok ? SF_OK : sf_fail_memory(ctx->err);
    if (ok) {
        places_of(&open, sel);
        status = merge_end(ctx, &m, case_rows(ctx, expr, &open, &taken, &m), out);
    }
    sf_free(open.at);
    sf_free(taken.at);
    return status;
}

/* ---- COALESCE ---- */

/* Keeps in open the positions that are NULL, in taken the others with their lane numbers. */
static void split_null(const sf_operand *value, places *open, places *taken)
{
    uint32_t yes = 0, no = 0;
    for (uint32_t i = 0; i < open->count; i++) {
        bool null = sf_operand_is_null(value, i);
        uint32_t at = open->at[i], row = open->rows[i];
        taken->at[yes] = at;
        taken->rows[yes] = i;
        open->at[no] = at;
        open->rows[no] = row;
        yes += !null;
        no += null;
    }
    taken->count = yes;
    open->count = no;
}

/* first: the value of the first argument over all rows; dropped here. */
static sf_status coalesce_rows(const sf_eval_ctx *ctx, const sf_expr *expr, sf_operand first,
                               places *open, places *taken, merge *m)
{
    for (uint32_t k = 0; k + 1 < expr->arg_count; k++) {
        sf_operand value = first;
        if (k > 0 && open->count == 0)
            return SF_OK;
        if (k > 0)
            SF_TRY(sf_eval_operand(ctx, expr->args[k], places_sel(open), &value));
        if (!value.column) /* NULL: builders end the list at any other constant */
            continue;
        split_null(&value, open, taken);
        sf_column *present = sf_column_gather(value.column, places_sel(taken));
        bool ok = present && put_column(m, present, taken);
        sf_column_unref(present);
        sf_operand_drop(&value);
        if (!ok)
            return sf_fail_memory(ctx->err);
    }
    return merge_eval(ctx, m, expr->args[expr->arg_count - 1], open);
}

sf_status sf_eval_coalesce(const sf_eval_ctx *ctx, const sf_expr *expr, sf_sel sel, sf_operand *out)
{
    sf_operand first;
    SF_TRY(sf_eval_operand(ctx, expr->args[0], sel, &first));
    if (first.column && !first.column->valid) {
        *out = first;
        return SF_OK;
    }
    places open = {0}, taken = {0};
    merge m = {0};
    bool ok = places_init(&open, sel.count) && places_init(&taken, sel.count) &&
              merge_begin(&m, expr->type, sel.count);
    sf_status status = SF_OK;
    if (ok) {
        places_of(&open, sel);
        status = merge_end(ctx, &m, coalesce_rows(ctx, expr, first, &open, &taken, &m), out);
    } else {
        sf_operand_drop(&first);
        status = sf_fail_memory(ctx->err);
    }
    sf_free(open.at);
    sf_free(taken.at);
    return status;
}

/* Evaluation: operands, strict calls, failing lanes. Branching nodes are in branch.c. */
#include "expr/cache.h"
#include "expr/kernel.h"
const char *sf_eval_code_text(sf_eval_code code)
{
    static const char *const texts[SF_EVAL_ERROR_COUNT] = {
#define X(name, text) text,
        SF_EVAL_ERROR_LIST(X)
#undef X
    };
    return code < SF_EVAL_ERROR_COUNT ? texts[code] : "unknown";
}

void sf_eval_init(sf_eval *eval)
{
    *eval = (sf_eval){0};
}

void sf_eval_deinit(sf_eval *eval)
{
    SF_VEC_DEINIT(&eval->errors);
    sf_eval_cache_free(eval->cache);
    eval->cache = NULL;
}

/* ---- operands ---- */

void sf_operand_drop(sf_operand *operand)
{
    sf_column_unref(operand->column);
    operand->column = NULL;
}

static void fill_lanes(sf_column *column, const sf_literal *value)
{
    uint32_t rows = column->rows;
    if (column->type == SF_TYPE_BOOL) {
        memset(sf_column_lanes(column), value->as.boolean, rows);
    } else if (sf_type_lane_bytes(column->type) == 8) { /* Long, Double, Timestamp alike */
        int64_t *lanes = sf_column_lanes(column);
        for (uint32_t i = 0; i < rows; i++)
            lanes[i] = value->as.i64;
    }
}

static bool fill_text(sf_column *column, sf_str text)
{
    sf_view view;
    if (text.len <= SF_VIEW_INLINE) {
        view = sf_view_short(text.data, (uint32_t)text.len);
    } else {
        sf_buffer *bytes = text.len < UINT32_MAX ? sf_buffer_new(text.len) : NULL;
        if (!bytes)
            return false;
        memcpy(bytes->data, text.data, text.len);
        view = sf_view_far(text.data, (uint32_t)text.len, 0, 0);
        bool set = sf_column_set_buffers(column, &bytes, 1);
        sf_buffer_unref(bytes); /* the column holds it */
        if (!set)
            return false;
    }
    sf_view *lanes = sf_column_lanes(column);
    for (uint32_t i = 0; i < column->rows; i++)
        lanes[i] = view;
    return true;
}

sf_column *sf_operand_column(const sf_operand *operand, uint32_t rows)
{
    if (operand->column)
        return sf_column_ref(operand->column);
    SF_ASSERT(operand->constant);
    if (operand->constant->is_null)
        return sf_column_nulls(operand->type, rows);
    sf_column *column = sf_column_new(operand->type, rows, false);
    if (column && sf_type_is_view(operand->type)) {
        if (!fill_text(column, operand->constant->as.str)) {
            sf_column_unref(column);
            return NULL;
        }
    } else if (column) {
        fill_lanes(column, operand->constant);
    }
    return column;
}

static sf_status column_operand(const sf_eval_ctx *ctx, const sf_expr *expr, sf_sel sel,
                                sf_operand *out)
{
    SF_ASSERT(ctx->batch && expr->column < ctx->batch->schema->count);
    const sf_column *column = ctx->batch->columns[expr->column];
    SF_ASSERT(column->type == expr->type);
    *out = (sf_operand){.type = expr->type, .column = sf_column_gather(column, sel)};
    return out->column ? SF_OK : sf_fail_memory(ctx->err);
}

/* ---- failing lanes ---- */

uint64_t *sf_call_own_valid(sf_call *call)
{
    sf_column *out = call->out;
    uint64_t *own = out->valid_buffer ? sf_column_valid(out) : NULL;
    if (own && own == out->valid && atomic_load(&out->valid_buffer->refs) == 1)
        return own;
    size_t words = SF_VALID_WORDS(call->rows);
    sf_buffer *buffer = sf_buffer_new(words * 8);
    if (!buffer)
        return NULL;
    own = (uint64_t *)(void *)buffer->data;
    if (out->valid) {
        memcpy(own, out->valid, words * 8);
    } else {
        memset(own, 0xff, words * 8);
        if (call->rows & 63)
            own[call->rows >> 6] = (1ULL << (call->rows & 63)) - 1;
    }
    sf_buffer_unref(out->valid_buffer);
    out->valid_buffer = buffer;
    out->valid = own;
    return own;
}

bool sf_call_null(sf_call *call, uint32_t lane)
{
    uint64_t *valid = sf_call_own_valid(call);
    if (!valid)
        return false;
    sf_valid_clear(valid, lane);
    /* A harmless value, so that what computes on does not stumble over infinities. */
    size_t bytes = sf_type_lane_bytes(call->out->type);
    memset((uint8_t *)sf_column_lanes(call->out) + lane * bytes, 0, bytes);
    return true;
}

bool sf_call_fail(sf_call *call, uint32_t lane, sf_eval_code code)
{
    if (sf_call_is_null(call, lane))
        return true;
    sf_eval *eval = call->eval;
    eval->error_counts[code]++;
    if (eval->list_errors) {
        sf_eval_error error = {sf_sel_row(call->sel, lane), code, call->expr->span};
        if (!SF_VEC_PUSH(&eval->errors, error))
            return false;
    }
    return sf_call_null(call, lane);
}

/* ---- calls ---- */

/* The result's validity is the intersection of the arguments'; one bitmap alone is shared. */
static bool intersect_valid(sf_call *call)
{
    const sf_column *only = NULL;
    bool several = false;
    for (uint32_t i = 0; i < call->arg_count; i++) {
        const sf_column *column = call->args[i].column;
        if (!column || !column->valid || (only && only->valid == column->valid))
            continue;
        several |= only != NULL;
        only = column;
    }
    if (!only)
        return true;
    if (!several) {
        call->out->valid_buffer = sf_buffer_ref(only->valid_buffer);
        call->out->valid = only->valid;
        return true;
    }
    uint64_t *valid = sf_call_own_valid(call);
    if (!valid)
        return false;
    for (uint32_t i = 0; i < call->arg_count; i++) {
        const uint64_t *bits = sf_operand_valid(&call->args[i]);
        for (size_t w = 0; bits && w < SF_VALID_WORDS(call->rows); w++)
            valid[w] &= bits[w];
    }
    return true;
}

static bool null_argument(const sf_call *call)
{
    for (uint32_t i = 0; i < call->arg_count; i++)
        if (!call->args[i].column && call->args[i].constant->is_null)
            return true;
    return false;
}

/* Kernels see at least one column unless the function takes nothing. */
static bool spread_constants(sf_call *call, sf_operand *args)
{
    for (uint32_t i = 0; i < call->arg_count; i++)
        if (args[i].column)
            return true;
    if (call->arg_count == 0)
        return true;
    args[0].column = sf_operand_column(&args[0], call->rows);
    return args[0].column != NULL;
}

static sf_status run_kernel(const sf_eval_ctx *ctx, const sf_expr *expr, sf_sel sel,
                            sf_operand *args, sf_operand *out)
{
    const sf_function *function = expr->function;
    sf_call call = {
        .eval = ctx->eval,
        .expr = expr,
        .sel = sel,
        .rows = sel.count,
        .args = args,
        .arg_count = expr->arg_count,
    };
    bool strict = !(function->flags & SF_FN_OWN_NULLS);
    *out = (sf_operand){.type = expr->type};
    if (strict && null_argument(&call)) {
        out->column = sf_column_nulls(expr->type, sel.count);
        return out->column ? SF_OK : sf_fail_memory(ctx->err);
    }
    bool ok = spread_constants(&call, args);
    if (ok && !sf_type_is_view(expr->type)) {
        call.out = sf_column_new(expr->type, sel.count, false);
        ok = call.out && (!strict || intersect_valid(&call));
    }
    ok = ok && function->kernel(&call);
    if (!ok) {
        sf_column_unref(call.out);
        return sf_fail_memory(ctx->err);
    }
    out->column = call.out;
    return SF_OK;
}

static sf_status call_operand(const sf_eval_ctx *ctx, const sf_expr *expr, sf_sel sel,
                              sf_operand *out)
{
    enum { FEW = 4 };
    sf_operand few[FEW] = {0}, *args = few;
    if (expr->arg_count > FEW) {
        args = sf_calloc(expr->arg_count, sizeof *args);
        if (!args)
            return sf_fail_memory(ctx->err);
    }
    sf_status status = SF_OK;
    for (uint32_t i = 0; i < expr->arg_count && status == SF_OK; i++)
        status = sf_eval_operand(ctx, expr->args[i], sel, &args[i]);
    if (status == SF_OK)
        status = run_kernel(ctx, expr, sel, args, out);
    for (uint32_t i = 0; i < expr->arg_count; i++)
        sf_operand_drop(&args[i]);
    if (args != few)
        sf_free(args);
    return status;
}

sf_status sf_eval_operand(const sf_eval_ctx *ctx, const sf_expr *expr, sf_sel sel, sf_operand *out)
{
    *out = (sf_operand){.type = expr->type};
    switch (expr->kind) {
    case SF_EXPR_COLUMN: return column_operand(ctx, expr, sel, out);
    case SF_EXPR_LITERAL: out->constant = &expr->literal; return SF_OK;
    case SF_EXPR_CALL: return call_operand(ctx, expr, sel, out);
    case SF_EXPR_AND:
    case SF_EXPR_OR: return sf_eval_logic(ctx, expr, sel, out);
    case SF_EXPR_CASE: return sf_eval_case(ctx, expr, sel, out);
    case SF_EXPR_COALESCE: return sf_eval_coalesce(ctx, expr, sel, out);
    }
    return sf_fail(ctx->err, SF_INTERNAL, "expression of unknown kind %d", (int)expr->kind);
}

sf_status sf_eval_column(sf_eval *eval, const sf_expr *expr, const sf_batch *batch, sf_sel sel,
                         sf_column **out, sf_error *err)
{
    eval->errors.len = 0;
    sf_eval_ctx ctx = {.eval = eval, .batch = batch, .err = err};
    sf_operand operand;
    SF_TRY(sf_eval_operand(&ctx, expr, sel, &operand));
    *out = operand.column ? (sf_column *)operand.column : sf_operand_column(&operand, sel.count);
    return *out ? SF_OK : sf_fail_memory(err);
}

/* ---- text results ---- */

enum {
    BLOCK_BYTES_MIN = 4096,
    BLOCK_BYTES_MAX = 1 << 20,
    COLUMN_BYTES_MAX = 512 << 20, /* of one result: more counts as no memory */
};

bool sf_text_begin(sf_text_out *out, sf_call *call, const sf_column *shared)
{
    *out = (sf_text_out){.call = call, .shared = shared};
    call->out = sf_column_new(call->expr->type, call->rows, false);
    if (!call->out)
        return false;
    out->lanes = (sf_view *)sf_column_lanes(call->out);
    return call->expr->function->flags & SF_FN_OWN_NULLS || intersect_valid(call);
}

static uint32_t shared_count(const sf_text_out *out)
{
    return out->shared ? out->shared->buffer_count : 0;
}

static uint8_t *text_room(sf_text_out *out, uint32_t len)
{
    sf_buffer *tail = out->blocks.len ? out->blocks.data[out->blocks.len - 1] : NULL;
    if (!tail || tail->size - out->used < len) {
        size_t size = tail ? tail->size * 2 : BLOCK_BYTES_MIN;
        size = size > BLOCK_BYTES_MAX ? BLOCK_BYTES_MAX : size;
        size = size < len ? len : size;
        out->total += size;
        tail = out->total <= COLUMN_BYTES_MAX ? sf_buffer_new(size) : NULL;
        if (!tail || !SF_VEC_PUSH(&out->blocks, tail)) {
            sf_buffer_unref(tail);
            out->failed = true;
            return NULL;
        }
        out->used = 0;
    }
    return tail->data + out->used;
}

void sf_text_put(sf_text_out *out, uint32_t lane, sf_str text)
{
    if (text.len <= SF_VIEW_INLINE) {
        out->lanes[lane] = sf_view_short(text.data, (uint32_t)text.len);
        return;
    }
    uint32_t len = (uint32_t)text.len;
    uint8_t *room = text.len < INT32_MAX ? text_room(out, len) : NULL;
    if (!room) {
        out->failed = true;
        return;
    }
    memcpy(room, text.data, len);
    uint32_t index = shared_count(out) + (uint32_t)out->blocks.len - 1;
    out->lanes[lane] = sf_view_far(text.data, len, index, out->used);
    out->used += len;
}

void sf_text_slice(sf_text_out *out, uint32_t lane, sf_str text)
{
    if (text.len <= SF_VIEW_INLINE || !out->shared) {
        sf_text_put(out, lane, text);
        return;
    }
    const sf_view *from = SF_LANES(out->shared, sf_view) + lane;
    const char *whole = sf_column_str(out->shared, lane).data;
    uint32_t offset = from->u.far.offset + (uint32_t)(text.data - whole);
    out->lanes[lane] = sf_view_far(text.data, (uint32_t)text.len, from->u.far.buffer, offset);
}

bool sf_text_end(sf_text_out *out)
{
    uint32_t shared = shared_count(out), count = shared + (uint32_t)out->blocks.len;
    if (!out->failed && count) {
        sf_buffer **all = sf_alloc(count * sizeof *all);
        if (all) {
            for (uint32_t i = 0; i < count; i++)
                all[i] = i < shared ? out->shared->buffers[i] : out->blocks.data[i - shared];
            out->failed = !sf_column_set_buffers(out->call->out, all, count);
            sf_free(all);
        } else {
            out->failed = true;
        }
    }
    for (size_t i = 0; i < out->blocks.len; i++)
        sf_buffer_unref(out->blocks.data[i]);
    SF_VEC_DEINIT(&out->blocks);
    return !out->failed;
}

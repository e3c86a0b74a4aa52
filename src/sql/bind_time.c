/* bind_time.c: NOW() in tables: conditions of WHERE that change as time passes.
 *
 * A comparison with NOW() is solved for it: NOW() op bound, the bound a function of the row. Such a
 * condition is no filter but a node of its own that lets rows in, or takes them back, at the bound. */
#include "sql/bind.h"

static bool is_call(const sf_expr *expr, const char *name)
{
    return expr->kind == SF_EXPR_CALL && sf_expr_is_call_of(expr, name);
}

bool sf_sqlb_reads_clock(const sf_expr *expr)
{
    if (is_call(expr, "NOW"))
        return true;
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        if (sf_sqlb_reads_clock(expr->args[i]))
            return true;
    }
    return false;
}

/* clock * NOW() + rest; rest NULL: 0. */
typedef struct {
    int clock;
    const sf_expr *rest;
} linear;

static sf_status combine(sf_sqlb *b, const char *op, const sf_expr *left, const sf_expr *right,
                         sf_span span, const sf_expr **out)
{
    const sf_expr *both[2] = {left, right};
    bool minus = op[0] == '-';
    if (!right || !left) {
        *out = left ? left : right;
        return right && minus ? sf_expr_call(b->arena, SF_STR("neg"), &right, 1, span, out, b->err)
                              : SF_OK;
    }
    return sf_expr_call(b->arena, sf_str_of(op), both, 2, span, out, b->err);
}

static sf_status not_solvable(sf_sqlb *b, const sf_expr *expr)
{
    return sf_sqlb_fail(b, SF_INVALID, expr->span,
                        "compare a time with NOW() plus or minus an interval, as _ts > NOW() - "
                        "INTERVAL '5' MINUTE",
                        "this use of NOW() cannot be kept current in a table");
}

static sf_status solve(sf_sqlb *b, const sf_expr *expr, linear *out)
{
    *out = (linear){0};
    if (is_call(expr, "NOW")) {
        out->clock = 1;
        return SF_OK;
    }
    if (!sf_sqlb_reads_clock(expr)) {
        if (expr->type != SF_TYPE_TIMESTAMP && expr->type != SF_TYPE_I64)
            return not_solvable(b, expr);
        return sf_expr_cast(b->arena, expr, SF_TYPE_I64, expr->span, &out->rest, b->err);
    }
    if (is_call(expr, "to_long") || is_call(expr, "to_timestamp"))
        return solve(b, expr->args[0], out);
    bool minus = is_call(expr, "-");
    if (!minus && !is_call(expr, "+"))
        return not_solvable(b, expr);
    linear left, right;
    SF_TRY(solve(b, expr->args[0], &left));
    SF_TRY(solve(b, expr->args[1], &right));
    out->clock = left.clock + (minus ? -right.clock : right.clock);
    return combine(b, minus ? "-" : "+", left.rest, right.rest, expr->span, &out->rest);
}

static sf_status plus_one(sf_sqlb *b, const sf_expr **bound)
{
    const sf_expr *one;
    sf_literal value = {.as.i64 = 1};
    SF_TRY(sf_expr_literal(b->arena, SF_TYPE_I64, &value, (*bound)->span, &one, b->err));
    return combine(b, "+", *bound, one, (*bound)->span, bound);
}

static sf_status add_bound(sf_sqlb *b, const sf_expr *expr, const sf_expr *bound, bool until,
                           bool next, sf_sqlb_conds *out)
{
    sf_sqlb_cond cond = {.expr = expr, .bound = bound, .until = until};
    if (next)
        SF_TRY(plus_one(b, &cond.bound));
    sf_sqlb_inputs_of(b, expr, &cond.inputs);
    SQLB_PUSH(b, out->items, out->count, cond);
    return SF_OK;
}

static sf_status comparison(sf_sqlb *b, const sf_expr *expr, char op, bool or_equal,
                            const sf_expr *left, const sf_expr *right, sf_sqlb_conds *out)
{
    linear l, r;
    const sf_expr *bound;
    SF_TRY(solve(b, left, &l));
    SF_TRY(solve(b, right, &r));
    int clock = l.clock - r.clock;
    if (clock != 1 && clock != -1)
        return not_solvable(b, expr);
    if (clock == 1)
        SF_TRY(combine(b, "-", r.rest, l.rest, expr->span, &bound));
    else
        SF_TRY(combine(b, "-", l.rest, r.rest, expr->span, &bound));
    if (!bound)
        return not_solvable(b, expr);
    if (op == '=') {
        SF_TRY(add_bound(b, expr, bound, false, false, out));
        return add_bound(b, expr, bound, true, true, out);
    }
    bool less = (op == '<') == (clock == 1); /* NOW() is less than the bound */
    return add_bound(b, expr, bound, less, less == or_equal, out);
}

sf_status sf_sqlb_temporal(sf_sqlb *b, const sf_expr *expr, sf_sqlb_conds *out)
{
    static const struct {
        const char *name;
        char op;
        bool or_equal;
    } ops[] = {{"<", '<', false},
               {"<=", '<', true},
               {">", '>', false},
               {">=", '>', true},
               {"=", '=', true}};
    if (expr->kind == SF_EXPR_AND) {
        for (uint32_t i = 0; i < expr->arg_count; i++) {
            sf_sqlb_cond plain = {.expr = expr->args[i]};
            if (sf_sqlb_reads_clock(expr->args[i])) {
                SF_TRY(sf_sqlb_temporal(b, expr->args[i], out));
                continue;
            }
            sf_sqlb_inputs_of(b, plain.expr, &plain.inputs);
            SQLB_PUSH(b, out->items, out->count, plain);
        }
        return SF_OK;
    }
    if (is_call(expr, "between")) {
        SF_TRY(comparison(b, expr, '>', true, expr->args[0], expr->args[1], out));
        return comparison(b, expr, '<', true, expr->args[0], expr->args[2], out);
    }
    for (size_t i = 0; i < SF_COUNT_OF(ops); i++) {
        if (is_call(expr, ops[i].name))
            return comparison(b, expr, ops[i].op, ops[i].or_equal, expr->args[0], expr->args[1],
                              out);
    }
    return not_solvable(b, expr);
}

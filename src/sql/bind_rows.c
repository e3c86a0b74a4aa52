/* bind_rows.c: rows of values, compared from the left. */
#include "sql/bind.h"

static sf_status compare(sf_sqlb *b, const char *name, const sf_expr *left, const sf_expr *right,
                         sf_span span, const sf_expr **out)
{
    const sf_expr *sides[2] = {left, right};
    return sf_expr_call(b->arena, sf_str_of(name), sides, 2, span, out, b->err);
}

/* Every pair, or one of them. */
static sf_status each(sf_sqlb *b, const char *name, bool all, const sf_sqlb_row *left,
                      const sf_sqlb_row *right, sf_span span, const sf_expr **out)
{
    const sf_expr **parts = SF_ARENA_ARRAY(b->scratch, const sf_expr *, left->count + 1);
    if (!parts)
        return sf_fail_memory(b->err);
    for (size_t i = 0; i < left->count; i++)
        SF_TRY(compare(b, name, left->values[i], right->values[i], span, &parts[i]));
    *out = parts[0];
    if (left->count == 1)
        return SF_OK;
    return sf_expr_logic(b->arena, all ? SF_EXPR_AND : SF_EXPR_OR, parts, (uint32_t)left->count,
                         span, out, b->err);
}

/* (a, b) < (c, d) is a < c OR a = c AND b < d; <= counts for the last pair only. */
static sf_status order(sf_sqlb *b, sf_sql_op op, const sf_sqlb_row *left, const sf_sqlb_row *right,
                       sf_span span, const sf_expr **out)
{
    bool less = op == SF_OP_LESS || op == SF_OP_LESS_EQUAL;
    size_t i = left->count - 1;
    SF_TRY(compare(b, sf_sql_op_text(op), left->values[i], right->values[i], span, out));
    while (i-- > 0) {
        const sf_expr *equal[2] = {NULL, *out}, *either[2];
        SF_TRY(compare(b, "=", left->values[i], right->values[i], span, &equal[0]));
        SF_TRY(compare(b, less ? "<" : ">", left->values[i], right->values[i], span, &either[0]));
        SF_TRY(sf_expr_logic(b->arena, SF_EXPR_AND, equal, 2, span, &either[1], b->err));
        SF_TRY(sf_expr_logic(b->arena, SF_EXPR_OR, either, 2, span, out, b->err));
    }
    return SF_OK;
}

sf_status sf_sqlb_compare_rows(sf_sqlb *b, sf_sql_op op, bool negated, const sf_sqlb_row *left,
                               const sf_sqlb_row *right, sf_span span, const sf_expr **out)
{
    switch (op) {
    case SF_OP_EQUAL: return each(b, "=", true, left, right, span, out);
    case SF_OP_NOT_EQUAL: return each(b, "<>", false, left, right, span, out);
    case SF_OP_DISTINCT:
        return each(b, negated ? "is not distinct from" : "is distinct from", negated, left, right,
                    span, out);
    default: return order(b, op, left, right, span, out);
    }
}

sf_status sf_sqlb_check_rows(sf_sqlb *b, const sf_sql_expr *left, const sf_sql_expr *right,
                             sf_span span)
{
    if (left->kind != SF_EX_ROW || right->kind != SF_EX_ROW)
        return sf_sqlb_fail(b, SF_INVALID, span, "compare rows with rows: (a, b) = (c, d)",
                            "a row is compared with a single value");
    if (left->args.count != right->args.count)
        return sf_sqlb_fail(b, SF_INVALID, span, "give both sides the same number of values",
                            "a row of %zu values is compared with one of %zu", left->args.count,
                            right->args.count);
    return SF_OK;
}

static sf_status bind_row(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                          sf_sqlb_row *out)
{
    out->count = ast->args.count;
    out->values = SF_ARENA_ARRAY(b->scratch, const sf_expr *, out->count + 1);
    if (!out->values)
        return sf_fail_memory(b->err);
    for (size_t i = 0; i < out->count; i++)
        SF_TRY(sf_sqlb_expr(b, scope, ast->args.items[i], &out->values[i]));
    return SF_OK;
}

sf_status sf_sqlb_row_op(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                         const sf_expr **out)
{
    sf_sqlb_row left, right;
    SF_TRY(sf_sqlb_check_rows(b, ast->args.items[0], ast->args.items[1], ast->op_span));
    SF_TRY(bind_row(b, scope, ast->args.items[0], &left));
    SF_TRY(bind_row(b, scope, ast->args.items[1], &right));
    return sf_sqlb_compare_rows(b, ast->op, ast->negated, &left, &right, ast->op_span, out);
}

/* (a, b) IN ((1, 2), (3, 4)) is an OR of comparisons. */
static sf_status in_list(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                         const sf_expr **out)
{
    size_t count = ast->args.count - 1;
    const sf_expr **parts = SF_ARENA_ARRAY(b->scratch, const sf_expr *, count);
    sf_sqlb_row value, item;
    if (!parts)
        return sf_fail_memory(b->err);
    SF_TRY(bind_row(b, scope, ast->args.items[0], &value));
    for (size_t i = 0; i < count; i++) {
        const sf_sql_expr *other = ast->args.items[i + 1];
        SF_TRY(sf_sqlb_check_rows(b, ast->args.items[0], other, ast->op_span));
        SF_TRY(bind_row(b, scope, other, &item));
        SF_TRY(sf_sqlb_compare_rows(b, SF_OP_EQUAL, false, &value, &item, ast->op_span, &parts[i]));
    }
    return sf_expr_logic(b->arena, SF_EXPR_OR, parts, (uint32_t)count, ast->op_span, out, b->err);
}

static sf_status between(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                         const sf_expr **out)
{
    sf_sqlb_row value, bound;
    const sf_expr *both[2];
    SF_TRY(bind_row(b, scope, ast->args.items[0], &value));
    for (size_t i = 0; i < 2; i++) {
        const sf_sql_expr *other = ast->args.items[i + 1];
        sf_sql_op op = i ? SF_OP_LESS_EQUAL : SF_OP_GREATER_EQUAL;
        SF_TRY(sf_sqlb_check_rows(b, ast->args.items[0], other, ast->op_span));
        SF_TRY(bind_row(b, scope, other, &bound));
        SF_TRY(sf_sqlb_compare_rows(b, op, false, &value, &bound, ast->op_span, &both[i]));
    }
    return sf_expr_logic(b->arena, SF_EXPR_AND, both, 2, ast->op_span, out, b->err);
}

sf_status sf_sqlb_row_predicate(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                                const sf_expr **out)
{
    if (ast->kind == SF_EX_IN_LIST)
        return in_list(b, scope, ast, out);
    return between(b, scope, ast, out);
}

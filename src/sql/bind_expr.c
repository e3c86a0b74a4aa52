/* bind_expr.c: expressions and conditions. */
#include "sql/bind.h"
#include "sql/parse.h"

static sf_status call(sf_sqlb *b, const char *name, const sf_expr *const *args, size_t count,
                      sf_span span, const sf_expr **out)
{
    return sf_expr_call(b->arena, sf_str_of(name), args, (uint32_t)count, span, out, b->err);
}

static sf_status negate_if(sf_sqlb *b, bool negated, sf_span span, const sf_expr **out)
{
    if (!negated)
        return SF_OK;
    const sf_expr *arg = *out;
    return call(b, "not", &arg, 1, span, out);
}

static sf_status literal(sf_sqlb *b, sf_type type, sf_literal value, sf_span span,
                         const sf_expr **out)
{
    return sf_expr_literal(b->arena, type, &value, span, out, b->err);
}

static sf_status bind_args(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_exprs *asts,
                           const sf_expr ***out)
{
    const sf_expr **args = SF_ARENA_ARRAY(b->scratch, const sf_expr *, asts->count + 1);
    if (!args)
        return sf_fail_memory(b->err);
    for (size_t i = 0; i < asts->count; i++)
        SF_TRY(sf_sqlb_expr(b, scope, asts->items[i], &args[i]));
    *out = args;
    return SF_OK;
}

sf_status sf_sqlb_to_bool(sf_sqlb *b, const sf_expr *expr, const char *place, const sf_expr **out)
{
    *out = expr;
    if (expr->type == SF_TYPE_BOOL)
        return SF_OK;
    if (expr->untyped)
        return sf_expr_cast(b->arena, expr, SF_TYPE_BOOL, expr->span, out, b->err);
    return sf_sqlb_fail(b, SF_INVALID, expr->span, "compare it, or convert it with TO_BOOL",
                        "%s needs a condition, not %s", place, sf_type_name(expr->type));
}

/* ---- operators ---- */

static const char *function_of(sf_sql_op op)
{
    switch (op) {
    case SF_OP_NOT: return "not";
    case SF_OP_NEGATE: return "neg";
    case SF_OP_DISTINCT: return "is distinct from";
    default: return sf_sql_op_text(op);
    }
}

static bool is_comparison(sf_sql_op op)
{
    return op >= SF_OP_EQUAL && op <= SF_OP_DISTINCT;
}

static sf_status bind_op(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                         const sf_expr **out)
{
    sf_sql_expr *const *asts = ast->args.items;
    if (is_comparison(ast->op) && (asts[0]->kind == SF_EX_ROW || asts[1]->kind == SF_EX_ROW))
        return sf_sqlb_row_op(b, scope, ast, out);
    const sf_expr **args;
    SF_TRY(sf_sqlb_calendar(b, scope, ast, out));
    if (*out)
        return SF_OK;
    SF_TRY(bind_args(b, scope, &ast->args, &args));
    if (ast->op == SF_OP_AND || ast->op == SF_OP_OR)
        return sf_expr_logic(b->arena, ast->op == SF_OP_AND ? SF_EXPR_AND : SF_EXPR_OR, args,
                             (uint32_t)ast->args.count, ast->span, out, b->err);
    const char *name = function_of(ast->op);
    if (ast->op == SF_OP_DISTINCT && ast->negated)
        name = "is not distinct from";
    return call(b, name, args, ast->args.count, ast->op_span, out);
}

/* ---- predicates ---- */

static sf_status bind_is(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                         const sf_expr **out)
{
    static const char *const names[][2] = {
        [SF_IS_NULL] = {"is null", "is not null"},
        [SF_IS_TRUE] = {"is true", "is not true"},
        [SF_IS_FALSE] = {"is false", "is not false"},
        [SF_IS_UNKNOWN] = {"is null", "is not null"},
    };
    const sf_expr **args;
    SF_TRY(bind_args(b, scope, &ast->args, &args));
    if (ast->is == SF_IS_UNKNOWN)
        SF_TRY(sf_sqlb_to_bool(b, args[0], "IS UNKNOWN", &args[0]));
    return call(b, names[ast->is][ast->negated], args, 1, ast->op_span, out);
}

static sf_status bind_predicate(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                                const sf_expr **out)
{
    const sf_expr **args;
    if (ast->kind != SF_EX_LIKE && ast->args.items[0]->kind == SF_EX_ROW) {
        SF_TRY(sf_sqlb_row_predicate(b, scope, ast, out));
    } else {
        const char *name = ast->kind == SF_EX_IN_LIST ? "in" : "between";
        if (ast->kind == SF_EX_LIKE)
            name = ast->ignore_case ? "ilike" : "like";
        SF_TRY(bind_args(b, scope, &ast->args, &args));
        SF_TRY(call(b, name, args, ast->args.count, ast->op_span, out));
    }
    return negate_if(b, ast->negated, ast->op_span, out);
}

/* ---- forms ---- */

static sf_status bind_json(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                           const sf_expr **out)
{
    const sf_expr *args[2];
    SF_TRY(sf_sqlb_expr(b, scope, ast->args.items[0], &args[0]));
    sf_literal key = {0};
    if (ast->json.is_index)
        key.as.i64 = ast->json.index;
    else
        key.as.str = ast->json.key;
    SF_TRY(
        literal(b, ast->json.is_index ? SF_TYPE_I64 : SF_TYPE_UTF8, key, ast->op_span, &args[1]));
    return call(b, ast->json.as_text ? "->>" : "->", args, 2, ast->op_span, out);
}

static sf_status bind_cast(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                           const sf_expr **out)
{
    static const sf_type types[] = {
        [SF_CAST_STRING] = SF_TYPE_UTF8,
        [SF_CAST_DOUBLE] = SF_TYPE_F64,
        [SF_CAST_LONG] = SF_TYPE_I64,
        [SF_CAST_BOOL] = SF_TYPE_BOOL,
        [SF_CAST_TIMESTAMP] = SF_TYPE_TIMESTAMP,
    };
    const sf_expr *arg;
    SF_TRY(sf_sqlb_expr(b, scope, ast->args.items[0], &arg));
    return sf_expr_cast(b->arena, arg, types[ast->cast], ast->span, out, b->err);
}

static sf_status bind_case(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                           const sf_expr **out)
{
    const sf_expr **args = NULL, *operand = NULL;
    SF_TRY(bind_args(b, scope, &ast->args, &args));
    size_t count = ast->args.count, first = ast->has_operand;
    if (ast->has_operand)
        operand = args[0];
    for (size_t i = first; operand && i + 1 < count; i += 2) {
        const sf_expr *sides[2] = {operand, args[i]};
        SF_TRY(call(b, "=", sides, 2, args[i]->span, &args[i]));
    }
    if (!ast->has_else)
        SF_TRY(literal(b, SF_TYPE_UTF8, (sf_literal){.is_null = true}, ast->span, &args[count++]));
    return sf_expr_case(b->arena, args + first, (uint32_t)(count - first), ast->span, out, b->err);
}

static sf_status bind_call(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                           const sf_expr **out)
{
    const sf_sql_call *form = ast->call;
    if (sf_sqlb_needs_over(form->name.text))
        return sf_sqlb_fail(b, SF_INVALID, ast->op_span,
                            "write OVER (PARTITION BY ... ORDER BY ...) behind it",
                            "%.*s needs OVER", SQLB_NAME(form->name.text));
    if (sf_is_aggregate_name(form->name.text))
        return sf_sqlb_fail(b, SF_INVALID, ast->op_span,
                            "compute it in a subquery and use its result here",
                            scope->in_aggregate ? "aggregate %.*s stands inside another aggregate"
                                                : "aggregate %.*s cannot stand in %s",
                            SQLB_NAME(form->name.text), scope->place);
    if (ast->args.count && ast->args.items[0]->kind == SF_EX_STAR)
        return sf_sqlb_fail(b, SF_INVALID, ast->args.items[0]->span, "* stands in COUNT(*) only",
                            "%.*s cannot take *", SQLB_NAME(form->name.text));
    if (b->kind == SF_PLAN_TABLE && !scope->may_read_clock &&
        sf_str_eq_nocase(form->name.text, SF_STR("NOW")))
        return sf_sqlb_fail(b, SF_INVALID, ast->op_span,
                            "compare a time with it in WHERE, as _ts > NOW() - INTERVAL '5' MINUTE",
                            "in a table NOW() stands in comparisons of WHERE only");
    const char *odd = form->distinct      ? "DISTINCT"
                      : form->filter      ? "FILTER"
                      : form->order.count ? "ORDER BY"
                                          : NULL;
    if (odd)
        return sf_sqlb_fail(b, SF_INVALID, ast->op_span, "remove it",
                            "%s belongs to aggregates, and %.*s is none", odd,
                            SQLB_NAME(form->name.text));
    const sf_expr **args;
    SF_TRY(bind_args(b, scope, &ast->args, &args));
    return sf_expr_call(b->arena, form->name.text, args, (uint32_t)ast->args.count, ast->op_span,
                        out, b->err);
}

sf_status sf_sqlb_expr(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                       const sf_expr **out)
{
    *out = NULL;
    if (ast->kind == SF_EX_CALL && ast->call->over)
        return sf_sqlb_over_call(b, scope, ast, out);
    if (scope->group && !scope->in_aggregate) {
        SF_TRY(sf_sqlb_grouped(b, scope, ast, out));
        if (*out)
            return SF_OK;
    }
    sf_span span = ast->span;
    switch (ast->kind) {
    case SF_EX_NULL: return literal(b, SF_TYPE_UTF8, (sf_literal){.is_null = true}, span, out);
    case SF_EX_BOOL:
        return literal(b, SF_TYPE_BOOL, (sf_literal){.as.boolean = ast->boolean}, span, out);
    case SF_EX_LONG:
        return literal(b, SF_TYPE_I64, (sf_literal){.as.i64 = ast->integer}, span, out);
    case SF_EX_DOUBLE: return literal(b, SF_TYPE_F64, (sf_literal){.as.f64 = ast->real}, span, out);
    case SF_EX_STRING:
        return literal(b, SF_TYPE_UTF8, (sf_literal){.as.str = ast->text}, span, out);
    case SF_EX_INTERVAL: return sf_sqlb_interval(b, ast, out);
    case SF_EX_COLUMN: return sf_sqlb_column_ref(b, scope, ast, out);
    case SF_EX_STAR:
        return sf_sqlb_fail(b, SF_INVALID, span, "name the columns", "* cannot stand here");
    case SF_EX_OP: return bind_op(b, scope, ast, out);
    case SF_EX_IS: return bind_is(b, scope, ast, out);
    case SF_EX_BETWEEN:
    case SF_EX_LIKE:
    case SF_EX_IN_LIST: return bind_predicate(b, scope, ast, out);
    case SF_EX_IN_QUERY:
    case SF_EX_EXISTS:
    case SF_EX_QUANTIFIED: return sf_sqlb_membership_value(b, scope, ast, out);
    case SF_EX_QUERY: return sf_sqlb_scalar(b, scope, ast, out);
    case SF_EX_ROW:
        return sf_sqlb_fail(b, SF_INVALID, span, "a row stands in comparisons and before IN",
                            "a row of values cannot stand here");
    case SF_EX_JSON: return bind_json(b, scope, ast, out);
    case SF_EX_CAST: return bind_cast(b, scope, ast, out);
    case SF_EX_CASE: return bind_case(b, scope, ast, out);
    case SF_EX_CALL: return bind_call(b, scope, ast, out);
    }
    return SF_INTERNAL;
}

/* ---- conditions ---- */

void sf_sqlb_inputs_of(const sf_sqlb *b, const sf_expr *expr, sf_sqlb_set *out)
{
    if (expr->kind == SF_EXPR_COLUMN)
        sf_sqlb_set_add(out, b->vcols.data[expr->column].input);
    for (uint32_t i = 0; i < expr->arg_count; i++)
        sf_sqlb_inputs_of(b, expr->args[i], out);
}

static sf_status condition(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                           sf_sqlb_conds *out)
{
    sf_sqlb_cond cond = {0};
    const sf_expr *bound;
    bool before = scope->may_read_clock;
    scope->may_read_clock = strcmp(scope->place, "WHERE") == 0;
    bool equality = ast->kind == SF_EX_OP && ast->op == SF_OP_EQUAL;
    if (equality) {
        const sf_expr *sides[2];
        SF_TRY(sf_sqlb_expr(b, scope, ast->args.items[0], &sides[0]));
        SF_TRY(sf_sqlb_expr(b, scope, ast->args.items[1], &sides[1]));
        cond.left = sides[0];
        cond.right = sides[1];
        SF_TRY(call(b, "=", sides, 2, ast->op_span, &bound));
    } else {
        SF_TRY(sf_sqlb_expr(b, scope, ast, &bound));
    }
    scope->may_read_clock = before;
    SF_TRY(sf_sqlb_to_bool(b, bound, scope->place, &cond.expr));
    if (b->kind == SF_PLAN_TABLE && sf_sqlb_reads_clock(cond.expr))
        return sf_sqlb_temporal(b, cond.expr, out);
    sf_sqlb_inputs_of(b, cond.expr, &cond.inputs);
    SQLB_PUSH(b, out->items, out->count, cond);
    return SF_OK;
}

/* (a, b) = (c, d), so that each pair can be a key of a join. */
static sf_status row_condition(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                               sf_sqlb_conds *out)
{
    const sf_sql_expr *left = ast->args.items[0], *right = ast->args.items[1];
    SF_TRY(sf_sqlb_check_rows(b, left, right, ast->op_span));
    for (size_t i = 0; i < left->args.count; i++) {
        sf_sql_expr pair = *ast, *sides[2] = {left->args.items[i], right->args.items[i]};
        pair.args = (sf_sql_exprs){sides, 2};
        SF_TRY(condition(b, scope, &pair, out));
    }
    return SF_OK;
}

/* [NOT] IN (SELECT), [NOT] EXISTS, = ANY (SELECT), <> ALL (SELECT), however often NOT is written. */
static bool is_membership(const sf_sql_expr *ast, bool *negated)
{
    *negated = false;
    while (ast->kind == SF_EX_OP && ast->op == SF_OP_NOT) {
        *negated = !*negated;
        ast = ast->args.items[0];
    }
    return ast->kind == SF_EX_IN_QUERY || ast->kind == SF_EX_EXISTS ||
           ast->kind == SF_EX_QUANTIFIED;
}

sf_status sf_sqlb_conditions(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                             sf_sqlb_conds *out)
{
    bool negated, done;
    if (ast->kind == SF_EX_OP && ast->op == SF_OP_AND) {
        for (size_t i = 0; i < ast->args.count; i++)
            SF_TRY(sf_sqlb_conditions(b, scope, ast->args.items[i], out));
        return SF_OK;
    }
    if (!scope->no_subqueries && is_membership(ast, &negated)) {
        const sf_sql_expr *inner = ast;
        while (inner->kind == SF_EX_OP)
            inner = inner->args.items[0];
        SF_TRY(sf_sqlb_membership(b, scope, inner, negated, &done));
        if (done)
            return SF_OK;
    }
    bool rows = ast->kind == SF_EX_OP && ast->op == SF_OP_EQUAL &&
                ast->args.items[0]->kind == SF_EX_ROW && ast->args.items[1]->kind == SF_EX_ROW;
    return rows ? row_condition(b, scope, ast, out) : condition(b, scope, ast, out);
}

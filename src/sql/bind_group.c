/* bind_group.c: what may stand in a grouped SELECT: keys and aggregates.
 *
 * In a grouped SELECT an expression is made of group keys, aggregates and constants. Keys and
 * aggregates are numbered (sf_sqlb_group_column) until the node exists and its columns are known. */
#include "sql/bind.h"

#include <stdio.h>

static bool is_aggregate(const sf_sql_expr *ast)
{
    return ast->kind == SF_EX_CALL && !ast->call->over &&
           sf_is_aggregate_name(ast->call->name.text);
}

bool sf_sqlb_has_aggregate(const sf_sql_expr *ast)
{
    if (is_aggregate(ast))
        return true;
    for (size_t i = 0; i < ast->args.count; i++) {
        if (sf_sqlb_has_aggregate(ast->args.items[i]))
            return true;
    }
    return false;
}

/* ---- aggregates ---- */

static bool same_call(const sf_sqlb_agg *a, const sf_sqlb_agg *c)
{
    const sf_sql_call *one = a->ast->call, *other = c->ast->call;
    if (!sf_str_eq_nocase(one->name.text, other->name.text) || one->distinct != other->distinct ||
        a->arg_count != c->arg_count)
        return false;
    for (uint32_t i = 0; i < a->arg_count; i++) {
        if (!sf_expr_equal(a->args[i], c->args[i]))
            return false;
    }
    return true;
}

static bool takes_star(const sf_sql_expr *ast)
{
    return ast->args.count == 1 && ast->args.items[0]->kind == SF_EX_STAR &&
           !ast->args.items[0]->star.text.len;
}

/* FILTER (WHERE p): the argument is NULL where p is not true. COUNT(*) counts such a value. */
static sf_status apply_filter(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *filter,
                              sf_sqlb_agg *agg)
{
    const sf_expr *parts[3];
    sf_literal yes = {.as.boolean = true}, none = {.is_null = true};
    scope->place = "FILTER";
    SF_TRY(sf_sqlb_expr(b, scope, filter, &parts[0]));
    SF_TRY(sf_sqlb_to_bool(b, parts[0], "FILTER", &parts[0]));
    if (agg->arg_count)
        parts[1] = agg->args[--agg->arg_count];
    else
        SF_TRY(sf_expr_literal(b->arena, SF_TYPE_BOOL, &yes, filter->span, &parts[1], b->err));
    SF_TRY(sf_expr_literal(b->arena, SF_TYPE_UTF8, &none, filter->span, &parts[2], b->err));
    return sf_expr_case(b->arena, parts, 3, filter->span, &agg->args[agg->arg_count++], b->err);
}

/* Arguments and filter, over the input's columns. */
static sf_status bind_inside(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                             sf_sqlb_agg *agg)
{
    const sf_sql_call *call = ast->call;
    if (call->order.count)
        return sf_sqlb_not_yet(b, ast->op_span, "ORDER BY inside an aggregate",
                               call->within_group ? "write PERCENTILE_CONT(p, x)" : "leave it out");
    agg->ast = ast;
    agg->args = SF_ARENA_ARRAY(b->scratch, const sf_expr *, ast->args.count + 1);
    if (!agg->args)
        return sf_fail_memory(b->err);
    const char *place = scope->place;
    scope->in_aggregate = true;
    for (size_t i = 0; !takes_star(ast) && i < ast->args.count; i++)
        SF_TRY(sf_sqlb_expr(b, scope, ast->args.items[i], &agg->args[agg->arg_count++]));
    bool whole = takes_star(ast) || agg->arg_count > 0; /* otherwise an argument is missing */
    if (call->filter && whole)
        SF_TRY(apply_filter(b, scope, call->filter, agg));
    scope->in_aggregate = false;
    scope->place = place;
    return SF_OK;
}

sf_status sf_sqlb_resolve_aggregate(sf_sqlb *b, const sf_sqlb_agg *agg, const sf_expr *const *args,
                                    bool append_only, sf_agg_call *out)
{
    bool star = takes_star(agg->ast) && agg->arg_count == 0;
    return sf_aggregate_bind(b->arena, agg->ast->call->name.text, args, agg->arg_count, star,
                             agg->ast->call->distinct, append_only, agg->ast->op_span, out, b->err);
}

static sf_status aggregate(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                           const sf_expr **out)
{
    sf_sqlb_group *group = scope->group;
    sf_sqlb_agg agg = {0};
    SF_TRY(bind_inside(b, scope, ast, &agg));
    uint32_t number = 0;
    for (; number < group->agg_count; number++) {
        if (same_call(&group->aggs[number], &agg))
            break;
    }
    if (number == group->agg_count) {
        SF_TRY(sf_sqlb_resolve_aggregate(b, &agg, agg.args, true, &agg.call));
        SF_TRY(sf_sqlb_default_name(b, ast, number, &agg.name));
        if (agg.call.warning)
            SF_TRY(sf_sqlb_warn(b, ast->span, "%s", agg.call.warning));
        SQLB_PUSH(b, group->aggs, group->agg_count, agg);
    }
    return sf_expr_column(b->arena, sf_sqlb_group_column(group, number),
                          group->aggs[number].call.aggregate->result_type, ast->op_span, out,
                          b->err);
}

/* ---- what stands in a grouped SELECT ---- */

bool sf_sqlb_is_name(const sf_sql_expr *ast, const char *name)
{
    return ast->kind == SF_EX_COLUMN && ast->column.count == 1 &&
           sf_str_eq_nocase(ast->column.items[0].text, sf_str_of(name));
}

static bool key_named(const sf_sqlb_group *group, const char *name)
{
    for (size_t i = 0; i < group->key_count; i++) {
        if (sf_str_eq_nocase(sf_str_of(group->keys[i].name), sf_str_of(name)))
            return true;
    }
    return false;
}

/* window_start and window_end of the window of this SELECT. */
static sf_status window_bound(sf_sqlb *b, const sf_sqlb_group *group, const sf_sql_expr *ast,
                              const sf_expr **out)
{
    static const char *const names[] = {"window_start", "window_end"};
    for (uint32_t i = 0; group->windowed && i < 2; i++) {
        if (sf_sqlb_is_name(ast, names[i]) && !key_named(group, names[i]))
            return sf_expr_column(b->arena, (uint32_t)group->key_count + i, SF_TYPE_TIMESTAMP,
                                  ast->span, out, b->err);
    }
    return SF_OK;
}

static sf_status not_grouped(sf_sqlb *b, const sf_sqlb_scope *scope, const sf_sql_expr *ast)
{
    sf_str name = {b->text.data + ast->span.offset, ast->span.length};
    char hint[200];
    snprintf(hint, sizeof hint, "add it to GROUP BY, or take one value of the group, as MAX(%.*s)",
             SQLB_NAME(name));
    return sf_sqlb_fail(b, SF_INVALID, ast->span, hint,
                        "column \"%.*s\" in %s is neither in GROUP BY nor inside an aggregate",
                        SQLB_NAME(name), scope->place);
}

/* Only a tree as deep as a key's can be that key: so that each part is bound but few times. */
static sf_status match_key(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                           const sf_expr **out)
{
    const sf_sqlb_group *group = scope->group;
    bool candidate = ast->kind == SF_EX_COLUMN;
    for (size_t i = 0; i < group->key_count && !candidate; i++)
        candidate = group->keys[i].depth == ast->depth;
    if (!candidate || ast->kind == SF_EX_QUERY || sf_sqlb_has_aggregate(ast))
        return SF_OK;
    const sf_expr *bound;
    scope->in_aggregate = true;
    SF_TRY(sf_sqlb_expr(b, scope, ast, &bound));
    scope->in_aggregate = false;
    for (size_t i = 0; i < group->key_count; i++) {
        if (sf_expr_equal(group->keys[i].expr, bound))
            return sf_expr_column(b->arena, (uint32_t)i, bound->type, ast->span, out, b->err);
    }
    return ast->kind == SF_EX_COLUMN ? not_grouped(b, scope, ast) : SF_OK;
}

sf_status sf_sqlb_grouped(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                          const sf_expr **out)
{
    if (is_aggregate(ast))
        return aggregate(b, scope, ast, out);
    SF_TRY(window_bound(b, scope->group, ast, out));
    if (*out || ast->args.count == 0) {
        if (*out || ast->kind != SF_EX_COLUMN)
            return SF_OK;
    }
    return match_key(b, scope, ast, out);
}

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

static bool window_has_aggregate(const sf_sql_over *over)
{
    for (size_t i = 0; i < over->partition.count; i++) {
        if (sf_sqlb_has_aggregate(over->partition.items[i]))
            return true;
    }
    for (size_t i = 0; i < over->order.count; i++) {
        if (sf_sqlb_has_aggregate(over->order.items[i].expr))
            return true;
    }
    return false;
}

bool sf_sqlb_has_aggregate(const sf_sql_expr *ast)
{
    if (is_aggregate(ast))
        return true;
    if (ast->kind == SF_EX_CALL && ast->call->over && window_has_aggregate(ast->call->over))
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
    if (a->grouping || !sf_str_eq_nocase(one->name.text, other->name.text) ||
        one->distinct != other->distinct || a->arg_count != c->arg_count ||
        a->part_count != c->part_count || a->filtered != c->filtered ||
        one->within_group != other->within_group)
        return false;
    for (size_t i = 0; i < one->order.count; i++) {
        const sf_sql_order_item *by = &one->order.items[i], *like = &other->order.items[i];
        if (by->descending != like->descending || by->nulls != like->nulls)
            return false;
    }
    for (uint32_t i = 0; i < a->part_count; i++) {
        if (!sf_expr_equal(a->parts[i], c->parts[i]))
            return false;
    }
    return true;
}

static bool takes_star(const sf_sql_expr *ast)
{
    return ast->args.count == 1 && ast->args.items[0]->kind == SF_EX_STAR &&
           !ast->args.items[0]->star.text.len;
}

/* Arguments, order, filter and time, over the input's columns. */
static sf_status bind_inside(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                             sf_sqlb_agg *agg)
{
    const sf_sql_call *call = ast->call;
    const char *place = scope->place;
    agg->ast = ast;
    agg->parts =
        SF_ARENA_ARRAY(b->scratch, const sf_expr *, ast->args.count + call->order.count + 2);
    if (!agg->parts)
        return sf_fail_memory(b->err);
    scope->in_aggregate = true;
    for (size_t i = 0; !takes_star(ast) && i < ast->args.count; i++)
        SF_TRY(sf_sqlb_expr(b, scope, ast->args.items[i], &agg->parts[agg->part_count++]));
    agg->arg_count = agg->part_count;
    for (size_t i = 0; i < call->order.count; i++)
        SF_TRY(sf_sqlb_expr(b, scope, call->order.items[i].expr, &agg->parts[agg->part_count++]));
    if (call->filter) {
        const sf_expr *filter;
        scope->place = "FILTER";
        SF_TRY(sf_sqlb_expr(b, scope, call->filter, &filter));
        SF_TRY(sf_sqlb_to_bool(b, filter, "FILTER", &agg->parts[agg->part_count++]));
        agg->filtered = true;
    }
    if (sf_aggregate_needs_time(call->name.text) && !call->order.count) {
        SF_TRY(sf_sqlb_time_of(b, scope, ast->op_span, &agg->parts[agg->part_count]));
        agg->timed = agg->parts[agg->part_count] != NULL;
        agg->part_count += agg->timed;
    }
    scope->in_aggregate = false;
    scope->place = place;
    return SF_OK;
}

sf_status sf_sqlb_resolve_aggregate(sf_sqlb *b, const sf_sqlb_agg *agg, const sf_expr *const *parts,
                                    bool append_only, sf_agg_call *out)
{
    const sf_sql_call *call = agg->ast->call;
    sf_agg_order *order = SF_ARENA_ARRAY(b->scratch, sf_agg_order, call->order.count + 1);
    if (!order)
        return sf_fail_memory(b->err);
    for (size_t i = 0; i < call->order.count; i++) {
        const sf_sql_order_item *item = &call->order.items[i];
        bool first =
            item->nulls == SF_NULLS_DEFAULT ? item->descending : item->nulls == SF_NULLS_FIRST;
        order[i] = (sf_agg_order){parts[agg->arg_count + i], item->descending, first};
    }
    sf_agg_spec spec = {
        .name = call->name.text,
        .args = parts,
        .arg_count = agg->arg_count,
        .star = takes_star(agg->ast) && agg->arg_count == 0,
        .distinct = call->distinct,
        .append_only = append_only,
        .filter = agg->filtered ? parts[agg->part_count - 1 - agg->timed] : NULL,
        .order = order,
        .order_count = (uint32_t)call->order.count,
        .within_group = call->within_group,
        .time = agg->timed ? parts[agg->part_count - 1] : NULL,
        .span = agg->ast->op_span,
    };
    return sf_aggregate_bind(b->arena, &spec, out, b->err);
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
        SF_TRY(sf_sqlb_resolve_aggregate(b, &agg, agg.parts, true, &agg.call));
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
    if (!candidate || ast->kind == SF_EX_QUERY || sf_sqlb_has_aggregate(ast) ||
        sf_sqlb_has_over(ast))
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
    const sf_sql_expr *carried;
    if (is_aggregate(ast))
        return aggregate(b, scope, ast, out);
    if (ast->kind == SF_EX_CALL && !ast->call->over &&
        sf_str_eq_nocase(ast->call->name.text, SF_STR("GROUPING")))
        return sf_sqlb_grouping(b, scope, ast, out);
    SF_TRY(sf_sqlb_keyed_query(b, scope, ast, &carried));
    if (carried) {
        scope->keyed = true;
        SF_TRY(aggregate(b, scope, carried, out));
        scope->keyed = false;
        return SF_OK;
    }
    SF_TRY(window_bound(b, scope->group, ast, out));
    if (*out || ast->args.count == 0) {
        if (*out || ast->kind != SF_EX_COLUMN)
            return SF_OK;
    }
    return match_key(b, scope, ast, out);
}

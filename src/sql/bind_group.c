/* bind_group.c: GROUP BY and aggregates.
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

static sf_status resolve(sf_sqlb *b, const sf_sqlb_agg *agg, const sf_expr *const *args,
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
        SF_TRY(resolve(b, &agg, agg.args, true, &agg.call));
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

static bool is_bare_name(const sf_sql_expr *ast, const char *name)
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
        if (is_bare_name(ast, names[i]) && !key_named(group, names[i]))
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

/* ---- keys ---- */

static sf_status add_key(sf_sqlb *b, sf_sqlb_scope *scope, sf_sqlb_group *group,
                         const sf_sql_expr *ast)
{
    sf_sqlb_key key = {.depth = ast->depth};
    SF_TRY(sf_sqlb_expr(b, scope, ast, &key.expr));
    for (size_t i = 0; i < group->key_count; i++) {
        if (sf_expr_equal(group->keys[i].expr, key.expr))
            return SF_OK;
    }
    SF_TRY(sf_sqlb_default_name(b, ast, group->key_count, &key.name));
    SQLB_PUSH(b, group->keys, group->key_count, key);
    return SF_OK;
}

static sf_status item_key(sf_sqlb *b, sf_sqlb_scope *scope, sf_sqlb_group *group,
                          const sf_sql_expr *item, sf_span span)
{
    if (item->kind == SF_EX_STAR)
        return sf_sqlb_fail(b, SF_INVALID, span, "name the columns", "GROUP BY cannot take *");
    if (sf_sqlb_has_aggregate(item))
        return sf_sqlb_fail(b, SF_INVALID, span, "group by the columns, not by what is computed",
                            "GROUP BY cannot take an aggregate");
    return add_key(b, scope, group, item);
}

static const sf_sql_expr *item_with_alias(const sf_sql_select *select, sf_str name)
{
    for (size_t i = 0; i < select->item_count; i++) {
        if (select->items[i].alias.text.len && sf_str_eq_nocase(select->items[i].alias.text, name))
            return select->items[i].expr;
    }
    return NULL;
}

/* A column of the input, or else the alias of a SELECT item; window_start and window_end of a
 * windowed SELECT are keys anyway. */
static sf_status named_key(sf_sqlb *b, sf_sqlb_scope *scope, sf_sqlb_group *group,
                           const sf_sql_expr *ast)
{
    sf_sql_name name = ast->column.items[0];
    const sf_sql_expr *item = item_with_alias(scope->select, name.text);
    sf_status status = add_key(b, scope, group, ast);
    if (status != SF_NOT_FOUND)
        return status;
    if (group->windowed && (is_bare_name(ast, "window_start") || is_bare_name(ast, "window_end")))
        return SF_OK;
    return item ? item_key(b, scope, group, item, name.span) : status;
}

static sf_status one_key(sf_sqlb *b, sf_sqlb_scope *scope, sf_sqlb_group *group,
                         const sf_sql_expr *ast)
{
    const sf_sql_select *select = scope->select;
    if (ast->kind == SF_EX_COLUMN && ast->column.count == 1)
        return named_key(b, scope, group, ast);
    if (ast->kind != SF_EX_LONG)
        return add_key(b, scope, group, ast);
    if (ast->integer < 1 || (uint64_t)ast->integer > select->item_count)
        return sf_sqlb_fail(b, SF_INVALID, ast->span, "count the items of SELECT from 1",
                            "GROUP BY %lld: SELECT has %zu items", (long long)ast->integer,
                            select->item_count);
    return item_key(b, scope, group, select->items[ast->integer - 1].expr, ast->span);
}

sf_status sf_sqlb_group_keys(sf_sqlb *b, sf_sqlb_scope *scope, sf_sqlb_group *group)
{
    const sf_sql_select *select = scope->select;
    scope->place = "GROUP BY";
    scope->no_subqueries = true;
    for (size_t i = 0; select->group_all && i < select->item_count; i++) {
        const sf_sql_expr *item = select->items[i].expr;
        if (!sf_sqlb_has_aggregate(item))
            SF_TRY(item_key(b, scope, group, item, item->span));
    }
    for (size_t i = 0; i < select->group_count; i++) {
        const sf_sql_group *set = &select->groups[i];
        if (set->kind != SF_GROUP_EXPRS)
            return sf_sqlb_not_yet(b, set->span, "GROUPING SETS, ROLLUP and CUBE",
                                   "write one SELECT for each grouping, with UNION ALL");
        for (size_t k = 0; k < set->exprs.count; k++)
            SF_TRY(one_key(b, scope, group, set->exprs.items[k]));
    }
    scope->no_subqueries = false;
    return SF_OK;
}

/* ---- the node ---- */

/* The same aggregates over the columns of the node below. */
static sf_status node_aggs(sf_sqlb *b, const sf_sqlb_group *group, uint32_t below,
                           sf_agg_call **calls, const char ***names)
{
    bool append_only = sf_plan_at(b->plan, below)->append_only;
    *calls = SF_ARENA_ARRAY(b->scratch, sf_agg_call, group->agg_count + 1);
    *names = SF_ARENA_ARRAY(b->scratch, const char *, group->agg_count + 1);
    if (!*calls || !*names)
        return sf_fail_memory(b->err);
    for (size_t i = 0; i < group->agg_count; i++) {
        const sf_sqlb_agg *agg = &group->aggs[i];
        const sf_expr **args = SF_ARENA_ARRAY(b->scratch, const sf_expr *, agg->arg_count + 1u);
        if (!args)
            return sf_fail_memory(b->err);
        for (uint32_t k = 0; k < agg->arg_count; k++)
            SF_TRY(sf_sqlb_remap(b, agg->args[k], &args[k]));
        SF_TRY(resolve(b, agg, args, append_only, &(*calls)[i]));
        (*names)[i] = agg->name;
    }
    return SF_OK;
}

static sf_status number_columns(sf_sqlb *b, const sf_sqlb_group *group, const uint32_t **map)
{
    uint32_t keys = (uint32_t)group->key_count, aggs = (uint32_t)group->agg_count;
    uint32_t *numbers = SF_ARENA_ARRAY(b->scratch, uint32_t, keys + aggs + 3u);
    if (!numbers)
        return sf_fail_memory(b->err);
    for (uint32_t i = 0; i < keys; i++)
        numbers[i] = i;
    for (uint32_t i = 0; i < aggs; i++)
        numbers[sf_sqlb_group_column(group, i)] = keys + i;
    numbers[keys] = keys + aggs;
    numbers[keys + 1] = keys + aggs + 1;
    numbers[sf_sqlb_group_column(group, aggs)] = keys + aggs + 2; /* _final */
    *map = numbers;
    return SF_OK;
}

static sf_status window_node(sf_sqlb *b, uint32_t below, const sf_sql_window *window,
                             const uint32_t *keys, const sf_sqlb_group *group,
                             const sf_agg_call *calls, const char *const *names, bool changes,
                             uint32_t *node)
{
    static const sf_window_kind kinds[] = {
        [SF_SQL_WINDOW_TUMBLING] = SF_WINDOW_TUMBLING,
        [SF_SQL_WINDOW_HOPPING] = SF_WINDOW_HOPPING,
        [SF_SQL_WINDOW_SESSION] = SF_WINDOW_SESSION,
    };
    sf_window_spec spec = {.kind = kinds[window->kind],
                           .size_ms = window->size.ms,
                           .advance_ms = window->advance.ms,
                           .gap_ms = window->gap.ms,
                           .keys = keys,
                           .key_count = (uint32_t)group->key_count,
                           .aggs = calls,
                           .agg_names = names,
                           .agg_count = (uint32_t)group->agg_count,
                           .emit_changes = changes};
    return sf_plan_window(b->plan, below, &spec, node, b->err);
}

static sf_status list_keys(sf_sqlb *b, const sf_sqlb_group *group, const sf_expr ***exprs,
                           const char ***names, uint32_t **columns)
{
    *exprs = SF_ARENA_ARRAY(b->scratch, const sf_expr *, group->key_count + 1);
    *names = SF_ARENA_ARRAY(b->scratch, const char *, group->key_count + 1);
    *columns = SF_ARENA_ARRAY(b->scratch, uint32_t, group->key_count + 1);
    if (!*exprs || !*names || !*columns)
        return sf_fail_memory(b->err);
    for (size_t i = 0; i < group->key_count; i++) {
        (*exprs)[i] = group->keys[i].expr;
        (*names)[i] = group->keys[i].name;
    }
    return SF_OK;
}

static void use_aggregates(sf_sqlb *b, const sf_sqlb_group *group)
{
    for (size_t i = 0; i < group->agg_count; i++) {
        const sf_sqlb_agg *agg = &group->aggs[i];
        for (uint32_t k = 0; k < agg->arg_count; k++)
            sf_sqlb_use(b, agg->args[k]);
    }
}

sf_status sf_sqlb_group_node(sf_sqlb *b, const sf_sqlb_scope *scope, const sf_sqlb_group *group,
                             const sf_sql_window *window, bool changes, uint32_t *node,
                             const uint32_t **map)
{
    sf_sqlb_rows rows;
    sf_agg_call *calls;
    const sf_expr **exprs;
    const char **key_names, **names;
    uint32_t count = (uint32_t)group->key_count, *keys;
    SF_TRY(list_keys(b, group, &exprs, &key_names, &keys));
    use_aggregates(b, group);
    SF_TRY(sf_sqlb_build_keyed(b, scope->tree, exprs, key_names, count, keys, &rows));
    SF_TRY(node_aggs(b, group, rows.node, &calls, &names));
    SF_TRY(sf_sqlb_check_width(b, count + group->agg_count + 4, scope->select->span));
    SF_TRY(number_columns(b, group, map));
    if (window)
        return window_node(b, rows.node, window, keys, group, calls, names, changes, node);
    return sf_plan_reduce(b->plan, rows.node, keys, count, calls, names, (uint32_t)group->agg_count,
                          node, b->err);
}

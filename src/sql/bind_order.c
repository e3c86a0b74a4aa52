/* bind_order.c: ORDER BY, LIMIT and OFFSET. A table keeps the rows that they choose. */
#include "sql/bind.h"

sf_status sf_sqlb_check_order(sf_sqlb *b, const sf_sql_query *query, bool *ordered)
{
    bool limited = query->has_limit || query->has_offset;
    *ordered = limited || query->order.count > 0;
    if (!*ordered)
        return SF_OK;
    sf_span limit = query->has_limit ? query->limit_span : query->offset_span;
    if (b->kind == SF_PLAN_PIPELINE)
        return sf_sqlb_fail(b, SF_INVALID, query->order.count ? query->order_span : limit,
                            "make the query a table, or a table that reads this pipeline",
                            "a pipeline's rows leave as they come and take no %s",
                            query->order.count ? "ORDER BY" : "LIMIT");
    if (!limited)
        return sf_sqlb_warn(
            b, query->order_span,
            "ORDER BY without LIMIT changes nothing: rows of a table have no order; "
            "sort where they are shown");
    if (!query->order.count)
        return sf_sqlb_warn(b, limit,
                            "without ORDER BY the rows that stay are the first ones by all columns "
                            "from left to right");
    return SF_OK;
}

static sf_status add_key(sf_sqlb *b, const sf_sql_order_item *item, sf_type type, uint32_t column,
                         sf_sqlb_order *out)
{
    if (type == SF_TYPE_JSON)
        return sf_sqlb_fail(b, SF_INVALID, item->expr->span,
                            "order by one of its fields: column ->> 'field'",
                            "ORDER BY cannot take a Json value");
    bool first = item->nulls == SF_NULLS_DEFAULT ? item->descending : item->nulls == SF_NULLS_FIRST;
    sf_plan_order by = {column, item->descending, first};
    SQLB_PUSH(b, out->by, out->count, by);
    return SF_OK;
}

/* ORDER BY 2: *column from 0. */
static sf_status position(sf_sqlb *b, const sf_sql_expr *ast, size_t count, uint32_t *column)
{
    if (ast->integer < 1 || (uint64_t)ast->integer > count)
        return sf_sqlb_fail(b, SF_INVALID, ast->span, "count the selected columns from 1",
                            "ORDER BY position %lld is not among the %zu selected columns",
                            (long long)ast->integer, count);
    *column = (uint32_t)ast->integer - 1;
    return SF_OK;
}

static bool is_named(const sf_sql_expr *ast, const char *name)
{
    return ast->kind == SF_EX_COLUMN && ast->column.count == 1 &&
           sf_str_eq_nocase(ast->column.items[0].text, sf_str_of(name));
}

/* ---- over the items of a SELECT ---- */

static sf_status find_item(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast, size_t shown,
                           sf_sqlb_items *list, uint32_t *column)
{
    if (ast->kind == SF_EX_LONG)
        return position(b, ast, shown, column);
    for (*column = 0; *column < shown; ++*column)
        if (is_named(ast, list->items[*column].name))
            return SF_OK;
    sf_sqlb_item item = {.span = ast->span};
    SF_TRY(sf_sqlb_expr(b, scope, ast, &item.expr));
    for (*column = 0; *column < list->count; ++*column)
        if (sf_expr_equal(list->items[*column].expr, item.expr))
            return SF_OK;
    if (scope->select->distinct)
        return sf_sqlb_fail(b, SF_INVALID, ast->span, "select it too, or leave DISTINCT out",
                            "ORDER BY of SELECT DISTINCT reads what is not selected");
    item.name = sf_arena_printf(b->arena, "_order%zu", list->count + 1);
    if (!item.name)
        return sf_fail_memory(b->err);
    SQLB_PUSH(b, list->items, list->count, item);
    return SF_OK;
}

sf_status sf_sqlb_order_items(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_query *query,
                              sf_sqlb_items *list, sf_sqlb_order *out)
{
    size_t shown = list->count;
    scope->place = "ORDER BY";
    for (size_t i = 0; i < query->order.count; i++) {
        const sf_sql_order_item *item = &query->order.items[i];
        uint32_t column;
        SF_TRY(find_item(b, scope, item->expr, shown, list, &column));
        SF_TRY(add_key(b, item, list->items[column].expr->type, column, out));
    }
    return SF_OK;
}

/* ---- over the columns of a set operation ---- */

sf_status sf_sqlb_order_columns(sf_sqlb *b, const sf_sql_query *query, const sf_sqlb_rel *rel,
                                sf_sqlb_order *out)
{
    for (size_t i = 0; i < query->order.count; i++) {
        const sf_sql_order_item *item = &query->order.items[i];
        uint32_t column = 0;
        if (item->expr->kind == SF_EX_LONG) {
            SF_TRY(position(b, item->expr, rel->count, &column));
        } else {
            while (column < rel->count && !is_named(item->expr, rel->columns[column].name))
                column++;
            if (column == rel->count)
                return sf_sqlb_fail(b, SF_INVALID, item->expr->span,
                                    "name a column of the first SELECT, or put the query in FROM",
                                    "ORDER BY of a set operation takes its columns by name or "
                                    "position only");
        }
        SF_TRY(add_key(b, item, rel->columns[column].type, column, out));
    }
    return SF_OK;
}

/* ---- the rows ---- */

/* Leaves out what only ORDER BY reads. */
static sf_status drop_hidden(sf_sqlb *b, sf_sqlb_rel *rel)
{
    const sf_schema *schema = sf_plan_at(b->plan, rel->node)->schema;
    if (schema->count == rel->count + 1)
        return SF_OK;
    const sf_expr **exprs = SF_ARENA_ARRAY(b->scratch, const sf_expr *, rel->count + 1u);
    if (!exprs)
        return sf_fail_memory(b->err);
    for (uint32_t i = 0; i < rel->count; i++)
        SF_TRY(sf_expr_column(b->arena, i, schema->fields[i].type, (sf_span){0, 0}, &exprs[i],
                              b->err));
    return sf_plan_map(b->plan, rel->node, NULL, exprs, schema->fields, rel->count, &rel->node,
                       b->err);
}

sf_status sf_sqlb_limit(sf_sqlb *b, const sf_sql_query *query, const sf_sqlb_order *order,
                        sf_sqlb_rel *rel)
{
    sf_over_spec spec = {.order = order->by,
                         .order_count = order->count,
                         .offset = (uint64_t)query->offset,
                         .limit = query->has_limit ? (uint64_t)query->limit : SF_TOP_ALL};
    if (query->has_limit || query->has_offset)
        SF_TRY(sf_plan_over(b->plan, rel->node, &spec, &rel->node, b->err));
    return drop_hidden(b, rel);
}

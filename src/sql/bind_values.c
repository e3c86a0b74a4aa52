/* bind_values.c: rows that the statement itself gives: SELECT without FROM, and VALUES. */
#include "sql/bind.h"

enum { ROWS_MAX = 1000 };

sf_status sf_sqlb_one_row(sf_sqlb *b, const char *what, sf_span span, uint32_t *node)
{
    if (b->kind == SF_PLAN_PIPELINE)
        return sf_sqlb_fail(b, SF_INVALID, span, "name a source in FROM, or make the query a table",
                            "%s in a pipeline: its rows come from sources", what);
    return sf_plan_one(b->plan, node, b->err);
}

sf_status sf_sqlb_no_from(sf_sqlb *b, sf_sqlb_scope *scope)
{
    const sf_sql_select *select = scope->select;
    sf_sqlb_rel rel = {0};
    uint32_t number;
    for (size_t i = 0; i < select->item_count; i++) {
        if (select->items[i].expr->kind == SF_EX_STAR)
            return sf_sqlb_fail(b, SF_INVALID, select->items[i].expr->span,
                                "name a source or table in FROM", "* has no FROM to take from");
    }
    SF_TRY(sf_sqlb_one_row(b, "SELECT without FROM", select->span, &rel.node));
    return sf_sqlb_hidden_input(b, &rel, select->span, &number, &scope->tree);
}

/* ---- VALUES ---- */

typedef struct {
    const sf_expr **items; /* row by row */
    sf_type *types;        /* a column */
    size_t rows, columns;
} values;

static sf_status bind_rows(sf_sqlb *b, const sf_sql_body *body, values *out)
{
    sf_sqlb_scope scope = {.ts = UINT32_MAX, .place = "VALUES", .no_subqueries = true};
    const sf_sql_exprs *rows = body->values.items;
    *out = (values){.rows = body->values.count, .columns = rows[0].count};
    if (out->rows > ROWS_MAX)
        return sf_sqlb_fail(b, SF_LIMIT, body->span, "load them as a source of kind file",
                            "VALUES has more than %d rows", ROWS_MAX);
    SF_TRY(sf_sqlb_check_width(b, out->columns + 1, body->span));
    out->items = SF_ARENA_ARRAY(b->scratch, const sf_expr *, out->rows * out->columns);
    if (!out->items)
        return sf_fail_memory(b->err);
    for (size_t r = 0; r < out->rows; r++) {
        if (rows[r].count != out->columns)
            return sf_sqlb_fail(
                b, SF_INVALID, rows[r].items[0]->span, "give each row as many values as the first",
                "row %zu of VALUES has %zu values, not %zu", r + 1, rows[r].count, out->columns);
        for (size_t c = 0; c < out->columns; c++)
            SF_TRY(sf_sqlb_expr(b, &scope, rows[r].items[c], &out->items[r * out->columns + c]));
    }
    return SF_OK;
}

/* A bare NULL takes any type; a column of nothing else is a String. */
static sf_status unify(sf_sqlb *b, values *v)
{
    v->types = SF_ARENA_ARRAY(b->scratch, sf_type, v->columns);
    if (!v->types)
        return sf_fail_memory(b->err);
    for (size_t c = 0; c < v->columns; c++) {
        bool known = false;
        v->types[c] = SF_TYPE_UTF8;
        for (size_t r = 0; r < v->rows; r++) {
            const sf_expr *item = v->items[r * v->columns + c];
            sf_type before = v->types[c];
            if (item->untyped)
                continue;
            if (!known)
                v->types[c] = item->type;
            else if (!sf_type_unify(before, item->type, &v->types[c]))
                return sf_sqlb_fail(b, SF_INVALID, item->span,
                                    "convert one, with TO_STRING or TO_DOUBLE for example",
                                    "column %zu of VALUES has %s and %s", c + 1,
                                    sf_type_name(before), sf_type_name(item->type));
            known = true;
        }
    }
    return SF_OK;
}

static sf_status describe(sf_sqlb *b, const values *v, sf_field *fields, sf_sqlb_rel *out)
{
    *out = (sf_sqlb_rel){.count = (uint32_t)v->columns};
    out->columns = SF_ARENA_ARRAY(b->scratch, sf_sqlb_column, v->columns);
    if (!out->columns)
        return sf_fail_memory(b->err);
    for (size_t c = 0; c < v->columns; c++) {
        const char *name = sf_arena_printf(b->arena, "column%zu", c + 1);
        if (!name)
            return sf_fail_memory(b->err);
        out->columns[c] = (sf_sqlb_column){name, v->types[c]};
        fields[c] = (sf_field){.name = name};
    }
    return SF_OK;
}

sf_status sf_sqlb_values(sf_sqlb *b, const sf_sql_body *body, sf_sqlb_rel *out)
{
    values v;
    uint32_t one;
    SF_TRY(sf_sqlb_one_row(b, "VALUES", body->span, &one));
    SF_TRY(bind_rows(b, body, &v));
    SF_TRY(unify(b, &v));
    uint32_t *nodes = SF_ARENA_ARRAY(b->scratch, uint32_t, v.rows);
    sf_field *fields = SF_ARENA_ARRAY(b->scratch, sf_field, v.columns);
    if (!nodes || !fields)
        return sf_fail_memory(b->err);
    SF_TRY(describe(b, &v, fields, out));
    for (size_t r = 0; r < v.rows; r++) {
        const sf_expr **row = v.items + r * v.columns;
        for (size_t c = 0; c < v.columns; c++)
            SF_TRY(sf_expr_cast(b->arena, row[c], v.types[c], row[c]->span, &row[c], b->err));
        SF_TRY(sf_plan_map(b->plan, one, NULL, row, fields, out->count, &nodes[r], b->err));
    }
    out->node = nodes[0];
    if (v.rows == 1)
        return SF_OK;
    return sf_plan_union(b->plan, nodes, (uint32_t)v.rows, &out->node, b->err);
}

/* bind_relation.c: what an input of FROM is: a source, a table, a query of WITH, a subquery, or a
 * window function over one of them. */
#include "sql/bind.h"

sf_status sf_sqlb_rename_columns(sf_sqlb *b, const sf_sql_names *names, sf_sqlb_rel *rel)
{
    if (names->count > rel->count)
        return sf_sqlb_fail(b, SF_INVALID, names->items[rel->count].span,
                            "leave the surplus names out", "the input has %u columns, not %zu",
                            rel->count, names->count);
    if (!names->count)
        return SF_OK;
    sf_sqlb_column *columns = SF_ARENA_ARRAY(b->scratch, sf_sqlb_column, rel->count);
    if (!columns)
        return sf_fail_memory(b->err);
    for (uint32_t i = 0; i < rel->count; i++) {
        columns[i] = rel->columns[i];
        if (i >= names->count)
            continue;
        sf_str name = names->items[i].text;
        columns[i].name = sf_arena_strndup(b->arena, name.data, name.len);
        if (!columns[i].name)
            return sf_fail_memory(b->err);
    }
    rel->columns = columns;
    return SF_OK;
}

/* A query of WITH is bound at its first use; all uses share its node. */
static sf_status use_with(sf_sqlb *b, sf_sqlb_with *with, sf_sqlb_rel *out)
{
    if (!with->bound) {
        sf_sqlb_with *visible = b->with;
        with->enclosing = b->binding;
        b->binding = with;
        b->with = with->before;
        SF_TRY(sf_sqlb_query(b, with->ast->query, NULL, SF_OUTER_CORRELATED, false, &with->rel));
        b->with = visible;
        b->binding = with->enclosing;
        SF_TRY(sf_sqlb_rename_columns(b, &with->ast->columns, &with->rel));
        with->bound = true;
    }
    *out = with->rel;
    return SF_OK;
}

/* The name stands in a query of WITH and means that query itself or one declared after it. */
static sf_status check_forward(sf_sqlb *b, sf_sql_name name)
{
    for (const sf_sqlb_with *with = b->binding; with; with = with->enclosing) {
        bool reached = false;
        for (size_t i = 0; i < with->owner->with_count; i++) {
            const sf_sql_with *other = &with->owner->with[i];
            reached |= other == with->ast;
            if (!reached || !sf_str_eq(other->name.text, name.text))
                continue;
            if (other != with->ast)
                return sf_sqlb_fail(b, SF_INVALID, name.span, "declare it first",
                                    "\"%.*s\" is declared only later in WITH",
                                    SQLB_NAME(name.text));
            if (with->owner->recursive)
                return sf_sqlb_not_yet(b, name.span, "WITH RECURSIVE",
                                       "write a fixed number of joins");
            return sf_sqlb_fail(b, SF_INVALID, name.span,
                                "a query of WITH reads those declared before it",
                                "\"%.*s\" reads itself", SQLB_NAME(name.text));
        }
    }
    return SF_OK;
}

static sf_status named(sf_sqlb *b, const sf_sql_input *ast, sf_sqlb_rel *out)
{
    sf_sqlb_with *with = ast->name.count == 1 ? b->with : NULL;
    while (with && !sf_str_eq(with->ast->name.text, ast->name.items[0].text))
        with = with->before;
    if (with)
        return use_with(b, with, out);
    if (ast->name.count == 1)
        SF_TRY(check_forward(b, ast->name.items[0]));
    return sf_sqlb_relation(b, ast, out);
}

/* ---- window functions ---- */

/* TUMBLE and HOP in a table: each row with the bounds of the windows that cover it. The windows
 * never close; a GROUP BY over their bounds is an ordinary one. */
typedef struct {
    uint32_t node; /* rows that have a time */
    const sf_sqlb_rel *rel;
    const sf_expr *time; /* Long, over the node's columns */
    int64_t size_ms, advance_ms;
    sf_span span;
} windows;

enum { HOPS_MAX = 128 };

static sf_status number(sf_sqlb *b, int64_t value, sf_span span, const sf_expr **out)
{
    sf_literal literal = {.as.i64 = value};
    return sf_expr_literal(b->arena, SF_TYPE_I64, &literal, span, out, b->err);
}

/* left op right, right a number */
static sf_status with_number(sf_sqlb *b, const char *op, const sf_expr *left, int64_t right,
                             sf_span span, const sf_expr **out)
{
    const sf_expr *sides[2] = {left, NULL};
    SF_TRY(number(b, right, span, &sides[1]));
    return sf_expr_call(b->arena, sf_str_of(op), sides, 2, span, out, b->err);
}

/* The start of the latest window that covers a time, `back` windows before it. Remainders of
 * negative times are negative: the second one mends that. */
static sf_status window_start(sf_sqlb *b, const windows *w, int64_t back, const sf_expr **out)
{
    const sf_expr *sides[2] = {w->time, NULL};
    SF_TRY(with_number(b, "%", w->time, w->advance_ms, w->span, &sides[1]));
    SF_TRY(with_number(b, "+", sides[1], w->advance_ms, w->span, &sides[1]));
    SF_TRY(with_number(b, "%", sides[1], w->advance_ms, w->span, &sides[1]));
    SF_TRY(sf_expr_call(b->arena, SF_STR("-"), sides, 2, w->span, out, b->err));
    return back ? with_number(b, "-", *out, back * w->advance_ms, w->span, out) : SF_OK;
}

/* The rows with one of their windows. */
static sf_status window_rows(sf_sqlb *b, const windows *w, int64_t back, uint32_t *node)
{
    uint32_t count = w->rel->count;
    const sf_expr **exprs = SF_ARENA_ARRAY(b->scratch, const sf_expr *, count + 2u);
    sf_field *fields = SF_ARENA_ARRAY(b->scratch, sf_field, count + 2u);
    const sf_expr *start, *end, *covered = NULL;
    if (!exprs || !fields)
        return sf_fail_memory(b->err);
    for (uint32_t i = 0; i < count; i++) {
        fields[i] = (sf_field){.name = w->rel->columns[i].name};
        SF_TRY(sf_expr_column(b->arena, i, w->rel->columns[i].type, w->span, &exprs[i], b->err));
    }
    SF_TRY(window_start(b, w, back, &start));
    SF_TRY(with_number(b, "+", start, w->size_ms, w->span, &end));
    if ((back + 1) * w->advance_ms > w->size_ms) { /* not every time reaches back to it */
        const sf_expr *sides[2] = {end, w->time};
        SF_TRY(sf_expr_call(b->arena, SF_STR(">"), sides, 2, w->span, &covered, b->err));
    }
    fields[count] = (sf_field){.name = "window_start"};
    fields[count + 1] = (sf_field){.name = "window_end"};
    SF_TRY(sf_expr_cast(b->arena, start, SF_TYPE_TIMESTAMP, w->span, &exprs[count], b->err));
    SF_TRY(sf_expr_cast(b->arena, end, SF_TYPE_TIMESTAMP, w->span, &exprs[count + 1], b->err));
    return sf_plan_map(b->plan, w->node, covered, exprs, fields, count + 2, node, b->err);
}

/* The time column as a Long; rows without one belong to no window. */
static sf_status window_time(sf_sqlb *b, const sf_sql_input *ast, const sf_sqlb_rel *rel,
                             windows *w)
{
    sf_sqlb_scope scope = {.ts = UINT32_MAX, .place = "a window function", .no_subqueries = true};
    sf_sqlb_input input = {
        .alias = sf_sqlb_alias_of(ast->window.input), .span = ast->window.input->span, .rel = *rel};
    uint32_t self;
    const sf_expr *time, *known;
    SF_TRY(sf_sqlb_add_input(b, &scope, &input, &self));
    SF_TRY(sf_sqlb_expr(b, &scope, ast->window.time, &time));
    if (time->type != SF_TYPE_TIMESTAMP && time->type != SF_TYPE_I64)
        return sf_sqlb_fail(b, SF_INVALID, ast->window.time->span,
                            "name a Timestamp column, or _ts",
                            "the time of a window function is %s", sf_type_name(time->type));
    for (uint32_t i = 0; i < b->inputs.data[self].column_count; i++)
        b->at.data[b->inputs.data[self].first + i] = i;
    SF_TRY(sf_sqlb_remap(b, time, &time));
    SF_TRY(sf_expr_call(b->arena, SF_STR("is not null"), &time, 1, w->span, &known, b->err));
    SF_TRY(sf_plan_filter(b->plan, rel->node, known, &w->node, b->err));
    return sf_expr_cast(b->arena, time, SF_TYPE_I64, w->span, &w->time, b->err);
}

static sf_status add_bounds(sf_sqlb *b, const sf_sqlb_rel *rel, uint32_t node, sf_sqlb_rel *out)
{
    *out = (sf_sqlb_rel){.node = node, .count = rel->count + 2, .windowed = rel->windowed};
    out->columns = SF_ARENA_ARRAY(b->scratch, sf_sqlb_column, out->count);
    if (!out->columns)
        return sf_fail_memory(b->err);
    for (uint32_t i = 0; i < rel->count; i++)
        out->columns[i] = rel->columns[i];
    out->columns[rel->count] = (sf_sqlb_column){"window_start", SF_TYPE_TIMESTAMP};
    out->columns[rel->count + 1] = (sf_sqlb_column){"window_end", SF_TYPE_TIMESTAMP};
    return SF_OK;
}

static sf_status windowed(sf_sqlb *b, const sf_sql_input *ast, sf_sqlb_rel *out)
{
    const sf_sql_window *window = &ast->window.window;
    sf_sqlb_rel rel;
    uint32_t nodes[HOPS_MAX], count = 0, node;
    if (b->kind == SF_PLAN_PIPELINE)
        return sf_sqlb_fail(b, SF_INVALID, window->span,
                            "write FROM input ... GROUP BY ... WINDOW TUMBLING(SIZE ...)",
                            "in a pipeline a window function stands alone in FROM, over _ts");
    if (window->kind == SF_SQL_WINDOW_SESSION)
        return sf_sqlb_not_yet(b, window->span, "SESSION in a table",
                               "make the query a pipeline with WINDOW SESSION(GAP ...)");
    windows w = {.rel = &rel, .span = window->span, .size_ms = window->size.ms};
    w.advance_ms = window->kind == SF_SQL_WINDOW_HOPPING ? window->advance.ms : w.size_ms;
    if ((w.size_ms - 1) / w.advance_ms >= HOPS_MAX)
        return sf_sqlb_fail(b, SF_LIMIT, window->span, "choose a longer advance",
                            "each row would enter more than %d windows", HOPS_MAX);
    SF_TRY(sf_sqlb_input_rel(b, NULL, ast->window.input, &rel));
    SF_TRY(sf_sqlb_check_width(b, rel.count + 3u, ast->span));
    SF_TRY(window_time(b, ast, &rel, &w));
    do { /* the window a row begins in, and those before it that are still open */
        SF_TRY(window_rows(b, &w, count, &nodes[count]));
        count++;
    } while (count * w.advance_ms < w.size_ms);
    node = nodes[0];
    if (count > 1)
        SF_TRY(sf_plan_union(b->plan, nodes, count, &node, b->err));
    return add_bounds(b, &rel, node, out);
}

sf_status sf_sqlb_input_rel(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_input *ast,
                            sf_sqlb_rel *out)
{
    if (ast->kind == SF_INPUT_WINDOW)
        return windowed(b, ast, out);
    if (ast->kind == SF_INPUT_NAME)
        return named(b, ast, out);
    return sf_sqlb_query(b, ast->query, ast->lateral ? scope : NULL, SF_OUTER_LATERAL, false, out);
}

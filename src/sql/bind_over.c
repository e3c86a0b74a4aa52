/* bind_over.c: functions OVER (PARTITION BY ... ORDER BY ... frame).
 *
 * A call is bound like any expression and stands for a column that does not exist yet. When the rows
 * of the SELECT are built, one map computes what the calls read, then each window adds its calls'
 * columns. */
#include "sql/bind.h"

#include <stdio.h>

/* Numbers of a grouped row's calls: behind all its columns. */
enum { GROUPED_FIRST = 1 << 13 };

bool sf_sqlb_has_over(const sf_sql_expr *ast)
{
    if (ast->kind == SF_EX_CALL && ast->call->over)
        return true;
    for (size_t i = 0; i < ast->args.count; i++) {
        if (sf_sqlb_has_over(ast->args.items[i]))
            return true;
    }
    return false;
}

/* ---- the window ---- */

static sf_status extend(sf_sqlb *b, const sf_sql_over *base, sf_sql_over *over)
{
    if (over->partition.count)
        return sf_sqlb_fail(b, SF_INVALID, over->span, "leave PARTITION BY out, or name no window",
                            "a window that extends another takes its PARTITION BY");
    if (over->order.count && base->order.count)
        return sf_sqlb_fail(b, SF_INVALID, over->span, "leave ORDER BY out, or name no window",
                            "the window has an ORDER BY already");
    over->partition = base->partition;
    if (!over->order.count)
        over->order = base->order;
    if (over->unit == SF_FRAME_NONE) {
        over->unit = base->unit;
        over->start = base->start;
        over->end = base->end;
    }
    return SF_OK;
}

/* The window with all that the windows it names say. Each may name those before it only. */
static sf_status resolve(sf_sqlb *b, const sf_sqlb_scope *scope, const sf_sql_over *ast,
                         sf_sql_over *out)
{
    size_t before = scope->select->window_count;
    sf_sql_name base = ast->base;
    *out = *ast;
    while (base.text.len) {
        size_t i = 0;
        while (i < before && !sf_str_eq(scope->select->windows[i].name.text, base.text))
            i++;
        if (i == before)
            return sf_sqlb_fail(b, SF_NOT_FOUND, base.span,
                                "declare it behind HAVING: WINDOW name AS (PARTITION BY ...)",
                                "window \"%.*s\" is not declared", SQLB_NAME(base.text));
        const sf_sql_over *named = &scope->select->windows[i].over;
        SF_TRY(extend(b, named, out));
        base = named->base;
        before = i;
    }
    return SF_OK;
}

static sf_status bind_window(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_over *over,
                             sf_sqlb_over *out)
{
    out->keys = SF_ARENA_ARRAY(b->scratch, const sf_expr *, over->partition.count + 1);
    out->order = SF_ARENA_ARRAY(b->scratch, const sf_expr *, over->order.count + 1);
    out->by = SF_ARENA_ARRAY(b->scratch, sf_plan_order, over->order.count + 1);
    if (!out->keys || !out->order || !out->by)
        return sf_fail_memory(b->err);
    scope->place = "PARTITION BY";
    for (size_t i = 0; i < over->partition.count; i++) {
        const sf_expr *key;
        SF_TRY(sf_sqlb_expr(b, scope, over->partition.items[i], &key));
        SF_TRY(sf_expr_key(b->arena, key, &out->keys[out->key_count++], b->err));
    }
    scope->place = "ORDER BY";
    for (size_t i = 0; i < over->order.count; i++) {
        const sf_sql_order_item *item = &over->order.items[i];
        bool first =
            item->nulls == SF_NULLS_DEFAULT ? item->descending : item->nulls == SF_NULLS_FIRST;
        SF_TRY(sf_sqlb_expr(b, scope, item->expr, &out->order[i]));
        if (out->order[i]->type == SF_TYPE_JSON)
            return sf_sqlb_fail(b, SF_INVALID, item->expr->span,
                                "order by one of its fields: column ->> 'field'",
                                "ORDER BY cannot take a Json value");
        out->by[out->order_count++] = (sf_plan_order){0, item->descending, first};
    }
    return SF_OK;
}

/* ---- the frame ---- */

static sf_status distance(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_bound *bound,
                          const sf_sqlb_over *over, sf_over_edge *out)
{
    const sf_expr *value;
    SF_TRY(sf_sqlb_expr(b, scope, bound->distance, &value));
    bool range = over->call.unit == SF_OVER_RANGE;
    bool real = range && over->order[0]->type == SF_TYPE_F64;
    bool whole = value->type == SF_TYPE_I64, number = whole || (real && value->type == SF_TYPE_F64);
    bool constant = value->kind == SF_EXPR_LITERAL && !value->literal.is_null && number;
    if (!constant || (whole ? value->literal.as.i64 < 0 : !(value->literal.as.f64 >= 0)))
        return sf_sqlb_fail(b, SF_INVALID, bound->distance->span,
                            range ? "write a number that is not negative, or an INTERVAL"
                                  : "write a whole number that is not negative",
                            "a frame's distance is a constant of the kind that is ordered by");
    out->distance = whole ? value->literal.as.i64 : 0;
    out->distance_f64 = whole ? (double)value->literal.as.i64 : value->literal.as.f64;
    if (!real)
        out->distance_f64 = 0;
    return SF_OK;
}

static sf_status edge(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_bound *bound,
                      const sf_sqlb_over *over, sf_over_edge *out)
{
    static const sf_over_edge_kind kinds[] = {
        [SF_BOUND_UNBOUNDED_PRECEDING] = SF_EDGE_UNBOUNDED,
        [SF_BOUND_PRECEDING] = SF_EDGE_PRECEDING,
        [SF_BOUND_CURRENT_ROW] = SF_EDGE_CURRENT,
        [SF_BOUND_FOLLOWING] = SF_EDGE_FOLLOWING,
        [SF_BOUND_UNBOUNDED_FOLLOWING] = SF_EDGE_UNBOUNDED,
    };
    out->kind = kinds[bound->kind];
    if (out->kind != SF_EDGE_PRECEDING && out->kind != SF_EDGE_FOLLOWING)
        return SF_OK;
    if (over->call.unit == SF_OVER_RANGE) {
        sf_type type = over->order_count == 1 ? over->order[0]->type : SF_TYPE_UTF8;
        if (type != SF_TYPE_I64 && type != SF_TYPE_F64 && type != SF_TYPE_TIMESTAMP)
            return sf_sqlb_fail(b, SF_INVALID, bound->span,
                                "order by one Long, Double or Timestamp, or write ROWS",
                                "RANGE with a distance needs one number or time to ORDER BY");
    }
    return distance(b, scope, bound, over, out);
}

static sf_status bind_frame(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_over *window,
                            sf_sqlb_over *over)
{
    sf_over_call *call = &over->call;
    call->unit = SF_OVER_RANGE;
    call->end.kind = SF_EDGE_CURRENT;
    if (window->unit == SF_FRAME_NONE)
        return SF_OK;
    if (window->unit == SF_FRAME_GROUPS && !over->order_count)
        return sf_sqlb_fail(b, SF_INVALID, window->span, "add ORDER BY, or write ROWS",
                            "GROUPS needs an ORDER BY");
    call->unit = window->unit == SF_FRAME_ROWS    ? SF_OVER_ROWS
                 : window->unit == SF_FRAME_RANGE ? SF_OVER_RANGE
                                                  : SF_OVER_GROUPS;
    scope->place = "a frame";
    SF_TRY(edge(b, scope, &window->start, over, &call->start));
    return edge(b, scope, &window->end, over, &call->end);
}

/* ---- the function ---- */

typedef struct {
    const char *name, *example;
    sf_over_function function;
    uint8_t least, most; /* arguments */
} over_form;

static const over_form forms[] = {
    {"ROW_NUMBER", "ROW_NUMBER()", SF_OVER_ROW_NUMBER, 0, 0},
    {"RANK", "RANK()", SF_OVER_RANK, 0, 0},
    {"DENSE_RANK", "DENSE_RANK()", SF_OVER_DENSE_RANK, 0, 0},
    {"PERCENT_RANK", "PERCENT_RANK()", SF_OVER_PERCENT_RANK, 0, 0},
    {"CUME_DIST", "CUME_DIST()", SF_OVER_CUME_DIST, 0, 0},
    {"NTILE", "NTILE(4)", SF_OVER_NTILE, 1, 1},
    {"LAG", "LAG(x, 1, 0)", SF_OVER_LAG, 1, 3},
    {"LEAD", "LEAD(x, 1, 0)", SF_OVER_LEAD, 1, 3},
    {"FIRST_VALUE", "FIRST_VALUE(x)", SF_OVER_FIRST_VALUE, 1, 1},
    {"LAST_VALUE", "LAST_VALUE(x)", SF_OVER_LAST_VALUE, 1, 1},
    {"NTH_VALUE", "NTH_VALUE(x, 2)", SF_OVER_NTH_VALUE, 2, 2},
};

static const over_form *form_named(sf_str name)
{
    for (size_t i = 0; i < SF_COUNT_OF(forms); i++) {
        if (sf_str_eq_nocase(name, sf_str_of(forms[i].name)))
            return &forms[i];
    }
    return NULL;
}

bool sf_sqlb_needs_over(sf_str name)
{
    return form_named(name) != NULL;
}

static sf_status check_form(sf_sqlb *b, const sf_sql_expr *ast, const over_form *form)
{
    const sf_sql_call *call = ast->call;
    const char *odd = call->distinct                            ? "DISTINCT"
                      : call->filter                            ? "FILTER"
                      : call->order.count || call->within_group ? "an ORDER BY of its own"
                                                                : NULL;
    char hint[48];
    snprintf(hint, sizeof hint, "write %s OVER (...)", form->example);
    if (odd)
        return sf_sqlb_fail(b, SF_INVALID, ast->op_span, hint, "%s takes no %s", form->name, odd);
    if (ast->args.count < form->least || ast->args.count > form->most)
        return sf_sqlb_fail(b, SF_INVALID, ast->op_span, hint, "%s does not take %zu argument%s",
                            form->name, ast->args.count, ast->args.count == 1 ? "" : "s");
    return SF_OK;
}

static sf_status whole_number(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                              int64_t least, const over_form *form, int64_t *out)
{
    const sf_expr *value;
    SF_TRY(sf_sqlb_expr(b, scope, ast, &value));
    bool good = value->kind == SF_EXPR_LITERAL && value->type == SF_TYPE_I64 &&
                !value->literal.is_null && value->literal.as.i64 >= least;
    if (!good)
        return sf_sqlb_fail(b, SF_INVALID, ast->span, "write a whole number",
                            "%s takes a constant number of rows here%s", form->name,
                            least > 0 ? ", at least 1" : "");
    *out = value->literal.as.i64;
    return SF_OK;
}

/* LAG(x, -1) is LEAD(x, 1). */
static sf_status neighbour(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                           const over_form *form, sf_sqlb_over *over)
{
    sf_over_call *call = &over->call;
    call->number = 1;
    if (ast->args.count > 1)
        SF_TRY(whole_number(b, scope, ast->args.items[1], -INT64_MAX, form, &call->number));
    if (call->number < 0) {
        call->number = -call->number;
        call->function = call->function == SF_OVER_LAG ? SF_OVER_LEAD : SF_OVER_LAG;
    }
    if (ast->args.count < 3)
        return SF_OK;
    const sf_sql_expr *given = ast->args.items[2];
    sf_type type = over->args[0]->type;
    SF_TRY(sf_sqlb_expr(b, scope, given, &over->args[1]));
    if (!over->args[1]->untyped && !sf_type_unify(type, over->args[1]->type, &type))
        return sf_sqlb_fail(b, SF_INVALID, given->span, "convert one of the two",
                            "%s takes a default of the value's kind: %s, not %s", form->name,
                            sf_type_name(over->args[0]->type), sf_type_name(over->args[1]->type));
    SF_TRY(sf_expr_cast(b->arena, over->args[0], type, ast->span, &over->args[0], b->err));
    SF_TRY(sf_expr_cast(b->arena, over->args[1], type, given->span, &over->args[1], b->err));
    call->arg_count = 2;
    return SF_OK;
}

static sf_status bind_form(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                           const over_form *form, sf_sqlb_over *over)
{
    sf_over_call *call = &over->call;
    SF_TRY(check_form(b, ast, form));
    call->function = form->function;
    call->result_type = SF_TYPE_I64;
    if (form->function == SF_OVER_PERCENT_RANK || form->function == SF_OVER_CUME_DIST)
        call->result_type = SF_TYPE_F64;
    if (form->function == SF_OVER_NTILE)
        return whole_number(b, scope, ast->args.items[0], 1, form, &call->number);
    if (!ast->args.count)
        return SF_OK;
    SF_TRY(sf_sqlb_expr(b, scope, ast->args.items[0], &over->args[0]));
    call->arg_count = 1;
    if (form->function == SF_OVER_LAG || form->function == SF_OVER_LEAD)
        SF_TRY(neighbour(b, scope, ast, form, over));
    else if (form->function == SF_OVER_NTH_VALUE)
        SF_TRY(whole_number(b, scope, ast->args.items[1], 1, form, &call->number));
    call->result_type = over->args[0]->type;
    return SF_OK;
}

/* An aggregate over the frame: one that takes back what it was given, or MIN and MAX. */
static sf_status bind_aggregate(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                                sf_sqlb_over *over)
{
    const sf_sql_call *form = ast->call;
    const sf_expr *args[4], *filter = NULL;
    bool star = ast->args.count == 1 && ast->args.items[0]->kind == SF_EX_STAR;
    uint32_t count = 0;
    while (!star && count < ast->args.count && count < SF_COUNT_OF(args)) {
        SF_TRY(sf_sqlb_expr(b, scope, ast->args.items[count], &args[count]));
        count++;
    }
    if (form->filter) {
        SF_TRY(sf_sqlb_expr(b, scope, form->filter, &filter));
        SF_TRY(sf_sqlb_to_bool(b, filter, "FILTER", &filter));
    }
    sf_agg_spec spec = {.name = form->name.text,
                        .args = args,
                        .arg_count = count,
                        .star = star,
                        .filter = filter,
                        .span = ast->op_span};
    sf_agg_call call;
    SF_TRY(sf_aggregate_bind(b->arena, &spec, &call, b->err));
    const sf_aggregate *aggregate = call.aggregate;
    bool least = aggregate->kind == SF_AGG_VALUES && aggregate->values_op == SF_VALUES_MIN;
    bool most = aggregate->kind == SF_AGG_VALUES && aggregate->values_op == SF_VALUES_MAX;
    bool sums = aggregate->kind == SF_AGG_INLINE && call.column_count <= SF_OVER_ARGS_MAX;
    if (form->distinct || form->order.count || form->within_group || !(least || most || sums))
        return sf_sqlb_fail(b, SF_UNSUPPORTED, ast->op_span,
                            "compute it with GROUP BY in a derived table and join that",
                            "%s%s OVER a window is not supported yet",
                            form->distinct ? "DISTINCT in " : "", aggregate->name);
    if (call.warning)
        SF_TRY(sf_sqlb_warn(b, ast->span, "%s", call.warning));
    over->call.function = least ? SF_OVER_MIN : most ? SF_OVER_MAX : SF_OVER_AGGREGATE;
    over->call.aggregate = aggregate;
    over->call.result_type = aggregate->result_type;
    over->call.arg_count = sums ? call.column_count : 1;
    for (uint32_t i = 0; i < over->call.arg_count; i++)
        over->args[i] = call.columns[sums ? i : call.value].expr;
    return SF_OK;
}

/* ---- the call ---- */

static sf_status check_place(sf_sqlb *b, const sf_sqlb_scope *scope, const sf_sql_expr *ast)
{
    static const char hint[] =
        "compute it in a derived table: FROM (SELECT *, f(...) OVER (...) AS "
        "w FROM ...) t, and use w";
    sf_str name = ast->call->name.text;
    if (b->kind == SF_PLAN_PIPELINE)
        return sf_sqlb_fail(b, SF_INVALID, ast->call->over->span, "make the query a table",
                            "OVER looks at rows that a pipeline has let go");
    if (scope->in_aggregate)
        return sf_sqlb_fail(b, SF_INVALID, ast->op_span, hint,
                            "%.*s OVER a window stands inside an aggregate", SQLB_NAME(name));
    if (scope->in_over)
        return sf_sqlb_fail(b, SF_INVALID, ast->op_span, hint,
                            "%.*s OVER a window stands inside another one", SQLB_NAME(name));
    if (!scope->may_over)
        return sf_sqlb_fail(b, SF_INVALID, ast->op_span, hint,
                            "%.*s OVER a window cannot stand in %s", SQLB_NAME(name), scope->place);
    return SF_OK;
}

static bool same_exprs(const sf_expr *const *a, const sf_expr *const *c, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!sf_expr_equal(a[i], c[i]))
            return false;
    }
    return true;
}

static bool same_window(const sf_sqlb_over *a, const sf_sqlb_over *c)
{
    if (a->key_count != c->key_count || a->order_count != c->order_count ||
        !same_exprs(a->keys, c->keys, a->key_count) ||
        !same_exprs(a->order, c->order, a->order_count))
        return false;
    for (uint32_t i = 0; i < a->order_count; i++) {
        if (a->by[i].descending != c->by[i].descending ||
            a->by[i].nulls_first != c->by[i].nulls_first)
            return false;
    }
    return true;
}

/* A column of the row that is being made. */
static sf_status add_call(sf_sqlb *b, sf_sqlb_scope *scope, sf_sqlb_over *over, sf_span span,
                          const sf_expr **out)
{
    sf_sqlb_overs *overs = &scope->overs;
    overs->grouped = scope->group != NULL;
    over->column = GROUPED_FIRST + (uint32_t)overs->count;
    if (!scope->group) {
        sf_sqlb_vcol vcol = {.type = over->call.result_type};
        over->column = (uint32_t)b->vcols.len;
        if (!SF_VEC_PUSH(&b->vcols, vcol) || !SF_VEC_PUSH(&b->at, UINT32_MAX))
            return sf_fail_memory(b->err);
    }
    SQLB_PUSH(b, overs->items, overs->count, *over);
    return sf_expr_column(b->arena, over->column, over->call.result_type, span, out, b->err);
}

sf_status sf_sqlb_over_call(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                            const sf_expr **out)
{
    const char *place = scope->place;
    sf_sqlb_over over = {0};
    sf_sql_over window;
    const over_form *form = form_named(ast->call->name.text);
    SF_TRY(check_place(b, scope, ast));
    if (!form && !sf_is_aggregate_name(ast->call->name.text))
        return sf_sqlb_fail(
            b, SF_INVALID, ast->op_span,
            "ROW_NUMBER, RANK, LAG, LEAD, FIRST_VALUE and others do, and aggregates",
            "%.*s takes no OVER", SQLB_NAME(ast->call->name.text));
    SF_TRY(resolve(b, scope, ast->call->over, &window));
    scope->in_over = true;
    SF_TRY(bind_window(b, scope, &window, &over));
    SF_TRY(bind_frame(b, scope, &window, &over));
    scope->place = "OVER";
    SF_TRY(form ? bind_form(b, scope, ast, form, &over) : bind_aggregate(b, scope, ast, &over));
    scope->in_over = false;
    scope->place = place;
    SF_TRY(sf_sqlb_default_name(b, ast, scope->overs.count, &over.name));
    return add_call(b, scope, &over, ast->op_span, out);
}

void sf_sqlb_use_overs(sf_sqlb *b, const sf_sqlb_overs *overs)
{
    for (size_t i = 0; i < overs->count; i++) {
        const sf_sqlb_over *over = &overs->items[i];
        for (uint32_t k = 0; k < over->key_count; k++)
            sf_sqlb_use(b, over->keys[k]);
        for (uint32_t k = 0; k < over->order_count; k++)
            sf_sqlb_use(b, over->order[k]);
        for (uint32_t k = 0; k < over->call.arg_count; k++)
            sf_sqlb_use(b, over->args[k]);
    }
}

/* ---- the nodes ---- */

/* The map below the windows: columns that items read, then what the calls read. */
typedef struct {
    const uint32_t *map; /* from the numbers of expressions to columns of the node below */
    const sf_schema *schema;
    const sf_expr **exprs;
    sf_field *fields;
    uint32_t count;
    uint32_t *final; /* from the numbers of expressions to columns of the last window */
    uint32_t numbers;
} over_map;

enum { TIME_COLUMN = UINT32_MAX - 1 }; /* the row's _ts: always the last */

static void add_column(over_map *m, const sf_expr *expr, const char *name)
{
    m->exprs[m->count] = expr;
    m->fields[m->count++] = (sf_field){.name = name, .hidden = true};
}

/* The column that holds this expression of the node below; a new one if there is none. */
static uint32_t column_of(over_map *m, const sf_expr *expr, const char *name)
{
    for (uint32_t i = 0; i < m->count; i++) {
        if (sf_expr_equal(m->exprs[i], expr))
            return i;
    }
    add_column(m, expr, name);
    return m->count - 1;
}

static sf_status keep_columns(sf_sqlb *b, const sf_sqlb_items *list, bool grouped, over_map *m)
{
    size_t words = (m->numbers + 63u) / 64u;
    uint64_t *read = SF_ARENA_ARRAY(b->scratch, uint64_t, words);
    if (!read)
        return sf_fail_memory(b->err);
    memset(read, 0, words * sizeof *read);
    for (size_t i = 0; i < list->count; i++)
        sf_expr_columns(list->items[i].expr, read);
    for (uint32_t n = 0; n < m->numbers; n++) {
        const sf_expr *column;
        m->final[n] = UINT32_MAX;
        bool call = grouped && n >= GROUPED_FIRST;
        if (!(read[n / 64] >> (n % 64) & 1) || call || m->map[n] == UINT32_MAX)
            continue;
        if (m->map[n] + 1 == m->schema->count) {
            m->final[n] = TIME_COLUMN;
            continue;
        }
        const sf_field *field = &m->schema->fields[m->map[n]];
        SF_TRY(sf_expr_column(b->arena, m->map[n], field->type, (sf_span){0, 0}, &column, b->err));
        m->final[n] = column_of(m, column, field->name);
    }
    return SF_OK;
}

static sf_status place_expr(sf_sqlb *b, const sf_expr *expr, const char *name, over_map *m,
                            uint32_t *column)
{
    const sf_expr *below;
    SF_TRY(sf_expr_remap(b->arena, expr, m->map, &below, b->err));
    if (below->kind == SF_EXPR_COLUMN)
        name = m->schema->fields[below->column].name;
    *column = column_of(m, below, name);
    return SF_OK;
}

static sf_status place_call(sf_sqlb *b, sf_sqlb_over *over, over_map *m)
{
    over->key_columns = SF_ARENA_ARRAY(b->scratch, uint32_t, over->key_count + 1u);
    if (!over->key_columns)
        return sf_fail_memory(b->err);
    for (uint32_t i = 0; i < over->key_count; i++)
        SF_TRY(place_expr(b, over->keys[i], "key", m, &over->key_columns[i]));
    for (uint32_t i = 0; i < over->order_count; i++)
        SF_TRY(place_expr(b, over->order[i], "order", m, &over->by[i].column));
    for (uint32_t i = 0; i < over->call.arg_count; i++)
        SF_TRY(place_expr(b, over->args[i], "value", m, &over->call.args[i]));
    return SF_OK;
}

/* One node for the window of this call, with all calls over it. */
static sf_status window_node(sf_sqlb *b, sf_sqlb_overs *overs, size_t first, over_map *m,
                             uint32_t *node)
{
    sf_over_call *calls = SF_ARENA_ARRAY(b->scratch, sf_over_call, overs->count);
    const char **names = SF_ARENA_ARRAY(b->scratch, const char *, overs->count);
    if (!calls || !names)
        return sf_fail_memory(b->err);
    const sf_sqlb_over *window = &overs->items[first];
    uint32_t column = sf_plan_at(b->plan, *node)->schema->count - 1;
    sf_over_spec spec = {.keys = window->key_columns,
                         .key_count = window->key_count,
                         .order = window->by,
                         .order_count = window->order_count,
                         .limit = SF_TOP_ALL,
                         .calls = calls,
                         .names = names};
    for (size_t i = first; i < overs->count; i++) {
        sf_sqlb_over *over = &overs->items[i];
        if (over->built || !same_window(window, over))
            continue;
        over->built = true;
        calls[spec.call_count] = over->call;
        names[spec.call_count++] = over->name;
        m->final[over->column] = column++;
    }
    SF_TRY(sf_sqlb_check_width(b, column + 1u, (sf_span){0, 0}));
    return sf_plan_over(b->plan, *node, &spec, node, b->err);
}

static sf_status open_map(sf_sqlb *b, const sf_sqlb_overs *overs, over_map *m)
{
    size_t room = m->schema->count + 1u;
    for (size_t i = 0; i < overs->count; i++)
        room += overs->items[i].key_count + overs->items[i].order_count +
                overs->items[i].call.arg_count;
    m->exprs = SF_ARENA_ARRAY(b->scratch, const sf_expr *, room);
    m->fields = SF_ARENA_ARRAY(b->scratch, sf_field, room);
    m->final = SF_ARENA_ARRAY(b->scratch, uint32_t, m->numbers);
    return m->exprs && m->fields && m->final ? SF_OK : sf_fail_memory(b->err);
}

sf_status sf_sqlb_over_nodes(sf_sqlb *b, sf_sqlb_overs *overs, const sf_sqlb_items *list,
                             sf_sqlb_rows *rows, const uint32_t **map)
{
    if (!overs->count)
        return SF_OK;
    over_map m = {.map = *map, .schema = sf_plan_at(b->plan, rows->node)->schema};
    m.numbers = overs->grouped ? GROUPED_FIRST + (uint32_t)overs->count : (uint32_t)b->vcols.len;
    SF_TRY(open_map(b, overs, &m));
    SF_TRY(keep_columns(b, list, overs->grouped, &m));
    for (size_t i = 0; i < overs->count; i++)
        SF_TRY(place_call(b, &overs->items[i], &m));
    SF_TRY(sf_sqlb_check_width(b, m.count + 1u, (sf_span){0, 0}));
    SF_TRY(sf_plan_map(b->plan, rows->node, rows->filter, m.exprs, m.fields, m.count, &rows->node,
                       b->err));
    rows->filter = NULL;
    for (size_t i = 0; i < overs->count; i++) {
        if (!overs->items[i].built)
            SF_TRY(window_node(b, overs, i, &m, &rows->node));
    }
    uint32_t time = sf_plan_at(b->plan, rows->node)->schema->count - 1;
    for (uint32_t n = 0; n < m.numbers; n++) {
        if (m.final[n] == TIME_COLUMN)
            m.final[n] = time;
    }
    *map = m.final;
    return SF_OK;
}

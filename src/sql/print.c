/* print.c: trees back to text, in one canonical form. */
#include "sql/parse.h"
#include "text/text.h"

const char *sf_sql_op_text(sf_sql_op op)
{
    static const char *const texts[] = {
        [SF_OP_OR] = "OR",
        [SF_OP_AND] = "AND",
        [SF_OP_NOT] = "NOT",
        [SF_OP_EQUAL] = "=",
        [SF_OP_NOT_EQUAL] = "<>",
        [SF_OP_LESS] = "<",
        [SF_OP_LESS_EQUAL] = "<=",
        [SF_OP_GREATER] = ">",
        [SF_OP_GREATER_EQUAL] = ">=",
        [SF_OP_CONCAT] = "||",
        [SF_OP_ADD] = "+",
        [SF_OP_SUBTRACT] = "-",
        [SF_OP_MULTIPLY] = "*",
        [SF_OP_DIVIDE] = "/",
        [SF_OP_MODULO] = "%",
        [SF_OP_NEGATE] = "-",
        [SF_OP_DISTINCT] = "IS DISTINCT FROM",
    };
    return texts[op];
}

const char *sf_sql_cast_text(sf_sql_cast type)
{
    static const char *const texts[] = {"STRING", "DOUBLE", "LONG", "BOOL", "TIMESTAMP"};
    return texts[type];
}

const char *sf_sql_join_text(sf_sql_join_kind kind)
{
    static const char *const texts[] = {"INNER", "LEFT", "RIGHT", "FULL", "CROSS"};
    return texts[kind];
}

const char *sf_sql_set_text(sf_sql_set_op op)
{
    static const char *const texts[] = {"UNION", "EXCEPT", "INTERSECT"};
    return texts[op];
}

/* ---- names and literals ---- */

static bool is_plain(sf_str name)
{
    sf_lexer lexer;
    sf_lexer_init(&lexer, name, &sf_sql_lexer_rules);
    sf_token token = sf_lexer_next(&lexer);
    return token.kind == SF_TOKEN_WORD && token.span.length == name.len &&
           !(sf_sql_keyword_flags(token.code) & SF_SQL_NO_ALIAS);
}

static void put_quoted(sf_buf *out, sf_str text, char quote)
{
    sf_buf_putc(out, quote);
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == quote)
            sf_buf_putc(out, quote);
        sf_buf_putc(out, text.data[i]);
    }
    sf_buf_putc(out, quote);
}

void sf_sql_print_name(sf_str name, sf_buf *out)
{
    if (is_plain(name))
        sf_buf_put(out, name.data, name.len);
    else
        put_quoted(out, name, '"');
}

static void put_name(sf_buf *out, sf_sql_name name)
{
    sf_sql_print_name(name.text, out);
}

static void put_names(sf_buf *out, const sf_sql_names *names, const char *between)
{
    for (size_t i = 0; i < names->count; i++) {
        if (i)
            sf_buf_puts(out, between);
        put_name(out, names->items[i]);
    }
}

static void put_name_list(sf_buf *out, const sf_sql_names *names)
{
    if (!names->count)
        return;
    sf_buf_puts(out, " (");
    put_names(out, names, ", ");
    sf_buf_putc(out, ')');
}

static void put_double(sf_buf *out, double value)
{
    char text[SF_NUMBER_MAX];
    size_t len = sf_print_f64(text, value);
    sf_buf_put(out, text, len);
    if (!memchr(text, '.', len) && !memchr(text, 'e', len))
        sf_buf_puts(out, ".0");
}

static void put_interval(sf_buf *out, const sf_sql_expr *expr)
{
    sf_buf_puts(out, "INTERVAL '");
    if (expr->interval.months)
        sf_buf_printf(out, "%d MONTH%s", expr->interval.months, expr->interval.ms ? " " : "");
    if (expr->interval.ms || !expr->interval.months)
        sf_buf_printf(out, "%lld MILLISECOND", (long long)expr->interval.ms);
    sf_buf_putc(out, '\'');
}

/* ---- expressions ---- */

static void put_list(sf_buf *out, const sf_sql_exprs *list, size_t from)
{
    for (size_t i = from; i < list->count; i++) {
        if (i > from)
            sf_buf_puts(out, ", ");
        sf_sql_print_expr(list->items[i], out);
    }
}

static void put_query(sf_buf *out, const sf_sql_query *query)
{
    sf_buf_putc(out, '(');
    sf_sql_print_query(query, out);
    sf_buf_putc(out, ')');
}

static void put_order(sf_buf *out, const sf_sql_order *order)
{
    for (size_t i = 0; i < order->count; i++) {
        const sf_sql_order_item *item = &order->items[i];
        if (i)
            sf_buf_puts(out, ", ");
        sf_sql_print_expr(item->expr, out);
        if (item->descending)
            sf_buf_puts(out, " DESC");
        if (item->nulls != SF_NULLS_DEFAULT)
            sf_buf_puts(out, item->nulls == SF_NULLS_FIRST ? " NULLS FIRST" : " NULLS LAST");
    }
}

static void put_bound(sf_buf *out, const sf_sql_bound *bound)
{
    static const char *const texts[] = {"UNBOUNDED PRECEDING", " PRECEDING", "CURRENT ROW",
                                        " FOLLOWING", "UNBOUNDED FOLLOWING"};
    if (bound->distance)
        sf_sql_print_expr(bound->distance, out);
    sf_buf_puts(out, texts[bound->kind]);
}

static void put_over(sf_buf *out, const sf_sql_over *over)
{
    static const char *const units[] = {"", "ROWS", "RANGE", "GROUPS"};
    const char *gap = "";
    sf_buf_putc(out, '(');
    if (over->base.text.len) {
        put_name(out, over->base);
        gap = " ";
    }
    if (over->partition.count) {
        sf_buf_printf(out, "%sPARTITION BY ", gap);
        put_list(out, &over->partition, 0);
        gap = " ";
    }
    if (over->order.count) {
        sf_buf_printf(out, "%sORDER BY ", gap);
        put_order(out, &over->order);
        gap = " ";
    }
    if (over->unit != SF_FRAME_NONE) {
        sf_buf_printf(out, "%s%s BETWEEN ", gap, units[over->unit]);
        put_bound(out, &over->start);
        sf_buf_puts(out, " AND ");
        put_bound(out, &over->end);
    }
    sf_buf_putc(out, ')');
}

static void put_call(sf_buf *out, const sf_sql_expr *expr)
{
    const sf_sql_call *call = expr->call;
    put_name(out, call->name);
    sf_buf_puts(out, call->distinct ? "(DISTINCT " : "(");
    put_list(out, &expr->args, 0);
    if (call->order.count) {
        sf_buf_puts(out, call->within_group ? ") WITHIN GROUP (ORDER BY "
                                            : (expr->args.count ? " ORDER BY " : "ORDER BY "));
        put_order(out, &call->order);
    }
    sf_buf_putc(out, ')');
    if (call->filter) {
        sf_buf_puts(out, " FILTER (WHERE ");
        sf_sql_print_expr(call->filter, out);
        sf_buf_putc(out, ')');
    }
    if (call->over) {
        sf_buf_puts(out, " OVER ");
        put_over(out, call->over);
    }
}

static void put_op(sf_buf *out, const sf_sql_expr *expr)
{
    sf_buf_putc(out, '(');
    if (expr->args.count == 1)
        sf_buf_printf(out, "%s ", sf_sql_op_text(expr->op));
    for (size_t i = 0; i < expr->args.count; i++) {
        if (i && expr->op == SF_OP_DISTINCT && expr->negated)
            sf_buf_puts(out, " IS NOT DISTINCT FROM ");
        else if (i)
            sf_buf_printf(out, " %s ", sf_sql_op_text(expr->op));
        sf_sql_print_expr(expr->args.items[i], out);
    }
    sf_buf_putc(out, ')');
}

static void put_case(sf_buf *out, const sf_sql_expr *expr)
{
    size_t i = 0, whens = expr->args.count - expr->has_else;
    sf_buf_puts(out, "CASE");
    if (expr->has_operand) {
        sf_buf_putc(out, ' ');
        sf_sql_print_expr(expr->args.items[i++], out);
    }
    for (; i < whens; i += 2) {
        sf_buf_puts(out, " WHEN ");
        sf_sql_print_expr(expr->args.items[i], out);
        sf_buf_puts(out, " THEN ");
        sf_sql_print_expr(expr->args.items[i + 1], out);
    }
    if (expr->has_else) {
        sf_buf_puts(out, " ELSE ");
        sf_sql_print_expr(expr->args.items[i], out);
    }
    sf_buf_puts(out, " END");
}

/* Predicates that start with their value: "(value NOT WORD". */
static void put_subject(sf_buf *out, const sf_sql_expr *expr, const char *word)
{
    sf_buf_putc(out, '(');
    sf_sql_print_expr(expr->args.items[0], out);
    sf_buf_printf(out, "%s %s ", expr->negated ? " NOT" : "", word);
}

static void put_predicate(sf_buf *out, const sf_sql_expr *expr)
{
    static const char *const states[] = {"NULL", "TRUE", "FALSE", "UNKNOWN"};
    sf_sql_expr *const *args = expr->args.items;
    switch (expr->kind) {
    case SF_EX_IS:
        sf_buf_putc(out, '(');
        sf_sql_print_expr(args[0], out);
        sf_buf_printf(out, " IS %s%s)", expr->negated ? "NOT " : "", states[expr->is]);
        break;
    case SF_EX_BETWEEN:
        put_subject(out, expr, "BETWEEN");
        sf_sql_print_expr(args[1], out);
        sf_buf_puts(out, " AND ");
        sf_sql_print_expr(args[2], out);
        sf_buf_putc(out, ')');
        break;
    case SF_EX_LIKE:
        put_subject(out, expr, expr->ignore_case ? "ILIKE" : "LIKE");
        sf_sql_print_expr(args[1], out);
        if (expr->args.count > 2) {
            sf_buf_puts(out, " ESCAPE ");
            sf_sql_print_expr(args[2], out);
        }
        sf_buf_putc(out, ')');
        break;
    case SF_EX_IN_LIST:
        put_subject(out, expr, "IN");
        sf_buf_putc(out, '(');
        put_list(out, &expr->args, 1);
        sf_buf_puts(out, "))");
        break;
    case SF_EX_IN_QUERY:
        put_subject(out, expr, "IN");
        put_query(out, expr->query);
        sf_buf_putc(out, ')');
        break;
    default: /* QUANTIFIED */
        put_subject(out, expr, sf_sql_op_text(expr->op));
        sf_buf_puts(out, expr->any ? "ANY " : "ALL ");
        put_query(out, expr->query);
        sf_buf_putc(out, ')');
        break;
    }
}

static void put_json(sf_buf *out, const sf_sql_expr *expr)
{
    sf_buf_putc(out, '(');
    sf_sql_print_expr(expr->args.items[0], out);
    sf_buf_puts(out, expr->json.as_text ? " ->> " : " -> ");
    if (expr->json.is_index)
        sf_buf_printf(out, "%lld", (long long)expr->json.index);
    else
        put_quoted(out, expr->json.key, '\'');
    sf_buf_putc(out, ')');
}

void sf_sql_print_expr(const sf_sql_expr *expr, sf_buf *out)
{
    switch (expr->kind) {
    case SF_EX_NULL: sf_buf_puts(out, "NULL"); break;
    case SF_EX_BOOL: sf_buf_puts(out, expr->boolean ? "TRUE" : "FALSE"); break;
    case SF_EX_LONG: sf_buf_printf(out, "%lld", (long long)expr->integer); break;
    case SF_EX_DOUBLE: put_double(out, expr->real); break;
    case SF_EX_STRING: put_quoted(out, expr->text, '\''); break;
    case SF_EX_INTERVAL: put_interval(out, expr); break;
    case SF_EX_COLUMN: put_names(out, &expr->column, "."); break;
    case SF_EX_STAR:
        if (expr->star.text.len) {
            put_name(out, expr->star);
            sf_buf_putc(out, '.');
        }
        sf_buf_putc(out, '*');
        break;
    case SF_EX_OP: put_op(out, expr); break;
    case SF_EX_IS:
    case SF_EX_BETWEEN:
    case SF_EX_LIKE:
    case SF_EX_IN_LIST:
    case SF_EX_IN_QUERY:
    case SF_EX_QUANTIFIED: put_predicate(out, expr); break;
    case SF_EX_EXISTS:
        sf_buf_puts(out, "EXISTS ");
        put_query(out, expr->query);
        break;
    case SF_EX_QUERY: put_query(out, expr->query); break;
    case SF_EX_ROW:
        sf_buf_puts(out, "ROW(");
        put_list(out, &expr->args, 0);
        sf_buf_putc(out, ')');
        break;
    case SF_EX_JSON: put_json(out, expr); break;
    case SF_EX_CAST:
        sf_buf_puts(out, "CAST(");
        sf_sql_print_expr(expr->args.items[0], out);
        sf_buf_printf(out, " AS %s)", sf_sql_cast_text(expr->cast));
        break;
    case SF_EX_CASE: put_case(out, expr); break;
    case SF_EX_CALL: put_call(out, expr); break;
    }
}

/* ---- inputs ---- */

static void put_input(sf_buf *out, const sf_sql_input *in);

static void put_alias(sf_buf *out, const sf_sql_input *in)
{
    if (!in->alias.text.len)
        return;
    sf_buf_puts(out, " AS ");
    put_name(out, in->alias);
    put_name_list(out, &in->columns);
}

static void put_join(sf_buf *out, const sf_sql_input *in)
{
    put_input(out, in->join.left);
    if (in->join.comma)
        sf_buf_puts(out, ", ");
    else
        sf_buf_printf(out, " %s%s%s JOIN ", in->join.natural ? "NATURAL " : "",
                      in->join.asof ? "ASOF " : "", sf_sql_join_text(in->join.kind));
    bool nested = in->join.right->kind == SF_INPUT_JOIN;
    sf_buf_puts(out, nested ? "(" : "");
    put_input(out, in->join.right);
    sf_buf_puts(out, nested ? ")" : "");
    if (in->join.within.ms) {
        sf_buf_puts(out, " WITHIN ");
        sf_buf_put_duration(out, in->join.within.ms);
    }
    if (in->join.match) {
        sf_buf_puts(out, " MATCH_CONDITION (");
        sf_sql_print_expr(in->join.match, out);
        sf_buf_putc(out, ')');
    }
    if (in->join.on) {
        sf_buf_puts(out, " ON ");
        sf_sql_print_expr(in->join.on, out);
    }
    if (in->join.using_columns.count) {
        sf_buf_puts(out, " USING");
        put_name_list(out, &in->join.using_columns);
    }
}

static void put_window_input(sf_buf *out, const sf_sql_input *in)
{
    static const char *const names[] = {"TUMBLE", "HOP", "SESSION"};
    const sf_sql_window *window = &in->window.window;
    sf_buf_printf(out, "%s(", names[window->kind]);
    put_input(out, in->window.input);
    if (in->window.partition.count) {
        sf_buf_puts(out, " PARTITION BY (");
        put_list(out, &in->window.partition, 0);
        sf_buf_putc(out, ')');
    }
    sf_buf_puts(out, ", ");
    sf_sql_print_expr(in->window.time, out);
    sf_buf_puts(out, ", ");
    if (window->kind == SF_SQL_WINDOW_HOPPING) {
        sf_buf_put_duration(out, window->advance.ms);
        sf_buf_puts(out, ", ");
    }
    sf_buf_put_duration(out,
                        window->kind == SF_SQL_WINDOW_SESSION ? window->gap.ms : window->size.ms);
    sf_buf_putc(out, ')');
    put_alias(out, in);
}

static void put_input(sf_buf *out, const sf_sql_input *in)
{
    switch (in->kind) {
    case SF_INPUT_NAME:
        put_names(out, &in->name, ".");
        put_alias(out, in);
        break;
    case SF_INPUT_QUERY:
        sf_buf_puts(out, in->lateral ? "LATERAL " : "");
        put_query(out, in->query);
        put_alias(out, in);
        break;
    case SF_INPUT_UNNEST:
        sf_buf_puts(out, "UNNEST(");
        sf_sql_print_expr(in->unnest.array, out);
        sf_buf_puts(out, in->unnest.ordinality ? ") WITH ORDINALITY" : ")");
        put_alias(out, in);
        break;
    case SF_INPUT_WINDOW: put_window_input(out, in); break;
    case SF_INPUT_JOIN: put_join(out, in); break;
    }
}

/* ---- queries ---- */

static void put_group(sf_buf *out, const sf_sql_group *group)
{
    static const char *const words[] = {"", "ROLLUP ", "CUBE ", "GROUPING SETS "};
    bool single = group->kind == SF_GROUP_EXPRS && group->exprs.count == 1;
    sf_buf_printf(out, "%s%s", words[group->kind], single ? "" : "(");
    put_list(out, &group->exprs, 0);
    for (size_t i = 0; i < group->count; i++) {
        if (i)
            sf_buf_puts(out, ", ");
        put_group(out, &group->items[i]);
    }
    sf_buf_puts(out, single ? "" : ")");
}

static void put_window(sf_buf *out, const sf_sql_window *window)
{
    switch (window->kind) {
    case SF_SQL_WINDOW_TUMBLING:
        sf_buf_puts(out, "TUMBLING(SIZE ");
        sf_buf_put_duration(out, window->size.ms);
        break;
    case SF_SQL_WINDOW_HOPPING:
        sf_buf_puts(out, "HOPPING(SIZE ");
        sf_buf_put_duration(out, window->size.ms);
        sf_buf_puts(out, ", ADVANCE BY ");
        sf_buf_put_duration(out, window->advance.ms);
        break;
    case SF_SQL_WINDOW_SESSION:
        sf_buf_puts(out, "SESSION(GAP ");
        sf_buf_put_duration(out, window->gap.ms);
        break;
    }
    sf_buf_putc(out, ')');
}

static void put_grouping(sf_buf *out, const sf_sql_select *select)
{
    if (select->latest.count) {
        sf_buf_puts(out, " LATEST BY ");
        put_list(out, &select->latest, 0);
    }
    if (select->group_span.length)
        sf_buf_puts(out, select->group_all ? " GROUP BY ALL" : " GROUP BY ");
    for (size_t i = 0; i < select->group_count; i++) {
        if (i)
            sf_buf_puts(out, ", ");
        put_group(out, &select->groups[i]);
    }
    if (select->having) {
        sf_buf_puts(out, " HAVING ");
        sf_sql_print_expr(select->having, out);
    }
}

static void put_windows(sf_buf *out, const sf_sql_select *select)
{
    for (size_t i = 0; i < select->window_count; i++) {
        sf_buf_puts(out, i ? ", " : " WINDOW ");
        put_name(out, select->windows[i].name);
        sf_buf_puts(out, " AS ");
        put_over(out, &select->windows[i].over);
    }
    if (select->window.span.length) {
        sf_buf_puts(out, " WINDOW ");
        put_window(out, &select->window);
    }
    if (select->emit != SF_EMIT_DEFAULT)
        sf_buf_puts(out, select->emit == SF_EMIT_CHANGES ? " EMIT CHANGES" : " EMIT FINAL");
}

static void put_select(sf_buf *out, const sf_sql_select *select)
{
    sf_buf_puts(out, select->distinct ? "SELECT DISTINCT " : "SELECT ");
    for (size_t i = 0; i < select->item_count; i++) {
        const sf_sql_item *item = &select->items[i];
        if (i)
            sf_buf_puts(out, ", ");
        sf_sql_print_expr(item->expr, out);
        if (item->alias.text.len) {
            sf_buf_puts(out, " AS ");
            put_name(out, item->alias);
        }
    }
    if (select->from) {
        sf_buf_puts(out, " FROM ");
        put_input(out, select->from);
    }
    if (select->where) {
        sf_buf_puts(out, " WHERE ");
        sf_sql_print_expr(select->where, out);
    }
    put_grouping(out, select);
    put_windows(out, select);
}

static void put_body(sf_buf *out, const sf_sql_body *body)
{
    switch (body->kind) {
    case SF_BODY_SELECT: put_select(out, body->select); break;
    case SF_BODY_QUERY: put_query(out, body->query); break;
    case SF_BODY_VALUES:
        for (size_t i = 0; i < body->values.count; i++) {
            sf_buf_puts(out, i ? ", (" : "VALUES (");
            put_list(out, &body->values.items[i], 0);
            sf_buf_putc(out, ')');
        }
        break;
    case SF_BODY_SET:
        put_body(out, body->set.left);
        sf_buf_printf(out, " %s%s ", sf_sql_set_text(body->set.op), body->set.all ? " ALL" : "");
        put_body(out, body->set.right);
        break;
    }
}

void sf_sql_print_query(const sf_sql_query *query, sf_buf *out)
{
    for (size_t i = 0; i < query->with_count; i++) {
        const sf_sql_with *with = &query->with[i];
        sf_buf_puts(out, i ? ", " : (query->recursive ? "WITH RECURSIVE " : "WITH "));
        put_name(out, with->name);
        put_name_list(out, &with->columns);
        sf_buf_puts(out, " AS ");
        put_query(out, with->query);
    }
    if (query->with_count)
        sf_buf_putc(out, ' ');
    put_body(out, query->body);
    if (query->order.count) {
        sf_buf_puts(out, " ORDER BY ");
        put_order(out, &query->order);
    }
    if (query->has_limit)
        sf_buf_printf(out, " LIMIT %lld", (long long)query->limit);
    if (query->has_offset)
        sf_buf_printf(out, " OFFSET %lld", (long long)query->offset);
}

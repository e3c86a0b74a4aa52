/* parse_query.c: WITH, SELECT and its clauses, set operations, ORDER BY, LIMIT. */
#include "sql/parser.h"

static const char CLAUSE_ORDER[] =
    "the order is SELECT, FROM, WHERE, LATEST BY, GROUP BY, HAVING, WINDOW, EMIT, UNION, ORDER BY, "
    "LIMIT";

bool sf_sqlp_starts_query(const sf_token *token)
{
    if (token->kind != SF_TOKEN_WORD)
        return false;
    bool values = token->code == KW_VALUES && token[1].kind == SF_TOKEN_SYMBOL &&
                  token[1].code == '('; /* a word is never the last token */
    return token->code == KW_SELECT || token->code == KW_WITH || values;
}

bool sf_sqlp_at_query(const sf_sqlp *p)
{
    /* at() tells completion what may stand here. */
    if (sf_sqlp_at(p, KW_SELECT) || sf_sqlp_at(p, KW_WITH))
        return true;
    return sf_sqlp_at(p, KW_VALUES) && sf_sqlp_starts_query(p->tokens + p->pos);
}

/* ---- SELECT list ---- */

static sf_status star_item(sf_sqlp *p, sf_sql_item *item)
{
    size_t start = p->pos;
    SF_TRY(sf_sqlp_node(p, SF_EX_STAR, start, &item->expr));
    if (!sf_sqlp_at_symbol(p, '*')) {
        SF_TRY(sf_sqlp_name(p, "an alias", &item->expr->star));
        p->pos++;
    }
    p->pos++;
    SF_TRY(sf_sqlp_done(p, item->expr, start));
    sf_sql_name alias;
    size_t before = p->pos;
    SF_TRY(sf_sqlp_alias(p, &alias));
    if (!alias.text.len)
        return SF_OK;
    p->pos = before;
    return sf_sqlp_fail(p, "a comma or FROM", "* stands for several columns and takes no alias");
}

static bool at_star(const sf_sqlp *p)
{
    sf_token dot = sf_sqlp_peek(p, 1), star = sf_sqlp_peek(p, 2);
    if (sf_sqlp_at_symbol(p, '*'))
        return true;
    return sf_sqlp_at_name(p) && dot.kind == SF_TOKEN_SYMBOL && dot.code == '.' &&
           star.kind == SF_TOKEN_SYMBOL && star.code == '*';
}

static sf_status select_list(sf_sqlp *p, sf_sql_select *select)
{
    if (sf_sqlp_at(p, KW_FROM))
        return sf_sqlp_fail(p, "what to select", "list columns and expressions, or write *");
    do {
        sf_sql_item item = {0};
        if (at_star(p)) {
            SF_TRY(star_item(p, &item));
        } else {
            SF_TRY(sf_sqlp_expr(p, &item.expr));
            SF_TRY(sf_sqlp_alias(p, &item.alias));
        }
        SQLP_PUSH(p, select->items, select->item_count, item);
    } while (sf_sqlp_take_symbol(p, ','));
    return SF_OK;
}

/* ---- GROUP BY ---- */

static sf_status group_item(sf_sqlp *p, sf_sql_group *out);

static sf_status group_nested(sf_sqlp *p, sf_sql_group *group, const char *where)
{
    SF_TRY(sf_sqlp_expect_symbol(p, '(', where));
    SF_TRY(sf_sqlp_enter(p));
    do {
        sf_sql_group item;
        SF_TRY(group_item(p, &item));
        SQLP_PUSH(p, group->items, group->count, item);
    } while (sf_sqlp_take_symbol(p, ','));
    sf_sqlp_leave(p);
    return sf_sqlp_expect_symbol(p, ')', "or a comma");
}

static sf_status group_item(sf_sqlp *p, sf_sql_group *out)
{
    size_t start = p->pos;
    sf_token next = sf_sqlp_peek(p, 1);
    bool open = next.kind == SF_TOKEN_SYMBOL && next.code == '(';
    *out = (sf_sql_group){.kind = SF_GROUP_EXPRS};
    if (open && sf_sqlp_take(p, KW_ROLLUP)) {
        out->kind = SF_GROUP_ROLLUP;
        SF_TRY(group_nested(p, out, "after ROLLUP"));
    } else if (open && sf_sqlp_take(p, KW_CUBE)) {
        out->kind = SF_GROUP_CUBE;
        SF_TRY(group_nested(p, out, "after CUBE"));
    } else if (sf_sqlp_at(p, KW_GROUPING) && next.kind == SF_TOKEN_WORD && next.code == KW_SETS) {
        p->pos += 2;
        out->kind = SF_GROUP_SETS;
        SF_TRY(group_nested(p, out, "after GROUPING SETS"));
    } else if (sf_sqlp_at_symbol(p, '(') && next.kind == SF_TOKEN_SYMBOL && next.code == ')') {
        p->pos += 2;
    } else {
        sf_sql_expr *expr;
        SF_TRY(sf_sqlp_expr(p, &expr));
        if (expr->kind == SF_EX_ROW)
            out->exprs = expr->args;
        else
            SQLP_PUSH(p, out->exprs.items, out->exprs.count, expr);
    }
    out->span = sf_sqlp_span(p, start);
    return SF_OK;
}

sf_status sf_sqlp_group_by(sf_sqlp *p, sf_sql_select *select)
{
    size_t start = p->pos++;
    SF_TRY(sf_sqlp_expect(p, KW_BY, "after GROUP"));
    if (sf_sqlp_take(p, KW_ALL)) {
        select->group_all = true;
    } else {
        do {
            sf_sql_group item;
            SF_TRY(group_item(p, &item));
            SQLP_PUSH(p, select->groups, select->group_count, item);
        } while (sf_sqlp_take_symbol(p, ','));
    }
    select->group_span = sf_sqlp_span(p, start);
    return SF_OK;
}

/* ---- WINDOW ---- */

sf_status sf_sqlp_window(sf_sqlp *p, sf_sql_window *out)
{
    size_t start = p->pos;
    if (sf_sqlp_take(p, KW_TUMBLING)) {
        out->kind = SF_SQL_WINDOW_TUMBLING;
        SF_TRY(sf_sqlp_expect_symbol(p, '(', "after TUMBLING"));
        SF_TRY(sf_sqlp_expect(p, KW_SIZE, "and a duration in TUMBLING"));
        SF_TRY(sf_sqlp_duration(p, "after SIZE", &out->size));
    } else if (sf_sqlp_take(p, KW_HOPPING)) {
        out->kind = SF_SQL_WINDOW_HOPPING;
        SF_TRY(sf_sqlp_expect_symbol(p, '(', "after HOPPING"));
        SF_TRY(sf_sqlp_expect(p, KW_SIZE, "and a duration in HOPPING"));
        SF_TRY(sf_sqlp_duration(p, "after SIZE", &out->size));
        SF_TRY(sf_sqlp_expect_symbol(p, ',', "and ADVANCE BY in HOPPING"));
        SF_TRY(sf_sqlp_expect(p, KW_ADVANCE, "BY and a duration in HOPPING"));
        SF_TRY(sf_sqlp_expect(p, KW_BY, "after ADVANCE"));
        SF_TRY(sf_sqlp_duration(p, "after ADVANCE BY", &out->advance));
    } else if (sf_sqlp_take(p, KW_SESSION)) {
        out->kind = SF_SQL_WINDOW_SESSION;
        SF_TRY(sf_sqlp_expect_symbol(p, '(', "after SESSION"));
        SF_TRY(sf_sqlp_expect(p, KW_GAP, "and a duration in SESSION"));
        SF_TRY(sf_sqlp_duration(p, "after GAP", &out->gap));
    } else {
        return sf_sqlp_fail(p, "TUMBLING, HOPPING or SESSION after WINDOW",
                            "write WINDOW TUMBLING(SIZE 5 SECONDS)");
    }
    SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the window"));
    out->span = sf_sqlp_span(p, start);
    return SF_OK;
}

/* WINDOW w AS (...), v AS (...) */
static sf_status named_windows(sf_sqlp *p, sf_sql_select *select)
{
    do {
        sf_sql_named_window window = {0};
        SF_TRY(sf_sqlp_name(p, "a window's name", &window.name));
        SF_TRY(sf_sqlp_expect(p, KW_AS, "after the window's name"));
        SF_TRY(sf_sqlp_over_body(p, &window.over));
        SQLP_PUSH(p, select->windows, select->window_count, window);
    } while (sf_sqlp_take_symbol(p, ','));
    return SF_OK;
}

static sf_status window_clause(sf_sqlp *p, sf_sql_select *select)
{
    sf_token next = sf_sqlp_peek(p, 2);
    p->pos++;
    if (sf_sqlp_at_name(p) && next.kind == SF_TOKEN_WORD && next.code == KW_AS)
        return named_windows(p, select);
    if (select->window.span.length)
        return sf_sqlp_fail(p, "one WINDOW", "a query has one window; nest queries for another");
    return sf_sqlp_window(p, &select->window);
}

/* ---- clauses ---- */

static sf_status emit_clause(sf_sqlp *p, sf_sql_select *select)
{
    size_t start = p->pos++;
    if (sf_sqlp_take(p, KW_CHANGES))
        select->emit = SF_EMIT_CHANGES;
    else if (sf_sqlp_take(p, KW_FINAL))
        select->emit = SF_EMIT_FINAL;
    else
        return sf_sqlp_fail(p, "CHANGES or FINAL after EMIT", NULL);
    select->emit_span = sf_sqlp_span(p, start);
    return SF_OK;
}

/* LATEST BY (a, b) or LATEST BY a, b */
static sf_status latest_clause(sf_sqlp *p, sf_sql_select *select)
{
    size_t start = p->pos++;
    SF_TRY(sf_sqlp_expect(p, KW_BY, "after LATEST"));
    SF_TRY(sf_sqlp_expr_list(p, &select->latest));
    sf_sql_expr *first = select->latest.items[0];
    if (select->latest.count == 1 && first->kind == SF_EX_ROW)
        select->latest = first->args;
    select->latest_span = sf_sqlp_span(p, start);
    return SF_OK;
}

static sf_status clause(sf_sqlp *p, sf_sql_select *select, sf_sql_keyword word)
{
    switch (word) {
    case KW_WHERE: p->pos++; return sf_sqlp_expr(p, &select->where);
    case KW_LATEST: return latest_clause(p, select);
    case KW_GROUP: return sf_sqlp_group_by(p, select);
    case KW_HAVING: p->pos++; return sf_sqlp_expr(p, &select->having);
    case KW_WINDOW: return window_clause(p, select);
    default: return emit_clause(p, select);
    }
}

static sf_status clauses(sf_sqlp *p, sf_sql_select *select)
{
    /* HAVING and WINDOW may stand in either order. */
    static const struct {
        const char *name;
        uint16_t word;
        uint8_t rank;
        bool repeats;
    } known[] = {
        {"WHERE", KW_WHERE, 1, false},    {"LATEST BY", KW_LATEST, 2, false},
        {"GROUP BY", KW_GROUP, 3, false}, {"HAVING", KW_HAVING, 4, false},
        {"WINDOW", KW_WINDOW, 4, true},   {"EMIT", KW_EMIT, 5, false},
    };
    size_t last = 0;
    unsigned seen = 0;
    for (;;) {
        size_t i = 0;
        while (i < SF_COUNT_OF(known) && !sf_sqlp_at(p, known[i].word))
            i++;
        if (i == SF_COUNT_OF(known))
            return SF_OK;
        sf_span where = sf_sqlp_peek(p, 0).span;
        if (seen & (1u << i) && !known[i].repeats) {
            sf_fail_at(p->err, SF_SYNTAX, where, "%s is written twice", known[i].name);
            sf_error_hint(p->err, "join two conditions with AND, two lists with a comma");
            return SF_SYNTAX;
        }
        if (seen && known[i].rank < known[last].rank) {
            sf_fail_at(p->err, SF_SYNTAX, where, "%s stands behind %s", known[i].name,
                       known[last].name);
            sf_error_hint(p->err, "%s", CLAUSE_ORDER);
            return SF_SYNTAX;
        }
        seen |= 1u << i;
        last = i;
        SF_TRY(clause(p, select, (sf_sql_keyword)known[i].word));
    }
}

static sf_status select_body(sf_sqlp *p, sf_sql_select **out)
{
    size_t start = p->pos;
    sf_sql_select *select;
    SQLP_NEW(p, select);
    SF_TRY(sf_sqlp_expect(p, KW_SELECT, NULL));
    select->distinct_span = sf_sqlp_peek(p, 0).span;
    if (sf_sqlp_take(p, KW_DISTINCT)) {
        select->distinct = true;
        if (sf_sqlp_at(p, KW_ON))
            return sf_sqlp_fail(p, "the selected columns after DISTINCT",
                                "for the newest row of each key write LATEST BY (key)");
    } else {
        sf_sqlp_take(p, KW_ALL);
    }
    SF_TRY(select_list(p, select));
    if (sf_sqlp_take(p, KW_FROM))
        SF_TRY(sf_sqlp_input_list(p, &select->from));
    SF_TRY(clauses(p, select));
    select->span = sf_sqlp_span(p, start);
    *out = select;
    return SF_OK;
}

/* VALUES (a, b), (c, d) */
static sf_status values_body(sf_sqlp *p, sf_sql_body *body)
{
    body->kind = SF_BODY_VALUES;
    p->pos++;
    do {
        sf_sql_exprs row = {0};
        SF_TRY(sf_sqlp_expect_symbol(p, '(', "before the values of a row"));
        SF_TRY(sf_sqlp_expr_list(p, &row));
        SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the values of a row"));
        SQLP_PUSH(p, body->values.items, body->values.count, row);
    } while (sf_sqlp_take_symbol(p, ','));
    return SF_OK;
}

/* ---- set operations ---- */

/* SELECT ..., VALUES ... or (query) */
static sf_status term(sf_sqlp *p, sf_sql_body **out)
{
    size_t start = p->pos;
    sf_sql_body *body;
    SQLP_NEW(p, body);
    if (sf_sqlp_take_symbol(p, '(')) {
        body->kind = SF_BODY_QUERY;
        if (!sf_sqlp_at_query(p) && !sf_sqlp_at_symbol(p, '('))
            return sf_sqlp_fail(p, "SELECT after the parenthesis", NULL);
        SF_TRY(sf_sqlp_query(p, &body->query));
        SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the query"));
    } else if (sf_sqlp_at(p, KW_VALUES) && sf_sqlp_at_query(p)) {
        SF_TRY(values_body(p, body));
    } else {
        body->kind = SF_BODY_SELECT;
        SF_TRY(select_body(p, &body->select));
    }
    body->span = sf_sqlp_span(p, start);
    *out = body;
    return SF_OK;
}

static sf_status set_operation(sf_sqlp *p, size_t start, sf_sql_set_op op, sf_sql_body **left,
                               sf_status (*operand)(sf_sqlp *, sf_sql_body **))
{
    sf_sql_body *body;
    SQLP_NEW(p, body);
    body->kind = SF_BODY_SET;
    body->set.op = op;
    body->set.op_span = p->tokens[p->pos++].span;
    body->set.all = sf_sqlp_take(p, KW_ALL);
    if (!body->set.all)
        sf_sqlp_take(p, KW_DISTINCT);
    if ((!sf_sqlp_at_query(p) || sf_sqlp_at(p, KW_WITH)) && !sf_sqlp_at_symbol(p, '('))
        return sf_sqlp_fail(p, "SELECT", "each side of a set operation is a SELECT");
    body->set.left = *left;
    SF_TRY(operand(p, &body->set.right));
    body->span = sf_sqlp_span(p, start);
    *left = body;
    return sf_sqlp_deepen(p, p->deepest + 1);
}

static sf_status intersections(sf_sqlp *p, sf_sql_body **out)
{
    size_t start = p->pos;
    SF_TRY(term(p, out));
    while (sf_sqlp_at(p, KW_INTERSECT))
        SF_TRY(set_operation(p, start, SF_SET_INTERSECT, out, term));
    return SF_OK;
}

static sf_status set_expression(sf_sqlp *p, sf_sql_body **out)
{
    size_t start = p->pos;
    SF_TRY(intersections(p, out));
    for (;;) {
        if (sf_sqlp_at(p, KW_UNION))
            SF_TRY(set_operation(p, start, SF_SET_UNION, out, intersections));
        else if (sf_sqlp_at(p, KW_EXCEPT))
            SF_TRY(set_operation(p, start, SF_SET_EXCEPT, out, intersections));
        else
            return SF_OK;
    }
}

/* ---- queries ---- */

static sf_status with_clause(sf_sqlp *p, sf_sql_query *query)
{
    sf_token next = sf_sqlp_peek(p, 1);
    if (sf_sqlp_at(p, KW_RECURSIVE) && !(next.kind == SF_TOKEN_WORD && next.code == KW_AS)) {
        p->pos++;
        query->recursive = true;
    }
    do {
        sf_sql_with with = {0};
        SF_TRY(sf_sqlp_name(p, "a name for the query of WITH", &with.name));
        if (sf_sqlp_at_symbol(p, '('))
            SF_TRY(sf_sqlp_name_list(p, "a column name", &with.columns));
        SF_TRY(sf_sqlp_expect(p, KW_AS, "after the name in WITH"));
        SF_TRY(sf_sqlp_expect_symbol(p, '(', "after AS in WITH"));
        SF_TRY(sf_sqlp_query(p, &with.query));
        SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the query of WITH"));
        SQLP_PUSH(p, query->with, query->with_count, with);
    } while (sf_sqlp_take_symbol(p, ','));
    return SF_OK;
}

/* LIMIT n, OFFSET n [ROWS], FETCH FIRST n ROWS ONLY, in any order */
static sf_status limits(sf_sqlp *p, sf_sql_query *query)
{
    for (;;) {
        size_t start = p->pos;
        if (!query->has_limit && sf_sqlp_take(p, KW_LIMIT)) {
            query->has_limit = true;
            SF_TRY(sf_sqlp_integer(p, "a number after LIMIT", &query->limit));
            query->limit_span = sf_sqlp_span(p, start);
        } else if (!query->has_offset && sf_sqlp_take(p, KW_OFFSET)) {
            query->has_offset = true;
            SF_TRY(sf_sqlp_integer(p, "a number after OFFSET", &query->offset));
            if (!sf_sqlp_take(p, KW_ROWS))
                sf_sqlp_take(p, KW_ROW);
            query->offset_span = sf_sqlp_span(p, start);
        } else if (!query->has_limit && sf_sqlp_take(p, KW_FETCH)) {
            query->has_limit = true;
            query->limit = 1;
            if (!sf_sqlp_take(p, KW_FIRST))
                SF_TRY(sf_sqlp_expect(p, KW_NEXT, "or FIRST after FETCH"));
            if (sf_sqlp_peek(p, 0).kind == SF_TOKEN_INTEGER)
                SF_TRY(sf_sqlp_integer(p, "a number", &query->limit));
            if (!sf_sqlp_take(p, KW_ROW))
                SF_TRY(sf_sqlp_expect(p, KW_ROWS, "after FETCH FIRST"));
            SF_TRY(sf_sqlp_expect(p, KW_ONLY, "after FETCH FIRST ... ROWS"));
            query->limit_span = sf_sqlp_span(p, start);
        } else {
            return SF_OK;
        }
    }
}

static bool at_clause_word(const sf_sqlp *p)
{
    static const uint16_t words[] = {KW_FROM,   KW_WHERE, KW_LATEST, KW_GROUP,  KW_HAVING,
                                     KW_WINDOW, KW_EMIT,  KW_UNION,  KW_EXCEPT, KW_INTERSECT,
                                     KW_ORDER,  KW_LIMIT, KW_OFFSET, KW_FETCH};
    for (size_t i = 0; i < SF_COUNT_OF(words); i++) {
        if (sf_sqlp_at(p, words[i]))
            return true;
    }
    return false;
}

sf_status sf_sqlp_query(sf_sqlp *p, sf_sql_query **out)
{
    size_t start = p->pos;
    unsigned outer = p->deepest;
    sf_sql_query *query;
    SQLP_NEW(p, query);
    SF_TRY(sf_sqlp_enter(p));
    p->deepest = 0;
    if (sf_sqlp_take(p, KW_WITH))
        SF_TRY(with_clause(p, query));
    SF_TRY(set_expression(p, &query->body));
    if (sf_sqlp_at(p, KW_ORDER)) {
        size_t order = p->pos++;
        SF_TRY(sf_sqlp_expect(p, KW_BY, "after ORDER"));
        SF_TRY(sf_sqlp_order(p, &query->order));
        query->order_span = sf_sqlp_span(p, order);
    }
    SF_TRY(limits(p, query));
    if (at_clause_word(p))
        return sf_sqlp_fail(p, "the end of the query", CLAUSE_ORDER);
    query->span = sf_sqlp_span(p, start);
    SF_TRY(sf_sqlp_deepen(p, p->deepest + 1));
    query->depth = (uint16_t)p->deepest;
    if (outer > p->deepest)
        p->deepest = outer;
    sf_sqlp_leave(p);
    *out = query;
    return SF_OK;
}

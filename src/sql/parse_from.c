/* parse_from.c: FROM: inputs, joins, UNNEST, window functions over inputs. */
#include "sql/parser.h"

static sf_status input(sf_sqlp *p, sf_sql_input **out);

static sf_status new_input(sf_sqlp *p, sf_sql_input_kind kind, sf_sql_input **out)
{
    SQLP_NEW(p, *out);
    (*out)->kind = kind;
    return SF_OK;
}

/* [AS] alias [(a, b)]; must: what needs one, NULL when it may be absent. */
static sf_status alias_of(sf_sqlp *p, sf_sql_input *in, const char *must)
{
    SF_TRY(sf_sqlp_alias(p, &in->alias));
    if (!in->alias.text.len) {
        if (must)
            return sf_sqlp_fail(p, must, "write AS and a name behind the parenthesis");
        return SF_OK;
    }
    if (sf_sqlp_at_symbol(p, '('))
        return sf_sqlp_name_list(p, "a column name", &in->columns);
    return SF_OK;
}

/* ---- UNNEST and LATERAL ---- */

static sf_status unnest(sf_sqlp *p, sf_sql_input **out)
{
    size_t start = p->pos++;
    sf_sql_input *in;
    SF_TRY(new_input(p, SF_INPUT_UNNEST, &in));
    SF_TRY(sf_sqlp_expect_symbol(p, '(', "after UNNEST"));
    SF_TRY(sf_sqlp_expr(p, &in->unnest.array));
    if (sf_sqlp_at_symbol(p, ','))
        return sf_sqlp_fail(p, ") after the array of UNNEST",
                            "UNNEST takes one array; write a second UNNEST for another");
    SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the array of UNNEST"));
    sf_token next = sf_sqlp_peek(p, 1);
    if (sf_sqlp_at(p, KW_WITH) && next.kind == SF_TOKEN_WORD && next.code == KW_ORDINALITY) {
        p->pos += 2;
        in->unnest.ordinality = true;
    }
    SF_TRY(alias_of(p, in, "an alias for UNNEST"));
    in->span = sf_sqlp_span(p, start);
    *out = in;
    return SF_OK;
}

static sf_status lateral(sf_sqlp *p, sf_sql_input **out)
{
    size_t start = p->pos++;
    if (sf_sqlp_at(p, KW_UNNEST))
        return unnest(p, out);
    sf_sql_input *in;
    SF_TRY(new_input(p, SF_INPUT_QUERY, &in));
    in->lateral = true;
    SF_TRY(sf_sqlp_expect_symbol(p, '(', "after LATERAL"));
    SF_TRY(sf_sqlp_query(p, &in->query));
    SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the subquery"));
    SF_TRY(alias_of(p, in, "an alias for the subquery"));
    in->span = sf_sqlp_span(p, start);
    *out = in;
    return SF_OK;
}

/* ---- names and subqueries ---- */

static sf_status named(sf_sqlp *p, sf_sql_input **out)
{
    size_t start = p->pos;
    sf_sql_input *in;
    SF_TRY(new_input(p, SF_INPUT_NAME, &in));
    do {
        sf_sql_name part;
        if (in->name.count == 2)
            return sf_sqlp_fail(p, "an alias or the next clause",
                                "a source or table has one name, a relay domain.relay");
        SF_TRY(sf_sqlp_name(p, "a source, a table or (SELECT ...)", &part));
        SQLP_PUSH(p, in->name.items, in->name.count, part);
    } while (sf_sqlp_take_symbol(p, '.'));
    if (sf_sqlp_at_symbol(p, '(')) {
        sf_sql_name name = in->name.items[in->name.count - 1];
        sf_fail_at(p->err, SF_SYNTAX, name.span, "table function \"%.*s\" does not exist",
                   (int)(name.text.len < 60 ? name.text.len : 60), name.text.data);
        sf_error_hint(p->err, "the table functions are TUMBLE, HOP, SESSION and UNNEST");
        return SF_SYNTAX;
    }
    if (sf_sqlp_at(p, KW_FOR))
        return sf_sqlp_fail(p, "an alias or the next clause",
                            "for the newest row not after the left row's time write ASOF JOIN");
    SF_TRY(alias_of(p, in, NULL));
    in->span = sf_sqlp_span(p, start);
    *out = in;
    return SF_OK;
}

/* After any number of parentheses a query begins. */
static bool query_in_parentheses(const sf_sqlp *p)
{
    const sf_token *token = p->tokens + p->pos;
    while (token->kind == SF_TOKEN_SYMBOL && token->code == '(')
        token++;
    return sf_sqlp_starts_query(token);
}

static sf_status in_parentheses(sf_sqlp *p, sf_sql_input **out)
{
    size_t start = p->pos++;
    sf_sql_input *in;
    if (query_in_parentheses(p)) {
        SF_TRY(new_input(p, SF_INPUT_QUERY, &in));
        SF_TRY(sf_sqlp_query(p, &in->query));
        SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the subquery"));
        SF_TRY(alias_of(p, in, "an alias for the subquery"));
        in->span = sf_sqlp_span(p, start);
    } else {
        SF_TRY(sf_sqlp_enter(p));
        SF_TRY(sf_sqlp_input_list(p, &in));
        sf_sqlp_leave(p);
        SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the joined inputs"));
        sf_sql_name name;
        size_t before = p->pos;
        SF_TRY(sf_sqlp_alias(p, &name));
        if (name.text.len) {
            p->pos = before;
            return sf_sqlp_fail(p, "a join or the next clause",
                                "joined inputs keep their own aliases; for one name write "
                                "(SELECT ...) alias");
        }
    }
    *out = in;
    return SF_OK;
}

/* ---- TUMBLE, HOP, SESSION over an input ---- */

static bool at_window_function(const sf_sqlp *p, size_t ahead, sf_sql_window_kind *kind)
{
    sf_token token = sf_sqlp_peek(p, ahead), next = sf_sqlp_peek(p, ahead + 1);
    if (token.kind != SF_TOKEN_WORD || next.kind != SF_TOKEN_SYMBOL || next.code != '(')
        return false;
    switch (token.code) {
    case KW_TUMBLE: *kind = SF_SQL_WINDOW_TUMBLING; return true;
    case KW_HOP: *kind = SF_SQL_WINDOW_HOPPING; return true;
    case KW_SESSION: *kind = SF_SQL_WINDOW_SESSION; return true;
    default: return false;
    }
}

/* The first argument: [TABLE] name or (SELECT ...), without alias. */
static sf_status window_input(sf_sqlp *p, sf_sql_input **out)
{
    size_t start = p->pos;
    sf_sql_input *in;
    sf_sqlp_take(p, KW_TABLE);
    if (sf_sqlp_take_symbol(p, '(')) {
        SF_TRY(new_input(p, SF_INPUT_QUERY, &in));
        SF_TRY(sf_sqlp_query(p, &in->query));
        SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the subquery"));
    } else {
        SF_TRY(new_input(p, SF_INPUT_NAME, &in));
        do {
            sf_sql_name part;
            SF_TRY(sf_sqlp_name(p, "a source, a table or (SELECT ...)", &part));
            SQLP_PUSH(p, in->name.items, in->name.count, part);
        } while (in->name.count < 2 && sf_sqlp_take_symbol(p, '.'));
    }
    in->span = sf_sqlp_span(p, start);
    *out = in;
    return SF_OK;
}

static sf_status window_time(sf_sqlp *p, sf_sql_expr **out)
{
    sf_token next = sf_sqlp_peek(p, 1);
    if (!sf_sqlp_at(p, KW_DESCRIPTOR) || next.kind != SF_TOKEN_SYMBOL || next.code != '(')
        return sf_sqlp_expr(p, out);
    p->pos += 2;
    SF_TRY(sf_sqlp_expr(p, out));
    return sf_sqlp_expect_symbol(p, ')', "after the column of DESCRIPTOR");
}

static sf_status window_partition(sf_sqlp *p, sf_sql_exprs *out)
{
    SF_TRY(sf_sqlp_expect(p, KW_BY, "after PARTITION"));
    if (!sf_sqlp_take_symbol(p, '(')) {
        /* A comma ends it here: the next argument follows. */
        sf_sql_expr *key;
        SF_TRY(sf_sqlp_expr(p, &key));
        SQLP_PUSH(p, out->items, out->count, key);
        return SF_OK;
    }
    SF_TRY(sf_sqlp_expr_list(p, out));
    return sf_sqlp_expect_symbol(p, ')', "after the columns of PARTITION BY");
}

static sf_status window_function(sf_sqlp *p, sf_sql_window_kind kind, sf_sql_input **out)
{
    size_t start = p->pos;
    sf_sql_input *in;
    SF_TRY(new_input(p, SF_INPUT_WINDOW, &in));
    sf_sql_window *window = &in->window.window;
    p->pos += 2;
    SF_TRY(window_input(p, &in->window.input));
    if (kind == SF_SQL_WINDOW_SESSION && sf_sqlp_take(p, KW_PARTITION))
        SF_TRY(window_partition(p, &in->window.partition));
    SF_TRY(sf_sqlp_expect_symbol(p, ',', "and the time column"));
    SF_TRY(window_time(p, &in->window.time));
    SF_TRY(sf_sqlp_expect_symbol(p, ',', "and a duration"));
    window->kind = kind;
    if (kind == SF_SQL_WINDOW_HOPPING) {
        SF_TRY(sf_sqlp_duration(p, "for the advance of HOP", &window->advance));
        SF_TRY(sf_sqlp_expect_symbol(p, ',', "and the size of HOP"));
        SF_TRY(sf_sqlp_duration(p, "for the size of HOP", &window->size));
    } else if (kind == SF_SQL_WINDOW_TUMBLING) {
        SF_TRY(sf_sqlp_duration(p, "for the size of TUMBLE", &window->size));
    } else {
        SF_TRY(sf_sqlp_duration(p, "for the gap of SESSION", &window->gap));
    }
    SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the arguments"));
    window->span = sf_sqlp_span(p, start);
    *out = in;
    return SF_OK;
}

/* [TABLE(] TUMBLE(...) [)] [alias] */
static sf_status windowed(sf_sqlp *p, sf_sql_window_kind kind, sf_sql_input **out)
{
    size_t start = p->pos;
    bool wrapped = sf_sqlp_take(p, KW_TABLE);
    if (wrapped)
        SF_TRY(sf_sqlp_expect_symbol(p, '(', "after TABLE"));
    SF_TRY(window_function(p, kind, out));
    if (wrapped)
        SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the window function"));
    SF_TRY(alias_of(p, *out, NULL));
    (*out)->span = sf_sqlp_span(p, start);
    return SF_OK;
}

static sf_status input(sf_sqlp *p, sf_sql_input **out)
{
    sf_sql_window_kind kind;
    sf_token next = sf_sqlp_peek(p, 1);
    bool open = next.kind == SF_TOKEN_SYMBOL && next.code == '(';
    if (sf_sqlp_at_symbol(p, '('))
        return in_parentheses(p, out);
    if (sf_sqlp_at(p, KW_UNNEST) && open)
        return unnest(p, out);
    if (sf_sqlp_at(p, KW_LATERAL))
        return lateral(p, out);
    if (at_window_function(p, 0, &kind) ||
        (sf_sqlp_at(p, KW_TABLE) && open && at_window_function(p, 2, &kind)))
        return windowed(p, kind, out);
    return named(p, out);
}

/* ---- joins ---- */

/* What stands before JOIN; false: no join follows. */
static sf_status join_words(sf_sqlp *p, sf_sql_input *join, bool *found)
{
    static const struct {
        uint16_t word;
        sf_sql_join_kind kind;
        bool outer;
    } kinds[] = {
        {KW_INNER, SF_SQL_JOIN_INNER, false}, {KW_LEFT, SF_SQL_JOIN_LEFT, true},
        {KW_RIGHT, SF_SQL_JOIN_RIGHT, true},  {KW_FULL, SF_SQL_JOIN_FULL, true},
        {KW_CROSS, SF_SQL_JOIN_CROSS, false},
    };
    size_t start = p->pos;
    join->join.natural = sf_sqlp_take(p, KW_NATURAL);
    join->join.asof = sf_sqlp_take(p, KW_ASOF);
    for (size_t i = 0; i < SF_COUNT_OF(kinds); i++) {
        if (!sf_sqlp_take(p, kinds[i].word))
            continue;
        join->join.kind = kinds[i].kind;
        if (kinds[i].outer)
            sf_sqlp_take(p, KW_OUTER);
        break;
    }
    join->join.asof |= sf_sqlp_take(p, KW_ASOF);
    *found = p->pos > start || sf_sqlp_at(p, KW_JOIN);
    if (!*found)
        return SF_OK;
    join->join.word = sf_sqlp_peek(p, 0).span;
    return sf_sqlp_expect(p, KW_JOIN, NULL);
}

static sf_status refuse_join(sf_sqlp *p, const sf_sql_input *join, const char *what,
                             const char *hint)
{
    sf_fail_at(p->err, SF_SYNTAX, join->join.word, "%s", what);
    sf_error_hint(p->err, "%s", hint);
    return SF_SYNTAX;
}

static sf_status join_condition(sf_sqlp *p, sf_sql_input *join)
{
    if (sf_sqlp_take(p, KW_WITHIN))
        SF_TRY(sf_sqlp_duration(p, "after WITHIN", &join->join.within));
    if (join->join.asof && sf_sqlp_take(p, KW_MATCH_CONDITION)) {
        SF_TRY(sf_sqlp_expect_symbol(p, '(', "after MATCH_CONDITION"));
        SF_TRY(sf_sqlp_expr(p, &join->join.match));
        SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the condition"));
    }
    if (sf_sqlp_take(p, KW_ON))
        SF_TRY(sf_sqlp_expr(p, &join->join.on));
    else if (sf_sqlp_take(p, KW_USING))
        SF_TRY(sf_sqlp_name_list(p, "a column name", &join->join.using_columns));
    if (!join->join.within.ms && sf_sqlp_at(p, KW_WITHIN))
        return sf_sqlp_fail(p, "the next clause", "WITHIN stands before ON");
    bool conditioned = join->join.on || join->join.using_columns.count;
    if (join->join.natural && conditioned)
        return refuse_join(p, join, "NATURAL JOIN takes no ON or USING",
                           "it already joins on the columns that both sides have: drop one of "
                           "the two");
    if (join->join.natural && join->join.kind == SF_SQL_JOIN_CROSS)
        return refuse_join(p, join, "a join cannot be both NATURAL and CROSS", "drop one of them");
    return SF_OK;
}

static sf_status comma(sf_sqlp *p, sf_sql_input *join)
{
    join->join.word = p->tokens[p->pos++].span;
    join->join.comma = true;
    join->join.kind = SF_SQL_JOIN_CROSS;
    if (!sf_sqlp_at(p, KW_UNNEST) && !sf_sqlp_at(p, KW_LATERAL))
        return sf_sqlp_fail(p, "UNNEST or LATERAL after the comma",
                            "join inputs with JOIN ... ON or CROSS JOIN");
    return input(p, &join->join.right);
}

sf_status sf_sqlp_input_list(sf_sqlp *p, sf_sql_input **out)
{
    size_t start = p->pos;
    sf_sql_input *left, *join;
    if (sf_sqlp_at(p, KW_UNNEST) && sf_sqlp_peek(p, 1).code == '(')
        return sf_sqlp_fail(p, "a source, a table or (SELECT ...)",
                            "UNNEST stands behind the input whose array it takes");
    SF_TRY(input(p, &left));
    for (;;) {
        bool found = true;
        SF_TRY(new_input(p, SF_INPUT_JOIN, &join));
        join->join.left = left;
        if (sf_sqlp_at_symbol(p, ',')) {
            SF_TRY(comma(p, join));
        } else {
            SF_TRY(join_words(p, join, &found));
            if (!found)
                break;
            SF_TRY(input(p, &join->join.right));
            SF_TRY(join_condition(p, join));
        }
        join->span = sf_sqlp_span(p, start);
        SF_TRY(sf_sqlp_deepen(p, p->deepest + 1));
        left = join;
    }
    *out = left;
    return SF_OK;
}

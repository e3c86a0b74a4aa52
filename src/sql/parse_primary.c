/* parse_primary.c: literals, names, parentheses and the forms with keywords inside. */
#include "sql/parser.h"
#include "text/text.h"

/* ---- literals ---- */

static sf_status long_literal(sf_sqlp *p, sf_sql_expr **out)
{
    size_t start = p->pos++;
    sf_token token = p->tokens[start];
    sf_str raw = sf_token_raw(p->text, token);
    SF_TRY(sf_sqlp_node(p, SF_EX_LONG, start, out));
    if (sf_parse_i64(raw, &(*out)->integer) == SF_PARSE_OK)
        return SF_OK;
    sf_fail_at(p->err, SF_SYNTAX, token.span, "%.*s does not fit a Long",
               (int)(raw.len < 60 ? raw.len : 60), raw.data);
    sf_error_hint(p->err, "the largest Long is 9223372036854775807; with a decimal point the "
                          "number is a Double");
    return SF_SYNTAX;
}

static sf_status double_literal(sf_sqlp *p, sf_sql_expr **out)
{
    size_t start = p->pos++;
    sf_token token = p->tokens[start];
    sf_str raw = sf_token_raw(p->text, token);
    SF_TRY(sf_sqlp_node(p, SF_EX_DOUBLE, start, out));
    if (sf_parse_f64(raw, &(*out)->real) == SF_PARSE_OK)
        return SF_OK;
    sf_fail_at(p->err, SF_SYNTAX, token.span, "%.*s does not fit a Double",
               (int)(raw.len < 60 ? raw.len : 60), raw.data);
    sf_error_hint(p->err, "the largest Double is about 1.8e308");
    return SF_SYNTAX;
}

static sf_status string_literal(sf_sqlp *p, sf_sql_expr **out)
{
    size_t start = p->pos++;
    SF_TRY(sf_sqlp_node(p, SF_EX_STRING, start, out));
    if (sf_token_text(p->text, &sf_sql_lexer_rules, p->tokens[start], p->arena, &(*out)->text) !=
        SF_OK)
        return sf_sqlp_no_memory(p);
    return SF_OK;
}

static sf_status word_literal(sf_sqlp *p, sf_sql_expr_kind kind, bool value, sf_sql_expr **out)
{
    SF_TRY(sf_sqlp_node(p, kind, p->pos++, out));
    (*out)->boolean = value;
    return SF_OK;
}

/* TIMESTAMP '2024-05-01T10:00:00Z', DATE '2024-05-01' */
static sf_status time_literal(sf_sqlp *p, sf_sql_expr **out)
{
    size_t start = p->pos++;
    sf_sql_expr *text;
    int64_t ms;
    SF_TRY(sf_sqlp_node(p, SF_EX_CAST, start, out));
    SF_TRY(string_literal(p, &text));
    if (sf_parse_time(text->text, &ms) != SF_PARSE_OK) {
        sf_fail_at(p->err, SF_SYNTAX, text->span, "%.*s is not a time",
                   (int)(text->span.length < 60 ? text->span.length : 60),
                   p->text.data + text->span.offset);
        sf_error_hint(p->err, "write a date, or date and time, as '2024-05-01T10:00:00Z'");
        return SF_SYNTAX;
    }
    (*out)->cast = SF_CAST_TIMESTAMP;
    SF_TRY(sf_sqlp_add_arg(p, *out, text));
    return sf_sqlp_done(p, *out, start);
}

/* ---- CASE, CAST ---- */

static sf_status case_arg(sf_sqlp *p, sf_sql_expr *node)
{
    sf_sql_expr *arg;
    SF_TRY(sf_sqlp_expr(p, &arg));
    return sf_sqlp_add_arg(p, node, arg);
}

static sf_status case_expr(sf_sqlp *p, sf_sql_expr **out)
{
    size_t start = p->pos++;
    sf_sql_expr *node;
    SF_TRY(sf_sqlp_node(p, SF_EX_CASE, start, &node));
    if (!sf_sqlp_at(p, KW_WHEN)) {
        node->has_operand = true;
        SF_TRY(case_arg(p, node));
    }
    SF_TRY(sf_sqlp_expect(p, KW_WHEN, "in CASE"));
    do {
        SF_TRY(case_arg(p, node));
        SF_TRY(sf_sqlp_expect(p, KW_THEN, "after the condition of WHEN"));
        SF_TRY(case_arg(p, node));
    } while (sf_sqlp_take(p, KW_WHEN));
    if (sf_sqlp_take(p, KW_ELSE)) {
        node->has_else = true;
        SF_TRY(case_arg(p, node));
    }
    SF_TRY(sf_sqlp_expect(p, KW_END, "of CASE"));
    *out = node;
    return sf_sqlp_done(p, node, start);
}

static const struct {
    const char *name;
    sf_sql_cast type;
} cast_names[] = {
    {"STRING", SF_CAST_STRING},       {"TEXT", SF_CAST_STRING},  {"VARCHAR", SF_CAST_STRING},
    {"DOUBLE", SF_CAST_DOUBLE},       {"FLOAT", SF_CAST_DOUBLE}, {"REAL", SF_CAST_DOUBLE},
    {"LONG", SF_CAST_LONG},           {"BIGINT", SF_CAST_LONG},  {"INT", SF_CAST_LONG},
    {"INTEGER", SF_CAST_LONG},        {"BOOL", SF_CAST_BOOL},    {"BOOLEAN", SF_CAST_BOOL},
    {"TIMESTAMP", SF_CAST_TIMESTAMP},
};

static sf_status unknown_type(sf_sqlp *p, sf_sql_name name)
{
    sf_fail_at(p->err, SF_SYNTAX, name.span, "type \"%.*s\" does not exist",
               (int)(name.text.len < 60 ? name.text.len : 60), name.text.data);
    if (sf_str_eq_nocase(name.text, SF_STR("JSON")))
        sf_error_hint(p->err, "TO_JSON makes Json of a value, PARSE_JSON of its text");
    else if (sf_str_eq_nocase(name.text, SF_STR("DECIMAL")) ||
             sf_str_eq_nocase(name.text, SF_STR("NUMERIC")))
        sf_error_hint(p->err,
                      "use DOUBLE, or LONG with the smallest unit counted in whole numbers");
    else
        sf_error_hint(p->err, "the types are STRING, DOUBLE, LONG, BOOL and TIMESTAMP");
    return SF_SYNTAX;
}

sf_status sf_sqlp_cast_type(sf_sqlp *p, sf_sql_cast *out)
{
    sf_sql_name name;
    SF_TRY(sf_sqlp_name(p, "a type", &name));
    size_t i = 0;
    while (i < SF_COUNT_OF(cast_names) &&
           !sf_str_eq_nocase(name.text, sf_str_of(cast_names[i].name)))
        i++;
    if (i == SF_COUNT_OF(cast_names))
        return unknown_type(p, name);
    *out = cast_names[i].type;
    if (*out == SF_CAST_DOUBLE)
        sf_sqlp_take(p, KW_PRECISION);
    if (*out == SF_CAST_TIMESTAMP && sf_sqlp_at_symbol(p, '(')) {
        int64_t digits;
        p->pos++;
        sf_token place = sf_sqlp_peek(p, 0);
        SF_TRY(sf_sqlp_integer(p, "a precision", &digits));
        SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the precision"));
        if (digits != 3) {
            sf_fail_at(p->err, SF_SYNTAX, place.span, "TIMESTAMP(%lld) does not exist",
                       (long long)digits);
            sf_error_hint(p->err, "times count milliseconds: write TIMESTAMP");
            return SF_SYNTAX;
        }
    } else if (sf_sqlp_at_symbol(p, '(')) {
        return sf_sqlp_fail(p, "the end of the type", "types have no length");
    }
    return SF_OK;
}

/* name(value AS type): everything that stands before the closing parenthesis. */
static sf_status cast_expr(sf_sqlp *p, sf_sql_expr **out)
{
    size_t start = p->pos++;
    sf_sql_expr *node, *value;
    SF_TRY(sf_sqlp_node(p, SF_EX_CAST, start, &node));
    SF_TRY(sf_sqlp_expect_symbol(p, '(', "after CAST"));
    SF_TRY(sf_sqlp_expr(p, &value));
    SF_TRY(sf_sqlp_expect(p, KW_AS, "and a type after the value of CAST"));
    SF_TRY(sf_sqlp_cast_type(p, &node->cast));
    SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the type of CAST"));
    SF_TRY(sf_sqlp_add_arg(p, node, value));
    *out = node;
    return sf_sqlp_done(p, node, start);
}

/* ---- function forms with words between the arguments ---- */

static sf_status form_node(sf_sqlp *p, const char *name, size_t start, sf_sql_expr **out)
{
    SF_TRY(sf_sqlp_node(p, SF_EX_CALL, start, out));
    SQLP_NEW(p, (*out)->call);
    (*out)->call->name = (sf_sql_name){.text = sf_str_of(name), .span = p->tokens[start].span};
    return SF_OK;
}

static sf_status form_arg(sf_sqlp *p, sf_sql_expr *node)
{
    sf_sql_expr *arg;
    SF_TRY(sf_sqlp_expr(p, &arg));
    return sf_sqlp_add_arg(p, node, arg);
}

/* EXTRACT(HOUR FROM x) -> extract('hour', x), which may be written so too */
static sf_status extract_form(sf_sqlp *p, size_t start, sf_sql_expr **out)
{
    sf_sql_expr *node, *field;
    SF_TRY(form_node(p, "extract", start, &node));
    if (sf_sqlp_peek(p, 0).kind == SF_TOKEN_STRING) {
        SF_TRY(string_literal(p, &field));
    } else {
        sf_sql_name name;
        SF_TRY(sf_sqlp_node(p, SF_EX_STRING, p->pos, &field));
        SF_TRY(sf_sqlp_name(p, "a part such as HOUR", &name));
        field->text = name.text;
    }
    SF_TRY(sf_sqlp_add_arg(p, node, field));
    if (!sf_sqlp_take_symbol(p, ','))
        SF_TRY(sf_sqlp_expect(p, KW_FROM, "after the part to extract"));
    SF_TRY(form_arg(p, node));
    SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the arguments of EXTRACT"));
    *out = node;
    return sf_sqlp_done(p, node, start);
}

/* SUBSTRING(x FROM a FOR b) and SUBSTRING(x, a, b) */
static sf_status substring_form(sf_sqlp *p, size_t start, sf_sql_expr **out)
{
    sf_sql_expr *node;
    SF_TRY(form_node(p, "substring", start, &node));
    SF_TRY(form_arg(p, node));
    if (sf_sqlp_take(p, KW_FROM)) {
        SF_TRY(form_arg(p, node));
        if (sf_sqlp_take(p, KW_FOR))
            SF_TRY(form_arg(p, node));
    } else {
        while (sf_sqlp_take_symbol(p, ','))
            SF_TRY(form_arg(p, node));
    }
    SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the arguments of SUBSTRING"));
    *out = node;
    return sf_sqlp_done(p, node, start);
}

/* TRIM([LEADING | TRAILING | BOTH] [chars] FROM x), TRIM(x), TRIM(x, chars) */
static sf_status trim_form(sf_sqlp *p, size_t start, sf_sql_expr **out)
{
    sf_sql_expr *node, *first = NULL, *second = NULL;
    const char *name = "btrim";
    sf_token next = sf_sqlp_peek(p, 1);
    /* LEADING, TRAILING and BOTH are names too: they are the form's words unless the argument
     * ends right behind them. */
    if (!(next.kind == SF_TOKEN_SYMBOL && next.code != '(')) {
        if (sf_sqlp_take(p, KW_LEADING))
            name = "ltrim";
        else if (sf_sqlp_take(p, KW_TRAILING))
            name = "rtrim";
        else
            sf_sqlp_take(p, KW_BOTH);
    }
    SF_TRY(form_node(p, name, start, &node));
    if (!sf_sqlp_at(p, KW_FROM))
        SF_TRY(sf_sqlp_expr(p, &first));
    if (sf_sqlp_take(p, KW_FROM)) {
        SF_TRY(sf_sqlp_expr(p, &second));
        SF_TRY(sf_sqlp_add_arg(p, node, second));
        if (first)
            SF_TRY(sf_sqlp_add_arg(p, node, first));
    } else {
        SF_TRY(sf_sqlp_add_arg(p, node, first));
        if (sf_sqlp_take_symbol(p, ','))
            SF_TRY(form_arg(p, node));
    }
    SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the arguments of TRIM"));
    *out = node;
    return sf_sqlp_done(p, node, start);
}

/* POSITION(a IN b) -> position(a, b) */
static sf_status position_form(sf_sqlp *p, size_t start, sf_sql_expr **out)
{
    sf_sql_expr *node, *arg;
    SF_TRY(form_node(p, "position", start, &node));
    SF_TRY(sf_sqlp_operand(p, &arg));
    SF_TRY(sf_sqlp_add_arg(p, node, arg));
    if (!sf_sqlp_take_symbol(p, ','))
        SF_TRY(sf_sqlp_expect(p, KW_IN, "between the arguments of POSITION"));
    SF_TRY(form_arg(p, node));
    SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the arguments of POSITION"));
    *out = node;
    return sf_sqlp_done(p, node, start);
}

static sf_status exists_form(sf_sqlp *p, sf_sql_expr **out)
{
    size_t start = p->pos++;
    sf_sql_expr *node;
    SF_TRY(sf_sqlp_node(p, SF_EX_EXISTS, start, &node));
    SF_TRY(sf_sqlp_expect_symbol(p, '(', "after EXISTS"));
    if (!sf_sqlp_at_query(p))
        return sf_sqlp_fail(p, "a subquery after EXISTS (", NULL);
    SF_TRY(sf_sqlp_query(p, &node->query));
    node->depth = (uint16_t)(node->query->depth + 1);
    SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the subquery of EXISTS"));
    *out = node;
    return sf_sqlp_done(p, node, start);
}

static sf_status row_form(sf_sqlp *p, sf_sql_expr **out)
{
    size_t start = p->pos;
    sf_sql_expr *node;
    p->pos += 2;
    SF_TRY(sf_sqlp_node(p, SF_EX_ROW, start, &node));
    do
        SF_TRY(form_arg(p, node));
    while (sf_sqlp_take_symbol(p, ','));
    SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the values of ROW"));
    *out = node;
    return sf_sqlp_done(p, node, start);
}

sf_status sf_sqlp_special(sf_sqlp *p, sf_sql_expr **out)
{
    sf_token token = sf_sqlp_peek(p, 0), next = sf_sqlp_peek(p, 1);
    bool open = next.kind == SF_TOKEN_SYMBOL && next.code == '(';
    size_t start = p->pos;
    *out = NULL;
    switch (token.code) {
    case KW_NULL: return word_literal(p, SF_EX_NULL, false, out);
    case KW_TRUE: return word_literal(p, SF_EX_BOOL, true, out);
    case KW_FALSE: return word_literal(p, SF_EX_BOOL, false, out);
    case KW_CASE: return case_expr(p, out);
    case KW_CAST: return cast_expr(p, out);
    case KW_EXISTS: return exists_form(p, out);
    case KW_CURRENT_TIMESTAMP: p->pos++; return form_node(p, "now", start, out);
    case KW_DATE:
    case KW_TIMESTAMP: return next.kind == SF_TOKEN_STRING ? time_literal(p, out) : SF_OK;
    case KW_INTERVAL:
        return next.kind == SF_TOKEN_STRING || next.kind == SF_TOKEN_INTEGER
                   ? sf_sqlp_interval(p, out)
                   : SF_OK;
    default: break;
    }
    if (!open)
        return SF_OK;
    switch (token.code) {
    case KW_ROW: return row_form(p, out);
    case KW_EXTRACT: p->pos += 2; return extract_form(p, start, out);
    case KW_SUBSTRING: p->pos += 2; return substring_form(p, start, out);
    case KW_TRIM: p->pos += 2; return trim_form(p, start, out);
    case KW_POSITION: p->pos += 2; return position_form(p, start, out);
    default: return SF_OK;
    }
}

/* ---- names and parentheses ---- */

static sf_status column(sf_sqlp *p, sf_sql_expr **out)
{
    enum { PARTS_MAX = 3 };
    size_t start = p->pos;
    sf_sql_expr *node;
    SF_TRY(sf_sqlp_node(p, SF_EX_COLUMN, start, &node));
    do {
        sf_sql_name part;
        if (node->column.count == PARTS_MAX)
            return sf_sqlp_fail(p, "an operator", "inside Json write -> 'key' instead of a dot");
        if (sf_sqlp_at_symbol(p, '*'))
            return sf_sqlp_fail(p, "a column name", "alias.* stands alone as a SELECT item");
        SF_TRY(sf_sqlp_name(p, "a column name", &part));
        SQLP_PUSH(p, node->column.items, node->column.count, part);
    } while (sf_sqlp_take_symbol(p, '.'));
    *out = node;
    return sf_sqlp_done(p, node, start);
}

static sf_status parenthesised(sf_sqlp *p, sf_sql_expr **out)
{
    size_t start = p->pos++;
    sf_sql_expr *node;
    if (sf_sqlp_at_query(p)) {
        SF_TRY(sf_sqlp_node(p, SF_EX_QUERY, start, &node));
        SF_TRY(sf_sqlp_query(p, &node->query));
        node->depth = (uint16_t)(node->query->depth + 1);
        SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the subquery"));
        *out = node;
        return sf_sqlp_done(p, node, start);
    }
    SF_TRY(sf_sqlp_expr(p, &node));
    if (sf_sqlp_at_symbol(p, ',')) {
        sf_sql_expr *row;
        SF_TRY(sf_sqlp_node(p, SF_EX_ROW, start, &row));
        SF_TRY(sf_sqlp_add_arg(p, row, node));
        while (sf_sqlp_take_symbol(p, ','))
            SF_TRY(form_arg(p, row));
        node = row;
    }
    SF_TRY(sf_sqlp_expect_symbol(p, ')', "or an operator"));
    node->parenthesised = true;
    *out = node;
    return sf_sqlp_done(p, node, start);
}

sf_status sf_sqlp_primary(sf_sqlp *p, sf_sql_expr **out)
{
    sf_token token = sf_sqlp_peek(p, 0), next = sf_sqlp_peek(p, 1);
    switch (token.kind) {
    case SF_TOKEN_INTEGER: return long_literal(p, out);
    case SF_TOKEN_DECIMAL: return double_literal(p, out);
    case SF_TOKEN_STRING: return string_literal(p, out);
    case SF_TOKEN_WORD:
        SF_TRY(sf_sqlp_special(p, out));
        if (*out)
            return SF_OK;
        break;
    default: break;
    }
    if (sf_sqlp_at_symbol(p, '('))
        return parenthesised(p, out);
    if (sf_sqlp_at_name(p)) {
        if (next.kind == SF_TOKEN_SYMBOL && next.code == '(')
            return sf_sqlp_call(p, out);
        return column(p, out);
    }
    if (sf_sqlp_at_symbol(p, '*'))
        return sf_sqlp_fail(p, "an expression", "* stands alone as a SELECT item or in COUNT(*)");
    if (p->pos && p->tokens[p->pos - 1].kind == SF_TOKEN_SYMBOL &&
        p->tokens[p->pos - 1].code == ',')
        return sf_sqlp_fail(p, "an expression after the comma", "remove the comma");
    return sf_sqlp_fail(p, "an expression", NULL);
}

/* parse_call.c: function calls with all that may follow them, windows of OVER, intervals and
 * durations. */
#include "sql/parser.h"
#include "text/text.h"

#include <math.h>
#include <stdio.h>

/* ---- intervals ---- */

enum { DURATION_DAYS_MAX = 36500 };
#define DAY_MS INT64_C(86400000)

typedef struct {
    int64_t ms;
    int32_t months;
} unit;

static bool find_unit(sf_str word, unit *out)
{
    static const struct {
        const char *name;
        unit value;
    } units[] = {
        {"MILLISECOND", {1, 0}},    {"SECOND", {1000, 0}},  {"MINUTE", {60 * 1000, 0}},
        {"HOUR", {3600 * 1000, 0}}, {"DAY", {DAY_MS, 0}},   {"WEEK", {7 * DAY_MS, 0}},
        {"MONTH", {0, 1}},          {"QUARTER", {0, 3}},    {"YEAR", {0, 12}},
        {"DECADE", {0, 120}},       {"CENTURY", {0, 1200}},
    };
    if (word.len > 1 && (word.data[word.len - 1] | 0x20) == 's')
        word.len--;
    for (size_t i = 0; i < SF_COUNT_OF(units); i++) {
        if (sf_str_eq_nocase(word, sf_str_of(units[i].name))) {
            *out = units[i].value;
            return true;
        }
    }
    return false;
}

/* Adds number * unit to the interval; false: not a number, or out of range. */
static bool add_units(sf_str number, unit by, sf_sql_expr *interval)
{
    int64_t whole, ms, months;
    double fraction;
    if (sf_parse_i64(number, &whole) == SF_PARSE_OK) {
        if (__builtin_mul_overflow(whole, by.ms, &ms) ||
            __builtin_mul_overflow(whole, (int64_t)by.months, &months))
            return false;
    } else if (!by.months && sf_parse_f64(number, &fraction) == SF_PARSE_OK &&
               fabs(fraction) < 1e6) {
        ms = llround(fraction * (double)by.ms);
        months = 0;
    } else {
        return false;
    }
    months += interval->interval.months;
    if (months < -1200000 || months > 1200000 ||
        !sf_add_i64(interval->interval.ms, ms, &interval->interval.ms))
        return false;
    interval->interval.months = (int32_t)months;
    return true;
}

static sf_str take_word(sf_str *text)
{
    *text = sf_text_trim(*text);
    size_t len = 0;
    while (len < text->len && text->data[len] != ' ' && text->data[len] != '\t' &&
           text->data[len] != '\n')
        len++;
    sf_str word = {text->data, len};
    text->data += len;
    text->len -= len;
    return word;
}

/* '-02:30', '1:02:03.5': hours, minutes, seconds. */
static bool add_clock(sf_str text, sf_sql_expr *interval)
{
    static const int64_t scale[] = {3600000, 60000, 1000};
    bool minus = text.len && text.data[0] == '-';
    int64_t ms = 0;
    if (minus || (text.len && text.data[0] == '+'))
        text = (sf_str){text.data + 1, text.len - 1};
    for (size_t part = 0; text.len; part++) {
        const char *colon = memchr(text.data, ':', text.len);
        size_t len = colon ? (size_t)(colon - text.data) : text.len;
        double number;
        bool digits = len > 0 && text.data[0] >= '0' && text.data[0] <= '9';
        bool place = part < SF_COUNT_OF(scale) && (part == 2 || !memchr(text.data, '.', len));
        if (!digits || !place || sf_parse_f64((sf_str){text.data, len}, &number) != SF_PARSE_OK ||
            number >= (part ? 60 : 1e6))
            return false;
        ms += llround(number * (double)scale[part]);
        text.data += len + (colon != NULL);
        text.len -= len + (colon != NULL);
        if (colon && !text.len)
            return false;
    }
    return sf_add_i64(interval->interval.ms, minus ? -ms : ms, &interval->interval.ms);
}

/* '1 day 2 hours', '3 days 04:05:06' */
static bool add_text(sf_str text, sf_sql_expr *interval)
{
    do {
        unit by;
        sf_str number = take_word(&text);
        if (memchr(number.data, ':', number.len)) {
            if (!add_clock(number, interval))
                return false;
            text = sf_text_trim(text);
            continue;
        }
        if (!find_unit(take_word(&text), &by) || !add_units(number, by, interval))
            return false;
        text = sf_text_trim(text);
    } while (text.len);
    return true;
}

static bool at_unit(const sf_sqlp *p, unit *out)
{
    sf_token token = sf_sqlp_peek(p, 0);
    return token.kind == SF_TOKEN_WORD && find_unit(sf_token_raw(p->text, token), out);
}

sf_status sf_sqlp_interval(sf_sqlp *p, sf_sql_expr **out)
{
    size_t start = p->pos++;
    sf_token value = p->tokens[p->pos++];
    sf_sql_expr *node;
    sf_str text;
    unit by;
    SF_TRY(sf_sqlp_node(p, SF_EX_INTERVAL, start, &node));
    if (sf_token_text(p->text, &sf_sql_lexer_rules, value, p->arena, &text) != SF_OK)
        return sf_sqlp_no_memory(p);
    bool good;
    if (at_unit(p, &by)) {
        good = add_units(text, by, node);
        p->pos++;
    } else if (value.kind == SF_TOKEN_INTEGER) {
        return sf_sqlp_fail(p, "a unit after the number of INTERVAL",
                            "units are MILLISECOND, SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, YEAR");
    } else {
        good = add_text(text, node);
    }
    if (!good) {
        sf_fail_at(p->err, SF_SYNTAX, sf_sqlp_span(p, start), "%.*s is not an interval",
                   (int)(value.span.length < 60 ? value.span.length : 60),
                   p->text.data + value.span.offset);
        sf_error_hint(p->err, "write INTERVAL '5' MINUTE or INTERVAL '1 day 6 hours'");
        return SF_SYNTAX;
    }
    *out = node;
    return sf_sqlp_done(p, node, start);
}

static sf_status check_duration(sf_sqlp *p, int64_t ms, bool fits, size_t start,
                                sf_sql_duration *out)
{
    *out = (sf_sql_duration){ms, sf_sqlp_span(p, start)};
    if (fits && ms > 0 && ms <= DURATION_DAYS_MAX * DAY_MS)
        return SF_OK;
    sf_fail_at(p->err, SF_SYNTAX, out->span,
               "duration %.*s is not between 1 millisecond and "
               "%d days",
               (int)(out->span.length < 60 ? out->span.length : 60),
               p->text.data + out->span.offset, DURATION_DAYS_MAX);
    sf_error_hint(p->err, "write a positive whole number and a unit, as 5 SECONDS");
    return SF_SYNTAX;
}

sf_status sf_sqlp_duration(sf_sqlp *p, const char *what, sf_sql_duration *out)
{
    size_t start = p->pos;
    sf_token next = sf_sqlp_peek(p, 1);
    if (sf_sqlp_at(p, KW_INTERVAL) &&
        (next.kind == SF_TOKEN_STRING || next.kind == SF_TOKEN_INTEGER)) {
        sf_sql_expr *interval;
        SF_TRY(sf_sqlp_interval(p, &interval));
        return check_duration(p, interval->interval.ms, !interval->interval.months, start, out);
    }
    unit by;
    int64_t count, ms;
    char expected[96];
    snprintf(expected, sizeof expected, "a duration such as 5 SECONDS %s", what);
    SF_TRY(sf_sqlp_integer(p, expected, &count));
    if (!at_unit(p, &by) || by.months)
        return sf_sqlp_fail(p, "a unit of time",
                            "units are MILLISECONDS, SECONDS, MINUTES, HOURS, DAYS");
    p->pos++;
    bool fits = !__builtin_mul_overflow(count, by.ms, &ms);
    return check_duration(p, fits ? ms : 0, fits, start, out);
}

/* ---- ORDER BY and OVER ---- */

sf_status sf_sqlp_order(sf_sqlp *p, sf_sql_order *out)
{
    *out = (sf_sql_order){0};
    do {
        sf_sql_order_item item = {0};
        SF_TRY(sf_sqlp_expr(p, &item.expr));
        if (sf_sqlp_take(p, KW_DESC))
            item.descending = true;
        else
            sf_sqlp_take(p, KW_ASC);
        if (sf_sqlp_take(p, KW_NULLS)) {
            if (sf_sqlp_take(p, KW_FIRST))
                item.nulls = SF_NULLS_FIRST;
            else if (sf_sqlp_take(p, KW_LAST))
                item.nulls = SF_NULLS_LAST;
            else
                return sf_sqlp_fail(p, "FIRST or LAST after NULLS", NULL);
        }
        SQLP_PUSH(p, out->items, out->count, item);
    } while (sf_sqlp_take_symbol(p, ','));
    return SF_OK;
}

static sf_status bound(sf_sqlp *p, sf_sql_bound *out)
{
    size_t start = p->pos;
    if (sf_sqlp_take(p, KW_CURRENT)) {
        out->kind = SF_BOUND_CURRENT_ROW;
        SF_TRY(sf_sqlp_expect(p, KW_ROW, "after CURRENT"));
    } else if (sf_sqlp_take(p, KW_UNBOUNDED)) {
        out->kind = SF_BOUND_UNBOUNDED_PRECEDING;
        if (sf_sqlp_take(p, KW_FOLLOWING))
            out->kind = SF_BOUND_UNBOUNDED_FOLLOWING;
        else
            SF_TRY(sf_sqlp_expect(p, KW_PRECEDING, "or FOLLOWING after UNBOUNDED"));
    } else {
        SF_TRY(sf_sqlp_operand(p, &out->distance));
        out->kind = SF_BOUND_PRECEDING;
        if (sf_sqlp_take(p, KW_FOLLOWING))
            out->kind = SF_BOUND_FOLLOWING;
        else
            SF_TRY(sf_sqlp_expect(p, KW_PRECEDING, "or FOLLOWING"));
    }
    out->span = sf_sqlp_span(p, start);
    return SF_OK;
}

static sf_status frame(sf_sqlp *p, sf_sql_over *over)
{
    if (sf_sqlp_take(p, KW_ROWS))
        over->unit = SF_FRAME_ROWS;
    else if (sf_sqlp_take(p, KW_RANGE))
        over->unit = SF_FRAME_RANGE;
    else if (sf_sqlp_take(p, KW_GROUPS))
        over->unit = SF_FRAME_GROUPS;
    else
        return SF_OK;
    size_t start = p->pos;
    over->end.kind = SF_BOUND_CURRENT_ROW;
    if (sf_sqlp_take(p, KW_BETWEEN)) {
        SF_TRY(bound(p, &over->start));
        SF_TRY(sf_sqlp_expect(p, KW_AND, "between the two bounds of the frame"));
        SF_TRY(bound(p, &over->end));
    } else {
        SF_TRY(bound(p, &over->start));
        over->end.span = over->start.span;
    }
    if (over->start.kind <= over->end.kind && over->start.kind != SF_BOUND_UNBOUNDED_FOLLOWING &&
        over->end.kind != SF_BOUND_UNBOUNDED_PRECEDING)
        return SF_OK;
    sf_fail_at(p->err, SF_SYNTAX, sf_sqlp_span(p, start), "the frame ends before it starts");
    sf_error_hint(p->err, "write the earlier bound first");
    return SF_SYNTAX;
}

sf_status sf_sqlp_over_body(sf_sqlp *p, sf_sql_over *out)
{
    size_t start = p->pos;
    *out = (sf_sql_over){0};
    SF_TRY(sf_sqlp_expect_symbol(p, '(', "before the window"));
    bool framed = sf_sqlp_at(p, KW_ROWS) || sf_sqlp_at(p, KW_RANGE) || sf_sqlp_at(p, KW_GROUPS);
    if (sf_sqlp_at_name(p) && !sf_sqlp_at(p, KW_PARTITION) && !framed)
        SF_TRY(sf_sqlp_name(p, "a window's name", &out->base));
    if (sf_sqlp_take(p, KW_PARTITION)) {
        SF_TRY(sf_sqlp_expect(p, KW_BY, "after PARTITION"));
        SF_TRY(sf_sqlp_expr_list(p, &out->partition));
    }
    if (sf_sqlp_take(p, KW_ORDER)) {
        SF_TRY(sf_sqlp_expect(p, KW_BY, "after ORDER"));
        SF_TRY(sf_sqlp_order(p, &out->order));
    }
    SF_TRY(frame(p, out));
    if (!sf_sqlp_take_symbol(p, ')'))
        return sf_sqlp_fail(p, ") after the window",
                            "the order is PARTITION BY, ORDER BY, then ROWS, RANGE or GROUPS");
    out->span = sf_sqlp_span(p, start);
    return SF_OK;
}

/* ---- calls ---- */

static bool next_is_symbol(const sf_sqlp *p, unsigned code)
{
    sf_token next = sf_sqlp_peek(p, 1);
    return next.kind == SF_TOKEN_SYMBOL && next.code == code;
}

static sf_status arguments(sf_sqlp *p, sf_sql_expr *node)
{
    sf_sql_call *call = node->call;
    SF_TRY(sf_sqlp_expect_symbol(p, '(', NULL));
    if (sf_sqlp_take(p, KW_DISTINCT))
        call->distinct = true;
    else
        sf_sqlp_take(p, KW_ALL);
    if (sf_sqlp_at_symbol(p, '*')) {
        sf_sql_expr *star;
        SF_TRY(sf_sqlp_node(p, SF_EX_STAR, p->pos++, &star));
        SF_TRY(sf_sqlp_add_arg(p, node, star));
    } else if (!sf_sqlp_at_symbol(p, ')') || call->distinct) {
        do {
            sf_sql_expr *arg;
            SF_TRY(sf_sqlp_expr(p, &arg));
            SF_TRY(sf_sqlp_add_arg(p, node, arg));
        } while (sf_sqlp_take_symbol(p, ','));
    }
    if (sf_sqlp_take(p, KW_ORDER)) {
        SF_TRY(sf_sqlp_expect(p, KW_BY, "after ORDER"));
        SF_TRY(sf_sqlp_order(p, &call->order));
    }
    char where[96];
    snprintf(where, sizeof where, "or a comma after the arguments of %.*s",
             (int)(call->name.text.len < 40 ? call->name.text.len : 40), call->name.text.data);
    return sf_sqlp_expect_symbol(p, ')', where);
}

/* WITHIN GROUP (ORDER BY x), FILTER (WHERE x), OVER w */
static sf_status trailers(sf_sqlp *p, sf_sql_expr *node)
{
    sf_sql_call *call = node->call;
    sf_token next = sf_sqlp_peek(p, 1);
    if (sf_sqlp_at(p, KW_WITHIN) && next.kind == SF_TOKEN_WORD && next.code == KW_GROUP) {
        if (call->order.count)
            return sf_sqlp_fail(p, "one ORDER BY", "keep it inside or in WITHIN GROUP");
        p->pos += 2;
        call->within_group = true;
        SF_TRY(sf_sqlp_expect_symbol(p, '(', "after WITHIN GROUP"));
        SF_TRY(sf_sqlp_expect(p, KW_ORDER, "BY in WITHIN GROUP"));
        SF_TRY(sf_sqlp_expect(p, KW_BY, "after ORDER"));
        SF_TRY(sf_sqlp_order(p, &call->order));
        SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the order"));
    }
    if (sf_sqlp_at(p, KW_FILTER) && next_is_symbol(p, '(')) {
        p->pos += 2;
        SF_TRY(sf_sqlp_expect(p, KW_WHERE, "in FILTER"));
        SF_TRY(sf_sqlp_expr(p, &call->filter));
        SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the condition of FILTER"));
    }
    if (!sf_sqlp_at(p, KW_OVER))
        return SF_OK;
    next = sf_sqlp_peek(p, 1);
    if (next.kind == SF_TOKEN_NAME ||
        (next.kind == SF_TOKEN_WORD && !(sf_sql_keyword_flags(next.code) & SF_SQL_RESERVED))) {
        p->pos++;
        SQLP_NEW(p, call->over);
        SF_TRY(sf_sqlp_name(p, "a window's name", &call->over->base));
        call->over->span = call->over->base.span;
    } else if (next_is_symbol(p, '(')) {
        p->pos++;
        SQLP_NEW(p, call->over);
        SF_TRY(sf_sqlp_over_body(p, call->over));
    }
    return SF_OK;
}

/* Subexpressions outside args count for the depth too. */
static void deepen_call(sf_sql_expr *node, const sf_sql_expr *part)
{
    if (part && part->depth >= node->depth)
        node->depth = (uint16_t)(part->depth + 1);
}

static void deepen_over(sf_sql_expr *node, const sf_sql_over *over)
{
    if (!over)
        return;
    for (size_t i = 0; i < over->partition.count; i++)
        deepen_call(node, over->partition.items[i]);
    for (size_t i = 0; i < over->order.count; i++)
        deepen_call(node, over->order.items[i].expr);
    deepen_call(node, over->start.distance);
    deepen_call(node, over->end.distance);
}

sf_status sf_sqlp_call(sf_sqlp *p, sf_sql_expr **out)
{
    size_t start = p->pos;
    sf_sql_expr *node;
    SF_TRY(sf_sqlp_node(p, SF_EX_CALL, start, &node));
    SQLP_NEW(p, node->call);
    SF_TRY(sf_sqlp_name(p, "a function", &node->call->name));
    SF_TRY(arguments(p, node));
    SF_TRY(trailers(p, node));
    for (size_t i = 0; i < node->call->order.count; i++)
        deepen_call(node, node->call->order.items[i].expr);
    deepen_call(node, node->call->filter);
    deepen_over(node, node->call->over);
    *out = node;
    return sf_sqlp_done(p, node, start);
}

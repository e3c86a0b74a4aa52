/* outline.c: one walk over the tokens with a stack of parentheses. */
#include "sql/outline.h"

#include <string.h>

#define NONE SF_OUTLINE_NONE

bool sf_outline_word(const sf_outline *o, uint32_t at, sf_sql_keyword keyword)
{
    return at < o->tokens.len && o->tokens.data[at].kind == SF_TOKEN_WORD &&
           o->tokens.data[at].code == keyword;
}

bool sf_outline_symbol(const sf_outline *o, uint32_t at, unsigned code)
{
    return at < o->tokens.len && o->tokens.data[at].kind == SF_TOKEN_SYMBOL &&
           o->tokens.data[at].code == code;
}

bool sf_outline_is_name(const sf_outline *o, uint32_t at)
{
    if (at >= o->tokens.len)
        return false;
    sf_token token = o->tokens.data[at];
    if (token.kind == SF_TOKEN_NAME)
        return true;
    return token.kind == SF_TOKEN_WORD &&
           !(sf_sql_keyword_flags((sf_sql_keyword)token.code) & SF_SQL_RESERVED);
}

sf_str sf_outline_name(const sf_outline *o, uint32_t at)
{
    sf_str raw = sf_token_raw(o->text, o->tokens.data[at]);
    if (o->tokens.data[at].kind == SF_TOKEN_NAME)
        raw = (sf_str){raw.data + 1, raw.len - 2};
    return raw;
}

/* A star that stands for columns, not for a product. */
static bool is_star(const sf_outline *o, uint32_t at)
{
    return at == 0 || sf_outline_symbol(o, at - 1, ',') || sf_outline_symbol(o, at - 1, '.') ||
           sf_outline_symbol(o, at - 1, '(') || sf_outline_word(o, at - 1, KW_SELECT) ||
           sf_outline_word(o, at - 1, KW_DISTINCT);
}

bool sf_outline_wants_operand(const sf_outline *o, uint32_t at)
{
    sf_token token = o->tokens.data[at];
    if (token.kind == SF_TOKEN_SYMBOL)
        return token.code != ')' && token.code != ']' && !(token.code == '*' && is_star(o, at));
    if (token.kind != SF_TOKEN_WORD || (at && sf_outline_symbol(o, at - 1, '.')))
        return false;
    switch (token.code) {
    case KW_SELECT:
    case KW_DISTINCT:
    case KW_ALL:
    case KW_WHERE:
    case KW_ON:
    case KW_HAVING:
    case KW_BY:
    case KW_AND:
    case KW_OR:
    case KW_NOT:
    case KW_CASE:
    case KW_WHEN:
    case KW_THEN:
    case KW_ELSE:
    case KW_LIKE:
    case KW_ILIKE:
    case KW_BETWEEN:
    case KW_FROM:
    case KW_IN: return true;
    default: return false;
    }
}

uint32_t sf_outline_behind(const sf_outline *o, uint32_t open, uint32_t end)
{
    uint32_t depth = 0;
    for (uint32_t i = open; i < end; i++) {
        depth += sf_outline_symbol(o, i, '(');
        if (sf_outline_symbol(o, i, ')') && --depth == 0)
            return i + 1;
    }
    return end;
}

sf_str sf_outline_slice(const sf_outline *o, uint32_t from, uint32_t to)
{
    if (from >= to)
        return (sf_str){0};
    uint32_t start = o->tokens.data[from].span.offset;
    sf_span last = o->tokens.data[to - 1].span;
    return (sf_str){o->text.data + start, last.offset + last.length - start};
}

/* ---- tokens ---- */

static bool holds(sf_token token, uint32_t offset)
{
    return token.span.offset < offset && offset <= token.span.offset + token.span.length;
}

/* A key that is being typed: its quote may have met one further on. */
static bool is_torn_key(const sf_outline *o, sf_token token, uint32_t offset)
{
    uint32_t count = (uint32_t)o->tokens.len;
    if (token.kind != SF_TOKEN_STRING || !count ||
        !(sf_outline_symbol(o, count - 1, SF_SYMBOL_ARROW) ||
          sf_outline_symbol(o, count - 1, SF_SYMBOL_LONG_ARROW)))
        return false;
    for (uint32_t i = offset; i < token.span.offset + token.span.length; i++)
        if ((unsigned char)o->text.data[i] <= ' ')
            return true;
    return false;
}

static sf_status tokenize(sf_outline *o, uint32_t offset, sf_error *err)
{
    sf_lexer lexer;
    bool found = false;
    sf_lexer_init(&lexer, o->text, &sf_sql_lexer_rules);
    for (;;) {
        sf_token token = sf_lexer_next(&lexer);
        bool inside = holds(token, offset);
        bool open = token.kind == SF_TOKEN_BAD &&
                    (token.code == SF_FAULT_OPEN_STRING || token.code == SF_FAULT_OPEN_NAME ||
                     token.code == SF_FAULT_EMPTY_NAME);
        if (inside && (open || is_torn_key(o, token, offset))) {
            token.span.length = offset - token.span.offset;
            lexer.pos = offset;
        }
        if (!found && (inside || token.span.offset >= offset || token.kind == SF_TOKEN_END)) {
            found = true;
            o->cursor = (uint32_t)o->tokens.len;
            o->typed = inside && (token.kind == SF_TOKEN_WORD || token.kind == SF_TOKEN_NAME ||
                                  token.kind == SF_TOKEN_STRING || open);
            o->dead = inside && (token.kind == SF_TOKEN_INTEGER || token.kind == SF_TOKEN_DECIMAL);
            if (inside && !o->typed && offset == token.span.offset + token.span.length &&
                token.kind != SF_TOKEN_BAD)
                o->cursor++; /* right behind a symbol or a number: the next one */
        }
        if (!SF_VEC_PUSH(&o->tokens, token))
            return sf_fail_memory(err);
        if (token.kind == SF_TOKEN_END)
            return SF_OK;
    }
}

/* Between two tokens: a comment that is still open. */
static bool in_comment(const sf_outline *o, uint32_t offset)
{
    sf_token before = o->cursor ? o->tokens.data[o->cursor - 1] : (sf_token){0};
    uint32_t at = before.span.offset + before.span.length;
    int depth = 0;
    for (; at < offset; at++) {
        char c = o->text.data[at], next = at + 1 < offset ? o->text.data[at + 1] : '\0';
        if (!depth && c == '-' && next == '-') {
            while (at < offset && o->text.data[at] != '\n')
                at++;
            if (at == offset)
                return true;
        } else if (c == '/' && next == '*') {
            depth++;
            at++;
        } else if (depth && c == '*' && next == '/') {
            depth--;
            at++;
        }
    }
    return depth > 0;
}

/* ---- clauses ---- */

static sf_outline_level *top(sf_outline *o)
{
    return &o->levels.data[o->levels.len - 1];
}

static sf_outline_clause clause_of(const sf_outline *o, uint32_t at)
{
    switch (o->tokens.data[at].code) {
    case KW_WITH:
        return sf_outline_word(o, at + 1, KW_ORDINALITY) ? SF_CLAUSE_NONE : SF_CLAUSE_WITH;
    case KW_SELECT: return SF_CLAUSE_SELECT;
    case KW_FROM:
    case KW_JOIN: return SF_CLAUSE_FROM;
    case KW_ON: return SF_CLAUSE_ON;
    case KW_USING: return SF_CLAUSE_USING;
    case KW_WHERE: return SF_CLAUSE_WHERE;
    case KW_LATEST: return SF_CLAUSE_LATEST;
    case KW_GROUP: return SF_CLAUSE_GROUP;
    case KW_HAVING: return SF_CLAUSE_HAVING;
    case KW_WINDOW: return SF_CLAUSE_WINDOW;
    case KW_EMIT: return SF_CLAUSE_EMIT;
    case KW_ORDER: return SF_CLAUSE_ORDER;
    case KW_LIMIT:
    case KW_OFFSET:
    case KW_FETCH: return SF_CLAUSE_LIMIT;
    default: return SF_CLAUSE_NONE;
    }
}

/* The word begins a clause here, and is no name and no part of an expression. */
static bool begins_clause(const sf_outline *o, uint32_t at, sf_outline_clause clause)
{
    if (clause == SF_CLAUSE_NONE)
        return false;
    bool reserved = sf_sql_keyword_flags((sf_sql_keyword)o->tokens.data[at].code) & SF_SQL_RESERVED;
    if (at && sf_outline_symbol(o, at - 1, '.'))
        return at == o->cursor && !o->typed;
    if (!reserved && at && sf_outline_wants_operand(o, at - 1))
        return false;
    if (sf_outline_word(o, at, KW_FROM) && at > 1 && sf_outline_word(o, at - 1, KW_DISTINCT))
        return !sf_outline_word(o, at - 2, KW_IS) && !sf_outline_word(o, at - 2, KW_NOT);
    return true;
}

static void end_from(sf_outline *o, uint32_t at)
{
    sf_outline_level *level = top(o);
    if (level->select != NONE && o->selects.data[level->select].from != NONE &&
        o->selects.data[level->select].from_end == NONE)
        o->selects.data[level->select].from_end = at;
}

static void end_select(sf_outline *o, uint32_t at)
{
    end_from(o, at);
    if (top(o)->query && top(o)->select != NONE) {
        o->selects.data[top(o)->select].end = at;
        top(o)->select = NONE;
    }
}

static sf_status begin_select(sf_outline *o, uint32_t at, sf_error *err)
{
    sf_outline_level *level = top(o);
    if (level->query)
        end_select(o, at);
    level->query = true;
    level->select = (uint32_t)o->selects.len;
    sf_outline_select select = {.outer = level->outer,
                                .with = level->with,
                                .first = at,
                                .from = NONE,
                                .from_end = NONE,
                                .end = NONE};
    return SF_VEC_PUSH(&o->selects, select) ? SF_OK : sf_fail_memory(err);
}

/* May the clause stand in these parentheses, which hold no query? */
static bool stays_inside(const sf_outline *o, uint32_t at, sf_outline_clause clause)
{
    const sf_outline_level *level = &o->levels.data[o->levels.len - 1];
    bool first = level->open + 1 == at;
    switch (clause) {
    case SF_CLAUSE_SELECT:
    case SF_CLAUSE_WITH: return first || level->clause == SF_CLAUSE_WITH;
    case SF_CLAUSE_FROM:
        return level->keeps_from ||
               (level->clause == SF_CLAUSE_FROM && sf_outline_word(o, at, KW_JOIN));
    case SF_CLAUSE_ON:
    case SF_CLAUSE_USING: return true;
    case SF_CLAUSE_WHERE: return first;
    case SF_CLAUSE_ORDER: return true;
    default: return false;
    }
}

static sf_status take_clause(sf_outline *o, uint32_t at, sf_outline_clause clause, sf_error *err)
{
    while (!top(o)->query && !stays_inside(o, at, clause))
        o->levels.len--;
    sf_outline_level *level = top(o);
    if (clause == SF_CLAUSE_SELECT)
        SF_TRY(begin_select(o, at, err));
    else if (clause == SF_CLAUSE_WITH && !level->query)
        *level = (sf_outline_level){.query = true,
                                    .open = level->open,
                                    .outer = level->outer,
                                    .with = level->with,
                                    .select = NONE,
                                    .with_name = NONE};
    else if (!level->query && clause != SF_CLAUSE_ON && clause != SF_CLAUSE_USING)
        return SF_OK; /* of a call: FILTER (WHERE ...), EXTRACT(... FROM ...), ORDER BY */
    level = top(o);
    level->clause = clause;
    if (level->select == NONE)
        return SF_OK;
    sf_outline_select *select = &o->selects.data[level->select];
    if (clause == SF_CLAUSE_FROM && select->from == NONE)
        select->from = at + 1;
    else if (clause > SF_CLAUSE_USING)
        end_from(o, at);
    select->windowed |= clause == SF_CLAUSE_WINDOW;
    return SF_OK;
}

/* ---- parentheses ---- */

static sf_status push(sf_outline *o, uint32_t at, sf_error *err)
{
    sf_outline_level level = *top(o);
    bool lateral = at && sf_outline_word(o, at - 1, KW_LATERAL);
    bool apart = level.clause == SF_CLAUSE_FROM || level.clause == SF_CLAUSE_WITH;
    if ((!apart || lateral) && level.select != NONE)
        level.outer = level.select;
    level.query = false;
    level.open = at;
    level.keeps_from =
        at && (sf_outline_word(o, at - 1, KW_EXTRACT) || sf_outline_word(o, at - 1, KW_TRIM) ||
               sf_outline_word(o, at - 1, KW_SUBSTRING));
    return SF_VEC_PUSH(&o->levels, level) ? SF_OK : sf_fail_memory(err);
}

static sf_status pop(sf_outline *o, uint32_t at, sf_error *err)
{
    if (o->levels.len == 1)
        return SF_OK;
    sf_outline_level closed = *top(o);
    if (closed.query)
        end_select(o, at);
    o->levels.len--;
    sf_outline_level *level = top(o);
    bool declared = level->clause == SF_CLAUSE_WITH && level->with_name != NONE && closed.query &&
                    closed.open && sf_outline_word(o, closed.open - 1, KW_AS);
    if (!declared)
        return SF_OK;
    sf_outline_with with = {level->with, level->with_name, closed.open + 1, at};
    level->with = (uint32_t)o->withs.len;
    level->with_name = NONE;
    return SF_VEC_PUSH(&o->withs, with) ? SF_OK : sf_fail_memory(err);
}

static sf_status step(sf_outline *o, uint32_t at, sf_error *err)
{
    if (sf_outline_symbol(o, at, '('))
        return push(o, at, err);
    if (sf_outline_symbol(o, at, ')'))
        return pop(o, at, err);
    sf_outline_level *level = top(o);
    bool new_input = level->clause == SF_CLAUSE_ON || level->clause == SF_CLAUSE_USING;
    if (new_input && level->query && sf_outline_symbol(o, at, ','))
        level->clause = SF_CLAUSE_FROM;
    if (level->clause == SF_CLAUSE_WITH && sf_outline_is_name(o, at) && at &&
        (sf_outline_symbol(o, at - 1, ',') || sf_outline_word(o, at - 1, KW_WITH) ||
         sf_outline_word(o, at - 1, KW_RECURSIVE)))
        level->with_name = at;
    if (o->tokens.data[at].kind != SF_TOKEN_WORD)
        return SF_OK;
    if (sf_outline_word(o, at, KW_UNION) || sf_outline_word(o, at, KW_EXCEPT) ||
        sf_outline_word(o, at, KW_INTERSECT)) {
        while (!top(o)->query)
            o->levels.len--;
        end_select(o, at);
        top(o)->clause = SF_CLAUSE_NONE;
        return SF_OK;
    }
    sf_outline_clause clause = clause_of(o, at);
    return begins_clause(o, at, clause) ? take_clause(o, at, clause, err) : SF_OK;
}

sf_status sf_outline_make(sf_outline *o, sf_str text, uint32_t offset, sf_error *err)
{
    sf_outline_level root = {.query = true,
                             .open = NONE,
                             .outer = NONE,
                             .with = NONE,
                             .select = NONE,
                             .with_name = NONE};
    *o = (sf_outline){.text = text};
    if (text.len > SF_SQL_TEXT_BYTES_MAX)
        return sf_fail(err, SF_LIMIT, "the statement is longer than %d bytes",
                       SF_SQL_TEXT_BYTES_MAX);
    if (offset > text.len)
        offset = (uint32_t)text.len;
    SF_TRY(tokenize(o, offset, err));
    o->dead |= !o->typed && in_comment(o, offset);
    if (!SF_VEC_PUSH(&o->levels, root))
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < o->tokens.len; i++) {
        if (i == o->cursor)
            o->here = *top(o);
        SF_TRY(step(o, i, err));
    }
    uint32_t end = (uint32_t)o->tokens.len - 1;
    while (o->levels.len > 1) {
        if (top(o)->query)
            end_select(o, end);
        o->levels.len--;
    }
    end_select(o, end);
    return SF_OK;
}

void sf_outline_deinit(sf_outline *o)
{
    SF_VEC_DEINIT(&o->tokens);
    SF_VEC_DEINIT(&o->selects);
    SF_VEC_DEINIT(&o->withs);
    SF_VEC_DEINIT(&o->levels);
}

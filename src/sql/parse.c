/* parse.c: tokens, errors and what all parts of the grammar use; entry point. */
#include "sql/parser.h"

#include <stdio.h>

static const char *const keyword_words[] = {
#define X(word, flags) #word,
#include "sql/keywords.def"
#undef X
};

const sf_lexer_rules sf_sql_lexer_rules = {
    .keywords = keyword_words,
    .keyword_count = SF_COUNT_OF(keyword_words),
    .line_comment = "--",
    .string_quotes = "'",
    .name_quote = '"',
    .doubling = true,
    .multiline = true,
    .block_comments = true,
    .loose_decimals = true,
};

unsigned sf_sql_keyword_flags(sf_sql_keyword keyword)
{
    static const uint8_t flags[] = {
        0,
#define X(word, bits) bits,
#include "sql/keywords.def"
#undef X
    };
    return flags[keyword] & SF_SQL_RESERVED ? SF_SQL_RESERVED | SF_SQL_NO_ALIAS : flags[keyword];
}

/* ---- tokens ---- */

sf_token sf_sqlp_peek(const sf_sqlp *p, size_t ahead)
{
    size_t i = p->pos;
    while (ahead-- && p->tokens[i].kind != SF_TOKEN_END)
        i++;
    return p->tokens[i];
}

bool sf_sqlp_at(const sf_sqlp *p, sf_sql_keyword keyword)
{
    sf_token token = p->tokens[p->pos];
    if (token.kind == SF_TOKEN_END && p->wanted)
        p->wanted[keyword] = true;
    return token.kind == SF_TOKEN_WORD && token.code == keyword;
}

bool sf_sqlp_at_symbol(const sf_sqlp *p, unsigned code)
{
    sf_token token = p->tokens[p->pos];
    return token.kind == SF_TOKEN_SYMBOL && token.code == code;
}

bool sf_sqlp_take(sf_sqlp *p, sf_sql_keyword keyword)
{
    bool at = sf_sqlp_at(p, keyword);
    p->pos += at;
    return at;
}

bool sf_sqlp_take_symbol(sf_sqlp *p, unsigned code)
{
    bool at = sf_sqlp_at_symbol(p, code);
    p->pos += at;
    return at;
}

sf_span sf_sqlp_span(const sf_sqlp *p, size_t start)
{
    uint32_t from = p->tokens[start].span.offset;
    if (p->pos <= start)
        return (sf_span){from, 0};
    sf_span last = p->tokens[p->pos - 1].span;
    return (sf_span){from, last.offset + last.length - from};
}

/* ---- errors ---- */

/* A token for a message: quoted, on one line, not longer than a glance. */
static void describe_token(const sf_sqlp *p, sf_token token, char *out, size_t size)
{
    enum { GLANCE = 40 };
    if (token.kind == SF_TOKEN_END) {
        snprintf(out, size, "the end of the statement");
        return;
    }
    sf_str raw = sf_token_raw(p->text, token);
    size_t len = 0;
    while (len < raw.len && len < GLANCE && (unsigned char)raw.data[len] >= 0x20)
        len++;
    while (len < raw.len && len > 0 && ((unsigned char)raw.data[len] & 0xc0) == 0x80)
        len--;
    const char *dots = len < raw.len ? "..." : "";
    if (raw.data[0] == '\'' || raw.data[0] == '"')
        snprintf(out, size, "%.*s%s", (int)len, raw.data, dots);
    else
        snprintf(out, size, "\"%.*s\"%s", (int)len, raw.data, dots);
}

/* Where something is missing at the end: just behind the last token. */
static sf_span place_of_current(const sf_sqlp *p)
{
    sf_token token = p->tokens[p->pos];
    if (token.kind != SF_TOKEN_END)
        return token.span;
    if (p->pos == 0)
        return (sf_span){0, 1};
    sf_span last = p->tokens[p->pos - 1].span;
    return (sf_span){last.offset + last.length, 1};
}

/* A misspelt clause word reads as an alias, and the text goes wrong behind it. */
static bool hint_misspelt(sf_sqlp *p, sf_token token)
{
    static const char *const clauses[] = {"SELECT", "FROM",  "WHERE",  "GROUP", "HAVING", "ORDER",
                                          "LIMIT",  "UNION", "WINDOW", "EMIT",  "LATEST", "JOIN",
                                          "INNER",  "LEFT",  "RIGHT",  "CROSS", "WITHIN", "EXCEPT"};
    sf_str raw = sf_token_raw(p->text, token);
    if (token.kind != SF_TOKEN_WORD || token.code || raw.len < 3)
        return false;
    unsigned best = raw.len >= 6 ? 2 : 1;
    const char *near = NULL;
    for (size_t i = 0; i < SF_COUNT_OF(clauses); i++) {
        unsigned distance = sf_word_distance(raw, sf_str_of(clauses[i]), best);
        if (distance < best || (!near && distance == best)) {
            best = distance;
            near = clauses[i];
        }
    }
    if (near)
        sf_error_hint(p->err, "did you mean %s instead of \"%.*s\"?", near, SF_STR_ARG(raw));
    return near != NULL;
}

static void guess_hint(sf_sqlp *p)
{
    sf_token token = p->tokens[p->pos];
    if (hint_misspelt(p, token) || (p->pos && hint_misspelt(p, p->tokens[p->pos - 1])))
        return;
    if (token.kind == SF_TOKEN_NAME)
        sf_error_hint(p->err, "double quotes enclose a name; text stands in single quotes");
    else if (token.kind == SF_TOKEN_WORD && sf_sql_keyword_flags(token.code) & SF_SQL_RESERVED)
        sf_error_hint(p->err, "%s is a keyword here; to use it as a name write \"%.*s\"",
                      keyword_words[token.code - 1], SF_STR_ARG(sf_token_raw(p->text, token)));
    else if (token.kind == SF_TOKEN_END)
        sf_error_hint(p->err, "the statement is not complete");
    else
        sf_error_hint(p->err, "check what stands before it: an operator, a comma or a parenthesis "
                              "may be missing");
}

#undef sf_sqlp_fail
#undef sf_sqlp_no_memory

sf_status sf_sqlp_fail(sf_sqlp *p, const char *what, const char *hint)
{
    char found[96];
    describe_token(p, p->tokens[p->pos], found, sizeof found);
    sf_fail_at(p->err, SF_SYNTAX, place_of_current(p), "expected %s, found %s", what, found);
    if (hint)
        sf_error_hint(p->err, "%s", hint);
    else
        guess_hint(p);
    return SF_SYNTAX;
}

sf_status sf_sqlp_no_memory(sf_sqlp *p)
{
    return sf_fail_memory(p->err);
}

static sf_status expected(sf_sqlp *p, const char *token, const char *where, bool is_word)
{
    char what[128];
    snprintf(what, sizeof what, "%s%s%s", token, where ? " " : "", where ? where : "");
    sf_token found = p->tokens[p->pos];
    /* A misspelt keyword stands exactly where the right one should. */
    if (is_word && found.kind == SF_TOKEN_WORD && !found.code &&
        sf_word_distance(sf_token_raw(p->text, found), sf_str_of(token), 2) <= 2) {
        char hint[64];
        snprintf(hint, sizeof hint, "did you mean %s?", token);
        return sf_sqlp_fail(p, what, hint);
    }
    return sf_sqlp_fail(p, what, NULL);
}

sf_status sf_sqlp_expect(sf_sqlp *p, sf_sql_keyword keyword, const char *where)
{
    if (sf_sqlp_take(p, keyword))
        return SF_OK;
    return expected(p, keyword_words[keyword - 1], where, true);
}

sf_status sf_sqlp_expect_symbol(sf_sqlp *p, unsigned code, const char *where)
{
    if (sf_sqlp_take_symbol(p, code))
        return SF_OK;
    char text[] = {(char)code, 0};
    SF_ASSERT(code < 128);
    return expected(p, text, where, false);
}

sf_status sf_sqlp_enter(sf_sqlp *p)
{
    if (++p->nesting <= SF_SQL_NESTING_MAX)
        return SF_OK;
    sf_fail_at(p->err, SF_LIMIT, place_of_current(p),
               "the statement nests deeper than %d levels of parentheses, subqueries and CASE",
               SF_SQL_NESTING_MAX);
    sf_error_hint(p->err, "split it into tables that read each other");
    return SF_LIMIT;
}

void sf_sqlp_leave(sf_sqlp *p)
{
    p->nesting--;
}

sf_status sf_sqlp_deepen(sf_sqlp *p, unsigned depth)
{
    if (depth > p->deepest)
        p->deepest = depth;
    if (p->deepest <= SF_SQL_DEPTH_MAX)
        return SF_OK;
    sf_fail_at(p->err, SF_LIMIT, place_of_current(p),
               "the statement chains more than %d operations, joins or branches", SF_SQL_DEPTH_MAX);
    sf_error_hint(p->err, "use IN (...) for long lists of alternatives, or split the statement");
    return SF_LIMIT;
}

sf_status sf_sqlp_grow(sf_sqlp *p, void **items, size_t count, size_t item_bytes)
{
    /* Arrays have room for 4, then for every power of two. */
    if (count && (count < 4 || (count & (count - 1))))
        return SF_OK;
    void *larger = sf_arena_array(p->arena, count ? count * 2 : 4, item_bytes);
    if (!larger)
        return sf_sqlp_no_memory(p);
    if (count)
        memcpy(larger, *items, count * item_bytes);
    *items = larger;
    return SF_OK;
}

/* ---- names ---- */

static bool is_name(sf_token token, unsigned refused_flags)
{
    if (token.kind == SF_TOKEN_NAME)
        return true;
    return token.kind == SF_TOKEN_WORD && !(sf_sql_keyword_flags(token.code) & refused_flags);
}

bool sf_sqlp_at_name(const sf_sqlp *p)
{
    return is_name(p->tokens[p->pos], SF_SQL_RESERVED);
}

static sf_status take_name(sf_sqlp *p, sf_sql_name *out)
{
    sf_token token = p->tokens[p->pos++];
    *out = (sf_sql_name){.span = token.span, .quoted = token.kind == SF_TOKEN_NAME};
    if (sf_token_text(p->text, &sf_sql_lexer_rules, token, p->arena, &out->text) != SF_OK)
        return sf_sqlp_no_memory(p);
    return SF_OK;
}

sf_status sf_sqlp_name(sf_sqlp *p, const char *what, sf_sql_name *out)
{
    sf_token before = p->pos ? p->tokens[p->pos - 1] : (sf_token){0};
    sf_token token = p->tokens[p->pos];
    bool free_place = before.kind == SF_TOKEN_WORD && before.code == KW_AS;
    free_place |= before.kind == SF_TOKEN_SYMBOL && before.code == '.';
    if (sf_sqlp_at_name(p) || (free_place && token.kind == SF_TOKEN_WORD))
        return take_name(p, out);
    if (token.kind == SF_TOKEN_STRING)
        return sf_sqlp_fail(p, what, "names stand bare or in double quotes");
    return sf_sqlp_fail(p, what, NULL);
}

sf_status sf_sqlp_alias(sf_sqlp *p, sf_sql_name *out)
{
    *out = (sf_sql_name){0};
    if (sf_sqlp_take(p, KW_AS))
        return sf_sqlp_name(p, "an alias after AS", out);
    if (is_name(p->tokens[p->pos], SF_SQL_NO_ALIAS))
        return take_name(p, out);
    return SF_OK;
}

sf_status sf_sqlp_name_list(sf_sqlp *p, const char *what, sf_sql_names *out)
{
    *out = (sf_sql_names){0};
    SF_TRY(sf_sqlp_expect_symbol(p, '(', NULL));
    do {
        sf_sql_name name;
        SF_TRY(sf_sqlp_name(p, what, &name));
        SQLP_PUSH(p, out->items, out->count, name);
    } while (sf_sqlp_take_symbol(p, ','));
    return sf_sqlp_expect_symbol(p, ')', "or a comma after the name");
}

/* ---- numbers ---- */

sf_status sf_sqlp_integer(sf_sqlp *p, const char *what, int64_t *out)
{
    sf_token token = p->tokens[p->pos];
    if (token.kind != SF_TOKEN_INTEGER)
        return sf_sqlp_fail(p, what, "write a whole number");
    sf_str raw = sf_token_raw(p->text, token);
    int64_t value = 0;
    for (size_t i = 0; i < raw.len; i++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            !sf_add_i64(value, raw.data[i] - '0', &value)) {
            sf_fail_at(p->err, SF_SYNTAX, token.span, "%.*s is too large", SF_STR_ARG(raw));
            sf_error_hint(p->err, "the largest whole number is 9223372036854775807");
            return SF_SYNTAX;
        }
    }
    p->pos++;
    *out = value;
    return SF_OK;
}

/* ---- entry ---- */

static sf_status tokenize(sf_sqlp *p)
{
    sf_lexer lexer;
    sf_lexer_init(&lexer, p->text, &sf_sql_lexer_rules);
    sf_token *tokens = NULL;
    size_t count = 0;
    for (;;) {
        sf_token token = sf_lexer_next(&lexer);
        if (token.kind == SF_TOKEN_BAD)
            return sf_token_fail(p->text, token, p->err);
        SQLP_PUSH(p, tokens, count, token);
        if (token.kind == SF_TOKEN_END)
            break;
    }
    p->tokens = tokens;
    return SF_OK;
}

static sf_status parse_statement(sf_sqlp *p, sf_sql_statement *statement)
{
    if (sf_sqlp_take(p, KW_INSERT)) {
        SF_TRY(sf_sqlp_expect(p, KW_INTO, "after INSERT"));
        SF_TRY(sf_sqlp_name(p, "the name of a sink after INSERT INTO", &statement->target));
        if (sf_sqlp_at_symbol(p, '('))
            return sf_sqlp_fail(p, "SELECT after the sink's name",
                                "a sink takes all columns; choose and name them in the SELECT");
    }
    statement->body_offset = p->tokens[p->pos].span.offset;
    if (!sf_sqlp_at_query(p) && !sf_sqlp_at_symbol(p, '('))
        return sf_sqlp_fail(
            p, statement->target.text.len ? "SELECT" : "SELECT, WITH or INSERT INTO",
            "a statement is one SELECT; sources and tables are defined outside SQL");
    SF_TRY(sf_sqlp_query(p, &statement->query));
    bool ended = sf_sqlp_take_symbol(p, ';');
    if (p->tokens[p->pos].kind == SF_TOKEN_END)
        return SF_OK;
    if (ended)
        return sf_sqlp_fail(p, "the end of the statement", "send one statement at a time");
    return sf_sqlp_fail(p, "the end of the statement", NULL);
}

static sf_status parse(sf_str text, sf_arena *arena, bool *wanted, sf_sql_statement **out,
                       sf_error *err)
{
    sf_error unread;
    sf_sqlp p = {.arena = arena, .err = err ? err : &unread, .wanted = wanted};
    *out = NULL;
    if (text.len > SF_SQL_TEXT_BYTES_MAX) {
        sf_fail(p.err, SF_LIMIT, "the statement is longer than %d bytes", SF_SQL_TEXT_BYTES_MAX);
        sf_error_hint(p.err, "split it into tables that read each other");
        return SF_LIMIT;
    }
    char *copy = sf_arena_strndup(arena, text.data, text.len);
    sf_sql_statement *statement = SF_ARENA_NEW(arena, sf_sql_statement);
    if (!copy || !statement)
        return sf_sqlp_no_memory(&p);
    p.text = statement->text = (sf_str){copy, text.len};
    SF_TRY(tokenize(&p));
    SF_TRY(parse_statement(&p, statement));
    *out = statement;
    return SF_OK;
}

sf_status sf_sql_parse(sf_str text, sf_arena *arena, sf_sql_statement **out, sf_error *err)
{
    return parse(text, arena, NULL, out, err);
}

const char *sf_sql_keyword_text(sf_sql_keyword keyword)
{
    return keyword ? keyword_words[keyword - 1] : "";
}

bool sf_sql_parse_wanted(sf_str text, sf_arena *arena, bool *wanted)
{
    sf_sql_statement *statement;
    memset(wanted, 0, KW_COUNT * sizeof *wanted);
    sf_status status = parse(text, arena, wanted, &statement, NULL);
    SF_UNUSED(status);
    for (size_t i = 0; i < KW_COUNT; i++)
        if (wanted[i])
            return true;
    return false;
}

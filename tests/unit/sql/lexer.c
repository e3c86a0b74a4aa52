#include "text/lexer.h"

#include "unit/check.h"
#include "unit/sql/suites.h"

static const char *const words[] = {"AND", "FROM", "GROUP", "SELECT", "WHERE"};

static const sf_lexer_rules sql = {.keywords = words,
                                   .keyword_count = SF_COUNT_OF(words),
                                   .line_comment = "--",
                                   .string_quotes = "'",
                                   .name_quote = '"',
                                   .doubling = true,
                                   .multiline = true,
                                   .block_comments = true,
                                   .loose_decimals = true};

static const sf_lexer_rules nspl = {.keywords = words,
                                    .keyword_count = SF_COUNT_OF(words),
                                    .line_comment = "//",
                                    .string_quotes = "'\"",
                                    .name_quote = '`',
                                    .dollar_strings = true,
                                    .quantities = true};

/* Each token as a letter of its kind and its text: w name, k keyword, n quoted name, s string,
 * i integer, d decimal, q quantity, y symbol, b bad and the number of the fault. */
static void describe(const sf_lexer_rules *rules, sf_str text, sf_buf *out)
{
    sf_lexer lexer;
    sf_lexer_init(&lexer, text, rules);
    sf_arena arena;
    sf_arena_init(&arena, 0);
    for (;;) {
        sf_token token = sf_lexer_next(&lexer);
        if (token.kind == SF_TOKEN_END)
            break;
        char kind = "?wnsidqyb"[token.kind];
        if (token.kind == SF_TOKEN_WORD && token.code)
            kind = 'k';
        sf_str said = {0};
        if (token.kind == SF_TOKEN_BAD)
            said = sf_token_raw(text, token);
        else
            CHECK(sf_token_text(text, rules, token, &arena, &said) == SF_OK);
        sf_buf_printf(out, "%s%c", out->len ? " " : "", kind);
        if (token.kind == SF_TOKEN_BAD)
            sf_buf_printf(out, "%d", token.code);
        sf_buf_putc(out, ':');
        sf_buf_put(out, said.data, said.len);
    }
    sf_arena_deinit(&arena);
}

static void tokens(void)
{
    static const struct {
        const sf_lexer_rules *rules;
        const char *text, *want;
    } cases[] = {
        {&sql, "", ""},
        {&sql, " \t\r\n", ""},
        {&sql, "select From a_1 _ts", "k:select k:From w:a_1 w:_ts"},
        {&sql, "selects fro", "w:selects w:fro"},
        {&sql, "a.b,c(*)", "w:a y:. w:b y:, w:c y:( y:* y:)"},
        {&sql, "a->>'x'->0", "w:a y:->> s:x y:-> i:0"},
        {&sql, "a||b::c<>d!=e<=f>=g<h>i=j",
         "w:a y:|| w:b y::: w:c y:<> w:d y:!= w:e y:<= w:f y:>= w:g y:< w:h y:> w:i y:= w:j"},
        {&sql, "1 12.5 .5 1. 1e3 1.5E-7 2e+0", "i:1 d:12.5 d:.5 d:1. d:1e3 d:1.5E-7 d:2e+0"},
        {&sql, "1-2", "i:1 y:- i:2"},
        {&sql, "t.5", "w:t d:.5"},
        {&sql, "'it''s' '' 'a\nb'", "s:it's s: s:a\nb"},
        {&sql, "''''", "s:'"},
        {&sql, "\"Order\" \"a\"\"b\"", "n:Order n:a\"b"},
        {&sql, "a -- rest 'x\nb", "w:a w:b"},
        {&sql, "a -- to the end", "w:a"},
        {&sql, "a /* b /* c */ d */ e", "w:a w:e"},
        {&sql, "a - - b --c", "w:a y:- y:- w:b"},
        {&sql, "größe naïve 名前", "w:größe w:naïve w:名前"},
        {&sql, "a$1", "w:a$1"},
        {&sql, "'x", "b3:'x"},
        {&sql, "'x''", "b3:'x''"},
        {&sql, "\"x\n a", "b4:\"x w:a"},
        {&sql, "a /* b", "w:a b5:/* b"},
        {&sql, "\"\"", "b6:\"\""},
        {&sql, "12abc 3", "b7:12abc i:3"},
        {&sql, "1e", "b7:1e"},
        {&sql, "0x1F", "b7:0x1F"},
        {&sql, "a # b", "w:a b0:# w:b"},
        {&sql, "a & b", "w:a b0:& w:b"},
        {&sql, "a | b", "w:a b0:| w:b"},
        {&sql, "a ! b", "w:a b0:! w:b"},
        {&sql, "\xe2\x80\x98x", "b1:\xe2\x80\x98 w:x"},
        {&sql,
         "a\xc2\xa0"
         "b",
         "w:a b1:\xc2\xa0 w:b"},
        {&sql,
         "a\xff"
         "b",
         "w:a b2:\xff w:b"},
        {&sql, "\xc0\x80", "b2:\xc0 b2:\x80"},
        {&sql, "\xed\xa0\x80", "b2:\xed b2:\xa0 b2:\x80"},
        {&sql, "'a\xff'", "b2:'a\xff b3:'"},
        {&sql, "caf\xc3", "w:caf b2:\xc3"},
        {&nspl, "30s 4KiB 5 6.5", "q:30s q:4KiB i:5 d:6.5"},
        {&nspl, "6.5s", "b7:6.5s"},
        {&nspl, "1..3", "i:1 y:. y:. i:3"},
        {&nspl, "'a' \"b\" `c d`", "s:a s:b n:c d"},
        {&nspl, "'a''b'", "s:a s:b"},
        {&nspl, "'a\nb", "b3:'a w:b"},
        {&nspl, "$$x$$ $t$a$b$t$ z", "s:x s:a$b w:z"},
        {&nspl, "$t$a", "b3:$t$a"},
        {&nspl, "$ a", "b0:$ w:a"},
        {&nspl, "a // b\nc", "w:a w:c"},
        {&nspl, "a -- b", "w:a y:- y:- w:b"},
        {&nspl, "[x] {y} <z>", "y:[ w:x y:] y:{ w:y y:} y:< w:z y:>"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(cases); i++) {
        sf_buf got = {0};
        describe(cases[i].rules, sf_str_of(cases[i].text), &got);
        CHECK_STR(got.len ? got.data : "", cases[i].want);
        sf_buf_deinit(&got);
    }
}

static void zero_byte(void)
{
    sf_buf got = {0};
    describe(&sql, (sf_str){"a\0b", 3}, &got);
    CHECK_INT(got.len, 12);
    CHECK(got.data && memcmp(got.data, "w:a b0:\0 w:b", 12) == 0);
    sf_buf_deinit(&got);
}

/* Every prefix of a text has tokens, and they cover it without overlap. */
static void half_typed(void)
{
    const char *text = "SELECT a, 'it''s' AS \"x y\", 1.5e3 /* c */ FROM größe -- d";
    for (size_t len = 0; len <= strlen(text); len++) {
        sf_str prefix = {text, len};
        sf_lexer lexer;
        sf_lexer_init(&lexer, prefix, &sql);
        uint32_t end = 0;
        for (size_t n = 0;; n++) {
            sf_token token = sf_lexer_next(&lexer);
            CHECK(token.span.offset >= end);
            end = token.span.offset + token.span.length;
            CHECK(end <= len);
            if (token.kind == SF_TOKEN_END)
                break;
            CHECK(token.span.length > 0);
            REQUIRE(n < 100);
        }
    }
}

static void keywords(void)
{
    CHECK_INT(sf_keyword_find(&sql, SF_STR("and")), 1);
    CHECK_INT(sf_keyword_find(&sql, SF_STR("WHERE")), 5);
    CHECK_INT(sf_keyword_find(&sql, SF_STR("wher")), 0);
    CHECK_INT(sf_keyword_find(&sql, SF_STR("")), 0);
    CHECK_INT(sf_keyword_find(&sql, SF_STR("a_very_long_word_that_is_no_keyword")), 0);
    CHECK_INT(sf_word_distance(SF_STR("kitten"), SF_STR("SITTING"), 5), 3);
    CHECK_INT(sf_word_distance(SF_STR("ab"), SF_STR("ba"), 5), 1);
    CHECK_INT(sf_word_distance(SF_STR("abc"), SF_STR("xyz"), 1), 2);
    CHECK_INT(sf_word_distance(SF_STR(""), SF_STR("abc"), 5), 3);
}

static void places(void)
{
    static const struct {
        const char *text;
        uint32_t offset, line, column;
    } cases[] = {
        {"", 0, 1, 1},   {"abc", 2, 1, 3},    {"a\nbc", 2, 2, 1}, {"a\nbc", 3, 2, 2},
        {"äb", 2, 1, 2}, {"a\r\nb", 3, 2, 1}, {"abc", 99, 1, 4},  {"a\n\nb", 3, 3, 1},
    };
    for (size_t i = 0; i < SF_COUNT_OF(cases); i++) {
        sf_text_place place = sf_text_place_of(sf_str_of(cases[i].text), cases[i].offset);
        CHECK_INT(place.line, cases[i].line);
        CHECK_INT(place.column, cases[i].column);
    }
}

static void fault_texts(void)
{
    static const struct {
        const char *text, *message;
        uint32_t offset, length;
    } cases[] = {
        {"a #", "unexpected character #", 2, 1},
        {"\x01", "unexpected control character 0x01", 0, 1},
        {"a \xe2\x80\x9cx", "unexpected character U+201C", 2, 3},
        {"a \xff", "the text is not valid UTF-8", 2, 1},
        {"a 'bc", "text that starts with ' is not closed", 2, 1},
        {"a \"bc", "name that starts with \" is not closed", 2, 1},
        {"/* x", "comment is not closed", 0, 2},
        {"a.\"\"", "name \"\" is empty", 2, 2},
        {"1x", "1x is not a number", 0, 2},
    };
    for (size_t i = 0; i < SF_COUNT_OF(cases); i++) {
        sf_str text = sf_str_of(cases[i].text);
        sf_lexer lexer;
        sf_lexer_init(&lexer, text, &sql);
        sf_token token;
        do
            token = sf_lexer_next(&lexer);
        while (token.kind != SF_TOKEN_BAD && token.kind != SF_TOKEN_END);
        REQUIRE(token.kind == SF_TOKEN_BAD);
        sf_error err = {0};
        CHECK_INT(sf_token_fail(text, token, &err), SF_SYNTAX);
        CHECK_STR(err.message, cases[i].message);
        CHECK(err.hint[0] != 0);
        CHECK_INT(err.where.offset, cases[i].offset);
        CHECK_INT(err.where.length, cases[i].length);
        CHECK_INT(sf_token_fail(text, token, NULL), SF_SYNTAX);
    }
}

int suite_lexer(void)
{
    static const sf_case cases[] = {
        SF_CASE(tokens),   SF_CASE(zero_byte), SF_CASE(half_typed),
        SF_CASE(keywords), SF_CASE(places),    SF_CASE(fault_texts),
    };
    return sf_run_cases("sql lexer", cases, SF_COUNT_OF(cases));
}

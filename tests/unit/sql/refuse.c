/* Texts that do not parse: what is said, where, and that hostile text does no harm. */
#include "sql/parse.h"

#include "unit/check.h"
#include "unit/sql/suites.h"

static sf_status parse(sf_str text, sf_error *err)
{
    sf_arena arena;
    sf_arena_init(&arena, 0);
    sf_sql_statement *statement;
    sf_status status = sf_sql_parse(text, &arena, &statement, err);
    sf_arena_deinit(&arena);
    return status;
}

static const struct {
    const char *text, *message, *hint; /* hint: a part of it */
    uint32_t line, column;
} refused[] = {
    {"", "expected SELECT, WITH or INSERT INTO, found the end of the statement", "one SELECT", 1,
     1},
    {"-- nothing", "expected SELECT, WITH or INSERT INTO, found the end of the statement",
     "one SELECT", 1, 1},
    {"CREATE TABLE t", "expected SELECT, WITH or INSERT INTO, found \"CREATE\"",
     "defined outside SQL", 1, 1},
    {"SELECT", "expected an expression, found the end of the statement", "not complete", 1, 7},
    {"SELECT FROM s", "expected what to select, found \"FROM\"", "write *", 1, 8},
    {"SELECT a, FROM s", "expected an expression after the comma, found \"FROM\"",
     "remove the comma", 1, 11},
    {"SELECT a FORM s", "expected the end of the statement, found \"s\"",
     "did you mean FROM instead of \"FORM\"", 1, 15},
    {"SELECT a FROM s WHER b = 1", "expected the end of the statement, found \"b\"",
     "did you mean WHERE instead of \"WHER\"", 1, 22},
    {"SELECT a FROM s GRUOP BY a", "expected the end of the statement, found \"BY\"",
     "did you mean GROUP instead of \"GRUOP\"", 1, 23},
    {"SELECT a FROM",
     "expected a source, a table or (SELECT ...), found the end of the "
     "statement",
     "not complete", 1, 14},
    {"SELECT a FROM order", "expected a source, a table or (SELECT ...), found \"order\"",
     "write \"order\"", 1, 15},
    {"SELECT a FROM 's'", "expected a source, a table or (SELECT ...), found 's'", "double quotes",
     1, 15},
    {"SELECT a\nFROM s\nWHERE a >", "expected an expression, found the end of the statement",
     "not complete", 3, 10},
    {"SELECT a FROM s; SELECT b FROM s", "expected the end of the statement, found \"SELECT\"",
     "one statement", 1, 18},
    {"SELECT a FROM s WHERE a < b < c", "expected AND, OR or the end of the condition, found \"<\"",
     "do not chain", 1, 29},
    {"SELECT a FROM s WHERE a == b", "expected an expression, found \"=\"", "one =", 1, 26},
    {"SELECT a FROM s WHERE a BETWEEN 1",
     "expected AND between the two bounds of BETWEEN, "
     "found the end of the statement",
     "not complete", 1, 34},
    {"SELECT a FROM s WHERE a IN 1", "expected ( after IN, found \"1\"", "", 1, 28},
    {"SELECT a FROM s WHERE a IS 1",
     "expected NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM after IS, found \"1\"", "with =", 1, 28},
    {"SELECT a FROM s WHERE a = ANY (1, 2)", "expected a subquery, found \"1\"", "IN (...)", 1, 32},
    {"SELECT a -> b FROM s", "expected a key in single quotes or an array index, found \"b\"",
     "computed keys are not supported", 1, 13},
    {"SELECT a -> -1 FROM s", "expected a key in single quotes or an array index, found \"-\"", "",
     1, 13},
    {"SELECT a[0] FROM s", "expected an operator, found \"[\"", "-> 0", 1, 9},
    {"SELECT a.b.c.d FROM s", "expected an operator, found \"d\"", "->", 1, 14},
    {"SELECT s.* AS x FROM s", "expected a comma or FROM, found \"AS\"", "takes no alias", 1, 12},
    {"SELECT SUM(a FROM s", "expected ) or a comma after the arguments of SUM, found \"FROM\"", "",
     1, 14},
    {"SELECT 1 + * FROM s", "expected an expression, found \"*\"", "COUNT(*)", 1, 12},
    {"SELECT CASE WHEN a THEN 1 FROM s", "expected END of CASE, found \"FROM\"", "", 1, 27},
    {"SELECT CASE a THEN 1 END", "expected WHEN in CASE, found \"THEN\"", "", 1, 15},
    {"SELECT CAST(a AS JSON) FROM s", "type \"JSON\" does not exist", "PARSE_JSON", 1, 18},
    {"SELECT CAST(a AS DECIMAL(10, 2)) FROM s", "type \"DECIMAL\" does not exist", "DOUBLE", 1, 18},
    {"SELECT CAST(a AS VARCHAR(10)) FROM s", "expected the end of the type, found \"(\"",
     "no length", 1, 25},
    {"SELECT CAST(a AS TIMESTAMP(6)) FROM s", "TIMESTAMP(6) does not exist", "milliseconds", 1, 28},
    {"SELECT 9223372036854775808", "9223372036854775808 does not fit a Long", "decimal point", 1,
     8},
    {"SELECT 1e999", "1e999 does not fit a Double", "1.8e308", 1, 8},
    {"SELECT INTERVAL '5' FORTNIGHT", "'5' is not an interval", "MINUTE", 1, 8},
    {"SELECT INTERVAL 5 FROM s", "expected a unit after the number of INTERVAL, found \"FROM\"",
     "MINUTE", 1, 19},
    {"SELECT INTERVAL 'x' DAY", "'x' is not an interval", "MINUTE", 1, 8},
    {"SELECT DATE '2023-02-29'", "'2023-02-29' is not a time", "2024-05-01", 1, 13},
    {"SELECT a FROM s, t", "expected UNNEST or LATERAL after the comma, found \"t\"", "CROSS JOIN",
     1, 18},
    {"SELECT a FROM UNNEST(x) u", "expected a source, a table or (SELECT ...), found \"UNNEST\"",
     "behind the input", 1, 15},
    {"SELECT a FROM s, UNNEST(s.x)", "expected an alias for UNNEST, found the end of the statement",
     "AS", 1, 29},
    {"SELECT a FROM (SELECT 1)",
     "expected an alias for the subquery, found the end of the statement", "AS", 1, 25},
    {"SELECT a FROM f(1)", "table function \"f\" does not exist", "TUMBLE", 1, 15},
    {"SELECT a FROM a.b.c", "expected an alias or the next clause, found \"c\"", "domain.relay", 1,
     19},
    {"SELECT a FROM a JOIN b ON c WITHIN 5 SECONDS", "expected the next clause, found \"WITHIN\"",
     "before ON", 1, 29},
    {"SELECT a FROM a JOIN b WITHIN 5 ON c", "expected a unit of time, found \"ON\"", "SECONDS", 1,
     33},
    {"SELECT a FROM a JOIN b WITHIN 0 SECONDS ON c",
     "duration 0 SECONDS is not between 1 millisecond and 36500 days", "positive", 1, 31},
    {"SELECT a FROM a JOIN b WITHIN 9223372036854775807 HOURS ON c",
     "duration 9223372036854775807 HOURS is not between 1 millisecond and 36500 days", "positive",
     1, 31},
    {"SELECT a FROM a JOIN b WITHIN 99999999999999999999 HOURS ON c",
     "99999999999999999999 is too large", "largest", 1, 31},
    {"SELECT a FROM a NATURAL JOIN b ON c", "NATURAL JOIN takes no ON or USING", "drop one", 1, 25},
    {"SELECT a FROM a LEFT b ON c", "expected JOIN, found \"b\"", "", 1, 22},
    {"SELECT a FROM (a JOIN b ON c) x", "expected a join or the next clause, found \"x\"",
     "own aliases", 1, 31},
    {"SELECT a FROM s GROUP BY a WHERE b", "WHERE stands behind GROUP BY", "the order is", 1, 28},
    {"SELECT a FROM s WHERE b WHERE c", "WHERE is written twice", "AND", 1, 25},
    {"SELECT a FROM s ORDER BY a WHERE b", "expected the end of the query, found \"WHERE\"",
     "the order is", 1, 28},
    {"SELECT a FROM s WINDOW SLIDING(1)",
     "expected TUMBLING, HOPPING or SESSION after WINDOW, found \"SLIDING\"", "TUMBLING", 1, 24},
    {"SELECT a FROM s WINDOW TUMBLING(5 SECONDS)",
     "expected SIZE and a duration in TUMBLING, found \"5\"", "", 1, 33},
    {"SELECT a FROM s WINDOW HOPPING(SIZE 5 SECONDS)",
     "expected , and ADVANCE BY in HOPPING, found \")\"", "", 1, 46},
    {"SELECT a FROM s WINDOW TUMBLING(SIZE 1 SECOND) WINDOW SESSION(GAP 1 SECOND)",
     "expected one WINDOW, found \"SESSION\"", "nest", 1, 55},
    {"SELECT a FROM s WINDOW TUMBLING(SIZE 1 MONTH)", "expected a unit of time, found \"MONTH\"",
     "SECONDS", 1, 40},
    {"SELECT a FROM s EMIT ALL", "expected CHANGES or FINAL after EMIT, found \"ALL\"", "", 1, 22},
    {"SELECT a FROM s LIMIT -1", "expected a number after LIMIT, found \"-\"", "whole", 1, 23},
    {"SELECT a UNION b", "expected SELECT, found \"b\"", "a SELECT", 1, 16},
    {"SELECT DISTINCT ON (a) a FROM s",
     "expected the selected columns after DISTINCT, found \"ON\"", "LATEST BY", 1, 17},
    {"SELECT SUM(a) OVER (ROWS BETWEEN CURRENT ROW AND 1 PRECEDING) FROM s",
     "the frame ends before it starts", "earlier bound", 1, 26},
    {"SELECT SUM(a) OVER (ORDER BY b PARTITION BY c) FROM s",
     "expected ) after the window, found \"PARTITION\"", "the order is", 1, 32},
    {"WITH x AS SELECT 1 SELECT 2", "expected ( after AS in WITH, found \"SELECT\"", "", 1, 11},
    {"INSERT INTO k (a) SELECT 1", "expected SELECT after the sink's name, found \"(\"",
     "all columns", 1, 15},
    {"INSERT INTO SELECT 1", "expected the name of a sink after INSERT INTO, found \"SELECT\"", "",
     1, 13},
    {"SELECT \xe2\x80\x98x\xe2\x80\x99 FROM s", "unexpected character U+2018", "another", 1, 8},
    {"SELECT 'abc FROM s", "text that starts with ' is not closed", "same quote", 1, 8},
    {"SELECT ö, ä # FROM s", "unexpected character #", "remove", 1, 13},
};

static void messages(void)
{
    for (size_t i = 0; i < SF_COUNT_OF(refused); i++) {
        sf_str text = sf_str_of(refused[i].text);
        sf_error err = {0};
        CHECK_INT(parse(text, &err), SF_SYNTAX);
        CHECK_STR(err.message, refused[i].message);
        if (!strstr(err.hint, refused[i].hint)) {
            printf("  %s\n  hint: %s\n", refused[i].text, err.hint);
            CHECK_STR(err.hint, refused[i].hint);
        }
        CHECK(err.hint[0] != 0);
        CHECK(err.where.length > 0);
        sf_text_place place = sf_text_place_of(text, err.where.offset);
        if (place.line != refused[i].line || place.column != refused[i].column)
            printf("  %s\n", refused[i].text);
        CHECK_INT(place.line, refused[i].line);
        CHECK_INT(place.column, refused[i].column);
        CHECK_INT(parse(text, NULL), SF_SYNTAX);
    }
}

/* ---- limits ---- */

static sf_status parse_repeated(const char *before, const char *unit, int times, const char *middle,
                                const char *close, const char *after)
{
    sf_buf text = {0};
    sf_buf_puts(&text, before);
    for (int i = 0; i < times; i++)
        sf_buf_puts(&text, unit);
    sf_buf_puts(&text, middle);
    for (int i = 0; i < times; i++)
        sf_buf_puts(&text, close);
    sf_buf_puts(&text, after);
    sf_error err = {0};
    sf_status status = parse(sf_buf_str(&text), &err);
    if (status == SF_LIMIT)
        CHECK(err.hint[0] && (err.where.length || text.len > SF_SQL_TEXT_BYTES_MAX));
    sf_buf_deinit(&text);
    return status;
}

static void nesting(void)
{
    static const struct {
        const char *before, *unit, *middle, *close;
    } cases[] = {
        {"SELECT ", "(", "1", ")"},
        {"SELECT ", "-", "1", ""},
        {"SELECT ", "+", "1", ""},
        {"SELECT ", "NOT ", "a", ""},
        {"SELECT ", "f(", "1", ")"},
        {"SELECT ", "CASE WHEN a THEN ", "1", " END"},
        {"SELECT ", "CAST(", "1", " AS LONG)"},
        {"SELECT ", "(SELECT ", "1", ")"},
        {"SELECT ", "a IN (", "1", ")"},
        {"", "(", "SELECT 1", ")"},
        {"SELECT 1 FROM ", "(SELECT 1 FROM ", "s", ") x"},
        {"SELECT 1 FROM ", "(", "s", ")"},
        {"SELECT 1 FROM ", "(s JOIN ", "s ON a", ")"},
        {"SELECT 1 GROUP BY ", "ROLLUP (", "a", ")"},
        {"SELECT 1 GROUP BY ", "GROUPING SETS (", "a", ")"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(cases); i++) {
        const char *close = cases[i].close;
        for (int times = 90; times <= 100000; times = times == 90 ? 250 : times * 20) {
            sf_status got =
                parse_repeated(cases[i].before, cases[i].unit, times, cases[i].middle, close, "");
            bool good = times == 90 ? got != SF_LIMIT : got == SF_LIMIT;
            /* "--" starts a comment. */
            if (strcmp(cases[i].unit, "-") == 0)
                good = got == SF_SYNTAX;
            if (!good)
                printf("  %s x %d\n", cases[i].unit, times);
            CHECK(good);
        }
    }
    CHECK_INT(parse_repeated("SELECT ", "- ", 250, "1", "", ""), SF_LIMIT);
}

static void chains(void)
{
    static const struct {
        const char *before, *unit;
    } cases[] = {
        {"SELECT 1", " + 1"},
        {"SELECT 1", " * 1"},
        {"SELECT a", " || a"},
        {"SELECT a", " -> 'x'"},
        {"SELECT a", "::LONG"},
        {"SELECT a", " IS NULL"},
        {"SELECT 1", " UNION SELECT 1"},
        {"SELECT 1 FROM s", " CROSS JOIN s"},
        {"SELECT a", " AT TIME ZONE 'UTC'"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(cases); i++) {
        CHECK_INT(parse_repeated(cases[i].before, cases[i].unit, 900, "", "", ""), SF_OK);
        CHECK_INT(parse_repeated(cases[i].before, cases[i].unit, 1100, "", "", ""), SF_LIMIT);
        CHECK_INT(parse_repeated(cases[i].before, cases[i].unit, 50000, "", "", ""), SF_LIMIT);
    }
    /* Chains inside nested queries add up: what a walk over the tree needs is bounded. */
    sf_buf text = {0};
    for (int i = 0; i < 100; i++)
        sf_buf_puts(&text, "SELECT 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + (");
    sf_buf_puts(&text, "SELECT 1");
    for (int i = 0; i < 100; i++)
        sf_buf_puts(&text, ") + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1");
    CHECK_INT(parse(sf_buf_str(&text), NULL), SF_LIMIT);
    sf_buf_deinit(&text);
}

static void size(void)
{
    sf_buf text = {0};
    sf_buf_puts(&text, "SELECT '");
    while (text.len < SF_SQL_TEXT_BYTES_MAX - 1)
        sf_buf_putc(&text, 'x');
    sf_buf_putc(&text, '\'');
    sf_error err = {0};
    CHECK_INT(parse(sf_buf_str(&text), &err), SF_OK);
    sf_buf_putc(&text, ' ');
    CHECK_INT(parse(sf_buf_str(&text), &err), SF_LIMIT);
    CHECK_STR(err.message, "the statement is longer than 1048576 bytes");
    sf_buf_deinit(&text);
}

/* ---- hostile text ---- */

static const char *const corpus[] = {
    "WITH a (x) AS (SELECT 1), b AS (SELECT y FROM (SELECT * FROM s LATEST BY (k)) q) "
    "SELECT DISTINCT a.x, CASE a WHEN 1 THEN 'o' ELSE NULL END AS c, \"q\".\"w\" FROM a "
    "LEFT JOIN b y WITHIN 5 SECONDS ON a.x = y.y AND a.z -> 'k' ->> 0 <> 'v' "
    "WHERE a NOT IN (SELECT z FROM t) AND b BETWEEN 1 AND 2 OR NOT EXISTS (SELECT 1 FROM u) "
    "GROUP BY ROLLUP(a, (b, c)), 1 HAVING COUNT(DISTINCT a) > 1.5e3 ORDER BY 1 DESC NULLS LAST "
    "LIMIT 5 OFFSET 6",
    "SELECT SUM(a) FILTER (WHERE b) OVER (PARTITION BY c ORDER BY d ROWS BETWEEN 1 PRECEDING AND "
    "CURRENT ROW), EXTRACT(HOUR FROM t), TRIM(BOTH 'x' FROM y), POSITION('a' IN b), INTERVAL '1 "
    "day', CAST(x AS DOUBLE PRECISION), x::BOOL, (a, b) = (1, 2), a = ANY (SELECT 1) FROM "
    "HOP(TABLE s, DESCRIPTOR(t), 1 SECOND, 2 SECONDS) h, UNNEST(h.l) AS l, LATERAL (SELECT 1) m "
    "WINDOW HOPPING(SIZE 5 SECONDS, ADVANCE BY 1 SECOND) EMIT CHANGES UNION ALL SELECT * FROM t",
};

/* Every prefix, and every text with one token left out, ends in an answer with a place. */
static void prefixes(void)
{
    for (size_t i = 0; i < SF_COUNT_OF(corpus); i++) {
        CHECK_INT(parse(sf_str_of(corpus[i]), NULL), SF_OK);
        for (size_t len = 0; len < strlen(corpus[i]); len++) {
            /* A copy of exactly these bytes, so that reading past them is caught. */
            char *copy = sf_strndup(corpus[i], len);
            REQUIRE(copy);
            sf_error err = {0};
            if (parse((sf_str){copy, len}, &err) != SF_OK)
                CHECK(err.where.length > 0 && err.where.offset <= len && err.hint[0]);
            sf_free(copy);
        }
    }
}

static void mutations(void)
{
    uint64_t seed = 7;
    for (int round = 0; round < 20000; round++) {
        char text[1024];
        const char *from = corpus[round % (int)SF_COUNT_OF(corpus)];
        size_t len = strlen(from);
        memcpy(text, from, len);
        for (int edit = 0; edit < 3; edit++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            size_t at = (size_t)(seed >> 33) % len, other = (size_t)(seed >> 13) % len;
            size_t n = (seed >> 5) % 9;
            if (at + n <= len && other + n <= len)
                memmove(text + at, text + other, n);
            if ((seed & 7) == 0)
                text[at] = (char)(seed >> 40);
        }
        sf_error err = {0};
        if (parse((sf_str){text, len}, &err) != SF_OK)
            CHECK(err.where.length > 0 && err.message[0] && err.hint[0]);
    }
}

/* Each allocation fails once: an answer, no leak. */
static void memory(void)
{
    for (size_t i = 0; i < SF_COUNT_OF(corpus); i++) {
        for (uint64_t n = 1;; n++) {
            sf_error err = {0};
            sf_alloc_fail_after(n);
            sf_status status = parse(sf_str_of(corpus[i]), &err);
            sf_alloc_fail_after(0);
            if (status == SF_OK)
                break;
            CHECK_INT(status, SF_LIMIT);
            REQUIRE(n < 1000);
        }
    }
    sf_arena arena;
    sf_arena_init(&arena, 20000);
    sf_sql_statement *statement;
    CHECK_INT(sf_sql_parse(sf_str_of(corpus[0]), &arena, &statement, NULL), SF_LIMIT);
    sf_arena_deinit(&arena);
}

int suite_refuse(void)
{
    static const sf_case cases[] = {
        SF_CASE(messages), SF_CASE(nesting),   SF_CASE(chains), SF_CASE(size),
        SF_CASE(prefixes), SF_CASE(mutations), SF_CASE(memory),
    };
    return sf_run_cases("sql refuse", cases, SF_COUNT_OF(cases));
}

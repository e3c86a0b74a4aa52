/* Texts that parse, and the canonical text of their trees: every operation in parentheses shows
 * what binds to what. */
#include "sql/parse.h"

#include "unit/check.h"
#include "unit/sql/suites.h"

typedef struct {
    const char *text, *want;
} pair;

static bool print(const char *text, sf_buf *out)
{
    sf_arena arena;
    sf_arena_init(&arena, 0);
    sf_sql_statement *statement;
    sf_error err = {0};
    bool good = sf_sql_parse(sf_str_of(text), &arena, &statement, &err) == SF_OK;
    if (good) {
        if (statement->target.text.len)
            sf_buf_printf(out, "INSERT INTO %.*s ", SF_STR_ARG(statement->target.text));
        sf_sql_print_query(statement->query, out);
    } else {
        printf("  %s\n  at %u: %s (%s)\n", text, err.where.offset, err.message, err.hint);
    }
    sf_arena_deinit(&arena);
    return good;
}

/* The text prints as wanted, and what was printed prints as itself. */
static void check_pairs(const pair *pairs, size_t count, const char *before, const char *after)
{
    for (size_t i = 0; i < count; i++) {
        char text[1024], want[1024];
        snprintf(text, sizeof text, "%s%s%s", before, pairs[i].text, after);
        snprintf(want, sizeof want, "%s%s%s", before, pairs[i].want ? pairs[i].want : pairs[i].text,
                 after);
        sf_buf once = {0}, twice = {0};
        CHECK(print(text, &once));
        CHECK_STR(once.len ? once.data : "", want);
        CHECK(once.len && print(once.data, &twice));
        CHECK_STR(twice.len ? twice.data : "", want);
        sf_buf_deinit(&once);
        sf_buf_deinit(&twice);
    }
}
#define CHECK_PAIRS(pairs, before, after) check_pairs(pairs, SF_COUNT_OF(pairs), before, after)

static void precedence(void)
{
    static const pair pairs[] = {
        {"a OR b AND c", "(a OR (b AND c))"},
        {"a AND b OR c AND d", "((a AND b) OR (c AND d))"},
        {"a OR b OR c", "(a OR b OR c)"},
        {"(a OR b) OR c", "((a OR b) OR c)"},
        {"NOT a AND b", "((NOT a) AND b)"},
        {"NOT a = b", "(NOT (a = b))"},
        {"NOT NOT a", "(NOT (NOT a))"},
        {"a + b * c", "(a + (b * c))"},
        {"a - b - c", "((a - b) - c)"},
        {"a * b / c % d", "(((a * b) / c) % d)"},
        {"-a * b", "((- a) * b)"},
        {"- - a", "(- (- a))"},
        {"+a", "a"},
        {"a - -1", "(a - (- 1))"},
        {"a = b + 1", "(a = (b + 1))"},
        {"a < b AND c >= d", "((a < b) AND (c >= d))"},
        {"a <> b", "(a <> b)"},
        {"a != b", "(a <> b)"},
        {"a || b || c", "((a || b) || c)"},
        {"a || b + c", "(a || (b + c))"},
        {"a || b = c", "((a || b) = c)"},
        {"-a -> 'x'", "(- (a -> 'x'))"},
        {"a -> 'x' ->> 'y' = 'z'", "(((a -> 'x') ->> 'y') = 'z')"},
        {"a -> 0 * 2", "((a -> 0) * 2)"},
        {"NOT a->>'b' = 'true'", "(NOT ((a ->> 'b') = 'true'))"},
        {"a IS NULL AND b IS NOT NULL", "((a IS NULL) AND (b IS NOT NULL))"},
        {"a = b IS NULL", "((a = b) IS NULL)"},
        {"NOT a IS NULL", "(NOT (a IS NULL))"},
        {"a + 1 IS NULL", "((a + 1) IS NULL)"},
        {"a BETWEEN 1 AND 2 AND b", "((a BETWEEN 1 AND 2) AND b)"},
        {"a NOT BETWEEN b + 1 AND c * 2 OR d", "((a NOT BETWEEN (b + 1) AND (c * 2)) OR d)"},
        {"a LIKE 'x' || b", "(a LIKE ('x' || b))"},
        {"a = b LIKE c", "(a = (b LIKE c))"},
        {"a IN (1, 2) = b", "((a IN (1, 2)) = b)"},
        {"a::LONG + 1", "(CAST(a AS LONG) + 1)"},
        {"-a::DOUBLE", "(- CAST(a AS DOUBLE))"},
        {"a ->> 'x'::LONG", "CAST((a ->> 'x') AS LONG)"},
        {"a AT TIME ZONE 'UTC' = b", "(timezone('UTC', a) = b)"},
        {"a IS NOT DISTINCT FROM b + 1", "(a IS NOT DISTINCT FROM (b + 1))"},
        {"a = 1 IS DISTINCT FROM b", "((a = 1) IS DISTINCT FROM b)"},
    };
    CHECK_PAIRS(pairs, "SELECT x FROM s WHERE ", "");
}

static void expressions(void)
{
    static const pair pairs[] = {
        {"NULL", NULL},
        {"TRUE", NULL},
        {"false", "FALSE"},
        {"0", NULL},
        {"9223372036854775807", NULL},
        {"-9223372036854775808", NULL},
        {"- 9223372036854775808", "-9223372036854775808"},
        {"1.0", NULL},
        {"1.", "1.0"},
        {".5", "0.5"},
        {"1e3", "1000.0"},
        {"1e-7", NULL},
        {"'it''s'", NULL},
        {"''", NULL},
        {"INTERVAL '5' MINUTE", "INTERVAL '300000 MILLISECOND'"},
        {"INTERVAL 5 SECONDS", "INTERVAL '5000 MILLISECOND'"},
        {"INTERVAL '1 day 2 hours'", "INTERVAL '93600000 MILLISECOND'"},
        {"INTERVAL '-1.5' HOUR", "INTERVAL '-5400000 MILLISECOND'"},
        {"INTERVAL '1 year 1 month 1 second'", "INTERVAL '13 MONTH 1000 MILLISECOND'"},
        {"INTERVAL '0' DAY", "INTERVAL '0 MILLISECOND'"},
        {"interval + 1", "(interval + 1)"},
        {"TIMESTAMP '2024-05-01T10:00:00Z'", "CAST('2024-05-01T10:00:00Z' AS TIMESTAMP)"},
        {"DATE '2024-05-01'", "CAST('2024-05-01' AS TIMESTAMP)"},
        {"date", NULL},
        {"timestamp", NULL},
        {"date(a)", NULL},
        {"t.a", NULL},
        {"d.r.a", NULL},
        {"\"order\"", NULL},
        {"t.order", "t.\"order\""},
        {"\"a b\".\"c\"\"d\"", NULL},
        {"\"plain\"", "plain"},
        {"size", NULL},
        {"a->'k''s'", "(a -> 'k''s')"},
        {"CASE WHEN a THEN 1 END", NULL},
        {"CASE WHEN a THEN 1 WHEN b > 2 THEN 2 ELSE 3 END",
         "CASE WHEN a THEN 1 WHEN (b > 2) THEN 2 ELSE 3 END"},
        {"CASE a WHEN 1 THEN 'x' ELSE CASE b WHEN 2 THEN 'y' END END", NULL},
        {"CAST(a AS double precision)", "CAST(a AS DOUBLE)"},
        {"CAST(a AS text)", "CAST(a AS STRING)"},
        {"CAST(a AS Varchar)", "CAST(a AS STRING)"},
        {"CAST(a AS INT)", "CAST(a AS LONG)"},
        {"CAST(a AS BOOLEAN)", "CAST(a AS BOOL)"},
        {"CAST(a AS TIMESTAMP(3))", "CAST(a AS TIMESTAMP)"},
        {"a::DOUBLE PRECISION::TEXT", "CAST(CAST(a AS DOUBLE) AS STRING)"},
        {"f()", NULL},
        {"f(a, 1 + 2)", "f(a, (1 + 2))"},
        {"COUNT(*)", NULL},
        {"COUNT(DISTINCT a)", NULL},
        {"COUNT(ALL a)", "COUNT(a)"},
        {"LEFT(a, 2)", "\"LEFT\"(a, 2)"},
        {"IF(a, b, c)", NULL},
        {"SUM(a) FILTER (WHERE b > 1)", "SUM(a) FILTER (WHERE (b > 1))"},
        {"STRING_AGG(a, ',' ORDER BY b DESC NULLS LAST, c)", NULL},
        {"PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY a)", NULL},
        {"ROW_NUMBER() OVER (PARTITION BY a, b ORDER BY c DESC)", NULL},
        {"SUM(a) OVER ()", NULL},
        {"SUM(a) OVER w", "SUM(a) OVER (w)"},
        {"SUM(a) OVER (w ORDER BY b)", NULL},
        {"SUM(a) OVER (ORDER BY b ROWS 10 PRECEDING)",
         "SUM(a) OVER (ORDER BY b ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)"},
        {"SUM(a) OVER (ORDER BY b RANGE BETWEEN INTERVAL '1' SECOND PRECEDING AND UNBOUNDED "
         "FOLLOWING)",
         "SUM(a) OVER (ORDER BY b RANGE BETWEEN INTERVAL '1000 MILLISECOND' PRECEDING AND "
         "UNBOUNDED FOLLOWING)"},
        {"SUM(a) FILTER (WHERE b) OVER (GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING)", NULL},
        {"EXTRACT(HOUR FROM a)", "extract('HOUR', a)"},
        {"EXTRACT('hour' FROM a)", "extract('hour', a)"},
        {"SUBSTRING(a FROM 2 FOR 3)", "substring(a, 2, 3)"},
        {"SUBSTRING(a FROM 2)", "substring(a, 2)"},
        {"substring(a, 2, 3)", NULL},
        {"TRIM(a)", "btrim(a)"},
        {"TRIM(a, 'x')", "btrim(a, 'x')"},
        {"TRIM(FROM a)", "btrim(a)"},
        {"TRIM(BOTH 'x' FROM a)", "btrim(a, 'x')"},
        {"TRIM(LEADING FROM a)", "ltrim(a)"},
        {"TRIM(TRAILING 'x' FROM a)", "rtrim(a, 'x')"},
        {"TRIM('x' FROM a)", "btrim(a, 'x')"},
        {"TRIM(leading)", "btrim(leading)"},
        {"POSITION('x' IN a)", "position('x', a)"},
        {"POSITION('x', a)", "position('x', a)"},
        {"CURRENT_TIMESTAMP", "now()"},
        {"NOW()", NULL},
        {"(a, b)", "ROW(a, b)"},
        {"ROW(a)", NULL},
        {"(SELECT MAX(a) FROM t)", NULL},
        {"((SELECT 1) + 2)", "((SELECT 1) + 2)"},
    };
    CHECK_PAIRS(pairs, "SELECT ", " FROM s");
}

static void predicates(void)
{
    static const pair pairs[] = {
        {"a IN (1)", "(a IN (1))"},
        {"a NOT IN (1, 'x', NULL)", "(a NOT IN (1, 'x', NULL))"},
        {"a IN (SELECT b FROM t)", "(a IN (SELECT b FROM t))"},
        {"a NOT IN ((SELECT b FROM t))", "(a NOT IN (SELECT b FROM t))"},
        {"(a, b) IN (SELECT c, d FROM t)", "(ROW(a, b) IN (SELECT c, d FROM t))"},
        {"(a, b) = (1, 2)", "(ROW(a, b) = ROW(1, 2))"},
        {"EXISTS (SELECT 1 FROM t)", NULL},
        {"NOT EXISTS (SELECT 1 FROM t)", "(NOT EXISTS (SELECT 1 FROM t))"},
        {"a = ANY (SELECT b FROM t)", "(a = ANY (SELECT b FROM t))"},
        {"a <> SOME (SELECT b FROM t)", "(a <> ANY (SELECT b FROM t))"},
        {"a >= ALL (SELECT b FROM t)", "(a >= ALL (SELECT b FROM t))"},
        {"a NOT LIKE 'x\\%' ESCAPE '\\'", "(a NOT LIKE 'x\\%' ESCAPE '\\')"},
        {"a ILIKE 'x'", "(a ILIKE 'x')"},
        {"a IS TRUE", "(a IS TRUE)"},
        {"a IS NOT FALSE", "(a IS NOT FALSE)"},
        {"a IS UNKNOWN", "(a IS UNKNOWN)"},
        {"a IS NULL IS FALSE", "((a IS NULL) IS FALSE)"},
        {"_ts > NOW() - INTERVAL '5' MINUTE", "(_ts > (NOW() - INTERVAL '300000 MILLISECOND'))"},
    };
    CHECK_PAIRS(pairs, "SELECT x FROM s WHERE ", "");
}

static void inputs(void)
{
    static const pair pairs[] = {
        {"s", NULL},
        {"s x", "s AS x"},
        {"s AS \"left\"", NULL},
        {"\"fill-rate-5s\"", NULL},
        {"dom.relay r", "dom.relay AS r"},
        {"s x (a, b)", "s AS x (a, b)"},
        {"(SELECT a FROM t) x", "(SELECT a FROM t) AS x"},
        {"(SELECT a FROM t) AS x (b)", "(SELECT a FROM t) AS x (b)"},
        {"((SELECT a FROM t) UNION (SELECT b FROM u)) x",
         "((SELECT a FROM t) UNION (SELECT b FROM u)) AS x"},
        {"a JOIN b ON a.x = b.x", "a INNER JOIN b ON (a.x = b.x)"},
        {"a INNER JOIN b x ON TRUE", "a INNER JOIN b AS x ON TRUE"},
        {"a LEFT OUTER JOIN b ON c RIGHT JOIN d ON e FULL JOIN f ON g",
         "a LEFT JOIN b ON c RIGHT JOIN d ON e FULL JOIN f ON g"},
        {"a CROSS JOIN b", NULL},
        {"a JOIN b WITHIN 5 SECONDS ON c", "a INNER JOIN b WITHIN 5 SECONDS ON c"},
        {"a LEFT JOIN b y WITHIN INTERVAL '1' MINUTE ON c",
         "a LEFT JOIN b AS y WITHIN 1 MINUTE ON c"},
        {"a CROSS JOIN b WITHIN 1 HOUR", NULL},
        {"a JOIN b USING (x, y)", "a INNER JOIN b USING (x, y)"},
        {"a NATURAL LEFT JOIN b", NULL},
        {"a ASOF JOIN b ON a.k = b.k", "a ASOF INNER JOIN b ON (a.k = b.k)"},
        {"a LEFT ASOF JOIN b MATCH_CONDITION (a.t >= b.t) ON a.k = b.k",
         "a ASOF LEFT JOIN b MATCH_CONDITION ((a.t >= b.t)) ON (a.k = b.k)"},
        {"a JOIN (b JOIN c ON d) ON e", "a INNER JOIN (b INNER JOIN c ON d) ON e"},
        {"(a JOIN b ON c)", "a INNER JOIN b ON c"},
        {"a, UNNEST(a.x) AS l", NULL},
        {"a, UNNEST(a.x) l, UNNEST(a.y) m JOIN b ON c",
         "a, UNNEST(a.x) AS l, UNNEST(a.y) AS m INNER JOIN b ON c"},
        {"a CROSS JOIN UNNEST(a -> 'x') AS l", "a CROSS JOIN UNNEST((a -> 'x')) AS l"},
        {"a JOIN UNNEST(x) l", "a INNER JOIN UNNEST(x) AS l"},
        {"a LEFT JOIN UNNEST(x) WITH ORDINALITY AS l (v, i) ON TRUE",
         "a LEFT JOIN UNNEST(x) WITH ORDINALITY AS l (v, i) ON TRUE"},
        {"a, LATERAL (SELECT a.x + 1 AS y) b", "a, LATERAL (SELECT (a.x + 1) AS y) AS b"},
        {"a LEFT JOIN LATERAL (SELECT y FROM t WHERE t.x = a.x) b ON TRUE",
         "a LEFT JOIN LATERAL (SELECT y FROM t WHERE (t.x = a.x)) AS b ON TRUE"},
        {"TABLE(TUMBLE(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '10' SECOND))",
         "TUMBLE(bid, dateTime, 10 SECONDS)"},
        {"HOP(bid, dateTime, INTERVAL '2' SECOND, 10 SECONDS) AS w",
         "HOP(bid, dateTime, 2 SECONDS, 10 SECONDS) AS w"},
        {"SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(dateTime), 10 SECONDS) w",
         "SESSION(bid PARTITION BY (bidder), dateTime, 10 SECONDS) AS w"},
        {"SESSION((SELECT a FROM t) PARTITION BY (a, b), t, 1 DAY)",
         "SESSION((SELECT a FROM t) PARTITION BY (a, b), t, 24 HOURS)"},
        {"tumble", NULL},
        {"session s", "session AS s"},
    };
    CHECK_PAIRS(pairs, "SELECT x FROM ", "");
}

static void clauses(void)
{
    static const pair pairs[] = {
        {"SELECT 1", NULL},
        {"SELECT *, t.* FROM t;", "SELECT *, t.* FROM t"},
        {"SELECT a b, c AS d, e \"f g\" FROM t", "SELECT a AS b, c AS d, e AS \"f g\" FROM t"},
        {"SELECT a AS end, b AS order FROM t", "SELECT a AS \"end\", b AS \"order\" FROM t"},
        {"SELECT DISTINCT a FROM t", NULL},
        {"SELECT ALL a FROM t", "SELECT a FROM t"},
        {"SELECT COUNT(*) over, a filter FROM t", "SELECT COUNT(*) AS over, a AS filter FROM t"},
        {"SELECT a FROM t WHERE b LATEST BY (c)", "SELECT a FROM t WHERE b LATEST BY c"},
        {"SELECT a FROM t LATEST BY c, d", NULL},
        {"SELECT a FROM t LATEST BY (c, d)", "SELECT a FROM t LATEST BY c, d"},
        {"SELECT a FROM t LATEST BY p ->> 'k'", "SELECT a FROM t LATEST BY (p ->> 'k')"},
        {"SELECT a FROM t GROUP BY a, 1, b ->> 'x'", "SELECT a FROM t GROUP BY a, 1, (b ->> 'x')"},
        {"SELECT a FROM t GROUP BY ALL HAVING COUNT(*) > 1",
         "SELECT a FROM t GROUP BY ALL HAVING (COUNT(*) > 1)"},
        {"SELECT a FROM t GROUP BY ()", NULL},
        {"SELECT a FROM t GROUP BY a, ROLLUP(b, (c, d)), CUBE (e), GROUPING SETS ((a, b), (), a, "
         "ROLLUP (c))",
         "SELECT a FROM t GROUP BY a, ROLLUP (b, (c, d)), CUBE (e), GROUPING SETS ((a, b), (), a, "
         "ROLLUP (c))"},
        {"SELECT a FROM t GROUP BY (a, b)", NULL},
        {"SELECT a FROM t GROUP BY rollup, cube", NULL},
        {"SELECT a FROM t WINDOW TUMBLING(SIZE 5 SECONDS) EMIT FINAL", NULL},
        {"SELECT a FROM t GROUP BY a WINDOW HOPPING (SIZE 1 MINUTE, ADVANCE BY 500 MILLISECONDS) "
         "EMIT CHANGES",
         "SELECT a FROM t GROUP BY a WINDOW HOPPING(SIZE 1 MINUTE, ADVANCE BY 500 MILLISECONDS) "
         "EMIT CHANGES"},
        {"SELECT a FROM t WINDOW SESSION(GAP 2 HOURS) HAVING b",
         "SELECT a FROM t HAVING b WINDOW SESSION(GAP 2 HOURS)"},
        {"SELECT SUM(a) OVER w FROM t WINDOW w AS (PARTITION BY b), v AS (w ORDER BY c)",
         "SELECT SUM(a) OVER (w) FROM t WINDOW w AS (PARTITION BY b), v AS (w ORDER BY c)"},
        {"SELECT window, emit, latest FROM t WHERE within > offset",
         "SELECT \"window\", \"emit\", \"latest\" FROM t WHERE (\"within\" > \"offset\")"},
        {"SELECT a FROM t UNION ALL SELECT b FROM u UNION DISTINCT SELECT c FROM v",
         "SELECT a FROM t UNION ALL SELECT b FROM u UNION SELECT c FROM v"},
        {"SELECT 1 UNION SELECT 2 INTERSECT ALL SELECT 3 EXCEPT SELECT 4", NULL},
        {"(SELECT 1 UNION SELECT 2) INTERSECT SELECT 3", NULL},
        {"VALUES (1, 'a'), (2, NULL) EXCEPT ALL VALUES (1, 'a')", NULL},
        {"SELECT v.a, values FROM (VALUES (1), ((2))) AS v (a) WHERE a IN (VALUES (1))",
         "SELECT v.a, values FROM (VALUES (1), (2)) AS v (a) WHERE (a IN (VALUES (1)))"},
        {"SELECT values FROM values JOIN (values) ON values = values.values",
         "SELECT values FROM values INNER JOIN values ON (values = values.values)"},
        {"(SELECT a FROM t ORDER BY a LIMIT 3) UNION ALL SELECT b FROM u ORDER BY 1 DESC", NULL},
        {"SELECT a FROM t ORDER BY a ASC, b DESC NULLS FIRST LIMIT 10 OFFSET 5 ROWS",
         "SELECT a FROM t ORDER BY a, b DESC NULLS FIRST LIMIT 10 OFFSET 5"},
        {"SELECT a FROM t OFFSET 5 FETCH NEXT 2 ROWS ONLY", "SELECT a FROM t LIMIT 2 OFFSET 5"},
        {"SELECT a FROM t FETCH FIRST ROW ONLY", "SELECT a FROM t LIMIT 1"},
        {"WITH x AS (SELECT 1), y (a, b) AS (SELECT 2, 3) SELECT * FROM x", NULL},
        {"WITH RECURSIVE r (n) AS (SELECT 1 UNION SELECT n + 1 FROM r) SELECT n FROM r",
         "WITH RECURSIVE r (n) AS (SELECT 1 UNION SELECT (n + 1) FROM r) SELECT n FROM r"},
        {"WITH recursive AS (SELECT 1) SELECT * FROM recursive", NULL},
        {"SELECT a FROM (WITH x AS (SELECT 1) SELECT * FROM x) y",
         "SELECT a FROM (WITH x AS (SELECT 1) SELECT * FROM x) AS y"},
        {"INSERT INTO out SELECT a FROM t", NULL},
        {"insert into \"my-sink\" WITH x AS (SELECT 1) SELECT * FROM x;",
         "INSERT INTO my-sink WITH x AS (SELECT 1) SELECT * FROM x"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(pairs); i++) {
        bool insert = strncmp(pairs[i].text, "insert", 6) == 0;
        sf_buf once = {0};
        if (insert) {
            CHECK(print(pairs[i].text, &once));
            CHECK_STR(once.len ? once.data : "", pairs[i].want);
        } else {
            check_pairs(&pairs[i], 1, "", "");
        }
        sf_buf_deinit(&once);
    }
}

/* ---- spans ---- */

static void spans(void)
{
    const char *text = "SELECT  a + b*c AS d FROM s WHERE  x IN (1)";
    sf_arena arena;
    sf_arena_init(&arena, 0);
    sf_sql_statement *statement;
    sf_error err = {0};
    REQUIRE_OK(sf_sql_parse(sf_str_of(text), &arena, &statement, &err), err);
    const sf_sql_select *select = statement->query->body->select;
    const sf_sql_expr *sum = select->items[0].expr;
    CHECK_INT(sum->span.offset, 8);
    CHECK_INT(sum->span.length, 7);
    CHECK_INT(sum->op_span.offset, 10);
    CHECK_INT(sum->args.items[1]->op_span.offset, 13);
    CHECK_INT(select->items[0].alias.span.offset, 19);
    CHECK_INT(select->from->span.offset, 26);
    CHECK_INT(select->where->span.offset, 35);
    CHECK_INT(select->where->span.length, 8);
    CHECK_INT(statement->query->span.length, strlen(text));
    CHECK_INT(statement->body_offset, 0);
    sf_arena_deinit(&arena);
}

static void insert_body(void)
{
    sf_arena arena;
    sf_arena_init(&arena, 0);
    sf_sql_statement *statement;
    sf_error err = {0};
    REQUIRE_OK(sf_sql_parse(SF_STR("INSERT INTO k\n SELECT 1"), &arena, &statement, &err), err);
    CHECK_INT(statement->body_offset, 15);
    CHECK_INT(statement->target.span.offset, 12);
    sf_arena_deinit(&arena);
}

/* Long lists and long conditions are no depth. */
static void wide(void)
{
    sf_buf text = {0};
    sf_buf_puts(&text, "SELECT a0");
    for (int i = 1; i < 3000; i++)
        sf_buf_printf(&text, ", a%d", i);
    sf_buf_puts(&text, " FROM s WHERE x IN (0");
    for (int i = 1; i < 3000; i++)
        sf_buf_printf(&text, ", %d", i);
    sf_buf_puts(&text, ")");
    for (int i = 0; i < 3000; i++)
        sf_buf_printf(&text, " AND b = %d", i);
    sf_arena arena;
    sf_arena_init(&arena, 0);
    sf_sql_statement *statement;
    sf_error err = {0};
    REQUIRE_OK(sf_sql_parse(sf_buf_str(&text), &arena, &statement, &err), err);
    CHECK_INT(statement->query->body->select->item_count, 3000);
    CHECK_INT(statement->query->body->select->where->args.count, 3001);
    sf_arena_deinit(&arena);
    sf_buf_deinit(&text);
}

int suite_parse(void)
{
    static const sf_case cases[] = {
        SF_CASE(precedence), SF_CASE(expressions), SF_CASE(predicates),  SF_CASE(inputs),
        SF_CASE(clauses),    SF_CASE(spans),       SF_CASE(insert_body), SF_CASE(wide),
    };
    return sf_run_cases("sql parse", cases, SF_COUNT_OF(cases));
}

/* Statements that parse but cannot be: what is said and where; and that no text does harm. */
#include "unit/check.h"
#include "unit/sql/suites.h"
#include "unit/sql/world.h"

typedef struct {
    char kind; /* T: table, P: pipeline */
    const char *text, *message;
    uint32_t column;
} refusal;

static const refusal names[] = {
    {'T', "SELECT * FROM trads", "source or table \"trads\" does not exist", 15},
    {'P', "SELECT * FROM trads", "source \"trads\" does not exist", 15},
    {'P', "SELECT * FROM positions", "source \"positions\" does not exist", 15},
    {'T', "SELECT * FROM Trades", "source or table \"Trades\" does not exist", 15},
    {'T', "SELECT * FROM dom.relay", "source or table \"dom.relay\" does not exist", 15},
    {'T', "SELECT * FROM both", "\"both\" is a stream and a table", 15},
    {'T', "SELECT prcie FROM trades", "column \"prcie\" does not exist", 8},
    {'T', "SELECT t.prcie FROM trades t", "column \"prcie\" does not exist in \"t\"", 10},
    {'T', "SELECT trades.price FROM trades t", "\"trades\" is no input of this query", 8},
    {'T', "SELECT T.price FROM trades t", "\"T\" is no input of this query", 8},
    {'T', "SELECT x.* FROM trades t", "\"x\" is no input of this query", 8},
    {'T', "SELECT symbol FROM trades t JOIN quotes q ON t.symbol = q.symbol",
     "column \"symbol\" is ambiguous", 8},
    {'T', "SELECT a FROM trades x (a, A2, b) JOIN quotes y (A2, b) ON x.a = y.A2 WHERE b = 1",
     "column \"b\" is ambiguous", 77},
    {'T', "SELECT price FROM trades t JOIN quotes t ON TRUE", "alias \"t\" is used twice", 33},
    {'T', "SELECT FOO(price) FROM trades", "function \"FOO\" does not exist", 8},
    {'T', "SELECT ABS(price, 1) FROM trades", "ABS takes 1 argument, not 2", 8},
    {'T', "SELECT symbol FROM trades WHERE symbol = \"AAPL\"", "column \"AAPL\" does not exist",
     42},
    {'T', "SELECT price a, qty A FROM trades", "two columns are named \"A\"", 21},
    {'T', "SELECT x.a FROM trades x (a, b, c, d, e, f)", "the input has 5 columns, not 6", 42},
    {'T', "WITH a AS (SELECT * FROM a) SELECT * FROM a", "\"a\" reads itself", 26},
    {'T', "WITH a AS (SELECT * FROM b), b AS (SELECT symbol FROM trades) SELECT * FROM a",
     "\"b\" is declared only later in WITH", 26},
    {'T', "WITH a AS (SELECT 1 FROM trades), a AS (SELECT 1 FROM trades) SELECT * FROM a",
     "\"a\" is declared twice in WITH", 35},
    {'T', "WITH a AS (SELECT nothing FROM trades) SELECT symbol FROM trades",
     "column \"nothing\" does not exist", 19},
    {'T', "SELECT q.bid FROM trades t, LATERAL (SELECT nothing FROM quotes) q",
     "column \"nothing\" does not exist", 45},
};

static const refusal joins[] = {
    {'P', "SELECT t.qty FROM trades t JOIN quotes q ON t.symbol = q.symbol",
     "a JOIN of streams needs WITHIN", 28},
    {'T', "SELECT t.qty FROM trades t JOIN quotes q WITHIN 5 SECONDS ON t.symbol = q.symbol",
     "a table joins all rows there are and takes no WITHIN", 49},
    {'T', "SELECT t.qty FROM trades t JOIN quotes q", "INNER JOIN needs ON", 28},
    {'T', "SELECT t.qty FROM trades t FULL JOIN quotes q", "FULL JOIN needs ON", 33},
    {'T', "SELECT t.qty FROM trades t CROSS JOIN quotes q ON TRUE", "CROSS JOIN takes no condition",
     34},
    {'T', "SELECT qty FROM trades NATURAL JOIN structures",
     "NATURAL JOIN finds no column that both sides have", 32},
    {'T', "SELECT qty FROM trades JOIN quotes USING (ask)",
     "column \"ask\" of USING does not exist on the left side", 43},
    {'T', "SELECT 1 FROM trades t LEFT JOIN quotes q ON t.symbol IN (SELECT symbol FROM quotes)",
     "a subquery in this clause is not supported yet", 55},
    {'T', "SELECT 1 FROM structures s LEFT JOIN UNNEST(s.legs) AS l ON TRUE",
     "LEFT JOIN cannot join UNNEST", 33},
    {'T', "SELECT 1 FROM structures s, UNNEST(s.legs) AS l, UNNEST(l -> 'x') AS m",
     "UNNEST cannot take the element of another UNNEST", 57},
    {'T', "SELECT 1 FROM structures s, UNNEST(s.n) AS l", "UNNEST cannot take Long", 36},
    {'T', "SELECT l.ccy FROM structures s, UNNEST(s.legs) AS l",
     "\"l\", the element of UNNEST, has no columns", 10},
};

static const refusal shapes[] = {
    {'T', "SELECT COUNT(*) FROM trades WINDOW TUMBLING(SIZE 5 SECONDS)", "a table takes no WINDOW",
     36},
    {'T', "SELECT price FROM trades EMIT CHANGES", "a table takes no EMIT", 26},
    {'P', "SELECT price, COUNT(*) FROM trades",
     "in a pipeline aggregates and GROUP BY need a WINDOW", 15},
    {'P', "SELECT symbol FROM trades GROUP BY symbol",
     "in a pipeline aggregates and GROUP BY need a WINDOW", 27},
    {'P', "SELECT symbol FROM trades EMIT FINAL", "EMIT needs a WINDOW", 27},
    {'P', "SELECT * FROM trades LATEST BY (symbol)",
     "LATEST BY keeps rows for good, which a pipeline cannot", 22},
    {'P', "SELECT DISTINCT symbol FROM trades",
     "DISTINCT keeps every row it has seen, which a pipeline cannot", 8},
    {'P',
     "SELECT n FROM (SELECT COUNT(*) AS n FROM trades WINDOW TUMBLING(SIZE 1 SECOND) EMIT "
     "CHANGES) x",
     "EMIT CHANGES may stand only in the outermost query", 80},
    {'T', "SELECT COUNT(*) FROM trades LATEST BY (symbol)",
     "LATEST BY cannot stand with GROUP BY or aggregates", 29},
    {'T', "SELECT 1 FROM TUMBLE(trades, symbol, 1 SECOND) w",
     "the time of a window function is String", 30},
    {'T', "SELECT 1 FROM HOP(trades, _ts, 1 SECOND, 1 HOUR) w",
     "each row would enter more than 128 windows", 15},
    {'P',
     "SELECT symbol FROM TUMBLE(trades, qty, 1 SECOND) w GROUP BY symbol WINDOW SESSION(GAP 1 "
     "SECOND)",
     "in a pipeline a window function stands alone in FROM, over _ts", 20},
    {'P',
     "SELECT COUNT(*) FROM SESSION(trades PARTITION BY venue, _ts, 1 SECOND) w GROUP BY symbol",
     "sessions are partitioned by other columns than GROUP BY names", 22},
    {'T', "SELECT x.a FROM trades x (a, a)",
     "column \"a\" is ambiguous: several columns have this name", 10},
    {'T', "SELECT SUM(1 + COUNT(*)) FROM trades", "aggregate COUNT stands inside another aggregate",
     16},
    {'T', "SELECT symbol, price FROM trades GROUP BY symbol",
     "column \"price\" in SELECT is neither in GROUP BY nor inside an aggregate", 16},
    {'T', "SELECT price + 1 FROM trades GROUP BY price + 2",
     "column \"price\" in SELECT is neither in GROUP BY nor inside an aggregate", 8},
    {'T', "SELECT symbol FROM trades GROUP BY symbol HAVING price > 1",
     "column \"price\" in HAVING is neither in GROUP BY nor inside an aggregate", 50},
    {'T', "SELECT *, COUNT(*) FROM trades", "* cannot stand with GROUP BY, aggregates or WINDOW",
     8},
    {'T', "SELECT * FROM trades GROUP BY ALL", "* cannot stand with GROUP BY, aggregates or WINDOW",
     8},
    {'T', "SELECT symbol FROM trades GROUP BY ROLLUP(ROLLUP(symbol))",
     "ROLLUP and CUBE take columns only", 43},
    {'T', "SELECT symbol FROM trades GROUP BY CUBE(1, 1, 1, 1, 1, 1, 1, 1, 1)",
     "CUBE of 9 columns makes too many grouping sets", 36},
    {'T', "SELECT symbol FROM trades GROUP BY CUBE(1, 1, 1, 1, 1), CUBE(1, 1, 1, 1, 1)",
     "GROUP BY makes more than 256 grouping sets", 27},
    {'T', "SELECT symbol FROM trades GROUP BY 3", "GROUP BY 3: SELECT has 1 items", 36},
    {'T', "SELECT COUNT(*) FROM trades GROUP BY 1", "GROUP BY cannot take an aggregate", 38},
    {'T', "SELECT COUNT(*) AS n FROM trades GROUP BY n", "GROUP BY cannot take an aggregate", 43},
    {'T', "SELECT price FROM trades WHERE COUNT(*) > 1", "aggregate COUNT cannot stand in WHERE",
     32},
    {'T', "SELECT price FROM trades WHERE price", "WHERE needs a condition, not Double", 32},
    {'T', "SELECT ABS(DISTINCT price) FROM trades",
     "DISTINCT belongs to aggregates, and ABS is none", 8},
    {'T', "SELECT ABS(*) FROM trades", "ABS cannot take *", 12},
    {'P', "SELECT symbol FROM trades UNION SELECT symbol FROM quotes",
     "UNION keeps every row it has seen, which a pipeline cannot", 27},
    {'T', "SELECT symbol, qty FROM trades UNION ALL SELECT symbol FROM quotes",
     "UNION joins 2 columns with 1", 32},
    {'T', "SELECT symbol FROM trades UNION ALL SELECT bid FROM quotes",
     "the first columns \"symbol\" of UNION are String and Double", 27},
    {'T', "SELECT n FROM structures UNION ALL SELECT t FROM structures",
     "the first columns \"n\" of UNION are Long and Timestamp", 26},
    {'T',
     "SELECT symbol FROM trades UNION ALL SELECT symbol FROM quotes UNION SELECT symbol FROM "
     "quotes",
     "UNION and UNION ALL are mixed", 63},
    {'T', "INSERT INTO x SELECT symbol FROM trades", "INSERT INTO cannot stand here", 13},
    {'T', "SELECT (a, b) FROM (SELECT 1 AS a, 2 AS b FROM trades) x",
     "a row of values cannot stand here", 8},
    {'T', "SELECT 1 FROM trades WHERE (symbol, venue) = ('a', 'b', 'c')",
     "a row of 2 values is compared with one of 3", 44},
};

static const refusal subqueries[] = {
    {'T',
     "SELECT 1 FROM trades WHERE symbol IN (SELECT symbol FROM quotes UNION SELECT symbol FROM "
     "quotes)",
     "UNION cannot stand directly in a subquery of an expression", 65},
    {'T', "SELECT 1 FROM trades WHERE symbol IN (SELECT symbol, bid FROM quotes)",
     "the subquery of IN gives 2 columns, not 1", 39},
    {'P', "SELECT symbol FROM trades WHERE symbol IN (SELECT symbol FROM quotes)",
     "in a pipeline a subquery must be windowed: what it gives must end", 44},
    {'P', "SELECT symbol FROM trades WHERE price > (SELECT MAX(bid) FROM quotes)",
     "in a pipeline a subquery must be windowed: what it gives must end", 41},
    {'T', "SELECT (SELECT symbol FROM quotes) FROM trades",
     "a subquery used as a value may give more than one row or none", 8},
    {'T', "SELECT (SELECT MAX(bid), MIN(bid) FROM quotes) FROM trades",
     "a subquery used as a value gives one column, not 2", 26},
    {'T', "SELECT (SELECT MAX(bid) FROM quotes GROUP BY symbol) FROM trades",
     "a subquery used as a value may give more than one row or none", 8},
    {'T', "SELECT (SELECT MAX(bid) FROM quotes q WHERE q.bid > t.price) FROM trades t",
     "a subquery used as a value is correlated by something other than an equality", 51},
    {'T', "SELECT COUNT(*), (SELECT MAX(bid) FROM quotes) FROM trades",
     "in a grouped query a subquery must stand inside an aggregate", 18},
    {'T',
     "SELECT symbol, (SELECT MAX(bid) FROM quotes q WHERE q.symbol = side) FROM trades GROUP BY "
     "symbol",
     "a subquery of a grouped query reads a column that is no key of it", 64},
    {'T', "SELECT 1 FROM trades t WHERE EXISTS (SELECT t.qty FROM quotes q)",
     "a column of the outer query may stand only in the WHERE of a plain subquery", 45},
    {'T',
     "SELECT 1 FROM trades t WHERE EXISTS (SELECT COUNT(*) FROM quotes q WHERE q.symbol = "
     "t.symbol)",
     "a column of the outer query may stand only in the WHERE of a plain subquery", 85},
    {'T',
     "SELECT 1 FROM trades t WHERE EXISTS (SELECT 1 FROM quotes q WHERE EXISTS (SELECT 1 FROM "
     "positions p WHERE p.symbol = t.symbol))",
     "a subquery reads a column of a query further out than the next", 116},
    {'T', "SELECT COUNT(*), 'A' IN (SELECT symbol FROM quotes) FROM trades",
     "in a grouped query a subquery must stand inside an aggregate", 22},
    {'T', "SELECT COUNT(*) FROM trades GROUP BY symbol IN (SELECT symbol FROM quotes)",
     "a subquery in this clause is not supported yet", 45},
};

/* What the engine cannot run yet is refused, not computed wrongly. */
static const refusal later[] = {
    {'T', "SELECT STRING_AGG(side) OVER (ORDER BY price) FROM trades",
     "STRING_AGG OVER a window is not supported yet", 8},
    {'T', "SELECT 1 FROM SESSION(trades, _ts, 1 SECOND) w",
     "SESSION in a table is not supported yet", 15},
    {'T', "WITH RECURSIVE a AS (SELECT 1 AS n FROM trades UNION SELECT n FROM a) SELECT n FROM a",
     "WITH RECURSIVE is not supported yet", 68},
    {'T', "SELECT q.bid FROM trades t, LATERAL (SELECT bid FROM quotes WHERE symbol = t.symbol) q",
     "LATERAL with columns of the inputs before it is not supported yet", 76},
};

static void check_refusals(const refusal *refusals, size_t count)
{
    world w;
    REQUIRE(world_init(&w));
    sf_resolver resolver = world_resolver(&w);
    for (size_t i = 0; i < count; i++) {
        sf_str text = sf_str_of(refusals[i].text);
        sf_plan_kind kind = refusals[i].kind == 'T' ? SF_PLAN_TABLE : SF_PLAN_PIPELINE;
        sf_plan *plan;
        sf_diagnostics diagnostics = {0};
        sf_error err = {0};
        CHECK(sf_sql_compile(text, kind, &resolver, &plan, &diagnostics, &err) != SF_OK);
        CHECK(plan == NULL);
        CHECK_STR(err.message, refusals[i].message);
        size_t len = diagnostics.list.len;
        REQUIRE(len > 0);
        const sf_diagnostic *last = &diagnostics.list.data[len - 1];
        CHECK(!last->warning);
        CHECK_INT(last->column, refusals[i].column);
        CHECK(last->span.length > 0);
        CHECK(strncmp(last->message, err.message, strlen(err.message)) == 0);
        if (refusals[i].message[0] != '"' || !strstr(refusals[i].message, "stream and"))
            CHECK(err.hint[0] != 0);
        sf_diagnostics_deinit(&diagnostics);
        CHECK(sf_sql_compile(text, kind, &resolver, &plan, NULL, NULL) != SF_OK);
    }
    world_deinit(&w);
}
#define REFUSED(table) check_refusals(table, SF_COUNT_OF(table))

static void refuse_names(void)
{
    REFUSED(names);
}

static void refuse_joins(void)
{
    REFUSED(joins);
}

static void refuse_shapes(void)
{
    REFUSED(shapes);
}

static void refuse_subqueries(void)
{
    REFUSED(subqueries);
}

static void refuse_later(void)
{
    REFUSED(later);
}

/* ---- hostile text ---- */

static const char *const corpus[] = {
    "WITH a AS (SELECT symbol, COUNT(*) AS n FROM trades WHERE qty > 1 GROUP BY symbol HAVING "
    "MAX(price) > 2) SELECT t.*, q.bid, a.n, CASE WHEN t.price > q.ask THEN 'x' ELSE t.side END AS "
    "c FROM trades t LEFT JOIN quotes q ON t.symbol = q.symbol AND q.bid < t.price JOIN a ON "
    "a.symbol = "
    "t.symbol WHERE t.venue NOT IN (SELECT venue FROM quotes) AND t.price > (SELECT AVG(bid) FROM "
    "quotes p WHERE p.symbol = t.symbol) AND EXISTS (SELECT 1 FROM positions WHERE "
    "positions.symbol "
    "= t.symbol)",
    "SELECT l ->> 'ccy' AS ccy, SUM(l -> 'n') AS s, COUNT(DISTINCT n) FROM structures s, "
    "UNNEST(s.legs) AS l WHERE n > 2 AND t > TIMESTAMP '2024-01-01' GROUP BY l ->> 'ccy', 1",
    "SELECT symbol, qty FROM trades UNION SELECT symbol, bid FROM quotes UNION SELECT * FROM "
    "(SELECT symbol, trades FROM positions EXCEPT SELECT venue, 1 FROM quotes) x",
    "SELECT symbol, v FROM (SELECT symbol, qty * 2 AS v FROM trades LATEST BY (UPPER(symbol))) x "
    "NATURAL FULL JOIN (SELECT DISTINCT symbol, n FROM quotes CROSS JOIN structures) y",
};

static void corpus_compiles(void)
{
    world w;
    REQUIRE(world_init(&w));
    sf_resolver resolver = world_resolver(&w);
    for (size_t i = 0; i < SF_COUNT_OF(corpus); i++) {
        sf_plan *plan = NULL;
        sf_error err = {0};
        CHECK_INT(sf_sql_compile(sf_str_of(corpus[i]), SF_PLAN_TABLE, &resolver, &plan, NULL, &err),
                  SF_OK);
        CHECK_STR(err.message, "");
        sf_plan_free(plan);
    }
    world_deinit(&w);
}

static void mutations(void)
{
    world w;
    REQUIRE(world_init(&w));
    sf_resolver resolver = world_resolver(&w);
    uint64_t seed = 11;
    for (int round = 0; round < 20000; round++) {
        char text[1024];
        const char *from = corpus[round % (int)SF_COUNT_OF(corpus)];
        size_t len = strlen(from);
        memcpy(text, from, len);
        for (int edit = 0; edit < round % 4; edit++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            size_t at = (size_t)(seed >> 33) % len, other = (size_t)(seed >> 13) % len;
            size_t n = (seed >> 5) % 7;
            if (at + n <= len && other + n <= len)
                memmove(text + at, text + other, n);
        }
        sf_plan *plan = NULL;
        sf_error err = {0};
        sf_plan_kind kind = round & 8 ? SF_PLAN_PIPELINE : SF_PLAN_TABLE;
        if (sf_sql_compile((sf_str){text, len}, kind, &resolver, &plan, NULL, &err) != SF_OK)
            CHECK(err.message[0] && err.where.length);
        sf_plan_free(plan);
    }
    world_deinit(&w);
}

/* Each allocation fails once: an answer, no leak. */
static void memory(void)
{
    world w;
    REQUIRE(world_init(&w));
    sf_resolver resolver = world_resolver(&w);
    for (size_t i = 0; i < SF_COUNT_OF(corpus); i++) {
        for (uint64_t n = 1;; n++) {
            sf_plan *plan = NULL;
            sf_diagnostics diagnostics = {0};
            sf_error err = {0};
            sf_alloc_fail_after(n);
            sf_status status = sf_sql_compile(sf_str_of(corpus[i]), SF_PLAN_TABLE, &resolver, &plan,
                                              &diagnostics, &err);
            sf_alloc_fail_after(0);
            sf_diagnostics_deinit(&diagnostics);
            sf_plan_free(plan);
            if (status == SF_OK)
                break;
            CHECK_INT(status, SF_LIMIT);
            if (status != SF_LIMIT) {
                printf("  %s: %s\n", corpus[i], err.message);
                break;
            }
        }
    }
    world_deinit(&w);
}

/* Many inputs, wide rows: refused before a plan cannot hold them. */
static void limits(void)
{
    world w;
    REQUIRE(world_init(&w));
    sf_resolver resolver = world_resolver(&w);
    sf_buf text = {0};
    sf_plan *plan;
    sf_error err = {0};
    sf_buf_puts(&text, "SELECT 1 FROM trades t0");
    for (int i = 1; i < 300; i++)
        sf_buf_printf(&text, " JOIN trades t%d ON t0.symbol = t%d.symbol", i, i);
    CHECK_INT(sf_sql_compile(sf_buf_str(&text), SF_PLAN_TABLE, &resolver, &plan, NULL, &err),
              SF_LIMIT);
    CHECK(strstr(err.message, "256 inputs"));
    sf_buf_clear(&text);
    sf_buf_puts(&text, "SELECT price AS c0");
    for (int i = 1; i < 1100; i++)
        sf_buf_printf(&text, ", price AS c%d", i);
    sf_buf_puts(&text, " FROM trades");
    CHECK_INT(sf_sql_compile(sf_buf_str(&text), SF_PLAN_TABLE, &resolver, &plan, NULL, &err),
              SF_LIMIT);
    sf_buf_deinit(&text);
    world_deinit(&w);
}

int suite_bind_refuse(void)
{
    static const sf_case cases[] = {
        SF_CASE(refuse_names),      SF_CASE(refuse_joins), SF_CASE(refuse_shapes),
        SF_CASE(refuse_subqueries), SF_CASE(refuse_later), SF_CASE(corpus_compiles),
        SF_CASE(mutations),         SF_CASE(memory),       SF_CASE(limits),
    };
    return sf_run_cases("sql bind refuse", cases, SF_COUNT_OF(cases));
}

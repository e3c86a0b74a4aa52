/* Completion: what is offered at the bar, in texts that are whole, half-typed and hostile. */
#include "unit/check.h"
#include "unit/sql/suites.h"
#include "unit/sql/world.h"

/* Wanted and refused labels, separated by blanks; "!" before those that must not be there. In
 * labels of several words the blank is written _. */
typedef struct {
    const char *text; /* | is the cursor */
    const char *wanted;
    const char *replaced; /* what an item stands for; NULL: nothing */
} example;

static const example in_tables[] = {
    /* relations */
    {"SELECT * FROM |", "trades quotes positions bars UNNEST TUMBLE( LATERAL !symbol !SUM", NULL},
    {"SELECT * FROM tr|", "trades !quotes", "tr"},
    {"SELECT * FROM t|rades", "trades", "trades"},
    {"SELECT symbol FROM | WHERE price > 1", "trades", NULL},
    {"SELECT * FROM trades t JOIN |", "quotes positions", NULL},
    {"SELECT * FROM trades t LEFT JOIN qu| ON t.symbol = 1", "quotes !trades", "qu"},
    {"WITH big AS (SELECT symbol AS s FROM trades) SELECT * FROM |", "big trades", NULL},
    {"WITH a AS (SELECT 1 AS x), b AS (SELECT * FROM |) SELECT 1", "a trades !b", NULL},
    {"SELECT * FROM TUMBLE(|", "trades !symbol", NULL},
    {"SELECT * FROM trades WHERE symbol IN (SELECT symbol FROM |", "quotes", NULL},
    /* columns of an alias */
    {"SELECT t.| FROM trades t", "symbol price * !bid !SUM !t.symbol", NULL},
    {"SELECT t.pr| FROM trades t", "price !symbol !*", "pr"},
    {"SELECT COUNT(*) FROM trades t WHERE t.|", "symbol !*", NULL},
    {"SELECT x.| FROM trades t", "!symbol !*", NULL},
    {"SELECT q.| FROM trades t JOIN quotes q ON t.symbol = q.symbol", "bid ask !price", NULL},
    {"SELECT b.| FROM (SELECT symbol AS s, SUM(qty) AS n FROM trades GROUP BY symbol) b",
     "s n !symbol", NULL},
    {"WITH b AS (SELECT symbol AS s, price * 2 AS p FROM trades) SELECT b.| FROM b", "s p", NULL},
    {"WITH b(one, two) AS (SELECT symbol, price FROM trades) SELECT b.| FROM b", "one two !price",
     NULL},
    {"WITH a AS (SELECT * FROM trades), b AS (SELECT a.*, 1 AS k FROM a) SELECT b.| FROM b",
     "symbol k", NULL},
    /* the subquery is wrong: its names must do */
    {"SELECT b.| FROM (SELECT nope AS s, SUM(,) AS n FROM trades) b", "s", NULL},
    {"SELECT b.| FROM (SELECT nope AS s, t.* FROM trades t) b", "s venue", NULL},
    {"SELECT w.| FROM TUMBLE(trades, _ts, INTERVAL '1' MINUTE) w", "symbol window_start window_end",
     NULL},
    {"SELECT * FROM trades t WHERE EXISTS (SELECT 1 FROM quotes q WHERE q.symbol = t.|",
     "price !bid", NULL},
    /* expressions */
    {"SELECT | FROM trades", "symbol price _ts SUM UPPER CASE DISTINCT trades !FROM", NULL},
    {"SELECT su| FROM trades", "SUM SUBSTRING !symbol", "su"},
    {"SELECT SUM(| FROM trades", "price qty", NULL},
    {"SELECT SUM(p| FROM trades GROUP BY symbol", "price !qty", "p"},
    {"SELECT symbol, | FROM trades", "price COUNT", NULL},
    {"SELECT symbol FROM trades WHERE |", "price UPPER NOT !SUM", NULL},
    {"SELECT symbol FROM trades WHERE price > 1 AND |", "qty", NULL},
    {"SELECT symbol, COUNT(*) FROM trades GROUP BY |", "symbol ALL ROLLUP( !SUM", NULL},
    {"SELECT symbol, COUNT(*) FROM trades GROUP BY symbol HAVING |", "COUNT", NULL},
    {"SELECT * FROM trades t JOIN quotes q ON |", "t.symbol q.symbol bid price !symbol !venue",
     NULL},
    {"SELECT ven| FROM trades t JOIN quotes q ON t.symbol = q.symbol", "t.venue q.venue", "ven"},
    {"SELECT symbol FROM trades t WHERE price > (SELECT AVG(bid) FROM quotes q WHERE |",
     "bid symbol q t t.symbol price", NULL},
    {"SELECT * FROM trades LATEST BY |", "symbol", NULL},
    {"SELECT CASE WHEN | FROM trades", "price", NULL},
    {"SELECT u FROM structures s, UNNEST(s.legs) AS u WHERE |", "u trade_id", NULL},
    {"SELECT ROW_NUMBER() OVER (|) FROM trades", "PARTITION_BY ORDER_BY !symbol", NULL},
    {"SELECT ROW_NUMBER() OVER (PARTITION BY |) FROM trades", "symbol", NULL},
    {"SELECT a FROM trades UNION ALL SELECT | FROM quotes", "bid !price", NULL},
    {"INSERT INTO out SELECT | FROM trades", "symbol", NULL},
    /* keywords, as the parser takes them */
    {"|", "SELECT WITH INSERT_INTO", NULL},
    {"SEL|", "SELECT !WITH", "SEL"},
    {"SELECT symbol |", "FROM AS !SELECT", NULL},
    {"SELECT symbol FROM trades |", "WHERE GROUP_BY LEFT_JOIN JOIN LATEST_BY AS !FROM", NULL},
    {"SELECT symbol FROM trades wh|", "WHERE !GROUP_BY", "wh"},
    {"SELECT symbol FROM trades GROUP |", "BY !symbol", NULL},
    {"SELECT symbol FROM trades t JOIN quotes q |", "ON USING", NULL},
    {"SELECT price FROM trades WHERE price |", "AND IS IN BETWEEN LIKE OR", NULL},
    {"SELECT a, FROM trades WHERE price |", "AND GROUP_BY", NULL}, /* wrong further up */
    {"SELECT CAST(price AS |) FROM trades", "STRING LONG !price", NULL},
    {"SELECT price::d| FROM trades", "DOUBLE !LONG", "d"},
    /* Json */
    {"SELECT legs | FROM structures", "-> ->> FROM", NULL},
    {"SELECT legs| FROM structures", "legs legs-> legs->>", "legs"},
    {"SELECT n | FROM structures", "!-> FROM", NULL},
    {"SELECT legs->| FROM structures", "user size", NULL},
    {"SELECT legs->'|' FROM structures", "user size", "''"},
    {"SELECT legs->'u|' FROM structures", "user !size", "'u'"},
    {"SELECT legs->'u| FROM structures WHERE trade_id = 'a'", "user !size", "'u"},
    {"SELECT s.legs->'user'->>'| FROM structures s", "id tier !size", "'"},
    {"SELECT s.legs->'user' | FROM structures s", "-> ->>", NULL},
    {"SELECT legs->'nope'->'|' FROM structures", "!id !user", "''"},
    {"SELECT d.l->'|' FROM (SELECT legs AS l FROM structures) d", "user", "''"},
    {"WITH d AS (SELECT * FROM structures) SELECT legs->'user'->'|' FROM d", "tier", "''"},
    /* nothing fits */
    {"SELECT symbol AS | FROM trades", "!symbol !SUM", NULL},
    {"SELECT 'sym|' FROM trades", "!symbol", "'sym'"},
    {"SELECT 12| FROM trades", "!symbol", NULL},
    {"SELECT a -- sym| \n FROM trades", "!symbol", NULL},
    {"SELECT a /* | */ FROM trades", "!symbol", NULL},
    {"SELECT a FROM trades LIMIT |", "!symbol", NULL},
    {"SELECT \"sy| FROM trades", "symbol !SUM", "\"sy"},
};

static const example in_pipelines[] = {
    {"SELECT * FROM |", "trades quotes !positions !bars", NULL},
    {"SELECT symbol FROM trades GROUP BY symbol WINDOW |", "TUMBLING HOPPING SESSION", NULL},
    {"SELECT symbol FROM trades GROUP BY symbol WINDOW TUMBLING(|", "SIZE !symbol", NULL},
    {"SELECT | FROM trades GROUP BY symbol WINDOW TUMBLING(SIZE 1 MINUTE)",
     "window_start window_end symbol", NULL},
    {"SELECT symbol FROM trades GROUP BY symbol WINDOW TUMBLING(SIZE 1 MINUTE) |", "EMIT_CHANGES",
     NULL},
    {"SELECT * FROM trades t JOIN quotes q |", "WITHIN ON", NULL},
};

static bool offers(const sf_completions *found, sf_str label)
{
    for (size_t i = 0; i < found->items.len; i++) {
        sf_str got = sf_str_of(found->items.data[i].label);
        bool same = got.len == label.len;
        for (size_t k = 0; same && k < got.len; k++)
            same = got.data[k] == label.data[k] || (got.data[k] == ' ' && label.data[k] == '_');
        if (same)
            return true;
    }
    return false;
}

static void run_example(const example *e, sf_plan_kind kind, const sf_resolver *resolver)
{
    const char *bar = strchr(e->text, '|');
    sf_buf text = {0};
    sf_completions found;
    sf_error err = {0};
    sf_buf_put(&text, e->text, (size_t)(bar - e->text));
    sf_buf_puts(&text, bar + 1);
    int before = sf_check_failures;
    CHECK_INT(
        sf_sql_complete(sf_buf_str(&text), (uint32_t)(bar - e->text), kind, resolver, &found, &err),
        SF_OK);
    for (const char *at = e->wanted; *at;) {
        size_t len = strcspn(at, " ");
        bool refused = *at == '!';
        sf_str label = {at + refused, len - refused};
        if (offers(&found, label) == refused) {
            printf("  %s \"%.*s\"\n", refused ? "should not offer" : "should offer",
                   SF_STR_ARG(label));
            sf_check_failures++;
        }
        at += len + (at[len] == ' ');
    }
    sf_str replaced = {text.data + found.from, found.to - found.from};
    sf_str wanted = sf_str_of(e->replaced ? e->replaced : "");
    CHECK(sf_str_eq(replaced, wanted));
    if (sf_check_failures != before)
        printf("  at: %s\n", e->text);
    sf_completions_deinit(&found);
    sf_buf_deinit(&text);
}

static void offers_what_fits(void)
{
    world w = {0};
    REQUIRE(world_init(&w));
    sf_resolver resolver = world_resolver(&w);
    for (size_t i = 0; i < SF_COUNT_OF(in_tables); i++)
        run_example(&in_tables[i], SF_PLAN_TABLE, &resolver);
    for (size_t i = 0; i < SF_COUNT_OF(in_pipelines); i++)
        run_example(&in_pipelines[i], SF_PLAN_PIPELINE, &resolver);
    world_deinit(&w);
}

static void describes_items(void)
{
    world w = {0};
    sf_completions found;
    sf_error err = {0};
    REQUIRE(world_init(&w));
    sf_resolver resolver = world_resolver(&w);
    sf_str text = SF_STR("SELECT roun FROM trades");
    REQUIRE_OK(sf_sql_complete(text, 11, SF_PLAN_TABLE, &resolver, &found, &err), err);
    REQUIRE(found.items.len == 1);
    CHECK_STR(found.items.data[0].insert, "ROUND(");
    CHECK_STR(sf_completion_kind_name(found.items.data[0].kind), "function");
    CHECK(strncmp(found.items.data[0].detail, "ROUND(x", 7) == 0);
    CHECK(found.items.data[0].doc[0] != '\0');
    sf_completions_deinit(&found);
    text = SF_STR("SELECT pric FROM trades");
    REQUIRE_OK(sf_sql_complete(text, 11, SF_PLAN_TABLE, &resolver, &found, &err), err);
    REQUIRE(found.items.len == 1);
    CHECK_STR(found.items.data[0].detail, "Double");
    sf_completions_deinit(&found);
    world_deinit(&w);
}

/* Every cut of every example, with and without its rest: no failure, no harm. */
static void bears_any_text(void)
{
    world w = {0};
    sf_completions found;
    REQUIRE(world_init(&w));
    sf_resolver resolver = world_resolver(&w);
    for (size_t i = 0; i < SF_COUNT_OF(in_tables); i++) {
        sf_str text = sf_str_of(in_tables[i].text);
        for (uint32_t at = 0; at <= text.len; at++) {
            CHECK(sf_sql_complete(text, at, SF_PLAN_TABLE, &resolver, &found, NULL) == SF_OK);
            CHECK(found.from <= found.to && found.to <= text.len);
            sf_completions_deinit(&found);
            sf_str cut = {text.data, at};
            CHECK(sf_sql_complete(cut, at, SF_PLAN_PIPELINE, &resolver, &found, NULL) == SF_OK);
            sf_completions_deinit(&found);
        }
    }
    world_deinit(&w);
}

/* Text that asks for much work: deep, wide, self-referring. */
static void bears_hostile_text(void)
{
    static const char *const pieces[] = {
        "(",
        "SELECT * FROM (",
        "WITH a AS (SELECT * FROM a, a), ",
        "UNNEST(",
        "a,",
        "x->'",
        "SELECT a.* FROM a JOIN a UNION ",
        "\"",
        "/*",
    };
    world w = {0};
    REQUIRE(world_init(&w));
    sf_resolver resolver = world_resolver(&w);
    for (size_t i = 0; i < SF_COUNT_OF(pieces); i++) {
        sf_buf text = {0};
        sf_completions found;
        while (text.len < 200000)
            sf_buf_puts(&text, pieces[i]);
        sf_buf_puts(&text, "SELECT a. FROM a");
        CHECK(sf_sql_complete(sf_buf_str(&text), (uint32_t)text.len - 7, SF_PLAN_TABLE, &resolver,
                              &found, NULL) == SF_OK);
        sf_completions_deinit(&found);
        CHECK(sf_sql_complete(sf_buf_str(&text), (uint32_t)text.len, SF_PLAN_TABLE, &resolver,
                              &found, NULL) == SF_OK);
        sf_completions_deinit(&found);
        sf_buf_deinit(&text);
    }
    sf_buf text = {0};
    sf_completions found;
    while (text.len <= 1 << 20)
        sf_buf_puts(&text, "SELECT ");
    CHECK(sf_sql_complete(sf_buf_str(&text), 3, SF_PLAN_TABLE, &resolver, &found, NULL) ==
          SF_LIMIT);
    sf_completions_deinit(&found);
    sf_buf_deinit(&text);
    world_deinit(&w);
}

int suite_complete(void)
{
    static const sf_case cases[] = {
        SF_CASE(offers_what_fits),
        SF_CASE(describes_items),
        SF_CASE(bears_any_text),
        SF_CASE(bears_hostile_text),
    };
    return sf_run_cases("sql complete", cases, SF_COUNT_OF(cases));
}

/* Statements that compile: columns and key of the answer, and the plan. */
#include "unit/check.h"
#include "unit/sql/suites.h"
#include "unit/sql/world.h"

typedef struct {
    const char *text;
    const char *columns; /* name Type, ...; then " key(numbers)" when the key is known */
    const char *plan;    /* NULL: not looked at */
} sample;

static void put_columns(const sf_plan *plan, sf_buf *out)
{
    const sf_schema *schema = sf_plan_schema(plan);
    for (uint32_t i = 0; i + 1 < schema->count; i++)
        sf_buf_printf(out, "%s%s %s", i ? ", " : "", schema->fields[i].name,
                      sf_type_name(schema->fields[i].type));
    if (!plan->key_known)
        return;
    sf_buf_puts(out, " key(");
    for (size_t i = 0; i < plan->key_columns.len; i++)
        sf_buf_printf(out, "%s%u", i ? " " : "", plan->key_columns.data[i]);
    sf_buf_puts(out, ")");
}

static void check_sample(const sample *s, sf_plan_kind kind)
{
    world w;
    REQUIRE(world_init(&w));
    sf_resolver resolver = world_resolver(&w);
    sf_plan *plan = NULL;
    sf_diagnostics diagnostics = {0};
    sf_error err = {0};
    sf_status status =
        sf_sql_compile(sf_str_of(s->text), kind, &resolver, &plan, &diagnostics, &err);
    CHECK_INT(status, SF_OK);
    CHECK_INT(diagnostics.list.len, 0);
    if (status == SF_OK) {
        sf_buf columns = {0}, text = {0};
        put_columns(plan, &columns);
        sf_plan_print(plan, &text);
        CHECK_STR(columns.data, s->columns);
        if (s->plan)
            CHECK_STR(text.data, s->plan);
        sf_buf_deinit(&columns);
        sf_buf_deinit(&text);
        const sf_field *last = &sf_plan_schema(plan)->fields[sf_plan_schema(plan)->count - 1];
        CHECK_STR(last->name, "_ts");
        CHECK(last->hidden);
    } else {
        printf("  %s\n  %s (%s)\n", s->text, err.message, err.hint);
    }
    sf_plan_free(plan);
    sf_diagnostics_deinit(&diagnostics);
    world_deinit(&w);
}

static void check_samples(const sample *samples, size_t count, sf_plan_kind kind)
{
    for (size_t i = 0; i < count; i++)
        check_sample(&samples[i], kind);
}

static void selecting(void)
{
    static const sample samples[] = {
        {"SELECT * FROM trades", "symbol String, price Double, qty Long, side String, venue String",
         NULL},
        {"SELECT symbol, price * qty AS v FROM trades WHERE side = 'BUY' AND price > 10",
         "symbol String, v Double",
         "FilterProject where ((side = 'BUY') AND (price > 10)) -> symbol AS symbol, (price * "
         "TO_DOUBLE(qty)) AS v\n"
         "  Scan trades\n"},
        {"SELECT SYMBOL, Trades.Price FROM trades AS Trades", "SYMBOL String, Price Double", NULL},
        {"SELECT t.* FROM trades t",
         "symbol String, price Double, qty Long, side String, venue "
         "String",
         NULL},
        {"SELECT t.*, q.bid FROM trades t JOIN quotes q ON t.symbol = q.symbol",
         "t_symbol String, t_price Double, t_qty Long, t_side String, t_venue String, bid Double",
         NULL},
        {"SELECT price + 1, ABS(qty), legs -> 'a', legs ->> 'b', legs -> 0, CAST(n AS DOUBLE), "
         "CASE WHEN ok THEN 1 END FROM trades CROSS JOIN structures",
         "col1 Double, abs Long, a Json, b String, col5 Json, col6 Double, col7 Long", NULL},
        {"SELECT COUNT(*), COUNT(*), SUM(qty), SUM(price) FROM trades",
         "count_star Long, count_star_2 Long, sum Long, sum_2 Double key()", NULL},
        {"SELECT price, qty AS price FROM trades", "price_2 Double, price Long", NULL},
        {"SELECT NULL AS a, TRUE AS b, 1 AS c, 1.5 AS d, 'x' AS e FROM trades",
         "a String, b Bool, c Long, d Double, e String", NULL},
        {"SELECT _ts, t FROM structures WHERE _ts > 5", "_ts Long, t Timestamp", NULL},
        {"SELECT t + INTERVAL '5' MINUTE AS a FROM structures", "a Timestamp",
         "FilterProject -> (t + 300000) AS a\n  Scan structures\n"},
        {"SELECT CASE qty WHEN 1 THEN 'a' WHEN 2 THEN 'b' ELSE 'c' END AS c FROM trades",
         "c String", NULL},
        {"SELECT qty IN (1, 2) AS a, qty NOT BETWEEN 1 AND 2 AS b, symbol NOT LIKE 'x%' AS c, ok "
         "IS NOT TRUE AS d, ok IS UNKNOWN AS e, qty IS DISTINCT FROM 1 AS f FROM trades, LATERAL "
         "(SELECT ok FROM structures) s",
         "a Bool, b Bool, c Bool, d Bool, e Bool, f Bool", NULL},
        {"SELECT symbol FROM trades WHERE (symbol, qty) IN (('a', 1), ('b', 2)) AND (side, venue) "
         "<> ('x', 'y')",
         "symbol String", NULL},
        {"SELECT x.a, x.qty FROM trades x (a, b)", "a String, qty Long", NULL},
        {"SELECT symbol FROM bars WHERE trades > 3", "symbol String", NULL},
    };
    check_samples(samples, SF_COUNT_OF(samples), SF_PLAN_TABLE);
}

static void joining(void)
{
    static const sample samples[] = {
        /* A filter on one side stands below the join, and only what is used goes up. */
        {"SELECT t.qty, q.bid FROM trades t JOIN quotes q ON t.symbol = q.symbol AND t.price > "
         "q.bid WHERE t.side = 'BUY' AND q.ask < 5",
         "qty Long, bid Double",
         "FilterProject -> qty AS qty, bid AS bid\n"
         "  Join inner on symbol = symbol with (price > bid)\n"
         "    FilterProject where (side = 'BUY') -> symbol AS symbol, price AS price, qty AS qty\n"
         "      Scan trades\n"
         "    FilterProject where (ask < 5) -> symbol AS symbol, bid AS bid\n"
         "      Scan quotes\n"},
        /* Not below an outer join on the padded side. */
        {"SELECT t.qty, q.bid FROM trades t LEFT JOIN quotes q ON t.symbol = q.symbol AND q.ask > "
         "1 WHERE t.side = 'BUY' AND q.bid IS NULL",
         "qty Long, bid Double",
         "FilterProject where (bid IS NULL) -> qty AS qty, bid AS bid\n"
         "  Join left on symbol = symbol\n"
         "    FilterProject where (side = 'BUY') -> symbol AS symbol, qty AS qty\n"
         "      Scan trades\n"
         "    FilterProject where (ask > 1) -> symbol AS symbol, bid AS bid\n"
         "      Scan quotes\n"},
        /* CROSS JOIN with an equality in WHERE has a key. */
        {"SELECT t.qty FROM trades t CROSS JOIN quotes q WHERE t.symbol = q.symbol", "qty Long",
         "FilterProject -> qty AS qty\n"
         "  Join inner on symbol = symbol\n"
         "    FilterProject -> symbol AS symbol, qty AS qty\n"
         "      Scan trades\n"
         "    FilterProject -> symbol AS symbol\n"
         "      Scan quotes\n"},
        {"SELECT t.qty FROM trades t JOIN quotes q ON UPPER(t.symbol) = q.symbol || 'x'",
         "qty Long",
         "FilterProject -> qty AS qty\n"
         "  Join inner on key = key\n"
         "    FilterProject -> symbol AS symbol, qty AS qty, UPPER(symbol) AS key\n"
         "      Scan trades\n"
         "    FilterProject -> symbol AS symbol, (symbol || 'x') AS key\n"
         "      Scan quotes\n"},
        {"SELECT symbol, trades FROM trades JOIN positions USING (symbol)",
         "symbol String, trades Long", NULL},
        {"SELECT * FROM trades NATURAL FULL JOIN quotes",
         "symbol String, venue String, trades_price Double, trades_qty Long, trades_side String, "
         "quotes_bid Double, quotes_ask Double",
         NULL},
        {"SELECT symbol FROM trades JOIN quotes USING (symbol) RIGHT JOIN positions USING (symbol)",
         "symbol String", NULL},
        {"SELECT a.qty FROM trades a JOIN (quotes b JOIN positions c ON b.symbol = c.symbol) ON "
         "a.symbol = c.symbol",
         "qty Long", NULL},
        {"SELECT _ts, a._ts AS x, b._ts AS y FROM trades a JOIN quotes b ON a.symbol = b.symbol "
         "WHERE _ts > 5",
         "_ts Long, x Long, y Long",
         "FilterProject where (_ts > 5) -> _ts AS _ts, _ts AS x, _ts AS y\n"
         "  Join inner on symbol = symbol\n"
         "    FilterProject -> symbol AS symbol\n"
         "      Scan trades\n"
         "    FilterProject -> symbol AS symbol\n"
         "      Scan quotes\n"},
        {"SELECT l ->> 'ccy' AS ccy, SUM(l -> 'notional') AS notional FROM structures s, "
         "UNNEST(s.legs) AS l GROUP BY l ->> 'ccy'",
         "ccy String, notional Double key(0)",
         "FilterProject -> ccy AS ccy, sum AS notional\n"
         "  Reduce by (ccy): SUM(JSON NUMBER((l -> 'notional')))\n"
         "    FilterProject -> l AS l, (l ->> 'ccy') AS ccy\n"
         "      Unnest legs\n"
         "        Scan structures\n"},
        {"SELECT * FROM structures CROSS JOIN UNNEST(legs) AS l (leg) WHERE n > 1 AND leg ->> 'a' "
         "= 'b'",
         "structures_trade_id String, structures_legs Json, structures_n Long, structures_t "
         "Timestamp, structures_ok Bool, leg Json",
         NULL},
    };
    check_samples(samples, SF_COUNT_OF(samples), SF_PLAN_TABLE);
}

static void grouping(void)
{
    static const sample samples[] = {
        {"SELECT symbol, COUNT(*) AS n, SUM(qty) AS q FROM trades GROUP BY symbol",
         "symbol String, n Long, q Long key(0)",
         "FilterProject -> symbol AS symbol, count_star AS n, sum AS q\n"
         "  Reduce by (symbol): COUNT(*), SUM(qty)\n"
         "    Scan trades\n"},
        {"SELECT COUNT(*) + COUNT(*) AS n FROM trades WHERE qty > 1", "n Long key()",
         "FilterProject -> (count_star + count_star) AS n\n"
         "  Reduce by (): COUNT(*)\n"
         "    FilterProject where (qty > 1)\n"
         "      Scan trades\n"},
        {"SELECT price * 2 AS p, COUNT(*) AS n FROM trades GROUP BY p HAVING COUNT(*) > 1",
         "p Double, n Long key(0)",
         "FilterProject where (count_star > 1) -> col1 AS p, count_star AS n\n"
         "  Reduce by (col1): COUNT(*)\n"
         "    FilterProject -> GROUP KEY((price * 2)) AS col1\n"
         "      Scan trades\n"},
        {"SELECT venue, UPPER(t.symbol) AS s, MAX(price) FROM trades t GROUP BY ALL",
         "venue String, s String, max Double key(0 1)", NULL},
        {"SELECT UPPER(symbol) || '!' AS s FROM trades GROUP BY UPPER(symbol), 1", "s String",
         NULL},
        {"SELECT t.qty + 1 AS a, COUNT(*) AS n FROM trades t GROUP BY qty + 1",
         "a Long, n Long key(0)", NULL},
        {"SELECT 1 AS a FROM trades GROUP BY symbol", "a Long", NULL},
        {"SELECT symbol FROM trades GROUP BY symbol HAVING MAX(price) > 2 AND symbol <> 'x'",
         "symbol String key(0)", NULL},
        {"SELECT SUM(qty) FILTER (WHERE side = 'BUY') AS b, COUNT(DISTINCT symbol) AS d, MEDIAN("
         "price) AS m FROM trades",
         "b Long, d Long, m Double key()", NULL},
        {"SELECT symbol, venue, COUNT(*) AS n FROM trades GROUP BY ROLLUP(symbol, venue)",
         "symbol String, venue String, n Long",
         "FilterProject -> symbol AS symbol, venue AS venue, count_star AS n\n"
         "  UnionAll\n"
         "    FilterProject -> symbol AS symbol, venue AS venue, count_star AS count_star\n"
         "      Reduce by (symbol, venue): COUNT(*)\n"
         "        Scan trades\n"
         "    FilterProject -> symbol AS symbol, NULL AS venue, count_star AS count_star\n"
         "      Reduce by (symbol): COUNT(*)\n"
         "        Scan trades\n"
         "    FilterProject -> NULL AS symbol, NULL AS venue, count_star AS count_star\n"
         "      Reduce by (): COUNT(*)\n"
         "        Scan trades\n"},
        {"SELECT symbol, venue, side FROM trades GROUP BY symbol, GROUPING SETS ((venue, side), "
         "CUBE(venue), ())",
         "symbol String, venue String, side String", NULL},
        {"SELECT w.n, window_start, COUNT(*) AS c FROM TABLE(TUMBLE(TABLE structures, "
         "DESCRIPTOR(t), "
         "INTERVAL '10' SECOND)) w GROUP BY w.n, window_start, window_end",
         "n Long, window_start Timestamp, c Long", NULL},
        {"SELECT COUNT(*) AS c FROM HOP(structures, t, 2 SECONDS, 5 SECONDS) GROUP BY window_end",
         "c Long", NULL},
    };
    check_samples(samples, SF_COUNT_OF(samples), SF_PLAN_TABLE);
}

static void windows_and_latest(void)
{
    static const sample samples[] = {
        {"SELECT symbol, price FROM (SELECT symbol, price, ROW_NUMBER() OVER (PARTITION BY symbol "
         "ORDER BY price DESC) AS rn FROM trades) t WHERE rn <= 2",
         "symbol String, price Double",
         "FilterProject where (rn <= 2) -> symbol AS symbol, price AS price\n"
         "  FilterProject -> symbol AS symbol, price AS price, row_number AS rn\n"
         "    Over by (symbol) order price desc limit 2: ROW_NUMBER()\n"
         "      FilterProject -> symbol AS symbol, price AS price\n"
         "        Scan trades\n"},
        {"SELECT symbol, r FROM (SELECT symbol, RANK() OVER w AS r, LAG(qty) OVER w AS p FROM "
         "trades WINDOW w AS (ORDER BY qty)) t WHERE 3 > r AND symbol <> ''",
         "symbol String, r Long",
         "FilterProject where ((3 > r) AND (symbol <> '')) -> symbol AS symbol, r AS r\n"
         "  FilterProject -> symbol AS symbol, rank AS r, lag AS p\n"
         "    Over order qty rank up to 2: RANK(), LAG(qty, 1)\n"
         "      FilterProject -> symbol AS symbol, qty AS qty\n"
         "        Scan trades\n"},
        {"SELECT symbol, rn FROM (SELECT symbol, ROW_NUMBER() OVER (ORDER BY qty) AS rn, COUNT(*) "
         "OVER (ORDER BY qty) AS n FROM trades) t WHERE rn <= 2",
         "symbol String, rn Long",
         "FilterProject where (rn <= 2) -> symbol AS symbol, rn AS rn\n"
         "  FilterProject -> symbol AS symbol, row_number AS rn, count_star AS n\n"
         "    Over order qty: ROW_NUMBER(), COUNT(*) range unbounded preceding to current row\n"
         "      FilterProject -> symbol AS symbol, qty AS qty\n"
         "        Scan trades\n"},
        {"SELECT symbol, SUM(qty) OVER (PARTITION BY venue ORDER BY _ts RANGE BETWEEN INTERVAL '5' "
         "SECOND PRECEDING AND CURRENT ROW) AS s FROM trades",
         "symbol String, s Long",
         "FilterProject -> symbol AS symbol, sum AS s\n"
         "  Over by (venue) order _ts: SUM(qty) range 5000 preceding to current row\n"
         "    FilterProject -> symbol AS symbol, venue AS venue, _ts AS _ts, qty AS qty\n"
         "      Scan trades\n"},
        {"SELECT symbol, qty FROM trades ORDER BY price NULLS FIRST, 2 DESC LIMIT 3 OFFSET 1",
         "symbol String, qty Long",
         "FilterProject -> symbol AS symbol, qty AS qty\n"
         "  Top order _order3 nulls first, qty desc limit 3 offset 1\n"
         "    FilterProject -> symbol AS symbol, qty AS qty, price AS _order3\n"
         "      Scan trades\n"},
        {"SELECT t.qty, q.bid FROM trades t ASOF JOIN quotes q ON t.symbol = q.symbol WHERE t.qty "
         "> "
         "1 AND q.bid > 2",
         "qty Long, bid Double",
         "FilterProject where (bid > 2) -> qty AS qty, bid AS bid\n"
         "  AsofJoin inner on symbol = symbol nearest _ts >= _ts\n"
         "    FilterProject where (qty > 1) -> symbol AS symbol, qty AS qty\n"
         "      Scan trades\n"
         "    FilterProject -> symbol AS symbol, bid AS bid\n"
         "      Scan quotes\n"},
        {"SELECT t.qty, q.bid FROM trades t ASOF LEFT JOIN quotes q MATCH_CONDITION (t.price * 2 < "
         "q.bid) ON t.symbol = q.symbol",
         "qty Long, bid Double",
         "FilterProject -> qty AS qty, bid AS bid\n"
         "  AsofJoin left on symbol = symbol nearest key < key\n"
         "    FilterProject -> symbol AS symbol, price AS price, qty AS qty, GROUP KEY((price * "
         "2)) AS key\n"
         "      Scan trades\n"
         "    FilterProject -> symbol AS symbol, bid AS bid, GROUP KEY(bid) AS key\n"
         "      Scan quotes\n"},
        {"SELECT DISTINCT venue, qty FROM trades", "venue String, qty Long",
         "Reduce by (venue, qty): \n"
         "  FilterProject -> venue AS venue, qty AS qty\n"
         "    Scan trades\n"},
        {"SELECT * FROM trades WHERE qty > 0 LATEST BY (symbol, venue)",
         "symbol String, price Double, qty Long, side String, venue String key(0 4)",
         "FilterProject -> symbol AS symbol, price AS price, qty AS qty, side AS side, venue AS "
         "venue\n"
         "  LatestBy (symbol, venue)\n"
         "    FilterProject where (qty > 0)\n"
         "      Scan trades\n"},
        {"SELECT qty FROM trades LATEST BY UPPER(symbol)", "qty Long",
         "FilterProject -> qty AS qty\n"
         "  LatestBy (key)\n"
         "    FilterProject -> qty AS qty, _retract AS _retract, UPPER(symbol) AS key\n"
         "      Scan trades\n"},
        {"SELECT v FROM (SELECT symbol, COUNT(*) AS v FROM trades GROUP BY symbol) x WHERE v > 1",
         "v Long", NULL},
        {"SELECT symbol, v FROM (SELECT symbol, COUNT(*) AS v FROM trades GROUP BY symbol) x WHERE "
         "v > 1",
         "symbol String, v Long key(0)", NULL},
    };
    check_samples(samples, SF_COUNT_OF(samples), SF_PLAN_TABLE);
}

static void subqueries(void)
{
    static const sample samples[] = {
        {"SELECT qty FROM trades WHERE symbol IN (SELECT symbol FROM positions WHERE trades > 50)",
         "qty Long",
         "FilterProject -> qty AS qty\n"
         "  Join semi on symbol = symbol\n"
         "    FilterProject -> symbol AS symbol, qty AS qty\n"
         "      Scan trades\n"
         "    FilterProject where (trades > 50) -> symbol AS symbol\n"
         "      Scan positions\n"},
        {"SELECT qty FROM trades WHERE NOT (symbol IN (SELECT symbol FROM quotes))", "qty Long",
         "FilterProject -> qty AS qty\n"
         "  Join not in on symbol = symbol\n"
         "    FilterProject -> symbol AS symbol, qty AS qty\n"
         "      Scan trades\n"
         "    FilterProject where (symbol IS NOT NULL) -> symbol AS symbol\n"
         "      Scan quotes\n"},
        {"SELECT qty FROM trades t WHERE NOT EXISTS (SELECT 1 FROM quotes q WHERE q.symbol = "
         "t.symbol AND bid > 2)",
         "qty Long",
         "FilterProject -> qty AS qty\n"
         "  Join anti on symbol = symbol\n"
         "    FilterProject -> symbol AS symbol, qty AS qty\n"
         "      Scan trades\n"
         "    FilterProject where (bid > 2) -> symbol AS symbol\n"
         "      Scan quotes\n"},
        {"SELECT qty FROM trades WHERE symbol = ANY (SELECT symbol FROM quotes) AND venue <> ALL "
         "(SELECT venue FROM quotes)",
         "qty Long", NULL},
        {"SELECT qty FROM trades WHERE (symbol, venue) IN (SELECT symbol, venue FROM quotes)",
         "qty Long", NULL},
        {"SELECT qty FROM trades WHERE symbol IN (SELECT symbol FROM quotes GROUP BY symbol HAVING "
         "COUNT(*) > 1)",
         "qty Long", NULL},
        {"SELECT qty FROM trades WHERE price > (SELECT AVG(bid) FROM quotes)", "qty Long",
         "FilterProject -> qty AS qty\n"
         "  Join inner with (price > avg)\n"
         "    FilterProject -> price AS price, qty AS qty\n"
         "      Scan trades\n"
         "    Reduce by (): AVG(bid)\n"
         "      Scan quotes\n"},
        {"SELECT qty, (SELECT COUNT(*) + 1 FROM quotes q WHERE q.symbol = t.symbol) AS n FROM "
         "trades t",
         "qty Long, n Long",
         "FilterProject -> qty AS qty, (COALESCE(count_star, 0) + 1) AS n\n"
         "  Join left on symbol = symbol\n"
         "    FilterProject -> symbol AS symbol, qty AS qty\n"
         "      Scan trades\n"
         "    Reduce by (symbol): COUNT(*)\n"
         "      Scan quotes\n"},
        {"SELECT qty FROM trades WHERE price > ALL (SELECT bid FROM quotes) AND NOT price <= ANY "
         "(SELECT ask FROM quotes q WHERE q.symbol = trades.symbol)",
         "qty Long", NULL},
        {"SELECT qty, EXISTS (SELECT 1 FROM quotes q WHERE q.symbol = t.symbol) AS e FROM trades t",
         "qty Long, e Bool",
         "FilterProject -> qty AS qty, matched AS e\n"
         "  UnionAll\n"
         "    FilterProject -> symbol AS symbol, qty AS qty, TRUE AS matched\n"
         "      Join semi on symbol = symbol\n"
         "        FilterProject -> symbol AS symbol, qty AS qty\n"
         "          Scan trades\n"
         "        FilterProject -> symbol AS symbol\n"
         "          Scan quotes\n"
         "    FilterProject -> symbol AS symbol, qty AS qty, FALSE AS matched\n"
         "      Join anti on symbol = symbol\n"
         "        FilterProject -> symbol AS symbol, qty AS qty\n"
         "          Scan trades\n"
         "        FilterProject -> symbol AS symbol\n"
         "          Scan quotes\n"},
        {"SELECT qty, symbol NOT IN (SELECT symbol FROM quotes) AS n, price < ALL (SELECT bid FROM "
         "quotes) AS a FROM trades WHERE qty > 1 OR venue IN (SELECT venue FROM quotes)",
         "qty Long, n Bool, a Bool", NULL},
        {"SELECT symbol, MAX(price - (SELECT MAX(bid) FROM quotes)) AS d FROM trades GROUP BY "
         "symbol",
         "symbol String, d Double key(0)", NULL},
    };
    check_samples(samples, SF_COUNT_OF(samples), SF_PLAN_TABLE);
}

static void sets_and_names(void)
{
    static const sample samples[] = {
        {"SELECT symbol, qty FROM trades UNION ALL SELECT symbol, bid FROM quotes",
         "symbol String, qty Double",
         "UnionAll\n"
         "  FilterProject -> symbol AS symbol, TO_DOUBLE(qty) AS qty\n"
         "    FilterProject -> symbol AS symbol, qty AS qty\n"
         "      Scan trades\n"
         "  FilterProject -> symbol AS symbol, bid AS bid\n"
         "    Scan quotes\n"},
        {"SELECT symbol FROM trades UNION SELECT venue FROM quotes UNION SELECT symbol FROM quotes",
         "symbol String", NULL},
        {"SELECT symbol FROM trades EXCEPT SELECT symbol FROM quotes INTERSECT SELECT venue FROM "
         "quotes",
         "symbol String", NULL},
        {"(SELECT symbol FROM trades UNION ALL SELECT symbol FROM quotes) UNION SELECT symbol FROM "
         "quotes",
         "symbol String", NULL},
        {"WITH a (s) AS (SELECT symbol FROM trades), b AS (SELECT s FROM a) SELECT a.s FROM b JOIN "
         "a ON a.s = b.s",
         "s String", NULL},
        {"SELECT x.s FROM (WITH a AS (SELECT symbol AS s FROM trades) SELECT * FROM a) x",
         "s String", NULL},
        {"WITH x AS (SELECT 1 AS n FROM trades), y AS (SELECT n FROM x) SELECT n FROM y", "n Long",
         NULL},
        {"SELECT symbol FROM trades EXCEPT ALL SELECT symbol FROM quotes", "symbol String",
         "Repeat by times\n"
         "  FilterProject where ((left - right) > 0) -> symbol AS symbol, (left - right) AS times\n"
         "    Reduce by (symbol): SUM(left), SUM(right)\n"
         "      UnionAll\n"
         "        FilterProject -> symbol AS symbol, 1 AS left, 0 AS right\n"
         "          FilterProject -> symbol AS symbol\n"
         "            Scan trades\n"
         "        FilterProject -> symbol AS symbol, 0 AS left, 1 AS right\n"
         "          FilterProject -> symbol AS symbol\n"
         "            Scan quotes\n"},
        {"SELECT 1 AS a", "a Long", "FilterProject -> 1 AS a\n  OneRow\n"},
    };
    check_samples(samples, SF_COUNT_OF(samples), SF_PLAN_TABLE);
}

static void pipelines(void)
{
    static const sample samples[] = {
        {"SELECT symbol, SUM(price * qty) / SUM(qty) AS vwap FROM trades GROUP BY symbol WINDOW "
         "TUMBLING(SIZE 5 SECONDS)",
         "symbol String, vwap Double, window_start Timestamp, window_end Timestamp",
         "FilterProject -> symbol AS symbol, (sum / TO_DOUBLE(sum)) AS vwap, window_start AS "
         "window_start, window_end AS window_end\n"
         "  Window tumbling 5000 ms by (symbol): SUM((price * TO_DOUBLE(qty))), SUM(qty)\n"
         "    Scan trades\n"},
        {"SELECT window_end, COUNT(*) AS n FROM trades WHERE side = 'BUY' WINDOW HOPPING(SIZE 5 "
         "SECONDS, ADVANCE BY 1 SECOND) EMIT CHANGES",
         "window_end Timestamp, n Long, window_start Timestamp, _final Bool",
         "FilterProject -> window_end AS window_end, count_star AS n, window_start AS "
         "window_start, _final AS _final\n"
         "  Window hopping 5000 ms by 1000 ms by (): COUNT(*) emit changes\n"
         "    FilterProject where (side = 'BUY')\n"
         "      Scan trades\n"},
        {"SELECT symbol FROM trades GROUP BY symbol, window_start WINDOW SESSION(GAP 3 SECONDS) "
         "EMIT FINAL",
         "symbol String, window_start Timestamp, window_end Timestamp", NULL},
        {"SELECT t.qty, q.bid FROM trades t JOIN quotes q WITHIN 5 SECONDS ON t.symbol = q.symbol "
         "AND q.bid < t.price WHERE t.side = 'BUY'",
         "qty Long, bid Double",
         "FilterProject -> qty AS qty, bid AS bid\n"
         "  IntervalJoin inner on symbol = symbol within 5000 ms with (bid < price)\n"
         "    FilterProject where (side = 'BUY') -> symbol AS symbol, price AS price, qty AS qty\n"
         "      Scan trades\n"
         "    FilterProject -> symbol AS symbol, bid AS bid\n"
         "      Scan quotes\n"},
        {"SELECT n, COUNT(*) AS m FROM (SELECT symbol, COUNT(*) AS n FROM trades GROUP BY symbol "
         "WINDOW TUMBLING(SIZE 1 SECOND)) x GROUP BY n WINDOW TUMBLING(SIZE 5 SECONDS)",
         "n Long, m Long, window_start Timestamp, window_end Timestamp", NULL},
        {"SELECT symbol FROM trades UNION ALL SELECT symbol FROM quotes", "symbol String", NULL},
        {"SELECT w.symbol, window_end, COUNT(*) AS n FROM TUMBLE(trades, DESCRIPTOR(_ts), INTERVAL "
         "'5' SECOND) w GROUP BY symbol, window_start, window_end",
         "symbol String, window_end Timestamp, n Long, window_start Timestamp",
         "FilterProject -> symbol AS symbol, window_end AS window_end, count_star AS n, "
         "window_start AS window_start\n"
         "  Window tumbling 5000 ms by (symbol): COUNT(*)\n"
         "    Scan trades\n"},
        {"SELECT symbol, COUNT(*) AS n FROM TABLE(SESSION(TABLE trades PARTITION BY symbol, "
         "DESCRIPTOR(_ts), INTERVAL '5' SECOND)) GROUP BY symbol, window_start, window_end",
         "symbol String, n Long, window_start Timestamp, window_end Timestamp", NULL},
    };
    check_samples(samples, SF_COUNT_OF(samples), SF_PLAN_PIPELINE);
}

/* ---- the other calls of sql.h ---- */

static void warnings(void)
{
    static const struct {
        const char *text, *message;
        uint32_t column;
    } cases[] = {
        {"SELECT SUM(symbol) FROM trades", "text adds nothing to this aggregate", 8},
        {"SELECT t.qty FROM trades t JOIN quotes q ON t.price > q.bid",
         "the JOIN has no equality between its sides", 28},
        {"WITH a AS (SELECT symbol FROM trades) SELECT qty FROM trades",
         "\"a\" of WITH is never read", 6},
    };
    world w;
    REQUIRE(world_init(&w));
    sf_resolver resolver = world_resolver(&w);
    for (size_t i = 0; i < SF_COUNT_OF(cases); i++) {
        sf_plan *plan;
        sf_diagnostics diagnostics = {0};
        sf_error err;
        REQUIRE_OK(sf_sql_compile(sf_str_of(cases[i].text), SF_PLAN_TABLE, &resolver, &plan,
                                  &diagnostics, &err),
                   err);
        REQUIRE(diagnostics.list.len == 1 && plan->warnings.len == 1);
        CHECK(diagnostics.list.data[0].warning);
        CHECK(strncmp(diagnostics.list.data[0].message, cases[i].message,
                      strlen(cases[i].message)) == 0);
        CHECK_STR(plan->warnings.data[0], diagnostics.list.data[0].message);
        CHECK_INT(diagnostics.list.data[0].column, cases[i].column);
        sf_diagnostics_deinit(&diagnostics);
        sf_plan_free(plan);
    }
    world_deinit(&w);
}

static void insert_into(void)
{
    static const struct {
        const char *text, *target, *rest;
    } cases[] = {
        {"SELECT 1", "", "SELECT 1"},
        {"INSERT INTO k SELECT 1", "k", " SELECT 1"},
        {" insert\n into \"my sink\"\nSELECT 1", "my sink", "\nSELECT 1"},
        {"", "", ""},
    };
    for (size_t i = 0; i < SF_COUNT_OF(cases); i++) {
        sf_str target, rest;
        CHECK_INT(sf_sql_strip_insert(sf_str_of(cases[i].text), &target, &rest, NULL), SF_OK);
        CHECK(sf_str_eq(target, sf_str_of(cases[i].target)));
        CHECK(sf_str_eq(rest, sf_str_of(cases[i].rest)));
    }
    sf_str target, rest;
    sf_error err;
    CHECK_INT(sf_sql_strip_insert(SF_STR("INSERT SELECT 1"), &target, &rest, &err), SF_SYNTAX);
    CHECK_INT(err.where.offset, 0);
    CHECK(err.hint[0] != 0);
}

static void positions(void)
{
    uint32_t line, column;
    sf_sql_position(SF_STR("a\nbc"), 3, &line, &column);
    CHECK_INT(line, 2);
    CHECK_INT(column, 2);
}

int suite_bind(void)
{
    static const sf_case cases[] = {
        SF_CASE(selecting),          SF_CASE(joining),    SF_CASE(grouping),
        SF_CASE(windows_and_latest), SF_CASE(subqueries), SF_CASE(pipelines),
        SF_CASE(sets_and_names),     SF_CASE(warnings),   SF_CASE(insert_into),
        SF_CASE(positions),
    };
    return sf_run_cases("sql bind", cases, SF_COUNT_OF(cases));
}

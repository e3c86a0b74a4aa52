/* The demo world: a small market, seeded once into an empty data directory. */
#include "service/internal.h"

typedef struct {
    sf_noun noun;
    bool running;
    const char *body; /* as a client would send it */
} demo_entity;

#define S(name) "{\"name\":\"" name "\",\"type\":\"String\"}"
#define D(name) "{\"name\":\"" name "\",\"type\":\"Double\"}"
#define L(name) "{\"name\":\"" name "\",\"type\":\"Long\"}"
#define T(name) "{\"name\":\"" name "\",\"type\":\"Timestamp\"}"

/* clang-format off */
static const demo_entity sources[] = {
    {SF_NOUN_SOURCE, true,
     "{\"name\":\"trades\",\"description\":\"Trades of eight symbols on three venues\","
     "\"generatorProfile\":\"trades\",\"eventsPerSecond\":8,\"fields\":["
     S("symbol") "," D("price") "," L("qty") "," S("side") "," S("venue") "]}"},
    {SF_NOUN_SOURCE, true,
     "{\"name\":\"quotes\",\"description\":\"Best bid and ask around the same prices\","
     "\"generatorProfile\":\"quotes\",\"eventsPerSecond\":10,\"fields\":["
     S("symbol") "," D("bid") "," D("ask") "," L("bidSize") "," L("askSize") "," S("venue") "]}"},
    {SF_NOUN_SOURCE, true,
     "{\"name\":\"orders\",\"description\":\"Limit orders and what became of them\","
     "\"generatorProfile\":\"orders\",\"eventsPerSecond\":4,\"fields\":["
     S("symbol") "," S("orderId") "," S("side") "," L("qty") "," D("limitPrice") ","
     S("status") "]}"},
    {SF_NOUN_SOURCE, true,
     "{\"name\":\"app_events\",\"description\":\"Application events with a nested payload\","
     "\"generatorProfile\":\"json-events\",\"eventsPerSecond\":3,\"fields\":["
     S("eventType") ",{\"name\":\"payload\",\"type\":\"Json\",\"children\":["
     "{\"name\":\"user\",\"type\":\"Json\",\"children\":[" S("id") "," S("tier") "]},"
     "{\"name\":\"order\",\"type\":\"Json\",\"children\":[" S("symbol") "," L("qty") ","
     D("price") "]},{\"name\":\"tags\",\"type\":\"Json\"}]}]}"},
    {SF_NOUN_SOURCE, true,
     "{\"name\":\"structures\",\"description\":\"Structured trades with an array of legs\","
     "\"generatorProfile\":\"multileg\",\"eventsPerSecond\":3,\"fields\":["
     S("trade_id") "," S("product") "," S("notional_ccy")
     ",{\"name\":\"legs\",\"type\":\"Json\",\"isArray\":true,\"children\":["
     L("leg_no") "," S("pay_rcv") "," D("notional") "," S("ccy") "," S("rate_type") "," D("rate")
     "," S("cp") "," D("strike") "," T("expiry_ts") "," D("ratio") "]}]}"},
    {SF_NOUN_SOURCE, true,
     "{\"name\":\"order_events\",\"description\":\"Stages in the life of orders\","
     "\"generatorProfile\":\"lifecycle\",\"eventsPerSecond\":5,\"fields\":["
     S("order_id") "," S("symbol") "," S("side") "," S("stage") "," L("stage_rank") ","
     T("stage_ts") "," L("qty") "," L("filled_qty") "," D("px") "]}"},
};
/* clang-format on */

static const demo_entity pipelines[] = {
    {SF_NOUN_PIPELINE, true,
     "{\"name\":\"VWAP by symbol (5s)\",\"description\":\"Volume-weighted price per symbol\","
     "\"sql\":\"-- Sum of money over sum of pieces, closed every five seconds of event time\\n"
     "SELECT symbol, SUM(price * qty) / SUM(qty) AS vwap, COUNT(*) AS trades\\n"
     "FROM trades GROUP BY symbol WINDOW TUMBLING(SIZE 5 SECONDS)\"}"},
    {SF_NOUN_PIPELINE, true,
     "{\"name\":\"Trade vs quote spread\",\"description\":\"Buys beside the quotes around them\","
     "\"sql\":\"-- An interval join: rows meet when their event times are at most 5 s apart\\n"
     "SELECT t.symbol, t.price, q.bid, q.ask, t.price - q.bid AS above_bid\\n"
     "FROM trades t JOIN quotes q WITHIN 5 SECONDS ON t.symbol = q.symbol\\n"
     "WHERE t.side = 'BUY'\"}"},
    {SF_NOUN_PIPELINE, true,
     "{\"name\":\"Hot symbol VWAP (nested)\",\"description\":\"Only symbols that traded lately\","
     "\"sql\":\"-- Membership in a windowed query: the set is replaced as windows close\\n"
     "WITH hot AS (SELECT symbol FROM trades GROUP BY symbol WINDOW TUMBLING(SIZE 10 SECONDS))\\n"
     "SELECT t.symbol, SUM(t.price * t.qty) / SUM(t.qty) AS vwap, COUNT(*) AS trades\\n"
     "FROM trades t WHERE t.symbol IN (SELECT symbol FROM hot)\\n"
     "GROUP BY t.symbol WINDOW TUMBLING(SIZE 5 SECONDS)\"}"},
    {SF_NOUN_PIPELINE, false,
     "{\"name\":\"Order bursts (session)\",\"description\":\"Orders without a pause of 3 s\","
     "\"sql\":\"SELECT symbol, COUNT(*) AS orders, SUM(qty) AS total_qty\\n"
     "FROM orders GROUP BY symbol WINDOW SESSION(GAP 3 SECONDS)\"}"},
    {SF_NOUN_PIPELINE, false,
     "{\"name\":\"Unfilled orders (LEFT JOIN)\",\"description\":\"New orders and their trades\","
     "\"sql\":\"-- A left row without a match comes out padded when no match can come any more\\n"
     "SELECT o.orderId, o.symbol, o.qty, t.price\\n"
     "FROM orders o LEFT JOIN trades t WITHIN 10 SECONDS ON o.symbol = t.symbol\\n"
     "WHERE o.status = 'NEW'\"}"},
    {SF_NOUN_PIPELINE, false,
     "{\"name\":\"JSON payload join\",\"description\":\"A path into a payload as a join key\","
     "\"sql\":\"SELECT e.eventType, e.payload -> 'user' ->> 'tier' AS tier,\\n"
     "       e.payload -> 'order' ->> 'symbol' AS symbol, t.price\\n"
     "FROM app_events e JOIN trades t WITHIN 10 SECONDS\\n"
     "  ON e.payload -> 'order' ->> 'symbol' = t.symbol\"}"},
    {SF_NOUN_PIPELINE, true,
     "{\"name\":\"fill-rate-5s\",\"description\":\"Fills per symbol every five seconds\","
     "\"sql\":\"SELECT symbol, COUNT(*) AS fills, SUM(filled_qty) AS filled\\n"
     "FROM order_events WHERE stage = 'PART_FILL' OR stage = 'FILLED'\\n"
     "GROUP BY symbol WINDOW TUMBLING(SIZE 5 SECONDS)\"}"},
};

static const demo_entity tables[] = {
    {SF_NOUN_TABLE, true,
     "{\"name\":\"positions\",\"description\":\"Running totals per symbol\","
     "\"searchEnabled\":true,\"searchMode\":\"Fuzzy\","
     "\"sql\":\"-- Each trade updates its symbol's row in place\\n"
     "SELECT symbol, COUNT(*) AS trades, SUM(qty) AS total_qty,\\n"
     "       AVG(price) AS avg_price, MIN(price) AS low, MAX(price) AS high\\n"
     "FROM trades GROUP BY symbol\"}"},
    {SF_NOUN_TABLE, false,
     "{\"name\":\"gold_tier_orders\",\"description\":\"Orders of gold users per symbol\","
     "\"sql\":\"SELECT payload -> 'order' ->> 'symbol' AS symbol, COUNT(*) AS orders\\n"
     "FROM app_events WHERE payload -> 'user' ->> 'tier' = 'gold'\\n"
     "GROUP BY payload -> 'order' ->> 'symbol'\"}"},
    {SF_NOUN_TABLE, false,
     "{\"name\":\"hot_symbols\",\"description\":\"A table that reads a table\","
     "\"sql\":\"SELECT symbol, trades, avg_price FROM positions WHERE trades > 50\"}"},
    {SF_NOUN_TABLE, true,
     "{\"name\":\"leg_exposure\",\"description\":\"Notional per currency over all legs\","
     "\"sql\":\"-- -> keeps the number, so SUM adds it; ->> would give text, which adds nothing\\n"
     "SELECT l ->> 'ccy' AS ccy, SUM(l -> 'notional') AS notional, COUNT(*) AS legs\\n"
     "FROM structures s, UNNEST(s.legs) AS l GROUP BY l ->> 'ccy'\"}"},
    {SF_NOUN_TABLE, true,
     "{\"name\":\"order_states\",\"description\":\"The newest stage of each order\","
     "\"historyEnabled\":true,\"historyMode\":\"LastN\",\"historyLimit\":8,"
     "\"retentionMaxRows\":2000,"
     "\"sql\":\"SELECT order_id, symbol, side, stage, stage_rank, stage_ts, qty, filled_qty, px\\n"
     "FROM order_events LATEST BY (order_id)\"}"},
};

static sf_status seed(sf_service *service, const demo_entity *entities, size_t count, sf_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const sf_def *def, *now;
        sf_status status = sf_create_def(service, entities[i].noun, sf_str_of(entities[i].body),
                                         "system", &def, err);
        if (status == SF_EXISTS) /* from a start that was cut short */
            continue;
        if (status != SF_OK) {
            sf_error_context(err, "demo world");
            return status;
        }
        if (entities[i].noun != SF_NOUN_SOURCE && entities[i].running) {
            status = sf_query_run(service, def, &now, err);
            if (status == SF_OK && now->error)
                sf_log_write(service->options.log, SF_LOG_INFO, "demo", "\"%s\" does not run: %s",
                             now->name, now->error);
            if (status == SF_OK)
                sf_def_unref(now);
        }
        sf_def_unref(def);
        SF_TRY(status);
    }
    return SF_OK;
}

static bool is_empty(sf_service *service)
{
    for (int kind = 0; kind < SF_ENTITY_KINDS; kind++) {
        sf_def_list list;
        if (sf_catalog_list(service->catalog, (sf_entity_kind)kind, "", &list, NULL) != SF_OK)
            return false;
        bool any = list.count > 0;
        sf_def_list_free(&list);
        if (any)
            return false;
    }
    return true;
}

sf_status sf_seed_demo(sf_service *service, sf_error *err)
{
    sf_buf fact = {0};
    sf_status status = sf_catalog_get_fact(service->catalog, "seeded", &fact, err);
    bool begun = status == SF_OK && sf_str_eq(sf_buf_str(&fact), SF_STR("begun"));
    sf_buf_deinit(&fact);
    if (status != SF_NOT_FOUND && !begun)
        return status;
    pthread_mutex_lock(&service->control);
    status = SF_OK;
    if (begun || is_empty(service)) {
        status = sf_catalog_put_fact(service->catalog, "seeded", SF_STR("begun"), err);
        if (status == SF_OK)
            status = seed(service, sources, SF_COUNT_OF(sources), err);
        if (status == SF_OK)
            status = seed(service, pipelines, SF_COUNT_OF(pipelines), err);
        if (status == SF_OK)
            status = seed(service, tables, SF_COUNT_OF(tables), err);
    }
    if (status == SF_OK)
        status = sf_catalog_put_fact(service->catalog, "seeded", SF_STR("1"), err);
    pthread_mutex_unlock(&service->control);
    return status;
}

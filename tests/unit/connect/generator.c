/* What the profiles make: distributions, determinism, shapes. */
#include "tests.h"
#include "text/text.h"

#include <math.h>

enum { ROWS = 20000, NOW_MS = 1000000 };

static const sf_world world = {.seed = 5, .start_ms = 0};

static sf_generator *open_fields(const char *profile, const sf_field *fields, uint32_t count,
                                 const char *shapes, uint64_t seed)
{
    sf_schema *schema = source_schema(fields, count);
    sf_generator_options options = {.profile = sf_str_of(profile),
                                    .schema = schema,
                                    .fields = sf_str_of(shapes),
                                    .seed = seed,
                                    .world = world};
    sf_generator *generator = NULL;
    sf_error err;
    if (sf_generator_new(&options, &generator, &err) != SF_OK)
        printf("  %s: %s\n", profile, err.message);
    SF_ASSERT(generator);
    sf_schema_unref(schema);
    return generator;
}

static sf_generator *open_profile(const char *profile, uint64_t seed)
{
    const sf_field *fields;
    uint32_t count;
    SF_ASSERT(sf_generator_fields(sf_str_of(profile), &fields, &count));
    return open_fields(profile, fields, count, "", seed);
}

static sf_batch *make(sf_generator *generator, uint32_t rows, int64_t from_ms, int64_t to_ms)
{
    sf_batch *batch = NULL;
    sf_error err;
    SF_ASSERT(sf_generator_rows(generator, rows, from_ms, to_ms, &batch, &err) == SF_OK);
    CHECK(sf_batch_verify(batch, &err));
    CHECK_INT(batch->rows, rows);
    return batch;
}

static sf_batch *make_profile(const char *profile, uint32_t rows)
{
    sf_generator *generator = open_profile(profile, 1);
    sf_batch *batch = make(generator, rows, NOW_MS, NOW_MS);
    sf_generator_free(generator);
    return batch;
}

/* Share of rows with this text, in percent. */
static double share(const sf_batch *batch, const char *column, const char *text)
{
    uint32_t found = 0;
    for (uint32_t row = 0; row < batch->rows; row++)
        found += sf_str_eq(text_at(batch, column, row), sf_str_of(text));
    return 100.0 * found / batch->rows;
}

static bool is_near(double got, double want, double tolerance)
{
    if (fabs(got - want) > tolerance)
        printf("  %g is not near %g\n", got, want);
    return fabs(got - want) <= tolerance;
}

static bool is_cents(double price)
{
    return fabs(price * 100 - round(price * 100)) < 1e-6;
}

static const char *const symbols[] = {"AAPL", "MSFT", "NVDA", "AMZN",
                                      "GOOG", "META", "TSLA", "JPM"};

static int symbol_at(const sf_batch *batch, uint32_t row)
{
    for (int s = 0; s < 8; s++) {
        if (sf_str_eq(text_at(batch, "symbol", row), sf_str_of(symbols[s])))
            return s;
    }
    return -1;
}

/* ---- determinism ---- */

void rows_depend_on_the_seed_alone(void)
{
    static const char *const profiles[] = {"trades",   "quotes",    "orders", "json-events",
                                           "multileg", "lifecycle", "generic"};
    for (size_t p = 0; p < SF_COUNT_OF(profiles); p++) {
        sf_generator *whole = open_profile(profiles[p], 9), *parts = open_profile(profiles[p], 9),
                     *other = open_profile(profiles[p], 10);
        sf_batch *a = make(whole, 1000, NOW_MS, NOW_MS);
        sf_batch *b1 = make(parts, 1, NOW_MS, NOW_MS), *b2 = make(parts, 999, NOW_MS, NOW_MS);
        sf_batch *c = make(other, 1000, NOW_MS, NOW_MS);
        CHECK(same_rows(a, 0, b1, 0, 1));
        CHECK(same_rows(a, 1, b2, 0, 999));
        CHECK(!same_rows(a, 0, c, 0, 1000));
        sf_batch_unref(a);
        sf_batch_unref(b1);
        sf_batch_unref(b2);
        sf_batch_unref(c);
        sf_generator_free(whole);
        sf_generator_free(parts);
        sf_generator_free(other);
    }
}

/* ---- flat profiles ---- */

void trades_are_sane(void)
{
    sf_batch *batch = make_profile("trades", ROWS);
    for (int s = 0; s < 8; s++)
        CHECK(is_near(share(batch, "symbol", symbols[s]), 12.5, 1));
    CHECK(is_near(share(batch, "side", "BUY"), 50, 2));
    CHECK(is_near(share(batch, "side", "SELL"), 50, 2));
    CHECK(is_near(share(batch, "venue", "NYSE"), 33.3, 2));
    CHECK(is_near(share(batch, "venue", "NASDAQ"), 33.3, 2));
    CHECK(is_near(share(batch, "venue", "ARCA"), 33.3, 2));
    double low[8], high[8];
    for (int s = 0; s < 8; s++) {
        low[s] = 1e9;
        high[s] = 0;
    }
    int64_t qty_low = INT64_MAX, qty_high = 0;
    bool qty_steps = true, cents = true;
    for (uint32_t row = 0; row < batch->rows; row++) {
        int s = symbol_at(batch, row);
        REQUIRE(s >= 0);
        double price = double_at(batch, "price", row);
        low[s] = fmin(low[s], price);
        high[s] = fmax(high[s], price);
        cents &= is_cents(price);
        int64_t qty = long_at(batch, "qty", row);
        qty_low = qty < qty_low ? qty : qty_low;
        qty_high = qty > qty_high ? qty : qty_high;
        qty_steps &= qty % 10 == 0;
        CHECK_INT(long_at(batch, SF_COL_TS, row), NOW_MS);
    }
    CHECK(qty_steps && cents);
    CHECK_INT(qty_low, 10);
    CHECK_INT(qty_high, 500);
    for (int s = 0; s < 8; s++) { /* all at one time: within 0.05 % of one price, and a cent */
        CHECK(low[s] > 50 && high[s] < 2000);
        CHECK((high[s] - low[s]) / low[s] < 0.001 + 0.02 / low[s]);
        CHECK(high[s] > low[s]);
    }
    sf_batch_unref(batch);
}

/* Two sources of one world at one time: a trade is 0.05 % around the middle of the quote. */
void quotes_enclose_trades(void)
{
    sf_batch *trades = make_profile("trades", 2000), *quotes = make_profile("quotes", 2000);
    double bid[8] = {0}, ask[8] = {0};
    for (uint32_t row = 0; row < quotes->rows; row++) {
        int s = symbol_at(quotes, row);
        bid[s] = double_at(quotes, "bid", row);
        ask[s] = double_at(quotes, "ask", row);
        double mid = (bid[s] + ask[s]) / 2;
        CHECK(is_near(ask[s] - bid[s], 2 * fmax(0.01, 0.0005 * mid), 0.0101));
        int64_t size = long_at(quotes, "bidSize", row);
        CHECK(size >= 100 && size <= 5000 && size % 100 == 0);
        size = long_at(quotes, "askSize", row);
        CHECK(size >= 100 && size <= 5000 && size % 100 == 0);
    }
    CHECK(is_near(share(quotes, "venue", "ARCA"), 33.3, 5));
    for (uint32_t row = 0; row < trades->rows; row++) {
        int s = symbol_at(trades, row);
        double price = double_at(trades, "price", row);
        CHECK(price >= bid[s] - 0.0101 && price <= ask[s] + 0.0101);
    }
    sf_batch_unref(trades);
    sf_batch_unref(quotes);
}

static int compare_strings(const void *a, const void *b)
{
    return memcmp(a, b, 8);
}

void orders_are_sane(void)
{
    sf_batch *batch = make_profile("orders", ROWS);
    CHECK(is_near(share(batch, "status", "NEW"), 60, 1.5));
    CHECK(is_near(share(batch, "status", "FILLED"), 30, 1.5));
    CHECK(is_near(share(batch, "status", "CANCELLED"), 10, 1.5));
    char(*ids)[8] = sf_calloc(ROWS, sizeof *ids);
    REQUIRE(ids);
    for (uint32_t row = 0; row < batch->rows; row++) {
        sf_str id = text_at(batch, "orderId", row);
        REQUIRE(id.len == 8);
        for (int i = 0; i < 8; i++)
            CHECK(strchr("0123456789ABCDEF", id.data[i]));
        memcpy(ids[row], id.data, 8);
    }
    qsort(ids, ROWS, sizeof *ids, compare_strings);
    for (uint32_t row = 1; row < ROWS; row++)
        CHECK(memcmp(ids[row], ids[row - 1], 8) != 0);
    sf_free(ids);
    sf_batch_unref(batch);
}

/* ---- nested profiles ---- */

static sf_str json_at(sf_str json, const char *key)
{
    sf_str value = {0};
    CHECK(sf_json_get_key(json, sf_str_of(key), &value));
    return value;
}

static double json_number(sf_str json, const char *key)
{
    double value = NAN;
    CHECK_INT(sf_parse_f64(json_at(json, key), &value), SF_PARSE_OK);
    return value;
}

static bool json_is(sf_str json, const char *key, const char *raw)
{
    return sf_str_eq(json_at(json, key), sf_str_of(raw));
}

void json_events_are_sane(void)
{
    enum { EVENTS = 3000 };
    sf_batch *batch = make_profile("json-events", EVENTS);
    CHECK(is_near(share(batch, "eventType", "order.placed"), 33.3, 4));
    CHECK(is_near(share(batch, "eventType", "order.amended"), 33.3, 4));
    CHECK(is_near(share(batch, "eventType", "order.cancelled"), 33.3, 4));
    uint32_t gold = 0, tags = 0;
    for (uint32_t row = 0; row < batch->rows; row++) {
        sf_str payload = text_at(batch, "payload", row);
        sf_error err;
        REQUIRE_OK(sf_json_validate(payload, &err), err);
        sf_str user = json_at(payload, "user"), order = json_at(payload, "order");
        sf_str id = json_at(user, "id");
        int64_t number = 0;
        REQUIRE(id.len > 4 && memcmp(id.data, "\"u-", 3) == 0);
        CHECK_INT(sf_parse_i64((sf_str){id.data + 3, id.len - 4}, &number), SF_PARSE_OK);
        CHECK(number >= 1 && number <= 999);
        gold += json_is(user, "tier", "\"gold\"");
        double qty = json_number(order, "qty"), price = json_number(order, "price");
        CHECK(qty >= 10 && qty <= 500 && fmod(qty, 10) == 0);
        CHECK(price > 50 && price < 2000 && is_cents(price));
        json_at(order, "symbol");
        size_t count = sf_json_array_len(json_at(payload, "tags"));
        CHECK(count <= 5);
        tags += (uint32_t)count;
    }
    CHECK(is_near(100.0 * gold / EVENTS, 33.3, 4));
    CHECK(is_near((double)tags / EVENTS, 2.5, 0.2)); /* each of five, half of the time */
    sf_batch_unref(batch);
}

static void check_leg(sf_str leg, size_t number, bool is_swap)
{
    double notional = json_number(leg, "notional");
    CHECK_INT(json_number(leg, "leg_no"), number);
    CHECK(notional >= 1e6 && notional <= 99e6 && fmod(notional, 1e6) == 0);
    sf_str ccy = json_at(leg, "ccy");
    CHECK(sf_str_eq(ccy, SF_STR("\"USD\"")) || sf_str_eq(ccy, SF_STR("\"EUR\"")) ||
          sf_str_eq(ccy, SF_STR("\"GBP\"")) || sf_str_eq(ccy, SF_STR("\"JPY\"")));
    if (is_swap) {
        CHECK(json_is(leg, "pay_rcv", "\"PAY\"") || json_is(leg, "pay_rcv", "\"RCV\""));
        CHECK(json_is(leg, "rate_type", "\"FIXED\"") || json_is(leg, "rate_type", "\"FLOAT\""));
        CHECK(json_number(leg, "rate") >= 0.5 && json_number(leg, "rate") <= 5.5);
        return;
    }
    CHECK(json_is(leg, "cp", "\"CALL\"") || json_is(leg, "cp", "\"PUT\""));
    CHECK(json_number(leg, "strike") > 0);
    CHECK(json_number(leg, "expiry_ts") > NOW_MS);
    CHECK(fabs(json_number(leg, "ratio")) >= 1);
}

void structures_are_sane(void)
{
    enum { STRUCTURES = 3000 };
    sf_batch *batch = make_profile("multileg", STRUCTURES);
    static const char *const products[] = {"IRS", "STRADDLE", "STRANGLE", "FLY"};
    for (size_t p = 0; p < SF_COUNT_OF(products); p++)
        CHECK(is_near(share(batch, "product", products[p]), 25, 3));
    CHECK(sf_str_eq(text_at(batch, "trade_id", 0), SF_STR("T-000001")));
    CHECK(sf_str_eq(text_at(batch, "trade_id", 1233), SF_STR("T-001234")));
    uint32_t four = 0;
    for (uint32_t row = 0; row < batch->rows; row++) {
        sf_str product = text_at(batch, "product", row), legs = text_at(batch, "legs", row), leg;
        bool is_swap = sf_str_eq(product, SF_STR("IRS")),
             is_fly = sf_str_eq(product, SF_STR("FLY"));
        sf_error err;
        REQUIRE_OK(sf_json_validate(legs, &err), err);
        CHECK_INT(sf_column_is_valid(column_of(batch, "notional_ccy"), row), is_swap);
        size_t count = sf_json_array_len(legs), cursor = 0, number = 0;
        CHECK(is_fly ? count == 3 || count == 4 : count == 2);
        four += count == 4;
        while (sf_json_each(legs, &cursor, &leg))
            check_leg(leg, ++number, is_swap);
        if (is_swap) { /* one leg is paid, the other received; one fixed, the other floating */
            sf_str second;
            REQUIRE(sf_json_get_index(legs, 0, &leg) && sf_json_get_index(legs, 1, &second));
            CHECK(!sf_str_eq(json_at(leg, "pay_rcv"), json_at(second, "pay_rcv")));
            CHECK(!sf_str_eq(json_at(leg, "rate_type"), json_at(second, "rate_type")));
            sf_str ccy = json_at(leg, "ccy");
            CHECK(sf_str_eq(text_at(batch, "notional_ccy", row),
                            (sf_str){ccy.data + 1, ccy.len - 2}));
        }
    }
    CHECK(four > 0);
    sf_batch_unref(batch);
}

/* ---- lifecycle ---- */

typedef struct {
    char id[12];
    int64_t rank, filled, partials;
    bool ended;
} order_seen;

void orders_live_and_end(void)
{
    sf_batch *batch = make_profile("lifecycle", ROWS);
    order_seen *seen = sf_calloc(ROWS, sizeof *seen);
    REQUIRE(seen);
    uint32_t orders = 0, live = 0, live_max = 0, ended = 0, canceled = 0;
    for (uint32_t row = 0; row < batch->rows; row++) {
        sf_str id = text_at(batch, "order_id", row), stage = text_at(batch, "stage", row);
        int64_t rank = long_at(batch, "stage_rank", row), qty = long_at(batch, "qty", row);
        int64_t filled = long_at(batch, "filled_qty", row);
        double px = double_at(batch, "px", row);
        static const char *const stages[] = {"NEW", "ACK", "PART_FILL", "FILLED", "CANCELED"};
        REQUIRE(id.len == 12 && memcmp(id.data, "ORD-", 4) == 0 && rank >= 1 && rank <= 5);
        CHECK(sf_str_eq(stage, sf_str_of(stages[rank - 1])));
        CHECK(qty >= 200 && qty <= 5000 && qty % 100 == 0);
        CHECK_INT(long_at(batch, "stage_ts", row), NOW_MS);
        order_seen *order = NULL;
        for (uint32_t i = orders; i > 0 && !order; i--) {
            if (memcmp(seen[i - 1].id, id.data, 12) == 0)
                order = &seen[i - 1];
        }
        if (!order) {
            CHECK_INT(rank, 1);
            order = &seen[orders++];
            memcpy(order->id, id.data, 12);
            live++;
        } else {
            CHECK(rank == 3 ? order->rank == 2 || order->rank == 3 : rank > order->rank);
        }
        CHECK(!order->ended); /* nothing comes after the end */
        order->partials += rank == 3;
        CHECK(order->partials <= 3);
        CHECK(filled >= order->filled && filled <= qty);
        CHECK((filled == 0) == (px == 0));
        CHECK(rank != 4 || filled == qty);
        CHECK(rank != 3 || (filled > order->filled && filled < qty));
        order->rank = rank;
        order->filled = filled;
        order->ended = rank >= 4;
        live_max = live > live_max ? live : live_max;
        live -= order->ended;
        ended += order->ended;
        canceled += rank == 5;
    }
    CHECK(live >= 9 && live_max <= 20); /* one below ten may be missing until the next row */
    CHECK(ended > 3000);
    CHECK(is_near(100.0 * canceled / ended, 15, 2));
    sf_free(seen);
    sf_batch_unref(batch);
}

/* ---- generic ---- */

void generic_follows_the_schema(void)
{
    static const sf_field fields[] = {
        {"s", SF_TYPE_UTF8, false},      {"d", SF_TYPE_F64, false},
        {"l", SF_TYPE_I64, false},       {"b", SF_TYPE_BOOL, false},
        {"t", SF_TYPE_TIMESTAMP, false}, {"free", SF_TYPE_JSON, false},
        {"deep", SF_TYPE_JSON, false},   {"tags", SF_TYPE_JSON, false},
    };
    sf_generator *generator = open_fields(
        "", fields, SF_COUNT_OF(fields),
        "[{\"name\":\"s\",\"type\":\"String\"},{\"name\":\"deep\",\"type\":\"Json\",\"children\":["
        "{\"name\":\"a \\\"b\\\"\",\"type\":\"Double\"},{\"name\":\"items\",\"type\":\"Json\","
        "\"isArray\":true,\"children\":[{\"name\":\"ok\",\"type\":\"Bool\"},{\"name\":\"at\","
        "\"type\":\"Timestamp\"}]}]},{\"name\":\"tags\",\"type\":\"Long\",\"isArray\":true}]",
        3);
    sf_batch *batch = make(generator, 2000, NOW_MS, NOW_MS);
    CHECK(is_near(share(batch, "s", "k1"), 20, 4));
    CHECK(is_near(share(batch, "s", "k5"), 20, 4));
    size_t item_counts[4] = {0};
    double sum = 0;
    for (uint32_t row = 0; row < batch->rows; row++) {
        double d = double_at(batch, "d", row);
        sum += d;
        CHECK(d >= 0 && d <= 100);
        CHECK(long_at(batch, "l", row) >= 0 && long_at(batch, "l", row) <= 100);
        CHECK_INT(long_at(batch, "t", row), NOW_MS);
        sf_str deep = text_at(batch, "deep", row), tags = text_at(batch, "tags", row), item;
        sf_error err;
        REQUIRE_OK(sf_json_validate(deep, &err), err);
        REQUIRE_OK(sf_json_validate(tags, &err), err);
        REQUIRE_OK(sf_json_validate(text_at(batch, "free", row), &err), err);
        CHECK(json_number(deep, "a \"b\"") <= 100);
        sf_str items = json_at(deep, "items");
        size_t count = sf_json_array_len(items);
        REQUIRE(count >= 1 && count <= 3);
        item_counts[count]++;
        REQUIRE(sf_json_get_index(items, 0, &item));
        CHECK_INT(sf_json_kind_of(json_at(item, "ok")), SF_JSON_BOOL);
        CHECK_INT(json_number(item, "at"), NOW_MS);
        REQUIRE(sf_json_get_index(tags, 0, &item));
        CHECK_INT(sf_json_kind_of(item), SF_JSON_NUMBER);
    }
    CHECK(is_near(sum / 2000, 50, 3));
    CHECK(item_counts[1] > 500 && item_counts[2] > 500 && item_counts[3] > 500);
    CHECK(!SF_LANES(column_of(batch, SF_COL_RETRACT), uint8_t)[0]);
    sf_batch_unref(batch);
    sf_generator_free(generator);
}

void generator_refuses(void)
{
    char nested[1024] = "[", *at = nested + 1;
    for (int i = 0; i < 17; i++)
        at += snprintf(at, 64, "{\"name\":\"a\",\"type\":\"Json\",\"children\":[");
    snprintf(at, 64, "%s", "]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]");
    const struct {
        const char *profile, *name, *shapes, *message;
        sf_type type;
        sf_status status;
    } rows[] = {
        {"tradez", "a", "", "generator profile \"tradez\" does not exist", SF_TYPE_UTF8,
         SF_INVALID},
        {"trades", "price", "", "field \"price\" of profile \"trades\" is Double, not Long",
         SF_TYPE_I64, SF_INVALID},
        {"generic", "a", "{}", "fields must be a list", SF_TYPE_JSON, SF_INVALID},
        {"generic", "a", "[{\"type\":\"Long\"}]", "fields[].name is missing", SF_TYPE_JSON,
         SF_INVALID},
        {"generic", "a", "[{\"name\":\"a\",\"type\":\"Decimal\"}]",
         "field \"a\" has the unknown type \"Decimal\"", SF_TYPE_JSON, SF_INVALID},
        {"generic", "a",
         "[{\"name\":\"a\",\"type\":\"Long\",\"children\":[{\"name\":\"b\",\"type\":\"Long\"}]}]",
         "field \"a\" has children but is not Json", SF_TYPE_JSON, SF_INVALID},
        {"generic", "a", nested, "fields are nested deeper than 16", SF_TYPE_JSON, SF_INVALID},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_field field = {rows[i].name, rows[i].type, false};
        sf_schema *schema = source_schema(&field, 1);
        sf_generator_options options = {.profile = sf_str_of(rows[i].profile),
                                        .schema = schema,
                                        .fields = sf_str_of(rows[i].shapes)};
        sf_generator *generator = NULL;
        sf_error err = {0};
        CHECK_INT(sf_generator_new(&options, &generator, &err), rows[i].status);
        CHECK_STR(err.message, rows[i].message);
        sf_schema_unref(schema);
    }
}

/* ---- the market ---- */

/* The mid price of every symbol, read off the quotes. */
static void mids_at(sf_generator *quotes, int64_t ts_ms, double mids[8])
{
    sf_batch *batch = make(quotes, 500, ts_ms, ts_ms);
    for (uint32_t row = 0; row < batch->rows; row++)
        mids[symbol_at(batch, row)] =
            (double_at(batch, "bid", row) + double_at(batch, "ask", row)) / 2;
    sf_batch_unref(batch);
}

void the_market_walks(void)
{
    enum { STEPS = 400 };
    sf_generator *often = open_profile("quotes", 1), *once = open_profile("quotes", 77);
    double before[8], now[8] = {0}, late[8] = {0}, start[8] = {0};
    mids_at(often, 0, start);
    memcpy(before, start, sizeof before);
    for (int s = 0; s < 8; s++)
        CHECK(start[s] >= 100 && start[s] <= 1000);
    for (int64_t step = 1; step <= STEPS; step++) {
        mids_at(often, step * 500 + 499, now);
        for (int s = 0; s < 8; s++)
            CHECK(fabs(now[s] / before[s] - 1) <= 0.001 + 0.02 / before[s]);
        memcpy(before, now, sizeof before);
    }
    mids_at(once, STEPS * 500, late); /* whoever comes later sees the same market */
    uint32_t moved = 0;
    for (int s = 0; s < 8; s++) {
        CHECK(is_near(late[s], now[s], 1e-9));
        moved += fabs(now[s] / start[s] - 1) > 0.001;
    }
    CHECK(moved >= 6);
    mids_at(often, 0, now); /* a clock that goes back does not move it */
    CHECK(is_near(now[0], late[0], 1e-9));
    mids_at(often, INT64_C(4000000000000), now); /* decades later: at once, and in bounds */
    for (int s = 0; s < 8; s++)
        CHECK(now[s] >= 1 && now[s] <= 100000);
    sf_generator_free(often);
    sf_generator_free(once);
}

void a_failed_batch_changes_nothing(void)
{
    static const char *const profiles[] = {"json-events", "lifecycle", "multileg"};
    for (size_t p = 0; p < SF_COUNT_OF(profiles); p++) {
        sf_generator *steady = open_profile(profiles[p], 4), *shaken = open_profile(profiles[p], 4);
        sf_batch *want = make(steady, 50, NOW_MS, NOW_MS), *got = NULL;
        uint64_t n = 1;
        for (; !got && n < 1000; n++) {
            sf_error err;
            sf_alloc_fail_after(n);
            sf_status status = sf_generator_rows(shaken, 50, NOW_MS, NOW_MS, &got, &err);
            sf_alloc_fail_after(0);
            CHECK_INT(status, got ? SF_OK : SF_LIMIT);
        }
        CHECK(n > 3);
        REQUIRE(got);
        CHECK(same_rows(want, 0, got, 0, 50));
        sf_batch_unref(want);
        sf_batch_unref(got);
        sf_generator_free(steady);
        sf_generator_free(shaken);
    }
}

/* Columns are found by name; each is the same whatever is declared beside it. */
void columns_by_name(void)
{
    static const sf_field fields[] = {
        {"venue", SF_TYPE_UTF8, false}, {"note", SF_TYPE_UTF8, false}, {"qty", SF_TYPE_I64, false}};
    sf_generator *some = open_fields("trades", fields, SF_COUNT_OF(fields), "", 6),
                 *all = open_profile("trades", 6);
    sf_batch *a = make(some, 300, NOW_MS - 300, NOW_MS), *b = make(all, 300, NOW_MS, NOW_MS);
    for (uint32_t row = 0; row < 300; row++) {
        CHECK(sf_str_eq(text_at(a, "venue", row), text_at(b, "venue", row)));
        CHECK_INT(long_at(a, "qty", row), long_at(b, "qty", row));
        CHECK(!sf_column_is_valid(column_of(a, "note"), row));
        CHECK_INT(long_at(a, SF_COL_TS, row), NOW_MS - 299 + row); /* one a millisecond */
    }
    sf_batch_unref(a);
    sf_batch_unref(b);
    sf_generator_free(some);
    sf_generator_free(all);
}

/* Profiles trades, quotes and orders: one flat row an event. */
#include "connect/generator.h"

#include <math.h>

static const char *const sides[] = {"BUY", "SELL"};
static const char *const venues[] = {"NYSE", "NASDAQ", "ARCA"};

/* ---- trades ---- */

enum { TRADE_SYMBOL, TRADE_PRICE, TRADE_QTY, TRADE_SIDE, TRADE_VENUE };

static const sf_field trade_fields[] = {
    [TRADE_SYMBOL] = {"symbol", SF_TYPE_UTF8, false}, [TRADE_PRICE] = {"price", SF_TYPE_F64, false},
    [TRADE_QTY] = {"qty", SF_TYPE_I64, false},        [TRADE_SIDE] = {"side", SF_TYPE_UTF8, false},
    [TRADE_VENUE] = {"venue", SF_TYPE_UTF8, false},
};

static sf_column *trade_column(sf_generator *generator, const generator_frame *frame,
                               uint32_t field)
{
    sf_rng rng = generator_stream(generator, field, frame->first);
    switch (field) {
    case TRADE_SYMBOL: return generator_symbols(frame);
    case TRADE_PRICE: return generator_prices(frame, rng, 0.0005);
    case TRADE_QTY: return generator_lots(frame, rng, 10);
    case TRADE_SIDE: return generator_words(frame, rng, sides, SF_COUNT_OF(sides));
    default: return generator_words(frame, rng, venues, SF_COUNT_OF(venues));
    }
}

const generator_profile profile_trades = {
    .name = "trades",
    .fields = trade_fields,
    .field_count = SF_COUNT_OF(trade_fields),
    .has_market = true,
    .column = trade_column,
};

/* ---- quotes ---- */

enum { QUOTE_SYMBOL, QUOTE_BID, QUOTE_ASK, QUOTE_BID_SIZE, QUOTE_ASK_SIZE, QUOTE_VENUE };

static const sf_field quote_fields[] = {
    [QUOTE_SYMBOL] = {"symbol", SF_TYPE_UTF8, false},
    [QUOTE_BID] = {"bid", SF_TYPE_F64, false},
    [QUOTE_ASK] = {"ask", SF_TYPE_F64, false},
    [QUOTE_BID_SIZE] = {"bidSize", SF_TYPE_I64, false},
    [QUOTE_ASK_SIZE] = {"askSize", SF_TYPE_I64, false},
    [QUOTE_VENUE] = {"venue", SF_TYPE_UTF8, false},
};

/* Half the spread is five hundredths of a percent, at least a cent. */
static sf_column *quote_prices(const generator_frame *frame, double direction)
{
    sf_column *column = sf_column_new(SF_TYPE_F64, frame->rows, false);
    if (!column)
        return NULL;
    double *lanes = sf_column_lanes(column);
    for (uint32_t row = 0; row < frame->rows; row++) {
        double mid = frame->mid[row];
        lanes[row] = generator_cents(mid + direction * fmax(0.01, 0.0005 * mid));
    }
    return column;
}

static sf_column *quote_column(sf_generator *generator, const generator_frame *frame,
                               uint32_t field)
{
    sf_rng rng = generator_stream(generator, field, frame->first);
    switch (field) {
    case QUOTE_SYMBOL: return generator_symbols(frame);
    case QUOTE_BID: return quote_prices(frame, -1);
    case QUOTE_ASK: return quote_prices(frame, 1);
    case QUOTE_BID_SIZE:
    case QUOTE_ASK_SIZE: return generator_lots(frame, rng, 100);
    default: return generator_words(frame, rng, venues, SF_COUNT_OF(venues));
    }
}

const generator_profile profile_quotes = {
    .name = "quotes",
    .fields = quote_fields,
    .field_count = SF_COUNT_OF(quote_fields),
    .has_market = true,
    .column = quote_column,
};

/* ---- orders ---- */

enum { ORDER_SYMBOL, ORDER_ID, ORDER_SIDE, ORDER_QTY, ORDER_LIMIT, ORDER_STATUS };

static const sf_field order_fields[] = {
    [ORDER_SYMBOL] = {"symbol", SF_TYPE_UTF8, false},
    [ORDER_ID] = {"orderId", SF_TYPE_UTF8, false},
    [ORDER_SIDE] = {"side", SF_TYPE_UTF8, false},
    [ORDER_QTY] = {"qty", SF_TYPE_I64, false},
    [ORDER_LIMIT] = {"limitPrice", SF_TYPE_F64, false},
    [ORDER_STATUS] = {"status", SF_TYPE_UTF8, false},
};

static sf_column *order_ids(const sf_generator *generator, const generator_frame *frame)
{
    sf_column *column = sf_column_new(SF_TYPE_UTF8, frame->rows, false);
    if (!column)
        return NULL;
    sf_view *lanes = sf_column_lanes(column);
    for (uint32_t row = 0; row < frame->rows; row++)
        lanes[row] = generator_id(generator, "", frame->first + row);
    return column;
}

/* NEW 60 %, FILLED 30 %, CANCELLED 10 %. */
static sf_column *order_statuses(const generator_frame *frame, sf_rng rng)
{
    const sf_view fresh = sf_view_short("NEW", 3), filled = sf_view_short("FILLED", 6),
                  cancelled = sf_view_short("CANCELLED", 9);
    sf_column *column = sf_column_new(SF_TYPE_UTF8, frame->rows, false);
    if (!column)
        return NULL;
    sf_view *lanes = sf_column_lanes(column);
    for (uint32_t row = 0; row < frame->rows; row++) {
        uint64_t tenth = sf_rng_below(&rng, 10);
        lanes[row] = tenth < 6 ? fresh : tenth < 9 ? filled : cancelled;
    }
    return column;
}

static sf_column *order_column(sf_generator *generator, const generator_frame *frame,
                               uint32_t field)
{
    sf_rng rng = generator_stream(generator, field, frame->first);
    switch (field) {
    case ORDER_SYMBOL: return generator_symbols(frame);
    case ORDER_ID: return order_ids(generator, frame);
    case ORDER_SIDE: return generator_words(frame, rng, sides, SF_COUNT_OF(sides));
    case ORDER_QTY: return generator_lots(frame, rng, 10);
    case ORDER_LIMIT: return generator_prices(frame, rng, 0.005);
    default: return order_statuses(frame, rng);
    }
}

const generator_profile profile_orders = {
    .name = "orders",
    .fields = order_fields,
    .field_count = SF_COUNT_OF(order_fields),
    .has_market = true,
    .column = order_column,
};

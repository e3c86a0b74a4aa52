/* Profile lifecycle: 10 to 20 live orders, each on its way from NEW to FILLED or CANCELED. */
#include "connect/generator.h"

#include <math.h>

enum { LIVE_MIN = 10 };

/* Ranks are the numbers told as stage_rank. */
enum { STAGE_NEW = 1, STAGE_ACK, STAGE_PART_FILL, STAGE_FILLED, STAGE_CANCELED };

static const char *const stage_words[] = {
    [STAGE_NEW] = "NEW",       [STAGE_ACK] = "ACK",           [STAGE_PART_FILL] = "PART_FILL",
    [STAGE_FILLED] = "FILLED", [STAGE_CANCELED] = "CANCELED",
};

enum { F_ORDER_ID, F_SYMBOL, F_SIDE, F_STAGE, F_RANK, F_STAGE_TS, F_QTY, F_FILLED, F_PX };

static const sf_field lifecycle_fields[] = {
    [F_ORDER_ID] = {"order_id", SF_TYPE_UTF8, false},
    [F_SYMBOL] = {"symbol", SF_TYPE_UTF8, false},
    [F_SIDE] = {"side", SF_TYPE_UTF8, false},
    [F_STAGE] = {"stage", SF_TYPE_UTF8, false},
    [F_RANK] = {"stage_rank", SF_TYPE_I64, false},
    [F_STAGE_TS] = {"stage_ts", SF_TYPE_TIMESTAMP, false},
    [F_QTY] = {"qty", SF_TYPE_I64, false},
    [F_FILLED] = {"filled_qty", SF_TYPE_I64, false},
    [F_PX] = {"px", SF_TYPE_F64, false},
};

static live_order new_order(order_pool *pool, sf_rng *rng)
{
    return (live_order){
        .number = pool->orders_made++,
        .symbol = (uint8_t)sf_rng_below(rng, MARKET_SYMBOLS),
        .side = (uint8_t)sf_rng_below(rng, 2),
        .stage = STAGE_NEW,
        .partials_left = (uint8_t)sf_rng_below(rng, 4),
        .cancels = sf_rng_below(rng, 100) < 15,
        .qty = 200 + 100 * (int64_t)sf_rng_below(rng, 49),
    };
}

static void fill(live_order *order, int64_t qty, double mid, sf_rng *rng)
{
    double price = generator_cents(mid * (1 + 0.0005 * (2 * sf_rng_unit(rng) - 1)));
    order->filled_qty += qty;
    order->paid += price * (double)qty;
}

static void advance(live_order *order, double mid, sf_rng *rng)
{
    int64_t open_qty = order->qty - order->filled_qty;
    if (order->stage == STAGE_NEW) {
        order->stage = STAGE_ACK;
    } else if (order->partials_left > 0) { /* at most half of what is open, in tens */
        order->partials_left--;
        order->stage = STAGE_PART_FILL;
        fill(order, 10 * (1 + (int64_t)sf_rng_below(rng, (uint64_t)open_qty / 20)), mid, rng);
    } else if (order->cancels) {
        order->stage = STAGE_CANCELED;
    } else {
        order->stage = STAGE_FILLED;
        fill(order, open_qty, mid, rng);
    }
}

live_order lifecycle_next(sf_generator *generator, uint64_t row, const double *mids)
{
    order_pool *pool = &generator->pool;
    sf_rng rng = generator_row_rng(generator, F_ORDER_ID, row);
    bool room = pool->count < LIFECYCLE_LIVE_MAX;
    if (pool->count < LIVE_MIN || (room && sf_rng_below(&rng, 4) == 0)) {
        pool->orders[pool->count] = new_order(pool, &rng);
        return pool->orders[pool->count++];
    }
    uint32_t i = (uint32_t)sf_rng_below(&rng, pool->count);
    live_order *order = &pool->orders[i];
    advance(order, mids[order->symbol], &rng);
    live_order event = *order;
    if (event.stage >= STAGE_FILLED)
        *order = pool->orders[--pool->count];
    return event;
}

/* ---- columns ---- */

static sf_column *lifecycle_texts(const sf_generator *generator, const generator_frame *frame,
                                  uint32_t field)
{
    sf_column *column = sf_column_new(SF_TYPE_UTF8, frame->rows, false);
    if (!column)
        return NULL;
    sf_view *lanes = sf_column_lanes(column);
    for (uint32_t row = 0; row < frame->rows; row++) {
        const live_order *order = &frame->events[row];
        if (field == F_ORDER_ID) {
            lanes[row] = generator_id(generator, "ORD-", order->number);
            continue;
        }
        const char *word = field == F_STAGE   ? stage_words[order->stage]
                           : order->side == 0 ? "BUY"
                                              : "SELL";
        lanes[row] = sf_view_short(word, (uint32_t)strlen(word));
    }
    return column;
}

static sf_column *lifecycle_numbers(const generator_frame *frame, uint32_t field)
{
    sf_type type = field == F_STAGE_TS ? SF_TYPE_TIMESTAMP : SF_TYPE_I64;
    sf_column *column = sf_column_new(type, frame->rows, false);
    if (!column)
        return NULL;
    int64_t *lanes = sf_column_lanes(column);
    for (uint32_t row = 0; row < frame->rows; row++) {
        const live_order *order = &frame->events[row];
        lanes[row] = field == F_RANK       ? order->stage
                     : field == F_STAGE_TS ? frame->ts[row]
                     : field == F_QTY      ? order->qty
                                           : order->filled_qty;
    }
    return column;
}

/* The average price of what is filled. */
static sf_column *lifecycle_prices(const generator_frame *frame)
{
    sf_column *column = sf_column_new(SF_TYPE_F64, frame->rows, false);
    if (!column)
        return NULL;
    double *lanes = sf_column_lanes(column);
    for (uint32_t row = 0; row < frame->rows; row++) {
        const live_order *order = &frame->events[row];
        double px = order->filled_qty > 0 ? order->paid / (double)order->filled_qty : 0;
        lanes[row] = floor(px * 10000 + 0.5) / 10000;
    }
    return column;
}

static sf_column *lifecycle_column(sf_generator *generator, const generator_frame *frame,
                                   uint32_t field)
{
    switch (field) {
    case F_SYMBOL: return generator_symbols(frame);
    case F_ORDER_ID:
    case F_SIDE:
    case F_STAGE: return lifecycle_texts(generator, frame, field);
    case F_PX: return lifecycle_prices(frame);
    default: return lifecycle_numbers(frame, field);
    }
}

const generator_profile profile_lifecycle = {
    .name = "lifecycle",
    .fields = lifecycle_fields,
    .field_count = SF_COUNT_OF(lifecycle_fields),
    .has_market = true,
    .is_lifecycle = true,
    .column = lifecycle_column,
};

/* ---- across a restart ---- */

void lifecycle_save(const order_pool *pool, sf_buf *out)
{
    sf_buf_put_u64(out, pool->orders_made);
    sf_buf_put_u32(out, pool->count);
    for (uint32_t i = 0; i < pool->count; i++) {
        const live_order *order = &pool->orders[i];
        uint64_t paid;
        memcpy(&paid, &order->paid, sizeof paid);
        sf_buf_put_u64(out, order->number);
        sf_buf_put_u32(out, (uint32_t)order->symbol | (uint32_t)order->side << 8 |
                                (uint32_t)order->stage << 16);
        sf_buf_put_u32(out, (uint32_t)order->partials_left | (uint32_t)order->cancels << 8);
        sf_buf_put_u64(out, (uint64_t)order->qty);
        sf_buf_put_u64(out, (uint64_t)order->filled_qty);
        sf_buf_put_u64(out, paid);
    }
}

static bool load_order(live_order *order, sf_reader *in)
{
    order->number = sf_read_u64(in);
    uint32_t who = sf_read_u32(in), plan = sf_read_u32(in);
    order->symbol = (uint8_t)who;
    order->side = (uint8_t)(who >> 8);
    order->stage = (uint8_t)(who >> 16);
    order->partials_left = (uint8_t)plan;
    order->cancels = (uint8_t)(plan >> 8);
    order->qty = (int64_t)sf_read_u64(in);
    order->filled_qty = (int64_t)sf_read_u64(in);
    uint64_t paid = sf_read_u64(in);
    memcpy(&order->paid, &paid, sizeof paid);
    /* What a later fill divides by and draws below must be as a save leaves it. */
    return !in->failed && order->symbol < MARKET_SYMBOLS && order->side < 2 &&
           order->stage >= STAGE_NEW && order->stage < STAGE_FILLED && order->partials_left < 4 &&
           order->qty >= 200 && order->qty <= 5000 && order->filled_qty >= 0 &&
           order->qty - order->filled_qty >= 20 && isfinite(order->paid);
}

bool lifecycle_load(order_pool *pool, sf_reader *in)
{
    *pool = (order_pool){.orders_made = sf_read_u64(in)};
    uint32_t count = sf_read_u32(in);
    if (in->failed || count > LIFECYCLE_LIVE_MAX)
        return false;
    for (; pool->count < count; pool->count++) {
        if (!load_order(&pool->orders[pool->count], in))
            return false;
    }
    return true;
}

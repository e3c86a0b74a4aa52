/* Profiles json-events and multileg: rows with a Json column. */
#include "connect/generator.h"
#include "text/text.h"

#include <math.h>

static void put_f64(sf_buf *out, const char *before, double value)
{
    sf_buf_puts(out, before);
    sf_buf_put_f64_text(out, value);
}

static void put_i64(sf_buf *out, const char *before, int64_t value)
{
    sf_buf_puts(out, before);
    sf_buf_put_i64_text(out, value);
}

/* A plain word between quotes. */
static void put_word(sf_buf *out, const char *before, const char *word)
{
    sf_buf_puts(out, before);
    sf_buf_putc(out, '"');
    sf_buf_puts(out, word);
    sf_buf_putc(out, '"');
}

/* One Json value a row, written by put. */
static sf_column *json_column(sf_generator *generator, const generator_frame *frame,
                              void (*put)(sf_generator *generator, const generator_frame *frame,
                                          uint32_t row, sf_buf *out))
{
    sf_builder builder;
    if (!sf_builder_init(&builder, SF_TYPE_JSON, frame->rows))
        return NULL;
    sf_buf *text = &generator->text;
    for (uint32_t row = 0; row < frame->rows; row++) {
        sf_buf_clear(text);
        put(generator, frame, row, text);
        builder.failed |= text->failed;
        sf_builder_str(&builder, sf_buf_str(text));
    }
    sf_column *column = sf_builder_finish(&builder);
    sf_builder_deinit(&builder);
    return column;
}

/* ---- json-events ---- */

enum { EVENT_TYPE, EVENT_PAYLOAD };

static const sf_field event_fields[] = {
    [EVENT_TYPE] = {"eventType", SF_TYPE_UTF8, false},
    [EVENT_PAYLOAD] = {"payload", SF_TYPE_JSON, false},
};

static const char *const event_words[] = {"placed", "amended", "cancelled"};
static const char *const tier_words[] = {"gold", "silver", "bronze"};
static const char *const tag_words[] = {"web", "mobile", "api", "priority", "retry"};

static void put_payload(sf_generator *generator, const generator_frame *frame, uint32_t row,
                        sf_buf *out)
{
    sf_rng rng = generator_row_rng(generator, EVENT_PAYLOAD, frame->first + row);
    double price = frame->mid[row] * (1 + 0.0005 * (2 * sf_rng_unit(&rng) - 1));
    put_i64(out, "{\"user\":{\"id\":\"u-", 1 + (int64_t)sf_rng_below(&rng, 999));
    put_word(out, "\",\"tier\":", tier_words[sf_rng_below(&rng, SF_COUNT_OF(tier_words))]);
    put_word(out, "},\"order\":{\"symbol\":", market_symbols[frame->symbol[row]]);
    put_i64(out, ",\"qty\":", 10 * (1 + (int64_t)sf_rng_below(&rng, 50)));
    put_f64(out, ",\"price\":", generator_cents(price));
    sf_buf_puts(out, "},\"tags\":[");
    uint64_t chosen = sf_rng_next(&rng);
    const char *before = "";
    for (uint32_t tag = 0; tag < SF_COUNT_OF(tag_words); tag++) {
        if (!(chosen >> tag & 1))
            continue;
        put_word(out, before, tag_words[tag]);
        before = ",";
    }
    sf_buf_puts(out, "]}");
}

/* "order.cancelled" is longer than a view holds inside, so the words lie in one shared buffer. */
static sf_column *event_types(const generator_frame *frame, sf_rng rng)
{
    enum { SLOT = 16 };
    sf_view views[SF_COUNT_OF(event_words)];
    sf_buffer *words = sf_buffer_new(SLOT * SF_COUNT_OF(event_words));
    sf_column *column = words ? sf_column_new(SF_TYPE_UTF8, frame->rows, false) : NULL;
    if (column && !sf_column_set_buffers(column, &words, 1)) {
        sf_column_unref(column);
        column = NULL;
    }
    if (column) {
        for (uint32_t i = 0; i < SF_COUNT_OF(event_words); i++) {
            char text[SLOT] = "order.";
            uint32_t len = 6 + (uint32_t)strlen(event_words[i]);
            memcpy(text + 6, event_words[i], len - 6);
            memcpy(words->data + (size_t)i * SLOT, text, SLOT);
            views[i] = len <= SF_VIEW_INLINE ? sf_view_short(text, len)
                                             : sf_view_far(text, len, 0, i * SLOT);
        }
        sf_view *lanes = sf_column_lanes(column);
        for (uint32_t row = 0; row < frame->rows; row++)
            lanes[row] = views[sf_rng_below(&rng, SF_COUNT_OF(event_words))];
    }
    sf_buffer_unref(words);
    return column;
}

static sf_column *event_column(sf_generator *generator, const generator_frame *frame,
                               uint32_t field)
{
    if (field == EVENT_PAYLOAD)
        return json_column(generator, frame, put_payload);
    return event_types(frame, generator_stream(generator, field, frame->first));
}

const generator_profile profile_json_events = {
    .name = "json-events",
    .fields = event_fields,
    .field_count = SF_COUNT_OF(event_fields),
    .has_market = true,
    .column = event_column,
};

/* ---- multileg ---- */

enum { LEG_TRADE_ID, LEG_PRODUCT, LEG_NOTIONAL_CCY, LEG_LEGS };

static const sf_field leg_fields[] = {
    [LEG_TRADE_ID] = {"trade_id", SF_TYPE_UTF8, false},
    [LEG_PRODUCT] = {"product", SF_TYPE_UTF8, false},
    [LEG_NOTIONAL_CCY] = {"notional_ccy", SF_TYPE_UTF8, false},
    [LEG_LEGS] = {"legs", SF_TYPE_JSON, false},
};

enum { PRODUCT_IRS, PRODUCT_STRADDLE, PRODUCT_STRANGLE, PRODUCT_FLY };

static const char *const product_words[] = {
    [PRODUCT_IRS] = "IRS",
    [PRODUCT_STRADDLE] = "STRADDLE",
    [PRODUCT_STRANGLE] = "STRANGLE",
    [PRODUCT_FLY] = "FLY",
};
static const char *const ccy_words[] = {"USD", "EUR", "GBP", "JPY"};

/* What all columns of a row agree on. */
typedef struct {
    uint32_t product;
    const char *ccy;
    sf_rng rng; /* for the rest */
} structure;

static structure structure_of(const sf_generator *generator, uint64_t row)
{
    structure s = {.rng = generator_row_rng(generator, LEG_LEGS, row)};
    s.product = (uint32_t)sf_rng_below(&s.rng, SF_COUNT_OF(product_words));
    s.ccy = ccy_words[sf_rng_below(&s.rng, SF_COUNT_OF(ccy_words))];
    return s;
}

static void put_leg_start(sf_buf *out, int64_t leg_no, double notional, const char *ccy)
{
    put_i64(out, leg_no > 1 ? ",{\"leg_no\":" : "{\"leg_no\":", leg_no);
    put_f64(out, ",\"notional\":", notional);
    put_word(out, ",\"ccy\":", ccy);
}

/* A fixed leg paid against a floating one received, or the other way round. */
static void put_swap_legs(structure *s, double notional, sf_buf *out)
{
    uint64_t fixed = sf_rng_below(&s->rng, 2), paid = sf_rng_below(&s->rng, 2);
    for (uint64_t leg = 0; leg < 2; leg++) {
        double rate = 0.5 + 5 * sf_rng_unit(&s->rng);
        put_leg_start(out, (int64_t)leg + 1, notional, s->ccy);
        put_word(out, ",\"pay_rcv\":", leg == paid ? "PAY" : "RCV");
        put_word(out, ",\"rate_type\":", leg == fixed ? "FIXED" : "FLOAT");
        put_f64(out, ",\"rate\":", floor(rate * 10000 + 0.5) / 10000);
        sf_buf_putc(out, '}');
    }
}

/* Strikes lie around the underlying's price, in steps of a fraction of it. */
static void put_option_legs(structure *s, double notional, double mid, int64_t ts_ms, sf_buf *out)
{
    static const double fly3[] = {1, -2, 1}, fly4[] = {1, -1, -1, 1}, pair[] = {1, 1};
    bool is_fly = s->product == PRODUCT_FLY;
    bool wide = is_fly && sf_rng_below(&s->rng, 2) == 1;
    const double *ratios = !is_fly ? pair : wide ? fly4 : fly3;
    int64_t legs = !is_fly ? 2 : wide ? 4 : 3;
    const char *wing = sf_rng_below(&s->rng, 2) == 0 ? "CALL" : "PUT";
    double width = s->product == PRODUCT_STRADDLE ? 0 : mid * (0.02 + 0.06 * sf_rng_unit(&s->rng));
    int64_t day_ms = 86400000;
    int64_t expiry_ms =
        sf_floor_div(ts_ms, day_ms) * day_ms + (7 + (int64_t)sf_rng_below(&s->rng, 359)) * day_ms;
    for (int64_t leg = 0; leg < legs; leg++) {
        double strike = mid + width * ((double)leg - (double)(legs - 1) / 2);
        put_leg_start(out, leg + 1, notional, s->ccy);
        put_word(out, ",\"cp\":", is_fly ? wing : leg == 0 ? "PUT" : "CALL");
        put_f64(out, ",\"strike\":", generator_cents(strike));
        put_i64(out, ",\"expiry_ts\":", expiry_ms);
        put_f64(out, ",\"ratio\":", ratios[leg]);
        sf_buf_putc(out, '}');
    }
}

static void put_legs(sf_generator *generator, const generator_frame *frame, uint32_t row,
                     sf_buf *out)
{
    structure s = structure_of(generator, frame->first + row);
    double notional = 1e6 * (1 + (double)sf_rng_below(&s.rng, 99));
    sf_buf_putc(out, '[');
    if (s.product == PRODUCT_IRS)
        put_swap_legs(&s, notional, out);
    else
        put_option_legs(&s, notional, frame->mid[row], frame->ts[row], out);
    sf_buf_putc(out, ']');
}

static sf_column *leg_texts(const sf_generator *generator, const generator_frame *frame,
                            uint32_t field)
{
    sf_column *column = sf_column_new(SF_TYPE_UTF8, frame->rows, field == LEG_NOTIONAL_CCY);
    if (!column)
        return NULL;
    sf_view *lanes = sf_column_lanes(column);
    for (uint32_t row = 0; row < frame->rows; row++) {
        structure s = structure_of(generator, frame->first + row);
        const char *word = field == LEG_PRODUCT ? product_words[s.product] : s.ccy;
        if (field == LEG_NOTIONAL_CCY && s.product != PRODUCT_IRS)
            sf_valid_clear(sf_column_valid(column), row);
        else
            lanes[row] = sf_view_short(word, (uint32_t)strlen(word));
    }
    return column;
}

/* T-000001 and so on; past a million the number grows, inside a view up to ten digits. */
static sf_column *trade_ids(const generator_frame *frame)
{
    sf_column *column = sf_column_new(SF_TYPE_UTF8, frame->rows, false);
    if (!column)
        return NULL;
    sf_view *lanes = sf_column_lanes(column);
    for (uint32_t row = 0; row < frame->rows; row++) {
        char text[SF_VIEW_INLINE], digits[10];
        uint64_t number = (frame->first + row + 1) % 10000000000;
        uint32_t count = 0, len = 2;
        for (; number > 0 || count < 6; number /= 10)
            digits[count++] = (char)('0' + number % 10);
        memcpy(text, "T-", 2);
        while (count > 0)
            text[len++] = digits[--count];
        lanes[row] = sf_view_short(text, len);
    }
    return column;
}

static sf_column *leg_column(sf_generator *generator, const generator_frame *frame, uint32_t field)
{
    switch (field) {
    case LEG_TRADE_ID: return trade_ids(frame);
    case LEG_LEGS: return json_column(generator, frame, put_legs);
    default: return leg_texts(generator, frame, field);
    }
}

const generator_profile profile_multileg = {
    .name = "multileg",
    .fields = leg_fields,
    .field_count = SF_COUNT_OF(leg_fields),
    .has_market = true,
    .column = leg_column,
};

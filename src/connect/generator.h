/* generator.h: the inside of the synthetic generator, shared by the files of its profiles.
 *
 * A batch is made column by column. Everything random is drawn from numbered streams: splitmix64
 * adds a constant to its state at each draw, so a stream can be entered at any row, and a column is
 * the same whether its neighbours are made or not. */
#ifndef SF_CONNECT_GENERATOR_H
#define SF_CONNECT_GENERATOR_H

#include "connect/connect.h"

#define RNG_GAMMA 0x9e3779b97f4a7c15ULL /* what sf_rng_next adds to its state */

enum { MARKET_SYMBOLS = 8, LIFECYCLE_LIVE_MAX = 20 };
extern const char *const market_symbols[MARKET_SYMBOLS];

/* Random walk of every symbol's mid price. */
typedef struct {
    int64_t step; /* -1: not begun */
    double mid[MARKET_SYMBOLS];
} market_walk;

typedef struct {
    uint64_t number;
    uint8_t symbol, side, stage; /* stage: what was told last, 0 = nothing yet */
    uint8_t partials_left, cancels;
    int64_t qty, filled_qty;
    double paid; /* filled quantity times its price */
} live_order;

typedef struct {
    uint64_t orders_made;
    uint32_t count;
    live_order orders[LIFECYCLE_LIVE_MAX];
} order_pool;

/* What the columns of one batch have in common. */
typedef struct {
    uint32_t rows;
    uint64_t first; /* number of the first row */
    const int64_t *ts;
    const uint8_t *symbol; /* of each row, and its price; only of profiles with a market */
    const double *mid;
    const live_order *events; /* lifecycle: the order as it is after the event */
} generator_frame;

typedef struct {
    const char *name;
    const sf_field *fields;
    uint32_t field_count;
    bool has_market, is_lifecycle;
    /* The column of one field; NULL: out of memory. */
    sf_column *(*column)(sf_generator *generator, const generator_frame *frame, uint32_t field);
} generator_profile;

extern const generator_profile profile_trades, profile_quotes, profile_orders, profile_json_events,
    profile_multileg, profile_lifecycle, profile_generic;

/* Declared shape of a Json column, children in an array behind each other. */
typedef struct field_shape {
    const char *name;
    sf_str key; /* as written before a value: "name": */
    sf_type type;
    bool is_array;
    const struct field_shape *children;
    uint32_t child_count;
} field_shape;

struct sf_generator {
    const generator_profile *profile;
    sf_schema *schema;
    int32_t *fields; /* of the profile, a column each; -1: the profile has none such */
    uint64_t seed, next_row;
    sf_world world;
    market_walk walk;
    order_pool pool;
    sf_arena arena;   /* shapes, fields */
    sf_arena scratch; /* of one batch */
    sf_buf text;
    const field_shape *shapes; /* generic: the declared fields */
    uint32_t shape_count;
};

/* Stream `number` of the generator, where row `row` draws from it. */
static inline sf_rng generator_stream(const sf_generator *generator, uint32_t number, uint64_t row)
{
    return (sf_rng){sf_hash_mix(generator->seed, number) + row * RNG_GAMMA};
}
/* For values that take several draws a row. */
static inline sf_rng generator_row_rng(const sf_generator *generator, uint32_t number, uint64_t row)
{
    return (sf_rng){sf_hash_mix(sf_hash_mix(generator->seed, number), row)};
}

/* generator.c: columns that several profiles share */
sf_column *generator_words(const generator_frame *frame, sf_rng rng, const char *const *words,
                           uint32_t count);
sf_column *generator_symbols(const generator_frame *frame);
sf_column *generator_lots(const generator_frame *frame, sf_rng rng, int64_t unit);
/* Mid price plus or minus up to `spread` (a fraction), in cents. */
sf_column *generator_prices(const generator_frame *frame, sf_rng rng, double spread);
/* Eight hex digits that differ for every number below 2^32, after a prefix (at most 4 bytes). */
sf_view generator_id(const sf_generator *generator, const char *prefix, uint64_t number);
double generator_cents(double price);

/* Where the generator stands: seed, next row, live orders. Load answers false for what save did not
 * write and leaves the generator as it is. */
void generator_save(const sf_generator *generator, sf_buf *out);
bool generator_load(sf_generator *generator, sf_reader *in);

/* profile_lifecycle.c: the event of a row; mids are the prices of all symbols at its time */
live_order lifecycle_next(sf_generator *generator, uint64_t row, const double *mids);
void lifecycle_save(const order_pool *pool, sf_buf *out);
bool lifecycle_load(order_pool *pool, sf_reader *in);

/* profile_generic.c */
sf_status generic_read_shapes(sf_generator *generator, sf_str fields, sf_error *err);

#endif

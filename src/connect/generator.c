/* The synthetic generator: options, the market's walk, batches. */
#include "connect/generator.h"
#include "text/text.h"

#include <math.h>

/* The walk takes a step each half second, up to a thousandth either way. It begins anew after 2^22
 * steps (24 days), which bounds what entering it late costs. */
enum { WALK_STEP_MS = 500, WALK_STEPS = 1 << 22 };

/* Far from the numbers of columns. */
enum { STREAM_SYMBOL = 1000, STREAM_ID = 1001 };

const char *const market_symbols[MARKET_SYMBOLS] = {"AAPL", "MSFT", "NVDA", "AMZN",
                                                    "GOOG", "META", "TSLA", "JPM"};

static const generator_profile *const profiles[] = {
    &profile_trades,   &profile_quotes,    &profile_orders,  &profile_json_events,
    &profile_multileg, &profile_lifecycle, &profile_generic,
};

/* ---- the market ---- */

static uint64_t walk_stream(const sf_world *world, uint64_t block, uint32_t symbol)
{
    return sf_hash_mix(sf_hash_mix(world->seed, block), symbol);
}

/* Moves the walk to the step of ts_ms; it never goes back, so that a clock that does cannot make
 * it expensive. */
static void walk_to(market_walk *walk, const sf_world *world, int64_t ts_ms)
{
    int64_t since_ms = ts_ms > world->start_ms ? ts_ms - world->start_ms : 0;
    int64_t target = since_ms / WALK_STEP_MS;
    if (SF_LIKELY(target <= walk->step))
        return;
    int64_t block = target / WALK_STEPS, first = block * WALK_STEPS;
    uint64_t streams[MARKET_SYMBOLS];
    for (uint32_t s = 0; s < MARKET_SYMBOLS; s++)
        streams[s] = walk_stream(world, (uint64_t)block, s);
    if (walk->step < first) {
        for (uint32_t s = 0; s < MARKET_SYMBOLS; s++) {
            sf_rng rng = {streams[s]};
            walk->mid[s] = 100 + 900 * sf_rng_unit(&rng);
        }
        walk->step = first;
    }
    for (uint32_t s = 0; s < MARKET_SYMBOLS; s++) {
        sf_rng rng = {streams[s] + (uint64_t)(walk->step - first + 1) * RNG_GAMMA};
        double mid = walk->mid[s];
        for (int64_t step = walk->step; step < target; step++) {
            mid *= 1 + 0.001 * (2 * sf_rng_unit(&rng) - 1);
            mid = mid < 1 ? 1 : mid > 100000 ? 100000 : mid;
        }
        walk->mid[s] = mid;
    }
    walk->step = target;
}

double generator_cents(double price)
{
    double cents = floor(price * 100 + 0.5);
    return (cents < 1 ? 1 : cents) / 100;
}

/* ---- columns that profiles share ---- */

sf_column *generator_words(const generator_frame *frame, sf_rng rng, const char *const *words,
                           uint32_t count)
{
    sf_view views[8];
    SF_ASSERT(count <= SF_COUNT_OF(views));
    for (uint32_t i = 0; i < count; i++)
        views[i] = sf_view_short(words[i], (uint32_t)strlen(words[i]));
    sf_column *column = sf_column_new(SF_TYPE_UTF8, frame->rows, false);
    if (!column)
        return NULL;
    sf_view *lanes = sf_column_lanes(column);
    for (uint32_t row = 0; row < frame->rows; row++)
        lanes[row] = views[sf_rng_below(&rng, count)];
    return column;
}

sf_column *generator_symbols(const generator_frame *frame)
{
    sf_view views[MARKET_SYMBOLS];
    for (uint32_t i = 0; i < MARKET_SYMBOLS; i++)
        views[i] = sf_view_short(market_symbols[i], (uint32_t)strlen(market_symbols[i]));
    sf_column *column = sf_column_new(SF_TYPE_UTF8, frame->rows, false);
    if (!column)
        return NULL;
    sf_view *lanes = sf_column_lanes(column);
    for (uint32_t row = 0; row < frame->rows; row++)
        lanes[row] = views[frame->symbol[row]];
    return column;
}

sf_column *generator_lots(const generator_frame *frame, sf_rng rng, int64_t unit)
{
    sf_column *column = sf_column_new(SF_TYPE_I64, frame->rows, false);
    if (!column)
        return NULL;
    int64_t *lanes = sf_column_lanes(column);
    for (uint32_t row = 0; row < frame->rows; row++)
        lanes[row] = unit * (1 + (int64_t)sf_rng_below(&rng, 50));
    return column;
}

sf_column *generator_prices(const generator_frame *frame, sf_rng rng, double spread)
{
    sf_column *column = sf_column_new(SF_TYPE_F64, frame->rows, false);
    if (!column)
        return NULL;
    double *lanes = sf_column_lanes(column);
    for (uint32_t row = 0; row < frame->rows; row++)
        lanes[row] = generator_cents(frame->mid[row] * (1 + spread * (2 * sf_rng_unit(&rng) - 1)));
    return column;
}

/* Odd factors and shifts can be undone, so no two numbers share an id. */
sf_view generator_id(const sf_generator *generator, const char *prefix, uint64_t number)
{
    static const char digits[] = "0123456789ABCDEF";
    uint32_t x = (uint32_t)number + (uint32_t)sf_hash_mix(generator->seed, STREAM_ID);
    x = (x ^ x >> 16) * 0x7feb352dU;
    x = (x ^ x >> 15) * 0x846ca68bU;
    x ^= x >> 16;
    char text[SF_VIEW_INLINE];
    uint32_t len = (uint32_t)strlen(prefix);
    SF_ASSERT(len + 8 <= sizeof text);
    memcpy(text, prefix, len);
    for (int shift = 28; shift >= 0; shift -= 4)
        text[len++] = digits[x >> shift & 15];
    return sf_view_short(text, len);
}

/* ---- batches ---- */

static sf_column *times_column(uint32_t rows, int64_t from_ms, int64_t to_ms)
{
    sf_column *column = sf_column_new(SF_TYPE_I64, rows, false);
    if (!column)
        return NULL;
    int64_t *lanes = sf_column_lanes(column);
    double step_ms = (double)(to_ms - from_ms) / rows;
    for (uint32_t row = 0; row < rows; row++)
        lanes[row] = to_ms - (int64_t)(step_ms * (double)(rows - 1 - row));
    return column;
}

static bool fill_frame(sf_generator *generator, generator_frame *frame)
{
    const generator_profile *profile = generator->profile;
    if (!profile->has_market)
        return true;
    uint8_t *symbol = SF_ARENA_ARRAY(&generator->scratch, uint8_t, frame->rows);
    double *mid = SF_ARENA_ARRAY(&generator->scratch, double, frame->rows);
    live_order *events = NULL;
    if (profile->is_lifecycle)
        events = SF_ARENA_ARRAY(&generator->scratch, live_order, frame->rows);
    if (!symbol || !mid || (profile->is_lifecycle && !events))
        return false;
    sf_rng rng = generator_stream(generator, STREAM_SYMBOL, frame->first);
    for (uint32_t row = 0; row < frame->rows; row++) {
        walk_to(&generator->walk, &generator->world, frame->ts[row]);
        if (events) {
            events[row] = lifecycle_next(generator, frame->first + row, generator->walk.mid);
            symbol[row] = events[row].symbol;
        } else {
            symbol[row] = (uint8_t)sf_rng_below(&rng, MARKET_SYMBOLS);
        }
        mid[row] = generator->walk.mid[symbol[row]];
    }
    frame->symbol = symbol;
    frame->mid = mid;
    frame->events = events;
    return true;
}

static sf_column *make_column(sf_generator *generator, const generator_frame *frame, uint32_t i)
{
    const sf_field *field = &generator->schema->fields[i];
    if (generator->fields[i] >= 0)
        return generator->profile->column(generator, frame, (uint32_t)generator->fields[i]);
    return sf_column_nulls(field->type, frame->rows);
}

/* Everything but the pool of orders is only changed when the batch is complete. */
static sf_batch *make_batch(sf_generator *generator, uint32_t rows, int64_t from_ms, int64_t to_ms)
{
    const sf_schema *schema = generator->schema;
    uint32_t ts = schema->count - 1;
    sf_column **columns = SF_ARENA_ARRAY(&generator->scratch, sf_column *, schema->count);
    if (!columns)
        return NULL;
    columns[ts] = times_column(rows, from_ms, to_ms);
    generator_frame frame = {.rows = rows, .first = generator->next_row};
    bool ok = columns[ts] != NULL;
    if (ok) {
        frame.ts = SF_LANES(columns[ts], int64_t);
        ok = fill_frame(generator, &frame);
    }
    for (uint32_t i = 0; ok && i < ts; i++) {
        columns[i] = make_column(generator, &frame, i);
        ok = columns[i] != NULL;
    }
    if (ok)
        return sf_batch_new(schema, rows, columns, NULL, NULL);
    for (uint32_t i = 0; i <= ts; i++)
        sf_column_unref(columns[i]);
    return NULL;
}

sf_status sf_generator_rows(sf_generator *generator, uint32_t rows, int64_t from_ms, int64_t to_ms,
                            sf_batch **out, sf_error *err)
{
    SF_ASSERT(rows > 0 && rows <= SF_BATCH_ROWS_MAX && from_ms <= to_ms);
    order_pool before = generator->pool;
    *out = make_batch(generator, rows, from_ms, to_ms);
    sf_arena_reset(&generator->scratch);
    if (!*out) {
        generator->pool = before;
        return sf_fail_memory(err);
    }
    generator->next_row += rows;
    return SF_OK;
}

/* ---- opening ---- */

static const generator_profile *find_profile(sf_str name)
{
    if (name.len == 0)
        return &profile_generic;
    for (size_t i = 0; i < SF_COUNT_OF(profiles); i++) {
        if (sf_str_eq(name, sf_str_of(profiles[i]->name)))
            return profiles[i];
    }
    return NULL;
}

bool sf_generator_fields(sf_str profile, const sf_field **fields, uint32_t *count)
{
    const generator_profile *found = find_profile(profile);
    if (!found)
        return false;
    *fields = found->fields;
    *count = found->field_count;
    return true;
}

static int32_t profile_field(const generator_profile *profile, const char *name)
{
    for (uint32_t i = 0; i < profile->field_count; i++) {
        if (strcmp(profile->fields[i].name, name) == 0)
            return (int32_t)i;
    }
    return -1;
}

/* Which field of the profile fills each column. Generic fills every column by its type. */
static sf_status map_columns(sf_generator *generator, sf_error *err)
{
    const sf_schema *schema = generator->schema;
    const generator_profile *profile = generator->profile;
    for (uint32_t i = 0; i < schema->count; i++) {
        const sf_field *field = &schema->fields[i];
        generator->fields[i] = -1;
        if (field->hidden)
            continue;
        if (profile == &profile_generic) {
            generator->fields[i] = (int32_t)i;
            continue;
        }
        int32_t found = profile_field(profile, field->name);
        if (found >= 0 && profile->fields[found].type != field->type) {
            sf_fail(err, SF_INVALID, "field \"%s\" of profile \"%s\" is %s, not %s", field->name,
                    profile->name, sf_type_name(profile->fields[found].type),
                    sf_type_name(field->type));
            sf_error_hint(err, "declare it as the profile has it, or use the profile generic");
            return SF_INVALID;
        }
        generator->fields[i] = found;
    }
    return SF_OK;
}

static sf_status refuse_profile(sf_str name, sf_error *err)
{
    sf_fail(err, SF_INVALID, "generator profile \"%.*s\" does not exist",
            name.len > 64 ? 64 : (int)name.len, name.data);
    char words[160];
    size_t len = 0;
    for (size_t i = 0; i < SF_COUNT_OF(profiles); i++) {
        size_t word = strlen(profiles[i]->name);
        memcpy(words + len, profiles[i]->name, word);
        words[len + word] = ' ';
        len += word + 1;
    }
    sf_error_hint(err, "profiles: %.*s", (int)len - 1, words);
    return SF_INVALID;
}

sf_status sf_generator_new(const sf_generator_options *options, sf_generator **out, sf_error *err)
{
    const sf_schema *schema = options->schema;
    const generator_profile *profile = find_profile(options->profile);
    if (!profile)
        return refuse_profile(options->profile, err);
    SF_ASSERT(schema->count > 0 && strcmp(schema->fields[schema->count - 1].name, SF_COL_TS) == 0);
    sf_generator *generator = sf_calloc(1, sizeof *generator);
    if (!generator)
        return sf_fail_memory(err);
    generator->profile = profile;
    generator->schema = sf_schema_ref(schema);
    generator->seed = options->seed;
    generator->world = options->world;
    generator->walk.step = -1;
    sf_arena_init(&generator->arena, 0);
    sf_arena_init(&generator->scratch, 0);
    generator->fields = SF_ARENA_ARRAY(&generator->arena, int32_t, schema->count);
    sf_status status = generator->fields ? map_columns(generator, err) : sf_fail_memory(err);
    if (status == SF_OK && profile == &profile_generic)
        status = generic_read_shapes(generator, options->fields, err);
    if (status != SF_OK) {
        sf_generator_free(generator);
        return status;
    }
    *out = generator;
    return SF_OK;
}

void sf_generator_free(sf_generator *generator)
{
    if (!generator)
        return;
    sf_schema_unref(generator->schema);
    sf_arena_deinit(&generator->arena);
    sf_arena_deinit(&generator->scratch);
    sf_buf_deinit(&generator->text);
    sf_free(generator);
}

void generator_save(const sf_generator *generator, sf_buf *out)
{
    sf_buf_put_u64(out, generator->seed);
    sf_buf_put_u64(out, generator->next_row);
    lifecycle_save(&generator->pool, out);
}

bool generator_load(sf_generator *generator, sf_reader *in)
{
    uint64_t seed = sf_read_u64(in), next_row = sf_read_u64(in);
    order_pool pool;
    if (!lifecycle_load(&pool, in) || in->failed)
        return false;
    generator->seed = seed;
    generator->next_row = next_row;
    generator->pool = pool;
    return true;
}

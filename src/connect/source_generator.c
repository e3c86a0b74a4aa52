/* Kind generator: rows of a profile, so many a second. */
#include "connect/generator.h"
#include "connect/source.h"

#include <math.h>

enum { POSITION_MAGIC = 0x31474653 }; /* "SFG1" */

#define RATE_MAX         1e7
#define PERIOD_NS_MIN    1000000LL     /* 1 ms */
#define PERIOD_NS_MAX    10000000000LL /* 10 s */
#define CATCH_UP_SECONDS 1             /* rows owed beyond that are not made up */

typedef struct {
    sf_source base;
    sf_generator *generator;
    double rate, owed;
    int64_t period_ns, last_mono_ns, last_ts_ms;
    bool begun;
} generator_source;

static sf_status make_generator(const sf_source_config *config, const sf_world *world,
                                uint64_t seed, sf_generator **out, sf_error *err)
{
    sf_generator_options options = {.profile = config->profile,
                                    .schema = config->schema,
                                    .fields = config->fields,
                                    .seed = seed,
                                    .world = *world};
    return sf_generator_new(&options, out, err);
}

static sf_status check_rate(const sf_source_config *config, sf_error *err)
{
    if (isfinite(config->events_per_second) && config->events_per_second <= RATE_MAX)
        return SF_OK;
    sf_fail(err, SF_INVALID, "eventsPerSecond of source \"%.*s\" must be at most %.0f",
            SF_STR_ARG(config->name), RATE_MAX);
    sf_error_hint(err, "0 or less makes no rows by itself");
    return SF_INVALID;
}

static sf_status generator_check(const sf_source_config *config, sf_error *err)
{
    source_connector connector;
    sf_generator *generator = NULL;
    SF_TRY(source_connector_read(&source_kind_generator, config->connector, NULL, &connector, err));
    SF_TRY(check_rate(config, err));
    SF_TRY(make_generator(config, &(sf_world){0}, 0, &generator, err));
    sf_generator_free(generator);
    return SF_OK;
}

static void generator_close(sf_source *source)
{
    generator_source *self = (generator_source *)source;
    sf_generator_free(self->generator);
    sf_free(self);
}

/* Rows of another profile have nothing to go on from. */
static sf_status restore(generator_source *self, sf_str position, sf_error *err)
{
    sf_reader in = {.data = (const uint8_t *)position.data, .len = position.len};
    uint32_t magic = sf_read_u32(&in);
    sf_str profile = sf_read_str(&in);
    if (in.failed || magic != POSITION_MAGIC)
        return sf_fail(err, SF_CORRUPT, "the position of a generator cannot be read");
    if (!sf_str_eq(profile, sf_str_of(self->generator->profile->name)))
        return SF_OK;
    if (!generator_load(self->generator, &in) || in.pos != in.len)
        return sf_fail(err, SF_CORRUPT, "the position of a generator cannot be read");
    return SF_OK;
}

static sf_status generator_open(const sf_source_config *config, sf_str position,
                                const sf_source_port *port, sf_source **out, sf_error *err)
{
    source_connector connector;
    SF_TRY(source_connector_read(&source_kind_generator, config->connector, NULL, &connector, err));
    SF_TRY(check_rate(config, err));
    generator_source *self = sf_calloc(1, sizeof *self);
    if (!self)
        return sf_fail_memory(err);
    uint64_t seed = config->seed;
    if (seed == 0)
        port->random.fill(port->random.self, &seed, sizeof seed);
    sf_status status = source_init(&self->base, &source_kind_generator, port, &connector, err);
    if (status == SF_OK)
        status = make_generator(config, &port->world, seed, &self->generator, err);
    if (status == SF_OK && position.len > 0)
        status = restore(self, position, err);
    if (status != SF_OK) {
        generator_close(&self->base);
        return status;
    }
    self->rate = config->events_per_second;
    if (self->rate > 0) {
        double period_ns = 1e9 / self->rate;
        self->period_ns = period_ns < PERIOD_NS_MIN   ? PERIOD_NS_MIN
                          : period_ns > PERIOD_NS_MAX ? PERIOD_NS_MAX
                                                      : (int64_t)period_ns;
    }
    *out = &self->base;
    return SF_OK;
}

static void save(const generator_source *self, sf_buf *out)
{
    sf_buf_put_u32(out, POSITION_MAGIC);
    sf_buf_put_str(out, sf_str_of(self->generator->profile->name));
    generator_save(self->generator, out);
}

/* Whole rows due now. The first is due at once; a long pause is not made up. */
static uint32_t rows_due(generator_source *self, int64_t mono_ns, uint32_t budget_rows)
{
    double owed_max = fmax(1, self->rate * CATCH_UP_SECONDS);
    if (self->begun)
        self->owed += self->rate * (double)(mono_ns - self->last_mono_ns) / 1e9;
    else
        self->owed = 1;
    self->begun = true;
    self->last_mono_ns = mono_ns;
    self->owed = fmin(self->owed, owed_max);
    double rows = floor(self->owed + 1e-6); /* a period is cut to whole nanoseconds */
    return rows < budget_rows ? (uint32_t)rows : budget_rows;
}

/* Batches until `rows` are made. A failure after the first is left to the next poll. */
static sf_status make_rows(generator_source *self, uint32_t rows, int64_t from_ms, int64_t to_ms,
                           sf_poll *out, sf_error *err)
{
    int64_t span_ms = to_ms - from_ms;
    for (uint32_t made = 0; made < rows;) {
        uint32_t count = rows - made < SF_BATCH_ROWS ? rows - made : SF_BATCH_ROWS;
        sf_batch *batch = NULL;
        sf_status status = sf_generator_rows(
            self->generator, count, from_ms + (int64_t)((double)span_ms * made / rows),
            from_ms + (int64_t)((double)span_ms * (made + count) / rows), &batch, err);
        if (status != SF_OK)
            return made > 0 ? SF_OK : status;
        if (!SF_VEC_PUSH(&out->batches, batch)) {
            sf_batch_unref(batch);
            return sf_fail_memory(err);
        }
        made += count;
        out->rows = made;
    }
    return SF_OK;
}

static sf_status generator_poll(sf_source *source, uint32_t budget_rows, sf_poll *out,
                                sf_error *err)
{
    generator_source *self = (generator_source *)source;
    sf_generator *generator = self->generator;
    out->next_mono_ns = INT64_MAX;
    out->caught_up = true;
    uint64_t next_row = generator->next_row;
    order_pool pool = generator->pool;
    sf_status status = SF_OK;
    if (self->rate > 0) {
        int64_t mono_ns = sf_clock_mono_ns(&source->clock);
        int64_t now_ms = sf_clock_wall_ms(&source->clock);
        uint32_t rows = rows_due(self, mono_ns, budget_rows);
        bool has_past =
            self->last_ts_ms >= now_ms - 1000 * CATCH_UP_SECONDS && self->last_ts_ms <= now_ms;
        int64_t from_ms = has_past ? self->last_ts_ms : now_ms;
        status = make_rows(self, rows, from_ms, now_ms, out, err);
        self->owed -= (double)out->rows;
        if (out->rows > 0)
            self->last_ts_ms = now_ms;
        out->caught_up = self->owed < 1;
        out->next_mono_ns = out->caught_up ? sf_sat_add(mono_ns, self->period_ns) : mono_ns;
    }
    save(self, &out->position);
    if (status == SF_OK && out->position.failed)
        status = sf_fail_memory(err);
    if (status != SF_OK) {
        generator->next_row = next_row;
        generator->pool = pool;
    }
    return status;
}

const sf_source_kind source_kind_generator = {
    .name = "generator",
    .label = "Generator",
    .help = "Synthetic rows of a profile, eventsPerSecond of them.",
    .delivery = SF_DELIVERY_LIVE,
    .check = generator_check,
    .open = generator_open,
    .poll = generator_poll,
    .close = generator_close,
};

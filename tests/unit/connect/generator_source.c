/* Kind generator: rate, position, restart. */
#include "tests.h"

#include <math.h>

#define SECOND_NS 1000000000LL

static void fill_seven(void *self, void *bytes, size_t len)
{
    SF_UNUSED(self);
    memset(bytes, 7, len);
}

static hand_clock clock_now;

static sf_source_port make_port(void)
{
    clock_now = (hand_clock){.wall_ms = 1000000, .mono_ns = 5 * SECOND_NS};
    return (sf_source_port){.clock = hand_clock_table(&clock_now),
                            .random = {.fill = fill_seven},
                            .world = {.seed = 5}};
}

static void pass(int64_t ns)
{
    clock_now.mono_ns += ns;
    clock_now.wall_ms += ns / 1000000;
}

static sf_source *open_source(const char *profile, double rate, sf_str position,
                              const sf_source_port *port, sf_status want)
{
    const sf_source_kind *kind = sf_source_kind_find(SF_STR("generator"));
    const sf_field *fields;
    uint32_t count;
    SF_ASSERT(sf_generator_fields(sf_str_of(profile), &fields, &count));
    sf_schema *schema = source_schema(fields, count);
    sf_source_config config = {.name = SF_STR("s"),
                               .schema = schema,
                               .profile = sf_str_of(profile),
                               .events_per_second = rate};
    sf_source *source = NULL;
    sf_error err;
    CHECK_INT(sf_source_check(kind, &config, &err), SF_OK);
    CHECK_INT(sf_source_open(kind, &config, position, port, &source, &err), want);
    sf_schema_unref(schema);
    return source;
}

static uint64_t poll_rows(sf_source *source, uint32_t budget, sf_poll *poll)
{
    sf_error err;
    CHECK_INT(sf_source_poll(source, budget, poll, &err), SF_OK);
    uint64_t rows = 0;
    for (size_t i = 0; i < poll->batches.len; i++) {
        CHECK(poll->batches.data[i]->rows <= SF_BATCH_ROWS);
        rows += poll->batches.data[i]->rows;
    }
    CHECK_INT(poll->rows, rows);
    return rows;
}

void generator_keeps_its_rate(void)
{
    static const struct {
        double rate;
        int64_t period_ns;
        uint64_t rows_in_20_s; /* polled at the told times; the first is due at once */
    } rows[] = {
        {5, 200000000, 101},    {0.05, 10 * SECOND_NS, 2}, /* at 0 s and at 20 s; looked at every 10 s */
        {1000, 1000000, 20001}, {4000, 1000000, 80001},    {3, 333333333, 61},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_source_port port = make_port();
        sf_source *source = open_source("generic", rows[i].rate, SF_STR(""), &port, SF_OK);
        REQUIRE(source);
        sf_poll poll = {0};
        int64_t start_ns = clock_now.mono_ns;
        uint64_t got = poll_rows(source, 100000, &poll);
        CHECK_INT(got, 1);
        CHECK_INT(poll.next_mono_ns, start_ns + rows[i].period_ns);
        while (poll.next_mono_ns <= start_ns + 20 * SECOND_NS) {
            CHECK(poll.caught_up);
            clock_now.mono_ns = poll.next_mono_ns;
            clock_now.wall_ms = 1000000 + (clock_now.mono_ns - start_ns) / 1000000;
            got += poll_rows(source, 100000, &poll);
        }
        CHECK(llabs((long long)got - (long long)rows[i].rows_in_20_s) <= 1);
        sf_poll_deinit(&poll);
        sf_source_close(source);
    }
    sf_source_port port = make_port();
    sf_source *source = open_source("generic", 1000, SF_STR(""), &port, SF_OK);
    sf_poll poll = {0};
    poll_rows(source, 10, &poll);
    CHECK_INT(poll_rows(source, 10, &poll), 0); /* too early */
    pass(100 * SECOND_NS);                      /* a pause is made up for one second only */
    CHECK_INT(poll_rows(source, 600, &poll), 600);
    CHECK(!poll.caught_up);
    CHECK_INT(poll.next_mono_ns, clock_now.mono_ns); /* more at once */
    CHECK_INT(poll_rows(source, 600, &poll), 400);
    CHECK(poll.caught_up);
    int64_t ts = long_at(poll.batches.data[0], SF_COL_TS, 399);
    CHECK_INT(ts, clock_now.wall_ms);
    pass(SECOND_NS); /* times are spread over what has passed */
    REQUIRE(poll_rows(source, 100000, &poll) == 1000);
    CHECK_INT(long_at(poll.batches.data[0], SF_COL_TS, 0), ts + 1);
    CHECK_INT(long_at(poll.batches.data[0], SF_COL_TS, 999), ts + 1000);
    sf_source_close(source);

    source = open_source("generic", 0, SF_STR(""), &port, SF_OK);
    CHECK_INT(poll_rows(source, 10, &poll), 0);
    CHECK_INT(poll.next_mono_ns, INT64_MAX);
    sf_source_close(source);
    sf_poll_deinit(&poll);

    const sf_source_kind *kind = sf_source_kind_find(SF_STR("generator"));
    sf_schema *schema = source_schema(NULL, 0);
    sf_source_config config = {.name = SF_STR("s"), .schema = schema};
    sf_error err;
    config.events_per_second = NAN;
    CHECK_INT(sf_source_check(kind, &config, &err), SF_INVALID);
    config.events_per_second = 2e7;
    CHECK_INT(sf_source_check(kind, &config, &err), SF_INVALID);
    CHECK_STR(err.message, "eventsPerSecond of source \"s\" must be at most 10000000");
    sf_schema_unref(schema);
}

/* The rows behind a position are the same whether the source was closed there or not. */
void generator_goes_on_at_its_position(void)
{
    static const char *const profiles[] = {"lifecycle", "multileg", "trades"};
    for (size_t p = 0; p < SF_COUNT_OF(profiles); p++) {
        sf_source_port port = make_port();
        sf_source *first = open_source(profiles[p], 5000, SF_STR(""), &port, SF_OK);
        sf_poll poll = {0};
        poll_rows(first, 1, &poll);
        pass(SECOND_NS / 10);
        CHECK_INT(poll_rows(first, 1000, &poll), 500);
        sf_buf position = {0};
        sf_buf_put(&position, poll.position.data, poll.position.len);
        pass(SECOND_NS / 10);
        CHECK_INT(poll_rows(first, 1000, &poll), 500);

        port.random.fill = NULL; /* a position brings its seed */
        sf_source_config config = {.name = SF_STR("s"), .seed = 99};
        const sf_source_kind *kind = sf_source_kind_find(SF_STR("generator"));
        config.schema = poll.batches.data[0]->schema;
        config.profile = sf_str_of(profiles[p]);
        config.events_per_second = 500;
        sf_source *second = NULL;
        sf_error err;
        REQUIRE_OK(sf_source_open(kind, &config, sf_buf_str(&position), &port, &second, &err), err);
        sf_poll again = {0};
        CHECK_INT(poll_rows(second, 1, &again), 1);
        sf_batch *a = again.batches.data[0], *b = poll.batches.data[0];
        for (uint32_t c = 0; c < 4; c++) { /* all but what depends on the time */
            if (a->schema->fields[c].type != SF_TYPE_UTF8)
                continue;
            CHECK(sf_str_eq(sf_column_str(a->columns[c], 0), sf_column_str(b->columns[c], 0)));
        }
        sf_poll_deinit(&again);
        sf_source_close(second);

        port.random.fill = fill_seven; /* another profile starts anew */
        second = open_source("quotes", 10, sf_buf_str(&position), &port, SF_OK);
        CHECK(second);
        sf_source_close(second);
        sf_buf_deinit(&position);
        sf_poll_deinit(&poll);
        sf_source_close(first);
    }
}

void generator_positions_are_checked(void)
{
    sf_source_port port = make_port();
    sf_source *source = open_source("lifecycle", 1000, SF_STR(""), &port, SF_OK);
    sf_poll poll = {0};
    poll_rows(source, 1, &poll);
    pass(SECOND_NS / 10);
    poll_rows(source, 100, &poll);
    sf_str position = sf_buf_str(&poll.position);
    for (size_t len = 1; len < position.len; len++)
        CHECK(!open_source("lifecycle", 1, (sf_str){position.data, len}, &port, SF_CORRUPT));
    uint32_t harmless = 0;
    for (size_t i = 0; i < position.len; i++) { /* damage is refused or leaves valid rows */
        sf_source *damaged = NULL;
        poll.position.data[i] ^= (char)0x81;
        const sf_source_kind *kind = sf_source_kind_find(SF_STR("generator"));
        sf_source_config config = {.name = SF_STR("s"),
                                   .schema = poll.batches.data[0]->schema,
                                   .profile = SF_STR("lifecycle"),
                                   .events_per_second = 1000};
        sf_error err;
        sf_status status = sf_source_open(kind, &config, position, &port, &damaged, &err);
        CHECK(status == SF_OK || status == SF_CORRUPT);
        if (damaged) {
            sf_poll rows = {0};
            poll_rows(damaged, 1, &rows);
            pass(SECOND_NS);
            poll_rows(damaged, 1000, &rows);
            sf_poll_deinit(&rows);
            harmless++;
        }
        sf_source_close(damaged);
        poll.position.data[i] ^= (char)0x81;
    }
    CHECK(harmless < position.len);
    sf_poll_deinit(&poll);
    sf_source_close(source);
}

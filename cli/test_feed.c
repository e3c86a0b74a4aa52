/* Rows of events become batches, through the product's own row parser. */
#include "cli/test.h"
#include "text/text.h"

/* Rows a source was given and not yet taken back, for retractions. */
typedef struct {
    sf_str text; /* declared columns */
    int64_t ts;
} given_row;

typedef struct {
    sf_parser *parser;
    SF_VEC(given_row) given;
} feed_source;

typedef struct {
    sf_test_case *test;
    feed_source *sources;
    int64_t now_ms;
} feed;

/* The row's one line through the source's parser. */
static sf_status parse_row(feed *f, const sf_test_event *event, int64_t stamp_ms, sf_batch **out,
                           sf_error *err)
{
    sf_parser *parser = f->sources[event->source].parser;
    sf_buf line = {0};
    sf_buf_put(&line, event->row.data, event->row.len);
    for (size_t i = 0; i < line.len; i++) /* white space: a text has no bare line end */
        if (line.data[i] == '\n' || line.data[i] == '\r')
            line.data[i] = ' ';
    sf_buf_putc(&line, '\n');
    sf_parser_set_stamp(parser, stamp_ms);
    uint64_t bad = sf_parser_report(parser)->malformed;
    sf_status status = line.failed ? sf_fail_memory(err) : SF_OK;
    if (status == SF_OK)
        status = sf_parser_feed(parser, sf_buf_str(&line), err);
    if (status == SF_OK)
        status = sf_parser_flush(parser, err);
    sf_buf_deinit(&line);
    SF_TRY(status);
    *out = sf_parser_next(parser);
    if (*out)
        return SF_OK;
    if (sf_parser_report(parser)->malformed == bad)
        return sf_fail(err, SF_INTERNAL, "the row was not parsed");
    return sf_fail(err, SF_INVALID, "the row is malformed");
}

static int64_t row_ts(const sf_batch *batch)
{
    return SF_LANES(batch->columns[batch->schema->count - 1], int64_t)[0];
}

static sf_status row_text(feed *f, const sf_batch *batch, sf_str *out, sf_error *err)
{
    sf_buf buf = {0};
    sf_write_json_row(&buf, batch, 0, false);
    char *kept = buf.failed ? NULL : sf_arena_strndup(&f->test->arena, buf.data, buf.len);
    *out = (sf_str){kept, buf.len};
    sf_buf_deinit(&buf);
    return kept ? SF_OK : sf_fail_memory(err);
}

/* The same row with weight -1. */
static sf_status weigh_down(sf_batch **batch, sf_error *err)
{
    sf_column *columns[SF_COLUMNS_MAX];
    sf_column *weights = sf_column_new(SF_TYPE_I64, 1, false);
    if (!weights)
        return sf_fail_memory(err);
    ((int64_t *)sf_column_lanes(weights))[0] = -1;
    for (uint32_t i = 0; i < (*batch)->schema->count; i++)
        columns[i] = sf_column_ref((*batch)->columns[i]);
    sf_batch *negative = sf_batch_new((*batch)->schema, 1, columns, weights, NULL);
    sf_batch_unref(*batch);
    *batch = negative;
    return negative ? SF_OK : sf_fail_memory(err);
}

/* A row that goes has the _ts it came with, unless the event says another. */
static sf_status take_back(feed *f, sf_test_event *event, sf_error *err)
{
    feed_source *source = &f->sources[event->source];
    sf_str text, ts;
    SF_TRY(row_text(f, event->batch, &text, err));
    bool dated = sf_json_get_key(event->row, SF_STR("_ts"), &ts);
    size_t i = source->given.len;
    while (i > 0) {
        const given_row *given = &source->given.data[i - 1];
        if (sf_str_eq(given->text, text) && (!dated || given->ts == row_ts(event->batch)))
            break;
        i--;
    }
    if (i == 0)
        return sf_fail(err, SF_INVALID, "it retracts a row that is not there");
    int64_t given_ts = source->given.data[i - 1].ts;
    source->given.data[i - 1] = source->given.data[--source->given.len];
    if (!dated) {
        sf_batch_unref(event->batch);
        event->batch = NULL;
        SF_TRY(parse_row(f, event, given_ts, &event->batch, err));
    }
    return weigh_down(&event->batch, err);
}

static sf_status feed_row(feed *f, sf_test_event *event, sf_error *err)
{
    feed_source *source = &f->sources[event->source];
    SF_TRY(parse_row(f, event, f->now_ms, &event->batch, err));
    if (event->retract)
        return take_back(f, event, err);
    if (!f->test->sources.data[event->source].retracts)
        return SF_OK;
    given_row given = {.ts = row_ts(event->batch)};
    SF_TRY(row_text(f, event->batch, &given.text, err));
    return SF_VEC_PUSH(&source->given, given) ? SF_OK : sf_fail_memory(err);
}

static sf_status feed_open(feed *f, sf_error *err)
{
    f->sources = sf_calloc(f->test->sources.len + 1, sizeof *f->sources);
    if (!f->sources)
        return sf_fail_memory(err);
    for (size_t i = 0; i < f->test->sources.len; i++) {
        sf_parser_options options = {.format = SF_FORMAT_NDJSON,
                                     .schema = f->test->sources.data[i].schema};
        SF_TRY(sf_parser_new(&options, &f->sources[i].parser, err));
    }
    return SF_OK;
}

static void feed_close(feed *f)
{
    for (size_t i = 0; f->sources && i < f->test->sources.len; i++) {
        sf_parser_free(f->sources[i].parser);
        SF_VEC_DEINIT(&f->sources[i].given);
    }
    sf_free(f->sources);
}

sf_status sf_test_feed(sf_test_case *test, sf_error *err)
{
    feed f = {.test = test};
    sf_status status = feed_open(&f, err);
    for (size_t i = 0; status == SF_OK && i < test->events.len; i++) {
        sf_test_event *event = &test->events.data[i];
        if (event->kind == SF_TEST_ADVANCE)
            f.now_ms = sf_sat_add(f.now_ms, event->amount);
        if (event->kind == SF_TEST_ROW)
            status = feed_row(&f, event, err);
        if (status != SF_OK)
            sf_error_context(err, "event %u", event->number);
    }
    feed_close(&f);
    return status;
}

/* The public C API, as a program that embeds the engine uses it. */
#include "streamsforge/engine.h"
#include "unit/check.h"

static const sf_world_field trade_fields[] = {
    {"symbol", SF_WORLD_STRING}, {"qty", SF_WORLD_LONG}, {"price", SF_WORLD_DOUBLE},
    {"at", SF_WORLD_TIMESTAMP},  {"ok", SF_WORLD_BOOL},  {"extra", SF_WORLD_JSON}};
enum { TRADE_FIELDS = 6 };

static const sf_world_source_options changing = {.lateness_ms = 0, .takes_retractions = true};

static sf_world *trades_world(void)
{
    sf_world *world = sf_world_new();
    SF_ASSERT(world);
    SF_ASSERT(sf_world_add_source(world, "trades", trade_fields, TRADE_FIELDS, &changing, NULL) ==
              SF_WORLD_OK);
    return world;
}

static sf_world_status push(sf_world *world, const char *symbol, int64_t qty, int64_t ts_ms,
                            int64_t weight, sf_world_error *error)
{
    sf_world_value values[TRADE_FIELDS] = {
        symbol ? sf_world_text(symbol) : sf_world_null(),
        sf_world_whole(qty),
        sf_world_whole(qty), /* a Long for a Double */
        sf_world_whole(ts_ms),
        sf_world_truth(qty > 0),
        sf_world_text("{\"a\":[1]}"),
    };
    values[5].type = SF_WORLD_JSON;
    sf_world_row row = {.values = values, .count = TRADE_FIELDS, .ts_ms = ts_ms, .weight = weight};
    return sf_world_push(world, "trades", &row, error);
}

static int64_t read_whole(sf_world *world, const char *table, size_t column)
{
    sf_world_reader *reader;
    sf_world_row row;
    sf_world_error error;
    int64_t whole = -1;
    SF_ASSERT(sf_world_read(world, table, &reader, &error) == SF_WORLD_OK);
    if (sf_world_reader_next(reader, &row, &error))
        whole = row.values[column].as.whole;
    sf_world_reader_free(reader);
    return whole;
}

static void rows_become_an_answer(void)
{
    sf_world *world = trades_world();
    sf_world_error error;
    REQUIRE(sf_world_add_table(world, "t", "SELECT SUM(qty) AS q, COUNT(*) AS n FROM trades",
                               &error) == SF_WORLD_OK);
    for (int64_t i = 1; i <= 5000; i++) /* more than one batch */
        REQUIRE(push(world, "A", i, i, 1, &error) == SF_WORLD_OK);
    REQUIRE(push(world, "A", 1, 1, -1, &error) == SF_WORLD_OK);
    REQUIRE(sf_world_run(world, NULL, NULL, &error) == SF_WORLD_OK);
    CHECK_INT(read_whole(world, "t", 0), 5000 * 5001 / 2 - 1);
    CHECK_INT(read_whole(world, "t", 1), 4999);
    CHECK_INT(sf_world_column_count(world, "t"), 2);
    CHECK_STR(sf_world_column_name(world, "t", 1), "n");
    CHECK_INT(sf_world_column_type(world, "t", 1), SF_WORLD_LONG);
    CHECK(sf_world_column_name(world, "t", 2) == NULL);
    CHECK_INT(sf_world_column_count(world, "nope"), 0);
    sf_world_free(world);
}

static void every_type_comes_back(void)
{
    sf_world *world = trades_world();
    sf_world_error error;
    sf_world_reader *reader;
    sf_world_row row;
    REQUIRE(sf_world_add_table(world, "t", "SELECT * FROM trades", &error) == SF_WORLD_OK);
    REQUIRE(push(world, NULL, 7, 1234, 1, &error) == SF_WORLD_OK);
    REQUIRE(push(world, NULL, 7, 1234, 1, &error) == SF_WORLD_OK);
    REQUIRE(sf_world_run(world, NULL, NULL, &error) == SF_WORLD_OK);
    REQUIRE(sf_world_read(world, "t", &reader, &error) == SF_WORLD_OK);
    REQUIRE(sf_world_reader_next(reader, &row, &error));
    CHECK_INT(row.count, TRADE_FIELDS);
    CHECK_INT(row.weight, 2);
    CHECK_INT(row.ts_ms, 1234);
    CHECK_INT(row.values[0].type, SF_WORLD_NULL);
    CHECK_INT(row.values[1].as.whole, 7);
    CHECK(row.values[2].type == SF_WORLD_DOUBLE && row.values[2].as.real == 7.0);
    CHECK(row.values[3].type == SF_WORLD_TIMESTAMP && row.values[3].as.whole == 1234);
    CHECK(row.values[4].type == SF_WORLD_BOOL && row.values[4].as.truth);
    CHECK(row.values[5].type == SF_WORLD_JSON && row.values[5].as.text.len == 9);
    CHECK(!sf_world_reader_next(reader, &row, &error));
    CHECK_INT(error.status, SF_WORLD_OK);
    sf_world_reader_free(reader);
    sf_world_free(world);
}

static void collect(void *arg, const char *query, const sf_world_row *row)
{
    sf_buf *out = arg;
    sf_buf_printf(out, "%s%+lld %lld;", query, (long long)row->weight,
                  (long long)row->values[0].as.whole);
}

static void changes_are_told(void)
{
    sf_world *world = trades_world();
    sf_world_error error;
    sf_buf told = {0};
    REQUIRE(sf_world_add_pipeline(world, "p",
                                  "SELECT SUM(qty) AS q FROM trades WINDOW TUMBLING(SIZE 1 SECOND)",
                                  &error) == SF_WORLD_OK);
    REQUIRE(push(world, "A", 1, 100, 1, &error) == SF_WORLD_OK);
    REQUIRE(push(world, "A", 2, 900, 1, &error) == SF_WORLD_OK);
    REQUIRE(sf_world_run(world, collect, &told, &error) == SF_WORLD_OK);
    CHECK_INT(told.len, 0);
    REQUIRE(push(world, "A", 4, 1000, 1, &error) == SF_WORLD_OK);
    REQUIRE(sf_world_run(world, collect, &told, &error) == SF_WORLD_OK);
    REQUIRE(sf_world_watermark(world, "trades", SF_WORLD_END, &error) == SF_WORLD_OK);
    REQUIRE(sf_world_run(world, collect, &told, &error) == SF_WORLD_OK);
    CHECK_STR(told.data ? told.data : "", "p+1 3;p+1 4;");
    sf_world_reader *reader;
    CHECK_INT(sf_world_read(world, "p", &reader, &error), SF_WORLD_INVALID);
    sf_buf_deinit(&told);
    sf_world_free(world);
}

static void tables_read_tables(void)
{
    sf_world *world = trades_world();
    sf_world_error error;
    REQUIRE(sf_world_add_table(world, "sums",
                               "SELECT symbol, SUM(qty) AS q FROM trades "
                               "GROUP BY symbol",
                               &error) == SF_WORLD_OK);
    REQUIRE(sf_world_add_table(world, "top", "SELECT MAX(q) AS m FROM sums", &error) ==
            SF_WORLD_OK);
    push(world, "A", 5, 1, 1, &error);
    push(world, "B", 7, 1, 1, &error);
    push(world, "A", 4, 1, 1, &error);
    REQUIRE(sf_world_run(world, NULL, NULL, &error) == SF_WORLD_OK);
    CHECK_INT(read_whole(world, "top", 0), 9);
    sf_world_free(world);
}

static void errors_have_a_place_and_words(void)
{
    sf_world *world = trades_world();
    sf_world_error error;
    CHECK_INT(sf_world_add_table(world, "t", "SELECT symbol,\n  prcie\nFROM trades", &error),
              SF_WORLD_SQL);
    CHECK_INT(error.line, 2);
    CHECK_INT(error.column, 3);
    CHECK(strstr(error.message, "prcie") != NULL);
    CHECK_INT(sf_world_add_source(world, "trades", trade_fields, 1, NULL, &error), SF_WORLD_EXISTS);
    CHECK_INT(sf_world_add_source(world, "", trade_fields, 1, NULL, &error), SF_WORLD_INVALID);
    CHECK_INT(sf_world_add_source(world, "x", trade_fields, 0, NULL, &error), SF_WORLD_INVALID);
    static const sf_world_field typeless = {"a", SF_WORLD_NULL};
    CHECK_INT(sf_world_add_source(world, "x", &typeless, 1, NULL, &error), SF_WORLD_INVALID);
    CHECK_INT(sf_world_watermark(world, "nope", 0, &error), SF_WORLD_NOT_FOUND);
    CHECK_INT(sf_world_watermark(world, "nope", 0, NULL), SF_WORLD_NOT_FOUND);
    sf_world_reader *reader;
    CHECK_INT(sf_world_read(world, "nope", &reader, &error), SF_WORLD_NOT_FOUND);
    sf_world_free(world);
}

/* What is refused leaves no trace: the next row is as if it had not been tried. */
static void wrong_rows_are_refused(void)
{
    static const char cut[] = "\xc3";
    sf_world *world = trades_world();
    sf_world_error error;
    REQUIRE(sf_world_add_table(world, "t", "SELECT COUNT(*) AS n, SUM(qty) AS q FROM trades",
                               &error) == SF_WORLD_OK);
    sf_world_value good[TRADE_FIELDS] = {sf_world_text("A"), sf_world_whole(1)};
    const struct {
        size_t column;
        sf_world_value value;
        const char *part;
    } wrong[] = {
        {0, sf_world_whole(1), "\"symbol\" is not a String"},
        {1, sf_world_real(1.5), "\"qty\" is not a Long"},
        {2, sf_world_real(1.0 / 0.0), "\"price\" is not finite"},
        {0, sf_world_text(cut), "\"symbol\" is not UTF-8"},
        {5, sf_world_text("{}"), "\"extra\" is not a Json"},
        {5, {.type = SF_WORLD_JSON, .as.text = {"{]", 2}}, "\"extra\" is not JSON"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(wrong); i++) {
        sf_world_value values[TRADE_FIELDS];
        memcpy(values, good, sizeof values);
        values[wrong[i].column] = wrong[i].value;
        sf_world_row row = {.values = values, .count = TRADE_FIELDS, .weight = 1};
        CHECK_INT(sf_world_push(world, "trades", &row, &error), SF_WORLD_INVALID);
        CHECK(strstr(error.message, wrong[i].part) != NULL);
    }
    sf_world_row row = {.values = good, .count = TRADE_FIELDS, .weight = 0};
    CHECK_INT(sf_world_push(world, "trades", &row, &error), SF_WORLD_INVALID);
    row.weight = 1;
    row.count = 2;
    CHECK_INT(sf_world_push(world, "trades", &row, &error), SF_WORLD_INVALID);
    row.count = TRADE_FIELDS;
    CHECK_INT(sf_world_push(world, "trades", &row, &error), SF_WORLD_OK);
    REQUIRE(sf_world_run(world, NULL, NULL, &error) == SF_WORLD_OK);
    CHECK_INT(read_whole(world, "t", 0), 1);
    CHECK_INT(read_whole(world, "t", 1), 1);
    sf_world_free(world);
}

/* Out as a stream and in again gives the same rows; a row that is there twice comes twice. */
static void arrow_goes_out_and_in(void)
{
    sf_world *world = trades_world(), *copy = trades_world();
    sf_world_error error;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;
    REQUIRE(sf_world_add_table(world, "t", "SELECT * FROM trades", &error) == SF_WORLD_OK);
    REQUIRE(sf_world_add_table(copy, "t", "SELECT COUNT(*) AS n, SUM(qty) AS q FROM trades",
                               &error) == SF_WORLD_OK);
    for (int64_t i = 0; i < 6000; i++)
        REQUIRE(push(world, i % 3 ? "a symbol of some length" : NULL, i / 2, 5, 1, &error) ==
                SF_WORLD_OK);
    REQUIRE(sf_world_run(world, NULL, NULL, &error) == SF_WORLD_OK);
    REQUIRE(sf_world_read_arrow(world, "t", &stream, &error) == SF_WORLD_OK);
    sf_world_free(world); /* the stream lives on */
    for (;;) {
        uint64_t misfits = 99;
        REQUIRE(stream.get_schema(&stream, &schema) == 0);
        REQUIRE(stream.get_next(&stream, &array) == 0);
        if (!array.release) {
            schema.release(&schema);
            break;
        }
        REQUIRE(sf_world_push_arrow(copy, "trades", &array, &schema, &misfits, &error) ==
                SF_WORLD_OK);
        CHECK_INT(misfits, 0);
        CHECK(array.release == NULL && schema.release == NULL);
    }
    CHECK(stream.get_last_error(&stream) == NULL);
    stream.release(&stream);
    REQUIRE(sf_world_run(copy, NULL, NULL, &error) == SF_WORLD_OK);
    CHECK_INT(read_whole(copy, "t", 0), 6000);
    CHECK_INT(read_whole(copy, "t", 1), 2 * (2999 * 3000 / 2));
    sf_world_free(copy);
}

static const sf_case cases[] = {
    SF_CASE(rows_become_an_answer),
    SF_CASE(every_type_comes_back),
    SF_CASE(changes_are_told),
    SF_CASE(tables_read_tables),
    SF_CASE(errors_have_a_place_and_words),
    SF_CASE(wrong_rows_are_refused),
    SF_CASE(arrow_goes_out_and_in),
};

SF_RUN("library", cases)

/* Watermarks, the columns of relations, worlds in one thread. */
#include "tests.h"

/* ---- watermarks and schemas ---- */

/* Of each row: the largest time so far, less what may be late. */
void markers_never_go_back(void)
{
    static const struct {
        int64_t lateness, ts[4], marks[4];
    } steps[] = {
        {0, {5, 3, 9, 9}, {5, 5, 9, 9}},
        {10, {5, 3, 19, 18}, {-5, -5, 9, 9}},
        {1, {INT64_MIN, INT64_MIN, 0, INT64_MAX}, {INT64_MIN, INT64_MIN, -1, INT64_MAX - 1}},
    };
    sf_schema *schema = sf_relation_schema(kv, 2, SF_INPUT_SOURCE);
    REQUIRE(schema);
    for (size_t s = 0; s < SF_COUNT_OF(steps); s++) {
        sf_marker marker;
        sf_marker_init(&marker, steps[s].lateness);
        CHECK(marker.watermark == SF_MARK_NONE);
        row rows[4] = {{0}};
        for (size_t i = 0; i < 4; i++)
            rows[i].ts = steps[s].ts[i];
        for (size_t half = 0; half < 2; half++) { /* it goes on in the next batch */
            sf_batch *batch = batch_of(schema, rows + 2 * half, 2, 1);
            sf_batch *stamped = batch ? sf_marker_stamp(&marker, batch) : NULL;
            for (size_t i = 0; stamped && i < 2; i++)
                CHECK_INT(SF_LANES(stamped->marks, int64_t)[i], steps[s].marks[2 * half + i]);
            CHECK(stamped && !batch->marks);
            sf_batch_unref(stamped);
            sf_batch_unref(batch);
        }
        CHECK_INT(marker.watermark, steps[s].marks[3]);
        CHECK(!sf_marker_advance(&marker, marker.watermark));
        CHECK(!sf_marker_advance(&marker, -100));
        CHECK(sf_marker_advance(&marker, SF_MARK_END));
        CHECK(marker.watermark == SF_MARK_END);
    }
    sf_schema_unref(schema);
}

void relations_have_hidden_columns(void)
{
    sf_schema *source = sf_relation_schema(kv, 2, SF_INPUT_SOURCE);
    sf_schema *table = sf_relation_schema(kv, 2, SF_INPUT_TABLE);
    REQUIRE(source && table);
    CHECK_INT(source->count, 4);
    CHECK_STR(source->fields[2].name, SF_COL_RETRACT);
    CHECK_INT(source->fields[2].type, SF_TYPE_BOOL);
    CHECK_STR(source->fields[3].name, SF_COL_TS);
    CHECK_INT(table->count, 3);
    CHECK_STR(table->fields[2].name, SF_COL_TS);
    CHECK(!source->fields[1].hidden && source->fields[2].hidden && source->fields[3].hidden);
    CHECK(table->fields[2].hidden);
    sf_schema_unref(source);
    sf_schema_unref(table);
}

/* ---- a world in one thread ---- */

static sf_engine *open_engine(bool append_only)
{
    sf_engine *engine = sf_engine_new();
    sf_error err = {0};
    SF_ASSERT(engine);
    CHECK_INT(sf_engine_add_source(engine, "s", kv, 2, 0, append_only, &err), SF_OK);
    return engine;
}

static sf_status push(sf_engine *engine, const row *rows, size_t count, int64_t weight,
                      sf_error *err)
{
    sf_batch *batch = batch_of(sf_engine_source_schema(engine, "s"), rows, count, weight);
    sf_status status = batch ? sf_engine_push(engine, "s", batch, err) : sf_fail_memory(err);
    sf_batch_unref(batch);
    return status;
}

static sf_status add_query(sf_engine *engine, const char *name, sf_plan_kind kind, const char *sql,
                           sf_error *err)
{
    return sf_engine_add_query(engine, name, kind, sf_str_of(sql), NULL, err);
}

static const char *table_of(sf_engine *engine, const char *name, char *text)
{
    return answer_of(sf_engine_snapshot(engine, name), sf_plan_schema(sf_engine_plan(engine, name)),
                     text);
}

static void hear(void *arg, const char *query, const sf_batch *batch)
{
    char *text = arg;
    for (uint32_t i = 0; i < batch->rows; i++) {
        size_t len = strlen(text);
        snprintf(text + len, TEXT_BYTES - len, " %s", query);
        put_row(text, batch, i);
    }
}

static const char sums[] = "SELECT k, SUM(v) AS s FROM s GROUP BY k";
static const row three[] = {{1, 10, 100}, {2, 20, 200}, {1, 5, 300}};

void worlds_refuse(void)
{
    sf_engine *engine = open_engine(true);
    sf_error err = {0};
    sf_diagnostics diagnostics = {0};
    CHECK_INT(sf_engine_add_source(engine, "s", kv, 2, 0, true, &err), SF_EXISTS);
    CHECK_INT(add_query(engine, "s", SF_PLAN_TABLE, sums, &err), SF_EXISTS);
    CHECK(strstr(err.message, "\"s\""));
    CHECK_INT(sf_engine_add_query(engine, "t", SF_PLAN_TABLE, SF_STR("SELECT\nk FRM s"),
                                  &diagnostics, &err),
              SF_SYNTAX);
    CHECK(diagnostics.list.len > 0 && diagnostics.list.data[0].line == 2);
    sf_diagnostics_deinit(&diagnostics);
    CHECK(add_query(engine, "t", SF_PLAN_TABLE, "SELECT nope FROM s", &err) != SF_OK);
    CHECK(strstr(err.message, "nope"));
    CHECK(add_query(engine, "t", SF_PLAN_TABLE, "SELECT k FROM nowhere", &err) != SF_OK);
    CHECK(strstr(err.message, "nowhere"));
    CHECK(!sf_engine_plan(engine, "t") && !sf_engine_circuit(engine, "t"));
    CHECK(!sf_engine_snapshot(engine, "t") && !sf_engine_source_schema(engine, "t"));
    CHECK_INT(sf_engine_watermark(engine, "t", 1, &err), SF_NOT_FOUND);

    sf_schema *other = sf_relation_schema(kv, 2, SF_INPUT_TABLE);
    sf_batch *wrong = sf_batch_new(other, 0,
                                   (sf_column *[]){sf_column_nulls(SF_TYPE_I64, 0),
                                                   sf_column_nulls(SF_TYPE_I64, 0),
                                                   sf_column_nulls(SF_TYPE_I64, 0)},
                                   NULL, NULL);
    REQUIRE(wrong);
    CHECK_INT(sf_engine_push(engine, "s", wrong, &err), SF_INVALID);
    CHECK_INT(sf_engine_push(engine, "nowhere", wrong, &err), SF_NOT_FOUND);
    sf_batch_unref(wrong);
    sf_schema_unref(other);
    CHECK_INT(push(engine, three, 1, -1, &err), SF_INVALID);
    CHECK(strstr(err.message, "retractions"));
    CHECK_INT(sf_engine_run(engine, NULL, NULL, &err), SF_OK);
    sf_engine_free(engine);
    sf_engine_free(NULL);
}

/* Changes come once an epoch, net; a restart changes nothing. */
void worlds_answer(void)
{
    sf_engine *engine = open_engine(false);
    sf_error err = {0};
    char text[TEXT_BYTES], told[TEXT_BYTES] = "";
    CHECK_INT(add_query(engine, "t", SF_PLAN_TABLE, sums, &err), SF_OK);
    CHECK_INT(add_query(engine, "top", SF_PLAN_TABLE, "SELECT k FROM t WHERE s > 14", &err), SF_OK);
    CHECK_INT(push(engine, three, 3, 1, &err), SF_OK);
    CHECK_STR(table_of(engine, "t", text), "");
    CHECK_INT(sf_engine_run(engine, hear, told, &err), SF_OK);
    CHECK_STR(table_of(engine, "t", text), " 1:15 2:20");
    CHECK_STR(table_of(engine, "top", text), " 1 2");
    CHECK(strstr(told, " t 1:15") && strstr(told, " t 2:20") && strstr(told, " top 1"));
    CHECK(!strstr(told, "1:10")); /* never shown: it was over within the epoch */

    CHECK_INT(sf_engine_restart(engine, &err), SF_OK);
    CHECK_STR(table_of(engine, "t", text), " 1:15 2:20");
    told[0] = '\0';
    CHECK_INT(sf_engine_run(engine, hear, told, &err), SF_OK);
    CHECK_STR(told, "");

    CHECK_INT(push(engine, three + 1, 1, -1, &err), SF_OK); /* the only row of 2 goes */
    CHECK_INT(push(engine, three + 2, 1, -1, &err), SF_OK);
    CHECK_INT(sf_engine_run(engine, NULL, NULL, &err), SF_OK);
    CHECK_STR(table_of(engine, "t", text), " 1:10");
    CHECK_STR(table_of(engine, "top", text), "");
    sf_engine_free(engine);
}

/* A query sees the rows that are still kept; one that reads a table, all that it holds. */
void worlds_grow(void)
{
    sf_engine *engine = open_engine(true);
    sf_error err = {0};
    char text[TEXT_BYTES];
    static const row later[] = {{3, 7, 400}};
    CHECK_INT(push(engine, three, 3, 1, &err), SF_OK);
    CHECK_INT(add_query(engine, "t", SF_PLAN_TABLE, sums, &err), SF_OK);
    CHECK_INT(sf_engine_run(engine, NULL, NULL, &err), SF_OK);
    CHECK_INT(add_query(engine, "late", SF_PLAN_TABLE, sums, &err), SF_OK);
    CHECK_INT(add_query(engine, "copy", SF_PLAN_TABLE, "SELECT k, s FROM t", &err), SF_OK);
    CHECK_INT(push(engine, later, 1, 1, &err), SF_OK);
    CHECK_INT(sf_engine_run(engine, NULL, NULL, &err), SF_OK);
    CHECK_STR(table_of(engine, "t", text), " 1:15 2:20 3:7");
    CHECK_STR(table_of(engine, "late", text), " 3:7");
    CHECK_STR(table_of(engine, "copy", text), " 1:15 2:20 3:7");
    sf_engine_free(engine);
}

/* Windows close by event time, by a watermark without rows, at the latest at the end. A window's row
 * ends with its bounds. */
void worlds_have_time(void)
{
    sf_engine *engine = open_engine(true);
    sf_error err = {0};
    char told[TEXT_BYTES] = "";
    static const row rows[] = {{1, 1, 100}, {1, 2, 900}, {1, 4, 1000}, {1, 8, 999}, {1, 16, 2500}};
    CHECK_INT(add_query(engine, "p", SF_PLAN_PIPELINE,
                        "SELECT SUM(v) AS s FROM s WINDOW TUMBLING(SIZE 1 SECOND)", &err),
              SF_OK);
    CHECK_INT(push(engine, rows, 2, 1, &err), SF_OK);
    CHECK_INT(sf_engine_run(engine, hear, told, &err), SF_OK);
    CHECK_STR(told, "");
    CHECK_INT(push(engine, rows + 2, 2, 1, &err), SF_OK); /* 8 comes late: its window is closed */
    CHECK_INT(sf_engine_run(engine, hear, told, &err), SF_OK);
    CHECK_STR(told, " p 3:0:1000");
    CHECK_INT(sf_engine_restart(engine, &err), SF_OK); /* the open window is kept */
    CHECK_INT(sf_engine_watermark(engine, "s", 2000, &err), SF_OK);
    CHECK_INT(sf_engine_watermark(engine, "s", 1500, &err), SF_OK); /* does nothing */
    CHECK_INT(sf_engine_run(engine, hear, told, &err), SF_OK);
    CHECK_STR(told, " p 3:0:1000 p 4:1000:2000");
    CHECK_INT(push(engine, rows + 4, 1, 1, &err), SF_OK);
    CHECK_INT(sf_engine_watermark(engine, "s", SF_MARK_END, &err), SF_OK);
    CHECK_INT(sf_engine_run(engine, hear, told, &err), SF_OK);
    CHECK_STR(told, " p 3:0:1000 p 4:1000:2000 p 16:2000:3000");
    sf_circuit_stats stats;
    sf_circuit_get_stats(sf_engine_circuit(engine, "p"), &stats);
    CHECK_INT(stats.late_rows, 1);
    CHECK(!sf_engine_snapshot(engine, "p"));
    sf_engine_set_now(engine, 77);
    CHECK_INT(sf_engine_now(engine), 77);
    sf_engine_free(engine);
}

/* A whole life with the n-th allocation failing: a clean refusal, nothing lost, nothing leaked. */
static sf_status live(sf_engine *engine, sf_error *err)
{
    SF_TRY(sf_engine_add_source(engine, "s", kv, 2, 0, true, err));
    SF_TRY(add_query(engine, "t", SF_PLAN_TABLE, sums, err));
    SF_TRY(add_query(engine, "copy", SF_PLAN_TABLE, "SELECT s FROM t", err));
    SF_TRY(push(engine, three, 3, 1, err));
    SF_TRY(sf_engine_run(engine, NULL, NULL, err));
    SF_TRY(sf_engine_restart(engine, err));
    return sf_engine_run(engine, NULL, NULL, err);
}

void worlds_without_memory(void)
{
    bool survived = false;
    for (uint64_t n = 1; n < 5000 && !survived; n++) {
        sf_error err = {0};
        sf_alloc_fail_after(n);
        sf_engine *engine = sf_engine_new();
        sf_status status = engine ? live(engine, &err) : SF_LIMIT;
        sf_alloc_fail_after(0);
        survived = status == SF_OK;
        if (status != SF_OK && status != SF_LIMIT) {
            printf("  allocation %llu: %s\n", (unsigned long long)n, err.message);
            sf_check_failures++;
        }
        sf_engine_free(engine);
    }
    CHECK(survived);
}

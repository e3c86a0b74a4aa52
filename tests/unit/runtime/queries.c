/* Queries and sources: life, state on disk, what is refused. */
#include "tests.h"

static void answer_from(bool journaled)
{
    world w = {0};
    char text[TEXT_BYTES];
    outcome out;
    sf_error err = {0};
    sf_source_stats source;
    sf_query_stats query;
    sf_buf plan = {0};
    CHECK(world_open(&w));
    CHECK_INT(add_source(&w, "s", journaled), SF_OK);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    world_start(&w);
    CHECK_INT(push(&w, "s", four, 4, &out, &err), SF_OK);
    CHECK_INT(out.calls, journaled ? 0 : 1); /* not before it is on disk */
    CHECK_INT(sf_runtime_wait_current(w.runtime, 0, &err), SF_TIMEOUT);
    world_settle(&w);
    CHECK_INT(sf_runtime_wait_current(w.runtime, 0, &err), SF_OK);
    CHECK_INT(out.calls, 1);
    CHECK_INT(out.status, SF_OK);
    CHECK_INT(out.result.accepted, 4);
    CHECK_INT(out.result.durable, journaled);
    CHECK_STR(table_of(&w, "t", text), " 1:15 2:20 3:1");

    CHECK_INT(sf_runtime_source_stats(w.runtime, "s", &source, &err), SF_OK);
    CHECK_INT(source.position, 4);
    CHECK_INT(source.first_position, 0);
    CHECK_INT(source.watermark, 400);
    CHECK_INT(source.pushed_total, 4);
    CHECK_INT(source.events_total, 4);
    CHECK_INT(source.buffered_rows, 0);
    CHECK_INT(source.last_push_ms, WALL_START_MS);
    CHECK_INT(source.journal_bytes > 0, journaled);
    sf_runtime_count_push(w.runtime, "s", 1, 2, 3);
    CHECK_INT(sf_runtime_source_stats(w.runtime, "s", &source, &err), SF_OK);
    CHECK_INT(source.invalid_total, 1);
    CHECK_INT(source.duplicate_total, 2);
    CHECK_INT(source.rejected_total, 3);

    sf_runtime_query_stats(w.runtime, "t", &query);
    CHECK(query.running && query.kind == SF_PLAN_TABLE && query.epoch > 0);
    CHECK_INT(query.state, SF_MEMBER_RUNNING);
    CHECK_INT(query.rows, 3);
    CHECK_INT(query.circuit.rows_in, 4);
    CHECK_INT(query.last_change_ms, WALL_START_MS);
    CHECK_INT(query.checkpoint_ms, 0);
    world_pass(&w, 3000); /* two seconds after a change at the latest */
    sf_runtime_query_stats(w.runtime, "t", &query);
    CHECK(query.checkpoint_ms > WALL_START_MS);
    CHECK_INT(sf_runtime_explain(w.runtime, "t", &plan, &err), SF_OK);
    CHECK(plan.len > 0);
    sf_buf_deinit(&plan);
    world_remove(&w);
}

void queries_answer(void)
{
    answer_from(true);
    answer_from(false);
}

/* ---- what is kept ---- */

/* Rows leave a table when their time is up, though nothing else happens. */
void rows_leave_in_time(void)
{
    world w = {0};
    char text[TEXT_BYTES], sql[200];
    sf_error err = {0};
    snprintf(
        sql, sizeof sql,
        "SELECT k, SUM(v) AS s FROM s WHERE _ts > NOW() - INTERVAL '%lld' MILLISECOND GROUP BY k",
        (long long)WALL_START_MS + 10000);
    CHECK(world_open(&w));
    CHECK_INT(add_source(&w, "s", true), SF_OK);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, sql, &err), SF_OK);
    world_start(&w);
    push_all(&w, "s", four, 4);
    CHECK_STR(table_of(&w, "t", text), " 1:15 2:20 3:1");
    world_pass(&w, 10000); /* the first is from 100 */
    CHECK_STR(table_of(&w, "t", text), " 1:15 2:20 3:1");
    world_close(&w);
    CHECK(world_open(&w));
    CHECK_INT(add_source(&w, "s", true), SF_OK);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, sql, &err), SF_OK);
    world_start(&w);
    world_pass(&w, 3000);
    CHECK_STR(table_of(&w, "t", text), "");
    world_remove(&w);
}

static void survive(bool journaled)
{
    world w = {0};
    char text[TEXT_BYTES];
    sf_error err = {0};
    sf_query_stats before, after;
    CHECK(world_open(&w));
    CHECK_INT(add_source(&w, "s", journaled), SF_OK);
    world_start(&w);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    push_all(&w, "s", four, 3);
    sf_runtime_query_stats(w.runtime, "t", &before);
    world_close(&w);

    CHECK(world_open(&w));
    CHECK_INT(add_source(&w, "s", journaled), SF_OK);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    world_start(&w);
    CHECK_STR(table_of(&w, "t", text), " 1:15 2:20");
    push_all(&w, "s", four + 3, 1);
    CHECK_STR(table_of(&w, "t", text), " 1:15 2:20 3:1");
    sf_runtime_query_stats(w.runtime, "t", &after);
    CHECK(after.epoch > before.epoch);

    CHECK_INT(sf_runtime_stop_query(w.runtime, "t", &err), SF_OK);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    world_settle(&w);
    CHECK_STR(table_of(&w, "t", text), " 1:15 2:20 3:1");

    CHECK_INT(sf_runtime_stop_query(w.runtime, "t", &err), SF_OK);
    CHECK_INT(sf_runtime_forget_query(w.runtime, "t", &err), SF_OK);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    world_settle(&w);
    CHECK_STR(table_of(&w, "t", text), journaled ? " 1:15 2:20 3:1" : "");
    push_all(&w, "s", four + 3, 1);
    CHECK_STR(table_of(&w, "t", text), journaled ? " 1:15 2:20 3:2" : " 3:1");
    world_remove(&w);
}

void state_survives(void)
{
    survive(true);
    survive(false);
}

/* The directory as a crash leaves it: some rows are in the checkpoint, some in the journal only. */
void crashes_lose_nothing_acknowledged(void)
{
    world w = {0}, again = {0};
    char text[TEXT_BYTES], command[256];
    sf_error err = {0};
    CHECK(world_open(&w));
    CHECK_INT(add_source(&w, "s", true), SF_OK);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    world_start(&w);
    push_all(&w, "s", four, 2);
    CHECK_INT(sf_runtime_checkpoint(w.runtime, &err), SF_OK);
    push_all(&w, "s", four + 2, 2);
    snprintf(again.dir, sizeof again.dir, "%.40s-copy", w.dir);
    snprintf(command, sizeof command, "cp -r %s %s", w.dir, again.dir);
    REQUIRE(system(command) == 0);
    snprintf(command, sizeof command, "touch %s/state/notes %s/state/group-.db", again.dir,
             again.dir); /* files of others are passed over */
    REQUIRE(system(command) == 0);

    CHECK(world_open(&again));
    CHECK_INT(add_source(&again, "s", true), SF_OK);
    CHECK_INT(start_query(&again, "t", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    world_start(&again);
    CHECK_STR(table_of(&again, "t", text), " 1:15 2:20 3:1");
    push_all(&again, "s", four, 1);
    CHECK_STR(table_of(&again, "t", text), " 1:25 2:20 3:1");
    world_remove(&again);
    world_remove(&w);
}

/* ---- what is refused ---- */

void names_and_order_are_checked(void)
{
    world w = {0};
    char text[TEXT_BYTES];
    sf_error err = {0};
    sf_source_stats stats;
    sf_query_stats query;
    sf_buf out = {0};
    CHECK(world_open(&w));
    world_start(&w);
    CHECK_INT(add_source(&w, "s", true), SF_OK);
    CHECK_INT(add_source(&w, "s", true), SF_EXISTS);
    CHECK_INT(start_query(&w, "s", SF_PLAN_TABLE, SUMS, &err), SF_EXISTS);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, "SELECT k FRM s", &err), SF_SYNTAX);
    CHECK(start_query(&w, "t", SF_PLAN_TABLE, "SELECT k FROM u", &err) != SF_OK);
    CHECK(strstr(err.message, "\"u\""));
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_EXISTS);
    CHECK_INT(add_source(&w, "t", true), SF_EXISTS);
    CHECK_INT(start_query(&w, "p", SF_PLAN_PIPELINE, "SELECT v FROM s", &err), SF_OK);
    world_settle(&w);

    CHECK_INT(sf_runtime_remove_source(w.runtime, "s", &err), SF_CONFLICT);
    CHECK(strstr(err.message, "\"s\"") && strstr(err.hint, "stop"));
    sf_schema *schema = sf_relation_schema(kv, 2, SF_INPUT_SOURCE);
    sf_source_spec soft = pushed_source("s", schema, false),
                   none = pushed_source("x", schema, true);
    CHECK_INT(sf_runtime_change_source(w.runtime, &soft, &err), SF_CONFLICT);
    CHECK_INT(sf_runtime_change_source(w.runtime, &none, &err), SF_NOT_FOUND);
    sf_schema_unref(schema);
    CHECK(strstr(table_of(&w, "p", text), "pipeline")); /* it has results, not rows */

    CHECK_INT(sf_runtime_stop_query(w.runtime, "x", &err), SF_NOT_FOUND);
    CHECK_INT(sf_runtime_remove_source(w.runtime, "x", &err), SF_NOT_FOUND);
    CHECK_INT(sf_runtime_source_stats(w.runtime, "x", &stats, &err), SF_NOT_FOUND);
    CHECK_INT(sf_runtime_results(w.runtime, "x", 1, &out, &err), SF_NOT_FOUND);
    CHECK_INT(sf_runtime_explain(w.runtime, "x", &out, &err), SF_NOT_FOUND);
    CHECK_INT(sf_runtime_forget_query(w.runtime, "x", &err), SF_OK);
    sf_runtime_query_stats(w.runtime, "x", &query);
    CHECK(!query.running);

    CHECK_INT(sf_runtime_stop_query(w.runtime, "t", &err), SF_OK);
    CHECK_INT(sf_runtime_stop_query(w.runtime, "p", &err), SF_OK);
    CHECK_INT(sf_runtime_remove_source(w.runtime, "s", &err), SF_OK);
    CHECK_INT(add_source(&w, "t", true), SF_OK); /* the name is free again */
    sf_buf_deinit(&out);
    world_remove(&w);
}

/* Readers keep what they read running; two groups become one when a query reads from both. */
void tables_read_tables(void)
{
    world w = {0};
    char text[TEXT_BYTES];
    sf_error err = {0};
    CHECK(world_open(&w));
    CHECK_INT(add_source(&w, "s", true), SF_OK);
    world_start(&w);
    CHECK_INT(start_query(&w, "a", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    CHECK_INT(
        start_query(&w, "b", SF_PLAN_TABLE, "SELECT k, COUNT(*) AS n FROM s GROUP BY k", &err),
        SF_OK);
    push_all(&w, "s", four, 3);
    CHECK_INT(start_query(&w, "j", SF_PLAN_TABLE, "SELECT a.k, a.s, b.n FROM a JOIN b ON a.k = b.k",
                          &err),
              SF_OK);
    world_settle(&w);
    CHECK_STR(table_of(&w, "j", text), " 1:15:2 2:20:1");
    push_all(&w, "s", four + 2, 2);
    CHECK_STR(table_of(&w, "j", text), " 1:20:3 2:20:1 3:1:1");
    CHECK_INT(sf_runtime_stop_query(w.runtime, "a", &err), SF_CONFLICT);
    CHECK(strstr(err.message, "\"j\""));
    world_close(&w);

    CHECK(world_open(&w)); /* one checkpoint holds all three */
    CHECK_INT(add_source(&w, "s", true), SF_OK);
    CHECK(start_query(&w, "j", SF_PLAN_TABLE, "SELECT a.k FROM a JOIN b ON a.k = b.k", &err) !=
          SF_OK);
    CHECK_INT(start_query(&w, "a", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    CHECK_INT(
        start_query(&w, "b", SF_PLAN_TABLE, "SELECT k, COUNT(*) AS n FROM s GROUP BY k", &err),
        SF_OK);
    CHECK_INT(start_query(&w, "j", SF_PLAN_TABLE, "SELECT a.k, a.s, b.n FROM a JOIN b ON a.k = b.k",
                          &err),
              SF_OK);
    world_start(&w);
    CHECK_STR(table_of(&w, "a", text), " 1:20 2:20 3:1");
    CHECK_STR(table_of(&w, "j", text), " 1:20:3 2:20:1 3:1:1");
    CHECK_INT(sf_runtime_stop_query(w.runtime, "j", &err), SF_OK);
    CHECK_INT(sf_runtime_stop_query(w.runtime, "a", &err), SF_OK);
    CHECK_STR(table_of(&w, "b", text), " 1:3 2:1 3:1");
    world_remove(&w);
}

/* ---- sources ---- */

/* Queries that run go on with their columns; what new rows lack is NULL. Any name makes a journal. */
void sources_change(void)
{
    static const char name[] = "a/b .. \"c";
    static const sf_field other[] = {{"w", SF_TYPE_I64, false}, {"k", SF_TYPE_I64, false}};
    static const char sql[] = "SELECT k, v FROM \"a/b .. \"\"c\"";
    world w = {0};
    char text[TEXT_BYTES];
    sf_error err = {0};
    CHECK(world_open(&w));
    CHECK_INT(add_source(&w, name, true), SF_OK);
    world_start(&w);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, sql, &err), SF_OK);
    push_all(&w, name, four, 1);
    sf_schema *schema = sf_relation_schema(other, 2, SF_INPUT_SOURCE);
    sf_source_spec spec = pushed_source(name, schema, true);
    CHECK_INT(sf_runtime_change_source(w.runtime, &spec, &err), SF_OK);
    sf_batch *batch = batch_of(schema, four + 1, 1, 1);
    outcome out;
    REQUIRE(batch);
    CHECK_INT(push_batch(&w, name, batch, &out, &err), SF_OK);
    world_settle(&w);
    CHECK_INT(out.calls, 1);
    CHECK_STR(table_of(&w, "t", text), " 1:10 2:-");
    CHECK(start_query(&w, "late", SF_PLAN_TABLE, sql, &err) != SF_OK); /* v is no longer declared */
    CHECK_INT(sf_runtime_stop_query(w.runtime, "t", &err), SF_OK);
    CHECK_INT(sf_runtime_remove_source(w.runtime, name, &err), SF_OK);
    CHECK_INT(add_source(&w, name, true), SF_OK);
    CHECK_INT(sf_runtime_forget_query(w.runtime, "t", &err), SF_OK);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, sql, &err), SF_OK);
    world_settle(&w);
    CHECK_STR(table_of(&w, "t", text), ""); /* its journal went with it */
    sf_batch_unref(batch);
    sf_schema_unref(schema);
    world_remove(&w);
}

void memory_is_bounded(void)
{
    world w = {.memory_bytes = 1};
    sf_error err = {0};
    sf_query_stats query;
    CHECK(world_open(&w));
    CHECK_INT(add_source(&w, "s", true), SF_OK);
    world_start(&w);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_LIMIT);
    sf_runtime_query_stats(w.runtime, "t", &query);
    CHECK(!query.running);
    CHECK_INT(start_query(&w, "p", SF_PLAN_PIPELINE, "SELECT v FROM s", &err), SF_OK);
    push_all(&w, "s", four, 4);
    CHECK_INT(sf_runtime_stop_query(w.runtime, "p", &err), SF_OK);
    CHECK_INT(sf_runtime_remove_source(w.runtime, "s", &err), SF_OK);
    world_remove(&w);
}

/* A driver reads a file once while it does not change, also over a restart. */
void files_are_driven(void)
{
    world w = {0};
    char text[TEXT_BYTES], path[96], connector[160];
    outcome out;
    sf_error err = {0};
    sf_source_stats stats;
    sf_schema *schema = sf_relation_schema(kv, 2, SF_INPUT_SOURCE);
    for (int life = 0; life < 2; life++) {
        CHECK(world_open(&w));
        snprintf(path, sizeof path, "%s/rows.ndjson", w.dir);
        snprintf(connector, sizeof connector, "{\"file\":{\"path\":\"%s\"}}", path);
        FILE *file = life == 0 ? fopen(path, "w") : NULL;
        if (file) {
            fputs("{\"k\":1,\"v\":2}\n{\"k\":9,\"v\":\"soon\"}\n", file);
            fclose(file);
        }
        sf_source_spec spec = {
            .name = "f",
            .kind = sf_source_kind_find(SF_STR("file")),
            .config = {.name = SF_STR("f"), .schema = schema, .connector = sf_str_of(connector)},
            .journaled = true};
        CHECK_INT(sf_runtime_add_source(w.runtime, &spec, &err), SF_OK);
        CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, "SELECT k, v FROM f", &err), SF_OK);
        world_start(&w);
        world_pass(&w, 1000);
        CHECK_INT(sf_runtime_source_stats(w.runtime, "f", &stats, &err), SF_OK);
        CHECK(!stats.ran); /* it is not enabled */
        CHECK_INT(push(&w, "f", four, 1, &out, &err), SF_CONFLICT);
        CHECK(strstr(err.message, "file"));
        spec.enabled = true;
        CHECK_INT(sf_runtime_change_source(w.runtime, &spec, &err), SF_OK);
        world_pass(&w, 1000);
        CHECK_INT(sf_runtime_source_stats(w.runtime, "f", &stats, &err), SF_OK);
        CHECK(stats.ran && stats.ok && stats.next_run_ms > 0);
        CHECK_INT(stats.coercion_failures_total, life == 0);
        CHECK_INT(sf_runtime_change_source(w.runtime, &spec, &err), SF_OK); /* it is opened anew */
        world_pass(&w, 1000);
        CHECK_INT(sf_runtime_source_stats(w.runtime, "f", &stats, &err), SF_OK);
        CHECK_INT(stats.position, 2);
        CHECK_STR(table_of(&w, "t", text), " 1:2 9:-");
        world_close(&w);
    }
    sf_schema_unref(schema);
    world_remove(&w);
}

/* ---- memory ---- */

/* A life as far as memory lets it go. */
static sf_status live(world *w, outcome *out, sf_error *err)
{
    sf_query_spec table = {.name = "t", .kind = SF_PLAN_TABLE, .sql = SF_STR(SUMS)};
    sf_query_spec pipeline = {
        .name = "p", .kind = SF_PLAN_PIPELINE, .sql = SF_STR("SELECT v FROM s")};
    sf_schema *schema = sf_relation_schema(kv, 2, SF_INPUT_SOURCE);
    sf_batch *batch = schema ? batch_of(schema, four, 4, 1) : NULL;
    sf_source_spec source = pushed_source("s", schema, true);
    sf_buf results = {0};
    sf_status status = batch ? sf_runtime_add_source(w->runtime, &source, err) : SF_LIMIT;
    if (status == SF_OK)
        status = sf_runtime_start_query(w->runtime, &table, NULL, err);
    if (status == SF_OK)
        status = sf_runtime_start(w->runtime, err);
    if (status == SF_OK)
        status = sf_runtime_start_query(w->runtime, &pipeline, NULL, err);
    if (status == SF_OK)
        status = push_batch(w, "s", batch, out, err);
    world_settle(w);
    if (status == SF_OK)
        status = sf_runtime_results(w->runtime, "p", 10, &results, err);
    if (status == SF_OK)
        status = sf_runtime_checkpoint(w->runtime, err);
    if (status == SF_OK)
        status = sf_runtime_stop_query(w->runtime, "p", err);
    sf_buf_deinit(&results);
    sf_batch_unref(batch);
    sf_schema_unref(schema);
    return status;
}

/* The n-th allocation fails: a refusal, or a query that has failed; every push has its answer, and
 * what was answered is there when the next life begins. */
void memory_runs_out(void)
{
    bool survived = false;
    for (uint64_t n = 1; n < 4000 && !survived; n++) {
        world w = {0};
        outcome out = {0};
        sf_error err = {0};
        sf_source_stats stats;
        REQUIRE(world_open(&w));
        sf_alloc_fail_after(n);
        sf_status status = live(&w, &out, &err);
        sf_alloc_fail_after(0);
        survived = status == SF_OK && out.status == SF_OK && out.calls == 1;
        world_close(&w);
        if (status != SF_OK && status != SF_LIMIT) {
            printf("  allocation %llu: %s\n", (unsigned long long)n, err.message);
            sf_check_failures++;
        }
        CHECK(world_open(&w));
        CHECK_INT(add_source(&w, "s", true), SF_OK);
        CHECK_INT(sf_runtime_source_stats(w.runtime, "s", &stats, &err), SF_OK);
        if (out.calls == 1 && out.status == SF_OK)
            CHECK_INT(stats.position, 4);
        world_remove(&w);
    }
    CHECK(survived);
}

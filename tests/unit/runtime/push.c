/* Rows pushed and results told: policies, results, subscriptions. */
#include "tests.h"

/* ---- policies ---- */

static sf_status add_with_policy(world *w, sf_ingest_policy policy, int64_t capacity_rows)
{
    sf_error err = {0};
    sf_schema *schema = sf_relation_schema(kv, 2, SF_INPUT_SOURCE);
    SF_ASSERT(schema);
    sf_source_spec spec = pushed_source("s", schema, false);
    spec.ingest.policy = policy;
    spec.ingest.capacity_rows = capacity_rows;
    sf_status status = sf_runtime_add_source(w->runtime, &spec, &err);
    sf_schema_unref(schema);
    return status;
}

/* A push of one row, then one of three, with room for three that are not yet read. */
void pushes_keep_to_their_policy(void)
{
    static const struct {
        sf_ingest_policy policy;
        sf_status second;
        int calls, accepted, dropped; /* of the second, once everything is read */
        const char *answer;           /* NULL: which rows were let go is not promised */
    } steps[] = {
        {SF_INGEST_REJECT, SF_OVERLOADED, 0, 0, 0, " 1:10"},
        {SF_INGEST_BLOCK, SF_OK, 1, 3, 0, " 1:15 2:20 3:1"},
        {SF_INGEST_DROP_NEWEST, SF_OK, 1, 2, 1, " 1:15 2:20"},
        {SF_INGEST_DROP_OLDEST, SF_OK, 1, 3, 0, NULL},
        {SF_INGEST_INLINE, SF_OK, 1, 3, 0, " 1:15 2:20 3:1"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(steps); i++) {
        world w = {0};
        char text[TEXT_BYTES];
        sf_error err = {0};
        outcome first, second, third;
        sf_source_stats stats;
        CHECK(world_open(&w));
        CHECK_INT(add_with_policy(&w, steps[i].policy, 3), SF_OK);
        CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_OK);
        world_start(&w);
        CHECK_INT(push(&w, "s", four, 1, &first, &err), SF_OK);
        CHECK_INT(push(&w, "s", four + 1, 3, &second, &err), steps[i].second);
        if (steps[i].policy == SF_INGEST_BLOCK)
            CHECK_INT(second.calls, 0);
        world_settle(&w);
        world_pass(&w, 1000);
        CHECK_INT(first.calls, 1);
        CHECK_INT(first.result.accepted, 1);
        CHECK_INT(second.calls, steps[i].calls);
        CHECK_INT(second.status, SF_OK);
        CHECK_INT(second.result.accepted, steps[i].accepted);
        CHECK_INT(second.result.dropped, steps[i].dropped);
        CHECK_INT(sf_runtime_source_stats(w.runtime, "s", &stats, &err), SF_OK);
        CHECK_INT(stats.buffered_rows, 0);
        CHECK_INT(stats.rejected_total, steps[i].second == SF_OVERLOADED ? 3 : 0);
        if (steps[i].answer)
            CHECK_STR(table_of(&w, "t", text), steps[i].answer);
        if (steps[i].policy == SF_INGEST_BLOCK || steps[i].policy == SF_INGEST_REJECT)
            CHECK_INT(push(&w, "s", four, 4, &third, &err), SF_OVERLOADED); /* never fits */
        CHECK_INT(push(&w, "s", four, 1, &third, &err), SF_OK); /* there is room again */
        world_settle(&w);
        CHECK_INT(third.calls, 1);
        world_remove(&w);
    }
}

/* A query that has failed reads no more, and holds nobody up. */
void failed_queries_hold_nobody_up(void)
{
    world w = {.memory_bytes = 1 << 20};
    sf_error err = {0};
    sf_query_stats stats = {0};
    outcome out;
    int64_t key = 0;
    CHECK(world_open(&w));
    CHECK_INT(add_with_policy(&w, SF_INGEST_REJECT, 100), SF_OK);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    world_start(&w);
    for (int i = 0; i < 2000 && stats.state == SF_MEMBER_RUNNING; i++) {
        row rows[100];
        for (size_t r = 0; r < 100; r++)
            rows[r] = (row){++key, 1, 1};
        push_all(&w, "s", rows, 100);
        sf_runtime_query_stats(w.runtime, "t", &stats);
    }
    CHECK_INT(stats.state, SF_MEMBER_FAILED);
    for (int i = 0; i < 300; i++) {
        CHECK_INT(push(&w, "s", four, 1, &out, &err), SF_OK);
        CHECK_INT(out.result.depth_rows, 0);
    }
    world_remove(&w);
}

/* Who waits for room is bounded too, and is answered when there never will be any. */
void waiting_pushes_are_answered(void)
{
    world w = {0};
    sf_error err = {0};
    outcome first, second, third;
    CHECK(world_open(&w));
    CHECK_INT(add_with_policy(&w, SF_INGEST_BLOCK, 4), SF_OK);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    world_start(&w);
    CHECK_INT(push(&w, "s", four, 4, &first, &err), SF_OK);
    CHECK_INT(push(&w, "s", four, 3, &second, &err), SF_OK);
    CHECK_INT(push(&w, "s", four, 2, &third, &err), SF_OVERLOADED);
    CHECK_INT(first.calls, 1);
    CHECK_INT(second.calls, 0);
    sf_runtime_close(w.runtime);
    w.runtime = NULL;
    CHECK_INT(second.calls, 1);
    CHECK_INT(second.status, SF_UNAVAILABLE);
    CHECK_INT(third.calls, 0);
    world_remove(&w);
}

static void not_called(void *arg, const sf_push_result *result, const sf_error *error)
{
    SF_UNUSED(result);
    SF_UNUSED(error);
    (*(int *)arg)++;
}

/* "_retract" is for LATEST BY: refused while nobody reads the source so, or somebody does not. */
void pushes_are_checked(void)
{
    static const char latest[] = "SELECT k, v FROM s LATEST BY (k)";
    world w = {0};
    outcome out;
    sf_error err = {0};
    uint32_t retry_ms = 0;
    int calls = 0;
    CHECK(world_open(&w));
    CHECK_INT(push(&w, "s", four, 1, &out, &err), SF_NOT_FOUND);
    CHECK_INT(out.calls, 0);
    CHECK_INT(add_source(&w, "s", false), SF_OK);
    world_start(&w);
    sf_schema *schema = sf_relation_schema(kv, 2, SF_INPUT_SOURCE);
    sf_batch *batch = schema ? batch_of(schema, four, 1, 1) : NULL;
    REQUIRE(batch);
    CHECK_INT(sf_runtime_push(w.runtime, "s", &batch, 1, true, not_called, &calls, &retry_ms, &err),
              SF_INVALID);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    CHECK_INT(sf_runtime_push(w.runtime, "s", &batch, 1, true, not_called, &calls, &retry_ms, &err),
              SF_INVALID);
    CHECK(strstr(err.message, "\"t\"") && strstr(err.hint, "LATEST BY"));
    CHECK_INT(sf_runtime_stop_query(w.runtime, "t", &err), SF_OK);
    CHECK_INT(start_query(&w, "last", SF_PLAN_TABLE, latest, &err), SF_OK);
    CHECK_INT(calls, 0);
    CHECK_INT(sf_runtime_push(w.runtime, "s", &batch, 1, true, not_called, &calls, &retry_ms, &err),
              SF_OK);
    world_settle(&w);
    CHECK_INT(calls, 1);
    sf_batch_unref(batch);
    sf_schema_unref(schema);
    world_remove(&w);
}

/* ---- results ---- */

void results_are_kept(void)
{
    world w = {0};
    sf_error err = {0};
    sf_buf out = {0}, want = {0};
    row rows[105];
    for (int i = 0; i < 105; i++)
        rows[i] = (row){1, i + 1, i};
    CHECK(world_open(&w));
    CHECK_INT(add_source(&w, "s", true), SF_OK);
    world_start(&w);
    CHECK_INT(start_query(&w, "p", SF_PLAN_PIPELINE, "SELECT v FROM s", &err), SF_OK);
    CHECK_INT(sf_runtime_results(w.runtime, "p", 10, &out, &err), SF_OK);
    CHECK_STR(out.data, "[]");
    push_all(&w, "s", rows, 3);
    push_all(&w, "s", rows + 3, 102);
    static const uint32_t limits[] = {2, 1000};
    for (size_t l = 0; l < SF_COUNT_OF(limits); l++) {
        int first = limits[l] == 2 ? 104 : 6; /* the newest hundred are there */
        sf_buf_clear(&out);
        sf_buf_clear(&want);
        for (int seq = first; seq <= 105; seq++)
            sf_buf_printf(&want,
                          "%c{\"pipelineId\":\"an-id\",\"seq\":%d,\"timestampMs\":%d,\"row\":"
                          "{\"v\":%d}}",
                          seq == first ? '[' : ',', seq, WALL_START_MS, seq);
        sf_buf_putc(&want, ']');
        CHECK_INT(sf_runtime_results(w.runtime, "p", limits[l], &out, &err), SF_OK);
        CHECK_STR(out.data, want.data);
    }
    sf_buf_deinit(&out);
    sf_buf_deinit(&want);
    world_remove(&w);
}

/* ---- subscriptions ---- */

static void count_wake(void *arg)
{
    (*(int *)arg)++;
}

/* The next frame's text; "": none. */
static const char *take_rows(sf_sub *sub, sf_sub_item *item, char *text)
{
    text[0] = '\0';
    if (sf_sub_take(sub, item) == SF_SUB_ROWS)
        snprintf(text, TEXT_BYTES, "%.*s", (int)item->frame->json.len, item->frame->json.data);
    return text;
}

static const char *take_state(sf_sub *sub)
{
    sf_sub_item item;
    return sf_sub_take(sub, &item) == SF_SUB_STATE ? item.state : "none";
}

/* A subscription waits for its name, and hears of one publication once. */
void subscribers_hear(void)
{
    world w = {0};
    char text[TEXT_BYTES], want[TEXT_BYTES];
    sf_error err = {0};
    sf_sub *table, *pipeline, *source;
    sf_sub_item item;
    sf_query_stats stats;
    int woken[3] = {0};
    CHECK(world_open(&w));
    sf_runtime *r = w.runtime;
    REQUIRE_OK(sf_runtime_subscribe(r, SF_SUB_TABLE, "t", 0, count_wake, &woken[0], &table, &err),
               err);
    REQUIRE_OK(
        sf_runtime_subscribe(r, SF_SUB_PIPELINE, "p", 0, count_wake, &woken[1], &pipeline, &err),
        err);
    REQUIRE_OK(sf_runtime_subscribe(r, SF_SUB_SOURCE, "s", 0, count_wake, &woken[2], &source, &err),
               err);
    CHECK_INT(sf_sub_take(table, &item), SF_SUB_EMPTY);
    CHECK_INT(add_source(&w, "s", false), SF_OK);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, "SELECT k FROM s", &err), SF_OK);
    CHECK_INT(start_query(&w, "p", SF_PLAN_PIPELINE, "SELECT v FROM s", &err), SF_OK);
    world_start(&w);
    CHECK_INT(woken[0], 1);
    CHECK_STR(take_state(table), "Running");
    CHECK_STR(take_state(pipeline), "Running");
    CHECK_INT(sf_sub_take(table, &item), SF_SUB_EMPTY);
    CHECK_INT(sf_sub_take(pipeline, &item), SF_SUB_EMPTY);

    push_all(&w, "s", four, 1);
    push_all(&w, "s", four + 1, 1);
    CHECK_INT(woken[0], 2); /* the queue was never empty in between */
    CHECK_INT(woken[2], 1);
    take_rows(table, &item, text);
    snprintf(want, sizeof want,
             "[{\"row\":{\"k\":1},\"weight\":1,\"evicted\":false,\"epoch\":%llu}]",
             (unsigned long long)item.frame->seq);
    CHECK_STR(text, want);
    CHECK_INT(item.frame->rows, 1);
    CHECK_INT(item.frame->at_ms, WALL_START_MS);
    sf_frame_unref(item.frame);
    CHECK(strstr(take_rows(table, &item, text), "{\"k\":2}"));
    sf_runtime_query_stats(r, "t", &stats);
    CHECK_INT(item.frame->seq, stats.epoch);
    sf_frame_unref(item.frame);
    CHECK_INT(sf_sub_take(table, &item), SF_SUB_EMPTY);

    CHECK_STR(take_rows(pipeline, &item, text),
              "[{\"pipelineId\":\"an-id\",\"seq\":1,\"timestampMs\":1000000,\"row\":{\"v\":10}}]");
    CHECK_INT(item.frame->seq, 1);
    sf_frame_unref(item.frame);
    take_rows(source, &item, text);
    CHECK(strstr(text, "\"k\":1,\"v\":10") && strstr(text, "\"_ts\":100"));
    CHECK(strstr(text, "\"_source\":\"s\"}]"));
    CHECK_INT(item.frame->ends[0], item.frame->json.len - 1);
    sf_frame_unref(item.frame);

    CHECK_INT(sf_runtime_stop_query(r, "t", &err), SF_OK);
    CHECK_STR(take_state(table), "Stopped");
    sf_sub_close(table);
    sf_sub_close(pipeline); /* with a frame in it */
    sf_sub_close(source);
    sf_sub_close(NULL);
    push_all(&w, "s", four, 1);
    CHECK_INT(woken[2], 1);
    world_remove(&w);
}

/* Nobody waits for a reader: what it cannot hold is told as a gap. */
void slow_subscribers_miss(void)
{
    world w = {0};
    char text[TEXT_BYTES];
    sf_error err = {0};
    sf_sub *slow;
    sf_sub_item item;
    int woken = 0;
    CHECK(world_open(&w));
    CHECK_INT(add_source(&w, "s", false), SF_OK);
    CHECK_INT(start_query(&w, "p", SF_PLAN_PIPELINE, "SELECT v FROM s", &err), SF_OK);
    world_start(&w);
    REQUIRE_OK(
        sf_runtime_subscribe(w.runtime, SF_SUB_PIPELINE, "p", 1, count_wake, &woken, &slow, &err),
        err);
    for (int i = 0; i < 4; i++) /* an empty queue takes one of any size */
        push_all(&w, "s", four + i, 1);
    CHECK_INT(woken, 1);
    CHECK_INT(sf_sub_take(slow, &item), SF_SUB_MISSED);
    CHECK_INT(item.seq_from, 1);
    CHECK_INT(item.seq_to, 4);
    CHECK_INT(item.rows, 4);
    CHECK_INT(sf_sub_take(slow, &item), SF_SUB_EMPTY);
    push_all(&w, "s", four, 1);
    CHECK_INT(woken, 2);
    CHECK(strstr(take_rows(slow, &item, text), "\"seq\":5"));
    sf_frame_unref(item.frame);
    sf_sub_close(slow);
    world_remove(&w);
}

/* Whatever memory fails: a reader gets every row of a pipeline that goes on, or is told how many it
 * missed. */
void gaps_are_told(void)
{
    bool survived = false;
    uint32_t gaps = 0;
    for (uint64_t n = 1; n < 500 && !survived; n++) {
        world w = {0};
        sf_error err = {0};
        outcome out;
        sf_sub *sub = NULL;
        sf_sub_item item;
        sf_query_stats stats;
        int woken = 0;
        uint64_t rows = 0, missed = 0;
        REQUIRE(world_open(&w));
        CHECK_INT(add_source(&w, "s", false), SF_OK);
        CHECK_INT(start_query(&w, "p", SF_PLAN_PIPELINE, "SELECT v FROM s", &err), SF_OK);
        world_start(&w);
        REQUIRE_OK(sf_runtime_subscribe(w.runtime, SF_SUB_PIPELINE, "p", 0, count_wake, &woken,
                                        &sub, &err),
                   err);
        CHECK_INT(push(&w, "s", four, 4, &out, &err), SF_OK);
        sf_alloc_fail_after(n);
        world_settle(&w);
        sf_alloc_fail_after(0);
        while (sf_sub_take(sub, &item) != SF_SUB_EMPTY) {
            rows += item.event == SF_SUB_ROWS ? item.frame->rows : 0;
            missed += item.event == SF_SUB_MISSED ? item.rows : 0;
            sf_frame_unref(item.frame);
        }
        sf_runtime_query_stats(w.runtime, "p", &stats);
        CHECK_INT(rows + missed, stats.state == SF_MEMBER_RUNNING ? 4 : 0);
        gaps += missed > 0;
        survived = rows == 4;
        sf_sub_close(sub);
        world_remove(&w);
    }
    CHECK(survived);
    CHECK(gaps > 0);
}

/* ---- time ---- */

/* When no rows come, event time goes on with the clock, and windows close. */
void idle_sources_go_on(void)
{
    world w = {0};
    sf_error err = {0};
    sf_buf out = {0};
    sf_source_stats stats;
    sf_schema *schema = sf_relation_schema(kv, 2, SF_INPUT_SOURCE);
    CHECK(world_open(&w));
    sf_source_spec spec = pushed_source("s", schema, true);
    spec.idle_ms = 2000;
    CHECK_INT(sf_runtime_add_source(w.runtime, &spec, &err), SF_OK);
    CHECK_INT(start_query(&w, "p", SF_PLAN_PIPELINE,
                          "SELECT SUM(v) AS s FROM s WINDOW TUMBLING(SIZE 1 SECOND)", &err),
              SF_OK);
    world_start(&w);
    push_all(&w, "s", four, 4);
    world_pass(&w, 1900);
    CHECK_INT(sf_runtime_results(w.runtime, "p", 10, &out, &err), SF_OK);
    CHECK_STR(out.data, "[]");
    world_pass(&w, 4000); /* idle for 5.9 s, of which 2 s are waited for */
    sf_buf_clear(&out);
    CHECK_INT(sf_runtime_results(w.runtime, "p", 10, &out, &err), SF_OK);
    CHECK(out.data && strstr(out.data, "\"s\":36"));
    CHECK_INT(sf_runtime_source_stats(w.runtime, "s", &stats, &err), SF_OK);
    CHECK(stats.watermark >= 1000 && stats.watermark <= 400 + 3900);
    CHECK_INT(stats.events_total, 4);
    sf_buf_deinit(&out);
    sf_schema_unref(schema);
    world_remove(&w);
}

/* runtime: sources, queries, pushes, subscriptions, what is kept on disk. */
#include "tests.h"

const row four[4] = {{1, 10, 100}, {2, 20, 200}, {1, 5, 300}, {3, 1, 400}};

static int64_t wall_ms(void *self)
{
    return WALL_START_MS + ((const world *)self)->now_ns / 1000000;
}

static int64_t mono_ns(void *self)
{
    return ((const world *)self)->now_ns;
}

bool world_open(world *w)
{
    sf_error err = {0};
    if (!w->dir[0]) {
        snprintf(w->dir, sizeof w->dir, "/tmp/sf-unit-runtime-XXXXXX");
        if (!mkdtemp(w->dir))
            return false;
    }
    sf_clock clock = {wall_ms, mono_ns, w};
    sf_loop_options loop = {.clock = clock};
    sf_runtime_options options = {
        .port = {.disk = sf_disk_system(), .clock = clock, .random = sf_random_system()},
        .dir = w->dir,
        .memory_bytes = w->memory_bytes,
        .log_bytes = w->log_bytes};
    sf_status status = sf_loop_open(&loop, &w->pool, &err);
    options.pool = w->pool;
    if (status == SF_OK)
        status = sf_runtime_open(&options, &w->runtime, &err);
    if (status != SF_OK)
        printf("  %s\n", err.message);
    return status == SF_OK;
}

void world_start(world *w)
{
    sf_error err = {0};
    CHECK_INT(sf_runtime_start(w->runtime, &err), SF_OK);
    world_settle(w);
}

void world_settle(world *w)
{
    int steps = 0;
    while (sf_loop_step(w->pool) && steps < 100000)
        steps++;
    CHECK(steps < 100000);
}

void world_pass(world *w, int64_t ms)
{
    for (int64_t passed = 0; passed < ms; passed += 100) { /* timers of the runtime follow it */
        w->now_ns += 100 * 1000000LL;
        world_settle(w);
    }
}

void world_close(world *w)
{
    if (!w->pool)
        return;
    world_settle(w);
    sf_runtime_close(w->runtime);
    sf_pool_close(w->pool);
    w->runtime = NULL;
    w->pool = NULL;
}

void world_remove(world *w)
{
    char command[128];
    world_close(w);
    snprintf(command, sizeof command, "rm -rf %s", w->dir);
    CHECK_INT(system(command), 0);
}

sf_source_spec pushed_source(const char *name, const sf_schema *schema, bool journaled)
{
    return (sf_source_spec){
        .name = name,
        .kind = sf_source_kind_find(SF_STR("ingest")),
        .config = {.name = sf_str_of(name), .schema = schema},
        .ingest = {.policy = SF_INGEST_REJECT, .capacity_rows = 1000, .max_wait_ms = 1000},
        .journaled = journaled,
        .enabled = true};
}

sf_status add_source(world *w, const char *name, bool journaled)
{
    sf_error err = {0};
    sf_schema *schema = sf_relation_schema(kv, 2, SF_INPUT_SOURCE);
    SF_ASSERT(schema);
    sf_source_spec spec = pushed_source(name, schema, journaled);
    sf_status status = sf_runtime_add_source(w->runtime, &spec, &err);
    sf_schema_unref(schema);
    return status;
}

sf_status start_query(world *w, const char *name, sf_plan_kind kind, const char *sql, sf_error *err)
{
    sf_query_spec spec = {.name = name, .id = "an-id", .kind = kind, .sql = sf_str_of(sql)};
    return sf_runtime_start_query(w->runtime, &spec, NULL, err);
}

static void pushed(void *arg, const sf_push_result *result, const sf_error *error)
{
    outcome *out = arg;
    out->calls++;
    out->result = *result;
    out->status = error ? error->status : SF_OK;
}

sf_status push_batch(world *w, const char *source, sf_batch *batch, outcome *out, sf_error *err)
{
    uint32_t retry_ms = 0;
    *out = (outcome){0};
    sf_status status =
        sf_runtime_push(w->runtime, source, &batch, 1, false, pushed, out, &retry_ms, err);
    CHECK_INT(retry_ms > 0, status == SF_OVERLOADED);
    return status;
}

sf_status push(world *w, const char *source, const row *rows, size_t count, outcome *out,
               sf_error *err)
{
    sf_schema *schema = sf_relation_schema(kv, 2, SF_INPUT_SOURCE);
    sf_batch *batch = schema ? batch_of(schema, rows, count, 1) : NULL;
    SF_ASSERT(batch);
    sf_status status = push_batch(w, source, batch, out, err);
    sf_batch_unref(batch);
    sf_schema_unref(schema);
    return status;
}

void push_all(world *w, const char *source, const row *rows, size_t count)
{
    outcome out;
    sf_error err = {0};
    CHECK_INT(push(w, source, rows, count, &out, &err), SF_OK);
    world_settle(w);
    CHECK_INT(out.calls, 1);
    CHECK_INT(out.status, SF_OK);
    CHECK_INT(out.result.accepted, count);
}

const char *table_of(world *w, const char *name, char *text)
{
    sf_snapshot *snapshot = NULL;
    sf_schema *schema = NULL;
    uint64_t epoch;
    sf_error err = {0};
    text[0] = '\0';
    if (sf_runtime_snapshot(w->runtime, name, &snapshot, &schema, &epoch, &err) != SF_OK) {
        snprintf(text, TEXT_BYTES, "%.200s", err.message);
        return text;
    }
    answer_of(snapshot, schema, text);
    sf_schema_unref(schema);
    return text;
}

static const sf_case cases[] = {
    SF_CASE(queries_answer),
    SF_CASE(rows_leave_in_time),
    SF_CASE(state_survives),
    SF_CASE(crashes_lose_nothing_acknowledged),
    SF_CASE(names_and_order_are_checked),
    SF_CASE(tables_read_tables),
    SF_CASE(sources_change),
    SF_CASE(memory_is_bounded),
    SF_CASE(memory_runs_out),
    SF_CASE(files_are_driven),
    SF_CASE(pushes_keep_to_their_policy),
    SF_CASE(pushes_are_checked),
    SF_CASE(results_are_kept),
    SF_CASE(subscribers_hear),
    SF_CASE(slow_subscribers_miss),
    SF_CASE(idle_sources_go_on),
    SF_CASE(failed_queries_hold_nobody_up),
    SF_CASE(waiting_pushes_are_answered),
    SF_CASE(gaps_are_told),
    SF_CASE(polls_are_kept_whole),
    SF_CASE(small_logs_suffice),
    SF_CASE(readers_stand_on_their_tables),
    SF_CASE(groups_part_and_come_back),
    SF_CASE(foreign_state_is_left_alone),
    SF_CASE(sources_come_anew),
    SF_CASE(snapshots_outlive_queries),
    SF_CASE(slow_polls_hold_nobody_up),
    SF_CASE(groups_change_under_load),
};

SF_RUN("runtime", cases)

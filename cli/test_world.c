/* One run of a case: sources and queries in an engine, events in order, the answer. */
#include "cli/test.h"

#include <stdlib.h>

#define TARGET "(query)" /* no source has such a name */

typedef struct {
    int64_t mark, arrival_ms; /* as of its last row */
    bool seen;
} world_source;

typedef struct {
    const sf_test_case *test;
    const sf_test_variant *variant;
    sf_test_result *result;
    sf_engine *engine;
    const char *target;
    sf_plan_kind kind;
    world_source *sources;
    SF_VEC(const sf_batch *) waiting; /* rows of one source, not pushed yet */
    uint32_t waiting_source;
    sf_test_fold fold; /* tables: sum of all changes */
    sf_status callback_status;
    sf_error error;
} world;

/* ---- building ---- */

static sf_status refused(world *w, sf_str sql, const sf_test_query *query)
{
    w->result->refused = true;
    w->result->refused_sql = sql;
    w->result->error = w->error;
    if (query && w->result->diagnostics.list.len == 0)
        sf_error_context(&w->result->error, "\"%s\"", query->name);
    return w->error.status;
}

static sf_status add_query(world *w, const char *name, sf_plan_kind kind, sf_str sql,
                           const sf_test_query *query)
{
    sf_diagnostics_deinit(&w->result->diagnostics);
    w->result->diagnostics = (sf_diagnostics){0};
    sf_status status =
        sf_engine_add_query(w->engine, name, kind, sql, &w->result->diagnostics, &w->error);
    return status == SF_OK ? SF_OK : refused(w, sql, query);
}

static sf_status build_queries(world *w)
{
    const sf_test_case *test = w->test;
    w->kind = test->mode == SF_TEST_PIPELINE ? SF_PLAN_PIPELINE : SF_PLAN_TABLE;
    w->target = TARGET;
    for (size_t i = 0; i < test->tables.len; i++) {
        const sf_test_query *query = &test->tables.data[i];
        SF_TRY(add_query(w, query->name, query->kind, query->sql, query));
    }
    if (!w->variant->steps)
        return add_query(w, TARGET, w->kind, test->sql, NULL);
    for (size_t i = 0; i < test->steps.len; i++) {
        const sf_test_query *query = &test->steps.data[i];
        bool last = i + 1 == test->steps.len;
        w->target = query->name;
        SF_TRY(add_query(w, query->name, last ? w->kind : query->kind, query->sql, query));
    }
    return SF_OK;
}

static sf_status build(world *w)
{
    const sf_test_case *test = w->test;
    w->engine = sf_engine_new();
    w->sources = sf_calloc(test->sources.len + 1, sizeof *w->sources);
    if (!w->engine || !w->sources)
        return sf_fail_memory(&w->error);
    sf_engine_set_now(w->engine, 0);
    for (size_t i = 0; i < test->sources.len; i++) {
        const sf_test_source *source = &test->sources.data[i];
        SF_TRY(sf_engine_add_source(w->engine, source->name, source->fields, source->field_count,
                                    source->lateness_ms, !source->retracts, &w->error));
    }
    SF_TRY(build_queries(w));
    const sf_plan *plan = sf_engine_plan(w->engine, w->target);
    w->result->answer.schema = sf_schema_ref(sf_plan_schema(plan));
    return SF_OK;
}

/* ---- running ---- */

static sf_status fold_batch(world *w, sf_test_fold *fold, const sf_batch *batch, int64_t sign)
{
    sf_buf text = {0};
    bool ok = true;
    for (uint32_t row = 0; ok && row < batch->rows; row++) {
        sf_buf_clear(&text);
        sf_write_json_row(&text, batch, row, true);
        ok = !text.failed &&
             sf_test_fold_add(fold, sf_buf_str(&text), sign * sf_batch_weight(batch, row));
    }
    sf_buf_deinit(&text);
    return ok ? SF_OK : sf_fail_memory(&w->error);
}

static void on_output(void *arg, const char *query, const sf_batch *batch)
{
    world *w = arg;
    if (w->callback_status != SF_OK || strcmp(query, w->target) != 0)
        return;
    w->callback_status = w->kind == SF_PLAN_PIPELINE
                             ? sf_test_answer_add(&w->result->answer, batch, &w->error)
                             : fold_batch(w, &w->fold, batch, 1);
}

static sf_status run_engine(world *w)
{
    SF_TRY(sf_engine_run(w->engine, on_output, w, &w->error));
    return w->callback_status;
}

static sf_status push(world *w, uint32_t source, const sf_batch *batch)
{
    return sf_engine_push(w->engine, w->test->sources.data[source].name, batch, &w->error);
}

/* Pushes the rows that wait, as one batch, and runs. */
static sf_status release(world *w)
{
    if (w->waiting.len) {
        uint32_t count = (uint32_t)w->waiting.len;
        sf_batch *batch =
            count == 1 ? sf_batch_ref(w->waiting.data[0]) : sf_batch_concat(w->waiting.data, count);
        if (!batch)
            return sf_fail_memory(&w->error);
        w->waiting.len = 0;
        sf_status status = push(w, w->waiting_source, batch);
        sf_batch_unref(batch);
        SF_TRY(status);
    }
    return SF_OK;
}

static sf_status settle(world *w)
{
    SF_TRY(release(w));
    return run_engine(w);
}

static sf_status take_row(world *w, const sf_test_event *event)
{
    const sf_batch *batch = event->batch;
    world_source *source = &w->sources[event->source];
    int64_t ts = SF_LANES(batch->columns[batch->schema->count - 1], int64_t)[0];
    int64_t mark = sf_sat_add(ts, -w->test->sources.data[event->source].lateness_ms);
    source->mark = source->seen && source->mark > mark ? source->mark : mark;
    source->seen = true;
    source->arrival_ms = sf_engine_now(w->engine);
    if (!w->variant->big_epochs) {
        SF_TRY(push(w, event->source, batch));
        return run_engine(w);
    }
    if (w->waiting.len &&
        (w->waiting_source != event->source || w->waiting.len == SF_BATCH_ROWS_MAX))
        SF_TRY(release(w));
    w->waiting_source = event->source;
    return SF_VEC_PUSH(&w->waiting, batch) ? SF_OK : sf_fail_memory(&w->error);
}

/* The clock moves on, and with it the event time of sources that have been idle. */
static sf_status advance(world *w, int64_t delay_ms)
{
    SF_TRY(settle(w));
    int64_t now_ms = sf_sat_add(sf_engine_now(w->engine), delay_ms);
    sf_engine_set_now(w->engine, now_ms);
    for (size_t i = 0; i < w->test->sources.len; i++) {
        const sf_test_source *source = &w->test->sources.data[i];
        const world_source *state = &w->sources[i];
        int64_t idle_ms = now_ms - state->arrival_ms - source->idle_ms;
        if (state->seen && source->idle_ms > 0 && idle_ms > 0)
            SF_TRY(sf_engine_watermark(w->engine, source->name, sf_sat_add(state->mark, idle_ms),
                                       &w->error));
    }
    return run_engine(w);
}

static sf_status move_watermark(world *w, const sf_test_event *event)
{
    SF_TRY(settle(w));
    world_source *source = &w->sources[event->source];
    source->mark = source->seen && source->mark > event->amount ? source->mark : event->amount;
    source->seen = true;
    source->arrival_ms = sf_engine_now(w->engine);
    SF_TRY(sf_engine_watermark(w->engine, w->test->sources.data[event->source].name, event->amount,
                               &w->error));
    return run_engine(w);
}

/* ---- answers ---- */

static sf_status read_snapshot(world *w, sf_test_answer *answer)
{
    sf_snapshot *snapshot = sf_engine_snapshot(w->engine, w->target);
    const sf_schema *schema = sf_plan_schema(sf_engine_plan(w->engine, w->target));
    sf_snapshot_cursor cursor = {0};
    sf_batch *batch = NULL;
    sf_status status = snapshot ? SF_OK : sf_fail_memory(&w->error);
    while (status == SF_OK) {
        status = sf_snapshot_read(snapshot, schema, 0, SF_BATCH_ROWS, &cursor, &batch, &w->error);
        if (status != SF_OK || !batch)
            break;
        status = fold_batch(w, &w->fold, batch, -1);
        if (status == SF_OK)
            status = sf_test_answer_add(answer, batch, &w->error);
        sf_batch_unref(batch);
    }
    sf_snapshot_unref(snapshot);
    return status;
}

/* The sum of the changes must be the answer: what is left of it after reading says where not. */
static sf_status check_fold(world *w, const sf_test_answer *answer)
{
    for (size_t i = 0; i < w->fold.cap; i++)
        if (w->fold.items[i].text && w->fold.items[i].count)
            return sf_fail(&w->error, SF_INTERNAL,
                           "the changes do not add up to the answer: %s is there %lld times too %s",
                           w->fold.items[i].text, (long long)llabs(w->fold.items[i].count),
                           w->fold.items[i].count > 0 ? "often in the changes" : "few");
    for (size_t i = 0; i < answer->batches.len; i++) /* the answer's rows count again */
        SF_TRY(fold_batch(w, &w->fold, answer->batches.data[i], 1));
    return SF_OK;
}

/* Is this column of the node a key of the window below it, handed up unchanged? */
static bool is_window_key(const sf_plan *plan, uint32_t node_number, uint32_t column)
{
    const sf_plan_node *node = sf_plan_at(plan, node_number);
    while (node->kind == SF_NODE_MAP) {
        if (node->as.map.exprs) {
            const sf_expr *expr = node->as.map.exprs[column];
            if (expr->kind != SF_EXPR_COLUMN)
                return false;
            column = expr->column;
        }
        node = sf_plan_at(plan, node->inputs[0]);
    }
    return node->kind == SF_NODE_WINDOW && column < node->as.window.key_count;
}

static sf_status last_per_window_key(world *w, sf_test_answer *answer)
{
    const sf_plan *plan = sf_engine_plan(w->engine, w->target);
    const sf_schema *schema = sf_plan_schema(plan);
    uint32_t columns[SF_COLUMNS_MAX], count = 0;
    for (uint32_t i = 0; i < schema->count; i++)
        if (strcmp(schema->fields[i].name, "window_start") == 0 ||
            strcmp(schema->fields[i].name, "window_end") == 0 ||
            is_window_key(plan, plan->output, i))
            columns[count++] = i;
    return sf_test_answer_last(answer, columns, count, &w->error);
}

/* The answer as of now: a table's rows, or what a pipeline has emitted so far. */
static sf_status take_answer(world *w, sf_test_answer *out)
{
    out->schema = sf_schema_ref(w->result->answer.schema);
    if (w->kind == SF_PLAN_TABLE) {
        SF_TRY(read_snapshot(w, out));
        SF_TRY(check_fold(w, out));
    } else {
        for (size_t i = 0; i < w->result->answer.batches.len; i++)
            SF_TRY(sf_test_answer_add(out, w->result->answer.batches.data[i], &w->error));
    }
    return w->test->last_per_window_key ? last_per_window_key(w, out) : SF_OK;
}

static sf_status check_here(world *w, const sf_test_event *event)
{
    sf_test_answer answer = {0};
    SF_TRY(settle(w));
    sf_status status = take_answer(w, &answer);
    if (status == SF_OK && !sf_test_accepts(&event->expect, &answer, &w->result->why)) {
        w->result->failed = true;
        w->result->failed_expect = &event->expect;
        sf_test_answer_deinit(&w->result->answer);
        w->result->answer = answer;
        return sf_fail(&w->error, SF_INVALID, "event %u", event->number);
    }
    sf_test_answer_deinit(&answer);
    return status;
}

/* ---- events ---- */

static sf_status restart(world *w)
{
    SF_TRY(settle(w));
    return sf_engine_restart(w->engine, &w->error);
}

static sf_status play(world *w, const sf_test_event *event)
{
    switch (event->kind) {
    case SF_TEST_ROW: return take_row(w, event);
    case SF_TEST_ADVANCE: return advance(w, event->amount);
    case SF_TEST_WATERMARK: return move_watermark(w, event);
    case SF_TEST_RESTART: return restart(w);
    case SF_TEST_EXPECT: return check_here(w, event);
    }
    return SF_OK;
}

static sf_status play_events(world *w)
{
    const sf_test_case *test = w->test;
    size_t stride = test->events.len / 100 + 1; /* at most some hundred restarts a case */
    SF_TRY(run_engine(w));                      /* what is there before the first row */
    for (size_t i = 0; i < test->events.len; i++) {
        SF_TRY(play(w, &test->events.data[i]));
        if (w->variant->restart_often && i % stride == 0)
            SF_TRY(restart(w));
    }
    return settle(w);
}

/* ---- formats ---- */

static sf_status push_parsed(world *w, sf_parser *parser)
{
    sf_batch *batch;
    sf_status status = SF_OK;
    while (status == SF_OK && (batch = sf_parser_next(parser)) != NULL) {
        status = push(w, w->test->input.source, batch);
        sf_batch_unref(batch);
    }
    return status;
}

static sf_status feed_input(world *w, sf_parser *parser)
{
    sf_str bytes = w->test->input.bytes;
    size_t piece = w->variant->byte_by_byte ? 1 : bytes.len;
    for (size_t at = 0; at < bytes.len; at += piece) {
        SF_TRY(sf_parser_feed(parser, (sf_str){bytes.data + at, piece}, &w->error));
        SF_TRY(push_parsed(w, parser));
    }
    SF_TRY(sf_parser_finish(parser, &w->error));
    SF_TRY(push_parsed(w, parser));
    w->result->reported = true;
    w->result->report = *sf_parser_report(parser);
    return run_engine(w);
}

static sf_status play_input(world *w)
{
    const sf_test_input *input = &w->test->input;
    sf_parser_options options = {.format = input->format,
                                 .schema = w->test->sources.data[input->source].schema,
                                 .on_misfit = input->on_misfit,
                                 .reject_unknown_fields = input->reject_unknown_fields,
                                 .delimiter = input->delimiter};
    sf_parser *parser;
    SF_TRY(sf_parser_new(&options, &parser, &w->error));
    sf_status status = feed_input(w, parser);
    sf_parser_free(parser);
    return status;
}

/* ---- the whole ---- */

static sf_status close_windows(world *w)
{
    if (w->kind != SF_PLAN_PIPELINE || !w->test->flush)
        return SF_OK;
    for (size_t i = 0; i < w->test->sources.len; i++)
        SF_TRY(
            sf_engine_watermark(w->engine, w->test->sources.data[i].name, SF_MARK_END, &w->error));
    return run_engine(w);
}

static sf_status run_world(world *w)
{
    SF_TRY(build(w));
    SF_TRY(play_events(w));
    if (w->test->mode == SF_TEST_FORMAT)
        SF_TRY(play_input(w));
    SF_TRY(close_windows(w));
    sf_test_answer answer = {0};
    sf_status status = take_answer(w, &answer);
    sf_test_answer_deinit(&w->result->answer);
    w->result->answer = answer;
    return status;
}

void sf_test_world(const sf_test_case *test, const sf_test_variant *variant, sf_test_result *result)
{
    world w = {.test = test, .variant = variant, .result = result};
    *result = (sf_test_result){0};
    sf_status status = run_world(&w);
    if (status != SF_OK && !result->refused && !result->failed) {
        result->failed = true;
        sf_buf_puts(&result->why, w.error.message);
    }
    sf_engine_free(w.engine);
    sf_free(w.sources);
    SF_VEC_DEINIT(&w.waiting);
    sf_test_fold_deinit(&w.fold);
}

void sf_test_result_deinit(sf_test_result *result)
{
    sf_diagnostics_deinit(&result->diagnostics);
    sf_buf_deinit(&result->why);
    sf_test_answer_deinit(&result->answer);
}

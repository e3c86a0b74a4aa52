/* What running queries publish when an epoch has ended, and what they answer when asked. */
#include "runtime/internal.h"

#include "format/format.h"

/* ---- publishing ---- */

static void put_delta(sf_buf *json, const sf_batch *batch, uint32_t row, uint64_t epoch)
{
    sf_buf_puts(json, json->len > 1 ? ",{\"row\":" : "{\"row\":");
    sf_write_json_row(json, batch, row, false);
    sf_buf_printf(json, ",\"weight\":%lld,\"evicted\":false,\"epoch\":%llu}",
                  (long long)sf_batch_weight(batch, row), (unsigned long long)epoch);
}

static void put_result(sf_buf *json, const sf_query *query, const sf_batch *batch, uint32_t row,
                       uint64_t seq, int64_t now_ms)
{
    sf_buf_printf(json,
                  "{\"pipelineId\":\"%s\",\"seq\":%llu,\"timestampMs\":%lld,\"row\":", query->id,
                  (unsigned long long)seq, (long long)now_ms);
    sf_write_json_row(json, batch, row, false);
    sf_buf_putc(json, '}');
}

/* One that memory does not suffice for is not kept. */
static void keep_result(sf_query *query, const sf_batch *batch, uint32_t row, uint64_t seq,
                        int64_t now_ms)
{
    if (query->results.len < SF_RESULTS_KEPT) {
        sf_buf fresh = {0};
        if (!SF_VEC_PUSH(&query->results, fresh))
            return;
        query->results_next = query->results.len - 1;
    }
    sf_buf *slot = &query->results.data[query->results_next];
    sf_buf_clear(slot);
    put_result(slot, query, batch, row, seq, now_ms);
    if (slot->failed)
        sf_buf_deinit(slot);
    query->results_next = (query->results_next + 1) % SF_RESULTS_KEPT;
}

/* A frame that memory did not suffice for is told as a gap. */
static void publish(sf_query *query, sf_frame *frame, uint64_t seq_from, uint64_t seq_to,
                    uint64_t rows, int64_t now_ms)
{
    if (!frame || frame->json.failed) {
        sf_frame_unref(frame);
        sf_topic_skip(query->topic, seq_from, seq_to, rows);
        return;
    }
    frame->seq = seq_to;
    frame->rows = (uint32_t)rows;
    frame->at_ms = now_ms;
    sf_topic_publish(query->topic, frame);
}

static uint64_t rows_of(const sf_query *query, uint32_t count)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < count; i++)
        rows += sf_group_output(query->cell->group, query->member, i)->rows;
    return rows;
}

static void publish_table(sf_query *query, uint32_t count, int64_t now_ms)
{
    if (!sf_topic_heard(query->topic))
        return;
    uint64_t epoch = sf_group_epoch(query->cell->group);
    sf_frame *frame = sf_frame_new();
    for (uint32_t i = 0; frame && i < count; i++) {
        const sf_batch *batch = sf_group_output(query->cell->group, query->member, i);
        if (i == 0)
            sf_buf_putc(&frame->json, '[');
        for (uint32_t row = 0; row < batch->rows; row++)
            put_delta(&frame->json, batch, row, epoch);
    }
    if (frame)
        sf_buf_putc(&frame->json, ']');
    publish(query, frame, epoch, epoch, rows_of(query, count), now_ms);
}

static void publish_pipeline(sf_query *query, uint32_t count, int64_t now_ms)
{
    sf_circuit_stats stats;
    sf_circuit_get_stats(sf_group_circuit(query->cell->group, query->member), &stats);
    uint64_t rows = rows_of(query, count), first = stats.rows_out - rows, seq = first;
    bool heard = sf_topic_heard(query->topic);
    sf_frame *frame = heard ? sf_frame_new() : NULL;
    if (frame)
        sf_buf_putc(&frame->json, '[');
    for (uint32_t i = 0; i < count; i++) {
        const sf_batch *batch = sf_group_output(query->cell->group, query->member, i);
        for (uint32_t row = 0; row < batch->rows; row++) {
            seq++;
            if (seq + SF_RESULTS_KEPT > stats.rows_out)
                keep_result(query, batch, row, seq, now_ms);
            if (!frame)
                continue;
            if (frame->json.len > 1)
                sf_buf_putc(&frame->json, ',');
            put_result(&frame->json, query, batch, row, seq, now_ms);
        }
    }
    if (frame)
        sf_buf_putc(&frame->json, ']');
    if (heard)
        publish(query, frame, first + 1, seq, rows, now_ms);
}

void sf_query_publish(sf_query *query, int64_t now_ms)
{
    uint32_t count = sf_group_output_count(query->cell->group, query->member);
    if (count == 0)
        return;
    query->last_change_ms = now_ms;
    if (query->plan->kind == SF_PLAN_TABLE)
        publish_table(query, count, now_ms);
    else
        publish_pipeline(query, count, now_ms);
}

/* ---- answers ---- */

static sf_status enter_query(sf_runtime *runtime, const char *name, sf_cell **cell,
                             sf_query **query, sf_error *err)
{
    for (;;) { /* a cell may be merged into another between finding and entering it */
        *cell = sf_cell_of(runtime, name);
        if (!*cell)
            return sf_fail(err, SF_NOT_FOUND, "\"%s\" is not running", name);
        sf_cell_enter(*cell);
        *query = sf_cell_query(*cell, name);
        if (*query)
            return SF_OK;
        sf_cell_leave(*cell);
        sf_cell_unref(*cell);
    }
}

static void leave_query(sf_cell *cell)
{
    sf_cell_leave(cell);
    sf_cell_unref(cell);
}

sf_status sf_runtime_snapshot(sf_runtime *runtime, const char *name, sf_snapshot **snapshot,
                              sf_schema **schema, uint64_t *epoch, sf_error *err)
{
    sf_cell *cell;
    sf_query *query;
    SF_TRY(enter_query(runtime, name, &cell, &query, err));
    sf_status status = SF_OK;
    if (query->plan->kind != SF_PLAN_TABLE) {
        status = sf_fail(err, SF_CONFLICT, "\"%s\" is a pipeline: it has results, not rows", name);
    } else {
        sf_member_info info;
        sf_group_member(cell->group, query->member, &info);
        *snapshot = sf_circuit_snapshot(sf_group_circuit(cell->group, query->member));
        *schema = sf_schema_ref(sf_plan_schema(query->plan));
        *epoch = info.frontier;
        if (!*snapshot) {
            sf_schema_unref(*schema);
            status = sf_fail_memory(err);
        }
    }
    leave_query(cell);
    return status;
}

sf_status sf_runtime_results(sf_runtime *runtime, const char *name, uint32_t limit, sf_buf *out,
                             sf_error *err)
{
    sf_cell *cell;
    sf_query *query;
    SF_TRY(enter_query(runtime, name, &cell, &query, err));
    size_t kept = query->results.len, give = kept < limit ? kept : limit;
    size_t oldest = kept < SF_RESULTS_KEPT ? 0 : query->results_next;
    bool first = true;
    sf_buf_putc(out, '[');
    for (size_t i = kept - give; i < kept; i++) {
        const sf_buf *result = &query->results.data[(oldest + i) % kept];
        if (result->len == 0)
            continue;
        sf_buf_puts(out, first ? "" : ",");
        sf_buf_put(out, result->data, result->len);
        first = false;
    }
    sf_buf_putc(out, ']');
    leave_query(cell);
    return out->failed ? sf_fail_memory(err) : SF_OK;
}

void sf_runtime_query_stats(sf_runtime *runtime, const char *name, sf_query_stats *out)
{
    *out = (sf_query_stats){0};
    sf_cell *cell;
    sf_query *query;
    if (enter_query(runtime, name, &cell, &query, NULL) != SF_OK)
        return;
    sf_member_info info;
    sf_group_member(cell->group, query->member, &info);
    sf_circuit *circuit = sf_group_circuit(cell->group, query->member);
    out->running = true;
    out->state = cell->broken.status != SF_OK ? SF_MEMBER_FAILED : info.state;
    out->error = cell->broken.status != SF_OK ? cell->broken : info.error;
    out->kind = query->plan->kind;
    out->epoch = info.frontier;
    sf_circuit_get_stats(circuit, &out->circuit);
    if (out->kind == SF_PLAN_TABLE) {
        sf_snapshot *snapshot = sf_circuit_snapshot(circuit);
        out->rows = snapshot ? sf_snapshot_rows(snapshot) : 0;
        sf_snapshot_unref(snapshot);
    }
    out->rows_in_per_s = query->rate_in;
    out->rows_out_per_s = query->rate_out;
    out->last_change_ms = query->last_change_ms;
    out->checkpoint_ms = cell->last_write_ms;
    leave_query(cell);
}

sf_status sf_runtime_explain(sf_runtime *runtime, const char *name, sf_buf *out, sf_error *err)
{
    sf_cell *cell;
    sf_query *query;
    SF_TRY(enter_query(runtime, name, &cell, &query, err));
    sf_plan_print(query->plan, out);
    leave_query(cell);
    return out->failed ? sf_fail_memory(err) : SF_OK;
}

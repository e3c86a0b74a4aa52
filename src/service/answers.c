/* What runs, in answers: rows, results, downloads, metrics, plans, the state of sources. */
#include "service/internal.h"

#include <stdio.h>

enum { PAGE_ROWS = 1024, ROWS_MAX = 100000, CSV_ROWS_MAX = 100000 };

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* ---- rows ---- */

static void put_row(sf_buf *out, const sf_batch *batch, uint32_t row, bool first)
{
    sf_buf_puts(out, first ? "{\"row\":" : ",{\"row\":");
    sf_write_json_row(out, batch, row, false);
    sf_buf_printf(out, ",\"weight\":%lld}", (long long)sf_batch_weight(batch, row));
}

static sf_status put_rows(const sf_snapshot *snapshot, const sf_schema *schema, int64_t limit,
                          int64_t offset, sf_buf *out, sf_error *err)
{
    sf_snapshot_cursor cursor = {0};
    bool first = true;
    while (limit > 0) {
        sf_batch *batch;
        uint32_t want = limit < PAGE_ROWS ? (uint32_t)limit : PAGE_ROWS;
        SF_TRY(sf_snapshot_read(snapshot, schema, (uint64_t)offset, want, &cursor, &batch, err));
        if (!batch)
            break;
        for (uint32_t i = 0; i < batch->rows; i++, first = false)
            put_row(out, batch, i, first);
        limit -= batch->rows;
        offset = 0;
        sf_batch_unref(batch);
    }
    return SF_OK;
}

sf_status sf_service_rows(sf_service *service, const sf_caller *caller, sf_str key, int64_t limit,
                          int64_t offset, sf_answer *out, sf_error *err)
{
    const sf_def *def;
    SF_TRY(sf_find_readable(service, caller, SF_NOUN_TABLE, key, &def, err));
    sf_snapshot *snapshot = NULL;
    sf_schema *schema = NULL;
    uint64_t epoch = 0;
    sf_status status =
        sf_runtime_snapshot(service->runtime, def->name, &snapshot, &schema, &epoch, err);
    sf_def_unref(def);
    sf_buf_puts(&out->body, "{\"rows\":[");
    if (status == SF_OK)
        status = put_rows(snapshot, schema, clamp(limit, 0, ROWS_MAX), clamp(offset, 0, INT64_MAX),
                          &out->body, err);
    else if (status == SF_NOT_FOUND)
        status = SF_OK; /* it does not run: there is no answer to show */
    sf_buf_printf(&out->body,
                  "],\"totalRows\":%llu,\"seq\":%llu,\"frontierEpoch\":null,\"shards\":null}",
                  snapshot ? (unsigned long long)sf_snapshot_rows(snapshot) : 0ULL,
                  (unsigned long long)epoch);
    sf_snapshot_unref(snapshot);
    sf_schema_unref(schema);
    return status == SF_OK ? sf_answered(out, err) : status;
}

sf_status sf_service_results(sf_service *service, const sf_caller *caller, sf_str key,
                             int64_t limit, sf_answer *out, sf_error *err)
{
    const sf_def *def;
    sf_status status = sf_find_readable(service, caller, SF_NOUN_PIPELINE, key, &def, err);
    if (status == SF_NOT_FOUND) { /* nothing has come out of what is not there */
        sf_buf_puts(&out->body, "[]");
        return sf_answered(out, err);
    }
    SF_TRY(status);
    status = sf_runtime_results(service->runtime, def->name, (uint32_t)clamp(limit, 0, 10000),
                                &out->body, err);
    sf_def_unref(def);
    if (status == SF_NOT_FOUND) {
        sf_buf_puts(&out->body, "[]");
        status = SF_OK;
    }
    return status == SF_OK ? sf_answered(out, err) : status;
}

/* ---- downloads ---- */

struct sf_csv {
    sf_snapshot *snapshot;
    sf_schema *schema;
    sf_snapshot_cursor cursor;
    uint64_t offset;
    int64_t left;
    bool header;
};

static void name_download(const sf_def *def, sf_answer *answer)
{
    snprintf(answer->file_name_bytes, sizeof answer->file_name_bytes, "%s.csv", def->name);
    answer->file_name = answer->file_name_bytes;
}

sf_status sf_service_rows_csv(sf_service *service, const sf_caller *caller, sf_str key,
                              int64_t limit, int64_t offset, sf_csv **out, sf_answer *answer,
                              sf_error *err)
{
    const sf_def *def;
    SF_TRY(sf_find_readable(service, caller, SF_NOUN_TABLE, key, &def, err));
    sf_csv *csv = sf_calloc(1, sizeof *csv);
    uint64_t epoch;
    sf_status status = csv ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK)
        status = sf_runtime_snapshot(service->runtime, def->name, &csv->snapshot, &csv->schema,
                                     &epoch, err);
    if (csv && status == SF_NOT_FOUND) { /* only the header: of its last compilation */
        const sf_field_list *fields = &sf_def_query(def)->derived.output;
        csv->schema = sf_relation_schema(fields->columns, fields->count, SF_INPUT_TABLE);
        status = csv->schema ? SF_OK : sf_fail_memory(err);
    }
    if (status == SF_OK) {
        csv->left = clamp(limit, 1, CSV_ROWS_MAX);
        csv->offset = (uint64_t)clamp(offset, 0, INT64_MAX);
        name_download(def, answer);
        *out = csv;
    } else {
        sf_free(csv);
    }
    sf_def_unref(def);
    return status;
}

sf_status sf_csv_take(sf_csv *csv, size_t max_bytes, sf_buf *out, bool *more, sf_error *err)
{
    size_t start = out->len;
    if (!csv->header)
        sf_write_csv_header(out, csv->schema);
    csv->header = true;
    *more = csv->snapshot && csv->left > 0;
    while (*more && out->len - start < max_bytes) {
        sf_batch *batch;
        uint32_t want = csv->left < PAGE_ROWS ? (uint32_t)csv->left : PAGE_ROWS;
        SF_TRY(sf_snapshot_read(csv->snapshot, csv->schema, csv->offset, want, &csv->cursor, &batch,
                                err));
        if (!batch) {
            *more = false;
            break;
        }
        for (uint32_t i = 0; i < batch->rows; i++)
            sf_write_csv_row(out, batch, i);
        csv->offset = 0;
        csv->left -= batch->rows;
        *more = csv->left > 0;
        sf_batch_unref(batch);
    }
    return out->failed ? sf_fail_memory(err) : SF_OK;
}

void sf_csv_free(sf_csv *csv)
{
    if (!csv)
        return;
    sf_snapshot_unref(csv->snapshot);
    sf_schema_unref(csv->schema);
    sf_free(csv);
}

/* The kept results are JSON already: their rows are read back into columns. */
sf_status sf_service_results_csv(sf_service *service, const sf_caller *caller, sf_str key,
                                 int64_t limit, sf_answer *out, sf_error *err)
{
    const sf_def *def;
    SF_TRY(sf_find_readable(service, caller, SF_NOUN_PIPELINE, key, &def, err));
    sf_buf results = {0};
    sf_status status = sf_runtime_results(service->runtime, def->name,
                                          (uint32_t)clamp(limit, 1, CSV_ROWS_MAX), &results, err);
    if (status == SF_NOT_FOUND)
        status = SF_OK;
    const sf_field_list *fields = &sf_def_query(def)->derived.output;
    sf_schema *schema = sf_schema_new(fields->columns, fields->count);
    sf_parser *parser = NULL;
    sf_parser_options options = {.format = SF_FORMAT_NDJSON, .schema = schema};
    if (status == SF_OK)
        status = schema ? sf_parser_new(&options, &parser, err) : sf_fail_memory(err);
    size_t cursor = 0;
    sf_str element, row;
    while (status == SF_OK && sf_json_each(sf_buf_str(&results), &cursor, &element))
        if (sf_json_get_key(element, SF_STR("row"), &row)) {
            status = sf_parser_feed(parser, row, err);
            if (status == SF_OK)
                status = sf_parser_feed(parser, SF_STR("\n"), err);
        }
    if (status == SF_OK)
        status = sf_parser_finish(parser, err);
    if (status == SF_OK) {
        sf_write_csv_header(&out->body, schema);
        for (sf_batch *batch; (batch = sf_parser_next(parser)) != NULL; sf_batch_unref(batch))
            for (uint32_t i = 0; i < batch->rows; i++)
                sf_write_csv_row(&out->body, batch, i);
        name_download(def, out);
    }
    sf_parser_free(parser);
    sf_schema_unref(schema);
    sf_buf_deinit(&results);
    sf_def_unref(def);
    return status == SF_OK ? sf_answered(out, err) : status;
}

/* ---- metrics ---- */

static const char *status_of(const sf_def *def, const sf_query_stats *stats)
{
    if (!def->running)
        return "Stopped";
    return def->error || !stats->running || stats->state != SF_MEMBER_RUNNING ? "Failed"
                                                                              : "Running";
}

static void put_eval_errors(const sf_query_stats *stats, sf_buf *out)
{
    sf_buf_puts(out, ",\"evaluationErrors\":{");
    for (uint32_t i = 0; i < SF_EVAL_ERROR_COUNT; i++)
        sf_buf_printf(out, "%s\"%s\":%llu", i ? "," : "", sf_eval_code_text((sf_eval_code)i),
                      (unsigned long long)stats->circuit.eval_errors[i]);
    sf_buf_putc(out, '}');
}

static void put_table_metrics(const sf_def *def, const sf_query_stats *stats, sf_buf *out)
{
    sf_buf_printf(out,
                  "{\"tableId\":\"%s\",\"status\":\"%s\",\"rowCount\":%llu,\"deltasIn\":%llu,"
                  "\"deltasOut\":%llu,\"lastUpdateMs\":%lld,\"rebuilding\":false,"
                  "\"partitions\":null,\"arrangedInputs\":null,\"snapshotFrontierEpoch\":null,"
                  "\"rowIdentityWarning\":null,\"declaredKeyColumns\":[",
                  def->id, status_of(def, stats), (unsigned long long)stats->rows,
                  (unsigned long long)stats->circuit.rows_in,
                  (unsigned long long)stats->circuit.rows_out, (long long)stats->last_change_ms);
    const sf_name_list *keys = &sf_def_query(def)->derived.key_fields;
    for (uint32_t i = 0; i < keys->count; i++) {
        if (i)
            sf_buf_putc(out, ',');
        sf_put_text(out, keys->items[i]);
    }
    sf_buf_printf(out,
                  "],\"rowsInPerSec\":%.3f,\"rowsOutPerSec\":%.3f,\"epoch\":%llu,"
                  "\"stateRows\":%llu,\"stateBytes\":%llu,\"checkpointMs\":%lld",
                  stats->rows_in_per_s, stats->rows_out_per_s, (unsigned long long)stats->epoch,
                  (unsigned long long)stats->circuit.state_rows,
                  (unsigned long long)stats->circuit.state_bytes, (long long)stats->checkpoint_ms);
}

static void put_pipeline_metrics(const sf_def *def, const sf_query_stats *stats, sf_buf *out)
{
    int64_t watermark = stats->circuit.watermark;
    bool known = stats->running && watermark != SF_MARK_NONE && watermark != SF_MARK_END;
    sf_buf_printf(out,
                  "{\"pipelineId\":\"%s\",\"status\":\"%s\",\"eventsInPerSec\":%.3f,"
                  "\"rowsOutPerSec\":%.3f,\"totalEventsIn\":%llu,\"totalRowsOut\":%llu,"
                  "\"windowsClosed\":%llu,\"lastEventTsMs\":%lld,\"lateEvents\":%llu",
                  def->id, status_of(def, stats), stats->rows_in_per_s, stats->rows_out_per_s,
                  (unsigned long long)stats->circuit.rows_in,
                  (unsigned long long)stats->circuit.rows_out,
                  (unsigned long long)stats->circuit.windows_closed,
                  (long long)stats->last_change_ms, (unsigned long long)stats->circuit.late_rows);
    if (known)
        sf_buf_printf(out, ",\"watermarkMs\":%lld", (long long)watermark);
    else
        sf_buf_puts(out, ",\"watermarkMs\":null");
}

void sf_put_metrics(sf_service *service, const sf_def *def, sf_buf *out)
{
    sf_query_stats stats;
    sf_runtime_query_stats(service->runtime, def->name, &stats);
    if (def->kind == SF_ENTITY_TABLE)
        put_table_metrics(def, &stats, out);
    else
        put_pipeline_metrics(def, &stats, out);
    put_eval_errors(&stats, out);
    sf_buf_putc(out, '}');
}

sf_status sf_service_metrics(sf_service *service, const sf_caller *caller, sf_noun noun, sf_str key,
                             sf_answer *out, sf_error *err)
{
    const sf_def *def;
    SF_TRY(sf_find_readable(service, caller, noun, key, &def, err));
    sf_put_metrics(service, def, &out->body);
    sf_def_unref(def);
    return sf_answered(out, err);
}

/* ---- plans ---- */

static void put_stages(const sf_plan *plan, sf_buf *out)
{
    sf_buf_puts(out, ",\"stages\":[");
    for (size_t i = 0; i < plan->nodes.len; i++)
        sf_buf_printf(out, "%s{\"id\":%zu,\"kind\":\"%s\"}", i ? "," : "", i,
                      sf_node_kind_name(plan->nodes.data[i]->kind));
    sf_buf_puts(out, "],\"edges\":[");
    bool first = true;
    for (size_t i = 0; i < plan->nodes.len; i++)
        for (uint32_t p = 0; p < plan->nodes.data[i]->input_count; p++, first = false)
            sf_buf_printf(out, "%s{\"from\":%u,\"to\":%zu}", first ? "" : ",",
                          plan->nodes.data[i]->inputs[p], i);
    sf_buf_puts(out, "],\"inputs\":[");
    for (size_t i = 0; i < plan->inputs.len; i++) {
        if (i)
            sf_buf_putc(out, ',');
        sf_put_text(out, plan->inputs.data[i].name);
    }
    sf_buf_putc(out, ']');
}

sf_status sf_service_plan(sf_service *service, const sf_caller *caller, sf_noun noun, sf_str key,
                          sf_answer *out, sf_error *err)
{
    const sf_def *def;
    SF_TRY(sf_find_readable(service, caller, noun, key, &def, err));
    sf_plan *plan = NULL;
    sf_diagnostics diagnostics = {0};
    sf_error own = {0};
    sf_buf text = {0};
    sf_status status = sf_compile_query(service, def->kind, sf_str_of(sf_def_query(def)->sql),
                                        &plan, &diagnostics, &own);
    sf_buf *body = &out->body;
    if (status == SF_OK) {
        sf_plan_summary(plan, &text);
        sf_buf_puts(body, "{\"planSummary\":");
        sf_json_put_string(body, sf_buf_str(&text));
        put_stages(plan, body);
        sf_buf_clear(&text);
        sf_plan_print(plan, &text);
        sf_buf_puts(body, ",\"parallelism\":1,\"physical\":");
        sf_json_put_string(body, sf_buf_str(&text));
        sf_buf_puts(body, ",\"unavailableReason\":null}");
    } else {
        sf_put_diagnostics_text(&diagnostics, &text);
        sf_buf_puts(body, "{\"planSummary\":null,\"stages\":[],\"edges\":[],\"inputs\":[],"
                          "\"parallelism\":1,\"physical\":null,\"unavailableReason\":");
        sf_put_text(body, text.len ? text.data : own.message);
        sf_buf_putc(body, '}');
    }
    sf_buf_deinit(&text);
    sf_plan_free(plan);
    sf_diagnostics_deinit(&diagnostics);
    sf_def_unref(def);
    return sf_answered(out, err);
}

/* ---- sources ---- */

sf_status sf_service_source_status(sf_service *service, const sf_caller *caller, sf_str name,
                                   sf_answer *out, sf_error *err)
{
    const sf_def *def;
    SF_TRY(sf_find_readable(service, caller, SF_NOUN_SOURCE, name, &def, err));
    if (strcmp(sf_def_source(def)->source_kind, "generator") == 0) {
        sf_def_unref(def);
        out->http_status = 204;
        return SF_OK;
    }
    sf_source_stats stats = {0};
    sf_status status = sf_runtime_source_stats(service->runtime, def->name, &stats, err);
    if (status == SF_OK) {
        sf_buf *body = &out->body;
        sf_buf_puts(body, "{\"sourceName\":");
        sf_put_text(body, def->name);
        sf_buf_printf(body, ",\"nextRunMs\":%lld,\"lastRunMs\":%lld,\"lastStatus\":\"%s\"",
                      (long long)stats.next_run_ms, (long long)stats.last_run_ms,
                      !stats.ran ? "never"
                      : stats.ok ? "ok"
                                 : "error");
        sf_buf_puts(body, ",\"lastError\":");
        if (stats.last_error[0])
            sf_put_text(body, stats.last_error);
        else
            sf_buf_puts(body, "null");
        sf_buf_printf(body,
                      ",\"consecutiveFailures\":%u,\"eventsEmittedTotal\":%llu,"
                      "\"lastBatchCount\":%llu,\"coercionFailuresTotal\":%llu,"
                      "\"malformedTotal\":%llu,\"cursor\":null,\"envelopeSkippedTotal\":0,"
                      "\"duplexReady\":null,\"duplexSentTotal\":0,\"duplexFailedTotal\":0,"
                      "\"lastDuplexFailure\":null,\"position\":%llu,\"firstPosition\":%llu,"
                      "\"journalBytes\":%llu}",
                      stats.consecutive_failures, (unsigned long long)stats.events_total,
                      (unsigned long long)stats.last_batch_rows,
                      (unsigned long long)stats.coercion_failures_total,
                      (unsigned long long)stats.malformed_total, (unsigned long long)stats.position,
                      (unsigned long long)stats.first_position,
                      (unsigned long long)stats.journal_bytes);
    }
    sf_def_unref(def);
    return status == SF_OK ? sf_answered(out, err) : status;
}

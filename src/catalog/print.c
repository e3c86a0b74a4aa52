/* Definitions to JSON: the canonical body that is stored, and what the contract shows. */
#include "catalog/def.h"
#include "text/text.h"

static void put_key(sf_buf *out, const char *key)
{
    sf_buf_printf(out, ",\"%s\":", key);
}

static void put_text(sf_buf *out, const char *key, const char *value)
{
    put_key(out, key);
    if (value)
        sf_json_put_string(out, sf_str_of(value));
    else
        sf_buf_puts(out, "null");
}

static void put_int(sf_buf *out, const char *key, int64_t value)
{
    put_key(out, key);
    sf_buf_put_i64_text(out, value);
}

static void put_bool(sf_buf *out, const char *key, bool value)
{
    put_key(out, key);
    sf_buf_puts(out, value ? "true" : "false");
}

static void put_names(sf_buf *out, const char *key, const sf_name_list *names)
{
    put_key(out, key);
    sf_names_put_json(names, out);
}

static void put_block(sf_buf *out, const char *key, const char *json, bool mask)
{
    put_key(out, key);
    if (!json)
        sf_buf_puts(out, "null");
    else if (mask)
        sf_secret_put_masked(json, out);
    else
        sf_buf_puts(out, json);
}

static void put_head(const sf_def *def, sf_buf *out)
{
    sf_buf_puts(out, "\"name\":");
    sf_json_put_string(out, sf_str_of(def->name));
    put_text(out, "description", def->description);
    put_names(out, "tags", &def->tags);
    put_key(out, "metadata");
    sf_buf_putc(out, '{');
    for (uint32_t i = 0; i < def->metadata_count; i++) {
        if (i)
            sf_buf_putc(out, ',');
        sf_json_put_string(out, sf_str_of(def->metadata[i].key));
        sf_buf_putc(out, ':');
        sf_json_put_string(out, sf_str_of(def->metadata[i].value));
    }
    sf_buf_putc(out, '}');
}

/* ---- sources ---- */

static void put_keys(const sf_source_def *source, sf_buf *out)
{
    sf_buf_putc(out, '[');
    for (uint32_t i = 0; i < source->key_count; i++) {
        const sf_key_record *key = &source->keys[i];
        sf_buf_puts(out, i ? ",{\"id\":" : "{\"id\":");
        sf_json_put_string(out, sf_str_of(key->id));
        put_text(out, "label", key->label);
        put_int(out, "createdAtMs", key->created_at_ms);
        put_int(out, "lastUsedMs", atomic_load(&((sf_key_record *)key)->last_used_ms));
        put_text(out, "hash", "***");
        put_text(out, "salt", "***");
        sf_buf_putc(out, '}');
    }
    sf_buf_putc(out, ']');
}

static void put_source(const sf_source_def *source, bool mask, sf_buf *out)
{
    sf_buf_printf(out, ",\"fields\":%s", source->fields.json);
    put_text(out, "generatorProfile", source->generator_profile);
    put_key(out, "eventsPerSecond");
    sf_buf_put_f64_text(out, source->events_per_second);
    put_bool(out, "enabled", source->enabled);
    put_text(out, "kind", source->source_kind);
    put_block(out, "connector", source->connector, mask);
    put_key(out, "ingest");
    if (!source->ingest) {
        sf_buf_puts(out, "null");
    } else {
        size_t len = strlen(source->ingest);
        sf_buf_put(out, source->ingest, len - 1); /* without the closing brace */
        if (mask) {
            sf_buf_puts(out, ",\"keys\":");
            put_keys(source, out);
        }
        sf_buf_putc(out, '}');
    }
    put_text(out, "onCoercionFailure", sf_misfit_names[source->on_misfit]);
    put_block(out, "scenario", source->scenario, mask);
    put_key(out, "latenessMs"); /* null means: the default, and no row is refused */
    if (source->lateness_declared)
        sf_buf_put_i64_text(out, source->lateness_ms);
    else
        sf_buf_puts(out, "null");
    put_int(out, "idleMs", source->idle_ms);
    put_bool(out, "journal", source->journal);
    put_int(out, "journalRetainBytes", source->journal_retain_bytes);
    put_int(out, "journalRetainMs", source->journal_retain_ms);
}

/* ---- queries ---- */

static void put_start(const sf_start *start, const char *position, sf_buf *out)
{
    switch (start->kind) {
    case SF_START_LATEST: sf_buf_puts(out, "\"latest\""); break;
    case SF_START_EARLIEST: sf_buf_puts(out, "\"earliest\""); break;
    default:
        sf_buf_printf(out, "{\"%s\":%lld}",
                      start->kind == SF_START_POSITION ? position : "timestampMs",
                      (long long)start->value);
    }
}

static void put_starts(const sf_query_part *query, sf_buf *out)
{
    uint32_t first = query->start_count > 0 && strcmp(query->starts[0].input, "*") == 0;
    put_key(out, "from");
    if (first)
        put_start(&query->starts[0], "position", out);
    else
        sf_buf_puts(out, "null");
    put_key(out, "replayFrom");
    sf_buf_putc(out, '{');
    for (uint32_t i = first; i < query->start_count; i++) {
        if (i > first)
            sf_buf_putc(out, ',');
        sf_json_put_string(out, sf_str_of(query->starts[i].input));
        sf_buf_putc(out, ':');
        put_start(&query->starts[i], "seq", out);
    }
    sf_buf_putc(out, '}');
}

static void put_query(const sf_query_part *query, bool mask, sf_buf *out)
{
    put_text(out, "sql", query->sql);
    put_block(out, "sinks", query->sinks, mask);
    put_key(out, "dependsOn");
    sf_buf_putc(out, '[');
    for (uint32_t i = 0; i < query->pin_count; i++) {
        const sf_pin *pin = &query->depends_on[i];
        sf_buf_printf(out, "%s{\"kind\":\"%s\"", i ? "," : "", sf_entity_kind_name(pin->kind));
        put_text(out, "name", pin->name);
        put_int(out, "schemaRevision", (int64_t)pin->schema_revision);
        sf_buf_putc(out, '}');
    }
    sf_buf_putc(out, ']');
    put_starts(query, out);
}

static void put_table(const sf_table_def *table, sf_buf *out)
{
    put_bool(out, "searchEnabled", table->search_enabled);
    put_text(out, "searchMode", sf_search_mode_names[table->search_mode]);
    put_bool(out, "historyEnabled", table->history_enabled);
    put_text(out, "historyMode", sf_history_mode_names[table->history_mode]);
    put_int(out, "historyLimit", table->history_limit);
    put_text(out, "historyByField", table->history_by_field);
    put_int(out, "historyWindowMs", table->history_window_ms);
    put_int(out, "parallelism", table->parallelism);
    put_text(out, "persistence", sf_persistence_names[table->persistence]);
    put_int(out, "flushMs", table->flush_ms);
    put_int(out, "journalMaxEntries", table->journal_max_entries);
    put_int(out, "retentionMaxRows", table->retention_max_rows);
    put_int(out, "retentionTtlMs", table->retention_ttl_ms);
    put_names(out, "shardBy", &table->shard_by);
}

void sf_def_put_declared(const sf_def *def, bool mask, sf_buf *out)
{
    put_head(def, out);
    if (def->kind == SF_ENTITY_SOURCE) {
        put_source((const sf_source_def *)def, mask, out);
        return;
    }
    put_query(sf_def_query(def), mask, out);
    if (def->kind == SF_ENTITY_TABLE)
        put_table((const sf_table_def *)def, out);
}

sf_status sf_def_write_body(sf_def *def, sf_error *err)
{
    sf_buf body = {0};
    sf_buf_putc(&body, '{');
    sf_def_put_declared(def, false, &body);
    sf_buf_putc(&body, '}');
    sf_free(def->body);
    def->body = NULL;
    if (body.failed) {
        sf_buf_deinit(&body);
        return sf_fail_memory(err);
    }
    def->body = body.data;
    if (body.len > SF_DEFINITION_BYTES_MAX) {
        return sf_fail(err, SF_LIMIT, "the definition of %s \"%s\" is longer than %d bytes",
                       sf_entity_kind_name(def->kind), def->name, SF_DEFINITION_BYTES_MAX);
    }
    return SF_OK;
}

/* ---- the server's part ---- */

static void put_derived(const sf_def *def, sf_buf *out)
{
    const sf_derived *derived = &sf_def_query(def)->derived;
    if (def->kind == SF_ENTITY_PIPELINE) {
        put_names(out, "sourceNames", &derived->stream_inputs);
    } else {
        put_names(out, "streamInputs", &derived->stream_inputs);
        put_names(out, "tableInputs", &derived->table_inputs);
        put_names(out, "pipelineInputs", &derived->pipeline_inputs);
        put_key(out, "keyFields");
        if (derived->has_key)
            sf_names_put_json(&derived->key_fields, out);
        else
            sf_buf_puts(out, "null");
    }
    sf_buf_printf(out, ",\"outputFields\":%s", derived->output.json);
}

void sf_catalog_put_json(sf_catalog *catalog, const sf_def *def, sf_buf *out)
{
    sf_buf_putc(out, '{');
    if (def->kind == SF_ENTITY_SOURCE) {
        sf_def_put_declared(def, true, out);
    } else {
        sf_buf stale = {0};
        sf_buf_printf(out, "\"id\":\"%s\",", def->id);
        sf_def_put_declared(def, true, out);
        put_text(out, "status", !def->running ? "Stopped" : def->error ? "Failed" : "Running");
        put_text(out, "error", def->error);
        put_derived(def, out);
        bool is_stale = sf_catalog_stale_reason(catalog, def, &stale);
        put_text(out, "staleReason", is_stale && !stale.failed ? stale.data : NULL);
        sf_buf_deinit(&stale);
        put_text(out, "createdBy", def->created_by);
        put_int(out, "createdAtMs", def->created_at_ms);
        put_int(out, "updatedAtMs", def->updated_at_ms);
    }
    put_text(out, "updatedBy", def->updated_by);
    put_text(out, "environment", def->environment);
    put_int(out, "revision", (int64_t)def->revision);
    if (def->kind != SF_ENTITY_PIPELINE)
        put_int(out, "schemaRevision", (int64_t)def->schema_revision);
    sf_buf_putc(out, '}');
}

/* Definitions from JSON, as the contract spells them. */
#include "catalog/def.h"
#include "text/text.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    DESCRIPTION_BYTES_MAX = 4096,
    TAGS_MAX = 64,
    METADATA_MAX = 64,
    VALUE_BYTES_MAX = 4096,
    BLOCK_BYTES_MAX = 256 * 1024,
    SINKS_MAX = 32,
    PINS_MAX = 256,
    STARTS_MAX = 256,
};
#define RATE_MAX  1e7
#define MS_MAX    (INT64_C(1000) * 60 * 60 * 24 * 366 * 1000) /* a thousand years */
#define COUNT_MAX (INT64_C(1) << 50)

const char *const sf_misfit_names[] = {"Null", "DropRow", "RejectBatch", NULL};
const char *const sf_search_mode_names[] = {"Exact", "Fuzzy", NULL};
const char *const sf_history_mode_names[] = {"All", "LastN", "FirstN", "MinBy", "MaxBy", NULL};
const char *const sf_persistence_names[] = {"Batched", "FireAndForget", "MemoryOnly", "Journaled",
                                            NULL};

/* ---- what all have ---- */

static void read_name(sf_json_in *in, const sf_def *stored, sf_def *def)
{
    const char *what = sf_entity_kind_name(def->kind);
    const char *fallback = stored ? stored->name : "";
    const char *name = sf_json_in_text(in, "name", BLOCK_BYTES_MAX, fallback);
    if (in->status != SF_OK)
        return;
    if (stored && def->kind == SF_ENTITY_SOURCE && strcmp(name, stored->name) != 0) {
        if (sf_json_in_fail(in, SF_INVALID, "a source cannot be renamed, to \"%.128s\" or else",
                            name))
            sf_error_hint(in->err, "create a new source, and delete this one");
        return;
    }
    in->status = sf_name_check(what, sf_str_of(name), in->err);
    const char *copy = sf_json_in_copy(in, name ? name : "", name ? strlen(name) : 0);
    if (in->status == SF_OK)
        def->name = copy;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const sf_pair *)a)->key, ((const sf_pair *)b)->key);
}

static void read_metadata(sf_json_in *in, sf_def *def)
{
    const json_t *object = sf_json_in_object(in, "metadata", METADATA_MAX);
    sf_pair *pairs = object ? sf_json_in_alloc(in, json_object_size(object), sizeof *pairs) : NULL;
    uint32_t count = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        if (!pairs || !json_is_string(value) || strlen(key) > SF_NAME_BYTES_MAX ||
            json_string_length(value) > VALUE_BYTES_MAX) {
            sf_json_in_fail(in, SF_INVALID,
                            "\"metadata\" maps text of up to %d bytes to text of up to %d",
                            SF_NAME_BYTES_MAX, VALUE_BYTES_MAX);
            return;
        }
        pairs[count].key = sf_json_in_copy(in, key, strlen(key));
        pairs[count++].value =
            sf_json_in_copy(in, json_string_value(value), json_string_length(value));
    }
    if (count > 1) /* a map: its order is not part of it */
        qsort(pairs, count, sizeof *pairs, by_key);
    def->metadata = pairs;
    def->metadata_count = count;
}

static sf_name_list copy_list(sf_json_in *in, const sf_name_list *from)
{
    const char **items = sf_json_in_alloc(in, from->count, sizeof *items);
    for (uint32_t i = 0; items && i < from->count; i++)
        items[i] = sf_json_in_copy(in, from->items[i], strlen(from->items[i]));
    return (sf_name_list){items, items ? from->count : 0};
}

static void keep_metadata(sf_json_in *in, const sf_def *stored, sf_def *def)
{
    sf_pair *pairs = sf_json_in_alloc(in, stored->metadata_count, sizeof *pairs);
    for (uint32_t i = 0; pairs && i < stored->metadata_count; i++) {
        const sf_pair *old = &stored->metadata[i];
        pairs[i].key = sf_json_in_copy(in, old->key, strlen(old->key));
        pairs[i].value = sf_json_in_copy(in, old->value, strlen(old->value));
    }
    def->metadata = pairs;
    def->metadata_count = pairs ? stored->metadata_count : 0;
}

static void read_head(sf_json_in *in, const sf_def *stored, sf_def *def)
{
    /* A source is replaced as a whole; a query keeps what it does not mention. */
    const sf_def *kept = def->kind == SF_ENTITY_SOURCE ? NULL : stored;
    read_name(in, stored, def);
    def->description = sf_json_in_text(in, "description", DESCRIPTION_BYTES_MAX, "");
    if (kept && !sf_json_in_get(in, "tags"))
        def->tags = copy_list(in, &kept->tags);
    else
        def->tags = sf_json_in_names(in, "tags", TAGS_MAX, SF_NAME_BYTES_MAX);
    if (kept && !sf_json_in_get(in, "metadata"))
        keep_metadata(in, kept, def);
    else
        read_metadata(in, def);
}

/* An object whose members are checked elsewhere. NULL when absent. */
static const char *read_block(sf_json_in *in, const char *key, const char *stored)
{
    const json_t *object = sf_json_in_object(in, key, BLOCK_BYTES_MAX);
    if (!object)
        return NULL;
    json_t *copy = json_deep_copy(object);
    if (!copy) {
        sf_json_in_memory(in);
        return NULL;
    }
    sf_secret_restore(in, copy, stored);
    const char *text = sf_json_in_dump(in, copy);
    json_decref(copy);
    if (text && strlen(text) > BLOCK_BYTES_MAX)
        sf_json_in_fail(in, SF_INVALID, "\"%s\" is longer than %d bytes", key, BLOCK_BYTES_MAX);
    return text;
}

/* Refuses a kind that no list names; the sentence names those that work. */
static void check_kind(sf_json_in *in, const char *what, const char *kind, const char *const *works)
{
    char all[256];
    size_t len = 0;
    all[0] = '\0';
    for (uint32_t i = 0; works && works[i]; i++) {
        if (strcmp(kind, works[i]) == 0)
            return;
        if (len < sizeof all)
            len += (size_t)snprintf(all + len, sizeof all - len, "%s%s", i ? ", " : "", works[i]);
    }
    if (!sf_json_in_fail(in, SF_UNSUPPORTED, "%s kind \"%.64s\" is not available", what, kind))
        return;
    if (len > 0)
        sf_error_hint(in->err, "use one of the kinds that are: %s", all);
    else
        sf_error_hint(in->err, "this server has no kind of %s", what);
}

/* ---- sources ---- */

static const char *const ingest_defaults =
    "{\"policy\":\"Reject\",\"capacityRows\":10000,\"maxWaitMs\":5000,\"maxBatchRows\":1000,"
    "\"rejectUnknownFields\":false,\"dedupKeyField\":null,\"dedupWindow\":0}";

/* The ingest block with its defaults; keys are the server's. durable and journal say the same. */
static void read_ingest(sf_json_in *in, sf_source_def *source)
{
    json_t *block = json_loads(ingest_defaults, 0, NULL);
    const json_t *given = sf_json_in_object(in, "ingest", BLOCK_BYTES_MAX);
    const json_t *durable = json_object_get(given, "durable");
    if (!block || (given && json_object_update(block, (json_t *)given) != 0)) {
        sf_json_in_memory(in);
        json_decref(block);
        return;
    }
    json_object_del(block, "keys");
    source->journal = sf_json_in_bool(in, "journal", !json_is_false(durable));
    if (json_is_boolean(durable) && json_is_true(durable) != source->journal)
        sf_json_in_fail(in, SF_INVALID, "\"journal\" and \"ingest.durable\" contradict each other");
    if (json_object_set_new(block, "durable", json_boolean(source->journal)) != 0)
        sf_json_in_memory(in);
    source->ingest = sf_json_in_dump(in, block);
    json_decref(block);
}

static void read_blocks(sf_json_in *in, const sf_source_def *stored, sf_source_def *source)
{
    const char *kind = source->source_kind;
    bool pushed = strcmp(kind, "ingest") == 0, made = strcmp(kind, "generator") == 0;
    source->connector = read_block(in, "connector", stored ? stored->connector : NULL);
    source->scenario = read_block(in, "scenario", NULL);
    if (source->connector && (pushed || made))
        sf_json_in_fail(in, SF_INVALID, "a source of kind \"%s\" takes no \"connector\"", kind);
    if (source->scenario && strcmp(source->generator_profile, "scenario") != 0)
        sf_json_in_fail(in, SF_INVALID,
                        "\"scenario\" belongs to the generator profile \"scenario\" only");
    if (pushed)
        read_ingest(in, source);
    else if (sf_json_in_get(in, "ingest"))
        sf_json_in_fail(in, SF_INVALID, "\"ingest\" belongs to sources of kind \"ingest\" only");
}

static void read_source(sf_json_in *in, const sf_catalog_rules *rules, const sf_source_def *stored,
                        sf_source_def *source)
{
    static const char *const known[] = {"name",
                                        "description",
                                        "fields",
                                        "generatorProfile",
                                        "eventsPerSecond",
                                        "enabled",
                                        "tags",
                                        "metadata",
                                        "kind",
                                        "connector",
                                        "ingest",
                                        "scenario",
                                        "journal",
                                        "onCoercionFailure",
                                        "latenessMs",
                                        "idleMs",
                                        "journalRetainBytes",
                                        "journalRetainMs",
                                        NULL};
    static const char *const servers[] = {"revision", "schemaRevision", "updatedBy", "environment",
                                          NULL};
    static const char *const works[] = {"generator", "file", "ingest", NULL};
    sf_json_in_known(in, known, servers);
    read_head(in, stored ? &stored->def : NULL, &source->def);
    source->source_kind = sf_json_in_text(in, "kind", 64, "generator");
    if (rules)
        check_kind(in, "source", source->source_kind,
                   rules->source_kinds ? rules->source_kinds : works);
    source->fields = sf_fields_read(in, "fields", true);
    source->generator_profile = sf_json_in_text(in, "generatorProfile", 64, "generic");
    source->events_per_second = sf_json_in_number(in, "eventsPerSecond", RATE_MAX, 5);
    source->enabled = sf_json_in_bool(in, "enabled", true);
    source->on_misfit =
        (sf_misfit_policy)sf_json_in_choice(in, "onCoercionFailure", sf_misfit_names, 0);
    source->lateness_declared = sf_json_in_get(in, "latenessMs") != NULL;
    source->lateness_ms = sf_json_in_integer(in, "latenessMs", 0, MS_MAX, 1000);
    source->idle_ms = sf_json_in_integer(in, "idleMs", 0, MS_MAX, 1000);
    source->journal = sf_json_in_bool(in, "journal", false);
    source->journal_retain_bytes = sf_json_in_integer(in, "journalRetainBytes", 0, COUNT_MAX, 0);
    source->journal_retain_ms = sf_json_in_integer(in, "journalRetainMs", 0, MS_MAX, 0);
    read_blocks(in, stored, source);
}

/* ---- queries ---- */

static void read_sinks(sf_json_in *in, const sf_catalog_rules *rules, const sf_query_part *stored,
                       sf_query_part *query)
{
    const json_t *array = sf_json_in_array(in, "sinks", SINKS_MAX);
    if (!array) {
        const char *kept = stored ? stored->sinks : "[]";
        query->sinks = sf_json_in_copy(in, kept, strlen(kept));
        query->sink_count = stored ? stored->sink_count : 0;
        return;
    }
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *sink = json_array_get(array, i);
        const json_t *kind = json_object_get(sink, "kind");
        if (!json_is_object(sink) || (kind && !json_is_string(kind)))
            sf_json_in_fail(in, SF_INVALID, "\"sinks\"[%zu] must be an object with a \"kind\"", i);
        else if (rules)
            check_kind(in, "sink", kind ? json_string_value(kind) : "nats", rules->sink_kinds);
    }
    json_t *copy = json_deep_copy(array);
    if (!copy) {
        sf_json_in_memory(in);
        return;
    }
    sf_secret_restore(in, copy, stored ? stored->sinks : NULL);
    query->sinks = sf_json_in_dump(in, copy);
    query->sink_count = (uint32_t)json_array_size(copy);
    json_decref(copy);
    if (query->sinks && strlen(query->sinks) > BLOCK_BYTES_MAX)
        sf_json_in_fail(in, SF_INVALID, "\"sinks\" is longer than %d bytes", BLOCK_BYTES_MAX);
}

static void read_pins(sf_json_in *in, sf_query_part *query)
{
    static const char *const known[] = {"kind", "name", "schemaRevision", NULL};
    static const char *const kinds[] = {"source", "table", NULL};
    const json_t *array = sf_json_in_array(in, "dependsOn", PINS_MAX);
    size_t count = json_array_size(array);
    sf_pin *pins = count ? sf_json_in_alloc(in, count, sizeof *pins) : NULL;
    for (size_t i = 0; pins && i < count; i++) {
        char place[64];
        snprintf(place, sizeof place, "dependsOn[%zu]", i);
        sf_json_in pin = *in;
        pin.object = json_array_get(array, i);
        pin.place = place;
        if (!json_is_object(pin.object))
            sf_json_in_fail(&pin, SF_INVALID, "a pin must be an object");
        else if (!sf_json_in_get(&pin, "kind"))
            sf_json_in_fail(&pin, SF_INVALID, "\"kind\" must be one of source, table");
        sf_json_in_known(&pin, known, NULL);
        pins[i].kind =
            sf_json_in_choice(&pin, "kind", kinds, 0) == 0 ? SF_ENTITY_SOURCE : SF_ENTITY_TABLE;
        pins[i].name = sf_json_in_text(&pin, "name", SF_NAME_BYTES_MAX, "");
        if (pins[i].name[0] == '\0')
            sf_json_in_fail(&pin, SF_INVALID, "\"name\" is missing or empty");
        pins[i].schema_revision =
            (uint64_t)sf_json_in_integer(&pin, "schemaRevision", 0, COUNT_MAX, 0);
        in->status = pin.status;
    }
    query->depends_on = pins;
    query->pin_count = pins ? (uint32_t)count : 0;
}

/* {"seq": n} or {"timestampMs": n}; of "from" the first is called position. */
static void read_start(sf_json_in *in, const json_t *json, const char *input, const char *position,
                       sf_start *out)
{
    char place[SF_NAME_BYTES_MAX + 32];
    sf_json_in start = *in;
    const char *known[] = {position, "timestampMs", NULL};
    snprintf(place, sizeof place, "start of \"%.128s\"", input);
    start.object = json;
    start.place = place;
    sf_json_in_known(&start, known, NULL);
    bool at_position = sf_json_in_get(&start, position) != NULL;
    bool at_time = sf_json_in_get(&start, "timestampMs") != NULL;
    if (at_position == at_time)
        sf_json_in_fail(&start, SF_INVALID, "it needs either \"%s\" or \"timestampMs\"", position);
    out->kind = at_position ? SF_START_POSITION : SF_START_TIMESTAMP;
    out->value = at_position
                     ? sf_json_in_integer(&start, position, 0, INT64_MAX, 0)
                     : sf_json_in_integer(&start, "timestampMs", SF_TIME_MIN_MS, SF_TIME_MAX_MS, 0);
    in->status = start.status;
}

static void read_from(sf_json_in *in, const json_t *from, sf_start *out)
{
    const char *word = json_string_value(from);
    out->input = "*";
    if (json_is_object(from))
        read_start(in, from, "*", "position", out);
    else if (word && strcmp(word, "earliest") == 0)
        out->kind = SF_START_EARLIEST;
    else if (word && strcmp(word, "latest") == 0)
        out->kind = SF_START_LATEST;
    else
        sf_json_in_fail(in, SF_INVALID,
                        "\"from\" must be \"earliest\", \"latest\", {\"position\": n} or "
                        "{\"timestampMs\": n}");
}

static void read_starts(sf_json_in *in, sf_query_part *query)
{
    const json_t *from = sf_json_in_get(in, "from");
    const json_t *others = sf_json_in_object(in, "replayFrom", STARTS_MAX);
    sf_start *starts = sf_json_in_alloc(in, json_object_size(others) + 1, sizeof *starts);
    uint32_t count = 0;
    const char *input;
    json_t *value;
    if (!starts)
        return;
    if (from)
        read_from(in, from, &starts[count++]);
    json_object_foreach((json_t *)others, input, value)
    {
        sf_start *start = &starts[count++];
        if (!json_is_object(value) || strlen(input) > SF_NAME_BYTES_MAX) {
            sf_json_in_fail(in, SF_INVALID, "\"replayFrom\" maps names to objects");
            return;
        }
        start->input = sf_json_in_copy(in, input, strlen(input));
        read_start(in, value, input, "seq", start);
    }
    query->starts = starts;
    query->start_count = count;
}

static void read_query(sf_json_in *in, const sf_catalog_rules *rules, const sf_def *stored,
                       sf_def *def)
{
    const sf_query_part *old = stored ? sf_def_query(stored) : NULL;
    sf_query_part *query = sf_def_query_part(def);
    read_head(in, stored, def);
    query->sql = sf_json_in_text(in, "sql", SF_SQL_BYTES_MAX, old ? old->sql : "");
    if (old && query->sql == old->sql)
        query->sql = sf_json_in_copy(in, old->sql, strlen(old->sql));
    if (query->sql && sf_text_trim(sf_str_of(query->sql)).len == 0)
        sf_json_in_fail(in, SF_INVALID, "\"sql\" is missing or empty");
    read_sinks(in, rules, old, query);
    read_pins(in, query);
    read_starts(in, query);
}

#define QUERY_FIELDS                                                                               \
    "name", "description", "sql", "tags", "metadata", "sinks", "dependsOn", "replayFrom", "from"
#define QUERY_SERVERS                                                                              \
    "id", "status", "error", "sourceNames", "outputFields", "staleReason", "createdBy",            \
        "createdAtMs", "updatedAtMs", "updatedBy", "environment", "revision"

static void read_pipeline(sf_json_in *in, const sf_catalog_rules *rules, const sf_def *stored,
                          sf_def *def)
{
    static const char *const known[] = {QUERY_FIELDS, NULL};
    static const char *const servers[] = {QUERY_SERVERS, NULL};
    sf_json_in_known(in, known, servers);
    read_query(in, rules, stored, def);
}

static void read_table(sf_json_in *in, const sf_catalog_rules *rules, const sf_table_def *stored,
                       sf_table_def *table)
{
    static const char *const known[] = {
        QUERY_FIELDS,       "searchEnabled",  "searchMode",     "historyEnabled",
        "historyMode",      "historyLimit",   "historyByField", "historyWindowMs",
        "parallelism",      "persistence",    "flushMs",        "journalMaxEntries",
        "retentionMaxRows", "retentionTtlMs", "shardBy",        NULL};
    static const char *const servers[] = {
        QUERY_SERVERS, "streamInputs",   "tableInputs", "pipelineInputs",
        "keyFields",   "schemaRevision", NULL};
    sf_json_in_known(in, known, servers);
    read_query(in, rules, stored ? &stored->def : NULL, &table->def);
    table->search_enabled = sf_json_in_bool(in, "searchEnabled", false);
    table->search_mode =
        (sf_search_mode)sf_json_in_choice(in, "searchMode", sf_search_mode_names, 0);
    table->history_enabled = sf_json_in_bool(in, "historyEnabled", false);
    table->history_mode =
        (sf_history_mode)sf_json_in_choice(in, "historyMode", sf_history_mode_names, 0);
    table->history_limit = sf_json_in_integer(in, "historyLimit", 1, 1000000, 10);
    table->history_by_field = sf_json_in_text(in, "historyByField", SF_NAME_BYTES_MAX, NULL);
    if (table->history_by_field && !*table->history_by_field)
        table->history_by_field = NULL;
    table->history_window_ms = sf_json_in_integer(in, "historyWindowMs", 0, MS_MAX, 0);
    table->parallelism = sf_json_in_integer(in, "parallelism", INT32_MIN, INT32_MAX, 1);
    table->persistence =
        (sf_persistence)sf_json_in_choice(in, "persistence", sf_persistence_names, 0);
    table->flush_ms = sf_json_in_integer(in, "flushMs", 0, MS_MAX, 0);
    table->journal_max_entries = sf_json_in_integer(in, "journalMaxEntries", 0, COUNT_MAX, 0);
    table->retention_max_rows = sf_json_in_integer(in, "retentionMaxRows", 0, COUNT_MAX, 0);
    table->retention_ttl_ms = sf_json_in_integer(in, "retentionTtlMs", 0, MS_MAX, 0);
    if (stored && !sf_json_in_get(in, "shardBy"))
        table->shard_by = copy_list(in, &stored->shard_by);
    else
        table->shard_by = sf_json_in_names(in, "shardBy", TAGS_MAX, SF_NAME_BYTES_MAX);
}

/* ---- whole definitions ---- */

static void make_place(const sf_json_in *in, const sf_def *stored, const sf_def *def, char *place,
                       size_t size)
{
    const char *name = json_string_value(json_object_get(in->object, "name"));
    if (stored)
        name = stored->name;
    if (name && *name)
        snprintf(place, size, "%s \"%.128s\"", sf_entity_kind_name(def->kind), name);
    else
        snprintf(place, size, "%s", sf_entity_kind_name(def->kind));
}

sf_status sf_def_read(const sf_catalog_rules *rules, const json_t *json, const sf_def *stored,
                      sf_def *def, sf_error *err)
{
    char place[SF_NAME_BYTES_MAX + 32];
    sf_error unused;
    sf_json_in in = {&def->arena, json, place, SF_OK, err ? err : &unused};
    SF_ASSERT(!stored || stored->kind == def->kind);
    if (!json_is_object(json))
        return sf_fail(err, SF_INVALID, "the definition of a %s must be a JSON object",
                       sf_entity_kind_name(def->kind));
    make_place(&in, stored, def, place, sizeof place);
    switch (def->kind) {
    case SF_ENTITY_SOURCE:
        read_source(&in, rules, (const sf_source_def *)stored, (sf_source_def *)def);
        break;
    case SF_ENTITY_PIPELINE: read_pipeline(&in, rules, stored, def); break;
    default: read_table(&in, rules, (const sf_table_def *)stored, (sf_table_def *)def); break;
    }
    SF_TRY(in.status);
    if (def->kind == SF_ENTITY_SOURCE && rules && rules->check_source)
        return rules->check_source(rules->self, (const sf_source_def *)def, err);
    return SF_OK;
}

/* ---- rules that need the output's shape ---- */

static const sf_field_def *find_output(const sf_table_def *table, const char *name)
{
    const sf_field_list *output = &table->query.derived.output;
    for (uint32_t i = 0; i < output->count; i++)
        if (strcmp(output->items[i].name, name) == 0)
            return &output->items[i];
    return NULL;
}

static sf_status check_history(const sf_table_def *table, sf_error *err)
{
    const char *mode = sf_history_mode_names[table->history_mode], *by = table->history_by_field;
    if (!table->history_enabled ||
        (table->history_mode != SF_HISTORY_MIN_BY && table->history_mode != SF_HISTORY_MAX_BY))
        return SF_OK;
    if (!by)
        return sf_fail(err, SF_CONFLICT, "table \"%s\": history mode %s needs \"historyByField\"",
                       table->def.name, mode);
    if (!table->query.compiled)
        return SF_OK; /* a draft: checked again when its SQL compiles */
    const sf_field_def *field = find_output(table, by);
    bool ordered = field && !field->is_array &&
                   (field->type == SF_TYPE_F64 || field->type == SF_TYPE_I64 ||
                    field->type == SF_TYPE_TIMESTAMP);
    if (!ordered)
        return sf_fail(err, SF_CONFLICT,
                       "table \"%s\": \"historyByField\" must be an output column of type Double, "
                       "Long or Timestamp, and \"%s\" is none",
                       table->def.name, by);
    return SF_OK;
}

static sf_status check_shards(const sf_table_def *table, sf_error *err)
{
    if (table->shard_by.count == 0)
        return SF_OK;
    if (table->search_enabled)
        return sf_fail(err, SF_CONFLICT, "table \"%s\" is sharded and so has no search",
                       table->def.name);
    if (table->persistence == SF_PERSIST_MEMORY_ONLY)
        return sf_fail(err, SF_CONFLICT, "table \"%s\" is sharded and so cannot be MemoryOnly",
                       table->def.name);
    for (uint32_t i = 0; table->query.compiled && i < table->shard_by.count; i++)
        if (!find_output(table, table->shard_by.items[i]))
            return sf_fail(err, SF_CONFLICT,
                           "table \"%s\": \"shardBy\" names \"%s\", which is no output column",
                           table->def.name, table->shard_by.items[i]);
    return SF_OK;
}

sf_status sf_table_check(const sf_table_def *table, sf_error *err)
{
    if (table->parallelism < 1 || table->parallelism > SF_PARALLELISM_MAX)
        return sf_fail(err, SF_CONFLICT, "table \"%s\": \"parallelism\" must be from 1 to %d",
                       table->def.name, SF_PARALLELISM_MAX);
    SF_TRY(check_history(table, err));
    return check_shards(table, err);
}

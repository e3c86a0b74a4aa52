/* Kind ingest: rows are pushed, so there is nothing to drive; here are its limits. */
#include "connect/source.h"
#include "text/text.h"

enum { KEYS_MAX = 100, DEDUP_KEYS = 10000 };

static const char *const policy_words[] = {
    [SF_INGEST_REJECT] = "Reject",          [SF_INGEST_BLOCK] = "Block",
    [SF_INGEST_DROP_NEWEST] = "DropNewest", [SF_INGEST_DROP_OLDEST] = "DropOldest",
    [SF_INGEST_INLINE] = "Inline",          NULL,
};

static const sf_option ingest_options[] = {
    {.key = "policy",
     .type = SF_OPTION_SELECT,
     .choices = policy_words,
     .fallback = "Reject",
     .offset = offsetof(sf_ingest_config, policy)},
    {.key = "capacityRows",
     .type = SF_OPTION_NUMBER,
     .fallback = "10000",
     .min = 1,
     .max = 10000000,
     .offset = offsetof(sf_ingest_config, capacity_rows)},
    {.key = "maxWaitMs",
     .type = SF_OPTION_NUMBER,
     .fallback = "5000",
     .min = 0,
     .max = 30000,
     .offset = offsetof(sf_ingest_config, max_wait_ms)},
    {.key = "maxBatchRows",
     .type = SF_OPTION_NUMBER,
     .fallback = "1000",
     .min = 1,
     .max = 1000000,
     .offset = offsetof(sf_ingest_config, max_batch_rows)},
    {.key = "rejectUnknownFields",
     .type = SF_OPTION_BOOL,
     .offset = offsetof(sf_ingest_config, reject_unknown_fields)},
    {.key = "durable",
     .type = SF_OPTION_BOOL,
     .fallback = "true",
     .offset = offsetof(sf_ingest_config, durable)},
    {.key = "dedupKeyField",
     .type = SF_OPTION_STRING,
     .max = 256,
     .offset = offsetof(sf_ingest_config, dedup_key_field)},
    {.key = "dedupWindow",
     .type = SF_OPTION_NUMBER,
     .min = 0,
     .max = 10000000,
     .fallback = "0",
     .offset = offsetof(sf_ingest_config, dedup_window)},
    {.key = "keys", .type = SF_OPTION_JSON, .offset = offsetof(sf_ingest_config, keys_json)},
};

static const sf_option key_options[] = {
    {.key = "id",
     .type = SF_OPTION_STRING,
     .required = true,
     .max = 64,
     .offset = offsetof(sf_ingest_key, id)},
    {.key = "label",
     .type = SF_OPTION_STRING,
     .max = 256,
     .offset = offsetof(sf_ingest_key, label)},
    {.key = "createdAtMs",
     .type = SF_OPTION_NUMBER,
     .offset = offsetof(sf_ingest_key, created_at_ms)},
    {.key = "lastUsedMs",
     .type = SF_OPTION_NUMBER,
     .offset = offsetof(sf_ingest_key, last_used_ms)},
    {.key = "hash", .type = SF_OPTION_SECRET, .max = 256, .offset = offsetof(sf_ingest_key, hash)},
    {.key = "salt", .type = SF_OPTION_SECRET, .max = 256, .offset = offsetof(sf_ingest_key, salt)},
};

static sf_status read_keys(sf_str json, sf_arena *arena, sf_ingest_config *out, sf_error *err)
{
    if (json.len == 0)
        return SF_OK;
    if (sf_json_kind_of(json) != SF_JSON_ARRAY)
        return sf_fail(err, SF_INVALID, "ingest.keys must be a list");
    size_t count = sf_json_array_len(json), cursor = 0;
    if (count > KEYS_MAX)
        return sf_fail(err, SF_INVALID, "ingest.keys has %zu keys, %d are allowed", count,
                       KEYS_MAX);
    sf_ingest_key *keys = SF_ARENA_ARRAY(arena, sf_ingest_key, count ? count : 1);
    if (!keys)
        return sf_fail_memory(err);
    sf_option_list list = {key_options, SF_COUNT_OF(key_options)};
    sf_str key;
    while (out->key_count < count && sf_json_each(json, &cursor, &key))
        SF_TRY(sf_options_read(list, key, "ingest.keys[]", arena, &keys[out->key_count++], err));
    out->keys = keys;
    return SF_OK;
}

sf_status sf_ingest_config_read(sf_str json, sf_arena *arena, sf_ingest_config *out, sf_error *err)
{
    memset(out, 0, sizeof *out);
    sf_option_list list = {ingest_options, SF_COUNT_OF(ingest_options)};
    SF_TRY(sf_options_read(list, json, "ingest", arena, out, err));
    if (out->dedup_window == 0)
        out->dedup_window = DEDUP_KEYS;
    return read_keys(out->keys_json, arena, out, err);
}

/* Its own settings are checked by sf_ingest_config_read. */
static sf_status ingest_check(const sf_source_config *config, sf_error *err)
{
    source_connector connector;
    return source_connector_read(&source_kind_ingest, config->connector, NULL, &connector, err);
}

const sf_source_kind source_kind_ingest = {
    .name = "ingest",
    .label = "Ingest",
    .help = "Rows pushed to POST /api/sources/{name}/events.",
    .delivery = SF_DELIVERY_PUSHED,
    .check = ingest_check,
};

/* Options, ingest limits, schedules, descriptors. */
#include "tests.h"
#include "text/text.h"

/* ---- options ---- */

typedef struct {
    const char *name, *secret;
    int64_t port;
    bool tls;
    uint32_t mode;
    sf_str shape;
} sample;

static const char *const modes[] = {"slow", "fast", NULL};

static const sf_option sample_options[] = {
    {.key = "name",
     .type = SF_OPTION_STRING,
     .required = true,
     .max = 5,
     .offset = offsetof(sample, name)},
    {.key = "secret", .type = SF_OPTION_SECRET, .offset = offsetof(sample, secret)},
    {.key = "port",
     .type = SF_OPTION_NUMBER,
     .fallback = "80",
     .min = 1,
     .max = 65535,
     .offset = offsetof(sample, port)},
    {.key = "tls", .type = SF_OPTION_BOOL, .fallback = "true", .offset = offsetof(sample, tls)},
    {.key = "mode",
     .type = SF_OPTION_SELECT,
     .choices = modes,
     .fallback = "fast",
     .offset = offsetof(sample, mode)},
    {.key = "shape", .type = SF_OPTION_JSON, .offset = offsetof(sample, shape)},
};
static const sf_option_list sample_list = {sample_options, SF_COUNT_OF(sample_options)};

void options_are_checked(void)
{
    static const struct {
        const char *json;
        sf_status status;
        const char *message;
    } rows[] = {
        {"{\"name\":\"a\"}", SF_OK, ""},
        {" {\"name\":\"a\",\"port\":null,\"nothing\":null} ", SF_OK, ""},
        {"{}", SF_INVALID, "it.name is missing"},
        {"null", SF_INVALID, "it.name is missing"},
        {"", SF_INVALID, "it.name is missing"},
        {"{\"name\":\"\"}", SF_INVALID, "it.name must be a string that is not empty"},
        {"{\"name\":7}", SF_INVALID, "it.name must be a string"},
        {"{\"name\":\"abcdef\"}", SF_INVALID, "it.name has 6 bytes, 5 are allowed"},
        {"{\"name\":\"a\\u0000\"}", SF_INVALID, "it.name must be text without NUL characters"},
        {"{\"name\":\"a\",\"port\":0}", SF_INVALID,
         "it.port must be a whole number from 1 to 65535"},
        {"{\"name\":\"a\",\"port\":1.5}", SF_INVALID,
         "it.port must be a whole number from 1 to 65535"},
        {"{\"name\":\"a\",\"port\":\"80\"}", SF_INVALID, "it.port must be a number"},
        {"{\"name\":\"a\",\"tls\":\"yes\"}", SF_INVALID, "it.tls must be true or false"},
        {"{\"name\":\"a\",\"mode\":\"medium\"}", SF_INVALID, "it.mode does not know \"medium\""},
        {"{\"name\":\"a\",\"colour\":1}", SF_INVALID, "it has no field \"colour\""},
        {"[1]", SF_INVALID, "it must be an object"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_arena arena;
        sample got;
        sf_error err = {0};
        sf_arena_init(&arena, 0);
        CHECK_INT(sf_options_read(sample_list, sf_str_of(rows[i].json), "it", &arena, &got, &err),
                  rows[i].status);
        CHECK_STR(err.message, rows[i].message);
        sf_arena_deinit(&arena);
    }
    sf_arena arena;
    sample got;
    sf_error err;
    sf_arena_init(&arena, 0);
    CHECK_INT(sf_options_read(sample_list, SF_STR("{\"name\":"), "it", &arena, &got, &err),
              SF_SYNTAX);
    sf_str all = SF_STR("{\"name\":\"b\\u00e9\",\"secret\":\"s\",\"port\":8e1,\"tls\":false,"
                        "\"mode\":\"SLOW\",\"shape\":[1, {\"a\":2}]}");
    REQUIRE_OK(sf_options_read(sample_list, all, "it", &arena, &got, &err), err);
    CHECK_STR(got.name, "b\xc3\xa9");
    CHECK_STR(got.secret, "s");
    CHECK_INT(got.port, 80);
    CHECK(!got.tls);
    CHECK_INT(got.mode, 0);
    CHECK(sf_str_eq(got.shape, SF_STR("[1, {\"a\":2}]")));
    REQUIRE_OK(sf_options_read(sample_list, SF_STR("{\"name\":\"a\"}"), "it", &arena, &got, &err),
               err);
    CHECK_STR(got.secret, "");
    CHECK_INT(got.port, 80);
    CHECK(got.tls);
    CHECK_INT(got.mode, 1);
    CHECK_INT(got.shape.len, 0);
    sf_arena_deinit(&arena);
}

/* ---- ingest ---- */

void ingest_limits(void)
{
    static const struct {
        const char *json, *message;
    } bad[] = {
        {"{\"policy\":\"Maybe\"}", "ingest.policy does not know \"Maybe\""},
        {"{\"capacityRows\":0}", "ingest.capacityRows must be a whole number from 1 to 10000000"},
        {"{\"maxWaitMs\":30001}", "ingest.maxWaitMs must be a whole number from 0 to 30000"},
        {"{\"maxBatchRows\":-1}", "ingest.maxBatchRows must be a whole number from 1 to 1000000"},
        {"{\"keys\":{}}", "ingest.keys must be a list"},
        {"{\"keys\":[{\"label\":\"x\"}]}", "ingest.keys[].id is missing"},
        {"{\"keys\":[7]}", "ingest.keys[] must be an object"},
        {"{\"knob\":1}", "ingest has no field \"knob\""},
    };
    sf_arena arena;
    sf_ingest_config got;
    sf_error err;
    sf_arena_init(&arena, 0);
    for (size_t i = 0; i < SF_COUNT_OF(bad); i++) {
        CHECK_INT(sf_ingest_config_read(sf_str_of(bad[i].json), &arena, &got, &err), SF_INVALID);
        CHECK_STR(err.message, bad[i].message);
    }
    REQUIRE_OK(sf_ingest_config_read(SF_STR("null"), &arena, &got, &err), err);
    CHECK_INT(got.policy, SF_INGEST_REJECT);
    CHECK_INT(got.capacity_rows, 10000);
    CHECK_INT(got.max_wait_ms, 5000);
    CHECK_INT(got.max_batch_rows, 1000);
    CHECK(!got.reject_unknown_fields);
    CHECK(got.durable);
    CHECK_STR(got.dedup_key_field, "");
    CHECK_INT(got.dedup_window, 10000);
    CHECK_INT(got.key_count, 0);
    sf_str all = SF_STR("{\"policy\":\"DropOldest\",\"capacityRows\":5,\"durable\":false,"
                        "\"dedupKeyField\":\"id\",\"dedupWindow\":7,\"keys\":[{\"id\":\"k1\","
                        "\"label\":\"feed\",\"createdAtMs\":5,\"hash\":\"h\",\"salt\":\"s\"},"
                        "{\"id\":\"k2\"}]}");
    REQUIRE_OK(sf_ingest_config_read(all, &arena, &got, &err), err);
    CHECK_INT(got.policy, SF_INGEST_DROP_OLDEST);
    CHECK_INT(got.capacity_rows, 5);
    CHECK(!got.durable);
    CHECK_STR(got.dedup_key_field, "id");
    CHECK_INT(got.dedup_window, 7);
    REQUIRE(got.key_count == 2);
    CHECK_STR(got.keys[0].label, "feed");
    CHECK_INT(got.keys[0].created_at_ms, 5);
    CHECK_INT(got.keys[0].last_used_ms, 0);
    CHECK_STR(got.keys[0].hash, "h");
    CHECK_STR(got.keys[1].id, "k2");
    CHECK_STR(got.keys[1].salt, "");
    sf_arena_deinit(&arena);
}

/* ---- schedules ---- */

void schedules(void)
{
    static const struct {
        const char *json, *after, *next;
    } rows[] = {
        {"", "2024-03-01T10:00:00Z", "2024-03-01T10:00:30Z"},
        {"null", "2024-03-01T10:00:00Z", "2024-03-01T10:00:30Z"},
        {"{}", "2024-03-01T10:00:00Z", "2024-03-01T10:00:30Z"},
        {"{\"intervalMs\":1500}", "2024-03-01T10:00:00Z", "2024-03-01T10:00:01.500Z"},
        {"{\"intervalMs\":5}", "2024-03-01T10:00:00Z", "2024-03-01T10:00:01Z"},
        {"\"every 5m\"", "2024-03-01T10:00:00Z", "2024-03-01T10:05:00Z"},
        {"{\"cron\":\"* * * * *\"}", "2024-03-01T10:00:00Z", "2024-03-01T10:01:00Z"},
        {"{\"cron\":\"* * * * *\"}", "2024-03-01T10:00:59.999Z", "2024-03-01T10:01:00Z"},
        {"{\"cron\":\"*/15 * * * *\"}", "2024-03-01T10:46:00Z", "2024-03-01T11:00:00Z"},
        {"{\"cron\":\"5/20 * * * *\"}", "2024-03-01T10:26:00Z", "2024-03-01T10:45:00Z"},
        {"{\"cron\":\"10,30 8-9 * * *\"}", "2024-03-01T09:30:00Z", "2024-03-02T08:10:00Z"},
        {"{\"cron\":\"*/20 * * * * *\"}", "2024-03-01T10:00:20Z", "2024-03-01T10:00:40Z"},
        {"{\"cron\":\"0 0 29 2 *\"}", "2024-03-01T10:00:00Z", "2028-02-29T00:00:00Z"},
        {"{\"cron\":\"0 12 * * 7\"}", "2024-03-01T10:00:00Z", "2024-03-03T12:00:00Z"},
        {"{\"cron\":\"0 12 * * sun\"}", "2024-03-03T12:00:00Z", "2024-03-10T12:00:00Z"},
        {"{\"cron\":\"0 12 * * MON-FRI\"}", "2024-03-01T12:00:00Z", "2024-03-04T12:00:00Z"},
        {"{\"cron\":\"0 0 13 * FRI\"}", "2024-03-01T00:00:00Z", "2024-09-13T00:00:00Z"},
        {"{\"cron\":\"59 23 31 DEC ?\"}", "2024-12-31T23:59:00Z", "2025-12-31T23:59:00Z"},
        {"{\"cron\":\"0 0 1 1 *\"}", "1969-06-01T00:00:00Z", "1970-01-01T00:00:00Z"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_schedule schedule;
        sf_error err;
        int64_t after_ms, want_ms;
        REQUIRE(sf_parse_time(sf_str_of(rows[i].after), &after_ms) == SF_PARSE_OK);
        REQUIRE(sf_parse_time(sf_str_of(rows[i].next), &want_ms) == SF_PARSE_OK);
        REQUIRE_OK(sf_schedule_parse(sf_str_of(rows[i].json), &schedule, &err), err);
        CHECK_INT(sf_schedule_next_ms(&schedule, after_ms), want_ms);
    }
}

void schedules_refused(void)
{
    static const char *const bad[] = {
        "{\"cron\":\"* * * *\"}",
        "{\"cron\":\"* * * * * * *\"}",
        "{\"cron\":\"60 * * * *\"}",
        "{\"cron\":\"* 24 * * *\"}",
        "{\"cron\":\"* * 0 * *\"}",
        "{\"cron\":\"* * * 13 *\"}",
        "{\"cron\":\"* * * * 8\"}",
        "{\"cron\":\"5-1 * * * *\"}",
        "{\"cron\":\"*/0 * * * *\"}",
        "{\"cron\":\"1,,2 * * * *\"}",
        "{\"cron\":\"x * * * *\"}",
        "{\"cron\":\"1x * * * *\"}",
        "{\"cron\":\"0 0 30 2 *\"}",
        "{\"cron\":\"* * * * *\",\"intervalMs\":1000}",
        "{\"intervalMs\":-1}",
        "{\"every\":\"30s\"}",
        "\"sometimes\"",
        "\"every 0s\"",
        "7",
    };
    for (size_t i = 0; i < SF_COUNT_OF(bad); i++) {
        sf_schedule schedule;
        sf_error err = {0};
        sf_status status = sf_schedule_parse(sf_str_of(bad[i]), &schedule, &err);
        if (status != SF_INVALID)
            printf("  accepted: %s\n", bad[i]);
        CHECK_INT(status, SF_INVALID);
        CHECK(err.message[0]);
    }
}

void backoff_doubles(void)
{
    static const int64_t want_ms[] = {0, 30000, 60000, 120000, 240000, 480000, 900000, 900000};
    for (uint32_t k = 0; k < SF_COUNT_OF(want_ms); k++)
        CHECK_INT(sf_backoff_ms(k), want_ms[k]);
    CHECK_INT(sf_backoff_ms(UINT32_MAX), 900000);
}

/* ---- kinds ---- */

void kinds_and_descriptors(void)
{
    CHECK(!sf_source_kind_find(SF_STR("carrier-pigeon")));
    for (uint32_t i = 0; i < sf_source_kind_count(); i++) {
        const sf_source_kind *kind = sf_source_kind_at(i);
        CHECK(sf_source_kind_find(sf_str_of(kind->name)) == kind);
        CHECK(kind->check && (!kind->open || (kind->poll && kind->close)));
        sf_buf json = {0};
        sf_error err;
        sf_source_kind_put_json(kind, &json);
        CHECK_INT(sf_json_validate(sf_buf_str(&json), &err), SF_OK);
        sf_buf_deinit(&json);
    }
    sf_buf json = {0};
    sf_source_kind_put_json(sf_source_kind_find(SF_STR("file")), &json);
    CHECK_STR(json.data,
              "{\"kind\":\"file\",\"label\":\"File\",\"help\":\"One file on the server, read whole "
              "whenever it changes.\",\"configProperty\":\"file\",\"fields\":[{\"key\":\"path\","
              "\"label\":\"Path\",\"type\":\"string\",\"required\":true,\"mono\":true,"
              "\"placeholder\":\"/data/trades.ndjson\",\"help\":\"File on the server. It is read "
              "again whenever it changes.\"},{\"key\":\"format\",\"label\":\"Format\",\"type\":"
              "\"select\",\"required\":false,\"mono\":false,\"options\":[\"ndjson\",\"json\","
              "\"csv\"],\"default\":\"ndjson\"}],\"groups\":[],\"polled\":true,\"mapping\":false,"
              "\"canProbe\":false,\"duplex\":false}");
    sf_buf_deinit(&json);
    const sf_source_kind *ingest = sf_source_kind_find(SF_STR("ingest"));
    sf_source_config config = {.name = SF_STR("s"), .connector = SF_STR("{\"file\":{}}")};
    sf_source *source;
    sf_source_port port = {0};
    sf_error err;
    CHECK_INT(sf_source_check(ingest, &config, &err), SF_INVALID);
    CHECK_STR(err.message, "a source of kind \"ingest\" has no connector");
    config.connector = SF_STR("null");
    CHECK_INT(sf_source_check(ingest, &config, &err), SF_OK);
    CHECK_INT(sf_source_open(ingest, &config, SF_STR(""), &port, &source, &err), SF_CONFLICT);
}

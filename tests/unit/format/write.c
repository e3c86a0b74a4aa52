/* Rows to bytes, and inference. */
#include "tests.h"

#include <math.h>

static sf_batch *one_row(sf_type type, const void *lane, sf_str text)
{
    sf_field field = {"v", type, false};
    sf_schema *schema = sf_schema_new(&field, 1);
    sf_batch_builder builder;
    if (!schema || !sf_batch_builder_init(&builder, schema))
        return NULL;
    if (sf_type_is_view(type))
        sf_builder_str(&builder.columns[0], text);
    else if (lane)
        sf_builder_lane(&builder.columns[0], lane);
    else
        sf_builder_null(&builder.columns[0]);
    sf_batch_builder_row(&builder, 1);
    sf_batch *batch = sf_batch_builder_finish(&builder);
    sf_batch_builder_deinit(&builder);
    sf_schema_unref(schema);
    return batch;
}

void values_write_as_json(void)
{
    static const struct {
        sf_type type;
        uint64_t lane;
        sf_str text;
        const char *json, *csv;
    } rows[] = {
        {SF_TYPE_BOOL, 1, {0}, "true", "true"},
        {SF_TYPE_I8, (uint8_t)-5, {0}, "-5", "-5"},
        {SF_TYPE_U8, 250, {0}, "250", "250"},
        {SF_TYPE_U64, UINT64_MAX, {0}, "18446744073709551615", "18446744073709551615"},
        {SF_TYPE_I64, (uint64_t)INT64_MIN, {0}, "-9223372036854775808", "-9223372036854775808"},
        {SF_TYPE_TIMESTAMP, 1699173600000, {0}, "1699173600000", "1699173600000"},
        {SF_TYPE_UTF8, 0, SF_STR("a\"b\n,\x01"), "\"a\\\"b\\n,\\u0001\"", "\"a\"\"b\n,\x01\""},
        {SF_TYPE_UTF8, 0, SF_STR(""), "\"\"", "\"\""},
        {SF_TYPE_UTF8, 0, SF_STR(" plain "), "\" plain \"", " plain "},
        {SF_TYPE_JSON, 0, SF_STR("{\"a\":\n[1,\r\n2]}"), "{\"a\": [1,  2]}",
         "\"{\"\"a\"\":\n[1,\r\n2]}\""},
        {SF_TYPE_BINARY, 0, SF_STR("\x00\xff\x10"), "\"AP8Q\"", "\"AP8Q\""},
        {SF_TYPE_BINARY, 0, SF_STR("a"), "\"YQ==\"", "\"YQ==\""},
        {SF_TYPE_BINARY, 0, SF_STR("ab"), "\"YWI=\"", "\"YWI=\""},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_batch *batch = one_row(rows[i].type, &rows[i].lane, rows[i].text);
        sf_buf json = {0}, csv = {0}, want = {0};
        REQUIRE(batch);
        sf_write_json_value(&json, batch->columns[0], 0);
        CHECK_STR(json.data, rows[i].json);
        sf_write_csv_row(&csv, batch, 0);
        sf_buf_printf(&want, "%s\r\n", rows[i].csv);
        CHECK_STR(csv.data, want.data);
        sf_buf_deinit(&json);
        sf_buf_deinit(&csv);
        sf_buf_deinit(&want);
        sf_batch_unref(batch);
    }
    static const struct {
        double value;
        const char *json, *csv;
    } doubles[] = {
        {3.0, "3", "3\r\n"},
        {0.1, "0.1", "0.1\r\n"},
        {NAN, "null", "\"\"\r\n"},
        {-INFINITY, "null", "\"\"\r\n"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(doubles); i++) {
        sf_batch *batch = one_row(SF_TYPE_F64, &doubles[i].value, (sf_str){0});
        sf_buf json = {0}, csv = {0};
        REQUIRE(batch);
        sf_write_json_row(&json, batch, 0, false);
        sf_write_csv_row(&csv, batch, 0);
        sf_buf want = {0};
        sf_buf_printf(&want, "{\"v\":%s}", doubles[i].json);
        CHECK_STR(json.data, want.data);
        CHECK_STR(csv.data, doubles[i].csv);
        sf_buf_deinit(&json);
        sf_buf_deinit(&csv);
        sf_buf_deinit(&want);
        sf_batch_unref(batch);
    }
}

static sf_batch *parsed(const char *fields, sf_format format, sf_str text)
{
    sf_schema *schema = schema_of(fields);
    sf_parser_options options = {.format = format, .schema = schema};
    sf_parser *parser = NULL;
    sf_batch *batch = NULL;
    if (sf_parser_new(&options, &parser, NULL) == SF_OK &&
        sf_parser_feed(parser, text, NULL) == SF_OK && sf_parser_finish(parser, NULL) == SF_OK)
        batch = sf_parser_next(parser);
    sf_parser_free(parser);
    sf_schema_unref(schema);
    return batch;
}

void rows_write_as_csv(void)
{
    sf_batch *batch = parsed("a:Long s,t:String", SF_FORMAT_NDJSON,
                             SF_STR("{\"a\":1,\"s,t\":\"x\"}\n{}\n{\"a\":2,\"s,t\":\"\"}\n"));
    REQUIRE(batch);
    sf_buf csv = {0}, json = {0};
    sf_write_csv_header(&csv, batch->schema);
    for (uint32_t row = 0; row < batch->rows; row++)
        sf_write_csv_row(&csv, batch, row);
    CHECK_STR(csv.data, "a,\"s,t\"\r\n1,x\r\n,\r\n2,\"\"\r\n");
    sf_write_ndjson(&json, batch);
    CHECK_STR(json.data,
              "{\"a\":1,\"s,t\":\"x\"}\n{\"a\":null,\"s,t\":null}\n{\"a\":2,\"s,t\":\"\"}\n");
    sf_buf_clear(&json);
    sf_write_json_row(&json, batch, 0, true);
    CHECK_STR(json.data, "{\"a\":1,\"s,t\":\"x\",\"_retract\":false,\"_ts\":0}");
    sf_buf_deinit(&csv);
    sf_buf_deinit(&json);
    sf_batch_unref(batch);

    /* A row that would be an empty line. */
    batch = parsed("a:Long", SF_FORMAT_NDJSON, SF_STR("{}\n"));
    REQUIRE(batch);
    sf_buf one = {0};
    sf_write_csv_row(&one, batch, 0);
    CHECK_STR(one.data, "\"\"\r\n");
    sf_buf_deinit(&one);
    sf_batch_unref(batch);
}

/* What is written reads back as the same rows. */
void rows_come_back(void)
{
    static const char fields[] = "s:String d:Double l:Long b:Bool t:Timestamp j:Json";
    sf_str text =
        SF_STR("{\"s\":\"a,\\\"b\\\"\\r\\n\xc3\xa9\",\"d\":0.30000000000000004,\"l\":-7,\"b\":"
               "false,\"t\":-1,\"j\":{\"k\":[1,\"x,y\"]}}\n"
               "{\"s\":\"\",\"d\":1e300,\"l\":9007199254740993}\n{\"s\":\" \",\"j\":\"text\"}\n");
    sf_batch *batch = parsed(fields, SF_FORMAT_NDJSON, text);
    REQUIRE(batch);
    sf_buf want = {0}, csv = {0};
    sf_write_ndjson(&want, batch);
    sf_write_csv_header(&csv, batch->schema);
    for (uint32_t row = 0; row < batch->rows; row++)
        sf_write_csv_row(&csv, batch, row);
    sf_batch_unref(batch);
    const struct {
        sf_format format;
        const sf_buf *text;
    } ways[] = {{SF_FORMAT_NDJSON, &want}, {SF_FORMAT_CSV, &csv}};
    for (size_t i = 0; i < SF_COUNT_OF(ways); i++) {
        sf_buf again = {0};
        batch = parsed(fields, ways[i].format, sf_buf_str(ways[i].text));
        REQUIRE(batch);
        sf_write_ndjson(&again, batch);
        CHECK_STR(again.data, want.data);
        sf_batch_unref(batch);
        sf_buf_deinit(&again);
    }
    sf_buf_deinit(&want);
    sf_buf_deinit(&csv);
}

void fields_are_inferred(void)
{
    static const struct {
        sf_format format;
        const char *text;
        bool whole;
        const char *fields; /* "" : refused */
    } rows[] = {
        {SF_FORMAT_NDJSON, "{\"a\":1,\"b\":\"x\"}\n{\"b\":null,\"c\":true,\"a\":2.5}\n", true,
         "a:Double b:String c:Bool "},
        {SF_FORMAT_NDJSON, "{\"a\":1}\n{\"a\":2,\"b\":1}", false, "a:Long "},
        {SF_FORMAT_NDJSON, "{\"a\":1}\n{\"a\":2,\"b\":1}", true, "a:Long b:Long "},
        {SF_FORMAT_NDJSON,
         "{\"t\":\"2023-11-05T08:40:00Z\",\"d\":\"2023-11-05\",\"n\":null}\n{\"t\":null}\n", true,
         "t:Timestamp d:String n:String "},
        {SF_FORMAT_NDJSON, "{\"t\":\"2023-11-05T08:40:00Z\"}\n{\"t\":\"soon\"}\n", true,
         "t:String "},
        {SF_FORMAT_NDJSON,
         "{\"j\":{\"x\":1},\"k\":[1],\"m\":1,\"o\":1}\n{\"j\":1,\"m\":\"x\",\"o\":true}\n", true,
         "j:Json k:Json m:String o:String "},
        {SF_FORMAT_NDJSON, "{\"_ts\":1,\"a\":9223372036854775808,\"_source\":\"x\"}\n{bad}\n[1]\n",
         true, "a:Double "},
        {SF_FORMAT_NDJSON, "{\"a\\u0062\":1}\n{\"ab\":2}\n", true, "ab:Long "},
        {SF_FORMAT_NDJSON, "[1]\n", true, ""},
        {SF_FORMAT_JSON, "[{\"a\":1},{\"a\":2,\"b\":[]}, 5]", true, "a:Long b:Json "},
        {SF_FORMAT_JSON, "[{\"a\":1},{\"a\":\"x", false, "a:Long "},
        {SF_FORMAT_JSON, "{\"a\":{}}", true, "a:Json "},
        {SF_FORMAT_JSON, "", true, ""},
        {SF_FORMAT_CSV,
         "a,b,c,d,e,f\n1,1.5,true,x,2023-11-05T08:40:00Z,\n2,2,FALSE,,2023-11-05 08:40,\n", true,
         "a:Long b:Double c:Bool d:String e:Timestamp f:String "},
        {SF_FORMAT_CSV, "\xef\xbb\xbfzip;v\n00712;1\n10001;\n", true, "zip:String v:Long "},
        {SF_FORMAT_CSV, "a,b\n1,2\n3,\"x", false, "a:Long b:Long "},
        {SF_FORMAT_CSV, "a,_ts,a,,B b\n1,2,x,4,-5e3\n", true, "a:String B b:Double "},
        {SF_FORMAT_CSV, "", true, ""},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_arena arena;
        sf_arena_init(&arena, 0);
        sf_field *fields = NULL;
        uint32_t count = 0;
        sf_buf got = {0};
        sf_buf_puts(&got, "");
        sf_status status = sf_infer_fields(rows[i].format, sf_str_of(rows[i].text), rows[i].whole,
                                           &arena, &fields, &count, NULL);
        CHECK(status == (rows[i].fields[0] ? SF_OK : SF_INVALID));
        for (uint32_t k = 0; status == SF_OK && k < count; k++)
            sf_buf_printf(&got, "%s:%s ", fields[k].name, sf_type_name(fields[k].type));
        CHECK_STR(got.data, rows[i].fields);
        sf_buf_deinit(&got);
        sf_arena_deinit(&arena);
    }
}

void names_are_known(void)
{
    sf_format format;
    sf_coercion policy;
    CHECK(sf_format_from_name(SF_STR("csv"), &format) && format == SF_FORMAT_CSV);
    CHECK(!sf_format_from_name(SF_STR("xml"), &format));
    CHECK_STR(sf_format_name(SF_FORMAT_JSON), "json");
    CHECK(sf_coercion_from_name(SF_STR("RejectBatch"), &policy) &&
          policy == SF_COERCE_REJECT_BATCH);
    CHECK(!sf_coercion_from_name(SF_STR("null"), &policy));
    CHECK_STR(sf_misfit_name(SF_MISFIT_RANGE), "range");
}

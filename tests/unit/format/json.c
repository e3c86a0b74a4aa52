/* ndjson and json to rows. */
#include "tests.h"

#define ALL "s:String d:Double l:Long b:Bool t:Timestamp j:Json"

void json_values_become_columns(void)
{
    static const parse_row cases[] = {
        {"every type",
         ALL,
         "{\"s\":\"a\",\"d\":1.5,\"l\":7,\"b\":true,\"t\":1000,\"j\":{\"x\":[1, 2]}}\n",
         "{\"s\":\"a\",\"d\":1.5,\"l\":7,\"b\":true,\"t\":1000,\"j\":{\"x\":[1, 2]}}\n",
         "",
         {0},
         false},
        {"white space anywhere",
         "a:Long b:String",
         " { \"a\" :\t1 , \"b\" : \"x\" } \r\n{\"a\":2}",
         "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":null}\n",
         "",
         {0},
         false},
        {"nulls and absent fields",
         "a:Long b:String j:Json",
         "{\"a\":null,\"b\":null,\"j\":null}\n{}\n",
         "{\"a\":null,\"b\":null,\"j\":null}\n{\"a\":null,\"b\":null,\"j\":null}\n",
         "",
         {0},
         false},
        {"64-bit integers",
         "v:Long",
         "{\"v\":9007199254740993}\n{\"v\":9223372036854775807}\n{\"v\":-9223372036854775808}\n"
         "{\"v\":9223372036854775808}\n{\"v\":1}\n",
         "{\"v\":9007199254740993}\n{\"v\":9223372036854775807}\n{\"v\":-9223372036854775808}\n"
         "{\"v\":null}\n{\"v\":1}\n",
         "misfits=1",
         {0},
         false},
        {"whole numbers in any spelling",
         "v:Long",
         "{\"v\":3.0}\n{\"v\":3e2}\n{\"v\":\"4\"}\n{\"v\":\" 5.0 "
         "\"}\n{\"v\":1.5}\n{\"v\":\"x\"}\n{\"v\":true}\n",
         "{\"v\":3}\n{\"v\":300}\n{\"v\":4}\n{\"v\":5}\n{\"v\":null}\n{\"v\":null}\n{\"v\":null}\n",
         "misfits=3",
         {0},
         false},
        {"doubles",
         "v:Double",
         "{\"v\":1}\n{\"v\":-0.25}\n{\"v\":\"2.5\"}\n{\"v\":1e400}\n{\"v\":\"NaN\"}\n{\"v\":[1]}\n"
         "{\"v\":12345678901234567890}\n",
         "{\"v\":1}\n{\"v\":-0.25}\n{\"v\":2.5}\n{\"v\":null}\n{\"v\":null}\n{\"v\":null}\n"
         "{\"v\":12345678901234567000}\n",
         "misfits=3",
         {0},
         false},
        {"strings take numbers and booleans as written",
         "v:String",
         "{\"v\":1.50}\n{\"v\":true}\n{\"v\":\"\"}\n{\"v\":{}}\n{\"v\":[]}\n",
         "{\"v\":\"1.50\"}\n{\"v\":\"true\"}\n{\"v\":\"\"}\n{\"v\":null}\n{\"v\":null}\n",
         "misfits=2",
         {0},
         false},
        {"booleans",
         "v:Bool",
         "{\"v\":false}\n{\"v\":\" True\"}\n{\"v\":1}\n{\"v\":\"yes\"}\n",
         "{\"v\":false}\n{\"v\":true}\n{\"v\":null}\n{\"v\":null}\n",
         "misfits=2",
         {0},
         false},
        {"timestamps",
         "id:Long at:Timestamp",
         "{\"id\":1,\"at\":1000}\n{\"id\":2,\"at\":{\"x\":\"2025-07-15T14:00:00.573Z\"}}\n"
         "{\"id\":3,\"at\":\"soon\"}\n{\"id\":4,\"at\":[]}\n{\"id\":5,\"at\":\"1970-01-01T00:00:"
         "02Z\"}\n"
         "{\"id\":6,\"at\":\"3000\"}\n{\"id\":7,\"at\":1.5}\n{\"id\":8,\"at\":\"2023-02-29\"}\n",
         "{\"id\":1,\"at\":1000}\n{\"id\":2,\"at\":null}\n{\"id\":3,\"at\":null}\n{\"id\":4,\"at\":"
         "null}\n"
         "{\"id\":5,\"at\":2000}\n{\"id\":6,\"at\":3000}\n{\"id\":7,\"at\":null}\n{\"id\":8,\"at\":"
         "null}\n",
         "misfits=5",
         {0},
         false},
        {"any JSON keeps its text",
         "j:Json",
         "{\"j\":1.0}\n{\"j\":\"a\\n\"}\n{\"j\":[1,{\"b\":null}]}\n{\"j\":false}\n",
         "{\"j\":1.0}\n{\"j\":\"a\\n\"}\n{\"j\":[1,{\"b\":null}]}\n{\"j\":false}\n",
         "",
         {0},
         false},
        {"escapes and UTF-8",
         "v:String w:String",
         "{\"v\":\"a\\\"\\\\\\/\\n\\u00e9\\ud83d\\ude00 and more than twelve "
         "bytes\",\"w\":\"\xc3\xa9\"}\n"
         "{\"v\":\"x\\u0000y\",\"w\":\"\\u0041\"}\n",
         "{\"v\":\"a\\\"\\\\/\\n\xc3\xa9\xf0\x9f\x98\x80 and more than twelve "
         "bytes\",\"w\":\"\xc3\xa9\"}\n"
         "{\"v\":\"x\\u0000y\",\"w\":\"A\"}\n",
         "",
         {0},
         false},
        {"the last of duplicate keys",
         "a:Long b:Long",
         "{\"a\":1,\"a\":2}\n{\"a\":1,\"b\":3,\"a\":null}\n{\"a\":\"x\",\"a\":4}\n{\"a\":4,"
         "\"\\u0061\":\"x\"}\n",
         "{\"a\":2,\"b\":null}\n{\"a\":null,\"b\":3}\n{\"a\":4,\"b\":null}\n{\"a\":null,\"b\":null}"
         "\n",
         "misfits=1",
         {0},
         false},
        {"names match exactly",
         "id:Long v:Long w:String",
         "{\"id\":1,\"v\":1,\"w\":\"a\"}\n{\"id\":2}\n{\"id\":3,\"new\":{\"x\":1},\"w\":\"c\"}\n{"
         "\"ID\":4,\"id\":5}\n",
         "{\"id\":1,\"v\":1,\"w\":\"a\"}\n{\"id\":2,\"v\":null,\"w\":null}\n{\"id\":3,\"v\":null,"
         "\"w\":\"c\"}\n"
         "{\"id\":5,\"v\":null,\"w\":null}\n",
         "unknown=2",
         {0},
         false},
    };
    check_parses(cases, SF_COUNT_OF(cases));
}

void json_rows_are_strict(void)
{
    static const parse_row cases[] = {
        {"bad lines between good ones",
         "id:Long v:Double",
         "{\"id\":1,\"v\":1}\n{\"id\":2,\"v\":12iiii}\n{\"id\":3,\"v\":3}\n{\"id\":4,\"v\":NaN}\n"
         "{\"id\":5,\"v\":5,}\n{\"id\":6,\"v\":007}\n{\"id\":7 "
         "\"v\":7}\n{\"id\":8,\"v\":tru3}\n{\"id\":9,\"v\":9}\n",
         "{\"id\":1,\"v\":1}\n{\"id\":3,\"v\":3}\n{\"id\":9,\"v\":9}\n",
         "malformed=6",
         {0},
         false},
        {"line ends",
         "id:Long v:String",
         "{\"id\":1,\"v\":\"a\"}\r\n\r\n{\"id\":2,\"v\":\"b\"}\n   \n{\"id\":3,\"v\":\"c\"}",
         "{\"id\":1,\"v\":\"a\"}\n{\"id\":2,\"v\":\"b\"}\n{\"id\":3,\"v\":\"c\"}\n",
         "",
         {0},
         false},
        {"JSON that is no object",
         "id:Long",
         "[]\n42\n\"x\"\nnull\ntrue\n[{\"id\":7}]\n{\"id\":1}\n",
         "{\"id\":1}\n",
         "malformed=6",
         {0},
         false},
        {"strings that are not sound",
         "v:String",
         "{\"v\":\"\\ud800\"}\n{\"v\":\"\\q\"}\n{\"v\":\"\xff\"}\n{\"v\":\"a\tb\"}\n{\"\xff\":1}\n{"
         "\"u\":\"\\udc00\"}\n"
         "{\"v\":\"ok\"}\n",
         "{\"v\":\"ok\"}\n",
         "malformed=6",
         {0},
         false},
        {"a line end inside a string or object",
         "v:String",
         "{\"v\":\"a\nb\"}\n{\"v\":\n\"c\"}\n{\"v\":\"d\"}\n",
         "{\"v\":\"d\"}\n",
         "malformed=4",
         {0},
         false},
        {"more than one value a line",
         "id:Long",
         "{\"id\":1}{\"id\":2}\n{\"id\":3} x\n{\"id\":4}\n",
         "{\"id\":4}\n",
         "malformed=2",
         {0},
         false},
        {"cut short",
         "id:Long v:String",
         "{\"id\":1}\n{\"id\":2,\"v\":\"abc",
         "{\"id\":1,\"v\":null}\n",
         "malformed=1",
         {0},
         false},
        {"a malformed row leaves nothing behind",
         "a:Long b:String",
         "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"long enough to be shared\"\n{\"b\":\"z\"}\n",
         "{\"a\":1,\"b\":\"x\"}\n{\"a\":null,\"b\":\"z\"}\n",
         "malformed=1",
         {0},
         false},
        {"a malformed row counts nothing else",
         "a:Long",
         "{\"a\":\"x\",\"u\":1,\n",
         "",
         "malformed=1",
         {0},
         false},
        {"BOM", "a:Long", "\xef\xbb\xbf{\"a\":1}\n", "{\"a\":1}\n", "", {0}, false},
        {"nothing", "a:Long", "", "", "", {0}, false},
        {"only blanks", "a:Long", " \n\t\r\n", "", "", {0}, false},
    };
    check_parses(cases, SF_COUNT_OF(cases));
    /* The row itself is the first of 256 levels. */
    for (int depth = 255; depth <= 256; depth++) {
        sf_buf text = {0}, rows = {0};
        sf_parse_report report;
        parse_setup setup = {{0}, "j:Json", false};
        sf_buf_puts(&text, "{\"j\":");
        for (int i = 0; i < depth; i++)
            sf_buf_putc(&text, '[');
        for (int i = 0; i < depth; i++)
            sf_buf_putc(&text, ']');
        sf_buf_puts(&text, "}\n");
        CHECK(parse_text(&setup, sf_buf_str(&text), 100, &rows, &report));
        CHECK_INT(report.malformed, depth == 256);
        CHECK_INT(report.rows, depth == 255);
        sf_buf_deinit(&text);
        sf_buf_deinit(&rows);
    }
}

#define DOCUMENT                                                                                   \
    {                                                                                              \
        .format = SF_FORMAT_JSON                                                                   \
    }

void json_documents(void)
{
    static const parse_row cases[] = {
        {"an array", "id:Long v:String", "[{\"id\":1,\"v\":\"a\"},{\"id\":2}]",
         "{\"id\":1,\"v\":\"a\"}\n{\"id\":2,\"v\":null}\n", "", DOCUMENT, false},
        {"an array over lines", "id:Long j:Json",
         "\xef\xbb\xbf [\n  {\n    \"id\": 1,\n    \"j\": [\n 1\n]\n  }\n  ,\n\t{\"id\": 2}\n]\n",
         "{\"id\":1,\"j\":[  1 ]}\n{\"id\":2,\"j\":null}\n", "", DOCUMENT, false},
        {"one object", "id:Long", " {\"id\":1} ", "{\"id\":1}\n", "", DOCUMENT, false},
        {"objects one after the other", "id:Long", "{\"id\":1}{\"id\":2}\n{\"id\":3}",
         "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n", "", DOCUMENT, false},
        {"an empty array", "id:Long", "[ ]", "", "", DOCUMENT, false},
        {"nothing", "id:Long", " \n", "", "", DOCUMENT, false},
        {"elements that are no objects", "id:Long",
         "[1,\"a,]\\\"\",null,[{\"id\":9}],{\"id\":1},true]", "{\"id\":1}\n", "malformed=5",
         DOCUMENT, false},
        {"a bad element between good ones", "id:Long v:Double",
         "[{\"id\":1,\"v\":1},{\"id\":2,\"v\":12iiii},oops,{\"id\":3,\"v\":{]},{\"id\":4,\"v\":4}]",
         "{\"id\":1,\"v\":1}\n{\"id\":4,\"v\":4}\n", "malformed=3", DOCUMENT, false},
        {"no comma", "id:Long", "[{\"id\":1} {\"id\":2}]", "{\"id\":1}\n", "malformed=1", DOCUMENT,
         false},
        {"a comma too many", "id:Long", "[{\"id\":1},]", "{\"id\":1}\n", "malformed=1", DOCUMENT,
         false},
        {"not closed", "id:Long", "[{\"id\":1},{\"id\":2}", "{\"id\":1}\n{\"id\":2}\n",
         "malformed=1", DOCUMENT, false},
        {"cut inside an element", "id:Long", "[{\"id\":1},{\"id\":2", "{\"id\":1}\n", "malformed=1",
         DOCUMENT, false},
        {"cut inside a string", "v:String", "[{\"v\":\"a\"},{\"v\":\"b\\", "{\"v\":\"a\"}\n",
         "malformed=1", DOCUMENT, false},
        {"scalars at the top", "id:Long", "1 {\"id\":2} tru", "{\"id\":2}\n", "malformed=2",
         DOCUMENT, false},
        {"a bracket too many", "id:Long", "[{\"id\":1}]]{\"id\":2}", "{\"id\":1}\n", "malformed=1",
         DOCUMENT, false},
        {"brackets and quotes in strings", "v:String", "[{\"v\":\"}]\\\"[{\"},{\"v\":\"\\\\\"}]",
         "{\"v\":\"}]\\\"[{\"}\n{\"v\":\"\\\\\"}\n", "", DOCUMENT, false},
        {"arrays one after the other", "id:Long", "[{\"id\":1}] [{\"id\":2}]",
         "{\"id\":1}\n{\"id\":2}\n", "", DOCUMENT, false},
    };
    check_parses(cases, SF_COUNT_OF(cases));
}

void json_policies(void)
{
    static const parse_row cases[] = {
        {"drop the row",
         "a:Long b:Long",
         "{\"a\":1,\"b\":1}\n{\"a\":\"x\",\"b\":2}\n{\"a\":3}\n",
         "{\"a\":1,\"b\":1}\n{\"a\":3,\"b\":null}\n",
         "misfits=1 dropped=1",
         {.on_misfit = SF_COERCE_DROP_ROW},
         false},
        {"reject the batch",
         "a:Long",
         "{\"a\":1}\n{\"a\":\"x\"}\n{\"a\":3}\n",
         "",
         "misfits=1 dropped=3",
         {.on_misfit = SF_COERCE_REJECT_BATCH},
         false},
        {"nothing to reject",
         "a:Long",
         "{\"a\":1}\n{\"a\":2}\n",
         "{\"a\":1}\n{\"a\":2}\n",
         "",
         {.on_misfit = SF_COERCE_REJECT_BATCH},
         false},
        {"reject over several batches",
         "a:Long",
         "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n{\"a\":[]}\n{\"a\":5}\n{\"a\":6}\n",
         "",
         "misfits=1 dropped=6",
         {.on_misfit = SF_COERCE_REJECT_BATCH, .batch_rows = 2},
         false},
        {"a malformed row rejects nothing",
         "a:Long",
         "{\"a\":1}\n{\"a\":}\n",
         "{\"a\":1}\n",
         "malformed=1",
         {.on_misfit = SF_COERCE_REJECT_BATCH},
         false},
        {"unknown fields refused",
         "a:Long",
         "{\"a\":1}\n{\"a\":2,\"b\":1,\"c\":2}\n{\"A\":3}\n{\"a\":4,\"_source\":\"x\"}\n",
         "{\"a\":1}\n{\"a\":4}\n",
         "unknown=3 refused=2",
         {.reject_unknown_fields = true},
         false},
    };
    check_parses(cases, SF_COUNT_OF(cases));
    sf_parse_report report;
    sf_buf rows = {0};
    parse_setup strict = {{.reject_unknown_fields = true}, "a:Long", false};
    CHECK(parse_text(&strict, SF_STR("{\"a\":1}\n{\"b\\u0062\":1,\"c\":2}\n"), 0, &rows, &report));
    CHECK_INT(report.error_count, 1);
    CHECK_INT(report.errors[0].row, 2);
    CHECK_STR(report.errors[0].message, "field \"bb\" is not declared");
    sf_buf_clear(&rows);
    parse_setup setup = {{0}, "a:Long t:Timestamp", false};
    CHECK(parse_text(
        &setup, SF_STR("{\"a\":[],\"t\":\"x\"}\n{\"a\":1.5}\n{\"a\":1e30,\"t\":1e30}\n{\"a\":1}\n"),
        0, &rows, &report));
    CHECK_INT(report.misfit_by_reason[SF_MISFIT_KIND], 1);
    CHECK_INT(report.misfit_by_reason[SF_MISFIT_TEXT], 1);
    CHECK_INT(report.misfit_by_reason[SF_MISFIT_FRACTION], 1);
    CHECK_INT(report.misfit_by_reason[SF_MISFIT_RANGE], 2);
    CHECK_INT(report.misfit_rows, 3);
    CHECK_INT(report.records, 4);
    CHECK_INT(report.rows, 4);
    sf_buf_deinit(&rows);
}

void json_reserved_columns(void)
{
    static const parse_row cases[] = {
        {"event time",
         "a:Long",
         "{\"a\":1}\n{\"a\":2,\"_ts\":5}\n{\"_ts\":\"1970-01-01T00:00:01Z\"}\n{\"_ts\":null}\n{\"_"
         "ts\":\"7\"}\n",
         "{\"a\":1,\"_retract\":false,\"_ts\":99}\n{\"a\":2,\"_retract\":false,\"_ts\":5}\n"
         "{\"a\":null,\"_retract\":false,\"_ts\":1000}\n{\"a\":null,\"_retract\":false,\"_ts\":99}"
         "\n"
         "{\"a\":null,\"_retract\":false,\"_ts\":7}\n",
         "",
         {.stamp_ms = 99},
         true},
        {"bad event time takes the stamp",
         "a:Long",
         "{\"a\":1,\"_ts\":5,\"_ts\":\"soon\"}\n",
         "{\"a\":1,\"_retract\":false,\"_ts\":99}\n",
         "misfits=1",
         {.stamp_ms = 99},
         true},
        {"retractions",
         "a:Long",
         "{\"a\":1,\"_retract\":true}\n{\"a\":2,\"_retract\":\"false\"}\n{\"a\":3,\"_retract\":"
         "null}\n",
         "{\"a\":1,\"_retract\":true,\"_ts\":0}\n{\"a\":2,\"_retract\":false,\"_ts\":0}\n{\"a\":3,"
         "\"_retract\":false,\"_ts\":0}\n",
         "retracted=1",
         {0},
         true},
        {"other reserved names are passed over",
         "a:Long",
         "{\"_source\":\"x\",\"_weight\":-1,\"_op\":\"c\",\"_final\":true,\"a\":1}\n",
         "{\"a\":1}\n",
         "",
         {0},
         false},
        {"declared fields of a reserved name",
         "a:Long _retract:Bool _op:String",
         "{\"a\":1,\"_retract\":true,\"_op\":\"d\"}\n{\"a\":2,\"_op\":\"u\"}\n",
         "{\"a\":1,\"_retract\":true,\"_op\":\"d\",\"_retract\":true,\"_ts\":0}\n"
         "{\"a\":2,\"_retract\":null,\"_op\":\"u\",\"_retract\":false,\"_ts\":0}\n",
         "retracted=1",
         {0},
         true},
    };
    check_parses(cases, SF_COUNT_OF(cases));
}

void json_errors_have_places(void)
{
    sf_parse_report report;
    sf_buf rows = {0};
    parse_setup setup = {{0}, "a:Long", false};
    CHECK(parse_text(&setup, SF_STR("\n{\"a\":1}\n\n{\"a\":1 }x\n{\"a\":\"\xc3\xa9\"}\n[1]\n"), 3,
                     &rows, &report));
    REQUIRE(report.error_count == 3);
    CHECK_INT(report.errors[0].row, 2);
    CHECK_INT(report.errors[0].line, 4);
    CHECK_STR(report.errors[0].message, "byte 9 of the row: text follows the value");
    CHECK_INT(report.errors[1].row, 3);
    CHECK_INT(report.errors[1].line, 5);
    CHECK_STR(report.errors[1].message,
              "field \"a\" (Long): \"\xc3\xa9\" does not read as this type");
    CHECK_STR(report.errors[2].message, "a row is an object, this is an array");
    sf_buf_deinit(&rows);

    /* Only the first ten are kept; the value shown is cut between characters. */
    sf_buf text = {0};
    for (int i = 0; i < 20; i++) {
        sf_buf_puts(&text, "{\"a\":\"");
        for (int k = 0; k < 50; k++)
            sf_buf_puts(&text, "\xc3\xa9");
        sf_buf_puts(&text, "\"}\n");
    }
    CHECK(parse_text(&setup, sf_buf_str(&text), 0, NULL, &report));
    CHECK_INT(report.misfits, 20);
    CHECK_INT(report.error_count, SF_ROW_ERRORS_MAX);
    CHECK_INT(report.errors[9].row, 10);
    CHECK(strlen(report.errors[0].message) < 120);
    sf_buf_deinit(&text);
}

/* The key that is expected next is a guess: rows must not depend on it. */
void json_keys_in_any_order(void)
{
    static const parse_row cases[] = {
        {"orders that change",
         "a:Long ab:Long abcdefgh:Long abcdefghijklmnopqrst:Long",
         "{\"a\":1,\"ab\":2,\"abcdefgh\":3,\"abcdefghijklmnopqrst\":4}\n"
         "{\"abcdefghijklmnopqrst\":1,\"abcdefgh\":2,\"ab\":3,\"a\":4}\n"
         "{\"abcdefghijklmnopqrsu\":1,\"abcdefgi\":2,\"ac\":3,\"b\":4}\n"
         "{\"ab\":1,\"a\":2}\n{\"a\":1,\"ab\":2}\n{\"a\":1,\"x\":0,\"ab\":2}\n"
         "{\"abcdefgh\":1}\n{\"\":1}\n{\"a\" :1,\"ab\"\t: 2}\n",
         "{\"a\":1,\"ab\":2,\"abcdefgh\":3,\"abcdefghijklmnopqrst\":4}\n"
         "{\"a\":4,\"ab\":3,\"abcdefgh\":2,\"abcdefghijklmnopqrst\":1}\n"
         "{\"a\":null,\"ab\":null,\"abcdefgh\":null,\"abcdefghijklmnopqrst\":null}\n"
         "{\"a\":2,\"ab\":1,\"abcdefgh\":null,\"abcdefghijklmnopqrst\":null}\n"
         "{\"a\":1,\"ab\":2,\"abcdefgh\":null,\"abcdefghijklmnopqrst\":null}\n"
         "{\"a\":1,\"ab\":2,\"abcdefgh\":null,\"abcdefghijklmnopqrst\":null}\n"
         "{\"a\":null,\"ab\":null,\"abcdefgh\":1,\"abcdefghijklmnopqrst\":null}\n"
         "{\"a\":null,\"ab\":null,\"abcdefgh\":null,\"abcdefghijklmnopqrst\":null}\n"
         "{\"a\":1,\"ab\":2,\"abcdefgh\":null,\"abcdefghijklmnopqrst\":null}\n",
         "unknown=6",
         {0},
         false},
        {"a name that JSON escapes",
         "a\"b:Long",
         "{\"a\\\"b\":1}\n{\"a\\u0022b\":2}\n",
         "{\"a\\\"b\":1}\n{\"a\\\"b\":2}\n",
         "",
         {0},
         false},
    };
    check_parses(cases, SF_COUNT_OF(cases));
}

void long_rows_are_skipped(void)
{
    static const parse_row cases[] = {
        {"ndjson",
         "a:Long v:String",
         "{\"a\":1}\n{\"a\":2,\"v\":\"0123456789012345678901234567890\"}\n{\"a\":3}\n",
         "{\"a\":1,\"v\":null}\n{\"a\":3,\"v\":null}\n",
         "malformed=1",
         {.record_bytes_max = 32},
         false},
        {"ndjson, the last one",
         "a:Long v:String",
         "{\"a\":1}\n{\"a\":2,\"v\":\"0123456789012345678901234567890",
         "{\"a\":1,\"v\":null}\n",
         "malformed=1",
         {.record_bytes_max = 32},
         false},
        {"json",
         "a:Long v:String",
         "[{\"a\":1},{\"a\":2,\"v\":\"]}0123456789\\\"012345678901234567890\"},{\"a\":3}, "
         "012345678901234567890123456789012345, {\"a\":4}]",
         "{\"a\":1,\"v\":null}\n{\"a\":3,\"v\":null}\n{\"a\":4,\"v\":null}\n",
         "malformed=2",
         {.format = SF_FORMAT_JSON, .record_bytes_max = 32},
         false},
        {"csv",
         "a:Long v:String",
         "a,v\n1,\n2,\"0123456789,\"\"\n012345678901234567890\"\n3,\n",
         "{\"a\":1,\"v\":\"\"}\n{\"a\":3,\"v\":\"\"}\n",
         "malformed=1",
         {.format = SF_FORMAT_CSV, .record_bytes_max = 32},
         false},
        {"a csv header",
         "a:Long v:String",
         "a,0123456789012345678901234567890123456789\n1,2\n",
         "",
         "malformed=1",
         {.format = SF_FORMAT_CSV, .record_bytes_max = 32},
         false},
    };
    check_parses(cases, SF_COUNT_OF(cases));
}

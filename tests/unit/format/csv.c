/* csv to rows. */
#include "tests.h"

#include "base/seam.h"

#define CSV                                                                                        \
    {                                                                                              \
        .format = SF_FORMAT_CSV                                                                    \
    }

void csv_shapes(void)
{
    static const parse_row cases[] = {
        {"plain", "id:Long t:String", "id,t\n1,a\n2,b\n",
         "{\"id\":1,\"t\":\"a\"}\n{\"id\":2,\"t\":\"b\"}\n", "", CSV, false},
        {"CRLF and no end of the last line", "id:Long t:String", "id,t\r\n1,a\r\n2,b\r\n3,c",
         "{\"id\":1,\"t\":\"a\"}\n{\"id\":2,\"t\":\"b\"}\n{\"id\":3,\"t\":\"c\"}\n", "", CSV,
         false},
        {"CR", "id:Long t:String", "id,t\r1,a\r2,b\r",
         "{\"id\":1,\"t\":\"a\"}\n{\"id\":2,\"t\":\"b\"}\n", "", CSV, false},
        {"BOM", "id:Long name:String", "\xef\xbb\xbfid,name\r\n1,Ann\r\n2,Bo\r\n",
         "{\"id\":1,\"name\":\"Ann\"}\n{\"id\":2,\"name\":\"Bo\"}\n", "", CSV, false},
        {"line breaks in quotes", "id:Long t:String n:Long",
         "id,t,n\n1,\"two\nlines\",10\n2,\"ends with break\n\",20\n3,\"cr\r\nlf\",30\n4,plain,40\n",
         "{\"id\":1,\"t\":\"two\\nlines\",\"n\":10}\n{\"id\":2,\"t\":\"ends with "
         "break\\n\",\"n\":20}\n"
         "{\"id\":3,\"t\":\"cr\\r\\nlf\",\"n\":30}\n{\"id\":4,\"t\":\"plain\",\"n\":40}\n",
         "", CSV, false},
        {"doubled quotes, delimiters in quotes, blanks kept", "id:Long t:String",
         "id,t\n1,\"say \"\"hi\"\", then go\"\n2,\"\"\"\"\n3,\" a \"\n4, b \n5,\"a,b;c\td\"\n",
         "{\"id\":1,\"t\":\"say \\\"hi\\\", then "
         "go\"}\n{\"id\":2,\"t\":\"\\\"\"}\n{\"id\":3,\"t\":\" a \"}\n"
         "{\"id\":4,\"t\":\" b \"}\n{\"id\":5,\"t\":\"a,b;c\\td\"}\n",
         "", CSV, false},
        {"short, long and blank rows", "id:Long a:String b:String",
         "id,a,b\n1,x,y\n2,x\n3,x,y,z\n4,p,q\n\n5,r,s\n",
         "{\"id\":1,\"a\":\"x\",\"b\":\"y\"}\n{\"id\":2,\"a\":\"x\",\"b\":null}\n{\"id\":4,\"a\":"
         "\"p\",\"b\":\"q\"}\n"
         "{\"id\":5,\"a\":\"r\",\"b\":\"s\"}\n",
         "malformed=1 short=1", CSV, false},
        {"surplus cells that are empty", "a:Long b:Long", "a,b\n1,2,,\"\"\n3,4,\n5,6,, \n",
         "{\"a\":1,\"b\":2}\n{\"a\":3,\"b\":4}\n", "malformed=1", CSV, false},
        {"blank lines", "a:Long b:Long", "\n\r\n  \na,b\r\n\r\n1,2\n\n   \n\r\r\n3,4\n\n",
         "{\"a\":1,\"b\":2}\n{\"a\":3,\"b\":4}\n", "", CSV, false},
        {"one column", "a:String", "a\n\nx\n \n\"\"\n",
         "{\"a\":\"x\"}\n{\"a\":\" \"}\n{\"a\":\"\"}\n", "", CSV, false},
        {"an empty last cell", "a:Long b:String", "a,b\n1,\n2,",
         "{\"a\":1,\"b\":\"\"}\n{\"a\":2,\"b\":\"\"}\n", "", CSV, false},
        {"a quote inside a cell is a character", "a:String b:Long", "a,b\n5\" pipe,1\nx\"y\"z,2\n",
         "{\"a\":\"5\\\" pipe\",\"b\":1}\n{\"a\":\"x\\\"y\\\"z\",\"b\":2}\n", "", CSV, false},
        {"text behind a closing quote", "a:String b:Long", "a,b\n\"x\"y,1\n\"x\" ,2\n\"x\",3\n",
         "{\"a\":\"x\",\"b\":3}\n", "malformed=2", CSV, false},
        {"an unclosed quote", "a:Long b:String", "a,b\n1,x\n2,\"y\n3,z\n4,w\n",
         "{\"a\":1,\"b\":\"x\"}\n", "malformed=1", CSV, false},
        {"a quote closed by the end", "a:Long b:String", "a,b\n1,\"x\"", "{\"a\":1,\"b\":\"x\"}\n",
         "", CSV, false},
        {"not UTF-8", "a:Long b:String c:String", "a,b\n1,\xff\n2,\xc3\xa9\n3,\"\xc3\"\n4,d\n",
         "{\"a\":2,\"b\":\"\xc3\xa9\",\"c\":null}\n{\"a\":4,\"b\":\"d\",\"c\":null}\n",
         "malformed=2", CSV, false},
        {"only a header", "a:Long", "a\n", "", "", CSV, false},
        {"nothing", "a:Long", "", "", "", CSV, false},
    };
    check_parses(cases, SF_COUNT_OF(cases));
}

void csv_headers(void)
{
    static const parse_row cases[] = {
        {"another order", "id:Long a:String b:String", "b,extra,id,a\nB1,z,1,A1\nB2,z,2,A2\n",
         "{\"id\":1,\"a\":\"A1\",\"b\":\"B1\"}\n{\"id\":2,\"a\":\"A2\",\"b\":\"B2\"}\n",
         "unknown=2", CSV, false},
        {"unknown columns refused",
         "id:Long",
         "id,x\n1,2\n3\n",
         "{\"id\":3}\n",
         "unknown=1 refused=1 short=1",
         {.format = SF_FORMAT_CSV, .reject_unknown_fields = true},
         false},
        {"tab", "a:Long b:String", "a\tb\n1\tx,y\n", "{\"a\":1,\"b\":\"x,y\"}\n", "", CSV, false},
        {"semicolon", "a:Double b:String", "a;b\n1;x,y\n", "{\"a\":1,\"b\":\"x,y\"}\n", "", CSV,
         false},
        {"bar", "a:Long b:String", "a|b\n1|x\n", "{\"a\":1,\"b\":\"x\"}\n", "", CSV, false},
        {"a tie goes to the earlier", "a:Long b;c:Long", "a,b;c\n1,2\n", "{\"a\":1,\"b;c\":2}\n",
         "", CSV, false},
        {"quotes do not count", "a;;;:Long b:Long", "\"a;;;\",b\n1,2\n", "{\"a;;;\":1,\"b\":2}\n",
         "", CSV, false},
        {"a delimiter that is given",
         "a;b:Long c:Long",
         "c|a;b\n1|2\n",
         "{\"a;b\":2,\"c\":1}\n",
         "",
         {.format = SF_FORMAT_CSV, .delimiter = '|'},
         false},
        {"the last of equal headers", "a:Long b:Long", "a,b,a\n1,2,3\n4,5\n",
         "{\"a\":3,\"b\":2}\n{\"a\":null,\"b\":5}\n", "short=1", CSV, false},
        {"case, when nothing is exact", "Id:Long name:String", "ID,NAME\n1,x\n",
         "{\"Id\":1,\"name\":\"x\"}\n", "", CSV, false},
        {"exact before case", "id:Long", "ID,id,Id\n1,2,3\n", "{\"id\":2}\n", "unknown=2", CSV,
         false},
        {"blanks around headers", "a:Long b:Long", "a , b\n1,2\n", "{\"a\":1,\"b\":2}\n", "", CSV,
         false},
        {"quotes in headers", "a\"b:Long c:Long", "\"a\"\"b\",c\n1,2\n", "{\"a\\\"b\":1,\"c\":2}\n",
         "", CSV, false},
        {"a header over two lines", "c:Long", "\"a\nb\",c\n1,2\n", "{\"c\":2}\n", "unknown=1", CSV,
         false},
        {"reserved columns",
         "a:Long",
         "a,_ts,_retract,_source\n1,5,true,x\n2,,,\n",
         "{\"a\":1,\"_retract\":true,\"_ts\":5}\n{\"a\":2,\"_retract\":false,\"_ts\":99}\n",
         "retracted=1",
         {.format = SF_FORMAT_CSV, .stamp_ms = 99},
         true},
    };
    check_parses(cases, SF_COUNT_OF(cases));
}

void csv_values_become_columns(void)
{
    static const parse_row cases[] = {
        {"every type", "s:String d:Double l:Long b:Bool t:Timestamp j:Json",
         "s,d,l,b,t,j\nx,1.5,7,TRUE,1000,\"{\"\"a\"\": "
         "1}\"\n,,,,,\n\"\",\"\",\"\",\"\",\"\",\"\"\n",
         "{\"s\":\"x\",\"d\":1.5,\"l\":7,\"b\":true,\"t\":1000,\"j\":{\"a\": 1}}\n"
         "{\"s\":\"\",\"d\":null,\"l\":null,\"b\":null,\"t\":null,\"j\":null}\n"
         "{\"s\":\"\",\"d\":null,\"l\":null,\"b\":null,\"t\":null,\"j\":null}\n",
         "", CSV, false},
        {"numbers", "l:Long d:Double",
         "l,d\n007, 2.5 \n+1,.5\n3.0,1e3\n-9223372036854775808,-0.0\n",
         "{\"l\":7,\"d\":2.5}\n{\"l\":1,\"d\":0.5}\n{\"l\":3,\"d\":1000}\n{\"l\":-"
         "9223372036854775808,\"d\":0}\n",
         "", CSV, false},
        {"what does not fit", "l:Long d:Double b:Bool t:Timestamp j:Json",
         "l,d,b,t,j\n1.5,x,2,soon,{\n9223372036854775808,1e999,yes,2023-13-01,abc\n",
         "{\"l\":null,\"d\":null,\"b\":null,\"t\":null,\"j\":null}\n{\"l\":null,\"d\":null,\"b\":"
         "null,\"t\":null,\"j\":null}\n",
         "misfits=10", CSV, false},
        {"times", "t:Timestamp", "t\n2023-11-05T08:40:00Z\n1970-01-01\n-5\n",
         "{\"t\":1699173600000}\n{\"t\":0}\n{\"t\":-5}\n", "", CSV, false},
        {"JSON", "j:Json", "j\n\" [1,2] \"\nnull\n12\n\"\"\"text\"\"\"\n",
         "{\"j\":[1,2]}\n{\"j\":null}\n{\"j\":12}\n{\"j\":\"text\"}\n", "", CSV, false},
        {"a row dropped",
         "l:Long",
         "l\n1\nx\n3\n",
         "{\"l\":1}\n{\"l\":3}\n",
         "misfits=1 dropped=1",
         {.format = SF_FORMAT_CSV, .on_misfit = SF_COERCE_DROP_ROW},
         false},
        {"long text", "s:String t:String",
         "s,t\nlonger than twelve bytes,\"with \"\"quotes\"\" and longer\"\n",
         "{\"s\":\"longer than twelve bytes\",\"t\":\"with \\\"quotes\\\" and longer\"}\n", "", CSV,
         false},
    };
    check_parses(cases, SF_COUNT_OF(cases));
}

void csv_errors_have_places(void)
{
    parse_setup setup = {CSV, "a:Long b:String", false};
    for (size_t piece = 0; piece < 6; piece++) {
        sf_parse_report report;
        sf_buf rows = {0};
        CHECK(parse_text(
            &setup, SF_STR("a,b\r\n1,\"x\r\ny\nz\"\r\n\r\nq,x\r\n1,2,3\r\n2,\"open\r\n3,x\r\n"),
            piece, &rows, &report));
        REQUIRE(report.error_count == 3);
        CHECK_INT(report.errors[0].row, 2);
        CHECK_INT(report.errors[0].line, 6);
        CHECK_STR(report.errors[0].message, "field \"a\" (Long): q does not read as this type");
        CHECK_INT(report.errors[1].line, 7);
        CHECK_STR(report.errors[1].message, "the row has 3 cells, the header 2");
        CHECK_INT(report.errors[2].row, 4);
        CHECK_INT(report.errors[2].line, 8);
        CHECK_STR(report.errors[2].message, "a quote that is opened here is never closed");
        sf_buf_deinit(&rows);
    }
}

/* Cells of every length and kind across the 64-byte blocks, against a writer that is plain. */
void csv_blocks_and_quotes_anywhere(void)
{
    for (unsigned shift = 0; shift < 130; shift++) {
        sf_buf text = {0}, want = {0}, rows = {0};
        sf_buf_puts(&text, "s,n,t\n");
        for (unsigned i = 0; i < 12; i++) {
            unsigned len = (shift + i * 7) % 70;
            sf_buf_puts(&want, "{\"s\":\"");
            for (unsigned k = 0; k < len; k++) {
                sf_buf_putc(&text, (char)('a' + k % 26));
                sf_buf_putc(&want, (char)('a' + k % 26));
            }
            sf_buf_printf(&text, ",%u,", i * 1000003u);
            sf_buf_printf(&want, "\",\"n\":%u,\"t\":\"", i * 1000003u);
            if (i % 3 == 0) {
                sf_buf_puts(&text, "\"q,\n\"\"\"");
                sf_buf_puts(&want, "q,\\n\\\"");
            }
            sf_buf_puts(&text, i % 2 ? "\r\n" : "\n");
            sf_buf_puts(&want, "\"}\n");
        }
        parse_setup setup = {CSV, "s:String n:Long t:String", false};
        sf_parse_report report;
        CHECK(parse_text(&setup, sf_buf_str(&text), shift % 3 ? shift : 0, &rows, &report));
        CHECK_STR(rows.data, want.data);
        CHECK_INT(report.malformed, 0);
        sf_buf_deinit(&text);
        sf_buf_deinit(&want);
        sf_buf_deinit(&rows);
    }
}

/* The same random rows as csv and as ndjson: groups of csv rows must not differ from single rows. */
void csv_agrees_with_ndjson(void)
{
    static const char *const odd[] = {"-0.0",
                                      "1e3",
                                      "12345678.25",
                                      "-1",
                                      "1.5e-7",
                                      "soon",
                                      "1e400",
                                      "9223372036854775808",
                                      "0.123456789012345678901"};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        sf_rng rng = {.state = seed};
        sf_buf csv = {0}, json = {0}, rows[2] = {{0}, {0}}, counts[2] = {{0}, {0}};
        sf_buf_puts(&csv, "l,d,s,b,t\n");
        for (int i = 0; i < 500; i++) {
            char number[2][64];
            for (int k = 0; k < 2; k++) {
                uint64_t digits = sf_rng_next(&rng) >> sf_rng_below(&rng, 64);
                if (sf_rng_below(&rng, 100) < seed % 4)
                    snprintf(number[k], 64, "%s", odd[sf_rng_below(&rng, SF_COUNT_OF(odd))]);
                else if (sf_rng_below(&rng, 10) == 0)
                    number[k][0] = '\0';
                else if (k == 0 || sf_rng_below(&rng, 3) == 0)
                    snprintf(number[k], 64, "%lld", (long long)(digits >> 1));
                else
                    snprintf(number[k], 64, "%llu.%06llu", (unsigned long long)(digits >> 50),
                             (unsigned long long)(digits % 999999));
            }
            int len = (int)sf_rng_below(&rng, 30);
            const char *text = "abcdefghijklmnopqrstuvwxyz\xc3\xa9zz",
                       *flag = i % 3 ? "true" : "false";
            long long ms = (long long)sf_rng_below(&rng, 1000000);
            sf_buf_printf(&csv, "%s,%s,%.*s,%s,%lld\n", number[0], number[1], len, text,
                          i % 5 ? flag : "", ms);
            bool quoted = number[1][0] == 's';
            sf_buf_printf(&json, "{\"l\":%s%s%s,\"d\":%s%s%s,\"s\":\"%.*s\",\"b\":%s,\"t\":%lld}\n",
                          number[0][0] == 's' ? "\"" : "", number[0][0] ? number[0] : "null",
                          number[0][0] == 's' ? "\"" : "", quoted ? "\"" : "",
                          number[1][0] ? number[1] : "null", quoted ? "\"" : "", len, text,
                          i % 5 ? flag : "null", ms);
        }
        const sf_buf *texts[2] = {&csv, &json};
        for (int k = 0; k < 2; k++) {
            parse_setup setup = {{.format = k ? SF_FORMAT_NDJSON : SF_FORMAT_CSV, .batch_rows = 70},
                                 "l:Long d:Double s:String b:Bool t:Timestamp x:Long",
                                 true};
            sf_parse_report report = {0};
            CHECK(parse_text(&setup, sf_buf_str(texts[k]), 0, &rows[k], &report));
            report_text(&report, &counts[k]);
        }
        CHECK_STR(rows[0].data, rows[1].data);
        CHECK_STR(counts[0].data, counts[1].data);
        for (int k = 0; k < 2; k++) {
            sf_buf_deinit(&rows[k]);
            sf_buf_deinit(&counts[k]);
        }
        sf_buf_deinit(&csv);
        sf_buf_deinit(&json);
    }
}

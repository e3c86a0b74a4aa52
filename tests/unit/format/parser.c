/* The parser's life: batches, buffers, positions, memory, damage. */
#include "tests.h"

#include "base/seam.h"

void batches_are_cut_by_rows(void)
{
    for (size_t piece = 0; piece < 60; piece += 7) {
        sf_schema *schema = schema_of("a:Long");
        sf_parser_options options = {.schema = schema, .batch_rows = 100};
        sf_parser *parser = NULL;
        REQUIRE(sf_parser_new(&options, &parser, NULL) == SF_OK);
        sf_buf text = {0};
        for (int i = 0; i < 250; i++)
            sf_buf_printf(&text, "{\"a\":%d}\n", i);
        for (size_t at = 0, n; at < text.len; at += n) {
            n = piece && piece < text.len - at ? piece : text.len - at;
            CHECK(sf_parser_feed(parser, (sf_str){text.data + at, n}, NULL) == SF_OK);
        }
        uint32_t want[] = {100, 100};
        for (size_t i = 0; i < SF_COUNT_OF(want); i++) {
            sf_batch *batch = sf_parser_next(parser);
            REQUIRE(batch);
            CHECK_INT(batch->rows, want[i]);
            CHECK_INT(SF_LANES(batch->columns[0], int64_t)[0], (int64_t)i * 100);
            CHECK(batch->columns[0]->valid == NULL);
            sf_batch_unref(batch);
        }
        CHECK(sf_parser_next(parser) == NULL);
        CHECK(sf_parser_flush(parser, NULL) == SF_OK);
        sf_batch *rest = sf_parser_next(parser);
        REQUIRE(rest);
        CHECK_INT(rest->rows, 50);
        sf_batch_unref(rest);
        CHECK(sf_parser_finish(parser, NULL) == SF_OK);
        CHECK(sf_parser_next(parser) == NULL);
        sf_buf_deinit(&text);
        sf_parser_free(parser);
        sf_schema_unref(schema);
    }
}

void strings_share_the_input(void)
{
    sf_schema *schema = schema_of("s:String");
    sf_parser_options options = {.schema = schema};
    sf_parser *parser = NULL;
    REQUIRE(sf_parser_new(&options, &parser, NULL) == SF_OK);
    sf_str text = SF_STR(
        "{\"s\":\"a text that does not fit a view\"}\n{\"s\":\"another text of that kind\"}\n");
    CHECK(sf_parser_feed(parser, text, NULL) == SF_OK);
    CHECK(sf_parser_finish(parser, NULL) == SF_OK);
    sf_batch *batch = sf_parser_next(parser);
    sf_parser_free(parser);
    sf_schema_unref(schema);
    REQUIRE(batch);
    const sf_column *column = batch->columns[0];
    CHECK_INT(column->buffer_count, 1);
    CHECK(sf_str_eq(sf_column_str(column, 0), SF_STR("a text that does not fit a view")));
    CHECK(sf_str_eq(sf_column_str(column, 1), SF_STR("another text of that kind")));
    CHECK(sf_column_str(column, 1).data - sf_column_str(column, 0).data == 40);
    sf_batch_unref(batch);
}

/* Many rows over many buffers, with NULLs, escapes, misfits and malformed rows between. */
void batches_verify(void)
{
    sf_rng rng = {.state = 5};
    sf_buf text = {0}, whole = {0}, pieces = {0};
    for (int i = 0; i < 20000; i++) {
        switch (sf_rng_below(&rng, 8)) {
        case 0: sf_buf_printf(&text, "{\"a\":%d}\n", i); break;
        case 1: sf_buf_printf(&text, "{\"s\":\"escaped \\\"text\\\" number %d\"}\n", i); break;
        case 2: sf_buf_puts(&text, "{\"s\":\"broken\n"); break;
        case 3:
            sf_buf_printf(&text, "{\"a\":\"x\",\"s\":\"long text, not shared %d\",\n", i);
            break;
        default:
            sf_buf_printf(&text, "{\"s\":\"a text of some length %d\",\"a\":%d,\"j\":[%d]}\n", i, i,
                          i);
        }
    }
    parse_setup setup = {{0}, "a:Long s:String j:Json", false};
    sf_parse_report one, many;
    CHECK(parse_text(&setup, sf_buf_str(&text), 0, &whole, &one));
    CHECK(parse_text(&setup, sf_buf_str(&text), 1021, &pieces, &many));
    CHECK(sf_str_eq(sf_buf_str(&whole), sf_buf_str(&pieces)));
    CHECK_INT(one.rows, many.rows);
    CHECK_INT(one.records, 20000);
    CHECK_INT(one.rows + one.malformed, 20000);
    CHECK(one.malformed > 4000 && one.malformed == many.malformed);
    sf_buf_deinit(&text);
    sf_buf_deinit(&whole);
    sf_buf_deinit(&pieces);
}

/* Stop behind every byte, save, go on with a new parser from the saved position. */
static void go_on_from(const parse_setup *setup, sf_str text, size_t cut, sf_buf *rows)
{
    sf_schema *schema = schema_of(setup->fields);
    sf_parser_options options = setup->options;
    options.schema = schema;
    sf_buf saved = {0};
    uint64_t consumed = 0;
    for (int part = 0; part < 2; part++) {
        sf_parser *parser = NULL;
        sf_error err = {0};
        REQUIRE(sf_parser_new(&options, &parser, NULL) == SF_OK);
        if (part == 1)
            REQUIRE_OK(sf_parser_restore(parser, sf_buf_str(&saved), &err), err);
        sf_str piece = part == 0 ? (sf_str){text.data, cut}
                                 : (sf_str){text.data + consumed, text.len - consumed};
        CHECK(sf_parser_feed(parser, piece, NULL) == SF_OK);
        if (part == 1)
            CHECK(sf_parser_finish(parser, NULL) == SF_OK);
        CHECK(sf_parser_flush(parser, NULL) == SF_OK);
        for (sf_batch *batch; (batch = sf_parser_next(parser)) != NULL; sf_batch_unref(batch))
            sf_write_ndjson(rows, batch);
        consumed = sf_parser_consumed(parser);
        CHECK(part == 1 || consumed <= cut);
        sf_buf_clear(&saved);
        sf_parser_save(parser, &saved);
        sf_parser_free(parser);
    }
    sf_buf_deinit(&saved);
    sf_schema_unref(schema);
}

void parser_goes_on_later(void)
{
    static const struct {
        sf_parser_options options;
        const char *text;
    } inputs[] = {
        {{.format = SF_FORMAT_NDJSON},
         "\xef\xbb\xbf{\"a\":1,\"s\":\"x\"}\n\n{\"a\":2}\r\n{\"a\":bad}\n{\"a\":3}"},
        {{.format = SF_FORMAT_JSON},
         "[ {\"a\":1,\"s\":\"}]\"} , {\"a\":2}, 7, {\"a\":3} ] {\"a\":4}"},
        {{.format = SF_FORMAT_CSV}, "\r\n\"s\"|a\r\n\"x\r\n\"|1\r\n\r\n|2\r\nlong text behind|3"},
        {{.format = SF_FORMAT_NDJSON, .record_bytes_max = 20},
         "{\"a\":1}\n{\"s\":\"0123456789012345\"}\n{\"a\":2}\n"},
        {{.format = SF_FORMAT_JSON, .record_bytes_max = 20},
         "[{\"a\":1},{\"s\":\"0123456}]\\\"\\\\89012345\"},{\"a\":2}]"},
        {{.format = SF_FORMAT_CSV, .record_bytes_max = 20},
         "a,s\n1,x\n2,\"0123456789\n\"\"01234567890,\"\n3,y\n"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(inputs); i++) {
        parse_setup setup = {inputs[i].options, "a:Long s:String", false};
        sf_str text = sf_str_of(inputs[i].text);
        sf_buf want = {0};
        CHECK(parse_text(&setup, text, 0, &want, NULL));
        CHECK(want.len > 20);
        for (size_t cut = 0; cut <= text.len; cut++) {
            sf_buf rows = {0};
            sf_buf_puts(&rows, "");
            go_on_from(&setup, text, cut, &rows);
            if (strcmp(rows.data, want.data) != 0)
                printf("  input %zu cut at %zu\n", i, cut);
            CHECK_STR(rows.data, want.data);
            sf_buf_deinit(&rows);
        }
        sf_buf_deinit(&want);
    }
    sf_schema *schema = schema_of("a:Long");
    sf_parser_options options = {.schema = schema};
    sf_parser *parser = NULL;
    REQUIRE(sf_parser_new(&options, &parser, NULL) == SF_OK);
    sf_buf saved = {0};
    sf_parser_save(parser, &saved);
    for (size_t len = 0; len < saved.len; len++)
        CHECK(sf_parser_restore(parser, (sf_str){saved.data, len}, NULL) == SF_CORRUPT);
    CHECK(sf_parser_restore(parser, sf_buf_str(&saved), NULL) == SF_OK);
    saved.data[0] ^= 1;
    CHECK(sf_parser_restore(parser, sf_buf_str(&saved), NULL) == SF_CORRUPT);
    sf_buf_deinit(&saved);
    sf_parser_free(parser);
    sf_schema_unref(schema);
}

void parser_resets(void)
{
    sf_schema *schema = schema_of("a:Long");
    sf_parser_options options = {.format = SF_FORMAT_CSV, .schema = schema};
    sf_parser *parser = NULL;
    REQUIRE(sf_parser_new(&options, &parser, NULL) == SF_OK);
    CHECK(sf_parser_feed(parser, SF_STR("a;b\n1;\"x"), NULL) == SF_OK);
    sf_parser_reset(parser);
    CHECK(sf_parser_next(parser) == NULL);
    sf_parser_set_stamp(parser, 5);
    CHECK(sf_parser_feed(parser, SF_STR("b,a\nq,7\n"), NULL) == SF_OK);
    CHECK(sf_parser_finish(parser, NULL) == SF_OK);
    sf_batch *batch = sf_parser_next(parser);
    REQUIRE(batch);
    CHECK_INT(batch->rows, 1);
    CHECK_INT(SF_LANES(batch->columns[0], int64_t)[0], 7);
    CHECK_INT(SF_LANES(batch->columns[2], int64_t)[0], 5);
    CHECK_INT(sf_parser_report(parser)->malformed, 0);
    sf_batch_unref(batch);
    sf_parser_free(parser);
    sf_schema_unref(schema);
    sf_parser_free(NULL);
}

void parser_refuses_options(void)
{
    sf_field odd[] = {{"a", SF_TYPE_U8, false}};
    sf_field hidden[] = {{"b", SF_TYPE_I64, true}};
    sf_field good[] = {{"a", SF_TYPE_I64, false}};
    sf_schema *odd_schema = sf_schema_new(odd, 1), *hidden_schema = sf_schema_new(hidden, 1);
    sf_schema *good_schema = sf_schema_new(good, 1);
    const struct {
        sf_parser_options options;
        const char *message;
    } rows[] = {
        {{.schema = odd_schema}, "column \"a\" has type U8, which rows cannot hold"},
        {{.schema = hidden_schema}, "hidden column \"b\" cannot be read from rows"},
        {{.schema = good_schema, .delimiter = 'x'}, "csv delimiter \"x\" is not one of , tab ; |"},
        {{.schema = good_schema, .batch_rows = SF_BATCH_ROWS_MAX + 1}, "batches of 65537 rows"},
        {{.schema = good_schema, .record_bytes_max = (size_t)1 << 40}, "the limit of bytes a row"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_parser *parser = NULL;
        sf_error err = {0};
        CHECK(sf_parser_new(&rows[i].options, &parser, &err) == SF_INVALID);
        CHECK(strstr(err.message, rows[i].message));
    }
    /* A schema without hidden columns will do. */
    sf_parser_options plain = {.schema = good_schema};
    sf_parser *parser = NULL;
    REQUIRE(sf_parser_new(&plain, &parser, NULL) == SF_OK);
    CHECK(sf_parser_feed(parser, SF_STR("{\"a\":1,\"_ts\":5}\n"), NULL) == SF_OK);
    CHECK_INT(sf_parser_report(parser)->rows, 1);
    CHECK_INT(sf_parser_report(parser)->unknown_fields, 0);
    sf_parser_free(parser);
    sf_schema_unref(odd_schema);
    sf_schema_unref(hidden_schema);
    sf_schema_unref(good_schema);
}

void parser_survives_short_memory(void)
{
    static const struct {
        sf_format format;
        const char *text;
    } inputs[] = {
        {SF_FORMAT_NDJSON, "{\"a\":1,\"s\":\"x\\n and more than twelve\"}\n{\"s\":\"shared text, "
                           "long enough\",\"\\u0061\":2}\n{}\n"},
        {SF_FORMAT_JSON, "[{\"a\":1,\"s\":\"x\\n and more than twelve\"},{\"s\":\"y\"}]"},
        {SF_FORMAT_CSV, "s,a\n\"doubled \"\"quotes\"\" and long\",1\nshared text long enough,2\n"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(inputs); i++) {
        bool done = false;
        for (uint64_t n = 1; n < 200 && !done; n++) {
            parse_setup setup = {
                {.format = inputs[i].format, .batch_rows = 2}, "a:Long s:String", false};
            sf_alloc_fail_after(n);
            done = parse_text(&setup, sf_str_of(inputs[i].text), 7, NULL, NULL);
            sf_alloc_fail_after(0);
        }
        CHECK(done);
    }
}

/* Damaged input: whatever it is, every way to cut it gives the same rows and counters. */
void parser_survives_damage(void)
{
    static const char *const texts[] = {
        "{\"a\":1,\"s\":\"x\\u00e9 and a longer "
        "text\",\"j\":[1,{\"b\":null}]}\n{\"s\":\"y\",\"a\":-2.50e1}\n\n{\"a\":3}\n",
        "[{\"a\":1,\"s\":\"x\\u00e9 and a longer "
        "text\",\"j\":[1,{\"b\":null}]},\n{\"s\":\"y\",\"a\":-2.50e1}, {\"a\":3}]\n",
        "a,s,j\r\n1,\"x, \"\"quoted\"\" and longer\",\"[1]\"\r\n2,y\r\n\r\n3,\"z\",\r\n",
    };
    static const char damage[] = "{}[]\",:\\u0d8\x01\xff \n\r;\xc3\xa9tn";
    sf_rng rng = {.state = 4242};
    for (int i = 0; i < 6000; i++) {
        sf_format format = (sf_format)(i % 3);
        size_t len = strlen(texts[i % 3]);
        char text[256];
        memcpy(text, texts[i % 3], len);
        for (uint64_t n = 1 + sf_rng_below(&rng, 4); n > 0; n--)
            text[sf_rng_below(&rng, len)] = damage[sf_rng_below(&rng, sizeof damage - 1)];
        parse_setup setup = {
            {.format = format, .record_bytes_max = i % 2 ? 40 : 0}, "a:Long s:String j:Json", true};
        sf_buf rows[3] = {0}, counts[3] = {0};
        size_t pieces[3] = {0, 1, 1 + sf_rng_below(&rng, 40)};
        for (int k = 0; k < 3; k++) {
            sf_parse_report report = {0};
            sf_buf_puts(&rows[k], "");
            CHECK(parse_text(&setup, (sf_str){text, len}, pieces[k], &rows[k], &report));
            report_text(&report, &counts[k]);
            sf_buf_printf(&counts[k], " records=%llu", (unsigned long long)report.records);
            for (uint32_t e = 0; e < report.error_count; e++)
                sf_buf_printf(&counts[k], "\n%llu %s", (unsigned long long)report.errors[e].line,
                              report.errors[e].message);
        }
        for (int k = 1; k < 3; k++) {
            if (!sf_str_eq(sf_buf_str(&rows[0]), sf_buf_str(&rows[k])) ||
                strcmp(counts[0].data, counts[k].data) != 0)
                printf("  %.*s\n  in pieces of %zu\n", (int)len, text, pieces[k]);
            CHECK_STR(rows[k].data, rows[0].data);
            CHECK_STR(counts[k].data, counts[0].data);
        }
        for (int k = 0; k < 3; k++) {
            sf_buf_deinit(&rows[k]);
            sf_buf_deinit(&counts[k]);
        }
        if (sf_check_failures > 5)
            return;
    }
}

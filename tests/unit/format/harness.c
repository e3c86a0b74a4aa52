/* What the cases share: a schema from a line, a parse in pieces, a report as text. */
#include "tests.h"

sf_schema *schema_of(const char *text)
{
    sf_field fields[16];
    char names[16][32];
    uint32_t count = 0;
    while (*text) {
        size_t len = strcspn(text, " "), colon = strcspn(text, ":");
        memcpy(names[count], text, colon);
        names[count][colon] = '\0';
        fields[count] = (sf_field){.name = names[count]};
        bool known =
            sf_type_from_name((sf_str){text + colon + 1, len - colon - 1}, &fields[count].type);
        SF_ASSERT(known && count < 13);
        count++;
        text += len + (text[len] == ' ');
    }
    fields[count++] = (sf_field){SF_COL_RETRACT, SF_TYPE_BOOL, true};
    fields[count++] = (sf_field){SF_COL_TS, SF_TYPE_I64, true};
    return sf_schema_new(fields, count);
}

static bool take_batches(sf_parser *parser, const parse_setup *setup, sf_buf *rows)
{
    sf_batch *batch;
    while ((batch = sf_parser_next(parser)) != NULL) {
        sf_error err = {0};
        bool sound = sf_batch_verify(batch, &err);
        if (!sound)
            printf("  a batch is damaged: %s\n", err.message);
        CHECK(sound);
        for (uint32_t row = 0; rows && sound && row < batch->rows; row++) {
            sf_write_json_row(rows, batch, row, setup->hidden);
            sf_buf_putc(rows, '\n');
        }
        sf_batch_unref(batch);
    }
    return !rows || !rows->failed;
}

bool parse_text(const parse_setup *setup, sf_str text, size_t piece, sf_buf *rows,
                sf_parse_report *report)
{
    sf_parser_options options = setup->options;
    sf_schema *schema = schema_of(setup->fields);
    sf_parser *parser = NULL;
    options.schema = schema;
    bool good = schema && sf_parser_new(&options, &parser, NULL) == SF_OK;
    for (size_t at = 0; good && at < text.len;) {
        size_t n = piece && piece < text.len - at ? piece : text.len - at;
        /* A copy of exactly this size: a read past its end is seen. */
        char *copy = sf_strndup(text.data + at, n);
        good = copy && sf_parser_feed(parser, (sf_str){copy, n}, NULL) == SF_OK;
        sf_free(copy);
        at += n;
        good = good && take_batches(parser, setup, rows);
    }
    good = good && sf_parser_finish(parser, NULL) == SF_OK && take_batches(parser, setup, rows);
    if (good && report)
        *report = *sf_parser_report(parser);
    sf_parser_free(parser);
    sf_schema_unref(schema);
    return good;
}

void report_text(const sf_parse_report *report, sf_buf *out)
{
    const struct {
        const char *name;
        uint64_t value;
    } counters[] = {
        {"malformed", report->malformed},   {"misfits", report->misfits},
        {"dropped", report->dropped},       {"unknown", report->unknown_fields},
        {"refused", report->unknown_rows},  {"short", report->short_rows},
        {"retracted", report->retractions},
    };
    sf_buf_puts(out, "");
    for (size_t i = 0; i < SF_COUNT_OF(counters); i++)
        if (counters[i].value)
            sf_buf_printf(out, "%s%s=%llu", out->len ? " " : "", counters[i].name,
                          (unsigned long long)counters[i].value);
}

static void check_parse(const parse_row *c, sf_str text, size_t piece)
{
    parse_setup setup = {c->options, c->fields, c->hidden};
    sf_buf rows = {0}, counts = {0};
    sf_parse_report report = {0};
    sf_buf_puts(&rows, "");
    CHECK(parse_text(&setup, text, piece, &rows, &report));
    report_text(&report, &counts);
    if (strcmp(rows.data, c->rows) != 0 || strcmp(counts.data, c->counts) != 0) {
        printf("  %s, in pieces of %zu\n", c->title, piece);
        for (uint32_t i = 0; i < report.error_count; i++)
            printf("    row %llu: %s\n", (unsigned long long)report.errors[i].row,
                   report.errors[i].message);
    }
    CHECK_STR(rows.data, c->rows);
    CHECK_STR(counts.data, c->counts);
    sf_buf_deinit(&rows);
    sf_buf_deinit(&counts);
}

void check_parses(const parse_row *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t piece = 0; piece < 8; piece++)
            check_parse(&cases[i], sf_str_of(cases[i].input), piece);
}

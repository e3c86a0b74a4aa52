/* Rows for people and programs: an aligned table, NDJSON or CSV on standard output. */
#include "cli/query.h"
#include "text/text.h"

#include <errno.h>

enum { BUFFER_BYTES = 64 << 10 };

/* ---- tables ---- */

static void cell_text(sf_buf *buf, const sf_column *column, uint32_t row)
{
    char time[SF_NUMBER_MAX];
    sf_buf_clear(buf);
    if (!sf_column_is_valid(column, row)) {
        sf_buf_puts(buf, "NULL");
        return;
    }
    switch (column->type) {
    case SF_TYPE_UTF8:
    case SF_TYPE_JSON: {
        sf_str text = sf_column_str(column, row);
        sf_buf_put(buf, text.data, text.len);
        return;
    }
    case SF_TYPE_TIMESTAMP:
        sf_buf_put(buf, time, sf_print_time(time, SF_LANES(column, int64_t)[row]));
        return;
    default: sf_write_json_value(buf, column, row); return;
    }
}

static sf_status put_cell(sf_query_output *out, const sf_buf *text, sf_error *err)
{
    return text->failed ? sf_fail_memory(err) : sf_cli_grid_cell(&out->grid, sf_buf_str(text), err);
}

static sf_status put_epoch(sf_query_output *out, uint64_t epoch, int64_t weight, sf_buf *text,
                           sf_error *err)
{
    sf_buf_printf(text, "%llu", (unsigned long long)epoch);
    SF_TRY(put_cell(out, text, err));
    sf_buf_clear(text);
    sf_buf_printf(text, "%+lld", (long long)weight);
    return put_cell(out, text, err);
}

static sf_status table_row(sf_query_output *out, uint64_t epoch, const sf_batch *batch,
                           uint32_t row, sf_error *err)
{
    sf_buf text = {0};
    sf_status status = SF_OK;
    if (out->changes)
        status = put_epoch(out, epoch, sf_batch_weight(batch, row), &text, err);
    for (uint32_t i = 0; status == SF_OK && i < batch->schema->count; i++) {
        if (batch->schema->fields[i].hidden)
            continue;
        cell_text(&text, batch->columns[i], row);
        status = put_cell(out, &text, err);
    }
    sf_buf_deinit(&text);
    return status;
}

static bool is_number(sf_type type)
{
    return type == SF_TYPE_I64 || type == SF_TYPE_F64;
}

static sf_status table_init(sf_query_output *out, sf_error *err)
{
    const sf_schema *schema = out->schema;
    size_t count = out->changes ? 2 : 0, column = 0;
    for (uint32_t i = 0; i < schema->count; i++)
        count += !schema->fields[i].hidden;
    SF_TRY(sf_cli_grid_init(&out->grid, count, err));
    if (out->changes) {
        out->grid.right[column++] = true;
        out->grid.right[column++] = true;
        SF_TRY(sf_cli_grid_cell(&out->grid, SF_STR("_epoch"), err));
        SF_TRY(sf_cli_grid_cell(&out->grid, SF_STR("_weight"), err));
    }
    for (uint32_t i = 0; i < schema->count; i++) {
        if (schema->fields[i].hidden)
            continue;
        out->grid.right[column++] = is_number(schema->fields[i].type);
        SF_TRY(sf_cli_grid_cell(&out->grid, sf_str_of(schema->fields[i].name), err));
    }
    return SF_OK;
}

/* ---- the three styles ---- */

static void ndjson_row(sf_query_output *out, uint64_t epoch, const sf_batch *batch, uint32_t row)
{
    if (!out->changes) {
        sf_write_json_row(&out->buf, batch, row, false);
    } else {
        sf_buf_printf(&out->buf, "{\"_epoch\":%llu,\"_weight\":%lld", (unsigned long long)epoch,
                      (long long)sf_batch_weight(batch, row));
        size_t brace = out->buf.len;
        sf_write_json_row(&out->buf, batch, row, false);
        if (!out->buf.failed && out->buf.data[brace + 1] != '}')
            out->buf.data[brace] = ',';
        else if (!out->buf.failed) /* no columns: one brace is enough */
            memmove(out->buf.data + brace, out->buf.data + brace + 1, out->buf.len-- - brace);
    }
    sf_buf_putc(&out->buf, '\n');
}

static void csv_row(sf_query_output *out, uint64_t epoch, const sf_batch *batch, uint32_t row)
{
    if (out->changes)
        sf_buf_printf(&out->buf, "%llu,%lld,", (unsigned long long)epoch,
                      (long long)sf_batch_weight(batch, row));
    sf_write_csv_row(&out->buf, batch, row);
}

static sf_status put_row(sf_query_output *out, uint64_t epoch, const sf_batch *batch, uint32_t row,
                         sf_error *err)
{
    out->rows++;
    switch (out->style) {
    case SF_QUERY_TABLE: SF_TRY(table_row(out, epoch, batch, row, err)); break;
    case SF_QUERY_NDJSON: ndjson_row(out, epoch, batch, row); break;
    case SF_QUERY_CSV: csv_row(out, epoch, batch, row); break;
    }
    return out->buf.failed || out->buf.len > BUFFER_BYTES ? sf_cli_put(&out->buf, err) : SF_OK;
}

sf_status sf_query_output_init(sf_query_output *out, sf_query_style style, bool changes,
                               const sf_schema *schema, sf_error *err)
{
    *out = (sf_query_output){.style = style, .changes = changes, .schema = schema};
    if (style == SF_QUERY_TABLE)
        return table_init(out, err);
    if (style == SF_QUERY_CSV) {
        if (changes)
            sf_buf_puts(&out->buf, "_epoch,_weight,");
        sf_write_csv_header(&out->buf, schema);
    }
    return SF_OK;
}

sf_status sf_query_output_batch(sf_query_output *out, uint64_t epoch, const sf_batch *batch,
                                sf_error *err)
{
    for (uint32_t row = 0; row < batch->rows; row++) {
        int64_t times = out->changes ? 1 : sf_batch_weight(batch, row);
        for (int64_t i = 0; i < times; i++)
            SF_TRY(put_row(out, epoch, batch, row, err));
    }
    return SF_OK;
}

static sf_status show(sf_query_output *out, bool held, sf_error *err)
{
    if (out->style == SF_QUERY_TABLE)
        SF_TRY(sf_cli_grid_show(&out->grid, held, err));
    SF_TRY(sf_cli_put(&out->buf, err));
    return fflush(stdout) == 0
               ? SF_OK
               : sf_fail(err, SF_IO, "standard output cannot be written: %s", strerror(errno));
}

sf_status sf_query_output_show(sf_query_output *out, bool held, sf_error *err)
{
    return show(out, held && out->rows > 0, err);
}

sf_status sf_query_output_finish(sf_query_output *out, sf_error *err)
{
    SF_TRY(show(out, true, err));
    if (out->style == SF_QUERY_TABLE)
        sf_buf_printf(&out->buf, "(%llu row%s)\n", (unsigned long long)out->rows,
                      out->rows == 1 ? "" : "s");
    return show(out, true, err);
}

void sf_query_output_deinit(sf_query_output *out)
{
    sf_cli_grid_deinit(&out->grid);
    sf_buf_deinit(&out->buf);
}

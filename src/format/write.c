/* Rows to bytes: JSON and CSV. */
#include "format/format.h"
#include "text/text.h"

#include <math.h>

/* ---- JSON ---- */

/* JSON text may hold line ends between its tokens (never inside strings): a row stays one line. */
static void put_json_text(sf_buf *buf, sf_str text)
{
    size_t from = buf->len;
    sf_buf_put(buf, text.data, text.len);
    bool lines =
        text.len && (memchr(text.data, '\n', text.len) || memchr(text.data, '\r', text.len));
    for (size_t i = from; lines && i < buf->len; i++)
        if (buf->data[i] == '\n' || buf->data[i] == '\r')
            buf->data[i] = ' ';
}

static void put_base64(sf_buf *buf, sf_str bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    sf_buf_putc(buf, '"');
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t group = (uint32_t)(unsigned char)bytes.data[i] << 16;
        if (left > 1)
            group |= (uint32_t)(unsigned char)bytes.data[i + 1] << 8;
        if (left > 2)
            group |= (unsigned char)bytes.data[i + 2];
        char text[4] = {digits[group >> 18], digits[group >> 12 & 63], '=', '='};
        if (left > 1)
            text[2] = digits[group >> 6 & 63];
        if (left > 2)
            text[3] = digits[group & 63];
        sf_buf_put(buf, text, sizeof text);
    }
    sf_buf_putc(buf, '"');
}

static void put_u64(sf_buf *buf, uint64_t value)
{
    char text[SF_NUMBER_MAX];
    sf_buf_put(buf, text, sf_print_u64(text, value));
}

/* A lane with a value, of a type that prints as a number or word; false: a view. */
static bool put_scalar(sf_buf *buf, const sf_column *column, uint32_t row)
{
    switch (column->type) {
    case SF_TYPE_BOOL: sf_buf_puts(buf, SF_LANES(column, uint8_t)[row] ? "true" : "false"); break;
    case SF_TYPE_I8: sf_buf_put_i64_text(buf, SF_LANES(column, int8_t)[row]); break;
    case SF_TYPE_I16: sf_buf_put_i64_text(buf, SF_LANES(column, int16_t)[row]); break;
    case SF_TYPE_I32: sf_buf_put_i64_text(buf, SF_LANES(column, int32_t)[row]); break;
    case SF_TYPE_I64:
    case SF_TYPE_TIMESTAMP:
    case SF_TYPE_TIMESTAMP_NS: sf_buf_put_i64_text(buf, SF_LANES(column, int64_t)[row]); break;
    case SF_TYPE_U8: put_u64(buf, SF_LANES(column, uint8_t)[row]); break;
    case SF_TYPE_U16: put_u64(buf, SF_LANES(column, uint16_t)[row]); break;
    case SF_TYPE_U32: put_u64(buf, SF_LANES(column, uint32_t)[row]); break;
    case SF_TYPE_U64: put_u64(buf, SF_LANES(column, uint64_t)[row]); break;
    case SF_TYPE_F32: sf_json_put_f64(buf, (double)SF_LANES(column, float)[row]); break;
    case SF_TYPE_F64: sf_json_put_f64(buf, SF_LANES(column, double)[row]); break;
    default: return false;
    }
    return true;
}

void sf_write_json_value(sf_buf *buf, const sf_column *column, uint32_t row)
{
    if (!sf_column_is_valid(column, row))
        sf_buf_puts(buf, "null");
    else if (column->type == SF_TYPE_UTF8)
        sf_json_put_string(buf, sf_column_str(column, row));
    else if (column->type == SF_TYPE_JSON)
        put_json_text(buf, sf_column_str(column, row));
    else if (column->type == SF_TYPE_BINARY)
        put_base64(buf, sf_column_str(column, row));
    else
        put_scalar(buf, column, row);
}

void sf_write_json_row(sf_buf *buf, const sf_batch *batch, uint32_t row, bool with_hidden)
{
    char before = '{';
    for (uint32_t i = 0; i < batch->schema->count; i++) {
        const sf_field *field = &batch->schema->fields[i];
        if (field->hidden && !with_hidden)
            continue;
        sf_buf_putc(buf, before);
        before = ',';
        sf_json_put_string(buf, sf_str_of(field->name));
        sf_buf_putc(buf, ':');
        sf_write_json_value(buf, batch->columns[i], row);
    }
    if (before == '{')
        sf_buf_putc(buf, '{');
    sf_buf_putc(buf, '}');
}

void sf_write_ndjson(sf_buf *buf, const sf_batch *batch)
{
    for (uint32_t row = 0; row < batch->rows; row++) {
        sf_write_json_row(buf, batch, row, false);
        sf_buf_putc(buf, '\n');
    }
}

/* ---- CSV ---- */

static bool needs_quotes(sf_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '"' || text.data[i] == ',' || text.data[i] == '\n' ||
            text.data[i] == '\r')
            return true;
    return text.len == 0;
}

static void put_cell(sf_buf *buf, sf_str text)
{
    if (!needs_quotes(text)) {
        sf_buf_put(buf, text.data, text.len);
        return;
    }
    sf_buf_putc(buf, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '"')
            sf_buf_putc(buf, '"');
        sf_buf_putc(buf, text.data[i]);
    }
    sf_buf_putc(buf, '"');
}

static uint32_t shown_columns(const sf_schema *schema)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < schema->count; i++)
        count += !schema->fields[i].hidden;
    return count;
}

void sf_write_csv_header(sf_buf *buf, const sf_schema *schema)
{
    bool first = true;
    for (uint32_t i = 0; i < schema->count; i++) {
        if (schema->fields[i].hidden)
            continue;
        if (!first)
            sf_buf_putc(buf, ',');
        first = false;
        put_cell(buf, sf_str_of(schema->fields[i].name));
    }
    sf_buf_puts(buf, "\r\n");
}

static void put_csv_value(sf_buf *buf, const sf_column *column, uint32_t row)
{
    bool finite = column->type != SF_TYPE_F64 || isfinite(SF_LANES(column, double)[row]);
    if (column->type == SF_TYPE_F32)
        finite = isfinite(SF_LANES(column, float)[row]);
    if (!finite || !sf_column_is_valid(column, row))
        return;
    if (column->type == SF_TYPE_BINARY)
        put_base64(buf, sf_column_str(column, row));
    else if (!put_scalar(buf, column, row))
        put_cell(buf, sf_column_str(column, row));
}

void sf_write_csv_row(sf_buf *buf, const sf_batch *batch, uint32_t row)
{
    const sf_schema *schema = batch->schema;
    size_t start = buf->len;
    bool first = true;
    for (uint32_t i = 0; i < schema->count; i++) {
        if (schema->fields[i].hidden)
            continue;
        if (!first)
            sf_buf_putc(buf, ',');
        first = false;
        put_csv_value(buf, batch->columns[i], row);
    }
    /* An empty line would be passed over by readers. */
    if (buf->len == start && shown_columns(schema) == 1)
        sf_buf_puts(buf, "\"\"");
    sf_buf_puts(buf, "\r\n");
}

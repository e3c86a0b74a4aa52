#include "column/pack.h"

enum { PACK_VERSION = 1, FLAG_WEIGHTS = 1, FLAG_VALID = 1 };

static void pack_column(const sf_column *column, sf_buf *out)
{
    sf_buf_put_u32(out, (uint32_t)column->type);
    sf_buf_put_u32(out, column->valid ? FLAG_VALID : 0);
    if (column->valid)
        sf_buf_put(out, column->valid, SF_VALID_WORDS(column->rows) * 8);
    if (!sf_type_is_view(column->type)) {
        sf_buf_put(out, column->data, column->rows * sf_type_lane_bytes(column->type));
        return;
    }
    const sf_view *views = column->data;
    for (uint32_t i = 0; i < column->rows; i++)
        sf_buf_put_u32(out, views[i].len);
    for (uint32_t i = 0; i < column->rows; i++) {
        sf_str text = sf_column_str(column, i);
        sf_buf_put(out, text.data, text.len);
    }
}

void sf_batch_pack(const sf_batch *batch, sf_buf *out)
{
    sf_buf_put_u32(out, PACK_VERSION);
    sf_buf_put_u32(out, batch->rows);
    sf_buf_put_u32(out, batch->schema->count);
    sf_buf_put_u32(out, batch->weights ? FLAG_WEIGHTS : 0);
    for (uint32_t i = 0; i < batch->schema->count; i++) {
        sf_buf_put_str(out, sf_str_of(batch->schema->fields[i].name));
        sf_buf_put_u32(out, batch->schema->fields[i].hidden);
        pack_column(batch->columns[i], out);
    }
    if (batch->weights)
        pack_column(batch->weights, out);
}

static sf_column *unpack_fixed(sf_reader *in, sf_type type, uint32_t rows, bool with_valid)
{
    sf_column *column = sf_column_new(type, rows, with_valid);
    if (!column)
        return NULL;
    if (with_valid) {
        const void *valid = sf_read_bytes(in, SF_VALID_WORDS(rows) * 8);
        if (valid)
            memcpy(sf_column_valid(column), valid, SF_VALID_WORDS(rows) * 8);
        if (valid && (rows & 63)) /* spare bits stay 0 */
            sf_column_valid(column)[rows >> 6] &= (1ULL << (rows & 63)) - 1;
    }
    if (sf_type_is_view(type))
        return column;
    size_t bytes = rows * sf_type_lane_bytes(type);
    const void *lanes = sf_read_bytes(in, bytes);
    if (lanes)
        memcpy(sf_column_lanes(column), lanes, bytes);
    if (lanes && type == SF_TYPE_BOOL) {
        uint8_t *bools = sf_column_lanes(column);
        for (uint32_t i = 0; i < rows; i++)
            bools[i] = bools[i] != 0;
    }
    return column;
}

/* Lengths, then one buffer that all long texts share. */
static bool unpack_views(sf_reader *in, sf_column *column)
{
    uint32_t rows = column->rows;
    const uint8_t *lengths = sf_read_bytes(in, rows * 4ULL);
    uint64_t total = 0;
    for (uint32_t i = 0; lengths && i < rows; i++) {
        uint32_t length;
        memcpy(&length, lengths + i * 4ULL, 4);
        total += length;
    }
    const char *text = lengths && total <= UINT32_MAX ? sf_read_bytes(in, (size_t)total) : NULL;
    if (!text)
        return rows == 0 && !in->failed;
    sf_buffer *buffer = sf_buffer_new((size_t)total);
    if (!buffer || !sf_column_set_buffers(column, &buffer, 1)) {
        sf_buffer_unref(buffer);
        return false;
    }
    memcpy(buffer->data, text, (size_t)total);
    sf_view *views = sf_column_lanes(column);
    uint32_t offset = 0;
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t length;
        memcpy(&length, lengths + i * 4ULL, 4);
        views[i] = length <= SF_VIEW_INLINE ? sf_view_short(text + offset, length)
                                            : sf_view_far(text + offset, length, 0, offset);
        offset += length;
    }
    sf_buffer_unref(buffer);
    return true;
}

static sf_column *unpack_column(sf_reader *in, uint32_t rows)
{
    uint32_t type = sf_read_u32(in), flags = sf_read_u32(in);
    if (in->failed || type >= SF_TYPE_COUNT || flags > FLAG_VALID) {
        in->failed = true;
        return NULL;
    }
    sf_column *column = unpack_fixed(in, (sf_type)type, rows, flags == FLAG_VALID);
    if (column && sf_type_is_view((sf_type)type) && !in->failed && !unpack_views(in, column)) {
        sf_column_unref(column);
        return NULL;
    }
    return column;
}

/* Columns and their fields; names point into an arena. */
static bool unpack_columns(sf_reader *in, uint32_t rows, uint32_t count, sf_arena *arena,
                           sf_field *fields, sf_column **columns)
{
    for (uint32_t i = 0; i < count; i++) {
        sf_str name = sf_read_str(in);
        bool hidden = sf_read_u32(in) != 0;
        char *copy = in->failed ? NULL : sf_arena_strndup(arena, name.data, name.len);
        columns[i] = copy ? unpack_column(in, rows) : NULL;
        if (!columns[i])
            return false;
        fields[i] = (sf_field){copy, columns[i]->type, hidden};
    }
    return true;
}

static sf_schema *schema_of(const sf_field *fields, uint32_t count, const sf_schema *like)
{
    sf_schema *own = sf_schema_new(fields, count);
    if (!own || !like || !sf_schema_same(own, like))
        return own;
    sf_schema_unref(own);
    return sf_schema_ref(like);
}

sf_status sf_batch_unpack(sf_str bytes, const sf_schema *like, sf_batch **out, sf_error *err)
{
    sf_reader in = {.data = (const uint8_t *)bytes.data, .len = bytes.len};
    uint32_t version = sf_read_u32(&in), rows = sf_read_u32(&in), count = sf_read_u32(&in);
    uint32_t flags = sf_read_u32(&in);
    if (in.failed || version != PACK_VERSION || rows > SF_BATCH_ROWS_MAX ||
        count > SF_COLUMNS_MAX || flags > FLAG_WEIGHTS)
        return sf_fail(err, SF_CORRUPT, "packed rows have an unknown form");
    sf_arena arena;
    sf_arena_init(&arena, 0);
    sf_column **columns = sf_calloc(count + 1u, sizeof *columns), *weights = NULL;
    sf_field *fields = sf_calloc(count + 1u, sizeof *fields);
    sf_schema *schema = NULL;
    *out = NULL;
    if (columns && fields && unpack_columns(&in, rows, count, &arena, fields, columns)) {
        weights = flags == FLAG_WEIGHTS ? unpack_column(&in, rows) : NULL;
        if (weights && weights->type != SF_TYPE_I64)
            in.failed = true;
        if (!in.failed && (flags == 0 || weights))
            schema = schema_of(fields, count, like);
    }
    if (schema) {
        *out = sf_batch_new(schema, rows, columns, weights, NULL);
    } else {
        for (uint32_t i = 0; columns && i < count; i++)
            sf_column_unref(columns[i]);
        sf_column_unref(weights);
    }
    sf_schema_unref(schema);
    sf_free(columns);
    sf_free(fields);
    sf_arena_deinit(&arena);
    if (*out)
        return SF_OK;
    return in.failed ? sf_fail(err, SF_CORRUPT, "packed rows end too early or do not fit")
                     : sf_fail_memory(err);
}

sf_batch *sf_batch_adapt(const sf_batch *batch, const sf_schema *schema)
{
    sf_column **columns = sf_calloc(schema->count + 1u, sizeof *columns);
    if (!columns)
        return NULL;
    for (uint32_t i = 0; i < schema->count; i++) {
        int from = sf_schema_find(batch->schema, sf_str_of(schema->fields[i].name));
        bool fits = from >= 0 && batch->columns[from]->type == schema->fields[i].type;
        columns[i] = fits ? sf_column_ref(batch->columns[from])
                          : sf_column_nulls(schema->fields[i].type, batch->rows);
    }
    sf_batch *out = sf_batch_new(schema, batch->rows, columns, sf_column_ref(batch->weights),
                                 sf_column_ref(batch->marks));
    sf_free(columns);
    return out;
}

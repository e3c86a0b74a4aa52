/* Batches: columns of equal length under one schema; hashing and verification. */
#include "column/column.h"

static void unref_columns(sf_column **columns, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        sf_column_unref(columns[i]);
}

sf_batch *sf_batch_new(const sf_schema *schema, uint32_t rows, sf_column **columns,
                       sf_column *weights, sf_column *marks)
{
    bool whole = rows <= SF_BATCH_ROWS_MAX;
    for (uint32_t i = 0; i < schema->count; i++)
        whole = whole && columns[i] != NULL;
    sf_batch *batch =
        whole ? sf_alloc(sizeof *batch + schema->count * sizeof batch->columns[0]) : NULL;
    if (!batch) {
        unref_columns(columns, schema->count);
        sf_column_unref(weights);
        sf_column_unref(marks);
        return NULL;
    }
    atomic_init(&batch->refs, 1);
    batch->schema = sf_schema_ref(schema);
    batch->rows = rows;
    batch->weights = weights;
    batch->marks = marks;
    for (uint32_t i = 0; i < schema->count; i++) {
        SF_ASSERT(columns[i]->rows == rows && columns[i]->type == schema->fields[i].type);
        batch->columns[i] = columns[i];
    }
    return batch;
}

sf_batch *sf_batch_ref(const sf_batch *batch)
{
    sf_batch *shared = (sf_batch *)batch;
    if (shared)
        atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
    return shared;
}

void sf_batch_unref(const sf_batch *batch)
{
    sf_batch *shared = (sf_batch *)batch;
    if (!shared || atomic_fetch_sub_explicit(&shared->refs, 1, memory_order_acq_rel) != 1)
        return;
    unref_columns(shared->columns, shared->schema->count);
    sf_column_unref(shared->weights);
    sf_column_unref(shared->marks);
    sf_schema_unref(shared->schema);
    sf_free(shared);
}

/* Applies one column transformation to every column, weights and marks included. */
static sf_batch *map_columns(const sf_batch *batch, uint32_t rows,
                             sf_column *(*map)(const sf_column *column, sf_sel sel), sf_sel sel)
{
    uint32_t count = batch->schema->count;
    sf_column **columns = sf_calloc(count + 2u, sizeof *columns);
    if (!columns)
        return NULL;
    bool whole = true;
    for (uint32_t i = 0; i < count + 2; i++) {
        const sf_column *from = i < count    ? batch->columns[i]
                                : i == count ? batch->weights
                                             : batch->marks;
        columns[i] = from ? map(from, sel) : NULL;
        whole = whole && (!from || columns[i]);
    }
    sf_batch *out = NULL;
    if (whole)
        out = sf_batch_new(batch->schema, rows, columns, columns[count], columns[count + 1]);
    else
        unref_columns(columns, count + 2);
    sf_free(columns);
    return out;
}

sf_batch *sf_batch_gather(const sf_batch *batch, sf_sel sel)
{
    if (!sel.rows && sel.count == batch->rows)
        return sf_batch_ref(batch);
    return map_columns(batch, sel.count, sf_column_gather, sel);
}

sf_batch *sf_batch_slice(const sf_batch *batch, uint32_t from, uint32_t count)
{
    SF_ASSERT(from <= batch->rows && count <= batch->rows - from);
    if (from == 0)
        return sf_batch_gather(batch, sf_sel_all(count));
    uint32_t *rows = sf_alloc(count * sizeof *rows);
    if (!rows)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        rows[i] = from + i;
    sf_batch *out = sf_batch_gather(batch, (sf_sel){rows, count});
    sf_free(rows);
    return out;
}

static sf_column *compact_column(const sf_column *column, sf_sel sel)
{
    SF_UNUSED(sel);
    return sf_type_is_view(column->type) ? sf_column_compact(column) : sf_column_ref(column);
}

sf_batch *sf_batch_compact(const sf_batch *batch)
{
    return map_columns(batch, batch->rows, compact_column, sf_sel_all(batch->rows));
}

sf_batch *sf_batch_rename(const sf_batch *batch, const sf_schema *schema)
{
    SF_ASSERT(schema->count == batch->schema->count);
    sf_column *columns[SF_COLUMNS_MAX];
    for (uint32_t i = 0; i < schema->count; i++)
        columns[i] = sf_column_ref(batch->columns[i]);
    return sf_batch_new(schema, batch->rows, columns, sf_column_ref(batch->weights),
                        sf_column_ref(batch->marks));
}

static sf_column *all_ones(uint32_t rows)
{
    sf_column *ones = sf_column_new(SF_TYPE_I64, rows, false);
    int64_t *lanes = ones ? sf_column_lanes(ones) : NULL;
    for (uint32_t i = 0; ones && i < rows; i++)
        lanes[i] = 1;
    return ones;
}

static sf_column *concat_weights(const sf_batch *const *batches, uint32_t count)
{
    const sf_column **parts = sf_calloc(count, sizeof *parts);
    sf_column *out = NULL;
    bool whole = parts != NULL;
    for (uint32_t i = 0; whole && i < count; i++) {
        parts[i] =
            batches[i]->weights ? sf_column_ref(batches[i]->weights) : all_ones(batches[i]->rows);
        whole = parts[i] != NULL;
    }
    if (whole)
        out = sf_column_concat(parts, count);
    for (uint32_t i = 0; parts && i < count; i++)
        sf_column_unref(parts[i]);
    sf_free(parts);
    return out;
}

static sf_column *concat_one(const sf_batch *const *batches, uint32_t count, uint32_t column,
                             bool marks)
{
    const sf_column **parts = sf_calloc(count, sizeof *parts);
    if (!parts)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        parts[i] = marks ? batches[i]->marks : batches[i]->columns[column];
    sf_column *out = sf_column_concat(parts, count);
    sf_free(parts);
    return out;
}

sf_batch *sf_batch_concat(const sf_batch *const *batches, uint32_t count)
{
    SF_ASSERT(count > 0);
    if (count == 1)
        return sf_batch_ref(batches[0]);
    uint64_t rows = 0;
    bool weighted = false, marked = true;
    for (uint32_t i = 0; i < count; i++) {
        rows += batches[i]->rows;
        weighted |= batches[i]->weights != NULL;
        marked &= batches[i]->marks != NULL;
    }
    if (rows > SF_BATCH_ROWS_MAX)
        return NULL;
    const sf_schema *schema = batches[0]->schema;
    sf_column **columns = sf_calloc(schema->count + 1u, sizeof *columns);
    if (!columns)
        return NULL;
    for (uint32_t i = 0; i < schema->count; i++)
        columns[i] = concat_one(batches, count, i, false);
    sf_column *weights = weighted ? concat_weights(batches, count) : NULL;
    sf_column *marks = marked ? concat_one(batches, count, 0, true) : NULL;
    sf_batch *out = NULL;
    if ((weighted && !weights) || (marked && !marks)) {
        unref_columns(columns, schema->count);
        sf_column_unref(weights);
        sf_column_unref(marks);
    } else {
        out = sf_batch_new(schema, (uint32_t)rows, columns, weights, marks);
    }
    sf_free(columns);
    return out;
}

static size_t column_bytes(const sf_column *column)
{
    if (!column)
        return 0;
    size_t bytes = column->rows * sf_type_lane_bytes(column->type);
    bytes += column->valid ? SF_VALID_WORDS(column->rows) * 8 : 0;
    for (uint32_t b = 0; b < column->buffer_count; b++)
        bytes += column->buffers[b]->size;
    return bytes;
}

size_t sf_batch_bytes(const sf_batch *batch)
{
    size_t bytes = sizeof *batch + column_bytes(batch->weights) + column_bytes(batch->marks);
    for (uint32_t i = 0; i < batch->schema->count; i++)
        bytes += sizeof(sf_column) + column_bytes(batch->columns[i]);
    return bytes;
}

/* ---- verification ---- */

static bool verify_views(const sf_column *column)
{
    const sf_view *views = column->data;
    for (uint32_t i = 0; i < column->rows; i++) {
        if (views[i].len <= SF_VIEW_INLINE)
            continue;
        if (views[i].u.far.buffer >= column->buffer_count)
            return false;
        const sf_buffer *buffer = column->buffers[views[i].u.far.buffer];
        if ((uint64_t)views[i].u.far.offset + views[i].len > buffer->size)
            return false;
    }
    return true;
}

static bool verify_column(const sf_column *column, uint32_t rows, const char *name, sf_error *err)
{
    bool good = column->rows == rows &&
                column->data_buffer->size >= rows * sf_type_lane_bytes(column->type) &&
                (!column->valid || column->valid_buffer->size >= SF_VALID_WORDS(rows) * 8) &&
                (!sf_type_is_view(column->type) || verify_views(column));
    if (!good)
        sf_fail(err, SF_CORRUPT,
                "column \"%s\" is invalid: a buffer is shorter than its rows claim", name);
    return good;
}

bool sf_batch_verify(const sf_batch *batch, sf_error *err)
{
    for (uint32_t i = 0; i < batch->schema->count; i++)
        if (!verify_column(batch->columns[i], batch->rows, batch->schema->fields[i].name, err))
            return false;
    return (!batch->weights || verify_column(batch->weights, batch->rows, "weights", err)) &&
           (!batch->marks || verify_column(batch->marks, batch->rows, "marks", err));
}

/* ---- hashing ---- */

static uint64_t hash_float(float value)
{
    uint32_t bits = 0;
    if (value != 0) /* both zeroes */
        memcpy(&bits, &value, sizeof bits);
    return sf_hash_u64(bits);
}

static uint64_t hash_double(double value)
{
    uint64_t bits = 0;
    if (value != 0)
        memcpy(&bits, &value, sizeof bits);
    return sf_hash_u64(bits);
}

uint64_t sf_hash_lane(sf_type type, const void *lane)
{
#define LANE(T) (*(const T *)lane)
    switch (type) {
    case SF_TYPE_BOOL:
    case SF_TYPE_U8: return sf_hash_u64(LANE(uint8_t));
    case SF_TYPE_I8: return sf_hash_u64((uint64_t)(int64_t)LANE(int8_t));
    case SF_TYPE_I16: return sf_hash_u64((uint64_t)(int64_t)LANE(int16_t));
    case SF_TYPE_U16: return sf_hash_u64(LANE(uint16_t));
    case SF_TYPE_I32: return sf_hash_u64((uint64_t)(int64_t)LANE(int32_t));
    case SF_TYPE_U32: return sf_hash_u64(LANE(uint32_t));
    case SF_TYPE_F32: return hash_float(LANE(float));
    case SF_TYPE_F64: return hash_double(LANE(double));
    default: return sf_hash_u64((uint64_t)LANE(int64_t));
    }
#undef LANE
}

uint64_t sf_hash_text(sf_str text)
{
    if (text.len > SF_VIEW_INLINE)
        return sf_hash_bytes(text.data, text.len, 0);
    sf_view view = sf_view_short(text.data, (uint32_t)text.len);
    uint64_t words[2];
    memcpy(words, &view, sizeof words);
    return sf_hash_mix(words[0], words[1]);
}

static uint64_t hash_lane(const sf_column *column, uint32_t row)
{
    if (sf_type_is_view(column->type))
        return sf_hash_text(sf_column_str(column, row));
    size_t lane_bytes = sf_type_lane_bytes(column->type);
    return sf_hash_lane(column->type, (const uint8_t *)column->data + row * lane_bytes);
}

static void hash_longs(const sf_column *column, sf_sel sel, bool first, uint64_t *out)
{
    const uint64_t *lanes = column->data;
    if (first && !sel.rows) {
        for (uint32_t i = 0; i < sel.count; i++)
            out[i] = sf_hash_u64(lanes[i]);
    } else if (first) {
        for (uint32_t i = 0; i < sel.count; i++)
            out[i] = sf_hash_u64(lanes[sel.rows[i]]);
    } else {
        for (uint32_t i = 0; i < sel.count; i++)
            out[i] = sf_hash_mix(out[i], sf_hash_u64(lanes[sf_sel_row(sel, i)]));
    }
}

void sf_batch_hash(const sf_batch *batch, const uint32_t *columns, uint32_t column_count,
                   sf_sel sel, uint64_t *out)
{
    if (column_count == 0)
        memset(out, 0, sel.count * sizeof *out);
    for (uint32_t c = 0; c < column_count; c++) {
        const sf_column *column = batch->columns[columns[c]];
        bool first = c == 0;
        if (!column->valid && (column->type == SF_TYPE_I64 || column->type == SF_TYPE_TIMESTAMP)) {
            hash_longs(column, sel, first, out);
            continue;
        }
        for (uint32_t i = 0; i < sel.count; i++) {
            uint32_t row = sf_sel_row(sel, i);
            uint64_t hash = sf_column_is_valid(column, row) ? hash_lane(column, row) : SF_HASH_NULL;
            out[i] = first ? hash : sf_hash_mix(out[i], hash);
        }
    }
}

/* Row-wise builders of columns and batches. */
#include "column/column.h"

enum {
    FIRST_ROWS = 64,
    BLOCK_BYTES_MIN = 4096,
    BLOCK_BYTES_MAX = 1 << 20,
};

bool sf_builder_init(sf_builder *builder, sf_type type, uint32_t capacity_rows)
{
    *builder = (sf_builder){.type = type};
    uint32_t rows = capacity_rows ? capacity_rows : FIRST_ROWS;
    builder->lanes = sf_buffer_new(rows * sf_type_lane_bytes(type));
    builder->failed = !builder->lanes;
    builder->cap = builder->failed ? 0 : rows;
    return !builder->failed;
}

static void drop_buffers(sf_builder *builder)
{
    for (size_t i = 0; i < builder->buffers.len; i++)
        sf_buffer_unref(builder->buffers.data[i]);
    builder->buffers.len = 0;
    builder->tail_own = false;
    builder->tail_used = 0;
}

void sf_builder_deinit(sf_builder *builder)
{
    sf_buffer_unref(builder->lanes);
    sf_buffer_unref(builder->valid);
    drop_buffers(builder);
    SF_VEC_DEINIT(&builder->buffers);
    *builder = (sf_builder){.type = builder->type, .failed = true};
}

static sf_buffer *resized(sf_buffer *old, size_t used, size_t size)
{
    sf_buffer *buffer = sf_buffer_new(size);
    if (buffer && old && used)
        memcpy(buffer->data, old->data, used);
    if (buffer)
        sf_buffer_unref(old);
    return buffer;
}

static bool grow(sf_builder *builder)
{
    if (builder->failed || builder->rows >= SF_BATCH_ROWS_MAX) {
        builder->failed = true;
        return false;
    }
    uint32_t cap = builder->cap ? builder->cap * 2 : FIRST_ROWS;
    if (cap > SF_BATCH_ROWS_MAX)
        cap = SF_BATCH_ROWS_MAX;
    size_t lane = sf_type_lane_bytes(builder->type);
    sf_buffer *lanes = resized(builder->lanes, builder->rows * lane, cap * lane);
    if (lanes)
        builder->lanes = lanes;
    if (lanes && builder->valid) {
        sf_buffer *valid =
            resized(builder->valid, SF_VALID_WORDS(builder->rows) * 8, SF_VALID_WORDS(cap) * 8);
        builder->failed = !valid;
        if (valid)
            builder->valid = valid;
    }
    builder->failed = builder->failed || !lanes;
    if (!builder->failed)
        builder->cap = cap;
    return !builder->failed;
}

static inline bool room(sf_builder *builder)
{
    return (builder->rows < builder->cap && !builder->failed) || grow(builder);
}

static inline void set_valid(sf_builder *builder)
{
    if (builder->has_null) {
        uint64_t *words = (uint64_t *)(void *)builder->valid->data;
        uint64_t bit = 1ULL << (builder->rows & 63);
        if ((builder->rows & 63) == 0)
            words[builder->rows >> 6] = 0;
        words[builder->rows >> 6] |= bit;
    }
    builder->rows++;
}

void sf_builder_null(sf_builder *builder)
{
    if (!room(builder))
        return;
    uint32_t row = builder->rows;
    if (!builder->has_null) {
        if (!builder->valid)
            builder->valid = sf_buffer_new(SF_VALID_WORDS(builder->cap) * 8);
        if (!builder->valid) {
            builder->failed = true;
            return;
        }
        uint64_t *all = (uint64_t *)(void *)builder->valid->data;
        memset(all, 0xff, (row >> 6) * 8);
        all[row >> 6] = (1ULL << (row & 63)) - 1;
        builder->has_null = true;
    }
    uint64_t *words = (uint64_t *)(void *)builder->valid->data;
    if ((row & 63) == 0)
        words[row >> 6] = 0;
    size_t lane = sf_type_lane_bytes(builder->type);
    memset(builder->lanes->data + row * lane, 0, lane);
    builder->rows++;
}

#define DEFINE_APPEND(name, T)                                                                     \
    void sf_builder_##name(sf_builder *builder, T value)                                           \
    {                                                                                              \
        SF_ASSERT(sf_type_lane_bytes(builder->type) == sizeof(T));                                 \
        if (!room(builder))                                                                        \
            return;                                                                                \
        ((T *)(void *)builder->lanes->data)[builder->rows] = value;                                \
        set_valid(builder);                                                                        \
    }
DEFINE_APPEND(i64, int64_t)
DEFINE_APPEND(f64, double)

void sf_builder_bool(sf_builder *builder, bool value)
{
    SF_ASSERT(builder->type == SF_TYPE_BOOL);
    if (!room(builder))
        return;
    builder->lanes->data[builder->rows] = value;
    set_valid(builder);
}

void sf_builder_lane(sf_builder *builder, const void *lane)
{
    SF_ASSERT(!sf_type_is_view(builder->type));
    if (!room(builder))
        return;
    size_t bytes = sf_type_lane_bytes(builder->type);
    memcpy(builder->lanes->data + builder->rows * bytes, lane, bytes);
    set_valid(builder);
}

static void put_view(sf_builder *builder, sf_view view)
{
    ((sf_view *)(void *)builder->lanes->data)[builder->rows] = view;
    set_valid(builder);
}

/* Room for len bytes in the last own block; a new one doubles up to BLOCK_BYTES_MAX. */
static bool reserve_text(sf_builder *builder, uint32_t len)
{
    sf_buffer *tail = builder->tail_own ? builder->buffers.data[builder->buffers.len - 1] : NULL;
    if (tail && tail->size - builder->tail_used >= len)
        return true;
    size_t size = tail ? tail->size * 2 : BLOCK_BYTES_MIN;
    size = size > BLOCK_BYTES_MAX ? BLOCK_BYTES_MAX : size;
    size = size < len ? len : size;
    sf_buffer *block = sf_buffer_new(size);
    if (!block || !SF_VEC_PUSH(&builder->buffers, block)) {
        sf_buffer_unref(block);
        builder->failed = true;
        return false;
    }
    builder->tail_own = true;
    builder->tail_used = 0;
    return true;
}

void sf_builder_str(sf_builder *builder, sf_str value)
{
    SF_ASSERT(sf_type_is_view(builder->type));
    if (value.len > INT32_MAX) {
        builder->failed = true;
        return;
    }
    if (!room(builder))
        return;
    uint32_t len = (uint32_t)value.len;
    if (len <= SF_VIEW_INLINE) {
        put_view(builder, sf_view_short(value.data, len));
        return;
    }
    if (!reserve_text(builder, len))
        return;
    uint32_t index = (uint32_t)builder->buffers.len - 1;
    memcpy(builder->buffers.data[index]->data + builder->tail_used, value.data, len);
    put_view(builder, sf_view_far(value.data, len, index, builder->tail_used));
    builder->tail_used += len;
}

void sf_builder_str_shared(sf_builder *builder, sf_str value, sf_buffer *shared)
{
    size_t offset = value.len > SF_VIEW_INLINE ? (size_t)(value.data - (char *)shared->data) : 0;
    if (value.len <= SF_VIEW_INLINE || offset > UINT32_MAX - value.len) {
        sf_builder_str(builder, value);
        return;
    }
    SF_ASSERT(sf_type_is_view(builder->type) && offset + value.len <= shared->size);
    if (!room(builder))
        return;
    size_t count = builder->buffers.len;
    if (count == 0 || builder->buffers.data[count - 1] != shared) {
        if (!SF_VEC_PUSH(&builder->buffers, shared)) {
            builder->failed = true;
            return;
        }
        sf_buffer_ref(shared);
        builder->tail_own = false;
        count++;
    }
    put_view(builder,
             sf_view_far(value.data, (uint32_t)value.len, (uint32_t)count - 1, (uint32_t)offset));
}

void sf_builder_copy(sf_builder *builder, const sf_column *from, uint32_t row)
{
    SF_ASSERT(builder->type == from->type && row < from->rows);
    size_t bytes = sf_type_lane_bytes(from->type);
    if (!sf_column_is_valid(from, row))
        sf_builder_null(builder);
    else if (sf_type_is_view(from->type))
        sf_builder_str(builder, sf_column_str(from, row));
    else
        sf_builder_lane(builder, (const uint8_t *)from->data + row * bytes);
}

void sf_builder_truncate(sf_builder *builder, uint32_t rows)
{
    SF_ASSERT(rows <= builder->rows);
    builder->rows = rows;
    if (builder->has_null && (rows & 63)) { /* spare bits stay 0 */
        uint64_t *words = (uint64_t *)(void *)builder->valid->data;
        words[rows >> 6] &= (1ULL << (rows & 63)) - 1;
    }
}

static void start_again(sf_builder *builder)
{
    builder->rows = 0;
    builder->cap = 0;
    builder->has_null = false;
    builder->failed = false;
    builder->lanes = NULL;
    builder->valid = NULL;
}

sf_column *sf_builder_finish(sf_builder *builder)
{
    sf_column *column = builder->failed ? NULL : sf_calloc(1, sizeof *column);
    if (column) {
        atomic_init(&column->refs, 1);
        column->type = builder->type;
        column->rows = builder->rows;
        if (!builder->lanes)
            builder->lanes = sf_buffer_new(0);
        column->data_buffer = builder->lanes;
        column->data = builder->lanes ? builder->lanes->data : NULL;
        if (builder->has_null) {
            column->valid_buffer = builder->valid;
            column->valid = (const uint64_t *)(const void *)builder->valid->data;
        } else {
            sf_buffer_unref(builder->valid);
        }
        if (!builder->lanes ||
            !sf_column_set_buffers(column, builder->buffers.data, (uint32_t)builder->buffers.len)) {
            sf_column_unref(column);
            column = NULL;
        }
    } else {
        sf_buffer_unref(builder->lanes);
        sf_buffer_unref(builder->valid);
    }
    drop_buffers(builder);
    start_again(builder);
    return column;
}

/* ---- batch builder ---- */

bool sf_batch_builder_init(sf_batch_builder *builder, const sf_schema *schema)
{
    *builder = (sf_batch_builder){.schema = sf_schema_ref(schema)};
    builder->columns = sf_calloc(schema->count ? schema->count : 1, sizeof *builder->columns);
    builder->failed = !builder->columns;
    for (uint32_t i = 0; builder->columns && i < schema->count; i++)
        builder->columns[i].type = schema->fields[i].type;
    builder->weights.type = SF_TYPE_I64;
    return !builder->failed;
}

void sf_batch_builder_deinit(sf_batch_builder *builder)
{
    if (!builder->schema)
        return;
    for (uint32_t i = 0; builder->columns && i < builder->schema->count; i++)
        sf_builder_deinit(&builder->columns[i]);
    sf_builder_deinit(&builder->weights);
    sf_free(builder->columns);
    sf_schema_unref(builder->schema);
    *builder = (sf_batch_builder){.failed = true};
}

void sf_batch_builder_row(sf_batch_builder *builder, int64_t weight)
{
    if (weight != 1 && !builder->weighted) {
        for (uint32_t i = 0; i < builder->rows; i++)
            sf_builder_i64(&builder->weights, 1);
        builder->weighted = true;
    }
    if (builder->weighted)
        sf_builder_i64(&builder->weights, weight);
    builder->rows++;
}

sf_batch *sf_batch_builder_finish(sf_batch_builder *builder)
{
    uint32_t count = builder->schema->count, rows = builder->rows;
    bool empty = rows == 0;
    sf_column **columns = empty ? NULL : sf_calloc(count + 1u, sizeof *columns);
    sf_column *weights = NULL;
    sf_batch *batch = NULL;
    if (columns) {
        bool whole = true;
        for (uint32_t i = 0; i < count; i++) {
            columns[i] = sf_builder_finish(&builder->columns[i]);
            whole = whole && columns[i];
        }
        if (builder->weighted) {
            weights = sf_builder_finish(&builder->weights);
            whole = whole && weights;
        }
        if (whole) {
            batch = sf_batch_new(builder->schema, rows, columns, weights, NULL);
        } else {
            for (uint32_t i = 0; i < count; i++)
                sf_column_unref(columns[i]);
            sf_column_unref(weights);
        }
    }
    sf_free(columns);
    builder->failed = !empty && !batch;
    builder->rows = 0;
    builder->weighted = false;
    return batch;
}

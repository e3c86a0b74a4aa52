/* Buffers and columns: reference counts, gathering, concatenation, compaction. */
#include "column/column.h"

enum { BUFFER_ALIGN = 64 };

static size_t padded(size_t size)
{
    return (size + BUFFER_ALIGN - 1) & ~(size_t)(BUFFER_ALIGN - 1);
}

/* ---- buffers ---- */

sf_buffer *sf_buffer_new(size_t size)
{
    size_t head = padded(sizeof(sf_buffer));
    if (size > SIZE_MAX / 2)
        return NULL;
    uint8_t *memory = sf_alloc_aligned(BUFFER_ALIGN, head + padded(size));
    if (!memory)
        return NULL;
    sf_buffer *buffer = (sf_buffer *)(void *)memory;
    *buffer = (sf_buffer){.data = memory + head, .size = size};
    atomic_init(&buffer->refs, 1);
    return buffer;
}

sf_buffer *sf_buffer_wrap(void *data, size_t size, void (*release)(sf_buffer *), void *owner)
{
    sf_buffer *buffer = sf_alloc(sizeof *buffer);
    if (!buffer)
        return NULL;
    *buffer = (sf_buffer){.data = data, .size = size, .release = release, .owner = owner};
    atomic_init(&buffer->refs, 1);
    return buffer;
}

sf_buffer *sf_buffer_ref(sf_buffer *buffer)
{
    if (buffer)
        atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
    return buffer;
}

void sf_buffer_unref(sf_buffer *buffer)
{
    if (!buffer || atomic_fetch_sub_explicit(&buffer->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (buffer->release)
        buffer->release(buffer);
    sf_free(buffer);
}

/* ---- columns ---- */

sf_column *sf_column_new(sf_type type, uint32_t rows, bool with_valid)
{
    if (rows > SF_BATCH_ROWS_MAX)
        return NULL;
    sf_column *column = sf_calloc(1, sizeof *column);
    if (!column)
        return NULL;
    atomic_init(&column->refs, 1);
    column->type = type;
    column->rows = rows;
    size_t bytes = rows * sf_type_lane_bytes(type);
    column->data_buffer = sf_buffer_new(bytes);
    if (with_valid)
        column->valid_buffer = sf_buffer_new(SF_VALID_WORDS(rows) * 8);
    if (!column->data_buffer || (with_valid && !column->valid_buffer)) {
        sf_column_unref(column);
        return NULL;
    }
    column->data = column->data_buffer->data;
    if (sf_type_is_view(type))
        memset(column->data_buffer->data, 0, bytes);
    if (with_valid) {
        uint64_t *valid = sf_column_valid(column);
        column->valid = valid;
        memset(valid, 0xff, SF_VALID_WORDS(rows) * 8);
        if (rows & 63)
            valid[rows >> 6] = (1ULL << (rows & 63)) - 1;
    }
    return column;
}

bool sf_column_set_buffers(sf_column *column, sf_buffer *const *buffers, uint32_t count)
{
    SF_ASSERT(column->buffer_count == 0);
    if (count == 0)
        return true;
    column->buffers = sf_alloc(count * sizeof *buffers);
    if (!column->buffers)
        return false;
    for (uint32_t i = 0; i < count; i++)
        column->buffers[i] = sf_buffer_ref(buffers[i]);
    column->buffer_count = count;
    return true;
}

/* Zeroes for every all-NULL column: read-only, never freed. */
static _Alignas(64) uint8_t zero_page[SF_BATCH_ROWS_MAX * sizeof(sf_view)];

static void keep_zero_page(sf_buffer *buffer)
{
    SF_UNUSED(buffer);
}

sf_column *sf_column_nulls(sf_type type, uint32_t rows)
{
    if (rows > SF_BATCH_ROWS_MAX)
        return NULL;
    sf_column *column = sf_calloc(1, sizeof *column);
    sf_buffer *buffer = sf_buffer_wrap(zero_page, sizeof zero_page, keep_zero_page, NULL);
    if (!column || !buffer) {
        sf_free(column);
        sf_buffer_unref(buffer);
        return NULL;
    }
    atomic_init(&column->refs, 1);
    column->type = type;
    column->rows = rows;
    column->data_buffer = buffer;
    column->valid_buffer = sf_buffer_ref(buffer);
    column->data = zero_page;
    column->valid = (const uint64_t *)(const void *)zero_page;
    return column;
}

sf_column *sf_column_ref(const sf_column *column)
{
    sf_column *shared = (sf_column *)column;
    if (shared)
        atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
    return shared;
}

void sf_column_unref(const sf_column *column)
{
    sf_column *shared = (sf_column *)column;
    if (!shared || atomic_fetch_sub_explicit(&shared->refs, 1, memory_order_acq_rel) != 1)
        return;
    sf_buffer_unref(shared->data_buffer);
    sf_buffer_unref(shared->valid_buffer);
    for (uint32_t i = 0; i < shared->buffer_count; i++)
        sf_buffer_unref(shared->buffers[i]);
    sf_free(shared->buffers);
    sf_free(shared);
}

uint32_t sf_column_null_count(const sf_column *column)
{
    if (!column->valid)
        return 0;
    uint32_t present = 0;
    for (size_t i = 0; i < SF_VALID_WORDS(column->rows); i++)
        present += (uint32_t)__builtin_popcountll(column->valid[i]);
    if (present > column->rows) /* the shared zero page has no spare bits to mind */
        present = column->rows;
    return column->rows - present;
}

/* ---- gathering ---- */

static void gather_lanes(void *out, const void *lanes, size_t lane_bytes, sf_sel sel)
{
#define GATHER(T)                                                                                  \
    {                                                                                              \
        const T *in = lanes;                                                                       \
        T *to = out;                                                                               \
        for (uint32_t i = 0; i < sel.count; i++)                                                   \
            to[i] = in[sel.rows[i]];                                                               \
    }
    switch (lane_bytes) {
    case 1: GATHER(uint8_t) break;
    case 2: GATHER(uint16_t) break;
    case 4: GATHER(uint32_t) break;
    case 8: GATHER(uint64_t) break;
    default: GATHER(sf_view) break;
    }
#undef GATHER
}

static bool gather_valid(uint64_t *out, const uint64_t *valid, sf_sel sel)
{
    bool any_null = false;
    for (uint32_t from = 0; from < sel.count; from += 64) {
        uint32_t bits = sel.count - from < 64 ? sel.count - from : 64;
        uint64_t word = 0;
        for (uint32_t k = 0; k < bits; k++) {
            uint32_t row = sel.rows[from + k];
            word |= (valid[row >> 6] >> (row & 63) & 1) << k;
        }
        out[from >> 6] = word;
        any_null |= word != (bits == 64 ? UINT64_MAX : (1ULL << bits) - 1);
    }
    return any_null;
}

static void drop_valid(sf_column *column)
{
    sf_buffer_unref(column->valid_buffer);
    column->valid_buffer = NULL;
    column->valid = NULL;
}

sf_column *sf_column_gather(const sf_column *column, sf_sel sel)
{
    if (!sel.rows && sel.count == column->rows)
        return sf_column_ref(column);
    sf_column *out = sf_column_new(column->type, sel.count, column->valid != NULL);
    if (!out)
        return NULL;
    if (!sf_column_set_buffers(out, column->buffers, column->buffer_count)) {
        sf_column_unref(out);
        return NULL;
    }
    size_t lane_bytes = sf_type_lane_bytes(column->type);
    if (sel.rows) {
        gather_lanes(sf_column_lanes(out), column->data, lane_bytes, sel);
        if (column->valid && !gather_valid(sf_column_valid(out), column->valid, sel))
            drop_valid(out);
    } else { /* a prefix */
        memcpy(sf_column_lanes(out), column->data, sel.count * lane_bytes);
        if (column->valid) {
            uint64_t *valid = sf_column_valid(out);
            memcpy(valid, column->valid, SF_VALID_WORDS(sel.count) * 8);
            if (sel.count & 63)
                valid[sel.count >> 6] &= (1ULL << (sel.count & 63)) - 1;
        }
    }
    return out;
}

/* ---- concatenation ---- */

static void append_valid(uint64_t *out, uint32_t at, const sf_column *from)
{
    for (uint32_t i = 0; i < from->rows; i++)
        if (!sf_column_is_valid(from, i))
            sf_valid_clear(out, at + i);
}

static void append_views(sf_view *out, const sf_column *from, uint32_t buffer_base)
{
    const sf_view *in = from->data;
    for (uint32_t i = 0; i < from->rows; i++) {
        out[i] = in[i];
        if (in[i].len > SF_VIEW_INLINE)
            out[i].u.far.buffer += buffer_base;
    }
}

sf_column *sf_column_concat(const sf_column *const *columns, uint32_t count)
{
    SF_ASSERT(count > 0);
    if (count == 1)
        return sf_column_ref(columns[0]);
    uint64_t rows = 0;
    uint32_t buffers = 0;
    bool with_valid = false;
    for (uint32_t i = 0; i < count; i++) {
        SF_ASSERT(columns[i]->type == columns[0]->type);
        rows += columns[i]->rows;
        buffers += columns[i]->buffer_count;
        with_valid |= columns[i]->valid != NULL;
    }
    if (rows > SF_BATCH_ROWS_MAX)
        return NULL;
    sf_column *out = sf_column_new(columns[0]->type, (uint32_t)rows, with_valid);
    if (!out)
        return NULL;
    if (buffers) {
        out->buffers = sf_alloc(buffers * sizeof *out->buffers);
        if (!out->buffers) {
            sf_column_unref(out);
            return NULL;
        }
    }
    size_t lane_bytes = sf_type_lane_bytes(out->type);
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        const sf_column *from = columns[i];
        uint8_t *lanes = (uint8_t *)sf_column_lanes(out) + at * lane_bytes;
        if (sf_type_is_view(out->type))
            append_views((sf_view *)(void *)lanes, from, out->buffer_count);
        else
            memcpy(lanes, from->data, from->rows * lane_bytes);
        if (from->valid)
            append_valid(sf_column_valid(out), at, from);
        for (uint32_t b = 0; b < from->buffer_count; b++)
            out->buffers[out->buffer_count++] = sf_buffer_ref(from->buffers[b]);
        at += from->rows;
    }
    return out;
}

/* ---- compaction ---- */

sf_column *sf_column_compact(const sf_column *column)
{
    if (column->buffer_count == 0)
        return sf_column_ref(column);
    size_t live = 0, held = 0;
    const sf_view *views = column->data;
    for (uint32_t i = 0; i < column->rows; i++)
        if (views[i].len > SF_VIEW_INLINE)
            live += views[i].len;
    for (uint32_t b = 0; b < column->buffer_count; b++)
        held += column->buffers[b]->size;
    if (live * 2 >= held || live > UINT32_MAX)
        return sf_column_ref(column);
    sf_column *out = sf_column_new(column->type, column->rows, false);
    sf_buffer *bytes = live ? sf_buffer_new(live) : NULL;
    if (!out || (live && (!bytes || !sf_column_set_buffers(out, &bytes, 1)))) {
        sf_column_unref(out);
        sf_buffer_unref(bytes);
        return NULL;
    }
    sf_view *to = sf_column_lanes(out);
    uint32_t used = 0;
    for (uint32_t i = 0; i < column->rows; i++) {
        to[i] = views[i];
        if (views[i].len <= SF_VIEW_INLINE)
            continue;
        sf_str text = sf_column_str(column, i);
        SF_ASSERT(bytes);
        memcpy(bytes->data + used, text.data, text.len);
        to[i].u.far.buffer = 0;
        to[i].u.far.offset = used;
        used += views[i].len;
    }
    sf_buffer_unref(bytes); /* the column holds it */
    out->valid_buffer = sf_buffer_ref(column->valid_buffer);
    out->valid = column->valid;
    return out;
}

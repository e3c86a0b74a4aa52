/* Where the parts of a row lie. */
#include "state/internal.h"

static uint32_t align_up(uint32_t at, uint32_t alignment)
{
    return (at + alignment - 1) & ~(alignment - 1);
}

static bool is_integer_8(sf_type type)
{
    return type == SF_TYPE_I64 || type == SF_TYPE_U64 || type == SF_TYPE_TIMESTAMP ||
           type == SF_TYPE_TIMESTAMP_NS;
}

/* Head, then NULL bits, then lanes from narrow to wide, so that little is lost to alignment. */
static uint32_t place_columns(sf_layout *layout)
{
    uint32_t at = layout->mode == SF_ARR_BAG ? 8 : 1, nulls_at = at;
    if (layout->column_count > ROW_NULLS_IN_HEAD)
        at += (layout->column_count - ROW_NULLS_IN_HEAD + 7) / 8;
    for (uint32_t c = 0; c < layout->column_count; c++) {
        sf_row_column *column = &layout->columns[c];
        uint32_t bit = c < ROW_NULLS_IN_HEAD ? c + 1 : c - ROW_NULLS_IN_HEAD;
        column->null_at = (uint16_t)(c < ROW_NULLS_IN_HEAD ? 0 : nulls_at + bit / 8);
        column->null_mask = (uint8_t)(1u << (bit & 7));
    }
    for (uint32_t bytes = 1; bytes <= 8; bytes *= 2) {
        for (uint32_t c = 0; c < layout->column_count; c++) {
            sf_row_column *column = &layout->columns[c];
            if (column->bytes != bytes)
                continue;
            at = align_up(at, column->text ? _Alignof(text_lane) : bytes);
            column->at = (uint16_t)at;
            at += bytes;
        }
    }
    return at;
}

static uint32_t fingerprint(const sf_layout *layout)
{
    uint64_t hash = sf_hash_mix(layout->mode, layout->key_count);
    hash = sf_hash_mix(hash, layout->extra_bytes * 2ULL + layout->extra_weight);
    for (uint32_t c = 0; c < layout->column_count; c++)
        hash = sf_hash_mix(hash, layout->columns[c].type);
    return (uint32_t)hash;
}

static void finish_layout(sf_layout *layout)
{
    uint32_t at = align_up(place_columns(layout), 8);
    layout->extra_at = at;
    layout->stride = at + align_up(layout->extra_bytes, 8);
    uint32_t rows = (SF_PAGE_BYTES - (uint32_t)sizeof(page_head)) / layout->stride;
    layout->rows_max = rows < SLOTS_MAX ? rows : SLOTS_MAX;
    layout->fingerprint = fingerprint(layout);
}

sf_status sf_layout_new(const sf_arr_options *options, sf_layout **out, sf_error *err)
{
    uint32_t count = options->column_count;
    SF_ASSERT(options->key_count <= count);
    SF_ASSERT(options->mode == SF_ARR_UNIQUE || options->extra_bytes == 0);
    SF_ASSERT(!options->extra_weight || options->extra_bytes >= 8);
    if (count > SF_COLUMNS_MAX)
        return sf_fail(err, SF_LIMIT, "state row has %u columns, more than %d", count,
                       SF_COLUMNS_MAX);
    if (options->extra_bytes > STRIDE_MAX / 2)
        return sf_fail(err, SF_LIMIT, "state row needs %u bytes of accumulators, more than %d",
                       options->extra_bytes, STRIDE_MAX / 2);
    sf_layout *layout = sf_calloc(1, sizeof *layout + count * sizeof layout->columns[0]);
    if (!layout)
        return sf_fail_memory(err);
    atomic_init(&layout->refs, 1);
    layout->mode = options->mode;
    layout->column_count = count;
    layout->key_count = options->key_count;
    layout->extra_bytes = options->extra_bytes;
    layout->extra_weight = options->extra_weight;
    layout->chained = options->mode == SF_ARR_BAG && options->key_count < count;
    layout->fast_key = options->key_count == 1 && is_integer_8(options->types[0]);
    for (uint32_t c = 0; c < count; c++) {
        bool text = sf_type_is_view(options->types[c]);
        layout->has_text |= text;
        layout->columns[c] = (sf_row_column){
            .type = options->types[c],
            .bytes = (uint8_t)(text ? sizeof(text_lane) : sf_type_lane_bytes(options->types[c])),
            .text = text,
        };
    }
    finish_layout(layout);
    SF_ASSERT(layout->stride <= STRIDE_MAX);
    *out = layout;
    return SF_OK;
}

sf_layout *sf_layout_ref(sf_layout *layout)
{
    atomic_fetch_add_explicit(&layout->refs, 1, memory_order_relaxed);
    return layout;
}

void sf_layout_unref(sf_layout *layout)
{
    if (layout && atomic_fetch_sub_explicit(&layout->refs, 1, memory_order_acq_rel) == 1)
        sf_free(layout);
}

/* Batch rows into pages. */
#include "state/internal.h"

static sf_str batch_text(const sf_layout *layout, const sf_batch *batch, const uint32_t *columns,
                         uint32_t c, uint32_t row)
{
    const sf_column *given = batch->columns[columns[c]];
    if (!layout->columns[c].text || !sf_column_is_valid(given, row))
        return (sf_str){0};
    return sf_column_str(given, row);
}

/* Texts longer than long_min go to the blob. */
static uint64_t measure(const sf_layout *layout, const sf_batch *batch, const uint32_t *columns,
                        uint32_t row, uint32_t long_min, uint64_t *blob_bytes)
{
    uint64_t heap_bytes = 0;
    *blob_bytes = 0;
    for (uint32_t c = 0; c < layout->column_count; c++) {
        size_t len = batch_text(layout, batch, columns, c, row).len;
        if (len > long_min)
            *blob_bytes += len;
        heap_bytes += len > long_min ? sizeof(text_long) : len;
    }
    return heap_bytes;
}

sf_status sf_row_measure(const sf_layout *layout, const sf_batch *batch, const uint32_t *columns,
                         uint32_t row, sf_row_size *out, sf_error *err)
{
    *out = (sf_row_size){.long_min = TEXT_LONG_MIN};
    if (!layout->has_text)
        return SF_OK;
    uint64_t blob_bytes;
    uint64_t heap_bytes = measure(layout, batch, columns, row, out->long_min, &blob_bytes);
    if (heap_bytes > ROW_HEAP_MAX) {
        out->long_min = sizeof(text_long);
        heap_bytes = measure(layout, batch, columns, row, out->long_min, &blob_bytes);
    }
    if (blob_bytes > ROW_BLOB_MAX)
        return sf_fail(err, SF_LIMIT, "row of %llu bytes is longer than state keeps (%d MiB)",
                       (unsigned long long)(blob_bytes + heap_bytes), ROW_BLOB_MAX >> 20);
    out->heap_bytes = (uint32_t)heap_bytes;
    out->blob_bytes = (uint32_t)blob_bytes;
    return SF_OK;
}

/* Texts into the page from heap_at on, long ones into the blob. */
static void write_texts(sf_arr *arr, sf_ref ref, const sf_batch *batch, const uint32_t *columns,
                        uint32_t row, const sf_row_size *size, uint32_t heap_at, uint32_t blob_no)
{
    const sf_layout *layout = arr->layout;
    uint8_t *base = arr->pages.base[ref_page(ref)];
    uint8_t *stored = row_at(layout, &arr->pages, ref);
    uint32_t blob_at = 0;
    for (uint32_t c = 0; c < layout->column_count; c++) {
        if (!layout->columns[c].text)
            continue;
        sf_str text = batch_text(layout, batch, columns, c, row);
        text_lane *lane = (text_lane *)(void *)(stored + layout->columns[c].at);
        *lane = (text_lane){0};
        if (text.len == 0)
            continue;
        lane->at = (uint16_t)heap_at;
        if (text.len <= size->long_min) {
            lane->len = (uint16_t)text.len;
            memcpy(base + heap_at, text.data, text.len);
        } else {
            text_long place = {blob_no, blob_at, (uint32_t)text.len};
            lane->len = TEXT_LONG;
            memcpy(arr->pages.base[blob_no] + blob_at, text.data, text.len);
            memcpy(base + heap_at, &place, sizeof place);
            blob_at += place.len;
        }
        heap_at += lane->len == TEXT_LONG ? (uint32_t)sizeof(text_long) : lane->len;
    }
}

/* NULL bits and fixed lanes. The row's lanes were zero or are overwritten. */
static void write_lanes(const sf_layout *layout, uint8_t *stored, const sf_batch *batch,
                        const uint32_t *columns, uint32_t row)
{
    for (uint32_t c = 0; c < layout->column_count; c++) {
        const sf_row_column *column = &layout->columns[c];
        const sf_column *given = batch->columns[columns[c]];
        if (!sf_column_is_valid(given, row)) {
            stored[column->null_at] |= column->null_mask;
            if (!column->text)
                memset(stored + column->at, 0, column->bytes);
            continue;
        }
        stored[column->null_at] &= (uint8_t)~column->null_mask;
        uint8_t *lane = stored + column->at;
        if (column->text)
            continue;
#define WRITE(T) *(T *)(void *)lane = SF_LANES(given, T)[row]
        switch (column->bytes) {
        case 1: WRITE(uint8_t); break;
        case 2: WRITE(uint16_t); break;
        case 4: WRITE(uint32_t); break;
        default: WRITE(uint64_t); break;
        }
#undef WRITE
    }
}

sf_status sf_row_create(sf_arr *arr, const sf_batch *batch, const uint32_t *columns, uint32_t row,
                        int64_t weight, sf_ref *out, sf_error *err)
{
    const sf_layout *layout = arr->layout;
    sf_row_size size;
    SF_TRY(sf_row_measure(layout, batch, columns, row, &size, err));
    uint32_t blob_no = UINT32_MAX;
    if (size.blob_bytes && !sf_arr_blob_new(arr, size.blob_bytes, &blob_no))
        return sf_arr_no_memory(arr, err);
    sf_ref ref = sf_arr_place(arr, size.heap_bytes);
    if (!ref) {
        if (blob_no != UINT32_MAX)
            sf_arr_blob_free(arr, blob_no);
        return sf_arr_no_memory(arr, err);
    }
    uint8_t *stored = row_at(layout, &arr->pages, ref);
    if (layout->mode == SF_ARR_BAG) {
        int64_t word = (int64_t)((uint64_t)weight << WEIGHT_SHIFT) | ROW_LIVE;
        memcpy(stored, &word, sizeof word);
    }
    write_lanes(layout, stored, batch, columns, row);
    if (layout->has_text)
        write_texts(arr, ref, batch, columns, row, &size,
                    head_of(arr->pages.base[ref_page(ref)])->heap_at, blob_no);
    *out = ref;
    return SF_OK;
}

/* A row that does not fit its page any more gets another one; its accumulators go along. */
static sf_status move_row(sf_arr *arr, sf_ref ref, const sf_batch *batch, const uint32_t *columns,
                          uint32_t row, sf_ref *out, sf_error *err)
{
    const sf_layout *layout = arr->layout;
    SF_TRY(sf_row_create(arr, batch, columns, row, 1, out, err));
    memcpy(row_at(layout, &arr->pages, *out) + layout->extra_at,
           row_at(layout, &arr->pages, ref) + layout->extra_at, layout->extra_bytes);
    return SF_OK;
}

sf_status sf_row_overwrite(sf_arr *arr, sf_ref ref, const sf_batch *batch, const uint32_t *columns,
                           uint32_t row, sf_ref *out, sf_error *err)
{
    const sf_layout *layout = arr->layout;
    uint32_t page_no = ref_page(ref), blob_no = UINT32_MAX, old_blob;
    sf_row_size size;
    SF_TRY(sf_row_measure(layout, batch, columns, row, &size, err));
    if (!arr_own(arr, page_no))
        return sf_arr_no_memory(arr, err);
    const uint8_t *stored = row_at(layout, &arr->pages, ref);
    uint32_t old_heap = sf_row_heap(layout, arr->pages.base[page_no], stored, &old_blob);
    uint32_t heap_at = sf_row_heap_first(layout, stored);
    bool in_place = size.heap_bytes <= old_heap;
    if (!in_place && !sf_arr_page_room(arr, page_no, 0, size.heap_bytes))
        return move_row(arr, ref, batch, columns, row, out, err);
    if (size.blob_bytes && !sf_arr_blob_new(arr, size.blob_bytes, &blob_no))
        return sf_arr_no_memory(arr, err);
    if (in_place && size.heap_bytes) {
        if (old_blob != UINT32_MAX)
            sf_arr_blob_free(arr, old_blob);
        head_of(arr->pages.base[page_no])->heap_garbage += old_heap - size.heap_bytes;
    } else {
        sf_arr_drop_texts(arr, ref);
        heap_at = head_of(arr->pages.base[page_no])->heap_at -= size.heap_bytes;
    }
    write_lanes(layout, row_at(layout, &arr->pages, ref), batch, columns, row);
    if (layout->has_text)
        write_texts(arr, ref, batch, columns, row, &size, heap_at, blob_no);
    *out = ref;
    return SF_OK;
}

/* Life of an arrangement, and reading its rows one by one. */
#include "state/internal.h"

sf_status sf_arr_new(const sf_arr_options *options, sf_arr **out, sf_error *err)
{
    sf_arr *arr = sf_calloc(1, sizeof *arr);
    if (!arr)
        return sf_fail_memory(err);
    sf_status status = sf_layout_new(options, &arr->layout, err);
    if (status == SF_OK && !sf_index_init(&arr->index, options->budget))
        status = sf_fail_memory(err);
    if (status != SF_OK) {
        sf_layout_unref(arr->layout);
        sf_free(arr);
        return status;
    }
    arr->budget = options->budget;
    arr->open_page = UINT32_MAX;
    arr->version = 2; /* 1 stands for what was loaded */
    *out = arr;
    return SF_OK;
}

void sf_arr_free(sf_arr *arr)
{
    if (!arr)
        return;
    sf_arr_pages_deinit(arr);
    sf_index_deinit(&arr->index);
    sf_index_deinit(&arr->rows_index);
    SF_VEC_DEINIT(&arr->log);
    SF_VEC_DEINIT(&arr->created);
    sf_layout_unref(arr->layout);
    sf_free(arr);
}

uint64_t sf_arr_rows(const sf_arr *arr)
{
    return arr->rows;
}

size_t sf_arr_bytes(const sf_arr *arr)
{
    return arr->page_bytes + arr->table_bytes + arr->index.bytes + arr->rows_index.bytes;
}

/* ---- one row ---- */

int64_t sf_arr_weight(const sf_arr *arr, sf_ref ref)
{
    return row_weight(arr->layout, row_at(arr->layout, &arr->pages, ref));
}

const uint8_t *sf_arr_extra(const sf_arr *arr, sf_ref ref)
{
    return row_at(arr->layout, &arr->pages, ref) + arr->layout->extra_at;
}

uint8_t *sf_arr_extra_mut(sf_arr *arr, sf_ref ref)
{
    if (!arr_own(arr, ref_page(ref)))
        return NULL;
    return row_at(arr->layout, &arr->pages, ref) + arr->layout->extra_at;
}

void sf_arr_unlink(sf_arr *arr, sf_ref ref, uint32_t tag)
{
    if (arr->layout->chained)
        sf_chain_remove(arr, ref, tag);
    else
        sf_index_remove(&arr->index, tag, ref);
    sf_arr_unplace(arr, ref);
}

void sf_arr_remove(sf_arr *arr, sf_ref ref)
{
    /* Removal ends in less memory than it began with, so it may overdraw the budget meanwhile. */
    if (!arr->own[ref_page(ref)] && !sf_arr_own_slow(arr, ref_page(ref), true)) {
        arr->broken = true;
        return;
    }
    uint64_t hash = sf_row_hash(arr->layout, &arr->pages, ref, 0, arr->layout->key_count);
    sf_arr_unlink(arr, ref, tag_of(hash));
}

bool sf_arr_equal(const sf_arr *arr, sf_ref ref, const sf_batch *batch, const uint32_t *columns,
                  uint32_t from_column, uint32_t to_column, uint32_t row)
{
    return sf_row_equals_batch(arr->layout, &arr->pages, ref, batch, columns, from_column,
                               to_column, row);
}

bool sf_arr_lane_i64(const sf_arr *arr, sf_ref ref, uint32_t column_no, int64_t *out)
{
    const sf_row_column *column = &arr->layout->columns[column_no];
    const uint8_t *row = row_at(arr->layout, &arr->pages, ref);
    if (row_is_null(row, column))
        return false;
    const void *lane = row + column->at;
    switch (column->type) {
    case SF_TYPE_BOOL:
    case SF_TYPE_U8: *out = *(const uint8_t *)lane; break;
    case SF_TYPE_I8: *out = (int64_t) * (const int8_t *)lane; break;
    case SF_TYPE_I16: *out = *(const int16_t *)lane; break;
    case SF_TYPE_U16: *out = *(const uint16_t *)lane; break;
    case SF_TYPE_I32: *out = *(const int32_t *)lane; break;
    case SF_TYPE_U32:
    case SF_TYPE_F32: *out = *(const uint32_t *)lane; break;
    default: SF_ASSERT(!column->text); *out = *(const int64_t *)lane;
    }
    return true;
}

bool sf_arr_lane_str(const sf_arr *arr, sf_ref ref, uint32_t column_no, sf_str *out)
{
    const sf_row_column *column = &arr->layout->columns[column_no];
    const uint8_t *row = row_at(arr->layout, &arr->pages, ref);
    SF_ASSERT(column->text);
    if (row_is_null(row, column))
        return false;
    *out = sf_row_text(&arr->pages, arr->pages.base[ref_page(ref)], row, column);
    return true;
}

/* ---- many rows ---- */

sf_column *sf_arr_gather(const sf_arr *arr, uint32_t column, const sf_ref *refs, uint32_t count)
{
    return sf_rows_gather(arr->layout, &arr->pages, column, refs, count);
}

uint32_t sf_arr_scan(const sf_arr *arr, sf_ref from, sf_ref *out, uint32_t max)
{
    const sf_layout *layout = arr->layout;
    uint32_t count = 0;
    uint32_t slot = from ? ref_slot(from) + 1 : 0;
    for (uint32_t page_no = ref_page(from); page_no < arr->pages.count; page_no++, slot = 0) {
        if (arr->entries[page_no].use != PAGE_ROWS)
            continue;
        uint8_t *base = arr->pages.base[page_no];
        for (; slot < head_of(base)->slots; slot++) {
            if (!(row_in(layout, base, slot)[0] & ROW_LIVE))
                continue;
            if (count == max)
                return count;
            out[count++] = ref_of(page_no, slot);
        }
    }
    return count;
}

/* Pages from disk. Nothing in them is believed: every number is checked before it is used, and what
 * can be derived (free slots, garbage, chains, index) is derived anew. */
#include "state/internal.h"

static sf_status corrupt(sf_error *err, uint32_t page_no, const char *what)
{
    sf_status status = sf_fail(
        err, SF_CORRUPT, "page %u of the saved state does not hold together: %s", page_no, what);
    sf_error_hint(err, "restore the checkpoint from a backup, or rebuild it from the source's log");
    return status;
}

/* ---- one page ---- */

/* Texts of a row: side by side, in order of columns, within the heap. *heap_bytes grows. */
static bool texts_hold(const sf_layout *layout, const uint8_t *base, const uint8_t *row,
                       uint32_t heap_at, uint32_t *heap_bytes)
{
    uint32_t expected = 0;
    for (uint32_t c = 0; c < layout->column_count; c++) {
        const sf_row_column *column = &layout->columns[c];
        if (!column->text)
            continue;
        const text_lane *lane = (const text_lane *)(const void *)(row + column->at);
        uint32_t len = lane->len == TEXT_LONG ? (uint32_t)sizeof(text_long) : lane->len;
        if (len == 0 && lane->at == 0)
            continue;
        if (len == 0 || row_is_null(row, column) || (expected && lane->at != expected) ||
            lane->at < heap_at || lane->at + len > SF_PAGE_BYTES)
            return false;
        expected = lane->at + len;
        *heap_bytes += len;
    }
    SF_UNUSED(base);
    return true;
}

static bool lanes_hold(const sf_layout *layout, const uint8_t *row)
{
    static const uint8_t zero[8];
    for (uint32_t c = 0; c < layout->column_count; c++) {
        const sf_row_column *column = &layout->columns[c];
        const uint8_t *lane = row + column->at;
        if (row_is_null(row, column) && memcmp(lane, zero, column->bytes) != 0)
            return false;
        if (column->type == SF_TYPE_BOOL && *lane > 1)
            return false;
    }
    return layout->mode != SF_ARR_BAG || row_weight(layout, row) != 0;
}

/* Free slots are chained anew. NULL: all is well. */
static const char *check_rows(const sf_layout *layout, uint8_t *base)
{
    page_head *head = head_of(base);
    if (head->slots > layout->rows_max || head->live > head->slots)
        return "its counts of rows";
    uint32_t rows_end = (uint32_t)sizeof *head + head->slots * layout->stride;
    if (head->heap_at > SF_PAGE_BYTES || head->heap_at < rows_end)
        return "its room for texts";
    uint32_t live = 0, heap_bytes = 0;
    head->free_slot = 0;
    for (uint32_t slot = head->slots; slot-- > 0;) {
        uint8_t *row = row_in(layout, base, slot);
        if (!(row[0] & ROW_LIVE)) {
            row[0] = 0;
            memcpy(row + 2, &head->free_slot, sizeof head->free_slot);
            head->free_slot = (uint16_t)(slot + 1);
            continue;
        }
        live++;
        if (!lanes_hold(layout, row))
            return "a value";
        if (!texts_hold(layout, base, row, head->heap_at, &heap_bytes))
            return "a text";
    }
    if (live != head->live)
        return "its counts of rows";
    if (heap_bytes > SF_PAGE_BYTES - head->heap_at)
        return "its room for texts";
    head->heap_garbage = SF_PAGE_BYTES - head->heap_at - heap_bytes;
    return NULL;
}

static const char *check_blob(const blob_head *head)
{
    if (head->total_bytes == 0 || head->total_bytes > ROW_BLOB_MAX)
        return "the length of a long text";
    uint32_t pieces = blob_pieces(head->total_bytes);
    if (head->first_page_no > head->page_no || head->page_no - head->first_page_no >= pieces)
        return "the pieces of a long text";
    return NULL;
}

sf_status sf_arr_load_page(sf_arr *arr, uint32_t page_no, const void *bytes, sf_error *err)
{
    SF_ASSERT(arr->loading || arr->pages.count == 0);
    arr->loading = true;
    page_head head;
    memcpy(&head, bytes, sizeof head);
    if (head.magic != PAGE_MAGIC_ROWS && head.magic != PAGE_MAGIC_BLOB)
        return corrupt(err, page_no, "it is no page, or of another version");
    if (head.page_no != page_no || page_no >= PAGE_NO_MAX)
        return corrupt(err, page_no, "its number");
    if (head.fingerprint != arr->layout->fingerprint)
        return corrupt(err, page_no, "it belongs to rows of another shape");
    if (page_no < arr->pages.count && arr->entries[page_no].use != PAGE_NONE)
        return corrupt(err, page_no, "it is there twice");
    sf_page *page = sf_page_new(arr->budget, SF_PAGE_BYTES, false);
    if (!page)
        return sf_arr_no_memory(arr, err);
    memcpy(page->bytes, bytes, SF_PAGE_BYTES);
    bool is_rows = head.magic == PAGE_MAGIC_ROWS;
    const char *wrong = is_rows ? check_rows(arr->layout, page->bytes)
                                : check_blob((const blob_head *)(const void *)page->bytes);
    if (wrong || !sf_arr_number_claim(arr, page_no, is_rows ? PAGE_ROWS : PAGE_BLOB, page)) {
        sf_page_unref(page);
        return wrong ? corrupt(err, page_no, wrong) : sf_arr_no_memory(arr, err);
    }
    if (is_rows)
        arr->rows += head.live;
    return SF_OK;
}

/* ---- long texts ---- */

static const blob_head *piece_at(const sf_arr *arr, uint32_t page_no)
{
    if (page_no >= arr->pages.count || arr->entries[page_no].use != PAGE_BLOB)
        return NULL;
    return (const blob_head *)(const void *)arr->pages.base[page_no];
}

/* The pieces that begin at page_no become one text. */
static sf_status join_pieces(sf_arr *arr, uint32_t page_no, sf_error *err)
{
    uint32_t total = piece_at(arr, page_no)->total_bytes, count = blob_pieces(total);
    for (uint32_t i = 0; i < count; i++) {
        const blob_head *piece = piece_at(arr, page_no + i);
        if (!piece || piece->first_page_no != page_no || piece->total_bytes != total)
            return corrupt(err, page_no + i, "the pieces of a long text");
    }
    sf_page *whole = sf_page_new(arr->budget, total, false);
    if (!whole)
        return sf_arr_no_memory(arr, err);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i * BLOB_PIECE_BYTES;
        uint32_t len = total - at < BLOB_PIECE_BYTES ? total - at : BLOB_PIECE_BYTES;
        memcpy(whole->bytes + at, arr->pages.base[page_no + i] + sizeof(blob_head), len);
        sf_arr_number_give(arr, page_no + i);
        bool claimed =
            sf_arr_number_claim(arr, page_no + i, i ? PAGE_BLOB_REST : PAGE_BLOB, i ? NULL : whole);
        SF_ASSERT(claimed); /* the tables reach that far */
    }
    return SF_OK;
}

static sf_status join_blobs(sf_arr *arr, sf_error *err)
{
    for (uint32_t i = 0; i < arr->pages.count;) {
        const blob_head *piece = piece_at(arr, i);
        if (!piece) {
            i++;
            continue;
        }
        if (piece->first_page_no != i)
            return corrupt(err, i, "the pieces of a long text");
        uint32_t count = blob_pieces(piece->total_bytes);
        SF_TRY(join_pieces(arr, i, err));
        i += count;
    }
    return SF_OK;
}

/* The long texts of a row fill one blob, which no other row shows. */
static bool blob_holds(const sf_arr *arr, sf_ref ref, bool *taken)
{
    const sf_layout *layout = arr->layout;
    const uint8_t *base = arr->pages.base[ref_page(ref)];
    const uint8_t *row = row_at(layout, &arr->pages, ref);
    uint32_t blob_no = UINT32_MAX, at = 0;
    for (uint32_t c = 0; c < layout->column_count; c++) {
        if (!layout->columns[c].text)
            continue;
        const text_lane *lane = (const text_lane *)(const void *)(row + layout->columns[c].at);
        if (lane->len != TEXT_LONG)
            continue;
        text_long place;
        memcpy(&place, base + lane->at, sizeof place);
        if (blob_no == UINT32_MAX) {
            blob_no = place.page_no;
            if (blob_no >= arr->pages.count || arr->entries[blob_no].use != PAGE_BLOB ||
                taken[blob_no])
                return false;
            taken[blob_no] = true;
        }
        uint32_t size = arr->entries[blob_no].page->size;
        if (place.page_no != blob_no || place.at != at || place.len > size - at || place.len == 0)
            return false;
        at += place.len;
    }
    return blob_no == UINT32_MAX || at == arr->entries[blob_no].page->size;
}

/* ---- all rows ---- */

static sf_ref next_row(const sf_arr *arr, sf_ref from)
{
    sf_ref ref;
    return sf_arr_scan(arr, from, &ref, 1) ? ref : 0;
}

static sf_status check_blobs(sf_arr *arr, sf_error *err)
{
    if (!arr->layout->has_text)
        return SF_OK;
    bool *taken = sf_calloc(arr->pages.count, sizeof *taken);
    if (!taken)
        return sf_fail_memory(err);
    sf_status status = SF_OK;
    for (sf_ref ref = next_row(arr, 0); ref && status == SF_OK; ref = next_row(arr, ref))
        if (!blob_holds(arr, ref, taken))
            status = corrupt(err, ref_page(ref), "a long text");
    for (uint32_t i = 0; i < arr->pages.count && status == SF_OK; i++)
        if (arr->entries[i].use == PAGE_BLOB && !taken[i])
            status = corrupt(err, i, "a long text of no row");
    sf_free(taken);
    return status;
}

static sf_status index_row(sf_arr *arr, sf_ref ref, uint32_t tag, sf_error *err)
{
    const sf_layout *layout = arr->layout;
    sf_ref head = 0;
    for (const uint64_t *at = index_seek(&arr->index, tag); entry_is(*at, tag) && !head; at++)
        if (sf_row_equals_row(layout, &arr->pages, (sf_ref)*at, ref, 0, layout->key_count))
            head = (sf_ref)*at;
    if (row_weight(layout, row_at(layout, &arr->pages, ref)) < 0)
        arr->retracting = true;
    if (layout->chained)
        return sf_chain_push(arr, ref, head, tag, err);
    if (head)
        return corrupt(err, ref_page(ref), "a key is there twice");
    if (!sf_index_reserve(&arr->index, tag))
        return sf_arr_no_memory(arr, err);
    sf_index_insert(&arr->index, tag, ref);
    return SF_OK;
}

static sf_status index_rows(sf_arr *arr, sf_error *err)
{
    const sf_layout *layout = arr->layout;
    sf_ref refs[PROBE_CHUNK], last = 0;
    uint64_t hashes[PROBE_CHUNK];
    uint32_t count;
    while ((count = sf_arr_scan(arr, last, refs, PROBE_CHUNK)) > 0) {
        for (uint32_t i = 0; i < count; i++)
            hashes[i] = sf_row_hash(layout, &arr->pages, refs[i], 0, layout->key_count);
        sf_arr_prefetch(arr, hashes, count);
        for (uint32_t i = 0; i < count; i++)
            SF_TRY(index_row(arr, refs[i], tag_of(hashes[i]), err));
        last = refs[count - 1];
    }
    return SF_OK;
}

sf_status sf_arr_load_finish(sf_arr *arr, sf_error *err)
{
    SF_TRY(join_blobs(arr, err));
    SF_TRY(check_blobs(arr, err));
    for (uint32_t i = 0; i < arr->pages.count; i++) {
        if (arr->entries[i].use == PAGE_ROWS) {
            if (!sf_arr_page_links(arr, i))
                return sf_arr_no_memory(arr, err);
            sf_arr_note_hole(arr, i);
        } else if (arr->entries[i].use == PAGE_NONE && !arr->entries[i].in_numbers) {
            arr->entries[i].in_numbers = SF_VEC_PUSH(&arr->numbers, i);
        }
    }
    if (!arr->layout->chained && !sf_index_presize(&arr->index, arr->rows))
        return sf_arr_no_memory(arr, err);
    SF_TRY(index_rows(arr, err));
    arr->loading = false;
    return SF_OK;
}

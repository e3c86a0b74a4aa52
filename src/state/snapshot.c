/* Snapshots: references to all pages of a moment, read row by row or page by page. */
#include "state/internal.h"

enum { TEXT_BYTES_MAX = 32 * 1024 * 1024 }; /* a batch read ends after that much text */

typedef struct {
    uint64_t changed;
    uint8_t use;
} snapshot_entry;

struct sf_snapshot {
    _Atomic uint32_t refs;
    sf_layout *layout;
    sf_pages pages;
    sf_page **held;
    snapshot_entry *entries;
    uint64_t rows, version;
};

sf_snapshot *sf_arr_snapshot(sf_arr *arr)
{
    SF_ASSERT(!arr->loading);
    uint32_t count = arr->pages.count;
    sf_snapshot *snapshot = arr->broken ? NULL : sf_calloc(1, sizeof *snapshot);
    if (!snapshot)
        return NULL;
    atomic_init(&snapshot->refs, 1);
    snapshot->held = sf_calloc(count, sizeof *snapshot->held);
    snapshot->entries = sf_calloc(count, sizeof *snapshot->entries);
    snapshot->pages = (sf_pages){sf_calloc(count, sizeof *snapshot->pages.base), count};
    snapshot->layout = sf_layout_ref(arr->layout);
    if (!snapshot->held || !snapshot->entries || !snapshot->pages.base) {
        snapshot->pages.count = 0;
        sf_snapshot_unref(snapshot);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        sf_page *page = arr->entries[i].page;
        snapshot->entries[i] = (snapshot_entry){arr->entries[i].changed, arr->entries[i].use};
        if (!page)
            continue;
        atomic_fetch_add_explicit(&page->refs, 1, memory_order_relaxed);
        snapshot->held[i] = page;
        snapshot->pages.base[i] = page->bytes;
    }
    if (count)
        memset(arr->own, 0, count);
    snapshot->rows = arr->rows;
    snapshot->version = arr->version++;
    return snapshot;
}

sf_snapshot *sf_snapshot_ref(sf_snapshot *snapshot)
{
    atomic_fetch_add_explicit(&snapshot->refs, 1, memory_order_relaxed);
    return snapshot;
}

void sf_snapshot_unref(sf_snapshot *snapshot)
{
    if (!snapshot || atomic_fetch_sub_explicit(&snapshot->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t i = 0; i < snapshot->pages.count; i++)
        sf_page_unref(snapshot->held[i]);
    sf_free(snapshot->held);
    sf_free(snapshot->entries);
    sf_free(snapshot->pages.base);
    sf_layout_unref(snapshot->layout);
    sf_free(snapshot);
}

uint64_t sf_snapshot_rows(const sf_snapshot *snapshot)
{
    return snapshot->rows;
}

uint64_t sf_snapshot_version(const sf_snapshot *snapshot)
{
    return snapshot->version;
}

/* ---- rows ---- */

/* Moves the cursor over `skip` live rows; whole pages by their count. */
static void skip_rows(const sf_snapshot *snapshot, sf_snapshot_cursor *at, uint64_t skip)
{
    for (; skip > 0 && at->page < snapshot->pages.count; at->page++, at->slot = 0) {
        if (snapshot->entries[at->page].use != PAGE_ROWS)
            continue;
        uint8_t *base = snapshot->pages.base[at->page];
        const page_head *head = head_of(base);
        if (head->live <= skip) {
            skip -= head->live;
            continue;
        }
        for (; skip > 0; at->slot++)
            skip -= row_in(snapshot->layout, base, at->slot)[0] & ROW_LIVE;
        return;
    }
}

static size_t text_bytes(const sf_snapshot *snapshot, const uint8_t *base, const uint8_t *row)
{
    const sf_layout *layout = snapshot->layout;
    size_t bytes = 0;
    for (uint32_t c = 0; layout->has_text && c < layout->column_count; c++)
        if (layout->columns[c].text)
            bytes += sf_row_text(&snapshot->pages, base, row, &layout->columns[c]).len;
    return bytes;
}

static uint32_t take_refs(const sf_snapshot *snapshot, sf_snapshot_cursor *at, uint32_t limit,
                          sf_ref *out)
{
    const sf_layout *layout = snapshot->layout;
    uint32_t count = 0;
    size_t bytes = 0;
    for (; at->page < snapshot->pages.count; at->page++, at->slot = 0) {
        if (snapshot->entries[at->page].use != PAGE_ROWS)
            continue;
        uint8_t *base = snapshot->pages.base[at->page];
        for (; at->slot < head_of(base)->slots; at->slot++) {
            const uint8_t *row = row_in(layout, base, at->slot);
            if (!(row[0] & ROW_LIVE) || row_weight(layout, row) == 0)
                continue;
            if (count == limit || bytes > TEXT_BYTES_MAX)
                return count;
            bytes += text_bytes(snapshot, base, row);
            out[count++] = ref_of(at->page, at->slot);
        }
    }
    return count;
}

/* NULL column: all weights are 1. */
static bool gather_weights(const sf_snapshot *snapshot, const sf_ref *refs, uint32_t count,
                           sf_column **out)
{
    bool all_one = true;
    *out = NULL;
    for (uint32_t i = 0; i < count && all_one; i++)
        all_one =
            row_weight(snapshot->layout, row_at(snapshot->layout, &snapshot->pages, refs[i])) == 1;
    if (all_one)
        return true;
    *out = sf_column_new(SF_TYPE_I64, count, false);
    if (!*out)
        return false;
    int64_t *weights = sf_column_lanes(*out);
    for (uint32_t i = 0; i < count; i++)
        weights[i] =
            row_weight(snapshot->layout, row_at(snapshot->layout, &snapshot->pages, refs[i]));
    return true;
}

static sf_batch *rows_to_batch(const sf_snapshot *snapshot, const sf_schema *schema,
                               const sf_ref *refs, uint32_t count)
{
    sf_column *weights, **columns = sf_calloc(schema->count, sizeof(sf_column *));
    if (!columns)
        return NULL;
    sf_batch *batch = NULL;
    if (gather_weights(snapshot, refs, count, &weights)) {
        for (uint32_t c = 0; c < schema->count; c++)
            columns[c] = sf_rows_gather(snapshot->layout, &snapshot->pages, c, refs, count);
        batch = sf_batch_new(schema, count, columns, weights, NULL);
    }
    sf_free(columns);
    return batch;
}

sf_status sf_snapshot_read(const sf_snapshot *snapshot, const sf_schema *schema, uint64_t offset,
                           uint32_t limit, sf_snapshot_cursor *cursor, sf_batch **out,
                           sf_error *err)
{
    SF_ASSERT(schema->count == snapshot->layout->column_count);
    for (uint32_t c = 0; c < schema->count; c++)
        SF_ASSERT(schema->fields[c].type == snapshot->layout->columns[c].type);
    *out = NULL;
    sf_snapshot_cursor at = cursor ? *cursor : (sf_snapshot_cursor){0};
    if (at.page == 0 && at.slot == 0)
        skip_rows(snapshot, &at, offset);
    if (limit > SF_BATCH_ROWS_MAX)
        limit = SF_BATCH_ROWS_MAX;
    sf_ref *refs = sf_alloc(limit * sizeof *refs);
    if (!refs)
        return sf_fail_memory(err);
    uint32_t count = take_refs(snapshot, &at, limit, refs);
    if (count)
        *out = rows_to_batch(snapshot, schema, refs, count);
    sf_free(refs);
    if (count && !*out)
        return sf_fail_memory(err);
    if (cursor)
        *cursor = at;
    return SF_OK;
}

/* ---- pages ---- */

typedef sf_status (*visit_page)(void *arg, uint32_t page_no, const void *bytes, sf_error *err);

static sf_status visit_blob(const sf_snapshot *snapshot, uint32_t page_no, visit_page visit,
                            void *arg, sf_error *err)
{
    uint8_t *piece = sf_alloc_aligned(64, SF_PAGE_BYTES);
    if (!piece)
        return sf_fail_memory(err);
    uint32_t total = snapshot->held[page_no]->size, count = blob_pieces(total);
    sf_status status = SF_OK;
    for (uint32_t i = 0; i < count && status == SF_OK; i++) {
        uint32_t at = i * BLOB_PIECE_BYTES;
        uint32_t len = total - at < BLOB_PIECE_BYTES ? total - at : BLOB_PIECE_BYTES;
        blob_head head = {.magic = PAGE_MAGIC_BLOB,
                          .page_no = page_no + i,
                          .fingerprint = snapshot->layout->fingerprint,
                          .first_page_no = page_no,
                          .total_bytes = total};
        memcpy(piece, &head, sizeof head);
        memcpy(piece + sizeof head, snapshot->pages.base[page_no] + at, len);
        memset(piece + sizeof head + len, 0, BLOB_PIECE_BYTES - len);
        status = visit(arg, page_no + i, piece, err);
    }
    sf_free(piece);
    return status;
}

sf_status sf_snapshot_pages(const sf_snapshot *snapshot, uint64_t since, visit_page visit,
                            void *arg, sf_error *err)
{
    for (uint32_t i = 0; i < snapshot->pages.count; i++) {
        const snapshot_entry *entry = &snapshot->entries[i];
        if (entry->changed <= since)
            continue;
        switch ((page_use)entry->use) {
        case PAGE_ROWS: SF_TRY(visit(arg, i, snapshot->pages.base[i], err)); break;
        case PAGE_BLOB: SF_TRY(visit_blob(snapshot, i, visit, arg, err)); break;
        case PAGE_BLOB_REST: break; /* with its first */
        case PAGE_NONE:
            if (since > 0)
                SF_TRY(visit(arg, i, NULL, err));
        }
    }
    return SF_OK;
}

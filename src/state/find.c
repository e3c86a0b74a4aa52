/* From keys to rows. */
#include "state/internal.h"

enum { PREFETCH_FROM_BYTES = 512 * 1024 }; /* smaller state is in the cache anyway */

void sf_arr_check_batch(const sf_arr *arr, const sf_batch *batch, const uint32_t *columns,
                        uint32_t count)
{
    SF_ASSERT(!arr->loading);
    for (uint32_t c = 0; c < count; c++)
        SF_ASSERT(batch->columns[columns[c]]->type == arr->layout->columns[c].type);
}

sf_status sf_arr_no_memory(const sf_arr *arr, sf_error *err)
{
    sf_status status =
        sf_fail(err, SF_LIMIT, "state of %llu rows in %llu bytes cannot grow",
                (unsigned long long)arr->rows, (unsigned long long)sf_arr_bytes(arr));
    sf_error_hint(err, "raise the memory limit, or keep fewer groups or a shorter window");
    return status;
}

/* Key of one 8-byte integer. *end: where the search for the tag ended, when nothing was found. */
static inline sf_ref probe_integer(const sf_arr *arr, const sf_column *key, uint32_t row,
                                   uint32_t tag, uint64_t **end)
{
    const sf_layout *layout = arr->layout;
    const sf_row_column *column = &layout->columns[0];
    bool null = !sf_column_is_valid(key, row);
    uint64_t value = null ? 0 : SF_LANES(key, uint64_t)[row]; /* stored NULL lanes are 0 too */
    uint64_t *at = index_seek(&arr->index, tag);
    for (; entry_is(*at, tag); at++) {
        const uint8_t *stored = row_at(layout, &arr->pages, (sf_ref)*at);
        uint64_t lane;
        memcpy(&lane, stored + column->at, sizeof lane);
        if (SF_LIKELY(lane == value && row_is_null(stored, column) == null))
            return (sf_ref)*at;
    }
    *end = at;
    return 0;
}

static inline sf_ref probe(const sf_arr *arr, const sf_batch *batch, const uint32_t *columns,
                           uint32_t row, uint32_t tag, uint64_t **end)
{
    const sf_layout *layout = arr->layout;
    if (layout->fast_key)
        return probe_integer(arr, batch->columns[columns[0]], row, tag, end);
    uint64_t *at = index_seek(&arr->index, tag);
    for (; entry_is(*at, tag); at++)
        if (sf_row_equals_batch(layout, &arr->pages, (sf_ref)*at, batch, columns, 0,
                                layout->key_count, row))
            return (sf_ref)*at;
    *end = at;
    return 0;
}

sf_ref sf_arr_find_one(const sf_arr *arr, const sf_batch *batch, const uint32_t *columns,
                       uint32_t row, uint32_t tag)
{
    uint64_t *end = NULL;
    return probe(arr, batch, columns, row, tag, &end);
}

void sf_arr_prefetch(const sf_arr *arr, const uint64_t *hashes, uint32_t count)
{
    const uint64_t *home[PROBE_CHUNK];
    SF_ASSERT(count <= PROBE_CHUNK);
    if (count < 4 || sf_arr_bytes(arr) < PREFETCH_FROM_BYTES)
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t tag = tag_of(hashes[i]);
        home[i] = segment_home(index_segment(&arr->index, tag), tag);
        __builtin_prefetch(home[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t tag = tag_of(hashes[i]);
        const uint64_t *at = home[i];
        while (*at && *at >> 32 < tag)
            at++;
        if (entry_is(*at, tag))
            __builtin_prefetch(row_at(arr->layout, &arr->pages, (sf_ref)*at));
    }
}

static uint32_t chunk_of(uint32_t count, uint32_t from)
{
    return count - from < PROBE_CHUNK ? count - from : PROBE_CHUNK;
}

void sf_arr_find(const sf_arr *arr, const sf_batch *batch, const uint32_t *columns, sf_sel sel,
                 const uint64_t *hashes, sf_ref *out)
{
    sf_arr_check_batch(arr, batch, columns, arr->layout->key_count);
    for (uint32_t from = 0; from < sel.count; from += PROBE_CHUNK) {
        uint32_t count = chunk_of(sel.count, from);
        sf_arr_prefetch(arr, hashes + from, count);
        for (uint32_t i = from; i < from + count; i++)
            out[i] = sf_arr_find_one(arr, batch, columns, sf_sel_row(sel, i), tag_of(hashes[i]));
    }
}

/* ---- one row a key ---- */

/* end: where the search ended that did not find the key. */
static sf_status insert_unique(sf_arr *arr, const sf_batch *batch, const uint32_t *columns,
                               uint32_t row, uint32_t tag, uint64_t *end, sf_ref *out,
                               sf_error *err)
{
    uint32_t made = arr->index.made;
    if (!sf_index_reserve(&arr->index, tag))
        return sf_arr_no_memory(arr, err);
    SF_TRY(sf_row_create(arr, batch, columns, row, 1, out, err));
    if (SF_LIKELY(made == arr->index.made))
        sf_index_insert_at(&arr->index, end, tag, *out);
    else
        sf_index_insert(&arr->index, tag, *out);
    return SF_OK;
}

static void undo_created(sf_arr *arr)
{
    while (arr->created.len > 0) {
        sf_ref ref = arr->created.data[--arr->created.len];
        sf_arr_unlink(
            arr, ref,
            tag_of(sf_row_hash(arr->layout, &arr->pages, ref, 0, arr->layout->key_count)));
    }
}

/* Scratch for up to count created rows. */
static bool reserve_created(sf_arr *arr, uint32_t count)
{
    arr->created.len = 0;
    while (arr->created.cap < count)
        if (!sf_vec_grow((void **)&arr->created.data, &arr->created.cap, sizeof(sf_ref)))
            return false;
    return true;
}

static sf_status upsert_one(sf_arr *arr, const sf_batch *batch, const uint32_t *columns,
                            uint32_t row, uint32_t tag, sf_ref *out, sf_error *err)
{
    uint64_t *end;
    *out = probe(arr, batch, columns, row, tag, &end);
    if (SF_LIKELY(*out))
        return arr_own(arr, ref_page(*out)) ? SF_OK : sf_arr_no_memory(arr, err);
    SF_TRY(insert_unique(arr, batch, columns, row, tag, end, out, err));
    arr->created.data[arr->created.len++] = *out;
    return SF_OK;
}

sf_status sf_arr_upsert(sf_arr *arr, const sf_batch *batch, const uint32_t *columns, sf_sel sel,
                        const uint64_t *hashes, sf_ref *out, bool *created, sf_error *err)
{
    SF_ASSERT(arr->layout->mode == SF_ARR_UNIQUE);
    sf_arr_check_batch(arr, batch, columns, arr->layout->column_count);
    if (arr->broken || !reserve_created(arr, sel.count))
        return sf_arr_no_memory(arr, err);
    for (uint32_t from = 0; from < sel.count; from += PROBE_CHUNK) {
        uint32_t count = chunk_of(sel.count, from);
        sf_arr_prefetch(arr, hashes + from, count);
        for (uint32_t i = from; i < from + count; i++) {
            size_t before = arr->created.len;
            sf_status status = upsert_one(arr, batch, columns, sf_sel_row(sel, i),
                                          tag_of(hashes[i]), &out[i], err);
            if (SF_UNLIKELY(status != SF_OK)) {
                undo_created(arr);
                return status;
            }
            if (created)
                created[i] = arr->created.len > before;
        }
    }
    return SF_OK;
}

sf_status sf_arr_replace(sf_arr *arr, const sf_batch *batch, const uint32_t *columns, uint32_t row,
                         uint64_t hash, sf_ref *out, sf_error *err)
{
    SF_ASSERT(arr->layout->mode == SF_ARR_UNIQUE);
    sf_arr_check_batch(arr, batch, columns, arr->layout->column_count);
    if (arr->broken)
        return sf_arr_no_memory(arr, err);
    uint32_t tag = tag_of(hash);
    uint64_t *end = NULL;
    sf_ref old = probe(arr, batch, columns, row, tag, &end), ref;
    if (old) {
        SF_TRY(sf_row_overwrite(arr, old, batch, columns, row, &ref, err));
        if (ref != old) {
            sf_index_set(&arr->index, tag, old, ref);
            sf_arr_unplace(arr, old);
        }
    } else {
        SF_TRY(insert_unique(arr, batch, columns, row, tag, end, &ref, err));
    }
    if (out)
        *out = ref;
    return SF_OK;
}

/* Rows of one key in a bag: chains beside the pages.
 *
 * A chain runs from its newest row, which the index names, to its oldest. While it is short, rows
 * are found in it and taken out of it by walking. A long one is linked both ways, and, once equal
 * rows must be found in it, its rows enter an index of whole rows; so a hot key costs no walk.
 * Which of that holds for a chain is said in `prev` of its head, which has no row before it. */
#include "state/internal.h"

static uint32_t prev_of(const sf_arr *arr, sf_ref ref)
{
    const uint32_t *prev = arr->prev[ref_page(ref)];
    return prev ? prev[ref_slot(ref)] : 0;
}

static void set_prev(sf_arr *arr, sf_ref ref, uint32_t to)
{
    uint32_t *prev = arr->prev[ref_page(ref)];
    if (prev)
        prev[ref_slot(ref)] = to;
    else
        SF_ASSERT(to == 0);
}

/* Of the whole row; the key's part comes from its tag alone, which is at hand everywhere. */
static uint32_t row_tag(uint32_t key_tag, uint64_t rest_hash)
{
    return tag_of(sf_hash_mix(key_tag, rest_hash));
}

static uint32_t stored_row_tag(const sf_arr *arr, sf_ref ref, uint32_t key_tag)
{
    const sf_layout *layout = arr->layout;
    return row_tag(key_tag,
                   sf_row_hash(layout, &arr->pages, ref, layout->key_count, layout->column_count));
}

static sf_ref chain_head(const sf_arr *arr, sf_ref ref, uint32_t tag)
{
    const sf_layout *layout = arr->layout;
    const uint64_t *first = index_seek(&arr->index, tag);
    for (const uint64_t *at = first; entry_is(*at, tag); at++)
        if ((sf_ref)*at == ref)
            return ref;
    for (const uint64_t *at = first; entry_is(*at, tag); at++)
        if (sf_row_equals_row(layout, &arr->pages, (sf_ref)*at, ref, 0, layout->key_count))
            return (sf_ref)*at;
    return 0;
}

/* ---- linking and indexing ---- */

static void unlink_back(sf_arr *arr, sf_ref head, sf_ref end)
{
    for (sf_ref ref = head; ref != end; ref = *next_of(arr, ref))
        set_prev(arr, ref, 0);
}

/* Both ways. false: no memory, the chain is as before. */
static bool link_back(sf_arr *arr, sf_ref head)
{
    sf_ref before = CHAIN_LINKED;
    for (sf_ref ref = head; ref; ref = *next_of(arr, ref)) {
        if (!sf_arr_page_back_links(arr, ref_page(ref))) {
            unlink_back(arr, head, ref);
            return false;
        }
        set_prev(arr, ref, before);
        before = ref;
    }
    return true;
}

static void unindex_rows(sf_arr *arr, sf_ref head, sf_ref end, uint32_t tag)
{
    for (sf_ref ref = head; ref != end; ref = *next_of(arr, ref))
        sf_index_remove(&arr->rows_index, stored_row_tag(arr, ref, tag), ref);
}

static sf_status chain_index(sf_arr *arr, sf_ref head, uint32_t tag, sf_error *err)
{
    if (!arr->has_rows_index && !sf_index_init(&arr->rows_index, arr->budget))
        return sf_arr_no_memory(arr, err);
    arr->has_rows_index = true;
    if (prev_of(arr, head) != CHAIN_LINKED && !link_back(arr, head))
        return sf_arr_no_memory(arr, err);
    for (sf_ref ref = head; ref; ref = *next_of(arr, ref)) {
        uint32_t whole = stored_row_tag(arr, ref, tag);
        if (!sf_index_reserve(&arr->rows_index, whole)) {
            unindex_rows(arr, head, ref, tag);
            return sf_arr_no_memory(arr, err);
        }
        sf_index_insert(&arr->rows_index, whole, ref);
    }
    set_prev(arr, head, CHAIN_INDEXED);
    return SF_OK;
}

/* ---- putting in and taking out ---- */

sf_status sf_chain_push(sf_arr *arr, sf_ref ref, sf_ref head, uint32_t tag, sf_error *err)
{
    if (!head) {
        if (!sf_index_reserve(&arr->index, tag))
            return sf_arr_no_memory(arr, err);
        sf_index_insert(&arr->index, tag, ref);
        return SF_OK;
    }
    uint32_t state = prev_of(arr, head);
    if (state) {
        if (!sf_arr_page_back_links(arr, ref_page(ref)))
            return sf_arr_no_memory(arr, err);
        if (state == CHAIN_INDEXED) {
            uint32_t whole = stored_row_tag(arr, ref, tag);
            if (!sf_index_reserve(&arr->rows_index, whole))
                return sf_arr_no_memory(arr, err);
            sf_index_insert(&arr->rows_index, whole, ref);
        }
        set_prev(arr, head, ref);
        set_prev(arr, ref, state);
    }
    *next_of(arr, ref) = head;
    sf_index_set(&arr->index, tag, head, ref);
    return SF_OK;
}

static void remove_head(sf_arr *arr, sf_ref head, uint32_t tag)
{
    sf_ref next = *next_of(arr, head);
    if (!next) {
        sf_index_remove(&arr->index, tag, head);
        return;
    }
    set_prev(arr, next, prev_of(arr, head));
    sf_index_set(&arr->index, tag, head, next);
}

/* The row before ref. A chain too long to walk is linked, if there is memory for it. */
static sf_ref row_before(sf_arr *arr, sf_ref head, sf_ref ref)
{
    uint32_t walked = 0;
    bool linked = prev_of(arr, head) != 0;
    for (sf_ref before = head; before && !linked; before = *next_of(arr, before)) {
        if (*next_of(arr, before) == ref)
            return before;
        linked = ++walked == CHAIN_LONG && link_back(arr, head);
    }
    SF_ASSERT(linked);
    return prev_of(arr, ref);
}

void sf_chain_remove(sf_arr *arr, sf_ref ref, uint32_t tag)
{
    sf_ref head = chain_head(arr, ref, tag);
    SF_ASSERT(head);
    if (prev_of(arr, head) == CHAIN_INDEXED)
        sf_index_remove(&arr->rows_index, stored_row_tag(arr, ref, tag), ref);
    if (head == ref) {
        remove_head(arr, head, tag);
        return;
    }
    sf_ref before = row_before(arr, head, ref), next = *next_of(arr, ref);
    *next_of(arr, before) = next;
    if (next && prev_of(arr, head))
        set_prev(arr, next, before);
}

/* ---- equal rows ---- */

/* Rows whose weight is not 0 are wanted; one of weight 0 will do (it leaves with the batch). */
static bool candidate(const sf_arr *arr, sf_ref ref, const sf_batch *batch, const uint32_t *columns,
                      uint32_t row, sf_ref *out)
{
    const sf_layout *layout = arr->layout;
    if (!sf_row_equals_batch(layout, &arr->pages, ref, batch, columns, layout->key_count,
                             layout->column_count, row))
        return false;
    *out = ref;
    return sf_arr_weight(arr, ref) != 0;
}

static sf_ref find_indexed(const sf_arr *arr, const sf_batch *batch, const uint32_t *columns,
                           uint32_t row, uint32_t tag)
{
    const sf_layout *layout = arr->layout;
    uint64_t rest;
    sf_batch_hash(batch, columns + layout->key_count, layout->column_count - layout->key_count,
                  (sf_sel){&row, 1}, &rest);
    uint32_t whole = row_tag(tag, rest);
    sf_ref found = 0;
    for (const uint64_t *at = index_seek(&arr->rows_index, whole); entry_is(*at, whole); at++) {
        sf_ref ref = (sf_ref)*at;
        if (sf_row_equals_batch(layout, &arr->pages, ref, batch, columns, 0, layout->key_count,
                                row) &&
            candidate(arr, ref, batch, columns, row, &found))
            break;
    }
    return found;
}

sf_status sf_chain_find(sf_arr *arr, sf_ref head, const sf_batch *batch, const uint32_t *columns,
                        uint32_t row, uint32_t tag, sf_ref *out, sf_error *err)
{
    *out = 0;
    if (!head)
        return SF_OK;
    if (prev_of(arr, head) != CHAIN_INDEXED) {
        uint32_t walked = 0;
        sf_ref ref = head;
        for (; ref && walked < CHAIN_LONG; ref = *next_of(arr, ref), walked++)
            if (candidate(arr, ref, batch, columns, row, out))
                return SF_OK;
        if (!ref)
            return SF_OK;
        SF_TRY(chain_index(arr, head, tag, err));
    }
    *out = find_indexed(arr, batch, columns, row, tag);
    return SF_OK;
}

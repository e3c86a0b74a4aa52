/* Weights into bags. Everything a batch did is logged until it is complete, so that it can be taken
 * back; rows whose weight is 0 leave at the end, when nothing can fail any more. */
#include "state/internal.h"

typedef struct {
    const sf_batch *batch;
    const uint32_t *columns;
    uint32_t row, tag;
} add_what;

static sf_status log_delta(sf_arr *arr, sf_ref ref, uint32_t tag, int64_t delta, sf_error *err)
{
    sf_add_log entry = {ref, tag, delta};
    return SF_VEC_PUSH(&arr->log, entry) ? SF_OK : sf_fail_memory(err);
}

static void set_weight(sf_arr *arr, sf_ref ref, int64_t weight)
{
    uint8_t *row = row_at(arr->layout, &arr->pages, ref);
    uint64_t word;
    memcpy(&word, row, sizeof word);
    word = (word & ((1u << WEIGHT_SHIFT) - 1)) | (uint64_t)weight << WEIGHT_SHIFT;
    memcpy(row, &word, sizeof word);
}

static sf_status change_weight(sf_arr *arr, sf_ref ref, uint32_t tag, int64_t delta, sf_error *err)
{
    int64_t weight;
    if (!sf_add_i64(sf_arr_weight(arr, ref), delta, &weight) || weight >= WEIGHT_MAX ||
        weight < -WEIGHT_MAX)
        return sf_fail(err, SF_LIMIT, "a row occurs more than 2^55 times");
    if (!arr_own(arr, ref_page(ref)))
        return sf_arr_no_memory(arr, err);
    SF_TRY(log_delta(arr, ref, tag, delta, err));
    set_weight(arr, ref, weight);
    return SF_OK;
}

/* A row of its own. Its log entry comes first: a row without one would outlive a failed batch. */
static sf_status add_row(sf_arr *arr, const add_what *what, sf_ref head, int64_t weight,
                         sf_ref *out, sf_error *err)
{
    if (weight >= WEIGHT_MAX || weight < -WEIGHT_MAX)
        return sf_fail(err, SF_LIMIT, "a row occurs more than 2^55 times");
    if (!arr->layout->chained && !sf_index_reserve(&arr->index, what->tag))
        return sf_arr_no_memory(arr, err);
    SF_TRY(log_delta(arr, 0, what->tag, weight, err));
    sf_status status = sf_row_create(arr, what->batch, what->columns, what->row, weight, out, err);
    if (status == SF_OK && arr->layout->chained) {
        status = sf_chain_push(arr, *out, head, what->tag, err);
        if (status != SF_OK)
            sf_arr_unplace(arr, *out);
    } else if (status == SF_OK) {
        sf_index_insert(&arr->index, what->tag, *out);
    }
    if (status == SF_OK)
        arr->log.data[arr->log.len - 1].ref = *out;
    else
        arr->log.len--;
    return status;
}

/* Key is the whole row: one row holds the weight. */
static sf_status add_whole(sf_arr *arr, const add_what *what, int64_t weight, sf_ref *out,
                           sf_error *err)
{
    *out = sf_arr_find_one(arr, what->batch, what->columns, what->row, what->tag);
    if (*out)
        return change_weight(arr, *out, what->tag, weight, err);
    return weight ? add_row(arr, what, 0, weight, out, err) : SF_OK;
}

/* Equal rows are looked for only once something was retracted; until then each row is its own.
 * So several equal rows may stand for one, and a retraction takes from as many as it needs. */
static sf_status add_chained(sf_arr *arr, const add_what *what, int64_t weight, sf_ref *out,
                             sf_error *err)
{
    for (;;) {
        sf_ref head = sf_arr_find_one(arr, what->batch, what->columns, what->row, what->tag);
        sf_ref found = 0;
        if (arr->retracting)
            SF_TRY(sf_chain_find(arr, head, what->batch, what->columns, what->row, what->tag,
                                 &found, err));
        *out = found;
        if (!found)
            return weight ? add_row(arr, what, head, weight, out, err) : SF_OK;
        int64_t has = sf_arr_weight(arr, found);
        if (has <= 0 || weight >= -has)
            return change_weight(arr, found, what->tag, weight, err);
        SF_TRY(change_weight(arr, found, what->tag, -has, err));
        weight += has;
    }
}

/* ---- batches ---- */

static void drop_zero_rows(sf_arr *arr)
{
    for (size_t i = 0; i < arr->log.len; i++) {
        sf_add_log entry = arr->log.data[i];
        const uint8_t *base = arr->pages.base[ref_page(entry.ref)];
        if (!base)
            continue; /* the page went with its last row */
        const uint8_t *row = row_at(arr->layout, &arr->pages, entry.ref);
        if ((row[0] & ROW_LIVE) && row_weight(arr->layout, row) == 0)
            sf_arr_unlink(arr, entry.ref, entry.tag);
    }
    arr->log.len = 0;
}

static void take_back(sf_arr *arr)
{
    for (size_t i = arr->log.len; i-- > 0;) {
        sf_add_log entry = arr->log.data[i];
        set_weight(arr, entry.ref, sf_arr_weight(arr, entry.ref) - entry.delta);
    }
    drop_zero_rows(arr);
}

static bool any_negative(const int64_t *weights, uint32_t count)
{
    for (uint32_t i = 0; weights && i < count; i++)
        if (weights[i] < 0)
            return true;
    return false;
}

sf_status sf_arr_add(sf_arr *arr, const sf_batch *batch, const uint32_t *columns, sf_sel sel,
                     const uint64_t *hashes, const int64_t *weights, int64_t *new_weights,
                     sf_error *err)
{
    SF_ASSERT(arr->layout->mode == SF_ARR_BAG);
    sf_arr_check_batch(arr, batch, columns, arr->layout->column_count);
    if (arr->broken)
        return sf_arr_no_memory(arr, err);
    arr->retracting = arr->retracting || any_negative(weights, sel.count);
    arr->log.len = 0;
    for (uint32_t i = 0; i < sel.count; i++) {
        if (i % PROBE_CHUNK == 0) {
            uint32_t left = sel.count - i;
            sf_arr_prefetch(arr, hashes + i, left < PROBE_CHUNK ? left : PROBE_CHUNK);
        }
        add_what what = {batch, columns, sf_sel_row(sel, i), tag_of(hashes[i])};
        int64_t weight = weights ? weights[i] : 1;
        sf_ref ref;
        sf_status status = arr->layout->chained ? add_chained(arr, &what, weight, &ref, err)
                                                : add_whole(arr, &what, weight, &ref, err);
        if (SF_UNLIKELY(status != SF_OK)) {
            take_back(arr);
            return status;
        }
        if (new_weights)
            new_weights[i] = ref ? sf_arr_weight(arr, ref) : 0;
    }
    drop_zero_rows(arr);
    return SF_OK;
}

sf_ref sf_arr_next(const sf_arr *arr, sf_ref ref)
{
    return arr->layout->chained ? *next_of(arr, ref) : 0;
}

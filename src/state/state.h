/* state.h: what operators remember. Rows packed into 64 KiB copy-on-write pages, a hash index that
 * can be rebuilt from them, snapshots, and an ordered index for extremes and ranks.
 *
 * Row      live and NULL bits, weight (bags), fixed lanes, accumulators; texts lie in the same page,
 *          long ones in pages of their own. A row is found by sf_ref (page and slot), which stays
 *          its name while it lives. Pages are the unit of copying, of checkpoints and of snapshots;
 *          docs/formats/page.md draws one.
 * Threads  An arrangement belongs to one thread (its circuit). A snapshot may be read, and freed,
 *          by any thread at any time: it holds references to pages, and a page that is shared is
 *          copied before it is written.
 * Memory   Pages and index charge the budget, which outlives arrangement and snapshots; over it calls
 *          fail with SF_LIMIT and change nothing.
 * Fails    SF_LIMIT (also a row of more than 16 MiB of text, or more than 64 GiB in all); loading
 *          pages that do not hold together fails with SF_CORRUPT. */
#ifndef SF_STATE_STATE_H
#define SF_STATE_STATE_H

#include "column/column.h"

enum { SF_PAGE_BYTES = 65536 };

typedef uint32_t sf_ref; /* 0 = no row */

typedef struct sf_arr sf_arr;
typedef struct sf_snapshot sf_snapshot;

typedef enum {
    SF_ARR_UNIQUE, /* one row a key; the operator keeps its accumulators in the row's extra bytes */
    /* Many rows a key, with weights. When the key is the whole row, equal rows share one row whose
     * weight is their sum. Otherwise that begins with the first negative weight: before it every
     * added row stands for itself (append-only inputs pay nothing), so equal rows may be there more
     * than once, in snapshots too; a retraction takes from as many of them as it needs. */
    SF_ARR_BAG,
} sf_arr_mode;

typedef struct {
    sf_arr_mode mode;
    const sf_type *types; /* of the stored columns; copied */
    uint32_t column_count;
    uint32_t key_count;   /* the first key_count columns are the key; BAG may have 0 (one chain) */
    uint32_t extra_bytes; /* UNIQUE: accumulator bytes a row, 8-aligned, zeroed at creation */
    bool extra_weight;    /* UNIQUE: the first 8 extra bytes are the row's weight (int64): snapshots
                             report it and leave out rows where it is 0 */
    sf_budget *budget;    /* NULL allowed */
} sf_arr_options;

SF_MUST_USE sf_status sf_arr_new(const sf_arr_options *options, sf_arr **out, sf_error *err);
void sf_arr_free(sf_arr *arr); /* NULL allowed; snapshots live on */

uint64_t sf_arr_rows(const sf_arr *arr); /* stored rows */
size_t sf_arr_bytes(const sf_arr *arr);  /* pages and index */

/* All calls below take `columns`: which batch columns are the arrangement's columns, in order (for
 * finds: the first key_count suffice), and hashes[i] = sf_batch_hash of the key columns of selected
 * row i. NULL key parts equal each other here; a join that must not match them filters before. */

/* First row of each key, 0 where there is none. */
void sf_arr_find(const sf_arr *arr, const sf_batch *batch, const uint32_t *columns, sf_sel sel,
                 const uint64_t *hashes, sf_ref *out);

/* UNIQUE: find or create the row of each key. Stored non-key columns are written at creation only.
 * created[i] (may be NULL) tells which. Rows of one key within the batch share one ref. On return
 * all rows are writable: sf_arr_extra pointers stay good until the next call that takes arr. */
SF_MUST_USE sf_status sf_arr_upsert(sf_arr *arr, const sf_batch *batch, const uint32_t *columns,
                                    sf_sel sel, const uint64_t *hashes, sf_ref *out, bool *created,
                                    sf_error *err);
/* UNIQUE: put this row in place of the one its key has, or insert it. The accumulators stay. The row
 * may get another ref (its texts no longer fit its page). out may be NULL. */
SF_MUST_USE sf_status sf_arr_replace(sf_arr *arr, const sf_batch *batch, const uint32_t *columns,
                                     uint32_t row, uint64_t hash, sf_ref *out, sf_error *err);

/* BAG: add weights[i] to the row equal to selected row i (NULL = +1 each); a row whose weight becomes 0
 * leaves, a negative weight may stand for a while. new_weights[i] (may be NULL) gets the weight that
 * row has after selected row i was added. Weights stay below 2^55. */
SF_MUST_USE sf_status sf_arr_add(sf_arr *arr, const sf_batch *batch, const uint32_t *columns,
                                 sf_sel sel, const uint64_t *hashes, const int64_t *weights,
                                 int64_t *new_weights, sf_error *err);
/* The next row with the same key, 0 at the end. */
sf_ref sf_arr_next(const sf_arr *arr, sf_ref ref);

int64_t sf_arr_weight(const sf_arr *arr, sf_ref ref);
/* Never fails: a page shared with a snapshot is copied even over the budget. When the machine has no
 * memory for the copy, the row stays and every later upsert, replace, add and snapshot fails. */
void sf_arr_remove(sf_arr *arr, sf_ref ref);

/* The row's accumulator bytes. Writable form copies a page shared with a snapshot and marks it. */
const uint8_t *sf_arr_extra(const sf_arr *arr, sf_ref ref);
SF_MUST_USE uint8_t *sf_arr_extra_mut(sf_arr *arr, sf_ref ref); /* NULL: out of memory */

/* Column `column` of the given rows (0 refs give NULL), dense. Text is copied into one buffer. */
SF_MUST_USE sf_column *sf_arr_gather(const sf_arr *arr, uint32_t column, const sf_ref *refs,
                                     uint32_t count);
/* One lane without building a column. false: NULL. Integers, Bool and times; of Double and F32 the
 * bits. Texts are borrowed until the next call that takes arr. */
bool sf_arr_lane_i64(const sf_arr *arr, sf_ref ref, uint32_t column, int64_t *out);
bool sf_arr_lane_str(const sf_arr *arr, sf_ref ref, uint32_t column, sf_str *out);
/* Does the stored row equal the batch row in these columns (GROUP BY equality)? */
bool sf_arr_equal(const sf_arr *arr, sf_ref ref, const sf_batch *batch, const uint32_t *columns,
                  uint32_t from_column, uint32_t to_column, uint32_t row);

/* Visit live rows in page and slot order, from after `from` (0 = start): fills up to max refs and
 * returns how many; 0 = the end. */
uint32_t sf_arr_scan(const sf_arr *arr, sf_ref from, sf_ref *out, uint32_t max);

/* ---- snapshots --------------------------------------------------------------------------- */

/* O(pages) references; the arrangement goes on. */
SF_MUST_USE sf_snapshot *sf_arr_snapshot(sf_arr *arr);
sf_snapshot *sf_snapshot_ref(sf_snapshot *snapshot);
void sf_snapshot_unref(sf_snapshot *snapshot);
uint64_t sf_snapshot_rows(const sf_snapshot *snapshot); /* stored rows, of weight 0 too */

/* Rows in page and slot order after skipping `offset` live rows: a batch of up to limit rows
 * (<= SF_BATCH_ROWS_MAX; fewer when their texts are long) of the columns under `schema` (the
 * arrangement's types), with weights. NULL batch with SF_OK: no more. cursor (NULL allowed) starts zeroed and continues without skipping. */
typedef struct {
    uint32_t page, slot;
} sf_snapshot_cursor;
SF_MUST_USE sf_status sf_snapshot_read(const sf_snapshot *snapshot, const sf_schema *schema,
                                       uint64_t offset, uint32_t limit, sf_snapshot_cursor *cursor,
                                       sf_batch **out, sf_error *err);

/* ---- checkpoints ------------------------------------------------------------------------- */

/* Pages changed since the snapshot whose version was `since`; 0 = all there are; 1 = since loading.
 * visit gets SF_PAGE_BYTES each time, may be slow and runs on the checkpoint's thread over the
 * snapshot. bytes NULL: the page is gone. */
uint64_t sf_snapshot_version(const sf_snapshot *snapshot); /* grows with every snapshot */
SF_MUST_USE sf_status sf_snapshot_pages(const sf_snapshot *snapshot, uint64_t since,
                                        sf_status (*visit)(void *arg, uint32_t page_no,
                                                           const void *bytes, sf_error *err),
                                        void *arg, sf_error *err);
/* Into a new, empty arrangement: give every page once, then finish (checks and rebuilds the index).
 * Bytes come from disk and are not trusted: SF_CORRUPT names the page. After a failure the
 * arrangement can only be freed. What accumulators mean, the operator must check itself. */
SF_MUST_USE sf_status sf_arr_load_page(sf_arr *arr, uint32_t page_no, const void *bytes,
                                       sf_error *err);
SF_MUST_USE sf_status sf_arr_load_finish(sf_arr *arr, sf_error *err);

/* ---- ordered index ----------------------------------------------------------------------- */

/* Keeps refs of one arrangement ordered by its columns 0..column_count-1 as listed in `order`
 * (NULLs first, text by bytes; descending turns all of that round; then by ref), rebuilt after
 * loading. A row may not change in these columns, nor be replaced, while its ref is in. For MIN/MAX under retraction,
 * LATEST BY over weighted inputs, top-N, percentiles. */
typedef struct sf_order sf_order;
typedef struct {
    uint32_t column;
    bool descending;
    bool nulls_swapped; /* NULLs stand at the other end */
} sf_order_by;
SF_MUST_USE sf_status sf_order_new(const sf_arr *arr, const sf_order_by *by, uint32_t by_count,
                                   sf_order **out, sf_error *err);
void sf_order_free(sf_order *order);
SF_MUST_USE sf_status sf_order_insert(sf_order *order, sf_ref ref, sf_error *err);
void sf_order_remove(sf_order *order, sf_ref ref); /* before the row leaves the arrangement */
/* First and last ref whose leading prefix_count order columns equal those of `like`, a row of the
 * arrangement that need not be in the order; prefix_count 0: of all (like is not read). 0: none. */
sf_ref sf_order_first(const sf_order *order, sf_ref like, uint32_t prefix_count);
sf_ref sf_order_last(const sf_order *order, sf_ref like, uint32_t prefix_count);
sf_ref sf_order_next(const sf_order *order, sf_ref ref); /* in order, any prefix; 0: end */
sf_ref sf_order_prev(const sf_order *order, sf_ref ref);
/* The nearest ref before, or after, `like`, a row of the arrangement that need not be in the order;
 * any prefix; 0: none. */
sf_ref sf_order_before(const sf_order *order, sf_ref like);
sf_ref sf_order_after(const sf_order *order, sf_ref like);
/* How many refs have that prefix, and the n-th of them (0 is the first; 0: there are fewer). */
uint64_t sf_order_count(const sf_order *order, sf_ref like, uint32_t prefix_count);
sf_ref sf_order_at(const sf_order *order, sf_ref like, uint32_t prefix_count, uint64_t n);
/* Of two rows of the arrangement that need not be in the order: which comes first (< 0: a), and
 * whether they are equal in the first prefix_count order columns. */
int sf_order_compare(const sf_order *order, sf_ref a, sf_ref b);
bool sf_order_same(const sf_order *order, sf_ref a, sf_ref b, uint32_t prefix_count);
SF_MUST_USE sf_status sf_order_rebuild(sf_order *order, sf_error *err); /* from sf_arr_scan */

#endif

/* tests.h: the cases of all files of this test program, and what they share: batches made from a
 * seed, and a plain multiset of rows that says what an arrangement must hold. */
#ifndef SF_TESTS_UNIT_STATE_TESTS_H
#define SF_TESTS_UNIT_STATE_TESTS_H

#include "base/seam.h"
#include "state/state.h"
#include "unit/check.h"

/* basics.c */
void upsert_finds_and_creates(void);
void replace_keeps_accumulators(void);
void remove_frees_rows(void);
void whole_row_bag_sums_weights(void);
void keyed_bag_chains_rows(void);
void lanes_and_columns_read_back(void);
void scan_and_paging_agree(void);
void rows_too_long_are_refused(void);
void weights_are_bounded(void);

/* random.c */
void random_unique(void);
void random_bags(void);
void random_replace(void);
void hot_key_stays_fast(void);
void snapshots_are_read_by_other_threads(void);

/* limits.c */
void over_budget_nothing_changes(void);
void without_memory_nothing_changes(void);
void budget_returns_to_zero(void);
void removal_needs_no_budget(void);

/* pages.c */
void pages_load_again(void);
void changed_pages_only(void);
void gone_pages_are_told(void);
void damaged_pages_are_refused(void);
void damaged_heads_are_refused(void);
void long_texts_must_be_whole(void);
void long_texts_belong_to_one_row(void);
void loading_without_memory_fails(void);

/* order.c */
void order_walks_sorted(void);
void order_prefixes(void);
void order_random(void);
void order_of_every_type(void);
void order_without_memory(void);

/* ---- model.c: rows as bytes, summed weights ---- */

struct model;
struct model *model_new(void);
struct model *model_copy(const struct model *from);
void model_free(struct model *model);
/* Columns from..to of a batch row as bytes: equal rows have equal bytes. */
void row_bytes(const sf_batch *batch, uint32_t from, uint32_t to, uint32_t row, sf_buf *out);
void model_add(struct model *model, sf_str bytes, int64_t weight);
int64_t model_weight(const struct model *model, sf_str bytes);
void model_set(struct model *model, sf_str bytes, int64_t weight);
/* Rows of weight other than 0. */
uint64_t model_rows(const struct model *model);
/* Does the snapshot hold exactly these rows with these weights? */
bool model_matches(const struct model *model, const sf_snapshot *snapshot, const sf_schema *schema);

/* ---- fixture.c: shapes of rows, batches, pages kept as a checkpoint keeps them ---- */

enum { COLUMNS_MAX = 20, BATCH_MAX = 512 };

struct shape {
    const char *name;
    sf_arr_mode mode;
    uint32_t column_count, key_count, extra_bytes;
    bool extra_weight;
    uint32_t key_domain, value_domain; /* different values a column has */
    bool long_texts;
    sf_type types[COLUMNS_MAX];
};

sf_schema *shape_schema(const struct shape *shape);
sf_arr *shape_arr(const struct shape *shape, sf_budget *budget);
sf_batch *shape_batch(const struct shape *shape, const sf_schema *schema, sf_rng *rng,
                      uint32_t rows);
extern const uint32_t identity[COLUMNS_MAX]; /* columns of a batch in their order */

typedef struct {
    uint8_t **pages; /* by number; NULL: none */
    uint32_t cap;
} page_store;
/* Pages changed since that version into the store. */
sf_status page_store_save(page_store *store, const sf_snapshot *snapshot, uint64_t since);
sf_status page_store_load(const page_store *store, sf_arr *arr, sf_error *err);
void page_store_deinit(page_store *store);

/* Two Long columns from pairs of numbers; INT64_MIN stands for NULL. */
sf_batch *pairs_batch(const int64_t (*rows)[2], uint32_t count);
sf_arr *pairs_arr(sf_arr_mode mode, uint32_t key_count, uint32_t extra_bytes, sf_budget *budget);
sf_schema *pairs_schema(void);

#endif

/* Tests of arrangements, snapshots, checkpoint pages and the ordered index. */
#include "tests.h"

static const sf_case cases[] = {
    SF_CASE(upsert_finds_and_creates),
    SF_CASE(replace_keeps_accumulators),
    SF_CASE(remove_frees_rows),
    SF_CASE(whole_row_bag_sums_weights),
    SF_CASE(keyed_bag_chains_rows),
    SF_CASE(lanes_and_columns_read_back),
    SF_CASE(scan_and_paging_agree),
    SF_CASE(rows_too_long_are_refused),
    SF_CASE(weights_are_bounded),
    SF_CASE(random_unique),
    SF_CASE(random_bags),
    SF_CASE(random_replace),
    SF_CASE(hot_key_stays_fast),
    SF_CASE(snapshots_are_read_by_other_threads),
    SF_CASE(over_budget_nothing_changes),
    SF_CASE(without_memory_nothing_changes),
    SF_CASE(budget_returns_to_zero),
    SF_CASE(removal_needs_no_budget),
    SF_CASE(pages_load_again),
    SF_CASE(changed_pages_only),
    SF_CASE(gone_pages_are_told),
    SF_CASE(damaged_pages_are_refused),
    SF_CASE(damaged_heads_are_refused),
    SF_CASE(long_texts_must_be_whole),
    SF_CASE(long_texts_belong_to_one_row),
    SF_CASE(loading_without_memory_fails),
    SF_CASE(order_walks_sorted),
    SF_CASE(order_prefixes),
    SF_CASE(order_random),
    SF_CASE(order_of_every_type),
    SF_CASE(order_without_memory),
};

SF_RUN("state", cases)

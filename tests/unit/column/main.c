/* Columns, batches and their doors. */
#include "tests.h"

static const sf_case cases[] = {
    SF_CASE(builders_give_what_was_put),
    SF_CASE(gather_picks_rows),
    SF_CASE(concat_keeps_texts_and_weights),
    SF_CASE(compaction_lets_go_of_dead_text),
    SF_CASE(shared_text_is_not_copied),
    SF_CASE(truncated_rows_leave_no_trace),
    SF_CASE(hashing_follows_group_by),
    SF_CASE(packing_round_trips),
    SF_CASE(packing_survives_damage),
    SF_CASE(adapting_takes_columns_by_name),
    SF_CASE(memory_may_run_out_anywhere),
    SF_CASE(arrow_reads_every_type),
    SF_CASE(arrow_widens_and_decodes),
    SF_CASE(arrow_reads_slices),
    SF_CASE(arrow_reads_many_rows),
    SF_CASE(arrow_finds_columns_by_name),
    SF_CASE(arrow_counts_misfits),
    SF_CASE(arrow_keeps_reserved_columns),
    SF_CASE(arrow_refuses_what_does_not_fit),
    SF_CASE(arrow_refuses_broken_arrays),
    SF_CASE(arrow_round_trips),
    SF_CASE(arrow_children_move_out),
    SF_CASE(arrow_memory_may_run_out),
};

SF_RUN("column", cases)

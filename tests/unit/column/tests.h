/* tests.h: the cases of all files of this test program. */
#ifndef SF_TESTS_UNIT_COLUMN_TESTS_H
#define SF_TESTS_UNIT_COLUMN_TESTS_H

#include "column/column.h"
#include "unit/check.h"

/* batch.c */
void builders_give_what_was_put(void);
void gather_picks_rows(void);
void concat_keeps_texts_and_weights(void);
void compaction_lets_go_of_dead_text(void);
void shared_text_is_not_copied(void);
void truncated_rows_leave_no_trace(void);
void hashing_follows_group_by(void);
void packing_round_trips(void);
void packing_survives_damage(void);
void adapting_takes_columns_by_name(void);
void memory_may_run_out_anywhere(void);

/* arrow.c */
void arrow_reads_every_type(void);
void arrow_widens_and_decodes(void);
void arrow_reads_slices(void);
void arrow_reads_many_rows(void);
void arrow_finds_columns_by_name(void);
void arrow_counts_misfits(void);
void arrow_keeps_reserved_columns(void);
void arrow_refuses_what_does_not_fit(void);
void arrow_refuses_broken_arrays(void);
void arrow_round_trips(void);
void arrow_children_move_out(void);
void arrow_memory_may_run_out(void);

#endif

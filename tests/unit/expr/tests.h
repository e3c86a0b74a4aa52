/* tests.h: the cases of all files of this test program. */
#ifndef SF_TESTS_UNIT_EXPR_TESTS_H
#define SF_TESTS_UNIT_EXPR_TESTS_H

#include "harness.h"

/* scalar.c */
void arithmetic(void);
void comparisons(void);
void logic_of_three_values(void);
void null_tests(void);
void branches(void);
void conversions(void);
void json_paths(void);
void texts(void);
void patterns(void);
void keys(void);
void constants_fold(void);

/* library.c */
void choices(void);
void mathematics(void);
void failing_constants(void);
void strings(void);
void regular_expressions(void);
void regular_expressions_are_bounded(void);
void times(void);
void now_is_the_epochs(void);

/* bind.c */
void refusals(void);
void types_of_results(void);
void trees(void);
void printing(void);
void registry(void);
void depth_is_bounded(void);

/* random.c */
void random_trees_agree(void);
void random_arithmetic_is_exact(void);
void memory_shortage_is_reported(void);

/* aggregates.c */
void aggregates_bind(void);
void aggregates_refuse(void);
void counts_and_sums(void);
void long_sums_come_back_into_range(void);
void double_sums_leave_no_trace(void);
void double_sums_forget_random_values(void);
void windows_move(void);
void double_sums_are_exact(void);
void variances(void);
void variances_of_large_numbers(void);
void extremes(void);
void booleans(void);
void sums_of_json_and_text(void);

#endif

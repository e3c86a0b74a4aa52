/* Expressions, kernels and aggregates of src/expr. */
#include "tests.h"

static const sf_case cases[] = {
    SF_CASE(arithmetic),
    SF_CASE(comparisons),
    SF_CASE(logic_of_three_values),
    SF_CASE(null_tests),
    SF_CASE(branches),
    SF_CASE(conversions),
    SF_CASE(json_paths),
    SF_CASE(texts),
    SF_CASE(patterns),
    SF_CASE(keys),
    SF_CASE(constants_fold),
    SF_CASE(refusals),
    SF_CASE(types_of_results),
    SF_CASE(trees),
    SF_CASE(printing),
    SF_CASE(registry),
    SF_CASE(depth_is_bounded),
    SF_CASE(random_trees_agree),
    SF_CASE(random_arithmetic_is_exact),
    SF_CASE(memory_shortage_is_reported),
    SF_CASE(aggregates_bind),
    SF_CASE(aggregates_refuse),
    SF_CASE(counts_and_sums),
    SF_CASE(long_sums_come_back_into_range),
    SF_CASE(double_sums_leave_no_trace),
    SF_CASE(double_sums_are_exact),
    SF_CASE(variances),
    SF_CASE(variances_of_large_numbers),
    SF_CASE(extremes),
    SF_CASE(booleans),
    SF_CASE(sums_of_json_and_text),
};

SF_RUN("expr", cases)

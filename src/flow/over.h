/* over.h: what the operator of TOP and OVER shares with the functions it computes. Private to the
 * module. */
#ifndef SF_FLOW_OVER_H
#define SF_FLOW_OVER_H

#include "flow/operator.h"

enum { SF_OVER_CHUNK = 8192 }; /* positions a column of arguments or results has */

/* The rows of one partition in order; a row of weight 2 stands there twice. */
typedef struct {
    sf_op *op;
    const sf_arr *rows;
    const sf_order *order;
    const sf_ref *refs;
    uint32_t count;
} sf_over_rows;

/* One column a call and chunk. */
typedef struct {
    sf_column **columns;
    uint32_t calls, chunks;
} sf_over_results;

SF_MUST_USE sf_status sf_over_evaluate(const sf_over_rows *rows, sf_over_results *out,
                                       sf_error *err);
void sf_over_results_free(sf_over_results *results);
static inline const sf_column *sf_over_result(const sf_over_results *results, uint32_t call,
                                              uint32_t position)
{
    return results->columns[call * results->chunks + position / SF_OVER_CHUNK];
}

#endif

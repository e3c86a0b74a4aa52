/* aggregate.h: the aggregates of a group, shared by grouping and windows. Private to the module.
 *
 * A group is a row of an arrangement; its extra bytes hold the operator's own head, then one
 * accumulator an aggregate. Aggregates that need the ordered values of their group (VALUES) and
 * DISTINCT ones keep those in an arrangement of their own, keyed by group key and value. */
#ifndef SF_FLOW_AGGREGATE_H
#define SF_FLOW_AGGREGATE_H

#include "flow/operator.h"

/* Accumulator of an aggregate that keeps values. */
typedef struct {
    sf_ref best; /* the first live value in order; MAX: the last; 0: none */
    uint32_t unused;
    int64_t distinct; /* live values */
    int64_t total;    /* sum of their counts */
} sf_values_state;

/* Extra bytes of a value's row. */
typedef struct {
    int64_t count;
} sf_value_row;

typedef struct {
    const sf_agg_call *call;
    uint32_t *arg_slots;  /* which evaluated expression each of the call's columns is */
    uint32_t filter_slot; /* UINT32_MAX: no filter */
    bool only_best;       /* values that cannot become the answer are not kept */
    size_t offset;        /* accumulator in the group's extra bytes */
    sf_arr *values;       /* NULL: plain INLINE */
    sf_order *order;      /* of values; NULL: not needed */
    sf_schema *values_schema;
    size_t inline_offset; /* DISTINCT over an INLINE aggregate: its accumulator */
} sf_agg_slot;

typedef struct {
    sf_op *op;
    sf_agg_slot *slots;
    uint32_t count;
    const sf_expr **args; /* distinct expressions of arguments, orders and filters */
    uint32_t arg_count;
    sf_column **arg_columns; /* of the batch in hand */
    uint32_t key_count;
    uint32_t extra_bytes;           /* head and all accumulators */
    const sf_column **call_columns; /* scratch: those of one call */
    void *scratch;
    size_t scratch_cap;
} sf_aggs;

static inline const sf_values_state *sf_values_of(const sf_agg_slot *slot, const uint8_t *group)
{
    return (const sf_values_state *)(const void *)(group + slot->offset);
}

/* key_fields: the group's key columns, first in the group's arrangement. head_bytes: multiple of 8.
 * droppable: groups may be dropped while they hold values (windows). */
SF_MUST_USE sf_status sf_aggs_open(sf_aggs *aggs, sf_op *op, const sf_agg_call *calls,
                                   uint32_t count, const sf_field *key_fields, uint32_t key_count,
                                   uint32_t head_bytes, bool droppable, sf_error *err);
void sf_aggs_close(sf_aggs *aggs);
/* Rows of a batch into their groups: keys holds the key columns (dense, sel.count rows), states[i]
 * the extra bytes of row i's group, weights one a row or NULL. */
SF_MUST_USE sf_status sf_aggs_update(sf_aggs *aggs, const sf_batch *batch, sf_sel sel,
                                     sf_column *const *keys, uint8_t *const *states,
                                     const int64_t *weights, sf_error *err);
/* One result column an aggregate for count groups, into out[0..aggs->count-1]. */
SF_MUST_USE sf_status sf_aggs_finish(sf_aggs *aggs, uint8_t *const *states, uint32_t count,
                                     sf_column **out, sf_error *err);
/* Forget the values of a group that is about to be removed. */
void sf_aggs_drop(sf_aggs *aggs, uint8_t *group);
/* After loading: the orders are rebuilt. */
SF_MUST_USE sf_status sf_aggs_load(sf_aggs *aggs, sf_error *err);

#endif

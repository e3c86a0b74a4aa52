/* changes.h: rows an epoch has touched, as they were before it, so that the end of the epoch can say
 * what changed. Private to the module. */
#ifndef SF_FLOW_CHANGES_H
#define SF_FLOW_CHANGES_H

#include "flow/operator.h"

/* Rows first touched by one batch. */
typedef struct {
    uint32_t count;
    sf_ref *refs;     /* as of now; the operator keeps them true */
    uint8_t *existed; /* was the row part of the answer before the epoch? */
    sf_column **old;  /* column_count columns of count rows; lanes of rows that did not exist are
                         meaningless */
} sf_touched;

typedef struct {
    uint32_t column_count; /* of the output, _ts included */
    SF_VEC(sf_touched) chunks;
    size_t next; /* chunk whose turn it is at the end of the epoch */
} sf_changes;

/* A chunk of count rows with room for its columns, all of them NULL pointers for now. Valid until
 * the next call. NULL: out of memory. */
SF_MUST_USE sf_touched *sf_changes_add(sf_changes *changes, uint32_t count);
void sf_changes_clear(sf_changes *changes);
void sf_changes_close(sf_changes *changes);

/* Emits the difference of a chunk: -1 for rows that existed and are gone or differ, then +1 for rows
 * that are new or differ. now[] are the columns today (references stay the caller's), exists says
 * which rows there are. Columns after compare_count do not make a difference by themselves.
 * changed (may be NULL) tells which rows differ. */
SF_MUST_USE sf_status sf_changes_emit(sf_op *op, const sf_touched *touched, sf_column *const *now,
                                      const uint8_t *exists, uint32_t column_count,
                                      uint32_t compare_count, uint8_t *changed, sf_error *err);

/* Two lanes of one type equal as GROUP BY sees it. */
bool sf_lane_equal(const sf_column *a, uint32_t row_a, const sf_column *b, uint32_t row_b);

#endif

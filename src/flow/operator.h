/* operator.h: the inside of flow: how operators sit in a circuit. Private to the module.
 *
 * An operator is fed batch by batch (push), learns of its combined watermark (mark) and is told the
 * end of the epoch (flush). Each call may stop early with SF_STEP_MORE and is then repeated with the
 * same argument. It hands batches on with sf_op_emit. The circuit always runs the operator nearest
 * to the answer first, so at most a few batches wait on any edge. */
#ifndef SF_FLOW_OPERATOR_H
#define SF_FLOW_OPERATOR_H

#include "flow/flow.h"

typedef struct sf_op sf_op;

typedef struct {
    size_t size; /* of the operator's struct, which begins with sf_op */
    sf_status (*open)(sf_op *op, sf_error *err);
    sf_step (*push)(sf_op *op, uint32_t port, const sf_batch *batch, sf_error *err);
    sf_step (*mark)(sf_op *op, sf_error *err);  /* op->mark went up; NULL: nothing to do */
    sf_step (*flush)(sf_op *op, sf_error *err); /* NULL: nothing to do */
    bool whole_marks; /* no mark before every port has one, or the epoch ends without */
    void (*close)(sf_op *op);
    int64_t (*due)(const sf_op *op); /* when time alone makes work; INT64_MAX, NULL: never */
    /* Small state beside the arrangements; NULL: none. load comes after all pages. */
    void (*save)(const sf_op *op, sf_buf *out);
    sf_status (*load)(sf_op *op, sf_reader *in, sf_error *err);
} sf_op_type;

typedef struct {
    sf_batch *batch; /* NULL: a watermark */
    int64_t mark;
} sf_item;

/* First in, first out; head moves and the vector is emptied when it runs dry. */
typedef struct {
    SF_VEC(sf_item) items;
    size_t head;
} sf_edge;

typedef struct {
    uint32_t op, port;
} sf_target;

struct sf_op {
    const sf_op_type *type;
    const sf_plan_node *node; /* NULL: the answer */
    sf_circuit *circuit;
    const sf_schema *schema; /* output */
    uint32_t id, port_count;
    sf_edge *edges;      /* one a port */
    int64_t *port_marks; /* SF_MARK_NONE until the port has had one */
    int64_t mark;        /* minimum of the ports that have one; never goes back */
    int64_t sent_mark;   /* what the targets know */
    int64_t hold_ms;     /* the output's watermark trails by this */
    SF_VEC(sf_target) targets;
    uint64_t rows_in, rows_out;
};

struct sf_circuit {
    const sf_plan *plan;
    sf_budget *budget;
    sf_op **ops; /* plan nodes in order, then the answer */
    uint32_t op_count;
    uint64_t *ready; /* bit an operator: some edge holds an item */
    SF_VEC(sf_arr *) arrangements;
    sf_eval eval;
    uint64_t epoch;
    int64_t now_ms;
    bool running, finishing, failed;
    uint32_t flush_next;
    uint64_t budget_rows; /* what is left of this step */
    uint64_t late_rows, windows_closed, epochs;
    SF_VEC(sf_batch *) output;
};

/* Takes the batch's reference (also on failure). NULL: memory was short where it was made. */
SF_MUST_USE sf_status sf_op_emit(sf_op *op, sf_batch *batch, sf_error *err);
/* A new arrangement owned by the circuit, numbered in order of creation. */
SF_MUST_USE sf_status sf_op_arrangement(sf_op *op, sf_arr_options *options, sf_arr **out,
                                        sf_error *err);
/* A column of `count` equal Longs. */
SF_MUST_USE sf_column *sf_column_of_i64(int64_t value, uint32_t count);
/* Group an array of sf_ref etc.: grows a scratch array to at least count items of size bytes. */
SF_MUST_USE bool sf_scratch(void **memory, size_t *cap, size_t count, size_t size);

extern const sf_op_type sf_op_scan, sf_op_map, sf_op_unnest, sf_op_union;
extern const sf_op_type sf_op_join, sf_op_interval_join, sf_op_snapshot_join;
extern const sf_op_type sf_op_reduce, sf_op_latest_source, sf_op_latest_weighted;
extern const sf_op_type sf_op_window, sf_op_session, sf_op_temporal;
extern const sf_op_type sf_op_over, sf_op_asof, sf_op_repeat, sf_op_one;
extern const sf_op_type sf_op_answer_table, sf_op_answer_pipeline;

/* The table's arrangement, kept by sf_op_answer_table. */
sf_arr *sf_answer_arrangement(const sf_op *op);

#endif

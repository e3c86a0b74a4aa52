/* flow.h: circuits, the running form of a plan.
 *
 * A circuit takes batches of weighted rows and watermarks on its inputs, in the order of their
 * logs, and works in epochs: everything pushed between begin and finish is one epoch, whose net
 * change comes out once, at its end. Work is resumable: step() stops after about `budget` rows
 * wherever it is (inside an exploding join too) and goes on at the next call.
 *
 *     begin(epoch, now) -> push/mark ... -> finish -> step until SF_STEP_DONE -> take outputs
 *
 * State    Each stateful operator keeps arrangements; a table's answer is the arrangement of its
 *          last operator. save/load carry all of it as pages and small blobs.
 * Threads  A circuit belongs to one thread at a time. Snapshots may leave it.
 * Fails    SF_LIMIT over the budget: the circuit is then failed for good and must be rebuilt. */
#ifndef SF_FLOW_FLOW_H
#define SF_FLOW_FLOW_H

#include "flow/plan.h"
#include "state/state.h"

#define SF_MARK_NONE INT64_MIN /* no watermark yet */
#define SF_MARK_END  INT64_MAX /* the input is complete: every window closes */

typedef struct sf_circuit sf_circuit;

typedef enum {
    SF_STEP_MORE, /* call again */
    SF_STEP_DONE, /* nothing left to do until more is pushed, or the epoch is finished */
    SF_STEP_FAILED,
} sf_step;

/* plan must outlive the circuit. budget NULL: unbounded. */
SF_MUST_USE sf_status sf_circuit_new(const sf_plan *plan, sf_budget *budget, sf_circuit **out,
                                     sf_error *err);
void sf_circuit_free(sf_circuit *circuit);

void sf_circuit_begin(sf_circuit *circuit, uint64_t epoch, int64_t now_ms);
/* batch has the input's schema; of sources, with marks (sf_clocked stamps them). */
SF_MUST_USE sf_status sf_circuit_push(sf_circuit *circuit, uint32_t input, const sf_batch *batch,
                                      sf_error *err);
SF_MUST_USE sf_status sf_circuit_mark(sf_circuit *circuit, uint32_t input, int64_t watermark,
                                      sf_error *err);
void sf_circuit_finish(sf_circuit *circuit); /* no more input in this epoch */
sf_step sf_circuit_step(sf_circuit *circuit, uint64_t budget_rows, sf_error *err);

/* When an epoch is due though no input comes: a row's time is up. INT64_MAX: never. */
int64_t sf_circuit_due(const sf_circuit *circuit);

/* Net change of the finished epoch: batches of the answer's schema, owned by the circuit until the
 * next begin. A pipeline's are its results in order, weights all +1. */
uint32_t sf_circuit_output_count(const sf_circuit *circuit);
const sf_batch *sf_circuit_output(const sf_circuit *circuit, uint32_t i);

/* A table's answer as of the last finished epoch (columns as sf_plan_schema). NULL: out of memory
 * or a pipeline. */
SF_MUST_USE sf_snapshot *sf_circuit_snapshot(sf_circuit *circuit);

typedef struct {
    uint64_t rows_in, rows_out, late_rows, windows_closed, state_rows, state_bytes, epochs;
    uint64_t eval_errors[SF_EVAL_ERROR_COUNT];
    int64_t watermark; /* of the output; SF_MARK_NONE */
} sf_circuit_stats;
void sf_circuit_get_stats(const sf_circuit *circuit, sf_circuit_stats *out);

/* ---- checkpoints: only between a finished epoch and the next begin ---- */

/* Numbers of arrangements are stable for a plan. */
uint32_t sf_circuit_arrangement_count(const sf_circuit *circuit);
SF_MUST_USE sf_snapshot *sf_circuit_arrangement_snapshot(sf_circuit *circuit, uint32_t number);
/* Watermarks and other small state. */
SF_MUST_USE sf_status sf_circuit_save(const sf_circuit *circuit, sf_buf *out, sf_error *err);
/* Into a new circuit of the same plan: pages of all arrangements, then finish with the blob. */
SF_MUST_USE sf_status sf_circuit_load_page(sf_circuit *circuit, uint32_t number, uint32_t page_no,
                                           const void *bytes, sf_error *err);
SF_MUST_USE sf_status sf_circuit_load_finish(sf_circuit *circuit, sf_str blob, sf_error *err);

#endif

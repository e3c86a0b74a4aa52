/* runtime.h: where data meets threads: the logs of sources, their drivers, queries in their
 * consistency groups, subscriptions, checkpoints, recovery.
 *
 * Owns     everything below <dir>/sources (journals) and <dir>/state (checkpoints); the actors that
 *          drive sources and groups.
 * Life     open -> add sources and queries as the catalog has them -> start (restores state, then
 *          everything runs) -> add, stop, remove at will -> close (a last checkpoint).
 * Threads  Every function may be called from any thread but the pool's workers. Those that say
 *          "blocks" may wait for a disk or for the end of an epoch.
 * Memory   Texts and arrays are read during the call. Names are unique among sources and queries;
 *          they are the keys of state on disk. Snapshots may outlive their query, not the runtime.
 * Fails    SF_NOT_FOUND, SF_EXISTS, SF_CONFLICT (wrong state, names the other entity), the
 *          compiler's errors, the disk's. A query that fails while it runs stops alone, with its
 *          error in its status. */
#ifndef SF_RUNTIME_RUNTIME_H
#define SF_RUNTIME_RUNTIME_H

#include "connect/connect.h"
#include "engine/engine.h"
#include "store/store.h"
#include "task/task.h"

typedef struct sf_runtime sf_runtime;

typedef struct {
    sf_pool *pool;
    sf_source_port port;    /* disk, clock, randomness, log, market of the generators */
    const char *dir;        /* data directory; its lock is held by the caller */
    size_t log_bytes;       /* of one source's rows in memory, 0 = 64 MiB */
    size_t memory_bytes;    /* of all queries' state, 0 = unbounded */
    uint64_t journal_bytes; /* kept of one source for replays, 0 = 1 GiB */
    int64_t checkpoint_ms;  /* longest time between checkpoints under change, 0 = 2000 */
} sf_runtime_options;

SF_MUST_USE sf_status sf_runtime_open(const sf_runtime_options *options, sf_runtime **out,
                                      sf_error *err);
/* Restores all queries added so far and sets everything going. Blocks. */
SF_MUST_USE sf_status sf_runtime_start(sf_runtime *runtime, sf_error *err);
void sf_runtime_close(sf_runtime *runtime); /* blocks; NULL allowed */

/* ---- sources ----------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    const sf_source_kind *kind;
    sf_source_config config; /* its schema: sf_relation_schema of the declared fields */
    sf_ingest_config ingest; /* of pushed sources */
    int64_t lateness_ms, idle_ms;
    bool journaled; /* rows are kept on disk before they count */
    bool enabled;   /* its driver runs */
} sf_source_spec;

SF_MUST_USE sf_status sf_runtime_add_source(sf_runtime *runtime, const sf_source_spec *spec,
                                            sf_error *err);
/* New settings. Columns may change: queries that run go on with theirs (what the new rows lack is
 * NULL). Another kind or another choice of `journaled` is SF_CONFLICT while a running query reads it.
 * Blocks. */
SF_MUST_USE sf_status sf_runtime_change_source(sf_runtime *runtime, const sf_source_spec *spec,
                                               sf_error *err);
/* SF_CONFLICT while a running query reads it. Its journal goes too, and the saved state of the queries
 * that read it. Blocks. */
SF_MUST_USE sf_status sf_runtime_remove_source(sf_runtime *runtime, const char *name,
                                               sf_error *err);

typedef struct {
    int64_t next_run_ms, last_run_ms; /* wall clock; 0: none */
    uint32_t consecutive_failures;
    bool ran, ok;
    char last_error[512];
    uint64_t events_total, last_batch_rows, coercion_failures_total, malformed_total;
    uint64_t pushed_total, rejected_total, dropped_total, invalid_total, duplicate_total;
    int64_t last_push_ms;
    uint64_t position;                 /* next one */
    uint64_t first_position;           /* oldest that can be read */
    int64_t watermark;                 /* SF_MARK_NONE */
    uint64_t log_bytes, buffered_rows; /* buffered: taken from callers, not yet read by all */
    uint64_t journal_bytes;
} sf_source_stats;
SF_MUST_USE sf_status sf_runtime_source_stats(sf_runtime *runtime, const char *name,
                                              sf_source_stats *out, sf_error *err);

/* Rows pushed by a client, parsed with the source's schema. done is called once, from any thread:
 * when the rows are as durable as the source promises (policy Inline: and read by all), or with the
 * error. Takes no reference that outlives the call other than the batches'. Refusals that need no
 * waiting come as the return value, and done is not called: SF_OVERLOADED (with *retry_ms),
 * SF_CONFLICT (kind), SF_NOT_FOUND.
 * has_retract: some row has _retract true; refused (SF_INVALID) unless LATEST BY reads it. */
typedef struct {
    uint64_t accepted, dropped;
    uint64_t depth_rows, capacity_rows;
    bool durable;
} sf_push_result;
typedef void (*sf_push_done)(void *arg, const sf_push_result *result, const sf_error *error);
SF_MUST_USE sf_status sf_runtime_push(sf_runtime *runtime, const char *name,
                                      sf_batch *const *batches, uint32_t batch_count,
                                      bool has_retract, sf_push_done done, void *arg,
                                      uint32_t *retry_ms, sf_error *err);
/* Counters the caller of push knows better. */
void sf_runtime_count_push(sf_runtime *runtime, const char *name, uint64_t invalid,
                           uint64_t duplicate, uint64_t rejected);

/* ---- queries ----------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    const char *id; /* as results name it */
    sf_plan_kind kind;
    sf_str sql;
} sf_query_spec;

/* What the compiler sees: sources, running tables and pipelines, and whatever else `also` knows
 * (definitions that do not run; NULL: nothing). */
SF_MUST_USE sf_status sf_runtime_compile(sf_runtime *runtime, sf_plan_kind kind, sf_str sql,
                                         const sf_resolver *also, sf_plan **out,
                                         sf_diagnostics *diagnostics, sf_error *err);

/* Starts a query: compiles, joins the group of what it reads, takes up its saved state when it has
 * any of the same query, otherwise begins with the oldest rows of journaled sources and with the
 * next rows of others. Before sf_runtime_start it only joins. SF_CONFLICT: an input table does not
 * run. Blocks. */
SF_MUST_USE sf_status sf_runtime_start_query(sf_runtime *runtime, const sf_query_spec *spec,
                                             sf_diagnostics *diagnostics, sf_error *err);
/* State is saved for a later start. SF_CONFLICT while a running query reads it. Blocks. */
SF_MUST_USE sf_status sf_runtime_stop_query(sf_runtime *runtime, const char *name, sf_error *err);
/* Its saved state goes (of a stopped query). Blocks. */
SF_MUST_USE sf_status sf_runtime_forget_query(sf_runtime *runtime, const char *name, sf_error *err);

typedef struct {
    bool running;
    sf_member_state state;
    sf_error error;
    sf_plan_kind kind;
    uint64_t epoch; /* last one contained */
    uint64_t rows;  /* of a table's answer */
    sf_circuit_stats circuit;
    double rows_in_per_s, rows_out_per_s;
    int64_t last_change_ms; /* wall clock */
    int64_t checkpoint_ms;  /* wall clock of the last one, 0: none */
} sf_query_stats;
/* running false when it does not run. Blocks shortly. */
void sf_runtime_query_stats(sf_runtime *runtime, const char *name, sf_query_stats *out);

/* A running table's answer as of *epoch; schema borrowed while the query runs: take a reference.
 * Blocks until the epoch under way has ended. */
SF_MUST_USE sf_status sf_runtime_snapshot(sf_runtime *runtime, const char *name,
                                          sf_snapshot **snapshot, sf_schema **schema,
                                          uint64_t *epoch, sf_error *err);
/* The newest results of a pipeline (up to 100 are kept), oldest first, each a result envelope:
 * appended to out as a JSON array. */
SF_MUST_USE sf_status sf_runtime_results(sf_runtime *runtime, const char *name, uint32_t limit,
                                         sf_buf *out, sf_error *err);
/* The plan of a running query, as indented text. */
SF_MUST_USE sf_status sf_runtime_explain(sf_runtime *runtime, const char *name, sf_buf *out,
                                         sf_error *err);
/* Blocks until every running query has read all rows its sources had at the call, or the time is
 * over (SF_TIMEOUT). For tests and clients that want read-your-writes. */
SF_MUST_USE sf_status sf_runtime_wait_current(sf_runtime *runtime, int64_t timeout_ms,
                                              sf_error *err);
/* Write a checkpoint of everything now. Blocks. */
SF_MUST_USE sf_status sf_runtime_checkpoint(sf_runtime *runtime, sf_error *err);

/* ---- subscriptions ----------------------------------------------------------------------- */

/* A bounded queue between an entity and one reader. Nobody waits for it: when it is full, what is in
 * it is let go and the reader is told how much it missed and from where to where. */
typedef struct sf_sub sf_sub;

typedef enum { SF_SUB_TABLE, SF_SUB_PIPELINE, SF_SUB_SOURCE } sf_sub_kind;

typedef enum {
    SF_SUB_EMPTY,  /* nothing; wake follows when there is */
    SF_SUB_ROWS,   /* a frame */
    SF_SUB_MISSED, /* seq_from..seq_to were skipped, rows of them */
    SF_SUB_STATE,  /* the entity's state changed: `state` says to what */
} sf_sub_event;

/* One publication, encoded once for all its readers. */
typedef struct sf_frame {
    _Atomic uint32_t refs;
    uint64_t
        seq; /* table: epoch. pipeline: seq of the last result. source: position of the last row */
    uint32_t rows;
    int64_t at_ms; /* wall clock of the publication */
    /* JSON array. table: {"row","weight","evicted","epoch"}; pipeline: result envelopes; source: rows
     * with _ts and _source. ends[i]: where the i-th element's text ends (sources only, else NULL). */
    sf_buf json;
    uint32_t *ends;
} sf_frame;
void sf_frame_unref(sf_frame *frame);

typedef struct {
    sf_sub_event event;
    sf_frame *frame; /* the receiver's reference */
    uint64_t seq_from, seq_to, rows;
    const char *state; /* "Running", "Stopped", "Failed" */
} sf_sub_item;

/* wake is called from any thread when the queue stops being empty; never after unsubscribe. The
 * entity need not run, nor exist: the subscription waits for its name. queue_bytes 0 = 1 MiB. */
SF_MUST_USE sf_status sf_runtime_subscribe(sf_runtime *runtime, sf_sub_kind kind, const char *name,
                                           size_t queue_bytes, void (*wake)(void *arg), void *arg,
                                           sf_sub **out, sf_error *err);
sf_sub_event sf_sub_take(sf_sub *sub, sf_sub_item *out);
void sf_sub_close(sf_sub *sub); /* NULL allowed */

#endif

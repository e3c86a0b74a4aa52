/* plan.h: what a query computes, as a const graph of nodes. The SQL and NSPL planners build plans
 * with the functions below; a circuit (flow.h) runs one.
 *
 * Columns  Every node's output ends with the hidden column _ts (Long, ms): the builders add it. A
 *          scan of a source also has the hidden column _retract (Bool) before _ts. Expressions refer
 *          to columns of their input node by number.
 * Order    Nodes are stored inputs first: a node's inputs have smaller numbers.
 * Memory   A plan owns one arena that holds nodes, expressions and text; free it with sf_plan_free.
 *          Builders copy the arrays they are given, not the expressions (same arena).
 * Threads  Const once built; any number of circuits may share it.
 */
#ifndef SF_FLOW_PLAN_H
#define SF_FLOW_PLAN_H

#include "column/column.h"
#include "expr/expr.h"

typedef enum { SF_PLAN_TABLE, SF_PLAN_PIPELINE } sf_plan_kind;
typedef enum { SF_INPUT_SOURCE, SF_INPUT_TABLE, SF_INPUT_PIPELINE } sf_input_kind;

typedef struct sf_plan_input {
    const char *name;
    sf_input_kind kind;
    sf_schema *schema; /* as scanned, hidden columns included */
    bool append_only;  /* never a weight below 0 */
} sf_plan_input;

typedef enum {
    SF_NODE_SCAN,
    SF_NODE_MAP,
    SF_NODE_UNNEST,
    SF_NODE_JOIN,
    SF_NODE_INTERVAL_JOIN,
    SF_NODE_SNAPSHOT_JOIN,
    SF_NODE_REDUCE,
    SF_NODE_LATEST,
    SF_NODE_WINDOW,
    SF_NODE_UNION,
    SF_NODE_TEMPORAL,
    SF_NODE_TOP,
    SF_NODE_OVER,
    SF_NODE_ASOF,
    SF_NODE_REPEAT,
    SF_NODE_ONE,
    SF_NODE_KIND_COUNT
} sf_node_kind;

typedef enum {
    SF_JOIN_INNER,
    SF_JOIN_LEFT,
    SF_JOIN_RIGHT,
    SF_JOIN_FULL,
    SF_JOIN_SEMI,   /* left rows with a match, each once; output = left schema */
    SF_JOIN_ANTI,   /* left rows without a match; a NULL key part has none */
    SF_JOIN_NOT_IN, /* as ANTI, but over a non-empty right side a NULL left key is left out */
} sf_join_kind;

typedef enum { SF_WINDOW_TUMBLING, SF_WINDOW_HOPPING, SF_WINDOW_SESSION } sf_window_kind;

/* ---- rows of a partition in order ---- */

typedef struct {
    uint32_t column;
    bool descending, nulls_first;
} sf_plan_order;

typedef enum {
    SF_OVER_ROW_NUMBER,
    SF_OVER_RANK,
    SF_OVER_DENSE_RANK,
    SF_OVER_PERCENT_RANK,
    SF_OVER_CUME_DIST,
    SF_OVER_NTILE,
    SF_OVER_LAG,
    SF_OVER_LEAD,
    SF_OVER_FIRST_VALUE,
    SF_OVER_LAST_VALUE,
    SF_OVER_NTH_VALUE,
    SF_OVER_MIN,
    SF_OVER_MAX,
    SF_OVER_AGGREGATE, /* an INLINE one, bound for inputs that retract */
} sf_over_function;

enum { SF_OVER_ARGS_MAX = 8 };

typedef enum { SF_OVER_ROWS, SF_OVER_RANGE, SF_OVER_GROUPS } sf_over_unit;

typedef enum {
    SF_EDGE_UNBOUNDED, /* before the first row as a start, behind the last as an end */
    SF_EDGE_PRECEDING,
    SF_EDGE_CURRENT,
    SF_EDGE_FOLLOWING,
} sf_over_edge_kind;

typedef struct {
    sf_over_edge_kind kind;
    int64_t distance;    /* not negative; rows, groups, or of a RANGE over Long and Timestamp */
    double distance_f64; /* of a RANGE over Double */
} sf_over_edge;

typedef struct {
    sf_over_function function;
    sf_type result_type;
    const sf_aggregate *aggregate; /* AGGREGATE */
    uint32_t
        args[SF_OVER_ARGS_MAX]; /* columns: what it takes; LAG's and LEAD's default is second */
    uint32_t arg_count;
    int64_t number; /* of buckets, rows back or ahead, NTH_VALUE's n */
    sf_over_unit unit;
    sf_over_edge start, end;
} sf_over_call;

typedef enum {               /* which rows of a partition are wanted: */
               SF_TOP_ROWS,  /* `limit` of them behind the first `offset` */
               SF_TOP_RANK,  /* those of RANK up to limit */
               SF_TOP_DENSE, /* those of DENSE_RANK up to limit */
} sf_top_kind;

#define SF_TOP_ALL UINT64_MAX

typedef struct {
    const uint32_t *keys;
    uint32_t key_count;         /* 0: one partition */
    const sf_plan_order *order; /* ties by the whole row */
    uint32_t order_count;
    sf_top_kind top;
    uint64_t offset, limit;
    const sf_over_call *calls; /* none: TOP */
    const char *const *names;
    uint32_t call_count;
} sf_over_spec;

/* ---- joins by the nearest time ---- */

typedef struct {
    sf_join_kind kind;                      /* INNER or LEFT */
    const uint32_t *left_keys, *right_keys; /* columns of equal type pairwise */
    uint32_t key_count;
    uint32_t left_time, right_time; /* columns of equal type */
    bool forward;                   /* the first right row after the left one's time, */
    bool strict;                    /* not at it; otherwise the last one before */
} sf_asof_spec;

typedef struct sf_plan_node {
    sf_node_kind kind;
    uint32_t id;
    const uint32_t *inputs; /* node numbers */
    uint32_t input_count;
    sf_schema *schema; /* output */
    bool append_only;  /* output never has a weight below 0 */
    bool keeps_ts;     /* each output row is one source row and keeps its _ts */
    union {
        struct {
            uint32_t input; /* number in the plan's inputs */
        } scan;
        struct {
            const sf_expr *predicate;    /* NULL: all rows */
            const sf_expr *const *exprs; /* one an output column, _ts last; NULL: unchanged */
        } map;
        struct {
            const sf_expr *bound; /* Long: a time */
            bool until;           /* rows are valid until it; otherwise from it on */
        } temporal;
        struct {
            const sf_expr *array; /* Json; the element column stands before _ts */
            bool ordinality;      /* and the element's number, from 1, behind it */
        } unnest;
        struct {
            sf_join_kind kind;
            const uint32_t *left_keys, *right_keys; /* columns of equal type pairwise */
            uint32_t key_count;                     /* 0: every pair */
            const sf_expr *residual;       /* over left columns, then right columns; NULL: none */
            int64_t within_ms;             /* INTERVAL_JOIN */
            int64_t window_ms, advance_ms; /* SNAPSHOT_JOIN: of the right side */
            bool nulls_match;
        } join;
        struct {
            const uint32_t *keys;
            uint32_t key_count; /* REDUCE with 0 keys: one global row that always exists */
            const sf_agg_call *aggs;
            uint32_t agg_count;
        } reduce;
        struct {
            const uint32_t *keys;
            uint32_t key_count;
            int retract_column; /* >= 0: over a source, honours _retract row by row; -1: weighted */
        } latest;
        struct {
            sf_window_kind kind;
            int64_t size_ms, advance_ms, gap_ms;
            const uint32_t *keys;
            uint32_t key_count;
            const sf_agg_call *aggs;
            uint32_t agg_count;
            bool emit_changes;
        } window;
        sf_over_spec over; /* TOP and OVER */
        sf_asof_spec asof;
    } as;
} sf_plan_node;

typedef struct sf_plan {
    sf_arena arena;
    sf_plan_kind kind;
    SF_VEC(sf_plan_node *) nodes;
    SF_VEC(sf_plan_input) inputs;
    uint32_t output; /* node */
    /* Identity of an answer's row: visible columns of the output schema. key_known false: the whole
     * row; key_known with no columns: one global row. */
    bool key_known;
    SF_VEC(uint32_t) key_columns;
    SF_VEC(const char *) warnings;
} sf_plan;

SF_MUST_USE sf_plan *sf_plan_new(sf_plan_kind kind);
void sf_plan_free(sf_plan *plan); /* NULL allowed */
static inline const sf_plan_node *sf_plan_at(const sf_plan *plan, uint32_t node)
{
    SF_ASSERT(node < plan->nodes.len);
    return plan->nodes.data[node];
}
static inline const sf_schema *sf_plan_schema(const sf_plan *plan) /* of the answer */
{
    return sf_plan_at(plan, plan->output)->schema;
}

/* ---- builders: check, add a node, give its number in *out ---- */

/* A second scan of the same name shares the node. The schema gets its hidden columns if missing. */
sf_status sf_plan_scan(sf_plan *plan, const char *name, sf_input_kind kind, const sf_schema *schema,
                       bool append_only, uint32_t *out, sf_error *err);
sf_status sf_plan_filter(sf_plan *plan, uint32_t input, const sf_expr *predicate, uint32_t *out,
                         sf_error *err);
/* Rows that are there until the epoch's time reaches their bound, or from then on. */
sf_status sf_plan_temporal(sf_plan *plan, uint32_t input, const sf_expr *bound, bool until,
                           uint32_t *out, sf_error *err);
/* Visible and hidden output columns as named by fields; the input's _ts is appended. */
sf_status sf_plan_map(sf_plan *plan, uint32_t input, const sf_expr *predicate,
                      const sf_expr *const *exprs, const sf_field *fields, uint32_t count,
                      uint32_t *out, sf_error *err);
/* Output: input columns but _ts, the element (Json) under `name`, its number from 1 (Long) under
 * `number` unless that is NULL, _ts. Zero rows for NULL, empty and non-array values. */
sf_status sf_plan_unnest(sf_plan *plan, uint32_t input, const sf_expr *array, const char *name,
                         const char *number, uint32_t *out, sf_error *err);
/* Output: all left columns, all right columns (both with their _ts), then _ts = the larger of the
 * two; SEMI, ANTI, NOT_IN: the left columns. A residual on anything but an INNER relational join is
 * built from simpler nodes: the inner join, its distinct left (right) rows, and the rows without
 * one. NOT_IN takes no residual. */
typedef struct {
    sf_join_kind kind;
    uint32_t left, right;
    const uint32_t *left_keys, *right_keys;
    uint32_t key_count;
    const sf_expr *residual;
    int64_t within_ms; /* >= 0: interval join of streams; -1: relational */
    bool nulls_match;  /* keys compare as IS NOT DISTINCT FROM; relational only */
    /* Rows of the left stream against the result of the right side's last closed window: SEMI, ANTI,
     * NOT_IN or LEFT. Of tumbling or hopping windows only: sf_plan_window_of says whether. */
    bool snapshot;
} sf_join_spec;
/* The tumbling or hopping window whose results, perhaps filtered and projected, a node gives. */
bool sf_plan_window_of(const sf_plan *plan, uint32_t node, int64_t *size_ms, int64_t *advance_ms);
/* Columns of left, of right, _ts. NULL: out of memory. */
SF_MUST_USE sf_schema *sf_plan_join_schema(const sf_schema *left, const sf_schema *right);
sf_status sf_plan_join(sf_plan *plan, const sf_join_spec *spec, uint32_t *out, sf_error *err);
/* Output: key columns, one column an aggregate (named agg_names[i]), _ts. No aggregates: DISTINCT
 * of the keys. Key expressions that are not columns are mapped below by the planner (sf_expr_key).
 */
sf_status sf_plan_reduce(sf_plan *plan, uint32_t input, const uint32_t *keys, uint32_t key_count,
                         const sf_agg_call *aggs, const char *const *agg_names, uint32_t agg_count,
                         uint32_t *out, sf_error *err);
/* Output: the input's columns. over_source: the input is one source below filters only. */
sf_status sf_plan_latest(sf_plan *plan, uint32_t input, const uint32_t *keys, uint32_t key_count,
                         bool over_source, uint32_t *out, sf_error *err);
/* Output: keys, aggregates, window_start, window_end (Timestamp), _final (Bool, EMIT CHANGES only),
 * _ts = window end. */
typedef struct {
    sf_window_kind kind;
    int64_t size_ms, advance_ms, gap_ms;
    const uint32_t *keys;
    uint32_t key_count;
    const sf_agg_call *aggs;
    const char *const *agg_names;
    uint32_t agg_count;
    bool emit_changes;
} sf_window_spec;
sf_status sf_plan_window(sf_plan *plan, uint32_t input, const sf_window_spec *spec, uint32_t *out,
                         sf_error *err);
/* TOP: the wanted rows. OVER: with one column a call before _ts. */
sf_status sf_plan_over(sf_plan *plan, uint32_t input, const sf_over_spec *spec, uint32_t *out,
                       sf_error *err);
/* Output as of a join. Of right rows at one time the last (forward: first) by the whole row. */
sf_status sf_plan_asof(sf_plan *plan, uint32_t left, uint32_t right, const sf_asof_spec *spec,
                       uint32_t *out, sf_error *err);
/* Once the plan is whole: windows whose reader keeps the first rows of each partition compute no
 * others. */
sf_status sf_plan_limit_windows(sf_plan *plan, sf_error *err);
const char *sf_over_function_name(const sf_over_call *call);
/* One row without columns, from the start. A second one shares the node. */
sf_status sf_plan_one(sf_plan *plan, uint32_t *out, sf_error *err);
/* Rows as often as their last visible column, a Long, says; without that column. */
sf_status sf_plan_repeat(sf_plan *plan, uint32_t input, uint32_t *out, sf_error *err);
/* Inputs of equal types; names of the first. */
sf_status sf_plan_union(sf_plan *plan, const uint32_t *inputs, uint32_t input_count, uint32_t *out,
                        sf_error *err);

/* Indented text, one node a line: the plan summary of validate and EXPLAIN. */
void sf_plan_print(const sf_plan *plan, sf_buf *out);
/* One line: "Scan trades -> Reduce(symbol) -> Map". */
void sf_plan_summary(const sf_plan *plan, sf_buf *out);
const char *
sf_node_kind_name(sf_node_kind kind); /* Scan, FilterProject, Join, Reduce, LatestBy... */

#endif

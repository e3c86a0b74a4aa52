/* expr.h: typed expressions over batches, the function registry, aggregate functions.
 *
 * A bound expression is a const tree in its plan's arena. Evaluation is column at a time over a
 * selection and gives a dense column of sel.count rows. Kernels never stop: a lane that cannot be
 * computed (overflow, division by zero, a cast that fails) becomes NULL and is reported once in the
 * evaluator's sparse error list. What happens then is the caller's policy: SQL counts, NSPL fails
 * the row.
 *
 * Adding a function: one line in functions.def, its kernel in fn_<family>.c, cases in tests/sql.
 * Threads  Expressions and registries are immutable; an sf_eval belongs to one thread.
 * Memory   Results are the caller's (sf_column_unref). */
#ifndef SF_EXPR_EXPR_H
#define SF_EXPR_EXPR_H

#include "column/column.h"

/* ---- bound expressions ------------------------------------------------------------------- */

typedef struct sf_function sf_function; /* one overload of the registry */

typedef struct {
    bool is_null;
    union {
        bool boolean;
        int64_t i64; /* Long and Timestamp */
        double f64;
        sf_str str; /* String, Json; lives in the plan's arena */
    } as;
} sf_literal;

typedef enum {
    SF_EXPR_COLUMN,
    SF_EXPR_LITERAL,
    SF_EXPR_CALL, /* strict or own NULL rule, all arguments evaluated */
    SF_EXPR_AND,  /* n arguments, three-valued; later ones only where still undecided */
    SF_EXPR_OR,
    SF_EXPR_CASE,     /* cond, value, cond, value, ..., else (always present) */
    SF_EXPR_COALESCE, /* later ones only where the earlier are NULL */
} sf_expr_kind;

typedef struct sf_expr {
    sf_expr_kind kind;
    sf_type type;
    sf_span span; /* in the statement's text; runtime errors point here */
    uint32_t column;
    uint16_t depth; /* nodes from here to the deepest leaf */
    bool untyped;   /* a bare NULL: becomes whatever type its surroundings ask for */
    sf_literal literal;
    const sf_function *function;
    const struct sf_expr **args;
    uint32_t arg_count;
} sf_expr;

enum { SF_EXPR_DEPTH_MAX = 1200 }; /* builders refuse deeper trees: walks recurse */

/* Builders: type-check, insert the implicit conversions (Long to Double; NULL literal to anything;
 * common kind of CASE and COALESCE branches) and fail with a positioned, remedied error. `name` of
 * a call is a function name in any case or an operator: + - * / % neg || = <> < <= > >= -> ->> not
 * "is null" "is not null" "is distinct from" "is not distinct from" like ilike between ... as
 * functions.def lists them. Constant arguments are folded when the function is deterministic. */
sf_status sf_expr_column(sf_arena *arena, uint32_t column, sf_type type, sf_span span,
                         const sf_expr **out, sf_error *err);
sf_status sf_expr_literal(sf_arena *arena, sf_type type, const sf_literal *value, sf_span span,
                          const sf_expr **out, sf_error *err);
sf_status sf_expr_call(sf_arena *arena, sf_str name, const sf_expr *const *args, uint32_t arg_count,
                       sf_span span, const sf_expr **out, sf_error *err);
sf_status sf_expr_logic(sf_arena *arena, sf_expr_kind and_or, const sf_expr *const *args,
                        uint32_t arg_count, sf_span span, const sf_expr **out, sf_error *err);
sf_status sf_expr_case(sf_arena *arena, const sf_expr *const *args, uint32_t arg_count,
                       sf_span span, const sf_expr **out, sf_error *err);
sf_status sf_expr_coalesce(sf_arena *arena, const sf_expr *const *args, uint32_t arg_count,
                           sf_span span, const sf_expr **out, sf_error *err);
/* CAST(x AS type) and the TO_ functions share one set of conversions. */
sf_status sf_expr_cast(sf_arena *arena, const sf_expr *arg, sf_type type, sf_span span,
                       const sf_expr **out, sf_error *err);
/* The type two branches or set-operation columns unify to (Long + Double = Double); false: none. */
bool sf_type_unify(sf_type a, sf_type b, sf_type *out);
/* A value as a key of GROUP BY, DISTINCT, a join: Json by structure, -0.0 as 0.0; else itself. */
sf_status sf_expr_key(sf_arena *arena, const sf_expr *arg, const sf_expr **out, sf_error *err);

bool sf_expr_equal(const sf_expr *a, const sf_expr *b); /* structural, spans aside */
bool sf_expr_is_constant(const sf_expr *expr);
const char *sf_expr_function(const sf_expr *expr); /* name of a CALL's, as functions.def has it */
bool sf_expr_is_call_of(const sf_expr *expr, const char *name); /* as functions.def spells it */
/* Sets bits of the columns read; `columns` has (count + 63) / 64 words. */
void sf_expr_columns(const sf_expr *expr, uint64_t *columns);
/* A copy whose column numbers are map[old]. */
sf_status sf_expr_remap(sf_arena *arena, const sf_expr *expr, const uint32_t *map,
                        const sf_expr **out, sf_error *err);
/* As SQL-like text, for EXPLAIN; columns by the schema's names. */
void sf_expr_print(const sf_expr *expr, const sf_schema *schema, sf_buf *out);

/* ---- evaluation -------------------------------------------------------------------------- */

#define SF_EVAL_ERROR_LIST(X)                                                                      \
    X(OVERFLOW, "overflow")                                                                        \
    X(DIVISION_BY_ZERO, "division by zero")                                                        \
    X(CAST, "value cannot be converted")                                                           \
    X(DOMAIN, "argument outside the function's domain")

typedef enum {
#define X(name, text) SF_EVAL_##name,
    SF_EVAL_ERROR_LIST(X)
#undef X
        SF_EVAL_ERROR_COUNT
} sf_eval_code;
const char *sf_eval_code_text(sf_eval_code code);

typedef struct {
    uint32_t row; /* of the batch */
    sf_eval_code code;
    sf_span span;
} sf_eval_error;

typedef struct sf_eval {
    int64_t now_ms;                             /* NOW() of this epoch */
    uint64_t error_counts[SF_EVAL_ERROR_COUNT]; /* since creation */
    bool list_errors;             /* also keep them in errors (bounded by the batch's rows) */
    SF_VEC(sf_eval_error) errors; /* of the last call */
    struct sf_eval_cache *cache;  /* compiled patterns */
} sf_eval;
void sf_eval_init(sf_eval *eval);
void sf_eval_deinit(sf_eval *eval);

/* Dense result of sel.count rows. */
sf_status sf_eval_column(sf_eval *eval, const sf_expr *expr, const sf_batch *batch, sf_sel sel,
                         sf_column **out, sf_error *err);
/* Rows of the selection where the predicate is true, into rows_out (room for sel.count). */
sf_status sf_eval_filter(sf_eval *eval, const sf_expr *predicate, const sf_batch *batch, sf_sel sel,
                         uint32_t *rows_out, uint32_t *count_out, sf_error *err);

/* The elements of a JSON array in order, as their text (UNNEST). begin is false when the value is no
 * array. */
typedef struct {
    sf_str text;
    size_t pos;
} sf_elements;
bool sf_elements_begin(sf_str array, sf_elements *iter);
bool sf_elements_next(sf_elements *iter, sf_str *element);

/* ---- the registry, for binding, completion and documentation ----------------------------- */

typedef struct {
    const char *name;      /* upper case */
    const char *signature; /* ROUND(x [, digits]) */
    const char *doc;       /* one line */
    const char *family;    /* numeric, string, hash, json, time, conditional, conversion, aggregate,
                              window */
    const char *example;   /* of aggregates over the columns name, x, ok: ('a', 1, true),
                              ('b', 2, false), ('b', 4, true) */
    const char *result;    /* of the example, as Json, times as text; "": it depends */
} sf_function_info;
uint32_t sf_function_count(void); /* scalar functions and aggregates, operators left out */
const sf_function_info *sf_function_at(uint32_t index);

/* ---- aggregates -------------------------------------------------------------------------- */

/* An aggregate is either INLINE: a fixed accumulator in its group's state row, updated by weighted
 * values (negative weights take back exactly what positive ones gave), or VALUES: computed from the
 * group's multiset of values in order, which the operator keeps. MIN and MAX are VALUES over inputs
 * that may retract; over append-only inputs they have an INLINE form of their own. */
typedef enum { SF_AGG_INLINE, SF_AGG_VALUES } sf_agg_kind;

typedef enum { /* what a VALUES aggregate takes from the ordered multiset */
               SF_VALUES_MIN,
               SF_VALUES_MAX,
               SF_VALUES_COUNT_DISTINCT,
               SF_VALUES_PERCENTILE, /* interpolated */
               SF_VALUES_PERCENTILE_DISC,
               SF_VALUES_MODE,
               SF_VALUES_FIRST, /* in order */
               SF_VALUES_TEXT,  /* all in order, the separator between them */
               SF_VALUES_JSON,  /* all in order, NULLs too, as a Json array */
} sf_values_op;

typedef struct sf_aggregate {
    const char *name;
    sf_agg_kind kind;
    sf_type arg_type; /* after implicit conversion; meaningless without argument (COUNT(*)) */
    sf_type result_type;
    uint32_t state_bytes; /* INLINE: multiple of 8; all zero bytes is the empty state */
    sf_values_op values_op;
    /* INLINE. states[i] + offset is row i's accumulator (8-aligned); several i may share one.
     * args: a call's columns, dense with count rows (COUNT(*): none); weights NULL = all +1. */
    void (*update)(uint8_t *const *states, size_t offset, const sf_column *const *args,
                   const int64_t *weights, uint32_t count);
    /* Append the results of count groups to a builder of result_type; returns how many were NULL
     * because they are out of range. */
    uint32_t (*finish)(uint8_t *const *states, size_t offset, uint32_t count, sf_builder *out);
} sf_aggregate;

/* One thing an aggregate reads of each row. VALUES: the multiset's rows are made of these, in their
 * order. */
typedef struct {
    const sf_expr *expr;
    bool descending;
} sf_agg_column;

typedef struct sf_agg_call {
    const sf_aggregate *aggregate;
    const sf_agg_column *columns; /* COUNT(*): none */
    uint32_t column_count;
    uint32_t value;        /* of the columns, the argument: rows where it is NULL are left out */
    bool keeps_nulls;      /* they are not */
    const sf_expr *filter; /* only rows where it is true; NULL: all. VALUES that keep NULLs only:
                              elsewhere the argument is made NULL */
    double parameter;      /* PERCENTILE's p */
    sf_str separator;      /* TEXT */
    bool distinct;         /* each distinct value counts once: the operator sees to it */
    bool append_only;      /* nothing is ever taken back */
    const char *warning;   /* what the user should be told (SUM over text); NULL: nothing */
    sf_span span;
} sf_agg_call;

typedef struct {
    const sf_expr *expr;
    bool descending, nulls_first;
} sf_agg_order;

typedef struct {
    sf_str name;
    const sf_expr *const *args;
    uint32_t arg_count;
    bool star; /* COUNT(*) */
    bool distinct;
    bool append_only;      /* the input never takes back */
    const sf_expr *filter; /* Bool; NULL: none */
    const sf_agg_order *order;
    uint32_t order_count;
    bool within_group;   /* the order stands there */
    const sf_expr *time; /* when a row was, for FIRST and LAST; NULL: not known here */
    sf_span span;
} sf_agg_spec;

bool sf_is_aggregate_name(sf_str name);    /* any case */
bool sf_aggregate_needs_time(sf_str name); /* unless it has an ORDER BY */
/* A value as Json text: times are their milliseconds. */
void sf_literal_put_json(sf_type type, const sf_literal *value, sf_buf *out);

/* Positioned errors as sf_expr_call. */
sf_status sf_aggregate_bind(sf_arena *arena, const sf_agg_spec *spec, sf_agg_call *out,
                            sf_error *err);

#endif

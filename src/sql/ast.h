/* ast.h: what a statement says, before any name is looked up.
 *
 * Owns     nothing by itself: nodes, their text included, live in the arena of the parse.
 * Threads  constant after the parse.
 * Limits   text, nesting and inputs are bounded by the parser (parse.h), so that a recursive walk
 *          over any tree needs at most SF_SQL_DEPTH_MAX frames.
 *
 * Every node carries the span of its text. Lists are arrays with a count. Names with length 0 are
 * absent. */
#ifndef SF_SQL_AST_H
#define SF_SQL_AST_H

#include "base/base.h"

typedef struct sf_sql_expr sf_sql_expr;
typedef struct sf_sql_query sf_sql_query;
typedef struct sf_sql_input sf_sql_input;

typedef struct {
    sf_str text;
    sf_span span;
    bool quoted;
} sf_sql_name;

typedef struct {
    sf_sql_name *items;
    size_t count;
} sf_sql_names;

typedef struct {
    sf_sql_expr **items;
    size_t count;
} sf_sql_exprs;

typedef struct {
    int64_t ms; /* positive */
    sf_span span;
} sf_sql_duration;

/* ---- expressions ---- */

typedef enum {
    SF_EX_NULL,
    SF_EX_BOOL,
    SF_EX_LONG,
    SF_EX_DOUBLE,
    SF_EX_STRING,
    SF_EX_INTERVAL,
    SF_EX_COLUMN,     /* [[domain.]alias.]name */
    SF_EX_STAR,       /* * or alias.*, only as a select item and in COUNT(*) */
    SF_EX_OP,         /* args by sf_sql_op; AND and OR take two or more */
    SF_EX_IS,         /* args[0] IS [NOT] NULL, TRUE, FALSE, UNKNOWN */
    SF_EX_BETWEEN,    /* args: value, low, high */
    SF_EX_LIKE,       /* args: value, pattern[, escape] */
    SF_EX_IN_LIST,    /* args: value, items */
    SF_EX_IN_QUERY,   /* args[0] IN (query) */
    SF_EX_EXISTS,     /* EXISTS (query) */
    SF_EX_QUANTIFIED, /* args[0] op ANY | ALL (query) */
    SF_EX_QUERY,      /* (query) as a value */
    SF_EX_ROW,        /* (a, b) */
    SF_EX_JSON,       /* args[0] -> key, args[0] ->> key */
    SF_EX_CAST,       /* args[0] as type */
    SF_EX_CASE,       /* args: [operand,] when, then, ... [, else] */
    SF_EX_CALL,       /* name(args), plain, aggregate or over a window */
} sf_sql_expr_kind;

typedef enum {
    SF_OP_OR,
    SF_OP_AND,
    SF_OP_NOT,
    SF_OP_EQUAL,
    SF_OP_NOT_EQUAL,
    SF_OP_LESS,
    SF_OP_LESS_EQUAL,
    SF_OP_GREATER,
    SF_OP_GREATER_EQUAL,
    SF_OP_DISTINCT, /* IS [NOT] DISTINCT FROM */
    SF_OP_CONCAT,
    SF_OP_ADD,
    SF_OP_SUBTRACT,
    SF_OP_MULTIPLY,
    SF_OP_DIVIDE,
    SF_OP_MODULO,
    SF_OP_NEGATE,
} sf_sql_op;
const char *sf_sql_op_text(sf_sql_op op);

typedef enum { SF_IS_NULL, SF_IS_TRUE, SF_IS_FALSE, SF_IS_UNKNOWN } sf_sql_is;

/* Types a CAST may name; several spellings each. */
typedef enum {
    SF_CAST_STRING,
    SF_CAST_DOUBLE,
    SF_CAST_LONG,
    SF_CAST_BOOL,
    SF_CAST_TIMESTAMP,
} sf_sql_cast;
const char *sf_sql_cast_text(sf_sql_cast type);

typedef enum { SF_NULLS_DEFAULT, SF_NULLS_FIRST, SF_NULLS_LAST } sf_sql_nulls;

typedef struct {
    sf_sql_expr *expr;
    bool descending;
    sf_sql_nulls nulls;
} sf_sql_order_item;

typedef struct {
    sf_sql_order_item *items;
    size_t count;
} sf_sql_order;

typedef enum { SF_FRAME_NONE, SF_FRAME_ROWS, SF_FRAME_RANGE, SF_FRAME_GROUPS } sf_sql_frame_unit;
typedef enum {
    SF_BOUND_UNBOUNDED_PRECEDING,
    SF_BOUND_PRECEDING,
    SF_BOUND_CURRENT_ROW,
    SF_BOUND_FOLLOWING,
    SF_BOUND_UNBOUNDED_FOLLOWING,
} sf_sql_bound_kind;

typedef struct {
    sf_sql_bound_kind kind;
    sf_sql_expr *distance; /* of PRECEDING and FOLLOWING */
    sf_span span;
} sf_sql_bound;

/* OVER (...) and WINDOW name AS (...). */
typedef struct {
    sf_sql_name base; /* a window named elsewhere, which this one extends or is */
    sf_sql_exprs partition;
    sf_sql_order order;
    sf_sql_frame_unit unit;
    sf_sql_bound start, end;
    sf_span span;
} sf_sql_over;

typedef struct {
    sf_sql_name name; /* forms such as EXTRACT(HOUR FROM x) become extract('hour', x) */
    bool distinct, within_group;
    sf_sql_order order;  /* of an aggregate's arguments */
    sf_sql_expr *filter; /* NULL: none */
    sf_sql_over *over;   /* NULL: not over a window */
} sf_sql_call;

struct sf_sql_expr {
    sf_sql_expr_kind kind;
    bool negated; /* NOT of IS, BETWEEN, LIKE, IN, EXISTS, DISTINCT */
    bool parenthesised;
    uint16_t depth;
    sf_span span;
    sf_span op_span; /* the operator or the function's name: where a runtime error points */
    sf_sql_exprs args;
    union {
        bool boolean;
        int64_t integer;
        double real;
        sf_str text;
        struct {
            int64_t ms;
            int32_t months;
        } interval;
        sf_sql_names column; /* parts, the name last */
        sf_sql_name star;    /* its qualifier */
        sf_sql_op op;        /* OP and QUANTIFIED */
        sf_sql_is is;
        bool ignore_case; /* LIKE: ILIKE */
        bool has_operand; /* CASE x WHEN */
        sf_sql_cast cast;
        sf_sql_call *call;
        struct {
            bool as_text, is_index;
            sf_str key;
            int64_t index;
        } json;
    };
    sf_sql_query *query; /* IN_QUERY, EXISTS, QUANTIFIED, QUERY */
    bool has_else;       /* CASE */
    bool any;            /* QUANTIFIED: ANY, otherwise ALL */
};

/* ---- inputs ---- */

typedef enum {
    SF_INPUT_NAME,   /* source, table, or name of WITH */
    SF_INPUT_QUERY,  /* (query) alias */
    SF_INPUT_UNNEST, /* UNNEST(expr) alias */
    SF_INPUT_WINDOW, /* TUMBLE | HOP | SESSION (input, time, ...) */
    SF_INPUT_JOIN,
} sf_sql_input_kind;

typedef enum {
    SF_SQL_JOIN_INNER,
    SF_SQL_JOIN_LEFT,
    SF_SQL_JOIN_RIGHT,
    SF_SQL_JOIN_FULL,
    SF_SQL_JOIN_CROSS, /* also what a comma before UNNEST or LATERAL means */
} sf_sql_join_kind;
const char *sf_sql_join_text(sf_sql_join_kind kind);

typedef enum {
    SF_SQL_WINDOW_TUMBLING,
    SF_SQL_WINDOW_HOPPING,
    SF_SQL_WINDOW_SESSION
} sf_sql_window_kind;

typedef struct {
    sf_sql_window_kind kind;
    sf_sql_duration size;    /* TUMBLING, HOPPING */
    sf_sql_duration advance; /* HOPPING */
    sf_sql_duration gap;     /* SESSION */
    sf_span span;
} sf_sql_window;

struct sf_sql_input {
    sf_sql_input_kind kind;
    sf_span span;
    sf_sql_name alias;    /* not of JOIN */
    sf_sql_names columns; /* alias(a, b) */
    bool lateral;         /* QUERY */
    union {
        sf_sql_names name; /* NAME: one part, or domain.relay */
        sf_sql_query *query;
        struct {
            sf_sql_expr *array;
            bool ordinality;
        } unnest;
        struct {
            sf_sql_window window;
            sf_sql_input *input; /* NAME or QUERY */
            sf_sql_expr *time;
            sf_sql_exprs partition; /* SESSION */
        } window;
        struct {
            sf_sql_join_kind kind;
            bool natural, asof, comma;
            sf_span word; /* JOIN or the comma */
            sf_sql_input *left, *right;
            sf_sql_duration within; /* ms 0: none */
            sf_sql_expr *on;        /* NULL: none */
            sf_sql_expr *match;     /* ASOF: MATCH_CONDITION, NULL: none */
            sf_sql_names using_columns;
        } join;
    };
};

/* ---- queries ---- */

typedef struct {
    sf_sql_expr *expr;
    sf_sql_name alias;
} sf_sql_item;

typedef enum {
    SF_GROUP_EXPRS, /* one grouping set's columns; () has none */
    SF_GROUP_ROLLUP,
    SF_GROUP_CUBE,
    SF_GROUP_SETS,
} sf_sql_group_kind;

typedef struct sf_sql_group {
    sf_sql_group_kind kind;
    sf_span span;
    sf_sql_exprs exprs;         /* EXPRS */
    struct sf_sql_group *items; /* the others: what stands in the parentheses */
    size_t count;
} sf_sql_group;

typedef enum { SF_EMIT_DEFAULT, SF_EMIT_CHANGES, SF_EMIT_FINAL } sf_sql_emit;

typedef struct {
    sf_sql_name name;
    sf_sql_over over;
} sf_sql_named_window;

typedef struct {
    sf_span span;
    bool distinct;
    sf_span distinct_span;
    sf_sql_item *items;
    size_t item_count;
    sf_sql_input *from;  /* NULL: none */
    sf_sql_expr *where;  /* NULL: none */
    sf_sql_exprs latest; /* LATEST BY */
    sf_span latest_span;
    bool group_all;
    sf_sql_group *groups;
    size_t group_count;
    sf_span group_span; /* length 0: no GROUP BY */
    sf_sql_expr *having;
    sf_sql_named_window *windows; /* WINDOW name AS (...) */
    size_t window_count;
    sf_sql_window window; /* span length 0: none */
    sf_sql_emit emit;
    sf_span emit_span;
} sf_sql_select;

typedef enum { SF_SET_UNION, SF_SET_EXCEPT, SF_SET_INTERSECT } sf_sql_set_op;
const char *sf_sql_set_text(sf_sql_set_op op);

typedef enum { SF_BODY_SELECT, SF_BODY_SET, SF_BODY_QUERY, SF_BODY_VALUES } sf_sql_body_kind;

typedef struct sf_sql_body {
    sf_sql_body_kind kind;
    sf_span span;
    union {
        sf_sql_select *select;
        struct {
            sf_sql_set_op op;
            bool all;
            sf_span op_span;
            struct sf_sql_body *left, *right;
        } set;
        sf_sql_query *query; /* (query) */
        struct {
            sf_sql_exprs *items; /* rows, at least one, each of at least one value */
            size_t count;
        } values;
    };
} sf_sql_body;

typedef struct {
    sf_sql_name name;
    sf_sql_names columns;
    sf_sql_query *query;
} sf_sql_with;

struct sf_sql_query {
    sf_span span;
    uint16_t depth;
    bool recursive;
    sf_sql_with *with;
    size_t with_count;
    sf_sql_body *body;
    sf_sql_order order;
    sf_span order_span;
    bool has_limit, has_offset;
    int64_t limit, offset;
    sf_span limit_span, offset_span;
};

typedef struct {
    sf_str text;          /* the whole statement, kept in the arena */
    sf_sql_name target;   /* INSERT INTO target; absent: none */
    uint32_t body_offset; /* where the text behind INSERT INTO target starts */
    sf_sql_query *query;
} sf_sql_statement;

#endif

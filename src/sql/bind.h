/* bind.h: from the tree to a plan. What the parts of the binder share; not for other modules.
 *
 * Every input of a query has a range of *columns numbered across the whole statement* (vcols).
 * Expressions are bound over these numbers. Inputs and joins stay a small tree (sf_sqlb_tree) until
 * all expressions of their SELECT are bound: then it is known which columns are used, conditions
 * move to the lowest place where they may stand, and only then plan nodes are made, with the
 * numbers mapped to the columns of the node in hand (sf_sqlb.at).
 *
 * Memory   Expressions and all that is kept live in the plan's arena, the rest in the arena of the
 *          statement. */
#ifndef SF_SQL_BIND_H
#define SF_SQL_BIND_H

#include "flow/plan.h"
#include "sql/ast.h"
#include "sql/sql.h"

enum { SF_SQLB_INPUTS_MAX = 256, SF_SQLB_NONE = -1 };

/* ---- sets of inputs ---- */

typedef struct {
    uint64_t bits[SF_SQLB_INPUTS_MAX / 64];
} sf_sqlb_set;
void sf_sqlb_set_add(sf_sqlb_set *set, uint32_t input);
bool sf_sqlb_set_has(const sf_sqlb_set *set, uint32_t input);
bool sf_sqlb_set_empty(const sf_sqlb_set *set);
bool sf_sqlb_set_within(const sf_sqlb_set *inner, const sf_sqlb_set *outer);
bool sf_sqlb_set_meets(const sf_sqlb_set *a, const sf_sqlb_set *b);
sf_sqlb_set sf_sqlb_set_join(const sf_sqlb_set *a, const sf_sqlb_set *b);

/* ---- relations and inputs ---- */

typedef struct {
    const char *name; /* ends with 0 */
    sf_type type;
} sf_sqlb_column;

/* What a query or a scan gives: its visible columns are the first of the node. */
typedef struct {
    uint32_t node;
    sf_sqlb_column *columns;
    uint32_t count;
    uint32_t window_columns; /* of these, at the end, added by WINDOW */
    bool source;             /* a scan of a source that honours _retract */
    bool windowed;           /* closes with a window, or reads only what does */
    bool key_known;          /* identity of a row, as sf_plan has it */
    uint32_t *key;
    uint32_t key_count;
} sf_sqlb_rel;

/* One input of one SELECT. */
typedef struct {
    sf_str alias;
    sf_span span;
    sf_sqlb_rel rel;
    uint32_t first;        /* vcol of its first column; _ts is the last */
    uint32_t column_count; /* visible, then hidden ones */
    bool element;          /* of UNNEST: it and perhaps its number, no _ts */
    bool time;             /* the _ts of joined rows: one column */
    bool mark;             /* whether a subquery has a match: one column */
    bool hidden;           /* of a subquery: no name finds it */
} sf_sqlb_input;

typedef struct {
    sf_type type;
    uint32_t input;
    bool used; /* by expressions above the node in hand: others leave on the way */
} sf_sqlb_vcol;

/* A condition; an equality has both sides bound on their own too. */
typedef struct {
    const sf_expr *expr, *left, *right;
    sf_sqlb_set inputs;
    const sf_expr *bound; /* NOW() stands in it: rows are valid until this time, or from it on */
    bool until;
} sf_sqlb_cond;
typedef struct {
    sf_sqlb_cond *items;
    size_t count;
} sf_sqlb_conds;

typedef enum {
    SF_TREE_INPUT,
    SF_TREE_UNNEST,
    SF_TREE_JOIN,
    SF_TREE_MARK, /* left rows, each with whether the right has a match */
} sf_sqlb_tree_kind;

typedef struct sf_sqlb_tree {
    sf_sqlb_tree_kind kind;
    sf_sqlb_set inputs;
    uint32_t input;       /* INPUT; UNNEST: the element; MARK: the mark */
    int time_input;       /* stands for the _ts of this tree's own rows; SF_SQLB_NONE */
    const sf_expr *array; /* UNNEST */
    struct sf_sqlb_tree *left, *right; /* UNNEST: left only */
    sf_join_kind join;
    int64_t within_ms;     /* -1: relational */
    sf_span span;          /* of the subquery, where there is one */
    bool snapshot;         /* JOIN, MARK: in a pipeline, the right side is a windowed subquery */
    bool asof;             /* JOIN: with the nearest row; the last of `on` is the pair of times */
    bool own_times;        /* ...unless it goes by the _ts of both sides */
    bool forward, strict;  /* as sf_asof_spec */
    sf_sqlb_conds on;      /* JOIN, MARK */
    sf_sqlb_conds filters; /* above */
} sf_sqlb_tree;

/* ---- scopes ---- */

typedef struct {
    sf_str name;
    const sf_expr *expr;
    size_t from;     /* the join's first input in the scope */
    uint32_t *vcols; /* it stands for */
    size_t vcol_count;
} sf_sqlb_merged; /* a column of USING or NATURAL */

typedef struct {
    const sf_expr *expr; /* over vcols */
    const char *name;
    uint16_t depth; /* of the tree it was bound from */
} sf_sqlb_key;

typedef struct {
    const sf_sql_expr *ast;
    sf_agg_call call;      /* bound as if nothing were retracted: for its types */
    const sf_expr **parts; /* arguments, keys of ORDER BY, then FILTER and _ts where there are */
    uint32_t part_count;
    uint32_t arg_count;
    bool filtered, timed;
    const char *name;
    const uint32_t *grouping; /* GROUPING: keys; NULL: an aggregate */
    uint32_t grouping_count;
} sf_sqlb_agg;

/* Columns of the grouped row: keys, aggregates, window_start, window_end. */
typedef struct {
    sf_sqlb_key *keys;
    size_t key_count;
    sf_sqlb_agg *aggs;
    size_t agg_count;
    uint64_t *sets; /* GROUPING SETS: keys as bits */
    size_t set_count;
    bool windowed;
} sf_sqlb_group;

/* One call over a window. */
typedef struct {
    sf_over_call call;    /* its columns are known when the row below it is */
    const sf_expr **keys; /* PARTITION BY */
    uint32_t *key_columns, key_count;
    const sf_expr **order;
    sf_plan_order *by;
    uint32_t order_count;
    const sf_expr *args[SF_OVER_ARGS_MAX];
    const char *name;
    uint32_t column; /* what stands for it in expressions */
    bool built;
} sf_sqlb_over;
typedef struct {
    sf_sqlb_over *items;
    size_t count;
    bool grouped; /* expressions number the columns of a grouped row */
} sf_sqlb_overs;

typedef enum { SF_OUTER_CORRELATED, SF_OUTER_LATERAL } sf_sqlb_outer;

typedef struct sf_sqlb_scope {
    struct sf_sqlb_scope *outer; /* whose columns a subquery may read; NULL: none */
    sf_sqlb_outer outer_use;
    const sf_sql_select *select;
    const sf_sql_exprs *partition; /* of SESSION in FROM: must be the keys; NULL: none */
    uint32_t *inputs;              /* numbers, in order */
    size_t input_count;
    size_t from; /* names are looked up in inputs[from..] */
    sf_sqlb_merged *merged;
    size_t merged_count;
    sf_sqlb_tree *tree;
    uint32_t ts;          /* vcol of the joined rows' _ts; UINT32_MAX: there is one input */
    const char *place;    /* the clause that is bound, for messages */
    bool may_correlate;   /* outer columns may be read now */
    bool no_subqueries;   /* in this clause */
    bool may_read_clock;  /* in a table: NOW() may stand here */
    sf_sqlb_group *group; /* not NULL: columns mean the grouped row */
    bool in_aggregate;
    bool keyed;          /* in a subquery that may read group keys only */
    sf_sqlb_overs overs; /* calls OVER a window */
    bool may_over;       /* they may stand here */
    bool in_over;
} sf_sqlb_scope;

/* Columns of a grouped row as expressions number them until the node exists. */
static inline uint32_t sf_sqlb_group_column(const sf_sqlb_group *group, uint32_t aggregate)
{
    return (uint32_t)group->key_count + 2 + aggregate;
}

/* ---- the binder ---- */

typedef struct sf_sqlb_with {
    struct sf_sqlb_with *before;    /* names visible where this one is */
    struct sf_sqlb_with *enclosing; /* whose query is being bound around this one's */
    const sf_sql_query *owner;
    const sf_sql_with *ast;
    bool bound;
    sf_sqlb_rel rel;
} sf_sqlb_with;

typedef struct {
    sf_plan *plan;
    sf_arena *arena;   /* the plan's */
    sf_arena *scratch; /* the statement's */
    sf_str text;
    sf_plan_kind kind;
    const sf_resolver *resolver;
    sf_diagnostics *diagnostics; /* NULL: not wanted */
    sf_error *err;
    SF_VEC(sf_sqlb_vcol) vcols;
    SF_VEC(uint32_t) at; /* column in the node being built, by vcol */
    SF_VEC(sf_sqlb_input) inputs;
    sf_sqlb_with *with;    /* visible names of WITH, innermost first */
    sf_sqlb_with *binding; /* whose query is being bound */
} sf_sqlb;

/* Grow an array in the scratch arena by one item. */
sf_status sf_sqlb_grow(sf_sqlb *b, void **items, size_t count, size_t item_bytes);
#define SQLB_PUSH(b, list, count, value)                                                           \
    do {                                                                                           \
        SF_TRY(sf_sqlb_grow((b), (void **)&(list), (count), sizeof *(list)));                      \
        (list)[(count)++] = (value);                                                               \
    } while (0)

/* ---- messages ---- */

sf_status sf_sqlb_fail(sf_sqlb *b, sf_status status, sf_span where, const char *hint,
                       const char *format, ...) SF_PRINTF(5, 6);
/* "WHAT is not supported yet" */
sf_status sf_sqlb_not_yet(sf_sqlb *b, sf_span where, const char *what, const char *hint);
#define sf_sqlb_fail(...)    SF_IS_FAILURE(sf_sqlb_fail(__VA_ARGS__))
#define sf_sqlb_not_yet(...) SF_IS_FAILURE(sf_sqlb_not_yet(__VA_ARGS__))
sf_status sf_sqlb_warn(sf_sqlb *b, sf_span where, const char *format, ...) SF_PRINTF(3, 4);
/* For "%.*s" of text from outside: at most 64 bytes. */
#define SQLB_NAME(s) (int)((s).len < 64 ? (s).len : 64), (s).data

/* ---- names: bind_names.c ---- */

/* New input with its vcols; added to the scope unless hidden. */
sf_status sf_sqlb_add_input(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sqlb_input *input,
                            uint32_t *number);
sf_status sf_sqlb_vcol_expr(sf_sqlb *b, uint32_t vcol, sf_span span, const sf_expr **out);
/* Its columns are needed above the tree that is built next. */
void sf_sqlb_use(sf_sqlb *b, const sf_expr *expr);
/* The _ts of the rows of a scope; NULL: they have none. */
sf_status sf_sqlb_time_of(sf_sqlb *b, const sf_sqlb_scope *scope, sf_span span,
                          const sf_expr **out);
/* [alias.]name of the scope, or of an outer one. */
sf_status sf_sqlb_column_ref(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                             const sf_expr **out);
/* Number of a visible column of an input by name, -1 none, -2 several. */
int sf_sqlb_find_column(const sf_sqlb_input *input, sf_str name);
/* A source or table by name; fails with a list of what there is. */
sf_status sf_sqlb_relation(sf_sqlb *b, const sf_sql_input *ast, sf_sqlb_rel *out);
sf_str sf_sqlb_alias_of(const sf_sql_input *ast);

/* ---- expressions: bind_expr.c ---- */

sf_status sf_sqlb_expr(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                       const sf_expr **out);
/* A condition split at its ANDs into conditions; subqueries of WHERE become joins. */
sf_status sf_sqlb_conditions(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                             sf_sqlb_conds *out);
void sf_sqlb_inputs_of(const sf_sqlb *b, const sf_expr *expr, sf_sqlb_set *out);
/* Must be Bool (or a bare NULL). */
sf_status sf_sqlb_to_bool(sf_sqlb *b, const sf_expr *expr, const char *place, const sf_expr **out);

/* ---- rows of values: bind_rows.c ---- */

typedef struct {
    const sf_expr **values;
    size_t count; /* at least one */
} sf_sqlb_row;
/* Rows of as many values; negated: IS NOT DISTINCT FROM. */
sf_status sf_sqlb_compare_rows(sf_sqlb *b, sf_sql_op op, bool negated, const sf_sqlb_row *left,
                               const sf_sqlb_row *right, sf_span span, const sf_expr **out);
sf_status sf_sqlb_check_rows(sf_sqlb *b, const sf_sql_expr *left, const sf_sql_expr *right,
                             sf_span span);
/* A comparison, one side of which is a row. */
sf_status sf_sqlb_row_op(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                         const sf_expr **out);
/* A row IN a list, or BETWEEN, without its NOT. */
sf_status sf_sqlb_row_predicate(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                                const sf_expr **out);

/* ---- time: bind_time.c, bind_interval.c ---- */

sf_status sf_sqlb_interval(sf_sqlb *b, const sf_sql_expr *ast, const sf_expr **out);
/* A sum or difference of a time and an interval with months; *out stays NULL when it is none. */
sf_status sf_sqlb_calendar(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                           const sf_expr **out);

bool sf_sqlb_reads_clock(const sf_expr *expr);
/* A condition with NOW() as conditions with bounds. */
sf_status sf_sqlb_temporal(sf_sqlb *b, const sf_expr *expr, sf_sqlb_conds *out);

/* ---- grouping: bind_group.c ---- */

bool sf_sqlb_has_aggregate(const sf_sql_expr *ast);
/* In a grouped scope: *out stays NULL when the node itself means nothing special. */
sf_status sf_sqlb_grouped(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                          const sf_expr **out);
bool sf_sqlb_is_name(const sf_sql_expr *ast, const char *name);
/* The aggregate over these parts. */
sf_status sf_sqlb_resolve_aggregate(sf_sqlb *b, const sf_sqlb_agg *agg, const sf_expr *const *parts,
                                    bool append_only, sf_agg_call *out);

/* ---- OVER: bind_over.c ---- */

bool sf_sqlb_has_over(const sf_sql_expr *ast);
bool sf_sqlb_needs_over(sf_str name); /* of a function that stands with OVER only */
sf_status sf_sqlb_over_call(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                            const sf_expr **out);
void sf_sqlb_use_overs(sf_sqlb *b, const sf_sqlb_overs *overs);

/* ---- subqueries of a grouped query: bind_keyed.c ---- */

/* The aggregate that carries a subquery's value through the grouping; NULL: none can. */
sf_status sf_sqlb_keyed_query(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                              const sf_sql_expr **out);
/* When scope->keyed: of the scope's inputs the expression reads keys only. */
sf_status sf_sqlb_check_keyed(sf_sqlb *b, const sf_sqlb_scope *scope, const sf_expr *expr);

/* ---- GROUPING: bind_grouping.c ---- */

sf_status sf_sqlb_grouping(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                           const sf_expr **out);
/* For the rows of a set of keys: a bit for each one that is left out, the last key's lowest. */
int64_t sf_sqlb_grouping_value(const sf_sqlb_agg *agg, uint64_t set);

/* ---- GROUP BY: bind_keys.c, build_group.c ---- */

sf_status sf_sqlb_group_keys(sf_sqlb *b, sf_sqlb_scope *scope, sf_sqlb_group *group);
/* The node of a grouped SELECT; map: its columns by the numbers of a grouped row. */
sf_status sf_sqlb_group_node(sf_sqlb *b, const sf_sqlb_scope *scope, const sf_sqlb_group *group,
                             const sf_sql_window *window, bool changes, uint32_t *node,
                             const uint32_t **map);

/* ---- inputs: bind_relation.c, bind_from.c ---- */

/* The relation that an input other than UNNEST and JOIN names. */
sf_status sf_sqlb_input_rel(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_input *ast,
                            sf_sqlb_rel *out);
sf_status sf_sqlb_rename_columns(sf_sqlb *b, const sf_sql_names *names, sf_sqlb_rel *rel);

/* FROM and WHERE. Conditions that read outer columns go to correlated; NULL: there may be none. */
sf_status sf_sqlb_from(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_select *select,
                       sf_sqlb_conds *correlated);
/* A join above scope->tree. */
sf_status sf_sqlb_join_tree(sf_sqlb *b, sf_sqlb_tree *left, sf_sqlb_tree *right, sf_join_kind kind,
                            sf_sqlb_tree **out);
/* A mark above scope->tree; *value: its column. */
sf_status sf_sqlb_mark_tree(sf_sqlb *b, sf_sqlb_scope *scope, sf_sqlb_tree *right,
                            const sf_sqlb_conds *on, sf_span span, const sf_expr **value);
/* An input that no name finds, as a leaf. */
sf_status sf_sqlb_hidden_input(sf_sqlb *b, const sf_sqlb_rel *rel, sf_span span, uint32_t *number,
                               sf_sqlb_tree **out);

/* ---- ASOF JOIN: bind_asof.c ---- */

sf_status sf_sqlb_check_asof(sf_sqlb *b, const sf_sql_input *ast);
/* Its ON and MATCH_CONDITION; names are looked up in the scope from its input `from`. */
sf_status sf_sqlb_asof(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_input *ast, size_t from,
                       sf_sqlb_tree *join);

/* ---- subqueries: bind_subquery.c ---- */

/* A conjunct of WHERE that is [NOT] IN or EXISTS: the tree becomes a semi or anti join. *done
 * false: it can only be had as a value. */
sf_status sf_sqlb_membership(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast, bool negated,
                             bool *done);
/* The same as a value anywhere in an expression. */
sf_status sf_sqlb_membership_value(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                                   const sf_expr **out);
sf_status sf_sqlb_scalar(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                         const sf_expr **out);

/* ---- queries: bind_query.c, bind_select.c ---- */

/* What SELECT lists; behind the visible ones, what ORDER BY reads besides. */
typedef struct {
    const sf_expr *expr;
    const char *name;
    bool chosen; /* with AS */
    sf_span span;
    const char *base; /* the name before it gave way, and the number that was added */
    unsigned number;
} sf_sqlb_item;
typedef struct {
    sf_sqlb_item *items;
    size_t count;
} sf_sqlb_items;

/* ---- ORDER BY, LIMIT: bind_order.c ---- */

typedef struct {
    sf_plan_order *by;
    uint32_t count;
} sf_sqlb_order;

/* Has the query something that orders or limits it? Fails where it may not. */
sf_status sf_sqlb_check_order(sf_sqlb *b, const sf_sql_query *query, bool *ordered);
/* The keys of ORDER BY as numbers of items; what is not among them is added. */
sf_status sf_sqlb_order_items(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_query *query,
                              sf_sqlb_items *list, sf_sqlb_order *out);
/* The same over what a set operation or a query in parentheses gives. */
sf_status sf_sqlb_order_columns(sf_sqlb *b, const sf_sql_query *query, const sf_sqlb_rel *rel,
                                sf_sqlb_order *out);
/* The rows of rel that LIMIT and OFFSET keep, without columns behind the visible ones. */
sf_status sf_sqlb_limit(sf_sqlb *b, const sf_sql_query *query, const sf_sqlb_order *order,
                        sf_sqlb_rel *rel);

/* ---- rows of the statement: bind_values.c ---- */

/* The one row that is always there; what reads it, for a message. */
sf_status sf_sqlb_one_row(sf_sqlb *b, const char *what, sf_span span, uint32_t *node);
/* The tree of a SELECT without FROM. */
sf_status sf_sqlb_no_from(sf_sqlb *b, sf_sqlb_scope *scope);
sf_status sf_sqlb_values(sf_sqlb *b, const sf_sql_body *body, sf_sqlb_rel *out);

/* EXCEPT ALL, INTERSECT ALL of sides whose types agree; out has its columns: bind_bags.c. */
sf_status sf_sqlb_bags(sf_sqlb *b, sf_sql_set_op op, uint32_t left, uint32_t right,
                       sf_sqlb_rel *out);

/* top: what the query gives is the statement's answer. */
sf_status sf_sqlb_query(sf_sqlb *b, const sf_sql_query *query, sf_sqlb_scope *outer,
                        sf_sqlb_outer outer_use, bool top, sf_sqlb_rel *out);
/* query: whose ORDER BY and LIMIT apply; NULL: none. */
sf_status sf_sqlb_select(sf_sqlb *b, const sf_sql_select *select, const sf_sql_query *query,
                         sf_sqlb_scope *outer, sf_sqlb_outer outer_use, bool top, sf_sqlb_rel *out);
bool sf_sqlb_is_grouped(const sf_sql_select *select);
/* The name of a column without alias, ends with 0. */
sf_status sf_sqlb_default_name(sf_sqlb *b, const sf_sql_expr *ast, size_t position,
                               const char **out);

/* ---- plan nodes: build.c ---- */

/* Rows of a node whose filter is still to be applied. */
typedef struct {
    uint32_t node;
    const sf_expr *filter; /* over the node's columns; NULL: none */
} sf_sqlb_rows;

/* The windows of these calls above the rows. map: from the numbers of expressions to the rows'
 * columns, before and after; items of the list stay readable. */
sf_status sf_sqlb_over_nodes(sf_sqlb *b, sf_sqlb_overs *overs, const sf_sqlb_items *list,
                             sf_sqlb_rows *rows, const uint32_t **map);
/* Move a condition down to where it may stand. */
sf_status sf_sqlb_push(sf_sqlb *b, sf_sqlb_tree *tree, const sf_sqlb_cond *cond);
sf_status sf_sqlb_build(sf_sqlb *b, sf_sqlb_tree *tree, sf_sqlb_rows *out);
/* Can this equality between the two sides be a key of their join? */
bool sf_sqlb_is_key(const sf_sqlb *b, const sf_sqlb_tree *left_tree, const sf_sqlb_tree *right_tree,
                    const sf_sqlb_cond *cond);
/* From vcols to columns of the node that was built. */
sf_status sf_sqlb_remap(sf_sqlb *b, const sf_expr *expr, const sf_expr **out);
/* Build the tree with each expression over its vcols as a column that may be a key; a map computes
 * those that are none yet. names: of computed keys, NULL: any. */
sf_status sf_sqlb_build_keyed(sf_sqlb *b, sf_sqlb_tree *tree, const sf_expr *const *keys,
                              const char *const *names, uint32_t count, uint32_t *columns,
                              sf_sqlb_rows *out);
/* Each row once. */
sf_status sf_sqlb_distinct(sf_sqlb *b, sf_sqlb_rel *rel);
sf_status sf_sqlb_check_width(sf_sqlb *b, size_t columns, sf_span where);

#endif

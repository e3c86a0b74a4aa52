/* kernel.h: what the evaluator and the kernels share. Private to this module.
 *
 * A kernel fills call->out for the lanes 0..rows-1 from operands that are either dense columns or
 * one constant. For strict functions the evaluator has already set the result's validity (a lane is
 * NULL when an argument is) and NULL constants never arrive. A lane that cannot be computed goes to
 * sf_call_fail. Kernels answer false only when memory is short.
 *
 * Memory  The evaluator owns operands and the result. */
#ifndef SF_EXPR_KERNEL_H
#define SF_EXPR_KERNEL_H

#include "expr/expr.h"

typedef struct {
    sf_type type;
    const sf_column *column;    /* dense over the call's rows; NULL: constant */
    const sf_literal *constant; /* stands for every row */
} sf_operand;

typedef struct {
    sf_eval *eval;
    const sf_expr *expr;
    sf_sel sel; /* lane i is this row of the batch */
    uint32_t rows;
    const sf_operand *args;
    uint32_t arg_count;
    sf_column *out; /* fixed width: made by the evaluator; views: by the kernel */
} sf_call;

typedef bool sf_kernel(sf_call *call);

enum {
    SF_FN_OWN_NULLS = 1, /* not strict: the kernel decides about NULLs */
    SF_FN_FAILS = 2,     /* lanes may fail */
    SF_FN_VOLATILE = 4,  /* not a function of its arguments alone */
    SF_FN_REGEX = 8,     /* the second argument, when constant, is checked when bound */
    SF_FN_ZONE = 16,     /* the first of two, the last of three is a zone: checked when constant */
};

/* args: one letter an argument: b Bool, l Long, d Double, s String, t Timestamp, j Json, a anything,
 * v anything, as String; m Timestamp or Long milliseconds; u: all of these unify and have an order;
 * c: any two compare. A final '*' repeats the last
 * letter. result: a letter, u: as unified, a: as the first argument. */
struct sf_function {
    const char *name;
    const char *args;
    char result;
    uint8_t flags;
    sf_kernel *kernel;
};

/* ---- operands ---- */

static inline const void *sf_operand_lanes(const sf_operand *operand)
{
    return operand->column ? operand->column->data : (const void *)&operand->constant->as;
}
static inline const uint64_t *sf_operand_valid(const sf_operand *operand)
{
    return operand->column ? operand->column->valid : NULL;
}
static inline bool sf_operand_is_null(const sf_operand *operand, uint32_t lane)
{
    return operand->column ? !sf_column_is_valid(operand->column, lane)
                           : operand->constant->is_null;
}
static inline sf_str sf_operand_str(const sf_operand *operand, uint32_t lane)
{
    return operand->column ? sf_column_str(operand->column, lane) : operand->constant->as.str;
}
static inline int64_t sf_operand_i64(const sf_operand *operand, uint32_t lane)
{
    return operand->column ? SF_LANES(operand->column, int64_t)[lane] : operand->constant->as.i64;
}
static inline double sf_operand_f64(const sf_operand *operand, uint32_t lane)
{
    return operand->column ? SF_LANES(operand->column, double)[lane] : operand->constant->as.f64;
}
static inline bool sf_operand_bool(const sf_operand *operand, uint32_t lane)
{
    return operand->column ? SF_LANES(operand->column, uint8_t)[lane]
                           : operand->constant->as.boolean;
}

/* ---- results ---- */

#define SF_OUT(call, T) ((T *)sf_column_lanes((call)->out))

static inline bool sf_call_is_null(const sf_call *call, uint32_t lane)
{
    return !sf_column_is_valid(call->out, lane);
}
/* Make the lane NULL; fail also counts and lists it. A lane that is NULL already stays unreported.
 * False when memory is short. */
bool sf_call_null(sf_call *call, uint32_t lane);
bool sf_call_fail(sf_call *call, uint32_t lane, sf_eval_code code);
/* A bitmap of its own for the result, all its present bits kept: for kernels that write it. */
uint64_t *sf_call_own_valid(sf_call *call);

/* Text results: views into the buffers of one shared column (NULL: none) and into own blocks. The
 * result column exists from begin on, with the validity of a strict call. */
typedef struct {
    sf_call *call;
    const sf_column *shared;
    sf_view *lanes;
    SF_VEC(sf_buffer *) blocks;
    uint32_t used; /* of the last block */
    size_t total;  /* of all blocks */
    bool failed;
} sf_text_out;
bool sf_text_begin(sf_text_out *out, sf_call *call, const sf_column *shared);
void sf_text_put(sf_text_out *out, uint32_t lane, sf_str text); /* copies */
/* text lies inside the shared column's lane. */
void sf_text_slice(sf_text_out *out, uint32_t lane, sf_str text);
bool sf_text_end(sf_text_out *out); /* false: memory was short */

/* ---- evaluating parts ---- */

/* Lanes compared into bytes 0/1; NULL lanes hold anything. */
typedef enum { SF_CMP_EQ, SF_CMP_NE, SF_CMP_LT, SF_CMP_LE, SF_CMP_GT, SF_CMP_GE } sf_cmp;
void sf_compare_lanes(sf_cmp cmp, const sf_operand *a, const sf_operand *b, uint32_t rows,
                      uint8_t *out);
bool sf_type_comparable(sf_type a, sf_type b);
/* -1, 0, 1 of two present values. */
int sf_compare_i64_f64(int64_t a, double b);
int sf_operand_order(const sf_operand *a, uint32_t a_lane, const sf_operand *b, uint32_t b_lane);
/* IN over more constants than this, all of the value's type, is searched instead of compared one by
 * one: builders sort them, NULLs last. */
enum { SF_IN_LIST_SHORT = 8 };
bool sf_in_list_is_sorted(const sf_expr *expr);

typedef struct {
    sf_eval *eval;
    const sf_batch *batch; /* NULL: constants only */
    sf_error *err;
} sf_eval_ctx;

/* The value of expr for the selected rows. A column in the operand is a reference that the caller
 * drops. */
sf_status sf_eval_operand(const sf_eval_ctx *ctx, const sf_expr *expr, sf_sel sel, sf_operand *out);
void sf_operand_drop(sf_operand *operand);
/* An operand as a column of its rows (a reference of its own). */
sf_column *sf_operand_column(const sf_operand *operand, uint32_t rows);

/* AND, OR, CASE, COALESCE: arguments under narrowing selections. */
sf_status sf_eval_logic(const sf_eval_ctx *ctx, const sf_expr *expr, sf_sel sel, sf_operand *out);
sf_status sf_eval_case(const sf_eval_ctx *ctx, const sf_expr *expr, sf_sel sel, sf_operand *out);
sf_status sf_eval_coalesce(const sf_eval_ctx *ctx, const sf_expr *expr, sf_sel sel,
                           sf_operand *out);
/* Never fails a lane and costs about as much as reading its columns. */
bool sf_expr_is_cheap(const sf_expr *expr);

/* ---- the registry ---- */

bool sf_type_of_letter(char letter, sf_type *out);
/* Overloads of a name (any case): first and how many; 0 when there is none. */
uint32_t sf_function_overloads(sf_str name, const sf_function **first);
/* The overload with exactly this spelling. Asserts that it exists. */
const sf_function *sf_function_get(const char *name, const char *args);
/* The documented name nearest to a misspelt one, NULL when none is near. */
const char *sf_function_nearest(sf_str name);
const sf_function_info *sf_function_documented(sf_str name); /* NULL: none */

/* ---- building blocks of the builders ---- */

sf_status sf_expr_make_call(sf_arena *arena, const sf_function *function,
                            const sf_expr *const *args, uint32_t arg_count, sf_type type,
                            sf_span span, const sf_expr **out, sf_error *err);
/* Implicit conversion; the types must allow it. */
sf_status sf_expr_convert(sf_arena *arena, const sf_expr *arg, sf_type type, const sf_expr **out,
                          sf_error *err);
/* Converts without a statement's say: a bare NULL to anything, Long to Double. */
bool sf_expr_converts(const sf_expr *arg, sf_type type);

#define F(name, args, result, flags, kernel) sf_kernel sf_fn_##kernel;
#include "expr/functions.def"

#endif

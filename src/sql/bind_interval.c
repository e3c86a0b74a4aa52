/* bind_interval.c: intervals. One of fixed length is its milliseconds, a Long. Months have no
 * length: an interval with months can only move a time, by the calendar, months first. */
#include "sql/bind.h"

typedef struct {
    int64_t ms, months;
} span_of_time;

/* Intervals, and what - + and * by a whole number make of them. False: it is something else. */
static bool constant_interval(const sf_sql_expr *ast, span_of_time *out)
{
    span_of_time right = {0, 0};
    if (ast->kind == SF_EX_INTERVAL) {
        *out = (span_of_time){ast->interval.ms, ast->interval.months};
        return true;
    }
    if (ast->kind != SF_EX_OP)
        return false;
    sf_sql_expr *const *args = ast->args.items;
    switch (ast->op) {
    case SF_OP_NEGATE:
        return constant_interval(args[0], &right) &&
               !__builtin_sub_overflow(INT64_C(0), right.ms, &out->ms) &&
               !__builtin_sub_overflow(INT64_C(0), right.months, &out->months);
    case SF_OP_ADD:
        return constant_interval(args[0], out) && constant_interval(args[1], &right) &&
               sf_add_i64(out->ms, right.ms, &out->ms) &&
               sf_add_i64(out->months, right.months, &out->months);
    case SF_OP_SUBTRACT:
        return constant_interval(args[0], out) && constant_interval(args[1], &right) &&
               !__builtin_sub_overflow(out->ms, right.ms, &out->ms) &&
               !__builtin_sub_overflow(out->months, right.months, &out->months);
    case SF_OP_MULTIPLY: {
        bool first = args[0]->kind == SF_EX_LONG;
        const sf_sql_expr *factor = args[first ? 0 : 1];
        return factor->kind == SF_EX_LONG && constant_interval(args[first ? 1 : 0], out) &&
               !__builtin_mul_overflow(out->ms, factor->integer, &out->ms) &&
               !__builtin_mul_overflow(out->months, factor->integer, &out->months);
    }
    default: return false;
    }
}

sf_status sf_sqlb_interval(sf_sqlb *b, const sf_sql_expr *ast, const sf_expr **out)
{
    if (ast->interval.months)
        return sf_sqlb_fail(b, SF_INVALID, ast->span,
                            "add it to a time or subtract it from one; or write it in days, as "
                            "INTERVAL '30' DAY",
                            "an interval of months has no fixed length");
    sf_literal value = {.as.i64 = ast->interval.ms};
    return sf_expr_literal(b->arena, SF_TYPE_I64, &value, ast->span, out, b->err);
}

static sf_status shift(sf_sqlb *b, const char *function, const sf_expr *time, int64_t by,
                       sf_span span, const sf_expr **out)
{
    const sf_expr *args[2] = {time, NULL};
    sf_literal value = {.as.i64 = by};
    SF_TRY(sf_expr_literal(b->arena, SF_TYPE_I64, &value, span, &args[1], b->err));
    return sf_expr_call(b->arena, sf_str_of(function), args, 2, span, out, b->err);
}

/* time + interval, interval + time, time - interval, the interval with months. */
sf_status sf_sqlb_calendar(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                           const sf_expr **out)
{
    span_of_time by = {0, 0};
    *out = NULL;
    if (ast->op != SF_OP_ADD && ast->op != SF_OP_SUBTRACT)
        return SF_OK;
    const sf_sql_expr *time = ast->args.items[0];
    if (!constant_interval(ast->args.items[1], &by)) {
        time = ast->args.items[1];
        if (ast->op == SF_OP_SUBTRACT || !constant_interval(ast->args.items[0], &by))
            return SF_OK;
    }
    span_of_time both;
    if (by.months == 0 || constant_interval(time, &both))
        return SF_OK;
    const sf_expr *moved;
    bool back = ast->op == SF_OP_SUBTRACT;
    SF_TRY(sf_sqlb_expr(b, scope, time, &moved));
    SF_TRY(shift(b, "ADD_MONTHS", moved, back ? -by.months : by.months, ast->op_span, &moved));
    *out = moved;
    return by.ms ? shift(b, back ? "-" : "+", moved, by.ms, ast->op_span, out) : SF_OK;
}

/* The table of aggregates, and resolving a call of one. */
#include "expr/aggregate.h"

#include "expr/kernel.h"

typedef enum { ANY, APPEND, DISTINCT } when_used;

typedef struct {
    const char *name;
    char arg, result; /* letters; arg 0: none, o: anything that has an order */
    when_used when;
    sf_aggregate form; /* types and name are filled in a copy */
} form;

static const form forms[] = {
#define INLINE(name, arg, result, when, words, updater, finisher)                                  \
    {name,                                                                                         \
     arg,                                                                                          \
     result,                                                                                       \
     when,                                                                                         \
     {.kind = SF_AGG_INLINE,                                                                       \
      .state_bytes = 8 * (words),                                                                  \
      .update = sf_agg_update_##updater,                                                           \
      .finish = sf_agg_finish_##finisher}},
#define VALUES(name, arg, result, when, op)                                                        \
    {name, arg, result, when, {.kind = SF_AGG_VALUES, .values_op = SF_VALUES_##op}},
#include "expr/aggregates.def"
};

bool sf_is_aggregate_name(sf_str name)
{
    for (size_t i = 0; i < SF_COUNT_OF(forms); i++)
        if (sf_str_eq_nocase(name, sf_str_of(forms[i].name)))
            return true;
    return false;
}

static bool has_order(sf_type type)
{
    return sf_type_comparable(type, type);
}

static bool takes(const form *candidate, const sf_expr *arg, bool distinct, bool append_only)
{
    if ((candidate->when == DISTINCT && !distinct) || (candidate->when == APPEND && !append_only))
        return false;
    sf_type type;
    if (candidate->arg == 0 || !arg)
        return candidate->arg == 0 && !arg;
    if (candidate->arg == 'a')
        return true;
    if (candidate->arg == 'o')
        return has_order(arg->type);
    return sf_type_of_letter(candidate->arg, &type) && sf_expr_converts(arg, type);
}

static sf_status wrong_argument(const char *name, const sf_expr *arg, sf_span span, sf_error *err)
{
    sf_fail_at(err, SF_INVALID, span, "%s cannot take %s", name, sf_type_name(arg->type));
    if (arg->type == SF_TYPE_JSON)
        sf_error_hint(err, "take the value out of Json: ->> gives text, TO_DOUBLE(... -> 'key') a "
                           "number");
    else if (arg->type == SF_TYPE_BOOL)
        sf_error_hint(err, "count with SUM(IF(condition, 1, 0))");
    else if (arg->type == SF_TYPE_TIMESTAMP)
        sf_error_hint(err, "use its milliseconds: TO_LONG(...)");
    else
        sf_error_hint(err, "convert it first");
    return SF_INVALID;
}

static sf_status wrong_count(const char *name, uint32_t wanted, bool star, uint32_t count,
                             sf_span span, sf_error *err)
{
    if (star)
        sf_fail_at(err, SF_INVALID, span, "%s cannot take *", name);
    else
        sf_fail_at(err, SF_INVALID, span, "%s takes %u argument%s, not %u", name, wanted,
                   wanted == 1 ? "" : "s", count);
    sf_error_hint(err, "write %s", sf_function_documented(sf_str_of(name))->signature);
    return SF_INVALID;
}

/* The share of PERCENTILE_CONT: a constant, since it belongs to the whole group. */
static sf_status take_share(const sf_expr *arg, double *out, sf_error *err)
{
    bool number = arg->type == SF_TYPE_F64 || arg->type == SF_TYPE_I64;
    bool constant = arg->kind == SF_EXPR_LITERAL && !arg->literal.is_null && number;
    *out = !constant                  ? -1
           : arg->type == SF_TYPE_I64 ? (double)arg->literal.as.i64
                                      : arg->literal.as.f64;
    if (*out >= 0 && *out <= 1)
        return SF_OK;
    sf_fail_at(err, SF_INVALID, arg->span,
               "first argument of PERCENTILE_CONT is no constant from "
               "0 to 1");
    sf_error_hint(err, "write PERCENTILE_CONT(0.95, x)");
    return SF_INVALID;
}

/* What numeric aggregates take of text and Json. */
static sf_status numeric_argument(sf_arena *arena, bool numeric, const sf_expr **arg,
                                  sf_agg_call *call, sf_error *err)
{
    if (!numeric || (*arg)->untyped)
        return SF_OK;
    if ((*arg)->type == SF_TYPE_JSON)
        return sf_expr_make_call(arena, sf_function_get("json number", "j"), arg, 1, SF_TYPE_F64,
                                 (*arg)->span, arg, err);
    if ((*arg)->type != SF_TYPE_UTF8)
        return SF_OK;
    call->warning = "text adds nothing to this aggregate: take the number with -> instead of ->>, "
                    "or convert it with TO_DOUBLE";
    sf_literal null = {.is_null = true};
    const sf_expr *nothing;
    SF_TRY(sf_expr_literal(arena, SF_TYPE_F64, &null, (*arg)->span, &nothing, err));
    return sf_expr_convert(arena, nothing, SF_TYPE_F64, arg, err);
}

static sf_status fill(sf_arena *arena, const form *chosen, const sf_expr *arg, sf_agg_call *out,
                      sf_error *err)
{
    sf_aggregate *aggregate = SF_ARENA_NEW(arena, sf_aggregate);
    if (!aggregate)
        return sf_fail_memory(err);
    *aggregate = chosen->form;
    aggregate->name = chosen->name;
    if (arg) {
        sf_type type = arg->type;
        sf_type_of_letter(chosen->arg, &type);
        SF_TRY(sf_expr_convert(arena, arg, type, &arg, err));
        if (aggregate->kind == SF_AGG_VALUES && aggregate->values_op == SF_VALUES_COUNT_DISTINCT)
            SF_TRY(sf_expr_key(arena, arg, &arg, err));
        aggregate->arg_type = type;
    }
    aggregate->result_type = aggregate->arg_type;
    sf_type_of_letter(chosen->result, &aggregate->result_type);
    out->aggregate = aggregate;
    out->arg = arg;
    return SF_OK;
}

/* A word more matters to sums and means; the others give the same over each value once. */
static bool distinct_matters(const char *name, const sf_aggregate *aggregate)
{
    if (aggregate->kind == SF_AGG_VALUES)
        return aggregate->values_op == SF_VALUES_PERCENTILE;
    return strcmp(name, "MIN") != 0 && strcmp(name, "MAX") != 0 && strncmp(name, "BOOL", 4) != 0;
}

sf_status sf_aggregate_bind(sf_arena *arena, sf_str name, const sf_expr *const *args,
                            uint32_t arg_count, bool star, bool distinct, bool append_only,
                            sf_span span, sf_agg_call *out, sf_error *err)
{
    const form *first = NULL, *last = forms + SF_COUNT_OF(forms);
    for (const form *f = forms; f < last && !first; f++)
        if (sf_str_eq_nocase(name, sf_str_of(f->name)))
            first = f;
    if (!first)
        return sf_fail_at(err, SF_NOT_FOUND, span, "aggregate \"%.*s\" does not exist",
                          name.len > 64 ? 64 : (int)name.len, name.data);
    *out = (sf_agg_call){.span = span};
    bool share = strcmp(first->name, "PERCENTILE_CONT") == 0;
    bool count = strcmp(first->name, "COUNT") == 0;
    uint32_t wanted = share ? 2 : 1;
    if ((star && (!count || distinct)) || (!star && arg_count != wanted))
        return wrong_count(first->name, wanted, star, arg_count, span, err);
    const sf_expr *arg = star ? NULL : args[wanted - 1];
    if (share)
        SF_TRY(take_share(args[0], &out->parameter, err));
    else if (strcmp(first->name, "MEDIAN") == 0)
        out->parameter = 0.5;
    bool ordered = strcmp(first->name, "MIN") == 0 || strcmp(first->name, "MAX") == 0;
    bool boolean = strncmp(first->name, "BOOL", 4) == 0;
    if (arg)
        SF_TRY(numeric_argument(arena, !count && !ordered && !boolean, &arg, out, err));
    const form *chosen = NULL;
    for (const form *f = first; f < last && strcmp(f->name, first->name) == 0 && !chosen; f++)
        if (takes(f, arg, distinct, append_only))
            chosen = f;
    SF_ASSERT(chosen || arg); /* COUNT(*) has its form */
    if (!chosen)
        return wrong_argument(first->name, arg, arg->span, err);
    SF_TRY(fill(arena, chosen, arg, out, err));
    out->distinct = distinct && distinct_matters(first->name, out->aggregate);
    return SF_OK;
}

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

/* What the arguments mean. */
typedef enum {
    SHAPE_COUNT,          /* star or x */
    SHAPE_DISTINCT,       /* x */
    SHAPE_NUMBER,         /* x; text adds nothing */
    SHAPE_ORDERED,        /* x */
    SHAPE_BOOLEAN,        /* x */
    SHAPE_VALUE,          /* x */
    SHAPE_PAIR,           /* y, x */
    SHAPE_MIDDLE,         /* x */
    SHAPE_SHARE,          /* p, x, or p WITHIN GROUP (ORDER BY x) */
    SHAPE_SHARE_OF_ORDER, /* the same */
    SHAPE_MOST,           /* x, or nothing WITHIN GROUP (ORDER BY x) */
    SHAPE_BY_TIME,        /* x */
    SHAPE_BY_VALUE,       /* x, y */
    SHAPE_TEXT,           /* x [, between] */
    SHAPE_LIST,           /* x */
} shape;

static const struct {
    const char *name;
    shape shape;
} named[] = {
#define AGG(name, shape, signature, text, example, result) {name, SHAPE_##shape},
#include "expr/aggregates.def"
};

bool sf_is_aggregate_name(sf_str name)
{
    for (size_t i = 0; i < SF_COUNT_OF(named); i++)
        if (sf_str_eq_nocase(name, sf_str_of(named[i].name)))
            return true;
    return false;
}

bool sf_aggregate_needs_time(sf_str name)
{
    for (size_t i = 0; i < SF_COUNT_OF(named); i++)
        if (sf_str_eq_nocase(name, sf_str_of(named[i].name)))
            return named[i].shape == SHAPE_BY_TIME;
    return false;
}

/* ---- a call being resolved ---- */

typedef struct {
    sf_arena *arena;
    const sf_agg_spec *spec;
    const char *name;
    shape shape;
    const sf_expr *arg;    /* NULL: COUNT(*) */
    const sf_expr *second; /* of PAIR */
    const sf_agg_order *order;
    uint32_t order_count;
    sf_agg_call *out;
    sf_error *err;
} binding;

static sf_status wrong_argument(const binding *b)
{
    const sf_expr *arg = b->arg;
    sf_fail_at(b->err, SF_INVALID, arg->span, "%s cannot take %s", b->name,
               sf_type_name(arg->type));
    if (arg->type == SF_TYPE_JSON)
        sf_error_hint(b->err,
                      "take the value out of Json: ->> gives text, TO_DOUBLE(... -> 'key') a "
                      "number");
    else if (arg->type == SF_TYPE_BOOL)
        sf_error_hint(b->err, "count with SUM(IF(condition, 1, 0))");
    else if (arg->type == SF_TYPE_TIMESTAMP)
        sf_error_hint(b->err, "use its milliseconds: TO_LONG(...)");
    else
        sf_error_hint(b->err, "convert it first");
    return SF_INVALID;
}

static sf_status wrong_count(const binding *b, uint32_t least, uint32_t most)
{
    const sf_agg_spec *spec = b->spec;
    if (spec->star)
        sf_fail_at(b->err, SF_INVALID, spec->span, "%s cannot take *", b->name);
    else if (least == most)
        sf_fail_at(b->err, SF_INVALID, spec->span, "%s takes %u argument%s, not %u", b->name, least,
                   least == 1 ? "" : "s", spec->arg_count);
    else
        sf_fail_at(b->err, SF_INVALID, spec->span, "%s takes %u to %u arguments, not %u", b->name,
                   least, most, spec->arg_count);
    sf_error_hint(b->err, "write %s", sf_function_documented(sf_str_of(b->name))->signature);
    return SF_INVALID;
}

static sf_status need(const binding *b, uint32_t least, uint32_t most)
{
    bool enough = b->spec->arg_count >= least && b->spec->arg_count <= most;
    return enough && !b->spec->star ? SF_OK : wrong_count(b, least, most);
}

/* ---- arguments by shape ---- */

/* The share of a percentile: a constant, since it belongs to the whole group. */
static sf_status take_share(const binding *b, const sf_expr *arg)
{
    bool number = arg->type == SF_TYPE_F64 || arg->type == SF_TYPE_I64;
    bool constant = arg->kind == SF_EXPR_LITERAL && !arg->literal.is_null && number;
    double share = !constant                  ? -1
                   : arg->type == SF_TYPE_I64 ? (double)arg->literal.as.i64
                                              : arg->literal.as.f64;
    b->out->parameter = share;
    if (share >= 0 && share <= 1)
        return SF_OK;
    sf_fail_at(b->err, SF_INVALID, arg->span, "first argument of %s is no constant from 0 to 1",
               b->name);
    sf_error_hint(b->err, "write %s(0.95, x)", b->name);
    return SF_INVALID;
}

static sf_status ordered_set(binding *b, uint32_t direct)
{
    const sf_agg_spec *spec = b->spec;
    if (!spec->within_group) {
        SF_TRY(need(b, direct + 1, direct + 1));
        b->arg = spec->args[direct];
        return SF_OK;
    }
    SF_TRY(need(b, direct, direct));
    if (spec->order_count != 1) {
        sf_fail_at(b->err, SF_INVALID, spec->span, "%s is taken over one value, not %u", b->name,
                   spec->order_count);
        sf_error_hint(b->err, "write WITHIN GROUP (ORDER BY x)");
        return SF_INVALID;
    }
    b->arg = spec->order[0].expr;
    b->order = spec->order;
    b->order_count = 1;
    return SF_OK;
}

static sf_status take_between(binding *b)
{
    b->out->separator = SF_STR(",");
    if (b->spec->arg_count < 2)
        return SF_OK;
    const sf_expr *arg = b->spec->args[1];
    if (arg->kind == SF_EXPR_LITERAL && (arg->literal.is_null || arg->type == SF_TYPE_UTF8)) {
        b->out->separator = arg->literal.is_null ? SF_STR("") : arg->literal.as.str;
        return SF_OK;
    }
    sf_fail_at(b->err, SF_INVALID, arg->span, "what %s puts between the values is no constant text",
               b->name);
    sf_error_hint(b->err, "write %s(x, ', ')", b->name);
    return SF_INVALID;
}

/* The order of FIRST and LAST, ARG_MIN and ARG_MAX: one of their own. */
static sf_status order_by(binding *b, const sf_expr *by, bool descending)
{
    sf_agg_order *order = SF_ARENA_NEW(b->arena, sf_agg_order);
    if (!order)
        return sf_fail_memory(b->err);
    *order = (sf_agg_order){by, descending, descending};
    b->order = order;
    b->order_count = 1;
    return SF_OK;
}

/* LAST is FIRST with everything turned round. */
static sf_status turn_round(binding *b)
{
    const sf_agg_spec *spec = b->spec;
    sf_agg_order *order = SF_ARENA_ARRAY(b->arena, sf_agg_order, spec->order_count + 1u);
    if (!order)
        return sf_fail_memory(b->err);
    for (uint32_t i = 0; i < spec->order_count; i++)
        order[i] = (sf_agg_order){spec->order[i].expr, !spec->order[i].descending,
                                  !spec->order[i].nulls_first};
    b->order = order;
    b->order_count = spec->order_count;
    return SF_OK;
}

static sf_status by_time(binding *b)
{
    bool last = strcmp(b->name, "LAST") == 0;
    SF_TRY(need(b, 1, 1));
    b->arg = b->spec->args[0];
    b->order = b->spec->order;
    b->order_count = b->spec->order_count;
    if (b->order_count)
        return last ? turn_round(b) : SF_OK;
    if (b->spec->time)
        return order_by(b, b->spec->time, last);
    sf_fail_at(b->err, SF_INVALID, b->spec->span, "%s has no time to go by here", b->name);
    sf_error_hint(b->err, "write %s(x ORDER BY y)", b->name);
    return SF_INVALID;
}

/* x where y is not NULL, in order of y. */
static sf_status by_value(binding *b)
{
    SF_TRY(need(b, 2, 2));
    const sf_expr *y = b->spec->args[1], *parts[3] = {NULL, b->spec->args[0], NULL};
    sf_literal null = {.is_null = true};
    SF_TRY(sf_expr_call(b->arena, SF_STR("is not null"), &y, 1, y->span, &parts[0], b->err));
    SF_TRY(sf_expr_literal(b->arena, SF_TYPE_UTF8, &null, y->span, &parts[2], b->err));
    SF_TRY(sf_expr_case(b->arena, parts, 3, b->spec->args[0]->span, &b->arg, b->err));
    if (!y->untyped && !sf_type_comparable(y->type, y->type)) {
        sf_fail_at(b->err, SF_INVALID, y->span, "%s cannot order by %s", b->name,
                   sf_type_name(y->type));
        sf_error_hint(b->err, "take the value out of Json: ->> gives text, TO_DOUBLE(... -> "
                              "'key') a number");
        return SF_INVALID;
    }
    bool most = strcmp(b->name, "ARG_MAX") == 0 || strcmp(b->name, "MAX_BY") == 0;
    return order_by(b, y, most);
}

/* What numeric aggregates take of text and Json. */
static sf_status number(binding *b, const sf_expr **arg)
{
    if ((*arg)->untyped)
        return SF_OK;
    if ((*arg)->type == SF_TYPE_JSON)
        return sf_expr_make_call(b->arena, sf_function_get("json number", "j"), arg, 1, SF_TYPE_F64,
                                 (*arg)->span, arg, b->err);
    if ((*arg)->type != SF_TYPE_UTF8)
        return SF_OK;
    b->out->warning = "text adds nothing to this aggregate: take the number with -> instead of "
                      "->>, or convert it with TO_DOUBLE";
    sf_literal null = {.is_null = true};
    const sf_expr *nothing;
    SF_TRY(sf_expr_literal(b->arena, SF_TYPE_F64, &null, (*arg)->span, &nothing, b->err));
    return sf_expr_convert(b->arena, nothing, SF_TYPE_F64, arg, b->err);
}

static sf_status list(binding *b, uint32_t most)
{
    SF_TRY(need(b, 1, most));
    b->arg = b->spec->args[0];
    b->order = b->spec->order;
    b->order_count = b->spec->order_count;
    if (b->shape == SHAPE_LIST)
        return b->order_count ? SF_OK : order_by(b, b->arg, false); /* NULLs last */
    SF_TRY(take_between(b));
    return b->arg->untyped
               ? SF_OK
               : sf_expr_cast(b->arena, b->arg, SF_TYPE_UTF8, b->arg->span, &b->arg, b->err);
}

static sf_status pair(binding *b)
{
    SF_TRY(need(b, 2, 2));
    b->arg = b->spec->args[1];
    SF_TRY(number(b, &b->arg));
    if (!sf_expr_converts(b->arg, SF_TYPE_F64))
        return wrong_argument(b);
    SF_TRY(sf_expr_convert(b->arena, b->arg, SF_TYPE_F64, &b->second, b->err));
    b->arg = b->spec->args[0];
    if (b->spec->distinct) {
        sf_fail_at(b->err, SF_INVALID, b->spec->span, "%s does not take DISTINCT", b->name);
        sf_error_hint(b->err, "select the distinct pairs in a subquery");
        return SF_INVALID;
    }
    return number(b, &b->arg);
}

static sf_status check_within_group(const binding *b)
{
    switch (b->shape) {
    case SHAPE_SHARE:
    case SHAPE_SHARE_OF_ORDER:
    case SHAPE_MOST:
    case SHAPE_TEXT:
    case SHAPE_LIST: return SF_OK;
    default: break;
    }
    if (!b->spec->within_group)
        return SF_OK;
    sf_fail_at(b->err, SF_INVALID, b->spec->span, "%s is not taken WITHIN GROUP", b->name);
    sf_error_hint(b->err, "write %s", sf_function_documented(sf_str_of(b->name))->signature);
    return SF_INVALID;
}

static sf_status take_arguments(binding *b)
{
    const sf_agg_spec *spec = b->spec;
    SF_TRY(check_within_group(b));
    switch (b->shape) {
    case SHAPE_COUNT:
        if (!spec->star || spec->distinct)
            SF_TRY(need(b, 1, 1));
        b->arg = spec->star ? NULL : spec->args[0];
        return SF_OK;
    case SHAPE_PAIR: return pair(b);
    case SHAPE_MIDDLE: b->out->parameter = 0.5; break;
    case SHAPE_SHARE:
    case SHAPE_SHARE_OF_ORDER:
        SF_TRY(ordered_set(b, 1));
        SF_TRY(take_share(b, spec->args[0]));
        return b->shape == SHAPE_SHARE ? number(b, &b->arg) : SF_OK;
    case SHAPE_MOST: return ordered_set(b, 0);
    case SHAPE_BY_TIME: return by_time(b);
    case SHAPE_BY_VALUE: return by_value(b);
    case SHAPE_TEXT: return list(b, 2);
    case SHAPE_LIST: return list(b, 1);
    default: break;
    }
    SF_TRY(need(b, 1, 1));
    b->arg = spec->args[0];
    return b->shape == SHAPE_NUMBER || b->shape == SHAPE_MIDDLE ? number(b, &b->arg) : SF_OK;
}

/* ---- the form ---- */

static bool takes(const form *candidate, const sf_expr *arg, const sf_agg_spec *spec)
{
    if ((candidate->when == DISTINCT && !spec->distinct) ||
        (candidate->when == APPEND && !spec->append_only))
        return false;
    sf_type type;
    if (candidate->arg == 0 || !arg)
        return candidate->arg == 0 && !arg;
    if (candidate->arg == 'a')
        return true;
    if (candidate->arg == 'o')
        return sf_type_comparable(arg->type, arg->type);
    return sf_type_of_letter(candidate->arg, &type) && sf_expr_converts(arg, type);
}

static const form *choose(const binding *b)
{
    for (size_t i = 0; i < SF_COUNT_OF(forms); i++)
        if (strcmp(forms[i].name, b->name) == 0 && takes(&forms[i], b->arg, b->spec))
            return &forms[i];
    return NULL;
}

/* FILTER: the argument is NULL where the condition is not true, a counted row true. */
static sf_status apply_filter(binding *b)
{
    const sf_expr *filter = b->spec->filter, *parts[3] = {filter, b->arg, NULL};
    sf_literal yes = {.as.boolean = true}, none = {.is_null = true};
    if (b->shape == SHAPE_LIST) {
        b->out->filter = filter;
        return SF_OK;
    }
    if (!b->arg)
        SF_TRY(sf_expr_literal(b->arena, SF_TYPE_BOOL, &yes, filter->span, &parts[1], b->err));
    SF_TRY(sf_expr_literal(b->arena, SF_TYPE_UTF8, &none, filter->span, &parts[2], b->err));
    return sf_expr_case(b->arena, parts, 3, filter->span, &b->arg, b->err);
}

/* A word more matters to sums, means and lists; the others give the same over each value once. */
static bool distinct_matters(const binding *b, const sf_aggregate *aggregate)
{
    if (aggregate->kind == SF_AGG_INLINE)
        return b->shape != SHAPE_ORDERED && b->shape != SHAPE_BOOLEAN;
    switch (aggregate->values_op) {
    case SF_VALUES_PERCENTILE:
    case SF_VALUES_PERCENTILE_DISC:
    case SF_VALUES_MODE:
    case SF_VALUES_TEXT:
    case SF_VALUES_JSON: return true;
    default: return false;
    }
}

/* Each value once has no place for an order by something else. */
static sf_status check_distinct_order(const binding *b)
{
    for (uint32_t i = 0; b->out->distinct && i < b->order_count; i++) {
        if (sf_expr_equal(b->order[i].expr, b->spec->args[0]))
            continue;
        sf_fail_at(b->err, SF_INVALID, b->order[i].expr->span,
                   "%s(DISTINCT x) can only be ordered by x", b->name);
        sf_error_hint(b->err, "leave DISTINCT or this ORDER BY out");
        return SF_INVALID;
    }
    return SF_OK;
}

/* ---- columns ---- */

static void add_column(sf_agg_column *columns, uint32_t *count, const sf_expr *expr,
                       bool descending)
{
    columns[(*count)++] = (sf_agg_column){expr, descending};
}

/* The order, then the argument where it is not part of that. The multiset has NULLs first, last when
 * descending; where they belong elsewhere, a column before says which are NULL. */
static sf_status list_columns(binding *b, const sf_expr *value)
{
    sf_agg_call *out = b->out;
    sf_agg_column *columns = SF_ARENA_ARRAY(b->arena, sf_agg_column, 2 * b->order_count + 2u);
    if (!columns)
        return sf_fail_memory(b->err);
    uint32_t count = 0;
    bool found = false;
    for (uint32_t i = 0; i < b->order_count; i++) {
        const sf_agg_order *by = &b->order[i];
        const sf_expr *key, *is_null;
        SF_TRY(sf_expr_key(b->arena, by->expr, &key, b->err));
        bool same = sf_expr_equal(key, value);
        if (by->nulls_first == by->descending && !(same && !out->keeps_nulls)) {
            SF_TRY(sf_expr_call(b->arena, SF_STR("is null"), &by->expr, 1, by->expr->span, &is_null,
                                b->err));
            add_column(columns, &count, is_null, by->descending);
        }
        if (same && !found)
            out->value = count;
        found |= same;
        add_column(columns, &count, key, by->descending);
    }
    if (!found) {
        out->value = count;
        add_column(columns, &count, value, strcmp(b->name, "LAST") == 0);
    }
    if (b->second)
        add_column(columns, &count, b->second, false);
    out->columns = columns;
    out->column_count = count;
    return SF_OK;
}

static sf_status fill(binding *b, const form *chosen)
{
    sf_agg_call *out = b->out;
    sf_aggregate *aggregate = SF_ARENA_NEW(b->arena, sf_aggregate);
    if (!aggregate)
        return sf_fail_memory(b->err);
    *aggregate = chosen->form;
    aggregate->name = chosen->name;
    out->aggregate = aggregate;
    out->keeps_nulls = b->shape == SHAPE_LIST;
    out->distinct = b->spec->distinct && distinct_matters(b, aggregate);
    SF_TRY(check_distinct_order(b));
    if (b->arg) {
        const sf_expr *arg = b->arg;
        sf_type type = arg->type;
        sf_type_of_letter(chosen->arg, &type);
        SF_TRY(sf_expr_convert(b->arena, arg, type, &arg, b->err));
        bool multiset = aggregate->kind == SF_AGG_VALUES || out->distinct;
        if (multiset && (type == SF_TYPE_F64 || out->distinct || b->shape == SHAPE_COUNT ||
                         b->shape == SHAPE_DISTINCT))
            SF_TRY(sf_expr_key(b->arena, arg, &arg, b->err));
        aggregate->arg_type = type;
        SF_TRY(list_columns(b, arg));
    }
    aggregate->result_type = aggregate->arg_type;
    sf_type_of_letter(chosen->result, &aggregate->result_type);
    return SF_OK;
}

sf_status sf_aggregate_bind(sf_arena *arena, const sf_agg_spec *spec, sf_agg_call *out,
                            sf_error *err)
{
    binding b = {.arena = arena, .spec = spec, .out = out, .err = err};
    for (size_t i = 0; i < SF_COUNT_OF(named) && !b.name; i++) {
        if (sf_str_eq_nocase(spec->name, sf_str_of(named[i].name))) {
            b.name = named[i].name;
            b.shape = named[i].shape;
        }
    }
    if (!b.name)
        return sf_fail_at(err, SF_NOT_FOUND, spec->span, "aggregate \"%.*s\" does not exist",
                          spec->name.len > 64 ? 64 : (int)spec->name.len, spec->name.data);
    *out = (sf_agg_call){.span = spec->span, .append_only = spec->append_only};
    SF_TRY(take_arguments(&b));
    if (spec->filter)
        SF_TRY(apply_filter(&b));
    const form *chosen = choose(&b);
    SF_ASSERT(chosen || b.arg); /* COUNT(*) has its form */
    if (!chosen)
        return wrong_argument(&b);
    return fill(&b, chosen);
}

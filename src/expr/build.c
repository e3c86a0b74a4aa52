/* Builders: typed nodes, implicit conversions, constant folding. Calls by name are in resolve.c. */
#include "expr/kernel.h"

static sf_status new_node(sf_arena *arena, sf_expr_kind kind, sf_type type, sf_span span,
                          const sf_expr *const *args, uint32_t arg_count, sf_expr **out,
                          sf_error *err)
{
    sf_expr *node = SF_ARENA_NEW(arena, sf_expr);
    if (!node)
        return sf_fail_memory(err);
    *node = (sf_expr){.kind = kind, .type = type, .span = span, .depth = 1, .arg_count = arg_count};
    if (arg_count) {
        node->args = SF_ARENA_ARRAY(arena, const sf_expr *, arg_count);
        if (!node->args)
            return sf_fail_memory(err);
    }
    for (uint32_t i = 0; i < arg_count; i++) {
        node->args[i] = args[i];
        if (args[i]->depth >= node->depth)
            node->depth = (uint16_t)(args[i]->depth + 1);
    }
    if (node->depth > SF_EXPR_DEPTH_MAX) {
        sf_fail_at(err, SF_LIMIT, span, "expression nests deeper than %d operations",
                   SF_EXPR_DEPTH_MAX);
        sf_error_hint(err, "name a part of it in WITH or a derived table");
        return SF_LIMIT;
    }
    *out = node;
    return SF_OK;
}

sf_status sf_expr_column(sf_arena *arena, uint32_t column, sf_type type, sf_span span,
                         const sf_expr **out, sf_error *err)
{
    sf_expr *node = NULL;
    SF_TRY(new_node(arena, SF_EXPR_COLUMN, type, span, NULL, 0, &node, err));
    node->column = column;
    *out = node;
    return SF_OK;
}

static sf_status make_literal(sf_arena *arena, sf_type type, const sf_literal *value, sf_span span,
                              sf_expr **out, sf_error *err)
{
    sf_expr *node = NULL;
    SF_TRY(new_node(arena, SF_EXPR_LITERAL, type, span, NULL, 0, &node, err));
    node->literal = *value;
    if (sf_type_is_view(type)) {
        sf_str text = value->is_null ? (sf_str){"", 0} : value->as.str;
        char *copy = sf_arena_strndup(arena, text.len ? text.data : "", text.len);
        if (!copy)
            return sf_fail_memory(err);
        node->literal.as.str = (sf_str){copy, text.len};
    } else if (value->is_null) {
        node->literal.as.str = (sf_str){NULL, 0};
    }
    *out = node;
    return SF_OK;
}

sf_status sf_expr_literal(sf_arena *arena, sf_type type, const sf_literal *value, sf_span span,
                          const sf_expr **out, sf_error *err)
{
    sf_expr *node = NULL;
    SF_TRY(make_literal(arena, type, value, span, &node, err));
    node->untyped = value->is_null;
    *out = node;
    return SF_OK;
}

static sf_status null_of(sf_arena *arena, sf_type type, sf_span span, const sf_expr **out,
                         sf_error *err)
{
    sf_expr *node = NULL;
    SF_TRY(make_literal(arena, type, &(sf_literal){.is_null = true}, span, &node, err));
    *out = node;
    return SF_OK;
}

static bool is_null_literal(const sf_expr *expr)
{
    return expr->kind == SF_EXPR_LITERAL && expr->literal.is_null;
}
static bool is_bool_literal(const sf_expr *expr, bool value)
{
    return expr->kind == SF_EXPR_LITERAL && !expr->literal.is_null &&
           expr->literal.as.boolean == value;
}

const char *sf_expr_function(const sf_expr *expr)
{
    SF_ASSERT(expr->kind == SF_EXPR_CALL);
    return expr->function->name;
}

bool sf_expr_is_constant(const sf_expr *expr)
{
    return expr->kind == SF_EXPR_LITERAL;
}

bool sf_expr_is_call_of(const sf_expr *expr, const char *name)
{
    return expr->kind == SF_EXPR_CALL && strcmp(expr->function->name, name) == 0;
}

/* ---- folding ---- */

static bool foldable(const sf_expr *expr)
{
    if (expr->kind == SF_EXPR_COLUMN || expr->kind == SF_EXPR_LITERAL ||
        (expr->function && expr->function->flags & SF_FN_VOLATILE))
        return false;
    for (uint32_t i = 0; i < expr->arg_count; i++)
        if (expr->args[i]->kind != SF_EXPR_LITERAL)
            return false;
    return true;
}

static sf_literal lane_literal(const sf_column *column)
{
    sf_literal value = {.is_null = !sf_column_is_valid(column, 0)};
    if (value.is_null)
        return value;
    switch (column->type) {
    case SF_TYPE_BOOL: value.as.boolean = SF_LANES(column, uint8_t)[0]; break;
    case SF_TYPE_F64: value.as.f64 = SF_LANES(column, double)[0]; break;
    case SF_TYPE_I64:
    case SF_TYPE_TIMESTAMP: value.as.i64 = SF_LANES(column, int64_t)[0]; break;
    default: value.as.str = sf_column_str(column, 0); break;
    }
    return value;
}

/* A constant tree becomes its value; one that fails stays, so that every row counts its error. */
static sf_status fold(sf_arena *arena, const sf_expr *expr, const sf_expr **out, sf_error *err)
{
    *out = expr;
    if (!foldable(expr))
        return SF_OK;
    sf_eval eval;
    sf_eval_init(&eval);
    sf_column *column = NULL;
    sf_status status = sf_eval_column(&eval, expr, NULL, sf_sel_all(1), &column, err);
    uint64_t failed = 0;
    for (size_t i = 0; i < SF_EVAL_ERROR_COUNT; i++)
        failed += eval.error_counts[i];
    if (status == SF_OK && !failed) {
        sf_expr *literal = NULL;
        sf_literal value = lane_literal(column);
        status = make_literal(arena, expr->type, &value, expr->span, &literal, err);
        if (status == SF_OK)
            *out = literal;
    }
    sf_column_unref(column);
    sf_eval_deinit(&eval);
    return status;
}

sf_status sf_expr_make_call(sf_arena *arena, const sf_function *function,
                            const sf_expr *const *args, uint32_t arg_count, sf_type type,
                            sf_span span, const sf_expr **out, sf_error *err)
{
    if (!(function->flags & SF_FN_OWN_NULLS)) {
        for (uint32_t i = 0; i < arg_count; i++)
            if (is_null_literal(args[i]))
                return null_of(arena, type, span, out, err);
    }
    sf_expr *node = NULL;
    SF_TRY(new_node(arena, SF_EXPR_CALL, type, span, args, arg_count, &node, err));
    node->function = function;
    return fold(arena, node, out, err);
}

/* ---- conversions ---- */

bool sf_type_unify(sf_type a, sf_type b, sf_type *out)
{
    bool numbers = (a == SF_TYPE_I64 || a == SF_TYPE_F64) && (b == SF_TYPE_I64 || b == SF_TYPE_F64);
    if (a != b && !numbers)
        return false;
    *out = a == b ? a : SF_TYPE_F64;
    return true;
}

bool sf_expr_converts(const sf_expr *arg, sf_type type)
{
    return arg->untyped || arg->type == type || (arg->type == SF_TYPE_I64 && type == SF_TYPE_F64);
}

sf_status sf_expr_convert(sf_arena *arena, const sf_expr *arg, sf_type type, const sf_expr **out,
                          sf_error *err)
{
    SF_ASSERT(sf_expr_converts(arg, type));
    if (arg->untyped)
        return null_of(arena, type, arg->span, out, err);
    if (arg->type != type)
        return sf_expr_make_call(arena, sf_function_get("to_double", "l"), &arg, 1, type, arg->span,
                                 out, err);
    *out = arg;
    return SF_OK;
}

static const char *const to_names[][2] = {
    {"String", "to_string"}, {"Long", "to_long"},           {"Double", "to_double"},
    {"Bool", "to_bool"},     {"Timestamp", "to_timestamp"},
};

sf_status sf_expr_cast(sf_arena *arena, const sf_expr *arg, sf_type type, sf_span span,
                       const sf_expr **out, sf_error *err)
{
    if (arg->untyped)
        return null_of(arena, type, span, out, err);
    if (arg->type == type) {
        *out = arg;
        return SF_OK;
    }
    /* The dialect prints a bare Timestamp column as its milliseconds; a computed one as ISO-8601.
     */
    if (type == SF_TYPE_UTF8 && arg->type == SF_TYPE_TIMESTAMP && arg->kind == SF_EXPR_COLUMN)
        SF_TRY(sf_expr_cast(arena, arg, SF_TYPE_I64, span, &arg, err));
    for (size_t i = 0; i < SF_COUNT_OF(to_names); i++) {
        if (strcmp(sf_type_name(type), to_names[i][0]) != 0)
            continue;
        const sf_function *first;
        uint32_t count = sf_function_overloads(sf_str_of(to_names[i][1]), &first);
        for (uint32_t k = 0; k < count; k++) {
            sf_type from;
            if (sf_type_of_letter(first[k].args[0], &from) && from == arg->type)
                return sf_expr_make_call(arena, &first[k], &arg, 1, type, span, out, err);
        }
    }
    sf_fail_at(err, SF_INVALID, span, "%s cannot be converted to %s", sf_type_name(arg->type),
               sf_type_name(type));
    sf_error_hint(err, type == SF_TYPE_JSON
                           ? "TO_JSON makes Json of a value, PARSE_JSON of its text"
                           : "convert to String first with TO_STRING");
    return SF_INVALID;
}

sf_status sf_expr_key(sf_arena *arena, const sf_expr *arg, const sf_expr **out, sf_error *err)
{
    *out = arg;
    if (arg->type != SF_TYPE_F64 && arg->type != SF_TYPE_JSON)
        return SF_OK;
    const sf_function *key = sf_function_get("group key", arg->type == SF_TYPE_F64 ? "d" : "j");
    if (arg->function == key)
        return SF_OK;
    return sf_expr_make_call(arena, key, &arg, 1, arg->type, arg->span, out, err);
}

/* ---- AND, OR ---- */

sf_status sf_expr_logic(sf_arena *arena, sf_expr_kind and_or, const sf_expr *const *args,
                        uint32_t arg_count, sf_span span, const sf_expr **out, sf_error *err)
{
    SF_ASSERT((and_or == SF_EXPR_AND || and_or == SF_EXPR_OR) && arg_count > 0);
    bool decider = and_or == SF_EXPR_OR; /* the value that decides alone */
    const sf_expr **kept = SF_ARENA_ARRAY(arena, const sf_expr *, arg_count);
    if (!kept)
        return sf_fail_memory(err);
    uint32_t count = 0;
    for (uint32_t i = 0; i < arg_count; i++) {
        if (!sf_expr_converts(args[i], SF_TYPE_BOOL)) {
            sf_fail_at(err, SF_INVALID, args[i]->span, "%s needs conditions, not %s",
                       decider ? "OR" : "AND", sf_type_name(args[i]->type));
            sf_error_hint(err, "compare it, or convert it with TO_BOOL");
            return SF_INVALID;
        }
        const sf_expr *arg;
        SF_TRY(sf_expr_convert(arena, args[i], SF_TYPE_BOOL, &arg, err));
        if (is_bool_literal(arg, !decider))
            continue;
        kept[count++] = arg;
        if (is_bool_literal(arg, decider)) /* nothing behind it matters */
            break;
    }
    if (count > 0 && is_bool_literal(kept[count - 1], decider) && count == 1) {
        *out = kept[0];
        return SF_OK;
    }
    if (count == 0) {
        sf_literal value = {.as.boolean = !decider};
        sf_expr *node = NULL;
        SF_TRY(make_literal(arena, SF_TYPE_BOOL, &value, span, &node, err));
        *out = node;
        return SF_OK;
    }
    if (count == 1) {
        *out = kept[0];
        return SF_OK;
    }
    sf_expr *node = NULL;
    SF_TRY(new_node(arena, and_or, SF_TYPE_BOOL, span, kept, count, &node, err));
    return fold(arena, node, out, err);
}

/* ---- CASE, COALESCE ---- */

/* The one type of several branches; untyped NULLs take any. False: none, *odd disagrees. */
static bool common_type(const sf_expr *const *args, uint32_t arg_count, uint32_t first,
                        uint32_t step, bool last_too, sf_type *out, uint32_t *odd)
{
    bool found = false;
    for (uint32_t i = first; i < arg_count; i += step) {
        if (args[i]->untyped)
            continue;
        if (found && !sf_type_unify(*out, args[i]->type, out)) {
            *odd = i;
            return false;
        }
        if (!found)
            *out = args[i]->type;
        found = true;
    }
    const sf_expr *last = args[arg_count - 1];
    if (last_too && !last->untyped) {
        if (found && !sf_type_unify(*out, last->type, out)) {
            *odd = arg_count - 1;
            return false;
        }
        if (!found)
            *out = last->type;
        found = true;
    }
    if (!found)
        *out = SF_TYPE_UTF8;
    return true;
}

static sf_status branches_differ(const char *what, sf_type common, const sf_expr *odd,
                                 sf_error *err)
{
    sf_fail_at(err, SF_INVALID, odd->span, "%s mixes %s and %s", what, sf_type_name(common),
               sf_type_name(odd->type));
    sf_error_hint(err, "convert the branches to one type, with TO_STRING or TO_DOUBLE for example");
    return SF_INVALID;
}

sf_status sf_expr_case(sf_arena *arena, const sf_expr *const *args, uint32_t arg_count,
                       sf_span span, const sf_expr **out, sf_error *err)
{
    SF_ASSERT(arg_count % 2 == 1);
    sf_type type;
    uint32_t odd = 0;
    if (!common_type(args, arg_count, 1, 2, true, &type, &odd))
        return branches_differ("CASE", type, args[odd], err);
    const sf_expr **kept = SF_ARENA_ARRAY(arena, const sf_expr *, arg_count);
    if (!kept)
        return sf_fail_memory(err);
    uint32_t count = 0;
    bool decided = false;
    for (uint32_t i = 0; i + 1 < arg_count && !decided; i += 2) {
        const sf_expr *condition;
        if (!sf_expr_converts(args[i], SF_TYPE_BOOL)) {
            sf_fail_at(err, SF_INVALID, args[i]->span, "condition is %s, not Bool",
                       sf_type_name(args[i]->type));
            sf_error_hint(err, "compare it, or convert it with TO_BOOL");
            return SF_INVALID;
        }
        SF_TRY(sf_expr_convert(arena, args[i], SF_TYPE_BOOL, &condition, err));
        if (condition->kind == SF_EXPR_LITERAL && !is_bool_literal(condition, true))
            continue;
        decided = is_bool_literal(condition, true);
        if (!decided)
            kept[count++] = condition;
        SF_TRY(sf_expr_convert(arena, args[i + 1], type, &kept[count++], err));
    }
    if (!decided)
        SF_TRY(sf_expr_convert(arena, args[arg_count - 1], type, &kept[count++], err));
    if (count == 1) {
        *out = kept[0];
        return SF_OK;
    }
    sf_expr *node = NULL;
    SF_TRY(new_node(arena, SF_EXPR_CASE, type, span, kept, count, &node, err));
    return fold(arena, node, out, err);
}

sf_status sf_expr_coalesce(sf_arena *arena, const sf_expr *const *args, uint32_t arg_count,
                           sf_span span, const sf_expr **out, sf_error *err)
{
    SF_ASSERT(arg_count > 0);
    sf_type type;
    uint32_t odd = 0;
    if (!common_type(args, arg_count, 0, 1, false, &type, &odd))
        return branches_differ("COALESCE", type, args[odd], err);
    const sf_expr **kept = SF_ARENA_ARRAY(arena, const sf_expr *, arg_count);
    if (!kept)
        return sf_fail_memory(err);
    uint32_t count = 0;
    for (uint32_t i = 0; i < arg_count; i++) {
        const sf_expr *arg;
        SF_TRY(sf_expr_convert(arena, args[i], type, &arg, err));
        if (is_null_literal(arg))
            continue;
        kept[count++] = arg;
        if (arg->kind == SF_EXPR_LITERAL)
            break;
    }
    if (count == 0)
        return null_of(arena, type, span, out, err);
    if (count == 1) {
        *out = kept[0];
        return SF_OK;
    }
    sf_expr *node = NULL;
    SF_TRY(new_node(arena, SF_EXPR_COALESCE, type, span, kept, count, &node, err));
    return fold(arena, node, out, err);
}

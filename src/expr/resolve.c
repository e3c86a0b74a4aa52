/* Calls by name: overloads, implicit conversions, and what to tell when none fits. */
#include "expr/cache.h"
#include "expr/calendar.h"
#include "expr/kernel.h"
#include "expr/zone.h"

#include "text/text.h"

#include <math.h>
#include <stdlib.h>

/* The letter of argument i; 0 past the end. */
static char letter_of(const char *args, uint32_t i)
{
    size_t len = strlen(args);
    bool repeats = len && args[len - 1] == '*';
    size_t fixed = repeats ? len - 1 : len;
    if (i < fixed)
        return args[i];
    return repeats ? args[fixed - 1] : 0;
}

static bool takes_count(const char *args, uint32_t count)
{
    size_t len = strlen(args);
    if (len && args[len - 1] == '*')
        return count >= len - 1;
    return count == len;
}

/* ---- comparable operands ---- */

bool sf_type_comparable(sf_type a, sf_type b)
{
    bool a_time = a == SF_TYPE_TIMESTAMP, b_time = b == SF_TYPE_TIMESTAMP;
    bool a_number = a == SF_TYPE_I64 || a == SF_TYPE_F64;
    bool b_number = b == SF_TYPE_I64 || b == SF_TYPE_F64;
    if ((a_time || a_number) && (b_time || b_number))
        return true;
    return a == b && (a == SF_TYPE_UTF8 || a == SF_TYPE_BOOL);
}

static bool is_text_literal(const sf_expr *expr)
{
    return expr->kind == SF_EXPR_LITERAL && expr->type == SF_TYPE_UTF8 && !expr->literal.is_null;
}

/* Text written where a time is compared is a time. */
static sf_status time_literal(sf_arena *arena, const sf_expr *text, const sf_expr **out,
                              sf_error *err)
{
    int64_t ms;
    if (sf_parse_timestamp(text->literal.as.str, &ms) != SF_PARSE_OK) {
        sf_fail_at(err, SF_INVALID, text->span, "'%.*s' is no time", (int)text->literal.as.str.len,
                   text->literal.as.str.data);
        sf_error_hint(err, "write it as '2024-05-01T12:00:00Z'");
        return SF_INVALID;
    }
    SF_TRY(sf_expr_cast(arena, text, SF_TYPE_TIMESTAMP, text->span, out, err));
    return SF_OK;
}

/* A numeric literal takes the other side's type where that changes no answer. */
static sf_status number_literal(sf_arena *arena, const sf_expr *arg, sf_type other,
                                const sf_expr **out, sf_error *err)
{
    *out = arg;
    if (arg->kind != SF_EXPR_LITERAL || arg->literal.is_null || arg->type == other)
        return SF_OK;
    if (arg->type == SF_TYPE_I64 && other == SF_TYPE_F64) {
        int64_t v = arg->literal.as.i64;
        if (v >= -(1LL << 53) && v <= 1LL << 53)
            return sf_expr_cast(arena, arg, SF_TYPE_F64, arg->span, out, err);
    } else if (arg->type == SF_TYPE_F64 && (other == SF_TYPE_I64 || other == SF_TYPE_TIMESTAMP)) {
        double v = arg->literal.as.f64;
        if (v == floor(v) && fabs(v) <= (double)(1LL << 53))
            return sf_expr_cast(arena, arg, SF_TYPE_I64, arg->span, out, err);
    }
    return SF_OK;
}

/* Makes the second comparable with the first, either of which may change. */
static sf_status align_pair(sf_arena *arena, const sf_expr **a, const sf_expr **b, sf_error *err)
{
    if ((*a)->untyped || (*b)->untyped) {
        sf_type type = (*a)->untyped ? (*b)->type : (*a)->type;
        SF_TRY(sf_expr_convert(arena, *a, type, a, err));
        return sf_expr_convert(arena, *b, type, b, err);
    }
    if ((*a)->type == SF_TYPE_TIMESTAMP && is_text_literal(*b))
        return time_literal(arena, *b, b, err);
    if ((*b)->type == SF_TYPE_TIMESTAMP && is_text_literal(*a))
        return time_literal(arena, *a, a, err);
    SF_TRY(number_literal(arena, *a, (*b)->type, a, err));
    return number_literal(arena, *b, (*a)->type, b, err);
}

static sf_status cannot_compare(const sf_expr *a, const sf_expr *b, sf_span span, sf_error *err)
{
    sf_fail_at(err, SF_INVALID, span, "cannot compare %s with %s", sf_type_name(a->type),
               sf_type_name(b->type));
    bool json = a->type == SF_TYPE_JSON || b->type == SF_TYPE_JSON;
    sf_error_hint(err, json ? "take the value out of Json: ->> gives text, TO_DOUBLE(... -> 'key') "
                              "a number; only = NULL and <> NULL take Json"
                            : "convert one side, with TO_DOUBLE, TO_STRING or TO_TIMESTAMP");
    return SF_INVALID;
}

/* ---- matching ---- */

enum { NO_FIT = 1000000 };

/* How far the arguments are from an overload: 0 exact, NO_FIT impossible. Comparable operands are
 * judged when they are aligned. */
static uint32_t distance(const sf_function *function, const sf_expr *const *args, uint32_t count)
{
    uint32_t sum = 0;
    sf_type common = SF_TYPE_COUNT;
    for (uint32_t i = 0; i < count; i++) {
        char letter = letter_of(function->args, i);
        sf_type type;
        if (letter == 'a' || letter == 'c' || args[i]->untyped)
            continue;
        if (letter == 'v') {
            sum += args[i]->type != SF_TYPE_UTF8;
        } else if (letter == 'm') {
            if (args[i]->type != SF_TYPE_TIMESTAMP && args[i]->type != SF_TYPE_I64 &&
                !is_text_literal(args[i]))
                return NO_FIT;
            sum += args[i]->type != SF_TYPE_TIMESTAMP;
        } else if (letter == 'u') {
            if (!sf_type_comparable(args[i]->type, args[i]->type) ||
                (common != SF_TYPE_COUNT && !sf_type_unify(common, args[i]->type, &common)))
                return NO_FIT;
            if (common == SF_TYPE_COUNT)
                common = args[i]->type;
        } else {
            if (!sf_type_of_letter(letter, &type) || !sf_expr_converts(args[i], type))
                return NO_FIT;
            sum += args[i]->type != type;
        }
    }
    return sum;
}

static void put_types(sf_buf *buf, const sf_expr *const *args, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sf_buf_puts(buf, i == 0 ? "" : i + 1 == count ? " and " : ", ");
        sf_buf_puts(buf, args[i]->untyped ? "NULL" : sf_type_name(args[i]->type));
    }
}

static sf_status wrong_types(sf_str name, const sf_function *first, const sf_expr *const *args,
                             uint32_t count, sf_span span, sf_error *err)
{
    const sf_function_info *info = sf_function_documented(name);
    sf_buf types = {0};
    put_types(&types, args, count);
    sf_fail_at(err, SF_INVALID, span, "%s cannot take %s", info ? info->name : first->name,
               types.failed || !types.data ? "these types" : types.data);
    sf_buf_deinit(&types);
    bool json = false, text = false;
    for (uint32_t i = 0; i < count; i++) {
        json |= args[i]->type == SF_TYPE_JSON;
        text |= args[i]->type == SF_TYPE_UTF8 && !args[i]->untyped;
    }
    bool path = first->name[0] == '-' && first->name[1] == '>';
    if (path && !json)
        sf_error_hint(err, "%s reads Json: declare the field as Json", first->name);
    else if (path)
        sf_error_hint(err, "the key is a text or a whole number");
    else if (json)
        sf_error_hint(err, "take the value out of Json: ->> gives text, TO_DOUBLE(... -> 'key') a "
                           "number");
    else if (info)
        sf_error_hint(err, "write %s", info->signature);
    else
        sf_error_hint(err, text ? "convert text with TO_LONG or TO_DOUBLE"
                                : "convert with TO_LONG, TO_DOUBLE or TO_STRING");
    return SF_INVALID;
}

static sf_status wrong_count(sf_str name, const sf_function *first, uint32_t overloads,
                             uint32_t count, sf_span span, sf_error *err)
{
    size_t least = SIZE_MAX, most = 0;
    for (uint32_t i = 0; i < overloads; i++) {
        size_t len = strlen(first[i].args);
        bool repeats = len && first[i].args[len - 1] == '*';
        size_t fixed = repeats ? len - 1 : len;
        least = fixed < least ? fixed : least;
        most = repeats ? SIZE_MAX : fixed > most ? fixed : most;
    }
    const sf_function_info *info = sf_function_documented(name);
    const char *shown = info ? info->name : first->name;
    if (most == SIZE_MAX)
        sf_fail_at(err, SF_INVALID, span, "%s takes at least %zu argument%s, not %u", shown, least,
                   least == 1 ? "" : "s", count);
    else if (least == most)
        sf_fail_at(err, SF_INVALID, span, "%s takes %zu argument%s, not %u", shown, least,
                   least == 1 ? "" : "s", count);
    else
        sf_fail_at(err, SF_INVALID, span, "%s takes %zu to %zu arguments, not %u", shown, least,
                   most, count);
    if (info)
        sf_error_hint(err, "write %s", info->signature);
    return SF_INVALID;
}

static sf_status unknown_function(sf_str name, sf_span span, sf_error *err)
{
    sf_fail_at(err, SF_NOT_FOUND, span, "function \"%.*s\" does not exist",
               name.len > 64 ? 64 : (int)name.len, name.data);
    const char *near = sf_function_nearest(name);
    if (near)
        sf_error_hint(err, "did you mean %s?", near);
    else
        sf_error_hint(err, "the reference lists the functions there are");
    return SF_NOT_FOUND;
}

/* ---- building ---- */

static sf_status convert_args(sf_arena *arena, const sf_function *function, const sf_expr **args,
                              uint32_t count, sf_span span, sf_type *unified, sf_error *err)
{
    sf_type common = SF_TYPE_COUNT;
    for (uint32_t i = 0; i < count; i++) {
        if (letter_of(function->args, i) != 'u' || args[i]->untyped)
            continue;
        if (common == SF_TYPE_COUNT)
            common = args[i]->type;
        else
            sf_type_unify(common, args[i]->type, &common);
    }
    if (common == SF_TYPE_COUNT)
        common = SF_TYPE_UTF8;
    for (uint32_t i = 0; i < count; i++) {
        char letter = letter_of(function->args, i);
        sf_type type;
        if (letter == 'u')
            SF_TRY(sf_expr_convert(arena, args[i], common, &args[i], err));
        else if (letter == 'v')
            SF_TRY(sf_expr_cast(arena, args[i], SF_TYPE_UTF8, args[i]->span, &args[i], err));
        else if (letter == 'm') {
            if (args[i]->untyped)
                SF_TRY(sf_expr_convert(arena, args[i], SF_TYPE_TIMESTAMP, &args[i], err));
            else if (is_text_literal(args[i]))
                SF_TRY(time_literal(arena, args[i], &args[i], err));
        } else if (letter == 'c' && i > 0) {
            const sf_expr *first = args[0];
            SF_TRY(align_pair(arena, &args[0], &args[i], err));
            if (function->result == 'a' && first->type == SF_TYPE_I64) /* keeps its type */
                args[0] = first;
            bool null = (args[0]->kind == SF_EXPR_LITERAL && args[0]->literal.is_null) ||
                        (args[i]->kind == SF_EXPR_LITERAL && args[i]->literal.is_null);
            if (!null && !sf_type_comparable(args[0]->type, args[i]->type))
                return cannot_compare(args[0], args[i], span, err);
        } else if (sf_type_of_letter(letter, &type))
            SF_TRY(sf_expr_convert(arena, args[i], type, &args[i], err));
    }
    *unified = common;
    return SF_OK;
}

bool sf_in_list_is_sorted(const sf_expr *expr)
{
    if (expr->function->kernel != sf_fn_in_list || expr->arg_count <= SF_IN_LIST_SHORT + 1)
        return false;
    for (uint32_t i = 1; i < expr->arg_count; i++)
        if (expr->args[i]->kind != SF_EXPR_LITERAL || expr->args[i]->type != expr->args[0]->type)
            return false;
    return true;
}

static int literal_order(const void *left, const void *right)
{
    const sf_expr *a = *(const sf_expr *const *)left, *b = *(const sf_expr *const *)right;
    if (a->literal.is_null || b->literal.is_null)
        return a->literal.is_null - b->literal.is_null;
    sf_operand x = {.type = a->type, .constant = &a->literal};
    sf_operand y = {.type = b->type, .constant = &b->literal};
    return sf_operand_order(&x, 0, &y, 0);
}

/* Constant patterns are judged here, where the user can be told. */
static sf_status check_regex(const sf_function *function, const sf_expr *const *args,
                             uint32_t count, sf_error *err)
{
    if (!(function->flags & SF_FN_REGEX) || !is_text_literal(args[1]))
        return SF_OK;
    const sf_expr *last = args[count - 1];
    /* flags come last, behind a replacement where there is one */
    bool flags = count > 2 && is_text_literal(last) &&
                 (count == 4 || function->kernel != sf_fn_regexp_replace);
    return sf_regex_check(args[1]->literal.as.str, flags ? last->literal.as.str : SF_STR(""),
                          args[1]->span, err);
}

static sf_status check_zone(const sf_function *function, const sf_expr *const *args, uint32_t count,
                            sf_error *err)
{
    sf_zone zone;
    const sf_expr *name = args[count == 3 ? 2 : 0];
    if (!(function->flags & SF_FN_ZONE) || !is_text_literal(name) ||
        sf_zone_find(name->literal.as.str, &zone))
        return SF_OK;
    sf_str text = name->literal.as.str;
    sf_fail_at(err, SF_INVALID, name->span, "time zone \"%.*s\" does not exist",
               text.len > 64 ? 64 : (int)text.len, text.data);
    sf_error_hint(err, "zones are those of the tz database, as 'Europe/Berlin', or offsets, as "
                       "'+02:00'");
    return SF_INVALID;
}

static sf_status call_overload(sf_arena *arena, const sf_function *function,
                               const sf_expr *const *args, uint32_t count, sf_span span,
                               const sf_expr **out, sf_error *err)
{
    const sf_expr **converted = SF_ARENA_ARRAY(arena, const sf_expr *, count + 1u);
    if (!converted)
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < count; i++)
        converted[i] = args[i];
    sf_type type = SF_TYPE_UTF8, unified;
    SF_TRY(convert_args(arena, function, converted, count, span, &unified, err));
    SF_TRY(check_regex(function, converted, count, err));
    SF_TRY(check_zone(function, converted, count, err));
    sf_expr list = {.function = function, .args = converted, .arg_count = count};
    if (sf_in_list_is_sorted(&list))
        qsort(converted + 1, count - 1, sizeof *converted, literal_order);
    if (function->result == 'u')
        type = unified;
    else if (function->result == 'a')
        type = converted[0]->type;
    else
        sf_type_of_letter(function->result, &type);
    return sf_expr_make_call(arena, function, converted, count, type, span, out, err);
}

/* x BETWEEN a AND b over a plain column is two comparisons, which filters know well. */
static sf_status call_between(sf_arena *arena, const sf_expr *const *args, sf_span span,
                              const sf_expr **out, sf_error *err)
{
    const sf_expr *both[2], *low[2] = {args[0], args[1]}, *high[2] = {args[0], args[2]};
    SF_TRY(sf_expr_call(arena, SF_STR(">="), low, 2, span, &both[0], err));
    SF_TRY(sf_expr_call(arena, SF_STR("<="), high, 2, span, &both[1], err));
    return sf_expr_logic(arena, SF_EXPR_AND, both, 2, span, out, err);
}

static const struct {
    const char *name;
    sf_type type;
} conversions[] = {
    {"TO_LONG", SF_TYPE_I64},    {"TO_DOUBLE", SF_TYPE_F64},          {"TO_BOOL", SF_TYPE_BOOL},
    {"TO_STRING", SF_TYPE_UTF8}, {"TO_TIMESTAMP", SF_TYPE_TIMESTAMP},
};

/* EXTRACT gives a Double for the fields that may have a fraction. */
static sf_status call_extract(sf_arena *arena, const sf_expr *const *args, sf_span span,
                              const sf_expr **out, sf_error *err)
{
    sf_time_unit unit;
    if (!is_text_literal(args[0]) || !sf_time_unit_of(args[0]->literal.as.str, &unit)) {
        sf_fail_at(err, SF_INVALID, args[0]->span, "EXTRACT has no such part of a time");
        sf_error_hint(err, "the parts are year, quarter, month, week, day, dow, isodow, doy, hour, "
                           "minute, second, millisecond, epoch, isoyear, decade, century");
        return SF_INVALID;
    }
    const char *name = sf_time_unit_has_fraction(unit) ? "EXTRACT fraction" : "EXTRACT";
    const sf_function *function = sf_function_get(name, "sm");
    if (distance(function, args, 2) >= NO_FIT)
        return wrong_types(SF_STR("EXTRACT"), function, args, 2, span, err);
    return call_overload(arena, function, args, 2, span, out, err);
}

/* EXTRACT(part FROM time), DATE_PART(part, time) and the parts that are functions of their own. */
static sf_status call_time_part(sf_arena *arena, sf_str name, const sf_expr *const *args,
                                uint32_t count, sf_span span, bool *done, const sf_expr **out,
                                sf_error *err)
{
    static const char *const parts[] = {"YEAR", "QUARTER", "MONTH",  "WEEK",
                                        "DAY",  "HOUR",    "MINUTE", "SECOND"};
    static const sf_function one[] = {{"", "a", 'a', 0, NULL}}, two[] = {{"", "aa", 'a', 0, NULL}};
    *done = true;
    if (sf_str_eq_nocase(name, SF_STR("EXTRACT")) || sf_str_eq_nocase(name, SF_STR("DATE_PART")))
        return count == 2 ? call_extract(arena, args, span, out, err)
                          : wrong_count(name, two, 1, count, span, err);
    for (size_t i = 0; i < SF_COUNT_OF(parts); i++) {
        if (!sf_str_eq_nocase(name, sf_str_of(parts[i])))
            continue;
        if (count != 1)
            return wrong_count(name, one, 1, count, span, err);
        const sf_expr *both[2] = {NULL, args[0]};
        sf_literal part = {.as.str = sf_str_of(parts[i])};
        SF_TRY(sf_expr_literal(arena, SF_TYPE_UTF8, &part, span, &both[0], err));
        return call_extract(arena, both, span, out, err);
    }
    *done = false;
    return SF_OK;
}

/* Names that become other nodes than a call. *done: handled, status in the return value. */
static sf_status call_special(sf_arena *arena, sf_str name, const sf_expr *const *args,
                              uint32_t count, sf_span span, bool *done, const sf_expr **out,
                              sf_error *err)
{
    *done = true;
    for (size_t i = 0; i < SF_COUNT_OF(conversions); i++) {
        if (!sf_str_eq_nocase(name, sf_str_of(conversions[i].name)))
            continue;
        static const sf_function one[] = {{"", "a", 'a', 0, NULL}};
        if (count == 2 && conversions[i].type == SF_TYPE_TIMESTAMP)
            return sf_expr_call(arena, SF_STR("to_timestamp by"), args, 2, span, out, err);
        if (count != 1)
            return wrong_count(name, one, 1, count, span, err);
        return sf_expr_cast(arena, args[0], conversions[i].type, span, out, err);
    }
    if (sf_str_eq_nocase(name, SF_STR("IF"))) {
        static const sf_function three[] = {{"", "aaa", 'a', 0, NULL}};
        if (count != 3)
            return wrong_count(name, three, 1, count, span, err);
        return sf_expr_case(arena, args, count, span, out, err);
    }
    if (sf_str_eq_nocase(name, SF_STR("COALESCE"))) {
        static const sf_function some[] = {{"", "a*", 'a', 0, NULL}};
        if (count == 0)
            return wrong_count(name, some, 1, count, span, err);
        return sf_expr_coalesce(arena, args, count, span, out, err);
    }
    bool is_and = sf_str_eq_nocase(name, SF_STR("AND"));
    if ((is_and || sf_str_eq_nocase(name, SF_STR("OR"))) && count > 0)
        return sf_expr_logic(arena, is_and ? SF_EXPR_AND : SF_EXPR_OR, args, count, span, out, err);
    if (sf_str_eq_nocase(name, SF_STR("between")) && count == 3 &&
        (args[0]->kind == SF_EXPR_COLUMN || args[0]->kind == SF_EXPR_LITERAL))
        return call_between(arena, args, span, out, err);
    return call_time_part(arena, name, args, count, span, done, out, err);
}

sf_status sf_expr_call(sf_arena *arena, sf_str name, const sf_expr *const *args, uint32_t arg_count,
                       sf_span span, const sf_expr **out, sf_error *err)
{
    bool done;
    sf_status status = call_special(arena, name, args, arg_count, span, &done, out, err);
    if (done)
        return status;
    const sf_function *first = NULL, *best = NULL;
    uint32_t overloads = sf_function_overloads(name, &first), best_distance = NO_FIT;
    if (overloads == 0)
        return unknown_function(name, span, err);
    bool count_fits = false;
    for (uint32_t i = 0; i < overloads; i++) {
        if (!takes_count(first[i].args, arg_count))
            continue;
        count_fits = true;
        uint32_t d = distance(&first[i], args, arg_count);
        if (d < best_distance) {
            best = &first[i];
            best_distance = d;
        }
    }
    if (!count_fits)
        return wrong_count(name, first, overloads, arg_count, span, err);
    if (!best)
        return wrong_types(name, first, args, arg_count, span, err);
    return call_overload(arena, best, args, arg_count, span, out, err);
}

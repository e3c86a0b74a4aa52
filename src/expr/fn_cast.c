/* Conversions. All are total: what cannot be converted is NULL and counted. */
#include "expr/kernel.h"

#include "text/text.h"

#include <math.h>

/* ---- numbers to numbers ---- */

#define DEFINE_CONVERT(NAME, FROM, TO, EXPRESSION)                                                 \
    bool sf_fn_##NAME(sf_call *call)                                                               \
    {                                                                                              \
        const FROM *restrict a = sf_operand_lanes(&call->args[0]);                                 \
        TO *restrict out = SF_OUT(call, TO);                                                       \
        for (uint32_t i = 0; i < call->rows; i++) {                                                \
            FROM x = a[i];                                                                         \
            out[i] = EXPRESSION;                                                                   \
        }                                                                                          \
        return true;                                                                               \
    }
DEFINE_CONVERT(same_i64, int64_t, int64_t, x)
DEFINE_CONVERT(i64_to_f64, int64_t, double, (double)x)
DEFINE_CONVERT(bool_to_i64, uint8_t, int64_t, x)
DEFINE_CONVERT(bool_to_f64, uint8_t, double, x)
DEFINE_CONVERT(i64_to_bool, int64_t, uint8_t, x != 0)
DEFINE_CONVERT(f64_to_bool, double, uint8_t, x != 0)

static bool f64_cut(double x, int64_t *out)
{
    if (!(x >= -0x1p63 && x < 0x1p63))
        return false;
    *out = (int64_t)x;
    return true;
}

bool sf_fn_f64_to_i64(sf_call *call)
{
    const double *a = sf_operand_lanes(&call->args[0]);
    int64_t *out = SF_OUT(call, int64_t);
    for (uint32_t i = 0; i < call->rows; i++) {
        out[i] = 0;
        if (!f64_cut(a[i], &out[i]) && !sf_call_fail(call, i, SF_EVAL_CAST))
            return false;
    }
    return true;
}

/* ---- from text ---- */

static bool str_i64(sf_str text, int64_t *out)
{
    return sf_parse_i64(text, out) == SF_PARSE_OK;
}
static bool str_f64(sf_str text, double *out)
{
    return sf_parse_f64(text, out) == SF_PARSE_OK;
}
static bool str_time(sf_str text, int64_t *out)
{
    return sf_parse_timestamp(text, out) == SF_PARSE_OK;
}
/* Anything but '', '0' and 'false' is true. */
static bool str_bool(sf_str text, uint8_t *out)
{
    text = sf_text_trim(text);
    *out =
        !(text.len == 0 || sf_str_eq(text, SF_STR("0")) || sf_str_eq_nocase(text, SF_STR("false")));
    return true;
}

/* ---- from Json ---- */

typedef enum { JSON_GIVES, JSON_IS_NULL, JSON_FAILS } json_answer;

static bool json_decimal(sf_str value, sf_decimal *out, sf_str *number)
{
    const char *end = sf_decimal_scan_json(value.data, value.data + value.len, out);
    *number = (sf_str){value.data, end ? (size_t)(end - value.data) : 0};
    return end != NULL;
}

static bool json_number_f64(sf_str value, double *out)
{
    sf_decimal decimal;
    sf_str number;
    return json_decimal(value, &decimal, &number) &&
           sf_decimal_to_f64(&decimal, number, out) == SF_PARSE_OK;
}

static bool json_number_i64(sf_str value, int64_t *out)
{
    sf_decimal decimal;
    sf_str number;
    double wide;
    if (!json_decimal(value, &decimal, &number))
        return false;
    if (sf_decimal_to_i64(&decimal, number, out) == SF_PARSE_OK)
        return true;
    return !decimal.integer && sf_decimal_to_f64(&decimal, number, &wide) == SF_PARSE_OK &&
           f64_cut(wide, out);
}

#define DEFINE_FROM_JSON(NAME, T, FROM_NUMBER, FROM_BOOL, FROM_TEXT)                               \
    static json_answer NAME##_of(sf_str value, sf_buf *scratch, T *out)                            \
    {                                                                                              \
        sf_str text;                                                                               \
        switch (sf_json_kind_of(value)) {                                                          \
        case SF_JSON_NULL: return JSON_IS_NULL;                                                    \
        case SF_JSON_NUMBER: return FROM_NUMBER(value, out) ? JSON_GIVES : JSON_FAILS;             \
        case SF_JSON_BOOL: return FROM_BOOL(value, out) ? JSON_GIVES : JSON_FAILS;                 \
        case SF_JSON_STRING:                                                                       \
            return sf_json_text_of(value, scratch, &text) && FROM_TEXT(text, out) ? JSON_GIVES     \
                                                                                  : JSON_FAILS;    \
        default: return JSON_FAILS;                                                                \
        }                                                                                          \
    }                                                                                              \
    bool sf_fn_##NAME(sf_call *call)                                                               \
    {                                                                                              \
        T *out = SF_OUT(call, T);                                                                  \
        sf_buf scratch = {0};                                                                      \
        bool ok = true;                                                                            \
        for (uint32_t i = 0; i < call->rows && ok; i++) {                                          \
            out[i] = 0;                                                                            \
            if (sf_call_is_null(call, i))                                                          \
                continue;                                                                          \
            json_answer answer = NAME##_of(sf_operand_str(&call->args[0], i), &scratch, &out[i]);  \
            if (answer == JSON_FAILS)                                                              \
                ok = sf_call_fail(call, i, SF_EVAL_CAST);                                          \
            else if (answer == JSON_IS_NULL)                                                       \
                ok = sf_call_null(call, i);                                                        \
            ok = ok && !scratch.failed;                                                            \
        }                                                                                          \
        sf_buf_deinit(&scratch);                                                                   \
        return ok;                                                                                 \
    }

static bool json_bool_i64(sf_str value, int64_t *out)
{
    *out = value.data[0] == 't';
    return true;
}
static bool json_bool_f64(sf_str value, double *out)
{
    *out = value.data[0] == 't';
    return true;
}
static bool json_bool_bool(sf_str value, uint8_t *out)
{
    *out = value.data[0] == 't';
    return true;
}
static bool json_number_bool(sf_str value, uint8_t *out)
{
    double number;
    bool ok = json_number_f64(value, &number);
    *out = ok && number != 0;
    return ok;
}
static bool no_time(sf_str value, int64_t *out)
{
    SF_UNUSED(value);
    SF_UNUSED(out);
    return false;
}
DEFINE_FROM_JSON(json_to_i64, int64_t, json_number_i64, json_bool_i64, str_i64)
DEFINE_FROM_JSON(json_to_f64, double, json_number_f64, json_bool_f64, str_f64)
DEFINE_FROM_JSON(json_to_bool, uint8_t, json_number_bool, json_bool_bool, str_bool)
DEFINE_FROM_JSON(json_to_time, int64_t, json_number_i64, no_time, str_time)

/* What SUM adds of Json: numbers; all else adds nothing, uncounted. */
bool sf_fn_json_number(sf_call *call)
{
    double *out = SF_OUT(call, double);
    for (uint32_t i = 0; i < call->rows; i++) {
        out[i] = 0;
        if (sf_call_is_null(call, i))
            continue;
        sf_str value = sf_operand_str(&call->args[0], i);
        if ((sf_json_kind_of(value) != SF_JSON_NUMBER || !json_number_f64(value, &out[i])) &&
            !sf_call_null(call, i))
            return false;
    }
    return true;
}

#define DEFINE_FROM_TEXT(NAME, T, PARSE)                                                           \
    bool sf_fn_##NAME(sf_call *call)                                                               \
    {                                                                                              \
        T *out = SF_OUT(call, T);                                                                  \
        for (uint32_t i = 0; i < call->rows; i++) {                                                \
            out[i] = 0;                                                                            \
            if (!sf_call_is_null(call, i) && !PARSE(sf_operand_str(&call->args[0], i), &out[i]) && \
                !sf_call_fail(call, i, SF_EVAL_CAST))                                              \
                return false;                                                                      \
        }                                                                                          \
        return true;                                                                               \
    }
DEFINE_FROM_TEXT(str_to_i64, int64_t, str_i64)
DEFINE_FROM_TEXT(str_to_f64, double, str_f64)
DEFINE_FROM_TEXT(str_to_bool, uint8_t, str_bool)
DEFINE_FROM_TEXT(str_to_time, int64_t, str_time)

/* ---- to text ---- */

#define DEFINE_TO_TEXT(NAME, T, PRINT)                                                             \
    bool sf_fn_##NAME(sf_call *call)                                                               \
    {                                                                                              \
        const T *a = sf_operand_lanes(&call->args[0]);                                             \
        sf_text_out out;                                                                           \
        if (!sf_text_begin(&out, call, NULL))                                                      \
            return false;                                                                          \
        char text[SF_NUMBER_MAX];                                                                  \
        for (uint32_t i = 0; i < call->rows; i++)                                                  \
            if (!sf_call_is_null(call, i))                                                         \
                sf_text_put(&out, i, (sf_str){text, PRINT(text, a[i])});                           \
        return sf_text_end(&out);                                                                  \
    }

static size_t print_bool(char out[SF_NUMBER_MAX], uint8_t value)
{
    const char *word = value ? "true" : "false";
    size_t len = strlen(word);
    memcpy(out, word, len);
    return len;
}
DEFINE_TO_TEXT(i64_to_str, int64_t, sf_print_i64)
DEFINE_TO_TEXT(f64_to_str, double, sf_print_f64)
DEFINE_TO_TEXT(bool_to_str, uint8_t, print_bool)
DEFINE_TO_TEXT(time_to_str, int64_t, sf_print_time)

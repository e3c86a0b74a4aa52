/* + - * / % and unary minus. Loops compute every lane, NULL ones included, and tell whether any
 * went wrong; only then are the lanes looked at one by one. */
#include "expr/kernel.h"

#include <float.h>
#include <math.h>

/* Sign bit set when a double is infinite or not a number: the exponent is all ones. */
static inline uint64_t not_finite(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7ff0000000000000ULL) + 0x0010000000000000ULL;
}

/* NAME(T): STEP gives *out for x and y and answers a word whose sign bit tells of trouble; FAILS
 * judges one lane: an error code or -1. One of the operands may be a constant. */
#define DEFINE_BINARY(NAME, T, STEP, FAILS)                                                        \
    static inline __attribute__((always_inline))                                                   \
    uint64_t NAME##_lanes(const T *restrict a, const T *restrict b, T *restrict out,               \
                          uint32_t rows, bool a_constant, bool b_constant)                         \
    {                                                                                              \
        uint64_t bad = 0;                                                                          \
        for (uint32_t i = 0; i < rows; i++)                                                        \
            bad |= STEP(a[a_constant ? 0 : i], b[b_constant ? 0 : i], &out[i]);                    \
        return bad >> 63;                                                                          \
    }                                                                                              \
    bool sf_fn_##NAME(sf_call *call)                                                               \
    {                                                                                              \
        const sf_operand *args = call->args;                                                       \
        const T *a = sf_operand_lanes(&args[0]), *b = sf_operand_lanes(&args[1]);                  \
        T *out = SF_OUT(call, T);                                                                  \
        uint64_t bad;                                                                              \
        if (!args[0].column)                                                                       \
            bad = NAME##_lanes(a, b, out, call->rows, true, false);                                \
        else if (!args[1].column)                                                                  \
            bad = NAME##_lanes(a, b, out, call->rows, false, true);                                \
        else                                                                                       \
            bad = NAME##_lanes(a, b, out, call->rows, false, false);                               \
        for (uint32_t i = 0; bad && i < call->rows; i++) {                                         \
            int code = FAILS(a[args[0].column ? i : 0], b[args[1].column ? i : 0]);                \
            if (code >= 0 && !sf_call_fail(call, i, (sf_eval_code)code))                           \
                return false;                                                                      \
        }                                                                                          \
        return true;                                                                               \
    }

/* ---- Long ---- */

static inline uint64_t add_step(int64_t x, int64_t y, int64_t *out)
{
    uint64_t sum = (uint64_t)x + (uint64_t)y;
    *out = (int64_t)sum;
    return ((uint64_t)x ^ sum) & ((uint64_t)y ^ sum);
}
static inline int add_fails(int64_t x, int64_t y)
{
    int64_t sum;
    return __builtin_add_overflow(x, y, &sum) ? SF_EVAL_OVERFLOW : -1;
}
DEFINE_BINARY(add_i64, int64_t, add_step, add_fails)

static inline uint64_t sub_step(int64_t x, int64_t y, int64_t *out)
{
    uint64_t difference = (uint64_t)x - (uint64_t)y;
    *out = (int64_t)difference;
    return ((uint64_t)x ^ (uint64_t)y) & ((uint64_t)x ^ difference);
}
static inline int sub_fails(int64_t x, int64_t y)
{
    int64_t difference;
    return __builtin_sub_overflow(x, y, &difference) ? SF_EVAL_OVERFLOW : -1;
}
DEFINE_BINARY(sub_i64, int64_t, sub_step, sub_fails)

/* Factors of 32 bits cannot overflow; wider ones are suspects, judged in the second pass. */
static inline uint64_t mul_step(int64_t x, int64_t y, int64_t *out)
{
    *out = (int64_t)((uint64_t)x * (uint64_t)y);
    uint64_t wide = ((uint64_t)x + (1ULL << 31)) | ((uint64_t)y + (1ULL << 31));
    return wide >> 32 ? 1ULL << 63 : 0;
}
static inline int mul_fails(int64_t x, int64_t y)
{
    int64_t product;
    return __builtin_mul_overflow(x, y, &product) ? SF_EVAL_OVERFLOW : -1;
}
DEFINE_BINARY(mul_i64, int64_t, mul_step, mul_fails)

static inline uint64_t mod_step(int64_t x, int64_t y, int64_t *out)
{
    bool plain = y != 0 && y != -1; /* the smallest Long % -1 traps in hardware; it is 0 */
    *out = plain ? x % y : 0;
    return y == 0 ? 1ULL << 63 : 0;
}
static inline int mod_fails(int64_t x, int64_t y)
{
    SF_UNUSED(x);
    return y == 0 ? SF_EVAL_DIVISION_BY_ZERO : -1;
}
DEFINE_BINARY(mod_i64, int64_t, mod_step, mod_fails)

bool sf_fn_neg_i64(sf_call *call)
{
    const int64_t *restrict a = sf_operand_lanes(&call->args[0]);
    int64_t *restrict out = SF_OUT(call, int64_t);
    uint64_t bad = 0;
    for (uint32_t i = 0; i < call->rows; i++) {
        uint64_t x = (uint64_t)a[i], negated = 0 - x;
        out[i] = (int64_t)negated;
        bad |= x & negated; /* both negative: the smallest Long */
    }
    for (uint32_t i = 0; bad >> 63 && i < call->rows; i++)
        if (a[i] == INT64_MIN && !sf_call_fail(call, i, SF_EVAL_OVERFLOW))
            return false;
    return true;
}

bool sf_fn_abs_i64(sf_call *call)
{
    const int64_t *restrict a = sf_operand_lanes(&call->args[0]);
    int64_t *restrict out = SF_OUT(call, int64_t);
    uint64_t bad = 0;
    for (uint32_t i = 0; i < call->rows; i++) {
        uint64_t x = (uint64_t)a[i], magnitude = a[i] < 0 ? 0 - x : x;
        out[i] = (int64_t)magnitude;
        bad |= magnitude;
    }
    for (uint32_t i = 0; bad >> 63 && i < call->rows; i++)
        if (a[i] == INT64_MIN && !sf_call_fail(call, i, SF_EVAL_OVERFLOW))
            return false;
    return true;
}

/* ---- Double ---- */

#define DEFINE_DOUBLE(NAME, EXPRESSION)                                                            \
    static inline uint64_t NAME##_step(double x, double y, double *out)                            \
    {                                                                                              \
        double r = EXPRESSION;                                                                     \
        *out = r;                                                                                  \
        return not_finite(r);                                                                      \
    }                                                                                              \
    static inline int NAME##_fails(double x, double y)                                             \
    {                                                                                              \
        return isfinite(EXPRESSION) ? -1 : SF_EVAL_OVERFLOW;                                       \
    }                                                                                              \
    DEFINE_BINARY(NAME, double, NAME##_step, NAME##_fails)
DEFINE_DOUBLE(add_f64, x + y)
DEFINE_DOUBLE(sub_f64, x - y)
DEFINE_DOUBLE(mul_f64, x *y)

/* Division by zero gives an infinity or NaN; the sanitizer need not hear of it. */
__attribute__((no_sanitize("float-divide-by-zero"))) static inline uint64_t
div_step(double x, double y, double *out)
{
    *out = x / y;
    return not_finite(*out);
}
static inline int div_fails(double x, double y)
{
    if (y == 0)
        return SF_EVAL_DIVISION_BY_ZERO;
    return isfinite(x / y) ? -1 : SF_EVAL_OVERFLOW;
}
DEFINE_BINARY(div_f64, double, div_step, div_fails)

static inline uint64_t fmod_step(double x, double y, double *out)
{
    *out = fmod(x, y);
    return not_finite(*out);
}
static inline int fmod_fails(double x, double y)
{
    if (y == 0)
        return SF_EVAL_DIVISION_BY_ZERO;
    return isfinite(fmod(x, y)) ? -1 : SF_EVAL_OVERFLOW;
}
DEFINE_BINARY(mod_f64, double, fmod_step, fmod_fails)

#define DEFINE_UNARY_DOUBLE(NAME, EXPRESSION)                                                      \
    bool sf_fn_##NAME(sf_call *call)                                                               \
    {                                                                                              \
        const double *restrict a = sf_operand_lanes(&call->args[0]);                               \
        double *restrict out = SF_OUT(call, double);                                               \
        for (uint32_t i = 0; i < call->rows; i++) {                                                \
            double x = a[i];                                                                       \
            out[i] = EXPRESSION;                                                                   \
        }                                                                                          \
        return true;                                                                               \
    }
DEFINE_UNARY_DOUBLE(neg_f64, -x)
DEFINE_UNARY_DOUBLE(abs_f64, fabs(x))
DEFINE_UNARY_DOUBLE(round_f64, round(x))
DEFINE_UNARY_DOUBLE(key_f64, x + 0.0) /* -0.0 + 0.0 is 0.0 */

/* ---- ROUND with digits ---- */

enum { DIGITS_MAX = 400 };

static double round_digits(double x, int64_t digits)
{
    if (digits > DIGITS_MAX)
        return x;
    if (digits < -DIGITS_MAX)
        return 0;
    double scale = pow(10, (double)(digits < 0 ? -digits : digits));
    double rounded = digits < 0 ? round(x / scale) * scale : round(x * scale) / scale;
    if (isfinite(rounded))
        return rounded;
    return digits < 0 ? 0 : x; /* beyond the digits that x has */
}

bool sf_fn_round_digits_f64(sf_call *call)
{
    double *out = SF_OUT(call, double);
    for (uint32_t i = 0; i < call->rows; i++)
        out[i] = round_digits(sf_operand_f64(&call->args[0], i), sf_operand_i64(&call->args[1], i));
    return true;
}

/* x to a multiple of 10^places, halves away from zero; false: out of range. */
static bool round_places(int64_t x, int64_t places, int64_t *out)
{
    if (places > 18) { /* 10^19 is beyond Long; only its half may still be reached */
        bool up = places == 19 && (x >= 5000000000000000000 || x <= -5000000000000000000);
        *out = 0;
        return !up;
    }
    int64_t scale = 1;
    for (int64_t i = 0; i < places; i++)
        scale *= 10;
    int64_t rest = x % scale;
    *out = x - rest;
    if (rest >= scale - rest && rest > 0)
        return !__builtin_add_overflow(*out, scale, out);
    if (-rest >= scale + rest && rest < 0)
        return !__builtin_sub_overflow(*out, scale, out);
    return true;
}

bool sf_fn_round_digits_i64(sf_call *call)
{
    int64_t *out = SF_OUT(call, int64_t);
    for (uint32_t i = 0; i < call->rows; i++) {
        int64_t x = sf_operand_i64(&call->args[0], i), digits = sf_operand_i64(&call->args[1], i);
        int64_t places = digits < -100 ? 100 : -digits;
        out[i] = x;
        if (digits < 0 && !round_places(x, places, &out[i]) &&
            !sf_call_fail(call, i, SF_EVAL_OVERFLOW))
            return false;
    }
    return true;
}

/* Numeric functions lane by lane: what lies outside a function's domain is NULL and counted. */
#include "expr/kernel.h"

#include <math.h>

/* Puts a result; not a number means outside the domain, infinite means out of range. */
static inline bool put_f64(sf_call *call, uint32_t lane, double value)
{
    SF_OUT(call, double)[lane] = value;
    if (SF_LIKELY(isfinite(value)))
        return true;
    return sf_call_fail(call, lane, isnan(value) ? SF_EVAL_DOMAIN : SF_EVAL_OVERFLOW);
}

#define DEFINE_MATH(NAME, EXPRESSION)                                                              \
    bool sf_fn_##NAME(sf_call *call)                                                               \
    {                                                                                              \
        for (uint32_t i = 0; i < call->rows; i++) {                                                \
            double x = sf_operand_f64(&call->args[0], i), value = 0;                               \
            if (!sf_call_is_null(call, i))                                                         \
                value = EXPRESSION;                                                                \
            if (!put_f64(call, i, value))                                                          \
                return false;                                                                      \
        }                                                                                          \
        return true;                                                                               \
    }
#define DEFINE_MATH_2(NAME, EXPRESSION)                                                            \
    bool sf_fn_##NAME(sf_call *call)                                                               \
    {                                                                                              \
        for (uint32_t i = 0; i < call->rows; i++) {                                                \
            double x = sf_operand_f64(&call->args[0], i), y = sf_operand_f64(&call->args[1], i);   \
            double value = 0;                                                                      \
            if (!sf_call_is_null(call, i))                                                         \
                value = EXPRESSION;                                                                \
            if (!put_f64(call, i, value))                                                          \
                return false;                                                                      \
        }                                                                                          \
        return true;                                                                               \
    }

/* The library's root may be off in the last place; one Newton step mends whole roots. */
static double cube_root(double x)
{
    double root = cbrt(x), cube = root * root * root;
    return root == 0 || !isfinite(cube) ? root : root - (cube - x) / (3 * root * root);
}

/* Zero and negative numbers have no logarithm: both are outside, not infinite. */
DEFINE_MATH(sqrt, sqrt(x))
DEFINE_MATH(cbrt, cube_root(x))
DEFINE_MATH(exp, exp(x))
DEFINE_MATH(ln, x > 0 ? log(x) : NAN)
DEFINE_MATH(log10, x > 0 ? log10(x) : NAN)
DEFINE_MATH(log2, x > 0 ? log2(x) : NAN)
DEFINE_MATH_2(log_base, x > 0 && y > 0 && x != 1 ? log(y) / log(x) : NAN)
DEFINE_MATH_2(power, x == 0 && y < 0 ? NAN : pow(x, y))
DEFINE_MATH(sin, sin(x))
DEFINE_MATH(cos, cos(x))
DEFINE_MATH(tan, tan(x))
DEFINE_MATH(asin, asin(x))
DEFINE_MATH(acos, acos(x))
DEFINE_MATH(atan, atan(x))
DEFINE_MATH_2(atan2, atan2(x, y))
DEFINE_MATH(sinh, sinh(x))
DEFINE_MATH(cosh, cosh(x))
DEFINE_MATH(tanh, tanh(x))
DEFINE_MATH(cot, x == 0 ? NAN : 1 / tan(x))
DEFINE_MATH(radians, x *(M_PI / 180))
DEFINE_MATH(degrees, x *(180 / M_PI))

#define DEFINE_TOTAL(NAME, T, EXPRESSION)                                                          \
    bool sf_fn_##NAME(sf_call *call)                                                               \
    {                                                                                              \
        const T *restrict a = sf_operand_lanes(&call->args[0]);                                    \
        T *restrict out = SF_OUT(call, T);                                                         \
        for (uint32_t i = 0; i < call->rows; i++) {                                                \
            T x = a[i];                                                                            \
            out[i] = EXPRESSION;                                                                   \
        }                                                                                          \
        return true;                                                                               \
    }
DEFINE_TOTAL(floor_f64, double, floor(x))
DEFINE_TOTAL(ceil_f64, double, ceil(x))
DEFINE_TOTAL(trunc_f64, double, trunc(x))
DEFINE_TOTAL(sign_f64, double, (x > 0) - (x < 0))
DEFINE_TOTAL(sign_i64, int64_t, (x > 0) - (x < 0))

bool sf_fn_trunc_digits(sf_call *call)
{
    double *out = SF_OUT(call, double);
    for (uint32_t i = 0; i < call->rows; i++) {
        double x = sf_operand_f64(&call->args[0], i);
        int64_t digits = sf_operand_i64(&call->args[1], i);
        double scale = pow(10, digits > 400 ? 400 : digits < -400 ? -400 : (double)digits);
        double cut = trunc(x * scale) / scale;
        /* a scale beyond Double: no digit is cut off, or none is left */
        out[i] = isfinite(cut) ? cut : digits > 0 ? x : 0;
    }
    return true;
}

bool sf_fn_pi(sf_call *call)
{
    for (uint32_t i = 0; i < call->rows; i++)
        SF_OUT(call, double)[i] = M_PI;
    return true;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint64_t magnitude(int64_t x)
{
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

bool sf_fn_gcd(sf_call *call)
{
    for (uint32_t i = 0; i < call->rows; i++) {
        uint64_t value = gcd(magnitude(sf_operand_i64(&call->args[0], i)),
                             magnitude(sf_operand_i64(&call->args[1], i)));
        SF_OUT(call, int64_t)[i] = (int64_t)value;
        if (value > INT64_MAX && !sf_call_fail(call, i, SF_EVAL_OVERFLOW))
            return false;
    }
    return true;
}

bool sf_fn_lcm(sf_call *call)
{
    for (uint32_t i = 0; i < call->rows; i++) {
        uint64_t a = magnitude(sf_operand_i64(&call->args[0], i));
        uint64_t b = magnitude(sf_operand_i64(&call->args[1], i)), common = gcd(a, b), value = 0;
        bool over = common && __builtin_mul_overflow(a / common, b, &value);
        over = over || value > INT64_MAX;
        SF_OUT(call, int64_t)[i] = over ? 0 : (int64_t)value;
        if (over && !sf_call_fail(call, i, SF_EVAL_OVERFLOW))
            return false;
    }
    return true;
}

bool sf_fn_bit_count(sf_call *call)
{
    for (uint32_t i = 0; i < call->rows; i++) {
        uint64_t bits = (uint64_t)sf_operand_i64(&call->args[0], i);
        SF_OUT(call, int64_t)[i] = __builtin_popcountll(bits);
    }
    return true;
}

/* Bounds may run either way, as PostgreSQL has it. */
bool sf_fn_width_bucket(sf_call *call)
{
    for (uint32_t i = 0; i < call->rows; i++) {
        double x = sf_operand_f64(&call->args[0], i), low = sf_operand_f64(&call->args[1], i);
        double high = sf_operand_f64(&call->args[2], i);
        int64_t count = sf_operand_i64(&call->args[3], i), bucket = 0;
        bool up = low < high;
        if (sf_call_is_null(call, i) || count <= 0 || count >= 1LL << 53 || low == high) {
            SF_OUT(call, int64_t)[i] = 0;
            if (!sf_call_fail(call, i, SF_EVAL_DOMAIN))
                return false;
            continue;
        }
        if (up ? x >= high : x <= high)
            bucket = count + 1;
        else if (up ? x >= low : x <= low) /* halves: the difference may be out of range */
            bucket = (int64_t)floor((double)count * ((x / 2 - low / 2) / (high / 2 - low / 2))) + 1;
        SF_OUT(call, int64_t)[i] = bucket;
    }
    return true;
}

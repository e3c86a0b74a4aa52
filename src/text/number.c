/* Decimal text to numbers. Up to 19 significant digits and 27 decimal places are converted exactly
 * in 128-bit arithmetic; what lies outside goes to strtod as digits and an exponent, without a
 * decimal point, so that the locale has no say. */
#include "text/scan.h"

#include <stdio.h>
#include <stdlib.h>

const uint64_t sf_pow10_u64[20] = {
    UINT64_C(1),
    UINT64_C(10),
    UINT64_C(100),
    UINT64_C(1000),
    UINT64_C(10000),
    UINT64_C(100000),
    UINT64_C(1000000),
    UINT64_C(10000000),
    UINT64_C(100000000),
    UINT64_C(1000000000),
    UINT64_C(10000000000),
    UINT64_C(100000000000),
    UINT64_C(1000000000000),
    UINT64_C(10000000000000),
    UINT64_C(100000000000000),
    UINT64_C(1000000000000000),
    UINT64_C(10000000000000000),
    UINT64_C(100000000000000000),
    UINT64_C(1000000000000000000),
    UINT64_C(10000000000000000000),
};

const double sf_pow10_f64[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

#define EXACT_EXPONENT_MAX 27 /* as far as sf_pow5_u64 goes */

/* ---- scanning ---- */

#define EXPONENT_LIMIT INT32_C(1000000000)

/* Saturates at +-EXPONENT_LIMIT. */
const char *sf_scan_exponent(const char *at, const char *end, int32_t *out)
{
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    const char *first = at;
    int32_t value = 0;
    for (; at < end && (unsigned char)(*at - '0') < 10; at++)
        if (value < EXPONENT_LIMIT / 10)
            value = value * 10 + (*at - '0');
        else
            value = EXPONENT_LIMIT;
    *out = negative ? -value : value;
    return at == first ? NULL : at;
}

/* More than 19 digit characters: leave out zeros at both ends before giving up exactness. */
void sf_decimal_rescan(const char *at, const char *end, int64_t exponent, sf_decimal *d)
{
    uint64_t value = 0;
    int64_t places = 0, zeros = 0; /* digits after the point; zeros seen but not yet taken */
    unsigned taken = 0;
    bool point = false, inexact = false;
    for (; at < end && (*at == '.' || (unsigned char)(*at - '0') < 10); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        places += point;
        if (*at == '0') {
            zeros += taken > 0;
            continue;
        }
        inexact |= (int64_t)taken + zeros + 1 > 19;
        if (inexact)
            break;
        value = value * sf_pow10_u64[zeros + 1] + (uint64_t)(*at - '0');
        taken += (unsigned)zeros + 1;
        zeros = 0;
    }
    exponent += zeros - places;
    d->inexact = inexact || exponent > EXPONENT_LIMIT || exponent < -EXPONENT_LIMIT;
    d->digits = value;
    d->exponent = d->inexact ? 0 : (int32_t)exponent;
}

const char *sf_decimal_scan_json(const char *at, const char *end, sf_decimal *out)
{
    return sf_scan_decimal(at, end, false, out);
}

const char *sf_decimal_scan_loose(const char *at, const char *end, sf_decimal *out)
{
    return sf_scan_decimal(at, end, true, out);
}

/* ---- to double ---- */

/* The double nearest to (q + s) * 2^exponent, ties to even; 0 < s < 1 when sticky, else 0. Only for
 * results in the normal range. */
static double round_binary(uint64_t q, bool sticky, int exponent)
{
    int shift = __builtin_clzll(q);
    q <<= shift;
    uint64_t mantissa = q >> 11, rest = q & 0x7ff;
    if (rest > 0x400 || (rest == 0x400 && (sticky || (mantissa & 1))))
        mantissa++;
    /* A carry into bit 53 moves on into the exponent, as it should. */
    uint64_t bits =
        ((uint64_t)(exponent - shift + 11 + 52 + 1023) << 52) + (mantissa - (UINT64_C(1) << 52));
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double scale_up(uint64_t digits, unsigned n)
{
    unsigned __int128 product = (unsigned __int128)digits * sf_pow5_u64(n);
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    if (high == 0)
        return round_binary(low, false, (int)n);
    int shift = 64 - __builtin_clzll(high); /* 1..64 */
    uint64_t q = (uint64_t)(product >> shift);
    bool sticky = (product & (((unsigned __int128)1 << shift) - 1)) != 0;
    return round_binary(q, sticky, (int)n + shift);
}

static double scale_down(uint64_t digits, unsigned n)
{
    /* Both sides get their top bit set; half the dividend is then below the divisor, so that the
     * quotient has 62 to 64 bits. */
    uint64_t divisor = sf_pow5_u64(n);
    int up = __builtin_clzll(digits), divisor_up = __builtin_clzll(divisor);
    divisor <<= divisor_up;
    unsigned __int128 dividend = (unsigned __int128)(digits << up) << 63;
    uint64_t q = (uint64_t)(dividend / divisor);
    bool sticky = (uint64_t)(dividend - (unsigned __int128)q * divisor) != 0;
    return round_binary(q, sticky, divisor_up - up - 63 - (int)n);
}

/* No decimal lies so close to the middle of two doubles that it takes more digits to tell. */
#define DIGITS_ENOUGH 770

/* Any length: at most DIGITS_ENOUGH significant digits, the rest as one digit that breaks ties. */
static sf_parse slow_f64(sf_str text, double *out)
{
    char digits[DIGITS_ENOUGH + 32];
    size_t taken = 0;
    int64_t exponent = 0;
    bool point = false, rest = false;
    const char *at = text.data, *end = text.data + text.len;
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    for (; at < end && (*at == '.' || (unsigned char)(*at - '0') < 10); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        exponent -= point;
        if (taken == 0 && *at == '0')
            continue;
        if (taken < DIGITS_ENOUGH) {
            digits[taken++] = *at;
        } else {
            rest |= *at != '0';
            exponent++;
        }
    }
    if (taken == 0) {
        *out = 0;
        return SF_PARSE_OK;
    }
    if (rest) {
        digits[taken++] = '1';
        exponent--;
    }
    int32_t written = 0;
    if (at < end)
        sf_scan_exponent(at + 1, end, &written);
    exponent += written;
    snprintf(digits + taken, sizeof digits - taken, "e%lld", (long long)exponent);
    *out = strtod(digits, NULL);
    return *out > 1.7976931348623157e308 ? SF_PARSE_RANGE : SF_PARSE_OK;
}

sf_parse sf_decimal_to_f64(const sf_decimal *decimal, sf_str text, double *out)
{
    if (sf_decimal_quick_f64(decimal, out))
        return SF_PARSE_OK;
    double value = 0;
    if (!decimal->inexact && decimal->digits == 0) {
        value = 0;
    } else if (!decimal->inexact && decimal->exponent >= -EXACT_EXPONENT_MAX &&
               decimal->exponent <= EXACT_EXPONENT_MAX) {
        value = decimal->exponent < 0 ? scale_down(decimal->digits, (unsigned)-decimal->exponent)
                                      : scale_up(decimal->digits, (unsigned)decimal->exponent);
    } else {
        sf_parse result = slow_f64(text, &value);
        if (result != SF_PARSE_OK)
            return result;
    }
    *out = decimal->negative ? -value : value;
    return SF_PARSE_OK;
}

/* ---- to integer ---- */

sf_parse sf_decimal_to_i64(const sf_decimal *decimal, sf_str text, int64_t *out)
{
    SF_UNUSED(text);
    uint64_t value = decimal->digits;
    int32_t exponent = decimal->exponent;
    if (decimal->inexact)
        return decimal->integer ? SF_PARSE_RANGE : SF_PARSE_BAD;
    if (value == 0)
        exponent = 0;
    if (exponent > 0) {
        if (exponent > 19 || __builtin_mul_overflow(value, sf_pow10_u64[exponent], &value))
            return SF_PARSE_RANGE;
    } else if (exponent < 0) {
        if (exponent < -19 || value % sf_pow10_u64[-exponent] != 0)
            return SF_PARSE_BAD;
        value /= sf_pow10_u64[-exponent];
    }
    if (value > (uint64_t)INT64_MAX + decimal->negative)
        return SF_PARSE_RANGE;
    *out = (int64_t)(decimal->negative ? 0 - value : value);
    return SF_PARSE_OK;
}

/* ---- whole texts ---- */

static sf_parse parse_whole_text(sf_str *text, sf_decimal *decimal)
{
    *text = sf_text_trim(*text);
    const char *end = text->data + text->len;
    const char *stop = text->len ? sf_decimal_scan_loose(text->data, end, decimal) : NULL;
    return stop == end && text->len ? SF_PARSE_OK : SF_PARSE_BAD;
}

sf_parse sf_parse_i64(sf_str text, int64_t *out)
{
    sf_decimal decimal;
    sf_parse result = parse_whole_text(&text, &decimal);
    if (result != SF_PARSE_OK || !decimal.integer)
        return SF_PARSE_BAD;
    return sf_decimal_to_i64(&decimal, text, out);
}

sf_parse sf_parse_whole(sf_str text, int64_t *out)
{
    sf_decimal decimal;
    sf_parse result = parse_whole_text(&text, &decimal);
    return result == SF_PARSE_OK ? sf_decimal_to_i64(&decimal, text, out) : result;
}

sf_parse sf_parse_f64(sf_str text, double *out)
{
    sf_decimal decimal;
    sf_parse result = parse_whole_text(&text, &decimal);
    return result == SF_PARSE_OK ? sf_decimal_to_f64(&decimal, text, out) : result;
}

sf_parse sf_parse_bool(sf_str text, bool *out)
{
    text = sf_text_trim(text);
    *out = sf_str_eq_nocase(text, SF_STR("true"));
    return *out || sf_str_eq_nocase(text, SF_STR("false")) ? SF_PARSE_OK : SF_PARSE_BAD;
}

/* Numbers to text. Doubles take the shortest digits that read back equal. The common range is
 * solved exactly in 128 bits: scale the interval of all decimals that round to this double to
 * integers of 17 digits, then cut digits for as long as a multiple of the next power of ten still
 * lies inside. */
#include "text/scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char digit_pairs[200] = "00010203040506070809101112131415161718192021222324"
                                     "25262728293031323334353637383940414243444546474849"
                                     "50515253545556575859606162636465666768697071727374"
                                     "75767778798081828384858687888990919293949596979899";

size_t sf_print_u64(char out[SF_NUMBER_MAX], uint64_t value)
{
    char text[20];
    size_t at = sizeof text;
    while (value >= 100) {
        at -= 2;
        memcpy(text + at, digit_pairs + 2 * (value % 100), 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(text + at, digit_pairs + 2 * value, 2);
    } else {
        text[--at] = (char)('0' + value);
    }
    memcpy(out, text + at, sizeof text - at);
    return sizeof text - at;
}

size_t sf_print_i64(char out[SF_NUMBER_MAX], int64_t value)
{
    if (value >= 0)
        return sf_print_u64(out, (uint64_t)value);
    out[0] = '-';
    char digits[SF_NUMBER_MAX];
    size_t len = sf_print_u64(digits, 0 - (uint64_t)value);
    memcpy(out + 1, digits, len);
    return len + 1;
}

/* ---- shortest digits: value = digits * 10^exponent ---- */

typedef struct {
    uint64_t digits;
    int exponent;
} shortest;

typedef unsigned __int128 u128;

/* value in [1e-10, 1e15). */
static shortest shortest_exact(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | (UINT64_C(1) << 52);
    int binary = (int)(bits >> 52) - 1075;
    /* Decimal places that make 17 or 18 digits; log10(2) is a little under 78913 / 2^18. */
    int top = ((binary + 52) * 78913) >> 18;
    unsigned places = (unsigned)(16 - top);
    unsigned shift = (unsigned)(2 - binary - (int)places);
    uint64_t five = sf_pow5_u64(places);
    bool narrow = mantissa == UINT64_C(1) << 52; /* the neighbour below is half as far away */
    u128 middle = (u128)(4 * mantissa) * five;
    u128 low = (u128)(4 * mantissa - (narrow ? 1 : 2)) * five;
    u128 high = (u128)(4 * mantissa + 2) * five;
    /* Even mantissas win ties, so that the ends of their interval belong to them. */
    bool closed = (mantissa & 1) == 0;
    uint64_t below = (uint64_t)((closed ? low - 1 : low) >> shift);   /* excluded */
    uint64_t above = (uint64_t)((closed ? high : high - 1) >> shift); /* included */
    uint64_t power = 1;
    int cut = 0;
    while (below / 10 < above / 10) {
        below /= 10;
        above /= 10;
        power *= 10;
        cut++;
    }
    /* Of the multiples of power inside, the one nearest to the value; ties to even. */
    uint64_t floor_q = (uint64_t)(middle >> shift) / power;
    u128 step = (u128)power << shift, under = middle - (u128)floor_q * step;
    bool up = under * 2 > step || (under * 2 == step && (floor_q & 1));
    uint64_t q = floor_q + up;
    if (q <= below)
        q = below + 1;
    if (q > above)
        q = above;
    return (shortest){q, cut - (int)places};
}

/* Any finite value: ask the library for 15, 16, 17 digits. Fifteen always come back, save below the
 * normal range, where one may be enough. */
static shortest shortest_slow(double value)
{
    shortest found = {0};
    for (int precision = value < 2.3e-308 ? 0 : 14; precision <= 16; precision++) {
        char text[48], digits[48];
        snprintf(text, sizeof text, "%.*e", precision, value);
        const char *e = strchr(text, 'e');
        size_t n = 0;
        for (const char *at = text; at < e; at++)
            if (*at >= '0' && *at <= '9')
                digits[n++] = *at;
        int exponent = (int)strtol(e + 1, NULL, 10) - precision;
        digits[n] = '\0';
        found = (shortest){strtoull(digits, NULL, 10), exponent};
        snprintf(digits + n, sizeof digits - n, "e%d", exponent);
        if (strtod(digits, NULL) == value)
            break;
    }
    return found;
}

static size_t print_exponent_form(char *out, const char *digits, size_t count, int point)
{
    size_t len = 0;
    out[len++] = digits[0];
    if (count > 1) {
        out[len++] = '.';
        memcpy(out + len, digits + 1, count - 1);
        len += count - 1;
    }
    out[len++] = 'e';
    int exponent = point - 1;
    out[len++] = exponent < 0 ? '-' : '+';
    return len + sf_print_u64(out + len, (uint64_t)abs(exponent));
}

size_t sf_print_digits(char *out, const char *digits, size_t count, int point)
{
    if (point > 21 || point < -5)
        return print_exponent_form(out, digits, count, point);
    size_t len = 0;
    if (point <= 0) {
        memcpy(out, "0.00000", 2 + (size_t)-point);
        len = 2 + (size_t)-point;
        memcpy(out + len, digits, count);
        return len + count;
    }
    if ((size_t)point >= count) {
        memcpy(out, digits, count);
        memset(out + count, '0', (size_t)point - count);
        return (size_t)point;
    }
    memcpy(out, digits, (size_t)point);
    out[point] = '.';
    memcpy(out + point + 1, digits + point, count - (size_t)point);
    return count + 1;
}

size_t sf_print_f64(char out[SF_NUMBER_MAX], double value)
{
    double magnitude = fabs(value);
    if (!(magnitude <= 1.7976931348623157e308)) {
        const char *name = value != value ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
        memcpy(out, name, strlen(name));
        return strlen(name);
    }
    if (magnitude < 9007199254740992.0 && magnitude == (double)(int64_t)magnitude)
        return sf_print_i64(out, (int64_t)value);
    shortest s = magnitude >= 1e-10 && magnitude < 1e15 ? shortest_exact(magnitude)
                                                        : shortest_slow(magnitude);
    while (s.digits % 10 == 0) {
        s.digits /= 10;
        s.exponent++;
    }
    char digits[SF_NUMBER_MAX];
    size_t count = sf_print_u64(digits, s.digits), sign = value < 0;
    out[0] = '-';
    return sign + sf_print_digits(out + sign, digits, count, (int)count + s.exponent);
}

void sf_buf_put_i64_text(sf_buf *buf, int64_t value)
{
    if (sf_buf_reserve(buf, SF_NUMBER_MAX)) {
        buf->len += sf_print_i64(buf->data + buf->len, value);
        buf->data[buf->len] = '\0';
    }
}

void sf_buf_put_f64_text(sf_buf *buf, double value)
{
    if (sf_buf_reserve(buf, SF_NUMBER_MAX)) {
        buf->len += sf_print_f64(buf->data + buf->len, value);
        buf->data[buf->len] = '\0';
    }
}

void sf_json_put_f64(sf_buf *buf, double value)
{
    if (isfinite(value))
        sf_buf_put_f64_text(buf, value);
    else
        sf_buf_puts(buf, "null");
}

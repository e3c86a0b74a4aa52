/* scan.h: the block scanners of text.h for inner loops: find the end of a plain run, read digits
 * eight at a time. Everything is inline and reads only [at, end).
 *
 * Threads, memory: as text.h. */
#ifndef SF_TEXT_SCAN_H
#define SF_TEXT_SCAN_H

#include "text/text.h"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

static inline uint64_t sf_load_u64(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

#define SF_BYTES(b) (UINT64_C(0x0101010101010101) * (uint8_t)(b))

/* ---- plain runs of JSON strings ---- */

/* One block: bit i of *stop is set when byte i is a quote, a backslash or a control character, of
 * *high when it is not ASCII. */
#if defined(__AVX2__)
#define SF_SCAN_BLOCK 32
static inline void sf_scan_json_block(const char *at, uint32_t *stop, uint32_t *high)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)at);
    __m256i quote = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('"'));
    __m256i back = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\'));
    __m256i limit = _mm256_set1_epi8(0x1f);
    __m256i control = _mm256_cmpeq_epi8(_mm256_max_epu8(v, limit), limit);
    *stop = (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(_mm256_or_si256(quote, back), control));
    *high = (uint32_t)_mm256_movemask_epi8(v);
}
#elif defined(__SSE2__)
#define SF_SCAN_BLOCK 16
static inline void sf_scan_json_block(const char *at, uint32_t *stop, uint32_t *high)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    __m128i back = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    __m128i limit = _mm_set1_epi8(0x1f);
    __m128i control = _mm_cmpeq_epi8(_mm_max_epu8(v, limit), limit);
    *stop = (uint32_t)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, back), control));
    *high = (uint32_t)_mm_movemask_epi8(v);
}
#endif

static inline bool sf_json_stops(char c)
{
    return c == '"' || c == '\\' || (unsigned char)c < 0x20;
}

/* The first quote, backslash or control character, or end. *high becomes true when a byte before
 * it is not ASCII. */
static inline const char *sf_scan_json_plain(const char *at, const char *end, bool *high)
{
    uint32_t seen = 0;
#ifdef SF_SCAN_BLOCK
    while (end - at >= SF_SCAN_BLOCK) {
        uint32_t stop, tops;
        sf_scan_json_block(at, &stop, &tops);
        if (stop) {
            uint32_t n = (uint32_t)__builtin_ctz(stop);
            *high |= (seen | (tops & ((1u << n) - 1u))) != 0;
            return at + n;
        }
        seen |= tops;
        at += SF_SCAN_BLOCK;
    }
#else
    while (end - at >= 8) {
        uint64_t v = sf_load_u64(at), low = v & SF_BYTES(0x7f);
        uint64_t quote = v ^ SF_BYTES('"'), back = v ^ SF_BYTES('\\');
        uint64_t stop = ((quote - SF_BYTES(1)) & ~quote) | ((back - SF_BYTES(1)) & ~back) |
                        (~(low + SF_BYTES(0x60)) & ~v);
        if (stop & SF_BYTES(0x80))
            break;
        seen |= (v & SF_BYTES(0x80)) != 0;
        at += 8;
    }
#endif
    for (; at < end && !sf_json_stops(*at); at++)
        seen |= (uint32_t)((unsigned char)*at >> 7);
    *high |= seen != 0;
    return at;
}

/* The first quote or bracket, or end. */
static inline const char *sf_scan_json_structure(const char *at, const char *end)
{
#if defined(__SSE2__)
    /* Setting bit 5 makes [ and { one byte, ] and } another. */
    while (end - at >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i folded = _mm_or_si128(v, _mm_set1_epi8(0x20));
        __m128i open = _mm_cmpeq_epi8(folded, _mm_set1_epi8('{'));
        __m128i close = _mm_cmpeq_epi8(folded, _mm_set1_epi8('}'));
        __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
        __m128i any = _mm_or_si128(_mm_or_si128(open, close), quote);
        uint32_t mask = (uint32_t)_mm_movemask_epi8(any);
        if (mask)
            return at + __builtin_ctz(mask);
        at += 16;
    }
#endif
    while (at < end && *at != '"' && (*at | 0x20) != '{' && (*at | 0x20) != '}')
        at++;
    return at;
}

/* ---- digits ---- */

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the digit scanner reads words in little-endian order"
#endif

/* How many of the eight bytes are leading decimal digits. */
static inline unsigned sf_digit_run(uint64_t word)
{
    uint64_t x = word ^ SF_BYTES('0');
    uint64_t not_digit = ((x + SF_BYTES(0x76)) | x) & SF_BYTES(0x80);
    return not_digit ? (unsigned)__builtin_ctzll(not_digit) >> 3 : 8;
}

/* The value of eight digits 0..9, the first in the lowest byte: pairs, then fours, then all. */
static inline uint64_t sf_digits_sum(uint64_t x)
{
    x = (x * 10) + (x >> 8);
    x = (((x & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064)) +
         (((x >> 16) & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001))) >>
        32;
    return x & UINT32_MAX;
}

/* The value of the first n (1..8) bytes, all digits. */
static inline uint64_t sf_digits_value(uint64_t word, unsigned n)
{
    return sf_digits_sum((word ^ SF_BYTES('0')) << (64 - 8 * n));
}

extern const uint64_t sf_pow10_u64[20];
extern const double sf_pow10_f64[23];

static inline uint64_t sf_pow5_u64(unsigned n) /* n <= 27, the last one below 2^63 */
{
    /* 5^n = 10^n / 2^n, taken in two steps that fit 64 bits. */
    return n <= 19 ? sf_pow10_u64[n] >> n
                   : (sf_pow10_u64[19] >> 19) * (sf_pow10_u64[n - 19] >> (n - 19));
}

/* Appends a run of digits to *value; wraps when there are more than 19 in all. */
static inline const char *sf_scan_digits(const char *at, const char *end, uint64_t *value)
{
    uint64_t v = *value;
    while (end - at >= 8) {
        uint64_t word = sf_load_u64(at);
        unsigned n = sf_digit_run(word);
        if (n == 0) {
            *value = v;
            return at;
        }
        v = v * sf_pow10_u64[n] + sf_digits_value(word, n);
        at += n;
        if (n < 8) {
            *value = v;
            return at;
        }
    }
    for (; at < end && (unsigned char)(*at - '0') < 10; at++)
        v = v * 10 + (uint64_t)(*at - '0');
    *value = v;
    return at;
}

/* The rare parts of a number, out of line. After the letter e: NULL when no digits follow. */
const char *sf_scan_exponent(const char *at, const char *end, int32_t *out);
void sf_decimal_rescan(const char *at, const char *end, int64_t exponent, sf_decimal *decimal);

/* sf_decimal_scan_json and _loose for inner loops; `loose` wants to be a constant. */
static inline const char *sf_scan_decimal(const char *at, const char *end, bool loose,
                                          sf_decimal *out)
{
    sf_decimal d = {.integer = true};
    if (at < end && (*at == '-' || (loose && *at == '+'))) {
        d.negative = *at == '-';
        at++;
    }
    const char *first = at;
    at = sf_scan_digits(at, end, &d.digits);
    size_t whole = (size_t)(at - first), fraction = 0;
    if (!loose && (whole == 0 || (whole > 1 && *first == '0')))
        return NULL;
    if (at < end && *at == '.') {
        const char *dot = at;
        at = sf_scan_digits(at + 1, end, &d.digits);
        fraction = (size_t)(at - dot) - 1;
        d.integer = false;
        if (fraction == 0 && !loose)
            return NULL;
    }
    if (whole + fraction == 0)
        return NULL;
    int32_t exponent = 0;
    const char *digits_end = at;
    if (at < end && (*at | 0x20) == 'e') {
        d.integer = false;
        at = sf_scan_exponent(at + 1, end, &exponent);
        if (!at)
            return NULL;
    }
    d.exponent = exponent - (int32_t)fraction;
    if (SF_UNLIKELY(whole + fraction > 19))
        sf_decimal_rescan(first, digits_end, exponent, &d);
    *out = d;
    return at;
}

/* The exact cases of sf_decimal_to_f64 that need no more than one operation. */
static inline bool sf_decimal_quick_f64(const sf_decimal *d, double *out)
{
    if (d->inexact || d->digits > (UINT64_C(1) << 53) || d->exponent < -22 || d->exponent > 22)
        return false;
    double v = (double)d->digits;
    v = d->exponent < 0 ? v / sf_pow10_f64[-d->exponent] : v * sf_pow10_f64[d->exponent];
    *out = d->negative ? -v : v;
    return true;
}

/* Prints significant digits the way sf_print_f64 does; point of them stand before the decimal point
 * (negative: zeros follow it). Writes at most count + 16 bytes, and 21 for a short whole number. */
size_t sf_print_digits(char *out, const char *digits, size_t count, int point);

#endif

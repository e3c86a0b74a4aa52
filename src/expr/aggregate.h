/* aggregate.h: accumulators and exact arithmetic behind them. Private to this module. */
#ifndef SF_EXPR_AGGREGATE_H
#define SF_EXPR_AGGREGATE_H

#include "expr/expr.h"

typedef void sf_agg_update(uint8_t *const *states, size_t offset, const sf_column *const *args,
                           const int64_t *weights, uint32_t count);
typedef uint32_t sf_agg_finish(uint8_t *const *states, size_t offset, uint32_t count,
                               sf_builder *out);

#define INLINE(name, arg, result, when, words, update, finish)                                     \
    sf_agg_update sf_agg_update_##update;                                                          \
    sf_agg_finish sf_agg_finish_##finish;
#include "expr/aggregates.def"

static inline uint64_t *sf_agg_state(uint8_t *const *states, uint32_t i, size_t offset)
{
    return (uint64_t *)(void *)(states[i] + offset);
}

/* ---- whole numbers of several words, least significant first, two's complement ---- */

/* The number as fraction * 2^exponent, the fraction correctly rounded; 0 is 0. */
double sf_wide_to_f64(const uint64_t *words, uint32_t count, int32_t *exponent);
/* product[0..count] = words * factor, both signed. */
void sf_wide_scale(const uint64_t *words, uint32_t count, int64_t factor, uint64_t *product);
/* square[0..2*count-1] = words squared; words signed. */
void sf_wide_square(const uint64_t *words, uint32_t count, uint64_t *square);
/* product[0..2*count-1] = a * b, all signed. */
void sf_wide_multiply(const uint64_t *a, const uint64_t *b, uint32_t count, uint64_t *product);
/* a -= b * 2^(64 * shift_words); b signed. */
void sf_wide_subtract(uint64_t *a, uint32_t a_count, const uint64_t *b, uint32_t b_count,
                      uint32_t shift_words);

/* ---- exact sums of doubles ----
 *
 * A sum is a whole number of units (the smallest double, or its square), held in a window of a few
 * words over the range of doubles; word 0 of the window is word *base of the range. While all
 * values fit into the window sums are exact, whatever comes and goes in whatever order. The window
 * moves when a value does not fit; low bits are cut off only when both its ends are in use. Four
 * words hold values whose magnitudes span 2^100, 2^39 of the largest at a time; six words hold
 * their squares while magnitudes span 2^88. */

enum { SF_WINDOW_SUM = 4, SF_WINDOW_SQUARES = 6 };

/* term words at `word` of the range, any position. */
void sf_window_add_slow(uint64_t *window, uint32_t count, uint32_t *base, const uint64_t *term,
                        uint32_t term_count, uint32_t word, bool negative);
/* Frees the top word, whose headroom is used up. */
void sf_window_lift(uint64_t *window, uint32_t count, uint32_t *base);

static inline void sf_window_add(uint64_t *window, uint32_t count, uint32_t *base,
                                 const uint64_t *term, uint32_t term_count, uint32_t word,
                                 bool negative)
{
    uint32_t at = word - *base;
    if (SF_UNLIKELY(at > count - term_count)) { /* below the window: wraps around */
        sf_window_add_slow(window, count, base, term, term_count, word, negative);
        return;
    }
    uint64_t sign = negative ? UINT64_MAX : 0;
    uint64_t carry = negative;
    for (uint32_t k = 0; k < term_count; k++) {
        unsigned __int128 sum = (unsigned __int128)window[at + k] + (term[k] ^ sign) + carry;
        window[at + k] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
    for (uint32_t k = at + term_count; k < count; k++) {
        unsigned __int128 sum = (unsigned __int128)window[k] + sign + carry;
        window[k] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
    if (SF_UNLIKELY((window[count - 1] + (1ULL << 62)) >> 63))
        sf_window_lift(window, count, base);
}

/* A double as mantissa * 2^(place - 1074). */
static inline uint64_t sf_f64_mantissa(double value, uint32_t *place, bool *negative)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t exponent = (uint32_t)(bits >> 52) & 0x7ff;
    *negative = bits >> 63;
    *place = exponent ? exponent - 1 : 0;
    return (bits & 0xfffffffffffffULL) | (uint64_t)(exponent != 0) << 52;
}

#endif

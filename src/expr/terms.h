/* terms.h: doubles and products of two as terms of exact sums. Private to this module.
 *
 * A sum of doubles counts units of the smallest one, a sum of products units of its square. */
#ifndef SF_EXPR_TERMS_H
#define SF_EXPR_TERMS_H

#include "expr/aggregate.h"

#include <math.h>

enum { UNIT = 1074, UNIT_SQUARED = 2148 };

/* number * 2^shift as words. */
static inline void spread(unsigned __int128 number, uint32_t shift, uint64_t term[3])
{
    term[0] = (uint64_t)(number << shift);
    term[1] = (uint64_t)(number << shift >> 64);
    term[2] = shift ? (uint64_t)(number >> 64) >> (64 - shift) : 0;
}

static inline void add_value(uint64_t *window, uint32_t *base, double value)
{
    uint32_t place;
    bool negative;
    uint64_t mantissa = sf_f64_mantissa(value, &place, &negative);
    if (mantissa == 0)
        return;
    unsigned __int128 term = (unsigned __int128)mantissa << (place & 63);
    uint64_t words[2] = {(uint64_t)term, (uint64_t)(term >> 64)};
    sf_window_add(window, SF_WINDOW_SUM, base, words, 2, place >> 6, negative);
}

static inline uint64_t magnitude_of(int64_t weight)
{
    return weight < 0 ? 0 - (uint64_t)weight : (uint64_t)weight;
}

static inline void add_weighted(uint64_t *window, uint32_t *base, double value, int64_t weight)
{
    uint32_t place;
    bool negative;
    uint64_t mantissa = sf_f64_mantissa(value, &place, &negative), term[3];
    if (mantissa == 0 || weight == 0)
        return;
    spread((unsigned __int128)mantissa * magnitude_of(weight), place & 63, term);
    sf_window_add(window, SF_WINDOW_SUM, base, term, 3, place >> 6, negative != (weight < 0));
}

static inline void add_product(uint64_t *window, uint32_t *base, double a, double b, int64_t weight)
{
    uint32_t place, other_place;
    bool negative, other_negative;
    uint64_t mantissa = sf_f64_mantissa(a, &place, &negative);
    uint64_t other = sf_f64_mantissa(b, &other_place, &other_negative);
    if (mantissa == 0 || other == 0 || weight == 0)
        return;
    unsigned __int128 product = (unsigned __int128)mantissa * other;
    place += other_place;
    negative = (negative != other_negative) != (weight < 0);
    uint32_t shift = place & 63;
    uint64_t term[4] = {0};
    if (weight == 1 || weight == -1) {
        spread(product, shift, term);
        sf_window_add(window, SF_WINDOW_SQUARES, base, term, 3, place >> 6, negative);
        return;
    }
    unsigned __int128 low = (unsigned __int128)(uint64_t)product * magnitude_of(weight);
    unsigned __int128 high = (product >> 64) * magnitude_of(weight) + (low >> 64);
    spread((high << 64) | (uint64_t)low, shift, term);
    uint64_t third = (uint64_t)(high >> 64);
    term[2] |= third << shift;
    term[3] = shift ? third >> (64 - shift) : 0;
    sf_window_add(window, SF_WINDOW_SQUARES, base, term, 4, place >> 6, negative);
}

/* value = window * 2^(64 * base - unit), the result's exponent with it. */
static inline double window_value(const uint64_t *window, uint32_t count, uint32_t base,
                                  int32_t unit, int32_t *exponent)
{
    double fraction = sf_wide_to_f64(window, count, exponent);
    *exponent += (int32_t)(64 * base) - unit;
    return fraction;
}

/* False and a NULL when out of range. */
static inline bool put_f64(sf_builder *out, double value)
{
    if (!isfinite(value)) {
        sf_builder_null(out);
        return false;
    }
    sf_builder_f64(out, value + 0.0);
    return true;
}

#endif

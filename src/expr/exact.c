/* Exact arithmetic behind SUM, AVG and the variances. */
#include "expr/aggregate.h"

static bool is_negative(const uint64_t *words, uint32_t count)
{
    return words[count - 1] >> 63;
}

static void negate(uint64_t *words, uint32_t count)
{
    uint64_t carry = 1;
    for (uint32_t k = 0; k < count; k++) {
        words[k] = ~words[k] + carry;
        carry = carry && words[k] == 0;
    }
}

enum { WORDS_MAX = 96 };

double sf_wide_to_f64(const uint64_t *words, uint32_t count, int32_t *exponent)
{
    uint64_t magnitude[WORDS_MAX];
    SF_ASSERT(count <= WORDS_MAX);
    memcpy(magnitude, words, count * sizeof *words);
    bool negative = is_negative(words, count);
    if (negative)
        negate(magnitude, count);
    *exponent = 0;
    uint32_t top = count;
    while (top > 0 && magnitude[top - 1] == 0)
        top--;
    if (top == 0)
        return 0;
    uint32_t zeros = (uint32_t)__builtin_clzll(magnitude[top - 1]);
    uint64_t head = magnitude[top - 1] << zeros;
    uint64_t rest = 0;
    if (top > 1) {
        head |= zeros ? magnitude[top - 2] >> (64 - zeros) : 0;
        rest = magnitude[top - 2] << zeros;
    }
    for (uint32_t k = 0; k + 2 < top; k++)
        rest |= magnitude[k];
    /* 64 bits with a sticky last one round to 53 as the whole number would. */
    double fraction = (double)(head | (rest != 0));
    *exponent = (int32_t)(64 * (top - 1)) - (int32_t)zeros;
    return negative ? -fraction : fraction;
}

void sf_wide_scale(const uint64_t *words, uint32_t count, int64_t factor, uint64_t *product)
{
    uint64_t magnitude[WORDS_MAX];
    SF_ASSERT(count < WORDS_MAX);
    memcpy(magnitude, words, count * sizeof *words);
    bool negative = is_negative(words, count);
    if (negative)
        negate(magnitude, count);
    uint64_t by = factor < 0 ? 0 - (uint64_t)factor : (uint64_t)factor, carry = 0;
    for (uint32_t k = 0; k < count; k++) {
        unsigned __int128 step = (unsigned __int128)magnitude[k] * by + carry;
        product[k] = (uint64_t)step;
        carry = (uint64_t)(step >> 64);
    }
    product[count] = carry;
    if (negative != (factor < 0))
        negate(product, count + 1);
}

void sf_wide_multiply(const uint64_t *a, const uint64_t *b, uint32_t count, uint64_t *product)
{
    uint64_t left[WORDS_MAX], right[WORDS_MAX];
    SF_ASSERT(count <= WORDS_MAX);
    memcpy(left, a, count * sizeof *a);
    memcpy(right, b, count * sizeof *b);
    if (is_negative(a, count))
        negate(left, count);
    if (is_negative(b, count))
        negate(right, count);
    memset(product, 0, 2 * count * sizeof *product);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t carry = 0;
        for (uint32_t j = 0; j < count; j++) {
            unsigned __int128 step = (unsigned __int128)left[i] * right[j] + product[i + j] + carry;
            product[i + j] = (uint64_t)step;
            carry = (uint64_t)(step >> 64);
        }
        product[i + count] = carry;
    }
    if (is_negative(a, count) != is_negative(b, count))
        negate(product, 2 * count);
}

void sf_wide_square(const uint64_t *words, uint32_t count, uint64_t *square)
{
    sf_wide_multiply(words, words, count, square);
}

void sf_wide_subtract(uint64_t *a, uint32_t a_count, const uint64_t *b, uint32_t b_count,
                      uint32_t shift_words)
{
    uint64_t fill = is_negative(b, b_count) ? UINT64_MAX : 0, borrow = 0;
    for (uint32_t k = shift_words; k < a_count; k++) {
        uint64_t take = k - shift_words < b_count ? b[k - shift_words] : fill;
        uint64_t difference = a[k] - take, left = difference - borrow;
        borrow = (a[k] < take) | (difference < borrow);
        a[k] = left;
    }
}

/* ---- windows ---- */

static bool is_zero(const uint64_t *window, uint32_t count)
{
    uint64_t any = 0;
    for (uint32_t k = 0; k < count; k++)
        any |= window[k];
    return any == 0;
}

/* Towards larger values; the lowest word is cut off. */
static void shift_up(uint64_t *window, uint32_t count, uint32_t *base)
{
    uint64_t sign = is_negative(window, count) ? UINT64_MAX : 0;
    memmove(window, window + 1, (count - 1) * sizeof *window);
    window[count - 1] = sign;
    (*base)++;
}

/* Towards smaller values, when the top word carries nothing. */
static bool shift_down(uint64_t *window, uint32_t count, uint32_t *base)
{
    uint64_t sign = is_negative(window, count) ? UINT64_MAX : 0;
    bool roomy = (window[count - 2] ^ sign) >> 62 == 0;
    if (*base == 0 || window[count - 1] != sign || !roomy)
        return false;
    memmove(window + 1, window, (count - 1) * sizeof *window);
    window[0] = 0;
    (*base)--;
    return true;
}

void sf_window_lift(uint64_t *window, uint32_t count, uint32_t *base)
{
    shift_up(window, count, base);
}

void sf_window_add_slow(uint64_t *window, uint32_t count, uint32_t *base, const uint64_t *term,
                        uint32_t term_count, uint32_t word, bool negative)
{
    while (term_count > 1 && term[term_count - 1] == 0 && term[term_count - 2] >> 62 == 0)
        term_count--;
    if (is_zero(window, count)) {
        memset(window, 0, count * sizeof *window);
        *base = word > 0 ? word - 1 : 0;
    }
    while (word + term_count > *base + count)
        shift_up(window, count, base);
    while (word < *base && shift_down(window, count, base)) {
    }
    if (word < *base) { /* what lies below the window is cut off */
        uint32_t below = *base - word;
        if (below >= term_count)
            return;
        term += below;
        term_count -= below;
        word = *base;
    }
    sf_window_add(window, count, base, term, term_count, word, negative);
}

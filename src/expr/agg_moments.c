/* SUM and AVG of Doubles, and the variances of both: from exact sums of values and of squares, so
 * that they are right for large numbers close together and what is taken back leaves no trace. */
#include "expr/terms.h"

/* ---- SUM, AVG of Doubles: the window, then (how many << 8 | base) ---- */

void sf_agg_update_sum_f64(uint8_t *const *states, size_t offset, const sf_column *const *args,
                           const int64_t *weights, uint32_t count)
{
    const sf_column *arg = args[0];
    const double *values = arg->data;
    bool plain = !arg->valid && !weights;
    for (uint32_t i = 0; i < count; i++) {
        if (!plain && !sf_column_is_valid(arg, i))
            continue;
        uint64_t *state = sf_agg_state(states, i, offset), tag = state[SF_WINDOW_SUM];
        uint32_t base = (uint8_t)tag;
        int64_t weight = weights ? weights[i] : 1;
        if (SF_LIKELY(weight == 1))
            add_value(state, &base, values[i]);
        else
            add_weighted(state, &base, values[i], weight);
        tag += (uint64_t)weight << 8;
        state[SF_WINDOW_SUM] = (tag & ~0xffULL) | (uint8_t)base;
    }
}

static uint32_t finish_f64(uint8_t *const *states, size_t offset, uint32_t count, sf_builder *out,
                           bool mean)
{
    uint32_t out_of_range = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *state = sf_agg_state(states, i, offset);
        int64_t values = (int64_t)state[SF_WINDOW_SUM] >> 8;
        if (values == 0) {
            sf_builder_null(out);
            continue;
        }
        int32_t exponent;
        double sum =
            window_value(state, SF_WINDOW_SUM, (uint8_t)state[SF_WINDOW_SUM], UNIT, &exponent);
        out_of_range += !put_f64(out, ldexp(mean ? sum / (double)values : sum, exponent));
    }
    return out_of_range;
}

uint32_t sf_agg_finish_sum_f64(uint8_t *const *states, size_t offset, uint32_t count,
                               sf_builder *out)
{
    return finish_f64(states, offset, count, out, false);
}

uint32_t sf_agg_finish_avg_f64(uint8_t *const *states, size_t offset, uint32_t count,
                               sf_builder *out)
{
    return finish_f64(states, offset, count, out, true);
}

/* ---- variances ---- */

typedef enum { VAR_SAMP, VAR_POP, STDDEV_SAMP, STDDEV_POP } spread_kind;

/* n * sum of squares - square of sum, which is n^2 times the population's variance, is fraction *
 * 2^exponent. False: out of range. */
static bool put_spread(sf_builder *out, spread_kind kind, int64_t n, double fraction,
                       int32_t exponent)
{
    bool sample = kind == VAR_SAMP || kind == STDDEV_SAMP;
    if (n <= 0 || (sample && n == 1)) {
        sf_builder_null(out);
        return true;
    }
    if (fraction < 0) /* squares were cut off */
        fraction = 0;
    double over = (double)n * (double)(sample ? n - 1 : n);
    if (kind == VAR_SAMP || kind == VAR_POP)
        return put_f64(out, ldexp(fraction / over, exponent));
    if (exponent & 1) {
        fraction *= 2;
        exponent--;
    }
    return put_f64(out, ldexp(sqrt(fraction / over), exponent / 2));
}

/* The window of values, the window of squares, then (how many << 16 | base of squares << 8 | base
 * of values). */
enum { TAG = SF_WINDOW_SUM + SF_WINDOW_SQUARES };

void sf_agg_update_moments_f64(uint8_t *const *states, size_t offset, const sf_column *const *args,
                               const int64_t *weights, uint32_t count)
{
    const sf_column *arg = args[0];
    const double *values = arg->data;
    for (uint32_t i = 0; i < count; i++) {
        if (!sf_column_is_valid(arg, i))
            continue;
        int64_t weight = weights ? weights[i] : 1;
        if (weight == 0)
            continue;
        uint64_t *state = sf_agg_state(states, i, offset), tag = state[TAG];
        uint32_t base = (uint8_t)tag, square_base = (uint8_t)(tag >> 8);
        if (weight == 1)
            add_value(state, &base, values[i]);
        else
            add_weighted(state, &base, values[i], weight);
        add_product(state + SF_WINDOW_SUM, &square_base, values[i], values[i], weight);
        tag += (uint64_t)weight << 16;
        state[TAG] = (tag & ~0xffffULL) | (uint64_t)(uint8_t)square_base << 8 | (uint8_t)base;
    }
}

static uint32_t finish_moments_f64(uint8_t *const *states, size_t offset, uint32_t count,
                                   sf_builder *out, spread_kind kind)
{
    enum { SUM_SQUARED = 2 * SF_WINDOW_SUM, WORDS = 90 };
    uint32_t out_of_range = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *state = sf_agg_state(states, i, offset);
        int64_t n = (int64_t)state[TAG] >> 16;
        uint32_t base = 2 * (uint32_t)(uint8_t)state[TAG];
        uint32_t square_base = (uint8_t)(state[TAG] >> 8);
        uint32_t low = base < square_base ? base : square_base;
        uint64_t scaled[SF_WINDOW_SQUARES + 1], square[SUM_SQUARED], all[WORDS] = {0};
        sf_wide_scale(state + SF_WINDOW_SUM, SF_WINDOW_SQUARES, n, scaled);
        sf_wide_square(state, SF_WINDOW_SUM, square);
        uint32_t high = (base > square_base ? base : square_base) + SUM_SQUARED + 2;
        uint32_t words = high - low < WORDS ? high - low : WORDS;
        /* 0 - (-scaled) - square, both in place */
        uint64_t negated[SF_WINDOW_SQUARES + 1] = {0};
        sf_wide_subtract(negated, SF_WINDOW_SQUARES + 1, scaled, SF_WINDOW_SQUARES + 1, 0);
        sf_wide_subtract(all, words, negated, SF_WINDOW_SQUARES + 1, square_base - low);
        sf_wide_subtract(all, words, square, SUM_SQUARED, base - low);
        int32_t exponent;
        double fraction = window_value(all, words, low, UNIT_SQUARED, &exponent);
        out_of_range += !put_spread(out, kind, n, fraction, exponent);
    }
    return out_of_range;
}

/* Longs: sum of values in two words, of squares in three, then how many. */

void sf_agg_update_moments_i64(uint8_t *const *states, size_t offset, const sf_column *const *args,
                               const int64_t *weights, uint32_t count)
{
    const sf_column *arg = args[0];
    const int64_t *values = arg->data;
    for (uint32_t i = 0; i < count; i++) {
        if (!sf_column_is_valid(arg, i))
            continue;
        int64_t weight = weights ? weights[i] : 1;
        uint64_t *state = sf_agg_state(states, i, offset);
        unsigned __int128 sum = (unsigned __int128)state[1] << 64 | state[0];
        sum += (unsigned __int128)((__int128)values[i] * weight);
        state[0] = (uint64_t)sum;
        state[1] = (uint64_t)(sum >> 64);
        unsigned __int128 square = (unsigned __int128)((__int128)values[i] * values[i]);
        uint64_t words[2] = {(uint64_t)square, (uint64_t)(square >> 64)}, less[3];
        sf_wide_scale(words, 2, weight, less); /* squares stay below 2^127: no sign in the way */
        uint64_t negated[3] = {0};
        sf_wide_subtract(negated, 3, less, 3, 0);
        sf_wide_subtract(state + 2, 3, negated, 3, 0);
        state[5] += (uint64_t)weight;
    }
}

static uint32_t finish_moments_i64(uint8_t *const *states, size_t offset, uint32_t count,
                                   sf_builder *out, spread_kind kind)
{
    uint32_t out_of_range = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *state = sf_agg_state(states, i, offset);
        int64_t n = (int64_t)state[5];
        uint64_t scaled[5], square[4];
        sf_wide_scale(state + 2, 3, n, scaled);
        scaled[4] = scaled[3] >> 63 ? UINT64_MAX : 0;
        sf_wide_square(state, 2, square);
        sf_wide_subtract(scaled, 5, square, 4, 0);
        int32_t exponent;
        double fraction = sf_wide_to_f64(scaled, 5, &exponent);
        out_of_range += !put_spread(out, kind, n, fraction, exponent);
    }
    return out_of_range;
}

#define DEFINE_SPREAD(NAME, KIND)                                                                  \
    uint32_t sf_agg_finish_##NAME##_f64(uint8_t *const *states, size_t offset, uint32_t count,     \
                                        sf_builder *out)                                           \
    {                                                                                              \
        return finish_moments_f64(states, offset, count, out, KIND);                               \
    }                                                                                              \
    uint32_t sf_agg_finish_##NAME##_i64(uint8_t *const *states, size_t offset, uint32_t count,     \
                                        sf_builder *out)                                           \
    {                                                                                              \
        return finish_moments_i64(states, offset, count, out, KIND);                               \
    }
DEFINE_SPREAD(var_samp, VAR_SAMP)
DEFINE_SPREAD(var_pop, VAR_POP)
DEFINE_SPREAD(stddev_samp, STDDEV_SAMP)
DEFINE_SPREAD(stddev_pop, STDDEV_POP)

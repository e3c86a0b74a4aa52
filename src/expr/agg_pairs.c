/* Covariance, correlation, linear regression: from exact sums of both values, of their squares and of
 * their products, so that what is taken back leaves no trace. */
#include "expr/terms.h"

/* Words of the accumulator. TAGS: the bases of the five windows, a byte each. */
enum {
    SUM_Y = 0,
    SUM_X = SUM_Y + SF_WINDOW_SUM,
    SUM_YY = SUM_X + SF_WINDOW_SUM,
    SUM_XX = SUM_YY + SF_WINDOW_SQUARES,
    SUM_XY = SUM_XX + SF_WINDOW_SQUARES,
    TAGS = SUM_XY + SF_WINDOW_SQUARES,
    COUNT,
};

static const uint32_t windows[] = {SUM_Y, SUM_X, SUM_YY, SUM_XX, SUM_XY};

static uint32_t base_of(const uint64_t *state, uint32_t window)
{
    uint32_t number = 0;
    while (windows[number] != window)
        number++;
    return (uint8_t)(state[TAGS] >> (8 * number));
}

void sf_agg_update_pairs(uint8_t *const *states, size_t offset, const sf_column *const *args,
                         const int64_t *weights, uint32_t count)
{
    const double *ys = args[0]->data, *xs = args[1]->data;
    for (uint32_t i = 0; i < count; i++) {
        if (!sf_column_is_valid(args[0], i) || !sf_column_is_valid(args[1], i))
            continue;
        uint64_t *state = sf_agg_state(states, i, offset), tags = 0;
        int64_t weight = weights ? weights[i] : 1;
        uint32_t bases[SF_COUNT_OF(windows)];
        for (uint32_t w = 0; w < SF_COUNT_OF(windows); w++)
            bases[w] = base_of(state, windows[w]);
        add_weighted(state + SUM_Y, &bases[0], ys[i], weight);
        add_weighted(state + SUM_X, &bases[1], xs[i], weight);
        add_product(state + SUM_YY, &bases[2], ys[i], ys[i], weight);
        add_product(state + SUM_XX, &bases[3], xs[i], xs[i], weight);
        add_product(state + SUM_XY, &bases[4], xs[i], ys[i], weight);
        for (uint32_t w = 0; w < SF_COUNT_OF(windows); w++)
            tags |= (uint64_t)(uint8_t)bases[w] << (8 * w);
        state[TAGS] = tags;
        state[COUNT] += (uint64_t)weight;
    }
}

/* value = fraction * 2^exponent. */
typedef struct {
    double fraction;
    int32_t exponent;
} scaled;

static scaled sum_at(const uint64_t *state, uint32_t window)
{
    scaled sum;
    sum.fraction =
        window_value(state + window, SF_WINDOW_SUM, base_of(state, window), UNIT, &sum.exponent);
    return sum;
}

/* n * sum of a * b - sum of a * sum of b: n^2 times the population's covariance. */
static scaled comoment(const uint64_t *state, uint32_t products, uint32_t a, uint32_t b)
{
    enum { PRODUCT = 2 * SF_WINDOW_SUM, WORDS = 90 };
    uint32_t base = base_of(state, a) + base_of(state, b), product_base = base_of(state, products);
    uint32_t low = base < product_base ? base : product_base;
    uint32_t high = (base > product_base ? base : product_base) + PRODUCT + 2;
    uint32_t words = high - low < WORDS ? high - low : WORDS;
    uint64_t times[SF_WINDOW_SQUARES + 1], product[PRODUCT], all[WORDS] = {0};
    uint64_t negated[SF_WINDOW_SQUARES + 1] = {0};
    scaled result;
    sf_wide_scale(state + products, SF_WINDOW_SQUARES, (int64_t)state[COUNT], times);
    sf_wide_multiply(state + a, state + b, SF_WINDOW_SUM, product);
    sf_wide_subtract(negated, SF_WINDOW_SQUARES + 1, times, SF_WINDOW_SQUARES + 1, 0);
    sf_wide_subtract(all, words, negated, SF_WINDOW_SQUARES + 1, product_base - low);
    sf_wide_subtract(all, words, product, PRODUCT, base - low);
    result.fraction = window_value(all, words, low, UNIT_SQUARED, &result.exponent);
    return result;
}

static double value_of(scaled number, double over)
{
    return ldexp(number.fraction / over, number.exponent);
}

typedef enum {
    COVAR_POP,
    COVAR_SAMP,
    CORR,
    REGR_SLOPE,
    REGR_INTERCEPT,
    REGR_R2,
    REGR_AVGX,
    REGR_AVGY,
    REGR_SXX,
    REGR_SYY,
    REGR_SXY,
} pair_kind;

/* xy / sqrt(xx * yy), in parts that stay in range. */
static double correlation(scaled xy, scaled xx, scaled yy)
{
    int32_t both = xx.exponent + yy.exponent, odd = both & 1;
    double root = sqrt(xx.fraction) * sqrt(yy.fraction * (odd ? 2 : 1));
    double value = ldexp(xy.fraction / root, xy.exponent - (both - odd) / 2);
    return value > 1 ? 1 : value < -1 ? -1 : value;
}

static double slope(scaled xy, scaled xx)
{
    return ldexp(xy.fraction / xx.fraction, xy.exponent - xx.exponent);
}

/* NAN: there is none. */
static double regression(pair_kind kind, const uint64_t *state, scaled xx, scaled xy)
{
    double n = (double)(int64_t)state[COUNT], r;
    scaled yy = comoment(state, SUM_YY, SUM_Y, SUM_Y);
    switch (kind) {
    case COVAR_POP: return value_of(xy, n * n);
    case COVAR_SAMP: return n > 1 ? value_of(xy, n * (n - 1)) : NAN;
    case CORR: return xx.fraction > 0 && yy.fraction > 0 ? correlation(xy, xx, yy) : NAN;
    case REGR_SLOPE: return xx.fraction > 0 ? slope(xy, xx) : NAN;
    case REGR_INTERCEPT:
        return xx.fraction > 0 ? value_of(sum_at(state, SUM_Y), n) -
                                     slope(xy, xx) * value_of(sum_at(state, SUM_X), n)
                               : NAN;
    case REGR_R2:
        if (xx.fraction <= 0)
            return NAN;
        r = yy.fraction > 0 ? correlation(xy, xx, yy) : 1;
        return r * r;
    case REGR_AVGX: return value_of(sum_at(state, SUM_X), n);
    case REGR_AVGY: return value_of(sum_at(state, SUM_Y), n);
    case REGR_SXX: return value_of(xx, n);
    case REGR_SYY: return value_of(yy, n);
    case REGR_SXY: return value_of(xy, n);
    }
    return NAN;
}

static uint32_t finish_pairs(uint8_t *const *states, size_t offset, uint32_t count, sf_builder *out,
                             pair_kind kind)
{
    uint32_t out_of_range = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *state = sf_agg_state(states, i, offset);
        double value = NAN;
        if ((int64_t)state[COUNT] > 0)
            value = regression(kind, state, comoment(state, SUM_XX, SUM_X, SUM_X),
                               comoment(state, SUM_XY, SUM_X, SUM_Y));
        if (isnan(value))
            sf_builder_null(out);
        else
            out_of_range += !put_f64(out, value);
    }
    return out_of_range;
}

#define DEFINE_PAIRS(NAME, KIND)                                                                   \
    uint32_t sf_agg_finish_##NAME(uint8_t *const *states, size_t offset, uint32_t count,           \
                                  sf_builder *out)                                                 \
    {                                                                                              \
        return finish_pairs(states, offset, count, out, KIND);                                     \
    }
DEFINE_PAIRS(covar_pop, COVAR_POP)
DEFINE_PAIRS(covar_samp, COVAR_SAMP)
DEFINE_PAIRS(corr, CORR)
DEFINE_PAIRS(regr_slope, REGR_SLOPE)
DEFINE_PAIRS(regr_intercept, REGR_INTERCEPT)
DEFINE_PAIRS(regr_r2, REGR_R2)
DEFINE_PAIRS(regr_avgx, REGR_AVGX)
DEFINE_PAIRS(regr_avgy, REGR_AVGY)
DEFINE_PAIRS(regr_sxx, REGR_SXX)
DEFINE_PAIRS(regr_syy, REGR_SYY)
DEFINE_PAIRS(regr_sxy, REGR_SXY)

uint32_t sf_agg_finish_regr_count(uint8_t *const *states, size_t offset, uint32_t count,
                                  sf_builder *out)
{
    for (uint32_t i = 0; i < count; i++)
        sf_builder_i64(out, (int64_t)sf_agg_state(states, i, offset)[COUNT]);
    return 0;
}

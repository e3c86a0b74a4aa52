/* COUNT, sums of Longs, MIN and MAX of what only grows, BOOL_AND, BOOL_OR, bits. */
#include "expr/aggregate.h"

#include <math.h>

static inline int64_t weight_of(const int64_t *weights, uint32_t i)
{
    return weights ? weights[i] : 1;
}

/* The loop of an update: BODY sees `state` and `i`; rows without a value are left out. The common
 * case, no NULLs and no weights, gets a loop of its own. */
#define EACH_VALUE(BODY)                                                                           \
    do {                                                                                           \
        const sf_column *arg = args[0];                                                            \
        if (!arg->valid && !weights) {                                                             \
            for (uint32_t i = 0; i < count; i++) {                                                 \
                uint64_t *state = sf_agg_state(states, i, offset);                                 \
                const int64_t weight = 1;                                                          \
                BODY                                                                               \
            }                                                                                      \
        } else {                                                                                   \
            for (uint32_t i = 0; i < count; i++) {                                                 \
                if (!sf_column_is_valid(arg, i))                                                   \
                    continue;                                                                      \
                uint64_t *state = sf_agg_state(states, i, offset);                                 \
                const int64_t weight = weight_of(weights, i);                                      \
                BODY                                                                               \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* ---- COUNT: state[0] ---- */

void sf_agg_update_count_rows(uint8_t *const *states, size_t offset, const sf_column *const *args,
                              const int64_t *weights, uint32_t count)
{
    SF_UNUSED(args);
    for (uint32_t i = 0; i < count; i++)
        *sf_agg_state(states, i, offset) += (uint64_t)weight_of(weights, i);
}

void sf_agg_update_count(uint8_t *const *states, size_t offset, const sf_column *const *args,
                         const int64_t *weights, uint32_t count)
{
    EACH_VALUE(state[0] += (uint64_t)weight;);
}

uint32_t sf_agg_finish_count(uint8_t *const *states, size_t offset, uint32_t count, sf_builder *out)
{
    for (uint32_t i = 0; i < count; i++)
        sf_builder_i64(out, (int64_t)sf_agg_state(states, i, offset)[0]);
    return 0;
}

/* ---- SUM and AVG of Longs: 128-bit sum, then how many ---- */

void sf_agg_update_sum_i64(uint8_t *const *states, size_t offset, const sf_column *const *args,
                           const int64_t *weights, uint32_t count)
{
    const int64_t *values = args[0]->data;
    EACH_VALUE({
        unsigned __int128 sum = (unsigned __int128)state[1] << 64 | state[0];
        sum += (unsigned __int128)((__int128)values[i] * weight);
        state[0] = (uint64_t)sum;
        state[1] = (uint64_t)(sum >> 64);
        state[2] += (uint64_t)weight;
    });
}

static __int128 sum_of(const uint64_t *state)
{
    return (__int128)((unsigned __int128)state[1] << 64 | state[0]);
}

uint32_t sf_agg_finish_sum_i64(uint8_t *const *states, size_t offset, uint32_t count,
                               sf_builder *out)
{
    uint32_t out_of_range = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *state = sf_agg_state(states, i, offset);
        __int128 sum = sum_of(state);
        bool fits = sum >= INT64_MIN && sum <= INT64_MAX;
        if (state[2] && fits)
            sf_builder_i64(out, (int64_t)sum);
        else
            sf_builder_null(out);
        out_of_range += state[2] && !fits;
    }
    return out_of_range;
}

uint32_t sf_agg_finish_avg_i64(uint8_t *const *states, size_t offset, uint32_t count,
                               sf_builder *out)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *state = sf_agg_state(states, i, offset);
        if (state[2])
            sf_builder_f64(out, (double)sum_of(state) / (double)(int64_t)state[2]);
        else
            sf_builder_null(out);
    }
    return 0;
}

/* ---- MIN and MAX over append-only inputs: has a value, the value ---- */

#define DEFINE_EXTREME(NAME, T, OP)                                                                \
    void sf_agg_update_##NAME(uint8_t *const *states, size_t offset, const sf_column *const *args, \
                              const int64_t *weights, uint32_t count)                              \
    {                                                                                              \
        const T *values = args[0]->data;                                                           \
        EACH_VALUE({                                                                               \
            T best;                                                                                \
            memcpy(&best, &state[1], sizeof best);                                                 \
            if (weight > 0 && (!state[0] || values[i] OP best)) {                                  \
                state[0] = 1;                                                                      \
                memcpy(&state[1], &values[i], sizeof best);                                        \
            }                                                                                      \
        });                                                                                        \
    }
DEFINE_EXTREME(min_i64, int64_t, <)
DEFINE_EXTREME(max_i64, int64_t, >)
DEFINE_EXTREME(min_f64, double, <)
DEFINE_EXTREME(max_f64, double, >)
DEFINE_EXTREME(min_bool, uint8_t, <)
DEFINE_EXTREME(max_bool, uint8_t, >)

#define DEFINE_EXTREME_FINISH(NAME, T, PUT)                                                        \
    uint32_t sf_agg_finish_##NAME(uint8_t *const *states, size_t offset, uint32_t count,           \
                                  sf_builder *out)                                                 \
    {                                                                                              \
        for (uint32_t i = 0; i < count; i++) {                                                     \
            const uint64_t *state = sf_agg_state(states, i, offset);                               \
            T value;                                                                               \
            memcpy(&value, &state[1], sizeof value);                                               \
            if (state[0])                                                                          \
                PUT(out, value);                                                                   \
            else                                                                                   \
                sf_builder_null(out);                                                              \
        }                                                                                          \
        return 0;                                                                                  \
    }
DEFINE_EXTREME_FINISH(extreme_i64, int64_t, sf_builder_i64)
DEFINE_EXTREME_FINISH(extreme_f64, double, sf_builder_f64)
DEFINE_EXTREME_FINISH(extreme_bool, uint8_t, sf_builder_bool)

/* ---- BOOL_AND, BOOL_OR: how many false, how many true ---- */

void sf_agg_update_bool_counts(uint8_t *const *states, size_t offset, const sf_column *const *args,
                               const int64_t *weights, uint32_t count)
{
    const uint8_t *values = args[0]->data;
    EACH_VALUE(state[values[i] & 1] += (uint64_t)weight;);
}

static uint32_t finish_bool(uint8_t *const *states, size_t offset, uint32_t count, sf_builder *out,
                            bool any)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *state = sf_agg_state(states, i, offset);
        if (!state[0] && !state[1])
            sf_builder_null(out);
        else
            sf_builder_bool(out, any ? state[1] != 0 : state[0] == 0);
    }
    return 0;
}

uint32_t sf_agg_finish_bool_and(uint8_t *const *states, size_t offset, uint32_t count,
                                sf_builder *out)
{
    return finish_bool(states, offset, count, out, false);
}

uint32_t sf_agg_finish_bool_or(uint8_t *const *states, size_t offset, uint32_t count,
                               sf_builder *out)
{
    return finish_bool(states, offset, count, out, true);
}

/* COUNT_IF: of those, how many true. */
uint32_t sf_agg_finish_count_if(uint8_t *const *states, size_t offset, uint32_t count,
                                sf_builder *out)
{
    for (uint32_t i = 0; i < count; i++)
        sf_builder_i64(out, (int64_t)sf_agg_state(states, i, offset)[1]);
    return 0;
}

/* ---- BIT_AND, BIT_OR: how many values have each bit, then how many values ---- */

enum { BITS = 64 };

void sf_agg_update_bit_counts(uint8_t *const *states, size_t offset, const sf_column *const *args,
                              const int64_t *weights, uint32_t count)
{
    const int64_t *values = args[0]->data;
    EACH_VALUE({
        for (uint64_t left = (uint64_t)values[i]; left; left &= left - 1)
            state[__builtin_ctzll(left)] += (uint64_t)weight;
        state[BITS] += (uint64_t)weight;
    });
}

static uint32_t finish_bits(uint8_t *const *states, size_t offset, uint32_t count, sf_builder *out,
                            bool any)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *state = sf_agg_state(states, i, offset);
        uint64_t bits = 0;
        for (uint32_t bit = 0; bit < BITS; bit++)
            if (any ? state[bit] != 0 : state[bit] == state[BITS])
                bits |= 1ULL << bit;
        if (state[BITS])
            sf_builder_i64(out, (int64_t)bits);
        else
            sf_builder_null(out);
    }
    return 0;
}

uint32_t sf_agg_finish_bit_and(uint8_t *const *states, size_t offset, uint32_t count,
                               sf_builder *out)
{
    return finish_bits(states, offset, count, out, false);
}

uint32_t sf_agg_finish_bit_or(uint8_t *const *states, size_t offset, uint32_t count,
                              sf_builder *out)
{
    return finish_bits(states, offset, count, out, true);
}

/* ---- BIT_XOR: the bits, then how many values ---- */

void sf_agg_update_bit_xor(uint8_t *const *states, size_t offset, const sf_column *const *args,
                           const int64_t *weights, uint32_t count)
{
    const int64_t *values = args[0]->data;
    EACH_VALUE({
        state[0] ^= weight & 1 ? (uint64_t)values[i] : 0;
        state[1] += (uint64_t)weight;
    });
}

uint32_t sf_agg_finish_bit_xor(uint8_t *const *states, size_t offset, uint32_t count,
                               sf_builder *out)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *state = sf_agg_state(states, i, offset);
        if (state[1])
            sf_builder_i64(out, (int64_t)state[0]);
        else
            sf_builder_null(out);
    }
    return 0;
}

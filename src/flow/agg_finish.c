/* The answers of a group's aggregates. */
#include "flow/aggregate.h"

#include <math.h>

/* A list of a group fits well into a row of state; a longer one is out of range. */
enum { LIST_BYTES_MAX = 4 << 20 };

static int64_t count_of(const sf_agg_slot *slot, sf_ref ref)
{
    if (slot->call->distinct)
        return 1;
    return ((const sf_value_row *)(const void *)sf_arr_extra(slot->values, ref))->count;
}

/* ---- one of the values ---- */

/* The value at a place in order, counted from 0; *seen: how many there are up to its last. */
static sf_ref value_at(const sf_agg_slot *slot, const sf_values_state *state, int64_t place,
                       int64_t *seen)
{
    sf_ref ref = state->best;
    *seen = count_of(slot, ref);
    while (*seen <= place) {
        ref = sf_order_next(slot->order, ref);
        *seen += count_of(slot, ref);
    }
    return ref;
}

static int64_t total_of(const sf_agg_slot *slot, const sf_values_state *state)
{
    return slot->call->distinct ? state->distinct : state->total;
}

/* The first value at or above the share p. */
static sf_ref percentile_disc(const sf_agg_slot *slot, const sf_values_state *state)
{
    int64_t total = total_of(slot, state), seen;
    double wanted = ceil(slot->call->parameter * (double)total);
    int64_t place = wanted < 1 ? 0 : wanted >= (double)total ? total - 1 : (int64_t)wanted - 1;
    return value_at(slot, state, place, &seen);
}

static sf_ref most_frequent(const sf_agg_slot *slot, const sf_values_state *state)
{
    sf_ref best = state->best, ref = best;
    int64_t most = count_of(slot, ref);
    for (int64_t i = 1; i < state->distinct; i++) {
        ref = sf_order_next(slot->order, ref);
        int64_t count = count_of(slot, ref);
        if (count > most) {
            most = count;
            best = ref;
        }
    }
    return best;
}

static sf_ref chosen_value(const sf_agg_slot *slot, const uint8_t *group)
{
    const sf_values_state *state = sf_values_of(slot, group);
    if (!state->best || state->distinct <= 0)
        return 0;
    switch (slot->call->aggregate->values_op) {
    case SF_VALUES_PERCENTILE_DISC: return state->total > 0 ? percentile_disc(slot, state) : 0;
    case SF_VALUES_MODE: return most_frequent(slot, state);
    default: return state->best;
    }
}

static sf_status finish_chosen(sf_aggs *aggs, sf_agg_slot *slot, uint8_t *const *states,
                               uint32_t count, sf_column **out, sf_error *err)
{
    if (!sf_scratch(&aggs->scratch, &aggs->scratch_cap, count * sizeof(sf_ref), 1))
        return sf_fail_memory(err);
    sf_ref *refs = aggs->scratch;
    for (uint32_t i = 0; i < count; i++)
        refs[i] = chosen_value(slot, states[i]);
    *out = sf_arr_gather(slot->values, aggs->key_count + slot->call->value, refs, count);
    return *out ? SF_OK : sf_fail_memory(err);
}

/* ---- PERCENTILE_CONT ---- */

static double double_of(const sf_aggs *aggs, const sf_agg_slot *slot, sf_ref ref)
{
    int64_t raw = 0;
    double value;
    sf_arr_lane_i64(slot->values, ref, aggs->key_count + slot->call->value, &raw);
    memcpy(&value, &raw, sizeof value); /* the argument is Double: the lane's bits */
    return value;
}

/* Linear interpolation between the two nearest ranks. */
static double percentile(const sf_aggs *aggs, const sf_agg_slot *slot, const sf_values_state *state)
{
    int64_t total = total_of(slot, state), seen;
    double rank = slot->call->parameter * (double)(total - 1);
    int64_t low = (int64_t)rank;
    sf_ref ref = value_at(slot, state, low, &seen);
    double first = double_of(aggs, slot, ref);
    if (seen > low + 1 || low + 1 >= total)
        return first;
    double second = double_of(aggs, slot, sf_order_next(slot->order, ref));
    return first + (second - first) * (rank - (double)low);
}

/* ---- lists ---- */

static void put_json(const sf_aggs *aggs, const sf_agg_slot *slot, sf_ref ref, sf_buf *buf)
{
    uint32_t column = aggs->key_count + slot->call->value;
    sf_type type = slot->call->aggregate->arg_type;
    sf_literal value = {.as.i64 = 0};
    int64_t raw = 0;
    if (sf_type_is_view(type)) {
        value.is_null = !sf_arr_lane_str(slot->values, ref, column, &value.as.str);
    } else {
        value.is_null = !sf_arr_lane_i64(slot->values, ref, column, &raw);
        if (type == SF_TYPE_BOOL)
            value.as.boolean = raw != 0;
        else
            memcpy(&value.as, &raw, sizeof raw); /* of Double the bits */
    }
    sf_literal_put_json(type, &value, buf);
}

static void put_text(const sf_aggs *aggs, const sf_agg_slot *slot, sf_ref ref, sf_buf *buf)
{
    sf_str text = {"", 0};
    sf_arr_lane_str(slot->values, ref, aggs->key_count + slot->call->value, &text);
    sf_buf_put(buf, text.data, text.len);
}

/* False: too long. */
static bool put_list(const sf_aggs *aggs, const sf_agg_slot *slot, const sf_values_state *state,
                     sf_buf *buf)
{
    bool json = slot->call->aggregate->values_op == SF_VALUES_JSON, any = false;
    sf_str between = json ? SF_STR(",") : slot->call->separator;
    sf_ref ref = state->best;
    sf_buf_clear(buf);
    if (json)
        sf_buf_putc(buf, '[');
    for (int64_t i = 0; i < state->distinct; i++) {
        for (int64_t left = count_of(slot, ref); left > 0; left--) {
            if (any)
                sf_buf_put(buf, between.data, between.len);
            any = true;
            if (json)
                put_json(aggs, slot, ref, buf);
            else
                put_text(aggs, slot, ref, buf);
            if (buf->len > LIST_BYTES_MAX || buf->failed || (!buf->len && !between.len))
                break;
        }
        if (buf->len > LIST_BYTES_MAX || buf->failed)
            return buf->failed;
        ref = sf_order_next(slot->order, ref);
    }
    if (json)
        sf_buf_putc(buf, ']');
    return true;
}

static sf_status finish_lists(sf_aggs *aggs, sf_agg_slot *slot, uint8_t *const *states,
                              uint32_t count, sf_builder *out, sf_error *err)
{
    sf_buf buf = {0};
    for (uint32_t i = 0; i < count; i++) {
        const sf_values_state *state = sf_values_of(slot, states[i]);
        bool any = state->best && state->distinct > 0;
        bool fits = any && put_list(aggs, slot, state, &buf);
        if (fits)
            sf_builder_str(out, sf_buf_str(&buf));
        else
            sf_builder_null(out);
        aggs->op->circuit->eval.error_counts[SF_EVAL_OVERFLOW] += any && !fits;
    }
    bool failed = buf.failed || out->failed;
    sf_buf_deinit(&buf);
    return failed ? sf_fail_memory(err) : SF_OK;
}

/* ---- all aggregates ---- */

static sf_status finish_numbers(sf_aggs *aggs, sf_agg_slot *slot, uint8_t *const *states,
                                uint32_t count, sf_builder *out, sf_error *err)
{
    bool distinct = slot->call->aggregate->values_op == SF_VALUES_COUNT_DISTINCT;
    for (uint32_t i = 0; i < count; i++) {
        const sf_values_state *state = sf_values_of(slot, states[i]);
        if (distinct)
            sf_builder_i64(out, state->distinct);
        else if (state->best && state->total > 0)
            sf_builder_f64(out, percentile(aggs, slot, state));
        else
            sf_builder_null(out);
    }
    return out->failed ? sf_fail_memory(err) : SF_OK;
}

static sf_status finish_built(sf_aggs *aggs, sf_agg_slot *slot, uint8_t *const *states,
                              uint32_t count, sf_builder *out, sf_error *err)
{
    const sf_aggregate *aggregate = slot->call->aggregate;
    if (aggregate->kind == SF_AGG_INLINE) {
        size_t offset = slot->values ? slot->inline_offset : slot->offset;
        aggs->op->circuit->eval.error_counts[SF_EVAL_OVERFLOW] +=
            aggregate->finish(states, offset, count, out);
        return SF_OK;
    }
    bool list = aggregate->values_op == SF_VALUES_TEXT || aggregate->values_op == SF_VALUES_JSON;
    return list ? finish_lists(aggs, slot, states, count, out, err)
                : finish_numbers(aggs, slot, states, count, out, err);
}

static bool is_one_of_the_values(const sf_aggregate *aggregate)
{
    if (aggregate->kind != SF_AGG_VALUES)
        return false;
    switch (aggregate->values_op) {
    case SF_VALUES_COUNT_DISTINCT:
    case SF_VALUES_PERCENTILE:
    case SF_VALUES_TEXT:
    case SF_VALUES_JSON: return false;
    default: return true;
    }
}

static sf_status finish_one(sf_aggs *aggs, sf_agg_slot *slot, uint8_t *const *states,
                            uint32_t count, sf_column **out, sf_error *err)
{
    const sf_aggregate *aggregate = slot->call->aggregate;
    if (is_one_of_the_values(aggregate))
        return finish_chosen(aggs, slot, states, count, out, err);
    sf_builder builder;
    if (!sf_builder_init(&builder, aggregate->result_type, count))
        return sf_fail_memory(err);
    sf_status status = finish_built(aggs, slot, states, count, &builder, err);
    if (status == SF_OK) {
        *out = sf_builder_finish(&builder);
        status = *out ? SF_OK : sf_fail_memory(err);
    }
    sf_builder_deinit(&builder);
    return status;
}

sf_status sf_aggs_finish(sf_aggs *aggs, uint8_t *const *states, uint32_t count, sf_column **out,
                         sf_error *err)
{
    for (uint32_t i = 0; i < aggs->count; i++) {
        sf_status status = finish_one(aggs, &aggs->slots[i], states, count, &out[i], err);
        if (status != SF_OK) {
            for (uint32_t j = 0; j < i; j++)
                sf_column_unref(out[j]);
            return status;
        }
    }
    return SF_OK;
}

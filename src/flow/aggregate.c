#include "flow/aggregate.h"

/* Accumulator of an aggregate that keeps values. */
typedef struct {
    sf_ref best; /* MIN, PERCENTILE: the least live value; MAX: the greatest; 0: none */
    uint32_t unused;
    int64_t distinct; /* live values */
    int64_t total;    /* sum of their counts */
} values_state;

/* Extra bytes of a value's row. */
typedef struct {
    int64_t count;
} value_row;

static bool is_max(const sf_agg_slot *slot)
{
    return slot->call->aggregate->kind == SF_AGG_VALUES &&
           slot->call->aggregate->values_op == SF_VALUES_MAX;
}

static bool needs_order(const sf_agg_call *call)
{
    return call->aggregate->kind == SF_AGG_VALUES &&
           call->aggregate->values_op != SF_VALUES_COUNT_DISTINCT;
}

/* ---- opening ---- */

static uint32_t arg_slot_of(sf_aggs *aggs, const sf_expr *arg)
{
    if (!arg)
        return UINT32_MAX;
    for (uint32_t i = 0; i < aggs->arg_count; i++)
        if (sf_expr_equal(aggs->args[i], arg))
            return i;
    aggs->args[aggs->arg_count] = arg;
    return aggs->arg_count++;
}

static sf_status open_values(sf_aggs *aggs, sf_agg_slot *slot, const sf_field *key_fields,
                             bool droppable, sf_error *err)
{
    uint32_t keys = aggs->key_count;
    sf_field *fields = sf_alloc((keys + 1u) * sizeof *fields);
    sf_type *types = sf_alloc((keys + 1u) * sizeof *types);
    sf_order_by *by = sf_calloc(keys + 1u, sizeof *by);
    sf_status status = fields && types && by ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK) {
        for (uint32_t i = 0; i < keys; i++)
            fields[i] = key_fields[i];
        fields[keys] = (sf_field){"value", slot->call->arg->type, false};
        for (uint32_t i = 0; i <= keys; i++) {
            types[i] = fields[i].type;
            by[i].column = i;
        }
        slot->values_schema = sf_schema_new(fields, keys + 1);
        sf_arr_options options = {.mode = SF_ARR_UNIQUE,
                                  .types = types,
                                  .column_count = keys + 1,
                                  .key_count = keys + 1,
                                  .extra_bytes = sizeof(value_row)};
        status = slot->values_schema ? sf_op_arrangement(aggs->op, &options, &slot->values, err)
                                     : sf_fail_memory(err);
    }
    if (status == SF_OK && (droppable || needs_order(slot->call)))
        status = sf_order_new(slot->values, by, keys + 1, &slot->order, err);
    sf_free(fields);
    sf_free(types);
    sf_free(by);
    return status;
}

sf_status sf_aggs_open(sf_aggs *aggs, sf_op *op, const sf_agg_call *calls, uint32_t count,
                       const sf_field *key_fields, uint32_t key_count, uint32_t head_bytes,
                       bool droppable, sf_error *err)
{
    *aggs = (sf_aggs){.op = op, .count = count, .key_count = key_count};
    aggs->slots = sf_calloc(count + 1u, sizeof *aggs->slots);
    aggs->args = sf_calloc(count + 1u, sizeof *aggs->args);
    aggs->arg_columns = sf_calloc(count + 1u, sizeof(sf_column *));
    if (!aggs->slots || !aggs->args || !aggs->arg_columns)
        return sf_fail_memory(err);
    uint32_t bytes = head_bytes;
    for (uint32_t i = 0; i < count; i++) {
        sf_agg_slot *slot = &aggs->slots[i];
        const sf_aggregate *aggregate = calls[i].aggregate;
        SF_ASSERT(!calls[i].filter && aggregate->state_bytes % 8 == 0);
        slot->call = &calls[i];
        slot->arg_slot = arg_slot_of(aggs, calls[i].arg);
        slot->offset = bytes;
        bool inlined = aggregate->kind == SF_AGG_INLINE;
        if (inlined && !calls[i].distinct) {
            bytes += aggregate->state_bytes;
            continue;
        }
        bytes += (uint32_t)sizeof(values_state);
        slot->inline_offset = bytes;
        bytes += inlined ? aggregate->state_bytes : 0;
        SF_TRY(open_values(aggs, slot, key_fields, droppable, err));
    }
    aggs->extra_bytes = bytes;
    return SF_OK;
}

void sf_aggs_close(sf_aggs *aggs)
{
    for (uint32_t i = 0; aggs->slots && i < aggs->count; i++) {
        sf_order_free(aggs->slots[i].order);
        sf_schema_unref(aggs->slots[i].values_schema);
    }
    sf_free(aggs->slots);
    sf_free(aggs->args);
    sf_free(aggs->arg_columns);
    sf_free(aggs->scratch);
}

sf_status sf_aggs_load(sf_aggs *aggs, sf_error *err)
{
    for (uint32_t i = 0; i < aggs->count; i++) {
        const sf_agg_slot *slot = &aggs->slots[i];
        if (!slot->order)
            continue;
        SF_TRY(sf_order_rebuild(slot->order, err));
        sf_ref ref = 0;
        while (sf_arr_scan(slot->values, ref, &ref, 1) ==
               1) { /* the order holds live values only */
            const uint8_t *extra = sf_arr_extra(slot->values, ref);
            if (((const value_row *)(const void *)extra)->count <= 0)
                sf_order_remove(slot->order, ref);
        }
    }
    return SF_OK;
}

/* ---- values ---- */

/* A value begins to live in its group. */
static sf_status value_enters(sf_aggs *aggs, sf_agg_slot *slot, values_state *state, sf_ref ref,
                              sf_error *err)
{
    state->distinct++;
    if (!slot->order)
        return SF_OK;
    SF_TRY(sf_order_insert(slot->order, ref, err));
    state->best = is_max(slot) ? sf_order_last(slot->order, ref, aggs->key_count)
                               : sf_order_first(slot->order, ref, aggs->key_count);
    return SF_OK;
}

static void value_leaves(sf_aggs *aggs, sf_agg_slot *slot, values_state *state, sf_ref ref)
{
    state->distinct--;
    if (!slot->order)
        return;
    sf_order_remove(slot->order, ref);
    if (state->best == ref)
        state->best = is_max(slot) ? sf_order_last(slot->order, ref, aggs->key_count)
                                   : sf_order_first(slot->order, ref, aggs->key_count);
}

/* Rows whose value came to life or died, for the INLINE aggregate over distinct values. */
typedef struct {
    uint32_t *rows;
    uint8_t **states;
    int64_t *weights;
    uint32_t count;
} flips;

static sf_status count_value(sf_aggs *aggs, sf_agg_slot *slot, uint8_t *group, sf_ref ref,
                             uint32_t row, int64_t weight, flips *flipped, sf_error *err)
{
    values_state *state = (values_state *)(void *)(group + slot->offset);
    uint8_t *extra = sf_arr_extra_mut(slot->values, ref);
    if (!extra)
        return sf_fail_memory(err);
    value_row *value = (value_row *)(void *)extra;
    int64_t before = value->count, after = before + weight;
    value->count = after;
    state->total += weight;
    bool lived = before > 0, lives = after > 0;
    if (!lived && lives)
        SF_TRY(value_enters(aggs, slot, state, ref, err));
    if (lived && !lives)
        value_leaves(aggs, slot, state, ref);
    if (lived != lives) {
        flipped->rows[flipped->count] = row;
        flipped->states[flipped->count] = group;
        flipped->weights[flipped->count++] = lives ? 1 : -1;
    }
    if (after == 0)
        sf_arr_remove(slot->values, ref);
    return SF_OK;
}

/* The batch {keys, argument} of the rows whose argument is not NULL. */
static sf_batch *keyed_values(sf_aggs *aggs, sf_agg_slot *slot, sf_column *const *keys,
                              const sf_column *arg, sf_sel present)
{
    uint32_t count = aggs->key_count + 1;
    sf_column **columns = sf_calloc(count, sizeof *columns);
    if (!columns)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        columns[i] = sf_column_gather(i < aggs->key_count ? keys[i] : arg, present);
    sf_batch *batch = sf_batch_new(slot->values_schema, present.count, columns, NULL, NULL);
    sf_free(columns);
    return batch;
}

typedef struct {
    uint32_t *present; /* rows with an argument */
    uint32_t *columns; /* 0, 1, 2, ... */
    uint64_t *hashes;
    sf_ref *refs;
    flips flipped;
} values_scratch;

/* Cuts the scratch memory into its arrays. */
static bool values_scratch_of(sf_aggs *aggs, uint32_t rows, values_scratch *out)
{
    size_t item = 2 * sizeof(uint64_t) + sizeof(uint8_t *) + 3 * sizeof(uint32_t);
    size_t bytes = rows * item + (aggs->key_count + 1u) * sizeof(uint32_t) + 64;
    if (!sf_scratch(&aggs->scratch, &aggs->scratch_cap, bytes, 1))
        return false;
    out->hashes = aggs->scratch;
    out->flipped.weights = (int64_t *)(out->hashes + rows);
    out->flipped.states = (uint8_t **)(void *)(out->flipped.weights + rows);
    out->flipped.rows = (uint32_t *)(void *)(out->flipped.states + rows);
    out->flipped.count = 0;
    out->present = out->flipped.rows + rows;
    out->refs = out->present + rows;
    out->columns = out->refs + rows;
    for (uint32_t i = 0; i <= aggs->key_count; i++)
        out->columns[i] = i;
    return true;
}

static sf_status update_distinct(const sf_agg_slot *slot, const sf_column *arg,
                                 const flips *flipped, sf_error *err)
{
    const sf_aggregate *aggregate = slot->call->aggregate;
    if (aggregate->kind != SF_AGG_INLINE || flipped->count == 0)
        return SF_OK;
    sf_column *values = sf_column_gather(arg, (sf_sel){flipped->rows, flipped->count});
    if (!values)
        return sf_fail_memory(err);
    aggregate->update(flipped->states, slot->inline_offset, values, flipped->weights,
                      flipped->count);
    sf_column_unref(values);
    return SF_OK;
}

static sf_status update_values(sf_aggs *aggs, sf_agg_slot *slot, sf_column *const *keys,
                               uint8_t *const *states, const int64_t *weights, sf_error *err)
{
    const sf_column *arg = aggs->arg_columns[slot->arg_slot];
    values_scratch scratch;
    if (!values_scratch_of(aggs, arg->rows, &scratch))
        return sf_fail_memory(err);
    sf_sel present = {scratch.present, 0};
    for (uint32_t i = 0; i < arg->rows; i++)
        if (sf_column_is_valid(arg, i))
            scratch.present[present.count++] = i;
    if (present.count == 0)
        return SF_OK;
    sf_batch *batch = keyed_values(aggs, slot, keys, arg, present);
    if (!batch)
        return sf_fail_memory(err);
    sf_sel all = sf_sel_all(present.count);
    /* One row at a time after the upsert: a value may die and come back within the batch, so the
     * row is found again instead of trusted. */
    sf_status status = SF_OK;
    sf_batch_hash(batch, scratch.columns, aggs->key_count + 1, all, scratch.hashes);
    for (uint32_t i = 0; i < present.count && status == SF_OK; i++) {
        uint32_t row = scratch.present[i];
        sf_ref ref;
        status = sf_arr_upsert(slot->values, batch, scratch.columns, (sf_sel){&i, 1},
                               &scratch.hashes[i], &ref, NULL, err);
        if (status == SF_OK)
            status = count_value(aggs, slot, states[row], ref, row, weights ? weights[row] : 1,
                                 &scratch.flipped, err);
    }
    if (status == SF_OK)
        status = update_distinct(slot, arg, &scratch.flipped, err);
    sf_batch_unref(batch);
    return status;
}

/* ---- updating ---- */

sf_status sf_aggs_update(sf_aggs *aggs, const sf_batch *batch, sf_sel sel, sf_column *const *keys,
                         uint8_t *const *states, const int64_t *weights, sf_error *err)
{
    sf_status status = SF_OK;
    for (uint32_t i = 0; i < aggs->arg_count && status == SF_OK; i++)
        status = sf_eval_column(&aggs->op->circuit->eval, aggs->args[i], batch, sel,
                                &aggs->arg_columns[i], err);
    for (uint32_t i = 0; i < aggs->count && status == SF_OK; i++) {
        sf_agg_slot *slot = &aggs->slots[i];
        const sf_column *arg =
            slot->arg_slot == UINT32_MAX ? NULL : aggs->arg_columns[slot->arg_slot];
        if (slot->values)
            status = update_values(aggs, slot, keys, states, weights, err);
        else
            slot->call->aggregate->update(states, slot->offset, arg, weights, sel.count);
    }
    for (uint32_t i = 0; i < aggs->arg_count; i++) {
        sf_column_unref(aggs->arg_columns[i]);
        aggs->arg_columns[i] = NULL;
    }
    return status;
}

void sf_aggs_drop(sf_aggs *aggs, uint8_t *group)
{
    for (uint32_t i = 0; i < aggs->count; i++) {
        sf_agg_slot *slot = &aggs->slots[i];
        if (!slot->values)
            continue;
        SF_ASSERT(slot->order);
        values_state *state = (values_state *)(void *)(group + slot->offset);
        while (state->best) {
            sf_ref ref = state->best;
            value_leaves(aggs, slot, state, ref);
            sf_arr_remove(slot->values, ref);
        }
    }
}

/* ---- finishing ---- */

static sf_status finish_extreme(sf_aggs *aggs, sf_agg_slot *slot, uint8_t *const *states,
                                uint32_t count, sf_column **out, sf_error *err)
{
    if (!sf_scratch(&aggs->scratch, &aggs->scratch_cap, count * sizeof(sf_ref), 1))
        return sf_fail_memory(err);
    sf_ref *refs = aggs->scratch;
    for (uint32_t i = 0; i < count; i++)
        refs[i] = ((const values_state *)(const void *)(states[i] + slot->offset))->best;
    *out = sf_arr_gather(slot->values, aggs->key_count, refs, count);
    return *out ? SF_OK : sf_fail_memory(err);
}

static double value_at(const sf_aggs *aggs, const sf_agg_slot *slot, sf_ref ref)
{
    int64_t raw = 0;
    double value;
    sf_arr_lane_i64(slot->values, ref, aggs->key_count, &raw);
    memcpy(&value, &raw, sizeof value); /* PERCENTILE's argument is Double: the lane's bits */
    return value;
}

/* Linear interpolation between the two nearest ranks, as PERCENTILE_CONT is defined. */
static double percentile(const sf_aggs *aggs, const sf_agg_slot *slot, const values_state *state)
{
    bool once = slot->call->distinct; /* each value counts once */
    int64_t total = once ? state->distinct : state->total;
    double rank = slot->call->parameter * (double)(total - 1);
    int64_t low = (int64_t)rank, seen = 0;
    sf_ref ref = state->best;
    for (;;) {
        const uint8_t *value = sf_arr_extra(slot->values, ref);
        seen += once ? 1 : ((const value_row *)(const void *)value)->count;
        if (seen > low)
            break;
        ref = sf_order_next(slot->order, ref);
    }
    double first = value_at(aggs, slot, ref);
    if (seen > low + 1 || low + 1 >= total)
        return first;
    double second = value_at(aggs, slot, sf_order_next(slot->order, ref));
    return first + (second - first) * (rank - (double)low);
}

static sf_status finish_values(sf_aggs *aggs, sf_agg_slot *slot, uint8_t *const *states,
                               uint32_t count, sf_builder *out, sf_error *err)
{
    bool distinct = slot->call->aggregate->values_op == SF_VALUES_COUNT_DISTINCT;
    for (uint32_t i = 0; i < count; i++) {
        const values_state *state = (const values_state *)(const void *)(states[i] + slot->offset);
        if (distinct)
            sf_builder_i64(out, state->distinct);
        else if (state->best && state->total > 0)
            sf_builder_f64(out, percentile(aggs, slot, state));
        else
            sf_builder_null(out);
    }
    return out->failed ? sf_fail_memory(err) : SF_OK;
}

static sf_status finish_one(sf_aggs *aggs, sf_agg_slot *slot, uint8_t *const *states,
                            uint32_t count, sf_column **out, sf_error *err)
{
    const sf_aggregate *aggregate = slot->call->aggregate;
    bool extreme = aggregate->kind == SF_AGG_VALUES &&
                   (aggregate->values_op == SF_VALUES_MIN || aggregate->values_op == SF_VALUES_MAX);
    if (extreme)
        return finish_extreme(aggs, slot, states, count, out, err);
    sf_builder builder;
    if (!sf_builder_init(&builder, aggregate->result_type, count))
        return sf_fail_memory(err);
    sf_status status = SF_OK;
    if (aggregate->kind == SF_AGG_INLINE)
        aggs->op->circuit->eval.error_counts[SF_EVAL_OVERFLOW] += aggregate->finish(
            states, slot->values ? slot->inline_offset : slot->offset, count, &builder);
    else
        status = finish_values(aggs, slot, states, count, &builder, err);
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

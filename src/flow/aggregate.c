/* The aggregates of a group: opening, updating, the multisets of values. */
#include "flow/aggregate.h"

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

/* Where nothing is taken back, one value is enough for the first or last of an order. */
static bool needs_best_only(const sf_agg_call *call)
{
    if (call->aggregate->kind != SF_AGG_VALUES || !call->append_only)
        return false;
    sf_values_op op = call->aggregate->values_op;
    return op == SF_VALUES_MIN || op == SF_VALUES_MAX || op == SF_VALUES_FIRST;
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
    uint32_t keys = aggs->key_count, count = keys + slot->call->column_count;
    if (count > SF_COLUMNS_MAX)
        return sf_fail(err, SF_LIMIT, "%s and its group have more than %d columns",
                       slot->call->aggregate->name, SF_COLUMNS_MAX);
    sf_field *fields = sf_alloc(count * sizeof *fields);
    sf_type *types = sf_alloc(count * sizeof *types);
    sf_order_by *by = sf_calloc(count, sizeof *by);
    sf_status status = fields && types && by ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK) {
        for (uint32_t i = 0; i < count; i++) {
            const sf_agg_column *column = i < keys ? NULL : &slot->call->columns[i - keys];
            fields[i] = column ? (sf_field){"value", column->expr->type, false} : key_fields[i];
            types[i] = fields[i].type;
            by[i] = (sf_order_by){.column = i, .descending = column && column->descending};
        }
        slot->values_schema = sf_schema_new(fields, count);
        sf_arr_options options = {.mode = SF_ARR_UNIQUE,
                                  .types = types,
                                  .column_count = count,
                                  .key_count = count,
                                  .extra_bytes = sizeof(sf_value_row)};
        status = slot->values_schema ? sf_op_arrangement(aggs->op, &options, &slot->values, err)
                                     : sf_fail_memory(err);
    }
    if (status == SF_OK && (droppable || needs_order(slot->call)))
        status = sf_order_new(slot->values, by, count, &slot->order, err);
    sf_free(fields);
    sf_free(types);
    sf_free(by);
    return status;
}

/* Room for every expression of every call. */
static sf_status open_slots(sf_aggs *aggs, const sf_agg_call *calls, sf_error *err)
{
    uint32_t columns = 0, widest = 0;
    for (uint32_t i = 0; i < aggs->count; i++) {
        columns += calls[i].column_count + 1;
        widest = calls[i].column_count > widest ? calls[i].column_count : widest;
    }
    aggs->slots = sf_calloc(aggs->count + 1u, sizeof *aggs->slots);
    aggs->args = sf_calloc(columns + 1u, sizeof *aggs->args);
    aggs->arg_columns = sf_calloc(columns + 1u, sizeof(sf_column *));
    aggs->call_columns = sf_calloc(widest + 1u, sizeof(sf_column *));
    if (!aggs->slots || !aggs->args || !aggs->arg_columns || !aggs->call_columns)
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < aggs->count; i++) {
        sf_agg_slot *slot = &aggs->slots[i];
        slot->call = &calls[i];
        slot->only_best = needs_best_only(slot->call);
        slot->filter_slot = arg_slot_of(aggs, calls[i].filter);
        slot->arg_slots = sf_alloc((calls[i].column_count + 1u) * sizeof *slot->arg_slots);
        if (!slot->arg_slots)
            return sf_fail_memory(err);
        for (uint32_t c = 0; c < calls[i].column_count; c++)
            slot->arg_slots[c] = arg_slot_of(aggs, calls[i].columns[c].expr);
    }
    return SF_OK;
}

sf_status sf_aggs_open(sf_aggs *aggs, sf_op *op, const sf_agg_call *calls, uint32_t count,
                       const sf_field *key_fields, uint32_t key_count, uint32_t head_bytes,
                       bool droppable, sf_error *err)
{
    *aggs = (sf_aggs){.op = op, .count = count, .key_count = key_count};
    SF_TRY(open_slots(aggs, calls, err));
    uint32_t bytes = head_bytes;
    for (uint32_t i = 0; i < count; i++) {
        sf_agg_slot *slot = &aggs->slots[i];
        const sf_aggregate *aggregate = calls[i].aggregate;
        SF_ASSERT(aggregate->state_bytes % 8 == 0);
        slot->offset = bytes;
        bool inlined = aggregate->kind == SF_AGG_INLINE;
        if (inlined && !calls[i].distinct) {
            bytes += aggregate->state_bytes;
            continue;
        }
        bytes += (uint32_t)sizeof(sf_values_state);
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
        sf_free(aggs->slots[i].arg_slots);
    }
    sf_free(aggs->slots);
    sf_free(aggs->args);
    sf_free(aggs->arg_columns);
    sf_free(aggs->call_columns);
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
            if (((const sf_value_row *)(const void *)extra)->count <= 0)
                sf_order_remove(slot->order, ref);
        }
    }
    return SF_OK;
}

/* ---- values ---- */

static sf_ref best_of(const sf_aggs *aggs, const sf_agg_slot *slot, sf_ref like)
{
    return is_max(slot) ? sf_order_last(slot->order, like, aggs->key_count)
                        : sf_order_first(slot->order, like, aggs->key_count);
}

/* A value begins to live in its group. */
static sf_status value_enters(sf_aggs *aggs, sf_agg_slot *slot, sf_values_state *state, sf_ref ref,
                              sf_error *err)
{
    state->distinct++;
    if (!slot->order)
        return SF_OK;
    SF_TRY(sf_order_insert(slot->order, ref, err));
    sf_ref before = state->best;
    state->best = best_of(aggs, slot, ref);
    if (slot->only_best && before) {
        sf_ref loser = state->best == before ? ref : before;
        sf_order_remove(slot->order, loser);
        sf_arr_remove(slot->values, loser);
    }
    return SF_OK;
}

static void value_leaves(sf_aggs *aggs, sf_agg_slot *slot, sf_values_state *state, sf_ref ref)
{
    state->distinct--;
    if (!slot->order)
        return;
    sf_order_remove(slot->order, ref);
    if (state->best == ref)
        state->best = best_of(aggs, slot, ref);
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
    sf_values_state *state = (sf_values_state *)(void *)(group + slot->offset);
    uint8_t *extra = sf_arr_extra_mut(slot->values, ref);
    if (!extra)
        return sf_fail_memory(err);
    sf_value_row *value = (sf_value_row *)(void *)extra;
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

/* The batch {keys, columns of the call} of the present rows. */
static sf_batch *keyed_values(sf_aggs *aggs, sf_agg_slot *slot, sf_column *const *keys,
                              sf_sel present)
{
    uint32_t count = aggs->key_count + slot->call->column_count;
    sf_column **columns = sf_calloc(count, sizeof *columns);
    if (!columns)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        columns[i] = sf_column_gather(
            i < aggs->key_count ? keys[i] : aggs->arg_columns[slot->arg_slots[i - aggs->key_count]],
            present);
    sf_batch *batch = sf_batch_new(slot->values_schema, present.count, columns, NULL, NULL);
    sf_free(columns);
    return batch;
}

typedef struct {
    uint32_t *present; /* rows that count */
    uint32_t *columns; /* 0, 1, 2, ... */
    uint64_t *hashes;
    sf_ref *refs;
    flips flipped;
} values_scratch;

/* Cuts the scratch memory into its arrays. */
static bool values_scratch_of(sf_aggs *aggs, uint32_t columns, uint32_t rows, values_scratch *out)
{
    size_t item = 2 * sizeof(uint64_t) + sizeof(uint8_t *) + 3 * sizeof(uint32_t);
    size_t bytes = rows * item + columns * sizeof(uint32_t) + 64;
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
    for (uint32_t i = 0; i < columns; i++)
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
    const sf_column *only = values;
    aggregate->update(flipped->states, slot->inline_offset, &only, flipped->weights,
                      flipped->count);
    sf_column_unref(values);
    return SF_OK;
}

/* Which rows enter the multiset. */
static sf_sel present_rows(const sf_aggs *aggs, const sf_agg_slot *slot, const sf_column *arg,
                           uint32_t *rows)
{
    const sf_column *filter =
        slot->filter_slot == UINT32_MAX ? NULL : aggs->arg_columns[slot->filter_slot];
    sf_sel present = {rows, 0};
    for (uint32_t i = 0; i < arg->rows; i++) {
        if (!slot->call->keeps_nulls && !sf_column_is_valid(arg, i))
            continue;
        if (filter && !(sf_column_is_valid(filter, i) && SF_LANES(filter, uint8_t)[i]))
            continue;
        rows[present.count++] = i;
    }
    return present;
}

static sf_status update_values(sf_aggs *aggs, sf_agg_slot *slot, sf_column *const *keys,
                               uint8_t *const *states, const int64_t *weights, sf_error *err)
{
    const sf_column *arg = aggs->arg_columns[slot->arg_slots[slot->call->value]];
    uint32_t columns = aggs->key_count + slot->call->column_count;
    values_scratch scratch;
    if (!values_scratch_of(aggs, columns, arg->rows, &scratch))
        return sf_fail_memory(err);
    sf_sel present = present_rows(aggs, slot, arg, scratch.present);
    if (present.count == 0)
        return SF_OK;
    sf_batch *batch = keyed_values(aggs, slot, keys, present);
    if (!batch)
        return sf_fail_memory(err);
    sf_sel all = sf_sel_all(present.count);
    /* One row at a time after the upsert: a value may die and come back within the batch, so the
     * row is found again instead of trusted. */
    sf_status status = SF_OK;
    sf_batch_hash(batch, scratch.columns, columns, all, scratch.hashes);
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
        if (slot->values) {
            status = update_values(aggs, slot, keys, states, weights, err);
            continue;
        }
        for (uint32_t c = 0; c < slot->call->column_count; c++)
            aggs->call_columns[c] = aggs->arg_columns[slot->arg_slots[c]];
        slot->call->aggregate->update(states, slot->offset, aggs->call_columns, weights, sel.count);
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
        sf_values_state *state = (sf_values_state *)(void *)(group + slot->offset);
        while (state->best) {
            sf_ref ref = state->best;
            value_leaves(aggs, slot, state, ref);
            sf_arr_remove(slot->values, ref);
        }
    }
}

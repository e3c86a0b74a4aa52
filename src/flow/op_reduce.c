/* GROUP BY and DISTINCT: running groups, one change a group and epoch. */
#include "flow/aggregate.h"
#include "flow/changes.h"

/* First extra bytes of a group's row; the accumulators follow. */
typedef struct {
    int64_t count;     /* sum of weights: the group exists while it is above 0 */
    int64_t ts;        /* recorded time of the epoch that last changed the answer */
    uint64_t stamp;    /* epoch that touched it last */
    uint64_t answered; /* 1: the group is part of the answer as last emitted */
} group_head;

typedef struct {
    sf_op op;
    sf_aggs aggs;
    sf_arr *groups;
    sf_changes changes;
    uint32_t *key_numbers; /* 0, 1, 2, ... for the dense key batch */
    sf_schema *key_schema;
    /* scratch of one batch */
    uint64_t *hashes;
    sf_ref *refs;
    uint8_t **states;
    size_t rows_cap;
} reduce_op;

static group_head *head_of(uint8_t *extra)
{
    return (group_head *)(void *)extra;
}

static sf_status reduce_open(sf_op *op, sf_error *err)
{
    reduce_op *reduce = (reduce_op *)op;
    uint32_t keys = op->node->as.reduce.key_count;
    reduce->changes.column_count = op->schema->count;
    SF_TRY(sf_aggs_open(&reduce->aggs, op, op->node->as.reduce.aggs, op->node->as.reduce.agg_count,
                        op->schema->fields, keys, sizeof(group_head), false, err));
    reduce->key_numbers = sf_alloc((keys + 1u) * sizeof *reduce->key_numbers);
    reduce->key_schema = sf_schema_new(op->schema->fields, keys);
    sf_type *types = sf_alloc((keys + 1u) * sizeof *types);
    sf_status status =
        reduce->key_numbers && reduce->key_schema && types ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK) {
        for (uint32_t i = 0; i < keys; i++) {
            reduce->key_numbers[i] = i;
            types[i] = op->schema->fields[i].type;
        }
        sf_arr_options options = {.mode = SF_ARR_UNIQUE,
                                  .types = types,
                                  .column_count = keys,
                                  .key_count = keys,
                                  .extra_bytes = reduce->aggs.extra_bytes};
        status = sf_op_arrangement(op, &options, &reduce->groups, err);
    }
    sf_free(types);
    return status;
}

static void reduce_close(sf_op *op)
{
    reduce_op *reduce = (reduce_op *)op;
    sf_aggs_close(&reduce->aggs);
    sf_changes_close(&reduce->changes);
    sf_schema_unref(reduce->key_schema);
    sf_free(reduce->key_numbers);
    sf_free(reduce->hashes);
    sf_free(reduce->refs);
    sf_free(reduce->states);
}

static sf_status reserve(reduce_op *reduce, uint32_t rows, sf_error *err)
{
    size_t a = reduce->rows_cap, b = a, c = a;
    if (!sf_scratch((void **)&reduce->hashes, &a, rows, sizeof *reduce->hashes) ||
        !sf_scratch((void **)&reduce->refs, &b, rows, sizeof *reduce->refs) ||
        !sf_scratch((void **)&reduce->states, &c, rows, sizeof *reduce->states))
        return sf_fail_memory(err);
    reduce->rows_cap = a;
    return SF_OK;
}

/* The result columns of `count` groups: keys, aggregates, _ts. */
static sf_status group_columns(reduce_op *reduce, const sf_ref *refs, uint8_t *const *states,
                               uint32_t count, sf_column **out, sf_error *err)
{
    uint32_t keys = reduce->aggs.key_count, aggs = reduce->aggs.count;
    sf_status status = sf_aggs_finish(&reduce->aggs, states, count, out + keys, err);
    if (status != SF_OK)
        return status;
    bool whole = true;
    for (uint32_t k = 0; k < keys; k++) {
        out[k] = sf_arr_gather(reduce->groups, k, refs, count);
        whole = whole && out[k];
    }
    sf_column *ts = sf_column_new(SF_TYPE_I64, count, false);
    out[keys + aggs] = ts;
    if (!whole || !ts)
        return sf_fail_memory(err);
    int64_t *lanes = sf_column_lanes(ts);
    for (uint32_t i = 0; i < count; i++)
        lanes[i] = head_of(states[i])->ts;
    return SF_OK;
}

/* Notes the groups that this epoch meets for the first time, with their answers so far. */
static sf_status note_touched(reduce_op *reduce, uint32_t rows, sf_error *err)
{
    uint64_t epoch = reduce->op.circuit->epoch;
    uint32_t fresh = 0;
    for (uint32_t i = 0; i < rows; i++) {
        group_head *head = head_of(reduce->states[i]);
        if (head->stamp != epoch) {
            head->stamp = epoch;
            reduce->refs[fresh++] = reduce->refs[i]; /* refs before i are not needed any more */
        }
    }
    if (fresh == 0)
        return SF_OK;
    sf_touched *touched = sf_changes_add(&reduce->changes, fresh);
    uint8_t **states = sf_alloc(fresh * sizeof *states);
    if (!touched || !states) {
        sf_free(states);
        return sf_fail_memory(err);
    }
    memcpy(touched->refs, reduce->refs, fresh * sizeof *touched->refs);
    for (uint32_t i = 0; i < fresh; i++) {
        states[i] = (uint8_t *)sf_arr_extra(reduce->groups, touched->refs[i]);
        touched->existed[i] = (uint8_t)head_of(states[i])->answered;
    }
    sf_status status = group_columns(reduce, touched->refs, states, fresh, touched->old, err);
    sf_free(states);
    return status;
}

static sf_batch *key_batch(reduce_op *reduce, const sf_batch *batch)
{
    uint32_t keys = reduce->aggs.key_count;
    sf_column *columns[SF_COLUMNS_MAX];
    for (uint32_t i = 0; i < keys; i++)
        columns[i] = sf_column_ref(batch->columns[reduce->op.node->as.reduce.keys[i]]);
    return sf_batch_new(reduce->key_schema, batch->rows, columns, NULL, NULL);
}

static sf_status reduce_batch(reduce_op *reduce, const sf_batch *batch, const sf_batch *keys,
                              sf_error *err)
{
    uint32_t rows = batch->rows, key_count = reduce->aggs.key_count;
    sf_sel all = sf_sel_all(rows);
    SF_TRY(reserve(reduce, rows, err));
    sf_batch_hash(keys, reduce->key_numbers, key_count, all, reduce->hashes);
    SF_TRY(sf_arr_upsert(reduce->groups, keys, reduce->key_numbers, all, reduce->hashes,
                         reduce->refs, NULL, err));
    for (uint32_t i = 0; i < rows; i++) /* upsert made every row writable */
        reduce->states[i] = (uint8_t *)sf_arr_extra(reduce->groups, reduce->refs[i]);
    SF_TRY(note_touched(reduce, rows, err));
    const int64_t *weights = batch->weights ? SF_LANES(batch->weights, int64_t) : NULL;
    for (uint32_t i = 0; i < rows; i++)
        head_of(reduce->states[i])->count += weights ? weights[i] : 1;
    return sf_aggs_update(&reduce->aggs, batch, all, keys->columns, reduce->states, weights, err);
}

static sf_step reduce_push(sf_op *op, uint32_t port, const sf_batch *batch, sf_error *err)
{
    SF_UNUSED(port);
    reduce_op *reduce = (reduce_op *)op;
    sf_batch *keys = key_batch(reduce, batch);
    sf_status status = keys ? reduce_batch(reduce, batch, keys, err) : sf_fail_memory(err);
    sf_batch_unref(keys);
    return status == SF_OK ? SF_STEP_DONE : SF_STEP_FAILED;
}

/* The single row of a global aggregate is there before any input. */
static sf_status touch_global(reduce_op *reduce, sf_error *err)
{
    if (reduce->aggs.key_count > 0 || sf_arr_rows(reduce->groups) > 0)
        return SF_OK;
    sf_column *none = NULL;
    sf_batch *one = sf_batch_new(reduce->key_schema, 1, &none, NULL, NULL);
    sf_status status = one ? reserve(reduce, 1, err) : sf_fail_memory(err);
    if (status == SF_OK) {
        sf_batch_hash(one, reduce->key_numbers, 0, sf_sel_all(1), reduce->hashes);
        status = sf_arr_upsert(reduce->groups, one, reduce->key_numbers, sf_sel_all(1),
                               reduce->hashes, reduce->refs, NULL, err);
    }
    if (status == SF_OK) {
        reduce->states[0] = (uint8_t *)sf_arr_extra(reduce->groups, reduce->refs[0]);
        status = note_touched(reduce, 1, err);
    }
    sf_batch_unref(one);
    return status;
}

/* Emits the difference of one chunk and lets empty groups go. */
static sf_status flush_chunk(reduce_op *reduce, const sf_touched *touched, sf_error *err)
{
    sf_op *op = &reduce->op;
    uint32_t count = touched->count, columns = op->schema->count;
    uint8_t **states = sf_alloc(count * sizeof *states);
    uint8_t *exists = sf_alloc(2u * count), *changed = exists ? exists + count : NULL;
    sf_column **now = sf_calloc(columns, sizeof *now);
    sf_status status = states && exists && now ? SF_OK : sf_fail_memory(err);
    for (uint32_t i = 0; status == SF_OK && i < count; i++) {
        states[i] = sf_arr_extra_mut(reduce->groups, touched->refs[i]);
        if (!states[i])
            status = sf_fail_memory(err);
        else
            exists[i] = head_of(states[i])->count > 0 || reduce->aggs.key_count == 0;
    }
    if (status == SF_OK)
        status = group_columns(reduce, touched->refs, states, count, now, err);
    if (status == SF_OK) {
        /* New answers carry this epoch's time; unchanged ones keep theirs. */
        int64_t *ts = sf_column_lanes(now[columns - 1]);
        for (uint32_t i = 0; i < count; i++)
            ts[i] = op->circuit->now_ms;
        status = sf_changes_emit(op, touched, now, exists, columns, columns - 1, changed, err);
    }
    for (uint32_t i = 0; status == SF_OK && i < count; i++) {
        head_of(states[i])->answered = exists[i];
        if (changed[i])
            head_of(states[i])->ts = op->circuit->now_ms;
    }
    for (uint32_t i = 0; status == SF_OK && i < count; i++)
        if (!exists[i] && head_of(states[i])->count == 0)
            sf_arr_remove(reduce->groups, touched->refs[i]);
    for (uint32_t c = 0; now && c < columns; c++)
        sf_column_unref(now[c]);
    sf_free(now);
    sf_free(exists);
    sf_free(states);
    return status;
}

static sf_step reduce_flush(sf_op *op, sf_error *err)
{
    reduce_op *reduce = (reduce_op *)op;
    if (touch_global(reduce, err) != SF_OK)
        return SF_STEP_FAILED;
    while (reduce->changes.next < reduce->changes.chunks.len) {
        if (flush_chunk(reduce, &reduce->changes.chunks.data[reduce->changes.next], err) != SF_OK)
            return SF_STEP_FAILED;
        reduce->changes.next++;
        if (op->circuit->budget_rows == 0)
            return SF_STEP_MORE;
    }
    sf_changes_clear(&reduce->changes);
    return SF_STEP_DONE;
}

static sf_status reduce_load(sf_op *op, sf_reader *in, sf_error *err)
{
    SF_UNUSED(in);
    return sf_aggs_load(&((reduce_op *)op)->aggs, err);
}

const sf_op_type sf_op_reduce = {
    .size = sizeof(reduce_op),
    .open = reduce_open,
    .push = reduce_push,
    .flush = reduce_flush,
    .close = reduce_close,
    .load = reduce_load,
};

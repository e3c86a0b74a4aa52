/* Temporal filters: rows that are valid until a time, or from one on.
 *
 * Each row has a bound, a function of the row alone. A row valid until its bound goes out when it
 * comes and is taken back when the epoch's time reaches the bound; one valid from its bound on waits
 * until then. What still has to change is kept by bound and row with its weight, so a retraction
 * finds what its row left. A NULL bound is never reached from either side: such rows are left out. */
#include "flow/operator.h"

typedef struct {
    sf_op op;
    int64_t now_ms; /* of the latest epoch: time never goes back */
    sf_arr *rows;   /* bound, then the input's columns; extra: the weight */
    sf_order *order;
    sf_schema *schema;
    uint32_t *numbers; /* 0, 1, 2, ... */
    /* scratch of one batch */
    uint32_t *picked;
    uint64_t *hashes;
    sf_ref *refs;
    size_t picked_cap, hashes_cap, refs_cap;
} temporal_op;

static int64_t *weight_of(uint8_t *extra)
{
    return (int64_t *)(void *)extra;
}

static sf_status temporal_open(sf_op *op, sf_error *err)
{
    temporal_op *temporal = (temporal_op *)op;
    uint32_t count = op->schema->count + 1;
    sf_field *fields = sf_alloc(count * sizeof *fields);
    sf_type *types = sf_alloc(count * sizeof *types);
    temporal->numbers = sf_alloc(count * sizeof *temporal->numbers);
    temporal->now_ms = INT64_MIN;
    sf_status status = fields && types && temporal->numbers ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK && count > SF_COLUMNS_MAX)
        status = sf_fail(err, SF_LIMIT, "a temporal filter takes rows of at most %d columns",
                         SF_COLUMNS_MAX - 1);
    if (status == SF_OK) {
        fields[0] = (sf_field){"bound", SF_TYPE_I64, true};
        for (uint32_t i = 1; i < count; i++)
            fields[i] = op->schema->fields[i - 1];
        for (uint32_t i = 0; i < count; i++) {
            types[i] = fields[i].type;
            temporal->numbers[i] = i;
        }
        temporal->schema = sf_schema_new(fields, count);
        sf_arr_options options = {.mode = SF_ARR_UNIQUE,
                                  .types = types,
                                  .column_count = count,
                                  .key_count = count,
                                  .extra_bytes = sizeof(int64_t)};
        status = temporal->schema ? sf_op_arrangement(op, &options, &temporal->rows, err)
                                  : sf_fail_memory(err);
    }
    sf_order_by by = {0};
    if (status == SF_OK)
        status = sf_order_new(temporal->rows, &by, 1, &temporal->order, err);
    sf_free(fields);
    sf_free(types);
    return status;
}

static void temporal_close(sf_op *op)
{
    temporal_op *temporal = (temporal_op *)op;
    sf_order_free(temporal->order);
    sf_schema_unref(temporal->schema);
    sf_free(temporal->numbers);
    sf_free(temporal->picked);
    sf_free(temporal->hashes);
    sf_free(temporal->refs);
}

static void read_clock(temporal_op *temporal)
{
    if (temporal->op.circuit->now_ms > temporal->now_ms)
        temporal->now_ms = temporal->op.circuit->now_ms;
}

/* ---- rows that come ---- */

/* Adds the rows' weights to what waits. */
static sf_status keep(temporal_op *temporal, const sf_batch *batch, const sf_column *bounds,
                      sf_sel sel, sf_error *err)
{
    uint32_t count = temporal->schema->count;
    sf_column **columns = sf_calloc(count, sizeof *columns);
    if (!columns)
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < count; i++)
        columns[i] = sf_column_gather(i ? batch->columns[i - 1] : bounds, sel);
    sf_batch *keyed = sf_batch_new(temporal->schema, sel.count, columns, NULL, NULL);
    sf_free(columns);
    if (!keyed)
        return sf_fail_memory(err);
    sf_batch_hash(keyed, temporal->numbers, count, sf_sel_all(sel.count), temporal->hashes);
    sf_status status = SF_OK;
    for (uint32_t i = 0; i < sel.count && status == SF_OK; i++) {
        bool created;
        sf_ref ref;
        status = sf_arr_upsert(temporal->rows, keyed, temporal->numbers, (sf_sel){&i, 1},
                               &temporal->hashes[i], &ref, &created, err);
        if (status == SF_OK && created)
            status = sf_order_insert(temporal->order, ref, err);
        if (status != SF_OK)
            break;
        int64_t *weight = weight_of((uint8_t *)sf_arr_extra(temporal->rows, ref));
        uint32_t row = sf_sel_row(sel, i);
        *weight += batch->weights ? SF_LANES(batch->weights, int64_t)[row] : 1;
        if (*weight == 0) {
            sf_order_remove(temporal->order, ref);
            sf_arr_remove(temporal->rows, ref);
        }
    }
    sf_batch_unref(keyed);
    return status;
}

/* The rows whose bound is still ahead, or those that it is not. */
static sf_sel pick(temporal_op *temporal, const sf_column *bounds, bool ahead)
{
    sf_sel sel = {temporal->picked, 0};
    for (uint32_t i = 0; i < bounds->rows; i++)
        if (sf_column_is_valid(bounds, i) &&
            (SF_LANES(bounds, int64_t)[i] > temporal->now_ms) == ahead)
            temporal->picked[sel.count++] = i;
    return sel;
}

static sf_status take_batch(temporal_op *temporal, const sf_batch *batch, const sf_column *bounds,
                            sf_error *err)
{
    sf_op *op = &temporal->op;
    bool until = op->node->as.temporal.until;
    if (!sf_scratch((void **)&temporal->picked, &temporal->picked_cap, batch->rows,
                    sizeof *temporal->picked) ||
        !sf_scratch((void **)&temporal->hashes, &temporal->hashes_cap, batch->rows,
                    sizeof *temporal->hashes))
        return sf_fail_memory(err);
    sf_sel waiting = pick(temporal, bounds, true);
    if (waiting.count)
        SF_TRY(keep(temporal, batch, bounds, waiting, err));
    sf_sel valid = pick(temporal, bounds, until);
    return valid.count ? sf_op_emit(op, sf_batch_gather(batch, valid), err) : SF_OK;
}

static sf_step temporal_push(sf_op *op, uint32_t port, const sf_batch *batch, sf_error *err)
{
    SF_UNUSED(port);
    temporal_op *temporal = (temporal_op *)op;
    sf_column *bounds = NULL;
    read_clock(temporal);
    sf_status status = sf_eval_column(&op->circuit->eval, op->node->as.temporal.bound, batch,
                                      sf_sel_all(batch->rows), &bounds, err);
    if (status == SF_OK)
        status = take_batch(temporal, batch, bounds, err);
    sf_column_unref(bounds);
    return status == SF_OK ? SF_STEP_DONE : SF_STEP_FAILED;
}

/* ---- time ---- */

static bool next_bound(const temporal_op *temporal, sf_ref *ref, int64_t *bound)
{
    *ref = sf_order_first(temporal->order, 0, 0);
    return *ref && sf_arr_lane_i64(temporal->rows, *ref, 0, bound);
}

static sf_status emit_due(temporal_op *temporal, uint32_t count, sf_error *err)
{
    sf_op *op = &temporal->op;
    uint32_t columns_n = op->schema->count;
    sf_column **columns = sf_calloc(columns_n, sizeof *columns);
    sf_column *weights = sf_column_new(SF_TYPE_I64, count, false);
    if (!columns || !weights) {
        sf_free(columns);
        sf_column_unref(weights);
        return sf_fail_memory(err);
    }
    int64_t *lanes = sf_column_lanes(weights);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *extra = (uint8_t *)sf_arr_extra(temporal->rows, temporal->refs[i]);
        lanes[i] = op->node->as.temporal.until ? -*weight_of(extra) : *weight_of(extra);
    }
    for (uint32_t i = 0; i < columns_n; i++)
        columns[i] = sf_arr_gather(temporal->rows, i + 1, temporal->refs, count);
    sf_batch *batch = sf_batch_new(op->schema, count, columns, weights, NULL);
    sf_free(columns);
    return sf_op_emit(op, batch, err);
}

/* Rows whose time has come, a batch at a time. */
static sf_step temporal_flush(sf_op *op, sf_error *err)
{
    temporal_op *temporal = (temporal_op *)op;
    read_clock(temporal);
    for (;;) {
        uint32_t count = 0;
        int64_t bound = 0;
        sf_ref ref;
        if (!sf_scratch((void **)&temporal->refs, &temporal->refs_cap, SF_BATCH_ROWS,
                        sizeof *temporal->refs)) {
            sf_fail_memory(err);
            return SF_STEP_FAILED;
        }
        while (count < SF_BATCH_ROWS && next_bound(temporal, &ref, &bound) &&
               bound <= temporal->now_ms) {
            sf_order_remove(temporal->order, ref);
            temporal->refs[count++] = ref;
        }
        if (count == 0)
            return SF_STEP_DONE;
        if (emit_due(temporal, count, err) != SF_OK)
            return SF_STEP_FAILED;
        for (uint32_t i = 0; i < count; i++)
            sf_arr_remove(temporal->rows, temporal->refs[i]);
        if (op->circuit->budget_rows == 0)
            return SF_STEP_MORE;
    }
}

static int64_t temporal_due(const sf_op *op)
{
    sf_ref ref;
    int64_t bound;
    return next_bound((const temporal_op *)op, &ref, &bound) ? bound : INT64_MAX;
}

/* ---- checkpoints ---- */

static void temporal_save(const sf_op *op, sf_buf *out)
{
    sf_buf_put_u64(out, (uint64_t)((const temporal_op *)op)->now_ms);
}

static sf_status temporal_load(sf_op *op, sf_reader *in, sf_error *err)
{
    temporal_op *temporal = (temporal_op *)op;
    temporal->now_ms = (int64_t)sf_read_u64(in);
    return sf_order_rebuild(temporal->order, err);
}

const sf_op_type sf_op_temporal = {
    .size = sizeof(temporal_op),
    .open = temporal_open,
    .push = temporal_push,
    .flush = temporal_flush,
    .close = temporal_close,
    .save = temporal_save,
    .load = temporal_load,
    .due = temporal_due,
};

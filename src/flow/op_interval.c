/* Interval joins of streams: rows of both sides whose keys are equal and whose event times differ by
 * at most WITHIN.
 *
 * A row older than its own source's watermark is late. A stored row leaves when the joint watermark
 * has passed its time + WITHIN: no row that is not late can match it any more. Then, if it never
 * matched and its side is an outer one, it goes out padded. So the result is a function of the two
 * logs, however their batches interleave. */
#include "flow/operator.h"

typedef struct {
    sf_op op;
    sf_arr *rows[2];    /* keys, then all columns, then a serial number: equal rows stay apart */
    sf_order *times[2]; /* of rows, by _ts */
    sf_arr *matched[2]; /* serial numbers of rows that matched; only for outer sides */
    sf_schema *schemas[2], *serial_schema;
    uint32_t *stored[2]; /* 0, 1, 2, ... of the stored batch */
    uint32_t columns[2];
    uint64_t serial;
    /* the batch in hand */
    sf_batch *batch; /* prepared: keys, columns, serial; rows that are not late */
    uint64_t *hashes;
    sf_ref *heads;
    size_t hashes_cap, heads_cap;
    uint32_t at;
    sf_ref chain;
    uint32_t pair_rows[SF_BATCH_ROWS];
    sf_ref pair_refs[SF_BATCH_ROWS];
    uint32_t pair_count;
    uint64_t *own_matched; /* bit a row of the batch in hand */
} interval_op;

static bool is_outer(const interval_op *join, uint32_t side)
{
    sf_join_kind kind = join->op.node->as.join.kind;
    return kind == SF_JOIN_FULL || kind == (side ? SF_JOIN_RIGHT : SF_JOIN_LEFT);
}

static uint32_t key_count(const interval_op *join)
{
    return join->op.node->as.join.key_count;
}

/* ---- opening ---- */

static sf_status open_side(interval_op *join, uint32_t side, sf_error *err)
{
    sf_op *op = &join->op;
    const sf_schema *schema = sf_plan_at(op->circuit->plan, op->node->inputs[side])->schema;
    const uint32_t *keys = side ? op->node->as.join.right_keys : op->node->as.join.left_keys;
    uint32_t count = key_count(join) + schema->count + 1;
    sf_field *fields = sf_alloc(count * sizeof *fields);
    sf_type *types = sf_alloc(count * sizeof *types);
    join->stored[side] = sf_alloc(count * sizeof(uint32_t));
    join->columns[side] = schema->count;
    sf_status status = fields && types && join->stored[side] ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK) {
        for (uint32_t i = 0; i < key_count(join); i++)
            fields[i] = schema->fields[keys[i]];
        memcpy(fields + key_count(join), schema->fields, schema->count * sizeof *fields);
        fields[count - 1] = (sf_field){"serial", SF_TYPE_I64, true};
        for (uint32_t i = 0; i < count; i++) {
            types[i] = fields[i].type;
            join->stored[side][i] = i;
        }
        join->schemas[side] = sf_schema_new(fields, count);
        sf_arr_options options = {.mode = SF_ARR_BAG,
                                  .types = types,
                                  .column_count = count,
                                  .key_count = key_count(join)};
        status = join->schemas[side] ? sf_op_arrangement(op, &options, &join->rows[side], err)
                                     : sf_fail_memory(err);
    }
    sf_order_by by = {.column = count - 2};
    if (status == SF_OK)
        status = sf_order_new(join->rows[side], &by, 1, &join->times[side], err);
    sf_type serial = SF_TYPE_I64;
    sf_arr_options matched = {
        .mode = SF_ARR_UNIQUE, .types = &serial, .column_count = 1, .key_count = 1};
    if (status == SF_OK && is_outer(join, side))
        status = sf_op_arrangement(op, &matched, &join->matched[side], err);
    sf_free(fields);
    sf_free(types);
    return status;
}

static sf_status interval_open(sf_op *op, sf_error *err)
{
    interval_op *join = (interval_op *)op;
    op->hold_ms = op->node->as.join.within_ms;
    sf_field serial = {"serial", SF_TYPE_I64, true};
    join->serial_schema = sf_schema_new(&serial, 1);
    join->own_matched = sf_alloc(SF_VALID_WORDS(SF_BATCH_ROWS_MAX) * sizeof(uint64_t));
    if (!join->serial_schema || !join->own_matched)
        return sf_fail_memory(err);
    SF_TRY(open_side(join, 0, err));
    return open_side(join, 1, err);
}

static void interval_close(sf_op *op)
{
    interval_op *join = (interval_op *)op;
    for (uint32_t side = 0; side < 2; side++) {
        sf_order_free(join->times[side]);
        sf_schema_unref(join->schemas[side]);
        sf_free(join->stored[side]);
    }
    sf_schema_unref(join->serial_schema);
    sf_batch_unref(join->batch);
    sf_free(join->hashes);
    sf_free(join->heads);
    sf_free(join->own_matched);
}

/* ---- output ---- */

/* left and right: whole sides (taken), NULL for a padded one. */
static sf_batch *joined(const interval_op *join, sf_column **left, sf_column **right, uint32_t rows)
{
    const sf_schema *schema = join->op.schema;
    sf_column **columns = sf_calloc(schema->count, sizeof *columns);
    sf_column *ts = sf_column_new(SF_TYPE_I64, rows, false);
    for (uint32_t i = 0; columns && i < schema->count - 1; i++) {
        bool of_left = i < join->columns[0];
        sf_column **side = of_left ? left : right;
        columns[i] = side ? side[of_left ? i : i - join->columns[0]]
                          : sf_column_nulls(schema->fields[i].type, rows);
    }
    const sf_column *a = left ? left[join->columns[0] - 1] : right[join->columns[1] - 1];
    const sf_column *b = right ? right[join->columns[1] - 1] : a;
    int64_t *lanes = ts && a && b ? sf_column_lanes(ts) : NULL;
    for (uint32_t i = 0; lanes && i < rows; i++) {
        int64_t x = SF_LANES(a, int64_t)[i], y = SF_LANES(b, int64_t)[i];
        lanes[i] = x > y ? x : y;
    }
    sf_batch *batch = NULL;
    if (columns) {
        columns[schema->count - 1] = ts;
        batch = sf_batch_new(schema, rows, columns, NULL, NULL);
    }
    sf_free(columns);
    return batch;
}

static sf_column **stored_columns(const interval_op *join, uint32_t side, const sf_ref *refs,
                                  uint32_t count)
{
    sf_column **columns = sf_calloc(join->columns[side], sizeof *columns);
    for (uint32_t i = 0; columns && i < join->columns[side]; i++)
        columns[i] = sf_arr_gather(join->rows[side], key_count(join) + i, refs, count);
    return columns;
}

static sf_column **batch_columns(const interval_op *join, uint32_t side, sf_sel sel)
{
    sf_column **columns = sf_calloc(join->columns[side], sizeof *columns);
    for (uint32_t i = 0; columns && i < join->columns[side]; i++)
        columns[i] = sf_column_gather(join->batch->columns[key_count(join) + i], sel);
    return columns;
}

/* Remembers that stored rows of an outer side have matched. */
static sf_status note_matched(interval_op *join, uint32_t side, sf_column *serials, sf_error *err)
{
    if (!serials)
        return sf_fail_memory(err);
    uint32_t zero = 0, count = serials->rows;
    uint64_t *hashes = sf_alloc((count + 1u) * sizeof *hashes);
    sf_ref *refs = sf_alloc((count + 1u) * sizeof *refs);
    sf_batch *batch = sf_batch_new(join->serial_schema, count, &serials, NULL, NULL);
    sf_status status = hashes && refs && batch ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK) {
        sf_batch_hash(batch, &zero, 1, sf_sel_all(count), hashes);
        status = sf_arr_upsert(join->matched[side], batch, &zero, sf_sel_all(count), hashes, refs,
                               NULL, err);
    }
    sf_batch_unref(batch);
    sf_free(hashes);
    sf_free(refs);
    return status;
}

/* Which of the collected pairs meet the residual condition; the batch of those. */
static sf_status keep_residual(interval_op *join, sf_batch **batch, uint32_t *kept,
                               uint32_t *kept_count, sf_error *err)
{
    const sf_expr *residual = join->op.node->as.join.residual;
    *kept_count = (*batch)->rows;
    for (uint32_t i = 0; i < *kept_count; i++)
        kept[i] = i;
    if (!residual)
        return SF_OK;
    sf_status status = sf_eval_filter(&join->op.circuit->eval, residual, *batch,
                                      sf_sel_all((*batch)->rows), kept, kept_count, err);
    sf_batch *filtered =
        status == SF_OK ? sf_batch_gather(*batch, (sf_sel){kept, *kept_count}) : NULL;
    sf_batch_unref(*batch);
    *batch = filtered;
    return status == SF_OK && !filtered ? sf_fail_memory(err) : status;
}

static sf_status emit_pairs(interval_op *join, uint32_t side, sf_error *err)
{
    uint32_t count = join->pair_count, kept[SF_BATCH_ROWS], kept_count = 0;
    if (count == 0)
        return SF_OK;
    join->pair_count = 0;
    sf_column **own = batch_columns(join, side, (sf_sel){join->pair_rows, count});
    sf_column **other = stored_columns(join, !side, join->pair_refs, count);
    sf_batch *out =
        own && other ? joined(join, side ? other : own, side ? own : other, count) : NULL;
    sf_free(own);
    sf_free(other);
    if (!out)
        return sf_fail_memory(err);
    sf_status status = keep_residual(join, &out, kept, &kept_count, err);
    for (uint32_t i = 0; status == SF_OK && i < kept_count; i++) {
        uint32_t row = join->pair_rows[kept[i]];
        join->own_matched[row >> 6] |= 1ULL << (row & 63);
        join->pair_refs[i] = join->pair_refs[kept[i]];
    }
    if (status == SF_OK && is_outer(join, !side)) {
        uint32_t serial = key_count(join) + join->columns[!side];
        status = note_matched(join, !side,
                              sf_arr_gather(join->rows[!side], serial, join->pair_refs, kept_count),
                              err);
    }
    if (status != SF_OK) {
        sf_batch_unref(out);
        return status;
    }
    return sf_op_emit(&join->op, out, err);
}

/* ---- one batch ---- */

static bool has_null_key(const interval_op *join, const sf_batch *batch, uint32_t side,
                         uint32_t row)
{
    const sf_plan_node *node = join->op.node;
    const uint32_t *keys = side ? node->as.join.right_keys : node->as.join.left_keys;
    for (uint32_t i = 0; i < key_count(join); i++)
        if (!sf_column_is_valid(batch->columns[keys[i]], row))
            return true;
    return false;
}

/* The batch as it is stored: keys, columns, serial numbers; late rows are counted and left out, and
 * so are rows with a NULL key where nothing would ever come of them. */
static sf_batch *prepare(interval_op *join, uint32_t side, const sf_batch *batch)
{
    const sf_plan_node *node = join->op.node;
    const uint32_t *keys = side ? node->as.join.right_keys : node->as.join.left_keys;
    uint32_t keep = 0, keys_n = key_count(join), columns_n = join->columns[side];
    uint32_t *rows = sf_alloc((batch->rows + 1u) * sizeof *rows);
    sf_column **columns = sf_calloc(keys_n + columns_n + 1u, sizeof *columns);
    sf_batch *out = NULL;
    if (rows && columns) {
        const int64_t *ts = SF_LANES(batch->columns[columns_n - 1], int64_t);
        for (uint32_t i = 0; i < batch->rows; i++) {
            int64_t mark = batch->marks ? SF_LANES(batch->marks, int64_t)[i] : SF_MARK_NONE;
            bool late = ts[i] < mark;
            join->op.circuit->late_rows += late;
            rows[keep] = i;
            keep += !late && (is_outer(join, side) || !has_null_key(join, batch, side, i));
        }
        sf_sel sel = {rows, keep};
        for (uint32_t i = 0; i < keys_n; i++)
            columns[i] = sf_column_gather(batch->columns[keys[i]], sel);
        for (uint32_t i = 0; i < columns_n; i++)
            columns[keys_n + i] = sf_column_gather(batch->columns[i], sel);
        sf_column *serials = sf_column_new(SF_TYPE_I64, keep, false);
        for (uint32_t i = 0; serials && i < keep; i++)
            ((int64_t *)sf_column_lanes(serials))[i] = (int64_t)join->serial++;
        columns[keys_n + columns_n] = serials;
        out = sf_batch_new(join->schemas[side], keep, columns, NULL, NULL);
    }
    sf_free(rows);
    sf_free(columns);
    return out;
}

static sf_status start(interval_op *join, uint32_t side, const sf_batch *batch, sf_error *err)
{
    join->batch = prepare(join, side, batch);
    if (!join->batch)
        return sf_fail_memory(err);
    uint32_t rows = join->batch->rows;
    if (!sf_scratch((void **)&join->hashes, &join->hashes_cap, rows, sizeof *join->hashes) ||
        !sf_scratch((void **)&join->heads, &join->heads_cap, rows, sizeof *join->heads))
        return sf_fail_memory(err);
    sf_sel all = sf_sel_all(rows);
    sf_batch_hash(join->batch, join->stored[side], key_count(join), all, join->hashes);
    sf_arr_find(join->rows[!side], join->batch, join->stored[side], all, join->hashes, join->heads);
    memset(join->own_matched, 0, SF_VALID_WORDS(rows) * sizeof(uint64_t));
    join->at = 0;
    join->chain = 0;
    return SF_OK;
}

static bool batch_key_has_null(const interval_op *join, uint32_t row)
{
    for (uint32_t i = 0; i < key_count(join); i++)
        if (!sf_column_is_valid(join->batch->columns[i], row))
            return true;
    return false;
}

static sf_step collect(interval_op *join, uint32_t side, sf_error *err)
{
    const sf_arr *other = join->rows[!side];
    uint32_t ts_own = key_count(join) + join->columns[side] - 1;
    uint32_t ts_other = key_count(join) + join->columns[!side] - 1;
    int64_t within = join->op.node->as.join.within_ms;
    for (; join->at < join->batch->rows; join->at++, join->chain = 0) {
        sf_ref ref = join->chain ? join->chain : join->heads[join->at];
        if (!ref || batch_key_has_null(join, join->at))
            continue;
        int64_t ts = SF_LANES(join->batch->columns[ts_own], int64_t)[join->at], stored = 0;
        for (; ref; ref = sf_arr_next(other, ref)) {
            sf_arr_lane_i64(other, ref, ts_other, &stored);
            if (stored > sf_sat_add(ts, within) || stored < sf_sat_add(ts, -within))
                continue;
            if (join->pair_count == SF_BATCH_ROWS) {
                join->chain = ref;
                return emit_pairs(join, side, err) == SF_OK ? SF_STEP_MORE : SF_STEP_FAILED;
            }
            join->pair_rows[join->pair_count] = join->at;
            join->pair_refs[join->pair_count++] = ref;
        }
    }
    return emit_pairs(join, side, err) == SF_OK ? SF_STEP_DONE : SF_STEP_FAILED;
}

/* Stores the batch's rows and files them by time. */
static sf_status keep(interval_op *join, uint32_t side, sf_error *err)
{
    uint32_t rows = join->batch->rows, serial = key_count(join) + join->columns[side];
    if (rows == 0)
        return SF_OK;
    SF_TRY(sf_arr_add(join->rows[side], join->batch, join->stored[side], sf_sel_all(rows),
                      join->hashes, NULL, NULL, err));
    /* Each row is the newest of its chain that has its serial number: found by walking from the
     * head, which is short since rows were added just now. */
    sf_arr_find(join->rows[side], join->batch, join->stored[side], sf_sel_all(rows), join->hashes,
                join->heads);
    const int64_t *serials = SF_LANES(join->batch->columns[serial], int64_t);
    for (uint32_t i = 0; i < rows; i++) {
        int64_t stored = -1;
        sf_ref ref = join->heads[i];
        while (ref && sf_arr_lane_i64(join->rows[side], ref, serial, &stored) &&
               stored != serials[i])
            ref = sf_arr_next(join->rows[side], ref);
        SF_ASSERT(ref);
        SF_TRY(sf_order_insert(join->times[side], ref, err));
    }
    if (!is_outer(join, side))
        return SF_OK;
    uint32_t matched[SF_BATCH_ROWS], count = 0;
    for (uint32_t i = 0; i <= rows; i++) {
        if (count == SF_BATCH_ROWS || (i == rows && count > 0)) {
            SF_TRY(note_matched(
                join, side,
                sf_column_gather(join->batch->columns[serial], (sf_sel){matched, count}), err));
            count = 0;
        }
        if (i < rows && (join->own_matched[i >> 6] >> (i & 63) & 1))
            matched[count++] = i;
    }
    return SF_OK;
}

static sf_step interval_push(sf_op *op, uint32_t side, const sf_batch *batch, sf_error *err)
{
    interval_op *join = (interval_op *)op;
    if (!join->batch && start(join, side, batch, err) != SF_OK)
        return SF_STEP_FAILED;
    sf_step step = collect(join, side, err);
    if (step != SF_STEP_DONE)
        return step;
    if (keep(join, side, err) != SF_OK)
        return SF_STEP_FAILED;
    sf_batch_unref(join->batch);
    join->batch = NULL;
    return SF_STEP_DONE;
}

/* ---- expiry ---- */

/* Removes up to SF_BATCH_ROWS rows of one side whose time has passed; outer ones that never matched
 * go out padded. *more tells whether there may be others. */
static sf_status expire(interval_op *join, uint32_t side, bool *more, sf_error *err)
{
    sf_op *op = &join->op;
    uint32_t ts_column = key_count(join) + join->columns[side] - 1, count = 0, padded = 0;
    sf_ref refs[SF_BATCH_ROWS], found[SF_BATCH_ROWS];
    int64_t ts = 0, within = op->node->as.join.within_ms;
    for (sf_ref ref = sf_order_first(join->times[side], 0, 0); ref && count < SF_BATCH_ROWS;
         ref = sf_order_next(join->times[side], ref)) {
        sf_arr_lane_i64(join->rows[side], ref, ts_column, &ts);
        if (op->mark != SF_MARK_END && sf_sat_add(ts, within) >= op->mark)
            break;
        refs[count++] = ref;
    }
    *more = count == SF_BATCH_ROWS;
    if (count == 0)
        return SF_OK;
    sf_status status = SF_OK;
    if (is_outer(join, side)) {
        sf_column *serials = sf_arr_gather(join->rows[side], ts_column + 1, refs, count);
        uint32_t zero = 0;
        uint64_t hashes[SF_BATCH_ROWS];
        sf_batch *batch =
            serials ? sf_batch_new(join->serial_schema, count, &serials, NULL, NULL) : NULL;
        if (!batch)
            return sf_fail_memory(err);
        sf_batch_hash(batch, &zero, 1, sf_sel_all(count), hashes);
        sf_arr_find(join->matched[side], batch, &zero, sf_sel_all(count), hashes, found);
        sf_batch_unref(batch);
        sf_ref alone[SF_BATCH_ROWS];
        for (uint32_t i = 0; i < count; i++) {
            if (found[i])
                sf_arr_remove(join->matched[side], found[i]);
            else
                alone[padded++] = refs[i];
        }
        if (padded) {
            sf_column **rows = stored_columns(join, side, alone, padded);
            sf_batch *out =
                rows ? joined(join, side ? NULL : rows, side ? rows : NULL, padded) : NULL;
            sf_free(rows);
            status = sf_op_emit(op, out, err);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        sf_order_remove(join->times[side], refs[i]);
        sf_arr_remove(join->rows[side], refs[i]);
    }
    return status;
}

static sf_step interval_mark(sf_op *op, sf_error *err)
{
    interval_op *join = (interval_op *)op;
    bool more = true;
    for (uint32_t side = 0; side < 2; side++) {
        for (more = true; more;) {
            if (expire(join, side, &more, err) != SF_OK)
                return SF_STEP_FAILED;
            if (more && op->circuit->budget_rows == 0)
                return SF_STEP_MORE;
        }
    }
    return SF_STEP_DONE;
}

static void interval_save(const sf_op *op, sf_buf *out)
{
    sf_buf_put_u64(out, ((const interval_op *)op)->serial);
}

static sf_status interval_load(sf_op *op, sf_reader *in, sf_error *err)
{
    interval_op *join = (interval_op *)op;
    join->serial = sf_read_u64(in);
    SF_TRY(sf_order_rebuild(join->times[0], err));
    return sf_order_rebuild(join->times[1], err);
}

const sf_op_type sf_op_interval_join = {
    .size = sizeof(interval_op),
    .open = interval_open,
    .push = interval_push,
    .mark = interval_mark,
    .close = interval_close,
    .save = interval_save,
    .load = interval_load,
};

/* Snapshot joins: rows of a stream tested against the result of the last closed window.
 *
 * A windowed subquery of a pipeline has a value that each close of its window replaces. What a row
 * meets is decided by its own source's watermark as it was when the row came (of rows without one,
 * by their time): the newest window that had ended by then, empty or not. So the result depends on
 * the logs alone. A row waits until the subquery's watermark has got as far; results leave when no
 * row can ask for them any more. */
#include "flow/operator.h"

typedef struct {
    sf_op op;
    sf_arr *results;      /* window's end; keys; all columns */
    SF_VEC(int64_t) ends; /* of the windows that have results, ascending */
    sf_arr *waiting;      /* mark, serial number; all columns */
    sf_order *queue;      /* of waiting */
    sf_schema *result_schema, *wanted_schema, *waiting_schema, *pair_schema;
    uint32_t *numbers; /* 0, 1, 2, ... */
    uint32_t columns[2];
    int64_t serial;
    /* the rows in hand */
    const sf_batch *batch;
    const int64_t *marks; /* of each */
    uint64_t *hashes;
    sf_ref *heads;
    uint64_t *matched; /* bit a row */
    size_t hashes_cap, heads_cap, matched_cap;
    uint32_t pair_rows[SF_BATCH_ROWS];
    sf_ref pair_refs[SF_BATCH_ROWS];
    uint32_t pair_count;
} snapshot_op;

static uint32_t key_count(const snapshot_op *join)
{
    return join->op.node->as.join.key_count;
}

static sf_join_kind kind_of(const snapshot_op *join)
{
    return join->op.node->as.join.kind;
}

/* ---- opening ---- */

/* `first` fields, then those of a node's output. */
static sf_status open_arrangement(snapshot_op *join, const sf_field *first, uint32_t first_count,
                                  const sf_schema *schema, uint32_t keys, sf_schema **stored,
                                  sf_arr **out, sf_error *err)
{
    uint32_t count = first_count + schema->count;
    sf_field *fields = sf_alloc(count * sizeof *fields);
    sf_type *types = sf_alloc(count * sizeof *types);
    sf_status status = fields && types ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK) {
        memcpy(fields, first, first_count * sizeof *fields);
        memcpy(fields + first_count, schema->fields, schema->count * sizeof *fields);
        for (uint32_t i = 0; i < count; i++)
            types[i] = fields[i].type;
        *stored = sf_schema_new(fields, count);
        sf_arr_options options = {
            .mode = SF_ARR_BAG, .types = types, .column_count = count, .key_count = keys};
        status = *stored ? sf_op_arrangement(&join->op, &options, out, err) : sf_fail_memory(err);
    }
    sf_free(fields);
    sf_free(types);
    return status;
}

static sf_status open_results(snapshot_op *join, const sf_schema *schema, sf_error *err)
{
    uint32_t keys = key_count(join);
    sf_field *first = sf_alloc((keys + 1u) * sizeof *first);
    if (!first)
        return sf_fail_memory(err);
    first[0] = (sf_field){"end", SF_TYPE_I64, true};
    for (uint32_t i = 0; i < keys; i++)
        first[1 + i] = schema->fields[join->op.node->as.join.right_keys[i]];
    join->wanted_schema = sf_schema_new(first, keys + 1);
    sf_status status = open_arrangement(join, first, keys + 1, schema, keys + 1,
                                        &join->result_schema, &join->results, err);
    sf_free(first);
    return status == SF_OK && !join->wanted_schema ? sf_fail_memory(err) : status;
}

static sf_status snapshot_open(sf_op *op, sf_error *err)
{
    snapshot_op *join = (snapshot_op *)op;
    const sf_schema *left = sf_plan_at(op->circuit->plan, op->node->inputs[0])->schema;
    const sf_schema *right = sf_plan_at(op->circuit->plan, op->node->inputs[1])->schema;
    uint32_t most = left->count + right->count + key_count(join) + 2u;
    join->columns[0] = left->count;
    join->columns[1] = right->count;
    join->numbers = sf_alloc(most * sizeof *join->numbers);
    join->pair_schema = sf_plan_join_schema(left, right);
    if (!join->numbers || !join->pair_schema)
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < most; i++)
        join->numbers[i] = i;
    SF_TRY(open_results(join, right, err));
    static const sf_field queue[2] = {{"mark", SF_TYPE_I64, true}, {"serial", SF_TYPE_I64, true}};
    SF_TRY(open_arrangement(join, queue, 2, left, 2, &join->waiting_schema, &join->waiting, err));
    sf_order_by by[2] = {{.column = 0}, {.column = 1}};
    return sf_order_new(join->waiting, by, 2, &join->queue, err);
}

static void snapshot_close(sf_op *op)
{
    snapshot_op *join = (snapshot_op *)op;
    SF_VEC_DEINIT(&join->ends);
    sf_order_free(join->queue);
    sf_schema_unref(join->result_schema);
    sf_schema_unref(join->wanted_schema);
    sf_schema_unref(join->waiting_schema);
    sf_schema_unref(join->pair_schema);
    sf_free(join->numbers);
    sf_free(join->hashes);
    sf_free(join->heads);
    sf_free(join->matched);
}

/* ---- which window ---- */

/* End of the newest window that had ended at this watermark; false: none had. */
static bool window_at(const snapshot_op *join, int64_t mark, int64_t *end)
{
    int64_t size = join->op.node->as.join.window_ms, advance = join->op.node->as.join.advance_ms;
    int64_t begun;
    if (mark == SF_MARK_NONE || __builtin_sub_overflow(mark, size, &begun))
        return false;
    int64_t behind = begun % advance;
    *end = mark - (behind < 0 ? behind + advance : behind);
    return true;
}

/* ---- pairs ---- */

static sf_column **gather_both(const snapshot_op *join, const uint32_t *rows, const sf_ref *refs,
                               uint32_t count)
{
    uint32_t left = join->columns[0], right = join->columns[1];
    sf_column **columns = sf_calloc(left + right + 1u, sizeof *columns);
    for (uint32_t i = 0; columns && i < left; i++)
        columns[i] = sf_column_gather(join->batch->columns[i], (sf_sel){rows, count});
    for (uint32_t i = 0; columns && i < right; i++)
        columns[left + i] = refs
                                ? sf_arr_gather(join->results, 1 + key_count(join) + i, refs, count)
                                : sf_column_nulls(join->pair_schema->fields[left + i].type, count);
    if (columns)
        columns[left + right] = sf_column_ref(columns[left - 1]); /* the row's own time */
    return columns;
}

/* Rows beside results (refs NULL: beside NULLs), with the marks of the rows. */
static sf_batch *pairs(const snapshot_op *join, const uint32_t *rows, const sf_ref *refs,
                       uint32_t count)
{
    sf_column *marks = NULL;
    if (join->batch->marks) {
        marks = sf_column_gather(join->batch->marks, (sf_sel){rows, count});
        if (!marks)
            return NULL;
    }
    sf_column **columns = gather_both(join, rows, refs, count);
    if (!columns) {
        sf_column_unref(marks);
        return NULL;
    }
    sf_batch *batch = sf_batch_new(join->pair_schema, count, columns, NULL, marks);
    sf_free(columns);
    return batch;
}

static void set_matched(snapshot_op *join, uint32_t row)
{
    join->matched[row >> 6] |= 1ULL << (row & 63);
}

static bool is_matched(const snapshot_op *join, uint32_t row)
{
    return join->matched[row >> 6] >> (row & 63) & 1;
}

/* The collected pairs: those that meet the residual condition match, and go out where pairs do. */
static sf_status take_pairs(snapshot_op *join, sf_error *err)
{
    const sf_expr *residual = join->op.node->as.join.residual;
    bool wide = kind_of(join) == SF_JOIN_LEFT || kind_of(join) == SF_JOIN_INNER;
    uint32_t count = join->pair_count, kept_count = count, kept[SF_BATCH_ROWS];
    join->pair_count = 0;
    if (count == 0)
        return SF_OK;
    for (uint32_t i = 0; i < count; i++)
        kept[i] = i;
    sf_batch *batch = NULL;
    if (wide || residual) {
        batch = pairs(join, join->pair_rows, join->pair_refs, count);
        if (!batch)
            return sf_fail_memory(err);
    }
    if (residual) {
        sf_status status = sf_eval_filter(&join->op.circuit->eval, residual, batch,
                                          sf_sel_all(count), kept, &kept_count, err);
        if (status != SF_OK) {
            sf_batch_unref(batch);
            return status;
        }
    }
    for (uint32_t i = 0; i < kept_count; i++)
        set_matched(join, join->pair_rows[kept[i]]);
    sf_status status = SF_OK;
    if (wide && kept_count > 0)
        status = sf_op_emit(&join->op, sf_batch_gather(batch, (sf_sel){kept, kept_count}), err);
    sf_batch_unref(batch);
    return status;
}

static sf_status add_pair(snapshot_op *join, uint32_t row, sf_ref ref, sf_error *err)
{
    join->pair_rows[join->pair_count] = row;
    join->pair_refs[join->pair_count++] = ref;
    return join->pair_count == SF_BATCH_ROWS ? take_pairs(join, err) : SF_OK;
}

/* ---- testing rows ---- */

/* Heads of the results that each row's window and keys have, 0 where there can be none. */
static sf_status find_results(snapshot_op *join, sf_error *err)
{
    uint32_t keys = key_count(join), rows = join->batch->rows;
    const uint32_t *left_keys = join->op.node->as.join.left_keys;
    sf_column **columns = sf_calloc(keys + 1u, sizeof *columns);
    sf_column *ends = sf_column_new(SF_TYPE_I64, rows, false);
    if (!columns || !ends) {
        sf_free(columns);
        sf_column_unref(ends);
        return sf_fail_memory(err);
    }
    int64_t *lanes = sf_column_lanes(ends);
    for (uint32_t i = 0; i < rows; i++)
        if (!window_at(join, join->marks[i], &lanes[i]))
            lanes[i] = INT64_MIN; /* no window ends there */
    columns[0] = ends;
    for (uint32_t i = 0; i < keys; i++)
        columns[1 + i] = sf_column_ref(join->batch->columns[left_keys[i]]);
    sf_batch *wanted = sf_batch_new(join->wanted_schema, rows, columns, NULL, NULL);
    sf_free(columns);
    if (!wanted)
        return sf_fail_memory(err);
    sf_sel all = sf_sel_all(rows);
    sf_batch_hash(wanted, join->numbers, keys + 1, all, join->hashes);
    sf_arr_find(join->results, wanted, join->numbers, all, join->hashes, join->heads);
    for (uint32_t k = 0; k < keys; k++)
        for (uint32_t i = 0; i < rows; i++)
            if (!sf_column_is_valid(wanted->columns[1 + k], i))
                join->heads[i] = 0; /* NULL equals nothing */
    sf_batch_unref(wanted);
    return SF_OK;
}

static sf_status match_rows(snapshot_op *join, sf_error *err)
{
    bool first_will_do = kind_of(join) >= SF_JOIN_SEMI && !join->op.node->as.join.residual;
    for (uint32_t row = 0; row < join->batch->rows; row++) {
        if (first_will_do && join->heads[row])
            set_matched(join, row);
        for (sf_ref ref = first_will_do ? 0 : join->heads[row]; ref;
             ref = sf_arr_next(join->results, ref))
            SF_TRY(add_pair(join, row, ref, err));
    }
    return take_pairs(join, err);
}

/* Does the row's window have any result? */
static bool has_results(const snapshot_op *join, uint32_t row)
{
    int64_t end;
    bool found = false;
    if (window_at(join, join->marks[row], &end))
        for (size_t i = 0; i < join->ends.len; i++)
            found |= join->ends.data[i] == end;
    return found;
}

static bool has_null_key(const snapshot_op *join, uint32_t row)
{
    for (uint32_t k = 0; k < key_count(join); k++)
        if (!sf_column_is_valid(join->batch->columns[join->op.node->as.join.left_keys[k]], row))
            return true;
    return false;
}

static bool passes(const snapshot_op *join, uint32_t row)
{
    switch (kind_of(join)) {
    case SF_JOIN_SEMI: return is_matched(join, row);
    case SF_JOIN_LEFT:
    case SF_JOIN_ANTI: return !is_matched(join, row);
    case SF_JOIN_NOT_IN: /* NULL is in nothing only if there is nothing */
        return !is_matched(join, row) && !(has_null_key(join, row) && has_results(join, row));
    default: return false;
    }
}

/* Rows that go out alone: those that pass, and with LEFT, those without a partner. */
static sf_status emit_alone(snapshot_op *join, sf_error *err)
{
    uint32_t count = 0;
    uint32_t *rows = sf_alloc((join->batch->rows + 1u) * sizeof *rows);
    if (!rows)
        return sf_fail_memory(err);
    for (uint32_t row = 0; row < join->batch->rows; row++) {
        rows[count] = row;
        count += passes(join, row);
    }
    sf_status status = SF_OK;
    if (count > 0)
        status = sf_op_emit(&join->op,
                            kind_of(join) == SF_JOIN_LEFT
                                ? pairs(join, rows, NULL, count)
                                : sf_batch_gather(join->batch, (sf_sel){rows, count}),
                            err);
    sf_free(rows);
    return status;
}

/* marks: what each row's window is chosen by. All their windows have their results. */
static sf_status test(snapshot_op *join, const sf_batch *batch, const int64_t *marks, sf_error *err)
{
    if (batch->rows == 0)
        return SF_OK;
    join->batch = batch;
    join->marks = marks;
    size_t words = SF_VALID_WORDS(batch->rows);
    if (!sf_scratch((void **)&join->hashes, &join->hashes_cap, batch->rows, sizeof *join->hashes) ||
        !sf_scratch((void **)&join->heads, &join->heads_cap, batch->rows, sizeof *join->heads) ||
        !sf_scratch((void **)&join->matched, &join->matched_cap, words, sizeof *join->matched))
        return sf_fail_memory(err);
    memset(join->matched, 0, words * sizeof *join->matched);
    SF_TRY(find_results(join, err));
    SF_TRY(match_rows(join, err));
    return emit_alone(join, err);
}

/* ---- rows that wait ---- */

static sf_status wait(snapshot_op *join, const sf_batch *batch, const int64_t *marks, sf_sel sel,
                      sf_error *err)
{
    uint32_t count = join->columns[0];
    sf_column **columns = sf_calloc(count + 2u, sizeof *columns);
    if (!columns)
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < 2; i++) {
        columns[i] = sf_column_new(SF_TYPE_I64, sel.count, false);
        int64_t *lanes = columns[i] ? sf_column_lanes(columns[i]) : NULL;
        for (uint32_t n = 0; lanes && n < sel.count; n++)
            lanes[n] = i ? join->serial++ : marks[sel.rows[n]];
    }
    for (uint32_t i = 0; i < count; i++)
        columns[2 + i] = sf_column_gather(batch->columns[i], sel);
    sf_batch *stored = sf_batch_new(join->waiting_schema, sel.count, columns, NULL, NULL);
    sf_free(columns);
    if (!stored)
        return sf_fail_memory(err);
    sf_sel all = sf_sel_all(sel.count);
    sf_batch_hash(stored, join->numbers, 2, all, join->hashes);
    sf_status status =
        sf_arr_add(join->waiting, stored, join->numbers, all, join->hashes, NULL, NULL, err);
    if (status == SF_OK)
        sf_arr_find(join->waiting, stored, join->numbers, all, join->hashes, join->heads);
    for (uint32_t i = 0; status == SF_OK && i < sel.count; i++)
        status = sf_order_insert(join->queue, join->heads[i], err);
    sf_batch_unref(stored);
    return status;
}

/* Tests the oldest rows that need wait no longer. *more: there may be others. */
static sf_status release(snapshot_op *join, bool *more, sf_error *err)
{
    sf_ref refs[SF_BATCH_ROWS];
    uint32_t count = 0, columns_n = join->columns[0];
    /* a subquery whose source has never had a row holds nobody up longer than the epoch */
    int64_t mark, own = join->op.port_marks[1], ready = own != SF_MARK_NONE ? own : join->op.mark;
    for (sf_ref ref = sf_order_first(join->queue, 0, 0); ref && count < SF_BATCH_ROWS;
         ref = sf_order_next(join->queue, ref)) {
        sf_arr_lane_i64(join->waiting, ref, 0, &mark);
        if (mark > ready)
            break;
        refs[count++] = ref;
    }
    *more = count == SF_BATCH_ROWS;
    if (count == 0)
        return SF_OK;
    const sf_schema *left = sf_plan_at(join->op.circuit->plan, join->op.node->inputs[0])->schema;
    sf_column **columns = sf_calloc(columns_n, sizeof *columns);
    for (uint32_t i = 0; columns && i < columns_n; i++)
        columns[i] = sf_arr_gather(join->waiting, 2 + i, refs, count);
    sf_column *marks = columns ? sf_arr_gather(join->waiting, 0, refs, count) : NULL;
    sf_batch *batch = marks ? sf_batch_new(left, count, columns, NULL, marks) : NULL;
    sf_free(columns);
    if (!batch)
        return sf_fail_memory(err);
    sf_status status = test(join, batch, SF_LANES(batch->marks, int64_t), err);
    sf_batch_unref(batch);
    for (uint32_t i = 0; i < count; i++) {
        sf_order_remove(join->queue, refs[i]);
        sf_arr_remove(join->waiting, refs[i]);
    }
    return status;
}

/* ---- push and mark ---- */

static sf_status push_row(snapshot_op *join, const sf_batch *batch, sf_error *err)
{
    uint32_t ready = 0, late = 0, rows_n = batch->rows;
    uint32_t *rows = sf_alloc((rows_n + 1u) * 2 * sizeof *rows);
    if (!rows || !sf_scratch((void **)&join->hashes, &join->hashes_cap, rows_n, sizeof(uint64_t)) ||
        !sf_scratch((void **)&join->heads, &join->heads_cap, rows_n, sizeof(sf_ref))) {
        sf_free(rows);
        return sf_fail_memory(err);
    }
    const sf_column *by = batch->marks ? batch->marks : batch->columns[join->columns[0] - 1];
    const int64_t *marks = SF_LANES(by, int64_t);
    uint32_t *waits = rows + rows_n + 1;
    for (uint32_t i = 0; i < rows_n; i++) {
        if (marks[i] <= join->op.port_marks[1])
            rows[ready++] = i;
        else
            waits[late++] = i;
    }
    sf_status status = SF_OK;
    if (late > 0)
        status = wait(join, batch, marks, (sf_sel){waits, late}, err);
    if (status == SF_OK && late == 0) {
        status = test(join, batch, marks, err);
    } else if (status == SF_OK && ready > 0) {
        sf_sel sel = {rows, ready};
        sf_batch *part = sf_batch_gather(batch, sel);
        sf_column *own = part ? sf_column_gather(by, sel) : NULL;
        status = own ? test(join, part, SF_LANES(own, int64_t), err) : sf_fail_memory(err);
        sf_column_unref(own);
        sf_batch_unref(part);
    }
    sf_free(rows);
    return status;
}

static sf_status note_end(snapshot_op *join, int64_t end, sf_error *err)
{
    size_t at = join->ends.len;
    while (at > 0 && join->ends.data[at - 1] > end)
        at--;
    if (at > 0 && join->ends.data[at - 1] == end)
        return SF_OK;
    if (!SF_VEC_PUSH(&join->ends, end))
        return sf_fail_memory(err);
    memmove(join->ends.data + at + 1, join->ends.data + at,
            (join->ends.len - 1 - at) * sizeof *join->ends.data);
    join->ends.data[at] = end;
    return SF_OK;
}

static sf_status push_result(snapshot_op *join, const sf_batch *batch, sf_error *err)
{
    uint32_t keys = key_count(join), count = join->columns[1], rows = batch->rows;
    if (!sf_scratch((void **)&join->hashes, &join->hashes_cap, rows, sizeof *join->hashes))
        return sf_fail_memory(err);
    sf_column **columns = sf_calloc(keys + count + 1u, sizeof *columns);
    if (!columns)
        return sf_fail_memory(err);
    columns[0] = sf_column_ref(batch->columns[count - 1]); /* _ts of a window's row is its end */
    for (uint32_t i = 0; i < keys; i++)
        columns[1 + i] = sf_column_ref(batch->columns[join->op.node->as.join.right_keys[i]]);
    for (uint32_t i = 0; i < count; i++)
        columns[1 + keys + i] = sf_column_ref(batch->columns[i]);
    sf_batch *stored = sf_batch_new(join->result_schema, rows, columns, NULL, NULL);
    sf_free(columns);
    if (!stored)
        return sf_fail_memory(err);
    sf_sel all = sf_sel_all(rows);
    sf_batch_hash(stored, join->numbers, keys + 1, all, join->hashes);
    sf_status status =
        sf_arr_add(join->results, stored, join->numbers, all, join->hashes, NULL, NULL, err);
    for (uint32_t i = 0; status == SF_OK && i < rows; i++)
        status = note_end(join, SF_LANES(stored->columns[0], int64_t)[i], err);
    sf_batch_unref(stored);
    return status;
}

static sf_step snapshot_push(sf_op *op, uint32_t port, const sf_batch *batch, sf_error *err)
{
    snapshot_op *join = (snapshot_op *)op;
    sf_status status = port ? push_result(join, batch, err) : push_row(join, batch, err);
    return status == SF_OK ? SF_STEP_DONE : SF_STEP_FAILED;
}

/* Results older than the window that the next row may ask for. */
static void forget(snapshot_op *join)
{
    const int64_t *marks = join->op.port_marks;
    int64_t end, stored, least = marks[0] < marks[1] ? marks[0] : marks[1];
    size_t gone = 0;
    if (least == SF_MARK_END || !window_at(join, least, &end))
        return;
    while (gone < join->ends.len && join->ends.data[gone] < end)
        gone++;
    if (gone == 0)
        return;
    memmove(join->ends.data, join->ends.data + gone,
            (join->ends.len - gone) * sizeof *join->ends.data);
    join->ends.len -= gone;
    sf_ref refs[SF_BATCH_ROWS], from = 0;
    for (uint32_t count; (count = sf_arr_scan(join->results, from, refs, SF_BATCH_ROWS)) > 0;) {
        from = refs[count - 1];
        for (uint32_t i = 0; i < count; i++) {
            sf_arr_lane_i64(join->results, refs[i], 0, &stored);
            if (stored < end)
                sf_arr_remove(join->results, refs[i]);
        }
    }
}

static sf_step snapshot_mark(sf_op *op, sf_error *err)
{
    snapshot_op *join = (snapshot_op *)op;
    for (bool more = true; more;) {
        if (release(join, &more, err) != SF_OK)
            return SF_STEP_FAILED;
        if (more && op->circuit->budget_rows == 0)
            return SF_STEP_MORE;
    }
    forget(join);
    return SF_STEP_DONE;
}

static void snapshot_save(const sf_op *op, sf_buf *out)
{
    sf_buf_put_u64(out, (uint64_t)((const snapshot_op *)op)->serial);
}

static sf_status snapshot_load(sf_op *op, sf_reader *in, sf_error *err)
{
    snapshot_op *join = (snapshot_op *)op;
    join->serial = (int64_t)sf_read_u64(in);
    sf_ref refs[SF_BATCH_ROWS], from = 0;
    int64_t end;
    for (uint32_t count; (count = sf_arr_scan(join->results, from, refs, SF_BATCH_ROWS)) > 0;) {
        from = refs[count - 1];
        for (uint32_t i = 0; i < count; i++)
            if (sf_arr_lane_i64(join->results, refs[i], 0, &end))
                SF_TRY(note_end(join, end, err));
    }
    return sf_order_rebuild(join->queue, err);
}

const sf_op_type sf_op_snapshot_join = {
    .size = sizeof(snapshot_op),
    .open = snapshot_open,
    .push = snapshot_push,
    .mark = snapshot_mark,
    .whole_marks = true,
    .close = snapshot_close,
    .save = snapshot_save,
    .load = snapshot_load,
};

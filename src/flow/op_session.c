/* Session windows: rows of one key less than GAP apart belong together; a session ends GAP after its
 * last row.
 *
 * Each session has a serial number, a row of accumulators under it, and its input rows, kept only so
 * that two sessions can become one when a row closes the gap between them. A row first merges with
 * the sessions of its key that are still open at its own mark, and only a row that stays alone and
 * whose end has passed is late: so the result depends on the log, not on how it was batched. */
#include "flow/aggregate.h"

typedef struct {
    int64_t start, last;
} session_head;

typedef struct {
    int64_t end, serial;
} close_entry;

typedef struct {
    sf_op op;
    sf_aggs aggs;
    sf_arr *sessions; /* serial; keys; extra: head, accumulators */
    sf_arr *by_key;   /* keys; serial: the sessions of a key */
    sf_arr *rows;     /* serial; all input columns, a row number */
    sf_schema *serial_schema, *session_schema, *key_schema, *row_schema;
    uint32_t *numbers; /* 0, 1, 2, ... */
    int64_t next_serial, next_row;
    SF_VEC(close_entry) heap; /* by end, then serial; an end may be older than the session's */
    uint32_t row;             /* of the batch in hand */
} session_op;

static uint32_t keys_of(const session_op *session)
{
    return session->op.node->as.window.key_count;
}

static int64_t gap_of(const session_op *session)
{
    return session->op.node->as.window.gap_ms;
}

/* ---- opening ---- */

static sf_status open_arrangement(session_op *session, const sf_field *fields, uint32_t count,
                                  uint32_t key_count, sf_arr_mode mode, uint32_t extra,
                                  sf_schema **schema, sf_arr **out, sf_error *err)
{
    sf_type *types = sf_alloc(count * sizeof *types);
    *schema = sf_schema_new(fields, count);
    sf_status status = types && *schema ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK) {
        for (uint32_t i = 0; i < count; i++)
            types[i] = fields[i].type;
        sf_arr_options options = {.mode = mode,
                                  .types = types,
                                  .column_count = count,
                                  .key_count = key_count,
                                  .extra_bytes = extra};
        status = sf_op_arrangement(&session->op, &options, out, err);
    }
    sf_free(types);
    return status;
}

static sf_status session_open(sf_op *op, sf_error *err)
{
    session_op *session = (session_op *)op;
    const sf_schema *input = sf_plan_at(op->circuit->plan, op->node->inputs[0])->schema;
    uint32_t keys = keys_of(session), most = input->count + keys + 2;
    sf_field serial = {"serial", SF_TYPE_I64, true};
    sf_field *fields = sf_alloc(most * sizeof *fields);
    session->numbers = sf_alloc(most * sizeof *session->numbers);
    sf_status status = fields && session->numbers ? SF_OK : sf_fail_memory(err);
    for (uint32_t i = 0; status == SF_OK && i < most; i++)
        session->numbers[i] = i;
    if (status == SF_OK) {
        session->serial_schema = sf_schema_new(&serial, 1);
        status = session->serial_schema ? SF_OK : sf_fail_memory(err);
    }
    if (status == SF_OK)
        status = sf_aggs_open(&session->aggs, op, op->node->as.window.aggs,
                              op->node->as.window.agg_count, &serial, 1, sizeof(session_head), true,
                              err);
    if (status == SF_OK) {
        fields[0] = serial;
        memcpy(fields + 1, op->schema->fields, keys * sizeof *fields);
        status =
            open_arrangement(session, fields, keys + 1, 1, SF_ARR_UNIQUE, session->aggs.extra_bytes,
                             &session->session_schema, &session->sessions, err);
    }
    if (status == SF_OK) {
        memcpy(fields, op->schema->fields, keys * sizeof *fields);
        fields[keys] = serial;
        status = open_arrangement(session, fields, keys + 1, keys, SF_ARR_BAG, 0,
                                  &session->key_schema, &session->by_key, err);
    }
    if (status == SF_OK) {
        fields[0] = serial;
        memcpy(fields + 1, input->fields, input->count * sizeof *fields);
        fields[input->count + 1] = (sf_field){"row", SF_TYPE_I64, true};
        status = open_arrangement(session, fields, input->count + 2, 1, SF_ARR_BAG, 0,
                                  &session->row_schema, &session->rows, err);
    }
    sf_free(fields);
    return status;
}

static void session_close(sf_op *op)
{
    session_op *session = (session_op *)op;
    sf_aggs_close(&session->aggs);
    sf_schema_unref(session->serial_schema);
    sf_schema_unref(session->session_schema);
    sf_schema_unref(session->key_schema);
    sf_schema_unref(session->row_schema);
    sf_free(session->numbers);
    SF_VEC_DEINIT(&session->heap);
}

/* ---- the heap of ends ---- */

static bool earlier(close_entry a, close_entry b)
{
    return a.end != b.end ? a.end < b.end : a.serial < b.serial;
}

static sf_status heap_push(session_op *session, close_entry entry, sf_error *err)
{
    if (!SF_VEC_PUSH(&session->heap, entry))
        return sf_fail_memory(err);
    close_entry *heap = session->heap.data;
    size_t at = session->heap.len - 1;
    while (at > 0 && earlier(entry, heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = entry;
    return SF_OK;
}

static void heap_pop(session_op *session)
{
    close_entry *heap = session->heap.data;
    close_entry last = heap[--session->heap.len];
    size_t count = session->heap.len, at = 0;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && earlier(heap[child + 1], heap[child]))
            child++;
        if (!earlier(heap[child], last))
            break;
        heap[at] = heap[child];
    }
    if (count > 0)
        heap[at] = last;
}

/* ---- small batches ---- */

static sf_column *constant(int64_t value, uint32_t count)
{
    return sf_column_of_i64(value, count);
}

static sf_ref find_session(const session_op *session, int64_t serial)
{
    sf_column *column = constant(serial, 1);
    sf_batch *one = column ? sf_batch_new(session->serial_schema, 1, &column, NULL, NULL) : NULL;
    if (!one)
        return 0;
    uint64_t hash;
    sf_ref ref;
    sf_batch_hash(one, session->numbers, 1, sf_sel_all(1), &hash);
    sf_arr_find(session->sessions, one, session->numbers, sf_sel_all(1), &hash, &ref);
    sf_batch_unref(one);
    return ref;
}

/* One row of keys, with the serial number first or last. */
static sf_batch *key_row(session_op *session, sf_column *const *keys, int64_t serial,
                         bool serial_first)
{
    uint32_t count = keys_of(session);
    sf_column **columns = sf_calloc(count + 1u, sizeof *columns);
    if (!columns)
        return NULL;
    columns[serial_first ? 0 : count] = constant(serial, 1);
    for (uint32_t i = 0; i < count; i++)
        columns[i + serial_first] = sf_column_ref(keys[i]);
    sf_batch *batch = sf_batch_new(serial_first ? session->session_schema : session->key_schema, 1,
                                   columns, NULL, NULL);
    sf_free(columns);
    return batch;
}

static sf_status change_by_key(session_op *session, sf_column *const *keys, int64_t serial,
                               int64_t weight, sf_error *err)
{
    sf_batch *row = key_row(session, keys, serial, false);
    if (!row)
        return sf_fail_memory(err);
    uint64_t hash;
    sf_batch_hash(row, session->numbers, keys_of(session), sf_sel_all(1), &hash);
    sf_status status = sf_arr_add(session->by_key, row, session->numbers, sf_sel_all(1), &hash,
                                  &weight, NULL, err);
    sf_batch_unref(row);
    return status;
}

/* ---- sessions ---- */

static session_head *head_at(const session_op *session, sf_ref ref)
{
    return (session_head *)(void *)sf_arr_extra(session->sessions, ref);
}

static sf_status create(session_op *session, sf_column *const *keys, int64_t ts, int64_t *serial,
                        sf_error *err)
{
    *serial = session->next_serial++;
    sf_batch *row = key_row(session, keys, *serial, true);
    if (!row)
        return sf_fail_memory(err);
    uint64_t hash;
    sf_ref ref;
    sf_batch_hash(row, session->numbers, 1, sf_sel_all(1), &hash);
    sf_status status = sf_arr_upsert(session->sessions, row, session->numbers, sf_sel_all(1), &hash,
                                     &ref, NULL, err);
    sf_batch_unref(row);
    SF_TRY(status);
    *head_at(session, ref) = (session_head){ts, ts};
    SF_TRY(change_by_key(session, keys, *serial, 1, err));
    close_entry entry = {sf_sat_add(ts, gap_of(session)), *serial};
    return heap_push(session, entry, err);
}

/* Rows (input columns) into a session's accumulators and, under its number, into the kept rows. */
static sf_status add_rows(session_op *session, int64_t serial, const sf_batch *rows, sf_error *err)
{
    sf_ref ref = find_session(session, serial);
    uint8_t *state = ref ? sf_arr_extra_mut(session->sessions, ref) : NULL;
    uint32_t count = rows->rows, columns_n = rows->schema->count;
    uint8_t **states = sf_alloc(count * sizeof *states);
    uint64_t *hashes = sf_alloc(count * sizeof *hashes);
    sf_column **columns = sf_calloc(columns_n + 2u, sizeof *columns);
    sf_column *serials = constant(serial, count),
              *numbers = sf_column_new(SF_TYPE_I64, count, false);
    sf_status status =
        state && states && hashes && columns && serials && numbers ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK) {
        for (uint32_t i = 0; i < count; i++)
            states[i] = state;
        status =
            sf_aggs_update(&session->aggs, rows, sf_sel_all(count), &serials, states, NULL, err);
    }
    sf_batch *kept = NULL;
    if (status == SF_OK) {
        columns[0] = sf_column_ref(serials);
        for (uint32_t i = 0; i < columns_n; i++)
            columns[i + 1] = sf_column_ref(rows->columns[i]);
        for (uint32_t i = 0; i < count; i++)
            ((int64_t *)sf_column_lanes(numbers))[i] = session->next_row++;
        columns[columns_n + 1] = sf_column_ref(numbers);
        kept = sf_batch_new(session->row_schema, count, columns, NULL, NULL);
        status = kept ? SF_OK : sf_fail_memory(err);
    }
    if (status == SF_OK) {
        sf_batch_hash(kept, session->numbers, 1, sf_sel_all(count), hashes);
        status = sf_arr_add(session->rows, kept, session->numbers, sf_sel_all(count), hashes, NULL,
                            NULL, err);
    }
    sf_batch_unref(kept);
    sf_column_unref(serials);
    sf_column_unref(numbers);
    sf_free(columns);
    sf_free(states);
    sf_free(hashes);
    return status;
}

static sf_ref first_row(const session_op *session, int64_t serial)
{
    sf_column *column = constant(serial, 1);
    sf_batch *one = column ? sf_batch_new(session->serial_schema, 1, &column, NULL, NULL) : NULL;
    if (!one)
        return 0;
    uint64_t hash;
    sf_ref ref;
    sf_batch_hash(one, session->numbers, 1, sf_sel_all(1), &hash);
    sf_arr_find(session->rows, one, session->numbers, sf_sel_all(1), &hash, &ref);
    sf_batch_unref(one);
    return ref;
}

/* Takes up to SF_BATCH_ROWS kept rows out of a session; NULL with SF_OK: none are left. */
static sf_status take_rows(session_op *session, int64_t serial, sf_batch **out, sf_error *err)
{
    const sf_schema *input =
        sf_plan_at(session->op.circuit->plan, session->op.node->inputs[0])->schema;
    sf_ref refs[SF_BATCH_ROWS];
    uint32_t count = 0;
    *out = NULL;
    for (sf_ref ref = first_row(session, serial); ref && count < SF_BATCH_ROWS;
         ref = sf_arr_next(session->rows, ref))
        refs[count++] = ref;
    if (count == 0)
        return SF_OK;
    sf_column **columns = sf_calloc(input->count, sizeof *columns);
    if (!columns)
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < input->count; i++)
        columns[i] = sf_arr_gather(session->rows, i + 1, refs, count);
    *out = sf_batch_new(input, count, columns, NULL, NULL);
    sf_free(columns);
    if (!*out)
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < count; i++)
        sf_arr_remove(session->rows, refs[i]);
    return SF_OK;
}

/* Forgets a session: its accumulators, kept rows and place among its key's. */
static sf_status drop_session(session_op *session, int64_t serial, sf_ref ref, sf_error *err)
{
    uint32_t keys = keys_of(session);
    sf_column **columns = sf_calloc(keys + 1u, sizeof *columns);
    bool whole = columns != NULL;
    for (uint32_t i = 0; columns && i < keys; i++) {
        columns[i] = sf_arr_gather(session->sessions, i + 1, &ref, 1);
        whole = whole && columns[i];
    }
    sf_status status =
        whole ? change_by_key(session, columns, serial, -1, err) : sf_fail_memory(err);
    for (uint32_t i = 0; columns && i < keys; i++)
        sf_column_unref(columns[i]);
    sf_free(columns);
    SF_TRY(status);
    uint8_t *state = sf_arr_extra_mut(session->sessions, ref);
    if (!state)
        return sf_fail_memory(err);
    sf_aggs_drop(&session->aggs, state);
    sf_arr_remove(session->sessions, ref);
    for (;;) {
        sf_ref row = first_row(session, serial);
        if (!row)
            return SF_OK;
        sf_arr_remove(session->rows, row);
    }
}

/* Session `from` becomes part of `into`. */
static sf_status absorb(session_op *session, int64_t into, int64_t from, sf_error *err)
{
    sf_ref from_ref = find_session(session, from);
    session_head moved = *head_at(session, from_ref);
    for (;;) {
        sf_batch *rows;
        SF_TRY(take_rows(session, from, &rows, err));
        if (!rows)
            break;
        sf_status status = add_rows(session, into, rows, err);
        sf_batch_unref(rows);
        SF_TRY(status);
    }
    SF_TRY(drop_session(session, from, from_ref, err));
    session_head *head = head_at(session, find_session(session, into));
    head->start = moved.start < head->start ? moved.start : head->start;
    head->last = moved.last > head->last ? moved.last : head->last;
    return SF_OK;
}

/* ---- results ---- */

static sf_column *one_of(int64_t value, sf_type type)
{
    sf_column *column = sf_column_new(type, 1, false);
    if (column && type == SF_TYPE_BOOL)
        *(uint8_t *)sf_column_lanes(column) = value != 0;
    else if (column)
        *(int64_t *)sf_column_lanes(column) = value;
    return column;
}

static sf_status emit(session_op *session, sf_ref ref, bool final, sf_error *err)
{
    sf_op *op = &session->op;
    uint32_t keys = keys_of(session), n = keys + session->aggs.count;
    sf_column **columns = sf_calloc(op->schema->count, sizeof *columns);
    uint8_t *state = sf_arr_extra_mut(session->sessions, ref);
    if (!columns || !state) {
        sf_free(columns);
        return sf_fail_memory(err);
    }
    session_head head = *(const session_head *)(const void *)state;
    int64_t end = sf_sat_add(head.last, gap_of(session));
    sf_status status = sf_aggs_finish(&session->aggs, &state, 1, columns + keys, err);
    if (status != SF_OK) {
        sf_free(columns);
        return status;
    }
    for (uint32_t k = 0; k < keys; k++)
        columns[k] = sf_arr_gather(session->sessions, k + 1, &ref, 1);
    columns[n++] = one_of(head.start, SF_TYPE_TIMESTAMP);
    columns[n++] = one_of(end, SF_TYPE_TIMESTAMP);
    if (op->node->as.window.emit_changes)
        columns[n++] = one_of(final, SF_TYPE_BOOL);
    columns[n] = one_of(end, SF_TYPE_I64);
    sf_batch *batch = sf_batch_new(op->schema, 1, columns, NULL, NULL);
    sf_free(columns);
    return sf_op_emit(op, batch, err);
}

/* ---- rows ---- */

/* The open sessions of the key that the row touches become one; 0 serial found: -1. */
static sf_status merge_touched(session_op *session, sf_column *const *keys, int64_t ts,
                               int64_t closed, int64_t *serial, sf_error *err)
{
    SF_VEC(int64_t) touched = {0};
    sf_status status = SF_OK;
    sf_batch *key = key_row(session, keys, 0, false);
    if (!key)
        return sf_fail_memory(err);
    uint64_t hash;
    sf_ref ref;
    sf_batch_hash(key, session->numbers, keys_of(session), sf_sel_all(1), &hash);
    sf_arr_find(session->by_key, key, session->numbers, sf_sel_all(1), &hash, &ref);
    sf_batch_unref(key);
    for (; ref && status == SF_OK; ref = sf_arr_next(session->by_key, ref)) {
        int64_t number = 0;
        sf_arr_lane_i64(session->by_key, ref, keys_of(session), &number);
        const session_head *head = head_at(session, find_session(session, number));
        bool open = sf_sat_add(head->last, gap_of(session)) > closed;
        bool near = ts > sf_sat_add(head->start, -gap_of(session)) &&
                    ts < sf_sat_add(head->last, gap_of(session));
        if (open && near && !SF_VEC_PUSH(&touched, number))
            status = sf_fail_memory(err);
    }
    *serial = -1;
    for (size_t i = 0; i < touched.len; i++) /* the oldest number stays */
        if (*serial < 0 || touched.data[i] < *serial)
            *serial = touched.data[i];
    for (size_t i = 0; i < touched.len && status == SF_OK; i++)
        if (touched.data[i] != *serial)
            status = absorb(session, *serial, touched.data[i], err);
    SF_VEC_DEINIT(&touched);
    return status;
}

static sf_status take_row(session_op *session, const sf_batch *batch, uint32_t row, sf_error *err)
{
    sf_op *op = &session->op;
    uint32_t keys = keys_of(session);
    int64_t ts = SF_LANES(batch->columns[batch->schema->count - 1], int64_t)[row], serial = -1;
    int64_t mark = batch->marks ? SF_LANES(batch->marks, int64_t)[row] : SF_MARK_NONE;
    int64_t closed = mark > op->mark ? mark : op->mark;
    sf_column **columns = sf_calloc(keys + 1u, sizeof *columns);
    sf_sel one = {&row, 1};
    bool whole = columns != NULL;
    for (uint32_t k = 0; columns && k < keys; k++) {
        columns[k] = sf_column_gather(batch->columns[op->node->as.window.keys[k]], one);
        whole = whole && columns[k];
    }
    sf_batch *single = sf_batch_gather(batch, one);
    sf_status status = whole && single ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK)
        status = merge_touched(session, columns, ts, closed, &serial, err);
    bool late = serial < 0 && sf_sat_add(ts, gap_of(session)) <= closed;
    op->circuit->late_rows += status == SF_OK && late;
    if (status == SF_OK && !late && serial < 0)
        status = create(session, columns, ts, &serial, err);
    if (status == SF_OK && !late) {
        session_head *head = head_at(session, find_session(session, serial));
        head->start = ts < head->start ? ts : head->start;
        head->last = ts > head->last ? ts : head->last;
        status = add_rows(session, serial, single, err);
    }
    if (status == SF_OK && !late && op->node->as.window.emit_changes)
        status = emit(session, find_session(session, serial), false, err);
    for (uint32_t k = 0; columns && k < keys; k++)
        sf_column_unref(columns[k]);
    sf_free(columns);
    sf_batch_unref(single);
    return status;
}

static sf_step session_push(sf_op *op, uint32_t port, const sf_batch *batch, sf_error *err)
{
    SF_UNUSED(port);
    session_op *session = (session_op *)op;
    while (session->row < batch->rows) {
        if (take_row(session, batch, session->row, err) != SF_OK)
            return SF_STEP_FAILED;
        session->row++;
        if (op->circuit->budget_rows == 0 && session->row < batch->rows)
            return SF_STEP_MORE;
    }
    session->row = 0;
    return SF_STEP_DONE;
}

static sf_step session_mark(sf_op *op, sf_error *err)
{
    session_op *session = (session_op *)op;
    while (session->heap.len > 0 && op->mark != SF_MARK_NONE) {
        close_entry first = session->heap.data[0];
        if (first.end > op->mark)
            break;
        heap_pop(session);
        sf_ref ref = find_session(session, first.serial);
        if (!ref)
            continue; /* merged into another */
        int64_t end = sf_sat_add(head_at(session, ref)->last, gap_of(session));
        if (end > first.end) { /* it has grown since */
            if (heap_push(session, (close_entry){end, first.serial}, err) != SF_OK)
                return SF_STEP_FAILED;
            continue;
        }
        if (emit(session, ref, true, err) != SF_OK ||
            drop_session(session, first.serial, ref, err) != SF_OK)
            return SF_STEP_FAILED;
        op->circuit->windows_closed++;
        if (op->circuit->budget_rows == 0)
            return SF_STEP_MORE;
    }
    return SF_STEP_DONE;
}

/* ---- recovery ---- */

static void session_save(const sf_op *op, sf_buf *out)
{
    const session_op *session = (const session_op *)op;
    sf_buf_put_u64(out, (uint64_t)session->next_serial);
    sf_buf_put_u64(out, (uint64_t)session->next_row);
}

static sf_status session_load(sf_op *op, sf_reader *in, sf_error *err)
{
    session_op *session = (session_op *)op;
    session->next_serial = (int64_t)sf_read_u64(in);
    session->next_row = (int64_t)sf_read_u64(in);
    sf_ref ref = 0;
    while (sf_arr_scan(session->sessions, ref, &ref, 1) == 1) {
        int64_t serial = 0;
        sf_arr_lane_i64(session->sessions, ref, 0, &serial);
        int64_t end = sf_sat_add(head_at(session, ref)->last, gap_of(session));
        SF_TRY(heap_push(session, (close_entry){end, serial}, err));
    }
    return sf_aggs_load(&session->aggs, err);
}

const sf_op_type sf_op_session = {
    .size = sizeof(session_op),
    .open = session_open,
    .push = session_push,
    .mark = session_mark,
    .close = session_close,
    .save = session_save,
    .load = session_load,
};

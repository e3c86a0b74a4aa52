/* Tumbling and hopping windows over event time.
 *
 * A group is (window start, keys). A row enters every window that covers it and is still open: one
 * whose end is above both the row's own mark (its source's watermark as of that row) and the last
 * watermark this operator has acted on. So what is late depends on the log alone, never on how it
 * was cut into batches. A window closes, and its groups go out and are forgotten, when the watermark
 * reaches its end. */
#include "flow/aggregate.h"

typedef struct {
    int64_t start;
    SF_VEC(sf_ref) groups; /* in order of creation */
} open_window;

/* First extra bytes of a group; accumulators follow. */
typedef struct {
    uint64_t known; /* 1: listed in its window */
} group_head;

typedef struct {
    sf_op op;
    sf_aggs aggs;
    sf_arr *groups; /* window start, keys */
    sf_schema *key_schema;
    uint32_t *key_numbers;       /* 0, 1, 2, ... */
    SF_VEC(open_window) windows; /* by start */
    /* rows of the batch in hand, once for each window they enter */
    uint32_t *rows;
    int64_t *starts;
    uint64_t *hashes;
    sf_ref *refs;
    uint8_t **states;
    size_t caps[5];
    /* where closing goes on */
    size_t close_group;
    uint32_t row; /* EMIT CHANGES: next row of the batch */
} window_op;

/* ---- opening ---- */

static sf_status window_open(sf_op *op, sf_error *err)
{
    window_op *window = (window_op *)op;
    uint32_t keys = op->node->as.window.key_count + 1;
    sf_field *fields = sf_alloc(keys * sizeof *fields);
    sf_type *types = sf_alloc(keys * sizeof *types);
    window->key_numbers = sf_alloc(keys * sizeof *window->key_numbers);
    sf_status status = fields && types && window->key_numbers ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK) {
        fields[0] = (sf_field){"window_start", SF_TYPE_TIMESTAMP, false};
        memcpy(fields + 1, op->schema->fields, (keys - 1) * sizeof *fields);
        for (uint32_t i = 0; i < keys; i++) {
            types[i] = fields[i].type;
            window->key_numbers[i] = i;
        }
        window->key_schema = sf_schema_new(fields, keys);
        status = window->key_schema ? SF_OK : sf_fail_memory(err);
    }
    if (status == SF_OK)
        status =
            sf_aggs_open(&window->aggs, op, op->node->as.window.aggs, op->node->as.window.agg_count,
                         fields, keys, sizeof(group_head), true, err);
    if (status == SF_OK) {
        sf_arr_options options = {.mode = SF_ARR_UNIQUE,
                                  .types = types,
                                  .column_count = keys,
                                  .key_count = keys,
                                  .extra_bytes = window->aggs.extra_bytes};
        status = sf_op_arrangement(op, &options, &window->groups, err);
    }
    sf_free(fields);
    sf_free(types);
    return status;
}

static void window_close(sf_op *op)
{
    window_op *window = (window_op *)op;
    sf_aggs_close(&window->aggs);
    for (size_t i = 0; i < window->windows.len; i++)
        SF_VEC_DEINIT(&window->windows.data[i].groups);
    SF_VEC_DEINIT(&window->windows);
    sf_schema_unref(window->key_schema);
    sf_free(window->key_numbers);
    sf_free(window->rows);
    sf_free(window->starts);
    sf_free(window->hashes);
    sf_free(window->refs);
    sf_free(window->states);
}

/* The open window that starts there, new if need be. */
static open_window *window_at(window_op *window, int64_t start)
{
    size_t at = window->windows.len;
    while (at > 0 && window->windows.data[at - 1].start > start)
        at--;
    if (at > 0 && window->windows.data[at - 1].start == start)
        return &window->windows.data[at - 1];
    open_window fresh = {.start = start};
    if (!SF_VEC_PUSH(&window->windows, fresh))
        return NULL;
    open_window *all = window->windows.data;
    memmove(all + at + 1, all + at, (window->windows.len - 1 - at) * sizeof *all);
    all[at] = fresh;
    return &all[at];
}

/* ---- rows into windows ---- */

static bool add_entry(window_op *window, size_t *count, uint32_t row, int64_t start)
{
    size_t n = *count;
    if (!sf_scratch((void **)&window->rows, &window->caps[0], n + 1, sizeof *window->rows) ||
        !sf_scratch((void **)&window->starts, &window->caps[1], n + 1, sizeof *window->starts))
        return false;
    window->rows[n] = row;
    window->starts[n] = start;
    *count = n + 1;
    return true;
}

/* Lists (row, window) for rows from..to-1; counts the late ones. */
static sf_status assign(window_op *window, const sf_batch *batch, uint32_t from, uint32_t to,
                        size_t *count, sf_error *err)
{
    const sf_op *op = &window->op;
    int64_t size = op->node->as.window.size_ms, advance = op->node->as.window.advance_ms;
    const int64_t *ts = SF_LANES(batch->columns[batch->schema->count - 1], int64_t);
    *count = 0;
    for (uint32_t row = from; row < to; row++) {
        int64_t mark = batch->marks ? SF_LANES(batch->marks, int64_t)[row] : SF_MARK_NONE;
        int64_t closed = mark > op->mark ? mark : op->mark;
        int64_t start = sf_floor_div(ts[row], advance);
        if (__builtin_mul_overflow(start, advance, &start))
            start = INT64_MIN; /* the first window of time */
        bool entered = false;
        for (; start > sf_sat_add(ts[row], -size); start -= advance) {
            if (sf_sat_add(start, size) <= closed)
                break; /* earlier windows are closed too */
            entered = true;
            if (!add_entry(window, count, row, start))
                return sf_fail_memory(err);
            if (start < INT64_MIN + advance)
                break;
        }
        /* A hop wider than the window leaves gaps: a row that falls into one is not late. */
        bool in_gap = start <= sf_sat_add(ts[row], -size) && !entered && advance > size;
        op->circuit->late_rows += !entered && !in_gap;
    }
    return SF_OK;
}

/* The batch {window start, keys} of the entries. */
static sf_batch *entry_keys(window_op *window, const sf_batch *batch, uint32_t count)
{
    uint32_t keys = window->op.node->as.window.key_count;
    sf_column **columns = sf_calloc(keys + 1u, sizeof *columns);
    if (!columns)
        return NULL;
    columns[0] = sf_column_new(SF_TYPE_TIMESTAMP, count, false);
    if (columns[0])
        memcpy(sf_column_lanes(columns[0]), window->starts, count * sizeof *window->starts);
    for (uint32_t k = 0; k < keys; k++)
        columns[k + 1] = sf_column_gather(batch->columns[window->op.node->as.window.keys[k]],
                                          (sf_sel){window->rows, count});
    sf_batch *out = sf_batch_new(window->key_schema, count, columns, NULL, NULL);
    sf_free(columns);
    return out;
}

static sf_status list_new_groups(window_op *window, uint32_t count, sf_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        group_head *head = (group_head *)(void *)window->states[i];
        if (head->known)
            continue;
        open_window *in = window_at(window, window->starts[i]);
        if (!in || !SF_VEC_PUSH(&in->groups, window->refs[i]))
            return sf_fail_memory(err);
        head->known = 1;
    }
    return SF_OK;
}

static sf_status update_entries(window_op *window, const sf_batch *batch, uint32_t count,
                                sf_error *err)
{
    if (!sf_scratch((void **)&window->hashes, &window->caps[2], count, sizeof *window->hashes) ||
        !sf_scratch((void **)&window->refs, &window->caps[3], count, sizeof *window->refs) ||
        !sf_scratch((void **)&window->states, &window->caps[4], count, sizeof *window->states))
        return sf_fail_memory(err);
    sf_batch *keys = entry_keys(window, batch, count);
    if (!keys)
        return sf_fail_memory(err);
    sf_sel all = sf_sel_all(count);
    sf_batch_hash(keys, window->key_numbers, window->aggs.key_count, all, window->hashes);
    sf_status status = sf_arr_upsert(window->groups, keys, window->key_numbers, all, window->hashes,
                                     window->refs, NULL, err);
    for (uint32_t i = 0; status == SF_OK && i < count; i++)
        window->states[i] = (uint8_t *)sf_arr_extra(window->groups, window->refs[i]);
    if (status == SF_OK)
        status = list_new_groups(window, count, err);
    if (status == SF_OK)
        status = sf_aggs_update(&window->aggs, batch, (sf_sel){window->rows, count}, keys->columns,
                                window->states, NULL, err);
    sf_batch_unref(keys);
    return status;
}

/* ---- results ---- */

static sf_column *constant_bool(bool value, uint32_t count)
{
    sf_column *column = sf_column_new(SF_TYPE_BOOL, count, false);
    if (column)
        memset(sf_column_lanes(column), value, count);
    return column;
}

static sf_column *shifted(const sf_column *starts, int64_t size, sf_type type)
{
    sf_column *column = starts ? sf_column_new(type, starts->rows, false) : NULL;
    int64_t *lanes = column ? sf_column_lanes(column) : NULL;
    for (uint32_t i = 0; column && i < starts->rows; i++)
        lanes[i] = sf_sat_add(SF_LANES(starts, int64_t)[i], size);
    return column;
}

/* Keys, aggregates, window_start, window_end, [_final], _ts of these groups. */
static sf_status emit_groups(window_op *window, const sf_ref *refs, uint8_t *const *states,
                             uint32_t count, bool final, sf_error *err)
{
    sf_op *op = &window->op;
    uint32_t keys = op->node->as.window.key_count, aggs = window->aggs.count, n = keys + aggs;
    int64_t size = op->node->as.window.size_ms;
    sf_column **columns = sf_calloc(op->schema->count, sizeof *columns);
    if (!columns)
        return sf_fail_memory(err);
    sf_status status = sf_aggs_finish(&window->aggs, states, count, columns + keys, err);
    if (status != SF_OK) {
        sf_free(columns);
        return status;
    }
    for (uint32_t k = 0; k < keys; k++)
        columns[k] = sf_arr_gather(window->groups, k + 1, refs, count);
    sf_column *starts = sf_arr_gather(window->groups, 0, refs, count);
    columns[n++] = starts;
    columns[n++] = shifted(starts, size, SF_TYPE_TIMESTAMP);
    if (op->node->as.window.emit_changes)
        columns[n++] = constant_bool(final, count);
    columns[n] = shifted(starts, size, SF_TYPE_I64);
    sf_batch *batch = sf_batch_new(op->schema, count, columns, NULL, NULL);
    sf_free(columns);
    return sf_op_emit(op, batch, err);
}

/* ---- push and mark ---- */

static sf_status push_rows(window_op *window, const sf_batch *batch, uint32_t from, uint32_t to,
                           sf_error *err)
{
    size_t entries;
    SF_TRY(assign(window, batch, from, to, &entries, err));
    if (entries > SF_BATCH_ROWS_MAX) {
        /* Hops far smaller than the window: halve the rows until their entries fit one batch. */
        if (to - from == 1) {
            sf_fail(err, SF_LIMIT, "one row enters more than %d windows", SF_BATCH_ROWS_MAX);
            sf_error_hint(err, "use a larger ADVANCE BY");
            return SF_LIMIT;
        }
        uint32_t middle = from + (to - from) / 2;
        SF_TRY(push_rows(window, batch, from, middle, err));
        return push_rows(window, batch, middle, to, err);
    }
    if (entries == 0)
        return SF_OK;
    SF_TRY(update_entries(window, batch, (uint32_t)entries, err));
    if (!window->op.node->as.window.emit_changes)
        return SF_OK;
    return emit_groups(window, window->refs, window->states, (uint32_t)entries, false, err);
}

static sf_step window_push(sf_op *op, uint32_t port, const sf_batch *batch, sf_error *err)
{
    SF_UNUSED(port);
    window_op *window = (window_op *)op;
    if (!op->node->as.window.emit_changes)
        return push_rows(window, batch, 0, batch->rows, err) == SF_OK ? SF_STEP_DONE
                                                                      : SF_STEP_FAILED;
    while (window->row < batch->rows) { /* every input row shows its own running result */
        uint32_t row = window->row;
        if (push_rows(window, batch, row, row + 1, err) != SF_OK)
            return SF_STEP_FAILED;
        window->row++;
        if (op->circuit->budget_rows == 0)
            return SF_STEP_MORE;
    }
    window->row = 0;
    return SF_STEP_DONE;
}

/* Emits and forgets up to SF_BATCH_ROWS groups of the earliest window. */
static sf_status close_some(window_op *window, open_window *first, sf_error *err)
{
    uint8_t *states[SF_BATCH_ROWS] = {0};
    const sf_ref *refs = first->groups.data + window->close_group;
    size_t left = first->groups.len - window->close_group;
    uint32_t count = left > SF_BATCH_ROWS ? SF_BATCH_ROWS : (uint32_t)left;
    for (uint32_t i = 0; i < count; i++) {
        states[i] = sf_arr_extra_mut(window->groups, refs[i]);
        if (!states[i])
            return sf_fail_memory(err);
    }
    SF_TRY(emit_groups(window, refs, states, count, true, err));
    for (uint32_t i = 0; i < count; i++) {
        sf_aggs_drop(&window->aggs, states[i]);
        sf_arr_remove(window->groups, refs[i]);
    }
    window->close_group += count;
    return SF_OK;
}

static sf_step window_mark(sf_op *op, sf_error *err)
{
    window_op *window = (window_op *)op;
    int64_t size = op->node->as.window.size_ms;
    while (window->windows.len > 0) {
        open_window *first = &window->windows.data[0];
        if (op->mark == SF_MARK_NONE || sf_sat_add(first->start, size) > op->mark)
            break;
        while (window->close_group < first->groups.len) {
            if (close_some(window, first, err) != SF_OK)
                return SF_STEP_FAILED;
            if (op->circuit->budget_rows == 0)
                return SF_STEP_MORE;
        }
        SF_VEC_DEINIT(&first->groups);
        window->windows.len--;
        memmove(first, first + 1, window->windows.len * sizeof *first);
        window->close_group = 0;
        op->circuit->windows_closed++;
    }
    return SF_STEP_DONE;
}

/* ---- recovery: the lists of open windows, in the order the groups were created ---- */

static void window_save(const sf_op *op, sf_buf *out)
{
    const window_op *window = (const window_op *)op;
    sf_buf_put_u32(out, (uint32_t)window->windows.len);
    for (size_t w = 0; w < window->windows.len; w++) {
        const open_window *open = &window->windows.data[w];
        sf_buf_put_u64(out, (uint64_t)open->start);
        sf_buf_put_u32(out, (uint32_t)open->groups.len);
        for (size_t i = 0; i < open->groups.len; i++)
            sf_buf_put_u32(out, open->groups.data[i]);
    }
}

static sf_status window_load(sf_op *op, sf_reader *in, sf_error *err)
{
    window_op *window = (window_op *)op;
    uint32_t count = sf_read_u32(in);
    for (uint32_t w = 0; w < count && !in->failed; w++) {
        open_window *open = window_at(window, (int64_t)sf_read_u64(in));
        uint32_t groups = sf_read_u32(in);
        if (!open)
            return sf_fail_memory(err);
        for (uint32_t i = 0; i < groups && !in->failed; i++)
            if (!SF_VEC_PUSH(&open->groups, sf_read_u32(in)))
                return sf_fail_memory(err);
    }
    uint64_t listed = 0;
    for (size_t w = 0; w < window->windows.len; w++)
        listed += window->windows.data[w].groups.len;
    if (!in->failed && listed != sf_arr_rows(window->groups))
        return sf_fail(err, SF_CORRUPT, "checkpoint of a window lists groups it does not hold");
    return sf_aggs_load(&window->aggs, err);
}

const sf_op_type sf_op_window = {
    .size = sizeof(window_op),
    .open = window_open,
    .push = window_push,
    .mark = window_mark,
    .close = window_close,
    .save = window_save,
    .load = window_load,
};

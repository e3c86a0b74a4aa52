/* LATEST BY. Two meanings (both are functions of their input alone):
 *
 * over a source   the newest _ts wins, an equal one later in the log wins; a row with _retract true
 *                 frees the key, in log order; older rows never come back.
 * over weighted   the newest of the rows that live now, ties by value: when it is retracted, the
 *   input         next newest returns. */
#include "flow/changes.h"

/* Columns of the arrangement: keys first, then the others; the inverse finds output columns. */
typedef struct {
    uint32_t *stored;  /* stored column -> input column */
    uint32_t *inverse; /* input column -> stored column */
} key_order;

static sf_status order_keys(const sf_op *op, key_order *order, sf_type **types, sf_error *err)
{
    uint32_t count = op->schema->count, keys = op->node->as.latest.key_count;
    order->stored = sf_alloc(count * sizeof *order->stored);
    order->inverse = sf_alloc(count * sizeof *order->inverse);
    *types = sf_alloc(count * sizeof **types);
    if (!order->stored || !order->inverse || !*types)
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < count; i++)
        order->inverse[i] = UINT32_MAX;
    for (uint32_t i = 0; i < keys; i++) {
        order->stored[i] = op->node->as.latest.keys[i];
        order->inverse[order->stored[i]] = i;
    }
    uint32_t next = keys;
    for (uint32_t i = 0; i < count; i++) {
        if (order->inverse[i] != UINT32_MAX)
            continue;
        order->stored[next] = i;
        order->inverse[i] = next++;
    }
    for (uint32_t i = 0; i < count; i++)
        (*types)[i] = op->schema->fields[order->stored[i]].type;
    return SF_OK;
}

/* The output columns of stored rows. */
static sf_status gather_rows(const sf_arr *arr, const key_order *order, const sf_ref *refs,
                             uint32_t count, uint32_t column_count, sf_column **out, sf_error *err)
{
    for (uint32_t c = 0; c < column_count; c++) {
        out[c] = sf_arr_gather(arr, order->inverse[c], refs, count);
        if (!out[c])
            return sf_fail_memory(err);
    }
    return SF_OK;
}

static void unref_columns(sf_column **columns, uint32_t count)
{
    for (uint32_t c = 0; columns && c < count; c++)
        sf_column_unref(columns[c]);
    sf_free(columns);
}

/* ---- over a source ---- */

#define NO_ROW UINT32_MAX

typedef struct {
    int64_t ts;
    uint64_t stamp;        /* epoch that touched the key last */
    uint32_t chunk, index; /* where the epoch noted it */
    uint32_t best;         /* row of the batch in hand that is to be stored */
    uint32_t live;
    uint64_t answered; /* 1: the stored row is part of the answer as last emitted */
} latest_head;

typedef struct {
    sf_op op;
    sf_arr *rows;
    key_order order;
    sf_changes changes;
    uint64_t *hashes;
    sf_ref *refs;
    size_t hashes_cap, refs_cap;
} latest_op;

static latest_head *latest_of(const latest_op *latest, sf_ref ref)
{
    return (latest_head *)(void *)sf_arr_extra(latest->rows, ref);
}

static sf_status latest_open(sf_op *op, sf_error *err)
{
    latest_op *latest = (latest_op *)op;
    latest->changes.column_count = op->schema->count;
    sf_type *types = NULL;
    sf_status status = order_keys(op, &latest->order, &types, err);
    if (status == SF_OK) {
        sf_arr_options options = {.mode = SF_ARR_UNIQUE,
                                  .types = types,
                                  .column_count = op->schema->count,
                                  .key_count = op->node->as.latest.key_count,
                                  .extra_bytes = sizeof(latest_head)};
        status = sf_op_arrangement(op, &options, &latest->rows, err);
    }
    sf_free(types);
    return status;
}

static void latest_close(sf_op *op)
{
    latest_op *latest = (latest_op *)op;
    sf_changes_close(&latest->changes);
    sf_free(latest->order.stored);
    sf_free(latest->order.inverse);
    sf_free(latest->hashes);
    sf_free(latest->refs);
}

/* Notes keys met for the first time in this epoch, with the rows they have. */
static sf_status note_keys(latest_op *latest, const sf_ref *refs, uint32_t rows, sf_error *err)
{
    uint64_t epoch = latest->op.circuit->epoch;
    uint32_t fresh = 0, columns = latest->op.schema->count;
    for (uint32_t i = 0; i < rows; i++) {
        latest_head *head = latest_of(latest, refs[i]);
        head->best = NO_ROW;
        fresh += head->stamp != epoch;
    }
    if (fresh == 0)
        return SF_OK;
    sf_touched *touched = sf_changes_add(&latest->changes, fresh);
    if (!touched)
        return sf_fail_memory(err);
    uint32_t n = 0;
    for (uint32_t i = 0; i < rows; i++) {
        latest_head *head = latest_of(latest, refs[i]);
        if (head->stamp == epoch)
            continue;
        head->stamp = epoch;
        head->chunk = (uint32_t)latest->changes.chunks.len - 1;
        head->index = n;
        touched->existed[n] = (uint8_t)head->answered;
        touched->refs[n++] = refs[i];
    }
    touched->count = n; /* a key that stands twice in the batch counts once */
    return gather_rows(latest->rows, &latest->order, touched->refs, n, columns, touched->old, err);
}

/* Which row of the batch each key keeps, in log order. */
static void choose(latest_op *latest, const sf_batch *batch)
{
    const sf_column *ts = batch->columns[batch->schema->count - 1];
    const sf_column *retract = batch->columns[latest->op.node->as.latest.retract_column];
    for (uint32_t i = 0; i < batch->rows; i++) {
        latest_head *head = latest_of(latest, latest->refs[i]);
        if (sf_column_is_valid(retract, i) && SF_LANES(retract, uint8_t)[i]) {
            head->live = 0;
            head->best = NO_ROW;
        } else if (!head->live || SF_LANES(ts, int64_t)[i] >= head->ts) {
            head->live = 1;
            head->best = i;
            head->ts = SF_LANES(ts, int64_t)[i];
        }
    }
}

static sf_status store_chosen(latest_op *latest, const sf_batch *batch, sf_error *err)
{
    for (uint32_t i = 0; i < batch->rows; i++) {
        sf_ref ref = latest->refs[i];
        latest_head *head = latest_of(latest, ref);
        if (head->best != i)
            continue;
        uint32_t chunk = head->chunk, index = head->index;
        sf_ref moved = ref;
        SF_TRY(sf_arr_replace(latest->rows, batch, latest->order.stored, i, latest->hashes[i],
                              &moved, err));
        latest->changes.chunks.data[chunk].refs[index] = moved;
        if (moved == ref)
            continue;
        for (uint32_t later = i + 1; later < batch->rows;
             later++) /* rare: the row outgrew its page */
            if (latest->refs[later] == ref)
                latest->refs[later] = moved;
    }
    return SF_OK;
}

static sf_step latest_push(sf_op *op, uint32_t port, const sf_batch *batch, sf_error *err)
{
    SF_UNUSED(port);
    latest_op *latest = (latest_op *)op;
    sf_sel all = sf_sel_all(batch->rows);
    if (!sf_scratch((void **)&latest->hashes, &latest->hashes_cap, batch->rows,
                    sizeof *latest->hashes) ||
        !sf_scratch((void **)&latest->refs, &latest->refs_cap, batch->rows, sizeof *latest->refs)) {
        sf_fail_memory(err);
        return SF_STEP_FAILED;
    }
    sf_batch_hash(batch, latest->order.stored, op->node->as.latest.key_count, all, latest->hashes);
    if (sf_arr_upsert(latest->rows, batch, latest->order.stored, all, latest->hashes, latest->refs,
                      NULL, err) != SF_OK ||
        note_keys(latest, latest->refs, batch->rows, err) != SF_OK)
        return SF_STEP_FAILED;
    choose(latest, batch);
    return store_chosen(latest, batch, err) == SF_OK ? SF_STEP_DONE : SF_STEP_FAILED;
}

static sf_status latest_flush_chunk(latest_op *latest, const sf_touched *touched, sf_error *err)
{
    uint32_t count = touched->count, columns = latest->op.schema->count;
    uint8_t *exists = sf_alloc(count + 1u);
    sf_column **now = sf_calloc(columns, sizeof *now);
    sf_status status = exists && now ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK)
        status = gather_rows(latest->rows, &latest->order, touched->refs, count, columns, now, err);
    if (status == SF_OK) {
        for (uint32_t i = 0; i < count; i++)
            exists[i] = (uint8_t)latest_of(latest, touched->refs[i])->live;
        status = sf_changes_emit(&latest->op, touched, now, exists, columns, columns, NULL, err);
    }
    for (uint32_t i = 0; status == SF_OK && i < count; i++) {
        uint8_t *extra = sf_arr_extra_mut(latest->rows, touched->refs[i]);
        if (!extra)
            status = sf_fail_memory(err);
        else if (exists[i])
            ((latest_head *)(void *)extra)->answered = 1;
        else
            sf_arr_remove(latest->rows, touched->refs[i]);
    }
    unref_columns(now, columns);
    sf_free(exists);
    return status;
}

static sf_step latest_flush(sf_op *op, sf_error *err)
{
    latest_op *latest = (latest_op *)op;
    while (latest->changes.next < latest->changes.chunks.len) {
        if (latest_flush_chunk(latest, &latest->changes.chunks.data[latest->changes.next], err) !=
            SF_OK)
            return SF_STEP_FAILED;
        latest->changes.next++;
        if (op->circuit->budget_rows == 0)
            return SF_STEP_MORE;
    }
    sf_changes_clear(&latest->changes);
    return SF_STEP_DONE;
}

const sf_op_type sf_op_latest_source = {
    .size = sizeof(latest_op),
    .open = latest_open,
    .push = latest_push,
    .flush = latest_flush,
    .close = latest_close,
};

/* ---- over weighted input ---- */

typedef struct {
    int64_t count; /* sum of weights of the row */
} live_row;

typedef struct {
    sf_ref best; /* newest live row of the key */
    uint32_t unused;
    uint64_t stamp;
} key_head;

typedef struct {
    sf_op op;
    sf_arr *rows; /* every live row, whole row as key */
    sf_arr *keys;
    sf_order *by_time; /* of rows: keys, _ts, then the other columns */
    key_order order;
    sf_changes changes;
    uint64_t *hashes, *key_hashes;
    sf_ref *refs, *key_refs;
    size_t caps[4];
} weighted_op;

static key_head *key_of(const weighted_op *weighted, sf_ref ref)
{
    return (key_head *)(void *)sf_arr_extra(weighted->keys, ref);
}

static sf_status weighted_orders(weighted_op *weighted, sf_error *err)
{
    const sf_op *op = &weighted->op;
    uint32_t count = op->schema->count, keys = op->node->as.latest.key_count;
    sf_order_by *by = sf_calloc(count + 1u, sizeof *by);
    if (!by)
        return sf_fail_memory(err);
    uint32_t ts = weighted->order.inverse[count - 1], n = 0;
    for (uint32_t i = 0; i < keys; i++)
        by[n++].column = i;
    by[n++].column = ts;
    for (uint32_t i = keys; i < count; i++)
        if (i != ts)
            by[n++].column = i;
    sf_status status = sf_order_new(weighted->rows, by, n, &weighted->by_time, err);
    sf_free(by);
    return status;
}

static sf_status weighted_open(sf_op *op, sf_error *err)
{
    weighted_op *weighted = (weighted_op *)op;
    weighted->changes.column_count = op->schema->count;
    sf_type *types = NULL;
    sf_status status = order_keys(op, &weighted->order, &types, err);
    if (status == SF_OK) {
        sf_arr_options rows = {.mode = SF_ARR_UNIQUE,
                               .types = types,
                               .column_count = op->schema->count,
                               .key_count = op->schema->count,
                               .extra_bytes = sizeof(live_row)};
        sf_arr_options keys = {.mode = SF_ARR_UNIQUE,
                               .types = types,
                               .column_count = op->node->as.latest.key_count,
                               .key_count = op->node->as.latest.key_count,
                               .extra_bytes = sizeof(key_head)};
        status = sf_op_arrangement(op, &rows, &weighted->rows, err);
        if (status == SF_OK)
            status = sf_op_arrangement(op, &keys, &weighted->keys, err);
    }
    if (status == SF_OK)
        status = weighted_orders(weighted, err);
    sf_free(types);
    return status;
}

static void weighted_close(sf_op *op)
{
    weighted_op *weighted = (weighted_op *)op;
    sf_order_free(weighted->by_time);
    sf_changes_close(&weighted->changes);
    sf_free(weighted->order.stored);
    sf_free(weighted->order.inverse);
    sf_free(weighted->hashes);
    sf_free(weighted->key_hashes);
    sf_free(weighted->refs);
    sf_free(weighted->key_refs);
}

static sf_status note_weighted(weighted_op *weighted, uint32_t rows, sf_error *err)
{
    uint64_t epoch = weighted->op.circuit->epoch;
    uint32_t fresh = 0, columns = weighted->op.schema->count;
    for (uint32_t i = 0; i < rows; i++)
        fresh += key_of(weighted, weighted->key_refs[i])->stamp != epoch;
    if (fresh == 0)
        return SF_OK;
    sf_touched *touched = sf_changes_add(&weighted->changes, fresh);
    sf_ref *best = sf_alloc(fresh * sizeof *best);
    if (!touched || !best) {
        sf_free(best);
        return sf_fail_memory(err);
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < rows; i++) {
        key_head *head = key_of(weighted, weighted->key_refs[i]);
        if (head->stamp == epoch)
            continue;
        head->stamp = epoch;
        best[n] = head->best;
        touched->existed[n] = head->best != 0;
        touched->refs[n++] = weighted->key_refs[i];
    }
    touched->count = n;
    sf_status status =
        gather_rows(weighted->rows, &weighted->order, best, n, columns, touched->old, err);
    sf_free(best);
    return status;
}

static sf_status count_row(weighted_op *weighted, sf_ref ref, sf_ref key, int64_t weight,
                           sf_error *err)
{
    uint32_t keys = weighted->op.node->as.latest.key_count;
    uint8_t *extra = sf_arr_extra_mut(weighted->rows, ref);
    if (!extra)
        return sf_fail_memory(err);
    live_row *row = (live_row *)(void *)extra;
    bool lived = row->count > 0;
    row->count += weight;
    bool lives = row->count > 0, gone = row->count == 0;
    if (lives && !lived)
        SF_TRY(sf_order_insert(weighted->by_time, ref, err));
    if (lived && !lives)
        sf_order_remove(weighted->by_time, ref);
    key_head *head = key_of(weighted, key);
    if (lives != lived && (lives || head->best == ref))
        head->best = sf_order_last(weighted->by_time, ref, keys);
    if (gone)
        sf_arr_remove(weighted->rows, ref);
    return SF_OK;
}

static sf_status weighted_batch(weighted_op *weighted, const sf_batch *batch, sf_error *err)
{
    const sf_op *op = &weighted->op;
    uint32_t rows = batch->rows, keys = op->node->as.latest.key_count;
    sf_sel all = sf_sel_all(rows);
    if (!sf_scratch((void **)&weighted->hashes, &weighted->caps[0], rows, 8) ||
        !sf_scratch((void **)&weighted->key_hashes, &weighted->caps[1], rows, 8) ||
        !sf_scratch((void **)&weighted->refs, &weighted->caps[2], rows, sizeof(sf_ref)) ||
        !sf_scratch((void **)&weighted->key_refs, &weighted->caps[3], rows, sizeof(sf_ref)))
        return sf_fail_memory(err);
    sf_batch_hash(batch, weighted->order.stored, op->schema->count, all, weighted->hashes);
    sf_batch_hash(batch, weighted->order.stored, keys, all, weighted->key_hashes);
    SF_TRY(sf_arr_upsert(weighted->keys, batch, weighted->order.stored, all, weighted->key_hashes,
                         weighted->key_refs, NULL, err));
    SF_TRY(note_weighted(weighted, rows, err));
    for (uint32_t i = 0; i < rows; i++) {
        SF_TRY(sf_arr_upsert(weighted->rows, batch, weighted->order.stored, (sf_sel){&i, 1},
                             &weighted->hashes[i], &weighted->refs[i], NULL, err));
        SF_TRY(count_row(weighted, weighted->refs[i], weighted->key_refs[i],
                         sf_batch_weight(batch, i), err));
    }
    return SF_OK;
}

static sf_step weighted_push(sf_op *op, uint32_t port, const sf_batch *batch, sf_error *err)
{
    SF_UNUSED(port);
    return weighted_batch((weighted_op *)op, batch, err) == SF_OK ? SF_STEP_DONE : SF_STEP_FAILED;
}

static sf_status weighted_flush_chunk(weighted_op *weighted, const sf_touched *touched,
                                      sf_error *err)
{
    uint32_t count = touched->count, columns = weighted->op.schema->count;
    uint8_t *exists = sf_alloc(count + 1u);
    sf_ref *best = sf_alloc((count + 1u) * sizeof *best);
    sf_column **now = sf_calloc(columns, sizeof *now);
    sf_status status = exists && best && now ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK) {
        for (uint32_t i = 0; i < count; i++) {
            best[i] = key_of(weighted, touched->refs[i])->best;
            exists[i] = best[i] != 0;
        }
        status = gather_rows(weighted->rows, &weighted->order, best, count, columns, now, err);
    }
    if (status == SF_OK)
        status = sf_changes_emit(&weighted->op, touched, now, exists, columns, columns, NULL, err);
    for (uint32_t i = 0; status == SF_OK && i < count; i++)
        if (!exists[i])
            sf_arr_remove(weighted->keys, touched->refs[i]);
    unref_columns(now, columns);
    sf_free(best);
    sf_free(exists);
    return status;
}

static sf_step weighted_flush(sf_op *op, sf_error *err)
{
    weighted_op *weighted = (weighted_op *)op;
    while (weighted->changes.next < weighted->changes.chunks.len) {
        const sf_touched *touched = &weighted->changes.chunks.data[weighted->changes.next];
        if (weighted_flush_chunk(weighted, touched, err) != SF_OK)
            return SF_STEP_FAILED;
        weighted->changes.next++;
        if (op->circuit->budget_rows == 0)
            return SF_STEP_MORE;
    }
    sf_changes_clear(&weighted->changes);
    return SF_STEP_DONE;
}

/* The order holds the rows that live; a row whose count is below 0 waits outside. */
static sf_status weighted_load(sf_op *op, sf_reader *in, sf_error *err)
{
    SF_UNUSED(in);
    weighted_op *weighted = (weighted_op *)op;
    SF_TRY(sf_order_rebuild(weighted->by_time, err));
    sf_ref ref = 0;
    while (sf_arr_scan(weighted->rows, ref, &ref, 1) == 1) {
        const uint8_t *extra = sf_arr_extra(weighted->rows, ref);
        if (((const live_row *)(const void *)extra)->count <= 0)
            sf_order_remove(weighted->by_time, ref);
    }
    return SF_OK;
}

const sf_op_type sf_op_latest_weighted = {
    .size = sizeof(weighted_op),
    .open = weighted_open,
    .push = weighted_push,
    .flush = weighted_flush,
    .close = weighted_close,
    .load = weighted_load,
};

/* The last operator. A table's keeps the answer and gives each epoch's net change; a pipeline's
 * hands its results on in order. */
#include "flow/operator.h"

/* Extra bytes of an answer's row. */
typedef struct {
    int64_t weight; /* first: snapshots report it */
    int64_t before; /* at the start of the epoch that touched it last */
    uint64_t stamp;
} answer_row;

typedef struct {
    sf_op op;
    sf_arr *rows;
    uint32_t *columns;
    SF_VEC(sf_ref) touched;
    size_t next;
    uint64_t *hashes;
    sf_ref *refs;
    size_t hashes_cap, refs_cap;
} table_op;

sf_arr *sf_answer_arrangement(const sf_op *op)
{
    return ((const table_op *)op)->rows;
}

static sf_status table_open(sf_op *op, sf_error *err)
{
    table_op *table = (table_op *)op;
    uint32_t count = op->schema->count;
    sf_type *types = sf_alloc(count * sizeof *types);
    table->columns = sf_alloc(count * sizeof *table->columns);
    if (!types || !table->columns) {
        sf_free(types);
        return sf_fail_memory(err);
    }
    for (uint32_t i = 0; i < count; i++) {
        types[i] = op->schema->fields[i].type;
        table->columns[i] = i;
    }
    sf_arr_options options = {.mode = SF_ARR_UNIQUE,
                              .types = types,
                              .column_count = count,
                              .key_count = count,
                              .extra_bytes = sizeof(answer_row),
                              .extra_weight = true};
    sf_status status = sf_op_arrangement(op, &options, &table->rows, err);
    sf_free(types);
    return status;
}

static void table_close(sf_op *op)
{
    table_op *table = (table_op *)op;
    sf_free(table->columns);
    sf_free(table->hashes);
    sf_free(table->refs);
    SF_VEC_DEINIT(&table->touched);
}

static sf_step table_push(sf_op *op, uint32_t port, const sf_batch *batch, sf_error *err)
{
    SF_UNUSED(port);
    table_op *table = (table_op *)op;
    sf_sel all = sf_sel_all(batch->rows);
    if (!sf_scratch((void **)&table->hashes, &table->hashes_cap, batch->rows,
                    sizeof *table->hashes) ||
        !sf_scratch((void **)&table->refs, &table->refs_cap, batch->rows, sizeof *table->refs)) {
        sf_fail_memory(err);
        return SF_STEP_FAILED;
    }
    sf_batch_hash(batch, table->columns, op->schema->count, all, table->hashes);
    if (sf_arr_upsert(table->rows, batch, table->columns, all, table->hashes, table->refs, NULL,
                      err) != SF_OK)
        return SF_STEP_FAILED;
    uint64_t epoch = op->circuit->epoch;
    for (uint32_t i = 0; i < batch->rows; i++) {
        answer_row *row = (answer_row *)(void *)sf_arr_extra(table->rows, table->refs[i]);
        if (row->stamp != epoch) {
            row->stamp = epoch;
            row->before = row->weight;
            if (!SF_VEC_PUSH(&table->touched, table->refs[i])) {
                sf_fail_memory(err);
                return SF_STEP_FAILED;
            }
        }
        row->weight += sf_batch_weight(batch, i);
    }
    return SF_STEP_DONE;
}

static sf_batch *rows_of(table_op *table, const sf_ref *refs, const int64_t *net, uint32_t count)
{
    uint32_t columns = table->op.schema->count;
    sf_column **picked = sf_calloc(columns, sizeof *picked);
    sf_column *weights = sf_column_new(SF_TYPE_I64, count, false);
    if (!picked || !weights) {
        sf_free(picked);
        sf_column_unref(weights);
        return NULL;
    }
    memcpy(sf_column_lanes(weights), net, count * sizeof *net);
    for (uint32_t c = 0; c < columns; c++)
        picked[c] = sf_arr_gather(table->rows, c, refs, count);
    sf_batch *batch = sf_batch_new(table->op.schema, count, picked, weights, NULL);
    sf_free(picked);
    return batch;
}

/* Up to SF_BATCH_ROWS touched rows: their net change to the output, rows of weight 0 away. */
static sf_status flush_some(table_op *table, sf_error *err)
{
    sf_circuit *circuit = table->op.circuit;
    sf_ref refs[SF_BATCH_ROWS];
    int64_t net[SF_BATCH_ROWS];
    uint32_t count = 0;
    size_t first = table->next;
    while (table->next < table->touched.len && count < SF_BATCH_ROWS) {
        sf_ref ref = table->touched.data[table->next++];
        const answer_row *row = (const answer_row *)(const void *)sf_arr_extra(table->rows, ref);
        if (row->weight == row->before)
            continue;
        refs[count] = ref;
        net[count++] = row->weight - row->before;
    }
    if (count > 0) {
        sf_batch *batch = rows_of(table, refs, net, count);
        if (!batch || !SF_VEC_PUSH(&circuit->output, batch)) {
            sf_batch_unref(batch);
            return sf_fail_memory(err);
        }
        table->op.rows_out += count;
    }
    for (size_t i = first; i < table->next; i++) {
        sf_ref ref = table->touched.data[i];
        if (((const answer_row *)(const void *)sf_arr_extra(table->rows, ref))->weight == 0)
            sf_arr_remove(table->rows, ref);
    }
    return SF_OK;
}

static sf_step table_flush(sf_op *op, sf_error *err)
{
    table_op *table = (table_op *)op;
    while (table->next < table->touched.len) {
        if (flush_some(table, err) != SF_OK)
            return SF_STEP_FAILED;
        uint64_t *budget = &op->circuit->budget_rows;
        *budget -= *budget < SF_BATCH_ROWS ? *budget : SF_BATCH_ROWS;
        if (*budget == 0 && table->next < table->touched.len)
            return SF_STEP_MORE;
    }
    table->touched.len = 0;
    table->next = 0;
    return SF_STEP_DONE;
}

const sf_op_type sf_op_answer_table = {
    .size = sizeof(table_op),
    .open = table_open,
    .push = table_push,
    .flush = table_flush,
    .close = table_close,
};

static sf_step pipeline_push(sf_op *op, uint32_t port, const sf_batch *batch, sf_error *err)
{
    SF_UNUSED(port);
    sf_batch *kept = sf_batch_ref(batch);
    if (!SF_VEC_PUSH(&op->circuit->output, kept)) {
        sf_batch_unref(kept);
        sf_fail_memory(err);
        return SF_STEP_FAILED;
    }
    op->rows_out += batch->rows;
    return SF_STEP_DONE;
}

const sf_op_type sf_op_answer_pipeline = {.size = sizeof(sf_op), .push = pipeline_push};

/* Rows as often as their last visible column says. */
#include "flow/operator.h"

typedef struct {
    sf_op op;
    uint32_t *rows;
    int64_t *weights;
    size_t rows_cap, weights_cap;
} repeat_op;

/* The selected rows without the count, with these weights. */
static sf_status emit_repeated(repeat_op *repeat, const sf_batch *batch, uint32_t count,
                               sf_error *err)
{
    sf_op *op = &repeat->op;
    uint32_t columns = op->schema->count;
    sf_batch *picked = sf_batch_gather(batch, (sf_sel){repeat->rows, count});
    sf_column *weights = sf_column_new(SF_TYPE_I64, count, false);
    sf_column **kept = sf_calloc(columns, sizeof *kept);
    if (!picked || !weights || !kept) {
        sf_batch_unref(picked);
        sf_column_unref(weights);
        sf_free(kept);
        return sf_fail_memory(err);
    }
    memcpy(sf_column_lanes(weights), repeat->weights, count * sizeof *repeat->weights);
    for (uint32_t i = 0; i + 1 < columns; i++)
        kept[i] = sf_column_ref(picked->columns[i]);
    kept[columns - 1] = sf_column_ref(picked->columns[columns]); /* _ts, behind the count */
    sf_batch *out = sf_batch_new(op->schema, count, kept, weights, sf_column_ref(picked->marks));
    sf_free(kept);
    sf_batch_unref(picked);
    return sf_op_emit(op, out, err);
}

static sf_step repeat_push(sf_op *op, uint32_t port, const sf_batch *batch, sf_error *err)
{
    SF_UNUSED(port);
    repeat_op *repeat = (repeat_op *)op;
    const sf_column *times = batch->columns[op->schema->count - 1];
    uint32_t count = 0;
    if (!sf_scratch((void **)&repeat->rows, &repeat->rows_cap, batch->rows, sizeof *repeat->rows) ||
        !sf_scratch((void **)&repeat->weights, &repeat->weights_cap, batch->rows,
                    sizeof *repeat->weights)) {
        sf_fail_memory(err);
        return SF_STEP_FAILED;
    }
    for (uint32_t i = 0; i < batch->rows; i++) {
        int64_t n = sf_column_is_valid(times, i) ? SF_LANES(times, int64_t)[i] : 0;
        if (n <= 0)
            continue;
        if (__builtin_mul_overflow(n, sf_batch_weight(batch, i), &repeat->weights[count])) {
            sf_fail(err, SF_LIMIT, "a row is repeated more than %lld times", (long long)INT64_MAX);
            return SF_STEP_FAILED;
        }
        repeat->rows[count++] = i;
    }
    if (!count)
        return SF_STEP_DONE;
    return emit_repeated(repeat, batch, count, err) == SF_OK ? SF_STEP_DONE : SF_STEP_FAILED;
}

static void repeat_close(sf_op *op)
{
    sf_free(((repeat_op *)op)->rows);
    sf_free(((repeat_op *)op)->weights);
}

const sf_op_type sf_op_repeat = {
    .size = sizeof(repeat_op), .push = repeat_push, .close = repeat_close};

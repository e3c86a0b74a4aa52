/* One row without columns that is there from the first epoch on: what a SELECT without FROM reads. */
#include "flow/operator.h"

typedef struct {
    sf_op op;
    bool given;
} one_op;

static sf_step one_flush(sf_op *op, sf_error *err)
{
    one_op *one = (one_op *)op;
    if (one->given)
        return SF_STEP_DONE;
    sf_column *time = sf_column_of_i64(op->circuit->now_ms, 1);
    sf_batch *batch = time ? sf_batch_new(op->schema, 1, &time, NULL, NULL) : NULL;
    one->given = true;
    return sf_op_emit(op, batch, err) == SF_OK ? SF_STEP_DONE : SF_STEP_FAILED;
}

static void one_save(const sf_op *op, sf_buf *out)
{
    sf_buf_put_u32(out, ((const one_op *)op)->given);
}

static sf_status one_load(sf_op *op, sf_reader *in, sf_error *err)
{
    SF_UNUSED(err);
    ((one_op *)op)->given = sf_read_u32(in) != 0;
    return SF_OK;
}

const sf_op_type sf_op_one = {
    .size = sizeof(one_op), .flush = one_flush, .save = one_save, .load = one_load};

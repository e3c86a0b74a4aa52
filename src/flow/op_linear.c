/* Operators without state: scan, filter and project, unnest, union. */
#include "flow/operator.h"

static sf_step emitted(sf_status status)
{
    return status == SF_OK ? SF_STEP_DONE : SF_STEP_FAILED;
}

/* ---- scan and union ---- */

static sf_step pass_push(sf_op *op, uint32_t port, const sf_batch *batch, sf_error *err)
{
    SF_UNUSED(port);
    if (batch->schema == op->schema)
        return emitted(sf_op_emit(op, sf_batch_ref(batch), err));
    return emitted(sf_op_emit(op, sf_batch_rename(batch, op->schema), err));
}

const sf_op_type sf_op_scan = {.size = sizeof(sf_op), .push = pass_push};
const sf_op_type sf_op_union = {.size = sizeof(sf_op), .push = pass_push};

/* ---- filter and project ---- */

typedef struct {
    sf_op op;
    uint32_t *rows;
    size_t rows_cap;
} map_op;

/* Evaluates the output columns over the selected rows. */
static sf_step project(map_op *map, const sf_batch *batch, sf_sel sel, sf_error *err)
{
    sf_op *op = &map->op;
    const sf_plan_node *node = op->node;
    sf_column **columns = sf_calloc(op->schema->count, sizeof *columns);
    if (!columns) {
        sf_fail_memory(err);
        return SF_STEP_FAILED;
    }
    sf_status status = SF_OK;
    for (uint32_t i = 0; i < op->schema->count && status == SF_OK; i++)
        status =
            sf_eval_column(&op->circuit->eval, node->as.map.exprs[i], batch, sel, &columns[i], err);
    sf_column *weights = NULL, *marks = NULL;
    if (status == SF_OK && batch->weights)
        weights = sf_column_gather(batch->weights, sel);
    if (status == SF_OK && batch->marks)
        marks = sf_column_gather(batch->marks, sel);
    if (status == SF_OK && ((batch->weights && !weights) || (batch->marks && !marks)))
        status = sf_fail_memory(err);
    if (status == SF_OK) {
        status = sf_op_emit(op, sf_batch_new(op->schema, sel.count, columns, weights, marks), err);
    } else {
        for (uint32_t i = 0; i < op->schema->count; i++)
            sf_column_unref(columns[i]);
        sf_column_unref(weights);
        sf_column_unref(marks);
    }
    sf_free(columns);
    return emitted(status);
}

static sf_step map_push(sf_op *op, uint32_t port, const sf_batch *batch, sf_error *err)
{
    SF_UNUSED(port);
    map_op *map = (map_op *)op;
    sf_sel sel = sf_sel_all(batch->rows);
    if (op->node->as.map.predicate) {
        if (!sf_scratch((void **)&map->rows, &map->rows_cap, batch->rows, sizeof *map->rows)) {
            sf_fail_memory(err);
            return SF_STEP_FAILED;
        }
        uint32_t count;
        if (sf_eval_filter(&op->circuit->eval, op->node->as.map.predicate, batch, sel, map->rows,
                           &count, err) != SF_OK)
            return SF_STEP_FAILED;
        if (count == 0)
            return SF_STEP_DONE;
        if (count < batch->rows)
            sel = (sf_sel){map->rows, count};
    }
    if (!op->node->as.map.exprs)
        return emitted(sf_op_emit(op, sf_batch_gather(batch, sel), err));
    return project(map, batch, sel, err);
}

static void map_close(sf_op *op)
{
    sf_free(((map_op *)op)->rows);
}

const sf_op_type sf_op_map = {.size = sizeof(map_op), .push = map_push, .close = map_close};

/* ---- unnest ---- */

typedef struct {
    sf_op op;
    uint32_t row; /* where a batch that exploded goes on */
    uint32_t *rows;
    int64_t *numbers; /* of the elements in their arrays */
    size_t rows_cap, numbers_cap;
} unnest_op;

/* Elements of one array, each with its row repeated. */
static sf_status unnest_row(unnest_op *unnest, const sf_column *arrays, uint32_t row,
                            sf_builder *elements, sf_error *err)
{
    sf_elements iter;
    sf_str element;
    int64_t number = 0;
    if (!sf_elements_begin(sf_column_str(arrays, row), &iter))
        return SF_OK; /* not an array: no rows */
    while (sf_elements_next(&iter, &element)) {
        if (elements->rows == SF_BATCH_ROWS_MAX) {
            sf_fail(err, SF_LIMIT, "an array of one row has more than %d elements",
                    SF_BATCH_ROWS_MAX);
            return SF_LIMIT;
        }
        if (!sf_scratch((void **)&unnest->rows, &unnest->rows_cap, elements->rows + 1u,
                        sizeof *unnest->rows) ||
            !sf_scratch((void **)&unnest->numbers, &unnest->numbers_cap, elements->rows + 1u,
                        sizeof *unnest->numbers))
            return sf_fail_memory(err);
        unnest->numbers[elements->rows] = ++number;
        unnest->rows[elements->rows] = row;
        if (sf_str_eq(element, SF_STR("null")))
            sf_builder_null(elements);
        else
            sf_builder_str(elements, element);
    }
    return elements->failed ? sf_fail_memory(err) : SF_OK;
}

/* The input's rows repeated as unnest->rows says, with the element's columns before _ts. */
static sf_status emit_elements(unnest_op *unnest, const sf_batch *batch, sf_builder *elements,
                               sf_error *err)
{
    sf_op *op = &unnest->op;
    uint32_t count = op->schema->count, own = batch->schema->count - 1;
    bool ordinality = op->node->as.unnest.ordinality;
    sf_sel sel = {unnest->rows, elements->rows};
    sf_batch *repeated = sf_batch_gather(batch, sel);
    sf_column *element = sf_builder_finish(elements);
    sf_column *numbers = ordinality ? sf_column_new(SF_TYPE_I64, sel.count, false) : NULL;
    sf_column **columns = sf_calloc(count, sizeof *columns);
    if (!repeated || !element || !columns || (ordinality && !numbers)) {
        sf_batch_unref(repeated);
        sf_column_unref(element);
        sf_column_unref(numbers);
        sf_free(columns);
        return sf_fail_memory(err);
    }
    for (uint32_t i = 0; i < own; i++)
        columns[i] = sf_column_ref(repeated->columns[i]);
    columns[own] = element;
    if (ordinality) {
        memcpy(sf_column_lanes(numbers), unnest->numbers, sel.count * sizeof *unnest->numbers);
        columns[own + 1] = numbers;
    }
    columns[count - 1] = sf_column_ref(repeated->columns[own]);
    sf_batch *out = sf_batch_new(op->schema, sel.count, columns, sf_column_ref(repeated->weights),
                                 sf_column_ref(repeated->marks));
    sf_free(columns);
    sf_batch_unref(repeated);
    return sf_op_emit(op, out, err);
}

static sf_step unnest_push(sf_op *op, uint32_t port, const sf_batch *batch, sf_error *err)
{
    SF_UNUSED(port);
    unnest_op *unnest = (unnest_op *)op;
    sf_column *arrays;
    if (sf_eval_column(&op->circuit->eval, op->node->as.unnest.array, batch,
                       sf_sel_all(batch->rows), &arrays, err) != SF_OK)
        return SF_STEP_FAILED;
    sf_builder elements;
    sf_status status =
        sf_builder_init(&elements, SF_TYPE_JSON, batch->rows) ? SF_OK : sf_fail_memory(err);
    /* A batch of many long arrays goes out in pieces of about SF_BATCH_ROWS. */
    while (status == SF_OK && unnest->row < batch->rows && elements.rows < SF_BATCH_ROWS) {
        uint32_t row = unnest->row++;
        if (sf_column_is_valid(arrays, row))
            status = unnest_row(unnest, arrays, row, &elements, err);
    }
    if (status == SF_OK && elements.rows > 0)
        status = emit_elements(unnest, batch, &elements, err);
    sf_builder_deinit(&elements);
    sf_column_unref(arrays);
    if (status != SF_OK)
        return SF_STEP_FAILED;
    if (unnest->row < batch->rows)
        return SF_STEP_MORE;
    unnest->row = 0;
    return SF_STEP_DONE;
}

static void unnest_close(sf_op *op)
{
    sf_free(((unnest_op *)op)->rows);
    sf_free(((unnest_op *)op)->numbers);
}

const sf_op_type sf_op_unnest = {
    .size = sizeof(unnest_op), .push = unnest_push, .close = unnest_close};

/* Circuits: wiring of operators, the scheduler, checkpoints. */
#include "flow/operator.h"

/* ---- wiring ---- */

static const sf_op_type *type_of(const sf_plan_node *node)
{
    switch (node->kind) {
    case SF_NODE_SCAN: return &sf_op_scan;
    case SF_NODE_MAP: return &sf_op_map;
    case SF_NODE_UNNEST: return &sf_op_unnest;
    case SF_NODE_UNION: return &sf_op_union;
    case SF_NODE_TEMPORAL: return &sf_op_temporal;
    case SF_NODE_JOIN: return &sf_op_join;
    case SF_NODE_INTERVAL_JOIN: return &sf_op_interval_join;
    case SF_NODE_SNAPSHOT_JOIN: return &sf_op_snapshot_join;
    case SF_NODE_REDUCE: return &sf_op_reduce;
    case SF_NODE_TOP:
    case SF_NODE_OVER: return &sf_op_over;
    case SF_NODE_ASOF: return &sf_op_asof;
    case SF_NODE_REPEAT: return &sf_op_repeat;
    case SF_NODE_ONE: return &sf_op_one;
    case SF_NODE_WINDOW:
        return node->as.window.kind == SF_WINDOW_SESSION ? &sf_op_session : &sf_op_window;
    case SF_NODE_LATEST:
        return node->as.latest.retract_column >= 0 ? &sf_op_latest_source : &sf_op_latest_weighted;
    case SF_NODE_KIND_COUNT: break;
    }
    return NULL;
}

static sf_status add_op(sf_circuit *circuit, const sf_op_type *type, const sf_plan_node *node,
                        uint32_t port_count, sf_error *err)
{
    sf_op *op = sf_calloc(1, type->size);
    if (!op)
        return sf_fail_memory(err);
    op->type = type;
    op->node = node;
    op->circuit = circuit;
    op->schema = node ? node->schema : sf_plan_schema(circuit->plan);
    op->id = circuit->op_count;
    op->mark = op->sent_mark = SF_MARK_NONE;
    circuit->ops[circuit->op_count++] = op;
    op->edges = sf_calloc(port_count ? port_count : 1, sizeof *op->edges);
    op->port_marks = sf_calloc(port_count ? port_count : 1, sizeof *op->port_marks);
    if (!op->edges || !op->port_marks)
        return sf_fail_memory(err);
    op->port_count = port_count;
    for (uint32_t p = 0; p < port_count; p++)
        op->port_marks[p] = SF_MARK_NONE;
    return SF_OK;
}

static sf_status connect(sf_circuit *circuit, uint32_t from, uint32_t to, uint32_t port,
                         sf_error *err)
{
    sf_target target = {to, port};
    return SF_VEC_PUSH(&circuit->ops[from]->targets, target) ? SF_OK : sf_fail_memory(err);
}

static sf_status build(sf_circuit *circuit, sf_error *err)
{
    const sf_plan *plan = circuit->plan;
    uint32_t nodes = (uint32_t)plan->nodes.len;
    circuit->ops = sf_calloc(nodes + 1u, sizeof *circuit->ops);
    circuit->ready = sf_calloc(nodes / 64u + 1u, sizeof *circuit->ready);
    if (!circuit->ops || !circuit->ready)
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < nodes; i++) {
        const sf_plan_node *node = sf_plan_at(plan, i);
        uint32_t ports = node->kind == SF_NODE_SCAN ? 1 : node->input_count;
        SF_TRY(add_op(circuit, type_of(node), node, ports, err));
        for (uint32_t p = 0; p < node->input_count; p++)
            SF_TRY(connect(circuit, node->inputs[p], i, p, err));
    }
    bool table = plan->kind == SF_PLAN_TABLE;
    SF_TRY(add_op(circuit, table ? &sf_op_answer_table : &sf_op_answer_pipeline, NULL, 1, err));
    SF_TRY(connect(circuit, plan->output, nodes, 0, err));
    for (uint32_t i = 0; i <= nodes; i++)
        if (circuit->ops[i]->type->open)
            SF_TRY(circuit->ops[i]->type->open(circuit->ops[i], err));
    return SF_OK;
}

sf_status sf_circuit_new(const sf_plan *plan, sf_budget *budget, sf_circuit **out, sf_error *err)
{
    sf_circuit *circuit = sf_calloc(1, sizeof *circuit);
    if (!circuit)
        return sf_fail_memory(err);
    circuit->plan = plan;
    circuit->budget = budget;
    sf_eval_init(&circuit->eval);
    sf_status status = build(circuit, err);
    if (status != SF_OK) {
        sf_circuit_free(circuit);
        return status;
    }
    *out = circuit;
    return SF_OK;
}

static void free_output(sf_circuit *circuit)
{
    for (size_t i = 0; i < circuit->output.len; i++)
        sf_batch_unref(circuit->output.data[i]);
    circuit->output.len = 0;
}

static void free_op(sf_op *op)
{
    if (op->type->close)
        op->type->close(op);
    for (uint32_t p = 0; p < op->port_count; p++) {
        sf_edge *edge = &op->edges[p];
        for (size_t i = edge->head; i < edge->items.len; i++)
            sf_batch_unref(edge->items.data[i].batch);
        SF_VEC_DEINIT(&edge->items);
    }
    sf_free(op->edges);
    sf_free(op->port_marks);
    SF_VEC_DEINIT(&op->targets);
    sf_free(op);
}

void sf_circuit_free(sf_circuit *circuit)
{
    if (!circuit)
        return;
    for (uint32_t i = 0; i < circuit->op_count; i++)
        free_op(circuit->ops[i]);
    for (size_t i = 0; i < circuit->arrangements.len; i++)
        sf_arr_free(circuit->arrangements.data[i]);
    SF_VEC_DEINIT(&circuit->arrangements);
    free_output(circuit);
    SF_VEC_DEINIT(&circuit->output);
    sf_eval_deinit(&circuit->eval);
    sf_free(circuit->ops);
    sf_free(circuit->ready);
    sf_free(circuit);
}

/* ---- for operators ---- */

static sf_status enqueue(sf_circuit *circuit, uint32_t op, uint32_t port, sf_item item,
                         sf_error *err)
{
    if (!SF_VEC_PUSH(&circuit->ops[op]->edges[port].items, item)) {
        sf_batch_unref(item.batch);
        return sf_fail_memory(err);
    }
    circuit->ready[op >> 6] |= 1ULL << (op & 63);
    return SF_OK;
}

sf_status sf_op_emit(sf_op *op, sf_batch *batch, sf_error *err)
{
    if (!batch)
        return sf_fail_memory(err);
    if (batch->rows == 0) {
        sf_batch_unref(batch);
        return SF_OK;
    }
    op->rows_out += batch->rows;
    sf_circuit *circuit = op->circuit;
    circuit->budget_rows -= batch->rows < circuit->budget_rows ? batch->rows : circuit->budget_rows;
    sf_status status = SF_OK;
    for (size_t i = 0; i < op->targets.len && status == SF_OK; i++) {
        sf_item item = {sf_batch_ref(batch), 0};
        status = enqueue(circuit, op->targets.data[i].op, op->targets.data[i].port, item, err);
    }
    sf_batch_unref(batch);
    return status;
}

sf_status sf_op_arrangement(sf_op *op, sf_arr_options *options, sf_arr **out, sf_error *err)
{
    options->budget = op->circuit->budget;
    SF_TRY(sf_arr_new(options, out, err));
    if (!SF_VEC_PUSH(&op->circuit->arrangements, *out)) {
        sf_arr_free(*out);
        return sf_fail_memory(err);
    }
    return SF_OK;
}

sf_column *sf_column_of_i64(int64_t value, uint32_t count)
{
    sf_column *column = sf_column_new(SF_TYPE_I64, count, false);
    int64_t *lanes = column ? sf_column_lanes(column) : NULL;
    for (uint32_t i = 0; column && i < count; i++)
        lanes[i] = value;
    return column;
}

bool sf_scratch(void **memory, size_t *cap, size_t count, size_t size)
{
    if (count <= *cap)
        return true;
    size_t want = *cap ? *cap : 256, bytes;
    while (want < count)
        want *= 2;
    void *grown = sf_mul_size(want, size, &bytes) ? sf_realloc(*memory, bytes) : NULL;
    if (!grown)
        return false;
    *memory = grown;
    *cap = want;
    return true;
}

/* ---- epochs ---- */

void sf_circuit_begin(sf_circuit *circuit, uint64_t epoch, int64_t now_ms)
{
    SF_ASSERT(!circuit->running && epoch > circuit->epoch);
    free_output(circuit);
    circuit->epoch = epoch;
    circuit->now_ms = now_ms;
    circuit->eval.now_ms = now_ms;
    circuit->running = true;
    circuit->finishing = false;
    circuit->flush_next = 0;
}

static sf_op *scan_of(sf_circuit *circuit, uint32_t input)
{
    SF_ASSERT(circuit->running && !circuit->finishing && input < circuit->plan->inputs.len);
    for (uint32_t i = 0;; i++) {
        const sf_plan_node *node = circuit->ops[i]->node;
        if (node->kind == SF_NODE_SCAN && node->as.scan.input == input)
            return circuit->ops[i];
    }
}

sf_status sf_circuit_push(sf_circuit *circuit, uint32_t input, const sf_batch *batch, sf_error *err)
{
    sf_op *scan = scan_of(circuit, input);
    SF_ASSERT(batch->schema->count == scan->schema->count);
    if (batch->rows == 0)
        return SF_OK;
    sf_item item = {sf_batch_ref(batch), 0};
    return enqueue(circuit, scan->id, 0, item, err);
}

sf_status sf_circuit_mark(sf_circuit *circuit, uint32_t input, int64_t watermark, sf_error *err)
{
    sf_item item = {NULL, watermark};
    return enqueue(circuit, scan_of(circuit, input)->id, 0, item, err);
}

void sf_circuit_finish(sf_circuit *circuit)
{
    SF_ASSERT(circuit->running);
    circuit->finishing = true;
}

/* ---- the scheduler ---- */

static sf_op *next_ready(sf_circuit *circuit)
{
    for (uint32_t word = (circuit->op_count - 1) / 64 + 1; word-- > 0;)
        if (circuit->ready[word])
            return circuit->ops[word * 64 + 63u - (uint32_t)__builtin_clzll(circuit->ready[word])];
    return NULL;
}

static void pop(sf_op *op, uint32_t port)
{
    sf_edge *edge = &op->edges[port];
    sf_batch_unref(edge->items.data[edge->head++].batch);
    if (edge->head < edge->items.len)
        return;
    edge->head = edge->items.len = 0;
    for (uint32_t p = 0; p < op->port_count; p++)
        if (op->edges[p].head < op->edges[p].items.len)
            return;
    op->circuit->ready[op->id >> 6] &= ~(1ULL << (op->id & 63));
}

static sf_status forward_mark(sf_op *op, sf_error *err)
{
    if (op->sent_mark == op->mark)
        return SF_OK;
    op->sent_mark = op->mark;
    int64_t mark = op->mark == SF_MARK_END ? SF_MARK_END : sf_sat_add(op->mark, -op->hold_ms);
    for (size_t i = 0; i < op->targets.len; i++) {
        sf_item item = {NULL, mark};
        SF_TRY(enqueue(op->circuit, op->targets.data[i].op, op->targets.data[i].port, item, err));
    }
    return SF_OK;
}

/* Raises the operator's watermark to the minimum over the ports that have one. */
static sf_step raise_mark(sf_op *op, sf_error *err)
{
    int64_t least = SF_MARK_END;
    for (uint32_t p = 0; p < op->port_count; p++)
        if (op->port_marks[p] != SF_MARK_NONE && op->port_marks[p] < least)
            least = op->port_marks[p];
    if (least > op->mark)
        op->mark = least;
    if (op->type->mark) {
        sf_step step = op->type->mark(op, err);
        if (step != SF_STEP_DONE)
            return step;
    }
    return forward_mark(op, err) == SF_OK ? SF_STEP_DONE : SF_STEP_FAILED;
}

static uint32_t marked_ports(const sf_op *op)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < op->port_count; p++)
        count += op->port_marks[p] != SF_MARK_NONE;
    return count;
}

/* After SF_STEP_MORE the call is repeated, so it may only do what does no harm twice. */
static sf_step take_mark(sf_op *op, uint32_t port, int64_t mark, sf_error *err)
{
    if (mark > op->port_marks[port])
        op->port_marks[port] = mark;
    if (op->type->whole_marks && marked_ports(op) < op->port_count)
        return SF_STEP_DONE;
    return raise_mark(op, err);
}

static sf_step flush(sf_op *op, sf_error *err)
{
    if (op->type->whole_marks && marked_ports(op) > 0 && marked_ports(op) < op->port_count) {
        sf_step step = raise_mark(op, err);
        if (step != SF_STEP_DONE)
            return step;
    }
    return op->type->flush ? op->type->flush(op, err) : SF_STEP_DONE;
}

/* The first port with an item; one of a ready operator has. */
static uint32_t pick_port(const sf_op *op)
{
    uint32_t port = 0;
    while (op->edges[port].head == op->edges[port].items.len)
        port++;
    return port;
}

static sf_step run_one(sf_op *op, sf_error *err)
{
    uint32_t port = pick_port(op);
    sf_edge *edge = &op->edges[port];
    sf_item item = edge->items.data[edge->head];
    sf_step step;
    if (item.batch) {
        sf_circuit *circuit = op->circuit;
        uint32_t rows = item.batch->rows;
        circuit->budget_rows -= rows < circuit->budget_rows ? rows : circuit->budget_rows;
        step = op->type->push(op, port, item.batch, err);
        if (step == SF_STEP_DONE)
            op->rows_in += rows;
    } else {
        step = take_mark(op, port, item.mark, err);
    }
    if (step == SF_STEP_DONE)
        pop(op, port);
    return step;
}

sf_step sf_circuit_step(sf_circuit *circuit, uint64_t budget_rows, sf_error *err)
{
    if (circuit->failed) {
        sf_fail(err, SF_CONFLICT, "the circuit has failed and must be rebuilt");
        return SF_STEP_FAILED;
    }
    circuit->budget_rows = budget_rows;
    while (circuit->running) {
        sf_step step = SF_STEP_DONE;
        sf_op *op = next_ready(circuit);
        if (op) {
            step = run_one(op, err);
        } else if (!circuit->finishing) {
            return SF_STEP_DONE;
        } else if (circuit->flush_next == circuit->op_count) {
            circuit->running = false;
            circuit->epochs++;
        } else {
            step = flush(circuit->ops[circuit->flush_next], err);
            circuit->flush_next += step == SF_STEP_DONE;
        }
        if (step == SF_STEP_FAILED) {
            circuit->failed = true;
            return step;
        }
        if (circuit->running && circuit->budget_rows == 0)
            return SF_STEP_MORE;
    }
    return SF_STEP_DONE;
}

int64_t sf_circuit_due(const sf_circuit *circuit)
{
    int64_t due = INT64_MAX;
    for (uint32_t i = 0; i < circuit->op_count; i++) {
        const sf_op *op = circuit->ops[i];
        int64_t own = op->type->due ? op->type->due(op) : INT64_MAX;
        due = own < due ? own : due;
    }
    return due;
}

/* ---- what comes out ---- */

uint32_t sf_circuit_output_count(const sf_circuit *circuit)
{
    return (uint32_t)circuit->output.len;
}

const sf_batch *sf_circuit_output(const sf_circuit *circuit, uint32_t i)
{
    SF_ASSERT(i < circuit->output.len);
    return circuit->output.data[i];
}

sf_snapshot *sf_circuit_snapshot(sf_circuit *circuit)
{
    if (circuit->plan->kind != SF_PLAN_TABLE)
        return NULL;
    return sf_arr_snapshot(sf_answer_arrangement(circuit->ops[circuit->op_count - 1]));
}

void sf_circuit_get_stats(const sf_circuit *circuit, sf_circuit_stats *out)
{
    *out = (sf_circuit_stats){
        .late_rows = circuit->late_rows,
        .windows_closed = circuit->windows_closed,
        .epochs = circuit->epochs,
        .watermark = circuit->ops[circuit->op_count - 1]->mark,
    };
    for (uint32_t i = 0; i < circuit->op_count; i++) {
        const sf_op *op = circuit->ops[i];
        if (op->node && op->node->kind == SF_NODE_SCAN)
            out->rows_in += op->rows_in;
    }
    out->rows_out = circuit->ops[circuit->op_count - 1]->rows_out;
    for (size_t i = 0; i < circuit->arrangements.len; i++) {
        out->state_rows += sf_arr_rows(circuit->arrangements.data[i]);
        out->state_bytes += sf_arr_bytes(circuit->arrangements.data[i]);
    }
    memcpy(out->eval_errors, circuit->eval.error_counts, sizeof out->eval_errors);
}

/* ---- checkpoints ---- */

enum { BLOB_VERSION = 1 };

uint32_t sf_circuit_arrangement_count(const sf_circuit *circuit)
{
    return (uint32_t)circuit->arrangements.len;
}

sf_snapshot *sf_circuit_arrangement_snapshot(sf_circuit *circuit, uint32_t number)
{
    SF_ASSERT(!circuit->running && number < circuit->arrangements.len);
    return sf_arr_snapshot(circuit->arrangements.data[number]);
}

sf_status sf_circuit_save(const sf_circuit *circuit, sf_buf *out, sf_error *err)
{
    SF_ASSERT(!circuit->running);
    sf_buf_put_u32(out, BLOB_VERSION);
    sf_buf_put_u64(out, circuit->epoch);
    sf_buf_put_u64(out, circuit->late_rows);
    sf_buf_put_u64(out, circuit->windows_closed);
    for (uint32_t i = 0; i < SF_EVAL_ERROR_COUNT; i++)
        sf_buf_put_u64(out, circuit->eval.error_counts[i]);
    sf_buf_put_u32(out, circuit->op_count);
    for (uint32_t i = 0; i < circuit->op_count; i++) {
        const sf_op *op = circuit->ops[i];
        sf_buf_put_u64(out, (uint64_t)op->mark);
        for (uint32_t p = 0; p < op->port_count; p++)
            sf_buf_put_u64(out, (uint64_t)op->port_marks[p]);
        sf_buf_put_u64(out, op->rows_in);
        sf_buf_put_u64(out, op->rows_out);
        if (op->type->save)
            op->type->save(op, out);
    }
    return out->failed ? sf_fail_memory(err) : SF_OK;
}

sf_status sf_circuit_load_page(sf_circuit *circuit, uint32_t number, uint32_t page_no,
                               const void *bytes, sf_error *err)
{
    if (number >= circuit->arrangements.len)
        return sf_fail(err, SF_CORRUPT, "checkpoint has pages of an operator the query lacks");
    return sf_arr_load_page(circuit->arrangements.data[number], page_no, bytes, err);
}

static sf_status load_blob(sf_circuit *circuit, sf_reader *in, sf_error *err)
{
    uint32_t version = sf_read_u32(in);
    if (!in->failed && version != BLOB_VERSION)
        return sf_fail(err, SF_UNSUPPORTED, "checkpoint has version %u, this program reads %d",
                       version, BLOB_VERSION);
    circuit->epoch = sf_read_u64(in);
    circuit->late_rows = sf_read_u64(in);
    circuit->windows_closed = sf_read_u64(in);
    for (uint32_t i = 0; i < SF_EVAL_ERROR_COUNT; i++)
        circuit->eval.error_counts[i] = sf_read_u64(in);
    if (sf_read_u32(in) != circuit->op_count || in->failed)
        return sf_fail(err, SF_CORRUPT, "checkpoint does not belong to this query");
    for (uint32_t i = 0; i < circuit->op_count; i++) {
        sf_op *op = circuit->ops[i];
        op->mark = op->sent_mark = (int64_t)sf_read_u64(in);
        for (uint32_t p = 0; p < op->port_count; p++)
            op->port_marks[p] = (int64_t)sf_read_u64(in);
        op->rows_in = sf_read_u64(in);
        op->rows_out = sf_read_u64(in);
        if (op->type->load)
            SF_TRY(op->type->load(op, in, err));
    }
    return in->failed ? sf_fail(err, SF_CORRUPT, "checkpoint is shorter than its query needs")
                      : SF_OK;
}

sf_status sf_circuit_load_finish(sf_circuit *circuit, sf_str blob, sf_error *err)
{
    for (size_t i = 0; i < circuit->arrangements.len; i++)
        SF_TRY(sf_arr_load_finish(circuit->arrangements.data[i], err));
    sf_reader in = {.data = (const uint8_t *)blob.data, .len = blob.len};
    return load_blob(circuit, &in, err);
}

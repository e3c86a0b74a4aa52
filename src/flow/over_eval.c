/* The functions of OVER, computed for all rows of one partition in order.
 *
 * The frames of successive rows never move back, so an aggregate is one accumulator that takes in
 * rows at the end of the frame and gives them back at its start: two updates a row, whatever the
 * frame's size. MIN and MAX keep the rows that may still become the answer, the best first. */
#include "flow/over.h"

typedef struct {
    const sf_over_rows *rows;
    const sf_over_spec *spec;
    const sf_schema *schema; /* of the rows */
    uint32_t chunks;
    sf_batch **batches; /* what the calls read of the rows, a chunk each */
    uint32_t *group_of; /* position -> number of its group of peers */
    uint32_t *groups;   /* first position of each group, then the end */
    uint32_t group_count;
} over_data;

/* A frame that moves along. */
typedef struct {
    const over_data *data;
    const sf_over_call *call;
    uint32_t lo, hi;               /* of the row in hand */
    uint32_t value_lo, value_hi;   /* where a RANGE with a distance has come to */
    uint32_t known_from, known_to; /* positions whose order value is not NULL */
} over_frame;

static const sf_column *value_at(const over_data *data, uint32_t column, uint32_t position)
{
    return data->batches[position / SF_OVER_CHUNK]->columns[column];
}

static uint32_t row_at(uint32_t position)
{
    return position % SF_OVER_CHUNK;
}

/* ---- what the calls read ---- */

static void mark_read(const sf_over_spec *spec, uint64_t *columns)
{
    for (uint32_t i = 0; i < spec->call_count; i++) {
        const sf_over_call *call = &spec->calls[i];
        for (uint32_t k = 0; k < call->arg_count; k++)
            columns[call->args[k] / 64] |= 1ULL << (call->args[k] % 64);
        if (call->unit == SF_OVER_RANGE && spec->order_count == 1)
            columns[spec->order[0].column / 64] |= 1ULL << (spec->order[0].column % 64);
    }
}

static sf_batch *read_chunk(const over_data *data, uint32_t chunk, const uint64_t *read)
{
    uint32_t from = chunk * SF_OVER_CHUNK, left = data->rows->count - from;
    uint32_t count = left < SF_OVER_CHUNK ? left : SF_OVER_CHUNK;
    sf_column *columns[SF_COLUMNS_MAX] = {NULL};
    bool whole = true;
    for (uint32_t c = 0; c < data->schema->count; c++) {
        columns[c] = read[c / 64] >> (c % 64) & 1
                         ? sf_arr_gather(data->rows->rows, c, data->rows->refs + from, count)
                         : sf_column_nulls(data->schema->fields[c].type, count);
        whole = whole && columns[c];
    }
    if (whole)
        return sf_batch_new(data->schema, count, columns, NULL, NULL);
    for (uint32_t c = 0; c < data->schema->count; c++)
        sf_column_unref(columns[c]);
    return NULL;
}

static sf_status find_peers(over_data *data, sf_error *err)
{
    uint32_t prefix = data->spec->key_count + data->spec->order_count;
    const sf_ref *refs = data->rows->refs;
    data->group_of = sf_alloc((data->rows->count + 1u) * sizeof *data->group_of);
    data->groups = sf_alloc((data->rows->count + 1u) * sizeof *data->groups);
    if (!data->group_of || !data->groups)
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < data->rows->count; i++) {
        if (i == 0 || !sf_order_same(data->rows->order, refs[i - 1], refs[i], prefix))
            data->groups[data->group_count++] = i;
        data->group_of[i] = data->group_count - 1;
    }
    data->groups[data->group_count] = data->rows->count;
    return SF_OK;
}

static sf_status data_open(over_data *data, const sf_over_rows *rows, sf_error *err)
{
    const sf_op *op = rows->op;
    uint64_t read[SF_COLUMNS_MAX / 64] = {0};
    *data = (over_data){.rows = rows,
                        .spec = &op->node->as.over,
                        .schema = sf_plan_at(op->circuit->plan, op->node->inputs[0])->schema,
                        .chunks = (rows->count + SF_OVER_CHUNK - 1) / SF_OVER_CHUNK};
    data->batches = sf_calloc(data->chunks + 1u, sizeof(sf_batch *));
    if (!data->batches)
        return sf_fail_memory(err);
    mark_read(data->spec, read);
    for (uint32_t i = 0; i < data->chunks; i++) {
        data->batches[i] = read_chunk(data, i, read);
        if (!data->batches[i])
            return sf_fail_memory(err);
    }
    return find_peers(data, err);
}

static void data_close(over_data *data)
{
    for (uint32_t i = 0; data->batches && i < data->chunks; i++)
        sf_batch_unref(data->batches[i]);
    sf_free(data->batches);
    sf_free(data->group_of);
    sf_free(data->groups);
}

/* ---- frames ---- */

static bool order_known(const over_data *data, uint32_t position)
{
    const sf_column *column = value_at(data, data->spec->order[0].column, position);
    return sf_column_is_valid(column, row_at(position));
}

/* Where the order value at `position`, moved by the edge's distance, lies as seen from that at
 * `other`: < 0 before it, in the order's direction. */
static int moved_sign(const over_data *data, uint32_t position, const sf_over_edge *edge,
                      uint32_t other)
{
    const sf_plan_order *by = &data->spec->order[0];
    const sf_column *a = value_at(data, by->column, position);
    const sf_column *b = value_at(data, by->column, other);
    bool up = (edge->kind == SF_EDGE_FOLLOWING) != by->descending;
    int sign;
    if (a->type == SF_TYPE_F64) {
        double to = SF_LANES(b, double)[row_at(other)];
        double moved =
            SF_LANES(a, double)[row_at(position)] + (up ? edge->distance_f64 : -edge->distance_f64);
        sign = (moved > to) - (moved < to);
    } else {
        __int128 to = SF_LANES(b, int64_t)[row_at(other)];
        __int128 distance = edge->distance;
        __int128 moved = SF_LANES(a, int64_t)[row_at(position)] + (up ? distance : -distance);
        sign = (moved > to) - (moved < to);
    }
    return by->descending ? -sign : sign;
}

static void frame_open(over_frame *frame, const over_data *data, const sf_over_call *call)
{
    uint32_t count = data->rows->count;
    *frame = (over_frame){.data = data, .call = call};
    bool distance = call->start.kind == SF_EDGE_PRECEDING ||
                    call->start.kind == SF_EDGE_FOLLOWING || call->end.kind == SF_EDGE_PRECEDING ||
                    call->end.kind == SF_EDGE_FOLLOWING;
    if (call->unit != SF_OVER_RANGE || !distance)
        return;
    frame->known_to = count;
    while (frame->known_from < count && !order_known(data, frame->known_from))
        frame->known_from++;
    while (frame->known_to > frame->known_from && !order_known(data, frame->known_to - 1))
        frame->known_to--;
    frame->value_lo = frame->value_hi = frame->known_from;
}

/* The first position, at or behind `position`, moved by whole rows or groups; count: none. */
static uint32_t shifted(uint32_t position, const sf_over_edge *edge, uint32_t count)
{
    uint64_t by = (uint64_t)edge->distance;
    if (edge->kind == SF_EDGE_PRECEDING)
        return by > position ? UINT32_MAX : position - (uint32_t)by;
    return by >= count - position ? count : position + (uint32_t)by;
}

static uint32_t frame_start(over_frame *frame, uint32_t position)
{
    const over_data *data = frame->data;
    const sf_over_edge *edge = &frame->call->start;
    uint32_t group = data->group_of[position];
    if (edge->kind == SF_EDGE_UNBOUNDED)
        return 0;
    if (edge->kind == SF_EDGE_CURRENT)
        return frame->call->unit == SF_OVER_ROWS ? position : data->groups[group];
    if (frame->call->unit == SF_OVER_ROWS) {
        uint32_t at = shifted(position, edge, data->rows->count);
        return at == UINT32_MAX ? 0 : at;
    }
    if (frame->call->unit == SF_OVER_GROUPS) {
        uint32_t at = shifted(group, edge, data->group_count);
        return at == UINT32_MAX ? 0 : data->groups[at];
    }
    if (position < frame->known_from || position >= frame->known_to)
        return data->groups[group];
    while (frame->value_lo < frame->known_to &&
           moved_sign(data, position, edge, frame->value_lo) > 0)
        frame->value_lo++;
    return frame->value_lo;
}

/* Behind the last row. */
static uint32_t frame_end(over_frame *frame, uint32_t position)
{
    const over_data *data = frame->data;
    const sf_over_edge *edge = &frame->call->end;
    uint32_t group = data->group_of[position];
    if (edge->kind == SF_EDGE_UNBOUNDED)
        return data->rows->count;
    if (edge->kind == SF_EDGE_CURRENT)
        return frame->call->unit == SF_OVER_ROWS ? position + 1 : data->groups[group + 1];
    if (frame->call->unit == SF_OVER_ROWS) {
        uint32_t at = shifted(position, edge, data->rows->count);
        return at == UINT32_MAX ? 0 : at < data->rows->count ? at + 1 : at;
    }
    if (frame->call->unit == SF_OVER_GROUPS) {
        uint32_t at = shifted(group, edge, data->group_count);
        return at == UINT32_MAX         ? 0
               : at < data->group_count ? data->groups[at + 1]
                                        : data->rows->count;
    }
    if (position < frame->known_from || position >= frame->known_to)
        return data->groups[group + 1];
    while (frame->value_hi < frame->known_to &&
           moved_sign(data, position, edge, frame->value_hi) >= 0)
        frame->value_hi++;
    return frame->value_hi;
}

static void frame_move(over_frame *frame, uint32_t position)
{
    frame->lo = frame_start(frame, position);
    frame->hi = frame_end(frame, position);
}

/* ---- one call ---- */

typedef struct {
    const over_data *data;
    const sf_over_call *call;
    over_frame frame;
    uint32_t from, to; /* rows the accumulator has taken in and not given back */
    uint64_t *state;
    uint32_t *best; /* MIN, MAX: positions that may still become the answer */
    uint32_t best_from, best_to;
} over_run;

static sf_status run_open(over_run *run, const over_data *data, const sf_over_call *call,
                          sf_error *err)
{
    *run = (over_run){.data = data, .call = call};
    frame_open(&run->frame, data, call);
    if (call->function == SF_OVER_MIN || call->function == SF_OVER_MAX) {
        run->best = sf_alloc((data->rows->count + 1u) * sizeof *run->best);
        return run->best ? SF_OK : sf_fail_memory(err);
    }
    if (call->function != SF_OVER_AGGREGATE)
        return SF_OK;
    run->state = sf_calloc(1, call->aggregate->state_bytes + sizeof *run->state);
    return run->state ? SF_OK : sf_fail_memory(err);
}

static void run_close(over_run *run)
{
    sf_free(run->state);
    sf_free(run->best);
}

/* One row into the accumulator, or out of it. */
static void aggregate_row(over_run *run, uint32_t position, int64_t weight)
{
    static const uint64_t null_bit = 0;
    const sf_over_call *call = run->call;
    uint32_t row = row_at(position);
    sf_column lanes[SF_OVER_ARGS_MAX];
    const sf_column *args[SF_OVER_ARGS_MAX];
    for (uint32_t c = 0; c < call->arg_count; c++) {
        const sf_column *column = value_at(run->data, call->args[c], position);
        lanes[c] = *column;
        lanes[c].rows = 1;
        lanes[c].valid = sf_column_is_valid(column, row) ? NULL : &null_bit;
        lanes[c].data = (const uint8_t *)column->data + row * sf_type_lane_bytes(column->type);
        args[c] = &lanes[c];
    }
    uint8_t *state = (uint8_t *)run->state;
    call->aggregate->update(&state, 0, args, weight == 1 ? NULL : &weight, 1);
}

static int compare_lanes(const sf_column *a, uint32_t row_a, const sf_column *b, uint32_t row_b)
{
    if (sf_type_is_view(a->type))
        return sf_str_cmp(sf_column_str(a, row_a), sf_column_str(b, row_b));
    if (a->type == SF_TYPE_F64) {
        double one = SF_LANES(a, double)[row_a], other = SF_LANES(b, double)[row_b];
        return (one > other) - (one < other);
    }
    if (a->type == SF_TYPE_BOOL)
        return (int)SF_LANES(a, uint8_t)[row_a] - (int)SF_LANES(b, uint8_t)[row_b];
    int64_t one = SF_LANES(a, int64_t)[row_a], other = SF_LANES(b, int64_t)[row_b];
    return (one > other) - (one < other);
}

/* Rows that come later and are as good make those before them useless. */
static void best_row(over_run *run, uint32_t position)
{
    uint32_t column = run->call->args[0];
    const sf_column *value = value_at(run->data, column, position);
    if (!sf_column_is_valid(value, row_at(position)))
        return;
    while (run->best_to > run->best_from) {
        uint32_t last = run->best[run->best_to - 1];
        int sign =
            compare_lanes(value, row_at(position), value_at(run->data, column, last), row_at(last));
        if (run->call->function == SF_OVER_MIN ? sign > 0 : sign < 0)
            break;
        run->best_to--;
    }
    run->best[run->best_to++] = position;
}

/* The accumulator holds the frame's rows afterwards. */
static void take_frame(over_run *run)
{
    uint32_t lo = run->frame.lo, hi = run->frame.hi;
    bool sums = run->call->function == SF_OVER_AGGREGATE;
    if (run->to < lo) { /* the frame jumped past what it held */
        for (; sums && run->from < run->to; run->from++)
            aggregate_row(run, run->from, -1);
        run->from = run->to = lo;
    }
    for (; run->to < hi; run->to++) {
        if (sums)
            aggregate_row(run, run->to, 1);
        else
            best_row(run, run->to);
    }
    for (; run->from < lo; run->from++)
        if (sums)
            aggregate_row(run, run->from, -1);
    while (run->best_from < run->best_to && run->best[run->best_from] < lo)
        run->best_from++;
}

static void put_value(const over_run *run, uint32_t arg, uint32_t position, sf_builder *out)
{
    sf_builder_copy(out, value_at(run->data, run->call->args[arg], position), row_at(position));
}

/* The value at a position of the partition; out of it: the default. */
static void put_neighbour(const over_run *run, uint32_t position, sf_builder *out)
{
    uint64_t by = (uint64_t)run->call->number;
    bool lag = run->call->function == SF_OVER_LAG;
    bool there = lag ? by <= position : by < run->data->rows->count - position;
    if (there)
        put_value(run, 0, lag ? position - (uint32_t)by : position + (uint32_t)by, out);
    else if (run->call->arg_count > 1)
        put_value(run, 1, position, out);
    else
        sf_builder_null(out);
}

/* A value of the frame, counted from its start. */
static void put_framed(over_run *run, uint32_t position, sf_builder *out)
{
    frame_move(&run->frame, position);
    uint32_t lo = run->frame.lo, hi = run->frame.hi, count = hi > lo ? hi - lo : 0;
    uint64_t at = 0;
    if (run->call->function == SF_OVER_NTH_VALUE)
        at = (uint64_t)run->call->number - 1;
    else if (run->call->function == SF_OVER_LAST_VALUE)
        at = count - 1u;
    if (at < count)
        put_value(run, 0, lo + (uint32_t)at, out);
    else
        sf_builder_null(out);
}

static void put_accumulated(over_run *run, uint32_t position, sf_builder *out)
{
    frame_move(&run->frame, position);
    take_frame(run);
    if (run->call->function == SF_OVER_AGGREGATE) {
        uint8_t *state = (uint8_t *)run->state;
        run->call->aggregate->finish(&state, 0, 1, out);
    } else if (run->best_from < run->best_to) {
        put_value(run, 0, run->best[run->best_from], out);
    } else {
        sf_builder_null(out);
    }
}

/* Rows in equal buckets, the first ones one larger where that does not come out even. */
static int64_t bucket_of(uint64_t position, uint64_t count, uint64_t buckets)
{
    uint64_t size = count / buckets, larger = count % buckets;
    if (position < larger * (size + 1))
        return (int64_t)(position / (size + 1)) + 1;
    return (int64_t)(larger + (position - larger * (size + 1)) / size) + 1;
}

static void put_result(over_run *run, uint32_t position, sf_builder *out)
{
    const over_data *data = run->data;
    uint32_t group = data->group_of[position], count = data->rows->count;
    switch (run->call->function) {
    case SF_OVER_ROW_NUMBER: sf_builder_i64(out, (int64_t)position + 1); return;
    case SF_OVER_RANK: sf_builder_i64(out, (int64_t)data->groups[group] + 1); return;
    case SF_OVER_DENSE_RANK: sf_builder_i64(out, (int64_t)group + 1); return;
    case SF_OVER_PERCENT_RANK:
        sf_builder_f64(out, count > 1 ? (double)data->groups[group] / (double)(count - 1) : 0);
        return;
    case SF_OVER_CUME_DIST:
        sf_builder_f64(out, (double)data->groups[group + 1] / (double)count);
        return;
    case SF_OVER_NTILE:
        sf_builder_i64(out, bucket_of(position, count, (uint64_t)run->call->number));
        return;
    case SF_OVER_LAG:
    case SF_OVER_LEAD: put_neighbour(run, position, out); return;
    case SF_OVER_FIRST_VALUE:
    case SF_OVER_LAST_VALUE:
    case SF_OVER_NTH_VALUE: put_framed(run, position, out); return;
    case SF_OVER_MIN:
    case SF_OVER_MAX:
    case SF_OVER_AGGREGATE: put_accumulated(run, position, out); return;
    }
}

static sf_status run_call(const over_data *data, const sf_over_call *call, sf_column **out,
                          sf_error *err)
{
    over_run run;
    sf_status status = run_open(&run, data, call, err);
    for (uint32_t chunk = 0; status == SF_OK && chunk < data->chunks; chunk++) {
        uint32_t from = chunk * SF_OVER_CHUNK, rows = data->batches[chunk]->rows;
        sf_builder builder;
        if (!sf_builder_init(&builder, call->result_type, rows)) {
            status = sf_fail_memory(err);
            break;
        }
        for (uint32_t i = 0; i < rows; i++)
            put_result(&run, from + i, &builder);
        out[chunk] = sf_builder_finish(&builder);
        sf_builder_deinit(&builder);
        if (!out[chunk])
            status = sf_fail_memory(err);
    }
    run_close(&run);
    return status;
}

void sf_over_results_free(sf_over_results *results)
{
    for (size_t i = 0; results->columns && i < (size_t)results->calls * results->chunks; i++)
        sf_column_unref(results->columns[i]);
    sf_free(results->columns);
}

sf_status sf_over_evaluate(const sf_over_rows *rows, sf_over_results *out, sf_error *err)
{
    over_data data;
    sf_status status = data_open(&data, rows, err);
    *out = (sf_over_results){.calls = data.spec->call_count, .chunks = data.chunks};
    out->columns = sf_calloc((size_t)out->calls * out->chunks + 1u, sizeof(sf_column *));
    if (status == SF_OK && !out->columns)
        status = sf_fail_memory(err);
    for (uint32_t i = 0; status == SF_OK && i < out->calls; i++)
        status = run_call(&data, &data.spec->calls[i], out->columns + i * out->chunks, err);
    data_close(&data);
    return status;
}

/* ASOF JOIN: each left row with the nearest right row of its key at or before its time (or after it).
 *
 * Rows of both sides lie in one arrangement: key, time, side, then the other columns of either side,
 * which share lanes of one type. Two orders over it, one a side, go by key, time and side; so the
 * match of a left row is its neighbour in the order of the right side, and the left rows that a right
 * row concerns are those from it to the next right row. Each left row keeps the match it was last
 * answered with. */
#include "flow/operator.h"

enum { ROW_LISTED = 1, ROW_LIVED = 2, ROW_WALKED = 4 };

/* Extra bytes of a row. */
typedef struct {
    int64_t weight;
    int64_t answered; /* of a left row: how often it is in the answer */
    sf_ref match;     /* with this right row; 0: none */
    uint32_t flags;   /* of this epoch */
} asof_row;

typedef SF_VEC(sf_ref) asof_refs;

/* One side's place in the arrangement. */
typedef struct {
    uint32_t *stored;  /* stored column -> input column; UINT32_MAX: none */
    uint32_t *inverse; /* input column -> stored column */
    uint32_t count;
    sf_order *order;  /* its live rows */
    asof_refs listed; /* rows that the epoch touched */
} asof_side;

typedef struct {
    sf_op op;
    sf_arr *rows;
    sf_schema *schema; /* of the arrangement */
    uint32_t *columns; /* 0, 1, 2, ... */
    asof_side sides[2];
    bool walked; /* the left rows that changes on the right concern are listed */
    size_t next; /* left row whose turn it is */
    uint64_t *hashes;
    sf_ref *refs;
    size_t caps[2];
} asof_op;

static asof_row *row_of(const asof_op *asof, sf_ref ref)
{
    return (asof_row *)(void *)sf_arr_extra(asof->rows, ref);
}

static uint32_t key_count(const asof_op *asof)
{
    return asof->op.node->as.asof.key_count;
}

/* ---- life ---- */

/* Where the columns of one side that are neither key nor time go: each to the first free lane of its
 * type. */
static void place_columns(asof_side *side, const sf_schema *input, const uint32_t *keys,
                          uint32_t count, uint32_t time, sf_field *fields, uint32_t *width)
{
    for (uint32_t i = 0; i < input->count; i++)
        side->inverse[i] = UINT32_MAX;
    for (uint32_t i = 0; i <= count; i++) {
        uint32_t column = i < count ? keys[i] : time;
        side->stored[i] = column;
        if (side->inverse[column] == UINT32_MAX)
            side->inverse[column] = i;
    }
    for (uint32_t i = 0; i < input->count; i++) {
        uint32_t at = count + 2;
        if (side->inverse[i] != UINT32_MAX)
            continue;
        while (at < *width &&
               (side->stored[at] != UINT32_MAX || fields[at].type != input->fields[i].type))
            at++;
        if (at == *width)
            fields[(*width)++] = (sf_field){"lane", input->fields[i].type, false};
        side->stored[at] = i;
        side->inverse[i] = at;
    }
}

static sf_status open_columns(asof_op *asof, sf_error *err)
{
    const sf_plan_node *node = asof->op.node;
    const uint32_t *keys[2] = {node->as.asof.left_keys, node->as.asof.right_keys};
    const uint32_t times[2] = {node->as.asof.left_time, node->as.asof.right_time};
    const sf_schema *inputs[2];
    uint32_t count = key_count(asof), width = count + 2, room = width;
    for (int s = 0; s < 2; s++) {
        inputs[s] = sf_plan_at(asof->op.circuit->plan, node->inputs[s])->schema;
        room += inputs[s]->count;
    }
    sf_field *fields = sf_calloc(room, sizeof *fields);
    asof->columns = sf_alloc(room * sizeof *asof->columns);
    bool good = fields && asof->columns;
    for (int s = 0; s < 2; s++) {
        asof_side *side = &asof->sides[s];
        side->count = inputs[s]->count;
        side->stored = sf_alloc(room * sizeof *side->stored);
        side->inverse = sf_alloc(side->count * sizeof *side->inverse);
        good = good && side->stored && side->inverse;
    }
    for (uint32_t i = 0; good && i < room; i++) {
        asof->columns[i] = i;
        asof->sides[0].stored[i] = asof->sides[1].stored[i] = UINT32_MAX;
    }
    for (uint32_t i = 0; good && i < count; i++)
        fields[i] = (sf_field){"key", inputs[0]->fields[keys[0][i]].type, false};
    if (good) {
        fields[count] = (sf_field){"time", inputs[0]->fields[times[0]].type, false};
        fields[count + 1] = (sf_field){"side", SF_TYPE_BOOL, false};
        for (int s = 1; s >= 0; s--) /* ties go by the right side's own columns */
            place_columns(&asof->sides[s], inputs[s], keys[s], count, times[s], fields, &width);
        asof->schema = sf_schema_new(fields, width);
    }
    sf_free(fields);
    return asof->schema ? SF_OK : sf_fail_memory(err);
}

static sf_status asof_open(sf_op *op, sf_error *err)
{
    asof_op *asof = (asof_op *)op;
    SF_TRY(open_columns(asof, err));
    uint32_t width = asof->schema->count;
    sf_type *types = sf_alloc(width * sizeof *types);
    sf_order_by *by = sf_calloc(width, sizeof *by);
    sf_status status = types && by ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK) {
        for (uint32_t i = 0; i < width; i++) {
            types[i] = asof->schema->fields[i].type;
            by[i].column = i;
        }
        sf_arr_options options = {.mode = SF_ARR_UNIQUE,
                                  .types = types,
                                  .column_count = width,
                                  .key_count = width,
                                  .extra_bytes = sizeof(asof_row)};
        status = sf_op_arrangement(op, &options, &asof->rows, err);
    }
    for (int s = 0; s < 2 && status == SF_OK; s++)
        status = sf_order_new(asof->rows, by, width, &asof->sides[s].order, err);
    sf_free(types);
    sf_free(by);
    return status;
}

static void asof_close(sf_op *op)
{
    asof_op *asof = (asof_op *)op;
    for (int s = 0; s < 2; s++) {
        sf_order_free(asof->sides[s].order);
        sf_free(asof->sides[s].stored);
        sf_free(asof->sides[s].inverse);
        SF_VEC_DEINIT(&asof->sides[s].listed);
    }
    sf_schema_unref(asof->schema);
    sf_free(asof->columns);
    sf_free(asof->hashes);
    sf_free(asof->refs);
}

/* ---- rows come and go ---- */

/* What the side column says: at one time right rows come first when such a match counts. */
static uint8_t side_value(const asof_op *asof, uint32_t port)
{
    bool right_first = asof->op.node->as.asof.forward == asof->op.node->as.asof.strict;
    return (uint8_t)((port == 0) == right_first);
}

/* The batch in the arrangement's columns. */
static sf_batch *stored_batch(const asof_op *asof, uint32_t port, const sf_batch *batch)
{
    const asof_side *side = &asof->sides[port];
    uint32_t at_side = key_count(asof) + 1;
    sf_column *columns[SF_COLUMNS_MAX] = {NULL};
    bool whole = true;
    for (uint32_t i = 0; i < asof->schema->count; i++) {
        if (i == at_side) {
            columns[i] = sf_column_new(SF_TYPE_BOOL, batch->rows, false);
            if (columns[i])
                memset(sf_column_lanes(columns[i]), side_value(asof, port), batch->rows);
        } else if (side->stored[i] == UINT32_MAX) {
            columns[i] = sf_column_nulls(asof->schema->fields[i].type, batch->rows);
        } else {
            columns[i] = sf_column_ref(batch->columns[side->stored[i]]);
        }
        whole = whole && columns[i];
    }
    if (whole)
        return sf_batch_new(asof->schema, batch->rows, columns, NULL, NULL);
    for (uint32_t i = 0; i < asof->schema->count; i++)
        sf_column_unref(columns[i]);
    return NULL;
}

static bool list_row(asof_side *side, asof_row *row, sf_ref ref)
{
    if (row->flags & ROW_LISTED)
        return true;
    row->flags |= ROW_LISTED | (row->weight > 0 ? ROW_LIVED : 0);
    return SF_VEC_PUSH(&side->listed, ref);
}

static sf_status count_row(asof_op *asof, uint32_t port, sf_ref ref, int64_t weight, sf_error *err)
{
    asof_side *side = &asof->sides[port];
    asof_row *row = row_of(asof, ref); /* upsert made it writable */
    if (!list_row(side, row, ref))
        return sf_fail_memory(err);
    bool lived = row->weight > 0;
    row->weight += weight;
    bool lives = row->weight > 0;
    if (lives && !lived)
        return sf_order_insert(side->order, ref, err);
    if (lived && !lives)
        sf_order_remove(side->order, ref);
    return SF_OK;
}

/* Right rows without a key or a time match nothing and are not kept. */
static bool matches_nothing(const asof_op *asof, const sf_batch *stored, uint32_t row)
{
    for (uint32_t i = 0; i <= key_count(asof); i++)
        if (!sf_column_is_valid(stored->columns[i], row))
            return true;
    return false;
}

static sf_status asof_batch(asof_op *asof, uint32_t port, const sf_batch *batch,
                            const sf_batch *stored, uint32_t *rows, sf_error *err)
{
    sf_sel sel = {rows, 0};
    for (uint32_t i = 0; i < batch->rows; i++) {
        rows[sel.count] = i;
        sel.count += port == 0 || !matches_nothing(asof, stored, i);
    }
    if (!sf_scratch((void **)&asof->hashes, &asof->caps[0], sel.count, 8) ||
        !sf_scratch((void **)&asof->refs, &asof->caps[1], sel.count, sizeof(sf_ref)))
        return sf_fail_memory(err);
    sf_batch_hash(stored, asof->columns, asof->schema->count, sel, asof->hashes);
    SF_TRY(
        sf_arr_upsert(asof->rows, stored, asof->columns, sel, asof->hashes, asof->refs, NULL, err));
    for (uint32_t i = 0; i < sel.count; i++)
        SF_TRY(count_row(asof, port, asof->refs[i], sf_batch_weight(batch, rows[i]), err));
    return SF_OK;
}

static sf_step asof_push(sf_op *op, uint32_t port, const sf_batch *batch, sf_error *err)
{
    asof_op *asof = (asof_op *)op;
    sf_batch *stored = stored_batch(asof, port, batch);
    uint32_t *rows = sf_alloc((batch->rows + 1u) * sizeof *rows);
    sf_status status =
        stored && rows ? asof_batch(asof, port, batch, stored, rows, err) : sf_fail_memory(err);
    sf_batch_unref(stored);
    sf_free(rows);
    return status == SF_OK ? SF_STEP_DONE : SF_STEP_FAILED;
}

/* ---- matches ---- */

static bool has_time(const asof_op *asof, sf_ref ref)
{
    uint32_t at = key_count(asof);
    int64_t number;
    sf_str text;
    return sf_type_is_view(asof->schema->fields[at].type)
               ? sf_arr_lane_str(asof->rows, ref, at, &text)
               : sf_arr_lane_i64(asof->rows, ref, at, &number);
}

/* The next one in the direction of matches, and against it. */
static sf_ref towards(const asof_op *asof, const sf_order *order, sf_ref like)
{
    return asof->op.node->as.asof.forward ? sf_order_after(order, like)
                                          : sf_order_before(order, like);
}
static sf_ref against(const asof_op *asof, const sf_order *order, sf_ref like)
{
    return asof->op.node->as.asof.forward ? sf_order_before(order, like)
                                          : sf_order_after(order, like);
}

static sf_ref match_of(const asof_op *asof, sf_ref left)
{
    const sf_order *order = asof->sides[1].order;
    sf_ref right = has_time(asof, left) ? towards(asof, order, left) : 0;
    return right && sf_order_same(order, right, left, key_count(asof)) ? right : 0;
}

/* Lists the left rows that a right row which came or went concerns: those up to the next right row.
 * Where another walk has been, it has been all the way. */
static sf_status walk_from(asof_op *asof, sf_ref right, sf_error *err)
{
    asof_side *lefts = &asof->sides[0];
    const sf_order *order = lefts->order;
    sf_ref stop = against(asof, asof->sides[1].order, right);
    bool forward = asof->op.node->as.asof.forward;
    for (sf_ref ref = against(asof, order, right); ref;
         ref = forward ? sf_order_prev(order, ref) : sf_order_next(order, ref)) {
        if (!sf_order_same(order, ref, right, key_count(asof)))
            return SF_OK;
        if (stop && (sf_order_compare(order, ref, stop) > 0) != forward)
            return SF_OK;
        asof_row *row = (asof_row *)(void *)sf_arr_extra_mut(asof->rows, ref);
        if (!row || !list_row(lefts, row, ref))
            return sf_fail_memory(err);
        if (row->flags & ROW_WALKED)
            return SF_OK;
        row->flags |= ROW_WALKED;
    }
    return SF_OK;
}

static sf_status walk_all(asof_op *asof, sf_error *err)
{
    const asof_refs *listed = &asof->sides[1].listed;
    for (size_t i = 0; i < listed->len; i++) {
        const asof_row *row = row_of(asof, listed->data[i]);
        bool lived = row->flags & ROW_LIVED, lives = row->weight > 0;
        if (lived != lives)
            SF_TRY(walk_from(asof, listed->data[i], err));
    }
    return SF_OK;
}

/* ---- what changed ---- */

/* Pairs that leave or enter the answer. */
typedef struct {
    sf_ref left[2 * SF_BATCH_ROWS], right[2 * SF_BATCH_ROWS];
    int64_t weight[2 * SF_BATCH_ROWS];
    uint32_t count;
} asof_changes;

static void add_change(asof_changes *changes, sf_ref left, sf_ref right, int64_t weight)
{
    if (weight == 0)
        return;
    changes->left[changes->count] = left;
    changes->right[changes->count] = right;
    changes->weight[changes->count++] = weight;
}

static void answer_row(asof_op *asof, sf_ref ref, asof_changes *changes)
{
    asof_row *row = row_of(asof, ref);
    bool lives = row->weight > 0;
    sf_ref match = lives ? match_of(asof, ref) : 0;
    bool answers = lives && (match || asof->op.node->as.asof.kind == SF_JOIN_LEFT);
    int64_t count = answers ? row->weight : 0;
    if (match == row->match) {
        add_change(changes, ref, match, count - row->answered);
    } else {
        add_change(changes, ref, row->match, -row->answered);
        add_change(changes, ref, match, count);
    }
    row->match = match;
    row->answered = count;
}

/* The later of the two; of a row without a match its own. */
static sf_column *pair_times(const sf_column *left, const sf_column *right, uint32_t count)
{
    sf_column *out = sf_column_new(SF_TYPE_I64, count, true);
    int64_t *lanes = out ? sf_column_lanes(out) : NULL;
    for (uint32_t i = 0; out && i < count; i++) {
        bool a = sf_column_is_valid(left, i), b = sf_column_is_valid(right, i);
        int64_t one = a ? SF_LANES(left, int64_t)[i] : INT64_MIN;
        int64_t other = b ? SF_LANES(right, int64_t)[i] : INT64_MIN;
        lanes[i] = one > other ? one : other;
        if (!a && !b)
            sf_valid_clear(sf_column_valid(out), i);
    }
    return out;
}

static sf_status emit_changes(asof_op *asof, const asof_changes *changes, sf_error *err)
{
    const asof_side *left = &asof->sides[0], *right = &asof->sides[1];
    const sf_schema *schema = asof->op.schema;
    uint32_t count = changes->count, last = schema->count - 1;
    sf_column *columns[SF_COLUMNS_MAX] = {NULL};
    sf_column *weights = sf_column_new(SF_TYPE_I64, count, false);
    bool whole = weights != NULL;
    if (whole)
        memcpy(sf_column_lanes(weights), changes->weight, count * sizeof *changes->weight);
    for (uint32_t c = 0; c < last; c++) {
        bool own = c < left->count;
        columns[c] =
            sf_arr_gather(asof->rows, own ? left->inverse[c] : right->inverse[c - left->count],
                          own ? changes->left : changes->right, count);
        whole = whole && columns[c];
    }
    const sf_column *one = columns[left->count - 1], *other = columns[last - 1];
    if (whole && one && other)
        columns[last] = pair_times(one, other, count);
    if (whole && columns[last])
        return sf_op_emit(&asof->op, sf_batch_new(schema, count, columns, weights, NULL), err);
    for (uint32_t c = 0; c <= last; c++)
        sf_column_unref(columns[c]);
    sf_column_unref(weights);
    return sf_fail_memory(err);
}

static sf_status flush_some(asof_op *asof, asof_changes *changes, sf_error *err)
{
    const asof_refs *listed = &asof->sides[0].listed;
    changes->count = 0;
    while (asof->next < listed->len && changes->count + 2 <= SF_BATCH_ROWS)
        answer_row(asof, listed->data[asof->next++], changes);
    return changes->count ? emit_changes(asof, changes, err) : SF_OK;
}

/* Rows that are gone leave, now that nothing names them any more. */
static void forget_rows(asof_op *asof)
{
    for (int s = 0; s < 2; s++) {
        asof_refs *listed = &asof->sides[s].listed;
        for (size_t i = 0; i < listed->len; i++) {
            asof_row *row = row_of(asof, listed->data[i]);
            row->flags = 0;
            if (row->weight == 0)
                sf_arr_remove(asof->rows, listed->data[i]);
        }
        listed->len = 0;
    }
    asof->walked = false;
    asof->next = 0;
}

static sf_step asof_flush(sf_op *op, sf_error *err)
{
    asof_op *asof = (asof_op *)op;
    if (!asof->walked && walk_all(asof, err) != SF_OK)
        return SF_STEP_FAILED;
    asof->walked = true;
    asof_changes *changes = sf_alloc(sizeof *changes);
    sf_status status = changes ? SF_OK : sf_fail_memory(err);
    while (status == SF_OK && asof->next < asof->sides[0].listed.len) {
        status = flush_some(asof, changes, err);
        if (op->circuit->budget_rows == 0)
            break;
    }
    sf_free(changes);
    if (status != SF_OK)
        return SF_STEP_FAILED;
    if (asof->next < asof->sides[0].listed.len)
        return SF_STEP_MORE;
    forget_rows(asof);
    return SF_STEP_DONE;
}

/* Each order holds the live rows of its side. */
static sf_status asof_load(sf_op *op, sf_reader *in, sf_error *err)
{
    SF_UNUSED(in);
    asof_op *asof = (asof_op *)op;
    sf_ref ref = 0;
    while (sf_arr_scan(asof->rows, ref, &ref, 1) == 1) {
        int64_t side;
        if (row_of(asof, ref)->weight <= 0 ||
            !sf_arr_lane_i64(asof->rows, ref, key_count(asof) + 1, &side))
            continue;
        uint32_t port = side != side_value(asof, 0);
        SF_TRY(sf_order_insert(asof->sides[port].order, ref, err));
    }
    return SF_OK;
}

const sf_op_type sf_op_asof = {
    .size = sizeof(asof_op),
    .open = asof_open,
    .push = asof_push,
    .flush = asof_flush,
    .close = asof_close,
    .load = asof_load,
};

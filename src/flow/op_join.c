/* Relational joins over current state, all kinds.
 *
 * Inner part: each side keeps its rows; a batch of one side meets the rows of the other that are
 * there now and is then kept itself. Any order of batches gives the same net result, since every
 * pair meets exactly once.
 *
 * Outer and semi part: one row a key counts the weights of both sides. A row of the left is padded
 * (or, for ANTI, shown) while the right's count is not above 0; when that flips, all left rows of
 * the key flip with it. Conditions beyond the keys never come here but for INNER (plan.c). */
#include "flow/changes.h"

typedef struct {
    int64_t weight[2]; /* of the rows of the left and right with this key */
    uint64_t noted;    /* the batch (join_op.serial) that has dealt with this key */
} key_counts;

/* What is to be done with one batch, in this order; resumable at every output batch. */
typedef enum { PHASE_START, PHASE_PAIRS, PHASE_OWN, PHASE_FLIPS } phase;

typedef struct {
    uint32_t row; /* of the batch, whose key it is */
    bool lives;   /* the count rose above 0, or fell to it */
} flip;

typedef struct {
    sf_op op;
    sf_arr *rows[2]; /* keys first, then the other columns */
    uint32_t *stored[2], *inverse[2];
    uint32_t columns[2];
    sf_arr *counts;    /* NULL for INNER */
    sf_arr *null_rows; /* NOT_IN: left rows with a NULL key, whole row as key */
    uint32_t *all_columns;
    int64_t right_total; /* NOT_IN: weight of all right rows */
    uint64_t serial;     /* of the batch in hand; grows for ever */
    /* the batch in hand */
    phase phase;
    uint32_t *sel_rows; /* rows whose key has no NULL */
    uint32_t sel_count;
    uint64_t *hashes;
    sf_ref *heads;
    size_t sel_cap, hashes_cap, heads_cap;
    uint32_t at;  /* position in sel_rows or flips */
    sf_ref chain; /* where in the chain of that position; 0: at its head */
    SF_VEC(flip) flips;
    /* pairs of the output batch in the making */
    uint32_t *pair_rows;
    sf_ref *pair_refs;
    int64_t *pair_weights;
    uint32_t pair_count;
} join_op;

/* Does an unmatched (or matched) row of this side show by itself? */
static bool side_pads(const join_op *join, uint32_t side)
{
    switch (join->op.node->as.join.kind) {
    case SF_JOIN_LEFT: return side == 0;
    case SF_JOIN_RIGHT: return side == 1;
    case SF_JOIN_FULL: return true;
    case SF_JOIN_SEMI:
    case SF_JOIN_ANTI:
    case SF_JOIN_NOT_IN: return side == 0;
    case SF_JOIN_INNER: break;
    }
    return false;
}

static bool left_only(const join_op *join)
{
    return join->op.node->as.join.kind >= SF_JOIN_SEMI;
}

/* A row of a padding side shows while the other side's count is above 0 (SEMI) or is not. */
static bool shows(const join_op *join, int64_t other_weight)
{
    return (other_weight > 0) == (join->op.node->as.join.kind == SF_JOIN_SEMI);
}

/* ---- opening ---- */

static sf_status open_side(join_op *join, uint32_t side, sf_error *err)
{
    sf_op *op = &join->op;
    const sf_schema *schema = sf_plan_at(op->circuit->plan, op->node->inputs[side])->schema;
    const uint32_t *keys = side ? op->node->as.join.right_keys : op->node->as.join.left_keys;
    uint32_t count = schema->count, key_count = op->node->as.join.key_count;
    /* A column may be key twice (a.x = b.y AND a.x = b.z): keys are stored apart. */
    uint32_t stored_count = key_count + count;
    sf_type *types = sf_alloc(stored_count * sizeof *types);
    join->stored[side] = sf_alloc(stored_count * sizeof(uint32_t));
    join->inverse[side] = sf_alloc(count * sizeof(uint32_t));
    join->columns[side] = count;
    if (!types || !join->stored[side] || !join->inverse[side]) {
        sf_free(types);
        return sf_fail_memory(err);
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        join->inverse[side][i] = UINT32_MAX;
    for (; n < key_count; n++) {
        join->stored[side][n] = keys[n];
        join->inverse[side][keys[n]] = n;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (join->inverse[side][i] != UINT32_MAX)
            continue;
        join->stored[side][n] = i;
        join->inverse[side][i] = n++;
    }
    for (uint32_t i = 0; i < n; i++)
        types[i] = schema->fields[join->stored[side][i]].type;
    sf_arr_options options = {
        .mode = SF_ARR_BAG, .types = types, .column_count = n, .key_count = key_count};
    sf_status status = sf_op_arrangement(op, &options, &join->rows[side], err);
    if (status == SF_OK && side == 1 && op->node->as.join.kind != SF_JOIN_INNER) {
        sf_arr_options counts = {.mode = SF_ARR_UNIQUE,
                                 .types = types,
                                 .column_count = key_count,
                                 .key_count = key_count,
                                 .extra_bytes = sizeof(key_counts)};
        status = sf_op_arrangement(op, &counts, &join->counts, err);
    }
    sf_free(types);
    return status;
}

static sf_status open_null_rows(join_op *join, sf_error *err)
{
    sf_op *op = &join->op;
    uint32_t count = op->schema->count;
    sf_type *types = sf_alloc(count * sizeof *types);
    join->all_columns = sf_alloc(count * sizeof *join->all_columns);
    sf_status status = types && join->all_columns ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK) {
        for (uint32_t i = 0; i < count; i++) {
            types[i] = op->schema->fields[i].type;
            join->all_columns[i] = i;
        }
        sf_arr_options options = {
            .mode = SF_ARR_BAG, .types = types, .column_count = count, .key_count = count};
        status = sf_op_arrangement(op, &options, &join->null_rows, err);
    }
    sf_free(types);
    return status;
}

static sf_status join_open(sf_op *op, sf_error *err)
{
    join_op *join = (join_op *)op;
    SF_TRY(open_side(join, 0, err));
    SF_TRY(open_side(join, 1, err));
    if (op->node->as.join.kind == SF_JOIN_NOT_IN)
        SF_TRY(open_null_rows(join, err));
    join->pair_rows = sf_alloc(SF_BATCH_ROWS * sizeof *join->pair_rows);
    join->pair_refs = sf_alloc(SF_BATCH_ROWS * sizeof *join->pair_refs);
    join->pair_weights = sf_alloc(SF_BATCH_ROWS * sizeof *join->pair_weights);
    return join->pair_rows && join->pair_refs && join->pair_weights ? SF_OK : sf_fail_memory(err);
}

static void join_close(sf_op *op)
{
    join_op *join = (join_op *)op;
    for (uint32_t side = 0; side < 2; side++) {
        sf_free(join->stored[side]);
        sf_free(join->inverse[side]);
    }
    sf_free(join->all_columns);
    sf_free(join->sel_rows);
    sf_free(join->hashes);
    sf_free(join->heads);
    SF_VEC_DEINIT(&join->flips);
    sf_free(join->pair_rows);
    sf_free(join->pair_refs);
    sf_free(join->pair_weights);
}

/* ---- output ---- */

static sf_column *larger_ts(const sf_column *a, const sf_column *b)
{
    sf_column *out = sf_column_new(SF_TYPE_I64, a->rows, false);
    int64_t *lanes = out ? sf_column_lanes(out) : NULL;
    for (uint32_t i = 0; out && i < a->rows; i++) {
        int64_t x = sf_column_is_valid(a, i) ? SF_LANES(a, int64_t)[i] : INT64_MIN;
        int64_t y = sf_column_is_valid(b, i) ? SF_LANES(b, int64_t)[i] : INT64_MIN;
        lanes[i] = x > y ? x : y;
    }
    return out;
}

/* A batch from the columns of both sides (taken; NULL in place of a whole side: NULLs). */
static sf_batch *joined_batch(const join_op *join, sf_column **left, sf_column **right,
                              uint32_t rows, sf_column *weights)
{
    const sf_schema *schema = join->op.schema;
    uint32_t left_count = join->columns[0], right_count = join->columns[1];
    if (left_only(join))
        return sf_batch_new(schema, rows, left, weights, NULL);
    sf_column **columns = sf_calloc(schema->count, sizeof *columns);
    bool whole = columns != NULL;
    for (uint32_t i = 0; columns && i < schema->count - 1; i++) {
        bool of_left = i < left_count;
        sf_column **side = of_left ? left : right;
        columns[i] = side ? side[of_left ? i : i - left_count]
                          : sf_column_nulls(schema->fields[i].type, rows);
        whole = whole && columns[i];
    }
    if (whole)
        columns[schema->count - 1] =
            larger_ts(columns[left_count - 1], columns[left_count + right_count - 1]);
    sf_batch *batch = columns ? sf_batch_new(schema, rows, columns, weights, NULL) : NULL;
    sf_free(columns);
    return batch;
}

static sf_column **columns_of_batch(const sf_batch *batch, sf_sel sel)
{
    sf_column **columns = sf_calloc(batch->schema->count, sizeof *columns);
    for (uint32_t i = 0; columns && i < batch->schema->count; i++)
        columns[i] = sf_column_gather(batch->columns[i], sel);
    return columns;
}

static sf_column **columns_of_refs(const join_op *join, uint32_t side, const sf_ref *refs,
                                   uint32_t count)
{
    sf_column **columns = sf_calloc(join->columns[side], sizeof *columns);
    for (uint32_t i = 0; columns && i < join->columns[side]; i++)
        columns[i] = sf_arr_gather(join->rows[side], join->inverse[side][i], refs, count);
    return columns;
}

static sf_column *weights_of(const int64_t *weights, uint32_t count)
{
    sf_column *column = sf_column_new(SF_TYPE_I64, count, false);
    if (column)
        memcpy(sf_column_lanes(column), weights, count * sizeof *weights);
    return column;
}

static bool all_one(const int64_t *weights, uint32_t count)
{
    int64_t differs = 0;
    for (uint32_t i = 0; i < count; i++)
        differs |= weights[i] ^ 1;
    return differs == 0;
}

/* Keeps the rows of an INNER join's batch that meet the residual condition. */
static sf_batch *with_residual(join_op *join, sf_batch *batch, sf_error *err)
{
    const sf_expr *residual = join->op.node->as.join.residual;
    if (!residual || !batch)
        return batch;
    uint32_t rows[SF_BATCH_ROWS], count = 0;
    sf_batch *kept = NULL;
    if (sf_eval_filter(&join->op.circuit->eval, residual, batch, sf_sel_all(batch->rows), rows,
                       &count, err) == SF_OK)
        kept = sf_batch_gather(batch, (sf_sel){rows, count});
    sf_batch_unref(batch);
    return kept;
}

/* The pairs collected so far, as one batch: batch rows of `side` beside stored rows of the other. */
static sf_status emit_pairs(join_op *join, uint32_t side, const sf_batch *batch, sf_error *err)
{
    uint32_t count = join->pair_count;
    if (count == 0)
        return SF_OK;
    join->pair_count = 0;
    bool plain = all_one(join->pair_weights, count);
    sf_column *weights = plain ? NULL : weights_of(join->pair_weights, count);
    sf_column **own = columns_of_batch(batch, (sf_sel){join->pair_rows, count});
    sf_column **other = columns_of_refs(join, !side, join->pair_refs, count);
    sf_batch *out = NULL;
    if (own && other && (plain || weights))
        out = joined_batch(join, side ? other : own, side ? own : other, count, weights);
    sf_free(own);
    sf_free(other);
    return sf_op_emit(&join->op, with_residual(join, out, err), err);
}

/* Rows of the batch alone: padded, or as SEMI and ANTI show them. */
static sf_status emit_own(join_op *join, uint32_t side, const sf_batch *batch, sf_sel sel,
                          sf_error *err)
{
    if (sel.count == 0)
        return SF_OK;
    sf_column **own = columns_of_batch(batch, sel);
    sf_column *weights = batch->weights ? sf_column_gather(batch->weights, sel) : NULL;
    sf_batch *out = NULL;
    if (own && (!batch->weights || weights))
        out = joined_batch(join, side ? NULL : own, side ? own : NULL, sel.count, weights);
    sf_free(own);
    return sf_op_emit(&join->op, out, err);
}

/* Stored rows of `side` alone, with pair_weights. */
static sf_status emit_stored(join_op *join, uint32_t side, sf_error *err)
{
    uint32_t count = join->pair_count;
    if (count == 0)
        return SF_OK;
    join->pair_count = 0;
    sf_column **rows = columns_of_refs(join, side, join->pair_refs, count);
    sf_column *weights = weights_of(join->pair_weights, count);
    sf_batch *out = NULL;
    if (rows && weights)
        out = joined_batch(join, side ? NULL : rows, side ? rows : NULL, count, weights);
    sf_free(rows);
    return sf_op_emit(&join->op, out, err);
}

/* ---- one batch ---- */

static bool row_has_null_key(const sf_batch *batch, const uint32_t *keys, uint32_t count,
                             uint32_t row)
{
    for (uint32_t k = 0; k < count; k++)
        if (!sf_column_is_valid(batch->columns[keys[k]], row))
            return true;
    return false;
}

/* Left rows of NOT IN whose key is NULL: shown while the right side is empty. */
static sf_status keep_null_rows(join_op *join, const sf_batch *batch, sf_sel nulls, sf_error *err)
{
    if (nulls.count == 0)
        return SF_OK;
    sf_batch *rows = sf_batch_gather(batch, nulls);
    uint64_t *hashes = sf_alloc(nulls.count * sizeof *hashes);
    sf_status status = rows && hashes ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK) {
        sf_sel all = sf_sel_all(rows->rows);
        sf_batch_hash(rows, join->all_columns, rows->schema->count, all, hashes);
        status = sf_arr_add(join->null_rows, rows, join->all_columns, all, hashes,
                            rows->weights ? SF_LANES(rows->weights, int64_t) : NULL, NULL, err);
    }
    if (status == SF_OK && join->right_total <= 0)
        status = emit_own(join, 0, batch, nulls, err);
    sf_free(hashes);
    sf_batch_unref(rows);
    return status;
}

/* All of them flip when the right side becomes empty or stops being so. */
static sf_status flip_null_rows(join_op *join, int64_t sign, sf_error *err)
{
    sf_ref refs[SF_BATCH_ROWS], last = 0;
    int64_t weights[SF_BATCH_ROWS];
    uint32_t count;
    while ((count = sf_arr_scan(join->null_rows, last, refs, SF_BATCH_ROWS)) > 0) {
        last = refs[count - 1];
        sf_column **columns = sf_calloc(join->columns[0], sizeof *columns);
        if (!columns)
            return sf_fail_memory(err);
        for (uint32_t c = 0; c < join->columns[0]; c++)
            columns[c] = sf_arr_gather(join->null_rows, c, refs, count);
        for (uint32_t i = 0; i < count; i++)
            weights[i] = sign * sf_arr_weight(join->null_rows, refs[i]);
        sf_batch *out =
            sf_batch_new(join->op.schema, count, columns, weights_of(weights, count), NULL);
        sf_free(columns);
        if (out && !out->weights) {
            sf_batch_unref(out);
            out = NULL;
        }
        SF_TRY(sf_op_emit(&join->op, out, err));
    }
    return SF_OK;
}

static sf_status count_right_total(join_op *join, const sf_batch *batch, sf_error *err)
{
    int64_t before = join->right_total;
    for (uint32_t i = 0; i < batch->rows; i++)
        join->right_total += sf_batch_weight(batch, i);
    if ((before > 0) == (join->right_total > 0))
        return SF_OK;
    return flip_null_rows(join, join->right_total > 0 ? -1 : 1, err);
}

/* Rows that can match, their hashes and the other side's chains; rows with a NULL key are done. */
static sf_status start_batch(join_op *join, uint32_t side, const sf_batch *batch, sf_error *err)
{
    const sf_plan_node *node = join->op.node;
    uint32_t key_count = node->as.join.key_count, rows = batch->rows, nulls = 0;
    const uint32_t *keys = side ? node->as.join.right_keys : node->as.join.left_keys;
    if (!sf_scratch((void **)&join->sel_rows, &join->sel_cap, rows, sizeof *join->sel_rows) ||
        !sf_scratch((void **)&join->hashes, &join->hashes_cap, rows, sizeof *join->hashes) ||
        !sf_scratch((void **)&join->heads, &join->heads_cap, rows, sizeof *join->heads))
        return sf_fail_memory(err);
    join->sel_count = 0;
    for (uint32_t i = 0; i < rows; i++) { /* NULL keys gather at the far end, in reverse */
        if (!node->as.join.nulls_match && row_has_null_key(batch, keys, key_count, i))
            join->sel_rows[rows - ++nulls] = i;
        else
            join->sel_rows[join->sel_count++] = i;
    }
    sf_sel null_sel = {join->sel_rows + rows - nulls, nulls};
    if (node->as.join.kind == SF_JOIN_NOT_IN)
        SF_TRY(side == 0 ? keep_null_rows(join, batch, null_sel, err)
                         : count_right_total(join, batch, err));
    else if (side_pads(join, side) && node->as.join.kind != SF_JOIN_SEMI)
        SF_TRY(emit_own(join, side, batch, null_sel, err));
    sf_sel sel = {join->sel_rows, join->sel_count};
    sf_batch_hash(batch, join->stored[side], key_count, sel, join->hashes);
    join->at = 0;
    join->chain = 0;
    join->serial++;
    join->phase = PHASE_PAIRS;
    if (!left_only(join))
        sf_arr_find(join->rows[!side], batch, join->stored[side], sel, join->hashes, join->heads);
    return SF_OK;
}

static sf_step collect_pairs(join_op *join, uint32_t side, const sf_batch *batch, sf_error *err)
{
    const sf_arr *other = join->rows[!side];
    for (; join->at < join->sel_count; join->at++, join->chain = 0) {
        uint32_t row = join->sel_rows[join->at];
        int64_t weight = sf_batch_weight(batch, row);
        sf_ref ref = join->chain ? join->chain : join->heads[join->at];
        for (; ref; ref = sf_arr_next(other, ref)) {
            if (join->pair_count == SF_BATCH_ROWS) {
                join->chain = ref;
                return emit_pairs(join, side, batch, err) == SF_OK ? SF_STEP_MORE : SF_STEP_FAILED;
            }
            join->pair_rows[join->pair_count] = row;
            join->pair_refs[join->pair_count] = ref;
            join->pair_weights[join->pair_count++] = weight * sf_arr_weight(other, ref);
        }
    }
    return emit_pairs(join, side, batch, err) == SF_OK ? SF_STEP_DONE : SF_STEP_FAILED;
}

/* Counts the batch's weights per key; notes the keys whose count flipped, and shows the rows that
 * stand alone now. */
static sf_status count_keys(join_op *join, uint32_t side, const sf_batch *batch, sf_error *err)
{
    uint32_t count = join->sel_count, alone = 0;
    sf_sel sel = {join->sel_rows, count};
    uint32_t *alone_rows = sf_alloc((count + 1u) * sizeof *alone_rows);
    uint8_t *was_live = sf_alloc(count + 1u);
    sf_status status = alone_rows && was_live ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK)
        status = sf_arr_upsert(join->counts, batch, join->stored[side], sel, join->hashes,
                               join->heads, NULL, err);
    for (uint32_t i = 0; status == SF_OK && i < count; i++) {
        const key_counts *key =
            (const key_counts *)(const void *)sf_arr_extra(join->counts, join->heads[i]);
        was_live[i] = key->weight[side] > 0;
        if (side_pads(join, side) && shows(join, key->weight[!side]))
            alone_rows[alone++] = join->sel_rows[i];
    }
    for (uint32_t i = 0; status == SF_OK && i < count; i++)
        ((key_counts *)(void *)sf_arr_extra(join->counts, join->heads[i]))->weight[side] +=
            sf_batch_weight(batch, join->sel_rows[i]);
    for (uint32_t i = 0; status == SF_OK && i < count; i++) {
        key_counts *key = (key_counts *)(void *)sf_arr_extra(join->counts, join->heads[i]);
        bool lives = key->weight[side] > 0;
        if (lives == (bool)was_live[i] || !side_pads(join, !side))
            continue;
        if (key->noted == join->serial) /* a key that stands several times flips once */
            continue;
        key->noted = join->serial;
        flip flipped = {join->sel_rows[i], lives};
        if (!SF_VEC_PUSH(&join->flips, flipped))
            status = sf_fail_memory(err);
    }
    if (status == SF_OK)
        status = emit_own(join, side, batch, (sf_sel){alone_rows, alone}, err);
    sf_free(alone_rows);
    sf_free(was_live);
    return status;
}

static sf_status keep_own(join_op *join, uint32_t side, const sf_batch *batch, sf_error *err)
{
    sf_sel sel = {join->sel_rows, join->sel_count};
    bool needed = !left_only(join) || side == 0;
    if (needed) {
        const int64_t *weights = NULL;
        int64_t *picked = NULL;
        if (batch->weights) {
            picked = sf_alloc((sel.count + 1u) * sizeof *picked);
            if (!picked)
                return sf_fail_memory(err);
            for (uint32_t i = 0; i < sel.count; i++)
                picked[i] = sf_batch_weight(batch, sel.rows[i]);
            weights = picked;
        }
        sf_status status = sf_arr_add(join->rows[side], batch, join->stored[side], sel,
                                      join->hashes, weights, NULL, err);
        sf_free(picked);
        SF_TRY(status);
    }
    return join->counts ? count_keys(join, side, batch, err) : SF_OK;
}

/* All stored rows of the other side with a flipped key show or stop showing. */
static sf_step run_flips(join_op *join, uint32_t side, const sf_batch *batch, sf_error *err)
{
    const sf_arr *other = join->rows[!side];
    for (; join->at < join->flips.len; join->at++, join->chain = 0) {
        flip flipped = join->flips.data[join->at];
        int64_t sign = shows(join, flipped.lives ? 1 : 0) ? 1 : -1;
        sf_ref ref = join->chain;
        if (!ref) {
            uint64_t hash;
            sf_sel one = {&flipped.row, 1};
            sf_batch_hash(batch, join->stored[side], join->op.node->as.join.key_count, one, &hash);
            sf_arr_find(other, batch, join->stored[side], one, &hash, &ref);
        }
        for (; ref; ref = sf_arr_next(other, ref)) {
            if (join->pair_count == SF_BATCH_ROWS) {
                join->chain = ref;
                return emit_stored(join, !side, err) == SF_OK ? SF_STEP_MORE : SF_STEP_FAILED;
            }
            join->pair_refs[join->pair_count] = ref;
            join->pair_weights[join->pair_count++] = sign * sf_arr_weight(other, ref);
        }
    }
    return emit_stored(join, !side, err) == SF_OK ? SF_STEP_DONE : SF_STEP_FAILED;
}

/* Keys that no row of either side has any more. heads may name one several times: it is removed
 * once, and looked at only before. */
static void drop_dead_keys(join_op *join)
{
    uint32_t dead = 0;
    for (uint32_t i = 0; join->counts && i < join->sel_count; i++) {
        sf_ref ref = join->heads[i];
        key_counts *key = (key_counts *)(void *)sf_arr_extra(join->counts, ref);
        if (key->weight[0] != 0 || key->weight[1] != 0 || key->noted == UINT64_MAX)
            continue;
        key->noted = UINT64_MAX;
        join->heads[dead++] = ref;
    }
    for (uint32_t i = 0; i < dead; i++)
        sf_arr_remove(join->counts, join->heads[i]);
}

static sf_step join_push(sf_op *op, uint32_t side, const sf_batch *batch, sf_error *err)
{
    join_op *join = (join_op *)op;
    if (join->phase == PHASE_START && start_batch(join, side, batch, err) != SF_OK)
        return SF_STEP_FAILED;
    if (join->phase == PHASE_PAIRS) {
        sf_step step = left_only(join) ? SF_STEP_DONE : collect_pairs(join, side, batch, err);
        if (step != SF_STEP_DONE)
            return step;
        join->phase = PHASE_OWN;
    }
    if (join->phase == PHASE_OWN) {
        join->flips.len = 0;
        if (keep_own(join, side, batch, err) != SF_OK)
            return SF_STEP_FAILED;
        join->at = 0;
        join->chain = 0;
        join->phase = PHASE_FLIPS;
    }
    sf_step step = run_flips(join, side, batch, err);
    if (step != SF_STEP_DONE)
        return step;
    drop_dead_keys(join);
    join->phase = PHASE_START;
    return SF_STEP_DONE;
}

static void join_save(const sf_op *op, sf_buf *out)
{
    sf_buf_put_u64(out, (uint64_t)((const join_op *)op)->right_total);
    sf_buf_put_u64(out, ((const join_op *)op)->serial);
}

static sf_status join_load(sf_op *op, sf_reader *in, sf_error *err)
{
    SF_UNUSED(err);
    ((join_op *)op)->right_total = (int64_t)sf_read_u64(in);
    ((join_op *)op)->serial = sf_read_u64(in);
    return SF_OK;
}

const sf_op_type sf_op_join = {
    .size = sizeof(join_op),
    .open = join_open,
    .push = join_push,
    .close = join_close,
    .save = join_save,
    .load = join_load,
};

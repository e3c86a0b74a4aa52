/* TOP and OVER: rows of partitions in order.
 *
 * The operator keeps every live row of its input in one ordered index: partition, order, whole row.
 * The answer of a partition is a function of its rows alone, so nothing else is kept: before an epoch
 * touches a partition it notes the rows that answer now, and at the end of the epoch it walks the
 * partition again, computes both answers and emits their difference. A limit stops the walks early. */
#include "flow/changes.h"
#include "flow/over.h"

/* Extra bytes of a row. */
typedef struct {
    int64_t weight;
    uint64_t listed; /* 1: touched in this epoch */
} over_row;

/* Extra bytes of a partition. */
typedef struct {
    uint64_t stamp; /* epoch that touched it last */
} part_head;

typedef struct {
    sf_ref ref;
    uint32_t unused;
    int64_t count;
} over_entry;

typedef SF_VEC(over_entry) over_entries;

/* A partition that the epoch has touched. */
typedef struct {
    sf_ref like; /* one of its rows, dead or alive */
    sf_ref head;
    over_entries old;
} over_part;

typedef struct {
    sf_op op;
    sf_arr *rows, *parts;
    sf_order *order;
    uint32_t *columns; /* 0, 1, 2, ... */
    SF_VEC(over_part) touched;
    size_t next;
    SF_VEC(sf_ref) listed; /* rows touched in this epoch; they stay until its end */
    uint64_t *hashes, *part_hashes;
    sf_ref *refs, *part_refs;
    size_t caps[4];
} over_op;

enum { POSITIONS_MAX = 1 << 28 };

static const sf_over_spec *spec_of(const over_op *over)
{
    return &over->op.node->as.over;
}

static over_row *row_of(const over_op *over, sf_ref ref)
{
    return (over_row *)(void *)sf_arr_extra(over->rows, ref);
}

/* ---- life ---- */

/* Partition, order, then all other columns, each once. */
static sf_status open_order(over_op *over, sf_error *err)
{
    const sf_over_spec *spec = spec_of(over);
    uint32_t columns = sf_plan_at(over->op.circuit->plan, over->op.node->inputs[0])->schema->count;
    size_t room = (size_t)spec->key_count + spec->order_count + columns;
    sf_order_by *by = sf_calloc(room, sizeof *by);
    bool *seen = sf_calloc(columns, sizeof *seen);
    sf_status status = by && seen ? SF_OK : sf_fail_memory(err);
    uint32_t n = 0;
    for (uint32_t i = 0; status == SF_OK && i < spec->key_count; i++) {
        by[n++].column = spec->keys[i];
        seen[spec->keys[i]] = true;
    }
    for (uint32_t i = 0; status == SF_OK && i < spec->order_count; i++) {
        const sf_plan_order *order = &spec->order[i];
        by[n++] = (sf_order_by){.column = order->column,
                                .descending = order->descending,
                                .nulls_swapped = order->nulls_first == order->descending};
        seen[order->column] = true;
    }
    for (uint32_t i = 0; status == SF_OK && i < columns; i++)
        if (!seen[i])
            by[n++].column = i;
    if (status == SF_OK)
        status = sf_order_new(over->rows, by, n, &over->order, err);
    sf_free(by);
    sf_free(seen);
    return status;
}

static sf_status over_open(sf_op *op, sf_error *err)
{
    over_op *over = (over_op *)op;
    const sf_over_spec *spec = spec_of(over);
    const sf_schema *schema = sf_plan_at(op->circuit->plan, op->node->inputs[0])->schema;
    sf_type *types = sf_alloc(schema->count * sizeof *types);
    sf_type *part_types = sf_alloc((spec->key_count + 1u) * sizeof *part_types);
    over->columns = sf_alloc(schema->count * sizeof *over->columns);
    sf_status status = types && part_types && over->columns ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK) {
        for (uint32_t i = 0; i < schema->count; i++) {
            over->columns[i] = i;
            types[i] = schema->fields[i].type;
        }
        for (uint32_t i = 0; i < spec->key_count; i++)
            part_types[i] = types[spec->keys[i]];
        sf_arr_options rows = {.mode = SF_ARR_UNIQUE,
                               .types = types,
                               .column_count = schema->count,
                               .key_count = schema->count,
                               .extra_bytes = sizeof(over_row)};
        sf_arr_options parts = {.mode = SF_ARR_UNIQUE,
                                .types = part_types,
                                .column_count = spec->key_count,
                                .key_count = spec->key_count,
                                .extra_bytes = sizeof(part_head)};
        status = sf_op_arrangement(op, &rows, &over->rows, err);
        if (status == SF_OK)
            status = sf_op_arrangement(op, &parts, &over->parts, err);
        if (status == SF_OK)
            status = open_order(over, err);
    }
    sf_free(types);
    sf_free(part_types);
    return status;
}

static void clear_touched(over_op *over)
{
    for (size_t i = 0; i < over->touched.len; i++)
        SF_VEC_DEINIT(&over->touched.data[i].old);
    over->touched.len = 0;
    over->next = 0;
}

static void over_close(sf_op *op)
{
    over_op *over = (over_op *)op;
    clear_touched(over);
    sf_order_free(over->order);
    SF_VEC_DEINIT(&over->touched);
    SF_VEC_DEINIT(&over->listed);
    sf_free(over->columns);
    sf_free(over->hashes);
    sf_free(over->part_hashes);
    sf_free(over->refs);
    sf_free(over->part_refs);
}

/* ---- the rows that answer ---- */

static sf_status add_entry(const over_op *over, over_entries *out, sf_ref ref, int64_t count,
                           sf_error *err)
{
    bool single = spec_of(over)->call_count > 0; /* an answer a position */
    for (int64_t i = 0; i < (single ? count : 1); i++) {
        if (out->len >= POSITIONS_MAX) {
            sf_fail(err, SF_LIMIT, "a partition of %s has more than %d rows",
                    sf_node_kind_name(over->op.node->kind), POSITIONS_MAX);
            sf_error_hint(err, "partition by more columns, or filter before");
            return SF_LIMIT;
        }
        over_entry entry = {.ref = ref, .count = single ? 1 : count};
        if (!SF_VEC_PUSH(out, entry))
            return sf_fail_memory(err);
    }
    return SF_OK;
}

/* How many rows lie before the one in hand, and in which group of peers it is. */
typedef struct {
    uint64_t before, rank, dense;
    sf_ref last;
} over_walk;

/* How many of the row's copies are wanted; *past: no later row is. */
static int64_t wanted(const over_op *over, over_walk *walk, sf_ref ref, bool *past)
{
    const sf_over_spec *spec = spec_of(over);
    uint64_t weight = (uint64_t)row_of(over, ref)->weight, from = walk->before;
    uint64_t end =
        spec->limit > UINT64_MAX - spec->offset ? UINT64_MAX : spec->offset + spec->limit;
    walk->before += weight;
    if (spec->top == SF_TOP_ROWS) {
        uint64_t to = walk->before < end ? walk->before : end;
        *past = from >= end;
        if (from < spec->offset)
            from = spec->offset;
        return to > from ? (int64_t)(to - from) : 0;
    }
    uint32_t prefix = spec->key_count + spec->order_count;
    if (!walk->last || !sf_order_same(over->order, walk->last, ref, prefix)) {
        walk->rank = from + 1;
        walk->dense++;
    }
    walk->last = ref;
    *past = (spec->top == SF_TOP_RANK ? walk->rank : walk->dense) > spec->limit;
    return *past ? 0 : (int64_t)weight;
}

static sf_status walk_part(const over_op *over, sf_ref like, over_entries *out, sf_error *err)
{
    uint32_t keys = spec_of(over)->key_count;
    over_walk walk = {0};
    bool past = false;
    sf_ref ref = sf_order_first(over->order, like, keys);
    while (ref && !past && sf_order_same(over->order, ref, like, keys)) {
        int64_t count = wanted(over, &walk, ref, &past);
        SF_TRY(add_entry(over, out, ref, count, err));
        ref = sf_order_next(over->order, ref);
    }
    return SF_OK;
}

/* ---- rows come and go ---- */

/* Partitions that the epoch meets for the first time, with the rows that answer before it. */
static sf_status note_parts(over_op *over, uint32_t rows, sf_error *err)
{
    uint64_t epoch = over->op.circuit->epoch;
    for (uint32_t i = 0; i < rows; i++) {
        part_head *head = (part_head *)(void *)sf_arr_extra(over->parts, over->part_refs[i]);
        if (head->stamp == epoch)
            continue;
        head->stamp = epoch; /* upsert made it writable */
        over_part part = {.like = over->refs[i], .head = over->part_refs[i]};
        if (!SF_VEC_PUSH(&over->touched, part))
            return sf_fail_memory(err);
        SF_TRY(walk_part(over, part.like, &over->touched.data[over->touched.len - 1].old, err));
    }
    return SF_OK;
}

static sf_status count_row(over_op *over, sf_ref ref, int64_t weight, sf_error *err)
{
    over_row *row = row_of(over, ref); /* upsert made it writable */
    bool lived = row->weight > 0;
    row->weight += weight;
    bool lives = row->weight > 0;
    if (!row->listed) {
        row->listed = 1;
        if (!SF_VEC_PUSH(&over->listed, ref))
            return sf_fail_memory(err);
    }
    if (lives && !lived)
        return sf_order_insert(over->order, ref, err);
    if (lived && !lives)
        sf_order_remove(over->order, ref);
    return SF_OK;
}

static sf_status over_batch(over_op *over, const sf_batch *batch, sf_error *err)
{
    const sf_over_spec *spec = spec_of(over);
    uint32_t rows = batch->rows, count = batch->schema->count;
    sf_sel all = sf_sel_all(rows);
    if (!sf_scratch((void **)&over->hashes, &over->caps[0], rows, 8) ||
        !sf_scratch((void **)&over->part_hashes, &over->caps[1], rows, 8) ||
        !sf_scratch((void **)&over->refs, &over->caps[2], rows, sizeof(sf_ref)) ||
        !sf_scratch((void **)&over->part_refs, &over->caps[3], rows, sizeof(sf_ref)))
        return sf_fail_memory(err);
    sf_batch_hash(batch, over->columns, count, all, over->hashes);
    sf_batch_hash(batch, spec->keys, spec->key_count, all, over->part_hashes);
    SF_TRY(
        sf_arr_upsert(over->rows, batch, over->columns, all, over->hashes, over->refs, NULL, err));
    SF_TRY(sf_arr_upsert(over->parts, batch, spec->keys, all, over->part_hashes, over->part_refs,
                         NULL, err));
    SF_TRY(note_parts(over, rows, err));
    for (uint32_t i = 0; i < rows; i++)
        SF_TRY(count_row(over, over->refs[i], sf_batch_weight(batch, i), err));
    return SF_OK;
}

static sf_step over_push(sf_op *op, uint32_t port, const sf_batch *batch, sf_error *err)
{
    SF_UNUSED(port);
    return over_batch((over_op *)op, batch, err) == SF_OK ? SF_STEP_DONE : SF_STEP_FAILED;
}

/* ---- what changed ---- */

/* The two answers of a partition. */
typedef struct {
    over_entries *entries;
    sf_ref *refs;
    sf_over_results results;
} over_answer;

typedef struct {
    sf_ref ref;
    uint32_t position; /* in the answer it comes from */
    int64_t weight;
} over_change;

typedef SF_VEC(over_change) over_changes;

static sf_status evaluate(over_op *over, over_answer *answer, sf_error *err)
{
    size_t count = answer->entries->len;
    if (!spec_of(over)->call_count)
        return SF_OK;
    answer->refs = sf_alloc((count + 1) * sizeof *answer->refs);
    if (!answer->refs)
        return sf_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        answer->refs[i] = answer->entries->data[i].ref;
    sf_over_rows rows = {&over->op, over->rows, over->order, answer->refs, (uint32_t)count};
    return sf_over_evaluate(&rows, &answer->results, err);
}

static bool same_results(const over_answer *a, uint32_t at_a, const over_answer *b, uint32_t at_b)
{
    for (uint32_t i = 0; i < a->results.calls; i++)
        if (!sf_lane_equal(sf_over_result(&a->results, i, at_a), at_a % SF_OVER_CHUNK,
                           sf_over_result(&b->results, i, at_b), at_b % SF_OVER_CHUNK))
            return false;
    return true;
}

static bool push_change(over_changes *changes, sf_ref ref, uint32_t position, int64_t weight)
{
    over_change change = {ref, position, weight};
    return weight == 0 || SF_VEC_PUSH(changes, change);
}

/* Which of the next entries comes first: < 0 the old one, 0 both are of one row. */
static int which_first(const over_op *over, const over_entry *old, const over_entry *now)
{
    if (!old || !now)
        return old ? -1 : 1;
    return old->ref == now->ref ? 0 : sf_order_compare(over->order, old->ref, now->ref);
}

/* Both lists are in the one order of all rows. */
static sf_status compare(const over_op *over, const over_answer *old, const over_answer *now,
                         over_changes *gone, over_changes *fresh, sf_error *err)
{
    uint32_t i = 0, j = 0;
    uint32_t old_count = (uint32_t)old->entries->len, count = (uint32_t)now->entries->len;
    bool good = true;
    while (good && (i < old_count || j < count)) {
        const over_entry *a = i < old_count ? &old->entries->data[i] : NULL;
        const over_entry *b = j < count ? &now->entries->data[j] : NULL;
        int sign = which_first(over, a, b);
        int64_t less = a && sign <= 0 ? a->count : 0, more = b && sign >= 0 ? b->count : 0;
        if (a && b && sign == 0 && same_results(old, i, now, j)) {
            int64_t both = less < more ? less : more;
            less -= both;
            more -= both;
        }
        good = (!a || push_change(gone, a->ref, i, -less)) &&
               (!b || push_change(fresh, b->ref, j, more));
        i += sign <= 0;
        j += sign >= 0;
    }
    return good ? SF_OK : sf_fail_memory(err);
}

/* The column of results of one call for some changes. */
static sf_column *result_column(const over_answer *answer, uint32_t call, sf_type type,
                                const over_change *changes, uint32_t count)
{
    sf_builder builder;
    if (!sf_builder_init(&builder, type, count))
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = changes[i].position;
        sf_builder_copy(&builder, sf_over_result(&answer->results, call, at), at % SF_OVER_CHUNK);
    }
    sf_column *column = sf_builder_finish(&builder);
    sf_builder_deinit(&builder);
    return column;
}

static sf_status emit_some(over_op *over, const over_answer *answer, const over_change *changes,
                           uint32_t count, sf_error *err)
{
    const sf_schema *schema = over->op.schema;
    uint32_t calls = answer->results.calls, own = schema->count - calls;
    sf_ref refs[SF_BATCH_ROWS];
    sf_column *columns[SF_COLUMNS_MAX];
    sf_column *weights = sf_column_new(SF_TYPE_I64, count, false);
    int64_t *lanes = weights ? sf_column_lanes(weights) : NULL;
    bool whole = weights != NULL;
    for (uint32_t i = 0; i < count; i++) {
        refs[i] = changes[i].ref;
        if (lanes)
            lanes[i] = changes[i].weight;
    }
    for (uint32_t c = 0; c < schema->count; c++) {
        bool result = c + 1 >= own && c + 1 < schema->count;
        uint32_t stored = c + 1 < own ? c : own - 1;
        columns[c] =
            result ? result_column(answer, c + 1 - own, schema->fields[c].type, changes, count)
                   : sf_arr_gather(over->rows, stored, refs, count);
        whole = whole && columns[c];
    }
    if (whole)
        return sf_op_emit(&over->op, sf_batch_new(schema, count, columns, weights, NULL), err);
    for (uint32_t c = 0; c < schema->count; c++)
        sf_column_unref(columns[c]);
    sf_column_unref(weights);
    return sf_fail_memory(err);
}

static sf_status emit(over_op *over, const over_answer *answer, const over_changes *changes,
                      sf_error *err)
{
    for (size_t at = 0; at < changes->len; at += SF_BATCH_ROWS) {
        size_t left = changes->len - at;
        uint32_t count = left < SF_BATCH_ROWS ? (uint32_t)left : SF_BATCH_ROWS;
        SF_TRY(emit_some(over, answer, changes->data + at, count, err));
    }
    return SF_OK;
}

/* Where nothing is ever taken back, rows behind the limit never come before it again: they go. */
static sf_status drop_rest(over_op *over, sf_ref like, sf_error *err)
{
    const sf_op *op = &over->op;
    uint32_t keys = spec_of(over)->key_count;
    if (spec_of(over)->limit == SF_TOP_ALL ||
        !sf_plan_at(op->circuit->plan, op->node->inputs[0])->append_only)
        return SF_OK;
    over_walk walk = {0};
    bool past = false;
    sf_ref ref = sf_order_first(over->order, like, keys);
    while (ref && sf_order_same(over->order, ref, like, keys)) {
        sf_ref next = sf_order_next(over->order, ref);
        if (!past)
            wanted(over, &walk, ref, &past);
        if (past) {
            sf_order_remove(over->order, ref);
            over_row *row = (over_row *)(void *)sf_arr_extra_mut(over->rows, ref);
            if (!row)
                return sf_fail_memory(err);
            row->weight = 0;
            if (!row->listed) /* others leave at the end of the epoch */
                sf_arr_remove(over->rows, ref);
        }
        ref = next;
    }
    return SF_OK;
}

static sf_status flush_part(over_op *over, over_part *part, sf_error *err)
{
    over_entries entries = {0};
    over_answer old = {.entries = &part->old}, now = {.entries = &entries};
    over_changes gone = {0}, fresh = {0};
    sf_status status = walk_part(over, part->like, &entries, err);
    if (status == SF_OK)
        status = evaluate(over, &old, err);
    if (status == SF_OK)
        status = evaluate(over, &now, err);
    if (status == SF_OK)
        status = compare(over, &old, &now, &gone, &fresh, err);
    if (status == SF_OK)
        status = emit(over, &old, &gone, err);
    if (status == SF_OK)
        status = emit(over, &now, &fresh, err);
    if (status == SF_OK)
        status = drop_rest(over, part->like, err);
    if (status == SF_OK && !sf_order_first(over->order, part->like, spec_of(over)->key_count))
        sf_arr_remove(over->parts, part->head);
    sf_over_results_free(&old.results);
    sf_over_results_free(&now.results);
    sf_free(old.refs);
    sf_free(now.refs);
    SF_VEC_DEINIT(&entries);
    SF_VEC_DEINIT(&gone);
    SF_VEC_DEINIT(&fresh);
    return status;
}

/* Rows that are gone leave, now that nothing names them any more. */
static void forget_rows(over_op *over)
{
    for (size_t i = 0; i < over->listed.len; i++) {
        over_row *row = row_of(over, over->listed.data[i]);
        row->listed = 0;
        if (row->weight == 0)
            sf_arr_remove(over->rows, over->listed.data[i]);
    }
    over->listed.len = 0;
}

static sf_step over_flush(sf_op *op, sf_error *err)
{
    over_op *over = (over_op *)op;
    while (over->next < over->touched.len) {
        if (flush_part(over, &over->touched.data[over->next], err) != SF_OK)
            return SF_STEP_FAILED;
        over->next++;
        if (op->circuit->budget_rows == 0)
            return SF_STEP_MORE;
    }
    clear_touched(over);
    forget_rows(over);
    return SF_STEP_DONE;
}

/* The order holds the rows that live. */
static sf_status over_load(sf_op *op, sf_reader *in, sf_error *err)
{
    SF_UNUSED(in);
    over_op *over = (over_op *)op;
    SF_TRY(sf_order_rebuild(over->order, err));
    sf_ref ref = 0;
    while (sf_arr_scan(over->rows, ref, &ref, 1) == 1)
        if (row_of(over, ref)->weight <= 0)
            sf_order_remove(over->order, ref);
    return SF_OK;
}

const sf_op_type sf_op_over = {
    .size = sizeof(over_op),
    .open = over_open,
    .push = over_push,
    .flush = over_flush,
    .close = over_close,
    .load = over_load,
};

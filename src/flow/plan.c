/* Building plans: every builder checks its arguments, computes the output schema and adds a node.
 */
#include "flow/plan_node.h"

enum { PLAN_ARENA_BYTES = 16 << 20, PLAN_NODES_MAX = 4096 };

sf_plan *sf_plan_new(sf_plan_kind kind)
{
    sf_plan *plan = sf_calloc(1, sizeof *plan);
    if (!plan)
        return NULL;
    plan->kind = kind;
    sf_arena_init(&plan->arena, PLAN_ARENA_BYTES);
    return plan;
}

void sf_plan_free(sf_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->nodes.len; i++)
        sf_schema_unref(plan->nodes.data[i]->schema);
    for (size_t i = 0; i < plan->inputs.len; i++)
        sf_schema_unref(plan->inputs.data[i].schema);
    SF_VEC_DEINIT(&plan->nodes);
    SF_VEC_DEINIT(&plan->inputs);
    SF_VEC_DEINIT(&plan->key_columns);
    SF_VEC_DEINIT(&plan->warnings);
    sf_arena_deinit(&plan->arena);
    sf_free(plan);
}

sf_plan_node *sf_plan_add_node(sf_plan *plan, sf_node_kind kind, const uint32_t *inputs,
                               uint32_t input_count, sf_schema *schema, sf_error *err)
{
    sf_plan_node *node = NULL;
    if (plan->nodes.len >= PLAN_NODES_MAX) {
        sf_fail(err, SF_LIMIT, "the query needs more than %d operators", PLAN_NODES_MAX);
        sf_error_hint(err, "split it into tables that read tables");
    } else {
        node = schema ? SF_ARENA_NEW(&plan->arena, sf_plan_node) : NULL;
        uint32_t *copy = SF_ARENA_ARRAY(&plan->arena, uint32_t, input_count + 1u);
        if (!node || !copy || !SF_VEC_PUSH(&plan->nodes, node)) {
            node = NULL;
            sf_fail_memory(err);
        } else {
            for (uint32_t i = 0; i < input_count; i++)
                copy[i] = inputs[i];
            node->inputs = copy;
        }
    }
    if (!node) {
        sf_schema_unref(schema);
        return NULL;
    }
    node->kind = kind;
    node->id = (uint32_t)plan->nodes.len - 1;
    node->input_count = input_count;
    node->schema = schema;
    return node;
}

/* The status of a builder whose node could not be added. */
static sf_status failed(const sf_error *err)
{
    return err && err->status != SF_OK ? err->status : SF_LIMIT;
}

uint32_t *sf_plan_copy_numbers(sf_plan *plan, const uint32_t *numbers, uint32_t count)
{
    uint32_t *copy = SF_ARENA_ARRAY(&plan->arena, uint32_t, count + 1u);
    for (uint32_t i = 0; copy && i < count; i++)
        copy[i] = numbers[i];
    return copy;
}

static const sf_field field_ts = {SF_COL_TS, SF_TYPE_I64, true};
static const sf_field field_retract = {SF_COL_RETRACT, SF_TYPE_BOOL, true};

/* fields (room for two more) plus the hidden columns of an input of this kind. */
static sf_schema *scan_schema(const sf_schema *given, sf_input_kind kind)
{
    sf_field *fields = sf_alloc((given->count + 2u) * sizeof *fields);
    if (!fields)
        return NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < given->count; i++) {
        bool reserved = given->fields[i].hidden;
        if (!reserved)
            fields[count++] = given->fields[i];
    }
    if (kind == SF_INPUT_SOURCE)
        fields[count++] = field_retract;
    fields[count++] = field_ts;
    sf_schema *schema = sf_schema_new(fields, count);
    sf_free(fields);
    return schema;
}

sf_status sf_plan_scan(sf_plan *plan, const char *name, sf_input_kind kind, const sf_schema *schema,
                       bool append_only, uint32_t *out, sf_error *err)
{
    for (size_t i = 0; i < plan->nodes.len; i++) {
        const sf_plan_node *old = plan->nodes.data[i];
        if (old->kind == SF_NODE_SCAN &&
            strcmp(plan->inputs.data[old->as.scan.input].name, name) == 0) {
            *out = (uint32_t)i;
            return SF_OK;
        }
    }
    sf_schema *whole = scan_schema(schema, kind);
    char *copy = sf_arena_strndup(&plan->arena, name, strlen(name));
    sf_plan_input input = {copy, kind, sf_schema_ref(whole), append_only};
    if (!whole || !copy || !SF_VEC_PUSH(&plan->inputs, input)) {
        sf_schema_unref(whole);
        sf_schema_unref(whole);
        return sf_fail_memory(err);
    }
    sf_plan_node *node = sf_plan_add_node(plan, SF_NODE_SCAN, NULL, 0, whole, err);
    if (!node)
        return failed(err);
    node->as.scan.input = (uint32_t)plan->inputs.len - 1;
    node->append_only = append_only;
    node->keeps_ts = true;
    *out = node->id;
    return SF_OK;
}

sf_status sf_plan_filter(sf_plan *plan, uint32_t input, const sf_expr *predicate, uint32_t *out,
                         sf_error *err)
{
    const sf_plan_node *below = sf_plan_at(plan, input);
    SF_ASSERT(predicate->type == SF_TYPE_BOOL);
    sf_plan_node *node =
        sf_plan_add_node(plan, SF_NODE_MAP, &input, 1, sf_schema_ref(below->schema), err);
    if (!node)
        return failed(err);
    node->as.map.predicate = predicate;
    node->append_only = below->append_only;
    node->keeps_ts = below->keeps_ts;
    *out = node->id;
    return SF_OK;
}

sf_status sf_plan_temporal(sf_plan *plan, uint32_t input, const sf_expr *bound, bool until,
                           uint32_t *out, sf_error *err)
{
    const sf_plan_node *below = sf_plan_at(plan, input);
    SF_ASSERT(bound->type == SF_TYPE_I64);
    sf_plan_node *node =
        sf_plan_add_node(plan, SF_NODE_TEMPORAL, &input, 1, sf_schema_ref(below->schema), err);
    if (!node)
        return failed(err);
    node->as.temporal.bound = bound;
    node->as.temporal.until = until;
    node->append_only = below->append_only && !until;
    node->keeps_ts = below->keeps_ts;
    *out = node->id;
    return SF_OK;
}

sf_status sf_plan_map(sf_plan *plan, uint32_t input, const sf_expr *predicate,
                      const sf_expr *const *exprs, const sf_field *fields, uint32_t count,
                      uint32_t *out, sf_error *err)
{
    const sf_plan_node *below = sf_plan_at(plan, input);
    uint32_t ts = below->schema->count - 1;
    sf_field *all = sf_alloc((count + 1u) * sizeof *all);
    const sf_expr **copy = SF_ARENA_ARRAY(&plan->arena, const sf_expr *, count + 1u);
    if (!all || !copy) {
        sf_free(all);
        return sf_fail_memory(err);
    }
    for (uint32_t i = 0; i < count; i++) {
        all[i] = fields[i];
        all[i].type = exprs[i]->type;
        copy[i] = exprs[i];
    }
    all[count] = field_ts;
    sf_schema *schema = sf_schema_new(all, count + 1);
    sf_free(all);
    sf_status status =
        sf_expr_column(&plan->arena, ts, SF_TYPE_I64, (sf_span){0, 0}, &copy[count], err);
    if (status != SF_OK) {
        sf_schema_unref(schema);
        return status;
    }
    sf_plan_node *node = sf_plan_add_node(plan, SF_NODE_MAP, &input, 1, schema, err);
    if (!node)
        return failed(err);
    node->as.map.predicate = predicate;
    node->as.map.exprs = copy;
    node->append_only = below->append_only;
    node->keeps_ts = below->keeps_ts;
    *out = node->id;
    return SF_OK;
}

sf_status sf_plan_unnest(sf_plan *plan, uint32_t input, const sf_expr *array, const char *name,
                         const char *number, uint32_t *out, sf_error *err)
{
    const sf_plan_node *below = sf_plan_at(plan, input);
    SF_ASSERT(array->type == SF_TYPE_JSON);
    uint32_t count = below->schema->count - 1;
    sf_field *fields = sf_alloc((count + 3u) * sizeof *fields);
    if (!fields)
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < count; i++)
        fields[i] = below->schema->fields[i];
    fields[count++] = (sf_field){name, SF_TYPE_JSON, false};
    if (number)
        fields[count++] = (sf_field){number, SF_TYPE_I64, false};
    fields[count++] = field_ts;
    sf_schema *schema = sf_schema_new(fields, count);
    sf_free(fields);
    sf_plan_node *node = sf_plan_add_node(plan, SF_NODE_UNNEST, &input, 1, schema, err);
    if (!node)
        return failed(err);
    node->as.unnest.array = array;
    node->as.unnest.ordinality = number != NULL;
    node->append_only = below->append_only;
    node->keeps_ts = below->keeps_ts;
    *out = node->id;
    return SF_OK;
}

sf_schema *sf_plan_join_schema(const sf_schema *left, const sf_schema *right)
{
    uint32_t count = left->count + right->count;
    sf_field *fields = sf_alloc((count + 1u) * sizeof *fields);
    if (!fields)
        return NULL;
    memcpy(fields, left->fields, left->count * sizeof *fields);
    memcpy(fields + left->count, right->fields, right->count * sizeof *fields);
    fields[count] = field_ts;
    sf_schema *schema = sf_schema_new(fields, count + 1);
    sf_free(fields);
    return schema;
}

bool sf_plan_window_of(const sf_plan *plan, uint32_t node, int64_t *size_ms, int64_t *advance_ms)
{
    const sf_plan_node *at = sf_plan_at(plan, node);
    while (at->kind == SF_NODE_MAP || at->kind == SF_NODE_UNNEST)
        at = sf_plan_at(plan, at->inputs[0]);
    if (at->kind != SF_NODE_WINDOW || at->as.window.kind == SF_WINDOW_SESSION ||
        at->as.window.emit_changes)
        return false;
    *size_ms = at->as.window.size_ms;
    *advance_ms = at->as.window.advance_ms;
    return true;
}

static sf_status join_node(sf_plan *plan, const sf_join_spec *spec, uint32_t *out, sf_error *err)
{
    const sf_plan_node *left = sf_plan_at(plan, spec->left), *right = sf_plan_at(plan, spec->right);
    for (uint32_t i = 0; i < spec->key_count; i++)
        SF_ASSERT(left->schema->fields[spec->left_keys[i]].type ==
                  right->schema->fields[spec->right_keys[i]].type);
    bool left_only =
        spec->kind == SF_JOIN_SEMI || spec->kind == SF_JOIN_ANTI || spec->kind == SF_JOIN_NOT_IN;
    sf_schema *schema =
        left_only ? sf_schema_ref(left->schema) : sf_plan_join_schema(left->schema, right->schema);
    uint32_t inputs[2] = {spec->left, spec->right};
    sf_node_kind kind = spec->snapshot         ? SF_NODE_SNAPSHOT_JOIN
                        : spec->within_ms >= 0 ? SF_NODE_INTERVAL_JOIN
                                               : SF_NODE_JOIN;
    sf_plan_node *node = sf_plan_add_node(plan, kind, inputs, 2, schema, err);
    if (!node)
        return failed(err);
    node->as.join.kind = spec->kind;
    node->as.join.left_keys = sf_plan_copy_numbers(plan, spec->left_keys, spec->key_count);
    node->as.join.right_keys = sf_plan_copy_numbers(plan, spec->right_keys, spec->key_count);
    node->as.join.key_count = spec->key_count;
    node->as.join.residual = spec->residual;
    node->as.join.within_ms = spec->within_ms;
    node->as.join.nulls_match = spec->nulls_match;
    if (!node->as.join.left_keys || !node->as.join.right_keys)
        return sf_fail_memory(err);
    if (spec->snapshot &&
        !sf_plan_window_of(plan, spec->right, &node->as.join.window_ms, &node->as.join.advance_ms))
        return sf_fail(err, SF_UNSUPPORTED, "a snapshot is of tumbling or hopping windows");
    bool monotone =
        kind != SF_NODE_JOIN || spec->kind == SF_JOIN_INNER || spec->kind == SF_JOIN_SEMI;
    node->append_only = monotone && left->append_only && right->append_only;
    node->keeps_ts = left_only && left->keeps_ts;
    *out = node->id;
    return SF_OK;
}

/* ---- relational joins with a residual condition ---- */

/* Distinct rows of one side among the rows of an inner join, then that side's rows that are (SEMI)
 * or are not (ANTI) among them. */
static sf_status rows_by_match(sf_plan *plan, uint32_t side, uint32_t inner, uint32_t first_column,
                               sf_join_kind kind, uint32_t *out, sf_error *err)
{
    uint32_t count = sf_plan_at(plan, side)->schema->count, matched = 0;
    uint32_t *in_inner = SF_ARENA_ARRAY(&plan->arena, uint32_t, count);
    uint32_t *own = SF_ARENA_ARRAY(&plan->arena, uint32_t, count);
    if (!in_inner || !own)
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < count; i++) {
        in_inner[i] = first_column + i;
        own[i] = i;
    }
    SF_TRY(sf_plan_reduce(plan, inner, in_inner, count, NULL, NULL, 0, &matched, err));
    sf_join_spec spec = {.kind = kind,
                         .left = side,
                         .right = matched,
                         .left_keys = own,
                         .right_keys = own,
                         .key_count = count,
                         .within_ms = -1,
                         .nulls_match = true};
    return join_node(plan, &spec, out, err);
}

/* Unmatched rows of one side with NULLs in the columns of the other. */
static sf_status pad_rows(sf_plan *plan, uint32_t rows, const sf_schema *joined,
                          uint32_t first_column, uint32_t *out, sf_error *err)
{
    uint32_t own = sf_plan_at(plan, rows)->schema->count, count = joined->count - 1;
    const sf_expr **exprs = SF_ARENA_ARRAY(&plan->arena, const sf_expr *, count);
    if (!exprs)
        return sf_fail_memory(err);
    sf_literal null = {.is_null = true};
    for (uint32_t i = 0; i < count; i++) {
        bool mine = i >= first_column && i < first_column + own;
        sf_type type = joined->fields[i].type;
        SF_TRY(mine ? sf_expr_column(&plan->arena, i - first_column, type, (sf_span){0, 0},
                                     &exprs[i], err)
                    : sf_expr_literal(&plan->arena, type, &null, (sf_span){0, 0}, &exprs[i], err));
    }
    return sf_plan_map(plan, rows, NULL, exprs, joined->fields, count, out, err);
}

static sf_status join_with_residual(sf_plan *plan, const sf_join_spec *spec, uint32_t *out,
                                    sf_error *err)
{
    sf_join_spec inner_spec = *spec;
    inner_spec.kind = SF_JOIN_INNER;
    uint32_t inner, parts[3], count = 0, unmatched;
    SF_TRY(join_node(plan, &inner_spec, &inner, err));
    if (spec->kind == SF_JOIN_SEMI || spec->kind == SF_JOIN_ANTI)
        return rows_by_match(plan, spec->left, inner, 0, spec->kind, out, err);
    const sf_schema *joined = sf_plan_at(plan, inner)->schema;
    uint32_t left_columns = sf_plan_at(plan, spec->left)->schema->count;
    parts[count++] = inner;
    if (spec->kind != SF_JOIN_RIGHT) {
        SF_TRY(rows_by_match(plan, spec->left, inner, 0, SF_JOIN_ANTI, &unmatched, err));
        SF_TRY(pad_rows(plan, unmatched, joined, 0, &parts[count++], err));
    }
    if (spec->kind != SF_JOIN_LEFT) {
        SF_TRY(
            rows_by_match(plan, spec->right, inner, left_columns, SF_JOIN_ANTI, &unmatched, err));
        SF_TRY(pad_rows(plan, unmatched, joined, left_columns, &parts[count++], err));
    }
    return sf_plan_union(plan, parts, count, out, err);
}

sf_status sf_plan_join(sf_plan *plan, const sf_join_spec *spec, uint32_t *out, sf_error *err)
{
    if (spec->residual && spec->kind != SF_JOIN_INNER && spec->within_ms < 0 && !spec->snapshot) {
        SF_ASSERT(spec->kind != SF_JOIN_NOT_IN);
        return join_with_residual(plan, spec, out, err);
    }
    return join_node(plan, spec, out, err);
}

/* Keys, aggregates, then `extra` fields. */
static sf_schema *grouped_schema(const sf_schema *input, const uint32_t *keys, uint32_t key_count,
                                 const sf_agg_call *aggs, const char *const *names,
                                 uint32_t agg_count, const sf_field *extra, uint32_t extra_count)
{
    uint32_t count = key_count + agg_count + extra_count;
    sf_field *fields = sf_alloc(count * sizeof *fields);
    if (!fields)
        return NULL;
    for (uint32_t i = 0; i < key_count; i++)
        fields[i] = input->fields[keys[i]];
    for (uint32_t i = 0; i < agg_count; i++)
        fields[key_count + i] = (sf_field){names[i], aggs[i].aggregate->result_type, false};
    for (uint32_t i = 0; i < extra_count; i++)
        fields[key_count + agg_count + i] = extra[i];
    sf_schema *schema = sf_schema_new(fields, count);
    sf_free(fields);
    return schema;
}

static sf_agg_call *copy_aggs(sf_plan *plan, const sf_agg_call *aggs, uint32_t count)
{
    sf_agg_call *copy = SF_ARENA_ARRAY(&plan->arena, sf_agg_call, count + 1u);
    for (uint32_t i = 0; copy && i < count; i++)
        copy[i] = aggs[i];
    return copy;
}

sf_status sf_plan_reduce(sf_plan *plan, uint32_t input, const uint32_t *keys, uint32_t key_count,
                         const sf_agg_call *aggs, const char *const *agg_names, uint32_t agg_count,
                         uint32_t *out, sf_error *err)
{
    const sf_plan_node *below = sf_plan_at(plan, input);
    sf_schema *schema =
        grouped_schema(below->schema, keys, key_count, aggs, agg_names, agg_count, &field_ts, 1);
    sf_plan_node *node = sf_plan_add_node(plan, SF_NODE_REDUCE, &input, 1, schema, err);
    if (!node)
        return failed(err);
    node->as.reduce.keys = sf_plan_copy_numbers(plan, keys, key_count);
    node->as.reduce.key_count = key_count;
    node->as.reduce.aggs = copy_aggs(plan, aggs, agg_count);
    node->as.reduce.agg_count = agg_count;
    if (!node->as.reduce.keys || !node->as.reduce.aggs)
        return sf_fail_memory(err);
    node->append_only = agg_count == 0 && below->append_only;
    *out = node->id;
    return SF_OK;
}

sf_status sf_plan_latest(sf_plan *plan, uint32_t input, const uint32_t *keys, uint32_t key_count,
                         bool over_source, uint32_t *out, sf_error *err)
{
    const sf_plan_node *below = sf_plan_at(plan, input);
    int retract = sf_schema_find(below->schema, SF_STR(SF_COL_RETRACT));
    SF_ASSERT(!over_source || retract >= 0);
    sf_plan_node *node =
        sf_plan_add_node(plan, SF_NODE_LATEST, &input, 1, sf_schema_ref(below->schema), err);
    if (!node)
        return failed(err);
    node->as.latest.keys = sf_plan_copy_numbers(plan, keys, key_count);
    node->as.latest.key_count = key_count;
    node->as.latest.retract_column = over_source ? retract : -1;
    if (!node->as.latest.keys)
        return sf_fail_memory(err);
    node->keeps_ts = below->keeps_ts;
    *out = node->id;
    return SF_OK;
}

sf_status sf_plan_window(sf_plan *plan, uint32_t input, const sf_window_spec *spec, uint32_t *out,
                         sf_error *err)
{
    const sf_plan_node *below = sf_plan_at(plan, input);
    SF_ASSERT(spec->kind == SF_WINDOW_SESSION ? spec->gap_ms > 0 : spec->size_ms > 0);
    SF_ASSERT(spec->kind != SF_WINDOW_HOPPING || spec->advance_ms > 0);
    sf_field extra[4] = {{"window_start", SF_TYPE_TIMESTAMP, false},
                         {"window_end", SF_TYPE_TIMESTAMP, false}};
    uint32_t extra_count = 2;
    if (spec->emit_changes)
        extra[extra_count++] = (sf_field){"_final", SF_TYPE_BOOL, false};
    extra[extra_count++] = field_ts;
    sf_schema *schema = grouped_schema(below->schema, spec->keys, spec->key_count, spec->aggs,
                                       spec->agg_names, spec->agg_count, extra, extra_count);
    sf_plan_node *node = sf_plan_add_node(plan, SF_NODE_WINDOW, &input, 1, schema, err);
    if (!node)
        return failed(err);
    node->as.window.kind = spec->kind;
    node->as.window.size_ms = spec->size_ms;
    node->as.window.advance_ms =
        spec->kind == SF_WINDOW_TUMBLING ? spec->size_ms : spec->advance_ms;
    node->as.window.gap_ms = spec->gap_ms;
    node->as.window.keys = sf_plan_copy_numbers(plan, spec->keys, spec->key_count);
    node->as.window.key_count = spec->key_count;
    node->as.window.aggs = copy_aggs(plan, spec->aggs, spec->agg_count);
    node->as.window.agg_count = spec->agg_count;
    node->as.window.emit_changes = spec->emit_changes;
    if (!node->as.window.keys || !node->as.window.aggs)
        return sf_fail_memory(err);
    node->append_only = true;
    *out = node->id;
    return SF_OK;
}

sf_status sf_plan_union(sf_plan *plan, const uint32_t *inputs, uint32_t input_count, uint32_t *out,
                        sf_error *err)
{
    SF_ASSERT(input_count > 0);
    const sf_plan_node *first = sf_plan_at(plan, inputs[0]);
    bool append_only = true, keeps_ts = true;
    for (uint32_t i = 0; i < input_count; i++) {
        const sf_plan_node *branch = sf_plan_at(plan, inputs[i]);
        SF_ASSERT(branch->schema->count == first->schema->count);
        for (uint32_t c = 0; c < first->schema->count; c++)
            SF_ASSERT(branch->schema->fields[c].type == first->schema->fields[c].type);
        append_only = append_only && branch->append_only;
        keeps_ts = keeps_ts && branch->keeps_ts;
    }
    sf_plan_node *node = sf_plan_add_node(plan, SF_NODE_UNION, inputs, input_count,
                                          sf_schema_ref(first->schema), err);
    if (!node)
        return failed(err);
    node->append_only = append_only;
    node->keeps_ts = keeps_ts;
    *out = node->id;
    return SF_OK;
}

sf_status sf_plan_repeat(sf_plan *plan, uint32_t input, uint32_t *out, sf_error *err)
{
    const sf_plan_node *below = sf_plan_at(plan, input);
    uint32_t count = below->schema->count - 1;
    SF_ASSERT(count > 1 && below->schema->fields[count - 1].type == SF_TYPE_I64);
    sf_field *fields = sf_alloc(count * sizeof *fields);
    if (!fields)
        return sf_fail_memory(err);
    memcpy(fields, below->schema->fields, count * sizeof *fields);
    fields[count - 1] = field_ts;
    sf_schema *schema = sf_schema_new(fields, count);
    sf_free(fields);
    sf_plan_node *node = sf_plan_add_node(plan, SF_NODE_REPEAT, &input, 1, schema, err);
    if (!node)
        return failed(err);
    node->append_only = below->append_only;
    *out = node->id;
    return SF_OK;
}

sf_status sf_plan_one(sf_plan *plan, uint32_t *out, sf_error *err)
{
    for (size_t i = 0; i < plan->nodes.len; i++) {
        *out = (uint32_t)i;
        if (plan->nodes.data[i]->kind == SF_NODE_ONE)
            return SF_OK;
    }
    sf_plan_node *node =
        sf_plan_add_node(plan, SF_NODE_ONE, NULL, 0, sf_schema_new(&field_ts, 1), err);
    if (!node)
        return failed(err);
    node->append_only = true;
    *out = node->id;
    return SF_OK;
}

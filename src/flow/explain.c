/* Plans as text. */
#include "flow/plan_node.h"

const char *sf_node_kind_name(sf_node_kind kind)
{
    static const char *const names[SF_NODE_KIND_COUNT] = {
        [SF_NODE_SCAN] = "Scan",
        [SF_NODE_MAP] = "FilterProject",
        [SF_NODE_UNNEST] = "Unnest",
        [SF_NODE_JOIN] = "Join",
        [SF_NODE_REDUCE] = "Reduce",
        [SF_NODE_INTERVAL_JOIN] = "IntervalJoin",
        [SF_NODE_LATEST] = "LatestBy",
        [SF_NODE_WINDOW] = "Window",
        [SF_NODE_TEMPORAL] = "TemporalFilter",
        [SF_NODE_UNION] = "UnionAll",
        [SF_NODE_SNAPSHOT_JOIN] = "SnapshotJoin",
        [SF_NODE_TOP] = "Top",
        [SF_NODE_OVER] = "Over",
        [SF_NODE_ASOF] = "AsofJoin",
        [SF_NODE_REPEAT] = "Repeat",
        [SF_NODE_ONE] = "OneRow",
    };
    SF_ASSERT(kind < SF_NODE_KIND_COUNT);
    return names[kind];
}

static void print_columns(const sf_schema *schema, const uint32_t *columns, uint32_t count,
                          sf_buf *out)
{
    for (uint32_t i = 0; i < count; i++)
        sf_buf_printf(out, "%s%s", i ? ", " : "", schema->fields[columns[i]].name);
}

/* The value, then what the values are ordered by besides. */
static void print_agg_columns(const sf_agg_call *call, const sf_schema *schema, sf_buf *out)
{
    bool any = false;
    sf_expr_print(call->columns[call->value].expr, schema, out);
    for (uint32_t i = 0; i < call->column_count; i++) {
        if (i == call->value && !call->columns[i].descending)
            continue;
        sf_buf_puts(out, any ? ", " : " ORDER BY ");
        sf_expr_print(call->columns[i].expr, schema, out);
        sf_buf_puts(out, call->columns[i].descending ? " DESC" : "");
        any = true;
    }
}

static void print_aggs(const sf_agg_call *aggs, uint32_t count, const sf_schema *schema,
                       sf_buf *out)
{
    for (uint32_t i = 0; i < count; i++) {
        sf_buf_printf(out, "%s%s(%s", i ? ", " : "", aggs[i].aggregate->name,
                      aggs[i].distinct ? "DISTINCT " : "");
        if (aggs[i].column_count)
            print_agg_columns(&aggs[i], schema, out);
        else
            sf_buf_putc(out, '*');
        sf_buf_putc(out, ')');
        if (aggs[i].filter) {
            sf_buf_puts(out, " FILTER (WHERE ");
            sf_expr_print(aggs[i].filter, schema, out);
            sf_buf_putc(out, ')');
        }
    }
}

static void print_map(const sf_plan_node *node, const sf_schema *input, sf_buf *out)
{
    if (node->as.map.predicate) {
        sf_buf_puts(out, " where ");
        sf_expr_print(node->as.map.predicate, input, out);
    }
    if (!node->as.map.exprs)
        return;
    sf_buf_puts(out, " -> ");
    for (uint32_t i = 0; i + 1 < node->schema->count; i++) {
        sf_buf_printf(out, "%s", i ? ", " : "");
        sf_expr_print(node->as.map.exprs[i], input, out);
        sf_buf_printf(out, " AS %s", node->schema->fields[i].name);
    }
}

static void print_join(const sf_plan *plan, const sf_plan_node *node, sf_buf *out)
{
    static const char *const kinds[] = {"inner", "left", "right", "full", "semi", "anti", "not in"};
    const sf_schema *left = sf_plan_at(plan, node->inputs[0])->schema;
    const sf_schema *right = sf_plan_at(plan, node->inputs[1])->schema;
    sf_buf_printf(out, " %s", kinds[node->as.join.kind]);
    for (uint32_t i = 0; i < node->as.join.key_count; i++)
        sf_buf_printf(out, "%s %s = %s", i ? " and" : " on",
                      left->fields[node->as.join.left_keys[i]].name,
                      right->fields[node->as.join.right_keys[i]].name);
    if (node->kind == SF_NODE_INTERVAL_JOIN)
        sf_buf_printf(out, " within %lld ms", (long long)node->as.join.within_ms);
    if (node->kind == SF_NODE_SNAPSHOT_JOIN)
        sf_buf_puts(out, " in the last closed window");
    if (node->as.join.nulls_match)
        sf_buf_puts(out, " nulls equal");
    sf_schema *both = node->as.join.residual ? sf_plan_join_schema(left, right) : NULL;
    if (both) {
        sf_buf_puts(out, " with ");
        sf_expr_print(node->as.join.residual, both, out);
    } else if (node->as.join.residual) {
        out->failed = true;
    }
    sf_schema_unref(both);
}

static void print_window(const sf_plan_node *node, const sf_schema *input, sf_buf *out)
{
    switch (node->as.window.kind) {
    case SF_WINDOW_TUMBLING:
        sf_buf_printf(out, " tumbling %lld ms", (long long)node->as.window.size_ms);
        break;
    case SF_WINDOW_HOPPING:
        sf_buf_printf(out, " hopping %lld ms by %lld ms", (long long)node->as.window.size_ms,
                      (long long)node->as.window.advance_ms);
        break;
    case SF_WINDOW_SESSION:
        sf_buf_printf(out, " session gap %lld ms", (long long)node->as.window.gap_ms);
        break;
    }
    sf_buf_puts(out, " by (");
    print_columns(input, node->as.window.keys, node->as.window.key_count, out);
    sf_buf_puts(out, "): ");
    print_aggs(node->as.window.aggs, node->as.window.agg_count, input, out);
    if (node->as.window.emit_changes)
        sf_buf_puts(out, " emit changes");
}

static void print_node(const sf_plan *plan, const sf_plan_node *node, sf_buf *out)
{
    sf_buf_puts(out, sf_node_kind_name(node->kind));
    const sf_schema *input = node->input_count ? sf_plan_at(plan, node->inputs[0])->schema : NULL;
    switch (node->kind) {
    case SF_NODE_SCAN:
        sf_buf_printf(out, " %s", plan->inputs.data[node->as.scan.input].name);
        break;
    case SF_NODE_MAP: print_map(node, input, out); break;
    case SF_NODE_UNNEST:
        sf_buf_putc(out, ' ');
        sf_expr_print(node->as.unnest.array, input, out);
        sf_buf_puts(out, node->as.unnest.ordinality ? " with ordinality" : "");
        break;
    case SF_NODE_JOIN:
    case SF_NODE_INTERVAL_JOIN:
    case SF_NODE_SNAPSHOT_JOIN: print_join(plan, node, out); break;
    case SF_NODE_REDUCE:
        sf_buf_puts(out, " by (");
        print_columns(input, node->as.reduce.keys, node->as.reduce.key_count, out);
        sf_buf_puts(out, "): ");
        print_aggs(node->as.reduce.aggs, node->as.reduce.agg_count, input, out);
        break;
    case SF_NODE_LATEST:
        sf_buf_puts(out, " (");
        print_columns(input, node->as.latest.keys, node->as.latest.key_count, out);
        sf_buf_putc(out, ')');
        break;
    case SF_NODE_WINDOW: print_window(node, input, out); break;
    case SF_NODE_TEMPORAL:
        sf_buf_puts(out, node->as.temporal.until ? " until " : " from ");
        sf_expr_print(node->as.temporal.bound, input, out);
        break;
    case SF_NODE_TOP:
    case SF_NODE_OVER: sf_over_print(&node->as.over, input, out); break;
    case SF_NODE_ASOF:
        sf_asof_print(&node->as.asof, input, sf_plan_at(plan, node->inputs[1])->schema, out);
        break;
    case SF_NODE_REPEAT:
        SF_ASSERT(input);
        sf_buf_printf(out, " by %s", input->fields[input->count - 2].name);
        break;
    case SF_NODE_UNION:
    case SF_NODE_ONE:
    case SF_NODE_KIND_COUNT: break;
    }
}

/* Depth is bounded by the number of nodes, which the builders bound; a shared node prints twice. */
static void print_tree(const sf_plan *plan, uint32_t id, uint32_t depth, sf_buf *out)
{
    const sf_plan_node *node = sf_plan_at(plan, id);
    if (depth > 64 || out->len > 1 << 20) {
        sf_buf_puts(out, "...\n");
        return;
    }
    for (uint32_t i = 0; i < depth; i++)
        sf_buf_puts(out, "  ");
    print_node(plan, node, out);
    sf_buf_putc(out, '\n');
    for (uint32_t i = 0; i < node->input_count; i++)
        print_tree(plan, node->inputs[i], depth + 1, out);
}

void sf_plan_print(const sf_plan *plan, sf_buf *out)
{
    print_tree(plan, plan->output, 0, out);
}

void sf_plan_summary(const sf_plan *plan, sf_buf *out)
{
    for (size_t i = 0; i < plan->nodes.len; i++) {
        const sf_plan_node *node = plan->nodes.data[i];
        sf_buf_printf(out, "%s%s", i ? " -> " : "", sf_node_kind_name(node->kind));
        if (node->kind == SF_NODE_SCAN)
            sf_buf_printf(out, "(%s)", plan->inputs.data[node->as.scan.input].name);
        else if (node->kind == SF_NODE_REDUCE || node->kind == SF_NODE_WINDOW) {
            bool reduce = node->kind == SF_NODE_REDUCE;
            sf_buf_putc(out, '(');
            print_columns(sf_plan_at(plan, node->inputs[0])->schema,
                          reduce ? node->as.reduce.keys : node->as.window.keys,
                          reduce ? node->as.reduce.key_count : node->as.window.key_count, out);
            sf_buf_putc(out, ')');
        }
    }
}

/* Rows of partitions in order: the nodes TOP and OVER, and their text. */
#include "flow/plan_node.h"

static sf_schema *over_schema(const sf_schema *input, const sf_over_spec *spec)
{
    sf_field *fields = sf_alloc((input->count + (size_t)spec->call_count) * sizeof *fields);
    if (!fields)
        return NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i + 1 < input->count; i++)
        fields[count++] = input->fields[i];
    for (uint32_t i = 0; i < spec->call_count; i++)
        fields[count++] = (sf_field){spec->names[i], spec->calls[i].result_type, false};
    fields[count++] = input->fields[input->count - 1];
    sf_schema *schema = sf_schema_new(fields, count);
    sf_free(fields);
    return schema;
}

static bool copy_spec(sf_plan *plan, const sf_over_spec *spec, sf_over_spec *out)
{
    sf_plan_order *order = SF_ARENA_ARRAY(&plan->arena, sf_plan_order, spec->order_count + 1u);
    sf_over_call *calls = SF_ARENA_ARRAY(&plan->arena, sf_over_call, spec->call_count + 1u);
    *out = *spec;
    out->names = NULL;
    out->keys = sf_plan_copy_numbers(plan, spec->keys, spec->key_count);
    out->order = order;
    out->calls = calls;
    if (!order || !calls || !out->keys)
        return false;
    for (uint32_t i = 0; i < spec->order_count; i++)
        order[i] = spec->order[i];
    for (uint32_t i = 0; i < spec->call_count; i++)
        calls[i] = spec->calls[i];
    return true;
}

sf_status sf_plan_over(sf_plan *plan, uint32_t input, const sf_over_spec *spec, uint32_t *out,
                       sf_error *err)
{
    const sf_plan_node *below = sf_plan_at(plan, input);
    sf_schema *schema =
        spec->call_count ? over_schema(below->schema, spec) : sf_schema_ref(below->schema);
    sf_node_kind kind = spec->call_count ? SF_NODE_OVER : SF_NODE_TOP;
    sf_plan_node *node = sf_plan_add_node(plan, kind, &input, 1, schema, err);
    if (!node)
        return err && err->status != SF_OK ? err->status : SF_LIMIT;
    if (!copy_spec(plan, spec, &node->as.over))
        return sf_fail_memory(err);
    node->keeps_ts = below->keeps_ts;
    *out = node->id;
    return SF_OK;
}

/* ---- as text ---- */

const char *sf_over_function_name(const sf_over_call *call)
{
    static const char *const names[] = {
        [SF_OVER_ROW_NUMBER] = "ROW_NUMBER",
        [SF_OVER_RANK] = "RANK",
        [SF_OVER_DENSE_RANK] = "DENSE_RANK",
        [SF_OVER_PERCENT_RANK] = "PERCENT_RANK",
        [SF_OVER_CUME_DIST] = "CUME_DIST",
        [SF_OVER_NTILE] = "NTILE",
        [SF_OVER_LAG] = "LAG",
        [SF_OVER_LEAD] = "LEAD",
        [SF_OVER_FIRST_VALUE] = "FIRST_VALUE",
        [SF_OVER_LAST_VALUE] = "LAST_VALUE",
        [SF_OVER_NTH_VALUE] = "NTH_VALUE",
        [SF_OVER_MIN] = "MIN",
        [SF_OVER_MAX] = "MAX",
    };
    return call->function == SF_OVER_AGGREGATE ? call->aggregate->name : names[call->function];
}

static void print_edge(const sf_over_edge *edge, bool start, sf_buf *out)
{
    static const char *const words[] = {
        [SF_EDGE_PRECEDING] = "preceding",
        [SF_EDGE_CURRENT] = "current row",
        [SF_EDGE_FOLLOWING] = "following",
    };
    if (edge->kind == SF_EDGE_UNBOUNDED)
        sf_buf_printf(out, "unbounded %s", start ? "preceding" : "following");
    else if (edge->kind == SF_EDGE_CURRENT)
        sf_buf_puts(out, words[edge->kind]);
    else if (edge->distance_f64 != 0)
        sf_buf_printf(out, "%.17g %s", edge->distance_f64, words[edge->kind]);
    else
        sf_buf_printf(out, "%lld %s", (long long)edge->distance, words[edge->kind]);
}

static void print_call(const sf_over_call *call, const sf_schema *input, sf_buf *out)
{
    static const char *const units[] = {"rows", "range", "groups"};
    bool numbered = call->function == SF_OVER_NTILE || call->function == SF_OVER_LAG ||
                    call->function == SF_OVER_LEAD || call->function == SF_OVER_NTH_VALUE;
    sf_buf_printf(out, "%s(", sf_over_function_name(call));
    for (uint32_t i = 0; i < call->arg_count; i++)
        sf_buf_printf(out, "%s%s", i ? ", " : "", input->fields[call->args[i]].name);
    if (call->function == SF_OVER_AGGREGATE && !call->arg_count)
        sf_buf_putc(out, '*');
    if (numbered)
        sf_buf_printf(out, "%s%lld", call->arg_count ? ", " : "", (long long)call->number);
    sf_buf_puts(out, ")");
    if (call->function < SF_OVER_FIRST_VALUE)
        return;
    sf_buf_printf(out, " %s ", units[call->unit]);
    print_edge(&call->start, true, out);
    sf_buf_puts(out, " to ");
    print_edge(&call->end, false, out);
}

static void print_limit(const sf_over_spec *over, sf_buf *out)
{
    static const char *const words[] = {"limit", "rank up to", "dense rank up to"};
    if (over->limit != SF_TOP_ALL)
        sf_buf_printf(out, " %s %llu", words[over->top], (unsigned long long)over->limit);
    if (over->offset)
        sf_buf_printf(out, " offset %llu", (unsigned long long)over->offset);
}

void sf_over_print(const sf_over_spec *over, const sf_schema *input, sf_buf *out)
{
    for (uint32_t i = 0; i < over->key_count; i++)
        sf_buf_printf(out, "%s%s", i ? ", " : " by (", input->fields[over->keys[i]].name);
    sf_buf_puts(out, over->key_count ? ")" : "");
    for (uint32_t i = 0; i < over->order_count; i++) {
        const sf_plan_order *by = &over->order[i];
        sf_buf_printf(out, "%s%s%s%s", i ? ", " : " order ", input->fields[by->column].name,
                      by->descending ? " desc" : "",
                      by->nulls_first == by->descending ? ""
                      : by->nulls_first                 ? " nulls first"
                                                        : " nulls last");
    }
    print_limit(over, out);
    for (uint32_t i = 0; i < over->call_count; i++) {
        sf_buf_puts(out, i ? ", " : ": ");
        print_call(&over->calls[i], input, out);
    }
}

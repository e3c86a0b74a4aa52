/* The top-N pattern: a filter that keeps the first rows of each partition by a number that ROW_NUMBER,
 * RANK or DENSE_RANK gave them. The window below then computes no more rows than the filter can
 * keep; the filter itself stays. */
#include "flow/plan_node.h"

/* Does a row's answer depend on rows up to it alone? With whole_groups, rows come with their peers. */
static bool looks_back(const sf_over_call *call, bool whole_groups)
{
    switch (call->function) {
    case SF_OVER_ROW_NUMBER:
    case SF_OVER_RANK:
    case SF_OVER_DENSE_RANK:
    case SF_OVER_LAG: return true;
    case SF_OVER_PERCENT_RANK:
    case SF_OVER_CUME_DIST:
    case SF_OVER_NTILE:
    case SF_OVER_LEAD: return false;
    default: break;
    }
    if (call->end.kind == SF_EDGE_PRECEDING)
        return call->unit == SF_OVER_ROWS || whole_groups;
    return call->end.kind == SF_EDGE_CURRENT && (call->unit == SF_OVER_ROWS || whole_groups);
}

static const sf_over_call *call_of(const sf_plan_node *over, uint32_t column)
{
    uint32_t own = over->schema->count - 1 - over->as.over.call_count;
    bool found = column >= own && column + 1 < over->schema->count;
    return found ? &over->as.over.calls[column - own] : NULL;
}

/* The column of the window that a column above it is; UINT32_MAX: none. */
static uint32_t trace(const sf_plan *plan, const sf_plan_node *from, const sf_plan_node *over,
                      uint32_t column)
{
    while (from != over) {
        const sf_expr *expr = from->as.map.exprs ? from->as.map.exprs[column] : NULL;
        if (expr && expr->kind != SF_EXPR_COLUMN)
            return UINT32_MAX;
        column = expr ? expr->column : column;
        from = sf_plan_at(plan, from->inputs[0]);
    }
    return column;
}

/* The largest value that "number op constant" lets through. */
static bool largest(const sf_expr *cond, uint32_t *column, int64_t *most)
{
    static const struct {
        const char *name;
        uint32_t number, constant; /* arguments */
        int64_t less;
    } forms[] = {
        {"<=", 0, 1, 0}, {"<", 0, 1, 1}, {"=", 0, 1, 0},       {">=", 1, 0, 0},
        {">", 1, 0, 1},  {"=", 1, 0, 0}, {"between", 0, 2, 0},
    };
    const char *name = cond->kind == SF_EXPR_CALL ? sf_expr_function(cond) : NULL;
    for (size_t i = 0; name && i < SF_COUNT_OF(forms); i++) {
        if (strcmp(name, forms[i].name) != 0)
            continue;
        const sf_expr *number = cond->args[forms[i].number];
        const sf_expr *constant = cond->args[forms[i].constant];
        if (number->kind != SF_EXPR_COLUMN || constant->kind != SF_EXPR_LITERAL ||
            constant->type != SF_TYPE_I64 || constant->literal.is_null)
            continue;
        *column = number->column;
        *most = sf_sat_add(constant->literal.as.i64, -forms[i].less);
        return true;
    }
    return false;
}

/* The tightest limit among the parts of a condition. */
static void find_limit(const sf_plan *plan, const sf_plan_node *from, const sf_plan_node *over,
                       const sf_expr *cond, sf_over_spec *out)
{
    uint32_t column;
    int64_t most;
    for (uint32_t i = 0; cond->kind == SF_EXPR_AND && i < cond->arg_count; i++)
        find_limit(plan, from, over, cond->args[i], out);
    if (!largest(cond, &column, &most))
        return;
    column = trace(plan, from, over, column);
    const sf_over_call *call = column == UINT32_MAX ? NULL : call_of(over, column);
    if (!call || call->function > SF_OVER_DENSE_RANK)
        return;
    uint64_t limit = most > 0 ? (uint64_t)most : 0;
    if (limit >= out->limit)
        return;
    static const sf_top_kind kinds[] = {SF_TOP_ROWS, SF_TOP_RANK, SF_TOP_DENSE};
    bool safe = true;
    for (uint32_t i = 0; i < over->as.over.call_count; i++)
        safe = safe && looks_back(&over->as.over.calls[i], call->function != SF_OVER_ROW_NUMBER);
    if (!safe)
        return;
    out->limit = limit;
    out->top = kinds[call->function];
}

/* The window below a filter that reads it alone, with nothing but projections between. */
static sf_plan_node *window_below(const sf_plan *plan, const sf_plan_node *filter,
                                  const uint32_t *readers)
{
    sf_plan_node *below = plan->nodes.data[filter->inputs[0]];
    while (below->kind == SF_NODE_MAP && !below->as.map.predicate && readers[below->id] == 1)
        below = plan->nodes.data[below->inputs[0]];
    bool found = below->kind == SF_NODE_OVER && readers[below->id] == 1 &&
                 below->as.over.limit == SF_TOP_ALL;
    return found ? below : NULL;
}

sf_status sf_plan_limit_windows(sf_plan *plan, sf_error *err)
{
    uint32_t *readers = sf_calloc(plan->nodes.len, sizeof *readers);
    if (!readers)
        return sf_fail_memory(err);
    readers[plan->output]++;
    for (size_t i = 0; i < plan->nodes.len; i++)
        for (uint32_t k = 0; k < plan->nodes.data[i]->input_count; k++)
            readers[plan->nodes.data[i]->inputs[k]]++;
    for (size_t i = 0; i < plan->nodes.len; i++) {
        const sf_plan_node *node = plan->nodes.data[i];
        if (node->kind != SF_NODE_MAP || !node->as.map.predicate)
            continue;
        sf_plan_node *over = window_below(plan, node, readers);
        if (over)
            find_limit(plan, sf_plan_at(plan, node->inputs[0]), over, node->as.map.predicate,
                       &over->as.over);
    }
    sf_free(readers);
    return SF_OK;
}

/* build_group.c: the node of a grouped SELECT. */
#include "sql/bind.h"

/* Whether the _ts of a node's rows may be the time of an epoch, which says nothing about the rows:
 * groups below are stamped so. */
static sf_status time_is_recorded(sf_sqlb *b, uint32_t top, bool *out)
{
    bool *reached = SF_ARENA_ARRAY(b->scratch, bool, top + 1u);
    if (!reached)
        return sf_fail_memory(b->err);
    reached[top] = true;
    *out = false;
    for (uint32_t id = top + 1; id-- > 0 && !*out;) { /* inputs have smaller numbers */
        const sf_plan_node *node = sf_plan_at(b->plan, id);
        if (!reached[id])
            continue;
        *out = node->kind == SF_NODE_REDUCE;
        bool left_only = node->kind == SF_NODE_JOIN && node->as.join.kind >= SF_JOIN_SEMI;
        for (uint32_t i = 0; i < node->input_count && !(left_only && i); i++)
            reached[node->inputs[i]] |= node->kind != SF_NODE_WINDOW; /* stamps its own end */
    }
    return SF_OK;
}

static sf_status check_time(sf_sqlb *b, const sf_sqlb_agg *agg, uint32_t below)
{
    bool recorded = false;
    if (agg->timed)
        SF_TRY(time_is_recorded(b, below, &recorded));
    if (!recorded)
        return SF_OK;
    return sf_sqlb_fail(b, SF_INVALID, agg->ast->op_span, "give it an order, as LAST(x ORDER BY y)",
                        "%.*s has no time to go by: these rows are groups, which have none",
                        SQLB_NAME(agg->ast->call->name.text));
}

/* The same aggregates over the columns of the node below. */
static sf_status node_aggs(sf_sqlb *b, const sf_sqlb_group *group, uint32_t below,
                           sf_agg_call **calls, const char ***names)
{
    bool append_only = sf_plan_at(b->plan, below)->append_only;
    *calls = SF_ARENA_ARRAY(b->scratch, sf_agg_call, group->agg_count + 1);
    *names = SF_ARENA_ARRAY(b->scratch, const char *, group->agg_count + 1);
    if (!*calls || !*names)
        return sf_fail_memory(b->err);
    for (size_t i = 0; i < group->agg_count; i++) {
        const sf_sqlb_agg *agg = &group->aggs[i];
        const sf_expr **parts = SF_ARENA_ARRAY(b->scratch, const sf_expr *, agg->part_count + 1u);
        if (!parts)
            return sf_fail_memory(b->err);
        for (uint32_t k = 0; k < agg->part_count; k++)
            SF_TRY(sf_sqlb_remap(b, agg->parts[k], &parts[k]));
        SF_TRY(check_time(b, agg, below));
        SF_TRY(sf_sqlb_resolve_aggregate(b, agg, parts, append_only, &(*calls)[i]));
        (*names)[i] = agg->name;
    }
    return SF_OK;
}

static sf_status number_columns(sf_sqlb *b, const sf_sqlb_group *group, const uint32_t **map)
{
    uint32_t keys = (uint32_t)group->key_count, aggs = (uint32_t)group->agg_count;
    uint32_t *numbers = SF_ARENA_ARRAY(b->scratch, uint32_t, keys + aggs + 3u);
    if (!numbers)
        return sf_fail_memory(b->err);
    for (uint32_t i = 0; i < keys; i++)
        numbers[i] = i;
    for (uint32_t i = 0; i < aggs; i++)
        numbers[sf_sqlb_group_column(group, i)] = keys + i;
    numbers[keys] = keys + aggs;
    numbers[keys + 1] = keys + aggs + 1;
    numbers[sf_sqlb_group_column(group, aggs)] = keys + aggs + 2; /* _final */
    *map = numbers;
    return SF_OK;
}

/* What the nodes of all grouping sets share. */
typedef struct {
    const sf_sqlb_group *group;
    uint32_t below;
    const uint32_t *keys; /* columns of below */
    const sf_agg_call *calls;
    const char *const *names;
    const sf_sql_window *window; /* NULL: none */
    bool changes;
} grouping;

static sf_status add_node(sf_sqlb *b, const grouping *g, const uint32_t *keys, uint32_t key_count,
                          uint32_t *node)
{
    static const sf_window_kind kinds[] = {
        [SF_SQL_WINDOW_TUMBLING] = SF_WINDOW_TUMBLING,
        [SF_SQL_WINDOW_HOPPING] = SF_WINDOW_HOPPING,
        [SF_SQL_WINDOW_SESSION] = SF_WINDOW_SESSION,
    };
    uint32_t agg_count = (uint32_t)g->group->agg_count;
    if (!g->window)
        return sf_plan_reduce(b->plan, g->below, keys, key_count, g->calls, g->names, agg_count,
                              node, b->err);
    sf_window_spec spec = {.kind = kinds[g->window->kind],
                           .size_ms = g->window->size.ms,
                           .advance_ms = g->window->advance.ms,
                           .gap_ms = g->window->gap.ms,
                           .keys = keys,
                           .key_count = key_count,
                           .aggs = g->calls,
                           .agg_names = g->names,
                           .agg_count = agg_count,
                           .emit_changes = g->changes};
    return sf_plan_window(b->plan, g->below, &spec, node, b->err);
}

/* ---- grouping sets ---- */

/* One column of a set's rows; at: where it stands in them. */
static sf_status spread_column(sf_sqlb *b, const grouping *g, uint64_t set, uint32_t column,
                               uint32_t at, sf_type type, const sf_expr **out)
{
    uint32_t keys = (uint32_t)g->group->key_count;
    bool missing = column < keys && !(set >> column & 1);
    sf_literal value = {.is_null = missing};
    if (column >= keys && column - keys < g->group->agg_count) {
        const sf_sqlb_agg *agg = &g->group->aggs[column - keys];
        if (agg->grouping) {
            value.as.i64 = sf_sqlb_grouping_value(agg, set);
            return sf_expr_literal(b->arena, SF_TYPE_I64, &value, (sf_span){0, 0}, out, b->err);
        }
    }
    if (missing)
        return sf_expr_literal(b->arena, type, &value, (sf_span){0, 0}, out, b->err);
    return sf_expr_column(b->arena, at, type, (sf_span){0, 0}, out, b->err);
}

/* One set's rows in the columns of all keys: those that are not in the set are NULL. */
static sf_status spread(sf_sqlb *b, const grouping *g, uint64_t set, uint32_t in_set,
                        uint32_t *node)
{
    const sf_schema *own = sf_plan_at(b->plan, *node)->schema;
    const sf_schema *below = sf_plan_at(b->plan, g->below)->schema;
    uint32_t keys = (uint32_t)g->group->key_count, rest = own->count - 1 - in_set;
    const sf_expr **exprs = SF_ARENA_ARRAY(b->scratch, const sf_expr *, keys + rest);
    sf_field *fields = SF_ARENA_ARRAY(b->scratch, sf_field, keys + rest);
    if (!exprs || !fields)
        return sf_fail_memory(b->err);
    uint32_t at = 0;
    for (uint32_t i = 0; i < keys + rest; i++) {
        bool missing = i < keys && !(set >> i & 1);
        fields[i] = missing ? below->fields[g->keys[i]] : own->fields[at];
        fields[i].hidden = false;
        SF_TRY(spread_column(b, g, set, i, at, fields[i].type, &exprs[i]));
        at += !missing;
    }
    return sf_plan_map(b->plan, *node, NULL, exprs, fields, keys + rest, node, b->err);
}

static sf_status add_sets(sf_sqlb *b, const grouping *g, uint32_t *node)
{
    const sf_sqlb_group *group = g->group;
    uint32_t *nodes = SF_ARENA_ARRAY(b->scratch, uint32_t, group->set_count);
    uint32_t *keys = SF_ARENA_ARRAY(b->scratch, uint32_t, group->key_count + 1);
    if (!nodes || !keys)
        return sf_fail_memory(b->err);
    for (size_t s = 0; s < group->set_count; s++) {
        uint32_t count = 0;
        for (size_t i = 0; i < group->key_count; i++) {
            if (group->sets[s] >> i & 1)
                keys[count++] = g->keys[i];
        }
        SF_TRY(add_node(b, g, keys, count, &nodes[s]));
        SF_TRY(spread(b, g, group->sets[s], count, &nodes[s]));
    }
    return sf_plan_union(b->plan, nodes, (uint32_t)group->set_count, node, b->err);
}

/* ---- the node ---- */

static sf_status list_keys(sf_sqlb *b, const sf_sqlb_group *group, const sf_expr ***exprs,
                           const char ***names, uint32_t **columns)
{
    *exprs = SF_ARENA_ARRAY(b->scratch, const sf_expr *, group->key_count + 1);
    *names = SF_ARENA_ARRAY(b->scratch, const char *, group->key_count + 1);
    *columns = SF_ARENA_ARRAY(b->scratch, uint32_t, group->key_count + 1);
    if (!*exprs || !*names || !*columns)
        return sf_fail_memory(b->err);
    for (size_t i = 0; i < group->key_count; i++) {
        (*exprs)[i] = group->keys[i].expr;
        (*names)[i] = group->keys[i].name;
    }
    return SF_OK;
}

static void use_aggregates(sf_sqlb *b, const sf_sqlb_group *group)
{
    for (size_t i = 0; i < group->agg_count; i++) {
        const sf_sqlb_agg *agg = &group->aggs[i];
        for (uint32_t k = 0; k < agg->part_count; k++)
            sf_sqlb_use(b, agg->parts[k]);
    }
}

sf_status sf_sqlb_group_node(sf_sqlb *b, const sf_sqlb_scope *scope, const sf_sqlb_group *group,
                             const sf_sql_window *window, bool changes, uint32_t *node,
                             const uint32_t **map)
{
    sf_sqlb_rows rows;
    sf_agg_call *calls;
    const sf_expr **exprs;
    const char **key_names, **names;
    uint32_t count = (uint32_t)group->key_count, *keys;
    SF_TRY(list_keys(b, group, &exprs, &key_names, &keys));
    use_aggregates(b, group);
    SF_TRY(sf_sqlb_build_keyed(b, scope->tree, exprs, key_names, count, keys, &rows));
    SF_TRY(node_aggs(b, group, rows.node, &calls, &names));
    SF_TRY(sf_sqlb_check_width(b, count + group->agg_count + 4, scope->select->span));
    SF_TRY(number_columns(b, group, map));
    grouping g = {group, rows.node, keys, calls, names, window, changes};
    return group->set_count ? add_sets(b, &g, node) : add_node(b, &g, keys, count, node);
}

/* bind_select.c: one SELECT: rules, items, grouping, LATEST BY, the key of its rows. */
#include "sql/bind.h"

#include <stdio.h>

/* ---- rules ---- */

static const sf_sql_expr *first_aggregate(const sf_sql_expr *ast)
{
    const sf_sql_expr *found = ast;
    while (found->args.count && !(found->kind == SF_EX_CALL && !found->call->over &&
                                  sf_is_aggregate_name(found->call->name.text))) {
        size_t i = 0;
        while (i < found->args.count && !sf_sqlb_has_aggregate(found->args.items[i]))
            i++;
        if (i == found->args.count)
            break;
        found = found->args.items[i];
    }
    return found;
}

/* What makes it grouped, for messages. */
static sf_span grouping_span(const sf_sql_select *select)
{
    if (select->group_span.length)
        return select->group_span;
    for (size_t i = 0; i < select->item_count; i++) {
        if (sf_sqlb_has_aggregate(select->items[i].expr))
            return first_aggregate(select->items[i].expr)->op_span;
    }
    return select->having ? select->having->span : select->span;
}

bool sf_sqlb_is_grouped(const sf_sql_select *select)
{
    if (select->group_span.length || select->having || select->window.span.length)
        return true;
    for (size_t i = 0; i < select->item_count; i++) {
        if (sf_sqlb_has_aggregate(select->items[i].expr))
            return true;
    }
    return false;
}

static sf_status check_pipeline(sf_sqlb *b, const sf_sql_select *select, bool grouped)
{
    static const char remedy[] = "add WINDOW TUMBLING(SIZE 5 SECONDS), or make the query a table";
    if (select->latest.count)
        return sf_sqlb_fail(b, SF_INVALID, select->latest_span, "make the query a table",
                            "LATEST BY keeps rows for good, which a pipeline cannot");
    if (select->distinct)
        return sf_sqlb_fail(b, SF_INVALID, select->distinct_span,
                            "group by the columns with a WINDOW, or make the query a table",
                            "DISTINCT keeps every row it has seen, which a pipeline cannot");
    if (grouped && !select->window.span.length)
        return sf_sqlb_fail(b, SF_INVALID, grouping_span(select), remedy,
                            "in a pipeline aggregates and GROUP BY need a WINDOW");
    if (select->emit_span.length && !select->window.span.length)
        return sf_sqlb_fail(b, SF_INVALID, select->emit_span, remedy, "EMIT needs a WINDOW");
    return SF_OK;
}

static sf_status check_table(sf_sqlb *b, const sf_sql_select *select)
{
    if (select->window.span.length)
        return sf_sqlb_fail(b, SF_INVALID, select->window.span,
                            "remove it: a table's aggregates run on; or make the query a pipeline",
                            "a table takes no WINDOW");
    if (select->emit_span.length)
        return sf_sqlb_fail(b, SF_INVALID, select->emit_span,
                            "remove it: a table always shows changes; or make the query a pipeline",
                            "a table takes no EMIT");
    return SF_OK;
}

static sf_status check_select(sf_sqlb *b, const sf_sql_select *select, bool grouped, bool top)
{
    if (b->kind == SF_PLAN_PIPELINE)
        SF_TRY(check_pipeline(b, select, grouped));
    else
        SF_TRY(check_table(b, select));
    if (select->latest.count && grouped)
        return sf_sqlb_fail(b, SF_INVALID, select->latest_span,
                            "put LATEST BY in a subquery: FROM (SELECT * FROM s LATEST BY (key)) x",
                            "LATEST BY cannot stand with GROUP BY or aggregates");
    if (select->emit == SF_EMIT_CHANGES && !top)
        return sf_sqlb_fail(b, SF_INVALID, select->emit_span, "remove it, or write EMIT FINAL",
                            "EMIT CHANGES may stand only in the outermost query");
    for (size_t i = 0; grouped && i < select->item_count; i++) {
        const sf_sql_expr *item = select->items[i].expr;
        if (item->kind == SF_EX_STAR)
            return sf_sqlb_fail(b, SF_INVALID, item->span, "name the columns",
                                "* cannot stand with GROUP BY, aggregates or WINDOW");
    }
    return SF_OK;
}

/* ---- output columns ---- */

typedef sf_sqlb_item item;
typedef sf_sqlb_items item_list;

static char *lower_copy(sf_sqlb *b, sf_str text)
{
    char *copy = sf_arena_strndup(b->arena, text.data, text.len);
    for (size_t i = 0; copy && i < text.len; i++) {
        if (copy[i] >= 'A' && copy[i] <= 'Z')
            copy[i] = (char)(copy[i] - 'A' + 'a');
    }
    return copy;
}

sf_status sf_sqlb_default_name(sf_sqlb *b, const sf_sql_expr *ast, size_t position,
                               const char **out)
{
    sf_str text = {0};
    char *name;
    if (ast->kind == SF_EX_COLUMN)
        text = ast->column.items[ast->column.count - 1].text;
    else if (ast->kind == SF_EX_JSON && !ast->json.is_index)
        text = ast->json.key;
    if (text.len)
        name = sf_arena_strndup(b->arena, text.data, text.len);
    else if (ast->kind == SF_EX_CALL && ast->args.count && ast->args.items[0]->kind == SF_EX_STAR)
        name = sf_arena_strndup(b->arena, "count_star", 10);
    else if (ast->kind == SF_EX_CALL)
        name = lower_copy(b, ast->call->name.text);
    else
        name = sf_arena_printf(b->arena, "col%zu", position + 1);
    *out = name;
    return name ? SF_OK : sf_fail_memory(b->err);
}

static bool same_name(const char *a, const char *b)
{
    return sf_str_eq_nocase(sf_str_of(a), sf_str_of(b));
}

/* An earlier column has the name, or a later one whose name was chosen with AS. */
static bool is_taken(const item_list *list, size_t at, bool chosen_only, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        bool rival = chosen_only ? i < at && list->items[i].chosen
                                 : i < at || (i > at && list->items[i].chosen);
        if (rival && same_name(list->items[i].name, name))
            return true;
    }
    return false;
}

/* Give way to other names with a number. */
static sf_status number_name(sf_sqlb *b, item_list *list, size_t at)
{
    item *it = &list->items[at];
    it->base = it->name;
    it->number = 1;
    for (size_t i = 0; i < at; i++) {
        if (!list->items[i].chosen && same_name(list->items[i].base, it->base))
            it->number = list->items[i].number;
    }
    while (is_taken(list, at, false, it->name)) {
        it->name = sf_arena_printf(b->arena, "%s_%u", it->base, ++it->number);
        if (!it->name)
            return sf_fail_memory(b->err);
    }
    return SF_OK;
}

/* Chosen names must differ; others give way. */
static sf_status make_unique(sf_sqlb *b, item_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        item *it = &list->items[i];
        if (it->chosen && is_taken(list, i, true, it->name))
            return sf_sqlb_fail(b, SF_INVALID, it->span, "give one of them another name with AS",
                                "two columns are named \"%.*s\"", SQLB_NAME(sf_str_of(it->name)));
        if (!it->chosen)
            SF_TRY(number_name(b, list, i));
    }
    return SF_OK;
}

static sf_status add_input_columns(sf_sqlb *b, const sf_sqlb_scope *scope, uint32_t number,
                                   bool bare_merged, sf_span span, item_list *list)
{
    bool prefixed = scope->input_count > 1;
    for (uint32_t c = 0; c < b->inputs.data[number].rel.count; c++) {
        const sf_sqlb_input *input = &b->inputs.data[number];
        bool merged = false;
        for (size_t m = 0; m < scope->merged_count && bare_merged; m++) {
            for (size_t k = 0; k < scope->merged[m].vcol_count; k++)
                merged |= scope->merged[m].vcols[k] == input->first + c;
        }
        if (merged)
            continue;
        item it = {.name = input->rel.columns[c].name, .span = span};
        if (prefixed && !input->element) {
            it.name = sf_arena_printf(b->arena, "%.*s_%s", SF_STR_ARG(input->alias), it.name);
            if (!it.name)
                return sf_fail_memory(b->err);
        }
        SF_TRY(sf_sqlb_vcol_expr(b, input->first + c, span, &it.expr));
        SQLB_PUSH(b, list->items, list->count, it);
    }
    return SF_OK;
}

/* Each merged column once, as its last join sees it. */
static sf_status add_merged_columns(sf_sqlb *b, const sf_sqlb_scope *scope, sf_span span,
                                    item_list *list)
{
    for (size_t m = 0; m < scope->merged_count; m++) {
        const sf_sqlb_merged *merged = &scope->merged[m];
        bool again = false;
        for (size_t k = m + 1; k < scope->merged_count; k++)
            again |= sf_str_eq_nocase(scope->merged[k].name, merged->name);
        if (again)
            continue;
        item it = {.expr = merged->expr, .span = span};
        it.name = sf_arena_strndup(b->arena, merged->name.data, merged->name.len);
        if (!it.name)
            return sf_fail_memory(b->err);
        SQLB_PUSH(b, list->items, list->count, it);
    }
    return SF_OK;
}

static sf_status add_star(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *star,
                          item_list *list)
{
    bool all = star->star.text.len == 0, found = all;
    if (all)
        SF_TRY(add_merged_columns(b, scope, star->span, list));
    for (size_t i = 0; i < scope->input_count; i++) {
        if (!all && !sf_str_eq(b->inputs.data[scope->inputs[i]].alias, star->star.text))
            continue;
        found = true;
        SF_TRY(add_input_columns(b, scope, scope->inputs[i], all, star->span, list));
    }
    if (found)
        return SF_OK;
    return sf_sqlb_fail(b, SF_NOT_FOUND, star->star.span, "name an input of FROM, as written there",
                        "\"%.*s\" is no input of this query", SQLB_NAME(star->star.text));
}

static sf_status bind_items(sf_sqlb *b, sf_sqlb_scope *scope, item_list *list)
{
    const sf_sql_select *select = scope->select;
    scope->place = "SELECT";
    for (size_t i = 0; i < select->item_count; i++) {
        const sf_sql_item *ast = &select->items[i];
        item it = {.span = ast->expr->span};
        if (ast->expr->kind == SF_EX_STAR) {
            SF_TRY(add_star(b, scope, ast->expr, list));
            continue;
        }
        SF_TRY(sf_sqlb_expr(b, scope, ast->expr, &it.expr));
        if (ast->alias.text.len) {
            it.chosen = true;
            it.span = ast->alias.span;
            it.name = sf_arena_strndup(b->arena, ast->alias.text.data, ast->alias.text.len);
            if (!it.name)
                return sf_fail_memory(b->err);
        } else {
            SF_TRY(sf_sqlb_default_name(b, ast->expr, i, &it.name));
        }
        SQLB_PUSH(b, list->items, list->count, it);
    }
    return SF_OK;
}

/* ---- the last map ---- */

static sf_status project(sf_sqlb *b, const sf_sqlb_rows *rows, const item_list *list, size_t shown,
                         const uint32_t *map, sf_sqlb_rel *out)
{
    uint32_t count = (uint32_t)list->count;
    const sf_expr **exprs = SF_ARENA_ARRAY(b->scratch, const sf_expr *, count + 1u);
    sf_field *fields = SF_ARENA_ARRAY(b->scratch, sf_field, count + 1u);
    out->columns = SF_ARENA_ARRAY(b->scratch, sf_sqlb_column, count + 1u);
    out->count = (uint32_t)shown;
    if (!exprs || !fields || !out->columns)
        return sf_fail_memory(b->err);
    for (uint32_t i = 0; i < count; i++) {
        SF_TRY(sf_expr_remap(b->arena, list->items[i].expr, map, &exprs[i], b->err));
        fields[i] = (sf_field){.name = list->items[i].name, .hidden = i >= shown};
        out->columns[i] = (sf_sqlb_column){list->items[i].name, exprs[i]->type};
    }
    SF_TRY(sf_sqlb_check_width(b, count + 1u, (sf_span){0, 0}));
    return sf_plan_map(b->plan, rows->node, rows->filter, exprs, fields, count, &out->node, b->err);
}

/* The key of the rows when each of its expressions is among the items. */
static sf_status set_key(sf_sqlb *b, const item_list *list, const sf_expr *const *keys,
                         uint32_t count, sf_sqlb_rel *out)
{
    out->key = SF_ARENA_ARRAY(b->scratch, uint32_t, count + 1u);
    if (!out->key)
        return sf_fail_memory(b->err);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t i = 0;
        while (i < list->count && !sf_expr_equal(list->items[i].expr, keys[k]))
            i++;
        if (i == list->count)
            return SF_OK;
        out->key[k] = i;
    }
    out->key_count = count;
    out->key_known = true;
    return SF_OK;
}

/* ---- plain SELECT ---- */

/* A filter or projection of one keyed relation keeps its key. */
static sf_status inherit_key(sf_sqlb *b, const sf_sqlb_scope *scope, const item_list *list,
                             sf_sqlb_rel *out)
{
    if (scope->input_count != 1)
        return SF_OK;
    const sf_sqlb_input *input = &b->inputs.data[scope->inputs[0]];
    const sf_expr **keys = SF_ARENA_ARRAY(b->scratch, const sf_expr *, input->rel.key_count + 1u);
    if (!keys)
        return sf_fail_memory(b->err);
    if (!input->rel.key_known)
        return SF_OK;
    for (uint32_t i = 0; i < input->rel.key_count; i++) {
        uint32_t vcol = input->first + input->rel.key[i];
        SF_TRY(sf_expr_column(b->arena, vcol, b->vcols.data[vcol].type, (sf_span){0, 0}, &keys[i],
                              b->err));
    }
    return set_key(b, list, keys, input->rel.key_count, out);
}

/* LATEST BY directly over one source honours its _retract column. */
static bool over_source(sf_sqlb *b, const sf_sqlb_scope *scope)
{
    if (scope->tree->kind != SF_TREE_INPUT)
        return false;
    const sf_sqlb_input *input = &b->inputs.data[scope->tree->input];
    if (!input->rel.source)
        return false;
    const sf_schema *schema = sf_plan_at(b->plan, input->rel.node)->schema;
    int retract = sf_schema_find(schema, SF_STR(SF_COL_RETRACT));
    SF_ASSERT(retract >= 0);
    b->vcols.data[input->first + (uint32_t)retract].used = true; /* LATEST BY reads it */
    return true;
}

static sf_status bind_latest(sf_sqlb *b, sf_sqlb_scope *scope, const sf_expr ***keys)
{
    const sf_sql_exprs *asts = &scope->select->latest;
    scope->place = "LATEST BY";
    scope->no_subqueries = true;
    *keys = SF_ARENA_ARRAY(b->scratch, const sf_expr *, asts->count + 1);
    if (!*keys)
        return sf_fail_memory(b->err);
    for (size_t i = 0; i < asts->count; i++)
        SF_TRY(sf_sqlb_expr(b, scope, asts->items[i], &(*keys)[i]));
    scope->no_subqueries = false;
    return SF_OK;
}

static sf_status latest_rows(sf_sqlb *b, sf_sqlb_scope *scope, const sf_expr *const *keys,
                             uint32_t count, sf_sqlb_rows *rows)
{
    uint32_t *columns = SF_ARENA_ARRAY(b->scratch, uint32_t, count + 1u);
    if (!columns)
        return sf_fail_memory(b->err);
    bool source = over_source(b, scope);
    SF_TRY(sf_sqlb_build_keyed(b, scope->tree, keys, NULL, count, columns, rows));
    return sf_plan_latest(b->plan, rows->node, columns, count, source, &rows->node, b->err);
}

/* ORDER BY over the items, which it may add to; *shown: how many are selected. */
static sf_status bind_order(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_query *query,
                            item_list *list, sf_sqlb_order *order, size_t *shown)
{
    *shown = list->count;
    if (query)
        SF_TRY(sf_sqlb_order_items(b, scope, query, list, order));
    scope->may_over = false;
    return SF_OK;
}

static sf_status plain_select(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_query *query,
                              sf_sqlb_order *order, sf_sqlb_rel *out)
{
    item_list list = {0};
    size_t shown;
    const uint32_t *map;
    const sf_expr **keys = NULL;
    uint32_t key_count = (uint32_t)scope->select->latest.count;
    sf_sqlb_rows rows;
    if (key_count)
        SF_TRY(bind_latest(b, scope, &keys));
    scope->may_over = true;
    SF_TRY(bind_items(b, scope, &list));
    SF_TRY(make_unique(b, &list));
    SF_TRY(bind_order(b, scope, query, &list, order, &shown));
    for (size_t i = 0; i < list.count; i++)
        sf_sqlb_use(b, list.items[i].expr);
    sf_sqlb_use_overs(b, &scope->overs);
    if (key_count)
        SF_TRY(latest_rows(b, scope, keys, key_count, &rows));
    else
        SF_TRY(sf_sqlb_build(b, scope->tree, &rows));
    map = b->at.data;
    SF_TRY(sf_sqlb_over_nodes(b, &scope->overs, &list, &rows, &map));
    SF_TRY(project(b, &rows, &list, shown, map, out));
    list.count = shown;
    return key_count ? set_key(b, &list, keys, key_count, out) : inherit_key(b, scope, &list, out);
}

/* ---- grouped SELECT ---- */

static sf_status add_window_column(sf_sqlb *b, uint32_t column, const char *name, sf_type type,
                                   item_list *list, sf_sqlb_rel *out)
{
    for (size_t i = 0; i < list->count; i++) {
        if (sf_str_eq_nocase(sf_str_of(list->items[i].name), sf_str_of(name)))
            return SF_OK;
    }
    item it = {.name = name, .chosen = true};
    SF_TRY(sf_expr_column(b->arena, column, type, (sf_span){0, 0}, &it.expr, b->err));
    SQLB_PUSH(b, list->items, list->count, it);
    out->window_columns++;
    return SF_OK;
}

/* window_start, window_end and _final close the row of a windowed SELECT. */
static sf_status add_window_columns(sf_sqlb *b, const sf_sqlb_group *group, bool changes,
                                    item_list *list, sf_sqlb_rel *out)
{
    uint32_t start = (uint32_t)group->key_count;
    SF_TRY(add_window_column(b, start, "window_start", SF_TYPE_TIMESTAMP, list, out));
    SF_TRY(add_window_column(b, start + 1, "window_end", SF_TYPE_TIMESTAMP, list, out));
    if (!changes)
        return SF_OK;
    uint32_t final = sf_sqlb_group_column(group, (uint32_t)group->agg_count);
    return add_window_column(b, final, "_final", SF_TYPE_BOOL, list, out);
}

static sf_status group_key_exprs(sf_sqlb *b, const sf_sqlb_group *group, const sf_expr ***out)
{
    *out = SF_ARENA_ARRAY(b->scratch, const sf_expr *, group->key_count + 1);
    if (!*out)
        return sf_fail_memory(b->err);
    for (uint32_t i = 0; i < group->key_count; i++)
        SF_TRY(sf_expr_column(b->arena, i, group->keys[i].expr->type, (sf_span){0, 0}, &(*out)[i],
                              b->err));
    return SF_OK;
}

/* Sessions are those of the group: PARTITION BY can only say the same as GROUP BY. */
static sf_status check_partition(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sqlb_group *group)
{
    if (!scope->partition)
        return SF_OK;
    bool same = scope->partition->count == group->key_count;
    scope->place = "PARTITION BY";
    for (size_t i = 0; i < scope->partition->count; i++) {
        const sf_expr *expr;
        bool found = false;
        SF_TRY(sf_sqlb_expr(b, scope, scope->partition->items[i], &expr));
        for (size_t k = 0; k < group->key_count; k++)
            found |= sf_expr_equal(group->keys[k].expr, expr);
        same = same && found;
    }
    if (same)
        return SF_OK;
    return sf_sqlb_fail(b, SF_INVALID, scope->select->window.span,
                        "group by the columns of PARTITION BY, window_start and window_end",
                        "sessions are partitioned by other columns than GROUP BY names");
}

static sf_status grouped_select(sf_sqlb *b, sf_sqlb_scope *scope, sf_sqlb_group *group,
                                const sf_sql_query *query, sf_sqlb_order *order, bool top,
                                sf_sqlb_rel *out)
{
    const sf_sql_select *select = scope->select;
    bool windowed = select->window.span.length > 0;
    bool changes = windowed && top && select->emit == SF_EMIT_CHANGES;
    item_list list = {0};
    size_t shown;
    const sf_expr *having = NULL, **keys;
    const uint32_t *map;
    sf_sqlb_rows rows = {0};
    group->windowed = windowed;
    SF_TRY(sf_sqlb_group_keys(b, scope, group));
    SF_TRY(check_partition(b, scope, group));
    scope->group = group;
    scope->may_over = true;
    SF_TRY(bind_items(b, scope, &list));
    if (select->having) {
        scope->may_over = false;
        scope->place = "HAVING";
        SF_TRY(sf_sqlb_expr(b, scope, select->having, &having));
        SF_TRY(sf_sqlb_to_bool(b, having, "HAVING", &having));
    }
    if (windowed)
        SF_TRY(add_window_columns(b, group, changes, &list, out));
    SF_TRY(make_unique(b, &list));
    scope->may_over = true;
    SF_TRY(bind_order(b, scope, query, &list, order, &shown));
    SF_TRY(sf_sqlb_group_node(b, scope, group, windowed ? &select->window : NULL, changes,
                              &rows.node, &map));
    if (having)
        SF_TRY(sf_expr_remap(b->arena, having, map, &rows.filter, b->err));
    SF_TRY(sf_sqlb_over_nodes(b, &scope->overs, &list, &rows, &map));
    SF_TRY(project(b, &rows, &list, shown, map, out));
    list.count = shown;
    SF_TRY(group_key_exprs(b, group, &keys));
    out->windowed = windowed;
    return windowed || group->set_count ? SF_OK
                                        : set_key(b, &list, keys, (uint32_t)group->key_count, out);
}

/* ---- SELECT ---- */

static bool reads_windowed(const sf_sqlb *b, const sf_sqlb_scope *scope)
{
    for (size_t i = 0; i < scope->input_count; i++) {
        if (!b->inputs.data[scope->inputs[i]].rel.windowed)
            return false;
    }
    return true;
}

/* In a pipeline FROM TUMBLE(s, _ts, 5 SECONDS) ... GROUP BY window_start is FROM s ... WINDOW
 * TUMBLING(SIZE 5 SECONDS). */
static sf_status window_of_from(sf_sqlb *b, const sf_sql_select *select, sf_sql_select *copy,
                                const sf_sql_exprs **partition)
{
    const sf_sql_input *from = select->from;
    *copy = *select;
    *partition = NULL;
    if (b->kind != SF_PLAN_PIPELINE || !from || from->kind != SF_INPUT_WINDOW ||
        select->window.span.length || !sf_sqlb_is_name(from->window.time, SF_COL_TS))
        return SF_OK;
    sf_sql_input *input = SF_ARENA_NEW(b->scratch, sf_sql_input);
    if (!input)
        return sf_fail_memory(b->err);
    *input = *from->window.input;
    input->alias = from->alias.text.len ? from->alias : input->alias;
    input->columns = from->columns;
    copy->from = input;
    copy->window = from->window.window;
    if (from->window.window.kind == SF_SQL_WINDOW_SESSION)
        *partition = &from->window.partition;
    return SF_OK;
}

sf_status sf_sqlb_select(sf_sqlb *b, const sf_sql_select *select, const sf_sql_query *query,
                         sf_sqlb_scope *outer, sf_sqlb_outer outer_use, bool top, sf_sqlb_rel *out)
{
    sf_sqlb_scope scope = {.outer = outer, .outer_use = outer_use};
    sf_sqlb_group group = {0};
    sf_sqlb_order order = {0};
    sf_sql_select copy;
    SF_TRY(window_of_from(b, select, &copy, &scope.partition));
    bool grouped = sf_sqlb_is_grouped(&copy);
    *out = (sf_sqlb_rel){0};
    SF_TRY(check_select(b, &copy, grouped, top));
    SF_TRY(sf_sqlb_from(b, &scope, &copy, NULL));
    if (grouped)
        SF_TRY(grouped_select(b, &scope, &group, query, &order, top, out));
    else
        SF_TRY(plain_select(b, &scope, query, &order, out));
    out->windowed = out->windowed || reads_windowed(b, &scope);
    if (select->distinct)
        SF_TRY(sf_sqlb_distinct(b, out));
    return query ? sf_sqlb_limit(b, query, &order, out) : SF_OK;
}

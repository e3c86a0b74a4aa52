/* bind_from.c: FROM and WHERE: inputs, joins, conditions. */
#include "sql/bind.h"

static sf_status bind_input(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_input *ast,
                            sf_sqlb_tree **out);

/* ---- trees ---- */

static sf_status new_tree(sf_sqlb *b, sf_sqlb_tree_kind kind, sf_sqlb_tree **out)
{
    *out = SF_ARENA_NEW(b->scratch, sf_sqlb_tree);
    if (!*out)
        return sf_fail_memory(b->err);
    (*out)->kind = kind;
    (*out)->within_ms = -1;
    (*out)->time_input = SF_SQLB_NONE;
    return SF_OK;
}

static sf_status leaf(sf_sqlb *b, uint32_t input, sf_sqlb_tree **out)
{
    SF_TRY(new_tree(b, SF_TREE_INPUT, out));
    (*out)->input = input;
    sf_sqlb_set_add(&(*out)->inputs, input);
    return SF_OK;
}

sf_status sf_sqlb_join_tree(sf_sqlb *b, sf_sqlb_tree *left, sf_sqlb_tree *right, sf_join_kind kind,
                            sf_sqlb_tree **out)
{
    SF_TRY(new_tree(b, SF_TREE_JOIN, out));
    (*out)->join = kind;
    (*out)->left = left;
    (*out)->right = right;
    (*out)->inputs = sf_sqlb_set_join(&left->inputs, &right->inputs);
    return SF_OK;
}

sf_status sf_sqlb_mark_tree(sf_sqlb *b, sf_sqlb_scope *scope, sf_sqlb_tree *right,
                            const sf_sqlb_conds *on, sf_span span, const sf_expr **value)
{
    sf_sqlb_tree *tree;
    sf_sqlb_input mark = {.span = span, .hidden = true, .mark = true};
    SF_TRY(new_tree(b, SF_TREE_MARK, &tree));
    SF_TRY(sf_sqlb_add_input(b, NULL, &mark, &tree->input));
    tree->left = scope->tree;
    tree->right = right;
    tree->on = *on;
    tree->inputs = scope->tree->inputs;
    sf_sqlb_set_add(&tree->inputs, tree->input);
    scope->tree = tree;
    return sf_sqlb_vcol_expr(b, b->inputs.data[tree->input].first, span, value);
}

sf_status sf_sqlb_hidden_input(sf_sqlb *b, const sf_sqlb_rel *rel, sf_span span, uint32_t *number,
                               sf_sqlb_tree **out)
{
    sf_sqlb_input input = {.span = span, .rel = *rel, .hidden = true};
    SF_TRY(sf_sqlb_add_input(b, NULL, &input, number));
    return leaf(b, *number, out);
}

/* ---- inputs ---- */

static sf_status add_leaf(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_input *ast,
                          sf_sqlb_rel *rel, sf_sqlb_tree **out)
{
    uint32_t number;
    SF_TRY(sf_sqlb_rename_columns(b, &ast->columns, rel));
    sf_sqlb_input input = {.alias = sf_sqlb_alias_of(ast), .span = ast->span, .rel = *rel};
    SF_TRY(sf_sqlb_add_input(b, scope, &input, &number));
    return leaf(b, number, out);
}

static sf_status bind_relation(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_input *ast,
                               sf_sqlb_tree **out)
{
    sf_sqlb_rel rel;
    SF_TRY(sf_sqlb_input_rel(b, scope, ast, &rel));
    return add_leaf(b, scope, ast, &rel, out);
}

/* ---- UNNEST ---- */

static sf_status check_unnest(sf_sqlb *b, const sf_sql_input *join)
{
    const sf_sql_input *ast = join->join.right;
    sf_sql_join_kind kind = join->join.kind;
    if (kind != SF_SQL_JOIN_INNER && kind != SF_SQL_JOIN_CROSS)
        return sf_sqlb_fail(b, SF_INVALID, join->join.word,
                            "write CROSS JOIN UNNEST; a row with an empty array has no elements",
                            "%s JOIN cannot join UNNEST", sf_sql_join_text(kind));
    if (join->join.natural || join->join.asof || join->join.using_columns.count ||
        join->join.within.ms)
        return sf_sqlb_fail(b, SF_INVALID, join->join.word, "write CROSS JOIN UNNEST(...) AS alias",
                            "UNNEST takes no NATURAL, ASOF, USING or WITHIN");
    size_t given = ast->unnest.ordinality ? 2 : 1;
    if (ast->columns.count > given)
        return sf_sqlb_fail(b, SF_INVALID, ast->columns.items[given].span,
                            given == 1 ? "leave the other names out, or write WITH ORDINALITY"
                                       : "leave the other names out",
                            given == 1 ? "UNNEST gives one column"
                                       : "UNNEST WITH ORDINALITY gives two columns");
    return SF_OK;
}

static sf_status check_array(sf_sqlb *b, const sf_expr *array, sf_span span)
{
    sf_sqlb_set read = {{0}};
    sf_sqlb_inputs_of(b, array, &read);
    for (uint32_t n = 0; n < b->inputs.len; n++) {
        if (sf_sqlb_set_has(&read, n) && b->inputs.data[n].element)
            return sf_sqlb_fail(b, SF_INVALID, span,
                                "name the inner elements in a second table that reads this one",
                                "UNNEST cannot take the element of another UNNEST");
    }
    if (array->type == SF_TYPE_JSON)
        return SF_OK;
    return sf_sqlb_fail(b, SF_INVALID, span,
                        "UNNEST takes a Json field or path that holds an array",
                        "UNNEST cannot take %s", sf_type_name(array->type));
}

/* The element and, WITH ORDINALITY, its number. */
static sf_status element_columns(sf_sqlb *b, const sf_sql_input *ast, sf_sqlb_rel *out)
{
    sf_str names[2] = {ast->alias.text, SF_STR("ordinality")};
    *out = (sf_sqlb_rel){.count = ast->unnest.ordinality ? 2 : 1, .windowed = true};
    out->columns = SF_ARENA_ARRAY(b->scratch, sf_sqlb_column, out->count);
    if (!out->columns)
        return sf_fail_memory(b->err);
    for (uint32_t i = 0; i < out->count; i++) {
        sf_str name = i < ast->columns.count ? ast->columns.items[i].text : names[i];
        out->columns[i].name = sf_arena_strndup(b->arena, name.data, name.len);
        out->columns[i].type = i ? SF_TYPE_I64 : SF_TYPE_JSON;
        if (!out->columns[i].name)
            return sf_fail_memory(b->err);
    }
    return SF_OK;
}

static sf_status bind_unnest(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_input *join,
                             sf_sqlb_tree *left, sf_sqlb_tree **out)
{
    const sf_sql_input *ast = join->join.right;
    SF_TRY(check_unnest(b, join));
    SF_TRY(new_tree(b, SF_TREE_UNNEST, out));
    scope->place = "UNNEST";
    scope->no_subqueries = true;
    SF_TRY(sf_sqlb_expr(b, scope, ast->unnest.array, &(*out)->array));
    SF_TRY(check_array(b, (*out)->array, ast->unnest.array->span));
    sf_sqlb_input input = {.alias = ast->alias.text, .span = ast->span, .element = true};
    SF_TRY(element_columns(b, ast, &input.rel));
    SF_TRY(sf_sqlb_add_input(b, scope, &input, &(*out)->input));
    (*out)->left = left;
    (*out)->inputs = left->inputs;
    sf_sqlb_set_add(&(*out)->inputs, (*out)->input);
    return SF_OK;
}

/* ---- USING, NATURAL ---- */

/* A column by name among inputs[from..to): a merged one or the only one. */
static sf_status side_column(sf_sqlb *b, const sf_sqlb_scope *scope, sf_sql_name name, size_t from,
                             size_t to, sf_sqlb_merged *out)
{
    *out = (sf_sqlb_merged){.name = name.text};
    for (size_t i = 0; i < scope->merged_count; i++) {
        const sf_sqlb_merged *merged = &scope->merged[i];
        if (merged->from >= from && merged->from < to && sf_str_eq_nocase(merged->name, name.text))
            *out = *merged;
    }
    for (size_t i = from; i < to && !out->expr; i++) {
        const sf_sqlb_input *input = &b->inputs.data[scope->inputs[i]];
        int column = sf_sqlb_find_column(input, name.text);
        if (column == -1)
            continue;
        if (column == -2 || out->vcol_count)
            return sf_sqlb_fail(b, SF_INVALID, name.span, "write ON with the alias of each side",
                                "column \"%.*s\" is ambiguous", SQLB_NAME(name.text));
        SQLB_PUSH(b, out->vcols, out->vcol_count, input->first + (uint32_t)column);
    }
    if (out->expr || !out->vcol_count)
        return SF_OK;
    return sf_sqlb_vcol_expr(b, out->vcols[0], name.span, &out->expr);
}

/* One column of USING: an equality of the join, and a merged column of the scope. */
static sf_status merge_column(sf_sqlb *b, sf_sqlb_scope *scope, sf_sql_name name, size_t from,
                              size_t middle, sf_sqlb_tree *join)
{
    sf_sqlb_merged left, right;
    SF_TRY(side_column(b, scope, name, from, middle, &left));
    SF_TRY(side_column(b, scope, name, middle, scope->input_count, &right));
    if (!left.expr || !right.expr)
        return sf_sqlb_fail(b, SF_NOT_FOUND, name.span,
                            "both sides must have it; otherwise write ON",
                            "column \"%.*s\" of USING does not exist on the %s side",
                            SQLB_NAME(name.text), left.expr ? "right" : "left");
    const sf_expr *sides[2] = {left.expr, right.expr};
    sf_sqlb_cond cond = {.left = left.expr, .right = right.expr};
    SF_TRY(sf_expr_call(b->arena, SF_STR("="), sides, 2, name.span, &cond.expr, b->err));
    sf_sqlb_inputs_of(b, cond.expr, &cond.inputs);
    SQLB_PUSH(b, join->on.items, join->on.count, cond);
    sf_sqlb_merged merged = left;
    merged.from = from;
    for (size_t i = 0; i < right.vcol_count; i++)
        SQLB_PUSH(b, merged.vcols, merged.vcol_count, right.vcols[i]);
    if (join->join == SF_JOIN_RIGHT)
        merged.expr = right.expr;
    if (join->join == SF_JOIN_FULL)
        SF_TRY(sf_expr_coalesce(b->arena, sides, 2, name.span, &merged.expr, b->err));
    SQLB_PUSH(b, scope->merged, scope->merged_count, merged);
    return SF_OK;
}

static sf_status merge_natural(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_input *ast,
                               size_t from, size_t middle, sf_sqlb_tree *join)
{
    size_t before = join->on.count;
    for (size_t i = from; i < middle; i++) {
        const sf_sqlb_rel *rel = &b->inputs.data[scope->inputs[i]].rel;
        for (uint32_t c = 0; c < rel->count; c++) {
            sf_sql_name name = {.text = sf_str_of(rel->columns[c].name), .span = ast->join.word};
            sf_sqlb_merged right;
            SF_TRY(side_column(b, scope, name, middle, scope->input_count, &right));
            bool done = false;
            for (size_t m = 0; m < scope->merged_count; m++)
                done |= scope->merged[m].from == from &&
                        sf_str_eq_nocase(scope->merged[m].name, name.text) &&
                        scope->merged[m].vcol_count > 1;
            if (right.expr && !done)
                SF_TRY(merge_column(b, scope, name, from, middle, join));
        }
    }
    if (join->on.count > before)
        return SF_OK;
    return sf_sqlb_fail(b, SF_INVALID, ast->join.word, "write JOIN ... ON, or CROSS JOIN",
                        "NATURAL JOIN finds no column that both sides have");
}

/* ---- joins ---- */

static sf_status check_join(sf_sqlb *b, const sf_sql_input *ast)
{
    bool cross = ast->join.kind == SF_SQL_JOIN_CROSS;
    bool condition = ast->join.on || ast->join.using_columns.count || ast->join.natural;
    sf_span word = ast->join.word;
    if (ast->join.asof)
        return sf_sqlb_check_asof(b, ast);
    if (cross && condition)
        return sf_sqlb_fail(b, SF_INVALID, word, "write JOIN ... ON instead",
                            "CROSS JOIN takes no condition");
    if (!cross && !condition)
        return sf_sqlb_fail(b, SF_INVALID, word,
                            "add ON with an equality, or write CROSS JOIN for every pair",
                            "%s JOIN needs ON", sf_sql_join_text(ast->join.kind));
    if (b->kind == SF_PLAN_PIPELINE && !ast->join.within.ms)
        return sf_sqlb_fail(b, SF_INVALID, word,
                            "add WITHIN and a duration before ON, as WITHIN 5 SECONDS, or make the "
                            "query a table",
                            "a JOIN of streams needs WITHIN");
    if (b->kind == SF_PLAN_TABLE && ast->join.within.ms)
        return sf_sqlb_fail(b, SF_INVALID, ast->join.within.span,
                            "remove WITHIN, or make the query a pipeline",
                            "a table joins all rows there are and takes no WITHIN");
    return SF_OK;
}

static bool has_equality(const sf_sqlb_tree *join)
{
    size_t times = join->asof && !join->own_times;
    for (size_t i = 0; i + times < join->on.count; i++) {
        const sf_sqlb_cond *cond = &join->on.items[i];
        if (cond->left && sf_sqlb_set_meets(&cond->inputs, &join->left->inputs) &&
            sf_sqlb_set_meets(&cond->inputs, &join->right->inputs))
            return true;
    }
    return false;
}

/* ON of an inner join filters like WHERE; of an outer one, only the side that is not kept. */
static sf_status place_on(sf_sqlb *b, sf_sqlb_tree *join, const sf_sqlb_conds *conds)
{
    for (size_t i = 0; i < conds->count; i++) {
        const sf_sqlb_cond *cond = &conds->items[i];
        bool some = !sf_sqlb_set_empty(&cond->inputs);
        bool left = some && sf_sqlb_set_within(&cond->inputs, &join->left->inputs) &&
                    (join->join == SF_JOIN_INNER || join->join == SF_JOIN_RIGHT);
        bool right = some && sf_sqlb_set_within(&cond->inputs, &join->right->inputs) &&
                     (join->join == SF_JOIN_INNER || join->join == SF_JOIN_LEFT);
        if (left || right)
            SF_TRY(sf_sqlb_push(b, left ? join->left : join->right, cond));
        else
            SQLB_PUSH(b, join->on.items, join->on.count, *cond);
    }
    return SF_OK;
}

/* ON of a join; *out, the join, goes below what subqueries join to it. */
static sf_status bind_on(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_input *ast, size_t from,
                         sf_sqlb_tree **out)
{
    sf_sqlb_conds conds = {0};
    sf_sqlb_tree *join = *out;
    size_t outer = scope->from;
    bool inner =
        join->kind == SF_TREE_JOIN && join->join == SF_JOIN_INNER && b->kind == SF_PLAN_TABLE;
    scope->from = from;
    scope->place = "ON";
    scope->no_subqueries = !inner;
    if (inner)
        scope->tree = join;
    SF_TRY(sf_sqlb_conditions(b, scope, ast->join.on, &conds));
    scope->from = outer;
    if (inner)
        join = scope->tree;
    *out = join;
    for (size_t i = 0; inner && i < conds.count; i++)
        SF_TRY(sf_sqlb_push(b, join, &conds.items[i]));
    if (inner)
        return SF_OK;
    if (join->kind == SF_TREE_JOIN)
        return place_on(b, join, &conds);
    for (size_t i = 0; i < conds.count; i++)
        SF_TRY(sf_sqlb_push(b, join, &conds.items[i]));
    return SF_OK;
}

static sf_status bind_join(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_input *ast,
                           sf_sqlb_tree **out)
{
    static const sf_join_kind kinds[] = {
        [SF_SQL_JOIN_INNER] = SF_JOIN_INNER, [SF_SQL_JOIN_LEFT] = SF_JOIN_LEFT,
        [SF_SQL_JOIN_RIGHT] = SF_JOIN_RIGHT, [SF_SQL_JOIN_FULL] = SF_JOIN_FULL,
        [SF_SQL_JOIN_CROSS] = SF_JOIN_INNER,
    };
    size_t from = scope->input_count;
    sf_sqlb_tree *left, *right, *join;
    SF_TRY(bind_input(b, scope, ast->join.left, &left));
    if (ast->join.right->kind == SF_INPUT_UNNEST) {
        SF_TRY(bind_unnest(b, scope, ast, left, out));
        return ast->join.on ? bind_on(b, scope, ast, from, out) : SF_OK;
    }
    size_t middle = scope->input_count;
    SF_TRY(check_join(b, ast));
    SF_TRY(bind_input(b, scope, ast->join.right, &right));
    SF_TRY(sf_sqlb_join_tree(b, left, right, kinds[ast->join.kind], &join));
    *out = join;
    if (ast->join.within.ms)
        join->within_ms = ast->join.within.ms;
    if (ast->join.natural)
        SF_TRY(merge_natural(b, scope, ast, from, middle, *out));
    for (size_t i = 0; i < ast->join.using_columns.count; i++)
        SF_TRY(merge_column(b, scope, ast->join.using_columns.items[i], from, middle, *out));
    if (ast->join.asof)
        SF_TRY(sf_sqlb_asof(b, scope, ast, from, *out));
    else if (ast->join.on)
        SF_TRY(bind_on(b, scope, ast, from, out));
    if (ast->join.kind != SF_SQL_JOIN_CROSS && !has_equality(join))
        SF_TRY(sf_sqlb_warn(b, ast->join.word,
                            "the JOIN has no equality between its sides: every pair of rows is "
                            "compared, on one partition"));
    return SF_OK;
}

static sf_status bind_input(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_input *ast,
                            sf_sqlb_tree **out)
{
    switch (ast->kind) {
    case SF_INPUT_NAME:
    case SF_INPUT_QUERY:
    case SF_INPUT_WINDOW: return bind_relation(b, scope, ast, out);
    case SF_INPUT_JOIN: return bind_join(b, scope, ast, out);
    case SF_INPUT_UNNEST: break;
    }
    return sf_sqlb_fail(b, SF_INVALID, ast->span, "write it behind the input it belongs to",
                        "UNNEST cannot come first");
}

/* ---- FROM and WHERE ---- */

/* Several inputs: the _ts of joined rows is a column of its own. */
static sf_status add_time(sf_sqlb *b, sf_sqlb_scope *scope)
{
    size_t timed = 0;
    for (size_t i = 0; i < scope->input_count; i++)
        timed += !b->inputs.data[scope->inputs[i]].element;
    if (timed < 2)
        return SF_OK;
    uint32_t number;
    sf_sqlb_input time = {.span = scope->select->from->span, .hidden = true, .time = true};
    SF_TRY(sf_sqlb_add_input(b, scope, &time, &number));
    scope->ts = b->inputs.data[number].first;
    scope->tree->time_input = (int)number;
    sf_sqlb_set_add(&scope->tree->inputs, number);
    return SF_OK;
}

sf_status sf_sqlb_from(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_select *select,
                       sf_sqlb_conds *correlated)
{
    sf_sqlb_conds conds = {0};
    scope->select = select;
    scope->ts = UINT32_MAX;
    if (select->from) {
        SF_TRY(bind_input(b, scope, select->from, &scope->tree));
        SF_TRY(add_time(b, scope));
    } else {
        SF_TRY(sf_sqlb_no_from(b, scope));
    }
    scope->no_subqueries = false;
    if (!select->where)
        return SF_OK;
    scope->place = "WHERE";
    scope->may_correlate = correlated != NULL;
    SF_TRY(sf_sqlb_conditions(b, scope, select->where, &conds));
    scope->may_correlate = false;
    for (size_t i = 0; i < conds.count; i++) {
        const sf_sqlb_cond *cond = &conds.items[i];
        bool outside = !sf_sqlb_set_within(&cond->inputs, &scope->tree->inputs);
        if (correlated && outside && cond->bound)
            return sf_sqlb_fail(b, SF_INVALID, cond->expr->span, "move it to the outer query",
                                "a condition with NOW() cannot read columns of an outer query");
        if (correlated && outside)
            SQLB_PUSH(b, correlated->items, correlated->count, *cond);
        else
            SF_TRY(sf_sqlb_push(b, scope->tree, cond));
    }
    return SF_OK;
}

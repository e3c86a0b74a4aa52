/* bind_subquery.c: IN, EXISTS and scalar subqueries become joins.
 *
 * Membership is a semi or anti join, so duplicates of the subquery never multiply rows. A scalar
 * subquery is one aggregate: a single row joined to every row, or, when it is correlated, one row
 * for each value it is correlated by. */
#include "sql/bind.h"

static sf_status check_windowed(sf_sqlb *b, bool windowed, sf_span span)
{
    if (b->kind != SF_PLAN_PIPELINE)
        return SF_OK;
    if (!windowed)
        return sf_sqlb_fail(b, SF_INVALID, span,
                            "give the subquery a WINDOW, or make the query a table",
                            "in a pipeline a subquery must be windowed: what it gives must end");
    return SF_OK;
}

/* In a pipeline rows meet the subquery's last closed window. */
static void mark_snapshot(const sf_sqlb *b, sf_sqlb_tree *join, sf_span span)
{
    join->snapshot = b->kind == SF_PLAN_PIPELINE;
    join->span = span;
}

/* Refuses what no subquery may have; *select: its only SELECT, NULL when it is more than that. */
static sf_status check_subquery(sf_sqlb *b, const sf_sql_query *query, const sf_sql_select **select)
{
    const sf_sql_body *body = query->body;
    if (body->kind == SF_BODY_SET)
        return sf_sqlb_fail(b, SF_INVALID, body->set.op_span,
                            "put it in FROM: (SELECT ... FROM (... UNION ...) alias)",
                            "%s cannot stand directly in a subquery of an expression",
                            sf_sql_set_text(body->set.op));
    bool plain = body->kind == SF_BODY_SELECT && !query->with_count && !query->order.count &&
                 !query->has_limit && !query->has_offset;
    *select = plain ? body->select : NULL;
    return SF_OK;
}

static bool is_plain(const sf_sql_select *select)
{
    if (sf_sqlb_is_grouped(select) || select->distinct || select->latest.count)
        return false;
    for (size_t i = 0; i < select->item_count; i++) {
        if (sf_sqlb_has_over(select->items[i].expr))
            return false;
    }
    return true;
}

/* Every column that a correlated condition reads belongs to one of the two queries. */
static sf_status check_reach(sf_sqlb *b, const sf_sqlb_scope *scope, const sf_sqlb_tree *inner,
                             const sf_sqlb_conds *conds)
{
    sf_sqlb_set both = sf_sqlb_set_join(&scope->tree->inputs, &inner->inputs);
    for (size_t i = 0; i < conds->count; i++) {
        if (!sf_sqlb_set_within(&conds->items[i].inputs, &both))
            return sf_sqlb_fail(b, SF_INVALID, conds->items[i].expr->span,
                                "name the value in the query between, or write a JOIN",
                                "a subquery reads a column of a query further out than the next");
    }
    return SF_OK;
}

/* ---- membership ---- */

typedef struct {
    sf_sqlb_tree *tree;
    const sf_expr **values; /* what IN compares with */
    size_t count;
    sf_sqlb_conds correlated;
} inner_side;

/* The values of a plain subquery, over its inputs' columns. */
static sf_status plain_values(sf_sqlb *b, sf_sqlb_scope *inner, const sf_sql_select *select,
                              bool exists, inner_side *out)
{
    inner->place = "SELECT";
    inner->no_subqueries = true;
    for (size_t i = 0; i < select->item_count; i++) {
        const sf_sql_expr *ast = select->items[i].expr;
        const sf_expr *value;
        if (ast->kind != SF_EX_STAR) {
            SF_TRY(sf_sqlb_expr(b, inner, ast, &value));
            SQLB_PUSH(b, out->values, out->count, value);
            continue;
        }
        for (size_t n = 0; n < inner->input_count && !exists; n++) {
            const sf_sqlb_input *input = &b->inputs.data[inner->inputs[n]];
            if (ast->star.text.len && !sf_str_eq(ast->star.text, input->alias))
                continue;
            for (uint32_t c = 0; c < input->rel.count; c++) {
                SF_TRY(sf_sqlb_vcol_expr(b, input->first + c, ast->span, &value));
                SQLB_PUSH(b, out->values, out->count, value);
                input = &b->inputs.data[inner->inputs[n]];
            }
        }
    }
    return SF_OK;
}

static bool all_windowed(const sf_sqlb *b, const sf_sqlb_scope *scope)
{
    for (size_t i = 0; i < scope->input_count; i++) {
        if (!b->inputs.data[scope->inputs[i]].rel.windowed)
            return false;
    }
    return scope->input_count > 0;
}

static sf_status plain_side(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_select *select,
                            bool exists, inner_side *out)
{
    sf_sqlb_scope inner = {.outer = scope, .outer_use = SF_OUTER_CORRELATED};
    SF_TRY(sf_sqlb_from(b, &inner, select, &out->correlated));
    SF_TRY(check_windowed(b, all_windowed(b, &inner), select->span));
    SF_TRY(plain_values(b, &inner, select, exists, out));
    out->tree = inner.tree;
    return SF_OK;
}

/* Grouped, windowed and nested subqueries are relations of their own. */
static sf_status derived_side(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                              inner_side *out)
{
    sf_sqlb_rel rel;
    uint32_t number;
    SF_TRY(sf_sqlb_query(b, ast->query, scope, SF_OUTER_CORRELATED, false, &rel));
    SF_TRY(check_windowed(b, rel.windowed, ast->query->span));
    SF_TRY(sf_sqlb_hidden_input(b, &rel, ast->query->span, &number, &out->tree));
    for (uint32_t i = 0; i + rel.window_columns < rel.count && ast->kind != SF_EX_EXISTS; i++) {
        const sf_expr *value;
        SF_TRY(sf_sqlb_vcol_expr(b, b->inputs.data[number].first + i, ast->span, &value));
        SQLB_PUSH(b, out->values, out->count, value);
    }
    return SF_OK;
}

static sf_status equality(sf_sqlb *b, const sf_expr *left, const sf_expr *right, sf_span span,
                          sf_sqlb_cond *out)
{
    const sf_expr *sides[2] = {left, right};
    *out = (sf_sqlb_cond){.left = left, .right = right};
    SF_TRY(sf_expr_call(b->arena, SF_STR("="), sides, 2, span, &out->expr, b->err));
    sf_sqlb_inputs_of(b, out->expr, &out->inputs);
    return SF_OK;
}

/* NULLs of NOT IN's subquery are ignored: rows with one leave before the join. */
static sf_status drop_nulls(sf_sqlb *b, const inner_side *side, sf_span span)
{
    for (size_t i = 0; i < side->count; i++) {
        sf_sqlb_cond cond = {0};
        SF_TRY(sf_expr_call(b->arena, SF_STR("is not null"), &side->values[i], 1, span, &cond.expr,
                            b->err));
        sf_sqlb_inputs_of(b, cond.expr, &cond.inputs);
        SF_TRY(sf_sqlb_push(b, side->tree, &cond));
    }
    return SF_OK;
}

/* How a subquery's rows decide: a join, and for ANY and ALL what must hold for a row to count. */
typedef struct {
    sf_join_kind join;
    const char *test; /* NULL: equality, which can be a key; "": the comparison itself */
    unsigned skip;    /* equality: values that are not compared, as bits */
} decision;

/* x > ALL (q) holds when no row has x > y not true, and so on: NULLs decide as SQL says. */
static decision decide(const sf_sql_expr *ast, bool negated)
{
    negated ^= ast->negated;
    if (ast->kind == SF_EX_EXISTS)
        return (decision){negated ? SF_JOIN_ANTI : SF_JOIN_SEMI, NULL, 0};
    bool in = ast->kind == SF_EX_IN_QUERY || (ast->op == SF_OP_EQUAL && ast->any);
    bool not_in = ast->kind == SF_EX_QUANTIFIED && ast->op == SF_OP_NOT_EQUAL && !ast->any;
    if (in || not_in)
        return (decision){negated != not_in ? SF_JOIN_NOT_IN : SF_JOIN_SEMI, NULL, 0};
    if (ast->any)
        return negated ? (decision){SF_JOIN_ANTI, "is not false", 0}
                       : (decision){SF_JOIN_SEMI, "", 0};
    return negated ? (decision){SF_JOIN_SEMI, "is false", 0}
                   : (decision){SF_JOIN_ANTI, "is not true", 0};
}

/* ANY and ALL: what must hold between the values and a row of the subquery. */
static sf_status compare_test(sf_sqlb *b, const sf_sql_expr *ast, const decision *how,
                              const sf_expr **values, const inner_side *side, sf_sqlb_cond *out)
{
    sf_sqlb_row left = {values, side->count}, right = {side->values, side->count};
    *out = (sf_sqlb_cond){0};
    SF_TRY(sf_sqlb_compare_rows(b, ast->op, false, &left, &right, ast->op_span, &out->expr));
    if (how->test[0])
        SF_TRY(sf_expr_call(b->arena, sf_str_of(how->test), &out->expr, 1, ast->op_span, &out->expr,
                            b->err));
    sf_sqlb_inputs_of(b, out->expr, &out->inputs);
    return SF_OK;
}

static sf_status compare_values(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                                const decision *how, const inner_side *side, sf_sqlb_conds *out)
{
    const sf_sql_expr *subject = ast->args.items[0];
    bool row = subject->kind == SF_EX_ROW;
    size_t count = row ? subject->args.count : 1;
    const char *name = ast->kind == SF_EX_IN_QUERY ? "IN" : ast->any ? "ANY" : "ALL";
    if (count != side->count)
        return sf_sqlb_fail(b, SF_INVALID, ast->query->span,
                            row ? "select as many columns as the row has values"
                                : "select the one column to compare with",
                            "the subquery of %s gives %zu columns, not %zu", name, side->count,
                            count);
    const sf_expr **values = SF_ARENA_ARRAY(b->scratch, const sf_expr *, count + 1);
    const char *place = scope->place;
    sf_sqlb_cond cond;
    if (!values)
        return sf_fail_memory(b->err);
    scope->place = name;
    for (size_t i = 0; i < count; i++) {
        SF_TRY(sf_sqlb_expr(b, scope, row ? subject->args.items[i] : subject, &values[i]));
        if (how->test || how->skip >> i & 1)
            continue;
        SF_TRY(equality(b, values[i], side->values[i], ast->op_span, &cond));
        SQLB_PUSH(b, out->items, out->count, cond);
    }
    scope->place = place;
    if (!how->test)
        return SF_OK;
    SF_TRY(compare_test(b, ast, how, values, side, &cond));
    SQLB_PUSH(b, out->items, out->count, cond);
    return SF_OK;
}

/* The subquery's side and the conditions that join it. */
static sf_status bind_side(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                           const decision *how, inner_side *side, sf_sqlb_conds *on)
{
    const sf_sql_select *select;
    bool exists = ast->kind == SF_EX_EXISTS;
    SF_TRY(check_subquery(b, ast->query, &select));
    if (select && is_plain(select))
        SF_TRY(plain_side(b, scope, select, exists, side));
    else
        SF_TRY(derived_side(b, scope, ast, side));
    SF_TRY(check_reach(b, scope, side->tree, &side->correlated));
    if (!exists)
        SF_TRY(compare_values(b, scope, ast, how, side, on));
    for (size_t i = 0; i < side->correlated.count; i++)
        SQLB_PUSH(b, on->items, on->count, side->correlated.items[i]);
    for (size_t i = 0; i < on->count; i++)
        SF_TRY(sf_sqlb_check_keyed(b, scope, on->items[i].expr));
    return SF_OK;
}

sf_status sf_sqlb_membership(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast, bool negated,
                             bool *done)
{
    inner_side side = {0};
    sf_sqlb_conds on = {0};
    sf_sqlb_tree *join;
    decision how = decide(ast, negated);
    SF_TRY(bind_side(b, scope, ast, &how, &side, &on));
    /* The one-key anti join knows whether the whole subquery is empty, not one key's part of it; and
     * it has a key: a constant on one side is none. */
    *done = how.join != SF_JOIN_NOT_IN ||
            (on.count == 1 && sf_sqlb_is_key(b, scope->tree, side.tree, &on.items[0]));
    if (!*done)
        return SF_OK;
    if (how.join == SF_JOIN_NOT_IN)
        SF_TRY(drop_nulls(b, &side, ast->op_span));
    SF_TRY(sf_sqlb_join_tree(b, scope->tree, side.tree, how.join, &join));
    mark_snapshot(b, join, ast->query->span);
    join->on = on;
    scope->tree = join;
    return SF_OK;
}

/* ---- membership as a value ---- */

enum { IN_VALUES_MAX = 4 };

static sf_status check_place(sf_sqlb *b, const sf_sqlb_scope *scope, sf_span span)
{
    if (scope->no_subqueries || !scope->tree)
        return sf_sqlb_not_yet(b, span, "a subquery in this clause",
                               "name its value in FROM, with CROSS JOIN (SELECT ...) alias");
    if (scope->group && !scope->in_aggregate)
        return sf_sqlb_fail(b, SF_INVALID, span,
                            "put it inside an aggregate, as MAX((SELECT ...)), or join it in FROM",
                            "in a grouped query a subquery must stand inside an aggregate");
    return SF_OK;
}

/* Whether the subquery has a row for which `how` holds. */
static sf_status mark(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast, const decision *how,
                      const sf_expr **out)
{
    inner_side side = {0};
    sf_sqlb_conds on = {0};
    SF_TRY(bind_side(b, scope, ast, how, &side, &on));
    if (ast->kind != SF_EX_EXISTS && !how->test)
        SF_TRY(drop_nulls(b, &side, ast->op_span));
    SF_TRY(sf_sqlb_mark_tree(b, scope, side.tree, &on, ast->op_span, out));
    mark_snapshot(b, scope->tree, ast->query->span);
    return SF_OK;
}

static sf_status bool_or_null(sf_sqlb *b, bool is_null, bool value, sf_span span,
                              const sf_expr **out)
{
    sf_literal literal = {.is_null = is_null, .as.boolean = value};
    return sf_expr_literal(b->arena, SF_TYPE_BOOL, &literal, span, out, b->err);
}

/* decided when `first` holds, else NULL when `unknown` does, else the opposite. */
static sf_status three_valued(sf_sqlb *b, const sf_expr *first, bool decided,
                              const sf_expr *unknown, sf_span span, const sf_expr **out)
{
    const sf_expr *parts[5] = {first, NULL, unknown, NULL, NULL};
    SF_TRY(bool_or_null(b, false, decided, span, &parts[1]));
    SF_TRY(bool_or_null(b, true, false, span, &parts[3]));
    SF_TRY(bool_or_null(b, false, !decided, span, &parts[4]));
    return sf_expr_case(b->arena, parts, 5, span, out, b->err);
}

/* Values that are NULL make a row unknown when the others meet a row of q. *out: these values are
 * NULL, and there is such a row. */
static sf_status unknown_by(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                            const sf_sql_exprs *values, unsigned nulls, const sf_expr **out)
{
    const decision others = {SF_JOIN_SEMI, NULL, nulls};
    const sf_expr *parts[IN_VALUES_MAX + 1];
    uint32_t count = 0;
    SF_TRY(mark(b, scope, ast, &others, &parts[count++]));
    for (size_t i = 0; i < values->count; i++) {
        const sf_expr *value;
        if (!(nulls >> i & 1))
            continue;
        SF_TRY(sf_sqlb_expr(b, scope, values->items[i], &value));
        SF_TRY(sf_expr_call(b->arena, SF_STR("is null"), &value, 1, ast->op_span, &parts[count++],
                            b->err));
    }
    return sf_expr_logic(b->arena, SF_EXPR_AND, parts, count, ast->op_span, out, b->err);
}

/* Bits of the values that are constants and so never NULL. */
static unsigned constants(const sf_sql_exprs *values)
{
    unsigned bits = 0;
    for (size_t i = 0; i < values->count; i++) {
        sf_sql_expr_kind kind = values->items[i]->kind;
        bits |= (unsigned)(kind >= SF_EX_BOOL && kind <= SF_EX_STRING) << i;
    }
    return bits;
}

/* x IN (q): NULLs of q are left out; with x NULL it is unknown unless q is empty. Of a row each set
 * of values may be the one that is NULL. */
static sf_status in_value(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast, bool negated,
                          const sf_expr **out)
{
    static const decision equal = {SF_JOIN_SEMI, NULL, 0};
    bool row = ast->args.items[0]->kind == SF_EX_ROW;
    const sf_sql_exprs *values = row ? &ast->args.items[0]->args : &ast->args;
    const sf_expr *matched, *unknown[1 << IN_VALUES_MAX];
    uint32_t count = 0;
    if (values->count > IN_VALUES_MAX)
        return sf_sqlb_fail(
            b, SF_LIMIT, ast->op_span, "write [NOT] EXISTS (SELECT 1 ... WHERE ...)",
            "rows before NOT IN, and before IN as a value, have at most %d values", IN_VALUES_MAX);
    SF_TRY(mark(b, scope, ast, &equal, &matched));
    for (unsigned nulls = 1; nulls < 1u << values->count; nulls++) {
        if (!(nulls & constants(values)))
            SF_TRY(unknown_by(b, scope, ast, values, nulls, &unknown[count++]));
    }
    if (!count)
        SF_TRY(bool_or_null(b, false, false, ast->op_span, &unknown[count++]));
    if (count > 1)
        SF_TRY(
            sf_expr_logic(b->arena, SF_EXPR_OR, unknown, count, ast->op_span, &unknown[0], b->err));
    return three_valued(b, matched, !negated, unknown[0], ast->op_span, out);
}

/* x > ANY (q): true when one row makes it so, unknown when one might; ALL the other way round. */
static sf_status quantified_value(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                                  const sf_expr **out)
{
    decision decides = {SF_JOIN_SEMI, ast->any ? "" : "is false", 0};
    decision might = {SF_JOIN_SEMI, "is null", 0};
    const sf_expr *decided, *unknown;
    SF_TRY(mark(b, scope, ast, &decides, &decided));
    SF_TRY(mark(b, scope, ast, &might, &unknown));
    return three_valued(b, decided, ast->any, unknown, ast->op_span, out);
}

sf_status sf_sqlb_membership_value(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                                   const sf_expr **out)
{
    SF_TRY(check_place(b, scope, ast->op_span));
    if (ast->kind == SF_EX_EXISTS) {
        static const decision any = {SF_JOIN_SEMI, NULL, 0};
        return mark(b, scope, ast, &any, out);
    }
    bool not_in = ast->kind == SF_EX_QUANTIFIED && ast->op == SF_OP_NOT_EQUAL && !ast->any;
    if (ast->kind == SF_EX_IN_QUERY || not_in || (ast->op == SF_OP_EQUAL && ast->any))
        return in_value(b, scope, ast, ast->negated != not_in, out);
    return quantified_value(b, scope, ast, out);
}

/* ---- scalar subqueries ---- */

static sf_status check_scalar(sf_sqlb *b, const sf_sqlb_scope *scope, const sf_sql_expr *ast,
                              const sf_sql_select **select)
{
    static const char one[] = "select one aggregate, such as MAX(x), without GROUP BY";
    SF_TRY(check_place(b, scope, ast->span));
    SF_TRY(check_subquery(b, ast->query, select));
    if (!*select)
        return sf_sqlb_fail(b, SF_INVALID, ast->span, one,
                            "a subquery used as a value is one plain SELECT");
    if ((*select)->item_count != 1)
        return sf_sqlb_fail(b, SF_INVALID, (*select)->items[1].expr->span, one,
                            "a subquery used as a value gives one column, not %zu",
                            (*select)->item_count);
    bool windowed = (*select)->window.span.length > 0;
    SF_TRY(check_windowed(b, windowed, ast->span));
    windowed = windowed && b->kind != SF_PLAN_PIPELINE; /* there each close replaces the value */
    if (!sf_sqlb_has_aggregate((*select)->items[0].expr) || (*select)->group_span.length ||
        (*select)->having || (*select)->distinct || (*select)->latest.count || windowed)
        return sf_sqlb_fail(b, SF_INVALID, ast->span, one,
                            "a subquery used as a value may give more than one row or none");
    return SF_OK;
}

/* A copy of an expression with other expressions for its columns. */
static sf_status substitute(sf_sqlb *b, const sf_expr *expr, const sf_expr *const *by_column,
                            const sf_expr **out)
{
    if (expr->kind == SF_EXPR_COLUMN) {
        *out = by_column[expr->column];
        return SF_OK;
    }
    sf_expr *copy = SF_ARENA_NEW(b->arena, sf_expr);
    const sf_expr **args = SF_ARENA_ARRAY(b->arena, const sf_expr *, expr->arg_count + 1u);
    if (!copy || !args)
        return sf_fail_memory(b->err);
    *copy = *expr;
    copy->args = args;
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        SF_TRY(substitute(b, expr->args[i], by_column, &args[i]));
        if (args[i]->depth >= copy->depth)
            copy->depth = (uint16_t)(args[i]->depth + 1);
    }
    *out = copy;
    return SF_OK;
}

/* The grouped row as an input of the outer query: its keys and aggregates are the columns. */
static sf_status grouped_input(sf_sqlb *b, const sf_sqlb_scope *inner, const sf_sqlb_group *group,
                               const sf_sql_window *window, sf_span span, uint32_t *number,
                               sf_sqlb_tree **out)
{
    sf_sqlb_rel rel = {.count = (uint32_t)(group->key_count + group->agg_count)};
    const uint32_t *map;
    SF_TRY(sf_sqlb_group_node(b, inner, group, window, false, &rel.node, &map));
    rel.columns = SF_ARENA_ARRAY(b->scratch, sf_sqlb_column, rel.count);
    if (!rel.columns)
        return sf_fail_memory(b->err);
    const sf_schema *schema = sf_plan_at(b->plan, rel.node)->schema;
    for (uint32_t i = 0; i < rel.count; i++)
        rel.columns[i] = (sf_sqlb_column){schema->fields[i].name, schema->fields[i].type};
    return sf_sqlb_hidden_input(b, &rel, span, number, out);
}

/* What the subquery's value is over the joined columns. A key without rows has no row to join:
 * its counts are 0, its other aggregates NULL. */
static sf_status value_over(sf_sqlb *b, const sf_sqlb_group *group, const sf_expr *value,
                            uint32_t number, const sf_expr **out)
{
    uint32_t keys = (uint32_t)group->key_count, aggs = (uint32_t)group->agg_count;
    const sf_expr **by_column = SF_ARENA_ARRAY(b->scratch, const sf_expr *, keys + aggs + 2u);
    if (!by_column)
        return sf_fail_memory(b->err);
    for (uint32_t i = 0; i < aggs; i++) {
        const sf_sqlb_agg *agg = &group->aggs[i];
        const sf_expr **column = &by_column[sf_sqlb_group_column(group, i)];
        SF_TRY(
            sf_sqlb_vcol_expr(b, b->inputs.data[number].first + keys + i, agg->call.span, column));
        if (!keys || !sf_str_eq_nocase(agg->ast->call->name.text, SF_STR("COUNT")))
            continue;
        const sf_expr *args[2] = {*column, NULL};
        sf_literal zero = {0};
        SF_TRY(sf_expr_literal(b->arena, SF_TYPE_I64, &zero, agg->call.span, &args[1], b->err));
        SF_TRY(sf_expr_coalesce(b->arena, args, 2, agg->call.span, column, b->err));
    }
    return substitute(b, value, by_column, out);
}

/* Correlation by equality: the inner sides are the keys, the outer sides meet them. */
static sf_status correlation_keys(sf_sqlb *b, const sf_sqlb_scope *scope,
                                  const sf_sqlb_scope *inner, const sf_sqlb_conds *conds,
                                  sf_sqlb_group *group, const sf_expr ***outer)
{
    SF_TRY(check_reach(b, scope, inner->tree, conds));
    *outer = SF_ARENA_ARRAY(b->scratch, const sf_expr *, conds->count + 1);
    if (!*outer)
        return sf_fail_memory(b->err);
    for (size_t i = 0; i < conds->count; i++) {
        const sf_sqlb_cond *cond = &conds->items[i];
        sf_sqlb_set sides[2] = {0};
        for (int k = 0; k < 2 && cond->left; k++)
            sf_sqlb_inputs_of(b, k ? cond->right : cond->left, &sides[k]);
        bool inner_left = sf_sqlb_set_within(&sides[0], &inner->tree->inputs);
        const sf_sqlb_set *in = inner_left ? &sides[0] : &sides[1];
        const sf_sqlb_set *out = inner_left ? &sides[1] : &sides[0];
        if (!cond->left || sf_sqlb_set_empty(in) || sf_sqlb_set_empty(out) ||
            !sf_sqlb_set_within(in, &inner->tree->inputs) ||
            !sf_sqlb_set_within(out, &scope->tree->inputs))
            return sf_sqlb_fail(b, SF_INVALID, cond->expr->span,
                                "compare an inner column with an outer one by =, or write a JOIN "
                                "with GROUP BY",
                                "a subquery used as a value is correlated by something other than "
                                "an equality");
        sf_sqlb_key key = {.expr = inner_left ? cond->left : cond->right, .name = "key"};
        (*outer)[group->key_count] = inner_left ? cond->right : cond->left;
        SF_TRY(sf_sqlb_check_keyed(b, scope, (*outer)[group->key_count]));
        SQLB_PUSH(b, group->keys, group->key_count, key);
    }
    return SF_OK;
}

sf_status sf_sqlb_scalar(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                         const sf_expr **out)
{
    const sf_sql_select *select;
    sf_sqlb_conds correlated = {0};
    sf_sqlb_group group = {0};
    const sf_expr **outer, *value;
    SF_TRY(check_scalar(b, scope, ast, &select));
    sf_sqlb_scope inner = {.outer = scope, .outer_use = SF_OUTER_CORRELATED};
    SF_TRY(sf_sqlb_from(b, &inner, select, &correlated));
    SF_TRY(correlation_keys(b, scope, &inner, &correlated, &group, &outer));
    inner.group = &group;
    inner.place = "SELECT";
    SF_TRY(sf_sqlb_expr(b, &inner, select->items[0].expr, &value));
    uint32_t number;
    sf_sqlb_tree *right, *join;
    const sf_sql_window *window = b->kind == SF_PLAN_PIPELINE ? &select->window : NULL;
    group.windowed = window != NULL;
    SF_TRY(grouped_input(b, &inner, &group, window, ast->span, &number, &right));
    bool always = !group.key_count && !window; /* a global aggregate has a row at any time */
    SF_TRY(sf_sqlb_join_tree(b, scope->tree, right, always ? SF_JOIN_INNER : SF_JOIN_LEFT, &join));
    mark_snapshot(b, join, ast->span);
    for (uint32_t i = 0; i < group.key_count; i++) {
        sf_sqlb_cond cond;
        const sf_expr *key;
        SF_TRY(sf_sqlb_vcol_expr(b, b->inputs.data[number].first + i, ast->span, &key));
        SF_TRY(equality(b, outer[i], key, ast->span, &cond));
        SQLB_PUSH(b, join->on.items, join->on.count, cond);
    }
    scope->tree = join;
    return value_over(b, &group, value, number, out);
}

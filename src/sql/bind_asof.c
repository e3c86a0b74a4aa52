/* bind_asof.c: ASOF JOIN: each left row with the nearest right row of its key.
 *
 * ON takes equalities and at most one comparison of times, which MATCH_CONDITION may hold instead;
 * without any the right row is the newest that is not after the left one, by their _ts. */
#include "sql/bind.h"

sf_status sf_sqlb_check_asof(sf_sqlb *b, const sf_sql_input *ast)
{
    sf_span word = ast->join.word;
    if (b->kind == SF_PLAN_PIPELINE)
        return sf_sqlb_fail(b, SF_INVALID, word,
                            "make the query a table, or JOIN with WITHIN and a duration",
                            "ASOF JOIN keeps every row of both sides, which a pipeline cannot");
    if (ast->join.kind != SF_SQL_JOIN_INNER && ast->join.kind != SF_SQL_JOIN_LEFT)
        return sf_sqlb_fail(b, SF_INVALID, word, "write ASOF JOIN or ASOF LEFT JOIN",
                            "ASOF JOIN cannot be %s", sf_sql_join_text(ast->join.kind));
    if (ast->join.natural)
        return sf_sqlb_fail(b, SF_INVALID, word, "name the columns with USING or ON",
                            "ASOF JOIN cannot be NATURAL");
    if (ast->join.within.ms)
        return sf_sqlb_fail(b, SF_INVALID, ast->join.within.span,
                            "remove it, and compare the two times in WHERE",
                            "ASOF JOIN takes no WITHIN");
    return SF_OK;
}

typedef struct {
    sf_sqlb_tree *join;
    sf_sqlb_cond times; /* left NULL: not given */
} asof;

static bool is_comparison(const sf_sql_expr *ast)
{
    return ast->kind == SF_EX_OP && ast->op >= SF_OP_LESS && ast->op <= SF_OP_GREATER_EQUAL;
}

static sf_status wrong_times(sf_sqlb *b, sf_span where)
{
    return sf_sqlb_fail(b, SF_INVALID, where,
                        "compare a time of the left side with one of the right: l.t >= r.t",
                        "ASOF JOIN goes by one comparison of two times");
}

/* l.t >= r.t, or with >, <=, <, or turned round. */
static sf_status bind_times(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast, asof *to)
{
    if (!is_comparison(ast) || to->times.left)
        return wrong_times(b, ast->span);
    const sf_expr *sides[2];
    SF_TRY(sf_sqlb_expr(b, scope, ast->args.items[0], &sides[0]));
    SF_TRY(sf_sqlb_expr(b, scope, ast->args.items[1], &sides[1]));
    sf_sqlb_set first = {{0}};
    sf_sqlb_inputs_of(b, sides[0], &first);
    bool turned = !sf_sqlb_set_within(&first, &to->join->left->inputs);
    bool less = ast->op == SF_OP_LESS || ast->op == SF_OP_LESS_EQUAL;
    to->join->forward = less != turned;
    to->join->strict = ast->op == SF_OP_LESS || ast->op == SF_OP_GREATER;
    to->times.left = sides[0];
    to->times.right = sides[1];
    SF_TRY(sf_expr_call(b->arena, SF_STR("="), sides, 2, ast->op_span, &to->times.expr, b->err));
    sf_sqlb_inputs_of(b, to->times.expr, &to->times.inputs);
    if (!sf_sqlb_is_key(b, to->join->left, to->join->right, &to->times))
        return wrong_times(b, ast->span);
    return SF_OK;
}

/* A Long and a Double meet as Doubles, which large Longs do not survive. */
static sf_status check_kinds(sf_sqlb *b, const sf_sqlb_cond *cond)
{
    sf_type type;
    bool rough = cond->left->type != cond->right->type &&
                 sf_type_unify(cond->left->type, cond->right->type, &type) && type == SF_TYPE_F64;
    if (!rough)
        return SF_OK;
    return sf_sqlb_fail(b, SF_INVALID, cond->expr->span, "convert one side: TO_DOUBLE(...)",
                        "ASOF JOIN cannot compare a Long with a Double");
}

static sf_status bind_equalities(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast, asof *to)
{
    sf_sqlb_conds conds = {0};
    SF_TRY(sf_sqlb_conditions(b, scope, ast, &conds));
    for (size_t i = 0; i < conds.count; i++) {
        const sf_sqlb_cond *cond = &conds.items[i];
        if (!sf_sqlb_is_key(b, to->join->left, to->join->right, cond))
            return sf_sqlb_fail(b, SF_INVALID, ast->span,
                                "filter a side in FROM (SELECT ... WHERE ...) first, or the result "
                                "in WHERE",
                                "ON of an ASOF JOIN takes equalities between its sides and one "
                                "comparison of times");
        SQLB_PUSH(b, to->join->on.items, to->join->on.count, *cond);
    }
    return SF_OK;
}

static sf_status bind_on(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast, asof *to)
{
    bool all = ast->kind == SF_EX_OP && ast->op == SF_OP_AND;
    for (size_t i = 0; i < (all ? ast->args.count : 1); i++) {
        const sf_sql_expr *part = all ? ast->args.items[i] : ast;
        if (all && part->kind == SF_EX_OP && part->op == SF_OP_AND)
            SF_TRY(bind_on(b, scope, part, to));
        else if (is_comparison(part))
            SF_TRY(bind_times(b, scope, part, to));
        else
            SF_TRY(bind_equalities(b, scope, part, to));
    }
    return SF_OK;
}

sf_status sf_sqlb_asof(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_input *ast, size_t from,
                       sf_sqlb_tree *join)
{
    asof to = {.join = join};
    size_t outer = scope->from;
    join->asof = true;
    scope->from = from;
    scope->place = "ON";
    scope->no_subqueries = true;
    if (ast->join.match)
        SF_TRY(bind_times(b, scope, ast->join.match, &to));
    if (ast->join.on)
        SF_TRY(bind_on(b, scope, ast->join.on, &to));
    scope->from = outer;
    join->own_times = !to.times.left;
    if (to.times.left)
        SQLB_PUSH(b, join->on.items, join->on.count, to.times);
    for (size_t i = 0; i < join->on.count; i++)
        SF_TRY(check_kinds(b, &join->on.items[i]));
    return SF_OK;
}

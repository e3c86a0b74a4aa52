/* bind_keyed.c: subqueries in SELECT, HAVING and ORDER BY of a grouped query.
 *
 * What such a subquery gives is the same for all rows of a group when it reads nothing of them but
 * group keys. So it is joined below the grouping and carried through it by an aggregate that a
 * constant does not change. A group without keys may have no rows to carry it: there it is refused. */
#include "sql/bind.h"

static bool is_membership(const sf_sql_expr *ast)
{
    return ast->kind == SF_EX_IN_QUERY || ast->kind == SF_EX_EXISTS ||
           ast->kind == SF_EX_QUANTIFIED;
}

sf_status sf_sqlb_keyed_query(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                              const sf_sql_expr **out)
{
    bool member = is_membership(ast);
    *out = NULL;
    if ((ast->kind != SF_EX_QUERY && !member) || !scope->group->key_count ||
        scope->group->set_count || b->kind != SF_PLAN_TABLE)
        return SF_OK;
    if (sf_sqlb_has_aggregate(ast))
        return sf_sqlb_fail(b, SF_INVALID, ast->op_span,
                            "compute the aggregate in FROM (SELECT ... GROUP BY ...) first, and "
                            "compare it in WHERE",
                            "an aggregate cannot be compared with a subquery");
    sf_sql_expr *call = SF_ARENA_NEW(b->scratch, sf_sql_expr);
    sf_sql_expr **arg = SF_ARENA_NEW(b->scratch, sf_sql_expr *);
    sf_sql_expr *copy = SF_ARENA_NEW(b->scratch, sf_sql_expr);
    sf_sql_call *form = SF_ARENA_NEW(b->scratch, sf_sql_call);
    if (!call || !arg || !copy || !form)
        return sf_fail_memory(b->err);
    *copy = *ast;
    *arg = copy;
    form->name.text = member ? SF_STR("BOOL_OR") : SF_STR("MAX");
    *call = (sf_sql_expr){.kind = SF_EX_CALL,
                          .depth = ast->depth,
                          .span = ast->span,
                          .op_span = ast->span,
                          .args = {arg, 1},
                          .call = form};
    *out = call;
    return SF_OK;
}

/* Depth is bounded by the parser. */
sf_status sf_sqlb_check_keyed(sf_sqlb *b, const sf_sqlb_scope *scope, const sf_expr *expr)
{
    if (!scope->keyed)
        return SF_OK;
    for (size_t i = 0; i < scope->group->key_count; i++) {
        if (sf_expr_equal(scope->group->keys[i].expr, expr))
            return SF_OK;
    }
    if (expr->kind == SF_EXPR_COLUMN &&
        sf_sqlb_set_has(&scope->tree->inputs, b->vcols.data[expr->column].input))
        return sf_sqlb_fail(b, SF_INVALID, expr->span, "add the column to GROUP BY",
                            "a subquery of a grouped query reads a column that is no key of it");
    for (uint32_t i = 0; i < expr->arg_count; i++)
        SF_TRY(sf_sqlb_check_keyed(b, scope, expr->args[i]));
    return SF_OK;
}

/* bind_grouping.c: GROUPING(a, b): which of the keys a row's grouping set leaves out.
 *
 * Its column is that of a COUNT(*), for which each set puts its own constant (build_group.c). */
#include "sql/bind.h"

enum { ARGS_MAX = 31 };

static sf_status key_of(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast, uint32_t *out)
{
    const sf_expr *bound;
    scope->in_aggregate = true;
    SF_TRY(sf_sqlb_expr(b, scope, ast, &bound));
    scope->in_aggregate = false;
    for (size_t i = 0; i < scope->group->key_count; i++) {
        *out = (uint32_t)i;
        if (sf_expr_equal(scope->group->keys[i].expr, bound))
            return SF_OK;
    }
    return sf_sqlb_fail(b, SF_INVALID, ast->span, "name what stands in GROUP BY",
                        "GROUPING takes keys of GROUP BY");
}

/* COUNT(*) in its place. */
static sf_status stand_in(sf_sqlb *b, const sf_sql_expr *ast, const sf_sql_expr **out)
{
    sf_sql_expr *call = SF_ARENA_NEW(b->scratch, sf_sql_expr);
    sf_sql_expr *star = SF_ARENA_NEW(b->scratch, sf_sql_expr);
    sf_sql_expr **args = SF_ARENA_NEW(b->scratch, sf_sql_expr *);
    sf_sql_call *form = SF_ARENA_NEW(b->scratch, sf_sql_call);
    if (!call || !star || !args || !form)
        return sf_fail_memory(b->err);
    *star = (sf_sql_expr){.kind = SF_EX_STAR, .span = ast->span};
    *args = star;
    form->name.text = SF_STR("COUNT");
    *call = *ast;
    call->args = (sf_sql_exprs){args, 1};
    call->call = form;
    *out = call;
    return SF_OK;
}

sf_status sf_sqlb_grouping(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                           const sf_expr **out)
{
    sf_sqlb_group *group = scope->group;
    sf_sqlb_agg agg = {.name = "grouping", .grouping_count = (uint32_t)ast->args.count};
    if (!ast->args.count || ast->args.count > ARGS_MAX)
        return sf_sqlb_fail(b, SF_INVALID, ast->span, "name the keys, as GROUPING(a, b)",
                            "GROUPING takes 1 to %d keys", ARGS_MAX);
    uint32_t *keys = SF_ARENA_ARRAY(b->scratch, uint32_t, ast->args.count);
    if (!keys)
        return sf_fail_memory(b->err);
    for (size_t i = 0; i < ast->args.count; i++)
        SF_TRY(key_of(b, scope, ast->args.items[i], &keys[i]));
    if (!group->set_count) {
        sf_literal zero = {0};
        return sf_expr_literal(b->arena, SF_TYPE_I64, &zero, ast->span, out, b->err);
    }
    agg.grouping = keys;
    SF_TRY(stand_in(b, ast, &agg.ast));
    SF_TRY(sf_sqlb_resolve_aggregate(b, &agg, NULL, true, &agg.call));
    uint32_t number = sf_sqlb_group_column(group, (uint32_t)group->agg_count);
    SQLB_PUSH(b, group->aggs, group->agg_count, agg);
    return sf_expr_column(b->arena, number, SF_TYPE_I64, ast->op_span, out, b->err);
}

int64_t sf_sqlb_grouping_value(const sf_sqlb_agg *agg, uint64_t set)
{
    int64_t bits = 0;
    for (uint32_t i = 0; i < agg->grouping_count; i++)
        bits = bits * 2 + !(set >> agg->grouping[i] & 1);
    return bits;
}

/* bind_bags.c: EXCEPT ALL and INTERSECT ALL: how often each row stands on either side decides how
 * often it stands in the answer. */
#include "sql/bind.h"

/* One side's rows as keys of a group, with how often they count left and right. */
static sf_status count_side(sf_sqlb *b, const sf_sqlb_rel *rel, bool right, uint32_t side,
                            uint32_t *node)
{
    uint32_t count = rel->count;
    const sf_expr **exprs = SF_ARENA_ARRAY(b->scratch, const sf_expr *, count + 2u);
    sf_field *fields = SF_ARENA_ARRAY(b->scratch, sf_field, count + 2u);
    sf_span none = {0, 0};
    if (!exprs || !fields)
        return sf_fail_memory(b->err);
    for (uint32_t i = 0; i < count; i++) {
        fields[i] = (sf_field){.name = rel->columns[i].name};
        SF_TRY(sf_expr_column(b->arena, i, rel->columns[i].type, none, &exprs[i], b->err));
        SF_TRY(sf_expr_key(b->arena, exprs[i], &exprs[i], b->err));
    }
    for (uint32_t i = 0; i < 2; i++) {
        sf_literal once = {.as.i64 = i == right};
        fields[count + i] = (sf_field){.name = i ? "right" : "left"};
        SF_TRY(sf_expr_literal(b->arena, SF_TYPE_I64, &once, none, &exprs[count + i], b->err));
    }
    return sf_plan_map(b->plan, side, NULL, exprs, fields, count + 2, node, b->err);
}

/* Each different row once, with its two counts. */
static sf_status count_rows(sf_sqlb *b, const sf_sqlb_rel *rel, uint32_t both, uint32_t *node)
{
    static const char *const names[] = {"left", "right"};
    uint32_t *keys = SF_ARENA_ARRAY(b->scratch, uint32_t, rel->count + 1u);
    sf_agg_call sums[2];
    if (!keys)
        return sf_fail_memory(b->err);
    for (uint32_t i = 0; i < rel->count; i++)
        keys[i] = i;
    for (uint32_t i = 0; i < 2; i++) {
        const sf_expr *arg;
        SF_TRY(
            sf_expr_column(b->arena, rel->count + i, SF_TYPE_I64, (sf_span){0, 0}, &arg, b->err));
        sf_agg_spec spec = {.name = SF_STR("SUM"),
                            .args = &arg,
                            .arg_count = 1,
                            .append_only = sf_plan_at(b->plan, both)->append_only};
        SF_TRY(sf_aggregate_bind(b->arena, &spec, &sums[i], b->err));
    }
    return sf_plan_reduce(b->plan, both, keys, rel->count, sums, names, 2, node, b->err);
}

/* The rows as often as they are wanted. */
static sf_status repeat_rows(sf_sqlb *b, const sf_sqlb_rel *rel, bool except, uint32_t *node)
{
    uint32_t count = rel->count;
    const sf_expr **exprs = SF_ARENA_ARRAY(b->scratch, const sf_expr *, count + 1u);
    sf_field *fields = SF_ARENA_ARRAY(b->scratch, sf_field, count + 1u);
    const sf_expr *sides[2], *wanted;
    sf_literal zero = {0};
    sf_span none = {0, 0};
    if (!exprs || !fields)
        return sf_fail_memory(b->err);
    for (uint32_t i = 0; i < count; i++) {
        fields[i] = (sf_field){.name = rel->columns[i].name};
        SF_TRY(sf_expr_column(b->arena, i, rel->columns[i].type, none, &exprs[i], b->err));
    }
    for (uint32_t i = 0; i < 2; i++)
        SF_TRY(sf_expr_column(b->arena, count + i, SF_TYPE_I64, none, &sides[i], b->err));
    fields[count] = (sf_field){.name = "times"};
    SF_TRY(sf_expr_call(b->arena, except ? SF_STR("-") : SF_STR("least"), sides, 2, none,
                        &exprs[count], b->err));
    sides[0] = exprs[count];
    SF_TRY(sf_expr_literal(b->arena, SF_TYPE_I64, &zero, none, &sides[1], b->err));
    SF_TRY(sf_expr_call(b->arena, SF_STR(">"), sides, 2, none, &wanted, b->err));
    SF_TRY(sf_plan_map(b->plan, *node, wanted, exprs, fields, count + 1, node, b->err));
    return sf_plan_repeat(b->plan, *node, node, b->err);
}

sf_status sf_sqlb_bags(sf_sqlb *b, sf_sql_set_op op, uint32_t left, uint32_t right,
                       sf_sqlb_rel *out)
{
    uint32_t sides[2], node;
    SF_TRY(count_side(b, out, false, left, &sides[0]));
    SF_TRY(count_side(b, out, true, right, &sides[1]));
    SF_TRY(sf_sqlb_check_width(b, out->count + 3u, (sf_span){0, 0}));
    SF_TRY(sf_plan_union(b->plan, sides, 2, &node, b->err));
    SF_TRY(count_rows(b, out, node, &node));
    SF_TRY(repeat_rows(b, out, op == SF_SET_EXCEPT, &node));
    out->node = node;
    return SF_OK;
}

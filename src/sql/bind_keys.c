/* bind_keys.c: GROUP BY: columns, positions, aliases, ALL, and grouping sets. */
#include "sql/bind.h"

enum { SETS_MAX = 256, SET_KEYS_MAX = 64, NO_KEY = -1 };

/* *index: which key it is; the same expression is one key. */
static sf_status add_key(sf_sqlb *b, sf_sqlb_scope *scope, sf_sqlb_group *group,
                         const sf_sql_expr *ast, int *index)
{
    sf_sqlb_key key = {.depth = ast->depth};
    SF_TRY(sf_sqlb_expr(b, scope, ast, &key.expr));
    for (size_t i = 0; i < group->key_count; i++) {
        *index = (int)i;
        if (sf_expr_equal(group->keys[i].expr, key.expr))
            return SF_OK;
    }
    *index = (int)group->key_count;
    SF_TRY(sf_sqlb_default_name(b, ast, group->key_count, &key.name));
    SQLB_PUSH(b, group->keys, group->key_count, key);
    return SF_OK;
}

static sf_status item_key(sf_sqlb *b, sf_sqlb_scope *scope, sf_sqlb_group *group,
                          const sf_sql_expr *item, sf_span span, int *index)
{
    if (item->kind == SF_EX_STAR)
        return sf_sqlb_fail(b, SF_INVALID, span, "name the columns", "GROUP BY cannot take *");
    if (sf_sqlb_has_aggregate(item))
        return sf_sqlb_fail(b, SF_INVALID, span, "group by the columns, not by what is computed",
                            "GROUP BY cannot take an aggregate");
    return add_key(b, scope, group, item, index);
}

static const sf_sql_expr *item_with_alias(const sf_sql_select *select, sf_str name)
{
    for (size_t i = 0; i < select->item_count; i++) {
        if (select->items[i].alias.text.len && sf_str_eq_nocase(select->items[i].alias.text, name))
            return select->items[i].expr;
    }
    return NULL;
}

/* A column of the input, or else the alias of a SELECT item; window_start and window_end of a
 * windowed SELECT are keys anyway. */
static sf_status named_key(sf_sqlb *b, sf_sqlb_scope *scope, sf_sqlb_group *group,
                           const sf_sql_expr *ast, int *index)
{
    sf_sql_name name = ast->column.items[0];
    const sf_sql_expr *item = item_with_alias(scope->select, name.text);
    sf_status status = add_key(b, scope, group, ast, index);
    if (status != SF_NOT_FOUND)
        return status;
    *index = NO_KEY;
    if (group->windowed &&
        (sf_sqlb_is_name(ast, "window_start") || sf_sqlb_is_name(ast, "window_end")))
        return SF_OK;
    return item ? item_key(b, scope, group, item, name.span, index) : status;
}

static sf_status one_key(sf_sqlb *b, sf_sqlb_scope *scope, sf_sqlb_group *group,
                         const sf_sql_expr *ast, int *index)
{
    const sf_sql_select *select = scope->select;
    if (ast->kind == SF_EX_COLUMN && ast->column.count == 1)
        return named_key(b, scope, group, ast, index);
    if (ast->kind != SF_EX_LONG)
        return add_key(b, scope, group, ast, index);
    if (ast->integer < 1 || (uint64_t)ast->integer > select->item_count)
        return sf_sqlb_fail(b, SF_INVALID, ast->span, "count the items of SELECT from 1",
                            "GROUP BY %lld: SELECT has %zu items", (long long)ast->integer,
                            select->item_count);
    return item_key(b, scope, group, select->items[ast->integer - 1].expr, ast->span, index);
}

/* ---- grouping sets ---- */

/* Sets of keys as bits. */
typedef struct {
    uint64_t *items;
    size_t count;
} sets;

static sf_status add_set(sf_sqlb *b, sets *list, uint64_t keys, sf_span span)
{
    if (list->count == SETS_MAX)
        return sf_sqlb_fail(b, SF_LIMIT, span, "write fewer, or several tables",
                            "GROUP BY makes more than %d grouping sets", SETS_MAX);
    SQLB_PUSH(b, list->items, list->count, keys);
    return SF_OK;
}

static sf_status one_set(sf_sqlb *b, sf_sqlb_scope *scope, sf_sqlb_group *group,
                         const sf_sql_exprs *exprs, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < exprs->count; i++) {
        int index;
        SF_TRY(one_key(b, scope, group, exprs->items[i], &index));
        if (index >= SET_KEYS_MAX)
            return sf_sqlb_fail(b, SF_LIMIT, exprs->items[i]->span, "group by fewer columns",
                                "grouping sets hold more than %d columns", SET_KEYS_MAX);
        if (index != NO_KEY)
            *out |= UINT64_C(1) << index;
    }
    return SF_OK;
}

/* ROLLUP (a, b): (a, b), (a), (). CUBE (a, b): (a, b), (a), (b), (). */
static sf_status roll_up(sf_sqlb *b, sf_sqlb_scope *scope, sf_sqlb_group *group,
                         const sf_sql_group *ast, sets *out)
{
    uint64_t *parts = SF_ARENA_ARRAY(b->scratch, uint64_t, ast->count + 1);
    if (!parts)
        return sf_fail_memory(b->err);
    for (size_t i = 0; i < ast->count; i++) {
        if (ast->items[i].kind != SF_GROUP_EXPRS)
            return sf_sqlb_fail(b, SF_INVALID, ast->items[i].span, "list columns, as (a, b)",
                                "ROLLUP and CUBE take columns only");
        SF_TRY(one_set(b, scope, group, &ast->items[i].exprs, &parts[i]));
    }
    bool cube = ast->kind == SF_GROUP_CUBE;
    if (cube && ast->count > 8)
        return sf_sqlb_fail(b, SF_LIMIT, ast->span, "write fewer columns, or GROUPING SETS",
                            "CUBE of %zu columns makes too many grouping sets", ast->count);
    size_t count = cube ? (size_t)1 << ast->count : ast->count + 1;
    for (size_t n = 0; n < count; n++) {
        uint64_t keys = 0;
        for (size_t i = 0; i < ast->count; i++)
            keys |= (cube ? !(n >> i & 1) : i + n < ast->count) ? parts[i] : 0;
        SF_TRY(add_set(b, out, keys, ast->span));
    }
    return SF_OK;
}

static sf_status expand(sf_sqlb *b, sf_sqlb_scope *scope, sf_sqlb_group *group,
                        const sf_sql_group *ast, sets *out)
{
    uint64_t keys;
    switch (ast->kind) {
    case SF_GROUP_EXPRS:
        SF_TRY(one_set(b, scope, group, &ast->exprs, &keys));
        return add_set(b, out, keys, ast->span);
    case SF_GROUP_ROLLUP:
    case SF_GROUP_CUBE: return roll_up(b, scope, group, ast, out);
    case SF_GROUP_SETS: break;
    }
    /* Nesting is bounded by the parser. */
    for (size_t i = 0; i < ast->count; i++)
        SF_TRY(expand(b, scope, group, &ast->items[i], out));
    return SF_OK;
}

/* Each item of GROUP BY gives sets; together they give every combination of one from each. */
static sf_status combine(sf_sqlb *b, sf_sqlb_scope *scope, sf_sqlb_group *group)
{
    const sf_sql_select *select = scope->select;
    sets all = {0};
    SF_TRY(add_set(b, &all, 0, select->group_span));
    for (size_t i = 0; i < select->group_count; i++) {
        sets own = {0}, both = {0};
        SF_TRY(expand(b, scope, group, &select->groups[i], &own));
        for (size_t a = 0; a < all.count; a++) {
            for (size_t c = 0; c < own.count; c++)
                SF_TRY(add_set(b, &both, all.items[a] | own.items[c], select->group_span));
        }
        all = both;
    }
    group->sets = all.items;
    group->set_count = all.count;
    return SF_OK;
}

sf_status sf_sqlb_group_keys(sf_sqlb *b, sf_sqlb_scope *scope, sf_sqlb_group *group)
{
    const sf_sql_select *select = scope->select;
    bool several = false;
    int index;
    scope->place = "GROUP BY";
    scope->no_subqueries = true;
    for (size_t i = 0; select->group_all && i < select->item_count; i++) {
        const sf_sql_expr *item = select->items[i].expr;
        if (!sf_sqlb_has_aggregate(item))
            SF_TRY(item_key(b, scope, group, item, item->span, &index));
    }
    for (size_t i = 0; i < select->group_count; i++)
        several |= select->groups[i].kind != SF_GROUP_EXPRS;
    for (size_t i = 0; i < select->group_count && !several; i++) {
        for (size_t k = 0; k < select->groups[i].exprs.count; k++)
            SF_TRY(one_key(b, scope, group, select->groups[i].exprs.items[k], &index));
    }
    if (several)
        SF_TRY(combine(b, scope, group));
    scope->no_subqueries = false;
    return SF_OK;
}

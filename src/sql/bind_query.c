/* bind_query.c: WITH, set operations, ORDER BY and LIMIT. */
#include "sql/bind.h"

static sf_status bind_body(sf_sqlb *b, const sf_sql_body *body, sf_sqlb_scope *outer,
                           sf_sqlb_outer outer_use, bool top, sf_sqlb_rel *out);

/* ---- set operations ---- */

typedef struct {
    sf_sqlb_rel *items;
    size_t count;
} branches;

static const char *const positions[] = {"first", "second", "third", "fourth", "fifth"};

static sf_status check_arity(sf_sqlb *b, const sf_sql_body *set, const sf_sqlb_rel *first,
                             const sf_sqlb_rel *other)
{
    if (first->count == other->count)
        return SF_OK;
    const char *hint = "select the same number of columns on both sides";
    if (first->window_columns != other->window_columns)
        hint = "select the same columns on both sides; a WINDOW adds window_start and window_end";
    return sf_sqlb_fail(b, SF_INVALID, set->set.op_span, hint, "%s joins %u columns with %u",
                        sf_sql_set_text(set->set.op), first->count, other->count);
}

/* The types that all branches take. */
static sf_status unify(sf_sqlb *b, const sf_sql_body *set, const branches *all, sf_type **out)
{
    const sf_sqlb_rel *first = &all->items[0];
    sf_type *types = SF_ARENA_ARRAY(b->scratch, sf_type, first->count + 1u);
    if (!types)
        return sf_fail_memory(b->err);
    for (uint32_t c = 0; c < first->count; c++)
        types[c] = first->columns[c].type;
    for (size_t i = 1; i < all->count; i++) {
        const sf_sqlb_rel *other = &all->items[i];
        SF_TRY(check_arity(b, set, first, other));
        for (uint32_t c = 0; c < first->count; c++) {
            sf_type type = types[c];
            if (sf_type_unify(type, other->columns[c].type, &types[c]))
                continue;
            bool early = c < SF_COUNT_OF(positions);
            return sf_sqlb_fail(b, SF_INVALID, set->set.op_span,
                                "convert one side, with TO_STRING or TO_DOUBLE for example",
                                "the %s columns \"%s\" of %s are %s and %s",
                                early ? positions[c] : "later", first->columns[c].name,
                                sf_sql_set_text(set->set.op), sf_type_name(type),
                                sf_type_name(other->columns[c].type));
        }
    }
    *out = types;
    return SF_OK;
}

/* The branch with these types and the first branch's names. */
static sf_status convert(sf_sqlb *b, const sf_sqlb_rel *first, const sf_type *types,
                         sf_sqlb_rel *branch)
{
    bool same = true;
    const sf_expr **exprs = SF_ARENA_ARRAY(b->scratch, const sf_expr *, branch->count + 1u);
    sf_field *fields = SF_ARENA_ARRAY(b->scratch, sf_field, branch->count + 1u);
    if (!exprs || !fields)
        return sf_fail_memory(b->err);
    for (uint32_t c = 0; c < branch->count; c++) {
        sf_span none = {0, 0};
        same = same && types[c] == branch->columns[c].type;
        fields[c] = (sf_field){.name = first->columns[c].name};
        SF_TRY(sf_expr_column(b->arena, c, branch->columns[c].type, none, &exprs[c], b->err));
        SF_TRY(sf_expr_cast(b->arena, exprs[c], types[c], none, &exprs[c], b->err));
    }
    if (same)
        return SF_OK;
    return sf_plan_map(b->plan, branch->node, NULL, exprs, fields, branch->count, &branch->node,
                       b->err);
}

/* The relation of a set operation: the first branch's names, the unified types. */
static sf_status describe(sf_sqlb *b, const branches *all, const sf_type *types, sf_sqlb_rel *out)
{
    *out = all->items[0];
    out->key_known = false;
    out->columns = SF_ARENA_ARRAY(b->scratch, sf_sqlb_column, out->count + 1u);
    if (!out->columns)
        return sf_fail_memory(b->err);
    for (uint32_t c = 0; c < out->count; c++)
        out->columns[c] = (sf_sqlb_column){all->items[0].columns[c].name, types[c]};
    for (size_t i = 1; i < all->count; i++)
        out->windowed = out->windowed && all->items[i].windowed;
    return SF_OK;
}

static sf_status prepare(sf_sqlb *b, const sf_sql_body *set, branches *all, sf_sqlb_rel *out)
{
    sf_type *types;
    SF_TRY(unify(b, set, all, &types));
    SF_TRY(describe(b, all, types, out));
    for (size_t i = 0; i < all->count; i++)
        SF_TRY(convert(b, out, types, &all->items[i]));
    return SF_OK;
}

/* ---- UNION ---- */

/* The branches of a chain of UNIONs, which must be of one kind. */
static sf_status collect(sf_sqlb *b, const sf_sql_body *body, const sf_sql_body *set, bool top,
                         branches *all)
{
    if (body->kind == SF_BODY_SET && body->set.op == SF_SET_UNION) {
        if (body->set.all != set->set.all)
            return sf_sqlb_fail(b, SF_INVALID, set->set.op_span,
                                "use one kind throughout, or put one part in FROM (...) alias",
                                "UNION and UNION ALL are mixed");
        SF_TRY(collect(b, body->set.left, set, top, all));
        return collect(b, body->set.right, set, top, all);
    }
    sf_sqlb_rel rel;
    SF_TRY(bind_body(b, body, NULL, SF_OUTER_CORRELATED, top, &rel));
    SQLB_PUSH(b, all->items, all->count, rel);
    return SF_OK;
}

static sf_status bind_union(sf_sqlb *b, const sf_sql_body *set, bool top, sf_sqlb_rel *out)
{
    branches all = {0};
    if (b->kind == SF_PLAN_PIPELINE && !set->set.all)
        return sf_sqlb_fail(b, SF_INVALID, set->set.op_span,
                            "write UNION ALL, or make the query a table",
                            "UNION keeps every row it has seen, which a pipeline cannot");
    SF_TRY(collect(b, set, set, top, &all));
    SF_TRY(prepare(b, set, &all, out));
    uint32_t *nodes = SF_ARENA_ARRAY(b->scratch, uint32_t, all.count);
    if (!nodes)
        return sf_fail_memory(b->err);
    for (size_t i = 0; i < all.count; i++)
        nodes[i] = all.items[i].node;
    SF_TRY(sf_plan_union(b->plan, nodes, (uint32_t)all.count, &out->node, b->err));
    return set->set.all ? SF_OK : sf_sqlb_distinct(b, out);
}

/* ---- EXCEPT, INTERSECT ---- */

/* Distinct rows of the left that are (are not) among the right, NULLs being equal; ALL counts. */
static sf_status bind_except(sf_sqlb *b, const sf_sql_body *set, sf_sqlb_rel *out)
{
    sf_sqlb_rel sides[2];
    branches both = {sides, 2};
    const char *name = sf_sql_set_text(set->set.op);
    if (b->kind == SF_PLAN_PIPELINE)
        return sf_sqlb_fail(b, SF_INVALID, set->set.op_span, "make the query a table",
                            "%s keeps every row it has seen, which a pipeline cannot", name);
    SF_TRY(bind_body(b, set->set.left, NULL, SF_OUTER_CORRELATED, false, &sides[0]));
    SF_TRY(bind_body(b, set->set.right, NULL, SF_OUTER_CORRELATED, false, &sides[1]));
    SF_TRY(prepare(b, set, &both, out));
    if (set->set.all)
        return sf_sqlb_bags(b, set->set.op, sides[0].node, sides[1].node, out);
    for (int i = 0; i < 2; i++) {
        sides[i].columns = out->columns;
        SF_TRY(sf_sqlb_distinct(b, &sides[i]));
    }
    uint32_t *columns = SF_ARENA_ARRAY(b->scratch, uint32_t, out->count + 1u);
    if (!columns)
        return sf_fail_memory(b->err);
    for (uint32_t c = 0; c < out->count; c++)
        columns[c] = c;
    sf_join_spec spec = {.kind = set->set.op == SF_SET_EXCEPT ? SF_JOIN_ANTI : SF_JOIN_SEMI,
                         .left = sides[0].node,
                         .right = sides[1].node,
                         .left_keys = columns,
                         .right_keys = columns,
                         .key_count = out->count,
                         .within_ms = -1,
                         .nulls_match = true};
    return sf_plan_join(b->plan, &spec, &out->node, b->err);
}

static sf_status bind_body(sf_sqlb *b, const sf_sql_body *body, sf_sqlb_scope *outer,
                           sf_sqlb_outer outer_use, bool top, sf_sqlb_rel *out)
{
    switch (body->kind) {
    case SF_BODY_SELECT: return sf_sqlb_select(b, body->select, NULL, outer, outer_use, top, out);
    case SF_BODY_QUERY: return sf_sqlb_query(b, body->query, outer, outer_use, top, out);
    case SF_BODY_VALUES: return sf_sqlb_values(b, body, out);
    case SF_BODY_SET: break;
    }
    if (body->set.op == SF_SET_UNION)
        return bind_union(b, body, top, out);
    return bind_except(b, body, out);
}

/* ---- WITH ---- */

static sf_status declare(sf_sqlb *b, const sf_sql_query *query)
{
    for (size_t i = 0; i < query->with_count; i++) {
        const sf_sql_with *ast = &query->with[i];
        for (size_t k = 0; k < i; k++) {
            if (sf_str_eq(query->with[k].name.text, ast->name.text))
                return sf_sqlb_fail(b, SF_INVALID, ast->name.span, "give it another name",
                                    "\"%.*s\" is declared twice in WITH",
                                    SQLB_NAME(ast->name.text));
        }
        sf_sqlb_with *with = SF_ARENA_NEW(b->scratch, sf_sqlb_with);
        if (!with)
            return sf_fail_memory(b->err);
        *with = (sf_sqlb_with){.before = b->with, .owner = query, .ast = ast};
        b->with = with;
    }
    return SF_OK;
}

/* Names as they were before any was bound. */
static sf_status copy_names(sf_sqlb *b, const sf_sqlb_with *with, sf_sqlb_with **out)
{
    *out = NULL;
    for (sf_sqlb_with **end = out; with; with = with->before) {
        sf_sqlb_with *copy = SF_ARENA_NEW(b->scratch, sf_sqlb_with);
        if (!copy)
            return sf_fail_memory(b->err);
        *copy = (sf_sqlb_with){.owner = with->owner, .ast = with->ast};
        *end = copy;
        end = &copy->before;
    }
    return SF_OK;
}

/* A query of WITH that nobody reads is checked all the same, in a plan of its own that is thrown
 * away: nodes without a reader would run for nothing. */
static sf_status check_unused(sf_sqlb *b, const sf_sqlb_with *with)
{
    sf_sqlb_rel rel;
    sf_sqlb_with self = *with;
    sf_sqlb check = {.plan = sf_plan_new(b->kind),
                     .scratch = b->scratch,
                     .text = b->text,
                     .kind = b->kind,
                     .resolver = b->resolver,
                     .err = b->err,
                     .binding = &self};
    if (!check.plan)
        return sf_fail_memory(b->err);
    check.arena = &check.plan->arena;
    sf_status status = copy_names(b, with->before, &check.with);
    if (status == SF_OK)
        status = sf_sqlb_query(&check, with->ast->query, NULL, SF_OUTER_CORRELATED, false, &rel);
    SF_VEC_DEINIT(&check.vcols);
    SF_VEC_DEINIT(&check.at);
    SF_VEC_DEINIT(&check.inputs);
    sf_plan_free(check.plan);
    if (status != SF_OK)
        return status;
    return sf_sqlb_warn(b, with->ast->name.span, "\"%.*s\" of WITH is never read",
                        SQLB_NAME(with->ast->name.text));
}

/* The body, then what ORDER BY and LIMIT make of it. */
static sf_status bind_ordered(sf_sqlb *b, const sf_sql_query *query, sf_sqlb_scope *outer,
                              sf_sqlb_outer outer_use, bool top, sf_sqlb_rel *out)
{
    const sf_sql_body *body = query->body;
    sf_sqlb_order order = {0};
    bool ordered;
    SF_TRY(sf_sqlb_check_order(b, query, &ordered));
    if (!ordered)
        return bind_body(b, body, outer, outer_use, top, out);
    if (body->kind == SF_BODY_SELECT)
        return sf_sqlb_select(b, body->select, query, outer, outer_use, top, out);
    SF_TRY(bind_body(b, body, outer, outer_use, top, out));
    SF_TRY(sf_sqlb_order_columns(b, query, out, &order));
    return sf_sqlb_limit(b, query, &order, out);
}

sf_status sf_sqlb_query(sf_sqlb *b, const sf_sql_query *query, sf_sqlb_scope *outer,
                        sf_sqlb_outer outer_use, bool top, sf_sqlb_rel *out)
{
    sf_sqlb_with *visible = b->with;
    SF_TRY(declare(b, query));
    SF_TRY(bind_ordered(b, query, outer, outer_use, top, out));
    for (const sf_sqlb_with *with = b->with; with != visible; with = with->before) {
        if (!with->bound)
            SF_TRY(check_unused(b, with));
    }
    b->with = visible;
    return SF_OK;
}

/* build.c: the tree of inputs and joins becomes plan nodes.
 *
 * While a node is built, b->at says where each vcol of its inputs stands in it. Building goes from
 * the leaves up, each input is built once, so one array serves all. */
#include "sql/bind.h"

/* ---- where columns stand ---- */

/* The row's own _ts is always the last column: it moved. */
static void move_last(sf_sqlb *b, const sf_sqlb_set *inputs, uint32_t from, uint32_t to)
{
    for (uint32_t n = 0; n < b->inputs.len; n++) {
        const sf_sqlb_input *input = &b->inputs.data[n];
        if (!sf_sqlb_set_has(inputs, n))
            continue;
        for (uint32_t i = 0; i < input->column_count; i++) {
            if (b->at.data[input->first + i] == from)
                b->at.data[input->first + i] = to;
        }
    }
}

static void shift(sf_sqlb *b, const sf_sqlb_set *inputs, uint32_t by)
{
    for (uint32_t n = 0; n < b->inputs.len; n++) {
        const sf_sqlb_input *input = &b->inputs.data[n];
        for (uint32_t i = 0; sf_sqlb_set_has(inputs, n) && i < input->column_count; i++) {
            if (b->at.data[input->first + i] != UINT32_MAX)
                b->at.data[input->first + i] += by;
        }
    }
}

static uint32_t column_count(const sf_sqlb *b, uint32_t node)
{
    return sf_plan_at(b->plan, node)->schema->count;
}

sf_status sf_sqlb_remap(sf_sqlb *b, const sf_expr *expr, const sf_expr **out)
{
    return sf_expr_remap(b->arena, expr, b->at.data, out, b->err);
}

/* ---- filters ---- */

static sf_status and_filter(sf_sqlb *b, sf_sqlb_rows *rows, const sf_expr *condition)
{
    if (!rows->filter) {
        rows->filter = condition;
        return SF_OK;
    }
    const sf_expr *both[2] = {rows->filter, condition};
    return sf_expr_logic(b->arena, SF_EXPR_AND, both, 2, condition->span, &rows->filter, b->err);
}

static sf_status add_filters(sf_sqlb *b, sf_sqlb_rows *rows, const sf_sqlb_conds *filters)
{
    for (size_t i = 0; i < filters->count; i++) {
        const sf_expr *condition;
        SF_TRY(sf_sqlb_remap(b, filters->items[i].expr, &condition));
        SF_TRY(and_filter(b, rows, condition));
    }
    return SF_OK;
}

sf_status sf_sqlb_settle(sf_sqlb *b, sf_sqlb_rows *rows)
{
    const sf_expr *filter = rows->filter;
    rows->filter = NULL;
    return filter ? sf_plan_filter(b->plan, rows->node, filter, &rows->node, b->err) : SF_OK;
}

static sf_status push_to(sf_sqlb *b, sf_sqlb_conds *list, const sf_sqlb_cond *cond)
{
    SQLB_PUSH(b, list->items, list->count, *cond);
    return SF_OK;
}

/* Rows that an outer join pads must not be filtered below it. */
static bool may_filter(const sf_sqlb_tree *tree, bool left)
{
    if (tree->kind != SF_TREE_JOIN)
        return left;
    switch (tree->join) {
    case SF_JOIN_INNER: return true;
    case SF_JOIN_LEFT:
    case SF_JOIN_SEMI:
    case SF_JOIN_ANTI:
    case SF_JOIN_NOT_IN: return left;
    case SF_JOIN_RIGHT: return !left;
    default: return false;
    }
}

sf_status sf_sqlb_push(sf_sqlb *b, sf_sqlb_tree *tree, const sf_sqlb_cond *cond)
{
    bool movable = !sf_sqlb_set_empty(&cond->inputs);
    while (movable && tree->kind != SF_TREE_INPUT) {
        if (sf_sqlb_set_within(&cond->inputs, &tree->left->inputs) && may_filter(tree, true))
            tree = tree->left;
        else if (tree->kind == SF_TREE_JOIN && may_filter(tree, false) &&
                 sf_sqlb_set_within(&cond->inputs, &tree->right->inputs))
            tree = tree->right;
        else
            break;
    }
    bool both = false;
    if (movable && tree->kind == SF_TREE_JOIN && tree->join == SF_JOIN_INNER) {
        sf_sqlb_set sides = sf_sqlb_set_join(&tree->left->inputs, &tree->right->inputs);
        both = sf_sqlb_set_within(&cond->inputs, &sides);
    }
    return push_to(b, both ? &tree->on : &tree->filters, cond);
}

/* ---- maps that keep what is used and add keys ---- */

typedef struct {
    const sf_expr **exprs;
    sf_field *fields;
    uint32_t count;
} projection;

static sf_status keep_used(sf_sqlb *b, const sf_schema *schema, const sf_sqlb_set *inputs,
                           projection *p)
{
    uint32_t last = schema->count - 1;
    for (uint32_t n = 0; n < b->inputs.len; n++) {
        const sf_sqlb_input *input = &b->inputs.data[n];
        if (!sf_sqlb_set_has(inputs, n))
            continue;
        for (uint32_t vcol = input->first; vcol < input->first + input->column_count; vcol++) {
            uint32_t at = b->at.data[vcol];
            if (at == UINT32_MAX || at == last)
                continue;
            if (!b->vcols.data[vcol].used) {
                b->at.data[vcol] = UINT32_MAX;
                continue;
            }
            SF_TRY(sf_expr_column(b->arena, at, b->vcols.data[vcol].type, (sf_span){0, 0},
                                  &p->exprs[p->count], b->err));
            p->fields[p->count] = schema->fields[at];
            b->at.data[vcol] = p->count++;
        }
    }
    return SF_OK;
}

/* True when the node has columns, besides its _ts, that nobody reads. */
static bool has_unused(const sf_sqlb *b, const sf_sqlb_set *inputs, uint32_t node)
{
    uint32_t used = 1, last = column_count(b, node) - 1;
    for (uint32_t n = 0; n < b->inputs.len; n++) {
        const sf_sqlb_input *input = &b->inputs.data[n];
        for (uint32_t i = 0; sf_sqlb_set_has(inputs, n) && i < input->column_count; i++) {
            uint32_t vcol = input->first + i;
            used += b->at.data[vcol] < last && b->vcols.data[vcol].used;
        }
    }
    return used <= last;
}

/* Only used columns, then extra ones over the node's columns (NULL: none), then _ts. */
static sf_status narrow(sf_sqlb *b, sf_sqlb_rows *rows, const sf_sqlb_set *inputs,
                        const sf_expr *const *extra, uint32_t extra_count, uint32_t *extra_at)
{
    const sf_schema *schema = sf_plan_at(b->plan, rows->node)->schema;
    size_t room = schema->count + extra_count;
    projection p = {.exprs = SF_ARENA_ARRAY(b->scratch, const sf_expr *, room),
                    .fields = SF_ARENA_ARRAY(b->scratch, sf_field, room)};
    if (!p.exprs || !p.fields)
        return sf_fail_memory(b->err);
    uint32_t last = schema->count - 1;
    SF_TRY(keep_used(b, schema, inputs, &p));
    for (uint32_t i = 0; i < extra_count; i++) {
        p.exprs[p.count] = extra[i];
        p.fields[p.count] = (sf_field){.name = "key", .hidden = true};
        extra_at[i] = p.count++;
    }
    SF_TRY(sf_sqlb_check_width(b, p.count + 1u, (sf_span){0, 0}));
    SF_TRY(sf_plan_map(b->plan, rows->node, rows->filter, p.exprs, p.fields, p.count, &rows->node,
                       b->err));
    rows->filter = NULL;
    move_last(b, inputs, last, p.count);
    return SF_OK;
}

sf_status sf_sqlb_key_columns(sf_sqlb *b, sf_sqlb_rows *rows, const sf_sqlb_set *inputs,
                              const sf_expr *const *keys, uint32_t count, uint32_t *out)
{
    const sf_expr **mapped = SF_ARENA_ARRAY(b->scratch, const sf_expr *, count + 1u);
    if (!mapped)
        return sf_fail_memory(b->err);
    bool plain = true;
    for (uint32_t i = 0; i < count; i++) {
        SF_TRY(sf_sqlb_remap(b, keys[i], &mapped[i]));
        SF_TRY(sf_expr_key(b->arena, mapped[i], &mapped[i], b->err));
        plain = plain && mapped[i]->kind == SF_EXPR_COLUMN;
        out[i] = mapped[i]->column;
    }
    if (plain)
        return SF_OK;
    return narrow(b, rows, inputs, mapped, count, out);
}

/* ---- joins ---- */

/* Both sides of an equality, the left one reading the join's left inputs. */
static bool is_key(const sf_sqlb *b, const sf_sqlb_tree *join, const sf_sqlb_cond *cond,
                   const sf_expr **left, const sf_expr **right)
{
    sf_sqlb_set a = {{0}}, c = {{0}};
    if (!cond->left)
        return false;
    sf_sqlb_inputs_of(b, cond->left, &a);
    sf_sqlb_inputs_of(b, cond->right, &c);
    if (sf_sqlb_set_empty(&a) || sf_sqlb_set_empty(&c))
        return false;
    *left = cond->left;
    *right = cond->right;
    if (sf_sqlb_set_within(&a, &join->left->inputs) && sf_sqlb_set_within(&c, &join->right->inputs))
        return true;
    *left = cond->right;
    *right = cond->left;
    return sf_sqlb_set_within(&c, &join->left->inputs) &&
           sf_sqlb_set_within(&a, &join->right->inputs);
}

/* The type both sides of a key take; false: they only compare row by row. */
static bool key_type(sf_type a, sf_type b, sf_type *out)
{
    if (sf_type_unify(a, b, out))
        return *out != SF_TYPE_JSON;
    bool time = a == SF_TYPE_TIMESTAMP || b == SF_TYPE_TIMESTAMP;
    *out = SF_TYPE_I64;
    return time && (a == SF_TYPE_I64 || b == SF_TYPE_I64);
}

typedef struct {
    const sf_expr **left, **right; /* over vcols */
    uint32_t count;
    const sf_expr *residual; /* over vcols; NULL: none */
} join_keys;

static sf_status add_residual(sf_sqlb *b, join_keys *keys, const sf_expr *condition)
{
    sf_sqlb_rows all = {.filter = keys->residual};
    SF_TRY(and_filter(b, &all, condition));
    keys->residual = all.filter;
    return SF_OK;
}

static sf_status split_on(sf_sqlb *b, const sf_sqlb_tree *join, join_keys *keys)
{
    size_t room = join->on.count + 1;
    keys->left = SF_ARENA_ARRAY(b->scratch, const sf_expr *, room);
    keys->right = SF_ARENA_ARRAY(b->scratch, const sf_expr *, room);
    if (!keys->left || !keys->right)
        return sf_fail_memory(b->err);
    for (size_t i = 0; i < join->on.count; i++) {
        const sf_sqlb_cond *cond = &join->on.items[i];
        const sf_expr *left, *right;
        sf_type type;
        if (!is_key(b, join, cond, &left, &right) || !key_type(left->type, right->type, &type)) {
            SF_TRY(add_residual(b, keys, cond->expr));
            continue;
        }
        /* Long and Double meet as Doubles, which large Longs do not survive exactly. */
        bool rough = left->type != right->type && type == SF_TYPE_F64;
        if (rough && join->join != SF_JOIN_NOT_IN)
            SF_TRY(add_residual(b, keys, cond->expr));
        SF_TRY(sf_expr_cast(b->arena, left, type, left->span, &keys->left[keys->count], b->err));
        SF_TRY(
            sf_expr_cast(b->arena, right, type, right->span, &keys->right[keys->count++], b->err));
    }
    return SF_OK;
}

/* One side of a join: filtered, narrow, its keys columns. */
static sf_status build_side(sf_sqlb *b, sf_sqlb_tree *side, const sf_expr *const *keys,
                            uint32_t count, uint32_t **columns, uint32_t *node)
{
    sf_sqlb_rows rows;
    *columns = SF_ARENA_ARRAY(b->scratch, uint32_t, count + 1u);
    if (!*columns)
        return sf_fail_memory(b->err);
    SF_TRY(sf_sqlb_build(b, side, &rows));
    if (has_unused(b, &side->inputs, rows.node))
        SF_TRY(narrow(b, &rows, &side->inputs, NULL, 0, NULL));
    SF_TRY(sf_sqlb_key_columns(b, &rows, &side->inputs, keys, count, *columns));
    SF_TRY(sf_sqlb_settle(b, &rows));
    *node = rows.node;
    return SF_OK;
}

static sf_status build_join(sf_sqlb *b, sf_sqlb_tree *tree, sf_sqlb_rows *out)
{
    join_keys keys = {0};
    sf_join_spec spec = {.kind = tree->join, .within_ms = tree->within_ms};
    uint32_t *left_keys, *right_keys;
    SF_TRY(split_on(b, tree, &keys));
    SF_TRY(build_side(b, tree->left, keys.left, keys.count, &left_keys, &spec.left));
    SF_TRY(build_side(b, tree->right, keys.right, keys.count, &right_keys, &spec.right));
    uint32_t left_count = column_count(b, spec.left);
    SF_TRY(sf_sqlb_check_width(b, left_count + column_count(b, spec.right) + 1u, (sf_span){0, 0}));
    shift(b, &tree->right->inputs, left_count);
    spec.left_keys = left_keys;
    spec.right_keys = right_keys;
    spec.key_count = keys.count;
    if (keys.residual)
        SF_TRY(sf_sqlb_remap(b, keys.residual, &spec.residual));
    return sf_plan_join(b->plan, &spec, &out->node, b->err);
}

static sf_status build_unnest(sf_sqlb *b, sf_sqlb_tree *tree, sf_sqlb_rows *out)
{
    const sf_sqlb_input *element = &b->inputs.data[tree->input];
    const sf_expr *array;
    SF_TRY(sf_sqlb_build(b, tree->left, out));
    SF_TRY(sf_sqlb_settle(b, out));
    SF_TRY(sf_sqlb_remap(b, tree->array, &array));
    uint32_t last = column_count(b, out->node) - 1;
    SF_TRY(sf_sqlb_check_width(b, last + 2u, element->span));
    SF_TRY(sf_plan_unnest(b->plan, out->node, array, element->rel.columns[0].name, &out->node,
                          b->err));
    move_last(b, &tree->left->inputs, last, last + 1);
    b->at.data[element->first] = last;
    return SF_OK;
}

sf_status sf_sqlb_build(sf_sqlb *b, sf_sqlb_tree *tree, sf_sqlb_rows *out)
{
    *out = (sf_sqlb_rows){0};
    if (tree->kind == SF_TREE_INPUT) {
        const sf_sqlb_input *input = &b->inputs.data[tree->input];
        out->node = input->rel.node;
        for (uint32_t i = 0; i < input->column_count; i++)
            b->at.data[input->first + i] = i;
    } else if (tree->kind == SF_TREE_UNNEST) {
        SF_TRY(build_unnest(b, tree, out));
    } else {
        SF_TRY(build_join(b, tree, out));
    }
    if (tree->time_input != SF_SQLB_NONE)
        b->at.data[b->inputs.data[tree->time_input].first] = column_count(b, out->node) - 1;
    return add_filters(b, out, &tree->filters);
}

/* ---- DISTINCT ---- */

sf_status sf_sqlb_distinct(sf_sqlb *b, sf_sqlb_rel *rel)
{
    const sf_expr **exprs = SF_ARENA_ARRAY(b->scratch, const sf_expr *, rel->count + 1u);
    sf_field *fields = SF_ARENA_ARRAY(b->scratch, sf_field, rel->count + 1u);
    uint32_t *keys = SF_ARENA_ARRAY(b->scratch, uint32_t, rel->count + 1u);
    if (!exprs || !fields || !keys)
        return sf_fail_memory(b->err);
    bool plain = true;
    for (uint32_t i = 0; i < rel->count; i++) {
        keys[i] = i;
        fields[i] = (sf_field){.name = rel->columns[i].name};
        SF_TRY(
            sf_expr_column(b->arena, i, rel->columns[i].type, (sf_span){0, 0}, &exprs[i], b->err));
        SF_TRY(sf_expr_key(b->arena, exprs[i], &exprs[i], b->err));
        plain = plain && exprs[i]->kind == SF_EXPR_COLUMN;
    }
    if (!plain)
        SF_TRY(
            sf_plan_map(b->plan, rel->node, NULL, exprs, fields, rel->count, &rel->node, b->err));
    rel->key_known = false;
    return sf_plan_reduce(b->plan, rel->node, keys, rel->count, NULL, NULL, 0, &rel->node, b->err);
}

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

static sf_status settle(sf_sqlb *b, sf_sqlb_rows *rows)
{
    const sf_expr *filter = rows->filter;
    rows->filter = NULL;
    return filter ? sf_plan_filter(b->plan, rows->node, filter, &rows->node, b->err) : SF_OK;
}

static sf_status add_filters(sf_sqlb *b, sf_sqlb_rows *rows, const sf_sqlb_conds *filters)
{
    for (size_t i = 0; i < filters->count; i++) {
        const sf_expr *condition;
        if (filters->items[i].bound)
            continue;
        SF_TRY(sf_sqlb_remap(b, filters->items[i].expr, &condition));
        SF_TRY(and_filter(b, rows, condition));
    }
    for (size_t i = 0; i < filters->count; i++) {
        const sf_expr *bound;
        if (!filters->items[i].bound)
            continue;
        SF_TRY(settle(b, rows));
        SF_TRY(sf_sqlb_remap(b, filters->items[i].bound, &bound));
        SF_TRY(sf_plan_temporal(b->plan, rows->node, bound, filters->items[i].until, &rows->node,
                                b->err));
    }
    return SF_OK;
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
    case SF_JOIN_INNER: return left || !tree->asof; /* which row is nearest comes first */
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
    if (movable && !cond->bound && tree->kind == SF_TREE_JOIN && tree->join == SF_JOIN_INNER &&
        !tree->asof) {
        sf_sqlb_set sides = sf_sqlb_set_join(&tree->left->inputs, &tree->right->inputs);
        both = sf_sqlb_set_within(&cond->inputs, &sides);
    }
    return push_to(b, both ? &tree->on : &tree->filters, cond);
}

/* ---- maps that keep what is used and add keys ---- */

typedef struct {
    const sf_schema *schema; /* of the node below */
    const sf_expr **exprs;
    sf_field *fields;
    uint32_t count;
    uint32_t *moved; /* new column by old one; UINT32_MAX: left out */
} projection;

static sf_status projection_init(sf_sqlb *b, uint32_t node, uint32_t extra, projection *p)
{
    const sf_schema *schema = sf_plan_at(b->plan, node)->schema;
    size_t room = schema->count + extra;
    *p = (projection){.schema = schema,
                      .exprs = SF_ARENA_ARRAY(b->scratch, const sf_expr *, room),
                      .fields = SF_ARENA_ARRAY(b->scratch, sf_field, room),
                      .moved = SF_ARENA_ARRAY(b->scratch, uint32_t, schema->count)};
    if (!p->exprs || !p->fields || !p->moved)
        return sf_fail_memory(b->err);
    for (uint32_t i = 0; i < schema->count; i++)
        p->moved[i] = UINT32_MAX;
    return SF_OK;
}

static void project_column(projection *p, const sf_expr *expr, const char *name, bool hidden)
{
    p->exprs[p->count] = expr;
    p->fields[p->count++] = (sf_field){.name = name, .hidden = hidden};
}

static sf_status keep_used(sf_sqlb *b, const sf_sqlb_set *inputs, projection *p)
{
    uint32_t last = p->schema->count - 1;
    for (uint32_t n = 0; n < b->inputs.len; n++) {
        const sf_sqlb_input *input = &b->inputs.data[n];
        if (!sf_sqlb_set_has(inputs, n))
            continue;
        for (uint32_t vcol = input->first; vcol < input->first + input->column_count; vcol++) {
            uint32_t at = b->at.data[vcol];
            const sf_expr *column;
            if (at == UINT32_MAX || at == last)
                continue;
            b->at.data[vcol] = UINT32_MAX;
            if (!b->vcols.data[vcol].used)
                continue;
            b->at.data[vcol] = p->moved[at] = p->count;
            SF_TRY(sf_expr_column(b->arena, at, b->vcols.data[vcol].type, (sf_span){0, 0}, &column,
                                  b->err));
            project_column(p, column, p->schema->fields[at].name, p->schema->fields[at].hidden);
        }
    }
    return SF_OK;
}

/* True when the node has columns, besides its _ts, that nobody above reads. */
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

/* Only used columns, then computed keys, then _ts. keys: over the node's columns. */
static sf_status narrow(sf_sqlb *b, sf_sqlb_rows *rows, const sf_sqlb_set *inputs,
                        const sf_expr *const *keys, const char *const *names, uint32_t count,
                        uint32_t *out)
{
    projection p;
    SF_TRY(projection_init(b, rows->node, count, &p));
    uint32_t last = p.schema->count - 1;
    SF_TRY(keep_used(b, inputs, &p));
    for (uint32_t i = 0; i < count; i++) {
        bool kept = keys[i]->kind == SF_EXPR_COLUMN && p.moved[keys[i]->column] != UINT32_MAX;
        out[i] = kept ? p.moved[keys[i]->column] : p.count;
        if (!kept)
            project_column(&p, keys[i], names ? names[i] : "key", true);
    }
    SF_TRY(sf_sqlb_check_width(b, p.count + 1u, (sf_span){0, 0}));
    SF_TRY(sf_plan_map(b->plan, rows->node, rows->filter, p.exprs, p.fields, p.count, &rows->node,
                       b->err));
    rows->filter = NULL;
    move_last(b, inputs, last, p.count);
    return SF_OK;
}

/* The keys over the node's columns; *plain: each is a column as it is. */
static sf_status map_keys(sf_sqlb *b, const sf_expr *const *keys, uint32_t count, uint32_t *columns,
                          const sf_expr ***out, bool *plain)
{
    *out = SF_ARENA_ARRAY(b->scratch, const sf_expr *, count + 1u);
    if (!*out)
        return sf_fail_memory(b->err);
    *plain = true;
    for (uint32_t i = 0; i < count; i++) {
        SF_TRY(sf_sqlb_remap(b, keys[i], &(*out)[i]));
        SF_TRY(sf_expr_key(b->arena, (*out)[i], &(*out)[i], b->err));
        *plain = *plain && (*out)[i]->kind == SF_EXPR_COLUMN;
        columns[i] = (*out)[i]->column;
    }
    return SF_OK;
}

/* ---- joins ---- */

/* Both sides of an equality, the left one reading the join's left inputs. */
static bool sides_of(const sf_sqlb *b, const sf_sqlb_tree *left_tree,
                     const sf_sqlb_tree *right_tree, const sf_sqlb_cond *cond, const sf_expr **left,
                     const sf_expr **right)
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
    if (sf_sqlb_set_within(&a, &left_tree->inputs) && sf_sqlb_set_within(&c, &right_tree->inputs))
        return true;
    *left = cond->right;
    *right = cond->left;
    return sf_sqlb_set_within(&c, &left_tree->inputs) &&
           sf_sqlb_set_within(&a, &right_tree->inputs);
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

bool sf_sqlb_is_key(const sf_sqlb *b, const sf_sqlb_tree *left_tree, const sf_sqlb_tree *right_tree,
                    const sf_sqlb_cond *cond)
{
    const sf_expr *left, *right;
    sf_type type;
    return sides_of(b, left_tree, right_tree, cond, &left, &right) &&
           key_type(left->type, right->type, &type);
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
        if (!sides_of(b, join->left, join->right, cond, &left, &right) ||
            !key_type(left->type, right->type, &type)) {
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
    const sf_expr **mapped;
    bool plain;
    *columns = SF_ARENA_ARRAY(b->scratch, uint32_t, count + 1u);
    if (!*columns)
        return sf_fail_memory(b->err);
    SF_TRY(sf_sqlb_build(b, side, &rows));
    SF_TRY(map_keys(b, keys, count, *columns, &mapped, &plain));
    if (!plain || has_unused(b, &side->inputs, rows.node))
        SF_TRY(narrow(b, &rows, &side->inputs, mapped, NULL, count, *columns));
    SF_TRY(settle(b, &rows));
    *node = rows.node;
    return SF_OK;
}

/* Both sides as nodes, their keys, and the rest of the condition over the joined columns. */
static sf_status build_sides(sf_sqlb *b, sf_sqlb_tree *tree, sf_join_spec *spec)
{
    join_keys keys = {0};
    uint32_t *left_keys, *right_keys;
    SF_TRY(split_on(b, tree, &keys));
    SF_TRY(build_side(b, tree->left, keys.left, keys.count, &left_keys, &spec->left));
    SF_TRY(build_side(b, tree->right, keys.right, keys.count, &right_keys, &spec->right));
    uint32_t left_count = column_count(b, spec->left);
    SF_TRY(sf_sqlb_check_width(b, left_count + column_count(b, spec->right) + 1u, (sf_span){0, 0}));
    shift(b, &tree->right->inputs, left_count);
    spec->left_keys = left_keys;
    spec->right_keys = right_keys;
    spec->key_count = keys.count;
    return keys.residual ? sf_sqlb_remap(b, keys.residual, &spec->residual) : SF_OK;
}

/* A snapshot is the result of one window that closes for all keys at once. */
static sf_status check_snapshot(sf_sqlb *b, const sf_sqlb_tree *tree, const sf_join_spec *spec)
{
    int64_t size_ms, advance_ms;
    if (!tree->snapshot || sf_plan_window_of(b->plan, spec->right, &size_ms, &advance_ms))
        return SF_OK;
    return sf_sqlb_not_yet(b, tree->span,
                           "a subquery over sessions, or over more than one window, in a pipeline",
                           "give the subquery one TUMBLING or HOPPING window");
}

/* The pair of times is the last of the keys, or the _ts of both sides. */
static sf_status build_asof(sf_sqlb *b, const sf_sqlb_tree *tree, const sf_join_spec *sides,
                            uint32_t *node)
{
    SF_ASSERT(!sides->residual);
    sf_asof_spec spec = {.kind = tree->join,
                         .left_keys = sides->left_keys,
                         .right_keys = sides->right_keys,
                         .key_count = sides->key_count - !tree->own_times,
                         .left_time = column_count(b, sides->left) - 1,
                         .right_time = column_count(b, sides->right) - 1,
                         .forward = tree->forward,
                         .strict = tree->strict};
    if (!tree->own_times) {
        spec.left_time = sides->left_keys[spec.key_count];
        spec.right_time = sides->right_keys[spec.key_count];
    }
    return sf_plan_asof(b->plan, sides->left, sides->right, &spec, node, b->err);
}

static sf_status build_join(sf_sqlb *b, sf_sqlb_tree *tree, sf_sqlb_rows *out)
{
    sf_join_spec spec = {
        .kind = tree->join, .within_ms = tree->within_ms, .snapshot = tree->snapshot};
    SF_TRY(build_sides(b, tree, &spec));
    SF_TRY(check_snapshot(b, tree, &spec));
    return tree->asof ? build_asof(b, tree, &spec, &out->node)
                      : sf_plan_join(b->plan, &spec, &out->node, b->err);
}

/* The rows of a node with a constant before their _ts. */
static sf_status add_mark(sf_sqlb *b, bool value, uint32_t *node)
{
    const sf_schema *schema = sf_plan_at(b->plan, *node)->schema;
    uint32_t count = schema->count;
    const sf_expr **exprs = SF_ARENA_ARRAY(b->scratch, const sf_expr *, count);
    sf_field *fields = SF_ARENA_ARRAY(b->scratch, sf_field, count);
    if (!exprs || !fields)
        return sf_fail_memory(b->err);
    for (uint32_t i = 0; i + 1 < count; i++) {
        fields[i] = schema->fields[i];
        SF_TRY(sf_expr_column(b->arena, i, fields[i].type, (sf_span){0, 0}, &exprs[i], b->err));
    }
    fields[count - 1] = (sf_field){.name = "matched", .hidden = true};
    sf_literal mark = {.as.boolean = value};
    SF_TRY(
        sf_expr_literal(b->arena, SF_TYPE_BOOL, &mark, (sf_span){0, 0}, &exprs[count - 1], b->err));
    return sf_plan_map(b->plan, *node, NULL, exprs, fields, count, node, b->err);
}

/* Rows with a match, marked true, and rows without one, marked false. */
static sf_status build_mark(sf_sqlb *b, sf_sqlb_tree *tree, sf_sqlb_rows *out)
{
    sf_join_spec spec = {.kind = SF_JOIN_SEMI, .within_ms = -1, .snapshot = tree->snapshot};
    uint32_t parts[2];
    SF_TRY(build_sides(b, tree, &spec));
    SF_TRY(check_snapshot(b, tree, &spec));
    SF_TRY(sf_plan_join(b->plan, &spec, &parts[0], b->err));
    spec.kind = SF_JOIN_ANTI;
    SF_TRY(sf_plan_join(b->plan, &spec, &parts[1], b->err));
    SF_TRY(add_mark(b, true, &parts[0]));
    SF_TRY(add_mark(b, false, &parts[1]));
    SF_TRY(sf_plan_union(b->plan, parts, 2, &out->node, b->err));
    uint32_t last = column_count(b, out->node) - 1;
    move_last(b, &tree->left->inputs, last - 1, last);
    b->at.data[b->inputs.data[tree->input].first] = last - 1;
    return SF_OK;
}

static sf_status build_unnest(sf_sqlb *b, sf_sqlb_tree *tree, sf_sqlb_rows *out)
{
    const sf_sqlb_input *element = &b->inputs.data[tree->input];
    const sf_expr *array;
    SF_TRY(sf_sqlb_build(b, tree->left, out));
    SF_TRY(settle(b, out));
    SF_TRY(sf_sqlb_remap(b, tree->array, &array));
    uint32_t last = column_count(b, out->node) - 1;
    uint32_t added = element->rel.count;
    const char *number = added > 1 ? element->rel.columns[1].name : NULL;
    SF_TRY(sf_sqlb_check_width(b, last + added + 1u, element->span));
    SF_TRY(sf_plan_unnest(b->plan, out->node, array, element->rel.columns[0].name, number,
                          &out->node, b->err));
    move_last(b, &tree->left->inputs, last, last + added);
    for (uint32_t i = 0; i < added; i++)
        b->at.data[element->first + i] = last + i;
    return SF_OK;
}

/* ---- trees ---- */

static sf_status build_input(sf_sqlb *b, const sf_sqlb_tree *tree, sf_sqlb_rows *out)
{
    const sf_sqlb_input *input = &b->inputs.data[tree->input];
    out->node = input->rel.node;
    for (uint32_t i = 0; i < input->column_count; i++)
        b->at.data[input->first + i] = i;
    return SF_OK;
}

static void use_conditions(sf_sqlb *b, const sf_sqlb_conds *conds)
{
    for (size_t i = 0; i < conds->count; i++)
        sf_sqlb_use(b, conds->items[i].expr);
}

/* A copy of which columns are used above, to go back to. */
static sf_status remember_used(sf_sqlb *b, bool **out)
{
    *out = SF_ARENA_ARRAY(b->scratch, bool, b->vcols.len + 1);
    if (!*out)
        return sf_fail_memory(b->err);
    for (size_t i = 0; i < b->vcols.len; i++)
        (*out)[i] = b->vcols.data[i].used;
    return SF_OK;
}

static void restore_used(sf_sqlb *b, const bool *used)
{
    for (size_t i = 0; i < b->vcols.len; i++)
        b->vcols.data[i].used = used[i];
}

/* What a node's own conditions read is used below it, and no longer above it. */
static sf_status build_inner(sf_sqlb *b, sf_sqlb_tree *tree, sf_sqlb_rows *out)
{
    bool *used_above;
    SF_TRY(remember_used(b, &used_above));
    use_conditions(b, &tree->filters);
    use_conditions(b, &tree->on);
    if (tree->array)
        sf_sqlb_use(b, tree->array);
    if (tree->kind == SF_TREE_UNNEST)
        SF_TRY(build_unnest(b, tree, out));
    else if (tree->kind == SF_TREE_MARK)
        SF_TRY(build_mark(b, tree, out));
    else
        SF_TRY(build_join(b, tree, out));
    restore_used(b, used_above);
    return SF_OK;
}

sf_status sf_sqlb_build(sf_sqlb *b, sf_sqlb_tree *tree, sf_sqlb_rows *out)
{
    *out = (sf_sqlb_rows){0};
    SF_TRY(tree->kind == SF_TREE_INPUT ? build_input(b, tree, out) : build_inner(b, tree, out));
    if (tree->time_input != SF_SQLB_NONE)
        b->at.data[b->inputs.data[tree->time_input].first] = column_count(b, out->node) - 1;
    return add_filters(b, out, &tree->filters);
}

sf_status sf_sqlb_build_keyed(sf_sqlb *b, sf_sqlb_tree *tree, const sf_expr *const *keys,
                              const char *const *names, uint32_t count, uint32_t *columns,
                              sf_sqlb_rows *out)
{
    const sf_expr **mapped;
    bool *used_above, plain;
    SF_TRY(remember_used(b, &used_above));
    for (uint32_t i = 0; i < count; i++)
        sf_sqlb_use(b, keys[i]);
    SF_TRY(sf_sqlb_build(b, tree, out));
    restore_used(b, used_above);
    SF_TRY(map_keys(b, keys, count, columns, &mapped, &plain));
    if (!plain)
        SF_TRY(narrow(b, out, &tree->inputs, mapped, names, count, columns));
    return settle(b, out);
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

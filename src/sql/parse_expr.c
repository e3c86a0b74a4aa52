/* parse_expr.c: operators, from OR down to the postfix ->.
 *
 * Low to high: OR, AND, NOT, IS, comparison (one a level), [NOT] BETWEEN/IN/LIKE, ||, + -, * / %,
 * unary -, -> ->> :: AT TIME ZONE, primary. */
#include "sql/parser.h"

/* ---- nodes ---- */

sf_status sf_sqlp_node(sf_sqlp *p, sf_sql_expr_kind kind, size_t start, sf_sql_expr **out)
{
    sf_sql_expr *node;
    SQLP_NEW(p, node);
    node->kind = kind;
    node->depth = 1;
    node->span = node->op_span = p->tokens[start].span;
    *out = node;
    return SF_OK;
}

sf_status sf_sqlp_add_arg(sf_sqlp *p, sf_sql_expr *node, sf_sql_expr *arg)
{
    if (arg->depth >= node->depth)
        node->depth = (uint16_t)(arg->depth + 1);
    SQLP_PUSH(p, node->args.items, node->args.count, arg);
    return SF_OK;
}

sf_status sf_sqlp_done_from(sf_sqlp *p, sf_sql_expr *node, sf_span first)
{
    sf_span last = p->tokens[p->pos - 1].span;
    node->span = (sf_span){first.offset, last.offset + last.length - first.offset};
    return sf_sqlp_deepen(p, node->depth);
}

sf_status sf_sqlp_done(sf_sqlp *p, sf_sql_expr *node, size_t start)
{
    return sf_sqlp_done_from(p, node, p->tokens[start].span);
}

/* left op right, the operator being the token before the current one when `at` was its place. */
static sf_status binary(sf_sqlp *p, sf_sql_op op, size_t at, sf_sql_expr *left, sf_sql_expr *right,
                        sf_sql_expr **out)
{
    sf_sql_expr *node;
    SF_TRY(sf_sqlp_node(p, SF_EX_OP, at, &node));
    node->op = op;
    SF_TRY(sf_sqlp_add_arg(p, node, left));
    SF_TRY(sf_sqlp_add_arg(p, node, right));
    SF_TRY(sf_sqlp_done_from(p, node, left->span));
    *out = node;
    return SF_OK;
}

/* ---- arithmetic ---- */

/* -9223372036854775808 is one literal: its digits alone would not fit. */
static bool take_least_long(sf_sqlp *p)
{
    static const char digits[] = "9223372036854775808";
    sf_token token = sf_sqlp_peek(p, 0);
    if (token.kind != SF_TOKEN_INTEGER)
        return false;
    if (!sf_str_eq(sf_token_raw(p->text, token), sf_str_of(digits)))
        return false;
    p->pos++;
    return true;
}

static sf_status json_key(sf_sqlp *p, sf_sql_expr *node)
{
    sf_token token = sf_sqlp_peek(p, 0);
    if (token.kind == SF_TOKEN_INTEGER) {
        node->json.is_index = true;
        return sf_sqlp_integer(p, "an array index", &node->json.index);
    }
    if (token.kind != SF_TOKEN_STRING)
        return sf_sqlp_fail(p, "a key in single quotes or an array index",
                            "computed keys are not supported: write -> 'key' or -> 0");
    p->pos++;
    if (sf_token_text(p->text, &sf_sql_lexer_rules, token, p->arena, &node->json.key) != SF_OK)
        return sf_sqlp_no_memory(p);
    return SF_OK;
}

static sf_status at_time_zone(sf_sqlp *p, size_t start, sf_sql_expr *value, sf_sql_expr **out)
{
    sf_sql_expr *node, *zone;
    SF_TRY(sf_sqlp_node(p, SF_EX_CALL, p->pos, &node));
    p->pos++;
    SF_TRY(sf_sqlp_expect(p, KW_TIME, "after AT"));
    SF_TRY(sf_sqlp_expect(p, KW_ZONE, "after AT TIME"));
    SF_TRY(sf_sqlp_primary(p, &zone));
    SQLP_NEW(p, node->call);
    node->call->name = (sf_sql_name){.text = SF_STR("timezone"), .span = node->op_span};
    SF_TRY(sf_sqlp_add_arg(p, node, zone));
    SF_TRY(sf_sqlp_add_arg(p, node, value));
    *out = node;
    return sf_sqlp_done(p, node, start);
}

static bool at_time_zone_follows(const sf_sqlp *p)
{
    sf_token next = sf_sqlp_peek(p, 1);
    return sf_sqlp_at(p, KW_AT) && next.kind == SF_TOKEN_WORD && next.code == KW_TIME;
}

static sf_status postfix(sf_sqlp *p, sf_sql_expr **out)
{
    size_t start = p->pos;
    sf_sql_expr *value;
    SF_TRY(sf_sqlp_primary(p, &value));
    for (;;) {
        sf_sql_expr *node;
        bool arrow = sf_sqlp_at_symbol(p, SF_SYMBOL_ARROW);
        if (arrow || sf_sqlp_at_symbol(p, SF_SYMBOL_LONG_ARROW)) {
            SF_TRY(sf_sqlp_node(p, SF_EX_JSON, p->pos++, &node));
            node->json.as_text = !arrow;
            SF_TRY(sf_sqlp_add_arg(p, node, value));
            SF_TRY(json_key(p, node));
        } else if (sf_sqlp_at_symbol(p, SF_SYMBOL_CAST)) {
            SF_TRY(sf_sqlp_node(p, SF_EX_CAST, p->pos++, &node));
            SF_TRY(sf_sqlp_add_arg(p, node, value));
            SF_TRY(sf_sqlp_cast_type(p, &node->cast));
        } else if (at_time_zone_follows(p)) {
            SF_TRY(at_time_zone(p, start, value, &node));
        } else if (sf_sqlp_at_symbol(p, '[')) {
            return sf_sqlp_fail(p, "an operator", "an array element is written -> 0");
        } else {
            *out = value;
            return SF_OK;
        }
        SF_TRY(sf_sqlp_done(p, node, start));
        value = node;
    }
}

static sf_status unary(sf_sqlp *p, sf_sql_expr **out)
{
    size_t start = p->pos;
    if (sf_sqlp_take_symbol(p, '+')) {
        SF_TRY(sf_sqlp_enter(p));
        SF_TRY(unary(p, out));
        sf_sqlp_leave(p);
        return SF_OK;
    }
    if (!sf_sqlp_take_symbol(p, '-'))
        return postfix(p, out);
    sf_sql_expr *node, *value;
    if (take_least_long(p)) {
        SF_TRY(sf_sqlp_node(p, SF_EX_LONG, start, &node));
        node->integer = INT64_MIN;
        *out = node;
        return sf_sqlp_done(p, node, start);
    }
    SF_TRY(sf_sqlp_node(p, SF_EX_OP, start, &node));
    node->op = SF_OP_NEGATE;
    SF_TRY(sf_sqlp_enter(p));
    SF_TRY(unary(p, &value));
    sf_sqlp_leave(p);
    SF_TRY(sf_sqlp_add_arg(p, node, value));
    *out = node;
    return sf_sqlp_done(p, node, start);
}

typedef sf_status (*level)(sf_sqlp *p, sf_sql_expr **out);
typedef struct {
    unsigned symbol;
    sf_sql_op op;
} op_rule;

static sf_status chain(sf_sqlp *p, level next, const op_rule *ops, size_t count, sf_sql_expr **out)
{
    sf_sql_expr *left, *right;
    SF_TRY(next(p, &left));
    for (;;) {
        size_t i = 0;
        while (i < count && !sf_sqlp_at_symbol(p, ops[i].symbol))
            i++;
        if (i == count)
            break;
        size_t at = p->pos++;
        SF_TRY(next(p, &right));
        SF_TRY(binary(p, ops[i].op, at, left, right, &left));
    }
    *out = left;
    return SF_OK;
}

static sf_status product(sf_sqlp *p, sf_sql_expr **out)
{
    static const op_rule ops[] = {{'*', SF_OP_MULTIPLY}, {'/', SF_OP_DIVIDE}, {'%', SF_OP_MODULO}};
    return chain(p, unary, ops, SF_COUNT_OF(ops), out);
}

static sf_status sum(sf_sqlp *p, sf_sql_expr **out)
{
    static const op_rule ops[] = {{'+', SF_OP_ADD}, {'-', SF_OP_SUBTRACT}};
    return chain(p, product, ops, SF_COUNT_OF(ops), out);
}

sf_status sf_sqlp_operand(sf_sqlp *p, sf_sql_expr **out)
{
    static const op_rule ops[] = {{SF_SYMBOL_CONCAT, SF_OP_CONCAT}};
    return chain(p, sum, ops, SF_COUNT_OF(ops), out);
}

/* ---- predicates ---- */

static sf_status use_query(sf_sqlp *p, sf_sql_expr *node)
{
    SF_TRY(sf_sqlp_query(p, &node->query));
    if (node->query->depth >= node->depth)
        node->depth = (uint16_t)(node->query->depth + 1);
    return SF_OK;
}

static sf_status between(sf_sqlp *p, sf_sql_expr *node)
{
    sf_sql_expr *low, *high;
    node->kind = SF_EX_BETWEEN;
    SF_TRY(sf_sqlp_operand(p, &low));
    SF_TRY(sf_sqlp_expect(p, KW_AND, "between the two bounds of BETWEEN"));
    SF_TRY(sf_sqlp_operand(p, &high));
    SF_TRY(sf_sqlp_add_arg(p, node, low));
    return sf_sqlp_add_arg(p, node, high);
}

static sf_status like(sf_sqlp *p, sf_sql_expr *node, bool ignore_case)
{
    sf_sql_expr *arg;
    node->kind = SF_EX_LIKE;
    node->ignore_case = ignore_case;
    SF_TRY(sf_sqlp_operand(p, &arg));
    SF_TRY(sf_sqlp_add_arg(p, node, arg));
    if (!sf_sqlp_take(p, KW_ESCAPE))
        return SF_OK;
    SF_TRY(sf_sqlp_operand(p, &arg));
    return sf_sqlp_add_arg(p, node, arg);
}

static sf_status in_list(sf_sqlp *p, sf_sql_expr *node)
{
    SF_TRY(sf_sqlp_expect_symbol(p, '(', "after IN"));
    if (sf_sqlp_at_query(p)) {
        node->kind = SF_EX_IN_QUERY;
        SF_TRY(use_query(p, node));
        return sf_sqlp_expect_symbol(p, ')', "after the subquery of IN");
    }
    node->kind = SF_EX_IN_LIST;
    do {
        sf_sql_expr *item;
        SF_TRY(sf_sqlp_expr(p, &item));
        SF_TRY(sf_sqlp_add_arg(p, node, item));
    } while (sf_sqlp_take_symbol(p, ','));
    SF_TRY(sf_sqlp_expect_symbol(p, ')', "or a comma in the list of IN"));
    /* IN ((SELECT ...)) is IN (SELECT ...). */
    if (node->args.count == 2 && node->args.items[1]->kind == SF_EX_QUERY) {
        node->kind = SF_EX_IN_QUERY;
        node->query = node->args.items[1]->query;
        node->args.count = 1;
    }
    return SF_OK;
}

static bool negated_predicate_follows(const sf_sqlp *p)
{
    sf_token next = sf_sqlp_peek(p, 1);
    return sf_sqlp_at(p, KW_NOT) && next.kind == SF_TOKEN_WORD &&
           (next.code == KW_BETWEEN || next.code == KW_IN || next.code == KW_LIKE ||
            next.code == KW_ILIKE);
}

static bool at_range_predicate(const sf_sqlp *p)
{
    return sf_sqlp_at(p, KW_BETWEEN) || sf_sqlp_at(p, KW_IN) || sf_sqlp_at(p, KW_LIKE) ||
           sf_sqlp_at(p, KW_ILIKE) || negated_predicate_follows(p);
}

static sf_status range(sf_sqlp *p, sf_sql_expr **out)
{
    sf_sql_expr *value, *node;
    SF_TRY(sf_sqlp_operand(p, &value));
    *out = value;
    if (!at_range_predicate(p))
        return SF_OK;
    size_t at = p->pos;
    bool negated = sf_sqlp_take(p, KW_NOT);
    SF_TRY(sf_sqlp_node(p, SF_EX_BETWEEN, at, &node));
    node->negated = negated;
    SF_TRY(sf_sqlp_add_arg(p, node, value));
    if (sf_sqlp_take(p, KW_BETWEEN))
        SF_TRY(between(p, node));
    else if (sf_sqlp_take(p, KW_IN))
        SF_TRY(in_list(p, node));
    else if (sf_sqlp_take(p, KW_LIKE))
        SF_TRY(like(p, node, false));
    else if (sf_sqlp_take(p, KW_ILIKE))
        SF_TRY(like(p, node, true));
    SF_TRY(sf_sqlp_done_from(p, node, value->span));
    *out = node;
    if (at_range_predicate(p))
        return sf_sqlp_fail(p, "AND, OR or the end of the condition",
                            "put the first condition in parentheses");
    return SF_OK;
}

static const op_rule comparisons[] = {
    {'=', SF_OP_EQUAL},   {SF_SYMBOL_NOT_EQUAL, SF_OP_NOT_EQUAL},
    {'<', SF_OP_LESS},    {SF_SYMBOL_LESS_EQUAL, SF_OP_LESS_EQUAL},
    {'>', SF_OP_GREATER}, {SF_SYMBOL_GREATER_EQUAL, SF_OP_GREATER_EQUAL},
};

static const op_rule *at_comparison(const sf_sqlp *p)
{
    for (size_t i = 0; i < SF_COUNT_OF(comparisons); i++) {
        if (sf_sqlp_at_symbol(p, comparisons[i].symbol))
            return &comparisons[i];
    }
    return NULL;
}

/* op ANY (SELECT ...), op ALL (SELECT ...) */
static sf_status quantified(sf_sqlp *p, sf_sql_op op, size_t at, sf_sql_expr *left,
                            sf_sql_expr **out)
{
    sf_sql_expr *node;
    SF_TRY(sf_sqlp_node(p, SF_EX_QUANTIFIED, at, &node));
    node->op = op;
    node->any = !sf_sqlp_at(p, KW_ALL);
    p->pos++;
    SF_TRY(sf_sqlp_add_arg(p, node, left));
    SF_TRY(sf_sqlp_expect_symbol(p, '(', "after ANY or ALL"));
    if (!sf_sqlp_at_query(p))
        return sf_sqlp_fail(p, "a subquery", "for a list of values write IN (...)");
    SF_TRY(use_query(p, node));
    SF_TRY(sf_sqlp_expect_symbol(p, ')', "after the subquery"));
    *out = node;
    return sf_sqlp_done_from(p, node, left->span);
}

static sf_status comparison(sf_sqlp *p, sf_sql_expr **out)
{
    sf_sql_expr *left, *right;
    SF_TRY(range(p, &left));
    *out = left;
    const op_rule *op = at_comparison(p);
    if (!op)
        return SF_OK;
    size_t at = p->pos++;
    if (sf_sqlp_at(p, KW_ANY) || sf_sqlp_at(p, KW_SOME) || sf_sqlp_at(p, KW_ALL)) {
        SF_TRY(quantified(p, op->op, at, left, out));
    } else {
        if (sf_sqlp_at_symbol(p, '='))
            return sf_sqlp_fail(p, "an expression", "equality is written with one =");
        SF_TRY(range(p, &right));
        SF_TRY(binary(p, op->op, at, left, right, out));
    }
    if (at_comparison(p))
        return sf_sqlp_fail(p, "AND, OR or the end of the condition",
                            "comparisons do not chain: join two with AND, or use parentheses");
    return SF_OK;
}

static sf_status is_predicate(sf_sqlp *p, sf_sql_expr **out)
{
    sf_sql_expr *value, *node, *right;
    SF_TRY(comparison(p, &value));
    while (sf_sqlp_at(p, KW_IS)) {
        size_t at = p->pos++;
        bool negated = sf_sqlp_take(p, KW_NOT);
        if (sf_sqlp_take(p, KW_DISTINCT)) {
            SF_TRY(sf_sqlp_expect(p, KW_FROM, "after IS DISTINCT"));
            SF_TRY(range(p, &right));
            SF_TRY(binary(p, SF_OP_DISTINCT, at, value, right, &node));
        } else {
            SF_TRY(sf_sqlp_node(p, SF_EX_IS, at, &node));
            SF_TRY(sf_sqlp_add_arg(p, node, value));
            if (sf_sqlp_take(p, KW_NULL))
                node->is = SF_IS_NULL;
            else if (sf_sqlp_take(p, KW_TRUE))
                node->is = SF_IS_TRUE;
            else if (sf_sqlp_take(p, KW_FALSE))
                node->is = SF_IS_FALSE;
            else if (sf_sqlp_take(p, KW_UNKNOWN))
                node->is = SF_IS_UNKNOWN;
            else
                return sf_sqlp_fail(p, "NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM after IS",
                                    "compare values with =");
            SF_TRY(sf_sqlp_done_from(p, node, value->span));
        }
        node->negated = negated;
        value = node;
    }
    *out = value;
    return SF_OK;
}

/* ---- logic ---- */

static sf_status negation(sf_sqlp *p, sf_sql_expr **out)
{
    if (!sf_sqlp_at(p, KW_NOT))
        return is_predicate(p, out);
    size_t start = p->pos++;
    sf_sql_expr *node, *value;
    SF_TRY(sf_sqlp_node(p, SF_EX_OP, start, &node));
    node->op = SF_OP_NOT;
    SF_TRY(sf_sqlp_enter(p));
    SF_TRY(negation(p, &value));
    sf_sqlp_leave(p);
    SF_TRY(sf_sqlp_add_arg(p, node, value));
    *out = node;
    return sf_sqlp_done(p, node, start);
}

/* a AND b AND c is one node of three arguments, so that long conditions stay flat. */
static sf_status junction(sf_sqlp *p, level next, sf_sql_keyword word, sf_sql_op op,
                          sf_sql_expr **out)
{
    sf_sql_expr *node = NULL, *value;
    SF_TRY(next(p, &value));
    sf_span first = value->span;
    while (sf_sqlp_at(p, word)) {
        if (!node) {
            SF_TRY(sf_sqlp_node(p, SF_EX_OP, p->pos, &node));
            node->op = op;
            SF_TRY(sf_sqlp_add_arg(p, node, value));
        }
        p->pos++;
        SF_TRY(next(p, &value));
        SF_TRY(sf_sqlp_add_arg(p, node, value));
    }
    *out = node ? node : value;
    return node ? sf_sqlp_done_from(p, node, first) : SF_OK;
}

static sf_status conjunction(sf_sqlp *p, sf_sql_expr **out)
{
    return junction(p, negation, KW_AND, SF_OP_AND, out);
}

sf_status sf_sqlp_expr(sf_sqlp *p, sf_sql_expr **out)
{
    SF_TRY(sf_sqlp_enter(p));
    SF_TRY(junction(p, conjunction, KW_OR, SF_OP_OR, out));
    sf_sqlp_leave(p);
    return SF_OK;
}

sf_status sf_sqlp_expr_list(sf_sqlp *p, sf_sql_exprs *out)
{
    *out = (sf_sql_exprs){0};
    do {
        sf_sql_expr *item;
        SF_TRY(sf_sqlp_expr(p, &item));
        SQLP_PUSH(p, out->items, out->count, item);
    } while (sf_sqlp_take_symbol(p, ','));
    return SF_OK;
}

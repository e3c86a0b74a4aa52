/* Walks over finished trees: equality, columns read, renumbering, text. */
#include "expr/kernel.h"

#include "text/text.h"

static bool same_literal(sf_type type, const sf_literal *a, const sf_literal *b)
{
    if (a->is_null || b->is_null)
        return a->is_null == b->is_null;
    if (sf_type_is_view(type))
        return sf_str_eq(a->as.str, b->as.str);
    if (type == SF_TYPE_BOOL)
        return a->as.boolean == b->as.boolean;
    return a->as.i64 == b->as.i64; /* Doubles by their bits */
}

bool sf_expr_equal(const sf_expr *a, const sf_expr *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind || a->type != b->type || a->function != b->function ||
        a->arg_count != b->arg_count || a->column != b->column)
        return false;
    if (a->kind == SF_EXPR_LITERAL && !same_literal(a->type, &a->literal, &b->literal))
        return false;
    for (uint32_t i = 0; i < a->arg_count; i++)
        if (!sf_expr_equal(a->args[i], b->args[i]))
            return false;
    return true;
}

void sf_expr_columns(const sf_expr *expr, uint64_t *columns)
{
    if (expr->kind == SF_EXPR_COLUMN)
        columns[expr->column / 64] |= 1ULL << (expr->column % 64);
    for (uint32_t i = 0; i < expr->arg_count; i++)
        sf_expr_columns(expr->args[i], columns);
}

sf_status sf_expr_remap(sf_arena *arena, const sf_expr *expr, const uint32_t *map,
                        const sf_expr **out, sf_error *err)
{
    *out = expr;
    if (expr->kind == SF_EXPR_LITERAL)
        return SF_OK;
    sf_expr *copy = SF_ARENA_NEW(arena, sf_expr);
    if (!copy)
        return sf_fail_memory(err);
    *copy = *expr;
    if (expr->kind == SF_EXPR_COLUMN)
        copy->column = map[expr->column];
    if (expr->arg_count) {
        copy->args = SF_ARENA_ARRAY(arena, const sf_expr *, expr->arg_count);
        if (!copy->args)
            return sf_fail_memory(err);
    }
    for (uint32_t i = 0; i < expr->arg_count; i++)
        SF_TRY(sf_expr_remap(arena, expr->args[i], map, &copy->args[i], err));
    *out = copy;
    return SF_OK;
}

/* ---- text ---- */

static void put_quoted(sf_buf *out, sf_str text)
{
    sf_buf_putc(out, '\'');
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\'')
            sf_buf_putc(out, '\'');
        sf_buf_putc(out, text.data[i]);
    }
    sf_buf_putc(out, '\'');
}

static void put_literal(const sf_expr *expr, sf_buf *out)
{
    char text[SF_NUMBER_MAX];
    if (expr->literal.is_null) {
        sf_buf_puts(out, "NULL");
        return;
    }
    switch (expr->type) {
    case SF_TYPE_BOOL: sf_buf_puts(out, expr->literal.as.boolean ? "TRUE" : "FALSE"); break;
    case SF_TYPE_I64: sf_buf_put_i64_text(out, expr->literal.as.i64); break;
    case SF_TYPE_F64: sf_buf_put_f64_text(out, expr->literal.as.f64); break;
    case SF_TYPE_TIMESTAMP:
        sf_buf_puts(out, "TIMESTAMP ");
        put_quoted(out, (sf_str){text, sf_print_time(text, expr->literal.as.i64)});
        break;
    default: put_quoted(out, expr->literal.as.str); break;
    }
}

static void put_list(const sf_expr *expr, uint32_t first, const char *between,
                     const sf_schema *schema, sf_buf *out)
{
    for (uint32_t i = first; i < expr->arg_count; i++) {
        if (i > first)
            sf_buf_puts(out, between);
        sf_expr_print(expr->args[i], schema, out);
    }
}

static void put_upper(sf_buf *out, const char *name)
{
    for (; *name; name++)
        sf_buf_putc(out, *name >= 'a' && *name <= 'z' ? (char)(*name - 0x20) : *name);
}

static void put_call(const sf_expr *expr, const sf_schema *schema, sf_buf *out)
{
    const char *name = expr->function->name;
    bool word = name[0] >= 'A' && name[0] <= 'Z';
    if (word || strncmp(name, "to_", 3) == 0 || expr->arg_count == 0 ||
        strcmp(name, "json number") == 0 || strcmp(name, "group key") == 0) {
        put_upper(out, name);
        sf_buf_putc(out, '(');
        put_list(expr, 0, ", ", schema, out);
        sf_buf_putc(out, ')');
        return;
    }
    sf_buf_putc(out, '(');
    if (expr->arg_count == 1) { /* prefix: neg, not; the tests are postfix */
        bool postfix = strncmp(name, "is ", 3) == 0;
        if (!postfix)
            sf_buf_puts(out, strcmp(name, "neg") == 0 ? "-" : "NOT ");
        sf_expr_print(expr->args[0], schema, out);
        if (postfix) {
            sf_buf_putc(out, ' ');
            put_upper(out, name);
        }
    } else {
        sf_expr_print(expr->args[0], schema, out);
        sf_buf_putc(out, ' ');
        put_upper(out, name);
        sf_buf_putc(out, ' ');
        bool list = strcmp(name, "in") == 0;
        if (list)
            sf_buf_putc(out, '(');
        const char *between = strcmp(name, "between") == 0 ? " AND " : list ? ", " : " ESCAPE ";
        put_list(expr, 1, between, schema, out);
        if (list)
            sf_buf_putc(out, ')');
    }
    sf_buf_putc(out, ')');
}

static void put_case(const sf_expr *expr, const sf_schema *schema, sf_buf *out)
{
    sf_buf_puts(out, "CASE");
    for (uint32_t i = 0; i + 1 < expr->arg_count; i += 2) {
        sf_buf_puts(out, " WHEN ");
        sf_expr_print(expr->args[i], schema, out);
        sf_buf_puts(out, " THEN ");
        sf_expr_print(expr->args[i + 1], schema, out);
    }
    sf_buf_puts(out, " ELSE ");
    sf_expr_print(expr->args[expr->arg_count - 1], schema, out);
    sf_buf_puts(out, " END");
}

void sf_expr_print(const sf_expr *expr, const sf_schema *schema, sf_buf *out)
{
    switch (expr->kind) {
    case SF_EXPR_COLUMN:
        if (schema && expr->column < schema->count)
            sf_buf_puts(out, schema->fields[expr->column].name);
        else
            sf_buf_printf(out, "#%u", expr->column);
        break;
    case SF_EXPR_LITERAL: put_literal(expr, out); break;
    case SF_EXPR_CALL: put_call(expr, schema, out); break;
    case SF_EXPR_AND:
    case SF_EXPR_OR:
        sf_buf_putc(out, '(');
        put_list(expr, 0, expr->kind == SF_EXPR_AND ? " AND " : " OR ", schema, out);
        sf_buf_putc(out, ')');
        break;
    case SF_EXPR_CASE: put_case(expr, schema, out); break;
    case SF_EXPR_COALESCE:
        sf_buf_puts(out, "COALESCE(");
        put_list(expr, 0, ", ", schema, out);
        sf_buf_putc(out, ')');
        break;
    }
}

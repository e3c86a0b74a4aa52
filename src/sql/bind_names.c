/* bind_names.c: messages, sets of inputs, and what names mean. */
#include "sql/bind.h"
#include "text/lexer.h"

#include <stdio.h>

/* ---- sets ---- */

void sf_sqlb_set_add(sf_sqlb_set *set, uint32_t input)
{
    set->bits[input / 64] |= UINT64_C(1) << (input % 64);
}

bool sf_sqlb_set_has(const sf_sqlb_set *set, uint32_t input)
{
    return set->bits[input / 64] >> (input % 64) & 1;
}

bool sf_sqlb_set_empty(const sf_sqlb_set *set)
{
    sf_sqlb_set none = {{0}};
    return memcmp(set, &none, sizeof none) == 0;
}

bool sf_sqlb_set_within(const sf_sqlb_set *inner, const sf_sqlb_set *outer)
{
    for (size_t i = 0; i < SF_COUNT_OF(inner->bits); i++) {
        if (inner->bits[i] & ~outer->bits[i])
            return false;
    }
    return true;
}

bool sf_sqlb_set_meets(const sf_sqlb_set *a, const sf_sqlb_set *b)
{
    for (size_t i = 0; i < SF_COUNT_OF(a->bits); i++) {
        if (a->bits[i] & b->bits[i])
            return true;
    }
    return false;
}

sf_sqlb_set sf_sqlb_set_join(const sf_sqlb_set *a, const sf_sqlb_set *b)
{
    sf_sqlb_set both = *a;
    for (size_t i = 0; i < SF_COUNT_OF(both.bits); i++)
        both.bits[i] |= b->bits[i];
    return both;
}

/* ---- memory and messages ---- */

sf_status sf_sqlb_grow(sf_sqlb *b, void **items, size_t count, size_t item_bytes)
{
    /* Arrays have room for 4, then for every power of two. */
    if (count && (count < 4 || (count & (count - 1))))
        return SF_OK;
    void *larger = sf_arena_array(b->scratch, count ? count * 2 : 4, item_bytes);
    if (!larger)
        return sf_fail_memory(b->err);
    if (count)
        memcpy(larger, *items, count * item_bytes);
    *items = larger;
    return SF_OK;
}

#undef sf_sqlb_fail
#undef sf_sqlb_not_yet

sf_status sf_sqlb_fail(sf_sqlb *b, sf_status status, sf_span where, const char *hint,
                       const char *format, ...)
{
    char message[sizeof b->err->message];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    sf_fail_at(b->err, status, where, "%s", message);
    if (hint)
        sf_error_hint(b->err, "%s", hint);
    return status;
}

sf_status sf_sqlb_not_yet(sf_sqlb *b, sf_span where, const char *what, const char *hint)
{
    return sf_sqlb_fail(b, SF_UNSUPPORTED, where, hint, "%s is not supported yet", what);
}

sf_status sf_sqlb_warn(sf_sqlb *b, sf_span where, const char *format, ...)
{
    sf_error warning = {0};
    va_list args;
    va_start(args, format);
    vsnprintf(warning.message, sizeof warning.message, format, args);
    va_end(args);
    warning.where = where;
    const char *kept = sf_arena_strndup(b->arena, warning.message, strlen(warning.message));
    if (!kept || !SF_VEC_PUSH(&b->plan->warnings, kept) ||
        (b->diagnostics && !sf_diagnostics_add(b->diagnostics, b->text, &warning, true)))
        return sf_fail_memory(b->err);
    return SF_OK;
}

/* Of many names the nearest to one that was misspelt, and all of them as far as a hint holds. */
typedef struct {
    sf_str wanted;
    unsigned best;
    char nearest[65];
    char all[200];
    size_t len;
    bool full;
} suggestion;

static void suggest(suggestion *s, sf_str name)
{
    unsigned limit = s->wanted.len < 5 ? 1 : 2;
    unsigned distance = sf_word_distance(s->wanted, name, limit);
    if (distance <= limit && name.len < sizeof s->nearest &&
        (!s->nearest[0] || distance < s->best)) {
        s->best = distance;
        snprintf(s->nearest, sizeof s->nearest, "%.*s", SF_STR_ARG(name));
    }
    if (s->full || s->len + name.len + 8 > sizeof s->all) {
        if (!s->full)
            snprintf(s->all + s->len, sizeof s->all - s->len, ", ...");
        s->full = true;
        return;
    }
    s->len += (size_t)snprintf(s->all + s->len, sizeof s->all - s->len, "%s%.*s",
                               s->len ? ", " : "", SF_STR_ARG(name));
}

static void hint_suggestion(sf_sqlb *b, const suggestion *s, const char *there_are)
{
    if (s->nearest[0])
        sf_error_hint(b->err, "did you mean \"%s\"? %s: %s", s->nearest, there_are, s->all);
    else if (s->all[0])
        sf_error_hint(b->err, "%s: %s", there_are, s->all);
}

/* ---- sources and tables ---- */

sf_str sf_sqlb_alias_of(const sf_sql_input *ast)
{
    if (ast->alias.text.len || ast->kind != SF_INPUT_NAME)
        return ast->alias.text;
    return ast->name.items[ast->name.count - 1].text;
}

static bool suggest_relation(void *arg, const sf_relation *relation)
{
    suggest(arg, sf_str_of(relation->name));
    return true;
}

static sf_status unknown_relation(sf_sqlb *b, sf_str name, sf_span span)
{
    bool table = b->kind == SF_PLAN_TABLE;
    sf_sqlb_fail(b, SF_NOT_FOUND, span, "create it first",
                 table ? "source or table \"%.*s\" does not exist"
                       : "source \"%.*s\" does not exist",
                 SQLB_NAME(name));
    suggestion s = {.wanted = name};
    for (const sf_sqlb_with *with = b->with; with; with = with->before)
        suggest(&s, with->ast->name.text);
    if (b->resolver->list)
        b->resolver->list(b->resolver->self, suggest_relation, &s);
    hint_suggestion(b, &s, "there are");
    return SF_NOT_FOUND;
}

/* The visible columns of a schema. */
static sf_status visible_columns(sf_sqlb *b, const sf_schema *schema, sf_sqlb_rel *out)
{
    out->columns = SF_ARENA_ARRAY(b->scratch, sf_sqlb_column, schema->count + 1u);
    if (!out->columns)
        return sf_fail_memory(b->err);
    for (uint32_t i = 0; i < schema->count; i++) {
        const sf_field *field = &schema->fields[i];
        if (field->hidden)
            continue;
        const char *name = sf_arena_strndup(b->arena, field->name, strlen(field->name));
        if (!name)
            return sf_fail_memory(b->err);
        out->columns[out->count++] = (sf_sqlb_column){name, field->type};
    }
    return SF_OK;
}

sf_status sf_sqlb_relation(sf_sqlb *b, const sf_sql_input *ast, sf_sqlb_rel *out)
{
    sf_str name = ast->name.items[0].text;
    sf_span span = ast->name.items[0].span;
    if (ast->name.count == 2) { /* domain.relay */
        sf_sql_name last = ast->name.items[1];
        span.length = last.span.offset + last.span.length - span.offset;
        char *whole =
            sf_arena_printf(b->scratch, "%.*s.%.*s", SF_STR_ARG(name), SF_STR_ARG(last.text));
        if (!whole)
            return sf_fail_memory(b->err);
        name = sf_str_of(whole);
    }
    sf_relation relation = {0};
    sf_status status = b->resolver->find(b->resolver->self, name, &relation, b->err);
    if (status == SF_NOT_FOUND ||
        (status == SF_OK && b->kind == SF_PLAN_PIPELINE && relation.kind != SF_INPUT_SOURCE)) {
        unknown_relation(b, name, span);
        if (status == SF_OK)
            sf_error_hint(b->err, "a pipeline reads sources only; make this query a table to read "
                                  "tables and pipelines");
        return SF_NOT_FOUND;
    }
    if (status != SF_OK) {
        if (b->err->where.length == 0)
            b->err->where = span;
        return status;
    }
    *out = (sf_sqlb_rel){0};
    SF_TRY(visible_columns(b, relation.schema, out));
    SF_TRY(sf_sqlb_check_width(b, out->count + 2, span));
    out->source = relation.kind == SF_INPUT_SOURCE && relation.append_only;
    return sf_plan_scan(b->plan, relation.name, relation.kind, relation.schema,
                        relation.append_only, &out->node, b->err);
}

sf_status sf_sqlb_check_width(sf_sqlb *b, size_t columns, sf_span where)
{
    if (columns <= SF_COLUMNS_MAX)
        return SF_OK;
    return sf_sqlb_fail(b, SF_LIMIT, where, "select fewer columns",
                        "the query needs %zu columns side by side, more than %d", columns,
                        SF_COLUMNS_MAX);
}

/* ---- inputs ---- */

/* Of the columns of an input that is no node's output. */
static sf_type loose_type(const sf_sqlb_input *input, uint32_t column)
{
    if (input->element)
        return input->rel.columns[column].type;
    return input->time ? SF_TYPE_I64 : SF_TYPE_BOOL;
}

sf_status sf_sqlb_add_input(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sqlb_input *input,
                            uint32_t *number)
{
    if (b->inputs.len == SF_SQLB_INPUTS_MAX)
        return sf_sqlb_fail(b, SF_LIMIT, input->span, "split it into tables that read each other",
                            "the statement reads more than %d inputs", SF_SQLB_INPUTS_MAX);
    sf_sqlb_input added = *input;
    *number = (uint32_t)b->inputs.len;
    added.first = (uint32_t)b->vcols.len;
    bool loose = added.element || added.time || added.mark;
    const sf_schema *schema = loose ? NULL : sf_plan_at(b->plan, added.rel.node)->schema;
    added.column_count = schema ? schema->count : added.element ? added.rel.count : 1;
    for (uint32_t i = 0; i < added.column_count; i++) {
        sf_type type = schema ? schema->fields[i].type : loose_type(&added, i);
        sf_sqlb_vcol vcol = {.type = type, .input = *number};
        if (!SF_VEC_PUSH(&b->vcols, vcol) || !SF_VEC_PUSH(&b->at, UINT32_MAX))
            return sf_fail_memory(b->err);
    }
    for (size_t i = 0; !added.hidden && i < scope->input_count; i++) {
        if (sf_str_eq(b->inputs.data[scope->inputs[i]].alias, added.alias))
            return sf_sqlb_fail(b, SF_INVALID, added.span, "give one of them another alias with AS",
                                "alias \"%.*s\" is used twice", SQLB_NAME(added.alias));
    }
    if (!SF_VEC_PUSH(&b->inputs, added))
        return sf_fail_memory(b->err);
    if (!added.hidden)
        SQLB_PUSH(b, scope->inputs, scope->input_count, *number);
    return SF_OK;
}

sf_status sf_sqlb_vcol_expr(sf_sqlb *b, uint32_t vcol, sf_span span, const sf_expr **out)
{
    return sf_expr_column(b->arena, vcol, b->vcols.data[vcol].type, span, out, b->err);
}

void sf_sqlb_use(sf_sqlb *b, const sf_expr *expr)
{
    if (expr->kind == SF_EXPR_COLUMN)
        b->vcols.data[expr->column].used = true;
    for (uint32_t i = 0; i < expr->arg_count; i++)
        sf_sqlb_use(b, expr->args[i]);
}

int sf_sqlb_find_column(const sf_sqlb_input *input, sf_str name)
{
    int exact = -1, found = -1;
    for (uint32_t i = 0; i < input->rel.count; i++) {
        sf_str column = sf_str_of(input->rel.columns[i].name);
        if (sf_str_eq(column, name))
            exact = exact == -1 ? (int)i : -2;
        if (sf_str_eq_nocase(column, name))
            found = found == -1 ? (int)i : -2;
    }
    return exact == -1 ? found : exact;
}

/* As sf_sqlb_find_column, reserved columns included. */
static int find_any(const sf_sqlb *b, const sf_sqlb_input *input, sf_str name)
{
    int found = sf_sqlb_find_column(input, name);
    if (found != -1 || input->element)
        return found;
    const sf_schema *schema = sf_plan_at(b->plan, input->rel.node)->schema;
    for (uint32_t i = input->rel.count; i < schema->count; i++) {
        if (sf_str_eq_nocase(sf_str_of(schema->fields[i].name), name))
            return (int)i;
    }
    return -1;
}

static sf_status ambiguous(sf_sqlb *b, const sf_sqlb_scope *scope, sf_sql_name name, bool qualified)
{
    if (qualified || scope->input_count - scope->from < 2)
        return sf_sqlb_fail(b, SF_INVALID, name.span,
                            "write it letter by letter as it is declared, or give the columns "
                            "different names",
                            "column \"%.*s\" is ambiguous: several columns have this name",
                            SQLB_NAME(name.text));
    sf_sqlb_fail(b, SF_INVALID, name.span, NULL, "column \"%.*s\" is ambiguous",
                 SQLB_NAME(name.text));
    for (size_t i = scope->from; i < scope->input_count; i++) {
        const sf_sqlb_input *input = &b->inputs.data[scope->inputs[i]];
        if (find_any(b, input, name.text) == -1)
            continue;
        sf_error_hint(b->err, "say which input it belongs to, as %.*s.%.*s",
                      SQLB_NAME(input->alias), SQLB_NAME(name.text));
        break;
    }
    return SF_INVALID;
}

static void hint_columns(sf_sqlb *b, const sf_sqlb_scope *scope, const sf_sqlb_input *only,
                         sf_str name)
{
    suggestion s = {.wanted = name};
    for (size_t i = only ? 0 : scope->from; i < (only ? 1 : scope->input_count); i++) {
        const sf_sqlb_input *input = only ? only : &b->inputs.data[scope->inputs[i]];
        for (uint32_t c = 0; c < input->rel.count; c++)
            suggest(&s, sf_str_of(input->rel.columns[c].name));
    }
    hint_suggestion(b, &s, "there are");
}

/* ---- lookup in one scope ---- */

typedef struct {
    bool found;
    uint32_t vcol;
    const sf_expr *merged;
} lookup;

static const sf_sqlb_input *input_named(const sf_sqlb *b, const sf_sqlb_scope *scope, sf_str alias)
{
    for (size_t i = scope->from; i < scope->input_count; i++) {
        const sf_sqlb_input *input = &b->inputs.data[scope->inputs[i]];
        if (sf_str_eq(input->alias, alias))
            return input;
    }
    return NULL;
}

static sf_status find_qualified(sf_sqlb *b, const sf_sqlb_scope *scope, const sf_sqlb_input *input,
                                sf_sql_name name, lookup *out)
{
    int column = find_any(b, input, name.text);
    if (column == -2)
        return ambiguous(b, scope, name, true);
    if (column < 0 && input->element) {
        char hint[200];
        snprintf(hint, sizeof hint, "it is a Json value: write %.*s -> '%.*s' or %.*s ->> '%.*s'",
                 SQLB_NAME(input->alias), SQLB_NAME(name.text), SQLB_NAME(input->alias),
                 SQLB_NAME(name.text));
        return sf_sqlb_fail(b, SF_INVALID, name.span, hint,
                            "\"%.*s\", the element of UNNEST, has no columns",
                            SQLB_NAME(input->alias));
    }
    if (column < 0) {
        sf_sqlb_fail(b, SF_NOT_FOUND, name.span, NULL, "column \"%.*s\" does not exist in \"%.*s\"",
                     SQLB_NAME(name.text), SQLB_NAME(input->alias));
        hint_columns(b, scope, input, name.text);
        return SF_NOT_FOUND;
    }
    *out = (lookup){.found = true, .vcol = input->first + (uint32_t)column};
    return SF_OK;
}

static bool is_merged(const sf_sqlb_merged *merged, uint32_t vcol)
{
    for (size_t i = 0; merged && i < merged->vcol_count; i++) {
        if (merged->vcols[i] == vcol)
            return true;
    }
    return false;
}

static sf_status find_bare(sf_sqlb *b, const sf_sqlb_scope *scope, sf_sql_name name, lookup *out)
{
    const sf_sqlb_merged *merged = NULL;
    for (size_t i = 0; i < scope->merged_count; i++) {
        if (scope->merged[i].from >= scope->from &&
            sf_str_eq_nocase(scope->merged[i].name, name.text)) {
            merged = &scope->merged[i];
            *out = (lookup){.found = true, .merged = merged->expr};
        }
    }
    bool joined = scope->ts != UINT32_MAX && scope->from == 0;
    if (joined && sf_str_eq_nocase(name.text, SF_STR(SF_COL_TS))) {
        *out = (lookup){.found = true, .vcol = scope->ts};
        return SF_OK;
    }
    for (size_t i = scope->from; i < scope->input_count; i++) {
        const sf_sqlb_input *input = &b->inputs.data[scope->inputs[i]];
        int column = find_any(b, input, name.text);
        if (column >= 0 && is_merged(merged, input->first + (uint32_t)column))
            continue;
        if (column == -2 || (column >= 0 && out->found))
            return ambiguous(b, scope, name, false);
        if (column >= 0)
            *out = (lookup){.found = true, .vcol = input->first + (uint32_t)column};
    }
    return SF_OK;
}

sf_status sf_sqlb_time_of(sf_sqlb *b, const sf_sqlb_scope *scope, sf_span span, const sf_expr **out)
{
    *out = NULL;
    if (scope->ts != UINT32_MAX)
        return sf_sqlb_vcol_expr(b, scope->ts, span, out);
    for (size_t i = 0; i < scope->input_count && !*out; i++) {
        const sf_sqlb_input *input = &b->inputs.data[scope->inputs[i]];
        if (!input->element)
            SF_TRY(sf_sqlb_vcol_expr(b, input->first + input->column_count - 1, span, out));
    }
    return SF_OK;
}

static sf_status find_in(sf_sqlb *b, const sf_sqlb_scope *scope, const sf_sql_names *parts,
                         lookup *out)
{
    sf_sql_name name = parts->items[parts->count - 1];
    *out = (lookup){0};
    if (parts->count == 1)
        return find_bare(b, scope, name, out);
    const sf_sqlb_input *input = input_named(b, scope, parts->items[parts->count - 2].text);
    return input ? find_qualified(b, scope, input, name, out) : SF_OK;
}

/* ---- lookup in all scopes ---- */

static sf_status unknown_column(sf_sqlb *b, const sf_sqlb_scope *scope, const sf_sql_names *parts)
{
    sf_sql_name name = parts->items[parts->count - 1];
    SF_ASSERT(scope);
    if (parts->count == 1) {
        sf_sqlb_fail(b, SF_NOT_FOUND, name.span, NULL, "column \"%.*s\" does not exist",
                     SQLB_NAME(name.text));
        hint_columns(b, scope, NULL, name.text);
        if (name.quoted)
            sf_error_hint(b->err, "double quotes enclose a name; text stands in single quotes");
        return SF_NOT_FOUND;
    }
    sf_sql_name alias = parts->items[parts->count - 2];
    sf_sqlb_fail(b, SF_NOT_FOUND, alias.span, NULL, "\"%.*s\" is no input of this query",
                 SQLB_NAME(alias.text));
    suggestion s = {.wanted = alias.text};
    for (size_t i = scope->from; i < scope->input_count; i++)
        suggest(&s, b->inputs.data[scope->inputs[i]].alias);
    hint_suggestion(b, &s, "its inputs are");
    return SF_NOT_FOUND;
}

/* An outer column was found: may it be read here? */
static sf_status check_outer(sf_sqlb *b, const sf_sqlb_scope *scope, sf_span span)
{
    if (scope->outer_use == SF_OUTER_LATERAL)
        return sf_sqlb_not_yet(b, span, "LATERAL with columns of the inputs before it",
                               "write a JOIN with the condition in ON");
    if (scope->outer_use == SF_OUTER_CORRELATED && scope->may_correlate && !scope->group)
        return SF_OK;
    return sf_sqlb_fail(b, SF_INVALID, span, "compare it there with =, or write a JOIN",
                        "a column of the outer query may stand only in the WHERE of a plain "
                        "subquery");
}

sf_status sf_sqlb_column_ref(sf_sqlb *b, sf_sqlb_scope *scope, const sf_sql_expr *ast,
                             const sf_expr **out)
{
    for (const sf_sqlb_scope *at = scope; at; at = at->outer) {
        lookup found;
        sf_error kept = *b->err;
        sf_status status = find_in(b, at, &ast->column, &found);
        if (at != scope && status != SF_OK) { /* what is wrong further out is no concern here */
            *b->err = kept;
            break;
        }
        SF_TRY(status);
        if (found.found && at != scope)
            SF_TRY(check_outer(b, scope, ast->span));
        if (found.merged) {
            *out = found.merged;
            return SF_OK;
        }
        if (found.found)
            return sf_sqlb_vcol_expr(b, found.vcol, ast->span, out);
    }
    return unknown_column(b, scope, &ast->column);
}

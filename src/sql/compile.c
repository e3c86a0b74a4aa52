/* compile.c: text to plan, and diagnostics. */
#include "sql/bind.h"
#include "sql/parse.h"

enum { TREE_BYTES_MAX = 64 << 20 };

/* ---- diagnostics ---- */

void sf_diagnostics_deinit(sf_diagnostics *diagnostics)
{
    for (size_t i = 0; i < diagnostics->list.len; i++)
        sf_free(diagnostics->list.data[i].message);
    SF_VEC_DEINIT(&diagnostics->list);
}

bool sf_diagnostics_add(sf_diagnostics *diagnostics, sf_str text, const sf_error *err, bool warning)
{
    sf_buf message = {0};
    sf_buf_puts(&message, err->message);
    if (err->hint[0])
        sf_buf_printf(&message, "; %s", err->hint);
    sf_diagnostic entry = {.warning = warning, .span = err->where};
    sf_sql_position(text, err->where.offset, &entry.line, &entry.column);
    entry.message = message.failed ? NULL : sf_strdup(message.data);
    sf_buf_deinit(&message);
    if (entry.message && SF_VEC_PUSH(&diagnostics->list, entry))
        return true;
    sf_free(entry.message);
    return false;
}

void sf_sql_position(sf_str text, uint32_t offset, uint32_t *line, uint32_t *column)
{
    sf_text_place place = sf_text_place_of(text, offset);
    *line = place.line;
    *column = place.column;
}

/* ---- compilation ---- */

static sf_status take_key(sf_plan *plan, const sf_sqlb_rel *rel, sf_error *err)
{
    plan->key_known = rel->key_known;
    for (uint32_t i = 0; rel->key_known && i < rel->key_count; i++) {
        if (!SF_VEC_PUSH(&plan->key_columns, rel->key[i]))
            return sf_fail_memory(err);
    }
    return SF_OK;
}

static sf_status compile(sf_sqlb *b)
{
    sf_sql_statement *statement;
    sf_sqlb_rel rel;
    SF_TRY(sf_sql_parse(b->text, b->scratch, &statement, b->err));
    if (statement->target.text.len)
        return sf_sqlb_fail(b, SF_INVALID, statement->target.span,
                            "leave INSERT INTO out and name the sink in the definition",
                            "INSERT INTO cannot stand here");
    SF_TRY(sf_sqlb_query(b, statement->query, NULL, SF_OUTER_CORRELATED, true, &rel));
    b->plan->output = rel.node;
    SF_TRY(sf_plan_limit_windows(b->plan, b->err));
    return take_key(b->plan, &rel, b->err);
}

sf_status sf_sql_compile(sf_str text, sf_plan_kind kind, const sf_resolver *resolver, sf_plan **out,
                         sf_diagnostics *diagnostics, sf_error *err)
{
    sf_error unread = {0};
    sf_arena scratch;
    sf_arena_init(&scratch, TREE_BYTES_MAX);
    sf_sqlb b = {.plan = sf_plan_new(kind),
                 .scratch = &scratch,
                 .text = text,
                 .kind = kind,
                 .resolver = resolver,
                 .diagnostics = diagnostics,
                 .err = err ? err : &unread};
    *out = NULL;
    b.arena = b.plan ? &b.plan->arena : NULL;
    sf_status status = b.plan ? compile(&b) : sf_fail_memory(b.err);
    if (status == SF_OK)
        *out = b.plan;
    else
        sf_plan_free(b.plan);
    if (status != SF_OK && diagnostics && !sf_diagnostics_add(diagnostics, text, b.err, false))
        status = sf_fail_memory(b.err);
    SF_VEC_DEINIT(&b.vcols);
    SF_VEC_DEINIT(&b.at);
    SF_VEC_DEINIT(&b.inputs);
    sf_arena_deinit(&scratch);
    return status;
}

/* ---- INSERT INTO ---- */

sf_status sf_sql_strip_insert(sf_str text, sf_str *target, sf_str *rest, sf_error *err)
{
    sf_lexer lexer;
    *target = (sf_str){0};
    *rest = text;
    if (text.len > SF_SQL_TEXT_BYTES_MAX)
        return sf_fail(err, SF_LIMIT, "the statement is longer than %d bytes",
                       SF_SQL_TEXT_BYTES_MAX);
    sf_lexer_init(&lexer, text, &sf_sql_lexer_rules);
    sf_token first = sf_lexer_next(&lexer);
    if (first.kind != SF_TOKEN_WORD || first.code != KW_INSERT)
        return SF_OK;
    sf_token into = sf_lexer_next(&lexer), name = sf_lexer_next(&lexer);
    bool named = name.kind == SF_TOKEN_NAME || name.kind == SF_TOKEN_WORD;
    if (into.kind != SF_TOKEN_WORD || into.code != KW_INTO || !named) {
        sf_fail_at(err, SF_SYNTAX, first.span, "INSERT lacks INTO and the name of a sink");
        sf_error_hint(err, "write INSERT INTO name SELECT ...");
        return SF_SYNTAX;
    }
    *target = sf_token_raw(text, name);
    if (name.kind == SF_TOKEN_NAME)
        *target = (sf_str){target->data + 1, target->len - 2};
    rest->data += lexer.pos;
    rest->len -= lexer.pos;
    return SF_OK;
}

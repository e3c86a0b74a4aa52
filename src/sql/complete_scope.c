/* complete_scope.c: the inputs of a half-typed SELECT and their columns. A subquery is compiled by
 * itself; when it does not compile, the names it lists must do. */
#include "sql/complete.h"

#include <string.h>

enum { COMPILATIONS_MAX = 16, DEPTH_MAX = 16, LOOKS_MAX = 200, INPUTS_MAX = 256 };
#define NONE SF_OUTLINE_NONE

/* ---- inputs ---- */

static uint32_t find_with(const sf_complete *c, uint32_t with, sf_str name)
{
    while (with != NONE && !sf_str_eq(sf_outline_name(&c->o, c->o.withs.data[with].name), name))
        with = c->o.withs.data[with].before;
    return with;
}

static bool opens_query(const sf_outline *o, uint32_t open)
{
    return sf_outline_word(o, open + 1, KW_SELECT) || sf_outline_word(o, open + 1, KW_WITH);
}

/* A name of FROM, or a query of WITH. */
static uint32_t read_name(sf_complete *c, uint32_t at, uint32_t end, uint32_t with,
                          sf_scope_input *in)
{
    const sf_outline *o = &c->o;
    uint32_t last = at;
    if (at + 2 < end && sf_outline_symbol(o, at + 1, '.') && sf_outline_is_name(o, at + 2))
        last = at + 2;
    sf_str name = sf_outline_name(o, at);
    in->alias = sf_outline_name(o, last);
    in->relation = last == at ? name : sf_outline_slice(o, at, last + 1);
    uint32_t found = last == at ? find_with(c, with, name) : NONE;
    if (found != NONE) {
        const sf_outline_with *query = &o->withs.data[found];
        bool renamed = sf_outline_symbol(o, query->name + 1, '(');
        in->kind = SF_SCOPE_QUERY;
        in->from = query->body_from;
        in->to = query->body_to;
        in->with = query->before;
        in->renames = renamed ? query->name + 1 : NONE;
    }
    return last + 1;
}

static uint32_t read_query(sf_complete *c, uint32_t open, uint32_t end, uint32_t with,
                           sf_scope_input *in)
{
    uint32_t behind = sf_outline_behind(&c->o, open, end);
    in->kind = SF_SCOPE_QUERY;
    in->from = open + 1;
    in->to = sf_outline_symbol(&c->o, behind - 1, ')') ? behind - 1 : behind;
    in->with = with;
    return behind;
}

/* Where the next input may begin: *at is moved over this one; false: none stands here. */
static bool read_input(sf_complete *c, uint32_t *at, uint32_t end, uint32_t with,
                       sf_scope_input *in)
{
    const sf_outline *o = &c->o;
    uint32_t i = *at;
    *in = (sf_scope_input){.with = NONE, .renames = NONE};
    bool call = sf_outline_symbol(o, i + 1, '(');
    bool window = call && (sf_outline_word(o, i, KW_TUMBLE) || sf_outline_word(o, i, KW_HOP) ||
                           sf_outline_word(o, i, KW_SESSION));
    if (sf_outline_word(o, i, KW_LATERAL))
        i++;
    if (sf_outline_symbol(o, i, '(')) {
        if (!opens_query(o, i))
            return false; /* joins in parentheses: their inputs come next */
        i = read_query(c, i, end, with, in);
    } else if (sf_outline_word(o, i, KW_UNNEST) && call) {
        in->kind = SF_SCOPE_ELEMENT;
        i = sf_outline_behind(o, i + 1, end);
        if (sf_outline_word(o, i, KW_WITH) && sf_outline_word(o, i + 1, KW_ORDINALITY))
            i += 2;
    } else if (window) {
        uint32_t first = i + 2 + sf_outline_word(o, i + 2, KW_TABLE);
        if (sf_outline_symbol(o, first, '('))
            read_query(c, first, end, with, in);
        else if (sf_outline_is_name(o, first))
            read_name(c, first, end, with, in);
        in->windows = true;
        i = sf_outline_behind(o, i + 1, end);
    } else if (sf_outline_is_name(o, i)) {
        i = read_name(c, i, end, with, in);
    } else {
        return false;
    }
    i += sf_outline_word(o, i, KW_AS);
    if (i < end && sf_outline_is_name(o, i) &&
        (o->tokens.data[i].kind == SF_TOKEN_NAME ||
         !(sf_sql_keyword_flags((sf_sql_keyword)o->tokens.data[i].code) & SF_SQL_NO_ALIAS))) {
        in->alias = sf_outline_name(o, i++);
        if (sf_outline_symbol(o, i, '(')) {
            in->renames = i;
            i = sf_outline_behind(o, i, end);
        }
    }
    *at = i;
    return true;
}

sf_status sf_complete_inputs(sf_complete *c, uint32_t number, sf_scope_inputs *out)
{
    const sf_outline *o = &c->o;
    const sf_outline_select *select = &o->selects.data[number];
    if (select->from == NONE || c->looks++ >= LOOKS_MAX)
        return SF_OK;
    uint32_t end = select->from_end, i = select->from;
    bool expected = true;
    while (i < end && out->len < INPUTS_MAX) {
        sf_scope_input in;
        if (expected && read_input(c, &i, end, select->with, &in)) {
            if (!SF_VEC_PUSH(out, in))
                return sf_fail_memory(c->err);
            expected = false;
            continue;
        }
        bool list = sf_outline_symbol(o, i, '(') && !expected;
        expected = sf_outline_symbol(o, i, ',') || sf_outline_word(o, i, KW_JOIN) ||
                   (expected && sf_outline_symbol(o, i, '('));
        i = list ? sf_outline_behind(o, i, end) : i + 1;
    }
    return SF_OK;
}

/* ---- columns ---- */

static sf_status add_column(sf_complete *c, sf_complete_columns *out, sf_complete_column column)
{
    return SF_VEC_PUSH(out, column) ? SF_OK : sf_fail_memory(c->err);
}

static sf_status add_schema(sf_complete *c, const sf_schema *schema, bool copied,
                            sf_complete_columns *out)
{
    for (uint32_t i = 0; i < schema->count; i++) {
        const sf_field *field = &schema->fields[i];
        if (field->hidden)
            continue;
        const char *name =
            copied ? sf_arena_strndup(c->arena, field->name, strlen(field->name)) : field->name;
        if (!name)
            return sf_fail_memory(c->err);
        SF_TRY(add_column(c, out, (sf_complete_column){sf_str_of(name), true, field->type, false}));
    }
    return SF_OK;
}

/* The queries of WITH that a query may read, then the query. */
static void put_query(const sf_complete *c, const sf_scope_input *in, sf_buf *out)
{
    const sf_outline *o = &c->o;
    SF_VEC(uint32_t) chain = {0};
    for (uint32_t with = in->with; with != NONE; with = o->withs.data[with].before)
        if (!SF_VEC_PUSH(&chain, with))
            out->failed = true;
    bool own = sf_outline_word(o, in->from, KW_WITH);
    for (size_t i = chain.len; i-- > 0;) {
        const sf_outline_with *with = &o->withs.data[chain.data[i]];
        sf_str text = sf_outline_slice(o, with->name, with->body_to + 1);
        sf_buf_puts(out, i + 1 == chain.len ? "WITH " : ", ");
        sf_buf_put(out, text.data, text.len);
    }
    sf_str body = sf_outline_slice(o, in->from, in->to);
    if (own && chain.len) { /* WITH a AS (...), then its own, without the second WITH */
        sf_buf_puts(out, ", ");
        body = sf_outline_slice(o, in->from + 1, in->to);
    }
    sf_buf_putc(out, ' ');
    sf_buf_put(out, body.data, body.len);
    SF_VEC_DEINIT(&chain);
}

static sf_status compiled_columns(sf_complete *c, const sf_scope_input *in,
                                  sf_complete_columns *out, bool *done)
{
    sf_buf text = {0};
    sf_plan *plan = NULL;
    *done = false;
    if (c->compilations++ >= COMPILATIONS_MAX)
        return SF_OK;
    put_query(c, in, &text);
    sf_status status = SF_OK;
    if (!text.failed &&
        sf_sql_compile(sf_buf_str(&text), c->kind, c->resolver, &plan, NULL, NULL) == SF_OK) {
        *done = true;
        status = add_schema(c, sf_plan_schema(plan), true, out);
    }
    sf_plan_free(plan);
    sf_buf_deinit(&text);
    return status;
}

/* The SELECT of a query's tokens; the last one of a set operation. */
static uint32_t select_of(const sf_complete *c, const sf_scope_input *in)
{
    uint32_t nested = NONE;
    for (uint32_t i = 0; i < c->o.selects.len; i++) {
        const sf_outline_select *select = &c->o.selects.data[i];
        if (select->first >= in->from && select->end == in->to)
            return i;
        if (select->first >= in->from && select->first < in->to && nested == NONE)
            nested = i;
    }
    return nested;
}

/* The items of a SELECT; *end: the token behind the item at `at`. */
static uint32_t item_end(const sf_outline *o, uint32_t at, uint32_t end)
{
    while (at < end && !sf_outline_symbol(o, at, ','))
        at = sf_outline_symbol(o, at, '(') ? sf_outline_behind(o, at, end) : at + 1;
    return at;
}

static uint32_t items_end(const sf_outline_select *select)
{
    return select->from == NONE ? select->end : select->from - 1;
}

static uint32_t items_begin(const sf_outline *o, const sf_outline_select *select)
{
    return select->first + 1 + sf_outline_word(o, select->first + 1, KW_DISTINCT);
}

/* The token that names an item; NONE: none does. */
static uint32_t item_name(const sf_outline *o, uint32_t at, uint32_t end)
{
    uint32_t last = end - 1;
    if (end <= at || !sf_outline_is_name(o, last))
        return NONE;
    bool whole = end == at + 1 || (end == at + 3 && sf_outline_symbol(o, at + 1, '.'));
    if (whole || sf_outline_word(o, last - 1, KW_AS))
        return last;
    return last > at && !sf_outline_wants_operand(o, last - 1) &&
                   !sf_outline_symbol(o, last - 1, '.') &&
                   !(sf_sql_keyword_flags((sf_sql_keyword)o->tokens.data[last].code) &
                     SF_SQL_NO_ALIAS)
               ? last
               : NONE;
}

static bool is_star(const sf_outline *o, uint32_t at, uint32_t end, sf_str *qualifier)
{
    *qualifier = (sf_str){0};
    if (end == at + 3 && sf_outline_symbol(o, at + 1, '.'))
        *qualifier = sf_outline_name(o, at);
    else if (end != at + 1)
        return false;
    return sf_outline_symbol(o, end - 1, '*');
}

static sf_status star_columns(sf_complete *c, uint32_t select, sf_str qualifier,
                              sf_complete_columns *out)
{
    sf_scope_inputs inputs = {0};
    sf_status status = sf_complete_inputs(c, select, &inputs);
    for (size_t i = 0; status == SF_OK && i < inputs.len; i++)
        if (!qualifier.len || sf_str_eq(inputs.data[i].alias, qualifier))
            status = sf_complete_columns_of(c, &inputs.data[i], out);
    SF_VEC_DEINIT(&inputs);
    return status;
}

static sf_status listed_columns(sf_complete *c, const sf_scope_input *in, sf_complete_columns *out)
{
    uint32_t number = select_of(c, in);
    if (number == NONE || c->depth >= DEPTH_MAX)
        return SF_OK;
    const sf_outline_select *select = &c->o.selects.data[number];
    uint32_t end = items_end(select);
    sf_status status = SF_OK;
    c->depth++;
    for (uint32_t at = items_begin(&c->o, select); status == SF_OK && at < end;) {
        sf_str qualifier;
        uint32_t behind = item_end(&c->o, at, end), name = item_name(&c->o, at, behind);
        if (is_star(&c->o, at, behind, &qualifier))
            status = star_columns(c, number, qualifier, out);
        else if (name != NONE)
            status = add_column(c, out, (sf_complete_column){.name = sf_outline_name(&c->o, name)});
        at = behind + 1;
    }
    c->depth--;
    return status;
}

static sf_status relation_columns(sf_complete *c, sf_str name, sf_complete_columns *out)
{
    sf_relation relation = {0};
    if (c->resolver->find(c->resolver->self, name, &relation, NULL) != SF_OK)
        return SF_OK;
    SF_TRY(add_schema(c, relation.schema, false, out));
    return add_column(c, out, (sf_complete_column){SF_STR("_ts"), true, SF_TYPE_I64, true});
}

static void rename_columns(const sf_complete *c, uint32_t open, sf_complete_columns *columns,
                           size_t first)
{
    uint32_t end = sf_outline_behind(&c->o, open, (uint32_t)c->o.tokens.len);
    for (uint32_t i = open + 1; i < end && first < columns->len; i++)
        if (sf_outline_is_name(&c->o, i))
            columns->data[first++].name = sf_outline_name(&c->o, i);
}

sf_status sf_complete_columns_of(sf_complete *c, const sf_scope_input *in, sf_complete_columns *out)
{
    size_t first = out->len;
    bool done = true;
    switch (in->kind) {
    case SF_SCOPE_RELATION: SF_TRY(relation_columns(c, in->relation, out)); break;
    case SF_SCOPE_QUERY: SF_TRY(compiled_columns(c, in, out, &done)); break;
    case SF_SCOPE_ELEMENT:
        if (in->alias.len)
            SF_TRY(add_column(c, out, (sf_complete_column){in->alias, true, SF_TYPE_JSON, false}));
        break;
    }
    if (!done)
        SF_TRY(listed_columns(c, in, out));
    if (in->renames != NONE)
        rename_columns(c, in->renames, out, first);
    for (int end = 0; in->windows && end < 2; end++) {
        sf_str name = end ? SF_STR("window_end") : SF_STR("window_start");
        SF_TRY(add_column(c, out, (sf_complete_column){name, true, SF_TYPE_I64, true}));
    }
    return SF_OK;
}

/* ---- where a column comes from ---- */

static bool has_column(sf_complete *c, sf_str relation, sf_str name)
{
    sf_relation found = {0};
    return c->resolver->find(c->resolver->self, relation, &found, NULL) == SF_OK &&
           sf_schema_find(found.schema, name) >= 0;
}

static bool origin_in_query(sf_complete *c, const sf_scope_input *in, sf_str name, sf_str *relation,
                            sf_str *column)
{
    uint32_t number = select_of(c, in);
    if (number == NONE)
        return false;
    const sf_outline_select *select = &c->o.selects.data[number];
    uint32_t end = items_end(select);
    for (uint32_t at = items_begin(&c->o, select), behind; at < end; at = behind + 1) {
        sf_str qualifier = {0};
        behind = item_end(&c->o, at, end);
        uint32_t named = item_name(&c->o, at, behind);
        if (is_star(&c->o, at, behind, &qualifier) &&
            sf_complete_origin(c, number, qualifier, name, relation, column))
            return true;
        if (named == NONE || !sf_str_eq_nocase(sf_outline_name(&c->o, named), name))
            continue;
        uint32_t last = sf_outline_symbol(&c->o, at + 1, '.') ? at + 2 : at;
        bool plain = sf_outline_is_name(&c->o, last) && (behind == last + 1 || named <= last + 2);
        qualifier = last == at ? (sf_str){0} : sf_outline_name(&c->o, at);
        return plain && !sf_outline_symbol(&c->o, last + 1, '(') &&
               sf_complete_origin(c, number, qualifier, sf_outline_name(&c->o, last), relation,
                                  column);
    }
    return false;
}

bool sf_complete_origin(sf_complete *c, uint32_t select, sf_str qualifier, sf_str name,
                        sf_str *relation, sf_str *column)
{
    if (select == NONE || c->depth >= DEPTH_MAX)
        return false;
    sf_scope_inputs inputs = {0};
    bool found = false;
    c->depth++;
    if (sf_complete_inputs(c, select, &inputs) != SF_OK)
        inputs.len = 0;
    for (size_t i = 0; i < inputs.len && !found; i++) {
        const sf_scope_input *in = &inputs.data[i];
        if (qualifier.len && !sf_str_eq(in->alias, qualifier))
            continue;
        if (in->kind == SF_SCOPE_QUERY) {
            found = origin_in_query(c, in, name, relation, column);
        } else if (in->kind == SF_SCOPE_RELATION && has_column(c, in->relation, name)) {
            *relation = in->relation;
            *column = name;
            found = true;
        }
    }
    if (!found)
        found = sf_complete_origin(c, c->o.selects.data[select].outer, qualifier, name, relation,
                                   column);
    c->depth--;
    SF_VEC_DEINIT(&inputs);
    return found;
}

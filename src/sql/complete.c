/* complete.c: what may stand at the cursor. What kind of thing it is follows from the token before
 * it and the clause (outline.h); which keywords, from the parser itself, run to the cursor. */
#include "sql/complete.h"

#include <stdlib.h>
#include <string.h>

#define NONE SF_OUTLINE_NONE

typedef struct {
    sf_complete c;
    sf_completions *out;
    sf_str typed; /* before the cursor: items begin with it */
    char quote;   /* around what is typed; 0: none */
} completer;

const char *sf_completion_kind_name(sf_completion_kind kind)
{
    static const char *const names[] = {"column",   "alias",     "source", "table",
                                        "pipeline", "query",     "key",    "operator",
                                        "function", "aggregate", "type",   "keyword"};
    return names[kind];
}

void sf_completions_deinit(sf_completions *completions)
{
    SF_VEC_DEINIT(&completions->items);
    sf_arena_deinit(&completions->arena);
}

/* ---- items ---- */

static bool begins(sf_str text, sf_str start)
{
    return text.len >= start.len && sf_str_eq_nocase((sf_str){text.data, start.len}, start);
}

static const char *keep(completer *m, sf_str text)
{
    return sf_arena_strndup(m->c.arena, text.data, text.len);
}

static sf_status add(completer *m, sf_completion_kind kind, sf_str label, sf_str insert,
                     const char *detail, const char *doc)
{
    if (m->out->items.len >= SF_COMPLETIONS_MAX)
        return SF_OK;
    sf_completion item = {kind, keep(m, label), keep(m, insert), detail, doc};
    if (!item.label || !item.insert || !SF_VEC_PUSH(&m->out->items, item))
        return sf_fail_memory(m->c.err);
    return SF_OK;
}

/* A name as SQL writes it, behind its qualifier. */
static sf_status add_name(completer *m, sf_completion_kind kind, sf_str qualifier, sf_str name,
                          const char *detail)
{
    sf_buf text = {0};
    if (!begins(name, m->typed) && !(qualifier.len && begins(qualifier, m->typed)))
        return SF_OK;
    if (qualifier.len) {
        sf_sql_print_name(qualifier, &text);
        sf_buf_putc(&text, '.');
    }
    sf_sql_print_name(name, &text);
    sf_status status = text.failed ? sf_fail_memory(m->c.err)
                                   : add(m, kind, sf_buf_str(&text), sf_buf_str(&text), detail, "");
    sf_buf_deinit(&text);
    return status;
}

static sf_status add_word(completer *m, sf_completion_kind kind, const char *word)
{
    sf_str text = sf_str_of(word);
    return begins(text, m->typed) && !m->quote ? add(m, kind, text, text, "", "") : SF_OK;
}

static sf_status add_words(completer *m, sf_completion_kind kind, const char *const *words,
                           size_t count)
{
    for (size_t i = 0; i < count; i++)
        SF_TRY(add_word(m, kind, words[i]));
    return SF_OK;
}

/* ---- columns ---- */

static const char *type_of(const sf_complete_column *column)
{
    return column->typed ? sf_type_name(column->type) : "";
}

static bool is_among(const sf_complete_columns *columns, size_t from, size_t to, sf_str name)
{
    for (size_t i = from; i < to; i++)
        if (sf_str_eq_nocase(columns->data[i].name, name))
            return true;
    return false;
}

static bool is_json(const completer *m, sf_str column, const sf_complete_column *of)
{
    return of->typed && of->type == SF_TYPE_JSON && m->typed.len == column.len &&
           sf_str_eq_nocase(m->typed, column);
}

/* Behind a Json column that is typed to its end its operators may follow at once. */
static sf_status add_arrows(completer *m, sf_str column)
{
    static const char *const arrows[] = {"->", "->>"};
    for (size_t i = 0; i < 2; i++) {
        char *text = sf_arena_printf(m->c.arena, "%.*s%s", SF_STR_ARG(column), arrows[i]);
        if (!text)
            return sf_fail_memory(m->c.err);
        SF_TRY(add(m, SF_COMPLETION_OPERATOR, sf_str_of(text), sf_str_of(text),
                   i ? "String" : "Json", ""));
    }
    return SF_OK;
}

/* columns[bounds[i] .. bounds[i + 1]) are those of input i. A name that two inputs have, or that an
 * inner SELECT hides, is qualified. */
static sf_status add_columns(completer *m, const sf_scope_inputs *inputs,
                             const sf_complete_columns *columns, const size_t *bounds,
                             const sf_complete_columns *hiding)
{
    for (int late = 0; late < 2; late++) {
        for (size_t i = 0; i < inputs->len; i++) {
            for (size_t k = bounds[i]; k < bounds[i + 1]; k++) {
                const sf_complete_column *column = &columns->data[k];
                bool shared = is_among(columns, 0, bounds[i], column->name) ||
                              is_among(columns, bounds[i + 1], columns->len, column->name) ||
                              is_among(hiding, 0, hiding->len, column->name);
                if (column->reserved != (late == 1))
                    continue;
                sf_str qualifier = shared ? inputs->data[i].alias : (sf_str){0};
                SF_TRY(add_name(m, SF_COMPLETION_COLUMN, qualifier, column->name, type_of(column)));
                if (!shared && !m->quote && is_json(m, column->name, column))
                    SF_TRY(add_arrows(m, column->name));
            }
        }
    }
    return SF_OK;
}

/* A SELECT's columns; they are appended to `seen`, which hides the same names further out. */
static sf_status add_scope(completer *m, uint32_t select, sf_complete_columns *seen)
{
    sf_scope_inputs inputs = {0};
    sf_complete_columns columns = {0};
    SF_VEC(size_t) bounds = {0};
    sf_status status = sf_complete_inputs(&m->c, select, &inputs);
    if (status == SF_OK && !SF_VEC_PUSH(&bounds, 0))
        status = sf_fail_memory(m->c.err);
    for (size_t i = 0; status == SF_OK && i < inputs.len; i++) {
        status = sf_complete_columns_of(&m->c, &inputs.data[i], &columns);
        if (status == SF_OK && !SF_VEC_PUSH(&bounds, columns.len))
            status = sf_fail_memory(m->c.err);
    }
    if (status == SF_OK)
        status = add_columns(m, &inputs, &columns, bounds.data, seen);
    for (int end = 0; status == SF_OK && m->c.o.selects.data[select].windowed && end < 2; end++)
        status = add_name(m, SF_COMPLETION_COLUMN, (sf_str){0},
                          end ? SF_STR("window_end") : SF_STR("window_start"), "Long");
    for (size_t i = 0; status == SF_OK && i < inputs.len; i++)
        if (inputs.data[i].alias.len && inputs.data[i].kind != SF_SCOPE_ELEMENT)
            status = add_name(m, SF_COMPLETION_ALIAS, (sf_str){0}, inputs.data[i].alias, "");
    for (size_t i = 0; status == SF_OK && i < columns.len; i++)
        if (!SF_VEC_PUSH(seen, columns.data[i]))
            status = sf_fail_memory(m->c.err);
    SF_VEC_DEINIT(&inputs);
    SF_VEC_DEINIT(&columns);
    SF_VEC_DEINIT(&bounds);
    return status;
}

static sf_status add_all_columns(completer *m)
{
    enum { OUTER_MAX = 8 };
    sf_complete_columns seen = {0};
    sf_status status = SF_OK;
    uint32_t select = m->c.o.here.select;
    for (int i = 0; status == SF_OK && select != NONE && i < OUTER_MAX; i++) {
        status = add_scope(m, select, &seen);
        select = m->c.o.selects.data[select].outer;
    }
    SF_VEC_DEINIT(&seen);
    return status;
}

/* alias. : its columns, in the nearest SELECT that has it */
static sf_status add_members(completer *m, sf_str alias, bool star)
{
    bool found = false;
    sf_status status = SF_OK;
    uint32_t select = m->c.o.here.select;
    while (select != NONE && !found && status == SF_OK) {
        sf_scope_inputs inputs = {0};
        sf_complete_columns columns = {0};
        status = sf_complete_inputs(&m->c, select, &inputs);
        for (size_t i = 0; status == SF_OK && i < inputs.len && !found; i++) {
            found = sf_str_eq(inputs.data[i].alias, alias);
            if (found)
                status = sf_complete_columns_of(&m->c, &inputs.data[i], &columns);
        }
        for (size_t i = 0; status == SF_OK && i < columns.len; i++) {
            const sf_complete_column *column = &columns.data[i];
            status = add_name(m, SF_COMPLETION_COLUMN, (sf_str){0}, column->name, type_of(column));
            if (status == SF_OK && !m->quote && is_json(m, column->name, column))
                status = add_arrows(m, column->name);
        }
        select = m->c.o.selects.data[select].outer;
        SF_VEC_DEINIT(&inputs);
        SF_VEC_DEINIT(&columns);
    }
    if (status == SF_OK && found && star && !m->typed.len && !m->quote)
        status = add_word(m, SF_COMPLETION_COLUMN, "*");
    return status;
}

/* ---- relations ---- */

typedef struct {
    completer *m;
    sf_status status;
} visiting;

static bool visit_relation(void *arg, const sf_relation *relation)
{
    static const sf_completion_kind kinds[] = {[SF_INPUT_SOURCE] = SF_COMPLETION_SOURCE,
                                               [SF_INPUT_TABLE] = SF_COMPLETION_TABLE,
                                               [SF_INPUT_PIPELINE] = SF_COMPLETION_PIPELINE};
    visiting *v = arg;
    if (v->m->c.kind == SF_PLAN_PIPELINE && relation->kind != SF_INPUT_SOURCE)
        return true; /* a pipeline reads sources only */
    v->status = add_name(v->m, kinds[relation->kind], (sf_str){0}, sf_str_of(relation->name), "");
    return v->status == SF_OK;
}

static int by_kind_and_name(const void *a, const void *b)
{
    const sf_completion *x = a, *y = b;
    return x->kind != y->kind ? (int)x->kind - (int)y->kind : strcmp(x->label, y->label);
}

static sf_status add_relations(completer *m)
{
    visiting v = {m, SF_OK};
    uint32_t with = m->c.o.here.with;
    if (m->c.o.here.select != NONE)
        with = m->c.o.selects.data[m->c.o.here.select].with;
    for (; with != NONE; with = m->c.o.withs.data[with].before)
        SF_TRY(add_name(m, SF_COMPLETION_QUERY, (sf_str){0},
                        sf_outline_name(&m->c.o, m->c.o.withs.data[with].name), ""));
    size_t first = m->out->items.len;
    if (m->c.resolver->list)
        m->c.resolver->list(m->c.resolver->self, visit_relation, &v);
    if (m->out->items.len > first)
        qsort(m->out->items.data + first, m->out->items.len - first, sizeof *m->out->items.data,
              by_kind_and_name);
    return v.status;
}

/* ---- functions, keywords ---- */

static sf_status add_functions(completer *m, bool aggregates)
{
    if (m->quote)
        return SF_OK;
    size_t first = m->out->items.len;
    for (uint32_t i = 0; i < sf_function_count(); i++) {
        const sf_function_info *info = sf_function_at(i);
        bool aggregate = strcmp(info->family, "aggregate") == 0;
        bool window = strcmp(info->family, "window") == 0;
        bool call = strchr(info->signature, '(') != NULL;
        if (!begins(sf_str_of(info->name), m->typed) || ((aggregate || window) && !aggregates))
            continue;
        bool empty = strstr(info->signature, "()") != NULL;
        const char *text = sf_arena_printf(m->c.arena, "%s%s", info->name,
                                           !call   ? ""
                                           : empty ? "()"
                                                   : "(");
        if (!text)
            return sf_fail_memory(m->c.err);
        SF_TRY(add(m, aggregate ? SF_COMPLETION_AGGREGATE : SF_COMPLETION_FUNCTION,
                   sf_str_of(info->name), sf_str_of(text), info->signature, info->doc));
    }
    if (m->out->items.len > first)
        qsort(m->out->items.data + first, m->out->items.len - first, sizeof *m->out->items.data,
              by_kind_and_name);
    return SF_OK;
}

/* Words that come with a second one. */
static const char *phrase_of(sf_sql_keyword keyword)
{
    switch (keyword) {
    case KW_GROUP: return "GROUP BY";
    case KW_ORDER: return "ORDER BY";
    case KW_LATEST: return "LATEST BY";
    case KW_PARTITION: return "PARTITION BY";
    case KW_LEFT: return "LEFT JOIN";
    case KW_RIGHT: return "RIGHT JOIN";
    case KW_FULL: return "FULL JOIN";
    case KW_INNER: return "INNER JOIN";
    case KW_CROSS: return "CROSS JOIN";
    case KW_NATURAL: return "NATURAL JOIN";
    case KW_ASOF: return "ASOF JOIN";
    case KW_EMIT: return "EMIT CHANGES";
    case KW_INSERT: return "INSERT INTO";
    default: return sf_sql_keyword_text(keyword);
    }
}

/* The keywords the parser takes here; the usual ones when the text is wrong further up. */
static sf_status add_keywords(completer *m, uint32_t from, bool operand)
{
    static const char *const starts[] = {"CASE",     "CAST(", "EXISTS (", "FALSE",
                                         "INTERVAL", "NOT",   "NULL",     "TRUE"};
    static const char *const clauses[] = {"AND",       "AS",       "BETWEEN", "FROM",  "GROUP BY",
                                          "HAVING",    "IN",       "IS",      "JOIN",  "LATEST BY",
                                          "LEFT JOIN", "LIKE",     "LIMIT",   "NOT",   "ON",
                                          "OR",        "ORDER BY", "UNION",   "WHERE", "WINDOW"};
    bool wanted[KW_COUNT];
    sf_arena scratch;
    if (m->quote)
        return SF_OK;
    sf_arena_init(&scratch, 64 << 20);
    bool known = sf_sql_parse_wanted((sf_str){m->c.o.text.data, from}, &scratch, wanted);
    sf_arena_deinit(&scratch);
    if (operand)
        SF_TRY(add_words(m, SF_COMPLETION_KEYWORD, starts, SF_COUNT_OF(starts)));
    else if (!known)
        SF_TRY(add_words(m, SF_COMPLETION_KEYWORD, clauses, SF_COUNT_OF(clauses)));
    /* The parser looks for FROM where it would say that it is misplaced. */
    wanted[KW_FROM] &= !operand && m->c.o.here.clause == SF_CLAUSE_SELECT;
    for (int i = 1; known && i < KW_COUNT; i++)
        if (wanted[i])
            SF_TRY(add_word(m, SF_COMPLETION_KEYWORD, phrase_of((sf_sql_keyword)i)));
    return SF_OK;
}

/* ---- Json ---- */

typedef struct {
    sf_str relation, column;
    sf_str path[32]; /* keys on the way */
    size_t count;
    bool found;
} json_path;

/* The path that ends before the arrow at `arrow`: [alias.]column -> 'a' -> 'b' ->. Array indexes
 * lead to the elements, whose keys are the array's. */
static void read_path(completer *m, uint32_t arrow, json_path *out)
{
    const sf_outline *o = &m->c.o;
    *out = (json_path){0};
    uint32_t at = arrow;
    size_t count = 0;
    while (at >= 2 && (sf_outline_symbol(o, at - 2, SF_SYMBOL_ARROW)) &&
           count < SF_COUNT_OF(out->path)) {
        sf_token key = o->tokens.data[at - 1];
        sf_str raw = sf_token_raw(o->text, key);
        if (key.kind == SF_TOKEN_STRING)
            out->path[count++] = (sf_str){raw.data + 1, raw.len - 2};
        else if (key.kind != SF_TOKEN_INTEGER)
            return;
        at -= 2;
    }
    if (at == 0 || !sf_outline_is_name(o, at - 1))
        return;
    for (size_t i = 0; i < count / 2; i++) {
        sf_str other = out->path[i];
        out->path[i] = out->path[count - 1 - i];
        out->path[count - 1 - i] = other;
    }
    out->count = count;
    bool qualified = at >= 3 && sf_outline_symbol(o, at - 2, '.');
    sf_str qualifier = qualified ? sf_outline_name(o, at - 3) : (sf_str){0};
    out->found = sf_complete_origin(&m->c, o->here.select, qualifier, sf_outline_name(o, at - 1),
                                    &out->relation, &out->column);
}

static void visit_key(void *arg, const char *key, const char *type)
{
    visiting *v = arg;
    completer *m = v->m;
    if (v->status != SF_OK || !begins(sf_str_of(key), m->typed))
        return;
    sf_buf text = {0};
    sf_buf_putc(&text, '\'');
    for (const char *c = key; *c; c++) {
        sf_buf_putc(&text, *c);
        if (*c == '\'')
            sf_buf_putc(&text, *c);
    }
    sf_buf_putc(&text, '\'');
    v->status = text.failed
                    ? sf_fail_memory(m->c.err)
                    : add(m, SF_COMPLETION_KEY, sf_str_of(key), sf_buf_str(&text), type, "");
    sf_buf_deinit(&text);
}

static sf_status add_keys(completer *m, uint32_t arrow)
{
    json_path path;
    visiting v = {m, SF_OK};
    read_path(m, arrow, &path);
    if (path.found && m->c.resolver->keys)
        m->c.resolver->keys(m->c.resolver->self, path.relation, path.column, path.path, path.count,
                            visit_key, &v);
    return v.status;
}

/* Behind a column or a key: may -> follow? */
static bool is_json_value(completer *m, uint32_t last)
{
    const sf_outline *o = &m->c.o;
    if (last && (o->tokens.data[last].kind == SF_TOKEN_STRING ||
                 o->tokens.data[last].kind == SF_TOKEN_INTEGER))
        return sf_outline_symbol(o, last - 1, SF_SYMBOL_ARROW);
    if (!sf_outline_is_name(o, last))
        return false;
    bool json = false, settled = false;
    bool qualified = last >= 2 && sf_outline_symbol(o, last - 1, '.');
    sf_str name = sf_outline_name(o, last);
    uint32_t select = o->here.select;
    sf_scope_inputs inputs = {0};
    sf_complete_columns columns = {0};
    if (select != NONE && sf_complete_inputs(&m->c, select, &inputs) == SF_OK)
        for (size_t i = 0; i < inputs.len; i++)
            if (!qualified || sf_str_eq(inputs.data[i].alias, sf_outline_name(o, last - 2)))
                settled |= sf_complete_columns_of(&m->c, &inputs.data[i], &columns) != SF_OK;
    for (size_t i = 0; i < columns.len && !settled; i++)
        if (sf_str_eq_nocase(columns.data[i].name, name))
            json |= columns.data[i].typed && columns.data[i].type == SF_TYPE_JSON;
    SF_VEC_DEINIT(&inputs);
    SF_VEC_DEINIT(&columns);
    return json;
}

/* ---- where the cursor is ---- */

static bool in_call_of(const sf_outline *o, sf_sql_keyword keyword)
{
    return !o->here.query && o->here.open && sf_outline_word(o, o->here.open - 1, keyword);
}

static bool is_number_next(const sf_outline *o, uint32_t last)
{
    static const sf_sql_keyword words[] = {KW_SIZE,   KW_ADVANCE, KW_GAP,  KW_WITHIN, KW_LIMIT,
                                           KW_OFFSET, KW_AS,      KW_WITH, KW_INTO,   KW_INTERVAL};
    for (size_t i = 0; i < SF_COUNT_OF(words); i++)
        if (sf_outline_word(o, last, words[i]))
            return true;
    return false;
}

static bool wants_relation(const sf_outline *o, uint32_t last)
{
    if (sf_outline_word(o, last, KW_FROM) || sf_outline_word(o, last, KW_JOIN))
        return o->here.clause == SF_CLAUSE_FROM && !o->here.keeps_from;
    if (o->here.clause != SF_CLAUSE_FROM)
        return false;
    bool opened = !o->here.query && last == o->here.open && last > 0;
    if (sf_outline_symbol(o, last, ','))
        return o->here.query;
    return opened &&
           (in_call_of(o, KW_TUMBLE) || in_call_of(o, KW_HOP) || in_call_of(o, KW_SESSION) ||
            in_call_of(o, KW_FROM) || in_call_of(o, KW_JOIN) || in_call_of(o, KW_TABLE));
}

static bool may_aggregate(const sf_outline *o)
{
    return o->here.clause == SF_CLAUSE_SELECT || o->here.clause == SF_CLAUSE_HAVING ||
           o->here.clause == SF_CLAUSE_ORDER;
}

/* Parentheses that begin with keywords of their own. */
static bool wants_keywords_only(const sf_outline *o, uint32_t last)
{
    if (!sf_outline_symbol(o, last, '(') || last == 0)
        return false;
    return o->here.clause == SF_CLAUSE_WINDOW || sf_outline_word(o, last - 1, KW_OVER) ||
           sf_outline_word(o, last - 1, KW_FILTER) || sf_outline_word(o, last - 1, KW_GROUP) ||
           o->here.clause == SF_CLAUSE_WITH;
}

static sf_status add_operand(completer *m, uint32_t from)
{
    static const char *const sets[] = {"CUBE(", "GROUPING SETS(", "ROLLUP("};
    SF_TRY(add_all_columns(m));
    SF_TRY(add_functions(m, may_aggregate(&m->c.o)));
    if (m->c.o.here.clause == SF_CLAUSE_GROUP && m->c.o.here.query)
        SF_TRY(add_words(m, SF_COMPLETION_KEYWORD, sets, SF_COUNT_OF(sets)));
    return add_keywords(m, from, true);
}

static sf_status add_operators(completer *m, uint32_t last, uint32_t from)
{
    static const char *const arrows[] = {"->", "->>"};
    if (is_json_value(m, last))
        SF_TRY(add_words(m, SF_COMPLETION_OPERATOR, arrows, 2));
    return add_keywords(m, from, false);
}

/* last: the token before what is typed; from: where that begins. */
static sf_status complete_behind(completer *m, uint32_t last, uint32_t from)
{
    static const char *const types[] = {"BOOL", "DOUBLE", "LONG", "STRING", "TIMESTAMP"};
    static const char *const windows[] = {"HOP(", "SESSION(", "TUMBLE("};
    const sf_outline *o = &m->c.o;
    if (sf_outline_symbol(o, last, SF_SYMBOL_ARROW) ||
        sf_outline_symbol(o, last, SF_SYMBOL_LONG_ARROW))
        return add_keys(m, last);
    if (m->quote == '\'')
        return SF_OK;
    if (sf_outline_symbol(o, last, '.')) {
        bool named = last && (o->tokens.data[last - 1].kind == SF_TOKEN_NAME ||
                              o->tokens.data[last - 1].kind == SF_TOKEN_WORD);
        bool star = last > 1 && o->here.query && o->here.clause == SF_CLAUSE_SELECT &&
                    sf_outline_wants_operand(o, last - 2);
        return named ? add_members(m, sf_outline_name(o, last - 1), star) : SF_OK;
    }
    if (sf_outline_symbol(o, last, SF_SYMBOL_CAST) ||
        (sf_outline_word(o, last, KW_AS) && in_call_of(o, KW_CAST)))
        return add_words(m, SF_COMPLETION_TYPE, types, SF_COUNT_OF(types));
    if (is_number_next(o, last))
        return SF_OK;
    if (wants_relation(o, last)) {
        SF_TRY(add_relations(m));
        if (o->here.query)
            SF_TRY(add_words(m, SF_COMPLETION_KEYWORD, windows, SF_COUNT_OF(windows)));
        return add_keywords(m, from, false);
    }
    if (wants_keywords_only(o, last) || o->here.select == NONE)
        return add_keywords(m, from, false);
    bool operand = sf_outline_wants_operand(o, last);
    return operand ? add_operand(m, from) : add_operators(m, last, from);
}

static sf_status complete(completer *m, uint32_t offset)
{
    const sf_outline *o = &m->c.o;
    sf_token token = o->tokens.data[o->cursor];
    uint32_t from = offset;
    m->out->from = m->out->to = offset;
    if (o->dead)
        return SF_OK;
    if (o->typed) {
        from = m->out->from = token.span.offset;
        m->out->to = token.span.offset + token.span.length;
        char first = o->text.data[from];
        m->quote = first == '\'' || first == '"' ? first : '\0';
        uint32_t start = from + (m->quote != '\0');
        m->typed = (sf_str){o->text.data + start, offset - start};
    }
    if (o->cursor == 0)
        return m->quote ? SF_OK : add_keywords(m, 0, false);
    return complete_behind(m, o->cursor - 1, from);
}

sf_status sf_sql_complete(sf_str text, uint32_t offset, sf_plan_kind kind,
                          const sf_resolver *resolver, sf_completions *out, sf_error *err)
{
    enum { ANSWER_BYTES_MAX = 16 << 20 };
    sf_error unread = {0};
    *out = (sf_completions){0};
    sf_arena_init(&out->arena, ANSWER_BYTES_MAX);
    completer m = {
        .c = {.kind = kind, .resolver = resolver, .arena = &out->arena, .err = err ? err : &unread},
        .out = out};
    if (offset > text.len)
        offset = (uint32_t)text.len;
    sf_status status = sf_outline_make(&m.c.o, text, offset, m.c.err);
    if (status == SF_OK)
        status = complete(&m, offset);
    sf_outline_deinit(&m.c.o);
    return status;
}

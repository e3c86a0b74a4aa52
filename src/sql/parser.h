/* parser.h: what the parts of the parser share. Not for other files of this module; see parse.h. */
#ifndef SF_SQL_PARSER_H
#define SF_SQL_PARSER_H

#include "sql/parse.h"

typedef struct {
    sf_str text;
    sf_arena *arena;
    sf_error *err;
    const sf_token *tokens; /* ends with SF_TOKEN_END */
    size_t pos;
    unsigned nesting;
    unsigned deepest; /* depth of the deepest tree since the query began */
    bool *wanted;     /* keywords that were looked for at the end of the text; NULL: not asked */
} sf_sqlp;

/* ---- tokens ---- */

sf_token sf_sqlp_peek(const sf_sqlp *p, size_t ahead);
bool sf_sqlp_at(const sf_sqlp *p, sf_sql_keyword keyword);
bool sf_sqlp_at_symbol(const sf_sqlp *p, unsigned code);
/* Step over the token when it is this one. */
bool sf_sqlp_take(sf_sqlp *p, sf_sql_keyword keyword);
bool sf_sqlp_take_symbol(sf_sqlp *p, unsigned code);
/* Fail unless the token is this one; where: "after the arguments", may be NULL. */
sf_status sf_sqlp_expect(sf_sqlp *p, sf_sql_keyword keyword, const char *where);
sf_status sf_sqlp_expect_symbol(sf_sqlp *p, unsigned code, const char *where);
/* From the token at start to the last one taken. */
sf_span sf_sqlp_span(const sf_sqlp *p, size_t start);
/* "expected WHAT, found TOKEN" at the current token, with a hint (NULL: a guess). */
sf_status sf_sqlp_fail(sf_sqlp *p, const char *what, const char *hint);
sf_status sf_sqlp_no_memory(sf_sqlp *p);
#define sf_sqlp_fail(...)    SF_IS_FAILURE(sf_sqlp_fail(__VA_ARGS__))
#define sf_sqlp_no_memory(p) SF_IS_FAILURE(sf_sqlp_no_memory(p))
/* Guard every recursion: one more level, SF_LIMIT past the maximum. */
sf_status sf_sqlp_enter(sf_sqlp *p);
void sf_sqlp_leave(sf_sqlp *p);
/* One more level above the deepest tree so far. */
sf_status sf_sqlp_deepen(sf_sqlp *p, unsigned depth);

/* Grow an array in the arena; *items has room for one more afterwards. */
sf_status sf_sqlp_grow(sf_sqlp *p, void **items, size_t count, size_t item_bytes);
#define SQLP_PUSH(p, list, count, value)                                                           \
    do {                                                                                           \
        SF_TRY(sf_sqlp_grow((p), (void **)&(list), (count), sizeof *(list)));                      \
        (list)[(count)++] = (value);                                                               \
    } while (0)
#define SQLP_NEW(p, pointer)                                                                       \
    do {                                                                                           \
        (pointer) = sf_arena_alloc((p)->arena, sizeof *(pointer));                                 \
        if (!(pointer))                                                                            \
            return sf_sqlp_no_memory(p);                                                           \
    } while (0)

/* ---- parts ---- */

/* True when the token is a name, reserved words not counted. */
bool sf_sqlp_at_name(const sf_sqlp *p);
/* what: "a column name" */
sf_status sf_sqlp_name(sf_sqlp *p, const char *what, sf_sql_name *out);
/* [AS] alias; absent when none follows. */
sf_status sf_sqlp_alias(sf_sqlp *p, sf_sql_name *out);
/* (a, b, ...) */
sf_status sf_sqlp_name_list(sf_sqlp *p, const char *what, sf_sql_names *out);
/* N SECONDS or INTERVAL '...' ... */
sf_status sf_sqlp_duration(sf_sqlp *p, const char *what, sf_sql_duration *out);
sf_status sf_sqlp_integer(sf_sqlp *p, const char *what, int64_t *out);

sf_status sf_sqlp_query(sf_sqlp *p, sf_sql_query **out);
bool sf_sqlp_at_query(const sf_sqlp *p); /* SELECT, WITH or VALUES (...) */
bool sf_sqlp_starts_query(const sf_token *token);
sf_status sf_sqlp_input_list(sf_sqlp *p, sf_sql_input **out);
sf_status sf_sqlp_window(sf_sqlp *p, sf_sql_window *out); /* behind WINDOW */
sf_status sf_sqlp_group_by(sf_sqlp *p, sf_sql_select *select);
sf_status sf_sqlp_order(sf_sqlp *p, sf_sql_order *out);    /* behind ORDER BY */
sf_status sf_sqlp_over_body(sf_sqlp *p, sf_sql_over *out); /* (PARTITION BY ...) */

sf_status sf_sqlp_expr(sf_sqlp *p, sf_sql_expr **out);
sf_status sf_sqlp_expr_list(sf_sqlp *p, sf_sql_exprs *out);
/* Tighter than comparison: bounds of BETWEEN, patterns. */
sf_status sf_sqlp_operand(sf_sqlp *p, sf_sql_expr **out);
sf_status sf_sqlp_primary(sf_sqlp *p, sf_sql_expr **out);
/* name(...), the token is the name. */
sf_status sf_sqlp_call(sf_sqlp *p, sf_sql_expr **out);
/* CASE, CAST, EXTRACT, ...; *out NULL when the token starts none of them. */
sf_status sf_sqlp_special(sf_sqlp *p, sf_sql_expr **out);
sf_status sf_sqlp_interval(sf_sqlp *p, sf_sql_expr **out);
sf_status sf_sqlp_cast_type(sf_sqlp *p, sf_sql_cast *out);

/* A node over args with its depth; spans from the token at start. */
sf_status sf_sqlp_node(sf_sqlp *p, sf_sql_expr_kind kind, size_t start, sf_sql_expr **out);
sf_status sf_sqlp_add_arg(sf_sqlp *p, sf_sql_expr *node, sf_sql_expr *arg);
/* Close a node: span up to the last token, depth checked. */
sf_status sf_sqlp_done(sf_sqlp *p, sf_sql_expr *node, size_t start);
sf_status sf_sqlp_done_from(sf_sqlp *p, sf_sql_expr *node, sf_span first);

#endif

/* parse.h: statement text -> tree (ast.h).
 *
 * Memory   the tree and a copy of the text live in the caller's arena.
 * Fails    SF_SYNTAX with the place, the offending text and the remedy; SF_LIMIT for text that is
 *          too long or nests too deep, and when memory is short. A place may lie just behind the
 *          text, where something is missing. */
#ifndef SF_SQL_PARSE_H
#define SF_SQL_PARSE_H

#include "sql/ast.h"
#include "text/lexer.h"

enum {
    SF_SQL_TEXT_BYTES_MAX = 1 << 20,
    SF_SQL_NESTING_MAX = 200, /* parentheses, subqueries, CASE, ... inside one another */
    SF_SQL_DEPTH_MAX = 1000,  /* nodes from the root to a leaf; a + b + c + d has 4 */
};

/* The keywords, numbered as the tokens number them. */
typedef enum {
    KW_NONE,
#define X(word, flags) KW_##word,
#include "sql/keywords.def"
#undef X
    KW_COUNT
} sf_sql_keyword;

enum {
    SF_SQL_RESERVED = 1, /* no name unless quoted or behind AS or a dot */
    SF_SQL_NO_ALIAS = 2, /* no alias without AS */
};
unsigned sf_sql_keyword_flags(sf_sql_keyword keyword);
const char *sf_sql_keyword_text(sf_sql_keyword keyword); /* upper case */
extern const sf_lexer_rules sf_sql_lexer_rules;

sf_status sf_sql_parse(sf_str text, sf_arena *arena, sf_sql_statement **out, sf_error *err);

/* The keywords, by number, that the parser looks for behind a text that is not whole; false: it
 * does not get that far. */
bool sf_sql_parse_wanted(sf_str text, sf_arena *arena, bool *wanted);

/* Canonical text: keywords in upper case, every operation in parentheses, names quoted where they
 * must be. Parsing it gives the same tree. */
void sf_sql_print_query(const sf_sql_query *query, sf_buf *out);
void sf_sql_print_expr(const sf_sql_expr *expr, sf_buf *out);
void sf_sql_print_name(sf_str name, sf_buf *out);

#endif

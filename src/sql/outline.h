/* outline.h: what half-typed text looks like: its tokens, where its SELECTs and queries of WITH
 * begin and end, and what stands at the cursor. For completion; the parser wants whole text.
 *
 * Parentheses that are not closed end where a clause begins that cannot stand in them.
 *
 * Memory   sf_outline_deinit; names borrow from the text.
 * Fails    SF_LIMIT when the text is too long or memory is short, never for what the text says. */
#ifndef SF_SQL_OUTLINE_H
#define SF_SQL_OUTLINE_H

#include "sql/parse.h"

#define SF_OUTLINE_NONE UINT32_MAX

typedef enum {
    SF_CLAUSE_NONE,
    SF_CLAUSE_WITH,
    SF_CLAUSE_SELECT,
    SF_CLAUSE_FROM,
    SF_CLAUSE_ON, /* of a join in FROM */
    SF_CLAUSE_USING,
    SF_CLAUSE_WHERE,
    SF_CLAUSE_LATEST,
    SF_CLAUSE_GROUP,
    SF_CLAUSE_HAVING,
    SF_CLAUSE_WINDOW,
    SF_CLAUSE_EMIT,
    SF_CLAUSE_ORDER,
    SF_CLAUSE_LIMIT,
} sf_outline_clause;

/* Positions are numbers of tokens; SF_OUTLINE_NONE: there is none. */
typedef struct {
    uint32_t outer; /* SELECT whose columns may be read */
    uint32_t with;  /* the last query of WITH that may be read */
    uint32_t first; /* the word SELECT */
    uint32_t from;  /* behind FROM */
    uint32_t from_end, end;
    bool windowed; /* WINDOW stands in it */
} sf_outline_select;

typedef struct {
    uint32_t before; /* query of WITH visible where this one is */
    uint32_t name;
    uint32_t body_from, body_to;
} sf_outline_with;

/* The root, or one pair of parentheses. */
typedef struct {
    bool query; /* SELECT stands in it, or it is the root */
    bool keeps_from;
    sf_outline_clause clause;
    uint32_t open; /* the parenthesis */
    uint32_t outer, with, select;
    uint32_t with_name; /* the query of WITH that is being declared */
} sf_outline_level;

typedef struct {
    sf_str text;
    SF_VEC(sf_token) tokens; /* ends with SF_TOKEN_END */
    SF_VEC(sf_outline_select) selects;
    SF_VEC(sf_outline_with) withs;
    SF_VEC(sf_outline_level) levels; /* while it is made */
    sf_outline_level here;           /* at the cursor */
    uint32_t cursor;                 /* the token the cursor is in or behind, or the next one */
    bool typed;                      /* it is in or behind a word, a name or an open text */
    bool dead;                       /* or in a comment or a number: nothing can be completed */
} sf_outline;

sf_status sf_outline_make(sf_outline *o, sf_str text, uint32_t offset, sf_error *err);
void sf_outline_deinit(sf_outline *o);

bool sf_outline_word(const sf_outline *o, uint32_t at, sf_sql_keyword keyword);
bool sf_outline_symbol(const sf_outline *o, uint32_t at, unsigned code);
/* A name, or a keyword that may be one. */
bool sf_outline_is_name(const sf_outline *o, uint32_t at);
/* Without quotes; doubled ones inside stay. */
sf_str sf_outline_name(const sf_outline *o, uint32_t at);
/* Behind this token an operand comes, not an operator. */
bool sf_outline_wants_operand(const sf_outline *o, uint32_t at);
/* The token behind the parenthesis that closes the one at `open`, at most `end`. */
uint32_t sf_outline_behind(const sf_outline *o, uint32_t open, uint32_t end);
/* The text from one token to before another. */
sf_str sf_outline_slice(const sf_outline *o, uint32_t from, uint32_t to);

#endif

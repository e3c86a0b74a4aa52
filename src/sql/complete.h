/* complete.h: what the parts of completion share. Private; the public call is in sql.h.
 *
 * Memory   names live in the arena of the answer, or borrow from the text. */
#ifndef SF_SQL_COMPLETE_H
#define SF_SQL_COMPLETE_H

#include "sql/outline.h"
#include "sql/sql.h"

typedef struct {
    sf_outline o;
    sf_plan_kind kind;
    const sf_resolver *resolver;
    sf_arena *arena;
    sf_error *err;
    unsigned compilations; /* of subqueries: hostile text could ask for many */
    unsigned looks;        /* into FROM clauses, likewise */
    unsigned depth;
} sf_complete;

typedef struct {
    sf_str name;
    bool typed;
    sf_type type;
    bool reserved; /* _ts and the bounds of a window: behind the others */
} sf_complete_column;

typedef enum { SF_SCOPE_RELATION, SF_SCOPE_QUERY, SF_SCOPE_ELEMENT } sf_scope_kind;

/* One input of a SELECT. */
typedef struct {
    sf_scope_kind kind;
    sf_str alias;
    sf_str relation;   /* RELATION */
    uint32_t from, to; /* QUERY: its tokens */
    uint32_t with;     /* QUERY: the last query of WITH it may read */
    uint32_t renames;  /* the parenthesis of alias(a, b); SF_OUTLINE_NONE: none */
    bool windows;      /* TUMBLE and the like: window_start, window_end */
} sf_scope_input;
typedef SF_VEC(sf_scope_input) sf_scope_inputs;
typedef SF_VEC(sf_complete_column) sf_complete_columns;

sf_status sf_complete_inputs(sf_complete *c, uint32_t number, sf_scope_inputs *out);
/* Appends. */
sf_status sf_complete_columns_of(sf_complete *c, const sf_scope_input *input,
                                 sf_complete_columns *out);
/* The relation and its column that a name means, through subqueries that pass it on. */
bool sf_complete_origin(sf_complete *c, uint32_t select, sf_str qualifier, sf_str name,
                        sf_str *relation, sf_str *column);

#endif

/* sql.h: SQL text to a plan. Positions are bytes of the text; line and column are computed for
 * people (both from 1, columns in characters).
 *
 * Threads  No state: any thread, any number at once.
 * Memory   A plan is the caller's (sf_plan_free); a list of diagnostics is emptied by
 *          sf_diagnostics_deinit.
 * Fails    SF_SYNTAX (does not parse), SF_INVALID (does not bind), SF_UNSUPPORTED, SF_LIMIT. The
 *          diagnostics name line, column, the offending text and a remedy; err is the first. */
#ifndef SF_SQL_SQL_H
#define SF_SQL_SQL_H

#include "flow/plan.h"

/* What a name in FROM stands for. Filled by the resolver; memory stays the resolver's until the
 * compilation ends. */
typedef struct {
    const char *name;
    sf_input_kind kind;
    const sf_schema *schema; /* visible columns suffice; hidden ones are added */
    bool append_only;        /* sources: true unless they send changes */
} sf_relation;

typedef struct {
    /* SF_NOT_FOUND when there is none; names are case-sensitive. SF_CONFLICT with a message when
     * the name is both a stream and a table. */
    sf_status (*find)(void *self, sf_str name, sf_relation *out, sf_error *err);
    /* For messages and completion: every visible name; false from visit ends it. NULL allowed. */
    void (*list)(void *self, bool (*visit)(void *arg, const sf_relation *relation), void *arg);
    /* For completion: the declared keys of a Json column, under the keys of `path` where there are
     * some. type: as shown. NULL allowed. */
    void (*keys)(void *self, sf_str relation, sf_str column, const sf_str *path, size_t path_len,
                 void (*visit)(void *arg, const char *key, const char *type), void *arg);
    void *self;
} sf_resolver;

typedef struct {
    bool warning;
    sf_span span;
    uint32_t line, column;
    char *message; /* with the remedy, as shown to people */
} sf_diagnostic;
typedef struct {
    SF_VEC(sf_diagnostic) list;
} sf_diagnostics;
void sf_diagnostics_deinit(sf_diagnostics *diagnostics);
bool sf_diagnostics_add(sf_diagnostics *diagnostics, sf_str text, const sf_error *err,
                        bool warning);

/* Compile a query. kind decides the rules (tables: no windows, pipelines: no unwindowed
 * aggregates, ...). A leading INSERT INTO name is an error here: strip it first. */
SF_MUST_USE sf_status sf_sql_compile(sf_str text, sf_plan_kind kind, const sf_resolver *resolver,
                                     sf_plan **out, sf_diagnostics *diagnostics, sf_error *err);

/* ---- completion ---- */

typedef enum {
    SF_COMPLETION_COLUMN,
    SF_COMPLETION_ALIAS, /* of an input: its columns follow a dot */
    SF_COMPLETION_SOURCE,
    SF_COMPLETION_TABLE,
    SF_COMPLETION_PIPELINE,
    SF_COMPLETION_QUERY, /* of WITH */
    SF_COMPLETION_KEY,   /* of a Json column */
    SF_COMPLETION_OPERATOR,
    SF_COMPLETION_FUNCTION,
    SF_COMPLETION_AGGREGATE,
    SF_COMPLETION_TYPE, /* of a CAST */
    SF_COMPLETION_KEYWORD,
} sf_completion_kind;
const char *sf_completion_kind_name(sf_completion_kind kind);

typedef struct {
    sf_completion_kind kind;
    const char *label, *insert; /* shown; put in place of what was typed */
    const char *detail, *doc;   /* a type or a signature; a line of text. May be "" */
} sf_completion;
typedef struct {
    uint32_t from, to; /* bytes of the text that an item replaces */
    SF_VEC(sf_completion) items;
    sf_arena arena;
} sf_completions;

/* What may stand at a byte of a text that need not be whole: best first, at most
 * SF_COMPLETIONS_MAX; none is no failure. SF_LIMIT only; out wants sf_completions_deinit even then. */
enum { SF_COMPLETIONS_MAX = 500 };
SF_MUST_USE sf_status sf_sql_complete(sf_str text, uint32_t offset, sf_plan_kind kind,
                                      const sf_resolver *resolver, sf_completions *out,
                                      sf_error *err);
void sf_completions_deinit(sf_completions *completions);

/* INSERT INTO name SELECT ...: target and rest; target.len 0 when the text does not begin so. */
SF_MUST_USE sf_status sf_sql_strip_insert(sf_str text, sf_str *target, sf_str *rest, sf_error *err);

/* Line and column of a byte offset. */
void sf_sql_position(sf_str text, uint32_t offset, uint32_t *line, uint32_t *column);

#endif

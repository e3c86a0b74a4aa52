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

/* INSERT INTO name SELECT ...: target and rest; target.len 0 when the text does not begin so. */
SF_MUST_USE sf_status sf_sql_strip_insert(sf_str text, sf_str *target, sf_str *rest, sf_error *err);

/* Line and column of a byte offset. */
void sf_sql_position(sf_str text, uint32_t offset, uint32_t *line, uint32_t *column);

#endif

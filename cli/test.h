/* test.h: query tests: what a case says, how it runs, how answers are compared. Private to cli.
 *
 * A case is loaded from its JSON (test_load), its events become batches under a simulated clock
 * (test_feed), a world runs them (test_world) and the answer is held against what was expected
 * (test_match). The same case runs several times: cut into epochs in different ways, restarted on
 * the way, built in steps.
 *
 * Memory   A case and all it names live in its arena, batches in the case itself. */
#ifndef SF_CLI_TEST_H
#define SF_CLI_TEST_H

#include "cli/cli.h"
#include "engine/engine.h"
#include "format/format.h"

/* ---- a case ---- */

typedef enum { SF_TEST_TABLE, SF_TEST_PIPELINE, SF_TEST_FORMAT } sf_test_mode;

typedef struct {
    const char *name;
    sf_field *fields;
    uint32_t field_count;
    sf_schema *schema; /* as relation: with _retract and _ts */
    int64_t lateness_ms, idle_ms;
    bool retracts; /* an event takes a row back */
} sf_test_source;

typedef struct {
    const char *name;
    sf_str sql;
    sf_plan_kind kind;
} sf_test_query;

/* Rows as JSON objects. */
typedef SF_VEC(sf_str) sf_test_rows;

typedef struct {
    bool given;
    bool refused; /* error_contains: the SQL must be refused */
    sf_str error_contains;
    uint32_t line, column; /* 0: anywhere */
    sf_test_rows rows;
    SF_VEC(sf_test_rows) or_rows; /* other answers that will do */
    sf_test_rows optional_rows;   /* may be there besides */
    bool or_error;
    sf_str or_error_contains;
    sf_str report; /* formats: object of counts of the parse report; len 0: none */
} sf_test_expect;

typedef enum {
    SF_TEST_ROW,
    SF_TEST_ADVANCE,
    SF_TEST_WATERMARK,
    SF_TEST_RESTART,
    SF_TEST_EXPECT,
} sf_test_event_kind;

typedef struct {
    sf_test_event_kind kind;
    uint32_t number; /* from 1, for messages */
    uint32_t source;
    sf_str row;
    bool retract;
    sf_batch *batch; /* the row, once fed */
    int64_t amount;  /* milliseconds, or the watermark */
    sf_test_expect expect;
} sf_test_event;

typedef struct {
    sf_format format;
    uint32_t source;
    sf_str bytes;
    sf_coercion on_misfit;
    bool reject_unknown_fields;
    char delimiter;
} sf_test_input;

typedef struct {
    sf_arena arena;
    const char *file;
    uint32_t line; /* in the file */
    const char *id, *title, *kind;
    sf_test_mode mode;
    bool manual, flush, last_per_window_key;
    SF_VEC(sf_test_source) sources;
    SF_VEC(sf_test_query) tables, steps;
    SF_VEC(sf_test_event) events;
    sf_str sql;
    sf_test_input input;
    sf_test_expect expect;
} sf_test_case;

/* json: one object. On failure the case is still named as far as possible. Deinit always. */
sf_status sf_test_load(sf_test_case *test, const char *file, uint32_t line, sf_str json,
                       sf_error *err);
void sf_test_deinit(sf_test_case *test);
/* Rows of the events become batches; SF_INVALID when one does not parse. */
sf_status sf_test_feed(sf_test_case *test, sf_error *err);

/* ---- answers ---- */

typedef struct {
    const sf_batch *batch;
    uint32_t row;
} sf_test_row_ref;

typedef struct {
    sf_schema *schema;            /* NULL while nothing was emitted */
    SF_VEC(sf_batch *) batches;   /* references */
    SF_VEC(sf_test_row_ref) rows; /* a row of weight 2 is here twice */
} sf_test_answer;
void sf_test_answer_deinit(sf_test_answer *answer);
SF_MUST_USE sf_status sf_test_answer_add(sf_test_answer *answer, const sf_batch *batch,
                                         sf_error *err);
/* Keeps the last row of each key; columns as in the schema. */
SF_MUST_USE sf_status sf_test_answer_last(sf_test_answer *answer, const uint32_t *columns,
                                          uint32_t count, sf_error *err);

/* Does the answer consist of exactly these rows, and optional ones? why: what is wrong if not. */
bool sf_test_match(const sf_test_answer *answer, const sf_test_rows *rows,
                   const sf_test_rows *optional, sf_buf *why);
/* Is it one of the answers this expectation allows? */
bool sf_test_accepts(const sf_test_expect *expect, const sf_test_answer *answer, sf_buf *why);
/* Rows as JSON, at most some; hidden columns left out. */
void sf_test_print_answer(sf_buf *out, const sf_test_answer *answer);
void sf_test_print_rows(sf_buf *out, const sf_test_rows *rows);

/* Multiset of texts: how often each is there. */
typedef struct {
    char *text; /* NULL: free */
    uint64_t hash;
    int64_t count;
} sf_test_fold_item;
typedef struct {
    sf_test_fold_item *items;
    size_t used, cap; /* cap: power of two */
} sf_test_fold;
void sf_test_fold_deinit(sf_test_fold *fold);
SF_MUST_USE bool sf_test_fold_add(sf_test_fold *fold, sf_str text, int64_t count);
int64_t sf_test_fold_count(const sf_test_fold *fold, sf_str text);

/* ---- runs ---- */

typedef struct {
    const char *name;   /* for messages: "one epoch an event" */
    bool big_epochs;    /* rows wait until something else than a row comes */
    bool restart_often; /* after every event */
    bool steps;         /* sql_steps in place of sql */
    bool byte_by_byte;  /* formats */
} sf_test_variant;

typedef struct {
    bool passed, skipped;
    const char *variant; /* in which it failed; NULL: before any */
    sf_buf message;      /* why it failed */
    sf_buf expected, actual;
} sf_test_outcome;
void sf_test_outcome_deinit(sf_test_outcome *outcome);

/* Runs the case in every variant that applies. */
void sf_test_run(sf_test_case *test, sf_test_outcome *outcome);

/* One variant: what came of it. */
typedef struct {
    bool refused;
    sf_diagnostics diagnostics; /* of the refusal */
    sf_error error;
    sf_str refused_sql;
    bool failed; /* an expectation on the way, or the run itself: see why */
    sf_buf why;
    const sf_test_expect *failed_expect;
    sf_test_answer answer;
    bool reported;
    sf_parse_report report; /* formats */
} sf_test_result;
void sf_test_result_deinit(sf_test_result *result);
void sf_test_world(const sf_test_case *test, const sf_test_variant *variant,
                   sf_test_result *result);

#endif

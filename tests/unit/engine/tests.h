/* tests.h: the parts of this test program, and what they share. */
#ifndef SF_TESTS_UNIT_ENGINE_TESTS_H
#define SF_TESTS_UNIT_ENGINE_TESTS_H

#include "engine/engine.h"
#include "unit/check.h"
#include "unit/rows.h"

enum { LOG_ENTRIES_MAX = 8, BENCH_MEMBERS_MAX = 8 };

/* ---- groups over a log of the test's own ---- */

typedef struct {
    sf_log_entry entries[LOG_ENTRIES_MAX];
    size_t count;
    uint64_t first; /* what lies before is no longer kept */
    sf_marker marker;
    sf_log_reader reader;
} test_log;

typedef struct {
    const char *name;
    sf_plan *plan;
    uint32_t id;
} bench_member;

/* A group with the source "s". */
typedef struct {
    sf_schema *schema;
    test_log *log; /* its own, or that of another bench */
    test_log own_log;
    sf_group *group;
    uint32_t source;
    bench_member members[BENCH_MEMBERS_MAX];
    size_t count;
} bench;

void bench_open(bench *b, test_log *log); /* log NULL: its own */
void bench_close(bench *b);
/* A query that reads "s" from a position on, or other members. */
sf_status bench_add(bench *b, const char *name, sf_plan_kind kind, const char *sql,
                    uint64_t position, sf_budget *budget);
void bench_push(bench *b, const row *rows, size_t count);
int bench_run(bench *b); /* how many epochs until nothing is left to do */
uint32_t bench_id(const bench *b, const char *name);
sf_member_state bench_state(const bench *b, const char *name);
const char *bench_answer(bench *b, const char *name, char *text);

/* ---- cases ---- */

void markers_never_go_back(void);
void relations_have_hidden_columns(void);
void worlds_refuse(void);
void worlds_answer(void);
void worlds_grow(void);
void worlds_have_time(void);
void worlds_without_memory(void);

void groups_work_in_epochs(void);
void groups_read_from_a_position(void);
void groups_end_readers_last(void);
void failures_stay_with_their_member(void);
void groups_merge(void);
void groups_are_due(void);

void images_come_back(void);
void images_hold_what_changed(void);
void images_are_of_a_query(void);
void images_stand_on_their_inputs(void);
void images_move(void);
void images_are_described(void);
void images_tell_failures(void);
void images_are_not_trusted(void);

#endif

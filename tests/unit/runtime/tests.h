/* tests.h: the parts of this test program, and what they share. */
#ifndef SF_TESTS_UNIT_RUNTIME_TESTS_H
#define SF_TESTS_UNIT_RUNTIME_TESTS_H

#include "runtime/runtime.h"
#include "unit/check.h"
#include "unit/rows.h"

/* A runtime in a directory of its own, on a loop: nothing happens and no time passes unless the test
 * says so. */
typedef struct {
    char dir[64];
    int64_t now_ns;
    size_t memory_bytes, log_bytes;
    sf_pool *pool;
    sf_runtime *runtime;
} world;

enum { WALL_START_MS = 1000000 }; /* the wall clock of a world that has just begun */

bool world_open(world *w); /* before start; a world that was closed comes back */
void world_start(world *w);
void world_settle(world *w); /* does whatever can be done now */
void world_pass(world *w, int64_t ms);
void world_close(world *w);
void world_remove(world *w); /* closes it first */

/* A pushed source with the columns of kv. */
sf_source_spec pushed_source(const char *name, const sf_schema *schema, bool journaled);
sf_status add_source(world *w, const char *name, bool journaled);
sf_status start_query(world *w, const char *name, sf_plan_kind kind, const char *sql,
                      sf_error *err);

/* How a push has ended, so far. */
typedef struct {
    int calls;
    sf_status status;
    sf_push_result result;
} outcome;

sf_status push_batch(world *w, const char *source, sf_batch *batch, outcome *out, sf_error *err);
sf_status push(world *w, const char *source, const row *rows, size_t count, outcome *out,
               sf_error *err);
/* Pushes, settles, checks that it was taken. */
void push_all(world *w, const char *source, const row *rows, size_t count);
const char *table_of(world *w, const char *name, char *text); /* " 1:2 3:4", sorted */

#define SUMS "SELECT k, SUM(v) AS s FROM s GROUP BY k"
extern const row four[4]; /* sums: 1:15 2:20 3:1 */

/* ---- cases ---- */

void queries_answer(void);
void rows_leave_in_time(void);
void state_survives(void);
void crashes_lose_nothing_acknowledged(void);
void names_and_order_are_checked(void);
void tables_read_tables(void);
void sources_change(void);
void memory_is_bounded(void);
void memory_runs_out(void);
void files_are_driven(void);

void pushes_keep_to_their_policy(void);
void pushes_are_checked(void);
void results_are_kept(void);
void subscribers_hear(void);
void slow_subscribers_miss(void);
void idle_sources_go_on(void);
void failed_queries_hold_nobody_up(void);
void waiting_pushes_are_answered(void);
void gaps_are_told(void);

void polls_are_kept_whole(void);
void small_logs_suffice(void);
void readers_stand_on_their_tables(void);
void groups_part_and_come_back(void);
void foreign_state_is_left_alone(void);
void sources_come_anew(void);
void snapshots_outlive_queries(void);
void slow_polls_hold_nobody_up(void);
void groups_change_under_load(void);

#endif

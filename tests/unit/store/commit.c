/* Group commit: many wait for one sync, and all of them learn when it fails. */
#include "tests.h"

#include <pthread.h>

#define DIR "d/j"

typedef struct {
    sf_journal_waiter waiter;
    int calls;
    sf_status status;
    sf_error err;
} answer;

static void note_answer(sf_journal_waiter *waiter, sf_status status, const sf_error *err)
{
    answer *a = (answer *)waiter;
    a->calls++;
    a->status = status;
    if (err)
        a->err = *err;
}

static answer answer_make(void)
{
    return (answer){.waiter = {.done = note_answer}};
}

typedef struct {
    memory_disk *memory;
    sf_disk disk;
    still_clock time;
    sf_clock clock;
    sf_journal *journal;
    uint64_t next;
    sf_error err;
} bench;

static void bench_open(bench *b)
{
    *b = (bench){.memory = memory_disk_new(), .time = {1}};
    b->disk = memory_disk_seam(b->memory);
    b->clock = still_clock_seam(&b->time);
    sf_journal_options options = {0};
    CHECK_INT(sf_journal_open(&b->disk, &b->clock, DIR, &options, &b->journal, &b->err), SF_OK);
}

static uint64_t append(bench *b)
{
    sf_entry entry = {SF_ENTRY_ROWS, b->next, 1, 0, SF_STR("x")};
    uint64_t lsn = 0;
    CHECK_INT(sf_journal_append(b->journal, &entry, &lsn, &b->err), SF_OK);
    b->next++;
    return lsn;
}

static void one_sync_answers_all(void)
{
    bench b;
    bench_open(&b);
    answer a = answer_make(), c = answer_make(), d = answer_make(), e = answer_make();
    uint64_t first = append(&b);
    CHECK_INT(sf_journal_commit(b.journal, first, &b.err), SF_OK);
    uint64_t before = memory_disk_changes(b.memory);
    uint64_t second = append(&b), third = append(&b);
    CHECK(sf_journal_notify(b.journal, third, &a.waiter)); /* asked to sync */
    CHECK(!sf_journal_notify(b.journal, second, &c.waiter));
    CHECK(!sf_journal_notify(b.journal, third, &d.waiter));
    CHECK(!sf_journal_notify(b.journal, first, &e.waiter)); /* durable already */
    CHECK_INT(e.calls, 1);
    CHECK_INT(a.calls + c.calls + d.calls, 0);
    CHECK(!sf_journal_sync_waiters(b.journal));
    CHECK_INT(memory_disk_changes(b.memory) - before, 2); /* a write and a sync */
    CHECK(a.calls == 1 && c.calls == 1 && d.calls == 1);
    CHECK(a.status == SF_OK && c.status == SF_OK && d.status == SF_OK && e.status == SF_OK);
    answer f = answer_make(); /* the promise was kept: the next one is asked again */
    CHECK(sf_journal_notify(b.journal, append(&b), &f.waiter));
    sf_journal_close(b.journal); /* syncs and answers */
    CHECK(f.calls == 1 && f.status == SF_OK);
    memory_disk_free(b.memory);
}

static void a_blocking_commit_answers_waiters_too(void)
{
    bench b;
    bench_open(&b);
    answer a = answer_make();
    CHECK(sf_journal_notify(b.journal, append(&b), &a.waiter));
    CHECK_INT(sf_journal_sync(b.journal, &b.err), SF_OK);
    CHECK_INT(a.calls, 1);
    uint64_t before = memory_disk_changes(b.memory);
    CHECK(!sf_journal_sync_waiters(b.journal)); /* the promised call finds nothing to do */
    CHECK_INT(sf_journal_sync(b.journal, &b.err), SF_OK);
    CHECK_INT(memory_disk_changes(b.memory) - before, 0);
    sf_journal_close(b.journal);
    memory_disk_free(b.memory);
}

/* A failed write (1) or sync (2) of one entry that two wait for. */
static void fail_one_commit(bench *b, uint64_t fail_at)
{
    answer a = answer_make(), late = answer_make();
    uint64_t lsn, durable = append(b);
    CHECK_INT(sf_journal_commit(b->journal, durable, &b->err), SF_OK);
    memory_disk_fail_at(b->memory, fail_at, SF_LIMIT);
    uint64_t lost = append(b);
    CHECK(sf_journal_notify(b->journal, lost, &a.waiter));
    CHECK_INT(sf_journal_commit(b->journal, lost, &b->err), SF_LIMIT);
    CHECK(a.calls == 1 && a.status == SF_LIMIT);
    CHECK_STR(a.err.message, "the disk failed as the test asked");
    memory_disk_fail_at(b->memory, 0, SF_OK);
    sf_entry entry = {SF_ENTRY_ROWS, b->next, 1, 0, SF_STR("x")};
    CHECK_INT(sf_journal_append(b->journal, &entry, &lsn, &b->err), SF_LIMIT);
    CHECK(!sf_journal_notify(b->journal, lost, &late.waiter));
    CHECK(late.calls == 1 && late.status == SF_LIMIT);
    CHECK_INT(sf_journal_commit(b->journal, durable, &b->err), SF_OK);
    CHECK_INT(sf_journal_inspect(b->journal).durable_position, 1);
    sf_journal_close(b->journal);
}

static void a_failed_sync_stops_the_journal(void)
{
    for (uint64_t seed = 0; seed < 16; seed++) {
        uint64_t fail_at = 1 + seed % 2;
        bench b;
        bench_open(&b);
        fail_one_commit(&b, fail_at);
        sf_journal_options options = {0};
        REQUIRE_OK(sf_journal_open(&b.disk, &b.clock, DIR, &options, &b.journal, &b.err), b.err);
        uint64_t next = sf_journal_inspect(b.journal).next_position;
        CHECK_INT(next, fail_at); /* when only the sync failed, the entry can be read back */
        sf_journal_close(b.journal);
        /* What was read back counts as durable: it must not vanish later. */
        memory_disk_crash(b.memory, seed);
        REQUIRE_OK(sf_journal_open(&b.disk, &b.clock, DIR, &options, &b.journal, &b.err), b.err);
        CHECK_INT(sf_journal_inspect(b.journal).next_position, next);
        sf_journal_close(b.journal);
        memory_disk_free(b.memory);
    }
}

/* ---- threads, on the real disk ---- */

enum { THREADS = 4, ROUNDS = 60 };

typedef struct {
    sf_journal *journal;
    pthread_mutex_t lock; /* position and append go together */
    uint64_t next;
    _Atomic int failures, answered;
} shared;

static void count_answer(sf_journal_waiter *waiter, sf_status status, const sf_error *err)
{
    SF_UNUSED(err);
    shared *s = waiter->arg;
    if (status != SF_OK)
        s->failures++;
    s->answered++;
    sf_free(waiter);
}

static void *write_rounds(void *arg)
{
    shared *s = arg;
    sf_error err;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t lsn = 0;
        pthread_mutex_lock(&s->lock);
        sf_entry entry = {SF_ENTRY_ROWS, s->next, 1, 0, SF_STR("some bytes of a row")};
        if (sf_journal_append(s->journal, &entry, &lsn, &err) == SF_OK)
            s->next++;
        else
            s->failures++;
        pthread_mutex_unlock(&s->lock);
        if (i % 2) {
            sf_journal_waiter *waiter = sf_calloc(1, sizeof *waiter);
            SF_ASSERT(waiter);
            *waiter = (sf_journal_waiter){.done = count_answer, .arg = s};
            bool again = sf_journal_notify(s->journal, lsn, waiter);
            while (again)
                again = sf_journal_sync_waiters(s->journal);
        } else if (sf_journal_commit(s->journal, lsn, &err) != SF_OK) {
            s->failures++;
        }
    }
    return NULL;
}

static void *read_along(void *arg)
{
    shared *s = arg;
    sf_journal_cursor *cursor = NULL;
    sf_entry entry;
    bool more;
    uint64_t seen = 0;
    sf_error err;
    if (sf_journal_read_from(s->journal, 0, &cursor, &err) != SF_OK) {
        s->failures++;
        return NULL;
    }
    while (seen < THREADS * ROUNDS) {
        if (sf_journal_next(cursor, &entry, &more, &err) != SF_OK ||
            (more && entry.first_position != seen)) {
            s->failures++;
            break;
        }
        seen += more;
    }
    sf_journal_cursor_close(cursor);
    return NULL;
}

static void threads_share_syncs(void)
{
    scratch dir = scratch_make();
    sf_clock clock = sf_clock_system();
    sf_journal_options options = {.segment_bytes = 2000};
    shared s = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[THREADS + 1];
    sf_error err;
    REQUIRE_OK(sf_journal_open(&dir.disk, &clock, dir.path, &options, &s.journal, &err), err);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, write_rounds, &s) == 0);
    REQUIRE(pthread_create(&threads[THREADS], NULL, read_along, &s) == 0);
    for (int i = 0; i <= THREADS; i++)
        pthread_join(threads[i], NULL);
    sf_journal_info info = sf_journal_inspect(s.journal);
    CHECK_INT(info.durable_position, THREADS * ROUNDS);
    sf_journal_close(s.journal);
    CHECK_INT(s.failures, 0);
    CHECK_INT(s.answered, THREADS * ROUNDS / 2);
    pthread_mutex_destroy(&s.lock);
    scratch_remove(&dir);
}

int run_commit_cases(void)
{
    static const sf_case cases[] = {
        SF_CASE(one_sync_answers_all),
        SF_CASE(a_blocking_commit_answers_waiters_too),
        SF_CASE(a_failed_sync_stops_the_journal),
        SF_CASE(threads_share_syncs),
    };
    return sf_run_cases("commit", cases, SF_COUNT_OF(cases));
}

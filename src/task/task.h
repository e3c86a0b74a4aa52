/* task.h: what runs: actors on worker threads, timers, mailboxes, blocking calls, acknowledgement
 * roots.
 *
 * Owns     the threads of a pool: workers that run actors, one that fires timers, a few for calls
 *          that block. A loop is a pool without threads, stepped by hand: the same functions work
 *          on both, and a loop with a seed replays one order of events exactly.
 * Threads  sf_pool, sf_mailbox and sf_ack are shared and lock themselves. Wake, set, put, submit
 *          and release may be called from any thread, also from inside callbacks. No callback is
 *          ever called with a lock held.
 * Memory   sf_actor and sf_timer live in the caller's storage and are linked, not copied:
 *          scheduling never allocates and never fails. Stop the actor and cancel the timer before
 *          the storage goes. A mailbox and the queue of blocking calls have a fixed capacity.
 * Fails    SF_LIMIT (memory), SF_UNAVAILABLE (threads). A full queue answers false: back pressure. */
#ifndef SF_TASK_TASK_H
#define SF_TASK_TASK_H

#include "base/seam.h"

#include <pthread.h>

typedef struct sf_pool sf_pool;

/* ---- pools ------------------------------------------------------------------------------- */

typedef struct {
    sf_clock clock;             /* timers count on its mono_ns; it must advance in real time */
    uint32_t workers;           /* 0 = one a core */
    uint32_t blocking_threads;  /* 0 = 4 */
    uint32_t blocking_queue;    /* calls that may wait, 0 = 1024 */
    size_t scratch_limit_bytes; /* of one worker's arena, 0 = unbounded */
} sf_pool_options;

SF_MUST_USE sf_status sf_pool_open(const sf_pool_options *options, sf_pool **out, sf_error *err);

/* Runs the blocking calls already accepted, ends every thread, frees the pool. Every actor must be
 * stopped before and every timer cancelled. NULL is allowed. */
void sf_pool_close(sf_pool *pool);

typedef struct {
    uint64_t runs_total; /* actor runs that ended */
    uint64_t timers_fired_total;
    uint64_t blocking_total; /* blocking calls that ended */
    uint64_t blocking_refused_total;
    uint32_t workers, ready, running; /* actors waiting for a worker, actors that run */
    uint32_t blocking_waiting;
} sf_pool_stats;
void sf_pool_read_stats(sf_pool *pool, sf_pool_stats *out);

/* ---- loops: a pool run by hand, for tests and simulation --------------------------------- */

typedef struct {
    sf_clock clock;
    uint64_t seed;              /* 0 = first come, first served; else the order is drawn from it */
    uint32_t blocking_queue;    /* 0 = 1024 */
    size_t scratch_limit_bytes; /* 0 = unbounded */
} sf_loop_options;

/* Ended by sf_pool_close. Steps are taken by one thread. */
SF_MUST_USE sf_status sf_loop_open(const sf_loop_options *options, sf_pool **out, sf_error *err);

/* Does one thing that is ready: fires a due timer, runs an actor once, makes a blocking call or
 * reports one as done. false: nothing is ready before sf_loop_next_ns. */
bool sf_loop_step(sf_pool *loop);
int64_t sf_loop_next_ns(sf_pool *loop); /* time of the earliest timer, INT64_MAX when none is set */

/* ---- actors ------------------------------------------------------------------------------ */

typedef enum {
    SF_RUN_IDLE,  /* nothing left to do: run again after the next wake */
    SF_RUN_AGAIN, /* the step's budget is used up: run again after the others */
} sf_run;

/* Something with work to do now and then. It is run by one worker at a time, never by two at once;
 * what one run wrote, the next one sees. An idle actor costs nothing. A run keeps to a budget
 * (about a millisecond) and returns AGAIN when there is more. */
typedef struct sf_actor {
    sf_run (*run)(void *self, struct sf_actor *actor);
    void *self;
    sf_pool *pool;
    sf_arena *scratch;     /* the worker's, during a run: empty at its start, gone at its end */
    struct sf_actor *next; /* private, as the state */
    _Atomic uint32_t state;
} sf_actor;

void sf_actor_init(sf_actor *actor, sf_pool *pool, sf_run (*run)(void *self, sf_actor *actor),
                   void *self);

/* Schedules a run, once however often it is called before the run starts. Everything written
 * before the call is seen by that run. A wake while it runs gives one more run; after a stop it
 * does nothing. */
void sf_actor_wake(sf_actor *actor);

/* When it returns the actor does not run and never will again. Waits for a run under way, so it is
 * not for worker threads (nor for the actor itself). Nobody may wake it once its storage is gone.
 */
void sf_actor_stop(sf_actor *actor);

/* ---- timers ------------------------------------------------------------------------------ */

typedef struct sf_timer {
    void (*fire)(void *self); /* NULL: wake the actor */
    void *self;               /* of fire, or the actor */
    sf_pool *pool;
    int64_t at_ns;
    uint64_t order;                              /* private from here: ties go by time of setting */
    struct sf_timer *child, *sibling, *previous; /* place in the heap */
    bool is_set;
} sf_timer;

/* fire runs on the timer thread and must be short: it holds up the other timers. */
void sf_timer_init(sf_timer *timer, sf_pool *pool, void (*fire)(void *self), void *self);
void sf_timer_init_wake(sf_timer *timer, sf_actor *actor);

/* Fires once, not before the pool's clock shows at_mono_ns. A timer already set is moved. */
void sf_timer_set(sf_timer *timer, int64_t at_mono_ns);

/* When it returns the timer does not fire and will not (waits for a fire under way, except when
 * called from a timer callback of the same pool). Unset timers are allowed. */
void sf_timer_cancel(sf_timer *timer);

/* ---- mailboxes --------------------------------------------------------------------------- */

typedef struct sf_mailbox sf_mailbox;

/* A bounded queue of pointers: many threads put, one takes. wake (NULL allowed) is woken by every
 * put. has_space (NULL allowed) is called on the taking thread when a put has been refused and the
 * box is at most half full again: one call, however many puts were refused. */
SF_MUST_USE sf_status sf_mailbox_new(uint32_t capacity, sf_actor *wake,
                                     void (*has_space)(void *self), void *self, sf_mailbox **out,
                                     sf_error *err);
/* drop (NULL allowed) receives what was never taken. The actor is stopped before. */
void sf_mailbox_free(sf_mailbox *box, void (*drop)(void *item));

SF_MUST_USE bool sf_mailbox_put(sf_mailbox *box, void *item); /* false: full; item not NULL */
void *sf_mailbox_take(sf_mailbox *box);                       /* NULL: empty */
uint32_t sf_mailbox_take_many(sf_mailbox *box, void **items, uint32_t count_max);
uint32_t sf_mailbox_count(sf_mailbox *box);

/* ---- blocking calls ---------------------------------------------------------------------- */

/* Calls work(arg), then done(arg) (NULL allowed), on a thread that may block. Calls start in order
 * and may end in any. false: the queue is full or the pool is closing; nothing was taken. */
SF_MUST_USE bool sf_blocking_submit(sf_pool *pool, void (*work)(void *arg), void (*done)(void *arg),
                                    void *arg);

/* ---- acknowledgement roots --------------------------------------------------------------- */

/* The answer somebody waits for. It is divided into shares; each is given back exactly once, with
 * success or failure. When the last one is back, done is called once, on that thread, with the
 * worst outcome: NULL, or the error. A failure that a retry cannot mend is worse than one that it
 * may; of equal ones the first counts. The root frees itself after done. */
typedef struct sf_ack sf_ack;

/* The caller holds the first share; NULL: out of memory. */
SF_MUST_USE sf_ack *sf_ack_new(void (*done)(void *self, const sf_error *error), void *self);
void sf_ack_take(sf_ack *ack, uint32_t shares); /* more; only by a holder of one */
void sf_ack_release(sf_ack *ack, uint32_t shares);
/* error is copied; its status is not SF_OK. */
void sf_ack_fail(sf_ack *ack, uint32_t shares, const sf_error *error);

#endif

/* pool.h: the inside of a pool, shared by the files of this module.
 *
 * Three locks, never held together: `lock` guards the run queue, `timer_lock` the heap,
 * `blocking_lock` the queue of blocking calls. A loop uses the same queues without threads. */
#ifndef SF_TASK_POOL_H
#define SF_TASK_POOL_H

#include "task/task.h"

/* An actor's state. SCHEDULED: it waits in the run queue or runs. WOKEN: a wake has come that no
 * run has answered yet. STOPPED: no new run. */
enum { ACTOR_SCHEDULED = 1, ACTOR_WOKEN = 2, ACTOR_STOPPED = 4 };

typedef struct {
    void (*work)(void *arg);
    void (*done)(void *arg);
    void *arg;
} blocking_call;

typedef struct {
    sf_pool *pool;
    pthread_t thread;
    sf_arena scratch;
} pool_worker;

struct sf_pool {
    sf_clock clock;
    bool is_loop;

    pthread_mutex_t lock;
    pthread_cond_t ready;   /* an actor waits for a worker, or the pool ends */
    pthread_cond_t stopped; /* a stopped actor has left its worker */
    sf_actor *first, *last; /* run queue */
    uint32_t ready_count, running_count, sleeping_count;
    uint64_t runs_total;
    bool ends;
    pool_worker *workers;
    uint32_t worker_count;

    pthread_mutex_t timer_lock;
    pthread_cond_t timer_changed; /* a new earliest timer, or the pool ends */
    pthread_cond_t timer_fired;
    sf_timer *timers; /* root of the heap */
    sf_timer *firing; /* only compared, never followed: its storage may be gone */
    uint64_t timer_order, timers_fired_total;
    pthread_t timer_thread;
    bool timer_thread_started, timers_end;

    pthread_mutex_t blocking_lock;
    pthread_cond_t blocking_ready;
    blocking_call *calls; /* ring */
    uint32_t call_capacity, call_first, call_count;
    uint64_t blocking_total, blocking_refused_total;
    pthread_t *blocking_threads;
    uint32_t blocking_thread_count;
    bool blocking_ends;

    /* A loop only. */
    sf_rng rng;
    bool draws; /* order from rng, else in turns */
    uint32_t turn;
    sf_actor *current; /* the actor that runs */
    blocking_call finished;
    bool has_finished; /* a call made, not yet reported */
};

/* pool.c */
sf_pool *pool_new(const sf_clock *clock, uint32_t blocking_queue); /* NULL: out of memory */
sf_status pool_thread(pthread_t *out, void *(*body)(void *), void *arg, const char *name,
                      sf_error *err);
void pool_free(sf_pool *pool);

/* actor.c: take the actor at `index` of the queue, run it once, settle what comes next. */
sf_actor *actor_dequeue_locked(sf_pool *pool, uint32_t index);
void actor_run_once(sf_pool *pool, sf_actor *actor, sf_arena *scratch);

/* timer.c */
void *timer_thread_body(void *arg);
void timer_thread_end(sf_pool *pool);
/* Fires one timer due at now_ns; false: none is. */
bool timer_fire_due(sf_pool *pool, int64_t now_ns);
int64_t timer_next_ns(sf_pool *pool);

/* blocking.c */
void *blocking_thread_body(void *arg);
void blocking_threads_end(sf_pool *pool);
/* Takes the call at `index` of the queue; the queue is locked and long enough. */
blocking_call blocking_take_locked(sf_pool *pool, uint32_t index);

#endif

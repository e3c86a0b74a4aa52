/* Actors: the run queue and the state that keeps a run single.
 *
 * A wake sets SCHEDULED and WOKEN; whoever sets SCHEDULED first puts the actor into the queue. The
 * worker clears WOKEN when it starts a run and SCHEDULED when it ends one with nothing more to do;
 * both are read-modify-writes on the one word, so a wake is either seen by the run's start or by
 * its end. While SCHEDULED is set the storage is in use: sf_actor_stop waits for it to go. */
#include "task/pool.h"

void sf_actor_init(sf_actor *actor, sf_pool *pool, sf_run (*run)(void *self, sf_actor *actor),
                   void *self)
{
    *actor = (sf_actor){.run = run, .self = self, .pool = pool};
}

static void enqueue(sf_pool *pool, sf_actor *actor)
{
    pthread_mutex_lock(&pool->lock);
    actor->next = NULL;
    if (pool->last)
        pool->last->next = actor;
    else
        pool->first = actor;
    pool->last = actor;
    pool->ready_count++;
    if (pool->sleeping_count > 0)
        pthread_cond_signal(&pool->ready);
    pthread_mutex_unlock(&pool->lock);
}

sf_actor *actor_dequeue_locked(sf_pool *pool, uint32_t index)
{
    sf_actor *before = NULL, *actor = pool->first;
    for (; index > 0; index--) {
        before = actor;
        actor = actor->next;
    }
    if (before)
        before->next = actor->next;
    else
        pool->first = actor->next;
    if (pool->last == actor)
        pool->last = before;
    actor->next = NULL;
    pool->ready_count--;
    return actor;
}

void sf_actor_wake(sf_actor *actor)
{
    uint32_t state = atomic_load_explicit(&actor->state, memory_order_relaxed);
    do {
        if (state & ACTOR_STOPPED)
            return;
    } while (!atomic_compare_exchange_weak_explicit(&actor->state, &state,
                                                    state | ACTOR_SCHEDULED | ACTOR_WOKEN,
                                                    memory_order_acq_rel, memory_order_relaxed));
    if (!(state & ACTOR_SCHEDULED))
        enqueue(actor->pool, actor);
}

/* The last touch of a stopped actor: its storage may go as soon as the lock is free. */
static void leave(sf_pool *pool, sf_actor *actor)
{
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_and_explicit(&actor->state, ~(uint32_t)ACTOR_SCHEDULED, memory_order_acq_rel);
    pthread_cond_broadcast(&pool->stopped);
    pthread_mutex_unlock(&pool->lock);
}

void actor_run_once(sf_pool *pool, sf_actor *actor, sf_arena *scratch)
{
    sf_run next = SF_RUN_IDLE;
    uint32_t state =
        atomic_fetch_and_explicit(&actor->state, ~(uint32_t)ACTOR_WOKEN, memory_order_acq_rel);
    if (!(state & ACTOR_STOPPED)) {
        actor->scratch = scratch;
        next = actor->run(actor->self, actor);
        actor->scratch = NULL;
        sf_arena_reset(scratch);
    }
    state = atomic_load_explicit(&actor->state, memory_order_relaxed);
    do {
        if (state & ACTOR_STOPPED) {
            leave(pool, actor);
            return;
        }
        if (next == SF_RUN_AGAIN || (state & ACTOR_WOKEN)) {
            enqueue(pool, actor);
            return;
        }
    } while (!atomic_compare_exchange_weak_explicit(&actor->state, &state,
                                                    state & ~(uint32_t)ACTOR_SCHEDULED,
                                                    memory_order_acq_rel, memory_order_relaxed));
}

static bool on_worker(const sf_pool *pool)
{
    for (uint32_t i = 0; i < pool->worker_count; i++) {
        if (pthread_equal(pool->workers[i].thread, pthread_self()))
            return true;
    }
    return false;
}

/* A loop has no other thread to wait for: the actor is idle or in the queue. */
static void loop_unlink_locked(sf_pool *loop, sf_actor *actor)
{
    SF_ASSERT(loop->current != actor);
    uint32_t index = 0;
    for (sf_actor *at = loop->first; at; at = at->next, index++) {
        if (at == actor) {
            actor_dequeue_locked(loop, index);
            break;
        }
    }
    atomic_fetch_and_explicit(&actor->state, ~(uint32_t)ACTOR_SCHEDULED, memory_order_relaxed);
}

void sf_actor_stop(sf_actor *actor)
{
    sf_pool *pool = actor->pool;
    atomic_fetch_or_explicit(&actor->state, ACTOR_STOPPED, memory_order_acq_rel);
    pthread_mutex_lock(&pool->lock);
    if (pool->is_loop) {
        loop_unlink_locked(pool, actor);
    } else {
        SF_ASSERT(!on_worker(pool));
        while (atomic_load_explicit(&actor->state, memory_order_acquire) & ACTOR_SCHEDULED)
            pthread_cond_wait(&pool->stopped, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
}

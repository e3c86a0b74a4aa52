/* Calls that may block: a bounded ring, taken by a few threads. */
#include "task/pool.h"

bool sf_blocking_submit(sf_pool *pool, void (*work)(void *arg), void (*done)(void *arg), void *arg)
{
    pthread_mutex_lock(&pool->blocking_lock);
    bool fits = !pool->blocking_ends && pool->call_count < pool->call_capacity;
    if (fits) {
        uint32_t at =
            (uint32_t)(((uint64_t)pool->call_first + pool->call_count) % pool->call_capacity);
        pool->calls[at] = (blocking_call){.work = work, .done = done, .arg = arg};
        pool->call_count++;
        pthread_cond_signal(&pool->blocking_ready);
    } else {
        pool->blocking_refused_total++;
    }
    pthread_mutex_unlock(&pool->blocking_lock);
    return fits;
}

/* Calls before the taken one move up by a place, so that the rest keeps its order. */
blocking_call blocking_take_locked(sf_pool *pool, uint32_t index)
{
    uint32_t at = (uint32_t)(((uint64_t)pool->call_first + index) % pool->call_capacity);
    blocking_call call = pool->calls[at];
    for (; index > 0; index--) {
        uint32_t before = at > 0 ? at - 1 : pool->call_capacity - 1;
        pool->calls[at] = pool->calls[before];
        at = before;
    }
    pool->call_first = (uint32_t)(((uint64_t)pool->call_first + 1) % pool->call_capacity);
    pool->call_count--;
    return call;
}

void *blocking_thread_body(void *arg)
{
    sf_pool *pool = arg;
    pthread_mutex_lock(&pool->blocking_lock);
    for (;;) {
        while (pool->call_count == 0 && !pool->blocking_ends)
            pthread_cond_wait(&pool->blocking_ready, &pool->blocking_lock);
        if (pool->call_count == 0)
            break;
        blocking_call call = blocking_take_locked(pool, 0);
        pthread_mutex_unlock(&pool->blocking_lock);
        call.work(call.arg);
        if (call.done)
            call.done(call.arg);
        pthread_mutex_lock(&pool->blocking_lock);
        pool->blocking_total++;
    }
    pthread_mutex_unlock(&pool->blocking_lock);
    return NULL;
}

void blocking_threads_end(sf_pool *pool)
{
    pthread_mutex_lock(&pool->blocking_lock);
    pool->blocking_ends = true;
    pthread_cond_broadcast(&pool->blocking_ready);
    pthread_mutex_unlock(&pool->blocking_lock);
    for (uint32_t i = 0; i < pool->blocking_thread_count; i++)
        pthread_join(pool->blocking_threads[i], NULL);
    if (!pool->is_loop)
        return;
    if (pool->has_finished && pool->finished.done)
        pool->finished.done(pool->finished.arg);
    while (pool->call_count > 0) {
        blocking_call call = blocking_take_locked(pool, 0);
        call.work(call.arg);
        if (call.done)
            call.done(call.arg);
    }
}

/* Pools: threads, opening, closing, statistics. */
#include "task/pool.h"

#include <sched.h>
#include <signal.h>

enum {
    POOL_WORKERS_MAX = 1024,
    POOL_BLOCKING_THREADS = 4,
    POOL_BLOCKING_THREADS_MAX = 256,
    POOL_BLOCKING_QUEUE = 1024,
};

static uint32_t core_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? (uint32_t)count : 1;
}

static void monotonic_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

sf_pool *pool_new(const sf_clock *clock, uint32_t blocking_queue)
{
    sf_pool *pool = sf_calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->call_capacity = blocking_queue ? blocking_queue : POOL_BLOCKING_QUEUE;
    pool->calls = sf_calloc(pool->call_capacity, sizeof *pool->calls);
    if (!pool->calls) {
        sf_free(pool);
        return NULL;
    }
    pool->clock = *clock;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->ready, NULL);
    pthread_cond_init(&pool->stopped, NULL);
    pthread_mutex_init(&pool->timer_lock, NULL);
    monotonic_cond_init(&pool->timer_changed);
    pthread_cond_init(&pool->timer_fired, NULL);
    pthread_mutex_init(&pool->blocking_lock, NULL);
    pthread_cond_init(&pool->blocking_ready, NULL);
    return pool;
}

void pool_free(sf_pool *pool)
{
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->ready);
    pthread_cond_destroy(&pool->stopped);
    pthread_mutex_destroy(&pool->timer_lock);
    pthread_cond_destroy(&pool->timer_changed);
    pthread_cond_destroy(&pool->timer_fired);
    pthread_mutex_destroy(&pool->blocking_lock);
    pthread_cond_destroy(&pool->blocking_ready);
    sf_free(pool->calls);
    sf_free(pool->workers);
    sf_free(pool->blocking_threads);
    sf_free(pool);
}

/* Signals stay with the threads of the program: a worker never runs a handler. */
sf_status pool_thread(pthread_t *out, void *(*body)(void *), void *arg, const char *name,
                      sf_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(out, NULL, body, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0) {
        sf_fail(err, SF_UNAVAILABLE, "cannot start thread \"%s\": error %d", name, code);
        sf_error_hint(err, "raise the limit on threads of this process, or ask for fewer workers");
        return SF_UNAVAILABLE;
    }
    pthread_setname_np(*out, name);
    return SF_OK;
}

static void *worker_body(void *arg)
{
    pool_worker *worker = arg;
    sf_pool *pool = worker->pool;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->first && !pool->ends) {
            pool->sleeping_count++;
            pthread_cond_wait(&pool->ready, &pool->lock);
            pool->sleeping_count--;
        }
        if (!pool->first)
            break;
        sf_actor *actor = actor_dequeue_locked(pool, 0);
        pool->running_count++;
        pthread_mutex_unlock(&pool->lock);
        actor_run_once(pool, actor, &worker->scratch);
        pthread_mutex_lock(&pool->lock);
        pool->running_count--;
        pool->runs_total++;
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static sf_status workers_start(sf_pool *pool, const sf_pool_options *options, sf_error *err)
{
    uint32_t count = options->workers ? options->workers : core_count();
    if (count > POOL_WORKERS_MAX)
        return sf_fail(err, SF_INVALID, "%u workers are more than %d", count, POOL_WORKERS_MAX);
    pool->workers = sf_calloc(count, sizeof *pool->workers);
    if (!pool->workers)
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < count; i++) {
        pool_worker *worker = &pool->workers[i];
        worker->pool = pool;
        sf_arena_init(&worker->scratch, options->scratch_limit_bytes);
        SF_TRY(pool_thread(&worker->thread, worker_body, worker, "sf-worker", err));
        pthread_mutex_lock(&pool->lock);
        pool->worker_count++;
        pthread_mutex_unlock(&pool->lock);
    }
    return SF_OK;
}

static sf_status blocking_start(sf_pool *pool, uint32_t count, sf_error *err)
{
    if (count > POOL_BLOCKING_THREADS_MAX)
        return sf_fail(err, SF_INVALID, "%u blocking threads are more than %d", count,
                       POOL_BLOCKING_THREADS_MAX);
    pool->blocking_threads = sf_calloc(count, sizeof *pool->blocking_threads);
    if (!pool->blocking_threads)
        return sf_fail_memory(err);
    for (; pool->blocking_thread_count < count; pool->blocking_thread_count++)
        SF_TRY(pool_thread(&pool->blocking_threads[pool->blocking_thread_count],
                           blocking_thread_body, pool, "sf-blocking", err));
    return SF_OK;
}

static sf_status threads_start(sf_pool *pool, const sf_pool_options *options, sf_error *err)
{
    SF_TRY(workers_start(pool, options, err));
    uint32_t blocking =
        options->blocking_threads ? options->blocking_threads : POOL_BLOCKING_THREADS;
    SF_TRY(blocking_start(pool, blocking, err));
    pthread_mutex_lock(&pool->timer_lock);
    sf_status status = pool_thread(&pool->timer_thread, timer_thread_body, pool, "sf-timer", err);
    pool->timer_thread_started = status == SF_OK;
    pthread_mutex_unlock(&pool->timer_lock);
    return status;
}

sf_status sf_pool_open(const sf_pool_options *options, sf_pool **out, sf_error *err)
{
    sf_pool *pool = pool_new(&options->clock, options->blocking_queue);
    if (!pool)
        return sf_fail_memory(err);
    sf_status status = threads_start(pool, options, err);
    if (status != SF_OK) {
        sf_pool_close(pool);
        return status;
    }
    *out = pool;
    return SF_OK;
}

void sf_pool_close(sf_pool *pool)
{
    if (!pool)
        return;
    timer_thread_end(pool);
    blocking_threads_end(pool);
    pthread_mutex_lock(&pool->lock);
    pool->ends = true;
    pthread_cond_broadcast(&pool->ready);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < pool->worker_count; i++) {
        if (!pool->is_loop)
            pthread_join(pool->workers[i].thread, NULL);
        sf_arena_deinit(&pool->workers[i].scratch);
    }
    SF_ASSERT(!pool->first);
    pool_free(pool);
}

void sf_pool_read_stats(sf_pool *pool, sf_pool_stats *out)
{
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&pool->lock);
    out->runs_total = pool->runs_total;
    out->workers = pool->is_loop ? 0 : pool->worker_count;
    out->ready = pool->ready_count;
    out->running = pool->running_count;
    pthread_mutex_unlock(&pool->lock);
    pthread_mutex_lock(&pool->timer_lock);
    out->timers_fired_total = pool->timers_fired_total;
    pthread_mutex_unlock(&pool->timer_lock);
    pthread_mutex_lock(&pool->blocking_lock);
    out->blocking_total = pool->blocking_total;
    out->blocking_refused_total = pool->blocking_refused_total;
    out->blocking_waiting = pool->call_count;
    pthread_mutex_unlock(&pool->blocking_lock);
}

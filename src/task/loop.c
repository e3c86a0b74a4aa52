/* Loops: the pool's queues stepped by hand. With a seed, every step draws among all that is ready,
 * as threads and a disk might have ordered it; without one the four kinds take turns. */
#include "task/pool.h"

enum { STEP_TIMER, STEP_REPORT, STEP_ACTOR, STEP_CALL, STEP_KINDS };

sf_status sf_loop_open(const sf_loop_options *options, sf_pool **out, sf_error *err)
{
    sf_pool *loop = pool_new(&options->clock, options->blocking_queue);
    if (!loop)
        return sf_fail_memory(err);
    loop->is_loop = true;
    loop->draws = options->seed != 0;
    loop->rng.state = options->seed;
    loop->workers = sf_calloc(1, sizeof *loop->workers);
    if (!loop->workers) {
        pool_free(loop);
        return sf_fail_memory(err);
    }
    sf_arena_init(&loop->workers[0].scratch, options->scratch_limit_bytes);
    loop->worker_count = 1;
    *out = loop;
    return SF_OK;
}

static void run_actor(sf_pool *loop, uint32_t index)
{
    pthread_mutex_lock(&loop->lock);
    sf_actor *actor = actor_dequeue_locked(loop, index);
    pthread_mutex_unlock(&loop->lock);
    loop->current = actor;
    actor_run_once(loop, actor, &loop->workers[0].scratch);
    loop->current = NULL;
    loop->runs_total++;
}

static void make_call(sf_pool *loop, uint32_t index)
{
    pthread_mutex_lock(&loop->blocking_lock);
    loop->finished = blocking_take_locked(loop, index);
    pthread_mutex_unlock(&loop->blocking_lock);
    loop->has_finished = true;
    loop->finished.work(loop->finished.arg);
}

static void report_call(sf_pool *loop)
{
    blocking_call call = loop->finished;
    loop->has_finished = false;
    loop->blocking_total++;
    if (call.done)
        call.done(call.arg);
}

static void take_step(sf_pool *loop, int kind, uint32_t index, int64_t now_ns)
{
    switch (kind) {
    case STEP_TIMER: timer_fire_due(loop, now_ns); break;
    case STEP_REPORT: report_call(loop); break;
    case STEP_ACTOR: run_actor(loop, index); break;
    default: make_call(loop, index); break;
    }
}

bool sf_loop_step(sf_pool *loop)
{
    SF_ASSERT(loop->is_loop && !loop->current);
    int64_t now_ns = sf_clock_mono_ns(&loop->clock);
    uint32_t counts[STEP_KINDS] = {
        [STEP_TIMER] = timer_next_ns(loop) <= now_ns && loop->timers,
        [STEP_REPORT] = loop->has_finished,
        [STEP_ACTOR] = loop->ready_count,
        [STEP_CALL] = loop->has_finished ? 0 : loop->call_count,
    };
    uint64_t total = 0;
    for (int kind = 0; kind < STEP_KINDS; kind++)
        total += counts[kind];
    if (total == 0)
        return false;
    if (!loop->draws) {
        while (counts[loop->turn % STEP_KINDS] == 0)
            loop->turn++;
        take_step(loop, (int)(loop->turn++ % STEP_KINDS), 0, now_ns);
        return true;
    }
    uint64_t drawn = sf_rng_below(&loop->rng, total);
    int kind = 0;
    while (drawn >= counts[kind])
        drawn -= counts[kind++];
    take_step(loop, kind, (uint32_t)drawn, now_ns);
    return true;
}

int64_t sf_loop_next_ns(sf_pool *loop)
{
    return timer_next_ns(loop);
}

/* Actors, timers, mailboxes and blocking calls on real threads. */
#include "tests.h"

/* ---- a gate: threads wait until it opens ---- */

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t count;
} gate;

static void gate_init(gate *g)
{
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    g->count = 0;
}

static void gate_deinit(gate *g)
{
    pthread_mutex_destroy(&g->lock);
    pthread_cond_destroy(&g->changed);
}

static void gate_add(void *self)
{
    gate *g = self;
    pthread_mutex_lock(&g->lock);
    g->count++;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

static void gate_wait(gate *g, uint64_t count)
{
    pthread_mutex_lock(&g->lock);
    while (g->count < count)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static sf_pool *open_pool(uint32_t workers, uint32_t blocking_threads, uint32_t blocking_queue)
{
    sf_pool_options options = {.clock = sf_clock_system(),
                               .workers = workers,
                               .blocking_threads = blocking_threads,
                               .blocking_queue = blocking_queue};
    sf_pool *pool = NULL;
    sf_error err;
    SF_ASSERT(sf_pool_open(&options, &pool, &err) == SF_OK);
    return pool;
}

/* ---- actors and mailboxes ---- */

enum { STORM_ACTORS = 16, STORM_PRODUCERS = 4, STORM_ITEMS = 5000, STORM_CAPACITY = 8 };

/* An item is its producer and number, so that each producer's order can be checked. */
typedef struct {
    sf_actor actor;
    sf_mailbox *box;
    gate space;
    gate *finished;
    atomic_bool inside;
    atomic_uint overlaps;
    uint32_t seen[STORM_PRODUCERS];
    uint32_t total, disorder;
    bool scratch_grew;
} storm_actor;

static sf_run storm_run(void *self, sf_actor *actor)
{
    storm_actor *me = self;
    if (atomic_exchange(&me->inside, true))
        atomic_fetch_add(&me->overlaps, 1);
    bool scratch_ok = sf_arena_alloc(actor->scratch, 1000) && actor->scratch->used_bytes < 100000;
    me->scratch_grew |= !scratch_ok;
    void *items[4];
    uint32_t count = sf_mailbox_take_many(me->box, items, 4);
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t item = (uintptr_t)items[i];
        uint32_t producer = (uint32_t)(item >> 32) - 1, number = (uint32_t)item;
        me->disorder += number != me->seen[producer];
        me->seen[producer] = number + 1;
        me->total++;
    }
    if (count && me->total == STORM_PRODUCERS * STORM_ITEMS)
        gate_add(me->finished);
    atomic_store(&me->inside, false);
    return count == 4 ? SF_RUN_AGAIN : SF_RUN_IDLE;
}

typedef struct {
    storm_actor *actors;
    uint32_t id;
} storm_producer;

static void *storm_body(void *arg)
{
    storm_producer *me = arg;
    for (uint32_t number = 0; number < STORM_ITEMS; number++) {
        for (int a = 0; a < STORM_ACTORS; a++) {
            storm_actor *to = &me->actors[a];
            void *item = (void *)(((uintptr_t)me->id + 1) << 32 | number);
            for (;;) {
                pthread_mutex_lock(&to->space.lock);
                uint64_t before = to->space.count;
                pthread_mutex_unlock(&to->space.lock);
                if (sf_mailbox_put(to->box, item))
                    break;
                gate_wait(&to->space, before + 1);
            }
        }
    }
    return NULL;
}

/* Each item arrives once, in its producer's order, and no actor is ever run by two workers. */
void pool_delivers_everything_once(void)
{
    sf_pool *pool = open_pool(3, 1, 1);
    gate finished;
    gate_init(&finished);
    storm_actor *actors = sf_calloc(STORM_ACTORS, sizeof *actors);
    REQUIRE(actors);
    sf_error err;
    for (int a = 0; a < STORM_ACTORS; a++) {
        gate_init(&actors[a].space);
        actors[a].finished = &finished;
        sf_actor_init(&actors[a].actor, pool, storm_run, &actors[a]);
        REQUIRE_OK(sf_mailbox_new(STORM_CAPACITY, &actors[a].actor, gate_add, &actors[a].space,
                                  &actors[a].box, &err),
                   err);
    }
    pthread_t threads[STORM_PRODUCERS];
    storm_producer producers[STORM_PRODUCERS];
    for (uint32_t p = 0; p < STORM_PRODUCERS; p++) {
        producers[p] = (storm_producer){actors, p};
        REQUIRE(pthread_create(&threads[p], NULL, storm_body, &producers[p]) == 0);
    }
    gate_wait(&finished, STORM_ACTORS);
    for (int p = 0; p < STORM_PRODUCERS; p++)
        pthread_join(threads[p], NULL);
    for (int a = 0; a < STORM_ACTORS; a++) {
        sf_actor_stop(&actors[a].actor);
        CHECK_INT(actors[a].total, STORM_PRODUCERS * STORM_ITEMS);
        CHECK_INT(actors[a].disorder, 0);
        CHECK_INT(actors[a].overlaps, 0);
        CHECK(!actors[a].scratch_grew);
        sf_mailbox_free(actors[a].box, NULL);
        gate_deinit(&actors[a].space);
    }
    sf_pool_stats stats;
    sf_pool_read_stats(pool, &stats);
    CHECK_INT(stats.workers, 3);
    CHECK_INT(stats.ready, 0);
    CHECK(stats.runs_total >= (uint64_t)STORM_ACTORS);
    sf_free(actors);
    sf_pool_close(pool);
    gate_deinit(&finished);
}

/* ---- stop ---- */

typedef struct {
    sf_actor actor;
    gate entered, leave;
    atomic_bool ended; /* of the last run */
} slow_actor;

static sf_run slow_run(void *self, sf_actor *actor)
{
    SF_UNUSED(actor);
    slow_actor *me = self;
    atomic_store(&me->ended, false);
    gate_add(&me->entered);
    gate_wait(&me->leave, 1);
    atomic_store(&me->ended, true);
    return SF_RUN_IDLE;
}

static void *open_gate(void *arg)
{
    gate_add(arg);
    return NULL;
}

void stop_waits_for_the_run(void)
{
    sf_pool *pool = open_pool(2, 1, 1);
    slow_actor *slow = sf_calloc(1, sizeof *slow);
    REQUIRE(slow);
    gate_init(&slow->entered);
    gate_init(&slow->leave);
    sf_actor_init(&slow->actor, pool, slow_run, slow);
    sf_actor_wake(&slow->actor);
    gate_wait(&slow->entered, 1);
    sf_actor_wake(&slow->actor); /* during the run: another follows unless the stop is first */
    pthread_t opener;
    REQUIRE(pthread_create(&opener, NULL, open_gate, &slow->leave) == 0);
    sf_actor_stop(&slow->actor);
    CHECK(atomic_load(&slow->ended));
    uint64_t runs = slow->entered.count;
    pthread_join(opener, NULL);
    sf_actor_wake(&slow->actor);
    sf_pool_stats stats;
    sf_pool_read_stats(pool, &stats);
    CHECK_INT(stats.ready, 0);
    CHECK_INT(slow->entered.count, runs);
    gate_deinit(&slow->entered);
    gate_deinit(&slow->leave);
    sf_free(slow);
    sf_pool_close(pool);
}

static sf_run restless_run(void *self, sf_actor *actor)
{
    atomic_uint *runs = self;
    sf_actor_wake(actor);
    return atomic_fetch_add(runs, 1) % 2 ? SF_RUN_AGAIN : SF_RUN_IDLE;
}

/* Actors that never rest are stopped and freed while they run: the sanitizers watch. */
void stop_ends_restless_actors(void)
{
    sf_pool *pool = open_pool(2, 1, 1);
    atomic_uint runs = 0;
    for (int round = 0; round < 200; round++) {
        sf_actor *pair[2];
        for (int i = 0; i < 2; i++) {
            pair[i] = sf_alloc(sizeof *pair[i]);
            REQUIRE(pair[i]);
            sf_actor_init(pair[i], pool, restless_run, &runs);
            sf_actor_wake(pair[i]);
        }
        for (int i = 0; i < 2; i++) {
            sf_actor_stop(pair[i]);
            sf_free(pair[i]);
        }
    }
    sf_pool_close(pool);
}

/* ---- timers ---- */

typedef struct {
    sf_timer timer;
    gate *fired;
    int64_t at_ns;
    atomic_bool early;
} pool_timer;

static void pool_timer_fire(void *self)
{
    pool_timer *me = self;
    sf_clock clock = sf_clock_system();
    if (sf_clock_mono_ns(&clock) < me->at_ns)
        atomic_store(&me->early, true);
    gate_add(me->fired);
}

void pool_timers_fire_when_due(void)
{
    enum { COUNT = 20 };
    sf_pool *pool = open_pool(1, 1, 1);
    gate fired;
    gate_init(&fired);
    sf_clock clock = sf_clock_system();
    int64_t now_ns = sf_clock_mono_ns(&clock);
    pool_timer timers[COUNT];
    for (int i = 0; i < COUNT; i++) {
        int64_t at_ns = now_ns + (i * 7 % COUNT) * 200000LL; /* up to 4 ms ahead, shuffled */
        timers[i] = (pool_timer){.fired = &fired, .at_ns = at_ns};
        sf_timer_init(&timers[i].timer, pool, pool_timer_fire, &timers[i]);
        sf_timer_set(&timers[i].timer, at_ns);
    }
    gate_wait(&fired, COUNT);
    for (int i = 0; i < COUNT; i++) {
        sf_timer_cancel(&timers[i].timer);
        CHECK(!timers[i].early);
    }
    sf_pool_close(pool);
    gate_deinit(&fired);
}

static sf_run signal_run(void *self, sf_actor *actor)
{
    SF_UNUSED(actor);
    gate_add(self);
    return SF_RUN_IDLE;
}

void pool_timer_wakes_an_actor(void)
{
    sf_pool *pool = open_pool(1, 1, 1);
    gate ran;
    gate_init(&ran);
    sf_actor actor;
    sf_timer timer, far;
    sf_actor_init(&actor, pool, signal_run, &ran);
    sf_timer_init_wake(&timer, &actor);
    sf_timer_init_wake(&far, &actor);
    sf_timer_set(&far, INT64_MAX); /* the longest wait must not delay a nearer one */
    sf_timer_set(&timer, 0);
    gate_wait(&ran, 1);
    sf_timer_cancel(&timer);
    sf_timer_cancel(&far);
    sf_actor_stop(&actor);
    CHECK_INT(ran.count, 1);
    sf_pool_close(pool);
    gate_deinit(&ran);
}

static void timer_again(void *self)
{
    sf_timer *timer = self;
    sf_timer_set(timer, 0);
}

/* A timer that sets itself again is cancelled and freed while it fires. */
void pool_timer_cancel_waits(void)
{
    sf_pool *pool = open_pool(1, 1, 1);
    for (int round = 0; round < 500; round++) {
        sf_timer *timer = sf_alloc(sizeof *timer);
        REQUIRE(timer);
        sf_timer_init(timer, pool, timer_again, timer);
        sf_timer_set(timer, 0);
        sf_timer_cancel(timer);
        sf_free(timer);
    }
    sf_pool_close(pool);
}

/* ---- blocking calls ---- */

typedef struct {
    gate entered, leave, done;
    atomic_uint works;
} blocking_state;

static void blocking_hold(void *arg)
{
    blocking_state *state = arg;
    gate_add(&state->entered);
    gate_wait(&state->leave, 1);
}

static void blocking_work(void *arg)
{
    blocking_state *state = arg;
    atomic_fetch_add(&state->works, 1);
}

static void blocking_done(void *arg)
{
    blocking_state *state = arg;
    CHECK(atomic_load(&state->works) > 0);
    gate_add(&state->done);
}

void blocking_queue_is_bounded_and_drained(void)
{
    sf_pool *pool = open_pool(1, 1, 3);
    blocking_state state = {0};
    gate_init(&state.entered);
    gate_init(&state.leave);
    gate_init(&state.done);
    CHECK(sf_blocking_submit(pool, blocking_hold, NULL, &state));
    gate_wait(&state.entered, 1); /* the only thread is busy: three may wait, no more */
    for (int i = 0; i < 3; i++)
        CHECK(sf_blocking_submit(pool, blocking_work, blocking_done, &state));
    CHECK(!sf_blocking_submit(pool, blocking_work, blocking_done, &state));
    sf_pool_stats stats;
    sf_pool_read_stats(pool, &stats);
    CHECK_INT(stats.blocking_waiting, 3);
    CHECK_INT(stats.blocking_refused_total, 1);
    gate_add(&state.leave);
    sf_pool_close(pool);
    CHECK_INT(state.works, 3);
    CHECK_INT(state.done.count, 3);
    gate_deinit(&state.entered);
    gate_deinit(&state.leave);
    gate_deinit(&state.done);
}

/* ---- opening ---- */

void pool_open_fails_cleanly(void)
{
    sf_pool_options options = {.clock = sf_clock_system(), .workers = 2, .blocking_threads = 1};
    sf_error err;
    uint64_t n = 1;
    for (;; n++) {
        sf_pool *pool = NULL;
        sf_alloc_fail_after(n);
        sf_status status = sf_pool_open(&options, &pool, &err);
        sf_alloc_fail_after(0);
        sf_pool_close(pool);
        if (status == SF_OK)
            break;
        CHECK_INT(status, SF_LIMIT);
    }
    CHECK(n > 1);
    options.workers = 1000000;
    sf_pool *pool = NULL;
    CHECK_INT(sf_pool_open(&options, &pool, &err), SF_INVALID);
    CHECK_STR(err.message, "1000000 workers are more than 1024");
    sf_pool_close(NULL);
}

/* ---- acknowledgement from many threads ---- */

enum { ACK_THREADS = 4, ACK_SHARES = 3000 };

typedef struct {
    sf_ack *ack;
    bool fails;
} ack_worker;

static void *ack_body(void *arg)
{
    ack_worker *me = arg;
    sf_error error = {.status = SF_CORRUPT, .message = "bad page"};
    for (int i = 0; i < ACK_SHARES; i++) {
        if (me->fails && i == ACK_SHARES / 2)
            sf_ack_fail(me->ack, 1, &error);
        else
            sf_ack_release(me->ack, 1);
    }
    return NULL;
}

static atomic_uint ack_completions;
static atomic_int ack_outcome;

static void ack_completed(void *self, const sf_error *error)
{
    CHECK(self == &ack_outcome);
    atomic_store(&ack_outcome, (int)(error ? error->status : SF_OK));
    atomic_fetch_add(&ack_completions, 1);
}

void ack_completes_once_over_threads(void)
{
    for (int failing = 0; failing < 2; failing++) {
        atomic_store(&ack_completions, 0);
        sf_ack *ack = sf_ack_new(ack_completed, &ack_outcome);
        REQUIRE(ack);
        sf_ack_take(ack, ACK_THREADS * ACK_SHARES);
        pthread_t threads[ACK_THREADS];
        ack_worker workers[ACK_THREADS];
        for (int i = 0; i < ACK_THREADS; i++) {
            workers[i] = (ack_worker){ack, failing && i == 2};
            REQUIRE(pthread_create(&threads[i], NULL, ack_body, &workers[i]) == 0);
        }
        CHECK_INT(ack_completions, 0); /* the first share is still held here */
        sf_ack_release(ack, 1);
        for (int i = 0; i < ACK_THREADS; i++)
            pthread_join(threads[i], NULL);
        CHECK_INT(ack_completions, 1);
        CHECK_INT(ack_outcome, failing ? SF_CORRUPT : SF_OK);
    }
}

/* Actors, timers, mailboxes, blocking calls and roots without threads: every order is exact. */
#include "tests.h"

/* ---- a loop on a clock that only moves when told ---- */

static int64_t now_ns;

static int64_t manual_ns(void *self)
{
    SF_UNUSED(self);
    return now_ns;
}

static int64_t manual_ms(void *self)
{
    SF_UNUSED(self);
    return now_ns / 1000000;
}

static sf_pool *open_loop(uint64_t seed)
{
    now_ns = 0;
    sf_loop_options options = {
        .clock = {.wall_ms = manual_ms, .mono_ns = manual_ns}, .seed = seed, .blocking_queue = 4};
    sf_pool *loop = NULL;
    sf_error err;
    SF_ASSERT(sf_loop_open(&options, &loop, &err) == SF_OK);
    return loop;
}

/* What happened, one letter each. */
static char trace[256];
static size_t trace_len;

static void note(char what)
{
    SF_ASSERT(trace_len + 1 < sizeof trace);
    trace[trace_len++] = what;
    trace[trace_len] = 0;
}

static void run_out(sf_pool *loop)
{
    while (sf_loop_step(loop))
        continue;
}

typedef struct {
    sf_actor actor;
    char name;
    int again;     /* runs that end with AGAIN */
    int self_wake; /* runs that wake the actor itself */
    sf_actor *wakes;
} named;

static sf_run named_run(void *self, sf_actor *actor)
{
    named *me = self;
    note(me->name);
    if (me->wakes)
        sf_actor_wake(me->wakes);
    if (me->self_wake > 0) {
        me->self_wake--;
        sf_actor_wake(actor);
    }
    if (me->again > 0) {
        me->again--;
        return SF_RUN_AGAIN;
    }
    return SF_RUN_IDLE;
}

static void named_init(named *me, sf_pool *pool, char name)
{
    *me = (named){.name = name};
    sf_actor_init(&me->actor, pool, named_run, me);
}

/* ---- actors ---- */

static void wakes_and_turns(void)
{
    sf_pool *loop = open_loop(0);
    named a, b, c;
    named_init(&a, loop, 'a');
    named_init(&b, loop, 'b');
    named_init(&c, loop, 'c');
    trace_len = 0;
    sf_actor_wake(&a.actor);
    sf_actor_wake(&a.actor);
    sf_actor_wake(&b.actor);
    sf_actor_wake(&a.actor);
    run_out(loop);
    CHECK_STR(trace, "ab"); /* three wakes before the run: one run */

    trace_len = 0;
    a.again = 2; /* behind those that already wait */
    b.wakes = &c.actor;
    sf_actor_wake(&a.actor);
    sf_actor_wake(&b.actor);
    run_out(loop);
    CHECK_STR(trace, "abaca");

    trace_len = 0;
    a.self_wake = 1; /* a wake during the run gives one more */
    sf_actor_wake(&a.actor);
    run_out(loop);
    CHECK_STR(trace, "aa");
    CHECK(!sf_loop_step(loop));
    CHECK_INT(sf_loop_next_ns(loop), INT64_MAX);
    sf_pool_close(loop);
}

static void stopped_actors_stay_stopped(void)
{
    sf_pool *loop = open_loop(0);
    named a, b, c;
    named_init(&a, loop, 'a');
    named_init(&b, loop, 'b');
    named_init(&c, loop, 'c');
    trace_len = 0;
    sf_actor_wake(&a.actor);
    sf_actor_wake(&b.actor);
    sf_actor_wake(&c.actor);
    sf_actor_stop(&c.actor); /* the last of the queue */
    sf_actor_stop(&b.actor); /* then the new last */
    sf_actor_wake(&b.actor);
    run_out(loop);
    CHECK_STR(trace, "a");
    sf_actor_wake(&a.actor); /* the queue is whole after the removals */
    run_out(loop);
    CHECK_STR(trace, "aa");
    sf_actor_stop(&a.actor);
    sf_actor_stop(&a.actor);
    sf_pool_close(loop);
}

/* ---- timers ---- */

typedef struct {
    sf_timer timer;
    char name;
    sf_timer *cancels, *sets;
    int64_t sets_ns;
} named_timer;

static void named_fire(void *self)
{
    named_timer *me = self;
    note(me->name);
    if (me->cancels)
        sf_timer_cancel(me->cancels);
    if (me->sets)
        sf_timer_set(me->sets, me->sets_ns);
}

static void timers_in_order(void)
{
    sf_pool *loop = open_loop(0);
    named_timer t[5];
    for (int i = 0; i < 5; i++) {
        t[i] = (named_timer){.name = (char)('a' + i)};
        sf_timer_init(&t[i].timer, loop, named_fire, &t[i]);
    }
    trace_len = 0;
    sf_timer_set(&t[0].timer, 30);
    sf_timer_set(&t[1].timer, 10);
    sf_timer_set(&t[2].timer, 20);
    sf_timer_set(&t[3].timer, 10); /* a tie: first set, first fired */
    CHECK_INT(sf_loop_next_ns(loop), 10);
    CHECK(!sf_loop_step(loop));
    now_ns = 20;
    run_out(loop);
    CHECK_STR(trace, "bdc");
    CHECK_INT(sf_loop_next_ns(loop), 30);

    trace_len = 0;
    sf_timer_set(&t[0].timer, 50); /* moved */
    sf_timer_set(&t[1].timer, 45);
    t[1].cancels = &t[2].timer;
    sf_timer_set(&t[2].timer, 46);
    t[0].sets = &t[0].timer; /* sets itself again from its own callback */
    t[0].sets_ns = 60;
    now_ns = 55;
    run_out(loop);
    CHECK_STR(trace, "ba");
    t[0].sets = NULL;
    now_ns = 60;
    run_out(loop);
    CHECK_STR(trace, "baa");
    sf_timer_cancel(&t[4].timer); /* never set */
    sf_timer_set(&t[4].timer, 70);
    sf_timer_cancel(&t[4].timer);
    CHECK_INT(sf_loop_next_ns(loop), INT64_MAX);

    named a;
    named_init(&a, loop, 'x');
    sf_timer wake;
    sf_timer_init_wake(&wake, &a.actor);
    sf_timer_set(&wake, 61);
    now_ns = 61;
    run_out(loop);
    CHECK_STR(trace, "baax");
    sf_pool_close(loop);
}

enum { MODEL_TIMERS = 64, MODEL_STEPS = 20000 };

typedef struct {
    sf_timer timer;
    int64_t at_ns;
    uint64_t order;
    bool is_set;
} model_timer;

static model_timer model[MODEL_TIMERS];
static uint64_t model_wrong, model_fired;

static model_timer *model_earliest(void)
{
    model_timer *best = NULL;
    for (int i = 0; i < MODEL_TIMERS; i++) {
        model_timer *t = &model[i];
        if (t->is_set && (!best || t->at_ns < best->at_ns ||
                          (t->at_ns == best->at_ns && t->order < best->order)))
            best = t;
    }
    return best;
}

static void model_fire(void *self)
{
    model_timer *me = self;
    model_wrong += me != model_earliest() || me->at_ns > now_ns;
    me->is_set = false;
    model_fired++;
}

/* Random sets, moves and cancels against an array searched from end to end. */
static void timers_match_a_model(void)
{
    sf_pool *loop = open_loop(0);
    memset(model, 0, sizeof model);
    model_wrong = model_fired = 0;
    for (int i = 0; i < MODEL_TIMERS; i++)
        sf_timer_init(&model[i].timer, loop, model_fire, &model[i]);
    sf_rng rng = {7};
    for (uint64_t step = 0; step < MODEL_STEPS; step++) {
        model_timer *t = &model[sf_rng_below(&rng, MODEL_TIMERS)];
        switch (sf_rng_below(&rng, 4)) {
        case 0:
            sf_timer_cancel(&t->timer);
            t->is_set = false;
            break;
        case 1:
            now_ns += (int64_t)sf_rng_below(&rng, 20);
            run_out(loop);
            break;
        default:
            t->at_ns = now_ns + (int64_t)sf_rng_below(&rng, 50);
            t->order = step;
            t->is_set = true;
            sf_timer_set(&t->timer, t->at_ns);
        }
        model_timer *earliest = model_earliest();
        CHECK_INT(sf_loop_next_ns(loop), earliest ? earliest->at_ns : INT64_MAX);
    }
    now_ns += 1000;
    run_out(loop);
    CHECK(!model_earliest());
    CHECK_INT(model_wrong, 0);
    CHECK(model_fired > 1000);
    sf_pool_close(loop);
}

/* ---- mailboxes ---- */

static int space_calls, dropped;

static void count_space(void *self)
{
    CHECK(self == &space_calls);
    space_calls++;
}

static void count_drop(void *item)
{
    CHECK(item == &dropped);
    dropped++;
}

static void mailbox_is_bounded(void)
{
    sf_pool *loop = open_loop(0);
    named a;
    named_init(&a, loop, 'm');
    sf_mailbox *box;
    sf_error err;
    int items[6];
    space_calls = dropped = 0;
    trace_len = 0;
    REQUIRE_OK(sf_mailbox_new(4, &a.actor, count_space, &space_calls, &box, &err), err);
    CHECK(sf_mailbox_take(box) == NULL);
    for (int i = 0; i < 4; i++)
        CHECK(sf_mailbox_put(box, &items[i]));
    CHECK(!sf_mailbox_put(box, &items[4]));
    CHECK(!sf_mailbox_put(box, &items[4]));
    CHECK_INT(sf_mailbox_count(box), 4);
    run_out(loop);
    CHECK_STR(trace, "m");
    CHECK(sf_mailbox_take(box) == &items[0]);
    CHECK_INT(space_calls, 0); /* three of four: not yet half empty */
    CHECK(sf_mailbox_take(box) == &items[1]);
    CHECK_INT(space_calls, 1);
    CHECK(sf_mailbox_take(box) == &items[2]);
    CHECK_INT(space_calls, 1); /* told once for both refusals */
    CHECK(sf_mailbox_put(box, &items[4]));
    CHECK(sf_mailbox_put(box, &items[5])); /* wraps around */
    void *got[8];
    REQUIRE(sf_mailbox_take_many(box, got, 8) == 3);
    CHECK(got[0] == &items[3] && got[1] == &items[4] && got[2] == &items[5]);
    CHECK(sf_mailbox_put(box, &dropped));
    CHECK(sf_mailbox_put(box, &dropped));
    sf_mailbox_free(box, count_drop);
    CHECK_INT(dropped, 2);
    sf_mailbox_free(NULL, NULL);
    sf_alloc_fail_after(1);
    CHECK_INT(sf_mailbox_new(4, NULL, NULL, NULL, &box, &err), SF_LIMIT);
    sf_alloc_fail_after(0);
    run_out(loop);
    sf_pool_close(loop);
}

/* ---- blocking calls and seeds ---- */

typedef struct {
    char work, done;
} letters;

static void letters_work(void *arg)
{
    note(((letters *)arg)->work);
}

static void letters_done(void *arg)
{
    note(((letters *)arg)->done);
}

static void blocking_calls_in_a_loop(void)
{
    sf_pool *loop = open_loop(0);
    letters calls[] = {{'1', 'a'}, {'2', 'b'}, {'3', 'c'}, {'4', 'd'}};
    trace_len = 0;
    for (int i = 0; i < 4; i++)
        CHECK(sf_blocking_submit(loop, letters_work, letters_done, &calls[i]));
    CHECK(!sf_blocking_submit(loop, letters_work, NULL, &calls[0]));
    sf_loop_step(loop);
    CHECK_STR(trace, "1"); /* made, not yet reported */
    run_out(loop);
    CHECK_STR(trace, "1a2b3c4d");

    trace_len = 0; /* closing makes and reports what was accepted */
    CHECK(sf_blocking_submit(loop, letters_work, letters_done, &calls[0]));
    sf_loop_step(loop);
    CHECK(sf_blocking_submit(loop, letters_work, letters_done, &calls[1]));
    sf_pool_close(loop);
    CHECK_STR(trace, "1a2b");
}

/* Three actors, three timers and three calls, all ready at once. */
static void seeded_scene(uint64_t seed, char *out)
{
    sf_pool *loop = open_loop(seed);
    named actors[3];
    named_timer timers[3];
    letters calls[3];
    trace_len = 0;
    for (int i = 0; i < 3; i++) {
        named_init(&actors[i], loop, (char)('a' + i));
        actors[i].again = 1;
        sf_actor_wake(&actors[i].actor);
        timers[i] = (named_timer){.name = (char)('x' + i)};
        sf_timer_init(&timers[i].timer, loop, named_fire, &timers[i]);
        sf_timer_set(&timers[i].timer, 0);
        calls[i] = (letters){(char)('1' + i), (char)('7' + i)};
        CHECK(sf_blocking_submit(loop, letters_work, letters_done, &calls[i]));
    }
    run_out(loop);
    memcpy(out, trace, trace_len + 1);
    CHECK_INT(trace_len, 6 + 3 + 6);
    for (int i = 0; i < 3; i++) /* done never comes before its work */
        CHECK(strchr(trace, '1' + i) < strchr(trace, '7' + i));
    CHECK(strchr(trace, 'x') < strchr(trace, 'y') && strchr(trace, 'y') < strchr(trace, 'z'));
    sf_pool_close(loop);
}

static void a_seed_is_an_order(void)
{
    enum { SEEDS = 20 };
    char traces[SEEDS][64], again[64];
    int different = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        seeded_scene(seed, traces[seed]);
        seeded_scene(seed, again);
        CHECK_STR(again, traces[seed]);
        different += seed > 0 && strcmp(traces[seed], traces[seed - 1]) != 0;
    }
    CHECK(different > SEEDS / 2);
    CHECK_STR(traces[0], "xa1y7b2z8c39abc"); /* without a seed the kinds take turns */
}

static void loop_open_fails_cleanly(void)
{
    sf_loop_options options = {.clock = sf_clock_system()};
    sf_error err;
    for (uint64_t n = 1; n <= 3; n++) {
        sf_pool *loop = NULL;
        sf_alloc_fail_after(n);
        CHECK_INT(sf_loop_open(&options, &loop, &err), SF_LIMIT);
        sf_alloc_fail_after(0);
    }
}

/* ---- acknowledgement roots ---- */

static int completions;
static sf_status outcome;
static char outcome_message[32];

static void completed(void *self, const sf_error *error)
{
    CHECK(self == &completions);
    completions++;
    outcome = error ? error->status : SF_OK;
    snprintf(outcome_message, sizeof outcome_message, "%.31s", error ? error->message : "");
}

static void ack_takes_the_worst(void)
{
    static const struct {
        sf_status outcomes[4]; /* of four shares in this order */
        sf_status want;
        const char *message; /* which share's text */
    } rows[] = {
        {{SF_OK, SF_OK, SF_OK, SF_OK}, SF_OK, ""},
        {{SF_OK, SF_IO, SF_OK, SF_OK}, SF_IO, "share 1"},
        {{SF_IO, SF_TIMEOUT, SF_OK, SF_OK}, SF_IO, "share 0"},
        {{SF_IO, SF_OK, SF_CORRUPT, SF_OK}, SF_CORRUPT, "share 2"},
        {{SF_INVALID, SF_CORRUPT, SF_IO, SF_OK}, SF_INVALID, "share 0"},
        {{SF_OK, SF_OK, SF_OK, SF_OVERLOADED}, SF_OVERLOADED, "share 3"},
    };
    for (size_t r = 0; r < SF_COUNT_OF(rows); r++) {
        completions = 0;
        sf_ack *ack = sf_ack_new(completed, &completions);
        REQUIRE(ack);
        sf_ack_take(ack, 5);
        for (int i = 0; i < 4; i++) {
            sf_error error = {.status = rows[r].outcomes[i]};
            snprintf(error.message, sizeof error.message, "share %d", i);
            if (error.status == SF_OK)
                sf_ack_release(ack, 1);
            else
                sf_ack_fail(ack, 1, &error);
        }
        CHECK_INT(completions, 0);
        sf_ack_release(ack, 2);
        CHECK_INT(completions, 1);
        CHECK_INT(outcome, rows[r].want);
        CHECK_STR(outcome_message, rows[r].message);
    }
    sf_alloc_fail_after(1);
    CHECK(!sf_ack_new(completed, &completions));
    sf_alloc_fail_after(0);
}

static const sf_case cases[] = {
    SF_CASE(wakes_and_turns),           SF_CASE(stopped_actors_stay_stopped),
    SF_CASE(timers_in_order),           SF_CASE(timers_match_a_model),
    SF_CASE(mailbox_is_bounded),        SF_CASE(blocking_calls_in_a_loop),
    SF_CASE(a_seed_is_an_order),        SF_CASE(loop_open_fails_cleanly),
    SF_CASE(ack_takes_the_worst),       SF_CASE(pool_delivers_everything_once),
    SF_CASE(stop_waits_for_the_run),    SF_CASE(stop_ends_restless_actors),
    SF_CASE(pool_timers_fire_when_due), SF_CASE(pool_timer_wakes_an_actor),
    SF_CASE(pool_timer_cancel_waits),   SF_CASE(blocking_queue_is_bounded_and_drained),
    SF_CASE(pool_open_fails_cleanly),   SF_CASE(ack_completes_once_over_threads),
};
SF_RUN("task", cases)

/* Timers: an intrusive pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986), earliest at the
 * root. Setting never allocates, so it cannot fail; setting and cancelling are O(log n) amortised.
 */
#include "task/pool.h"

#include <time.h>

/* One wait is at most this long, so that no deadline overflows. */
#define TIMER_WAIT_MAX_NS (3600LL * 1000000000LL)

static bool earlier(const sf_timer *a, const sf_timer *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

/* Two roots become one; previous of a first child is its parent. */
static sf_timer *meld(sf_timer *a, sf_timer *b)
{
    if (!a || !b)
        return a ? a : b;
    if (earlier(b, a)) {
        sf_timer *swap = a;
        a = b;
        b = swap;
    }
    b->previous = a;
    b->sibling = a->child;
    if (a->child)
        a->child->previous = b;
    a->child = b;
    return a;
}

/* Children of a removed root: melded in pairs left to right, then all from right to left. */
static sf_timer *meld_children(sf_timer *first)
{
    sf_timer *pairs = NULL;
    while (first) {
        sf_timer *a = first, *b = a->sibling;
        first = b ? b->sibling : NULL;
        a->sibling = a->previous = NULL;
        if (b)
            b->sibling = b->previous = NULL;
        sf_timer *pair = meld(a, b);
        pair->sibling = pairs;
        pairs = pair;
    }
    sf_timer *root = NULL;
    while (pairs) {
        sf_timer *next = pairs->sibling;
        pairs->sibling = NULL;
        root = meld(root, pairs);
        pairs = next;
    }
    return root;
}

static void remove_locked(sf_pool *pool, sf_timer *timer)
{
    if (pool->timers == timer) {
        pool->timers = meld_children(timer->child);
    } else {
        if (timer->previous->child == timer)
            timer->previous->child = timer->sibling;
        else
            timer->previous->sibling = timer->sibling;
        if (timer->sibling)
            timer->sibling->previous = timer->previous;
        pool->timers = meld(pool->timers, meld_children(timer->child));
    }
    timer->child = timer->sibling = timer->previous = NULL;
    timer->is_set = false;
}

void sf_timer_init(sf_timer *timer, sf_pool *pool, void (*fire)(void *self), void *self)
{
    *timer = (sf_timer){.fire = fire, .self = self, .pool = pool};
}

void sf_timer_init_wake(sf_timer *timer, sf_actor *actor)
{
    *timer = (sf_timer){.self = actor, .pool = actor->pool};
}

void sf_timer_set(sf_timer *timer, int64_t at_mono_ns)
{
    sf_pool *pool = timer->pool;
    pthread_mutex_lock(&pool->timer_lock);
    if (timer->is_set)
        remove_locked(pool, timer);
    timer->at_ns = at_mono_ns;
    timer->order = pool->timer_order++;
    timer->is_set = true;
    pool->timers = meld(pool->timers, timer);
    if (pool->timers == timer)
        pthread_cond_signal(&pool->timer_changed);
    pthread_mutex_unlock(&pool->timer_lock);
}

void sf_timer_cancel(sf_timer *timer)
{
    sf_pool *pool = timer->pool;
    pthread_mutex_lock(&pool->timer_lock);
    bool inside = pool->is_loop || pthread_equal(pool->timer_thread, pthread_self());
    for (;;) {
        if (timer->is_set)
            remove_locked(pool, timer);
        if (inside || pool->firing != timer)
            break;
        pthread_cond_wait(&pool->timer_fired,
                          &pool->timer_lock); /* the callback may set it again */
    }
    pthread_mutex_unlock(&pool->timer_lock);
}

bool timer_fire_due(sf_pool *pool, int64_t now_ns)
{
    pthread_mutex_lock(&pool->timer_lock);
    sf_timer *timer = pool->timers;
    if (!timer || timer->at_ns > now_ns) {
        pthread_mutex_unlock(&pool->timer_lock);
        return false;
    }
    remove_locked(pool, timer);
    void (*fire)(void *self) = timer->fire;
    void *self = timer->self;
    pool->firing = timer;
    pthread_mutex_unlock(&pool->timer_lock);
    if (fire)
        fire(self);
    else
        sf_actor_wake(self);
    pthread_mutex_lock(&pool->timer_lock);
    pool->firing = NULL;
    pool->timers_fired_total++;
    pthread_cond_broadcast(&pool->timer_fired);
    pthread_mutex_unlock(&pool->timer_lock);
    return true;
}

int64_t timer_next_ns(sf_pool *pool)
{
    pthread_mutex_lock(&pool->timer_lock);
    int64_t next_ns = pool->timers ? pool->timers->at_ns : INT64_MAX;
    pthread_mutex_unlock(&pool->timer_lock);
    return next_ns;
}

/* The pool's clock counts from where it likes, so the wait is turned into a length. */
static void wait_until_locked(sf_pool *pool, int64_t at_ns)
{
    int64_t wait_ns = 0;
    if (__builtin_sub_overflow(at_ns, sf_clock_mono_ns(&pool->clock), &wait_ns) ||
        wait_ns > TIMER_WAIT_MAX_NS)
        wait_ns = TIMER_WAIT_MAX_NS;
    if (wait_ns <= 0)
        return;
    sf_clock system = sf_clock_system();
    int64_t deadline_ns = sf_clock_mono_ns(&system) + wait_ns;
    struct timespec deadline = {.tv_sec = deadline_ns / 1000000000,
                                .tv_nsec = deadline_ns % 1000000000};
    pthread_cond_timedwait(&pool->timer_changed, &pool->timer_lock, &deadline);
}

void *timer_thread_body(void *arg)
{
    sf_pool *pool = arg;
    for (;;) {
        while (timer_fire_due(pool, sf_clock_mono_ns(&pool->clock)))
            continue;
        pthread_mutex_lock(&pool->timer_lock);
        bool ends = pool->timers_end;
        if (!ends && pool->timers)
            wait_until_locked(pool, pool->timers->at_ns);
        else if (!ends)
            pthread_cond_wait(&pool->timer_changed, &pool->timer_lock);
        pthread_mutex_unlock(&pool->timer_lock);
        if (ends)
            return NULL;
    }
}

void timer_thread_end(sf_pool *pool)
{
    pthread_mutex_lock(&pool->timer_lock);
    SF_ASSERT(!pool->timers);
    pool->timers_end = true;
    pthread_cond_signal(&pool->timer_changed);
    pthread_mutex_unlock(&pool->timer_lock);
    if (pool->timer_thread_started)
        pthread_join(pool->timer_thread, NULL);
}

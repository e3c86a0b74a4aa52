/* Drivers: polling the sources that are not pushed. */
#include "runtime/internal.h"

enum { POLL_ROWS = 4096, FULL_RETRY_NS = 5000000 };

static int64_t wall_of(const sf_feed *feed, int64_t mono_ns)
{
    if (mono_ns == INT64_MAX)
        return 0;
    int64_t ahead_ns = mono_ns - sf_runtime_mono_ns(feed->runtime);
    return sf_runtime_wall_ms(feed->runtime) + ahead_ns / 1000000;
}

static sf_status open_source(sf_feed *feed, sf_error *err)
{
    if (feed->source)
        return SF_OK;
    return sf_source_open(feed->kind, &feed->config, sf_buf_str(&feed->position),
                          &feed->runtime->options.port, &feed->source, err);
}

/* The rows of a good poll go into the log, the last ones with the place behind them. Returns false
 * when there is no room: the same rows are tried again. */
static sf_status keep_rows(sf_feed *feed, uint64_t *first, uint64_t *lsn, sf_error *err)
{
    sf_status status = SF_OK;
    size_t count = feed->poll.batches.len;
    pthread_mutex_lock(&feed->lock);
    *first = feed->end;
    for (size_t i = 0; i < count && status == SF_OK; i++) {
        /* A place stands for all rows before it: only the last entry may carry the new one. */
        sf_str place =
            i + 1 == count ? sf_buf_str(&feed->poll.position) : sf_buf_str(&feed->position);
        status = sf_feed_append(feed, feed->poll.batches.data[i], place, lsn, err);
        if (status != SF_OVERLOADED)
            continue;
        pthread_mutex_unlock(&feed->lock); /* the journal's buffer is full */
        status = sf_journal_sync(feed->journal, err);
        pthread_mutex_lock(&feed->lock);
        if (status == SF_OK)
            status = sf_feed_append(feed, feed->poll.batches.data[i], place, lsn, err);
    }
    feed->stats.last_run_ms = sf_runtime_wall_ms(feed->runtime);
    feed->stats.ran = true;
    feed->stats.last_batch_rows = feed->poll.rows;
    feed->stats.coercion_failures_total += feed->poll.coercion_failures;
    feed->stats.malformed_total += feed->poll.malformed_rows;
    feed->caught_up = feed->poll.caught_up;
    if (status == SF_OK) {
        feed->stats.ok = true;
        feed->stats.consecutive_failures = 0;
        feed->stats.last_error[0] = '\0';
        if (feed->poll.first_error.row)
            memcpy(feed->stats.last_error, feed->poll.first_error.message,
                   sizeof feed->poll.first_error.message);
    }
    pthread_mutex_unlock(&feed->lock);
    return status;
}

static void note_failure(sf_feed *feed, const sf_error *err)
{
    pthread_mutex_lock(&feed->lock);
    feed->stats.ran = true;
    feed->stats.ok = false;
    feed->stats.consecutive_failures++;
    feed->stats.last_run_ms = sf_runtime_wall_ms(feed->runtime);
    memcpy(feed->stats.last_error, err->message, sizeof feed->stats.last_error);
    uint32_t failures = feed->stats.consecutive_failures;
    pthread_mutex_unlock(&feed->lock);
    sf_log_write(feed->runtime->options.port.log, SF_LOG_WARN, "source", "\"%s\": %s", feed->name,
                 err->message);
    int64_t retry_ns = feed->source
                           ? sf_source_retry_ns(feed->source, failures)
                           : sf_runtime_mono_ns(feed->runtime) + sf_backoff_ms(failures) * 1000000;
    pthread_mutex_lock(&feed->lock);
    feed->stats.next_run_ms = wall_of(feed, retry_ns);
    pthread_mutex_unlock(&feed->lock);
    sf_timer_set(&feed->timer, retry_ns);
}

/* What a poll has brought. AGAIN: poll on at once. */
static sf_run take_poll(sf_feed *feed)
{
    sf_error err = feed->poll_error;
    uint64_t first = 0, lsn = 0;
    sf_status status = feed->poll_status;
    if (status == SF_OK && feed->poll.batches.len > 0) {
        status = keep_rows(feed, &first, &lsn, &err);
        if (status != SF_OK) { /* not kept: read them again from the old place */
            sf_source_close(feed->source);
            feed->source = NULL;
        }
    } else if (status == SF_OK) {
        status = keep_rows(feed, &first, &lsn, &err);
    }
    if (status != SF_OK) {
        note_failure(feed, &err);
        sf_poll_reset(&feed->poll);
        return SF_RUN_IDLE;
    }
    sf_buf_clear(&feed->position);
    sf_buf_put(&feed->position, feed->poll.position.data, feed->poll.position.len);
    if (feed->poll.batches.len > 0) {
        if (feed->journal)
            sf_feed_sync_soon(feed);
        sf_feed_announce(feed, feed->poll.batches.data, (uint32_t)feed->poll.batches.len, first);
    }
    int64_t next_ns = feed->poll.next_mono_ns;
    sf_poll_reset(&feed->poll);
    pthread_mutex_lock(&feed->lock);
    feed->stats.next_run_ms = wall_of(feed, next_ns);
    pthread_mutex_unlock(&feed->lock);
    if (next_ns <= sf_runtime_mono_ns(feed->runtime))
        return SF_RUN_AGAIN;
    if (next_ns != INT64_MAX)
        sf_timer_set(&feed->timer, next_ns);
    return SF_RUN_IDLE;
}

static void poll_now(void *arg)
{
    sf_feed *feed = arg;
    feed->poll_error = (sf_error){0};
    feed->poll_status = open_source(feed, &feed->poll_error);
    if (feed->poll_status == SF_OK)
        feed->poll_status = sf_source_poll(feed->source, POLL_ROWS, &feed->poll, &feed->poll_error);
}

static void poll_done(void *arg)
{
    sf_feed *feed = arg;
    pthread_mutex_lock(&feed->lock);
    sf_actor_wake(&feed->driver); /* under the lock: who waits for the end may free the feed */
    feed->polling = false;
    pthread_cond_broadcast(&feed->polled);
    pthread_mutex_unlock(&feed->lock);
}

/* The runs of a driver alternate: a poll is started, and what it brought is taken. */
static sf_run drive(void *self, sf_actor *actor)
{
    SF_UNUSED(actor);
    sf_feed *feed = self;
    pthread_mutex_lock(&feed->lock);
    bool polling = feed->polling, full = sf_feed_full(feed), polled = feed->poll.next_mono_ns != 0;
    pthread_mutex_unlock(&feed->lock);
    if (polling)
        return SF_RUN_IDLE;
    if (feed->kind->blocks && (polled || feed->poll_status != SF_OK)) {
        sf_run run = take_poll(feed);
        feed->poll_status = SF_OK;
        return run;
    }
    if (full) {
        sf_timer_set(&feed->timer, sf_runtime_mono_ns(feed->runtime) + FULL_RETRY_NS);
        return SF_RUN_IDLE;
    }
    if (!feed->kind->blocks) {
        poll_now(feed);
        sf_run run = take_poll(feed);
        feed->poll_status = SF_OK;
        return run;
    }
    pthread_mutex_lock(&feed->lock);
    feed->polling = true;
    pthread_mutex_unlock(&feed->lock);
    if (!sf_blocking_submit(feed->runtime->options.pool, poll_now, poll_done, feed)) {
        pthread_mutex_lock(&feed->lock);
        feed->polling = false;
        pthread_mutex_unlock(&feed->lock);
        sf_timer_set(&feed->timer, sf_runtime_mono_ns(feed->runtime) + FULL_RETRY_NS);
    }
    return SF_RUN_IDLE;
}

/* A timer's wake must not poll before its time when something else wakes the driver: sources answer
 * an early poll with no rows and the same next time. */
sf_status sf_driver_start(sf_feed *feed, sf_error *err)
{
    SF_UNUSED(err);
    if (!feed->kind->open || !feed->enabled || feed->driven)
        return SF_OK;
    sf_actor_init(&feed->driver, feed->runtime->options.pool, drive, feed);
    sf_timer_init_wake(&feed->timer, &feed->driver);
    pthread_mutex_lock(&feed->lock);
    feed->driven = true;
    pthread_mutex_unlock(&feed->lock);
    sf_actor_wake(&feed->driver);
    return SF_OK;
}

void sf_driver_stop(sf_feed *feed)
{
    if (!feed->driven)
        return;
    pthread_mutex_lock(&feed->lock);
    feed->driven = false;
    pthread_mutex_unlock(&feed->lock);
    sf_timer_cancel(&feed->timer);
    sf_actor_stop(&feed->driver);
    sf_timer_cancel(&feed->timer); /* the last run may have set it */
    pthread_mutex_lock(&feed->lock);
    while (feed->polling) /* its end wakes the stopped actor, which does nothing */
        pthread_cond_wait(&feed->polled, &feed->lock);
    pthread_mutex_unlock(&feed->lock);
    sf_source_close(feed->source);
    feed->source = NULL;
    sf_poll_deinit(&feed->poll);
    feed->poll = (sf_poll){0};
}

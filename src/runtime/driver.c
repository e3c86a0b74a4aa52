/* Drivers: polling the sources that are not pushed. A driver is a part of its feed's actor. */
#include "runtime/internal.h"

enum { POLL_ROWS = 4096 };

static int64_t wall_of(const sf_feed *feed, int64_t mono_ns)
{
    if (mono_ns == INT64_MAX)
        return 0;
    int64_t ahead_ns = mono_ns - sf_runtime_mono_ns(feed->runtime);
    return sf_runtime_wall_ms(feed->runtime) + ahead_ns / 1000000;
}

/* ---- keeping what a poll has brought ---- */

/* The place of a poll stands for all of its rows: in a journal they are one entry, so that a crash
 * leaves both or neither. */
static sf_status one_batch(const sf_feed *feed, sf_batch **out, sf_error *err)
{
    size_t count = feed->poll.batches.len;
    sf_batch *const *batches = feed->poll.batches.data;
    *out = NULL;
    if (count == 1)
        *out = sf_batch_ref(batches[0]);
    else if (feed->poll.rows <= SF_BATCH_ROWS_MAX)
        *out = sf_batch_concat((const sf_batch *const *)batches, (uint32_t)count);
    else
        return sf_fail(err, SF_LIMIT, "a poll brought %llu rows, at most %d are kept as one",
                       (unsigned long long)feed->poll.rows, SF_BATCH_ROWS_MAX);
    return *out ? SF_OK : sf_fail_memory(err);
}

static sf_status keep_batch(sf_feed *feed, const sf_batch *batch, uint64_t *lsn, sf_error *err)
{
    sf_str place = sf_buf_str(&feed->poll.position);
    pthread_mutex_lock(&feed->lock);
    sf_status status = sf_feed_append(feed, batch, place, lsn, err);
    if (status == SF_OVERLOADED) { /* the journal's buffer is full */
        pthread_mutex_unlock(&feed->lock);
        status = sf_journal_sync(feed->journal, err);
        pthread_mutex_lock(&feed->lock);
        if (status == SF_OK)
            status = sf_feed_append(feed, batch, place, lsn, err);
    }
    if (status == SF_OK)
        sf_feed_announce(feed);
    pthread_mutex_unlock(&feed->lock);
    return status;
}

static sf_status keep_rows(sf_feed *feed, uint64_t *lsn, sf_error *err)
{
    size_t count = feed->poll.batches.len;
    if (count == 0)
        return SF_OK;
    if (feed->journal) {
        sf_batch *batch;
        SF_TRY(one_batch(feed, &batch, err));
        sf_status status = keep_batch(feed, batch, lsn, err);
        sf_batch_unref(batch);
        return status;
    }
    for (size_t i = 0; i < count; i++)
        SF_TRY(keep_batch(feed, feed->poll.batches.data[i], lsn, err));
    return SF_OK;
}

static void note_success(sf_feed *feed, int64_t next_ns)
{
    pthread_mutex_lock(&feed->lock);
    feed->stats.last_run_ms = sf_runtime_wall_ms(feed->runtime);
    feed->stats.ran = feed->stats.ok = true;
    feed->stats.consecutive_failures = 0;
    feed->stats.last_batch_rows = feed->poll.rows;
    feed->stats.coercion_failures_total += feed->poll.coercion_failures;
    feed->stats.malformed_total += feed->poll.malformed_rows;
    feed->stats.last_error[0] = '\0';
    if (feed->poll.first_error.row)
        memcpy(feed->stats.last_error, feed->poll.first_error.message,
               sizeof feed->poll.first_error.message);
    feed->stats.next_run_ms = wall_of(feed, next_ns);
    feed->caught_up = feed->poll.caught_up;
    sf_buf_clear(&feed->position);
    sf_buf_put(&feed->position, feed->poll.position.data, feed->poll.position.len);
    feed->next_poll_ns = next_ns;
    pthread_mutex_unlock(&feed->lock);
}

static void note_failure(sf_feed *feed, const sf_error *err)
{
    pthread_mutex_lock(&feed->lock);
    uint32_t failures = ++feed->stats.consecutive_failures;
    pthread_mutex_unlock(&feed->lock);
    int64_t retry_ns = feed->source
                           ? sf_source_retry_ns(feed->source, failures)
                           : sf_runtime_mono_ns(feed->runtime) + sf_backoff_ms(failures) * 1000000;
    sf_log_write(feed->runtime->options.port.log, SF_LOG_WARN, "source", "\"%s\": %s", feed->name,
                 err->message);
    pthread_mutex_lock(&feed->lock);
    feed->stats.ran = true;
    feed->stats.ok = false;
    feed->stats.last_run_ms = sf_runtime_wall_ms(feed->runtime);
    memcpy(feed->stats.last_error, err->message, sizeof feed->stats.last_error);
    feed->stats.next_run_ms = wall_of(feed, retry_ns);
    feed->caught_up = false;
    feed->next_poll_ns = retry_ns;
    pthread_mutex_unlock(&feed->lock);
}

/* Rows that could not be kept are read again from the old place; fewer at once when they were too
 * many for one entry. */
static void give_back(sf_feed *feed, sf_status status, const sf_error *err)
{
    if (status != SF_LIMIT || feed->poll_rows <= 1) {
        note_failure(feed, err);
    } else {
        feed->poll_rows /= 2;
        pthread_mutex_lock(&feed->lock);
        feed->next_poll_ns = 0;
        pthread_mutex_unlock(&feed->lock);
    }
    sf_source_close(feed->source);
    feed->source = NULL;
}

static sf_run take_poll(sf_feed *feed)
{
    uint64_t lsn = 0;
    sf_error err = feed->poll_error;
    if (feed->poll_status != SF_OK) {
        note_failure(feed, &err);
    } else {
        sf_status status = keep_rows(feed, &lsn, &err);
        if (status != SF_OK)
            give_back(feed, status, &err);
        else
            note_success(feed, feed->poll.next_mono_ns);
    }
    if (feed->journal && lsn)
        sf_feed_sync_driven(feed, lsn);
    sf_poll_reset(&feed->poll);
    return feed->next_poll_ns <= sf_runtime_mono_ns(feed->runtime) ? SF_RUN_AGAIN : SF_RUN_IDLE;
}

/* ---- polling ---- */

static void poll_now(void *arg)
{
    sf_feed *feed = arg;
    feed->poll_error = (sf_error){0};
    feed->poll_status = SF_OK;
    if (!feed->source)
        feed->poll_status =
            sf_source_open(feed->kind, &feed->config, sf_buf_str(&feed->position),
                           &feed->runtime->options.port, &feed->source, &feed->poll_error);
    if (feed->poll_status == SF_OK)
        feed->poll_status =
            sf_source_poll(feed->source, feed->poll_rows, &feed->poll, &feed->poll_error);
}

static void poll_blocking(void *arg)
{
    sf_feed *feed = arg;
    poll_now(feed);
    pthread_mutex_lock(&feed->lock);
    feed->polling = false;
    feed->polled = true;
    sf_actor_wake(&feed->actor);
    pthread_cond_broadcast(&feed->changed);
    pthread_mutex_unlock(&feed->lock);
}

static sf_run begin_poll(sf_feed *feed)
{
    if (!feed->kind->blocks) {
        poll_now(feed);
        return take_poll(feed);
    }
    pthread_mutex_lock(&feed->lock);
    feed->polling = true;
    pthread_mutex_unlock(&feed->lock);
    if (sf_blocking_submit(feed->runtime->options.pool, poll_blocking, NULL, feed))
        return SF_RUN_IDLE;
    pthread_mutex_lock(&feed->lock);
    feed->polling = false;
    feed->next_poll_ns = sf_runtime_mono_ns(feed->runtime) + SF_FEED_RETRY_NS;
    pthread_mutex_unlock(&feed->lock);
    return SF_RUN_IDLE;
}

/* Something else than its timer may have woken the actor: it never polls before the time, which
 * sources would answer with no rows and the same time. */
sf_run sf_driver_run(sf_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    bool drive = feed->driven && !feed->polling, polled = feed->polled;
    bool early = sf_runtime_mono_ns(feed->runtime) < feed->next_poll_ns;
    feed->want_room = drive && !polled && sf_feed_full(feed);
    bool idle = !polled && (feed->want_room || early);
    feed->driving = drive && !idle;
    if (feed->driving)
        feed->polled = false;
    pthread_mutex_unlock(&feed->lock);
    if (!drive || idle)
        return SF_RUN_IDLE;
    sf_run run = polled ? take_poll(feed) : begin_poll(feed);
    pthread_mutex_lock(&feed->lock);
    feed->driving = false;
    pthread_cond_broadcast(&feed->changed);
    pthread_mutex_unlock(&feed->lock);
    return run;
}

/* ---- life ---- */

void sf_driver_start(sf_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    if (feed->kind->open && feed->enabled && !feed->driven) {
        feed->driven = true;
        feed->next_poll_ns = 0;
        feed->poll_rows = POLL_ROWS;
        sf_actor_wake(&feed->actor);
    }
    pthread_mutex_unlock(&feed->lock);
}

void sf_driver_stop(sf_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    feed->driven = feed->caught_up = feed->want_room = false;
    while (feed->driving || feed->polling)
        pthread_cond_wait(&feed->changed, &feed->lock);
    feed->polled = false;
    pthread_mutex_unlock(&feed->lock);
    sf_source_close(feed->source);
    feed->source = NULL;
    sf_poll_deinit(&feed->poll);
    feed->poll = (sf_poll){0};
}

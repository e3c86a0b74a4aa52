/* Rows pushed by clients: room, the log, the answer. */
#include "runtime/internal.h"

enum { RETRY_MS = 1000 };

/* A push that has been admitted and waits for its journal, or (policy Block) for room. */
struct sf_push {
    sf_feed *feed;
    sf_push_done done;
    void *arg;
    sf_push_result result;
    sf_journal_waiter waiter;
    /* waiting for room */
    sf_push *next;
    sf_batch **batches;
    uint32_t batch_count;
    uint64_t rows;
    int64_t deadline_ns;
};

static void free_push(sf_push *push)
{
    for (uint32_t i = 0; push->batches && i < push->batch_count; i++)
        sf_batch_unref(push->batches[i]);
    sf_free(push->batches);
    sf_free(push);
}

static void durable(sf_journal_waiter *waiter, sf_status status, const sf_error *err)
{
    sf_push *push = waiter->arg;
    push->done(push->arg, &push->result, status == SF_OK ? NULL : err);
    free_push(push);
}

/* Appends all rows and arranges the answer. Lock held on entry, released here. */
static sf_status admit(sf_feed *feed, sf_push *push, sf_batch *const *batches, uint32_t count,
                       sf_error *err)
{
    uint64_t first = feed->end, lsn = 0;
    sf_status status = SF_OK;
    uint32_t kept = 0;
    for (; kept < count && status == SF_OK; kept++)
        status = sf_feed_append(feed, batches[kept], (sf_str){0}, &lsn, err);
    if (status == SF_OK) {
        push->result.accepted = feed->end - first;
        push->result.depth_rows = sf_feed_depth(feed);
        push->result.capacity_rows = (uint64_t)feed->ingest.capacity_rows;
        push->result.durable = feed->journal != NULL;
        feed->stats.pushed_total += push->result.accepted;
        feed->stats.dropped_total += push->result.dropped;
        feed->stats.last_push_ms = sf_runtime_wall_ms(feed->runtime);
    }
    sf_feed_trim(feed);
    pthread_mutex_unlock(&feed->lock);
    if (status != SF_OK) {
        /* Rows already appended stay: they were never acknowledged, the caller may push again. */
        sf_feed_announce(feed, batches, kept ? kept - 1 : 0, first);
        return status;
    }
    sf_feed_announce(feed, batches, count, first);
    if (!feed->journal) {
        push->done(push->arg, &push->result, NULL);
        free_push(push);
        return SF_OK;
    }
    push->waiter = (sf_journal_waiter){.done = durable, .arg = push};
    if (sf_journal_notify(feed->journal, lsn, &push->waiter))
        sf_feed_sync_soon(feed);
    return SF_OK;
}

static uint64_t rows_of(sf_batch *const *batches, uint32_t count)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < count; i++)
        rows += batches[i]->rows;
    return rows;
}

/* LATEST BY is the only reader that knows what to do with _retract. Runtime's lock held. */
static const char *reader_without_latest(const sf_runtime *runtime, const char *source, bool *any)
{
    *any = false;
    for (size_t q = 0; q < runtime->queries.len; q++) {
        const sf_plan *plan = runtime->queries.data[q]->plan;
        bool reads = false, latest = false;
        for (size_t i = 0; i < plan->inputs.len; i++)
            reads |= plan->inputs.data[i].kind == SF_INPUT_SOURCE &&
                     strcmp(plan->inputs.data[i].name, source) == 0;
        for (size_t n = 0; n < plan->nodes.len; n++)
            latest |= plan->nodes.data[n]->kind == SF_NODE_LATEST &&
                      plan->nodes.data[n]->as.latest.retract_column >= 0;
        *any |= reads;
        if (reads && !latest)
            return runtime->queries.data[q]->name;
    }
    return NULL;
}

static sf_status check_retract(sf_runtime *runtime, const char *name, sf_error *err)
{
    bool any;
    const char *reader = reader_without_latest(runtime, name, &any);
    if (any && !reader)
        return SF_OK;
    if (reader)
        sf_fail(err, SF_INVALID,
                "\"_retract\" means nothing to \"%s\", which reads \"%s\" without "
                "LATEST BY",
                reader, name);
    else
        sf_fail(err, SF_INVALID,
                "\"_retract\" is refused: no running table reads \"%s\" with "
                "LATEST BY",
                name);
    sf_error_hint(err, "read the source with LATEST BY (key), or leave \"_retract\" out");
    return SF_INVALID;
}

static sf_status overloaded(sf_feed *feed, uint64_t depth, uint32_t *retry_ms, sf_error *err)
{
    *retry_ms = RETRY_MS;
    sf_fail(err, SF_OVERLOADED, "source \"%s\" holds %llu of %lld rows that are not yet processed",
            feed->name, (unsigned long long)depth, (long long)feed->ingest.capacity_rows);
    sf_error_hint(err, "push again later");
    return SF_OVERLOADED;
}

/* Keeps a push of policy Block until there is room. Lock held. */
static sf_status wait_for_room(sf_feed *feed, sf_push *push, sf_batch *const *batches,
                               uint32_t count, sf_error *err)
{
    push->batches = sf_calloc(count + 1u, sizeof *push->batches);
    if (!push->batches)
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < count; i++)
        push->batches[i] = sf_batch_ref(batches[i]);
    push->batch_count = count;
    push->deadline_ns = sf_runtime_mono_ns(feed->runtime) + feed->ingest.max_wait_ms * 1000000;
    if (feed->waiting_last)
        feed->waiting_last->next = push;
    else
        feed->waiting = push;
    feed->waiting_last = push;
    return SF_OK;
}

/* Drops what does not fit (DropNewest): how many of the batches' rows to take. */
static uint32_t cut_to_fit(sf_push *push, sf_batch *const *batches, uint32_t count, uint64_t room,
                           sf_batch **cut)
{
    uint64_t taken = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t rows = batches[i]->rows;
        if (taken + rows <= room) {
            cut[i] = sf_batch_ref(batches[i]);
            taken += rows;
            continue;
        }
        uint32_t part = (uint32_t)(room - taken);
        push->result.dropped = push->rows - room;
        cut[i] = part ? sf_batch_slice(batches[i], 0, part) : NULL;
        return cut[i] ? i + 1 : i;
    }
    return count;
}

static sf_status push_what_fits(sf_feed *feed, sf_push *push, sf_batch *const *batches,
                                uint32_t count, uint64_t room, sf_error *err)
{
    sf_batch **cut = sf_calloc(count + 1u, sizeof *cut);
    if (!cut) {
        pthread_mutex_unlock(&feed->lock);
        return sf_fail_memory(err);
    }
    uint32_t kept = cut_to_fit(push, batches, count, room, cut);
    sf_status status = admit(feed, push, cut, kept, err);
    for (uint32_t i = 0; i < kept; i++)
        sf_batch_unref(cut[i]);
    sf_free(cut);
    return status;
}

/* Room is counted in rows that some running query has still to read. */
static sf_status push_by_policy(sf_feed *feed, sf_push *push, sf_batch *const *batches,
                                uint32_t count, uint32_t *retry_ms, sf_error *err)
{
    pthread_mutex_lock(&feed->lock);
    uint64_t depth = sf_feed_depth(feed), capacity = (uint64_t)feed->ingest.capacity_rows;
    uint64_t room = depth < capacity ? capacity - depth : 0;
    bool fits = push->rows <= room && !(sf_feed_full(feed) && !feed->journal);
    switch ((sf_ingest_policy)feed->ingest.policy) {
    case SF_INGEST_DROP_OLDEST: /* with a journal nothing need be dropped: it is the buffer */
    case SF_INGEST_INLINE: return admit(feed, push, batches, count, err);
    case SF_INGEST_DROP_NEWEST:
        return fits ? admit(feed, push, batches, count, err)
                    : push_what_fits(feed, push, batches, count, room, err);
    case SF_INGEST_BLOCK:
    case SF_INGEST_REJECT: break;
    }
    if (fits && !feed->waiting)
        return admit(feed, push, batches, count, err);
    sf_status status;
    if (feed->ingest.policy == SF_INGEST_BLOCK && push->rows <= capacity) {
        status = wait_for_room(feed, push, batches, count, err);
    } else {
        feed->stats.rejected_total += push->rows;
        status = overloaded(feed, depth, retry_ms, err);
    }
    pthread_mutex_unlock(&feed->lock);
    return status;
}

sf_status sf_runtime_push(sf_runtime *runtime, const char *name, sf_batch *const *batches,
                          uint32_t batch_count, bool has_retract, sf_push_done done, void *arg,
                          uint32_t *retry_ms, sf_error *err)
{
    pthread_mutex_lock(&runtime->lock);
    sf_feed *feed = sf_runtime_feed(runtime, name);
    sf_status status = SF_OK;
    if (!feed)
        status = sf_fail(err, SF_NOT_FOUND, "there is no source \"%s\"", name);
    else if (feed->kind->open)
        status =
            sf_fail(err, SF_CONFLICT, "source \"%s\" is of kind %s, which takes no pushed rows",
                    name, feed->kind->name);
    else if (has_retract)
        status = check_retract(runtime, name, err);
    sf_push *push = status == SF_OK ? sf_calloc(1, sizeof *push) : NULL;
    if (status == SF_OK && !push)
        status = sf_fail_memory(err);
    if (status == SF_OK) {
        push->feed = feed;
        push->done = done;
        push->arg = arg;
        push->rows = rows_of(batches, batch_count);
        status = push_by_policy(feed, push, batches, batch_count, retry_ms, err);
        if (status != SF_OK)
            free_push(push);
    }
    pthread_mutex_unlock(&runtime->lock);
    return status;
}

/* Admits pushes that wait, in order, as far as there is room; answers those whose time is over. */
void sf_push_retry_waiting(sf_feed *feed)
{
    for (;;) {
        pthread_mutex_lock(&feed->lock);
        sf_push *push = feed->waiting;
        uint64_t depth = sf_feed_depth(feed), capacity = (uint64_t)feed->ingest.capacity_rows;
        bool fits = push && depth + push->rows <= capacity;
        bool late = push && !fits && sf_runtime_mono_ns(feed->runtime) >= push->deadline_ns;
        if (!fits && !late) {
            pthread_mutex_unlock(&feed->lock);
            return;
        }
        feed->waiting = push->next;
        if (!feed->waiting)
            feed->waiting_last = NULL;
        sf_error err = {0};
        sf_status status;
        if (fits) {
            status = admit(feed, push, push->batches, push->batch_count, &err);
        } else {
            uint32_t retry_ms;
            feed->stats.rejected_total += push->rows;
            status = overloaded(feed, depth, &retry_ms, &err);
            pthread_mutex_unlock(&feed->lock);
        }
        if (status != SF_OK) {
            push->done(push->arg, &push->result, &err);
            free_push(push);
        }
    }
}

void sf_runtime_count_push(sf_runtime *runtime, const char *name, uint64_t invalid,
                           uint64_t duplicate, uint64_t rejected)
{
    pthread_mutex_lock(&runtime->lock);
    sf_feed *feed = sf_runtime_feed(runtime, name);
    if (feed) {
        pthread_mutex_lock(&feed->lock);
        feed->stats.invalid_total += invalid;
        feed->stats.duplicate_total += duplicate;
        feed->stats.rejected_total += rejected;
        pthread_mutex_unlock(&feed->lock);
    }
    pthread_mutex_unlock(&runtime->lock);
}

/* Rows pushed by clients: room, the log, the answer. */
#include "runtime/internal.h"

enum {
    RETRY_MS = 1000,
    JOIN_BYTES = 16 << 20, /* of batches that become one entry of the log */
};

/* A push that waits for room (Block), for its journal, or for all who read (Inline). */
struct sf_push {
    sf_feed *feed;
    sf_push_done done;
    void *arg;
    sf_push_result result;
    sf_journal_waiter waiter;
    uint64_t rows;
    sf_push *next;
    /* waiting for room */
    sf_batch **batches;
    uint32_t batch_count;
    int64_t deadline_ns;
    /* waiting for readers; under the feed's lock */
    uint64_t until;
    bool durable;
    sf_error error; /* of the journal; status not SF_OK: it failed */
};

static void free_push(sf_push *push)
{
    for (uint32_t i = 0; push->batches && i < push->batch_count; i++)
        sf_batch_unref(push->batches[i]);
    sf_free(push->batches);
    sf_free(push);
}

static void answer(sf_push *push, const sf_error *err)
{
    push->done(push->arg, &push->result, err);
    free_push(push);
}

static void list_add(sf_push_list *list, sf_push *push)
{
    push->next = NULL;
    if (list->last)
        list->last->next = push;
    else
        list->first = push;
    list->last = push;
    list->rows += push->rows;
}

static sf_push *list_take(sf_push_list *list)
{
    sf_push *push = list->first;
    list->first = push->next;
    if (!list->first)
        list->last = NULL;
    list->rows -= push->rows;
    return push;
}

/* ---- into the log ---- */

typedef struct {
    SF_VEC(sf_batch *) list;
} entries;

static void entries_deinit(entries *all)
{
    for (size_t i = 0; i < all->list.len; i++)
        sf_batch_unref(all->list.data[i]);
    SF_VEC_DEINIT(&all->list);
}

/* Neighbouring batches become one, so that almost every push is a single entry: it is kept as a
 * whole or not at all, also by a crash. */
static sf_status join_batches(sf_batch *const *batches, uint32_t count, entries *out, sf_error *err)
{
    for (uint32_t from = 0, to; from < count; from = to) {
        uint64_t rows = batches[from]->rows;
        size_t bytes = sf_batch_bytes(batches[from]);
        for (to = from + 1; to < count; to++) {
            rows += batches[to]->rows;
            bytes += sf_batch_bytes(batches[to]);
            if (rows > SF_BATCH_ROWS_MAX || bytes > JOIN_BYTES)
                break;
        }
        sf_batch *one = to == from + 1
                            ? sf_batch_ref(batches[from])
                            : sf_batch_concat((const sf_batch *const *)batches + from, to - from);
        if (!one || !SF_VEC_PUSH(&out->list, one)) {
            sf_batch_unref(one);
            return sf_fail_memory(err);
        }
    }
    return SF_OK;
}

/* Only the first of several entries may be refused for want of room. */
static sf_status append(sf_feed *feed, const sf_batch *batch, bool first, uint64_t *lsn,
                        sf_error *err)
{
    sf_status status = sf_feed_append(feed, batch, (sf_str){0}, lsn, err);
    if (status != SF_OVERLOADED || first)
        return status;
    SF_TRY(sf_journal_sync(feed->journal, err));
    return sf_feed_append(feed, batch, (sf_str){0}, lsn, err);
}

/* Appends all rows. Lock held. */
static sf_status admit(sf_feed *feed, sf_push *push, sf_batch *const *batches, uint32_t count,
                       uint64_t *lsn, sf_error *err)
{
    entries all = {0};
    uint64_t first = feed->end;
    sf_status status = join_batches(batches, count, &all, err);
    for (size_t i = 0; i < all.list.len && status == SF_OK; i++)
        if (all.list.data[i]->rows > 0)
            status = append(feed, all.list.data[i], feed->end == first, lsn, err);
    entries_deinit(&all);
    uint64_t kept = feed->end - first;
    if (status == SF_OK) {
        push->until = feed->end;
        push->result.accepted = kept;
        push->result.durable = feed->journal != NULL;
        push->result.capacity_rows = (uint64_t)feed->ingest.capacity_rows;
        feed->stats.pushed_total += kept;
        feed->stats.dropped_total += push->result.dropped;
        feed->stats.last_push_ms = sf_runtime_wall_ms(feed->runtime);
        if (feed->ingest.policy == SF_INGEST_DROP_OLDEST && !feed->journal)
            sf_feed_evict(feed, (uint64_t)feed->ingest.capacity_rows);
        push->result.depth_rows = sf_feed_depth(feed);
        if (feed->ingest.policy == SF_INGEST_INLINE && kept > 0) {
            push->durable = !feed->journal;
            list_add(&feed->unread, push);
            if (push->result.depth_rows == 0)
                sf_actor_wake(&feed->actor);
        } else {
            push->until = 0;
        }
    }
    if (kept > 0)
        sf_feed_announce(feed);
    return status;
}

/* ---- the answer ---- */

static void durable(sf_journal_waiter *waiter, sf_status status, const sf_error *err)
{
    answer(waiter->arg, status == SF_OK ? NULL : err);
}

static void durable_unread(sf_journal_waiter *waiter, sf_status status, const sf_error *err)
{
    sf_push *push = waiter->arg;
    sf_feed *feed = push->feed;
    pthread_mutex_lock(&feed->lock);
    push->durable = true;
    if (status != SF_OK)
        push->error = *err;
    sf_actor_wake(&feed->actor);
    pthread_mutex_unlock(&feed->lock);
}

/* An admitted push is answered when it is as durable as promised. Without locks. */
static void answer_in_time(sf_feed *feed, sf_push *push, bool unread, uint64_t lsn)
{
    if (!feed->journal || lsn == 0) {
        if (!unread)
            answer(push, NULL);
        return;
    }
    push->waiter = (sf_journal_waiter){.done = unread ? durable_unread : durable, .arg = push};
    if (sf_journal_notify(feed->journal, lsn, &push->waiter))
        sf_feed_sync_soon(feed);
}

/* ---- policies ---- */

static sf_status overloaded(sf_feed *feed, const sf_push *push, uint64_t depth, uint32_t *retry_ms,
                            sf_error *err)
{
    *retry_ms = RETRY_MS;
    feed->stats.rejected_total += push->rows;
    if (push->rows > (uint64_t)feed->ingest.capacity_rows) {
        sf_fail(err, SF_OVERLOADED, "%llu rows are more than source \"%s\" ever holds, %lld",
                (unsigned long long)push->rows, feed->name, (long long)feed->ingest.capacity_rows);
        sf_error_hint(err, "push fewer rows at once");
    } else {
        sf_fail(err, SF_OVERLOADED,
                "source \"%s\" holds %llu of %lld rows that are not yet processed", feed->name,
                (unsigned long long)depth, (long long)feed->ingest.capacity_rows);
        sf_error_hint(err, "push again later");
    }
    return SF_OVERLOADED;
}

/* Those that wait are bounded like the log itself. Lock held. */
static bool may_wait(const sf_feed *feed, const sf_push *push)
{
    uint64_t capacity = (uint64_t)feed->ingest.capacity_rows;
    return feed->ingest.policy == SF_INGEST_BLOCK && push->rows <= capacity &&
           feed->waiting.rows + push->rows <= capacity;
}

static sf_status wait_for_room(sf_feed *feed, sf_push *push, sf_batch *const *batches,
                               uint32_t count, sf_error *err)
{
    push->batches = sf_calloc(count + 1u, sizeof *push->batches);
    if (!push->batches)
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < count; i++)
        push->batches[i] = sf_batch_ref(batches[i]);
    push->batch_count = count;
    push->deadline_ns =
        sf_sat_add(sf_runtime_mono_ns(feed->runtime), feed->ingest.max_wait_ms * 1000000);
    list_add(&feed->waiting, push);
    sf_actor_wake(&feed->actor); /* it minds the deadline */
    return SF_OK;
}

/* Takes the first rows, as many as fit (DropNewest). */
static sf_status admit_part(sf_feed *feed, sf_push *push, sf_batch *const *batches, uint32_t count,
                            uint64_t room, uint64_t *lsn, sf_error *err)
{
    sf_batch **cut = sf_calloc(count + 1u, sizeof *cut);
    if (!cut)
        return sf_fail_memory(err);
    uint32_t kept = 0;
    sf_status status = SF_OK;
    uint64_t left = room < push->rows ? room : push->rows;
    push->result.dropped = push->rows - left;
    for (; left > 0 && status == SF_OK; kept++) {
        uint32_t part = batches[kept]->rows < left ? batches[kept]->rows : (uint32_t)left;
        cut[kept] = sf_batch_slice(batches[kept], 0, part);
        status = cut[kept] ? SF_OK : sf_fail_memory(err);
        left -= part;
    }
    if (status == SF_OK)
        status = admit(feed, push, cut, kept, lsn, err);
    for (uint32_t i = 0; i < kept; i++)
        sf_batch_unref(cut[i]);
    sf_free(cut);
    return status;
}

/* Room is counted in rows that some running query has still to read. Lock held. */
static uint64_t room_of(const sf_feed *feed)
{
    uint64_t depth = sf_feed_depth(feed), capacity = (uint64_t)feed->ingest.capacity_rows;
    if (sf_feed_full(feed) && !feed->journal)
        return 0;
    return depth < capacity ? capacity - depth : 0;
}

/* *waits: the push was queued and is answered later. Lock held. */
static sf_status push_by_policy(sf_feed *feed, sf_push *push, sf_batch *const *batches,
                                uint32_t count, bool *waits, uint64_t *lsn, uint32_t *retry_ms,
                                sf_error *err)
{
    uint64_t room = room_of(feed);
    sf_status status = SF_OVERLOADED;
    switch ((sf_ingest_policy)feed->ingest.policy) {
    case SF_INGEST_DROP_OLDEST: /* with a journal nothing need be dropped: it is the buffer */
        status = admit(feed, push, batches, count, lsn, err);
        break;
    case SF_INGEST_INLINE: /* no buffer but the log itself */
        if (feed->journal || !sf_feed_full(feed))
            status = admit(feed, push, batches, count, lsn, err);
        break;
    case SF_INGEST_DROP_NEWEST:
        status = admit_part(feed, push, batches, count, room, lsn, err);
        break;
    case SF_INGEST_BLOCK:
    case SF_INGEST_REJECT:
        if (push->rows <= room && !feed->waiting.first)
            status = admit(feed, push, batches, count, lsn, err);
        break;
    }
    if (status != SF_OVERLOADED)
        return status;
    *waits = may_wait(feed, push);
    return *waits ? wait_for_room(feed, push, batches, count, err)
                  : overloaded(feed, push, sf_feed_depth(feed), retry_ms, err);
}

/* ---- retractions ---- */

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
    pthread_mutex_lock(&runtime->lock);
    const char *reader = reader_without_latest(runtime, name, &any);
    if (reader)
        sf_fail(err, SF_INVALID,
                "\"_retract\" means nothing to \"%s\", which reads \"%s\" without LATEST BY",
                reader, name);
    pthread_mutex_unlock(&runtime->lock);
    if (any && !reader)
        return SF_OK;
    if (!reader)
        sf_fail(err, SF_INVALID,
                "\"_retract\" is refused: no running table reads \"%s\" with LATEST BY", name);
    sf_error_hint(err, "read the source with LATEST BY (key), or leave \"_retract\" out");
    return SF_INVALID;
}

/* ---- the door ---- */

static uint64_t rows_of(sf_batch *const *batches, uint32_t count)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < count; i++)
        rows += batches[i]->rows;
    return rows;
}

static sf_status push_pinned(sf_feed *feed, sf_push *push, sf_batch *const *batches, uint32_t count,
                             uint32_t *retry_ms, sf_error *err)
{
    uint64_t lsn = 0;
    bool waits = false;
    pthread_mutex_lock(&feed->lock);
    sf_status status = push_by_policy(feed, push, batches, count, &waits, &lsn, retry_ms, err);
    bool unread = push->until > 0;
    pthread_mutex_unlock(&feed->lock);
    if (status == SF_OK && !waits)
        answer_in_time(feed, push, unread, lsn);
    return status;
}

sf_status sf_runtime_push(sf_runtime *runtime, const char *name, sf_batch *const *batches,
                          uint32_t batch_count, bool has_retract, sf_push_done done, void *arg,
                          uint32_t *retry_ms, sf_error *err)
{
    sf_feed *feed = sf_feed_pin(runtime, name);
    if (!feed)
        return sf_fail(err, SF_NOT_FOUND, "there is no source \"%s\"", name);
    sf_status status = SF_OK;
    if (feed->kind->open)
        status =
            sf_fail(err, SF_CONFLICT, "source \"%s\" is of kind %s, which takes no pushed rows",
                    name, feed->kind->name);
    else if (has_retract)
        status = check_retract(runtime, name, err);
    sf_push *push = status == SF_OK ? sf_calloc(1, sizeof *push) : NULL;
    if (status == SF_OK && !push)
        status = sf_fail_memory(err);
    if (push) {
        push->feed = feed;
        push->done = done;
        push->arg = arg;
        push->rows = rows_of(batches, batch_count);
        status = push_pinned(feed, push, batches, batch_count, retry_ms, err);
        if (status != SF_OK)
            free_push(push);
    }
    sf_feed_unpin(feed);
    return status;
}

/* ---- those that wait ---- */

/* The first of those that wait for room is admitted or has waited too long; false: neither. */
static bool settle_waiting(sf_feed *feed)
{
    uint64_t lsn = 0;
    sf_error err = {0};
    sf_status status = SF_OK;
    pthread_mutex_lock(&feed->lock);
    sf_push *push = feed->waiting.first;
    bool fits = push && push->rows <= room_of(feed);
    bool late = push && sf_runtime_mono_ns(feed->runtime) >= push->deadline_ns;
    if (fits)
        status = admit(feed, push, push->batches, push->batch_count, &lsn, &err);
    if (status == SF_OVERLOADED) /* the journal's buffer is full: the end of its sync wakes */
        fits = false;
    if (!fits && late) {
        uint32_t retry_ms;
        status = overloaded(feed, push, sf_feed_depth(feed), &retry_ms, &err);
    }
    bool ends = fits || late;
    if (ends)
        list_take(&feed->waiting);
    bool unread = ends && push->until > 0;
    pthread_mutex_unlock(&feed->lock);
    if (!ends)
        return false;
    if (status == SF_OK)
        answer_in_time(feed, push, unread, lsn);
    else
        answer(push, &err);
    return true;
}

static bool settle_unread(sf_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    sf_push *push = feed->unread.first;
    bool read = push && push->until <= feed->end - sf_feed_depth(feed);
    bool ends = push && push->durable && (read || push->error.status != SF_OK);
    if (ends)
        list_take(&feed->unread);
    pthread_mutex_unlock(&feed->lock);
    if (ends)
        answer(push, push->error.status != SF_OK ? &push->error : NULL);
    return ends;
}

int64_t sf_push_settle(sf_feed *feed)
{
    while (settle_waiting(feed))
        continue;
    while (settle_unread(feed))
        continue;
    int64_t deadline_ns = INT64_MAX;
    pthread_mutex_lock(&feed->lock);
    if (feed->waiting.first)
        deadline_ns = feed->waiting.first->deadline_ns;
    pthread_mutex_unlock(&feed->lock);
    return deadline_ns;
}

void sf_push_end(sf_feed *feed)
{
    sf_error err;
    sf_fail(&err, SF_UNAVAILABLE, "source \"%s\" has ended", feed->name ? feed->name : "");
    while (feed->waiting.first)
        answer(list_take(&feed->waiting), &err);
    while (feed->unread.first) {
        sf_push *push = list_take(&feed->unread);
        answer(push, push->error.status != SF_OK ? &push->error : NULL);
    }
}

void sf_runtime_count_push(sf_runtime *runtime, const char *name, uint64_t invalid,
                           uint64_t duplicate, uint64_t rejected)
{
    sf_feed *feed = sf_feed_pin(runtime, name);
    if (!feed)
        return;
    pthread_mutex_lock(&feed->lock);
    feed->stats.invalid_total += invalid;
    feed->stats.duplicate_total += duplicate;
    feed->stats.rejected_total += rejected;
    pthread_mutex_unlock(&feed->lock);
    sf_feed_unpin(feed);
}

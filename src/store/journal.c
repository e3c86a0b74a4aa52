/* Appending to a journal, group commit, retention. */
#include "store/journal.h"

enum {
    SEGMENT_BYTES = 64 * 1024 * 1024,
    BUFFER_BYTES = 16 * 1024 * 1024,
    KEPT_BYTES = 1024 * 1024, /* of a buffer that a burst made larger */
};
#define SEGMENT_BYTES_MAX ((uint64_t)1 << 30)
#define BUFFER_BYTES_MAX  ((size_t)1 << 30)
/* Offsets within a segment are kept in 32 bits: one batch may follow a segment that is almost full.
 */
_Static_assert(((uint64_t)1 << 30) * 2 + SF_JOURNAL_ENTRY_BYTES_MAX + SF_RECORD_HEADER_BYTES <
                   UINT32_MAX,
               "segment offsets fit 32 bits");

/* ---- open and close ---- */

static sf_status check_options(const sf_journal_options *given, sf_journal_options *out,
                               sf_error *err)
{
    *out = *given;
    if (out->segment_bytes == 0)
        out->segment_bytes = SEGMENT_BYTES;
    if (out->buffer_bytes == 0)
        out->buffer_bytes = BUFFER_BYTES;
    if (out->segment_bytes > SEGMENT_BYTES_MAX)
        return sf_fail(err, SF_INVALID, "a journal segment may have at most 1 GiB");
    if (out->buffer_bytes > BUFFER_BYTES_MAX)
        return sf_fail(err, SF_INVALID, "a journal buffer may have at most 1 GiB");
    if (out->retain_ms < 0)
        return sf_fail(err, SF_INVALID, "a journal cannot be kept for less than 0 ms");
    return SF_OK;
}

static void free_journal(sf_journal *journal)
{
    if (journal->file)
        journal->disk.close(journal->disk.self, journal->file);
    SF_VEC_DEINIT(&journal->segments);
    sf_buf_deinit(&journal->path);
    sf_buf_deinit(&journal->pending);
    sf_buf_deinit(&journal->writing);
    pthread_cond_destroy(&journal->synced);
    pthread_mutex_destroy(&journal->lock);
    sf_free(journal->dir);
    sf_free(journal);
}

sf_status sf_journal_open(const sf_disk *disk, const sf_clock *clock, const char *dir,
                          const sf_journal_options *options, sf_journal **out, sf_error *err)
{
    sf_journal_options checked;
    SF_TRY(check_options(options, &checked, err));
    sf_journal *journal = sf_calloc(1, sizeof *journal);
    char *copy = sf_strdup(dir);
    if (!journal || !copy) {
        sf_free(journal);
        sf_free(copy);
        return sf_fail_memory(err);
    }
    journal->disk = *disk;
    journal->clock = *clock;
    journal->dir = copy;
    journal->options = checked;
    journal->hold = UINT64_MAX;
    pthread_mutex_init(&journal->lock, NULL);
    pthread_cond_init(&journal->synced, NULL);
    sf_status status = sf_journal_recover(journal, err);
    if (status != SF_OK) {
        free_journal(journal);
        return status;
    }
    *out = journal;
    return SF_OK;
}

/* ---- appending ---- */

static sf_status check_entry(const sf_journal *journal, const sf_entry *entry, sf_error *err)
{
    if (entry->payload.len > SF_JOURNAL_ENTRY_BYTES_MAX)
        return sf_fail(err, SF_LIMIT, "a journal entry of %zu bytes is longer than the %d allowed",
                       entry->payload.len, SF_JOURNAL_ENTRY_BYTES_MAX);
    if (entry->kind == SF_ENTRY_ROWS && entry->count == 0)
        return sf_fail(err, SF_INVALID, "a journal entry of rows has none");
    if (!journal->empty && entry->first_position != journal->next_position)
        return sf_fail(err, SF_INVALID,
                       "a journal entry starts at position %llu, but the journal \"%s\" goes on at "
                       "%llu",
                       (unsigned long long)entry->first_position, journal->dir,
                       (unsigned long long)journal->next_position);
    if (entry->count > UINT64_MAX - entry->first_position)
        return sf_fail(err, SF_INVALID, "a journal entry's positions overflow");
    size_t size = SF_RECORD_HEADER_BYTES + entry->payload.len;
    if (journal->pending.len > 0 && journal->pending.len + size > journal->options.buffer_bytes)
        return sf_fail(err, SF_OVERLOADED, "the buffer of the journal \"%s\" is full",
                       journal->dir);
    return SF_OK;
}

static sf_status append_locked(sf_journal *journal, const sf_entry *entry, uint64_t *lsn,
                               sf_error *err)
{
    if (journal->failure.status != SF_OK) {
        if (err)
            *err = journal->failure;
        return journal->failure.status;
    }
    SF_TRY(check_entry(journal, entry, err));
    sf_entry stamped = *entry;
    if (stamped.wall_ms == 0)
        stamped.wall_ms = sf_clock_wall_ms(&journal->clock);
    size_t before = journal->pending.len;
    sf_record_encode(&journal->pending, &stamped);
    if (journal->pending.failed) {
        journal->pending.failed = false; /* what is in it is whole and stays */
        return sf_fail_memory(err);
    }
    if (before == 0)
        journal->pending_first = entry->first_position;
    if (journal->empty)
        journal->durable_position = entry->first_position;
    journal->empty = false;
    journal->next_position = entry->first_position + entry->count;
    *lsn = ++journal->appended_lsn;
    return SF_OK;
}

sf_status sf_journal_append(sf_journal *journal, const sf_entry *entry, uint64_t *lsn,
                            sf_error *err)
{
    pthread_mutex_lock(&journal->lock);
    sf_status status = append_locked(journal, entry, lsn, err);
    pthread_mutex_unlock(&journal->lock);
    return status;
}

/* ---- retention ---- */

static bool may_expire(const sf_journal *journal, int64_t now_ms)
{
    if (journal->segments.len < 2)
        return false;
    const sf_segment *next = &journal->segments.data[1]; /* starts where the oldest one ends */
    if (next->first_position > journal->hold)
        return false;
    uint64_t total = 0;
    for (size_t i = 0; i < journal->segments.len; i++)
        total += journal->segments.data[i].size_bytes;
    if (journal->options.retain_bytes && total > journal->options.retain_bytes)
        return true;
    return journal->options.retain_ms && next->created_ms < now_ms - journal->options.retain_ms;
}

/* One segment at a time: were two removals to wait for one sync, a crash could undo only the first,
 * and leave a hole. */
static sf_status remove_oldest(sf_journal *journal, sf_error *err)
{
    const sf_disk *disk = &journal->disk;
    if (journal->removal_unsynced)
        SF_TRY(disk->sync_dir(disk->self, journal->dir, err));
    journal->removal_unsynced = false;
    SF_TRY(sf_segment_path(journal->dir, journal->segments.data[0].number, &journal->path, err));
    SF_TRY(disk->remove(disk->self, journal->path.data, err));
    journal->segments.len--;
    memmove(journal->segments.data, journal->segments.data + 1,
            journal->segments.len * sizeof *journal->segments.data);
    journal->removal_unsynced = true;
    SF_TRY(disk->sync_dir(disk->self, journal->dir, err));
    journal->removal_unsynced = false;
    return SF_OK;
}

/* By the thread that owns `syncing`; lock is held. */
static void expire_locked(sf_journal *journal)
{
    int64_t now_ms = sf_clock_wall_ms(&journal->clock);
    sf_status status = SF_OK;
    sf_error err;
    while (status == SF_OK && may_expire(journal, now_ms))
        status = remove_oldest(journal, &err);
    if (status != SF_OK) /* too much is kept, nothing is lost: the next time tries again */
        sf_log_write(journal->options.log, SF_LOG_WARN, "journal", "old segments stay: %s",
                     err.message);
}

/* ---- group commit ---- */

/* By the thread that owns `syncing`; lock is not held. */
static sf_status write_batch(sf_journal *journal, uint64_t first_position, bool *rolled,
                             sf_error *err)
{
    const sf_disk *disk = &journal->disk;
    sf_segment *last =
        journal->segments.len ? &journal->segments.data[journal->segments.len - 1] : NULL;
    *rolled = !last || last->size_bytes >= journal->options.segment_bytes;
    if (*rolled) {
        SF_TRY(sf_journal_start_segment(journal, first_position, err));
        last = &journal->segments.data[journal->segments.len - 1];
    }
    sf_buf *bytes = &journal->writing;
    sf_record_seal((uint8_t *)bytes->data, bytes->len, last, last->size_bytes);
    SF_TRY(disk->write(disk->self, journal->file, bytes->data, bytes->len, last->size_bytes, err));
    return disk->sync(disk->self, journal->file, err);
}

static sf_journal_waiter *take_answered(sf_journal *journal)
{
    bool failed = journal->failure.status != SF_OK;
    sf_journal_waiter *first = journal->waiters, *last = NULL;
    for (sf_journal_waiter *w = first; w && (failed || w->lsn <= journal->durable_lsn); w = w->next)
        last = w;
    if (!last)
        return NULL;
    journal->waiters = last->next;
    if (!journal->waiters)
        journal->waiters_last = NULL;
    last->next = NULL;
    return first;
}

/* Makes everything appended so far durable and answers who waited for it. lock is held, nobody is
 * syncing; lock is released meanwhile. */
static void lead_locked(sf_journal *journal)
{
    journal->syncing = true;
    sf_buf taken = journal->pending;
    journal->pending = journal->writing;
    journal->writing = taken;
    uint64_t lsn = journal->appended_lsn, end = journal->next_position;
    uint64_t first = journal->pending_first;
    bool rolled = false;
    sf_status status = SF_OK;
    sf_error err;
    if (journal->writing.len > 0 && journal->failure.status == SF_OK) {
        pthread_mutex_unlock(&journal->lock);
        status = write_batch(journal, first, &rolled, &err);
        pthread_mutex_lock(&journal->lock);
        if (status == SF_OK) {
            journal->segments.data[journal->segments.len - 1].size_bytes += journal->writing.len;
            journal->durable_lsn = lsn;
            journal->durable_position = end;
        } else {
            journal->failure = err;
            sf_log_write(journal->options.log, SF_LOG_ERROR, "journal", "%s has stopped: %s",
                         journal->dir, err.message);
        }
    }
    if (journal->writing.cap > KEPT_BYTES)
        sf_buf_deinit(&journal->writing);
    sf_buf_clear(&journal->writing);
    if (rolled && status == SF_OK)
        expire_locked(journal);
    journal->syncing = false;
    sf_journal_waiter *answered = take_answered(journal);
    sf_error failure = journal->failure;
    pthread_cond_broadcast(&journal->synced);
    pthread_mutex_unlock(&journal->lock);
    while (answered) { /* a waiter's memory may be gone once it was called */
        sf_journal_waiter *next = answered->next;
        answered->done(answered, failure.status, failure.status == SF_OK ? NULL : &failure);
        answered = next;
    }
    pthread_mutex_lock(&journal->lock);
}

sf_status sf_journal_commit(sf_journal *journal, uint64_t lsn, sf_error *err)
{
    pthread_mutex_lock(&journal->lock);
    SF_ASSERT(lsn <= journal->appended_lsn);
    while (journal->durable_lsn < lsn && journal->failure.status == SF_OK) {
        if (journal->syncing)
            pthread_cond_wait(&journal->synced, &journal->lock);
        else
            lead_locked(journal);
    }
    sf_status status = SF_OK;
    if (journal->durable_lsn < lsn) {
        status = journal->failure.status;
        if (err)
            *err = journal->failure;
    }
    pthread_mutex_unlock(&journal->lock);
    return status;
}

sf_status sf_journal_sync(sf_journal *journal, sf_error *err)
{
    pthread_mutex_lock(&journal->lock);
    uint64_t lsn = journal->appended_lsn;
    pthread_mutex_unlock(&journal->lock);
    return sf_journal_commit(journal, lsn, err);
}

static void enqueue_waiter(sf_journal *journal, sf_journal_waiter *waiter)
{
    sf_journal_waiter **link = &journal->waiters;
    if (journal->waiters_last && journal->waiters_last->lsn <= waiter->lsn)
        link = &journal->waiters_last->next; /* the usual case: the newest one */
    while (*link && (*link)->lsn <= waiter->lsn)
        link = &(*link)->next;
    waiter->next = *link;
    *link = waiter;
    if (!waiter->next)
        journal->waiters_last = waiter;
}

bool sf_journal_notify(sf_journal *journal, uint64_t lsn, sf_journal_waiter *waiter)
{
    waiter->lsn = lsn;
    waiter->next = NULL;
    pthread_mutex_lock(&journal->lock);
    SF_ASSERT(lsn <= journal->appended_lsn);
    sf_error failure = journal->failure;
    if (journal->durable_lsn >= lsn || failure.status != SF_OK) {
        sf_status status = journal->durable_lsn >= lsn ? SF_OK : failure.status;
        pthread_mutex_unlock(&journal->lock);
        waiter->done(waiter, status, status == SF_OK ? NULL : &failure);
        return false;
    }
    enqueue_waiter(journal, waiter);
    bool ask = !journal->promised;
    journal->promised = true;
    pthread_mutex_unlock(&journal->lock);
    return ask;
}

bool sf_journal_sync_waiters(sf_journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    while (journal->syncing)
        pthread_cond_wait(&journal->synced, &journal->lock);
    lead_locked(journal);
    bool again = journal->waiters != NULL;
    journal->promised = again;
    pthread_mutex_unlock(&journal->lock);
    return again;
}

void sf_journal_close(sf_journal *journal)
{
    if (!journal)
        return;
    pthread_mutex_lock(&journal->lock);
    SF_ASSERT(!journal->syncing);
    lead_locked(journal); /* a failure was logged, and told to who waits */
    SF_ASSERT(!journal->waiters);
    pthread_mutex_unlock(&journal->lock);
    free_journal(journal);
}

/* ---- what is there ---- */

sf_journal_info sf_journal_inspect(sf_journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    sf_journal_info info = {
        .first_position = journal->segments.len ? journal->segments.data[0].first_position
                                                : journal->durable_position,
        .durable_position = journal->durable_position,
        .next_position = journal->next_position,
        .segments = (uint32_t)journal->segments.len,
        .empty = journal->empty,
    };
    for (size_t i = 0; i < journal->segments.len; i++)
        info.size_bytes += journal->segments.data[i].size_bytes;
    pthread_mutex_unlock(&journal->lock);
    return info;
}

void sf_journal_hold(sf_journal *journal, uint64_t position)
{
    pthread_mutex_lock(&journal->lock);
    journal->hold = position;
    pthread_mutex_unlock(&journal->lock);
}

void sf_journal_expire(sf_journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    while (journal->syncing)
        pthread_cond_wait(&journal->synced, &journal->lock);
    expire_locked(journal);
    pthread_mutex_unlock(&journal->lock);
}

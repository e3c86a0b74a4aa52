/* The journal of a feed: what its entries hold, opening, syncing.
 *
 * Entry: u32 version, i64 watermark before it, i64 watermark after it, i64 lateness, text of the
 * driver's position (u32 length, bytes), then the packed rows (none for a watermark).
 * docs/formats/journal.md. */
#include "column/pack.h"
#include "runtime/internal.h"

enum { ENTRY_VERSION = 2, SCRATCH_KEPT_BYTES = 1 << 20 };

/* ---- entries ---- */

bool sf_feed_entry_read(sf_str payload, sf_feed_entry *out)
{
    sf_reader in = {.data = (const uint8_t *)payload.data, .len = payload.len};
    uint32_t version = sf_read_u32(&in);
    out->before = (int64_t)sf_read_u64(&in);
    out->after = (int64_t)sf_read_u64(&in);
    out->lateness_ms = (int64_t)sf_read_u64(&in);
    out->position = sf_read_str(&in);
    out->rows = (sf_str){payload.data + in.pos, payload.len - in.pos};
    return !in.failed && version == ENTRY_VERSION;
}

sf_status sf_feed_write_entry(sf_feed *feed, const sf_log_entry *entry, int64_t before,
                              sf_str position, uint64_t *lsn, sf_error *err)
{
    sf_buf *payload = &feed->scratch;
    sf_buf_clear(payload);
    sf_buf_put_u32(payload, ENTRY_VERSION);
    sf_buf_put_u64(payload, (uint64_t)before);
    sf_buf_put_u64(payload, (uint64_t)entry->mark);
    sf_buf_put_u64(payload, (uint64_t)feed->marker.lateness_ms);
    sf_buf_put_str(payload, position);
    if (entry->batch)
        sf_batch_pack(entry->batch, payload);
    sf_entry record = {.kind = entry->batch ? SF_ENTRY_ROWS : SF_ENTRY_WATERMARK,
                       .first_position = entry->position,
                       .count = entry->count,
                       .payload = sf_buf_str(payload)};
    sf_status status =
        payload->failed ? sf_fail_memory(err) : sf_journal_append(feed->journal, &record, lsn, err);
    if (payload->cap > SCRATCH_KEPT_BYTES || payload->failed)
        sf_buf_deinit(payload);
    return status;
}

/* ---- opening ---- */

/* A name as one path component: letters, digits, - and _ stay, other bytes become %XX. */
static void put_component(sf_buf *out, const char *name)
{
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                     (*c >= '0' && *c <= '9') || *c == '-' || *c == '_';
        if (plain)
            sf_buf_putc(out, (char)*c);
        else
            sf_buf_printf(out, "%%%02X", *c);
    }
}

sf_status sf_feed_journal_dir(const sf_feed *feed, sf_buf *out, sf_error *err)
{
    sf_buf_printf(out, "%s/", feed->runtime->sources_dir);
    put_component(out, feed->name);
    return out->failed ? sf_fail_memory(err) : SF_OK;
}

/* The watermark and the driver's position behind the last durable entry. */
static sf_status recover(sf_feed *feed, sf_error *err)
{
    sf_journal_info info = sf_journal_inspect(feed->journal);
    feed->first = feed->end = feed->told = info.empty ? 0 : info.next_position;
    if (info.empty || info.next_position == info.first_position)
        return SF_OK;
    sf_journal_cursor *cursor;
    SF_TRY(sf_journal_read_from(feed->journal, info.next_position - 1, &cursor, err));
    sf_status status = SF_OK;
    for (bool more = true; status == SF_OK && more;) {
        sf_entry entry;
        sf_feed_entry head;
        status = sf_journal_next(cursor, &entry, &more, err);
        if (status != SF_OK || !more)
            break;
        if (!sf_feed_entry_read(entry.payload, &head)) {
            status = sf_fail(err, SF_CORRUPT, "the journal has an unknown entry at position %llu",
                             (unsigned long long)entry.first_position);
            break;
        }
        feed->marker.watermark = head.after;
        sf_buf_clear(&feed->position);
        sf_buf_put(&feed->position, head.position.data, head.position.len);
    }
    sf_journal_cursor_close(cursor);
    return status == SF_OK && feed->position.failed ? sf_fail_memory(err) : status;
}

sf_status sf_feed_open_journal(sf_feed *feed, sf_error *err)
{
    const sf_runtime_options *options = &feed->runtime->options;
    sf_buf dir = {0};
    sf_status status = sf_feed_journal_dir(feed, &dir, err);
    sf_journal_options journal = {.retain_bytes =
                                      options->journal_bytes ? options->journal_bytes : 1ULL << 30,
                                  .log = options->port.log};
    if (journal.retain_bytes / 8 < 64ULL << 20) /* small journals go in smaller pieces */
        journal.segment_bytes = journal.retain_bytes / 8 + 1;
    if (status == SF_OK)
        status = options->port.disk.make_dir(options->port.disk.self, dir.data, err);
    if (status == SF_OK)
        status = sf_journal_open(&options->port.disk, &options->port.clock, dir.data, &journal,
                                 &feed->journal, err);
    sf_buf_deinit(&dir);
    if (status == SF_OK)
        status = recover(feed, err);
    if (status != SF_OK)
        sf_error_context(err, "source \"%s\"", feed->name);
    return status;
}

/* ---- syncing ---- */

static void sync_work(void *arg)
{
    sf_feed *feed = arg;
    while (sf_journal_sync_waiters(feed->journal))
        continue;
    pthread_mutex_lock(&feed->lock);
    sf_feed_settle(feed); /* what is durable may leave memory, and there is room in the journal */
    pthread_mutex_unlock(&feed->lock);
    sf_feed_unpin(feed);
}

/* The queue of blocking calls may be full: then the actor tries again. */
void sf_feed_sync_soon(sf_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    feed->pins++;
    pthread_mutex_unlock(&feed->lock);
    if (sf_blocking_submit(feed->runtime->options.pool, sync_work, NULL, feed))
        return;
    pthread_mutex_lock(&feed->lock);
    feed->sync_due = true;
    sf_timer_set(&feed->timer, sf_runtime_mono_ns(feed->runtime) + SF_FEED_RETRY_NS);
    pthread_mutex_unlock(&feed->lock);
    sf_feed_unpin(feed);
}

static void sync_done(sf_journal_waiter *waiter, sf_status status, const sf_error *err)
{
    sf_feed *feed = waiter->arg;
    pthread_mutex_lock(&feed->lock);
    uint64_t newer = status == SF_OK && feed->sync_lsn > waiter->lsn ? feed->sync_lsn : 0;
    feed->syncing = newer != 0;
    pthread_mutex_unlock(&feed->lock);
    if (status != SF_OK)
        sf_log_write(feed->runtime->options.port.log, SF_LOG_ERROR, "source", "\"%s\": %s",
                     feed->name, err->message);
    if (newer && sf_journal_notify(feed->journal, newer, waiter))
        sf_feed_sync_soon(feed);
}

/* Nobody waits for rows of a driver, but they should not stay in memory for long. One waiter stands
 * for all of them. */
void sf_feed_sync_driven(sf_feed *feed, uint64_t lsn)
{
    pthread_mutex_lock(&feed->lock);
    bool start = !feed->syncing;
    feed->syncing = true;
    if (lsn > feed->sync_lsn)
        feed->sync_lsn = lsn;
    pthread_mutex_unlock(&feed->lock);
    if (!start)
        return;
    feed->sync_waiter = (sf_journal_waiter){.done = sync_done, .arg = feed};
    if (sf_journal_notify(feed->journal, lsn, &feed->sync_waiter))
        sf_feed_sync_soon(feed);
}

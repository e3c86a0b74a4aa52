/* Reading a feed: from memory, and behind it from the journal. */
#include "column/pack.h"
#include "runtime/internal.h"

static uint64_t reader_end(void *self)
{
    sf_feed *feed = ((sf_reader_slot *)self)->feed;
    pthread_mutex_lock(&feed->lock);
    uint64_t end = feed->end;
    pthread_mutex_unlock(&feed->lock);
    return end;
}

bool sf_feed_find(const sf_feed *feed, uint64_t from, sf_log_entry *out)
{
    if (from < feed->first || feed->head == feed->entries.len)
        return false;
    size_t low = feed->head, high = feed->entries.len;
    while (low < high) { /* the first entry that ends behind it */
        size_t middle = (low + high) / 2;
        const sf_log_entry *entry = &feed->entries.data[middle];
        if (entry->position + entry->count > from)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == feed->entries.len || feed->entries.data[low].position > from)
        return false;
    *out = feed->entries.data[low];
    out->batch = sf_batch_ref(out->batch);
    return true;
}

static void close_cursor(sf_reader_slot *slot)
{
    sf_journal_cursor_close(slot->cursor);
    slot->cursor = NULL;
}

/* The watermark of each row is not stored: it runs on from the one before the entry, with the
 * lateness the source had then. */
static sf_status unpack_entry(const sf_reader_slot *slot, const sf_entry *entry, sf_log_entry *out,
                              sf_error *err)
{
    sf_feed_entry head;
    *out = (sf_log_entry){.position = entry->first_position, .count = entry->count};
    if (!sf_feed_entry_read(entry->payload, &head))
        return sf_fail(err, SF_CORRUPT, "the journal has an unknown entry at position %llu",
                       (unsigned long long)entry->first_position);
    out->mark = head.after;
    if (entry->kind != SF_ENTRY_ROWS)
        return SF_OK;
    sf_batch *rows;
    SF_TRY(sf_batch_unpack(head.rows, slot->schema, &rows, err));
    sf_marker marker = {.lateness_ms = head.lateness_ms, .watermark = head.before};
    bool whole = rows->rows == entry->count;
    out->batch = whole ? sf_marker_stamp(&marker, rows) : NULL;
    sf_batch_unref(rows);
    if (!whole)
        return sf_fail(err, SF_CORRUPT, "the journal's entry at position %llu lacks rows",
                       (unsigned long long)entry->first_position);
    return out->batch ? SF_OK : sf_fail_memory(err);
}

static sf_status read_journal(sf_reader_slot *slot, uint64_t from, sf_log_entry *out, sf_error *err)
{
    if (slot->cursor && slot->cursor_next != from)
        close_cursor(slot);
    if (!slot->cursor)
        SF_TRY(sf_journal_read_from(slot->feed->journal, from, &slot->cursor, err));
    for (;;) {
        sf_entry entry;
        bool more;
        SF_TRY(sf_journal_next(slot->cursor, &entry, &more, err));
        if (!more) /* what is not durable is in memory */
            return sf_fail(err, SF_CORRUPT, "the journal ends before position %llu",
                           (unsigned long long)from);
        slot->cursor_next = entry.first_position + entry.count;
        if (slot->cursor_next > from)
            return unpack_entry(slot, &entry, out, err);
    }
}

static sf_status reader_read(void *self, uint64_t from, sf_log_entry *out, sf_error *err)
{
    sf_reader_slot *slot = self;
    sf_feed *feed = slot->feed;
    pthread_mutex_lock(&feed->lock);
    bool found = sf_feed_find(feed, from, out);
    uint64_t first = feed->first;
    pthread_mutex_unlock(&feed->lock);
    if (found) {
        if (slot->cursor)
            close_cursor(slot);
        return SF_OK;
    }
    if (feed->journal) {
        sf_status status = read_journal(slot, from, out, err);
        if (status == SF_OK)
            return SF_OK;
        close_cursor(slot);
        if (status != SF_NOT_FOUND)
            return status;
        pthread_mutex_lock(&feed->lock);
        first = sf_feed_oldest(feed);
        pthread_mutex_unlock(&feed->lock);
    }
    /* Let go before it was read: the reader goes on behind the gap. */
    uint64_t gap = first > from ? first - from : 1;
    slot->skipped += gap;
    *out = (sf_log_entry){.position = from,
                          .count = gap > UINT32_MAX ? UINT32_MAX : (uint32_t)gap,
                          .mark = SF_MARK_NONE};
    return SF_OK;
}

/* ---- life of a reader ---- */

sf_reader_slot *sf_feed_open_reader(sf_feed *feed, sf_cell *cell)
{
    sf_reader_slot *slot = sf_calloc(1, sizeof *slot);
    if (!slot)
        return NULL;
    pthread_mutex_lock(&feed->lock);
    *slot = (sf_reader_slot){.feed = feed,
                             .cell = cell,
                             .reader = {.end = reader_end, .read = reader_read, .self = slot},
                             .schema = sf_schema_ref(feed->schema),
                             .needed = feed->end,
                             .durable = UINT64_MAX};
    bool added = SF_VEC_PUSH(&feed->readers, slot);
    pthread_mutex_unlock(&feed->lock);
    if (added)
        return slot;
    sf_schema_unref(slot->schema);
    sf_free(slot);
    return NULL;
}

void sf_reader_slot_include(sf_reader_slot *slot, uint64_t position)
{
    if (position < slot->durable)
        slot->durable = position;
    if (position >= slot->needed)
        return;
    slot->needed = position;
    slot->behind = slot->feed->end;
}

void sf_feed_close_reader(sf_reader_slot *slot)
{
    sf_feed *feed = slot->feed;
    pthread_mutex_lock(&feed->lock);
    for (size_t i = 0; i < feed->readers.len; i++) {
        if (feed->readers.data[i] == slot) {
            feed->readers.data[i] = feed->readers.data[--feed->readers.len];
            break;
        }
    }
    sf_feed_settle(feed);
    pthread_mutex_unlock(&feed->lock);
    close_cursor(slot);
    sf_schema_unref(slot->schema);
    sf_free(slot);
}

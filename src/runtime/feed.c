/* The log of a source: recent entries in memory, all of them in the journal when it has one.
 *
 * Journal entry: u32 version, i64 watermark after it, text of the driver's position (u32 length,
 * bytes), then the packed rows (none for a watermark). docs/formats/journal.md. */
#include "column/pack.h"
#include "format/format.h"
#include "runtime/internal.h"

enum {
    ENTRY_VERSION = 1,
    LOG_BYTES_DEFAULT = 64 << 20,
    KEEP_BYTES = 4 << 20, /* stays in memory for late readers though nobody needs it */
    IDLE_TICK_MS = 500,
};

static size_t log_limit(const sf_feed *feed)
{
    size_t bytes = feed->runtime->options.log_bytes;
    return bytes ? bytes : LOG_BYTES_DEFAULT;
}

/* ---- life ---- */

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

/* The head of a journal entry; rows_at: where its packed rows begin. */
static bool read_entry_head(sf_str payload, int64_t *watermark, sf_str *position, size_t *rows_at)
{
    sf_reader in = {.data = (const uint8_t *)payload.data, .len = payload.len};
    uint32_t version = sf_read_u32(&in);
    *watermark = (int64_t)sf_read_u64(&in);
    *position = sf_read_str(&in);
    *rows_at = in.pos;
    return !in.failed && version == ENTRY_VERSION;
}

/* The watermark and the driver's position behind the last durable entry. */
static sf_status recover_journal(sf_feed *feed, sf_error *err)
{
    sf_journal_info info = sf_journal_inspect(feed->journal);
    feed->first = feed->end = info.empty ? 0 : info.next_position;
    if (info.empty || info.next_position == info.first_position)
        return SF_OK;
    sf_journal_cursor *cursor;
    SF_TRY(sf_journal_read_from(feed->journal, info.next_position - 1, &cursor, err));
    sf_entry entry;
    bool more = true;
    sf_status status = SF_OK;
    while (status == SF_OK && more) {
        status = sf_journal_next(cursor, &entry, &more, err);
        if (status != SF_OK || !more)
            break;
        sf_str position;
        size_t rows_at;
        if (!read_entry_head(entry.payload, &feed->marker.watermark, &position, &rows_at)) {
            status = sf_fail(err, SF_CORRUPT, "the journal of source \"%s\" has an unknown entry",
                             feed->name);
        } else if (position.len) {
            sf_buf_clear(&feed->position);
            sf_buf_put(&feed->position, position.data, position.len);
        }
    }
    sf_journal_cursor_close(cursor);
    return status;
}

static sf_status open_journal(sf_feed *feed, sf_error *err)
{
    const sf_runtime_options *options = &feed->runtime->options;
    sf_buf dir = {0};
    sf_status status = sf_feed_journal_dir(feed, &dir, err);
    sf_journal_options journal = {.retain_bytes =
                                      options->journal_bytes ? options->journal_bytes : 1ULL << 30,
                                  .log = options->port.log};
    if (status == SF_OK)
        status = options->port.disk.make_dir(options->port.disk.self, dir.data, err);
    if (status == SF_OK)
        status = sf_journal_open(&options->port.disk, &options->port.clock, dir.data, &journal,
                                 &feed->journal, err);
    sf_buf_deinit(&dir);
    if (status == SF_OK)
        status = recover_journal(feed, err);
    if (status != SF_OK)
        sf_error_context(err, "source \"%s\"", feed->name);
    return status;
}

static sf_str keep_text(sf_arena *arena, sf_str text, bool *whole)
{
    char *copy = sf_arena_strndup(arena, text.data ? text.data : "", text.len);
    *whole = *whole && copy;
    return (sf_str){copy, text.len};
}

static sf_status keep_settings(sf_feed *feed, const sf_source_spec *spec, sf_error *err)
{
    bool whole = true;
    sf_arena_init(&feed->settings, 0);
    feed->config = spec->config;
    feed->config.schema = feed->schema;
    feed->config.name = keep_text(&feed->settings, spec->config.name, &whole);
    feed->config.fields = keep_text(&feed->settings, spec->config.fields, &whole);
    feed->config.connector = keep_text(&feed->settings, spec->config.connector, &whole);
    feed->config.profile = keep_text(&feed->settings, spec->config.profile, &whole);
    feed->ingest = spec->ingest;
    feed->ingest.keys = NULL; /* who may push is decided above */
    feed->ingest.key_count = 0;
    feed->ingest.keys_json = (sf_str){0};
    feed->ingest.dedup_key_field = NULL;
    feed->lateness_ms = spec->lateness_ms;
    feed->idle_ms = spec->idle_ms;
    feed->enabled = spec->enabled;
    return whole ? SF_OK : sf_fail_memory(err);
}

sf_status sf_feed_change(sf_feed *feed, const sf_source_spec *spec, sf_error *err)
{
    sf_arena old = feed->settings;
    sf_schema *schema = feed->schema;
    pthread_mutex_lock(&feed->lock);
    feed->schema = sf_schema_ref(spec->config.schema);
    sf_status status = keep_settings(feed, spec, err);
    feed->marker.lateness_ms = spec->lateness_ms;
    pthread_mutex_unlock(&feed->lock);
    sf_arena_deinit(&old);
    sf_schema_unref(schema);
    return status;
}

sf_status sf_feed_new(sf_runtime *runtime, const sf_source_spec *spec, sf_feed **out, sf_error *err)
{
    sf_feed *feed = sf_calloc(1, sizeof *feed);
    if (!feed)
        return sf_fail_memory(err);
    feed->runtime = runtime;
    feed->kind = spec->kind;
    feed->journaled = spec->journaled;
    pthread_mutex_init(&feed->lock, NULL);
    pthread_cond_init(&feed->polled, NULL);
    sf_marker_init(&feed->marker, spec->lateness_ms);
    feed->name = sf_strdup(spec->name);
    feed->schema = sf_schema_ref(spec->config.schema);
    sf_status status = feed->name ? keep_settings(feed, spec, err) : sf_fail_memory(err);
    if (status == SF_OK) {
        feed->topic = sf_topic_get(runtime, SF_SUB_SOURCE, spec->name);
        status = feed->topic ? SF_OK : sf_fail_memory(err);
    }
    if (status == SF_OK && feed->journaled)
        status = open_journal(feed, err);
    if (status != SF_OK) {
        sf_feed_free(feed);
        return status;
    }
    *out = feed;
    return SF_OK;
}

void sf_feed_free(sf_feed *feed)
{
    SF_ASSERT(feed->readers.len == 0);
    sf_journal_close(feed->journal);
    for (size_t i = feed->head; i < feed->entries.len; i++)
        sf_batch_unref(feed->entries.data[i].batch);
    SF_VEC_DEINIT(&feed->entries);
    SF_VEC_DEINIT(&feed->readers);
    sf_topic_put(feed->topic);
    sf_schema_unref(feed->schema);
    sf_arena_deinit(&feed->settings);
    sf_buf_deinit(&feed->position);
    sf_poll_deinit(&feed->poll);
    pthread_cond_destroy(&feed->polled);
    pthread_mutex_destroy(&feed->lock);
    sf_free(feed->name);
    sf_free(feed);
}

void sf_feed_restore(sf_feed *feed, uint64_t position, int64_t watermark)
{
    SF_ASSERT(!feed->journaled && feed->entries.len == 0);
    feed->first = feed->end = position;
    feed->marker.watermark = watermark;
}

/* ---- appending ---- */

static sf_status append_journal(sf_feed *feed, const sf_log_entry *entry, sf_str position,
                                uint64_t *lsn, sf_error *err)
{
    sf_buf payload = {0};
    sf_buf_put_u32(&payload, ENTRY_VERSION);
    sf_buf_put_u64(&payload, (uint64_t)entry->mark);
    sf_buf_put_str(&payload, position);
    if (entry->batch)
        sf_batch_pack(entry->batch, &payload);
    sf_entry record = {.kind = entry->batch ? SF_ENTRY_ROWS : SF_ENTRY_WATERMARK,
                       .first_position = entry->position,
                       .count = entry->count,
                       .payload = sf_buf_str(&payload)};
    sf_status status =
        payload.failed ? sf_fail_memory(err) : sf_journal_append(feed->journal, &record, lsn, err);
    sf_buf_deinit(&payload);
    return status;
}

sf_status sf_feed_append(sf_feed *feed, const sf_batch *batch, sf_str position, uint64_t *lsn,
                         sf_error *err)
{
    sf_marker before = feed->marker;
    uint64_t written = 0;
    sf_log_entry entry = {.position = feed->end, .count = batch ? batch->rows : 1};
    if (batch) {
        entry.batch = sf_marker_stamp(&feed->marker, batch);
        if (!entry.batch)
            return sf_fail_memory(err);
    }
    entry.mark = feed->marker.watermark;
    sf_status status =
        feed->journal ? append_journal(feed, &entry, position, &written, err) : SF_OK;
    if (status == SF_OK && !SF_VEC_PUSH(&feed->entries, entry)) {
        /* On disk, but not in memory: readers find it in the journal. */
        if (feed->journal && feed->head == feed->entries.len)
            feed->first = feed->end + entry.count;
        status = feed->journal ? SF_OK : sf_fail_memory(err);
        if (!feed->journal)
            feed->marker = before;
        sf_batch_unref(entry.batch);
        entry.batch = NULL;
    } else if (status != SF_OK) {
        feed->marker = before;
        sf_batch_unref(entry.batch);
        return status;
    }
    if (status != SF_OK)
        return status;
    feed->end += entry.count;
    feed->bytes += entry.batch ? sf_batch_bytes(entry.batch) : sizeof entry;
    if (batch) {
        feed->stats.events_total += batch->rows;
        feed->last_arrival_ms = sf_runtime_wall_ms(feed->runtime);
        feed->idle_after_ms = feed->idle_ms;
        feed->idle_base = feed->marker.watermark;
    }
    if (lsn)
        *lsn = written;
    return SF_OK;
}

/* ---- who needs what ---- */

static uint64_t needed_position(const sf_feed *feed)
{
    uint64_t needed = feed->end;
    for (size_t i = 0; i < feed->readers.len; i++)
        if (feed->readers.data[i]->needed < needed)
            needed = feed->readers.data[i]->needed;
    return needed;
}

uint64_t sf_feed_depth(const sf_feed *feed)
{
    return feed->end - needed_position(feed);
}

bool sf_feed_full(const sf_feed *feed)
{
    return feed->bytes >= log_limit(feed);
}

uint64_t sf_feed_oldest(sf_feed *feed)
{
    if (!feed->journal)
        return feed->first;
    sf_journal_info info = sf_journal_inspect(feed->journal);
    return info.empty ? feed->first : info.first_position;
}

static void drop_first(sf_feed *feed)
{
    sf_log_entry *entry = &feed->entries.data[feed->head++];
    feed->first = entry->position + entry->count;
    feed->bytes -= entry->batch ? sf_batch_bytes(entry->batch) : sizeof *entry;
    sf_batch_unref(entry->batch);
    entry->batch = NULL;
    if (feed->head == feed->entries.len) {
        feed->head = feed->entries.len = 0;
    } else if (feed->head >= 1024 && feed->head * 2 >= feed->entries.len) {
        feed->entries.len -= feed->head;
        memmove(feed->entries.data, feed->entries.data + feed->head,
                feed->entries.len * sizeof *feed->entries.data);
        feed->head = 0;
    }
}

void sf_feed_trim(sf_feed *feed)
{
    uint64_t needed = needed_position(feed);
    bool evict = !feed->journal && feed->ingest.policy == SF_INGEST_DROP_OLDEST;
    while (feed->head < feed->entries.len) {
        const sf_log_entry *entry = &feed->entries.data[feed->head];
        bool read = entry->position + entry->count <= needed;
        bool behind = feed->journal || evict; /* a slow reader finds it on disk, or has lost it */
        if (feed->bytes > log_limit(feed) ? !(read || behind) : !(read && feed->bytes > KEEP_BYTES))
            break;
        drop_first(feed);
    }
}

void sf_feed_settle(sf_feed *feed, const sf_reader_slot *slot)
{
    uint64_t hold = UINT64_MAX;
    pthread_mutex_lock(&feed->lock);
    SF_ASSERT(slot->feed == feed);
    for (size_t i = 0; i < feed->readers.len; i++)
        if (feed->readers.data[i]->durable < hold)
            hold = feed->readers.data[i]->durable;
    if (feed->journal)
        sf_journal_hold(feed->journal, hold);
    sf_feed_trim(feed);
    bool waiting = feed->waiting != NULL;
    bool driven = feed->driven;
    pthread_mutex_unlock(&feed->lock);
    if (waiting)
        sf_push_retry_waiting(feed);
    if (driven && feed->enabled)
        sf_actor_wake(&feed->driver);
}

/* ---- announcing ---- */

static bool put_event(sf_feed *feed, const sf_batch *batch, uint32_t row, sf_buf *json)
{
    sf_write_json_row(json, batch, row, true);
    if (json->failed || json->len == 0 || json->data[json->len - 1] != '}')
        return false;
    json->len--; /* _source goes in before the brace */
    sf_buf_puts(json, ",\"_source\":\"");
    for (const char *c = feed->name; *c; c++) {
        if (*c == '"' || *c == '\\')
            sf_buf_putc(json, '\\');
        sf_buf_putc(json, *c);
    }
    sf_buf_puts(json, "\"}");
    return !json->failed;
}

static sf_frame *source_frame(sf_feed *feed, const sf_batch *batch, uint64_t last_position)
{
    sf_frame *frame = sf_frame_new();
    if (!frame)
        return NULL;
    frame->ends = sf_alloc(batch->rows * sizeof *frame->ends);
    bool whole = frame->ends != NULL;
    sf_buf_putc(&frame->json, '[');
    for (uint32_t i = 0; whole && i < batch->rows; i++) {
        if (i)
            sf_buf_putc(&frame->json, ',');
        whole = put_event(feed, batch, i, &frame->json);
        frame->ends[i] = (uint32_t)frame->json.len;
    }
    sf_buf_putc(&frame->json, ']');
    frame->seq = last_position;
    frame->rows = batch->rows;
    frame->at_ms = sf_runtime_wall_ms(feed->runtime);
    if (whole && !frame->json.failed)
        return frame;
    sf_frame_unref(frame);
    return NULL;
}

void sf_feed_announce(sf_feed *feed, sf_batch *const *batches, uint32_t count,
                      uint64_t first_position)
{
    pthread_mutex_lock(&feed->lock);
    for (size_t i = 0; i < feed->readers.len; i++)
        sf_actor_wake(&feed->readers.data[i]->cell->actor);
    pthread_mutex_unlock(&feed->lock);
    for (uint32_t i = 0; i < count && sf_topic_heard(feed->topic); i++) {
        first_position += batches[i]->rows;
        sf_frame *frame = source_frame(feed, batches[i], first_position);
        if (frame)
            sf_topic_publish(feed->topic, frame);
    }
}

/* ---- syncing ---- */

static void sync_work(void *arg)
{
    sf_feed *feed = arg;
    while (sf_journal_sync_waiters(feed->journal)) {
    }
}

static void sync_done(sf_journal_waiter *waiter, sf_status status, const sf_error *err)
{
    sf_feed *feed = waiter->arg;
    pthread_mutex_lock(&feed->lock);
    feed->syncing = false;
    pthread_mutex_unlock(&feed->lock);
    if (status != SF_OK)
        sf_log_write(feed->runtime->options.port.log, SF_LOG_ERROR, "runtime", "source \"%s\": %s",
                     feed->name, err->message);
}

void sf_feed_sync_soon(sf_feed *feed)
{
    if (!sf_blocking_submit(feed->runtime->options.pool, sync_work, NULL, feed))
        sync_work(feed); /* the queue is full: better slow than never */
}

/* Rows of a driver need no answer, but should not stay in memory for long. */
static bool promise_sync(sf_feed *feed, uint64_t lsn)
{
    pthread_mutex_lock(&feed->lock);
    bool start = !feed->syncing;
    feed->syncing = true;
    pthread_mutex_unlock(&feed->lock);
    if (!start)
        return false;
    feed->sync_waiter = (sf_journal_waiter){.done = sync_done, .arg = feed};
    return sf_journal_notify(feed->journal, lsn, &feed->sync_waiter);
}

/* ---- idleness ---- */

/* An idle source's watermark goes on with the clock, in steps that grow, so that a long silence
 * leaves few entries. */
void sf_feed_idle_tick(sf_feed *feed)
{
    sf_error err = {0};
    uint64_t lsn = 0;
    bool moved = false;
    pthread_mutex_lock(&feed->lock);
    int64_t quiet = sf_runtime_wall_ms(feed->runtime) - feed->last_arrival_ms;
    bool pushed = !feed->kind->open;
    if (feed->idle_ms > 0 && feed->last_arrival_ms > 0 && quiet > feed->idle_after_ms &&
        (feed->caught_up || pushed) && feed->readers.len > 0 && sf_feed_depth(feed) == 0) {
        int64_t to = sf_sat_add(feed->idle_base, quiet - feed->idle_ms);
        sf_marker before = feed->marker;
        if (sf_marker_advance(&feed->marker, to)) {
            moved = sf_feed_append(feed, NULL, (sf_str){0}, &lsn, &err) == SF_OK;
            if (!moved)
                feed->marker = before;
        }
        feed->idle_after_ms = quiet + (quiet / 4 > IDLE_TICK_MS ? quiet / 4 : IDLE_TICK_MS);
    }
    pthread_mutex_unlock(&feed->lock);
    if (!moved)
        return;
    if (feed->journal && promise_sync(feed, lsn))
        sf_feed_sync_soon(feed);
    sf_feed_announce(feed, NULL, 0, 0);
}

/* ---- reading ---- */

static uint64_t reader_end(void *self)
{
    sf_feed *feed = ((sf_reader_slot *)self)->feed;
    pthread_mutex_lock(&feed->lock);
    uint64_t end = feed->end;
    pthread_mutex_unlock(&feed->lock);
    return end;
}

/* The entry in memory that contains `from`. Lock held. */
static bool find_entry(const sf_feed *feed, uint64_t from, sf_log_entry *out)
{
    if (from < feed->first || feed->head == feed->entries.len)
        return false;
    size_t low = feed->head, high = feed->entries.len;
    while (low < high) {
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

/* Marks of rows read from disk: the watermark before the entry is what the one before it left, and
 * at most the one after; running on from there gives each row's. */
static sf_status unpack_entry(sf_reader_slot *slot, const sf_entry *entry, int64_t before,
                              sf_log_entry *out, sf_error *err)
{
    sf_str position;
    size_t rows_at;
    *out = (sf_log_entry){.position = entry->first_position, .count = entry->count};
    if (!read_entry_head(entry->payload, &out->mark, &position, &rows_at))
        return sf_fail(err, SF_CORRUPT, "the journal has an unknown entry at position %llu",
                       (unsigned long long)entry->first_position);
    if (entry->kind != SF_ENTRY_ROWS)
        return SF_OK;
    sf_batch *rows;
    sf_str packed = {entry->payload.data + rows_at, entry->payload.len - rows_at};
    SF_TRY(sf_batch_unpack(packed, slot->schema, &rows, err));
    sf_marker marker = {.lateness_ms = slot->feed->lateness_ms, .watermark = before};
    out->batch = sf_marker_stamp(&marker, rows);
    sf_batch_unref(rows);
    return out->batch ? SF_OK : sf_fail_memory(err);
}

static sf_status read_journal(sf_reader_slot *slot, uint64_t from, sf_log_entry *out, sf_error *err)
{
    sf_feed *feed = slot->feed;
    int64_t before = SF_MARK_NONE;
    if (slot->cursor && slot->cursor_next != from)
        close_cursor(slot);
    if (!slot->cursor) {
        /* From one entry earlier, when there is one, for the watermark it left. */
        uint64_t start = from > sf_feed_oldest(feed) ? from - 1 : from;
        SF_TRY(sf_journal_read_from(feed->journal, start, &slot->cursor, err));
        slot->cursor_next = start;
    }
    for (;;) {
        sf_entry entry;
        bool more;
        SF_TRY(sf_journal_next(slot->cursor, &entry, &more, err));
        if (!more) { /* appended but not durable yet, and no longer in memory */
            SF_TRY(sf_journal_sync(feed->journal, err));
            continue;
        }
        slot->cursor_next = entry.first_position + entry.count;
        if (slot->cursor_next > from)
            return unpack_entry(slot, &entry, before, out, err);
        sf_str position;
        size_t rows_at;
        read_entry_head(entry.payload, &before, &position, &rows_at);
    }
}

static sf_status reader_read(void *self, uint64_t from, sf_log_entry *out, sf_error *err)
{
    sf_reader_slot *slot = self;
    sf_feed *feed = slot->feed;
    pthread_mutex_lock(&feed->lock);
    bool found = find_entry(feed, from, out);
    uint64_t first = feed->first;
    pthread_mutex_unlock(&feed->lock);
    if (found) {
        if (slot->cursor)
            close_cursor(slot);
        return SF_OK;
    }
    if (feed->journal) {
        sf_status status = read_journal(slot, from, out, err);
        if (status != SF_NOT_FOUND)
            return status;
        pthread_mutex_lock(&feed->lock);
        first = sf_feed_oldest(feed);
        pthread_mutex_unlock(&feed->lock);
        close_cursor(slot);
    }
    /* Let go before it was read: the reader goes on behind the gap. */
    uint64_t gap = first > from ? first - from : 1;
    slot->skipped += gap;
    *out = (sf_log_entry){.position = from,
                          .count = gap > UINT32_MAX ? UINT32_MAX : (uint32_t)gap,
                          .mark = SF_MARK_NONE};
    return SF_OK;
}

sf_reader_slot *sf_feed_open_reader(sf_feed *feed, sf_cell *cell)
{
    sf_reader_slot *slot = sf_calloc(1, sizeof *slot);
    if (!slot)
        return NULL;
    *slot = (sf_reader_slot){.feed = feed,
                             .cell = cell,
                             .reader = {.end = reader_end, .read = reader_read, .self = slot},
                             .schema = sf_schema_ref(feed->schema)};
    pthread_mutex_lock(&feed->lock);
    slot->needed = sf_feed_oldest(feed);
    slot->durable = slot->needed;
    bool added = SF_VEC_PUSH(&feed->readers, slot);
    pthread_mutex_unlock(&feed->lock);
    if (added)
        return slot;
    sf_schema_unref(slot->schema);
    sf_free(slot);
    return NULL;
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
    sf_feed_trim(feed);
    pthread_mutex_unlock(&feed->lock);
    close_cursor(slot);
    sf_schema_unref(slot->schema);
    sf_free(slot);
}

/* The log of a source: recent entries in memory, all of them in the journal when it has one. Room,
 * listeners, idleness. */
#include "runtime/internal.h"

#include "format/format.h"

enum {
    LOG_BYTES_DEFAULT = 64 << 20,
    KEEP_BYTES = 4 << 20, /* for late readers */
    IDLE_TICK_MS = 500,
    TELL_ENTRIES = 16, /* entries a run of the actor tells listeners of */
};

static size_t log_limit(const sf_feed *feed)
{
    size_t bytes = feed->runtime->options.log_bytes;
    return bytes ? bytes : LOG_BYTES_DEFAULT;
}

/* So many stay although nobody needs them. */
static size_t keep_bytes(const sf_feed *feed)
{
    size_t half = log_limit(feed) / 2;
    return half < KEEP_BYTES ? half : KEEP_BYTES;
}

static int64_t mono_ms(const sf_feed *feed)
{
    return sf_runtime_mono_ns(feed->runtime) / 1000000;
}

/* ---- settings ---- */

static sf_str keep_text(sf_arena *arena, sf_str text, bool *whole)
{
    char *copy = sf_arena_strndup(arena, text.data ? text.data : "", text.len);
    *whole = *whole && copy;
    return (sf_str){copy, text.len};
}

static bool copy_settings(const sf_source_spec *spec, sf_arena *arena, sf_source_config *config)
{
    bool whole = true;
    *config = spec->config;
    config->name = keep_text(arena, spec->config.name, &whole);
    config->fields = keep_text(arena, spec->config.fields, &whole);
    config->connector = keep_text(arena, spec->config.connector, &whole);
    config->profile = keep_text(arena, spec->config.profile, &whole);
    return whole;
}

static void use_settings(sf_feed *feed, const sf_source_spec *spec)
{
    feed->ingest = spec->ingest;
    feed->ingest.keys = NULL; /* who may push is decided above */
    feed->ingest.key_count = 0;
    feed->ingest.keys_json = (sf_str){0};
    feed->ingest.dedup_key_field = NULL;
    feed->lateness_ms = feed->marker.lateness_ms = spec->lateness_ms;
    feed->idle_ms = spec->idle_ms;
    feed->enabled = spec->enabled;
}

sf_status sf_feed_change(sf_feed *feed, const sf_source_spec *spec, sf_error *err)
{
    sf_arena settings;
    sf_source_config config;
    sf_arena_init(&settings, 0);
    if (!copy_settings(spec, &settings, &config)) {
        sf_arena_deinit(&settings);
        return sf_fail_memory(err);
    }
    pthread_mutex_lock(&feed->lock);
    sf_arena old = feed->settings;
    sf_schema *schema = feed->schema;
    feed->settings = settings;
    feed->config = config;
    feed->config.schema = feed->schema = sf_schema_ref(spec->config.schema);
    use_settings(feed, spec);
    pthread_mutex_unlock(&feed->lock);
    sf_arena_deinit(&old);
    sf_schema_unref(schema);
    return SF_OK;
}

/* ---- life ---- */

/* Time since a row counts from now on. Lock held. */
static void restart_idle(sf_feed *feed)
{
    feed->arrival_ms = mono_ms(feed);
    feed->idle_after_ms = feed->idle_ms;
    feed->idle_base = feed->marker.watermark;
}

static sf_run run_feed(void *self, sf_actor *actor);

sf_status sf_feed_new(sf_runtime *runtime, const sf_source_spec *spec, sf_feed **out, sf_error *err)
{
    sf_feed *feed = sf_calloc(1, sizeof *feed);
    if (!feed)
        return sf_fail_memory(err);
    feed->runtime = runtime;
    feed->kind = spec->kind;
    feed->journaled = spec->journaled;
    pthread_mutex_init(&feed->lock, NULL);
    pthread_cond_init(&feed->changed, NULL);
    sf_actor_init(&feed->actor, runtime->options.pool, run_feed, feed);
    sf_timer_init_wake(&feed->timer, &feed->actor);
    sf_marker_init(&feed->marker, spec->lateness_ms);
    sf_arena_init(&feed->settings, 0);
    feed->name = sf_strdup(spec->name);
    feed->schema = sf_schema_ref(spec->config.schema);
    bool whole = copy_settings(spec, &feed->settings, &feed->config);
    feed->config.schema = feed->schema;
    use_settings(feed, spec);
    feed->topic = sf_topic_get(runtime, SF_SUB_SOURCE, spec->name);
    sf_status status = feed->name && whole && feed->topic ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK && feed->journaled)
        status = sf_feed_open_journal(feed, err);
    if (status != SF_OK) {
        sf_feed_free(feed);
        return status;
    }
    restart_idle(feed);
    *out = feed;
    return SF_OK;
}

void sf_feed_restore(sf_feed *feed, uint64_t position, int64_t watermark)
{
    SF_ASSERT(!feed->journaled && feed->entries.len == 0);
    feed->first = feed->end = feed->told = position;
    feed->marker.watermark = watermark;
    restart_idle(feed);
}

sf_feed *sf_feed_pin(sf_runtime *runtime, const char *name)
{
    pthread_mutex_lock(&runtime->lock);
    sf_feed *feed = sf_runtime_feed(runtime, name);
    if (feed) {
        pthread_mutex_lock(&feed->lock);
        feed->pins++;
        pthread_mutex_unlock(&feed->lock);
    }
    pthread_mutex_unlock(&runtime->lock);
    return feed;
}

void sf_feed_unpin(sf_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    if (--feed->pins == 0)
        pthread_cond_broadcast(&feed->changed);
    pthread_mutex_unlock(&feed->lock);
}

static void free_log(sf_feed *feed)
{
    for (size_t i = feed->head; i < feed->entries.len; i++)
        sf_batch_unref(feed->entries.data[i].batch);
    SF_VEC_DEINIT(&feed->entries);
    SF_VEC_DEINIT(&feed->readers);
}

void sf_feed_free(sf_feed *feed)
{
    SF_ASSERT(feed->readers.len == 0 && !feed->driven);
    sf_timer_cancel(&feed->timer);
    sf_actor_stop(&feed->actor);
    pthread_mutex_lock(&feed->lock);
    while (feed->pins > 0)
        pthread_cond_wait(&feed->changed, &feed->lock);
    pthread_mutex_unlock(&feed->lock);
    sf_timer_cancel(&feed->timer);   /* the last of them may have set it */
    sf_journal_close(feed->journal); /* answers who waits for it */
    sf_push_end(feed);
    free_log(feed);
    sf_topic_put(feed->topic);
    sf_schema_unref(feed->schema);
    sf_arena_deinit(&feed->settings);
    sf_buf_deinit(&feed->position);
    sf_buf_deinit(&feed->scratch);
    pthread_cond_destroy(&feed->changed);
    pthread_mutex_destroy(&feed->lock);
    sf_free(feed->name);
    sf_free(feed);
}

/* ---- appending ---- */

static bool reserve_entry(sf_feed *feed)
{
    return feed->entries.len < feed->entries.cap ||
           sf_vec_grow((void **)&feed->entries.data, &feed->entries.cap,
                       sizeof *feed->entries.data);
}

static size_t entry_bytes(const sf_log_entry *entry)
{
    return sizeof *entry + (entry->batch ? sf_batch_bytes(entry->batch) : 0);
}

/* Memory first, then the journal: what is in the one is in the other. */
sf_status sf_feed_append(sf_feed *feed, const sf_batch *batch, sf_str position, uint64_t *lsn,
                         sf_error *err)
{
    sf_marker before = feed->marker;
    uint64_t written = 0;
    sf_log_entry entry = {.position = feed->end, .count = batch ? batch->rows : 1};
    SF_ASSERT(entry.count > 0);
    if (!reserve_entry(feed))
        return sf_fail_memory(err);
    if (batch) {
        sf_batch *kept = sf_batch_compact(batch);
        entry.batch = kept ? sf_marker_stamp(&feed->marker, kept) : NULL;
        sf_batch_unref(kept);
        if (!entry.batch) {
            feed->marker = before;
            return sf_fail_memory(err);
        }
    }
    entry.mark = feed->marker.watermark;
    sf_status status =
        feed->journal ? sf_feed_write_entry(feed, &entry, before.watermark, position, &written, err)
                      : SF_OK;
    if (status != SF_OK) {
        feed->marker = before;
        sf_batch_unref(entry.batch);
        return status;
    }
    (void)SF_VEC_PUSH(&feed->entries, entry);
    feed->end += entry.count;
    feed->bytes += entry_bytes(&entry);
    if (batch) {
        feed->stats.events_total += batch->rows;
        restart_idle(feed);
    }
    if (lsn)
        *lsn = written;
    return SF_OK;
}

/* ---- who needs what ---- */

/* Least position that readers still need; those that catch up do not count. */
static uint64_t needed_position(const sf_feed *feed, bool all)
{
    uint64_t needed = feed->end;
    for (size_t i = 0; i < feed->readers.len; i++) {
        const sf_reader_slot *slot = feed->readers.data[i];
        if (slot->needed < needed && (all || slot->needed >= slot->behind))
            needed = slot->needed;
    }
    return needed > feed->first || feed->journal ? needed : feed->first;
}

uint64_t sf_feed_depth(const sf_feed *feed)
{
    return feed->end - needed_position(feed, false);
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
    feed->bytes -= entry_bytes(entry);
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

/* Lets go of entries that nobody needs; over the limit also of what a slow reader finds on disk. */
static void trim(sf_feed *feed)
{
    size_t keep = keep_bytes(feed);
    if (feed->bytes <= keep)
        return;
    uint64_t needed = needed_position(feed, true);
    uint64_t durable =
        feed->journal ? sf_journal_inspect(feed->journal).durable_position : UINT64_MAX;
    while (feed->head < feed->entries.len && feed->bytes > keep) {
        const sf_log_entry *entry = &feed->entries.data[feed->head];
        uint64_t end = entry->position + entry->count;
        bool on_disk = feed->journal && feed->bytes > log_limit(feed);
        if (end > durable || !(end <= needed || on_disk))
            break;
        drop_first(feed);
    }
}

/* The first entry loses its first rows. */
static bool cut_first(sf_feed *feed, uint32_t rows)
{
    sf_log_entry *entry = &feed->entries.data[feed->head];
    sf_batch *rest = sf_batch_slice(entry->batch, rows, entry->count - rows);
    if (!rest)
        return false;
    feed->bytes -= entry_bytes(entry);
    sf_batch_unref(entry->batch);
    entry->batch = rest;
    entry->position += rows;
    entry->count -= rows;
    feed->first = entry->position;
    feed->bytes += entry_bytes(entry);
    return true;
}

void sf_feed_evict(sf_feed *feed, uint64_t rows_max)
{
    SF_ASSERT(!feed->journal);
    for (;;) {
        uint64_t depth = sf_feed_depth(feed);
        bool over = depth > rows_max || feed->bytes > log_limit(feed);
        if (!over || feed->head == feed->entries.len)
            return;
        const sf_log_entry *entry = &feed->entries.data[feed->head];
        uint64_t unread = entry->position + entry->count - needed_position(feed, false);
        bool read = entry->position + entry->count <= needed_position(feed, false);
        uint64_t surplus = depth > rows_max ? depth - rows_max : 0;
        if (!read && surplus > 0 && surplus < unread && entry->batch) {
            uint32_t rows = (uint32_t)(entry->count - (unread - surplus));
            if (cut_first(feed, rows)) {
                feed->stats.dropped_total += surplus;
                continue;
            }
        }
        if (!read && entry->batch)
            feed->stats.dropped_total += unread;
        drop_first(feed);
    }
}

void sf_feed_announce(sf_feed *feed)
{
    trim(feed);
    for (size_t i = 0; i < feed->readers.len; i++)
        sf_actor_wake(&feed->readers.data[i]->cell->actor);
    if (sf_topic_heard(feed->topic))
        sf_actor_wake(&feed->actor);
    else
        feed->told = feed->end;
}

void sf_feed_settle(sf_feed *feed)
{
    uint64_t hold = UINT64_MAX;
    for (size_t i = 0; i < feed->readers.len; i++)
        if (feed->readers.data[i]->durable < hold)
            hold = feed->readers.data[i]->durable;
    if (feed->journal)
        sf_journal_hold(feed->journal, hold);
    trim(feed);
    bool room = feed->want_room && !sf_feed_full(feed);
    if (room)
        feed->want_room = false;
    if (room || feed->waiting.first || feed->unread.first)
        sf_actor_wake(&feed->actor);
}

/* ---- the actor ---- */

static void put_event(const sf_feed *feed, const sf_batch *batch, uint32_t row, sf_buf *json)
{
    sf_write_json_row(json, batch, row, true);
    if (json->failed || json->len == 0)
        return;
    json->len--; /* _source goes in before the brace */
    sf_buf_puts(json, ",\"_source\":\"");
    for (const char *c = feed->name; *c; c++) {
        if (*c == '"' || *c == '\\')
            sf_buf_putc(json, '\\');
        sf_buf_putc(json, *c);
    }
    sf_buf_puts(json, "\"}");
}

static sf_frame *source_frame(const sf_feed *feed, const sf_batch *batch, uint32_t from,
                              uint64_t last_position)
{
    sf_frame *frame = sf_frame_new();
    if (!frame)
        return NULL;
    frame->rows = batch->rows - from;
    frame->ends = sf_alloc(frame->rows * sizeof *frame->ends);
    sf_buf_putc(&frame->json, '[');
    for (uint32_t i = 0; frame->ends && i < frame->rows; i++) {
        if (i)
            sf_buf_putc(&frame->json, ',');
        put_event(feed, batch, from + i, &frame->json);
        frame->ends[i] = (uint32_t)frame->json.len;
    }
    sf_buf_putc(&frame->json, ']');
    frame->seq = last_position;
    frame->at_ms = sf_runtime_wall_ms(feed->runtime);
    if (frame->ends && !frame->json.failed)
        return frame;
    sf_frame_unref(frame);
    return NULL;
}

/* Listeners are told in the order of the log, one entry a call. False: they know all of it. */
static bool tell_next(sf_feed *feed)
{
    sf_log_entry entry = {0};
    pthread_mutex_lock(&feed->lock);
    if (!sf_topic_heard(feed->topic))
        feed->told = feed->end;
    uint64_t told = feed->told, gap_to = 0;
    bool more = told < feed->end;
    if (more && !sf_feed_find(feed, told, &entry))
        gap_to = feed->first;
    feed->told = gap_to ? gap_to : more ? entry.position + entry.count : told;
    uint64_t end = feed->told;
    pthread_mutex_unlock(&feed->lock);
    if (gap_to) {
        sf_topic_skip(feed->topic, told + 1, gap_to, gap_to - told);
    } else if (entry.batch) {
        sf_frame *frame = source_frame(feed, entry.batch, (uint32_t)(told - entry.position), end);
        if (frame)
            sf_topic_publish(feed->topic, frame);
        else
            sf_topic_skip(feed->topic, told + 1, end, end - told);
    }
    sf_batch_unref(entry.batch);
    return more;
}

static sf_run run_feed(void *self, sf_actor *actor)
{
    SF_UNUSED(actor);
    sf_feed *feed = self;
    bool more = true;
    for (int i = 0; more && i < TELL_ENTRIES; i++)
        more = tell_next(feed);
    int64_t next_ns = sf_push_settle(feed);
    pthread_mutex_lock(&feed->lock);
    bool sync = feed->sync_due;
    feed->sync_due = false;
    pthread_mutex_unlock(&feed->lock);
    if (sync)
        sf_feed_sync_soon(feed);
    sf_run run = sf_driver_run(feed);
    pthread_mutex_lock(&feed->lock);
    bool due = feed->driven && !feed->polling && !feed->want_room && run == SF_RUN_IDLE;
    if (due && feed->next_poll_ns < next_ns)
        next_ns = feed->next_poll_ns;
    int64_t retry_ns = sf_runtime_mono_ns(feed->runtime) + SF_FEED_RETRY_NS;
    if (feed->sync_due && retry_ns < next_ns)
        next_ns = retry_ns;
    if (next_ns != INT64_MAX)
        sf_timer_set(&feed->timer, next_ns);
    pthread_mutex_unlock(&feed->lock);
    return more ? SF_RUN_AGAIN : run;
}

/* ---- idleness ---- */

/* An idle source's watermark goes on with the clock, in steps that grow, so that a long silence
 * leaves few entries. Time in which its rows are not yet delivered or not yet read does not count. */
void sf_feed_idle_tick(sf_feed *feed)
{
    sf_error err = {0};
    uint64_t lsn = 0;
    bool moved = false;
    pthread_mutex_lock(&feed->lock);
    bool delivered = feed->kind->open ? feed->driven && feed->caught_up : feed->enabled;
    bool live = feed->idle_ms > 0 && feed->marker.watermark != SF_MARK_NONE && delivered &&
                feed->readers.len > 0 && needed_position(feed, true) == feed->end;
    int64_t quiet_ms = mono_ms(feed) - feed->arrival_ms;
    if (!live) {
        restart_idle(feed);
    } else if (quiet_ms > feed->idle_after_ms) {
        sf_marker before = feed->marker;
        int64_t to = sf_sat_add(feed->idle_base, quiet_ms - feed->idle_ms);
        if (sf_marker_advance(&feed->marker, to)) {
            /* the entry carries the driver's place: recovery reads the last one */
            moved = sf_feed_append(feed, NULL, sf_buf_str(&feed->position), &lsn, &err) == SF_OK;
            if (moved)
                sf_feed_announce(feed);
            else
                feed->marker = before;
        }
        feed->idle_after_ms =
            quiet_ms + (quiet_ms / 4 > IDLE_TICK_MS ? quiet_ms / 4 : IDLE_TICK_MS);
    }
    pthread_mutex_unlock(&feed->lock);
    if (moved && feed->journal)
        sf_feed_sync_driven(feed, lsn);
}

/* Cursors over the durable entries of a journal. */
#include "store/journal.h"

struct sf_journal_cursor {
    sf_journal *journal;
    sf_segment_reader reader; /* of the open segment */
    sf_file *file;            /* NULL before the first segment */
    sf_buf path;
    uint64_t from; /* entries that end at or before are passed over */
};

/* A copy of the segment that holds position: the last one that starts at or before it, or rather
 * the first of those that start there. lock is held. */
static bool find_position(const sf_journal *journal, uint64_t position, sf_segment *out)
{
    size_t at = journal->segments.len;
    while (at > 0 && journal->segments.data[at - 1].first_position > position)
        at--;
    if (at == 0)
        return false;
    /* A segment may hold only entries of count 0, so that two start at the same position. And what
     * stands right at a segment's first position may end the one before. */
    while (at > 1 && journal->segments.data[at - 1].first_position == position)
        at--;
    *out = journal->segments.data[at - 1];
    return true;
}

static sf_status find_start(sf_journal *journal, uint64_t position, sf_segment *out, bool *none,
                            sf_error *err)
{
    *none = journal->segments.len == 0;
    if (!journal->empty && position > journal->next_position)
        return sf_fail(
            err, SF_INVALID, "position %llu is beyond the end of the journal \"%s\", which is %llu",
            (unsigned long long)position, journal->dir, (unsigned long long)journal->next_position);
    if (*none || find_position(journal, position, out))
        return SF_OK;
    sf_fail(err, SF_NOT_FOUND,
            "position %llu is no longer in the journal \"%s\", which starts at %llu",
            (unsigned long long)position, journal->dir,
            (unsigned long long)journal->segments.data[0].first_position);
    sf_error_hint(err, "read from a later position, or keep more of the journal");
    return SF_NOT_FOUND;
}

static sf_status open_segment(sf_journal_cursor *cursor, const sf_segment *segment, sf_error *err)
{
    const sf_disk *disk = &cursor->journal->disk;
    sf_file *file;
    SF_TRY(sf_segment_path(cursor->journal->dir, segment->number, &cursor->path, err));
    sf_status status = disk->open(disk->self, cursor->path.data, SF_OPEN_READONLY, &file, err);
    if (status == SF_NOT_FOUND) /* retention was quicker */
        sf_fail(err, SF_NOT_FOUND, "the journal \"%s\" no longer holds this position",
                cursor->journal->dir);
    SF_TRY(status);
    if (cursor->file)
        disk->close(disk->self, cursor->file);
    cursor->file = file;
    sf_segment_reader_deinit(&cursor->reader);
    sf_segment_reader_init(&cursor->reader, disk, file, cursor->path.data, segment,
                           segment->size_bytes);
    return SF_OK;
}

sf_status sf_journal_read_from(sf_journal *journal, uint64_t position, sf_journal_cursor **out,
                               sf_error *err)
{
    sf_segment segment;
    bool none;
    sf_journal_cursor *cursor = sf_calloc(1, sizeof *cursor);
    if (!cursor)
        return sf_fail_memory(err);
    cursor->journal = journal;
    cursor->from = position;
    pthread_mutex_lock(&journal->lock);
    sf_status status = find_start(journal, position, &segment, &none, err);
    pthread_mutex_unlock(&journal->lock);
    if (status == SF_OK && !none)
        status = open_segment(cursor, &segment, err);
    if (status != SF_OK) {
        sf_journal_cursor_close(cursor);
        return status;
    }
    *out = cursor;
    return SF_OK;
}

/* Looks how far the open segment is durable by now, or moves on to the next one. *found false: the
 * durable end. */
static sf_status advance(sf_journal_cursor *cursor, bool *found, sf_error *err)
{
    sf_journal *journal = cursor->journal;
    sf_segment segment = {0};
    bool gone = false, grown = false;
    *found = false;
    pthread_mutex_lock(&journal->lock);
    size_t count = journal->segments.len;
    uint64_t first = count ? journal->segments.data[0].number : 0;
    if (!cursor->file && count > 0) {
        *found = find_position(journal, cursor->from, &segment);
        gone = !*found;
    } else if (count > 0) {
        uint64_t number = cursor->reader.segment.number;
        uint64_t last = first + count - 1;
        if (number >= first && number <= last) {
            const sf_segment *open = &journal->segments.data[number - first];
            grown = open->size_bytes > cursor->reader.limit;
            cursor->reader.limit = open->size_bytes;
        }
        gone = !grown && number + 1 < first;
        *found = !grown && !gone && number < last;
        if (*found)
            segment = journal->segments.data[number + 1 - first];
    }
    pthread_mutex_unlock(&journal->lock);
    if (gone)
        return sf_fail(err, SF_NOT_FOUND, "the journal \"%s\" no longer holds this position",
                       journal->dir);
    if (*found)
        SF_TRY(open_segment(cursor, &segment, err));
    *found = *found || grown;
    return SF_OK;
}

sf_status sf_journal_next(sf_journal_cursor *cursor, sf_entry *entry, bool *more, sf_error *err)
{
    *more = false;
    for (;;) {
        sf_record_state state = SF_RECORD_END;
        const char *reason = NULL;
        if (cursor->file)
            SF_TRY(sf_segment_reader_next(&cursor->reader, entry, &state, &reason, err));
        if (state == SF_RECORD_DAMAGED)
            return sf_segment_fail_damaged(&cursor->reader, reason, err);
        if (state == SF_RECORD_END) {
            bool found;
            SF_TRY(advance(cursor, &found, err));
            if (!found)
                return SF_OK;
            continue;
        }
        bool before = entry->count == 0 ? entry->first_position < cursor->from
                                        : entry->first_position + entry->count <= cursor->from;
        if (before)
            continue;
        *more = true;
        return SF_OK;
    }
}

void sf_journal_cursor_close(sf_journal_cursor *cursor)
{
    if (!cursor)
        return;
    if (cursor->file)
        cursor->journal->disk.close(cursor->journal->disk.self, cursor->file);
    sf_segment_reader_deinit(&cursor->reader);
    sf_buf_deinit(&cursor->path);
    sf_free(cursor);
}

/* The last segment that was started before wall_ms, or the first. */
static bool position_of_time(sf_journal *journal, int64_t wall_ms, uint64_t *position)
{
    pthread_mutex_lock(&journal->lock);
    size_t at = journal->segments.len;
    while (at > 1 && journal->segments.data[at - 1].created_ms >= wall_ms)
        at--;
    *position = at ? journal->segments.data[at - 1].first_position : journal->durable_position;
    pthread_mutex_unlock(&journal->lock);
    return at > 0;
}

sf_status sf_journal_position_at(sf_journal *journal, int64_t wall_ms, uint64_t *position,
                                 sf_error *err)
{
    sf_journal_cursor *cursor;
    sf_entry entry;
    bool more = true;
    if (!position_of_time(journal, wall_ms, position))
        return SF_OK;
    SF_TRY(sf_journal_read_from(journal, *position, &cursor, err));
    sf_status status = SF_OK;
    while (status == SF_OK && more) {
        status = sf_journal_next(cursor, &entry, &more, err);
        if (status != SF_OK || !more)
            break;
        *position = entry.first_position;
        if (entry.wall_ms >= wall_ms)
            break;
        *position += entry.count;
    }
    sf_journal_cursor_close(cursor);
    return status;
}

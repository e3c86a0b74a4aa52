/* Opening a journal: which segments are there, what a crash tore, where to go on. */
#include "store/journal.h"

#include <stdlib.h>

/* Segment numbers found in the directory, or every name of it. */
typedef struct {
    SF_VEC(uint64_t) numbers;
    bool short_of_memory;
} listing;

static bool note_segment(void *arg, const char *name)
{
    listing *found = arg;
    uint64_t number;
    /* Other names are not the journal's: they stay. */
    if (sf_segment_parse_name(name, &number) && !SF_VEC_PUSH(&found->numbers, number))
        found->short_of_memory = true;
    return !found->short_of_memory;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static sf_status list_segments(const sf_disk *disk, const char *dir, listing *found, sf_error *err)
{
    *found = (listing){0};
    sf_status status = disk->list(disk->self, dir, note_segment, found, err);
    if (status == SF_OK && found->short_of_memory)
        status = sf_fail_memory(err);
    if (status != SF_OK)
        SF_VEC_DEINIT(&found->numbers);
    else if (found->numbers.len > 1)
        qsort(found->numbers.data, found->numbers.len, sizeof(uint64_t), by_number);
    return status;
}

/* *whole false: the file is no longer than a header, and that one is torn. */
static sf_status read_header(sf_journal *journal, uint64_t number, sf_file *file,
                             sf_segment *segment, bool *whole, sf_error *err)
{
    const sf_disk *disk = &journal->disk;
    uint8_t header[SF_SEGMENT_HEADER_BYTES];
    size_t got;
    uint64_t size;
    uint32_t format = 0;
    SF_TRY(disk->size(disk->self, file, &size, err));
    SF_TRY(disk->read(disk->self, file, header, sizeof header, 0, &got, err));
    *whole = got == sizeof header && sf_segment_decode(header, segment, &format);
    if (!*whole && size <= SF_SEGMENT_HEADER_BYTES)
        return SF_OK;
    if (!*whole || (format == SF_SEGMENT_FORMAT && segment->number != number)) {
        sf_fail(err, SF_CORRUPT, "journal segment \"%s\" is damaged at offset 0: %s",
                journal->path.data,
                *whole ? "it is another segment's file" : "the header fails its checksum");
        sf_error_hint(err, "restore it from a backup; the file was left as it is");
        return SF_CORRUPT;
    }
    if (format != SF_SEGMENT_FORMAT) {
        sf_fail(err, SF_UNSUPPORTED,
                "journal segment \"%s\" has format %u, written by a newer version than this one, "
                "which knows format %d",
                journal->path.data, format, SF_SEGMENT_FORMAT);
        sf_error_hint(err, "start the newer version, or restore a backup of the older one");
        return SF_UNSUPPORTED;
    }
    segment->size_bytes = size;
    return SF_OK;
}

/* Cuts what was never durable off the last segment and finds the position to go on at. */
static sf_status recover_tail(sf_journal *journal, sf_segment *last, sf_error *err)
{
    const sf_disk *disk = &journal->disk;
    sf_segment_reader reader;
    sf_entry entry;
    sf_record_state state;
    const char *reason = "";
    sf_segment_reader_init(&reader, disk, journal->file, journal->path.data, last,
                           last->size_bytes);
    sf_status status;
    do {
        status = sf_segment_reader_next(&reader, &entry, &state, &reason, err);
    } while (status == SF_OK && state == SF_RECORD_FOUND);

    bool was_durable = false;
    if (status == SF_OK && state == SF_RECORD_DAMAGED) {
        status = sf_segment_was_durable(&reader, reader.offset, &was_durable, err);
        if (status == SF_OK && was_durable)
            status = sf_segment_fail_damaged(&reader, reason, err);
        if (status == SF_OK) {
            sf_log_write(journal->options.log, SF_LOG_WARN, "journal",
                         "%s: cut %llu bytes at offset %llu that were never acknowledged: %s",
                         reader.path, (unsigned long long)(last->size_bytes - reader.offset),
                         (unsigned long long)reader.offset, reason);
            last->size_bytes = reader.offset;
            status = disk->truncate(disk->self, journal->file, reader.offset, err);
        }
    }
    /* What is read back counts as durable from now on, so it has to be. */
    if (status == SF_OK)
        status = disk->sync(disk->self, journal->file, err);
    journal->next_position = journal->durable_position = reader.position;
    sf_segment_reader_deinit(&reader);
    return status;
}

/* Leaves the file of the last segment open in journal->file. */
static sf_status load_segment(sf_journal *journal, uint64_t number, bool is_last, sf_error *err)
{
    const sf_disk *disk = &journal->disk;
    sf_file *file;
    sf_segment segment = {0};
    bool whole = true;
    SF_TRY(sf_segment_path(journal->dir, number, &journal->path, err));
    SF_TRY(disk->open(disk->self, journal->path.data, is_last ? 0 : SF_OPEN_READONLY, &file, err));
    sf_status status = read_header(journal, number, file, &segment, &whole, err);
    if (status == SF_OK && !whole && !is_last)
        status =
            sf_fail(err, SF_CORRUPT, "journal segment \"%s\" has no header", journal->path.data);
    if (status == SF_OK && whole && !SF_VEC_PUSH(&journal->segments, segment))
        status = sf_fail_memory(err);
    if (status == SF_OK && whole && is_last) {
        journal->file = file;
        return SF_OK;
    }
    disk->close(disk->self, file);
    if (status == SF_OK && !whole) {
        /* The crash hit while the segment was made: nothing was ever written to it. */
        sf_log_write(journal->options.log, SF_LOG_INFO, "journal",
                     "%s: removed, it was not finished when the process ended", journal->path.data);
        status = disk->remove(disk->self, journal->path.data, err);
    }
    return status;
}

static sf_status check_numbers(const sf_journal *journal, const listing *found, sf_error *err)
{
    for (size_t i = 1; i < found->numbers.len; i++) {
        if (found->numbers.data[i] == found->numbers.data[i - 1] + 1)
            continue;
        char name[SF_SEGMENT_NAME_BYTES];
        sf_segment_name(found->numbers.data[i - 1] + 1, name);
        sf_fail(err, SF_CORRUPT, "journal segment \"%s/%s\" is missing", journal->dir, name);
        sf_error_hint(err, "restore it from a backup; the other segments were left as they are");
        return SF_CORRUPT;
    }
    return SF_OK;
}

static sf_status load_all(sf_journal *journal, const listing *found, sf_error *err)
{
    size_t count = found->numbers.len;
    SF_TRY(check_numbers(journal, found, err));
    for (size_t i = 0; i < count; i++)
        SF_TRY(load_segment(journal, found->numbers.data[i], i + 1 == count, err));
    if (journal->file || journal->segments.len == 0)
        return SF_OK;
    /* The last one was unfinished: the one before takes its place. */
    sf_segment last = journal->segments.data[--journal->segments.len];
    return load_segment(journal, last.number, true, err);
}

sf_status sf_journal_recover(sf_journal *journal, sf_error *err)
{
    const sf_disk *disk = &journal->disk;
    listing found;
    SF_TRY(disk->make_dir(disk->self, journal->dir, err));
    SF_TRY(list_segments(disk, journal->dir, &found, err));
    sf_status status = load_all(journal, &found, err);
    SF_VEC_DEINIT(&found.numbers);
    SF_TRY(status);
    journal->empty = journal->segments.len == 0;
    if (journal->empty)
        return SF_OK;
    return recover_tail(journal, &journal->segments.data[journal->segments.len - 1], err);
}

static sf_status write_header(sf_journal *journal, sf_file *file, const sf_segment *segment,
                              sf_error *err)
{
    const sf_disk *disk = &journal->disk;
    uint8_t header[SF_SEGMENT_HEADER_BYTES];
    sf_segment_encode(segment, header);
    SF_TRY(disk->write(disk->self, file, header, sizeof header, 0, err));
    SF_TRY(disk->sync(disk->self, file, err));
    return disk->sync_dir(disk->self, journal->dir, err);
}

sf_status sf_journal_start_segment(sf_journal *journal, uint64_t first_position, sf_error *err)
{
    const sf_disk *disk = &journal->disk;
    int64_t started[2] = {sf_clock_wall_ms(&journal->clock), sf_clock_mono_ns(&journal->clock)};
    pthread_mutex_lock(&journal->lock);
    size_t count = journal->segments.len;
    uint64_t number = count ? journal->segments.data[count - 1].number + 1 : 1;
    pthread_mutex_unlock(&journal->lock);
    sf_segment segment = {
        .number = number,
        .first_position = first_position,
        .created_ms = started[0],
        .size_bytes = SF_SEGMENT_HEADER_BYTES,
        .salt = (uint32_t)sf_hash_bytes(started, sizeof started, number),
    };
    sf_file *file = NULL;
    SF_TRY(sf_segment_path(journal->dir, number, &journal->path, err));
    SF_TRY(
        disk->open(disk->self, journal->path.data, SF_OPEN_CREATE | SF_OPEN_EXCLUSIVE, &file, err));
    sf_status status = write_header(journal, file, &segment, err);
    if (status == SF_OK) {
        pthread_mutex_lock(&journal->lock);
        if (!SF_VEC_PUSH(&journal->segments, segment))
            status = sf_fail_memory(err);
        pthread_mutex_unlock(&journal->lock);
    }
    if (status != SF_OK) {
        disk->close(disk->self, file);
        return status;
    }
    if (journal->file)
        disk->close(disk->self, journal->file);
    journal->file = file;
    return SF_OK;
}

static bool nothing_else(void *arg, const char *name)
{
    SF_UNUSED(name);
    *(bool *)arg = false;
    return false;
}

sf_status sf_journal_destroy(const sf_disk *disk, const char *dir, sf_error *err)
{
    listing found;
    sf_status status = list_segments(disk, dir, &found, err);
    if (status == SF_NOT_FOUND)
        return SF_OK;
    SF_TRY(status);
    sf_buf path = {0};
    /* Newest first: what a crash leaves behind is a journal that ends early, not one with a hole.
     */
    for (size_t i = found.numbers.len; i > 0 && status == SF_OK; i--) {
        status = sf_segment_path(dir, found.numbers.data[i - 1], &path, err);
        if (status == SF_OK)
            status = disk->remove(disk->self, path.data, err);
    }
    bool only_segments = true;
    if (status == SF_OK)
        status = disk->list(disk->self, dir, nothing_else, &only_segments, err);
    if (status == SF_OK)
        status = only_segments ? disk->remove(disk->self, dir, err)
                               : disk->sync_dir(disk->self, dir, err);
    sf_buf_deinit(&path);
    SF_VEC_DEINIT(&found.numbers);
    return status;
}

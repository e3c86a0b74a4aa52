/* Encoding, sealing and reading the records of a journal segment. */
#include "store/segment.h"

#include <inttypes.h>
#include <stdio.h>

static const uint8_t segment_magic[8] = "SFJSEG1";
enum { RECORD_MAGIC = 0x31524653, WINDOW_BYTES = 256 * 1024, CRC_AT = 44 };

static void put_u32(uint8_t *p, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

static void put_u64(uint8_t *p, uint64_t value)
{
    put_u32(p, (uint32_t)value);
    put_u32(p + 4, (uint32_t)(value >> 32));
}

static uint32_t get_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t get_u64(const uint8_t *p)
{
    return get_u32(p) | (uint64_t)get_u32(p + 4) << 32;
}

/* ---- names ---- */

void sf_segment_name(uint64_t number, char *name)
{
    snprintf(name, SF_SEGMENT_NAME_BYTES, "%016" PRIx64 ".seg", number);
}

bool sf_segment_parse_name(const char *name, uint64_t *number)
{
    uint64_t value = 0;
    for (int i = 0; i < 16; i++) {
        char c = name[i];
        if (c >= '0' && c <= '9')
            value = value << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uint64_t)(c - 'a' + 10);
        else
            return false;
    }
    *number = value;
    return strcmp(name + 16, ".seg") == 0;
}

sf_status sf_segment_path(const char *dir, uint64_t number, sf_buf *out, sf_error *err)
{
    char name[SF_SEGMENT_NAME_BYTES];
    sf_segment_name(number, name);
    sf_buf_clear(out);
    sf_buf_printf(out, "%s/%s", dir, name);
    return out->failed ? sf_fail_memory(err) : SF_OK;
}

/* ---- headers ---- */

void sf_segment_encode(const sf_segment *segment, uint8_t *header)
{
    memset(header, 0, SF_SEGMENT_HEADER_BYTES);
    memcpy(header, segment_magic, sizeof segment_magic);
    put_u32(header + 8, SF_SEGMENT_FORMAT);
    put_u32(header + 12, segment->salt);
    put_u64(header + 16, segment->number);
    put_u64(header + 24, segment->first_position);
    put_u64(header + 32, (uint64_t)segment->created_ms);
    put_u32(header + CRC_AT, sf_crc32c(0, header, CRC_AT));
}

bool sf_segment_decode(const uint8_t *header, sf_segment *segment, uint32_t *format)
{
    if (memcmp(header, segment_magic, sizeof segment_magic) != 0)
        return false;
    *format = get_u32(header + 8);
    *segment = (sf_segment){
        .salt = get_u32(header + 12),
        .number = get_u64(header + 16),
        .first_position = get_u64(header + 24),
        .created_ms = (int64_t)get_u64(header + 32),
    };
    return get_u32(header + CRC_AT) == sf_crc32c(0, header, CRC_AT);
}

/* ---- records ---- */

void sf_record_encode(sf_buf *out, const sf_entry *entry)
{
    uint8_t header[SF_RECORD_HEADER_BYTES] = {0};
    put_u32(header, RECORD_MAGIC);
    put_u32(header + 4, (uint32_t)entry->payload.len);
    put_u32(header + 8, sf_crc32c(0, entry->payload.data, entry->payload.len));
    header[12] = (uint8_t)entry->kind;
    put_u64(header + 16, entry->first_position);
    put_u64(header + 24, (uint64_t)entry->wall_ms);
    put_u32(header + 32, entry->count);
    /* Both or neither: half a record would be sealed as if it were whole. */
    if (!sf_buf_reserve(out, sizeof header + entry->payload.len))
        return;
    sf_buf_put(out, header, sizeof header);
    sf_buf_put(out, entry->payload.data, entry->payload.len);
}

void sf_record_seal(uint8_t *bytes, size_t len, const sf_segment *segment, uint64_t offset)
{
    for (size_t at = 0; at < len;) {
        uint8_t *header = bytes + at;
        put_u32(header + 36, (uint32_t)offset);
        put_u32(header + 40, (uint32_t)segment->number);
        put_u32(header + CRC_AT, sf_crc32c(segment->salt, header, CRC_AT));
        at += SF_RECORD_HEADER_BYTES + get_u32(header + 4);
    }
}

static bool is_record_header(const uint8_t *header, const sf_segment *segment)
{
    return get_u32(header) == RECORD_MAGIC && get_u32(header + 40) == (uint32_t)segment->number &&
           get_u32(header + CRC_AT) == sf_crc32c(segment->salt, header, CRC_AT);
}

/* ---- reading ---- */

void sf_segment_reader_init(sf_segment_reader *reader, const sf_disk *disk, sf_file *file,
                            const char *path, const sf_segment *segment, uint64_t limit)
{
    *reader = (sf_segment_reader){
        .disk = disk,
        .file = file,
        .path = path,
        .segment = *segment,
        .offset = SF_SEGMENT_HEADER_BYTES,
        .limit = limit,
        .position = segment->first_position,
    };
}

void sf_segment_reader_deinit(sf_segment_reader *reader)
{
    sf_buf_deinit(&reader->window);
}

/* Makes len bytes at reader->offset readable; NULL with SF_OK when the segment ends before. */
static sf_status fill(sf_segment_reader *reader, size_t len, const uint8_t **out, sf_error *err)
{
    *out = NULL;
    if (reader->limit - reader->offset < len)
        return SF_OK;
    uint64_t skip = reader->offset - reader->window_start;
    if (skip + len > reader->window.len) {
        uint64_t left = reader->limit - reader->offset;
        size_t want = len > WINDOW_BYTES ? len : WINDOW_BYTES;
        want = want < left ? want : (size_t)left;
        sf_buf_clear(&reader->window);
        if (!sf_buf_reserve(&reader->window, want))
            return sf_fail_memory(err);
        size_t got = 0;
        SF_TRY(reader->disk->read(reader->disk->self, reader->file, reader->window.data, want,
                                  reader->offset, &got, err));
        reader->window.len = got;
        reader->window_start = reader->offset;
        skip = 0;
        if (got < len)
            return SF_OK;
    }
    *out = (const uint8_t *)reader->window.data + skip;
    return SF_OK;
}

static const char *fault_of(const sf_segment_reader *reader, const uint8_t *header)
{
    if (get_u32(header) != RECORD_MAGIC)
        return "no record starts here";
    if (!is_record_header(header, &reader->segment))
        return "the record's header fails its checksum";
    if (get_u32(header + 4) > SF_JOURNAL_ENTRY_BYTES_MAX)
        return "the record is longer than records may be";
    if (get_u64(header + 16) != reader->position)
        return "the record's position does not follow the one before";
    if (get_u32(header + 32) > UINT64_MAX - reader->position)
        return "the record's positions overflow";
    return NULL;
}

sf_status sf_segment_reader_next(sf_segment_reader *reader, sf_entry *entry, sf_record_state *state,
                                 const char **reason, sf_error *err)
{
    const uint8_t *p;
    *state = SF_RECORD_DAMAGED;
    if (reader->offset >= reader->limit) {
        *state = SF_RECORD_END;
        return SF_OK;
    }
    SF_TRY(fill(reader, SF_RECORD_HEADER_BYTES, &p, err));
    *reason = p ? fault_of(reader, p) : "the record's header is cut short";
    if (*reason)
        return SF_OK;
    size_t len = get_u32(p + 4);
    SF_TRY(fill(reader, SF_RECORD_HEADER_BYTES + len, &p, err));
    *reason = p ? NULL : "the record is cut short";
    if (*reason)
        return SF_OK;
    const char *payload = (const char *)p + SF_RECORD_HEADER_BYTES;
    if (sf_crc32c(0, payload, len) != get_u32(p + 8)) {
        *reason = "the record's payload fails its checksum";
        return SF_OK;
    }
    *entry = (sf_entry){
        .kind = (sf_entry_kind)p[12],
        .first_position = get_u64(p + 16),
        .wall_ms = (int64_t)get_u64(p + 24),
        .count = get_u32(p + 32),
        .payload = {payload, len},
    };
    reader->offset += SF_RECORD_HEADER_BYTES + len;
    reader->position += entry->count;
    *state = SF_RECORD_FOUND;
    return SF_OK;
}

sf_status sf_segment_was_durable(sf_segment_reader *reader, uint64_t place, bool *yes,
                                 sf_error *err)
{
    sf_segment_reader search = *reader; /* same file, its own window */
    search.window = (sf_buf){0};
    search.window_start = search.offset = place;
    sf_status status = SF_OK;
    *yes = false;
    while (status == SF_OK && !*yes) {
        const uint8_t *p;
        status = fill(&search, SF_RECORD_HEADER_BYTES, &p, err);
        if (status != SF_OK || !p)
            break;
        if (get_u32(p) == RECORD_MAGIC && is_record_header(p, &search.segment))
            *yes = get_u32(p + 36) > place;
        search.offset++;
    }
    sf_buf_deinit(&search.window);
    return status;
}

sf_status sf_segment_fail_damaged(const sf_segment_reader *reader, const char *reason,
                                  sf_error *err)
{
    sf_fail(err, SF_CORRUPT, "journal segment \"%s\" is damaged at offset %llu: %s", reader->path,
            (unsigned long long)reader->offset, reason);
    sf_error_hint(err, "restore it from a backup; the file was left as it is");
    return SF_CORRUPT;
}

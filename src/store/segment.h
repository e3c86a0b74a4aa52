/* segment.h: the bytes of a journal segment, and reading them one record after the other.
 *
 * A segment file is <number, 16 hex digits>.seg:
 *
 *   header, 48 bytes   magic "SFJSEG1\0", u32 format, u32 salt, u64 number, u64 first position,
 *                      i64 created (wall ms), u32 zero, u32 crc of the 44 bytes before
 *   records            each 48 bytes of header and a payload:
 *     0 u32 magic         8 u32 payload crc    16 u64 first position   32 u32 positions taken
 *     4 u32 payload bytes 12 u8 kind, 3 zeros  24 i64 wall ms          36 u32 durable
 *    40 u32 segment number (low half)          44 u32 crc of the 44 bytes before, from salt
 *
 * All little-endian, crc is CRC-32C. A header is durable before the first record is written, and
 * all records of one segment before the next segment exists. "durable" is the length of the file
 * that had been synced before this record was written: a damaged place below it was acknowledged
 * once, a damaged place above it was only ever buffered. */
#ifndef SF_STORE_SEGMENT_H
#define SF_STORE_SEGMENT_H

#include "store/store.h"

enum {
    SF_SEGMENT_HEADER_BYTES = 48,
    SF_RECORD_HEADER_BYTES = 48,
    SF_SEGMENT_FORMAT = 1,
    SF_SEGMENT_NAME_BYTES = 24,
};

typedef struct {
    uint64_t number, first_position;
    int64_t created_ms;
    uint64_t size_bytes; /* durable length of the file */
    uint32_t salt;
} sf_segment;

/* name must hold SF_SEGMENT_NAME_BYTES. */
void sf_segment_name(uint64_t number, char *name);
bool sf_segment_parse_name(const char *name, uint64_t *number);
sf_status sf_segment_path(const char *dir, uint64_t number, sf_buf *out, sf_error *err);

void sf_segment_encode(const sf_segment *segment, uint8_t *header);
/* False: not a header, or a damaged one. */
bool sf_segment_decode(const uint8_t *header, sf_segment *segment, uint32_t *format);

/* Appends a record whose durable, segment and crc fields sf_record_seal fills later. */
void sf_record_encode(sf_buf *out, const sf_entry *entry);
/* Completes all records in bytes, which will be written at offset of the segment. */
void sf_record_seal(uint8_t *bytes, size_t len, const sf_segment *segment, uint64_t offset);

/* Reads records of one segment from offset up to limit. */
typedef struct {
    const sf_disk *disk;
    sf_file *file;
    const char *path;
    sf_segment segment;
    uint64_t offset, limit;
    uint64_t position; /* that the next record must start at */
    sf_buf window;     /* file bytes from window_start on */
    uint64_t window_start;
} sf_segment_reader;

typedef enum { SF_RECORD_FOUND, SF_RECORD_END, SF_RECORD_DAMAGED } sf_record_state;

/* Starts at the first record; the file stays the caller's. */
void sf_segment_reader_init(sf_segment_reader *reader, const sf_disk *disk, sf_file *file,
                            const char *path, const sf_segment *segment, uint64_t limit);
void sf_segment_reader_deinit(sf_segment_reader *reader);
/* DAMAGED leaves the reader at the damaged record; reason says what is wrong. entry->payload is
 * borrowed until the next call. */
sf_status sf_segment_reader_next(sf_segment_reader *reader, sf_entry *entry, sf_record_state *state,
                                 const char **reason, sf_error *err);
/* Is there, behind the damaged place, a record which proves that the place had been synced? */
sf_status sf_segment_was_durable(sf_segment_reader *reader, uint64_t place, bool *yes,
                                 sf_error *err);
sf_status sf_segment_fail_damaged(const sf_segment_reader *reader, const char *reason,
                                  sf_error *err);

#endif

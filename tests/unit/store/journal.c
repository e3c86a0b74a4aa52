/* Journals: order and positions, segments, retention, damage. */
#include "tests.h"

#define DIR       "d/trades"
#define SEGMENT_1 DIR "/0000000000000001.seg"
#define SEGMENT_2 DIR "/0000000000000002.seg"

enum { HEADER_BYTES = 48 };

typedef struct {
    memory_disk *memory;
    sf_disk disk;
    still_clock time;
    sf_clock clock;
    sf_journal_options options;
    sf_journal *journal;
    sf_log log;
    sf_buf logged;
    sf_error err;
} bench;

static void note_line(void *self, sf_log_level level, const char *component, const char *line)
{
    SF_UNUSED(level);
    bench *b = self;
    sf_buf_printf(&b->logged, "%s: %s\n", component, line);
}

static void bench_open(bench *b, uint64_t segment_bytes)
{
    *b = (bench){.memory = memory_disk_new(), .time = {1000}};
    b->disk = memory_disk_seam(b->memory);
    b->clock = still_clock_seam(&b->time);
    b->log = (sf_log){SF_LOG_DEBUG, note_line, b};
    sf_buf_puts(&b->logged, "");
    b->options = (sf_journal_options){.segment_bytes = segment_bytes, .log = &b->log};
    CHECK_INT(sf_journal_open(&b->disk, &b->clock, DIR, &b->options, &b->journal, &b->err), SF_OK);
}

static sf_status bench_reopen(bench *b)
{
    sf_journal_close(b->journal);
    b->journal = NULL;
    return sf_journal_open(&b->disk, &b->clock, DIR, &b->options, &b->journal, &b->err);
}

static void bench_close(bench *b)
{
    sf_journal_close(b->journal);
    sf_buf_deinit(&b->logged);
    memory_disk_free(b->memory);
}

static sf_status append(bench *b, sf_entry_kind kind, uint64_t first, uint32_t count,
                        const char *payload)
{
    sf_entry entry = {
        .kind = kind,
        .first_position = first,
        .count = count,
        .payload = sf_str_of(payload),
    };
    uint64_t lsn;
    return sf_journal_append(b->journal, &entry, &lsn, &b->err);
}

static void append_synced(bench *b, uint64_t first, uint32_t count, const char *payload)
{
    CHECK_INT(append(b, SF_ENTRY_ROWS, first, count, payload), SF_OK);
    CHECK_INT(sf_journal_sync(b->journal, &b->err), SF_OK);
}

/* What a cursor from position sees, as "kind first+count@ms payload; ...". */
static void check_from(bench *b, uint64_t position, const char *want)
{
    sf_journal_cursor *cursor = NULL;
    sf_entry entry;
    bool more = true;
    sf_buf got = {0};
    sf_buf_puts(&got, "");
    sf_status status = sf_journal_read_from(b->journal, position, &cursor, &b->err);
    while (status == SF_OK && more) {
        status = sf_journal_next(cursor, &entry, &more, &b->err);
        if (status == SF_OK && more)
            sf_buf_printf(&got, "%d %llu+%u@%lld %.*s; ", (int)entry.kind,
                          (unsigned long long)entry.first_position, entry.count,
                          (long long)entry.wall_ms, SF_STR_ARG(entry.payload));
    }
    if (status != SF_OK)
        sf_buf_printf(&got, "%s", sf_status_name(status));
    CHECK_STR(got.data, want);
    sf_journal_cursor_close(cursor);
    sf_buf_deinit(&got);
}

static void entries_come_back_in_order(void)
{
    bench b;
    bench_open(&b, 0);
    CHECK(sf_journal_inspect(b.journal).empty);
    check_from(&b, 0, "");
    CHECK_INT(append(&b, SF_ENTRY_ROWS, 10, 3, "abc"), SF_OK);
    check_from(&b, 10, ""); /* not durable yet */
    b.time.now_ms = 1001;
    CHECK_INT(append(&b, SF_ENTRY_WATERMARK, 13, 0, "w"), SF_OK);
    CHECK_INT(append(&b, SF_ENTRY_CLOCK, 13, 1, ""), SF_OK);
    CHECK_INT(append(&b, SF_ENTRY_ROWS, 14, 2, "de"), SF_OK);
    sf_journal_info info = sf_journal_inspect(b.journal);
    CHECK_INT(info.durable_position, 10);
    CHECK_INT(info.next_position, 16);
    CHECK_INT(sf_journal_sync(b.journal, &b.err), SF_OK);
    for (int round = 0; round < 2; round++) {
        info = sf_journal_inspect(b.journal);
        CHECK(!info.empty);
        CHECK_INT(info.first_position, 10);
        CHECK_INT(info.durable_position, 16);
        CHECK_INT(info.next_position, 16);
        CHECK_INT(info.segments, 1);
        CHECK_INT(info.size_bytes, HEADER_BYTES + 4 * 48 + 3 + 1 + 0 + 2);
        check_from(&b, 10, "1 10+3@1000 abc; 2 13+0@1001 w; 3 13+1@1001 ; 1 14+2@1001 de; ");
        check_from(&b, 12, "1 10+3@1000 abc; 2 13+0@1001 w; 3 13+1@1001 ; 1 14+2@1001 de; ");
        check_from(&b, 13, "2 13+0@1001 w; 3 13+1@1001 ; 1 14+2@1001 de; ");
        check_from(&b, 15, "1 14+2@1001 de; ");
        check_from(&b, 16, "");
        check_from(&b, 17, "INVALID");
        check_from(&b, 9, "NOT_FOUND");
        REQUIRE_OK(bench_reopen(&b), b.err);
    }
    CHECK_STR(b.logged.data, "");
    bench_close(&b);
}

static void appends_are_checked(void)
{
    bench b;
    bench_open(&b, 0);
    sf_entry huge = {SF_ENTRY_ROWS, 5, 1, 0, {"", (size_t)SF_JOURNAL_ENTRY_BYTES_MAX + 1}};
    uint64_t lsn;
    CHECK_INT(sf_journal_append(b.journal, &huge, &lsn, &b.err), SF_LIMIT);
    CHECK_INT(append(&b, SF_ENTRY_ROWS, 5, 0, "x"), SF_INVALID);
    CHECK_INT(append(&b, SF_ENTRY_ROWS, 5, 1, "x"), SF_OK);
    CHECK_INT(append(&b, SF_ENTRY_ROWS, 5, 1, "x"), SF_INVALID);
    CHECK_INT(append(&b, SF_ENTRY_ROWS, 7, 1, "x"), SF_INVALID);
    CHECK(strstr(b.err.message, "starts at position 7") && strstr(b.err.message, "goes on at 6"));
    CHECK_INT(append(&b, SF_ENTRY_ROWS, 6, 1, "y"), SF_OK);
    CHECK_INT(sf_journal_sync(b.journal, &b.err), SF_OK);
    check_from(&b, 5, "1 5+1@1000 x; 1 6+1@1000 y; ");

    b.options.buffer_bytes = 100; /* two records of 48 bytes and a few */
    REQUIRE_OK(bench_reopen(&b), b.err);
    CHECK_INT(append(&b, SF_ENTRY_ROWS, 7, 1, "a"), SF_OK);
    CHECK_INT(append(&b, SF_ENTRY_ROWS, 8, 1, "b"), SF_OK);
    CHECK_INT(append(&b, SF_ENTRY_ROWS, 9, 1, "c"), SF_OVERLOADED);
    CHECK_INT(sf_journal_sync(b.journal, &b.err), SF_OK);
    CHECK_INT(append(&b, SF_ENTRY_ROWS, 9, 1,
                     "longer than all of the buffer, but the only one, so "
                     "that it has to be taken, whatever its length"),
              SF_OK);
    bench_close(&b);

    static const sf_journal_options wrong[] = {
        {.segment_bytes = ((uint64_t)1 << 30) + 1},
        {.buffer_bytes = ((size_t)1 << 30) + 1},
        {.retain_ms = -1},
    };
    bench_open(&b, 0);
    for (size_t i = 0; i < SF_COUNT_OF(wrong); i++) {
        sf_journal *none = NULL;
        CHECK_INT(sf_journal_open(&b.disk, &b.clock, "d/x", &wrong[i], &none, &b.err), SF_INVALID);
    }
    bench_close(&b);
}

/* 100 bytes a segment: the header and one record fill it. Segment n holds position n. */
static void fill_segments(bench *b, uint64_t count)
{
    static const char *const payloads[] = {"p0--", "p1--", "p2--", "p3--", "p4--", "p5--"};
    for (uint64_t n = 1; n <= count; n++) {
        b->time.now_ms = (int64_t)n * 1000;
        append_synced(b, n, 1, payloads[n]);
    }
}

static void segments_follow_each_other(void)
{
    bench b;
    bench_open(&b, 100);
    fill_segments(&b, 4);
    for (int round = 0; round < 2; round++) {
        CHECK_INT(sf_journal_inspect(b.journal).segments, 4);
        CHECK_INT(sf_journal_inspect(b.journal).size_bytes, 400);
        check_from(&b, 1, "1 1+1@1000 p1--; 1 2+1@2000 p2--; 1 3+1@3000 p3--; 1 4+1@4000 p4--; ");
        check_from(&b, 3, "1 3+1@3000 p3--; 1 4+1@4000 p4--; ");
        check_from(&b, 4, "1 4+1@4000 p4--; ");
        check_from(&b, 5, "");
        REQUIRE_OK(bench_reopen(&b), b.err);
    }
    append_synced(&b, 5, 1, "p5--");
    check_from(&b, 4, "1 4+1@4000 p4--; 1 5+1@4000 p5--; ");
    bench_close(&b);
}

static void a_cursor_follows_the_end(void)
{
    bench b;
    sf_journal_cursor *cursor = NULL;
    sf_entry entry;
    bool more;
    bench_open(&b, 100);
    REQUIRE_OK(sf_journal_read_from(b.journal, 0, &cursor, &b.err), b.err);
    for (uint64_t n = 0; n < 5; n++) {
        REQUIRE_OK(sf_journal_next(cursor, &entry, &more, &b.err), b.err);
        CHECK(!more);
        append_synced(&b, n, 1, "x");
        REQUIRE_OK(sf_journal_next(cursor, &entry, &more, &b.err), b.err);
        CHECK(more && entry.first_position == n);
    }
    sf_journal_cursor_close(cursor);
    sf_journal_cursor_close(NULL);
    bench_close(&b);
}

static void old_segments_go(void)
{
    static const struct {
        uint64_t retain_bytes;
        int64_t retain_ms;
        uint64_t hold;
        uint64_t first_left;
    } rows[] = {
        /* Segments of 100 bytes, started at 1000, 2000, ... 5000; now is 5000. */
        {0, 0, UINT64_MAX, 1},
        {300, 0, UINT64_MAX, 3},
        {299, 0, UINT64_MAX, 4},
        {1, 0, UINT64_MAX, 5}, /* the current one always stays */
        {0, 2000, UINT64_MAX, 2},
        {0, 1999, UINT64_MAX, 3}, /* segment 2 ended when 3 started: 2000 ms ago */
        {1, 0, 3, 3},             /* position 3 is needed: segment 3 stays */
        {1, 0, 1, 1},
        {0, 1, 4, 4},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        bench b;
        bench_open(&b, 100);
        fill_segments(&b, 5);
        b.options.retain_bytes = rows[i].retain_bytes;
        b.options.retain_ms = rows[i].retain_ms;
        REQUIRE_OK(bench_reopen(&b), b.err);
        sf_journal_hold(b.journal, rows[i].hold);
        sf_journal_expire(b.journal);
        CHECK_INT(sf_journal_inspect(b.journal).first_position, rows[i].first_left);
        REQUIRE_OK(bench_reopen(&b), b.err);
        CHECK_INT(sf_journal_inspect(b.journal).first_position, rows[i].first_left);
        CHECK_INT(sf_journal_inspect(b.journal).next_position, 6);
        bench_close(&b);
    }
}

static void retention_runs_by_itself_and_overtakes_readers(void)
{
    bench b;
    sf_journal_cursor *cursor = NULL;
    sf_entry entry;
    bool more;
    bench_open(&b, 100);
    b.options.retain_bytes = 200;
    REQUIRE_OK(bench_reopen(&b), b.err);
    append_synced(&b, 1, 1, "p1--");
    REQUIRE_OK(sf_journal_read_from(b.journal, 1, &cursor, &b.err), b.err);
    for (uint64_t n = 2; n <= 5; n++)
        append_synced(&b, n, 1, "x---");
    CHECK_INT(sf_journal_inspect(b.journal).segments, 2);
    check_from(&b, 4, "1 4+1@1000 x---; 1 5+1@1000 x---; ");
    check_from(&b, 3, "NOT_FOUND");
    REQUIRE_OK(sf_journal_next(cursor, &entry, &more, &b.err), b.err);
    CHECK(more && entry.first_position == 1); /* its file was still open */
    CHECK_INT(sf_journal_next(cursor, &entry, &more, &b.err), SF_NOT_FOUND);
    sf_journal_cursor_close(cursor);
    bench_close(&b);
}

static void a_failed_removal_is_tried_again(void)
{
    bench b;
    bench_open(&b, 100);
    fill_segments(&b, 3);
    b.options.retain_bytes = 1;
    REQUIRE_OK(bench_reopen(&b), b.err);
    memory_disk_fail_at(b.memory, 1, SF_IO);
    sf_journal_expire(b.journal);
    CHECK_INT(sf_journal_inspect(b.journal).segments, 3);
    CHECK(strstr(b.logged.data, "old segments stay"));
    memory_disk_fail_at(b.memory, 0, SF_OK);
    sf_journal_expire(b.journal);
    CHECK_INT(sf_journal_inspect(b.journal).segments, 1);
    bench_close(&b);
}

static void positions_are_found_by_time(void)
{
    static const struct {
        int64_t wall_ms;
        uint64_t position;
    } rows[] = {{0, 1}, {1000, 1}, {1001, 2}, {3000, 3}, {3500, 4}, {5000, 5}, {5001, 6}};
    bench b;
    uint64_t position;
    bench_open(&b, 100);
    REQUIRE_OK(sf_journal_position_at(b.journal, 5, &position, &b.err), b.err);
    fill_segments(&b, 5);
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        REQUIRE_OK(sf_journal_position_at(b.journal, rows[i].wall_ms, &position, &b.err), b.err);
        CHECK_INT(position, rows[i].position);
    }
    bench_close(&b);
}

/* ---- damage ---- */

static void write_raw(bench *b, const char *path, const void *bytes, size_t len, uint64_t offset)
{
    sf_file *file = NULL;
    CHECK_INT(b->disk.open(b->disk.self, path, 0, &file, &b->err), SF_OK);
    CHECK_INT(b->disk.write(b->disk.self, file, bytes, len, offset, &b->err), SF_OK);
    CHECK_INT(b->disk.sync(b->disk.self, file, &b->err), SF_OK);
    b->disk.close(b->disk.self, file);
}

static void torn_tails_are_cut(void)
{
    /* Two entries of 50 bytes follow the header of 48; what is written over, and what is left. */
    static const struct {
        uint64_t offset;
        const char *bytes;
        size_t len;
        const char *left;
    } rows[] = {
        {148, "garbage", 7, "1 0+2@1000 ab; 1 2+2@1000 cd; "},
        {148,
         "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
         "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
         60, "1 0+2@1000 ab; 1 2+2@1000 cd; "},
        {148, "SFR1", 4, "1 0+2@1000 ab; 1 2+2@1000 cd; "},
        {146, "X", 1, "1 0+2@1000 ab; "},  /* payload of the last */
        {100, "\1", 1, "1 0+2@1000 ab; "}, /* its header */
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        bench b;
        bench_open(&b, 0);
        append_synced(&b, 0, 2, "ab");
        append_synced(&b, 2, 2, "cd");
        write_raw(&b, SEGMENT_1, rows[i].bytes, rows[i].len, rows[i].offset);
        REQUIRE_OK(bench_reopen(&b), b.err);
        CHECK(strstr(b.logged.data, SEGMENT_1 ": cut "));
        check_from(&b, 0, rows[i].left);
        uint64_t next = sf_journal_inspect(b.journal).next_position;
        append_synced(&b, next, 1, "on");
        REQUIRE_OK(bench_reopen(&b), b.err);
        check_from(&b, next, next == 4 ? "1 4+1@1000 on; " : "1 2+1@1000 on; ");
        bench_close(&b);
    }
}

/* One write with three entries, torn in the first: all three go, though the third is whole. */
static void an_unsynced_write_goes_as_a_whole(void)
{
    bench b;
    bench_open(&b, 0);
    append_synced(&b, 0, 1, "kept");
    CHECK_INT(append(&b, SF_ENTRY_ROWS, 1, 1, "a"), SF_OK);
    CHECK_INT(append(&b, SF_ENTRY_ROWS, 2, 1, "b"), SF_OK);
    append_synced(&b, 3, 1, "c");
    write_raw(&b, SEGMENT_1, "X", 1, 48 + 52 + 20);
    REQUIRE_OK(bench_reopen(&b), b.err);
    check_from(&b, 0, "1 0+1@1000 kept; ");
    bench_close(&b);
}

static void damage_in_the_middle_is_reported(void)
{
    bench b;
    size_t len;
    bench_open(&b, 0);
    append_synced(&b, 0, 2, "ab");
    append_synced(&b, 2, 2, "cd");
    append_synced(&b, 4, 2, "ef");
    write_raw(&b, SEGMENT_1, "X", 1, 146);
    CHECK_INT(bench_reopen(&b), SF_CORRUPT);
    CHECK(strstr(b.err.message, "\"" SEGMENT_1 "\" is damaged at offset 98"));
    CHECK(strstr(b.err.message, "payload"));
    REQUIRE(memory_disk_bytes(b.memory, SEGMENT_1, &len));
    CHECK_INT(len, 198); /* nothing was cut */
    bench_close(&b);
}

static void damage_in_old_segments_is_met_by_readers(void)
{
    bench b;
    bench_open(&b, 100);
    fill_segments(&b, 3);
    write_raw(&b, SEGMENT_2, "X", 1, 97);
    REQUIRE_OK(bench_reopen(&b), b.err);
    check_from(&b, 1, "1 1+1@1000 p1--; CORRUPT");
    CHECK(strstr(b.err.message, "\"" SEGMENT_2 "\" is damaged at offset 48"));
    bench_close(&b);
}

static void missing_and_foreign_segments_are_reported(void)
{
    bench b;
    bench_open(&b, 100);
    fill_segments(&b, 3);
    CHECK_INT(b.disk.remove(b.disk.self, SEGMENT_2, &b.err), SF_OK);
    CHECK_INT(bench_reopen(&b), SF_CORRUPT);
    CHECK(strstr(b.err.message, "\"" SEGMENT_2 "\" is missing"));
    CHECK_INT(b.disk.rename(b.disk.self, SEGMENT_1, SEGMENT_2, &b.err), SF_OK);
    CHECK_INT(bench_reopen(&b), SF_CORRUPT);
    CHECK(strstr(b.err.message, "another segment's file"));
    bench_close(&b);
}

static void headers_are_checked(void)
{
    bench b;
    bench_open(&b, 0);
    append_synced(&b, 0, 2, "ab");
    write_raw(&b, SEGMENT_1, "\xff", 1, 17);
    CHECK_INT(bench_reopen(&b), SF_CORRUPT);
    bench_close(&b);

    bench_open(&b, 0); /* format 2, with a checksum that fits */
    append_synced(&b, 0, 2, "ab");
    size_t len;
    uint8_t *bytes = memory_disk_bytes(b.memory, SEGMENT_1, &len);
    bytes[8] = 2;
    uint32_t crc = sf_crc32c(0, bytes, 44);
    for (int i = 0; i < 4; i++)
        bytes[44 + i] = (uint8_t)(crc >> (8 * i));
    CHECK_INT(bench_reopen(&b), SF_UNSUPPORTED);
    CHECK(strstr(b.err.message, "has format 2, written by a newer version"));
    bench_close(&b);

    bench_open(&b, 100); /* a segment that was being made */
    append_synced(&b, 0, 2, "ab--");
    append_synced(&b, 2, 2, "cd--");
    sf_file *file = NULL;
    CHECK_INT(b.disk.open(b.disk.self, SEGMENT_2, 0, &file, &b.err), SF_OK);
    CHECK_INT(b.disk.truncate(b.disk.self, file, 20, &b.err), SF_OK);
    b.disk.close(b.disk.self, file);
    REQUIRE_OK(bench_reopen(&b), b.err);
    CHECK(strstr(b.logged.data, SEGMENT_2 ": removed"));
    append_synced(&b, 2, 1, "on--");
    check_from(&b, 0, "1 0+2@1000 ab--; 1 2+1@1000 on--; ");
    bench_close(&b);
}

static void a_journal_can_be_destroyed(void)
{
    scratch s = scratch_make();
    sf_buf dir = scratch_path(&s, "j"), stranger = scratch_path(&s, "j/stranger");
    still_clock time = {1};
    sf_clock clock = still_clock_seam(&time);
    sf_journal_options options = {.segment_bytes = 100};
    sf_journal *journal = NULL;
    uint64_t lsn, size;
    sf_error err;
    for (int round = 0; round < 2; round++) {
        REQUIRE_OK(sf_journal_open(&s.disk, &clock, dir.data, &options, &journal, &err), err);
        CHECK(sf_journal_inspect(journal).empty);
        for (uint64_t n = 0; n < 3; n++) {
            sf_entry entry = {SF_ENTRY_ROWS, n, 1, 0, SF_STR("data")};
            REQUIRE_OK(sf_journal_append(journal, &entry, &lsn, &err), err);
            REQUIRE_OK(sf_journal_commit(journal, lsn, &err), err);
        }
        sf_journal_close(journal);
        if (round == 1) /* what is not the journal's stays */
            REQUIRE_OK(sf_disk_replace(&s.disk, stranger.data, "x", 1, &err), err);
        REQUIRE_OK(sf_journal_destroy(&s.disk, dir.data, &err), err);
        CHECK_INT(s.disk.stat(s.disk.self, dir.data, &size, NULL, NULL, &err),
                  round == 0 ? SF_NOT_FOUND : SF_OK);
    }
    CHECK_INT(s.disk.stat(s.disk.self, stranger.data, &size, NULL, NULL, &err), SF_OK);
    sf_buf_deinit(&dir);
    sf_buf_deinit(&stranger);
    scratch_remove(&s);
}

static void a_big_entry_is_read_whole(void)
{
    bench b;
    uint64_t lsn;
    sf_buf big = {0};
    sf_journal_cursor *cursor = NULL;
    sf_entry got;
    bool more;
    bench_open(&b, 0);
    for (uint32_t i = 0; i < 300000; i++)
        sf_buf_put_u32(&big, i);
    sf_entry entry = {SF_ENTRY_ROWS, 0, 1, 0, sf_buf_str(&big)};
    REQUIRE_OK(sf_journal_append(b.journal, &entry, &lsn, &b.err), b.err);
    entry.first_position = 1;
    REQUIRE_OK(sf_journal_append(b.journal, &entry, &lsn, &b.err), b.err);
    REQUIRE_OK(bench_reopen(&b), b.err);
    REQUIRE_OK(sf_journal_read_from(b.journal, 0, &cursor, &b.err), b.err);
    for (uint64_t n = 0; n < 2; n++) {
        REQUIRE_OK(sf_journal_next(cursor, &got, &more, &b.err), b.err);
        CHECK(more && got.first_position == n && sf_str_eq(got.payload, sf_buf_str(&big)));
    }
    sf_journal_cursor_close(cursor);
    sf_buf_deinit(&big);
    bench_close(&b);
}

int run_journal_cases(void)
{
    static const sf_case cases[] = {
        SF_CASE(entries_come_back_in_order),
        SF_CASE(appends_are_checked),
        SF_CASE(segments_follow_each_other),
        SF_CASE(a_cursor_follows_the_end),
        SF_CASE(old_segments_go),
        SF_CASE(retention_runs_by_itself_and_overtakes_readers),
        SF_CASE(a_failed_removal_is_tried_again),
        SF_CASE(positions_are_found_by_time),
        SF_CASE(torn_tails_are_cut),
        SF_CASE(an_unsynced_write_goes_as_a_whole),
        SF_CASE(damage_in_the_middle_is_reported),
        SF_CASE(damage_in_old_segments_is_met_by_readers),
        SF_CASE(missing_and_foreign_segments_are_reported),
        SF_CASE(headers_are_checked),
        SF_CASE(a_journal_can_be_destroyed),
        SF_CASE(a_big_entry_is_read_whole),
    };
    return sf_run_cases("journal", cases, SF_COUNT_OF(cases));
}

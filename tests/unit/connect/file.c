/* Kind file, on a disk that holds one file and can be made to fail. */
#include "tests.h"

#include <stdio.h>

/* ---- the disk ---- */

static struct {
    bool missing, is_dir;
    int64_t mtime_ms;
    sf_buf bytes;
    int fail_read; /* the n-th read from now fails; 0: none */
    int open_files;
} disk_state;

static sf_status disk_open(void *self, const char *path, unsigned flags, sf_file **out,
                           sf_error *err)
{
    SF_UNUSED(self);
    CHECK_STR(path, "/in/rows");
    CHECK_INT(flags, SF_OPEN_READONLY);
    if (disk_state.missing)
        return sf_fail(err, SF_NOT_FOUND, "cannot open \"%s\"", path);
    disk_state.open_files++;
    *out = (sf_file *)(void *)&disk_state;
    return SF_OK;
}

static void disk_close(void *self, sf_file *file)
{
    SF_UNUSED(self);
    CHECK((void *)file == (void *)&disk_state);
    disk_state.open_files--;
}

static sf_status disk_read(void *self, sf_file *file, void *bytes, size_t len, uint64_t offset,
                           size_t *got, sf_error *err)
{
    SF_UNUSED(self);
    SF_UNUSED(file);
    if (disk_state.fail_read > 0 && --disk_state.fail_read == 0)
        return sf_fail(err, SF_IO, "cannot read");
    size_t left = offset < disk_state.bytes.len ? disk_state.bytes.len - offset : 0;
    *got = left < len ? left : len;
    memcpy(bytes, disk_state.bytes.data + (*got ? offset : 0), *got);
    return SF_OK;
}

static sf_status disk_stat(void *self, const char *path, uint64_t *size, int64_t *mtime_ms,
                           bool *is_dir, sf_error *err)
{
    SF_UNUSED(self);
    if (disk_state.missing)
        return sf_fail(err, SF_NOT_FOUND, "cannot find \"%s\"", path);
    *size = disk_state.bytes.len;
    *mtime_ms = disk_state.mtime_ms;
    *is_dir = disk_state.is_dir;
    return SF_OK;
}

static hand_clock clock_now;

static sf_source_port make_port(void)
{
    sf_buf_deinit(&disk_state.bytes);
    memset(&disk_state, 0, sizeof disk_state);
    disk_state.mtime_ms = 1000;
    clock_now = (hand_clock){.wall_ms = 1709287200000, .mono_ns = 1}; /* 2024-03-01T10:00:00Z */
    return (sf_source_port){
        .disk = {.open = disk_open, .close = disk_close, .read = disk_read, .stat = disk_stat},
        .clock = hand_clock_table(&clock_now)};
}

/* ---- sources and what they give ---- */

static const sf_field fields[] = {{"n", SF_TYPE_I64, false}, {"s", SF_TYPE_UTF8, false}};

typedef struct {
    const char *format, *schedule;
    sf_coercion on_misfit;
} file_setup;

static sf_status try_open(const file_setup *setup, sf_str position, const sf_source_port *port,
                          sf_source **out, sf_error *err)
{
    char connector[256];
    snprintf(connector, sizeof connector,
             "{\"file\":{\"path\":\"/in/rows\",\"format\":\"%s\"},\"schedule\":%s}", setup->format,
             setup->schedule ? setup->schedule : "null");
    sf_schema *schema = source_schema(fields, SF_COUNT_OF(fields));
    sf_source_config config = {.name = SF_STR("s"),
                               .schema = schema,
                               .connector = sf_str_of(connector),
                               .on_misfit = setup->on_misfit};
    const sf_source_kind *kind = sf_source_kind_find(SF_STR("file"));
    sf_status status = sf_source_check(kind, &config, err);
    if (status == SF_OK)
        status = sf_source_open(kind, &config, position, port, out, err);
    sf_schema_unref(schema);
    return status;
}

static sf_source *open_file(const file_setup *setup, sf_str position, const sf_source_port *port)
{
    sf_source *source = NULL;
    sf_error err;
    sf_status status = try_open(setup, position, port, &source, &err);
    if (status != SF_OK)
        printf("  %s\n", err.message);
    SF_ASSERT(status == SF_OK);
    return source;
}

/* The sum of all n and how many rows, so that a lost or repeated row shows. */
typedef struct {
    uint64_t rows;
    int64_t sum, next; /* next: n expected, counting from 1 */
    bool in_order;
} tally;

static void add_rows(tally *t, const sf_poll *poll)
{
    for (size_t i = 0; i < poll->batches.len; i++) {
        const sf_batch *batch = poll->batches.data[i];
        for (uint32_t row = 0; row < batch->rows; row++) {
            int64_t n = long_at(batch, "n", row);
            t->in_order &= n == t->next++;
            t->sum += n;
            t->rows++;
            char want[32];
            snprintf(want, sizeof want, "row number %lld", (long long)n);
            t->in_order &= sf_str_eq(text_at(batch, "s", row), sf_str_of(want));
        }
    }
}

enum { FILE_ROWS = 5000 };

static void write_file(const char *format)
{
    sf_buf *out = &disk_state.bytes;
    sf_buf_clear(out);
    bool is_csv = strcmp(format, "csv") == 0, is_json = strcmp(format, "json") == 0;
    sf_buf_puts(out, is_csv ? "n,s\r\n" : is_json ? "[" : "");
    for (int n = 1; n <= FILE_ROWS; n++) {
        if (is_csv)
            sf_buf_printf(out, "%d,row number %d\r\n", n, n);
        else
            sf_buf_printf(out, "%s{\"n\":%d,\"s\":\"row number %d\"}%s",
                          is_json && n > 1 ? ",\n" : "", n, n, is_json ? "" : "\n");
    }
    if (is_json)
        sf_buf_puts(out, "]");
    SF_ASSERT(!out->failed);
}

static const char *const formats[] = {"ndjson", "json", "csv"};

static void check_all(const tally *t)
{
    CHECK_INT(t->rows, FILE_ROWS);
    CHECK(t->in_order);
    CHECK_INT(t->sum, (int64_t)FILE_ROWS * (FILE_ROWS + 1) / 2);
}

static void read_out(sf_source *source, uint32_t budget, tally *t, sf_poll *poll)
{
    sf_error err;
    do {
        REQUIRE_OK(sf_source_poll(source, budget, poll, &err), err);
        add_rows(t, poll);
    } while (!poll->caught_up);
}

/* ---- reading ---- */

void file_is_read_when_it_changes(void)
{
    for (size_t f = 0; f < SF_COUNT_OF(formats); f++) {
        sf_source_port port = make_port();
        write_file(formats[f]);
        sf_source *source = open_file(&(file_setup){.format = formats[f]}, SF_STR(""), &port);
        sf_poll poll = {0};
        tally t = {.next = 1, .in_order = true};
        read_out(source, 100, &t, &poll);
        check_all(&t);
        CHECK_INT(disk_state.open_files, 0);
        CHECK_INT(poll.next_mono_ns, 1 + 30000000000LL);
        CHECK_INT(long_at(poll.batches.data[0], SF_COL_TS, 0), clock_now.wall_ms);

        clock_now.mono_ns = poll.next_mono_ns; /* the same file: nothing */
        t = (tally){.next = 1, .in_order = true};
        read_out(source, 100, &t, &poll);
        CHECK_INT(t.rows, 0);
        clock_now.mono_ns = poll.next_mono_ns; /* touched: all of it again */
        disk_state.mtime_ms++;
        read_out(source, 1000000, &t, &poll);
        check_all(&t);

        clock_now.mono_ns = poll.next_mono_ns; /* longer within one tick of its clock */
        sf_buf_putc(&disk_state.bytes, '\n');
        t = (tally){.next = 1, .in_order = true};
        read_out(source, 1000000, &t, &poll);
        check_all(&t);

        clock_now.mono_ns = poll.next_mono_ns; /* changed while it is read: from the start */
        disk_state.mtime_ms++;
        sf_error err;
        REQUIRE_OK(sf_source_poll(source, 10, &poll, &err), err);
        CHECK(poll.rows > 0 && !poll.caught_up);
        disk_state.mtime_ms++;
        t = (tally){.next = 1, .in_order = true};
        read_out(source, 100, &t, &poll);
        check_all(&t);
        sf_poll_deinit(&poll);
        sf_source_close(source);
        CHECK_INT(disk_state.open_files, 0);
    }
}

void file_goes_on_at_its_position(void)
{
    for (size_t f = 0; f < SF_COUNT_OF(formats); f++) {
        sf_source_port port = make_port();
        write_file(formats[f]);
        tally t = {.next = 1, .in_order = true};
        sf_buf position = {0};
        uint32_t restarts = 0;
        for (bool done = false; !done; restarts++) { /* a restart after every poll */
            file_setup setup = {.format = formats[f]};
            sf_source *source = open_file(&setup, sf_buf_str(&position), &port);
            sf_poll poll = {0};
            sf_error err;
            REQUIRE_OK(sf_source_poll(source, 50, &poll, &err), err);
            add_rows(&t, &poll);
            done = poll.caught_up;
            sf_buf_clear(&position);
            sf_buf_put(&position, poll.position.data, poll.position.len);
            sf_poll_deinit(&poll);
            sf_source_close(source);
        }
        CHECK(restarts > 5);
        check_all(&t);

        /* A file taken is not taken again. */
        sf_source *source =
            open_file(&(file_setup){.format = formats[f]}, sf_buf_str(&position), &port);
        sf_poll poll = {0};
        t = (tally){.next = 1, .in_order = true};
        read_out(source, 50, &t, &poll);
        CHECK_INT(t.rows, 0);
        CHECK(sf_str_eq(sf_buf_str(&poll.position), sf_buf_str(&position)));
        sf_poll_deinit(&poll);
        sf_source_close(source);
        sf_buf_deinit(&position);
    }
}

/* ---- failures ---- */

void file_failures_change_nothing(void)
{
    for (size_t f = 0; f < SF_COUNT_OF(formats); f++) {
        sf_source_port port = make_port();
        write_file(formats[f]);
        sf_source *source = open_file(&(file_setup){.format = formats[f]}, SF_STR(""), &port);
        sf_poll poll = {0};
        sf_error err;
        tally t = {.next = 1, .in_order = true};
        int failures = 0;
        for (int i = 0; !poll.caught_up; i++) { /* now and then a read fails */
            if (i % 4 == 1)
                disk_state.fail_read = 1 + i / 4 % 2;
            sf_status status = sf_source_poll(source, 50, &poll, &err);
            if (status != SF_OK) {
                CHECK_INT(status, SF_IO);
                CHECK_INT(poll.batches.len, 0);
                CHECK_INT(poll.position.len, 0);
                CHECK_INT(disk_state.open_files, 0);
                failures++;
            }
            add_rows(&t, &poll);
        }
        CHECK(failures > 1);
        check_all(&t);

        clock_now.mono_ns = poll.next_mono_ns;
        disk_state.missing = true;
        CHECK_INT(sf_source_poll(source, 10, &poll, &err), SF_NOT_FOUND);
        CHECK_INT(sf_source_retry_ns(source, 1), clock_now.mono_ns + 30000000000LL);
        CHECK_INT(sf_source_retry_ns(source, 3), clock_now.mono_ns + 120000000000LL);
        disk_state.missing = false;
        disk_state.is_dir = true;
        CHECK_INT(sf_source_poll(source, 10, &poll, &err), SF_INVALID);
        CHECK_STR(err.message, "\"/in/rows\" is a directory");
        disk_state.is_dir = false;
        REQUIRE_OK(sf_source_poll(source, 10, &poll, &err), err); /* unchanged since */
        CHECK_INT(poll.rows, 0);
        sf_poll_deinit(&poll);
        sf_source_close(source);
    }
}

void file_memory_failures_change_nothing(void)
{
    for (size_t f = 0; f < SF_COUNT_OF(formats); f++) {
        sf_source_port port = make_port();
        write_file(formats[f]);
        sf_source *source = open_file(&(file_setup){.format = formats[f]}, SF_STR(""), &port);
        sf_poll poll = {0};
        sf_error err;
        tally t = {.next = 1, .in_order = true};
        for (uint64_t n = 1; !poll.caught_up; n++) {
            sf_alloc_fail_after(n % 40);
            sf_status status = sf_source_poll(source, 300, &poll, &err);
            sf_alloc_fail_after(0);
            CHECK(status == SF_OK || status == SF_LIMIT);
            add_rows(&t, &poll);
        }
        check_all(&t);
        sf_poll_deinit(&poll);
        sf_source_close(source);

        for (uint64_t n = 1;; n++) {
            sf_alloc_fail_after(n);
            source = NULL;
            sf_status status = sf_source_open(
                sf_source_kind_find(SF_STR("file")),
                &(sf_source_config){.connector = SF_STR("{\"file\":{\"path\":\"/in/rows\"}}")},
                SF_STR(""), &port, &source, &err);
            sf_alloc_fail_after(0);
            sf_source_close(source);
            if (status == SF_OK)
                break;
            CHECK_INT(status, SF_LIMIT);
        }
    }
}

void file_faults_are_counted(void)
{
    static const char text[] = "{\"n\":1,\"s\":\"row number 1\"}\n"
                               "{\"n\":\"one\",\"s\":\"row number 0\"}\n"
                               "{broken\n"
                               "{\"n\":2,\"s\":\"row number 2\"}";
    static const struct {
        sf_coercion on_misfit;
        uint64_t rows, dropped;
    } rows[] = {
        {SF_COERCE_NULL, 3, 0},
        {SF_COERCE_DROP_ROW, 2, 1},
        {SF_COERCE_REJECT_BATCH, 0, 3},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_source_port port = make_port();
        sf_buf_puts(&disk_state.bytes, text);
        file_setup setup = {.format = "ndjson", .on_misfit = rows[i].on_misfit};
        sf_source *source = open_file(&setup, SF_STR(""), &port);
        sf_poll poll = {0};
        sf_error err;
        REQUIRE_OK(sf_source_poll(source, 1000, &poll, &err), err);
        CHECK(poll.caught_up);
        CHECK_INT(poll.rows, rows[i].rows);
        CHECK_INT(poll.malformed_rows, 1);
        CHECK_INT(poll.coercion_failures, 1);
        CHECK_INT(poll.dropped_rows, rows[i].dropped);
        CHECK_INT(poll.first_error.line, 2);
        sf_poll_deinit(&poll);
        sf_source_close(source);
    }
}

/* ---- configuration ---- */

void file_config_is_checked(void)
{
    static const struct {
        const char *connector;
        sf_status status;
        const char *message;
    } rows[] = {
        {"null", SF_INVALID, "connector.file is missing"},
        {"{}", SF_INVALID, "connector.file is missing"},
        {"{\"file\":{}}", SF_INVALID, "connector.file.path is missing"},
        {"{\"file\":{\"path\":\"/a\",\"format\":\"fix\"}}", SF_INVALID,
         "connector.file.format does not know \"fix\""},
        {"{\"file\":{\"path\":\"/a\",\"glob\":\"*\"}}", SF_INVALID,
         "connector.file has no field \"glob\""},
        {"{\"file\":{\"path\":\"/a\"},\"url\":{\"url\":\"x\"}}", SF_INVALID,
         "connector has no field \"url\""},
        {"{\"file\":{\"path\":\"/a\"},\"url\":null}", SF_OK, ""},
        {"{\"file\":{\"path\":\"/a\"},\"schedule\":{\"cron\":\"x\"}}", SF_INVALID,
         "cron expression \"x\" does not have 5 or 6 fields"},
        {"{\"file\":{\"path\":\"/a\"},\"mapping\":{\"itemsPath\":\"$\"}}", SF_UNSUPPORTED,
         "a source of kind \"file\" takes no connector.mapping"},
    };
    sf_source_port port = make_port();
    sf_schema *schema = source_schema(fields, SF_COUNT_OF(fields));
    const sf_source_kind *kind = sf_source_kind_find(SF_STR("file"));
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_source_config config = {
            .name = SF_STR("s"), .schema = schema, .connector = sf_str_of(rows[i].connector)};
        sf_error err = {0};
        sf_source *source = NULL;
        CHECK_INT(sf_source_check(kind, &config, &err), rows[i].status);
        CHECK_STR(err.message, rows[i].message);
        CHECK_INT(sf_source_open(kind, &config, SF_STR(""), &port, &source, &err), rows[i].status);
        sf_source_close(source);
    }
    sf_schema_unref(schema);
}

void file_positions_are_checked(void)
{
    sf_source_port port = make_port();
    write_file("csv");
    file_setup setup = {.format = "csv"};
    sf_source *source = open_file(&setup, SF_STR(""), &port);
    sf_poll poll = {0};
    sf_error err;
    REQUIRE_OK(sf_source_poll(source, 50, &poll, &err), err);
    sf_source_close(source);
    sf_str position = sf_buf_str(&poll.position);
    for (size_t len = 1; len < position.len; len++) {
        sf_str cut = {position.data, len};
        CHECK_INT(try_open(&setup, cut, &port, &source, &err), SF_CORRUPT);
    }
    /* The position of another format says nothing about this one. */
    write_file("ndjson");
    source = open_file(&(file_setup){.format = "ndjson"}, position, &port);
    tally t = {.next = 1, .in_order = true};
    sf_poll rest = {0};
    read_out(source, 1000, &t, &rest);
    check_all(&t);
    sf_poll_deinit(&rest);
    sf_poll_deinit(&poll);
    sf_source_close(source);
}

void file_waits_for_its_schedule(void)
{
    sf_source_port port = make_port();
    write_file("ndjson");
    file_setup hourly = {.format = "ndjson", .schedule = "{\"cron\":\"30 * * * *\"}"};
    sf_source *source = open_file(&hourly, SF_STR(""), &port);
    sf_poll poll = {0};
    sf_error err;
    REQUIRE_OK(sf_source_poll(source, 1000, &poll, &err), err);
    CHECK_INT(poll.rows, 0); /* it is ten o'clock: half an hour to wait */
    CHECK_INT(poll.next_mono_ns, 1 + 1800 * 1000000000LL);
    clock_now.mono_ns = poll.next_mono_ns;
    clock_now.wall_ms += 1800 * 1000;
    sf_buf position = {0};
    REQUIRE_OK(sf_source_poll(source, 50, &poll, &err), err);
    CHECK(poll.rows > 0 && !poll.caught_up);
    sf_buf_put(&position, poll.position.data, poll.position.len);
    tally t = {.next = (int64_t)poll.rows + 1, .in_order = true};
    read_out(source, 50, &t, &poll);
    CHECK(t.in_order && t.next == FILE_ROWS + 1);
    CHECK_INT(poll.next_mono_ns, 1 + 5400 * 1000000000LL);
    /* Failures: 30 s, then the first slot that is not before. */
    CHECK_INT(sf_source_retry_ns(source, 1), 1 + 5400 * 1000000000LL);
    clock_now.wall_ms -= 30000; /* half past ten less 30 s: that slot is just reached */
    CHECK_INT(sf_source_retry_ns(source, 1), clock_now.mono_ns + 30000000000LL);
    clock_now.wall_ms += 30000;
    sf_source_close(source);

    /* Half taken when it stopped: the rest does not wait for a slot. */
    source = open_file(&hourly, sf_buf_str(&position), &port);
    REQUIRE_OK(sf_source_poll(source, 50, &poll, &err), err);
    CHECK(poll.rows > 0);
    sf_source_close(source);
    sf_poll_deinit(&poll);
    sf_buf_deinit(&position);
    sf_buf_deinit(&disk_state.bytes);
}

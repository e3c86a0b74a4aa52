/* What a crash, a stop or a removal leaves, and what goes on from there. */
#include "tests.h"

#include <pthread.h>

/* ---- polls and crashes ---- */

enum { FILE_ROWS = 50000 }; /* more than one poll, more than one batch a poll */

/* The rows of <dir>/rows.ndjson: a place in the file is of its path. */
static sf_status add_file(world *w, const char *dir, sf_error *err)
{
    char connector[160];
    sf_schema *schema = sf_relation_schema(kv, 2, SF_INPUT_SOURCE);
    SF_ASSERT(schema);
    snprintf(connector, sizeof connector, "{\"file\":{\"path\":\"%s/rows.ndjson\"}}", dir);
    sf_source_spec spec = {
        .name = "f",
        .kind = sf_source_kind_find(SF_STR("file")),
        .config = {.name = SF_STR("f"), .schema = schema, .connector = sf_str_of(connector)},
        .journaled = true,
        .enabled = true};
    sf_status status = sf_runtime_add_source(w->runtime, &spec, err);
    sf_schema_unref(schema);
    return status;
}

static bool write_rows(const world *w)
{
    char path[96];
    snprintf(path, sizeof path, "%s/rows.ndjson", w->dir);
    FILE *file = fopen(path, "w");
    for (int i = 0; file && i < FILE_ROWS; i++)
        fprintf(file, "{\"k\":%d,\"v\":1}\n", i % 2);
    return file && fclose(file) == 0;
}

static sf_journal *open_journal(const char *dir)
{
    char path[128];
    sf_error err = {0};
    sf_journal *journal = NULL;
    sf_journal_options options = {0};
    sf_disk disk = sf_disk_system();
    sf_clock clock = sf_clock_system();
    snprintf(path, sizeof path, "%s/sources/f", dir);
    if (disk.make_dir(disk.self, path, &err) != SF_OK ||
        sf_journal_open(&disk, &clock, path, &options, &journal, &err) != SF_OK)
        printf("  %s\n", err.message);
    return journal;
}

/* Makes a journal of another's first entries. Rows they hold. */
static uint64_t copy_entries(const char *from_dir, const char *to_dir, uint32_t count,
                             uint32_t *copied)
{
    sf_error err = {0};
    sf_journal *from = open_journal(from_dir), *to = open_journal(to_dir);
    sf_journal_cursor *cursor = NULL;
    uint64_t rows = 0, lsn;
    bool more = true;
    SF_ASSERT(from && to);
    CHECK_INT(sf_journal_read_from(from, 0, &cursor, &err), SF_OK);
    for (*copied = 0; *copied < count; ++*copied) {
        sf_entry entry;
        CHECK_INT(sf_journal_next(cursor, &entry, &more, &err), SF_OK);
        if (!more)
            break;
        CHECK_INT(sf_journal_append(to, &entry, &lsn, &err), SF_OK);
        rows += entry.kind == SF_ENTRY_ROWS ? entry.count : 0;
    }
    sf_journal_cursor_close(cursor);
    sf_journal_close(from);
    sf_journal_close(to);
    return rows;
}

/* A crash keeps some of the first entries of a journal. However many: every row of the file comes
 * once. */
void polls_are_kept_whole(void)
{
    static const char sums[] = "SELECT k, SUM(v) AS s FROM f GROUP BY k";
    world w = {0};
    char text[TEXT_BYTES], command[256];
    sf_error err = {0};
    CHECK(world_open(&w));
    REQUIRE(write_rows(&w));
    CHECK_INT(add_file(&w, w.dir, &err), SF_OK);
    world_start(&w);
    world_pass(&w, 2000);
    sf_source_stats stats;
    CHECK_INT(sf_runtime_source_stats(w.runtime, "f", &stats, &err), SF_OK);
    CHECK_INT(stats.position, FILE_ROWS);
    world_close(&w);
    uint32_t count = 0;
    for (bool more = true; more; count++) {
        uint32_t copied;
        world after = {0};
        snprintf(after.dir, sizeof after.dir, "%.40s-%u", w.dir, count);
        snprintf(command, sizeof command, "mkdir -p %s", after.dir);
        REQUIRE(system(command) == 0);
        uint64_t rows = copy_entries(w.dir, after.dir, count, &copied);
        CHECK(rows <= FILE_ROWS);
        CHECK(world_open(&after));
        CHECK_INT(add_file(&after, w.dir, &err), SF_OK);
        CHECK_INT(start_query(&after, "t", SF_PLAN_TABLE, sums, &err), SF_OK);
        world_start(&after);
        world_pass(&after, 2000);
        CHECK_STR(table_of(&after, "t", text), " 0:25000 1:25000");
        world_remove(&after);
        more = copied == count;
    }
    CHECK(count > 3); /* two entries at least */
    world_remove(&w);
}

/* Little memory for a source's rows makes it slower, and nothing else. */
void small_logs_suffice(void)
{
    world w = {.log_bytes = 8192};
    char text[TEXT_BYTES];
    sf_error err = {0};
    sf_source_stats stats;
    CHECK(world_open(&w));
    REQUIRE(write_rows(&w));
    CHECK_INT(add_source(&w, "s", false), SF_OK);
    CHECK_INT(add_file(&w, w.dir, &err), SF_OK);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    CHECK_INT(start_query(&w, "u", SF_PLAN_TABLE, "SELECT COUNT(*) AS n FROM f", &err), SF_OK);
    world_start(&w);
    for (int i = 0; i < 100; i++)
        push_all(&w, "s", four, 4);
    world_pass(&w, 2000);
    CHECK_STR(table_of(&w, "t", text), " 1:1500 2:2000 3:100");
    CHECK_STR(table_of(&w, "u", text), " 50000");
    CHECK_INT(sf_runtime_source_stats(w.runtime, "s", &stats, &err), SF_OK);
    CHECK(stats.log_bytes < 8192);
    world_remove(&w);
}

/* ---- tables at other epochs ---- */

#define TOTAL "SELECT COUNT(*) AS n, SUM(s) AS total FROM a"

/* A reader that was stopped has seen its input table as it was then. When that has gone on, the
 * reader begins anew; when it has not, it takes up what it had. */
void readers_stand_on_their_tables(void)
{
    for (int crash = 0; crash < 2; crash++) {
        world w = {0}, after = {0};
        char text[TEXT_BYTES], command[256];
        sf_error err = {0};
        CHECK(world_open(&w));
        CHECK_INT(add_source(&w, "s", true), SF_OK);
        world_start(&w);
        CHECK_INT(start_query(&w, "a", SF_PLAN_TABLE, SUMS, &err), SF_OK);
        CHECK_INT(start_query(&w, "u", SF_PLAN_TABLE, TOTAL, &err), SF_OK);
        push_all(&w, "s", four, 2);
        CHECK_STR(table_of(&w, "u", text), " 2:30");
        CHECK_INT(sf_runtime_stop_query(w.runtime, "u", &err), SF_OK);
        CHECK_INT(start_query(&w, "u", SF_PLAN_TABLE, TOTAL, &err), SF_OK);
        world_settle(&w);
        CHECK_STR(table_of(&w, "u", text), " 2:30");
        CHECK_INT(sf_runtime_stop_query(w.runtime, "u", &err), SF_OK);
        push_all(&w, "s", four + 2, 2);
        CHECK_INT(sf_runtime_checkpoint(w.runtime, &err), SF_OK);
        if (crash) { /* the images of two epochs lie side by side */
            snprintf(after.dir, sizeof after.dir, "%.40s-copy", w.dir);
            snprintf(command, sizeof command, "cp -r %s %s", w.dir, after.dir);
            REQUIRE(system(command) == 0);
            CHECK(world_open(&after));
            CHECK_INT(add_source(&after, "s", true), SF_OK);
            CHECK_INT(start_query(&after, "a", SF_PLAN_TABLE, SUMS, &err), SF_OK);
            CHECK_INT(start_query(&after, "u", SF_PLAN_TABLE, TOTAL, &err), SF_OK);
            world_start(&after);
            CHECK_STR(table_of(&after, "a", text), " 1:15 2:20 3:1");
            CHECK_STR(table_of(&after, "u", text), " 3:36");
            push_all(&after, "s", four, 1);
            CHECK_STR(table_of(&after, "u", text), " 3:46");
            world_remove(&after);
        }
        CHECK_INT(start_query(&w, "u", SF_PLAN_TABLE, TOTAL, &err), SF_OK);
        world_settle(&w);
        CHECK_STR(table_of(&w, "u", text), " 3:36");
        push_all(&w, "s", four, 1);
        CHECK_STR(table_of(&w, "u", text), " 3:46");
        world_remove(&w);
    }
}

static bool count_file(void *arg, const char *name)
{
    size_t len = strlen(name);
    *(int *)arg += len > 3 && strcmp(name + len - 3, ".db") == 0;
    return true;
}

static int state_files(const world *w)
{
    char path[96];
    int count = 0;
    sf_error err = {0};
    sf_disk disk = sf_disk_system();
    snprintf(path, sizeof path, "%s/state", w->dir);
    CHECK_INT(disk.list(disk.self, path, count_file, &count, &err), SF_OK);
    return count;
}

/* Queries change groups: each is found where its newest image is, over restarts. */
void groups_part_and_come_back(void)
{
    static const char joined[] = "SELECT a.k, a.s, b.n FROM a JOIN b ON a.k = b.k";
    static const char counts[] = "SELECT k, COUNT(*) AS n FROM s GROUP BY k";
    world w = {0};
    char text[TEXT_BYTES];
    sf_error err = {0};
    CHECK(world_open(&w));
    for (int life = 0; life < 3; life++) {
        CHECK_INT(add_source(&w, "s", true), SF_OK);
        CHECK_INT(start_query(&w, "a", SF_PLAN_TABLE, SUMS, &err), SF_OK);
        CHECK_INT(start_query(&w, "b", SF_PLAN_TABLE, counts, &err), SF_OK);
        world_start(&w);
        push_all(&w, "s", four, 4); /* two groups */
        CHECK_INT(sf_runtime_checkpoint(w.runtime, &err), SF_OK);
        CHECK_INT(start_query(&w, "j", SF_PLAN_TABLE, joined, &err), SF_OK); /* one */
        push_all(&w, "s", four + 3, 1);
        CHECK_INT(sf_runtime_stop_query(w.runtime, "j", &err), SF_OK);
        CHECK_INT(sf_runtime_stop_query(w.runtime, "b", &err), SF_OK);
        push_all(&w, "s", four + 3, 1);
        CHECK_INT(start_query(&w, "b", SF_PLAN_TABLE, counts, &err), SF_OK); /* two again */
        world_settle(&w);
        CHECK_INT(start_query(&w, "j", SF_PLAN_TABLE, joined, &err), SF_OK);
        world_settle(&w);
        static const char *const want[] = {" 1:15:2 2:20:1 3:3:3", " 1:30:4 2:40:2 3:6:6",
                                           " 1:45:6 2:60:3 3:9:9"};
        CHECK_STR(table_of(&w, "j", text), want[life]);
        CHECK_INT(sf_runtime_stop_query(w.runtime, "j", &err), SF_OK);
        world_close(&w);
        CHECK(world_open(&w));
        CHECK_INT(state_files(&w), 1); /* of the last group; what is older is gone */
    }
    world_remove(&w);
}

/* What cannot be read is not overwritten: the query says why it does not run, until its state is
 * given up. */
void foreign_state_is_left_alone(void)
{
    static const uint8_t foreign[] = {99, 0, 0, 0};
    world w = {0};
    char text[TEXT_BYTES], path[96];
    sf_error err = {0};
    sf_query_stats stats;
    sf_source_stats source;
    sf_ckpt *ckpt = NULL;
    sf_disk disk = sf_disk_system();
    CHECK(world_open(&w));
    CHECK_INT(add_source(&w, "s", true), SF_OK);
    world_start(&w);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    push_all(&w, "s", four, 4);
    world_close(&w);
    snprintf(path, sizeof path, "%s/state/group-0.db", w.dir);
    REQUIRE_OK(sf_ckpt_open(&disk, path, &ckpt, &err), err);
    CHECK_INT(sf_ckpt_begin(ckpt, &err), SF_OK);
    CHECK_INT(sf_ckpt_put_blob(ckpt, SF_STR("member:t"), foreign, sizeof foreign, &err), SF_OK);
    CHECK_INT(sf_ckpt_commit(ckpt, &err), SF_OK);
    sf_ckpt_close(ckpt);

    for (int life = 0; life < 2; life++) {
        CHECK(world_open(&w));
        CHECK_INT(add_source(&w, "s", true), SF_OK);
        CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_OK);
        world_start(&w);
        world_pass(&w, 3000);
        sf_runtime_query_stats(w.runtime, "t", &stats);
        CHECK(stats.running && stats.state == SF_MEMBER_FAILED);
        CHECK_INT(stats.error.status, SF_UNSUPPORTED);
        CHECK(strstr(stats.error.message, "\"t\""));
        CHECK_INT(sf_runtime_source_stats(w.runtime, "s", &source, &err), SF_OK);
        CHECK_INT(source.buffered_rows, 0); /* nor does it hold up who pushes */
        if (life == 0)
            world_close(&w);
    }
    CHECK_INT(sf_runtime_stop_query(w.runtime, "t", &err), SF_OK);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_UNSUPPORTED);
    CHECK_INT(sf_runtime_forget_query(w.runtime, "t", &err), SF_OK);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    world_settle(&w);
    CHECK_STR(table_of(&w, "t", text), " 1:15 2:20 3:1");
    world_remove(&w);
}

/* ---- sources of the same name ---- */

static void remake(bool journaled, bool restart)
{
    world w = {0};
    char text[TEXT_BYTES];
    sf_error err = {0};
    sf_source_stats stats;
    CHECK(world_open(&w));
    CHECK_INT(add_source(&w, "s", journaled), SF_OK);
    world_start(&w);
    CHECK_INT(start_query(&w, "a", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    CHECK_INT(start_query(&w, "u", SF_PLAN_TABLE, TOTAL, &err), SF_OK);
    push_all(&w, "s", four, 3);
    CHECK_INT(sf_runtime_stop_query(w.runtime, "u", &err), SF_OK);
    CHECK_INT(sf_runtime_stop_query(w.runtime, "a", &err), SF_OK);
    CHECK_INT(sf_runtime_remove_source(w.runtime, "s", &err), SF_OK);
    if (restart) {
        world_close(&w);
        CHECK(world_open(&w));
    }
    CHECK_INT(add_source(&w, "s", journaled), SF_OK);
    CHECK_INT(sf_runtime_source_stats(w.runtime, "s", &stats, &err), SF_OK);
    CHECK_INT(stats.position, 0);
    CHECK(stats.watermark == SF_MARK_NONE);
    if (restart)
        world_start(&w);
    CHECK_INT(start_query(&w, "a", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    CHECK_INT(start_query(&w, "u", SF_PLAN_TABLE, TOTAL, &err), SF_OK);
    world_settle(&w);
    push_all(&w, "s", four + 3, 1);
    CHECK_STR(table_of(&w, "a", text), " 3:1");
    CHECK_STR(table_of(&w, "u", text), " 1:1");
    world_remove(&w);
}

/* Nothing of a source that was removed is taken for one that has its name now. */
void sources_come_anew(void)
{
    for (int i = 0; i < 4; i++)
        remake(i & 1, i & 2);
}

/* ---- snapshots ---- */

/* A snapshot outlives its query, whose memory is counted as long as the snapshot holds it. */
void snapshots_outlive_queries(void)
{
    world w = {.memory_bytes = 4 << 20};
    char text[TEXT_BYTES];
    sf_error err = {0};
    sf_snapshot *snapshot = NULL;
    sf_schema *schema = NULL;
    uint64_t epoch;
    CHECK(world_open(&w));
    CHECK_INT(add_source(&w, "s", true), SF_OK);
    world_start(&w);
    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    push_all(&w, "s", four, 4);
    REQUIRE_OK(sf_runtime_snapshot(w.runtime, "t", &snapshot, &schema, &epoch, &err), err);
    CHECK_INT(sf_runtime_stop_query(w.runtime, "t", &err), SF_OK);
    CHECK_INT(sf_runtime_forget_query(w.runtime, "t", &err), SF_OK);
    CHECK_STR(answer_of(snapshot, schema, text), " 1:15 2:20 3:1");
    sf_schema_unref(schema);
    for (int i = 0; i < 50; i++) { /* what one has used, the next one may */
        CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_OK);
        world_settle(&w);
        CHECK_INT(sf_runtime_stop_query(w.runtime, "t", &err), SF_OK);
    }
    world_remove(&w);
}

/* ---- a slow disk ---- */

typedef struct {
    sf_disk system;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool held, waiting;
} slow_disk;

/* Opening the file that a source reads takes until it is let go. */
static sf_status open_slowly(void *self, const char *path, unsigned flags, sf_file **out,
                             sf_error *err)
{
    slow_disk *disk = self;
    size_t len = strlen(path);
    if (len > 7 && strcmp(path + len - 7, ".ndjson") == 0) {
        pthread_mutex_lock(&disk->lock);
        disk->waiting = true;
        pthread_cond_broadcast(&disk->changed);
        while (disk->held)
            pthread_cond_wait(&disk->changed, &disk->lock);
        pthread_mutex_unlock(&disk->lock);
    }
    return disk->system.open(disk->system.self, path, flags, out, err);
}

static void *let_go(void *arg)
{
    slow_disk *disk = arg;
    pthread_mutex_lock(&disk->lock);
    disk->held = false;
    pthread_cond_broadcast(&disk->changed);
    pthread_mutex_unlock(&disk->lock);
    return NULL;
}

/* A poll that takes long holds nobody up: not other sources, not who asks about this one. Stopping it
 * waits for its end. */
void slow_polls_hold_nobody_up(void)
{
    slow_disk disk = {.system = sf_disk_system(),
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .changed = PTHREAD_COND_INITIALIZER,
                      .held = true};
    world w = {0};
    char text[TEXT_BYTES];
    sf_error err = {0};
    sf_source_stats stats;
    outcome out;
    pthread_t helper;
    sf_pool_options pool = {.clock = sf_clock_system(), .workers = 1};
    sf_runtime_options options = {
        .port = {.disk = disk.system, .clock = sf_clock_system(), .random = sf_random_system()},
        .dir = w.dir};
    options.port.disk.open = open_slowly;
    options.port.disk.self = &disk;
    snprintf(w.dir, sizeof w.dir, "/tmp/sf-unit-runtime-XXXXXX");
    REQUIRE(mkdtemp(w.dir));
    REQUIRE(write_rows(&w));
    REQUIRE_OK(sf_pool_open(&pool, &options.pool, &err), err);
    REQUIRE_OK(sf_runtime_open(&options, &w.runtime, &err), err);
    CHECK_INT(sf_runtime_start(w.runtime, &err), SF_OK);
    CHECK_INT(add_file(&w, w.dir, &err), SF_OK);
    CHECK_INT(add_source(&w, "s", false), SF_OK);
    pthread_mutex_lock(&disk.lock);
    while (!disk.waiting)
        pthread_cond_wait(&disk.changed, &disk.lock);
    pthread_mutex_unlock(&disk.lock);

    CHECK_INT(start_query(&w, "t", SF_PLAN_TABLE, SUMS, &err), SF_OK);
    CHECK_INT(push(&w, "s", four, 4, &out, &err), SF_OK);
    CHECK_INT(out.calls, 1);
    CHECK_INT(sf_runtime_wait_current(w.runtime, 60000, &err), SF_OK);
    CHECK_STR(table_of(&w, "t", text), " 1:15 2:20 3:1");
    CHECK_INT(sf_runtime_source_stats(w.runtime, "f", &stats, &err), SF_OK);
    CHECK_INT(stats.position, 0);
    REQUIRE(pthread_create(&helper, NULL, let_go, &disk) == 0);
    CHECK_INT(sf_runtime_remove_source(w.runtime, "f", &err), SF_OK);
    pthread_join(helper, NULL);
    CHECK(!disk.held); /* it was waited for */
    sf_runtime_close(w.runtime);
    sf_pool_close(options.pool);
    world_remove(&w);
}

/* Databases: formats, statements, what the disk's failures become, commits across crashes. */
#include "tests.h"

#include <sqlite3.h>

static const char *const first_format[] = {
    "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT) STRICT",
};
static const char *const second_format[] = {
    "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT) STRICT",
    "ALTER TABLE t ADD COLUMN w INTEGER; UPDATE t SET w = id * 10",
};

static sf_db_options options_of(const char *const *upgrades, uint32_t count)
{
    return (sf_db_options){
        .page_bytes = SF_DB_PAGE_CATALOG,
        .application_id = 0x54455354,
        .upgrades = upgrades,
        .upgrade_count = count,
    };
}

static sf_status query(sf_db *db, const char *sql, int64_t *out, sf_error *err)
{
    sf_stmt *stmt = NULL;
    bool row = false;
    SF_TRY(sf_db_prepare(db, sql, &stmt, err));
    sf_status status = sf_stmt_step(stmt, &row, err);
    *out = row ? sf_stmt_i64(stmt, 0) : -1;
    sf_stmt_free(stmt);
    return status;
}

static void values_come_back(void)
{
    scratch s = scratch_make();
    sf_buf path = scratch_path(&s, "a.db");
    sf_db_options options = options_of(first_format, 1);
    sf_db *db = NULL;
    sf_stmt *stmt = NULL;
    bool row = false;
    sf_error err;
    REQUIRE_OK(sf_db_open(&s.disk, path.data, &options, &db, &err), err);
    CHECK_STR(sf_db_path(db), path.data);
    REQUIRE_OK(sf_db_prepare(db, "INSERT INTO t VALUES (?1, ?2)", &stmt, &err), err);
    sf_stmt_bind_i64(stmt, 1, INT64_MIN);
    sf_stmt_bind_text(stmt, 2, SF_STR("it's"));
    REQUIRE_OK(sf_stmt_run(stmt, &err), err);
    CHECK_INT(sf_db_changes(db), 1);
    sf_stmt_bind_i64(stmt, 1, 7);
    REQUIRE_OK(sf_stmt_run(stmt, &err), err); /* text not bound: NULL */
    sf_stmt_bind_i64(stmt, 1, 7);
    CHECK_INT(sf_stmt_run(stmt, &err), SF_EXISTS);
    sf_stmt_bind_i64(stmt, 3, 1); /* there is no third parameter */
    CHECK_INT(sf_stmt_run(stmt, &err), SF_INTERNAL);
    sf_stmt_free(stmt);
    sf_db_close(db);

    REQUIRE_OK(sf_db_open(&s.disk, path.data, &options, &db, &err), err);
    REQUIRE_OK(sf_db_prepare(db, "SELECT id, v FROM t ORDER BY id", &stmt, &err), err);
    REQUIRE_OK(sf_stmt_step(stmt, &row, &err), err);
    CHECK(row && sf_stmt_i64(stmt, 0) == INT64_MIN);
    CHECK(sf_str_eq(sf_stmt_text(stmt, 1), SF_STR("it's")));
    REQUIRE_OK(sf_stmt_step(stmt, &row, &err), err);
    CHECK(row && sf_stmt_is_null(stmt, 1) && !sf_stmt_is_null(stmt, 0));
    REQUIRE_OK(sf_stmt_step(stmt, &row, &err), err);
    CHECK(!row);
    sf_stmt_free(stmt);
    CHECK_INT(sf_db_prepare(db, "SELEC 1", &stmt, &err), SF_INTERNAL);
    CHECK_INT(sf_db_check(db, &err), SF_OK);
    sf_db_close(db);
    sf_db_close(NULL);
    sf_buf_deinit(&path);
    scratch_remove(&s);
}

static void formats_are_upgraded_and_guarded(void)
{
    scratch s = scratch_make();
    sf_buf path = scratch_path(&s, "a.db");
    sf_db_options older = options_of(first_format, 1), newer = options_of(second_format, 2);
    sf_db_options other = newer;
    other.application_id++;
    sf_db *db = NULL;
    int64_t value;
    sf_error err;
    REQUIRE_OK(sf_db_open(&s.disk, path.data, &older, &db, &err), err);
    REQUIRE_OK(sf_db_exec(db, "INSERT INTO t VALUES (4, 'x')", &err), err);
    sf_db_close(db);
    REQUIRE_OK(sf_db_open(&s.disk, path.data, &newer, &db, &err), err);
    REQUIRE_OK(query(db, "SELECT w FROM t", &value, &err), err);
    CHECK_INT(value, 40);
    sf_db_close(db);
    CHECK_INT(sf_db_open(&s.disk, path.data, &older, &db, &err), SF_UNSUPPORTED);
    CHECK(strstr(err.message, "has format 2, written by a newer version"));
    CHECK_INT(sf_db_open(&s.disk, path.data, &other, &db, &err), SF_INVALID);
    sf_buf_deinit(&path);
    scratch_remove(&s);
}

static void a_failed_upgrade_changes_nothing(void)
{
    static const char *const broken[] = {
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT) STRICT",
        "CREATE TABLE u (id INTEGER); this is not SQL",
    };
    scratch s = scratch_make();
    sf_buf path = scratch_path(&s, "a.db");
    sf_db_options older = options_of(first_format, 1), newer = options_of(broken, 2);
    sf_db *db = NULL;
    int64_t value;
    sf_error err;
    REQUIRE_OK(sf_db_open(&s.disk, path.data, &older, &db, &err), err);
    sf_db_close(db);
    CHECK_INT(sf_db_open(&s.disk, path.data, &newer, &db, &err), SF_INTERNAL);
    REQUIRE_OK(sf_db_open(&s.disk, path.data, &older, &db, &err), err);
    REQUIRE_OK(query(db, "SELECT COUNT(*) FROM sqlite_schema", &value, &err), err);
    CHECK_INT(value, 1);
    sf_db_close(db);
    sf_buf_deinit(&path);
    scratch_remove(&s);
}

static void a_file_has_one_owner(void)
{
    scratch s = scratch_make();
    sf_buf path = scratch_path(&s, "a.db");
    sf_db_options options = options_of(first_format, 1);
    sf_db *db = NULL, *second = NULL;
    sf_error err;
    REQUIRE_OK(sf_db_open(&s.disk, path.data, &options, &db, &err), err);
    CHECK_INT(sf_db_open(&s.disk, path.data, &options, &second, &err), SF_CONFLICT);
    sf_db_close(db);
    REQUIRE_OK(sf_db_open(&s.disk, path.data, &options, &second, &err), err);
    sf_db_close(second);
    sf_buf_deinit(&path);
    scratch_remove(&s);
}

/* A tool that looks into a live database would take its log away when it leaves. */
static void other_programs_are_kept_out(void)
{
    scratch s = scratch_make();
    sf_buf path = scratch_path(&s, "a.db");
    sf_db_options options = options_of(first_format, 1);
    sf_db *db = NULL;
    sqlite3 *tool = NULL;
    sf_error err;
    REQUIRE_OK(sf_db_open(&s.disk, path.data, &options, &db, &err), err);
    CHECK_INT(sqlite3_open(path.data, &tool), SQLITE_OK);
    CHECK_INT(sqlite3_exec(tool, "SELECT COUNT(*) FROM t", NULL, NULL, NULL), SQLITE_BUSY);
    sqlite3_close(tool);
    REQUIRE_OK(sf_db_exec(db, "INSERT INTO t VALUES (1, 'x')", &err), err);
    sf_db_close(db);
    CHECK_INT(sqlite3_open(path.data, &tool), SQLITE_OK);
    CHECK_INT(sqlite3_exec(tool, "SELECT COUNT(*) FROM t", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(tool);
    sf_buf_deinit(&path);
    scratch_remove(&s);
}

static void other_files_are_refused_and_kept(void)
{
    scratch s = scratch_make();
    sf_buf path = scratch_path(&s, "a.db"), back = {0}, text = {0};
    sf_db_options options = options_of(first_format, 1);
    sf_db *db = NULL;
    sf_error err;
    for (int i = 0; i < 1000; i++)
        sf_buf_puts(&text, "not a database. ");
    REQUIRE_OK(sf_disk_replace(&s.disk, path.data, text.data, text.len, &err), err);
    CHECK_INT(sf_db_open(&s.disk, path.data, &options, &db, &err), SF_CORRUPT);
    REQUIRE_OK(sf_disk_read_all(&s.disk, path.data, text.len, &back, &err), err);
    CHECK(sf_str_eq(sf_buf_str(&back), sf_buf_str(&text)));
    sf_buf_deinit(&back);
    sf_buf_deinit(&text);
    sf_buf_deinit(&path);
    CHECK_INT(sf_db_open(&s.disk, "/nonexistent/dir/a.db", &options, &db, &err), SF_NOT_FOUND);
    scratch_remove(&s);
}

static void damage_is_found(void)
{
    memory_disk *memory = memory_disk_new();
    sf_disk disk = memory_disk_seam(memory);
    sf_db_options options = options_of(first_format, 1);
    sf_db *db = NULL;
    size_t len;
    sf_error err;
    REQUIRE_OK(sf_db_open(&disk, "d/a.db", &options, &db, &err), err);
    REQUIRE_OK(sf_db_exec(db,
                          "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                          "WHERE i < 1000) INSERT INTO t SELECT i, printf('%050d', i) FROM n",
                          &err),
               err);
    sf_db_close(db);
    uint8_t *bytes = memory_disk_bytes(memory, "d/a.db", &len);
    REQUIRE(bytes && len > 5 * SF_DB_PAGE_CATALOG);
    memset(bytes + 3 * SF_DB_PAGE_CATALOG, 0xee, 64);
    REQUIRE_OK(sf_db_open(&disk, "d/a.db", &options, &db, &err), err);
    CHECK_INT(sf_db_check(db, &err), SF_CORRUPT);
    sf_db_close(db);
    memory_disk_free(memory);
}

/* Inserts 1, 2, 3... each in a transaction of its own; returns how many were committed. */
static int64_t insert_until_failure(const sf_disk *disk, int64_t rows, sf_status *status)
{
    sf_db_options options = options_of(first_format, 1);
    sf_db *db = NULL;
    sf_stmt *stmt = NULL;
    int64_t done = 0;
    sf_error err;
    *status = sf_db_open(disk, "d/a.db", &options, &db, &err);
    if (*status != SF_OK)
        return 0;
    *status = sf_db_prepare(db, "INSERT INTO t VALUES (?1, ?2)", &stmt, &err);
    while (*status == SF_OK && done < rows) {
        *status = sf_db_begin(db, &err);
        sf_stmt_bind_i64(stmt, 1, done + 1);
        sf_stmt_bind_text(stmt, 2, SF_STR("a value of some length, so that pages fill"));
        if (*status == SF_OK)
            *status = sf_stmt_run(stmt, &err);
        if (*status == SF_OK)
            *status = sf_db_commit(db, &err);
        else
            sf_db_rollback(db);
        done += *status == SF_OK;
    }
    sf_stmt_free(stmt);
    sf_db_close(db);
    return done;
}

/* The heart of it: at every change of the disk the process dies, and what was committed is there. */
static void commits_survive_every_crash(void)
{
    enum { ROWS = 12 };
    for (uint64_t at = 1;; at++) {
        sf_status status = SF_OK;
        for (uint64_t seed = 0; seed < 6; seed++) {
            memory_disk *memory = memory_disk_new();
            sf_disk disk = memory_disk_seam(memory);
            sf_db_options options = options_of(first_format, 1);
            sf_db *db = NULL;
            int64_t count = -1, top = -1;
            sf_error err;
            memory_disk_fail_at(memory, at, SF_IO);
            int64_t done = insert_until_failure(&disk, ROWS, &status);
            CHECK(status == SF_OK || status == SF_IO);
            memory_disk_crash(memory, seed);
            REQUIRE_OK(sf_db_open(&disk, "d/a.db", &options, &db, &err), err);
            REQUIRE_OK(query(db, "SELECT COUNT(*) FROM t", &count, &err), err);
            REQUIRE_OK(query(db, "SELECT COALESCE(MAX(id), 0) FROM t", &top, &err), err);
            CHECK_INT(top, count);
            /* The commit that was not acknowledged may have made it. */
            CHECK(count == done || count == done + 1);
            CHECK_INT(sf_db_check(db, &err), SF_OK);
            sf_db_close(db);
            memory_disk_free(memory);
        }
        if (status == SF_OK)
            break;
        REQUIRE(at < 1000);
    }
}

static void a_full_disk_is_a_limit(void)
{
    memory_disk *memory = memory_disk_new();
    sf_disk disk = memory_disk_seam(memory);
    sf_db_options options = options_of(first_format, 1);
    sf_db *db = NULL;
    int64_t count;
    sf_error err;
    REQUIRE_OK(sf_db_open(&disk, "d/a.db", &options, &db, &err), err);
    REQUIRE_OK(sf_db_exec(db, "INSERT INTO t VALUES (1, 'x')", &err), err);
    memory_disk_fail_at(memory, 1, SF_LIMIT);
    CHECK_INT(sf_db_exec(db, "INSERT INTO t VALUES (2, 'x')", &err), SF_LIMIT);
    CHECK_STR(err.message, "the disk failed as the test asked");
    memory_disk_fail_at(memory, 0, SF_OK); /* somebody made room */
    REQUIRE_OK(sf_db_exec(db, "INSERT INTO t VALUES (3, 'x')", &err), err);
    REQUIRE_OK(query(db, "SELECT COUNT(*) * 10 + MAX(id) FROM t", &count, &err), err);
    CHECK_INT(count, 23);
    sf_db_close(db);
    memory_disk_free(memory);
}

int run_db_cases(void)
{
    static const sf_case cases[] = {
        SF_CASE(values_come_back),
        SF_CASE(formats_are_upgraded_and_guarded),
        SF_CASE(a_failed_upgrade_changes_nothing),
        SF_CASE(a_file_has_one_owner),
        SF_CASE(other_programs_are_kept_out),
        SF_CASE(other_files_are_refused_and_kept),
        SF_CASE(damage_is_found),
        SF_CASE(commits_survive_every_crash),
        SF_CASE(a_full_disk_is_a_limit),
    };
    return sf_run_cases("db", cases, SF_COUNT_OF(cases));
}

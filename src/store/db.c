/* One SQLite database: opening, formats, statements, and what its error codes mean here. */
#include "store/store.h"
#include "store/vfs.h"

struct sf_db {
    sqlite3 *handle;
    sf_vfs *vfs;
    char *path;
};

struct sf_stmt {
    sf_db *db;
    sqlite3_stmt *handle;
    int bind_code; /* the first bind that failed since the last reset */
};

/* ---- errors ---- */

static sf_status fail_with_code(sf_db *db, int code, sf_error *err)
{
    const sf_error *cause = &db->vfs->failure;
    const char *text = db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(code);
    switch (code & 0xff) {
    case SQLITE_NOMEM: return sf_fail_memory(err);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_FULL:
        if (cause->status == SF_OK)
            return sf_fail(err, (code & 0xff) == SQLITE_FULL ? SF_LIMIT : SF_IO,
                           "database \"%s\": %s", db->path, text);
        if (err)
            *err = *cause;
        return cause->status;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        sf_fail(err, SF_CORRUPT, "database \"%s\" is damaged: %s", db->path, text);
        sf_error_hint(err, "restore it from a backup; the file was left as it is");
        return SF_CORRUPT;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        sf_fail(err, SF_CONFLICT, "database \"%s\" is in use by someone else", db->path);
        sf_error_hint(err, "stop the other process or choose another data directory");
        return SF_CONFLICT;
    case SQLITE_TOOBIG:
        return sf_fail(err, SF_LIMIT, "database \"%s\": a value is too long", db->path);
    case SQLITE_CONSTRAINT: return sf_fail(err, SF_EXISTS, "database \"%s\": %s", db->path, text);
    default: return sf_fail(err, SF_INTERNAL, "database \"%s\": %s", db->path, text);
    }
}

sf_status sf_db_exec(sf_db *db, const char *sql, sf_error *err)
{
    int code = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? SF_OK : fail_with_code(db, code, err);
}

/* First column of the first row. */
static sf_status query_i64(sf_db *db, const char *sql, int64_t *out, sf_error *err)
{
    sf_stmt *stmt = NULL;
    bool row;
    SF_TRY(sf_db_prepare(db, sql, &stmt, err));
    sf_status status = sf_stmt_step(stmt, &row, err);
    *out = status == SF_OK && row ? sf_stmt_i64(stmt, 0) : 0;
    sf_stmt_free(stmt);
    return status;
}

/* ---- opening ---- */

static sf_status set_up(sf_db *db, const sf_db_options *options, sf_error *err)
{
    sf_buf sql = {0};
    /* Exclusive comes before the first access to the log: then its index needs no shared memory. */
    sf_buf_printf(&sql,
                  "PRAGMA locking_mode=EXCLUSIVE; PRAGMA trusted_schema=OFF;"
                  "PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY; PRAGMA page_size=%u;"
                  "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                  "PRAGMA wal_autocheckpoint=1000; PRAGMA journal_size_limit=67108864;"
                  "PRAGMA foreign_keys=ON;",
                  options->page_bytes);
    sf_status status = sql.failed ? sf_fail_memory(err) : sf_db_exec(db, sql.data, err);
    sf_buf_deinit(&sql);
    SF_TRY(status);

    sf_stmt *stmt = NULL;
    bool row;
    SF_TRY(sf_db_prepare(db, "PRAGMA journal_mode", &stmt, err));
    status = sf_stmt_step(stmt, &row, err);
    if (status == SF_OK && !(row && sf_str_eq(sf_stmt_text(stmt, 0), SF_STR("wal"))))
        status =
            sf_fail(err, SF_INTERNAL, "database \"%s\" cannot keep a write-ahead log", db->path);
    sf_stmt_free(stmt);
    return status;
}

static sf_status upgrade(sf_db *db, const sf_db_options *options, int64_t from, sf_error *err)
{
    sf_buf sql = {0};
    sf_buf_printf(&sql, "PRAGMA application_id=%d; PRAGMA user_version=%u",
                  (int)options->application_id, options->upgrade_count);
    sf_status status = sql.failed ? sf_fail_memory(err) : sf_db_begin(db, err);
    for (uint32_t i = (uint32_t)from; i < options->upgrade_count && status == SF_OK; i++)
        status = sf_db_exec(db, options->upgrades[i], err);
    if (status == SF_OK)
        status = sf_db_exec(db, sql.data, err);
    if (status == SF_OK)
        status = sf_db_commit(db, err);
    else
        sf_db_rollback(db);
    sf_buf_deinit(&sql);
    return status;
}

static sf_status check_format(sf_db *db, const sf_db_options *options, sf_error *err)
{
    int64_t tables, application, format;
    SF_TRY(query_i64(db, "SELECT COUNT(*) FROM sqlite_schema", &tables, err));
    SF_TRY(query_i64(db, "PRAGMA application_id", &application, err));
    SF_TRY(query_i64(db, "PRAGMA user_version", &format, err));
    if (tables > 0 || format > 0) {
        if (application != (int32_t)options->application_id) {
            sf_fail(err, SF_INVALID, "database \"%s\" is another kind of file", db->path);
            sf_error_hint(err, "move it away, or choose another data directory");
            return SF_INVALID;
        }
        if (format < 0 || format > options->upgrade_count) {
            sf_fail(err, SF_UNSUPPORTED,
                    "database \"%s\" has format %lld, written by a newer version than this one, "
                    "which knows formats up to %u",
                    db->path, (long long)format, options->upgrade_count);
            sf_error_hint(err, "start the newer version, or restore a backup of the older one");
            return SF_UNSUPPORTED;
        }
    }
    return format == options->upgrade_count ? SF_OK : upgrade(db, options, format, err);
}

sf_status sf_db_open(const sf_disk *disk, const char *path, const sf_db_options *options,
                     sf_db **out, sf_error *err)
{
    sf_db *db = sf_calloc(1, sizeof *db);
    if (!db || !(db->path = sf_strdup(path))) {
        sf_free(db);
        return sf_fail_memory(err);
    }
    sf_status status = sf_vfs_register(disk, &db->vfs, err);
    if (status != SF_OK) {
        sf_free(db->path);
        sf_free(db);
        return status;
    }
    int code = sqlite3_open_v2(path, &db->handle,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                               db->vfs->name);
    status = code == SQLITE_OK ? SF_OK : fail_with_code(db, code, err);
    if (status == SF_OK)
        sqlite3_extended_result_codes(db->handle, 1);
    if (status == SF_OK)
        status = set_up(db, options, err);
    if (status == SF_OK)
        status = check_format(db, options, err);
    if (status != SF_OK) {
        sf_db_close(db);
        return status;
    }
    *out = db;
    return SF_OK;
}

void sf_db_close(sf_db *db)
{
    if (!db)
        return;
    int code = sqlite3_close(db->handle);
    SF_ASSERT(code == SQLITE_OK); /* else a statement was not freed */
    sf_vfs_unregister(db->vfs);
    sf_free(db->path);
    sf_free(db);
}

const char *sf_db_path(const sf_db *db)
{
    return db->path;
}

sf_status sf_db_check(sf_db *db, sf_error *err)
{
    sf_stmt *stmt = NULL;
    bool row;
    SF_TRY(sf_db_prepare(db, "PRAGMA integrity_check(1)", &stmt, err));
    sf_status status = sf_stmt_step(stmt, &row, err);
    sf_str found = status == SF_OK && row ? sf_stmt_text(stmt, 0) : SF_STR("no answer");
    if (status == SF_OK && !sf_str_eq(found, SF_STR("ok"))) {
        status = sf_fail(err, SF_CORRUPT, "database \"%s\" is damaged: %.*s", db->path,
                         SF_STR_ARG(found));
        sf_error_hint(err, "restore it from a backup; the file was left as it is");
    }
    sf_stmt_free(stmt);
    return status;
}

/* ---- transactions ---- */

sf_status sf_db_begin(sf_db *db, sf_error *err)
{
    return sf_db_exec(db, "BEGIN IMMEDIATE", err);
}

sf_status sf_db_commit(sf_db *db, sf_error *err)
{
    sf_status status = sf_db_exec(db, "COMMIT", err);
    if (status != SF_OK)
        sf_db_rollback(db);
    return status;
}

void sf_db_rollback(sf_db *db)
{
    /* After some failures SQLite has rolled back by itself; a second time would be an error. */
    if (!sqlite3_get_autocommit(db->handle))
        sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
}

int64_t sf_db_changes(const sf_db *db)
{
    return sqlite3_changes64(db->handle);
}

/* ---- statements ---- */

sf_status sf_db_prepare(sf_db *db, const char *sql, sf_stmt **out, sf_error *err)
{
    sf_stmt *stmt = sf_calloc(1, sizeof *stmt);
    if (!stmt)
        return sf_fail_memory(err);
    stmt->db = db;
    int code = sqlite3_prepare_v2(db->handle, sql, -1, &stmt->handle, NULL);
    if (code != SQLITE_OK) {
        sf_free(stmt);
        return fail_with_code(db, code, err);
    }
    *out = stmt;
    return SF_OK;
}

void sf_stmt_free(sf_stmt *stmt)
{
    if (!stmt)
        return;
    sqlite3_finalize(stmt->handle);
    sf_free(stmt);
}

static void note_bind(sf_stmt *stmt, int code)
{
    if (stmt->bind_code == SQLITE_OK)
        stmt->bind_code = code;
}

void sf_stmt_bind_i64(sf_stmt *stmt, int parameter, int64_t value)
{
    note_bind(stmt, sqlite3_bind_int64(stmt->handle, parameter, value));
}

void sf_stmt_bind_text(sf_stmt *stmt, int parameter, sf_str text)
{
    note_bind(stmt, text.data ? sqlite3_bind_text64(stmt->handle, parameter, text.data, text.len,
                                                    SQLITE_STATIC, SQLITE_UTF8)
                              : sqlite3_bind_null(stmt->handle, parameter));
}

void sf_stmt_bind_blob(sf_stmt *stmt, int parameter, const void *bytes, size_t len)
{
    /* An empty blob is not NULL. */
    note_bind(stmt, len ? sqlite3_bind_blob64(stmt->handle, parameter, bytes, len, SQLITE_STATIC)
                        : sqlite3_bind_zeroblob(stmt->handle, parameter, 0));
}

sf_status sf_stmt_step(sf_stmt *stmt, bool *row, sf_error *err)
{
    SF_ASSERT(stmt);
    *row = false;
    if (stmt->bind_code != SQLITE_OK)
        return fail_with_code(stmt->db, stmt->bind_code, err);
    int code = sqlite3_step(stmt->handle);
    *row = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? SF_OK : fail_with_code(stmt->db, code, err);
}

sf_status sf_stmt_run(sf_stmt *stmt, sf_error *err)
{
    bool row;
    sf_status status = sf_stmt_step(stmt, &row, err);
    sf_stmt_reset(stmt);
    return status;
}

void sf_stmt_reset(sf_stmt *stmt)
{
    sqlite3_reset(stmt->handle);
    sqlite3_clear_bindings(stmt->handle);
    stmt->bind_code = SQLITE_OK;
}

int64_t sf_stmt_i64(const sf_stmt *stmt, int column)
{
    return sqlite3_column_int64(stmt->handle, column);
}

sf_str sf_stmt_text(const sf_stmt *stmt, int column)
{
    const void *data = sqlite3_column_blob(stmt->handle, column);
    int len = sqlite3_column_bytes(stmt->handle, column);
    return (sf_str){data ? data : "", (size_t)len};
}

bool sf_stmt_is_null(const sf_stmt *stmt, int column)
{
    return sqlite3_column_type(stmt->handle, column) == SQLITE_NULL;
}

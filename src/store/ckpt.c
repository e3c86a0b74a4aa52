/* Checkpoints: the pages and blobs of one consistency group in one SQLite database.
 *
 * A page's row number is its arrangement and page number side by side, so that loading reads the
 * table in order and a page of unchanged size is overwritten in place. SQLite does not check what
 * it reads back, so every value carries its own CRC-32C. Pages are kept raw. */
#include "store/store.h"
#include "store/vfs.h"

#include <stdio.h>

enum { APPLICATION_ID = 0x53464350 /* "SFCP" */ };

static const char *const upgrades[] = {
    "CREATE TABLE pages (id INTEGER PRIMARY KEY, crc INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;"
    "CREATE TABLE blobs (key TEXT PRIMARY KEY, crc INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;",
};

#define STATEMENT_LIST(X)                                                                          \
    X(PUT_PAGE, "INSERT INTO pages (id, crc, bytes) VALUES (?1, ?2, ?3) ON CONFLICT (id) "         \
                "DO UPDATE SET crc = excluded.crc, bytes = excluded.bytes")                        \
    X(DROP_PAGES, "DELETE FROM pages WHERE id BETWEEN ?1 AND ?2")                                  \
    X(EACH_PAGE, "SELECT id, crc, bytes FROM pages WHERE id BETWEEN ?1 AND ?2 ORDER BY id")        \
    X(PUT_BLOB, "INSERT INTO blobs (key, crc, bytes) VALUES (?1, ?2, ?3) ON CONFLICT (key) "       \
                "DO UPDATE SET crc = excluded.crc, bytes = excluded.bytes")                        \
    X(DROP_BLOB, "DELETE FROM blobs WHERE key = ?1")                                               \
    X(GET_BLOB, "SELECT crc, bytes FROM blobs WHERE key = ?1")

enum {
#define X(name, sql) name,
    STATEMENT_LIST(X)
#undef X
        STATEMENT_COUNT
};
static const char *const statement_texts[] = {
#define X(name, sql) sql,
    STATEMENT_LIST(X)
#undef X
};

struct sf_ckpt {
    sf_db *db;
    sf_stmt *statements[STATEMENT_COUNT];
    bool begun;
};

static int64_t page_id(uint32_t arrangement, uint32_t page_no)
{
    return (int64_t)((uint64_t)arrangement << 32 | page_no);
}

sf_status sf_ckpt_open(const sf_disk *disk, const char *path, sf_ckpt **out, sf_error *err)
{
    sf_db_options options = {
        .page_bytes = SF_DB_PAGE_STATE,
        .application_id = APPLICATION_ID,
        .upgrades = upgrades,
        .upgrade_count = SF_COUNT_OF(upgrades),
    };
    sf_ckpt *ckpt = sf_calloc(1, sizeof *ckpt);
    if (!ckpt)
        return sf_fail_memory(err);
    sf_status status = sf_db_open(disk, path, &options, &ckpt->db, err);
    for (int i = 0; i < STATEMENT_COUNT && status == SF_OK; i++)
        status = sf_db_prepare(ckpt->db, statement_texts[i], &ckpt->statements[i], err);
    if (status != SF_OK) {
        sf_ckpt_close(ckpt);
        return status;
    }
    *out = ckpt;
    return SF_OK;
}

void sf_ckpt_close(sf_ckpt *ckpt)
{
    if (!ckpt)
        return;
    for (int i = 0; i < STATEMENT_COUNT; i++)
        sf_stmt_free(ckpt->statements[i]);
    if (ckpt->db)
        sf_ckpt_rollback(ckpt);
    sf_db_close(ckpt->db);
    sf_free(ckpt);
}

sf_status sf_ckpt_destroy(const sf_disk *disk, const char *path, sf_error *err)
{
    /* The database goes first, and for good: it without its log would be an older state. */
    static const char *const endings[] = {"", "-wal", "-journal"};
    sf_buf name = {0};
    sf_status status = SF_OK;
    for (size_t i = 0; i < SF_COUNT_OF(endings) && status == SF_OK; i++) {
        sf_buf_clear(&name);
        sf_buf_printf(&name, "%s%s", path, endings[i]);
        status = name.failed ? sf_fail_memory(err) : disk->remove(disk->self, name.data, err);
        if (status == SF_OK)
            status = sf_vfs_sync_name(disk, path, err);
        else if (status == SF_NOT_FOUND)
            status = SF_OK;
    }
    sf_buf_deinit(&name);
    return status;
}

/* ---- writing ---- */

sf_status sf_ckpt_begin(sf_ckpt *ckpt, sf_error *err)
{
    SF_ASSERT(!ckpt->begun);
    SF_TRY(sf_db_begin(ckpt->db, err));
    ckpt->begun = true;
    return SF_OK;
}

sf_status sf_ckpt_put_page(sf_ckpt *ckpt, uint32_t arrangement, uint32_t page_no, const void *bytes,
                           size_t len, sf_error *err)
{
    SF_ASSERT(ckpt->begun && arrangement <= SF_CKPT_ARRANGEMENT_MAX);
    if (len > SF_CKPT_PAGE_BYTES_MAX)
        return sf_fail(err, SF_LIMIT, "a state page of %zu bytes is longer than the %d allowed",
                       len, SF_CKPT_PAGE_BYTES_MAX);
    sf_stmt *stmt = ckpt->statements[PUT_PAGE];
    sf_stmt_bind_i64(stmt, 1, page_id(arrangement, page_no));
    sf_stmt_bind_i64(stmt, 2, sf_crc32c(0, bytes, len));
    sf_stmt_bind_blob(stmt, 3, bytes, len);
    return sf_stmt_run(stmt, err);
}

sf_status sf_ckpt_drop_pages(sf_ckpt *ckpt, uint32_t arrangement, uint32_t from_no, sf_error *err)
{
    SF_ASSERT(ckpt->begun && arrangement <= SF_CKPT_ARRANGEMENT_MAX);
    sf_stmt *stmt = ckpt->statements[DROP_PAGES];
    sf_stmt_bind_i64(stmt, 1, page_id(arrangement, from_no));
    sf_stmt_bind_i64(stmt, 2, page_id(arrangement, UINT32_MAX));
    return sf_stmt_run(stmt, err);
}

sf_status sf_ckpt_put_blob(sf_ckpt *ckpt, sf_str key, const void *bytes, size_t len, sf_error *err)
{
    SF_ASSERT(ckpt->begun);
    sf_stmt *stmt = ckpt->statements[PUT_BLOB];
    sf_stmt_bind_text(stmt, 1, key);
    sf_stmt_bind_i64(stmt, 2, sf_crc32c(0, bytes, len));
    sf_stmt_bind_blob(stmt, 3, bytes, len);
    return sf_stmt_run(stmt, err);
}

sf_status sf_ckpt_drop_blob(sf_ckpt *ckpt, sf_str key, sf_error *err)
{
    SF_ASSERT(ckpt->begun);
    sf_stmt *stmt = ckpt->statements[DROP_BLOB];
    sf_stmt_bind_text(stmt, 1, key);
    return sf_stmt_run(stmt, err);
}

sf_status sf_ckpt_clear(sf_ckpt *ckpt, sf_error *err)
{
    SF_ASSERT(ckpt->begun);
    return sf_db_exec(ckpt->db, "DELETE FROM pages; DELETE FROM blobs", err);
}

sf_status sf_ckpt_commit(sf_ckpt *ckpt, sf_error *err)
{
    SF_ASSERT(ckpt->begun);
    ckpt->begun = false;
    return sf_db_commit(ckpt->db, err);
}

void sf_ckpt_rollback(sf_ckpt *ckpt)
{
    ckpt->begun = false;
    sf_db_rollback(ckpt->db);
}

/* ---- reading ---- */

static sf_status fail_damaged(const sf_ckpt *ckpt, const char *what, sf_error *err)
{
    sf_fail(err, SF_CORRUPT, "checkpoint \"%s\" is damaged: %s fails its checksum",
            sf_db_path(ckpt->db), what);
    sf_error_hint(err, "restore it from a backup; the file was left as it is");
    return SF_CORRUPT;
}

static sf_status visit_row(sf_ckpt *ckpt, sf_stmt *stmt, sf_ckpt_visit visit, void *arg,
                           sf_error *err)
{
    uint64_t id = (uint64_t)sf_stmt_i64(stmt, 0);
    sf_str bytes = sf_stmt_text(stmt, 2);
    if (sf_crc32c(0, bytes.data, bytes.len) != sf_stmt_i64(stmt, 1)) {
        char what[64];
        snprintf(what, sizeof what, "page %u of arrangement %u", (unsigned)(id & UINT32_MAX),
                 (unsigned)(id >> 32));
        return fail_damaged(ckpt, what, err);
    }
    return visit(arg, (uint32_t)id, bytes.data, bytes.len, err);
}

sf_status sf_ckpt_each_page(sf_ckpt *ckpt, uint32_t arrangement, sf_ckpt_visit visit, void *arg,
                            sf_error *err)
{
    SF_ASSERT(arrangement <= SF_CKPT_ARRANGEMENT_MAX);
    sf_stmt *stmt = ckpt->statements[EACH_PAGE];
    sf_stmt_bind_i64(stmt, 1, page_id(arrangement, 0));
    sf_stmt_bind_i64(stmt, 2, page_id(arrangement, UINT32_MAX));
    sf_status status;
    bool row;
    while ((status = sf_stmt_step(stmt, &row, err)) == SF_OK && row) {
        status = visit_row(ckpt, stmt, visit, arg, err);
        if (status != SF_OK)
            break;
    }
    sf_stmt_reset(stmt);
    return status;
}

sf_status sf_ckpt_get_blob(sf_ckpt *ckpt, sf_str key, sf_buf *out, sf_error *err)
{
    sf_stmt *stmt = ckpt->statements[GET_BLOB];
    bool row;
    sf_stmt_bind_text(stmt, 1, key);
    sf_status status = sf_stmt_step(stmt, &row, err);
    if (status == SF_OK && !row)
        status = sf_fail(err, SF_NOT_FOUND, "checkpoint \"%s\" holds no \"%.*s\"",
                         sf_db_path(ckpt->db), SF_STR_ARG(key));
    if (status == SF_OK) {
        sf_str bytes = sf_stmt_text(stmt, 1);
        if (sf_crc32c(0, bytes.data, bytes.len) != sf_stmt_i64(stmt, 0)) {
            status = fail_damaged(ckpt, "a blob", err);
        } else {
            sf_buf_put(out, bytes.data, bytes.len);
            if (out->failed)
                status = sf_fail_memory(err);
        }
    }
    sf_stmt_reset(stmt);
    return status;
}

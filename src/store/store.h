/* store.h: what survives a restart: SQLite databases on the disk seam, the journals of sources, the
 * checkpoints of consistency groups, and the lock of a data directory.
 *
 * Owns     the files below the paths it is given; it reaches them only through an sf_disk.
 * Threads  sf_journal is shared and locks itself, each cursor belongs to one thread. An sf_db, its
 *          statements and an sf_ckpt belong to one thread at a time: sharers bring their own lock.
 * Memory   arguments are read during the call and never kept, except the sf_disk and sf_clock
 *          tables (copied), the sf_log (borrowed until close) and an sf_journal_waiter.
 * Fails    SF_IO and SF_LIMIT (disk full): what was acknowledged stays, retry may help. SF_CORRUPT:
 *          never retry, nothing was overwritten. SF_CONFLICT: someone else holds the file.
 *          SF_UNSUPPORTED: written by a newer version. */
#ifndef SF_STORE_STORE_H
#define SF_STORE_STORE_H

#include "base/seam.h"

/* ---- data directory ---------------------------------------------------------------------- */

/* One process a data directory. Makes the directory when it is missing, and refuses one whose
 * layout a newer version wrote. */
typedef struct sf_store_lock sf_store_lock;
SF_MUST_USE sf_status sf_store_lock_take(const sf_disk *disk, const char *dir, sf_store_lock **out,
                                         sf_error *err);
void sf_store_lock_release(sf_store_lock *lock); /* NULL is allowed */

/* ---- SQLite databases -------------------------------------------------------------------- */

typedef struct sf_db sf_db;
typedef struct sf_stmt sf_stmt;

enum { SF_DB_PAGE_CATALOG = 4096, SF_DB_PAGE_STATE = 65536 };

typedef struct {
    uint32_t page_bytes;     /* of a new file; an existing one keeps its own */
    uint32_t application_id; /* tells one kind of file from another; refused when it differs */
    /* upgrades[i] turns format i into format i + 1; an empty file has format 0, the current format
     * is upgrade_count. All that are missing run in one transaction while the file is opened. */
    const char *const *upgrades;
    uint32_t upgrade_count;
} sf_db_options;

/* WAL, synchronous=FULL, one owner (no shared memory file): a commit that returned SF_OK is
 * durable. */
SF_MUST_USE sf_status sf_db_open(const sf_disk *disk, const char *path,
                                 const sf_db_options *options, sf_db **out, sf_error *err);
void sf_db_close(sf_db *db); /* NULL is allowed; every statement was freed before */
const char *sf_db_path(const sf_db *db);
/* Reads every page: SF_CORRUPT with the first fault found. */
SF_MUST_USE sf_status sf_db_check(sf_db *db, sf_error *err);

SF_MUST_USE sf_status sf_db_exec(sf_db *db, const char *sql, sf_error *err);
SF_MUST_USE sf_status sf_db_begin(sf_db *db, sf_error *err);
SF_MUST_USE sf_status sf_db_commit(sf_db *db, sf_error *err); /* rolled back when it fails */
void sf_db_rollback(sf_db *db);                               /* nothing open: nothing happens */

SF_MUST_USE sf_status sf_db_prepare(sf_db *db, const char *sql, sf_stmt **out, sf_error *err);
void sf_stmt_free(sf_stmt *stmt); /* NULL is allowed */
/* Parameters count from 1. Bound bytes are borrowed until the next sf_stmt_reset. A failed bind is
 * reported by the next step. */
void sf_stmt_bind_i64(sf_stmt *stmt, int parameter, int64_t value);
void sf_stmt_bind_text(sf_stmt *stmt, int parameter, sf_str text); /* data NULL binds NULL */
void sf_stmt_bind_blob(sf_stmt *stmt, int parameter, const void *bytes, size_t len);
/* *row says whether a row is there to read. Columns count from 0. */
SF_MUST_USE sf_status sf_stmt_step(sf_stmt *stmt, bool *row, sf_error *err);
/* Step of a statement that gives no rows, then reset. */
SF_MUST_USE sf_status sf_stmt_run(sf_stmt *stmt, sf_error *err);
void sf_stmt_reset(sf_stmt *stmt); /* and forget what was bound */
int64_t sf_stmt_i64(const sf_stmt *stmt, int column);
sf_str sf_stmt_text(const sf_stmt *stmt, int column); /* borrowed until step or reset; also blobs */
bool sf_stmt_is_null(const sf_stmt *stmt, int column);
int64_t sf_db_changes(const sf_db *db); /* rows the last statement changed */

/* ---- journal ----------------------------------------------------------------------------- */

/* The log of one source on disk: a directory of append-only segments.
 *
 * Entries are numbered by position. A batch of rows takes one position a row; watermarks and clock
 * readings may take none (count 0) or one, as their writer decides. Each append starts where the
 * one before ended; the first append into an empty journal starts anywhere.
 *
 * An append is buffered; it is durable after a sync. Many threads may wait for one sync (group
 * commit). A failed write or sync stops the journal: everybody who waits gets the error, later
 * appends get it too, and only closing and opening it again starts it. What a crash tore behind the
 * last sync is cut off when the journal is opened, and logged. */
typedef struct sf_journal sf_journal;

typedef enum {
    SF_ENTRY_ROWS = 1,
    SF_ENTRY_WATERMARK = 2,
    SF_ENTRY_CLOCK = 3,
} sf_entry_kind;

typedef struct {
    sf_entry_kind kind;
    uint64_t first_position;
    uint32_t count;  /* positions taken */
    int64_t wall_ms; /* when it was appended */
    sf_str payload;  /* opaque here */
} sf_entry;

enum { SF_JOURNAL_ENTRY_BYTES_MAX = 64 * 1024 * 1024 };

typedef struct {
    uint64_t segment_bytes; /* a new segment starts after that many; 0 = 64 MiB, at most 1 GiB */
    uint64_t retain_bytes;  /* 0 = unbounded */
    int64_t retain_ms;      /* 0 = unbounded */
    size_t buffer_bytes;    /* appended, not yet written; 0 = 16 MiB */
    const sf_log *log;      /* may be NULL */
} sf_journal_options;

SF_MUST_USE sf_status sf_journal_open(const sf_disk *disk, const sf_clock *clock, const char *dir,
                                      const sf_journal_options *options, sf_journal **out,
                                      sf_error *err);
/* Syncs what was appended (a failure is logged), answers every waiter, frees. NULL is allowed.
 * Nobody else uses the journal any more. */
void sf_journal_close(sf_journal *journal);
/* Removes a closed journal and its directory. A missing one is fine. */
SF_MUST_USE sf_status sf_journal_destroy(const sf_disk *disk, const char *dir, sf_error *err);

/* entry->wall_ms 0: the journal's clock. *lsn is what commit waits for. SF_OVERLOADED when the
 * buffer is full: sync, then try again. SF_INVALID when the position is not the next one. */
SF_MUST_USE sf_status sf_journal_append(sf_journal *journal, const sf_entry *entry, uint64_t *lsn,
                                        sf_error *err);
/* Everything appended before the call is durable. */
SF_MUST_USE sf_status sf_journal_sync(sf_journal *journal, sf_error *err);
/* Blocks until lsn is durable; the first of those who wait syncs for all. */
SF_MUST_USE sf_status sf_journal_commit(sf_journal *journal, uint64_t lsn, sf_error *err);

/* The same without blocking. The caller keeps the waiter until done was called. */
typedef struct sf_journal_waiter {
    /* Called once, by the thread that synced, without any lock held; those of one sync in order of
     * lsn. err is filled when status is not SF_OK. It must not close the journal. */
    void (*done)(struct sf_journal_waiter *waiter, sf_status status, const sf_error *err);
    void *arg;
    uint64_t lsn;                   /* set by sf_journal_notify */
    struct sf_journal_waiter *next; /* the journal's */
} sf_journal_waiter;
/* True: no sync is under way or promised; the caller must have some thread that may block call
 * sf_journal_sync_waiters soon. When lsn is durable already, done is called before this returns. */
SF_MUST_USE bool sf_journal_notify(sf_journal *journal, uint64_t lsn, sf_journal_waiter *waiter);
/* One sync. True: others wait by now, and the caller must call again (or have it called). */
SF_MUST_USE bool sf_journal_sync_waiters(sf_journal *journal);

typedef struct {
    uint64_t first_position;   /* the oldest one kept */
    uint64_t durable_position; /* one past the last durable one */
    uint64_t next_position;    /* one past the last appended one */
    uint64_t size_bytes;       /* of all segments, durable part */
    uint32_t segments;
    bool empty; /* nothing was ever appended: the positions mean nothing */
} sf_journal_info;
sf_journal_info sf_journal_inspect(sf_journal *journal);

/* Segments that end at or below position may go when size or age ask for it; UINT64_MAX, the
 * default: all but the current one may. */
void sf_journal_hold(sf_journal *journal, uint64_t position);
/* Applies retention now; it also runs whenever a segment starts. */
void sf_journal_expire(sf_journal *journal);

/* Reads durable entries in order, beginning with the entry that holds position, and with entries of
 * count 0 that stand right at it. Not stopped by retention, nor a reason to keep anything. */
typedef struct sf_journal_cursor sf_journal_cursor;
/* SF_NOT_FOUND: older than what is kept. SF_INVALID: beyond the end. */
SF_MUST_USE sf_status sf_journal_read_from(sf_journal *journal, uint64_t position,
                                           sf_journal_cursor **out, sf_error *err);
/* *more false: the durable end; a later call may find more. entry is borrowed until the next call.
 * SF_NOT_FOUND: retention overtook this cursor; sf_journal_inspect says where to start again. */
SF_MUST_USE sf_status sf_journal_next(sf_journal_cursor *cursor, sf_entry *entry, bool *more,
                                      sf_error *err);
void sf_journal_cursor_close(sf_journal_cursor *cursor); /* NULL is allowed */
/* Position of the first durable entry appended at wall_ms or later; the durable end when none. */
SF_MUST_USE sf_status sf_journal_position_at(sf_journal *journal, int64_t wall_ms,
                                             uint64_t *position, sf_error *err);

/* ---- checkpoints ------------------------------------------------------------------------- */

/* The state of one consistency group: a database of its own. Everything between begin and commit
 * arrives together or not at all. Blobs hold what is not pages: epoch, positions, operators. */
typedef struct sf_ckpt sf_ckpt;

enum { SF_CKPT_PAGE_BYTES_MAX = 16 * 1024 * 1024, SF_CKPT_ARRANGEMENT_MAX = INT32_MAX };

SF_MUST_USE sf_status sf_ckpt_open(const sf_disk *disk, const char *path, sf_ckpt **out,
                                   sf_error *err);
void sf_ckpt_close(sf_ckpt *ckpt); /* rolls back what was begun; NULL is allowed */
/* Removes a closed checkpoint's files. A missing one is fine. */
SF_MUST_USE sf_status sf_ckpt_destroy(const sf_disk *disk, const char *path, sf_error *err);

SF_MUST_USE sf_status sf_ckpt_begin(sf_ckpt *ckpt, sf_error *err);
SF_MUST_USE sf_status sf_ckpt_put_page(sf_ckpt *ckpt, uint32_t arrangement, uint32_t page_no,
                                       const void *bytes, size_t len, sf_error *err);
/* Forgets the arrangement's pages numbered from_no and above. */
SF_MUST_USE sf_status sf_ckpt_drop_pages(sf_ckpt *ckpt, uint32_t arrangement, uint32_t from_no,
                                         sf_error *err);
SF_MUST_USE sf_status sf_ckpt_put_blob(sf_ckpt *ckpt, sf_str key, const void *bytes, size_t len,
                                       sf_error *err);
SF_MUST_USE sf_status sf_ckpt_drop_blob(sf_ckpt *ckpt, sf_str key, sf_error *err);
SF_MUST_USE sf_status sf_ckpt_clear(sf_ckpt *ckpt, sf_error *err); /* all pages and blobs */
SF_MUST_USE sf_status sf_ckpt_commit(sf_ckpt *ckpt, sf_error *err);
void sf_ckpt_rollback(sf_ckpt *ckpt);

/* In order of page number. bytes are borrowed during the visit; a status other than SF_OK ends it
 * and is returned. */
typedef sf_status (*sf_ckpt_visit)(void *arg, uint32_t page_no, const void *bytes, size_t len,
                                   sf_error *err);
SF_MUST_USE sf_status sf_ckpt_each_page(sf_ckpt *ckpt, uint32_t arrangement, sf_ckpt_visit visit,
                                        void *arg, sf_error *err);
/* Appends the blob to out. SF_NOT_FOUND when there is none. */
SF_MUST_USE sf_status sf_ckpt_get_blob(sf_ckpt *ckpt, sf_str key, sf_buf *out, sf_error *err);

#endif

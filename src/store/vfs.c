/* A SQLite VFS whose every file operation goes through the disk seam, so that a simulator can tear
 * what SQLite writes. There is no shared memory: databases are opened with locking_mode=EXCLUSIVE,
 * where the index of the write-ahead log lives on the heap. */
#include "store/vfs.h"

#include <stdio.h>

enum { PATH_BYTES_MAX = 1024 };

typedef struct {
    sqlite3_file base; /* first: SQLite passes its address around */
    sf_vfs *vfs;
    sf_file *file;
    const char *path; /* SQLite keeps it while the file is open */
    bool sync_name;   /* the next sync makes the file's name durable too */
    bool delete_on_close;
    bool locked;
} vfs_file;

static int fail_code(sf_vfs *vfs, const sf_error *err, int code)
{
    vfs->failure = *err;
    return err->status == SF_LIMIT ? SQLITE_FULL : code;
}

static int file_close(sqlite3_file *base)
{
    vfs_file *f = (vfs_file *)base;
    const sf_disk *disk = &f->vfs->disk;
    int code = SQLITE_OK;
    sf_error err;
    disk->close(disk->self, f->file);
    if (f->delete_on_close && disk->remove(disk->self, f->path, &err) != SF_OK)
        code = fail_code(f->vfs, &err, SQLITE_IOERR_DELETE);
    return code;
}

static int file_read(sqlite3_file *base, void *bytes, int len, sqlite3_int64 offset)
{
    vfs_file *f = (vfs_file *)base;
    const sf_disk *disk = &f->vfs->disk;
    size_t got = 0;
    sf_error err;
    if (disk->read(disk->self, f->file, bytes, (size_t)len, (uint64_t)offset, &got, &err) != SF_OK)
        return fail_code(f->vfs, &err, SQLITE_IOERR_READ);
    if (got == (size_t)len)
        return SQLITE_OK;
    memset((char *)bytes + got, 0, (size_t)len - got); /* SQLite asks for this */
    return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *base, const void *bytes, int len, sqlite3_int64 offset)
{
    vfs_file *f = (vfs_file *)base;
    const sf_disk *disk = &f->vfs->disk;
    sf_error err;
    if (disk->write(disk->self, f->file, bytes, (size_t)len, (uint64_t)offset, &err) != SF_OK)
        return fail_code(f->vfs, &err, SQLITE_IOERR_WRITE);
    return SQLITE_OK;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    vfs_file *f = (vfs_file *)base;
    const sf_disk *disk = &f->vfs->disk;
    sf_error err;
    if (disk->truncate(disk->self, f->file, (uint64_t)size, &err) != SF_OK)
        return fail_code(f->vfs, &err, SQLITE_IOERR_TRUNCATE);
    return SQLITE_OK;
}

sf_status sf_vfs_sync_name(const sf_disk *disk, const char *path, sf_error *err)
{
    char dir[PATH_BYTES_MAX + 1] = ".";
    const char *slash = strrchr(path, '/');
    if (slash)
        snprintf(dir, sizeof dir, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    return disk->sync_dir(disk->self, dir, err);
}

static int file_sync(sqlite3_file *base, int flags)
{
    SF_UNUSED(flags);
    vfs_file *f = (vfs_file *)base;
    const sf_disk *disk = &f->vfs->disk;
    sf_error err;
    if (disk->sync(disk->self, f->file, &err) != SF_OK)
        return fail_code(f->vfs, &err, SQLITE_IOERR_FSYNC);
    if (f->sync_name && sf_vfs_sync_name(disk, f->path, &err) != SF_OK)
        return fail_code(f->vfs, &err, SQLITE_IOERR_DIR_FSYNC);
    f->sync_name = false;
    return SQLITE_OK;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *out)
{
    vfs_file *f = (vfs_file *)base;
    const sf_disk *disk = &f->vfs->disk;
    uint64_t size = 0;
    sf_error err;
    if (disk->size(disk->self, f->file, &size, &err) != SF_OK)
        return fail_code(f->vfs, &err, SQLITE_IOERR_FSTAT);
    *out = (sqlite3_int64)size;
    return SQLITE_OK;
}

/* One owner a file: the first lock takes it whole and keeps it until the file is closed. */
static int file_lock(sqlite3_file *base, int level)
{
    vfs_file *f = (vfs_file *)base;
    const sf_disk *disk = &f->vfs->disk;
    sf_error err;
    if (level == SQLITE_LOCK_NONE || f->locked)
        return SQLITE_OK;
    sf_status status = disk->lock(disk->self, f->file, &err);
    if (status == SF_OK) {
        f->locked = true;
        return SQLITE_OK;
    }
    f->vfs->failure = err;
    return status == SF_CONFLICT ? SQLITE_BUSY : SQLITE_IOERR_LOCK;
}

static int file_unlock(sqlite3_file *base, int level)
{
    SF_UNUSED(base);
    SF_UNUSED(level);
    return SQLITE_OK;
}

static int file_check_reserved(sqlite3_file *base, int *out)
{
    SF_UNUSED(base);
    *out = 0; /* whoever could hold it would have been refused */
    return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int operation, void *arg)
{
    SF_UNUSED(base);
    SF_UNUSED(operation);
    SF_UNUSED(arg);
    return SQLITE_NOTFOUND;
}

static int file_sector_size(sqlite3_file *base)
{
    SF_UNUSED(base);
    return 4096;
}

static int file_characteristics(sqlite3_file *base)
{
    SF_UNUSED(base);
    /* A torn write harms only its own bytes. Without this SQLite pads every commit by a page. */
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods file_methods = {
    .iVersion = 1,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
};

static int vfs_open(sqlite3_vfs *methods, const char *path, sqlite3_file *base, int flags,
                    int *out_flags)
{
    sf_vfs *vfs = (sf_vfs *)methods;
    vfs_file *f = (vfs_file *)base;
    sf_error err;
    uint64_t size;
    *f = (vfs_file){.vfs = vfs, .path = path};
    if (!path) { /* a temporary file: temp_store=MEMORY leaves no need for one */
        sf_fail(&vfs->failure, SF_UNSUPPORTED, "a database asked for a temporary file");
        return SQLITE_CANTOPEN;
    }
    unsigned how = flags & SQLITE_OPEN_READONLY ? SF_OPEN_READONLY : 0;
    bool is_new = false;
    if (flags & SQLITE_OPEN_CREATE) {
        is_new = vfs->disk.stat(vfs->disk.self, path, &size, NULL, NULL, &err) == SF_NOT_FOUND;
        how |= SF_OPEN_CREATE | (flags & SQLITE_OPEN_EXCLUSIVE ? SF_OPEN_EXCLUSIVE : 0);
    }
    if (vfs->disk.open(vfs->disk.self, path, how, &f->file, &err) != SF_OK)
        return fail_code(vfs, &err, SQLITE_CANTOPEN);
    f->sync_name = is_new;
    f->delete_on_close = flags & SQLITE_OPEN_DELETEONCLOSE;
    f->base.pMethods = &file_methods;
    if (out_flags)
        *out_flags = flags;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *methods, const char *path, int sync)
{
    sf_vfs *vfs = (sf_vfs *)methods;
    sf_error err;
    sf_status status = vfs->disk.remove(vfs->disk.self, path, &err);
    if (status == SF_NOT_FOUND)
        return SQLITE_IOERR_DELETE_NOENT;
    if (status != SF_OK)
        return fail_code(vfs, &err, SQLITE_IOERR_DELETE);
    if (sync && sf_vfs_sync_name(&vfs->disk, path, &err) != SF_OK)
        return fail_code(vfs, &err, SQLITE_IOERR_DIR_FSYNC);
    return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *methods, const char *path, int flags, int *out)
{
    sf_vfs *vfs = (sf_vfs *)methods;
    uint64_t size = 0;
    sf_error err;
    sf_status status = vfs->disk.stat(vfs->disk.self, path, &size, NULL, NULL, &err);
    if (status != SF_OK && status != SF_NOT_FOUND)
        return fail_code(vfs, &err, SQLITE_IOERR_ACCESS);
    /* An empty log or journal left by a crash counts as none, as SQLite's own VFS has it. */
    *out = status == SF_OK && (flags != SQLITE_ACCESS_EXISTS || size > 0);
    return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *methods, const char *path, int size, char *out)
{
    SF_UNUSED(methods);
    int n = snprintf(out, (size_t)size, "%s", path);
    return n >= 0 && n < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int vfs_randomness(sqlite3_vfs *methods, int len, char *out)
{
    SF_UNUSED(methods);
    sqlite3_vfs *system = sqlite3_vfs_find(NULL);
    return system->xRandomness(system, len, out);
}

static int vfs_pause(sqlite3_vfs *methods, int duration_us)
{
    SF_UNUSED(methods);
    SF_UNUSED(duration_us); /* nobody to wait for: a file has one owner */
    return 0;
}

static int vfs_current_time(sqlite3_vfs *methods, double *out)
{
    SF_UNUSED(methods);
    sqlite3_vfs *system = sqlite3_vfs_find(NULL);
    return system->xCurrentTime(system, out);
}

static int vfs_last_error(sqlite3_vfs *methods, int size, char *out)
{
    SF_UNUSED(methods);
    if (size > 0)
        out[0] = '\0';
    return 0;
}

sf_status sf_vfs_register(const sf_disk *disk, sf_vfs **out, sf_error *err)
{
    sf_vfs *vfs = sf_calloc(1, sizeof *vfs);
    if (!vfs)
        return sf_fail_memory(err);
    snprintf(vfs->name, sizeof vfs->name, "sf-%p", (void *)vfs);
    vfs->disk = *disk;
    vfs->methods = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = sizeof(vfs_file),
        .mxPathname = PATH_BYTES_MAX,
        .zName = vfs->name,
        .xOpen = vfs_open,
        .xDelete = vfs_delete,
        .xAccess = vfs_access,
        .xFullPathname = vfs_full_path,
        .xRandomness = vfs_randomness,
        .xSleep = vfs_pause,
        .xCurrentTime = vfs_current_time,
        .xGetLastError = vfs_last_error,
    };
    if (sqlite3_vfs_register(&vfs->methods, 0) != SQLITE_OK) {
        sf_free(vfs);
        return sf_fail(err, SF_INTERNAL, "SQLite refused the disk");
    }
    *out = vfs;
    return SF_OK;
}

void sf_vfs_unregister(sf_vfs *vfs)
{
    if (!vfs)
        return;
    sqlite3_vfs_unregister(&vfs->methods);
    sf_free(vfs);
}

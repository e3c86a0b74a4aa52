/* The operating system's side of the seam, and the helpers built on any disk. */
#include "base/seam.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- clock ---- */

static int64_t system_wall_ms(void *self)
{
    SF_UNUSED(self);
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t system_mono_ns(void *self)
{
    SF_UNUSED(self);
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

sf_clock sf_clock_system(void)
{
    return (sf_clock){.wall_ms = system_wall_ms, .mono_ns = system_mono_ns};
}

/* ---- randomness ---- */

static void system_fill(void *self, void *bytes, size_t len)
{
    SF_UNUSED(self);
    char *p = bytes;
    while (len > 0) {
        ssize_t n = getrandom(p, len, 0);
        SF_ASSERT(n > 0 || errno == EINTR); /* the kernel cannot refuse once it has booted */
        if (n > 0) {
            p += n;
            len -= (size_t)n;
        }
    }
}

sf_random sf_random_system(void)
{
    return (sf_random){.fill = system_fill};
}

/* splitmix64, Steele, Lea, Flood 2014. */
uint64_t sf_rng_next(sf_rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}

uint64_t sf_rng_below(sf_rng *rng, uint64_t n)
{
    SF_ASSERT(n > 0);
    return (uint64_t)((unsigned __int128)sf_rng_next(rng) * n >> 64);
}

double sf_rng_unit(sf_rng *rng)
{
    return (double)(sf_rng_next(rng) >> 11) * 0x1p-53;
}

/* ---- disk ---- */

struct sf_file {
    int fd;
    char path[];
};

static sf_status disk_error(sf_error *err, const char *verb, const char *path)
{
    int code = errno;
    sf_status status = code == ENOENT                     ? SF_NOT_FOUND
                       : code == EEXIST                   ? SF_EXISTS
                       : code == ENOSPC || code == EDQUOT ? SF_LIMIT
                                                          : SF_IO;
    char text[128];
    sf_fail(err, status, "cannot %s \"%s\": %s", verb, path, strerror_r(code, text, sizeof text));
    if (status == SF_LIMIT)
        sf_error_hint(err, "free space on the disk, then start again");
    else if (code == EACCES || code == EPERM || code == EROFS)
        sf_error_hint(err, "check the permissions of the path");
    return status;
}

static sf_status system_open(void *self, const char *path, unsigned flags, sf_file **out,
                             sf_error *err)
{
    SF_UNUSED(self);
    int mode = (flags & SF_OPEN_READONLY ? O_RDONLY : O_RDWR) | O_CLOEXEC;
    mode |= flags & SF_OPEN_CREATE ? O_CREAT : 0;
    mode |= flags & SF_OPEN_EXCLUSIVE ? O_EXCL : 0;
    mode |= flags & SF_OPEN_TRUNCATE ? O_TRUNC : 0;
    sf_file *file = sf_alloc(sizeof *file + strlen(path) + 1);
    if (!file)
        return sf_fail_memory(err);
    memcpy(file->path, path, strlen(path) + 1);
    file->fd = open(path, mode, 0640);
    if (file->fd < 0) {
        sf_status status = disk_error(err, "open", path);
        sf_free(file);
        return status;
    }
    *out = file;
    return SF_OK;
}

static void system_close(void *self, sf_file *file)
{
    SF_UNUSED(self);
    if (!file)
        return;
    close(file->fd);
    sf_free(file);
}

static sf_status system_read(void *self, sf_file *file, void *bytes, size_t len, uint64_t offset,
                             size_t *got, sf_error *err)
{
    SF_UNUSED(self);
    *got = 0;
    while (*got < len) {
        ssize_t n = pread(file->fd, (char *)bytes + *got, len - *got, (off_t)(offset + *got));
        if (n == 0)
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return disk_error(err, "read", file->path);
        *got += (size_t)n;
    }
    return SF_OK;
}

static sf_status system_write(void *self, sf_file *file, const void *bytes, size_t len,
                              uint64_t offset, sf_error *err)
{
    SF_UNUSED(self);
    size_t done = 0;
    while (done < len) {
        ssize_t n =
            pwrite(file->fd, (const char *)bytes + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return disk_error(err, "write", file->path);
        done += (size_t)n;
    }
    return SF_OK;
}

static sf_status system_sync(void *self, sf_file *file, sf_error *err)
{
    SF_UNUSED(self);
    return fdatasync(file->fd) == 0 ? SF_OK : disk_error(err, "sync", file->path);
}

static sf_status system_truncate(void *self, sf_file *file, uint64_t size, sf_error *err)
{
    SF_UNUSED(self);
    return ftruncate(file->fd, (off_t)size) == 0 ? SF_OK : disk_error(err, "truncate", file->path);
}

static sf_status system_size(void *self, sf_file *file, uint64_t *out, sf_error *err)
{
    SF_UNUSED(self);
    struct stat info;
    if (fstat(file->fd, &info) != 0)
        return disk_error(err, "stat", file->path);
    *out = (uint64_t)info.st_size;
    return SF_OK;
}

static sf_status system_lock(void *self, sf_file *file, sf_error *err)
{
    SF_UNUSED(self);
    /* A record lock over the whole file, so that programs which lock parts of it, as SQLite's do,
     * meet it too. It belongs to the open file, not to the process. */
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(file->fd, F_OFD_SETLK, &whole) == 0)
        return SF_OK;
    if (errno == EAGAIN || errno == EACCES) {
        sf_fail(err, SF_CONFLICT, "\"%s\" is in use by another process", file->path);
        sf_error_hint(err, "stop the other process or choose another data directory");
        return SF_CONFLICT;
    }
    return disk_error(err, "lock", file->path);
}

static sf_status system_remove(void *self, const char *path, sf_error *err)
{
    SF_UNUSED(self);
    return remove(path) == 0 ? SF_OK : disk_error(err, "remove", path);
}

static sf_status system_rename(void *self, const char *from, const char *to, sf_error *err)
{
    SF_UNUSED(self);
    return rename(from, to) == 0 ? SF_OK : disk_error(err, "rename", from);
}

static sf_status system_make_dir(void *self, const char *path, sf_error *err)
{
    SF_UNUSED(self);
    if (!*path)
        return sf_fail(err, SF_INVALID, "the directory has an empty name");
    char *copy = sf_strdup(path);
    if (!copy)
        return sf_fail_memory(err);
    sf_status status = SF_OK;
    for (char *p = copy + 1; status == SF_OK; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char end = *p;
        *p = '\0';
        if (mkdir(copy, 0750) != 0 && errno != EEXIST)
            status = disk_error(err, "make the directory", copy);
        *p = end;
        if (end == '\0')
            break;
    }
    sf_free(copy);
    return status;
}

static sf_status system_sync_dir(void *self, const char *path, sf_error *err)
{
    SF_UNUSED(self);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return disk_error(err, "open", path);
    sf_status status = fsync(fd) == 0 ? SF_OK : disk_error(err, "sync", path);
    close(fd);
    return status;
}

static sf_status system_list(void *self, const char *path,
                             bool (*visit)(void *arg, const char *name), void *arg, sf_error *err)
{
    SF_UNUSED(self);
    DIR *dir = opendir(path);
    if (!dir)
        return disk_error(err, "list", path);
    errno = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL; errno = 0) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (!visit(arg, entry->d_name))
            break;
    }
    sf_status status = errno == 0 ? SF_OK : disk_error(err, "list", path);
    closedir(dir);
    return status;
}

static sf_status system_stat(void *self, const char *path, uint64_t *size, int64_t *mtime_ms,
                             bool *is_dir, sf_error *err)
{
    SF_UNUSED(self);
    struct stat info;
    if (stat(path, &info) != 0)
        return disk_error(err, "stat", path);
    if (size)
        *size = (uint64_t)info.st_size;
    if (mtime_ms)
        *mtime_ms = (int64_t)info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1000000;
    if (is_dir)
        *is_dir = S_ISDIR(info.st_mode);
    return SF_OK;
}

sf_disk sf_disk_system(void)
{
    return (sf_disk){
        .open = system_open,
        .close = system_close,
        .read = system_read,
        .write = system_write,
        .sync = system_sync,
        .truncate = system_truncate,
        .size = system_size,
        .lock = system_lock,
        .remove = system_remove,
        .rename = system_rename,
        .make_dir = system_make_dir,
        .sync_dir = system_sync_dir,
        .list = system_list,
        .stat = system_stat,
    };
}

sf_status sf_disk_read_all(const sf_disk *disk, const char *path, size_t max_bytes, sf_buf *out,
                           sf_error *err)
{
    sf_file *file;
    uint64_t size = 0;
    SF_TRY(disk->open(disk->self, path, SF_OPEN_READONLY, &file, err));
    sf_status status = disk->size(disk->self, file, &size, err);
    if (status == SF_OK && size > max_bytes) {
        status = sf_fail(err, SF_LIMIT, "\"%s\" has %llu bytes, more than the %zu allowed", path,
                         (unsigned long long)size, max_bytes);
    }
    if (status == SF_OK && !sf_buf_reserve(out, (size_t)size))
        status = sf_fail_memory(err);
    size_t got = 0;
    if (status == SF_OK)
        status = disk->read(disk->self, file, out->data + out->len, (size_t)size, 0, &got, err);
    if (status == SF_OK) {
        out->len += got;
        out->data[out->len] = '\0';
    }
    disk->close(disk->self, file);
    return status;
}

sf_status sf_disk_replace(const sf_disk *disk, const char *path, const void *bytes, size_t len,
                          sf_error *err)
{
    sf_buf temporary = {0};
    sf_buf_printf(&temporary, "%s.new", path);
    if (temporary.failed)
        return sf_fail_memory(err);
    sf_file *file = NULL;
    sf_status status =
        disk->open(disk->self, temporary.data, SF_OPEN_CREATE | SF_OPEN_TRUNCATE, &file, err);
    if (status == SF_OK)
        status = disk->write(disk->self, file, bytes, len, 0, err);
    if (status == SF_OK)
        status = disk->sync(disk->self, file, err);
    if (file)
        disk->close(disk->self, file);
    if (status == SF_OK)
        status = disk->rename(disk->self, temporary.data, path, err);
    if (status == SF_OK) {
        const char *slash = strrchr(path, '/');
        sf_buf_clear(&temporary);
        sf_buf_put(&temporary, slash ? path : ".", slash ? (size_t)(slash - path) + 1 : 1);
        status = temporary.failed ? sf_fail_memory(err)
                                  : disk->sync_dir(disk->self, temporary.data, err);
    }
    sf_buf_deinit(&temporary);
    return status;
}
